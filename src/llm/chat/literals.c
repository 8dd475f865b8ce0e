/* Arguments as JSON: values whose type the tools say, and literals as Python and Gemma write them.
 * Values that read as nothing else are texts.
 * Called by calls.c. */

static bool oxi_reply_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static void oxi_reply_skip_space(const char *text, size_t length, size_t *at) {
    while (*at < length && oxi_reply_is_space(text[*at])) ++*at;
}

static bool oxi_reply_is_json(const char *text, size_t length) {
    oxi_json_reader reader;
    oxi_json_type type;
    oxi_json_start(&reader, text, length);
    do {
        type = oxi_json_next(&reader);
    } while (type != OXI_JSON_END && type != OXI_JSON_ERROR && reader.depth <= OXI_REPLY_MOST_DEPTH);
    return type == OXI_JSON_END;
}

/* ---- literals of Python and Gemma ---------------------------------------------------------------------- */

#define OXI_REPLY_GEMMA_QUOTE "<|\"|>"

static bool oxi_reply_here(const char *text, size_t length, size_t at, const char *word) {
    const size_t bytes = strlen(word);
    return length - at >= bytes && memcmp(text + at, word, bytes) == 0;
}

/* The character that "\x41", "\u0041" or "\U00000041" at *at (behind its letter) stands for. */
static bool oxi_reply_python_code(ox_llm_reply *r, const char *text, size_t length, size_t *at, int digits,
                                  oxi_reply_text *out) {
    uint32_t code = 0;
    char bytes[4];
    for (int i = 0; i < digits; i++, ++*at) {
        const int digit = *at < length ? oxi_hex_digit(text[*at]) : -1;
        if (digit < 0 || code > 0xFFFFFFF) return false;
        code = code * 16 + (uint32_t)digit;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return false;
    return oxi_reply_append(r, out, bytes, oxi_utf8_write((int32_t)code, bytes));
}

static bool oxi_reply_python_escape(ox_llm_reply *r, const char *text, size_t length, size_t *at,
                                    oxi_reply_text *out) {
    static const char letters[] = "\\'\"ntrbfav0", meanings[] = "\\'\"\n\t\r\b\f\a\v\0";
    const char c = *at < length ? text[*at] : 'z';
    const char *letter = c ? strchr(letters, c) : NULL;
    ++*at;
    if (letter) return oxi_reply_append(r, out, &meanings[letter - letters], 1);
    if (c == 'x') return oxi_reply_python_code(r, text, length, at, 2, out);
    if (c == 'u') return oxi_reply_python_code(r, text, length, at, 4, out);
    if (c == 'U') return oxi_reply_python_code(r, text, length, at, 8, out);
    return c == '\n' ||
           (*at <= length && oxi_reply_append(r, out, "\\", 1) && oxi_reply_append(r, out, &c, 1));
}

/* Whether the quote at `at` ends its text: some templates write quotes within it as they are. */
static bool oxi_reply_closes(const char *text, size_t length, size_t at) {
    at++;
    oxi_reply_skip_space(text, length, &at);
    return at >= length || (text[at] && strchr(",:)]}", text[at]));
}

/* A text in quotes, as JSON. */
static bool oxi_reply_literal_text(ox_llm_reply *r, const char *text, size_t length, size_t *at) {
    const bool gemma = oxi_reply_here(text, length, *at, OXI_REPLY_GEMMA_QUOTE);
    const char quote = text[*at];
    oxi_reply_text made;
    bool good = true, closed = false;
    memset(&made, 0, sizeof made);
    *at += gemma ? strlen(OXI_REPLY_GEMMA_QUOTE) : 1;
    while (good && *at < length && !closed) {
        closed = gemma ? oxi_reply_here(text, length, *at, OXI_REPLY_GEMMA_QUOTE)
                       : text[*at] == quote && oxi_reply_closes(text, length, *at);
        if (closed) {
            *at += gemma ? strlen(OXI_REPLY_GEMMA_QUOTE) : 1;
        } else if (!gemma && text[*at] == '\\') {
            ++*at;
            good = oxi_reply_python_escape(r, text, length, at, &made);
        } else
            good = oxi_reply_append(r, &made, text + (*at)++, 1);
    }
    good = good && closed && oxi_reply_append_string(r, &r->texts, made.data, made.length);
    oxi_free(made.data, made.room);
    return good;
}

static bool oxi_reply_is_text_start(const char *text, size_t length, size_t at) {
    return at < length &&
           (text[at] == '\'' || text[at] == '"' || oxi_reply_here(text, length, at, OXI_REPLY_GEMMA_QUOTE));
}

/* A key without quotes: up to ':'. */
static bool oxi_reply_literal_key(ox_llm_reply *r, const char *text, size_t length, size_t *at) {
    size_t end = *at;
    if (oxi_reply_is_text_start(text, length, *at)) return oxi_reply_literal_text(r, text, length, at);
    while (end < length && text[end] != ':' && !strchr(" \t\r\n,{}[]()<>\"'", text[end])) end++;
    const size_t start = *at;
    *at = end;
    return end > start && oxi_reply_append_string(r, &r->texts, text + start, end - start);
}

/* Behind an opening bracket, up to `close`. */
static bool oxi_reply_literal_members(ox_llm_reply *r, const char *text, size_t length, size_t *at,
                                      char close, int depth) {
    const bool is_object = close == '}';
    if (!oxi_reply_append(r, &r->texts, is_object ? "{" : "[", 1)) return false;
    for (bool first = true;; first = false) {
        oxi_reply_skip_space(text, length, at);
        if (*at >= length) return false;
        if (text[*at] == close) break;
        if (!first) {
            if (text[*at] != ',') return false;
            ++*at;
            oxi_reply_skip_space(text, length, at);
            if (*at < length && text[*at] == close) break; /* Python lets a comma stand at the end */
            if (!oxi_reply_append(r, &r->texts, ", ", 2)) return false;
        }
        if (is_object) {
            if (!oxi_reply_literal_key(r, text, length, at)) return false;
            oxi_reply_skip_space(text, length, at);
            if (*at >= length || text[(*at)++] != ':' || !oxi_reply_append(r, &r->texts, ": ", 2))
                return false;
        }
        if (!oxi_reply_literal(r, text, length, at, depth + 1)) return false;
    }
    ++*at;
    return oxi_reply_append(r, &r->texts, is_object ? "}" : "]", 1);
}

static bool oxi_reply_literal(ox_llm_reply *r, const char *text, size_t length, size_t *at, int depth) {
    static const char *const words[][2] = {{"True", "true"},   {"true", "true"}, {"False", "false"},
                                           {"false", "false"}, {"None", "null"}, {"null", "null"}};
    oxi_reply_skip_space(text, length, at);
    if (*at >= length || depth > OXI_REPLY_MOST_DEPTH) return false;
    if (oxi_reply_is_text_start(text, length, *at)) return oxi_reply_literal_text(r, text, length, at);
    const char c = text[*at];
    if (c == '[' || c == '(' || c == '{') {
        ++*at;
        return oxi_reply_literal_members(r, text, length, at, c == '{' ? '}' : c == '[' ? ']' : ')', depth);
    }
    size_t end = *at;
    while (end < length && text[end] && !strchr(" \t\r\n,:{}[]()<>\"'=", text[end])) end++;
    const size_t start = *at, bytes = end - start;
    *at = end;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i][0]) == bytes && memcmp(words[i][0], text + start, bytes) == 0)
            return oxi_reply_append_word(r, &r->texts, words[i][1]);
    return (c == '-' || oxi_is_digit(c)) && oxi_reply_is_json(text + start, bytes) &&
           oxi_reply_append(r, &r->texts, text + start, bytes);
}

