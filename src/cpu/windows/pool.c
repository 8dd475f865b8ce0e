/* Pooling: an image at a time, as numbers of a lane, whatever its strides. Called by the CPU device. */

/* Positions of one window along a dim: those within the image, and how many there are with the padding. */
typedef struct oxi_pool_window {
    int64_t first, count, padded;
} oxi_pool_window;

typedef struct oxi_pool {
    const oxi_call *call;
    const oxi_kernels *kernels;
    oxi_lane lane;
    int element;                     /* bytes of a number of the lane */
    const ox_tensor *image, *places; /* x or its gradient; the result or g */
    int planes;                      /* dims that count images */
    int64_t size[3], place_count[3], dilation[3];
    oxi_pool_window *window[3];      /* of each place along a dim */
    char *scratch;                   /* of each lane: an image, its places, their indices */
    int64_t pixels, all;
    int64_t *indices;                /* where they go to, if that is contiguous */
    size_t image_bytes, place_bytes, lane_bytes;
    /* images as lines of floats (below): a line of each phase has so many, of which `left` are outside */
    int64_t phases, width, left; /* phases 0: not so */
    int32_t *at;                 /* [places of a line], padded: the stride times the place */
} oxi_pool;

static oxi_pool_window oxi_pool_window_at(const oxi_attr_pool *told, int i, int64_t size, int64_t places,
                                          int64_t at) {
    oxi_pool_window w;
    int64_t kernel = told->kernel.n[i], padding = told->padding.n[i], dilation = told->dilation.n[i];
    if (kernel == 0) { /* floor(at size / places) up to ceil((at + 1) size / places) */
        w.first = at / places * size + at % places * size / places;
        int64_t next = at + 1, end = next / places * size + (next % places * size + places - 1) / places;
        w.count = w.padded = end - w.first;
        return w;
    }
    int64_t start = at * told->stride.n[i] - padding, end = start + dilation * (kernel - 1) + 1;
    w.padded = oxi_min_i64(end, size + padding) - start;
    int64_t skip = start < 0 ? (-start + dilation - 1) / dilation : 0;
    w.first = start + skip * dilation;
    w.count = kernel - skip;
    if (w.count > 0 && w.first + (w.count - 1) * dilation >= size)
        w.count = w.first >= size ? 0 : (size - 1 - w.first) / dilation + 1;
    return w;
}

/* ---- one image ----------------------------------------------------------------------------------------- */

/* The windows of a place; its count is what an average divides by. */
typedef struct oxi_pool_place {
    const oxi_pool_window *z, *y, *x;
    int64_t at; /* the place itself */
} oxi_pool_place;

static inline double oxi_pool_divisor(const oxi_attr_pool *told, const oxi_pool_place *p) {
    if (told->divisor) return (double)told->divisor;
    if (told->include_pad) return (double)(p->z->padded * p->y->padded * p->x->padded);
    return (double)(p->z->count * p->y->count * p->x->count);
}

/* The next place, the last dim fastest; false behind the end. */
static inline bool oxi_pool_next(const oxi_pool *p, oxi_pool_place *place) {
    place->at++;
    if (++place->x < p->window[2] + p->place_count[2]) return true;
    place->x = p->window[2];
    if (++place->y < p->window[1] + p->place_count[1]) return true;
    place->y = p->window[1];
    return ++place->z < p->window[0] + p->place_count[0];
}

static oxi_pool_place oxi_pool_first(const oxi_pool *p) {
    oxi_pool_place place = {p->window[0], p->window[1], p->window[2], 0};
    return place;
}

#define OXI_POOL_EACH(p, place, position, work)                                                           \
    for (int64_t z = 0; z < (place).z->count; z++)                                                        \
        for (int64_t y = 0; y < (place).y->count; y++) {                                                  \
            int64_t position = (((place).z->first + z * (p)->dilation[0]) * (p)->size[1] +                \
                                (place).y->first + y * (p)->dilation[1]) * (p)->size[2] +                 \
                               (place).x->first;                                                          \
            for (int64_t x = (place).x->count; x > 0; x--, position += (p)->dilation[2]) work;            \
        }

