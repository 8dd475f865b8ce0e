/* Filters of texts, numbers and single values; those of sequences are in filters_sequence.c, which also has
 * the table of all.
 * Called through oxi_jinja_apply. */

/* ---- texts --------------------------------------------------------------------------------------------- */

/* A text with its characters in another case. */
static oxi_jinja_value oxi_jinja_map_case(oxi_jinja *j, oxi_jinja_value text, uint32_t (*of)(uint32_t)) {
    const size_t start = j->out_length;
    for (size_t at = 0; at < text.length && oxi_jinja_step(j, 1);)
        oxi_jinja_write_code(j, of(oxi_utf8_code(text.as.text, text.length, &at)));
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_upper(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_safe_as(oxi_jinja_map_case(j, oxi_jinja_string(j, a[0]), oxi_jinja_to_upper), a[0]);
}

static oxi_jinja_value oxi_jinja_lower(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_safe_as(oxi_jinja_map_case(j, oxi_jinja_string(j, a[0]), oxi_jinja_to_lower), a[0]);
}

static oxi_jinja_value oxi_jinja_capitalize(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value text = oxi_jinja_string(j, a[0]);
    const size_t start = j->out_length;
    for (size_t at = 0; at < text.length && oxi_jinja_step(j, 1);) {
        const bool first = at == 0;
        const uint32_t code = oxi_utf8_code(text.as.text, text.length, &at);
        oxi_jinja_write_code(j, first ? oxi_jinja_to_upper(code) : oxi_jinja_to_lower(code));
    }
    return oxi_jinja_safe_as(oxi_jinja_take(j, start), text);
}

static bool oxi_jinja_is_cased(uint32_t code) {
    const bool sharp_s = code == 0xDF; /* its upper case is two letters */
    return sharp_s || oxi_jinja_to_upper(code) != code || oxi_jinja_to_lower(code) != code;
}

/* Words begin behind what is no letter (str.title), or only behind space and brackets (the filter). */
static oxi_jinja_value oxi_jinja_title_of(oxi_jinja *j, oxi_jinja_value text, bool is_filter) {
    const size_t start = j->out_length;
    bool begins = true;
    for (size_t at = 0; at < text.length && oxi_jinja_step(j, 1);) {
        const uint32_t code = oxi_utf8_code(text.as.text, text.length, &at);
        oxi_jinja_write_code(j, begins ? oxi_jinja_to_upper(code) : oxi_jinja_to_lower(code));
        begins = is_filter ? oxi_jinja_is_space(code) || (code < 0x80 && code && strchr("-({[<", (int)code))
                           : !oxi_jinja_is_cased(code);
    }
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_title(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_title_of(j, oxi_jinja_string(j, a[0]), true);
}

static bool oxi_jinja_in_set(uint32_t code, oxi_jinja_value set) {
    if (set.type != OXI_JINJA_STRING) return oxi_jinja_is_space(code);
    for (size_t at = 0; at < set.length;)
        if (oxi_utf8_code(set.as.text, set.length, &at) == code) return true;
    return false;
}

/* Without the characters of `set` (white space unless it is a string) at its ends. */
static oxi_jinja_value oxi_jinja_strip(oxi_jinja *j, oxi_jinja_value text, oxi_jinja_value set, bool left,
                                       bool right) {
    size_t start = 0, end = text.length;
    while (left && start < end && oxi_jinja_step(j, 1 + set.length / 64 * (set.type == OXI_JINJA_STRING))) {
        size_t next = start;
        if (!oxi_jinja_in_set(oxi_utf8_code(text.as.text, end, &next), set)) break;
        start = next;
    }
    while (right && end > start && oxi_jinja_step(j, 1 + set.length / 64 * (set.type == OXI_JINJA_STRING))) {
        size_t at = end - 1;
        while (at > start && ((unsigned char)text.as.text[at] & 0xC0) == 0x80) at--;
        size_t next = at;
        if (!oxi_jinja_in_set(oxi_utf8_code(text.as.text, end, &next), set)) break;
        end = at;
    }
    return oxi_jinja_text(text.as.text + start, end - start);
}

static oxi_jinja_value oxi_jinja_trim(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_safe_as(oxi_jinja_strip(j, oxi_jinja_string(j, a[0]), a[1], true, true), a[0]);
}

static oxi_jinja_value oxi_jinja_replace_in(oxi_jinja *j, oxi_jinja_value text, oxi_jinja_value old,
                                            oxi_jinja_value by, int64_t most) {
    const size_t start = j->out_length;
    size_t at = 0;
    while (most != 0 && oxi_jinja_step(j, 1)) {
        const size_t hit = oxi_jinja_find_text(j, text, old, at);
        if (hit > text.length || (old.length == 0 && hit == text.length && at > hit)) break;
        oxi_jinja_write(j, text.as.text + at, hit - at);
        oxi_jinja_write(j, by.as.text, by.length);
        at = hit + old.length;
        if (old.length == 0) {
            const size_t from = at;
            if (at == text.length) return oxi_jinja_take(j, start);
            (void)oxi_utf8_code(text.as.text, text.length, &at);
            oxi_jinja_write(j, text.as.text + from, at - from);
        }
        most--;
    }
    if (at < text.length) oxi_jinja_write(j, text.as.text + at, text.length - at);
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_replace(oxi_jinja *j, oxi_jinja_value *a) {
    const int64_t most = a[3].type == OXI_JINJA_NONE ? -1 : oxi_jinja_int_argument(j, a[3], -1);
    const oxi_jinja_value text = oxi_jinja_string(j, a[0]), old = oxi_jinja_string(j, a[1]);
    return oxi_jinja_replace_in(j, text, old, oxi_jinja_string(j, a[2]), most);
}

static bool oxi_jinja_is_line_end(uint32_t code) {
    return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
           code == 0x2029;
}

/* The lines of a text, as Python's splitlines. */
static oxi_jinja_value oxi_jinja_lines(oxi_jinja *j, oxi_jinja_value text, bool keep_ends) {
    oxi_jinja_value lines = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
    size_t start = 0;
    for (size_t at = 0; at < text.length && oxi_jinja_step(j, 1);) {
        const size_t end = at;
        const uint32_t code = oxi_utf8_code(text.as.text, text.length, &at);
        if (!oxi_jinja_is_line_end(code)) continue;
        if (code == '\r' && at < text.length && text.as.text[at] == '\n') at++;
        oxi_jinja_push(j, lines.as.list,
                       oxi_jinja_text(text.as.text + start, (keep_ends ? at : end) - start));
        start = at;
    }
    if (start < text.length && !j->status)
        oxi_jinja_push(j, lines.as.list, oxi_jinja_text(text.as.text + start, text.length - start));
    return lines;
}

static oxi_jinja_value oxi_jinja_indent(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value by = a[1];
    const size_t start = j->out_length;
    const bool first = oxi_jinja_truth(a[2]), blank = oxi_jinja_truth(a[3]);
    if (!oxi_jinja_text_argument(j, a[0])) return a[0];
    if (by.type != OXI_JINJA_STRING) {
        oxi_jinja_write_many(j, ' ', oxi_jinja_int_argument(j, by, 4));
        by = oxi_jinja_take(j, start);
    }
    oxi_jinja_write(j, a[0].as.text, a[0].length);
    oxi_jinja_write(j, "\n", 1);
    const oxi_jinja_value lines = oxi_jinja_lines(j, oxi_jinja_take(j, start), false);
    for (size_t i = 0; !j->status && i < lines.as.list->count; i++) {
        const oxi_jinja_value line = lines.as.list->items[i];
        if (i) oxi_jinja_write(j, "\n", 1);
        if (i ? blank || line.length : first) oxi_jinja_write(j, by.as.text, by.length);
        oxi_jinja_write(j, line.as.text, line.length);
    }
    return oxi_jinja_safe_as(oxi_jinja_take(j, start), a[0]);
}

static oxi_jinja_value oxi_jinja_center_in(oxi_jinja *j, oxi_jinja_value text, int64_t width, char fill,
                                           char align) {
    const size_t start = j->out_length;
    const int64_t missing = width - oxi_jinja_length(j, text);
    /* Python puts the odd one to the left where the width is odd */
    int64_t left = align == '<' ? 0 : align == '>' ? missing : missing / 2 + (missing & width & 1);
    if (missing <= 0) return text;
    oxi_jinja_write_many(j, fill, left);
    oxi_jinja_write(j, text.as.text, text.length);
    oxi_jinja_write_many(j, fill, missing - left);
    return oxi_jinja_safe_as(oxi_jinja_take(j, start), text);
}

static oxi_jinja_value oxi_jinja_center(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_center_in(j, oxi_jinja_string(j, a[0]), oxi_jinja_int_argument(j, a[1], 80), ' ', '^');
}

static oxi_jinja_value oxi_jinja_filter_escape(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_escaped(j, a[0]);
}

static oxi_jinja_value oxi_jinja_filter_forceescape(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value text = oxi_jinja_string(j, a[0]);
    text.safe = 0;
    return oxi_jinja_escaped(j, text);
}

static oxi_jinja_value oxi_jinja_filter_safe(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value text = oxi_jinja_string(j, a[0]);
    text.safe = 1;
    return text;
}

static oxi_jinja_value oxi_jinja_to_string(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_string(j, a[0]);
}

static oxi_jinja_value oxi_jinja_filter_format(oxi_jinja *j, oxi_jinja_value *a) {
    const bool keywords = a[2].as.dict->count > 0;
    if (keywords && a[1].as.list->count) return oxi_jinja_fail(j, "format has both kinds of arguments");
    return oxi_jinja_percent_format(j, oxi_jinja_string(j, a[0]), keywords ? a[2] : a[1]);
}

static oxi_jinja_value oxi_jinja_wordcount(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value text = oxi_jinja_string(j, a[0]);
    int64_t count = 0;
    bool inside = false;
    for (size_t at = 0; at < text.length && oxi_jinja_step(j, 1);) {
        const uint32_t code = oxi_utf8_code(text.as.text, text.length, &at);
        const bool word = code == '_' || (code >= '0' && code <= '9') || oxi_jinja_is_cased(code) ||
                          (code >= 0x80 && oxi_jinja_is_printable(code) && !oxi_jinja_is_space(code));
        count += word && !inside;
        inside = word;
    }
    return oxi_jinja_int(count);
}

static oxi_jinja_value oxi_jinja_truncate(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value text = oxi_jinja_string(j, a[0]);
    const oxi_jinja_value end = a[3].type == OXI_JINJA_STRING ? a[3] : oxi_jinja_word("...");
    const int64_t most = oxi_jinja_int_argument(j, a[1], 255), leeway = oxi_jinja_int_argument(j, a[4], 5);
    const int64_t left = most - oxi_jinja_length(j, end), length = oxi_jinja_length(j, a[0]);
    if (left < 0 || leeway < 0) return oxi_jinja_fail(j, "truncate: the end is longer than the text may be");
    if (length <= most || length - most <= leeway) return a[0];
    if (!oxi_jinja_text_argument(j, a[0])) return text;
    oxi_jinja_value cut =
        oxi_jinja_text(text.as.text, oxi_jinja_byte_of(text.as.text, text.length, (size_t)left));
    for (size_t i = cut.length; !oxi_jinja_truth(a[2]) && i > 0; i--)
        if (cut.as.text[i - 1] == ' ') {
            cut.length = (uint32_t)(i - 1);
            break;
        }
    const oxi_jinja_value joined = oxi_jinja_join_texts(j, cut, a[0].safe ? oxi_jinja_escaped(j, end) : end);
    return oxi_jinja_safe_as(joined, a[0]);
}

/* Of a query a slash is escaped too, and a blank is a plus. */
static void oxi_jinja_write_url(oxi_jinja *j, oxi_jinja_value value, bool query) {
    static const char digits[] = "0123456789ABCDEF";
    const oxi_jinja_value text = oxi_jinja_string(j, value);
    for (size_t at = 0; at < text.length && oxi_jinja_step(j, 1); at++) {
        const unsigned char c = (unsigned char)text.as.text[at];
        const char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
        const bool plain = c < 0x80 && c &&
                           (oxi_jinja_is_name_byte((char)c) || strchr("-.~", c) || (c == '/' && !query));
        if (query && c == ' ')
            oxi_jinja_write(j, "+", 1);
        else
            oxi_jinja_write(j, plain ? text.as.text + at : escaped, plain ? 1 : 3);
    }
}

/* A dict, or a sequence of pairs, is a query. */
static oxi_jinja_value oxi_jinja_urlencode(oxi_jinja *j, oxi_jinja_value *a) {
    const bool dict = a[0].type == OXI_JINJA_DICT;
    const oxi_jinja_list *pairs = !dict && oxi_jinja_is_sequence(a[0]) ? oxi_jinja_iterate(j, a[0]) : NULL;
    const size_t start = j->out_length, count = dict ? a[0].as.dict->count : pairs ? pairs->count : 0;
    if (!dict && !pairs) oxi_jinja_write_url(j, a[0], false);
    for (size_t i = 0; i < count && !j->status; i++) {
        const oxi_jinja_list *pair = dict ? NULL : oxi_jinja_iterate(j, pairs->items[i]);
        if (!dict && (!pair || pair->count != 2)) return oxi_jinja_fail(j, "urlencode: no pair");
        if (i) oxi_jinja_write(j, "&", 1);
        oxi_jinja_write_url(j, dict ? a[0].as.dict->entries[i].key : pair->items[0], true);
        oxi_jinja_write(j, "=", 1);
        oxi_jinja_write_url(j, dict ? a[0].as.dict->entries[i].value : pair->items[1], true);
    }
    return oxi_jinja_take(j, start);
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_spaces(oxi_jinja *j, int64_t count) {
    const size_t start = j->out_length;
    oxi_jinja_write_many(j, ' ', count);
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_tojson(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_json_style style;
    const size_t start = j->out_length;
    memset(&style, 0, sizeof style);
    style.ascii = oxi_jinja_truth(a[1]);
    style.sorted = oxi_jinja_truth(a[4]);
    style.indented = a[2].type != OXI_JINJA_MISSING && a[2].type != OXI_JINJA_NONE;
    style.comma = oxi_jinja_word(style.indented ? "," : ", ");
    style.colon = oxi_jinja_word(": ");
    if (style.indented)
        style.indent =
            a[2].type == OXI_JINJA_STRING ? a[2] : oxi_jinja_spaces(j, oxi_jinja_int_argument(j, a[2], 0));
    if (a[3].type == OXI_JINJA_LIST || a[3].type == OXI_JINJA_TUPLE) {
        if (a[3].as.list->count != 2) return oxi_jinja_fail(j, "tojson wants two separators");
        style.comma = a[3].as.list->items[0];
        style.colon = a[3].as.list->items[1];
        if (!oxi_jinja_text_argument(j, style.comma) || !oxi_jinja_text_argument(j, style.colon)) return a[0];
    }
    oxi_jinja_write_json(j, a[0], &style, 0);
    return oxi_jinja_take(j, start);
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* Python's int(text, base): white space around, a sign, underscores between digits. */
static bool oxi_jinja_parse_int(oxi_jinja *j, oxi_jinja_value text, int64_t base, int64_t *out) {
    const oxi_jinja_value t = oxi_jinja_strip(j, text, oxi_jinja_none(), true, true);
    size_t at = 0;
    uint64_t value = 0;
    bool digits = false;
    const bool minus = t.length && t.as.text[0] == '-';
    if (minus || (t.length && t.as.text[0] == '+')) at++;
    if (at + 1 < t.length && t.as.text[at] == '0') {
        const char c = t.as.text[at + 1];
        const int64_t prefix = c == 'x' || c == 'X'   ? 16
                               : c == 'o' || c == 'O' ? 8
                               : c == 'b' || c == 'B' ? 2
                                                      : 0;
        if (prefix && (base == prefix || base == 0)) {
            base = prefix;
            at += 2;
            if (at < t.length && t.as.text[at] == '_') at++;
        }
    }
    if (base == 0) base = 10;
    if (base < 2 || base > 36) return false;
    for (; at < t.length; at++) {
        const char c = t.as.text[at];
        const int64_t digit = oxi_is_digit(c)        ? c - '0'
                              : c >= 'a' && c <= 'z' ? c - 'a' + 10
                              : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                                     : 99;
        if (c == '_' && digits && at + 1 < t.length && t.as.text[at + 1] != '_') continue;
        if (digit >= base) return false;
        if (value > ((uint64_t)INT64_MAX - (uint64_t)digit) / (uint64_t)base) {
            (void)oxi_jinja_too_large(j);
            return false;
        }
        value = value * (uint64_t)base + (uint64_t)digit;
        digits = true;
    }
    *out = minus ? -(int64_t)value : (int64_t)value;
    return digits;
}

/* Python's float(text). */
static bool oxi_jinja_parse_float(oxi_jinja *j, oxi_jinja_value text, double *out) {
    static const struct {
        const char *name;
        double value;
    } words[] = {{"inf", HUGE_VAL}, {"infinity", HUGE_VAL}, {"nan", NAN}};
    oxi_jinja_value t = oxi_jinja_strip(j, text, oxi_jinja_none(), true, true);
    const bool minus = t.length && t.as.text[0] == '-';
    size_t at = 0, digits = 0;
    if (minus || (t.length && t.as.text[0] == '+')) {
        t.as.text++;
        t.length--;
    }
    const oxi_jinja_value low = oxi_jinja_map_case(j, t, oxi_jinja_to_lower);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (oxi_jinja_is_text(low, words[i].name)) {
            *out = minus ? -words[i].value : words[i].value;
            return true;
        }
    for (int part = 0; part < 2; part++) {
        while (at < t.length && (oxi_is_digit(t.as.text[at]) ||
                                 (t.as.text[at] == '_' && at > 0 && oxi_is_digit(t.as.text[at - 1]) &&
                                  at + 1 < t.length && oxi_is_digit(t.as.text[at + 1]))))
            digits += t.as.text[at++] != '_';
        if (part == 0 && at < t.length && t.as.text[at] == '.') at++;
    }
    if (at < t.length && (t.as.text[at] == 'e' || t.as.text[at] == 'E')) {
        at++;
        if (at < t.length && (t.as.text[at] == '-' || t.as.text[at] == '+')) at++;
        if (at == t.length) return false;
        while (at < t.length && oxi_is_digit(t.as.text[at])) at++;
    }
    if (!digits || at < t.length || t.length > 60) return false;
    *out = oxi_jinja_float_of(t.as.text, t.length);
    if (minus) *out = -*out;
    return true;
}

static oxi_jinja_value oxi_jinja_int_of_float(oxi_jinja *j, double f, oxi_jinja_value otherwise) {
    if (f != f || fabs(f) > DBL_MAX) return otherwise;
    if (!(fabs(f) < 9223372036854775808.0)) return oxi_jinja_too_large(j);
    return oxi_jinja_int((int64_t)f);
}

static oxi_jinja_value oxi_jinja_to_int(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value otherwise = a[1].type == OXI_JINJA_MISSING ? oxi_jinja_int(0) : a[1];
    int64_t i;
    double f;
    if (a[0].type == OXI_JINJA_INT || a[0].type == OXI_JINJA_BOOL) return oxi_jinja_int(a[0].as.i);
    if (a[0].type == OXI_JINJA_FLOAT) return oxi_jinja_int_of_float(j, a[0].as.f, otherwise);
    if (a[0].type == OXI_JINJA_UNDEFINED) return oxi_jinja_of_undefined(j, a[0], oxi_jinja_word("int"));
    if (a[0].type != OXI_JINJA_STRING) return otherwise;
    if (oxi_jinja_parse_int(j, a[0], oxi_jinja_int_argument(j, a[2], 10), &i)) return oxi_jinja_int(i);
    if (j->status || !oxi_jinja_parse_float(j, a[0], &f)) return otherwise;
    return oxi_jinja_int_of_float(j, f, otherwise);
}

static oxi_jinja_value oxi_jinja_to_float(oxi_jinja *j, oxi_jinja_value *a) {
    double f;
    if (oxi_jinja_is_number(a[0])) return oxi_jinja_float(oxi_jinja_number(a[0]));
    if (a[0].type == OXI_JINJA_UNDEFINED) return oxi_jinja_of_undefined(j, a[0], oxi_jinja_word("float"));
    if (a[0].type == OXI_JINJA_STRING && oxi_jinja_parse_float(j, a[0], &f)) return oxi_jinja_float(f);
    return a[1].type == OXI_JINJA_MISSING ? oxi_jinja_float(0) : a[1];
}

static oxi_jinja_value oxi_jinja_abs(oxi_jinja *j, oxi_jinja_value *a) {
    if (!oxi_jinja_is_number(a[0])) return oxi_jinja_no_operation(j, "no absolute value", a[0], a[0]);
    if (a[0].type == OXI_JINJA_FLOAT) return oxi_jinja_float(fabs(a[0].as.f));
    return a[0].as.i < 0 ? oxi_jinja_unary(j, OXI_JINJA_NEGATE, a[0]) : oxi_jinja_int(a[0].as.i);
}

/* To the nearest with `precision` digits, halves as the exact binary value lies. */
static OXI_NOINLINE double oxi_jinja_round_float(double f, int64_t precision) {
    char text[512], digits[400];
    size_t count = 0;
    if (precision > 22 || f != f || fabs(f) > DBL_MAX) return f;
    if (precision <= 0) {
        const double scale = pow(10, (double)(precision < -330 ? 330 : -precision));
        const double down = floor(fabs(f) / scale), rest = fabs(f) / scale - down;
        const double up = rest > 0.5 || (rest == 0.5 && fmod(down, 2) == 1) ? down + 1 : down;
        return copysign(up * scale, f);
    }
    (void)snprintf(text, sizeof text, "%.*f", (int)precision, fabs(f));
    for (const char *p = text; *p && count < sizeof digits; p++)
        if (oxi_is_digit(*p)) digits[count++] = *p;
    return copysign(oxi_json_double(digits, digits + count, -precision), f);
}

static oxi_jinja_value oxi_jinja_round(oxi_jinja *j, oxi_jinja_value *a) {
    const int64_t precision = oxi_jinja_int_argument(j, a[1], 0);
    const oxi_jinja_value method = a[2].type == OXI_JINJA_MISSING ? oxi_jinja_word("common") : a[2];
    const bool common = oxi_jinja_is_text(method, "common"), up = oxi_jinja_is_text(method, "ceil");
    if (!common && !up && !oxi_jinja_is_text(method, "floor"))
        return oxi_jinja_fail(j, "round: the method is common, ceil or floor");
    if (!oxi_jinja_is_number(a[0])) return oxi_jinja_no_operation(j, "no rounding", a[0], a[0]);
    if (common && a[0].type != OXI_JINJA_FLOAT && precision >= 0) return oxi_jinja_int(a[0].as.i);
    const double f = oxi_jinja_number(a[0]);
    if (common) {
        const double rounded = oxi_jinja_round_float(f, precision);
        return a[0].type == OXI_JINJA_FLOAT ? oxi_jinja_float(rounded)
                                            : oxi_jinja_int_of_float(j, rounded, a[0]);
    }
    const double scale = pow(10, (double)precision);
    /* Python's floor and ceil are integers, which have no -0 */
    return oxi_jinja_float(((up ? ceil(f * scale) : floor(f * scale)) + 0.0) / scale);
}

/* ---- any value ----------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_default(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    const bool missing =
        a[0].type == OXI_JINJA_UNDEFINED || (oxi_jinja_truth(a[2]) && !oxi_jinja_truth(a[0]));
    if (!missing) return a[0];
    return a[1].type == OXI_JINJA_MISSING ? oxi_jinja_word("") : a[1];
}

static oxi_jinja_value oxi_jinja_filter_attr(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value name = oxi_jinja_string(j, a[1]);
    if (a[0].type != OXI_JINJA_DICT) return oxi_jinja_attribute(j, a[0], name);
    return oxi_jinja_method_value(j, a[0], name); /* of a dict only what Python calls attributes */
}

static oxi_jinja_value oxi_jinja_filter_length(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_int(oxi_jinja_length(j, a[0]));
}
