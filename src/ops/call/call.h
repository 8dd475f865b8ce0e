/* The call: the one currency between public functions, devices and listeners (the profiler is one).
 * A public function fills an oxi_call and hands it to oxi_apply, which checks it by the table, makes the
 * results and runs it on the device of its operands. A call is plain data: oxi_call_keep makes a copy of one
 * that owns what it needs, to be run again (oxi_kept_run). */
/* WORDS OF THIS ROOM
 *     op, row        an operation; its line in ops.def
 *     family         ops that one executor of a device runs: MAP (elementwise), REDUCE, ROW, PRODUCT ...
 *     executor       a device's function for a family
 *     rule           what checks operands and describes the results: shape, dtype, strides
 *     attribute      what an op is told besides operands: dims, eps, a scale ...
 *     part           a piece of a call that was cut (streams); `whole` is the call before
 *     detour         a call that its device does not support: the CPU runs it, its results go back
 *     listener       hears each call of a public function; the profiler is one
 *     kept call      a copy that owns its operands, to be run again
 *     random state   seed and counter that a random call's numbers follow from (call->random)
 *     quiet          unheard by listeners: calls within a call
 *     together       of calls that need nothing of each other: begun one within the other, their tasks one
 *                    region of the threads
 *     layout         how a storage's bytes lie (tensor/internal.h); devices see the plain one, but where
 *                    they hold another
 *     chain          elementwise ops in one pass, tile by tile; program: which ops (ops/call/chain.h)
 *     lane           of the profiler's trace: a row of it, for calls, a GPU, a disk */
#ifndef OX_OPS_CALL_H
#define OX_OPS_CALL_H

typedef enum oxi_op {
#define OXI_OP(name, ...) OXI_OP_##name,
#include "ops/ops.def"
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
    OXI_FAMILY_CONV,
    OXI_FAMILY_POOL,
    OXI_FAMILY_RECURRENCE,
    OXI_FAMILY_CHAIN,
    OXI_FAMILY_BACK,
    OXI_FAMILY_SPECIAL,
    OXI_FAMILY_LINALG,
    OXI_FAMILY_FFT,
    OXI_FAMILY_COMPUTED,             /* so many have executors on devices; the others are ops/'s own */
    OXI_FAMILY_PARTS = OXI_FAMILY_COMPUTED, /* made of other ops (ops/parts.c) */
    OXI_FAMILY_VIEW,
    OXI_FAMILY_MOVE,
    OXI_FAMILY_COUNT
} oxi_family;

enum { OXI_FLAG_PLAIN, OXI_FLAG_INPLACE, OXI_FLAG_RANDOM, OXI_FLAG_MASKED, OXI_FLAG_NONEMPTY };
enum { OXI_GIVES_SAME, OXI_GIVES_FLOAT, OXI_GIVES_REAL, OXI_GIVES_BOOL, OXI_GIVES_TRUTH,
       OXI_GIVES_INDEX, OXI_GIVES_TOTAL, OXI_GIVES_OTHER };
enum { OXI_GRADIENT_none, OXI_GRADIENT_flat, OXI_GRADIENT_yes };
/* By the letters of the classes, as ops.def has them. */
enum { OXI_ACCEPT_B = 1, OXI_ACCEPT_I = 2, OXI_ACCEPT_F = 4, OXI_ACCEPT_C = 8, OXI_ACCEPT_Q = 16,
       OXI_ACCEPT_BI = 3, OXI_ACCEPT_BF = 5, OXI_ACCEPT_IF = 6, OXI_ACCEPT_BIF = 7, OXI_ACCEPT_FC = 12,
       OXI_ACCEPT_IFC = 14, OXI_ACCEPT_BIFC = 15, OXI_ACCEPT_FQ = 20,
       OXI_ACCEPT_IFCQ = 30, OXI_ACCEPT_BIFCQ = 31 };

#define OXI_MAX_IN 9      /* operands of an op that does not take a list */
#define OXI_MAX_OUT 4

/* Kinds of recurrent nets. */
enum { OXI_RECURRENT_LSTM, OXI_RECURRENT_GRU, OXI_RECURRENT_TANH, OXI_RECURRENT_RELU, OXI_RECURRENT_KINDS };

/* ---- attributes: a struct for each row of OXI_ATTRIBUTES, read as call->attr.<row>.<name> -------------- */

/* A list of dims. */
typedef struct oxi_order {
    int8_t count, dim[OX_MAX_DIMS];
} oxi_order;

/* A number for each spatial dim of a convolution or pooling, up to three. */
typedef struct oxi_span {
    int64_t n[3];
} oxi_span;

