/* Operators, attributes, items and slices, as Python does them; integers beyond 64 bits are an error.
 * Sizes are checked before anything is made.
 * Called by run.c and by filters. */

/* ---- arithmetic ---------------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_too_large(oxi_jinja *j) {
    return oxi_jinja_fail(j, "an integer of more than 64 bits");
}

static oxi_jinja_value oxi_jinja_power_of_ints(oxi_jinja *j, int64_t base, int64_t exponent) {
    int64_t result = 1;
    while (exponent > 0) {
        if ((exponent & 1) && !oxi_mul_i64(result, base, &result)) return oxi_jinja_too_large(j);
        exponent >>= 1;
        if (exponent && !oxi_mul_i64(base, base, &base)) return oxi_jinja_too_large(j);
    }
    return oxi_jinja_int(result);
}

static oxi_jinja_value oxi_jinja_int_operation(oxi_jinja *j, oxi_jinja_operation operation, int64_t a,
                                               int64_t b) {
    int64_t result = 0;
    bool fits = true;
    switch (operation) {
    case OXI_JINJA_ADD: fits = oxi_add_i64(a, b, &result); break;
    case OXI_JINJA_SUBTRACT:
        fits = b == INT64_MIN ? a < 0 : oxi_add_i64(a, -b, &result);
        if (b == INT64_MIN && fits) result = a - b;
        break;
    case OXI_JINJA_MULTIPLY: fits = oxi_mul_i64(a, b, &result); break;
    case OXI_JINJA_FLOOR_DIVIDE:
    case OXI_JINJA_MODULO:
        if (b == 0) return oxi_jinja_fail(j, "division by zero");
        if (b == -1) {
            fits = operation == OXI_JINJA_MODULO || a != INT64_MIN;
            result = operation == OXI_JINJA_MODULO || !fits ? 0 : -a;
            break;
        }
        result = operation == OXI_JINJA_MODULO ? a % b : a / b;
        if (a % b != 0 && (a < 0) != (b < 0)) result += operation == OXI_JINJA_MODULO ? b : -1;
        break;
    default: return oxi_jinja_power_of_ints(j, a, b);
    }
    return fits ? oxi_jinja_int(result) : oxi_jinja_too_large(j);
}

static OXI_NOINLINE oxi_jinja_value oxi_jinja_float_operation(oxi_jinja *j, oxi_jinja_operation operation,
                                                              double a, double b) {
    double result = 0, rest;
    switch (operation) {
    case OXI_JINJA_ADD: return oxi_jinja_float(a + b);
    case OXI_JINJA_SUBTRACT: return oxi_jinja_float(a - b);
    case OXI_JINJA_MULTIPLY: return oxi_jinja_float(a * b);
    case OXI_JINJA_POWER:
        if (a == 0 && b < 0) return oxi_jinja_fail(j, "0 to a negative power");
        if (a < 0 && b != floor(b)) return oxi_jinja_fail(j, "a power that is a complex number");
        result = pow(a, b);
        if (fabs(result) > DBL_MAX && fabs(a) <= DBL_MAX && fabs(b) <= DBL_MAX)
            return oxi_jinja_fail(j, "a power that is too large");
        return oxi_jinja_float(result);
    default: break;
    }
    if (b == 0) return oxi_jinja_fail(j, "division by zero");
    if (operation == OXI_JINJA_DIVIDE) return oxi_jinja_float(a / b);
    rest = fmod(a, b);
    if (operation == OXI_JINJA_MODULO) {
        if (rest != 0 && (rest < 0) != (b < 0)) rest += b;
        return oxi_jinja_float(rest == 0 ? copysign(0.0, b) : rest);
    }
    result = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) result -= 1;
    if (result == 0) return oxi_jinja_float(copysign(0.0, a / b));
    const double down = floor(result);
    return oxi_jinja_float(result - down > 0.5 ? down + 1 : down);
}

static oxi_jinja_value oxi_jinja_repeat(oxi_jinja *j, oxi_jinja_value v, int64_t times) {
    const size_t length = v.type == OXI_JINJA_STRING ? v.length : v.as.list->count;
    const size_t start = j->out_length;
    size_t all;
    if (times < 0 || length == 0) times = 0;
    if ((uint64_t)times > OXI_JINJA_MOST_STRING || !oxi_mul_size(length, (size_t)times, &all) ||
        all > OXI_JINJA_MOST_STRING)
        return oxi_jinja_fail(j, "%.0f times %.0f is too long", (double)length, (double)times);
    if (v.type == OXI_JINJA_STRING) {
        if (!oxi_jinja_step(j, all / 16)) return v;
        if (length == 1) {
            oxi_jinja_write_many(j, v.as.text[0], times);
            times = 0;
        }
        while (times-- > 0 && oxi_jinja_step(j, 1)) oxi_jinja_write(j, v.as.text, length);
        return oxi_jinja_take(j, start);
    }
    oxi_jinja_value list = oxi_jinja_list_new(j, (oxi_jinja_type)v.type, all);
    while (times-- > 0 && !j->status)
        for (size_t i = 0; i < length && !j->status; i++)
            oxi_jinja_push(j, list.as.list, v.as.list->items[i]);
    return list;
}

static oxi_jinja_value oxi_jinja_append_lists(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b) {
    oxi_jinja_value list = oxi_jinja_list_new(j, (oxi_jinja_type)a.type, a.as.list->count + b.as.list->count);
    for (size_t i = 0; i < a.as.list->count && !j->status; i++)
        oxi_jinja_push(j, list.as.list, a.as.list->items[i]);
    for (size_t i = 0; i < b.as.list->count && !j->status; i++)
        oxi_jinja_push(j, list.as.list, b.as.list->items[i]);
    return list;
}

/* Both as text behind each other. What was made last grows in its place: a text that
 * pieces are added to again and again is not copied each time. */
