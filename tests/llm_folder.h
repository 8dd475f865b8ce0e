/* llm_folder.h - Hugging Face folders for tests: a config.json, tensors of numbers that differ, and what a
 * conversion makes of them. */
#ifndef LLM_FOLDER_H
#define LLM_FOLDER_H

#include "oxtorch_llm.h"

#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <direct.h>
#define make_folder(path) _mkdir(path)
#else
#include <sys/stat.h>
#define make_folder(path) mkdir(path, 0777)
#endif

static char folder[1100], written[1200];

/* Of a small model, in config.json. */
#define SIZES                                                                                      \
    "\"hidden_size\":8,\"intermediate_size\":6,\"num_hidden_layers\":4,\"num_attention_heads\":2," \
    "\"num_key_value_heads\":1,\"rms_norm_eps\":1e-5,\"vocab_size\":10,\"max_position_embeddings\":64"

/* ---- folders ------------------------------------------------------------------------------------------- */

enum { MOST = 64 };
typedef struct parts {
    const char *names[MOST];
    ox_tensor *tensors[MOST];
    int count;
} parts;

/* A tensor of numbers that differ: 1000 k + 0, 1, 2 .. for the k-th. rows 0 = a vector. */
static inline void add(parts *p, const char *name, int64_t rows, int64_t columns) {
    const int64_t count = (rows ? rows : 1) * columns;
    ox_tensor *t = ox_add(ox_arange(0, (double)count, 1, OX_F32), ox_number(1000.0 * p->count));
    p->names[p->count] = name;
    p->tensors[p->count++] = rows ? ox_reshape(t, OX_SHAPE(rows, columns)) : t;
}
static inline void add_shape(parts *p, const char *name, int64_t a, int64_t b, int64_t c) {
    add(p, name, a * b, c);
    p->tensors[p->count - 1] = ox_reshape(p->tensors[p->count - 1], OX_SHAPE(a, b, c));
}

/* Random tensors of a model of one layer with the SIZES of above: norms before attention and feed-forward, or
 * with all six, behind them and of queries and keys too, as Gemma 3 has them. Matrices of the layer are 2 to 8
 * in the order of this list, norms follow. */
static inline void add_layer(parts *p, bool all_norms) {
#define NAME(name) "model.layers.0." name ".weight"
    static const struct {
        const char *name;
        int rows, columns;
    } rows[] = {{"model.embed_tokens.weight", 10, 8},
                {"model.norm.weight", 0, 8},
                {NAME("self_attn.q_proj"), 8, 8},
                {NAME("self_attn.k_proj"), 4, 8},
                {NAME("self_attn.v_proj"), 4, 8},
                {NAME("self_attn.o_proj"), 8, 8},
                {NAME("mlp.gate_proj"), 6, 8},
                {NAME("mlp.up_proj"), 6, 8},
                {NAME("mlp.down_proj"), 8, 6},
                {NAME("input_layernorm"), 0, 8},
                {NAME("post_attention_layernorm"), 0, 8},
                {NAME("pre_feedforward_layernorm"), 0, 8},
                {NAME("post_feedforward_layernorm"), 0, 8},
                {NAME("self_attn.q_norm"), 0, 4},
                {NAME("self_attn.k_norm"), 0, 4}};
#undef NAME
    for (int i = 0; i < (all_norms ? 15 : 11); i++) {
        add(p, rows[i].name, rows[i].rows, rows[i].columns);
        p->tensors[i] = ox_randn(ox_shape_of(p->tensors[i]), OX_F32);
    }
}

static inline void write_text(const char *name, const char *text) {
    char path[1300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(text, 1, strlen(text), file) == strlen(text));
    if (file) fclose(file);
}

static inline void make_model(const char *config, const parts *p) {
    static const char *const others[] = {"generation_config.json", "tokenizer.json", "tokenizer_config.json",
                                         "chat_template.jinja", "model.safetensors.index.json"};
    char path[1300];
    (void)make_folder(folder);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, others[i]);
        (void)remove(path);
    }
    write_text("config.json", config);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    CHECK(ox_save_safetensors(path, p->names, p->tensors, p->count, NULL, 0, 0) == OX_OK);
}

