/* Softmax and norms: a line is a row. Called by the Vulkan device for ROW. */

/* f64 goes by the parts. */
static bool oxi_vk_can_row(const oxi_vk_device *d, const oxi_call *call) {
    (void)d;
    if (oxi_row_form_of(call).groups > 0 && call->in[0]->ndim == OX_MAX_DIMS) return false;
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && (!oxi_is_float(call->in[i]->dtype) || call->in[i]->dtype == OX_F64)) return false;
    return oxi_is_float(call->out[0]->dtype) && call->out[0]->dtype != OX_F64 && oxi_vk_fits(call->in[0]);
}

/* The shape that is cut, and the operands' strides over it; returns the dims of a line. group_norm's channels
 * become two dims, groups and channels of a group. */
static uint32_t oxi_vk_row_operands(const oxi_call *call, const oxi_row_form *form, int64_t *shape, int *ndim,
                                    oxi_vk_line_operand *o) {
    const ox_tensor *x = call->in[0];
    *ndim = x->ndim;
    memcpy(shape, x->shape, sizeof x->shape);
    oxi_vk_line_operand_of(&o[0], call->out[0], x->ndim);
    oxi_vk_line_operand_of(&o[1], x, x->ndim);
    for (int i = 2; i < 4; i++)
        oxi_vk_line_operand_of(&o[i], i - 1 < call->in_count ? call->in[i - 1] : NULL, 0);
    if (form->groups == 0) {
        for (int i = 0; i < x->ndim; i++) /* weights have the last dims */
            for (int k = 2; k < 4 && form->inside >> i & 1; k++)
                if (o[k].t) o[k].stride[i] = o[k].t->stride[i - (x->ndim - o[k].t->ndim)];
        return form->inside;
    }
    int64_t each = x->shape[1] / form->groups;
    uint32_t dims = 0;
    *ndim = x->ndim + 1;
    for (int i = x->ndim; i > 2; i--) shape[i] = x->shape[i - 1];
    shape[1] = form->groups;
    shape[2] = each;
    for (int k = 0; k < 4; k++) {
        if (!o[k].t) continue;
        int64_t channel = k < 2 ? o[k].t->stride[1] : o[k].t->stride[0];
        for (int i = x->ndim; k < 2 && i > 2; i--) o[k].stride[i] = o[k].t->stride[i - 1];
        o[k].stride[1] = channel * each;
        o[k].stride[2] = channel;
    }
    for (int i = 2; i < *ndim; i++) dims |= 1u << i;
    return dims;
}

enum { OXI_VK_HELD = 16 }; /* most quads of a line that an invocation of softmax_norm.comp keeps */

/* Invocations of a line, and the quads that each keeps in registers; 0 where it reads the line again. */
static uint32_t oxi_vk_row_lanes(const oxi_vk_device *d, const oxi_vk_lines *l, const oxi_vk_line_operand *o,
                                 uint32_t *held) {
    bool software = oxi_vk_is_software(d);
    uint32_t n = l->params.length, quads = (n + 3) / 4, threads = oxi_vk_threads(OXI_VK_SHADER_softmax_norm);
    uint32_t lanes = quads > 64 || software ? threads : 32;
    uint32_t most = software ? 1 : OXI_VK_HELD;
    *held = 0;
    if (n % 4 != 0 || quads > most * lanes || !oxi_vk_lines_quads(l, o, 0, 4)) return threads;
    *held = (quads + lanes - 1) / lanes;
    if (*held > 4) *held += *held % 2; /* fewer pipelines */
    return lanes;
}

/* added: f32 that lies as the result, to which it is added too, or NULL; NULL afterwards where it was. */
static ox_status oxi_vk_row_added(oxi_vk_device *d, const oxi_call *call, const ox_tensor **added) {
    const oxi_row_form form = oxi_row_form_of(call);
    const ox_tensor *out = call->out[0];
    oxi_vk_line_operand o[4];
    oxi_vk_dispatch dispatch;
    oxi_vk_lines l;
    int64_t shape[OX_MAX_DIMS + 1];
    int ndim;
    memset(&dispatch, 0, sizeof dispatch);
    if (ox_numel(out) == 0) return OX_OK;
    uint32_t dims = oxi_vk_row_operands(call, &form, shape, &ndim, o);
    if (*added) oxi_vk_line_operand_of(&o[3], *added, ndim);
    oxi_vk_lines_cut(&l, ndim, shape, dims, false, o, 4);
    l.params.f[0] = oxi_vk_float_bits(form.eps);
    uint32_t width = oxi_vk_width(out->dtype), each = 4u >> width;
    bool packed =
        width < 2 && oxi_walk_flat(&l.line, 0) && l.params.length % each == 0 && l.params.at[0] % each == 0;
    for (uint32_t e = 0; e < l.params.kept_dims; e++)
        packed = packed && l.params.kept_stride[e][0] % each == 0;
    dispatch.special.softmax_norm.kind = form.finish == OXI_ROW_SOFTMAX       ? OXI_VK_SOFTMAX
                          : form.finish == OXI_ROW_LOG_SOFTMAX ? OXI_VK_LOG_SOFTMAX
                          : form.measure == OXI_REDUCES_MOMENTS ? OXI_VK_LAYER
                                                                : OXI_VK_RMS;
    dispatch.shader = OXI_VK_SHADER_softmax_norm;
    dispatch.special.softmax_norm.to = (uint32_t)out->dtype;
    dispatch.special.softmax_norm.from = (uint32_t)call->in[0]->dtype;
    dispatch.special.softmax_norm.weight = o[2].t ? (uint32_t)o[2].t->dtype : 0;
    dispatch.special.softmax_norm.bias = o[3].t && !*added ? (uint32_t)o[3].t->dtype : 0;
    dispatch.special.softmax_norm.packed = packed || width == 2;
    uint32_t lanes = oxi_vk_row_lanes(d, &l, o, &dispatch.special.softmax_norm.held);
    dispatch.special.softmax_norm.lanes = lanes;
    dispatch.special.softmax_norm.adds = *added && dispatch.special.softmax_norm.held > 0;
    for (int i = 0; i < 4; i++)
        if (o[i].t && (i < 3 || !*added || dispatch.special.softmax_norm.adds))
            oxi_vk_bind(&dispatch, i, o[i].t, i == 0 || (i == 3 && *added));
    oxi_vk_bind_rest(&dispatch);
    if (dispatch.special.softmax_norm.adds) *added = NULL;
    dispatch.params = &l.params;
    dispatch.param_bytes = sizeof l.params;
    dispatch.use[0].beside = oxi_vk_lies_beside(d, out);
    oxi_vk_invocations(&dispatch, (uint64_t)l.kept.numel * lanes);
    return oxi_vk_record(d, &dispatch);
}

static ox_status oxi_vk_row(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *added = NULL;
    return oxi_vk_row_added(d, call, &added);
}
