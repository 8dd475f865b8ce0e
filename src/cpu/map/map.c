/* The executor of elementwise ops: any number of dims, any strides, any mix of dtypes.
 * A piece of a run is brought into the lane type (float, double, int64 ...) tile by tile in L1, the tier's
 * kernel runs on contiguous lanes, and the result is stored; operands that already are contiguous lanes are
 * used where they lie. */

#define OXI_MAP_TILE 512        /* elements of 8 bytes */
#define OXI_MAP_NEAR (10 << 10) /* bytes: up to this many, tiles lie on the stack */

typedef struct oxi_map_work {
    oxi_map_numbers numbers;
    oxi_map_kernel kernel;
    int in_count;
    oxi_load_kernel load[3]; /* NULL: the operand's elements are the lane's */
    const void
        *constant[3]; /* a tile full of the operand, if it is one number: loaded once, not once a piece */
    oxi_store_kernel store;                                   /* NULL: the kernel writes the result itself */
    void (*stream)(size_t bytes, const void *from, void *to); /* takes the place of `store` if not NULL */
    oxi_load_kernel widen; /* bool results for a non-bool tensor: bool -> lane before the store */
    char *tiles;           /* of each lane `lane_bytes`; what a call does not use has no room: */
    int64_t lane_bytes;
    int64_t tile[3];  /* bytes from a lane's start: operands that are loaded or gathered, */
    int64_t result;   /* the result before it is stored, */
    int64_t gathered; /* 8-byte elements that become lanes of 4, */
    int64_t truth;    /* and bools that are widened */
} oxi_map_work;

static void oxi_map_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    const oxi_map_work *work = (const oxi_map_work *)arg;
    char *tiles = work->tiles + lane * work->lane_bytes, *result = tiles + work->result;
    const void *in[3];
    for (int k = 0; k < work->in_count; k++) {
        int64_t step = w->step[k + 1], bytes = w->bytes[k + 1];
        char *tile = tiles + work->tile[k];
        in[k] = work->constant[k] ? work->constant[k] : c->p[k + 1];
        if ((!work->load[k] && step == 1) || work->constant[k]) continue;
        if (work->load[k]) {
            in[k] = oxi_side_by_side(c->n, bytes, in[k], &step, tiles + work->gathered);
            work->load[k](c->n, in[k], step, tile);
        } else if (step == 0) {
            oxi_splat_run(c->n, bytes, c->p[k + 1], tile, bytes);
        } else {
            oxi_copy_run(c->n, bytes, c->p[k + 1], step * bytes, tile, bytes);
        }
        in[k] = tile;
    }
    if (work->stream) {
        work->kernel(c->n, in, result, &work->numbers);
        work->stream((size_t)(c->n * w->bytes[0]), result, c->p[0]);
    } else if (!work->store) {
        work->kernel(c->n, in, c->p[0], &work->numbers);
    } else if (work->widen) {
        work->kernel(c->n, in, tiles + work->truth, &work->numbers);
        work->widen(c->n, tiles + work->truth, 1, result);
        work->store(c->n, result, c->p[0], w->step[0]);
    } else {
        work->kernel(c->n, in, result, &work->numbers);
        work->store(c->n, result, c->p[0], w->step[0]);
    }
}

/* bool tensors compute as 0 and 1 in I64; ~ is the one op that needs another kernel for them. */
static oxi_op oxi_map_op_for(oxi_op op, ox_dtype compute) {
    return op == OXI_OP_bitwise_not && compute == OX_BOOL ? OXI_OP_logical_not : op;
}

/* Elements of a tile; a lane has four bytes or eight. */
static int64_t oxi_map_tile(oxi_lane lane) {
    return oxi_lane_bytes(lane) == 4 ? 2 * OXI_MAP_TILE : OXI_MAP_TILE;
}

