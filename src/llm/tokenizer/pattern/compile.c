/* Patterns, second part: alternatives, sequences and quantifiers as a tree, and its steps. */

static int32_t oxi_tree_add(oxi_compiler *c, oxi_tree_kind kind) {
    void *grown = oxi_grow(c->trees, &c->tree_room, c->tree_count + 1, sizeof *c->trees, false);
    if (!grown) return -1;
    c->trees = (oxi_tree *)grown;
    oxi_tree *t = &c->trees[c->tree_count];
    memset(t, 0, sizeof *t);
    t->kind = (uint8_t)kind;
    t->child = t->sibling = t->class_index = -1;
    t->min = t->max = 1;
    return (int32_t)c->tree_count++;
}

static ox_status oxi_parse_choice(oxi_compiler *c, int32_t *out);

static ox_status oxi_parse_group_body(oxi_compiler *c, int32_t *out) {
    if (++c->depth > OXI_PATTERN_DEPTH) return oxi_pattern_fail(c, "groups nested too deep");
    ox_status status = oxi_parse_choice(c, out);
    c->depth--;
    if (!status && !oxi_pattern_takes(c, ")")) status = oxi_pattern_fail(c, "( without its )");
    return status;
}

/* How many characters a tree takes, -1 = not always as many. */
static int32_t oxi_tree_length(const oxi_compiler *c, int32_t tree, int depth) {
    const oxi_tree *t = &c->trees[tree];
    int32_t length = 0;
    if (depth > 2 * OXI_PATTERN_DEPTH || (t->repeats && t->min != t->max)) return -1;
    if (t->kind == OXI_TREE_CLASS) return t->repeats ? t->min : 1;
    if (t->kind == OXI_TREE_LOOK || t->kind == OXI_TREE_EDGE) return 0;
    for (int32_t i = t->child; i >= 0; i = c->trees[i].sibling) {
        const int32_t more = oxi_tree_length(c, i, depth + 1);
        if (more < 0 || length > OXI_PATTERN_COUNTED) return -1;
        if (t->kind == OXI_TREE_CHOICE && i != t->child && more != length) return -1;
        length = t->kind == OXI_TREE_CHOICE ? more : length + more;
    }
    return t->repeats ? length * t->min : length;
}

/* A look behind is a look from as many characters before; each alternative has a length of its own. */
static ox_status oxi_parse_behind(oxi_compiler *c, int32_t choice, bool negated, int32_t *out) {
    const int32_t all = oxi_tree_add(c, negated ? OXI_TREE_SEQUENCE : OXI_TREE_CHOICE);
    int32_t last = -1, next = c->trees[choice].child;
    if (all < 0) return OX_ERR_NOMEM;
    while (next >= 0) {
        const int32_t body = next, length = oxi_tree_length(c, body, 0);
        if (length < 0) return oxi_pattern_fail(c, "a look behind at any number of characters");
        const int32_t look = oxi_tree_add(c, OXI_TREE_LOOK);
        if (look < 0) return OX_ERR_NOMEM;
        next = c->trees[body].sibling;
        c->trees[body].sibling = -1;
        c->trees[look].child = body;
        c->trees[look].negated = negated;
        c->trees[look].min = length;
        if (last < 0)
            c->trees[all].child = look;
        else
            c->trees[last].sibling = look;
        last = look;
    }
    *out = all;
    return OX_OK;
}

/* What is taken is not given back: a run of a class says so itself. */
static ox_status oxi_parse_atomic(oxi_compiler *c, int32_t body, int32_t *out) {
    *out = oxi_tree_add(c, OXI_TREE_ATOMIC);
    if (*out < 0) return OX_ERR_NOMEM;
    c->trees[*out].child = body;
    return OX_OK;
}

/* (?imx-imx) and (?imx-imx:: true, and the options that hold from here on. */
static bool oxi_parse_options(oxi_compiler *c, bool *group) {
    const size_t start = c->at;
    bool value = true, ignore_case = c->ignore_case, dot_all = c->dot_all, extended = c->extended;
    if (!oxi_pattern_takes(c, "?")) return false;
    for (; c->at < c->length; c->at++) {
        const char letter = c->text[c->at];
        if (letter == '-') value = false;
        if (letter == 'i') ignore_case = value;
        if (letter == 'm' || letter == 's') dot_all = value;
        if (letter == 'x') extended = value;
        if (!letter || !strchr("-imsx", letter)) break;
    }
    *group = oxi_pattern_takes(c, ":");
    if (!*group && !oxi_pattern_takes(c, ")")) {
        c->at = start;
        return false;
    }
    c->ignore_case = ignore_case;
    c->dot_all = dot_all;
    c->extended = extended;
    return true;
}