/* Numbers that a chain reads, in the order in which its program counts them. */
enum { OXI_CHAIN_NUMBERS = 12 };
typedef struct oxi_chain_numbers {
    double n[OXI_CHAIN_NUMBERS];
} oxi_chain_numbers;

#define OXI_TYPE_NOTHING char
#define OXI_TYPE_F64 double
#define OXI_TYPE_SCALAR double
#define OXI_TYPE_FACTOR double
#define OXI_TYPE_I64 int64_t
#define OXI_TYPE_FLAG bool
#define OXI_TYPE_DIM int
#define OXI_TYPE_DIMS uint32_t
#define OXI_TYPE_ORDER oxi_order
#define OXI_TYPE_SIZES ox_shape
#define OXI_TYPE_SPAN oxi_span
#define OXI_TYPE_DTYPE ox_dtype
#define OXI_TYPE_DEVICE ox_device *
#define OXI_TYPE_ACTIVATION ox_activation
#define OXI_TYPE_PROGRAM const struct oxi_chain *
#define OXI_TYPE_NUMBERS oxi_chain_numbers

#define OXI_ATTR(kind, name, otherwise) OXI_TYPE_##kind name;
#define OXI_ATTRIBUTES(name, list) typedef struct oxi_attr_##name { list } oxi_attr_##name;
#include "ops/ops.def"

/* Sets that begin with the same members may be read as one another: a reduction's dims are attr.reduce.dims
 * whatever else it is told. 152 bytes: two lists of sizes. */
typedef union oxi_attrs {
#define OXI_ATTR(...)
#define OXI_ATTRIBUTES(name, list) oxi_attr_##name name;
#include "ops/ops.def"
} oxi_attrs;

/* oxi_attrs_<row>(): its defaults. */
#define OXI_DEFAULT_NOTHING(a, otherwise)
#define OXI_DEFAULT_ORDER(a, otherwise)
#define OXI_DEFAULT_SIZES(a, otherwise)
#define OXI_DEFAULT_NUMBERS(a, otherwise)
#define OXI_DEFAULT_SPAN(a, otherwise) a.n[0] = a.n[1] = a.n[2] = otherwise;
#define OXI_DEFAULT_F64(a, otherwise) a = otherwise;
#define OXI_DEFAULT_SCALAR(a, otherwise) a = otherwise;
#define OXI_DEFAULT_FACTOR(a, otherwise) a = otherwise;
#define OXI_DEFAULT_I64(a, otherwise) a = otherwise;
#define OXI_DEFAULT_FLAG(a, otherwise) a = otherwise;
#define OXI_DEFAULT_DIM(a, otherwise) a = otherwise;
#define OXI_DEFAULT_DIMS(a, otherwise) a = otherwise;
#define OXI_DEFAULT_DTYPE(a, otherwise) a = otherwise;
#define OXI_DEFAULT_DEVICE(a, otherwise) a = otherwise;
#define OXI_DEFAULT_ACTIVATION(a, otherwise) a = otherwise;
#define OXI_DEFAULT_PROGRAM(a, otherwise) a = otherwise;
#define OXI_ATTR(kind, name, otherwise) OXI_DEFAULT_##kind(own->name, otherwise)
#define OXI_ATTRIBUTES(name, list)                       \
    OXI_UNUSED static inline oxi_attrs oxi_attrs_##name(void) { \
        oxi_attrs attr;                                  \
        memset(&attr, 0, sizeof attr);                   \
        oxi_attr_##name *own = &attr.name;               \
        (void)own;                                       \
        list                                             \
        return attr;                                     \
    }
#include "ops/ops.def"

/* ---- the call ------------------------------------------------------------------------------------------ */

/* Of a call that gives random numbers: they follow from these alone (Philox). */
typedef struct oxi_random_state {
    uint64_t seed, counter;
} oxi_random_state;

typedef struct oxi_call {
    oxi_op op;
    int in_count, out_count;         /* results: of a row that says how many, they are that many */
    bool exact;                      /* ox_set_exact, when it was called */
    ox_tensor *const *in;            /* operands marked with "?" may be NULL */
    ox_tensor *out[OXI_MAX_OUT];     /* NULL: oxi_apply makes them; given: results are written there */
    oxi_attrs attr;
    oxi_random_state random;
    const char *name;                /* the function that was called, for messages; NULL: the row's name */
    struct oxi_together *together;   /* NULL, or the calls that are run with it */
} oxi_call;

/* What the parts of a call that is cut have in common: made by the first that wants it, of operands that all
 * parts have whole, and freed by who cuts. */
typedef struct oxi_shared {
    void *memory;
    size_t bytes;
    int form; /* of what is there, as the maker counts its forms; 0: nothing */
} oxi_shared;

