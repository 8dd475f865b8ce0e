/* Walking strided operands: up to four over one shape, in runs as few and as long as their strides allow.
 * Dims of size 1 go, neighbors that lie end to end are merged; the last dim left is handed out in pieces
 * (pointers, strides, length) that a kernel takes whole. An operand whose rows are the others' columns is
 * transposed, tile by tile in L1, and handed out from there. Used by every executor of cpu/. */

#define OXI_WALK_MAX 4

/* Filled in three steps:  oxi_walk_begin(&w, ndim, shape);  oxi_walk_add(&w, tensor) for each operand;
 * oxi_walk_ready(&w, order).  It is plain data: copies are independent, and base may be moved afterwards. */
typedef struct oxi_walk {
    int operands, ndim; /* ready: ndim >= 1 */
    int64_t shape[OX_MAX_DIMS];
    int64_t stride[OXI_WALK_MAX][OX_MAX_DIMS]; /* elements */
    int64_t bytes[OXI_WALK_MAX];               /* of one element */
    char *base[OXI_WALK_MAX];                  /* address of position 0 */
    int64_t numel;                             /* positions, 0 when a dim is 0 */
    int64_t length;                            /* of the last dim: the longest run */
    int64_t step[OXI_WALK_MAX];                /* strides of the last dim, elements; of those transposed 1 */
    unsigned transposed; /* bit k: pieces of operand k come from a tile; 0, then alone: results go into one */
    int across;          /* the dim along which the transposed operands' memory runs */
    bool moves;                                /* of two operands, what walks does no more than copy 1 to 0 */
    bool streams; /* operand 0 goes past the caches, by whole lines: from pieces or, transposed, tiles */
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

static OXI_UNUSED int64_t oxi_min_i64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* How many units hold x, and their sum. */
static OXI_UNUSED int64_t oxi_parts(int64_t x, int64_t unit) {
    return (x + unit - 1) / unit;
}
static OXI_UNUSED int64_t oxi_round_up(int64_t x, int64_t unit) {
    return oxi_parts(x, unit) * unit;
}

/* ---- lanes --------------------------------------------------------------------------------------------- */

/* The lane that holds every number of a plain dtype exactly and is computed in by default. */
static OXI_UNUSED oxi_lane oxi_lane_of(ox_dtype dtype) {
    switch (dtype) {
    case OX_F64: return OXI_LANE_F64;
    case OX_U64: return OXI_LANE_U64;
    case OX_C64: return OXI_LANE_C64;
    default: return ox_dtype_get_info(dtype)->cls == OX_CLASS_FLOAT ? OXI_LANE_F32 : OXI_LANE_I64;
    }
}

static OXI_UNUSED int64_t oxi_lane_bytes(oxi_lane lane) {
    return lane == OXI_LANE_F32 ? 4 : 8;
}

/* The dtype whose elements in memory are the lane's own: such runs need no conversion. */
static OXI_UNUSED ox_dtype oxi_lane_dtype(oxi_lane lane) {
    static const ox_dtype native[OXI_LANE_COUNT] = {OX_F32, OX_F64, OX_I64, OX_U64, OX_C64};
    return native[lane];
}

static OXI_UNUSED int64_t oxi_dtype_bytes(ox_dtype dtype) {
    return ox_dtype_get_info(dtype)->block_bytes;
}

/* ---- building ------------------------------------------------------------------------------------------ */

static OXI_UNUSED void oxi_walk_begin(oxi_walk *w, int ndim, const int64_t *shape) {
    memset(w, 0, sizeof *w);
    w->ndim = ndim;
    for (int d = 0; d < ndim; d++) w->shape[d] = shape[d];
}

/* An operand with one stride (elements) for each dim of the walk. */
static OXI_UNUSED void oxi_walk_add_raw(oxi_walk *w, void *base, int64_t bytes, const int64_t *stride) {
    int k = w->operands++;
    w->base[k] = (char *)base;
    w->bytes[k] = bytes;
    for (int d = 0; d < w->ndim; d++) w->stride[k][d] = stride[d];
}

/* A tensor of a plain dtype, broadcast to the walk's shape: aligned at the last dim, 0 along dims it lacks.
 * */
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

/* Runs of two or three elements cost more in calls than strided access does: takes the longest dim instead.
 * */
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
    int64_t bytes, result_bytes;
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
        c->index[d] = d > 0 ? first % w->shape[d] : first;
        first = d > 0 ? first / w->shape[d] : 0;
        for (int k = 0; k < w->operands; k++) c->p[k] += c->index[d] * w->stride[k][d] * w->bytes[k];
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
    int outer = w->ndim - 2;
    oxi_cursor c;
    for (int k = 0; k < w->operands; k++) step[k] = outer < 0 ? 0 : w->stride[k][outer] * w->bytes[k];
    for (oxi_walk_seek(w, &c, first, count, work->most); c.n; oxi_walk_next(w, &c)) {
        int64_t more = 0; /* whole runs that follow, one step away each */
        if (outer >= 0 && c.n == w->length)
            more = oxi_min_i64(w->shape[outer] - c.index[outer], c.left / c.n) - 1;
        for (; more > 0; more--) {
            work->piece(work->arg, w, &c, lane);
            for (int k = 0; k < w->operands; k++) c.p[k] += step[k];
            c.position += c.n;
            c.left -= c.n;
            c.index[outer]++;
        }
        work->piece(work->arg, w, &c, lane);
    }
}

