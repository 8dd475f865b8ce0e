/* Scaled dot product attention in tiles with an online softmax (Dao et al. 2022, "FlashAttention"): memory
 * grows with the rows, not with their product. A tile's scores have a row a key, a column a query: so they
 * leave the product kernel as the next product's packed operand. Called by the CPU device for ATTENTION. */

enum {
    OXI_ATTENTION_FEW_ROWS = 8,    /* up to this many queries a kv head: dot products, keys in chunks */
    OXI_ATTENTION_FEW_HEADS = 16,  /* the same of one position, or of more heads if keys are one chunk */
    OXI_ATTENTION_DEEP_HEADS = 40, /* or if keys and values are long: so many heads fill no tile */
    OXI_ATTENTION_DEEP = 512,      /* which they are from so many numbers of both on */
    OXI_ATTENTION_FEW_TASKS = 4,   /* fewer are cut along the rows then */
    OXI_ATTENTION_CHUNK = 512,     /* keys of a chunk then */
    OXI_ATTENTION_BAND = 32,       /* keys that all queries of a chunk meet before the next */
    OXI_ATTENTION_TILE_ROWS = 256, /* most queries of a tile */
    OXI_ATTENTION_TILE_KEYS = 256, /* most keys of a tile */
    OXI_ATTENTION_TASKS = 64       /* fewer tiles than this are cut along the keys as well */
};

/* The queries of all heads that share a kv head are its rows: row r is head r % group of the group,
 * position r / group. Strides in elements. */
typedef struct oxi_attention_side {
    const ox_tensor *t; /* k and v may be of a block type; their rows are whole blocks then */
    const char *data;
    int64_t head, row, column;
} oxi_attention_side;

typedef struct oxi_attention {
    const oxi_call *call;
    const oxi_part *part; /* NULL: it is a whole */
    oxi_attention_side q, k, v, mask,
        out; /* q, out [..,H,S,D]; k, v [..,Hkv,T,D]; mask.t NULL or [..,H,S,T] */
    const oxi_kernels *kernels;
    int lead; /* dims before heads */
    int64_t batches, heads, kv_heads, group, length, keys, depth, value_depth;
    int64_t rows; /* length * group */
    int64_t whole; /* queries of the call that this is a part of, or length */
    float scale, softcap;
    oxi_attention_side logsumexp; /* t NULL, or [..,H,S,1] of f32: `kept`, the second result */
    ox_tensor kept;
    const float *sinks; /* NULL or [H], sink_step floats apart */
    int64_t sink_step;
    bool causal;
    int64_t start, window;
    /* how the work is cut: unit = (batch, kv head), then tiles of rows, then chunks of keys; none of it
     * depends on threads */
    int64_t tile_rows, tiles, chunk_keys, chunks;
    int64_t mr, nr, tile_keys, value_lines; /* value_lines: value_depth rounded up to mr */
    float *partials; /* chunks > 1: [unit][tile][chunk][tile_rows][2 + value_depth]: max, sum, out */
    char *scratch;
    size_t lane_bytes;
} oxi_attention;

/* ---- where things are ---------------------------------------------------------------------------------- */

static int64_t oxi_max_i64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* The last three dims' strides; dims that t lacks or that are broadcast stand still. */
static void oxi_attention_side_of(oxi_attention_side *side, const ox_tensor *t, int64_t heads, int64_t rows,
                                  int64_t columns) {
    int n = t->ndim;
    side->t = t;
    side->data = oxi_ptr(t);
    side->column = n > 0 && (t->shape[n - 1] == columns) ? t->stride[n - 1] : 0;
    side->row = n > 1 && (t->shape[n - 2] == rows) ? t->stride[n - 2] : 0;
    side->head = n > 2 && (t->shape[n - 3] == heads) ? t->stride[n - 3] : 0;
}

static char *oxi_attention_move(const oxi_attention_side *side, const char *from, int64_t elements) {
    return (char *)from + oxi_signed_bytes(side->t->dtype, elements);
}

/* Address of (batch, head): the dims before heads are walked from the last. */
static char *oxi_attention_at(const oxi_attention *job, const oxi_attention_side *side, int64_t batch,
                              int64_t head) {
    const ox_tensor *t = side->t, *q = job->q.t;
    int64_t offset = head * side->head;
    for (int d = job->lead - 1; d >= 0; d--) {
        int at = d - (q->ndim - t->ndim);
        int64_t index = batch % q->shape[d];
        batch /= q->shape[d];
        if (at >= 0 && t->shape[at] > 1) offset += index * t->stride[at];
    }
    return oxi_attention_move(side, side->data, offset);
}

