/* What reductions do with contiguous elements: the kinds of reduction, and how each takes a row, or a few
 * rows of columns, in every lane. Sums of f32 go to f64 every few elements; integers wrap; NaN and infinities
 * are as IEEE says. Called by reduce.c, scan.c and rows/softmax_norm.c. */

#define OXI_REDUCE_BLOCK 2048  /* elements that several passes read while they are in the L1 cache */
#define OXI_REDUCE_LINE 65536  /* elements of a chunk of a line, and of a task */
#define OXI_REDUCE_BUFFER 1024 /* elements converted at a time; most kept positions of a tile */
#define OXI_REDUCE_ROWS 16     /* rows of a tile handled at a time, */
#define OXI_REDUCE_COLUMNS 512 /* and the most columns, which kernels of columns keep on the stack */
#define OXI_STRIP 64           /* columns handled together, a constant so that compilers vectorize */
#define OXI_REDUCE_FEW 9216    /* bytes of scratch that may be on the stack */

typedef enum oxi_reduce_kind {
    OXI_REDUCE_SUM,
    OXI_REDUCE_SUM_NUMBERS, /* NaN is 0 */
    OXI_REDUCE_PROD,
    OXI_REDUCE_COUNT,
    OXI_REDUCE_MAX,
    OXI_REDUCE_MIN,
    OXI_REDUCE_MAX_PLACE,
    OXI_REDUCE_MIN_PLACE,
    OXI_REDUCE_SQUARES,
    OXI_REDUCE_MOMENTS,
    OXI_REDUCE_LOGSUMEXP,
    OXI_REDUCE_KINDS
} oxi_reduce_kind;

/* What is known of `width` columns after `count` elements of each: two values a column.
 *   sums, prod, squares a = the running value; c64: a real, b imaginary part       count  a = int64 non-zeros
 *   max, min            a = the best, in the lane's type; with place b = int64 index of it
 *   moments             a = mean, b = sum of squared distances from it
 *   logsumexp           a = largest x, b = sum of e^(x - oxi_exp_shift(a)) */
typedef struct oxi_partial {
    void *a, *b;
    int64_t count;
    bool asks; /* what lies behind the elements of a row is asked for while they are in the cache */
} oxi_partial;

/* Of no elements yet. */
static oxi_partial oxi_partial_of(void *a, void *b) {
    oxi_partial p;
    p.a = a;
    p.b = b;
    p.count = 0;
    p.asks = false;
    return p;
}

/* What the kernels of a row and of columns are given; few want all of it. position: index of the first in its
 * line. */
#define OXI_ROW_PARAMETERS \
    OXI_UNUSED const oxi_kernels *k, oxi_partial *p, int64_t n, const void *elements, \
        OXI_UNUSED int64_t position
#define OXI_COLUMNS_PARAMETERS \
    OXI_UNUSED const oxi_kernels *k, oxi_partial *p, int64_t width, int64_t rows, const void *elements, \
        int64_t row_stride, OXI_UNUSED int64_t position

typedef void (*oxi_reduce_row)(OXI_ROW_PARAMETERS);
typedef void (*oxi_reduce_columns)(OXI_COLUMNS_PARAMETERS);

/* How one kind is reduced in one lane. begin NULL = zeros; take NULL = not by oxi_row_sums. */
typedef struct oxi_reducer {
    void (*begin)(oxi_partial *p, int64_t width);
    oxi_reduce_row row;
    oxi_reduce_columns columns;
    void (*merge)(oxi_partial *p, int64_t width, const oxi_partial *later);
    /* what `row` does with elements that are measured already */
    void (*take)(const oxi_kernels *k, oxi_partial *p, oxi_row_sums *row);
} oxi_reducer;

/* ---- moments and log-sum-exp: merging ------------------------------------------------------------------ */

/* Joins n elements of that mean and sum of squares to `count` earlier ones (Chan, Golub & LeVeque 1979). */
static void oxi_moments_add(double *mean, double *squares, int64_t count, double other_mean,
                            double other_squares, int64_t n) {
    double distance = other_mean - *mean, share = (double)n / (double)(count + n);
    *mean += distance * share;
    *squares += other_squares + distance * distance * (double)count * share;
}

/* The exponent's shift for a largest element: infinities are not subtracted, they would give NaN. */
static double oxi_exp_shift(double most) {
    return isfinite(most) ? most : 0;
}

