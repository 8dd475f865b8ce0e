/* Forms: what a call is, worked out once for all devices. A form says which numbers meet (a reduction's
 * kind, a row's dims, a product's sizes and strides), not how they are computed; operands may lie anywhere.
 * Devices, streams and the profiler ask for the form of a call instead of looking at its op. */
/* WORDS OF THIS ROOM
 *     form           sizes, strides and kind of a call, whatever its op is called
 *     kind, finish   how numbers are combined (sum, most ...); what is done to the result (root, mean ...)
 *     places         whether a reduction gives indices: none, beside the values, or only them
 *     inside         the dims of a row, as bits
 *     row            the elements that a softmax or a norm takes together, however they lie
 *     most, least    maximum, minimum
 *     to join        to see several leading dims of a product as more rows of one
 *     layer          a product whose b is a constant weight (ox_linear)
 *     window         the elements of an image that meet a kernel at once
 *     place          where a window lies: a sample, and a position of each spatial dim
 *     tap            one element of a window: a channel, and a position in the kernel */
#ifndef OX_FORM_FORM_H
#define OX_FORM_FORM_H

/* ---- reductions (form/reduce.c) ------------------------------------------------------------------------ */

/* In the order of shaders/reduce/reduce.glsl. */
typedef enum oxi_reduction_kind {
    OXI_REDUCES_SUM,
    OXI_REDUCES_SQUARES,
    OXI_REDUCES_ABSOLUTE,            /* sum of |x| */
    OXI_REDUCES_PRODUCT,
    OXI_REDUCES_MOST,
    OXI_REDUCES_LEAST,
    OXI_REDUCES_COUNT,               /* of what is not 0 */
    OXI_REDUCES_MOMENTS,             /* mean, and squared distances from it */
    OXI_REDUCES_LOGSUMEXP,
    OXI_REDUCES_MOST_ABSOLUTE,
    OXI_REDUCES_LEAST_ABSOLUTE,
    OXI_REDUCES_POWERS,              /* sum of |x|^power */
    OXI_REDUCES_BY_POWER             /* in the table alone */
} oxi_reduction_kind;

typedef enum oxi_reduction_finish {
    OXI_FINISH_PLAIN,
    OXI_FINISH_MEAN,
    OXI_FINISH_VARIANCE,
    OXI_FINISH_DEVIATION,
    OXI_FINISH_ROOT,
    OXI_FINISH_ALL,
    OXI_FINISH_ANY,
    OXI_FINISH_POWER                 /* result^(1 / power) */
} oxi_reduction_finish;

typedef enum oxi_reduction_places {
    OXI_PLACES_NONE,
    OXI_PLACES_BESIDE,
    OXI_PLACES_ONLY
} oxi_reduction_places;

typedef enum oxi_reduction_reads {
    OXI_READS_VALUE,
    OXI_READS_NUMBER                 /* NaN is 0 */
} oxi_reduction_reads;

typedef struct oxi_reduction {
    oxi_reduction_kind kind;
    oxi_reduction_finish finish;
    oxi_reduction_places places;
    oxi_reduction_reads reads;
    double number;                   /* power of norm, correction of var and std; else 0 */
} oxi_reduction;
static oxi_reduction oxi_reduction_of(const oxi_call *call);
/* Whether it is a norm: of complex numbers their sizes are taken. */
static bool oxi_reduction_takes_sizes(const oxi_reduction *r);

/* ---- rows (form/rows.c) -------------------------------------------------------------------------------- */

typedef enum oxi_row_extent { OXI_ROW_ONE, OXI_ROW_LAST, OXI_ROW_GROUPS } oxi_row_extent;
typedef enum oxi_row_kind { OXI_ROW_SOFTMAX, OXI_ROW_LOG_SOFTMAX, OXI_ROW_NORM } oxi_row_kind;

/* x [..] is rows times the elements of a row: dim d of x is in a row where bit d of `inside` is set. Groups:
 * dim 1 of x is `groups` times the channels of one, of which only these are in a row. */
