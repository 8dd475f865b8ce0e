/* Compressed copies off the device: f32 numbers as f16, in blocks of 32 with a scale as e4m3, Q8_0 or
 * Q4_0. The
 * library's own casts do it where there is a dtype for it. Which items: by class, f32 alone, no small
 * ones. */

enum { OXI_SHUNT_BLOCK = 32 };

/* The numbers of a block over the largest that e4m3 holds. */
static void oxi_shunt_to_f8(const float *x, int64_t blocks, float *scales, uint8_t *out) {
    for (int64_t b = 0; b < blocks; b++) {
        const float *numbers = x + b * OXI_SHUNT_BLOCK;
        float most = 0;
        for (int i = 0; i < OXI_SHUNT_BLOCK; i++) {
            float size = fabsf(numbers[i]);
            if (size > most && size <= FLT_MAX) most = size;
        }
        scales[b] = most > 0 ? most / 448.0f : 1.0f;
        if (scales[b] == 0) scales[b] = FLT_MIN; /* numbers too small for a quotient */
        for (int i = 0; i < OXI_SHUNT_BLOCK; i++)
            out[b * OXI_SHUNT_BLOCK + i] = oxi_f32_to_f8_e4m3(numbers[i] / scales[b]);
    }
}

static void oxi_shunt_from_f8(const float *scales, const uint8_t *x, int64_t blocks, float *out) {
    for (int64_t i = 0; i < blocks * OXI_SHUNT_BLOCK; i++)
        out[i] = oxi_f8_e4m3_to_f32(x[i]) * scales[i / OXI_SHUNT_BLOCK];
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
        return (size_t)count + (size_t)(count / OXI_SHUNT_BLOCK) * sizeof(float);
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
    int64_t count = (int64_t)(item->bytes / sizeof(float)), blocks = count / OXI_SHUNT_BLOCK;
    int compression = oxi_shunt_compression_of(s, count);
    int shift = compression == OX_COMPRESSION_F8 ? 0 : oxi_shunt_shift_of((const float *)data, count);
    size_t bytes = oxi_shunt_packed_bytes(compression, count);
    char *packed = (char *)oxi_alloc(bytes);
    ox_status status = packed ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK && compression == OX_COMPRESSION_F8)
        oxi_shunt_to_f8((const float *)data, blocks, (float *)(void *)packed,
                        (uint8_t *)packed + (size_t)blocks * sizeof(float));
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
    int64_t count = (int64_t)(item->bytes / sizeof(float)), blocks = count / OXI_SHUNT_BLOCK;
    (void)s;
    if (item->packed != OX_COMPRESSION_F8) {
        float factor = ldexpf(1, -item->packed_shift), *numbers = (float *)out;
        ox_status status = oxi_shunt_cast(packed, oxi_shunt_packed_dtype(item->packed), out, OX_F32, count);
        for (int64_t i = 0; i < count && status == OX_OK; i++) numbers[i] *= factor;
        return status;
    }
    oxi_shunt_from_f8((const float *)packed, (const uint8_t *)packed + (size_t)blocks * sizeof(float), blocks,
                      (float *)out);
    return OX_OK;
}
