/* fuzz_reply.c - any bytes as what a chat model of any format says: the first byte is the format, the second
 * how the rest is cut. Nothing crashes, hangs or leaks, and the message is the same however it is cut. */
#include "oxtorch_llm.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Deltas that add up: calls that begin, minus those that are withdrawn. */
static void count(void *user, const ox_llm_reply_delta *delta) {
    int64_t *sums = (int64_t *)user;
    if (delta->part == OX_LLM_REPLY_CONTENT) sums[0] += delta->text.length;
    if (delta->part == OX_LLM_REPLY_REASONING) sums[1] += delta->text.length;
    if (delta->part == OX_LLM_REPLY_CALL) sums[2]++;
    if (delta->part == OX_LLM_REPLY_WITHDRAWN) sums[2]--;
}

static ox_llm_reply *read_in_pieces(const char *format, const uint8_t *text, size_t length, size_t piece,
                                    int *bad) {
    static const char tools[] =
        "[{\"function\":{\"name\":\"f\",\"parameters\":{\"properties\":{\"a\":{\"type\":\"string\"}}}}}]";
    int64_t sums[3] = {0, 0, 0};
    ox_llm_reply_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.format = format;
    desc.tools = tools;
    desc.delta = count;
    desc.user = sums;
    ox_llm_reply *reply = ox_llm_reply_open(&desc);
    for (size_t at = 0; reply && at < length; at += piece)
        if (ox_llm_reply_feed(reply, (const char *)text + at,
                              (int64_t)(length - at < piece ? length - at : piece)))
            *bad = 1;
    if (!reply || ox_llm_reply_end(reply) || !ox_llm_reply_message(reply, NULL)) *bad = 1;
    const ox_llm_reply_state state = ox_llm_reply_get(reply);
    if (sums[0] != state.content.length || sums[1] != state.reasoning.length || sums[2] != state.calls)
        *bad = 1;
    return reply;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t formats = 0;
    int bad = 0;
    if (size < 2) return 0;
    while (ox_llm_reply_format_name(formats)) formats++;
    const char *format = ox_llm_reply_format_name(data[0] % formats);
    ox_llm_reply *whole = read_in_pieces(format, data + 2, size - 2, size, &bad);
    ox_llm_reply *cut = read_in_pieces(format, data + 2, size - 2, 1u + data[1] % 16u, &bad);
    if (!bad && strcmp(ox_llm_reply_message(whole, NULL), ox_llm_reply_message(cut, NULL)) != 0) bad = 1;
    ox_llm_reply_close(whole);
    ox_llm_reply_close(cut);
    ox_error_clear();
    return bad || ox_memory_get_stats().bytes_in_use != 0 ? -1 : 0;
}
