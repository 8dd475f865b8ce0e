/* Pre-tokenizers: each splits every word that there is into words, some after changing the text.
 * source huggingface/tokenizers, pre_tokenizers (0.23) */

/* ---- what to do with the matches ----------------------------------------------------------------------- */

/* Turns what was found in one word (parts in order, each a match or not) into words. */
static ox_status oxi_keep_splits(oxi_flow *work, oxi_behavior behavior) {
    oxi_stretch *list = work->found.list;
    const size_t count = work->found.count;
    ox_status status = OX_OK;
    bool before = false;
    size_t kept = 0;
    if (behavior == OXI_MERGED_WITH_NEXT) {
        kept = count;
        for (size_t i = count; i-- > 0;) {
            const oxi_stretch part = list[i];
            if (part.match && !before && kept < count)
                list[kept].start = part.start;
            else
                list[--kept] = part;
            before = part.match;
        }
        for (size_t i = kept; i < count && !status; i++)
            if (list[i].end > list[i].start)
                status = oxi_split_push(&work->next, list[i].start, list[i].end, false);
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        const oxi_stretch part = list[i];
        const bool joins = behavior == OXI_CONTIGUOUS             ? part.match == before
                           : behavior == OXI_MERGED_WITH_PREVIOUS ? part.match && !before
                                                                  : false;
        before = part.match;
        if (behavior == OXI_REMOVED && part.match) continue;
        if (joins && kept > 0)
            list[kept - 1].end = part.end;
        else
            list[kept++] = part;
    }
    for (size_t i = 0; i < kept && !status; i++)
        if (list[i].end > list[i].start)
            status = oxi_split_push(&work->next, list[i].start, list[i].end, false);
    return status;
}

static void oxi_swap_splits(oxi_flow *work) {
    const oxi_split_list old = work->splits;
    work->splits = work->next;
    work->next = old;
    work->next.count = 0;
}

/* Splits by the matches of a step. */
static ox_status oxi_split_by_step(const oxi_pipe_step *step, oxi_flow *work, oxi_behavior behavior,
                                   bool invert) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        const oxi_stretch word = work->splits.list[i];
        const char *text = work->text.bytes + word.start;
        const size_t length = word.end - word.start;
        const bool plain = behavior == OXI_ISOLATED;
        oxi_split_list *out = plain ? &work->next : &work->found;
        oxi_step_matches match = {0, 0, SIZE_MAX};
        size_t at = 0;
        work->found.count = 0;
        oxi_matcher_reset(&work->matcher, length);
        while (!status && oxi_step_next(step, work, text, length, &match)) {
            const size_t start = match.start, end = match.end;
            if (start > at) status = oxi_split_push(out, word.start + at, word.start + start, invert);
            if (!status && (end > start || !plain))
                status = oxi_split_push(out, word.start + start, word.start + end, !invert);
            at = end;
        }
        if (!status) status = work->matcher.status;
        if (!status && at < length)
            status = oxi_split_push(out, word.start + at, word.start + length, invert);
        if (!status && !plain) status = oxi_keep_splits(work, behavior);
    }
    oxi_swap_splits(work);
    return status;
}

typedef bool (*oxi_char_test)(const oxi_flow *work, const oxi_pipe_step *step, uint32_t code);

/* Each character that passes is a match; those between are one. */
static ox_status oxi_split_by_char(const oxi_pipe_step *step, oxi_flow *work, oxi_char_test test,
                                   oxi_behavior behavior) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        const oxi_stretch word = work->splits.list[i];
        size_t from = word.start;
        work->found.count = 0;
        for (size_t at = word.start; at < word.end && !status;) {
            size_t next = at;
            if (test(work, step, oxi_utf8_code(work->text.bytes, word.end, &next))) {
                if (at > from) status = oxi_split_push(&work->found, from, at, false);
                if (!status) status = oxi_split_push(&work->found, at, next, true);
                from = next;
            }
            at = next;
        }
        if (!status && word.end > from) status = oxi_split_push(&work->found, from, word.end, false);
        if (!status) status = oxi_keep_splits(work, behavior);
    }
    oxi_swap_splits(work);
    return status;
}

