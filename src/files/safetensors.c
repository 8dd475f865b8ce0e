/* safetensors, single and sharded: 8 bytes of header length, a JSON header, then the numbers without a
 * gap. Everything that the reference reader refuses is refused: holes, overlaps, sizes that do not fit,
 * repeated names. Rows of the table in files/file.c; source: safetensors/src/tensor.rs. */

#define OXI_SAFETENSORS_HEADER_MOST 100000000u

/* The dtypes of the format in its own order (writers put later ones first), with bits an element. Those
 * without an ox_dtype can be listed, not loaded. */
typedef struct oxi_safetensors_dtype {
    const char *name;
    int bits;
    ox_dtype dtype;
} oxi_safetensors_dtype;
static const oxi_safetensors_dtype oxi_safetensors_dtypes[] = {
    {"BOOL", 8, OX_BOOL},
    {"F4", 4, OX_DTYPE_NONE},
    {"F6_E2M3", 6, OX_DTYPE_NONE},
    {"F6_E3M2", 6, OX_DTYPE_NONE},
    {"U8", 8, OX_U8},
    {"I8", 8, OX_I8},
    {"F8_E5M2", 8, OX_F8_E5M2},
    {"F8_E4M3", 8, OX_F8_E4M3},
    {"F8_E8M0", 8, OX_DTYPE_NONE},
    {"F8_E4M3FNUZ", 8, OX_DTYPE_NONE},
    {"F8_E5M2FNUZ", 8, OX_DTYPE_NONE},
    {"I16", 16, OX_I16},
    {"U16", 16, OX_U16},
    {"F16", 16, OX_F16},
    {"BF16", 16, OX_BF16},
    {"I32", 32, OX_I32},
    {"U32", 32, OX_U32},
    {"F32", 32, OX_F32},
    {"C64", 64, OX_C64},
    {"F64", 64, OX_F64},
    {"I64", 64, OX_I64},
    {"U64", 64, OX_U64},
};
enum { OXI_SAFETENSORS_DTYPES = (int)(sizeof oxi_safetensors_dtypes / sizeof oxi_safetensors_dtypes[0]) };

/* ---- the header -------------------------------------------------------------------------------------- */

/* A header being read: bytes 8 to 8 + json.length of a part. */
typedef struct oxi_header {
    ox_file *file;
    size_t part;
    size_t start; /* of the text in the part */
    oxi_json_reader json;
} oxi_header;

static ox_status oxi_header_fail(const oxi_header *header, const char *name, const char *cause) {
    const oxi_json_reader *json = &header->json;
    size_t at = header->start + json->start;
    if (json->error)
        return oxi_file_fail(OX_ERR_FORMAT, header->file, header->part, at, "JSON: %s", json->error);
    if (!name) return oxi_file_fail(OX_ERR_FORMAT, header->file, header->part, at, "%s", cause);
    return oxi_file_fail(OX_ERR_FORMAT, header->file, header->part, at, "tensor %s: %s", OXI_QUOTE(name),
                         cause);
}

/* The token's string in the file's arena, ending with a 0. */
static char *oxi_header_text(oxi_header *header, size_t *length) {
    char *text = (char *)oxi_file_take(header->file, header->json.raw_length + 1);
    if (!text) return NULL;
    *length = oxi_json_decode(&header->json, text);
    text[*length] = 0;
    return text;
}

