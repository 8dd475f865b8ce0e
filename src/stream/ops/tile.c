/* Cutting a call into tiles: how large the pieces are, where a piece of a strided operand lies in its file.
 * A tile computes its elements of the result as the whole call would, so pieces have the bits of the whole.
 * stream/ops/cuttable_dims.c says which dims may be cut. Called by the device. */

/* ---- where a part of an operand lies ------------------------------------------------------------------ */

/* A dim as a step through memory, in elements; the sign of its stride is in the header alone. */
typedef struct oxi_layout_dim {
    int dim;
    int64_t count, step;
} oxi_layout_dim;

/* Dims that take part, longest steps first. */
static int oxi_layout_dims(const ox_tensor *t, oxi_layout_dim *out) {
    int n = 0;
    for (int d = 0; d < t->ndim; d++) {
        oxi_layout_dim one;
        one.dim = d;
        one.count = t->shape[d];
        one.step = llabs(t->stride[d]);
        if (one.count == 1 || one.step == 0) continue;
        int at = n++;
        for (; at > 0 && out[at - 1].step < one.step; at--) out[at] = out[at - 1];
        out[at] = one;
    }
    return n;
}

static int64_t oxi_block_count(ox_dtype dtype, int64_t elements) {
    return elements / oxi_info(dtype)->block_elements;
}

/* All of it in one run, with the strides that it has. span: elements from the lowest up to the highest. */
static void oxi_layout_span(const ox_tensor *t, int64_t low, int64_t span, oxi_stream_layout *out) {
    size_t block = (size_t)oxi_info(t->dtype)->block_bytes;
    out->first = oxi_byte_offset(t->dtype, low);
    out->bytes = out->run = (size_t)oxi_block_count(t->dtype, span) * block;
    out->loops = 0;
    out->offset = t->offset - low;
    memcpy(out->stride, t->stride, sizeof out->stride);
}

/* Runs of `run` elements side by side, the loops around them closed up. */
static void oxi_layout_pack(const ox_tensor *t, int64_t low, int64_t run, const oxi_layout_dim *dims,
                            int loops, int all, oxi_stream_layout *out) {
    size_t block = (size_t)oxi_info(t->dtype)->block_bytes;
    out->first = oxi_byte_offset(t->dtype, low);
    out->run = (size_t)oxi_block_count(t->dtype, run) * block;
    out->loops = loops;
    memset(out->stride, 0, sizeof out->stride);
    for (int j = loops; j < all; j++) out->stride[dims[j].dim] = dims[j].step;
    int64_t packed = run;
    out->bytes = out->run;
    for (int j = loops - 1; j >= 0; j--) {
        out->count[j] = dims[j].count;
        out->step[j] = oxi_block_count(t->dtype, dims[j].step) * (int64_t)block;
        out->stride[dims[j].dim] = packed;
        packed *= dims[j].count;
        out->bytes *= (size_t)dims[j].count;
    }
    out->offset = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (t->stride[d] >= 0) continue;
        out->stride[d] = -out->stride[d];
        out->offset += -(t->shape[d] - 1) * out->stride[d];
    }
}

/* As for tensors in mapped files: blocks are read a few bytes at a time. */
static int oxi_layout_align(ox_dtype dtype) {
    return oxi_is_block(dtype) ? 4 : oxi_info(dtype)->block_bytes;
}

/* Where the elements of t lie in its region, and how they are put into a cell: in one run with the gaps
 * between them, or the runs packed. */
static void oxi_layout_of(const ox_tensor *t, bool pack, oxi_stream_layout *out) {
    oxi_layout_dim dims[OX_MAX_DIMS];
    memset(out, 0, sizeof *out);
    out->align = oxi_layout_align(t->dtype);
    if (ox_numel(t) == 0) return;
    int all = oxi_layout_dims(t, dims), loops = all;
    int64_t block = oxi_info(t->dtype)->block_elements, low = t->offset, high = t->offset, run = 1;
    for (int d = 0; d < t->ndim; d++) *(t->stride[d] < 0 ? &low : &high) += (t->shape[d] - 1) * t->stride[d];
    while (loops > 0 && dims[loops - 1].step == run) run *= dims[--loops].count;
    int64_t span = (high / block - low / block + 1) * block, packed = run;
    for (int j = 0; j < loops; j++) packed *= dims[j].count;
    if (pack && packed <= span) { /* windows of unfold share elements, and span less */
        oxi_layout_pack(t, low, run, dims, loops, all, out);
    } else {
        oxi_layout_span(t, low, span, out);
        out->gaps = span != packed;
    }
}

