/* Linear attention: a workgroup some columns of a head's memory. Called by the Vulkan device for
 * RECURRENCE. */

enum { OXI_VK_LINEAR_ERASE = 5, OXI_VK_LINEAR_WRITE = 6 }; /* operands that may be missing */

/* All operands, of which two have no binding of their own; false: they lie in more blocks than there are. */
static bool oxi_vk_bind_linear(oxi_vk_dispatch *dispatch, const oxi_call *call) {
    const ox_tensor *erase = call->in[OXI_VK_LINEAR_ERASE], *write = call->in[OXI_VK_LINEAR_WRITE];
    oxi_vk_chunk *chunk[2] = {erase ? oxi_vk_chunk_of(erase) : NULL, erase ? oxi_vk_chunk_of(write) : NULL};
    oxi_vk_bind(dispatch, 0, call->out[0], true);
    for (int i = 0; i < OXI_VK_LINEAR_ERASE; i++) oxi_vk_bind(dispatch, i + 1, call->in[i], false);
    dispatch->special.linear_attention.erases = erase != NULL;
    return oxi_vk_bind_blocks(dispatch, chunk, 2, &dispatch->special.linear_attention.blocks);
}

static bool oxi_vk_can_recurrence(const oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_dispatch dispatch;
    (void)d;
    if (call->op == OXI_OP_selective_scan) return oxi_vk_can_selective(call);
    if (call->out[0]->dtype != OX_F32 || !oxi_vk_fits(call->out[0])) return false;
    for (int i = 0; i <= OXI_VK_LINEAR_WRITE; i++)
        if (call->in[i] && (call->in[i]->dtype != OX_F32 || !oxi_vk_fits(call->in[i]))) return false;
    memset(&dispatch, 0, sizeof dispatch);
    return oxi_vk_bind_linear(&dispatch, call);
}

/* Places of what is erased or written, [heads, positions, keys], or of nothing. */
static void oxi_vk_linear_places(const ox_tensor *t, uint32_t *to) {
    if (!t) return;
    to[0] = oxi_vk_element_at(t);
    for (int i = 0; i < 3; i++) to[1 + i] = (uint32_t)t->stride[i];
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
    oxi_vk_linear_places(call->in[OXI_VK_LINEAR_ERASE], params.erase);
    oxi_vk_linear_places(call->in[OXI_VK_LINEAR_WRITE], params.write);
    memset(&dispatch, 0, sizeof dispatch);
    (void)oxi_vk_bind_linear(&dispatch, call);
    dispatch.shader = OXI_VK_SHADER_linear_attention;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    const uint64_t columns = OXI_VK_RECURRENCE_COLUMNS;
    oxi_vk_groups(&dispatch, params.heads * ((params.values + columns - 1) / columns));
    return oxi_vk_record(d, &dispatch);
}
