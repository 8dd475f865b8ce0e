/* A tokenizer from GGUF metadata: vocabulary, merges, special tokens, and the pipeline that its kind and its
 * pre-tokenizer's name stand for. source llama.cpp, src/llama-vocab.cpp */

/* ---- arrays -------------------------------------------------------------------------------------------- */

/* An array under `key` of one of two element types with `count` elements (-1 = any number of them). */
static ox_status oxi_vocabulary_array(const ox_file *file, const char *key, ox_file_meta_type a,
                                      ox_file_meta_type b, int64_t count, ox_file_meta *out) {
    *out = ox_file_meta_find(file, key);
    if (out->type == OX_FILE_META_NONE)
        return oxi_fail(OX_ERR_NOT_FOUND, "tokenizer: metadata key %s is missing", key);
    if (out->type != OX_FILE_META_ARRAY || (out->element != a && out->element != b)) {
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: metadata key %s has a wrong type", key);
    }
    if (count >= 0 && out->count != count) {
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: metadata key %s has %lld elements for %lld tokens", key,
                        (long long)out->count, (long long)count);
    }
    return OX_OK;
}

static ox_status oxi_vocabulary_read_texts(oxi_vocabulary *v, const ox_file *file) {
    ox_file_meta tokens;
    size_t bytes = 0;
    ox_status status = oxi_vocabulary_array(file, "tokenizer.ggml.tokens", OX_FILE_META_STRING,
                                            OX_FILE_META_STRING, -1, &tokens);
    if (status) return status;
    if (tokens.count < 1 || tokens.count > INT32_MAX / 4) {
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: a vocabulary of %lld tokens", (long long)tokens.count);
    }
    for (int64_t i = 0; i < tokens.count; i++) {
        const ox_string text = ox_file_meta_element(file, &tokens, i).text;
        if (text.length < 0 || !oxi_add_size(bytes, (size_t)text.length, &bytes)) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: the texts of all tokens are too long");
        }
    }
    status = oxi_vocabulary_make(v, tokens.count, 0, bytes);
    if (status) return status;
    bytes = 0;
    for (int64_t i = 0; i < v->count; i++) {
        const ox_string text = ox_file_meta_element(file, &tokens, i).text;
        v->start[i] = bytes;
        if (text.length) memcpy(v->texts + bytes, text.data, (size_t)text.length);
        bytes += (size_t)text.length;
    }
    return OX_OK;
}

/* Types are optional: without them all tokens are normal ones, and bytes are told by their texts. */
static ox_status oxi_vocabulary_read_types(oxi_vocabulary *v, const ox_file *file) {
    const char *key = "tokenizer.ggml.token_type";
    if (ox_file_meta_find(file, key).type == OX_FILE_META_NONE) return OX_OK;
    ox_file_meta types;
    const ox_status status =
        oxi_vocabulary_array(file, key, OX_FILE_META_INT, OX_FILE_META_UINT, v->count, &types);
    if (status) return status;
    for (int64_t i = 0; i < v->count; i++) {
        const int64_t type = ox_file_meta_element(file, &types, i).i;
        if (type < 0 || type >= OX_TOKEN_TYPE_COUNT) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: token %lld is of the unknown type %lld", (long long)i,
                            (long long)type);
        }
        v->type[i] = (uint8_t)type;
    }
    return OX_OK;
}

static ox_status oxi_vocabulary_read_scores(oxi_vocabulary *v, const ox_file *file, bool needed) {
    ox_file_meta scores;
    if (!needed && ox_file_meta_find(file, "tokenizer.ggml.scores").type == OX_FILE_META_NONE) return OX_OK;
    const ox_status status = oxi_vocabulary_array(file, "tokenizer.ggml.scores", OX_FILE_META_FLOAT,
                                                  OX_FILE_META_FLOAT, v->count, &scores);
    if (status) return status;
    v->score = (float *)oxi_alloc((size_t)v->count * sizeof *v->score);
    if (!v->score) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < v->count; i++) {
        v->score[i] = (float)ox_file_meta_element(file, &scores, i).f;
        if (isnan(v->score[i])) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: the score of token %lld is NaN", (long long)i);
        }
    }
    return OX_OK;
}

/* Bytes by their texts, where types do not say which tokens are bytes. */
static ox_status oxi_vocabulary_find_byte_tokens(oxi_vocabulary *v, bool typed) {
    for (int32_t i = 0; i < v->count; i++) {
        const bool may_be_byte = !typed || v->type[i] == OX_TOKEN_BYTE;
        const int byte =
            may_be_byte ? oxi_byte_of_text(oxi_vocabulary_text(v, i), oxi_vocabulary_length(v, i)) : -1;
        if (typed && may_be_byte && byte < 0) {
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: token %d is a byte token, but its text is not <0x..>",
                            (int)i);
        }
        if (byte >= 0) v->byte_token[byte] = i;
    }
    return OX_OK;
}

