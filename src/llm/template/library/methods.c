/* Methods of strings, lists, dicts and loops, with a table for each type.
 * Lists and dicts may be changed, as templates do that transformers' own sandbox refuses.
 * Called through oxi_jinja_apply. */

/* ---- strings ------------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_str_strip(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_strip(j, a[0], a[1], true, true);
}
static oxi_jinja_value oxi_jinja_str_lstrip(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_strip(j, a[0], a[1], true, false);
}
static oxi_jinja_value oxi_jinja_str_rstrip(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_strip(j, a[0], a[1], false, true);
}
static oxi_jinja_value oxi_jinja_str_title(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_title_of(j, a[0], false);
}

/* Words between white space; from the right if `right`, and at most `most` cuts. */
static void oxi_jinja_split_spaces(oxi_jinja *j, oxi_jinja_value text, int64_t most, bool right,
                                   oxi_jinja_list *out) {
    const oxi_jinja_value none = oxi_jinja_none();
    oxi_jinja_value rest = oxi_jinja_strip(j, text, none, !right, right);
    while (rest.length && !j->status) {
        size_t end = 0, at = rest.length;
        if (most-- == 0) {
            oxi_jinja_push(j, out, rest);
            return;
        }
        if (right) {
            while (at > 0) {
                size_t start = at - 1;
                while (start > 0 && ((unsigned char)rest.as.text[start] & 0xC0) == 0x80) start--;
                size_t next = start;
                if (oxi_jinja_is_space(oxi_utf8_code(rest.as.text, rest.length, &next))) break;
                at = start;
            }
            oxi_jinja_push(j, out, oxi_jinja_text(rest.as.text + at, rest.length - at));
            rest = oxi_jinja_strip(j, oxi_jinja_text(rest.as.text, at), none, false, true);
            continue;
        }
        while (end < rest.length) {
            size_t next = end;
            if (oxi_jinja_is_space(oxi_utf8_code(rest.as.text, rest.length, &next))) break;
            end = next;
        }
        oxi_jinja_push(j, out, oxi_jinja_text(rest.as.text, end));
        rest = oxi_jinja_strip(j, oxi_jinja_text(rest.as.text + end, rest.length - end), none, true, false);
    }
}

/* The last place of `part` that ends at `end` or before it, or text.length + 1. */
static size_t oxi_jinja_rfind_text(oxi_jinja *j, oxi_jinja_value text, oxi_jinja_value part, size_t end) {
    if (part.length > end) return (size_t)text.length + 1;
    for (size_t at = end - part.length + 1; at-- > 0;) {
        if (part.length && text.as.text[at] != part.as.text[0]) continue;
        if (!oxi_jinja_step(j, 1 + part.length / 64)) break;
        if (part.length == 0 || memcmp(text.as.text + at, part.as.text, part.length) == 0) return at;
    }
    return (size_t)text.length + 1;
}

static void oxi_jinja_split_by(oxi_jinja *j, oxi_jinja_value text, oxi_jinja_value by, int64_t most,
                               bool right, oxi_jinja_list *out) {
    size_t start = 0, end = text.length;
    for (; most != 0 && !j->status; most--) {
        const size_t hit =
            right ? oxi_jinja_rfind_text(j, text, by, end) : oxi_jinja_find_text(j, text, by, start);
        if (hit > text.length) break;
        if (right) {
            oxi_jinja_push(j, out, oxi_jinja_text(text.as.text + hit + by.length, end - hit - by.length));
            end = hit;
        } else {
            oxi_jinja_push(j, out, oxi_jinja_text(text.as.text + start, hit - start));
            start = hit + by.length;
        }
    }
    oxi_jinja_push(j, out, oxi_jinja_text(text.as.text + start, end - start));
}

static oxi_jinja_value oxi_jinja_split_from(oxi_jinja *j, oxi_jinja_value *a, bool right) {
    const int64_t most = oxi_jinja_int_argument(j, a[2], -1);
    const bool spaces = a[1].type == OXI_JINJA_MISSING || a[1].type == OXI_JINJA_NONE;
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
    if (j->status || (!spaces && !oxi_jinja_text_argument(j, a[1]))) return list;
    if (!spaces && a[1].length == 0) return oxi_jinja_fail(j, "split: an empty separator");
    if (spaces)
        oxi_jinja_split_spaces(j, a[0], most, right, list.as.list);
    else
        oxi_jinja_split_by(j, a[0], a[1], most, right, list.as.list);
    for (size_t i = 0; right && !j->status && i < list.as.list->count / 2; i++) {
        oxi_jinja_value *x = &list.as.list->items[i], *y = &list.as.list->items[list.as.list->count - 1 - i];
        const oxi_jinja_value kept = *x;
        *x = *y;
        *y = kept;
    }
    return list;
}

