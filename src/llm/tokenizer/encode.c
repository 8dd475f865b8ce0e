/* Text to ids: markers, sections, words, tokens; then the template around them. */

/* What is no character becomes U+FFFD: one for each longest start of a character, or, `loose`, for each byte,
 * as GGUF's tokenizers take them. */
static ox_status oxi_clean_text(const char *text, size_t length, bool loose, oxi_buffer *out) {
    ox_status status = OX_OK;
    for (size_t at = 0; at < length && !status;) {
        const unsigned char *p = (const unsigned char *)text + at;
        size_t used = loose ? oxi_loose_length(text + at, length - at) : oxi_utf8_length(p, length - at);
        const bool good = used > 0;
        if (!good) used = loose ? 1 : oxi_utf8_broken_length(p, length - at);
        status = good ? oxi_put(out, text + at, used, (uint32_t)at, (uint32_t)(at + used))
                      : oxi_put(out, "\xef\xbf\xbd", 3, (uint32_t)at, (uint32_t)(at + used));
        at += used;
    }
    return status;
}

/* ---- words --------------------------------------------------------------------------------------------- */

static ox_status oxi_encode_words(oxi_flow *work) {
    const ox_tokenizer *t = work->tokenizer;
    const oxi_model_row *row = t->model.row;
    ox_status status = OX_OK;
    work->turn = 2;
    work->splits.count = work->next.count = 0;
    status = oxi_split_push(&work->splits, 0, work->text.length, false);
    for (size_t i = 0; i < t->pre_tokenizers.count && !status; i++) {
        const oxi_pipe_step *step = &t->pre_tokenizers.list[i];
        status = step->row->apply(step, work);
    }
    for (size_t i = 0; i < work->splits.count && !status; i++) {
        const oxi_stretch *word = &work->splits.list[i];
        if (word->end > word->start) status = row->encode(work, word->start, word->end);
    }
    return status;
}

/* ---- markers ------------------------------------------------------------------------------------------- */

static oxi_text oxi_text_part(const oxi_text *text, size_t start, size_t end) {
    oxi_text part = *text;
    part.bytes += start;
    part.length = end - start;
    part.base += start;
    if (part.from) part.from += start;
    if (part.to) part.to += start;
    return part;
}

static bool oxi_is_word_char(const ox_tokenizer *t, const oxi_text *text, size_t at) {
    const uint32_t code = oxi_utf8_code(text->bytes, text->length, &at);
    return oxi_is_wide_word(&t->unicode, code);
}

/* What a marker takes: itself and, if it wants, the white space beside it. False: it is none here.
 * `blank`: white space that was found before, so that a long row of it is read once. */
static bool oxi_marker_extent(const ox_tokenizer *t, const oxi_added *added, const oxi_text *text,
                              size_t done, size_t blank[2], size_t *start, size_t *end) {
    if (added->single_word &&
        ((*start > 0 && oxi_is_word_char(t, text, oxi_step_back(text->bytes, *start))) ||
         (*end < text->length && oxi_is_word_char(t, text, *end))))
        return false;
    while (added->lstrip && *start > done) {
        size_t before = oxi_step_back(text->bytes, *start), at = before;
        if (!oxi_is_white_space(oxi_utf8_code(text->bytes, text->length, &at))) break;
        *start = before;
    }
    if (added->lstrip && *start < done) *start = done;
    if (added->rstrip && (*end < blank[0] || *end > blank[1])) {
        blank[0] = blank[1] = *end;
        for (size_t next = *end; next < text->length; blank[1] = next)
            if (!oxi_is_white_space(oxi_utf8_code(text->bytes, text->length, &next))) break;
    }
    if (added->rstrip) *end = blank[1];
    return true;
}

typedef ox_status (*oxi_section_fn)(oxi_flow *work, const oxi_text *section);

