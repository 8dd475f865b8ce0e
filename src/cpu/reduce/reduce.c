/* Reductions (sum, mean, prod, amax, all, var, logsumexp, norm, argmax ...) over any dims of any strides.
 * The operand is kept positions times a line of reduced ones. Lines are cut into chunks whatever the number
 * of threads; partial results are merged in order, in 64 bits. Called by the CPU device. */

/* ---- how a kind is reduced here ------------------------------------------------------------------------ */

/* |x|, and powers of it, are made before they are added up or compared. */
static oxi_reduce_kind oxi_reduce_kind_for(oxi_reduction_kind kind, oxi_reduction_places places,
                                           oxi_reduction_reads reads) {
    switch (kind) {
    case OXI_REDUCES_PRODUCT: return OXI_REDUCE_PROD;
    case OXI_REDUCES_MOST: return places ? OXI_REDUCE_MAX_PLACE : OXI_REDUCE_MAX;
    case OXI_REDUCES_LEAST: return places ? OXI_REDUCE_MIN_PLACE : OXI_REDUCE_MIN;
    case OXI_REDUCES_MOST_ABSOLUTE: return OXI_REDUCE_MAX;
    case OXI_REDUCES_LEAST_ABSOLUTE: return OXI_REDUCE_MIN;
    case OXI_REDUCES_COUNT: return OXI_REDUCE_COUNT;
    case OXI_REDUCES_MOMENTS: return OXI_REDUCE_MOMENTS;
    case OXI_REDUCES_SQUARES: return OXI_REDUCE_SQUARES;
    case OXI_REDUCES_LOGSUMEXP: return OXI_REDUCE_LOGSUMEXP;
    default: return reads == OXI_READS_NUMBER ? OXI_REDUCE_SUM_NUMBERS : OXI_REDUCE_SUM;
    }
}

/* ---- the plan of one call ------------------------------------------------------------------------------ */

typedef struct oxi_reduce {
    const oxi_call *call;
    oxi_reduction form;
    const oxi_kernels *kernels;
    oxi_reducer reducer;
    oxi_reduce_kind kind;
    oxi_lane lane;
    oxi_load_kernel load;
    bool direct;           /* elements in memory are the lane's own */
    oxi_reduce_row narrow; /* reduces contiguous elements that are not, or NULL */
    bool powers;           /* elements become |x|^p first (norm) */
    bool by_columns;
    int64_t line_shift;    /* bytes from a kept position's address to the start of its line */
    int64_t chunk, chunks; /* elements of a chunk; chunks of a line */
    int64_t group;         /* kept positions of a task */
    int64_t width;         /* kept positions handled together, at most */
    bool in_parts;         /* a chunk comes in several parts, what is known of it is stored in between */
    char *partials;        /* chunks > 1 or in_parts: a and b of each chunk, for all kept positions */
    char *few;             /* NULL, or OXI_REDUCE_FEW bytes */
    char *scratch;         /* for each lane of the thread pool: a, b, buffer */
    int64_t scratch_bytes;
    size_t partial_memory, scratch_memory; /* bytes of the two */
    oxi_walk kept;         /* operands: the reduced tensor, the results */
    oxi_walk line;         /* the elements of kept position 0 */
} oxi_reduce;

static int64_t oxi_reduce_value_bytes(const oxi_reduce *r) {
    bool typed = r->kind >= OXI_REDUCE_MAX && r->kind <= OXI_REDUCE_MIN_PLACE;
    return typed ? oxi_lane_bytes(r->lane) : 8;
}

static oxi_partial oxi_partial_at(const oxi_partial *p, int64_t column, int64_t value_bytes) {
    oxi_partial one = *p;
    one.a = (char *)p->a + column * value_bytes;
    one.b = (char *)p->b + column * 8;
    return one;
}

/* The stored partial of a whole chunk, from a kept position on. */
static oxi_partial oxi_reduce_stored(const oxi_reduce *r, int64_t chunk, int64_t position) {
    char *values = r->partials + chunk * r->kept.numel * 16;
    oxi_partial p = oxi_partial_of(values, values + r->kept.numel * 8);
    p.count = oxi_min_i64(r->line.numel - chunk * r->chunk, r->chunk);
    return oxi_partial_at(&p, position, oxi_reduce_value_bytes(r));
}

