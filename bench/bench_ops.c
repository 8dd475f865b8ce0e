/* Memory-bound ops over ten million f32, as fractions of the copy bandwidth that the same run measures.
 * A copy reads and writes every byte, and so does relu; add reads two and writes one, sum reads one. Each op
 * takes turns with the copy. The copy is the library's own (all threads); memcpy on one thread stands beside
 * it. */
#include "oxtorch.h"
#include "bench.h"

#define COUNT 10000000
#define RUNS 15

static ox_tensor *x, *y, *to, *rows, *weight, *bias;

static void run_copy(void *arg) {
    (void)arg;
    ox_copy_(to, x);
}
static void run_memcpy(void *arg) {
    (void)arg;
    memcpy(ox_data(to), ox_data(x), ox_nbytes(x));
}
static void run_add(void *arg) {
    (void)arg;
    ox_release(ox_add(x, y));
}
static void run_add_number(void *arg) {
    (void)arg;
    ox_release(ox_add_number(x, 1.5));
}
static void run_relu(void *arg) {
    (void)arg;
    ox_release(ox_relu(x));
}
static void run_gelu(void *arg) {
    (void)arg;
    ox_release(ox_gelu(x));
}
static void run_gelu_tanh(void *arg) {
    (void)arg;
    ox_release(ox_gelu_tanh(x));
}
static void run_exp(void *arg) {
    (void)arg;
    ox_release(ox_exp(x));
}
static void run_tanh(void *arg) {
    (void)arg;
    ox_release(ox_tanh(x));
}
static void run_softmax(void *arg) {
    (void)arg;
    ox_release(ox_softmax(rows, -1));
}
static void run_layer_norm(void *arg) {
    (void)arg;
    ox_release(ox_layer_norm(rows, 1, weight, bias, 1e-5));
}
static void run_rms_norm(void *arg) {
    (void)arg;
    ox_release(ox_rms_norm(rows, 1, weight, 1e-5));
}
static void run_sum(void *arg) {
    (void)arg;
    ox_release(ox_sum(x, OX_ALL_DIMS, false));
}
static void run_column_sum(void *arg) {
    (void)arg;
    ox_release(ox_sum(rows, OX_DIMS(0), false));
}
static void run_transposed_copy(void *arg) {
    (void)arg;
    ox_tensor *view = ox_t(rows);
    ox_release(ox_clone(view));
    ox_release(view);
}

static const struct {
    const char *name;
    bench_work run;
    int passes; /* times 4 bytes an element */
} ops[] = {
    {"memcpy, 1 thread", run_memcpy, 2}, {"add", run_add, 3},
    {"add number", run_add_number, 2},   {"relu", run_relu, 2},
    {"gelu", run_gelu, 2},               {"gelu_tanh", run_gelu_tanh, 2},
    {"exp", run_exp, 2},                 {"tanh", run_tanh, 2},
    {"softmax", run_softmax, 2},         {"layer_norm", run_layer_norm, 2},
    {"rms_norm", run_rms_norm, 2},       {"sum", run_sum, 1},
    {"sum of columns", run_column_sum, 1}, {"transposed copy", run_transposed_copy, 2},
};

int main(void) {
    x = ox_randn(OX_SHAPE(COUNT), OX_F32);
    y = ox_randn(OX_SHAPE(COUNT), OX_F32);
    to = ox_zeros(OX_SHAPE(COUNT), OX_F32);
    rows = ox_view(x, OX_SHAPE(COUNT / 1000, 1000));
    weight = ox_ones(OX_SHAPE(1000), OX_F32);
    bias = ox_zeros(OX_SHAPE(1000), OX_F32);
    if (ox_error()) {
        fprintf(stderr, "%s\n", ox_error_text());
        return 1;
    }
    FILE *json = fopen("build/bench_ops.json", "wb");
    printf("%d f32, tier %s, %d threads\n", COUNT, ox_isa(), ox_threads());
    printf("%-18s %8s %8s %8s\n", "op", "ms", "GB/s", "of copy");
    if (json) fprintf(json, "{\"tier\":\"%s\",\"threads\":%d,\"ops\":{", ox_isa(), ox_threads());
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        double copy_seconds, seconds;
        bench_in_turn(run_copy, NULL, ops[i].run, NULL, RUNS, &copy_seconds, &seconds);
        double rate = 4e-9 * COUNT * ops[i].passes / seconds, copy_rate = 8e-9 * COUNT / copy_seconds;
        printf("%-18s %8.2f %8.2f %8.2f\n", ops[i].name, 1e3 * seconds, rate, rate / copy_rate);
        if (json)
            fprintf(json, "%s\"%s\":{\"seconds\":%.6f,\"of_copy\":%.3f}", i ? "," : "", ops[i].name, seconds,
                    rate / copy_rate);
    }
    if (json) {
        fprintf(json, "}}\n");
        fclose(json);
    }
    ox_tensor *all[] = {x, y, to, rows, weight, bias};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ox_release(all[i]);
    return ox_error() != OX_OK;
}
