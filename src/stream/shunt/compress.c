/* Compressed copies off the device: f32 numbers as f16, in blocks of 16 as roots, of 32 as Q8_0 or Q4_0. The
 * library's own casts do it where there is a dtype for it. Which items: by class, f32 alone, no small
 * ones. */

enum { OXI_SHUNT_BLOCK = 32, OXI_SHUNT_F8_BLOCK = 16, OXI_SHUNT_F8_NAN = 0x80 };

/* The numbers of a block, by its scale, as a sign and 7 bits that grow about as a number's root does: half of
 * the bits that a float has from its exponent on are those of another one, which is rounded. From 1 to 2 and
 * from 1/2 to 1 there are 32 codes each, then 16, 8 .. for two octaves each, down to 2^-13: what is small
 * beside its neighbors keeps some digits, which e2m5 and integers do not leave it, and what is large four
 * times as many as e4m3 has. */
static void oxi_shunt_to_roots(const float *x, float scale, uint8_t *out) {
    const float whole = 12582912; /* 3 * 2^22: what is behind the point is rounded */
    uint8_t code[OXI_SHUNT_F8_BLOCK];
    for (int i = 0; i < OXI_SHUNT_F8_BLOCK; i++) {
        float root = oxi_float_of_bits((oxi_bits_of_float(fabsf(x[i]) / scale) >> 1) + (70u << 23));
        uint32_t size = oxi_bits_of_float(root + whole) & 0xff;
        code[i] = (uint8_t)(size | (oxi_bits_of_float(x[i]) >> 24 & (size + 0x7f) & 0x80)); /* no -0 */
    }
    memcpy(out, code, sizeof code);
}

static float oxi_shunt_from_root(uint8_t x, float scale) {
    int32_t code = x & 0x7f;
    uint32_t bits = 2 * oxi_bits_of_float((float)code) - (140u << 23), some = 0u - (uint32_t)(code > 0);
    uint32_t nan = 0u - (uint32_t)(x == OXI_SHUNT_F8_NAN), sign = (x & 0x80u) << 24;
    float size = oxi_float_of_bits(bits & some) * scale;
    return oxi_float_of_bits(oxi_bits_of_float(size) | sign | (0x7fc00000u & nan));
}

/* The largest of a block without its sign, of those whose bits are below `over`, as what is finite can be. */
static float oxi_shunt_most(const float *x, int32_t over) {
    int32_t most = 0;
    for (int i = 0; i < OXI_SHUNT_F8_BLOCK; i++) {
        int32_t size = (int32_t)(oxi_bits_of_float(x[i]) & 0x7fffffff);
        size = size < over ? size : 0;
        most = size > most ? size : most;
    }
    return oxi_float_of_bits((uint32_t)most);
}

/* The largest number of a block is 127, 63/32 of its scale: the upper half of a float, rounded, so that it
 * comes back too large as often as too small. What is not finite comes back as NaN. */
static void oxi_shunt_to_f8(const float *x, int64_t blocks, uint16_t *scales, uint8_t *out) {
    const float top = 63.0f / 32, least = FLT_MIN * top; /* no scale is too small for a quotient */
    bool odd = false;
    for (int64_t b = 0; b < blocks; b++) {
        float most = oxi_shunt_most(x + b * OXI_SHUNT_F8_BLOCK, INT32_MAX);
        if (!(most <= FLT_MAX)) {
            odd = true;
            most = oxi_shunt_most(x + b * OXI_SHUNT_F8_BLOCK, 0x7f800000);
        }
        if (most < least) most = least;
        scales[b] = (uint16_t)((oxi_bits_of_float(most / top) + 0x8000) >> 16);
    }
    for (int64_t b = 0; b < blocks; b++)
        oxi_shunt_to_roots(x + b * OXI_SHUNT_F8_BLOCK, oxi_bf16_to_f32(scales[b]),
                           out + b * OXI_SHUNT_F8_BLOCK);
    for (int64_t i = 0; i < blocks * OXI_SHUNT_F8_BLOCK && odd; i++)
        if (!(fabsf(x[i]) <= FLT_MAX)) out[i] = OXI_SHUNT_F8_NAN;
}

