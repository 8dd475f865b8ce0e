/* bench_linalg.c - linear algebra: factors, solutions, eigenvalues and singular values of square matrices.
 * Prints which, the dtype, how many matrices, their order and the median time of a call in microseconds, a
 * line each; bench/peers/calls.py runs it beside PyTorch, which calls LAPACK.
 *
 *     bench_linalg [threads] */
#include "oxtorch_nn.h"

#include "bench.h"

typedef void (*work)(ox_tensor *a, ox_tensor *b);
static void cholesky(ox_tensor *a, ox_tensor *b) {
    (void)b, (void)ox_cholesky(a, false);
}
static void lu(ox_tensor *a, ox_tensor *b) {
    (void)b, (void)ox_lu_factor(a, true);
}
static void solve(ox_tensor *a, ox_tensor *b) {
    (void)ox_solve(a, b, true);
}
static void inv(ox_tensor *a, ox_tensor *b) {
    (void)b, (void)ox_inv(a);
}
static void qr(ox_tensor *a, ox_tensor *b) {
    (void)b, (void)ox_qr(a, NULL);
}
static void eigh(ox_tensor *a, ox_tensor *b) {
    (void)b, (void)ox_eigh(a, false);
}
static void eig(ox_tensor *a, ox_tensor *b) {
    (void)b, (void)ox_eig(a);
}
static void svd(ox_tensor *a, ox_tensor *b) {
    (void)b, (void)ox_svd(a, false);
}
static const struct {
    const char *name;
    work run;
    bool symmetric; /* and positive definite */
} kinds[] = {{"cholesky", cholesky, true}, {"lu", lu, false},  {"solve", solve, false},
             {"inv", inv, false},          {"qr", qr, false},  {"eigh", eigh, true},
             {"eig", eig, false},          {"svd", svd, false}};

static double measure(work run, ox_tensor *a, ox_tensor *b) {
    double seconds[BENCH_MAX_RUNS], begin = bench_now();
    int runs = 0;
    while (runs < BENCH_MAX_RUNS && (runs < 3 || bench_now() - begin < 0.15)) {
        double start = bench_now();
        OX_SCOPE {
            run(a, b);
        }
        seconds[runs++] = bench_now() - start;
    }
    return bench_median(seconds, runs);
}

int main(int argc, char **argv) {
    static const int64_t shapes[][2] = {{1000, 8}, {100, 31}, {1, 64}, {1, 257}, {1, 1000}};
    static const ox_dtype dtypes[] = {OX_F32, OX_F64};
    ox_set_threads(argc > 1 ? atoi(argv[1]) : 1);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            OX_SCOPE {
                const int64_t count = shapes[i][0], n = shapes[i][1];
                ox_tensor *plain = ox_randn(OX_SHAPE(count, n, n), dtypes[d]);
                ox_tensor *b = ox_randn(OX_SHAPE(count, n, 4), dtypes[d]);
                ox_tensor *symmetric =
                    ox_add(ox_matmul(plain, ox_transpose(plain, -2, -1)), ox_eye(n, n, dtypes[d]));
                for (size_t k = 0; k < sizeof kinds / sizeof *kinds && !ox_error(); k++)
                    printf("%s %s %lld %lld %.3f\n", kinds[k].name, ox_dtype_name(dtypes[d]),
                           (long long)count, (long long)n,
                           1e6 * measure(kinds[k].run, kinds[k].symmetric ? symmetric : plain, b));
            }
    if (ox_error()) printf("%s\n", ox_error_text());
    return ox_error() ? 1 : 0;
}
