/* The executor of chains: a piece of each operand is brought into the lane type in L1, the program's kernels
 * run from tile to tile, and the results are stored at its end: what is written may be what was read.
 * Operands that are contiguous lanes are used where they lie, and the last step writes its result there. */

enum { OXI_CHAIN_TILE_BYTES = 2048, OXI_CHAIN_PARTS = 4 /* of a piece, for a kernel of all steps */ };

typedef struct oxi_chain_work {
    const oxi_chain *program;
    oxi_map_kernel kernel[OXI_CHAIN_STEPS];
    oxi_map_numbers numbers[OXI_CHAIN_STEPS];
    oxi_load_kernel load[OXI_CHAIN_OPERANDS]; /* NULL: the operand's elements are the lane's, or conditions */
    oxi_store_kernel store[OXI_MAX_OUT];        /* NULL: the result's elements are the lane's */
    bool streams[OXI_MAX_OUT], direct;          /* past the caches; the last step's result where it belongs */
    const char *constant[OXI_CHAIN_OPERANDS + OXI_CHAIN_NUMBERS]; /* tiles full of what is one number */
    char *tiles;             /* of each lane: those of steps, those of operands, room to gather elements */
    int64_t lane_bytes, tile_bytes;
    void (*stream)(size_t bytes, const void *from, void *to);
    oxi_load_kernel widen;
    bool adam;               /* the program is that of kernels->chain_adam */
    const double *number;
} oxi_chain_work;

/* Operand i of a piece as kernels read it. */
static const void *oxi_chain_read(const oxi_chain_work *work, const oxi_walk *w, const oxi_cursor *c, int i,
                                  char *tile, char *gathered) {
    int k = work->program->result_count + i;
    int64_t step = w->step[k], bytes = w->bytes[k];
    const void *from = c->p[k];
    if (work->constant[i]) return work->constant[i];
    if (!work->load[i] && step == 1) return from;
    if (!work->load[i] && step == 0) {
        oxi_splat_run(c->n, bytes, c->p[k], tile, bytes);
    } else if (!work->load[i]) {
        oxi_copy_run(c->n, bytes, c->p[k], step * bytes, tile, bytes);
    } else {
        from = oxi_side_by_side(c->n, bytes, from, &step, gathered);
        work->load[i](c->n, from, step, tile);
    }
    return tile;
}

static void oxi_chain_store(const oxi_chain_work *work, const oxi_walk *w, const oxi_cursor *c, int r,
                            const char *tile) {
    int64_t bytes = w->bytes[r];
    if (work->store[r])
        work->store[r](c->n, tile, c->p[r], w->step[r]);
    else if (work->streams[r])
        work->stream((size_t)(c->n * bytes), tile, c->p[r]);
    else
        oxi_copy_run(c->n, bytes, tile, bytes, c->p[r], w->step[r] * bytes);
}

/* Before step k: of what the next piece reads, the part that is this step's, `each` lines of an operand.
 * Kernels that wait for memory one after the other would have all others wait. */
static void oxi_chain_prefetch(const oxi_chain_work *work, const oxi_walk *w, const oxi_cursor *c, int k,
                               const int64_t *each) {
    for (int i = 0; i < work->program->operand_count; i++) {
        int operand = work->program->result_count + i;
        int64_t bytes = c->n * w->bytes[operand], end = oxi_min_i64((k + 1) * each[i], bytes / OXI_LINE);
        for (int64_t line = k * each[i]; line < end; line++)
            OXI_PREFETCH_READ(c->p[operand] + bytes + line * OXI_LINE);
    }
}

/* Where the value of step k of a piece goes. */
static char *oxi_chain_to(const oxi_chain_work *work, const oxi_cursor *c, int k, char *tiles) {
    const oxi_chain *program = work->program;
    return k == program->step_count - 1 && work->direct ? c->p[program->result_count - 1]
                                                        : tiles + program->step[k].tile * work->tile_bytes;
}

