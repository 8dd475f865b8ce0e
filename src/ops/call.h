/* The call: the one currency between public functions, devices, autograd, capture and profiler.
 * A public function fills an oxi_call and hands it to oxi_apply, which checks it by the table, makes the
 * results and runs it on the device of its operands. */
#ifndef OX_OPS_CALL_H
#define OX_OPS_CALL_H

typedef enum oxi_op {
#define OXI_OP(name, family, in, out, rule, accepts, flags, flops, grad) OXI_OP_##name,
#include "ops/ops.def"
#undef OXI_OP
    OXI_OP_COUNT
} oxi_op;

typedef enum oxi_family {
    OXI_FAMILY_MAP,
    OXI_FAMILY_COPY,
    OXI_FAMILY_FILL,
    OXI_FAMILY_RANDOM,
    OXI_FAMILY_REDUCE,
    OXI_FAMILY_SCAN,
    OXI_FAMILY_SORT,
    OXI_FAMILY_ROW,
    OXI_FAMILY_INDEX,
    OXI_FAMILY_PRODUCT,
    OXI_FAMILY_ROPE,
    OXI_FAMILY_ATTENTION,
    OXI_FAMILY_VIEW,
    OXI_FAMILY_COUNT
} oxi_family;

enum { OXI_FLAG_INPLACE = 1, OXI_FLAG_RANDOM = 2, OXI_FLAG_COND = 4 };
enum { OXI_ACCEPT_B = 1, OXI_ACCEPT_I = 2, OXI_ACCEPT_F = 4, OXI_ACCEPT_C = 8, OXI_ACCEPT_Q = 16 };

#define OXI_MAX_IN 4      /* operands of a fixed-arity op */
#define OXI_MAX_OUT 2

/* Attributes are plain data; the comment of the op's row says which it uses and how. */
typedef struct oxi_attrs {
    double f[4];
    int64_t i[4];
    ox_shape shape;       /* sizes, permutation, shifts */
    ox_shape stride;      /* strides of as_strided; dims of roll */
    uint32_t dims;        /* bit d set: dim d takes part */
    int dim;
    int mode;
    ox_dtype dtype;
    bool keepdim;
    const char *name;     /* the function that was called, for messages; NULL = the row's name */
} oxi_attrs;

/* What the parts of a call that is cut have in common: made by the first that wants it, of operands that all
 * parts have whole, and freed by who cuts. */
typedef struct oxi_shared {
    void *memory;
    size_t bytes;
    int form; /* of what is there, as the maker counts its forms; 0: nothing */
} oxi_shared;

typedef struct oxi_call {
    oxi_op op;
    int in_count, out_count;
    ox_tensor *const *in;            /* optional operands may be NULL where the row marks them with '?' */
    ox_tensor *out[OXI_MAX_OUT];     /* NULL: oxi_apply makes it; given: the result is written there */
    oxi_attrs attr;
    oxi_shared *shared;              /* NULL, or for a product's first operand as it is multiplied */
    const struct oxi_call *whole;    /* of a part: the call that it is a part of; else NULL */
} oxi_call;

typedef struct oxi_op_row {
    const char *name;
    oxi_family family;
    int in_count, out_count;         /* in_count -1 = any number */
    ox_status (*rule)(const oxi_call *call, ox_tensor *out);   /* out[0..]: headers to fill in, no storage */
    unsigned accepts, flags;
    int flops;
} oxi_op_row;

static const oxi_op_row *oxi_op_row_of(oxi_op op);

/* A call with one result, which is written to `out`; attributes are zeros. `in` lives as long as the call. */
static oxi_call oxi_call_of(oxi_op op, ox_tensor *const *in, int in_count, ox_tensor *out);

/* Checks, makes results, runs. On failure call->out holds NULLs and the error is recorded. */
static ox_status oxi_apply(oxi_call *call);
/* The common shapes of it: an op with 1..3 operands and attributes (NULL = zeros) and one result. */
static ox_tensor *oxi_apply_1(oxi_op op, const oxi_attrs *attr, ox_tensor *a);
static ox_tensor *oxi_apply_2(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b);
static ox_tensor *oxi_apply_3(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b, ox_tensor *c);

/* Lanes of the profiler's trace: calls, and what happens beside them on a GPU and in a stream. */
typedef enum oxi_profile_lane {
    OXI_PROFILE_CALLS,
    OXI_PROFILE_GPU,
    OXI_PROFILE_DISK,
    OXI_PROFILE_RING,
    OXI_PROFILE_COMPUTE,
    OXI_PROFILE_LANES
} oxi_profile_lane;
/* What the profiler keeps: a call, or a span of another lane. Times are oxi_now's. */
typedef struct oxi_profile_record {
    oxi_profile_lane lane;
    oxi_op op;                       /* of calls, also on a GPU */
    double start, seconds, flops, bytes;
} oxi_profile_record;

/* A device whose `times_calls` is set takes a record of a call while the profiler is on, and puts it when it
 * knows its start and seconds. */
static oxi_profile_record oxi_profile_record_of(const oxi_call *call, oxi_profile_lane lane);
static void oxi_profile_put(const oxi_profile_record *record);
/* Notes a span of another lane than calls while the profiler is on. */
static void oxi_profile_span(oxi_profile_lane lane, double start, double end, double bytes);

/* Operands that must be there: true (and an error recorded, if none was) when one is NULL. */
static bool oxi_any_null(const char *name, ox_tensor *const *in, int count);
/* Any number of operands; out = NULL or the tensor to write into. */
static ox_tensor *oxi_apply_list(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count,
                                 ox_tensor *out);
/* Written into in[0]. */
static ox_tensor *oxi_apply_in_place(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count);

/* What a function that works through other functions opens around them: a scope for what they make, and its
 * name for what they say. The end keeps the result. */
typedef struct oxi_work {
    ox_scope scope;
    bool speaks;
} oxi_work;
static oxi_work oxi_work_begin(const char *name);
static ox_tensor *oxi_work_end(oxi_work *work, ox_tensor *result);

/* The dtype in which a call computes: operands promoted (numbers and 0-dim tensors by category), then
 * integers made f32 where the rule is map_float. Set by the rules; executors read it. */
static ox_dtype oxi_compute_dtype(const oxi_call *call);

/* Activation fused into linear. */
typedef enum oxi_activation {
    OXI_ACT_NONE = 0,
    OXI_ACT_RELU,
    OXI_ACT_GELU,
    OXI_ACT_GELU_TANH,
    OXI_ACT_SILU,
    OXI_ACT_SIGMOID,
    OXI_ACT_TANH
} oxi_activation;

#endif