/* ---- values of unknown type ---------------------------------------------------------------------------- */

static bool oxi_reply_node_is(const oxi_json *json, uint32_t index, const char *bytes, size_t length) {
    const oxi_json_node *node = &json->nodes[index];
    return index && node->type == OXI_JSON_STRING && node->length == length &&
           (!length || memcmp(node->value.text, bytes, length) == 0);
}

/* The function of a tool that has this name, 0 = none. */
static uint32_t oxi_reply_find_tool(const oxi_json *tools, const char *name, size_t length) {
    const uint32_t end = tools->count && tools->nodes[0].type == OXI_JSON_ARRAY ? tools->nodes[0].next : 0;
    for (uint32_t i = 1; i < end; i = tools->nodes[i].next) {
        const uint32_t function = oxi_json_find(tools, i, "function");
        const uint32_t tool = function ? function : i;
        if (oxi_reply_node_is(tools, oxi_json_find(tools, tool, "name"), name, length)) return tool;
    }
    return 0;
}

/* What the tools say of the parameter r->key of the open call: 1 a text, 0 another type, -1 nothing. */
static int oxi_reply_is_text_parameter(const ox_llm_reply *r) {
    const oxi_json *tools = &r->tools;
    const oxi_reply_call *call = &r->calls[r->call_count - 1];
    const char *key = r->texts.data + r->key.start; /* a JSON string: its quotes are left out */
    const uint32_t tool = oxi_reply_find_tool(tools, r->texts.data + call->name.start, call->name.length);
    uint32_t schema = tool ? oxi_json_find(tools, tool, "parameters") : 0;
    schema = schema ? oxi_json_find(tools, schema, "properties") : 0;
    if (!schema || tools->nodes[schema].type != OXI_JSON_OBJECT) return -1;
    for (uint32_t i = schema + 1; i < tools->nodes[schema].next; i = tools->nodes[i].next) {
        const oxi_json_node *node = &tools->nodes[i];
        if (node->length + 2 != r->key.length || memcmp(node->value.text, key + 1, node->length) != 0)
            continue;
        const uint32_t type = oxi_json_find(tools, i + 1, "type");
        if (!type || tools->nodes[type].type != OXI_JSON_STRING) return -1;
        return oxi_reply_node_is(tools, type, "string", 6);
    }
    return -1;
}

