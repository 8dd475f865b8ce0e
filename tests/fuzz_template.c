/* fuzz_template.c - any bytes as a chat template, and behind a zero byte any bytes as its values: nothing
 * crashes, hangs, reads too far or leaks. */
#include "oxtorch_llm.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char values[] =
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a "
        "\\u00e9\\n\"},{\"role\":\"tool\",\"content\":null}],"
        "\"x\":[1,2.5,true,\"b\"],\"d\":{\"k\":{\"n\":-1}},\"add_generation_prompt\":true}";
    const uint8_t *end = size ? (const uint8_t *)memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : size, rest = end ? size - length - 1 : 0;
    ox_llm_template_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.steps = 100000;
    desc.memory = (size_t)8 << 20;
    desc.now = 1767323045;
    ox_llm_template *t = ox_llm_template_open(size ? (const char *)data : "", (int64_t)length);
    char *text = NULL;
    if (t)
        text = rest ? ox_llm_template_render(t, (const char *)end + 1, (int64_t)rest, &desc, NULL)
                    : ox_llm_template_render(t, values, -1, &desc, NULL);
    const int bad = !text && ox_error() == OX_OK;
    ox_llm_template_free(text);
    ox_llm_template_close(t);
    ox_error_clear();
    return bad || ox_memory_get_stats().bytes_in_use != 0 ? -1 : 0;
}
