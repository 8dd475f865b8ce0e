/* bench_fourier.c - Fourier transforms along the last dim: of complex lines, of real ones, and
 * back to real ones. Prints which, lines, their length and the median time of a call in microseconds, a line
 * each; bench/peers/calls.py runs it beside PyTorch.
 *
 *     bench_fourier [threads] */
#include "oxtorch.h"

#include "bench.h"

enum { RUNS = BENCH_MAX_RUNS < 200 ? BENCH_MAX_RUNS : 200 };

static const char *const kinds[] = {"fft", "rfft", "irfft"};

static double measure(int kind, ox_tensor *z, ox_tensor *x, ox_tensor *half, int64_t length) {
    double seconds[RUNS], begin = bench_now();
    int runs = 0;
    while (runs < RUNS && (runs < 3 || bench_now() - begin < 0.15)) {
        double start = bench_now();
        OX_SCOPE {
            if (kind == 0)
                (void)ox_fft(z, 0, -1, NULL);
            else if (kind == 1)
                (void)ox_rfft(x, 0, -1, NULL);
            else
                (void)ox_irfft(half, length, -1, NULL);
        }
        seconds[runs++] = bench_now() - start;
    }
    return bench_median(seconds, runs);
}

int main(int argc, char **argv) {
    static const int64_t shapes[][2] = {{1024, 64}, {512, 512}, {64, 1024}, {64, 1000},
                                        {100, 997}, {1, 64},    {1, 1024},  {1, 4096},
                                        {1, 65536}, {16, 16384}, {1, 1000000}, {1, 1048576}};
    ox_set_threads(argc > 1 ? atoi(argv[1]) : 1);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        OX_SCOPE {
            const int64_t lines = shapes[i][0], length = shapes[i][1];
            ox_tensor *x = ox_randn(OX_SHAPE(lines, length), OX_F32), *half = ox_rfft(x, 0, -1, NULL);
            ox_tensor *z = ox_complex(x, ox_randn(OX_SHAPE(lines, length), OX_F32));
            for (int kind = 0; kind < 3 && !ox_error(); kind++)
                printf("%s %lld %lld %.3f\n", kinds[kind], (long long)lines, (long long)length,
                       1e6 * measure(kind, z, x, half, length));
        }
    if (ox_error()) printf("%s\n", ox_error_text());
    return ox_error() ? 1 : 0;
}