static oxi_jinja_value oxi_jinja_join_texts(oxi_jinja *j, oxi_jinja_value a, oxi_jinja_value b) {
    oxi_jinja_block *block = j->blocks;
    const size_t start = j->out_length, length = (size_t)a.length + b.length;
    if (length > OXI_JINJA_MOST_STRING) return oxi_jinja_fail(j, "a text that is too long");
    if (!b.length) return a;
    if (!a.length) return b;
    if (block && !j->status && a.as.text + a.length == j->last_end) {
        const size_t end = (size_t)(j->last_end - (const char *)block);
        if (((end + 15) & ~(size_t)15) == block->used && block->bytes - block->used >= b.length) {
            memcpy((char *)block + end, b.as.text, b.length);
            block->used = (end + b.length + 15) & ~(size_t)15;
            j->last_end += b.length;
            return oxi_jinja_step(j, b.length / 64) ? oxi_jinja_text(a.as.text, length) : a;
        }
    }
    oxi_jinja_write(j, a.as.text, a.length);
    oxi_jinja_write(j, b.as.text, b.length);
    return oxi_jinja_take(j, start);
}

static oxi_jinja_value oxi_jinja_no_operation(oxi_jinja *j, const char *what, oxi_jinja_value a,
                                              oxi_jinja_value b) {
    if (a.type != OXI_JINJA_UNDEFINED && b.type == OXI_JINJA_UNDEFINED) a = b;
    if (a.type == OXI_JINJA_UNDEFINED)
        return oxi_jinja_fail(j, "'%.*s' is undefined", (int)(a.length < 100 ? a.length : 100),
                              a.as.text ? a.as.text : "");
    return oxi_jinja_fail(j, "%s of %s and %s", what, oxi_jinja_type_name(a), oxi_jinja_type_name(b));
}

static oxi_jinja_value oxi_jinja_binary(oxi_jinja *j, oxi_jinja_operation operation, oxi_jinja_value a,
                                        oxi_jinja_value b) {
    if (j->status) return a;
    if (operation == OXI_JINJA_CONCATENATE) {
        a = oxi_jinja_string(j, a);
        b = oxi_jinja_string(j, b);
        a.safe = b.safe = 0;
        return j->status ? a : oxi_jinja_join_texts(j, a, b);
    }
    if (oxi_jinja_is_number(a) && oxi_jinja_is_number(b)) {
        const bool floats = a.type == OXI_JINJA_FLOAT || b.type == OXI_JINJA_FLOAT;
        if (floats || operation == OXI_JINJA_DIVIDE || (operation == OXI_JINJA_POWER && b.as.i < 0))
            return oxi_jinja_float_operation(j, operation, oxi_jinja_number(a), oxi_jinja_number(b));
        return oxi_jinja_int_operation(j, operation, a.as.i, b.as.i);
    }
    const bool a_repeats =
        a.type == OXI_JINJA_STRING || a.type == OXI_JINJA_LIST || a.type == OXI_JINJA_TUPLE;
    const bool b_repeats =
        b.type == OXI_JINJA_STRING || b.type == OXI_JINJA_LIST || b.type == OXI_JINJA_TUPLE;
    if (operation == OXI_JINJA_ADD && a.type == b.type && a_repeats && (a.safe || b.safe)) {
        a = oxi_jinja_join_texts(j, oxi_jinja_escaped(j, a), oxi_jinja_escaped(j, b));
        a.safe = 1;
        return a;
    }
    if (operation == OXI_JINJA_ADD && a.type == b.type && a_repeats)
        return a.type == OXI_JINJA_STRING ? oxi_jinja_join_texts(j, a, b) : oxi_jinja_append_lists(j, a, b);
    if (operation == OXI_JINJA_MULTIPLY) {
        if (a_repeats && (b.type == OXI_JINJA_INT || b.type == OXI_JINJA_BOOL))
            return oxi_jinja_safe_as(oxi_jinja_repeat(j, a, b.as.i), a);
        if (b_repeats && (a.type == OXI_JINJA_INT || a.type == OXI_JINJA_BOOL))
            return oxi_jinja_safe_as(oxi_jinja_repeat(j, b, a.as.i), b);
    }
    if (operation == OXI_JINJA_MODULO && a.type == OXI_JINJA_STRING) return oxi_jinja_percent_format(j, a, b);
    return oxi_jinja_no_operation(j, "no such operation", a, b);
}

