/* What follows `is`, and the table of all tests.
 * Called through oxi_jinja_apply. */

/* Tests of the type alone: one bit for each. */
#define OXI_JINJA_TYPE_TEST(name, types)                                           \
    static oxi_jinja_value oxi_jinja_is_##name(oxi_jinja *j, oxi_jinja_value *a) { \
        (void)j;                                                                   \
        return oxi_jinja_bool(((types) >> a[0].type & 1) != 0);                    \
    }
#define OXI_JINJA_BIT(type) (1u << OXI_JINJA_##type)
#define OXI_JINJA_INDEXED                                                                        \
    (OXI_JINJA_BIT(STRING) | OXI_JINJA_BIT(LIST) | OXI_JINJA_BIT(TUPLE) | OXI_JINJA_BIT(RANGE) | \
     OXI_JINJA_BIT(DICT))

OXI_JINJA_TYPE_TEST(undefined, OXI_JINJA_BIT(UNDEFINED))
OXI_JINJA_TYPE_TEST(defined, ~OXI_JINJA_BIT(UNDEFINED))
OXI_JINJA_TYPE_TEST(none, OXI_JINJA_BIT(NONE))
OXI_JINJA_TYPE_TEST(boolean, OXI_JINJA_BIT(BOOL))
OXI_JINJA_TYPE_TEST(integer, OXI_JINJA_BIT(INT))
OXI_JINJA_TYPE_TEST(float_number, OXI_JINJA_BIT(FLOAT))
OXI_JINJA_TYPE_TEST(any_number, OXI_JINJA_BIT(BOOL) | OXI_JINJA_BIT(INT) | OXI_JINJA_BIT(FLOAT))
OXI_JINJA_TYPE_TEST(string, OXI_JINJA_BIT(STRING))
OXI_JINJA_TYPE_TEST(mapping, OXI_JINJA_BIT(DICT))
OXI_JINJA_TYPE_TEST(any_sequence, OXI_JINJA_INDEXED | OXI_JINJA_BIT(UNDEFINED))
OXI_JINJA_TYPE_TEST(iterable, OXI_JINJA_INDEXED | OXI_JINJA_BIT(UNDEFINED) | OXI_JINJA_BIT(VIEW) |
                                  OXI_JINJA_BIT(GENERATOR) | OXI_JINJA_BIT(LOOP))
OXI_JINJA_TYPE_TEST(callable, OXI_JINJA_BIT(MACRO) | OXI_JINJA_BIT(FUNCTION) | OXI_JINJA_BIT(LOOP) |
                                  OXI_JINJA_BIT(JOINER) | OXI_JINJA_BIT(UNDEFINED))

static oxi_jinja_value oxi_jinja_is_escaped(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    return oxi_jinja_bool(a[0].type == OXI_JINJA_STRING && a[0].safe);
}

static oxi_jinja_value oxi_jinja_is_true(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    return oxi_jinja_bool(a[0].type == OXI_JINJA_BOOL && a[0].as.i);
}

static oxi_jinja_value oxi_jinja_is_false(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    return oxi_jinja_bool(a[0].type == OXI_JINJA_BOOL && !a[0].as.i);
}

/* Comparisons by their names. */
#define OXI_JINJA_COMPARE_TEST(name, operation)                                    \
    static oxi_jinja_value oxi_jinja_is_##name(oxi_jinja *j, oxi_jinja_value *a) { \
        return oxi_jinja_bool(oxi_jinja_compare(j, operation, a[0], a[1]));        \
    }
OXI_JINJA_COMPARE_TEST(eq, OXI_JINJA_EQUAL)
OXI_JINJA_COMPARE_TEST(ne, OXI_JINJA_NOT_EQUAL)
OXI_JINJA_COMPARE_TEST(lt, OXI_JINJA_LESS)
OXI_JINJA_COMPARE_TEST(le, OXI_JINJA_LESS_EQUAL)
OXI_JINJA_COMPARE_TEST(gt, OXI_JINJA_GREATER)
OXI_JINJA_COMPARE_TEST(ge, OXI_JINJA_GREATER_EQUAL)
OXI_JINJA_COMPARE_TEST(in, OXI_JINJA_IN)

/* Python's remainder compared with `wanted`. */
static oxi_jinja_value oxi_jinja_remainder_is(oxi_jinja *j, oxi_jinja_value v, oxi_jinja_value divisor,
                                              int64_t wanted) {
    if (!oxi_jinja_is_number(v)) return oxi_jinja_no_operation(j, "no remainder", v, divisor);
    return oxi_jinja_bool(
        oxi_jinja_equal(j, oxi_jinja_binary(j, OXI_JINJA_MODULO, v, divisor), oxi_jinja_int(wanted)));
}

