/* Filters of sequences, and the table of all filters. What Jinja gives as a generator is one here too.
 * `attribute` is a name or number, or several with points between them.
 * Called through oxi_jinja_apply. */

/* ---- attributes and keys ------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_path(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value path,
                                      oxi_jinja_value otherwise) {
    if (path.type != OXI_JINJA_STRING) return oxi_jinja_item(j, v, path);
    for (size_t at = 0; at <= path.length && !j->status;) {
        size_t end = at, digits = 0;
        while (end < path.length && path.as.text[end] != '.') end++;
        oxi_jinja_value part = oxi_jinja_text(path.as.text + at, end - at);
        while (digits < part.length && oxi_is_digit(part.as.text[digits])) digits++;
        size_t zero = 0;
        if (digits && digits == part.length)
            part = oxi_jinja_int(oxi_jinja_small_number(j, part, &zero, 100000000));
        v = oxi_jinja_item(j, v, part);
        if (v.type == OXI_JINJA_UNDEFINED && otherwise.type != OXI_JINJA_MISSING) v = otherwise;
        at = end + 1;
    }
    return v;
}

static oxi_jinja_value oxi_jinja_missing(void) {
    return oxi_jinja_make(OXI_JINJA_MISSING);
}

/* What an element is compared by: its attribute if there is one, strings in lower case unless `cased`. */
static oxi_jinja_value oxi_jinja_key_of(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value attribute,
                                        bool cased) {
    if (attribute.type != OXI_JINJA_MISSING && attribute.type != OXI_JINJA_NONE)
        v = oxi_jinja_path(j, v, attribute, oxi_jinja_missing());
    return cased || v.type != OXI_JINJA_STRING ? v : oxi_jinja_map_case(j, v, oxi_jinja_to_lower);
}

static oxi_jinja_value oxi_jinja_list_of(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_type type) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, v);
    oxi_jinja_value list = oxi_jinja_list_new(j, type, items ? items->count : 0);
    for (size_t i = 0; items && !j->status && i < items->count; i++)
        oxi_jinja_push(j, list.as.list, items->items[i]);
    return list;
}

typedef struct oxi_jinja_order_of {
    oxi_jinja *j;
    const oxi_jinja_value *keys;
    bool reverse;
} oxi_jinja_order_of;

static int oxi_jinja_compare_values(const void *user, uint32_t a, uint32_t b) {
    const oxi_jinja_order_of *order = (const oxi_jinja_order_of *)user;
    if (!oxi_jinja_step(order->j, 1)) return 0;
    const int compared = oxi_jinja_compare(order->j, OXI_JINJA_LESS, order->keys[a], order->keys[b])   ? -1
                         : oxi_jinja_compare(order->j, OXI_JINJA_LESS, order->keys[b], order->keys[a]) ? 1
                                                                                                       : 0;
    return order->reverse ? -compared : compared;
}

/* The elements in the order of their keys: stable, also in reverse. */
static oxi_jinja_value oxi_jinja_sorted(oxi_jinja *j, const oxi_jinja_list *items,
                                        const oxi_jinja_value *keys, bool reverse) {
    if (j->status || !items || !keys) return oxi_jinja_none();
    const oxi_jinja_order_of user = {j, keys, reverse};
    uint32_t *order = (uint32_t *)oxi_jinja_alloc_array(j, items->count, 2 * sizeof *order);
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_LIST, items->count);
    if (j->status) return list;
    oxi_sort_indexes(order, order + items->count, (uint32_t)items->count, oxi_jinja_compare_values, &user);
    for (size_t i = 0; i < items->count && !j->status; i++)
        oxi_jinja_push(j, list.as.list, items->items[order[i]]);
    return list;
}

/* Keys by an attribute. If there may be `several`, with commas between them, a key is a list: the order of
 * lists asks first whether elements are equal, so that keys without an order of their own may be so. */
