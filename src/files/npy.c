/* NumPy's .npy and .npz (numpy.lib.format; versions 1, 2 and 3), read and written. The header is a Python
 * dict literal, read by a small strict parser; .npz is a zip of .npy members, stored or deflated. Rows of
 * the table in files/file.c. */

#define OXI_NPY_HEADER_MOST 10000 /* NumPy's own limit for headers from strangers */
#define OXI_NPY_LEAD 12           /* enough to know the length of the header */

typedef struct oxi_npy_header {
    size_t bytes; /* of the header: the numbers start here */
    size_t number_bytes;
    ox_dtype dtype;
    bool swapped, fortran;
    int ndim;
    int64_t shape[OX_MAX_DIMS];
    size_t at;       /* byte at which words complain */
    char words[200]; /* what is wrong */
} oxi_npy_header;

static ox_status oxi_npy_fail(oxi_npy_header *header, ox_status status, size_t at, const char *format, ...)
    OXI_PRINTF(4, 5);
static ox_status oxi_npy_fail(oxi_npy_header *header, ox_status status, size_t at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(header->words, sizeof header->words, format, args);
    va_end(args);
    header->at = at;
    return status;
}

/* ---- the dict literal -------------------------------------------------------------------------------- */

typedef struct oxi_npy_text {
    const char *start, *p, *end;
    oxi_npy_header *header;
    size_t base;
} oxi_npy_text;

static ox_status oxi_npy_bad(oxi_npy_text *text, const char *cause) {
    return oxi_npy_fail(text->header, OX_ERR_FORMAT, text->base + (size_t)(text->p - text->start),
                        "npy header: %s", cause);
}

static void oxi_npy_blanks(oxi_npy_text *text) {
    while (text->p < text->end &&
           (*text->p == ' ' || *text->p == '\n' || *text->p == '\t' || *text->p == '\r'))
        text->p++;
}

/* Skips blanks; true when the next character is c, which is then skipped. */
static bool oxi_npy_skip(oxi_npy_text *text, char c) {
    oxi_npy_blanks(text);
    if (text->p >= text->end || *text->p != c) return false;
    text->p++;
    return true;
}

/* A quoted string without escapes into out[room]; false when there is none or it is too long. */
static bool oxi_npy_string(oxi_npy_text *text, char *out, size_t room) {
    char quote = 0;
    if (oxi_npy_skip(text, '\''))
        quote = '\'';
    else if (oxi_npy_skip(text, '"'))
        quote = '"';
    size_t used = 0;
    while (quote && text->p < text->end && *text->p != quote && *text->p != '\\' &&
           (unsigned char)*text->p >= 0x20 && used + 1 < room)
        out[used++] = *text->p++;
    out[used] = 0;
    return quote && text->p < text->end && *text->p++ == quote;
}

/* descr such as '<f4': which dtype, and whether its bytes are the other way round. */
static ox_status oxi_npy_descr(oxi_npy_text *text) {
    char descr[24];
    size_t at = text->base + (size_t)(text->p - text->start);
    if (oxi_npy_skip(text, '[') || oxi_npy_skip(text, '(') || oxi_npy_skip(text, '{'))
        return oxi_npy_fail(text->header, OX_ERR_UNSUPPORTED, at, "structured dtypes are not supported");
    if (!oxi_npy_string(text, descr, sizeof descr)) return oxi_npy_bad(text, "descr is no short string");
    char order = descr[0];
    if (descr[0] && descr[1] == 'O')
        return oxi_npy_fail(text->header, OX_ERR_UNSUPPORTED, at,
                            "dtype '%s' holds pickled Python objects, which are refused", descr);
    for (int d = 1; d < OX_DTYPE_COUNT; d++) {
        const ox_dtype_info *info = oxi_info((ox_dtype)d);
        if (!info->npy[0] || !order || strcmp(info->npy + 1, descr + 1) != 0) continue;
        bool single = info->block_bytes == 1;
        if (order != '<' && order != '>' && order != '=' && !(order == '|' && single)) break;
        text->header->dtype = (ox_dtype)d;
        text->header->swapped = !single && order != '=' && (order == '>') != oxi_big_endian_host();
        return OX_OK;
    }
    for (char *p = descr; *p; p++)
        if ((unsigned char)*p >= 0x7F) *p = '?';
    return oxi_npy_fail(text->header, OX_ERR_UNSUPPORTED, at, "dtype '%s' is not supported", descr);
}