/* ---- kinds --------------------------------------------------------------------------------------------- */

typedef struct oxi_gguf_kind {
    const char *name, *model; /* tokenizer.ggml.model; the row of models */
    bool bare;                /* nothing is ever put around a text */
    bool needs_scores, add_bos, add_eos, add_sep, space_prefix;
    int32_t bos, eos, unknown, sep, pad, mask;
    ox_status (*pipeline)(ox_tokenizer *t, const ox_file *file);
} oxi_gguf_kind;

static ox_status oxi_add_replace(ox_tokenizer *t, oxi_steps *steps, const oxi_step_row *row, const char *from,
                                 const char *to) {
    oxi_pipe_step *step = oxi_steps_add(steps, row);
    ox_status status = step ? oxi_step_set(&step->text, &step->text_length, to, strlen(to)) : OX_ERR_NOMEM;
    (void)t;
    if (!status && from) status = oxi_step_set(&step->find, &step->find_length, from, strlen(from));
    return status;
}

static ox_status oxi_add_plain(oxi_steps *steps, const oxi_step_row *row, uint32_t options) {
    oxi_pipe_step *step = oxi_steps_add(steps, row);
    if (step) step->options = options;
    return step ? OX_OK : OX_ERR_NOMEM;
}

static const char oxi_escaped_space[] = "\xe2\x96\x81";

/* U+2581 as a space, "<0x..>" as bytes, all in one, the first space off. */
static ox_status oxi_add_space_decoders(ox_tokenizer *t, bool bytes, bool cut) {
    ox_status status = oxi_add_replace(t, &t->decoders, oxi_decoder_row("Replace"), oxi_escaped_space, " ");
    if (!status && bytes) status = oxi_add_plain(&t->decoders, oxi_decoder_row("ByteFallback"), 0);
    if (!status) status = oxi_add_plain(&t->decoders, oxi_decoder_row("Fuse"), 0);
    if (status || !cut) return status;
    status = oxi_add_replace(t, &t->decoders, oxi_decoder_row("Strip"), " ", "");
    if (!status) t->decoders.list[t->decoders.count - 1].start = 1;
    return status;
}

static ox_status oxi_pipeline_llama(ox_tokenizer *t, const ox_file *file) {
    ox_status status = OX_OK;
    (void)file;
    t->takes_bytes = true;
    if (t->space_prefix)
        status = oxi_add_replace(t, &t->normalizers, oxi_normalizer_row("Prepend"), NULL, " ");
    if (!status)
        status = oxi_add_replace(t, &t->normalizers, oxi_normalizer_row("Replace"), " ", oxi_escaped_space);
    return status ? status : oxi_add_space_decoders(t, true, t->space_prefix);
}

/* "a b": the first space after the first byte parts them. Of equal pairs the first one stands. */
static ox_status oxi_gguf_read_merges(ox_tokenizer *t, const ox_file *file) {
    const oxi_vocabulary *v = &t->vocabulary;
    ox_file_meta merges;
    ox_status status = oxi_vocabulary_array(file, "tokenizer.ggml.merges", OX_FILE_META_STRING,
                                            OX_FILE_META_STRING, -1, &merges);
    if (status) return status;
    status = oxi_model_make_merges(&t->model, (size_t)merges.count);
    for (int64_t i = 0; i < merges.count && !status; i++) {
        const ox_string text = ox_file_meta_element(file, &merges, i).text;
        const char *space =
            text.length > 1 ? (const char *)memchr(text.data + 1, ' ', (size_t)text.length - 1) : NULL;
        if (!space) continue;
        const char *const part[2] = {text.data, space + 1};
        const size_t length[2] = {(size_t)(space - text.data),
                                  (size_t)text.length - (size_t)(space - text.data) - 1};
        const int32_t left = oxi_vocabulary_find(v, part[0], length[0]),
                      right = oxi_vocabulary_find(v, part[1], length[1]), made = oxi_made_id(t, part, length);
        if (left >= 0 && right >= 0 && made >= 0)
            (void)oxi_model_add_merge(&t->model, left, right, made, (uint32_t)i);
    }
    return status;
}

/* Texts are composed (NFC) where the file says so. */
static ox_status oxi_add_composition(ox_tokenizer *t, const ox_file *file) {
    bool composed = false;
    ox_status status = oxi_llm_meta_bool(file, "tokenizer.ggml.normalizer.nfc", false, &composed);
    if (status || !composed) return status;
    t->takes_bytes = false;
    status = oxi_unicode_open(&t->unicode, OXI_UNICODE_NORMAL_FORMS);
    return status ? status : oxi_add_plain(&t->normalizers, oxi_normalizer_row("NFC"), 0);
}