/* Chooses loads and stores for the walk that is ready; returns the most elements of a piece. */
static int64_t oxi_map_plan(oxi_map_work *work, const oxi_kernels *k, oxi_walk *w, const oxi_call *call,
                            oxi_lane lane, bool truth) {
    const ox_tensor *out = call->out[0];
    int first = oxi_first_valued_operand(call);
    int64_t tile = oxi_map_tile(lane);
    bool tiled = false;
    for (int i = 0; i < call->in_count; i++) {
        bool same = i < first || call->in[i]->dtype == oxi_lane_dtype(lane);
        work->load[i] = same ? NULL : k->load[call->in[i]->dtype][lane];
        tiled = tiled || !same || w->step[i + 1] != 1;
    }
    bool real = oxi_op_row_of(call->op)->gives == OXI_GIVES_REAL;
    oxi_lane result = real && lane == OXI_LANE_C64 ? OXI_LANE_F32 : lane;
    bool writes = w->step[0] == 1 && (truth ? out->dtype == OX_BOOL : out->dtype == oxi_lane_dtype(result));
    work->widen = NULL;
    work->store = NULL;
    /* Long computations hide what plain stores cost, and would stand still while a tile is streamed. */
    bool light = oxi_op_row_of(call->op)->flops <= 4;
    bool result_transposed = w->transposed & 1u;
    w->streams = light && (writes || result_transposed) && oxi_walk_may_stream(w, out);
    work->stream = w->streams && !result_transposed ? k->stream : NULL;
    if (!writes) {
        if (truth) result = oxi_lane_of(out->dtype);
        work->widen = truth ? k->load[OX_BOOL][result] : NULL;
        work->store = k->store[out->dtype][result];
        tile = oxi_min_i64(tile, oxi_map_tile(result)); /* truth is widened to lanes of its own */
        tiled = true;
    }
    return tiled || work->stream ? tile : 1 << 14;
}

/* The operands that are one number, as bits. Pieces are tiles then: such a tile is made once. */
static unsigned oxi_map_which_numbers(const oxi_call *call) {
    unsigned numbers = 0;
    for (int i = 0; i < call->in_count; i++) numbers |= (unsigned)(ox_numel(call->in[i]) == 1) << i;
    return numbers;
}

/* Room for so many bytes behind *end, from a cache line on; returns where it is. */
static int64_t oxi_map_part(int64_t *end, int64_t bytes) {
    int64_t at = *end;
    *end = oxi_round_up(at + bytes, OXI_LINE);
    return at;
}

/* Says where the tiles of a lane are, for pieces of at most `most` elements, and where the constants are, of
 * operands that are one number; returns the bytes of these. */
static int64_t oxi_map_layout(oxi_map_work *work, const oxi_walk *w, const oxi_call *call, oxi_lane lane,
                              unsigned numbers, int64_t most, int64_t *constants) {
    int64_t each = oxi_lane_bytes(lane), shared = 0;
    bool gathers = false;
    for (int i = 0; i < call->in_count; i++) {
        int64_t step = w->step[i + 1];
        if (numbers >> i & 1) {
            constants[i] = oxi_map_part(&shared, most * each);
        } else if (work->load[i] || step != 1) {
            work->tile[i] = oxi_map_part(&work->lane_bytes, most * each);
            gathers = gathers || (work->load[i] && step != 0 && step != 1);
        }
    }
    if (work->widen) each = oxi_lane_bytes(oxi_lane_of(call->out[0]->dtype));
    if (work->store || work->stream) work->result = oxi_map_part(&work->lane_bytes, most * each);
    if (gathers) work->gathered = oxi_map_part(&work->lane_bytes, most * 8);
    if (work->widen) work->truth = oxi_map_part(&work->lane_bytes, most);
    return shared;
}

/* Operand i is the number t: fills `to` with what the kernel reads, unless it is that already. */
static void oxi_map_constant(oxi_map_work *work, const oxi_walk *w, const ox_tensor *t, int i,
                             ox_dtype compute, int64_t most, char *to) {
    const oxi_kernels *k = oxi_cpu_kernels();
    oxi_lane lane = oxi_lane_of(compute);
    bool narrows = t->dtype != compute && !oxi_is_float(compute) && compute != OX_C64;
    bool lies = !work->load[i] && w->step[i + 1] == 1;
    if (lies && !narrows) return;
    if (work->load[i] || narrows)
        k->load[t->dtype][lane](most, oxi_ptr(t), 0, to);
    else
        oxi_splat_run(most, w->bytes[i + 1], (const char *)oxi_ptr(t), to, w->bytes[i + 1]);
    if (narrows) { /* a wider 0-dim integer counts as a number of the computing dtype, as in torch */
        uint64_t one;
        k->store[compute][lane](1, to, &one, 1);
        k->load[compute][lane](most, &one, 0, to);
    }
    work->constant[i] = to;
}