static oxi_jinja_value oxi_jinja_unary(oxi_jinja *j, oxi_jinja_operation operation, oxi_jinja_value a) {
    if (operation == OXI_JINJA_NOT) return oxi_jinja_bool(!oxi_jinja_truth(a));
    if (!oxi_jinja_is_number(a)) return oxi_jinja_no_operation(j, "no sign", a, a);
    if (a.type == OXI_JINJA_FLOAT) return oxi_jinja_float(operation == OXI_JINJA_NEGATE ? -a.as.f : a.as.f);
    if (operation != OXI_JINJA_NEGATE) return oxi_jinja_int(a.as.i);
    return a.as.i == INT64_MIN ? oxi_jinja_too_large(j) : oxi_jinja_int(-a.as.i);
}

static bool oxi_jinja_compare(oxi_jinja *j, oxi_jinja_operation operation, oxi_jinja_value a,
                              oxi_jinja_value b) {
    if (operation == OXI_JINJA_EQUAL || operation == OXI_JINJA_NOT_EQUAL)
        return oxi_jinja_equal(j, a, b) == (operation == OXI_JINJA_EQUAL);
    if (operation == OXI_JINJA_IN || operation == OXI_JINJA_NOT_IN)
        return oxi_jinja_contains(j, b, a) == (operation == OXI_JINJA_IN);
    if (a.type == OXI_JINJA_UNDEFINED || b.type == OXI_JINJA_UNDEFINED) {
        (void)oxi_jinja_no_operation(j, "no order", a, b);
        return false;
    }
    if (oxi_jinja_is_nan(a) || oxi_jinja_is_nan(b)) return false;
    const int order = oxi_jinja_order(j, a, b);
    switch (operation) {
    case OXI_JINJA_LESS: return order < 0;
    case OXI_JINJA_LESS_EQUAL: return order <= 0;
    case OXI_JINJA_GREATER: return order > 0;
    default: return order >= 0;
    }
}

/* ---- attributes and items ------------------------------------------------------------------------------ */

static oxi_jinja_value oxi_jinja_method_value(oxi_jinja *j, oxi_jinja_value self, oxi_jinja_value name) {
    oxi_jinja_value v = oxi_jinja_undefined(name.as.text, name.length);
    const oxi_jinja_function *function = oxi_jinja_find_method((oxi_jinja_type)self.type, name);
    oxi_jinja_bound *bound = function ? (oxi_jinja_bound *)oxi_jinja_alloc(j, sizeof *bound) : NULL;
    if (!bound) return v;
    bound->function = function;
    bound->self = self;
    bound->is_method = true;
    v.type = OXI_JINJA_FUNCTION;
    v.as.bound = bound;
    return v;
}

