/* Lines of a streamed operand, for reductions and for rows longer than a tile: the CPU plans the whole call
 * by its shape and strides (cpu/reduce/reduce.c, cpu/rows/softmax_norm.c), tiles bring the bytes of some
 * groups of kept positions and of some part of their lines. Called by reduce.c and long_rows.c. */

enum { OXI_LINES_OPERANDS = 1 + OXI_MAX_OUT };

typedef struct oxi_stream_lines {
    oxi_stream_flow flow; /* first */
    oxi_reduce *r;
    int operands;                    /* of the walks: x, then results */
    ox_tensor t[OXI_LINES_OPERANDS]; /* headers over no memory, or results in RAM as they are */
    bool streamed[OXI_LINES_OPERANDS];
    bool lined[OXI_LINES_OPERANDS];     /* an element for each of a line; else one a kept position */
    int64_t origin[OXI_LINES_OPERANDS]; /* element at position 0 of both walks, from the tensor's first */
    int64_t shift[OXI_LINES_OPERANDS];  /* bytes from a kept position's address to its line's start */
    int64_t groups, elements;           /* of a part, at most; elements: whole chunks, or a part of one */
    int64_t group_steps, line_steps;
} oxi_stream_lines;

/* Some groups of kept positions, elements [first, first + count) of their lines. */
typedef struct oxi_lines_part {
    int64_t group, groups, first, count;
} oxi_lines_part;

/* ---- what a part covers ------------------------------------------------------------------------------- */

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

/* Bytes of an operand's region that a part needs, in one run; false when it has others between its own. */
static bool oxi_lines_span(const oxi_stream_lines *job, int operand, const oxi_lines_part *part,
                           oxi_stream_layout *out) {
    const oxi_reduce *r = job->r;
    const ox_tensor *t = &job->t[operand];
    int64_t low = job->origin[operand], high = low, bytes = oxi_info(t->dtype)->block_bytes;
    int64_t kept = part->group * r->group;
    int64_t end = oxi_min_i64(kept + part->groups * r->group, r->kept.numel), elements = end - kept;
    oxi_walk_reach(&r->kept, operand, kept, end, &low, &high);
    if (job->lined[operand]) {
        oxi_walk_reach(&r->line, operand, part->first, part->first + part->count, &low, &high);
        elements *= part->count;
    }
    memset(out, 0, sizeof *out);
    out->align = oxi_layout_align(t->dtype);
    out->first = (uint64_t)((t->offset + low) * bytes);
    out->bytes = out->run = (size_t)((high - low + 1) * bytes);
    out->offset = -low; /* of the tensor's first element, seen from the cell's */
    return high - low + 1 == elements;
}

/* Part number `index`: those of a line follow each other. A chunk in parts begins each with a part of its
 * own. */
static oxi_lines_part oxi_lines_at(const oxi_stream_lines *job, int64_t index) {
    const oxi_reduce *r = job->r;
    oxi_lines_part part;
    int64_t at = index % job->line_steps, end = r->line.numel;
    part.group = index / job->line_steps * job->groups;
    part.groups = oxi_min_i64(oxi_reduce_groups(r) - part.group, job->groups);
    part.first = at * job->elements;
    if (job->elements < r->chunk) {
        int64_t pieces = oxi_parts(r->chunk, job->elements), chunk = at / pieces * r->chunk;
        part.first = chunk + at % pieces * job->elements;
        end = oxi_min_i64(end, chunk + r->chunk);
    }
    part.count = oxi_min_i64(end - part.first, job->elements);
    return part;
}

/* ---- cutting ------------------------------------------------------------------------------------------ */

/* x, and results that are as long. */
static bool oxi_lines_fit(const oxi_stream_lines *job, const oxi_lines_part *part, size_t room) {
    oxi_stream_layout layout;
    for (int k = 0; k < job->operands; k++) {
        if (!job->streamed[k] || !job->lined[k]) continue;
        (void)oxi_lines_span(job, k, part, &layout);
        if (layout.bytes > room) return false;
    }
    return true;
}

/* Widens `side`, one of the part's two counts, in multiples of `unit` up to `most`, as far as the part fits
 * the room; at least one unit. */