/* (?<name>, which no look behind begins with. */
static bool oxi_parse_group_name(oxi_compiler *c) {
    const size_t start = c->at;
    if (oxi_pattern_takes(c, "?<") || oxi_pattern_takes(c, "?P<")) {
        while (c->at < c->length && c->text[c->at] != '>' && c->text[c->at] != ')') c->at++;
        if (oxi_pattern_takes(c, ">")) return true;
    }
    c->at = start;
    return false;
}

/* Behind "(". "(?i)" holds to the end of the group around it. */
static ox_status oxi_parse_group(oxi_compiler *c, int32_t *out) {
    const bool ignore_case = c->ignore_case, dot_all = c->dot_all, extended = c->extended;
    const bool ahead = oxi_pattern_takes(c, "?=") || oxi_pattern_takes(c, "?!");
    const bool behind = !ahead && (oxi_pattern_takes(c, "?<=") || oxi_pattern_takes(c, "?<!"));
    if (ahead || behind) {
        const bool negated = c->text[c->at - 1] == '!';
        int32_t body;
        const ox_status status = oxi_parse_group_body(c, &body);
        if (status) return status;
        const int32_t choice = body;
        for (int i = 0; i < 2 && behind; i++) { /* a choice of one, a sequence of one */
            const oxi_tree *t = &c->trees[body];
            if (t->kind != OXI_TREE_CLASS && !t->repeats && t->child >= 0 && c->trees[t->child].sibling < 0)
                body = t->child;
        }
        const bool one = c->trees[body].kind == OXI_TREE_CLASS && !c->trees[body].repeats;
        if (behind && !one) return oxi_parse_behind(c, choice, negated, out);
        const int32_t look = oxi_tree_add(c, OXI_TREE_LOOK);
        if (look < 0) return OX_ERR_NOMEM;
        c->trees[look].child = behind ? body : choice;
        c->trees[look].negated = negated;
        c->trees[look].behind = behind;
        c->trees[look].min = 0;
        *out = look;
        return OX_OK;
    }
    if (oxi_pattern_takes(c, "?#")) {
        while (c->at < c->length && c->text[c->at] != ')') c->at++;
        *out = oxi_tree_add(c, OXI_TREE_EMPTY);
        if (!oxi_pattern_takes(c, ")")) return oxi_pattern_fail(c, "( without its )");
        return *out < 0 ? OX_ERR_NOMEM : OX_OK;
    }
    const bool atomic = oxi_pattern_takes(c, "?>");
    bool group = true;
    if (!atomic && !oxi_parse_group_name(c) && !oxi_parse_options(c, &group) && c->at < c->length &&
        c->text[c->at] == '?')
        return oxi_pattern_fail(c, "a kind of group that is not known");
    if (!group) {
        *out = oxi_tree_add(c, OXI_TREE_EMPTY);
        return *out < 0 ? OX_ERR_NOMEM : OX_OK;
    }
    const ox_status status = oxi_parse_group_body(c, out);
    c->ignore_case = ignore_case;
    c->dot_all = dot_all;
    c->extended = extended;
    return status || !atomic ? status : oxi_parse_atomic(c, *out, out);
}

static ox_status oxi_parse_edge(oxi_compiler *c, oxi_step_kind kind, bool negated, int32_t *out) {
    *out = oxi_tree_add(c, OXI_TREE_EDGE);
    if (*out < 0) return OX_ERR_NOMEM;
    c->trees[*out].edge = (uint8_t)kind;
    c->trees[*out].negated = negated;
    return OX_OK;
}

typedef struct oxi_edge_row {
    const char *text;
    oxi_step_kind kind;
    bool negated;
} oxi_edge_row;

static const oxi_edge_row oxi_edges[] = {
    {"^", OXI_STEP_LINE_START, false}, {"$", OXI_STEP_LINE_END, false},    {"\\A", OXI_STEP_START, false},
    {"\\z", OXI_STEP_END, false},      {"\\Z", OXI_STEP_LAST_LINE, false}, {"\\b", OXI_STEP_WORD_EDGE, false},
    {"\\B", OXI_STEP_WORD_EDGE, true},
};

static ox_status oxi_parse_choice(oxi_compiler *c, int32_t *out);