static oxi_jinja_value oxi_jinja_str_split(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_split_from(j, a, false);
}
static oxi_jinja_value oxi_jinja_str_rsplit(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_split_from(j, a, true);
}
static oxi_jinja_value oxi_jinja_str_splitlines(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_lines(j, a[0], oxi_jinja_truth(a[1]));
}

static oxi_jinja_value oxi_jinja_partition_at(oxi_jinja *j, oxi_jinja_value *a, bool right) {
    oxi_jinja_value parts = oxi_jinja_list_new(j, OXI_JINJA_TUPLE, 3);
    const oxi_jinja_value nothing = oxi_jinja_word("");
    if (!oxi_jinja_text_argument(j, a[1]) || !a[1].length)
        return oxi_jinja_fail(j, "partition: no separator");
    const size_t hit =
        right ? oxi_jinja_rfind_text(j, a[0], a[1], a[0].length) : oxi_jinja_find_text(j, a[0], a[1], 0);
    if (j->status) return parts;
    const bool found = hit <= a[0].length;
    const size_t behind = found ? hit + a[1].length : 0;
    const oxi_jinja_value before = oxi_jinja_text(a[0].as.text, found ? hit : 0);
    const oxi_jinja_value after = oxi_jinja_text(a[0].as.text + behind, a[0].length - behind);
    oxi_jinja_push(j, parts.as.list, found ? before : right ? nothing : a[0]);
    oxi_jinja_push(j, parts.as.list, found ? a[1] : nothing);
    oxi_jinja_push(j, parts.as.list, found ? after : right ? a[0] : nothing);
    return parts;
}

static oxi_jinja_value oxi_jinja_str_partition(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_partition_at(j, a, false);
}
static oxi_jinja_value oxi_jinja_str_rpartition(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_partition_at(j, a, true);
}

/* a[0] cut to the characters [a[at], a[at + 1]); false: there are none such. */
static bool oxi_jinja_cut(oxi_jinja *j, oxi_jinja_value *a, size_t at, oxi_jinja_value *text,
                          int64_t *start) {
    const int64_t length = oxi_jinja_length(j, a[0]);
    *start = 0;
    if (a[at].type == OXI_JINJA_INT && a[at].as.i > length) return false;
    *start = oxi_jinja_bound_of(j, a[at], length, 0, length, 0);
    const int64_t stop = oxi_jinja_bound_of(j, a[at + 1], length, 0, length, length);
    *text = j->status ? a[0] : oxi_jinja_slice_text(j, a[0], *start, stop, 1);
    return !j->status && stop >= *start;
}

static bool oxi_jinja_has_end(oxi_jinja_value text, oxi_jinja_value part, bool at_start) {
    return part.type == OXI_JINJA_STRING && part.length <= text.length &&
           memcmp(text.as.text + (at_start ? 0 : text.length - part.length), part.as.text, part.length) == 0;
}

static oxi_jinja_value oxi_jinja_any_end(oxi_jinja *j, oxi_jinja_value *a, bool at_start) {
    int64_t start;
    oxi_jinja_value text;
    if (a[1].type != OXI_JINJA_TUPLE && !oxi_jinja_text_argument(j, a[1])) return a[0];
    if (!oxi_jinja_cut(j, a, 2, &text, &start)) return oxi_jinja_bool(false);
    if (a[1].type == OXI_JINJA_STRING) return oxi_jinja_bool(oxi_jinja_has_end(text, a[1], at_start));
    for (size_t i = 0; i < a[1].as.list->count; i++) {
        if (!oxi_jinja_text_argument(j, a[1].as.list->items[i])) break;
        if (oxi_jinja_has_end(text, a[1].as.list->items[i], at_start)) return oxi_jinja_bool(true);
    }
    return oxi_jinja_bool(false);
}

