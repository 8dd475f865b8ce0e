/* Tensors made from nothing, and draws from given probabilities: constants are copies of a number, ramps
 * and random numbers have shaders, which give the bits of cpu/fill.c. Called by draw.c, which has the rest
 * of the FILL and RANDOM families. */

/* Mirror made.glsl; BY_COPY: a number is copied. */
typedef enum oxi_vk_making {
    OXI_VK_UNIFORM,
    OXI_VK_NORMAL,
    OXI_VK_RANDINT,
    OXI_VK_BERNOULLI,
    OXI_VK_SWAPS,
    OXI_VK_ARANGE,
    OXI_VK_LINSPACE,
    OXI_VK_BY_COPY,
    OXI_VK_NOT_MADE
} oxi_vk_making;

static oxi_vk_making oxi_vk_making_of(oxi_op op) {
    switch (op) {
    case OXI_OP_uniform: return OXI_VK_UNIFORM;
    case OXI_OP_normal: return OXI_VK_NORMAL;
    case OXI_OP_randint: return OXI_VK_RANDINT;
    case OXI_OP_bernoulli: return OXI_VK_BERNOULLI;
    case OXI_OP_randperm: return OXI_VK_SWAPS;
    case OXI_OP_arange: return OXI_VK_ARANGE;
    case OXI_OP_linspace: return OXI_VK_LINSPACE;
    case OXI_OP_fill:
    case OXI_OP_eye: return OXI_VK_BY_COPY;
    default: return OXI_VK_NOT_MADE;
    }
}

/* Whether the CPU works the numbers out in f64. */
static bool oxi_vk_made_in_double(const oxi_call *call) {
    switch (call->op) {
    case OXI_OP_normal:
    case OXI_OP_linspace: return true;
    case OXI_OP_uniform: return call->attr.uniform.low != 0 || call->attr.uniform.high != 1;
    case OXI_OP_arange: return oxi_is_float(call->out[0]->dtype);
    default: return false;
    }
}

static bool oxi_vk_can_make(const oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_making making = oxi_vk_making_of(call->op);
    if (making == OXI_VK_NOT_MADE || !oxi_vk_fits(call->out[0])) return false;
    return d->caps & OX_VULKAN_F64 || !oxi_vk_made_in_double(call);
}

/* ---- constants ----------------------------------------------------------------------------------------- */

/* Every element of t becomes a number: oxi_fill_element. */
static ox_status oxi_vk_fill_with(oxi_vk_device *d, double value, int64_t whole, ox_tensor *t) {
    ox_storage storage;
    unsigned char element[8];
    memset(element, 0, sizeof element);
    oxi_fill_element(value, whole, t->dtype, element);
    ox_tensor number = oxi_vk_number(t->dtype, element, &storage), *in = &number;
    oxi_call copy = oxi_call_of(OXI_OP_copy, &in, 1, t);
    return oxi_vk_map(d, &copy);
}

static ox_status oxi_vk_eye(oxi_vk_device *d, const oxi_call *call) {
    ox_tensor diagonal = oxi_borrowed(call->out[0]);
    ox_status status = oxi_vk_fill_with(d, 0, 0, &diagonal);
    if (status != OX_OK || diagonal.ndim != 2) return status;
    diagonal.ndim = 1;
    if (diagonal.shape[1] < diagonal.shape[0]) diagonal.shape[0] = diagonal.shape[1];
    diagonal.stride[0] += diagonal.stride[1];
    return oxi_vk_fill_with(d, 1, 1, &diagonal);
}

/* ---- ramps and random numbers -------------------------------------------------------------------------- */