static bool oxi_test_space(const oxi_flow *work, const oxi_pipe_step *step, uint32_t code) {
    (void)work;
    (void)step;
    return oxi_is_white_space(code);
}

static bool oxi_test_punctuation(const oxi_flow *work, const oxi_pipe_step *step, uint32_t code) {
    (void)step;
    if (code < 128)
        return (code >= 33 && code <= 47) || (code >= 58 && code <= 64) || (code >= 91 && code <= 96) ||
               (code >= 123 && code <= 126);
    const bool is = (oxi_category_bit(&work->tokenizer->unicode, code) & OXI_PUNCTUATION) != 0;
    return is != OXI_OLDER(punctuation, code);
}

/* Numbers as Rust's library has them: those of Unicode 17 too, in two ranges. */
static bool oxi_test_number(const oxi_flow *work, const oxi_pipe_step *step, uint32_t code) {
    (void)step;
    if ((code >= 0x11de0 && code <= 0x11de9) || (code >= 0x16ff4 && code <= 0x16ff6)) return true;
    return (oxi_category_bit(&work->tokenizer->unicode, code) & OXI_NUMBERS) != 0;
}

static bool oxi_test_find(const oxi_flow *work, const oxi_pipe_step *step, uint32_t code) {
    size_t at = 0;
    (void)work;
    return step->find_length > 0 && oxi_utf8_code(step->find, step->find_length, &at) == code;
}

/* Rust's word characters: joiners and circled letters are some as well. */
static bool oxi_is_wide_word(const oxi_unicode *u, uint32_t code) {
    return (oxi_category_bit(u, code) & OXI_WORD_KINDS) || code == 0x200C || code == 0x200D ||
           (code >= 0x24B6 && code <= 0x24E9) || (code >= 0x1F130 && code <= 0x1F149) ||
           (code >= 0x1F150 && code <= 0x1F169) || (code >= 0x1F170 && code <= 0x1F189);
}

/* Runs of word characters, and runs of others that are no white space. */
static ox_status oxi_pre_whitespace(const oxi_pipe_step *step, oxi_flow *work) {
    ox_status status = OX_OK;
    (void)step;
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        const oxi_stretch word = work->splits.list[i];
        size_t from = word.start;
        int last = 0; /* white space */
        for (size_t at = word.start; at < word.end && !status;) {
            const size_t here = at;
            const uint32_t code = oxi_utf8_code(work->text.bytes, word.end, &at);
            const int kind = oxi_is_wide_word(&work->tokenizer->unicode, code) ? 1
                             : oxi_is_white_space(code)                        ? 0
                                                                               : 2;
            if (kind != last) {
                if (last) status = oxi_split_push(&work->next, from, here, false);
                from = here;
            }
            last = kind;
        }
        if (!status && last) status = oxi_split_push(&work->next, from, word.end, false);
    }
    oxi_swap_splits(work);
    return status;
}

/* ---- the rows ------------------------------------------------------------------------------------------ */

static ox_status oxi_pre_split(const oxi_pipe_step *step, oxi_flow *work) {
    return oxi_split_by_step(step, work, step->behavior, (step->options & OXI_INVERT) != 0);
}

static ox_status oxi_pre_bert(const oxi_pipe_step *step, oxi_flow *work) {
    const ox_status status = oxi_split_by_char(step, work, oxi_test_space, OXI_REMOVED);
    return status ? status : oxi_split_by_char(step, work, oxi_test_punctuation, OXI_ISOLATED);
}

