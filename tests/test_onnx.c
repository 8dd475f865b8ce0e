/* test_onnx.c - the ONNX operator cases (numeric/onnx_node of the reference data) that can be said in
 * OxTorch's functions: a table maps operators to them, attribute by attribute. No mapped case may fail;
 * what has no counterpart is counted. The data is found at OX_TEST_DATA or ../shared/data; without it the
 * test reports itself as skipped.
 * OX_VULKAN_LONG OX_TIERS */
#include "json.h"
#include "operands.h"
#include "oxtorch_nn.h"
#include "read_file.h"

#define MOST_INPUTS 8
#define MOST_OUTPUTS 6

typedef struct onnx_case {
    const char *name, *op;
    const json *attributes;
    ox_tensor *in[MOST_INPUTS]; /* by place in the node; NULL = not given */
    int in_count, out_count;
    ox_tensor *out[MOST_OUTPUTS]; /* filled by the mapping; NULL = this output is not compared */
} onnx_case;

/* Returns false when this case has no counterpart: an attribute that OxTorch's functions do not have. */
typedef bool (*mapping)(onnx_case *c);

static int attr_int(const onnx_case *c, const char *name, int otherwise) {
    return (int)json_number(c->attributes, name, otherwise);
}
static double attr_real(const onnx_case *c, const char *name, double otherwise) {
    return json_number(c->attributes, name, otherwise);
}
static const char *attr_text(const onnx_case *c, const char *name, const char *otherwise) {
    return json_text(c->attributes, name, otherwise);
}
static bool give(onnx_case *c, ox_tensor *result) {
    c->out[0] = result;
    return true;
}

/* The whole numbers of an input, or of an attribute that is a list. */
static ox_shape shape_input(const ox_tensor *t) {
    ox_shape shape = ox_shape_from(0, NULL);
    for (int64_t i = 0; t && i < ox_numel(t) && i < OX_MAX_DIMS; i++)
        shape.dim[shape.ndim++] = (int64_t)load_real(t->dtype, element(t, i));
    return shape;
}

static ox_shape shape_attr(const onnx_case *c, const char *name) {
    const json *list = json_get(c->attributes, name);
    ox_shape shape = ox_shape_from(0, NULL);
    for (const json *m = list ? list->child : NULL; m && shape.ndim < OX_MAX_DIMS; m = m->next)
        shape.dim[shape.ndim++] = (int64_t)m->number;
    return shape;
}

static int wrap(int axis, int ndim) {
    return axis < 0 ? axis + ndim : axis;
}

static ox_dtype onnx_dtype(int id) {
    static const ox_dtype dtypes[] = {OX_DTYPE_NONE, OX_F32,  OX_U8,      OX_I8,         OX_U16,
                                      OX_I16,        OX_I32,  OX_I64,     OX_DTYPE_NONE, OX_BOOL,
                                      OX_F16,        OX_F64,  OX_U32,     OX_U64,        OX_C64,
                                      OX_DTYPE_NONE, OX_BF16, OX_F8_E4M3, OX_DTYPE_NONE, OX_F8_E5M2};
    return id > 0 && id < (int)(sizeof dtypes / sizeof *dtypes) ? dtypes[id] : OX_DTYPE_NONE;
}

/* ---- elementwise ------------------------------------------------------------------------------------- */

/* clang-format off */
#define UNARY(op, function) static bool map_##op(onnx_case *c) { return give(c, function(c->in[0])); }
#define BINARY(op, function) static bool map_##op(onnx_case *c) { return give(c, function(c->in[0], \
    c->in[1])); }
UNARY(Abs, ox_abs) UNARY(Acos, ox_acos) UNARY(Asin, ox_asin) UNARY(Asinh, ox_asinh) UNARY(Atan, ox_atan)
    UNARY(Atanh, ox_atanh)
UNARY(BitwiseNot, ox_bitwise_not) UNARY(Erf, ox_erf) UNARY(Exp, ox_exp) UNARY(Floor, ox_floor)
    UNARY(Identity, ox_clone)
UNARY(IsNaN, ox_isnan) UNARY(Log, ox_log) UNARY(Mish, ox_mish) UNARY(Neg, ox_neg) UNARY(Not, ox_logical_not)
UNARY(Reciprocal, ox_reciprocal) UNARY(Sigmoid, ox_sigmoid) UNARY(Sin, ox_sin) UNARY(Softsign, ox_softsign)
    UNARY(Sqrt, ox_sqrt)
UNARY(Tan, ox_tan) UNARY(Tanh, ox_tanh)
BINARY(Add, ox_add) BINARY(Sub, ox_sub) BINARY(Mul, ox_mul) BINARY(And, ox_logical_and)
    BINARY(Or, ox_logical_or) BINARY(Xor, ox_logical_xor)
BINARY(Equal, ox_eq) BINARY(Greater, ox_gt) BINARY(GreaterOrEqual, ox_ge) BINARY(Less, ox_lt)
    BINARY(LessOrEqual, ox_le)
