/* Statements: text, {{ }} and {% %}, each kind a row of a table with the function that reads it.
 * A body ends at the word that its statement waits for.
 * Called by ox_llm_template_open. */

/* A body ends at one of these words, NULL at the end of the source. */
typedef struct oxi_jinja_ends {
    const char *words[4];
} oxi_jinja_ends;

static oxi_jinja_node *oxi_jinja_parse_body(oxi_jinja_parser *p, const oxi_jinja_ends *ends);

static void oxi_jinja_close_block(oxi_jinja_parser *p) {
    if (p->token != OXI_JINJA_TOKEN_CLOSE)
        oxi_jinja_syntax(p, "expected the end of the block");
    else
        oxi_jinja_next(p);
}

/* A body up to its one end word, and the end of that block. */
static oxi_jinja_node *oxi_jinja_parse_until(oxi_jinja_parser *p, const char *word) {
    oxi_jinja_ends ends = {{NULL, NULL, NULL, NULL}};
    ends.words[0] = word;
    oxi_jinja_close_block(p);
    oxi_jinja_node *body = oxi_jinja_parse_body(p, &ends);
    (void)oxi_jinja_expect(p, word);
    return body;
}

static void oxi_jinja_parse_if(oxi_jinja_parser *p, oxi_jinja_node *node) {
    static const oxi_jinja_ends ends = {{"elif", "else", "endif", NULL}};
    for (;;) {
        node->a = oxi_jinja_parse_tuple(p, false);
        oxi_jinja_close_block(p);
        node->b = oxi_jinja_parse_body(p, &ends);
        if (!oxi_jinja_skip(p, "elif")) break;
        node->c = oxi_jinja_node_new(p, OXI_JINJA_IF);
        if (!node->c) return;
        node->flag = 1;
        node = node->c;
    }
    if (oxi_jinja_skip(p, "else"))
        node->c = oxi_jinja_parse_until(p, "endif");
    else
        (void)oxi_jinja_expect(p, "endif");
}

static void oxi_jinja_parse_for(oxi_jinja_parser *p, oxi_jinja_node *node) {
    static const oxi_jinja_ends ends = {{"else", "endfor", NULL, NULL}};
    node->b = oxi_jinja_parse_target(p, false);
    (void)oxi_jinja_expect(p, "in");
    node->a = oxi_jinja_parse_tuple(p, false);
    if (oxi_jinja_skip(p, "if")) node->e = oxi_jinja_parse_expression(p, true);
    node->flag = oxi_jinja_skip(p, "recursive");
    oxi_jinja_close_block(p);
    p->loops++;
    node->c = oxi_jinja_parse_body(p, &ends);
    p->loops--;
    if (oxi_jinja_skip(p, "else"))
        node->d = oxi_jinja_parse_until(p, "endfor");
    else
        (void)oxi_jinja_expect(p, "endfor");
}

static void oxi_jinja_parse_set(oxi_jinja_parser *p, oxi_jinja_node *node) {
    node->b = oxi_jinja_parse_target(p, true);
    if (oxi_jinja_skip(p, "=")) {
        node->a = oxi_jinja_parse_tuple(p, true);
        return;
    }
    node->kind = OXI_JINJA_SET_BLOCK;
    if (oxi_jinja_skip(p, "|")) node->a = oxi_jinja_parse_filters(p, NULL, true);
    node->c = oxi_jinja_parse_until(p, "endset");
}

/* "(name, name = default)" */
static oxi_jinja_node *oxi_jinja_parse_parameters(oxi_jinja_parser *p) {
    oxi_jinja_node *first = NULL, **last = &first;
    bool defaults = false;
    if (!oxi_jinja_expect(p, "(")) return NULL;
    while (!p->j->status && !oxi_jinja_at(p, ")")) {
        if (first && !oxi_jinja_expect(p, ",")) break;
        if (p->token != OXI_JINJA_TOKEN_NAME) {
            oxi_jinja_syntax(p, "expected the name of a parameter");
            break;
        }
        oxi_jinja_node *parameter = oxi_jinja_node_new(p, OXI_JINJA_PARAMETER);
        if (!parameter) return NULL;
        parameter->value = p->value;
        parameter->symbol = oxi_jinja_symbol(p, p->value);
        oxi_jinja_next(p);
        if (oxi_jinja_skip(p, "="))
            parameter->a = oxi_jinja_parse_expression(p, true);
        else if (defaults)
            oxi_jinja_syntax(p, "a parameter without a default follows one that has it");
        defaults = parameter->a != NULL;
        *last = parameter;
        last = &parameter->next;
    }
    (void)oxi_jinja_expect(p, ")");
    return first;
}