/* By a table of all codes, as not every compiler makes vectors of what they are made by. */
static void oxi_shunt_from_f8(const uint16_t *scales, const uint8_t *x, int64_t blocks, float *out) {
    float roots[256];
    for (int i = 0; i < 256; i++) roots[i] = oxi_shunt_from_root((uint8_t)i, 1);
    for (int64_t b = 0; b < blocks; b++, x += OXI_SHUNT_F8_BLOCK, out += OXI_SHUNT_F8_BLOCK) {
        const float scale = oxi_bf16_to_f32(scales[b]);
        for (int i = 0; i < OXI_SHUNT_F8_BLOCK; i++) out[i] = roots[x[i]] * scale;
    }
}

static ox_dtype oxi_shunt_packed_dtype(int compression) {
    return compression == OX_COMPRESSION_F16  ? OX_F16
           : compression == OX_COMPRESSION_I8 ? OX_Q8_0
           : compression == OX_COMPRESSION_Q4 ? OX_Q4_0
                                              : OX_DTYPE_NONE;
}

/* Whole blocks; what is left over is f16's. */
static int oxi_shunt_compression_of(const ox_shunt *s, int64_t count) {
    return count % OXI_SHUNT_BLOCK ? OX_COMPRESSION_F16 : (int)s->desc.compression;
}

static size_t oxi_shunt_packed_bytes(int compression, int64_t count) {
    const ox_dtype_info *info = oxi_info(oxi_shunt_packed_dtype(compression));
    if (compression == OX_COMPRESSION_F8)
        return (size_t)count + (size_t)(count / OXI_SHUNT_F8_BLOCK) * sizeof(uint16_t);
    return (size_t)(count / info->block_elements) * (size_t)info->block_bytes;
}

static void oxi_shunt_as_tensor(ox_tensor *t, ox_storage *storage, ox_dtype dtype, int ndim,
                                const int64_t *shape, const void *data) {
    memset(storage, 0, sizeof *storage);
    oxi_meta(t, dtype, ndim, shape);
    storage->references = t->references = 1;
    storage->device = ox_cpu();
    storage->data = (void *)(uintptr_t)data;
    storage->bytes = ox_nbytes(t);
    storage->borrowed = true;
    t->storage = storage;
}

static ox_status oxi_shunt_copy_tensor(ox_tensor *from, ox_tensor *to) {
    oxi_call copy = oxi_call_of(OXI_OP_copy, &from, 1, to);
    copy.attr = oxi_attrs_dtype();
    return oxi_apply_quiet(&copy);
}

/* Numbers of one dtype into another, both in memory of the host. */
static ox_status oxi_shunt_cast(const void *from, ox_dtype from_dtype, void *to, ox_dtype to_dtype,
                                int64_t count) {
    ox_storage storage[2];
    ox_tensor t[2];
    oxi_shunt_as_tensor(&t[0], &storage[0], from_dtype, 1, &count, from);
    oxi_shunt_as_tensor(&t[1], &storage[1], to_dtype, 1, &count, to);
    return oxi_shunt_copy_tensor(&t[0], &t[1]);
}

/* [N,rows,columns] into [N,columns,rows]. */
static ox_status oxi_shunt_transpose(const float *x, int64_t count, int64_t rows, int64_t columns,
                                     float *out) {
    const int64_t shape[3] = {count / (rows * columns), columns, rows};
    ox_storage storage[2];
    ox_tensor t[2];
    oxi_shunt_as_tensor(&t[0], &storage[0], OX_F32, 3, shape, x);
    oxi_shunt_as_tensor(&t[1], &storage[1], OX_F32, 3, shape, out);
    t[0].stride[1] = 1;
    t[0].stride[2] = columns;
    return oxi_shunt_copy_tensor(&t[0], &t[1]);
}