static oxi_jinja_value oxi_jinja_loop_attribute(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value name) {
    static const char *const names[] = {"index",  "index0",   "revindex", "revindex0", "first", "last",
                                        "length", "previtem", "nextitem", "depth",     "depth0"};
    const oxi_jinja_loop *loop = v.as.loop;
    const int64_t at = (int64_t)loop->at, count = (int64_t)loop->items->count;
    int which = 0;
    while (which < 11 && !oxi_jinja_is_text(name, names[which])) which++;
    switch (which) {
    case 0: return oxi_jinja_int(at + 1);
    case 1: return oxi_jinja_int(at);
    case 2: return oxi_jinja_int(count - at);
    case 3: return oxi_jinja_int(count - at - 1);
    case 4: return oxi_jinja_bool(at == 0);
    case 5: return oxi_jinja_bool(at + 1 == count);
    case 6: return oxi_jinja_int(count);
    case 7: return at > 0 ? loop->items->items[at - 1] : oxi_jinja_undefined("previtem", 8);
    case 8: return at + 1 < count ? loop->items->items[at + 1] : oxi_jinja_undefined("nextitem", 8);
    case 9: return oxi_jinja_int(loop->depth);
    case 10: return oxi_jinja_int(loop->depth - 1);
    default: return oxi_jinja_method_value(j, v, name);
    }
}

static oxi_jinja_value oxi_jinja_of_undefined(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value name) {
    const char *text = name.type == OXI_JINJA_STRING ? name.as.text : "an item";
    const uint32_t length = name.type == OXI_JINJA_STRING ? name.length : 7;
    return oxi_jinja_fail(j, "'%.*s' is undefined, and '%.*s' of it is wanted",
                          (int)(v.length < 100 ? v.length : 100), v.as.text ? v.as.text : "",
                          (int)(length < 100 ? length : 100), text);
}

/* The parts of a cycler or joiner that are no methods; undefined: there is none of that name. */
static oxi_jinja_value oxi_jinja_part(oxi_jinja_value v, oxi_jinja_value name) {
    const oxi_jinja_list *list = v.as.list;
    const bool cycler = v.type == OXI_JINJA_CYCLER;
    if (cycler && oxi_jinja_is_text(name, "current")) return list->items[list->start];
    if (cycler && oxi_jinja_is_text(name, "pos")) return oxi_jinja_int(list->start);
    if (cycler && oxi_jinja_is_text(name, "items")) {
        v.type = OXI_JINJA_TUPLE;
        return v;
    }
    if (!cycler && oxi_jinja_is_text(name, "sep")) return list->items[0];
    if (!cycler && oxi_jinja_is_text(name, "used")) return oxi_jinja_bool(list->start != 0);
    return oxi_jinja_undefined(name.as.text, name.length);
}

static oxi_jinja_value oxi_jinja_attribute(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value name) {
    const oxi_jinja_value none = oxi_jinja_undefined(name.as.text, name.length);
    const oxi_jinja_value *found = NULL;
    if (v.type == OXI_JINJA_UNDEFINED) return oxi_jinja_of_undefined(j, v, name);
    if (v.type == OXI_JINJA_LOOP) return oxi_jinja_loop_attribute(j, v, name);
    if (v.type == OXI_JINJA_MACRO && oxi_jinja_is_text(name, "name"))
        return oxi_jinja_text(v.as.macro->name.data, (size_t)v.as.macro->name.length);
    if (v.type == OXI_JINJA_NAMESPACE) {
        found = oxi_jinja_dict_find(j, v.as.dict, name);
        return found ? *found : none;
    }
    const oxi_jinja_value method = oxi_jinja_method_value(j, v, name);
    if (method.type == OXI_JINJA_UNDEFINED && (v.type == OXI_JINJA_CYCLER || v.type == OXI_JINJA_JOINER))
        return oxi_jinja_part(v, name);
    if (v.type == OXI_JINJA_DICT && method.type == OXI_JINJA_UNDEFINED)
        found = oxi_jinja_dict_find(j, v.as.dict, name);
    return found ? *found : method;
}

/* A character of a string or an element of a list; undefined beyond its ends. */
static oxi_jinja_value oxi_jinja_element(oxi_jinja *j, oxi_jinja_value v, int64_t index) {
    const int64_t length = oxi_jinja_length(j, v);
    if (index < 0) index += length;
    if (index < 0 || index >= length) return oxi_jinja_undefined("an element beyond the end", 25);
    if (v.type != OXI_JINJA_STRING) return v.as.list->items[index];
    const size_t start = oxi_jinja_byte_of(v.as.text, v.length, (size_t)index);
    size_t end = start;
    (void)oxi_utf8_code(v.as.text, v.length, &end);
    return oxi_jinja_safe_as(oxi_jinja_text(v.as.text + start, end - start), v);
}

static bool oxi_jinja_has_elements(oxi_jinja_value v) {
    return v.type == OXI_JINJA_STRING || v.type == OXI_JINJA_LIST || v.type == OXI_JINJA_TUPLE ||
           v.type == OXI_JINJA_RANGE;
}

