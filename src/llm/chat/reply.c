/* The automaton that a format's marks make, over the text as it comes, and the functions that users call.
 * Bytes are read once; a mark that may still become a longer one, white space before a mark and the part of a
 * character wait. What a call was read from is kept until it is complete: if it breaks, it is content.
 * Called by users. */

static void oxi_reply_give(ox_llm_reply *r, ox_llm_reply_part part, const char *bytes, size_t length) {
    ox_llm_reply_delta delta;
    const bool is_text = part == OX_LLM_REPLY_CONTENT || part == OX_LLM_REPLY_REASONING;
    if (!r->delta || r->status || (is_text && !length)) return;
    delta.part = part;
    delta.call = is_text ? -1 : (int64_t)r->call_count - 1;
    delta.text.data = bytes;
    delta.text.length = (int64_t)length;
    r->delta(r->user, &delta);
}

static bool oxi_reply_append(ox_llm_reply *r, oxi_reply_text *text, const char *bytes, size_t length) {
    size_t wanted;
    if (r->status) return false;
    if (!oxi_add_size(text->length, length, &wanted) || wanted > SIZE_MAX / 4) wanted = SIZE_MAX / 4;
    if (wanted > text->room) {
        const size_t room = wanted < 128 ? 256 : wanted * 2;
        /* bytes may lie in the text itself */
        const bool own = text->data && bytes >= text->data && bytes < text->data + text->length;
        const size_t offset = own ? (size_t)(bytes - text->data) : 0;
        char *data = (char *)oxi_realloc(text->data, text->room, room);
        if (!data) {
            r->status = OX_ERR_NOMEM;
            return false;
        }
        text->data = data;
        text->room = room;
        if (own) bytes = data + offset;
    }
    if (length) memcpy(text->data + text->length, bytes, length);
    text->length += length;
    return true;
}

static bool oxi_reply_append_word(ox_llm_reply *r, oxi_reply_text *text, const char *word) {
    return oxi_reply_append(r, text, word, strlen(word));
}

/* ---- content and reasoning ----------------------------------------------------------------------------- */

static bool oxi_reply_is_text(uint32_t state) {
    return (state & (OXI_REPLY_START | OXI_REPLY_TEXT | OXI_REPLY_THINK | OXI_REPLY_AFTER)) != 0;
}

/* Gives away what is held up to `end`. */
static void oxi_reply_give_held(ox_llm_reply *r, size_t end) {
    const bool thinks = r->state == OXI_REPLY_THINK;
    if (end <= r->held) return;
    if (oxi_reply_append(r, thinks ? &r->reasoning : &r->content, r->raw.data + r->held, end - r->held))
        oxi_reply_give(r, thinks ? OX_LLM_REPLY_REASONING : OX_LLM_REPLY_CONTENT, r->raw.data + r->held,
                       end - r->held);
    r->held = end;
}

/* The end of the last whole character of raw in [low, end); what is no UTF-8 counts as whole. */
static size_t oxi_reply_whole(const ox_llm_reply *r, size_t low, size_t end) {
    for (size_t back = 1; back <= 3 && back <= end - low; back++) {
        const unsigned char c = (unsigned char)r->raw.data[end - back];
        if ((c & 0xC0) == 0x80) continue;
        return c >= 0xC2 && c <= 0xF4 && back < (c < 0xE0 ? 2u : c < 0xF0 ? 3u : 4u) ? end - back : end;
    }
    return end;
}

/* Text up to r->at has been read, from `before` on: all but the space at its end is given. */
static void oxi_reply_flush(ox_llm_reply *r, size_t before, bool at_mark) {
    const size_t back = before > 3 ? before - 3 : 0, low = back > r->held ? back : r->held;
    size_t end = r->at;
    if (!(r->state & (OXI_REPLY_TEXT | OXI_REPLY_THINK)) || r->behind) return;
    while (end > low && oxi_reply_is_space(r->raw.data[end - 1])) end--;
    if (end == low) return;
    oxi_reply_give_held(r, at_mark || r->ended ? end : oxi_reply_whole(r, r->held, end));
}

/* A value that is a text has been read up to `end`; it ends there if `ends`. A newline around it is the
 * format's. */
