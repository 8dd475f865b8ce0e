/* config.json: values by name, and the expressions of keys.def over them.
 * Names are looked for where the versions of transformers have put them: text_config, rope_parameters by kind
 * of layer or for all, rope_scaling. Called by facts.c, rope.c and folder.c. */

enum { OXI_LLM_SIZE_DEPTH = 4 }; /* of sizes that name sizes */

static bool oxi_llm_share_word(const char *a, const char *b) {
    while (*a) {
        const size_t length = strcspn(a, " ");
        for (const char *p = b; *p && length;) {
            const size_t other = strcspn(p, " ");
            if (other == length && memcmp(a, p, length) == 0) return true;
            p += other + strspn(p + other, " ");
        }
        a += length + strspn(a + length, " ");
    }
    return false;
}

/* Whether one of the words is the model's type, without what is said behind a slash. */
static bool oxi_llm_is_of_type(const oxi_llm_config *c, const char *words) {
    const char *name = c->folder->model->name;
    char type[48];
    (void)snprintf(type, sizeof type, "%.*s", (int)strcspn(name, "/"), name);
    return oxi_llm_share_word(words, type);
}

/* Whether rows of `who` hold for the model. */
static bool oxi_llm_row_holds(const oxi_llm_config *c, const char *who) {
    const oxi_llm_model_type *model = c->folder->model;
    return strcmp(who, "*") == 0 || oxi_llm_share_word(who, model->architecture) ||
           oxi_llm_share_word(who, model->name) || oxi_llm_is_of_type(c, who);
}

/* ---- values -------------------------------------------------------------------------------------------- */

/* The element `index` of a list; 0 = it has none. */
static uint32_t oxi_llm_config_element(const oxi_json *json, uint32_t list, const char *index) {
    const oxi_json_node *node = &json->nodes[list];
    const long at = strlen(index) < 6 ? strtol(index, NULL, 10) : -1;
    if (node->type != OXI_JSON_ARRAY || at < 0 || at >= node->length) return 0;
    uint32_t element = list + 1;
    for (long i = 0; i < at; i++) element = json->nodes[element].next;
    return element;
}

/* "a.b.c" inside an object; 0 = missing or null. */
static uint32_t oxi_llm_config_member(const oxi_json *json, uint32_t object, const char *path,
                                      size_t length) {
    const char *end = path + length;
    while (path < end && json->count > 0) {
        const char *dot = (const char *)memchr(path, '.', (size_t)(end - path)), *stop = dot ? dot : end;
        char name[64];
        if ((size_t)(stop - path) >= sizeof name) return 0;
        memcpy(name, path, (size_t)(stop - path));
        name[stop - path] = 0;
        object = oxi_is_digit(*name) ? oxi_llm_config_element(json, object, name)
                                     : oxi_json_find(json, object, name);
        if (object == 0 || json->nodes[object].type == OXI_JSON_NULL) return 0;
        path = dot ? dot + 1 : end;
    }
    return object;
}

static bool oxi_llm_starts(const char *text, size_t length, const char *start) {
    return length > strlen(start) && memcmp(text, start, strlen(start)) == 0;
}

static uint32_t oxi_llm_config_rope(const oxi_json *json, uint32_t object, const char *name, size_t length) {
    static const char *const places[] = {"rope_parameters.full_attention.", "rope_parameters.compress.",
                                         "rope_parameters.", "rope_scaling.full_attention.",
                                         "rope_scaling.", ""};
    char path[128];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const int used = snprintf(path, sizeof path, "%s%.*s", places[i], (int)length, name);
        const uint32_t found = oxi_llm_config_member(json, object, path, (size_t)used);
        if (found) return found;
    }
    return 0;
}

static bool oxi_llm_config_is_null(const oxi_llm_config *c, const char *name, size_t length) {
    char key[64];
    if (length >= sizeof key || c->config.count == 0) return false;
    memcpy(key, name, length);
    key[length] = 0;
    const char *dot = strrchr(key, '.');
    uint32_t at = c->inner ? oxi_json_find(&c->config, c->inner, key) : 0;
    if (!at && dot) { /* in an object */
        const uint32_t object = oxi_llm_config_member(&c->config, 0, key, (size_t)(dot - key));
        at = object ? oxi_json_find(&c->config, object, dot + 1) : 0;
    }
    if (!at) at = oxi_json_find(&c->config, 0, key);
    return at && c->config.nodes[at].type == OXI_JSON_NULL;
}