static oxi_jinja_value oxi_jinja_str_startswith(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_any_end(j, a, true);
}
static oxi_jinja_value oxi_jinja_str_endswith(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_any_end(j, a, false);
}

static oxi_jinja_value oxi_jinja_str_replace(oxi_jinja *j, oxi_jinja_value *a) {
    if (!oxi_jinja_text_argument(j, a[1]) || !oxi_jinja_text_argument(j, a[2])) return a[0];
    if (a[0].safe) a[2] = oxi_jinja_escaped(j, a[2]);
    return oxi_jinja_replace_in(j, a[0], a[1], a[2], oxi_jinja_int_argument(j, a[3], -1));
}

static oxi_jinja_value oxi_jinja_str_join(oxi_jinja *j, oxi_jinja_value *a) {
    const size_t start = j->out_length;
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[1]);
    for (size_t i = 0; items && !j->status && i < items->count; i++) {
        if (!a[0].safe && !oxi_jinja_text_argument(j, items->items[i])) break;
        if (i) oxi_jinja_write(j, a[0].as.text, a[0].length);
        const oxi_jinja_value item = a[0].safe ? oxi_jinja_escaped(j, items->items[i]) : items->items[i];
        oxi_jinja_write(j, item.as.text, item.length);
    }
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_position_of(oxi_jinja *j, oxi_jinja_value *a, bool right, bool must) {
    int64_t start = 0;
    oxi_jinja_value text = a[0];
    if (!oxi_jinja_text_argument(j, a[1])) return a[0];
    const bool within = oxi_jinja_cut(j, a, 2, &text, &start);
    const size_t hit = !within ? (size_t)text.length + 1
                       : right ? oxi_jinja_rfind_text(j, text, a[1], text.length)
                               : oxi_jinja_find_text(j, text, a[1], 0);
    if (hit <= text.length) return oxi_jinja_int(start + (int64_t)oxi_jinja_characters(text.as.text, hit));
    return must ? oxi_jinja_fail(j, "index: there is no such part") : oxi_jinja_int(-1);
}

static oxi_jinja_value oxi_jinja_str_find(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_position_of(j, a, false, false);
}
static oxi_jinja_value oxi_jinja_str_rfind(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_position_of(j, a, true, false);
}
static oxi_jinja_value oxi_jinja_str_index(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_position_of(j, a, false, true);
}

static oxi_jinja_value oxi_jinja_str_count(oxi_jinja *j, oxi_jinja_value *a) {
    int64_t start, count = 0;
    oxi_jinja_value text;
    if (!oxi_jinja_text_argument(j, a[1]) || !oxi_jinja_cut(j, a, 2, &text, &start)) return oxi_jinja_int(0);
    if (!a[1].length) return oxi_jinja_int(oxi_jinja_length(j, text) + 1);
    for (size_t at = 0; !j->status; count++) {
        at = oxi_jinja_find_text(j, text, a[1], at);
        if (at > text.length) break;
        at += a[1].length;
    }
    return oxi_jinja_int(count);
}

static oxi_jinja_value oxi_jinja_str_format(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_brace_format(j, a[0], a[1], a[2]);
}

static oxi_jinja_value oxi_jinja_str_removeprefix(oxi_jinja *j, oxi_jinja_value *a) {
    if (!oxi_jinja_text_argument(j, a[1]) || !oxi_jinja_has_end(a[0], a[1], true)) return a[0];
    return oxi_jinja_text(a[0].as.text + a[1].length, a[0].length - a[1].length);
}
static oxi_jinja_value oxi_jinja_str_removesuffix(oxi_jinja *j, oxi_jinja_value *a) {
    if (!oxi_jinja_text_argument(j, a[1]) || !oxi_jinja_has_end(a[0], a[1], false)) return a[0];
    return oxi_jinja_text(a[0].as.text, a[0].length - a[1].length);
}

