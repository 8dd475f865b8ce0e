/* Values: making, finding, comparing and going through them, as Python does with its own.
 * Dicts keep their order; numbers that are equal are the same key, whatever their type.
 * Called by every part of the room behind memory.c. */

static oxi_jinja_value oxi_jinja_make(oxi_jinja_type type) {
    oxi_jinja_value v;
    memset(&v, 0, sizeof v);
    v.type = (uint16_t)type;
    return v;
}

static oxi_jinja_value oxi_jinja_none(void) {
    return oxi_jinja_make(OXI_JINJA_NONE);
}

static oxi_jinja_value oxi_jinja_bool(bool b) {
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_BOOL);
    v.as.i = b;
    return v;
}

static oxi_jinja_value oxi_jinja_int(int64_t i) {
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_INT);
    v.as.i = i;
    return v;
}

static oxi_jinja_value oxi_jinja_float(double f) {
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_FLOAT);
    v.as.f = f;
    return v;
}

static oxi_jinja_value oxi_jinja_text(const char *text, size_t length) {
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_STRING);
    v.as.text = text;
    v.length = (uint32_t)length;
    return v;
}

static oxi_jinja_value oxi_jinja_word(const char *text) {
    return oxi_jinja_text(text, strlen(text));
}

static oxi_jinja_value oxi_jinja_undefined(const char *name, size_t length) {
    oxi_jinja_value v = oxi_jinja_text(name, length);
    v.type = OXI_JINJA_UNDEFINED;
    return v;
}

static oxi_jinja_value oxi_jinja_list_new(oxi_jinja *j, oxi_jinja_type type, size_t room) {
    oxi_jinja_value v = oxi_jinja_make(type);
    oxi_jinja_list *list = (oxi_jinja_list *)oxi_jinja_alloc(j, sizeof *list);
    oxi_jinja_value *items = list ? (oxi_jinja_value *)oxi_jinja_alloc_array(j, room, sizeof *items) : NULL;
    if (!items) return oxi_jinja_undefined(NULL, 0);
    memset(list, 0, sizeof *list);
    list->items = items;
    list->room = room;
    v.as.list = list;
    return v;
}

static void oxi_jinja_push(oxi_jinja *j, oxi_jinja_list *list, oxi_jinja_value value) {
    if (j->status) return;
    oxi_jinja_value *items =
        (oxi_jinja_value *)oxi_jinja_grow(j, list->items, list->count, &list->room, sizeof value);
    if (!items || !oxi_jinja_step(j, 1)) return;
    list->items = items;
    list->items[list->count++] = value;
}

static oxi_jinja_value oxi_jinja_pair(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b) {
    oxi_jinja_value pair = oxi_jinja_list_new(j, OXI_JINJA_TUPLE, 2);
    if (j->status) return pair;
    oxi_jinja_push(j, pair.as.list, a);
    oxi_jinja_push(j, pair.as.list, b);
    return pair;
}

/* ---- what a value is ----------------------------------------------------------------------------------- */

static const char *oxi_jinja_type_name(oxi_jinja_value v) {
    static const char *const names[OXI_JINJA_TYPE_COUNT] = {
        "nothing", "Undefined", "NoneType",  "bool", "int",       "float",       "str",   "list",    "tuple",
        "range",   "view",      "generator", "dict", "namespace", "LoopContext", "macro", "function",
        "Cycler", "Joiner"};
    return names[v.type];
}

static bool oxi_jinja_is_text(oxi_jinja_value v, const char *text) {
    return v.type == OXI_JINJA_STRING && v.length == strlen(text) && memcmp(v.as.text, text, v.length) == 0;
}

static bool oxi_jinja_is_sequence(oxi_jinja_value v) {
    return v.type >= OXI_JINJA_LIST && v.type <= OXI_JINJA_GENERATOR;
}

static bool oxi_jinja_is_number(oxi_jinja_value v) {
    return v.type == OXI_JINJA_BOOL || v.type == OXI_JINJA_INT || v.type == OXI_JINJA_FLOAT;
}

static double oxi_jinja_number(oxi_jinja_value v) {
    return v.type == OXI_JINJA_FLOAT ? v.as.f : (double)v.as.i;
}

