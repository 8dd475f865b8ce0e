/* Calls of built-in functions: arguments are put in the order of the function's signature first.
 * The functions themselves are rows of tables in filters.c, tests.c, methods.c and globals.c.
 * Called by run.c, and by filters that take the name of another (map, select). */

static const oxi_jinja_function *oxi_jinja_find_row(const oxi_jinja_function *rows, size_t count,
                                                    oxi_jinja_value name) {
    for (size_t i = 0; i < count; i++)
        if (oxi_jinja_is_text(name, rows[i].name)) return &rows[i];
    return NULL;
}

/* The next word of a signature at *at; false at its end. */
static bool oxi_jinja_parameter(const char *signature, size_t *at, ox_string *word) {
    while (signature[*at] == ' ') ++*at;
    word->data = signature + *at;
    const size_t start = *at;
    while (signature[*at] && signature[*at] != ' ') ++*at;
    word->length = (int64_t)(*at - start);
    return word->length > 0;
}

static bool oxi_jinja_is_named(oxi_jinja_value name, ox_string word) {
    size_t length = (size_t)word.length;
    if (word.data[length - 1] == '?') length--;
    return name.length == length && memcmp(name.as.text, word.data, length) == 0;
}

/* What is left by position as a tuple. */
static oxi_jinja_value oxi_jinja_rest(oxi_jinja *j, const oxi_jinja_arguments *arguments, size_t from) {
    oxi_jinja_value rest = oxi_jinja_list_new(j, OXI_JINJA_TUPLE, 0);
    for (; from < arguments->positional && !j->status; from++)
        oxi_jinja_push(j, rest.as.list, arguments->items[from]);
    return rest;
}

static oxi_jinja_value oxi_jinja_all_keywords(oxi_jinja *j, const oxi_jinja_arguments *arguments) {
    oxi_jinja_value all = oxi_jinja_dict_new(j);
    for (size_t i = 0; i < arguments->keywords && !j->status; i++)
        oxi_jinja_dict_set(j, all.as.dict, arguments->names[i], arguments->items[arguments->positional + i]);
    return all;
}

/* Fills a[1..]; a[0] is the callee's own. */
static void oxi_jinja_bind(oxi_jinja *j, const oxi_jinja_function *function,
                           const oxi_jinja_arguments *arguments, oxi_jinja_value *a) {
    size_t at = 0, position = 0, used = 0, parameter = 1;
    bool rest = false, keywords = false;
    ox_string word;
    while (oxi_jinja_parameter(function->signature, &at, &word)) {
        oxi_jinja_value *out = &a[parameter++];
        if (word.data[0] == '*') {
            keywords = word.length == 2;
            rest = rest || !keywords;
            *out = keywords ? oxi_jinja_all_keywords(j, arguments) : oxi_jinja_rest(j, arguments, position);
            continue;
        }
        out->type = OXI_JINJA_MISSING;
        if (position < arguments->positional) *out = arguments->items[position++];
        for (size_t i = 0; i < arguments->keywords; i++) {
            if (!oxi_jinja_is_named(arguments->names[i], word)) continue;
            if (out->type != OXI_JINJA_MISSING)
                (void)oxi_jinja_fail(j, "%s has its argument %.*s twice", function->name, (int)word.length,
                                     word.data);
            *out = arguments->items[arguments->positional + i];
            used++;
        }
        if (out->type == OXI_JINJA_MISSING && word.data[word.length - 1] != '?')
            (void)oxi_jinja_fail(j, "%s wants an argument %.*s", function->name, (int)word.length, word.data);
    }
    if (!rest && position < arguments->positional)
        (void)oxi_jinja_fail(j, "%s has too many arguments", function->name);
    if (!keywords && used < arguments->keywords)
        (void)oxi_jinja_fail(j, "%s has an argument by a keyword that it does not know", function->name);
}

static oxi_jinja_value oxi_jinja_apply(oxi_jinja *j, const oxi_jinja_function *function,
                                       const oxi_jinja_value *self, const oxi_jinja_arguments *arguments) {
    oxi_jinja_value a[OXI_JINJA_MOST_PARAMETERS];
    memset(a, 0, sizeof a);
    if (self) a[0] = *self;
    oxi_jinja_bind(j, function, arguments, a);
    return j->status ? oxi_jinja_none() : function->call(j, a);
}

/* ---- arguments as C takes them ------------------------------------------------------------------------- */

static int64_t oxi_jinja_int_argument(oxi_jinja *j, oxi_jinja_value v, int64_t otherwise) {
    if (v.type == OXI_JINJA_MISSING) return otherwise;
    if (v.type == OXI_JINJA_INT || v.type == OXI_JINJA_BOOL) return v.as.i;
    (void)oxi_jinja_fail(j, "expected an integer, not %s", oxi_jinja_type_name(v));
    return otherwise;
}

/* A string; fails for anything else. */
static bool oxi_jinja_text_argument(oxi_jinja *j, oxi_jinja_value v) {
    if (v.type == OXI_JINJA_STRING) return true;
    (void)oxi_jinja_fail(j, "expected a string, not %s", oxi_jinja_type_name(v));
    return false;
}