#define OXI_POOL_MAX(type)                                                                                \
    static void oxi_pool_max_##type(const oxi_pool *p, const void *from, void *to, int64_t *indices) {    \
        const type *image = (const type *)from;                                                           \
        oxi_pool_place place = oxi_pool_first(p);                                                         \
        do {                                                                                              \
            int64_t best = -1;                                                                            \
            type most = 0;                                                                                \
            OXI_POOL_EACH(p, place, position, {                                                           \
                type v = image[position];                                                                 \
                if (best >= 0 && !(v > most) && v == v) continue;                                         \
                most = v;                                                                                 \
                best = position;                                                                          \
            })                                                                                            \
            ((type *)to)[place.at] = most;                                                                \
            indices[place.at] = best;                                                                     \
        } while (oxi_pool_next(p, &place));                                                               \
    }
OXI_POOL_MAX(float)
OXI_POOL_MAX(double)
OXI_POOL_MAX(int64_t)
OXI_POOL_MAX(uint64_t)

#define OXI_POOL_AVG(type)                                                                                \
    static void oxi_pool_avg_##type(const oxi_pool *p, const void *from, void *to) {                      \
        const oxi_attr_pool *told = &p->call->attr.pool;                                                  \
        const type *image = (const type *)from;                                                           \
        oxi_pool_place place = oxi_pool_first(p);                                                         \
        do {                                                                                              \
            type sum = 0;                                                                                 \
            OXI_POOL_EACH(p, place, position, sum += image[position])                                     \
            ((type *)to)[place.at] = sum / (type)oxi_pool_divisor(told, &place);                          \
        } while (oxi_pool_next(p, &place));                                                               \
    }                                                                                                     \
    static void oxi_pool_avg_back_##type(const oxi_pool *p, void *to, const void *from) {                 \
        const oxi_attr_pool *told = &p->call->attr.pool;                                                  \
        type *image = (type *)to;                                                                         \
        oxi_pool_place place = oxi_pool_first(p);                                                         \
        memset(image, 0, (size_t)p->pixels * sizeof *image);                                              \
        if (p->all == 0) return;                                                                          \
        do {                                                                                              \
            type share = ((const type *)from)[place.at] / (type)oxi_pool_divisor(told, &place);           \
            OXI_POOL_EACH(p, place, position, image[position] += share)                                   \
        } while (oxi_pool_next(p, &place));                                                               \
    }
OXI_POOL_AVG(float)
OXI_POOL_AVG(double)

/* ---- images as numbers of a lane ----------------------------------------------------------------------- */

/* Elements from the first one of t to that of an image. */
static int64_t oxi_pool_plane(const oxi_pool *p, const ox_tensor *t, int64_t plane) {
    int64_t offset = 0;
    for (int d = p->planes - 1; d >= 0; d--) {
        offset += plane % t->shape[d] * t->stride[d];
        plane /= t->shape[d];
    }
    return offset;
}

/* Moves one image, all dims behind p->planes, between its tensor and a contiguous run. */
static void oxi_pool_move(const oxi_pool *p, const ox_tensor *t, int64_t plane, oxi_lane lane, int element,
                          char *numbers, bool load) {
    int64_t lines = 1, n = t->shape[t->ndim - 1], step = t->stride[t->ndim - 1];
    int64_t offset = oxi_pool_plane(p, t, plane);
    int last = t->ndim - 1;
    while (last > p->planes && t->stride[last - 1] == n * step) n *= t->shape[--last]; /* one run */
    for (int d = p->planes; d < last; d++) lines *= t->shape[d];
    for (int64_t line = 0; line < lines; line++, numbers += n * element) {
        int64_t at = offset, rest = line;
        for (int d = last - 1; d >= p->planes; d--) {
            at += rest % t->shape[d] * t->stride[d];
            rest /= t->shape[d];
        }
        char *where = (char *)oxi_ptr(t) + oxi_signed_bytes(t->dtype, at);
        if (load) p->kernels->load[t->dtype][lane](n, where, step, numbers);
        else p->kernels->store[t->dtype][lane](n, numbers, where, step);
    }
}