/* The same in the inner object, or else in the whole. */
static uint32_t oxi_llm_config_either(const oxi_llm_config *c, const char *path, size_t length) {
    const uint32_t found = c->inner ? oxi_llm_config_member(&c->config, c->inner, path, length) : 0;
    return found ? found : oxi_llm_config_member(&c->config, 0, path, length);
}

/* Whether anything is said of the rope. */
static bool oxi_llm_says_rope(const oxi_llm_config *c) {
    static const char *const names[] = {"rope_parameters", "rope_scaling", "rope_theta"};
    bool said = false;
    for (int i = 0; i < 3; i++) said = said || oxi_llm_config_either(c, names[i], strlen(names[i]));
    return said;
}

/* A member that transformers' class has; null in config.json is no reason to look for one. */
static uint32_t oxi_llm_default_member(const oxi_llm_config *c, const char *name, size_t length) {
    const bool turned = oxi_llm_starts(name, length, "rope."),
               rope = turned || oxi_llm_starts(name, length, "rope_parameters.");
    if (c->defaults.count == 0 || (rope ? oxi_llm_says_rope(c) : !c->defaulted)) return 0;
    if (turned) return oxi_llm_config_rope(&c->defaults, 0, name + 5, length - 5);
    if (!rope && oxi_llm_config_is_null(c, name, length)) return 0;
    return oxi_llm_config_member(&c->defaults, 0, name, length);
}

static const oxi_json_node *oxi_llm_config_node(const oxi_llm_config *c, const char *name, size_t length) {
    const oxi_json *json = &c->config;
    uint32_t found = 0;
    if (length > 60) return NULL;
    if (oxi_llm_starts(name, length, "generation.")) {
        json = &c->generation;
        found = oxi_llm_config_member(json, 0, name + 11, length - 11);
    } else if (oxi_llm_starts(name, length, "rope.")) {
        if (c->inner) found = oxi_llm_config_rope(json, c->inner, name + 5, length - 5);
        if (!found) found = oxi_llm_config_rope(json, 0, name + 5, length - 5);
    } else
        found = oxi_llm_config_either(c, name, length);
    if (found) return &json->nodes[found];
    found = oxi_llm_config_is_null(c, name, length) ? 0 : oxi_llm_config_member(&c->sizes, 0, name, length);
    if (found) return &c->sizes.nodes[found];
    found = oxi_llm_default_member(c, name, length);
    return found ? &c->defaults.nodes[found] : NULL;
}

static oxi_llm_config oxi_llm_with_defaults(const oxi_llm_config *c) {
    oxi_llm_config with = *c;
    with.defaulted = true;
    return with;
}

typedef struct oxi_llm_default_row {
    const char *who, *members;
} oxi_llm_default_row;
#define OXI_X(who, members) {who, members},
static const oxi_llm_default_row oxi_llm_size_defaults[] = {OXI_LLM_SOURCE_CLASS_LIST(OXI_X)};
static const oxi_llm_default_row oxi_llm_other_defaults[] = {OXI_LLM_SOURCE_DEFAULT_LIST(OXI_X)};
#undef OXI_X

static ox_status oxi_llm_read_defaults(const oxi_llm_config *c, const oxi_llm_default_row *rows, size_t count,
                                       oxi_json *out) {
    char text[1024];
    size_t used = 1;
    text[0] = '{';
    for (size_t i = 0; i < count; i++)
        if (oxi_llm_is_of_type(c, rows[i].who) && used + strlen(rows[i].members) + 3 < sizeof text)
            used += (size_t)sprintf(text + used, "%s%s", used > 1 ? "," : "", rows[i].members);
    text[used] = '}';
    return oxi_json_parse("defaults", text, used + 1, out);
}

static ox_status oxi_llm_add_defaults(oxi_llm_config *c) {
    const size_t row = sizeof(oxi_llm_default_row);
    const ox_status status =
        oxi_llm_read_defaults(c, oxi_llm_size_defaults, sizeof oxi_llm_size_defaults / row, &c->sizes);
    if (status) return status;
    return oxi_llm_read_defaults(c, oxi_llm_other_defaults, sizeof oxi_llm_other_defaults / row,
                                 &c->defaults);
}