static inline ox_file *convert(const ox_llm_convert_desc *desc) {
    ox_error_clear();
    const ox_status status = ox_llm_convert(folder, written, desc);
    CHECK_MSG(status == OX_OK, "%s", ox_error_text());
    return status == OX_OK ? ox_file_open(written, NULL) : NULL;
}

/* The folder of a config.json that is printed; converted. */
static inline void make_model_list(const parts *p, const char *format, va_list rest) {
    char config[1000];
    const int used = vsnprintf(config, sizeof config, format, rest);
    CHECK(used > 0 && used < (int)sizeof config);
    make_model(config, p);
}
static inline void make_model_as(const parts *p, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    make_model_list(p, format, rest);
    va_end(rest);
}
static inline ox_file *convert_as(const parts *p, const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    make_model_list(p, format, rest);
    va_end(rest);
    return convert(NULL);
}

/* Converting must fail with words, and leave no file. */
static inline void refuse(ox_status status, const char *words) {
    (void)remove(written);
    ox_error_clear();
    const ox_status got = ox_llm_convert(folder, written, NULL);
    FILE *file = fopen(written, "rb");
    CHECK_MSG(got == status && strstr(ox_error_text(), words) && !file, "expected %s, got %d %s", words,
              (int)got, ox_error_text());
    if (file) fclose(file);
    ox_error_clear();
}

/* ---- what was written ---------------------------------------------------------------------------------- */

static inline void has_int(const ox_file *file, const char *key, int64_t value) {
    CHECK_MSG(ox_file_meta_int(file, key, -77) == value, "%s is %lld", key,
              (long long)ox_file_meta_int(file, key, -77));
}
static inline void has_float(const ox_file *file, const char *key, double value) {
    const double got = ox_file_meta_float(file, key, -77);
    CHECK_MSG(fabs(got - value) <= 1e-6 * fabs(value), "%s is %g", key, got);
}
static inline bool has_list(const ox_file *file, const char *key, int count, const int *values) {
    const ox_file_meta list = ox_file_meta_find(file, key);
    bool same = list.type == OX_FILE_META_ARRAY && list.count == count;
    for (int i = 0; same && i < count; i++) same = ox_file_meta_element(file, &list, i).i == values[i];
    return same;
}
static inline void has_text(const ox_file *file, const char *key, const char *value) {
    const ox_file_meta meta = ox_file_meta_find(file, key);
    CHECK_MSG(meta.type == OX_FILE_META_STRING && (size_t)meta.text.length == strlen(value) &&
                  memcmp(meta.text.data, value, strlen(value)) == 0,
              "%s is %.*s", key, (int)meta.text.length, meta.text.data ? meta.text.data : "");
}
static inline void has_no(const ox_file *file, const char *key) {
    CHECK_MSG(ox_file_meta_find(file, key).type == OX_FILE_META_NONE, "%s is there", key);
}

/* A tensor that is the expected one in numbers and shape. */
static inline void has_tensor(ox_file *file, const char *name, ox_tensor *expected) {
    ox_tensor *t = ox_file_tensor(file, name);
    ox_tensor *wide = t ? ox_cast(t, OX_F32) : NULL;
    CHECK_MSG(wide && ox_equal(wide, ox_contiguous(expected)), "%s: %s", name,
              t ? "other numbers" : "missing");
    ox_error_clear();
}

/* ---- a suite ------------------------------------------------------------------------------------------- */

/* Names what its folders and their GGUF are written to. */
static inline void begin_folders(const char *name) {
    const char *tmp = getenv("OX_TEST_TMP");
    snprintf(folder, sizeof folder, "%s/%s-%lx", tmp ? tmp : "/tmp", name, (unsigned long)(size_t)folder);
    snprintf(written, sizeof written, "%s.gguf", folder);
}
static inline int end_folders(const char *suite) {
    (void)remove(written);
    const ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done(suite);
}

#endif