static void oxi_reply_flush_value(ox_llm_reply *r, size_t end, bool ends) {
    const bool trims = r->state == OXI_REPLY_VALUE;
    if (!r->sent || !(r->state & (OXI_REPLY_VALUE | OXI_REPLY_WORD))) return;
    if (trims && r->sent == r->part && end > r->part && r->raw.data[r->part] == '\n') r->sent++;
    const size_t low = r->sent;
    if (trims && end > low && r->raw.data[end - 1] == '\n') end--;
    if (!ends) end = oxi_reply_whole(r, low, end);
    oxi_reply_call_text(r, r->raw.data + low, end - low, ends);
    r->sent = end;
}

/* ---- states -------------------------------------------------------------------------------------------- */

/* What has been read since `settled` up to r->at is no call, but content. */
static void oxi_reply_fail(ox_llm_reply *r) {
    oxi_reply_call_withdraw(r);
    r->state = OXI_REPLY_TEXT;
    r->held = r->settled;
    if (r->after_call)
        while (r->held < r->at && oxi_reply_is_space(r->raw.data[r->held])) r->held++;
    r->behind = r->after_call && r->held == r->at;
    if (r->behind) r->state = OXI_REPLY_START;
    oxi_reply_flush(r, r->held + 3, false);
}

static void oxi_reply_enter(ox_llm_reply *r, uint32_t next) {
    r->state = next;
    r->part = r->at;
    r->begun = false;
    if (oxi_reply_is_text(next)) {
        r->held = r->settled = r->at;
        r->behind = true;
    }
    if (next & (OXI_REPLY_CALLS | OXI_REPLY_NAMED | OXI_REPLY_ARGUMENTS)) {
        oxi_reply_json_start(&r->json);
        r->base = 0;
        r->member = OXI_REPLY_OTHER;
    }
    if (next == OXI_REPLY_NAME) (void)oxi_reply_call_begin(r);
    r->sent = oxi_reply_call_begin_text(r, next) ? r->at : 0;
}

/* The word behind "to=" in a head; length 0 = none. */
static ox_string oxi_reply_recipient(const char *head, size_t length) {
    static const char prefix[] = "functions.";
    ox_string name;
    size_t at = 0;
    while (at + 3 <= length && memcmp(head + at, "to=", 3) != 0) at++;
    name.data = head;
    name.length = 0;
    if (at + 3 > length) return name;
    at += 3;
    if (oxi_reply_here(head, length, at, prefix)) at += sizeof prefix - 1;
    name.data = head + at;
    while (at < length && (unsigned char)head[at] > ' ' && head[at] != '<') at++;
    name.length = head + at - name.data;
    return name;
}

/* What follows a head: the state, or a call. */
static bool oxi_reply_head(ox_llm_reply *r, const char *head, size_t length) {
    static const char thoughts[] = "analysis";
    const ox_string to = oxi_reply_recipient(head, length);
    bool thinks = oxi_llm_text_is(to, "self");
    const bool is_call = (r->format->flags & OXI_REPLY_RECIPIENTS) && to.length &&
                         !oxi_llm_text_is(to, "user") && !oxi_llm_text_is(to, "assistant");
    for (size_t at = 0; at + sizeof thoughts - 1 <= length && !thinks; at++)
        thinks = memcmp(head + at, thoughts, sizeof thoughts - 1) == 0;
    if (!is_call) {
        oxi_reply_enter(r, thinks ? OXI_REPLY_THINK : OXI_REPLY_START);
        return true;
    }
    oxi_reply_enter(r, OXI_REPLY_ARGUMENTS);
    return oxi_reply_call_begin(r) && oxi_reply_call_name(r, to.data, (size_t)to.length);
}

/* The part that ends at `end`, in the state that is left for `next`; r->at is behind the mark. */
static bool oxi_reply_leave(ox_llm_reply *r, size_t end, uint32_t next) {
    const char *text = r->raw.data + r->part;
    size_t length = end - r->part;
    bool good = true;
    switch (r->state) {
    case OXI_REPLY_NAME: good = oxi_reply_call_name(r, text, length); break;
    case OXI_REPLY_ID: oxi_reply_call_id(r, text, length); break;
    case OXI_REPLY_KEY:
        oxi_reply_trim(&text, &length);
        r->key.start = r->texts.length;
        good = length && oxi_reply_append_string(r, &r->texts, text, length);
        r->key.length = r->texts.length - r->key.start;
        break;
    case OXI_REPLY_VALUE:
    case OXI_REPLY_WORD:
    case OXI_REPLY_DATA:
        if (r->sent)
            oxi_reply_flush_value(r, end, true);
        else
            good = oxi_reply_call_parameter(r, text, length, r->state);
        break;
    case OXI_REPLY_PYTHON:
    case OXI_REPLY_GEMMA:
    case OXI_REPLY_CODE: return oxi_reply_call_block(r, text, length);
    default: break;
    }
    return good && (next != OXI_REPLY_AFTER || !r->open || oxi_reply_call_complete(r));
}