/* GGUF's: ASCII symbols and ideographs stand alone as well. */
static bool oxi_test_alone(const oxi_flow *work, const oxi_pipe_step *step, uint32_t code) {
    const uint32_t bit = oxi_category_bit(&work->tokenizer->unicode, code);
    (void)step;
    return (bit & OXI_PUNCTUATION) || (code < 0x7F && (bit & OXI_SYMBOLS)) || oxi_is_ideograph(code);
}

static ox_status oxi_pre_bert_gguf(const oxi_pipe_step *step, oxi_flow *work) {
    const ox_status status = oxi_split_by_char(step, work, oxi_test_space, OXI_REMOVED);
    return status ? status : oxi_split_by_char(step, work, oxi_test_alone, OXI_ISOLATED);
}

static ox_status oxi_pre_whitespace_split(const oxi_pipe_step *step, oxi_flow *work) {
    return oxi_split_by_char(step, work, oxi_test_space, OXI_REMOVED);
}

static ox_status oxi_pre_punctuation(const oxi_pipe_step *step, oxi_flow *work) {
    return oxi_split_by_char(step, work, oxi_test_punctuation, step->behavior);
}

static ox_status oxi_pre_digits(const oxi_pipe_step *step, oxi_flow *work) {
    const bool each = (step->options & OXI_INDIVIDUAL_DIGITS) != 0;
    return oxi_split_by_char(step, work, oxi_test_number, each ? OXI_ISOLATED : OXI_CONTIGUOUS);
}

static ox_status oxi_pre_delimiter(const oxi_pipe_step *step, oxi_flow *work) {
    return oxi_split_by_char(step, work, oxi_test_find, OXI_REMOVED);
}

static ox_status oxi_pre_fixed_length(const oxi_pipe_step *step, oxi_flow *work) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        const oxi_stretch word = work->splits.list[i];
        int64_t characters = 0;
        size_t from = word.start;
        for (size_t at = word.start; at < word.end && !status;) {
            (void)oxi_utf8_code(work->text.bytes, word.end, &at);
            if (++characters < step->start && at < word.end) continue;
            status = oxi_split_push(&work->next, from, at, false);
            from = at;
            characters = 0;
        }
    }
    oxi_swap_splits(work);
    return status;
}

/* A new word where the script changes; spaces belong to any script, kana to Han. */
static ox_status oxi_pre_scripts(const oxi_pipe_step *step, oxi_flow *work) {
    const oxi_unicode *u = &work->tokenizer->unicode;
    ox_status status = OX_OK;
    (void)step;
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        const oxi_stretch word = work->splits.list[i];
        size_t from = SIZE_MAX;
        int last = -1; /* no character yet */
        for (size_t at = word.start; at < word.end && !status;) {
            const size_t here = at;
            const uint32_t code = oxi_utf8_code(work->text.bytes, word.end, &at);
            const int script = oxi_property_of(&u->script, code);
            if (script == 0) continue;
            if (script != last) {
                if (from != SIZE_MAX) status = oxi_split_push(&work->next, from, here, false);
                from = here;
            }
            last = script;
        }
        if (!status && from != SIZE_MAX) status = oxi_split_push(&work->next, from, word.end, false);
    }
    oxi_swap_splits(work);
    return status;
}

