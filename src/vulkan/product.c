/* Matrix products: matmul, linear and addmm as c = act(alpha a b + beta addend + bias) over strided memory.
 * Few rows against columns that lie along k take product_rows.comp, which reads each weight once; everything
 * else goes through tiles in shared memory. Called by the Vulkan device for PRODUCT. */

/* Tiles are twice as large where there is work enough for all of a device. */
enum { OXI_VK_PRODUCT_ROWS = 8, OXI_VK_PRODUCT_TILE = 64, OXI_VK_PRODUCT_MATRIX_TILE = 128 };

/* Mirrors param of product.glsl; columns of the arrays: c, a, b, addend. */
typedef struct oxi_vk_product_params {
    uint32_t m, n, k, lead;
    uint32_t alpha, beta, unused[2];
    uint32_t at[4];
    uint32_t bias_at, bias_stride, unused_too[2];
    uint32_t row[4], column[4];
    uint32_t stride[OX_MAX_DIMS][4];
    uint32_t shape[OX_MAX_DIMS];
} oxi_vk_product_params;

typedef struct oxi_vk_product {
    const ox_tensor *t[4], *bias; /* c, a, b, addend */
    int64_t m, n, k;
    int64_t row[4], column[4]; /* strides in elements */
    int ndim;
    int64_t shape[OX_MAX_DIMS], stride[4][OX_MAX_DIMS];
    double alpha, beta;
    oxi_activation activation;
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

static bool oxi_vk_expands(ox_dtype dtype) {
    switch (dtype) {
    case OX_Q4_0:
    case OX_Q4_1:
    case OX_Q5_0:
    case OX_Q5_1:
    case OX_Q8_0:
    case OX_Q2_K:
    case OX_Q3_K:
    case OX_Q4_K:
    case OX_Q5_K:
    case OX_Q6_K:
    case OX_IQ4_NL:
    case OX_IQ4_XS:
    case OX_MXFP4: return true;
    default: return false;
    }
}

static bool oxi_vk_can_product(const oxi_vk_device *d, const oxi_call *call) {
    int x = call->op == OXI_OP_addmm ? 1 : 0;
    const ox_tensor *a = call->in[x], *b = call->in[x + 1];
    (void)d;
    if (oxi_is_block(b->dtype) ? !oxi_vk_expands(b->dtype) : !oxi_vk_product_reads(b->dtype)) return false;
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && i != x + 1 && !oxi_vk_product_reads(call->in[i]->dtype)) return false;
    return oxi_vk_product_reads(a->dtype) && oxi_vk_product_reads(call->out[0]->dtype) && oxi_vk_fits(a) &&
           oxi_vk_fits(b) && oxi_vk_fits(call->out[0]);
}

/* Leading dim `at` of a product with `lead` of them: the stride of t, whose last `own` dims are a matrix. */
static int64_t oxi_vk_lead_stride(const ox_tensor *t, int own, int lead, int at) {
    int place = at - (lead - (t->ndim - own));
    return place >= 0 && t->shape[place] != 1 ? t->stride[place] : 0;
}

static void oxi_vk_product_matmul(oxi_vk_product *p) {
    const ox_tensor *c = p->t[0], *a = p->t[1], *b = p->t[2];
    int own_a = a->ndim > 1 ? 2 : 1, own_b = b->ndim > 1 ? 2 : 1, own_c = own_a + own_b - 2;
    p->m = own_a == 2 ? a->shape[a->ndim - 2] : 1;
    p->k = a->shape[a->ndim - 1];
    p->n = own_b == 2 ? b->shape[b->ndim - 1] : 1;
    p->row[1] = own_a == 2 ? a->stride[a->ndim - 2] : 0;
    p->column[1] = a->stride[a->ndim - 1];
    p->row[2] = b->stride[b->ndim - own_b];
    p->column[2] = own_b == 2 ? b->stride[b->ndim - 1] : 0;
    p->row[0] = own_a == 2 ? c->stride[c->ndim - own_c] : 0;
    p->column[0] = own_b == 2 ? c->stride[c->ndim - 1] : 0;
    p->ndim = c->ndim - own_c;
    for (int i = 0; i < p->ndim; i++) {
        p->shape[i] = c->shape[i];
        p->stride[0][i] = c->stride[i];
        p->stride[1][i] = oxi_vk_lead_stride(a, own_a, p->ndim, i);
        p->stride[2][i] = oxi_vk_lead_stride(b, own_b, p->ndim, i);
    }
}