/* The body of a macro: break and continue of loops around it are not its own. */
static oxi_jinja_node *oxi_jinja_parse_macro_body(oxi_jinja_parser *p, const char *word) {
    const int loops = p->loops;
    p->loops = 0;
    oxi_jinja_node *body = oxi_jinja_parse_until(p, word);
    p->loops = loops;
    return body;
}

static void oxi_jinja_parse_macro(oxi_jinja_parser *p, oxi_jinja_node *node) {
    if (p->token != OXI_JINJA_TOKEN_NAME) oxi_jinja_syntax(p, "expected the name of a macro");
    node->value = p->value;
    node->symbol = oxi_jinja_symbol(p, p->value);
    oxi_jinja_next(p);
    node->a = oxi_jinja_parse_parameters(p);
    node->c = oxi_jinja_parse_macro_body(p, "endmacro");
}

static void oxi_jinja_parse_call_block(oxi_jinja_parser *p, oxi_jinja_node *node) {
    oxi_jinja_node *caller = oxi_jinja_node_new(p, OXI_JINJA_MACRO_NODE);
    if (!caller) return;
    caller->value = oxi_jinja_word("caller");
    if (oxi_jinja_at(p, "(")) caller->a = oxi_jinja_parse_parameters(p);
    node->b = caller;
    node->a = oxi_jinja_parse_expression(p, true);
    if (node->a && node->a->kind != OXI_JINJA_CALL) oxi_jinja_syntax(p, "expected a call");
    caller->c = oxi_jinja_parse_macro_body(p, "endcall");
}

static void oxi_jinja_parse_filter_block(oxi_jinja_parser *p, oxi_jinja_node *node) {
    node->a = oxi_jinja_parse_filters(p, NULL, true);
    node->c = oxi_jinja_parse_until(p, "endfilter");
}

static void oxi_jinja_parse_with(oxi_jinja_parser *p, oxi_jinja_node *node) {
    oxi_jinja_node **value = &node->a, **target = &node->b;
    while (!p->j->status && p->token != OXI_JINJA_TOKEN_CLOSE) {
        if (node->a && !oxi_jinja_expect(p, ",")) return;
        *target = oxi_jinja_parse_one_target(p, false);
        (void)oxi_jinja_expect(p, "=");
        *value = oxi_jinja_parse_expression(p, true);
        if (!*target || !*value) return;
        target = &(*target)->next;
        value = &(*value)->next;
    }
    node->c = oxi_jinja_parse_until(p, "endwith");
}

static void oxi_jinja_parse_generation(oxi_jinja_parser *p, oxi_jinja_node *node) {
    node->c = oxi_jinja_parse_until(p, "endgeneration");
}

/* {% block name scoped required %}: it is kept by its name too, for self.name(). */
static void oxi_jinja_parse_section(oxi_jinja_parser *p, oxi_jinja_node *node) {
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_MACRO);
    oxi_jinja_macro *macro = (oxi_jinja_macro *)oxi_jinja_alloc(p->j, sizeof *macro);
    if (p->token != OXI_JINJA_TOKEN_NAME) oxi_jinja_syntax(p, "expected the name of a block");
    if (p->j->status || !macro) return;
    node->value = p->value;
    if (oxi_jinja_dict_find(p->j, p->sections, p->value)) oxi_jinja_syntax(p, "a block is there twice");
    memset(macro, 0, sizeof *macro);
    macro->node = node;
    macro->name.data = p->value.as.text;
    macro->name.length = p->value.length;
    v.as.macro = macro;
    oxi_jinja_dict_set(p->j, p->sections, p->value, v);
    oxi_jinja_next(p);
    node->flag = oxi_jinja_skip(p, "scoped");
    node->operation = oxi_jinja_skip(p, "required");
    node->c = oxi_jinja_parse_macro_body(p, "endblock");
    if (oxi_jinja_is_text(node->value, "") || p->token != OXI_JINJA_TOKEN_NAME) return;
    if (p->value.length != node->value.length ||
        memcmp(p->value.as.text, node->value.as.text, p->value.length) != 0)
        oxi_jinja_syntax(p, "expected the name of the block that ends");
    oxi_jinja_next(p);
}

static void oxi_jinja_parse_jump(oxi_jinja_parser *p, oxi_jinja_node *node) {
    (void)node;
    if (!p->loops) oxi_jinja_syntax(p, "break and continue belong into a loop");
}