static ox_status oxi_pipeline_bpe(ox_tokenizer *t, const ox_file *file) {
    const oxi_pre_row *row = oxi_pre_row_of(t->pre[0] ? t->pre : "default");
    if (!row)
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: the pre-tokenizer \"%s\" is not supported", t->pre);
    ox_status status = oxi_gguf_read_merges(t, file);
    if (!status) status = oxi_add_composition(t, file);
    if (!status && (row->flags & OXI_PRE_ESCAPE))
        status = oxi_add_replace(t, &t->normalizers, oxi_normalizer_row("Replace"), " ", oxi_escaped_space);
    for (size_t i = 0; i < OXI_PRE_PATTERNS && row->patterns[i] && !status; i++) {
        oxi_pipe_step *step = oxi_steps_add(&t->pre_tokenizers, oxi_pre_tokenizer_row("Split"));
        status =
            step ? oxi_step_set_pattern(t, step, row->patterns[i], strlen(row->patterns[i])) : OX_ERR_NOMEM;
    }
    if (status) return status;
    t->model.ignore_merges = (row->flags & OXI_PRE_IGNORE_MERGES) != 0;
    t->model.whole_newlines = (row->flags & OXI_PRE_NEWLINES) != 0;
    t->model.drop_unknown = true;
    t->model.unknown = -1;
    if (row->flags & OXI_PRE_BOS) t->add_bos = true;
    if (row->flags & OXI_PRE_NO_BOS) t->special[OX_TOKEN_ROLE_BOS] = -1;
    if (row->flags & OXI_PRE_RAW) {
        t->model.byte_fallback = true;
        for (int32_t i = 0; i < t->vocabulary.count; i++) {
            const int byte = oxi_byte_of_text(oxi_vocabulary_text(&t->vocabulary, i),
                                              oxi_vocabulary_length(&t->vocabulary, i));
            if (byte >= 0) t->vocabulary.byte_token[byte] = i;
        }
        return oxi_add_space_decoders(t, true, false);
    }
    status = oxi_add_plain(&t->pre_tokenizers, oxi_pre_tokenizer_row("ByteLevel"), 0);
    return status ? status : oxi_add_plain(&t->decoders, oxi_decoder_row("ByteLevel"), 0);
}

/* Words of BERT: white space and control characters go, punctuation and ideographs stand alone. */
static ox_status oxi_pipeline_bert(ox_tokenizer *t, const ox_file *file) {
    bool lowercase = true, accents = true;
    ox_status status = oxi_llm_meta_bool(file, "tokenizer.ggml.normalizer.lowercase", true, &lowercase);
    if (!status)
        status = oxi_llm_meta_bool(file, "tokenizer.ggml.normalizer.strip_accents", lowercase, &accents);
    if (!status) status = oxi_unicode_open(&t->unicode, OXI_UNICODE_NORMAL_FORMS);
    if (!status) {
        status = oxi_add_plain(&t->normalizers, oxi_normalizer_row("bert"),
                               (lowercase ? (uint32_t)OXI_LOWERCASE : 0u) |
                                   (accents ? (uint32_t)OXI_STRIP_ACCENTS : 0u));
    }
    if (!status) status = oxi_add_plain(&t->pre_tokenizers, oxi_pre_tokenizer_row("bert"), 0);
    if (!status) status = oxi_tokenizer_make_trie(t, UINT32_MAX);
    return status ? status : oxi_add_space_decoders(t, false, true);
}

static ox_status oxi_read_charsmap(oxi_pipe_step *step, const ox_file *file) {
    const ox_file_meta map = ox_file_meta_find(file, "tokenizer.ggml.precompiled_charsmap");
    if (map.type == OX_FILE_META_NONE) return oxi_step_set(&step->text, &step->text_length, "", 0);
    if (map.type != OX_FILE_META_ARRAY ||
        (map.element != OX_FILE_META_INT && map.element != OX_FILE_META_UINT) || map.count < 0 ||
        map.count > 1 << 28)
        return oxi_fail(OX_ERR_FORMAT, "tokenizer: precompiled_charsmap is not a list of bytes");
    ox_status status = oxi_step_set(&step->text, &step->text_length, "", 0);
    char *bytes = (char *)oxi_alloc((size_t)map.count + 1);
    if (!bytes) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < map.count; i++) bytes[i] = (char)(ox_file_meta_element(file, &map, i).i & 255);
    if (!status) status = oxi_step_set(&step->text, &step->text_length, bytes, (size_t)map.count);
    oxi_free(bytes, (size_t)map.count + 1);
    return status;
}