/* What a layout costs to read, in bytes: a request takes the time of some more. */
enum { OXI_REQUEST_COST = 4096 };
static double oxi_layout_cost(const oxi_stream_layout *layout) {
    double runs = 1;
    for (int j = 0; j < layout->loops; j++) runs *= (double)layout->count[j];
    return (double)layout->bytes + runs * OXI_REQUEST_COST;
}

/* The better of the two ways, of those that fit the room. */
static bool oxi_layout_packs(const ox_tensor *t, size_t room) {
    oxi_stream_layout span, packed;
    oxi_layout_of(t, false, &span);
    oxi_layout_of(t, true, &packed);
    return span.bytes > room || oxi_layout_cost(&span) > oxi_layout_cost(&packed);
}

/* ---- the space that is cut ---------------------------------------------------------------------------- */

/* Dims along which a call falls into independent parts. */
typedef struct oxi_stream_space {
    int ndim;
    int64_t size[OX_MAX_DIMS];
    int64_t unit[OX_MAX_DIMS];                 /* parts are multiples; 0 = 1 */
    int dim[OXI_STREAM_OPERANDS][OX_MAX_DIMS]; /* of each operand; -1 = the whole operand is in each part */
    int64_t times[OXI_STREAM_OPERANDS][OX_MAX_DIMS]; /* elements of that dim for one of the space */
} oxi_stream_space;

typedef struct oxi_stream_plan {
    oxi_stream_flow flow; /* first: the flow's functions get the plan */
    ox_device *compute;
    const oxi_call *call;
    ox_tensor operand[OXI_STREAM_OPERANDS]; /* headers; may be reshaped */
    bool there[OXI_STREAM_OPERANDS], streamed[OXI_STREAM_OPERANDS];
    bool packs[OXI_STREAM_OPERANDS]; /* how the parts of an operand are put into cells */
    bool keeps_strides;  /* results hang on strides: nothing is packed */
    bool in_order;       /* parts run one after the other, on results that keep what those before left */
    oxi_stream_space space;
    int64_t part[OX_MAX_DIMS]; /* the largest part's size */
    int64_t parts[OX_MAX_DIMS];
    oxi_part told;       /* what each part is told of the whole; its shared memory is this plan's */
    int told_dim;        /* of the space, and one: parts are told where they begin along it; 0: of none */
    oxi_shared shared;
    const int64_t *rows; /* NULL, or which row of operand 0 is at each place along dim 0 */
} oxi_stream_plan;

/* Adds a dim of `size` that no operand has yet; gives its number. */
static int oxi_space_add(oxi_stream_space *space, int64_t size) {
    int d = space->ndim++;
    space->size[d] = size;
    space->unit[d] = 1;
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        space->dim[i][d] = -1;
        space->times[i][d] = 1;
    }
    return d;
}

/* A part of an operand: from start[d], count[d] along each dim of the space. */
static ox_tensor oxi_plan_part(const oxi_stream_plan *plan, int operand, const int64_t *start,
                               const int64_t *count) {
    ox_tensor t = plan->operand[operand];
    for (int d = 0; d < plan->space.ndim; d++) {
        int at = plan->space.dim[operand][d];
        if (at < 0) continue;
        int64_t first = operand == 0 && d == 0 && plan->rows ? plan->rows[start[0]] : start[d];
        t.offset += first * plan->space.times[operand][d] * t.stride[at];
        t.shape[at] = count[d] * plan->space.times[operand][d];
    }
    return t;
}

/* Where a part's first element is among those of the whole's first result. */
static int64_t oxi_plan_first(const oxi_stream_plan *plan, const int64_t *start) {
    const int result = OXI_MAX_IN;
    const ox_tensor *out = &plan->operand[result];
    int64_t first = 0, step = 1;
    for (int at = out->ndim - 1; at >= 0; step *= out->shape[at--])
        for (int d = 0; d < plan->space.ndim; d++)
            if (plan->space.dim[result][d] == at) first += start[d] * plan->space.times[result][d] * step;
    return first;
}

