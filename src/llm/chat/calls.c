/* Tool calls: their texts, what the user is told of them, and the JSON and blocks that they are read from.
 * The texts of a call lie one after the other at the end of r->texts, so that a withdrawn one is cut off.
 * Called by reply.c. */

static oxi_reply_call *oxi_reply_last(ox_llm_reply *r) {
    return &r->calls[r->call_count - 1];
}

static bool oxi_reply_call_begin(ox_llm_reply *r) {
    if (r->call_count == r->call_room) {
        const size_t room = r->call_room ? r->call_room * 2 : 4;
        oxi_reply_call *calls =
            (oxi_reply_call *)oxi_realloc(r->calls, r->call_room * sizeof *calls, room * sizeof *calls);
        if (!calls) {
            r->status = OX_ERR_NOMEM;
            return false;
        }
        r->calls = calls;
        r->call_room = room;
    }
    oxi_reply_call *call = &r->calls[r->call_count++];
    memset(call, 0, sizeof *call);
    call->texts = r->texts.length;
    r->open = true;
    r->made = false;
    r->json_arguments.length = r->json_sent = 0;
    return true;
}

/* A piece of r->texts, from `start` to its end. */
static oxi_reply_piece oxi_reply_piece_from(const ox_llm_reply *r, size_t start) {
    oxi_reply_piece piece;
    piece.start = start;
    piece.length = r->texts.length - start;
    return piece;
}

static bool oxi_reply_is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || strchr("\"'`<>{}[](),;=", text[i])) return false;
    return length > 0 && length <= OXI_REPLY_MOST_NAME;
}

/* "functions.name:0" without what is around the name. */
static void oxi_reply_cut_number(const char **text, size_t *length) {
    static const char prefix[] = "functions.";
    size_t end = *length;
    if (end > sizeof prefix - 1 && memcmp(*text, prefix, sizeof prefix - 1) == 0) {
        *text += sizeof prefix - 1;
        end = *length -= sizeof prefix - 1;
    }
    while (end && oxi_is_digit((*text)[end - 1])) end--;
    if (end > 1 && end < *length && (*text)[end - 1] == ':') *length = end - 1;
}

static bool oxi_reply_call_name(ox_llm_reply *r, const char *text, size_t length) {
    oxi_reply_trim(&text, &length);
    if (!oxi_reply_is_name(text, length) || oxi_reply_last(r)->announced) return false;
    if (r->format->flags & OXI_REPLY_NUMBERED) {
        oxi_reply_call_id(r, text, length);
        oxi_reply_cut_number(&text, &length);
    }
    const size_t start = r->texts.length;
    if (!oxi_reply_append(r, &r->texts, text, length)) return false;
    oxi_reply_call *call = oxi_reply_last(r);
    call->name = oxi_reply_piece_from(r, start);
    call->announced = true;
    oxi_reply_give(r, OX_LLM_REPLY_CALL, r->texts.data + start, length);
    return true;
}

static void oxi_reply_call_id(ox_llm_reply *r, const char *text, size_t length) {
    oxi_reply_trim(&text, &length);
    const size_t start = r->texts.length;
    if (!length || length > OXI_REPLY_MOST_NAME) return;
    if (oxi_reply_append(r, &r->texts, text, length)) oxi_reply_last(r)->id = oxi_reply_piece_from(r, start);
}

static void oxi_reply_call_arguments(ox_llm_reply *r, const char *text, size_t length) {
    oxi_reply_call *call = oxi_reply_last(r);
    if (!length || r->status) return;
    if (!call->arguments.length) call->arguments.start = r->texts.length;
    if (!oxi_reply_append(r, &r->texts, text, length)) return;
    call->arguments.length += length;
    oxi_reply_give(r, OX_LLM_REPLY_ARGUMENTS, r->texts.data + r->texts.length - length, length);
}

/* What was put behind `start` in the texts belongs to the arguments. */
static void oxi_reply_call_grown(ox_llm_reply *r, size_t start) {
    oxi_reply_last(r)->arguments.length += r->texts.length - start;
    oxi_reply_give(r, OX_LLM_REPLY_ARGUMENTS, r->texts.data + start, r->texts.length - start);
}