/* A few numbers side by side that need no conversion: kernels take them as they are, without a walk. */
static bool oxi_map_plain(const oxi_call *call, ox_dtype dtype, const void **in) {
    const ox_tensor *out = call->out[0];
    int64_t n = ox_numel(out);
    int first = oxi_first_valued_operand(call);
    bool plain = n > 0 && n <= OXI_MAP_TILE * 8 && out->dtype == dtype && ox_is_contiguous(out);
    for (int i = 0; i < call->in_count && plain; i++) {
        const ox_tensor *t = call->in[i];
        plain = t->dtype == (i < first ? OX_BOOL : dtype) && ox_numel(t) == n && ox_is_contiguous(t);
        in[i] = oxi_ptr(t);
    }
    return plain;
}

static ox_status oxi_cpu_map(const oxi_call *call) {
    const oxi_kernels *k = oxi_cpu_kernels();
    const oxi_op_row *row = oxi_op_row_of(call->op);
    ox_tensor *out = call->out[0];
    ox_dtype compute = oxi_compute_dtype(call);
    oxi_lane lane = oxi_lane_of(compute);
    oxi_op op = oxi_map_op_for(call->op, compute);
    bool truth = row->gives == OXI_GIVES_BOOL || op == OXI_OP_logical_not;
    oxi_map_work work;
    oxi_walk w;
    memset(&work, 0, sizeof work);
    oxi_attrs_numbers(call->op, &call->attr, work.numbers.f, 3);
    work.numbers.bits = 8 * oxi_info(compute)->block_bytes;
    work.kernel = k->map[op][lane];
    work.in_count = call->in_count;
    if (!work.kernel)
        return oxi_fail(OX_ERR_UNSUPPORTED, "%s: no kernel for %s", row->name, ox_dtype_name(compute));
    const void *in[3];
    if (!truth && oxi_map_plain(call, oxi_lane_dtype(lane), in)) {
        work.kernel(ox_numel(out), in, oxi_ptr(out), &work.numbers);
        return OX_OK;
    }
    oxi_walk_begin(&w, out->ndim, out->shape);
    oxi_walk_add(&w, out);
    for (int i = 0; i < call->in_count; i++) oxi_walk_add(&w, call->in[i]);
    oxi_walk_ready(&w, OXI_WALK_TILED);
    if (w.numel == 0) return OX_OK;
    int64_t most = oxi_map_plan(&work, k, &w, call, lane, truth);
    unsigned numbers = oxi_map_which_numbers(call);
    if (numbers) most = oxi_min_i64(most, oxi_map_tile(lane));
    int first = oxi_first_valued_operand(call);
    most = oxi_min_i64(most, w.numel);
    int64_t grain = row->flops > 4 ? 1 << 13 : 1 << 15;
    int64_t constants[3], shared = oxi_map_layout(&work, &w, call, lane, numbers, most, constants);
    char near_by[OXI_MAP_NEAR + OXI_LINE], *line = near_by + (0 - (uintptr_t)near_by) % OXI_LINE;
    size_t held = (size_t)(shared + oxi_walk_lanes(&w, grain) * work.lane_bytes);
    char *room = held <= OXI_MAP_NEAR ? line : (char *)oxi_alloc(held);
    if (!room) return OX_ERR_NOMEM;
    work.tiles = room + shared;
    for (int i = 0; i < call->in_count; i++)
        if (numbers >> i & 1)
            oxi_map_constant(&work, &w, call->in[i], i, i >= first ? compute : OX_BOOL, most,
                             room + constants[i]);
    ox_status status = oxi_walk_all(&w, grain, most, oxi_map_piece, &work);
    if (room != line) oxi_free(room, held);
    return status;
}