static bool oxi_jinja_truth(oxi_jinja_value v) {
    switch (v.type) {
    case OXI_JINJA_MISSING:
    case OXI_JINJA_UNDEFINED:
    case OXI_JINJA_NONE: return false;
    case OXI_JINJA_BOOL:
    case OXI_JINJA_INT: return v.as.i != 0;
    case OXI_JINJA_FLOAT: return v.as.f != 0;
    case OXI_JINJA_STRING: return v.length > 0;
    case OXI_JINJA_LIST:
    case OXI_JINJA_TUPLE:
    case OXI_JINJA_RANGE:
    case OXI_JINJA_VIEW: return v.as.list->count > 0;
    case OXI_JINJA_DICT: return v.as.dict->count > 0;
    default: return true;
    }
}

/* ---- comparing ----------------------------------------------------------------------------------------- */

/* Exact, also where an int is no double. Not for NaN. */
static int oxi_jinja_order_numbers(oxi_jinja_value a, oxi_jinja_value b) {
    if (a.type != OXI_JINJA_FLOAT && b.type != OXI_JINJA_FLOAT) return (a.as.i > b.as.i) - (a.as.i < b.as.i);
    if (a.type == OXI_JINJA_FLOAT && b.type == OXI_JINJA_FLOAT) return (a.as.f > b.as.f) - (a.as.f < b.as.f);
    if (a.type == OXI_JINJA_FLOAT) return -oxi_jinja_order_numbers(b, a);
    if (b.as.f >= 9223372036854775808.0) return -1;
    if (b.as.f < -9223372036854775808.0) return 1;
    const int64_t whole = (int64_t)b.as.f;
    if (a.as.i != whole) return a.as.i > whole ? 1 : -1;
    return ((double)whole > b.as.f) - ((double)whole < b.as.f);
}

static bool oxi_jinja_equal_lists(oxi_jinja *j, const oxi_jinja_list *a, const oxi_jinja_list *b) {
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count && i < b->count; i++)
        if (!oxi_jinja_equal(j, a->items[i], b->items[i])) return false;
    return true;
}

static bool oxi_jinja_equal_dicts(oxi_jinja *j, const oxi_jinja_dict *a, const oxi_jinja_dict *b) {
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++) {
        const oxi_jinja_value *other = oxi_jinja_dict_find(j, b, a->entries[i].key);
        if (!other || !oxi_jinja_equal(j, a->entries[i].value, *other)) return false;
    }
    return true;
}

static bool oxi_jinja_is_nan(oxi_jinja_value v) {
    return v.type == OXI_JINJA_FLOAT && v.as.f != v.as.f;
}

static bool oxi_jinja_equal(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b) {
    bool equal = false;
    if (oxi_jinja_is_number(a) && oxi_jinja_is_number(b))
        return !oxi_jinja_is_nan(a) && !oxi_jinja_is_nan(b) && oxi_jinja_order_numbers(a, b) == 0;
    if (a.type != b.type) return false;
    if (a.type == OXI_JINJA_UNDEFINED || a.type == OXI_JINJA_NONE) return true;
    if (a.type == OXI_JINJA_STRING)
        return oxi_jinja_step(j, a.length / 64) && a.length == b.length &&
               memcmp(a.as.text, b.as.text, a.length) == 0;
    if (!oxi_jinja_enter(j))
        equal = false;
    else if (a.type == OXI_JINJA_LIST || a.type == OXI_JINJA_TUPLE || a.type == OXI_JINJA_RANGE)
        equal = oxi_jinja_equal_lists(j, a.as.list, b.as.list);
    else if (a.type == OXI_JINJA_DICT)
        equal = oxi_jinja_equal_dicts(j, a.as.dict, b.as.dict);
    else
        equal = a.as.list == b.as.list; /* the same object */
    oxi_jinja_leave(j);
    return equal;
}

