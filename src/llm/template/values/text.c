/* Values as text: Python's str and repr, and JSON as Hugging Face's tojson (json.dumps without HTML escapes).
 * Floats are the shortest digits that read back as the same number.
 * Called by what prints, and by filters. */

/* ---- numbers ------------------------------------------------------------------------------------------- */

static OXI_NOINLINE void oxi_jinja_write_int(oxi_jinja *j, int64_t i) {
    char text[24];
    (void)snprintf(text, sizeof text, "%lld", (long long)i);
    oxi_jinja_write_text(j, text);
}

/* The fewest digits of a finite f that read back as f, and the power of ten of the first one. Whatever the
 * locale has for a point stands second. */
static OXI_NOINLINE int oxi_jinja_digits(double f, char digits[20], int *exponent) {
    char text[40];
    int count = 0;
    for (int precision = 0; precision < 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*e", precision, f);
        if (strtod(text, NULL) == f) break;
    }
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9' && count < 19) digits[count++] = *p;
    *exponent = *p ? atoi(p + 1) : 0;
    while (count > 1 && digits[count - 1] == '0') count--;
    digits[count] = 0;
    return count;
}

/* As Python's repr: an exponent below 1e-4 and from 1e16 on. */
static OXI_NOINLINE void oxi_jinja_write_float(oxi_jinja *j, double f) {
    char digits[20];
    int exponent;
    if (f != f) {
        oxi_jinja_write_text(j, "nan");
        return;
    }
    if (signbit(f)) oxi_jinja_write(j, "-", 1);
    if (f > DBL_MAX || f < -DBL_MAX) {
        oxi_jinja_write_text(j, "inf");
        return;
    }
    const int count = oxi_jinja_digits(f < 0 ? -f : f, digits, &exponent);
    const bool scientific = exponent < -4 || exponent >= 16;
    const int before = scientific ? 1 : exponent + 1; /* digits before the point */
    if (before <= 0) {
        oxi_jinja_write(j, "0.", 2);
        oxi_jinja_write_many(j, '0', -before);
        oxi_jinja_write(j, digits, (size_t)count);
    } else {
        oxi_jinja_write(j, digits, (size_t)(count < before ? count : before));
        oxi_jinja_write_many(j, '0', before - count);
        if (count > before || !scientific) oxi_jinja_write(j, ".", 1);
        if (count > before)
            oxi_jinja_write(j, digits + before, (size_t)(count - before));
        else if (!scientific)
            oxi_jinja_write(j, "0", 1);
    }
    if (!scientific) return;
    (void)snprintf(digits, sizeof digits, "e%c%02d", exponent < 0 ? '-' : '+',
                   exponent < 0 ? -exponent : exponent);
    oxi_jinja_write_text(j, digits);
}

/* ---- repr ---------------------------------------------------------------------------------------------- */

static OXI_NOINLINE void oxi_jinja_write_escape(oxi_jinja *j, char letter, int width, uint32_t code) {
    char text[16];
    (void)snprintf(text, sizeof text, "\\%c%0*x", letter, width, (unsigned)code);
    oxi_jinja_write_text(j, text);
}

/* In single quotes, unless the text has those and no double ones. */
static void oxi_jinja_write_quoted(oxi_jinja *j, oxi_jinja_value v) {
    const bool single = v.length && memchr(v.as.text, '\'', v.length);
    const char quote = single && !memchr(v.as.text, '"', v.length) ? '"' : '\'';
    oxi_jinja_write(j, &quote, 1);
    for (size_t at = 0; at < v.length && !j->status;) {
        const size_t start = at;
        const uint32_t code = oxi_utf8_code(v.as.text, v.length, &at);
        if (code == (uint32_t)quote || code == '\\') oxi_jinja_write(j, "\\", 1);
        if (code == '\n')
            oxi_jinja_write(j, "\\n", 2);
        else if (code == '\r')
            oxi_jinja_write(j, "\\r", 2);
        else if (code == '\t')
            oxi_jinja_write(j, "\\t", 2);
        else if (oxi_jinja_is_printable(code))
            oxi_jinja_write(j, v.as.text + start, at - start);
        else if (code < 0x100)
            oxi_jinja_write_escape(j, 'x', 2, code);
        else if (code < 0x10000)
            oxi_jinja_write_escape(j, 'u', 4, code);
        else
            oxi_jinja_write_escape(j, 'U', 8, code);
    }
    oxi_jinja_write(j, &quote, 1);
}

