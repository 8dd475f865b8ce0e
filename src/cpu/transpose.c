/* Transposition: an operand whose rows are the others' columns is transposed tile by tile in the caches, and
 * handed out from there. oxi_walk_all at the end is what executors call for any walk. The smallest
 * transposes, in registers, are kernels/move.inc's. */

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
 * Copies keep to rows that share no sets; what calls a kernel for each column is better off with long
 * ones. */
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

/* Walks everything on all threads: tasks of `grain` positions, whatever the number of threads, in pieces of
 * at most `most`. Scratch is set aside for oxi_walk_lanes(w, grain) lanes.
 * Fails where there is no memory for tiles only: never in an order other than OXI_WALK_TILED. */
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