/* ljust, rjust and center: the fill is one ASCII character. */
static oxi_jinja_value oxi_jinja_justify(oxi_jinja *j, oxi_jinja_value *a, char align) {
    const bool filled = a[2].type == OXI_JINJA_STRING;
    if (filled && (a[2].length != 1 || (unsigned char)a[2].as.text[0] >= 0x80))
        return oxi_jinja_fail(j, "the fill is not one ASCII character");
    return oxi_jinja_center_in(j, a[0], oxi_jinja_int_argument(j, a[1], 0), filled ? a[2].as.text[0] : ' ',
                               align);
}
static oxi_jinja_value oxi_jinja_str_ljust(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_justify(j, a, '<');
}
static oxi_jinja_value oxi_jinja_str_rjust(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_justify(j, a, '>');
}
static oxi_jinja_value oxi_jinja_str_center(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_justify(j, a, '^');
}

static oxi_jinja_value oxi_jinja_str_isspace(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_bool(a[0].length && !oxi_jinja_strip(j, a[0], oxi_jinja_none(), true, false).length);
}

/* Whether all characters, of which there is one, are of some categories, or in one of the ranges. */
static oxi_jinja_value oxi_jinja_all_in(oxi_jinja *j, oxi_jinja_value v, uint32_t categories,
                                        const uint32_t (*ranges)[2], size_t count) {
    if (!j->unicode) {
        j->unicode = (oxi_unicode *)oxi_calloc(1, sizeof *j->unicode);
        const ox_status status = j->unicode ? oxi_unicode_open(j->unicode, 0) : OX_ERR_NOMEM;
        if (status && !j->status) j->status = status;
    }
    for (size_t at = 0; at < v.length && oxi_jinja_step(j, 1);) {
        const uint32_t code = oxi_utf8_code(v.as.text, v.length, &at);
        if (!(oxi_category_bit(j->unicode, code) & categories) && !oxi_in_ranges(ranges, count, code))
            return oxi_jinja_bool(false);
    }
    return oxi_jinja_bool(v.length > 0);
}

static oxi_jinja_value oxi_jinja_str_isalpha(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_all_in(j, a[0], OXI_LETTERS, NULL, 0);
}

static oxi_jinja_value oxi_jinja_str_isalnum(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_all_in(j, a[0], OXI_LETTERS | OXI_NUMBERS, NULL, 0);
}

static oxi_jinja_value oxi_jinja_str_isdecimal(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_all_in(j, a[0], OXI_IN(OXI_ND), NULL, 0);
}

static oxi_jinja_value oxi_jinja_str_isnumeric(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_all_in(j, a[0], OXI_NUMBERS, NULL, 0);
}

/* Raised, lowered and circled digits are some as well. */
static oxi_jinja_value oxi_jinja_str_isdigit(oxi_jinja *j, oxi_jinja_value *a) {
    static const uint32_t more[][2] = {
        {0xB2, 0xB3},     {0xB9, 0xB9},     {0x2070, 0x2070}, {0x2074, 0x2079}, {0x2080, 0x2089},
        {0x2460, 0x2468}, {0x2474, 0x247C}, {0x2488, 0x2490}, {0x24EA, 0x24EA}, {0x24F5, 0x24FD},
        {0x24FF, 0x24FF}, {0x2776, 0x277E}, {0x2780, 0x2788}, {0x278A, 0x2792}, {0x1F100, 0x1F10A}};
    return oxi_jinja_all_in(j, a[0], OXI_IN(OXI_ND), more, sizeof more / sizeof *more);
}

/* Words begin with a capital letter and go on with small ones. */
static oxi_jinja_value oxi_jinja_str_istitle(oxi_jinja *j, oxi_jinja_value *a) {
    bool inside = false, any = false;
    for (size_t at = 0; at < a[0].length && oxi_jinja_step(j, 1);) {
        const uint32_t code = oxi_utf8_code(a[0].as.text, a[0].length, &at);
        const bool upper = oxi_jinja_to_lower(code) != code, cased = upper || oxi_jinja_is_cased(code);
        if (cased && upper == inside) return oxi_jinja_bool(false);
        inside = cased;
        any |= cased;
    }
    return oxi_jinja_bool(any);
}

static uint32_t oxi_jinja_swap_case(uint32_t code) {
    const uint32_t lower = oxi_jinja_to_lower(code);
    return lower != code ? lower : oxi_jinja_to_upper(code);
}

static oxi_jinja_value oxi_jinja_str_swapcase(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_map_case(j, a[0], oxi_jinja_swap_case);
}