static oxi_jinja_value *oxi_jinja_keys_of(oxi_jinja *j, const oxi_jinja_list *items,
                                          oxi_jinja_value attribute, bool cased, bool several) {
    oxi_jinja_value *keys =
        items ? (oxi_jinja_value *)oxi_jinja_alloc_array(j, items->count, sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < items->count && !j->status; i++) {
        if (!several) {
            keys[i] = oxi_jinja_key_of(j, items->items[i], attribute, cased);
            continue;
        }
        keys[i] = oxi_jinja_list_new(j, OXI_JINJA_LIST, 1);
        if (attribute.type != OXI_JINJA_STRING && !j->status)
            oxi_jinja_push(j, keys[i].as.list, oxi_jinja_key_of(j, items->items[i], attribute, cased));
        if (attribute.type != OXI_JINJA_STRING) continue;
        for (size_t at = 0; at <= attribute.length && !j->status;) {
            size_t end = at;
            while (end < attribute.length && attribute.as.text[end] != ',') end++;
            const oxi_jinja_value one = oxi_jinja_text(attribute.as.text + at, end - at);
            oxi_jinja_push(j, keys[i].as.list, oxi_jinja_key_of(j, items->items[i], one, cased));
            at = end + 1;
        }
    }
    return keys;
}

static oxi_jinja_value oxi_jinja_sort(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    return oxi_jinja_sorted(j, items, oxi_jinja_keys_of(j, items, a[3], oxi_jinja_truth(a[2]), true),
                            oxi_jinja_truth(a[1]));
}

static oxi_jinja_value oxi_jinja_entries(oxi_jinja *j, oxi_jinja_value dict, oxi_jinja_type type) {
    oxi_jinja_value list = oxi_jinja_list_new(j, type, dict.as.dict->count);
    for (size_t i = 0; i < dict.as.dict->count && !j->status; i++)
        oxi_jinja_push(j, list.as.list,
                       oxi_jinja_pair(j, dict.as.dict->entries[i].key, dict.as.dict->entries[i].value));
    return list;
}

static oxi_jinja_value oxi_jinja_dictsort(oxi_jinja *j, oxi_jinja_value *a) {
    const bool by_value = oxi_jinja_is_text(a[2], "value");
    if (a[0].type == OXI_JINJA_UNDEFINED) return oxi_jinja_of_undefined(j, a[0], oxi_jinja_word("items"));
    if (a[0].type != OXI_JINJA_DICT) return oxi_jinja_fail(j, "dictsort of %s", oxi_jinja_type_name(a[0]));
    if (a[2].type != OXI_JINJA_MISSING && !by_value && !oxi_jinja_is_text(a[2], "key"))
        return oxi_jinja_fail(j, "dictsort: by is key or value");
    const oxi_jinja_value items = oxi_jinja_entries(j, a[0], OXI_JINJA_LIST);
    if (j->status) return items;
    return oxi_jinja_sorted(
        j, items.as.list,
        oxi_jinja_keys_of(j, items.as.list, oxi_jinja_int(by_value), oxi_jinja_truth(a[1]), false),
        oxi_jinja_truth(a[3]));
}

static oxi_jinja_value oxi_jinja_extreme(oxi_jinja *j, oxi_jinja_value *a, oxi_jinja_operation better) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    const oxi_jinja_value *keys = oxi_jinja_keys_of(j, items, a[2], oxi_jinja_truth(a[1]), false);
    size_t best = 0;
    if (!keys) return oxi_jinja_none();
    if (!items->count) return oxi_jinja_undefined("the least or most of nothing", 28);
    for (size_t i = 1; i < items->count && oxi_jinja_step(j, 1); i++)
        if (oxi_jinja_compare(j, better, keys[i], keys[best])) best = i;
    return items->items[best];
}

static oxi_jinja_value oxi_jinja_min(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_extreme(j, a, OXI_JINJA_LESS);
}

static oxi_jinja_value oxi_jinja_max(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_extreme(j, a, OXI_JINJA_GREATER);
}