/* All steps of AdamW, a part of a piece at a time; each: of so many parts. */
static void oxi_chain_adam(const oxi_chain_work *work, const oxi_walk *w, const oxi_cursor *c,
                           const int64_t *each, const void **value, char *tiles) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t some = oxi_round_up(oxi_parts(c->n, OXI_CHAIN_PARTS), OXI_LINE), at = 0;
    for (int r = 0; r < 3; r++)
        value[work->program->result[r]] =
            oxi_chain_to(work, c, work->program->result[r] - oxi_chain_value(0), tiles);
    for (int part = 0; at < c->n; part++, at += some) {
        const float *in[4];
        float *to[3];
        for (int i = 0; i < 4; i++) in[i] = (const float *)value[i] + at;
        for (int r = 0; r < 3; r++) to[r] = (float *)(uintptr_t)value[work->program->result[r]] + at;
        oxi_chain_prefetch(work, w, c, part, each);
        kernels->chain_adam(oxi_min_i64(some, c->n - at), in, work->number, to);
    }
}

static void oxi_chain_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    const oxi_chain_work *work = (const oxi_chain_work *)arg;
    const oxi_chain *program = work->program;
    const void *value[OXI_CHAIN_OPERANDS + OXI_CHAIN_NUMBERS + OXI_CHAIN_STEPS];
    char *tiles = work->tiles + lane * work->lane_bytes;
    char *loaded = tiles + program->tile_count * work->tile_bytes;
    char *gathered = loaded + program->operand_count * work->tile_bytes;
    bool adam = work->adam && c->n % OXI_LINE == 0;
    int steps = adam ? 0 : program->step_count;
    int64_t each[OXI_CHAIN_OPERANDS];
    for (int i = 0; i < program->operand_count; i++) {
        int operand = program->result_count + i;
        int64_t lines = w->step[operand] == 1 ? c->n * w->bytes[operand] / OXI_LINE : 0;
        each[i] = oxi_parts(lines, adam ? OXI_CHAIN_PARTS : program->step_count);
        value[i] = oxi_chain_read(work, w, c, i, loaded + i * work->tile_bytes, gathered);
    }
    for (int j = 0; j < program->number_count; j++)
        value[oxi_chain_number(j)] = work->constant[oxi_chain_number(j)];
    if (adam) oxi_chain_adam(work, w, c, each, value, tiles);
    for (int k = 0; k < steps; k++) {
        const oxi_chain_step *step = &program->step[k];
        oxi_chain_prefetch(work, w, c, k, each);
        const void *in[3] = {value[step->in[0]], value[step->in[1]], value[step->in[2]]};
        char *to = oxi_chain_to(work, c, k, tiles);
        value[oxi_chain_value(k)] = to;
        if (work->kernel[k])
            work->kernel[k](c->n, in, to, &work->numbers[k]);
        else
            work->widen(c->n, in[0], 1, to);
    }
    for (int r = 0; r < program->result_count; r++)
        if (value[program->result[r]] != (const void *)c->p[r])
            oxi_chain_store(work, w, c, r, (const char *)value[program->result[r]]);
}

/* Kernels of the steps; false: one has none for the lane. */
static bool oxi_chain_find_kernels(oxi_chain_work *work, const oxi_kernels *k, oxi_lane lane) {
    const oxi_chain *program = work->program;
    for (int s = 0; s < program->step_count; s++) {
        oxi_op op = (oxi_op)program->step[s].op;
        bool widens = oxi_op_row_of(op)->family == OXI_FAMILY_COPY;
        oxi_attrs attr = oxi_attrs_by_default(op);
        work->numbers[s] = oxi_plain_numbers;
        (void)oxi_attrs_numbers(op, &attr, work->numbers[s].f, 3);
        work->kernel[s] = widens ? NULL : k->map[op][lane];
        if (!widens && !work->kernel[s]) return false;
    }
    return true;
}

/* Whether a result lies in memory that is read: then it is in the caches already. */
static bool oxi_chain_is_read(const oxi_call *call, const ox_tensor *out) {
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i]->storage == out->storage) return true;
    return false;
}

