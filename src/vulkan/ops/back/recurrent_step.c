/* A step of a recurrent net and its way back (recurrent_step.comp): an invocation a number of the state.
 * Called by back.c. */

/* Operands lie element behind element, and all are of one dtype; results may be missing. */
static bool oxi_vk_can_recurrent_step(const oxi_call *call) {
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && (!ox_is_contiguous(call->in[i]) || call->in[i]->dtype != call->in[0]->dtype))
            return false;
    for (int r = 0; r < call->out_count; r++)
        if (call->out[r] && !ox_is_contiguous(call->out[r])) return false;
    return ox_numel(call->in[0]) > 0;
}

static ox_status oxi_vk_recurrent_step(oxi_vk_device *d, const oxi_call *call) {
    const bool back = call->op == OXI_OP_recurrent_step_back;
    /* what blocks 0 .. 5 have: results 0, 1, 2 are in 0, 4, 5; of the way back, the operands g, gates and
     * state in 1, 2, 3, and in 5 a third result or the gradient of a state */
    const ox_tensor *in[4] = {NULL, NULL, NULL, NULL}, *t[6];
    for (int i = 0; i < call->in_count; i++) in[i] = call->in[i];
    const ox_tensor *given = back ? in[1] : NULL, *last = call->out_count > 2 ? call->out[2] : NULL;
    oxi_vk_recurrent_step_params params;
    oxi_vk_dispatch dispatch;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    t[0] = call->out[0];
    t[1] = in[0];
    t[2] = back ? in[2] : in[1];
    t[3] = back ? in[3] : in[2];
    t[4] = call->out_count > 1 ? call->out[1] : NULL;
    t[5] = last ? last : given;
    for (int i = 0; i < 6; i++) {
        if (!t[i]) continue;
        (i < 4 ? params.at : params.more)[i % 4] = oxi_vk_element_at(t[i]);
        oxi_vk_bind(&dispatch, i, t[i], i == 0 || i == 4 || (i == 5 && last));
    }
    oxi_vk_bind_rest(&dispatch);
    const ox_tensor *state = call->out[call->out_count - 1]; /* has its width */
    params.n = (uint32_t)ox_numel(state);
    params.width = (uint32_t)state->shape[1];
    dispatch.shader = OXI_VK_SHADER_recurrent_step;
    dispatch.special.recurrent_step.kind = (uint32_t)call->attr.recurrent.kind;
    dispatch.special.recurrent_step.back = back;
    dispatch.special.recurrent_step.given = given != NULL;
    dispatch.special.recurrent_step.dtype = (uint32_t)call->in[0]->dtype;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, params.n);
    return oxi_vk_record(d, &dispatch);
}