/* Cuts a text at its markers; what lies between goes to `section`. */
static ox_status oxi_cut_markers(oxi_flow *work, const oxi_text *text, const oxi_trie *trie,
                                 oxi_section_fn section) {
    const ox_tokenizer *t = work->tokenizer;
    oxi_markers found;
    size_t done = 0, search = 0, blank[2] = {1, 0};
    const int32_t nothing = trie == &t->markers[1] ? t->nothing : -1;
    if (!trie->nodes && nothing < 0) return text->length ? section(work, text) : OX_OK;
    memset(&found, 0, sizeof found);
    const bool user_only = !work->parse_special && !t->from_json;
    ox_status status = oxi_trie_find_markers(trie, text->bytes, text->length, user_only, nothing, &found);
    for (size_t i = found.count; i-- > 0 && !status;) {
        const oxi_added *added = &t->added[found.list[i].value];
        size_t start = found.list[i].at, end = start + oxi_vocabulary_length(&t->vocabulary, added->id);
        if (start < search) continue;
        if (trie == &t->markers[1]) end = start + (size_t)t->normalized_length[found.list[i].value];
        if (start == end && start == search && i + 1 < found.count) continue; /* right behind another one */
        search = end;
        if (added->special && !work->parse_special) continue;
        if (!oxi_marker_extent(t, added, text, done, blank, &start, &end)) continue;
        if (start > done) {
            const oxi_text part = oxi_text_part(text, done, start);
            status = section(work, &part);
        }
        if (!status && start < end) { /* else all of it was taken before */
            work->text = *text;
            status = oxi_token_push_own(work, added->id, start, end);
        }
        done = end; /* may be less than it was: white space that was taken is there for the next ones */
    }
    if (!status && text->length > done) {
        const oxi_text part = oxi_text_part(text, done, text->length);
        status = section(work, &part);
    }
    oxi_markers_free(&found);
    return status;
}

static ox_status oxi_encode_normalized(oxi_flow *work, const oxi_text *section) {
    work->text = *section;
    return oxi_encode_words(work);
}

static ox_status oxi_normalize(oxi_flow *work) {
    const ox_tokenizer *t = work->tokenizer;
    ox_status status = OX_OK;
    work->turn = 0;
    for (size_t i = 0; i < t->normalizers.count && !status; i++) {
        const oxi_pipe_step *step = &t->normalizers.list[i];
        status = step->row->apply(step, work);
    }
    return status;
}

