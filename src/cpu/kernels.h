/* The table of kernels of one processor tier. Kernels are written once (cpu/kernels/<x>.inc) against the
 * vocabulary of cpu/simd/ and stamped per tier; oxi_cpu_kernels() is the table that was picked at start.
 * Executors (cpu/map/map.c, cpu/reduce/reduce.c, ...) walk strides and threads and call these on contiguous
 * runs. */
/* WORDS OF THIS ROOM
 *     tier           an instruction set and its table of kernels; stamped: compiled once for each tier
 *     executor       walks a call's strides, cuts it into tasks, calls kernels on contiguous runs
 *     lane           what a map computes in (oxi_lane): all dtypes load into one of five. Of a vector: one of
 *                    its elements. Of a region of tasks: which thread (base/internal.h)
 *     panel          lines of a matrix packed side by side, as a micro-kernel reads them: panel[k][width]
 *     micro-kernel   computes mr x nr results from two panels; depth: the k of one call that suits it
 *     across, along  a line's neighbors in memory are other lines, or the next k
 *     spread         panels of A with each element once per vector lane, where broadcasting is slow
 *     tile           of a matrix: what is transposed in cache at once; of AMX: a tile register
 *     codes          numbers of a block type as integers, before their scale; ratio: an integer scale
 *     prepacked      packed panels that are kept with a constant weight (cpu/product/prepack.c)
 *     repacked       weights of block types stored sixteen rows side by side, in place (cpu/product/repack.c)
 *     vocabulary     short names for vectors, the same for each tier (cpu/simd/vocabulary.inc)
 *     way            one of the algorithms for a product, chosen from sizes and strides
 *     to stream      to write past the caches (the room stream/ is something else) */
#ifndef OX_CPU_KERNELS_H
#define OX_CPU_KERNELS_H

/* Prefetches memory that will be read or written soon; far: into the second cache only; once: past it, which
 * keeps what else there is. Any address will do. */
#if defined(__GNUC__) || defined(__clang__)
#define OXI_PREFETCH_READ(p) __builtin_prefetch(p)
#define OXI_PREFETCH_FAR(p) __builtin_prefetch(p, 0, 2)
#define OXI_PREFETCH_ONCE(p) __builtin_prefetch(p, 0, 0)
#define OXI_PREFETCH_WRITE(p) __builtin_prefetch(p, 1)
#else
#define OXI_PREFETCH_READ(p) ((void)(p))
#define OXI_PREFETCH_FAR(p) ((void)(p))
#define OXI_PREFETCH_ONCE(p) ((void)(p))
#define OXI_PREFETCH_WRITE(p) ((void)(p))
#endif

#define OXI_UNROLL _Pragma("GCC unroll 8") /* light code has no other unrolling */

/* Statements in which `name` is a constant, and such for the numbers below count, at most 4. What loops over
 * registers would do is written out so: gcc at -O1 keeps arrays in memory that are met in loops, even where
 * these are unrolled later. */
#define OXI_WITH(name, number, ...) { enum { name = number }; __VA_ARGS__ }
#define OXI_UP_TO_FOUR(name, count, ...) \
    OXI_WITH(name, 0, __VA_ARGS__) \
    if (1 < (count)) OXI_WITH(name, 1, __VA_ARGS__) \
    if (2 < (count)) OXI_WITH(name, 2, __VA_ARGS__) \
    if (3 < (count)) OXI_WITH(name, 3, __VA_ARGS__)

/* How far ahead weights are prefetched that are read once, from memory: the processor's own prefetching
 * stops at the end of each page and starts anew. A page ahead or more would send it there too early. */
enum { OXI_PREFETCH_AHEAD = 2560 };

/* Which of a task's rows of weights is read at a step: they come from its two halves alternately, two streams
 * that the processor follows apart, so that more of memory is on its way. */
static inline int64_t oxi_interleaved_row(int64_t step, int64_t rows) {
    return step / 2 + (step % 2) * ((rows + 1) / 2);
}

