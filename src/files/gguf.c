/* GGUF, versions 2 and 3: key-value metadata, a directory of tensors, padded data. The checks are ggml's
 * and more: every count is held against the bytes that are left before anything is allocated. A row of
 * the table in files/file.c; source: ggml docs/gguf.md, ggml/src/gguf.cpp. */

#define OXI_GGUF_KEY_MOST 65535u /* the format's limit */
#define OXI_GGUF_NAME_MOST 1024u /* ggml's is 63, its forks use up to 255 */
#define OXI_GGUF_DIMS_MOST 4
#define OXI_GGUF_ALIGN_MOST (1u << 20)
#define OXI_GGUF_NEST_MOST 8 /* arrays in arrays */

/* Value types by their number in the file: name, bytes (0 = varies) and what they are to the user. */
typedef struct oxi_gguf_type {
    const char *name;
    int bytes;
    ox_file_meta_type type;
} oxi_gguf_type;
static const oxi_gguf_type oxi_gguf_types[] = {
    {"u8", 1, OX_FILE_META_UINT},     {"i8", 1, OX_FILE_META_INT},    {"u16", 2, OX_FILE_META_UINT},
    {"i16", 2, OX_FILE_META_INT},     {"u32", 4, OX_FILE_META_UINT},  {"i32", 4, OX_FILE_META_INT},
    {"f32", 4, OX_FILE_META_FLOAT},   {"bool", 1, OX_FILE_META_BOOL}, {"string", 0, OX_FILE_META_STRING},
    {"array", 0, OX_FILE_META_ARRAY}, {"u64", 8, OX_FILE_META_UINT},  {"i64", 8, OX_FILE_META_INT},
    {"f64", 8, OX_FILE_META_FLOAT},
};
enum {
    OXI_GGUF_TYPES = (int)(sizeof oxi_gguf_types / sizeof oxi_gguf_types[0]),
    OXI_GGUF_U32 = 4,
    OXI_GGUF_STRING = 8,
    OXI_GGUF_ARRAY = 9
};

/* ---- reading fields ---------------------------------------------------------------------------------- */

typedef struct oxi_gguf {
    ox_file *file;
    size_t bytes, at;
    const char *what; /* "tensor " */
    oxi_quoted where; /* "'x'": what is being read, for messages */
} oxi_gguf;

static size_t oxi_gguf_left(const oxi_gguf *g) { return g->bytes - g->at; }

/* Fails at byte `at` of the file, in what is being read. */
static ox_status oxi_gguf_bad(const oxi_gguf *g, size_t at, const char *format, ...) OXI_PRINTF(3, 4);
static ox_status oxi_gguf_bad(const oxi_gguf *g, size_t at, const char *format, ...) {
    char words[240];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    return oxi_file_fail(OX_ERR_FORMAT, g->file, 0, at, "%s%s: %s", g->what, g->where.text, words);
}

static ox_status oxi_gguf_short(const oxi_gguf *g, const char *field) {
    return oxi_gguf_bad(g, g->at, "file ends in its %s", field);
}

/* *out receives where the next `bytes` are, which are passed. Nothing is read twice: it may have changed. */
static ox_status oxi_gguf_take(oxi_gguf *g, size_t bytes, const char *field, const unsigned char **out) {
    if (oxi_gguf_left(g) < bytes) return oxi_gguf_short(g, field);
    ox_status status = oxi_file_window(g->file, 0, g->at, bytes, out);
    if (status == OX_OK) g->at += bytes;
    return status;
}

static ox_status oxi_gguf_u32(oxi_gguf *g, uint32_t *out, const char *field) {
    const unsigned char *p;
    ox_status status = oxi_gguf_take(g, 4, field, &p);
    if (status == OX_OK) *out = oxi_read_u32(p);
    return status;
}

static ox_status oxi_gguf_u64(oxi_gguf *g, uint64_t *out, const char *field) {
    const unsigned char *p;
    ox_status status = oxi_gguf_take(g, 8, field, &p);
    if (status == OX_OK) *out = oxi_read_u64(p);
    return status;
}

