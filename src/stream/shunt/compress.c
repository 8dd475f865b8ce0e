/* Compressed copies off the device: f32 numbers as f16, in blocks of 16 as roots, of 32 as Q8_0 or Q4_0. The
 * library's own casts do it where there is a dtype for it. Which items: by class, f32 alone, no small
 * ones. */

enum { OXI_SHUNT_BLOCK = 32, OXI_SHUNT_F8_BLOCK = 16, OXI_SHUNT_F8_NAN = 0x80 };

/* A number of a block, by its scale, as a sign and 7 bits that grow about as its root does: half of the bits
 * that a float has from its exponent on are those of another one, which is rounded. From 1 to 2 and from 1/2
 * to 1 there are 32 codes each, then 16, 8 .. for two octaves each, down to 2^-13: what is small beside its
 * neighbors keeps some digits, which e2m5 and integers do not leave it, and what is large four times as many
 * as e4m3 has. */
static uint8_t oxi_shunt_to_root(float x, float scale) {
    const float whole = 12582912; /* 3 * 2^22: what is behind the point is rounded */
    float root = oxi_float_of_bits((oxi_bits_of_float(fabsf(x) / scale) >> 1) + (70u << 23));
    uint32_t code = oxi_bits_of_float(root + whole) & 0xff, sign = oxi_bits_of_float(x) >> 24 & 0x80;
    uint32_t finite = 0u - (uint32_t)(fabsf(x) <= FLT_MAX), some = 0u - (uint32_t)(code > 0);
    return (uint8_t)(((code | (sign & some)) & finite) | (OXI_SHUNT_F8_NAN & ~finite));
}

static float oxi_shunt_from_root(uint8_t x, float scale) {
    int32_t code = x & 0x7f;
    uint32_t bits = 2 * oxi_bits_of_float((float)code) - (140u << 23), some = 0u - (uint32_t)(code > 0);
    uint32_t nan = 0u - (uint32_t)(x == OXI_SHUNT_F8_NAN), sign = (x & 0x80u) << 24;
    float size = oxi_float_of_bits(bits & some) * scale;
    return oxi_float_of_bits(oxi_bits_of_float(size) | sign | (0x7fc00000u & nan));
}

/* The largest number of a block is 127, 63/32 of its scale: the upper half of a float, rounded, so that it
 * comes back too large as often as too small. What is not finite comes back as NaN. */
static void oxi_shunt_to_f8(const float *x, int64_t blocks, uint16_t *scales, uint8_t *out) {
    const float top = 63.0f / 32;
    for (int64_t b = 0; b < blocks; b++, x += OXI_SHUNT_F8_BLOCK, out += OXI_SHUNT_F8_BLOCK) {
        float most = FLT_MIN * top; /* no scale is too small for a quotient */
        for (int i = 0; i < OXI_SHUNT_F8_BLOCK; i++) {
            float size = fabsf(x[i]);
            if (size > most && size <= FLT_MAX) most = size;
        }
        scales[b] = (uint16_t)((oxi_bits_of_float(most / top) + 0x8000) >> 16);
        float scale = oxi_bf16_to_f32(scales[b]);
        for (int i = 0; i < OXI_SHUNT_F8_BLOCK; i++) out[i] = oxi_shunt_to_root(x[i], scale);
    }
}