/* What the part that begins there is told. */
static oxi_part oxi_plan_tell(const oxi_stream_plan *plan, const int64_t *start) {
    oxi_part told = plan->told;
    told.first = oxi_plan_first(plan, start);
    if (plan->told_dim > 0) told.start = start[plan->told_dim - 1];
    return told;
}

static bool oxi_plan_is_result(int operand) {
    return operand >= OXI_MAX_IN;
}

static bool oxi_plan_packs(const oxi_stream_plan *plan, const ox_tensor *part, size_t room) {
    return !plan->keeps_strides && oxi_layout_packs(part, room);
}

/* What parts of a size take. */
typedef struct oxi_plan_cost {
    size_t most;    /* bytes of the largest streamed operand */
    double excess;  /* bytes beyond the room, of all operands */
    double traffic; /* cost of reading and writing all parts */
} oxi_plan_cost;

static oxi_plan_cost oxi_plan_measure(const oxi_stream_plan *plan, const int64_t *count, size_t room) {
    static const int64_t origin[OX_MAX_DIMS] = {0};
    oxi_plan_cost cost = {0, 0, 0};
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        if (!plan->streamed[i]) continue;
        oxi_stream_layout layout;
        ox_tensor t = oxi_plan_part(plan, i, origin, count);
        oxi_layout_of(&t, oxi_plan_packs(plan, &t, room), &layout);
        if (layout.bytes > cost.most) cost.most = layout.bytes;
        if (layout.bytes > room) cost.excess += (double)(layout.bytes - room);
        cost.traffic += oxi_layout_cost(&layout);
    }
    for (int d = 0; d < plan->space.ndim; d++) cost.traffic *= (double)plan->space.size[d] / (double)count[d];
    return cost;
}

/* How many parts of at most `most` along dim d there are, and what the largest of them is: they are as even
 * as units allow. */
static int64_t oxi_space_parts(const oxi_stream_space *space, int d, int64_t most, int64_t *largest) {
    int64_t unit = space->unit[d], units = oxi_parts(space->size[d], unit), per = most / unit;
    int64_t parts = oxi_parts(units, per > 0 ? per : 1);
    *largest = oxi_parts(units, parts) * unit;
    if (*largest > space->size[d]) *largest = space->size[d];
    return parts;
}

/* Halves dim d, up to a whole unit; false if it is one. */
static bool oxi_space_halve(const oxi_stream_space *space, int d, int64_t *part) {
    int64_t old = part[d], half = oxi_parts(old, 2 * space->unit[d]) * space->unit[d];
    if (half < old) part[d] = half;
    return half < old;
}

/* The dim to halve next: of those that bring the parts closer to the room, the one that costs least traffic,
 * the outermost of equals; -1. */
static int oxi_plan_choose_dim(const oxi_stream_plan *plan, int64_t *part, size_t room) {
    oxi_plan_cost cost = oxi_plan_measure(plan, part, room);
    int best = -1;
    double least = 0;
    for (int d = 0; d < plan->space.ndim; d++) {
        int64_t old = part[d];
        if (!oxi_space_halve(&plan->space, d, part)) continue;
        oxi_plan_cost now = oxi_plan_measure(plan, part, room);
        part[d] = old;
        if (now.excess >= cost.excess || (best >= 0 && now.traffic > 0.999 * least)) continue;
        best = d;
        least = now.traffic;
    }
    return best;
}

/* Dim d was halved last: as large as the room allows. */
static void oxi_plan_grow(const oxi_stream_plan *plan, int d, int64_t *part, size_t room) {
    int64_t unit = plan->space.unit[d], size = plan->space.size[d], low = part[d] / unit, high = 2 * low;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        part[d] = oxi_min_i64(middle * unit, size);
        if (oxi_plan_measure(plan, part, room).most <= room)
            low = middle;
        else
            high = middle - 1;
    }
    part[d] = oxi_min_i64(low * unit, size);
}

/* Counts the parts, evens them out, and fixes how each operand is put into its cells: as its largest part is.
 * Results with gaps are read, changed and written one after the other, for their gaps hold each other. */
