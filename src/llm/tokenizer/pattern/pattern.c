/* The compiler of patterns: text to a tree, the tree to steps, from the last one to the first. */

enum { OXI_PATTERN_DEPTH = 24, OXI_PATTERN_STEPS = 16384, OXI_PATTERN_COUNTED = 4096 };

typedef enum oxi_tree_kind {
    OXI_TREE_EMPTY,
    OXI_TREE_CLASS,
    OXI_TREE_SEQUENCE,
    OXI_TREE_CHOICE,
    OXI_TREE_LOOK,
    OXI_TREE_EDGE
} oxi_tree_kind;

typedef struct oxi_tree {
    uint8_t kind, mode, edge;
    bool negated, behind, repeats;
    int32_t class_index, min, max; /* repeats: how often */
    int32_t child, sibling;        /* -1 = none */
} oxi_tree;

typedef struct oxi_compiler {
    oxi_pattern *pattern;
    const char *text;
    size_t length, at;
    oxi_tree *trees;
    size_t tree_count, tree_room;
    int64_t counted;
    int depth;
    bool ignore_case;
} oxi_compiler;

static ox_status oxi_pattern_fail(const oxi_compiler *c, const char *what) {
    char shown[64];
    const ox_string text = {c->text, (int64_t)c->length};
    oxi_llm_copy_text(text, shown, sizeof shown);
    return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: the pattern \"%s\" at byte %lld: %s", shown,
                    (long long)c->at, what);
}

/* ---- classes ------------------------------------------------------------------------------------------- */

/* \p{..}; "L&" is LC. The names that are not categories are terms of their own. */
typedef struct oxi_named_class {
    const char *name;
    uint32_t categories;
} oxi_named_class;

static const oxi_named_class oxi_named_classes[] = {{"L", OXI_LETTERS},
                                                    {"Ll", OXI_IN(OXI_LL)},
                                                    {"Lm", OXI_IN(OXI_LM)},
                                                    {"Lo", OXI_IN(OXI_LO)},
                                                    {"Lt", OXI_IN(OXI_LT)},
                                                    {"Lu", OXI_IN(OXI_LU)},
                                                    {"M", OXI_MARKS},
                                                    {"Mc", OXI_IN(OXI_MC)},
                                                    {"Me", OXI_IN(OXI_ME)},
                                                    {"Mn", OXI_IN(OXI_MN)},
                                                    {"N", OXI_NUMBERS},
                                                    {"Nd", OXI_IN(OXI_ND)},
                                                    {"Nl", OXI_IN(OXI_NL)},
                                                    {"No", OXI_IN(OXI_NO)},
                                                    {"P", OXI_PUNCTUATION},
                                                    {"Pc", OXI_IN(OXI_PC)},
                                                    {"Pd", OXI_IN(OXI_PD)},
                                                    {"Pe", OXI_IN(OXI_PE)},
                                                    {"Pf", OXI_IN(OXI_PF)},
                                                    {"Pi", OXI_IN(OXI_PI)},
                                                    {"Po", OXI_IN(OXI_PO)},
                                                    {"Ps", OXI_IN(OXI_PS)},
                                                    {"S", OXI_SYMBOLS},
                                                    {"Sc", OXI_IN(OXI_SC)},
                                                    {"Sk", OXI_IN(OXI_SK)},
                                                    {"Sm", OXI_IN(OXI_SM)},
                                                    {"So", OXI_IN(OXI_SO)},
                                                    {"Z", OXI_SEPARATORS},
                                                    {"Zl", OXI_IN(OXI_ZL)},
                                                    {"Zp", OXI_IN(OXI_ZP)},
                                                    {"Zs", OXI_IN(OXI_ZS)},
                                                    {"C", OXI_OTHERS},
                                                    {"Cc", OXI_IN(OXI_CC)},
                                                    {"Cf", OXI_IN(OXI_CF)},
                                                    {"Cn", OXI_IN(OXI_CN)},
                                                    {"Co", OXI_IN(OXI_CO)},
                                                    {"Cs", OXI_IN(OXI_CS)},
                                                    {"Letter", OXI_LETTERS},
                                                    {"Mark", OXI_MARKS},
                                                    {"Number", OXI_NUMBERS},
                                                    {"Symbol", OXI_SYMBOLS},
                                                    {"Separator", OXI_SEPARATORS},
                                                    {"Punctuation", OXI_PUNCTUATION}};

/* Scripts that patterns name, as ranges. source Unicode 16, Scripts.txt */
typedef struct oxi_named_range {
    const char *name;
    uint32_t low, high;
} oxi_named_range;