static oxi_jinja_value oxi_jinja_unique(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0), seen = oxi_jinja_dict_new(j);
    for (size_t i = 0; items && !j->status && i < items->count; i++) {
        const oxi_jinja_value key = oxi_jinja_key_of(j, items->items[i], a[2], oxi_jinja_truth(a[1]));
        if (j->status || oxi_jinja_dict_find(j, seen.as.dict, key)) continue;
        oxi_jinja_dict_set(j, seen.as.dict, key, oxi_jinja_none());
        oxi_jinja_push(j, list.as.list, items->items[i]);
    }
    return list;
}

static oxi_jinja_value oxi_jinja_groupby(oxi_jinja *j, oxi_jinja_value *a) {
    const bool cased = oxi_jinja_truth(a[3]);
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    oxi_jinja_value groups = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0), last = oxi_jinja_none();
    oxi_jinja_value *keys =
        items ? (oxi_jinja_value *)oxi_jinja_alloc_array(j, items->count, sizeof *keys) : NULL;
    for (size_t i = 0; keys && i < items->count && !j->status; i++) {
        keys[i] = oxi_jinja_path(j, items->items[i], a[1], a[2]);
        if (!cased) keys[i] = oxi_jinja_key_of(j, keys[i], oxi_jinja_missing(), false);
    }
    const oxi_jinja_value sorted = oxi_jinja_sorted(j, items, keys, false);
    for (size_t i = 0; !j->status && i < sorted.as.list->count; i++) {
        const oxi_jinja_value original = oxi_jinja_path(j, sorted.as.list->items[i], a[1], a[2]);
        const oxi_jinja_value key = oxi_jinja_key_of(j, original, oxi_jinja_missing(), cased);
        if (i == 0 || !oxi_jinja_equal(j, key, last))
            oxi_jinja_push(j, groups.as.list,
                           oxi_jinja_pair(j, original, oxi_jinja_list_new(j, OXI_JINJA_LIST, 0)));
        last = key;
        if (j->status) break;
        const oxi_jinja_value pair = groups.as.list->items[groups.as.list->count - 1];
        oxi_jinja_push(j, pair.as.list->items[1].as.list, sorted.as.list->items[i]);
    }
    return groups;
}

/* ---- one element, sums, texts -------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_first(oxi_jinja *j, oxi_jinja_value *a) {
    if (a[0].type == OXI_JINJA_GENERATOR && a[0].as.list->count) { /* only one of it is used up */
        a[0].as.list->count--;
        if (a[0].as.list->room) a[0].as.list->room--;
        return *a[0].as.list->items++;
    }
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    return items && items->count ? items->items[0] : oxi_jinja_undefined("the first of nothing", 20);
}

static oxi_jinja_value oxi_jinja_last(oxi_jinja *j, oxi_jinja_value *a) {
    if (a[0].type == OXI_JINJA_GENERATOR) return oxi_jinja_fail(j, "the last of a generator");
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    if (!items || !items->count) return oxi_jinja_undefined("the last of nothing", 19);
    const oxi_jinja_value last = items->items[items->count - 1];
    return a[0].type == OXI_JINJA_STRING ? oxi_jinja_safe_as(last, a[0]) : last;
}

static oxi_jinja_value oxi_jinja_sum(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    oxi_jinja_value sum = a[2].type == OXI_JINJA_MISSING ? oxi_jinja_int(0) : a[2];
    for (size_t i = 0; items && !j->status && i < items->count; i++)
        sum = oxi_jinja_binary(j, OXI_JINJA_ADD, sum, oxi_jinja_key_of(j, items->items[i], a[1], true));
    return sum;
}

static oxi_jinja_value oxi_jinja_join(oxi_jinja *j, oxi_jinja_value *a) {
    const size_t start = j->out_length;
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    for (size_t i = 0; items && !j->status && i < items->count; i++) {
        if (i && a[1].type != OXI_JINJA_MISSING) oxi_jinja_write_value(j, a[1]);
        oxi_jinja_write_value(j, oxi_jinja_key_of(j, items->items[i], a[2], true));
    }
    return oxi_jinja_take(j, start);
}

