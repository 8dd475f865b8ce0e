/* Matrix products: matmul, linear and addmm as c = act(alpha a b + beta addend + bias) over strided memory:
 * what a call asks for, which calls have a shader, what shaders are told. Few rows are few.c's, all others
 * product.c's, which calls these. */

enum {
    OXI_VK_PRODUCT_ROWS = 8,
    OXI_VK_LINES = 8,     /* of a workgroup for few rows, .. */
    OXI_VK_DOT_LINES = 16, /* .. and where each rounds a, which is the faster the more they are */
    OXI_VK_DOT_MANY = 3 << 24, /* weights that are worth twice as many invocations */
    OXI_VK_LINE_LANES = 32,
    OXI_VK_FEW_GROUPS = 528,       /* workgroups for few rows: four of each multiprocessor of an H200, .. */
    OXI_VK_DOT_GROUPS = 132,       /* .. and one where each rounds a */
    OXI_VK_EXPAND_ROWS = 128,      /* of a, from which on weights of block types are expanded first */
    OXI_VK_EXPAND_BYTES = 1 << 28, /* most that they may take then */
    OXI_VK_LAY_LEAST = 128,        /* rows, columns and terms of products whose operands are copied first, */
    OXI_VK_LAY_BYTES = 1 << 30,    /* and the most that a copy may take */
    OXI_VK_PARTS = 16,             /* most parts of k that are products of their own */
    OXI_VK_PART_LEAST = 512,       /* of k in a part */
    OXI_VK_MOST_SLOTS = 65535      /* workgroups along z */
};

/* Tiles of c that a workgroup takes, the largest first; a product takes the first row that makes `least` of
 * them or more and whose shared memory the device has. */
typedef struct oxi_vk_tiling {
    uint32_t m, n, deep;     /* of c, and along k at a time */
    uint32_t subs_m, subs_n; /* subgroups of cooperative matrices; 0: an invocation takes m/16 x n/16 */
    uint32_t stages, shared; /* bytes */
    uint32_t least;
} oxi_vk_tiling;

typedef struct oxi_vk_product {
    oxi_product_form form;    /* of block types, b is */
    int64_t whole_m, whole_n; /* of the call that this is a part of: they decide in what order is summed */
    bool own;                 /* each row has an expert of its own, and results are weighed and summed */
    bool padded[3];           /* by zeros behind each line of operand t, whose copy is laid out so */
    bool weights;             /* b is a layer's: what meets it may be rounded */
    bool rough;               /* and ox_set_exact did not ask for more */
} oxi_vk_product;

static bool oxi_vk_product_reads(ox_dtype dtype) {
    switch (dtype) {
    case OX_F16:
    case OX_BF16:
    case OX_F32:
    case OX_F8_E4M3:
    case OX_F8_E5M2: return true;
    default: return false;
    }
}

/* Integers meet their own kind, in product_integer.comp. */
static bool oxi_vk_can_product_integer(const oxi_call *call) {
    oxi_product_form form;
    oxi_product_form_of(call, &form);
    bool known = form.activation == OX_ACTIVATION_NONE;
    for (int i = 0; i < call->in_count; i++)
        known = known && (!call->in[i] || (oxi_is_int(call->in[i]->dtype) && oxi_vk_fits(call->in[i])));
    return known;
}

/* f64 meets f64, and block types, which are expanded to it. */
static bool oxi_vk_can_product_double(const oxi_vk_device *d, const oxi_call *call) {
    oxi_product_form form;
    oxi_product_form_of(call, &form);
    bool known = form.activation <= OX_ACTIVATION_RELU;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        known = known && (!t || ((t->dtype == OX_F64 || oxi_vk_expands(t->dtype)) && oxi_vk_fits(t)));
    }
    return known && d->caps & OX_VULKAN_CAP_F64;
}

static bool oxi_vk_product_takes(const ox_tensor *t) {
    return (oxi_vk_product_reads(t->dtype) || oxi_vk_expands(t->dtype)) && oxi_vk_fits(t);
}

/* Experts: what a shader finds wrong is told where the bias or the books are not; blocks of f64 and empty
 * results, of which only the numbers of experts count, are left to the CPU. */
static bool oxi_vk_can_experts(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *c = call->out[0], *w = call->in[1], *bias = call->in[3];
    if (oxi_vk_needs_books(w->dtype) && bias) return false;
    if (ox_numel(w) == 0 || ox_numel(call->in[2]) > OXI_VK_MOST_SLOTS) return false;
    bool wide = c->dtype == OX_F64, known = !wide || (d->caps & OX_VULKAN_CAP_F64 && !oxi_is_block(w->dtype));
    for (int i = 0; i < 4; i++)
        if (i != 2 && call->in[i])
            known = known && (wide ? oxi_vk_fits(call->in[i]) : oxi_vk_product_takes(call->in[i]));
    return known && (wide || oxi_vk_product_reads(c->dtype));
}