static ox_status oxi_header_metadata(oxi_header *header) {
    if (oxi_json_next(&header->json) != OXI_JSON_OBJECT)
        return oxi_header_fail(header, NULL, "__metadata__ is no object");
    for (;;) {
        oxi_json_type type = oxi_json_next(&header->json);
        size_t key_length, length;
        if (type == OXI_JSON_OBJECT_END) return OX_OK;
        if (type != OXI_JSON_KEY) return oxi_header_fail(header, NULL, "__metadata__: expected a key");
        char *key = oxi_header_text(header, &key_length);
        if (!key) return OX_ERR_NOMEM;
        if (oxi_json_next(&header->json) != OXI_JSON_STRING)
            return oxi_header_fail(header, NULL, "__metadata__: value is no string");
        char *text = oxi_header_text(header, &length);
        oxi_meta_item *meta = text ? oxi_file_add_meta(header->file) : NULL;
        if (!meta) return OX_ERR_NOMEM;
        meta->key = key;
        meta->key_length = (uint32_t)key_length;
        meta->type = OX_FILE_META_STRING;
        meta->data = text;
        meta->value.i = (int64_t)length;
    }
}

/* A list of integers >= 0 into out[most]; *count says how many there were, also beyond most; *product
 * (NULL = not wanted) is theirs. NULL or what is wrong. */
static const char *oxi_header_numbers(oxi_header *header, int64_t *out, int most, int *count,
                                      int64_t *product) {
    *count = 0;
    if (product) *product = 1;
    if (oxi_json_next(&header->json) != OXI_JSON_ARRAY) return "is no list";
    for (;;) {
        oxi_json_type type = oxi_json_next(&header->json);
        if (type == OXI_JSON_ARRAY_END) return NULL;
        if (type != OXI_JSON_INT || header->json.i < 0)
            return "holds something other than integers from 0 to 2^63";
        if (*count < most) out[*count] = header->json.i;
        if (*count < INT32_MAX) ++*count;
        if (product && !oxi_mul_i64(*product, header->json.i, product)) return "has a product that overflows";
    }
}

/* What an entry says. */
typedef struct oxi_entry {
    const oxi_safetensors_dtype *row; /* NULL = dtype not seen */
    int64_t shape[OX_MAX_DIMS], offsets[2], elements;
    int ndim;    /* -1 = shape not seen */
    bool placed; /* data_offsets seen */
} oxi_entry;

static ox_status oxi_header_dtype(oxi_header *header, const char *name, oxi_entry *entry) {
    if (oxi_json_next(&header->json) != OXI_JSON_STRING)
        return oxi_header_fail(header, name, "dtype is no string");
    for (int i = 0; i < OXI_SAFETENSORS_DTYPES; i++)
        if (oxi_json_is(&header->json, oxi_safetensors_dtypes[i].name))
            entry->row = &oxi_safetensors_dtypes[i];
    if (entry->row) return OX_OK;
    return oxi_file_fail(OX_ERR_FORMAT, header->file, header->part, header->start + header->json.start,
                         "tensor %s: dtype %s is not known", OXI_QUOTE(name),
                         oxi_quote(header->json.raw, header->json.raw_length).text);
}

/* One member of an entry; its key is the current token. */
static ox_status oxi_header_field(oxi_header *header, const char *name, oxi_entry *entry) {
    char words[96];
    const char *field = NULL, *cause;
    int count = 0;
    if (oxi_json_is(&header->json, "dtype")) {
        if (entry->row) return oxi_header_fail(header, name, "dtype occurs twice");
        return oxi_header_dtype(header, name, entry);
    }
    if (oxi_json_is(&header->json, "shape")) {
        field = "shape";
        if (entry->ndim >= 0) return oxi_header_fail(header, name, "shape occurs twice");
        cause = oxi_header_numbers(header, entry->shape, OX_MAX_DIMS, &entry->ndim, &entry->elements);
    } else if (oxi_json_is(&header->json, "data_offsets")) {
        field = "data_offsets";
        if (entry->placed) return oxi_header_fail(header, name, "data_offsets occurs twice");
        entry->placed = true;
        cause = oxi_header_numbers(header, entry->offsets, 2, &count, NULL);
        if (!cause && count != 2) cause = "is not a pair";
    } else {
        oxi_json_type type = oxi_json_next(&header->json);
        bool list = type == OXI_JSON_ARRAY || type == OXI_JSON_OBJECT;
        if (type == OXI_JSON_ERROR || (list && !oxi_json_skip(&header->json)))
            return oxi_header_fail(header, name, "bad JSON");
        return OX_OK;
    }
    if (!cause) return OX_OK;
    snprintf(words, sizeof words, "%s %s", field, cause);
    return oxi_header_fail(header, name, words);
}

