/* Python's two ways to format: "%5.2f" % values, and "{:>8}".format(values).
 * Widths and precisions are checked before they are used.
 * Called by the operator %, the filter format and the method format. */

enum { OXI_JINJA_MOST_WIDTH = 100000, OXI_JINJA_MOST_PRECISION = 100 };

typedef struct oxi_jinja_spec {
    uint32_t fill;          /* a character */
    char align, sign, type; /* 0 = not said */
    bool alternate, zeros, commas;
    int width, precision; /* precision -1 = not said */
} oxi_jinja_spec;

/* Digits from text[*at] on; fails above `most`. */
static int oxi_jinja_small_number(oxi_jinja *j, oxi_jinja_value text, size_t *at, int most) {
    int number = 0;
    while (*at < text.length && oxi_is_digit(text.as.text[*at])) {
        number = number * 10 + (text.as.text[(*at)++] - '0');
        if (number > most) {
            (void)oxi_jinja_fail(j, "a width or precision of more than %d", most);
            return 0;
        }
    }
    return number;
}

/* The capture from `start` on, padded: `sign_length` bytes stay before zeros. */
static void oxi_jinja_pad(oxi_jinja *j, size_t start, size_t sign_length, const oxi_jinja_spec *spec,
                          char align) {
    if (j->status) return;
    const size_t count = j->out ? oxi_jinja_characters(j->out + start, j->out_length - start) : 0;
    if ((size_t)spec->width <= count) return;
    const size_t padding = (size_t)spec->width - count;
    const size_t before = align == '<' ? 0 : align == '^' ? padding / 2 : padding;
    const oxi_jinja_value text = oxi_jinja_take(j, start);
    if (align == '=') oxi_jinja_write(j, text.as.text, sign_length);
    for (size_t i = 0; i < before && !j->status; i++) oxi_jinja_write_code(j, spec->fill);
    if (align == '=')
        oxi_jinja_write(j, text.as.text + sign_length, text.length - sign_length);
    else
        oxi_jinja_write(j, text.as.text, text.length);
    for (size_t i = before; i < padding && !j->status; i++) oxi_jinja_write_code(j, spec->fill);
}

/* With a comma between groups of three digits before the point. */
static void oxi_jinja_write_grouped(oxi_jinja *j, const char *text) {
    size_t whole = 0;
    while (oxi_is_digit(text[whole])) whole++;
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % 3 == 0) oxi_jinja_write(j, ",", 1);
        oxi_jinja_write(j, text + i, 1);
    }
    oxi_jinja_write_text(j, text + whole);
}

static OXI_NOINLINE void oxi_jinja_write_fixed(oxi_jinja *j, double f, const oxi_jinja_spec *spec) {
    char text[512], format[16];
    const int precision = spec->precision < 0 ? 6 : spec->precision;
    const char type = spec->type == 'F' ? 'f' : spec->type == '%' ? 'f' : spec->type;
    (void)snprintf(format, sizeof format, spec->alternate ? "%%#.*%c" : "%%.*%c", type);
    (void)snprintf(text, sizeof text, format, precision, spec->type == '%' ? f * 100 : f);
    for (char *p = text; *p; p++)
        if (*p == ',') *p = '.'; /* the locale's point */
    if (spec->commas)
        oxi_jinja_write_grouped(j, text);
    else
        oxi_jinja_write_text(j, text);
    if (spec->type == '%') oxi_jinja_write(j, "%", 1);
}

static OXI_NOINLINE void oxi_jinja_write_whole(oxi_jinja *j, uint64_t u, const oxi_jinja_spec *spec) {
    char text[72];
    size_t at = sizeof text - 1;
    const unsigned base = spec->type == 'x' || spec->type == 'X' ? 16
                          : spec->type == 'o'                    ? 8
                          : spec->type == 'b'                    ? 2
                                                                 : 10;
    const char *digits = spec->type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    text[at] = 0;
    do {
        text[--at] = digits[u % base];
        u /= base;
    } while (u);
    if (spec->commas)
        oxi_jinja_write_grouped(j, text + at);
    else
        oxi_jinja_write_text(j, text + at);
}

