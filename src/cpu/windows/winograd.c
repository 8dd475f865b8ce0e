/* Convolutions of 3 x 3 of 16-bit numbers with a quarter of the products (kernels/winograd.inc), all of it in
 * f32. Its error is some 1e-6 of the largest terms around a place, and results keep 3 or 4 digits of their
 * own: little where 16 bits are enough, while those who ask for f32 or exact products get plain sums. Called
 * by conv.c: forward, back to images as the same of turned weights, and back to weights. */

enum {
    OXI_WINOGRAD_POINTS = 36,
    OXI_WINOGRAD_DEEP = 256,       /* tiles that are summed at once: they stay in the first caches */
    OXI_WINOGRAD_CHANNELS = 16,    /* fewer of these or of outputs: making tiles takes longer than it saves */
    OXI_WINOGRAD_WEIGHTS = 400,    /* fewer products of both, or fewer tiles of a sample: likewise */
    OXI_WINOGRAD_TILES = 16,
    OXI_WINOGRAD_FEW = 4,          /* taken as well, where they are nearly full */
    OXI_WINOGRAD_SLICE = 64,       /* channels of weights at once, where all do not fit the second cache */
    OXI_WINOGRAD_TAPS = 16,        /* channels whose weights are read at once */
    OXI_WINOGRAD_SUMS = 32768,     /* more of them than a gradient's 36 sums each fit caches for */
    OXI_WINOGRAD_STRIP = 64 << 10, /* bytes of an image's lines that are laid out at a time */
    OXI_WINOGRAD_BYTES = 4 << 20   /* of what is made of an image before it is multiplied */
};

/* Images that tiles are read from. */
typedef struct oxi_winograd_side {
    oxi_conv_side image;
    const char *data;
    int64_t channels, origin[2];     /* pixel of the first tile */
    int64_t reach;                   /* pixels of a tile beyond 4 */
    void (*numbers)(const float *d, int64_t row, float *v, int64_t point);
    int64_t depth, rows, point;      /* made of them: v [36][tile / rows][depth / lanes][rows][lanes] */
} oxi_winograd_side;

typedef struct oxi_winograd {
    const oxi_kernels *kernels;
    ox_dtype dtype;
    oxi_winograd_side from, by;      /* by: what flows back, of a gradient of weights */
    oxi_conv_side to;                /* images, or weights */
    const char *to_data;
    const char *weight;              /* the tap that meets the first pixel */
    int64_t weight_in, weight_out, weight_row, weight_tap; /* strides: channels, outputs, taps */
    const ox_tensor *bias;           /* or NULL; from the first output on */
    const char *bias_data;
    int64_t outputs;
    int64_t lanes, rows;             /* of a vector, of a micro-kernel */
    int64_t wide;                    /* outputs, rounded up to two vectors */
    int64_t samples, down, across;   /* tiles of a sample */
    int64_t chunk_lines, chunk_across, chunks_across, chunks, panels; /* tiles at a time */
    int64_t first, some, splits;     /* chunks that are at work, split among so many tasks */
    int64_t slice;                   /* channels whose weights a task makes at once */
    void (*sum)(int64_t k, const float *v, const float *u, float *m, bool onto);
    bool weights_first;              /* made once for all chunks; else chunks are, and a task its weights */
    float *u, *v;                    /* of weights [outputs / 2 lanes][36][depth][2 lanes], of chunks */
    /* numbers; points are a vector further apart than they need: else all would share sets of the cache */
    int64_t u_point, u_block, v_chunk;
    char *scratch;                   /* of each lane: a strip, the same in 16 bits, sums, own u or v */
    size_t narrow_at, sums_at, own_at, lane_bytes;
    float *sums;                     /* [36][outputs][wide], a gradient's */
    int64_t m_point;
    int64_t *failed;                 /* of each sample, atomic: not all of it is finite */
} oxi_winograd;