static void oxi_lines_widen(const oxi_stream_lines *job, oxi_lines_part *part, int64_t *side, int64_t unit,
                            int64_t most, size_t room) {
    int64_t low = 1, high = oxi_parts(most, unit);
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        *side = oxi_min_i64(middle * unit, most);
        if (oxi_lines_fit(job, part, room))
            low = middle;
        else
            high = middle - 1;
    }
    *side = oxi_min_i64(low * unit, most);
}

/* Fewer lines in a group where tiles are small: the bits do not hang on how many a task takes. */
static void oxi_lines_shrink_groups(oxi_stream_lines *job, size_t room) {
    oxi_reduce *r = job->r;
    int64_t unit = r->by_columns ? r->width : 1, chunk = oxi_min_i64(r->chunk, r->line.numel);
    oxi_lines_part part = {0, 1, 0, chunk};
    while (r->group > unit && !oxi_lines_fit(job, &part, room))
        r->group = oxi_parts(r->group, 2 * unit) * unit;
}

/* Whole lines of some groups where one fits; else some chunks of all groups; else, by columns, some rows of a
 * chunk of all groups, which are taken as many at a time as in RAM; else some chunks of one group. */
static void oxi_lines_cut(oxi_stream_lines *job, size_t room) {
    oxi_reduce *r = job->r;
    oxi_lines_shrink_groups(job, room);
    int64_t groups = oxi_reduce_groups(r), numel = r->line.numel, chunk = oxi_min_i64(r->chunk, numel);
    oxi_lines_part part = {0, 1, 0, numel};
    if (oxi_lines_fit(job, &part, room)) {
        oxi_lines_widen(job, &part, &part.groups, 1, groups, room);
    } else {
        part.groups = groups;
        part.count = chunk;
        if (oxi_lines_fit(job, &part, room)) {
            oxi_lines_widen(job, &part, &part.count, chunk, numel, room);
        } else if (r->by_columns && r->line.ndim == 1) {
            r->in_parts = chunk > OXI_REDUCE_ROWS;
            oxi_lines_widen(job, &part, &part.count, OXI_REDUCE_ROWS, chunk, room);
        } else {
            part.groups = 1;
            oxi_lines_widen(job, &part, &part.count, chunk, numel, room);
        }
    }
    job->groups = part.groups;
    job->elements = part.count;
    job->group_steps = oxi_parts(groups, part.groups);
    job->line_steps = oxi_parts(numel, part.count);
    if (part.count < r->chunk)
        job->line_steps = numel / r->chunk * oxi_parts(r->chunk, part.count) +
                          oxi_parts(numel % r->chunk, part.count);
    job->flow.count = job->group_steps * job->line_steps;
    for (int64_t i = 0; i < job->flow.count; i++)
        for (int k = 0; k < job->operands; k++) {
            oxi_stream_layout layout;
            part = oxi_lines_at(job, i);
            if (!job->streamed[k]) continue;
            (void)oxi_lines_span(job, k, &part, &layout);
            if (layout.bytes > job->flow.cell_bytes) job->flow.cell_bytes = layout.bytes;
        }
}

/* Whether the streamed results of every part are one run of their own. */
static bool oxi_lines_can_store(const oxi_stream_lines *job) {
    oxi_stream_layout layout;
    for (int64_t i = 0; i < job->flow.count; i++) {
        oxi_lines_part part = oxi_lines_at(job, i);
        for (int k = 1; k < job->operands; k++)
            if (job->streamed[k] && !oxi_lines_span(job, k, &part, &layout)) return false;
    }
    return true;
}

/* ---- planning ------------------------------------------------------------------------------------------ */

/* The call as it is planned: over streamed operands that lie nowhere. */
typedef struct oxi_lines_call {
    oxi_call call;
    ox_tensor *in[OXI_MAX_IN];
    ox_storage storage;
} oxi_lines_call;

static char oxi_lines_nowhere[64];

/* far: results are of the stream, too. */
static void oxi_lines_begin(oxi_stream_lines *job, const oxi_call *call, bool far, oxi_lines_call *planned) {
    memset(job, 0, sizeof *job);
    memset(planned, 0, sizeof *planned);
    planned->call = *call;
    planned->call.in = planned->in;
    planned->storage.device = ox_cpu();
    planned->storage.data = oxi_lines_nowhere;
    job->operands = 1 + call->out_count;
    for (int i = 0; i < call->in_count; i++) planned->in[i] = call->in[i];
    for (int k = 0; k < job->operands; k++) {
        job->t[k] = oxi_borrowed(k == 0 ? call->in[0] : call->out[k - 1]);
        job->streamed[k] = k == 0 || far;
        if (!job->streamed[k]) continue;
        job->flow.cells++;
        job->t[k].offset = 0;
        job->t[k].storage = &planned->storage;
        if (k == 0)
            planned->in[0] = &job->t[0];
        else
            planned->call.out[k - 1] = &job->t[k];
    }
}

