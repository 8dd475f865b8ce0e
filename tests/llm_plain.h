/* llm_plain.h - small models with random weights, written as GGUF, and what plain loops in double make of the
 * same weights: no operation of the library. The families' tests compare both.
 */
#ifndef LLM_PLAIN_H
#define LLM_PLAIN_H

#include "oxtorch_llm.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"
#include "check.h"
#include "gguf_make.h"

#include <math.h>

enum { PLAIN_WEIGHTS = 400, PLAIN_NUMBERS = 1 << 20 };

typedef struct plain_weight {
    char name[72];
    int matrices, rows, columns;
    const float *data;
} plain_weight;

static plain_weight plain_weights[PLAIN_WEIGHTS];
static float plain_pool[PLAIN_NUMBERS];
static int plain_weight_count, plain_used;
static gguf_make plain_file;
static char plain_family[32];
static uint64_t plain_seed;

static inline double plain_random(void) { /* about normal: mean 0, variance 1 */
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        plain_seed = plain_seed * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(plain_seed >> 11) / 9007199254740992.0 - 0.5;
    }
    return sum * sqrt(3);
}

/* ---- making a model ------------------------------------------------------------------------------------ */

static inline void plain_start(const char *family, uint64_t seed) {
    plain_weight_count = plain_used = 0;
    plain_seed = seed * 7919 + 1;
    snprintf(plain_family, sizeof plain_family, "%s", family);
    memset(&plain_file, 0, sizeof plain_file);
    gguf_text(&plain_file, "general.architecture", family);
}

static inline const char *plain_key(const char *key) {
    static char full[96];
    snprintf(full, sizeof full, "%s.%s", plain_family, key);
    return full;
}

static inline void plain_whole(const char *key, int value) {
    gguf_u32(&plain_file, plain_key(key), (uint32_t)value);
}

static inline void plain_fact(const char *key, double value) {
    gguf_f32(&plain_file, plain_key(key), (float)value);
}

static inline const char *plain_name(int layer, const char *name) {
    static char names[8][64];
    static int at;
    at = (at + 1) % 8;
    snprintf(names[at], sizeof names[at], "blk.%d.%s", layer, name);
    return names[at];
}

/* [matrices, rows, columns]; 0 of one of the first two: no such dim. Numbers are mean + spread N; spread
 * below 0: -spread / sqrt(columns), as matrices have it. */
static inline void plain_put(const char *name, int matrices, int rows, int columns, double mean,
                             double spread) {
    plain_weight *w = &plain_weights[plain_weight_count++];
    const int64_t shape[4] = {matrices, rows, columns, columns};
    const int first = matrices ? 0
                      : rows   ? 1
                               : 2,
              count = (matrices ? matrices : 1) * (rows ? rows : 1) * columns;
    if (plain_weight_count > PLAIN_WEIGHTS || plain_used + count > PLAIN_NUMBERS) exit(2);
    float *data = plain_pool + plain_used;
    plain_used += count;
    if (spread < 0) spread = -spread / sqrt(columns);
    for (int i = 0; i < count; i++) data[i] = (float)(mean + spread * plain_random());
    snprintf(w->name, sizeof w->name, "%s", name);
    w->matrices = matrices;
    w->rows = rows;
    w->columns = columns;
    w->data = data;
    gguf_tensor(&plain_file, name, 0, 3 - first, shape + first, data, (size_t)count * sizeof *data);
}

static inline void plain_matrix(const char *name, int rows, int columns) {
    plain_put(name, 0, rows, columns, 0, -1.5);
}

static inline void plain_norm(const char *stem, int size, int biased) {
    char name[72];
    snprintf(name, sizeof name, "%s.weight", stem);
    plain_put(name, 0, 0, size, 1, 0.25);
    snprintf(name, sizeof name, "%s.bias", stem);
    if (biased) plain_put(name, 0, 0, size, 0, 0.3);
}

/* NULL with an error where the file is refused. */
static inline ox_llm *plain_open_on(ox_device *device) {
    const char *path = gguf_path("llm_plain.gguf");
    CHECK(gguf_write(&plain_file, path) == 0);
    ox_llm *model = ox_llm_open(path, device);
    remove(path);
    CHECK_MSG(model != NULL, "%s: %s", plain_family, ox_error_text());
    return model;
}

static inline ox_llm *plain_open(void) {
    return plain_open_on(NULL);
}

/* ---- where a model runs -------------------------------------------------------------------------------- */

typedef enum plain_place { PLAIN_CPU, PLAIN_STREAM, PLAIN_VULKAN, PLAIN_PLACES } plain_place;