static void oxi_plan_settle(oxi_stream_plan *plan, size_t room) {
    static const int64_t origin[OX_MAX_DIMS] = {0};
    plan->flow.count = 1;
    for (int d = 0; d < plan->space.ndim; d++) {
        plan->parts[d] = oxi_space_parts(&plan->space, d, plan->part[d], &plan->part[d]);
        plan->flow.count *= plan->parts[d];
    }
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        oxi_stream_layout layout;
        if (!plan->streamed[i]) continue;
        ox_tensor t = oxi_plan_part(plan, i, origin, plan->part);
        plan->packs[i] = oxi_plan_packs(plan, &t, room);
        oxi_layout_of(&t, plan->packs[i], &layout);
        if (layout.bytes > plan->flow.cell_bytes) plan->flow.cell_bytes = layout.bytes;
        if (oxi_plan_is_result(i) && layout.gaps) plan->flow.window = 1;
    }
}

/* Sizes of the parts: as large as `room` bytes an operand allow, in few pieces of the files. */
static void oxi_plan_cut(oxi_stream_plan *plan, size_t room) {
    const oxi_stream_space *space = &plan->space;
    int last = -1;
    memcpy(plan->part, space->size, sizeof plan->part);
    if (plan->rows) plan->part[0] = 1; /* rows lie anywhere */
    size_t most = oxi_plan_measure(plan, plan->part, room).most;
    while (most > room) {
        int d = oxi_plan_choose_dim(plan, plan->part, room);
        if (d < 0) break;
        (void)oxi_space_halve(space, d, plan->part);
        most = oxi_plan_measure(plan, plan->part, room).most;
        last = d;
    }
    if (last >= 0 && most <= room) oxi_plan_grow(plan, last, plan->part, room);
    oxi_plan_settle(plan, room);
}

/* Part number `index`: the last dim goes fastest. */
static void oxi_plan_place(const oxi_stream_plan *plan, int64_t index, int64_t *start, int64_t *count) {
    for (int d = plan->space.ndim - 1; d >= 0; d--) {
        int64_t at = index % plan->parts[d], unit = plan->space.unit[d];
        int64_t units = oxi_parts(plan->space.size[d], unit);
        index /= plan->parts[d];
        int64_t whole = units / plan->parts[d], longer = units % plan->parts[d];
        int64_t end = (whole * (at + 1) + (at + 1 < longer ? at + 1 : longer)) * unit;
        start[d] = (whole * at + (at < longer ? at : longer)) * unit;
        count[d] = (end < plan->space.size[d] ? end : plan->space.size[d]) - start[d];
    }
}

/* ---- the flow of a plan ------------------------------------------------------------------------------- */

static const oxi_stream_region *oxi_region_of(const ox_tensor *t) {
    return (const oxi_stream_region *)t->storage->data;
}

static ox_status oxi_plan_prepare(oxi_stream_flow *flow, int64_t index, oxi_stream_step *step) {
    const oxi_stream_plan *plan = (const oxi_stream_plan *)(const void *)flow;
    int64_t start[OX_MAX_DIMS], count[OX_MAX_DIMS];
    oxi_plan_place(plan, index, start, count);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        oxi_stream_source *source = &step->source[i];
        if (!plan->streamed[i]) continue;
        ox_tensor t = oxi_plan_part(plan, i, start, count);
        source->region = oxi_region_of(&t);
        oxi_layout_of(&t, plan->packs[i], &source->layout);
        source->use = oxi_plan_is_result(i) ? OXI_STREAM_STORE : OXI_STREAM_LOAD;
        if (oxi_plan_is_result(i) && source->layout.gaps)
            source->use |= OXI_STREAM_LOAD; /* what lies between the elements stays */
    }
    return OX_OK;
}

/* A header over bytes in host memory; it holds no reference. */
static void oxi_plan_borrow(const oxi_stream_plan *plan, const oxi_stream_source *source, ox_tensor *t,
                            ox_storage *storage) {
    static char nothing[64];
    memset(storage, 0, sizeof *storage);
    storage->references = 1;
    storage->device = plan->compute;
    storage->data = source->data ? source->data : nothing;
    storage->bytes = source->layout.bytes;
    storage->borrowed = true;
    t->storage = storage;
    t->offset = source->layout.offset;
    memcpy(t->stride, source->layout.stride, sizeof t->stride);
}

