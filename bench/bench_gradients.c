/* bench_gradients.c - what gradients cost: a recorded call beside one that is not, one pass over memory of
 * gelu, silu, layer_norm and softmax backward beside a copy in the same run, attention of many tokens there
 * and back with the memory that it takes.
 *
 *     bench_gradients [numbers] [tokens] [runs] */
#include "oxtorch_nn.h"

#include "bench.h"

#include <math.h>

/* Microseconds of an add of 1,000 numbers; recorded: its operands want gradients. */
static double small_add(bool recorded) {
    enum { CALLS = 2000 };
    double seconds[BENCH_MAX_RUNS];
    for (int run = 0; run < 21; run++)
        OX_SCOPE {
            ox_tensor *a = ox_requires_grad_(ox_randn(OX_SHAPE(1000), OX_F32), recorded);
            ox_tensor *b = ox_requires_grad_(ox_randn(OX_SHAPE(1000), OX_F32), recorded);
            double start = bench_now();
            for (int i = 0; i < CALLS; i++) ox_release(ox_add(a, b));
            seconds[run] = (bench_now() - start) / CALLS;
        }
    return bench_median(seconds, 21) * 1e6;
}

typedef ox_tensor *(*function)(ox_tensor *x, ox_tensor *weight);
static ox_tensor *gelu(ox_tensor *x, ox_tensor *w) {
    (void)w;
    return ox_gelu(x);
}
static ox_tensor *gelu_tanh(ox_tensor *x, ox_tensor *w) {
    (void)w;
    return ox_gelu_tanh(x);
}
static ox_tensor *silu(ox_tensor *x, ox_tensor *w) {
    (void)w;
    return ox_silu(x);
}
static ox_tensor *softmax(ox_tensor *x, ox_tensor *w) {
    (void)w;
    return ox_softmax(x, -1);
}
static ox_tensor *layer_norm(ox_tensor *x, ox_tensor *w) {
    return ox_layer_norm(x, 1, w, w, 1e-5);
}
static const struct {
    const char *name;
    function run;
} functions[] = {{"gelu", gelu},
                 {"gelu_tanh", gelu_tanh},
                 {"silu", silu},
                 {"softmax", softmax},
                 {"layer_norm", layer_norm}};

/* Bytes a second of a copy, and of each gradient, which reads two and writes one: in turns. */
static void passes(int64_t rows, int runs) {
    enum { COUNT = sizeof functions / sizeof *functions };
    double seconds[COUNT + 1][BENCH_MAX_RUNS], bytes = (double)rows * 1000 * sizeof(float), copied;
    ox_scope scope = ox_scope_begin();
    ox_tensor *x = ox_requires_grad_(ox_randn(OX_SHAPE(rows, 1000), OX_F32), true),
              *g = ox_randn(OX_SHAPE(rows, 1000), OX_F32);
    ox_tensor *w = ox_requires_grad_(ox_ones(OX_SHAPE(1000), OX_F32), true), *to = ox_empty_like(g),
              *y[COUNT];
    for (int f = 0; f < COUNT; f++) y[f] = functions[f].run(x, w);
    for (int run = -1; run < runs && !ox_error(); run++)
        for (int f = 0; f <= COUNT; f++)
            OX_SCOPE {
                ox_tensor *const one[1] = {g}, *in[2] = {x, w}, *out[2];
                ox_grad_desc desc;
                memset(&desc, 0, sizeof desc);
                desc.gradients = one;
                desc.retain_graph = true;
                double start = bench_now();
                if (f == COUNT)
                    ox_copy_(to, g);
                else
                    ox_grad(&y[f], 1, in, functions[f].run == layer_norm ? 2 : 1, &desc, out);
                if (run >= 0) seconds[f][run] = bench_now() - start;
            }
    copied = 2 * bytes / bench_median(seconds[COUNT], runs);
    printf("copy of %.0f numbers: %.2f GB/s\n", bytes / sizeof(float), copied / 1e9);
    for (int f = 0; f < COUNT; f++) {
        double rate = 3 * bytes / bench_median(seconds[f], runs);
        printf("%-10s back: %.2f GB/s, %.2f of the copy\n", functions[f].name, rate / 1e9, rate / copied);
    }
    ox_scope_end(&scope);
}

/* One head of 64 numbers, causal. */
static void attention(int64_t tokens) {
    OX_SCOPE {
        ox_attention_desc desc;
        ox_tensor *in[3], *loss = NULL;
        memset(&desc, 0, sizeof desc);
        desc.causal = true;
        for (int i = 0; i < 3; i++)
            in[i] = ox_requires_grad_(ox_randn(OX_SHAPE(1, 1, tokens, 64), OX_F32), true);
        size_t before = ox_memory_get_stats().bytes_in_use;
        ox_memory_reset_peak();
        double start = bench_now();
        OX_SCOPE {
            loss = ox_keep(
                ox_sum(ox_scaled_dot_product_attention(in[0], in[1], in[2], &desc), OX_ALL_DIMS, false));
        }
        double there = bench_now() - start;
        ox_backward(loss, NULL);
        printf("attention of %lld tokens: %.2f s there, %.2f s back, %.0f MB at most\n", (long long)tokens,
               there, bench_now() - start - there, (double)(ox_memory_get_stats().bytes_peak - before) / 1e6);
    }
}

int main(int argc, char **argv) {
    int64_t numbers = argc > 1 ? atoll(argv[1]) : 10000000, tokens = argc > 2 ? atoll(argv[2]) : 32768;
    int runs = argc > 3 ? atoi(argv[3]) : 11;
    if (numbers < 1000 || tokens < 1 || runs < 1 || runs > BENCH_MAX_RUNS) return 2;
    printf("add of 1000 numbers: %.3f us, recorded %.3f us\n", small_add(false), small_add(true));
    passes(numbers / 1000, runs);
    attention(tokens);
    if (ox_error()) printf("%s\n", ox_error_text());
    return ox_error() ? 1 : 0;
}