static const oxi_named_range oxi_named_ranges[] = {
    {"Han", 0x2E80, 0x2E99},        {"Han", 0x2E9B, 0x2EF3},        {"Han", 0x2F00, 0x2FD5},
    {"Han", 0x3005, 0x3005},        {"Han", 0x3007, 0x3007},        {"Han", 0x3021, 0x3029},
    {"Han", 0x3038, 0x303B},        {"Han", 0x3400, 0x4DBF},        {"Han", 0x4E00, 0x9FFF},
    {"Han", 0xF900, 0xFA6D},        {"Han", 0xFA70, 0xFAD9},        {"Han", 0x16FE2, 0x16FE3},
    {"Han", 0x16FF0, 0x16FF1},      {"Han", 0x20000, 0x2A6DF},      {"Han", 0x2A700, 0x2B739},
    {"Han", 0x2B740, 0x2B81D},      {"Han", 0x2B820, 0x2CEA1},      {"Han", 0x2CEB0, 0x2EBE0},
    {"Han", 0x2EBF0, 0x2EE5D},      {"Han", 0x2F800, 0x2FA1D},      {"Han", 0x30000, 0x3134A},
    {"Han", 0x31350, 0x323AF},      {"Hiragana", 0x3041, 0x3096},   {"Hiragana", 0x309D, 0x309F},
    {"Hiragana", 0x1B001, 0x1B11F}, {"Hiragana", 0x1B132, 0x1B132}, {"Hiragana", 0x1B150, 0x1B152},
    {"Hiragana", 0x1F200, 0x1F200}, {"Katakana", 0x30A1, 0x30FA},   {"Katakana", 0x30FD, 0x30FF},
    {"Katakana", 0x31F0, 0x31FF},   {"Katakana", 0x32D0, 0x32FE},   {"Katakana", 0x3300, 0x3357},
    {"Katakana", 0xFF66, 0xFF6F},   {"Katakana", 0xFF71, 0xFF9D},   {"Hangul", 0x1100, 0x11FF},
    {"Hangul", 0x3131, 0x318E},     {"Hangul", 0xA960, 0xA97C},     {"Hangul", 0xAC00, 0xD7A3},
    {"Hangul", 0xD7B0, 0xD7FB},     {"Thai", 0x0E01, 0x0E3A},       {"Thai", 0x0E40, 0x0E5B}};

#define OXI_WORD_KINDS (OXI_LETTERS | OXI_MARKS | OXI_IN(OXI_ND) | OXI_IN(OXI_NL) | OXI_IN(OXI_PC))

/* Beyond them: raised numbers and fractions of Latin-1, circled letters. */
static const uint32_t oxi_more_words[][2] = {{0xB2, 0xB3},      {0xB9, 0xB9},       {0xBC, 0xBE},
                                             {0x24B6, 0x24E9},  {0x1F130, 0x1F149}, {0x1F150, 0x1F169},
                                             {0x1F170, 0x1F189}};

static bool oxi_class_has_slow(const oxi_pattern *p, int32_t index, uint32_t code, int depth) {
    const oxi_class *c = &p->classes[index];
    bool has = false;
    for (uint32_t i = 0; i < c->term_count && !has; i++) {
        const oxi_class_term *t = &p->terms[c->term + i];
        bool in = false;
        if (t->of >= 0)
            in = depth < OXI_PATTERN_DEPTH && oxi_class_has_slow(p, t->of, code, depth + 1);
        else if (t->categories)
            in = (oxi_category_bit(p->unicode, code) & t->categories) != 0;
        else if (t->white)
            in = oxi_is_white_space(code);
        else
            in = code >= t->low && code <= t->high;
        has = in != t->negated;
    }
    if (has && c->both >= 0 && depth < OXI_PATTERN_DEPTH)
        has = oxi_class_has_slow(p, c->both, code, depth + 1);
    return has != c->negated;
}

static bool oxi_class_has(const oxi_pattern *p, int32_t index, uint32_t code) {
    const oxi_class *c = &p->classes[index];
    if (code < 128) return c->ascii[code];
    if (c->simple && code != 0x85) return (oxi_category_bit(p->unicode, code) & c->categories) != 0;
    return oxi_class_has_slow(p, index, code, 0);
}