static void oxi_logsumexp_add(double *most, double *sum, double other_most, double other_sum) {
    double joint = other_most > *most || other_most != other_most ? other_most : *most;
    if (isinf(other_most))
        other_sum = other_most > 0 ? other_most : 0; /* kernels take e^x of no infinite x */
    double shift = oxi_exp_shift(joint);
    double here = oxi_exp_shift(*most), there = oxi_exp_shift(other_most);
    if (here != shift && *sum != 0) *sum *= exp(here - shift);
    if (there != shift && other_sum != 0) other_sum *= exp(there - shift);
    *sum += other_sum;
    *most = joint;
}

static void oxi_moments_merge(oxi_partial *p, int64_t width, const oxi_partial *later) {
    double *mean = (double *)p->a, *squares = (double *)p->b;
    const double *other_mean = (const double *)later->a, *other_squares = (const double *)later->b;
    for (int64_t c = 0; c < width; c++) {
        oxi_moments_add(mean + c, squares + c, p->count, other_mean[c], other_squares[c], later->count);
    }
}

static void oxi_logsumexp_merge(oxi_partial *p, int64_t width, const oxi_partial *later) {
    double *most = (double *)p->a, *sum = (double *)p->b;
    const double *other_most = (const double *)later->a, *other_sum = (const double *)later->b;
    for (int64_t c = 0; c < width; c++) oxi_logsumexp_add(most + c, sum + c, other_most[c], other_sum[c]);
}

static void oxi_logsumexp_begin(oxi_partial *p, int64_t width) {
    for (int64_t c = 0; c < width; c++) ((double *)p->a)[c] = -INFINITY;
}

/* Sum of e^(x - shift): needed by the f64 stamp. */
static double oxi_exp_sum_f64(const oxi_kernels *k, int64_t n, const double *x, double shift);

/* ---- stamping the lanes -------------------------------------------------------------------------------- */

#define OXI_T float
#define OXI_LANE OXI_LANE_F32
#define OXI_NAME(x) oxi_##x##_f32
#define OXI_REAL 1
#define OXI_MAX_OF(k, n, x) (k)->row_max(n, x)
#define OXI_MIN_OF(k, n, x) (k)->row_min(n, x)
#define OXI_EXP_SUM(k, n, x, shift) (k)->row_exp_sum(n, x, shift, NULL)
#define OXI_A double
#include "cpu/reduce/reduce_lane.inc"

#define OXI_T double
#define OXI_LANE OXI_LANE_F64
#define OXI_NAME(x) oxi_##x##_f64
#define OXI_REAL 1
#define OXI_EXP_SUM(k, n, x, shift) oxi_exp_sum_f64(k, n, x, shift)
#define OXI_A double
#include "cpu/reduce/reduce_lane.inc"

/* Their sums and products are those of U64: they wrap, and have the same bits. */
#define OXI_T int64_t
#define OXI_LANE OXI_LANE_I64
#define OXI_NAME(x) oxi_##x##_i64
#define OXI_REAL 0
#include "cpu/reduce/reduce_lane.inc"

#define OXI_T uint64_t
#define OXI_LANE OXI_LANE_U64
#define OXI_NAME(x) oxi_##x##_u64
#define OXI_REAL 0
#define OXI_A uint64_t
#include "cpu/reduce/reduce_lane.inc"

/* What is not a number counts as 0. */
#define OXI_NUMBER_OF(x) ((x) == (x) ? (x) : 0)
#define OXI_T float
#define OXI_A double
#define OXI_NAME(x) oxi_number_##x##_f32
#define OXI_READ OXI_NUMBER_OF
#include "cpu/reduce/reduce_sum.inc"
#undef OXI_T
#undef OXI_A
#undef OXI_NAME
#define OXI_T double
#define OXI_A double
#define OXI_NAME(x) oxi_number_##x##_f64
#define OXI_READ OXI_NUMBER_OF
#include "cpu/reduce/reduce_sum.inc"
#undef OXI_T
#undef OXI_A
#undef OXI_NAME
#undef OXI_NUMBER_OF

/* ---- f32 rows, by the tier's kernels ------------------------------------------------------------------- */

static void oxi_sum_row(OXI_ROW_PARAMETERS) {
    double sum = k->row_sum(n, (const float *)elements, p->asks);
    if (isfinite(sum))
        *(double *)p->a += sum;
    else
        oxi_sum_row_f32(k, p, n, elements, position); /* perhaps only f32 overflowed */
}