static ox_status oxi_pipeline_t5(ox_tokenizer *t, const ox_file *file) {
    oxi_vocabulary *v = &t->vocabulary;
    bool merge = false, escape = true;
    double least = INFINITY;
    t->takes_bytes = true;
    ox_status status = oxi_llm_meta_bool(file, "tokenizer.ggml.remove_extra_whitespaces", false, &merge);
    if (!status) status = oxi_llm_meta_bool(file, "tokenizer.ggml.escape_whitespaces", true, &escape);
    if (!status) status = oxi_add_composition(t, file);
    if (status) return status;
    oxi_pipe_step *step = oxi_steps_add(&t->normalizers, oxi_normalizer_row("unigram"));
    if (!step) return OX_ERR_NOMEM;
    step->options = (merge ? (uint32_t)OXI_REMOVE_EXTRA_SPACES : 0u) |
                    (escape ? (uint32_t)OXI_ESCAPE_SPACES : 0u) |
                    (t->space_prefix ? (uint32_t)OXI_ADD_PREFIX_SPACE : 0u);
    status = oxi_read_charsmap(step, file);
    t->model.scores = (double *)oxi_calloc((size_t)v->count, sizeof *t->model.scores);
    if (!t->model.scores) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < v->count; i++) {
        t->model.scores[i] = v->type[i] == OX_TOKEN_USER_DEFINED ? 0 : v->score[i];
        if ((v->type[i] == OX_TOKEN_NORMAL || v->type[i] == OX_TOKEN_UNDEFINED) && v->score[i] < least)
            least = v->score[i];
    }
    t->model.unknown_score = least - 10;
    t->model.byte_fallback = true; /* as SentencePiece does where there are tokens for all bytes */
    for (int b = 0; b < 256; b++) t->model.byte_fallback &= v->byte_token[b] >= 0;
    if (!status) {
        status = oxi_tokenizer_make_trie(t, 1u << OX_TOKEN_UNDEFINED | 1u << OX_TOKEN_NORMAL |
                                                1u << OX_TOKEN_USER_DEFINED | 1u << OX_TOKEN_UNUSED);
    }
    return status ? status : oxi_add_space_decoders(t, true, t->space_prefix);
}

/* Texts have escapes: \t \n \r \x41, anything else behind a backslash is itself. */
static void oxi_unescape_texts(oxi_vocabulary *v) {
    size_t used = 0;
    for (int64_t i = 0; i < v->count; i++) {
        const size_t start = v->start[i], end = v->start[i + 1];
        v->start[i] = used;
        for (size_t at = start; at < end; at++) {
            char c = v->texts[at];
            if (c == '\\' && at + 1 < end) {
                c = v->texts[++at];
                if (c == 't') c = '\t';
                if (c == 'n') c = '\n';
                if (c == 'r') c = '\r';
                if (c == 'x' && at + 2 < end && oxi_hex_digit(v->texts[at + 1]) >= 0 &&
                    oxi_hex_digit(v->texts[at + 2]) >= 0) {
                    c = (char)(oxi_hex_digit(v->texts[at + 1]) * 16 + oxi_hex_digit(v->texts[at + 2]));
                    at += 2;
                }
            }
            v->texts[used++] = c;
        }
    }
    /* the room stays as it was allocated: what is left over belongs to the last token's end */
    v->spare = v->start[v->count] - used;
    v->start[v->count] = used;
}

static ox_status oxi_pipeline_rwkv(ox_tokenizer *t, const ox_file *file) {
    (void)file;
    t->takes_bytes = true;
    const ox_status status = oxi_tokenizer_make_trie(t, UINT32_MAX);
    return status ? status : oxi_add_plain(&t->decoders, oxi_decoder_row("Fuse"), 0);
}

/* Words are what stands between white space; the model sees their characters. */
static ox_status oxi_pipeline_whitespace(ox_tokenizer *t, const ox_file *file) {
    bool lowercase = strcmp(t->pre, "whitespace") != 0;
    ox_status status = oxi_llm_meta_bool(file, "tokenizer.ggml.normalizer.lowercase", lowercase, &lowercase);
    if (!status && lowercase) status = oxi_add_plain(&t->normalizers, oxi_normalizer_row("lower"), 0);
    if (!status) status = oxi_add_plain(&t->pre_tokenizers, oxi_pre_tokenizer_row("WhitespaceSplit"), 0);
    return status ? status : oxi_pipeline_bpe(t, file);
}

static ox_status oxi_pipeline_plamo(ox_tokenizer *t, const ox_file *file) {
    const oxi_vocabulary *v = &t->vocabulary;
    (void)file;
    for (int b = 0; b < 256; b++)
        if (v->byte_token[b] < 0)
            return oxi_fail(OX_ERR_FORMAT, "tokenizer: there is no token for byte %d", b);
    t->model.scores = (double *)oxi_calloc((size_t)v->count, sizeof *t->model.scores);
    if (!t->model.scores) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < v->count; i++) t->model.scores[i] = v->score[i];
    ox_status status = oxi_tokenizer_make_trie(t, ~(1u << OX_TOKEN_BYTE));
    if (!status) status = oxi_add_plain(&t->decoders, oxi_decoder_row("ByteFallback"), 0);
    return status ? status : oxi_add_plain(&t->decoders, oxi_decoder_row("Fuse"), 0);
}