static oxi_jinja_value oxi_jinja_safe_as(oxi_jinja_value text, oxi_jinja_value of) {
    text.safe = text.type == OXI_JINJA_STRING && of.type == OXI_JINJA_STRING && of.safe;
    return text;
}

static oxi_jinja_value oxi_jinja_escaped(oxi_jinja *j, oxi_jinja_value v) {
    static const char characters[] = "&<>\"'";
    static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#34;", "&#39;"};
    oxi_jinja_value text = oxi_jinja_string(j, v);
    if (text.safe) return text;
    const size_t start = j->out_length;
    for (size_t at = 0; at < text.length && !j->status; at++) {
        const char c = text.as.text[at];
        const char *special = c ? strchr(characters, c) : NULL;
        if (special)
            oxi_jinja_write_text(j, names[special - characters]);
        else
            oxi_jinja_write(j, &c, 1);
    }
    text = oxi_jinja_take(j, start);
    text.safe = 1;
    return text;
}

static void oxi_jinja_write_items(oxi_jinja *j, const oxi_jinja_list *list, char open, char close) {
    oxi_jinja_write(j, &open, 1);
    for (size_t i = 0; i < list->count && oxi_jinja_step(j, 1); i++) {
        if (i) oxi_jinja_write(j, ", ", 2);
        oxi_jinja_write_repr(j, list->items[i]);
    }
    if (open == '(' && list->count == 1) oxi_jinja_write(j, ",", 1);
    oxi_jinja_write(j, &close, 1);
}

static void oxi_jinja_write_entries(oxi_jinja *j, const oxi_jinja_dict *dict) {
    oxi_jinja_write(j, "{", 1);
    for (size_t i = 0; i < dict->count && oxi_jinja_step(j, 1); i++) {
        if (i) oxi_jinja_write(j, ", ", 2);
        oxi_jinja_write_repr(j, dict->entries[i].key);
        oxi_jinja_write(j, ": ", 2);
        oxi_jinja_write_repr(j, dict->entries[i].value);
    }
    oxi_jinja_write(j, "}", 1);
}

static void oxi_jinja_write_range(oxi_jinja *j, const oxi_jinja_list *range) {
    oxi_jinja_write_text(j, "range(");
    oxi_jinja_write_int(j, range->start);
    oxi_jinja_write_text(j, ", ");
    oxi_jinja_write_int(j, range->stop);
    if (range->stride != 1) {
        oxi_jinja_write_text(j, ", ");
        oxi_jinja_write_int(j, range->stride);
    }
    oxi_jinja_write_text(j, ")");
}

static void oxi_jinja_write_container(oxi_jinja *j, oxi_jinja_value v) {
    switch (v.type) {
    case OXI_JINJA_LIST: oxi_jinja_write_items(j, v.as.list, '[', ']'); break;
    case OXI_JINJA_TUPLE: oxi_jinja_write_items(j, v.as.list, '(', ')'); break;
    case OXI_JINJA_DICT: oxi_jinja_write_entries(j, v.as.dict); break;
    case OXI_JINJA_RANGE: oxi_jinja_write_range(j, v.as.list); break;
    case OXI_JINJA_VIEW:
        oxi_jinja_write_text(j, v.as.list->name);
        oxi_jinja_write_text(j, "([");
        for (size_t i = 0; i < v.as.list->count && oxi_jinja_step(j, 1); i++) {
            if (i) oxi_jinja_write(j, ", ", 2);
            oxi_jinja_write_repr(j, v.as.list->items[i]);
        }
        oxi_jinja_write_text(j, "])");
        break;
    case OXI_JINJA_NAMESPACE:
        oxi_jinja_write_text(j, "<Namespace ");
        oxi_jinja_write_entries(j, v.as.dict);
        oxi_jinja_write_text(j, ">");
        break;
    case OXI_JINJA_MACRO:
        oxi_jinja_write_text(j, "<Macro '");
        oxi_jinja_write(j, v.as.macro->name.data, (size_t)v.as.macro->name.length);
        oxi_jinja_write_text(j, "'>");
        break;
    case OXI_JINJA_LOOP:
        oxi_jinja_write_text(j, "<LoopContext ");
        oxi_jinja_write_int(j, (int64_t)v.as.loop->at + 1);
        oxi_jinja_write_text(j, "/");
        oxi_jinja_write_int(j, (int64_t)v.as.loop->items->count);
        oxi_jinja_write_text(j, ">");
        break;
    default:
        oxi_jinja_write_text(j, "<");
        oxi_jinja_write_text(j, oxi_jinja_type_name(v));
        oxi_jinja_write_text(j, ">");
    }
}

