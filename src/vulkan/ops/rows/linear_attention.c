/* Linear attention that erases nothing: a workgroup some columns of a head's memory. What erases goes by its
 * parts, for which there are as many buffers as there are. Called by the Vulkan device for RECURRENCE. */

static bool oxi_vk_can_recurrence(const oxi_vk_device *d, const oxi_call *call) {
    (void)d;
    if (call->op == OXI_OP_selective_scan) return oxi_vk_can_selective(call);
    if (call->in[5] || call->out[0]->dtype != OX_F32 || !oxi_vk_fits(call->out[0])) return false;
    for (int i = 0; i < 5; i++)
        if (call->in[i]->dtype != OX_F32 || !oxi_vk_fits(call->in[i])) return false;
    return true;
}

static ox_status oxi_vk_recurrence(oxi_vk_device *d, const oxi_call *call) {
    if (call->op == OXI_OP_selective_scan) return oxi_vk_selective(d, call, NULL, NULL);
    static const int operand[4] = {0, 1, 2, 4};
    const ox_tensor *decay = call->in[3], *out = call->out[0];
    oxi_vk_linear_attention_params params;
    oxi_vk_dispatch dispatch;
    if (ox_numel(out) == 0) return OX_OK;
    memset(&params, 0, sizeof params);
    params.heads = (uint32_t)out->shape[0];
    params.length = (uint32_t)call->in[0]->shape[1];
    params.keys = (uint32_t)call->in[4]->shape[1];
    params.values = (uint32_t)out->shape[2];
    for (int i = 0; i < 4; i++) {
        const ox_tensor *t = call->in[operand[i]];
        params.at[i] = oxi_vk_element_at(t);
        params.head[i] = (uint32_t)t->stride[0];
        params.row[i] = (uint32_t)t->stride[1];
        params.column[i] = (uint32_t)t->stride[2];
    }
    params.decay_at = oxi_vk_element_at(decay);
    for (int i = 0; i < decay->ndim; i++)
        params.decay[i] = i == 2 && decay->shape[2] == 1 ? 0 : (uint32_t)decay->stride[i];
    params.out_at = oxi_vk_element_at(out);
    params.out_head = (uint32_t)out->stride[0];
    params.out_row = (uint32_t)out->stride[1];
    params.out_column = (uint32_t)out->stride[2];
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_bind(&dispatch, 0, out, true);
    for (int i = 0; i < 5; i++) oxi_vk_bind(&dispatch, i + 1, call->in[i], false);
    dispatch.shader = OXI_VK_SHADER_linear_attention;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    const uint64_t columns = OXI_VK_RECURRENCE_COLUMNS;
    oxi_vk_groups(&dispatch, params.heads * ((params.values + columns - 1) / columns));
    return oxi_vk_record(d, &dispatch);
}