static const oxi_gguf_kind oxi_gguf_kinds[] = {
    /* name    model     bare  scores  BOS    EOS    SEP    space  ids: BOS EOS UNK SEP PAD MASK */
    {"llama", "llama", false, true, true, false, false, true, 1, 2, 0, -1, -1, -1, oxi_pipeline_llama},
    {"gpt2", "BPE", false, false, false, false, false, false, 11, 11, -1, -1, -1, -1, oxi_pipeline_bpe},
    {"gemma4", "BPE", false, false, true, false, false, false, -1, -1, -1, -1, -1, -1, oxi_pipeline_bpe},
    {"whitespace", "BPE", false, false, false, false, false, false, 11, 11, -1, -1, -1, -1,
     oxi_pipeline_whitespace},
    {"bert", "bert", false, false, true, false, true, false, 101, -1, 100, 102, 0, 103, oxi_pipeline_bert},
    {"t5", "Unigram", false, true, false, true, false, false, -1, 1, 2, -1, 0, -1, oxi_pipeline_t5},
    {"plamo2", "plamo", true, true, false, false, false, false, 1, 2, 0, -1, 3, -1, oxi_pipeline_plamo},
    {"rwkv", "greedy", true, false, false, false, false, false, -1, -1, -1, -1, -1, -1, oxi_pipeline_rwkv},
};

static const oxi_gguf_kind *oxi_gguf_kind_of(const ox_file *file) {
    const ox_file_meta name = ox_file_meta_find(file, "tokenizer.ggml.model");
    if (name.type != OX_FILE_META_STRING) return NULL;
    for (size_t i = 0; i < sizeof oxi_gguf_kinds / sizeof *oxi_gguf_kinds; i++)
        if (oxi_llm_text_is(name.text, oxi_gguf_kinds[i].name)) return &oxi_gguf_kinds[i];
    return NULL;
}

static bool oxi_tokenizer_knows(const ox_file *file) {
    const ox_file_meta pre = ox_file_meta_find(file, "tokenizer.ggml.pre");
    const oxi_gguf_kind *kind = oxi_gguf_kind_of(file);
    char name[48] = "default";
    if (!kind) return false;
    if (pre.type == OX_FILE_META_STRING) oxi_llm_copy_text(pre.text, name, sizeof name);
    return (kind->pipeline != oxi_pipeline_bpe && kind->pipeline != oxi_pipeline_whitespace) ||
           strcmp(kind->name, "gemma4") == 0 || oxi_pre_row_of(name);
}

/* ---- special tokens ------------------------------------------------------------------------------------ */

typedef struct oxi_gguf_role {
    ox_token_role role;
    const char *key;
    const char *texts; /* tokens that have this role where the file does not say; with newlines between */
} oxi_gguf_role;

