/* sort and topk along one dim, for any strides; rows run in parallel.
 * Every number becomes an unsigned key in its order; one of up to 32 bits has its place in the low half.
 * Keys are sorted by radix (stable), or the best k are kept in a heap. Called by the CPU device. */

#define OXI_SORT_BLOCK 512
#define OXI_SORT_STRIP 64
#define OXI_SORT_SMALL 40    /* up to here insertion is faster than radix */
#define OXI_SORT_GRAIN 16384 /* elements of a task */

typedef struct oxi_sort {
    const oxi_kernels *kernels;
    oxi_lane lane;
    oxi_load_kernel load;
    bool packed; /* keys hold 32 bits of order above 32 bits of place */
    bool is_signed;
    uint64_t flip;       /* all ones: largest first */
    oxi_walk others;     /* all dims but the sorted one; operands: x, values, indices */
    int64_t size, count; /* elements of a line; of them in the result */
    int64_t step[3];     /* strides of the sorted dim, elements */
    int64_t group;       /* lines of a task */
    char *scratch;       /* for each lane of the thread pool: keys, places, and the same again */
    int64_t scratch_bytes;
} oxi_sort;

/* What is sorted: keys[i], with places[i] to tell equals apart; NULL when the keys are packed. */
typedef struct oxi_sort_items {
    uint64_t *keys;
    int64_t *places;
} oxi_sort_items;

/* ---- keys ---------------------------------------------------------------------------------------------- */

/* Bits of a float in ascending order: zeros are equal, NaNs are equal and largest. Without branches. */
static uint32_t oxi_order_f32(float x) {
    const uint32_t sign = (uint32_t)1 << 31;
    uint32_t bits, order;
    memcpy(&bits, &x, sizeof bits);
    order = bits ^ (((uint32_t)0 - (bits >> 31)) | sign);
    order = x == 0 ? sign : order;
    return x != x ? UINT32_MAX : order;
}

static uint64_t oxi_order_f64(double x) {
    const uint64_t sign = (uint64_t)1 << 63;
    uint64_t bits, order;
    memcpy(&bits, &x, sizeof bits);
    order = bits ^ (((uint64_t)0 - (bits >> 63)) | sign);
    order = x == 0 ? sign : order;
    return x != x ? UINT64_MAX : order;
}

/* Numbers of the lane in the order that is wanted, smallest first. */
static void oxi_sort_orders(const oxi_sort *s, const void *numbers, int64_t n, uint64_t *orders) {
    uint64_t sign = s->is_signed ? (uint64_t)1 << (s->packed ? 31 : 63) : 0, flip = s->flip ^ sign;
    uint64_t kept = s->packed ? UINT32_MAX : UINT64_MAX;
    if (s->lane == OXI_LANE_F32) {
        for (int64_t i = 0; i < n; i++) orders[i] = oxi_order_f32(((const float *)numbers)[i]) ^ s->flip;
    } else if (s->lane == OXI_LANE_F64) {
        for (int64_t i = 0; i < n; i++) orders[i] = oxi_order_f64(((const double *)numbers)[i]) ^ s->flip;
    } else {
        for (int64_t i = 0; i < n; i++) orders[i] = (((const uint64_t *)numbers)[i] ^ flip) & kept;
    }
}

static void oxi_sort_load(const oxi_sort *s, const char *x, int64_t first, int64_t n, void *numbers) {
    s->load(n, x + first * s->step[0] * s->others.bytes[0], s->step[0], numbers);
}

OXI_SMALL uint64_t oxi_sort_key(const oxi_sort *s, uint64_t order, int64_t place) {
    return s->packed ? order << 32 | (uint64_t)place : order;
}

/* ---- the whole line, stable ---------------------------------------------------------------------------- */

static void oxi_sort_insertion(oxi_sort_items items, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t key = items.keys[i];
        int64_t place = items.places ? items.places[i] : 0, j = i;
        for (; j > 0 && items.keys[j - 1] > key; j--) {
            items.keys[j] = items.keys[j - 1];
            if (items.places) items.places[j] = items.places[j - 1];
        }
        items.keys[j] = key;
        if (items.places) items.places[j] = place;
    }
}