/* \R stands for a longer pattern. */
static ox_status oxi_parse_line_break(oxi_compiler *c, int32_t *out) {
    static const char text[] = "(?>\r\n|[\n-\r\\x{85}\\x{2028}\\x{2029}])";
    const char *const outer = c->text;
    const size_t length = c->length, at = c->at;
    c->text = text;
    c->length = sizeof text - 1;
    c->at = 0;
    const ox_status status = oxi_parse_choice(c, out);
    c->text = outer;
    c->length = length;
    c->at = at;
    return status;
}

static ox_status oxi_parse_atom(oxi_compiler *c, int32_t *out) {
    oxi_term_list list;
    uint32_t code = UINT32_MAX;
    int32_t index = -1;
    ox_status status = OX_OK;
    memset(&list, 0, sizeof list);
    if (oxi_pattern_takes(c, "(")) return oxi_parse_group(c, out);
    for (size_t i = 0; i < sizeof oxi_edges / sizeof *oxi_edges; i++)
        if (oxi_pattern_takes(c, oxi_edges[i].text))
            return oxi_parse_edge(c, oxi_edges[i].kind, oxi_edges[i].negated, out);
    if (oxi_pattern_takes(c, "\\R")) return oxi_parse_line_break(c, out);
    if (strchr("*+?{", c->text[c->at]) && c->text[c->at] && c->text[c->at] != '{')
        return oxi_pattern_fail(c, "a quantifier of nothing");
    if (oxi_pattern_takes(c, "[")) {
        status = oxi_parse_class(c, &index);
    } else {
        bool negated = false;
        if (oxi_pattern_takes(c, "\\")) {
            status = oxi_pattern_escape(c, &list, ' ', &code);
        } else if (oxi_pattern_takes(c, ".")) {
            negated = true; /* of nothing at all, or of the end of a line */
            if (!c->dot_all) status = oxi_term_push(&list, oxi_range_term('\n', '\n'));
        } else {
            code = oxi_utf8_code(c->text, c->length, &c->at);
        }
        if (!status && code != UINT32_MAX) status = oxi_push_range(c, &list, code, code);
        if (!status) index = oxi_class_from(c, &list, negated, -1);
        oxi_free(list.terms, list.room * sizeof *list.terms);
    }
    if (status) return status;
    *out = index < 0 ? -1 : oxi_tree_add(c, OXI_TREE_CLASS);
    if (*out < 0) return OX_ERR_NOMEM;
    c->trees[*out].class_index = index;
    return OX_OK;
}

static bool oxi_parse_number(oxi_compiler *c, int32_t *out) {
    const size_t start = c->at;
    int32_t value = 0;
    for (; c->at < c->length && oxi_is_digit(c->text[c->at]) && c->at - start < 6; c->at++)
        value = value * 10 + (c->text[c->at] - '0');
    if (c->at > start) *out = value;
    return c->at > start;
}

/* {m}, {m,}, {,n}, {m,n}; anything else leaves a brace as it is. */
static bool oxi_parse_counts(oxi_compiler *c, int32_t *min, int32_t *max) {
    const size_t start = c->at;
    *min = 0;
    *max = -1;
    if (oxi_pattern_takes(c, "{")) {
        const bool low = oxi_parse_number(c, min), comma = oxi_pattern_takes(c, ",");
        const bool high = comma && oxi_parse_number(c, max);
        if (!comma) *max = *min;
        if ((low || high) && oxi_pattern_takes(c, "}")) return true;
    }
    c->at = start;
    return false;
}

/* One quantifier of what was parsed last, if there is one. */
static ox_status oxi_parse_quantifier(oxi_compiler *c, int32_t *tree, bool *found) {
    int32_t min = 0, max = -1;
    bool counts = false;
    *found = false;
    if (oxi_pattern_takes(c, "?"))
        max = 1;
    else if (oxi_pattern_takes(c, "+"))
        min = 1;
    else if (!oxi_pattern_takes(c, "*")) {
        if (!oxi_parse_counts(c, &min, &max)) return OX_OK;
        counts = true;
    }
    if (max >= 0 && max < min) return oxi_pattern_fail(c, "a quantifier whose most is less than its least");
    *found = true;
    c->counted += max >= 0 ? max : min;
    if (c->counted > OXI_PATTERN_COUNTED) return oxi_pattern_fail(c, "quantifiers that count too far");
    const int32_t made = oxi_tree_add(c, OXI_TREE_SEQUENCE);
    if (made < 0) return OX_ERR_NOMEM;
    oxi_tree *t = &c->trees[made];
    const oxi_tree *child = &c->trees[*tree];
    t->repeats = true;
    t->min = min;
    t->max = max;
    t->mode = OXI_GREEDY;
    /* {n}? is (?:..{n})?, and {n,m}+ is (?:..{n,m})+ */
    if (!(counts && min == max) && oxi_pattern_takes(c, "?"))
        t->mode = OXI_LAZY;
    else if (!counts && oxi_pattern_takes(c, "+"))
        t->mode = OXI_POSSESSIVE;
    if (child->kind == OXI_TREE_CLASS && !child->repeats) {
        t->kind = OXI_TREE_CLASS;
        t->class_index = child->class_index;
        *tree = made;
        return OX_OK;
    }
    const bool possessive = t->mode == OXI_POSSESSIVE;
    t->child = *tree;
    *tree = made;
    if (!possessive) return OX_OK;
    t->mode = OXI_GREEDY;
    return oxi_parse_atomic(c, made, tree);
}