/* ---- the result ---------------------------------------------------------------------------------------- */

static void oxi_reduce_divide(double *x, int64_t n, double divisor) {
    for (int64_t i = 0; i < n; i++) x[i] /= divisor;
}

static void oxi_reduce_pairs(oxi_partial *p, int64_t n, double divisor) {
    for (int64_t i = 0; i < n; i++) {
        float pair[2];
        pair[0] = (float)(((double *)p->a)[i] / divisor);
        pair[1] = (float)(((double *)p->b)[i] / divisor);
        memcpy((char *)p->a + 8 * i, pair, sizeof pair);
    }
}

static void oxi_reduce_moments(const oxi_reduce *r, const double *squares, double count, int64_t n,
                               double *out) {
    double freedom = count - r->form.number;
    for (int64_t i = 0; i < n; i++) out[i] = squares[i] / (freedom > 0 ? freedom : 0);
    for (int64_t i = 0; i < n && r->form.finish == OXI_FINISH_DEVIATION; i++) out[i] = sqrt(out[i]);
}

/* The lane of what is known of a line, before its finish. */
static oxi_lane oxi_reduce_known_lane(const oxi_reduce *r) {
    if (r->kind == OXI_REDUCE_COUNT) return OXI_LANE_I64;
    return r->lane == OXI_LANE_F32 && oxi_reduce_value_bytes(r) == 8 ? OXI_LANE_F64 : r->lane;
}

/* Turns p->a into results, in place; returns the lane that they are in. */
static oxi_lane oxi_reduce_results(const oxi_reduce *r, oxi_partial *p, int64_t n) {
    double *x = (double *)p->a, *b = (double *)p->b, count = (double)p->count;
    int64_t *whole = (int64_t *)p->a;
    oxi_reduction_finish finish = r->form.finish;
    if (r->kind == OXI_REDUCE_LOGSUMEXP)
        for (int64_t i = 0; i < n; i++) x[i] = log(b[i]) + oxi_exp_shift(x[i]);
    if (r->lane == OXI_LANE_C64 && r->kind != OXI_REDUCE_COUNT)
        oxi_reduce_pairs(p, n, finish == OXI_FINISH_MEAN ? count : 1);
    else if (finish == OXI_FINISH_MEAN)
        oxi_reduce_divide(x, n, count);
    if (finish == OXI_FINISH_VARIANCE || finish == OXI_FINISH_DEVIATION)
        oxi_reduce_moments(r, b, count, n, x);
    for (int64_t i = 0; i < n && finish == OXI_FINISH_ROOT; i++) x[i] = sqrt(x[i]);
    for (int64_t i = 0; i < n && finish == OXI_FINISH_POWER; i++) x[i] = pow(x[i], 1 / r->form.number);
    for (int64_t i = 0; i < n && finish == OXI_FINISH_ALL; i++) whole[i] = whole[i] == p->count;
    for (int64_t i = 0; i < n && finish == OXI_FINISH_ANY; i++) whole[i] = whole[i] != 0;
    return oxi_reduce_known_lane(r);
}

static void oxi_reduce_store(const oxi_reduce *r, const oxi_cursor *c, oxi_partial *p) {
    const oxi_call *call = r->call;
    if (r->form.places) {
        int last = r->form.places == OXI_PLACES_BESIDE ? 1 : 0;
        r->kernels->store[OX_I64][OXI_LANE_I64](c->n, p->b, c->p[1 + last], r->kept.step[1 + last]);
        if (last == 0) return;
    }
    oxi_lane lane = oxi_reduce_results(r, p, c->n);
    r->kernels->store[call->out[0]->dtype][lane](c->n, p->a, c->p[1], r->kept.step[1]);
}

/* ---- one line, one tile -------------------------------------------------------------------------------- */

static void oxi_reduce_powers(const oxi_reduce *r, void *x, int64_t n) {
    const void *in[1];
    double *wide = (double *)x, power = r->form.number;
    in[0] = x;
    r->kernels->map[OXI_OP_abs][r->lane](n, in, x, &oxi_plain_numbers);
    if (r->form.kind != OXI_REDUCES_POWERS) return;
    for (int64_t i = 0; i < n; i++) wide[i] = power == 3 ? wide[i] * wide[i] * wide[i] : pow(wide[i], power);
}