/* Moves items to where the counts of their byte say; `next` = first free slot of each byte's bucket. */
static void oxi_sort_scatter(oxi_sort_items from, oxi_sort_items to, int64_t n, int shift, int64_t *next) {
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = next[from.keys[i] >> shift & 255]++;
        to.keys[slot] = from.keys[i];
        if (from.places) to.places[slot] = from.places[i];
    }
}

/* What follows has buffers on the stack, each in a frame of its own that goes before the next one comes.
 * Radix sort by bytes, lowest first; bytes that are the same in all keys are passed over. Returns where it
 * ended. */
static OXI_NOINLINE oxi_sort_items oxi_sort_radix(oxi_sort_items items, oxi_sort_items other, int64_t n) {
    int64_t counts[8][256];
    int first = items.places ? 0 : 4; /* packed: the low half is the place, in order already */
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < n; i++) {
        for (int byte = first; byte < 8; byte++) counts[byte][items.keys[i] >> 8 * byte & 255]++;
    }
    for (int byte = first; byte < 8; byte++) {
        int64_t *next = counts[byte], total = 0;
        oxi_sort_items swapped = items;
        if (next[items.keys[0] >> 8 * byte & 255] == n) continue;
        for (int value = 0; value < 256; value++) {
            int64_t count = next[value];
            next[value] = total;
            total += count;
        }
        oxi_sort_scatter(items, other, n, 8 * byte, next);
        items = other;
        other = swapped;
    }
    return items;
}

/* The keys of a whole line. */
static OXI_NOINLINE void oxi_sort_read(const oxi_sort *s, const char *x, oxi_sort_items items) {
    uint64_t numbers[OXI_SORT_BLOCK];
    for (int64_t first = 0, n; first < s->size; first += n) {
        uint64_t *keys = items.keys + first;
        n = oxi_min_i64(s->size - first, OXI_SORT_BLOCK);
        oxi_sort_load(s, x, first, n, numbers);
        oxi_sort_orders(s, numbers, n, keys);
        for (int64_t i = 0; i < n; i++) keys[i] = oxi_sort_key(s, keys[i], first + i);
    }
    for (int64_t i = 0; items.places && i < s->size; i++) items.places[i] = i;
}

static oxi_sort_items oxi_sort_line(const oxi_sort *s, const char *x, oxi_sort_items items,
                                    oxi_sort_items other) {
    oxi_sort_read(s, x, items);
    if (s->size > OXI_SORT_SMALL) return oxi_sort_radix(items, other, s->size);
    oxi_sort_insertion(items, s->size);
    return items;
}

/* ---- the best k: a heap whose top is the worst of them ------------------------------------------------- */

static bool oxi_sort_worse(oxi_sort_items items, int64_t i, int64_t j) {
    if (items.keys[i] != items.keys[j] || !items.places) return items.keys[i] > items.keys[j];
    return items.places[i] > items.places[j];
}

static void oxi_sort_swap(oxi_sort_items items, int64_t i, int64_t j) {
    uint64_t key = items.keys[i];
    items.keys[i] = items.keys[j];
    items.keys[j] = key;
    if (items.places) {
        int64_t place = items.places[i];
        items.places[i] = items.places[j];
        items.places[j] = place;
    }
}

static void oxi_sort_sift(oxi_sort_items heap, int64_t n, int64_t i) {
    for (int64_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && oxi_sort_worse(heap, child + 1, child)) child++;
        if (!oxi_sort_worse(heap, child, i)) return;
        oxi_sort_swap(heap, child, i);
        i = child;
    }
}

/* Whether none of n f32 numbers can be among the best, seen at the speed of a row's extreme. */
static bool oxi_sort_none(const oxi_sort *s, const float *numbers, int64_t n, uint64_t worst) {
    float extreme = s->flip ? s->kernels->row_max(n, numbers) : s->kernels->row_min(n, numbers);
    return extreme == extreme && (oxi_order_f32(extreme) ^ s->flip) >= worst;
}

