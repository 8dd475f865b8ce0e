/* Tensors as text, by the rules of torch/_tensor_str.py.
 * The numbers to show are gathered once, a format is chosen for all of them, then the brackets are written.
 * ox_format reads any device; nothing above this room is needed but the expansion of block types. */

enum { OXI_PRINT_THRESHOLD = 1000, OXI_PRINT_EDGE = 3, OXI_PRINT_LINE = 80, OXI_PRINT_SPAN = 1 << 20 };

/* Text of known room; counts on when it is full. */
typedef struct oxi_writer {
    char *out;
    size_t room, length;
    size_t line_start;
} oxi_writer;

/* A number to show: integer for bool and integers (u64: its bits), else real and imag. */
typedef struct oxi_print_value {
    double real, imag;
    int64_t integer;
} oxi_print_value;

typedef struct oxi_print_format {
    bool whole, scientific;          /* "1." instead of "1.0000"; "1.0000e+00" */
    int width;
} oxi_print_format;

typedef struct oxi_printer {
    const ox_tensor *t;
    ox_dtype_class cls;                    /* BLOCK prints as FLOAT */
    bool summarize;
    int64_t shown[OX_MAX_DIMS];      /* indices of each dim that are printed */
    int64_t count;                   /* of values */
    oxi_print_value *values;         /* [shown[0], shown[1], ..] */
    oxi_print_format real, imag;
    int64_t cursor;                  /* next value to write */
    char *span;                      /* other devices: a copy of the bytes, if they are few */
    size_t span_start, span_bytes;
    float *block;                    /* block types: the last block that was expanded */
    size_t block_at;
} oxi_printer;

/* ---- writing ------------------------------------------------------------------------------------------- */

static void oxi_write(oxi_writer *w, const char *text) {
    for (; *text; text++) {
        if (w->length + 1 < w->room) w->out[w->length] = *text;
        w->length++;
        if (*text == '\n') w->line_start = w->length;
    }
}

static void oxi_write_spaces(oxi_writer *w, int64_t count) {
    for (; count > 0; count--) oxi_write(w, " ");
}

/* A number as Python writes it: no sign on NaN, a point in any locale, two digits of exponent if they do. */
static void oxi_write_float(oxi_writer *w, const oxi_print_format *format, double x, bool left, int *length) {
    char text[400];
    if (isnan(x)) {
        strcpy(text, "nan");
    } else if (isinf(x)) {
        strcpy(text, x < 0 ? "-inf" : "inf");
    } else if (format->scientific) {
        snprintf(text, sizeof text, "%.4e", x);
        char *digits = strchr(text, 'e') + 2;
        if (digits[0] == '0' && strlen(digits) > 2) memmove(digits, digits + 1, strlen(digits));
    } else {
        snprintf(text, sizeof text, format->whole ? "%.0f." : "%.4f", x);
    }
    for (char *c = text; *c; c++) {
        if (*c == ',') *c = '.';
    }
    *length = (int)strlen(text);
    if (!w) return;
    if (!left) oxi_write_spaces(w, format->width - *length);
    oxi_write(w, text);
}

static void oxi_write_integer(oxi_writer *w, const oxi_printer *p, int64_t x, int *length) {
    char text[32];
    if (p->cls == OX_CLASS_BOOL) {
        strcpy(text, x ? "True" : "False");
    } else if (p->t->dtype == OX_U64) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)(uint64_t)x);
    } else {
        snprintf(text, sizeof text, "%lld", (long long)x);
    }
    *length = (int)strlen(text);
    if (!w) return;
    oxi_write_spaces(w, p->real.width - *length);
    oxi_write(w, text);
}