/* Without the one newline at each end that formats put around values. */
static void oxi_reply_trim_lines(const char **text, size_t *length) {
    if (*length && **text == '\n') {
        ++*text;
        --*length;
    }
    if (*length && (*text)[*length - 1] == '\n') --*length;
}

static void oxi_reply_trim(const char **text, size_t *length) {
    while (*length && oxi_reply_is_space(**text)) {
        ++*text;
        --*length;
    }
    while (*length && oxi_reply_is_space((*text)[*length - 1])) --*length;
}

static bool oxi_reply_value(ox_llm_reply *r, const char *text, size_t length, uint32_t how) {
    const char *inner = text;
    size_t bytes = length, at = 0;
    const int is_text = how == OXI_REPLY_WORD   ? 1
                        : how == OXI_REPLY_DATA ? 0
                                                : oxi_reply_is_text_parameter(r);
    oxi_reply_trim(&inner, &bytes);
    if (is_text != 1 && oxi_reply_is_json(inner, bytes)) return oxi_reply_append(r, &r->texts, inner, bytes);
    if (is_text != 1 && bytes && strchr("{[TFN", *inner)) { /* Python's list, dict, True, False, None */
        const size_t start = r->texts.length;
        if (oxi_reply_literal(r, inner, bytes, &at, 0) && at == bytes) return true;
        r->texts.length = start;
        if (r->status) return false;
    }
    if (how == OXI_REPLY_VALUE) oxi_reply_trim_lines(&text, &length);
    return oxi_reply_append_string(r, &r->texts, text, length);
}