/* Some lines of tiles of all samples, and a part of each. */
typedef struct oxi_winograd_chunk {
    int64_t line, lines, tile, across;
} oxi_winograd_chunk;

static oxi_winograd_chunk oxi_winograd_chunk_of(const oxi_winograd *w, int64_t index) {
    oxi_winograd_chunk c;
    c.line = index / w->chunks_across * w->chunk_lines;
    c.lines = oxi_min_i64(w->chunk_lines, w->samples * w->down - c.line);
    c.tile = index % w->chunks_across * w->chunk_across;
    c.across = oxi_min_i64(w->chunk_across, w->across - c.tile);
    return c;
}

/* ---- images ------------------------------------------------------------------------------------------- */

/* Pixels [rows][columns] from (y, x) on as to[rows][columns][lanes], zeros around the image; channels from
 * `channel` on. */
static void oxi_winograd_read(const oxi_winograd *w, const oxi_winograd_side *s, int64_t sample,
                              int64_t channel, int64_t y, int64_t x, int64_t rows, int64_t columns, float *to,
                              char *narrow) {
    const int64_t *stride = s->image.stride, lanes = w->lanes;
    int64_t count = oxi_min_i64(lanes, s->channels - channel);
    int64_t y0 = y < 0 ? 0 : y, y1 = oxi_min_i64(y + rows, s->image.shape[3]);
    int64_t x0 = x < 0 ? 0 : x, n = oxi_min_i64(x + columns, s->image.shape[4]) - x0;
    oxi_load_kernel load = w->kernels->load[w->dtype][OXI_LANE_F32];
    memset(to, 0, (size_t)(rows * columns * lanes) * sizeof *to);
    if (y0 >= y1 || n <= 0 || count <= 0) return;
    const char *from = s->data + 2 * (sample * stride[0] + channel * stride[1] + y0 * stride[3] +
                                      x0 * stride[4]);
    to += ((y0 - y) * columns + x0 - x) * lanes;
    if (stride[4] != 1) {
        for (int64_t i = y0; i < y1; i++, from += 2 * stride[3], to += columns * lanes)
            for (int64_t j = 0; j < n; j++) load(count, from + 2 * j * stride[4], stride[1], to + j * lanes);
        return;
    }
    int64_t run = stride[3] == n ? y1 - y0 : 1; /* lines that lie one behind the other */
    if (count < lanes) memset(narrow, 0, (size_t)(2 * (y1 - y0) * n * lanes));
    for (int64_t i = 0; i < y1 - y0; i += run)
        w->kernels->transpose[1](count, run * n, from + 2 * i * stride[3], 2 * stride[1],
                                 narrow + 2 * i * n * lanes, 2 * lanes);
    for (int64_t i = 0; i < y1 - y0; i++, to += columns * lanes)
        load(n * lanes, narrow + 2 * i * n * lanes, 1, to);
}

/* A vector of channels of a chunk, from `channel` on. */
static void oxi_winograd_image(const oxi_winograd *w, const oxi_winograd_side *s,
                               const oxi_winograd_chunk *c, int64_t channel, float *v, char *scratch) {
    int64_t columns = 4 * c->across + s->reach, line_bytes = 4 * columns * w->lanes * (int64_t)sizeof(float);
    int64_t most = OXI_WINOGRAD_STRIP > line_bytes ? OXI_WINOGRAD_STRIP / line_bytes : 1, lines;
    float *strip = (float *)(void *)scratch;
    v += channel * s->rows;
    for (int64_t at = 0; at < c->lines; at += lines) {
        int64_t line = (c->line + at) % w->down;
        lines = oxi_min_i64(oxi_min_i64(most, c->lines - at), w->down - line);
        oxi_winograd_read(w, s, (c->line + at) / w->down, channel, 4 * line + s->origin[0],
                          4 * c->tile + s->origin[1], 4 * lines + s->reach, columns, strip,
                          scratch + w->narrow_at);
        for (int64_t i = 0; i < lines * c->across; i++) {
            int64_t tile = at * c->across + i;
            s->numbers(strip + 4 * (i / c->across * columns + i % c->across) * w->lanes, columns * w->lanes,
                       v + tile / s->rows * s->depth * s->rows + tile % s->rows * w->lanes, s->point);
        }
    }
}

