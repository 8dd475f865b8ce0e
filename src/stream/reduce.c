/* Reductions of streamed tensors, in the CPU's own chunks: cpu/reduce.c plans the whole call by its shape and
 * strides, tiles bring the bytes of some groups of results and some chunks of their lines, and the partial
 * results are joined at the end. So the bits are those of the call in RAM. Called by the device. */

typedef struct oxi_stream_reduction {
    oxi_stream_flow flow; /* first */
    oxi_reduce r;
    const oxi_stream_region *region;
    ox_tensor x;            /* the operand, over no memory */
    int64_t origin;         /* element of x, from its first, at kept position 0 of line position 0 */
    bool far;               /* results go to the spill file part by part, not to RAM */
    int out_count;
    ox_tensor *out[OXI_MAX_OUT];
    int64_t out_origin[OXI_MAX_OUT]; /* as origin */
    int64_t groups, chunks; /* of a step, at most */
    int64_t group_steps, chunk_steps;
} oxi_stream_reduction;

/* Some groups of kept positions, some chunks of their lines. */
typedef struct oxi_reduction_part {
    int64_t group, groups, chunk, chunks;
} oxi_reduction_part;

/* Lowest and highest element of an operand that positions [first, end) of a walk reach, from position 0. */
static void oxi_walk_reach(const oxi_walk *w, int operand, int64_t first, int64_t end, int64_t *low,
                           int64_t *high) {
    int64_t inside = w->numel, last = end - 1;
    bool split = false; /* first and last differ in an outer dim: inner ones are taken whole */
    for (int d = 0; d < w->ndim; d++) {
        inside /= w->shape[d];
        int64_t a = first / inside, b = last / inside;
        first %= inside;
        last %= inside;
        if (split) {
            a = 0;
            b = w->shape[d] - 1;
        }
        split = split || a != b;
        int64_t from = a * w->stride[operand][d], to = b * w->stride[operand][d];
        *low += from < to ? from : to;
        *high += from < to ? to : from;
    }
}

/* Bytes of the region that a part needs. */
static void oxi_reduction_span(const oxi_stream_reduction *job, const oxi_reduction_part *part,
                               oxi_stream_layout *out) {
    const oxi_reduce *r = &job->r;
    int64_t low = job->origin, high = job->origin, bytes = ox_dtype_of(job->x.dtype)->block_bytes;
    int64_t first = part->group * r->group, end = (part->group + part->groups) * r->group;
    oxi_walk_reach(&r->kept, 0, first, oxi_min_i64(end, r->kept.numel), &low, &high);
    first = part->chunk * r->chunk;
    end = (part->chunk + part->chunks) * r->chunk;
    oxi_walk_reach(&r->line, 0, first, oxi_min_i64(end, r->line.numel), &low, &high);
    memset(out, 0, sizeof *out);
    out->align = oxi_layout_align(job->x.dtype);
    out->first = (uint64_t)((job->x.offset + low) * bytes);
    out->bytes = out->run = (size_t)((high - low + 1) * bytes);
    out->offset = -low; /* of x's first element, seen from the cell's */
}

/* Bytes of result o that a part makes; false when others lie between them. */
static bool oxi_reduction_out_span(const oxi_stream_reduction *job, const oxi_reduction_part *part, int o,
                                   oxi_stream_layout *out) {
    const oxi_reduce *r = &job->r;
    int64_t low = job->out_origin[o], high = low, bytes = ox_dtype_of(job->out[o]->dtype)->block_bytes;
    int64_t first = part->group * r->group;
    int64_t end = oxi_min_i64((part->group + part->groups) * r->group, r->kept.numel);
    oxi_walk_reach(&r->kept, 1 + o, first, end, &low, &high);
    memset(out, 0, sizeof *out);
    out->align = oxi_layout_align(job->out[o]->dtype);
    out->first = (uint64_t)((job->out[o]->offset + low) * bytes);
    out->bytes = out->run = (size_t)((high - low + 1) * bytes);
    out->offset = -low;
    return high - low + 1 == end - first;
}

static oxi_reduction_part oxi_reduction_at(const oxi_stream_reduction *job, int64_t index) {
    oxi_reduction_part part;
    part.group = index / job->chunk_steps * job->groups;
    part.chunk = index % job->chunk_steps * job->chunks;
    part.groups = oxi_min_i64(oxi_reduce_groups(&job->r) - part.group, job->groups);
    part.chunks = oxi_min_i64(job->r.chunks - part.chunk, job->chunks);
    return part;
}