static bool oxi_vk_can_product(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *c = call->out[0];
    if (!oxi_vk_fits(c)) return false;
    if (oxi_op_row_of(call->op)->operands == &oxi_operands_experts) return oxi_vk_can_experts(d, call);
    if (c->dtype == OX_F64) return oxi_vk_can_product_double(d, call);
    if (oxi_is_int(c->dtype)) return oxi_vk_can_product_integer(call);
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && !oxi_vk_product_takes(call->in[i])) return false;
    return oxi_vk_product_reads(c->dtype);
}

/* c^T = b^T a^T: what is a becomes b, where shaders take block types. */
static void oxi_vk_product_swap(oxi_product_form *p) {
    const ox_tensor *a = p->t[1];
    int64_t m = p->m, row[4], column[4];
    memcpy(row, p->row, sizeof row);
    memcpy(column, p->column, sizeof column);
    p->t[1] = p->t[2];
    p->t[2] = a;
    p->m = p->n;
    p->n = m;
    for (int i = 0; i < 4; i++) {
        int from = i == 1 ? 2 : i == 2 ? 1 : i;
        p->row[i] = column[from];
        p->column[i] = row[from];
    }
    for (int e = 0; e < p->ndim; e++) {
        int64_t stride = p->stride[1][e];
        p->stride[1][e] = p->stride[2][e];
        p->stride[2][e] = stride;
    }
}

/* whole: of which the call is a part, or NULL. */
static oxi_vk_product oxi_vk_product_of(const oxi_call *call, const oxi_call *whole_call) {
    oxi_vk_product p;
    memset(&p, 0, sizeof p);
    oxi_product_form_of(call, &p.form);
    if (oxi_is_block(p.form.t[OXI_PRODUCT_A]->dtype)) oxi_vk_product_swap(&p.form);
    p.weights = p.form.layer || oxi_is_block(p.form.t[OXI_PRODUCT_B]->dtype);
    oxi_product_form_join(&p.form);
    p.whole_m = p.form.m;
    p.whole_n = p.form.n;
    if (whole_call) {
        oxi_vk_product whole = oxi_vk_product_of(whole_call, NULL);
        p.whole_m = whole.form.m;
        p.whole_n = whole.form.n;
    }
    return p;
}

/* Strides and places as the shader counts: elements, or bytes of block types along their rows. */
static uint32_t oxi_vk_product_units(const ox_tensor *t, int64_t elements) {
    if (!oxi_is_block(t->dtype)) return (uint32_t)elements;
    const ox_dtype_info *info = oxi_info(t->dtype);
    return (uint32_t)(elements / info->block_elements * info->block_bytes);
}

static void oxi_vk_product_params_of(const oxi_vk_product *p, oxi_vk_product_params *out) {
    memset(out, 0, sizeof *out);
    out->m = (uint32_t)p->form.m;
    out->n = (uint32_t)p->form.n;
    out->k = (uint32_t)p->form.k;
    out->lead = (uint32_t)p->form.ndim;
    out->alpha = oxi_vk_float_bits(p->form.alpha);
    out->beta = oxi_vk_float_bits(p->form.beta);
    for (int i = 0; i < 4; i++) {
        const ox_tensor *t = p->form.t[i];
        if (!t) continue;
        out->at[i] = oxi_is_block(t->dtype) ? (uint32_t)oxi_vk_byte_at(t) : oxi_vk_element_at(t);
        out->row[i] = oxi_vk_product_units(t, p->form.row[i]);
        out->column[i] = oxi_vk_product_units(t, p->form.column[i]);
        for (int e = 0; e < p->form.ndim; e++)
            out->stride[e][i] = oxi_vk_product_units(t, p->form.stride[i][e]);
    }
    for (int e = 0; e < p->form.ndim; e++) out->shape[e] = (uint32_t)p->form.shape[e];
    if (!p->form.ndim) out->shape[0] = 1;
    if (p->form.bias) {
        out->bias_at = oxi_vk_element_at(p->form.bias);
        out->bias_stride = (uint32_t)p->form.bias->stride[p->form.bias->ndim - 1];
    }
    if (!p->form.ids) return;
    out->experts = (uint32_t)p->form.t[2]->shape[0];
    out->expert_b = oxi_vk_product_units(p->form.t[2], p->form.expert);
    out->expert_bias = p->form.bias ? (uint32_t)p->form.bias->stride[0] : 0;
    out->at[3] = oxi_vk_element_at(p->form.ids);
    for (int e = 0; e < p->form.ndim; e++) out->stride[e][3] = (uint32_t)p->form.ids->stride[e];
}

/* Whether operand t begins at a multiple of `each` elements in every matrix and every line of it. */
static bool oxi_vk_product_aligned(const oxi_vk_product *p, const oxi_vk_product_params *params, int t,
                                   int64_t line, uint32_t each) {
    bool aligned = line % each == 0 && params->at[t] % each == 0;
    for (int e = 0; e < p->form.ndim; e++) aligned = aligned && params->stride[e][t] % each == 0;
    return aligned;
}