/* Makes an item of what an entry says; offsets are still relative to the data, which has `room` bytes. */
static ox_status oxi_header_item(oxi_header *header, const char *name, size_t at, const oxi_entry *entry,
                                 size_t room) {
    ox_file *file = header->file;
    oxi_quoted quoted = oxi_quote(name, strlen(name));
    int64_t bits = 0, begin = entry->offsets[0], end = entry->offsets[1];
    if (!entry->row || entry->ndim < 0 || !entry->placed)
        return oxi_file_fail(OX_ERR_FORMAT, file, header->part, at, "tensor %s: %s is missing", quoted.text,
                             !entry->row       ? "dtype"
                             : entry->ndim < 0 ? "shape"
                                               : "data_offsets");
    if (begin > end)
        return oxi_file_fail(OX_ERR_FORMAT, file, header->part, at,
                             "tensor %s: data_offsets [%lld,%lld] run backwards", quoted.text,
                             (long long)begin, (long long)end);
    if ((uint64_t)end > room)
        return oxi_file_fail(OX_ERR_FORMAT, file, header->part, at,
                             "tensor %s: data_offsets [%lld,%lld] reach beyond the %llu bytes of data",
                             quoted.text, (long long)begin, (long long)end, (unsigned long long)room);
    if (!oxi_mul_i64(entry->elements, entry->row->bits, &bits) || bits % 8 != 0 || bits / 8 != end - begin)
        return oxi_file_fail(OX_ERR_FORMAT, file, header->part, at,
                             "tensor %s: %lld elements of %s are not the %lld bytes of data_offsets",
                             quoted.text, (long long)entry->elements, entry->row->name,
                             (long long)(end - begin));
    oxi_file_item *item = oxi_file_add_item(file);
    int64_t *shape = (int64_t *)oxi_file_take(file, sizeof entry->shape);
    size_t bytes = 0;
    if (!item || !shape) return OX_ERR_NOMEM;
    memcpy(shape, entry->shape, sizeof entry->shape);
    item->name = name;
    item->at = at;
    item->part = (uint32_t)header->part;
    item->offset = (size_t)begin;
    item->bytes = (size_t)(end - begin);
    item->swapped = oxi_big_endian_host();
    if (entry->ndim > OX_MAX_DIMS || entry->row->dtype == OX_DTYPE_NONE) {
        char *why = (char *)oxi_file_take(file, 64);
        if (!why) return OX_ERR_NOMEM;
        if (entry->ndim > OX_MAX_DIMS)
            snprintf(why, 64, "it has %d dims (at most %d)", entry->ndim, OX_MAX_DIMS);
        else
            snprintf(why, 64, "dtype %s is not supported", entry->row->name);
        item->unsupported = why;
    } else if (!oxi_item_shape(item, entry->row->dtype, entry->ndim, shape, &bytes))
        return oxi_file_fail(OX_ERR_FORMAT, file, header->part, at,
                             "tensor %s: shape %s has more elements than memory can hold", quoted.text,
                             oxi_shape_text(entry->ndim, shape));
    return OX_OK;
}