/* ---- the largest of floats, a line of places at a time ---------------------------------------------------
 * A line of an image is laid out by phases, numbers a stride apart side by side, with what is never the
 * largest around them: a tap meets all places of a line as one run. */

enum { OXI_POOL_TAPS = 64, OXI_POOL_PHASES = 16, OXI_POOL_SLACK = 16 }; /* slack: floats of a vector */

/* Numbers of a line's phase that lie in the image. */
static int64_t oxi_pool_phase_count(const oxi_pool *p, int64_t phase) {
    return oxi_min_i64(oxi_parts(p->size[2] - phase, p->phases), p->width - p->left);
}

static void oxi_pool_read_lines(const oxi_pool *p, int64_t plane, float *lines, float *row) {
    const ox_tensor *t = p->image;
    int last = t->ndim - 1;
    int64_t offset = oxi_pool_plane(p, t, plane), n = p->size[2], step = t->stride[last];
    for (int64_t r = 0; r < p->size[0] * p->size[1]; r++) {
        int64_t at = offset;
        if (last > p->planes) at += r % p->size[1] * t->stride[last - 1];
        if (last > p->planes + 1) at += r / p->size[1] * t->stride[last - 2];
        const char *from = oxi_ptr(t) + oxi_signed_bytes(t->dtype, at);
        int64_t apart = step * p->phases;
        if (t->dtype != OX_F32) {
            p->kernels->load[t->dtype][OXI_LANE_F32](n, from, step, row);
            from = (const char *)row;
            apart = p->phases;
        }
        for (int64_t phase = 0; phase < p->phases; phase++, lines += p->width)
            p->kernels->load[OX_F32][OXI_LANE_F32](
                oxi_pool_phase_count(p, phase), from + phase * (apart / p->phases) * (int64_t)sizeof(float),
                apart, lines + p->left);
    }
}

/* The places of a line, their windows along x counted from place->x on. */
static void oxi_pool_max_line(const oxi_pool *p, const oxi_pool_place *place, const float *lines, float *most,
                              int32_t *best) {
    const float *x[OXI_POOL_TAPS];
    int32_t where[OXI_POOL_TAPS];
    const int64_t n = p->place_count[2], kernel = p->call->attr.pool.kernel.n[p->call->attr.pool.dims - 1];
    const int64_t padding = p->call->attr.pool.padding.n[p->call->attr.pool.dims - 1];
    int64_t first = (place->z->first * p->size[1] + place->y->first) * p->size[2];
    int64_t rows = place->z->count * place->y->count, line = p->phases * p->width;
    int taps = 0;
    for (int64_t i = 0; i < n; i++) {
        most[i] = -INFINITY;
        best[i] = (int32_t)(first + p->window[2][i].first);
    }
    for (int64_t i = 0; i < rows; i++) {
        int64_t z = i / place->y->count, y = i - z * place->y->count;
        int64_t row = (place->z->first + z * p->dilation[0]) * p->size[1] + place->y->first;
        row += y * p->dilation[1];
        int64_t shift = p->left * p->phases - padding; /* not below 0 */
        int64_t phase = shift % p->phases, at = shift / p->phases;
        for (int64_t tap = 0; tap < kernel; tap++) {
            where[taps] = (int32_t)(row * p->size[2] + tap * p->dilation[2] - padding);
            x[taps++] = lines + row * line + phase * p->width + at;
            for (phase += p->dilation[2]; phase >= p->phases; phase -= p->phases) at++;
            if (taps < OXI_POOL_TAPS && (i + 1 < rows || tap + 1 < kernel)) continue;
            p->kernels->row_max_places(n, taps, x, where, p->at, most, best);
            taps = 0;
        }
    }
}