static ox_status oxi_npy_order(oxi_npy_text *text) {
    bool is_true = false;
    oxi_npy_blanks(text);
    size_t left = (size_t)(text->end - text->p);
    if (left >= 4 && memcmp(text->p, "True", 4) == 0)
        is_true = true;
    else if (left < 5 || memcmp(text->p, "False", 5) != 0)
        return oxi_npy_bad(text, "fortran_order is neither True nor False");
    text->p += is_true ? 4 : 5;
    text->header->fortran = is_true;
    return OX_OK;
}

/* (), (3,), (3, 4), also with the L of Python 2's long integers. */
static ox_status oxi_npy_shape(oxi_npy_text *text) {
    oxi_npy_header *header = text->header;
    bool comma = true;
    if (!oxi_npy_skip(text, '(')) return oxi_npy_bad(text, "shape is no tuple");
    while (!oxi_npy_skip(text, ')')) {
        int64_t size = 0; /* blanks are skipped by now */
        const char *digits = text->p;
        if (!comma) return oxi_npy_bad(text, "shape: expected ',' or ')'");
        for (; text->p < text->end && oxi_is_digit(*text->p); text->p++)
            if (!oxi_mul_i64(size, 10, &size) || !oxi_add_i64(size, *text->p - '0', &size))
                return oxi_npy_bad(text, "shape: number is too large");
        if (text->p == digits) return oxi_npy_bad(text, "shape: expected a number that is not negative");
        if (text->p < text->end && *text->p == 'L') text->p++;
        comma = oxi_npy_skip(text, ',');
        if (header->ndim == OX_MAX_DIMS)
            return oxi_npy_fail(header, OX_ERR_UNSUPPORTED, text->base, "more than %d dims", OX_MAX_DIMS);
        header->shape[header->ndim++] = size;
    }
    if (header->ndim == 1 && !comma) return oxi_npy_bad(text, "shape is no tuple");
    return OX_OK;
}

static ox_status oxi_npy_dict(oxi_npy_text *text) {
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};
    bool seen[3] = {false, false, false}, comma = true;
    if (!oxi_npy_skip(text, '{')) return oxi_npy_bad(text, "no dict");
    while (!oxi_npy_skip(text, '}')) {
        char key[16];
        int which = 0;
        if (!comma) return oxi_npy_bad(text, "expected ',' or '}'");
        if (!oxi_npy_string(text, key, sizeof key)) return oxi_npy_bad(text, "expected a key in quotes");
        while (which < 3 && strcmp(key, keys[which]) != 0) which++;
        if (which == 3 || seen[which])
            return oxi_npy_bad(text, which == 3 ? "unknown key" : "key occurs twice");
        seen[which] = true;
        if (!oxi_npy_skip(text, ':')) return oxi_npy_bad(text, "expected ':'");
        ox_status status = which == 0   ? oxi_npy_descr(text)
                           : which == 1 ? oxi_npy_order(text)
                                        : oxi_npy_shape(text);
        if (status != OX_OK) return status;
        comma = oxi_npy_skip(text, ',');
    }
    if (!seen[0] || !seen[1] || !seen[2])
        return oxi_npy_bad(text, "descr, fortran_order or shape is missing");
    oxi_npy_blanks(text);
    return text->p == text->end ? OX_OK : oxi_npy_bad(text, "text after the dict");
}

/* ---- the header -------------------------------------------------------------------------------------- */

static bool oxi_npy_probe(const unsigned char *data, size_t bytes) {
    return bytes >= 6 && memcmp(data, "\x93NUMPY", 6) == 0;
}

