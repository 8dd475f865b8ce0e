/* Filters of texts that are rare in chat templates: pprint, wordwrap, filesizeformat, striptags, xmlattr,
 * random. As Python's pprint and textwrap do it.
 * Called through oxi_jinja_apply. */

/* ---- pprint -------------------------------------------------------------------------------------------- */

enum { OXI_JINJA_PRETTY_WIDTH = 80 };

static void oxi_jinja_pretty(oxi_jinja *j, oxi_jinja_value v, int64_t indent, int64_t allowance, int level);

/* Keys in the order of their values, or of their types' names where these have no order. */
static int oxi_jinja_compare_pretty(const void *user, uint32_t a, uint32_t b) {
    const oxi_jinja_key_order *order = (const oxi_jinja_key_order *)user;
    const oxi_jinja_value x = order->dict->entries[a].key, y = order->dict->entries[b].key;
    const bool texts = x.type == OXI_JINJA_STRING && y.type == OXI_JINJA_STRING;
    if (texts || (oxi_jinja_is_number(x) && oxi_jinja_is_number(y))) return oxi_jinja_order(order->j, x, y);
    return strcmp(oxi_jinja_type_name(x), oxi_jinja_type_name(y));
}

/* A dict and all within it, by keys. */
static oxi_jinja_value oxi_jinja_sorted_deep(oxi_jinja *j, oxi_jinja_value v) {
    if (!oxi_jinja_enter(j)) {
        oxi_jinja_leave(j);
        return v;
    }
    if (v.type == OXI_JINJA_LIST || v.type == OXI_JINJA_TUPLE) {
        oxi_jinja_value list = oxi_jinja_list_new(j, (oxi_jinja_type)v.type, v.as.list->count);
        for (size_t i = 0; i < v.as.list->count && !j->status; i++)
            oxi_jinja_push(j, list.as.list, oxi_jinja_sorted_deep(j, v.as.list->items[i]));
        v = list;
    } else if (v.type == OXI_JINJA_DICT) {
        const oxi_jinja_dict *dict = v.as.dict;
        const oxi_jinja_key_order user = {j, dict};
        uint32_t *order = (uint32_t *)oxi_jinja_alloc_array(j, dict->count, 2 * sizeof *order);
        if (order)
            oxi_sort_indexes(order, order + dict->count, (uint32_t)dict->count, oxi_jinja_compare_pretty,
                             &user);
        oxi_jinja_value sorted = oxi_jinja_dict_new(j);
        for (size_t i = 0; i < dict->count && !j->status; i++)
            oxi_jinja_dict_set(j, sorted.as.dict, dict->entries[order[i]].key,
                               oxi_jinja_sorted_deep(j, dict->entries[order[i]].value));
        v = sorted;
    }
    oxi_jinja_leave(j);
    return v;
}

static int64_t oxi_jinja_repr_length(oxi_jinja *j, oxi_jinja_value v) {
    return oxi_jinja_length(j, oxi_jinja_repr(j, v));
}

static void oxi_jinja_pretty_line(oxi_jinja *j, int64_t indent) {
    oxi_jinja_write(j, "\n", 1);
    oxi_jinja_write_many(j, ' ', indent);
}

/* The end of the word at text[at] and of the white space behind it. */
static size_t oxi_jinja_word_end(oxi_jinja_value text, size_t at) {
    for (int part = 0; part < 2; part++)
        while (at < text.length) {
            size_t next = at;
            if (oxi_jinja_is_space(oxi_utf8_code(text.as.text, text.length, &next)) != (part == 1)) break;
            at = next;
        }
    return at;
}

/* A line that is too long in pieces of whole words. */
static void oxi_jinja_pretty_words(oxi_jinja *j, oxi_jinja_list *chunks, oxi_jinja_value line, int64_t width,
                                   int64_t last_width) {
    oxi_jinja_value current = oxi_jinja_text(line.as.text, 0);
    for (size_t at = 0; at < line.length && oxi_jinja_step(j, 1);) {
        const size_t end = oxi_jinja_word_end(line, at);
        const oxi_jinja_value candidate = oxi_jinja_text(current.as.text, current.length + (end - at));
        if (oxi_jinja_repr_length(j, candidate) > (end == line.length ? last_width : width)) {
            if (current.length) oxi_jinja_push(j, chunks, oxi_jinja_repr(j, current));
            current = oxi_jinja_text(line.as.text + at, end - at);
        } else
            current = candidate;
        at = end;
    }
    if (current.length) oxi_jinja_push(j, chunks, oxi_jinja_repr(j, current));
}