static ox_status oxi_reduction_prepare(oxi_stream_flow *flow, int64_t index, oxi_stream_step *step) {
    const oxi_stream_reduction *job = (const oxi_stream_reduction *)(const void *)flow;
    oxi_reduction_part part = oxi_reduction_at(job, index);
    step->source[0].use = OXI_STREAM_LOAD;
    step->source[0].region = job->region;
    oxi_reduction_span(job, &part, &step->source[0].layout);
    for (int o = 0; job->far && o < job->out_count; o++) {
        oxi_stream_source *source = &step->source[OXI_PLAN_OUT + o];
        source->use = OXI_STREAM_STORE;
        source->region = oxi_region_of(job->out[o]);
        (void)oxi_reduction_out_span(job, &part, o, &source->layout);
    }
    return OX_OK;
}

typedef struct oxi_reduction_tasks {
    const oxi_reduce *r;
    oxi_reduction_part part;
} oxi_reduction_tasks;

static void oxi_reduction_task(void *arg, int64_t index, int lane) {
    const oxi_reduction_tasks *tasks = (const oxi_reduction_tasks *)arg;
    const oxi_reduction_part *part = &tasks->part;
    oxi_reduce_one(tasks->r, part->chunk + index % part->chunks, part->group + index / part->chunks, lane);
}

static ox_status oxi_reduction_compute(oxi_stream_flow *flow, int64_t index, const oxi_stream_step *step) {
    oxi_stream_reduction *job = (oxi_stream_reduction *)(void *)flow;
    const oxi_stream_source *source = &step->source[0];
    oxi_reduction_tasks tasks;
    tasks.r = &job->r;
    tasks.part = oxi_reduction_at(job, index);
    /* Kept position 0 may lie outside the cell; only its distance to the part matters. */
    int64_t bytes = ox_dtype_of(job->x.dtype)->block_bytes;
    int64_t kept = (job->origin + source->layout.offset) * bytes - job->r.line_shift;
    job->r.kept.base[0] = (char *)((uintptr_t)source->data + (uintptr_t)kept);
    for (int o = 0; job->far && o < job->out_count; o++) {
        const oxi_stream_source *out = &step->source[OXI_PLAN_OUT + o];
        kept = (job->out_origin[o] + out->layout.offset) * ox_dtype_of(job->out[o]->dtype)->block_bytes;
        job->r.kept.base[1 + o] = (char *)((uintptr_t)out->data + (uintptr_t)kept);
    }
    oxi_parallel_for(tasks.part.groups * tasks.part.chunks, oxi_reduction_task, &tasks);
    return OX_OK;
}

static bool oxi_reduction_fits(const oxi_stream_reduction *job, const oxi_reduction_part *part, size_t room) {
    oxi_stream_layout layout;
    oxi_reduction_span(job, part, &layout);
    return layout.bytes <= room;
}

/* Widens `side`, one of the part's two counts, up to `most` as far as the part fits the room; at least 1. */
static void oxi_reduction_widen(const oxi_stream_reduction *job, oxi_reduction_part *part, int64_t *side,
                                int64_t most, size_t room) {
    int64_t low = 1, high = most;
    while (low < high) {
        *side = low + (high - low + 1) / 2;
        if (oxi_reduction_fits(job, part, room))
            low = *side;
        else
            high = *side - 1;
    }
    *side = low;
}

/* Whole lines of some groups where one fits; else some chunks of all groups; else of one group. */
static void oxi_reduction_cut(oxi_stream_reduction *job, size_t room) {
    int64_t groups = oxi_reduce_groups(&job->r), chunks = job->r.chunks;
    oxi_stream_layout layout;
    oxi_reduction_part part = {0, 1, 0, chunks};
    if (oxi_reduction_fits(job, &part, room)) {
        oxi_reduction_widen(job, &part, &part.groups, groups, room);
    } else {
        part.groups = groups;
        part.chunks = 1;
        if (!oxi_reduction_fits(job, &part, room)) part.groups = 1;
        oxi_reduction_widen(job, &part, &part.chunks, chunks, room);
    }
    job->groups = part.groups;
    job->chunks = part.chunks;
    job->group_steps = oxi_divide_up(groups, job->groups);
    job->chunk_steps = oxi_divide_up(chunks, job->chunks);
    job->flow.count = job->group_steps * job->chunk_steps;
    for (int64_t i = 0; i < job->flow.count; i++) {
        part = oxi_reduction_at(job, i);
        oxi_reduction_span(job, &part, &layout);
        if (layout.bytes > job->flow.cell_bytes) job->flow.cell_bytes = layout.bytes;
    }
}

/* Reductions of a streamed operand that has elements. */
static bool oxi_stream_reduces(const oxi_call *call) {
    bool reduces = oxi_op_row_of(call->op)->family == OXI_FAMILY_REDUCE && ox_numel(call->in[0]) > 0;
    return reduces && oxi_is_streamed(call->in[0]);
}