static void oxi_number_sum_row(OXI_ROW_PARAMETERS) {
    double sum = k->row_sum_numbers(n, (const float *)elements, p->asks);
    if (isfinite(sum))
        *(double *)p->a += sum;
    else
        oxi_number_sum_row_f32(k, p, n, elements, position);
}

/* Whether squares added up in f32 have not left its range. */
static bool oxi_squares_fit(double squares) {
    return squares > 1e-25 && squares < 1e38;
}

/* A number amid those of a row: the mean of sixteen in four places. */
OXI_SMALL float oxi_row_about(int64_t n, const float *x) {
    float sum[4];
    if (n < 16) return x[0];
    for (int i = 0; i < 4; i++) {
        const float *place = x + i * (n / 4);
        sum[i] = (place[0] + place[1]) + (place[2] + place[3]);
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) * 0.0625f;
}

/* The row that a kernel is to measure; n may be 0. Filled in place: vectors that copy what was just written
 * singly wait until it has left the processor, and what it wrote past the caches before. */
static void oxi_row_sums_begin(oxi_row_sums *row, int64_t n, const float *x, bool centered) {
    row->x = x;
    row->n = n;
    row->centered = centered;
    row->measured = n == 0;
    row->about = centered && n > 0 ? oxi_row_about(n, x) : 0;
    row->sum = row->squares = 0;
}

/* Adds a measured row to the sum of squares; in double where the kernel's f32 left its range. */
static void oxi_squares_take(const oxi_kernels *k, oxi_partial *p, oxi_row_sums *row) {
    (void)k;
    *(double *)p->a += oxi_squares_fit(row->squares) ? row->squares : oxi_square_sum_f32(row->n, row->x, 0);
}

static void oxi_squares_row(OXI_ROW_PARAMETERS) {
    oxi_row_sums row;
    oxi_row_sums_begin(&row, n, (const float *)elements, false);
    k->row_measure(&row, p->asks);
    oxi_squares_take(k, p, &row);
}

/* Squared distances from a number that is amid the others give those from the mean (Chan, Golub & LeVeque
 * 1983). Where it is off by more than the deviation, the row is measured once more, about its mean: from what
 * f32 holds of that, distances are exact where the deviation is small beside it. */
static void oxi_moments_take(const oxi_kernels *k, oxi_partial *p, oxi_row_sums *row) {
    double count = (double)row->n, off = row->sum / count;
    if (oxi_squares_fit(row->squares) && !(off * row->sum <= 0.5 * row->squares)) {
        row->about = (float)(row->about + off);
        k->row_measure(row, false);
        off = row->sum / count;
    }
    double squares = row->squares - off * row->sum;
    if (oxi_squares_fit(row->squares) && isfinite(off))
        oxi_moments_add((double *)p->a, (double *)p->b, p->count, row->about + off, squares > 0 ? squares : 0,
                        row->n);
    else
        oxi_moments_row_f32(k, p, row->n, row->x, 0);
}

static void oxi_moments_row(OXI_ROW_PARAMETERS) {
    oxi_row_sums row;
    oxi_row_sums_begin(&row, n, (const float *)elements, true);
    k->row_measure(&row, p->asks);
    oxi_moments_take(k, p, &row);
}

/* ---- f32 columns: a few rows are added up in f32, then the sums in f64 ---------------------------------
 * Columns that f32 is too narrow for are done again, and they alone: a column's bits do not hang on which
 * others are in its tile. */

/* From column `first` on, as many as `holds` says the same of. */
static int64_t oxi_columns_alike(const bool *holds, int64_t first, int64_t width) {
    int64_t end = first + 1;
    while (end < width && holds[end] == holds[first]) end++;
    return end;
}

/* sum: of each column, in f32; wide adds those up again that f32 did not hold. */
static void oxi_sum_columns_take(const oxi_kernels *k, oxi_partial *p, int64_t width, int64_t rows,
                                 const float *x, int64_t row_stride, const float *sum,
                                 oxi_reduce_columns wide) {
    if (isfinite(k->row_sum(width, sum, false))) {
        oxi_sum_columns_f32(k, p, width, 1, sum, width, 0);
        return;
    }
    bool holds[OXI_REDUCE_COLUMNS];
    for (int64_t c = 0; c < width; c++) holds[c] = isfinite(sum[c]);
    for (int64_t c = 0, end; c < width; c = end) {
        oxi_partial some = oxi_partial_of((double *)p->a + c, NULL);
        some.count = p->count;
        end = oxi_columns_alike(holds, c, width);
        if (holds[c])
            oxi_sum_columns_f32(k, &some, end - c, 1, sum + c, width, 0);
        else
            wide(k, &some, end - c, rows, x + c, row_stride, 0);
    }
}

