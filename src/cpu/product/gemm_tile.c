/* A tile of C: its chunks of k through the micro-kernel, and from sums to C: scale, addend, bias, activation,
 * rounding. Threads run tiles as tasks. Called by gemm.c; its way to C by gemm_thin.c, blocks.c, codes.c
 * too. */

/* ---- from sums to C -------------------------------------------------------------------------------- */

static void oxi_gemm_add_f64(int64_t n, double s, const double *x, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] += s * x[i];
}

static void oxi_gemm_scale_f64(int64_t n, double s, double *y) {
    for (int64_t i = 0; i < n; i++) y[i] *= s;
}

static oxi_op oxi_activation_op(ox_activation activation) {
    static const oxi_op op[] = {OXI_OP_COUNT, OXI_OP_relu,    OXI_OP_gelu, OXI_OP_gelu_tanh,
                                OXI_OP_silu,  OXI_OP_sigmoid, OXI_OP_tanh};
    return op[activation];
}

/* Adds scale times `count` numbers of any plain dtype to the sums. stage holds count elements. */
static void oxi_gemm_add(const oxi_kernels *kernels, oxi_lane lane, int64_t count, double scale,
                         ox_dtype dtype, const void *from, int64_t stride, void *sums, void *stage) {
    kernels->load[dtype][lane](count, from, stride, stage);
    if (lane == OXI_LANE_F64)
        oxi_gemm_add_f64(count, scale, (const double *)stage, (double *)sums);
    else
        kernels->axpy_f32(count, (float)scale, (const float *)stage, (float *)sums);
}

static bool oxi_gemm_is_plain(const oxi_gemm *g) {
    return g->alpha == 1 && !g->addend && !g->bias && g->activation == OX_ACTIVATION_NONE &&
           !g->c_rows && !g->c_places;
}

/* alpha x + beta addend + bias, activated, for `count` sums from element [m,n] of C on: along n, or else
 * along m. */
static void oxi_gemm_epilogue(const oxi_gemm *g, const oxi_kernels *kernels, oxi_lane lane, int64_t m,
                              int64_t n, int64_t count, bool along_n, void *sums, void *stage) {
    if (g->alpha != 1) {
        if (lane == OXI_LANE_F64)
            oxi_gemm_scale_f64(count, g->alpha, (double *)sums);
        else
            kernels->row_scale(count, (const float *)sums, (float)g->alpha, (float *)sums);
    }
    if (g->addend) {
        int64_t at = oxi_signed_bytes(g->addend_dtype, m * g->addend_row + n * g->addend_col);
        oxi_gemm_add(kernels, lane, count, g->beta, g->addend_dtype, (const char *)g->addend + at,
                     along_n ? g->addend_col : g->addend_row, sums, stage);
    }
    if (g->bias) oxi_gemm_add(kernels, lane, count, 1, OX_F32, g->bias + n, along_n ? 1 : 0, sums, stage);
    if (g->activation != OX_ACTIVATION_NONE) {
        const void *in = sums;
        kernels->map[oxi_activation_op(g->activation)][lane](count, &in, sums, &oxi_plain_numbers);
    }
}

/* With places, of column 0 alone. */
static char *oxi_gemm_c(const oxi_gemm *g, int64_t m, int64_t n) {
    int64_t row = g->c_rows ? g->c_rows[m] : m * g->c_row;
    return (char *)g->c + (row + n * g->c_col) * oxi_info(g->c_dtype)->block_bytes;
}

/* Numbers of 16 bits to the places of a run. */
static void oxi_gemm_place_run(const oxi_window_run *run, const uint16_t *from, uint16_t *to) {
    if (run->step == 1) memcpy(to, from, (size_t)run->count * sizeof *to);
    else
        for (int64_t i = 0; i < run->count; i++) to[i * run->step] = from[i];
}

/* Finished sums, row stride ld, to where their places are: the same runs in all rows. Runs are often shorter
 * than a vector: numbers of 16 bits are rounded a row at a time, in the stage. */
