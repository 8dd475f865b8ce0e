/* The text on its way through the pipeline: buffers with the place of each byte, splits, tokens. */

/* The length of a character as GGUF's tokenizers take them: halves of surrogate pairs as well. 0 = none. */
static size_t oxi_loose_length(const char *text, size_t left) {
    const unsigned char *p = (const unsigned char *)text;
    if (left >= 3 && p[0] == 0xED && p[1] >= 0xA0 && p[1] <= 0xBF && (p[2] & 0xC0) == 0x80) return 3;
    return oxi_utf8_length(p, left);
}

static uint32_t oxi_text_from(const oxi_text *text, size_t at) {
    return text->from ? text->from[at] : (uint32_t)(text->base + at);
}

static uint32_t oxi_text_to(const oxi_text *text, size_t end) {
    return text->to ? text->to[end - 1] : (uint32_t)(text->base + end);
}

static oxi_buffer *oxi_put_begin(oxi_flow *work) {
    oxi_buffer *out = &work->buffers[work->turn];
    work->turn ^= 1;
    out->length = 0;
    out->most = work->text.length + work->growth;
    return out;
}

static size_t oxi_growth_of(size_t length) {
    return length * OXI_MOST_GROWTH + OXI_GROWTH_OF_NONE; /* texts are below 2^32 */
}

static ox_status oxi_buffer_reserve(oxi_buffer *out, size_t more) {
    const size_t need = out->length + more;
    if (out->most && need > out->most)
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: its steps make a text more than %d times as long",
                        OXI_MOST_GROWTH);
    if (out->bytes && need <= out->byte_room && need <= out->from_room && need <= out->to_room) return OX_OK;
    if (need >= UINT32_MAX) return oxi_fail(OX_ERR_NOMEM, "tokenizer: a text becomes longer than 2^32 bytes");
    void *bytes = oxi_grow(out->bytes, &out->byte_room, need, 1, false);
    if (bytes) out->bytes = (char *)bytes;
    void *from = oxi_grow(out->from, &out->from_room, need, sizeof *out->from, false);
    if (from) out->from = (uint32_t *)from;
    void *to = oxi_grow(out->to, &out->to_room, need, sizeof *out->to, false);
    if (to) out->to = (uint32_t *)to;
    return bytes && from && to ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_put(oxi_buffer *out, const char *bytes, size_t length, uint32_t from, uint32_t to) {
    const ox_status status = oxi_buffer_reserve(out, length);
    if (status) return status;
    for (size_t i = 0; i < length; i++) {
        out->bytes[out->length] = bytes[i];
        out->from[out->length] = from;
        out->to[out->length++] = to;
    }
    return OX_OK;
}

static ox_status oxi_put_code(oxi_buffer *out, uint32_t code, uint32_t from, uint32_t to) {
    char bytes[4];
    if (code < 128 && out->length < out->byte_room && out->length < out->from_room &&
        out->length < out->to_room) {
        out->bytes[out->length] = (char)code;
        out->from[out->length] = from;
        out->to[out->length++] = to;
        return OX_OK;
    }
    return oxi_put(out, bytes, oxi_utf8_write((int32_t)code, bytes), from, to);
}

/* [start, end) of a text as it is. */
static ox_status oxi_put_text(oxi_buffer *out, const oxi_text *text, size_t start, size_t end) {
    const ox_status status = oxi_buffer_reserve(out, end - start);
    if (status || end == start) return status;
    memcpy(out->bytes + out->length, text->bytes + start, end - start);
    if (text->from) {
        memcpy(out->from + out->length, text->from + start, (end - start) * sizeof *out->from);
        memcpy(out->to + out->length, text->to + start, (end - start) * sizeof *out->to);
    } else {
        for (size_t at = start; at < end;) {
            size_t next = at;
            (void)oxi_utf8_code(text->bytes, end, &next);
            for (size_t i = at; i < next; i++) {
                out->from[out->length + i - start] = (uint32_t)(text->base + at);
                out->to[out->length + i - start] = (uint32_t)(text->base + next);
            }
            at = next;
        }
    }
    out->length += end - start;
    return OX_OK;
}

static void oxi_put_end(oxi_flow *work, const oxi_buffer *out) {
    const size_t more = out->length > work->text.length ? out->length - work->text.length : 0;
    work->growth = work->growth > more ? work->growth - more : 0;
    work->text.bytes = out->bytes ? out->bytes : "";
    work->text.length = out->length;
    work->text.from = out->from;
    work->text.to = out->to;
    work->text.base = 0;
}

static ox_status oxi_split_push(oxi_split_list *list, size_t start, size_t end, bool match) {
    if (list->count == list->room) {
        void *grown = oxi_grow(list->list, &list->room, list->count + 1, sizeof *list->list, false);
        if (!grown) return OX_ERR_NOMEM;
        list->list = (oxi_stretch *)grown;
    }
    oxi_stretch *split = &list->list[list->count++];
    split->start = (uint32_t)start;
    split->end = (uint32_t)end;
    split->match = match;
    return OX_OK;
}