/* A length and that many bytes, which stay where they are. */
static ox_status oxi_gguf_string(oxi_gguf *g, const char **text, size_t *length, uint64_t most,
                                 const char *field) {
    uint64_t count = 0;
    size_t start = g->at;
    ox_status status = oxi_gguf_u64(g, &count, field);
    if (status != OX_OK) return status;
    if (count > most)
        return oxi_gguf_bad(g, start, "%s has length %llu (at most %llu)", field, (unsigned long long)count,
                            (unsigned long long)most);
    if (count > oxi_gguf_left(g))
        return oxi_gguf_bad(g, start, "%s has length %llu, but %llu bytes are left", field,
                            (unsigned long long)count, (unsigned long long)oxi_gguf_left(g));
    const unsigned char *p;
    status = oxi_gguf_take(g, (size_t)count, field, &p);
    if (status != OX_OK) return status;
    *text = (const char *)p;
    *length = (size_t)count;
    return OX_OK;
}

/* ---- metadata ---------------------------------------------------------------------------------------- */

static ox_status oxi_gguf_array(oxi_gguf *g, oxi_meta_array *out, int depth);

/* Walks `count` strings and notes where each is. */
static ox_status oxi_gguf_strings(oxi_gguf *g, oxi_meta_array *out) {
    ox_string *texts = (ox_string *)oxi_file_take(g->file, (size_t)out->count * sizeof *texts);
    if (!texts) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < out->count; i++) {
        size_t length;
        ox_status status = oxi_gguf_string(g, &texts[i].data, &length, UINT64_MAX, "array element");
        if (status != OX_OK) return status;
        texts[i].length = (int64_t)length;
    }
    out->texts = texts;
    return OX_OK;
}

static ox_status oxi_gguf_arrays(oxi_gguf *g, oxi_meta_array *out, int depth) {
    oxi_meta_array *inner = (oxi_meta_array *)oxi_file_take(g->file, (size_t)out->count * sizeof *inner);
    if (!inner) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < out->count; i++) {
        ox_status status = oxi_gguf_array(g, &inner[i], depth + 1);
        if (status != OX_OK) return status;
    }
    out->inner = inner;
    return OX_OK;
}

/* An array: type of the elements, count, elements. Each takes bytes of the file, which bounds the count. */
static ox_status oxi_gguf_array(oxi_gguf *g, oxi_meta_array *out, int depth) {
    uint32_t type = 0;
    uint64_t count = 0;
    size_t start = g->at;
    ox_status status = oxi_gguf_u32(g, &type, "array type");
    if (status == OX_OK) status = oxi_gguf_u64(g, &count, "array length");
    if (status != OX_OK) return status;
    if (type >= OXI_GGUF_TYPES)
        return oxi_gguf_bad(g, start, "array type is %u (0 to %d exist)", (unsigned)type, OXI_GGUF_TYPES - 1);
    if (depth >= OXI_GGUF_NEST_MOST)
        return oxi_gguf_bad(g, start, "arrays nested deeper than %d", OXI_GGUF_NEST_MOST);
    size_t least = type == OXI_GGUF_STRING  ? 8
                   : type == OXI_GGUF_ARRAY ? 12
                                            : (size_t)oxi_gguf_types[type].bytes;
    if (count > oxi_gguf_left(g) / least)
        return oxi_gguf_bad(g, start + 4, "array of %llu elements of type %s, but %llu bytes are left",
                            (unsigned long long)count, oxi_gguf_types[type].name,
                            (unsigned long long)oxi_gguf_left(g));
    memset(out, 0, sizeof *out);
    out->count = (int64_t)count;
    out->type = (int)type;
    if (type == OXI_GGUF_STRING) return oxi_gguf_strings(g, out);
    if (type == OXI_GGUF_ARRAY) return oxi_gguf_arrays(g, out, depth);
    return oxi_gguf_take(g, (size_t)count * least, "array", &out->data);
}

/* A number of type `type` at p. */
static void oxi_gguf_number(const unsigned char *p, int type, ox_file_meta *out) {
    uint32_t word = oxi_gguf_types[type].bytes == 4 ? oxi_read_u32(p) : 0;
    uint64_t wide = oxi_gguf_types[type].bytes == 8 ? oxi_read_u64(p) : 0;
    float narrow = 0;
    out->type = oxi_gguf_types[type].type;
    switch (type) {
    case 0: out->i = p[0]; break;
    case 1: out->i = (int8_t)p[0]; break;
    case 2: out->i = oxi_read_u16(p); break;
    case 3: out->i = (int16_t)oxi_read_u16(p); break;
    case 4: out->i = word; break;
    case 5: out->i = (int32_t)word; break;
    case 6:
        memcpy(&narrow, &word, 4);
        out->f = (double)narrow;
        return;
    case 7: out->i = p[0] != 0; break;
    case 10:
        out->i = (int64_t)wide;
        out->f = (double)wide;
        return;
    case 11: out->i = (int64_t)wide; break;
    default: memcpy(&out->f, &wide, 8); return;
    }
    out->f = (double)out->i;
}

