/* Ops that take lines of an operand: reductions and scans; softmax_norm.c has softmax and norms.
 * The dims of up to four operands are split into kept ones and those of a line; invocations share a line, and
 * a workgroup takes as many lines as fit. Called by the Vulkan device for REDUCE and SCAN. */

/* An operand of both walks: strides (elements) by dim of the shape that is cut, 0 where it stands still. */
typedef struct oxi_vk_line_operand {
    const ox_tensor *t;
    int64_t stride[OX_MAX_DIMS + 1];
} oxi_vk_line_operand;

typedef struct oxi_vk_lines {
    oxi_walk kept, line;
    oxi_vk_line_params params;
} oxi_vk_lines;

static void oxi_vk_line_operand_of(oxi_vk_line_operand *o, const ox_tensor *t, int ndim) {
    memset(o, 0, sizeof *o);
    o->t = t;
    for (int i = 0; t && i < ndim; i++) o->stride[i] = t->stride[i];
}

static void oxi_vk_lines_add(oxi_walk *w, const oxi_vk_line_operand *o, uint32_t dims, bool in_line,
                             int ndim) {
    int64_t stride[OX_MAX_DIMS];
    int n = 0;
    for (int i = 0; i < ndim; i++)
        if ((dims >> i & 1) == (in_line ? 1u : 0u)) stride[n++] = o->stride[i];
    char *address = (char *)(uintptr_t)(OXI_VK_ORIGIN + oxi_vk_byte_at(o->t));
    oxi_walk_add_raw(w, address, (int64_t)1 << oxi_vk_width(o->t->dtype), stride);
}

/* Cuts `shape` at the bits of `dims`. Operand 0's memory order rules; ordered: lines go as the shape does. */
static void oxi_vk_lines_cut(oxi_vk_lines *l, int ndim, const int64_t *shape, uint32_t dims, bool ordered,
                             const oxi_vk_line_operand *operands, int count) {
    int64_t kept[OX_MAX_DIMS + 1], line[OX_MAX_DIMS + 1];
    int kept_dims = 0, line_dims = 0;
    memset(l, 0, sizeof *l);
    for (int i = 0; i < ndim; i++)
        if (dims >> i & 1)
            line[line_dims++] = shape[i];
        else
            kept[kept_dims++] = shape[i];
    oxi_walk_begin(&l->kept, kept_dims, kept);
    oxi_walk_begin(&l->line, line_dims, line);
    int place[4] = {-1, -1, -1, -1};
    for (int i = 0; i < count; i++) {
        if (!operands[i].t) continue;
        place[i] = l->kept.operands;
        oxi_vk_lines_add(&l->kept, &operands[i], dims, false, ndim);
        oxi_vk_lines_add(&l->line, &operands[i], dims, true, ndim);
    }
    oxi_walk_ready(&l->kept, OXI_WALK_MEMORY_ORDER);
    oxi_walk_ready(&l->line, ordered ? OXI_WALK_IN_ORDER : OXI_WALK_MEMORY_ORDER);
    oxi_vk_line_params *p = &l->params;
    p->kept = (uint32_t)l->kept.numel;
    p->length = (uint32_t)l->line.numel;
    p->kept_dims = (uint32_t)l->kept.ndim;
    p->line_dims = (uint32_t)l->line.ndim;
    for (int i = 0; i < count; i++) {
        if (place[i] < 0) continue;
        const oxi_walk *k = &l->kept, *w = &l->line;
        /* turned dims moved the start of either walk */
        int64_t moved =
            (int64_t)(uintptr_t)w->base[place[i]] - OXI_VK_ORIGIN - (int64_t)oxi_vk_byte_at(operands[i].t);
        p->at[i] = oxi_vk_walk_at(k, place[i]) + (uint32_t)(moved / w->bytes[place[i]]);
        for (int e = 0; e < k->ndim; e++) p->kept_stride[e][i] = (uint32_t)k->stride[place[i]][e];
        for (int e = 0; e < w->ndim; e++) p->line_stride[e][i] = (uint32_t)w->stride[place[i]][e];
    }
    for (int e = 0; e < l->kept.ndim; e++) p->kept_shape[e] = (uint32_t)l->kept.shape[e];
    for (int e = 0; e < l->line.ndim; e++) p->line_shape[e] = (uint32_t)l->line.shape[e];
}