/* Copies words to a new text, each with a prefix where it has none and one is due. */
static ox_status oxi_prefix_words(const oxi_pipe_step *step, oxi_flow *work, const char *prefix,
                                  size_t length, bool spaces, bool first_only) {
    const oxi_text text = work->text;
    oxi_buffer *out = oxi_put_begin(work);
    ox_status status = OX_OK;
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        oxi_stretch *word = &work->splits.list[i];
        const size_t start = out->length;
        const oxi_char c = oxi_char_at(&text, word->start);
        const char *first = text.bytes + word->start;
        const bool has = (spaces && *first == ' ') ||
                         (word->end - word->start >= length && memcmp(first, prefix, length) == 0);
        if (step->prepend != OXI_PREPEND_NEVER && !has && !(first_only && c.from != 0))
            status = oxi_put(out, prefix, length, c.from, c.to);
        for (size_t at = word->start; at < word->end && !status;) {
            if (spaces && text.bytes[at] == ' ') {
                status = oxi_put(out, prefix, length, oxi_text_from(&text, at), oxi_text_to(&text, at + 1));
                at++;
                continue;
            }
            const char *space = spaces ? (const char *)memchr(text.bytes + at, ' ', word->end - at) : NULL;
            const size_t next = space ? (size_t)(space - text.bytes) : word->end;
            status = oxi_put_text(out, &text, at, next);
            at = next;
        }
        word->start = (uint32_t)start;
        word->end = (uint32_t)out->length;
    }
    oxi_put_end(work, out);
    return status;
}

static ox_status oxi_pre_metaspace(const oxi_pipe_step *step, oxi_flow *work) {
    const ox_status status =
        oxi_prefix_words(step, work, step->find, step->find_length, true, step->prepend == OXI_PREPEND_FIRST);
    if (status || !(step->options & OXI_SPLIT)) return status;
    return oxi_split_by_step(step, work, OXI_MERGED_WITH_NEXT, false);
}

static ox_status oxi_pre_byte_level(const oxi_pipe_step *step, oxi_flow *work) {
    const oxi_steps *steps = &work->tokenizer->pre_tokenizers;
    ox_status status = OX_OK;
    if (step->options & OXI_ADD_PREFIX_SPACE) {
        oxi_pipe_step always = *step;
        always.prepend = OXI_PREPEND_ALWAYS;
        status = oxi_prefix_words(&always, work, " ", 1, false, false);
    }
    if (!status && (step->options & OXI_USE_REGEX))
        status = oxi_split_by_step(step, work, OXI_ISOLATED, false);
    if (status || (work->tokenizer->model.whole_word && step == &steps->list[steps->count - 1]))
        return status;
    const oxi_text text = work->text;
    oxi_buffer *out = oxi_put_begin(work);
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        oxi_stretch *word = &work->splits.list[i];
        const size_t start = out->length;
        status = oxi_byte_chars(work, &text, word->start, word->end, out);
        word->start = (uint32_t)start;
        word->end = (uint32_t)out->length;
    }
    oxi_put_end(work, out);
    return status;
}

static const oxi_step_row oxi_pre_tokenizers[] = {
    {"ByteLevel", 0, OXI_ADD_PREFIX_SPACE | OXI_USE_REGEX | OXI_TRIM_OFFSETS, 0, oxi_pre_byte_level, NULL},
    {"BertPreTokenizer", 0, 0, 0, oxi_pre_bert, NULL},
    {"Whitespace", 0, 0, 0, oxi_pre_whitespace, NULL},
    {"WhitespaceSplit", 0, 0, 0, oxi_pre_whitespace_split, NULL},
    {"Metaspace", 0, OXI_SPLIT, 0, oxi_pre_metaspace, NULL},
    {"Punctuation", 0, 0, 0, oxi_pre_punctuation, NULL},
    {"Digits", 0, 0, 0, oxi_pre_digits, NULL},
    {"CharDelimiterSplit", 0, 0, 0, oxi_pre_delimiter, NULL},
    {"Split", 0, 0, 0, oxi_pre_split, NULL},
    {"UnicodeScripts", 0, 0, OXI_UNICODE_SCRIPTS, oxi_pre_scripts, NULL},
    {"FixedLength", 0, 0, 0, oxi_pre_fixed_length, NULL},
    {"bert", 0, 0, 0, oxi_pre_bert_gguf, NULL}, /* of GGUF files */
};

static const oxi_step_row *oxi_pre_tokenizer_row(const char *name) {
    return oxi_row_named(oxi_pre_tokenizers, sizeof oxi_pre_tokenizers / sizeof *oxi_pre_tokenizers, name);
}