static void oxi_sum_columns(OXI_COLUMNS_PARAMETERS) {
    const float *x = (const float *)elements;
    OXI_ALIGNED float sum[OXI_REDUCE_COLUMNS];
    k->column_sums(width, rows, x, row_stride, sum);
    oxi_sum_columns_take(k, p, width, rows, x, row_stride, sum, oxi_sum_columns_f32);
}

static void oxi_number_sum_columns(OXI_COLUMNS_PARAMETERS) {
    const float *x = (const float *)elements;
    OXI_ALIGNED float sum[OXI_REDUCE_COLUMNS];
    memset(sum, 0, (size_t)width * sizeof *sum);
    for (int64_t r = 0; r < rows; r++) k->row_add_numbers(width, x + r * row_stride, sum);
    oxi_sum_columns_take(k, p, width, rows, x, row_stride, sum, oxi_number_sum_columns_f32);
}

static void oxi_number_sum_columns_wide(OXI_COLUMNS_PARAMETERS) {
    const double *x = (const double *)elements;
    for (int64_t r = 0; r < rows; r++) k->row_add_numbers_f64(width, x + r * row_stride, (double *)p->a);
}

/* sum = the columns' sums, squares = their sums of squares, of x - mean. */
static void oxi_distance_sums(const oxi_kernels *k, int64_t width, int64_t rows, const float *x,
                              int64_t row_stride, const float *mean, float *sum, float *squares) {
    OXI_ALIGNED float distance[OXI_REDUCE_COLUMNS];
    const void *sub[2], *fma[3];
    sub[1] = mean;
    fma[0] = squares;
    fma[1] = fma[2] = distance;
    memset(sum, 0, (size_t)width * sizeof *sum);
    memset(squares, 0, (size_t)width * sizeof *squares);
    for (int64_t r = 0; r < rows; r++) {
        sub[0] = x + r * row_stride;
        k->map[OXI_OP_sub][OXI_LANE_F32](width, sub, distance, &oxi_plain_numbers);
        k->axpy_f32(width, 1, distance, sum);
        k->map[OXI_OP_addcmul][OXI_LANE_F32](width, fma, squares, &oxi_plain_numbers);
    }
}

/* As oxi_moments_row, a column at a time; all again in f64 where squares leave the range of f32. */
static void oxi_moments_columns(OXI_COLUMNS_PARAMETERS) {
    const float *x = (const float *)elements;
    OXI_ALIGNED float mean[OXI_REDUCE_COLUMNS], sum[OXI_REDUCE_COLUMNS], squares[OXI_REDUCE_COLUMNS];
    bool holds[OXI_REDUCE_COLUMNS];
    k->column_sums(width, rows, x, row_stride, mean);
    k->row_scale(width, mean, 1 / (float)rows, mean);
    oxi_distance_sums(k, width, rows, x, row_stride, mean, sum, squares);
    for (int64_t c = 0; c < width; c++)
        holds[c] = rows == 1 || (squares[c] > 1e-25f && squares[c] < 1e38f);
    for (int64_t c = 0, end; c < width; c = end) {
        oxi_partial some = oxi_partial_of((double *)p->a + c, (double *)p->b + c);
        some.count = p->count;
        end = oxi_columns_alike(holds, c, width);
        if (!holds[c]) oxi_moments_columns_f32(k, &some, end - c, rows, x + c, row_stride, position);
    }
    for (int64_t c = 0; c < width; c++) {
        if (!holds[c]) continue;
        double shift = (double)sum[c] / (double)rows, rest = squares[c] - sum[c] * shift;
        oxi_moments_add((double *)p->a + c, (double *)p->b + c, p->count, mean[c] + shift,
                        rest > 0 ? rest : 0, rows);
    }
}