/* Keys that the query at position s may see: [*first, *end). */
static void oxi_attention_range(const oxi_attention *job, int64_t s, int64_t *first, int64_t *end) {
    int64_t position = job->start + s;
    *first = job->window > 0 ? oxi_max_i64(position - job->window + 1, 0) : 0;
    *end = job->causal ? oxi_min_i64(position + 1, job->keys) : job->keys;
}

/* The same for rows [row, row + rows): from the first position's first key to the last one's end. */
static void oxi_attention_rows_range(const oxi_attention *job, int64_t row, int64_t rows, int64_t *first,
                                     int64_t *end) {
    int64_t ignored;
    oxi_attention_range(job, row / job->group, first, &ignored);
    oxi_attention_range(job, (row + rows - 1) / job->group, &ignored, end);
}

/* ---- softcap and masks --------------------------------------------------------------------------------- */

/* score -> softcap tanh(score / softcap) */
static void oxi_attention_cap(const oxi_attention *job, int64_t n, float *scores) {
    const void *in = scores;
    if (job->softcap <= 0) return;
    job->kernels->row_scale(n, scores, 1 / job->softcap, scores);
    job->kernels->map[OXI_OP_tanh][OXI_LANE_F32](n, &in, scores, &oxi_plain_numbers);
    job->kernels->row_scale(n, scores, job->softcap, scores);
}

/* Row's scores of keys [first, first + n), `step` floats apart: the mask, and -inf for keys out of the
 * row's sight. mask: address of (batch, head 0) or NULL. */
static void oxi_attention_mask_row(const oxi_attention *job, const char *mask, int64_t head, int64_t s,
                                   int64_t first, int64_t n, float *scores, int64_t step) {
    int64_t from, end;
    oxi_attention_range(job, s, &from, &end);
    for (int64_t t = 0; t < n && first + t < from; t++) scores[t * step] = -INFINITY;
    for (int64_t t = oxi_max_i64(end - first, 0); t < n; t++) scores[t * step] = -INFINITY;
    if (!mask) return;
    mask = oxi_attention_move(&job->mask, mask,
                              head * job->mask.head + s * job->mask.row + first * job->mask.column);
    if (job->mask.t->dtype == OX_BOOL) {
        for (int64_t t = 0; t < n; t++)
            if (!mask[t * job->mask.column]) scores[t * step] = -INFINITY;
        return;
    }
    float added[OXI_ATTENTION_TILE_KEYS];
    for (int64_t t = 0; t < n; t += OXI_ATTENTION_TILE_KEYS) {
        int64_t part = oxi_min_i64(n - t, OXI_ATTENTION_TILE_KEYS);
        const char *at = oxi_attention_move(&job->mask, mask, t * job->mask.column);
        job->kernels->load[job->mask.t->dtype][OXI_LANE_F32](part, at, job->mask.column, added);
        for (int64_t i = 0; i < part; i++) scores[(t + i) * step] += added[i];
    }
}

/* ---- results ------------------------------------------------------------------------------------------- */

/* The logarithm of the sum of e^score of a query's scores, for the way back: e^(score - it) is the weight.
 * Where nothing is seen it is inf, so that weights are 0. */
static void oxi_attention_keep(const oxi_attention *job, int64_t batch, int64_t head, int64_t s, double max,
                               double sum) {
    if (!job->logsumexp.t) return;
    char *to = oxi_attention_at(job, &job->logsumexp, batch, head);
    to = oxi_attention_move(&job->logsumexp, to, s * job->logsumexp.row);
    *(float *)(void *)to = sum == 0 ? INFINITY : (float)(max + log(sum));
}

/* One row: sums weighted by e^(score - max), and the sum of weights, of which the sink's has no value. */
static void oxi_attention_finish_row(const oxi_attention *job, int64_t unit, int64_t row, float max,
                                     float sum, float *values) {
    int64_t head = unit % job->kv_heads * job->group + row % job->group, s = row / job->group;
    char *out = oxi_attention_at(job, &job->out, unit / job->kv_heads, head);
    out = oxi_attention_move(&job->out, out, s * job->out.row);
    if (job->sinks && sum != 0) sum += expf(job->sinks[head * job->sink_step] - max);
    oxi_attention_keep(job, unit / job->kv_heads, head, s, max, sum);
    job->kernels->row_scale(job->value_depth, values, sum == 0 ? 0 : 1 / sum, values);
    job->kernels->store[job->out.t->dtype][OXI_LANE_F32](job->value_depth, values, out, job->out.column);
}

static float *oxi_attention_partial(const oxi_attention *job, int64_t unit, int64_t tile, int64_t chunk,
                                    int64_t row) {
    return job->partials + (((unit * job->tiles + tile) * job->chunks + chunk) * job->tile_rows + row) *
                               (2 + job->value_depth);
}