static oxi_jinja_value oxi_jinja_str_casefold(oxi_jinja *j, oxi_jinja_value *a) {
    const size_t start = j->out_length;
    for (size_t at = 0; at < a[0].length && oxi_jinja_step(j, 1);) {
        const uint32_t code = oxi_utf8_code(a[0].as.text, a[0].length, &at);
        if (code == 0xDF || code == 0x1E9E)
            oxi_jinja_write(j, "ss", 2);
        else
            oxi_jinja_write_code(j, oxi_jinja_to_lower(code));
    }
    return oxi_jinja_take(j, start);
}

/* Zeros between a sign and the rest. */
static oxi_jinja_value oxi_jinja_str_zfill(oxi_jinja *j, oxi_jinja_value *a) {
    const int64_t width = oxi_jinja_int_argument(j, a[1], 0);
    const bool sign = a[0].length && (a[0].as.text[0] == '-' || a[0].as.text[0] == '+');
    int64_t missing = width - (int64_t)oxi_jinja_characters(a[0].as.text, a[0].length);
    const size_t start = j->out_length;
    if (sign) oxi_jinja_write(j, a[0].as.text, 1);
    for (; missing > 0 && oxi_jinja_step(j, 1); missing--) oxi_jinja_write(j, "0", 1);
    oxi_jinja_write(j, a[0].as.text + sign, a[0].length - sign);
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_str_expandtabs(oxi_jinja *j, oxi_jinja_value *a) {
    const int64_t size = oxi_jinja_int_argument(j, a[1], 8);
    const size_t start = j->out_length;
    int64_t column = 0;
    for (size_t at = 0; at < a[0].length && oxi_jinja_step(j, 1); at++) {
        const char c = a[0].as.text[at];
        int64_t blanks = c == '\t' && size > 0 ? size - column % size : 0;
        const int64_t wide = c == '\t' ? blanks : ((unsigned char)c & 0xC0) != 0x80;
        column = c == '\n' || c == '\r' ? 0 : column + wide;
        for (; blanks > 0 && oxi_jinja_step(j, 1); blanks--) oxi_jinja_write(j, " ", 1);
        if (c != '\t') oxi_jinja_write(j, &c, 1);
    }
    return oxi_jinja_take(j, start);
}

/* By a dict of codes: other codes, texts, or none for what is left out. */
static oxi_jinja_value oxi_jinja_str_translate(oxi_jinja *j, oxi_jinja_value *a) {
    const size_t start = j->out_length;
    if (a[1].type != OXI_JINJA_DICT)
        return oxi_jinja_fail(j, "translate by %s is not supported", oxi_jinja_type_name(a[1]));
    for (size_t at = 0; at < a[0].length && oxi_jinja_step(j, 1);) {
        const uint32_t code = oxi_utf8_code(a[0].as.text, a[0].length, &at);
        const oxi_jinja_value *to = oxi_jinja_dict_find(j, a[1].as.dict, oxi_jinja_int(code));
        const bool whole = to && (to->type == OXI_JINJA_INT || to->type == OXI_JINJA_BOOL);
        if (whole && (to->as.i < 0 || to->as.i > 0x10FFFF || (to->as.i >= 0xD800 && to->as.i < 0xE000)))
            return oxi_jinja_fail(j, "translate: %lld is no character", (long long)to->as.i);
        if (!to || whole)
            oxi_jinja_write_code(j, whole ? (uint32_t)to->as.i : code);
        else if (to->type == OXI_JINJA_STRING)
            oxi_jinja_write(j, to->as.text, to->length);
        else if (to->type != OXI_JINJA_NONE)
            return oxi_jinja_fail(j, "translate: to %s", oxi_jinja_type_name(*to));
    }
    return oxi_jinja_take(j, start);
}

/* ---- lists --------------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_list_append(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_push(j, a[0].as.list, a[1]);
    return oxi_jinja_none();
}

static oxi_jinja_value oxi_jinja_list_extend(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_list *more = oxi_jinja_iterate(j, a[1]);
    const size_t count = more ? more->count : 0; /* a list may extend itself */
    for (size_t i = 0; i < count && !j->status; i++) oxi_jinja_push(j, a[0].as.list, more->items[i]);
    return oxi_jinja_none();
}

