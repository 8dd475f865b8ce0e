/* test_isa.c - an OX_ISA that names no instruction set: the best one is used and the log says so. */
#include <stdlib.h>
#include <string.h>

#include "oxtorch.h"

#include "check.h"

static char last[256];

static void keep_text(void *user, ox_log_level level, const char *text) {
    (void)user;
    if (level == OX_LOG_WARN) strncpy(last, text, sizeof last - 1);
}

int main(void) {
    char wanted[] = "OX_ISA=sse17";
    CHECK(putenv(wanted) == 0);
    ox_set_log(keep_text, NULL, OX_LOG_WARN);
    const char *used = ox_isa();
    CHECK(used && strcmp(used, "sse17") != 0);
    CHECK_MSG(strstr(last, "OX_ISA=sse17: no instruction set of this build") != NULL &&
                  strstr(last, used) != NULL,
              "\"%s\"", last);
    last[0] = 0;
    CHECK(strcmp(ox_isa(), used) == 0 && !last[0]); /* once */
    ox_set_log(NULL, NULL, OX_LOG_NONE);
    return check_done("isa");
}