/* Once its terms are there. Simple ones need no terms beyond ASCII. */
static void oxi_class_finish(oxi_pattern *p, int32_t index) {
    oxi_class *c = &p->classes[index];
    uint32_t categories = 0;
    c->simple = c->both < 0;
    for (uint32_t i = 0; i < c->term_count; i++) {
        const oxi_class_term *t = &p->terms[c->term + i];
        if (t->of >= 0) {
            c->simple &= p->classes[t->of].simple;
            categories |= t->negated ? ~p->classes[t->of].categories : p->classes[t->of].categories;
        } else if (t->categories || t->white) {
            const uint32_t bits = t->categories ? t->categories : OXI_SEPARATORS;
            categories |= t->negated ? ~bits : bits;
        } else {
            c->simple &= !t->negated && t->high < 128;
        }
    }
    c->categories = c->negated ? ~categories : categories;
    for (uint32_t code = 0; code < 128; code++) c->ascii[code] = oxi_class_has_slow(p, index, code, 0);
}

static int32_t oxi_class_add(oxi_pattern *p) {
    void *grown = oxi_grow(p->classes, &p->class_room, p->class_count + 1, sizeof *p->classes, false);
    if (!grown) return -1;
    p->classes = (oxi_class *)grown;
    oxi_class *c = &p->classes[p->class_count];
    memset(c, 0, sizeof *c);
    c->both = -1;
    c->term = (uint32_t)p->term_count;
    return (int32_t)p->class_count++;
}

/* Terms of a class lie together: those of classes inside it are made before. */
static oxi_class_term *oxi_term_add(oxi_pattern *p) {
    void *grown = oxi_grow(p->terms, &p->term_room, p->term_count + 1, sizeof *p->terms, false);
    if (!grown) return NULL;
    p->terms = (oxi_class_term *)grown;
    oxi_class_term *t = &p->terms[p->term_count++];
    memset(t, 0, sizeof *t);
    t->of = -1;
    return t;
}

/* Collects the terms of a class before it is added. */
typedef struct oxi_term_list {
    oxi_class_term *terms;
    size_t count, room;
} oxi_term_list;

static ox_status oxi_term_push(oxi_term_list *list, oxi_class_term term) {
    void *grown = oxi_grow(list->terms, &list->room, list->count + 1, sizeof *list->terms, false);
    if (!grown) return OX_ERR_NOMEM;
    list->terms = (oxi_class_term *)grown;
    list->terms[list->count++] = term;
    return OX_OK;
}

static oxi_class_term oxi_range_term(uint32_t low, uint32_t high) {
    oxi_class_term t;
    memset(&t, 0, sizeof t);
    t.of = -1;
    t.low = low;
    t.high = high;
    return t;
}

/* A character, and without case also its other cases. */
static ox_status oxi_push_range(oxi_compiler *c, oxi_term_list *list, uint32_t low, uint32_t high) {
    ox_status status = oxi_term_push(list, oxi_range_term(low, high));
    for (uint32_t code = low; c->ignore_case && !status && code <= high && code - low < 512; code++) {
        const uint32_t lower = oxi_jinja_to_lower(code), upper = oxi_jinja_to_upper(code);
        if (lower != code) status = oxi_term_push(list, oxi_range_term(lower, lower));
        if (!status && upper != code) status = oxi_term_push(list, oxi_range_term(upper, upper));
        if (!status && lower == 's') status = oxi_term_push(list, oxi_range_term(0x17F, 0x17F));
        if (!status && lower == 'k') status = oxi_term_push(list, oxi_range_term(0x212A, 0x212A));
    }
    return status;
}

static int32_t oxi_class_from(oxi_compiler *c, const oxi_term_list *list, bool negated, int32_t both) {
    const int32_t index = oxi_class_add(c->pattern);
    if (index < 0) return -1;
    for (size_t i = 0; i < list->count; i++) {
        oxi_class_term *t = oxi_term_add(c->pattern);
        if (!t) return -1;
        *t = list->terms[i];
    }
    oxi_class *made = &c->pattern->classes[index];
    made->term_count = (uint32_t)list->count;
    made->negated = negated;
    made->both = both;
    oxi_class_finish(c->pattern, index);
    return index;
}

static bool oxi_pattern_takes(oxi_compiler *c, const char *text) {
    const size_t length = strlen(text);
    if (c->length - c->at < length || memcmp(c->text + c->at, text, length) != 0) return false;
    c->at += length;
    return true;
}