/* Walks everything on all threads: tasks of `grain` positions, whatever the number of threads, in pieces of
 * at most `most`. Scratch is set aside for oxi_lanes(oxi_walk_tasks(w, grain)) lanes. */
static OXI_UNUSED int64_t oxi_walk_tasks(const oxi_walk *w, int64_t grain) {
    return w->numel / grain + (w->numel % grain != 0);
}

/* ---- transposing ------------------------------------------------------------------------------------ */

/* A tile: `rows` positions along the walk's last dim, `columns` along the dim `across`, in which the
 * transposed operands lie side by side. Strips of tiles, next to each other across, are what tasks are made
 * of; tasks follow each other so that what each core writes lies in one piece: lines in which two meet go
 * to and fro. What is small is transposed in L1. Of what is large, tiles as long as a second cache holds:
 * memory is read and written the faster, the longer the runs are. What is transposed right into operand 0
 * needs no tile: long columns, as lines are cut where those end; few rows of what is larger, so that the
 * lines that the processor fetches by itself behind each are used soon, and where rows share sets of a
 * cache. A tile of results is filled column by column and then transposed into operand 0. */
enum {
    OXI_TILE_BYTES = 32 << 10,      /* of all transposed operands */
    OXI_TILE_FAR_BYTES = 288 << 10, /* the same of a large walk */
    OXI_TILE_NEAR_BYTES = 2 << 10,  /* up to this many, of all lanes, lie on the stack */
    OXI_TILE_GAPS = 64,             /* room beside them: each operand's part starts aligned */
    OXI_TILE_RUN = 2048,            /* bytes of a column of a tile, of the widest operand */
    OXI_TILE_ROWS = 1024,           /* that are transposed right into operand 0 */
    OXI_TILE_FEW_ROWS = 256,        /* the same of a large walk, and where rows share sets of a cache */
    OXI_TILE_WIDE = 512,            /* bytes of a row of a tile, of the narrowest operand of a large walk */
    OXI_TILE_COLUMNS = 256,         /* at most */
    OXI_TILE_SETS = 1 << 20,        /* rows of a tile times the power of two in their distance, bytes: rows */
    OXI_TILE_LEAST = 128,           /* that share few sets of a cache push each other out; rows at least */
    OXI_TILE_FAR = 1 << 22,         /* bytes of all operands: from here on a walk is large, */
    OXI_TILE_FARTHER = 1 << 24,     /* and from here on operands are prefetched */
    OXI_TILE_FETCH = 16,            /* rows that are fetched ahead */
    OXI_TILE_STRIP = 64,            /* rows transposed at a time where nothing is fetched, */
    OXI_TILE_LEAP = 256,            /* unless more than this power of two is in their distance, bytes */
    OXI_TILE_AHEAD = 3,             /* columns that the other operands are fetched ahead */
    OXI_TILE_STREAM = 64,           /* rows of a transposed result that go past the caches at a time */
    OXI_LINE = 64                   /* bytes of a cache line */
};