/* One member of the header's object; its key is the current token. */
static ox_status oxi_header_entry(oxi_header *header, size_t room) {
    oxi_entry entry;
    size_t length, at = header->start + header->json.start;
    if (oxi_json_is(&header->json, "__metadata__")) return oxi_header_metadata(header);
    char *name = oxi_header_text(header, &length);
    if (!name) return OX_ERR_NOMEM;
    if (strlen(name) != length) return oxi_header_fail(header, name, "its name holds a zero byte");
    memset(&entry, 0, sizeof entry);
    entry.ndim = -1;
    if (oxi_json_next(&header->json) != OXI_JSON_OBJECT) return oxi_header_fail(header, name, "is no object");
    for (;;) {
        oxi_json_type type = oxi_json_next(&header->json);
        if (type == OXI_JSON_OBJECT_END) return oxi_header_item(header, name, at, &entry, room);
        if (type != OXI_JSON_KEY) return oxi_header_fail(header, name, "expected a key");
        ox_status status = oxi_header_field(header, name, &entry);
        if (status != OX_OK) return status;
    }
}

static int oxi_compare_places(const void *user, uint32_t a, uint32_t b) {
    const oxi_file_item *x = (const oxi_file_item *)user + a, *y = (const oxi_file_item *)user + b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* Puts the items of one part into the order of their data. */
static ox_status oxi_header_sort(oxi_file_item *items, size_t count) {
    bool sorted = true;
    for (size_t i = 1; i < count; i++)
        sorted = sorted && oxi_compare_places(items, (uint32_t)(i - 1), (uint32_t)i) <= 0;
    if (sorted) return OX_OK;
    uint32_t *order = (uint32_t *)oxi_calloc(count, 2 * sizeof *order);
    oxi_file_item *moved = (oxi_file_item *)oxi_calloc(count, sizeof *moved);
    bool made = order && moved;
    if (made) {
        oxi_sort_indexes(order, order + count, (uint32_t)count, oxi_compare_places, items);
        for (size_t i = 0; i < count; i++) moved[i] = items[order[i]];
        memcpy(items, moved, count * sizeof *moved);
    }
    oxi_free(order, count * 2 * sizeof *order);
    oxi_free(moved, count * sizeof *moved);
    return made ? OX_OK : OX_ERR_NOMEM;
}

/* The data must be covered without holes, overlaps or a rest. data = where it starts, room = its bytes. */
static ox_status oxi_header_place(oxi_header *header, size_t first, size_t data, size_t room) {
    ox_file *file = header->file;
    size_t end = 0, count = file->item_count - first;
    if (count > UINT32_MAX / 2)
        return oxi_file_fail(OX_ERR_FORMAT, file, header->part, SIZE_MAX, "more than 2^31 tensors");
    oxi_file_item *items = count ? file->items + first : NULL;
    ox_status status = count ? oxi_header_sort(items, count) : OX_OK;
    if (status != OX_OK) return status;
    for (size_t i = 0; i < count; i++) {
        oxi_file_item *item = &items[i];
        if (item->offset != end)
            return oxi_file_fail(OX_ERR_FORMAT, file, header->part, item->at,
                                 "tensor %s: data starts at %llu, %s the one before it at %llu",
                                 OXI_QUOTE(item->name), (unsigned long long)item->offset,
                                 item->offset < end ? "inside" : "behind a hole after",
                                 (unsigned long long)end);
        end += item->bytes;
        item->offset += data;
    }
    if (end != room)
        return oxi_file_fail(OX_ERR_FORMAT, file, header->part, data + end,
                             "%llu bytes follow the last tensor", (unsigned long long)(room - end));
    return OX_OK;
}

/* A copy of a part's bytes from `at` on, to be parsed: a file may change while it is open. */
static ox_status oxi_header_copy(oxi_header *header, size_t at, size_t length, char **text) {
    *text = (char *)oxi_alloc(length);
    if (!*text) return OX_ERR_NOMEM;
    ox_status status = oxi_file_copy(header->file, header->part, at, *text, length);
    header->start = at;
    oxi_json_start(&header->json, *text, length);
    return status;
}

/* Reads the header's text, and adds the tensors that it names, whose data have `room` bytes. */
static ox_status oxi_safetensors_parse(oxi_header *header, size_t room) {
    if (oxi_json_next(&header->json) != OXI_JSON_OBJECT || header->json.start > 0) {
        header->json.error = NULL;
        header->json.start = 0;
        return oxi_header_fail(header, NULL, "header does not start with '{'");
    }
    for (;;) {
        oxi_json_type type = oxi_json_next(&header->json);
        if (type == OXI_JSON_OBJECT_END) break;
        if (type != OXI_JSON_KEY) return oxi_header_fail(header, NULL, "expected a key");
        ox_status status = oxi_header_entry(header, room);
        if (status != OX_OK) return status;
    }
    if (oxi_json_next(&header->json) != OXI_JSON_END)
        return oxi_header_fail(header, NULL, "text after the header");
    return OX_OK;
}

/* Reads the header of one part and adds its tensors. */
static ox_status oxi_safetensors_read(ox_file *file, size_t part) {
    const oxi_mapping *map = &file->parts[part].mapping;
    size_t first = file->item_count;
    unsigned char lead[8];
    if (map->bytes < 8)
        return oxi_file_fail(OX_ERR_FORMAT, file, part, map->bytes, "safetensors header is cut short");
    ox_status status = oxi_file_copy(file, part, 0, lead, sizeof lead);
    if (status != OX_OK) return status;
    uint64_t length = oxi_read_u64(lead);
    if (length > OXI_SAFETENSORS_HEADER_MOST)
        return oxi_file_fail(OX_ERR_FORMAT, file, part, 0, "header length is %llu (at most %u)",
                             (unsigned long long)length, OXI_SAFETENSORS_HEADER_MOST);
    if (length > map->bytes - 8)
        return oxi_file_fail(OX_ERR_FORMAT, file, part, 0,
                             "header length is %llu, but the file ends after %llu bytes",
                             (unsigned long long)length, (unsigned long long)map->bytes);
    size_t data = 8 + (size_t)length, room = map->bytes - data;
    oxi_header header;
    char *text;
    header.file = file;
    header.part = part;
    status = oxi_header_copy(&header, 8, (size_t)length, &text);
    if (status == OX_OK) status = oxi_safetensors_parse(&header, room);
    oxi_free(text, (size_t)length);
    return status == OX_OK ? oxi_header_place(&header, first, data, room) : status;
}

static bool oxi_safetensors_probe(const unsigned char *data, size_t bytes) {
    return bytes >= 9 && data[8] == '{';
}
static ox_status oxi_safetensors_open(ox_file *file) { return oxi_safetensors_read(file, 0); }
static const oxi_format oxi_format_safetensors = {
    "safetensors", ".safetensors", oxi_safetensors_probe, oxi_safetensors_open, NULL, NULL, NULL};

/* ---- shards ------------------------------------------------------------------------------------------ */

/* A line of weight_map: which shard holds a tensor. */
typedef struct oxi_shard_line {
    const char *name, *shard;
    size_t at;
    uint32_t part;
    bool found;
} oxi_shard_line;
typedef struct oxi_shard_map {
    oxi_shard_line *lines;
    size_t count, room;
    uint32_t *order, *scratch; /* count each, one block */
} oxi_shard_map;

static int oxi_compare_shards(const void *user, uint32_t a, uint32_t b) {
    const oxi_shard_line *lines = (const oxi_shard_line *)user;
    return strcmp(lines[a].shard, lines[b].shard);
}

static int oxi_compare_lines(const void *user, uint32_t a, uint32_t b) {
    const oxi_shard_line *lines = (const oxi_shard_line *)user;
    return strcmp(lines[a].name, lines[b].name);
}

/* "weight_map": {"tensor": "file", ...}. A file is a bare name, so that an index cannot point out of its
 * folder. */
static ox_status oxi_shards_weight_map(oxi_header *header, oxi_shard_map *map) {
    if (oxi_json_next(&header->json) != OXI_JSON_OBJECT)
        return oxi_header_fail(header, NULL, "weight_map is no object");
    for (;;) {
        oxi_json_type type = oxi_json_next(&header->json);
        size_t name_length, shard_length, at = header->json.start;
        if (type == OXI_JSON_OBJECT_END) return OX_OK;
        if (type != OXI_JSON_KEY) return oxi_header_fail(header, NULL, "weight_map: expected a key");
        char *name = oxi_header_text(header, &name_length);
        if (!name) return OX_ERR_NOMEM;
        if (oxi_json_next(&header->json) != OXI_JSON_STRING)
            return oxi_header_fail(header, name, "its shard is no string");
        char *shard = oxi_header_text(header, &shard_length);
        if (!shard) return OX_ERR_NOMEM;
        if (strlen(name) != name_length) return oxi_header_fail(header, name, "its name holds a zero byte");
        if (!shard[0] || strlen(shard) != shard_length || strpbrk(shard, "/\\:") || strcmp(shard, ".") == 0 ||
            strcmp(shard, "..") == 0)
            return oxi_header_fail(header, name, "its shard is no plain file name");
        void *grown = oxi_grow(map->lines, &map->room, map->count + 1, sizeof *map->lines, false);
        if (!grown) return OX_ERR_NOMEM;
        map->lines = (oxi_shard_line *)grown;
        oxi_shard_line *line = &map->lines[map->count++];
        memset(line, 0, sizeof *line);
        line->name = name;
        line->shard = shard;
        line->at = at;
    }
}

/* "metadata": {...}: plain values become metadata of the file. */
static ox_status oxi_shards_metadata(oxi_header *header) {
    if (oxi_json_next(&header->json) != OXI_JSON_OBJECT)
        return oxi_header_fail(header, NULL, "metadata is no object");
    for (;;) {
        oxi_json_type type = oxi_json_next(&header->json);
        size_t key_length, length = 0;
        if (type == OXI_JSON_OBJECT_END) return OX_OK;
        if (type != OXI_JSON_KEY) return oxi_header_fail(header, NULL, "metadata: expected a key");
        char *key = oxi_header_text(header, &key_length), *text = NULL;
        if (!key) return OX_ERR_NOMEM;
        type = oxi_json_next(&header->json);
        if (type == OXI_JSON_ERROR) return oxi_header_fail(header, NULL, "bad JSON");
        if (type == OXI_JSON_ARRAY || type == OXI_JSON_OBJECT) {
            if (!oxi_json_skip(&header->json)) return oxi_header_fail(header, NULL, "bad JSON");
            continue;
        }
        if (type == OXI_JSON_NULL) continue;
        if (type == OXI_JSON_STRING && !(text = oxi_header_text(header, &length))) return OX_ERR_NOMEM;
        oxi_meta_item *meta = oxi_file_add_meta(header->file);
        if (!meta) return OX_ERR_NOMEM;
        meta->key = key;
        meta->key_length = (uint32_t)key_length;
        meta->data = text;
        meta->type = type == OXI_JSON_STRING ? OX_FILE_META_STRING
                     : type == OXI_JSON_BOOL ? OX_FILE_META_BOOL
                     : type == OXI_JSON_INT  ? OX_FILE_META_INT
                                             : OX_FILE_META_FLOAT;
        if (type == OXI_JSON_FLOAT)
            meta->value.f = header->json.f;
        else
            meta->value.i = type == OXI_JSON_STRING ? (int64_t)length : header->json.i;
    }
}

/* Reads an index's text. */
static ox_status oxi_shards_parse(oxi_header *header, oxi_shard_map *map) {
    bool seen = false;
    if (oxi_json_next(&header->json) != OXI_JSON_OBJECT)
        return oxi_header_fail(header, NULL, "index is no object");
    for (;;) {
        oxi_json_type type = oxi_json_next(&header->json);
        ox_status status = OX_OK;
        if (type == OXI_JSON_OBJECT_END) break;
        if (type != OXI_JSON_KEY) return oxi_header_fail(header, NULL, "expected a key");
        if (oxi_json_is(&header->json, "weight_map")) {
            if (seen) return oxi_header_fail(header, NULL, "weight_map occurs twice");
            seen = true;
            status = oxi_shards_weight_map(header, map);
        } else if (oxi_json_is(&header->json, "metadata")) {
            status = oxi_shards_metadata(header);
        } else {
            type = oxi_json_next(&header->json);
            bool list = type == OXI_JSON_ARRAY || type == OXI_JSON_OBJECT;
            if (type == OXI_JSON_ERROR || (list && !oxi_json_skip(&header->json)))
                return oxi_header_fail(header, NULL, "bad JSON");
        }
        if (status != OX_OK) return status;
    }
    if (oxi_json_next(&header->json) != OXI_JSON_END)
        return oxi_header_fail(header, NULL, "text after the index");
    return seen ? OX_OK
                : oxi_file_fail(OX_ERR_FORMAT, header->file, 0, SIZE_MAX,
                                "a JSON file without a weight_map: no index of safetensors shards");
}

static ox_status oxi_shards_index(ox_file *file, oxi_shard_map *map) {
    oxi_header header;
    char *text;
    size_t length = file->parts[0].mapping.bytes;
    header.file = file;
    header.part = 0;
    if (length > OXI_SAFETENSORS_HEADER_MOST)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "an index of %llu bytes (at most %u are read)",
                             (unsigned long long)length, OXI_SAFETENSORS_HEADER_MOST);
    ox_status status = oxi_header_copy(&header, 0, length, &text);
    if (status == OX_OK) status = oxi_shards_parse(&header, map);
    oxi_free(text, length);
    return status;
}

