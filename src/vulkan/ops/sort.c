/* sort and topk along one dim: chunks of a line are sorted in shared memory, what is left is merged or, where
 * few items of a line are wanted, sorted again, until a line is one run. Items wait in memory that is given
 * back at once, like parts of reductions. Called by the Vulkan device for SORT. */

/* One dispatch: lines of `count` items become runs of up to `keep`, `count_out` items in all. */
typedef struct oxi_vk_sort_pass {
    bool merges;
    uint64_t count, length, keep, runs, count_out, groups;
} oxi_vk_sort_pass;

/* The pass that comes next for `lines` lines of `count` items, of which `wanted` are the result; run: length
 * of the sorted runs that they are, 0 = none. */
static oxi_vk_sort_pass oxi_vk_sort_plan(uint64_t lines, uint64_t count, uint64_t run, uint64_t wanted) {
    oxi_vk_sort_pass p;
    p.count = count;
    p.merges = run > OXI_VK_SORT_ROOM / 2;
    p.length = p.merges ? run : oxi_vk_power_above(count, OXI_VK_SORT_ROOM);
    uint64_t taken = p.merges ? 2 * run : p.length; /* items that become a run */
    p.keep = wanted < taken ? wanted : taken;
    p.runs = (count + taken - 1) / taken;
    uint64_t rest = count - (p.runs - 1) * taken, each = OXI_VK_SORT_ROOM / p.length;
    p.count_out = (p.runs - 1) * p.keep + (rest < p.keep ? rest : p.keep);
    p.groups = p.merges ? lines * p.runs * ((p.keep + OXI_VK_SORT_ROOM - 1) / OXI_VK_SORT_ROOM)
                        : (lines * p.runs + each - 1) / each;
    return p;
}

static uint64_t oxi_vk_sort_item_bytes(ox_dtype dtype) {
    return oxi_vk_width(dtype) == 3 ? 12 : 8;
}

/* Elements of the sorted dim: of x, or of a result. */
static uint64_t oxi_vk_sort_size(const oxi_call *call, const ox_tensor *t) {
    return t->ndim ? (uint64_t)t->shape[call->attr.sort.dim] : 1;
}

/* Bytes of the items between the passes: most of them after the first. */
static uint64_t oxi_vk_sort_bytes(const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    uint64_t size = oxi_vk_sort_size(call, x), wanted = oxi_vk_sort_size(call, call->out[0]);
    if (size == 0 || wanted == 0 || ox_numel(x) == 0) return 0;
    uint64_t lines = (uint64_t)ox_numel(x) / size;
    oxi_vk_sort_pass p = oxi_vk_sort_plan(lines, size, 0, wanted);
    return p.runs > 1 ? lines * p.count_out * oxi_vk_sort_item_bytes(x->dtype) : 0;
}

static bool oxi_vk_can_sort(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    return !oxi_is_block(x->dtype) && x->dtype != OX_C64 && oxi_vk_fits(x) &&
           oxi_vk_sort_bytes(call) <= d->tensor_bytes_most;
}

/* All passes; items go from one chunk to the other. */
static ox_status oxi_vk_sort_record(oxi_vk_device *d, const oxi_call *call, oxi_vk_sort_params *params,
                                    oxi_vk_chunk *const *chunk) {
    const ox_tensor *x = call->in[0];
    uint64_t lines = params->line.kept, count = params->line.length, run = 0;
    uint64_t wanted = oxi_vk_sort_size(call, call->out[0]);
    ox_status status = OX_OK;
    for (int pass = 0; status == OX_OK; pass++) {
        oxi_vk_sort_pass p = oxi_vk_sort_plan(lines, count, run, wanted);
        const oxi_vk_chunk *from = chunk[pass % 2], *to = chunk[1 - pass % 2];
        oxi_vk_dispatch dispatch;
        memset(&dispatch, 0, sizeof dispatch);
        params->count = (uint32_t)p.count;
        params->run = (uint32_t)p.length;
        params->keep = (uint32_t)p.keep;
        params->runs = (uint32_t)p.runs;
        params->count_out = (uint32_t)p.count_out;
        params->from = from ? (uint32_t)(from->offset / 4) : 0;
        params->to = to ? (uint32_t)(to->offset / 4) : 0;
        params->plane_in = (uint32_t)(lines * p.count);
        params->plane_out = (uint32_t)(lines * p.count_out);
        params->pair_groups = (uint32_t)((p.keep + OXI_VK_SORT_ROOM - 1) / OXI_VK_SORT_ROOM);
        dispatch.shader = OXI_VK_SHADER_sort;
        dispatch.special.sort.merge = p.merges;
        dispatch.special.sort.dtype = (uint32_t)x->dtype;
        dispatch.special.sort.first = pass == 0;
        dispatch.special.sort.last = p.runs == 1;
        oxi_vk_bind(&dispatch, 0, call->out[0], p.runs == 1);
        oxi_vk_bind(&dispatch, 1, call->out[1], p.runs == 1);
        oxi_vk_bind(&dispatch, 2, x, false);
        dispatch.use[3].chunk = pass > 0 ? chunk[pass % 2] : NULL;
        dispatch.use[4].chunk = p.runs > 1 ? chunk[1 - pass % 2] : NULL;
        dispatch.use[4].writes = p.runs > 1;
        dispatch.uses = 5;
        oxi_vk_bind_rest(&dispatch);
        dispatch.params = params;
        dispatch.param_bytes = sizeof *params;
        oxi_vk_groups(&dispatch, p.groups);
        status = oxi_vk_record(d, &dispatch);
        if (p.runs == 1) break;
        count = p.count_out;
        run = p.keep;
    }
    return status;
}

static ox_status oxi_vk_sort(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    oxi_vk_line_operand o[3];
    oxi_vk_lines l;
    oxi_vk_sort_params params;
    oxi_vk_chunk *chunk[2] = {NULL, NULL};
    uint64_t bytes = oxi_vk_sort_bytes(call);
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    memset(&params, 0, sizeof params);
    oxi_vk_line_operand_of(&o[0], call->out[0], x->ndim);
    oxi_vk_line_operand_of(&o[1], call->out[1], x->ndim);
    oxi_vk_line_operand_of(&o[2], x, x->ndim);
    oxi_vk_lines_cut(&l, x->ndim, x->shape, x->ndim ? 1u << call->attr.sort.dim : 0, true, o, 3);
    params.line = l.params;
    params.flip = call->attr.sort.descending ? UINT32_MAX : 0;
    ox_status status = OX_OK;
    for (int i = 0; i < 2 && bytes > 0 && status == OX_OK; i++) {
        chunk[i] = oxi_vk_chunk_alloc(d, bytes);
        if (!chunk[i]) status = OX_ERR_NOMEM;
    }
    if (status == OX_OK) status = oxi_vk_sort_record(d, call, &params, chunk);
    for (int i = 0; i < 2; i++)
        if (chunk[i]) oxi_vk_chunk_give(d, chunk[i]);
    return status;
}
