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

/* The windows of the place at [z,y,x]. */
typedef struct oxi_pool_place {
    oxi_pool_window w[3];
    int64_t at, divisor;
} oxi_pool_place;

static void oxi_pool_place_at(const oxi_pool *p, int64_t at, oxi_pool_place *place) {
    const oxi_attr_pool *told = &p->call->attr.pool;
    int64_t padded = 1, count = 1;
    place->at = at;
    for (int d = 2; d >= 0; d--) {
        place->w[d] = p->window[d][at % p->place_count[d]];
        at /= p->place_count[d];
        padded *= place->w[d].padded;
        count *= place->w[d].count;
    }
    place->divisor = told->divisor ? told->divisor : told->include_pad ? padded : count;
}

#define OXI_POOL_EACH(p, place, position, work)                                                           \
    for (int64_t z = 0; z < (place)->w[0].count; z++)                                                     \
        for (int64_t y = 0; y < (place)->w[1].count; y++) {                                               \
            int64_t position = (((place)->w[0].first + z * (p)->dilation[0]) * (p)->size[1] +             \
                                (place)->w[1].first + y * (p)->dilation[1]) * (p)->size[2] +              \
                               (place)->w[2].first;                                                       \
            for (int64_t x = 0; x < (place)->w[2].count; x++, position += (p)->dilation[2]) work;         \
        }

#define OXI_POOL_MAX(type)                                                                                \
    static void oxi_pool_max_##type(const oxi_pool *p, const void *from, void *to, int64_t *indices) {    \
        const type *image = (const type *)from;                                                           \
        for (int64_t at = 0; at < p->all; at++) {                                                         \
            oxi_pool_place place;                                                                         \
            int64_t best = -1;                                                                            \
            type most = 0;                                                                                \
            oxi_pool_place_at(p, at, &place);                                                             \
            OXI_POOL_EACH(p, &place, position, {                                                          \
                type v = image[position];                                                                 \
                if (best >= 0 && !(v > most) && v == v) continue;                                         \
                most = v;                                                                                 \
                best = position;                                                                          \
            })                                                                                            \
            ((type *)to)[at] = most;                                                                      \
            indices[at] = best;                                                                           \
        }                                                                                                 \
    }
OXI_POOL_MAX(float)
OXI_POOL_MAX(double)
OXI_POOL_MAX(int64_t)
OXI_POOL_MAX(uint64_t)

#define OXI_POOL_AVG(type)                                                                                \
    static void oxi_pool_avg_##type(const oxi_pool *p, const void *from, void *to) {                      \
        const type *image = (const type *)from;                                                           \
        for (int64_t at = 0; at < p->all; at++) {                                                         \
            oxi_pool_place place;                                                                         \
            type sum = 0;                                                                                 \
            oxi_pool_place_at(p, at, &place);                                                             \
            OXI_POOL_EACH(p, &place, position, sum += image[position])                                    \
            ((type *)to)[at] = sum / (type)place.divisor;                                                 \
        }                                                                                                 \
    }                                                                                                     \
    static void oxi_pool_avg_back_##type(const oxi_pool *p, void *to, const void *from) {                 \
        type *image = (type *)to;                                                                         \
        for (int64_t at = 0; at < p->pixels; at++) image[at] = 0;                                         \
        for (int64_t at = 0; at < p->all; at++) {                                                         \
            oxi_pool_place place;                                                                         \
            oxi_pool_place_at(p, at, &place);                                                             \
            type share = ((const type *)from)[at] / (type)place.divisor;                                  \
            OXI_POOL_EACH(p, &place, position, image[position] += share)                                  \
        }                                                                                                 \
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
