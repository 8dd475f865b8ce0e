/* Rows of ops.def that compute gradients in one pass, as the rules of autograd/back/ call them: softmax and
 * norms of rows (rows_back.c), norms of channels (channels_back.c), attention (attention_back.c); and the
 * steps of recurrent nets (recurrent_step.c). Called by the Vulkan device for BACK. */

/* Results may be missing: then all that is asked is whether there is a shader. */
static bool oxi_vk_can_back(const oxi_vk_device *d, const oxi_call *call) {
    switch (call->op) {
    case OXI_OP_attention_back: return oxi_vk_can_attention_back(d, call);
    case OXI_OP_gelu_back:
    case OXI_OP_gelu_tanh_back:
    case OXI_OP_silu_back:
        return false; /* their formulas are chains here */
    default: break;
    }
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && (!oxi_vk_product_reads(call->in[i]->dtype) || !oxi_vk_fits(call->in[i])))
            return false;
    for (int r = 1; r < call->out_count; r++)
        if (call->out[r] && !ox_is_contiguous(call->out[r])) return false;
    if (call->op == OXI_OP_group_norm_back) return oxi_vk_can_channels_back(call);
    if (call->op == OXI_OP_recurrent_step || call->op == OXI_OP_recurrent_step_back)
        return oxi_vk_can_recurrent_step(call);
    return ox_numel(call->in[1]) > 0;
}

static ox_status oxi_vk_back(oxi_vk_device *d, const oxi_call *call) {
    switch (call->op) {
    case OXI_OP_attention_back: return oxi_vk_attention_back(d, call);
    case OXI_OP_group_norm_back: return oxi_vk_channels_back(d, call);
    case OXI_OP_recurrent_step:
    case OXI_OP_recurrent_step_back: return oxi_vk_recurrent_step(d, call);
    default: return oxi_vk_rows_back(d, call);
    }
}
