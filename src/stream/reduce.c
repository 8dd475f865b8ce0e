/* Reductions of streamed tensors, in the CPU's own chunks: cpu/reduce.c plans the whole call by its shape and
 * strides, tiles bring the bytes of some groups of results and some chunks of their lines, and the partial
 * results are joined at the end. So the bits are those of the call in RAM. Called by the device. */

typedef struct oxi_stream_reduction {
    oxi_stream_flow flow; /* first */
    oxi_reduce r;
    const oxi_stream_region *region;
    ox_tensor x;            /* the operand, over no memory */
    int64_t origin;         /* element of x, from its first, at kept position 0 of line position 0 */
    int64_t groups, chunks; /* of a step, at most */
    int64_t group_steps, chunk_steps;
} oxi_stream_reduction;

/* Some groups of kept positions, some chunks of their lines. */
typedef struct oxi_reduction_part {
    int64_t group, groups, chunk, chunks;
} oxi_reduction_part;

/* Lowest and highest element that positions [first, end) of a walk reach, from its position 0. */
static void oxi_walk_reach(const oxi_walk *w, int64_t first, int64_t end, int64_t *low, int64_t *high) {
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
        int64_t from = a * w->stride[0][d], to = b * w->stride[0][d];
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
    oxi_walk_reach(&r->kept, first, oxi_min_i64(end, r->kept.numel), &low, &high);
    first = part->chunk * r->chunk;
    end = (part->chunk + part->chunks) * r->chunk;
    oxi_walk_reach(&r->line, first, oxi_min_i64(end, r->line.numel), &low, &high);
    memset(out, 0, sizeof *out);
    out->align = oxi_layout_align(job->x.dtype);
    out->first = (uint64_t)((job->x.offset + low) * bytes);
    out->bytes = out->run = (size_t)((high - low + 1) * bytes);
    out->offset = -low; /* of x's first element, seen from the cell's */
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
    return reduces && !ox_device_of(call->in[0])->host;
}

/* The results lie in RAM. */
static ox_status oxi_stream_reduce_near(ox_stream *stream, const oxi_call *call) {
    static char nowhere[64];
    oxi_stream_reduction job;
    ox_storage storage;
    ox_tensor *in = &job.x;
    oxi_call planned = *call;
    size_t room = oxi_stream_room(stream);
    memset(&job, 0, sizeof job);
    memset(&storage, 0, sizeof storage);
    job.region = oxi_region_of(call->in[0]);
    job.x = oxi_borrowed(call->in[0]);
    job.x.offset = 0;
    job.x.storage = &storage;
    storage.device = stream->desc.compute;
    storage.data = nowhere;
    planned.in = &in;
    oxi_reduce_plan(&job.r, &planned);
    int64_t bytes = ox_dtype_of(job.x.dtype)->block_bytes;
    job.origin =
        (int64_t)((uintptr_t)job.r.kept.base[0] - (uintptr_t)nowhere) / bytes + job.r.line_shift / bytes;
    job.x.offset = call->in[0]->offset;
    job.flow.prepare = oxi_reduction_prepare;
    job.flow.compute = oxi_reduction_compute;
    job.flow.cells = 1;
    oxi_reduction_cut(&job, room);
    if (job.flow.cell_bytes > room) stream->stats.whole_loads++;
    ox_status status = oxi_reduce_begin(&job.r);
    if (status == OX_OK) status = oxi_flow_run_all(stream, &job.flow);
    if (status == OX_OK) oxi_reduce_join(&job.r);
    oxi_reduce_end(&job.r);
    return status;
}

/* Large results are made in RAM, too, before they are moved. */
static ox_status oxi_stream_reduce(ox_stream *stream, const oxi_call *call) {
    oxi_call near = *call;
    ox_status status = OX_OK;
    for (int i = 0; i < call->out_count; i++) {
        const ox_tensor *out = call->out[i];
        if (ox_device_of(out)->host) continue;
        near.out[i] = oxi_tensor_new(stream->desc.compute, out->dtype, out->ndim, out->shape);
        if (!near.out[i]) status = OX_ERR_NOMEM;
    }
    if (status == OX_OK) status = oxi_stream_reduce_near(stream, &near);
    for (int i = 0; i < call->out_count; i++) {
        if (near.out[i] == call->out[i]) continue;
        if (status == OX_OK) status = oxi_stream_copy_plan(stream, near.out[i], call->out[i]);
        ox_release(near.out[i]);
    }
    return status;
}
