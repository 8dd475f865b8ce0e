/* Opening and rendering templates: the public functions, and values from JSON.
 * A template is read-only once it is open; each render has a state of its own.
 * Called by users. */

static uint32_t oxi_jinja_known_symbol(const ox_llm_template *t, oxi_jinja *j, const char *name) {
    const oxi_jinja_value *found = oxi_jinja_dict_find(j, &t->symbols, oxi_jinja_word(name));
    return found ? (uint32_t)found->as.i : UINT32_MAX;
}

/* The source with "\n" for each end of a line, and without the last one, as Jinja has it. */
static const char *oxi_jinja_copy_source(oxi_jinja *j, const char *text, size_t *length) {
    char *copy = (char *)oxi_jinja_alloc(j, *length);
    size_t count = 0;
    for (size_t i = 0; copy && i < *length; i++) {
        if (text[i] == '\r') {
            copy[count++] = '\n';
            if (i + 1 < *length && text[i + 1] == '\n') i++;
        } else
            copy[count++] = text[i];
    }
    if (count && copy[count - 1] == '\n') count--;
    *length = count;
    return copy;
}

static void oxi_jinja_open_source(oxi_jinja *j, ox_llm_template *t, const char *text, size_t length) {
    oxi_jinja_parser p;
    memset(&p, 0, sizeof p);
    p.j = j;
    p.symbols = &t->symbols;
    p.sections = &t->sections;
    p.line = p.column = 1;
    p.line_starts = true;
    p.source = oxi_jinja_copy_source(j, text, &length);
    p.length = length;
    if (j->status) return;
    t->body = oxi_jinja_parse_template(&p);
    t->loop_symbol = oxi_jinja_symbol(&p, oxi_jinja_word("loop"));
    t->caller_symbol = oxi_jinja_known_symbol(t, j, "caller");
    t->varargs_symbol = oxi_jinja_known_symbol(t, j, "varargs");
    t->kwargs_symbol = oxi_jinja_known_symbol(t, j, "kwargs");
}

OX_API ox_llm_template *ox_llm_template_open(const char *text, int64_t length) {
    oxi_jinja j;
    if (!text) {
        (void)oxi_fail_missing("template: the text");
        return NULL;
    }
    const size_t bytes = length < 0 ? strlen(text) : (size_t)length;
    if (bytes > OXI_JINJA_MOST_SOURCE || !oxi_utf8_is_valid(text, bytes)) {
        (void)oxi_fail(OX_ERR_FORMAT, bytes > OXI_JINJA_MOST_SOURCE ? "template: more than 4 MiB"
                                                                    : "template: the source is not UTF-8");
        return NULL;
    }
    ox_llm_template *t = (ox_llm_template *)oxi_calloc(1, sizeof *t);
    if (!t) return NULL;
    memset(&j, 0, sizeof j);
    t->key[0] = j.key[0] = oxi_unpredictable();
    t->key[1] = j.key[1] = oxi_unpredictable();
    j.most_memory = OXI_JINJA_MEMORY * 4; /* a node takes about a hundred times the bytes of its source */
    j.steps = INT64_MAX;
    j.line = j.column = 1;
    oxi_jinja_open_source(&j, t, text, bytes);
    oxi_free(j.out, j.out_room);
    t->blocks = j.blocks;
    if (!j.status) return t;
    ox_llm_template_close(t);
    return NULL;
}

OX_API void ox_llm_template_close(ox_llm_template *t) {
    if (!t) return;
    oxi_jinja_free_blocks(t->blocks);
    oxi_free(t, sizeof *t);
}

/* ---- values from JSON ---------------------------------------------------------------------------------- */

static oxi_jinja_value oxi_jinja_from_json(oxi_jinja *j, const oxi_json *json, uint32_t index);

static oxi_jinja_value oxi_jinja_from_members(oxi_jinja *j, const oxi_json *json, uint32_t index) {
    const bool is_dict = json->nodes[index].type == OXI_JSON_OBJECT;
    oxi_jinja_value v = is_dict ? oxi_jinja_dict_new(j) : oxi_jinja_list_new(j, OXI_JINJA_LIST, 0);
    for (uint32_t i = index + 1; i < json->nodes[index].next && !j->status; i = json->nodes[i].next) {
        if (!is_dict) {
            oxi_jinja_push(j, v.as.list, oxi_jinja_from_json(j, json, i));
            continue;
        }
        const oxi_jinja_value key = oxi_jinja_text(json->nodes[i].value.text, json->nodes[i].length);
        oxi_jinja_dict_set(j, v.as.dict, key, oxi_jinja_from_json(j, json, i + 1));
    }
    return v;
}