static const oxi_gguf_role oxi_gguf_roles[] = {
    {OX_TOKEN_ROLE_BOS, "tokenizer.ggml.bos_token_id", NULL},
    {OX_TOKEN_ROLE_EOS, "tokenizer.ggml.eos_token_id", NULL},
    {OX_TOKEN_ROLE_UNKNOWN, "tokenizer.ggml.unknown_token_id", NULL},
    {OX_TOKEN_ROLE_SEP, "tokenizer.ggml.seperator_token_id", NULL},
    {OX_TOKEN_ROLE_PAD, "tokenizer.ggml.padding_token_id", NULL},
    {OX_TOKEN_ROLE_CLS, "tokenizer.ggml.cls_token_id", NULL},
    {OX_TOKEN_ROLE_MASK, "tokenizer.ggml.mask_token_id", NULL},
    {OX_TOKEN_ROLE_EOT, "tokenizer.ggml.eot_token_id",
     "<|eot_id|>\n<|im_end|>\n<|end|>\n<end_of_turn>\n<|endoftext|>\n<|end_of_text|>\n<EOT>\n_<EOT>\n[EOT]\n"
     "<\xef\xbd\x9c"
     "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>\n<end_of_utterance>"},
    {OX_TOKEN_ROLE_EOM, "tokenizer.ggml.eom_token_id", "<|eom_id|>"},
    {OX_TOKEN_ROLE_FIM_PRE, "tokenizer.ggml.fim_pre_token_id",
     "<|fim_prefix|>\n<fim-prefix>\n<fim_prefix>\n<\xef\xbd\x9c"
     "fim\xe2\x96\x81"
     "begin\xef\xbd\x9c>\n<PRE>\n"
     "\xe2\x96\x81<PRE>\n<|code_prefix|>\n<|prefix|>"},
    {OX_TOKEN_ROLE_FIM_SUF, "tokenizer.ggml.fim_suf_token_id",
     "<|fim_suffix|>\n<fim-suffix>\n<fim_suffix>\n<\xef\xbd\x9c"
     "fim\xe2\x96\x81hole\xef\xbd\x9c>\n<SUF>\n"
     "\xe2\x96\x81<SUF>\n<|code_suffix|>\n<|suffix|>"},
    {OX_TOKEN_ROLE_FIM_MID, "tokenizer.ggml.fim_mid_token_id",
     "<|fim_middle|>\n<fim-middle>\n<fim_middle>\n<\xef\xbd\x9c"
     "fim\xe2\x96\x81"
     "end\xef\xbd\x9c>\n<MID>\n"
     "\xe2\x96\x81<MID>\n<|code_middle|>\n<|middle|>"},
    {OX_TOKEN_ROLE_FIM_PAD, "tokenizer.ggml.fim_pad_token_id",
     "<|fim_pad|>\n<fim-pad>\n<fim_pad>\n<PAD>\n[PAD]"},
    {OX_TOKEN_ROLE_FIM_REP, "tokenizer.ggml.fim_rep_token_id",
     "<|fim_repo|>\n<|repo_name|>\n<fim-repo>\n<REPO>\n<reponame>"},
    {OX_TOKEN_ROLE_FIM_SEP, "tokenizer.ggml.fim_sep_token_id", "<|file_sep|>"},
};

/* Tokens that end a text whatever the file says. */
static const char oxi_end_texts[] =
    "<|eot_id|>\n<|im_end|>\n<|end|>\n<|return|>\n<|call|>\n<|flush|>\n<|calls|>\n<end_of_turn>\n<|endoftext|"
    ">\n"
    "</s>\n<|eom_id|>\n<EOT>\n_<EOT>\n[EOT]\n[EOS]\n<|end_of_text|>\n<end_of_utterance>\n<eos>\n<turn|>\n"
    "<|tool_response>\n<\xef\xbd\x9c"
    "end\xe2\x96\x81of\xe2\x96\x81sentence\xef\xbd\x9c>\n[e~[";
static const char oxi_shown_texts[] = "<|channel|>\n<|message|>\n<|start|>\n<|constrain|>";

/* The next of the texts in a list that is a token, -1 = no more. */
static int32_t oxi_next_listed(const oxi_vocabulary *v, const char **at) {
    while (*at && **at) {
        const char *end = strchr(*at, '\n');
        const size_t length = end ? (size_t)(end - *at) : strlen(*at);
        const int32_t id = oxi_vocabulary_find(v, *at, length);
        *at = end ? end + 1 : *at + length;
        if (id >= 0) return id;
    }
    return -1;
}

static void oxi_tokenizer_find_ends(ox_tokenizer *t) {
    static const ox_token_role roles[] = {OX_TOKEN_ROLE_BOS,    OX_TOKEN_ROLE_EOS,     OX_TOKEN_ROLE_EOT,
                                          OX_TOKEN_ROLE_EOM,    OX_TOKEN_ROLE_FIM_PAD, OX_TOKEN_ROLE_FIM_REP,
                                          OX_TOKEN_ROLE_FIM_SEP};
    const oxi_vocabulary *v = &t->vocabulary;
    const char *at = oxi_end_texts;
    for (int32_t id; (id = oxi_next_listed(v, &at)) >= 0;) t->ends[id] = 1;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (t->special[roles[i]] >= 0) t->ends[t->special[roles[i]]] = 1;
    const int32_t end = oxi_vocabulary_find(v, "<|end|>", 7), call = oxi_vocabulary_find(v, "<|call|>", 8),
                  calls = oxi_vocabulary_find(v, "<|calls|>", 9),
                  done = oxi_vocabulary_find(v, "<|return|>", 10),
                  flush = oxi_vocabulary_find(v, "<|flush|>", 9), s = oxi_vocabulary_find(v, "</s>", 4);
    if (end >= 0 && (call >= 0 || calls >= 0) && (done >= 0 || flush >= 0)) t->ends[end] = 0;
    if (s >= 0 && oxi_vocabulary_find(v, "<|tool_response>", 16) >= 0) t->ends[s] = 0;
}