BINARY(BitwiseAnd, ox_bitwise_and) BINARY(BitwiseOr, ox_bitwise_or) BINARY(BitwiseXor, ox_bitwise_xor)
    BINARY(MatMul, ox_matmul)

    /* clang-format on */
    static bool map_Div(onnx_case *c) {
    return give(c, is_integral(c->in[0]->dtype) ? ox_trunc_divide(c->in[0], c->in[1])
                                                : ox_div(c->in[0], c->in[1]));
}
static bool map_Mod(onnx_case *c) {
    return give(c, attr_int(c, "fmod", 0) ? ox_fmod(c->in[0], c->in[1]) : ox_remainder(c->in[0], c->in[1]));
}
static bool map_Pow(onnx_case *c) {
    return give(c, ox_cast(ox_pow(c->in[0], c->in[1]), c->in[0]->dtype));
}
static bool map_BitShift(onnx_case *c) {
    bool left = strcmp(attr_text(c, "direction", ""), "LEFT") == 0;
    return give(c, left ? ox_bitwise_left_shift(c->in[0], c->in[1])
                        : ox_bitwise_right_shift(c->in[0], c->in[1]));
}
static bool map_IsInf(onnx_case *c) {
    return json_count(c->attributes) == 0 && give(c, ox_isinf(c->in[0]));
}
static bool map_Celu(onnx_case *c) {
    return give(c, ox_celu(c->in[0], attr_real(c, "alpha", 1)));
}
static bool map_Elu(onnx_case *c) {
    return give(c, ox_elu(c->in[0], attr_real(c, "alpha", 1)));
}
static bool map_Selu(onnx_case *c) {
    return json_count(c->attributes) == 0 && give(c, ox_selu(c->in[0]));
}
static bool map_LeakyRelu(onnx_case *c) {
    return give(c, ox_leaky_relu(c->in[0], attr_real(c, "alpha", 0.01)));
}
static bool map_Gelu(onnx_case *c) {
    return give(c, strcmp(attr_text(c, "approximate", "none"), "tanh") == 0 ? ox_gelu_tanh(c->in[0])
                                                                            : ox_gelu(c->in[0]));
}
static bool map_HardSigmoid(onnx_case *c) { /* OxTorch's own has torch's slope of 1/6 */
    return give(c, ox_clamp(ox_add_number(ox_mul_number(c->in[0], attr_real(c, "alpha", 0.2)),
                                          attr_real(c, "beta", 0.5)),
                            0, 1));
}
static bool map_Shrink(onnx_case *c) {
    double lambda = attr_real(c, "lambd", 0.5), bias = attr_real(c, "bias", 0);
    ox_tensor *x = c->in[0], *zero = ox_zeros_like(x);
    ox_tensor *above = ox_where(ox_gt(x, ox_number(lambda)), ox_sub_number(x, bias), zero);
    return give(c, ox_where(ox_lt(x, ox_number(-lambda)), ox_add_number(x, bias), above));
}
static bool map_PRelu(onnx_case *c) {
    return give(c, ox_where(ox_lt(c->in[0], ox_number(0)), ox_mul(c->in[0], c->in[1]), c->in[0]));
}
static bool map_SwiGLU(onnx_case *c) {
    ox_tensor *gate = ox_mul(c->in[0], ox_sigmoid(ox_mul_number(c->in[0], attr_real(c, "alpha", 1))));
    return give(c, ox_mul(gate, c->in[1]));
}
static bool map_Where(onnx_case *c) {
    return give(c, ox_where(c->in[0], c->in[1], c->in[2]));
}
static bool map_Clip(onnx_case *c) {
    double low = c->in[1] ? ox_item(c->in[1]) : -(double)INFINITY,
           high = c->in[2] ? ox_item(c->in[2]) : (double)INFINITY;
    return give(c, ox_clamp(c->in[0], low, high));
}

/* Any number of operands. */
static bool fold(onnx_case *c, ox_tensor *(*join)(ox_tensor *, ox_tensor *)) {
    ox_tensor *all = ox_clone(c->in[0]);
    for (int i = 1; i < c->in_count; i++) all = join(all, c->in[i]);
    return give(c, all);
}
static bool map_Max(onnx_case *c) {
    return fold(c, ox_maximum);
}
static bool map_Min(onnx_case *c) {
    return fold(c, ox_minimum);
}
static bool map_Sum(onnx_case *c) {
    return fold(c, ox_add);
}
static bool map_Mean(onnx_case *c) {
    return fold(c, ox_add) && give(c, ox_div_number(c->out[0], c->in_count));
}

/* ---- dtypes, constants ------------------------------------------------------------------------------- */

static bool cast(onnx_case *c, ox_dtype to) {
    bool saturate = attr_int(c, "saturate", 1) != 0;
    ox_tensor *x = c->in[0];
    /* f8_e4m3 saturates here as in torch, f8_e5m2 does not: the other way round needs a clamp, or has no
     * counterpart. */
    if (to == OX_F8_E4M3 && !saturate) return false;
    if (to == OX_F8_E5M2 && saturate) x = ox_clamp(x, -57344, 57344);
    return to != OX_DTYPE_NONE && give(c, ox_cast(x, to));
}
static bool map_Cast(onnx_case *c) {
    return cast(c, onnx_dtype(attr_int(c, "to", 0)));
}
static bool map_CastLike(onnx_case *c) {
    return cast(c, c->in[1]->dtype);
}
static bool map_BitCast(onnx_case *c) {
    return give(c, ox_view_dtype(c->in[0], onnx_dtype(attr_int(c, "to", 0))));
}
static bool map_ConstantOfShape(onnx_case *c) {
    const json *value = json_get(c->attributes, "value");
    const char *hex = json_text(value, "hex", ""), *name = json_text(value, "dtype", "F32");
    ox_dtype dtype = strcmp(name, "I32") == 0 ? OX_I32 : strcmp(name, "I64") == 0 ? OX_I64 : OX_F32;
    return strspn(hex, "0") == strlen(hex) && give(c, ox_zeros(shape_input(c->in[0]), dtype));
}
static bool map_Range(onnx_case *c) {
    return give(c, ox_arange(ox_item(c->in[0]), ox_item(c->in[1]), ox_item(c->in[2]), c->in[0]->dtype));
}
static bool map_EyeLike(onnx_case *c) {
    ox_dtype dtype = json_get(c->attributes, "dtype") ? onnx_dtype(attr_int(c, "dtype", 1)) : c->in[0]->dtype;
    ox_tensor *ones = ox_ones(ox_shape_of(c->in[0]), dtype);
    int k = attr_int(c, "k", 0);
    return give(c, k ? ox_triu(ox_tril(ones, k), k) : ox_eye(c->in[0]->shape[0], c->in[0]->shape[1], dtype));
}
static bool map_Shape(onnx_case *c) {
    int n = c->in[0]->ndim, start = wrap(attr_int(c, "start", 0), n), end = wrap(attr_int(c, "end", n), n);
    return give(c, ox_from_ints(c->in[0]->shape + start, OX_SHAPE(end > start ? end - start : 0), OX_I64));
}
static bool map_Size(onnx_case *c) {
    int64_t count = ox_numel(c->in[0]);
    return give(c, ox_from_ints(&count, OX_SCALAR_SHAPE, OX_I64));
}

/* a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n) */
static bool window(onnx_case *c, double a0, double a1, double a2) {
    double n = ox_item(c->in[0]), length = attr_int(c, "periodic", 1) ? n : n - 1;
    ox_tensor *turn = ox_mul_number(ox_arange(0, n, 1, OX_F64), 6.283185307179586 / length);
    ox_tensor *sum = ox_add_number(ox_mul_number(ox_cos(turn), -a1), a0);
    ox_tensor *more = ox_mul_number(ox_cos(ox_mul_number(turn, 2)), a2);
    return give(c, ox_cast(ox_add(sum, more), onnx_dtype(attr_int(c, "output_datatype", 1))));
}
static bool map_HannWindow(onnx_case *c) {
    return window(c, 0.5, 0.5, 0);
}
static bool map_HammingWindow(onnx_case *c) {
    return window(c, 25.0 / 46, 21.0 / 46, 0);
}
static bool map_BlackmanWindow(onnx_case *c) {
    return window(c, 0.42, 0.5, 0.08);
}

/* ---- reductions -------------------------------------------------------------------------------------- */

/* The axes of a Reduce node: an input since opset 13 or 18, an attribute before; none = all, unless
 * "noop". */