/* (?x): white space and the rest of a line behind # are nothing. */
static void oxi_pattern_skip(oxi_compiler *c) {
    while (c->extended && c->at < c->length && c->text[c->at]) {
        if (c->text[c->at] == '#')
            while (c->at < c->length && c->text[c->at] != '\n') c->at++;
        else if (strchr(" \t\n\v\f\r", c->text[c->at]))
            c->at++;
        else
            return;
    }
}

static ox_status oxi_parse_sequence(oxi_compiler *c, int32_t *out) {
    const int32_t sequence = oxi_tree_add(c, OXI_TREE_SEQUENCE);
    int32_t last = -1;
    if (sequence < 0) return OX_ERR_NOMEM;
    for (;;) {
        int32_t item = -1;
        bool more = true;
        oxi_pattern_skip(c);
        if (c->at >= c->length || c->text[c->at] == '|' || c->text[c->at] == ')') break;
        ox_status status = oxi_parse_atom(c, &item);
        for (int i = 0; more && !status; i++) {
            oxi_pattern_skip(c);
            if (i == OXI_PATTERN_DEPTH) return oxi_pattern_fail(c, "quantifiers of quantifiers");
            status = oxi_parse_quantifier(c, &item, &more);
        }
        if (status) return status;
        if (last < 0)
            c->trees[sequence].child = item;
        else
            c->trees[last].sibling = item;
        last = item;
    }
    *out = sequence;
    return OX_OK;
}

