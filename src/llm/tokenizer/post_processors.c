/* Post-processors: special tokens around one text or two, as a template; places without spaces.
 * source huggingface/tokenizers, processors (0.23) */

static const oxi_step_row oxi_post_rows[] = {
    {"TemplateProcessing", 0, 0, 0, NULL, NULL},
    {"BertProcessing", 0, 0, 0, NULL, NULL},
    {"RobertaProcessing", 0, OXI_ADD_PREFIX_SPACE | OXI_TRIM_OFFSETS, 0, NULL, NULL},
    {"ByteLevel", 0, OXI_ADD_PREFIX_SPACE | OXI_TRIM_OFFSETS, 0, NULL, NULL},
};

static const oxi_step_row *oxi_post_row(const char *name) {
    return oxi_row_named(oxi_post_rows, sizeof oxi_post_rows / sizeof *oxi_post_rows, name);
}

enum { OXI_TEMPLATE_ITEMS = 256 };

/* Adds to a template: an id, or -1 - n for text n. Those of single texts are added first. */
static ox_status oxi_template_push(oxi_pipe_step *step, int32_t id, uint8_t type, bool pair) {
    const size_t count = step->single + step->pair;
    if (count >= OXI_TEMPLATE_ITEMS) return oxi_json_wrong("a template of more than 256 items");
    int32_t *ids = (int32_t *)oxi_realloc(step->ids, count * sizeof *ids, (count + 1) * sizeof *ids);
    if (ids) step->ids = ids;
    uint8_t *types = (uint8_t *)oxi_realloc(step->types, count, count + 1);
    if (types) step->types = types;
    if (!ids || !types) return OX_ERR_NOMEM;
    step->ids[count] = id;
    step->types[count] = type;
    *(pair ? &step->pair : &step->single) += 1;
    return OX_OK;
}

/* The template of the pipeline, NULL = none. */
static const oxi_pipe_step *oxi_template_of(const ox_tokenizer *t) {
    for (size_t i = 0; i < t->post_processors.count; i++)
        if (t->post_processors.list[i].single) return &t->post_processors.list[i];
    return NULL;
}

static uint16_t oxi_count_blanks(const char *text, size_t length, bool at_end) {
    uint16_t count = 0;
    for (size_t at = at_end ? length : 0; count < OXI_MOST_BLANKS && (at_end ? at > 0 : at < length);
         count++) {
        size_t next = at_end ? oxi_step_back(text, at) : at;
        const size_t before = next;
        const uint32_t code = oxi_utf8_code(text, length, &next);
        if (code != oxi_byte_char(' ') && !oxi_is_white_space(code)) break;
        at = at_end ? before : next;
    }
    return count;
}

/* As many characters of the text as the token has white space, whatever they are. */
static void oxi_trim_places(const ox_tokenizer *t, oxi_token *tokens, size_t count, bool prefix_space,
                            const char *original, size_t original_length) {
    const oxi_vocabulary *v = &t->vocabulary;
    for (size_t i = 0; i < count; i++) {
        oxi_token *token = &tokens[i];
        const char *text = oxi_vocabulary_text(v, token->id);
        const size_t length = oxi_vocabulary_length(v, token->id);
        const bool own = token->leading != OXI_BY_ID;
        uint32_t leading = own ? token->leading : oxi_count_blanks(text, length, false);
        const uint32_t trailing = own ? token->trailing : oxi_count_blanks(text, length, true);
        if (leading == 1 && prefix_space && (i == 0 || token->from == 0)) leading = 0; /* the one put there */
        for (size_t at = token->from; leading > 0 && at < token->to; leading--) {
            (void)oxi_utf8_code(original, original_length, &at);
            token->from = at < token->to ? (uint32_t)at : token->to;
        }
        size_t to = token->to, left = trailing;
        while (left > 0 && to > 0) {
            to = oxi_step_back(original, to);
            left--;
        }
        if (trailing && left == 0) token->to = to > token->from ? (uint32_t)to : token->from;
    }
}

/* ---- from a tokenizer.json ----------------------------------------------------------------------------- */

/* ["text", id] of BERT's and RoBERTa's. */
static ox_status oxi_read_named_id(const oxi_json *json, uint32_t object, const char *key, int32_t *out) {
    const uint32_t pair = oxi_json_find(json, object, key);
    if (!pair || json->nodes[pair].type != OXI_JSON_ARRAY || json->nodes[pair].length != 2 ||
        json->nodes[pair + 2].type != OXI_JSON_INT || json->nodes[pair + 2].value.i < 0 ||
        json->nodes[pair + 2].value.i > INT32_MAX)
        return oxi_json_wrong("a post-processor without its tokens");
    *out = (int32_t)json->nodes[pair + 2].value.i;
    return OX_OK;
}

