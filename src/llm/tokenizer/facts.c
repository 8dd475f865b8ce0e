/* The other way round: a tokenizer's pipeline as the keys of a GGUF file. */

/* The patterns of Split steps as tokenizer.json files have them, and the name that stands for them. */
typedef struct oxi_pre_name {
    const char *name, *patterns[3];
} oxi_pre_name;

static const oxi_pre_name oxi_pre_names[] = {
    {"llama-bpe",
     {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\"
      "n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      NULL, NULL}},
    {"qwen2",
     {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"
      "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      NULL, NULL}},
    {"gpt-4o",
     {"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t"
      "|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p"
      "{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]"
      "+|\\s+(?!\\S)|\\s+",
      NULL, NULL}},
    {"deepseek-v3",
     {"\\p{N}{1,3}", "[\344\270\200-\351\276\245\343\201\200-\343\202\237\343\202\240-\343\203\277]+",
      "[!\\\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]"
      "+| ?[\\p{P}\\p{S}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"tekken",
     {"[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+|[^\\r\\n"
      "\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*|\\p{N}| ?[^\\s\\"
      "p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      NULL, NULL}},
    {"bloom",
     {" ?[^(\\s|[.,!?\342\200\246\343\200\202\357\274\214\343\200\201\340\245\244\333\224\330\214])]+", NULL,
      NULL}},
    {"qwen35",
     {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N"
      "}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
      NULL, NULL}},
    {"bailingmoe",
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*["
      "\\r\\n]|\\s+(?!\\S)|\\s+",
      NULL, NULL}},
};

static void *oxi_fact_block(oxi_tokenizer_fact_list *list, size_t bytes) {
    void *blocks =
        oxi_grow(list->blocks, &list->block_room, list->block_count + 1, sizeof *list->blocks, false);
    if (blocks) list->blocks = (void **)blocks;
    void *sizes = oxi_grow(list->block_bytes, &list->block_bytes_room, list->block_count + 1,
                           sizeof *list->block_bytes, false);
    if (sizes) list->block_bytes = (size_t *)sizes;
    void *block = blocks && sizes ? oxi_calloc(bytes ? bytes : 1, 1) : NULL;
    if (!block) return NULL;
    list->block_bytes[list->block_count] = bytes ? bytes : 1;
    list->blocks[list->block_count++] = block;
    return block;
}

static OXI_UNUSED void oxi_tokenizer_facts_free(oxi_tokenizer_fact_list *list) {
    for (size_t i = 0; i < list->block_count; i++) oxi_free(list->blocks[i], list->block_bytes[i]);
    oxi_free(list->blocks, list->block_room * sizeof *list->blocks);
    oxi_free(list->block_bytes, list->block_bytes_room * sizeof *list->block_bytes);
    oxi_free(list->pairs, list->room * sizeof *list->pairs);
    memset(list, 0, sizeof *list);
}

static ox_status oxi_fact_push(oxi_tokenizer_fact_list *list, const char *key, ox_gguf_type type,
                               ox_gguf_type element, int64_t count, const void *value) {
    void *grown = oxi_grow(list->pairs, &list->room, list->count + 1, sizeof *list->pairs, false);
    if (!grown || !value) return OX_ERR_NOMEM;
    list->pairs = (ox_gguf_pair *)grown;
    ox_gguf_pair *pair = &list->pairs[list->count++];
    pair->key = key;
    pair->type = type;
    pair->element = element;
    pair->count = count;
    pair->value = value;
    return OX_OK;
}

static ox_status oxi_fact_text(oxi_tokenizer_fact_list *list, const char *key, const char *text) {
    return oxi_fact_push(list, key, OX_GGUF_STRING, OX_GGUF_U8, -1, text);
}

static ox_status oxi_fact_flag(oxi_tokenizer_fact_list *list, const char *key, bool flag) {
    bool *value = (bool *)oxi_fact_block(list, sizeof *value);
    if (value) *value = flag;
    return oxi_fact_push(list, key, OX_GGUF_BOOL, OX_GGUF_U8, 0, value);
}

/* The name of the pre-tokenizer, NULL = none stands for it. */
static const char *oxi_fact_pre(const ox_tokenizer *t) {
    const oxi_steps *steps = &t->pre_tokenizers;
    const oxi_pipe_step *last = &steps->list[steps->count - 1];
    if (steps->count == 1 && (last->options & OXI_USE_REGEX)) return "gpt-2";
    if (steps->count == 2 && oxi_row_is(&steps->list[0], "Digits") && (last->options & OXI_USE_REGEX) &&
        (steps->list[0].options & OXI_INDIVIDUAL_DIGITS))
        return "starcoder";
    for (size_t i = 0; i < sizeof oxi_pre_names / sizeof *oxi_pre_names; i++) {
        const oxi_pre_name *row = &oxi_pre_names[i];
        size_t count = 0;
        bool same = !(last->options & OXI_USE_REGEX);
        while (count < 3 && row->patterns[count]) count++;
        same = same && steps->count == count + 1;
        for (size_t k = 0; k < count && same; k++)
            same = steps->list[k].pattern && strcmp(steps->list[k].find, row->patterns[k]) == 0;
        if (same) return row->name;
    }
    return NULL;
}

static bool oxi_fact_looks_special(const char *text, size_t length) {
    return length > 2 && ((text[0] == '<' && text[1] == '|' && text[length - 1] == '>') ||
                          (length > 6 && memcmp(text, "<\xef\xbd\x9c", 4) == 0));
}

/* Texts and types; WordPiece's are stored with U+2581 before words and nothing before later parts. */
static ox_status oxi_fact_tokens(const ox_tokenizer *t, oxi_tokenizer_fact_list *list, bool bert) {
    const oxi_vocabulary *v = &t->vocabulary;
    const size_t count = (size_t)list->tokens;
    ox_string *texts = (ox_string *)oxi_fact_block(list, count * sizeof *texts);
    int32_t *types = (int32_t *)oxi_fact_block(list, count * sizeof *types);
    char *more = (char *)oxi_fact_block(list, v->start[v->count] + 24 * count);
    if (!texts || !types || !more) return OX_ERR_NOMEM;
    for (int32_t i = 0; i < list->tokens; i++) {
        const bool has = i < v->count;
        const char *text = has ? oxi_vocabulary_text(v, i) : "";
        size_t length = has ? oxi_vocabulary_length(v, i) : 0;
        const size_t prefix = t->model.prefix_length;
        types[i] = has ? (int32_t)v->type[i] : (int32_t)OX_TOKEN_UNUSED;
        if (types[i] == OX_TOKEN_USER_DEFINED && oxi_fact_looks_special(text, length))
            types[i] = OX_TOKEN_CONTROL;
        if (t->model.whole_word && types[i] == OX_TOKEN_UNKNOWN) types[i] = OX_TOKEN_NORMAL;
        if (length == 0) {
            length = (size_t)snprintf(more, 24, "[PAD%d]", (int)i);
            types[i] = OX_TOKEN_UNUSED;
            text = more;
            more += length;
        } else if (bert && prefix && length >= prefix && memcmp(text, t->model.prefix, prefix) == 0) {
            text += prefix;
            length -= prefix;
        } else if (bert && types[i] == OX_TOKEN_NORMAL) {
            memcpy(more, oxi_escaped_space, 3);
            memcpy(more + 3, text, length);
            text = more;
            length += 3;
            more += length;
        }
        texts[i].data = text;
        texts[i].length = (int64_t)length;
    }
    const ox_status status =
        oxi_fact_push(list, "tokenizer.ggml.tokens", OX_GGUF_ARRAY, OX_GGUF_STRING, list->tokens, texts);
    return status ? status
                  : oxi_fact_push(list, "tokenizer.ggml.token_type", OX_GGUF_ARRAY, OX_GGUF_I32, list->tokens,
                                  types);
}

/* Merges by rank; those that are not there any more (a later one is the same) are left out. */
static const oxi_merge **oxi_fact_ranked(const oxi_model *m, oxi_tokenizer_fact_list *list, size_t *count) {
    uint32_t most = 0;
    size_t used = 0;
    for (size_t i = 0; i < m->merge_count; i++)
        if (m->merges[i].left >= 0 && m->merges[i].rank >= most) most = m->merges[i].rank + 1;
    const oxi_merge **ranked = (const oxi_merge **)oxi_fact_block(list, (size_t)most * sizeof *ranked);
    if (!ranked) return NULL;
    for (size_t i = 0; i < m->merge_count; i++)
        if (m->merges[i].left >= 0) ranked[m->merges[i].rank] = &m->merges[i];
    for (uint32_t i = 0; i < most; i++)
        if (ranked[i]) ranked[used++] = ranked[i];
    *count = used;
    return ranked;
}

static ox_status oxi_fact_merges(const ox_tokenizer *t, oxi_tokenizer_fact_list *list) {
    const oxi_vocabulary *v = &t->vocabulary;
    size_t count = 0, bytes = 0;
    const oxi_merge **ranked = oxi_fact_ranked(&t->model, list, &count);
    for (size_t i = 0; ranked && i < count; i++)
        bytes += oxi_vocabulary_length(v, ranked[i]->left) + oxi_vocabulary_length(v, ranked[i]->right) + 1;
    ox_string *texts = (ox_string *)oxi_fact_block(list, count * sizeof *texts);
    char *all = (char *)oxi_fact_block(list, bytes);
    if (!ranked || !texts || !all) return OX_ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        const size_t left = oxi_vocabulary_length(v, ranked[i]->left),
                     right = oxi_vocabulary_length(v, ranked[i]->right);
        texts[i].data = all;
        texts[i].length = (int64_t)(left + right + 1);
        memcpy(all, oxi_vocabulary_text(v, ranked[i]->left), left);
        all[left] = ' ';
        memcpy(all + left + 1, oxi_vocabulary_text(v, ranked[i]->right), right);
        all += left + right + 1;
    }
    return oxi_fact_push(list, "tokenizer.ggml.merges", OX_GGUF_ARRAY, OX_GGUF_STRING, (int64_t)count, texts);
}

/* Unigram's as they are; those of merged characters by the rank of what makes them, the first the best. */
static ox_status oxi_fact_scores(const ox_tokenizer *t, oxi_tokenizer_fact_list *list) {
    const oxi_vocabulary *v = &t->vocabulary;
    float *scores = (float *)oxi_fact_block(list, (size_t)list->tokens * sizeof *scores);
    if (!scores) return OX_ERR_NOMEM;
    for (int32_t i = 0; i < list->tokens; i++)
        scores[i] = t->model.scores && i < v->count ? (float)t->model.scores[i] : -1e6f;
    for (size_t i = 0; i < t->model.merge_count; i++) {
        const oxi_merge *merge = &t->model.merges[i];
        const bool reads = merge->left >= 0 && merge->made < t->vocabulary.count;
        if (reads && scores[merge->made] < -(float)merge->rank) scores[merge->made] = -(float)merge->rank;
    }
    return oxi_fact_push(list, "tokenizer.ggml.scores", OX_GGUF_ARRAY, OX_GGUF_F32, list->tokens, scores);
}

static ox_status oxi_fact_roles(const ox_tokenizer *t, oxi_tokenizer_fact_list *list, bool bert) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < sizeof oxi_gguf_roles / sizeof *oxi_gguf_roles && !status; i++) {
        int32_t id = t->special[oxi_gguf_roles[i].role];
        if (bert && id < 0 && oxi_gguf_roles[i].role == OX_TOKEN_ROLE_SEP) id = t->special[OX_TOKEN_ROLE_EOS];
        if (bert && id < 0 && oxi_gguf_roles[i].role == OX_TOKEN_ROLE_CLS) id = t->special[OX_TOKEN_ROLE_BOS];
        uint32_t *value = id >= 0 ? (uint32_t *)oxi_fact_block(list, sizeof *value) : NULL;
        if (id < 0) continue;
        if (value) *value = (uint32_t)id;
        status = oxi_fact_push(list, oxi_gguf_roles[i].key, OX_GGUF_U32, OX_GGUF_U8, 0, value);
    }
    if (!status) status = oxi_fact_flag(list, "tokenizer.ggml.add_bos_token", t->add_bos);
    return status ? status : oxi_fact_flag(list, "tokenizer.ggml.add_eos_token", t->add_eos);
}

/* Normalizers that GGUF knows for a kind: space prefix, spaces as U+2581, a table of characters. */
static const oxi_pipe_step *oxi_fact_find_step(const oxi_steps *steps, const char *name) {
    for (size_t i = 0; i < steps->count; i++)
        if (oxi_row_is(&steps->list[i], name)) return &steps->list[i];
    return NULL;
}

static ox_status oxi_fact_spaces(const ox_tokenizer *t, oxi_tokenizer_fact_list *list, bool unigram) {
    const oxi_pipe_step *meta = oxi_fact_find_step(&t->pre_tokenizers, "Metaspace");
    const bool prefix =
        oxi_fact_find_step(&t->normalizers, "Prepend") || (meta && meta->prepend != OXI_PREPEND_NEVER);
    const oxi_pipe_step *map = oxi_fact_find_step(&t->normalizers, "Precompiled");
    ox_status status = oxi_fact_flag(list, "tokenizer.ggml.add_space_prefix", prefix);
    if (status || !unigram) return status;
    status = oxi_fact_flag(list, "tokenizer.ggml.remove_extra_whitespaces",
                           oxi_fact_find_step(&t->normalizers, "Replace") != NULL);
    if (status || !map || map->text_length == 0) return status;
    return oxi_fact_push(list, "tokenizer.ggml.precompiled_charsmap", OX_GGUF_ARRAY, OX_GGUF_U8,
                         (int64_t)map->text_length, map->text);
}

static OXI_UNUSED ox_status oxi_tokenizer_facts(const ox_tokenizer *t, int64_t rows,
                                                oxi_tokenizer_fact_list *list) {
    const bool bpe = t->model.row->encode == oxi_bpe_encode, bytes = t->model.whole_word;
    const bool unigram = t->model.row->encode == oxi_unigram_encode;
    const bool bert = t->model.row->encode == oxi_word_piece_encode;
    const char *pre = bytes ? oxi_fact_pre(t) : "default";
    if (!t->from_json || !(unigram || bert || (bpe && (bytes || t->model.byte_fallback))))
        return oxi_fail(OX_ERR_UNSUPPORTED, "tokenizer: GGUF files have no kind for this tokenizer (%s)",
                        t->kind);
    if (!pre)
        return oxi_fail(OX_ERR_UNSUPPORTED,
                        "tokenizer: no name of tokenizer.ggml.pre stands for its patterns");
    list->tokens = rows > t->vocabulary.count && rows < INT32_MAX ? rows : t->vocabulary.count;
    ox_status status = oxi_fact_text(list, "tokenizer.ggml.model",
                                     bytes     ? "gpt2"
                                     : unigram ? "t5"
                                     : bert    ? "bert"
                                               : "llama");
    if (!status) status = oxi_fact_text(list, "tokenizer.ggml.pre", pre);
    if (!status) status = oxi_fact_tokens(t, list, bert);
    if (!status && bytes) status = oxi_fact_merges(t, list);
    if (!status && bytes && oxi_fact_find_step(&t->normalizers, "NFC"))
        status = oxi_fact_flag(list, "tokenizer.ggml.normalizer.nfc", true);
    if (!status && !bytes && !bert) status = oxi_fact_scores(t, list);
    if (!status && !bytes && !bert) status = oxi_fact_spaces(t, list, unigram);
    const oxi_pipe_step *normalizer = oxi_fact_find_step(&t->normalizers, "BertNormalizer");
    if (!status && bert && normalizer) {
        status = oxi_fact_flag(list, "tokenizer.ggml.normalizer.lowercase",
                               (normalizer->options & OXI_LOWERCASE) != 0);
        if (!status)
            status = oxi_fact_flag(list, "tokenizer.ggml.normalizer.strip_accents",
                                   (normalizer->options & OXI_STRIP_ACCENTS) != 0);
    }
    return status ? status : oxi_fact_roles(t, list, bert);
}