static void oxi_shunt_from_f8(const uint16_t *scales, const uint8_t *x, int64_t blocks, float *out) {
    for (int64_t b = 0; b < blocks; b++, x += OXI_SHUNT_F8_BLOCK, out += OXI_SHUNT_F8_BLOCK)
        for (int i = 0; i < OXI_SHUNT_F8_BLOCK; i++)
            out[i] = oxi_shunt_from_root(x[i], oxi_bf16_to_f32(scales[b]));
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

/* Numbers of one dtype into another, both in memory of the host. */
static ox_status oxi_shunt_cast(const void *from, ox_dtype from_dtype, void *to, ox_dtype to_dtype,
                                int64_t count) {
    ox_storage storage[2];
    ox_tensor t[2], *in = &t[0];
    memset(storage, 0, sizeof storage);
    for (int i = 0; i < 2; i++) {
        oxi_meta(&t[i], i ? to_dtype : from_dtype, 1, &count);
        storage[i].references = t[i].references = 1;
        storage[i].device = ox_cpu();
        storage[i].data = i ? to : (void *)(uintptr_t)from;
        storage[i].bytes = ox_nbytes(&t[i]);
        storage[i].borrowed = true;
        t[i].storage = &storage[i];
    }
    oxi_call cast = oxi_call_of(OXI_OP_copy, &in, 1, &t[1]);
    cast.attr = oxi_attrs_dtype();
    return oxi_apply_quiet(&cast);
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

enum { OXI_SHUNT_PACKS = 1 << 16 }; /* numbers that are scaled at once: of whole blocks */

/* f32 into halves or blocks, times 2^shift. */
static ox_status oxi_shunt_to_scaled(const float *x, int64_t count, int shift, ox_dtype dtype, char *out) {
    const ox_dtype_info *info = oxi_info(dtype);
    int64_t most = oxi_min_i64(count, OXI_SHUNT_PACKS);
    float factor = ldexpf(1, shift), *scaled = (float *)oxi_alloc((size_t)most * sizeof *scaled);
    ox_status status = scaled ? OX_OK : OX_ERR_NOMEM;
    for (int64_t at = 0, some; at < count && status == OX_OK; at += some) {
        some = count - at < most ? count - at : most;
        for (int64_t i = 0; i < some; i++) scaled[i] = x[at + i] * factor;
        status = oxi_shunt_cast(scaled, OX_F32, out, dtype, some);
        out += (size_t)(some / info->block_elements) * (size_t)info->block_bytes;
    }
    oxi_free(scaled, (size_t)most * sizeof *scaled);
    return status;
}

static ox_status oxi_shunt_save_packed(ox_shunt *s, oxi_shunt_item *item, const void *data) {
    int64_t count = (int64_t)(item->bytes / sizeof(float)), blocks = count / OXI_SHUNT_F8_BLOCK;
    int compression = oxi_shunt_compression_of(s, count);
    int shift = compression == OX_COMPRESSION_F8 ? 0 : oxi_shunt_shift_of((const float *)data, count);
    size_t bytes = oxi_shunt_packed_bytes(compression, count);
    char *packed = (char *)oxi_alloc(bytes);
    ox_status status = packed ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK && compression == OX_COMPRESSION_F8)
        oxi_shunt_to_f8((const float *)data, blocks, (uint16_t *)(void *)packed,
                        (uint8_t *)packed + (size_t)blocks * sizeof(uint16_t));
    else if (status == OX_OK)
        status = oxi_shunt_to_scaled((const float *)data, count, shift, oxi_shunt_packed_dtype(compression),
                                     packed);
    if (status == OX_OK) status = oxi_shunt_put_copy(s, item, packed, bytes, 0, false);
    if (status == OX_OK) item->packed = (uint8_t)compression;
    if (status == OX_OK) item->packed_shift = (int16_t)shift;
    oxi_free(packed, bytes);
    return status;
}

static ox_status oxi_shunt_unpack(ox_shunt *s, const oxi_shunt_item *item, const void *packed, void *out) {
    int64_t count = (int64_t)(item->bytes / sizeof(float)), blocks = count / OXI_SHUNT_F8_BLOCK;
    (void)s;
    if (item->packed != OX_COMPRESSION_F8) {
        float factor = ldexpf(1, -item->packed_shift), *numbers = (float *)out;
        ox_status status = oxi_shunt_cast(packed, oxi_shunt_packed_dtype(item->packed), out, OX_F32, count);
        for (int64_t i = 0; i < count && status == OX_OK; i++) numbers[i] *= factor;
        return status;
    }
    oxi_shunt_from_f8((const uint16_t *)packed, (const uint8_t *)packed + (size_t)blocks * sizeof(uint16_t),
                      blocks, (float *)out);
    return OX_OK;
}