/* ---- other sequences ----------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_to_list(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_list_of(j, a[0], OXI_JINJA_LIST);
}

static oxi_jinja_value oxi_jinja_reverse(oxi_jinja *j, oxi_jinja_value *a) {
    const size_t start = j->out_length;
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    if (a[0].type == OXI_JINJA_STRING) {
        for (size_t i = items ? items->count : 0; i > 0 && !j->status; i--)
            oxi_jinja_write(j, items->items[i - 1].as.text, items->items[i - 1].length);
        return oxi_jinja_safe_as(oxi_jinja_take(j, start), a[0]);
    }
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0);
    for (size_t i = items ? items->count : 0; i > 0 && !j->status; i--)
        oxi_jinja_push(j, list.as.list, items->items[i - 1]);
    return list;
}

static oxi_jinja_value oxi_jinja_filter_items(oxi_jinja *j, oxi_jinja_value *a) {
    if (a[0].type == OXI_JINJA_UNDEFINED) return oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0);
    if (a[0].type == OXI_JINJA_DICT) return oxi_jinja_entries(j, a[0], OXI_JINJA_GENERATOR);
    return oxi_jinja_fail(j, "items of %s", oxi_jinja_type_name(a[0]));
}

static oxi_jinja_value oxi_jinja_batch(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    const int64_t size = oxi_jinja_int_argument(j, a[1], 1);
    oxi_jinja_value batches = oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0), batch = oxi_jinja_none();
    if (size < 1) return oxi_jinja_fail(j, "batch: a size below 1");
    for (size_t i = 0; items && !j->status && i < items->count; i++) {
        if ((int64_t)i % size == 0) {
            batch = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
            oxi_jinja_push(j, batches.as.list, batch);
        }
        if (!j->status) oxi_jinja_push(j, batch.as.list, items->items[i]);
    }
    const bool fills = a[2].type != OXI_JINJA_MISSING && a[2].type != OXI_JINJA_NONE;
    while (fills && !j->status && batch.type == OXI_JINJA_LIST && (int64_t)batch.as.list->count < size)
        oxi_jinja_push(j, batch.as.list, a[2]);
    return batches;
}

/* `count` columns of about the same length. */
static oxi_jinja_value oxi_jinja_filter_slice(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_list *items = oxi_jinja_iterate(j, a[0]);
    const int64_t count = oxi_jinja_int_argument(j, a[1], 1);
    oxi_jinja_value columns = oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0);
    if (count < 1) return oxi_jinja_fail(j, "slice: fewer than 1");
    if (!items) return columns;
    const int64_t length = (int64_t)items->count, each = length / count, more = length % count;
    size_t at = 0;
    for (int64_t c = 0; c < count && !j->status; c++) {
        oxi_jinja_value column = oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
        for (int64_t i = 0; i < each + (c < more) && !j->status; i++)
            oxi_jinja_push(j, column.as.list, items->items[at++]);
        if (a[2].type != OXI_JINJA_MISSING && a[2].type != OXI_JINJA_NONE && c >= more && !j->status)
            oxi_jinja_push(j, column.as.list, a[2]);
        oxi_jinja_push(j, columns.as.list, column);
    }
    return columns;
}

/* ---- map, select, reject: of another filter or test ---------------------------------------------------- */

/* What is left of a tuple behind its first `from` elements, as arguments. */
static oxi_jinja_arguments oxi_jinja_arguments_of(oxi_jinja *j, oxi_jinja_value rest, size_t from,
                                                  oxi_jinja_value keywords) {
    oxi_jinja_arguments arguments;
    memset(&arguments, 0, sizeof arguments);
    const size_t count = rest.as.list->count > from ? rest.as.list->count - from : 0;
    const size_t named = keywords.type == OXI_JINJA_DICT ? keywords.as.dict->count : 0;
    oxi_jinja_value *items = (oxi_jinja_value *)oxi_jinja_alloc_array(j, count + 2 * named, sizeof *items);
    if (!items) return arguments;
    if (count) memcpy(items, rest.as.list->items + from, count * sizeof *items);
    arguments.items = items;
    arguments.names = items + count + named;
    arguments.positional = count;
    arguments.keywords = named;
    for (size_t i = 0; i < named; i++) {
        items[count + i] = keywords.as.dict->entries[i].value;
        arguments.names[i] = keywords.as.dict->entries[i].key;
    }
    return arguments;
}

