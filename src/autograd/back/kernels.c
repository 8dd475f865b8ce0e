/* The kernels of gradients (kernels.inc), stamped for each tier as cpu/tiers.c stamps those of all else, and
 * the table of the tier that it picked. Called by rows.c, channels.c, steps.c
 * and functions.c. */

/* A row of a norm: y = (x - mean) scale + rest is the normalized x, h = weight g. `sum` and `squares` are of
 * distances from `about` (where it is not centered: of squares alone, and about is 0), `total` of h, `along`
 * of h times these distances, or times y by norm_sums. Results [head, end), whole lines, go to `out`, those
 * before to `first`, those behind to `last`. */
typedef struct oxi_norm_row {
    int64_t n;
    const float *g, *x, *weight; /* weight: NULL, or n numbers */
    bool centered, streams;      /* streams: `out` past the caches, and the line at `whole` to `to` */
    float about, mean, scale, rest;
    double sum, squares, total, along;
    float *weight_sums, *bias_sums; /* NULL, or n numbers; only beside a weight */
    float *out, *first, *last, *to; /* to: NULL, or where `whole` belongs */
    const float *whole;
    int64_t head, end, lag; /* lag: numbers of the next row that are measured before the first is written */
} oxi_norm_row;

/* Of a channel: what flows back is a g + b (x - mean) + c. */
typedef struct oxi_channel_numbers {
    float mean, a, b, c;
} oxi_channel_numbers;

/* A step of a recurrent net for one sample: operands and results of recurrent_step or recurrent_step_back,
 * whose gates lie n numbers apart. */
typedef struct oxi_cell_row {
    int64_t n;
    const float *in[4];
    float *out[3];
    float least; /* of an rnn: -1 for tanh, 0 for relu */
} oxi_cell_row;

typedef struct oxi_back_kernels {
    int picks, degree; /* of the table that gelu takes, for either formula; step: between its intervals */
    float step;
    void (*silu)(int64_t n, const float *g, const float *x, float *out, bool streams, const float *table);
    void (*gelu)(int64_t n, const float *g, const float *x, float *out, bool streams, const float *table);
    /* (g - along) y; g - e^y along */
    void (*softmax)(int64_t n, const float *g, const float *y, float along, float *out, bool streams);
    float (*softmax_next)(int64_t n, const float *g, const float *y, float along, float *out,
                          const float *next_g, const float *next_y);
    void (*log_softmax)(int64_t n, const float *g, const float *y, float along, float *out, bool streams);
    void (*norm_sums)(oxi_norm_row *r);
    /* scale (h - total - along y), which are means here; adds g y and g to the sums. Meanwhile next, or NULL,
     * is measured */
    void (*norm_write)(const oxi_norm_row *r, oxi_norm_row *next);
    void (*channel)(int64_t n, const float *g, const float *x, const oxi_channel_numbers *c, float *out,
                    bool streams);
    void (*lstm)(const oxi_cell_row *r);
    void (*gru)(const oxi_cell_row *r);
    void (*rnn)(const oxi_cell_row *r);
    void (*lstm_back)(const oxi_cell_row *r);
    void (*gru_back)(const oxi_cell_row *r);
    void (*rnn_back)(const oxi_cell_row *r);
} oxi_back_kernels;

#include "cpu/simd/vocabulary.inc"
OXI_STRAIGHT_BEGIN
#undef OXI_TIER
#ifdef OXI_BUILD_C
#define OXI_TIER c
#include "autograd/back/kernels.inc"
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_SSE2
#define OXI_TIER sse2
#include "autograd/back/kernels.inc"
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_AVX
#define OXI_TIER avx
#include "autograd/back/kernels.inc"
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_AVX2
#define OXI_TIER avx2
#include "autograd/back/kernels.inc"
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_AVX512
#define OXI_TIER avx512
#include "autograd/back/kernels.inc"
#undef OXI_TIER
#endif
#ifdef OXI_BUILD_NEON
#define OXI_TIER neon
#include "autograd/back/kernels.inc"
#undef OXI_TIER
#endif
OXI_STRAIGHT_END
#include "cpu/simd/vocabulary_end.inc"

static const oxi_back_kernels *oxi_back_kernels_in_use(void) {
    static const struct {
        const char *tier;
        const oxi_back_kernels *kernels;
    } tiers[] = {
#ifdef OXI_BUILD_C
        {"c", &oxi_c_back},
#endif
#ifdef OXI_BUILD_SSE2
        {"sse2", &oxi_sse2_back},
#endif
#ifdef OXI_BUILD_AVX
        {"avx", &oxi_avx_back},
#endif
#ifdef OXI_BUILD_AVX2
        {"avx2", &oxi_avx2_back},
#endif
#ifdef OXI_BUILD_AVX512
        {"avx512", &oxi_avx512_back}, {"amx", &oxi_avx512_back},
#endif
#ifdef OXI_BUILD_NEON
        {"neon", &oxi_neon_back},
#endif
    };
    const char *used = oxi_cpu_kernels()->name;
    for (size_t i = 1; i < sizeof tiers / sizeof *tiers; i++)
        if (strcmp(tiers[i].tier, used) == 0) return tiers[i].kernels;
    return tiers[0].kernels;
}