typedef struct oxi_tiling {
    const oxi_walk *w;
    oxi_walk_piece piece;
    void *arg;
    int64_t rows, columns, most;
    int64_t width;                                      /* columns of a strip */
    int64_t beyond; /* columns of results behind a tile, up to where its last lines end */
    int64_t strips_along, strips_across, strips, group; /* group: strips of a task */
    int64_t pitch[OXI_WALK_MAX];                        /* bytes from column to column of a tile */
    bool fetches;       /* what a tile is made of is prefetched */
    char *scratch;      /* tiles of each lane */
    int64_t tile_bytes; /* of a lane */
} oxi_tiling;

/* Elements from p to the next line of operand 0. */
static int64_t oxi_to_line(const oxi_walk *w, const char *p) {
    return (int64_t)((0 - (uintptr_t)p) % OXI_LINE) / w->bytes[0];
}

/* Bytes of all operands. */
static int64_t oxi_walk_bytes(const oxi_walk *w) {
    int64_t all = 0;
    for (int k = 0; k < w->operands; k++) all += w->bytes[k] * w->numel;
    return all;
}

/* Whether tiles are transposed right into operand 0. */
static bool oxi_tiles_are_moved(const oxi_walk *w) {
    return w->moves && !w->streams;
}

/* So many bytes as whole lines, an odd number: what is so far apart lies in all sets of a cache. */
static int64_t oxi_line_pitch(int64_t bytes) {
    return oxi_round_up(bytes + OXI_LINE, 2 * OXI_LINE) - OXI_LINE;
}

/* Sets the distances of columns in tiles of so many rows and `ahead` more; returns their sum. */
static int64_t oxi_tiling_pitch(oxi_tiling *t, int64_t ahead) {
    const oxi_walk *w = t->w;
    int64_t sum = 0;
    for (int k = 0; k < w->operands; k++) {
        t->pitch[k] = t->rows * w->bytes[k];
        if (t->rows < w->length)
            t->pitch[k] = oxi_line_pitch(t->pitch[k] + ahead * w->bytes[k]);
        if (w->transposed >> k & 1) sum += t->pitch[k];
    }
    return sum;
}

/* The largest power of two in x. */
static int64_t oxi_power_in(int64_t x) {
    return x & -x;
}

/* At most so many rows of a tile, whole lines of operand 0 if there are several tiles: as many in each.
 * Copies keep to rows that share no sets; what calls a kernel for each column is better off with long ones.
 * */
static int64_t oxi_tile_rows(const oxi_walk *w, int64_t most) {
    int64_t step = w->moves ? w->stride[1][w->ndim - 1] * w->bytes[1] : 0;
    while (most >= 2 * OXI_TILE_LEAST && most * oxi_power_in(step) > OXI_TILE_SETS) most /= 2;
    if (w->length <= most) return w->length;
    int64_t each = oxi_parts(w->length, oxi_parts(w->length, most));
    return oxi_min_i64(oxi_round_up(each, OXI_LINE / oxi_min_i64(w->bytes[0], OXI_LINE)), most);
}