/* Puts elements [first, first + n) of the line, loaded as `numbers`, among the best `filled` so far. */
static int64_t oxi_sort_offer(const oxi_sort *s, const void *numbers, int64_t first, int64_t n,
                              oxi_sort_items heap, int64_t filled) {
    uint64_t orders[OXI_SORT_STRIP],
        worst = filled == s->count ? heap.keys[0] >> (s->packed ? 32 : 0) : UINT64_MAX;
    if (filled == s->count && s->lane == OXI_LANE_F32) {
        if (oxi_sort_none(s, (const float *)numbers, n, worst)) return filled;
    }
    oxi_sort_orders(s, numbers, n, orders);
    for (int64_t i = 0; i < n; i++) {
        int64_t slot = filled < s->count ? filled : 0;
        if (filled == s->count && orders[i] >= worst) continue; /* an equal one comes from a later place */
        heap.keys[slot] = oxi_sort_key(s, orders[i], first + i);
        if (heap.places) heap.places[slot] = first + i;
        if (filled == s->count) {
            oxi_sort_sift(heap, s->count, 0);
        } else if (++filled == s->count) {
            for (int64_t root = filled / 2; root-- > 0;) oxi_sort_sift(heap, filled, root);
        }
        if (filled == s->count) worst = heap.keys[0] >> (s->packed ? 32 : 0);
    }
    return filled;
}

static OXI_NOINLINE void oxi_sort_best(const oxi_sort *s, const char *x, oxi_sort_items heap) {
    uint64_t numbers[OXI_SORT_BLOCK];
    int64_t filled = 0, bytes = oxi_lane_bytes(s->lane);
    for (int64_t first = 0, n; first < s->size; first += n) {
        n = oxi_min_i64(s->size - first, OXI_SORT_BLOCK);
        oxi_sort_load(s, x, first, n, numbers);
        for (int64_t at = 0; at < n; at += OXI_SORT_STRIP) {
            filled = oxi_sort_offer(s, (const char *)numbers + at * bytes, first + at,
                                    oxi_min_i64(n - at, OXI_SORT_STRIP), heap, filled);
        }
    }
    for (int64_t n = s->count; n > 1; n--) {
        oxi_sort_swap(heap, 0, n - 1);
        oxi_sort_sift(heap, n - 1, 0);
    }
}

/* ---- lines --------------------------------------------------------------------------------------------- */

/* out[i] = x[places[i]], copied as bytes so that zeros keep their sign and NaNs theirs. */
static void oxi_sort_gather(const oxi_sort *s, const char *x, const int64_t *places, int64_t n, char *out) {
    int64_t from = s->step[0] * s->others.bytes[0], to = s->step[1] * s->others.bytes[1];
    switch (s->others.bytes[0]) {
    case 1:
        for (int64_t i = 0; i < n; i++) out[i * to] = x[places[i] * from];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) memcpy(out + i * to, x + places[i] * from, 2);
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(out + i * to, x + places[i] * from, 4);
        break;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(out + i * to, x + places[i] * from, 8);
        break;
    }
}

static OXI_NOINLINE void oxi_sort_store(const oxi_sort *s, oxi_sort_items items, const oxi_cursor *c) {
    int64_t places[OXI_SORT_BLOCK], to = s->step[2];
    for (int64_t first = 0, n; first < s->count; first += n) {
        int64_t *out = (int64_t *)(void *)c->p[2] + first * to;
        n = oxi_min_i64(s->count - first, OXI_SORT_BLOCK);
        for (int64_t i = 0; i < n; i++) {
            places[i] =
                items.places ? items.places[first + i] : (int64_t)(items.keys[first + i] & UINT32_MAX);
            out[i * to] = places[i];
        }
        oxi_sort_gather(s, c->p[0], places, n, c->p[1] + first * s->step[1] * s->others.bytes[1]);
    }
}

static bool oxi_sort_by_heap(const oxi_sort *s) {
    return s->size > OXI_SORT_SMALL && s->count < s->size / 8;
}

