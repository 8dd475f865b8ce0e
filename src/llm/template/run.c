/* Evaluates expressions and runs statements: a walk over the tree, whose depth is limited.
 * Each kind of node has a function of its own, so that no frame holds what another kind needs.
 * Called by ox_llm_template_render. */

static oxi_jinja_value oxi_jinja_eval(oxi_jinja *j, const oxi_jinja_node *node);

/* How a body ended. */
typedef enum oxi_jinja_flow { OXI_JINJA_ON, OXI_JINJA_BROKEN, OXI_JINJA_CONTINUED } oxi_jinja_flow;

static oxi_jinja_flow oxi_jinja_exec(oxi_jinja *j, const oxi_jinja_node *node);

/* Failures from here on are at this node. */
static void oxi_jinja_stand_at(oxi_jinja *j, const oxi_jinja_node *node) {
    if (j->status) return;
    j->line = node->line;
    j->column = node->column;
}

/* ---- expressions --------------------------------------------------------------------------------------- */

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_name(oxi_jinja *j, const oxi_jinja_node *node) {
    const oxi_jinja_value *found = oxi_jinja_find_variable(j, j->scope, node->symbol);
    oxi_jinja_value v = oxi_jinja_undefined(node->value.as.text, node->value.length);
    if (found) return *found;
    const oxi_jinja_function *function = oxi_jinja_find_global(node->value);
    oxi_jinja_bound *bound = function ? (oxi_jinja_bound *)oxi_jinja_alloc(j, sizeof *bound) : NULL;
    if (!bound) return v;
    bound->function = function;
    bound->self = oxi_jinja_none();
    bound->is_method = false;
    v.type = OXI_JINJA_FUNCTION;
    v.as.bound = bound;
    return v;
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_sequence(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_value list = oxi_jinja_list_new(j, node->flag ? OXI_JINJA_LIST : OXI_JINJA_TUPLE, 0);
    for (const oxi_jinja_node *e = node->a; e && !j->status; e = e->next)
        oxi_jinja_push(j, list.as.list, oxi_jinja_eval(j, e));
    return list;
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_dict(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_value dict = oxi_jinja_dict_new(j);
    for (const oxi_jinja_node *e = node->a; e && !j->status; e = e->next->next) {
        const oxi_jinja_value key = oxi_jinja_eval(j, e);
        oxi_jinja_dict_set(j, dict.as.dict, key, oxi_jinja_eval(j, e->next));
    }
    return dict;
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_chain(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_value left = oxi_jinja_eval(j, node->a);
    for (const oxi_jinja_node *e = node->b; e && !j->status; e = e->next) {
        const oxi_jinja_value right = oxi_jinja_eval(j, e->a);
        oxi_jinja_stand_at(j, e);
        if (node->kind == OXI_JINJA_BINARY) {
            left = oxi_jinja_binary(j, (oxi_jinja_operation)e->operation, left, right);
            continue;
        }
        if (!oxi_jinja_compare(j, (oxi_jinja_operation)e->operation, left, right))
            return oxi_jinja_bool(false);
        left = right;
    }
    return node->kind == OXI_JINJA_BINARY ? left : oxi_jinja_bool(true);
}

/* The first operand that decides, or the last. */
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_logic(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_value v = oxi_jinja_eval(j, node->a);
    for (const oxi_jinja_node *e = node->b; e && !j->status; e = e->next) {
        if (oxi_jinja_truth(v) == (node->kind == OXI_JINJA_OR)) return v;
        v = oxi_jinja_eval(j, e->a);
    }
    return v;
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_condition(oxi_jinja *j, const oxi_jinja_node *node) {
    if (oxi_jinja_truth(oxi_jinja_eval(j, node->b))) return oxi_jinja_eval(j, node->a);
    return node->c ? oxi_jinja_eval(j, node->c) : oxi_jinja_undefined("the value of an if without else", 31);
}

static bool oxi_jinja_is_constant(const oxi_jinja_node *node);

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_slice(oxi_jinja *j, const oxi_jinja_node *node) {
    const oxi_jinja_value v = oxi_jinja_eval(j, node->a);
    oxi_jinja_value *bounds = (oxi_jinja_value *)oxi_jinja_alloc_array(j, 3, sizeof *bounds);
    const oxi_jinja_node *bound = node->b;
    for (int i = 0; bounds && i < 3; i++, bound = bound->next) bounds[i] = oxi_jinja_eval(j, bound);
    oxi_jinja_stand_at(j, node);
    if (!j->status && oxi_jinja_is_constant(node->a) && !oxi_jinja_has_elements(v))
        return oxi_jinja_undefined("a slice of what has none", 24);
    return j->status ? v : oxi_jinja_slice(j, v, bounds);
}

/* {% block %}, to be called as a macro. */
static oxi_jinja_value oxi_jinja_section_value(oxi_jinja *j, oxi_jinja_value section,
                                               oxi_jinja_scope *scope) {
    oxi_jinja_macro *macro = (oxi_jinja_macro *)oxi_jinja_alloc(j, sizeof *macro);
    if (!macro) return oxi_jinja_none();
    *macro = *section.as.macro;
    macro->scope = scope;
    section.as.macro = macro;
    return section;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

/* Arguments of a call; `more` makes room for a keyword more. NULL on failure. */
static OXI_NOINLINE oxi_jinja_arguments *oxi_jinja_eval_arguments(oxi_jinja *j, const oxi_jinja_node *first) {
    oxi_jinja_arguments *arguments = (oxi_jinja_arguments *)oxi_jinja_alloc(j, sizeof *arguments);
    oxi_jinja_value positional = oxi_jinja_list_new(j, OXI_JINJA_TUPLE, 4), keywords = oxi_jinja_dict_new(j);
    for (const oxi_jinja_node *e = first; e && !j->status; e = e->next) {
        const oxi_jinja_value v = oxi_jinja_eval(j, e->a);
        oxi_jinja_stand_at(j, e);
        if (e->operation == OXI_JINJA_BY_KEYWORD) {
            oxi_jinja_dict_set(j, keywords.as.dict, e->value, v);
        } else if (e->operation == OXI_JINJA_UNPACK) {
            const oxi_jinja_list *items = oxi_jinja_iterate(j, v);
            for (size_t i = 0; items && !j->status && i < items->count; i++)
                oxi_jinja_push(j, positional.as.list, items->items[i]);
        } else if (e->operation == OXI_JINJA_UNPACK_KEYWORDS) {
            if (v.type != OXI_JINJA_DICT) (void)oxi_jinja_fail(j, "** of %s", oxi_jinja_type_name(v));
            for (size_t i = 0; !j->status && i < v.as.dict->count; i++)
                if (v.as.dict->entries[i].key.type == OXI_JINJA_STRING)
                    oxi_jinja_dict_set(j, keywords.as.dict, v.as.dict->entries[i].key,
                                       v.as.dict->entries[i].value);
                else
                    (void)oxi_jinja_fail(j, "** of a dict with a key that is no string");
        } else
            oxi_jinja_push(j, positional.as.list, v);
    }
    if (j->status) return NULL;
    *arguments = oxi_jinja_arguments_of(j, positional, 0, keywords);
    return j->status ? NULL : arguments;
}

static oxi_jinja_value *oxi_jinja_keyword(const oxi_jinja_arguments *arguments, oxi_jinja_value name) {
    for (size_t i = 0; i < arguments->keywords; i++)
        if (arguments->names[i].length == name.length &&
            memcmp(arguments->names[i].as.text, name.as.text, name.length) == 0)
            return &arguments->items[arguments->positional + i];
    return NULL;
}

/* What a macro is called with and has no parameter for. */
static OXI_NOINLINE void oxi_jinja_bind_rest(oxi_jinja *j, const oxi_jinja_arguments *arguments,
                                             size_t positional) {
    oxi_jinja_value more = oxi_jinja_dict_new(j);
    for (size_t i = 0; i < arguments->keywords && !j->status; i++) {
        const oxi_jinja_value name = arguments->names[i];
        const oxi_jinja_value *symbol = oxi_jinja_dict_find(j, j->symbols, name);
        const bool bound = symbol && oxi_jinja_find_in_scope(j, j->scope, (uint32_t)symbol->as.i);
        if (oxi_jinja_is_text(name, "caller") && j->caller_symbol != UINT32_MAX && !bound)
            oxi_jinja_set_variable(j, j->scope, j->caller_symbol,
                                   arguments->items[arguments->positional + i]);
        else if (!bound)
            oxi_jinja_dict_set(j, more.as.dict, name, arguments->items[arguments->positional + i]);
    }
    const oxi_jinja_value rest = oxi_jinja_rest(j, arguments, positional);
    if (j->status) return;
    if (rest.as.list->count && j->varargs_symbol == UINT32_MAX)
        (void)oxi_jinja_fail(j, "too many arguments of a macro");
    if (more.as.dict->count && j->kwargs_symbol == UINT32_MAX)
        (void)oxi_jinja_fail(j, "a macro has no parameter '%.*s'",
                             (int)(more.as.dict->entries[0].key.length & 127),
                             more.as.dict->entries[0].key.as.text);
    oxi_jinja_set_variable(j, j->scope, j->varargs_symbol, rest);
    oxi_jinja_set_variable(j, j->scope, j->kwargs_symbol, more);
}

static OXI_NOINLINE void oxi_jinja_bind_macro(oxi_jinja *j, const oxi_jinja_node *node,
                                              const oxi_jinja_arguments *arguments) {
    size_t position = 0;
    for (const oxi_jinja_node *p = node->a; p && !j->status; p = p->next) {
        const oxi_jinja_value *named = oxi_jinja_keyword(arguments, p->value);
        oxi_jinja_value v = oxi_jinja_undefined(p->value.as.text, p->value.length);
        if (position < arguments->positional) {
            v = arguments->items[position++];
            if (named) (void)oxi_jinja_fail(j, "a macro has an argument twice");
        } else if (named)
            v = *named;
        else if (p->a)
            v = oxi_jinja_eval(j, p->a);
        oxi_jinja_set_variable(j, j->scope, p->symbol, v);
    }
    if (!j->status) oxi_jinja_bind_rest(j, arguments, position);
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_call_macro(oxi_jinja *j, const oxi_jinja_macro *macro,
                                                         const oxi_jinja_arguments *arguments) {
    oxi_jinja_scope *scope = j->scope;
    const size_t start = j->out_length;
    const int loop_depth = j->loop_depth;
    j->scope = oxi_jinja_scope_new(j, macro->scope);
    j->loop_depth = 0;
    if (!j->status) oxi_jinja_bind_macro(j, macro->node, arguments);
    if (!j->status) (void)oxi_jinja_exec(j, macro->node->c);
    j->scope = scope;
    j->loop_depth = loop_depth;
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_run_loop(oxi_jinja *j, const oxi_jinja_node *node, oxi_jinja_value over);

/* What a method of a text that is safe gives is safe too. Lists of texts are the method's own. */
static oxi_jinja_value oxi_jinja_safe_result(oxi_jinja_value v, oxi_jinja_value self) {
    if (self.type != OXI_JINJA_STRING || !self.safe) return v;
    for (size_t i = 0; (v.type == OXI_JINJA_LIST || v.type == OXI_JINJA_TUPLE) && i < v.as.list->count; i++)
        v.as.list->items[i] = oxi_jinja_safe_as(v.as.list->items[i], self);
    return v.type == OXI_JINJA_STRING ? oxi_jinja_safe_as(v, self) : v;
}

static oxi_jinja_value oxi_jinja_call_value(oxi_jinja *j, oxi_jinja_value callee,
                                            const oxi_jinja_arguments *arguments) {
    if (j->status || !arguments) return callee;
    if (callee.type == OXI_JINJA_FUNCTION) {
        const oxi_jinja_value v =
            oxi_jinja_apply(j, callee.as.bound->function, &callee.as.bound->self, arguments);
        return callee.as.bound->is_method ? oxi_jinja_safe_result(v, callee.as.bound->self) : v;
    }
    if (callee.type == OXI_JINJA_JOINER && !arguments->positional && !arguments->keywords)
        return callee.as.list->start++ ? callee.as.list->items[0] : oxi_jinja_word("");
    if (callee.type == OXI_JINJA_MACRO) return oxi_jinja_call_macro(j, callee.as.macro, arguments);
    if (callee.type == OXI_JINJA_LOOP && callee.as.loop->node->flag && arguments->positional == 1) {
        oxi_jinja_scope *scope = j->scope;
        const size_t start = j->out_length;
        j->scope = callee.as.loop->scope;
        (void)oxi_jinja_run_loop(j, callee.as.loop->node, arguments->items[0]);
        j->scope = scope;
        return oxi_jinja_take(j, start);
    }
    if (callee.type == OXI_JINJA_UNDEFINED)
        return oxi_jinja_fail(j, "'%.*s' is undefined, and called",
                              (int)(callee.length < 100 ? callee.length : 100),
                              callee.as.text ? callee.as.text : "");
    return oxi_jinja_fail(j, "%s cannot be called", oxi_jinja_type_name(callee));
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_call(oxi_jinja *j, const oxi_jinja_node *node) {
    const oxi_jinja_value callee = oxi_jinja_eval(j, node->a);
    const oxi_jinja_arguments *arguments = oxi_jinja_eval_arguments(j, node->b);
    oxi_jinja_stand_at(j, node);
    return oxi_jinja_call_value(j, callee, arguments);
}

/* A filter or a test, over `v`. */
static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_applied(oxi_jinja *j, const oxi_jinja_node *node,
                                                           oxi_jinja_value v) {
    const bool is_test = node->kind == OXI_JINJA_TEST;
    const oxi_jinja_arguments *arguments = oxi_jinja_eval_arguments(j, node->b);
    oxi_jinja_stand_at(j, node);
    if (!node->function)
        return oxi_jinja_fail(j, "there is no %s '%.*s'", is_test ? "test" : "filter",
                              (int)(node->value.length < 60 ? node->value.length : 60), node->value.as.text);
    if (!arguments) return v;
    v = oxi_jinja_apply(j, node->function, &v, arguments);
    return is_test && node->flag ? oxi_jinja_bool(!oxi_jinja_truth(v)) : v;
}

/* Filters over a capture: node->a of the innermost is NULL. */
static oxi_jinja_value oxi_jinja_eval_over(oxi_jinja *j, const oxi_jinja_node *node, oxi_jinja_value v) {
    if (!node || !oxi_jinja_enter(j)) {
        if (node) oxi_jinja_leave(j);
        return v;
    }
    if (node->kind == OXI_JINJA_FILTER || node->kind == OXI_JINJA_TEST)
        v = oxi_jinja_eval_applied(j, node, node->a ? oxi_jinja_eval_over(j, node->a, v) : v);
    else
        v = oxi_jinja_fail(j, "expected a filter");
    oxi_jinja_leave(j);
    return v;
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_item(oxi_jinja *j, const oxi_jinja_node *node) {
    const oxi_jinja_value v = oxi_jinja_eval(j, node->a);
    const oxi_jinja_value key = oxi_jinja_eval(j, node->b);
    oxi_jinja_stand_at(j, node);
    return j->status ? v : oxi_jinja_item(j, v, key);
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_attribute(oxi_jinja *j, const oxi_jinja_node *node) {
    if (node->a->kind == OXI_JINJA_NAME && oxi_jinja_is_text(node->a->value, "self") &&
        !oxi_jinja_find_variable(j, j->scope, node->a->symbol)) {
        const oxi_jinja_value *section = oxi_jinja_dict_find(j, j->sections, node->value);
        if (section) return oxi_jinja_section_value(j, *section, j->globals);
        return oxi_jinja_fail(j, "there is no block of this name");
    }
    const oxi_jinja_value v = oxi_jinja_eval(j, node->a);
    oxi_jinja_stand_at(j, node);
    return j->status ? v : oxi_jinja_attribute(j, v, node->value);
}

/* A slice of a literal that has none is undefined: Jinja folds it, and asks for no more. */
static bool oxi_jinja_is_constant(const oxi_jinja_node *node) {
    if (node->kind == OXI_JINJA_LITERAL) return true;
    if (node->kind != OXI_JINJA_DICTIONARY) return false;
    for (const oxi_jinja_node *e = node->a; e; e = e->next)
        if (e->kind != OXI_JINJA_LITERAL) return false;
    return true;
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_eval_unary(oxi_jinja *j, const oxi_jinja_node *node) {
    const oxi_jinja_value v = oxi_jinja_eval(j, node->a);
    oxi_jinja_stand_at(j, node);
    return j->status ? v : oxi_jinja_unary(j, (oxi_jinja_operation)node->operation, v);
}

static oxi_jinja_value oxi_jinja_eval_kind(oxi_jinja *j, const oxi_jinja_node *node) {
    switch (node->kind) {
    case OXI_JINJA_LITERAL: return node->value;
    case OXI_JINJA_NAME: return oxi_jinja_eval_name(j, node);
    case OXI_JINJA_SEQUENCE: return oxi_jinja_eval_sequence(j, node);
    case OXI_JINJA_DICTIONARY: return oxi_jinja_eval_dict(j, node);
    case OXI_JINJA_UNARY: return oxi_jinja_eval_unary(j, node);
    case OXI_JINJA_BINARY:
    case OXI_JINJA_COMPARE: return oxi_jinja_eval_chain(j, node);
    case OXI_JINJA_AND:
    case OXI_JINJA_OR: return oxi_jinja_eval_logic(j, node);
    case OXI_JINJA_CONDITION: return oxi_jinja_eval_condition(j, node);
    case OXI_JINJA_ATTRIBUTE: return oxi_jinja_eval_attribute(j, node);
    case OXI_JINJA_ITEM: return oxi_jinja_eval_item(j, node);
    case OXI_JINJA_SLICE: return oxi_jinja_eval_slice(j, node);
    case OXI_JINJA_CALL: return oxi_jinja_eval_call(j, node);
    default: return oxi_jinja_eval_applied(j, node, oxi_jinja_eval(j, node->a));
    }
}

static oxi_jinja_value oxi_jinja_eval(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_stand_at(j, node);
    const oxi_jinja_value v = oxi_jinja_enter(j) ? oxi_jinja_eval_kind(j, node) : oxi_jinja_none();
    oxi_jinja_leave(j);
    return v;
}

/* ---- assignments --------------------------------------------------------------------------------------- */

static void oxi_jinja_assign(oxi_jinja *j, const oxi_jinja_node *target, oxi_jinja_value v) {
    if (j->status) return;
    if (target->kind == OXI_JINJA_NAME) {
        oxi_jinja_set_variable(j, j->scope, target->symbol, v);
        return;
    }
    if (target->kind == OXI_JINJA_ATTRIBUTE) {
        const oxi_jinja_value space = oxi_jinja_eval(j, target->a);
        oxi_jinja_stand_at(j, target);
        if (space.type != OXI_JINJA_NAMESPACE)
            (void)oxi_jinja_fail(j, "an attribute of %s cannot be set", oxi_jinja_type_name(space));
        else
            oxi_jinja_dict_set(j, space.as.dict, target->value, v);
        return;
    }
    const oxi_jinja_list *items = oxi_jinja_iterate(j, v);
    const oxi_jinja_node *part = target->a;
    size_t i = 0;
    if (!oxi_jinja_enter(j)) items = NULL;
    for (; items && part && i < items->count && !j->status; part = part->next)
        oxi_jinja_assign(j, part, items->items[i++]);
    if (items && (part || i < items->count)) (void)oxi_jinja_fail(j, "as many names as values are wanted");
    oxi_jinja_leave(j);
}

/* ---- statements ---------------------------------------------------------------------------------------- */

/* In a scope of its own. */
static oxi_jinja_flow oxi_jinja_exec_scoped(oxi_jinja *j, const oxi_jinja_node *body) {
    oxi_jinja_scope *scope = j->scope;
    j->scope = oxi_jinja_scope_new(j, scope);
    const oxi_jinja_flow flow = j->scope ? oxi_jinja_exec(j, body) : OXI_JINJA_ON;
    j->scope = scope;
    return flow;
}

/* What a loop goes through: what its filter leaves. */
static OXI_NOINLINE const oxi_jinja_list *oxi_jinja_loop_items(oxi_jinja *j, const oxi_jinja_node *node,
                                                               oxi_jinja_value over) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, over);
    oxi_jinja_value kept = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
    oxi_jinja_scope *scope = j->scope;
    for (size_t i = 0; items && !j->status && i < items->count; i++) {
        if (node->e) {
            j->scope = oxi_jinja_scope_new(j, scope);
            oxi_jinja_assign(j, node->b, items->items[i]);
        }
        if (!j->status && (!node->e || oxi_jinja_truth(oxi_jinja_eval(j, node->e))))
            oxi_jinja_push(j, kept.as.list, items->items[i]);
        j->scope = scope;
    }
    return j->status ? NULL : kept.as.list;
}

static oxi_jinja_value oxi_jinja_run_loop(oxi_jinja *j, const oxi_jinja_node *node, oxi_jinja_value over) {
    const oxi_jinja_list *items = oxi_jinja_loop_items(j, node, over);
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_LOOP);
    oxi_jinja_loop *loop = (oxi_jinja_loop *)oxi_jinja_alloc(j, sizeof *loop);
    oxi_jinja_scope *outer = j->scope;
    if (!items || !loop) return v;
    memset(loop, 0, sizeof *loop);
    v.as.loop = loop;
    loop->items = items;
    loop->node = node;
    loop->scope = outer;
    loop->depth = ++j->loop_depth;
    for (size_t i = 0; i < items->count && !j->status; i++) {
        loop->at = i;
        j->scope = oxi_jinja_scope_new(j, outer);
        oxi_jinja_set_variable(j, j->scope, j->loop_symbol, v);
        oxi_jinja_assign(j, node->b, items->items[i]);
        if (!j->status && oxi_jinja_exec(j, node->c) == OXI_JINJA_BROKEN) break;
    }
    j->scope = outer;
    j->loop_depth--;
    if (!items->count && node->d) (void)oxi_jinja_exec_scoped(j, node->d);
    return v;
}

static OXI_NOINLINE void oxi_jinja_exec_for(oxi_jinja *j, const oxi_jinja_node *node) {
    const int depth = j->loop_depth;
    j->loop_depth = 0; /* counts the levels of a recursive loop alone */
    (void)oxi_jinja_run_loop(j, node, oxi_jinja_eval(j, node->a));
    j->loop_depth = depth;
}

static OXI_NOINLINE oxi_jinja_flow oxi_jinja_exec_if(oxi_jinja *j, const oxi_jinja_node *node) {
    for (;;) {
        if (oxi_jinja_truth(oxi_jinja_eval(j, node->a))) return oxi_jinja_exec(j, node->b);
        if (j->status || !node->c) return OXI_JINJA_ON;
        if (!node->flag) return oxi_jinja_exec(j, node->c);
        node = node->c;
    }
}

static oxi_jinja_value oxi_jinja_capture(oxi_jinja *j, const oxi_jinja_node *body) {
    const size_t start = j->out_length;
    (void)oxi_jinja_exec_scoped(j, body);
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_macro_value(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_MACRO);
    oxi_jinja_macro *macro = (oxi_jinja_macro *)oxi_jinja_alloc(j, sizeof *macro);
    if (!macro) return oxi_jinja_none();
    macro->node = node;
    macro->scope = j->scope;
    macro->name.data = node->value.as.text;
    macro->name.length = node->value.length;
    v.as.macro = macro;
    return v;
}

/* The call's macro finds its caller as a variable of its scope: an argument by that keyword. */
static OXI_NOINLINE void oxi_jinja_exec_call(oxi_jinja *j, const oxi_jinja_node *node) {
    const oxi_jinja_value callee = oxi_jinja_eval(j, node->a->a);
    oxi_jinja_arguments *arguments = oxi_jinja_eval_arguments(j, node->a->b);
    const oxi_jinja_value caller = oxi_jinja_macro_value(j, node->b);
    if (!arguments || j->status) return;
    const size_t count = arguments->positional + arguments->keywords;
    oxi_jinja_value *items = (oxi_jinja_value *)oxi_jinja_alloc_array(j, 2 * count + 2, sizeof *items);
    if (!items) return;
    if (count) memcpy(items, arguments->items, count * sizeof *items);
    items[count] = caller;
    if (arguments->keywords) memcpy(items + count + 1, arguments->names, arguments->keywords * sizeof *items);
    items[count + 1 + arguments->keywords] = oxi_jinja_word("caller");
    arguments->items = items;
    arguments->names = items + count + 1;
    arguments->keywords++;
    oxi_jinja_stand_at(j, node);
    oxi_jinja_write_value(j, oxi_jinja_call_value(j, callee, arguments));
}

static OXI_NOINLINE oxi_jinja_flow oxi_jinja_exec_with(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_scope *outer = j->scope, *inner = oxi_jinja_scope_new(j, outer);
    const oxi_jinja_node *target = node->b;
    for (const oxi_jinja_node *value = node->a; value && !j->status; value = value->next) {
        const oxi_jinja_value v = oxi_jinja_eval(j, value);
        j->scope = inner;
        oxi_jinja_assign(j, target, v);
        j->scope = outer;
        target = target->next;
    }
    j->scope = inner;
    const oxi_jinja_flow flow = j->status ? OXI_JINJA_ON : oxi_jinja_exec(j, node->c);
    j->scope = outer;
    return flow;
}

/* In place: sees what is set outside of all blocks, and all around it if it is scoped. */
static OXI_NOINLINE void oxi_jinja_exec_section(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_arguments none;
    memset(&none, 0, sizeof none);
    if (node->operation) {
        (void)oxi_jinja_fail(j, "a block that is required has no other template to fill it");
        return;
    }
    const oxi_jinja_value *section = oxi_jinja_dict_find(j, j->sections, node->value);
    if (!section) return;
    const oxi_jinja_value v = oxi_jinja_section_value(j, *section, node->flag ? j->scope : j->globals);
    oxi_jinja_write_value(j, oxi_jinja_call_value(j, v, &none));
}

static oxi_jinja_flow oxi_jinja_exec_one(oxi_jinja *j, const oxi_jinja_node *node) {
    switch (node->kind) {
    case OXI_JINJA_TEXT: oxi_jinja_write(j, node->value.as.text, node->value.length); break;
    case OXI_JINJA_PRINT: oxi_jinja_write_value(j, oxi_jinja_eval(j, node->a)); break;
    case OXI_JINJA_IF: return oxi_jinja_exec_if(j, node);
    case OXI_JINJA_FOR: oxi_jinja_exec_for(j, node); break;
    case OXI_JINJA_SET: oxi_jinja_assign(j, node->b, oxi_jinja_eval(j, node->a)); break;
    case OXI_JINJA_SET_BLOCK:
        oxi_jinja_assign(j, node->b, oxi_jinja_eval_over(j, node->a, oxi_jinja_capture(j, node->c)));
        break;
    case OXI_JINJA_MACRO_NODE:
        oxi_jinja_set_variable(j, j->scope, node->symbol, oxi_jinja_macro_value(j, node));
        break;
    case OXI_JINJA_CALL_BLOCK: oxi_jinja_exec_call(j, node); break;
    case OXI_JINJA_FILTER_BLOCK:
        oxi_jinja_write_value(j, oxi_jinja_eval_over(j, node->a, oxi_jinja_capture(j, node->c)));
        break;
    case OXI_JINJA_WITH: return oxi_jinja_exec_with(j, node);
    case OXI_JINJA_SCOPE: return oxi_jinja_exec_scoped(j, node->c);
    case OXI_JINJA_SECTION: oxi_jinja_exec_section(j, node); break;
    case OXI_JINJA_BREAK: return OXI_JINJA_BROKEN;
    default: return OXI_JINJA_CONTINUED;
    }
    return OXI_JINJA_ON;
}

static oxi_jinja_flow oxi_jinja_exec(oxi_jinja *j, const oxi_jinja_node *node) {
    oxi_jinja_flow flow = OXI_JINJA_ON;
    if (oxi_jinja_enter(j))
        for (; node && flow == OXI_JINJA_ON && oxi_jinja_step(j, 1); node = node->next) {
            oxi_jinja_stand_at(j, node);
            flow = oxi_jinja_exec_one(j, node);
        }
    oxi_jinja_leave(j);
    return flow;
}
