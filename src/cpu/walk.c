/* Walking strided operands: up to ten over one shape, in runs as few and as long as their strides allow.
 * Dims of size 1 go, neighbors that lie end to end are merged; the last dim left is handed out in pieces
 * (pointers, strides, length) that a kernel takes whole. An operand whose rows are the others' columns is
 * transposed, tile by tile in L1, and handed out from there (cpu/transpose.c). Used by every executor of
 * cpu/. */

#define OXI_WALK_MAX 10 /* results and operands of a chain */

/* Filled in three steps:  oxi_walk_begin(&w, ndim, shape);  oxi_walk_add(&w, tensor) for each operand;
 * oxi_walk_ready(&w, order).  It is plain data: copies are independent, and base may be moved afterwards. */
typedef struct oxi_walk {
    int operands, ndim; /* ready: ndim >= 1 */
    int64_t shape[OX_MAX_DIMS];
    int64_t bytes[OXI_WALK_MAX];               /* of one element */
    char *base[OXI_WALK_MAX];                  /* address of position 0 */
    int64_t numel;                             /* positions, 0 when a dim is 0 */
    int64_t length;                            /* of the last dim: the longest run */
    int64_t step[OXI_WALK_MAX];                /* strides of the last dim, elements; of those transposed 1 */
    unsigned transposed; /* bit k: pieces of operand k come from a tile; 0, then alone: results go into one */
    int across;          /* the dim along which the transposed operands' memory runs */
    bool moves;                                /* of two operands, what walks does no more than copy 1 to 0 */
    bool streams; /* operand 0 goes past the caches, by whole lines: from pieces or, transposed, tiles */
    int64_t stride[OXI_WALK_MAX][OX_MAX_DIMS]; /* elements; those there are, oxi_walk_copy */
} oxi_walk;

/* IN_ORDER: position i is element i of the row-major shape. MEMORY_ORDER: dims are sorted and reversed so
 * that memory is walked forwards, the first operand's before the others'. ANY_ORDER: the same, but a long dim
 * is taken as the run where the innermost is tiny. TILED: the same, and what is better transposed is
 * transposed; for oxi_walk_all, whose pieces then do not know their position. */
typedef enum oxi_walk_order {
    OXI_WALK_IN_ORDER,
    OXI_WALK_MEMORY_ORDER,
    OXI_WALK_ANY_ORDER,
    OXI_WALK_TILED
} oxi_walk_order;

/* A place on a walk:  for (oxi_walk_seek(&w, &c, first, count, most); c.n; oxi_walk_next(&w, &c))  handles
 * c.n elements of one run, operand k at c.p[k] with stride w.step[k]; c.n is at most `most`. */
typedef struct oxi_cursor {
    char *p[OXI_WALK_MAX];
    int64_t n;          /* elements of this piece; 0 = the end */
    int64_t position;   /* of the piece's first element */
    int64_t left, most; /* elements from here on; limit of a piece */
    int64_t index[OX_MAX_DIMS];
} oxi_cursor;

/* Called once for each piece of a walk; lane as in oxi_parallel_for. */
typedef void (*oxi_walk_piece)(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane);

OXI_SMALL int64_t oxi_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many units hold x, and their sum. */
OXI_SMALL int64_t oxi_parts(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit;
}
OXI_SMALL int64_t oxi_round_up(int64_t x, int64_t unit) {
    return oxi_parts(x, unit) * unit;
}

/* ---- lanes --------------------------------------------------------------------------------------------- */

/* The lane that holds every number of a plain dtype exactly and is computed in by default. */
static OXI_UNUSED oxi_lane oxi_lane_of(ox_dtype dtype) {
    switch (dtype) {
    case OX_F64: return OXI_LANE_F64;
    case OX_U64: return OXI_LANE_U64;
    case OX_C64: return OXI_LANE_C64;
    default: return oxi_info(dtype)->cls == OX_CLASS_FLOAT ? OXI_LANE_F32 : OXI_LANE_I64;
    }
}

OXI_SMALL int64_t oxi_lane_bytes(oxi_lane lane) {
    return lane == OXI_LANE_F32 ? 4 : 8;
}