/* The element that a walk's operand begins with, from the first of its tensor, which lies at `nowhere`. */
static int64_t oxi_reduction_origin(const oxi_stream_reduction *job, int operand, ox_dtype dtype,
                                    const char *nowhere) {
    int64_t bytes = ox_dtype_of(dtype)->block_bytes;
    return (int64_t)((uintptr_t)job->r.kept.base[operand] - (uintptr_t)nowhere) / bytes;
}

/* Results in the spill file can be written part by part: whole lines fit, and each part's results are one run
 * that fits as well. */
static bool oxi_reduction_stores(const oxi_stream_reduction *job, size_t room) {
    oxi_stream_layout layout;
    if (job->r.chunks != 1) return false;
    for (int64_t i = 0; i < job->flow.count; i++) {
        oxi_reduction_part part = oxi_reduction_at(job, i);
        for (int o = 0; o < job->out_count; o++)
            if (!oxi_reduction_out_span(job, &part, o, &layout) || layout.bytes > room) return false;
    }
    return true;
}

/* Plans over an operand, and results if they are far, that lie nowhere. */
static void oxi_reduction_open(oxi_stream_reduction *job, ox_stream *stream, const oxi_call *call, bool far) {
    static char nowhere[64];
    ox_storage storage;
    ox_tensor *in = &job->x, out[OXI_MAX_OUT];
    oxi_call planned = *call;
    memset(job, 0, sizeof *job);
    memset(&storage, 0, sizeof storage);
    job->region = oxi_region_of(call->in[0]);
    job->x = oxi_borrowed(call->in[0]);
    job->x.offset = 0;
    job->x.storage = &storage;
    storage.device = ox_cpu();
    storage.data = nowhere;
    planned.in = &in;
    for (int o = 0; o < call->out_count; o++) {
        job->out[o] = call->out[o];
        if (!far) continue;
        out[o] = oxi_borrowed(call->out[o]);
        out[o].offset = 0;
        out[o].storage = &storage;
        planned.out[o] = &out[o];
    }
    oxi_reduce_plan(&job->r, &planned);
    job->r.call = call;
    job->far = far;
    job->out_count = call->out_count;
    job->origin = oxi_reduction_origin(job, 0, job->x.dtype, nowhere) +
                  job->r.line_shift / ox_dtype_of(job->x.dtype)->block_bytes;
    for (int o = 0; far && o < call->out_count; o++)
        job->out_origin[o] = oxi_reduction_origin(job, 1 + o, call->out[o]->dtype, nowhere);
    job->x.offset = call->in[0]->offset;
    job->flow.prepare = oxi_reduction_prepare;
    job->flow.compute = oxi_reduction_compute;
    job->flow.cells = 1 + (far ? call->out_count : 0);
    oxi_reduction_cut(job, oxi_stream_room(stream));
}

static ox_status oxi_reduction_run(oxi_stream_reduction *job, ox_stream *stream) {
    if (job->flow.cell_bytes > oxi_stream_room(stream)) stream->stats.whole_loads++;
    ox_status status = oxi_reduce_begin(&job->r);
    if (status == OX_OK) status = oxi_flow_run_all(stream, &job->flow);
    if (status == OX_OK) oxi_reduce_join(&job->r);
    oxi_reduce_end(&job->r);
    return status;
}

/* Results that are not in RAM are made there before they are moved. */
static ox_status oxi_stream_reduce_near(ox_stream *stream, const oxi_call *call) {
    oxi_stream_reduction job;
    oxi_call near = *call;
    ox_status status = OX_OK;
    for (int i = 0; i < call->out_count; i++) {
        const ox_tensor *out = call->out[i];
        if (ox_device_of(out)->host) continue;
        near.out[i] = oxi_tensor_new(ox_cpu(), out->dtype, out->ndim, out->shape);
        if (!near.out[i]) status = OX_ERR_NOMEM;
    }
    if (status == OX_OK) oxi_reduction_open(&job, stream, &near, false);
    if (status == OX_OK) status = oxi_reduction_run(&job, stream);
    for (int i = 0; i < call->out_count; i++) {
        if (near.out[i] == call->out[i]) continue;
        if (status == OX_OK && oxi_is_streamed(call->out[i]))
            status = oxi_stream_copy_by(stream, ox_cpu(), near.out[i], call->out[i]);
        else if (status == OX_OK && !ox_copy_(call->out[i], near.out[i]))
            status = ox_error();
        ox_release(near.out[i]);
    }
    return status;
}

/* Large results go straight to the spill file where their parts are runs of it. */
static ox_status oxi_stream_reduce(ox_stream *stream, const oxi_call *call) {
    oxi_stream_reduction job;
    bool far = true;
    for (int i = 0; i < call->out_count; i++) far = far && oxi_is_streamed(call->out[i]);
    if (far) oxi_reduction_open(&job, stream, call, true);
    if (far && oxi_reduction_stores(&job, oxi_stream_room(stream))) return oxi_reduction_run(&job, stream);
    return oxi_stream_reduce_near(stream, call);
}