static bool reduce_dims(const onnx_case *c, ox_shape *dims) {
    *dims = c->in_count > 1 && c->in[1] ? shape_input(c->in[1]) : shape_attr(c, "axes");
    return dims->ndim > 0 || !attr_int(c, "noop_with_empty_axes", 0);
}
#define REDUCE(op, call)                                         \
    static bool map_##op(onnx_case *c) {                         \
        ox_shape dims;                                           \
        bool keep = attr_int(c, "keepdims", 1) != 0;             \
        ox_tensor *x = c->in[0];                                 \
        if (!reduce_dims(c, &dims)) return give(c, ox_clone(x)); \
        return give(c, call);                                    \
    }
REDUCE(ReduceSum, ox_cast(ox_sum(x, dims, keep), x->dtype))
REDUCE(ReduceMean, ox_mean(x, dims, keep))
REDUCE(ReduceProd, ox_cast(ox_prod(x, dims, keep), x->dtype))
REDUCE(ReduceL1, ox_norm(x, 1, dims, keep))
REDUCE(ReduceL2, ox_norm(x, 2, dims, keep))
REDUCE(ReduceLogSum, ox_log(ox_sum(x, dims, keep)))
REDUCE(ReduceLogSumExp, ox_logsumexp(x, dims, keep))
REDUCE(ReduceSumSquare, ox_sum(ox_square(x), dims, keep))
REDUCE(reduce_max, ox_amax(x, dims, keep))
REDUCE(reduce_min, ox_amin(x, dims, keep))
/* Like torch, OxTorch knows no largest of no elements. */
static bool map_ReduceMax(onnx_case *c) {
    return ox_numel(c->in[0]) > 0 && map_reduce_max(c);
}
static bool map_ReduceMin(onnx_case *c) {
    return ox_numel(c->in[0]) > 0 && map_reduce_min(c);
}

static bool arg(onnx_case *c, bool largest) {
    int axis = attr_int(c, "axis", 0);
    bool keep = attr_int(c, "keepdims", 1) != 0, last = attr_int(c, "select_last_index", 0) != 0;
    ox_tensor *x = last ? ox_flip(c->in[0], OX_DIMS(axis)) : c->in[0],
              *index = largest ? ox_argmax(x, axis, keep) : ox_argmin(x, axis, keep);
    return give(c, last ? ox_sub(ox_integer(c->in[0]->shape[wrap(axis, x->ndim)] - 1), index) : index);
}
static bool map_ArgMax(onnx_case *c) {
    return arg(c, true);
}
static bool map_ArgMin(onnx_case *c) {
    return arg(c, false);
}

static ox_tensor *scan(onnx_case *c, ox_tensor *x, int axis, bool product) {
    bool reverse = attr_int(c, "reverse", 0) != 0, exclusive = attr_int(c, "exclusive", 0) != 0;
    ox_tensor *in = reverse ? ox_flip(x, OX_DIMS(axis)) : x,
              *all = product ? ox_cumprod(in, axis) : ox_cumsum(in, axis);
    if (exclusive) all = ox_sub(all, in);
    return ox_cast(reverse ? ox_flip(all, OX_DIMS(axis)) : all, x->dtype);
}
static bool map_CumSum(onnx_case *c) {
    return give(c, scan(c, c->in[0], (int)ox_item_int(c->in[1]), false));
}
static bool map_CumProd(onnx_case *c) {
    return !attr_int(c, "exclusive", 0) && give(c, scan(c, c->in[0], (int)ox_item_int(c->in[1]), true));
}
static bool map_TopK(onnx_case *c) {
    if (!attr_int(c, "sorted", 1)) return false;
    ox_pair pair = ox_topk(c->in[0], ox_item_int(ox_view(c->in[1], OX_SCALAR_SHAPE)), attr_int(c, "axis", -1),
                           attr_int(c, "largest", 1) != 0);
    c->out[1] = pair.indices;
    return give(c, pair.values);
}
static bool map_Hardmax(onnx_case *c) {
    int axis = attr_int(c, "axis", -1), last = c->in[0]->ndim - 1;
    ox_tensor *moved = ox_movedim(c->in[0], axis, last),
              *hot = ox_one_hot(ox_argmax(moved, last, false), moved ? moved->shape[last] : 0);
    return give(c, ox_cast(ox_movedim(hot, last, axis), c->in[0]->dtype));
}
static bool map_LpNormalization(onnx_case *c) {
    ox_tensor *norm = ox_norm(c->in[0], attr_int(c, "p", 2), OX_DIMS(attr_int(c, "axis", -1)), true);
    /* A row of zeros stays zero. */
    return give(c, ox_div(c->in[0], ox_where(ox_eq(norm, ox_number(0)), ox_ones_like(norm), norm)));
}
static ox_shape spatial(const ox_tensor *x) {
    ox_shape dims = ox_shape_from(0, NULL);
    for (int d = 2; d < x->ndim; d++) dims.dim[dims.ndim++] = d;
    return dims;
}
static bool map_GlobalAveragePool(onnx_case *c) {
    return give(c, ox_mean(c->in[0], spatial(c->in[0]), true));
}
static bool map_GlobalMaxPool(onnx_case *c) {
    return give(c, ox_amax(c->in[0], spatial(c->in[0]), true));
}

/* ---- rows -------------------------------------------------------------------------------------------- */

static bool map_Softmax(onnx_case *c) {
    return give(c, ox_softmax(c->in[0], attr_int(c, "axis", -1)));
}
static bool map_LogSoftmax(onnx_case *c) {
    return give(c, ox_log_softmax(c->in[0], attr_int(c, "axis", -1)));
}
static bool map_LayerNormalization(onnx_case *c) {
    ox_tensor *x = c->in[0];
    int axis = wrap(attr_int(c, "axis", -1), x->ndim);
    double eps = attr_real(c, "epsilon", 1e-5);
    ox_shape dims = ox_shape_from(0, NULL);
    for (int d = axis; d < x->ndim; d++) dims.dim[dims.ndim++] = d;
    c->out[1] = ox_mean(x, dims, true);
    c->out[2] = ox_rsqrt(ox_add_number(ox_var(x, dims, 0, true), eps));
    return give(c, ox_layer_norm(x, x->ndim - axis, c->in[1], c->in[2], eps));
}
static bool map_RMSNormalization(onnx_case *c) {
    return give(c, ox_rms_norm(c->in[0], c->in[0]->ndim - wrap(attr_int(c, "axis", -1), c->in[0]->ndim),
                               c->in[1], attr_real(c, "epsilon", 1e-5)));
}
/* x [N,C,..] with [C] each of scale, bias, mean, variance. */
static bool map_BatchNormalization(onnx_case *c) {
    ox_tensor *x = c->in[0], *row[4];
    ox_shape shape = ox_shape_from(0, NULL);
    if (attr_int(c, "training_mode", 0)) return false;
    for (int d = 0; d < x->ndim; d++) shape.dim[shape.ndim++] = d == 1 ? x->shape[1] : 1;
    for (int i = 0; i < 4; i++) row[i] = ox_view(c->in[i + 1], shape);
    ox_tensor *scale = ox_mul(row[0], ox_rsqrt(ox_add_number(row[3], attr_real(c, "epsilon", 1e-5))));
    return give(c, ox_add(ox_mul(ox_sub(x, row[2]), scale), row[1]));
}
static bool map_Dropout(onnx_case *c) { /* only what is not random: inference, or nothing dropped */
    bool training = c->in_count > 2 && c->in[2] && ox_item(c->in[2]) != 0;
    double ratio = c->in_count > 1 && c->in[1] ? ox_item(c->in[1]) : attr_real(c, "ratio", 0.5);
    if (training && ratio != 0) return false;
    if (c->out_count > 1) c->out[1] = ox_ones(ox_shape_of(c->in[0]), OX_BOOL);
    return give(c, ox_dropout(c->in[0], ratio, training));
}