static bool oxi_reply_call_key(ox_llm_reply *r) {
    const size_t start = r->key.start, end = r->texts.length; /* the key's copy is cut out again */
    const char *before = r->made ? ", " : "{";
    if (!oxi_reply_append_word(r, &r->texts, before) ||
        !oxi_reply_append(r, &r->texts, r->texts.data + start, r->key.length) ||
        !oxi_reply_append_word(r, &r->texts, ": "))
        return false;
    memmove(r->texts.data + start, r->texts.data + end, r->texts.length - end);
    r->texts.length -= end - start;
    if (!r->made) oxi_reply_last(r)->arguments.start = start;
    r->made = true;
    r->key.start += strlen(before);
    oxi_reply_call_grown(r, start);
    return true;
}

static bool oxi_reply_call_parameter(ox_llm_reply *r, const char *text, size_t length, uint32_t how) {
    if (!oxi_reply_call_key(r)) return false;
    const size_t start = r->texts.length;
    if (!oxi_reply_value(r, text, length, how)) return false;
    oxi_reply_call_grown(r, start);
    return true;
}

static bool oxi_reply_call_begin_text(ox_llm_reply *r, uint32_t how) {
    if (how != OXI_REPLY_WORD && (how != OXI_REPLY_VALUE || oxi_reply_is_text_parameter(r) != 1))
        return false;
    if (!oxi_reply_call_key(r)) return false;
    oxi_reply_call_arguments(r, "\"", 1);
    return !r->status;
}

static void oxi_reply_call_text(ox_llm_reply *r, const char *text, size_t length, bool ends) {
    const size_t start = r->texts.length;
    if (length && !oxi_reply_append_escaped(r, &r->texts, text, length)) return;
    if (ends && !oxi_reply_append(r, &r->texts, "\"", 1)) return;
    if (r->texts.length > start) oxi_reply_call_grown(r, start);
}

/* Arguments that are a string with JSON in it become that JSON; none or null, an empty object. */
static bool oxi_reply_unwrap(ox_llm_reply *r, const char *text, size_t length) {
    oxi_json_reader reader;
    oxi_reply_text inner;
    oxi_reply_trim(&text, &length);
    if (!length || (length == 4 && memcmp(text, "null", 4) == 0)) {
        oxi_reply_call_arguments(r, "{}", 2);
        return true;
    }
    if (*text != '"') {
        if (*text == '{') oxi_reply_call_arguments(r, text, length);
        return *text == '{';
    }
    memset(&inner, 0, sizeof inner);
    oxi_json_start(&reader, text, length);
    if (oxi_json_next(&reader) != OXI_JSON_STRING || !oxi_reply_append(r, &inner, text, length)) return false;
    const char *json = inner.data;
    size_t bytes = oxi_json_decode(&reader, inner.data);
    oxi_reply_trim(&json, &bytes);
    const bool good = bytes && *json == '{';
    if (good) oxi_reply_call_arguments(r, json, bytes);
    oxi_free(inner.data, inner.room);
    return good;
}

static bool oxi_reply_call_complete(ox_llm_reply *r) {
    oxi_reply_call *call = oxi_reply_last(r);
    char id[32];
    if (!call->announced) return false;
    if (r->made) oxi_reply_call_arguments(r, "}", 1);
    if (!call->arguments.length && !r->made) oxi_reply_call_arguments(r, "{}", 2);
    if (r->status || !oxi_reply_is_json(r->texts.data + call->arguments.start, call->arguments.length))
        return false;
    if (!call->id.length) {
        (void)snprintf(id, sizeof id, "call%05lld", (long long)(r->first_id + (int64_t)r->call_count - 1));
        oxi_reply_call_id(r, id, strlen(id));
    }
    if (r->status) return false;
    call->complete = true;
    r->open = false;
    r->settled = r->at;
    r->after_call = true;
    oxi_reply_give(r, OX_LLM_REPLY_CALL_END, r->texts.data + call->id.start, call->id.length);
    return true;
}

static void oxi_reply_call_withdraw(ox_llm_reply *r) {
    if (!r->open) return;
    const oxi_reply_call *call = oxi_reply_last(r);
    if (call->announced)
        oxi_reply_give(r, OX_LLM_REPLY_WITHDRAWN, r->texts.data + call->name.start, call->name.length);
    r->texts.length = call->texts;
    r->call_count--;
    r->open = false;
}

/* ---- calls as JSON ------------------------------------------------------------------------------------- */

