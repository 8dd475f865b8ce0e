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
    size_t lane_bytes;
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

/* Moves one image, all dims behind p->planes, between its tensor and a contiguous run. */
static void oxi_pool_move(const oxi_pool *p, const ox_tensor *t, int64_t plane, oxi_lane lane, int element,
                          char *numbers, bool load) {
    int64_t offset = 0, lines = 1, n = t->shape[t->ndim - 1], step = t->stride[t->ndim - 1];
    for (int d = p->planes - 1; d >= 0; d--) {
        offset += plane % t->shape[d] * t->stride[d];
        plane /= t->shape[d];
    }
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

static void oxi_pool_task(void *arg, int64_t plane, int lane) {
    const oxi_pool *p = (const oxi_pool *)arg;
    char *image = p->scratch + (size_t)lane * p->lane_bytes;
    char *places = image + oxi_align_up((size_t)(p->pixels * p->element));
    int64_t *indices = (int64_t *)(void *)(places + oxi_align_up((size_t)(p->all * p->element)));
    bool back = p->call->op == OXI_OP_avg_pool_back, wide = p->lane == OXI_LANE_F64;
    oxi_pool_move(p, back ? p->places : p->image, plane, p->lane, p->element, back ? places : image, true);
    if (back && wide) oxi_pool_avg_back_double(p, image, places);
    else if (back) oxi_pool_avg_back_float(p, image, places);
    else if (p->call->op == OXI_OP_avg_pool && wide) oxi_pool_avg_double(p, image, places);
    else if (p->call->op == OXI_OP_avg_pool) oxi_pool_avg_float(p, image, places);
    else if (wide) oxi_pool_max_double(p, image, places, indices);
    else if (p->lane == OXI_LANE_F32) oxi_pool_max_float(p, image, places, indices);
    else if (p->lane == OXI_LANE_U64) oxi_pool_max_uint64_t(p, image, places, indices);
    else oxi_pool_max_int64_t(p, image, places, indices);
    oxi_pool_move(p, back ? p->image : p->places, plane, p->lane, p->element, back ? image : places, false);
    if (p->call->op == OXI_OP_max_pool)
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
    p->lane_bytes = oxi_align_up((size_t)(p->pixels * p->element)) +
                    oxi_align_up((size_t)(p->all * p->element)) + oxi_align_up((size_t)p->all * 8);
}

static ox_status oxi_cpu_pool(const oxi_call *call) {
    oxi_pool p;
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    oxi_pool_plan(&p, call);
    const oxi_pool_window one = {0, 1, 1};
    int64_t planes = ox_numel(p.image) / p.pixels, windows = 0;
    for (int d = 0; d < 3; d++) windows += p.place_count[d];
    size_t table = oxi_align_up((size_t)windows * sizeof(oxi_pool_window));
    size_t bytes = table + (size_t)oxi_lanes(planes) * p.lane_bytes;
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    oxi_pool_window *next = (oxi_pool_window *)(void *)memory;
    p.scratch = memory + table;
    for (int d = 0; d < 3; d++) {
        int i = d - (3 - (int)call->attr.pool.dims);
        p.window[d] = next;
        for (int64_t at = 0; at < p.place_count[d]; at++)
            *next++ = i < 0 ? one : oxi_pool_window_at(&call->attr.pool, i, p.size[d], p.place_count[d], at);
    }
    oxi_parallel_for(planes, oxi_pool_task, &p);
    oxi_free(memory, bytes);
    return OX_OK;
}