/* ---- shapes ------------------------------------------------------------------------------------------ */

static bool map_Transpose(onnx_case *c) {
    ox_shape perm = shape_attr(c, "perm");
    if (perm.ndim == 0)
        for (int d = c->in[0]->ndim - 1; d >= 0; d--) perm.dim[perm.ndim++] = d;
    return give(c, ox_permute(c->in[0], perm));
}
static bool map_Reshape(onnx_case *c) {
    ox_shape shape = shape_input(c->in[1]);
    for (int d = 0; d < shape.ndim && !attr_int(c, "allowzero", 0); d++)
        if (shape.dim[d] == 0) shape.dim[d] = c->in[0]->shape[d];
    return give(c, ox_reshape(c->in[0], shape));
}
static bool map_Flatten(onnx_case *c) {
    int axis = wrap(attr_int(c, "axis", 1), c->in[0]->ndim);
    int64_t rows = 1;
    for (int d = 0; d < axis; d++) rows *= c->in[0]->shape[d];
    return give(c, ox_reshape(c->in[0], OX_SHAPE(rows, -1)));
}
static bool map_Squeeze(onnx_case *c) {
    ox_shape axes = shape_input(c->in[1]);
    ox_tensor *x = c->in[0];
    if (!c->in[1]) return give(c, ox_squeeze_all(x));
    for (int d = x->ndim - 1; d >= 0; d--)
        for (int i = 0; i < axes.ndim; i++)
            if (wrap((int)axes.dim[i], c->in[0]->ndim) == d) x = ox_squeeze(x, d);
    return give(c, x);
}
static bool map_Unsqueeze(onnx_case *c) {
    ox_shape axes = shape_input(c->in[1]);
    ox_tensor *x = c->in[0];
    int full = x->ndim + axes.ndim;
    for (int d = 0; d < full; d++)
        for (int i = 0; i < axes.ndim; i++)
            if (wrap((int)axes.dim[i], full) == d) x = ox_unsqueeze(x, d);
    return give(c, x);
}
static bool map_Expand(
    onnx_case *c) { /* ONNX broadcasts both ways: a 1 in the shape keeps the operand's size */
    ox_shape shape = shape_input(c->in[1]), own = ox_shape_of(c->in[0]);
    int lead = own.ndim - shape.ndim;
    ox_shape full = lead > 0 ? own : shape;
    for (int d = 0; d < full.ndim; d++) {
        int64_t a = d - (full.ndim - own.ndim) >= 0 ? own.dim[d - (full.ndim - own.ndim)] : 1;
        int64_t b = d - (full.ndim - shape.ndim) >= 0 ? shape.dim[d - (full.ndim - shape.ndim)] : 1;
        full.dim[d] = a == 1 ? b : a;
    }
    return give(c, ox_expand(c->in[0], full));
}
static bool map_Slice(onnx_case *c) {
    ox_shape starts = shape_input(c->in[1]), ends = shape_input(c->in[2]);
    ox_shape axes = c->in_count > 3 ? shape_input(c->in[3]) : ox_shape_from(0, NULL),
             steps = c->in_count > 4 ? shape_input(c->in[4]) : ox_shape_from(0, NULL);
    ox_tensor *x = c->in[0];
    for (int i = 0; i < starts.ndim; i++)
        x = ox_slice(x, axes.ndim ? (int)axes.dim[i] : i, starts.dim[i], ends.dim[i],
                     steps.ndim ? steps.dim[i] : 1);
    return give(c, x);
}
static bool map_Split(onnx_case *c) {
    int axis = attr_int(c, "axis", 0);
    ox_shape sizes = c->in_count > 1 ? shape_input(c->in[1]) : ox_shape_from(0, NULL);
    if (sizes.ndim == 0) {
        int64_t length = ox_size(c->in[0], axis), part = (length + c->out_count - 1) / c->out_count;
        return ox_split(c->in[0], part, axis, c->out, MOST_OUTPUTS) == c->out_count;
    }
    int64_t start = 0;
    for (int i = 0; i < sizes.ndim && i < MOST_OUTPUTS; start += sizes.dim[i++])
        c->out[i] = ox_narrow(c->in[0], axis, start, sizes.dim[i]);
    return true;
}
static bool map_Concat(onnx_case *c) {
    return give(c, ox_cat(c->in, c->in_count, attr_int(c, "axis", 0)));
}
static bool map_SpaceToDepth(onnx_case *c) { /* [N,C,H,W] -> [N,C b b,H/b,W/b] */
    const int64_t *s = c->in[0]->shape, b = attr_int(c, "blocksize", 2);
    ox_tensor *parts = ox_view(c->in[0], OX_SHAPE(s[0], s[1], s[2] / b, b, s[3] / b, b));
    return give(c, ox_reshape(ox_permute(parts, OX_DIMS(0, 3, 5, 1, 2, 4)),
                              OX_SHAPE(s[0], s[1] * b * b, s[2] / b, s[3] / b)));
}