/* The sum of up to OXI_REDUCE_ROWS numbers that are at most 1 fits f32. */
static void oxi_logsumexp_columns(OXI_COLUMNS_PARAMETERS) {
    const float *x = (const float *)elements;
    OXI_ALIGNED float most[OXI_REDUCE_COLUMNS], shift[OXI_REDUCE_COLUMNS], shifted[OXI_REDUCE_COLUMNS],
        sum[OXI_REDUCE_COLUMNS];
    const void *in[2];
    oxi_partial block = oxi_partial_of(NULL, NULL);
    block.a = most;
    oxi_max_columns_f32(k, &block, width, rows, elements, row_stride, position);
    for (int64_t c = 0; c < width; c++) shift[c] = (float)oxi_exp_shift(most[c]);
    memset(sum, 0, (size_t)width * sizeof *sum);
    in[1] = shift;
    for (int64_t r = 0; r < rows; r++) {
        in[0] = x + r * row_stride;
        k->map[OXI_OP_sub][OXI_LANE_F32](width, in, shifted, &oxi_plain_numbers);
        k->row_exp_sum(width, shifted, 0, shifted);
        k->axpy_f32(width, 1, shifted, sum);
    }
    for (int64_t c = 0; c < width; c++)
        oxi_logsumexp_add((double *)p->a + c, (double *)p->b + c, most[c], sum[c]);
}

/* ---- f64 exponentials ---------------------------------------------------------------------------------- */

static void oxi_exp_f64(const oxi_kernels *k, int64_t n, double *x) {
    const void *in[1];
    in[0] = x;
    k->map[OXI_OP_exp][OXI_LANE_F64](n, in, x, &oxi_plain_numbers);
}

static double oxi_exp_sum_f64(const oxi_kernels *k, int64_t n, const double *x, double shift) {
    OXI_ALIGNED double shifted[OXI_STRIP], sum = 0;
    for (int64_t done = 0, m; done < n; done += m) {
        m = oxi_min_i64(n - done, OXI_STRIP);
        for (int64_t i = 0; i < m; i++) shifted[i] = x[done + i] - shift;
        oxi_exp_f64(k, m, shifted);
        for (int64_t i = 0; i < m; i++) sum += shifted[i];
    }
    return sum;
}

static void oxi_logsumexp_columns_f64(OXI_COLUMNS_PARAMETERS) {
    const double *x = (const double *)elements;
    OXI_ALIGNED double most[OXI_REDUCE_COLUMNS], shifted[OXI_REDUCE_COLUMNS], sum[OXI_REDUCE_COLUMNS];
    oxi_partial block = oxi_partial_of(NULL, NULL);
    block.a = most;
    oxi_max_columns_f64(k, &block, width, rows, elements, row_stride, position);
    for (int64_t c = 0; c < width; c++) sum[c] = 0;
    for (int64_t r = 0; r < rows; r++, x += row_stride) {
        for (int64_t c = 0; c < width; c++) shifted[c] = x[c] - oxi_exp_shift(most[c]);
        oxi_exp_f64(k, width, shifted);
        for (int64_t c = 0; c < width; c++) sum[c] += shifted[c];
    }
    for (int64_t c = 0; c < width; c++)
        oxi_logsumexp_add((double *)p->a + c, (double *)p->b + c, most[c], sum[c]);
}

/* ---- narrow integers, as they lie: no detour over 64 bits ------------------------------------------------
 * Strips of a known length become vectors; in long ones the way into the aligned loop counts less. */

#define OXI_NARROW(name, type, partial) \
    static void oxi_sum_row_##name(OXI_ROW_PARAMETERS) { \
        const type *x = (const type *)elements; \
        int64_t sum = 0, i = 0; \
        for (; i + 4 * OXI_STRIP <= n; i += 4 * OXI_STRIP) { \
            partial strip = 0; \
            for (int j = 0; j < 4 * OXI_STRIP; j++) strip += x[i + j]; \
            sum += strip; \
        } \
        for (; i + OXI_STRIP <= n; i += OXI_STRIP) { \
            partial strip = 0; \
            for (int j = 0; j < OXI_STRIP; j++) strip += x[i + j]; \
            sum += strip; \
        } \
        for (; i < n; i++) sum += x[i]; \
        *(uint64_t *)p->a += (uint64_t)sum; \
    }