static void oxi_pool_max_lines(const oxi_pool *p, int64_t plane, char *image, char *places, int32_t *best,
                               int64_t *indices) {
    float *lines = (float *)(void *)image;
    oxi_pool_place place = oxi_pool_first(p);
    oxi_pool_read_lines(p, plane, lines, lines + p->size[0] * p->size[1] * p->phases * p->width);
    do {
        oxi_pool_max_line(p, &place, lines, (float *)(void *)places + place.at, best + place.at);
        place.at += p->place_count[2] - 1;
        place.x = p->window[2] + p->place_count[2] - 1;
    } while (oxi_pool_next(p, &place));
    for (int64_t i = 0; i < p->all; i++) indices[i] = best[i];
}

/* Whether windows are met line by line; then how lines are laid out. */
static void oxi_pool_plan_lines(oxi_pool *p) {
    const oxi_attr_pool *told = &p->call->attr.pool;
    int64_t last = told->dims - 1, stride = told->stride.n[last], kernel = told->kernel.n[last];
    if (p->call->op != OXI_OP_max_pool || p->lane != OXI_LANE_F32 || kernel == 0) return;
    if (stride > OXI_POOL_PHASES || p->pixels > INT32_MAX / 2 || p->place_count[2] < 4) return;
    for (int d = 0; d < 3; d++)
        for (int64_t i = 0; i < p->place_count[d]; i++)
            if (p->window[d][i].count < 1) return;
    int64_t reach = (kernel - 1) * told->dilation.n[last] - told->padding.n[last];
    p->phases = stride;
    p->left = oxi_parts(told->padding.n[last], stride);
    p->width = p->left + p->place_count[2] + (reach > 0 ? reach / stride : 0) + OXI_POOL_SLACK;
}

static void oxi_pool_task(void *arg, int64_t plane, int lane) {
    const oxi_pool *p = (const oxi_pool *)arg;
    char *image = p->scratch + (size_t)lane * p->lane_bytes;
    char *places = image + p->image_bytes;
    int64_t *own = (int64_t *)(void *)(places + p->place_bytes), *indices = own;
    if (p->indices) indices = p->indices + plane * p->all;
    bool back = p->call->op == OXI_OP_avg_pool_back, wide = p->lane == OXI_LANE_F64;
    const ox_tensor *from = back ? p->places : p->image;
    if (!p->phases) oxi_pool_move(p, from, plane, p->lane, p->element, back ? places : image, true);
    int32_t *best = (int32_t *)(void *)((char *)own + oxi_align_up((size_t)p->all * sizeof *own));
    if (p->phases) oxi_pool_max_lines(p, plane, image, places, best, indices);
    else if (back && wide) oxi_pool_avg_back_double(p, image, places);
    else if (back) oxi_pool_avg_back_float(p, image, places);
    else if (p->call->op == OXI_OP_avg_pool && wide) oxi_pool_avg_double(p, image, places);
    else if (p->call->op == OXI_OP_avg_pool) oxi_pool_avg_float(p, image, places);
    else if (wide) oxi_pool_max_double(p, image, places, indices);
    else if (p->lane == OXI_LANE_F32) oxi_pool_max_float(p, image, places, indices);
    else if (p->lane == OXI_LANE_U64) oxi_pool_max_uint64_t(p, image, places, indices);
    else oxi_pool_max_int64_t(p, image, places, indices);
    oxi_pool_move(p, back ? p->image : p->places, plane, p->lane, p->element, back ? image : places, false);
    if (p->call->op == OXI_OP_max_pool && indices == own)
        oxi_pool_move(p, p->call->out[1], plane, OXI_LANE_I64, 8, (char *)indices, false);
}

