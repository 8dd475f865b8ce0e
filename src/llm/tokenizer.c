/* The tokenizer: what the file says about special tokens, markers in the text, ids to text.
 * A kind of tokenizer is a row of a table; the row's function encodes the plain text between two markers.
 * Called by users and by generate.c. */

static const oxi_tokenizer_kind oxi_tokenizer_kinds[] = {
    /* name    scores  BOS    EOS   space        BOS EOS EOT unknown     */
    {"llama", true, true, false, true, {-1, 1, 2, -1, 0}, oxi_spm_encode},
};

static const oxi_tokenizer_kind *oxi_tokenizer_kind_of(const ox_file *file) {
    const ox_file_meta name = ox_file_meta_find(file, "tokenizer.ggml.model");
    if (name.type != OX_FILE_META_STRING) return NULL;
    for (size_t i = 0; i < sizeof oxi_tokenizer_kinds / sizeof *oxi_tokenizer_kinds; i++) {
        if (oxi_llm_text_is(name.text, oxi_tokenizer_kinds[i].name)) return &oxi_tokenizer_kinds[i];
    }
    return NULL;
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* A special token's id; 2^32 - 1 in the file means that there is none. */
static ox_status oxi_tokenizer_read_special(ox_tokenizer *t, const ox_file *file, ox_token_role which,
                                            const char *key) {
    const int32_t usual = t->kind->special[which] < t->vocabulary.count ? t->kind->special[which] : -1;
    const ox_file_meta meta = ox_file_meta_find(file, key);
    int64_t token = -1;
    if (meta.type == OX_FILE_META_NONE) {
        token = usual;
    } else if (meta.type != OX_FILE_META_UINT || meta.i != (int64_t)UINT32_MAX) {
        const ox_status status = oxi_llm_meta_int(file, key, -1, t->vocabulary.count - 1, -1, &token);
        if (status) return status;
    }
    t->special[which] = (int32_t)token;
    return OX_OK;
}

static ox_status oxi_tokenizer_read(ox_tokenizer *t, const ox_file *file) {
    ox_status status = oxi_vocabulary_read(&t->vocabulary, file, t->kind->needs_scores);
    t->special[OX_TOKEN_ROLE_BOS] = t->special[0] = -1;
    if (!status)
        status = oxi_tokenizer_read_special(t, file, OX_TOKEN_ROLE_BOS, "tokenizer.ggml.bos_token_id");
    if (!status)
        status = oxi_tokenizer_read_special(t, file, OX_TOKEN_ROLE_EOS, "tokenizer.ggml.eos_token_id");
    if (!status)
        status = oxi_tokenizer_read_special(t, file, OX_TOKEN_ROLE_EOT, "tokenizer.ggml.eot_token_id");
    if (!status) {
        status =
            oxi_tokenizer_read_special(t, file, OX_TOKEN_ROLE_UNKNOWN, "tokenizer.ggml.unknown_token_id");
    }
    if (!status) {
        status = oxi_llm_meta_bool(file, "tokenizer.ggml.add_bos_token", t->kind->add_bos, &t->add_bos);
    }
    if (!status) {
        status = oxi_llm_meta_bool(file, "tokenizer.ggml.add_eos_token", t->kind->add_eos, &t->add_eos);
    }
    if (!status) {
        status = oxi_llm_meta_bool(file, "tokenizer.ggml.add_space_prefix", t->kind->space_prefix,
                                   &t->space_prefix);
    }
    return status;
}

static ox_tokenizer *oxi_tokenizer_read_file(const ox_file *file) {
    const oxi_tokenizer_kind *kind = oxi_tokenizer_kind_of(file);
    if (!kind) {
        const ox_file_meta name = ox_file_meta_find(file, "tokenizer.ggml.model");
        char text[32] = "";
        if (name.type == OX_FILE_META_STRING) oxi_llm_copy_text(name.text, text, sizeof text);
        (void)(name.type == OX_FILE_META_STRING
                   ? oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: the tokenizer's kind \"%s\" is not supported",
                              text)
                   : oxi_fail(OX_ERR_NOT_FOUND, "tokenizer: the file has no tokenizer.ggml.model"));
        return NULL;
    }
    ox_tokenizer *tokenizer = (ox_tokenizer *)oxi_calloc(1, sizeof *tokenizer);
    if (!tokenizer) return NULL;
    tokenizer->kind = kind;
    if (oxi_tokenizer_read(tokenizer, file)) {
        ox_tokenizer_close(tokenizer);
        return NULL;
    }
    return tokenizer;
}

OX_API ox_tokenizer *ox_tokenizer_open(const ox_file *file) {
    if (!file) {
        (void)oxi_fail_missing("tokenizer: the file");
        return NULL;
    }
    const bool speaks = oxi_speak_for_file(file);
    ox_tokenizer *tokenizer = oxi_tokenizer_read_file(file);
    oxi_speak_end(speaks);
    return tokenizer;
}

OX_API void ox_tokenizer_close(ox_tokenizer *tokenizer) {
    if (!tokenizer) return;
    oxi_vocabulary_free(&tokenizer->vocabulary);
    oxi_free(tokenizer, sizeof *tokenizer);
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
    info.text.data = v->texts + v->start[token];
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
    return oxi_vocabulary_find(&tokenizer->vocabulary, text, length < 0 ? strlen(text) : (size_t)length);
}

OX_API int32_t ox_tokenizer_role(const ox_tokenizer *tokenizer, ox_token_role which) {
    return tokenizer && which > 0 && which < OX_TOKEN_ROLE_COUNT ? tokenizer->special[which] : -1;
}