/* Which element of a line of `size` lies at position p beyond its ends. */
static int64_t padded_from(const char *mode, int64_t p, int64_t size) {
    if (strcmp(mode, "edge") == 0) return p < 0 ? 0 : p >= size ? size - 1 : p;
    if (strcmp(mode, "wrap") == 0) return (p % size + size) % size;
    int64_t period = size > 1 ? 2 * (size - 1) : 1, q = (p % period + period) % period;
    return q < size ? q : period - q;
}
static bool map_Pad(onnx_case *c) {
    const char *mode = attr_text(c, "mode", "constant");
    ox_shape pads = shape_input(c->in[1]),
             axes = c->in_count > 3 && c->in[3] ? shape_input(c->in[3]) : ox_shape_from(0, NULL);
    ox_tensor *x = c->in[0];
    int n = pads.ndim / 2;
    for (int i = 0; i < n; i++) {
        int dim = axes.ndim ? wrap((int)axes.dim[i], x->ndim) : i;
        int64_t before = pads.dim[i], after = pads.dim[n + i], size = x->shape[dim],
                length = size + before + after;
        if (before == 0 && after == 0) continue;
        ox_tensor *index = ox_arange(0, (double)length, 1, OX_I64);
        for (int64_t p = 0; index && p < length; p++)
            store_int(OX_I64, element(index, p),
                      strcmp(mode, "constant") == 0 ? 0 : padded_from(mode, p - before, size));
        if (strcmp(mode, "constant") == 0) {
            if (before < 0 || after < 0) return false;
            ox_shape shape = ox_shape_of(x);
            shape.dim[dim] = length;
            ox_tensor *frame = ox_full(shape, c->in_count > 2 && c->in[2] ? ox_item(c->in[2]) : 0, x->dtype);
            x = ox_copy_(ox_narrow(frame, dim, before, size), x) ? frame : NULL;
        } else {
            x = ox_index_select(x, dim, index);
        }
        if (!x) break;
    }
    return give(c, x);
}

/* ---- index ------------------------------------------------------------------------------------------- */

/* ONNX counts negative indices from the end; OxTorch and torch refuse them. */
static ox_tensor *positive(ox_tensor *index, int64_t size) {
    return ox_where(ox_lt(index, ox_integer(0)), ox_add(index, ox_integer(size)), index);
}
static bool map_Gather(onnx_case *c) {
    int axis = wrap(attr_int(c, "axis", 0), c->in[0]->ndim);
    ox_tensor *index = positive(c->in[1], c->in[0]->shape[axis]),
              *flat = ox_index_select(c->in[0], axis, ox_reshape(index, OX_SHAPE(-1)));
    return give(c, c->in[1]->ndim == 0 ? ox_squeeze(flat, axis)
                                       : ox_unflatten(flat, axis, ox_shape_of(c->in[1])));
}
static bool map_GatherElements(onnx_case *c) {
    int axis = wrap(attr_int(c, "axis", 0), c->in[0]->ndim);
    return give(c, ox_gather(c->in[0], axis, positive(c->in[1], c->in[0]->shape[axis])));
}
static bool map_ScatterElements(onnx_case *c) {
    int axis = wrap(attr_int(c, "axis", 0), c->in[0]->ndim);
    const char *reduction = attr_text(c, "reduction", "none");
    ox_tensor *index = positive(c->in[1], c->in[0]->shape[axis]);
    if (strcmp(reduction, "none") == 0) return give(c, ox_scatter(c->in[0], axis, index, c->in[2]));
    return strcmp(reduction, "add") == 0 && give(c, ox_scatter_add(c->in[0], axis, index, c->in[2]));
}

/* The part of x that row i of indices [.., k] points at: a view. */
static ox_tensor *pointed_at(ox_tensor *x, const ox_tensor *indices, int64_t i) {
    int64_t k = indices->shape[indices->ndim - 1];
    for (int64_t j = 0; j < k && x; j++)
        x = ox_select(x, 0, load_int(indices->dtype, element(indices, i * k + j)));
    return x;
}
static bool map_ScatterND(onnx_case *c) {
    const char *reduction = attr_text(c, "reduction", "none");
    ox_tensor *x = ox_clone(c->in[0]), *updates = c->in[2];
    int lead = c->in[1]->ndim - 1;
    int64_t rows = ox_numel(c->in[1]) / c->in[1]->shape[lead];
    ox_tensor *flat = lead > 1 ? ox_flatten(updates, 0, lead - 1) : updates;
    for (int64_t i = 0; i < rows && flat; i++) {
        ox_tensor *to = pointed_at(x, c->in[1], i), *from = ox_select(flat, 0, i), *done;
        if (strcmp(reduction, "add") == 0)
            done = ox_add_(to, from);
        else if (strcmp(reduction, "mul") == 0)
            done = ox_mul_(to, from);
        else if (strcmp(reduction, "min") == 0)
            done = ox_minimum_(to, from);
        else if (strcmp(reduction, "max") == 0)
            done = ox_maximum_(to, from);
        else
            done = ox_copy_(to, from);
        if (!done) return give(c, NULL);
    }
    return give(c, x);
}
static bool map_GatherND(onnx_case *c) {
    ox_tensor *list[16];
    int64_t rows = ox_numel(c->in[1]) / c->in[1]->shape[c->in[1]->ndim - 1];
    if (attr_int(c, "batch_dims", 0) || rows > 16 || c->in[1]->ndim != 2) return false;
    for (int64_t i = 0; i < rows; i++) list[i] = pointed_at(c->in[0], c->in[1], i);
    return give(c, ox_stack(list, (int)rows, 0));
}
static bool map_Compress(onnx_case *c) {
    bool flat = !json_get(c->attributes, "axis");
    ox_tensor *x = flat ? ox_reshape(c->in[0], OX_SHAPE(-1)) : c->in[0];
    return give(c, ox_index_select(x, attr_int(c, "axis", 0), ox_flatten(ox_nonzero(c->in[1]), 0, -1)));
}
static bool map_OneHot(onnx_case *c) { /* out of range is "off" there: by comparing */
    int64_t depth = (int64_t)ox_item(ox_reshape(c->in[1], OX_SCALAR_SHAPE));
    int axis = attr_int(c, "axis", -1);
    ox_tensor *ids = ox_unsqueeze(ox_cast(c->in[0], OX_I64), -1),
              *hot = ox_eq(ox_remainder(ids, ox_integer(depth)), ox_arange(0, (double)depth, 1, OX_I64));
    ox_tensor *valid = ox_logical_and(ox_ge(ids, ox_integer(-depth)), ox_lt(ids, ox_integer(depth)));
    hot = ox_where(ox_logical_and(hot, valid), ox_select(c->in[2], 0, 1), ox_select(c->in[2], 0, 0));
    return give(c, ox_movedim(hot, -1, axis));
}
static bool map_Trilu(onnx_case *c) {
    int64_t k = c->in_count > 1 && c->in[1] ? ox_item_int(c->in[1]) : 0;
    return give(c, attr_int(c, "upper", 1) ? ox_triu(c->in[0], k) : ox_tril(c->in[0], k));
}
static bool map_ReverseSequence(onnx_case *c) {
    int batch = attr_int(c, "batch_axis", 1), time = attr_int(c, "time_axis", 0);
    ox_tensor *out = ox_clone(c->in[0]);
    for (int64_t b = 0; b < ox_numel(c->in[1]); b++) {
        int64_t length = load_int(OX_I64, element(c->in[1], b));
        ox_tensor *to = ox_narrow(ox_narrow(out, batch, b, 1), time, 0, length);
        if (!ox_copy_(to,
                      ox_flip(ox_narrow(ox_narrow(c->in[0], batch, b, 1), time, 0, length), OX_DIMS(time))))
            return give(c, NULL);
    }
    return give(c, out);
}
static bool map_TensorScatter(
    onnx_case *c) { /* update [B,..,n,D] written into a ring of rows, from write_indices[b] on */
    ox_tensor *out = ox_clone(c->in[0]);
    int axis = wrap(attr_int(c, "axis", -2), out->ndim);
    bool ring = strcmp(attr_text(c, "mode", "linear"), "circular") == 0;
    for (int64_t b = 0; b < out->shape[0]; b++)
        for (int64_t i = 0; i < c->in[1]->shape[axis]; i++) {
            int64_t row = (c->in[2] ? load_int(OX_I64, element(c->in[2], b)) : 0) + i;
            if (ring) row %= out->shape[axis];
            if (!ox_copy_(ox_narrow(ox_narrow(out, 0, b, 1), axis, row, 1),
                          ox_narrow(ox_narrow(c->in[1], 0, b, 1), axis, i, 1)))
                return give(c, NULL);
        }
    return give(c, out);
}