static int oxi_jinja_order(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b) {
    int order = 0;
    if (oxi_jinja_is_number(a) && oxi_jinja_is_number(b)) return oxi_jinja_order_numbers(a, b);
    if (a.type == OXI_JINJA_STRING && b.type == OXI_JINJA_STRING) {
        const uint32_t shorter = a.length < b.length ? a.length : b.length;
        (void)oxi_jinja_step(j, shorter / 64);
        order = memcmp(a.as.text, b.as.text, shorter);
        if (!order) return (a.length > b.length) - (a.length < b.length);
        return order > 0 ? 1 : -1;
    }
    if (a.type != b.type || (a.type != OXI_JINJA_LIST && a.type != OXI_JINJA_TUPLE)) {
        (void)oxi_jinja_fail(j, "%s and %s cannot be ordered", oxi_jinja_type_name(a),
                             oxi_jinja_type_name(b));
        return 0;
    }
    if (oxi_jinja_enter(j)) {
        const oxi_jinja_list *x = a.as.list, *y = b.as.list;
        size_t i = 0;
        while (i < x->count && i < y->count && oxi_jinja_equal(j, x->items[i], y->items[i])) i++;
        if (i < x->count && i < y->count)
            order = oxi_jinja_order(j, x->items[i], y->items[i]);
        else
            order = (x->count > y->count) - (x->count < y->count);
    }
    oxi_jinja_leave(j);
    return order;
}

/* First byte of `part` in text[from, length), or length + 1. */
static size_t oxi_jinja_find_text(oxi_jinja *j, oxi_jinja_value text, oxi_jinja_value part, size_t from) {
    const size_t none = (size_t)text.length + 1;
    if (part.length == 0) return from;
    while (from < text.length && part.length <= text.length - from) {
        const size_t left = text.length - from - part.length + 1;
        const char *hit = (const char *)memchr(text.as.text + from, part.as.text[0], left);
        if (!hit) return none;
        const size_t at = (size_t)(hit - text.as.text);
        if (!oxi_jinja_step(j, 1 + part.length / 64 + (at - from) / 64)) return none;
        if (memcmp(hit, part.as.text, part.length) == 0) return at;
        from = at + 1;
    }
    return none;
}

static bool oxi_jinja_contains(oxi_jinja *j, oxi_jinja_value all, oxi_jinja_value one) {
    if (all.type == OXI_JINJA_STRING) {
        if (one.type == OXI_JINJA_STRING) return oxi_jinja_find_text(j, all, one, 0) <= all.length;
        (void)oxi_jinja_fail(j, "'in' a string wants a string, not %s", oxi_jinja_type_name(one));
        return false;
    }
    if (all.type == OXI_JINJA_DICT) return oxi_jinja_dict_find(j, all.as.dict, one) != NULL;
    const oxi_jinja_list *list = oxi_jinja_iterate(j, all);
    for (size_t i = 0; list && i < list->count && oxi_jinja_step(j, 1); i++)
        if (oxi_jinja_equal(j, list->items[i], one)) return true;
    return false;
}

/* ---- dicts --------------------------------------------------------------------------------------------- */

enum { OXI_JINJA_FEW_ENTRIES = 8 };

/* False and a failure for what cannot be a key. */
static bool oxi_jinja_hash(oxi_jinja *j, oxi_jinja_value key, uint64_t *out) {
    *out = key.type;
    if (oxi_jinja_is_number(key)) {
        double f = oxi_jinja_number(key);
        if (f == 0) f = 0; /* -0 too */
        *out = oxi_keyed_hash(j->key, &f, sizeof f);
    } else if (key.type == OXI_JINJA_STRING) {
        if (!oxi_jinja_step(j, key.length / 64)) return false;
        *out = oxi_keyed_hash(j->key, key.as.text, key.length);
    } else if (key.type == OXI_JINJA_TUPLE) {
        bool ok = oxi_jinja_enter(j);
        for (size_t i = 0; ok && i < key.as.list->count; i++) {
            uint64_t both[2];
            both[0] = *out;
            ok = oxi_jinja_hash(j, key.as.list->items[i], &both[1]);
            *out = ok ? oxi_keyed_hash(j->key, both, sizeof both) : 0;
        }
        oxi_jinja_leave(j);
        return ok;
    } else if (key.type == OXI_JINJA_LIST || key.type == OXI_JINJA_DICT) {
        (void)oxi_jinja_fail(j, "a %s cannot be a key", oxi_jinja_type_name(key));
        return false;
    }
    return true;
}

static oxi_jinja_value oxi_jinja_dict_new(oxi_jinja *j) {
    oxi_jinja_value v = oxi_jinja_make(OXI_JINJA_DICT);
    oxi_jinja_dict *dict = (oxi_jinja_dict *)oxi_jinja_alloc(j, sizeof *dict);
    if (!dict) return oxi_jinja_undefined(NULL, 0);
    memset(dict, 0, sizeof *dict);
    v.as.dict = dict;
    return v;
}