/* ---- weights ------------------------------------------------------------------------------------------ */

/* Two vectors of outputs, from `first` on, of `depth` channels from `at` on: u [36][depth][2 lanes]. */
static void oxi_winograd_weights(const oxi_winograd *w, int64_t first, int64_t at, int64_t depth, float *u,
                                 char *scratch) {
    const int64_t lanes = w->lanes, end = oxi_min_i64(at + depth, w->from.channels);
    float *taps = (float *)(void *)scratch;
    char *narrow = scratch + w->narrow_at;
    bool dense = (w->weight_tap == 1 || w->weight_tap == -1) && w->weight_row == 3 * w->weight_tap;
    bool flips = dense && w->weight_tap < 0;
    int64_t most = dense && w->weight_in == 9 ? OXI_WINOGRAD_TAPS : 1;
    oxi_load_kernel load = w->kernels->load[w->dtype][OXI_LANE_F32];
    for (int64_t p = 0; p < OXI_WINOGRAD_POINTS && end < at + depth; p++)
        memset(u + p * w->u_point + (end - at) * 2 * lanes, 0,
               (size_t)((at + depth - end) * 2 * lanes) * sizeof *u);
    for (int64_t half = 0; half < 2; half++, first += lanes, u += lanes) {
        int64_t count = oxi_min_i64(lanes, w->outputs - first);
        memset(taps, 0, (size_t)(9 * most * lanes) * sizeof *taps);
        memset(narrow, 0, (size_t)(18 * most * lanes));
        for (int64_t c = at, some; c < end; c += some) {
            const char *from = w->weight + 2 * (first * w->weight_out + c * w->weight_in);
            some = oxi_min_i64(most, end - c);
            if (count > 0 && dense) {
                w->kernels->transpose[1](count, 9 * some, from - (flips ? 16 : 0), 2 * w->weight_out, narrow,
                                         2 * lanes);
                load(9 * some * lanes, narrow, 1, taps);
            } else if (count > 0)
                for (int64_t t = 0; t < 9; t++)
                    load(count, from + 2 * (t / 3 * w->weight_row + t % 3 * w->weight_tap), w->weight_out,
                         taps + t * lanes);
            for (int64_t i = 0; i < some; i++)
                w->kernels->winograd.weight(taps + (9 * i + (flips ? 8 : 0)) * lanes, flips ? -lanes : lanes,
                                            u + (c - at + i) * 2 * lanes, w->u_point);
        }
    }
}

/* ---- results ------------------------------------------------------------------------------------------ */

/* Places [4][columns][lanes] of outputs from `first` on, at (y, x) of a sample: those that are there. */
static void oxi_winograd_write(const oxi_winograd *w, int64_t sample, int64_t first, int64_t y, int64_t x,
                               int64_t columns, const float *from, char *narrow) {
    const int64_t *stride = w->to.stride, lanes = w->lanes;
    int64_t count = oxi_min_i64(lanes, w->outputs - first), rows = oxi_min_i64(4, w->to.shape[3] - y);
    int64_t n = oxi_min_i64(columns, w->to.shape[4] - x);
    oxi_store_kernel store = w->kernels->store[w->dtype][OXI_LANE_F32];
    char *to = (char *)(uintptr_t)w->to_data + 2 * (sample * stride[0] + first * stride[1] + y * stride[3] +
                                                    x * stride[4]);
    if (stride[4] != 1) {
        for (int64_t i = 0; i < rows; i++, to += 2 * stride[3])
            for (int64_t j = 0; j < n; j++)
                store(count, from + (i * columns + j) * lanes, to + 2 * j * stride[4], stride[1]);
        return;
    }
    int64_t run = stride[3] == n ? rows : 1;
    for (int64_t i = 0; i < rows; i++)
        store(n * lanes, from + i * columns * lanes, narrow + 2 * i * n * lanes, 1);
    for (int64_t i = 0; i < rows; i += run)
        w->kernels->transpose[1](run * n, count, narrow + 2 * i * n * lanes, 2 * lanes,
                                 to + 2 * i * stride[3], 2 * stride[1]);
}