OX_API bool ox_tokenizer_is_end(const ox_tokenizer *tokenizer, int32_t token) {
    if (!oxi_tokenizer_has(tokenizer, token)) return false;
    return token == tokenizer->special[OX_TOKEN_ROLE_EOS] || token == tokenizer->special[OX_TOKEN_ROLE_EOT] ||
           token == tokenizer->special[OX_TOKEN_ROLE_BOS];
}

/* ---- text to ids --------------------------------------------------------------------------------------- */

static void oxi_token_push(oxi_token_list *list, int32_t token) {
    if (list->count < list->room) list->out[list->count] = token;
    list->count++;
}

/* Cuts the text at its markers, which begin where `markers` (NULL: nowhere) says; the text between two is the
 * kind's business. */
static ox_status oxi_tokenizer_encode_parts(const ox_tokenizer *t, const char *text, size_t length,
                                            const int32_t *markers, oxi_token_list *list) {
    size_t start = 0, at = markers ? 0 : length;
    bool first = true;
    while (at < length) {
        if (markers[at] < 0) {
            at++;
            continue;
        }
        if (at > start) {
            const ox_status status = t->kind->encode(t, text + start, at - start, first, list);
            if (status) return status;
        }
        oxi_token_push(list, markers[at]);
        at += oxi_vocabulary_length(&t->vocabulary, markers[at]);
        start = at;
        first = true;
    }
    return at > start ? t->kind->encode(t, text + start, at - start, first, list) : OX_OK;
}

static ox_status oxi_tokenizer_encode_text(const ox_tokenizer *t, const char *text, size_t length,
                                           bool control, oxi_token_list *list) {
    const oxi_vocabulary *v = &t->vocabulary;
    if (!v->nodes || length == 0) return oxi_tokenizer_encode_parts(t, text, length, NULL, list);
    int32_t *markers = (int32_t *)oxi_alloc(length * sizeof *markers);
    if (!markers) return OX_ERR_NOMEM;
    oxi_vocabulary_markers(v, text, length, control, markers);
    const ox_status status = oxi_tokenizer_encode_parts(t, text, length, markers, list);
    oxi_free(markers, length * sizeof *markers);
    return status;
}

OX_API int64_t ox_tokenizer_encode(const ox_tokenizer *tokenizer, const char *text, int64_t length,
                                   const ox_tokenizer_encode_desc *desc, int32_t *out, int64_t room) {
    if (!tokenizer) {
        (void)oxi_fail_missing("tokenizer: the tokenizer");
        return -1;
    }
    const size_t bytes = !text ? 0 : length < 0 ? strlen(text) : (size_t)length;
    if ((!text && length > 0) || bytes >= (size_t)1 << 28) {
        (void)oxi_fail(OX_ERR_ARG, "tokenizer: a text of 2^28 bytes or more, or none at all");
        return -1;
    }
    oxi_token_list list;
    list.out = out;
    list.room = out ? room : 0;
    list.count = 0;
    const bool bare = desc && desc->bare;
    if (!bare && tokenizer->add_bos && tokenizer->special[OX_TOKEN_ROLE_BOS] >= 0) {
        oxi_token_push(&list, tokenizer->special[OX_TOKEN_ROLE_BOS]);
    }
    if (oxi_tokenizer_encode_text(tokenizer, text, bytes, desc && desc->parse_special, &list)) return -1;
    if (!bare && tokenizer->add_eos && tokenizer->special[OX_TOKEN_ROLE_EOS] >= 0) {
        oxi_token_push(&list, tokenizer->special[OX_TOKEN_ROLE_EOS]);
    }
    return list.count;
}

/* ---- ids to text --------------------------------------------------------------------------------------- */

OX_API ox_string ox_tokenizer_piece(const ox_tokenizer *tokenizer, int32_t previous, int32_t token) {
    ox_string piece;
    piece.data = "";
    piece.length = 0;
    if (!oxi_tokenizer_has(tokenizer, token)) return piece;
    const oxi_vocabulary *v = &tokenizer->vocabulary;
    piece.data = v->pieces + v->start[token];
    piece.length = (int64_t)v->piece_length[token];
    /* where encoding puts its space: at the start and after a marker */
    const uint8_t before =
        oxi_tokenizer_has(tokenizer, previous) ? v->type[previous] : (uint8_t)OX_TOKEN_CONTROL;
    const bool first = before == OX_TOKEN_CONTROL || before == OX_TOKEN_USER_DEFINED;
    if (first && tokenizer->space_prefix && v->type[token] != OX_TOKEN_USER_DEFINED && piece.length > 0 &&
        piece.data[0] == ' ') {
        piece.data++;
        piece.length--;
    }
    return piece;
}

OX_API size_t ox_tokenizer_decode(const ox_tokenizer *tokenizer, const int32_t *tokens, int64_t count,
                                  char *out, size_t room) {
    size_t length = 0;
    int32_t previous = -1;
    if (!tokenizer) (void)oxi_fail_missing("tokenizer: the tokenizer");
    if (!tokens && count > 0) (void)oxi_fail_missing("tokenizer: the list of tokens");
    for (int64_t i = 0; tokens && i < count; i++) {
        const ox_string piece = ox_tokenizer_piece(tokenizer, previous, tokens[i]);
        for (int64_t b = 0; b < piece.length; b++, length++) {
            if (length + 1 < room) out[length] = piece.data[b];
        }
        previous = tokens[i];
    }
    if (room) out[length < room ? length : room - 1] = 0;
    return length;
}