OXI_NARROW(u8, uint8_t, int32_t)
OXI_NARROW(i8, int8_t, int32_t)
OXI_NARROW(u16, uint16_t, int32_t)
OXI_NARROW(i16, int16_t, int32_t)
OXI_NARROW(u32, uint32_t, int64_t)
OXI_NARROW(i32, int32_t, int64_t)
#undef OXI_NARROW

static void oxi_count_row_u8(OXI_ROW_PARAMETERS) {
    const uint8_t *x = (const uint8_t *)elements;
    int64_t count = 0, i = 0;
    for (; i + 3 * OXI_STRIP <= n; i += 3 * OXI_STRIP) { /* as many as a byte counts */
        uint8_t strip = 0;
        for (int j = 0; j < 3 * OXI_STRIP; j++) strip = (uint8_t)(strip + (x[i + j] != 0));
        count += strip;
    }
    for (; i + OXI_STRIP <= n; i += OXI_STRIP) {
        uint8_t strip = 0;
        for (int j = 0; j < OXI_STRIP; j++) strip = (uint8_t)(strip + (x[i + j] != 0));
        count += strip;
    }
    for (; i < n; i++) count += x[i] != 0;
    *(int64_t *)p->a += count;
}

/* ---- c64 ----------------------------------------------------------------------------------------------- */

static void oxi_sum_columns_c64(OXI_COLUMNS_PARAMETERS) {
    const float *x = (const float *)elements;
    double *real = (double *)p->a, *imaginary = (double *)p->b;
    for (int64_t r = 0; r < rows; r++, x += 2 * row_stride) {
        for (int64_t c = 0; c < width; c++) {
            real[c] += x[2 * c];
            imaginary[c] += x[2 * c + 1];
        }
    }
}

static void oxi_count_columns_c64(OXI_COLUMNS_PARAMETERS) {
    const float *x = (const float *)elements;
    int64_t *total = (int64_t *)p->a;
    for (int64_t r = 0; r < rows; r++, x += 2 * row_stride) {
        for (int64_t c = 0; c < width; c++) total[c] += x[2 * c] != 0 || x[2 * c + 1] != 0;
    }
}

static void oxi_prod_join_c64(double *real, double *imaginary, double re, double im) {
    oxi_complex product = oxi_multiply_complex(oxi_make_complex(*real, *imaginary), oxi_make_complex(re, im));
    *real = product.re;
    *imaginary = product.im;
}

static void oxi_prod_columns_c64(OXI_COLUMNS_PARAMETERS) {
    const float *x = (const float *)elements;
    double *real = (double *)p->a, *imaginary = (double *)p->b;
    for (int64_t r = 0; r < rows; r++, x += 2 * row_stride) {
        for (int64_t c = 0; c < width; c++) {
            oxi_prod_join_c64(real + c, imaginary + c, x[2 * c], x[2 * c + 1]);
        }
    }
}

/* A row is a column of width 1. */
static void oxi_sum_row_c64(OXI_ROW_PARAMETERS) {
    oxi_sum_columns_c64(k, p, 1, n, elements, 1, position);
}

static void oxi_prod_row_c64(OXI_ROW_PARAMETERS) {
    oxi_prod_columns_c64(k, p, 1, n, elements, 1, position);
}

static void oxi_count_row_c64(OXI_ROW_PARAMETERS) {
    oxi_count_columns_c64(k, p, 1, n, elements, 1, position);
}

static void oxi_sum_merge_c64(oxi_partial *p, int64_t width, const oxi_partial *later) {
    for (int64_t c = 0; c < width; c++) {
        ((double *)p->a)[c] += ((const double *)later->a)[c];
        ((double *)p->b)[c] += ((const double *)later->b)[c];
    }
}

static void oxi_prod_merge_c64(oxi_partial *p, int64_t width, const oxi_partial *later) {
    for (int64_t c = 0; c < width; c++) {
        oxi_prod_join_c64((double *)p->a + c, (double *)p->b + c, ((const double *)later->a)[c],
                          ((const double *)later->b)[c]);
    }
}

static void oxi_prod_begin_c64(oxi_partial *p, int64_t width) {
    for (int64_t c = 0; c < width; c++) ((double *)p->a)[c] = 1;
}

/* ---- the table ----------------------------------------------------------------------------------------- */

#define OXI_NONE \
    { NULL, NULL, NULL, NULL, NULL }