typedef struct oxi_row_form {
    oxi_row_kind finish;
    oxi_reduction_kind measure;
    uint32_t inside;
    int64_t groups;                  /* 0: x's dims as they are */
    double eps;                      /* of norms */
} oxi_row_form;
static oxi_row_form oxi_row_form_of(const oxi_call *call);

/* ---- products (form/product.c) ------------------------------------------------------------------------- */

enum { OXI_PRODUCT_C, OXI_PRODUCT_A, OXI_PRODUCT_B, OXI_PRODUCT_ADDEND, OXI_PRODUCT_SIDES };

/* c[m,n] = activation(alpha sum_k a[m,k] b[k,n] + beta addend[m,n] + bias[n]) for each position of the
 * leading dims. Strides in elements, 0 where an operand is broadcast. */
typedef struct oxi_product_form {
    const ox_tensor *t[OXI_PRODUCT_SIDES], *bias; /* addend and bias may be NULL */
    int64_t m, n, k;
    int64_t row[OXI_PRODUCT_SIDES], column[OXI_PRODUCT_SIDES];
    int ndim;
    int64_t shape[OX_MAX_DIMS], stride[OXI_PRODUCT_SIDES][OX_MAX_DIMS];
    double alpha, beta;
    ox_activation activation;
    bool layer;                      /* b is a layer's weight */
    /* [shape[0],shape[1]]: which of several b's, `expert` elements apart, each position has; NULL: one b.
     * They are no rows of one product: nothing joins */
    const ox_tensor *ids;
    int64_t expert;
} oxi_product_form;
static void oxi_product_form_of(const oxi_call *call, oxi_product_form *out);
/* Leading dims that lie one behind the other with the rows of a and c, and along which b stands still, are
 * rows. */
static void oxi_product_form_join(oxi_product_form *p);
/* Multiplications and additions. */
static double oxi_product_form_flops(const oxi_product_form *p);

/* ---- convolutions (form/conv.c) ------------------------------------------------------------------------ */

/* What a convolution reads or writes: dims are (samples or outputs, channels, depth, height, width); spatial
 * dims that a tensor lacks have size 1. */
typedef struct oxi_conv_side {
    const ox_tensor *t;
    int64_t shape[5], stride[5];
} oxi_conv_side;

/* y = conv(x, weight) for each group, whichever of the three is the result: x [N,C,..], weight
 * [O,C/groups,..], y [N,O,..]. Output position p, tap k and input position q meet where q = p stride -
 * padding + k dilation. */
typedef struct oxi_conv_form {
    oxi_conv_side x, y, weight;
    const ox_tensor *bias;           /* or NULL; of the result's channels */
    int64_t samples, groups;
    int64_t channels, outputs;       /* of one group */
    int64_t stride[3], padding[3], dilation[3];
} oxi_conv_form;
static void oxi_conv_form_of(const oxi_call *call, oxi_conv_form *out);
static double oxi_conv_form_flops(const oxi_conv_form *f);

/* ---- indices (form/index.c) ---------------------------------------------------------------------------- */

typedef enum oxi_index_kind {
    OXI_INDEX_PICK,
    OXI_INDEX_PUT,
    OXI_INDEX_PATTERN,
    OXI_INDEX_SELECT,
    OXI_INDEX_COPIES
} oxi_index_kind;
typedef enum oxi_index_by {
    OXI_BY_EACH,
    OXI_BY_DIM,
    OXI_BY_ROWS,
    OXI_BY_TRUTH,
    OXI_BY_DIAGONAL,
    OXI_BY_SIZES
} oxi_index_by;
typedef enum oxi_index_does {
    OXI_DOES_KEEPS_UPPER,
    OXI_DOES_KEEPS_LOWER,
    OXI_DOES_ONE,
    OXI_DOES_MOVES,
    OXI_DOES_ADDS,
    OXI_DOES_MULTIPLIES,
    OXI_DOES_MOST,
    OXI_DOES_LEAST,
    OXI_DOES_COORDINATES,
    OXI_DOES_JOINS,
    OXI_DOES_ROLLS
} oxi_index_does;

