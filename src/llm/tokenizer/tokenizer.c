/* The public functions of tokenizers; markers, pieces and what else both readers end with. */

/* ---- markers ------------------------------------------------------------------------------------------- */

static ox_status oxi_added_push(ox_tokenizer *t, oxi_added added) {
    void *grown = oxi_grow(t->added, &t->added_room, t->added_count + 1, sizeof *t->added, false);
    if (!grown) return OX_ERR_NOMEM;
    t->added = (oxi_added *)grown;
    t->added[t->added_count++] = added;
    return OX_OK;
}

static int oxi_compare_shown(const void *a, const void *b) {
    const int32_t left = ((const oxi_shown *)a)->id, right = ((const oxi_shown *)b)->id;
    return left < right ? -1 : left > right;
}

/* The texts of normalized markers, for those whose text that changes. */
static ox_status oxi_set_shown(ox_tokenizer *t, const oxi_trie_text *texts, uint32_t count) {
    const oxi_vocabulary *v = &t->vocabulary;
    t->shown = (oxi_shown *)oxi_calloc(count + 1, sizeof *t->shown);
    if (!t->shown) return OX_ERR_NOMEM;
    t->shown_room = count + 1;
    for (uint32_t i = 0; i < count; i++) {
        const int32_t id = t->added[texts[i].value].id;
        const size_t length = oxi_vocabulary_length(v, id);
        if (texts[i].length == length && memcmp(texts[i].text, oxi_vocabulary_text(v, id), length) == 0)
            continue;
        oxi_shown *shown = &t->shown[t->shown_count++];
        shown->id = id;
        const ox_status status = oxi_step_set(&shown->text, &shown->length, texts[i].text, texts[i].length);
        if (status) return status;
    }
    if (t->shown_count) qsort(t->shown, t->shown_count, sizeof *t->shown, oxi_compare_shown);
    return OX_OK;
}

/* Markers that are looked for in the normalized text are normalized themselves. */
static ox_status oxi_normalize_markers(ox_tokenizer *t, oxi_trie_text *texts, uint32_t count,
                                       oxi_buffer *all) {
    oxi_flow work;
    ox_status status = OX_OK;
    memset(&work, 0, sizeof work);
    work.tokenizer = t;
    work.growth = oxi_growth_of(0); /* of all of them together, and */
    for (uint32_t i = 0; i < count; i++) work.growth += texts[i].length * OXI_MOST_GROWTH;
    for (uint32_t i = 0; i < count && !status; i++) {
        work.text.bytes = texts[i].text;
        work.text.length = texts[i].length;
        work.text.from = work.text.to = NULL;
        work.text.base = 0;
        status = oxi_normalize(&work);
        texts[i].length = work.text.length;
        t->normalized_length[texts[i].value] = (uint32_t)work.text.length;
        if (!status) status = oxi_put(all, work.text.bytes, work.text.length, 0, 0);
    }
    size_t at = 0;
    for (uint32_t i = 0; i < count && !status; at += texts[i++].length) texts[i].text = all->bytes + at;
    oxi_work_free(&work);
    return status ? status : oxi_set_shown(t, texts, count);
}

