/* fuzz_tokenizer.c - any bytes as a tokenizer.json, and behind a zero byte any bytes as a text: nothing
 * crashes, hangs, reads too far or leaks. */
#include "oxtorch_llm.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char usual[] =
        "Hello w\xc3\xb6rld's  12345 \xe4\xb8\xad\xe6\x96\x87\n\n<s> [MASK] \xf0\x9f\x98\x80 e\xcc\x81";
    const uint8_t *end = size ? (const uint8_t *)memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : size;
    const char *text = end ? (const char *)end + 1 : usual;
    size_t text_length = end ? size - length - 1 : sizeof usual - 1;
    if (text_length > 4096) text_length = 4096;
    ox_tokenizer *t = ox_tokenizer_open_json(size ? (const char *)data : "", (int64_t)length, NULL, 0);
    int bad = !t && ox_error() == OX_OK;
    if (t) {
        ox_tokenizer_encode_desc desc = {false, true};
        int32_t ids[256];
        ox_token_place places[256];
        char out[512];
        const int64_t count =
            ox_tokenizer_encode_pair(t, text, (int64_t)text_length, "a b", -1, &desc, ids, places, 256);
        const int64_t held = count < 0 ? 0 : count < 256 ? count : 256;
        bad |= count < 0 && ox_error() == OX_OK;
        for (int64_t i = 0; i < held; i++)
            bad |= ids[i] < 0 || ids[i] >= ox_tokenizer_count(t) || places[i].start > places[i].end;
        (void)ox_tokenizer_decode(t, ids, held, out, sizeof out);
        (void)ox_tokenizer_piece(t, -1, 0);
    }
    ox_tokenizer_close(t);
    ox_error_clear();
    return bad || ox_memory_get_stats().bytes_in_use != 0 ? -1 : 0;
}