/* Tiles of `bytes` for all transposed operands. */
static void oxi_tiling_begin(oxi_tiling *t, const oxi_walk *w, int64_t grain, int64_t most, int64_t bytes) {
    int64_t widest = w->bytes[0], narrowest = 16, all = oxi_walk_bytes(w);
    int64_t across = w->shape[w->across], line = OXI_LINE / w->bytes[0], ahead = w->streams ? line - 1 : 0;
    bool large = bytes > OXI_TILE_BYTES, moved = oxi_tiles_are_moved(w), result = w->transposed & 1u;
    bool leaps = moved && oxi_power_in(w->stride[1][w->ndim - 1] * w->bytes[1]) > OXI_TILE_LEAP;
    for (int k = 0; k < w->operands; k++) {
        if (!result && !(w->transposed >> k & 1)) continue;
        if (w->bytes[k] > widest) widest = w->bytes[k];
        narrowest = oxi_min_i64(narrowest, w->bytes[k]);
    }
    t->w = w;
    t->most = most;
    t->fetches = all > OXI_TILE_FARTHER && !moved;
    t->beyond = result ? ahead : 0;
    t->rows = OXI_TILE_RUN / widest;
    if (result) ahead = 0;
    if (moved) t->rows = leaps || all > OXI_TILE_FAR ? OXI_TILE_FEW_ROWS : OXI_TILE_ROWS;
    t->rows = oxi_tile_rows(w, oxi_min_i64(t->rows, most - ahead));
    t->columns = (large ? OXI_TILE_WIDE : moved && !leaps ? 2 * OXI_LINE : OXI_LINE) / narrowest;
    t->columns = oxi_min_i64(t->columns, oxi_min_i64(OXI_TILE_COLUMNS, across));
    int64_t least = oxi_min_i64(t->columns, large ? OXI_TILE_WIDE / widest : 16) + t->beyond;
    if (result && w->streams) /* room for the lines that go past the caches */
        bytes -= OXI_TILE_STREAM * oxi_line_pitch((t->columns + t->beyond) * w->bytes[0]);
    while (!moved && oxi_tiling_pitch(t, ahead) > bytes / least && t->rows > 128) t->rows /= 2;
    int64_t fit = bytes / oxi_tiling_pitch(t, ahead) - t->beyond;
    if (!moved && t->columns > fit) t->columns = fit >= 16 ? fit / 16 * 16 : fit;
    /* A task is whole columns where operands are transposed into a tile: threads share no line of them. */
    int64_t run = moved || result || w->streams ? t->rows : w->length, width = grain > run ? grain / run : 1;
    width = oxi_parts(across, oxi_parts(across, width)); /* equal strips */
    t->width = oxi_min_i64(oxi_round_up(width, t->columns), across);
    t->strips_along = oxi_parts(w->length, t->rows);
    t->strips_across = oxi_parts(across, t->width);
    t->strips = w->numel / w->length / across * t->strips_along * t->strips_across;
    t->group = grain / (t->rows * t->width);
    if (t->group < 1) t->group = 1;
    if (w->numel <= grain) t->group = t->strips; /* one task, as oxi_walk_lanes promises */
}

/* Transposes operand k; from: its first element in a tile of so many rows and columns, to: where columns go,
 * `pitch` bytes apart, side by side in a tile or in operand 0. What runs backwards is read from its other
 * end. */
static void oxi_tile_transpose(const oxi_tiling *t, int k, int64_t rows, int64_t columns, const char *from,
                          char *to, int64_t pitch) {
    const oxi_walk *w = t->w;
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t bytes = w->bytes[k], along = w->stride[k][w->ndim - 1] * bytes,
            step = w->stride[k][w->across] * bytes;
    int64_t strip = OXI_LINE / bytes;
    if (strip < OXI_TILE_FETCH) strip = OXI_TILE_FETCH;
    if (!t->fetches && oxi_power_in(along) <= OXI_TILE_LEAP) strip = OXI_TILE_STRIP;
    const char *next = from + columns * step; /* of the next tile */
    if (step < 0) {
        from += (columns - 1) * step;
        next += (columns - 1) * step;
        to += (columns - 1) * pitch;
        pitch = -pitch;
    }
    for (int64_t r = 0; r < rows; r += strip) {
        int64_t count = oxi_min_i64(rows - r, strip), ahead = r + OXI_TILE_FETCH;
        for (int64_t i = ahead; t->fetches && i < ahead + count; i++) {
            const char *soon = i < rows ? from + i * along : next + (i - rows) * along;
            for (int64_t at = 0; at < columns * bytes; at += OXI_LINE) OXI_PREFETCH_READ(soon + at);
        }
        kernels->transpose[oxi_width_index(bytes)](count, columns, from + r * along, along, to + r * bytes,
                                                   pitch);
    }
}