/* Row `row` of the tile is done: to the result, or kept until the other chunks are. */
static void oxi_attention_emit(const oxi_attention *job, int64_t unit, int64_t tile, int64_t chunk,
                               int64_t row, float max, float sum, float *values) {
    if (job->chunks == 1) {
        oxi_attention_finish_row(job, unit, tile * job->tile_rows + row, max, sum, values);
        return;
    }
    float *partial = oxi_attention_partial(job, unit, tile, chunk, row);
    partial[0] = max;
    partial[1] = sum;
    memcpy(partial + 2, values, (size_t)job->value_depth * sizeof *values);
}

/* Task: the chunks of one row, in order. */
static void oxi_attention_merge(void *arg, int64_t index, int lane) {
    const oxi_attention *job = (const oxi_attention *)arg;
    int64_t unit = index / job->rows, row = index % job->rows, tile = row / job->tile_rows;
    float *values = (float *)(void *)(job->scratch + (size_t)lane * job->lane_bytes), max = -INFINITY,
          sum = 0;
    for (int64_t chunk = 0; chunk < job->chunks; chunk++) {
        float other = oxi_attention_partial(job, unit, tile, chunk, row % job->tile_rows)[0];
        max = max > other ? max : other;
    }
    memset(values, 0, (size_t)job->value_depth * sizeof *values);
    for (int64_t chunk = 0; chunk < job->chunks; chunk++) {
        const float *partial = oxi_attention_partial(job, unit, tile, chunk, row % job->tile_rows);
        if (partial[1] == 0) continue;
        float weight = expf(partial[0] - max);
        sum += weight * partial[1];
        job->kernels->axpy_f32(job->value_depth, weight, partial + 2, values);
    }
    oxi_attention_finish_row(job, unit, row, max, sum, values);
}

/* ---- many rows: tiles ---------------------------------------------------------------------------------- */

/* A lane's scratch. A panel is nr queries. */
typedef struct oxi_attention_tile {
    float *q;         /* [panel][depth][nr], scaled */
    float *out;       /* [panel][value_lines][nr] */
    float *max, *sum; /* [panel][nr] */
    float *rescale;   /* [nr] */
    float *k;         /* [tile_keys / mr][depth][mr] */
    float *v;         /* [value_lines / mr][tile_keys][mr] */
    float *scores;    /* [tile_keys][nr] */
    float *stage;     /* rows being widened, [tile_keys][depth or value_depth] */
    float *row;       /* [value_depth] */
} oxi_attention_tile;

/* Lays the scratch out from `memory` on (NULL = only adds up) and returns its size in floats. */
static size_t oxi_attention_lay_out(const oxi_attention *job, float *memory, oxi_attention_tile *tile) {
    int64_t panels = (job->tile_rows + job->nr - 1) / job->nr,
            widest = oxi_max_i64(job->depth, job->value_depth);
    int64_t sizes[] = {panels * job->nr * job->depth,
                       panels * job->nr * job->value_lines,
                       panels * job->nr,
                       panels * job->nr,
                       job->nr,
                       job->tile_keys * job->depth,
                       job->tile_keys * job->value_lines,
                       job->tile_keys * job->nr,
                       oxi_max_i64(job->tile_keys, job->nr) * widest,
                       job->value_depth};
    float **places[] = {&tile->q, &tile->out, &tile->max,    &tile->sum,   &tile->rescale,
                        &tile->k, &tile->v,   &tile->scores, &tile->stage, &tile->row};
    int64_t at = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (memory) *places[i] = memory + at;
        at += (sizes[i] + 15) / 16 * 16; /* cache lines */
    }
    return (size_t)at;
}

/* Rows [0, n) of a side from `data` on as contiguous f32 rows of `columns`: where they are, if they are so
 * already, or in stage. *step: floats between rows. */
static const float *oxi_attention_widen(const oxi_attention *job, const oxi_attention_side *side,
                                        const char *data, int64_t n, int64_t columns, float *stage,
                                        int64_t *step) {
    if (side->t->dtype == OX_F32 && side->column == 1) {
        *step = side->row;
        return (const float *)(const void *)data;
    }
    *step = columns;
    if (side->column == 1 && side->row == columns) { /* rows without gaps are one */
        columns *= n;
        n = 1;
    }
    for (int64_t i = 0; i < n; i++) {
        const char *row = oxi_attention_move(side, data, i * side->row);
        if (oxi_is_block(side->t->dtype))
            oxi_expand_blocks(side->t->dtype, columns, row, stage + i * columns);
        else
            job->kernels->load[side->t->dtype][OXI_LANE_F32](columns, row, side->column, stage + i * columns);
    }
    return stage;
}