static void oxi_jinja_pretty_text(oxi_jinja *j, oxi_jinja_value v, int64_t indent, int64_t allowance,
                                  int level) {
    const oxi_jinja_value lines = oxi_jinja_lines(j, v, true);
    oxi_jinja_value chunks = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
    const bool brackets = level == 1;
    indent += brackets;
    allowance += brackets;
    const int64_t width = OXI_JINJA_PRETTY_WIDTH - indent;
    for (size_t i = 0; !j->status && i < lines.as.list->count; i++) {
        const oxi_jinja_value line = lines.as.list->items[i], rep = oxi_jinja_repr(j, line);
        const int64_t last = i + 1 == lines.as.list->count ? width - allowance : width;
        if (oxi_jinja_length(j, rep) <= last)
            oxi_jinja_push(j, chunks.as.list, rep);
        else
            oxi_jinja_pretty_words(j, chunks.as.list, line, width, last);
    }
    if (j->status) return;
    const oxi_jinja_list *list = chunks.as.list;
    if (brackets && list->count > 1) oxi_jinja_write(j, "(", 1);
    for (size_t i = 0; i < list->count && !j->status; i++) {
        if (i) oxi_jinja_pretty_line(j, indent);
        oxi_jinja_write(j, list->items[i].as.text, list->items[i].length);
    }
    if (brackets && list->count > 1) oxi_jinja_write(j, ")", 1);
}

static void oxi_jinja_pretty_items(oxi_jinja *j, oxi_jinja_value v, int64_t indent, int64_t allowance,
                                   int level) {
    const oxi_jinja_list *list = v.as.list;
    const bool tuple = v.type == OXI_JINJA_TUPLE;
    const char *end = !tuple ? "]" : list->count == 1 ? ",)" : ")";
    oxi_jinja_write_text(j, tuple ? "(" : "[");
    for (size_t i = 0; i < list->count && oxi_jinja_step(j, 1); i++) {
        if (i) oxi_jinja_write(j, ",", 1);
        if (i) oxi_jinja_pretty_line(j, indent + 1);
        oxi_jinja_pretty(j, list->items[i], indent + 1,
                         i + 1 == list->count ? allowance + (int64_t)strlen(end) : 1, level);
    }
    oxi_jinja_write_text(j, end);
}

static void oxi_jinja_pretty_entries(oxi_jinja *j, const oxi_jinja_dict *dict, int64_t indent,
                                     int64_t allowance, int level) {
    oxi_jinja_write(j, "{", 1);
    for (size_t i = 0; i < dict->count && oxi_jinja_step(j, 1); i++) {
        const oxi_jinja_value key = oxi_jinja_repr(j, dict->entries[i].key);
        if (i) oxi_jinja_write(j, ",", 1);
        if (i) oxi_jinja_pretty_line(j, indent + 1);
        oxi_jinja_write(j, key.as.text, key.length);
        oxi_jinja_write(j, ": ", 2);
        if (j->status) return;
        oxi_jinja_pretty(j, dict->entries[i].value, indent + 3 + oxi_jinja_length(j, key),
                         i + 1 == dict->count ? allowance + 1 : 1, level);
    }
    oxi_jinja_write(j, "}", 1);
}