/* A number with its sign, padded. */
static void oxi_jinja_write_number(oxi_jinja *j, oxi_jinja_value v, const oxi_jinja_spec *spec) {
    const size_t start = j->out_length;
    const bool whole = v.type != OXI_JINJA_FLOAT && !strchr("eEfFgG%", spec->type ? spec->type : 'd');
    const bool minus = v.type == OXI_JINJA_FLOAT ? signbit(v.as.f) != 0 && v.as.f == v.as.f : v.as.i < 0;
    if (minus || spec->sign == '+' || spec->sign == ' ') oxi_jinja_write(j, minus ? "-" : &spec->sign, 1);
    const double f = oxi_jinja_number(v);
    size_t sign = j->out_length - start;
    if (whole && spec->alternate && spec->type && strchr("xXob", spec->type)) {
        oxi_jinja_write(j, "0", 1);
        oxi_jinja_write(j, &spec->type, 1);
        sign += 2;
    }
    if (whole)
        oxi_jinja_write_whole(j, minus ? (uint64_t)0 - (uint64_t)v.as.i : (uint64_t)v.as.i, spec);
    else if (!spec->type && spec->precision < 0)
        oxi_jinja_write_float(j, minus ? -f : f);
    else if (!spec->type || strchr("eEfFgG%", spec->type)) {
        oxi_jinja_spec general = *spec;
        if (!spec->type) general.type = 'g';
        if (general.type == 'g' && general.precision == 0) general.precision = 1;
        oxi_jinja_write_fixed(j, minus ? -f : f, &general);
    } else
        (void)oxi_jinja_fail(j, "a float cannot be formatted as '%c'", spec->type);
    oxi_jinja_pad(j, start, sign, spec, spec->align ? spec->align : spec->zeros ? '=' : '>');
}

static void oxi_jinja_write_cut(oxi_jinja *j, oxi_jinja_value text, const oxi_jinja_spec *spec, char align) {
    const size_t start = j->out_length;
    size_t length = text.length;
    if (spec->precision >= 0) length = oxi_jinja_byte_of(text.as.text, text.length, (size_t)spec->precision);
    oxi_jinja_write(j, text.as.text, length);
    oxi_jinja_pad(j, start, 0, spec, spec->align ? spec->align : align);
}

static oxi_jinja_value oxi_jinja_repr(oxi_jinja *j, oxi_jinja_value v) {
    const size_t start = j->out_length;
    oxi_jinja_write_repr(j, v);
    return oxi_jinja_take(j, start);
}

/* ---- "%s" % values ------------------------------------------------------------------------------------- */

static void oxi_jinja_percent_one(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_spec *spec, bool safe) {
    const char type = spec->type;
    if (type == 's' || type == 'r') {
        v = type == 's' ? oxi_jinja_string(j, v) : oxi_jinja_repr(j, v);
        oxi_jinja_write_cut(j, safe ? oxi_jinja_escaped(j, v) : v, spec, '>');
        return;
    }
    if (!type || !strchr("diuxXoeEfFgG", type) || !oxi_jinja_is_number(v)) {
        (void)oxi_jinja_fail(j, "'%%%c' cannot format %s", type ? type : '%', oxi_jinja_type_name(v));
        return;
    }
    if (strchr("diuxXo", type)) {
        if (v.type == OXI_JINJA_FLOAT) {
            if (!(fabs(v.as.f) < 9e18) || strchr("xXo", type)) {
                (void)oxi_jinja_fail(j, "'%%%c' wants an integer", type);
                return;
            }
            v = oxi_jinja_int((int64_t)v.as.f);
        }
        if (type == 'i' || type == 'u') spec->type = 'd';
    }
    if (spec->align == '<') spec->zeros = false;
    if (spec->zeros) spec->fill = '0';
    oxi_jinja_write_number(j, v, spec);
}

static void oxi_jinja_percent_flags(oxi_jinja *j, oxi_jinja_value format, size_t *at, oxi_jinja_spec *spec) {
    memset(spec, 0, sizeof *spec);
    spec->fill = ' ';
    spec->precision = -1;
    for (; *at < format.length && format.as.text[*at] && strchr("-+ 0#", format.as.text[*at]); ++*at) {
        const char c = format.as.text[*at];
        if (c == '-') spec->align = '<';
        if (c == '0') spec->zeros = true;
        if (c == '#') spec->alternate = true;
        if (c == '+' || (c == ' ' && !spec->sign)) spec->sign = c;
    }
    spec->width = oxi_jinja_small_number(j, format, at, OXI_JINJA_MOST_WIDTH);
    if (*at < format.length && format.as.text[*at] == '.') {
        ++*at;
        spec->precision = oxi_jinja_small_number(j, format, at, OXI_JINJA_MOST_PRECISION);
    }
    spec->type = *at < format.length ? format.as.text[(*at)++] : '\0';
}

