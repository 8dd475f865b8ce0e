/* fuzz_importance.c - any bytes as an importance matrix, of both formats: nothing crashes, hangs, reads too
 * far or leaks; what is read can be saved. */
#include "oxtorch_llm.h"

#include "gguf_make.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[1024];
    snprintf(path, sizeof path, "%s", gguf_path("fuzz-importance"));
    FILE *file = fopen(path, "wb");
    const size_t written = file && size ? fwrite(data, 1, size, file) : 0;
    if (!file || fclose(file) != 0 || written != size) return 0;
    ox_llm_importance *m = ox_llm_importance_open(path);
    const bool bad = !m && ox_error() == OX_OK;
    if (m) (void)ox_llm_importance_save(m, path, NULL, 0);
    ox_llm_importance_close(m);
    ox_error_clear();
    remove(path);
    return bad || ox_memory_get_stats().bytes_in_use != 0 ? -1 : 0;
}