/* *read_type receives its type as the file has it. */
static ox_status oxi_gguf_value(oxi_gguf *g, oxi_meta_item *meta, uint32_t *read_type) {
    uint32_t type = 0;
    size_t start = g->at;
    ox_status status = oxi_gguf_u32(g, &type, "value type");
    *read_type = type;
    if (status != OX_OK) return status;
    if (type >= OXI_GGUF_TYPES)
        return oxi_gguf_bad(g, start, "value type is %u (0 to %d exist)", (unsigned)type, OXI_GGUF_TYPES - 1);
    meta->type = (uint16_t)oxi_gguf_types[type].type;
    meta->stored = (uint16_t)type;
    if (type == OXI_GGUF_STRING) {
        const char *text;
        size_t length;
        status = oxi_gguf_string(g, &text, &length, UINT64_MAX, "string");
        if (status != OX_OK) return status;
        meta->data = text;
        meta->value.i = (int64_t)length;
        return OX_OK;
    }
    if (type == OXI_GGUF_ARRAY) {
        oxi_meta_array *array = (oxi_meta_array *)oxi_file_take(g->file, sizeof *array);
        if (!array) return OX_ERR_NOMEM;
        meta->data = array;
        return oxi_gguf_array(g, array, 0);
    }
    ox_file_meta number;
    const unsigned char *p;
    status = oxi_gguf_take(g, (size_t)oxi_gguf_types[type].bytes, "value", &p);
    if (status != OX_OK) return status;
    memset(&number, 0, sizeof number);
    oxi_gguf_number(p, (int)type, &number);
    if (number.type == OX_FILE_META_FLOAT)
        meta->value.f = number.f;
    else
        meta->value.i = number.i;
    return OX_OK;
}

static ox_status oxi_gguf_pair(oxi_gguf *g, uint64_t index, uint32_t *align) {
    size_t start = g->at, length;
    uint32_t type = 0;
    const char *key;
    g->what = "metadata key ";
    snprintf(g->where.text, sizeof g->where.text, "%llu", (unsigned long long)index);
    ox_status status = oxi_gguf_string(g, &key, &length, OXI_GGUF_KEY_MOST, "name");
    if (status != OX_OK) return status;
    if (length == 0) return oxi_gguf_bad(g, start, "its name is empty");
    if (memchr(key, 0, length)) return oxi_gguf_bad(g, start, "its name holds a zero byte");
    g->where = oxi_quote(key, length);
    oxi_meta_item *meta = oxi_file_add_meta(g->file);
    if (!meta) return OX_ERR_NOMEM;
    meta->key = key;
    meta->key_length = (uint32_t)length;
    start = g->at;
    status = oxi_gguf_value(g, meta, &type);
    if (status != OX_OK || oxi_compare_text(key, length, "general.alignment", 17) != 0) return status;
    if (type != OXI_GGUF_U32)
        return oxi_gguf_bad(g, start, "is of type %s (must be u32)", oxi_gguf_types[type].name);
    int64_t value = meta->value.i;
    if (value < 1 || value > OXI_GGUF_ALIGN_MOST || (value & (value - 1)))
        return oxi_gguf_bad(g, start + 4, "is %lld (must be a power of 2, at most 2^20)", (long long)value);
    *align = (uint32_t)value;
    return OX_OK;
}

/* ---- tensors ----------------------------------------------------------------------------------------- */

static ox_dtype oxi_gguf_dtype(uint32_t id) {
    for (int d = 1; d < OX_DTYPE_COUNT; d++)
        if (oxi_info((ox_dtype)d)->gguf_id == (int)id && id < 1000) return (ox_dtype)d;
    return OX_DTYPE_NONE;
}

/* Types that once had a number, for a message that helps. */
static const char *oxi_gguf_gone(uint32_t id) {
    static const struct {
        uint32_t id;
        const char *name;
    } gone[] = {{4, "Q4_2, removed from ggml"},
                {5, "Q4_3, removed from ggml"},
                {31, "Q4_0_4_4, a repacked type removed from ggml"},
                {32, "Q4_0_4_8, a repacked type removed from ggml"},
                {33, "Q4_0_8_8, a repacked type removed from ggml"},
                {36, "IQ4_NL_4_4, a repacked type removed from ggml"},
                {37, "IQ4_NL_4_8, a repacked type removed from ggml"},
                {38, "IQ4_NL_8_8, a repacked type removed from ggml"}};
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        if (gone[i].id == id) return gone[i].name;
    return "no known type";
}