/* Maps the shard and reads its header. */
static ox_status oxi_shards_open_one(ox_file *file, const char *shard) {
    const char *index = file->parts[0].path;
    size_t folder = oxi_folder_length(index), bytes = folder + strlen(shard) + 1;
    char *path = (char *)oxi_alloc(bytes);
    if (!path) return OX_ERR_NOMEM;
    memcpy(path, index, folder);
    strcpy(path + folder, shard);
    ox_status status = oxi_file_map_part(file, path);
    oxi_free(path, bytes);
    return status == OX_OK ? oxi_safetensors_read(file, file->part_count - 1) : status;
}

/* Opens each shard once, in the order of their names. */
static ox_status oxi_shards_open_all(ox_file *file, oxi_shard_map *map) {
    oxi_sort_indexes(map->order, map->scratch, (uint32_t)map->count, oxi_compare_shards, map->lines);
    for (size_t i = 0; i < map->count; i++) {
        oxi_shard_line *line = &map->lines[map->order[i]],
                       *before = i ? &map->lines[map->order[i - 1]] : NULL;
        if (!before || strcmp(before->shard, line->shard) != 0) {
            ox_status status = oxi_shards_open_one(file, line->shard);
            if (status != OX_OK) return status;
        }
        line->part = (uint32_t)(file->part_count - 1);
    }
    return OX_OK;
}