/* x [.., K], w [N, K]: all but the last dim of x are rows or leading dims. */
static void oxi_vk_product_linear(oxi_vk_product *p) {
    const ox_tensor *c = p->t[0], *x = p->t[1], *w = p->t[2];
    int last = x->ndim - 1;
    p->k = x->shape[last];
    p->n = w->shape[0];
    p->m = last > 0 ? x->shape[last - 1] : 1;
    p->row[1] = last > 0 ? x->stride[last - 1] : 0;
    p->column[1] = x->stride[last];
    p->row[2] = w->stride[1];
    p->column[2] = w->stride[0];
    p->row[0] = last > 0 ? c->stride[last - 1] : 0;
    p->column[0] = c->stride[last];
    for (int i = 0; i < last - 1; i++) {
        p->shape[i] = x->shape[i];
        p->stride[0][i] = c->stride[i];
        p->stride[1][i] = x->stride[i];
        p->ndim = i + 1;
    }
}

static void oxi_vk_product_addmm(oxi_vk_product *p) {
    const ox_tensor *addend = p->t[3];
    oxi_vk_product_matmul(p);
    int n = addend->ndim;
    p->row[3] = n > 1 && addend->shape[0] != 1 ? addend->stride[0] : 0;
    p->column[3] = n > 0 && addend->shape[n - 1] != 1 ? addend->stride[n - 1] : 0;
}

/* Leading dims that lie one behind the other with the rows of c and a, and along which b stands still, are
 * rows. */
static void oxi_vk_product_join(oxi_vk_product *p) {
    while (p->ndim > 0) {
        int i = p->ndim - 1;
        bool joins = p->stride[2][i] == 0 && p->stride[3][i] == 0 && !p->t[3];
        for (int t = 0; t < 2; t++) joins = joins && (p->m == 1 || p->stride[t][i] == p->m * p->row[t]);
        if (!joins) return;
        for (int t = 0; t < 2 && p->m == 1; t++) p->row[t] = p->stride[t][i];
        p->m *= p->shape[i];
        p->ndim--;
    }
}

static oxi_vk_product oxi_vk_product_of(const oxi_call *call) {
    oxi_vk_product p;
    int x = call->op == OXI_OP_addmm ? 1 : 0;
    memset(&p, 0, sizeof p);
    p.t[0] = call->out[0];
    p.t[1] = call->in[x];
    p.t[2] = call->in[x + 1];
    p.alpha = 1;
    if (call->op == OXI_OP_linear) {
        p.bias = call->in[2];
        p.activation = (oxi_activation)call->attr.mode;
        oxi_vk_product_linear(&p);
    } else if (call->op == OXI_OP_addmm) {
        p.alpha = call->attr.f[1];
        p.beta = call->attr.f[0];
        if (p.beta != 0) p.t[3] = call->in[0];
        if (p.t[3])
            oxi_vk_product_addmm(&p);
        else
            oxi_vk_product_matmul(&p);
    } else {
        oxi_vk_product_matmul(&p);
    }
    oxi_vk_product_join(&p);
    return p;
}

/* Strides and places as the shader counts: elements, or bytes of block types along their rows. */
static uint32_t oxi_vk_product_units(const ox_tensor *t, int64_t elements) {
    if (!oxi_is_block(t->dtype)) return (uint32_t)elements;
    const ox_dtype_info *info = ox_dtype_of(t->dtype);
    return (uint32_t)(elements / info->block_elements * info->block_bytes);
}

static void oxi_vk_product_params_of(const oxi_vk_product *p, oxi_vk_product_params *out) {
    memset(out, 0, sizeof *out);
    out->m = (uint32_t)p->m;
    out->n = (uint32_t)p->n;
    out->k = (uint32_t)p->k;
    out->lead = (uint32_t)p->ndim;
    out->alpha = oxi_vk_float_bits(p->alpha);
    out->beta = oxi_vk_float_bits(p->beta);
    for (int i = 0; i < 4; i++) {
        const ox_tensor *t = p->t[i];
        if (!t) continue;
        out->at[i] = oxi_is_block(t->dtype) ? (uint32_t)oxi_vk_byte_at(t) : oxi_vk_element_at(t);
        out->row[i] = oxi_vk_product_units(t, p->row[i]);
        out->column[i] = oxi_vk_product_units(t, p->column[i]);
        for (int e = 0; e < p->ndim; e++) out->stride[e][i] = oxi_vk_product_units(t, p->stride[i][e]);
    }
    for (int e = 0; e < p->ndim; e++) out->shape[e] = (uint32_t)p->shape[e];
    if (!p->ndim) out->shape[0] = 1;
    if (!p->bias) return;
    out->bias_at = oxi_vk_element_at(p->bias);
    out->bias_stride = (uint32_t)p->bias->stride[0];
}

/* Whether operand t begins at a multiple of `each` elements in every matrix and every line of it. */
static bool oxi_vk_product_aligned(const oxi_vk_product *p, const oxi_vk_product_params *params, int t,
                                   int64_t line, uint32_t each) {
    bool aligned = line % each == 0 && params->at[t] % each == 0;
    for (int e = 0; e < p->ndim; e++) aligned = aligned && params->stride[e][t] % each == 0;
    return aligned;
}

