/* bench_vulkan.c - ops on a GPU: bytes and products a second, and what a small op costs.
 *
 *     bench_vulkan [INDEX [WORK ...]]     only these of small, bytes, matmul, linear, attention, query
 *
 * Bandwidth counts each operand read once and the result written once, beside a copy in the same run.
 * Medians; a figure includes recording and submitting, as a program has them, and comes after a second and a
 * half of the same work: drivers swap better code in after a while. Products and attention are skipped where
 * the device is software. bench/peers/vulkan.py sets the products beside PyTorch's.
 */
#include "oxtorch_vulkan.h"

#include "bench.h"

enum { RUNS = 9 };

static bool software; /* the device is the processor */

typedef ox_tensor *(*gpu_op)(ox_tensor *const *in);

static ox_tensor *run_copy(ox_tensor *const *in) {
    return ox_clone(in[0]);
}
static ox_tensor *run_add(ox_tensor *const *in) {
    return ox_add(in[0], in[1]);
}
static ox_tensor *run_div(ox_tensor *const *in) {
    return ox_div(in[0], in[1]);
}
static ox_tensor *run_gelu(ox_tensor *const *in) {
    return ox_gelu(in[0]);
}
static ox_tensor *run_exp(ox_tensor *const *in) {
    return ox_exp(in[0]);
}
static ox_tensor *run_softmax(ox_tensor *const *in) {
    return ox_softmax(in[0], -1);
}
static ox_tensor *run_sum(ox_tensor *const *in) {
    return ox_sum(in[0], OX_ALL_DIMS, false);
}
static ox_tensor *run_layer_norm(ox_tensor *const *in) {
    return ox_layer_norm(in[0], 1, in[2], in[2], 1e-5);
}
static ox_tensor *run_transposed(ox_tensor *const *in) {
    return ox_contiguous(ox_t(in[0]));
}
static ox_tensor *run_matmul(ox_tensor *const *in) {
    return ox_matmul(in[0], in[1]);
}
static ox_tensor *run_linear(ox_tensor *const *in) {
    return ox_linear(in[0], in[1], NULL);
}
static ox_tensor *run_attention(ox_tensor *const *in) {
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.causal = true;
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc);
}

/* Median seconds of one, taken over `repeat` in a row. */
static double seconds_of(ox_device *gpu, gpu_op op, ox_tensor *const *in, int repeat) {
    double times[RUNS], warm = bench_now() + (software ? 0 : 1.5);
    for (int i = -1; i < RUNS; i++) {
        if (i == 0 && bench_now() < warm) i = -1;
        ox_device_sync(gpu);
        double start = bench_now();
        for (int j = 0; j < repeat; j++)
            OX_SCOPE {
                op(in);
            }
        ox_device_sync(gpu);
        if (i >= 0) times[i] = (bench_now() - start) / repeat;
    }
    return bench_median(times, RUNS);
}

static void bench_bytes(ox_device *gpu, int64_t rows, int64_t columns) {
    static const struct {
        const char *name;
        gpu_op op;
        int passes;
    } works[] = {
        {"copy", run_copy, 2},
        {"add", run_add, 3},
        {"div", run_div, 3},
        {"exp", run_exp, 2},
        {"gelu", run_gelu, 2},
        {"softmax", run_softmax, 2},
        {"sum", run_sum, 1},
        {"layer_norm", run_layer_norm, 2},
        {"transposed copy", run_transposed, 2},
    };
    OX_SCOPE {
        ox_tensor *in[3];
        in[0] = ox_to(ox_randn(OX_SHAPE(rows, columns), OX_F32), gpu);
        in[1] = ox_clone(in[0]);
        in[2] = ox_to(ox_ones(OX_SHAPE(columns), OX_F32), gpu);
        double copy = 0;
        for (size_t i = 0; in[1] && i < sizeof works / sizeof *works; i++) {
            double bytes = 4.0 * (double)(rows * columns) * works[i].passes;
            double rate = bytes / seconds_of(gpu, works[i].op, in, 4) * 1e-9;
            if (i == 0) copy = rate;
            printf("%-16s f32 %lld x %lld   %8.1f GB/s   %.2f of a copy\n", works[i].name, (long long)rows,
                   (long long)columns, rate, rate / copy);
        }
    }
}

static void bench_products(ox_device *gpu, int64_t n) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16};
    for (int i = 0; i < 3; i++)
        OX_SCOPE {
            ox_tensor *in[2];
            in[0] = ox_cast(ox_to(ox_randn(OX_SHAPE(n, n), OX_F32), gpu), dtypes[i]);
            in[1] = ox_clone(in[0]);
            double seconds = seconds_of(gpu, run_matmul, in, 2);
            printf("matmul           %-4s %lld          %8.2f TFLOP/s\n", ox_dtype_name(dtypes[i]),
                   (long long)n, 2e-12 * (double)n * (double)n * (double)n / seconds);
        }
}