/* Fetches the run at column c of the operands that lie there as they are. */
static void oxi_tile_fetch(const oxi_tiling *t, char *const *base, int64_t c, int64_t rows) {
    const oxi_walk *w = t->w;
    for (int k = 0; k < w->operands; k++) {
        if ((w->transposed >> k & 1) || (k == 0 && w->streams)) continue;
        const char *p = base[k] + c * w->stride[k][w->across] * w->bytes[k];
        int64_t bytes = rows * llabs(w->step[k]) * w->bytes[k];
        for (int64_t at = 0; at < bytes; at += OXI_LINE) {
            if (k == 0)
                OXI_PREFETCH_WRITE(p + at);
            else
                OXI_PREFETCH_READ(p + at);
        }
    }
}

/* Hands out the columns of a tile, end to end where all operands lie so. from: the operands' elements at its
 * corner, step: bytes from column to column, `first` along the last dim. */
static void oxi_tile_pieces(const oxi_tiling *t, char *const *from, const int64_t *step, int64_t first,
                            int64_t rows, int64_t columns, int lane) {
    const oxi_walk *w = t->w;
    int64_t along[OXI_WALK_MAX], left = w->length - first - rows;
    bool lines = w->streams && !(w->transposed & 1u), joined = !lines;
    oxi_cursor cursor;
    memset(&cursor, 0, sizeof cursor);
    for (int k = 0; k < w->operands; k++) {
        along[k] = w->step[k] * w->bytes[k];
        joined = joined && step[k] == rows * along[k];
    }
    for (int64_t at = 0; joined && at < rows * columns; at += cursor.n) {
        cursor.n = oxi_min_i64(rows * columns - at, t->most);
        for (int k = 0; k < w->operands; k++) cursor.p[k] = from[k] + at * along[k];
        t->piece(t->arg, w, &cursor, lane);
    }
    for (int64_t c = 0; !joined && c < columns; c++) {
        char *out = from[0] + c * step[0];
        int64_t begin = 0, end = rows;
        if (t->fetches && c + OXI_TILE_AHEAD < columns) oxi_tile_fetch(t, from, c + OXI_TILE_AHEAD, rows);
        if (lines && first > 0) begin = oxi_to_line(w, out);
        if (lines) end += oxi_min_i64(oxi_to_line(w, out + rows * along[0]), left);
        cursor.n = end - begin;
        for (int k = 0; k < w->operands; k++) cursor.p[k] = from[k] + c * step[k] + begin * along[k];
        if (cursor.n > 0) t->piece(t->arg, w, &cursor, lane);
    }
}

/* A tile of results, columns side by side, becomes lines of operand 0 at `to`; first and left: columns of the
 * walk before the tile and behind it. */
static void oxi_tile_result(const oxi_tiling *t, char *to, int64_t first, int64_t left, int64_t rows,
                            int64_t columns, const char *tile) {
    const oxi_walk *w = t->w;
    const oxi_kernels *kernels = oxi_cpu_kernels();
    int64_t bytes = w->bytes[0], step = w->stride[0][w->ndim - 1] * bytes;
    int64_t beyond = oxi_min_i64(left, t->beyond), pitch = oxi_line_pitch((columns + beyond) * bytes);
    char *lines = (char *)tile + (t->columns + t->beyond) * t->pitch[0];
    if (!w->streams) kernels->transpose[oxi_width_index(bytes)](columns, rows, tile, t->pitch[0], to, step);
    for (int64_t r = 0; w->streams && r < rows; r += OXI_TILE_STREAM) {
        int64_t count = oxi_min_i64(rows - r, OXI_TILE_STREAM);
        kernels->transpose[oxi_width_index(bytes)](columns + beyond, count, tile + r * bytes, t->pitch[0],
                                                   lines, pitch);
        for (int64_t i = 0; i < count; i++, to += step) {
            int64_t begin = first > 0 ? oxi_to_line(w, to) : 0;
            int64_t end = columns + oxi_min_i64(oxi_to_line(w, to + columns * bytes), left);
            if (end > begin)
                kernels->stream((size_t)((end - begin) * bytes), lines + i * pitch + begin * bytes,
                                to + begin * bytes);
        }
    }
}