/* ---- reductions: operands are x, the result, the places ------------------------------------------------ */

/* Integers become floats first where the result is one; C64 stands for parts of sums. Numbers of f64, powers
 * and complex numbers that are only looked at are f64. */
static uint32_t oxi_vk_reduce_lane(const oxi_call *call, oxi_reduction r) {
    bool real = r.kind == OXI_REDUCES_LOGSUMEXP || r.finish == OXI_FINISH_MEAN;
    ox_dtype dtype = call->in[0]->dtype, to = call->out[0]->dtype;
    bool wide = dtype == OX_F64 || (to == OX_F64 && oxi_is_float(dtype));
    if (wide || r.kind == OXI_REDUCES_POWERS || (dtype == OX_C64 && r.kind == OXI_REDUCES_COUNT))
        return OXI_LANE_F64;
    return real || dtype == OX_C64 ? (uint32_t)OXI_LANE_F32 : (uint32_t)oxi_lane_of(dtype);
}

/* Sums of complex numbers are sums of their parts: f32 with one dim more. */
static bool oxi_vk_reduces_parts(const oxi_call *call) {
    return call->in[0]->dtype == OX_C64 && call->out[0]->dtype == OX_C64 && call->in[0]->ndim < OX_MAX_DIMS &&
           oxi_reduction_of(call).kind == OXI_REDUCES_SUM;
}

static bool oxi_vk_can_reduce(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    oxi_reduction r = oxi_reduction_of(call);
    if (oxi_is_block(x->dtype) || !oxi_vk_fits(x) || !oxi_vk_fits(out)) return false;
    if (oxi_vk_reduces_parts(call)) return true;
    if (oxi_vk_reduce_lane(call, r) == OXI_LANE_F64)
        return d->caps & OX_VULKAN_CAP_F64 && out->dtype != OX_C64 &&
               (x->dtype != OX_C64 || r.kind == OXI_REDUCES_COUNT);
    return oxi_vk_map_reads(x->dtype) && oxi_vk_map_reads(out->dtype);
}

static uint32_t oxi_vk_power_above(uint64_t n, uint32_t most) {
    uint32_t p = 1;
    while (p < n && p < most) p *= 2;
    return p;
}

/* The largest power of `base` up to n and `most`; at least 1. Few different ones mean few pipelines. */
static uint32_t oxi_vk_power_below(uint32_t base, uint64_t n, uint32_t most) {
    uint32_t p = 1;
    while (p * base <= n && p * base <= most) p *= base;
    return p;
}

/* Whether every line lies element behind element and starts at a quad, for operands `first` .. count - 1. */
static bool oxi_vk_lines_quads(const oxi_vk_lines *l, const oxi_vk_line_operand *o, int first, int count) {
    const oxi_vk_line_params *p = &l->params;
    if (p->line_dims > 1 || p->length < 4) return false;
    for (int i = first; i < count; i++) {
        if (!o[i].t) continue;
        if (oxi_vk_width(o[i].t->dtype) > 2 || p->line_stride[0][i] != 1 || p->at[i] % 4 != 0) return false;
        for (uint32_t e = 0; e < p->kept_dims; e++)
            if (p->kept_shape[e] > 1 && p->kept_stride[e][i] % 4 != 0) return false;
    }
    return true;
}

/* A reduction that is ready but for its workgroups. */
typedef struct oxi_vk_reduce_job {
    oxi_vk_lines l;
    oxi_vk_reduce_params params;
    oxi_vk_dispatch dispatch;
    bool quads;
} oxi_vk_reduce_job;

