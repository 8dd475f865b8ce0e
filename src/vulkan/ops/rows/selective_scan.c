/* Selective scans: a workgroup some columns of a head's memory. Those of a single position may be made
 * together with what a convolution gives, which is held back by then. Called by the Vulkan device for
 * RECURRENCE, and by fuse.c. */

/* Operands, and what steps (or NULL) read and write, in the blocks that a shader binds; false: it cannot bind
 * them. */
static bool oxi_vk_bind_selective(oxi_vk_dispatch *dispatch, const oxi_call *call,
                                  const oxi_vk_steps *steps) {
    enum { OF_STEPS = OXI_VK_SCAN_MADE + 1, CHUNKS = OF_STEPS + OXI_VK_STEPS_CHUNKS };
    oxi_vk_selective_scan_specials *special = &dispatch->special.selective_scan;
    oxi_vk_chunk *chunk[CHUNKS] = {NULL};
    uint32_t blocks[3] = {0, 0, 0};
    oxi_vk_bind(dispatch, 0, call->out[0], true);
    for (int i = steps ? OXI_VK_SCAN_STEP : 0; i < OXI_VK_SCAN_OPERANDS; i++) {
        if (!call->in[i]) continue;
        chunk[i] = oxi_vk_chunk_of(call->in[i]);
        special->given |= 1u << i;
    }
    if (steps) oxi_vk_steps_chunks(steps, chunk + OF_STEPS);
    if (steps) chunk[OXI_VK_SCAN_MADE] = oxi_vk_chunk_of(&steps->first.result);
    if (!oxi_vk_bind_blocks(dispatch, chunk, CHUNKS, blocks)) return false;
    for (int i = 0; steps && i < dispatch->uses; i++)
        if (dispatch->use[i].chunk == chunk[OXI_VK_SCAN_MADE]) dispatch->use[i].writes = true;
    if (steps) oxi_vk_steps_write_window(steps, dispatch);
    special->blocks = blocks[0];
    special->steps_blocks = blocks[1];
    special->steps_more_blocks = blocks[2];
    return true;
}

/* Keys of an invocation. */
static int64_t oxi_vk_selective_held(const oxi_call *call) {
    const int64_t parts = OXI_VK_THREADS / OXI_VK_SCAN_COLUMNS;
    return (call->in[OXI_VK_SCAN_STATE]->shape[1] + parts - 1) / parts;
}

static bool oxi_vk_can_selective(const oxi_call *call) {
    oxi_vk_dispatch dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    for (int i = 0; i < OXI_VK_SCAN_OPERANDS; i++)
        if (call->in[i] && (call->in[i]->dtype != OX_F32 || !oxi_vk_fits(call->in[i]))) return false;
    return call->out[0]->dtype == OX_F32 && oxi_vk_fits(call->out[0]) &&
           oxi_vk_selective_held(call) <= OXI_VK_SCAN_HELD && oxi_vk_bind_selective(&dispatch, call, NULL);
}

/* Whether t is a part of what the held steps give, from element `at` on. */
static bool oxi_vk_is_made(const oxi_vk_steps *s, const ox_tensor *t, int64_t at, int64_t heads_apart) {
    const ox_tensor *result = &s->first.result;
    return oxi_vk_chunk_of(t) == oxi_vk_chunk_of(result) &&
           oxi_vk_element_at(t) == oxi_vk_element_at(result) + (uint64_t)at &&
           (t->shape[2] == 1 || t->stride[2] == 1) && (t->shape[0] == 1 || t->stride[0] == heads_apart);
}

/* Whether the held steps make u, B and C of a single position, and nothing else: all heads have the same B
 * and C. */
static bool oxi_vk_scans_steps(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_vk_steps *s = &d->steps;
    const ox_tensor *u = call->in[OXI_VK_SCAN_U], *b = call->in[OXI_VK_SCAN_B], *c = call->in[OXI_VK_SCAN_C];
    const int64_t columns = u->shape[0] * u->shape[2], keys = b->shape[2];
    oxi_vk_dispatch dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    if (s->count < 2 || u->shape[1] != 1 || ox_numel(call->out[0]) == 0) return false;
    if (ox_numel(&s->first.result) != columns + 2 * keys || !oxi_vk_is_made(s, u, 0, u->shape[2]))
        return false;
    const bool ordered = oxi_vk_is_made(s, b, columns, 0) && oxi_vk_is_made(s, c, columns + keys, 0);
    const bool turned = oxi_vk_is_made(s, c, columns, 0) && oxi_vk_is_made(s, b, columns + keys, 0);
    if (!ordered && !turned) return false;
    const oxi_vk_chunk *made = oxi_vk_chunk_of(&s->first.result), *out = oxi_vk_chunk_of(call->out[0]);
    const oxi_vk_chunk *window = s->kept ? oxi_vk_chunk_of(&s->window.result) : NULL;
    for (int i = OXI_VK_SCAN_STEP; i < OXI_VK_SCAN_OPERANDS; i++)
        if (call->in[i] && (oxi_vk_chunk_of(call->in[i]) == made || oxi_vk_chunk_of(call->in[i]) == window))
            return false;
    for (int i = 0; i < 2 * s->count; i++)
        if (s->chunk[i] == out) return false;
    return made != out && window != out && oxi_vk_bind_selective(&dispatch, call, s);
}

/* Whether a held product makes the step of a single position of a single head, and nothing else of the scan:
 * what workgroups write of it no other one reads. */