static const char *oxi_llm_config_text(const oxi_llm_config *c, const char *name) {
    const oxi_json_node *node = oxi_llm_config_node(c, name, strlen(name));
    return node && node->type == OXI_JSON_STRING ? node->value.text : NULL;
}

/* ---- expressions --------------------------------------------------------------------------------------- */

typedef struct oxi_llm_size_row {
    const char *who, *name, *expression;
} oxi_llm_size_row;
#define OXI_X(who, name, expression) {who, name, expression},
static const oxi_llm_size_row oxi_llm_size_rows[] = {OXI_LLM_SOURCE_SIZE_LIST(OXI_X)};
#undef OXI_X

static bool oxi_llm_eval(const oxi_llm_config *c, const char *expression, int depth, double *out,
                         ox_status *status);

/* The rows of a stored tensor; false: there is none of that name, nor of what is behind its first dot, as a
 * model without a head is saved. */
static bool oxi_llm_stored_rows(const oxi_llm_config *c, const char *p, size_t length, double *out) {
    char name[128];
    ox_file_entry entry;
    if (length >= sizeof name || !c->folder->weights) return false;
    memcpy(name, p, length);
    name[length] = 0;
    const char *dot = strchr(name, '.');
    int64_t at = oxi_file_find(c->folder->weights, name);
    if (at < 0 && dot) at = oxi_file_find(c->folder->weights, dot + 1);
    if (at < 0 || ox_file_get_entry(c->folder->weights, at, &entry) != OX_OK || entry.ndim < 1) return false;
    *out = (double)entry.shape[0];
    return true;
}

/* "name:text": how many elements at the start of a list are that text; false: there is no such list. */
static bool oxi_llm_leading_texts(const oxi_llm_config *c, const char *p, size_t length, double *out) {
    const char *colon = (const char *)memchr(p, ':', length);
    const oxi_json_node *list = colon ? oxi_llm_config_node(c, p, (size_t)(colon - p)) : NULL;
    const size_t rest = colon ? length - (size_t)(colon - p) - 1 : 0;
    int64_t count = 0;
    if (!list || list->type != OXI_JSON_ARRAY) return false;
    for (; count < list->length; count++) {
        const oxi_json_node *text = list + 1 + count;
        if (text->type != OXI_JSON_STRING || text->length != rest) break;
        if (memcmp(text->value.text, colon + 1, rest) != 0) break;
    }
    *out = (double)count;
    return true;
}

/* The length of a list or a text. */
static bool oxi_llm_length_of(const oxi_llm_config *c, const char *p, size_t length, double *out) {
    const oxi_json_node *node = oxi_llm_config_node(c, p, length);
    if (!node || (node->type != OXI_JSON_ARRAY && node->type != OXI_JSON_STRING)) return false;
    *out = (double)node->length;
    return true;
}

/* A number, "$size", "#tensor", "?name:text", "%name:text", "@name", "^name" or a name. */
static bool oxi_llm_eval_operand(const oxi_llm_config *c, const char *p, size_t length, int depth,
                                 double *out, ox_status *status) {
    if (length > 0 && (oxi_is_digit(*p) || *p == '.')) {
        *out = oxi_json_double(p, p + length, 0);
        return true;
    }
    if (length > 0 && *p == '?') {
        const char *colon = (const char *)memchr(p, ':', length);
        if (!colon) return false;
        const oxi_json_node *text = oxi_llm_config_node(c, p + 1, (size_t)(colon - p - 1));
        const size_t rest = length - (size_t)(colon - p) - 1;
        *out = text && text->type == OXI_JSON_STRING && text->length == rest &&
               memcmp(text->value.text, colon + 1, rest) == 0;
        return true;
    }
    if (length > 0 && *p == '%') return oxi_llm_leading_texts(c, p + 1, length - 1, out);
    if (length > 0 && *p == '@') return oxi_llm_length_of(c, p + 1, length - 1, out);
    if (length > 0 && *p == '^') { /* what is given as none is not what is usual */
        *out = 0;
        return oxi_llm_config_is_null(c, p + 1, length - 1);
    }
    if (length > 0 && *p == '#') return oxi_llm_stored_rows(c, p + 1, length - 1, out);
    if (length == 9 && memcmp(p, "$kv_heads", 9) == 0 && c->folder->kv_heads > 0) { /* worked out already */
        *out = (double)c->folder->kv_heads;
        return true;
    }
    if (length > 0 && *p == '$') {
        for (size_t i = 0; i < sizeof oxi_llm_size_rows / sizeof *oxi_llm_size_rows; i++) {
            const oxi_llm_size_row *row = &oxi_llm_size_rows[i];
            if (strlen(row->name) != length - 1 || memcmp(row->name, p + 1, length - 1)) continue;
            if (!oxi_llm_row_holds(c, row->who)) continue;
            return depth > 0 && oxi_llm_eval(c, row->expression, depth - 1, out, status);
        }
        return false;
    }
    const oxi_json_node *node = oxi_llm_config_node(c, p, length);
    if (!node) return false;
    if (node->type == OXI_JSON_FLOAT)
        *out = node->value.f;
    else if (node->type == OXI_JSON_INT || node->type == OXI_JSON_BOOL)
        *out = (double)node->value.i;
    else if (*status == OX_OK) /* the first one stands */
        *status = oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: %s is no number",
                                oxi_quote(p, length).text);
    return *status == OX_OK;
}