enum { OXI_REPLY_OTHER, OXI_REPLY_MEMBER_NAME, OXI_REPLY_MEMBER_ARGUMENTS, OXI_REPLY_MEMBER_ID };

/* The member of a call that the key at [r->string, end) of raw, with its quotes, is. */
static uint8_t oxi_reply_member(const ox_llm_reply *r, size_t end) {
    static const struct {
        const char *key;
        uint8_t member;
    } members[] = {{"\"name\"", OXI_REPLY_MEMBER_NAME},
                   {"\"tool_name\"", OXI_REPLY_MEMBER_NAME},
                   {"\"arguments\"", OXI_REPLY_MEMBER_ARGUMENTS},
                   {"\"parameters\"", OXI_REPLY_MEMBER_ARGUMENTS},
                   {"\"id\"", OXI_REPLY_MEMBER_ID},
                   {"\"tool_call_id\"", OXI_REPLY_MEMBER_ID}};
    const size_t length = end - r->string;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strlen(members[i].key) == length && memcmp(members[i].key, r->raw.data + r->string, length) == 0)
            return members[i].member;
    return OXI_REPLY_OTHER;
}

/* A JSON string of raw, decoded, as the call's name or id. */
static bool oxi_reply_json_text(ox_llm_reply *r, size_t start, size_t end, bool is_name) {
    char text[OXI_REPLY_MOST_NAME];
    oxi_json_reader reader;
    oxi_json_start(&reader, r->raw.data + start, end - start);
    const oxi_json_type type = oxi_json_next(&reader);
    if (type == OXI_JSON_INT && !is_name) oxi_reply_call_id(r, r->raw.data + start, end - start);
    if (type != OXI_JSON_STRING) return !is_name;
    if (reader.raw_length > sizeof text) return false;
    const size_t length = oxi_json_decode(&reader, text);
    if (is_name) return oxi_reply_call_name(r, text, length);
    oxi_reply_call_id(r, text, length);
    return true;
}

/* Gives the bytes of the arguments up to `end` in raw, if they are an object and the name is known. */
static void oxi_reply_json_give(ox_llm_reply *r, size_t end) {
    if (!r->json_sent || !r->open || !oxi_reply_last(r)->announced || end <= r->json_sent) return;
    oxi_reply_call_arguments(r, r->raw.data + r->json_sent, end - r->json_sent);
    r->json_sent = end;
}

static bool oxi_reply_json_member_ends(ox_llm_reply *r, size_t end) {
    const uint8_t member = r->member;
    r->member = OXI_REPLY_OTHER;
    if (member == OXI_REPLY_MEMBER_ID) return oxi_reply_json_text(r, r->value, end, false);
    if (member == OXI_REPLY_MEMBER_ARGUMENTS) {
        if (r->json_arguments.length) return false;
        r->json_arguments.start = r->value;
        r->json_arguments.length = end - r->value;
        if (!oxi_reply_last(r)->announced) r->json_sent = 0; /* given as a whole at the call's end */
        oxi_reply_json_give(r, end);
        return true;
    }
    return member != OXI_REPLY_MEMBER_NAME || oxi_reply_json_text(r, r->value, end, true);
}

/* The call's object ends, or the member that is a call. */
static bool oxi_reply_json_call_ends(ox_llm_reply *r) {
    const bool has_any = r->json_arguments.length > 0;
    if (!has_any && (r->format->flags & OXI_REPLY_NEEDS_ARGUMENTS)) return false;
    if (!r->json_sent && oxi_reply_last(r)->announced && has_any &&
        !oxi_reply_unwrap(r, r->raw.data + r->json_arguments.start, r->json_arguments.length))
        return false;
    r->json_sent = 0;
    return oxi_reply_call_complete(r);
}

static void oxi_reply_json_value_begins(ox_llm_reply *r, size_t at) {
    r->value = at;
    r->json_sent =
        r->member == OXI_REPLY_MEMBER_ARGUMENTS && !r->json_arguments.length && r->raw.data[at] == '{'
            ? at
            : r->json_sent;
}