/* Of what counts as false there are none, whatever it is: as Jinja has it. */
static const oxi_jinja_list *oxi_jinja_iterate_any(oxi_jinja *j, oxi_jinja_value v) {
    return oxi_jinja_truth(v) ? oxi_jinja_iterate(j, v) : NULL;
}

static oxi_jinja_value oxi_jinja_map_attribute(oxi_jinja *j, oxi_jinja_value *a) {
    const oxi_jinja_dict *keywords = a[2].as.dict;
    const oxi_jinja_list *items = oxi_jinja_iterate_any(j, a[0]);
    const oxi_jinja_value *path = oxi_jinja_dict_find(j, keywords, oxi_jinja_word("attribute"));
    const oxi_jinja_value *otherwise = oxi_jinja_dict_find(j, keywords, oxi_jinja_word("default"));
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0);
    if (!path || keywords->count > (otherwise ? 2u : 1u))
        return oxi_jinja_fail(j, "map wants a filter's name or an attribute");
    for (size_t i = 0; items && !j->status && i < items->count; i++)
        oxi_jinja_push(
            j, list.as.list,
            oxi_jinja_path(j, items->items[i], *path, otherwise ? *otherwise : oxi_jinja_missing()));
    return list;
}

static oxi_jinja_value oxi_jinja_map(oxi_jinja *j, oxi_jinja_value *a) {
    if (!a[1].as.list->count) return oxi_jinja_map_attribute(j, a);
    const oxi_jinja_value name = a[1].as.list->items[0];
    const oxi_jinja_function *filter = oxi_jinja_find_filter(name);
    const oxi_jinja_arguments arguments = oxi_jinja_arguments_of(j, a[1], 1, a[2]);
    const oxi_jinja_list *items = oxi_jinja_iterate_any(j, a[0]);
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0);
    if (!filter) return oxi_jinja_fail(j, "map: there is no such filter");
    if (oxi_jinja_enter(j))
        for (size_t i = 0; items && !j->status && i < items->count; i++)
            oxi_jinja_push(j, list.as.list, oxi_jinja_apply(j, filter, &items->items[i], &arguments));
    oxi_jinja_leave(j);
    return list;
}

/* The elements for which a test, or what they are worth without one, says `wanted`. */
static oxi_jinja_value oxi_jinja_choose(oxi_jinja *j, oxi_jinja_value *a, bool by_attribute, bool wanted) {
    const size_t at = by_attribute ? 1 : 0;
    const oxi_jinja_list *given = a[1].as.list, *items = oxi_jinja_iterate_any(j, a[0]);
    const oxi_jinja_function *test = given->count > at ? oxi_jinja_find_test(given->items[at]) : NULL;
    const oxi_jinja_arguments arguments = oxi_jinja_arguments_of(j, a[1], at + 1, a[2]);
    oxi_jinja_value list = oxi_jinja_list_new(j, OXI_JINJA_GENERATOR, 0);
    if (by_attribute && !given->count) return oxi_jinja_fail(j, "an attribute is missing");
    if (given->count > at && !test) return oxi_jinja_fail(j, "there is no such test");
    for (size_t i = 0; items && !j->status && i < items->count; i++) {
        oxi_jinja_value v = items->items[i];
        if (by_attribute) v = oxi_jinja_path(j, v, given->items[0], oxi_jinja_missing());
        if (test) v = oxi_jinja_apply(j, test, &v, &arguments);
        if (oxi_jinja_truth(v) == wanted) oxi_jinja_push(j, list.as.list, items->items[i]);
    }
    return list;
}

static oxi_jinja_value oxi_jinja_select(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_choose(j, a, false, true);
}