static void oxi_vk_reduce_prepare(const oxi_call *call, oxi_reduction r, oxi_vk_reduce_job *job) {
    const ox_tensor *x = call->in[0];
    oxi_vk_line_operand operands[3];
    oxi_vk_dispatch *dispatch = &job->dispatch;
    memset(job, 0, sizeof *job);
    oxi_vk_line_operand_of(&operands[0], x, x->ndim);
    for (int o = 0; o < 2; o++) {
        const ox_tensor *out = o < call->out_count ? call->out[o] : NULL;
        oxi_vk_line_operand_of(&operands[1 + o], out, 0);
        for (int i = 0, k = 0; out && i < x->ndim; i++) {
            if (call->attr.reduce.dims >> i & 1) continue;
            operands[1 + o].stride[i] = out->stride[call->attr.reduce.keepdim ? i : k++];
        }
        oxi_vk_bind(dispatch, 1 + o, out ? out : call->out[0], true);
    }
    oxi_vk_bind(dispatch, 0, x, false);
    oxi_vk_lines_cut(&job->l, x->ndim, x->shape, call->attr.reduce.dims, r.places != 0, operands, 3);
    job->quads = oxi_vk_lines_quads(&job->l, operands, 0, 1);
    job->l.params.f[0] = oxi_vk_float_bits(r.number);
    oxi_vk_double_words(r.number, job->params.power);
    dispatch->special.reduce.kind = (uint32_t)r.kind;
    dispatch->special.reduce.lane = oxi_vk_reduce_lane(call, r);
    dispatch->shader =
        dispatch->special.reduce.lane == OXI_LANE_F64 ? OXI_VK_SHADER_reduce_double : OXI_VK_SHADER_reduce;
    dispatch->special.reduce.to = (uint32_t)call->out[0]->dtype;
    dispatch->special.reduce.from = (uint32_t)x->dtype;
    dispatch->special.reduce.finish = (uint32_t)r.finish;
    dispatch->special.reduce.places = (uint32_t)r.places;
    dispatch->special.reduce.reads = (uint32_t)r.reads;
    dispatch->special.reduce.segments = 1;
    dispatch->params = &job->params;
    dispatch->param_bytes = sizeof job->params;
}

enum { OXI_VK_MANY_LINES = 1 << 16 }; /* enough for a device with an invocation each */

#ifndef OXI_VK_LINE_QUADS
#define OXI_VK_LINE_QUADS 4 /* quads of a line that are loaded at once */
#endif

static ox_status oxi_vk_reduce_record(oxi_vk_device *d, oxi_vk_reduce_job *job) {
    const oxi_walk *kept = &job->l.kept, *line = &job->l.line;
    if (kept->numel == 0) return OX_OK;
    bool across = kept->step[0] != 0 && llabs(kept->step[0]) < llabs(line->step[0]) && kept->numel >= 64;
    bool quads = job->quads && !across;
    uint64_t steps = (uint64_t)line->numel / (quads ? 4 : 1);
    uint32_t threads = oxi_vk_threads(job->dispatch.shader);
    uint32_t lanes = oxi_vk_power_below(4, steps, threads), segments = job->dispatch.special.reduce.segments;
    if (across && lanes > 8) lanes = kept->numel >= 4096 ? 8 : 16;
    if (across && steps <= 16 && kept->numel >= OXI_VK_MANY_LINES) lanes = 1;
    if (segments > 1) {
        across = false;
        quads = job->quads;
        lanes = threads;
    }
    bool long_lines = steps / segments / lanes >= OXI_VK_LINE_QUADS && !oxi_vk_is_software(d);
    job->dispatch.special.reduce.quads = !quads ? 0 : long_lines ? OXI_VK_LINE_QUADS : 1;
    job->dispatch.special.reduce.lanes = lanes;
    job->dispatch.special.reduce.across = across;
    job->params.line = job->l.params;
    uint32_t group_lines = threads / lanes;
    oxi_vk_groups(&job->dispatch, ((uint64_t)kept->numel + group_lines - 1) / group_lines * segments);
    return oxi_vk_record(d, &job->dispatch);
}

#ifndef OXI_VK_SEGMENTS
#define OXI_VK_SEGMENTS 2048
#endif
enum { OXI_VK_SEGMENT = 1 << 14, OXI_VK_FEW_LINES = 64 };