/* Keeps the tensors that weight_map names, each from the shard it names, and misses none. */
static ox_status oxi_shards_select(ox_file *file, oxi_shard_map *map) {
    size_t kept = 0;
    oxi_sort_indexes(map->order, map->scratch, (uint32_t)map->count, oxi_compare_lines, map->lines);
    for (size_t i = 1; i < map->count; i++) {
        const oxi_shard_line *line = &map->lines[map->order[i]];
        if (oxi_compare_lines(map->lines, map->order[i - 1], map->order[i]) == 0)
            return oxi_file_fail(OX_ERR_FORMAT, file, 0, line->at, "weight_map names tensor %s twice",
                                 OXI_QUOTE(line->name));
    }
    for (size_t i = 0; i < file->item_count; i++) {
        oxi_file_item *item = &file->items[i];
        oxi_shard_line *line = NULL;
        for (size_t low = 0, high = map->count; low < high && !line;) {
            size_t middle = low + (high - low) / 2;
            int order = strcmp(map->lines[map->order[middle]].name, item->name);
            if (order == 0)
                line = &map->lines[map->order[middle]];
            else if (order < 0)
                low = middle + 1;
            else
                high = middle;
        }
        if (line && line->part == item->part) {
            if (line->found)
                return oxi_file_fail(OX_ERR_FORMAT, file, item->part, item->at, "tensor name %s occurs twice",
                                     OXI_QUOTE(item->name));
            line->found = true;
            file->items[kept++] = *item;
        } else {
            oxi_log(OX_LOG_INFO, "%s: tensor %s is left out: weight_map does not place it here",
                    oxi_path_text(file->parts[item->part].path), OXI_QUOTE(item->name));
        }
    }
    file->item_count = kept;
    for (size_t i = 0; i < map->count; i++) {
        const oxi_shard_line *line = &map->lines[i];
        if (!line->found)
            return oxi_file_fail(OX_ERR_FORMAT, file, 0, line->at, "tensor %s is not in its shard %s",
                                 OXI_QUOTE(line->name), OXI_QUOTE(line->shard));
    }
    return OX_OK;
}