/* Packs the tile's queries, scaled, nr at a time. data: (batch, first head of the group). */
static void oxi_attention_pack_queries(const oxi_attention *job, const oxi_attention_tile *tile,
                                       const char *data, int64_t row, int64_t rows) {
    const oxi_kernels *kernels = job->kernels;
    int64_t depth = job->depth;
    for (int64_t first = 0; first < rows; first += job->nr) {
        int64_t n = oxi_min_i64(rows - first, job->nr);
        for (int64_t i = 0; i < n; i++) {
            int64_t head = (row + first + i) % job->group, s = (row + first + i) / job->group;
            const char *from = oxi_attention_move(&job->q, data, head * job->q.head + s * job->q.row);
            kernels->load[job->q.t->dtype][OXI_LANE_F32](depth, from, job->q.column, tile->stage + i * depth);
        }
        kernels->row_scale(n * depth, tile->stage, job->scale, tile->stage);
        kernels->pack_along(n, depth, tile->stage, depth, (int)job->nr, tile->q + first * depth,
                            depth * job->nr);
    }
}

static void oxi_attention_pack_keys(const oxi_attention *job, const oxi_attention_tile *tile, const char *k,
                                    const char *v, int64_t n) {
    int64_t step;
    if (job->depth > 0) {
        const float *from = oxi_attention_widen(job, &job->k, k, n, job->depth, tile->stage, &step);
        job->kernels->pack_along(n, job->depth, from, step, (int)job->mr, tile->k, job->depth * job->mr);
    }
    const float *from = oxi_attention_widen(job, &job->v, v, n, job->value_depth, tile->stage, &step);
    job->kernels->pack_across(job->value_depth, n, from, step, (int)job->mr, tile->v,
                              job->tile_keys * job->mr);
}

/* Whether a panel's rows need oxi_attention_mask_row for keys [first, end). */
static bool oxi_attention_is_masked(const oxi_attention *job, int64_t row, int64_t rows, int64_t first,
                                    int64_t end) {
    int64_t last_first, first_end, ignored;
    oxi_attention_range(job, row / job->group, &ignored, &first_end);
    oxi_attention_range(job, (row + rows - 1) / job->group, &last_first, &ignored);
    return job->mask.t || first < last_first || end > first_end;
}

/* Panel `panel` (rows `row` on) meets the packed tile of keys [key, key + n). */
static void oxi_attention_panel(const oxi_attention *job, const oxi_attention_tile *tile, const char *mask,
                                int64_t panel, int64_t row, int64_t rows, int64_t key, int64_t n) {
    const oxi_kernels *kernels = job->kernels;
    int64_t mr = job->mr, nr = job->nr, first, end;
    oxi_attention_rows_range(job, row, rows, &first, &end);
    first = oxi_max_i64(first - key, 0);
    end = oxi_min_i64(end - key, n);
    if (first >= end) return;
    for (int64_t i = first / mr * mr; i < end; i += mr)
        kernels->gemm_f32.run(job->depth, tile->k + i * job->depth, tile->q + panel * nr * job->depth,
                              tile->scores + i * nr, nr, false, tile->k + i * job->depth);
    float *scores = tile->scores + first * nr, *out = tile->out + panel * nr * job->value_lines;
    oxi_attention_cap(job, (end - first) * nr, scores);
    if (oxi_attention_is_masked(job, row, rows, key + first, key + end))
        for (int64_t i = 0; i < rows; i++)
            oxi_attention_mask_row(job, mask, (row + i) % job->group, (row + i) / job->group, key + first,
                                   end - first, scores + i, nr);
    kernels->attention_softmax(end - first, scores, tile->max + panel * nr, tile->sum + panel * nr,
                               tile->rescale);
    bool moved = false;
    for (int64_t i = 0; i < nr; i++) moved = moved || tile->rescale[i] != 1;
    if (moved) kernels->attention_rescale(job->value_lines, tile->rescale, out);
    for (int64_t i = 0; i < job->value_lines; i += mr)
        kernels->gemm_f32.run(end - first, tile->v + i * job->tile_keys + first * mr, scores, out + i * nr,
                              nr, true, scores);
}