/* Length of the whole header from the first bytes of a file of `total`. */
static ox_status oxi_npy_length(const unsigned char *data, size_t total, oxi_npy_header *header) {
    memset(header, 0, sizeof *header);
    if (!oxi_npy_probe(data, total)) return oxi_npy_fail(header, OX_ERR_FORMAT, 0, "no npy magic");
    if (total < 10 || (data[6] > 1 && total < OXI_NPY_LEAD))
        return oxi_npy_fail(header, OX_ERR_FORMAT, total, "npy header is cut short");
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return oxi_npy_fail(header, data[6] < 1 ? OX_ERR_FORMAT : OX_ERR_UNSUPPORTED, 6,
                            "npy version %d.%d is not known (1.0, 2.0 and 3.0 are)", data[6], data[7]);
    size_t lead = data[6] == 1 ? 10 : 12,
           length = data[6] == 1 ? oxi_read_u16(data + 8) : oxi_read_u32(data + 8);
    if (length > OXI_NPY_HEADER_MOST)
        return oxi_npy_fail(header, OX_ERR_FORMAT, 8, "npy header of %llu bytes (at most %d are read)",
                            (unsigned long long)length, OXI_NPY_HEADER_MOST);
    if (length > total - lead)
        return oxi_npy_fail(header, OX_ERR_FORMAT, total, "npy header of %llu bytes is cut short",
                            (unsigned long long)length);
    header->bytes = lead + length;
    return OX_OK;
}

/* Reads the header at `data` (header->bytes of it, from oxi_npy_length) of a file of `total` bytes. */
static ox_status oxi_npy_read_header(const unsigned char *data, size_t total, oxi_npy_header *header) {
    size_t lead = data[6] == 1 ? 10 : 12;
    oxi_npy_text text;
    text.start = text.p = (const char *)data + lead;
    text.end = (const char *)data + header->bytes;
    text.header = header;
    text.base = lead;
    ox_status status = oxi_npy_dict(&text);
    if (status != OX_OK) return status;
    oxi_file_item item;
    memset(&item, 0, sizeof item);
    if (!oxi_item_shape(&item, header->dtype, header->ndim, header->shape, &header->number_bytes))
        return oxi_npy_fail(header, OX_ERR_FORMAT, lead, "shape %s has more elements than memory can hold",
                            oxi_shape_text(header->ndim, header->shape));
    if (header->number_bytes == total - header->bytes) return OX_OK;
    return oxi_npy_fail(header, OX_ERR_FORMAT, header->bytes,
                        "%s%s has %llu bytes, but %llu follow the header", ox_dtype_name(header->dtype),
                        oxi_shape_text(header->ndim, header->shape), (unsigned long long)header->number_bytes,
                        (unsigned long long)(total - header->bytes));
}

/* Fills the item of an array whose header was read. */
static ox_status oxi_npy_item(ox_file *file, oxi_file_item *item, const oxi_npy_header *header) {
    int64_t *shape = (int64_t *)oxi_file_take(file, sizeof header->shape);
    if (!shape) return OX_ERR_NOMEM;
    memcpy(shape, header->shape, sizeof header->shape);
    (void)oxi_item_shape(item, header->dtype, header->ndim, shape, &item->bytes);
    item->offset = header->bytes;
    item->fortran = header->fortran;
    item->swapped = header->swapped;
    return OX_OK;
}

static ox_status oxi_npy_open(ox_file *file) {
    unsigned char data[OXI_NPY_HEADER_MOST + OXI_NPY_LEAD];
    const size_t bytes = file->parts[0].mapping.bytes;
    oxi_npy_header header;
    ox_status there = oxi_file_copy(file, 0, 0, data, bytes < OXI_NPY_LEAD ? bytes : OXI_NPY_LEAD);
    if (there != OX_OK) return there;
    ox_status status = oxi_npy_length(data, bytes, &header);
    if (status == OX_OK) { /* the lead is not read again: it may have changed */
        size_t more = header.bytes > OXI_NPY_LEAD ? header.bytes - OXI_NPY_LEAD : 0;
        there = oxi_file_copy(file, 0, OXI_NPY_LEAD, data + OXI_NPY_LEAD, more);
        if (there != OX_OK) return there;
        status = oxi_npy_read_header(data, bytes, &header);
    }
    if (status != OX_OK) return oxi_file_fail(status, file, 0, header.at, "%s", header.words);
    oxi_file_item *item = oxi_file_add_item(file);
    if (!item) return OX_ERR_NOMEM;
    item->name = "arr_0"; /* NumPy's name for an array without one */
    return oxi_npy_item(file, item, &header);
}

/* ---- .npz: reading ----------------------------------------------------------------------------------- */

