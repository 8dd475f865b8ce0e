/* The compiler of patterns: text to a tree, the tree to steps, from the last one to the first. */

enum { OXI_PATTERN_DEPTH = 24, OXI_PATTERN_STEPS = 16384, OXI_PATTERN_COUNTED = 4096 };

typedef enum oxi_tree_kind {
    OXI_TREE_EMPTY,
    OXI_TREE_CLASS,
    OXI_TREE_SEQUENCE,
    OXI_TREE_CHOICE,
    OXI_TREE_LOOK,
    OXI_TREE_ATOMIC,
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
    bool ignore_case, dot_all, extended; /* (?i) (?m) (?x) */
} oxi_compiler;

static ox_status oxi_pattern_fail(const oxi_compiler *c, const char *what) {
    char shown[64];
    const ox_string text = {c->text, (int64_t)c->length};
    oxi_llm_copy_text(text, shown, sizeof shown);
    return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: the pattern \"%s\" at byte %lld: %s", shown,
                    (long long)c->at, what);
}

/* ---- classes ------------------------------------------------------------------------------------------- */

/* Names of \p{..} and [:..:], in lower case, without spaces and the like: categories, and a name's ranges. */
typedef struct oxi_named_class {
    const char *names; /* with a space between; with a ':' in [:..:] alone, with a '[' in brackets alone */
    uint32_t categories;
    const char *ranges;
    bool white;
} oxi_named_class;

#define OXI_WORD_KINDS (OXI_LETTERS | OXI_MARKS | OXI_IN(OXI_ND) | OXI_IN(OXI_NL) | OXI_IN(OXI_PC))
#define OXI_SEEN \
    ~(OXI_IN(OXI_CC) | OXI_IN(OXI_CN) | OXI_IN(OXI_CS) | OXI_SEPARATORS) & (OXI_IN(OXI_CATEGORY_COUNT) - 1)

static const oxi_named_class oxi_named_classes[] = {
    {"l letter", OXI_LETTERS, NULL, false},
    {"ll lowercaseletter", OXI_IN(OXI_LL), NULL, false},
    {"lm modifierletter", OXI_IN(OXI_LM), NULL, false},
    {"lo otherletter", OXI_IN(OXI_LO), NULL, false},
    {"lt titlecaseletter", OXI_IN(OXI_LT), NULL, false},
    {"lu uppercaseletter", OXI_IN(OXI_LU), NULL, false},
    {"lc casedletter", OXI_IN(OXI_LL) | OXI_IN(OXI_LT) | OXI_IN(OXI_LU), NULL, false},
    {"m mark combiningmark", OXI_MARKS, NULL, false},
    {"mc spacingmark", OXI_IN(OXI_MC), NULL, false},
    {"me enclosingmark", OXI_IN(OXI_ME), NULL, false},
    {"mn nonspacingmark", OXI_IN(OXI_MN), NULL, false},
    {"n number", OXI_NUMBERS, NULL, false},
    {"nd decimalnumber digit", OXI_IN(OXI_ND), NULL, false},
    {"nl letternumber", OXI_IN(OXI_NL), NULL, false},
    {"no othernumber", OXI_IN(OXI_NO), NULL, false},
    {"p punctuation punct", OXI_PUNCTUATION, NULL, false},
    {"pc connectorpunctuation", OXI_IN(OXI_PC), NULL, false},
    {"pd dashpunctuation", OXI_IN(OXI_PD), NULL, false},
    {"pe closepunctuation", OXI_IN(OXI_PE), NULL, false},
    {"pf finalpunctuation", OXI_IN(OXI_PF), NULL, false},
    {"pi initialpunctuation", OXI_IN(OXI_PI), NULL, false},
    {"po otherpunctuation", OXI_IN(OXI_PO), NULL, false},
    {"ps openpunctuation", OXI_IN(OXI_PS), NULL, false},
    {"s symbol", OXI_SYMBOLS, NULL, false},
    {"sc currencysymbol", OXI_IN(OXI_SC), NULL, false},
    {"sk modifiersymbol", OXI_IN(OXI_SK), NULL, false},
    {"sm mathsymbol", OXI_IN(OXI_SM), NULL, false},
    {"so othersymbol", OXI_IN(OXI_SO), NULL, false},
    {"z separator", OXI_SEPARATORS, NULL, false},
    {"zl lineseparator", OXI_IN(OXI_ZL), NULL, false},
    {"zp paragraphseparator", OXI_IN(OXI_ZP), NULL, false},
    {"zs spaceseparator", OXI_IN(OXI_ZS), NULL, false},
    {"c other", OXI_OTHERS, NULL, false},
    {"cc control cntrl", OXI_IN(OXI_CC), NULL, false},
    {"cf format", OXI_IN(OXI_CF), NULL, false},
    {"cn unassigned", OXI_IN(OXI_CN), NULL, false},
    {"co privateuse", OXI_IN(OXI_CO), NULL, false},
    {"cs surrogate", OXI_IN(OXI_CS), NULL, false},
    {"alpha alphabetic", OXI_LETTERS | OXI_IN(OXI_NL), "alphabetic", false},
    {"alnum", OXI_LETTERS | OXI_IN(OXI_NL) | OXI_IN(OXI_ND), "alphabetic", false},
    {"upper uppercase", OXI_IN(OXI_LU), "uppercase", false},
    {"lower lowercase", OXI_IN(OXI_LL), "lowercase", false},
    {":punct", OXI_PUNCTUATION | OXI_SYMBOLS, NULL, false},
    {"space whitespace", 0, NULL, true},
    {"blank", OXI_IN(OXI_ZS), "blank", false},
    {"word", OXI_WORD_KINDS, "word", false},
    {":word [word", OXI_WORD_KINDS, "circled", false},
    {"graph", OXI_SEEN, NULL, false},
    {"print", (OXI_SEEN) | OXI_IN(OXI_ZS), NULL, false},
    {"assigned", ~OXI_IN(OXI_CN) & (OXI_IN(OXI_CATEGORY_COUNT) - 1), NULL, false},
};