static void oxi_jinja_write_repr(oxi_jinja *j, oxi_jinja_value v) {
    switch (v.type) {
    case OXI_JINJA_UNDEFINED: oxi_jinja_write_text(j, "Undefined"); break;
    case OXI_JINJA_NONE: oxi_jinja_write_text(j, "None"); break;
    case OXI_JINJA_BOOL: oxi_jinja_write_text(j, v.as.i ? "True" : "False"); break;
    case OXI_JINJA_INT: oxi_jinja_write_int(j, v.as.i); break;
    case OXI_JINJA_FLOAT: oxi_jinja_write_float(j, v.as.f); break;
    case OXI_JINJA_STRING:
        if (v.safe) oxi_jinja_write_text(j, "Markup(");
        oxi_jinja_write_quoted(j, v);
        if (v.safe) oxi_jinja_write_text(j, ")");
        break;
    default:
        if (oxi_jinja_enter(j)) oxi_jinja_write_container(j, v);
        oxi_jinja_leave(j);
    }
}

static void oxi_jinja_write_value(oxi_jinja *j, oxi_jinja_value v) {
    if (v.type == OXI_JINJA_STRING)
        oxi_jinja_write(j, v.as.text, v.length);
    else if (v.type != OXI_JINJA_UNDEFINED)
        oxi_jinja_write_repr(j, v);
}

