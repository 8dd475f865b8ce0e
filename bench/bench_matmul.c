/* bench_matmul.c - matrix products: GFLOP/s by dtype, size and threads, beside the peak of this tier in the
 * same run. Also what transposed and sliced operands cost, matrix-vector products in GB/s, and what prepacked
 * weights gain. BENCH_LONG=1 adds n = 4096; the word prepacked leaves out all but these. Writes
 * build/bench_matmul.json ($BUILD/bench_matmul.json). */
#include "oxtorch.h"
#include "peaks.h"

/* ---- products ------------------------------------------------------------------------------------------ */

enum { PLAIN, TRANSPOSED, SLICED };

static ox_tensor *operand(int64_t rows, int64_t columns, ox_dtype dtype, int layout) {
    if (layout == TRANSPOSED) return ox_t(operand(columns, rows, dtype, PLAIN));
    if (layout == SLICED) return ox_slice(operand(rows, 2 * columns, dtype, PLAIN), 1, 0, 2 * columns, 2);
    return dtype == OX_I8 ? ox_randint(-128, 128, OX_SHAPE(rows, columns), dtype)
                          : ox_rand(OX_SHAPE(rows, columns), dtype);
}

/* The best time of several products, in seconds. */
static double product_seconds(ox_tensor *a, ox_tensor *b, double budget) {
    double best = 1e9, spent = 0;
    for (int i = 0; i < 3 || (spent < budget && i < 200); i++) {
        double start = bench_now();
        ox_release(a->dtype == OX_I8 ? ox_int_mm(a, b) : ox_matmul(a, b));
        double took = bench_now() - start;
        spent += took;
        if (took < best) best = took;
    }
    return best;
}

static double gflops(int64_t m, int64_t n, int64_t k, ox_dtype dtype, int a_layout, int b_layout,
                     double budget) {
    double took = 1e9;
    OX_SCOPE {
        took = product_seconds(operand(m, k, dtype, a_layout), operand(k, n, dtype, b_layout), budget);
    }
    return 2e-9 * (double)m * (double)n * (double)k / took;
}

static void bench_sizes(FILE *json, bool longer) {
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F16, OX_F64, OX_I8};
    printf("%-8s %6s %12s %12s %12s %12s %12s\n", "threads", "n", "f32", "bf16", "f16", "f64", "i8");
    int all = ox_threads();
    for (int threads = 1; threads <= all; threads = threads < all && 2 * threads > all ? all : 2 * threads) {
        ox_set_threads(threads);
        for (int64_t n = 64; n <= (longer ? 4096 : 2048); n *= 2) {
            double f32 = peaks_rate(peaks_f32) * threads, bf16 = peaks_rate(peaks_bf16) * threads;
            double i8 = peaks_rate(peaks_i8) * threads;
            double peaks[5] = {f32, bf16 > 0 ? bf16 : f32, f32, f32 / 2, i8};
            printf("%-8d %6lld", threads, (long long)n);
            for (int d = 0; d < 5; d++) {
                if (n == 4096 && dtypes[d] == OX_F64) continue;
                double rate = gflops(n, n, n, dtypes[d], PLAIN, PLAIN, 0.1), peak = peaks[d];
                printf(" %7.1f %3.0f%%", rate, peak > 0 ? rate / peak * 100 : 0);
                fprintf(json,
                        "  {\"threads\": %d, \"n\": %lld, \"dtype\": \"%s\", \"gflops\": %.1f, \"peak\": "
                        "%.1f},\n",
                        threads, (long long)n, ox_dtype_name(dtypes[d]), rate, peak);
            }
            printf("\n");
        }
    }
    ox_set_threads(0);
}

typedef struct product {
    ox_tensor *a, *b;
} product;

static void run_product(void *arg) {
    const product *p = (const product *)arg;
    ox_release(ox_matmul(p->a, p->b));
}

