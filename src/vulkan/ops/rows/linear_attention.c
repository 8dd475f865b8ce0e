/* Linear attention that erases nothing, and selective scans: a workgroup some columns of a head's memory. What
 * erases goes by its parts, for which there are as many buffers as there are. Called by the Vulkan device for
 * RECURRENCE. */

/* ---- selective scans ----------------------------------------------------------------------------------- */

/* Operands in the blocks that a shader binds; false: it cannot bind them. */
static bool oxi_vk_bind_selective(oxi_vk_dispatch *dispatch, const oxi_call *call) {
    oxi_vk_selective_scan_specials *special = &dispatch->special.selective_scan;
    oxi_vk_chunk *chunk[OXI_VK_SCAN_OPERANDS];
    oxi_vk_bind(dispatch, 0, call->out[0], true);
    for (int i = 0; i < OXI_VK_SCAN_OPERANDS; i++) {
        chunk[i] = call->in[i] ? oxi_vk_chunk_of(call->in[i]) : NULL;
        special->given |= (uint32_t)(call->in[i] != NULL) << i;
    }
    return oxi_vk_bind_blocks(dispatch, chunk, OXI_VK_SCAN_OPERANDS, &special->blocks);
}

/* Keys of an invocation. */
static int64_t oxi_vk_selective_held(const oxi_call *call) {
    const int64_t parts = OXI_VK_THREADS / OXI_VK_RECURRENCE_COLUMNS;
    return (call->in[OXI_VK_SCAN_STATE]->shape[1] + parts - 1) / parts;
}

static bool oxi_vk_can_selective(const oxi_call *call) {
    oxi_vk_dispatch dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    for (int i = 0; i < OXI_VK_SCAN_OPERANDS; i++)
        if (call->in[i] && (call->in[i]->dtype != OX_F32 || !oxi_vk_fits(call->in[i]))) return false;
    return call->out[0]->dtype == OX_F32 && oxi_vk_fits(call->out[0]) &&
           oxi_vk_selective_held(call) <= OXI_VK_SCAN_HELD && oxi_vk_bind_selective(&dispatch, call);
}

static ox_status oxi_vk_selective(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *out = call->out[0], *rate = call->in[OXI_VK_SCAN_RATE];
    oxi_vk_selective_scan_params params;
    oxi_vk_dispatch dispatch;
    if (ox_numel(out) == 0) return OX_OK;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    params.heads = (uint32_t)out->shape[0];
    params.length = (uint32_t)call->in[OXI_VK_SCAN_U]->shape[1];
    params.keys = (uint32_t)call->in[OXI_VK_SCAN_STATE]->shape[1];
    params.values = (uint32_t)out->shape[2];
    for (int i = 0; i < OXI_VK_SCAN_OPERANDS; i++) {
        const ox_tensor *t = call->in[i];
        if (!t) continue;
        params.operand[i][0] = oxi_vk_element_at(t);
        for (int k = 0; k < 3; k++) params.operand[i][k + 1] = t->shape[k] == 1 ? 0 : (uint32_t)t->stride[k];
    }
    params.out_at = oxi_vk_element_at(out);
    params.out_head = (uint32_t)out->stride[0];
    params.out_row = (uint32_t)out->stride[1];
    params.out_column = (uint32_t)out->stride[2];
    (void)oxi_vk_bind_selective(&dispatch, call);
    oxi_vk_bind_open(&dispatch, 0);
    oxi_vk_selective_scan_specials *special = &dispatch.special.selective_scan;
    const int64_t held = oxi_vk_selective_held(call);
    special->held = held > 0 ? (uint32_t)held : 1;
    special->same = rate->shape[1] == 1 && rate->shape[2] == 1;
    special->softplus = call->attr.scan.softplus;
    special->hold = call->attr.scan.hold;
    dispatch.shader = OXI_VK_SHADER_selective_scan;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    const uint64_t columns = OXI_VK_RECURRENCE_COLUMNS;
    oxi_vk_groups(&dispatch, params.heads * ((params.values + columns - 1) / columns));
    return oxi_vk_record(d, &dispatch);
}

/* ---- linear attention ---------------------------------------------------------------------------------- */

static bool oxi_vk_can_recurrence(const oxi_vk_device *d, const oxi_call *call) {
    (void)d;
    if (call->op == OXI_OP_selective_scan) return oxi_vk_can_selective(call);
    if (call->in[5] || call->out[0]->dtype != OX_F32 || !oxi_vk_fits(call->out[0])) return false;
    for (int i = 0; i < 5; i++)
        if (call->in[i]->dtype != OX_F32 || !oxi_vk_fits(call->in[i])) return false;
    return true;
}

static ox_status oxi_vk_recurrence(oxi_vk_device *d, const oxi_call *call) {
    if (call->op == OXI_OP_selective_scan) return oxi_vk_selective(d, call);
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