static void oxi_gemm_store_places(const oxi_gemm_plan *p, const char *sums, int64_t ld, int64_t m, int64_t n,
                                  int64_t rows, int64_t columns, char *stage) {
    const oxi_gemm *g = p->to;
    oxi_store_kernel store = p->kernels->store[g->c_dtype][p->type.lane];
    bool narrow = oxi_info(g->c_dtype)->block_bytes == 2;
    oxi_window_run runs[OXI_GEMM_TILE];
    for (int64_t done = 0, at; done < columns; done = at) {
        int count = 0;
        for (at = done; at < columns && count < OXI_GEMM_TILE; at += runs[count++].count)
            runs[count] = oxi_windows_run(g->c_places, n + at, columns - at);
        for (int64_t i = 0; i < rows; i++) {
            const char *row = sums + (i * ld + done) * p->type.element;
            const uint16_t *rounded = (const uint16_t *)(void *)stage;
            char *to = oxi_gemm_c(g, m + i, 0);
            if (narrow) store(at - done, row, stage, 1);
            for (int r = 0; r < count; r++) {
                char *run = to + oxi_signed_bytes(g->c_dtype, runs[r].offset);
                if (runs[r].outside) run = NULL;
                else if (narrow) oxi_gemm_place_run(&runs[r], rounded, (uint16_t *)(void *)run);
                else store(runs[r].count, row, run, runs[r].step);
                row += runs[r].count * p->type.element;
                rounded += runs[r].count;
            }
        }
    }
}

/* A row of finished sums to C, past the caches by way of the stage if the plan says so; else what is to be
 * written two rows on is prefetched. */
static void oxi_gemm_store(const oxi_gemm_plan *p, int64_t columns, const char *row, char *to, char *stage) {
    const oxi_gemm *g = p->to;
    int64_t each = oxi_info(g->c_dtype)->block_bytes, bytes = columns * each;
    for (int64_t at = 0; !p->streams && g->c_col == 1 && at < bytes; at += 64)
        OXI_PREFETCH_FAR(to + 2 * g->c_row * each + at);
    oxi_store_kernel store = p->kernels->store[g->c_dtype][p->type.lane];
    store(columns, row, p->streams ? stage : to, p->streams ? 1 : g->c_col);
    if (p->streams) p->kernels->stream((size_t)bytes, stage, to);
}

/* A row of sums of i8 products, as they are or their low bits. */
static void oxi_gemm_store_ints(const oxi_gemm *g, int64_t columns, const char *row, char *to) {
    for (int64_t j = 0; j < columns; j++) {
        uint32_t sum;
        memcpy(&sum, row + j * 4, 4);
        if (g->c_dtype == OX_I8)
            ((uint8_t *)to)[j * g->c_col] = (uint8_t)sum;
        else
            memcpy(to + j * g->c_col * 4, &sum, 4);
    }
}

/* Finishes a tile: rows x columns sums with row stride ld, which are C itself if the plan is direct. */
static void oxi_gemm_finish(const oxi_gemm_plan *p, char *sums, int64_t ld, int64_t m, int64_t n,
                            int64_t rows, int64_t columns, char *stage) {
    const oxi_gemm *g = p->to;
    bool plain = oxi_gemm_is_plain(g);
    if (plain && p->direct) return;
    for (int64_t i = 0; i < rows; i++) {
        char *row = sums + i * ld * p->type.element, *to = oxi_gemm_c(g, m + i, n);
        if (p->type.sums == OX_I32) {
            oxi_gemm_store_ints(g, columns, row, to);
            continue;
        }
        if (!plain) oxi_gemm_epilogue(g, p->kernels, p->type.lane, m + i, n, columns, true, row, stage);
        if (!p->direct && !g->c_places) oxi_gemm_store(p, columns, row, to, stage);
    }
    if (g->c_places) oxi_gemm_store_places(p, sums, ld, m, n, rows, columns, stage);
}