/* Products of `depth` channels from `at` on of a chunk, added to those of the channels before. */
static void oxi_winograd_products(const oxi_winograd *w, const oxi_winograd_chunk *c, int64_t at,
                                  int64_t depth, const float *v, const float *u, char *scratch) {
    int64_t panels = oxi_parts(c->lines * c->across, w->rows), panel = w->rows * w->from.depth;
    int64_t tile = w->rows * 2 * w->lanes, point = w->panels * tile;
    float *sums = (float *)(void *)(scratch + w->sums_at);
    for (int64_t p = 0; p < OXI_WINOGRAD_POINTS; p++)
        for (int64_t i = 0; i < panels; i++)
            w->sum(depth, v + p * w->from.point + i * panel + at * w->rows, u + p * w->u_point,
                   sums + p * point + i * tile, at > 0);
}

/* Outputs from `first` on of a chunk, of its products. */
static void oxi_winograd_results(const oxi_winograd *w, const oxi_winograd_chunk *c, int64_t first,
                                 char *scratch) {
    const int64_t lanes = w->lanes, point = w->panels * w->rows * 2 * lanes;
    float *sums = (float *)(void *)(scratch + w->sums_at), *places = (float *)(void *)scratch, bias[16];
    for (int64_t half = 0; half < 2 && first < w->outputs; half++, first += lanes, sums += lanes) {
        memset(bias, 0, sizeof bias);
        if (w->bias)
            w->kernels->load[w->bias->dtype][OXI_LANE_F32](
                oxi_min_i64(lanes, w->outputs - first),
                w->bias_data + oxi_signed_bytes(w->bias->dtype, first * w->bias->stride[0]),
                w->bias->stride[0], bias);
        for (int64_t i = 0; i < c->lines; i++) {
            int64_t sample = (c->line + i) / w->down, columns = 4 * c->across;
            bool finite = true;
            for (int64_t t = 0; t < c->across; t++)
                finite = w->kernels->winograd.places(sums + (i * c->across + t) * 2 * lanes, point, bias,
                                                     places + 4 * t * lanes, columns * lanes) && finite;
            if (!finite) oxi_atomic_store(&w->failed[sample], 1);
            oxi_winograd_write(w, sample, first, (c->line + i) % w->down * 4, 4 * c->tile, columns, places,
                               scratch + w->narrow_at);
        }
    }
}

/* ---- tasks -------------------------------------------------------------------------------------------- */

/* Task: weights of two vectors of outputs. */
static void oxi_winograd_weights_task(void *arg, int64_t index, int lane) {
    const oxi_winograd *w = (const oxi_winograd *)arg;
    oxi_winograd_weights(w, index * 2 * w->lanes, 0, w->slice, w->u + index * w->u_block,
                         w->scratch + (size_t)lane * w->lane_bytes);
}

/* Task: a chunk, whose weights are there. */
static void oxi_winograd_chunk_task(void *arg, int64_t index, int lane) {
    const oxi_winograd *w = (const oxi_winograd *)arg;
    char *scratch = w->scratch + (size_t)lane * w->lane_bytes;
    float *v = (float *)(void *)(scratch + w->own_at);
    oxi_winograd_chunk c = oxi_winograd_chunk_of(w, index);
    for (int64_t i = 0; i < w->from.depth; i += w->lanes)
        oxi_winograd_image(w, &w->from, &c, i, v, scratch);
    for (int64_t i = 0; i < w->wide; i += 2 * w->lanes) {
        oxi_winograd_products(w, &c, 0, w->slice, v, w->u + i / (2 * w->lanes) * w->u_block, scratch);
        oxi_winograd_results(w, &c, i, scratch);
    }
}