static ox_status oxi_read_fixed_template(oxi_pipe_step *step, const oxi_json *json, uint32_t object,
                                         bool roberta) {
    int32_t cls = 0, sep = 0;
    ox_status status = oxi_read_named_id(json, object, "cls", &cls);
    if (!status) status = oxi_read_named_id(json, object, "sep", &sep);
    const int32_t single[] = {cls, -1, sep}, pair[] = {cls, -1, sep, sep, -2, sep};
    for (size_t i = 0; i < 3 && !status; i++) status = oxi_template_push(step, single[i], 0, false);
    for (size_t i = 0; i < 6 && !status; i++) {
        if (i == 3 && !roberta) continue;
        status = oxi_template_push(step, pair[i], i > 3 && !roberta, true);
    }
    return status;
}

static ox_status oxi_read_template_item(oxi_pipe_step *step, const oxi_json *json, uint32_t item,
                                        uint32_t names, bool pair) {
    const uint32_t sequence = oxi_json_find(json, item, "Sequence"),
                   token = oxi_json_find(json, item, "SpecialToken");
    const uint32_t at = sequence ? sequence : token;
    const uint32_t id = at ? oxi_json_find(json, at, "id") : 0,
                   type = at ? oxi_json_find(json, at, "type_id") : 0;
    if (!id || json->nodes[id].type != OXI_JSON_STRING)
        return oxi_json_wrong("a template's item that is not known");
    const uint8_t kind = type ? (uint8_t)json->nodes[type].value.i : 0;
    if (sequence) return oxi_template_push(step, json->nodes[id].value.text[0] == 'B' ? -2 : -1, kind, pair);
    const uint32_t named = oxi_json_find(json, names, json->nodes[id].value.text);
    const uint32_t ids = named ? oxi_json_find(json, named, "ids") : 0;
    if (!ids || json->nodes[ids].type != OXI_JSON_ARRAY)
        return oxi_json_wrong("a template with a special token that it does not have");
    ox_status status = OX_OK;
    for (uint32_t i = ids + 1; i < json->nodes[ids].next && !status; i++) {
        const int64_t number = json->nodes[i].value.i;
        if (json->nodes[i].type != OXI_JSON_INT || number < 0 || number > INT32_MAX)
            return oxi_json_wrong("a template with an id that is none");
        status = oxi_template_push(step, (int32_t)number, kind, pair);
    }
    return status;
}

static ox_status oxi_read_template(oxi_pipe_step *step, const oxi_json *json, uint32_t object) {
    static const char *const keys[] = {"single", "pair"};
    const uint32_t names = oxi_json_find(json, object, "special_tokens");
    for (int pair = 0; pair < 2; pair++) {
        const uint32_t list = oxi_json_find(json, object, keys[pair]);
        if (!list || json->nodes[list].type != OXI_JSON_ARRAY)
            return oxi_json_wrong("a template without its items");
        for (uint32_t i = list + 1; i < json->nodes[list].next; i = json->nodes[i].next) {
            const ox_status status = oxi_read_template_item(step, json, i, names, pair != 0);
            if (status) return status;
        }
    }
    return OX_OK;
}

/* After the vocabulary: ids must be in it. */
static ox_status oxi_read_post_processors(ox_tokenizer *t, const oxi_json *json, uint32_t object, int depth) {
    if (object == 0 || json->nodes[object].type == OXI_JSON_NULL) return OX_OK;
    const uint32_t type = oxi_json_find(json, object, "type");
    if (!type || json->nodes[type].type != OXI_JSON_STRING)
        return oxi_json_wrong("a post-processor without a type");
    const char *name = json->nodes[type].value.text;
    if (strcmp(name, "Sequence") == 0) {
        const uint32_t list = oxi_json_find(json, object, "processors");
        if (!list || json->nodes[list].type != OXI_JSON_ARRAY || depth > 16)
            return oxi_json_wrong("a Sequence without its list");
        for (uint32_t i = list + 1; i < json->nodes[list].next; i = json->nodes[i].next) {
            const ox_status status = oxi_read_post_processors(t, json, i, depth + 1);
            if (status) return status;
        }
        return OX_OK;
    }
    const oxi_step_row *row = oxi_post_row(name);
    if (!row)
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: a post-processor of a tokenizer.json is not known");
    const bool had = oxi_template_of(t) != NULL;
    oxi_pipe_step *step = oxi_steps_add(&t->post_processors, row);
    ox_status status = step ? oxi_read_step(t, step, json, object) : OX_ERR_NOMEM;
    if (!status && strcmp(name, "TemplateProcessing") == 0) status = oxi_read_template(step, json, object);
    if (!status && (strcmp(name, "BertProcessing") == 0 || strcmp(name, "RobertaProcessing") == 0))
        status = oxi_read_fixed_template(step, json, object, name[0] == 'R');
    if (!status && had && step->single)
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: a tokenizer.json with two templates");
    for (size_t i = 0; !status && i < step->single + step->pair; i++)
        if (step->ids[i] >= t->vocabulary.count)
            status = oxi_json_wrong("a template with an id out of range");
    return status;
}