static ox_status oxi_tokenizer_make_markers(ox_tokenizer *t) {
    const oxi_vocabulary *v = &t->vocabulary;
    oxi_buffer all;
    oxi_trie_text *texts = (oxi_trie_text *)oxi_calloc(t->added_count + 1, sizeof *texts);
    ox_status status = texts ? OX_OK : OX_ERR_NOMEM;
    memset(&all, 0, sizeof all);
    t->normalized_length = (uint32_t *)oxi_calloc(t->added_count + 1, sizeof *t->normalized_length);
    if (!t->normalized_length) status = OX_ERR_NOMEM;
    for (int normalized = 0; normalized < 2 && !status; normalized++) {
        uint32_t count = 0;
        /* of equal ones that stands which is put in last: special ones before others, and then the first */
        for (size_t k = 2 * t->added_count; k-- > 0;) {
            const size_t i = k % t->added_count;
            const oxi_added *added = &t->added[i];
            if (added->normalized != (normalized == 1) || added->special != (k < t->added_count)) continue;
            texts[count].text = oxi_vocabulary_text(v, added->id);
            texts[count].length = oxi_vocabulary_length(v, added->id);
            texts[count].user = !added->special;
            texts[count++].value = (int32_t)i;
        }
        if (normalized) status = oxi_normalize_markers(t, texts, count, &all);
        for (uint32_t i = 0; i < count && normalized; i++)
            if (texts[i].length == 0) t->nothing = texts[i].value;
        if (!status) status = oxi_trie_make(&t->markers[normalized], texts, count, true);
    }
    oxi_buffer_free(&all);
    oxi_free(texts, (t->added_count + 1) * sizeof *texts);
    return status;
}