/* Task: a tile of rows against a chunk of keys. */
static void oxi_attention_tile_task(void *arg, int64_t index, int lane) {
    const oxi_attention *job = (const oxi_attention *)arg;
    int64_t chunk = index % job->chunks, unit = index / job->chunks % (job->batches * job->kv_heads);
    /* late tiles see more keys when causal: they go first */
    int64_t at = job->tiles - 1 - index / job->chunks / (job->batches * job->kv_heads);
    int64_t batch = unit / job->kv_heads, kv_head = unit % job->kv_heads, nr = job->nr;
    int64_t row = at * job->tile_rows, rows = oxi_min_i64(job->rows - row, job->tile_rows),
            panels = (rows + nr - 1) / nr, first, end;
    oxi_attention_tile tile;
    (void)oxi_attention_lay_out(job, (float *)(void *)(job->scratch + (size_t)lane * job->lane_bytes), &tile);
    oxi_attention_rows_range(job, row, rows, &first, &end);
    first = oxi_max_i64(first, chunk * job->chunk_keys);
    end = oxi_min_i64(end, (chunk + 1) * job->chunk_keys);
    const char *k = oxi_attention_at(job, &job->k, batch, kv_head),
               *v = oxi_attention_at(job, &job->v, batch, kv_head);
    const char *mask = job->mask.t ? oxi_attention_at(job, &job->mask, batch, kv_head * job->group) : NULL;
    oxi_attention_pack_queries(job, &tile, oxi_attention_at(job, &job->q, batch, kv_head * job->group), row,
                               rows);
    memset(tile.out, 0, (size_t)(panels * nr * job->value_lines) * sizeof(float));
    memset(tile.sum, 0, (size_t)(panels * nr) * sizeof(float));
    for (int64_t i = 0; i < panels * nr; i++) tile.max[i] = -INFINITY;
    for (int64_t key = first; key < end; key += job->tile_keys) {
        int64_t n = oxi_min_i64(end - key, job->tile_keys);
        oxi_attention_pack_keys(job, &tile, oxi_attention_move(&job->k, k, key * job->k.row),
                                oxi_attention_move(&job->v, v, key * job->v.row), n);
        for (int64_t p = 0; p < panels; p++)
            oxi_attention_panel(job, &tile, mask, p, row + p * nr, oxi_min_i64(rows - p * nr, nr), key, n);
    }
    for (int64_t i = 0; i < rows; i++) {
        const float *column = tile.out + i / nr * nr * job->value_lines + i % nr;
        for (int64_t d = 0; d < job->value_depth; d++) tile.row[d] = column[d * nr];
        oxi_attention_emit(job, unit, at, chunk, i, tile.max[i], tile.sum[i], tile.row);
    }
}

/* ---- few rows: a token at a time ----------------------------------------------------------------------- */

/* Some rows of k or v as the kernels take them: as they are, or widened into stage. */
static const void *oxi_attention_rows(const oxi_attention *job, const oxi_attention_side *side,
                                      const char *data, int64_t n, int64_t columns, float *stage,
                                      ox_dtype *dtype, int64_t *step) {
    *dtype = side->t->dtype;
    *step = side->row;
    if (side->column == 1 && columns <= OXI_ATTENTION_DEPTH && job->kernels->attention_dots[*dtype])
        return data;
    *dtype = OX_F32;
    return oxi_attention_widen(job, side, data, n, columns, stage, step);
}

/* Task: a tile of a kv head's rows, each by itself, against a chunk of keys, which are read once. Scratch:
 * q [rows][depth], out [rows][value_depth], scores [rows][CHUNK], a stage [BAND][depth or value_depth]. */