static oxi_jinja_value oxi_jinja_list_insert(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_list *list = a[0].as.list;
    const int64_t count = (int64_t)list->count;
    const int64_t at = oxi_jinja_bound_of(j, a[1], count, 0, count, 0);
    oxi_jinja_push(j, list, a[2]);
    if (j->status || !oxi_jinja_step(j, list->count / 16)) return a[0];
    memmove(list->items + at + 1, list->items + at, (size_t)(count - at) * sizeof *list->items);
    list->items[at] = a[2];
    return oxi_jinja_none();
}

static oxi_jinja_value oxi_jinja_list_pop(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_list *list = a[0].as.list;
    int64_t at = oxi_jinja_int_argument(j, a[1], -1);
    if (at < 0) at += (int64_t)list->count;
    if (at < 0 || at >= (int64_t)list->count) return oxi_jinja_fail(j, "pop: there is no such element");
    const oxi_jinja_value v = list->items[at];
    if (!oxi_jinja_step(j, list->count / 16)) return v;
    memmove(list->items + at, list->items + at + 1, (list->count - (size_t)at - 1) * sizeof v);
    list->count--;
    return v;
}

static oxi_jinja_value oxi_jinja_list_reverse(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_list *list = a[0].as.list;
    if (!oxi_jinja_step(j, list->count / 16)) return a[0];
    for (size_t i = 0; i < list->count / 2; i++) {
        const oxi_jinja_value kept = list->items[i];
        list->items[i] = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = kept;
    }
    return oxi_jinja_none();
}

static oxi_jinja_value oxi_jinja_list_index(oxi_jinja *j, oxi_jinja_value *a) {
    for (size_t i = 0; i < a[0].as.list->count && oxi_jinja_step(j, 1); i++)
        if (oxi_jinja_equal(j, a[0].as.list->items[i], a[1])) return oxi_jinja_int((int64_t)i);
    return oxi_jinja_fail(j, "index: there is no such element");
}

static oxi_jinja_value oxi_jinja_list_count(oxi_jinja *j, oxi_jinja_value *a) {
    int64_t count = 0;
    for (size_t i = 0; i < a[0].as.list->count && oxi_jinja_step(j, 1); i++)
        count += oxi_jinja_equal(j, a[0].as.list->items[i], a[1]);
    return oxi_jinja_int(count);
}

static oxi_jinja_value oxi_jinja_list_copy(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_list_of(j, a[0], OXI_JINJA_LIST);
}

/* ---- dicts --------------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_view(oxi_jinja *j, oxi_jinja_value dict, const char *name, int which) {
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_VIEW, dict.as.dict->count);
    for (size_t i = 0; i < dict.as.dict->count && !j->status; i++) {
        const oxi_jinja_entry entry = dict.as.dict->entries[i];
        oxi_jinja_push(j, list.as.list,
                       which == 0   ? entry.key
                       : which == 1 ? entry.value
                                    : oxi_jinja_pair(j, entry.key, entry.value));
    }
    if (!j->status) list.as.list->name = name;
    return list;
}

static oxi_jinja_value oxi_jinja_dict_keys(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_view(j, a[0], "dict_keys", 0);
}
static oxi_jinja_value oxi_jinja_dict_values(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_view(j, a[0], "dict_values", 1);
}
static oxi_jinja_value oxi_jinja_dict_items(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_view(j, a[0], "dict_items", 2);
}

static oxi_jinja_value oxi_jinja_dict_get(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value *found = oxi_jinja_dict_find(j, a[0].as.dict, a[1]);
    return found ? *found : a[2].type == OXI_JINJA_MISSING ? oxi_jinja_none() : a[2];
}

static oxi_jinja_value oxi_jinja_dict_setdefault(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_value *found = oxi_jinja_dict_find(j, a[0].as.dict, a[1]);
    if (found) return *found;
    if (a[2].type == OXI_JINJA_MISSING) a[2] = oxi_jinja_none();
    oxi_jinja_dict_set(j, a[0].as.dict, a[1], a[2]);
    return a[2];
}

static oxi_jinja_value oxi_jinja_dict_pop(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value v = a[2];
    if (!oxi_jinja_step(j, a[0].as.dict->count / 16)) return v;
    if (oxi_jinja_dict_remove(j, a[0].as.dict, a[1], &v) || v.type != OXI_JINJA_MISSING) return v;
    return oxi_jinja_fail(j, "pop: there is no such key");
}

/* Entries of a dict, or pairs, into `to`. */
static void oxi_jinja_dict_add(oxi_jinja *j, oxi_jinja_dict *to, oxi_jinja_value from) {
    if (from.type == OXI_JINJA_DICT) {
        for (size_t i = 0; i < from.as.dict->count && !j->status; i++)
            oxi_jinja_dict_set(j, to, from.as.dict->entries[i].key, from.as.dict->entries[i].value);
        return;
    }
    const oxi_jinja_list *pairs = oxi_jinja_iterate(j, from);
    for (size_t i = 0; pairs && !j->status && i < pairs->count; i++) {
        const oxi_jinja_list *pair = oxi_jinja_iterate(j, pairs->items[i]);
        if (pair && pair->count == 2)
            oxi_jinja_dict_set(j, to, pair->items[0], pair->items[1]);
        else
            (void)oxi_jinja_fail(j, "a dict is made of pairs");
    }
}