/* ---- tiles ----------------------------------------------------------------------------------------- */

/* A tile at element [m,n] of C. */
typedef struct oxi_gemm_tile {
    int64_t m, n, rows, columns;
    char *sums; /* C itself if the plan is direct; NULL if each call gives whole sums, which are rounded */
    int64_t ld;
    bool rounds; /* these calls are the last of their sums */
    const char *next_a, *next_b; /* panels that are read after those at work, if there are any */
    int64_t a_step, next_step;   /* of rows of A as they lie; of those that are read after them */
    int64_t vectors;             /* of B that these meet */
    int64_t next_depth;
    char *lane;
} oxi_gemm_tile;

/* Step k of the product and those behind it, so many at a time as are summed up one by one. */
static void oxi_gemm_multiply(const oxi_gemm_plan *p, const oxi_gemm_tile *t, int64_t k, int64_t depth,
                              const char *a, const char *b, char *c, int64_t ld, const char *next) {
    const oxi_gemm_kernel *kernel = p->type.kernel;
    const int64_t a_step = kernel->mr * (p->type.copies ? p->type.lanes : 1) * p->type.element,
                  b_step = kernel->nr * p->type.element;
    for (;;) {
        const int64_t steps = oxi_min_i64(depth, p->each);
        const bool onto = k > 0 || p->g->onto;
        if (p->g->b_at) kernel->run_at(steps, a, b, c, ld, onto, p->g->b_at + k);
        else if (kernel->run_rows)
            kernel->run_rows(steps, a, t->a_step, b, t->vectors, c, ld, onto, next, t->next_step);
        else kernel->run(steps, a, b, c, ld, onto, next);
        if ((depth -= steps) <= 0) return;
        k += steps;
        a += steps * a_step;
        if (!p->g->b_at) b += steps * b_step;
        next += steps * OXI_PREFETCH_A_STEP;
    }
}

/* Whether sums that are rounded need no memory of their own: one call has all of k. */
static bool oxi_gemm_sums_at_once(const oxi_gemm_plan *p) { return p->round && p->k <= p->depth; }

/* One micro-tile that the panels overhang: computed beside, the part that exists is copied. */
static void oxi_gemm_edge(const oxi_gemm_plan *p, const oxi_gemm_tile *t, int64_t k, int64_t depth,
                          const char *a, const char *b, char *c, int64_t ld, int64_t rows, int64_t columns,
                          const char *next) {
    char *edge = t->lane + p->edge_at;
    int nr = p->type.kernel->nr;
    size_t element = (size_t)p->type.element;
    if (k > 0 || p->g->onto)
        for (int64_t i = 0; i < rows; i++)
            memcpy(edge + (size_t)i * (size_t)nr * element, c + (size_t)(i * ld) * element,
                   (size_t)columns * element);
    oxi_gemm_multiply(p, t, k, depth, a, b, edge, nr, next);
    for (int64_t i = 0; i < rows; i++)
        memcpy(c + (size_t)(i * ld) * element, edge + (size_t)i * (size_t)nr * element,
               (size_t)columns * element);
}

/* One panel of A times one of B, at [i,j] of the tile. Lines of C that take rounded sums are prefetched
 * before. */