static void oxi_sort_task(void *arg, int64_t index, int lane) {
    const oxi_sort *s = (const oxi_sort *)arg;
    int64_t first = index * s->group, room = oxi_sort_by_heap(s) ? s->count : s->size;
    oxi_sort_items items, other;
    oxi_cursor c;
    items.keys = (uint64_t *)(void *)(s->scratch + lane * s->scratch_bytes);
    items.places = s->packed ? NULL : (int64_t *)items.keys + room;
    other.keys = items.keys + (s->packed ? room : 2 * room);
    other.places = s->packed ? NULL : (int64_t *)other.keys + room;
    oxi_walk_seek(&s->others, &c, first, oxi_min_i64(s->others.numel - first, s->group), 1);
    for (; c.n; oxi_walk_next(&s->others, &c)) {
        if (oxi_sort_by_heap(s)) {
            oxi_sort_best(s, c.p[0], items);
            oxi_sort_store(s, items, &c);
        } else {
            oxi_sort_store(s, oxi_sort_line(s, c.p[0], items, other), &c);
        }
    }
}

static void oxi_sort_split(oxi_sort *s, const oxi_call *call) {
    const ox_tensor *t[3];
    int64_t shape[OX_MAX_DIMS], stride[3][OX_MAX_DIMS];
    int dims = 0, along = call->attr.sort.dim;
    t[0] = call->in[0];
    t[1] = call->out[0];
    t[2] = call->out[1];
    s->size = t[0]->ndim ? t[0]->shape[along] : 1;
    s->count = t[1]->ndim ? t[1]->shape[along] : 1;
    for (int d = 0; d < t[0]->ndim; d++) {
        if (d == along) continue;
        shape[dims] = t[0]->shape[d];
        for (int k = 0; k < 3; k++) stride[k][dims] = t[k]->stride[d];
        dims++;
    }
    oxi_walk_begin(&s->others, dims, shape);
    for (int k = 0; k < 3; k++) {
        s->step[k] = t[k]->ndim ? t[k]->stride[along] : 1;
        oxi_walk_add_raw(&s->others, oxi_ptr(t[k]), oxi_dtype_bytes(t[k]->dtype), stride[k]);
    }
    oxi_walk_ready(&s->others, OXI_WALK_MEMORY_ORDER);
}

static ox_status oxi_sort_run(oxi_sort *s) {
    int64_t groups = (s->others.numel + s->group - 1) / s->group;
    int64_t room = oxi_sort_by_heap(s) ? s->count : s->size;
    size_t bytes = (size_t)room, each = s->packed ? 16 : 32;
    if (oxi_mul_size(bytes, each, &bytes)) s->scratch_bytes = (int64_t)bytes;
    if (s->scratch_bytes == 0 || !oxi_mul_size(bytes, (size_t)oxi_lanes(groups), &bytes)) {
        return oxi_fail(OX_ERR_NOMEM, "sort: the keys of %lld elements are more than memory can hold",
                        (long long)s->size);
    }
    s->scratch = (char *)oxi_alloc(bytes);
    if (!s->scratch) return OX_ERR_NOMEM;
    oxi_parallel_for(groups, oxi_sort_task, s);
    oxi_free(s->scratch, bytes);
    return OX_OK;
}

static OXI_UNUSED ox_status oxi_cpu_sort(const oxi_call *call) {
    ox_dtype dtype = call->in[0]->dtype;
    oxi_sort s;
    memset(&s, 0, sizeof s);
    s.lane = oxi_lane_of(dtype);
    s.kernels = oxi_cpu_kernels();
    s.load = s.kernels->load[dtype][s.lane];
    s.is_signed = dtype == OX_I8 || dtype == OX_I16 || dtype == OX_I32 || dtype == OX_I64;
    oxi_sort_split(&s, call);
    if (s.count == 0 || s.others.numel == 0) return OX_OK;
    s.packed = dtype != OX_F64 && dtype != OX_I64 && dtype != OX_U64 && s.size <= UINT32_MAX;
    if (call->attr.sort.descending) s.flip = s.packed ? UINT32_MAX : UINT64_MAX;
    s.group = OXI_SORT_GRAIN / (s.size + 1);
    /* Neighboring lines share cache lines. */
    if (s.group < 16 && llabs(s.others.step[0]) < llabs(s.step[0])) s.group = 16;
    if (s.group < 1) s.group = 1;
    return oxi_sort_run(&s);
}