static ox_status oxi_encode_section(oxi_flow *work, const oxi_text *section) {
    work->text = *section;
    const ox_status status = oxi_normalize(work);
    if (status) return status;
    const oxi_text normal = work->text;
    return oxi_cut_markers(work, &normal, &work->tokenizer->markers[1], oxi_encode_normalized);
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static void oxi_work_free(oxi_flow *work) {
    for (int i = 0; i < 4; i++) oxi_buffer_free(&work->buffers[i]);
    oxi_split_list_free(&work->splits);
    oxi_split_list_free(&work->next);
    oxi_split_list_free(&work->found);
    oxi_matcher_free(&work->matcher);
    oxi_free(work->tokens.list, work->tokens.room * sizeof *work->tokens.list);
    oxi_free(work->cache, work->cache_count * sizeof *work->cache);
    oxi_free(work->scratch, work->scratch_bytes);
}

/* Long texts repeat their words. */
static ox_status oxi_work_cache(oxi_flow *work, size_t length) {
    size_t count = 256;
    if (work->cache || length < 4096 || work->tokenizer->model.row->encode != oxi_bpe_encode) return OX_OK;
    while (count < length / 16 && count < 16384) count *= 2;
    work->cache = (oxi_word_cache *)oxi_calloc(count, sizeof *work->cache);
    work->cache_count = work->cache ? count : 0;
    return work->cache ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_encode_text(oxi_flow *work, const char *text, size_t length) {
    const ox_tokenizer *t = work->tokenizer;
    oxi_buffer clean;
    oxi_text whole;
    ox_status status = oxi_work_cache(work, length);
    memset(&clean, 0, sizeof clean);
    memset(&whole, 0, sizeof whole);
    whole.bytes = text;
    whole.length = length;
    if (!status && !t->takes_bytes && !oxi_utf8_is_valid(text, length)) {
        status = oxi_clean_text(text, length, !t->from_json, &clean);
        whole.bytes = clean.bytes;
        whole.length = clean.length;
        whole.from = clean.from;
        whole.to = clean.to;
    }
    work->whole = whole;
    work->growth = oxi_growth_of(whole.length);
    if (!status && length) status = oxi_cut_markers(work, &whole, &t->markers[0], oxi_encode_section);
    oxi_buffer_free(&clean);
    return status;
}

/* Where ids go: all are counted, those that fit are written. */
typedef struct oxi_output_list {
    int32_t *ids;
    ox_token_place *places;
    int64_t room, count;
} oxi_output_list;

static void oxi_output_push(oxi_output_list *out, const oxi_token *token, int32_t text, int32_t type) {
    if (out->count < out->room && out->ids) out->ids[out->count] = token->id;
    if (out->count < out->room && out->places) {
        ox_token_place *place = &out->places[out->count];
        place->start = token->from;
        place->end = token->to;
        place->text = text;
        place->type = type;
    }
    out->count++;
}

static void oxi_output_text(oxi_output_list *out, const oxi_flow *work, const size_t bounds[3], int text,
                            int type) {
    for (size_t i = bounds[text]; i < bounds[text + 1]; i++)
        oxi_output_push(out, &work->tokens.list[i], text, type);
}

/* The tokens of one text or two in their template. */
static void oxi_output_all(oxi_output_list *out, const oxi_flow *work, const size_t bounds[3], bool pair,
                           bool bare) {
    const oxi_pipe_step *step = oxi_template_of(work->tokenizer);
    if (!step) {
        oxi_output_text(out, work, bounds, 0, 0);
        if (pair) oxi_output_text(out, work, bounds, 1, 1);
        return;
    }
    const size_t first = pair ? step->single : 0, count = pair ? step->pair : step->single;
    for (size_t i = first; i < first + count; i++) {
        const int32_t id = step->ids[i];
        const oxi_token token = {id, 0, 0, OXI_BY_ID, OXI_BY_ID};
        if (id >= 0) {
            if (!bare) oxi_output_push(out, &token, -1, step->types[i]);
        } else if (pair || id == -1) {
            oxi_output_text(out, work, bounds, -1 - id, step->types[i]);
        }
    }
}

static int64_t oxi_encode(const ox_tokenizer *t, const char *const text[2], const size_t length[2], bool pair,
                          const ox_tokenizer_encode_desc *desc, oxi_output_list *out) {
    oxi_flow work;
    size_t bounds[3] = {0, 0, 0};
    ox_status status = OX_OK;
    memset(&work, 0, sizeof work);
    work.tokenizer = t;
    work.places = out->places != NULL;
    work.parse_special = desc && desc->parse_special;
    for (int i = 0; i < (pair ? 2 : 1) && !status; i++) {
        status = oxi_encode_text(&work, text[i], length[i]);
        bounds[i + 1] = work.tokens.count;
        bounds[2] = work.tokens.count;
    }
    for (size_t i = 0; i < t->post_processors.count && work.places && !status; i++) {
        const oxi_pipe_step *step = &t->post_processors.list[i];
        if (!(step->options & OXI_TRIM_OFFSETS)) continue;
        for (int k = 0; k < 2; k++)
            oxi_trim_places(t, work.tokens.list + bounds[k], bounds[k + 1] - bounds[k],
                            (step->options & OXI_ADD_PREFIX_SPACE) != 0, text[k], length[k]);
    }
    if (!status) oxi_output_all(out, &work, bounds, pair, desc && desc->bare);
    oxi_work_free(&work);
    return status ? -1 : out->count;
}
