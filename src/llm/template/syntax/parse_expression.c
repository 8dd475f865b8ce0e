/* Expressions: precedence climbing over a table of operators, then names, literals, calls, filters, tests.
 * Operators of one level that follow each other are one node with a list, so that long chains nest nothing.
 * Called by parse_statement.c. */

static uint32_t oxi_jinja_symbol(oxi_jinja_parser *p, oxi_jinja_value name) {
    const oxi_jinja_value *found = oxi_jinja_dict_find(p->j, p->symbols, name);
    if (found) return (uint32_t)found->as.i;
    const uint32_t symbol = (uint32_t)p->symbols->count;
    oxi_jinja_dict_set(p->j, p->symbols, name, oxi_jinja_int(symbol));
    return symbol;
}

/* NULL after a failure, also an earlier one. */
static oxi_jinja_node *oxi_jinja_node_new(oxi_jinja_parser *p, oxi_jinja_kind kind) {
    oxi_jinja_node *node = (oxi_jinja_node *)oxi_jinja_alloc(p->j, sizeof *node);
    if (!node) return NULL;
    memset(node, 0, sizeof *node);
    node->kind = (uint8_t)kind;
    node->line = p->line;
    node->column = p->column;
    return node;
}

static oxi_jinja_node *oxi_jinja_node_over(oxi_jinja_parser *p, oxi_jinja_kind kind, oxi_jinja_node *a) {
    oxi_jinja_node *node = a ? oxi_jinja_node_new(p, kind) : NULL;
    if (node) node->a = a;
    return node;
}

static oxi_jinja_node *oxi_jinja_literal(oxi_jinja_parser *p, oxi_jinja_value value) {
    oxi_jinja_node *node = oxi_jinja_node_new(p, OXI_JINJA_LITERAL);
    if (node) node->value = value;
    return node;
}

/* One level of brackets or blocks deeper; oxi_jinja_shallower whatever it says. */
static bool oxi_jinja_deeper(oxi_jinja_parser *p) {
    if (++p->nesting > OXI_JINJA_MOST_NESTING) oxi_jinja_syntax(p, "nested too deep");
    return !p->j->status;
}

static void oxi_jinja_shallower(oxi_jinja_parser *p) {
    p->nesting--;
}

static oxi_jinja_node *oxi_jinja_parse_unary(oxi_jinja_parser *p, bool with_filters);

/* ---- calls --------------------------------------------------------------------------------------------- */

static oxi_jinja_node *oxi_jinja_parse_argument(oxi_jinja_parser *p) {
    oxi_jinja_operation how = OXI_JINJA_NO_OPERATION;
    oxi_jinja_value name = oxi_jinja_none();
    if (oxi_jinja_skip(p, "*"))
        how = OXI_JINJA_UNPACK;
    else if (oxi_jinja_skip(p, "**"))
        how = OXI_JINJA_UNPACK_KEYWORDS;
    else if (p->token == OXI_JINJA_TOKEN_NAME) {
        const size_t at = oxi_jinja_skip_space(p, p->end);
        if (oxi_jinja_peek(p, at) == '=' && oxi_jinja_peek(p, at + 1) != '=') {
            how = OXI_JINJA_BY_KEYWORD;
            name = p->value;
            oxi_jinja_next(p);
            oxi_jinja_next(p);
        }
    }
    oxi_jinja_node *node = oxi_jinja_node_over(p, OXI_JINJA_ARGUMENT, oxi_jinja_parse_expression(p, true));
    if (!node) return NULL;
    node->operation = (uint8_t)how;
    node->value = name;
    return node;
}

/* From '(' to ')'. */
static oxi_jinja_node *oxi_jinja_parse_arguments(oxi_jinja_parser *p) {
    oxi_jinja_node *first = NULL, **last = &first;
    bool keywords = false;
    if (!oxi_jinja_expect(p, "(")) return NULL;
    while (!p->j->status && !oxi_jinja_at(p, ")")) {
        if (first && (!oxi_jinja_expect(p, ",") || oxi_jinja_at(p, ")"))) break;
        oxi_jinja_node *argument = oxi_jinja_parse_argument(p);
        if (!argument) return NULL;
        const bool named =
            argument->operation == OXI_JINJA_BY_KEYWORD || argument->operation == OXI_JINJA_UNPACK_KEYWORDS;
        if (keywords && argument->operation == OXI_JINJA_NO_OPERATION)
            oxi_jinja_syntax(p, "an argument without a keyword follows one that has it");
        keywords = keywords || named;
        *last = argument;
        last = &argument->next;
    }
    (void)oxi_jinja_expect(p, ")");
    return first;
}