static void oxi_attention_few_task(void *arg, int64_t index, int lane) {
    const oxi_attention *job = (const oxi_attention *)arg;
    const oxi_kernels *kernels = job->kernels;
    int64_t chunk = index % job->chunks, at = index / job->chunks % job->tiles,
            unit = index / job->chunks / job->tiles, batch = unit / job->kv_heads,
            kv_head = unit % job->kv_heads, row = at * job->tile_rows;
    int64_t rows = oxi_min_i64(job->rows - row, job->tile_rows), depth = job->depth,
            value_depth = job->value_depth, first, end, step;
    float *q = (float *)(void *)(job->scratch + (size_t)lane * job->lane_bytes), *out = q + rows * depth;
    float *scores = out + rows * value_depth, *stage = scores + rows * OXI_ATTENTION_CHUNK;
    const char *q_data = oxi_attention_at(job, &job->q, batch, kv_head * job->group);
    const char *k = oxi_attention_at(job, &job->k, batch, kv_head),
               *v = oxi_attention_at(job, &job->v, batch, kv_head);
    const char *mask = job->mask.t ? oxi_attention_at(job, &job->mask, batch, kv_head * job->group) : NULL;
    oxi_attention_rows_range(job, 0, job->rows, &first, &end);
    first = oxi_max_i64(first, chunk * job->chunk_keys);
    end = oxi_min_i64(end, (chunk + 1) * job->chunk_keys);
    for (int64_t r = 0; r < rows; r++) {
        const char *from = oxi_attention_move(
            &job->q, q_data, (row + r) % job->group * job->q.head + (row + r) / job->group * job->q.row);
        kernels->load[job->q.t->dtype][OXI_LANE_F32](depth, from, job->q.column, q + r * depth);
    }
    kernels->row_scale(rows * depth, q, job->scale, q);
    memset(out, 0, (size_t)(rows * value_depth) * sizeof(float));
    float max[OXI_ATTENTION_FEW_ROWS], sum[OXI_ATTENTION_FEW_ROWS];
    ox_dtype dtype;
    for (int64_t t = first; t < end; t += OXI_ATTENTION_BAND) {
        int64_t n = oxi_min_i64(end - t, OXI_ATTENTION_BAND);
        const char *from = oxi_attention_move(&job->k, k, t * job->k.row);
        const void *band = oxi_attention_rows(job, &job->k, from, n, depth, stage, &dtype, &step);
        kernels->attention_dots[dtype](rows, n, depth, q, depth, band, step, scores + t - first,
                                       OXI_ATTENTION_CHUNK);
    }
    for (int64_t r = 0; r < rows; r++) {
        float *line = scores + r * OXI_ATTENTION_CHUNK;
        max[r] = -INFINITY;
        sum[r] = 0;
        if (first >= end) continue;
        oxi_attention_cap(job, end - first, line);
        oxi_attention_mask_row(job, mask, (row + r) % job->group, (row + r) / job->group, first, end - first,
                               line, 1);
        max[r] = kernels->row_max(end - first, line);
        sum[r] = (float)kernels->row_exp_sum(end - first, line, max[r] == -INFINITY ? 0 : max[r], line);
    }
    for (int64_t t = first; t < end; t += OXI_ATTENTION_BAND) {
        int64_t n = oxi_min_i64(end - t, OXI_ATTENTION_BAND);
        const char *from = oxi_attention_move(&job->v, v, t * job->v.row);
        const void *band = oxi_attention_rows(job, &job->v, from, n, value_depth, stage, &dtype, &step);
        kernels->attention_mix[dtype](rows, n, value_depth, scores + t - first, OXI_ATTENTION_CHUNK, band,
                                      step, out, value_depth);
    }
    for (int64_t r = 0; r < rows; r++)
        oxi_attention_emit(job, unit, at, chunk, r, max[r], sum[r], out + r * value_depth);
}

/* ---- f64: a query at a time ---------------------------------------------------------------------------- */

/* Task: one query. Scratch: q [depth], a stage, out [value_depth], scores [keys]. */
static void oxi_attention_f64_task(void *arg, int64_t index, int lane) {
    const oxi_attention *job = (const oxi_attention *)arg;
    const oxi_attr_attention *attr = &job->call->attr.attention;
    int64_t s = index % job->length, head = index / job->length % job->heads,
            batch = index / job->length / job->heads;
    int64_t first, end, depth = job->depth, value_depth = job->value_depth;
    double *q = (double *)(void *)(job->scratch + (size_t)lane * job->lane_bytes), *stage = q + depth;
    double *out = stage + oxi_max_i64(depth, value_depth), *scores = out + value_depth, max = -INFINITY,
           sum = 0;
    const char *k = oxi_attention_at(job, &job->k, batch, head / job->group),
               *v = oxi_attention_at(job, &job->v, batch, head / job->group);
    oxi_load_kernel load = job->kernels->load[OX_F64][OXI_LANE_F64];
    load(depth, oxi_attention_at(job, &job->q, batch, head) + s * job->q.row * 8, job->q.column, q);
    oxi_attention_range(job, s, &first, &end);
    for (int64_t t = first; t < end; t++) {
        double score = 0;
        load(depth, k + t * job->k.row * 8, job->k.column, stage);
        for (int64_t d = 0; d < depth; d++) score += q[d] * stage[d];
        score *= attr->scale;
        if (attr->softcap > 0) score = attr->softcap * tanh(score / attr->softcap);
        if (job->mask.t) {
            double added;
            const char *mask = oxi_attention_move(&job->mask, oxi_attention_at(job, &job->mask, batch, head),
                                                  s * job->mask.row + t * job->mask.column);
            if (job->mask.t->dtype == OX_BOOL)
                added = *mask ? 0 : -INFINITY;
            else
                job->kernels->load[job->mask.t->dtype][OXI_LANE_F64](1, mask, 1, &added);
            score += added;
        }
        scores[t] = score;
        if (score > max || score != score) max = score;
    }
    memset(out, 0, (size_t)value_depth * sizeof *out);
    for (int64_t t = first; t < end; t++) {
        double weight = max == -INFINITY ? 0 : exp(scores[t] - max);
        sum += weight;
        load(value_depth, v + t * job->v.row * 8, job->v.column, stage);
        for (int64_t d = 0; d < value_depth; d++) out[d] += weight * stage[d];
    }
    if (job->sinks && sum != 0) sum += exp((double)job->sinks[head * job->sink_step] - max);
    oxi_attention_keep(job, batch, head, s, max, sum);
    for (int64_t d = 0; d < value_depth; d++) out[d] = sum == 0 ? 0 : out[d] / sum;
    char *to = oxi_attention_at(job, &job->out, batch, head) + s * job->out.row * 8;
    job->kernels->store[OX_F64][OXI_LANE_F64](value_depth, out, to, job->out.column);
}