/* A tile: base and `first` as above, in operands as they lie. */
static void oxi_tile(const oxi_tiling *t, char *const *base, int64_t first, int64_t rows, int64_t columns,
                     char *tile, int lane) {
    const oxi_walk *w = t->w;
    char *from[OXI_WALK_MAX];
    int64_t step[OXI_WALK_MAX], ahead = 0;
    if (w->streams) ahead = oxi_min_i64(w->length - first - rows, OXI_LINE / w->bytes[0] - 1);
    for (int64_t c = 0; t->fetches && c < oxi_min_i64(OXI_TILE_AHEAD, columns); c++)
        oxi_tile_fetch(t, base, c, rows);
    for (int k = 0; k < w->operands; k++) {
        from[k] = base[k];
        step[k] = w->stride[k][w->across] * w->bytes[k];
        if (!(w->transposed >> k & 1)) continue;
        oxi_tile_transpose(t, k, rows + ahead, columns, base[k], tile, t->pitch[k]);
        from[k] = tile;
        step[k] = t->pitch[k];
        tile += oxi_round_up(t->columns * t->pitch[k], 8);
    }
    oxi_tile_pieces(t, from, step, first, rows, columns, lane);
}

/* The same where the result is transposed; `along` is `first` above, first and left: as for
 * oxi_tile_result. */
static void oxi_tile_of_results(const oxi_tiling *t, char *const *base, int64_t along, int64_t first,
                                int64_t left, int64_t rows, int64_t columns, char *tile, int lane) {
    const oxi_walk *w = t->w;
    char *from[OXI_WALK_MAX];
    int64_t step[OXI_WALK_MAX];
    for (int k = 0; k < w->operands; k++) {
        from[k] = k == 0 ? tile : base[k];
        step[k] = k == 0 ? t->pitch[0] : w->stride[k][w->across] * w->bytes[k];
    }
    oxi_tile_pieces(t, from, step, along, rows, columns + oxi_min_i64(left, t->beyond), lane);
    oxi_tile_result(t, base[0], first, left, rows, columns, tile);
}

/* One strip of tiles. */
static void oxi_tile_strip(const oxi_tiling *t, int64_t index, char *tile, int lane) {
    const oxi_walk *w = t->w;
    int last = w->ndim - 1;
    int64_t at[OX_MAX_DIMS];
    bool across_first = w->transposed & 1u || w->streams;
    for (int turn = 0; turn < 2; turn++) {
        bool across = across_first == (turn == 0);
        int64_t strips = across ? t->strips_across : t->strips_along;
        at[across ? w->across : last] = index % strips * (across ? t->width : t->rows);
        index /= strips;
    }
    for (int d = last - 1; d >= 0; d--) {
        if (d == w->across) continue;
        at[d] = index % w->shape[d];
        index /= w->shape[d];
    }
    char *base[OXI_WALK_MAX];
    for (int k = 0; k < w->operands; k++) {
        base[k] = w->base[k];
        for (int d = 0; d <= last; d++) base[k] += at[d] * w->stride[k][d] * w->bytes[k];
    }
    int64_t rows = oxi_min_i64(w->length - at[last], t->rows);
    int64_t width = oxi_min_i64(w->shape[w->across] - at[w->across], t->width);
    for (int64_t c = 0; c < width; c += t->columns) {
        int64_t columns = oxi_min_i64(width - c, t->columns), before = at[w->across] + c;
        int64_t left = w->shape[w->across] - before - columns;
        if (oxi_tiles_are_moved(w))
            oxi_tile_transpose(t, 1, rows, columns, base[1], base[0], w->stride[0][w->across] * w->bytes[0]);
        else if (w->transposed & 1u)
            oxi_tile_of_results(t, base, at[last], before, left, rows, columns, tile, lane);
        else
            oxi_tile(t, base, at[last], rows, columns, tile, lane);
        for (int k = 0; k < w->operands; k++) base[k] += t->columns * w->stride[k][w->across] * w->bytes[k];
    }
}