/* Whether more elements cannot change the answer. */
static bool oxi_reduce_settled(const oxi_reduce *r, const oxi_partial *p) {
    if (r->form.finish == OXI_FINISH_ANY) return *(int64_t *)p->a > 0;
    return r->form.finish == OXI_FINISH_ALL && *(int64_t *)p->a < p->count;
}

static void oxi_reduce_flush(const oxi_reduce *r, oxi_partial *p, int64_t n, void *buffer, int64_t position) {
    if (n == 0) return;
    if (r->powers) oxi_reduce_powers(r, buffer, n);
    r->reducer.row(r->kernels, p, n, buffer, position);
    p->count += n;
}

/* Elements [first, first + count) of a line, wherever they lie: gathered until the buffer is full. */
static void oxi_reduce_gather(const oxi_reduce *r, const oxi_walk *line, oxi_partial *p, int64_t first,
                              int64_t count, char *buffer) {
    int64_t filled = 0, position = first;
    oxi_cursor c;
    for (oxi_walk_seek(line, &c, first, count, OXI_REDUCE_BUFFER); c.n; oxi_walk_next(line, &c)) {
        if (filled + c.n > OXI_REDUCE_BUFFER) {
            oxi_reduce_flush(r, p, filled, buffer, position);
            if (oxi_reduce_settled(r, p)) return;
            position += filled;
            filled = 0;
        }
        r->load(c.n, c.p[0], line->step[0], buffer + filled * oxi_lane_bytes(r->lane));
        filled += c.n;
    }
    oxi_reduce_flush(r, p, filled, buffer, position);
}

static void oxi_reduce_line(const oxi_reduce *r, const oxi_walk *line, oxi_partial *p, int64_t first,
                            int64_t count, char *buffer) {
    int64_t most = OXI_REDUCE_LINE, begin = most;
    if (r->kind == OXI_REDUCE_COUNT) { /* few elements often tell whether all or any are true */
        most = 4096;
        begin = r->form.finish == OXI_FINISH_ANY || r->form.finish == OXI_FINISH_ALL ? 4 * OXI_STRIP : most;
    }
    oxi_reduce_row row = r->narrow ? r->narrow : r->reducer.row;
    oxi_cursor c;
    if (!(r->direct || r->narrow) || line->step[0] != 1 || line->length < OXI_STRIP) {
        oxi_reduce_gather(r, line, p, first, count, buffer);
        return;
    }
    oxi_walk_seek(line, &c, first, count, begin);
    for (c.most = most; c.n && !oxi_reduce_settled(r, p); oxi_walk_next(line, &c)) {
        row(r->kernels, p, c.n, c.p[0], c.position);
        p->count += c.n;
    }
}

/* The same elements of the lines of `width` neighboring kept positions, a row of the tile at a time. */
static void oxi_reduce_tile(const oxi_reduce *r, const oxi_walk *line, oxi_partial *p, int64_t width,
                            int64_t first, int64_t count, char *buffer) {
    bool direct = r->direct && r->kept.step[0] == 1;
    int64_t bytes = oxi_lane_bytes(r->lane);
    oxi_cursor c;
    for (oxi_walk_seek(line, &c, first, count, OXI_REDUCE_ROWS); c.n; oxi_walk_next(line, &c)) {
        const void *rows = c.p[0];
        int64_t row_stride = line->step[0];
        if (!direct) {
            for (int64_t i = 0; i < c.n; i++) {
                r->load(width, c.p[0] + i * row_stride * line->bytes[0], r->kept.step[0],
                        buffer + i * width * bytes);
            }
            if (r->powers) oxi_reduce_powers(r, buffer, c.n * width);
            rows = buffer;
            row_stride = width;
        }
        for (int64_t at = 0; at < width; at += OXI_REDUCE_COLUMNS) {
            oxi_partial some = oxi_partial_at(p, at, oxi_reduce_value_bytes(r));
            r->reducer.columns(r->kernels, &some, oxi_min_i64(width - at, OXI_REDUCE_COLUMNS), c.n,
                               (const char *)rows + at * bytes, row_stride, c.position);
        }
        p->count += c.n;
    }
}

/* ---- tasks --------------------------------------------------------------------------------------------- */