/* What follows the word of a statement, up to the end of its last block. */
static const struct oxi_jinja_statement {
    const char *word;
    oxi_jinja_kind kind;
    void (*parse)(oxi_jinja_parser *p, oxi_jinja_node *node);
} oxi_jinja_statements[] = {
    {"if", OXI_JINJA_IF, oxi_jinja_parse_if},
    {"for", OXI_JINJA_FOR, oxi_jinja_parse_for},
    {"set", OXI_JINJA_SET, oxi_jinja_parse_set},
    {"macro", OXI_JINJA_MACRO_NODE, oxi_jinja_parse_macro},
    {"call", OXI_JINJA_CALL_BLOCK, oxi_jinja_parse_call_block},
    {"filter", OXI_JINJA_FILTER_BLOCK, oxi_jinja_parse_filter_block},
    {"with", OXI_JINJA_WITH, oxi_jinja_parse_with},
    {"generation", OXI_JINJA_SCOPE, oxi_jinja_parse_generation},
    {"block", OXI_JINJA_SECTION, oxi_jinja_parse_section},
    {"break", OXI_JINJA_BREAK, oxi_jinja_parse_jump},
    {"continue", OXI_JINJA_CONTINUE, oxi_jinja_parse_jump},
};

/* Behind "{%". */
static oxi_jinja_node *oxi_jinja_parse_block(oxi_jinja_parser *p) {
    for (size_t i = 0; i < sizeof oxi_jinja_statements / sizeof *oxi_jinja_statements; i++) {
        if (!oxi_jinja_at(p, oxi_jinja_statements[i].word)) continue;
        oxi_jinja_node *node = oxi_jinja_node_new(p, oxi_jinja_statements[i].kind);
        if (!node) return NULL;
        oxi_jinja_next(p);
        if (oxi_jinja_deeper(p)) oxi_jinja_statements[i].parse(p, node);
        oxi_jinja_shallower(p);
        oxi_jinja_close_block(p);
        return node;
    }
    static const char *const others[] = {"include", "import", "from", "extends"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (oxi_jinja_at(p, others[i])) oxi_jinja_syntax(p, "a template cannot use other templates");
    if (oxi_jinja_at(p, "autoescape")) oxi_jinja_syntax(p, "autoescape is not supported");
    oxi_jinja_syntax(p, "expected a statement");
    return NULL;
}

static oxi_jinja_node *oxi_jinja_parse_print(oxi_jinja_parser *p) {
    oxi_jinja_node *node = oxi_jinja_node_new(p, OXI_JINJA_PRINT);
    oxi_jinja_next(p);
    if (node) node->a = oxi_jinja_parse_tuple(p, true);
    oxi_jinja_close_block(p);
    return node;
}

static bool oxi_jinja_body_ends(const oxi_jinja_parser *p, const oxi_jinja_ends *ends) {
    for (size_t i = 0; ends && i < 4 && ends->words[i]; i++)
        if (oxi_jinja_at(p, ends->words[i])) return true;
    return false;
}

static oxi_jinja_node *oxi_jinja_parse_body(oxi_jinja_parser *p, const oxi_jinja_ends *ends) {
    oxi_jinja_node *first = NULL, **last = &first;
    while (!p->j->status && p->token != OXI_JINJA_TOKEN_END) {
        oxi_jinja_node *node;
        if (p->token == OXI_JINJA_TOKEN_TEXT) {
            node = oxi_jinja_node_new(p, OXI_JINJA_TEXT);
            if (node) node->value = p->value;
            oxi_jinja_next(p);
        } else if (p->token == OXI_JINJA_TOKEN_PRINT_BEGIN) {
            node = oxi_jinja_parse_print(p);
        } else {
            oxi_jinja_next(p);
            if (oxi_jinja_body_ends(p, ends)) return first;
            node = oxi_jinja_parse_block(p);
        }
        if (!node) return NULL;
        *last = node;
        last = &node->next;
    }
    if (ends && !p->j->status) {
        char what[48];
        (void)snprintf(what, sizeof what, "expected '%s'", ends->words[ends->words[1] ? 1 : 0]);
        oxi_jinja_syntax(p, what);
    }
    return first;
}

static oxi_jinja_node *oxi_jinja_parse_template(oxi_jinja_parser *p) {
    oxi_jinja_next(p);
    return oxi_jinja_parse_body(p, NULL);
}