static void oxi_jinja_pretty(oxi_jinja *j, oxi_jinja_value v, int64_t indent, int64_t allowance, int level) {
    const oxi_jinja_value rep = oxi_jinja_repr(j, v);
    const bool fits = oxi_jinja_length(j, rep) <= OXI_JINJA_PRETTY_WIDTH - indent - allowance;
    const bool items = (v.type == OXI_JINJA_LIST || v.type == OXI_JINJA_TUPLE) && v.as.list->count;
    if (!oxi_jinja_enter(j)) {
        oxi_jinja_leave(j);
        return;
    }
    if (!fits && v.type == OXI_JINJA_STRING && !v.safe)
        oxi_jinja_pretty_text(j, v, indent, allowance, level + 1);
    else if (!fits && items)
        oxi_jinja_pretty_items(j, v, indent, allowance, level + 1);
    else if (!fits && v.type == OXI_JINJA_DICT && v.as.dict->count)
        oxi_jinja_pretty_entries(j, v.as.dict, indent, allowance, level + 1);
    else
        oxi_jinja_write(j, rep.as.text, rep.length);
    oxi_jinja_leave(j);
}

static oxi_jinja_value oxi_jinja_pprint(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value sorted = oxi_jinja_sorted_deep(j, a[0]);
    const size_t start = j->out_length;
    if (!j->status) oxi_jinja_pretty(j, sorted, 0, 0, 0);
    return oxi_jinja_take(j, start);
}

/* ---- wordwrap ------------------------------------------------------------------------------------------ */