/* Elements [first, first + count) of the lines of a piece, of one chunk: adds them to what is known of those
 * before in the chunk. */
static void oxi_reduce_piece(const oxi_reduce *r, oxi_walk *line, const oxi_cursor *c, oxi_partial *p,
                             int64_t first, int64_t count, char *buffer) {
    int64_t value_bytes = oxi_reduce_value_bytes(r), before = first % r->chunk;
    if (before == 0) {
        memset(p->a, 0, (size_t)(c->n * value_bytes));
        memset(p->b, 0, (size_t)(c->n * 8));
        if (r->reducer.begin) r->reducer.begin(p, c->n);
    }
    p->count = before;
    line->base[0] = c->p[0] + r->line_shift;
    if (r->by_columns) {
        oxi_reduce_tile(r, line, p, c->n, first, count, buffer);
    } else {
        for (int64_t i = 0; i < c->n; i++) {
            oxi_partial one = oxi_partial_at(p, i, value_bytes);
            oxi_reduce_line(r, line, &one, first, count, buffer);
            line->base[0] += r->kept.step[0] * r->kept.bytes[0];
        }
    }
    p->count = before + count;
}

static bool oxi_reduce_keeps_partials(const oxi_reduce *r) {
    return r->chunks > 1 || r->in_parts;
}

/* The kept positions of a group, for oxi_walk_next. */
static void oxi_reduce_seek_group(const oxi_reduce *r, int64_t group, oxi_cursor *c) {
    int64_t first = group * r->group;
    oxi_walk_seek(&r->kept, c, first, oxi_min_i64(r->kept.numel - first, r->group), r->width);
}

/* Elements [first, first + count) of one chunk of the lines of one group of kept positions. */
static void oxi_reduce_part(const oxi_reduce *r, int64_t group, int64_t first, int64_t count, int lane) {
    char *scratch = r->scratch + lane * r->scratch_bytes;
    oxi_walk line;
    oxi_cursor c;
    oxi_walk_copy(&line, &r->line);
    for (oxi_reduce_seek_group(r, group, &c); c.n; oxi_walk_next(&r->kept, &c)) {
        oxi_partial p = oxi_partial_of(scratch, scratch + 8 * r->width);
        if (oxi_reduce_keeps_partials(r)) p = oxi_reduce_stored(r, first / r->chunk, c.position);
        p.asks = r->direct && ox_nbytes(r->call->in[0]) >= OXI_STREAM_BYTES;
        oxi_reduce_piece(r, &line, &c, &p, first, count, scratch + 16 * r->width);
        if (!oxi_reduce_keeps_partials(r)) oxi_reduce_store(r, &c, &p);
    }
}

static void oxi_reduce_task(void *arg, int64_t index, int lane) {
    const oxi_reduce *r = (const oxi_reduce *)arg;
    int64_t first = index % r->chunks * r->chunk;
    oxi_reduce_part(r, index / r->chunks, first, oxi_min_i64(r->line.numel - first, r->chunk), lane);
}

/* What is known of the whole lines of a piece: their stored chunks joined in order, in place of the first. */
static oxi_partial oxi_reduce_joined(const oxi_reduce *r, const oxi_cursor *c) {
    oxi_partial p = oxi_reduce_stored(r, 0, c->position);
    for (int64_t chunk = 1; chunk < r->chunks; chunk++) {
        oxi_partial later = oxi_reduce_stored(r, chunk, c->position);
        r->reducer.merge(&p, c->n, &later);
        p.count += later.count;
    }
    return p;
}

static void oxi_reduce_join_task(void *arg, int64_t index, int lane) {
    const oxi_reduce *r = (const oxi_reduce *)arg;
    oxi_cursor c;
    (void)lane;
    for (oxi_reduce_seek_group(r, index, &c); c.n; oxi_walk_next(&r->kept, &c)) {
        oxi_partial p = oxi_reduce_joined(r, &c);
        oxi_reduce_store(r, &c, &p);
    }
}

/* ---- planning ------------------------------------------------------------------------------------------ */