/* The same in the memory of a device that cannot read the host's. The storage is to be released. *sent: when
 * the bytes are there, which a device that reads pinned cells does by itself. */
static ox_status oxi_plan_upload(const oxi_stream_plan *plan, const oxi_stream_source *source, ox_tensor *t,
                                ox_storage **storage, oxi_event *sent) {
    ox_device *device = plan->compute;
    *storage = oxi_storage_new(device, source->layout.bytes);
    if (!*storage) return OX_ERR_NOMEM;
    t->storage = *storage;
    t->offset = source->layout.offset;
    memcpy(t->stride, source->layout.stride, sizeof t->stride);
    if (!(source->use & OXI_STREAM_LOAD) || source->layout.bytes == 0) return OX_OK;
    const char *cells = plan->flow.pinned;
    bool pinned = cells && source->data >= cells && source->data < cells + plan->flow.pinned_bytes;
    if (!pinned || !device->copy_async)
        return device->write(device, (*storage)->data, 0, source->data, source->layout.bytes);
    oxi_place to = {device, (*storage)->data, 0}, from = {ox_cpu(), source->data, 0};
    return device->copy_async(device, &to, &from, source->layout.bytes, NULL, sent);
}

/* Parts of streamed operands go to the device, the call runs there, results come back into their cells. */
static ox_status oxi_plan_run_there(const oxi_stream_plan *plan, const oxi_stream_step *step, ox_tensor *part,
                                    const oxi_call *call, const oxi_part *told) {
    ox_device *device = plan->compute;
    ox_storage *storage[OXI_STREAM_OPERANDS];
    oxi_event sent[OXI_STREAM_OPERANDS];
    ox_status status = OX_OK;
    memset(storage, 0, sizeof storage);
    memset(sent, 0, sizeof sent);
    for (int i = 0; i < OXI_STREAM_OPERANDS && status == OX_OK; i++)
        if (plan->streamed[i])
            status = oxi_plan_upload(plan, &step->source[i], &part[i], &storage[i], &sent[i]);
    if (status == OX_OK) status = oxi_run_part(device, call, told);
    for (int i = OXI_MAX_IN; i < OXI_STREAM_OPERANDS && status == OX_OK; i++)
        if (storage[i])
            status = device->read(device, storage[i]->data, 0, step->source[i].data,
                                  step->source[i].layout.bytes);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) { /* the cells are filled again behind this */
        ox_status over = oxi_event_wait(&sent[i]);
        if (status == OX_OK) status = over;
        if (storage[i]) oxi_storage_release(storage[i]);
    }
    return status;
}

static ox_status oxi_plan_compute(oxi_stream_flow *flow, int64_t index, const oxi_stream_step *step) {
    oxi_stream_plan *plan = (oxi_stream_plan *)(void *)flow;
    ox_tensor part[OXI_STREAM_OPERANDS], *in[OXI_MAX_IN];
    ox_storage storage[OXI_STREAM_OPERANDS];
    int64_t start[OX_MAX_DIMS], count[OX_MAX_DIMS];
    oxi_call call = *plan->call;
    oxi_plan_place(plan, index, start, count);
    oxi_part told = oxi_plan_tell(plan, start);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        if (!plan->there[i]) continue;
        part[i] = oxi_plan_part(plan, i, start, count);
        part[i].references = 1;
        if (plan->streamed[i] && plan->compute->host)
            oxi_plan_borrow(plan, &step->source[i], &part[i], &storage[i]);
    }
    for (int i = 0; i < call.in_count; i++) in[i] = plan->there[i] ? &part[i] : NULL;
    for (int i = 0; i < call.out_count; i++) call.out[i] = &part[OXI_MAX_IN + i];
    call.in = in;
    if (oxi_op_row_of(call.op)->family == OXI_FAMILY_FILL)
        call.attr.shape.shape = ox_shape_from(part[OXI_MAX_IN].ndim, part[OXI_MAX_IN].shape);
    return plan->compute->host ? oxi_run_part(plan->compute, &call, &told)
                               : oxi_plan_run_there(plan, step, part, &call, &told);
}