/* Dims, fastest first in the file, last in a shape. */
static ox_status oxi_gguf_shape(oxi_gguf *g, int64_t *shape, int *ndim) {
    uint32_t count = 0;
    size_t start = g->at;
    ox_status status = oxi_gguf_u32(g, &count, "number of dimensions");
    if (status != OX_OK) return status;
    if (count > OXI_GGUF_DIMS_MOST)
        return oxi_gguf_bad(g, start, "%u dimensions (at most %d)", (unsigned)count, OXI_GGUF_DIMS_MOST);
    for (uint32_t d = 0; d < count; d++) {
        uint64_t size = 0;
        start = g->at;
        status = oxi_gguf_u64(g, &size, "dimensions");
        if (status != OX_OK) return status;
        if (size > INT64_MAX)
            return oxi_gguf_bad(g, start, "dimension %u is 0x%llx", (unsigned)d, (unsigned long long)size);
        shape[count - 1 - d] = (int64_t)size;
    }
    *ndim = (int)count;
    return OX_OK;
}

/* An entry of the directory; *sum is where its data must start, in the data region. */
/* The tensor before the last one, if it has no elements; else NULL. */
static const oxi_file_item *oxi_gguf_empty_before(const oxi_gguf *g) {
    const oxi_file_item *before = g->file->item_count > 1 ? &g->file->items[g->file->item_count - 2] : NULL;
    return before && before->bytes == 0 ? before : NULL;
}

static ox_status oxi_gguf_tensor(oxi_gguf *g, uint64_t index, uint32_t align, uint64_t *sum) {
    size_t start = g->at, length, bytes;
    const char *text;
    int ndim = 0;
    uint32_t type = 0;
    uint64_t offset = 0;
    g->what = "tensor ";
    snprintf(g->where.text, sizeof g->where.text, "%llu", (unsigned long long)index);
    ox_status status = oxi_gguf_string(g, &text, &length, OXI_GGUF_NAME_MOST, "name");
    if (status != OX_OK) return status;
    oxi_file_item *item = oxi_file_add_item(g->file);
    char *name = (char *)oxi_file_take(g->file, length + 1);
    int64_t *shape = (int64_t *)oxi_file_take(g->file, OXI_GGUF_DIMS_MOST * sizeof *shape);
    if (!item || !name || !shape) return OX_ERR_NOMEM;
    memcpy(name, text, length);
    name[length] = 0;
    item->name = name;
    item->at = start;
    g->where = oxi_quote(text, length);
    if (length == 0 || strlen(name) != length)
        return oxi_gguf_bad(g, start, "its name %s", length ? "holds a zero byte" : "is empty");
    status = oxi_gguf_shape(g, shape, &ndim);
    if (status == OX_OK) status = oxi_gguf_u32(g, &type, "type");
    if (status == OX_OK) status = oxi_gguf_u64(g, &offset, "offset");
    if (status != OX_OK) return status;
    ox_dtype dtype = oxi_gguf_dtype(type);
    if (dtype == OX_DTYPE_NONE)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, g->file, 0, g->at - 12, "tensor %s: type %u is %s",
                             g->where.text, (unsigned)type, oxi_gguf_gone(type));
    int64_t row = ndim ? shape[ndim - 1] : 1;
    if (row % oxi_info(dtype)->block_elements)
        return oxi_gguf_bad(g, start, "rows of %lld elements are not whole %s blocks of %d", (long long)row,
                            ox_dtype_name(dtype), oxi_info(dtype)->block_elements);
    if (!oxi_item_shape(item, dtype, ndim, shape, &bytes))
        return oxi_gguf_bad(g, start, "%s%s has more bytes than 63 bits can count", ox_dtype_name(dtype),
                            oxi_shape_text(ndim, shape));
    if (offset != *sum && oxi_gguf_empty_before(g))
        return oxi_gguf_bad(g, g->at - 8,
                            "offset is %llu, but its data must start at %llu: tensor %s before it has a dim "
                            "of size 0",
                            (unsigned long long)offset, (unsigned long long)*sum,
                            OXI_QUOTE(oxi_gguf_empty_before(g)->name));
    if (offset != *sum)
        return oxi_gguf_bad(g, g->at - 8, "offset is %llu, but its data must start at %llu",
                            (unsigned long long)offset, (unsigned long long)*sum);
    item->bytes = bytes;
    item->swapped = oxi_big_endian_host();
    if (bytes > g->bytes || (bytes > 0 && offset > g->bytes)) /* this keeps the sum from overflowing, too */
        return oxi_gguf_bad(g, start, "%llu bytes of data at offset %llu in a file of %llu",
                            (unsigned long long)bytes, (unsigned long long)offset,
                            (unsigned long long)g->bytes);
    item->offset = (size_t)offset;
    *sum += ((uint64_t)bytes + align - 1) / align * align;
    return OX_OK;
}