/* A number that JSON's reader took for a float: an integer of more than 64 bits has no point or exponent. */
static oxi_jinja_value oxi_jinja_from_float(oxi_jinja *j, const oxi_json_node *node) {
    const char *text = j->json + node->at;
    size_t length = 0;
    while (oxi_is_digit(text[length]) || text[length] == '-') length++;
    if (text[length] && strchr(".eE", text[length])) return oxi_jinja_float(node->value.f);
    return oxi_jinja_fail(j, "the values have an integer beyond 64 bits: %.*s",
                          (int)(length < 60 ? length : 60), text);
}

/* Texts stay in the document. */
static oxi_jinja_value oxi_jinja_from_json(oxi_jinja *j, const oxi_json *json, uint32_t index) {
    const oxi_json_node *node = &json->nodes[index];
    switch (node->type) {
    case OXI_JSON_NULL: return oxi_jinja_none();
    case OXI_JSON_BOOL: return oxi_jinja_bool(node->value.i != 0);
    case OXI_JSON_INT: return oxi_jinja_int(node->value.i);
    case OXI_JSON_FLOAT: return oxi_jinja_from_float(j, node);
    case OXI_JSON_STRING: return oxi_jinja_text(node->value.text, node->length);
    default: return oxi_jinja_from_members(j, json, index);
    }
}

/* Variables that the template names. */
static void oxi_jinja_set_globals(oxi_jinja *j, const oxi_json *json) {
    j->globals = j->scope = oxi_jinja_scope_new(j, NULL);
    for (uint32_t i = 1; i < json->nodes[0].next && !j->status; i = json->nodes[i].next) {
        const oxi_jinja_value name = oxi_jinja_text(json->nodes[i].value.text, json->nodes[i].length);
        const oxi_jinja_value *symbol = oxi_jinja_dict_find(j, j->symbols, name);
        if (symbol)
            oxi_jinja_set_variable(j, j->scope, (uint32_t)symbol->as.i, oxi_jinja_from_json(j, json, i + 1));
    }
}

/* ---- rendering ----------------------------------------------------------------------------------------- */

static void oxi_jinja_start(oxi_jinja *j, const ox_llm_template *t, const ox_llm_template_desc *desc) {
    memset(j, 0, sizeof *j);
    j->key[0] = t->key[0];
    j->key[1] = t->key[1];
    j->symbols = &t->symbols;
    j->sections = &t->sections;
    j->seed = desc ? desc->seed : 0;
    j->loop_symbol = t->loop_symbol;
    j->caller_symbol = t->caller_symbol;
    j->varargs_symbol = t->varargs_symbol;
    j->kwargs_symbol = t->kwargs_symbol;
    j->line = j->column = 1;
    j->most_memory = desc && desc->memory ? desc->memory : OXI_JINJA_MEMORY;
    j->steps = desc && desc->steps > 0 ? desc->steps : OXI_JINJA_STEPS;
    j->now = desc && desc->now ? desc->now : (int64_t)time(NULL);
    if (j->now > 100000000000000 || j->now < -100000000000000) j->now = 0;
}

/* The text lies behind its size, so that ox_llm_template_free knows it. */
static char *oxi_jinja_finish(oxi_jinja *j, int64_t *length) {
    char *block = NULL;
    if (!j->status) {
        const size_t bytes = OXI_ALIGN + j->out_length + 1;
        block = (char *)oxi_alloc(bytes);
        if (block) {
            memcpy(block, &bytes, sizeof bytes);
            if (j->out_length) memcpy(block + OXI_ALIGN, j->out, j->out_length);
            block[bytes - 1] = 0;
            if (length) *length = (int64_t)j->out_length;
        }
    }
    oxi_free(j->out, j->out_room);
    oxi_jinja_free_blocks(j->blocks);
    if (j->unicode) {
        oxi_unicode_close(j->unicode);
        oxi_free(j->unicode, sizeof *j->unicode);
    }
    return block ? block + OXI_ALIGN : NULL;
}

OX_API char *ox_llm_template_render(const ox_llm_template *t, const char *json, int64_t bytes,
                                    const ox_llm_template_desc *desc, int64_t *length) {
    oxi_json document;
    oxi_jinja j;
    if (length) *length = 0;
    if (!t || !json) {
        (void)oxi_fail_missing(t ? "template: the values" : "template: the template");
        return NULL;
    }
    if (oxi_json_parse("template", json, bytes < 0 ? strlen(json) : (size_t)bytes, &document)) return NULL;
    oxi_jinja_start(&j, t, desc);
    j.json = json;
    if (document.nodes[0].type != OXI_JSON_OBJECT)
        j.status = oxi_fail(OX_ERR_FORMAT, "template: the values are no JSON object");
    if (!j.status) oxi_jinja_set_globals(&j, &document);
    if (!j.status) (void)oxi_jinja_exec(&j, t->body);
    char *text = oxi_jinja_finish(&j, length);
    oxi_json_free(&document);
    return text;
}

OX_API void ox_llm_template_free(char *text) {
    size_t bytes;
    if (!text) return;
    memcpy(&bytes, text - OXI_ALIGN, sizeof bytes);
    oxi_free(text - OXI_ALIGN, bytes);
}
