/* Operands and attributes as data: what each set of ops.def holds, member by member, so that they can be
 * compared, hashed, printed and handed to kernels without knowing the op. */

#define OXI_OPERANDS(name, inputs, input_names, results, result_names) \
    static const oxi_operand_names oxi_operands_##name = {inputs, results, input_names, result_names};
#define OXI_ATTR(kind, name, otherwise) \
    {#name, OXI_ATTR_##kind, offsetof(own, name), sizeof(((own *)0)->name)},
#define OXI_ATTRIBUTES(name, list)                                                      \
    static const oxi_attr_member *oxi_attr_members_##name(void) {                       \
        typedef oxi_attr_##name own;                                                    \
        static const oxi_attr_member members[] = {list{NULL, OXI_ATTR_NOTHING, 0, 0}}; \
        return members;                                                                 \
    }
#include "ops/ops.def"

static const void *oxi_attr_at(const oxi_attrs *attr, const oxi_attr_member *m) {
    return (const char *)attr + m->offset;
}

/* The defaults of an op's set. */
OXI_UNUSED static oxi_attrs oxi_attrs_by_default(oxi_op op) {
    switch (op) {
#define OXI_OP(name, family, operands, rule, gives, accepts, flag, flops, attributes, ...) \
    case OXI_OP_##name: return oxi_attrs_##attributes();
#include "ops/ops.def"
    default: return oxi_attrs_none();
    }
}

/* A number as its bits: -0 is not 0, NaN is itself. Lists beyond their count do not matter. */
static bool oxi_attr_same(const oxi_attr_member *m, const void *a, const void *b) {
    if (m->kind == OXI_ATTR_NOTHING) return true;
    if (m->kind == OXI_ATTR_SIZES) {
        const ox_shape *x = (const ox_shape *)a, *y = (const ox_shape *)b;
        size_t count = x->ndim > 0 ? (size_t)x->ndim : 0;
        return x->ndim == y->ndim && memcmp(x->dim, y->dim, count * sizeof *x->dim) == 0;
    }
    if (m->kind == OXI_ATTR_ORDER) {
        const oxi_order *x = (const oxi_order *)a, *y = (const oxi_order *)b;
        return x->count == y->count && memcmp(x->dim, y->dim, (size_t)x->count) == 0;
    }
    return memcmp(a, b, m->bytes) == 0;
}

OXI_UNUSED static bool oxi_attrs_equal(oxi_op op, const oxi_attrs *a, const oxi_attrs *b) {
    for (const oxi_attr_member *m = oxi_op_row_of(op)->attributes(); m->name; m++)
        if (!oxi_attr_same(m, oxi_attr_at(a, m), oxi_attr_at(b, m))) return false;
    return true;
}

/* FNV-1a over what oxi_attr_same compares. */
static uint64_t oxi_attr_hash(uint64_t hash, const void *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
    return hash;
}

OXI_UNUSED static uint64_t oxi_attr_hash_member(uint64_t hash, const oxi_attr_member *m, const void *at) {
    size_t bytes = m->kind == OXI_ATTR_NOTHING ? 0 : m->bytes;
    if (m->kind == OXI_ATTR_SIZES) {
        const ox_shape *shape = (const ox_shape *)at;
        hash = oxi_attr_hash(hash, &shape->ndim, sizeof shape->ndim);
        at = shape->dim;
        bytes = shape->ndim > 0 ? (size_t)shape->ndim * sizeof *shape->dim : 0;
    } else if (m->kind == OXI_ATTR_ORDER) {
        bytes = 1 + (size_t)((const oxi_order *)at)->count;
    }
    return oxi_attr_hash(hash, at, bytes);
}

OXI_UNUSED static uint64_t oxi_attrs_hash(oxi_op op, const oxi_attrs *attr) {
    uint64_t hash = 14695981039346656037u;
    for (const oxi_attr_member *m = oxi_op_row_of(op)->attributes(); m->name; m++)
        hash = oxi_attr_hash_member(hash, m, oxi_attr_at(attr, m));
    return hash;
}