#define OXI_EXTREMES(name)                                                                              \
    {                                                                                                   \
        {NULL, oxi_##name##row_f32, oxi_##name##columns_f32, oxi_##name##merge_f32, NULL},              \
            {NULL, oxi_##name##row_f64, oxi_##name##columns_f64, oxi_##name##merge_f64, NULL},          \
            {NULL, oxi_##name##row_i64, oxi_##name##columns_i64, oxi_##name##merge_i64, NULL},          \
            {NULL, oxi_##name##row_u64, oxi_##name##columns_u64, oxi_##name##merge_u64, NULL}, OXI_NONE \
    }

/* Rows as in oxi_reduce_kind; lanes f32 f64 i64 u64 c64. */
static const oxi_reducer oxi_reducers[OXI_REDUCE_KINDS][OXI_LANE_COUNT] = {
    {{NULL, oxi_sum_row, oxi_sum_columns, oxi_sum_merge_f32, NULL},
     {NULL, oxi_sum_row_f64, oxi_sum_columns_f64, oxi_sum_merge_f64, NULL},
     {NULL, oxi_sum_row_u64, oxi_sum_columns_u64, oxi_sum_merge_u64, NULL},
     {NULL, oxi_sum_row_u64, oxi_sum_columns_u64, oxi_sum_merge_u64, NULL},
     {NULL, oxi_sum_row_c64, oxi_sum_columns_c64, oxi_sum_merge_c64, NULL}},
    {{NULL, oxi_number_sum_row, oxi_number_sum_columns, oxi_sum_merge_f32, NULL},
     {NULL, oxi_number_sum_row_f64, oxi_number_sum_columns_wide, oxi_sum_merge_f64, NULL},
     {NULL, oxi_sum_row_u64, oxi_sum_columns_u64, oxi_sum_merge_u64, NULL},
     {NULL, oxi_sum_row_u64, oxi_sum_columns_u64, oxi_sum_merge_u64, NULL},
     OXI_NONE},
    {{oxi_prod_begin_f32, oxi_prod_row_f32, oxi_prod_columns_f32, oxi_prod_merge_f32, NULL},
     {oxi_prod_begin_f64, oxi_prod_row_f64, oxi_prod_columns_f64, oxi_prod_merge_f64, NULL},
     {oxi_prod_begin_u64, oxi_prod_row_u64, oxi_prod_columns_u64, oxi_prod_merge_u64, NULL},
     {oxi_prod_begin_u64, oxi_prod_row_u64, oxi_prod_columns_u64, oxi_prod_merge_u64, NULL},
     {oxi_prod_begin_c64, oxi_prod_row_c64, oxi_prod_columns_c64, oxi_prod_merge_c64, NULL}},
    {{NULL, oxi_count_row_f32, oxi_count_columns_f32, oxi_sum_merge_u64, NULL},
     {NULL, oxi_count_row_f64, oxi_count_columns_f64, oxi_sum_merge_u64, NULL},
     {NULL, oxi_count_row_u64, oxi_count_columns_u64, oxi_sum_merge_u64, NULL},
     {NULL, oxi_count_row_u64, oxi_count_columns_u64, oxi_sum_merge_u64, NULL},
     {NULL, oxi_count_row_c64, oxi_count_columns_c64, oxi_sum_merge_u64, NULL}},
    OXI_EXTREMES(max_),
    OXI_EXTREMES(min_),
    OXI_EXTREMES(max_place_),
    OXI_EXTREMES(min_place_),
    {{NULL, oxi_squares_row, oxi_squares_columns_f32, oxi_sum_merge_f64, oxi_squares_take},
     {NULL, oxi_squares_row_f64, oxi_squares_columns_f64, oxi_sum_merge_f64, NULL},
     OXI_NONE,
     OXI_NONE,
     OXI_NONE},
    {{NULL, oxi_moments_row, oxi_moments_columns, oxi_moments_merge, oxi_moments_take},
     {NULL, oxi_moments_row_f64, oxi_moments_columns_f64, oxi_moments_merge, NULL},
     OXI_NONE,
     OXI_NONE,
     OXI_NONE},
    {{oxi_logsumexp_begin, oxi_logsumexp_row_f32, oxi_logsumexp_columns, oxi_logsumexp_merge, NULL},
     {oxi_logsumexp_begin, oxi_logsumexp_row_f64, oxi_logsumexp_columns_f64, oxi_logsumexp_merge, NULL},
     OXI_NONE,
     OXI_NONE,
     OXI_NONE},
};