/* Position of a key, or count. */
static size_t oxi_jinja_dict_at(oxi_jinja *j, const oxi_jinja_dict *dict, oxi_jinja_value key) {
    uint64_t hash;
    if (!oxi_jinja_hash(j, key, &hash)) return dict->count;
    if (!dict->slot_count) {
        for (size_t i = 0; i < dict->count; i++)
            if (oxi_jinja_equal(j, dict->entries[i].key, key)) return i;
        return dict->count;
    }
    for (size_t slot = (size_t)hash & (dict->slot_count - 1);; slot = (slot + 1) & (dict->slot_count - 1)) {
        if (!dict->slots[slot] || !oxi_jinja_step(j, 1)) return dict->count;
        const size_t at = dict->slots[slot] - 1;
        if (oxi_jinja_equal(j, dict->entries[at].key, key)) return at;
    }
}

static oxi_jinja_value *oxi_jinja_dict_find(oxi_jinja *j, const oxi_jinja_dict *dict, oxi_jinja_value key) {
    const size_t at = oxi_jinja_dict_at(j, dict, key);
    return at < dict->count ? &dict->entries[at].value : NULL;
}

static void oxi_jinja_dict_place(oxi_jinja *j, oxi_jinja_dict *dict, size_t at) {
    uint64_t hash;
    if (!oxi_jinja_hash(j, dict->entries[at].key, &hash)) return;
    size_t slot = (size_t)hash & (dict->slot_count - 1);
    while (dict->slots[slot]) slot = (slot + 1) & (dict->slot_count - 1);
    dict->slots[slot] = (uint32_t)at + 1;
}

/* The table of slots anew, twice as large as the entries at least. */
static void oxi_jinja_dict_index(oxi_jinja *j, oxi_jinja_dict *dict) {
    size_t wanted = 4 * OXI_JINJA_FEW_ENTRIES;
    if (dict->count <= OXI_JINJA_FEW_ENTRIES) {
        dict->slot_count = 0;
        return;
    }
    while (wanted < dict->count * 2) wanted *= 2;
    if (wanted > dict->slot_count) {
        uint32_t *slots = (uint32_t *)oxi_jinja_alloc_array(j, wanted, 2 * sizeof *slots);
        if (!slots) return;
        dict->slots = slots;
        dict->slot_count = wanted * 2;
    }
    memset(dict->slots, 0, dict->slot_count * sizeof *dict->slots);
    for (size_t i = 0; i < dict->count && oxi_jinja_step(j, 1); i++) oxi_jinja_dict_place(j, dict, i);
}

static void oxi_jinja_dict_set(oxi_jinja *j, oxi_jinja_dict *dict, oxi_jinja_value key,
                               oxi_jinja_value value) {
    const size_t at = oxi_jinja_dict_at(j, dict, key);
    if (j->status) return;
    if (at < dict->count) {
        dict->entries[at].value = value;
        return;
    }
    oxi_jinja_entry *entries =
        (oxi_jinja_entry *)oxi_jinja_grow(j, dict->entries, dict->count, &dict->room, sizeof *entries);
    if (!entries || !oxi_jinja_step(j, 1)) return;
    dict->entries = entries;
    dict->entries[dict->count].key = key;
    dict->entries[dict->count++].value = value;
    if (dict->count <= OXI_JINJA_FEW_ENTRIES) return;
    if (dict->slot_count < dict->count * 2)
        oxi_jinja_dict_index(j, dict);
    else
        oxi_jinja_dict_place(j, dict, dict->count - 1);
}

static bool oxi_jinja_dict_remove(oxi_jinja *j, oxi_jinja_dict *dict, oxi_jinja_value key,
                                  oxi_jinja_value *out) {
    const size_t at = oxi_jinja_dict_at(j, dict, key);
    if (at >= dict->count) return false;
    *out = dict->entries[at].value;
    memmove(dict->entries + at, dict->entries + at + 1, (dict->count - at - 1) * sizeof *dict->entries);
    dict->count--;
    oxi_jinja_dict_index(j, dict);
    return true;
}

/* ---- sequences ----------------------------------------------------------------------------------------- */