/* Splits the dims of the operand into the two walks. */
static void oxi_reduce_split(oxi_reduce *r) {
    const oxi_call *call = r->call;
    const ox_tensor *x = call->in[0];
    int64_t kept[OX_MAX_DIMS], line[OX_MAX_DIMS], stride[4][OX_MAX_DIMS];
    int kept_dims = 0, line_dims = 0, bytes = (int)oxi_dtype_bytes(x->dtype);
    for (int d = 0; d < x->ndim; d++) {
        if (call->attr.reduce.dims >> d & 1) {
            line[line_dims] = x->shape[d];
            stride[3][line_dims++] = x->stride[d];
            continue;
        }
        kept[kept_dims] = x->shape[d];
        stride[0][kept_dims] = x->stride[d];
        for (int o = 0; o < call->out_count; o++) {
            stride[1 + o][kept_dims] = call->out[o]->stride[call->attr.reduce.keepdim ? d : kept_dims];
        }
        kept_dims++;
    }
    oxi_walk_begin(&r->kept, kept_dims, kept);
    oxi_walk_add_raw(&r->kept, oxi_ptr(x), bytes, stride[0]);
    for (int o = 0; o < call->out_count; o++) {
        oxi_walk_add_raw(&r->kept, oxi_ptr(call->out[o]), oxi_dtype_bytes(call->out[o]->dtype),
                         stride[1 + o]);
    }
    oxi_walk_ready(&r->kept, OXI_WALK_MEMORY_ORDER);
    oxi_walk_begin(&r->line, line_dims, line);
    oxi_walk_add_raw(&r->line, oxi_ptr(x), bytes, stride[3]);
    oxi_walk_ready(&r->line, r->form.places ? OXI_WALK_IN_ORDER : OXI_WALK_ANY_ORDER);
    r->line_shift = r->line.base[0] - oxi_ptr(x);
}

/* Rows of a tile beat single lines where kept neighbors lie closer together, or where lines are short. */
static void oxi_reduce_shape(oxi_reduce *r) {
    int64_t kept_step = llabs(r->kept.step[0]), line_step = llabs(r->line.step[0]);
    int64_t positions = r->kept.numel, elements = r->line.numel;
    bool closer = r->line.numel > 1 && kept_step > 0 && kept_step < line_step;
    r->by_columns = r->kept.length >= 16 && (closer || elements < 16);
    r->width = r->by_columns ? oxi_min_i64(r->kept.length, OXI_REDUCE_BUFFER) : OXI_STRIP;
    r->chunk = OXI_REDUCE_LINE;
    if (r->by_columns)
        r->chunk = positions >= 65536 ? elements : oxi_min_i64(elements, 8 * OXI_REDUCE_LINE / r->width);
    if (r->chunk < 1) r->chunk = 1;
    r->chunks = elements ? (elements - 1) / r->chunk + 1 : 1;
    r->group = OXI_REDUCE_LINE / oxi_min_i64(elements + 1, r->chunk);
    if (r->by_columns) r->group = r->group / r->width * r->width;
    if (r->group < 1) r->group = r->by_columns ? r->width : 1;
    int64_t rows = !r->by_columns ? 1 : r->direct && r->kept.step[0] == 1 ? 0 : OXI_REDUCE_ROWS;
    r->scratch_bytes = 16 * r->width + OXI_REDUCE_BUFFER * 8 * rows;
}

static int64_t oxi_reduce_groups(const oxi_reduce *r) {
    return (r->kept.numel + r->group - 1) / r->group;
}

/* Frees what oxi_reduce_begin took. */
static void oxi_reduce_end(oxi_reduce *r) {
    oxi_free(r->partials, r->partial_memory);
    if (r->scratch != r->few) oxi_free(r->scratch, r->scratch_memory);
}

/* Memory for the partial results of all chunks, and for the lanes. */
static ox_status oxi_reduce_begin(oxi_reduce *r) {
    r->scratch_memory = (size_t)r->scratch_bytes * (size_t)oxi_lanes(oxi_reduce_groups(r) * r->chunks);
    if (oxi_reduce_keeps_partials(r)) {
        bool fits = oxi_mul_size((size_t)r->chunks, (size_t)r->kept.numel, &r->partial_memory) &&
                    oxi_mul_size(r->partial_memory, 16, &r->partial_memory);
        if (!fits)
            return oxi_fail(OX_ERR_NOMEM,
                            "reduction of %s: its partial results are more than memory can hold",
                            oxi_tensor_text(r->call->in[0]));
        r->partials = (char *)oxi_alloc(r->partial_memory);
        if (!r->partials) return OX_ERR_NOMEM;
    }
    bool fits = r->few && r->scratch_memory <= OXI_REDUCE_FEW;
    r->scratch = fits ? r->few : (char *)oxi_alloc(r->scratch_memory);
    return r->scratch ? OX_OK : OX_ERR_NOMEM;
}

