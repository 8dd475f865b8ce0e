/* The dtype table's look-ups and promotion.
 * Everything is a column of OX_DTYPE_LIST; promotion follows torch.promote_types by class, then by width. */

static const ox_dtype_info oxi_dtypes[OX_DTYPE_COUNT] = {{"none", 1, 0, OX_CLASS_NONE, -1, "", ""},
#define OXI_X(name, id, text, elements, bytes, cls, gguf, safetensors, npy) \
    {text, elements, bytes, cls, gguf, safetensors, npy},
                                                         OX_DTYPE_LIST(OXI_X)
#undef OXI_X
};

#define OXI_X(name, id, text, elements, bytes, cls, gguf, safetensors, npy) \
    typedef char oxi_check_id_##name[(name) == (id) ? 1 : -1];
OX_DTYPE_LIST(OXI_X)
#undef OXI_X

OXI_SMALL const ox_dtype_info *oxi_info(ox_dtype dtype) {
    return &oxi_dtypes[(int)dtype > 0 && dtype < OX_DTYPE_COUNT ? (int)dtype : 0];
}
OX_API const ox_dtype_info *ox_dtype_get_info(ox_dtype dtype) {
    return oxi_info(dtype);
}

OX_API const char *ox_dtype_name(ox_dtype dtype) {
    return oxi_info(dtype)->name;
}

OX_API ox_dtype ox_dtype_by_name(const char *name) {
    for (int d = 1; name && d < OX_DTYPE_COUNT; d++)
        if (strcmp(oxi_dtypes[d].name, name) == 0) return (ox_dtype)d;
    return OX_DTYPE_NONE;
}

OXI_SMALL bool oxi_is_float(ox_dtype dtype) {
    return oxi_info(dtype)->cls == OX_CLASS_FLOAT;
}
OXI_SMALL bool oxi_is_int(ox_dtype dtype) {
    return oxi_info(dtype)->cls == OX_CLASS_INT;
}
OXI_SMALL bool oxi_is_block(ox_dtype dtype) {
    return oxi_info(dtype)->cls == OX_CLASS_BLOCK;
}
static bool oxi_is_f8(ox_dtype dtype) {
    return dtype == OX_F8_E4M3 || dtype == OX_F8_E5M2;
}

/* torch joins u16, u32 and u64 with floats only. */
static bool oxi_is_wide_unsigned(ox_dtype dtype) {
    return dtype == OX_U16 || dtype == OX_U32 || dtype == OX_U64;
}
static bool oxi_is_unsigned(ox_dtype dtype) {
    return dtype == OX_U8 || oxi_is_wide_unsigned(dtype);
}

/* Two different integer types: the wider signed one; u8 needs one more bit than itself. */
static ox_dtype oxi_promote_ints(ox_dtype a, ox_dtype b) {
    int widest = oxi_info(a)->block_bytes, other = oxi_info(b)->block_bytes;
    if (widest < other) widest = other;
    if (widest == 1) return OX_I16;
    return widest == 2 ? OX_I16 : widest == 4 ? OX_I32 : OX_I64;
}

OX_API ox_dtype ox_promote_types(ox_dtype a, ox_dtype b) {
    ox_dtype_class ca = oxi_info(a)->cls, cb = oxi_info(b)->cls;
    if (ca == OX_CLASS_NONE || cb == OX_CLASS_NONE || ca == OX_CLASS_BLOCK || cb == OX_CLASS_BLOCK)
        return OX_DTYPE_NONE;
    if (a == b) return a;
    if (oxi_is_f8(a) || oxi_is_f8(b)) return OX_DTYPE_NONE;
    if (oxi_is_wide_unsigned(a)) return cb == OX_CLASS_FLOAT ? b : OX_DTYPE_NONE;
    if (oxi_is_wide_unsigned(b)) return ca == OX_CLASS_FLOAT ? a : OX_DTYPE_NONE;
    if (ca == OX_CLASS_COMPLEX || cb == OX_CLASS_COMPLEX)
        return a == OX_F64 || b == OX_F64 ? OX_DTYPE_NONE : OX_C64;
    if (ca != cb) return ca > cb ? a : b;
    if (ca == OX_CLASS_INT) return oxi_promote_ints(a, b);
    return a == OX_F64 || b == OX_F64 ? OX_F64 : OX_F32; /* two different floats */
}
