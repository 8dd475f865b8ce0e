/* Tensors made from nothing, and draws from given probabilities: constants are copies of a number, ramps
 * and random numbers have shaders, which give the bits of cpu/generate. Called by draws.c, which has
 * the rest of the FILL and RANDOM families. */

static bool oxi_vk_can_make(const oxi_vk_device *d, const oxi_call *call) {
    bool wants_double = oxi_generated_form_of(call).in_double;
    return oxi_vk_fits(call->out[0]) && (d->caps & OX_VULKAN_CAP_F64 || !wants_double);
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

static ox_status oxi_vk_diagonal(oxi_vk_device *d, const oxi_generated_form *form, const ox_tensor *out) {
    ox_tensor diagonal = oxi_borrowed(out);
    ox_status status = oxi_vk_fill_with(d, 0, 0, &diagonal);
    if (status != OX_OK || diagonal.ndim != 2) return status;
    diagonal.ndim = 1;
    if (diagonal.shape[1] < diagonal.shape[0]) diagonal.shape[0] = diagonal.shape[1];
    diagonal.stride[0] += diagonal.stride[1];
    return oxi_vk_fill_with(d, form->first, form->low, &diagonal);
}

/* ---- ramps and random numbers -------------------------------------------------------------------------- */

static void oxi_vk_generate_numbers(const oxi_call *call, const oxi_generated_form *form,
                                    oxi_vk_generate_params *p) {
    double below = form->kind == OXI_GENERATES_RAMP ? form->step : form->second;
    oxi_vk_words_of(call->random.seed, p->seed);
    oxi_vk_words_of(call->random.counter, p->counter);
    if (form->numbers == OXI_NUMBERS_UNIT && form->first < form->second)
        below = oxi_number_below(call->out[0]->dtype, form->first, form->second);
    oxi_vk_double_words(form->first, p->f[0]);
    oxi_vk_double_words(form->second, p->f[1]);
    oxi_vk_double_words(below, p->below);
    oxi_vk_words_of((uint64_t)form->low, p->low);
    oxi_vk_words_of(form->range, p->range);
}

static ox_status oxi_vk_make(oxi_vk_device *d, const oxi_call *call) {
    ox_tensor *out = call->out[0];
    const ox_tensor *odds = call->in_count ? call->in[0] : NULL;
    const oxi_generated_form form = oxi_generated_form_of(call);
    oxi_vk_generate_params params;
    oxi_vk_dispatch dispatch;
    oxi_walk w;
    if (ox_numel(out) == 0) return OX_OK;
    if (form.kind == OXI_GENERATES_CONSTANT) return oxi_vk_fill_with(d, form.first, form.low, out);
    if (form.kind == OXI_GENERATES_DIAGONAL) return oxi_vk_diagonal(d, &form, out);
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
    oxi_vk_generate_numbers(call, &form, &params);
    bool quads = oxi_walk_flat(&w, 0) && oxi_vk_width(out->dtype) < 3 && params.at[0] % 4 == 0;
    dispatch.shader = form.in_double ? OXI_VK_SHADER_generate_double : OXI_VK_SHADER_generate;
    dispatch.special.generate.op = (uint32_t)form.code;
    dispatch.special.generate.to = (uint32_t)out->dtype;
    dispatch.special.generate.from = odds ? (uint32_t)odds->dtype : 0;
    dispatch.special.generate.flat = quads;
    if (odds) {
        params.fault = (uint32_t)(d->fault->offset / 4);
        oxi_vk_bind_fault(d, &dispatch, OXI_VK_FAULT_BINDING);
    }
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_invocations(&dispatch, ((uint64_t)w.numel + 3) / 4);
    return oxi_vk_record(d, &dispatch);
}