/* Into how many parts lines are cut: few long ones would leave most of the device idle. */
static uint32_t oxi_vk_segments(const oxi_vk_reduce_job *job, oxi_reduction r) {
    bool joins = r.kind == OXI_REDUCES_SUM || r.kind == OXI_REDUCES_PRODUCT || r.kind == OXI_REDUCES_MOST ||
                 r.kind == OXI_REDUCES_LEAST;
    int64_t kept = job->l.kept.numel, length = job->l.line.numel;
    if (!joins || r.places || kept == 0 || kept >= OXI_VK_FEW_LINES || length < 2 * OXI_VK_SEGMENT) return 1;
    int64_t most = OXI_VK_SEGMENTS / kept, parts = length / OXI_VK_SEGMENT;
    return oxi_vk_power_below(2, (uint64_t)parts, (uint32_t)most);
}

/* Segments' results, of floats an f32 and an exponent, go to memory that is given back at once: whoever gets
 * it next waits for their readers. */
static ox_status oxi_vk_reduce_twice(oxi_vk_device *d, const oxi_call *call, oxi_reduction r,
                                     oxi_vk_reduce_job *job, uint32_t segments) {
    ox_tensor parts, *in = &parts;
    ox_storage storage;
    oxi_call second = *call;
    oxi_vk_reduce_job last;
    int64_t shape[2];
    uint32_t length = job->l.params.length;
    uint32_t lane = oxi_vk_reduce_lane(call, r);
    bool real = lane == OXI_LANE_F32;
    shape[0] = job->l.kept.numel;
    shape[1] = segments * (real && r.kind == OXI_REDUCES_SUM ? 2 : 1); /* a sum, and what it lost */
    oxi_meta(&parts, real ? OX_C64 : oxi_lane_dtype((oxi_lane)lane), 2, shape);
    oxi_vk_chunk *chunk = oxi_vk_borrow(d, &parts, &storage);
    if (!chunk) return OX_ERR_NOMEM;
    job->dispatch.special.reduce.to = (uint32_t)parts.dtype;
    job->dispatch.special.reduce.finish = OXI_FINISH_PLAIN;
    job->dispatch.special.reduce.segments = segments;
    job->l.params.at[1] = oxi_vk_element_at(&parts);
    oxi_vk_bind(&job->dispatch, 1, &parts, true);
    oxi_vk_bind(&job->dispatch, 2, &parts, true);
    ox_status status = oxi_vk_reduce_record(d, job);
    /* the result as kept positions in the order of the first walk */
    ox_tensor out = oxi_borrowed(call->out[0]);
    out.ndim = 1;
    out.shape[0] = shape[0];
    out.stride[0] = 1;
    second.in = &in;
    second.out[0] = &out;
    second.attr.reduce.dims = 2;
    second.attr.reduce.keepdim = false;
    r.reads = OXI_READS_VALUE; /* sums that are NaN by now stay so */
    oxi_vk_reduce_prepare(&second, r, &last);
    last.l.params.extra = length;
    if (status == OX_OK) status = oxi_vk_reduce_record(d, &last);
    oxi_vk_chunk_give(d, chunk);
    return status;
}

static ox_status oxi_vk_reduce_numbers(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_reduce_job job;
    oxi_reduction r = oxi_reduction_of(call);
    oxi_vk_reduce_prepare(call, r, &job);
    uint32_t segments = oxi_vk_segments(&job, r);
    /* the second dispatch writes positions one behind the other */
    bool plain = job.l.kept.numel == 1 || oxi_walk_flat(&job.l.kept, 1);
    return segments > 1 && plain ? oxi_vk_reduce_twice(d, call, r, &job, segments)
                                 : oxi_vk_reduce_record(d, &job);
}

/* A complex tensor as f32: the parts of a number lie along a last dim. */
static ox_tensor oxi_vk_parts_of(const ox_tensor *t) {
    ox_tensor parts = oxi_borrowed(t);
    parts.dtype = OX_F32;
    parts.offset *= 2;
    for (int i = 0; i < t->ndim; i++) parts.stride[i] *= 2;
    parts.shape[parts.ndim] = 2;
    parts.stride[parts.ndim++] = 1;
    return parts;
}