static void oxi_pool_plan(oxi_pool *p, const oxi_call *call) {
    const oxi_attr_pool *told = &call->attr.pool;
    bool back = call->op == OXI_OP_avg_pool_back;
    memset(p, 0, sizeof *p);
    p->call = call;
    p->kernels = oxi_cpu_kernels();
    p->image = back ? call->out[0] : call->in[0];
    p->places = back ? call->in[0] : call->out[0];
    if (call->op == OXI_OP_max_pool && ox_is_contiguous(call->out[1]))
        p->indices = (int64_t *)(void *)oxi_ptr(call->out[1]);
    ox_dtype dtype = p->image->dtype;
    p->lane = dtype == OX_F64 ? OXI_LANE_F64 : dtype == OX_U64 ? OXI_LANE_U64
              : oxi_is_int(dtype) ? OXI_LANE_I64 : OXI_LANE_F32;
    p->element = p->lane == OXI_LANE_F32 ? 4 : 8;
    p->planes = p->image->ndim - (int)told->dims;
    p->pixels = p->all = 1;
    for (int d = 0; d < 3; d++) {
        int i = d - (3 - (int)told->dims);
        p->size[d] = i < 0 ? 1 : p->image->shape[p->planes + i];
        p->place_count[d] = i < 0 ? 1 : p->places->shape[p->planes + i];
        p->dilation[d] = i < 0 ? 1 : told->dilation.n[i];
        p->pixels *= p->size[d];
        p->all *= p->place_count[d];
    }
}

/* The windows of each dim, and what lines are made with: one block of memory at p->window[0], which the
 * caller frees; 0 bytes where there was none. */
static size_t oxi_pool_windows(oxi_pool *p) {
    const oxi_pool_window one = {0, 1, 1};
    const oxi_attr_pool *told = &p->call->attr.pool;
    int64_t windows = p->place_count[0] + p->place_count[1] + p->place_count[2];
    size_t table = oxi_align_up((size_t)windows * sizeof(oxi_pool_window));
    size_t bytes = table + (size_t)(p->place_count[2] + OXI_POOL_SLACK) * sizeof(int32_t);
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return 0;
    oxi_pool_window *next = (oxi_pool_window *)(void *)memory;
    for (int d = 0; d < 3; d++) {
        int i = d - (3 - (int)told->dims);
        p->window[d] = next;
        for (int64_t at = 0; at < p->place_count[d]; at++)
            *next++ = i < 0 ? one : oxi_pool_window_at(told, i, p->size[d], p->place_count[d], at);
    }
    p->at = (int32_t *)(void *)(memory + table);
    oxi_pool_plan_lines(p);
    for (int64_t i = 0; p->phases && i < p->place_count[2] + OXI_POOL_SLACK; i++)
        p->at[i] = (int32_t)(i * p->phases);
    return bytes;
}

/* Bytes of a lane: an image, its places, their indices, and in 32 bits. */
static void oxi_pool_plan_lane(oxi_pool *p) {
    int64_t lines = p->size[0] * p->size[1] * p->phases * p->width, slack = p->phases ? OXI_POOL_SLACK : 0;
    p->image_bytes = oxi_align_up((size_t)(p->phases ? (lines + p->size[2]) * 4 : p->pixels * p->element));
    p->place_bytes = oxi_align_up((size_t)((p->all + slack) * p->element));
    p->lane_bytes = p->image_bytes + p->place_bytes + oxi_align_up((size_t)p->all * 8);
    if (p->phases) p->lane_bytes += oxi_align_up((size_t)(p->all + slack) * sizeof(int32_t));
}

static ox_status oxi_cpu_pool(const oxi_call *call) {
    oxi_pool p;
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    oxi_pool_plan(&p, call);
    size_t table = oxi_pool_windows(&p);
    if (table == 0) return OX_ERR_NOMEM;
    oxi_pool_plan_lane(&p);
    int64_t planes = ox_numel(p.image) / p.pixels;
    int lanes = oxi_lanes(planes);
    size_t bytes = (size_t)lanes * p.lane_bytes;
    p.scratch = (char *)oxi_alloc(bytes);
    for (int lane = 0; p.scratch && p.phases && lane < lanes; lane++)
        for (size_t i = 0; i < p.image_bytes / sizeof(float); i++)
            ((float *)(void *)(p.scratch + (size_t)lane * p.lane_bytes))[i] = -INFINITY;
    if (p.scratch) oxi_parallel_for(planes, oxi_pool_task, &p);
    ox_status status = p.scratch ? OX_OK : OX_ERR_NOMEM;
    if (p.scratch) oxi_free(p.scratch, bytes);
    oxi_free(p.window[0], table);
    return status;
}
