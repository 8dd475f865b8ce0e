/* fuzz_config.c - any bytes as config.json of a folder with a few tensors, converted: nothing crashes, hangs,
 * reads too far or leaks. Behind a zero byte: the names of the tensors, each to its line's end. */
#define _GNU_SOURCE 1
#include "oxtorch_llm.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *fuzz_folder(void) {
    static char path[64];
    if (!path[0]) {
        snprintf(path, sizeof path, "/tmp/fuzz-config-%ld", (long)getpid());
        (void)mkdir(path, 0777);
    }
    return path;
}

static int write_bytes(const char *name, const void *data, size_t size) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", fuzz_folder(), name);
    FILE *file = fopen(path, "wb");
    const int ok = file && fwrite(data, 1, size, file) == size;
    if (file) fclose(file);
    return ok;
}

/* The tensors: of the names that the input has, or of these. */
static int write_tensors(const char *names, size_t size) {
    static const char usual[] = "model.embed_tokens.weight\nmodel.layers.0.self_attn.q_proj.weight\n"
                                "model.layers.0.mlp.experts.0.gate_proj.weight\n"
                                "model.layers.0.mlp.experts.gate_up_proj\nmodel.norm.weight\n";
    enum { MOST = 8 };
    static char copies[MOST][160];
    const char *list[MOST];
    ox_tensor *tensors[MOST];
    char path[128];
    int count = 0;
    if (!size) {
        names = usual;
        size = sizeof usual - 1;
    }
    ox_scope scope = ox_scope_begin();
    while (size > 0 && count < MOST) {
        const char *end = (const char *)memchr(names, '\n', size);
        const size_t length = end ? (size_t)(end - names) : size;
        snprintf(copies[count], sizeof copies[count], "%.*s", (int)(length < 150 ? length : 150), names);
        list[count] = copies[count];
        tensors[count] = count % 3 == 0   ? ox_zeros(OX_SHAPE(8), OX_F32)
                         : count % 3 == 1 ? ox_zeros(OX_SHAPE(8, 4), OX_BF16)
                                          : ox_zeros(OX_SHAPE(2, 4, 2), OX_F16);
        count++;
        names += end ? length + 1 : length;
        size -= end ? length + 1 : length;
    }
    snprintf(path, sizeof path, "%s/model.safetensors", fuzz_folder());
    const int ok = ox_save_safetensors(path, list, tensors, count, NULL, 0, 0) == OX_OK;
    ox_scope_end(&scope);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *end = size ? (const uint8_t *)memchr(data, 0, size) : NULL;
    const size_t length = end ? (size_t)(end - data) : size, rest = end ? size - length - 1 : 0;
    char out[128];
    int bad = 0;
    snprintf(out, sizeof out, "%s/out.gguf", fuzz_folder());
    if (write_bytes("config.json", data, length) && write_tensors(end ? (const char *)end + 1 : "", rest)) {
        ox_error_clear();
        bad = ox_llm_convert(fuzz_folder(), out, NULL) != OX_OK && ox_error() == OX_OK;
    }
    ox_error_clear();
    return bad ? -1 : 0;
}