static const oxi_shown *oxi_shown_of(const ox_tokenizer *t, int32_t id) {
    const oxi_shown wanted = {id, NULL, 0};
    if (t->shown_count == 0) return NULL;
    return (const oxi_shown *)bsearch(&wanted, t->shown, t->shown_count, sizeof wanted, oxi_compare_shown);
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static ox_status oxi_decode_start(oxi_decode_list *list) {
    list->bytes[0].length = list->bytes[0].most = 0;
    list->tokens.count = 0;
    list->turn = 1;
    return OX_OK;
}

static ox_status oxi_decode_add(const ox_tokenizer *t, oxi_decode_list *list, int32_t id) {
    oxi_buffer *out = &list->bytes[0];
    const size_t start = out->length;
    const char *text = oxi_vocabulary_text(&t->vocabulary, id);
    size_t length = oxi_vocabulary_length(&t->vocabulary, id);
    const oxi_shown *shown = oxi_shown_of(t, id);
    if (shown) {
        text = shown->text;
        length = shown->length;
    }
    const ox_status status = oxi_put(out, text, length, 0, 0);
    return status ? status : oxi_split_push(&list->tokens, start, out->length, false);
}

/* Without decoders tokens stand apart. */
static ox_status oxi_decode_join(oxi_decode_list *list) {
    oxi_buffer *out = oxi_decode_begin(list);
    ox_status status = OX_OK;
    for (size_t i = 0; i < list->tokens.count && !status; i++) {
        size_t length;
        const char *text = oxi_decode_text(list, i, &length);
        if (i > 0 || !list->first) status = oxi_put(out, " ", 1, 0, 0);
        if (!status) status = oxi_put(out, text, length, 0, 0);
    }
    if (!status) status = oxi_split_push(&list->next, 0, out->length, false);
    oxi_decode_end(list);
    return status;
}

/* The text is then bytes[turn ^ 1] from the first token's start to the last one's end. */
static ox_status oxi_decode_run(const ox_tokenizer *t, oxi_decode_list *list) {
    ox_status status = t->decoders.count || t->decodes_whole ? OX_OK : oxi_decode_join(list);
    for (size_t i = 0; i < t->decoders.count && !status; i++)
        status = t->decoders.list[i].row->decode(&t->decoders.list[i], list);
    return status ? status : oxi_decode_fuse(NULL, list);
}

/* Whether a token adds nothing to a text. The reference looks for the text that is shown among special
 * ones. */
static bool oxi_is_hidden(const ox_tokenizer *t, int32_t id) {
    const uint8_t type = t->vocabulary.type[id];
    return t->from_json ? type == OX_TOKEN_CONTROL && !oxi_shown_of(t, id)
                        : type == OX_TOKEN_CONTROL || type == OX_TOKEN_UNKNOWN;
}

static ox_status oxi_tokenizer_run_decoders(const ox_tokenizer *t, const int32_t *ids, size_t count,
                                            bool keep_special, oxi_decode_list *list) {
    ox_status status = oxi_decode_start(list);
    for (size_t i = 0; i < count && !status; i++) {
        if (ids[i] < 0 || ids[i] >= t->vocabulary.count) continue;
        if (!keep_special && oxi_is_hidden(t, ids[i])) continue;
        status = oxi_decode_add(t, list, ids[i]);
    }
    list->first = list->last = true;
    list->growth = oxi_growth_of(list->bytes[0].length);
    list->lossy = t->from_json; /* texts of a GGUF file are bytes */
    return status ? status : oxi_decode_run(t, list);
}

/* What a token adds to a text where it is not the first: (and with `first`, where it is). */
static ox_status oxi_piece_text(const ox_tokenizer *t, oxi_decode_list *list, int32_t id, bool first) {
    ox_status status = oxi_decode_start(list);
    list->first = first;
    list->last = list->lossy = false;
    if (!status && oxi_vocabulary_length(&t->vocabulary, id)) status = oxi_decode_add(t, list, id);
    return status ? status : oxi_decode_run(t, list);
}

static ox_status oxi_make_piece(ox_tokenizer *t, oxi_decode_list *list, oxi_buffer *all, int32_t id) {
    oxi_vocabulary *v = &t->vocabulary;
    v->piece_start[id] = all->length;
    if (oxi_is_hidden(t, id) || oxi_vocabulary_length(v, id) == 0) return OX_OK;
    if (v->type[id] == OX_TOKEN_USER_DEFINED && !t->from_json) { /* as it is */
        v->piece_length[id] = (uint32_t)oxi_vocabulary_length(v, id);
        return oxi_put(all, oxi_vocabulary_text(v, id), v->piece_length[id], 0, 0);
    }
    ox_status status = oxi_piece_text(t, list, id, false);
    const oxi_buffer *made = &list->bytes[list->turn ^ 1];
    if (!status) status = oxi_put(all, made->bytes ? made->bytes : "", made->length, 0, 0);
    if (status) return status;
    const size_t length = all->length - v->piece_start[id];
    v->piece_length[id] = (uint32_t)length;
    status = oxi_piece_text(t, list, id, true);
    made = &list->bytes[list->turn ^ 1];
    if (status || made->length > length || length - made->length > 255) return status;
    const size_t cut = length - made->length;
    if (made->length == 0 || memcmp(all->bytes + v->piece_start[id] + cut, made->bytes, made->length) == 0)
        v->piece_cut[id] = (uint8_t)cut;
    return OX_OK;
}

static ox_status oxi_tokenizer_make_pieces(ox_tokenizer *t) {
    oxi_vocabulary *v = &t->vocabulary;
    const size_t count = (size_t)v->entries;
    oxi_decode_list list;
    oxi_buffer all;
    memset(&list, 0, sizeof list);
    memset(&all, 0, sizeof all);
    list.growth = oxi_growth_of(v->start[count]); /* of all tokens together */
    v->piece_start = (size_t *)oxi_calloc(count, sizeof *v->piece_start);
    v->piece_length = (uint32_t *)oxi_calloc(count, sizeof *v->piece_length);
    v->piece_cut = (uint8_t *)oxi_calloc(count, sizeof *v->piece_cut);
    ox_status status = v->piece_start && v->piece_length && v->piece_cut ? OX_OK : OX_ERR_NOMEM;
    for (int32_t i = 0; i < v->entries && !status; i++) status = oxi_make_piece(t, &list, &all, i);
    if (!status) {
        v->pieces = (char *)oxi_alloc(all.length);
        if (!v->pieces) status = OX_ERR_NOMEM;
    }
    if (!status) {
        v->piece_bytes = all.length;
        if (all.length) memcpy(v->pieces, all.bytes, all.length);
    }
    oxi_decode_list_free(&list);
    oxi_buffer_free(&all);
    return status;
}

/* BPE over bytes, if the words that reach the model are byte-level texts. */
static void oxi_choose_byte_mode(ox_tokenizer *t) {
    oxi_model *m = &t->model;
    const size_t last = t->pre_tokenizers.count;
    const oxi_decode_row decode = t->decoders.count == 1 ? t->decoders.list[0].row->decode : NULL;
    m->whole_word = m->row->encode == oxi_bpe_encode && last > 0 && !m->byte_fallback && !m->prefix_length &&
                    !m->suffix_length && decode == oxi_decode_byte_level &&
                    t->pre_tokenizers.list[last - 1].row->apply == oxi_pre_byte_level;
    for (int b = 0; b < 256 && m->whole_word; b++) {
        char text[4];
        const size_t length = oxi_utf8_write((int32_t)oxi_byte_char((uint8_t)b), text);
        m->byte_symbol[b] = oxi_vocabulary_find_known(&t->vocabulary, text, length);
        if (t->from_json && m->byte_symbol[b] < 0) m->whole_word = false; /* unknown ones are characters */
    }
}

static ox_status oxi_tokenizer_finish(ox_tokenizer *t) {
    ox_status status = oxi_unicode_open(&t->unicode, 0);
    if (!status) status = oxi_tokenizer_make_markers(t);
    if (!status) status = oxi_tokenizer_make_pieces(t);
    if (status) return status;
    oxi_choose_byte_mode(t);
    if (t->model.whole_word) status = oxi_vocabulary_index_bytes(&t->vocabulary);
    t->ends = (uint8_t *)oxi_calloc((size_t)t->vocabulary.entries, 1);
    if (!t->ends) return OX_ERR_NOMEM;
    if (!status) oxi_tokenizer_find_ends(t);
    return status;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static ox_tokenizer *oxi_tokenizer_new(void) {
    ox_tokenizer *t = (ox_tokenizer *)oxi_calloc(1, sizeof *t);
    if (!t) return NULL;
    for (int i = 0; i < OX_TOKEN_ROLE_COUNT; i++) t->special[i] = -1;
    for (int i = 0; i < 2; i++)
        for (int b = 0; b < 256; b++) t->markers[i].root[b] = -1;
    for (int b = 0; b < 256; b++) t->vocabulary.byte_token[b] = t->model.byte_symbol[b] = -1;
    t->model.unknown = t->nothing = -1;
    return t;
}

OX_API ox_tokenizer *ox_tokenizer_open(const ox_file *file) {
    if (!file) {
        (void)oxi_fail_missing("tokenizer: the file");
        return NULL;
    }
    const bool speaks = oxi_speak_for_file(file);
    ox_tokenizer *tokenizer = oxi_tokenizer_new();
    if (tokenizer && oxi_tokenizer_read_gguf(tokenizer, file)) {
        ox_tokenizer_close(tokenizer);
        tokenizer = NULL;
    }
    oxi_speak_end(speaks);
    return tokenizer;
}

OX_API ox_tokenizer *ox_tokenizer_open_json(const char *text, int64_t length, const char *config,
                                            int64_t config_length) {
    if (!text) {
        (void)oxi_fail_missing("tokenizer: the text of a tokenizer.json");
        return NULL;
    }
    const size_t bytes = length < 0 ? strlen(text) : (size_t)length;
    const size_t more = !config ? 0 : config_length < 0 ? strlen(config) : (size_t)config_length;
    ox_tokenizer *tokenizer = oxi_tokenizer_new();
    if (tokenizer && oxi_tokenizer_read_json(tokenizer, text, bytes, config, more)) {
        ox_tokenizer_close(tokenizer);
        tokenizer = NULL;
    }
    return tokenizer;
}

OX_API void ox_tokenizer_close(ox_tokenizer *t) {
    if (!t) return;
    const size_t count = (size_t)t->vocabulary.entries;
    oxi_model *m = &t->model;
    oxi_free(t->ends, t->ends ? count : 0);
    oxi_free(t->normalized_length, (t->added_count + 1) * sizeof *t->normalized_length);
    for (size_t i = 0; i < t->shown_count; i++) oxi_free(t->shown[i].text, t->shown[i].length + 1);
    oxi_free(t->shown, t->shown_room * sizeof *t->shown);
    oxi_trie_free(&t->markers[0]);
    oxi_trie_free(&t->markers[1]);
    oxi_trie_free(&m->trie);
    oxi_free(m->scores, count * sizeof *m->scores);
    oxi_free(m->merges, m->merge_count * sizeof *m->merges);
    if (m->prefix) oxi_free(m->prefix, m->prefix_length + 1);
    if (m->suffix) oxi_free(m->suffix, m->suffix_length + 1);
    oxi_steps_free(&t->normalizers);
    oxi_steps_free(&t->pre_tokenizers);
    oxi_steps_free(&t->post_processors);
    oxi_steps_free(&t->decoders);
    oxi_free(t->added, t->added_room * sizeof *t->added);
    oxi_vocabulary_free(&t->vocabulary);
    oxi_unicode_close(&t->unicode);
    oxi_free(t, sizeof *t);
}

/* ---- facts --------------------------------------------------------------------------------------------- */

OX_API int64_t ox_tokenizer_count(const ox_tokenizer *tokenizer) {
    return tokenizer ? tokenizer->vocabulary.count : 0;
}

static bool oxi_tokenizer_has(const ox_tokenizer *tokenizer, int32_t token) {
    return token >= 0 && token < ox_tokenizer_count(tokenizer);
}

OX_API ox_token_info ox_tokenizer_get_token(const ox_tokenizer *tokenizer, int32_t token) {
    ox_token_info info;
    memset(&info, 0, sizeof info);
    if (!oxi_tokenizer_has(tokenizer, token)) return info;
    const oxi_vocabulary *v = &tokenizer->vocabulary;
    info.text.data = oxi_vocabulary_text(v, token);
    info.text.length = (int64_t)oxi_vocabulary_length(v, token);
    info.type = (ox_token_type)v->type[token];
    info.score = v->score ? v->score[token] : 0;
    return info;
}

OX_API int32_t ox_tokenizer_find(const ox_tokenizer *tokenizer, const char *text, int64_t length) {
    if (!tokenizer || !text) {
        (void)oxi_fail_missing(tokenizer ? "tokenizer: the text" : "tokenizer: the tokenizer");
        return -1;
    }
    const oxi_vocabulary *v = &tokenizer->vocabulary;
    return oxi_vocabulary_id(v, oxi_vocabulary_find(v, text, length < 0 ? strlen(text) : (size_t)length));
}

OX_API int32_t ox_tokenizer_role(const ox_tokenizer *tokenizer, ox_token_role which) {
    return tokenizer && which > 0 && which < OX_TOKEN_ROLE_COUNT ? tokenizer->special[which] : -1;
}

OX_API bool ox_tokenizer_is_end(const ox_tokenizer *tokenizer, int32_t token) {
    return oxi_tokenizer_has(tokenizer, token) && tokenizer->ends[token];
}

/* ---- text to ids --------------------------------------------------------------------------------------- */

OX_API int64_t ox_tokenizer_encode_pair(const ox_tokenizer *tokenizer, const char *text, int64_t length,
                                        const char *pair, int64_t pair_length,
                                        const ox_tokenizer_encode_desc *desc, int32_t *out,
                                        ox_token_place *places, int64_t room) {
    if (!tokenizer) {
        (void)oxi_fail_missing("tokenizer: the tokenizer");
        return -1;
    }
    const char *const texts[2] = {text ? text : "", pair ? pair : ""};
    const size_t bytes[2] = {!text        ? 0
                             : length < 0 ? strlen(text)
                                          : (size_t)length,
                             !pair             ? 0
                             : pair_length < 0 ? strlen(pair)
                                               : (size_t)pair_length};
    if ((!text && length > 0) || bytes[0] >= (size_t)1 << 28 || bytes[1] >= (size_t)1 << 28) {
        (void)oxi_fail(OX_ERR_ARG, "tokenizer: a text of 2^28 bytes or more, or none at all");
        return -1;
    }
    oxi_output_list list;
    list.ids = out;
    list.places = places;
    list.room = out || places ? room : 0;
    list.count = 0;
    return oxi_encode(tokenizer, texts, bytes, pair != NULL, desc, &list);
}

OX_API int64_t ox_tokenizer_encode(const ox_tokenizer *tokenizer, const char *text, int64_t length,
                                   const ox_tokenizer_encode_desc *desc, int32_t *out, int64_t room) {
    return ox_tokenizer_encode_pair(tokenizer, text, length, NULL, 0, desc, out, NULL, room);
}

/* ---- ids to text --------------------------------------------------------------------------------------- */

OX_API ox_string ox_tokenizer_piece(const ox_tokenizer *tokenizer, int32_t previous, int32_t token) {
    ox_string piece;
    piece.data = "";
    piece.length = 0;
    if (!oxi_tokenizer_has(tokenizer, token)) return piece;
    const oxi_vocabulary *v = &tokenizer->vocabulary;
    piece.data = v->pieces + v->piece_start[token];
    piece.length = (int64_t)v->piece_length[token];
    bool first = !oxi_tokenizer_has(tokenizer, previous);
    if (!first && tokenizer->from_json) first = previous == tokenizer->special[OX_TOKEN_ROLE_BOS];
    if (!first && !tokenizer->from_json && tokenizer->space_prefix) /* encoding puts one after any marker */
        first = v->type[previous] == OX_TOKEN_CONTROL || v->type[previous] == OX_TOKEN_USER_DEFINED;
    if (first) {
        piece.data += v->piece_cut[token];
        piece.length -= v->piece_cut[token];
    }
    return piece;
}

/* Copies what fits, with a final 0. */
static void oxi_copy_text_out(char *out, size_t room, size_t at, const char *text, size_t length) {
    for (size_t i = 0; i < length && at + i + 1 < room; i++) out[at + i] = text[i];
}

static size_t oxi_decode_pieces(const ox_tokenizer *t, const int32_t *tokens, int64_t count, char *out,
                                size_t room) {
    size_t length = 0;
    int32_t previous = -1;
    for (int64_t i = 0; i < count; i++) {
        const ox_string piece = ox_tokenizer_piece(t, previous, tokens[i]);
        oxi_copy_text_out(out, room, length, piece.data, (size_t)piece.length);
        length += (size_t)piece.length;
        previous = tokens[i];
    }
    return length;
}

OX_API size_t ox_tokenizer_decode_with(const ox_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                                       const ox_tokenizer_decode_desc *desc, char *out, size_t room) {
    size_t length = 0;
    if (!tokenizer) (void)oxi_fail_missing("tokenizer: the tokenizer");
    if (!tokens && count > 0) (void)oxi_fail_missing("tokenizer: the list of tokens");
    if (tokenizer && tokens && count > 0 && !tokenizer->from_json && !(desc && desc->keep_special)) {
        length = oxi_decode_pieces(tokenizer, tokens, count, out, room);
    } else if (tokenizer && tokens && count > 0) {
        oxi_decode_list list;
        memset(&list, 0, sizeof list);
        if (oxi_tokenizer_run_decoders(tokenizer, tokens, (size_t)count, desc && desc->keep_special, &list) ==
            OX_OK) {
            const oxi_buffer *made = &list.bytes[list.turn ^ 1];
            length = made->length;
            oxi_copy_text_out(out, room, 0, made->bytes ? made->bytes : "", length);
        }
        oxi_decode_list_free(&list);
    }
    if (room) out[length < room ? length : room - 1] = 0;
    return length;
}

OX_API size_t ox_tokenizer_decode(const ox_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                                  char *out, size_t room) {
    return ox_tokenizer_decode_with(tokenizer, tokens, count, NULL, out, room);
}