/* The bytes of a word, the lowest first on any machine; not as a loop, which gcc leaves one. */
static inline void oxi_store_eight(int8_t *p, uint64_t word) {
    p[0] = (int8_t)(word & 255);
    p[1] = (int8_t)(word >> 8 & 255);
    p[2] = (int8_t)(word >> 16 & 255);
    p[3] = (int8_t)(word >> 24 & 255);
    p[4] = (int8_t)(word >> 32 & 255);
    p[5] = (int8_t)(word >> 40 & 255);
    p[6] = (int8_t)(word >> 48 & 255);
    p[7] = (int8_t)(word >> 56);
}

/* What a map computes in: every dtype loads into one of these. */
typedef enum oxi_lane {
    OXI_LANE_F32,
    OXI_LANE_F64,
    OXI_LANE_I64,
    OXI_LANE_U64,
    OXI_LANE_C64,
    OXI_LANE_COUNT
} oxi_lane;

/* What elementwise kernels are told: the op's numbers in the order of its attributes, and the width in bits
 * of the dtype that is computed in, 0 for 64: shift counts from there on shift all bits out. */
typedef struct oxi_map_numbers {
    double f[3];
    int bits;
} oxi_map_numbers;
/* For kernels that are called by others than their op: sums are not scaled, nor products added. */
static const oxi_map_numbers oxi_plain_numbers = {{1, 0, 0}, 0};

/* out[i] = op(in[0][i], ...): n contiguous elements, operands of the lane's C type (float, double, int64_t,
 * uint64_t, float[2]), results of the same type, or uint8_t 0/1 for ops that give BOOL. The first
 * operand of `where` is uint8_t. abs of C64 gives float. out may be in[0] exactly (in place). No alignment
 * is promised. */
typedef void (*oxi_map_kernel)(int64_t n, const void *const *in, void *out, const oxi_map_numbers *numbers);

/* Converts n elements, source stride in elements; the destination is contiguous (load), or the other way
 * round (store). Stride-0 sources splat. Lane type as above. */
typedef void (*oxi_load_kernel)(int64_t n, const void *source, int64_t stride, void *lane);
typedef void (*oxi_store_kernel)(int64_t n, const void *lane, void *destination, int64_t stride);

/* So many bytes a step of k a micro-kernel prefetches: as many as far caches give meanwhile. */
enum { OXI_PREFETCH_A_STEP = 16 };

/* A packed micro-kernel: c[mr][nr] (row stride ldc, elements) = or += sum_k a[k][mr] * b[k][nr]. Meanwhile
 * OXI_PREFETCH_A_STEP k bytes from `next` on are prefetched into the second cache: what later calls read, or
 * anything that is there. depth: the k of one call that suits it best; tile_k: how much of it is taken at
 * once, where that is by tiles, or 0. enter, leave: NULL, or what a thread calls before the first and after
 * the last use. */
typedef struct oxi_gemm_kernel {
    int mr, nr, depth, tile_k;
    void (*run)(int64_t k, const void *a, const void *b, void *c, int64_t ldc, bool accumulate,
                const void *next);
    void (*run_at)(int64_t k, const void *a, const void *b, void *c, int64_t ldc, bool accumulate,
                   const int32_t *at); /* NULL, or the same where step i of b is at b + at[i] */
    /* NULL, or the only one: rows of a, `step` elements apart, as they lie; `vectors` of b and c. k elements
     * of eight rows from `next` on, next_step bytes apart, are prefetched */
    void (*run_rows)(int64_t k, const void *a, int64_t step, const void *b, int64_t vectors, void *c,
                     int64_t ldc, bool accumulate, const char *next, int64_t next_step);
    void (*enter)(void), (*leave)(void);
} oxi_gemm_kernel;

/* from [rows][nr], rows ld apart, to 16 bits each, rows to_ld apart. */
typedef void (*oxi_round_kernel)(int64_t rows, const float *from, int64_t ld, uint16_t *to, int64_t to_ld);

/* Packs lines of 4-byte elements into panels of `width` lines: panel p at panels + p * panel_stride,
 * panel[k][width], zeros behind the last line. Across: neighbors in memory are neighboring lines,
 * source[k * stride + line]; along: neighbors are neighboring k, source[line * stride + k]. */
typedef void (*oxi_pack_kernel)(int64_t lines, int64_t k, const void *source, int64_t stride, int width,
                                void *panels, int64_t panel_stride);