/* Task: a vector of channels of a chunk. */
static void oxi_winograd_image_task(void *arg, int64_t index, int lane) {
    const oxi_winograd *w = (const oxi_winograd *)arg;
    int64_t groups = w->from.depth / w->lanes, at = index / groups;
    oxi_winograd_chunk c = oxi_winograd_chunk_of(w, w->first + at);
    oxi_winograd_image(w, &w->from, &c, index % groups * w->lanes, w->v + at * w->v_chunk,
                       w->scratch + (size_t)lane * w->lane_bytes);
}

/* Task: two vectors of outputs of some of the chunks that are there. */
static void oxi_winograd_outputs_task(void *arg, int64_t index, int lane) {
    const oxi_winograd *w = (const oxi_winograd *)arg;
    char *scratch = w->scratch + (size_t)lane * w->lane_bytes;
    float *u = (float *)(void *)(scratch + w->own_at);
    int64_t split = index % w->splits, output = index / w->splits * 2 * w->lanes;
    int64_t first = w->some * split / w->splits, end = w->some * (split + 1) / w->splits;
    for (int64_t i = first; i < end; i++) {
        oxi_winograd_chunk c = oxi_winograd_chunk_of(w, w->first + i);
        for (int64_t at = 0, depth; at < w->from.depth; at += depth) {
            depth = oxi_min_i64(w->slice, w->from.depth - at);
            if (i == first || depth < w->from.depth) oxi_winograd_weights(w, output, at, depth, u, scratch);
            oxi_winograd_products(w, &c, at, depth, w->v + i * w->v_chunk, u, scratch);
        }
        oxi_winograd_results(w, &c, output, scratch);
    }
}

/* ---- the whole ---------------------------------------------------------------------------------------- */

/* Whole lines of tiles that fill their panels best, or a part of one that is long. */
static void oxi_winograd_size_chunks(oxi_winograd *w) {
    int64_t most = 2 * w->rows, best = 0;
    w->chunk_across = oxi_min_i64(w->across, most);
    w->chunk_lines = 1;
    for (int64_t lines = 1; lines * w->chunk_across <= most; lines++) {
        int64_t tiles = lines * w->chunk_across, filled = 1000 * tiles / oxi_round_up(tiles, w->rows);
        if (filled <= best) continue;
        best = filled;
        w->chunk_lines = lines;
    }
    w->chunks_across = oxi_parts(w->across, w->chunk_across);
    w->chunks = oxi_parts(w->samples * w->down, w->chunk_lines) * w->chunks_across;
    w->panels = oxi_parts(w->chunk_lines * w->chunk_across, w->rows);
}