/* An event of {"name": .., "arguments": ..}, or of {name: arguments} (`named`); r->at is behind its byte. */
static bool oxi_reply_json_event(ox_llm_reply *r, oxi_reply_event event, int depth, bool named) {
    const size_t at = r->at - 1;
    if (event == OXI_REPLY_VALUE_BEGINS && depth == 0) {
        r->base = r->raw.data[at] == '[';
        if (r->raw.data[at] != '[' && r->raw.data[at] != '{') return false;
    }
    if (event == OXI_REPLY_VALUE_BEGINS && depth == r->base) {
        if (r->raw.data[at] != '{') return false;
        r->member = OXI_REPLY_OTHER;
        return named || oxi_reply_call_begin(r);
    }
    if (event == OXI_REPLY_KEY_BEGINS && depth == r->base + 1) r->string = at;
    if (event == OXI_REPLY_KEY_ENDS && depth == r->base + 1) {
        if (!named) {
            r->member = oxi_reply_member(r, r->at);
            return r->member != OXI_REPLY_MEMBER_ARGUMENTS || !r->json_arguments.length;
        } else {
            r->member = OXI_REPLY_MEMBER_ARGUMENTS;
            return oxi_reply_call_begin(r) && oxi_reply_json_text(r, r->string, r->at, true);
        }
    }
    if (event == OXI_REPLY_VALUE_BEGINS && depth == r->base + 1) oxi_reply_json_value_begins(r, at);
    if (event == OXI_REPLY_VALUE_ENDS && depth == r->base + 1)
        return oxi_reply_json_member_ends(r, r->at) && (!named || oxi_reply_json_call_ends(r));
    if (event == OXI_REPLY_VALUE_ENDS && depth == r->base && !named && r->open)
        return oxi_reply_json_call_ends(r);
    return true;
}

/* The arguments alone, behind a name. */
static bool oxi_reply_json_arguments(ox_llm_reply *r, oxi_reply_event event, int depth) {
    if (depth != 0) return true;
    if (event == OXI_REPLY_VALUE_BEGINS) {
        r->member = OXI_REPLY_MEMBER_ARGUMENTS;
        oxi_reply_json_value_begins(r, r->at - 1);
    }
    if (event != OXI_REPLY_VALUE_ENDS) return true;
    return oxi_reply_json_member_ends(r, r->at) && oxi_reply_json_call_ends(r);
}

static bool oxi_reply_call_json(ox_llm_reply *r, bool *done) {
    const bool arguments = r->state == OXI_REPLY_ARGUMENTS, named = r->state == OXI_REPLY_NAMED;
    *done = false;
    while (r->at < r->raw.length && !r->status) {
        int depth, before = r->json.depth;
        const oxi_reply_event event = oxi_reply_json_step(&r->json, r->raw.data[r->at], &depth);
        if (r->json.number_ended && !arguments && before == r->base + 1 &&
            (named || !oxi_reply_json_member_ends(r, r->at)))
            return false;
        if (event == OXI_REPLY_BAD) return false;
        r->at++;
        if (event == OXI_REPLY_NO_EVENT) continue;
        if (!(arguments ? oxi_reply_json_arguments(r, event, depth)
                        : oxi_reply_json_event(r, event, depth, named)))
            return false;
        if (event == OXI_REPLY_VALUE_ENDS && depth == 0) {
            *done = true;
            return !r->status;
        }
    }
    if (r->member == OXI_REPLY_MEMBER_ARGUMENTS) oxi_reply_json_give(r, r->at);
    return !r->status;
}

/* ---- blocks that are read at their end ----------------------------------------------------------------- */

static size_t oxi_reply_name_end(const char *text, size_t length, size_t at) {
    while (at < length && (unsigned char)text[at] > ' ' && !strchr("(){}[],:=\"'<>", text[at])) at++;
    return at;
}