/* copies[k][mr][lanes of a vector] of lines that lie along k, at least one; k is rounded up to eights. */
typedef void (*oxi_copies_kernel)(int64_t lines, int64_t k, const void *source, int64_t stride, void *copies);

typedef struct oxi_packs {
    oxi_pack_kernel across, along;
} oxi_packs;

/* A micro-kernel for packed elements of 2 bf16 or 4 int8 that are neighbors along k; k counts elements. */
struct oxi_code_panel;
enum { OXI_PICKED = 16 };
typedef struct oxi_gemm_groups {
    oxi_gemm_kernel kernel, rows; /* rows.run_rows NULL: there is none of these */
    oxi_pack_kernel interleave; /* pack_across of the numbers themselves, stride in numbers */
    oxi_packs pack_a; /* NULL, or panels of A in a layout of their own */
    /* NULL, or for each of n pairs of rows, `apart` bytes one behind the other: `count` numbers of both, at
     * most OXI_PICKED, those at[0], at[1] .., which are below `reach`, at most twice as much */
    void (*pick)(int64_t n, const char *rows, int64_t apart, const int16_t *at, int count, int reach,
                 char *to);
    /* what is not NULL: to bf16, to nearest even, where numbers that are subnormal count as zero */
    void (*round)(int64_t n, const float *x, uint16_t *out);
    /* the same of a panel of n signed codes, `group` of which share a scale, for each of nr lines */
    void (*of_codes)(int64_t n, int group, const struct oxi_code_panel *codes, void *panel);
} oxi_gemm_groups;

/* A micro-kernel for f16 as sums of two bf16, high and low: four products, each of them exact in f32. Panels
 * are packed from f32, k a multiple of tile_k. Infinities have no low part: sums with them come out as
 * NaN. */
typedef struct oxi_gemm_pieces {
    oxi_gemm_kernel kernel;
    oxi_packs pack_a, pack_b;
} oxi_gemm_pieces;

/* Convolutions of 3 x 3 in tiles of 4 x 4 places, as 36 products (kernels/winograd.inc): numbers of an image,
 * of weights, of sums of products, places of these. Lanes are channels, rows of tiles those of gemm_f32. */
typedef struct oxi_winograd_kernels {
    void (*image)(const float *d, int64_t row, float *v, int64_t point); /* or NULL */
    void (*weight)(const float *g, int64_t step, float *u, int64_t point);
    void (*sums)(int64_t k, const float *v, const float *u, float *m, bool onto);
    void (*sums_few)(int64_t k, const float *v, const float *u, float *m, bool onto); /* 8 rows; or NULL */
    bool (*places)(const float *m, int64_t point, const float *bias, float *y, int64_t row);
    /* of a gradient of weights: numbers of what flows back, sums over tiles, taps of these */
    void (*gradient)(const float *d, int64_t row, float *y, int64_t point);
    void (*sums_back)(int64_t k, const float *y, int64_t y_step, const float *v, int64_t v_step, float *m,
                      int64_t ld, bool onto);
    bool (*taps)(const float *m, int64_t point, float *taps);
} oxi_winograd_kernels;

/* Numbers of a block type as they are computed, number = scale * code - least: code [n], scale and least
 * [n / 16]. */
typedef struct oxi_codes {
    int8_t *code;
    float *scale, *least;
} oxi_codes;

/* Tables of the block types of four bits without steps: iq4_nl and iq4_xs, and e2m1, doubled (its scales
 * are halved). */
static const int8_t oxi_table_iq4[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                         1,    13,   25,  38,  53,  69,  89,  113};
static const int8_t oxi_table_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
static const uint8_t oxi_table_iq4_plus_128[16] = {1,   24,  45,  63,  79,  93,  106, 118,
                                                   129, 141, 153, 166, 181, 197, 217, 241};