static bool oxi_npz_probe(const unsigned char *data, size_t bytes) {
    return bytes >= 4 && data[0] == 'P' && data[1] == 'K' &&
           ((data[2] == 3 && data[3] == 4) || (data[2] == 5 && data[3] == 6));
}

/* The member as an array, left out when it is none. A header that is well-formed but cannot be loaded
 * gives an item that says why. */
static ox_status oxi_npz_member(ox_file *file, const oxi_zip *zip, size_t index) {
    const oxi_zip_member *member = &zip->members[index];
    unsigned char data[OXI_NPY_HEADER_MOST + OXI_NPY_LEAD];
    oxi_npy_header header;
    size_t lead = member->unpacked < OXI_NPY_LEAD ? member->unpacked : OXI_NPY_LEAD,
           length = (size_t)member->name.length;
    ox_status status = oxi_zip_read(file, member, data, lead);
    if (status != OX_OK) return status;
    if (!oxi_npy_probe(data, lead)) {
        oxi_log(OX_LOG_INFO, "%s: zip member %s is no array and left out", oxi_path_text(file->parts[0].path),
                oxi_quote(member->name.data, length).text);
        return OX_OK;
    }
    oxi_file_item *item = oxi_file_add_item(file);
    if (!item) return OX_ERR_NOMEM;
    if (length > 4 && memcmp(member->name.data + length - 4, ".npy", 4) == 0) length -= 4;
    char *name = (char *)oxi_file_take(file, length + 1);
    if (!name) return OX_ERR_NOMEM;
    memcpy(name, member->name.data, length);
    name[length] = 0;
    item->name = name;
    item->at = member->at;
    item->extra = (uint32_t)index;
    if (strlen(name) != length)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, member->at, "zip member name holds a zero byte");
    status = oxi_npy_length(data, member->unpacked, &header);
    if (status == OX_OK) {
        status = oxi_zip_read(file, member, data, header.bytes);
        if (status != OX_OK) return status;
        status = oxi_npy_read_header(data, member->unpacked, &header);
    }
    item->packed = member->method != 0;
    if (status == OX_OK) {
        status = oxi_npy_item(file, item, &header);
        if (!item->packed) item->offset += member->offset;
        return status;
    }
    if (status == OX_ERR_FORMAT)
        return oxi_file_fail(status, file, 0, member->offset, "array %s: %s", oxi_quote(name, length).text,
                             header.words);
    char *why = (char *)oxi_file_take(file, strlen(header.words) + 1);
    if (!why) return OX_ERR_NOMEM;
    strcpy(why, header.words);
    item->unsupported = why;
    item->bytes = member->unpacked;
    return OX_OK;
}

/* Says what the archive is, as far as its names tell. torch.save names its pickle NAME/data.pkl. */
static ox_status oxi_npz_without_arrays(const ox_file *file, const oxi_zip *zip) {
    static const char pickle[] = "data.pkl";
    const size_t length = sizeof pickle - 1;
    for (size_t i = 0; i < zip->count; i++) {
        const ox_string name = zip->members[i].name;
        if ((size_t)name.length < length) continue;
        const char *end = name.data + name.length - length;
        if (memcmp(end, pickle, length) == 0 && (end == name.data || end[-1] == '/'))
            return oxi_file_fail(
                OX_ERR_UNSUPPORTED, file, 0, SIZE_MAX,
                "a PyTorch file (torch.save): its pickle is a program, which is not run; save "
                "the tensors as safetensors");
    }
    return oxi_file_fail(OX_ERR_UNSUPPORTED, file, 0, SIZE_MAX,
                         "a zip archive, but none of its members is an npy array");
}

static ox_status oxi_npz_open(ox_file *file) {
    oxi_zip *zip = (oxi_zip *)oxi_calloc(1, sizeof *zip);
    if (!zip) return OX_ERR_NOMEM;
    file->state = zip;
    ox_status status = oxi_zip_open(file, zip);
    for (size_t i = 0; i < zip->count && status == OX_OK; i++) status = oxi_npz_member(file, zip, i);
    if (status == OX_OK && zip->count > 0 && file->item_count == 0)
        status = oxi_npz_without_arrays(file, zip);
    return status;
}