static void oxi_gemm_micro_tile(const oxi_gemm_plan *p, const oxi_gemm_tile *t, int64_t k, int64_t depth,
                                const char *a, const char *b, int64_t i, int64_t j, const char *next) {
    const oxi_gemm_kernel *kernel = p->type.kernel;
    int64_t rows = oxi_min_i64(t->rows - i, kernel->mr), columns = oxi_min_i64(t->columns - j, kernel->nr);
    int64_t ld = t->sums ? t->ld : kernel->nr;
    char *to = t->sums ? t->sums + (i * ld + j) * p->type.element : t->lane + p->edge_at;
    uint16_t *c = t->rounds ? (uint16_t *)(void *)oxi_gemm_c(p->g, t->m + i, t->n + j) : NULL;
    for (int64_t r = 0; c && r < rows; r++) OXI_PREFETCH_FAR(c + r * p->g->c_row);
    const bool own = !p->direct && !p->partial; /* sums of whole panels, even if less is wanted */
    if (own || (rows == kernel->mr && columns == kernel->nr))
        oxi_gemm_multiply(p, t, k, depth, a, b, to, ld, next);
    else oxi_gemm_edge(p, t, k, depth, a, b, to, ld, rows, columns, next);
    if (c && columns == kernel->nr) p->round(rows, (const float *)(void *)to, ld, c, p->g->c_row);
    else if (c) oxi_gemm_finish(p, to, ld, t->m + i, t->n + j, rows, columns, t->lane);
}

/* All of the tile's columns, packed by the tile itself. */
static void oxi_gemm_pack_columns(const oxi_gemm_plan *p, const oxi_gemm_tile *t, int64_t k, int64_t depth,
                                  char *own) {
    int64_t group = OXI_GEMM_STAGE_LINES / p->b.width * p->b.width;
    for (int64_t j = 0; j < t->columns; j += group)
        oxi_gemm_pack(p, &p->b, t->n + j, oxi_min_i64(t->columns - j, group), k, depth,
                      own + j * depth * p->type.element, t->lane);
}

/* The tile times `depth` steps from k on, a panel of B at a time: it stays in the first cache. a, b: the
 * panels of the first row and column; b NULL if tiles pack it. */
static void oxi_gemm_panels(const oxi_gemm_plan *p, oxi_gemm_tile *t, int64_t k, int64_t depth,
                            const char *a, const char *b) {
    int64_t mr = p->a.width, nr = p->b.width, a_bytes = depth * mr * p->type.element;
    int64_t b_bytes = depth * nr * p->type.element, each = depth * OXI_PREFETCH_A_STEP;
    int64_t ahead = oxi_round_up(t->rows, mr) * t->next_depth * p->type.element; /* of A's next chunk */
    int64_t b_calls = oxi_parts(b_bytes, each),
            a_calls = oxi_parts(ahead, each * oxi_parts(t->columns, nr));
    char *own = t->lane + p->b_at;
    for (int64_t j = 0, a_fetched = 0; j < t->columns; j += nr) {
        const char *a_panel = a;
        const char *b_panel = !b ? own : b + (p->g->b_at ? j * p->type.element : j / nr * b_bytes);
        const char *b_next = !b || p->g->b_at ? NULL : j + nr < t->columns ? b_panel + b_bytes : t->next_b;
        if (!b) oxi_gemm_pack(p, &p->b, t->n + j, oxi_min_i64(t->columns - j, nr), k, depth, own, t->lane);
        for (int64_t i = 0, call = 0; i < t->rows; i += mr, call++, a_panel += a_bytes) {
            /* the first calls prefetch the next panel of b, some others a share of a's next chunk */
            const char *next = a_panel;
            if (call < b_calls && b_next) {
                next = b_next + call * each;
            } else if (call < b_calls + a_calls && t->next_a && a_fetched < ahead) {
                next = t->next_a + a_fetched;
                a_fetched += each;
            }
            oxi_gemm_micro_tile(p, t, k, depth, a_panel, b_panel, i, j, next);
        }
    }
}

/* The same for a kernel that wants copies, or takes rows of A as they lie, which are copied only where they
 * are fewer than it takes: a panel of A at a time, which stays in the first cache. Calls prefetch the rows
 * behind these, and a share of b's next chunk. */
