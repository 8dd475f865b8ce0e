/* bench_blocks.c - products with weights of block types: one row of activations as a fraction of the read
 * bandwidth (a new token of a language model), many rows as a fraction of what the tier's instructions for
 * products of bytes can do (a prompt). Then the same with the weights repacked (ox_prepack), as a factor.
 * Weights of random numbers, 4096 x 4096 each, several of them in turn, which few caches hold. */
#include "oxtorch.h"
#include "peaks.h"

enum { SIDE = 4096, MATRICES = 8, ROWS = 128, RUNS = 5 };

static const ox_dtype dtypes[] = {OX_F16,  OX_Q8_0, OX_Q4_0, OX_Q4_1, OX_Q5_0,  OX_Q5_1,
                                  OX_Q4_K, OX_Q5_K, OX_Q6_K, OX_Q2_K, OX_Q3_K,  OX_IQ4_NL,
                                  OX_IQ4_XS, OX_MXFP4};

/* Weights: quantized where the type can be, otherwise any bytes, with scales that are small numbers. */
static ox_tensor *weights_of(ox_dtype dtype, ox_tensor *numbers) {
    const ox_dtype_info *info = ox_dtype_get_info(dtype);
    static const struct { ox_dtype dtype; int scale, least; } at[] = {
        {OX_Q2_K, 80, 82}, {OX_Q3_K, 108, 108}, {OX_IQ4_NL, 0, 0}, {OX_IQ4_XS, 0, 0}, {OX_MXFP4, -1, -1}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        if (at[i].dtype != dtype) continue;
        ox_tensor *made = ox_empty(OX_SHAPE(SIDE, SIDE), dtype);
        uint8_t *byte = made ? (uint8_t *)ox_data(made) : NULL;
        uint32_t state = 1;
        for (size_t b = 0; byte && b < ox_nbytes(made); b++)
            byte[b] = (uint8_t)((state = state * 1664525u + 1013904223u) >> 24);
        for (size_t b = 0; byte && b < ox_nbytes(made); b += (size_t)info->block_bytes) {
            if (at[i].scale < 0) byte[b] = 120;
            else byte[b + (size_t)at[i].scale + 1] = byte[b + (size_t)at[i].least + 1] = 0x20;
        }
        return made;
    }
    return ox_cast(numbers, dtype);
}

typedef struct work {
    ox_tensor *x, *weights[MATRICES];
} work;

static void run_products(void *arg) {
    const work *w = (const work *)arg;
    for (int i = 0; i < MATRICES; i++) OX_SCOPE { ox_linear(w->x, w->weights[i], NULL); }
}

static double seconds_of(work *w) {
    double first, second;
    bench_in_turn(run_products, w, run_products, w, RUNS, &first, &second);
    return first < second ? first : second;
}

int main(void) {
    int threads = ox_threads();
    double read = peaks_read(threads, (size_t)256 << 20), i8 = peaks_rate(peaks_i8) * threads;
    double f32 = peaks_rate(peaks_f32) * threads;
    printf("tier %s, %d threads: reads %.1f GB/s, copies %.1f GB/s, products of bytes %.0f Gop/s, f32 %.0f "
           "GFLOP/s\n",
           ox_isa(), threads, read, peaks_copy(threads, (size_t)256 << 20), i8, f32);
    printf("%-8s %12s %8s %14s %8s %9s %6s\n", "weights", "1 row, GB/s", "of read", "rows, Gop/s", "of peak",
           "repacked", "rows");
    ox_scope all = ox_scope_begin();
    ox_tensor *numbers = ox_randn(OX_SHAPE(SIDE, SIDE), OX_F32), *one = ox_randn(OX_SHAPE(1, SIDE), OX_F32);
    ox_tensor *many = ox_randn(OX_SHAPE(ROWS, SIDE), OX_F32);
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes && !ox_error(); d++) {
        OX_SCOPE {
            work w;
            for (int i = 0; i < MATRICES; i++)
                w.weights[i] = i == 0 ? weights_of(dtypes[d], numbers) : ox_clone(w.weights[0]);
            w.x = one;
            double bytes = (double)ox_nbytes(w.weights[0]) * MATRICES, rate = bytes / seconds_of(&w) * 1e-9;
            w.x = many;
            double ops = 2e-9 * SIDE * SIDE * ROWS * MATRICES / seconds_of(&w);
            double peak = dtypes[d] == OX_F16 ? f32 : i8;
            printf("%-8s %12.1f %8.2f %14.1f %8.2f", ox_dtype_name(dtypes[d]), rate, rate / read, ops,
                   peak > 0 ? ops / peak : 0);
            for (int i = 0; i < MATRICES; i++) (void)ox_prepack(w.weights[i]);
            double many_again = 2e-9 * SIDE * SIDE * ROWS * MATRICES / seconds_of(&w);
            w.x = one;
            printf(" %9.2f %6.2f\n", bytes / seconds_of(&w) * 1e-9 / rate, many_again / ops);
            fflush(stdout);
        }
    }
    ox_scope_end(&all);
    if (ox_error()) fprintf(stderr, "bench_blocks: %s\n", ox_error_text());
    return ox_error() != OX_OK;
}