static void oxi_vk_made_numbers(const oxi_call *call, oxi_vk_made_params *p) {
    ox_dtype dtype = call->out[0]->dtype;
    double f[2] = {0, 0};
    oxi_attrs_numbers(call->op, &call->attr, f, 2);
    double f0 = f[0], f1 = f[1], below = f1;
    int64_t low = 0, range = 0;
    oxi_vk_words_of(call->draw.seed, p->seed);
    oxi_vk_words_of(call->draw.counter, p->counter);
    if (call->op == OXI_OP_randint) {
        low = call->attr.randint.low;
        range = (int64_t)((uint64_t)call->attr.randint.high - (uint64_t)low);
    }
    if (call->op == OXI_OP_uniform && f0 < f1) below = oxi_number_below(dtype, f0, f1);
    if (call->op == OXI_OP_arange && !oxi_is_float(dtype)) {
        low = oxi_whole_bits(f0);
        range = oxi_whole_bits(f1);
    }
    if (call->op == OXI_OP_linspace) {
        if (oxi_is_int(dtype)) {
            f0 = trunc(f0);
            f1 = trunc(f1);
        }
        below = p->n > 1 ? (f1 - f0) / (double)(p->n - 1) : 0;
    }
    if (call->op == OXI_OP_arange) below = f1;
    oxi_vk_double_words(f0, p->f[0]);
    oxi_vk_double_words(f1, p->f[1]);
    oxi_vk_double_words(below, p->below);
    oxi_vk_words_of((uint64_t)low, p->low);
    oxi_vk_words_of((uint64_t)range, p->range);
}

static ox_status oxi_vk_make(oxi_vk_device *d, const oxi_call *call) {
    ox_tensor *out = call->out[0];
    const ox_tensor *odds = call->in_count ? call->in[0] : NULL;
    oxi_vk_made_params params;
    oxi_vk_dispatch dispatch;
    oxi_walk w;
    if (ox_numel(out) == 0) return OX_OK;
    if (call->op == OXI_OP_fill) return oxi_vk_fill_with(d, call->attr.fill.value, call->attr.fill.whole, out);
    if (call->op == OXI_OP_eye) return oxi_vk_eye(d, call);
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    oxi_walk_begin(&w, out->ndim, out->shape);
    oxi_vk_walk_add(&w, out);
    oxi_vk_bind(&dispatch, 0, out, true);
    if (odds) {
        oxi_vk_walk_add(&w, odds);
        oxi_vk_bind(&dispatch, 1, odds, false);
    }
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    params.n = (uint32_t)w.numel;
    params.ndim = (uint32_t)w.ndim;
    params.kind = (uint32_t)call->op + 1;
    for (int k = 0; k < w.operands; k++) {
        params.at[k] = oxi_vk_walk_at(&w, k);
        for (int e = 0; e < w.ndim; e++) params.stride[e][k] = (uint32_t)w.stride[k][e];
    }
    for (int e = 0; e < w.ndim; e++) params.shape[e] = (uint32_t)w.shape[e];
    oxi_vk_made_numbers(call, &params);
    bool quads = oxi_walk_flat(&w, 0) && oxi_vk_width(out->dtype) < 3 && params.at[0] % 4 == 0;
    dispatch.shader = oxi_vk_made_in_double(call) ? OXI_VK_SHADER_made_double : OXI_VK_SHADER_made;
    dispatch.special.made.op = (uint32_t)oxi_vk_making_of(call->op);
    dispatch.special.made.to = (uint32_t)out->dtype;
    dispatch.special.made.from = odds ? (uint32_t)odds->dtype : 0;
    dispatch.special.made.flat = quads;
    if (odds) {
        params.fault = (uint32_t)(d->fault->offset / 4);
        oxi_vk_bind_fault(d, &dispatch);
    }
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_groups(&dispatch, ((uint64_t)w.numel + 1023) / 1024);
    return oxi_vk_record(d, &dispatch);
}

/* 0, 1, .. in f64. */
static ox_status oxi_vk_ramp(oxi_vk_device *d, ox_tensor *out) {
    oxi_call call = oxi_call_of(OXI_OP_arange, NULL, 0, out);
    call.attr.ramp.step = 1;
    return oxi_vk_make(d, &call);
}