/* By how the numbers get there: as f32, as they are to cooperative matrices, expanded from blocks to them. */
typedef enum oxi_vk_way { OXI_VK_WAY_F32, OXI_VK_WAY_MATRICES, OXI_VK_WAY_BLOCKS, OXI_VK_WAYS } oxi_vk_way;

static const oxi_vk_tiling oxi_vk_tilings[OXI_VK_WAYS][4] = {
    {{128, 128, 16, 0, 0, 1, 16896, 100}, {64, 64, 16, 0, 0, 1, 8704, 0}},
    {{128, 128, 64, 2, 2, 1, 36864, 100},
     {64, 128, 64, 2, 2, 1, 27648, 100},
     {64, 64, 64, 2, 2, 1, 18432, 1},
     {64, 64, 32, 2, 2, 1, 10240, 0}},
    {{128, 128, 32, 2, 4, 1, 20480, 100}, {64, 64, 32, 2, 2, 1, 10240, 0}},
};

static uint64_t oxi_vk_tiles(const oxi_vk_product *p, const oxi_vk_tiling *row, uint64_t batches) {
    return (uint64_t)((p->whole_m + row->m - 1) / row->m) * (uint64_t)((p->whole_n + row->n - 1) / row->n) *
           batches;
}

/* Whether c is cut into enough tiles that are not half empty. */
static bool oxi_vk_tiling_suits(const oxi_vk_device *d, const oxi_vk_product *p, const oxi_vk_tiling *row,
                                uint64_t batches, oxi_vk_way way) {
    if (row->shared > d->limits.maxComputeSharedMemorySize) return false;
    if (oxi_vk_tiles(p, row, batches) < row->least) return false;
    if (way != OXI_VK_WAY_MATRICES || row->m * row->n <= 64 * 64) return true;
    return p->whole_m > row->m / 2 && p->whole_n > row->n / 2;
}

static const oxi_vk_tiling *oxi_vk_tiling_of(const oxi_vk_device *d, const oxi_vk_product *p,
                                             uint64_t batches, oxi_vk_way way) {
    const oxi_vk_tiling *row = oxi_vk_tilings[way];
    while (row->least && !oxi_vk_tiling_suits(d, p, row, batches, way)) row++;
    return row;
}

/* Whether what is contiguous of operand t (1 = a, 2 = b) comes in aligned groups of `each` elements. */
static bool oxi_vk_product_wide(const oxi_vk_product *p, const oxi_vk_product_params *params, int t,
                                uint32_t each) {
    bool along = t == 1 ? p->form.column[1] == 1 : p->form.row[2] == 1;
    if (oxi_is_block(p->form.t[t]->dtype)) return true;
    if (!along && (t == 1 ? p->form.row[1] : p->form.column[2]) != 1) return false;
    int64_t size = along ? p->form.k : t == 1 ? p->form.m : p->form.n;
    int64_t line = along == (t == 1) ? p->form.row[t] : p->form.column[t];
    return (size % each == 0 || p->padded[t]) && oxi_vk_product_aligned(p, params, t, line, each);
}

/* The shader of cooperative matrices for this product, or OXI_VK_SHADER_COUNT, wherever operands lie. Rows
 * that meet weights of another type are rounded to what the matrices take. */
static oxi_vk_shader oxi_vk_matrix_shader_by_types(const oxi_vk_device *d, const oxi_vk_product *p) {
    ox_dtype a = p->form.t[1]->dtype, b = p->form.t[2]->dtype;
    bool rough = p->rough && a == OX_F32;
    bool half = b == OX_F16 || b == OX_BF16;
    if (p->whole_m < 32 || p->form.k < 32 || p->whole_n < 32) return OXI_VK_SHADER_COUNT;
    if (!(a == b && half) && !(rough && (half || oxi_is_block(b)))) return OXI_VK_SHADER_COUNT;
    if (a == OX_F32 && p->form.column[1] != 1) return OXI_VK_SHADER_COUNT;
    if (b != OX_F16 && d->caps & OX_VULKAN_CAP_BF16) return OXI_VK_SHADER_product_tiles_bf16;
    return b == OX_F16 && d->caps & OX_VULKAN_CAP_COOPERATIVE ? OXI_VK_SHADER_product_tiles
                                                              : OXI_VK_SHADER_COUNT;
}

/* The same of operands as they lie. */
static oxi_vk_shader oxi_vk_matrix_shader(const oxi_vk_device *d, const oxi_vk_product *p,
                                          const oxi_vk_product_params *params) {
    bool wide = oxi_vk_product_wide(p, params, 1, 8) && oxi_vk_product_wide(p, params, 2, 8);
    return wide ? oxi_vk_matrix_shader_by_types(d, p) : OXI_VK_SHADER_COUNT;
}