static void oxi_winograd_place(oxi_winograd *w) {
    int64_t columns = 4 * w->chunk_across + 2, line = columns * w->lanes * (int64_t)sizeof(float);
    int64_t strip = oxi_min_i64(4 * w->chunk_lines, OXI_WINOGRAD_STRIP / line) * line;
    int64_t taps = 9 * OXI_WINOGRAD_TAPS * w->lanes * (int64_t)sizeof(float);
    if (strip < 4 * line) strip = 4 * line;
    if (strip < taps) strip = taps;
    w->u_point = w->from.depth * 2 * w->lanes + w->lanes;
    w->from.point = w->from.depth * w->panels * w->rows + w->lanes;
    w->u_block = OXI_WINOGRAD_POINTS * w->u_point;
    w->v_chunk = OXI_WINOGRAD_POINTS * w->from.point;
    int64_t weights = w->u_block * w->wide / (2 * w->lanes) * (int64_t)sizeof(float);
    w->weights_first = !w->by.data && weights <= oxi_cpu_info()->own_cache * 4;
    w->slice = w->from.depth;
    if (!w->weights_first && w->chunks == 1 && w->slice > OXI_WINOGRAD_SLICE) {
        w->slice = OXI_WINOGRAD_SLICE;
        w->u_point = w->slice * 2 * w->lanes + w->lanes;
        w->u_block = OXI_WINOGRAD_POINTS * w->u_point;
    }
    w->narrow_at = oxi_align_up((size_t)(strip + 2 * line));
    w->sums_at = w->narrow_at + oxi_align_up((size_t)(strip + 2 * line) / 2);
    int64_t sums = OXI_WINOGRAD_POINTS * w->panels * w->rows * 2 * w->lanes;
    w->own_at = w->sums_at + (size_t)sums * sizeof(float);
    int64_t own = w->by.data ? 0 : w->weights_first ? w->v_chunk : w->u_block;
    w->lane_bytes = oxi_align_up(w->own_at + (size_t)own * sizeof(float));
}

static void oxi_winograd_work(oxi_winograd *w) {
    int64_t blocks = w->wide / (2 * w->lanes), lanes = oxi_lanes(INT32_MAX);
    if (w->weights_first) {
        oxi_parallel_for(blocks, oxi_winograd_weights_task, w);
        oxi_parallel_for(w->chunks, oxi_winograd_chunk_task, w);
        return;
    }
    int64_t most = w->some;
    for (w->first = 0; w->first < w->chunks; w->first += most) {
        w->some = oxi_min_i64(most, w->chunks - w->first);
        w->splits = oxi_min_i64(w->some, oxi_parts(4 * lanes, blocks));
        oxi_parallel_for(w->some * (w->from.depth / w->lanes), oxi_winograd_image_task, w);
        oxi_parallel_for(blocks * w->splits, oxi_winograd_outputs_task, w);
    }
}

static void oxi_winograd_begin(oxi_winograd *w, const int64_t *places) {
    w->kernels = oxi_cpu_kernels();
    w->lanes = w->kernels->vector_bytes / 4;
    w->rows = w->kernels->gemm_f32.mr;
    w->sum = w->kernels->winograd.sums;
    w->samples = w->from.image.shape[0];
    w->down = oxi_parts(places[0], 4);
    w->across = oxi_parts(places[1], 4);
    int64_t tiles = w->samples * w->down * w->across;
    if (!w->by.data && w->kernels->winograd.sums_few && tiles <= OXI_WINOGRAD_TILES) {
        w->rows = 8;
        w->sum = w->kernels->winograd.sums_few;
    }
    w->from.depth = oxi_round_up(w->from.channels, w->lanes);
    w->from.reach = 2;
    w->from.numbers = w->kernels->winograd.image;
    oxi_winograd_size_chunks(w);
}

/* failed [samples]: 1 where sums are not finite, or not all numbers on the way there: plain sums tell. */
static ox_status oxi_winograd_run(oxi_winograd *w, int64_t *failed) {
    oxi_winograd_begin(w, w->to.shape + 3);
    w->from.rows = w->rows;
    w->wide = oxi_round_up(w->outputs, 2 * w->lanes);
    w->failed = failed;
    oxi_winograd_place(w);
    int64_t most = OXI_WINOGRAD_BYTES / 4 / w->v_chunk;
    w->some = oxi_min_i64(w->chunks, most > 1 ? most : 1);
    int64_t numbers = w->weights_first ? w->u_block * w->wide / (2 * w->lanes) : w->v_chunk * w->some;
    size_t before = oxi_align_up((size_t)numbers * sizeof(float));
    size_t bytes = before + (size_t)oxi_lanes(INT32_MAX) * w->lane_bytes;
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    w->u = w->v = (float *)(void *)memory;
    w->scratch = memory + before;
    oxi_winograd_work(w);
    oxi_free(memory, bytes);
    return OX_OK;
}

