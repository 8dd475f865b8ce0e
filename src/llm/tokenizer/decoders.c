/* Decoders: each reads a list of texts, one for each token, and writes the next one.
 * source huggingface/tokenizers, decoders (0.23) */

static void oxi_decode_list_free(oxi_decode_list *list) {
    oxi_buffer_free(&list->bytes[0]);
    oxi_buffer_free(&list->bytes[1]);
    oxi_split_list_free(&list->tokens);
    oxi_split_list_free(&list->next);
}

static const char *oxi_decode_text(const oxi_decode_list *list, size_t i, size_t *length) {
    const oxi_stretch *token = &list->tokens.list[i];
    *length = token->end - token->start;
    const char *bytes = list->bytes[list->turn ^ 1].bytes; /* NULL: all texts are empty */
    return bytes ? bytes + token->start : "";
}

static oxi_buffer *oxi_decode_begin(oxi_decode_list *list) {
    oxi_buffer *out = &list->bytes[list->turn];
    out->length = 0;
    out->most = list->bytes[list->turn ^ 1].length + list->growth;
    list->next.count = 0;
    return out;
}

static void oxi_decode_end(oxi_decode_list *list) {
    const size_t before = list->bytes[list->turn ^ 1].length, now = list->bytes[list->turn].length;
    if (now > before) list->growth = list->growth > now - before ? list->growth - (now - before) : 0;
    const oxi_split_list old = list->tokens;
    list->tokens = list->next;
    list->next = old;
    list->turn ^= 1;
}

/* Bytes that are not UTF-8 become U+FFFD: one for each longest start of a character. */
static ox_status oxi_put_lossy(oxi_buffer *out, const char *text, size_t length) {
    ox_status status = OX_OK;
    for (size_t at = 0; at < length && !status;) {
        const unsigned char *p = (const unsigned char *)text + at;
        size_t used = oxi_utf8_length(p, length - at);
        status = used ? oxi_put(out, text + at, used, 0, 0) : oxi_put(out, "\xef\xbf\xbd", 3, 0, 0);
        at += used ? used : oxi_utf8_broken_length(p, length - at);
    }
    return status;
}

/* The tokens' bytes; a text with other characters stands for itself. All in one. */
static ox_status oxi_decode_byte_level(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    (void)step;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length;
        const char *text = oxi_decode_text(list, i, &length);
        const bool bytes = oxi_is_byte_text(text, length);
        for (size_t at = 0; at < length && bytes && !status;) {
            const char byte = (char)oxi_char_byte(oxi_utf8_code(text, length, &at));
            status = oxi_put(out, &byte, 1, 0, 0);
        }
        if (!bytes && !status) status = oxi_put(out, text, length, 0, 0);
    }
    if (!status && list->lossy && !oxi_utf8_is_valid(out->bytes ? out->bytes : "", out->length)) {
        list->turn ^= 1;
        oxi_buffer *clean = &list->bytes[list->turn];
        clean->length = clean->most = 0; /* three times as long at most */
        status = oxi_put_lossy(clean, out->bytes, out->length);
        out = clean;
    }
    if (!status) status = oxi_split_push(&list->next, 0, out->length, false);
    oxi_decode_end(list);
    return status;
}

/* Writes text[0, length) with every `from` as `to`. */
static ox_status oxi_put_replaced(oxi_buffer *out, const char *text, size_t length, const char *from,
                                  size_t from_length, const char *to, size_t to_length) {
    ox_status status = OX_OK;
    for (size_t at = 0; at < length && !status;) {
        const char *found = from_length ? (const char *)memchr(text + at, from[0], length - at) : NULL;
        const size_t next = found ? (size_t)(found - text) : length;
        status = oxi_put(out, text + at, next - at, 0, 0);
        at = next;
        if (at >= length || status) break;
        const bool same = length - at >= from_length && memcmp(text + at, from, from_length) == 0;
        status = same ? oxi_put(out, to, to_length, 0, 0) : oxi_put(out, text + at, 1, 0, 0);
        at += same ? from_length : 1;
    }
    return status;
}

/* The token that was begun at `start` is done: written in place of those before. */
static ox_status oxi_decode_put_end(oxi_decode_list *list, const oxi_buffer *out, size_t start) {
    return oxi_split_push(&list->next, start, out->length, false);
}