/* Whether a list of names with a space between has this one. */
static bool oxi_names_have(const char *names, const char *name) {
    const size_t length = strlen(name);
    for (const char *at = names; length && (at = strstr(at, name)) != NULL; at += length)
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == 0)) return true;
    return false;
}

/* `where`: ':' in [:..:], '[' in brackets, ' ' elsewhere. */
static const oxi_named_class *oxi_named_class_of(char where, const char *name) {
    char full[34];
    snprintf(full, sizeof full, "%c%s", where, name);
    for (int plain = where == ' '; plain < 2; plain++)
        for (size_t i = 0; i < sizeof oxi_named_classes / sizeof *oxi_named_classes; i++)
            if (oxi_names_have(oxi_named_classes[i].names, full + plain)) return &oxi_named_classes[i];
    return NULL;
}

/* NULL = no name of any. */
static const oxi_named_range *oxi_named_range_of(const char *name) {
    for (size_t i = 0; i < sizeof oxi_named_ranges / sizeof *oxi_named_ranges; i++)
        if (strcmp(name, oxi_named_ranges[i].name) == 0) return &oxi_named_ranges[i];
    return NULL;
}

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
        else if (t->ranges)
            in = oxi_in_ranges(oxi_class_ranges + t->ranges->first, t->ranges->count, code);
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
            c->simple &= !t->negated && !t->ranges && t->high < 128;
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
        for (size_t i = 0; i < sizeof oxi_more_cases / sizeof *oxi_more_cases && !status; i++)
            if (oxi_more_cases[i][0] == code)
                status = oxi_term_push(list, oxi_range_term(oxi_more_cases[i][1], oxi_more_cases[i][1]));
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