/* The dtype whose elements in memory are the lane's own: such runs need no conversion. */
OXI_SMALL ox_dtype oxi_lane_dtype(oxi_lane lane) {
    static const ox_dtype native[OXI_LANE_COUNT] = {OX_F32, OX_F64, OX_I64, OX_U64, OX_C64};
    return native[lane];
}

OXI_SMALL int64_t oxi_dtype_bytes(ox_dtype dtype) {
    return oxi_info(dtype)->block_bytes;
}

/* ---- building ------------------------------------------------------------------------------------------ */

static OXI_UNUSED void oxi_walk_begin(oxi_walk *w, int ndim, const int64_t *shape) {
    w->operands = w->across = 0;
    w->transposed = 0;
    w->moves = w->streams = false;
    w->ndim = ndim;
    for (int d = 0; d < ndim; d++) w->shape[d] = shape[d];
}

/* *to = *from, of what is long only what there is. */
static OXI_UNUSED void oxi_walk_copy(oxi_walk *to, const oxi_walk *from) {
    memcpy(to, from, offsetof(oxi_walk, stride) + (size_t)from->operands * sizeof *from->stride);
}

/* An operand with one stride (elements) for each dim of the walk. */
static OXI_UNUSED void oxi_walk_add_raw(oxi_walk *w, void *base, int64_t bytes, const int64_t *stride) {
    int k = w->operands++;
    w->base[k] = (char *)base;
    w->bytes[k] = bytes;
    for (int d = 0; d < w->ndim; d++) w->stride[k][d] = stride[d];
}

/* A tensor of a plain dtype, broadcast to the walk's shape: aligned at the last dim, 0 along dims it
 * lacks. */
static OXI_UNUSED void oxi_walk_add(oxi_walk *w, const ox_tensor *t) {
    int64_t stride[OX_MAX_DIMS];
    int lead = w->ndim - t->ndim;
    for (int d = 0; d < w->ndim; d++) {
        stride[d] = d < lead || (t->shape[d - lead] == 1 && w->shape[d] != 1) ? 0 : t->stride[d - lead];
    }
    oxi_walk_add_raw(w, oxi_ptr(t), oxi_dtype_bytes(t->dtype), stride);
}

static void oxi_walk_swap_dims(oxi_walk *w, int a, int b) {
    int64_t kept = w->shape[a];
    w->shape[a] = w->shape[b];
    w->shape[b] = kept;
    for (int k = 0; k < w->operands; k++) {
        kept = w->stride[k][a];
        w->stride[k][a] = w->stride[k][b];
        w->stride[k][b] = kept;
    }
}

static void oxi_walk_drop_ones(oxi_walk *w) {
    int kept = 0;
    for (int d = 0; d < w->ndim; d++) {
        if (w->shape[d] == 1) continue;
        w->shape[kept] = w->shape[d];
        for (int k = 0; k < w->operands; k++) w->stride[k][kept] = w->stride[k][d];
        kept++;
    }
    w->ndim = kept;
}

/* Reverses dims whose first non-zero stride is negative: position 0 moves to their other end. */
static void oxi_walk_reverse_dims(oxi_walk *w) {
    for (int d = 0; d < w->ndim; d++) {
        int first = 0;
        while (first < w->operands - 1 && w->stride[first][d] == 0) first++;
        if (w->stride[first][d] >= 0) continue;
        for (int k = 0; k < w->operands; k++) {
            w->base[k] += (w->shape[d] - 1) * w->stride[k][d] * w->bytes[k];
            w->stride[k][d] = -w->stride[k][d];
        }
    }
}

/* Whether dim a should lie inside dim b: it has the smaller stride in the first operand that moves along
 * both. */
static bool oxi_walk_inside(const oxi_walk *w, int a, int b) {
    for (int k = 0; k < w->operands; k++) {
        int64_t stride_a = llabs(w->stride[k][a]), stride_b = llabs(w->stride[k][b]);
        if (stride_a == 0 || stride_b == 0 || stride_a == stride_b) continue;
        return stride_a < stride_b;
    }
    return false;
}

static void oxi_walk_sort(oxi_walk *w) {
    for (int d = 1; d < w->ndim; d++) {
        for (int e = d; e > 0 && oxi_walk_inside(w, e - 1, e); e--) oxi_walk_swap_dims(w, e - 1, e);
    }
}