static bool oxi_vk_scans_product(const oxi_vk_device *d, const oxi_call *call) {
    const oxi_call *product = &d->product[0].call;
    const ox_tensor *step = call->in[OXI_VK_SCAN_STEP], *u = call->in[OXI_VK_SCAN_U];
    const ox_tensor *out = call->out[0], *made = product->out[0];
    if (d->held_products != 1 || product->op != OXI_OP_linear || product->attr.activation.activation ||
        d->held_norm || d->held_post || ox_numel(out) == 0)
        return false;
    if (u->shape[0] != 1 || u->shape[1] != 1 || ox_numel(made) != u->shape[2] ||
        oxi_vk_chunk_of(step) != oxi_vk_chunk_of(made) ||
        oxi_vk_element_at(step) != oxi_vk_element_at(made) || step->stride[2] != 1 || step->shape[2] == 1)
        return false;
    for (int i = 0; i < OXI_VK_SCAN_OPERANDS; i++)
        if (i != OXI_VK_SCAN_STEP && call->in[i] && oxi_vk_chunk_of(call->in[i]) == oxi_vk_chunk_of(made))
            return false;
    for (int i = 0; i < product->in_count; i++)
        if (product->in[i] && oxi_vk_chunk_of(product->in[i]) == oxi_vk_chunk_of(out)) return false;
    const oxi_vk_product p = oxi_vk_product_of(product, NULL);
    return oxi_vk_chunk_of(made) != oxi_vk_chunk_of(out) && p.form.k % 4 == 0 &&
           p.form.k <= OXI_VK_SCAN_INNER && p.form.row[2] == 1 && p.form.alpha == 1 &&
           p.form.column[1] == 1 && oxi_vk_is_plain_f32(product->in[0]) &&
           !oxi_vk_needs_books(p.form.t[2]->dtype);
}

/* Binds what it is of; false: that lies in more blocks than are left. */
static bool oxi_vk_scan_multiplies(const oxi_call *call, oxi_vk_selective_scan_params *params,
                                   oxi_vk_dispatch *dispatch) {
    const oxi_vk_product p = oxi_vk_product_of(call, NULL);
    oxi_vk_selective_scan_specials *special = &dispatch->special.selective_scan;
    const oxi_vk_block *weights = oxi_vk_chunk_of(p.form.t[2])->block;
    oxi_vk_chunk *chunk[3] = {oxi_vk_chunk_of(p.form.t[1]),
                              p.form.bias ? oxi_vk_chunk_of(p.form.bias) : NULL,
                              oxi_vk_chunk_of(p.form.t[0])};
    oxi_vk_product_params all;
    uint32_t blocks = 0;
    if (dispatch->use[5].chunk && dispatch->use[5].chunk->block != weights) return false;
    if (dispatch->use[5].chunk) dispatch->use[dispatch->uses++].chunk = oxi_vk_chunk_of(p.form.t[2]);
    else dispatch->use[5].chunk = oxi_vk_chunk_of(p.form.t[2]);
    if (!oxi_vk_bind_blocks(dispatch, chunk, 3, &blocks)) return false;
    for (int i = 0; i < dispatch->uses; i++)
        if (dispatch->use[i].chunk == chunk[2]) dispatch->use[i].writes = true;
    oxi_vk_product_params_of(&p, &all);
    special->weights_type = (uint32_t)p.form.t[2]->dtype;
    special->inner = all.k;
    special->biased = p.form.bias != NULL;
    special->product_blocks = blocks;
    params->row_at = all.at[1];
    params->weights_at = all.at[2];
    params->column_apart = all.column[2];
    params->bias_at = all.bias_at;
    params->step_to = all.at[0];
    return true;
}

static void oxi_vk_tell_steps(oxi_vk_selective_scan_specials *special, oxi_vk_selective_scan_params *params,
                              const oxi_vk_steps *steps) {
    const uint32_t first = oxi_vk_element_at(&steps->first.result) + params->heads * params->values;
    special->made = 1;
    special->steps_count = (uint32_t)steps->count;
    special->steps_codes = steps->codes;
    special->steps_kept = steps->kept;
    if (steps->kept) params->window = oxi_vk_element_at(&steps->window.result);
    params->steps_to = oxi_vk_element_at(&steps->first.result);
    params->steps_b = params->operand[OXI_VK_SCAN_B][0] - first;
    params->steps_c = params->operand[OXI_VK_SCAN_C][0] - first;
    memcpy(params->steps_at, steps->at, 2 * (size_t)steps->count * sizeof *steps->at);
}

/* steps: NULL, or held ones that make its u, B and C. product: NULL, or a held one that makes its step. */
static ox_status oxi_vk_selective(oxi_vk_device *d, const oxi_call *call, const oxi_vk_steps *steps,
                                  const oxi_call *product) {
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
    (void)oxi_vk_bind_selective(&dispatch, call, steps);
    const oxi_vk_dispatch alone = dispatch;
    if (product && !oxi_vk_scan_multiplies(product, &params, &dispatch)) {
        ox_status status = oxi_vk_product_run(d, product);
        if (status != OX_OK) return status;
        dispatch = alone;
    }
    oxi_vk_bind_open(&dispatch, 0);
    oxi_vk_selective_scan_specials *special = &dispatch.special.selective_scan;
    const int64_t held = oxi_vk_selective_held(call);
    special->held = held > 0 ? (uint32_t)held : 1;
    special->same = rate->shape[1] == 1 && rate->shape[2] == 1;
    special->softplus = call->attr.scan.softplus;
    special->hold = call->attr.scan.hold;
    if (steps) oxi_vk_tell_steps(special, &params, steps);
    dispatch.shader = OXI_VK_SHADER_selective_scan;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    const uint64_t columns = OXI_VK_SCAN_COLUMNS;
    oxi_vk_groups(&dispatch, params.heads * ((params.values + columns - 1) / columns));
    return oxi_vk_record(d, &dispatch);
}