static const char *const plain_places[PLAIN_PLACES] = {"CPU", "stream", "Vulkan"};

/* NULL: this machine has none of the kind. The stream leaves the weights in the file, in tiles of a few rows,
 * and keeps none of them. */
static inline ox_device *plain_device(plain_place place) {
    if (place == PLAIN_CPU) return ox_cpu();
    if (place == PLAIN_VULKAN) {
        ox_device *gpu = ox_vulkan(0);
        if (!gpu) check_skip("language models on Vulkan", ox_error_text());
        if (!gpu) ox_error_clear();
        return gpu;
    }
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = 1 << 20;
    desc.tile_bytes = 16384;
    desc.spill = getenv("OX_TEST_TMP");
    desc.forgetful = true;
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    return ox_stream_device(stream);
}

static inline void plain_leave(plain_place place, ox_device *device) {
    if (place != PLAIN_CPU) CHECK_MSG(ox_device_close(device) == OX_OK, "%s", ox_error_text());
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

/* NULL: the model has none. */
static inline const plain_weight *plain_find(const char *name) {
    for (int i = 0; i < plain_weight_count; i++)
        if (strcmp(plain_weights[i].name, name) == 0) return &plain_weights[i];
    return NULL;
}

static inline const float *plain_data(const char *name) {
    const plain_weight *w = plain_find(name);
    return w ? w->data : NULL;
}

/* out [rows] = matrix number `which` of `stem`.weight, times x, and the bias; the number of rows. */
static inline int plain_product_of(const char *stem, int which, const double *x, double *out) {
    char name[72];
    snprintf(name, sizeof name, "%s.weight", stem);
    const plain_weight *w = plain_find(name);
    snprintf(name, sizeof name, "%s.bias", stem);
    const float *bias = plain_data(name);
    if (!w) exit(2);
    for (int r = 0; r < w->rows; r++) {
        double sum = bias ? bias[which * w->rows + r] : 0;
        for (int c = 0; c < w->columns; c++)
            sum +=
                (double)
                    w->data[((size_t)which * (size_t)w->rows + (size_t)r) * (size_t)w->columns + (size_t)c] *
                x[c];
        out[r] = sum;
    }
    return w->rows;
}

static inline int plain_product(const char *stem, const double *x, double *out) {
    return plain_product_of(stem, 0, x, out);
}

/* In place, by the weights (and bias) of `stem` at `from`, if there are any. */
static inline void plain_normalize(const char *stem, int from, int layer_norm, double epsilon, int size,
                                   double *x) {
    char name[72];
    double mean = 0, squares = 0;
    snprintf(name, sizeof name, "%s.weight", stem);
    const float *weight = plain_data(name);
    snprintf(name, sizeof name, "%s.bias", stem);
    const float *bias = plain_data(name);
    for (int i = 0; i < size && layer_norm; i++) mean += x[i] / size;
    for (int i = 0; i < size; i++) squares += (x[i] - mean) * (x[i] - mean) / size;
    for (int i = 0; i < size; i++)
        x[i] = (x[i] - mean) / sqrt(squares + epsilon) * (weight ? weight[from + i] : 1) +
               (bias ? bias[from + i] : 0);
}

static inline void plain_softmax(int count, double *x) {
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < count; i++) most = fmax(most, x[i]);
    for (int i = 0; i < count; i++) sum += x[i] = exp(x[i] - most);
    for (int i = 0; i < count; i++) x[i] /= sum;
}

static inline double plain_sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

typedef enum plain_curve { PLAIN_SILU, PLAIN_GELU, PLAIN_GELU_TANH, PLAIN_RELU, PLAIN_SQUARE } plain_curve;

static inline double plain_bend(plain_curve curve, double x) {
    switch (curve) {
    case PLAIN_SILU: return x * plain_sigmoid(x);
    case PLAIN_GELU: return x * 0.5 * (1 + erf(x * sqrt(0.5)));
    case PLAIN_GELU_TANH: return x * 0.5 * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
    case PLAIN_SQUARE: return x > 0 ? x * x : 0;
    default: return x > 0 ? x : 0;
    }
}

/* The largest difference, as a part of the largest number. */
static inline double plain_apart(const float *got, const double *expected, int count) {
    double difference = 0, size = 0;
    for (int i = 0; i < count; i++) {
        difference = fmax(difference, isnan(got[i]) ? INFINITY : fabs(got[i] - expected[i]));
        size = fmax(size, fabs(expected[i]));
    }
    return size > 0 ? difference / size : INFINITY;
}

#endif