static void oxi_walk_merge(oxi_walk *w) {
    int last = 0;
    for (int d = 1; d < w->ndim; d++) {
        bool joins = true;
        for (int k = 0; k < w->operands; k++) {
            joins = joins && w->stride[k][last] == w->shape[d] * w->stride[k][d];
        }
        if (!joins) last++;
        w->shape[last] = joins ? w->shape[last] * w->shape[d] : w->shape[d];
        for (int k = 0; k < w->operands; k++) w->stride[k][last] = w->stride[k][d];
    }
    if (w->ndim > 0) w->ndim = last + 1;
}

/* Runs of two or three elements cost more in calls than strided access does: takes the longest dim
 * instead. */
static void oxi_walk_lengthen(oxi_walk *w) {
    int longest = w->ndim - 1;
    if (longest < 1 || w->shape[longest] >= 8) return;
    for (int d = 0; d < w->ndim - 1; d++) {
        if (w->shape[d] > w->shape[longest]) longest = d;
    }
    if (w->shape[longest] < 8 * w->shape[w->ndim - 1]) return;
    for (int d = longest; d < w->ndim - 1; d++) oxi_walk_swap_dims(w, d, d + 1);
}

/* Whether operand k runs along dim d, with gaps along the last; both are long enough for vectors. */
static bool oxi_walk_runs_along(const oxi_walk *w, int k, int d) {
    int last = w->ndim - 1;
    int64_t vector = 16 / w->bytes[k];
    return llabs(w->stride[k][d]) == 1 && llabs(w->stride[k][last]) > 1 && w->shape[d] >= vector &&
           w->shape[last] >= vector;
}

/* The operands that run along dim d, with gaps along the last; *bytes: of an element of each. */
static unsigned oxi_walk_running_along(const oxi_walk *w, int d, int64_t *bytes) {
    unsigned found = 0;
    *bytes = 0;
    for (int k = 0; k < w->operands; k++) {
        if (!oxi_walk_runs_along(w, k, d)) continue;
        found |= 1u << k;
        *bytes += w->bytes[k];
    }
    return found;
}

/* Finds the operands to transpose, all of them along one dim; false if there are none. Where the result
 * alone has fewer bytes than they, the walk goes along that dim instead and the result is what is
 * transposed. */
static bool oxi_walk_find_transposed(oxi_walk *w) {
    int last = w->ndim - 1;
    int64_t bytes = 0, result_bytes;
    w->transposed = 0;
    for (w->across = last - 1; w->across >= 0; w->across--) {
        w->transposed = oxi_walk_running_along(w, w->across, &bytes) & ~1u;
        if (w->transposed) break;
    }
    if (!w->transposed) return false;
    oxi_walk_swap_dims(w, w->across, last);
    if (oxi_walk_running_along(w, w->across, &result_bytes) == 1u && result_bytes < bytes)
        w->transposed = 1u;
    else
        oxi_walk_swap_dims(w, w->across, last);
    return true;
}

static OXI_UNUSED void oxi_walk_ready(oxi_walk *w, oxi_walk_order order) {
    w->numel = 1;
    for (int d = 0; d < w->ndim; d++) w->numel *= w->shape[d];
    if (w->numel > 0) {
        oxi_walk_drop_ones(w);
        if (order != OXI_WALK_IN_ORDER) {
            oxi_walk_reverse_dims(w);
            oxi_walk_sort(w);
        }
        oxi_walk_merge(w);
        bool transposes = order == OXI_WALK_TILED && oxi_walk_find_transposed(w);
        if (order >= OXI_WALK_ANY_ORDER && !transposes) oxi_walk_lengthen(w);
    }
    if (w->numel == 0 || w->ndim == 0) {
        w->ndim = 1;
        w->shape[0] = w->numel;
        for (int k = 0; k < w->operands; k++) w->stride[k][0] = 1;
    }
    w->length = w->shape[w->ndim - 1];
    for (int k = 0; k < w->operands; k++) w->step[k] = w->transposed >> k & 1 ? 1 : w->stride[k][w->ndim - 1];
}

/* Whether one run with step 1 covers the whole operand. */
static OXI_UNUSED bool oxi_walk_flat(const oxi_walk *w, int operand) {
    return w->ndim == 1 && w->step[operand] == 1;
}