static oxi_jinja_value oxi_jinja_is_odd(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_remainder_is(j, a[0], oxi_jinja_int(2), 1);
}

static oxi_jinja_value oxi_jinja_is_even(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_remainder_is(j, a[0], oxi_jinja_int(2), 0);
}

static oxi_jinja_value oxi_jinja_is_divisibleby(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_remainder_is(j, a[0], a[1], 0);
}

/* All letters of the text, of which there is one, are in this case. */
static oxi_jinja_value oxi_jinja_all_in_case(oxi_jinja *j, oxi_jinja_value v, uint32_t (*of)(uint32_t)) {
    const oxi_jinja_value text = oxi_jinja_string(j, v);
    bool any = false;
    for (size_t at = 0; at < text.length && oxi_jinja_step(j, 1);) {
        const uint32_t code = oxi_utf8_code(text.as.text, text.length, &at);
        if (of(code) != code) return oxi_jinja_bool(false);
        any = any || oxi_jinja_is_cased(code);
    }
    return oxi_jinja_bool(any);
}

static oxi_jinja_value oxi_jinja_is_lower(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_all_in_case(j, a[0], oxi_jinja_to_lower);
}

static oxi_jinja_value oxi_jinja_is_upper(oxi_jinja *j, oxi_jinja_value *a) {
    return oxi_jinja_all_in_case(j, a[0], oxi_jinja_to_upper);
}

static oxi_jinja_value oxi_jinja_is_sameas(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    const bool same_value = a[0].type == OXI_JINJA_NONE ||
                            (a[0].type == OXI_JINJA_STRING && a[0].length == a[1].length &&
                             a[0].safe == a[1].safe &&
                             (a[0].length == 0 || memcmp(a[0].as.text, a[1].as.text, a[0].length) == 0)) ||
                            (a[0].type != OXI_JINJA_STRING && a[0].as.i == a[1].as.i);
    return oxi_jinja_bool(a[0].type == a[1].type && same_value);
}

static oxi_jinja_value oxi_jinja_is_filter(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    return oxi_jinja_bool(oxi_jinja_find_filter(a[0]) != NULL);
}

static oxi_jinja_value oxi_jinja_is_test(oxi_jinja *j, oxi_jinja_value *a) {
    (void)j;
    return oxi_jinja_bool(oxi_jinja_find_test(a[0]) != NULL);
}

static const oxi_jinja_function oxi_jinja_tests[] = {
    {"boolean", "", oxi_jinja_is_boolean},     {"callable", "", oxi_jinja_is_callable},
    {"defined", "", oxi_jinja_is_defined},     {"divisibleby", "num", oxi_jinja_is_divisibleby},
    {"eq", "other", oxi_jinja_is_eq},          {"equalto", "other", oxi_jinja_is_eq},
    {"==", "other", oxi_jinja_is_eq},          {"escaped", "", oxi_jinja_is_escaped},
    {"even", "", oxi_jinja_is_even},           {"false", "", oxi_jinja_is_false},
    {"filter", "", oxi_jinja_is_filter},       {"float", "", oxi_jinja_is_float_number},
    {"ge", "other", oxi_jinja_is_ge},          {">=", "other", oxi_jinja_is_ge},
    {"greaterthan", "other", oxi_jinja_is_gt}, {"gt", "other", oxi_jinja_is_gt},
    {">", "other", oxi_jinja_is_gt},           {"in", "seq", oxi_jinja_is_in},
    {"integer", "", oxi_jinja_is_integer},     {"iterable", "", oxi_jinja_is_iterable},
    {"le", "other", oxi_jinja_is_le},          {"<=", "other", oxi_jinja_is_le},
    {"lessthan", "other", oxi_jinja_is_lt},    {"lower", "", oxi_jinja_is_lower},
    {"lt", "other", oxi_jinja_is_lt},          {"<", "other", oxi_jinja_is_lt},
    {"mapping", "", oxi_jinja_is_mapping},     {"ne", "other", oxi_jinja_is_ne},
    {"!=", "other", oxi_jinja_is_ne},          {"none", "", oxi_jinja_is_none},
    {"number", "", oxi_jinja_is_any_number},   {"odd", "", oxi_jinja_is_odd},
    {"sameas", "other", oxi_jinja_is_sameas},  {"sequence", "", oxi_jinja_is_any_sequence},
    {"string", "", oxi_jinja_is_string},       {"test", "", oxi_jinja_is_test},
    {"true", "", oxi_jinja_is_true},           {"undefined", "", oxi_jinja_is_undefined},
    {"upper", "", oxi_jinja_is_upper},
};

static const oxi_jinja_function *oxi_jinja_find_test(oxi_jinja_value name) {
    return oxi_jinja_find_row(oxi_jinja_tests, sizeof oxi_jinja_tests / sizeof *oxi_jinja_tests, name);
}