/* One row, as when a model writes, and many. */
static void bench_weights(ox_device *gpu, int64_t rows) {
    static const ox_dtype dtypes[] = {OX_F16, OX_Q8_0, OX_Q4_0, OX_Q4_K, OX_Q5_K, OX_Q6_K};
    const int64_t n = software ? 1024 : 16384, k = 4096;
    for (int i = 0; i < 6; i++)
        OX_SCOPE {
            ox_tensor *in[2], *w = ox_cast(ox_randn(OX_SHAPE(n, k), OX_F32), dtypes[i]);
            in[0] = ox_to(ox_randn(OX_SHAPE(rows, k), OX_F32), gpu);
            in[1] = ox_to(w, gpu);
            double seconds = seconds_of(gpu, run_linear, in, 8);
            printf("linear           %-4s %lld x %lld x %lld   %8.1f GB/s of weights   %.2f TFLOP/s\n",
                   ox_dtype_name(dtypes[i]), (long long)rows, (long long)n, (long long)k,
                   1e-9 * (double)ox_nbytes(w) / seconds,
                   2e-12 * (double)rows * (double)n * (double)k / seconds);
        }
}

static void bench_attention(ox_device *gpu, ox_dtype dtype, int64_t heads, int64_t tokens, int64_t depth) {
    OX_SCOPE {
        ox_tensor *in[3];
        for (int i = 0; i < 3; i++)
            in[i] = ox_cast(ox_to(ox_randn(OX_SHAPE(heads, tokens, depth), OX_F32), gpu), dtype);
        double seconds = seconds_of(gpu, run_attention, in, 1);
        printf("attention causal %-4s %lld x %lld x %lld   %8.2f TFLOP/s\n", ox_dtype_name(dtype),
               (long long)heads, (long long)tokens, (long long)depth,
               2e-12 * (double)heads * (double)tokens * (double)tokens * (double)depth / seconds);
    }
}

static ox_tensor *run_attention_all(ox_tensor *const *in) {
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], NULL);
}

/* One query, as when a model writes. */
static void bench_attention_row(ox_device *gpu, int64_t heads, int64_t kv_heads, int64_t keys,
                                int64_t depth) {
    OX_SCOPE {
        ox_tensor *in[3];
        in[0] = ox_to(ox_randn(OX_SHAPE(heads, 1, depth), OX_F32), gpu);
        for (int i = 1; i < 3; i++)
            in[i] = ox_cast(ox_to(ox_randn(OX_SHAPE(kv_heads, keys, depth), OX_F32), gpu), OX_F16);
        double seconds = seconds_of(gpu, run_attention_all, in, 16);
        printf("attention, 1 query to %5lld keys f16, %lld (%lld) heads x %lld  %8.2f us\n", (long long)keys,
               (long long)heads, (long long)kv_heads, (long long)depth, 1e6 * seconds);
    }
}

static void bench_small(ox_device *gpu) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(256), OX_F32), gpu), *y = ox_clone(x);
        double times[RUNS];
        for (int i = -1; i < RUNS; i++) {
            ox_vulkan_stats before = ox_vulkan_get_stats(gpu), after;
            double start = bench_now();
            for (int j = 0; j < 1000; j++) ox_add_(y, x);
            ox_device_sync(gpu);
            if (i >= 0) times[i] = bench_now() - start;
            after = ox_vulkan_get_stats(gpu);
            if (i == RUNS - 1)
                printf("1000 small adds   %.2f us each; %lld submits, %lld waits, %lld allocations, %lld "
                       "pipelines, %lld sets\n",
                       1e3 * bench_median(times, RUNS), (long long)(after.submits - before.submits),
                       (long long)(after.waits - before.waits),
                       (long long)(after.allocations - before.allocations),
                       (long long)(after.pipelines - before.pipelines),
                       (long long)(after.descriptor_sets - before.descriptor_sets));
        }
    }
}

/* Whether a kind of work was asked for: all are where none is named. */
static bool asked(int count, char **words, const char *work) {
    bool found = count < 3;
    for (int i = 2; i < count; i++) found = found || strcmp(words[i], work) == 0;
    return found;
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    ox_device *gpu = ox_vulkan(count > 1 ? atoi(words[1]) : 0);
    ox_vulkan_info facts;
    if (!gpu || ox_vulkan_get_info(gpu, &facts) != OX_OK) {
        printf("bench_vulkan: %s\n", ox_error_text());
        return 0;
    }
    printf("%s, %s, caps %x\n", facts.name, facts.driver, facts.caps);
    software = strcmp(facts.type, "software") == 0;
    const bool fast = !software;
    if (asked(count, words, "small")) bench_small(gpu);
    if (asked(count, words, "bytes")) bench_bytes(gpu, fast ? 10000 : 1000, fast ? 10000 : 1000);
    for (int64_t n = 4096; fast && n <= 8192 && asked(count, words, "matmul"); n *= 2) bench_products(gpu, n);
    if (asked(count, words, "linear")) bench_weights(gpu, 1);
    if (fast && asked(count, words, "linear")) bench_weights(gpu, 512);
    if (fast && asked(count, words, "attention")) bench_attention(gpu, OX_F16, 32, 8192, 128);
    if (fast && asked(count, words, "attention")) bench_attention(gpu, OX_BF16, 32, 8192, 128);
    for (int64_t keys = 128; keys <= (fast ? 8192 : 128) && asked(count, words, "query"); keys *= 8)
        bench_attention_row(gpu, 32, 8, keys, 64);
    if (ox_error()) printf("bench_vulkan: %s\n", ox_error_text());
    return 0;
}