/* ---- the executor -------------------------------------------------------------------------------------- */

static void oxi_attention_shape(oxi_attention *job, const oxi_call *call) {
    const ox_tensor *q = call->in[0], *k = call->in[1], *v = call->in[2];
    int n = q->ndim;
    memset(job, 0, sizeof *job);
    job->call = call;
    job->kernels = oxi_cpu_kernels();
    job->lead = n > 3 ? n - 3 : 0;
    job->batches = 1;
    for (int d = 0; d < job->lead; d++) job->batches *= q->shape[d];
    job->heads = n > 2 ? q->shape[n - 3] : 1;
    job->kv_heads = n > 2 ? k->shape[n - 3] : 1;
    job->group = job->kv_heads > 0 ? job->heads / job->kv_heads : 1;
    job->length = q->shape[n - 2];
    job->keys = k->shape[n - 2];
    job->depth = q->shape[n - 1];
    job->value_depth = v->shape[n - 1];
    job->rows = job->length * job->group;
    job->whole = job->length;
    job->scale = (float)call->attr.attention.scale;
    job->softcap = (float)call->attr.attention.softcap;
    job->causal = call->attr.attention.causal;
    /* so that positions do not overflow */
    job->start = oxi_min_i64(call->attr.attention.query_start, INT64_MAX / 4);
    job->window = oxi_min_i64(call->attr.attention.window, INT64_MAX / 4);
    oxi_attention_side_of(&job->q, q, job->heads, job->length, job->depth);
    oxi_attention_side_of(&job->k, k, job->kv_heads, job->keys, job->depth);
    oxi_attention_side_of(&job->v, v, job->kv_heads, job->keys, job->value_depth);
    oxi_attention_side_of(&job->out, call->out[0], job->heads, job->length, job->value_depth);
    if (call->in[3]) oxi_attention_side_of(&job->mask, call->in[3], job->heads, job->length, job->keys);
    if (call->out_count > 1 && call->out[1]) {
        job->kept = *call->out[1];
        job->kept.shape[n - 1] = job->kept.stride[n - 1] = 1;
        job->kept.ndim = n;
        oxi_attention_side_of(&job->logsumexp, &job->kept, job->heads, job->length, 1);
    }
    if (!call->in[4]) return;
    job->sinks = (const float *)(const void *)oxi_ptr(call->in[4]);
    job->sink_step = call->in[4]->stride[0];
}

static bool oxi_attention_is_few(const oxi_attention *job) {
    const bool deep = job->depth + job->value_depth >= OXI_ATTENTION_DEEP;
    if (job->whole > 1) return job->whole * job->group <= OXI_ATTENTION_FEW_ROWS;
    return job->keys <= OXI_ATTENTION_CHUNK ||
           job->group <= (deep ? OXI_ATTENTION_DEEP_HEADS : OXI_ATTENTION_FEW_HEADS);
}

/* Tiles of queries so that they and their results stay in the second cache level, with tiles of keys
 * beside them. Parts have the tiles of the whole. */