/* A class by its name: its categories alone, or a class of its own. */
static ox_status oxi_push_named(oxi_compiler *c, oxi_term_list *list, char where, const char *name,
                                bool negated) {
    const oxi_named_class *row = oxi_named_class_of(where, name);
    const oxi_named_range *ranges =
        row ? (row->ranges ? oxi_named_range_of(row->ranges) : NULL) : oxi_named_range_of(name);
    if (!row && !ranges) return oxi_pattern_fail(c, "a class of characters that is not known");
    oxi_class_term term = oxi_range_term(0, 0);
    term.categories = row ? row->categories : 0;
    term.white = row && row->white;
    term.negated = negated;
    if (!ranges) return oxi_term_push(list, term);
    oxi_class_term more = oxi_range_term(0, 0), whole = more;
    more.ranges = ranges;
    more.negated = !row && negated;
    if (!row) return oxi_term_push(list, more);
    oxi_term_list all;
    memset(&all, 0, sizeof all);
    term.negated = false;
    ox_status status = oxi_term_push(&all, term);
    if (!status) status = oxi_term_push(&all, more);
    whole.negated = negated;
    whole.of = status ? -1 : oxi_class_from(c, &all, false, -1);
    oxi_free(all.terms, all.room * sizeof *all.terms);
    if (status) return status;
    return whole.of < 0 ? OX_ERR_NOMEM : oxi_term_push(list, whole);
}

/* The name up to `end`, in lower case and without what may stand between words; false: it is too long. */
static bool oxi_pattern_name(oxi_compiler *c, char end, char name[32]) {
    size_t used = 0;
    for (; c->at < c->length && c->text[c->at] != end; c->at++) {
        const char letter = c->text[c->at];
        if (letter == ' ' || letter == '_' || letter == '-') continue;
        if (used >= 31) return false;
        name[used++] = letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter;
    }
    name[used] = 0;
    return true;
}

/* Behind "\p" or "\P". */
static ox_status oxi_push_property(oxi_compiler *c, oxi_term_list *list, char where, bool negated) {
    char name[32] = "";
    if (c->at < c->length && c->text[c->at] != '{') {
        const char letter = c->text[c->at++];
        name[0] = letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter;
        return oxi_push_named(c, list, where, name, negated);
    }
    c->at++;
    if (oxi_pattern_takes(c, "^")) negated = !negated;
    if (!oxi_pattern_takes(c, "Script=")) (void)oxi_pattern_takes(c, "Is");
    const bool named = oxi_pattern_name(c, '}', name);
    if (!oxi_pattern_takes(c, "}") || !named) return oxi_pattern_fail(c, "\\p{ without its }");
    return oxi_push_named(c, list, where, name, negated);
}

/* Behind a backslash: a class (pushed, *code = UINT32_MAX) or a character (*code). */
static ox_status oxi_pattern_escape(oxi_compiler *c, oxi_term_list *list, char where, uint32_t *code) {
    static const char letters[] = "nrtfvae0", values[] = "\n\r\t\f\v\a\033";
    if (c->at >= c->length) return oxi_pattern_fail(c, "a backslash at the end");
    const char letter = c->text[c->at++];
    *code = UINT32_MAX;
    static const struct {
        char letter;
        const char *name;
        bool negated;
    } classes[] = {{'s', "space", false},  {'S', "space", true},  {'d', "nd", false},
                   {'D', "nd", true},      {'w', "word", false},  {'W', "word", true},
                   {'h', "xdigit", false}, {'H', "xdigit", true}, {'O', "any", false}};
    if (letter == 'p' || letter == 'P') return oxi_push_property(c, list, where, letter == 'P');
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].letter == letter)
            return oxi_push_named(c, list, where, classes[i].name, classes[i].negated);
    if (letter == 'N') {
        oxi_class_term line = oxi_range_term('\n', '\n');
        line.negated = true;
        return oxi_term_push(list, line);
    }
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
    char name[32];
    const bool negated = oxi_pattern_takes(c, "^");
    if (!oxi_pattern_name(c, ':', name) || !oxi_pattern_takes(c, ":]"))
        return oxi_pattern_fail(c, "[: without its :]");
    return oxi_push_named(c, list, ':', name, negated);
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
        status = oxi_pattern_escape(c, list, '[', &low);
    else
        low = oxi_utf8_code(c->text, c->length, &c->at);
    if (status || low == UINT32_MAX) return status;
    high = low;
    if (c->length - c->at >= 2 && c->text[c->at] == '-' && c->text[c->at + 1] != ']') {
        c->at++;
        if (oxi_pattern_takes(c, "\\"))
            status = oxi_pattern_escape(c, list, '[', &high);
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