static void bench_layouts(FILE *json) {
    static const char *const names[] = {"plain", "transposed", "sliced by 2"};
    const int64_t n = 1024;
    printf("\nlayouts, f32, n = 1024: speed beside plain x plain, in turn\n%-14s", "a \\ b");
    for (int b = 0; b < 3; b++) printf(" %12s", names[b]);
    for (int i = 0; i < 9; i++) {
        double plain_seconds, seconds;
        if (i % 3 == 0) printf("\n%-14s", names[i / 3]);
        OX_SCOPE {
            product plain = {operand(n, n, OX_F32, PLAIN), operand(n, n, OX_F32, PLAIN)};
            product p = {operand(n, n, OX_F32, i / 3), operand(n, n, OX_F32, i % 3)};
            bench_in_turn(run_product, &plain, run_product, &p, 15, &plain_seconds, &seconds);
        }
        printf(" %12.2f", plain_seconds / seconds);
        fprintf(json, "  {\"a\": \"%s\", \"b\": \"%s\", \"ratio\": %.3f},\n", names[i / 3], names[i % 3],
                plain_seconds / seconds);
    }
    printf("\n");
}

static void bench_thin(FILE *json) {
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F16};
    printf("\nthin: [m,4096] x [4096,4096]^T, weights read at GB/s\n%-8s %10s %10s %10s\n", "m", "f32",
           "bf16", "f16");
    for (int64_t m = 1; m <= 64; m *= 4) {
        printf("%-8lld", (long long)m);
        for (int d = 0; d < 3; d++) {
            double rate = gflops(m, 4096, 4096, dtypes[d], PLAIN, TRANSPOSED, 0.1);
            double bytes = rate / (2 * (double)m) * ox_dtype_get_info(dtypes[d])->block_bytes;
            printf(" %10.1f", bytes);
            fprintf(json, "  {\"m\": %lld, \"dtype\": \"%s\", \"gbytes\": %.1f, \"gflops\": %.1f},\n",
                    (long long)m, ox_dtype_name(dtypes[d]), bytes, rate);
        }
        printf("\n");
    }
}

/* Few rows by constant weights: packed for each product, and kept (ox_prepack). */
static void bench_prepacked(FILE *json) {
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F16};
    printf("\nprepacked weights: [m,n] x [n,n]^T, speed beside weights that are not, in turn\n");
    printf("%-8s %8s %10s %10s %10s\n", "n", "m", "f32", "bf16", "f16");
    for (int64_t n = 512; n <= 4096; n = n < 2048 ? 2048 : 2 * n)
        for (int64_t m = 8; m <= 512; m *= 4) {
            printf("%-8lld %8lld", (long long)n, (long long)m);
            for (int d = 0; d < 3; d++) {
                double seconds, kept_seconds;
                OX_SCOPE {
                    ox_tensor *w = operand(n, n, dtypes[d], PLAIN), *x = operand(m, n, dtypes[d], PLAIN);
                    product plain = {x, ox_t(w)}, kept = {x, ox_t(ox_clone(w))};
                    (void)ox_prepack(kept.b);
                    bench_in_turn(run_product, &plain, run_product, &kept, 15, &seconds, &kept_seconds);
                }
                printf(" %10.2f", seconds / kept_seconds);
                fprintf(json, "  {\"n\": %lld, \"m\": %lld, \"dtype\": \"%s\", \"prepacked\": %.3f},\n",
                        (long long)n, (long long)m, ox_dtype_name(dtypes[d]), seconds / kept_seconds);
            }
            printf("\n");
        }
}

int main(int argc, char **argv) {
    const char *folder = getenv("BUILD"), *longer = getenv("BENCH_LONG");
    char path[512];
    snprintf(path, sizeof path, "%s/bench_matmul.json", folder ? folder : "build");
    FILE *json = fopen(path, "w");
    if (!json) json = tmpfile();
    if (!json) return 1;
    printf("tier %s, peak of one thread %.1f GFLOP/s f32\n", ox_isa(), peaks_rate(peaks_f32));
    fprintf(json, "{\"isa\": \"%s\", \"results\": [\n", ox_isa());
    if (argc < 2 || strcmp(argv[1], "prepacked")) {
        bench_sizes(json, longer && longer[0] == '1');
        bench_layouts(json);
        bench_thin(json);
    }
    bench_prepacked(json);
    fprintf(json, "  {\"end\": true}\n]}\n");
    fclose(json);
    return ox_error() != OX_OK;
}
