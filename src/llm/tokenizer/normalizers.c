/* Normalizers: each reads the work's text and writes the next one, character by character. What a character
 * becomes comes from where it came from. source huggingface/tokenizers, normalizers (0.23) */

/* One character of the text being read. */
typedef struct oxi_char {
    uint32_t code, from, to;
    size_t start, end;
} oxi_char;

static oxi_char oxi_char_at(const oxi_text *text, size_t at) {
    oxi_char c;
    c.start = c.end = at;
    c.code = oxi_utf8_code(text->bytes, text->length, &c.end);
    c.from = oxi_text_from(text, c.start);
    c.to = oxi_text_to(text, c.end);
    return c;
}

static bool oxi_is_ascii(const oxi_text *text) {
    for (size_t i = 0; i < text->length; i++)
        if ((unsigned char)text->bytes[i] >= 128) return false;
    return true;
}

/* ---- normal forms -------------------------------------------------------------------------------------- */

/* A character of a normal form, while it is sorted and composed. Its place in the text is told by counts, as
 * the reference has it: what is written takes the characters of the text in turn, whatever their order was.
 * `more`: how many it takes beyond one; -1 = it was put in, and shares the place of the one before. */
typedef struct oxi_form_char {
    uint32_t code;
    int32_t more;
    uint8_t combining;
} oxi_form_char;

typedef struct oxi_form_chars {
    oxi_form_char *list;
    size_t count, room;
    size_t source;  /* bytes of the text that have been taken */
    oxi_char taken; /* the last one of them */
} oxi_form_chars;

/* A part takes its characters. Returns where it comes from: the first of them. */
static oxi_char oxi_form_take(oxi_form_chars *parts, const oxi_text *text, int32_t more) {
    oxi_char first = parts->taken;
    for (int32_t i = 0; i <= more && parts->source < text->length; i++) {
        parts->taken = oxi_char_at(text, parts->source);
        if (i == 0) first = parts->taken;
        parts->source = parts->taken.end;
    }
    return first;
}

/* Marks behind a base by their class, equal ones as they come; then, composed with what they can be. */
static ox_status oxi_put_parts(const oxi_unicode *u, oxi_form_chars *parts, const oxi_text *text,
                               bool compose, oxi_buffer *out) {
    ox_status status = OX_OK;
    size_t marks = 0;
    for (size_t i = 0; i < parts->count; i++) marks += parts->list[i].combining != 0;
    if (marks > 1 && parts->count < 64) {
        for (size_t i = 1; i < parts->count; i++) {
            const oxi_form_char moved = parts->list[i];
            size_t at = i;
            for (; moved.combining && at > 0 && parts->list[at - 1].combining > moved.combining; at--)
                parts->list[at] = parts->list[at - 1];
            parts->list[at] = moved;
        }
    } else if (marks > 1) { /* a pass for each class: long rows of marks take no quadratic time */
        oxi_form_char *sorted = (oxi_form_char *)oxi_alloc(parts->count * sizeof *sorted);
        if (!sorted) return OX_ERR_NOMEM;
        size_t count = 0;
        for (uint32_t combining = 0; combining < 256; combining++)
            for (size_t i = 0; i < parts->count; i++)
                if (parts->list[i].combining == combining) sorted[count++] = parts->list[i];
        memcpy(parts->list, sorted, parts->count * sizeof *sorted);
        oxi_free(sorted, parts->count * sizeof *sorted);
    }
    size_t kept = parts->count ? 1 : 0;
    uint8_t last = 0;
    for (size_t i = 1; compose && i < parts->count; i++) {
        const oxi_form_char part = parts->list[i];
        const bool blocked = kept > 1 && (last == 0 || last >= part.combining);
        const uint32_t made =
            blocked || parts->list[0].combining ? 0 : oxi_compose(u, parts->list[0].code, part.code);
        if (made) {
            parts->list[0].code = made;
            parts->list[0].more += part.more + 1;
        } else {
            last = part.combining;
            parts->list[kept++] = part;
        }
    }
    if (!compose) kept = parts->count;
    for (size_t i = 0; i < kept && !status; i++) {
        const oxi_char from = oxi_form_take(parts, text, parts->list[i].more);
        status = oxi_put_code(out, parts->list[i].code, from.from, from.to);
    }
    parts->count = 0;
    return status;
}