/* After planning: where everything begins, for the call's own operands. lined: those that have lines. */
static void oxi_lines_end(oxi_stream_lines *job, const oxi_call *call, oxi_reduce *r, int lined) {
    job->r = r;
    r->call = call;
    for (int k = 0; k < job->operands; k++) {
        int64_t bytes = oxi_info(job->t[k].dtype)->block_bytes;
        job->lined[k] = k < lined;
        if (!job->streamed[k]) continue;
        int64_t first = (int64_t)((uintptr_t)r->kept.base[k] - (uintptr_t)oxi_lines_nowhere);
        job->origin[k] = (first + job->shift[k]) / bytes;
        job->t[k].offset = (k == 0 ? call->in[0] : call->out[k - 1])->offset;
        job->t[k].storage = (k == 0 ? call->in[0] : call->out[k - 1])->storage;
    }
}

/* ---- a step -------------------------------------------------------------------------------------------- */

static void oxi_lines_prepare(const oxi_stream_lines *job, const oxi_lines_part *part, bool stores,
                              oxi_stream_step *step) {
    for (int k = 0; k < job->operands; k++) {
        oxi_stream_source *source = &step->source[k == 0 ? 0 : OXI_PLAN_OUT + k - 1];
        if (!job->streamed[k] || (k > 0 && !stores)) continue;
        source->use = k == 0 ? OXI_STREAM_LOAD : OXI_STREAM_STORE;
        source->region = oxi_region_of(&job->t[k]);
        (void)oxi_lines_span(job, k, part, &source->layout);
    }
}

typedef void (*oxi_lines_fn)(const oxi_stream_lines *job, int64_t group, int64_t first, int64_t count,
                             int lane);

typedef struct oxi_lines_tasks {
    const oxi_stream_lines *job;
    oxi_lines_part part;
    oxi_lines_fn run;
    int64_t chunk, chunks; /* that the part touches */
} oxi_lines_tasks;

static void oxi_lines_task(void *arg, int64_t index, int lane) {
    const oxi_lines_tasks *tasks = (const oxi_lines_tasks *)arg;
    const oxi_lines_part *part = &tasks->part;
    int64_t chunk = tasks->job->r->chunk, first = (tasks->chunk + index % tasks->chunks) * chunk;
    int64_t end = oxi_min_i64(first + chunk, part->first + part->count);
    if (first < part->first) first = part->first;
    tasks->run(tasks->job, part->group + index / tasks->chunks, first, end - first, lane);
}

static void oxi_lines_reduce(const oxi_stream_lines *job, int64_t group, int64_t first, int64_t count,
                             int lane) {
    oxi_reduce_part(job->r, group, first, count, lane);
}

/* Points the walks at the step's bytes, and runs over all groups and chunks of the part. */
static void oxi_lines_run(oxi_stream_lines *job, const oxi_lines_part *part, const oxi_stream_step *step,
                          oxi_lines_fn run) {
    oxi_lines_tasks tasks;
    oxi_reduce *r = job->r;
    for (int k = 0; k < job->operands; k++) {
        const oxi_stream_source *source = &step->source[k == 0 ? 0 : OXI_PLAN_OUT + k - 1];
        if (source->use == OXI_STREAM_UNUSED) continue;
        /* Position 0 may lie outside the cell; only its distance to the part matters. */
        int64_t from =
            (job->origin[k] + source->layout.offset) * oxi_info(job->t[k].dtype)->block_bytes;
        r->kept.base[k] = (char *)((uintptr_t)source->data + (uintptr_t)(from - job->shift[k]));
    }
    tasks.job = job;
    tasks.part = *part;
    tasks.run = run;
    tasks.chunk = part->first / r->chunk;
    tasks.chunks = (part->first + part->count - 1) / r->chunk - tasks.chunk + 1;
    oxi_parallel_for(part->groups * tasks.chunks, oxi_lines_task, &tasks);
}