static void oxi_npz_close(ox_file *file) {
    if (!file->state) return;
    oxi_zip_close((oxi_zip *)file->state);
    oxi_free(file->state, sizeof(oxi_zip));
    file->state = NULL;
}

/* Stored members lie in the archive as they are. */
static ox_status oxi_npz_check(ox_file *file, const oxi_file_item *item) {
    return oxi_zip_check(file, &((const oxi_zip *)file->state)->members[item->extra]);
}

static ox_tensor *oxi_npz_load(ox_file *file, const oxi_file_item *item) {
    const oxi_zip_member *member = &((const oxi_zip *)file->state)->members[item->extra];
    size_t unit = oxi_swap_unit((ox_dtype)item->dtype);
    ox_storage *storage = oxi_storage_new(ox_cpu(), member->unpacked);
    if (!storage) return NULL;
    ox_tensor *t = NULL;
    char *numbers = (char *)storage->data;
    if (oxi_zip_read(file, member, numbers, member->unpacked) == OX_OK) {
        if (item->swapped)
            oxi_copy_swapped(numbers, numbers + item->offset, item->bytes, unit);
        else
            memmove(numbers, numbers + item->offset, item->bytes);
        t = oxi_item_over(file, item, storage);
    }
    oxi_storage_release(storage);
    return t;
}

static const oxi_format oxi_format_npy = {"npy", ".npy", oxi_npy_probe, oxi_npy_open, NULL, NULL, NULL};
static const oxi_format oxi_format_npz = {"npz",         ".npz",       oxi_npz_probe, oxi_npz_open,
                                          oxi_npz_check, oxi_npz_load, oxi_npz_close};

/* ---- writing ----------------------------------------------------------------------------------------- */

#define OXI_NPY_WRITTEN 320 /* room for any header that is written: 8 dims of 19 digits */

/* The header of t into out; its length is a multiple of 64, so that the numbers are aligned. 0 and an
 * error when NumPy has no such dtype. */
static size_t oxi_npy_write_header(const char *op, const ox_tensor *t, char *out) {
    const ox_dtype_info *info = oxi_info(t->dtype);
    if (!info->npy[0]) {
        (void)oxi_fail(OX_ERR_UNSUPPORTED,
                       "%s: NumPy has no %s; cast to another dtype first, or save as safetensors", op,
                       info->name);
        return 0;
    }
    memset(out, ' ', OXI_NPY_WRITTEN);
    int used = 10 + snprintf(out + 10, OXI_NPY_WRITTEN - 10,
                             "{'descr': '%s', 'fortran_order': False, 'shape': (", info->npy);
    for (int d = 0; d < t->ndim; d++)
        used += snprintf(out + used, (size_t)(OXI_NPY_WRITTEN - used),
                         d              ? ", %lld"
                         : t->ndim == 1 ? "%lld,"
                                        : "%lld",
                         (long long)t->shape[d]);
    used += snprintf(out + used, (size_t)(OXI_NPY_WRITTEN - used), "), }");
    out[used] = ' ';
    size_t bytes = ((size_t)used + 1 + 63) / 64 * 64;
    out[bytes - 1] = '\n';
    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (char)((bytes - 10) & 0xFF);
    out[9] = (char)((bytes - 10) >> 8);
    return bytes;
}

OX_API ox_status ox_save_npy(const char *path, ox_tensor *t) {
    char header[OXI_NPY_WRITTEN];
    ox_tensor *whole = oxi_writable("save_npy", t);
    if (!whole) return t ? ox_error() : OX_ERR_ARG;
    size_t bytes = oxi_npy_write_header("save_npy", whole, header);
    oxi_output output;
    ox_status status = bytes ? oxi_output_open(&output, "save_npy", path) : OX_ERR_UNSUPPORTED;
    if (status == OX_OK) {
        oxi_output_write(&output, header, bytes);
        oxi_output_tensor(&output, whole);
        (void)oxi_output_finish(&output);
        status = oxi_output_rename(&output);
    }
    ox_release(whole);
    return status;
}

/* From this size on, fields of 32 bits give way to zip64's. */
#ifndef OXI_ZIP_WIDE_FROM
#define OXI_ZIP_WIDE_FROM UINT32_MAX
#endif