/* name(key=value, ..), or call:name{key:value, ..}, at *at. */
static bool oxi_reply_block_call(ox_llm_reply *r, const char *text, size_t length, size_t *at, bool gemma) {
    static const char prefix[] = "call:", suffix[] = ".call";
    const char close = gemma ? '}' : ')', sign = gemma ? ':' : '=';
    oxi_reply_skip_space(text, length, at);
    if (gemma) {
        if (!oxi_reply_here(text, length, *at, prefix)) return false;
        *at += sizeof prefix - 1;
    }
    const size_t end = oxi_reply_name_end(text, length, *at);
    size_t bytes = end - *at;
    if (!gemma && bytes > sizeof suffix - 1 &&
        oxi_reply_here(text, length, end - (sizeof suffix - 1), suffix))
        bytes -= sizeof suffix - 1;
    if (end >= length || text[end] != (gemma ? '{' : '(')) return false;
    oxi_reply_call *call = oxi_reply_last(r);
    if (!oxi_reply_is_name(text + *at, bytes)) return false;
    call->name.start = r->texts.length;
    call->name.length = bytes;
    if (!oxi_reply_append(r, &r->texts, text + *at, bytes)) return false;
    call->arguments.start = r->texts.length;
    if (!oxi_reply_append(r, &r->texts, "{", 1)) return false;
    *at = end + 1;
    for (bool first = true;; first = false) {
        oxi_reply_skip_space(text, length, at);
        if (*at < length && text[*at] == close) break;
        if (!first && (*at >= length || text[(*at)++] != ',')) return false;
        oxi_reply_skip_space(text, length, at);
        if (!first && *at < length && text[*at] == close) break;
        const size_t key = *at, key_end = oxi_reply_name_end(text, length, key);
        if (key_end == key || (!first && !oxi_reply_append(r, &r->texts, ", ", 2))) return false;
        if (!oxi_reply_append_string(r, &r->texts, text + key, key_end - key)) return false;
        *at = key_end;
        oxi_reply_skip_space(text, length, at);
        if (*at >= length || text[(*at)++] != sign || !oxi_reply_append(r, &r->texts, ": ", 2)) return false;
        if (!oxi_reply_literal(r, text, length, at, 0)) return false;
    }
    ++*at;
    if (!oxi_reply_append(r, &r->texts, "}", 1)) return false;
    call = oxi_reply_last(r);
    call->arguments.length = r->texts.length - call->arguments.start;
    return true;
}

/* What was read without a word to the user is given now. */
static void oxi_reply_block_give(ox_llm_reply *r, size_t first) {
    const size_t count = r->call_count;
    for (r->call_count = first; r->call_count < count && !r->status;) {
        r->call_count++;
        oxi_reply_call *call = oxi_reply_last(r);
        oxi_reply_give(r, OX_LLM_REPLY_CALL, r->texts.data + call->name.start, call->name.length);
        oxi_reply_give(r, OX_LLM_REPLY_ARGUMENTS, r->texts.data + call->arguments.start,
                       call->arguments.length);
        call->announced = r->open = true;
        r->made = false;
        (void)oxi_reply_call_complete(r);
    }
}

static bool oxi_reply_code_block(ox_llm_reply *r, const char *text, size_t length) {
    if (!r->open && !(oxi_reply_call_begin(r) && oxi_reply_call_name(r, "python", 6))) return false;
    oxi_reply_trim(&text, &length);
    const size_t start = r->texts.length;
    if (!oxi_reply_append_word(r, &r->texts, "{\"code\": ") ||
        !oxi_reply_append_string(r, &r->texts, text, length) || !oxi_reply_append(r, &r->texts, "}", 1))
        return false;
    oxi_reply_call *call = oxi_reply_last(r);
    call->arguments = oxi_reply_piece_from(r, start);
    oxi_reply_give(r, OX_LLM_REPLY_ARGUMENTS, r->texts.data + start, r->texts.length - start);
    return oxi_reply_call_complete(r);
}

static bool oxi_reply_call_block(ox_llm_reply *r, const char *text, size_t length) {
    const size_t first = r->call_count, texts = r->texts.length;
    const bool gemma = r->state == OXI_REPLY_GEMMA;
    size_t at = 0;
    bool good = true;
    if (r->state == OXI_REPLY_CODE) return oxi_reply_code_block(r, text, length);
    oxi_reply_skip_space(text, length, &at);
    const bool list = at < length && text[at] == '[';
    if (list) at++;
    for (bool more = true; more && good;) {
        good = oxi_reply_call_begin(r) && oxi_reply_block_call(r, text, length, &at, gemma);
        if (!good) break;
        oxi_reply_skip_space(text, length, &at);
        more = list && at < length && text[at] == ',';
        if (more) at++;
    }
    if (list && good) good = at < length && text[at++] == ']';
    oxi_reply_skip_space(text, length, &at);
    r->open = false;
    good = good && at == length;
    for (size_t i = first; i < r->call_count && good; i++)
        good = oxi_reply_is_json(r->texts.data + r->calls[i].arguments.start, r->calls[i].arguments.length);
    if (good)
        oxi_reply_block_give(r, first);
    else {
        r->call_count = first;
        r->texts.length = texts;
    }
    return good;
}