/* Behind "\p" or "\P". */
static ox_status oxi_push_property(oxi_compiler *c, oxi_term_list *list, bool negated) {
    char name[24] = "";
    size_t used = 0;
    if (c->at < c->length && c->text[c->at] == '{') {
        c->at++;
        if (oxi_pattern_takes(c, "^")) negated = !negated;
        if (!oxi_pattern_takes(c, "Script=")) (void)oxi_pattern_takes(c, "Is");
        while (c->at < c->length && c->text[c->at] != '}' && used + 1 < sizeof name)
            name[used++] = c->text[c->at++];
        if (!oxi_pattern_takes(c, "}")) return oxi_pattern_fail(c, "\\p{ without its }");
    } else if (c->at < c->length) {
        name[used++] = c->text[c->at++];
    }
    name[used] = 0;
    oxi_class_term t = oxi_range_term(0, 0);
    for (size_t i = 0; i < sizeof oxi_named_classes / sizeof *oxi_named_classes; i++)
        if (strcmp(name, oxi_named_classes[i].name) == 0) t.categories = oxi_named_classes[i].categories;
    t.negated = negated;
    if (t.categories) return oxi_term_push(list, t);
    oxi_term_list ranges;
    memset(&ranges, 0, sizeof ranges);
    ox_status status = OX_OK;
    for (size_t i = 0; i < sizeof oxi_named_ranges / sizeof *oxi_named_ranges && !status; i++)
        if (strcmp(name, oxi_named_ranges[i].name) == 0)
            status =
                oxi_term_push(&ranges, oxi_range_term(oxi_named_ranges[i].low, oxi_named_ranges[i].high));
    if (!status && ranges.count == 0) status = oxi_pattern_fail(c, "a property that is not known");
    t.of = status ? -1 : oxi_class_from(c, &ranges, false, -1);
    oxi_free(ranges.terms, ranges.room * sizeof *ranges.terms);
    if (status) return status;
    return t.of < 0 ? OX_ERR_NOMEM : oxi_term_push(list, t);
}

/* Word characters: \w. */
static ox_status oxi_push_words(oxi_compiler *c, oxi_term_list *list, bool negated) {
    oxi_class_term whole = oxi_range_term(0, 0), t = whole;
    oxi_term_list terms;
    memset(&terms, 0, sizeof terms);
    t.categories = OXI_WORD_KINDS;
    ox_status status = oxi_term_push(&terms, t);
    for (size_t i = 0; i < sizeof oxi_more_words / sizeof *oxi_more_words && !status; i++)
        status = oxi_term_push(&terms, oxi_range_term(oxi_more_words[i][0], oxi_more_words[i][1]));
    whole.negated = negated;
    whole.of = status ? -1 : oxi_class_from(c, &terms, false, -1);
    oxi_free(terms.terms, terms.room * sizeof *terms.terms);
    if (status) return status;
    return whole.of < 0 ? OX_ERR_NOMEM : oxi_term_push(list, whole);
}

/* Behind a backslash: a class (pushed, *code = UINT32_MAX) or a character (*code). */
static ox_status oxi_pattern_escape(oxi_compiler *c, oxi_term_list *list, uint32_t *code) {
    static const char letters[] = "nrtfvae0", values[] = "\n\r\t\f\v\a\033";
    if (c->at >= c->length) return oxi_pattern_fail(c, "a backslash at the end");
    const char letter = c->text[c->at++];
    oxi_class_term t = oxi_range_term(0, 0);
    *code = UINT32_MAX;
    t.negated = letter == 'S' || letter == 'D' || letter == 'W' || letter == 'P' || letter == 'H';
    if (letter == 'p' || letter == 'P') return oxi_push_property(c, list, t.negated);
    if (letter == 's' || letter == 'S') t.white = true;
    if (letter == 'd' || letter == 'D') t.categories = OXI_IN(OXI_ND);
    if (letter == 'w' || letter == 'W') return oxi_push_words(c, list, t.negated);
    if (t.white || t.categories) return oxi_term_push(list, t);
    const char *found = letter ? strchr(letters, letter) : NULL;
    if (found) {
        *code = (unsigned char)values[found - letters];
        return OX_OK;
    }
    if (letter == 'u' || letter == 'x') {
        const bool braces = oxi_pattern_takes(c, "{");
        uint32_t value = 0;
        int digits = 0;
        for (; c->at < c->length && digits < (braces ? 6 : letter == 'u' ? 4 : 2); digits++, c->at++) {
            const int digit = oxi_hex_digit(c->text[c->at]);
            if (digit < 0) break;
            value = value * 16 + (uint32_t)digit;
        }
        if (digits == 0 || value > 0x10FFFF || (braces && !oxi_pattern_takes(c, "}")))
            return oxi_pattern_fail(c, "a number of a character that is none");
        *code = value;
        return OX_OK;
    }
    if ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
        (letter >= '1' && letter <= '9')) {
        c->at--;
        return oxi_pattern_fail(c, "an escape that is not known");
    }
    c->at--;
    *code = oxi_utf8_code(c->text, c->length, &c->at);
    return OX_OK;
}