static ox_status oxi_vk_reduce(oxi_vk_device *d, const oxi_call *call) {
    if (!oxi_vk_reduces_parts(call)) return oxi_vk_reduce_numbers(d, call);
    ox_tensor x = oxi_vk_parts_of(call->in[0]), out = oxi_vk_parts_of(call->out[0]), *in = &x;
    oxi_call parts = *call;
    parts.in = &in;
    parts.out[0] = &out;
    return oxi_vk_reduce_numbers(d, &parts);
}

/* ---- scans: operands are the result and x -------------------------------------------------------------- */

/* f64 meets only f64. */
static bool oxi_vk_scans_double(const oxi_call *call) {
    return call->in[0]->dtype == OX_F64 && call->out[0]->dtype == OX_F64;
}

static bool oxi_vk_can_scan(const oxi_vk_device *d, const oxi_call *call) {
    if (!oxi_vk_fits(call->in[0])) return false;
    if (oxi_vk_scans_double(call)) return d->caps & OX_VULKAN_CAP_F64;
    return oxi_vk_map_reads(call->in[0]->dtype) && oxi_vk_map_reads(call->out[0]->dtype);
}

enum { OXI_VK_SCAN_SEGMENTS = 256, OXI_VK_SCAN_LEAST = 2048 }; /* of a line; elements of one */

/* Into how many segments lines are cut, for a device that takes many workgroups at once. */
static uint32_t oxi_vk_scan_segments(const oxi_vk_line_params *p) {
    uint32_t most = p->length / OXI_VK_SCAN_LEAST;
    if (p->kept >= OXI_VK_FEW_LINES || most < 4) return 1;
    return most < OXI_VK_SCAN_SEGMENTS ? most : (uint32_t)OXI_VK_SCAN_SEGMENTS;
}

static ox_status oxi_vk_scan_twice(oxi_vk_device *d, oxi_vk_line_params *p, oxi_vk_dispatch *dispatch,
                                   uint32_t segments) {
    oxi_vk_chunk *totals = oxi_vk_chunk_alloc(d, (uint64_t)p->kept * segments * 8);
    ox_status status = totals ? OX_OK : OX_ERR_NOMEM;
    for (uint32_t part = OXI_VK_SCAN_TOTALS; part <= OXI_VK_SCAN_CARRIED && status == OX_OK; part++) {
        p->f[0] = segments;
        p->f[1] = (p->length + segments - 1) / segments;
        p->f[2] = (uint32_t)(totals->offset / 4);
        dispatch->use[2].chunk = totals;
        dispatch->use[2].writes = part == OXI_VK_SCAN_TOTALS;
        dispatch->uses = 3;
        dispatch->special.scan.part = part;
        oxi_vk_groups(dispatch, (uint64_t)p->kept * segments);
        status = oxi_vk_record(d, dispatch);
    }
    if (totals) oxi_vk_chunk_give(d, totals);
    return status;
}

static ox_status oxi_vk_scan(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    oxi_vk_line_operand o[2];
    oxi_vk_dispatch dispatch;
    oxi_vk_lines l;
    if (ox_numel(x) == 0) return OX_OK;
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_line_operand_of(&o[0], out, x->ndim);
    oxi_vk_line_operand_of(&o[1], x, x->ndim);
    oxi_vk_lines_cut(&l, x->ndim, x->shape, x->ndim ? 1u << call->attr.along.dim : 0, true, o, 2);
    oxi_vk_bind(&dispatch, 0, out, true);
    oxi_vk_bind(&dispatch, 1, x, false);
    dispatch.shader = oxi_vk_scans_double(call) ? OXI_VK_SHADER_scan_double : OXI_VK_SHADER_scan;
    dispatch.special.scan.product = call->op == OXI_OP_cumprod;
    dispatch.special.scan.lane = (uint32_t)oxi_lane_of(x->dtype);
    dispatch.special.scan.to = (uint32_t)out->dtype;
    dispatch.special.scan.from = (uint32_t)x->dtype;
    dispatch.params = &l.params;
    dispatch.param_bytes = sizeof l.params;
    uint32_t segments = oxi_vk_scan_segments(&l.params);
    if (segments > 1) return oxi_vk_scan_twice(d, &l.params, &dispatch, segments);
    oxi_vk_groups(&dispatch, (uint64_t)l.kept.numel);
    return oxi_vk_record(d, &dispatch);
}