/* The name is that of content, or the arguments are code: formats that have these say so in their flags. */
static bool oxi_reply_is_all(const ox_llm_reply *r, size_t end) {
    const char *text = r->raw.data + r->part;
    size_t length = end - r->part;
    oxi_reply_trim(&text, &length);
    return (r->format->flags & OXI_REPLY_ALL_IS_CONTENT) && length == 3 && memcmp(text, "all", 3) == 0;
}

/* A mark stands at `start`. */
static void oxi_reply_take_mark(ox_llm_reply *r, size_t start, const oxi_reply_mark *mark) {
    const uint32_t from = r->state;
    const size_t before = r->at;
    r->at = start;
    if (oxi_reply_is_text(from)) {
        oxi_reply_flush(r, before, true);
        r->settled = r->behind ? start : r->held;
        r->after_call = false;
    }
    r->at = start + strlen(mark->text) - mark->back;
    if (from == OXI_REPLY_NAME && oxi_reply_is_all(r, start)) {
        oxi_reply_call_withdraw(r);
        oxi_reply_enter(r, OXI_REPLY_START);
    } else if (from == OXI_REPLY_HEAD) {
        if (!oxi_reply_head(r, r->raw.data + r->part, start - r->part)) oxi_reply_fail(r);
    } else if (oxi_reply_leave(r, start, mark->next))
        oxi_reply_enter(r, mark->next);
    else
        oxi_reply_fail(r);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* The longest mark at raw[at] that counts in one of the states; *waits: more bytes may make a longer one. */
static const oxi_reply_mark *oxi_reply_find_mark(const ox_llm_reply *r, size_t at, uint32_t states,
                                                 bool *waits) {
    const oxi_reply_mark *found = NULL;
    const size_t left = r->raw.length - at;
    size_t longest = 0;
    *waits = false;
    for (const oxi_reply_mark *mark = r->format->marks; mark->in; mark++) {
        const size_t length = (mark->in & states) ? strlen(mark->text) : 0;
        if (length <= longest || memcmp(mark->text, r->raw.data + at, length < left ? length : left) != 0)
            continue;
        if (length > left) {
            *waits = true;
            continue;
        }
        found = mark;
        longest = length;
    }
    return found;
}

static uint32_t oxi_reply_states(uint32_t state) {
    if (state == OXI_REPLY_AFTER) return OXI_REPLY_AFTER | OXI_REPLY_START | OXI_REPLY_TEXT;
    return state == OXI_REPLY_START ? OXI_REPLY_START | OXI_REPLY_TEXT : state;
}

/* Whether the byte at `at`, where no mark begins, may stand in this state. Content and reasoning begin with
 * what is no space. */
static bool oxi_reply_allows(ox_llm_reply *r, size_t at) {
    const char c = r->raw.data[at];
    const bool space = oxi_reply_is_space(c);
    switch (r->state) {
    case OXI_REPLY_START:
    case OXI_REPLY_AFTER:
    case OXI_REPLY_THINK:
        if (space) return true;
        if (r->behind) r->held = at;
        r->behind = false;
        if (r->state != OXI_REPLY_THINK) r->state = OXI_REPLY_TEXT;
        return true;
    case OXI_REPLY_OPEN:
    case OXI_REPLY_PARAMETERS:
    case OXI_REPLY_GAP: return space;
    case OXI_REPLY_NAME:
    case OXI_REPLY_ID: return (space || oxi_reply_is_name(&c, 1)) && at - r->part <= OXI_REPLY_MOST_NAME;
    case OXI_REPLY_HEAD: return c != '\n' && at - r->part <= OXI_REPLY_MOST_NAME;
    case OXI_REPLY_KEY:
    case OXI_REPLY_SKIP: return at - r->part <= OXI_REPLY_MOST_NAME;
    default: return true;
    }
}

/* Reads up to a mark or the end of what there is. True: there may be more to do. */
static bool oxi_reply_scan(ox_llm_reply *r) {
    const size_t before = r->at;
    for (size_t at = before; at < r->raw.length; at++) {
        const uint32_t states = oxi_reply_states(r->state);
        bool waits = false;
        if (r->starts[(unsigned char)r->raw.data[at]] & states) {
            const oxi_reply_mark *mark = oxi_reply_find_mark(r, at, states, &waits);
            if (waits && !r->ended) {
                r->at = at;
                oxi_reply_flush(r, before, false);
                oxi_reply_flush_value(r, at, false);
                return false;
            }
            if (mark) {
                oxi_reply_take_mark(r, at, mark);
                return true;
            }
        }
        if (!oxi_reply_allows(r, at)) {
            r->at = at;
            oxi_reply_fail(r);
            return true;
        }
    }
    r->at = r->raw.length;
    oxi_reply_flush(r, before, false);
    oxi_reply_flush_value(r, r->at, false);
    return false;
}

/* Decides whether what begins at r->part, one or two brackets, is JSON. False: more bytes are needed. */
static bool oxi_reply_look(ox_llm_reply *r) {
    for (; r->at < r->raw.length; r->at++) {
        const char c = r->raw.data[r->at];
        if (oxi_reply_is_space(c)) continue;
        const bool second = r->part < r->at && r->raw.data[r->part] == '[';
        if (!second) r->part = r->at;
        if (r->state == OXI_REPLY_PYTHON && c == '[' && !second) continue;
        const bool is_json = c == '{';
        const size_t part = r->part;
        r->at = part;
        if (r->state == OXI_REPLY_PYTHON && is_json) oxi_reply_enter(r, OXI_REPLY_CALLS);
        if (r->state == OXI_REPLY_ARGUMENTS && !is_json) {
            const oxi_reply_call *call = &r->calls[r->call_count - 1];
            if ((r->format->flags & OXI_REPLY_PYTHON_CODE) && call->name.length == 6 &&
                memcmp(r->texts.data + call->name.start, "python", 6) == 0)
                r->state = OXI_REPLY_CODE;
        }
        r->part = part;
        r->begun = true;
        return true;
    }
    return false;
}

static bool oxi_reply_step(ox_llm_reply *r) {
    bool done;
    if (!r->begun && (r->state & (OXI_REPLY_PYTHON | OXI_REPLY_ARGUMENTS)) && !oxi_reply_look(r))
        return false;
    if (!(r->state & (OXI_REPLY_CALLS | OXI_REPLY_NAMED | OXI_REPLY_ARGUMENTS))) return oxi_reply_scan(r);
    if (!oxi_reply_call_json(r, &done)) {
        if (!r->status) oxi_reply_fail(r);
        return true;
    }
    if (done) oxi_reply_enter(r, OXI_REPLY_AFTER);
    return done;
}

static void oxi_reply_run(ox_llm_reply *r) {
    while (!r->status && oxi_reply_step(r)) continue;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* The text begins behind the mark that the prompt ends with, if there is one. */
static void oxi_reply_continue(ox_llm_reply *r, const char *prompt) {
    const oxi_reply_mark *found = NULL;
    size_t trimmed = strlen(prompt), longest = 0;
    const size_t whole = trimmed;
    while (trimmed && oxi_reply_is_space(prompt[trimmed - 1])) trimmed--;
    for (const oxi_reply_mark *mark = r->format->marks; mark->in; mark++) {
        const size_t length = strlen(mark->text);
        if (!(mark->in & OXI_REPLY_ANY) || mark->back || length <= longest) continue;
        if ((length <= whole && memcmp(prompt + whole - length, mark->text, length) == 0) ||
            (length <= trimmed && memcmp(prompt + trimmed - length, mark->text, length) == 0)) {
            found = mark;
            longest = length;
        }
    }
    if (found) oxi_reply_enter(r, found->next);
}

OX_API ox_llm_reply *ox_llm_reply_open(const ox_llm_reply_desc *desc) {
    const oxi_reply_format *format = &oxi_reply_formats[OXI_REPLY_FORMATS - 1];
    if (desc && desc->format)
        format = oxi_reply_format_by_name(desc->format);
    else if (desc && desc->source)
        format = oxi_reply_format_by_source(desc->source);
    if (!format) {
        (void)oxi_fail(OX_ERR_ARG, "reply: there is no format '%.60s'", desc->format);
        return NULL;
    }
    ox_llm_reply *r = (ox_llm_reply *)oxi_calloc(1, sizeof *r);
    if (!r) return NULL;
    r->format = format;
    r->state = OXI_REPLY_START;
    for (const oxi_reply_mark *mark = format->marks; mark->in; mark++)
        r->starts[(unsigned char)*mark->text] |= mark->in;
    if (!desc) return r;
    r->delta = desc->delta;
    r->user = desc->user;
    r->first_id = desc->first_id;
    if (desc->tools && oxi_json_parse("reply: tools", desc->tools, strlen(desc->tools), &r->tools)) {
        memset(&r->tools, 0, sizeof r->tools);
        ox_llm_reply_close(r);
        return NULL;
    }
    if (desc->prompt) oxi_reply_continue(r, desc->prompt);
    if (!r->status) return r;
    ox_llm_reply_close(r);
    return NULL;
}

OX_API void ox_llm_reply_close(ox_llm_reply *r) {
    if (!r) return;
    oxi_free(r->raw.data, r->raw.room);
    oxi_free(r->content.data, r->content.room);
    oxi_free(r->reasoning.data, r->reasoning.room);
    oxi_free(r->texts.data, r->texts.room);
    oxi_free(r->message.data, r->message.room);
    oxi_free(r->calls, r->call_room * sizeof *r->calls);
    if (r->tools.nodes) oxi_json_free(&r->tools);
    oxi_free(r, sizeof *r);
}

OX_API ox_status ox_llm_reply_feed(ox_llm_reply *r, const char *bytes, int64_t length) {
    if (!r || (!bytes && length)) return oxi_fail_missing(r ? "reply: the text" : "reply: the reply");
    if (r->ended) return oxi_fail(OX_ERR_ARG, "reply: more text after its end");
    if (r->status) return r->status;
    if (!oxi_reply_append(r, &r->raw, bytes, length < 0 ? strlen(bytes) : (size_t)length)) return r->status;
    oxi_reply_run(r);
    return r->status;
}

OX_API ox_status ox_llm_reply_end(ox_llm_reply *r) {
    if (!r) return oxi_fail_missing("reply: the reply");
    if (r->ended || r->status) return r->status;
    r->ended = true;
    oxi_reply_run(r);
    r->at = r->raw.length;
    if (!r->status && (r->state & OXI_REPLY_BLOCK) && oxi_reply_leave(r, r->at, OXI_REPLY_AFTER))
        oxi_reply_enter(r, OXI_REPLY_AFTER);
    if (!r->status && !oxi_reply_is_text(r->state)) oxi_reply_fail(r);
    if (!r->status && (r->state & OXI_REPLY_ANY) && !r->behind) oxi_reply_give_held(r, r->at);
    return r->status;
}

/* ---- reading the result -------------------------------------------------------------------------------- */

static ox_string oxi_reply_string(const char *data, size_t length) {
    ox_string text;
    text.data = data ? data : "";
    text.length = (int64_t)length;
    return text;
}

OX_API ox_llm_reply_state ox_llm_reply_get(const ox_llm_reply *r) {
    ox_llm_reply_state state;
    memset(&state, 0, sizeof state);
    state.content = oxi_reply_string(r ? r->content.data : NULL, r ? r->content.length : 0);
    state.reasoning = oxi_reply_string(r ? r->reasoning.data : NULL, r ? r->reasoning.length : 0);
    if (!r) return state;
    state.calls = (int64_t)r->call_count;
    state.format = r->format->name;
    state.reasons = r->state == OXI_REPLY_THINK;
    return state;
}

OX_API ox_llm_reply_call ox_llm_reply_get_call(const ox_llm_reply *r, int64_t index) {
    ox_llm_reply_call result;
    memset(&result, 0, sizeof result);
    if (!r || index < 0 || (uint64_t)index >= r->call_count) return result;
    const oxi_reply_call *call = &r->calls[index];
    result.id = oxi_reply_string(r->texts.data + call->id.start, call->id.length);
    result.name = oxi_reply_string(r->texts.data + call->name.start, call->name.length);
    result.arguments = oxi_reply_string(r->texts.data + call->arguments.start, call->arguments.length);
    result.complete = call->complete;
    return result;
}