static const oxi_jinja_list *oxi_jinja_characters_of(oxi_jinja *j, oxi_jinja_value v) {
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_LIST, oxi_jinja_characters(v.as.text, v.length));
    for (size_t at = 0; at < v.length && !j->status;) {
        const size_t start = at;
        (void)oxi_utf8_code(v.as.text, v.length, &at);
        oxi_jinja_push(j, list.as.list, oxi_jinja_text(v.as.text + start, at - start));
    }
    return j->status ? NULL : list.as.list;
}

static const oxi_jinja_list *oxi_jinja_iterate(oxi_jinja *j, oxi_jinja_value v) {
    oxi_jinja_value list;
    if (j->status) return NULL;
    if (v.type == OXI_JINJA_STRING) return oxi_jinja_characters_of(j, v);
    if (oxi_jinja_is_sequence(v) && v.type != OXI_JINJA_GENERATOR) return v.as.list;
    if (v.type == OXI_JINJA_GENERATOR) {
        list = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
        if (j->status) return NULL;
        *list.as.list = *v.as.list;
        v.as.list->count = v.as.list->room = 0;
        return list.as.list;
    }
    list = oxi_jinja_list_new(j, OXI_JINJA_LIST, v.type == OXI_JINJA_DICT ? v.as.dict->count : 0);
    if (j->status || v.type == OXI_JINJA_UNDEFINED) return j->status ? NULL : list.as.list;
    if (v.type == OXI_JINJA_DICT) {
        for (size_t i = 0; i < v.as.dict->count; i++)
            oxi_jinja_push(j, list.as.list, v.as.dict->entries[i].key);
        return j->status ? NULL : list.as.list;
    }
    (void)oxi_jinja_fail(j, "%s cannot be gone through", oxi_jinja_type_name(v));
    return NULL;
}

static int64_t oxi_jinja_length(oxi_jinja *j, oxi_jinja_value v) {
    if (v.type == OXI_JINJA_UNDEFINED) return 0;
    if (v.type == OXI_JINJA_STRING)
        return oxi_jinja_step(j, v.length / 64) ? (int64_t)oxi_jinja_characters(v.as.text, v.length) : -1;
    if (v.type == OXI_JINJA_DICT) return (int64_t)v.as.dict->count;
    if (v.type == OXI_JINJA_LOOP) return (int64_t)v.as.loop->items->count;
    if (oxi_jinja_is_sequence(v) && v.type != OXI_JINJA_GENERATOR) return (int64_t)v.as.list->count;
    (void)oxi_jinja_fail(j, "%s has no length", oxi_jinja_type_name(v));
    return -1;
}

/* ---- variables ----------------------------------------------------------------------------------------- */

static oxi_jinja_scope *oxi_jinja_scope_new(oxi_jinja *j, oxi_jinja_scope *outer) {
    oxi_jinja_scope *scope = (oxi_jinja_scope *)oxi_jinja_alloc(j, sizeof *scope);
    if (!scope) return NULL;
    memset(scope, 0, sizeof *scope);
    scope->outer = outer;
    return scope;
}

static oxi_jinja_value *oxi_jinja_find_in_scope(oxi_jinja *j, oxi_jinja_scope *scope, uint32_t symbol) {
    if (!oxi_jinja_step(j, scope->count / 16)) return NULL;
    for (size_t i = 0; i < scope->count; i++)
        if (scope->variables[i].symbol == symbol) return &scope->variables[i].value;
    return NULL;
}

static oxi_jinja_value *oxi_jinja_find_variable(oxi_jinja *j, oxi_jinja_scope *scope, uint32_t symbol) {
    oxi_jinja_value *found = NULL;
    for (; scope && !found && oxi_jinja_step(j, 1); scope = scope->outer)
        found = oxi_jinja_find_in_scope(j, scope, symbol);
    return found;
}

static void oxi_jinja_set_variable(oxi_jinja *j, oxi_jinja_scope *scope, uint32_t symbol,
                                   oxi_jinja_value value) {
    if (j->status || !scope) return;
    oxi_jinja_value *found = oxi_jinja_find_in_scope(j, scope, symbol);
    if (found) {
        *found = value;
        return;
    }
    oxi_jinja_variable *variables = (oxi_jinja_variable *)oxi_jinja_grow(j, scope->variables, scope->count,
                                                                         &scope->room, sizeof *variables);
    if (!variables) return;
    scope->variables = variables;
    variables[scope->count].symbol = symbol;
    variables[scope->count++].value = value;
}