/* ---- filters and tests --------------------------------------------------------------------------------- */

/* A name, with points between its parts. */
static oxi_jinja_value oxi_jinja_parse_dotted(oxi_jinja_parser *p) {
    const size_t start = p->start;
    size_t end = p->end;
    if (p->token != OXI_JINJA_TOKEN_NAME) oxi_jinja_syntax(p, "expected a name");
    oxi_jinja_next(p);
    while (oxi_jinja_skip(p, ".")) {
        end = p->end;
        if (p->token != OXI_JINJA_TOKEN_NAME) oxi_jinja_syntax(p, "expected a name");
        oxi_jinja_next(p);
    }
    return oxi_jinja_text(p->source + start, end - start);
}

static oxi_jinja_node *oxi_jinja_parse_filter(oxi_jinja_parser *p, oxi_jinja_node *a) {
    oxi_jinja_node *node = oxi_jinja_node_new(p, OXI_JINJA_FILTER);
    if (!node) return NULL;
    node->a = a;
    node->value = oxi_jinja_parse_dotted(p);
    node->function = oxi_jinja_find_filter(node->value);
    if (oxi_jinja_at(p, "(")) node->b = oxi_jinja_parse_arguments(p);
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_postfix(oxi_jinja_parser *p, oxi_jinja_node *node);
static oxi_jinja_node *oxi_jinja_parse_primary(oxi_jinja_parser *p);

/* Behind `is`. An argument may follow without brackets. */
static oxi_jinja_node *oxi_jinja_parse_test(oxi_jinja_parser *p, oxi_jinja_node *a) {
    oxi_jinja_node *node = oxi_jinja_node_over(p, OXI_JINJA_TEST, a);
    if (!node) return NULL;
    node->flag = oxi_jinja_skip(p, "not");
    node->value = oxi_jinja_parse_dotted(p);
    node->function = oxi_jinja_find_test(node->value);
    const bool word = p->token == OXI_JINJA_TOKEN_NAME && !oxi_jinja_at(p, "else") &&
                      !oxi_jinja_at(p, "or") && !oxi_jinja_at(p, "and");
    if (oxi_jinja_at(p, "is")) {
        oxi_jinja_syntax(p, "tests with 'is' cannot follow each other");
    } else if (oxi_jinja_at(p, "(")) {
        node->b = oxi_jinja_parse_arguments(p);
    } else if (word || p->token == OXI_JINJA_TOKEN_STRING || p->token == OXI_JINJA_TOKEN_NUMBER ||
               oxi_jinja_at(p, "[") || oxi_jinja_at(p, "{")) {
        oxi_jinja_node *argument = oxi_jinja_parse_postfix(p, oxi_jinja_parse_primary(p));
        node->b = oxi_jinja_node_over(p, OXI_JINJA_ARGUMENT, argument);
    }
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_call(oxi_jinja_parser *p, oxi_jinja_node *a) {
    oxi_jinja_node *node = oxi_jinja_node_over(p, OXI_JINJA_CALL, a);
    if (node) node->b = oxi_jinja_parse_arguments(p);
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_filters(oxi_jinja_parser *p, oxi_jinja_node *node, bool first) {
    if (first) node = oxi_jinja_parse_filter(p, NULL);
    while (!p->j->status) {
        if (oxi_jinja_skip(p, "|"))
            node = oxi_jinja_parse_filter(p, node);
        else if (oxi_jinja_skip(p, "is"))
            node = oxi_jinja_parse_test(p, node);
        else if (oxi_jinja_at(p, "("))
            node = oxi_jinja_parse_call(p, node);
        else
            break;
    }
    return p->j->status ? NULL : node;
}

/* ---- attributes and items ------------------------------------------------------------------------------ */

/* One bound of a slice or NULL; behind '[' or ':'. */
static oxi_jinja_node *oxi_jinja_parse_bound(oxi_jinja_parser *p) {
    if (!oxi_jinja_at(p, ":") && !oxi_jinja_at(p, "]") && !oxi_jinja_at(p, ","))
        return oxi_jinja_parse_expression(p, true);
    oxi_jinja_value missing = oxi_jinja_none();
    missing.type = OXI_JINJA_MISSING;
    return oxi_jinja_literal(p, missing);
}

static oxi_jinja_node *oxi_jinja_parse_subscript(oxi_jinja_parser *p, oxi_jinja_node *a) {
    oxi_jinja_node *bound = oxi_jinja_parse_bound(p);
    const bool is_slice = oxi_jinja_at(p, ":");
    oxi_jinja_node *node = oxi_jinja_node_over(p, is_slice ? OXI_JINJA_SLICE : OXI_JINJA_ITEM, a);
    if (!node || !bound) return NULL;
    node->b = bound;
    for (int i = 0; is_slice && i < 2; i++) {
        (void)oxi_jinja_skip(p, ":");
        bound->next = oxi_jinja_parse_bound(p);
        bound = bound->next;
        if (!bound) return NULL;
    }
    if (!is_slice && node->b->value.type == OXI_JINJA_MISSING && node->b->kind == OXI_JINJA_LITERAL)
        oxi_jinja_syntax(p, "expected an index");
    (void)oxi_jinja_expect(p, "]");
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_member(oxi_jinja_parser *p, oxi_jinja_node *a) {
    const bool is_name = p->token == OXI_JINJA_TOKEN_NAME;
    oxi_jinja_node *node = oxi_jinja_node_over(p, is_name ? OXI_JINJA_ATTRIBUTE : OXI_JINJA_ITEM, a);
    if (!node) return NULL;
    node->value = p->value;
    if (!is_name && p->token == OXI_JINJA_TOKEN_NUMBER && p->value.type == OXI_JINJA_INT)
        node->b = oxi_jinja_literal(p, p->value);
    else if (!is_name)
        oxi_jinja_syntax(p, "expected a name or a number behind '.'");
    oxi_jinja_next(p);
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_postfix(oxi_jinja_parser *p, oxi_jinja_node *node) {
    while (node && !p->j->status) {
        if (oxi_jinja_skip(p, "."))
            node = oxi_jinja_parse_member(p, node);
        else if (oxi_jinja_skip(p, "["))
            node = oxi_jinja_parse_subscript(p, node);
        else if (oxi_jinja_at(p, "("))
            node = oxi_jinja_parse_call(p, node);
        else
            break;
    }
    return p->j->status ? NULL : node;
}

/* ---- names and literals -------------------------------------------------------------------------------- */

static oxi_jinja_node *oxi_jinja_parse_name(oxi_jinja_parser *p) {
    static const struct {
        const char *name;
        oxi_jinja_type type;
        int is_true;
    } constants[] = {{"true", OXI_JINJA_BOOL, 1},  {"True", OXI_JINJA_BOOL, 1}, {"false", OXI_JINJA_BOOL, 0},
                     {"False", OXI_JINJA_BOOL, 0}, {"none", OXI_JINJA_NONE, 0}, {"None", OXI_JINJA_NONE, 0}};
    for (size_t i = 0; i < sizeof constants / sizeof *constants; i++)
        if (oxi_jinja_skip(p, constants[i].name))
            return oxi_jinja_literal(p, constants[i].type == OXI_JINJA_NONE
                                            ? oxi_jinja_none()
                                            : oxi_jinja_bool(constants[i].is_true != 0));
    oxi_jinja_node *node = oxi_jinja_node_new(p, OXI_JINJA_NAME);
    if (!node) return NULL;
    node->value = p->value;
    node->symbol = oxi_jinja_symbol(p, p->value);
    oxi_jinja_next(p);
    return p->j->status ? NULL : node;
}

/* Strings beside each other are one. */
static oxi_jinja_node *oxi_jinja_parse_string(oxi_jinja_parser *p) {
    oxi_jinja_value text = p->value;
    const size_t capture = p->j->out_length;
    bool several = false;
    for (oxi_jinja_next(p); p->token == OXI_JINJA_TOKEN_STRING; oxi_jinja_next(p)) {
        if (!several) oxi_jinja_write(p->j, text.as.text, text.length);
        oxi_jinja_write(p->j, p->value.as.text, p->value.length);
        several = true;
    }
    if (several) text = oxi_jinja_take(p->j, capture);
    return oxi_jinja_literal(p, text);
}

/* Elements up to `close`; of a dict with ':' between keys and values. */
static oxi_jinja_node *oxi_jinja_parse_elements(oxi_jinja_parser *p, oxi_jinja_node *node,
                                                const char *close) {
    oxi_jinja_node **last;
    if (!node) return NULL;
    last = &node->a;
    while (!p->j->status && !oxi_jinja_at(p, close)) {
        if (node->a && (!oxi_jinja_expect(p, ",") || oxi_jinja_at(p, close))) break;
        oxi_jinja_node *element = oxi_jinja_parse_expression(p, true);
        if (!element) return NULL;
        *last = element;
        last = &element->next;
        if (node->kind != OXI_JINJA_DICTIONARY) continue;
        (void)oxi_jinja_expect(p, ":");
        element = oxi_jinja_parse_expression(p, true);
        if (!element) return NULL;
        *last = element;
        last = &element->next;
    }
    (void)oxi_jinja_expect(p, close);
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_bracket(oxi_jinja_parser *p) {
    oxi_jinja_node *node;
    if (oxi_jinja_skip(p, "[")) {
        node = oxi_jinja_node_new(p, OXI_JINJA_SEQUENCE);
        if (node) node->flag = 1;
        return oxi_jinja_parse_elements(p, node, "]");
    }
    if (oxi_jinja_skip(p, "{"))
        return oxi_jinja_parse_elements(p, oxi_jinja_node_new(p, OXI_JINJA_DICTIONARY), "}");
    if (!oxi_jinja_skip(p, "(")) {
        oxi_jinja_syntax(p, "expected an expression");
        return NULL;
    }
    node = oxi_jinja_at(p, ")") ? oxi_jinja_node_new(p, OXI_JINJA_SEQUENCE) : oxi_jinja_parse_tuple(p, true);
    (void)oxi_jinja_expect(p, ")");
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_primary(oxi_jinja_parser *p) {
    if (p->token == OXI_JINJA_TOKEN_NAME) return oxi_jinja_parse_name(p);
    if (p->token == OXI_JINJA_TOKEN_STRING) return oxi_jinja_parse_string(p);
    if (p->token == OXI_JINJA_TOKEN_NUMBER) {
        oxi_jinja_node *node = oxi_jinja_literal(p, p->value);
        oxi_jinja_next(p);
        return node;
    }
    return oxi_jinja_parse_bracket(p);
}

/* ---- operators ----------------------------------------------------------------------------------------- */

static oxi_jinja_node *oxi_jinja_parse_unary(oxi_jinja_parser *p, bool with_filters) {
    oxi_jinja_node *node = NULL;
    if (oxi_jinja_deeper(p)) {
        const bool minus = oxi_jinja_at(p, "-");
        if (minus || oxi_jinja_at(p, "+")) {
            oxi_jinja_next(p);
            node = oxi_jinja_node_over(p, OXI_JINJA_UNARY, oxi_jinja_parse_unary(p, false));
            if (node) node->operation = (uint8_t)(minus ? OXI_JINJA_NEGATE : OXI_JINJA_PLUS);
        } else
            node = oxi_jinja_parse_primary(p);
        node = oxi_jinja_parse_postfix(p, node);
        if (with_filters && node) node = oxi_jinja_parse_filters(p, node, false);
    }
    oxi_jinja_shallower(p);
    return p->j->status ? NULL : node;
}

enum { OXI_JINJA_LEVEL_NOT = 3, OXI_JINJA_LEVEL_COMPARE = 4 };

typedef struct oxi_jinja_operator {
    const char *text;
    uint8_t level, kind, operation;
} oxi_jinja_operator;

/* Higher levels bind tighter. */
static const oxi_jinja_operator oxi_jinja_operators[] = {
    {"or", 1, OXI_JINJA_OR, 0},
    {"and", 2, OXI_JINJA_AND, 0},
    {"==", 4, OXI_JINJA_COMPARE, OXI_JINJA_EQUAL},
    {"!=", 4, OXI_JINJA_COMPARE, OXI_JINJA_NOT_EQUAL},
    {"<", 4, OXI_JINJA_COMPARE, OXI_JINJA_LESS},
    {"<=", 4, OXI_JINJA_COMPARE, OXI_JINJA_LESS_EQUAL},
    {">", 4, OXI_JINJA_COMPARE, OXI_JINJA_GREATER},
    {">=", 4, OXI_JINJA_COMPARE, OXI_JINJA_GREATER_EQUAL},
    {"in", 4, OXI_JINJA_COMPARE, OXI_JINJA_IN},
    {"not", 4, OXI_JINJA_COMPARE, OXI_JINJA_NOT_IN}, /* followed by "in" */
    {"+", 5, OXI_JINJA_BINARY, OXI_JINJA_ADD},
    {"-", 5, OXI_JINJA_BINARY, OXI_JINJA_SUBTRACT},
    {"~", 6, OXI_JINJA_BINARY, OXI_JINJA_CONCATENATE},
    {"*", 7, OXI_JINJA_BINARY, OXI_JINJA_MULTIPLY},
    {"/", 7, OXI_JINJA_BINARY, OXI_JINJA_DIVIDE},
    {"//", 7, OXI_JINJA_BINARY, OXI_JINJA_FLOOR_DIVIDE},
    {"%", 7, OXI_JINJA_BINARY, OXI_JINJA_MODULO},
    {"**", 8, OXI_JINJA_BINARY, OXI_JINJA_POWER},
};

/* The operator that the token is, or NULL. */
static const oxi_jinja_operator *oxi_jinja_operator_at(const oxi_jinja_parser *p) {
    if (p->token != OXI_JINJA_TOKEN_NAME && p->token != OXI_JINJA_TOKEN_OPERATOR) return NULL;
    for (size_t i = 0; i < sizeof oxi_jinja_operators / sizeof *oxi_jinja_operators; i++) {
        const oxi_jinja_operator *row = &oxi_jinja_operators[i];
        if (!oxi_jinja_at(p, row->text)) continue;
        if (row->operation != OXI_JINJA_NOT_IN) return row;
        const size_t at = oxi_jinja_skip_space(p, p->end);
        return oxi_jinja_peek(p, at) == 'i' && oxi_jinja_peek(p, at + 1) == 'n' &&
                       !oxi_jinja_is_name_byte(oxi_jinja_peek(p, at + 2))
                   ? row
                   : NULL;
    }
    return NULL;
}

static oxi_jinja_node *oxi_jinja_parse_operators(oxi_jinja_parser *p, int level);

/* The operators of one level that follow `node`, with their operands: one node. */
static oxi_jinja_node *oxi_jinja_parse_chain(oxi_jinja_parser *p, oxi_jinja_node *node,
                                             const oxi_jinja_operator *row) {
    const int level = row->level;
    oxi_jinja_node *chain = oxi_jinja_node_over(p, (oxi_jinja_kind)row->kind, node), **last;
    if (!chain) return NULL;
    last = &chain->b;
    while (row && row->level == level) {
        oxi_jinja_node *operand = oxi_jinja_node_new(p, OXI_JINJA_ARGUMENT);
        if (!operand) return NULL;
        operand->operation = row->operation;
        if (row->operation == OXI_JINJA_NOT_IN) oxi_jinja_next(p);
        oxi_jinja_next(p);
        operand->a = oxi_jinja_parse_operators(p, level + 1);
        if (!operand->a) return NULL;
        *last = operand;
        last = &operand->next;
        row = oxi_jinja_operator_at(p);
    }
    return chain;
}

static oxi_jinja_node *oxi_jinja_parse_not(oxi_jinja_parser *p) {
    oxi_jinja_node *node = NULL;
    if (oxi_jinja_deeper(p)) {
        oxi_jinja_next(p);
        node = oxi_jinja_node_over(p, OXI_JINJA_UNARY, oxi_jinja_parse_operators(p, OXI_JINJA_LEVEL_NOT));
        if (node) node->operation = OXI_JINJA_NOT;
    }
    oxi_jinja_shallower(p);
    return node;
}

static oxi_jinja_node *oxi_jinja_parse_operators(oxi_jinja_parser *p, int level) {
    oxi_jinja_node *node = level <= OXI_JINJA_LEVEL_NOT && oxi_jinja_at(p, "not")
                               ? oxi_jinja_parse_not(p)
                               : oxi_jinja_parse_unary(p, true);
    const oxi_jinja_operator *row = oxi_jinja_operator_at(p);
    while (node && row && row->level >= level) {
        node = oxi_jinja_parse_chain(p, node, row);
        row = oxi_jinja_operator_at(p);
    }
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_expression(oxi_jinja_parser *p, bool condition) {
    oxi_jinja_node *node = oxi_jinja_parse_operators(p, 1);
    while (condition && node && oxi_jinja_skip(p, "if")) {
        node = oxi_jinja_node_over(p, OXI_JINJA_CONDITION, node);
        if (!node) return NULL;
        node->b = oxi_jinja_parse_operators(p, 1);
        if (!oxi_jinja_skip(p, "else")) continue;
        if (oxi_jinja_deeper(p)) node->c = oxi_jinja_parse_expression(p, true);
        oxi_jinja_shallower(p);
    }
    return p->j->status ? NULL : node;
}

static bool oxi_jinja_tuple_ends(const oxi_jinja_parser *p) {
    return p->token == OXI_JINJA_TOKEN_CLOSE || oxi_jinja_at(p, ")") || oxi_jinja_at(p, "recursive");
}

static oxi_jinja_node *oxi_jinja_parse_tuple(oxi_jinja_parser *p, bool condition) {
    oxi_jinja_node *node = oxi_jinja_parse_expression(p, condition), *last = node;
    if (!node || !oxi_jinja_at(p, ",")) return node;
    oxi_jinja_node *tuple = oxi_jinja_node_over(p, OXI_JINJA_SEQUENCE, node);
    while (tuple && oxi_jinja_skip(p, ",") && !oxi_jinja_tuple_ends(p)) {
        last->next = oxi_jinja_parse_expression(p, condition);
        last = last->next;
        if (!last) return NULL;
    }
    return p->j->status ? NULL : tuple;
}

/* ---- targets of assignments ---------------------------------------------------------------------------- */

static oxi_jinja_node *oxi_jinja_parse_one_target(oxi_jinja_parser *p, bool may_be_attribute) {
    oxi_jinja_node *node = NULL;
    if (oxi_jinja_deeper(p) && oxi_jinja_skip(p, "(")) {
        node = oxi_jinja_parse_target(p, may_be_attribute);
        (void)oxi_jinja_expect(p, ")");
    } else if (p->token == OXI_JINJA_TOKEN_NAME) {
        node = oxi_jinja_parse_name(p);
        if (node && node->kind != OXI_JINJA_NAME) oxi_jinja_syntax(p, "a constant cannot be assigned to");
        if (may_be_attribute && node && oxi_jinja_skip(p, ".")) {
            node = oxi_jinja_parse_member(p, node);
            if (node && node->kind != OXI_JINJA_ATTRIBUTE) oxi_jinja_syntax(p, "expected an attribute");
        }
    } else
        oxi_jinja_syntax(p, "expected a name");
    oxi_jinja_shallower(p);
    return p->j->status ? NULL : node;
}

static oxi_jinja_node *oxi_jinja_parse_target(oxi_jinja_parser *p, bool may_be_attribute) {
    oxi_jinja_node *node = oxi_jinja_parse_one_target(p, may_be_attribute), *last = node;
    if (!node || !oxi_jinja_at(p, ",")) return node;
    oxi_jinja_node *tuple = oxi_jinja_node_over(p, OXI_JINJA_SEQUENCE, node);
    while (tuple && oxi_jinja_skip(p, ",") && p->token == OXI_JINJA_TOKEN_NAME && !oxi_jinja_at(p, "in")) {
        last->next = oxi_jinja_parse_one_target(p, may_be_attribute);
        last = last->next;
        if (!last) return NULL;
    }
    return p->j->status ? NULL : tuple;
}