/* One alternative, [p, end). */
static bool oxi_llm_eval_one(const oxi_llm_config *c, const char *p, const char *end, int depth, double *out,
                             ox_status *status) {
    char operation = '+';
    double total = 0;
    while (p < end) {
        const bool rough = *p == '=', root = p[rough] == '~';
        p += rough + root;
        const char *stop = p;
        while (stop < end && !strchr("+-*/", *stop)) stop++;
        double value = 0;
        if (!oxi_llm_eval_operand(c, p, (size_t)(stop - p), depth, &value, status)) return false;
        if (root) value = sqrt(value);
        if (rough) value = (double)oxi_bf16_to_f32(oxi_f32_to_bf16((float)value));
        total = operation == '+'   ? total + value
                : operation == '-' ? total - value
                : operation == '*' ? total * value
                                   : total / value;
        operation = stop < end ? *stop : 0;
        p = stop < end ? stop + 1 : end;
    }
    *out = total;
    return true;
}

/* Whether an alternative is a name and no more. */
static bool oxi_llm_is_name(const char *p, size_t length) {
    return length > 0 && !oxi_is_digit(*p) && !strchr(".?%@^#$=~", *p) && strcspn(p, "+-*/") >= length;
}

static bool oxi_llm_eval(const oxi_llm_config *c, const char *expression, int depth, double *out,
                         ox_status *status) {
    oxi_llm_config told = *c; /* what a file says under another name is before what the class has */
    told.sizes.count = told.defaults.count = 0;
    for (const char *p = expression; *status == OX_OK;) {
        const size_t length = strcspn(p, "|");
        if (!oxi_llm_is_name(p, length)) break;
        if (oxi_llm_eval_one(&told, p, p + length, depth, out, status)) return true;
        if (!p[length]) break;
        p += length + 1;
    }
    while (*expression && *status == OX_OK) {
        const size_t length = strcspn(expression, "|");
        if (oxi_llm_eval_one(c, expression, expression + length, depth, out, status)) return true;
        expression += length + (expression[length] == '|');
    }
    return false;
}

static bool oxi_llm_config_number(const oxi_llm_config *c, const char *expression, double *out,
                                  ox_status *status) {
    const oxi_llm_config with = oxi_llm_with_defaults(c);
    *status = OX_OK;
    if (!oxi_llm_eval(c, expression, OXI_LLM_SIZE_DEPTH, out, status) &&
        (*status != OX_OK || !oxi_llm_eval(&with, expression, OXI_LLM_SIZE_DEPTH, out, status)))
        return false;
    if (isfinite(*out)) return true;
    *status =
        oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: %s is no finite number", expression);
    return false;
}

static ox_status oxi_llm_config_int(const oxi_llm_config *c, const char *expression, int64_t low,
                                    int64_t high, int64_t otherwise, int64_t *out) {
    double value = 0;
    ox_status status;
    *out = otherwise;
    if (!oxi_llm_config_number(c, expression, &value, &status)) {
        if (status != OX_OK || otherwise >= low) return status;
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "config.json: %s is missing", expression);
    }
    if (!(value >= (double)low && value < (double)high + 1)) /* half a head is none */
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                             "config.json: %s is %.17g, allowed are %lld to %lld", expression, value,
                             (long long)low, (long long)high);
    *out = (int64_t)value;
    return OX_OK;
}