static void oxi_tile_task(void *arg, int64_t index, int lane) {
    const oxi_tiling *t = (const oxi_tiling *)arg;
    int64_t end = oxi_min_i64((index + 1) * t->group, t->strips);
    char *tile = t->scratch + lane * t->tile_bytes;
    for (int64_t i = index * t->group; i < end; i++) oxi_tile_strip(t, i, tile, lane);
}

/* Room for a lane's tile, a multiple of 64 bytes: all transposed operands, or the result with the lines of it
 * that go past the caches. */
static int64_t oxi_tiling_bytes(const oxi_tiling *t) {
    const oxi_walk *w = t->w;
    int64_t bytes = 0, columns = t->columns + t->beyond;
    if (oxi_tiles_are_moved(w)) return 0;
    for (int k = 0; k < w->operands; k++)
        if (w->transposed >> k & 1) bytes += oxi_round_up(columns * t->pitch[k], 8);
    if (w->transposed & 1u && w->streams) bytes += OXI_TILE_STREAM * oxi_line_pitch(columns * w->bytes[0]);
    return oxi_round_up(bytes, OXI_TILE_GAPS);
}

/* Tiles of at most so many bytes, and their memory, of *held bytes; NULL when there is none. */
static char *oxi_tiling_take(oxi_tiling *t, const oxi_walk *w, int64_t grain, int64_t most, int64_t bytes,
                             void *near_by, size_t *held) {
    oxi_tiling_begin(t, w, grain, most, bytes);
    t->tile_bytes = oxi_tiling_bytes(t);
    *held = (size_t)(oxi_lanes(oxi_parts(t->strips, t->group)) * t->tile_bytes);
    return *held <= OXI_TILE_NEAR_BYTES ? (char *)near_by : (char *)oxi_try_alloc(*held);
}

static ox_status oxi_walk_transposed(const oxi_walk *w, int64_t grain, int64_t most, oxi_walk_piece piece,
                                 void *arg) {
    bool large = oxi_walk_bytes(w) > OXI_TILE_FAR && !oxi_tiles_are_moved(w);
    uint64_t near_by[OXI_TILE_NEAR_BYTES / 8];
    size_t held = 0;
    oxi_tiling t;
    t.piece = piece;
    t.arg = arg;
    t.scratch = large ? oxi_tiling_take(&t, w, grain, most, OXI_TILE_FAR_BYTES, near_by, &held) : NULL;
    if (!t.scratch) t.scratch = oxi_tiling_take(&t, w, grain, most, OXI_TILE_BYTES, near_by, &held);
    if (!t.scratch) return oxi_fail_memory(held);
    oxi_parallel_for(oxi_parts(t.strips, t.group), oxi_tile_task, &t);
    if (t.scratch != (char *)near_by) oxi_free(t.scratch, held);
    return OX_OK;
}

/* The lanes that oxi_walk_all has at most. */
static OXI_UNUSED int64_t oxi_walk_lanes(const oxi_walk *w, int64_t grain) {
    return w->numel <= grain ? 1 : oxi_lanes(w->transposed ? INT32_MAX : oxi_walk_tasks(w, grain));
}

/* Fails where there is no memory for tiles only: never in an order other than OXI_WALK_TILED. */
static OXI_UNUSED ox_status oxi_walk_all(const oxi_walk *w, int64_t grain, int64_t most, oxi_walk_piece piece,
                                         void *arg) {
    if (w->transposed) return oxi_walk_transposed(w, grain, most, piece, arg);
    oxi_walk_work work;
    work.w = w;
    work.grain = grain;
    work.most = most;
    work.piece = piece;
    work.arg = arg;
    oxi_parallel_for(oxi_walk_tasks(w, grain), oxi_walk_task, &work);
    return OX_OK;
}