/* ---- products and transformers ----------------------------------------------------------------------- */

static bool map_Einsum(onnx_case *c) {
    return give(c, ox_einsum(attr_text(c, "equation", ""), c->in, c->in_count));
}
static bool map_Gemm(onnx_case *c) {
    ox_tensor *a = attr_int(c, "transA", 0) ? ox_t(c->in[0]) : c->in[0],
              *b = attr_int(c, "transB", 0) ? ox_t(c->in[1]) : c->in[1];
    double alpha = attr_real(c, "alpha", 1), beta = attr_real(c, "beta", 1);
    return give(c, c->in_count > 2 && c->in[2] ? ox_addmm(c->in[2], a, b, beta, alpha)
                                               : ox_mul_number(ox_matmul(a, b), alpha));
}

/* [B,S,H D] -> [B,H,S,D] */
static ox_tensor *split_heads(ox_tensor *x, int heads) {
    return x->ndim == 3 ? ox_transpose(ox_unflatten(x, 2, OX_SHAPE(heads, -1)), 1, 2) : x;
}

/* true where row s of batch b may look at key t: t < length[b], and t <= s + length[b] - S when causal.
 * [B,1,S,T] */
static ox_tensor *length_mask(ox_tensor *lengths, int64_t rows, int64_t keys, bool causal) {
    ox_tensor *t = ox_arange(0, (double)keys, 1, OX_I64),
              *s = ox_unsqueeze(ox_arange(0, (double)rows, 1, OX_I64), 1);
    ox_tensor *n = ox_view(lengths, OX_SHAPE(-1, 1, 1, 1)), *inside = ox_lt(t, n);
    return causal ? ox_logical_and(inside, ox_le(t, ox_add(s, ox_sub(n, ox_integer(rows))))) : inside;
}

static bool map_Attention(onnx_case *c) {
    ox_tensor *q = split_heads(c->in[0], attr_int(c, "q_num_heads", 1)),
              *k = split_heads(c->in[1], attr_int(c, "kv_num_heads", 1));
    ox_tensor *v = split_heads(c->in[2], attr_int(c, "kv_num_heads", 1)), *past_k = c->in[4],
              *past_v = c->in[5], *pair[2];
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mask = c->in[3];
    desc.scale = attr_real(c, "scale", 0);
    desc.softcap = attr_real(c, "softcap", 0);
    desc.causal = attr_int(c, "is_causal", 0) != 0;
    if (past_k && past_v && k && v) {
        desc.query_start = past_k->shape[2];
        pair[0] = past_k, pair[1] = k;
        c->out[1] = k = ox_cat(pair, 2, 2);
        pair[0] = past_v, pair[1] = v;
        c->out[2] = v = ox_cat(pair, 2, 2);
    }
    if (c->in[6] && q && k) {
        if (desc.mask) return false;
        desc.mask = length_mask(c->in[6], q->shape[2], k->shape[2], desc.causal);
        desc.causal = false;
    }
    ox_tensor *y = ox_scaled_dot_product_attention(q, k, v, &desc);
    return give(c, c->in[0]->ndim == 3 ? ox_flatten(ox_transpose(y, 1, 2), 2, 3) : y);
}

static bool map_FlexAttention(onnx_case *c) {
    return c->in_count == 3 && json_count(c->attributes) == 0 &&
           give(c, ox_scaled_dot_product_attention(c->in[0], c->in[1], c->in[2], NULL));
}

/* Scale or zero point: a number, or one a place along `axis` (default 1). */
static ox_tensor *along_axis(const onnx_case *c, ox_tensor *t, const ox_tensor *x) {
    ox_shape shape = ox_shape_from(0, NULL);
    if (!t || ox_numel(t) == 1)
        return t ? ox_reshape(ox_cast(t, OX_F32), OX_SCALAR_SHAPE) : ox_zeros(OX_SCALAR_SHAPE, OX_F32);
    for (int d = 0; d < x->ndim; d++)
        shape.dim[shape.ndim++] = d == wrap(attr_int(c, "axis", 1), x->ndim) ? x->shape[d] : 1;
    return ox_view(ox_cast(t, OX_F32), shape);
}
static ox_tensor *dequantized(const onnx_case *c, ox_tensor *x, ox_tensor *scale, ox_tensor *zero) {
    return ox_mul(ox_sub(ox_cast(x, OX_F32), along_axis(c, zero, x)), along_axis(c, scale, x));
}
static ox_tensor *quantized(const onnx_case *c, ox_tensor *x, ox_tensor *scale, ox_tensor *zero) {
    ox_tensor *y = ox_div(x, along_axis(c, scale, x));
    if (!is_integral(zero->dtype)) return ox_cast(ox_add(y, along_axis(c, zero, x)), zero->dtype);
    int bits = 8 * (int)width_of(zero->dtype), low = is_signed_int(zero->dtype) ? -(1 << (bits - 1)) : 0;
    return ox_cast(ox_clamp(ox_add(ox_round(y), along_axis(c, zero, x)), low, low + (1 << bits) - 1),
                   zero->dtype);
}
static bool map_DequantizeLinear(onnx_case *c) {
    return give(c, dequantized(c, c->in[0], c->in[1], c->in[2]));
}
static bool map_QuantizeLinear(onnx_case *c) {
    return c->in[2] && give(c, quantized(c, c->in[0], c->in[1], c->in[2]));
}
static bool map_QLinearMatMul(onnx_case *c) {
    ox_tensor *a = dequantized(c, c->in[0], c->in[1], c->in[2]),
              *b = dequantized(c, c->in[3], c->in[4], c->in[5]);
    return give(c, quantized(c, ox_matmul(a, b), c->in[6], c->in[7]));
}

