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

enum { OXI_BACK_ROW_MOST = 1 << 16, OXI_PAGE_FLOATS = 1024 };

typedef struct oxi_rows_back oxi_rows_back;

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
    /* adds to what a row sums up, which has no weight */
    void (*norm_measure)(oxi_norm_row *r);
    /* rows [first, end) of a norm; room: of g and x of two rows and a result, for those that are converted;
     * sums [2][step]: NULL, or of weight and bias */
    void (*norm_rows)(const oxi_rows_back *r, int64_t first, int64_t end, float *room, float *sums);
    void (*channel)(int64_t n, const float *g, const float *x, const oxi_channel_numbers *c, float *out,
                    bool streams);
    void (*lstm)(const oxi_cell_row *r);
    void (*gru)(const oxi_cell_row *r);
    void (*rnn)(const oxi_cell_row *r);
    void (*lstm_back)(const oxi_cell_row *r);
    void (*gru_back)(const oxi_cell_row *r);
    void (*rnn_back)(const oxi_cell_row *r);
} oxi_back_kernels;

/* g, y: rows of n numbers, y softmax's result. */
typedef void (*oxi_row_back)(const oxi_rows_back *r, const float *g, const float *y, float *out);

struct oxi_rows_back {
    const oxi_call *call;
    const oxi_kernels *k;
    const oxi_back_kernels *own;
    oxi_row_back row; /* of softmax; NULL: a norm */
    int64_t n, rows, tasks, each; /* each: rows of a task */
    bool goes_on; /* sums go on from what the part before has left in the results */
    double eps, share;   /* share: 1 / n */
    const float *in[2];  /* operands of floats of 32 bits, or NULL */
    const float *weight; /* NULL, or n numbers */
    bool streams, narrow; /* narrow: results are no floats of 32 bits */
    float *sums, *scratch; /* sums [tasks][2][step]; of a lane: g, x, the next ones, a row of results */
    int64_t lane_numbers, step;
};

/* Numbers [first, first + n) of a tensor. */
static char *oxi_numbers_at(const ox_tensor *t, int64_t first) {
    return oxi_ptr(t) + oxi_signed_bytes(t->dtype, first);
}

/* The same as floats: where they are, or in room. */
static const float *oxi_floats_of(const oxi_kernels *k, const ox_tensor *t, int64_t first, int64_t n,
                                  float *room) {
    const char *at = oxi_numbers_at(t, first);
    if (t->dtype == OX_F32) return (const float *)(const void *)at;
    k->load[t->dtype][OXI_LANE_F32](n, at, 1, room);
    return room;
}

/* Row i of an operand as floats: where they are, or in room; then the row behind it is prefetched. */
OXI_SMALL const float *oxi_back_read(const oxi_rows_back *r, int operand, int64_t i, float *room) {
    if (r->in[operand]) return r->in[operand] + i * r->n;
    const ox_tensor *t = r->call->in[operand];
    const char *next = oxi_numbers_at(t, (i + 1) * r->n);
    const float *row = oxi_floats_of(r->k, t, i * r->n, r->n, room);
    for (int64_t at = 0; at < 2 * r->n; at += OXI_LINE) OXI_PREFETCH_FAR(next + at);
    return row;
}

/* Lines in which a row ends and the next one begins are put together here, for half a line past the caches
 * takes as long as many whole ones. Each is written when its room is needed again: by then its parts have
 * left the processor, which would wait for them. */
typedef struct oxi_norm_lines {
    float line[4][OXI_LINE / sizeof(float)];
    float *to[4]; /* where they belong; NULL: nothing yet */
    int at;
} oxi_norm_lines;

/* Of a row that f32 is too narrow for, or whose `about` is off. */
static OXI_NOINLINE void oxi_norm_moments(const oxi_rows_back *r, const oxi_norm_row *row, double *mean,
                                          double *squares) {
    double a = 0, b = 0;
    oxi_partial p = oxi_partial_of(&a, &b);
    (row->centered ? oxi_moments_row : oxi_squares_row)(r->k, &p, r->n, row->x, 0);
    *mean = row->centered ? a : 0;
    *squares = row->centered ? b : a;
}

/* A load waits for a store that is still on its way to an address of the same low 12 bits. Where numbers of
 * the row to measure, at `from`, lie less than OXI_NORM_NEAR behind those that are written meanwhile, they
 * are measured first. */
enum { OXI_NORM_NEAR = 192 };
OXI_SMALL int64_t oxi_norm_lag(const float *from, const float *out) {
    int64_t behind = (int64_t)(((uintptr_t)out - (uintptr_t)from) / sizeof(float) % 1024);
    return behind < OXI_NORM_NEAR ? oxi_round_up(behind, 32) : 0;
}

#if defined(__GNUC__) && !defined(__clang__)
#define OXI_AS_WRITTEN _Pragma("GCC optimize(\"fp-contract=off\", \"no-schedule-insns2\", \"no-ivopts\")")
#else
#define OXI_AS_WRITTEN
#endif
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
#undef OXI_AS_WRITTEN

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