static ox_status oxi_token_push_place(oxi_flow *work, int32_t id, uint32_t from, uint32_t to) {
    oxi_token_list *tokens = &work->tokens;
    if (tokens->count == tokens->room) {
        void *grown = oxi_grow(tokens->list, &tokens->room, tokens->count + 1, sizeof *tokens->list, false);
        if (!grown) return OX_ERR_NOMEM;
        tokens->list = (oxi_token *)grown;
    }
    oxi_token *token = &tokens->list[tokens->count++];
    token->id = oxi_vocabulary_id(&work->tokenizer->vocabulary, id);
    token->from = from;
    token->to = to;
    token->leading = token->trailing = OXI_BY_ID;
    return OX_OK;
}

/* A token of a part of a character stands for all of it. */
static ox_status oxi_token_push(oxi_flow *work, int32_t id, size_t start, size_t end) {
    const oxi_text *text = &work->text;
    if (!work->places || end <= start) return oxi_token_push_place(work, id, 0, 0);
    if (text->from) return oxi_token_push_place(work, id, text->from[start], text->to[end - 1]);
    while (start > 0 && ((unsigned char)text->bytes[start] & 0xC0) == 0x80) start--;
    while (end < text->length && ((unsigned char)text->bytes[end] & 0xC0) == 0x80) end++;
    return oxi_token_push_place(work, id, (uint32_t)(text->base + start), (uint32_t)(text->base + end));
}

static ox_status oxi_token_push_own(oxi_flow *work, int32_t id, size_t start, size_t end) {
    const ox_status status = oxi_token_push(work, id, start, end);
    if (status || !work->places || end <= start) return status;
    oxi_token *token = &work->tokens.list[work->tokens.count - 1];
    token->leading = oxi_count_blanks(work->text.bytes + start, end - start, false);
    token->trailing = oxi_count_blanks(work->text.bytes + start, end - start, true);
    return OX_OK;
}

static void *oxi_work_scratch(oxi_flow *work, size_t bytes) {
    void *grown = oxi_grow(work->scratch, &work->scratch_bytes, bytes ? bytes : 1, 1, false);
    if (grown) work->scratch = grown;
    return grown;
}

static void oxi_buffer_free(oxi_buffer *buffer) {
    oxi_free(buffer->bytes, buffer->byte_room);
    oxi_free(buffer->from, buffer->from_room * sizeof *buffer->from);
    oxi_free(buffer->to, buffer->to_room * sizeof *buffer->to);
}

static void oxi_split_list_free(oxi_split_list *list) {
    oxi_free(list->list, list->room * sizeof *list->list);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static oxi_pipe_step *oxi_steps_add(oxi_steps *steps, const oxi_step_row *row) {
    void *grown = oxi_grow(steps->list, &steps->room, steps->count + 1, sizeof *steps->list, false);
    if (!grown) return NULL;
    steps->list = (oxi_pipe_step *)grown;
    oxi_pipe_step *step = &steps->list[steps->count++];
    memset(step, 0, sizeof *step);
    step->row = row;
    step->options = row ? row->usual : 0;
    return step;
}

/* The copy has a final 0. */
static ox_status oxi_step_set(char **text, size_t *length, const char *from, size_t bytes) {
    char *copy = (char *)oxi_alloc(bytes + 1);
    if (!copy) return OX_ERR_NOMEM;
    if (bytes) memcpy(copy, from, bytes);
    copy[bytes] = 0;
    if (*text) oxi_free(*text, *length + 1);
    *text = copy;
    *length = bytes;
    return OX_OK;
}

static ox_status oxi_step_set_pattern(ox_tokenizer *t, oxi_pipe_step *step, const char *text, size_t length) {
    ox_status status = oxi_unicode_open(&t->unicode, 0);
    if (status) return status;
    status = oxi_step_set(&step->find, &step->find_length, text, length);
    if (status || step->pattern) return status ? status : oxi_fail(OX_ERR_FORMAT, "tokenizer: two patterns");
    step->pattern = (oxi_pattern *)oxi_calloc(1, sizeof *step->pattern);
    return step->pattern ? oxi_pattern_open(step->pattern, &t->unicode, text, length) : OX_ERR_NOMEM;
}

static void oxi_steps_free(oxi_steps *steps) {
    for (size_t i = 0; i < steps->count; i++) {
        oxi_pipe_step *step = &steps->list[i];
        if (step->text) oxi_free(step->text, step->text_length + 1);
        if (step->find) oxi_free(step->find, step->find_length + 1);
        if (step->pattern) {
            oxi_pattern_close(step->pattern);
            oxi_free(step->pattern, sizeof *step->pattern);
        }
        oxi_free(step->ids, (step->single + step->pair) * sizeof *step->ids);
        oxi_free(step->types, step->single + step->pair);
    }
    oxi_free(steps->list, steps->room * sizeof *steps->list);
}
