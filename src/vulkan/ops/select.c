/* masked_select and nonzero: results whose size somebody counted before. Three dispatches: each workgroup
 * counts what it will give, the counts are added up, then all write. Called by index.c. */

enum { OXI_VK_SELECT_GROUP = OXI_VK_THREADS * OXI_VK_SELECT_EACH }; /* positions of a workgroup */

/* t's stride along dim d of a shape of ndim dims that t broadcasts to. */
static uint32_t oxi_vk_broadcast_stride(const ox_tensor *t, int d, int ndim) {
    int own = d - (ndim - t->ndim);
    return own < 0 || t->shape[own] == 1 ? 0 : (uint32_t)t->stride[own];
}

static oxi_vk_select_params oxi_vk_select_params_of(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *out = call->out[0], *x = call->in[0], *tested = call->in[call->in_count - 1];
    oxi_vk_select_params p;
    memset(&p, 0, sizeof p);
    p.ndim = (uint32_t)(x->ndim > tested->ndim ? x->ndim : tested->ndim);
    p.n = 1;
    for (int e = 0; e < (int)p.ndim; e++) {
        int of_x = e - ((int)p.ndim - x->ndim), of_tested = e - ((int)p.ndim - tested->ndim);
        int64_t size = of_x >= 0 ? x->shape[of_x] : 1;
        if (size == 1 && of_tested >= 0) size = tested->shape[of_tested];
        p.shape[e] = (uint32_t)size;
        p.stride[e][0] = oxi_vk_broadcast_stride(tested, e, (int)p.ndim);
        p.stride[e][1] = oxi_vk_broadcast_stride(x, e, (int)p.ndim);
        p.n *= (uint32_t)size;
    }
    p.groups = (p.n + OXI_VK_SELECT_GROUP - 1) / OXI_VK_SELECT_GROUP;
    p.at[0] = oxi_vk_element_at(out);
    p.at[1] = oxi_vk_element_at(tested);
    p.at[2] = oxi_vk_element_at(x);
    p.size = (uint32_t)out->shape[0];
    p.row = (uint32_t)out->stride[0];
    p.column = out->ndim > 1 ? (uint32_t)out->stride[1] : 0;
    p.fault = (uint32_t)(d->fault->offset / 4);
    p.kind = (uint32_t)call->op + 1;
    return p;
}

static ox_status oxi_vk_select(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *out = call->out[0], *x = call->in[0], *tested = call->in[call->in_count - 1];
    if (ox_numel(out) == 0) return OX_OK;
    oxi_vk_select_params params = oxi_vk_select_params_of(d, call);
    oxi_vk_chunk *counts = oxi_vk_chunk_alloc(d, (uint64_t)params.groups * 4);
    if (!counts) return OX_ERR_NOMEM;
    params.counts = (uint32_t)(counts->offset / 4);
    ox_status status = OX_OK;
    for (uint32_t pass = 0; pass < OXI_VK_SELECT_PASSES && status == OX_OK; pass++) {
        oxi_vk_dispatch dispatch;
        memset(&dispatch, 0, sizeof dispatch);
        dispatch.shader = OXI_VK_SHADER_select;
        dispatch.special.select.pass = pass;
        dispatch.special.select.tested = (uint32_t)tested->dtype;
        dispatch.special.select.dtype = (uint32_t)x->dtype;
        dispatch.special.select.coordinates =
            oxi_index_form_of(call->op)->does == OXI_DOES_COORDINATES;
        oxi_vk_bind(&dispatch, 0, out, pass == OXI_VK_SELECT_WRITE);
        oxi_vk_bind(&dispatch, 1, tested, false);
        oxi_vk_bind(&dispatch, 2, x, false);
        dispatch.use[3].chunk = counts;
        dispatch.use[3].writes = pass < OXI_VK_SELECT_WRITE;
        oxi_vk_bind_fault(d, &dispatch, OXI_VK_FAULT_BINDING);
        dispatch.params = &params;
        dispatch.param_bytes = sizeof params;
        oxi_vk_groups(&dispatch, pass == OXI_VK_SELECT_ADD_UP ? 1 : params.groups);
        status = oxi_vk_record(d, &dispatch);
    }
    oxi_vk_chunk_give(d, counts);
    return status;
}