static oxi_jinja_value oxi_jinja_string(oxi_jinja *j, oxi_jinja_value v) {
    if (v.type == OXI_JINJA_STRING) return v;
    const size_t start = j->out_length;
    oxi_jinja_write_value(j, v);
    return oxi_jinja_take(j, start);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static void oxi_jinja_write_json_code(oxi_jinja *j, uint32_t code) {
    if (code >= 0x10000) {
        oxi_jinja_write_escape(j, 'u', 4, 0xD800 + ((code - 0x10000) >> 10));
        code = 0xDC00 + ((code - 0x10000) & 0x3FF);
    }
    oxi_jinja_write_escape(j, 'u', 4, code);
}

static void oxi_jinja_write_json_string(oxi_jinja *j, oxi_jinja_value v, bool ascii) {
    static const char letters[] = "\"\\\b\f\n\r\t", escapes[] = "\"\\bfnrt";
    oxi_jinja_write(j, "\"", 1);
    for (size_t at = 0; at < v.length && !j->status;) {
        const size_t start = at;
        const uint32_t code = oxi_utf8_code(v.as.text, v.length, &at);
        const char *letter = code && code < 0x80 ? strchr(letters, (int)code) : NULL;
        if (letter) {
            oxi_jinja_write(j, "\\", 1);
            oxi_jinja_write(j, &escapes[letter - letters], 1);
        } else if (code < 0x20 || (ascii && code > 0x7E && code != 0x7F))
            oxi_jinja_write_json_code(j, code);
        else
            oxi_jinja_write(j, v.as.text + start, at - start);
    }
    oxi_jinja_write(j, "\"", 1);
}

static void oxi_jinja_write_json_float(oxi_jinja *j, double f) {
    if (f != f)
        oxi_jinja_write_text(j, "NaN");
    else if (f > DBL_MAX || f < -DBL_MAX)
        oxi_jinja_write_text(j, f > 0 ? "Infinity" : "-Infinity");
    else
        oxi_jinja_write_float(j, f);
}

static void oxi_jinja_write_json_line(oxi_jinja *j, const oxi_jinja_json_style *style, int level) {
    if (!style->indented) return;
    oxi_jinja_write(j, "\n", 1);
    for (int i = 0; i < level; i++) oxi_jinja_write(j, style->indent.as.text, style->indent.length);
}

/* Keys are strings: what is another type becomes one, as it is in JSON. */
static void oxi_jinja_write_json_key(oxi_jinja *j, oxi_jinja_value key, const oxi_jinja_json_style *style) {
    if (key.type == OXI_JINJA_STRING) {
        oxi_jinja_write_json_string(j, key, style->ascii);
    } else if (oxi_jinja_is_number(key) || key.type == OXI_JINJA_NONE) {
        oxi_jinja_write(j, "\"", 1);
        oxi_jinja_write_json(j, key, style, 0);
        oxi_jinja_write(j, "\"", 1);
    } else
        (void)oxi_jinja_fail(j, "a %s cannot be a key in JSON", oxi_jinja_type_name(key));
}

typedef struct oxi_jinja_key_order {
    oxi_jinja *j;
    const oxi_jinja_dict *dict;
} oxi_jinja_key_order;

static int oxi_jinja_compare_keys(const void *user, uint32_t a, uint32_t b) {
    const oxi_jinja_key_order *order = (const oxi_jinja_key_order *)user;
    return oxi_jinja_order(order->j, order->dict->entries[a].key, order->dict->entries[b].key);
}

/* Positions of a dict's entries by key; NULL on failure. */
static const uint32_t *oxi_jinja_sorted_keys(oxi_jinja *j, const oxi_jinja_dict *dict) {
    uint32_t *order = (uint32_t *)oxi_jinja_alloc_array(j, dict->count, 2 * sizeof *order);
    const oxi_jinja_key_order user = {j, dict};
    if (order)
        oxi_sort_indexes(order, order + dict->count, (uint32_t)dict->count, oxi_jinja_compare_keys, &user);
    return order;
}

static void oxi_jinja_write_json_dict(oxi_jinja *j, const oxi_jinja_dict *dict,
                                      const oxi_jinja_json_style *style, int level) {
    const uint32_t *order = style->sorted ? oxi_jinja_sorted_keys(j, dict) : NULL;
    oxi_jinja_write(j, "{", 1);
    for (size_t i = 0; i < dict->count && oxi_jinja_step(j, 1); i++) {
        const oxi_jinja_entry *entry = &dict->entries[order ? order[i] : i];
        if (i) oxi_jinja_write(j, style->comma.as.text, style->comma.length);
        oxi_jinja_write_json_line(j, style, level + 1);
        oxi_jinja_write_json_key(j, entry->key, style);
        oxi_jinja_write(j, style->colon.as.text, style->colon.length);
        oxi_jinja_write_json(j, entry->value, style, level + 1);
    }
    if (dict->count) oxi_jinja_write_json_line(j, style, level);
    oxi_jinja_write(j, "}", 1);
}

static void oxi_jinja_write_json_list(oxi_jinja *j, const oxi_jinja_list *list,
                                      const oxi_jinja_json_style *style, int level) {
    oxi_jinja_write(j, "[", 1);
    for (size_t i = 0; i < list->count && oxi_jinja_step(j, 1); i++) {
        if (i) oxi_jinja_write(j, style->comma.as.text, style->comma.length);
        oxi_jinja_write_json_line(j, style, level + 1);
        oxi_jinja_write_json(j, list->items[i], style, level + 1);
    }
    if (list->count) oxi_jinja_write_json_line(j, style, level);
    oxi_jinja_write(j, "]", 1);
}

static void oxi_jinja_write_json(oxi_jinja *j, oxi_jinja_value v, const oxi_jinja_json_style *style,
                                 int level) {
    if (oxi_jinja_enter(j)) switch (v.type) {
        case OXI_JINJA_NONE: oxi_jinja_write_text(j, "null"); break;
        case OXI_JINJA_BOOL: oxi_jinja_write_text(j, v.as.i ? "true" : "false"); break;
        case OXI_JINJA_INT: oxi_jinja_write_int(j, v.as.i); break;
        case OXI_JINJA_FLOAT: oxi_jinja_write_json_float(j, v.as.f); break;
        case OXI_JINJA_STRING: oxi_jinja_write_json_string(j, v, style->ascii); break;
        case OXI_JINJA_LIST:
        case OXI_JINJA_TUPLE: oxi_jinja_write_json_list(j, v.as.list, style, level); break;
        case OXI_JINJA_DICT: oxi_jinja_write_json_dict(j, v.as.dict, style, level); break;
        default: (void)oxi_jinja_fail(j, "%s cannot be written as JSON", oxi_jinja_type_name(v));
        }
    oxi_jinja_leave(j);
}