/* Spaces before punctuation and contractions go. */
static ox_status oxi_put_cleaned(oxi_buffer *out, size_t start) {
    static const char *const pairs[][2] = {
        {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
        {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    oxi_buffer other;
    ox_status status = OX_OK;
    memset(&other, 0, sizeof other);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !status; i++) {
        const size_t length = out->length - start;
        if (length == 0 || !memchr(out->bytes + start, ' ', length)) break;
        other.length = 0;
        status = oxi_put_replaced(&other, out->bytes + start, length, pairs[i][0], strlen(pairs[i][0]),
                                  pairs[i][1], strlen(pairs[i][1]));
        out->length = start;
        if (!status) status = oxi_put(out, other.bytes ? other.bytes : "", other.length, 0, 0);
    }
    oxi_buffer_free(&other);
    return status;
}

static ox_status oxi_decode_word_piece(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length;
        const char *text = oxi_decode_text(list, i, &length);
        const size_t start = out->length, prefix = step->text_length;
        const bool later = i > 0 || !list->first;
        if (later && length >= prefix && memcmp(text, step->text, prefix) == 0) {
            status = oxi_put(out, text + prefix, length - prefix, 0, 0);
        } else {
            if (later) status = oxi_put(out, " ", 1, 0, 0);
            if (!status) status = oxi_put(out, text, length, 0, 0);
        }
        if (!status && (step->options & OXI_CLEANUP)) status = oxi_put_cleaned(out, start);
        if (!status) status = oxi_decode_put_end(list, out, start);
    }
    oxi_decode_end(list);
    return status;
}

/* The replacement as a space, at the start of the text as nothing where encoding put one. */
static ox_status oxi_decode_metaspace(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length;
        const char *text = oxi_decode_text(list, i, &length);
        const size_t start = out->length;
        const bool first = i == 0 && list->first && step->prepend != OXI_PREPEND_NEVER;
        status = oxi_put_replaced(out, text, length, step->find, step->find_length, " ", first ? 0 : 1);
        if (!status) status = oxi_decode_put_end(list, out, start);
    }
    oxi_decode_end(list);
    return status;
}

/* A space around each character, as replacing nothing gives it. */
static ox_status oxi_put_apart(oxi_buffer *out, const char *text, size_t length) {
    ox_status status = oxi_put(out, " ", 1, 0, 0);
    for (size_t at = 0; at < length && !status;) {
        const size_t start = at;
        (void)oxi_utf8_code(text, length, &at);
        status = oxi_put(out, text + start, at - start, 0, 0);
        if (!status) status = oxi_put(out, " ", 1, 0, 0);
    }
    return status;
}

/* The suffix as a space, at the end of the text as nothing. */
static ox_status oxi_decode_bpe(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length;
        const char *text = oxi_decode_text(list, i, &length);
        const size_t start = out->length;
        const bool last = i + 1 == list->tokens.count && list->last;
        status = step->text_length == 0 && !last
                     ? oxi_put_apart(out, text, length)
                     : oxi_put_replaced(out, text, length, step->text, step->text_length, " ", last ? 0 : 1);
        if (!status) status = oxi_decode_put_end(list, out, start);
    }
    oxi_decode_end(list);
    return status;
}

/* Runs of byte tokens: their characters, or a U+FFFD for each of them if they are none. */
static ox_status oxi_decode_byte_fallback(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    (void)step;
    for (size_t i = 0; i < list->tokens.count && !status;) {
        size_t length, end = i;
        const size_t start = out->length;
        const char *text = oxi_decode_text(list, i, &length);
        for (; end < list->tokens.count && !status; end++) {
            text = oxi_decode_text(list, end, &length);
            const int byte = oxi_byte_of_text(text, length);
            if (byte < 0) break;
            const char c = (char)byte;
            status = oxi_put(out, &c, 1, 0, 0);
        }
        if (end == i) {
            text = oxi_decode_text(list, i, &length);
            status = oxi_put(out, text, length, 0, 0);
            end = i + 1;
        } else if (!status && list->lossy && !oxi_utf8_is_valid(out->bytes + start, out->length - start)) {
            out->length = start;
            for (size_t k = i; k < end && !status; k++) status = oxi_put(out, "\xef\xbf\xbd", 3, 0, 0);
        }
        i = end;
        if (!status) status = oxi_decode_put_end(list, out, start);
    }
    oxi_decode_end(list);
    return status;
}