/* A starter that may be composed with the one before it keeps it: Hangul, and a few others. */
static bool oxi_joins(const oxi_unicode *u, const oxi_form_chars *parts, uint32_t code) {
    return parts->count == 1 && oxi_compose(u, parts->list[0].code, code) != 0;
}

static ox_status oxi_normal_form(oxi_flow *work, bool compatible, bool compose) {
    const oxi_unicode *u = &work->tokenizer->unicode;
    const oxi_text text = work->text;
    if (oxi_is_ascii(&text)) return OX_OK;
    oxi_buffer *out = oxi_put_begin(work);
    oxi_form_chars parts;
    memset(&parts, 0, sizeof parts);
    ox_status status = OX_OK;
    for (size_t at = 0; at < text.length && !status;) {
        const oxi_char c = oxi_char_at(&text, at);
        uint32_t codes[OXI_MOST_PARTS];
        const size_t count = oxi_decompose(u, c.code, compatible, codes);
        for (size_t i = 0; i < count && !status; i++) {
            const uint8_t combining = oxi_combining_of(u, codes[i]);
            if (combining == 0 && parts.count > 0 && !(compose && oxi_joins(u, &parts, codes[i])))
                status = oxi_put_parts(u, &parts, &text, compose, out);
            void *grown = oxi_grow(parts.list, &parts.room, parts.count + 1, sizeof *parts.list, false);
            if (!grown) status = OX_ERR_NOMEM;
            if (status) break;
            parts.list = (oxi_form_char *)grown;
            oxi_form_char *part = &parts.list[parts.count++];
            part->code = codes[i];
            part->more = i ? -1 : 0;
            part->combining = combining;
            if (combining == 0 && parts.count == 2) { /* joined */
                parts.list[0].code = oxi_compose(u, parts.list[0].code, codes[i]);
                parts.list[0].more += part->more + 1;
                parts.count = 1;
            }
        }
        at = c.end;
    }
    if (!status) status = oxi_put_parts(u, &parts, &text, compose, out);
    oxi_free(parts.list, parts.room * sizeof *parts.list);
    oxi_put_end(work, out);
    return status;
}

static ox_status oxi_normalize_nfc(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_normal_form(work, false, true);
}

static ox_status oxi_normalize_nfd(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_normal_form(work, false, false);
}

static ox_status oxi_normalize_nfkc(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_normal_form(work, true, true);
}

static ox_status oxi_normalize_nfkd(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_normal_form(work, true, false);
}

/* ---- character by character ---------------------------------------------------------------------------- */

/* What a character becomes: up to 3 characters; the number of them. */
typedef size_t (*oxi_char_map)(const oxi_unicode *u, uint32_t code, uint32_t out[3]);

/* `ascii_stays`: ASCII characters are never changed. */
static ox_status oxi_map_chars(oxi_flow *work, oxi_char_map map, bool ascii_stays) {
    const oxi_text text = work->text;
    if (ascii_stays && oxi_is_ascii(&text)) return OX_OK;
    oxi_buffer *out = oxi_put_begin(work);
    ox_status status = oxi_buffer_reserve(out, text.length);
    for (size_t at = 0; at < text.length && !status;) {
        const oxi_char c = oxi_char_at(&text, at);
        uint32_t codes[3];
        const size_t count = map(&work->tokenizer->unicode, c.code, codes);
        for (size_t i = 0; i < count && !status; i++) status = oxi_put_code(out, codes[i], c.from, c.to);
        at = c.end;
    }
    oxi_put_end(work, out);
    return status;
}

static size_t oxi_char_lower(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    (void)u;
    out[0] = oxi_jinja_to_lower(code);
    for (size_t i = 0; i < sizeof oxi_newer_lower / sizeof *oxi_newer_lower; i++)
        if (code >= oxi_newer_lower[i][0] && code <= oxi_newer_lower[i][1])
            out[0] = code + oxi_newer_lower[i][2];
    if (code != 0x130) return 1;
    out[0] = 'i'; /* the only one that becomes two */
    out[1] = 0x307;
    return 2;
}