static oxi_jinja_value oxi_jinja_reject(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_choose(j, a, false, false);
}

static oxi_jinja_value oxi_jinja_selectattr(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_choose(j, a, true, true);
}

static oxi_jinja_value oxi_jinja_rejectattr(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_choose(j, a, true, false);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static const oxi_jinja_function oxi_jinja_filters[] = {
    {"abs", "", oxi_jinja_abs},
    {"attr", "name", oxi_jinja_filter_attr},
    {"batch", "linecount fill_with?", oxi_jinja_batch},
    {"capitalize", "", oxi_jinja_capitalize},
    {"center", "width?", oxi_jinja_center},
    {"count", "", oxi_jinja_filter_length},
    {"d", "default_value? boolean?", oxi_jinja_default},
    {"default", "default_value? boolean?", oxi_jinja_default},
    {"dictsort", "case_sensitive? by? reverse?", oxi_jinja_dictsort},
    {"e", "", oxi_jinja_filter_escape},
    {"escape", "", oxi_jinja_filter_escape},
    {"filesizeformat", "binary?", oxi_jinja_filesizeformat},
    {"first", "", oxi_jinja_first},
    {"float", "default?", oxi_jinja_to_float},
    {"forceescape", "", oxi_jinja_filter_forceescape},
    {"format", "* **", oxi_jinja_filter_format},
    {"groupby", "attribute default? case_sensitive?", oxi_jinja_groupby},
    {"indent", "width? first? blank?", oxi_jinja_indent},
    {"int", "default? base?", oxi_jinja_to_int},
    {"items", "", oxi_jinja_filter_items},
    {"join", "d? attribute?", oxi_jinja_join},
    {"last", "", oxi_jinja_last},
    {"length", "", oxi_jinja_filter_length},
    {"list", "", oxi_jinja_to_list},
    {"lower", "", oxi_jinja_lower},
    {"map", "* **", oxi_jinja_map},
    {"max", "case_sensitive? attribute?", oxi_jinja_max},
    {"min", "case_sensitive? attribute?", oxi_jinja_min},
    {"pprint", "", oxi_jinja_pprint},
    {"random", "", oxi_jinja_random},
    {"reject", "* **", oxi_jinja_reject},
    {"rejectattr", "* **", oxi_jinja_rejectattr},
    {"replace", "old new count?", oxi_jinja_replace},
    {"reverse", "", oxi_jinja_reverse},
    {"round", "precision? method?", oxi_jinja_round},
    {"safe", "", oxi_jinja_filter_safe},
    {"select", "* **", oxi_jinja_select},
    {"selectattr", "* **", oxi_jinja_selectattr},
    {"slice", "slices fill_with?", oxi_jinja_filter_slice},
    {"sort", "reverse? case_sensitive? attribute?", oxi_jinja_sort},
    {"string", "", oxi_jinja_to_string},
    {"striptags", "", oxi_jinja_striptags},
    {"sum", "attribute? start?", oxi_jinja_sum},
    {"title", "", oxi_jinja_title},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", oxi_jinja_tojson},
    {"trim", "chars?", oxi_jinja_trim},
    {"truncate", "length? killwords? end? leeway?", oxi_jinja_truncate},
    {"unique", "case_sensitive? attribute?", oxi_jinja_unique},
    {"upper", "", oxi_jinja_upper},
    {"urlencode", "", oxi_jinja_urlencode},
    {"urlize", "* **", oxi_jinja_urlize},
    {"wordcount", "", oxi_jinja_wordcount},
    {"wordwrap", "width? break_long_words? wrapstring? break_on_hyphens?", oxi_jinja_wordwrap},
    {"xmlattr", "autospace?", oxi_jinja_xmlattr},
};

static const oxi_jinja_function *oxi_jinja_find_filter(oxi_jinja_value name) {
    return oxi_jinja_find_row(oxi_jinja_filters, sizeof oxi_jinja_filters / sizeof *oxi_jinja_filters, name);
}