static oxi_jinja_value oxi_jinja_dict_update(oxi_jinja *j, oxi_jinja_value *a) {
    for (size_t i = 0; i < a[1].as.list->count; i++)
        oxi_jinja_dict_add(j, a[0].as.dict, a[1].as.list->items[i]);
    oxi_jinja_dict_add(j, a[0].as.dict, a[2]);
    return oxi_jinja_none();
}

static oxi_jinja_value oxi_jinja_dict_copy(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_value copy = oxi_jinja_dict_new(j);
    if (!j->status) oxi_jinja_dict_add(j, copy.as.dict, a[0]);
    return copy;
}

/* ---- loops --------------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_loop_cycle(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_list *values = a[1].as.list;
    if (!values->count) return oxi_jinja_fail(j, "loop.cycle of nothing");
    return values->items[a[0].as.loop->at % values->count];
}

static oxi_jinja_value oxi_jinja_loop_changed(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_loop *loop = a[0].as.loop;
    const bool changed = loop->changed.type == OXI_JINJA_MISSING || !oxi_jinja_equal(j, loop->changed, a[1]);
    loop->changed = a[1];
    return oxi_jinja_bool(changed);
}

/* ---- cyclers and joiners ------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_cycler_next(oxi_jinja *j, oxi_jinja_value *a) {
    oxi_jinja_list *list = a[0].as.list;
    const oxi_jinja_value v = list->items[list->start];
    (void)j;
    list->start = (list->start + 1) % (int64_t)list->count;
    return v;
}

static oxi_jinja_value oxi_jinja_cycler_reset(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    a[0].as.list->start = 0;
    return oxi_jinja_none();
}

/* ---- the tables ---------------------------------------------------------------------------------------- */

static const oxi_jinja_function oxi_jinja_str_methods[] = {
    {"capitalize", "", oxi_jinja_capitalize},
    {"casefold", "", oxi_jinja_str_casefold},
    {"center", "width fill?", oxi_jinja_str_center},
    {"count", "sub start? end?", oxi_jinja_str_count},
    {"endswith", "suffix start? end?", oxi_jinja_str_endswith},
    {"expandtabs", "tabsize?", oxi_jinja_str_expandtabs},
    {"find", "sub start? end?", oxi_jinja_str_find},
    {"format", "* **", oxi_jinja_str_format},
    {"index", "sub start? end?", oxi_jinja_str_index},
    {"isalnum", "", oxi_jinja_str_isalnum},
    {"isalpha", "", oxi_jinja_str_isalpha},
    {"isdecimal", "", oxi_jinja_str_isdecimal},
    {"isdigit", "", oxi_jinja_str_isdigit},
    {"islower", "", oxi_jinja_is_lower},
    {"isnumeric", "", oxi_jinja_str_isnumeric},
    {"isspace", "", oxi_jinja_str_isspace},
    {"istitle", "", oxi_jinja_str_istitle},
    {"isupper", "", oxi_jinja_is_upper},
    {"join", "iterable", oxi_jinja_str_join},
    {"ljust", "width fill?", oxi_jinja_str_ljust},
    {"lower", "", oxi_jinja_lower},
    {"lstrip", "chars?", oxi_jinja_str_lstrip},
    {"partition", "sep", oxi_jinja_str_partition},
    {"removeprefix", "prefix", oxi_jinja_str_removeprefix},
    {"removesuffix", "suffix", oxi_jinja_str_removesuffix},
    {"replace", "old new count?", oxi_jinja_str_replace},
    {"rfind", "sub start? end?", oxi_jinja_str_rfind},
    {"rjust", "width fill?", oxi_jinja_str_rjust},
    {"rpartition", "sep", oxi_jinja_str_rpartition},
    {"rsplit", "sep? maxsplit?", oxi_jinja_str_rsplit},
    {"rstrip", "chars?", oxi_jinja_str_rstrip},
    {"split", "sep? maxsplit?", oxi_jinja_str_split},
    {"splitlines", "keepends?", oxi_jinja_str_splitlines},
    {"startswith", "prefix start? end?", oxi_jinja_str_startswith},
    {"strip", "chars?", oxi_jinja_str_strip},
    {"swapcase", "", oxi_jinja_str_swapcase},
    {"title", "", oxi_jinja_str_title},
    {"translate", "table", oxi_jinja_str_translate},
    {"upper", "", oxi_jinja_upper},
    {"zfill", "width", oxi_jinja_str_zfill},
};