/* Joins the chunks, which are all done. */
static void oxi_reduce_join(oxi_reduce *r) {
    if (oxi_reduce_keeps_partials(r)) oxi_parallel_for(oxi_reduce_groups(r), oxi_reduce_join_task, r);
}

static ox_status oxi_reduce_run(oxi_reduce *r) {
    ox_status status = oxi_reduce_begin(r);
    if (status == OX_OK) {
        oxi_parallel_for(oxi_reduce_groups(r) * r->chunks, oxi_reduce_task, r);
        oxi_reduce_join(r);
    }
    oxi_reduce_end(r);
    return status;
}

/* Whether complex numbers are loaded as their sizes. */
static bool oxi_reduce_takes_sizes(const oxi_reduce *r) {
    return r->call->in[0]->dtype == OX_C64 && oxi_reduction_takes_sizes(&r->form);
}

/* The lane to reduce in: integers have no exponentials, and powers want f64. */
static oxi_lane oxi_reduce_lane(const oxi_reduce *r) {
    oxi_lane lane = oxi_reduce_takes_sizes(r) ? OXI_LANE_F32 : oxi_lane_of(r->call->in[0]->dtype);
    bool whole = lane == OXI_LANE_I64 || lane == OXI_LANE_U64, powers = r->form.kind == OXI_REDUCES_POWERS;
    return powers || (r->kind == OXI_REDUCE_LOGSUMEXP && whole) ? OXI_LANE_F64 : lane;
}

static oxi_reduce_row oxi_reduce_narrow(oxi_reduce_kind kind, ox_dtype dtype) {
    static const oxi_reduce_row sums[] = {NULL,
                                          oxi_count_row_u8, /* bool: any byte but 0 is true */
                                          oxi_sum_row_u8,
                                          oxi_sum_row_i8,
                                          oxi_sum_row_u16,
                                          oxi_sum_row_i16,
                                          oxi_sum_row_u32,
                                          oxi_sum_row_i32};
    if ((kind == OXI_REDUCE_SUM || kind == OXI_REDUCE_SUM_NUMBERS) && dtype <= OX_I32) return sums[dtype];
    return kind == OXI_REDUCE_COUNT && dtype <= OX_I8 ? oxi_count_row_u8 : NULL;
}

/* How the call is computed, by shapes, strides and dtypes alone. */
static void oxi_reduce_plan(oxi_reduce *r, const oxi_call *call) {
    ox_dtype dtype = call->in[0]->dtype;
    memset(r, 0, offsetof(oxi_reduce, kept));
    r->call = call;
    r->kernels = oxi_cpu_kernels();
    r->form = oxi_reduction_of(call);
    r->kind = oxi_reduce_kind_for(r->form.kind, r->form.places, r->form.reads);
    r->powers = oxi_reduction_takes_sizes(&r->form) && r->kind != OXI_REDUCE_SQUARES;
    r->lane = oxi_reduce_lane(r);
    r->load = r->kernels->load[dtype][r->lane];
    if (oxi_reduce_takes_sizes(r)) r->load = r->lane == OXI_LANE_F32 ? oxi_load_size_f32 : oxi_load_size_f64;
    r->direct = !r->powers && dtype == oxi_lane_dtype(r->lane);
    r->reducer = oxi_reducers[r->kind][r->lane];
    r->narrow = oxi_reduce_narrow(r->kind, dtype);
    oxi_reduce_split(r);
    if (r->kept.numel > 0) oxi_reduce_shape(r);
}

static OXI_UNUSED ox_status oxi_cpu_reduce(const oxi_call *call) {
    OXI_ALIGNED char few[OXI_REDUCE_FEW];
    oxi_reduce r;
    oxi_reduce_plan(&r, call);
    r.few = few;
    return r.kept.numel > 0 ? oxi_reduce_run(&r) : OX_OK;
}