/* Places the tensors behind the directory, which ends at g->at. */
static ox_status oxi_gguf_place(oxi_gguf *g, uint32_t align) {
    size_t data = g->at + (align - g->at % align) % align;
    for (size_t i = 0; i < g->file->item_count; i++) {
        oxi_file_item *item = &g->file->items[i];
        if (item->bytes > 0 && (data > g->bytes || item->offset > g->bytes - data ||
                                item->bytes > g->bytes - data - item->offset))
            return oxi_file_fail(OX_ERR_FORMAT, g->file, 0, item->at,
                                 "tensor %s: its %llu bytes of data start at %llu, but the file ends at %llu",
                                 OXI_QUOTE(item->name), (unsigned long long)item->bytes,
                                 (unsigned long long)data + item->offset, (unsigned long long)g->bytes);
        if (item->bytes > 0)
            item->offset += data;
        else
            item->offset = 0;
    }
    return OX_OK;
}

/* ---- the file ---------------------------------------------------------------------------------------- */

static bool oxi_gguf_probe(const unsigned char *data, size_t bytes) {
    return bytes >= 4 && memcmp(data, "GGUF", 4) == 0;
}

static ox_status oxi_gguf_version(oxi_gguf *g) {
    uint32_t version = 0;
    const unsigned char *magic;
    if (g->bytes < 4) return oxi_gguf_bad(g, 0, "no GGUF magic");
    ox_status status = oxi_gguf_take(g, 4, "magic", &magic);
    if (status == OX_OK && !oxi_gguf_probe(magic, 4)) return oxi_gguf_bad(g, 0, "no GGUF magic");
    if (status == OX_OK) status = oxi_gguf_u32(g, &version, "version");
    if (status != OX_OK) return status;
    if (version == 2 || version == 3) return OX_OK;
    if (version != 0 && (version & 0xFFFF) == 0)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, g->file, 0, 4,
                             "GGUF version is 0x%08x: a big-endian file; convert it to little-endian",
                             (unsigned)version);
    return oxi_file_fail(version ? OX_ERR_UNSUPPORTED : OX_ERR_FORMAT, g->file, 0, 4,
                         "GGUF version %u is not known (2 and 3 are)", (unsigned)version);
}

/* Counts, held against the least bytes that a pair (key, type, value) and a tensor (name, dims, type,
 * offset) take. */
static ox_status oxi_gguf_counts(oxi_gguf *g, uint64_t *tensors, uint64_t *pairs) {
    ox_status status = oxi_gguf_u64(g, tensors, "tensor count");
    if (status == OX_OK) status = oxi_gguf_u64(g, pairs, "metadata count");
    if (status != OX_OK) return status;
    size_t left = oxi_gguf_left(g);
    if (*tensors > left / 25)
        return oxi_gguf_bad(g, 8, "%llu tensors in the %llu bytes that are left",
                            (unsigned long long)*tensors, (unsigned long long)left);
    if (*pairs > left / 14)
        return oxi_gguf_bad(g, 16, "%llu metadata pairs in the %llu bytes that are left",
                            (unsigned long long)*pairs, (unsigned long long)left);
    return OX_OK;
}

static ox_status oxi_gguf_open(ox_file *file) {
    oxi_gguf g;
    uint64_t tensors = 0, pairs = 0, sum = 0;
    uint32_t align = 32;
    memset(&g, 0, sizeof g);
    g.file = file;
    g.bytes = file->parts[0].mapping.bytes;
    g.what = "header";
    ox_status status = oxi_gguf_version(&g);
    if (status == OX_OK) status = oxi_gguf_counts(&g, &tensors, &pairs);
    for (uint64_t i = 0; i < pairs && status == OX_OK; i++) status = oxi_gguf_pair(&g, i, &align);
    for (uint64_t i = 0; i < tensors && status == OX_OK; i++) status = oxi_gguf_tensor(&g, i, align, &sum);
    return status == OX_OK ? oxi_gguf_place(&g, align) : status;
}

static const oxi_format oxi_format_gguf = {"gguf", ".gguf", oxi_gguf_probe, oxi_gguf_open, NULL, NULL, NULL};