static const oxi_jinja_function oxi_jinja_list_methods[] = {
    {"append", "object", oxi_jinja_list_append}, {"copy", "", oxi_jinja_list_copy},
    {"count", "value", oxi_jinja_list_count},    {"extend", "iterable", oxi_jinja_list_extend},
    {"index", "value", oxi_jinja_list_index},    {"insert", "index object", oxi_jinja_list_insert},
    {"pop", "index?", oxi_jinja_list_pop},       {"reverse", "", oxi_jinja_list_reverse},
};

static const oxi_jinja_function oxi_jinja_tuple_methods[] = {
    {"count", "value", oxi_jinja_list_count},
    {"index", "value", oxi_jinja_list_index},
};

static const oxi_jinja_function oxi_jinja_dict_methods[] = {
    {"copy", "", oxi_jinja_dict_copy},           {"get", "key default?", oxi_jinja_dict_get},
    {"items", "", oxi_jinja_dict_items},         {"keys", "", oxi_jinja_dict_keys},
    {"pop", "key default?", oxi_jinja_dict_pop}, {"setdefault", "key default?", oxi_jinja_dict_setdefault},
    {"update", "* **", oxi_jinja_dict_update},   {"values", "", oxi_jinja_dict_values},
};

static const oxi_jinja_function oxi_jinja_loop_methods[] = {
    {"changed", "*", oxi_jinja_loop_changed},
    {"cycle", "*", oxi_jinja_loop_cycle},
};

static const oxi_jinja_function oxi_jinja_cycler_methods[] = {
    {"next", "", oxi_jinja_cycler_next},
    {"reset", "", oxi_jinja_cycler_reset},
};

#define OXI_JINJA_ROWS(table) table, sizeof table / sizeof *table
static const struct {
    oxi_jinja_type type;
    const oxi_jinja_function *rows;
    size_t count;
} oxi_jinja_method_tables[] = {
    {OXI_JINJA_STRING, OXI_JINJA_ROWS(oxi_jinja_str_methods)},
    {OXI_JINJA_LIST, OXI_JINJA_ROWS(oxi_jinja_list_methods)},
    {OXI_JINJA_TUPLE, OXI_JINJA_ROWS(oxi_jinja_tuple_methods)},
    {OXI_JINJA_DICT, OXI_JINJA_ROWS(oxi_jinja_dict_methods)},
    {OXI_JINJA_LOOP, OXI_JINJA_ROWS(oxi_jinja_loop_methods)},
    {OXI_JINJA_CYCLER, OXI_JINJA_ROWS(oxi_jinja_cycler_methods)},
};

static const oxi_jinja_function *oxi_jinja_find_method(oxi_jinja_type type, oxi_jinja_value name) {
    for (size_t i = 0; i < sizeof oxi_jinja_method_tables / sizeof *oxi_jinja_method_tables; i++)
        if (oxi_jinja_method_tables[i].type == type)
            return oxi_jinja_find_row(oxi_jinja_method_tables[i].rows, oxi_jinja_method_tables[i].count,
                                      name);
    return NULL;
}