static void oxi_attention_cut(oxi_attention *job) {
    int64_t width = job->depth + job->value_depth, units = job->batches * job->kv_heads;
    int64_t rows = job->whole * job->group;
    if (job->part && job->part->heads > 0) units = job->part->heads; /* of the whole */
    job->mr = job->kernels->gemm_f32.mr;
    job->nr = job->kernels->gemm_f32.nr;
    if (oxi_attention_is_few(job)) {
        job->chunk_keys = OXI_ATTENTION_CHUNK;
        job->chunks = oxi_max_i64(oxi_parts(job->keys, job->chunk_keys), 1);
        bool direct = job->k.column == 1 && job->kernels->attention_dots[job->k.t->dtype]; /* not widened */
        int64_t wanted = direct ? oxi_parts(OXI_ATTENTION_FEW_TASKS, oxi_max_i64(units * job->chunks, 1)) : 1;
        wanted = oxi_max_i64(wanted, oxi_parts(rows, OXI_ATTENTION_FEW_ROWS));
        job->tile_rows = oxi_parts(rows, wanted > 1 ? oxi_round_up(wanted, 2) : 1);
        job->tiles = oxi_parts(job->rows, job->tile_rows);
        return;
    }
    job->value_lines = oxi_round_up(job->value_depth, job->mr);
    job->tile_keys =
        oxi_round_up(oxi_min_i64(oxi_max_i64(16384 / width, 32), OXI_ATTENTION_TILE_KEYS), job->mr);
    int64_t least = oxi_round_up(64, job->nr);
    job->tile_rows =
        oxi_round_up(oxi_min_i64(oxi_max_i64(32768 / width, least), OXI_ATTENTION_TILE_ROWS), job->nr);
    job->tile_rows = oxi_min_i64(job->tile_rows, oxi_round_up(rows, job->nr));
    while (job->tile_rows > least && units * oxi_parts(rows, job->tile_rows) < OXI_ATTENTION_TASKS)
        job->tile_rows = oxi_round_up(job->tile_rows / 2, job->nr);
    job->tiles = oxi_parts(job->rows, job->tile_rows);
    int64_t wanted = OXI_ATTENTION_TASKS / (units * oxi_parts(rows, job->tile_rows)),
            pieces = job->keys / (job->whole == 1 ? OXI_ATTENTION_CHUNK : 2048);
    job->chunks = oxi_max_i64(oxi_min_i64(wanted, pieces), 1);
    job->chunk_keys =
        oxi_max_i64(oxi_round_up((job->keys + job->chunks - 1) / job->chunks, job->tile_keys), 1);
}

/* Scratch and partial results, then `task` for each of `count`, then the merge. */
static ox_status oxi_attention_run(oxi_attention *job, int64_t count, oxi_lane_task task, size_t lane_numbers,
                                   size_t number) {
    int64_t units = job->batches * job->kv_heads, all_rows = units * job->rows;
    size_t scratch_bytes = 0, partial_bytes = 0;
    size_t lanes = (size_t)oxi_max_i64(oxi_lanes(count), oxi_lanes(all_rows));
    job->lane_bytes = (lane_numbers * number + 63) / 64 * 64;
    bool fits = oxi_mul_size(lanes, job->lane_bytes, &scratch_bytes);
    if (job->chunks > 1) {
        fits = fits && oxi_mul_size((size_t)(units * job->tiles), (size_t)(job->chunks * job->tile_rows),
                                    &partial_bytes);
        fits = fits &&
               oxi_mul_size(partial_bytes, (size_t)(2 + job->value_depth) * sizeof(float), &partial_bytes);
    }
    if (!fits) return oxi_fail(OX_ERR_NOMEM, "attention: too large for this machine");
    job->scratch = (char *)oxi_alloc(scratch_bytes);
    if (!job->scratch) return OX_ERR_NOMEM;
    if (job->chunks > 1) job->partials = (float *)oxi_alloc(partial_bytes);
    if (job->chunks == 1 || job->partials) {
        oxi_parallel_for(count, task, job);
        if (job->chunks > 1) oxi_parallel_for(all_rows, oxi_attention_merge, job);
    }
    ox_status status = job->chunks == 1 || job->partials ? OX_OK : OX_ERR_NOMEM;
    oxi_free(job->partials, job->partials ? partial_bytes : 0);
    oxi_free(job->scratch, scratch_bytes);
    return status;
}

static ox_status oxi_cpu_attention(const oxi_call *call, const oxi_part *part) {
    oxi_attention job;
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    if (oxi_is_block(call->in[1]->dtype) && oxi_check_expandable(call->in[1]->dtype) != OX_OK)
        return OX_ERR_UNSUPPORTED;
    oxi_attention_shape(&job, call);
    job.part = part;
    if (part && part->queries > 0) {
        job.whole = part->queries;
        job.start += part->start;
    }
    size_t depth = (size_t)job.depth, value_depth = (size_t)job.value_depth,
           widest = depth > value_depth ? depth : value_depth;
    if (job.q.t->dtype == OX_F64) {
        job.chunks = 1;
        size_t numbers = depth + widest + value_depth + (size_t)job.keys;
        return oxi_attention_run(&job, job.batches * job.heads * job.length, oxi_attention_f64_task, numbers,
                                 sizeof(double));
    }
    oxi_attention_cut(&job);
    int64_t count = job.batches * job.kv_heads * job.tiles * job.chunks;
    if (oxi_attention_is_few(&job)) {
        size_t numbers =
            (size_t)job.tile_rows * (depth + value_depth + OXI_ATTENTION_CHUNK) + OXI_ATTENTION_BAND * widest;
        return oxi_attention_run(&job, count, oxi_attention_few_task, numbers, sizeof(float));
    }
    oxi_attention_tile tile;
    return oxi_attention_run(&job, count, oxi_attention_tile_task, oxi_attention_lay_out(&job, NULL, &tile),
                             sizeof(float));
}