/* The shader of cooperative matrices for this product, or OXI_VK_SHADER_COUNT. */
static oxi_vk_shader oxi_vk_product_tiles(const oxi_vk_device *d, const oxi_vk_product *p,
                                          const oxi_vk_product_params *params) {
    ox_dtype a = p->t[1]->dtype, b = p->t[2]->dtype;
    bool block = oxi_is_block(b), rough = block && a == OX_F32 && !oxi_atomic_load(&oxi_exact);
    if (p->m < 32 || p->k < 32 || p->n < 32) return OXI_VK_SHADER_COUNT;
    if (!(a == b && (a == OX_F16 || a == OX_BF16)) && !rough) return OXI_VK_SHADER_COUNT;
    bool a_along = p->column[1] == 1, b_along = block || p->row[2] == 1;
    if (!a_along && (p->row[1] != 1 || a == OX_F32)) return OXI_VK_SHADER_COUNT;
    if (!b_along && p->column[2] != 1) return OXI_VK_SHADER_COUNT;
    /* what is contiguous lies in eights, which are loaded at once */
    if ((a_along ? p->k : p->m) % 8 != 0 || (!block && (b_along ? p->k : p->n) % 8 != 0))
        return OXI_VK_SHADER_COUNT;
    if (!oxi_vk_product_aligned(p, params, 1, a_along ? p->row[1] : p->column[1], a == OX_F32 ? 4 : 8) ||
        (!block && !oxi_vk_product_aligned(p, params, 2, b_along ? p->column[2] : p->row[2], 8)))
        return OXI_VK_SHADER_COUNT;
    if ((rough || a == OX_BF16) && d->caps & OX_VULKAN_BF16) return OXI_VK_SHADER_product_tiles_bf16;
    return a == OX_F16 && d->caps & OX_VULKAN_COOPERATIVE ? OXI_VK_SHADER_product_tiles : OXI_VK_SHADER_COUNT;
}

static ox_status oxi_vk_product_run(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_product p = oxi_vk_product_of(call);
    oxi_vk_product_params params;
    oxi_vk_dispatch dispatch;
    const ox_tensor *c = p.t[0], *b = p.t[2];
    if (ox_numel(c) == 0) return OX_OK;
    oxi_vk_product_params_of(&p, &params);
    memset(&dispatch, 0, sizeof dispatch);
    for (int i = 0; i < 4; i++)
        if (p.t[i]) oxi_vk_bind(&dispatch, i, p.t[i], i == 0);
    if (p.bias) oxi_vk_bind(&dispatch, 4, p.bias, false);
    oxi_vk_bind_rest(&dispatch);
    bool along = oxi_is_block(b->dtype) || p.row[2] == 1;
    bool few = p.m <= OXI_VK_PRODUCT_ROWS && along;
    uint32_t width = oxi_vk_width(c->dtype), each = 4u >> width;
    bool packed = p.column[0] == 1 && oxi_vk_product_aligned(&p, &params, 0, p.row[0], each);
    dispatch.shader = few ? OXI_VK_SHADER_product_rows : OXI_VK_SHADER_product;
    dispatch.special[0] = (uint32_t)c->dtype;
    dispatch.special[1] = (uint32_t)p.t[1]->dtype;
    dispatch.special[2] = (uint32_t)b->dtype;
    dispatch.special[3] = p.t[3] ? (uint32_t)p.t[3]->dtype : 0;
    dispatch.special[4] = p.bias ? (uint32_t)p.bias->dtype : 0;
    dispatch.special[5] = (uint32_t)p.activation;
    dispatch.special[6] = packed && !few;
    dispatch.special[7] = p.column[1] == 1;
    dispatch.special[8] = along;
    dispatch.special[9] = few ? (uint32_t)p.m : 1;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    uint64_t batches = 1;
    for (int e = 0; e < p.ndim; e++) batches *= (uint64_t)p.shape[e];
    oxi_vk_shader tiles = few ? OXI_VK_SHADER_COUNT : oxi_vk_product_tiles(d, &p, &params);
    if (few) {
        oxi_vk_groups(&dispatch, ((uint64_t)p.n + 7) / 8);
    } else {
        int64_t tile = OXI_VK_PRODUCT_TILE;
        dispatch.special[10] = 4; /* 8: tiles of 128, which were slower on an H100 */
        if (tiles != OXI_VK_SHADER_COUNT) {
            tile = OXI_VK_PRODUCT_MATRIX_TILE;
            dispatch.shader = tiles;
            dispatch.special[10] = 8 * d->subgroup_size;
            dispatch.special[11] = (uint32_t)tile;
        }
        dispatch.groups[0] = (uint32_t)((p.n + tile - 1) / tile);
        dispatch.groups[1] = (uint32_t)((p.m + tile - 1) / tile);
    }
    if (batches > 65535 || dispatch.groups[1] > 65535)
        return oxi_fail(OX_ERR_UNSUPPORTED, "%s: %s: too many matrices or rows at once", oxi_op_name(call),
                        d->device_name);
    dispatch.groups[2] = (uint32_t)batches;
    return oxi_vk_record(d, &dispatch);
}