static oxi_jinja_value oxi_jinja_percent_format(oxi_jinja *j, oxi_jinja_value format,
                                                oxi_jinja_value values) {
    const size_t start = j->out_length;
    const bool several = values.type == OXI_JINJA_TUPLE;
    size_t used = 0, at = 0;
    while (at < format.length && !j->status) {
        const char *text = format.as.text + at;
        const char *percent = (const char *)memchr(text, '%', format.length - at);
        const size_t plain = percent ? (size_t)(percent - text) : format.length - at;
        oxi_jinja_write(j, text, plain);
        at += plain + 1;
        if (!percent) break;
        oxi_jinja_value v = several ? oxi_jinja_none() : values;
        oxi_jinja_spec spec;
        if (at < format.length && format.as.text[at] == '(') {
            size_t end = at;
            while (end < format.length && format.as.text[end] != ')') end++;
            const oxi_jinja_value key = oxi_jinja_text(format.as.text + at + 1, end - at - 1);
            const oxi_jinja_value *found =
                values.type == OXI_JINJA_DICT ? oxi_jinja_dict_find(j, values.as.dict, key) : NULL;
            if (!found) return oxi_jinja_fail(j, "a format wants a key that is not there");
            v = *found;
            used = 1;
            at = end + 1;
            oxi_jinja_percent_flags(j, format, &at, &spec);
        } else {
            oxi_jinja_percent_flags(j, format, &at, &spec);
            if (spec.type == '%') {
                oxi_jinja_write(j, "%", 1);
                continue;
            }
            if (used >= (several ? values.as.list->count : 1))
                return oxi_jinja_fail(j, "too few values for a format");
            if (several) v = values.as.list->items[used];
            used++;
        }
        oxi_jinja_percent_one(j, v, &spec, format.safe);
    }
    const bool may_be_left = values.type == OXI_JINJA_DICT || values.type == OXI_JINJA_LIST;
    if (!may_be_left && used < (several ? values.as.list->count : 1))
        return oxi_jinja_fail(j, "too many values for a format");
    return oxi_jinja_safe_as(oxi_jinja_take(j, start), format);
}

/* ---- "{}".format(values) ------------------------------------------------------------------------------- */

static void oxi_jinja_brace_spec(oxi_jinja *j, oxi_jinja_value text, oxi_jinja_spec *spec) {
    size_t at = 0, next = 0;
    memset(spec, 0, sizeof *spec);
    spec->fill = ' ';
    spec->precision = -1;
    if (text.length) {
        const uint32_t first = oxi_utf8_code(text.as.text, text.length, &next);
        if (next < text.length && text.as.text[next] && strchr("<>=^", text.as.text[next])) {
            spec->fill = first;
            spec->align = text.as.text[next];
            at = next + 1;
        } else if (first < 0x80 && first && strchr("<>=^", (int)first)) {
            spec->align = (char)first;
            at = 1;
        }
    }
    if (at < text.length && text.as.text[at] && strchr("+- ", text.as.text[at]))
        spec->sign = text.as.text[at++];
    if (at < text.length && text.as.text[at] == '#') spec->alternate = at++ > 0 || true;
    if (at < text.length && text.as.text[at] == '0') {
        spec->zeros = true;
        if (!spec->align) spec->fill = '0';
        at++;
    }
    spec->width = oxi_jinja_small_number(j, text, &at, OXI_JINJA_MOST_WIDTH);
    if (at < text.length && text.as.text[at] == ',') spec->commas = at++ > 0 || true;
    if (at < text.length && text.as.text[at] == '.') {
        at++;
        spec->precision = oxi_jinja_small_number(j, text, &at, OXI_JINJA_MOST_PRECISION);
    }
    if (at < text.length) spec->type = text.as.text[at++];
    if (at < text.length || (spec->type && !strchr("sdxXobeEfFgG%", spec->type)))
        (void)oxi_jinja_fail(j, "a format that is not known");
}

static void oxi_jinja_brace_one(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value text) {
    oxi_jinja_spec spec;
    if (!text.length) {
        oxi_jinja_write_value(j, v);
        return;
    }
    oxi_jinja_brace_spec(j, text, &spec);
    if (j->status) return;
    if (v.type == OXI_JINJA_STRING && (!spec.type || spec.type == 's'))
        oxi_jinja_write_cut(j, v, &spec, '<');
    else if (oxi_jinja_is_number(v) && spec.type != 's' &&
             !(v.type != OXI_JINJA_FLOAT && spec.precision >= 0 && !spec.type))
        oxi_jinja_write_number(j, v, &spec);
    else
        (void)oxi_jinja_fail(j, "%s cannot be formatted so", oxi_jinja_type_name(v));
}