static oxi_jinja_value oxi_jinja_item(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value key) {
    if (v.type == OXI_JINJA_UNDEFINED) return oxi_jinja_of_undefined(j, v, key);
    if (oxi_jinja_has_elements(v) && (key.type == OXI_JINJA_INT || key.type == OXI_JINJA_BOOL))
        return oxi_jinja_element(j, v, key.as.i);
    if (v.type == OXI_JINJA_DICT) {
        const bool hashable = key.type != OXI_JINJA_LIST && key.type != OXI_JINJA_DICT;
        const oxi_jinja_value *found = hashable ? oxi_jinja_dict_find(j, v.as.dict, key) : NULL;
        if (found) return *found;
    }
    if (key.type == OXI_JINJA_STRING) return oxi_jinja_attribute(j, v, key);
    return oxi_jinja_undefined("an element", 10);
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/* A bound as Python takes it: from the end if negative, then within [low, high]. */
static int64_t oxi_jinja_bound_of(oxi_jinja *j, oxi_jinja_value v, int64_t length, int64_t low, int64_t high,
                                  int64_t otherwise) {
    if (v.type == OXI_JINJA_MISSING || v.type == OXI_JINJA_NONE) return otherwise;
    if (v.type != OXI_JINJA_INT && v.type != OXI_JINJA_BOOL) {
        (void)oxi_jinja_fail(j, "a slice's bound is %s", oxi_jinja_type_name(v));
        return otherwise;
    }
    int64_t at = v.as.i < 0 ? v.as.i + length : v.as.i;
    if (at < low) at = low;
    return at > high ? high : at;
}

static oxi_jinja_value oxi_jinja_slice_text(oxi_jinja *j, oxi_jinja_value v, int64_t start, int64_t stop,
                                            int64_t step) {
    if (step == 1) {
        if (stop <= start) return oxi_jinja_text("", 0);
        const size_t from = oxi_jinja_byte_of(v.as.text, v.length, (size_t)start);
        const size_t to = from + oxi_jinja_byte_of(v.as.text + from, v.length - from, (size_t)(stop - start));
        return oxi_jinja_text(v.as.text + from, to - from);
    }
    const oxi_jinja_list *characters = oxi_jinja_characters_of(j, v);
    const size_t capture = j->out_length;
    for (int64_t at = start; characters && (step > 0 ? at < stop : at > stop); at += step)
        oxi_jinja_write(j, characters->items[at].as.text, characters->items[at].length);
    return oxi_jinja_take(j, capture);
}

static oxi_jinja_value oxi_jinja_slice(oxi_jinja *j, oxi_jinja_value v, const oxi_jinja_value bounds[3]) {
    int64_t step = 1;
    if (v.type == OXI_JINJA_UNDEFINED) return oxi_jinja_of_undefined(j, v, oxi_jinja_none());
    if (!oxi_jinja_has_elements(v)) return oxi_jinja_fail(j, "a slice of %s", oxi_jinja_type_name(v));
    const int64_t length = oxi_jinja_length(j, v);
    if (bounds[2].type == OXI_JINJA_INT || bounds[2].type == OXI_JINJA_BOOL)
        step = bounds[2].as.i;
    else if (bounds[2].type != OXI_JINJA_MISSING && bounds[2].type != OXI_JINJA_NONE)
        step = 0;
    if (step == 0) return oxi_jinja_fail(j, "a slice's step is 0 or no integer");
    if (step > length) step = length + 1;
    if (step < -length) step = -length - 1;
    const bool up = step > 0;
    const int64_t low = up ? 0 : -1, high = up ? length : length - 1;
    const int64_t start = oxi_jinja_bound_of(j, bounds[0], length, low, high, up ? 0 : length - 1);
    const int64_t stop = oxi_jinja_bound_of(j, bounds[1], length, low, high, up ? length : -1);
    if (j->status) return v;
    if (v.type == OXI_JINJA_STRING)
        return oxi_jinja_safe_as(oxi_jinja_slice_text(j, v, start, stop, step), v);
    oxi_jinja_value list = oxi_jinja_list_new(j, (oxi_jinja_type)v.type, 0);
    for (int64_t at = start; !j->status && (up ? at < stop : at > stop); at += step)
        oxi_jinja_push(j, list.as.list, v.as.list->items[at]);
    if (v.type == OXI_JINJA_RANGE && !j->status) {
        list.as.list->start = v.as.list->start + start * v.as.list->stride;
        list.as.list->stop = v.as.list->start + stop * v.as.list->stride;
        list.as.list->stride = step * v.as.list->stride;
    }
    return list;
}
