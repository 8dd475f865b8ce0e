/* Pooling: an invocation an element of the result, which goes through its window, or through the windows that
 * hold it. Called by the Vulkan device for POOL. */

static bool oxi_vk_can_pool(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    const oxi_attr_pool *told = &call->attr.pool;
    if (!oxi_vk_fits(x) || !oxi_vk_fits(out) || x->dtype != out->dtype || x->dtype == OX_C64) return false;
    if (x->dtype == OX_F64 && !(d->caps & OX_VULKAN_CAP_F64)) return false;
    if (told->divisor > INT32_MAX || told->divisor < -INT32_MAX) return false;
    for (int i = 0; i < told->dims; i++) { /* 31 bits are enough for places, and products of sizes */
        int64_t from = x->shape[x->ndim - told->dims + i], to = out->shape[out->ndim - told->dims + i];
        int64_t reach = told->kernel.n[i] * told->dilation.n[i] + 2 * told->padding.n[i];
        if (told->kernel.n[i] == 0 ? (from + 1) * (to + 1) >= INT32_MAX : from + to + reach >= INT32_MAX / 2)
            return false;
        if ((to + from) * told->stride.n[i] >= INT32_MAX / 2) return false;
    }
    return true;
}

/* Strides of tensor `place` of the parameters, dims as [outer, plane, z, y, x]; a dim that is missing has
 * size 1. */
static void oxi_vk_pool_side(oxi_vk_pool_params *params, int place, const ox_tensor *t, int dims) {
    int planes = t->ndim - dims;
    params->at[place] = oxi_vk_element_at(t);
    for (int d = 0; d < t->ndim; d++)
        params->strides[d < planes ? 2 - planes + d : 5 - t->ndim + d][place] = (uint32_t)t->stride[d];
}

static ox_status oxi_vk_pool(oxi_vk_device *d, const oxi_call *call) {
    const oxi_attr_pool *told = &call->attr.pool;
    const ox_tensor *x = call->in[0], *out = call->out[0];
    bool back = call->op == OXI_OP_avg_pool_back;
    const ox_tensor *image = back ? out : x, *places = back ? x : out;
    int dims = (int)told->dims;
    oxi_vk_pool_params params;
    oxi_vk_dispatch dispatch;
    if (ox_numel(out) == 0) return OX_OK;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    params.n = (uint32_t)ox_numel(out);
    params.divisor = (uint32_t)told->divisor;
    params.include_pad = told->include_pad;
    params.shape[0] = (uint32_t)(out->ndim > dims ? out->shape[out->ndim - dims - 1] : 1);
    for (int k = 0; k < 3; k++) {
        int i = k - (3 - dims);
        params.size[k] = i < 0 ? 1 : (uint32_t)image->shape[image->ndim - dims + i];
        params.places[k] = i < 0 ? 1 : (uint32_t)places->shape[places->ndim - dims + i];
        params.kernel[k] = i < 0 ? 1 : (uint32_t)told->kernel.n[i];
        params.stride[k] = i < 0 ? 1 : (uint32_t)told->stride.n[i];
        params.padding[k] = i < 0 ? 0 : (uint32_t)told->padding.n[i];
        params.dilation[k] = i < 0 ? 1 : (uint32_t)told->dilation.n[i];
        params.shape[1 + k] = i < 0 ? 1 : (uint32_t)out->shape[out->ndim - dims + i];
    }
    oxi_vk_pool_side(&params, 0, out, dims);
    oxi_vk_pool_side(&params, 1, x, dims);
    oxi_vk_bind(&dispatch, 0, out, true);
    oxi_vk_bind(&dispatch, 1, x, false);
    if (call->op == OXI_OP_max_pool) {
        oxi_vk_pool_side(&params, 2, call->out[1], dims);
        oxi_vk_bind(&dispatch, 2, call->out[1], true);
    }
    uint32_t width = oxi_vk_width(out->dtype), each = width < 2 ? 4u >> width : 1;
    if (!ox_is_contiguous(out) || params.at[0] % each != 0) each = 1;
    dispatch.shader = out->dtype == OX_F64 ? OXI_VK_SHADER_pool_double : OXI_VK_SHADER_pool;
    dispatch.special.pool.kind = back ? OXI_VK_POOL_BACK
                                 : call->op == OXI_OP_avg_pool ? OXI_VK_POOL_AVERAGE : OXI_VK_POOL_MOST;
    dispatch.special.pool.dtype = (uint32_t)out->dtype;
    dispatch.special.pool.each = each;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, (params.n + (uint64_t)each - 1) / each);
    return oxi_vk_record(d, &dispatch);
}