/* A row of form/index.def, which says what the words mean. */
typedef struct oxi_index_form {
    oxi_op op;
    oxi_index_kind kind;
    oxi_index_by by;
    oxi_index_does does;
} oxi_index_form;
static const oxi_index_form *oxi_index_form_of(oxi_op op);

/* PICK and PUT: for each position p of `shape`, moved[p] and the element of `indexed` (operand 0, or the
 * result that it was copied to) whose place along `dim` is index[p] meet. Headers have at least one dim. */
typedef struct oxi_places {
    ox_tensor indexed, index, moved;
    int dim;                         /* of `indexed` */
    int64_t size, step;              /* of `indexed` along that dim */
    int ndim;
    int64_t shape[OX_MAX_DIMS];
    /* over `shape`, in elements; moved has its own. `indexed` stands still along its dim. */
    int64_t indexed_stride[OX_MAX_DIMS], index_stride[OX_MAX_DIMS];
    double alpha;                    /* of what is added */
} oxi_places;
static void oxi_places_of(const oxi_call *call, oxi_places *out);

/* COPIES, one after the other: while (oxi_copies_next(&p, &from, &to)) from is copied to to. No two meet. */
typedef struct oxi_copies {
    const oxi_call *call;
    bool rolls, ended;
    uint32_t next, rolled;
    int64_t at, shift[OX_MAX_DIMS];
} oxi_copies;
static oxi_copies oxi_copies_of(const oxi_call *call);
static bool oxi_copies_next(oxi_copies *p, ox_tensor *from, ox_tensor *to);

/* A header with at least one dim: a single number is a row of one. */
static ox_tensor oxi_at_least_1d(const ox_tensor *t);

/* ---- elementwise ops (form/map.c) ---------------------------------------------------------------------- */

/* Who has an op's f32 (form/map.def). */
typedef enum oxi_map_shader {
    OXI_MAP_SHADER_none,
    OXI_MAP_SHADER_move,
    OXI_MAP_SHADER_plain,
    OXI_MAP_SHADER_function
} oxi_map_shader;
typedef struct oxi_map_row {
    int code;                        /* the row's place in map.def, which is its code in shaders; -1: none */
    oxi_map_shader shader;
} oxi_map_row;
static oxi_map_row oxi_map_row_of(oxi_op op);

/* ---- generated numbers (form/generate.c) --------------------------------------------------------------- */

typedef enum oxi_generated_kind {
    OXI_GENERATES_CONSTANT,
    OXI_GENERATES_DIAGONAL,
    OXI_GENERATES_RAMP,
    OXI_GENERATES_RANDOM,
    OXI_GENERATES_TOGETHER
} oxi_generated_kind;
typedef enum oxi_generated_numbers {
    OXI_NUMBERS_OWN,
    OXI_NUMBERS_DOUBLE,
    OXI_NUMBERS_WHOLE,
    OXI_NUMBERS_CLASS,
    OXI_NUMBERS_UNIT
} oxi_generated_numbers;

/* A row of form/generate.def, and what a call adds to it. */
typedef struct oxi_generated_form {
    oxi_generated_kind kind;
    oxi_generated_numbers numbers;
    int code;                        /* the row's place, which devices look up how an element is made by */
    bool whole, in_double;           /* worked out in 64-bit integers; in f64; neither: exact in any */
    /* the call's numbers: a constant; start and step or end of a ramp (whole ones for integers); low and
     * high; mean and deviation */
    double first, second;
    double step;                     /* of a ramp */
    int64_t low;                     /* whole: the constant, the start, the least number drawn */
    uint64_t range;                  /* whole: the step, how many numbers are drawn from */
} oxi_generated_form;
static oxi_generated_form oxi_generated_form_of(const oxi_call *call);
static oxi_generated_kind oxi_generated_kind_of(oxi_op op);

/* Why a row of weights cannot be drawn from. */
enum { OXI_MULTINOMIAL_FINE, OXI_MULTINOMIAL_BAD_WEIGHT, OXI_MULTINOMIAL_NO_WEIGHT, OXI_MULTINOMIAL_TOO_FEW };

#endif
