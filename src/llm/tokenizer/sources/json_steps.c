/* Steps from a tokenizer.json: one table says what every option is called and where it goes. */

typedef enum oxi_field_kind {
    OXI_FIELD_FLAG,    /* a bool: `option` */
    OXI_FIELD_TEXT,    /* text that is put in */
    OXI_FIELD_FIND,    /* text that is looked for */
    OXI_FIELD_PATTERN, /* {"String": ..} or {"Regex": ..} */
    OXI_FIELD_START,
    OXI_FIELD_STOP,
    OXI_FIELD_BEHAVIOR,
    OXI_FIELD_PREPEND,
    OXI_FIELD_BLOB /* base64, put in */
} oxi_field_kind;

typedef struct oxi_step_field {
    const char *key, *row; /* row: only there; NULL = everywhere */
    oxi_field_kind kind;
    uint32_t option;
} oxi_step_field;

static const oxi_step_field oxi_step_fields[] = {
    {"add_prefix_space", NULL, OXI_FIELD_FLAG, OXI_ADD_PREFIX_SPACE},
    {"use_regex", NULL, OXI_FIELD_FLAG, OXI_USE_REGEX},
    {"trim_offsets", NULL, OXI_FIELD_FLAG, OXI_TRIM_OFFSETS},
    {"invert", NULL, OXI_FIELD_FLAG, OXI_INVERT},
    {"individual_digits", NULL, OXI_FIELD_FLAG, OXI_INDIVIDUAL_DIGITS},
    {"split", NULL, OXI_FIELD_FLAG, OXI_SPLIT},
    {"clean_text", NULL, OXI_FIELD_FLAG, OXI_CLEAN_TEXT},
    {"handle_chinese_chars", NULL, OXI_FIELD_FLAG, OXI_CHINESE_CHARS},
    {"lowercase", NULL, OXI_FIELD_FLAG, OXI_LOWERCASE},
    {"strip_accents", NULL, OXI_FIELD_FLAG, OXI_STRIP_ACCENTS},
    {"strip_left", NULL, OXI_FIELD_FLAG, OXI_STRIP_LEFT},
    {"strip_right", NULL, OXI_FIELD_FLAG, OXI_STRIP_RIGHT},
    {"cleanup", NULL, OXI_FIELD_FLAG, OXI_CLEANUP},
    {"content", "Strip", OXI_FIELD_FIND, 0},
    {"content", "Replace", OXI_FIELD_TEXT, 0},
    {"prepend", NULL, OXI_FIELD_TEXT, 0},
    {"prefix", NULL, OXI_FIELD_TEXT, 0},
    {"suffix", NULL, OXI_FIELD_TEXT, 0},
    {"word_delimiter_token", NULL, OXI_FIELD_TEXT, 0},
    {"replacement", NULL, OXI_FIELD_FIND, 0},
    {"delimiter", NULL, OXI_FIELD_FIND, 0},
    {"pad_token", NULL, OXI_FIELD_FIND, 0},
    {"pattern", NULL, OXI_FIELD_PATTERN, 0},
    {"start", NULL, OXI_FIELD_START, 0},
    {"length", NULL, OXI_FIELD_START, 0},
    {"stop", NULL, OXI_FIELD_STOP, 0},
    {"behavior", NULL, OXI_FIELD_BEHAVIOR, 0},
    {"prepend_scheme", NULL, OXI_FIELD_PREPEND, 0},
    {"precompiled_charsmap", NULL, OXI_FIELD_BLOB, 0},
};

static const char *const oxi_behavior_names[] = {"Isolated", "Removed", "Contiguous", "MergedWithPrevious",
                                                 "MergedWithNext"};
static const char *const oxi_prepend_names[] = {"never", "first", "always"};

static ox_status oxi_json_wrong(const char *what) {
    return oxi_fail(OX_ERR_FORMAT, "tokenizer: tokenizer.json: %s", what);
}

static int oxi_name_in(const oxi_json_node *node, const char *const *names, int count) {
    for (int i = 0; node->type == OXI_JSON_STRING && i < count; i++)
        if (strlen(names[i]) == node->length && memcmp(names[i], node->value.text, node->length) == 0)
            return i;
    return -1;
}