static void oxi_chain_plan(oxi_chain_work *work, const oxi_kernels *k, const oxi_walk *w,
                           const oxi_call *call, oxi_lane lane) {
    const oxi_chain *program = work->program;
    int last = program->result_count - 1;
    for (int i = 0; i < program->operand_count; i++) {
        ox_dtype dtype = call->in[i]->dtype;
        bool as_it_is = program->conditions >> i & 1 || dtype == oxi_lane_dtype(lane);
        work->load[i] = as_it_is ? NULL : k->load[dtype][lane];
    }
    for (int r = 0; r <= last; r++) {
        const ox_tensor *out = call->out[r];
        work->store[r] = out->dtype == oxi_lane_dtype(lane) ? NULL : k->store[out->dtype][lane];
        work->streams[r] = !work->store[r] && w->step[r] == 1 && oxi_streams(out) && k->stream &&
                           w->length * w->bytes[r] >= OXI_CHAIN_TILE_BYTES && !oxi_chain_is_read(call, out);
    }
    work->direct = program->result[last] == oxi_chain_value(program->step_count - 1) && !work->store[last] &&
                   w->step[last] == 1 && !work->streams[last];
    work->stream = k->stream;
    work->widen = k->load[OX_BOOL][lane];
}

/* Fills the tiles of what is one number, at `room`; returns their bytes. room NULL: counts them. */
static int64_t oxi_chain_fill_constants(oxi_chain_work *work, const oxi_kernels *k, const oxi_call *call,
                                        oxi_lane lane, int64_t most, char *room) {
    const oxi_chain *program = work->program;
    int64_t used = 0;
    for (int i = 0; i < program->operand_count; i++) {
        const ox_tensor *t = call->in[i];
        bool condition = program->conditions >> i & 1;
        if (ox_numel(t) != 1) continue;
        if (room && condition) memset(room + used, *(const char *)oxi_ptr(t), (size_t)most);
        if (room && !condition) k->load[t->dtype][lane](most, oxi_ptr(t), 0, room + used);
        if (room) work->constant[i] = room + used;
        used += work->tile_bytes;
    }
    for (int j = 0; j < program->number_count; j++) {
        if (room) k->load[OX_F64][lane](most, &call->attr.chain.numbers.n[j], 0, room + used);
        if (room) work->constant[oxi_chain_number(j)] = room + used;
        used += work->tile_bytes;
    }
    return used;
}

static ox_status oxi_cpu_chain(const oxi_call *call) {
    const oxi_kernels *k = oxi_cpu_kernels();
    const oxi_chain *program = call->attr.chain.program;
    oxi_lane lane = oxi_lane_of(oxi_compute_dtype(call));
    oxi_chain_work work;
    oxi_walk w;
    memset(&work, 0, sizeof work);
    work.program = program;
    work.adam = lane == OXI_LANE_F32 && program->operand_count == 4 && program->number_count == 7 &&
                program == oxi_chain_of(OXI_CHAIN_ADAM);
    work.number = call->attr.chain.numbers.n;
    if (!oxi_chain_find_kernels(&work, k, lane))
        return oxi_fail(OX_ERR_UNSUPPORTED, "chain: no kernel for %s",
                        ox_dtype_name(oxi_compute_dtype(call)));
    oxi_walk_begin(&w, call->out[0]->ndim, call->out[0]->shape);
    for (int r = 0; r < program->result_count; r++) oxi_walk_add(&w, call->out[r]);
    for (int i = 0; i < program->operand_count; i++) oxi_walk_add(&w, call->in[i]);
    oxi_walk_ready(&w, OXI_WALK_ANY_ORDER);
    if (w.numel == 0) return OX_OK;
    oxi_chain_plan(&work, k, &w, call, lane);
    int64_t most = oxi_min_i64(OXI_CHAIN_TILE_BYTES / oxi_lane_bytes(lane), w.numel), grain = 1 << 14;
    work.tile_bytes = oxi_round_up(most * oxi_lane_bytes(lane), OXI_LINE);
    work.lane_bytes = (program->tile_count + program->operand_count) * work.tile_bytes +
                      oxi_round_up(most * 8, OXI_LINE);
    int64_t shared = oxi_chain_fill_constants(&work, k, call, lane, most, NULL);
    size_t held = (size_t)(shared + oxi_walk_lanes(&w, grain) * work.lane_bytes);
    char near_by[OXI_MAP_NEAR + OXI_LINE], *line = near_by + (0 - (uintptr_t)near_by) % OXI_LINE;
    char *room = held <= OXI_MAP_NEAR ? line : (char *)oxi_alloc(held);
    if (!room) return OX_ERR_NOMEM;
    (void)oxi_chain_fill_constants(&work, k, call, lane, most, room);
    work.tiles = room + shared;
    ox_status status = oxi_walk_all(&w, grain, most, oxi_chain_piece, &work);
    if (room != line) oxi_free(room, held);
    return status;
}