/* ---- gradients of weights ------------------------------------------------------------------------------ */

/* Number of the first tile of a chunk. */
static int64_t oxi_winograd_tile(const oxi_winograd *w, int64_t chunk) {
    if (chunk == w->chunks) return w->samples * w->down * w->across;
    oxi_winograd_chunk c = oxi_winograd_chunk_of(w, chunk);
    return c.line * w->across + c.tile;
}

/* Task: a vector of channels of a chunk, of the image or of what flows back: [36][tile][depth]. */
static void oxi_winograd_tiles_task(void *arg, int64_t index, int lane) {
    const oxi_winograd *w = (const oxi_winograd *)arg;
    int64_t own = w->from.depth / w->lanes, groups = own + w->by.depth / w->lanes, group = index % groups;
    int64_t chunk = w->first + index / groups;
    bool is_image = group < own;
    const oxi_winograd_side *s = is_image ? &w->from : &w->by;
    oxi_winograd_chunk c = oxi_winograd_chunk_of(w, chunk);
    float *to = (is_image ? w->v : w->u) +
                (oxi_winograd_tile(w, chunk) - oxi_winograd_tile(w, w->first)) * s->depth;
    oxi_winograd_image(w, s, &c, (group - (is_image ? 0 : own)) * w->lanes, to,
                       w->scratch + (size_t)lane * w->lane_bytes);
}

/* Task: sums [36][outputs][wide] of two vectors of channels, a point. */
static void oxi_winograd_point_task(void *arg, int64_t index, int lane) {
    const oxi_winograd *w = (const oxi_winograd *)arg;
    int64_t blocks = w->wide / (2 * w->lanes), point = index / blocks, first = index % blocks * 2 * w->lanes;
    int64_t tiles = oxi_winograd_tile(w, w->first + w->some) - oxi_winograd_tile(w, w->first);
    (void)lane;
    for (int64_t at = 0; at < tiles; at += OXI_WINOGRAD_DEEP) {
        int64_t k = oxi_min_i64(OXI_WINOGRAD_DEEP, tiles - at);
        const float *y = w->u + point * w->by.point + at * w->by.depth;
        const float *v = w->v + point * w->from.point + at * w->from.depth + first;
        for (int64_t i = 0; i < w->outputs; i += w->rows)
            w->kernels->winograd.sums_back(k, y + i, w->by.depth, v, w->from.depth,
                                           w->sums + point * w->m_point + i * w->wide + first, w->wide,
                                           w->first + at > 0);
    }
}

/* Task: taps of an output. */
static void oxi_winograd_taps_task(void *arg, int64_t index, int lane) {
    const oxi_winograd *w = (const oxi_winograd *)arg;
    const int64_t *stride = w->to.stride, lanes = w->lanes;
    oxi_store_kernel store = w->kernels->store[w->dtype][OXI_LANE_F32];
    float taps[9 * 16];
    (void)lane;
    for (int64_t c = 0; c < w->from.channels; c += lanes) {
        char *to = (char *)(uintptr_t)w->to_data + 2 * (index * stride[0] + c * stride[1]);
        if (!w->kernels->winograd.taps(w->sums + index * w->wide + c, w->m_point, taps))
            oxi_atomic_store(w->failed, 1);
        for (int64_t t = 0; t < 9; t++)
            store(oxi_min_i64(lanes, w->from.channels - c), taps + t * lanes,
                  to + 2 * (t / 3 * stride[3] + t % 3 * stride[4]), stride[1]);
    }
}