/* What reads like a control token is one. */
static void oxi_gguf_retype(ox_tokenizer *t) {
    oxi_vocabulary *v = &t->vocabulary;
    const char *at = oxi_end_texts;
    for (int32_t id; (id = oxi_next_listed(v, &at)) >= 0;) v->type[id] = OX_TOKEN_CONTROL;
    at = oxi_shown_texts;
    for (int32_t id; (id = oxi_next_listed(v, &at)) >= 0;) v->type[id] = OX_TOKEN_USER_DEFINED;
    const int32_t end = oxi_vocabulary_find(v, "<|end|>", 7), s = oxi_vocabulary_find(v, "</s>", 4);
    const bool calls =
        oxi_vocabulary_find(v, "<|call|>", 8) >= 0 || oxi_vocabulary_find(v, "<|calls|>", 9) >= 0;
    const bool done =
        oxi_vocabulary_find(v, "<|return|>", 10) >= 0 || oxi_vocabulary_find(v, "<|flush|>", 9) >= 0;
    if (end >= 0 && calls && done) v->type[end] = OX_TOKEN_USER_DEFINED;
    if (s >= 0 && oxi_vocabulary_find(v, "<|tool_response>", 16) >= 0) v->type[s] = OX_TOKEN_NORMAL;
}

/* Ids of roles: 2^32 - 1 in the file means that there is none. */
static ox_status oxi_gguf_read_roles(ox_tokenizer *t, const ox_file *file) {
    oxi_vocabulary *v = &t->vocabulary;
    for (size_t i = 0; i < sizeof oxi_gguf_roles / sizeof *oxi_gguf_roles; i++) {
        const oxi_gguf_role *row = &oxi_gguf_roles[i];
        const ox_file_meta meta = ox_file_meta_find(file, row->key);
        int64_t token = t->special[row->role] < v->count ? t->special[row->role] : -1;
        if (meta.type != OX_FILE_META_NONE &&
            !(meta.type == OX_FILE_META_UINT && meta.i == (int64_t)UINT32_MAX)) {
            const ox_status status = oxi_llm_meta_int(file, row->key, -1, v->count - 1, -1, &token);
            if (status) return status;
        } else if (meta.type != OX_FILE_META_NONE) {
            token = -1;
        }
        const char *at = row->texts;
        if (token < 0 && at && (token = oxi_next_listed(v, &at)) >= 0) v->type[token] = OX_TOKEN_CONTROL;
        t->special[row->role] = (int32_t)token;
    }
    return OX_OK;
}

/* Markers; some models take the white space beside theirs. */
static ox_status oxi_gguf_add_markers(ox_tokenizer *t, const ox_file *file) {
    const oxi_vocabulary *v = &t->vocabulary;
    const ox_file_meta name = ox_file_meta_find(file, "general.name");
    char model[64] = "";
    if (name.type == OX_FILE_META_STRING) oxi_llm_copy_text(name.text, model, sizeof model);
    for (char *c = model; *c; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 32);
    const bool phi3 = strstr(model, "phi-3") || strstr(model, "phi3");
    const int32_t mask = oxi_vocabulary_find(v, strstr(model, "modern-bert") ? "[MASK]" : "<mask>", 6);
    const bool mask_strips = strcmp(t->pre, "jina-v2-de") == 0 || strcmp(t->pre, "jina-v2-es") == 0 ||
                             strcmp(t->pre, "jina-v2-code") == 0 || strcmp(t->pre, "mmbert") == 0 ||
                             strstr(model, "modern-bert") != NULL;
    for (int32_t i = 0; i < v->count; i++) {
        const uint8_t type = v->type[i];
        oxi_added added;
        if (type != OX_TOKEN_CONTROL && type != OX_TOKEN_UNKNOWN && type != OX_TOKEN_USER_DEFINED) continue;
        if (oxi_vocabulary_find(v, oxi_vocabulary_text(v, i), oxi_vocabulary_length(v, i)) != i) continue;
        memset(&added, 0, sizeof added);
        added.id = i;
        added.special = type != OX_TOKEN_USER_DEFINED;
        added.lstrip = mask_strips && i == mask;
        added.rstrip = phi3 && i != oxi_vocabulary_find(v, "<unk>", 5) &&
                       i != oxi_vocabulary_find(v, "<s>", 3) &&
                       i != oxi_vocabulary_find(v, "<|endoftext|>", 13);
        const ox_status status = oxi_added_push(t, added);
        if (status) return status;
    }
    return OX_OK;
}