/* Whether operand 0, all of `out`, is better written past the caches: it is more than they hold, in runs that
 * are long beside the lines in which they begin and end, for half a line takes as long as many whole ones. */
static OXI_UNUSED bool oxi_walk_may_stream(const oxi_walk *w, const ox_tensor *out) {
    enum { LEAST_RUN = 3072 };
    int64_t run = w->transposed & 1u ? w->shape[w->across] : w->length;
    return oxi_streams(out) && w->step[0] == 1 && run * w->bytes[0] >= LEAST_RUN;
}

/* ---- walking ------------------------------------------------------------------------------------------- */

static void oxi_walk_measure(const oxi_walk *w, oxi_cursor *c) {
    int64_t n = w->length - c->index[w->ndim - 1];
    if (n > c->most) n = c->most;
    c->n = n < c->left ? n : c->left;
}

/* Puts the cursor on position `first` to walk `count` positions from there, in pieces of at most `most`. */
static OXI_UNUSED void oxi_walk_seek(const oxi_walk *w, oxi_cursor *c, int64_t first, int64_t count,
                                     int64_t most) {
    c->position = first;
    c->left = count;
    c->most = most;
    c->n = 0;
    if (count <= 0) return;
    for (int k = 0; k < w->operands; k++) c->p[k] = w->base[k];
    for (int d = w->ndim - 1; d >= 0; d--) {
        bool divides = d > 0 && first != 0; /* mostly 0, and divisions take their time */
        c->index[d] = divides ? first % w->shape[d] : first;
        first = divides ? first / w->shape[d] : 0;
        for (int k = 0; c->index[d] && k < w->operands; k++)
            c->p[k] += c->index[d] * w->stride[k][d] * w->bytes[k];
    }
    oxi_walk_measure(w, c);
}

static OXI_UNUSED void oxi_walk_next(const oxi_walk *w, oxi_cursor *c) {
    int d = w->ndim - 1;
    c->position += c->n;
    c->left -= c->n;
    c->index[d] += c->n;
    for (int k = 0; k < w->operands; k++) c->p[k] += c->n * w->step[k] * w->bytes[k];
    for (; d > 0 && c->index[d] == w->shape[d]; d--) {
        c->index[d] = 0;
        c->index[d - 1]++;
        for (int k = 0; k < w->operands; k++) {
            c->p[k] += (w->stride[k][d - 1] - w->shape[d] * w->stride[k][d]) * w->bytes[k];
        }
    }
    oxi_walk_measure(w, c);
}

typedef struct oxi_walk_work {
    const oxi_walk *w;
    int64_t grain, most;
    oxi_walk_piece piece;
    void *arg;
} oxi_walk_work;

static void oxi_walk_task(void *arg, int64_t index, int lane) {
    const oxi_walk_work *work = (const oxi_walk_work *)arg;
    const oxi_walk *w = work->w;
    int64_t first = index * work->grain, count = oxi_min_i64(w->numel - first, work->grain);
    int64_t step[OXI_WALK_MAX];
    const int outer = w->ndim - 2, operands = w->operands;
    oxi_cursor c;
    for (int k = 0; k < operands; k++) step[k] = outer < 0 ? 0 : w->stride[k][outer] * w->bytes[k];
    for (oxi_walk_seek(w, &c, first, count, work->most); c.n; oxi_walk_next(w, &c)) {
        if (outer >= 0 && c.n == w->length) { /* whole runs that follow, one step away each */
            const int64_t more = oxi_min_i64(w->shape[outer] - c.index[outer], c.left / c.n) - 1;
            for (int64_t i = 0; i < more; i++) {
                work->piece(work->arg, w, &c, lane);
                for (int k = 0; k < operands; k++) c.p[k] += step[k];
                c.position += c.n;
            }
            c.left -= more * c.n;
            c.index[outer] += more;
        }
        work->piece(work->arg, w, &c, lane);
    }
}

/* So many tasks of `grain` positions, whatever the number of threads. */
static OXI_UNUSED int64_t oxi_walk_tasks(const oxi_walk *w, int64_t grain) {
    return w->numel / grain + (w->numel % grain != 0);
}