static int oxi_base64_digit(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static ox_status oxi_read_blob(oxi_pipe_step *step, const oxi_json_node *node) {
    ox_status status = oxi_step_set(&step->text, &step->text_length, node->value.text, node->length);
    uint32_t bits = 0, count = 0;
    size_t used = 0;
    for (size_t i = 0; i < node->length && !status && node->value.text[i] != '='; i++) {
        const int digit = oxi_base64_digit(node->value.text[i]);
        if (digit < 0) return oxi_json_wrong("precompiled_charsmap is not base64");
        bits = bits << 6 | (uint32_t)digit;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        step->text[used++] = (char)(bits >> count & 255);
    }
    if (status) return status;
    char *const whole = step->text;
    const size_t room = step->text_length;
    step->text = NULL;
    status = oxi_step_set(&step->text, &step->text_length, whole, used);
    oxi_free(whole, room + 1);
    return status;
}

static ox_status oxi_read_pattern(ox_tokenizer *t, oxi_pipe_step *step, const oxi_json *json, uint32_t node) {
    const uint32_t plain = oxi_json_find(json, node, "String"), regex = oxi_json_find(json, node, "Regex");
    const oxi_json_node *found = &json->nodes[plain ? plain : regex];
    if (!(plain || regex) && json->nodes[node].type == OXI_JSON_STRING) found = &json->nodes[node];
    if (found->type != OXI_JSON_STRING) return oxi_json_wrong("a pattern that is neither String nor Regex");
    return regex ? oxi_step_set_pattern(t, step, found->value.text, found->length)
                 : oxi_step_set(&step->find, &step->find_length, found->value.text, found->length);
}

static ox_status oxi_read_field(ox_tokenizer *t, oxi_pipe_step *step, const oxi_step_field *field,
                                const oxi_json *json, uint32_t at) {
    const oxi_json_node *node = &json->nodes[at];
    const bool text = node->type == OXI_JSON_STRING, number = node->type == OXI_JSON_INT;
    int index;
    switch (field->kind) {
    case OXI_FIELD_FLAG:
        if (node->type == OXI_JSON_NULL) return OX_OK;
        if (node->type != OXI_JSON_BOOL) return oxi_json_wrong("an option that is not true or false");
        step->options = node->value.i ? step->options | field->option : step->options & ~field->option;
        return OX_OK;
    case OXI_FIELD_TEXT:
        return text ? oxi_step_set(&step->text, &step->text_length, node->value.text, node->length)
                    : oxi_json_wrong("an option that is not a string");
    case OXI_FIELD_FIND:
        return text ? oxi_step_set(&step->find, &step->find_length, node->value.text, node->length)
                    : oxi_json_wrong("an option that is not a string");
    case OXI_FIELD_PATTERN: return oxi_read_pattern(t, step, json, at);
    case OXI_FIELD_START:
    case OXI_FIELD_STOP:
        if (!number || node->value.i < 0) return oxi_json_wrong("an option that is not a count");
        *(field->kind == OXI_FIELD_START ? &step->start : &step->stop) = node->value.i;
        return OX_OK;
    case OXI_FIELD_BEHAVIOR:
        index = oxi_name_in(node, oxi_behavior_names, 5);
        step->behavior = (oxi_behavior)(index < 0 ? 0 : index);
        return index < 0 ? oxi_json_wrong("a behavior that is not known") : OX_OK;
    case OXI_FIELD_PREPEND:
        step->prepend = oxi_name_in(node, oxi_prepend_names, 3);
        return step->prepend < 0 ? oxi_json_wrong("a prepend_scheme that is not known") : OX_OK;
    default: return text ? oxi_read_blob(step, node) : oxi_json_wrong("an option that is not a string");
    }
}

static bool oxi_row_is(const oxi_pipe_step *step, const char *name) {
    return step->row && strcmp(step->row->name, name) == 0;
}

/* What a row needs beyond its options. */
static ox_status oxi_finish_step(ox_tokenizer *t, oxi_pipe_step *step, const oxi_json *json,
                                 uint32_t object) {
    static const char gpt2[] =
        "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";
    const bool replaces = oxi_row_is(step, "Replace");
    if (step->row->apply == oxi_pre_byte_level && (step->options & OXI_USE_REGEX))
        return oxi_step_set_pattern(t, step, gpt2, sizeof gpt2 - 1);
    if (oxi_row_is(step, "Metaspace") && !oxi_json_find(json, object, "prepend_scheme")) {
        const uint32_t old = oxi_json_find(json, object, "add_prefix_space");
        step->prepend = !old || json->nodes[old].value.i ? OXI_PREPEND_ALWAYS : OXI_PREPEND_NEVER;
    }
    if (oxi_row_is(step, "BertNormalizer")) {
        const uint32_t accents = oxi_json_find(json, object, "strip_accents");
        if (!accents || json->nodes[accents].type == OXI_JSON_NULL) {
            step->options &= ~(uint32_t)OXI_STRIP_ACCENTS;
            if (step->options & OXI_LOWERCASE) step->options |= OXI_STRIP_ACCENTS;
        }
    }
    if (oxi_row_is(step, "FixedLength") && step->start == 0 && !oxi_json_find(json, object, "length"))
        step->start = 5;
    if (oxi_row_is(step, "FixedLength") && step->start == 0) return oxi_json_wrong("a FixedLength of 0");
    if ((replaces && !step->text) || ((replaces || oxi_row_is(step, "Split")) && !step->find) ||
        (oxi_row_is(step, "Prepend") && !step->text) ||
        ((oxi_row_is(step, "Metaspace") || oxi_row_is(step, "CharDelimiterSplit")) &&
         (!step->find || step->find_length == 0)))
        return oxi_json_wrong("a step without what it looks for or puts in");
    if (!step->text) return oxi_step_set(&step->text, &step->text_length, "", 0);
    return OX_OK;
}

static ox_status oxi_read_step(ox_tokenizer *t, oxi_pipe_step *step, const oxi_json *json, uint32_t object) {
    ox_status status = oxi_unicode_open(&t->unicode, step->row->unicode);
    for (size_t i = 0; i < sizeof oxi_step_fields / sizeof *oxi_step_fields && !status; i++) {
        const oxi_step_field *field = &oxi_step_fields[i];
        const uint32_t at = oxi_json_find(json, object, field->key);
        if (!at || (field->row && !oxi_row_is(step, field->row))) continue;
        status = oxi_read_field(t, step, field, json, at);
    }
    return status ? status : oxi_finish_step(t, step, json, object);
}

typedef const oxi_step_row *(*oxi_row_finder)(const char *name);

/* A part of the pipeline: null, one step, or a Sequence of them (in sequences). */
static ox_status oxi_read_steps(ox_tokenizer *t, oxi_steps *steps, oxi_row_finder find, const char *list_key,
                                const oxi_json *json, uint32_t object, int depth) {
    const oxi_json_node *node = &json->nodes[object];
    if (object == 0 || node->type == OXI_JSON_NULL) return OX_OK;
    const uint32_t type = oxi_json_find(json, object, "type");
    if (node->type != OXI_JSON_OBJECT || !type || json->nodes[type].type != OXI_JSON_STRING)
        return oxi_json_wrong("a step without a type");
    if (strcmp(json->nodes[type].value.text, "Sequence") == 0) {
        const uint32_t list = oxi_json_find(json, object, list_key);
        if (!list || json->nodes[list].type != OXI_JSON_ARRAY || depth > 16)
            return oxi_json_wrong("a Sequence without its list");
        for (uint32_t i = list + 1; i < json->nodes[list].next; i = json->nodes[i].next) {
            const ox_status status = oxi_read_steps(t, steps, find, list_key, json, i, depth + 1);
            if (status) return status;
        }
        return OX_OK;
    }
    const oxi_step_row *row = find(json->nodes[type].value.text);
    if (!row) {
        char name[48];
        const ox_string text = {json->nodes[type].value.text, (int64_t)json->nodes[type].length};
        oxi_llm_copy_text(text, name, sizeof name);
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: the step \"%s\" of a tokenizer.json is not known",
                        name);
    }
    oxi_pipe_step *step = oxi_steps_add(steps, row);
    return step ? oxi_read_step(t, step, json, object) : OX_ERR_NOMEM;
}
