/* What comes back through softmax, log_softmax and the norms: a line is a row. For weight and bias each
 * workgroup adds up its own lines, and a reduction the workgroups: cut by shapes alone, so the bits are the
 * same in every run. Called by back.c. */

enum {
    OXI_VK_BACK_HELD = 8, /* most quads of a line that an invocation of rows_back.comp keeps */
    OXI_VK_BACK_GROUPS = 256
}; /* workgroups that add up for weights, at most */

/* Invocations of a line, and the quads that each keeps in registers; 0 where it reads the line again. */
static uint32_t oxi_vk_rows_back_lanes(const oxi_vk_device *d, const oxi_vk_lines *l,
                                       const oxi_vk_line_operand *o, uint32_t *held) {
    bool software = oxi_vk_is_software(d);
    uint32_t n = l->params.length, quads = (n + 3) / 4, threads = oxi_vk_threads(OXI_VK_SHADER_rows_back);
    uint32_t lanes = quads > 64 || software ? threads : 32;
    *held = 0;
    if (n % 4 != 0 || quads > (software ? 1 : OXI_VK_BACK_HELD) * lanes || !oxi_vk_lines_quads(l, o, 0, 4))
        return threads;
    *held = (quads + lanes - 1) / lanes;
    if (*held > 2) *held += *held % 2; /* fewer pipelines */
    return lanes;
}

static uint32_t oxi_vk_rows_back_kind(oxi_op op) {
    return op == OXI_OP_softmax_back       ? OXI_VK_SOFTMAX
           : op == OXI_OP_log_softmax_back ? OXI_VK_LOG_SOFTMAX
           : op == OXI_OP_layer_norm_back  ? OXI_VK_LAYER
                                           : OXI_VK_RMS;
}

/* Operands: result, g, x, weight. */
static void oxi_vk_rows_back_cut(const oxi_call *call, oxi_vk_line_operand *o, oxi_vk_lines *l) {
    const ox_tensor *x = call->in[1], *weight = call->in_count > 2 ? call->in[2] : NULL;
    bool norm = oxi_vk_rows_back_kind(call->op) > OXI_VK_LOG_SOFTMAX;
    int last = norm ? (int)call->attr.norm.last_dims : 0;
    uint32_t dims = norm ? 0 : 1u << call->attr.along.dim;
    for (int i = x->ndim - last; i < x->ndim; i++) dims |= 1u << i;
    oxi_vk_line_operand_of(&o[0], call->out[0], x->ndim);
    oxi_vk_line_operand_of(&o[1], call->in[0], x->ndim);
    oxi_vk_line_operand_of(&o[2], x, x->ndim);
    oxi_vk_line_operand_of(&o[3], weight, 0);
    for (int i = x->ndim - last; weight && i < x->ndim; i++)
        o[3].stride[i] = weight->stride[i - (x->ndim - last)];
    oxi_vk_lines_cut(l, x->ndim, x->shape, dims, true, o, 4);
    l->params.f[0] = oxi_vk_float_bits(norm ? call->attr.norm.eps : 0);
}

/* Whether what is written fills whole words. */
static bool oxi_vk_rows_back_packs(const oxi_vk_lines *l, ox_dtype dtype) {
    uint32_t width = oxi_vk_width(dtype), each = 4u >> width;
    bool packed = width < 2 && oxi_walk_flat(&l->line, 0) && l->params.length % each == 0 &&
                  l->params.at[0] % each == 0;
    for (uint32_t e = 0; e < l->params.kept_dims; e++)
        packed = packed && l->params.kept_stride[e][0] % each == 0;
    return packed || width == 2;
}

/* Sums of parts [groups][sums][n] to the results behind the first. */
static ox_status oxi_vk_rows_back_join(oxi_vk_device *d, const oxi_call *call,
                                       const oxi_vk_temporary *parts) {
    ox_status status = OX_OK;
    for (int k = 1; k < call->out_count && status == OX_OK; k++) {
        ox_tensor part = parts->t, *in = &part, *out = call->out[k];
        ox_tensor flat = *out;
        part.ndim = 2;
        part.shape[1] = parts->t.shape[2];
        part.stride[1] = 1;
        part.offset += (k - 1) * parts->t.shape[2];
        flat.ndim = 1;
        flat.shape[0] = parts->t.shape[2];
        flat.stride[0] = 1;
        oxi_call sum = oxi_call_of(OXI_OP_sum, &in, 1, &flat);
        sum.attr = oxi_attrs_reduce();
        sum.attr.reduce.dims = 1;
        status = oxi_vk_reduce(d, &sum);
    }
    return status;
}

static void oxi_vk_rows_back_say(const oxi_call *call, const oxi_vk_lines *l, oxi_vk_rows_back_specials *s) {
    const ox_tensor *weight = call->in_count > 2 ? call->in[2] : NULL;
    s->kind = oxi_vk_rows_back_kind(call->op);
    s->to = (uint32_t)call->out[0]->dtype;
    s->gradient = (uint32_t)call->in[0]->dtype;
    s->from = (uint32_t)call->in[1]->dtype;
    s->weight = weight ? (uint32_t)weight->dtype : 0;
    s->packed = oxi_vk_rows_back_packs(l, call->out[0]->dtype);
    s->sums = (uint32_t)call->out_count - 1;
}

/* Floats other than f64; results behind the first lie element behind element. */
static ox_status oxi_vk_rows_back(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_line_operand o[4];
    oxi_vk_dispatch dispatch;
    oxi_vk_temporary parts;
    oxi_vk_lines l;
    ox_status status = OX_OK;
    memset(&dispatch, 0, sizeof dispatch);
    memset(&parts, 0, sizeof parts);
    oxi_vk_rows_back_cut(call, o, &l);
    dispatch.shader = OXI_VK_SHADER_rows_back;
    oxi_vk_rows_back_say(call, &l, &dispatch.special.rows_back);
    uint32_t lanes = oxi_vk_rows_back_lanes(d, &l, o, &dispatch.special.rows_back.held);
    dispatch.special.rows_back.lanes = lanes;
    uint64_t at_once = oxi_vk_threads(OXI_VK_SHADER_rows_back) / lanes;
    uint64_t groups = ((uint64_t)l.kept.numel + at_once - 1) / at_once;
    l.params.extra =
        call->out_count > 1 ? (uint32_t)((groups + OXI_VK_BACK_GROUPS - 1) / OXI_VK_BACK_GROUPS) : 1;
    groups = (groups + l.params.extra - 1) / l.params.extra;
    for (int i = 0; i < 4; i++)
        if (o[i].t) oxi_vk_bind(&dispatch, i, o[i].t, i == 0);
    if (call->out_count > 1) {
        const int64_t shape[3] = {(int64_t)groups, call->out_count - 1, (int64_t)l.params.length};
        status = oxi_vk_temporary_make(d, &parts, OX_F32, 3, shape);
        if (status != OX_OK) return status;
        l.params.f[1] = oxi_vk_element_at(&parts.t);
        oxi_vk_bind(&dispatch, 4, &parts.t, true);
    }
    oxi_vk_bind_rest(&dispatch);
    dispatch.params = &l.params;
    dispatch.param_bytes = sizeof l.params;
    oxi_vk_groups(&dispatch, groups);
    status = oxi_vk_record(d, &dispatch);
    if (status == OX_OK) status = oxi_vk_rows_back_join(d, call, &parts);
    oxi_vk_temporary_drop(d, &parts);
    return status;
}