OXI_UNUSED static int oxi_attrs_numbers(oxi_op op, const oxi_attrs *attr, double *numbers, int most) {
    int count = 0;
    for (const oxi_attr_member *m = oxi_op_row_of(op)->attributes(); m->name && count < most; m++)
        if (m->kind == OXI_ATTR_F64 || m->kind == OXI_ATTR_SCALAR || m->kind == OXI_ATTR_FACTOR)
            memcpy(&numbers[count++], oxi_attr_at(attr, m), sizeof *numbers);
    return count;
}

/* ---- as text ------------------------------------------------------------------------------------------- */

static const char *oxi_activation_name(ox_activation activation) {
    static const char *const names[] = {"none", "relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh"};
    return names[activation];
}

static const char *oxi_order_text(const oxi_order *order) {
    int64_t dims[OX_MAX_DIMS];
    for (int i = 0; i < order->count; i++) dims[i] = order->dim[i];
    return oxi_shape_text(order->count, dims);
}

static const char *oxi_dims_set_text(uint32_t set) {
    oxi_order order;
    order.count = 0;
    for (int d = 0; d < OX_MAX_DIMS; d++)
        if (set >> d & 1) order.dim[order.count++] = (int8_t)d;
    return oxi_order_text(&order);
}

static int oxi_attr_text(const oxi_attr_member *m, const void *at, char *out, size_t room) {
    switch (m->kind) {
    case OXI_ATTR_F64:
    case OXI_ATTR_FACTOR:
    case OXI_ATTR_SCALAR: return snprintf(out, room, "%.17g", *(const double *)at);
    case OXI_ATTR_I64: return snprintf(out, room, "%lld", (long long)*(const int64_t *)at);
    case OXI_ATTR_FLAG: return snprintf(out, room, "%s", *(const bool *)at ? "true" : "false");
    case OXI_ATTR_DIM: return snprintf(out, room, "%d", *(const int *)at);
    case OXI_ATTR_DIMS: return snprintf(out, room, "%s", oxi_dims_set_text(*(const uint32_t *)at));
    case OXI_ATTR_ORDER: return snprintf(out, room, "%s", oxi_order_text((const oxi_order *)at));
    case OXI_ATTR_SIZES: {
        const ox_shape *shape = (const ox_shape *)at;
        return snprintf(out, room, "%s", oxi_shape_text(shape->ndim, shape->dim));
    }
    case OXI_ATTR_SPAN: return snprintf(out, room, "%s", oxi_shape_text(3, ((const oxi_span *)at)->n));
    case OXI_ATTR_DTYPE: return snprintf(out, room, "%s", ox_dtype_name(*(const ox_dtype *)at));
    case OXI_ATTR_DEVICE: return snprintf(out, room, "%s", ox_device_name(*(ox_device *const *)at));
    case OXI_ATTR_ACTIVATION:
        return snprintf(out, room, "%s", oxi_activation_name(*(const ox_activation *)at));
    case OXI_ATTR_PROGRAM: return oxi_chain_text(*(const oxi_chain *const *)at, out, room);
    default: return 0;
    }
}

OXI_UNUSED static int oxi_attrs_text(oxi_op op, const oxi_attrs *attr, char *out, size_t room) {
    int used = 0;
    if (room > 0) out[0] = 0;
    for (const oxi_attr_member *m = oxi_op_row_of(op)->attributes(); m->name; m++) {
        if (m->kind == OXI_ATTR_NOTHING) continue;
        size_t left = (size_t)used < room ? room - (size_t)used : 0;
        int more = snprintf(left ? out + used : NULL, left, "%s%s=", used ? ", " : "", m->name);
        used += more > 0 ? more : 0;
        left = (size_t)used < room ? room - (size_t)used : 0;
        more = oxi_attr_text(m, oxi_attr_at(attr, m), left ? out + used : NULL, left);
        used += more > 0 ? more : 0;
    }
    return used;
}