/* The value of a field: "", "0", "name", "name.attribute", "0[key]". */
static oxi_jinja_value oxi_jinja_field(oxi_jinja *j, oxi_jinja_value name, size_t *automatic,
                                       oxi_jinja_value positional, oxi_jinja_value keywords) {
    size_t end = 0, at = 0;
    while (end < name.length && name.as.text[end] != '.' && name.as.text[end] != '[') end++;
    const oxi_jinja_value first = oxi_jinja_text(name.as.text, end);
    oxi_jinja_value v = oxi_jinja_none();
    size_t index = 0;
    if (end == 0)
        index = (*automatic)++;
    else if (oxi_is_digit(name.as.text[0]))
        index = (size_t)oxi_jinja_small_number(j, first, &at, 1000000);
    if (end == 0 || at == end) {
        if (index >= positional.as.list->count) return oxi_jinja_fail(j, "too few values for a format");
        v = positional.as.list->items[index];
    } else {
        const oxi_jinja_value *found = oxi_jinja_dict_find(j, keywords.as.dict, first);
        if (!found) return oxi_jinja_fail(j, "a format wants a keyword that is not there");
        v = *found;
    }
    while (end < name.length && !j->status) {
        const bool item = name.as.text[end] == '[';
        const size_t start = ++end;
        while (end < name.length && name.as.text[end] != (item ? ']' : '.') &&
               (item || name.as.text[end] != '['))
            end++;
        oxi_jinja_value key = oxi_jinja_text(name.as.text + start, end - start);
        at = 0;
        if (item && key.length && oxi_is_digit(key.as.text[0]))
            key = oxi_jinja_int(oxi_jinja_small_number(j, key, &at, 100000000));
        v = item ? oxi_jinja_item(j, v, key) : oxi_jinja_attribute(j, v, key);
        if (item) end++;
    }
    return v;
}

/* The field between braces that begins at format[at]; returns where it ends. */
static size_t oxi_jinja_brace_field(oxi_jinja *j, oxi_jinja_value format, size_t at, size_t *automatic,
                                    oxi_jinja_value positional, oxi_jinja_value keywords) {
    const char *text = format.as.text;
    const char *close = (const char *)memchr(text + at, '}', format.length - at);
    const size_t end = close ? (size_t)(close - text) : format.length;
    size_t name = at;
    if (!close) (void)oxi_jinja_fail(j, "a format with a '{' that is not closed");
    while (name < end && text[name] != ':' && text[name] != '!') name++;
    oxi_jinja_value v =
        oxi_jinja_field(j, oxi_jinja_text(text + at, name - at), automatic, positional, keywords);
    if (name + 1 < end && text[name] == '!') {
        v = text[name + 1] == 'r' ? oxi_jinja_repr(j, v) : oxi_jinja_string(j, v);
        name += 2;
    }
    if (name < end && text[name] == ':') name++;
    const size_t start = j->out_length;
    if (!j->status) oxi_jinja_brace_one(j, v, oxi_jinja_text(text + name, end - name));
    if (format.safe && !(v.type == OXI_JINJA_STRING && v.safe) && !j->status) {
        const oxi_jinja_value escaped = oxi_jinja_escaped(j, oxi_jinja_take(j, start));
        oxi_jinja_write(j, escaped.as.text, escaped.length);
    }
    return end + 1;
}

static oxi_jinja_value oxi_jinja_brace_format(oxi_jinja *j, oxi_jinja_value format,
                                              oxi_jinja_value positional, oxi_jinja_value keywords) {
    const size_t start = j->out_length;
    size_t automatic = 0, at = 0;
    while (at < format.length && oxi_jinja_step(j, 1)) {
        const char c = format.as.text[at];
        const bool twice = at + 1 < format.length && format.as.text[at + 1] == c;
        size_t plain = at;
        while (plain < format.length && format.as.text[plain] != '{' && format.as.text[plain] != '}') plain++;
        if (plain > at) {
            oxi_jinja_write(j, format.as.text + at, plain - at);
            at = plain;
        } else if (twice) {
            oxi_jinja_write(j, &c, 1);
            at += 2;
        } else if (c == '}')
            return oxi_jinja_fail(j, "a format with a single '}'");
        else
            at = oxi_jinja_brace_field(j, format, at + 1, &automatic, positional, keywords);
    }
    return oxi_jinja_safe_as(oxi_jinja_take(j, start), format);
}