/* *failed: as above, of all of it. */
static ox_status oxi_winograd_run_back(oxi_winograd *w, int64_t *failed) {
    oxi_winograd_begin(w, w->by.image.shape + 3);
    w->by.depth = oxi_round_up(w->by.channels, w->lanes);
    w->by.reach = 0;
    w->by.numbers = w->kernels->winograd.gradient;
    w->by.rows = w->from.rows = 1;
    w->from.depth = w->wide = oxi_round_up(w->from.channels, 2 * w->lanes);
    w->outputs = w->by.channels;
    w->failed = failed;
    oxi_winograd_place(w);
    w->m_point = oxi_round_up(w->outputs, w->rows) * w->wide + w->lanes;
    int64_t of_chunk = OXI_WINOGRAD_POINTS * w->chunk_lines * w->chunk_across * (w->from.depth + w->by.depth);
    int64_t most = OXI_WINOGRAD_BYTES / 4 / of_chunk;
    w->some = most = oxi_min_i64(w->chunks, most > 1 ? most : 1);
    int64_t tiles = w->some * w->chunk_lines * w->chunk_across;
    w->from.point = tiles * w->from.depth + w->lanes;
    w->by.point = tiles * w->by.depth + w->rows + w->lanes; /* rows beyond the last output are read */
    int64_t numbers = OXI_WINOGRAD_POINTS * (w->from.point + w->by.point + w->m_point);
    size_t before = oxi_align_up((size_t)numbers * sizeof(float));
    size_t bytes = before + (size_t)oxi_lanes(INT32_MAX) * w->lane_bytes;
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    w->v = (float *)(void *)memory;
    w->u = w->v + OXI_WINOGRAD_POINTS * w->from.point;
    w->sums = w->u + OXI_WINOGRAD_POINTS * w->by.point;
    w->scratch = memory + before;
    for (w->first = 0; w->first < w->chunks; w->first += most) {
        w->some = oxi_min_i64(most, w->chunks - w->first);
        oxi_parallel_for(w->some * ((w->from.depth + w->by.depth) / w->lanes), oxi_winograd_tiles_task, w);
        oxi_parallel_for(OXI_WINOGRAD_POINTS * (w->wide / (2 * w->lanes)), oxi_winograd_point_task, w);
    }
    oxi_parallel_for(w->outputs, oxi_winograd_taps_task, w);
    oxi_free(memory, bytes);
    return OX_OK;
}

/* Where it is faster: not where a tier multiplies bf16 by tiles. By the sizes of one sample, so that parts of
 * a batch go the way of all of it. */
static bool oxi_winograd_takes(const oxi_conv_form *f, const oxi_call *call) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    ox_dtype dtype = f->x.t->dtype;
    bool narrow = dtype == OX_BF16 || dtype == OX_F16;
    narrow = narrow && f->weight.t->dtype == dtype && f->y.t->dtype == dtype;
    bool square = f->weight.shape[2] == 1 && f->weight.shape[3] == 3 && f->weight.shape[4] == 3 &&
                  f->x.shape[2] == 1 && f->y.shape[2] == 1 && f->padding[0] == 0;
    for (int d = 1; d < 3; d++) square = square && f->stride[d] == 1 && f->dilation[d] == 1;
    if (!narrow || !square || !kernels->winograd.image || kernels->bf16_pairs.kernel.tile_k || call->exact)
        return false;
    const int64_t *to = call->op == OXI_OP_conv_back_input ? f->x.shape : f->y.shape;
    int64_t tiles = oxi_parts(to[3], 4) * oxi_parts(to[4], 4), least = OXI_WINOGRAD_TILES;
    if (call->op != OXI_OP_conv_back_weight && to[3] * to[4] >= 12 * tiles) least = OXI_WINOGRAD_FEW;
    if (call->op == OXI_OP_conv_back_weight && /* without samples nobody would begin the sums */
        (f->channels * f->outputs > OXI_WINOGRAD_SUMS || f->x.shape[0] == 0))
        return false;
    return f->channels >= OXI_WINOGRAD_CHANNELS && f->outputs >= OXI_WINOGRAD_CHANNELS &&
           f->channels * f->outputs >= OXI_WINOGRAD_WEIGHTS && tiles >= least;
}