static void oxi_write_value(oxi_writer *w, oxi_printer *p) {
    const oxi_print_value *v = &p->values[p->cursor++];
    int length;
    if (p->cls == OX_CLASS_BOOL || p->cls == OX_CLASS_INT) {
        oxi_write_integer(w, p, v->integer, &length);
        return;
    }
    oxi_write_float(w, &p->real, v->real, false, &length);
    if (p->cls != OX_CLASS_COMPLEX) return;
    if (isnan(v->imag) || !signbit(v->imag)) oxi_write(w, "+");
    oxi_write_float(w, &p->imag, v->imag, true, &length);
    oxi_write(w, "j");
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* Bytes of the storage from `at` on, into out. */
static ox_status oxi_print_read(const oxi_printer *p, size_t at, void *out, size_t bytes) {
    ox_storage *storage = p->t->storage;
    if (at > storage->bytes || bytes > storage->bytes - at) {
        return oxi_fail(OX_ERR_INDEX, "print: the tensor reaches beyond its storage");
    }
    if (storage->device->host) {
        memcpy(out, (const char *)oxi_storage_data(storage) + at, bytes);
        return OX_OK;
    }
    size_t in_span = at - p->span_start;
    if (p->span && at >= p->span_start && bytes <= p->span_bytes && in_span <= p->span_bytes - bytes) {
        memcpy(out, p->span + in_span, bytes);
        return OX_OK;
    }
    return storage->device->read(storage->device, storage->data, at, out, bytes);
}

/* Another device's bytes at once, if they are few: one wait instead of one a number. */
static ox_status oxi_print_read_span(oxi_printer *p) {
    const ox_tensor *t = p->t;
    const ox_dtype_info *info = oxi_info(t->dtype);
    if (t->storage->device->host) return OX_OK;
    int64_t low = t->offset, high = t->offset;
    for (int d = 0; d < t->ndim; d++) {
        int64_t reach = (t->shape[d] - 1) * t->stride[d];
        if (reach < 0) low += reach;
        if (reach > 0) high += reach;
    }
    int64_t blocks = high / info->block_elements - low / info->block_elements + 1;
    if (low < 0 || blocks > OXI_PRINT_SPAN / info->block_bytes) return OX_OK;
    size_t start = (size_t)(low / info->block_elements) * (size_t)info->block_bytes;
    size_t bytes = (size_t)blocks * (size_t)info->block_bytes;
    char *span = (char *)oxi_alloc(bytes);
    if (!span) return OX_ERR_NOMEM;
    ox_status status = oxi_print_read(p, start, span, bytes);
    p->span = span;
    p->span_start = start;
    p->span_bytes = bytes;
    return status;
}

static ox_status oxi_print_read_block(oxi_printer *p, int64_t element, oxi_print_value *out) {
    const ox_dtype_info *info = oxi_info(p->t->dtype);
    size_t at = (size_t)(element / info->block_elements) * (size_t)info->block_bytes;
    char bytes[512];
    if (at != p->block_at) {
        ox_status status = oxi_print_read(p, at, bytes, (size_t)info->block_bytes);
        if (status != OX_OK) return status;
        status = ox_cpu()->expand(p->t->dtype, info->block_elements, bytes, p->block);
        if (status != OX_OK) return status;
        p->block_at = at;
    }
    out->real = (double)p->block[element % info->block_elements];
    return OX_OK;
}

static ox_status oxi_print_read_value(oxi_printer *p, int64_t element, oxi_print_value *out) {
    char bytes[8];
    memset(out, 0, sizeof *out);
    if (oxi_is_block(p->t->dtype)) return oxi_print_read_block(p, element, out);
    size_t size = (size_t)oxi_info(p->t->dtype)->block_bytes;
    ox_status status = oxi_print_read(p, (size_t)element * size, bytes, size);
    if (status != OX_OK) return status;
    if (p->cls == OX_CLASS_BOOL || p->cls == OX_CLASS_INT) {
        out->integer = oxi_element_to_i64(p->t->dtype, bytes);
    } else {
        out->real = oxi_element_to_f64(p->t->dtype, bytes);
        if (p->cls == OX_CLASS_COMPLEX) out->imag = oxi_element_to_f64(OX_F32, bytes + 4);
    }
    return OX_OK;
}

/* The index in dim d of its `place`-th shown element. */
static int64_t oxi_print_index(const oxi_printer *p, int d, int64_t place) {
    bool cut = p->shown[d] < p->t->shape[d];
    return cut && place >= OXI_PRINT_EDGE ? p->t->shape[d] - p->shown[d] + place : place;
}

static ox_status oxi_print_gather(oxi_printer *p) {
    const ox_tensor *t = p->t;
    for (int64_t i = 0; i < p->count; i++) {
        int64_t rest = i, element = t->offset;
        for (int d = t->ndim - 1; d >= 0; d--) {
            element += oxi_print_index(p, d, rest % p->shown[d]) * t->stride[d];
            rest /= p->shown[d];
        }
        ox_status status = oxi_print_read_value(p, element, &p->values[i]);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}

/* ---- choosing the format ------------------------------------------------------------------------------- */

static double oxi_print_part(const oxi_print_value *v, bool imag) { return imag ? v->imag : v->real; }

/* One format for all the real (or imaginary) parts. Zero, NaN and infinity have no say. */
static void oxi_choose_float_format(oxi_printer *p, bool imag, oxi_print_format *format) {
    double least = INFINITY, most = 0;
    format->whole = true;
    format->width = 1;
    for (int64_t i = 0; i < p->count; i++) {
        double x = oxi_print_part(&p->values[i], imag), magnitude = fabs(x);
        if (!isfinite(x) || magnitude <= 0) continue;
        if (magnitude < least) least = magnitude;
        if (magnitude > most) most = magnitude;
        if (x < ceil(x)) format->whole = false;
    }
    if (most <= 0) return;
    format->scientific = most / least > 1000 || most > 1e8 || (!format->whole && least < 1e-4);
    for (int64_t i = 0; i < p->count; i++) {
        double x = oxi_print_part(&p->values[i], imag);
        int length = 0;
        if (!isfinite(x) || fabs(x) <= 0) continue;
        oxi_write_float(NULL, format, x, false, &length);
        if (length > format->width) format->width = length;
    }
}

static void oxi_choose_format(oxi_printer *p) {
    if (p->cls == OX_CLASS_FLOAT || p->cls == OX_CLASS_COMPLEX) {
        oxi_choose_float_format(p, false, &p->real);
        if (p->cls == OX_CLASS_COMPLEX) oxi_choose_float_format(p, true, &p->imag);
        return;
    }
    for (int64_t i = 0; i < p->count; i++) {
        int length = 0;
        oxi_write_integer(NULL, p, p->values[i].integer, &length);
        if (length > p->real.width) p->real.width = length;
    }
}

/* ---- brackets ------------------------------------------------------------------------------------------ */

/* The last dim: as many numbers on a line as fit. "..." takes the place of one. */
static void oxi_write_row(oxi_writer *w, oxi_printer *p, int64_t indent) {
    int d = p->t->ndim - 1;
    int64_t shown = p->shown[d];
    bool cut = shown < p->t->shape[d];
    int64_t each = p->real.width + 2 + (p->cls == OX_CLASS_COMPLEX ? p->imag.width + 1 : 0);
    int64_t per_line = (OXI_PRINT_LINE - indent) / each;
    if (per_line < 1) per_line = 1;
    oxi_write(w, "[");
    for (int64_t place = 0; place < shown + (cut ? 1 : 0); place++) {
        if (place > 0 && place % per_line == 0) {
            oxi_write(w, ",\n");
            oxi_write_spaces(w, indent + 1);
        } else if (place > 0) {
            oxi_write(w, ", ");
        }
        if (cut && place == OXI_PRINT_EDGE) {
            oxi_write(w, " ...");
        } else {
            oxi_write_value(w, p);
        }
    }
    oxi_write(w, "]");
}

static void oxi_write_dim(oxi_writer *w, oxi_printer *p, int d, int64_t indent) {
    if (p->t->ndim == 0) {
        oxi_write_value(w, p);
        return;
    }
    if (d == p->t->ndim - 1) {
        oxi_write_row(w, p, indent);
        return;
    }
    bool cut = p->shown[d] < p->t->shape[d];
    oxi_write(w, "[");
    for (int64_t place = 0; place < p->shown[d] + (cut ? 1 : 0); place++) {
        if (place > 0) {
            oxi_write(w, ",");
            for (int i = d; i < p->t->ndim - 1; i++) oxi_write(w, "\n");
            oxi_write_spaces(w, indent + 1);
        }
        if (cut && place == OXI_PRINT_EDGE) {
            oxi_write(w, "...");
        } else {
            oxi_write_dim(w, p, d + 1, indent + 1);
        }
    }
    oxi_write(w, "]");
}

/* ---- suffixes: device, size, dtype --------------------------------------------------------------------- */

static void oxi_write_suffix(oxi_writer *w, const char *name, const char *value, int64_t *line) {
    int64_t length = (int64_t)(strlen(name) + strlen(value));
    if (*line + length + 2 > OXI_PRINT_LINE) {
        oxi_write(w, ",\n       ");
        *line = 7 + length;
    } else {
        oxi_write(w, ", ");
        *line += length + 2;
    }
    oxi_write(w, name);
    oxi_write(w, value);
}

static void oxi_write_suffixes(oxi_writer *w, const ox_tensor *t, bool size, bool dtype) {
    char text[OX_MAX_DIMS * 22 + 8];
    int64_t line = (int64_t)(w->length - w->line_start) + 2;
    if (t->storage && !t->storage->device->host) {
        snprintf(text, sizeof text, "'%.60s'", t->storage->device->name);
        oxi_write_suffix(w, "device=", text, &line);
    }
    if (size) {
        size_t used = 0;
        for (int d = 0; d < t->ndim; d++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", d ? ", " : "(",
                                     (long long)t->shape[d]);
        }
        snprintf(text + used, sizeof text - used, t->ndim == 0 ? "()" : t->ndim == 1 ? ",)" : ")");
        oxi_write_suffix(w, "size=", text, &line);
    }
    if (dtype) oxi_write_suffix(w, "dtype=", ox_dtype_name(t->dtype), &line);
}

/* ---- public -------------------------------------------------------------------------------------------- */

static ox_status oxi_printer_begin(oxi_printer *p, const ox_tensor *t) {
    memset(p, 0, sizeof *p);
    p->t = t;
    p->cls = oxi_is_block(t->dtype) ? OX_CLASS_FLOAT : oxi_info(t->dtype)->cls;
    p->summarize = ox_numel(t) > OXI_PRINT_THRESHOLD;
    p->count = 1;
    p->block_at = SIZE_MAX;
    for (int d = 0; d < t->ndim; d++) {
        bool cut = p->summarize && t->shape[d] > 2 * OXI_PRINT_EDGE;
        p->shown[d] = cut ? 2 * OXI_PRINT_EDGE : t->shape[d];
        p->count *= p->shown[d];
    }
    p->values = (oxi_print_value *)oxi_calloc((size_t)p->count, sizeof *p->values);
    if (!p->values) return OX_ERR_NOMEM;
    if (oxi_is_block(t->dtype)) {
        p->block = (float *)oxi_calloc((size_t)oxi_info(t->dtype)->block_elements, sizeof *p->block);
        if (!p->block) return OX_ERR_NOMEM;
    }
    ox_status status = oxi_print_read_span(p);
    return status == OX_OK ? oxi_print_gather(p) : status;
}

static void oxi_printer_end(oxi_printer *p) {
    oxi_free(p->values, (size_t)p->count * sizeof *p->values);
    oxi_free(p->block, (size_t)oxi_info(p->t->dtype)->block_elements * sizeof *p->block);
    oxi_free(p->span, p->span_bytes);
}

static ox_status oxi_write_tensor(oxi_writer *w, const ox_tensor *t) {
    bool plain = t->dtype == OX_F32 || t->dtype == OX_I64 || t->dtype == OX_BOOL || t->dtype == OX_C64;
    if (ox_numel(t) == 0) {
        oxi_write(w, "tensor([]");
        oxi_write_suffixes(w, t, t->ndim != 1, t->dtype != OX_F32);
    } else if (!t->storage || oxi_info(t->dtype)->cls == OX_CLASS_NONE ||
               (oxi_is_block(t->dtype) && ox_cpu()->expand(t->dtype, 0, NULL, NULL) != OX_OK)) {
        oxi_write(w, "tensor(...");
        oxi_write_suffixes(w, t, true, true);
    } else {
        oxi_printer p;
        ox_status status = oxi_printer_begin(&p, t);
        if (status == OX_OK) {
            oxi_choose_format(&p);
            oxi_write(w, "tensor(");
            oxi_write_dim(w, &p, 0, 7);
            oxi_write_suffixes(w, t, false, !plain);
        }
        oxi_printer_end(&p);
        if (status != OX_OK) return status;
    }
    oxi_write(w, ")");
    return OX_OK;
}

OX_API size_t ox_format(ox_tensor *t, char *out, size_t room) {
    oxi_writer w;
    w.out = out;
    w.room = out ? room : 0;
    w.length = w.line_start = 0;
    if (w.room > 0) out[0] = 0;
    if (!t || oxi_write_tensor(&w, t) != OX_OK) return 0;
    if (w.room > 0) out[w.length < w.room ? w.length : w.room - 1] = 0;
    return w.length;
}

#ifndef OX_NO_STDIO
OX_API ox_status ox_print(ox_tensor *t) {
    if (!t) return oxi_fail_missing("print: tensor");
    size_t length = ox_format(t, NULL, 0);
    if (length == 0) return ox_error();
    char *text = (char *)oxi_alloc(length + 1);
    if (!text) return OX_ERR_NOMEM;
    ox_format(t, text, length + 1);
    text[length] = '\n';
    bool ok = fwrite(text, 1, length + 1, stdout) == length + 1;
    oxi_free(text, length + 1);
    return ok ? OX_OK : oxi_fail(OX_ERR_IO, "print: standard output cannot be written");
}
#endif