typedef struct oxi_npz_entry {
    uint64_t at, bytes;
    uint32_t crc;
} oxi_npz_entry;

/* A record under construction: little-endian fields one after the other. */
typedef struct oxi_fields {
    unsigned char bytes[128];
    size_t used;
} oxi_fields;

static void oxi_field(oxi_fields *fields, uint64_t value, int bytes) {
    for (int i = 0; i < bytes; i++)
        fields->bytes[fields->used++] = (unsigned char)(i < 8 ? value >> (8 * i) : 0);
}

static uint32_t oxi_zip_narrow(uint64_t value) {
    return value >= OXI_ZIP_WIDE_FROM ? UINT32_MAX : (uint32_t)value;
}

/* The fields that local header and directory share, from "version needed" to the length of the name. */
static void oxi_zip_common_fields(oxi_fields *fields, const oxi_npz_entry *entry, const char *name,
                                  bool wide) {
    bool ascii = true;
    for (const char *p = name; *p; p++) ascii = ascii && (unsigned char)*p < 0x80;
    oxi_field(fields, wide ? 45 : 20, 2);
    oxi_field(fields, ascii ? 0 : 0x800, 2); /* names are UTF-8 */
    oxi_field(fields, 0, 2);                 /* stored */
    oxi_field(fields, 0x00210000, 4);        /* 1 January 1980: same tensors, same bytes */
    oxi_field(fields, entry->crc, 4);
    oxi_field(fields, oxi_zip_narrow(entry->bytes), 4);
    oxi_field(fields, oxi_zip_narrow(entry->bytes), 4);
    oxi_field(fields, strlen(name) + 4, 2);
}

static void oxi_crc_piece(void *user, const char *data, size_t bytes) {
    *(uint32_t *)user = oxi_crc32(*(uint32_t *)user, data, bytes);
}

static ox_status oxi_npz_write_member(oxi_output *output, const char *name, ox_tensor *t,
                                      oxi_npz_entry *entry) {
    char header[OXI_NPY_WRITTEN];
    ox_tensor *whole = oxi_writable("save_npz", t);
    if (!whole) return t ? ox_error() : OX_ERR_ARG;
    size_t bytes = oxi_npy_write_header("save_npz", whole, header);
    entry->crc = oxi_crc32(0, header, bytes);
    if (bytes && oxi_visit_numbers(whole, oxi_crc_piece, &entry->crc) != OX_OK) {
        ox_release(whole);
        return ox_error();
    }
    if (bytes) {
        entry->at = output->written;
        entry->bytes = bytes + (uint64_t)ox_nbytes(whole);
        bool wide = entry->bytes >= OXI_ZIP_WIDE_FROM;
        oxi_fields fields;
        fields.used = 0;
        oxi_field(&fields, 0x04034B50u, 4);
        oxi_zip_common_fields(&fields, entry, name, wide);
        /* Padding in an extra field, as torch.save has it, aligns the numbers: they can be mapped. */
        size_t before = fields.used + 2 + strlen(name) + 4 + (wide ? 20 : 0) + 4;
        size_t padding = (64 - (size_t)((output->written + before) % 64)) % 64;
        oxi_field(&fields, (wide ? 20 : 0) + 4 + padding, 2);
        oxi_output_write(output, fields.bytes, fields.used);
        oxi_output_write(output, name, strlen(name));
        oxi_output_write(output, ".npy", 4);
        fields.used = 0;
        if (wide) {
            oxi_field(&fields, 1, 2);
            oxi_field(&fields, 16, 2);
            oxi_field(&fields, entry->bytes, 8);
            oxi_field(&fields, entry->bytes, 8);
        }
        oxi_field(&fields, 0x4246, 2);
        oxi_field(&fields, padding, 2);
        oxi_output_write(output, fields.bytes, fields.used);
        oxi_output_fill(output, 'Z', padding);
        oxi_output_write(output, header, bytes);
        oxi_output_tensor(output, whole);
    }
    ox_release(whole);
    return bytes ? output->status : OX_ERR_UNSUPPORTED;
}