static void oxi_gemm_panels_of_rows(const oxi_gemm_plan *p, oxi_gemm_tile *t, int64_t k, int64_t depth,
                                    const char *a, const char *b) {
    const int64_t mr = p->a.width, nr = p->b.width, element = p->type.element;
    const int64_t step = p->a.line_stride / p->type.k_each, whole = oxi_round_up(t->columns, nr);
    const bool lie = p->type.kernel->run_rows != NULL;
    char *copies = t->lane + p->copies_at;
    for (int64_t i = 0, ahead = 0; i < t->rows; i += mr) {
        const char *rows = copies, *lying = a + i * step * element, *next = lying + mr * step * element;
        const int64_t here = oxi_min_i64(t->rows - i, mr);
        t->a_step = depth;
        if (p->copies_lines)
            p->type.copies_along(here, depth, oxi_gemm_at(&p->a, t->m + i, k), p->a.line_stride, copies);
        else if (!lie) p->type.copies(depth, a + i * depth * element, copies);
        else if (here == mr) {
            t->a_step = step;
            rows = lying;
        } else {
            memset(copies, 0, (size_t)(mr * depth * element));
            for (int64_t r = 0; r < here; r++)
                oxi_gemm_widen(p, &p->a, t->m + i + r, k, depth, true, copies + r * depth * element);
        }
        if (i + mr >= t->rows) next = t->next_a;
        t->next_step = step * element;
        for (int64_t j = 0; j < t->columns; j += nr) {
            const char *b_panel = b + j * (p->g->b_at ? 1 : depth) * element;
            t->vectors = oxi_parts(oxi_min_i64(t->columns - j, nr), p->type.lanes);
            oxi_gemm_micro_tile(p, t, k, depth, rows, b_panel, i, j,
                                lie && next ? next : b_panel + depth * nr * element);
            if (!t->next_b) continue;
            next = t->next_b + ahead;
            t->next_step = t->next_depth * element;
            ahead = (ahead + 8 * t->next_step) % (whole * t->next_step);
        }
    }
}

/* Sums of a tile of pieces that are not finite are summed again as they are: infinities are wrong in pieces.
 * All of k is here. */
static void oxi_gemm_sum_again(const oxi_gemm_plan *p, const oxi_gemm_tile *t) {
    const oxi_kernels *kernels = p->kernels;
    float *line = (float *)(void *)t->lane, *sums = line + t->columns, numbers[OXI_GEMM_PIECE];
    for (int64_t i = 0; i < t->rows; i++) {
        float *row = (float *)(void *)t->sums + i * t->ld;
        double sum = kernels->row_sum(t->columns, row, false);
        if (sum - sum == 0) continue;
        memset(sums, 0, (size_t)t->columns * sizeof *sums);
        for (int64_t k = 0; k < p->g->k; k++) {
            int64_t at = k % OXI_GEMM_PIECE;
            if (at == 0)
                oxi_gemm_widen(p, &p->a, t->m + i, k, oxi_min_i64(p->g->k - k, OXI_GEMM_PIECE), true,
                               numbers);
            oxi_gemm_widen(p, &p->b, t->n, k, t->columns, false, line);
            kernels->axpy_f32(t->columns, numbers[at], line, sums);
        }
        for (int64_t j = 0; j < t->columns; j++)
            if (row[j] - row[j] != 0) row[j] = sums[j];
    }
}

/* The panels from line `at` of the block on, and its step k of `depth` that are one chunk. */
static const char *oxi_gemm_panels_at(const oxi_gemm_plan *p, const oxi_gemm_side *s, int64_t at, int64_t k,
                                      int64_t depth) {
    bool is_a = s == &p->a;
    if (is_a && p->type.kernel->run_rows)
        return oxi_gemm_at(s, p->m0 + at, (p->k0 + k) * p->type.k_each);
    int64_t lines = oxi_round_up(is_a ? p->rows : p->columns, s->width);
    if (s->all_lines) {
        k += p->k0;
        at += is_a ? p->m0 : p->n0;
        lines = s->all_lines;
    }
    if (!is_a && p->g->b_at) return s->packed + at * p->type.element;
    return s->packed + (k * lines + depth * at) * p->type.element;
}

/* What is read when the chunk at step k of the tile at [i,j] of the block is done: the tile's next one, or
 * the first of the tile that a thread takes next. Panels that tiles pack themselves are not there yet. */