static const uint8_t oxi_table_e2m1_plus_12[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/* 256 neighbors of a row of activations as int8, in groups of 32: x[i] ~ scale[i / 32] * q[i]. scale = ratio
 * * step, ratios from 1 to OXI_Q8_RATIOS: times an integer scale of weights they still fit 16 bits; where
 * nothing reads ratios, the group's own. total: of 16 q each; sum: of a group's q times its scale. crossed:
 * ratios, sums of 32 q, and totals in the order 0 2 1 3 4 6 5 7 ..., as pairs lie beside bytes 0 and 2, 1 and
 * 3. Behind the end of a row q is 0. */
enum { OXI_Q8_RATIOS = 32 };
typedef struct oxi_q8 {
    int8_t q[256];
    float scale[8], sum[8];
    int16_t ratio[8], total[16], crossed_ratio[8], crossed_sum[8], crossed_total[16];
    float step, unused[2];
    int32_t blocks; /* of 32 that there are */
} oxi_q8;

/* Where what is crossed lies: 1 and 2 of each four change places. */
static inline int oxi_crossed(int i) { return i % 4 == 1 ? i + 1 : i % 4 == 2 ? i - 1 : i; }

/* The largest activation in 16 bits: the sum of 256 products with weights of 2048 fits 32 bits. */
enum { OXI_WIDE_MOST = 4095 };

/* Lines of codes packed side by side, `width` of them, for products of many rows: four codes of a line
 * (two of 16 bits) lie in a lane of 32 bits, codes [k / 4][width]. Weights: scale and extra, what is taken
 * from each code times the scale, [k / group][width]. Activations: scale [k / 32][width], extra [k /
 * group][width], the sums of the group. Where a kernel wants ratios, these, int16 twice each, are in the
 * place of the scales of activations, and step [pieces of 256][width] beside them. Codes of 16 bits have
 * their groups' scales in them: of weights scale [pieces of 256][width], of activations step likewise. */
typedef struct oxi_code_panel {
    void *codes;
    float *scale, *extra; /* extra of weights: NULL if there is none */
    float *step;
} oxi_code_panel;

/* c[mr][nr] (row stride ldc) = or += products of a panel of mr activations and one of nr weights over k
 * codes. Integer sums are taken over `steps` lanes, an even number; groups of 16 or 32 codes, 1 << shift,
 * share a scale. */
typedef struct oxi_codes_kernel {
    int mr, nr;
    int bytes;         /* of a code */
    int pairs;         /* of products that a lane of 16 bits must hold for it to be faster than others */
    bool is_signed;    /* codes of weights */
    bool wants_ratios; /* of activations */
    void (*run)(int64_t k, const oxi_code_panel *w, const oxi_code_panel *x, int steps, int shift, float *c,
                int64_t ldc, bool more); /* or NULL */
} oxi_codes_kernel;

/* Rows of block types that repacking puts side by side. */
enum { OXI_REPACKED_ROWS = 16 };

/* The table of dtypes as constants: OXI_ELEMENTS_OX_Q4_K = 256, OXI_BYTES_OX_Q4_K = 144. */
enum {
#define OXI_X(name, id, text, elements, bytes, cls, gguf, safetensors, npy) \
    OXI_ELEMENTS_##name = elements, OXI_BYTES_##name = bytes,
    OX_DTYPE_LIST(OXI_X)
#undef OXI_X
};

/* A contiguous row, and what its numbers add up to: their distances from `about`, a number amid them, and the
 * squares of those; or where it is not centered, squares alone, and about is 0. */
typedef struct oxi_row_sums {
    const float *x;
    int64_t n;
    bool centered, measured;
    float about;
    double sum, squares;
} oxi_row_sums;

/* A position of linear attention: q k decay erase write of each row of the memory, v and out of each column.
 * to = decay from + k^T v + write^T (erase from), out = q to; to may be from. */
typedef struct oxi_recurrence {
    int64_t keys, columns;
    const float *q, *k, *erase, *write; /* erase NULL: nothing is erased */
    bool wide;                          /* decays are of each number */
    const float *decay;                 /* factors of rows, or, wide, logarithms in rows decay_step apart */
    int64_t decay_step;
    const float *v, *from;
    float *out, *to;
    int64_t from_step, to_step; /* from row to row */
    const float *step;  /* or NULL: of each column, what wide decays are multiplied by */
    const float *ahead; /* or NULL: a second q of each row, for out_ahead; nothing is erased, nor wide */
    float *out_ahead;
} oxi_recurrence;

/* A length as small factors, and its roots exp(-2 pi i t / n), t < n, for Fourier transforms. */
enum { OXI_FFT_FACTORS = 64, OXI_FFT_PRIME = 61 }; /* the largest factor that is not worth a convolution */
typedef struct oxi_fft_factors {
    int64_t n;
    int count, factor[OXI_FFT_FACTORS];
    const float *root;
} oxi_fft_factors;

enum { OXI_ATTENTION_DEPTH = 4096 };

typedef struct oxi_kernels {
    const char *name;                               /* "avx2" */
    int vector_bytes;
    oxi_map_kernel map[OXI_OP_COUNT][OXI_LANE_COUNT];   /* NULL where the op does not take that lane */
    /* OXI_CHAIN_ADAM of whole vectors: in [4][n], numbers [7], to: c, d, a */
    void (*chain_adam)(int64_t n, const float *const *in, const double *numbers, float *const *to);
    oxi_load_kernel load[OX_DTYPE_COUNT][OXI_LANE_COUNT];    /* plain dtypes only */
    oxi_store_kernel store[OX_DTYPE_COUNT][OXI_LANE_COUNT];
    /* elements of 1, 2, 4, 8 or 16 bytes (oxi_width_index) moved as they are, steps in bytes: to[i] =
     * from[i * step], and to[c][r] = from[r][c], neighbors along c side by side, as those along r in to */
    void (*gather[5])(int64_t n, const char *from, int64_t step, char *to);
    void (*transpose[5])(int64_t rows, int64_t columns, const char *from, int64_t from_step, char *to,
                         int64_t to_step);
    oxi_gemm_kernel gemm_f32, gemm_f64;
    /* the same for a whose elements are there once for each lane; copies makes such a panel of k steps.
     * NULL: as above */
    oxi_gemm_kernel spread_f32, spread_f64;
    void (*copies_f32)(int64_t k, const void *a, void *out);
    void (*copies_f64)(int64_t k, const void *a, void *out);
    oxi_copies_kernel copies_along[OX_DTYPE_COUNT]; /* for spread_f32: NULL where lines are packed before */
    oxi_gemm_kernel gemm_i16; /* i32 c; k counts pairs: a[k][mr][2], b[k][nr][2] of int16_t */
    oxi_gemm_groups bf16_pairs, i8_quads; /* run NULL: computed in f32 and int16 */
    oxi_gemm_pieces f16_pieces;           /* run NULL: computed in f32 */
    /* finished sums of gemm_f32, whole rows of nr of them, rounded to nearest even on their way to C */
    oxi_round_kernel round_tile_bf16, round_tile_f16;
    oxi_winograd_kernels winograd;
    oxi_pack_kernel pack_across, pack_along;
    oxi_pack_kernel pack_across_bf16, pack_along_bf16, pack_across_f16, pack_along_f16; /* to f32 */
    /* dot of n f32 (n any), rows contiguous: matrix-vector shapes */
    float (*dot_f32)(int64_t n, const float *a, const float *b);
    /* y += s x */
    void (*axpy_f32)(int64_t n, float s, const float *x, float *y);
    /* the same of f64, and dots; x, y = c x + s y, c y - s x. For linalg/ */
    void (*axpy_f64)(int64_t n, double s, const double *x, double *y);
    double (*dot_f64)(int64_t n, const double *a, const double *b);
    void (*rotate_f64)(int64_t n, double c, double s, double *x, double *y);
    /* Fourier transforms of fft_lines lines side by side, z[n][2][fft_lines] (fft/kernels.inc) */
    int fft_lines;
    float *(*fft)(const oxi_fft_factors *f, bool back, float scale, float *z, float *work);
    void (*fft_times)(int64_t n, bool back, float *z, const float *factor);
    void (*fft_turn)(int64_t n, bool back, const float *z, const float *root, const float *turn,
                     float *to, int64_t step, int64_t count);
    void (*fft_split)(int64_t n, float sign, const float *z, float *a, float *b);
    void (*fft_join)(int64_t n, float sign, const float *a, const float *b, float *z);
    /* rows */
    float (*row_max)(int64_t n, const float *x);                         /* NaN wins */
    float (*row_min)(int64_t n, const float *x);
    /* of n numbers at each of x, shifted in turn against most: the larger ones, NaN wins, and where they are:
     * best = place + at. All lines have room for whole vectors */
    void (*row_max_places)(int64_t n, int taps, const float *const *x, const int32_t *place,
                           const int32_t *at, float *most, int32_t *best);
    /* asks: x lies in memory, and what is behind it is read next: it is prefetched */
    double (*row_sum)(int64_t n, const float *x, bool asks);
    double (*row_sum_numbers)(int64_t n, const float *x, bool asks); /* NaN is 0 */
    /* sum = x[0] + x[1] + .., rows of n, row_stride apart */
    void (*column_sums)(int64_t n, int64_t rows, const float *x, int64_t row_stride, float *sum);
    void (*row_add_numbers)(int64_t n, const float *x, float *sum);  /* sum += x, NaN is 0 */
    void (*row_add_numbers_f64)(int64_t n, const double *x, double *sum);
    void (*row_measure)(oxi_row_sums *row, bool asks); /* sums of row->x; asks: as of row_sum */
    /* out = e^(x-max) (out may be x or NULL), its sum */
    double (*row_exp_sum)(int64_t n, const float *x, float max, float *out);
    void (*row_scale)(int64_t n, const float *x, float scale, float *out);
    /* (x - mean) * scale [* weight] [+ bias]; next: NULL, or a row (perhaps of nothing) that is measured
     * meanwhile. Then results go past the caches, as by `stream`: n and out are whole lines of 64 bytes */
    void (*row_affine)(int64_t n, const float *x, float mean, float scale, const float *weight,
                       const float *bias, float *out, oxi_row_sums *next);
    /* memcpy past the caches, for tasks: what is larger than caches is not read first in order to be
     * written. Others see these bytes when the task is over */
    void (*stream)(size_t bytes, const void *from, void *to);
    /* attention: scores[key][gemm_f32.nr] become e^(score - max), max and sum [nr] of the queries so far
     * are brought up to date, rescale [nr] is what earlier weights are to be multiplied by; and that
     * multiplication of x [rows][nr] */
    void (*attention_softmax)(int64_t keys, float *scores, float *max, float *sum, float *rescale);
    void (*attention_rescale)(int64_t rows, const float *factor, float *x);
    void (*linear_attention)(const oxi_recurrence *r);
    /* attention of each of some queries, by itself: scores[key] = q . k[key], and out += sum of weights[key]
     * v[key]; rows of k and v are step elements apart, of dtype f32, f16 or bf16 (NULL for others), lines of
     * scores and weights `line`; depth is at most OXI_ATTENTION_DEPTH but for f32 */
    void (*attention_dots[OX_DTYPE_COUNT])(int64_t queries, int64_t keys, int64_t depth, const float *q,
                                           int64_t q_step, const void *k, int64_t step, float *scores,
                                           int64_t line);
    void (*attention_mix[OX_DTYPE_COUNT])(int64_t queries, int64_t keys, int64_t depth, const float *weights,
                                          int64_t line, const void *v, int64_t step, float *out,
                                          int64_t out_step);
    /* block types: n elements (a multiple of the block) as codes, and codes as numbers */
    void (*unpack[OX_DTYPE_COUNT])(int64_t n, const void *blocks, oxi_codes codes);
    void (*expand_codes)(int64_t n, oxi_codes codes, float *out);
    /* n floats (a multiple of the block) as a block type; NULL for types that are only read */
    void (*quantize[OX_DTYPE_COUNT])(int64_t n, const float *x, void *blocks);
    /* n floats, a multiple of 32, as quantized activations */
    void (*quantize_activation)(int64_t n, const float *x, bool by_ratios, oxi_q8 *out);
    /* out[i] = the row at blocks + i * row_bytes times x; n a multiple of 256. NULL: by dot_codes */
    void (*dot_rows[OX_DTYPE_COUNT])(int64_t rows, int64_t row_bytes, int64_t n, const void *blocks,
                                     const oxi_q8 *x, float *out);
    float (*dot_codes)(int64_t n, oxi_codes codes, const oxi_q8 *x); /* n at most 256 */
    /* the same for repacked rows (cpu/product/repack.c), OXI_REPACKED_ROWS of them in group_bytes, and then
     * for `more` groups, at most as many, `apart` bytes behind the first, that meet what is `x_apart` behind
     * x; NULL: they are not worth repacking */
    void (*dot_repacked[OX_DTYPE_COUNT])(int64_t groups, int64_t more, int64_t apart, int64_t group_bytes,
                                         int64_t n, const void *blocks, const oxi_q8 *x, int64_t x_apart,
                                         float *out);
    /* n numbers of `count` of the rows of a group, from row `first` on, as codes, scales and, where there is
     * room for them, extras of a panel `width` wide; is_signed: as oxi_codes_kernel has it. Both are
     * multiples of 8 */
    void (*unpack_repacked[OX_DTYPE_COUNT])(int64_t n, const void *rows, int first, int count, int64_t width,
                                            bool is_signed, const oxi_code_panel *to);
    /* many rows at once: integer sums in 16 bits, for small codes, and in 32, for all */
    oxi_codes_kernel codes_16, codes_32;
    void (*codes_shift)(int64_t n, int offset, int8_t *code); /* code += offset, n a multiple of 32 */
    /* numbers as out[i] times what is returned, NaN if a scale is not finite: |out| <= 2048. n: as for
     * codes_shift, at most 256, scales behind them 0; all codes are below 1 << bits and not below its
     * negative, bits at most 7 */
    float (*codes_widen)(int64_t n, oxi_codes codes, int bits, int16_t *out);
    /* n floats, a multiple of 32, as codes of 16 bits up to OXI_WIDE_MOST, with a step for each 256 */
    void (*quantize_wide)(int64_t n, const float *x, int16_t *code, float *step);
} oxi_kernels;

/* The tier in use: the best this processor has, or the one OX_ISA names if it has that. */
static const oxi_kernels *oxi_cpu_kernels(void);

/* A family's executor on the CPU. call->out are made; shapes and types are checked; nothing has NULL where
 * it may not. part: what a part of a call is told, or NULL. */
static ox_status oxi_cpu_map(const oxi_call *call);        /* cpu/map/map.c */
static ox_status oxi_cpu_copy(const oxi_call *call);       /* cpu/move/copy.c */
static ox_status oxi_cpu_fill(const oxi_call *call,
                              const oxi_part *part);       /* cpu/generate/generate.c: FILL and RANDOM */
static ox_status oxi_cpu_reduce(const oxi_call *call);     /* cpu/reduce/reduce.c */
static ox_status oxi_cpu_scan(const oxi_call *call);       /* cpu/reduce/scan.c */
static ox_status oxi_cpu_sort(const oxi_call *call);       /* cpu/index/sort.c */
static ox_status oxi_cpu_row(const oxi_call *call,
                             const oxi_part *part);        /* cpu/rows/softmax_norm.c: softmax, norms */
static ox_status oxi_cpu_index(const oxi_call *call, const oxi_part *part); /* cpu/index/index.c */
/* product.c over gemm.c and blocks.c, of cpu/product */
static ox_status oxi_cpu_product(const oxi_call *call, const oxi_part *part);
static ox_status oxi_cpu_rope(const oxi_call *call);       /* cpu/rows/rope.c */
static ox_status oxi_cpu_attention(const oxi_call *call, const oxi_part *part); /* cpu/rows/attention.c */
static ox_status oxi_cpu_conv(const oxi_call *call);       /* cpu/windows/conv.c */
static ox_status oxi_cpu_pool(const oxi_call *call);       /* cpu/windows/pool.c */
/* BACK: set by autograd/node.c */
OXI_UNUSED static ox_status (*oxi_cpu_back)(const oxi_call *call, const oxi_part *part);

/* cpu/product/blocks.c: whether a block type can be expanded, OX_ERR_UNSUPPORTED by name if not; and n
 * elements of one that can (whole blocks) as floats. */
static ox_status oxi_check_expandable(ox_dtype dtype);
static void oxi_expand_blocks(ox_dtype dtype, int64_t n, const void *blocks, float *out);

/* Results from this size on are streamed: whoever reads them would not find them in a cache of this core. */
enum { OXI_STREAM_BYTES = 8 << 20 };
OXI_UNUSED static bool oxi_streams(const ox_tensor *out) { return ox_nbytes(out) >= OXI_STREAM_BYTES; }

/* How a product is computed. It hangs on sizes and strides, and the bits hang on it, so parts of a product go
 * the way of the whole. */
typedef enum oxi_gemm_way {
    OXI_WAY_PANELS = 1,    /* packed */
    OXI_WAY_SHORT_SUMS,    /* the same, of few numbers, which are summed up a few steps at a time */
    OXI_WAY_PIECES,        /* the same, numbers of f16 as sums of two bf16 */
    OXI_WAY_FEW_ROWS,      /* blocks are multiplied as they lie */
    OXI_WAY_THIN_A,        /* A has few lines: dots with the columns of B */
    OXI_WAY_THIN_A_ACROSS, /* the same, with all columns at once */
    OXI_WAY_THIN_B,        /* B has few lines */
    OXI_WAY_THIN_B_ACROSS
} oxi_gemm_way;

/* C = A B (or beta-accumulated) over raw strided memory: the core below matmul, linear, addmm and
 * attention's callers. a[m,k] at a + (m*a_row + k*a_col) elements, likewise b[k,n], c[m,n]. dtypes of a and
 * b: F32 F16 BF16 (compute f32), F64 (f64), c any plain float; I8 x I8 with c I32. Epilogue: c = act(alpha
 * * ab + beta * c_in + bias[n]). */
typedef struct oxi_gemm {
    int64_t m, n, k;
    const void *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    ox_dtype a_dtype, b_dtype;
    void *c;
    int64_t c_row, c_col;
    const int64_t *c_rows;                           /* NULL, or where each row begins, in place of c_row */
    ox_dtype c_dtype;
    double alpha;                                    /* 1 for a plain product */
    const void *addend; /* NULL, or a matrix to add beta times; same layout fields */
    int64_t addend_row, addend_col;
    ox_dtype addend_dtype;
    double beta;
    bool onto; /* sums begin with what is in c, of their dtype, and nothing else is done to them */
    const float *bias;                               /* NULL, or n floats */
    ox_activation activation;
    bool exact; /* ox_set_exact */
    bool rough; /* operands may be rounded to bf16, as int8 is too */
    oxi_shared *shared; /* NULL, or keeps a, packed or quantized, for further products with it */
    struct oxi_together *together; /* NULL, or the calls whose tasks go with its own */
    ox_storage *a_storage, *b_storage; /* of constant operands: where panels of them are kept; else NULL */
    oxi_gemm_way way;
    bool repacked; /* the operand of a block type is (product/repack.c), and lies as whole groups of rows */
    /* NULL, or where the numbers of a, b are in place of their strides (cpu/windows/windows.h), and columns
     * of c. a is taps by places, b likewise if b_by_taps, else places by taps; by WAY_PANELS alone */
    const struct oxi_windows *a_windows, *b_windows, *c_places;
    bool b_by_taps;
    const int32_t *b_at; /* NULL, or where each step of b begins: packed elements, columns side by side */
    int64_t pairs;       /* 0, or how far apart numbers of a are along k that are packed as one element */
} oxi_gemm;
static ox_status oxi_gemm_run(const oxi_gemm *g);

/* Books of groups that numbers of iq1, iq2 and iq3 are looked up in, one behind the other
 * (cpu/product/blocks_iq.c): the first group of each. */
enum {
    OXI_BOOK_IQ2_XXS = 0,
    OXI_BOOK_IQ2_XS = OXI_BOOK_IQ2_XXS + 256,
    OXI_BOOK_IQ2_S = OXI_BOOK_IQ2_XS + 512,
    OXI_BOOK_IQ1 = OXI_BOOK_IQ2_S + 1024,
    OXI_BOOK_IQ3_XXS = OXI_BOOK_IQ1 + 2048,
    OXI_BOOK_IQ3_S = OXI_BOOK_IQ3_XXS + 256,
    OXI_BOOK_GROUPS = OXI_BOOK_IQ3_S + 512
};

#endif