static bool oxi_jinja_wraps_at(char c) { /* textwrap knows these alone */
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool oxi_jinja_is_letter(uint32_t code) {
    return code == '_' || oxi_jinja_is_cased(code) ||
           (code >= 0xAA && oxi_jinja_is_printable(code) && !oxi_jinja_is_space(code));
}

static bool oxi_jinja_is_word_code(uint32_t code) {
    return (code >= '0' && code <= '9') || oxi_jinja_is_letter(code);
}

/* The character that begins at `at`, or that which ends there (`back`); 0 = none. */
static uint32_t oxi_jinja_near(oxi_jinja_value t, size_t at, bool back) {
    if (back ? at == 0 : at >= t.length) return 0;
    if (back) at--;
    while (back && at > 0 && ((unsigned char)t.as.text[at] & 0xC0) == 0x80) at--;
    return oxi_utf8_code(t.as.text, t.length, &at);
}

/* Whether a word may be broken behind the hyphen that ends at `at`: letters are on both sides of it. */
static bool oxi_jinja_breaks_behind(oxi_jinja_value t, size_t at) {
    const size_t hyphen = at - 1;
    size_t before = hyphen, after = at;
    if (!oxi_jinja_is_letter(oxi_jinja_near(t, hyphen, true))) return false;
    while (before > 0 && ((unsigned char)t.as.text[before - 1] & 0xC0) == 0x80) before--;
    if (before > 0) before--;
    uint32_t far = oxi_jinja_near(t, before, true); /* "ab-" or "a-b-" */
    if (far == '-') far = oxi_jinja_near(t, before - 1, true);
    if (!oxi_jinja_is_letter(far)) return false;
    if (!oxi_jinja_is_letter(oxi_jinja_near(t, at, false))) return false;
    (void)oxi_utf8_code(t.as.text, t.length, &after);
    far = oxi_jinja_near(t, after, false);
    if (far == '-') far = oxi_jinja_near(t, after + 1, false);
    return oxi_jinja_is_letter(far);
}

/* The end of the run of hyphens at `at`, if a dash of two or more stands between words there; 0 = none. */
static size_t oxi_jinja_dash_end(oxi_jinja_value t, size_t at) {
    const uint32_t before = oxi_jinja_near(t, at, true);
    size_t end = at;
    while (end < t.length && t.as.text[end] == '-') end++;
    const bool between =
        oxi_jinja_is_word_code(before) || (before && before < 0x80 && strchr("!\"'&.,?", (int)before));
    return end >= at + 2 && between && oxi_jinja_is_word_code(oxi_jinja_near(t, end, false)) ? end : 0;
}

/* The end of the piece of a line that begins at `at`: white space, a dash, or (a part of) a word. */
static size_t oxi_jinja_piece_end(oxi_jinja_value t, size_t at, bool hyphens) {
    const bool space = oxi_jinja_wraps_at(t.as.text[at]);
    size_t end = at;
    if (hyphens && !space && t.as.text[at] == '-' && (end = oxi_jinja_dash_end(t, at)) > 0) return end;
    for (end = at + 1; end < t.length && oxi_jinja_wraps_at(t.as.text[end]) == space; end++) {
        if (!hyphens || space) continue;
        if (t.as.text[end - 1] == '-' && end - 1 > at && t.as.text[end] != '-' &&
            oxi_jinja_breaks_behind(t, end))
            break;
        if (t.as.text[end] == '-' && t.as.text[end - 1] != '-' && oxi_jinja_dash_end(t, end)) break;
    }
    return end;
}

/* Where a piece of more than `width` characters is cut: behind its last hyphen that fits, or at the width. */
static size_t oxi_jinja_long_end(oxi_jinja_value t, size_t at, size_t end, int64_t room, bool hyphens) {
    const size_t cut = at + oxi_jinja_byte_of(t.as.text + at, end - at, (size_t)room);
    for (size_t i = cut; hyphens && i > at + 1; i--) {
        if (t.as.text[i - 1] != '-') continue;
        for (size_t k = at; k < i - 1; k++)
            if (t.as.text[k] != '-') return i;
        break;
    }
    return cut;
}

typedef struct oxi_jinja_wrap {
    int64_t width;
    bool breaks, hyphens;
    oxi_jinja_value by;
} oxi_jinja_wrap;

/* One line of a text as lines of at most `width` characters. */
static void oxi_jinja_wrap_line(oxi_jinja *j, const oxi_jinja_wrap *w, oxi_jinja_value t) {
    int64_t used = 0;          /* characters of the line that is being made */
    size_t start = 0, end = 0; /* its bytes; white space at its end is not among them */
    size_t piece = 0;          /* where the piece at `at` ends, of which a part may be gone */
    bool any = false;
    for (size_t at = 0; at < t.length && oxi_jinja_step(j, 1);) {
        if (at >= piece) piece = oxi_jinja_piece_end(t, at, w->hyphens);
        size_t next = piece;
        const bool space = oxi_jinja_wraps_at(t.as.text[at]);
        int64_t length = (int64_t)oxi_jinja_characters(t.as.text + at, next - at);
        if (space && used == 0 && any) { /* at the start of a line, but for the first */
            at = next;
            start = end = at;
            continue;
        }
        if (used + length > w->width) {
            const bool cuts = length > w->width;
            const int64_t room = w->width - used;
            if (cuts && w->breaks && room > 0) {
                next = oxi_jinja_long_end(t, at, next, room, w->hyphens);
                if (!space) end = next;
                at = next;
            } else if (cuts && used == 0) {
                if (!space) end = next;
                at = next;
            }
            if (end > start) {
                if (any) oxi_jinja_write(j, w->by.as.text, w->by.length);
                oxi_jinja_write(j, t.as.text + start, end - start);
                any = true;
            }
            start = end = at;
            used = 0;
            continue;
        }
        used += length;
        if (!space) end = next;
        at = next;
    }
    if (end > start && any) oxi_jinja_write(j, w->by.as.text, w->by.length);
    if (end > start) oxi_jinja_write(j, t.as.text + start, end - start);
}

static oxi_jinja_value oxi_jinja_wordwrap(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_wrap w;
    const size_t start = j->out_length;
    w.width = oxi_jinja_int_argument(j, a[1], 79);
    w.breaks = a[2].type == OXI_JINJA_MISSING || oxi_jinja_truth(a[2]);
    w.by = a[3].type == OXI_JINJA_STRING ? a[3] : oxi_jinja_word("\n");
    w.hyphens = a[4].type == OXI_JINJA_MISSING || oxi_jinja_truth(a[4]);
    if (!oxi_jinja_text_argument(j, a[0])) return a[0];
    const oxi_jinja_value lines = oxi_jinja_lines(j, a[0], false);
    for (size_t i = 0; !j->status && i < lines.as.list->count; i++) {
        if (i) oxi_jinja_write(j, w.by.as.text, w.by.length);
        if (w.width < 1 && lines.as.list->items[i].length)
            return oxi_jinja_fail(j, "wordwrap: a width below 1");
        oxi_jinja_wrap_line(j, &w, lines.as.list->items[i]);
    }
    return oxi_jinja_take(j, start);
}

/* ---- sizes, tags, attributes --------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_filesizeformat(oxi_jinja *j, oxi_jinja_value *a) {
    static const char *const units[] = {"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"};
    const bool binary = oxi_jinja_truth(a[1]);
    const double base = binary ? 1024 : 1000;
    const size_t start = j->out_length;
    double bytes = 0, unit = base;
    oxi_jinja_spec spec;
    if (oxi_jinja_is_number(a[0]))
        bytes = oxi_jinja_number(a[0]);
    else if (a[0].type != OXI_JINJA_STRING || !oxi_jinja_parse_float(j, a[0], &bytes))
        return oxi_jinja_fail(j, "filesizeformat of what is no number");
    if (bytes != bytes || fabs(bytes) > 1e300) return oxi_jinja_fail(j, "filesizeformat of no finite number");
    if (bytes == 1) return oxi_jinja_word("1 Byte");
    memset(&spec, 0, sizeof spec);
    spec.fill = ' ';
    spec.type = 'f';
    spec.precision = 1;
    if (bytes < base) {
        if (!(bytes > -9e18)) return oxi_jinja_fail(j, "filesizeformat of a number that is too small");
        oxi_jinja_write_int(j, (int64_t)bytes);
        oxi_jinja_write_text(j, " Bytes");
        return oxi_jinja_take(j, start);
    }
    size_t i = 0;
    for (unit = base * base; i < 7 && bytes >= unit; i++) unit *= base;
    oxi_jinja_write_number(j, oxi_jinja_float(base * bytes / unit), &spec);
    oxi_jinja_write(j, " ", 1);
    oxi_jinja_write(j, binary && i == 0 ? "K" : units[i], 1);
    oxi_jinja_write_text(j, binary ? "iB" : "B");
    return oxi_jinja_take(j, start);
}

/* The text without what stands between `open` and `close`. */
static oxi_jinja_value oxi_jinja_cut_between(oxi_jinja *j, oxi_jinja_value t, const char *open,
                                             const char *close) {
    const oxi_jinja_value first = oxi_jinja_word(open), last = oxi_jinja_word(close);
    const size_t start = j->out_length;
    size_t at = 0;
    while (at < t.length && oxi_jinja_step(j, 1)) {
        const size_t from = oxi_jinja_find_text(j, t, first, at);
        const size_t to = from <= t.length ? oxi_jinja_find_text(j, t, last, from) : from;
        if (to > t.length) break;
        oxi_jinja_write(j, t.as.text + at, from - at);
        at = to + last.length;
    }
    oxi_jinja_write(j, t.as.text + at, t.length - at);
    return oxi_jinja_take(j, start);
}

/* An entity at t[*at], which is '&': writes what it stands for, or the '&'. */
static void oxi_jinja_write_entity(oxi_jinja *j, oxi_jinja_value t, size_t *at) {
    static const struct {
        const char *name;
        uint32_t code;
    } names[] = {{"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}, {"nbsp;", 0xA0},
                 {"amp", '&'},  {"lt", '<'},  {"gt", '>'},  {"quot", '"'},  {"nbsp", 0xA0}};
    const size_t left = t.length - *at - 1;
    const char *text = t.as.text + *at + 1;
    size_t end = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const size_t length = strlen(names[i].name);
        if (length > left || memcmp(names[i].name, text, length) != 0) continue;
        oxi_jinja_write_code(j, names[i].code);
        *at += 1 + length;
        return;
    }
    while (end < left && end < 40 && (oxi_is_digit(text[end]) || (text[end] | 32) >= 'a') &&
           (oxi_is_digit(text[end]) || (text[end] | 32) <= 'z'))
        end++;
    if (left && *text == '#') {
        const bool hex = left > 1 && (text[1] | 32) == 'x';
        uint32_t code = 0;
        size_t digits = hex ? 2 : 1;
        const size_t first = digits;
        for (; digits < left && (hex ? oxi_hex_digit(text[digits]) >= 0 : oxi_is_digit(text[digits]));
             digits++)
            if (code < 0x1000000) code = code * (hex ? 16 : 10) + (uint32_t)oxi_hex_digit(text[digits]);
        if (digits > first) {
            if (digits < left && text[digits] == ';') digits++;
            if ((code < 0x20 && code != '\t' && code != '\n') || (code >= 0x7F && code < 0xA0) ||
                (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF)
                (void)oxi_jinja_fail(j, "striptags: a character that is not supported");
            else
                oxi_jinja_write_code(j, code);
            *at += 1 + digits;
            return;
        }
    } else if (end && end < left && text[end] == ';') {
        (void)oxi_jinja_fail(j, "striptags: the entity &%.*s; is not supported", (int)end, text);
        return;
    }
    oxi_jinja_write(j, "&", 1);
    ++*at;
}

static oxi_jinja_value oxi_jinja_striptags(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value t = oxi_jinja_string(j, a[0]);
    t = oxi_jinja_cut_between(j, t, "<!--", "-->");
    t = oxi_jinja_cut_between(j, t, "<", ">");
    const size_t start = j->out_length;
    bool space = false, any = false;
    for (size_t at = 0; at < t.length && oxi_jinja_step(j, 1);) {
        size_t next = at;
        const uint32_t code = oxi_utf8_code(t.as.text, t.length, &next);
        const bool is_space = oxi_jinja_is_space(code);
        if (!is_space && space && any) oxi_jinja_write(j, " ", 1);
        space = is_space;
        any = any || !is_space;
        if (code == '&')
            oxi_jinja_write_entity(j, t, &at);
        else {
            if (!is_space) oxi_jinja_write(j, t.as.text + at, next - at);
            at = next;
        }
    }
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_xmlattr(oxi_jinja *j, oxi_jinja_value *a) {
    const bool spaced = a[1].type == OXI_JINJA_MISSING || oxi_jinja_truth(a[1]);
    const size_t start = j->out_length;
    bool any = false;
    if (a[0].type != OXI_JINJA_DICT) return oxi_jinja_no_operation(j, "xmlattr", a[0], a[0]);
    for (size_t i = 0; i < a[0].as.dict->count && oxi_jinja_step(j, 1); i++) {
        const oxi_jinja_entry *entry = &a[0].as.dict->entries[i];
        if (entry->value.type == OXI_JINJA_NONE || entry->value.type == OXI_JINJA_UNDEFINED) continue;
        const oxi_jinja_value key = oxi_jinja_escaped(j, entry->key),
                              value = oxi_jinja_escaped(j, entry->value);
        if (!oxi_jinja_text_argument(j, entry->key)) break;
        for (size_t k = 0; k < entry->key.length; k++)
            if (oxi_jinja_wraps_at(entry->key.as.text[k]) || strchr("/>=", entry->key.as.text[k]))
                return oxi_jinja_fail(j, "xmlattr: a name with a character that is not allowed");
        if (any || spaced) oxi_jinja_write(j, " ", 1);
        any = true;
        oxi_jinja_write(j, key.as.text, key.length);
        oxi_jinja_write(j, "=\"", 2);
        oxi_jinja_write(j, value.as.text, value.length);
        oxi_jinja_write(j, "\"", 1);
    }
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_urlize(oxi_jinja *j, oxi_jinja_value *a) {
    (void)a;
    return oxi_jinja_fail(j, "urlize is not supported");
}

/* ---- chance -------------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_random(oxi_jinja *j, oxi_jinja_value *a) {
    uint32_t bits[4];
    if (a[0].type == OXI_JINJA_GENERATOR || (!oxi_jinja_is_sequence(a[0]) && a[0].type != OXI_JINJA_STRING))
        return oxi_jinja_fail(j, "random of %s", oxi_jinja_type_name(a[0]));
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    if (!items || !items->count) return oxi_jinja_undefined("a choice of nothing", 19);
    oxi_philox(j->seed, 0, j->randoms++, bits);
    return items->items[(((uint64_t)bits[0] << 32 | bits[1]) % items->count)];
}