static size_t oxi_char_no_mark(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    out[0] = code;
    return code < 0x300 || ((oxi_category_bit(u, code) & OXI_MARKS) == 0) != OXI_OLDER(marks, code);
}

static size_t oxi_char_no_nonspacing(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    out[0] = code;
    return code < 0x300 || ((oxi_category_bit(u, code) & OXI_IN(OXI_MN)) == 0) != OXI_OLDER(nonspacing, code);
}

static size_t oxi_char_clean(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    const bool blank = code == '\t' || code == '\n' || code == '\r';
    out[0] = blank || oxi_is_white_space(code) ? ' ' : code;
    const bool control = (oxi_category_bit(u, code) & OXI_OTHERS & ~OXI_IN(OXI_CN)) != 0;
    return !(code == 0 || code == 0xFFFD || (!blank && control != (code >= 128 && OXI_OLDER(format, code))));
}

/* CJK ideographs as BERT means them. */
static bool oxi_is_ideograph(uint32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
           (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) ||
           (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static size_t oxi_char_apart(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    (void)u;
    const bool ideograph = oxi_is_ideograph(code);
    out[0] = out[2] = ' ';
    out[ideograph] = code;
    return ideograph ? 3 : 1;
}

static size_t oxi_char_nmt(const oxi_unicode *u, uint32_t c, uint32_t out[3]) {
    (void)u;
    const bool space = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    out[0] = space ? ' ' : c;
    return !((c >= 1 && c <= 8) || c == 11 || (c >= 14 && c <= 31) || c == 127 || c == 0x8F || c == 0x9F);
}

static ox_status oxi_normalize_lowercase(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_map_chars(work, oxi_char_lower, false);
}

static ox_status oxi_normalize_strip_accents(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_map_chars(work, oxi_char_no_mark, true);
}

static ox_status oxi_normalize_nmt(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_map_chars(work, oxi_char_nmt, false);
}

static ox_status oxi_normalize_bert(const oxi_pipe_step *step, oxi_flow *work) {
    ox_status status = OX_OK;
    if (step->options & OXI_CLEAN_TEXT) status = oxi_map_chars(work, oxi_char_clean, false);
    if (!status && (step->options & OXI_CHINESE_CHARS)) status = oxi_map_chars(work, oxi_char_apart, true);
    if (!status && (step->options & OXI_STRIP_ACCENTS)) {
        status = oxi_normal_form(work, false, false);
        if (!status) status = oxi_map_chars(work, oxi_char_no_nonspacing, true);
    }
    return !status && (step->options & OXI_LOWERCASE) ? oxi_map_chars(work, oxi_char_lower, false) : status;
}

/* Bytes as the characters that stand for them. */
static ox_status oxi_byte_chars(oxi_flow *work, const oxi_text *text, size_t start, size_t end,
                                oxi_buffer *out) {
    ox_status status = OX_OK;
    for (size_t at = start; at < end && !status;) {
        const oxi_char c = oxi_char_at(text, at);
        for (; at < c.end && !status; at++)
            status = oxi_put_code(out, oxi_byte_char((uint8_t)text->bytes[at]), c.from, c.to);
    }
    (void)work;
    return status;
}

static ox_status oxi_normalize_byte_level(const oxi_pipe_step *step, oxi_flow *work) {
    const oxi_text text = work->text;
    oxi_buffer *out = oxi_put_begin(work);
    const ox_status status = oxi_byte_chars(work, &text, 0, text.length, out);
    (void)step;
    oxi_put_end(work, out);
    return status;
}

/* ---- parts of the text --------------------------------------------------------------------------------- */

static ox_status oxi_normalize_strip(const oxi_pipe_step *step, oxi_flow *work) {
    const oxi_text text = work->text;
    size_t start = 0, end = text.length;
    while ((step->options & OXI_STRIP_LEFT) && start < end) {
        const oxi_char c = oxi_char_at(&text, start);
        if (!oxi_is_white_space(c.code)) break;
        start = c.end;
    }
    while ((step->options & OXI_STRIP_RIGHT) && end > start) {
        const size_t before = oxi_step_back(text.bytes, end);
        if (!oxi_is_white_space(oxi_char_at(&text, before).code)) break;
        end = before;
    }
    if (start == 0 && end == text.length) return OX_OK;
    oxi_buffer *out = oxi_put_begin(work);
    const ox_status status = oxi_put_text(out, &text, start, end);
    oxi_put_end(work, out);
    return status;
}

/* The next match of a step in text[from..): its pattern, or its text. */
static bool oxi_step_find(const oxi_pipe_step *step, oxi_flow *work, const char *text, size_t length,
                          size_t from, size_t *start, size_t *end) {
    if (step->pattern) return oxi_pattern_find(step->pattern, &work->matcher, text, length, from, start, end);
    if (step->find_length == 0) {
        *start = *end = from;
        return from <= length;
    }
    while (length - from >= step->find_length) {
        const char *found = (const char *)memchr(text + from, step->find[0], length - from);
        if (!found) return false;
        from = (size_t)(found - text);
        if (length - from < step->find_length) return false;
        if (memcmp(found, step->find, step->find_length) == 0) {
            *start = from;
            *end = from + step->find_length;
            return true;
        }
        from++;
    }
    return false;
}

/* The matches of a step, one after another: an empty one not right behind another, and none of no text.
 * Begins as {0, 0, SIZE_MAX}. */
typedef struct oxi_step_matches {
    size_t search, start, end;
} oxi_step_matches;

static bool oxi_step_next(const oxi_pipe_step *step, oxi_flow *work, const char *text, size_t length,
                          oxi_step_matches *m) {
    while (length && m->search <= length) {
        const size_t last = m->end;
        if (!oxi_step_find(step, work, text, length, m->search, &m->start, &m->end)) return false;
        m->search = m->end;
        if (m->end > m->start) return true;
        if (m->end < length)
            (void)oxi_utf8_code(text, length, &m->search);
        else
            m->search = length + 1;
        if (m->end != last) return true;
    }
    return false;
}

/* The content comes from where the last character of the match did. */
static ox_status oxi_normalize_replace(const oxi_pipe_step *step, oxi_flow *work) {
    const oxi_text text = work->text;
    size_t at = 0, start = 0, end = 0, search = 0;
    ox_status status = OX_OK;
    oxi_matcher_reset(&work->matcher, text.length);
    if (!oxi_step_find(step, work, text.bytes, text.length, 0, &start, &end)) return work->matcher.status;
    oxi_buffer *out = oxi_put_begin(work);
    do {
        status = oxi_put_text(out, &text, at, start);
        if (!status && (end > start || start > 0 || end == 0)) {
            const uint32_t from =
                end ? oxi_text_from(&text, end > start ? oxi_step_back(text.bytes, end) : 0) : 0;
            const uint32_t to = end ? oxi_text_to(&text, end) : 0;
            status = oxi_put(out, step->text, step->text_length, from, to);
        }
        at = end;
        search = end;
        if (end == start && end < text.length) (void)oxi_utf8_code(text.bytes, text.length, &search);
        if (end == start && end == text.length) break;
    } while (!status && oxi_step_find(step, work, text.bytes, text.length, search, &start, &end));
    if (!status) status = work->matcher.status;
    if (!status) status = oxi_put_text(out, &text, at, text.length);
    oxi_put_end(work, out);
    return status;
}

static ox_status oxi_normalize_prepend(const oxi_pipe_step *step, oxi_flow *work) {
    const oxi_text text = work->text;
    if (text.length == 0) return OX_OK;
    oxi_buffer *out = oxi_put_begin(work);
    const oxi_char c = oxi_char_at(&text, 0);
    const size_t own = step->text_length ? 0 : c.end; /* where nothing is prepended, it loses its place */
    ox_status status = oxi_put(out, step->text, step->text_length, c.from, c.to);
    if (!status) status = oxi_put(out, text.bytes, own, c.from, c.from);
    if (!status) status = oxi_put_text(out, &text, own, text.length);
    oxi_put_end(work, out);
    return status;
}

/* ---- SentencePiece's table of characters --------------------------------------------------------------- */

/* The blob: bytes of the trie (u32), the trie (a double array of u32, its nodes found by exclusive or), texts
 * that end with 0. source: Kanda 2018 (compact double arrays), as SentencePiece stores it */
typedef struct oxi_charsmap {
    const unsigned char *nodes, *texts;
    size_t node_count, text_bytes;
} oxi_charsmap;

static bool oxi_charsmap_of(const char *blob, size_t bytes, oxi_charsmap *out) {
    const unsigned char *p = (const unsigned char *)blob;
    if (bytes < 8) return false;
    const size_t size = oxi_read_u32(p);
    if (size % 4 || size > bytes - 4 || size == 0) return false;
    out->nodes = p + 4;
    out->node_count = size / 4;
    out->texts = p + 4 + size;
    out->text_bytes = bytes - 4 - size;
    return true;
}

static uint32_t oxi_charsmap_jump(uint32_t node) {
    return (node >> 10) << ((node & (1u << 9)) >> 6);
}

/* What a prefix of text[0, length) becomes: the shortest one that is in the table, or the longest. Its
 * length, 0 = none is. */
static size_t oxi_charsmap_find(const oxi_charsmap *map, const char *text, size_t length, bool longest,
                                const char **out, size_t *out_length) {
    uint32_t at = oxi_charsmap_jump(oxi_read_u32(map->nodes));
    size_t found = 0, place = 0;
    for (size_t i = 0; i < length && text[i]; i++) {
        at ^= (unsigned char)text[i];
        if (at >= map->node_count) break;
        const uint32_t node = oxi_read_u32(map->nodes + 4 * (size_t)at);
        if ((node & 0x800000FFu) != (unsigned char)text[i]) break;
        at ^= oxi_charsmap_jump(node);
        if (!(node >> 8 & 1)) continue;
        if (at >= map->node_count) break;
        found = i + 1;
        place = oxi_read_u32(map->nodes + 4 * (size_t)at) & 0x7FFFFFFF;
        if (!longest) break;
    }
    if (found == 0 || place >= map->text_bytes) return 0;
    const char *start = (const char *)map->texts + place;
    const char *end = (const char *)memchr(start, 0, map->text_bytes - place);
    *out = start;
    *out_length = end ? (size_t)(end - start) : map->text_bytes - place;
    return oxi_utf8_is_valid(start, *out_length) ? found : 0;
}

typedef struct oxi_code_range {
    uint32_t first, last;
} oxi_code_range;

static bool oxi_code_in(uint32_t code, const oxi_code_range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (code >= ranges[i].first && code <= ranges[i].last) return true;
    return false;
}

/* What goes before a user's character and belongs to it. source: UAX 29, Prepend */
static bool oxi_is_prepended(uint32_t code) {
    static const oxi_code_range ranges[] = {
        {0x600, 0x605},     {0x6DD, 0x6DD},     {0x70F, 0x70F},     {0x890, 0x891},     {0x8E2, 0x8E2},
        {0xD4E, 0xD4E},     {0x110BD, 0x110BD}, {0x110CD, 0x110CD}, {0x111C2, 0x111C3}, {0x113D1, 0x113D1},
        {0x1193F, 0x1193F}, {0x11941, 0x11941}, {0x11A84, 0x11A89}, {0x11D46, 0x11D46}, {0x11F02, 0x11F02}};
    return code >= 0x600 && oxi_code_in(code, ranges, sizeof ranges / sizeof *ranges);
}

/* What goes behind one and belongs to it: marks, but for some that stand apart, and what counts as one.
 * source: UAX 29, Extend, SpacingMark and ZWJ */
static bool oxi_is_attached(const oxi_unicode *u, uint32_t code) {
    static const oxi_code_range apart[] = {{0x102B, 0x102C},   {0x1038, 0x1038}, {0x1062, 0x1064},
                                           {0x1067, 0x106D},   {0x1083, 0x1083}, {0x1087, 0x108C},
                                           {0x108F, 0x108F},   {0x109A, 0x109C}, {0x1A61, 0x1A61},
                                           {0x1A63, 0x1A64},   {0xAA7B, 0xAA7B}, {0xAA7D, 0xAA7D},
                                           {0x11720, 0x11721}},
                                others[] = {{0x200C, 0x200D},   {0xE33, 0xE33},     {0xEB3, 0xEB3},
                                            {0x1F3FB, 0x1F3FF}, {0xE0020, 0xE007F}, {0xFF9E, 0xFF9F}};
    if (code < 0x300) return false;
    if (oxi_category_bit(u, code) & OXI_MARKS)
        return !oxi_code_in(code, apart, sizeof apart / sizeof *apart);
    return oxi_code_in(code, others, sizeof others / sizeof *others);
}

/* What no mark is attached to. */
static bool oxi_is_control(const oxi_unicode *u, uint32_t code) {
    const uint32_t controls = OXI_IN(OXI_CC) | OXI_IN(OXI_CF) | OXI_IN(OXI_ZL) | OXI_IN(OXI_ZP);
    return (oxi_category_bit(u, code) & controls) && !oxi_is_prepended(code) && !oxi_is_attached(u, code);
}

/* Whether two parts of a Korean syllable, or of an older one, belong together: beginnings, then vowels, then
 * ends. source: UAX 29, GB6 to GB8 */
static bool oxi_is_syllable(uint32_t before, uint32_t code) {
    static const oxi_code_range starts[] = {{0x1100, 0x115F}, {0xA960, 0xA97C}},
                                vowels[] = {{0x1160, 0x11A7}, {0xD7B0, 0xD7C6}},
                                ends[] = {{0x11A8, 0x11FF}, {0xD7CB, 0xD7FB}};
    const bool whole = before >= 0xAC00 && before <= 0xD7A3, vowel = oxi_code_in(code, vowels, 2);
    if (before < 0x1100 || before > 0xD7FB) return false;
    if (oxi_code_in(before, starts, 2))
        return vowel || oxi_code_in(code, starts, 2) || (code >= 0xAC00 && code <= 0xD7A3);
    if ((whole && (before - 0xAC00) % 28 == 0) || oxi_code_in(before, vowels, 2))
        return vowel || oxi_code_in(code, ends, 2);
    return (whole || oxi_code_in(before, ends, 2)) && oxi_code_in(code, ends, 2);
}

/* Where the user's character that begins at `at` ends: a base with what is attached to it. Flags and pictures
 * that are joined have more bytes than the table is asked for. */
static size_t oxi_grapheme_end(const oxi_unicode *u, const oxi_text *text, size_t at) {
    const oxi_char first = oxi_char_at(text, at);
    size_t end = first.end;
    if (first.code == '\r' && end < text->length && text->bytes[end] == '\n') return end + 1;
    if (oxi_is_control(u, first.code)) return end;
    uint32_t before = first.code;
    while (end < text->length) {
        const oxi_char c = oxi_char_at(text, end);
        if (!oxi_is_attached(u, c.code) && !oxi_is_syllable(before, c.code) &&
            !(oxi_is_prepended(before) && !oxi_is_control(u, c.code)))
            break;
        before = c.code;
        end = c.end;
    }
    return end;
}

/* What is written waits for the next character: what is left out behind it belongs to it. */
typedef struct oxi_pending {
    oxi_form_chars taken;
    oxi_form_char last; /* code UINT32_MAX = none */
} oxi_pending;

static ox_status oxi_put_next(oxi_pending *p, const oxi_text *text, uint32_t code, int32_t more,
                              oxi_buffer *out) {
    const oxi_form_char last = p->last;
    p->last.code = code;
    p->last.more = more;
    if (last.code == UINT32_MAX) return OX_OK;
    const oxi_char from = oxi_form_take(&p->taken, text, last.more);
    return oxi_put_code(out, last.code, from.from, from.to);
}

/* `old` characters become a text: those that are more than it had were put in. */
static ox_status oxi_put_instead(oxi_pending *p, const oxi_text *text, int32_t old, const char *made,
                                 size_t length, oxi_buffer *out) {
    ox_status status = OX_OK;
    int32_t count = 0;
    for (size_t at = 0; at < length && !status; count++) {
        const uint32_t code = oxi_utf8_code(made, length, &at);
        status = oxi_put_next(p, text, code, count < old ? 0 : -1, out);
    }
    if (count < old && p->last.code != UINT32_MAX) p->last.more += old - count;
    return status;
}

static ox_status oxi_normalize_precompiled(const oxi_pipe_step *step, oxi_flow *work) {
    const oxi_unicode *u = &work->tokenizer->unicode;
    const oxi_text text = work->text;
    oxi_charsmap map;
    if (!oxi_charsmap_of(step->text, step->text_length, &map)) return OX_OK;
    oxi_buffer *out = oxi_put_begin(work);
    oxi_pending pending;
    memset(&pending, 0, sizeof pending);
    pending.last.code = UINT32_MAX;
    ox_status status = OX_OK;
    for (size_t at = 0; at < text.length && !status;) {
        const size_t end = oxi_grapheme_end(u, &text, at);
        const char *made;
        size_t made_length;
        if (end - at < 6 && oxi_charsmap_find(&map, text.bytes + at, end - at, false, &made, &made_length)) {
            int32_t old = 0;
            for (; at < end; old++) (void)oxi_utf8_code(text.bytes, text.length, &at);
            status = oxi_put_instead(&pending, &text, old, made, made_length, out);
        }
        while (at < end && !status) {
            const oxi_char c = oxi_char_at(&text, at);
            if (oxi_charsmap_find(&map, text.bytes + at, c.end - at, false, &made, &made_length))
                status = oxi_put_instead(&pending, &text, 1, made, made_length, out);
            else
                status = oxi_put_next(&pending, &text, c.code, 0, out);
            at = c.end;
        }
    }
    if (!status) status = oxi_put_next(&pending, &text, UINT32_MAX, 0, out);
    oxi_put_end(work, out);
    return status;
}

/* GGUF's Unigram: the longest entries of the table, white space as the file says; source llama.cpp, UGM. */
static ox_status oxi_normalize_unigram(const oxi_pipe_step *step, oxi_flow *work) {
    static const char escaped[] = "\xe2\x96\x81";
    const oxi_text text = work->text;
    const bool merge = (step->options & OXI_REMOVE_EXTRA_SPACES) != 0;
    const bool prefix = (step->options & OXI_ADD_PREFIX_SPACE) != 0;
    const char *space = step->options & OXI_ESCAPE_SPACES ? escaped : " ";
    oxi_charsmap map;
    const bool has_map = oxi_charsmap_of(step->text, step->text_length, &map);
    oxi_buffer *out = oxi_put_begin(work);
    bool prepended = false, inside = false;
    ox_status status = OX_OK;
    for (size_t at = 0; at < text.length && !status;) {
        const char *made = text.bytes + at;
        size_t made_length = oxi_loose_length(made, text.length - at), used = made_length;
        oxi_char c = oxi_char_at(&text, at);
        if (used == 0) { /* the map says what U+FFFD becomes, and not what is no character */
            made = "\xef\xbf\xbd";
            made_length = 3;
            used = 1;
            c.to = oxi_text_to(&text, at + 1);
        } else if (has_map) {
            used = oxi_charsmap_find(&map, text.bytes + at, text.length - at, true, &made, &made_length);
        }
        if (used == 0) {
            made = text.bytes + at;
            made_length = used = c.end - at;
        }
        for (size_t i = 0; i < made_length && !status; i++) {
            const bool blank = made[i] == ' ';
            if (!blank && !inside && ((prefix && !prepended) || merge)) {
                status = oxi_put(out, space, strlen(space), c.from, c.to);
                prepended = true;
            }
            inside = !blank;
            if (!status && !blank) status = oxi_put(out, made + i, 1, c.from, c.to);
            if (!status && blank && !merge) status = oxi_put(out, space, strlen(space), c.from, c.to);
        }
        at += used;
    }
    if (!status && prefix && !prepended && !merge && out->length > 0) /* white space alone has it as well */
        status = oxi_put(out, space, strlen(space), (uint32_t)text.length, (uint32_t)text.length);
    oxi_put_end(work, out);
    return status;
}

/* GGUF's WordPiece: characters decomposed to their first part alone; source llama.cpp, WPM. */
static size_t oxi_char_gguf(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    const uint32_t bit = oxi_category_bit(u, code);
    out[0] = code;
    if (oxi_is_white_space(code)) out[0] = ' ';
    return out[0] == ' ' || !(code == 0 || code == 0xFFFD || (bit & OXI_OTHERS & ~OXI_IN(OXI_CN)));
}

static size_t oxi_char_first_part(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    uint32_t parts[OXI_MOST_PARTS];
    (void)oxi_decompose(u, code, false, parts);
    out[0] = parts[0];
    return 1;
}

static size_t oxi_char_gguf_no_mark(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    out[0] = code;
    return !(oxi_category_bit(u, code) & OXI_MARKS);
}

static size_t oxi_char_gguf_lower(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    return oxi_char_gguf(u, code >= 'A' && code <= 'Z' ? code + 32 : code, out);
}

/* Without what came with Unicode 16, and one character each. */
static size_t oxi_char_lower_15(const oxi_unicode *u, uint32_t code, uint32_t out[3]) {
    (void)u;
    out[0] = code == 0x130 ? 'i' : OXI_OLDER(gguf, code) ? code : oxi_jinja_to_lower(code);
    return 1;
}

static ox_status oxi_normalize_lower_gguf(const oxi_pipe_step *step, oxi_flow *work) {
    (void)step;
    return oxi_map_chars(work, oxi_char_lower_15, false);
}

static ox_status oxi_normalize_bert_gguf(const oxi_pipe_step *step, oxi_flow *work) {
    ox_status status = OX_OK;
    if ((step->options & OXI_LOWERCASE) && oxi_is_ascii(&work->text)) /* all in one pass */
        return oxi_map_chars(work, oxi_char_gguf_lower, false);
    if (step->options & OXI_STRIP_ACCENTS) status = oxi_map_chars(work, oxi_char_first_part, true);
    if (!status) status = oxi_map_chars(work, oxi_char_gguf, false);
    if (!status && (step->options & OXI_STRIP_ACCENTS))
        status = oxi_map_chars(work, oxi_char_gguf_no_mark, true);
    return !status && (step->options & OXI_LOWERCASE) ? oxi_normalize_lower_gguf(step, work) : status;
}

static const oxi_step_row oxi_normalizers[] = {
    {"BertNormalizer", 0, OXI_CLEAN_TEXT | OXI_CHINESE_CHARS | OXI_LOWERCASE, OXI_UNICODE_NORMAL_FORMS,
     oxi_normalize_bert, NULL},
    {"NFC", 0, 0, OXI_UNICODE_NORMAL_FORMS, oxi_normalize_nfc, NULL},
    {"NFD", 0, 0, OXI_UNICODE_NORMAL_FORMS, oxi_normalize_nfd, NULL},
    {"NFKC", 0, 0, OXI_UNICODE_NORMAL_FORMS, oxi_normalize_nfkc, NULL},
    {"NFKD", 0, 0, OXI_UNICODE_NORMAL_FORMS, oxi_normalize_nfkd, NULL},
    {"Lowercase", 0, 0, 0, oxi_normalize_lowercase, NULL},
    {"Strip", 0, OXI_STRIP_LEFT | OXI_STRIP_RIGHT, 0, oxi_normalize_strip, NULL},
    {"StripAccents", 0, 0, 0, oxi_normalize_strip_accents, NULL},
    {"Replace", 0, 0, 0, oxi_normalize_replace, NULL},
    {"Prepend", 0, 0, 0, oxi_normalize_prepend, NULL},
    {"Precompiled", 0, 0, 0, oxi_normalize_precompiled, NULL},
    {"Nmt", 0, 0, 0, oxi_normalize_nmt, NULL},
    {"ByteLevel", 0, 0, 0, oxi_normalize_byte_level, NULL},
    {"bert", 0, 0, OXI_UNICODE_NORMAL_FORMS, oxi_normalize_bert_gguf, NULL},
    {"lower", 0, 0, 0, oxi_normalize_lower_gguf, NULL},
    {"unigram", 0, 0, 0, oxi_normalize_unigram, NULL}, /* of GGUF files */
};

static const oxi_step_row *oxi_row_named(const oxi_step_row *rows, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].name, name) == 0) return &rows[i];
    return NULL;
}

static const oxi_step_row *oxi_normalizer_row(const char *name) {
    return oxi_row_named(oxi_normalizers, sizeof oxi_normalizers / sizeof *oxi_normalizers, name);
}