static void oxi_npz_write_entry(oxi_output *output, const char *name, const oxi_npz_entry *entry) {
    bool wide_bytes = entry->bytes >= OXI_ZIP_WIDE_FROM, wide_at = entry->at >= OXI_ZIP_WIDE_FROM;
    size_t extra = (wide_bytes ? 16 : 0) + (wide_at ? 8 : 0);
    oxi_fields fields;
    fields.used = 0;
    oxi_field(&fields, 0x02014B50u, 4);
    oxi_field(&fields, 45, 2);
    oxi_zip_common_fields(&fields, entry, name, extra > 0);
    oxi_field(&fields, extra ? extra + 4 : 0, 2);
    oxi_field(&fields, 0, 2 + 2 + 2 + 4); /* no comment, disk 0, attributes */
    oxi_field(&fields, oxi_zip_narrow(entry->at), 4);
    oxi_output_write(output, fields.bytes, fields.used);
    oxi_output_write(output, name, strlen(name));
    oxi_output_write(output, ".npy", 4);
    fields.used = 0;
    if (extra) {
        oxi_field(&fields, 1, 2);
        oxi_field(&fields, extra, 2);
        if (wide_bytes) oxi_field(&fields, entry->bytes, 8);
        if (wide_bytes) oxi_field(&fields, entry->bytes, 8);
        if (wide_at) oxi_field(&fields, entry->at, 8);
    }
    oxi_output_write(output, fields.bytes, fields.used);
}

/* End records for a directory of `bytes` that ends here. */
static void oxi_npz_write_end(oxi_output *output, uint64_t count, uint64_t start) {
    uint64_t end = output->written, bytes = end - start;
    oxi_fields fields;
    fields.used = 0;
    if (count >= UINT16_MAX || bytes >= OXI_ZIP_WIDE_FROM || start >= OXI_ZIP_WIDE_FROM) {
        oxi_field(&fields, 0x06064B50u, 4);
        oxi_field(&fields, 44, 8);
        oxi_field(&fields, 45, 2);
        oxi_field(&fields, 45, 2);
        oxi_field(&fields, 0, 4);
        oxi_field(&fields, 0, 4);
        oxi_field(&fields, count, 8);
        oxi_field(&fields, count, 8);
        oxi_field(&fields, bytes, 8);
        oxi_field(&fields, start, 8);
        oxi_field(&fields, 0x07064B50u, 4);
        oxi_field(&fields, 0, 4);
        oxi_field(&fields, end, 8);
        oxi_field(&fields, 1, 4);
    }
    uint64_t narrow = count >= UINT16_MAX ? UINT16_MAX : count;
    oxi_field(&fields, 0x06054B50u, 4);
    oxi_field(&fields, 0, 4);
    oxi_field(&fields, narrow, 2);
    oxi_field(&fields, narrow, 2);
    oxi_field(&fields, oxi_zip_narrow(bytes), 4);
    oxi_field(&fields, oxi_zip_narrow(start), 4);
    oxi_field(&fields, 0, 2);
    oxi_output_write(output, fields.bytes, fields.used);
}

OX_API ox_status ox_save_npz(const char *path, const char *const *names, ox_tensor *const *tensors,
                             int64_t count) {
    oxi_output output;
    ox_status status = oxi_check_names("save_npz", names, count);
    if (status != OX_OK) return status;
    if (count > 0 && !tensors) return oxi_fail(OX_ERR_ARG, "save_npz: no tensors");
    oxi_npz_entry *entries = (oxi_npz_entry *)oxi_calloc((size_t)count, sizeof *entries);
    if (!entries) return OX_ERR_NOMEM;
    status = oxi_output_open(&output, "save_npz", path);
    if (status == OX_OK) {
        for (int64_t i = 0; i < count && status == OX_OK; i++)
            status = oxi_npz_write_member(&output, names[i], tensors[i], &entries[i]);
        uint64_t start = output.written;
        for (int64_t i = 0; i < count && status == OX_OK; i++)
            oxi_npz_write_entry(&output, names[i], &entries[i]);
        if (status == OX_OK) {
            oxi_npz_write_end(&output, (uint64_t)count, start);
            (void)oxi_output_finish(&output);
            status = oxi_output_rename(&output);
        } else {
            oxi_output_drop(&output);
        }
    }
    oxi_free(entries, (size_t)count * sizeof *entries);
    return status;
}