/* x1 cos - x2 sin, x2 cos + x1 sin, on halves or on even and odd elements. */
static bool map_RotaryEmbedding(onnx_case *c) {
    int heads = attr_int(c, "num_heads", 0);
    bool flat = c->in[0]->ndim == 3, interleaved = attr_int(c, "interleaved", 0) != 0;
    ox_tensor *x = flat ? ox_transpose(ox_unflatten(c->in[0], 2, OX_SHAPE(heads, -1)), 1, 2) : c->in[0];
    ox_tensor *cosine = c->in[1], *sine = c->in[2];
    if (c->in[3]) {
        cosine = ox_embedding(c->in[3], cosine);
        sine = ox_embedding(c->in[3], sine);
    }
    cosine = ox_unsqueeze(cosine, 1); /* [B,1,S,dims/2] */
    sine = ox_unsqueeze(sine, 1);
    int64_t size = x ? x->shape[3] : 0, dims = attr_int(c, "rotary_embedding_dim", 0);
    if (dims == 0) dims = size;
    ox_tensor *turning = ox_narrow(x, 3, 0, dims), *a, *b, *part[2];
    a = interleaved ? ox_slice(turning, 3, 0, OX_END, 2) : ox_narrow(turning, 3, 0, dims / 2);
    b = interleaved ? ox_slice(turning, 3, 1, OX_END, 2) : ox_narrow(turning, 3, dims / 2, dims / 2);
    part[0] = ox_sub(ox_mul(a, cosine), ox_mul(b, sine));
    part[1] = ox_add(ox_mul(a, sine), ox_mul(b, cosine));
    ox_tensor *turned = interleaved ? ox_flatten(ox_stack(part, 2, -1), 3, 4) : ox_cat(part, 2, 3);
    part[0] = turned;
    part[1] = ox_narrow(x, 3, dims, size - dims);
    turned = ox_cat(part, 2, 3);
    return give(c, flat ? ox_flatten(ox_transpose(turned, 1, 2), 2, 3) : turned);
}

/* ---- the table --------------------------------------------------------------------------------------- */

/* clang-format off */
#define OPERATORS(X) \
    X(Abs) X(Acos) X(Add) X(And) X(ArgMax) X(ArgMin) X(Asin) X(Asinh) X(Atan) X(Atanh) X(Attention) \
    X(BatchNormalization) X(BitCast) \
    X(BitShift) X(BitwiseAnd) X(BitwiseNot) X(BitwiseOr) X(BitwiseXor) X(BlackmanWindow) X(Cast) X(CastLike) \
    X(Celu) X(Clip) X(Compress) \
    X(Concat) X(ConstantOfShape) X(CumProd) X(CumSum) X(DequantizeLinear) X(Div) X(Dropout) X(Einsum) X(Elu) \
    X(Equal) X(Erf) X(Exp) X(Expand) X(EyeLike) \
    X(Flatten) X(Floor) X(Gather) X(GatherElements) X(GatherND) X(Gelu) X(Gemm) X(GlobalAveragePool) \
    X(GlobalMaxPool) X(Greater) \
    X(GreaterOrEqual) X(HammingWindow) X(HannWindow) X(HardSigmoid) X(Hardmax) X(Identity) X(IsInf) X(IsNaN) \
    X(LayerNormalization) \
    X(LeakyRelu) X(Less) X(LessOrEqual) X(Log) X(LogSoftmax) X(LpNormalization) X(MatMul) X(Max) X(Mean) \
    X(Min) X(Mish) X(Mod) X(Mul) \
    X(Neg) X(Not) X(OneHot) X(Or) X(PRelu) X(Pad) X(Pow) X(QLinearMatMul) X(QuantizeLinear) \
    X(RMSNormalization) X(Range) X(Reciprocal) X(ReduceL1) X(ReduceL2) \
    X(ReduceLogSum) X(ReduceLogSumExp) X(ReduceMax) X(ReduceMean) X(ReduceMin) X(ReduceProd) X(ReduceSum) \
    X(ReduceSumSquare) X(Reshape) \
    X(ReverseSequence) X(RotaryEmbedding) X(ScatterElements) X(ScatterND) X(Selu) X(Shape) X(Shrink) \
    X(Sigmoid) X(Sin) X(Size) X(Slice) \
    X(Softmax) X(Softsign) X(SpaceToDepth) X(Split) X(Sqrt) X(Squeeze) X(Sub) X(Sum) X(SwiGLU) X(Tan) \
    X(Tanh) X(TensorScatter) X(TopK) \
    X(Transpose) X(Trilu) X(Unsqueeze) X(Where) X(Xor)
/* clang-format on */
static const struct {
    const char *op;
    mapping map;
} mappings[] = {
#define ROW(op) {#op, map_##op},
    OPERATORS(ROW)
#undef ROW
        {"Scatter", map_ScatterElements},
    {"FlexAttention", map_FlexAttention}, /* without its optional score functions */
};

static mapping mapping_of(const char *op) {
    for (size_t i = 0; i < sizeof mappings / sizeof *mappings; i++)
        if (strcmp(mappings[i].op, op) == 0) return mappings[i].map;
    return NULL;
}

/* ---- the data ---------------------------------------------------------------------------------------- */

/* The two files: lines of cases, and a safetensors file with their numbers. */
typedef struct onnx_data {
    char *lines, *file, *tensors, *header; /* tensors: behind the header of the file */
    size_t line_bytes, tensor_bytes;
    json *directory;
    json_pool pool;
} onnx_data;

static bool open_data(onnx_data *d) {
    const char *folder = getenv("OX_TEST_DATA");
    char path[1024];
    memset(d, 0, sizeof *d);
    snprintf(path, sizeof path, "%s/numeric/onnx_node/cases.jsonl", folder ? folder : "../shared/data");
    d->lines = read_file(path, &d->line_bytes);
    snprintf(path, sizeof path, "%s/numeric/onnx_node/cases.safetensors", folder ? folder : "../shared/data");
    d->file = read_file(path, &d->tensor_bytes);
    if (!d->lines || !d->file || d->tensor_bytes < 8) return false;
    size_t length = 0;
    for (int i = 0; i < 8; i++) length |= (size_t)(unsigned char)d->file[i] << 8 * i;
    d->pool.room = 200000;
    d->pool.nodes = (json *)malloc((size_t)d->pool.room * sizeof(json));
    d->header = (char *)malloc(length + 1);
    if (length > d->tensor_bytes - 8 || !d->pool.nodes || !d->header) return false;
    memcpy(d->header, d->file + 8, length);
    d->header[length] = 0;
    d->directory = json_read(&d->pool, d->header);
    d->tensors = d->file + 8 + length;
    return d->directory != NULL;
}