/* The power of two that brings the largest number below 2^15: halves, and the scales of blocks, which are
 * halves, keep all of their digits from there down to 2^-7 or less, and gradients are smaller than that. */
static int oxi_shunt_shift_of(const float *x, int64_t count) {
    float most = 0;
    int exponent = 0;
    for (int64_t i = 0; i < count; i++) {
        float size = fabsf(x[i]);
        if (size > most && size <= FLT_MAX) most = size;
    }
    (void)frexpf(most, &exponent);
    int shift = most > 0 ? 15 - exponent : 0;
    return shift > 126 ? 126 : shift < -126 ? -126 : shift; /* it and its inverse are normal numbers */
}

enum { OXI_SHUNT_PACKS = 1 << 16 }; /* numbers that are packed at once, as a rule */

/* How an item's numbers become a copy's. */
typedef struct oxi_shunt_packing {
    int64_t count, columns; /* columns 0: blocks lie along rows */
    int compression, shift;
} oxi_shunt_packing;

static int64_t oxi_shunt_packed_at_once(const oxi_shunt_packing *p) {
    int64_t tile = OXI_SHUNT_BLOCK * (p->columns > 0 ? p->columns : 1), tiles = OXI_SHUNT_PACKS / tile;
    return oxi_min_i64(p->count, tiles > 1 ? tiles * tile : tile);
}

/* Where number `at` lies in a copy: its code or block; of F8 a block's scale as well, before all codes. */
static char *oxi_shunt_packed_at(const oxi_shunt_packing *p, const char *packed, int64_t at,
                                 uint16_t **scale) {
    char *first = (char *)(uintptr_t)packed;
    *scale = (uint16_t *)(void *)first + at / OXI_SHUNT_F8_BLOCK;
    if (p->compression == OX_COMPRESSION_F8)
        return first + (size_t)(p->count / OXI_SHUNT_F8_BLOCK) * sizeof **scale + at;
    return first + oxi_shunt_packed_bytes(p->compression, at);
}

static ox_status oxi_shunt_pack(const oxi_shunt_packing *p, const float *x, char *packed) {
    const ox_dtype dtype = oxi_shunt_packed_dtype(p->compression);
    int64_t most = oxi_shunt_packed_at_once(p);
    const bool stages = p->columns > 0 || p->compression != OX_COMPRESSION_F8;
    float factor = ldexpf(1, p->shift), *part = NULL;
    if (stages) part = (float *)oxi_alloc((size_t)most * sizeof *part);
    ox_status status = part || !stages ? OX_OK : OX_ERR_NOMEM;
    for (int64_t at = 0, some; at < p->count && status == OX_OK; at += some) {
        uint16_t *scale;
        char *out = oxi_shunt_packed_at(p, packed, at, &scale);
        const float *from = p->columns > 0 ? part : x + at;
        some = p->count - at < most ? p->count - at : most;
        if (p->columns > 0) status = oxi_shunt_transpose(x + at, some, OXI_SHUNT_BLOCK, p->columns, part);
        if (p->compression == OX_COMPRESSION_F8) {
            oxi_shunt_to_f8(from, some / OXI_SHUNT_F8_BLOCK, scale, (uint8_t *)out);
            continue;
        }
        for (int64_t i = 0; i < some; i++) part[i] = from[i] * factor;
        if (status == OX_OK) status = oxi_shunt_cast(part, OX_F32, out, dtype, some);
    }
    oxi_free(part, (size_t)most * sizeof *part);
    return status;
}