/* BOS before, EOS or SEP behind, as the file says. */
static ox_status oxi_gguf_add_template(ox_tokenizer *t) {
    const bool bert = t->model.row == oxi_model_row_of("bert");
    const int32_t bos = t->add_bos || bert ? t->special[OX_TOKEN_ROLE_BOS] : -1;
    const int32_t eos = bert         ? t->special[OX_TOKEN_ROLE_SEP]
                        : t->add_eos ? t->special[OX_TOKEN_ROLE_EOS]
                                     : -1;
    oxi_pipe_step *step = oxi_steps_add(&t->post_processors, oxi_post_row("TemplateProcessing"));
    ox_status status = step ? OX_OK : OX_ERR_NOMEM;
    for (int pair = 0; pair < 2 && !status; pair++) {
        if (bos >= 0) status = oxi_template_push(step, bos, 0, pair != 0);
        for (int text = 0; text <= pair && !status; text++) {
            status = oxi_template_push(step, -1 - text, (uint8_t)text, pair != 0);
            if (!status && eos >= 0) status = oxi_template_push(step, eos, (uint8_t)text, pair != 0);
        }
    }
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static ox_status oxi_gguf_read_flags(ox_tokenizer *t, const ox_file *file) {
    ox_status status = oxi_llm_meta_bool(file, "tokenizer.ggml.add_bos_token", t->add_bos, &t->add_bos);
    if (!status) status = oxi_llm_meta_bool(file, "tokenizer.ggml.add_eos_token", t->add_eos, &t->add_eos);
    if (!status) status = oxi_llm_meta_bool(file, "tokenizer.ggml.add_sep_token", t->add_sep, &t->add_sep);
    if (strcmp(t->kind, "gemma4") == 0 || strcmp(t->pre, "gemma4") == 0) t->add_bos = true;
    return status;
}

static ox_status oxi_gguf_read_kind(ox_tokenizer *t, const ox_file *file, const oxi_gguf_kind *kind) {
    oxi_vocabulary *v = &t->vocabulary;
    const bool typed = ox_file_meta_find(file, "tokenizer.ggml.token_type").type != OX_FILE_META_NONE;
    const ox_file_meta pre = ox_file_meta_find(file, "tokenizer.ggml.pre");
    snprintf(t->kind, sizeof t->kind, "%s", kind->name);
    if (pre.type == OX_FILE_META_STRING) oxi_llm_copy_text(pre.text, t->pre, sizeof t->pre);
    if (strcmp(kind->name, "gemma4") == 0) snprintf(t->pre, sizeof t->pre, "gemma4");
    t->model.row = oxi_model_row_of(kind->model);
    t->add_bos = kind->add_bos;
    t->add_eos = kind->add_eos;
    t->add_sep = kind->add_sep;
    const int32_t ids[] = {kind->bos, kind->eos, kind->unknown, kind->sep, kind->pad, kind->mask};
    static const ox_token_role roles[] = {OX_TOKEN_ROLE_BOS, OX_TOKEN_ROLE_EOS, OX_TOKEN_ROLE_UNKNOWN,
                                          OX_TOKEN_ROLE_SEP, OX_TOKEN_ROLE_PAD, OX_TOKEN_ROLE_MASK};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) t->special[roles[i]] = ids[i];
    ox_status status = oxi_unicode_open(&t->unicode, OXI_UNICODE_15);
    if (!status) status = oxi_vocabulary_read_texts(v, file);
    if (!status && kind->pipeline == oxi_pipeline_rwkv) oxi_unescape_texts(v);
    if (!status) status = oxi_vocabulary_read_types(v, file);
    if (!status) status = oxi_vocabulary_read_scores(v, file, kind->needs_scores);
    if (!status) status = oxi_vocabulary_index(v);
    if (!status) status = oxi_vocabulary_find_byte_tokens(v, typed);
    if (!status) {
        status =
            oxi_llm_meta_bool(file, "tokenizer.ggml.add_space_prefix", kind->space_prefix, &t->space_prefix);
    }
    if (!status) status = kind->pipeline(t, file);
    if (!status) status = oxi_gguf_read_roles(t, file);
    if (!status) status = oxi_gguf_read_flags(t, file);
    if (kind->bare) t->add_bos = t->add_eos = false;
    if (t->model.row->encode != oxi_bpe_encode) t->model.unknown = t->special[OX_TOKEN_ROLE_UNKNOWN];
    if (status) return status;
    oxi_gguf_retype(t);
    status = oxi_gguf_add_markers(t, file);
    return status ? status : oxi_gguf_add_template(t);
}

static ox_status oxi_tokenizer_read_gguf(ox_tokenizer *t, const ox_file *file) {
    const oxi_gguf_kind *kind = oxi_gguf_kind_of(file);
    if (!kind) {
        const ox_file_meta name = ox_file_meta_find(file, "tokenizer.ggml.model");
        char text[32] = "";
        if (name.type != OX_FILE_META_STRING)
            return oxi_fail(OX_ERR_NOT_FOUND, "tokenizer: the file has no tokenizer.ggml.model");
        oxi_llm_copy_text(name.text, text, sizeof text);
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: the tokenizer's kind \"%s\" is not supported", text);
    }
    const ox_status status = oxi_gguf_read_kind(t, file, kind);
    return status ? status : oxi_tokenizer_finish(t);
}