static void oxi_gemm_find_next(const oxi_gemm_plan *p, oxi_gemm_tile *t, int64_t i, int64_t j, int64_t k) {
    k += p->depth;
    if (k >= p->ks) {
        k = 0;
        i += p->tile_m;
    }
    if (i >= p->rows) {
        i = 0;
        j += p->tile_n;
    }
    bool any = j < p->columns;
    t->next_depth = oxi_min_i64(p->ks - k, p->depth);
    t->next_a = any && !p->own_a ? oxi_gemm_panels_at(p, &p->a, i, k, t->next_depth) : NULL;
    t->next_b = any && !p->own_b ? oxi_gemm_panels_at(p, &p->b, j, k, t->next_depth) : NULL;
}

/* Task: one tile of the block, all of the block's k. */
static void oxi_gemm_tile_task(void *arg, int64_t index, int lane) {
    const oxi_gemm_plan *p = (const oxi_gemm_plan *)arg;
    int64_t down = oxi_parts(p->rows, p->tile_m), element = p->type.element;
    int64_t i = index % down * p->tile_m, j = index / down * p->tile_n;
    oxi_gemm_tile t;
    t.m = p->m0 + i;
    t.n = p->n0 + j;
    t.rows = oxi_min_i64(p->rows - i, p->tile_m);
    t.columns = oxi_min_i64(p->columns - j, p->tile_n);
    t.lane = p->scratch + (size_t)lane * p->lane_bytes;
    t.sums = oxi_gemm_sums_at_once(p) ? NULL
           : p->direct ? oxi_gemm_c(p->g, t.m, t.n)
           : p->partial ? p->partial + (i * p->partial_ld + j) * element : t.lane + p->sums_at;
    t.ld = p->direct ? p->g->c_row : p->partial ? p->partial_ld : p->sums_ld;
    for (int64_t r = 0; p->k == 0 && !p->g->onto && r < t.rows; r++)
        memset(t.sums + r * t.ld * element, 0, (size_t)(t.columns * element));
    if (p->type.kernel->enter) p->type.kernel->enter();
    for (int64_t at = 0; at < p->ks; at += p->depth) {
        int64_t depth = oxi_min_i64(p->ks - at, p->depth);
        const char *a = p->own_a ? t.lane + p->a_at : oxi_gemm_panels_at(p, &p->a, i, at, depth);
        const char *b = p->own_b ? NULL : oxi_gemm_panels_at(p, &p->b, j, at, depth);
        if (p->own_a && !p->copies_lines)
            oxi_gemm_pack(p, &p->a, t.m, t.rows, p->k0 + at, depth, t.lane + p->a_at, t.lane);
        t.rounds = p->round && p->k0 + at + depth == p->k;
        oxi_gemm_find_next(p, &t, i, j, at);
        if (p->own_b && p->own_b_whole) {
            oxi_gemm_pack_columns(p, &t, p->k0 + at, depth, t.lane + p->b_at);
            b = t.lane + p->b_at;
        }
        if (p->type.copies || p->type.kernel->run_rows)
            oxi_gemm_panels_of_rows(p, &t, p->k0 + at, depth, a, b);
        else oxi_gemm_panels(p, &t, p->k0 + at, depth, a, b);
    }
    if (p->type.kernel->leave) p->type.kernel->leave();
    if (p->k0 + p->ks < p->k) return;
    if (p->type.pieces) oxi_gemm_sum_again(p, &t);
    if (p->to != p->g) {
        char *turned = t.lane + p->turned_at;
        p->kernels->pack_along(t.rows, t.columns, t.sums, t.ld, (int)t.rows, turned, 0);
        oxi_gemm_finish(p, turned, t.rows, t.n, t.m, t.columns, t.rows, t.lane);
    } else if (!p->round) oxi_gemm_finish(p, t.sums, t.ld, t.m, t.n, t.rows, t.columns, t.lane);
}