/* What a device is told with a part of a call, so that it computes as the whole does. Zeros: nothing. */
typedef struct oxi_part {
    const oxi_call *whole;
    oxi_shared *shared;              /* NULL, or for a product's first operand as it is multiplied */
    bool rows_planned, by_columns;   /* of rows: how the whole is walked ... */
    int64_t chunk;                   /* ... and cut, elements (oxi_row_plan) */
    int64_t heads;                   /* of attention: key heads of the whole, all batches; 0: not told */
    int64_t first;                   /* where the part's first element is in the whole's first result */
    int64_t rows;                    /* of what is added up over rows: of a task of the whole; 0: not told */
    int64_t queries;                 /* of attention: of the whole; 0: not told */
    bool sliced;                     /* by index: of the dim that is indexed, the part has some ... */
    int64_t start;                   /* ... from there on; of attention, from that query on */
} oxi_part;

/* Calls that need nothing of each other. A product of few rows on the CPU begins those behind it before
 * its tasks are done, so that the tasks of all are one region (oxi_product_region). */
enum { OXI_TOGETHER_MOST = 8 };
typedef struct oxi_together {
    oxi_call *calls;
    int count, next;                 /* the first that is not begun */
    ox_status status;                /* of those that were */
    oxi_shared shared;               /* of products that take the first call's first operand as it does */
    struct {
        int64_t tasks;
        oxi_lane_task task;
        void *arg;
    } own[OXI_TOGETHER_MOST];        /* of each call that waits for the region */
    int waiting;
    bool over;                       /* it was run */
    int64_t parts, each;             /* of the region; tasks of a part */
} oxi_together;

typedef struct oxi_operand_names {
    int in_count, out_count;         /* -1 = any number; of results: as many as the call says */
    const char *in, *out;            /* "q k v mask?" */
} oxi_operand_names;

/* A member of an attribute set. */
typedef enum oxi_attr_kind {
    OXI_ATTR_NOTHING,
    OXI_ATTR_F64,
    OXI_ATTR_SCALAR,
    OXI_ATTR_FACTOR,
    OXI_ATTR_I64,
    OXI_ATTR_FLAG,
    OXI_ATTR_DIM,
    OXI_ATTR_DIMS,
    OXI_ATTR_ORDER,
    OXI_ATTR_SIZES,
    OXI_ATTR_SPAN,
    OXI_ATTR_DTYPE,
    OXI_ATTR_DEVICE,
    OXI_ATTR_ACTIVATION,
    OXI_ATTR_PROGRAM,
    OXI_ATTR_NUMBERS
} oxi_attr_kind;
typedef struct oxi_attr_member {
    const char *name;
    oxi_attr_kind kind;
    size_t offset, bytes;
} oxi_attr_member;

typedef struct oxi_op_row {
    const char *name;
    oxi_family family;
    const oxi_operand_names *operands;
    ox_status (*rule)(const oxi_call *call, ox_tensor *out);   /* out[0..]: headers to fill in, no storage */
    int gives;
    unsigned accepts;
    int flag, flops;
    const oxi_attr_member *(*attributes)(void); /* the last one has no name */
    int gradient;
    ox_tensor *(*parts)(const oxi_call *call);  /* NULL: none (ops/parts.c) */
} oxi_op_row;

OXI_SMALL const oxi_op_row *oxi_op_row_of(oxi_op op);

/* A call with one result, which is written to `out`; attributes are zeros. `in` lives as long as the call. */
static oxi_call oxi_call_of(oxi_op op, ox_tensor *const *in, int in_count, ox_tensor *out);

/* Checks, makes results, runs. On failure call->out holds NULLs and the error is recorded. */
static ox_status oxi_apply(oxi_call *call);
/* The same unheard, for what happens within a call: detours, results that are moved into place. */
static ox_status oxi_apply_quiet(oxi_call *call);
/* Begins those that are left. */
static void oxi_together_begin(oxi_together *t);
/* Whether the operands lie together, in this machine's memory or on a device that has a kernel for the call:
 * asked before what there is another way for. */
static bool oxi_call_runs_there(const oxi_call *call);
/* The common shapes of it: an op with 1..3 operands and attributes (NULL = zeros) and one result. */
static ox_tensor *oxi_apply_1(oxi_op op, const oxi_attrs *attr, ox_tensor *a);
static ox_tensor *oxi_apply_2(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b);
static ox_tensor *oxi_apply_3(oxi_op op, const oxi_attrs *attr, ox_tensor *a, ox_tensor *b, ox_tensor *c);
/* Computes a call whose results are there by the parts of its row. */
static ox_status oxi_run_by_parts(const oxi_call *call);
/* Any number of operands; out = NULL or the tensor to write into. */
static ox_tensor *oxi_apply_list(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count,
                                 ox_tensor *out);