static ox_status oxi_parse_choice(oxi_compiler *c, int32_t *out) {
    const bool ignore_case = c->ignore_case, dot_all = c->dot_all, extended = c->extended;
    const int32_t choice = oxi_tree_add(c, OXI_TREE_CHOICE);
    int32_t last = -1;
    if (choice < 0) return OX_ERR_NOMEM;
    do {
        int32_t item = -1;
        const ox_status status = oxi_parse_sequence(c, &item);
        if (status) return status;
        if (last < 0)
            c->trees[choice].child = item;
        else
            c->trees[last].sibling = item;
        last = item;
    } while (oxi_pattern_takes(c, "|"));
    c->ignore_case = ignore_case;
    c->dot_all = dot_all;
    c->extended = extended;
    *out = choice;
    return OX_OK;
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static int32_t oxi_step_add(oxi_pattern *p, oxi_step_kind kind, int32_t next) {
    if (p->step_count >= OXI_PATTERN_STEPS) {
        (void)oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: a pattern of more than %d steps", OXI_PATTERN_STEPS);
        return -1;
    }
    void *grown = oxi_grow(p->steps, &p->step_room, p->step_count + 1, sizeof *p->steps, false);
    if (!grown) return -1;
    p->steps = (oxi_step *)grown;
    oxi_step *s = &p->steps[p->step_count];
    memset(s, 0, sizeof *s);
    s->kind = (uint8_t)kind;
    s->next = next;
    s->other = s->class_index = -1;
    s->min = s->max = 1;
    return (int32_t)p->step_count++;
}

static bool oxi_tree_may_be_empty(const oxi_compiler *c, int32_t tree) {
    const oxi_tree *t = &c->trees[tree];
    if (t->repeats && t->min == 0) return true;
    if (t->kind == OXI_TREE_CLASS) return false;
    if (t->kind != OXI_TREE_SEQUENCE && t->kind != OXI_TREE_CHOICE && t->kind != OXI_TREE_ATOMIC) return true;
    bool empty = t->kind != OXI_TREE_CHOICE;
    for (int32_t i = t->child; i >= 0; i = c->trees[i].sibling) {
        const bool may = oxi_tree_may_be_empty(c, i);
        if (t->kind == OXI_TREE_CHOICE ? may : !may) return may;
    }
    return empty;
}

static int32_t oxi_emit(oxi_compiler *c, int32_t tree, int32_t next);

/* Children of a sequence from the last one on. */
static int32_t oxi_emit_sequence(oxi_compiler *c, int32_t child, int32_t next, int depth) {
    int32_t list[64];
    int count = 0;
    for (; child >= 0 && count < 64; child = c->trees[child].sibling) list[count++] = child;
    if (child >= 0 && depth > 64) {
        (void)oxi_pattern_fail(c, "a sequence of more than 4,000 parts");
        return -1;
    }
    if (child >= 0) next = oxi_emit_sequence(c, child, next, depth + 1);
    for (int i = count - 1; i >= 0 && next >= 0; i--) next = oxi_emit(c, list[i], next);
    return next;
}

/* first else second, in the other order if it is lazy. */
static int32_t oxi_emit_choice(oxi_compiler *c, int32_t first, int32_t second, bool lazy) {
    if (first < 0 || second < 0) return -1;
    const int32_t step = oxi_step_add(c->pattern, OXI_STEP_CHOICE, lazy ? second : first);
    if (step >= 0) c->pattern->steps[step].other = lazy ? first : second;
    return step;
}

static int32_t oxi_emit_repeated(oxi_compiler *c, const oxi_tree *t, int32_t next) {
    const bool lazy = t->mode == OXI_LAZY;
    if (t->max < 0) {
        c->pattern->loops |= oxi_tree_may_be_empty(c, t->child);
        const int32_t loop = oxi_step_add(c->pattern, OXI_STEP_CHOICE, next);
        const int32_t body = loop < 0 ? -1 : oxi_emit(c, t->child, loop);
        if (body < 0) return -1;
        c->pattern->steps[loop].next = lazy ? next : body;
        c->pattern->steps[loop].other = lazy ? body : next;
        next = loop;
    } else {
        const int32_t end = next;
        for (int32_t i = t->min; i < t->max && next >= 0; i++)
            next = oxi_emit_choice(c, oxi_emit(c, t->child, next), end, lazy);
    }
    for (int32_t i = 0; i < t->min && next >= 0; i++) next = oxi_emit(c, t->child, next);
    return next;
}

static int32_t oxi_emit_look(oxi_compiler *c, const oxi_tree *t, int32_t next) {
    if (t->behind) {
        const int32_t step = oxi_step_add(c->pattern, OXI_STEP_BEFORE, next);
        if (step < 0) return -1;
        c->pattern->steps[step].class_index = c->trees[t->child].class_index;
        c->pattern->steps[step].negated = t->negated;
        return step;
    }
    const int32_t match = oxi_step_add(c->pattern, OXI_STEP_MATCH, -1);
    const int32_t body = match < 0 ? -1 : oxi_emit(c, t->child, match);
    const int32_t step = body < 0 ? -1 : oxi_step_add(c->pattern, OXI_STEP_LOOK, next);
    if (step < 0) return -1;
    c->pattern->steps[step].other = body;
    c->pattern->steps[step].min = t->min;
    c->pattern->steps[step].negated = t->negated;
    return step;
}

static int32_t oxi_emit_atomic(oxi_compiler *c, const oxi_tree *t, int32_t next) {
    const int32_t match = oxi_step_add(c->pattern, OXI_STEP_MATCH, -1);
    const int32_t body = match < 0 ? -1 : oxi_emit(c, t->child, match);
    const int32_t step = body < 0 ? -1 : oxi_step_add(c->pattern, OXI_STEP_ATOMIC, next);
    if (step >= 0) c->pattern->steps[step].other = body;
    return step;
}

/* The steps of a tree that go on with `next`: the first one, -1 = failed. */
static int32_t oxi_emit(oxi_compiler *c, int32_t tree, int32_t next) {
    const oxi_tree t = c->trees[tree];
    int32_t step = next;
    if (t.kind == OXI_TREE_CLASS) {
        step = oxi_step_add(c->pattern, OXI_STEP_RUN, next);
        if (step < 0) return -1;
        oxi_step *s = &c->pattern->steps[step];
        s->class_index = t.class_index;
        s->min = t.repeats ? t.min : 1;
        s->max = t.repeats ? t.max : 1;
        s->mode = t.mode;
    } else if (t.repeats) {
        step = oxi_emit_repeated(c, &t, next);
    } else if (t.kind == OXI_TREE_SEQUENCE) {
        step = oxi_emit_sequence(c, t.child, next, 0);
    } else if (t.kind == OXI_TREE_CHOICE) {
        int32_t list[64];
        int count = 0;
        for (int32_t i = t.child; i >= 0; i = c->trees[i].sibling) {
            if (count == 64) {
                (void)oxi_pattern_fail(c, "more than 64 alternatives");
                return -1;
            }
            list[count++] = i;
        }
        step = oxi_emit(c, list[count - 1], next);
        for (int i = count - 2; i >= 0 && step >= 0; i--)
            step = oxi_emit_choice(c, oxi_emit(c, list[i], next), step, false);
    } else if (t.kind == OXI_TREE_LOOK) {
        step = oxi_emit_look(c, &t, next);
    } else if (t.kind == OXI_TREE_ATOMIC) {
        step = oxi_emit_atomic(c, &t, next);
    } else if (t.kind == OXI_TREE_EDGE) {
        step = oxi_step_add(c->pattern, (oxi_step_kind)t.edge, next);
        if (step >= 0) c->pattern->steps[step].negated = t.negated;
    }
    return step;
}

/* Which first bytes may lead on from a step; true: it may match nothing. `budget` bounds the walk. */
static bool oxi_first_bytes(oxi_pattern *p, int32_t step, uint64_t bit, int *budget) {
    for (;;) {
        const oxi_step *s = &p->steps[step];
        if (--*budget < 0 || s->kind == OXI_STEP_MATCH) return true;
        if (s->kind == OXI_STEP_CHOICE) {
            if (oxi_first_bytes(p, s->next, bit, budget)) return true;
            step = s->other;
            continue;
        }
        if (s->kind == OXI_STEP_ATOMIC && !oxi_first_bytes(p, s->other, bit, budget)) return false;
        if (s->kind == OXI_STEP_RUN) {
            for (int b = 0; b < 128; b++)
                if (p->classes[s->class_index].ascii[b]) p->first[b] |= bit;
            p->first[128] |= bit;
            if (s->min > 0) return false;
        }
        step = s->next;
    }
}

static ox_status oxi_pattern_starts(oxi_compiler *c, int32_t tree) {
    oxi_pattern *p = c->pattern;
    const int32_t match = oxi_step_add(p, OXI_STEP_MATCH, -1);
    for (int32_t i = c->trees[tree].child; i >= 0; i = c->trees[i].sibling) {
        void *grown = oxi_grow(p->starts, &p->start_room, p->start_count + 1, sizeof *p->starts, false);
        const int32_t start = grown && match >= 0 ? oxi_emit(c, i, match) : -1;
        if (grown) p->starts = (int32_t *)grown;
        if (start < 0) return ox_error() ? ox_error() : OX_ERR_NOMEM;
        const uint64_t bit = (uint64_t)1 << (p->start_count < 63 ? p->start_count : 63);
        int budget = 2000;
        p->starts[p->start_count++] = start;
        if (oxi_first_bytes(p, start, bit, &budget)) {
            for (int b = 0; b <= 128; b++) p->first[b] |= bit;
            p->anchored = true;
        }
    }
    return OX_OK;
}

static ox_status oxi_pattern_open(oxi_pattern *pattern, const oxi_unicode *unicode, const char *text,
                                  size_t length) {
    oxi_compiler c;
    int32_t tree = -1;
    memset(&c, 0, sizeof c);
    c.pattern = pattern;
    c.text = text;
    c.length = length;
    pattern->unicode = unicode;
    ox_status status = length > 1 << 20 || !oxi_utf8_is_valid(text, length)
                           ? oxi_pattern_fail(&c, "not a pattern in UTF-8")
                           : oxi_parse_choice(&c, &tree);
    if (!status && c.at < length) status = oxi_pattern_fail(&c, ") without its (");
    if (!status) status = oxi_pattern_starts(&c, tree);
    oxi_free(c.trees, c.tree_room * sizeof *c.trees);
    return status;
}

static void oxi_pattern_close(oxi_pattern *p) {
    oxi_free(p->classes, p->class_room * sizeof *p->classes);
    oxi_free(p->terms, p->term_room * sizeof *p->terms);
    oxi_free(p->steps, p->step_room * sizeof *p->steps);
    oxi_free(p->starts, p->start_room * sizeof *p->starts);
}