static ox_status oxi_decode_fuse(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    (void)step;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length;
        const char *text = oxi_decode_text(list, i, &length);
        status = oxi_put(out, text, length, 0, 0);
    }
    if (!status) status = oxi_decode_put_end(list, out, 0);
    oxi_decode_end(list);
    return status;
}

/* Up to `start` of a character at the start of each text, up to `stop` at its end. A text that is all in one
 * is only cut where the whole text begins and ends. */
static ox_status oxi_decode_strip(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length, from = 0;
        const char *text = oxi_decode_text(list, i, &length);
        const size_t start = out->length, n = step->find_length;
        size_t to = length;
        for (int64_t k = 0; list->first && k < step->start && to - from >= n && n > 0; k++, from += n)
            if (memcmp(text + from, step->find, n) != 0) break;
        for (int64_t k = 0; list->last && k < step->stop && to - from >= n && n > 0; k++, to -= n)
            if (memcmp(text + to - n, step->find, n) != 0) break;
        status = oxi_put(out, text + from, to - from, 0, 0);
        if (!status) status = oxi_decode_put_end(list, out, start);
    }
    oxi_decode_end(list);
    return status;
}

static ox_status oxi_decode_replace(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    oxi_flow work;
    ox_status status = OX_OK;
    memset(&work, 0, sizeof work);
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length, at = 0;
        const char *text = oxi_decode_text(list, i, &length);
        const size_t start = out->length;
        oxi_step_matches match = {0, 0, SIZE_MAX};
        oxi_matcher_reset(&work.matcher, length);
        while (!status && oxi_step_next(step, &work, text, length, &match)) {
            status = oxi_put(out, text + at, match.start - at, 0, 0);
            if (!status) status = oxi_put(out, step->text, step->text_length, 0, 0);
            at = match.end;
        }
        if (!status) status = work.matcher.status;
        if (!status) status = oxi_put(out, text + at, length - at, 0, 0);
        if (!status) status = oxi_decode_put_end(list, out, start);
    }
    oxi_matcher_free(&work.matcher);
    oxi_decode_end(list);
    return status;
}

/* Repeated tokens once, the padding not at all, the delimiter of words as a space. */
static ox_status oxi_decode_ctc(const oxi_pipe_step *step, oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    const char *before = NULL;
    size_t before_length = 0;
    ox_status status = OX_OK;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length;
        const char *text = oxi_decode_text(list, i, &length);
        const bool again = before && length == before_length && memcmp(text, before, length) == 0;
        const size_t start = out->length;
        before = text;
        before_length = length;
        if (again) continue;
        status = oxi_put_replaced(out, text, length, step->find, step->find_length, "", 0);
        if (!status && (step->options & OXI_CLEANUP)) status = oxi_put_cleaned(out, start);
        if (!status && (step->options & OXI_CLEANUP)) {
            char *copy = NULL;
            size_t copied = 0;
            status = oxi_step_set(&copy, &copied, out->bytes + start, out->length - start);
            if (status) break;
            out->length = start;
            status = oxi_put_replaced(out, copy, copied, step->text, step->text_length, " ", 1);
            oxi_free(copy, copied + 1);
        }
        if (!status && out->length > start) status = oxi_decode_put_end(list, out, start);
    }
    oxi_decode_end(list);
    return status;
}

static const oxi_step_row oxi_decoders[] = {
    {"ByteLevel", 0, 0, 0, NULL, oxi_decode_byte_level},
    {"WordPiece", 0, OXI_CLEANUP, 0, NULL, oxi_decode_word_piece},
    {"Metaspace", 0, 0, 0, NULL, oxi_decode_metaspace},
    {"BPEDecoder", 0, 0, 0, NULL, oxi_decode_bpe},
    {"ByteFallback", 0, 0, 0, NULL, oxi_decode_byte_fallback},
    {"Fuse", 0, 0, 0, NULL, oxi_decode_fuse},
    {"Strip", 0, 0, 0, NULL, oxi_decode_strip},
    {"Replace", 0, 0, 0, NULL, oxi_decode_replace},
    {"CTC", 0, OXI_CLEANUP, 0, NULL, oxi_decode_ctc},
};

static const oxi_step_row *oxi_decoder_row(const char *name) {
    return oxi_row_named(oxi_decoders, sizeof oxi_decoders / sizeof *oxi_decoders, name);
}