/* Shards repeat their metadata: the first value of a key stands. */
static ox_status oxi_shards_merge_metadata(ox_file *file) {
    size_t count = file->meta_count, kept = 0;
    if (count < 2) return OX_OK;
    uint32_t *order = (uint32_t *)oxi_calloc(count, 2 * sizeof *order);
    if (!order) return OX_ERR_NOMEM;
    oxi_sort_indexes(order, order + count, (uint32_t)count, oxi_compare_metas, file);
    for (size_t i = 1, leader = 0; i < count; i++) {
        if (oxi_compare_metas(file, order[leader], order[i]) == 0)
            file->metas[order[i]].type = OX_FILE_META_NONE;
        else
            leader = i;
    }
    for (size_t i = 0; i < count; i++)
        if (file->metas[i].type != OX_FILE_META_NONE) file->metas[kept++] = file->metas[i];
    file->meta_count = kept;
    oxi_free(order, count * 2 * sizeof *order);
    return OX_OK;
}

static ox_status oxi_shards_open(ox_file *file) {
    oxi_shard_map map;
    memset(&map, 0, sizeof map);
    ox_status status = oxi_shards_index(file, &map);
    size_t order_bytes = 0;
    if (status == OX_OK && file->parts[0].borrowed)
        status = oxi_file_fail(OX_ERR_UNSUPPORTED, file, 0, SIZE_MAX,
                               "an index of shards must be opened by its path");
    if (status == OX_OK && map.count > UINT32_MAX / 2)
        status = oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "more than 2^31 tensors");
    if (status == OX_OK) {
        order_bytes = map.count * 2 * sizeof *map.order;
        map.order = (uint32_t *)oxi_alloc(order_bytes);
        if (map.order)
            map.scratch = map.order + map.count;
        else
            status = OX_ERR_NOMEM;
    }
    if (status == OX_OK) status = oxi_shards_open_all(file, &map);
    if (status == OX_OK) status = oxi_shards_select(file, &map);
    if (status == OX_OK) status = oxi_shards_merge_metadata(file);
    oxi_free(map.order, order_bytes);
    oxi_free(map.lines, map.room * sizeof *map.lines);
    return status;
}

/* JSON text: no zero bytes, which the high half of a header length has. */
static bool oxi_shards_probe(const unsigned char *data, size_t bytes) {
    size_t at = 0;
    if (bytes < 8 || memchr(data, 0, 8)) return false;
    while (at < bytes && at < 8 &&
           (data[at] == ' ' || data[at] == '\n' || data[at] == '\r' || data[at] == '\t'))
        at++;
    return at < 8 && data[at] == '{';
}

static const oxi_format oxi_format_shards = {"safetensors", ".json", oxi_shards_probe, oxi_shards_open, NULL,
                                             NULL,          NULL};