static ox_status oxi_shunt_unpack(const oxi_shunt_packing *p, const char *packed, float *out) {
    const ox_dtype dtype = oxi_shunt_packed_dtype(p->compression);
    int64_t most = oxi_shunt_packed_at_once(p);
    const bool stages = p->columns > 0;
    float factor = ldexpf(1, -p->shift), *part = NULL;
    if (stages) part = (float *)oxi_alloc((size_t)most * sizeof *part);
    ox_status status = part || !stages ? OX_OK : OX_ERR_NOMEM;
    for (int64_t at = 0, some; at < p->count && status == OX_OK; at += some) {
        uint16_t *scale;
        const char *from = oxi_shunt_packed_at(p, packed, at, &scale);
        float *to = stages ? part : out + at;
        some = p->count - at < most ? p->count - at : most;
        if (p->compression == OX_COMPRESSION_F8)
            oxi_shunt_from_f8(scale, (const uint8_t *)from, some / OXI_SHUNT_F8_BLOCK, to);
        else
            status = oxi_shunt_cast(from, dtype, to, OX_F32, some);
        for (int64_t i = 0; i < some && p->shift != 0; i++) to[i] *= factor;
        if (stages && status == OX_OK)
            status = oxi_shunt_transpose(part, some, p->columns, OXI_SHUNT_BLOCK, out + at);
    }
    oxi_free(part, (size_t)most * sizeof *part);
    return status;
}

static void oxi_shunt_figure_note(oxi_shunt_figure *f, int64_t step, double seconds, double amount);

/* What packing and unpacking take, of a lane's time; `item` has the copy. */
static void oxi_shunt_packing_put(ox_shunt *s, const oxi_shunt_item *item, bool save, double seconds) {
    int lane = !item->host ? OXI_LANE_DISK : save ? OXI_LANE_UP : OXI_LANE_DOWN;
    oxi_stream_take(&s->tiers);
    s->packed_seconds[lane] += seconds;
    oxi_shunt_figure_note(&s->rates.packed[save], s->stats.steps, seconds, (double)item->bytes / 4);
    oxi_stream_give(&s->tiers);
}

/* Blocks go along columns where 32 rows and more lie behind each other: a column is what a unit of a layer
 * gives, and an optimizer divides what its weights get by its own size. One that is nearly off shall have
 * digits, too, and not share its scale with others. */
static int64_t oxi_shunt_packed_columns(const oxi_shunt_item *item, int64_t count, int compression) {
    int64_t tile = OXI_SHUNT_BLOCK * item->columns;
    return compression != OX_COMPRESSION_F16 && item->columns > 1 && count % tile == 0 ? item->columns : 0;
}

static ox_status oxi_shunt_save_packed(ox_shunt *s, oxi_shunt_item *item, const void *data) {
    double start = oxi_now();
    int64_t count = (int64_t)(item->bytes / sizeof(float));
    int compression = oxi_shunt_compression_of(s, count);
    int shift = compression == OX_COMPRESSION_F8 ? 0 : oxi_shunt_shift_of((const float *)data, count);
    int64_t columns = oxi_shunt_packed_columns(item, count, compression);
    const oxi_shunt_packing p = {count, columns, compression, shift};
    size_t bytes = oxi_shunt_packed_bytes(compression, count);
    char *packed = (char *)oxi_alloc(bytes);
    ox_status status = packed ? oxi_shunt_pack(&p, (const float *)data, packed) : OX_ERR_NOMEM;
    double took = oxi_now() - start;
    if (status == OX_OK) status = oxi_shunt_put_copy(s, item, packed, bytes, 0, false);
    if (status == OX_OK) {
        oxi_shunt_packing_put(s, item, true, took);
        item->packed = (uint8_t)compression;
        item->packed_shift = (int16_t)shift;
        item->packed_columns = columns;
    }
    oxi_free(packed, bytes);
    return status;
}

static ox_status oxi_shunt_load_packed(ox_shunt *s, const oxi_shunt_item *item, const void *packed,
                                       void *out) {
    const oxi_shunt_packing p = {(int64_t)(item->bytes / sizeof(float)), item->packed_columns, item->packed,
                                 item->packed_shift};
    double start = oxi_now();
    ox_status status = oxi_shunt_unpack(&p, (const char *)packed, (float *)out);
    oxi_shunt_packing_put(s, item, false, oxi_now() - start);
    return status;
}