/* The same in another name than the row's. */
static ox_tensor *oxi_apply_as(const char *name, oxi_op op, const oxi_attrs *attr, ox_tensor *const *in,
                               int count, ox_tensor *out);
/* Written into in[0]. */
static ox_tensor *oxi_apply_in_place(oxi_op op, const oxi_attrs *attr, ox_tensor *const *in, int count);

/* A copy of t in the memory of another device; t's numbers are read and written as bytes
 * (ops/functions/move.c). waits false: from and into pinned memory they may still be on their way on
 * return. */
static ox_tensor *oxi_moved(ox_tensor *t, ox_device *device, bool waits);
/* The same into a contiguous tensor of t's shape and dtype. */
static ox_status oxi_move_into(ox_tensor *to, ox_tensor *t, bool waits);

/* ---- who listens --------------------------------------------------------------------------------------- */

/* Hears each call of a public function once, in the thread that made it: `before` with its operands, when it
 * was checked, and may refuse it with an error; `after` with its results, when the device has taken it.
 * Either may be NULL. A listener lives as long as the process; it may make calls itself, which nobody
 * hears. */
typedef struct oxi_listener {
    ox_status (*before)(struct oxi_listener *self, const oxi_call *call, ox_device *device);
    void (*after)(struct oxi_listener *self, const oxi_call *call, ox_device *device, ox_status status);
    void *state;
} oxi_listener;
static bool oxi_listen(oxi_listener *listener);        /* false: too many do */
static void oxi_listen_end(oxi_listener *listener);

/* ---- calls that are kept ------------------------------------------------------------------------------- */

/* A call that owns its operands (references) and attributes. */
typedef struct oxi_kept {
    oxi_call call;
    ox_tensor *few[OXI_MAX_IN], **in;
} oxi_kept;
/* writes: the results that it has are part of it, and it will write into them, as a call in place does before
 * it has run. NULL and an error where memory ends. */
static oxi_kept *oxi_call_keep(const oxi_call *call, bool writes);
/* Runs it once more: results as from oxi_apply, made anew or written to; NULLs after an error. */
static ox_status oxi_kept_run(const oxi_kept *kept, ox_tensor *out[OXI_MAX_OUT]);
static void oxi_kept_drop(oxi_kept *kept);

/* ---- attributes as data (ops/call/attributes.c) ------------------------------------------------------- */

static bool oxi_attrs_equal(oxi_op op, const oxi_attrs *a, const oxi_attrs *b);
static uint64_t oxi_attrs_hash(oxi_op op, const oxi_attrs *attr);
/* "dims=1, keepdim=true"; snprintf's length. */
static int oxi_attrs_text(oxi_op op, const oxi_attrs *attr, char *out, size_t room);
/* The numbers among them, in order; returns how many. */
static int oxi_attrs_numbers(oxi_op op, const oxi_attrs *attr, double *numbers, int most);

/* ---- the profiler -------------------------------------------------------------------------------------- */

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

/* Reads what the op needs of its operands' numbers before it is called, and puts it into attr (ops.def,
 * OXI_NEEDS); false and an error where the numbers are refused. `name` is the function, for messages. */
static bool oxi_read_numbers(const char *name, oxi_op op, ox_tensor *const *in, int count, oxi_attrs *attr);

/* ---- for functions that call -------------------------------------------------------------------------- */

/* Operands that must be there: true (and an error recorded, if none was) when one is NULL. */
static bool oxi_any_null(const char *name, ox_tensor *const *in, int count);

/* What the functions of these names make, wherever the thread makes its own (ops/functions/create.c). */
static ox_tensor *oxi_full(const char *name, ox_shape shape, double value, ox_dtype dtype,
                           ox_device *device);
static ox_tensor *oxi_full_scalar(ox_shape shape, ox_scalar value, ox_dtype dtype, ox_device *device);
static ox_tensor *oxi_arange(double start, double end, double step, ox_dtype dtype, ox_device *device);
/* A copy on the CPU. */
static ox_tensor *oxi_copied(const void *data, ox_shape shape, ox_dtype dtype);

/* What a function that works through other functions opens around them: a scope for what they make, and its
 * name for what they say. The end keeps the result. */
typedef struct oxi_work {
    ox_scope scope;
    bool speaks;
} oxi_work;
static oxi_work oxi_work_begin(const char *name);
static ox_tensor *oxi_work_end(oxi_work *work, ox_tensor *result);

/* The dtype in which a call computes: operands promoted (numbers and 0-dim tensors by category), then
 * integers made f32 where the row gives FLOAT. */
static ox_dtype oxi_compute_dtype(const oxi_call *call);

#endif
