/* bench_tiers.c - this machine tier by tier: what its instructions can do at best, and the fraction of it
 * that kernels reach; then the memory bandwidth of each number of threads. All threads, unless it says so.
 *
 *     bench_tiers            one table of all tiers; runs itself once for each, with OX_ISA set
 *     bench_tiers --one      the row of the tier in use
 *
 * Columns: multiply-adds of f32 in GFLOP/s, and products of 1024 x 1024 as fractions of them (amx: bf16 of
 * its tiles of bf16); products of bytes in Gop/s, and a product of i8 as a fraction of them; 128 rows of f32
 * by weights of block types as fractions of the products of bytes (amx, which computes them in bf16: of its
 * tiles of bf16), and one row by them as a fraction of the bandwidth at which as many threads read. */
#include "oxtorch.h"
#include "peaks.h"

#include <math.h>

enum { SIDE = 1024, DEPTH = 4096, MATRICES = 8, ROWS = 128, RUNS = 3, MEMORY = 256 << 20 };

static const char *const tiers[] = {"sse2-base",   "sse2",   "avx", "avx2-base", "avx2",
                                    "avx512-base", "avx512", "amx", "neon-base", "neon"};
static const ox_dtype floats[] = {OX_F32, OX_F16, OX_BF16};
static const ox_dtype blocks[] = {OX_Q8_0, OX_Q4_0, OX_Q4_K};

typedef struct work {
    ox_tensor *x, *weights[MATRICES];
    int count;
} work;

static void run_products(void *arg) {
    const work *w = (const work *)arg;
    for (int i = 0; i < w->count; i++)
        OX_SCOPE {
            ox_linear(w->x, w->weights[i], NULL);
        }
}

static double seconds_of(work *w) {
    double first, second;
    bench_in_turn(run_products, w, run_products, w, RUNS, &first, &second);
    return first < second ? first : second;
}

static void print_fraction(double rate, double peak) {
    if (peak > 0) printf(" %.2f", rate / peak);
}

/* Products of two square matrices of a dtype, 10^9 operations a second. */
static double square_rate(ox_dtype dtype) {
    double seconds = 1;
    OX_SCOPE {
        work w;
        w.count = 1;
        for (int i = 0; i < 2; i++) {
            ox_tensor *numbers = ox_cast(ox_randint(-100, 100, OX_SHAPE(SIDE, SIDE), OX_I32), dtype);
            if (i == 0)
                w.x = numbers;
            else
                w.weights[0] = numbers;
        }
        seconds = seconds_of(&w);
    }
    return 2e-9 * SIDE * SIDE * SIDE / seconds;
}

/* GB/s at which some threads read a tensor. */
static double read_rate(int threads) {
    double rate = 0;
    OX_SCOPE {
        ox_tensor *bytes = ox_ones(OX_SHAPE(MEMORY), OX_U8);
        if (bytes) rate = peaks_memory(threads, ox_data(bytes), NULL, MEMORY);
    }
    return rate;
}

/* Rows of f32 by weights of a block type: 10^9 operations a second, and GB/s of the weights. */
static void block_rate(ox_dtype dtype, int64_t rows, double *operations, double *bytes) {
    OX_SCOPE {
        work w;
        w.count = MATRICES;
        w.x = ox_randn(OX_SHAPE(rows, DEPTH), OX_F32);
        ox_tensor *packed = ox_cast(ox_randn(OX_SHAPE(DEPTH, DEPTH), OX_F32), dtype);
        for (int i = 0; i < MATRICES; i++) w.weights[i] = i == 0 ? packed : ox_clone(packed);
        double seconds = seconds_of(&w);
        *operations = 2e-9 * (double)rows * DEPTH * DEPTH * MATRICES / seconds;
        *bytes = (double)ox_nbytes(packed) * MATRICES / seconds * 1e-9;
    }
}

static int print_tier(const char *name) {
    enum { TYPES = sizeof blocks / sizeof *blocks };
    int threads = ox_threads();
    double f32 = 0, i8 = 0, bf16 = 0, read = read_rate(threads);
    double many[TYPES], one[TYPES], unused;
    for (size_t i = 0; i < TYPES; i++) {
        block_rate(blocks[i], ROWS, &many[i], &unused);
        block_rate(blocks[i], 1, &unused, &one[i]);
    }
    for (int i = 0; i < 5; i++) { /* the best: a host may be busy for a moment */
        f32 = fmax(f32, peaks_rate(peaks_f32) * threads);
        i8 = fmax(i8, peaks_rate(peaks_i8) * threads);
        bf16 = fmax(bf16, peaks_rate(peaks_bf16) * threads);
    }
    printf("| %s | %.0f |", name, f32);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
        print_fraction(square_rate(floats[i]), floats[i] == OX_BF16 && bf16 > 0 ? bf16 : f32);
    printf(" | %.0f |", i8);
    print_fraction(square_rate(OX_I8), i8);
    printf(" |");
    for (size_t i = 0; i < TYPES; i++) print_fraction(many[i], bf16 > 0 ? bf16 : i8);
    printf(" |");
    for (size_t i = 0; i < TYPES; i++) print_fraction(one[i], read);
    printf(" |\n");
    if (ox_error()) fprintf(stderr, "bench_tiers: %s\n", ox_error_text());
    return ox_error() != OX_OK;
}

/* Whether the tier in use is that of the name, "-base" behind it or not. */
static bool is_tier(const char *name) {
    size_t length = strlen(ox_isa());
    return strncmp(name, ox_isa(), length) == 0 && (name[length] == '\0' || name[length] == '-');
}

/* Runs this program for a tier; what the machine has not is passed over. */
static int run_tier(const char *program, const char *tier) {
    char command[1024];
    if (setenv("OX_ISA", tier, 1) != 0) return 1;
    if (snprintf(command, sizeof command, "'%s' --one %s", program, tier) >= (int)sizeof command) return 1;
    fflush(stdout);
    return system(command) != 0;
}

int main(int count, char **words) {
    bool one = count > 1 && strcmp(words[1], "--one") == 0;
    if (one && count > 2 && !is_tier(words[2])) return 0;
    if (one) return print_tier(count > 2 ? words[2] : ox_isa());
    printf("| tier | f32, GFLOP/s | f32 f16 bf16 | bytes, Gop/s | i8 | 128 rows: Q8_0 Q4_0 Q4_K "
           "| 1 row: Q8_0 Q4_0 Q4_K |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++)
        if (run_tier(words[0], tiers[i])) return 1;
    printf("\n| threads | reads, GB/s | copies, GB/s |\n|---|---|---|\n");
    for (int all = ox_threads(), n = 1; n <= all; n = n < all && 2 * n > all ? all : 2 * n)
        printf("| %d | %.1f | %.1f |\n", n, read_rate(n), peaks_copy(n, MEMORY));
    return 0;
}