static ox_status oxi_parse_class(oxi_compiler *c, int32_t *out);

/* Behind "[:". */
static ox_status oxi_push_posix(oxi_compiler *c, oxi_term_list *list) {
    static const oxi_named_class names[] = {{"alpha:]", OXI_LETTERS | OXI_MARKS},
                                            {"digit:]", OXI_IN(OXI_ND)},
                                            {"alnum:]", OXI_LETTERS | OXI_MARKS | OXI_IN(OXI_ND)},
                                            {"upper:]", OXI_IN(OXI_LU)},
                                            {"lower:]", OXI_IN(OXI_LL)},
                                            {"punct:]", OXI_PUNCTUATION},
                                            {"space:]", 0}};
    oxi_class_term t = oxi_range_term(0, 0);
    t.negated = oxi_pattern_takes(c, "^");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!oxi_pattern_takes(c, names[i].name)) continue;
        t.categories = names[i].categories;
        t.white = t.categories == 0;
        return oxi_term_push(list, t);
    }
    return oxi_pattern_fail(c, "a class [:..:] that is not known");
}

/* One term, or a range, of what stands in brackets. */
static ox_status oxi_parse_term(oxi_compiler *c, oxi_term_list *list) {
    uint32_t low = 0, high = 0;
    ox_status status = OX_OK;
    if (oxi_pattern_takes(c, "[:")) return oxi_push_posix(c, list);
    if (oxi_pattern_takes(c, "[")) {
        oxi_class_term t = oxi_range_term(0, 0);
        status = oxi_parse_class(c, &t.of);
        return status ? status : oxi_term_push(list, t);
    }
    if (oxi_pattern_takes(c, "\\"))
        status = oxi_pattern_escape(c, list, &low);
    else
        low = oxi_utf8_code(c->text, c->length, &c->at);
    if (status || low == UINT32_MAX) return status;
    high = low;
    if (c->length - c->at >= 2 && c->text[c->at] == '-' && c->text[c->at + 1] != ']') {
        c->at++;
        if (oxi_pattern_takes(c, "\\"))
            status = oxi_pattern_escape(c, list, &high);
        else
            high = oxi_utf8_code(c->text, c->length, &c->at);
        if (status) return status;
        if (high == UINT32_MAX) { /* [a-\d]: the dash is one */
            status = oxi_push_range(c, list, '-', '-');
            high = low;
        }
        if (high < low) return oxi_pattern_fail(c, "a range from its end to its start");
    }
    return status ? status : oxi_push_range(c, list, low, high);
}

/* Behind "[", up to and with its "]". a&&b&&c is nested from its end. */
static ox_status oxi_parse_class_parts(oxi_compiler *c, oxi_term_list *list, int32_t *both) {
    bool first = true;
    while (c->at < c->length) {
        if (c->text[c->at] == ']' && !first) {
            c->at++;
            return OX_OK;
        }
        if (oxi_pattern_takes(c, "&&")) {
            oxi_term_list more;
            memset(&more, 0, sizeof more);
            int32_t next = -1;
            ox_status status = OX_ERR_UNSUPPORTED;
            if (++c->depth < OXI_PATTERN_DEPTH) status = oxi_parse_class_parts(c, &more, &next);
            c->depth--;
            if (!status) *both = oxi_class_from(c, &more, false, next);
            oxi_free(more.terms, more.room * sizeof *more.terms);
            return status == OX_ERR_UNSUPPORTED && !ox_error()
                       ? oxi_pattern_fail(c, "classes nested too deep")
                   : status    ? status
                   : *both < 0 ? OX_ERR_NOMEM
                               : OX_OK;
        }
        const ox_status status = oxi_parse_term(c, list);
        if (status) return status;
        first = false;
    }
    return oxi_pattern_fail(c, "[ without its ]");
}

static ox_status oxi_parse_class(oxi_compiler *c, int32_t *out) {
    const bool negated = oxi_pattern_takes(c, "^");
    oxi_term_list list;
    int32_t both = -1;
    memset(&list, 0, sizeof list);
    if (++c->depth > OXI_PATTERN_DEPTH) return oxi_pattern_fail(c, "classes nested too deep");
    const ox_status status = oxi_parse_class_parts(c, &list, &both);
    c->depth--;
    *out = status ? -1 : oxi_class_from(c, &list, negated, both);
    oxi_free(list.terms, list.room * sizeof *list.terms);
    return status ? status : *out < 0 ? OX_ERR_NOMEM : OX_OK;
}