static void close_data(onnx_data *d) {
    free(d->lines);
    free(d->file);
    free(d->header);
    free(d->pool.nodes);
}

static ox_dtype dtype_named(const char *name) {
    for (int t = OX_BOOL; t <= PLAIN_DTYPES; t++)
        if (strcmp(ox_dtype_get_info((ox_dtype)t)->safetensors, name) == 0) return (ox_dtype)t;
    return OX_DTYPE_NONE;
}

/* The tensor "<case>/<side>_<k>", copied: offsets in the file are not aligned. NULL: a dtype that OxTorch
 * does not have. */
static ox_tensor *load_tensor(const onnx_data *d, const char *name, const char *side, int k) {
    char key[300];
    snprintf(key, sizeof key, "%s/%s_%d", name, side, k);
    const json *entry = json_get(d->directory, key), *dims = json_get(entry, "shape");
    ox_dtype dtype = dtype_named(json_text(entry, "dtype", ""));
    ox_shape shape = ox_shape_from(0, NULL);
    for (const json *m = dims ? dims->child : NULL; m && shape.ndim < OX_MAX_DIMS; m = m->next)
        shape.dim[shape.ndim++] = (int64_t)m->number;
    const json *first = json_at(json_get(entry, "data_offsets"), 0);
    return dtype && first ? ox_from_data(d->tensors + (size_t)first->number, shape, dtype) : NULL;
}

/* Where in `list` (of objects with a "name") the name of the node's k-th operand is; -1 = not given. */
static int place_of(const json *names, int k, const json *list) {
    const json *name = json_at(names, k);
    int place = 0;
    if (!name || !name->text || !name->text[0]) return -1;
    for (const json *m = list ? list->child : NULL; m; m = m->next, place++)
        if (strcmp(json_text(m, "name", ""), name->text) == 0) return place;
    return -1;
}

/* ---- one case ---------------------------------------------------------------------------------------- */

static bool matches(const ox_tensor *got, const ox_tensor *want) {
    if (!got || !want || got->dtype != want->dtype || got->ndim != want->ndim) return false;
    for (int d = 0; d < want->ndim; d++)
        if (got->shape[d] != want->shape[d]) return false;
    double relative = want->dtype == OX_F16    ? 2e-3
                      : want->dtype == OX_BF16 ? 1e-2
                      : want->dtype == OX_F64  ? 1e-7
                                               : 1e-5;
    for (int64_t i = 0; i < ox_numel(want); i++) {
        if (!is_real_float(want->dtype)) {
            if (memcmp(element(got, i), element(want, i), width_of(want->dtype)) != 0) return false;
            continue;
        }
        double a = load_real(got->dtype, element(got, i)), b = load_real(want->dtype, element(want, i));
        if (isnan(a) && isnan(b)) continue;
        if (a != b && !(fabs(a - b) <= relative * fabs(b) + relative * 0.1)) return false;
    }
    return true;
}

typedef enum verdict { NOT_MAPPED, PASSED, FAILED } verdict;

static verdict run_case(const onnx_data *d, const json *line) {
    onnx_case c;
    memset(&c, 0, sizeof c);
    c.name = json_text(line, "case", "");
    c.op = json_text(line, "op", "");
    c.attributes = json_get(line, "attrs");
    const json *inputs = json_get(line, "node_inputs"), *outputs = json_get(line, "node_outputs");
    mapping map = mapping_of(c.op);
    c.in_count = json_count(inputs);
    c.out_count = json_count(outputs);
    if (!map || c.in_count > MOST_INPUTS || c.out_count > MOST_OUTPUTS) return NOT_MAPPED;
    for (int k = 0; k < c.in_count; k++) {
        int place = place_of(inputs, k, json_get(line, "inputs"));
        if (place < 0) continue;
        c.in[k] = load_tensor(d, c.name, "in", place);
        if (!c.in[k]) {
            ox_error_clear();
            return NOT_MAPPED;
        }
    }
    if (strcmp(c.op, "CastLike") == 0 && !c.in[1]) return NOT_MAPPED;
    if (!map(&c)) {
        ox_error_clear();
        return NOT_MAPPED;
    }
    bool right = c.out[0] != NULL;
    for (int k = 0; k < c.out_count; k++) {
        int place = place_of(outputs, k, json_get(line, "outputs"));
        if (place < 0 || (k > 0 && !c.out[k])) continue;
        ox_tensor *want = load_tensor(d, c.name, "out", place);
        right = right && matches(c.out[k], want);
    }
    CHECK_MSG(right, "%s (%s): %s", c.name, c.op, ox_error_text());
    ox_error_clear();
    return right ? PASSED : FAILED;
}

typedef struct tally {
    char op[40];
    int count[3];
} tally;

static tally *tally_of(tally *all, int *used, const char *op) {
    for (int i = 0; i < *used; i++)
        if (strcmp(all[i].op, op) == 0) return &all[i];
    tally *t = &all[(*used)++];
    memset(t, 0, sizeof *t);
    snprintf(t->op, sizeof t->op, "%s", op);
    return t;
}

static void print_tallies(const tally *all, int used) {
    int sum[3] = {0, 0, 0};
    printf("%-28s %7s %7s %11s\n", "ONNX operator", "passed", "failed", "not mapped");
    for (int i = 0; i < used; i++) {
        printf("%-28s %7d %7d %11d\n", all[i].op, all[i].count[PASSED], all[i].count[FAILED],
               all[i].count[NOT_MAPPED]);
        for (int v = 0; v < 3; v++) sum[v] += all[i].count[v];
    }
    printf("%-28s %7d %7d %11d\n", "all", sum[PASSED], sum[FAILED], sum[NOT_MAPPED]);
    CHECK_MSG(sum[PASSED] >= 400, "only %d cases passed", sum[PASSED]);
}

int main(void) {
    static tally tallies[256];
    int used = 0;
    onnx_data d;
    if (!open_data(&d)) {
        check_skip("onnx", "no numeric/onnx_node in OX_TEST_DATA or ../shared/data");
        close_data(&d);
        return check_done("onnx");
    }
    json_pool pool;
    pool.count = 0;
    pool.room = 4000;
    pool.nodes = (json *)malloc((size_t)pool.room * sizeof(json));
    CHECK(pool.nodes != NULL);
    for (char *line = d.lines; pool.nodes && line && *line;) {
        char *end = strchr(line, '\n');
        if (end) *end = 0;
        pool.count = 0;
        const json *node = json_read(&pool, line);
        CHECK(node != NULL);
        if (node)
            OX_SCOPE {
                verdict v = run_case(&d, node);
                tally_of(tallies, &used, json_text(node, "op", "?"))->count[v]++;
            }
        line = end ? end + 1 : NULL;
    }
    print_tallies(tallies, used);
    free(pool.nodes);
    close_data(&d);
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("onnx");
}
