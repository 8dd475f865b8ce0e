/* llama2.c's model.bin as an ox_file: sizes and f32 weights without names, which lie in the mapped file as
 * GGUF wants them; the tokenizer.bin (or tokN.bin) beside it. Called by source.c.
 * source llama2.c: export.py (versions 0 and 1), run.c, tokenizer.py */

static const oxi_format oxi_format_llama2c = {"llama2.c", "", NULL, NULL, NULL, NULL, NULL};

typedef struct oxi_llm_bin {
    ox_file *file;
    int64_t width, hidden, layers, heads, kv_heads, vocabulary, context;
    bool shared; /* the embedding is the output matrix too */
    uint64_t at; /* of the next weight */
} oxi_llm_bin;

/* ---- sizes and weights --------------------------------------------------------------------------------- */

/* Magic "ak42" and a version, or at once: width, hidden, layers, heads, kv_heads, vocabulary, context. */
static ox_status oxi_llm_bin_header(oxi_llm_bin *b, int *version) {
    unsigned char head[40];
    const size_t bytes = b->file->parts[0].mapping.bytes;
    if (bytes < 256)
        return oxi_file_fail(OX_ERR_FORMAT, b->file, 0, SIZE_MAX, "no model: less than 256 bytes");
    ox_status status = oxi_file_copy(b->file, 0, 0, head, sizeof head);
    if (status != OX_OK) return status;
    *version = oxi_read_u32(head) == 0x616b3432u ? (int32_t)oxi_read_u32(head + 4) : 0;
    if (*version != 0 && *version != 1)
        return oxi_file_fail(OX_ERR_UNSUPPORTED, b->file, 0, 4,
                             "version %d of llama2.c's format is not supported (0 and 1 are)", *version);
    int64_t sizes[7];
    for (int i = 0; i < 7; i++) sizes[i] = (int32_t)oxi_read_u32(head + (*version ? 8 : 0) + 4 * i);
    b->shared = *version ? head[36] != 0 : sizes[5] > 0;
    if (!*version && sizes[5] < 0) sizes[5] = -sizes[5];
    for (int i = 0; i < 7; i++)
        if (sizes[i] < 1 || sizes[i] > 1 << 24)
            return oxi_file_fail(OX_ERR_FORMAT, b->file, 0, (size_t)(4 * i), "size %d is %lld", i,
                                 (long long)sizes[i]);
    b->width = sizes[0];
    b->hidden = sizes[1];
    b->layers = sizes[2];
    b->heads = sizes[3];
    b->kv_heads = sizes[4];
    b->vocabulary = sizes[5];
    b->context = sizes[6];
    b->at = *version ? 256 : 28;
    if (b->width % b->heads || b->heads % b->kv_heads || b->width / b->heads % 2 || b->layers > 1 << 16)
        return oxi_file_fail(OX_ERR_FORMAT, b->file, 0, 0, "%lld wide, %lld heads, %lld key-value heads",
                             (long long)b->width, (long long)b->heads, (long long)b->kv_heads);
    return OX_OK;
}

/* A weight of each layer, one after the other; without a layer's name: one of the model. rows 0 = a vector.
 * name NULL = it is passed over. */
static ox_status oxi_llm_bin_weight(oxi_llm_bin *b, bool of_layers, const char *name, int64_t rows,
                                    int64_t columns) {
    const uint64_t each = (uint64_t)(rows ? rows : 1) * (uint64_t)columns * 4; /* sizes are at most 2^24 */
    const uint64_t all = b->file->parts[0].mapping.bytes;
    for (int64_t layer = 0; layer < (of_layers ? b->layers : 1); layer++, b->at += each) {
        if (b->at > all || each > all - b->at)
            return oxi_file_fail(OX_ERR_FORMAT, b->file, 0, (size_t)b->at,
                                 "the file ends inside %s, of %llu bytes a layer", name ? name : "its rope",
                                 (unsigned long long)each);
        if (!name) continue;
        char full[64];
        size_t bytes = 0;
        if (of_layers)
            (void)snprintf(full, sizeof full, "blk.%lld.%s", (long long)layer, name);
        else
            (void)snprintf(full, sizeof full, "%s", name);
        char *copy = (char *)oxi_file_take(b->file, strlen(full) + 1);
        int64_t *shape = (int64_t *)oxi_file_take(b->file, 2 * sizeof *shape);
        oxi_file_item *item = copy && shape ? oxi_file_add_item(b->file) : NULL;
        if (!item) return OX_ERR_NOMEM;
        strcpy(copy, full);
        shape[0] = rows ? rows : columns;
        shape[1] = columns;
        if (!oxi_item_shape(item, OX_F32, rows ? 2 : 1, shape, &bytes))
            return oxi_file_fail(OX_ERR_FORMAT, b->file, 0, (size_t)b->at, "%s is too large", copy);
        item->name = copy;
        item->bytes = bytes;
        item->offset = (size_t)b->at;
        item->swapped = oxi_big_endian_host();
    }
    return OX_OK;
}

static ox_status oxi_llm_bin_weights(oxi_llm_bin *b, int version) {
    const int64_t width = b->width, hidden = b->hidden, size = width / b->heads;
    const struct {
        int before; /* of the two versions: their place in the file */
        int after;
        bool of_layers;
        const char *name;
        int64_t rows, columns;
    } weights[] = {
        {0, 3, false, "token_embd.weight", b->vocabulary, width},
        {1, 0, true, "attn_norm.weight", 0, width},
        {2, 4, true, "attn_q.weight", width, width},
        {3, 5, true, "attn_k.weight", b->kv_heads * size, width},
        {4, 6, true, "attn_v.weight", b->kv_heads * size, width},
        {5, 7, true, "attn_output.weight", width, width},
        {6, 1, true, "ffn_norm.weight", 0, width},
        {7, 8, true, "ffn_gate.weight", hidden, width},
        {8, 9, true, "ffn_down.weight", width, hidden},
        {9, 10, true, "ffn_up.weight", hidden, width},
        {10, 2, false, "output_norm.weight", 0, width},
        {11, -1, false, NULL, b->context, size}, /* cosines and sines of the rope */
        {12, 11, false, "output.weight", b->vocabulary, width},
    };
    enum { COUNT = (int)(sizeof weights / sizeof *weights) };
    for (int place = 0; place < COUNT; place++)
        for (int i = 0; i < COUNT; i++) {
            if ((version ? weights[i].after : weights[i].before) != place) continue;
            if (i == COUNT - 1 && b->shared) continue;
            const ox_status status = oxi_llm_bin_weight(b, weights[i].of_layers, weights[i].name,
                                                        weights[i].rows, weights[i].columns);
            if (status != OX_OK) return status;
        }
    return OX_OK;
}

/* ---- facts --------------------------------------------------------------------------------------------- */

static ox_status oxi_llm_bin_facts(const oxi_llm_config *c, const oxi_llm_bin *b) {
    const struct {
        const char *key;
        int64_t value;
    } facts[] = {{"vocab_size", b->vocabulary},
                 {"context_length", b->context},
                 {"embedding_length", b->width},
                 {"block_count", b->layers},
                 {"feed_forward_length", b->hidden},
                 {"attention.head_count", b->heads},
                 {"attention.head_count_kv", b->kv_heads},
                 {"rope.dimension_count", b->width / b->heads},
                 {"tokenizer.ggml.bos_token_id", 1},
                 {"tokenizer.ggml.eos_token_id", 2}};
    ox_status status = oxi_llm_fact_text(c, "general.architecture", "llama", 5);
    for (size_t i = 0; i < sizeof facts / sizeof *facts && status == OX_OK; i++)
        status = oxi_llm_fact_number(c, facts[i].key, OX_GGUF_U32, (double)facts[i].value);
    if (status == OX_OK)
        status = oxi_llm_fact_number(c, "attention.layer_norm_rms_epsilon", OX_GGUF_F32, 1e-5);
    return status == OX_OK ? oxi_llm_fact_number(c, "rope.freq_base", OX_GGUF_F32, 10000) : status;
}

/* A token's text as SentencePiece has it: U+2581 for a blank, markers without the line breaks around them. */
static ox_status oxi_llm_bin_token(ox_file *file, int64_t id, const char *text, size_t length,
                                   ox_string *out) {
    static const char *const markers[] = {"<unk>", "<s>", "</s>"};
    if (id < 3) {
        text = markers[id];
        length = strlen(text);
    }
    size_t blanks = 0, used = 0;
    for (size_t i = 0; i < length; i++) blanks += text[i] == ' ';
    char *copy = (char *)oxi_file_take(file, length + 2 * blanks + 1);
    if (!copy) return OX_ERR_NOMEM;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == ' ') {
            memcpy(copy + used, "\xE2\x96\x81", 3);
            used += 3;
        } else {
            copy[used++] = text[i];
        }
    }
    copy[used] = 0;
    out->data = copy;
    out->length = (int64_t)used;
    return OX_OK;
}

/* The longest length, then for each token its score, its length and its bytes. */
static ox_status oxi_llm_bin_tokens(const oxi_llm_config *c, const unsigned char *data, size_t bytes,
                                    int64_t count) {
    ox_file *file = c->file;
    if ((uint64_t)count > bytes / 8)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "its tokenizer has less than %lld tokens",
                             (long long)count);
    oxi_meta_array *array = (oxi_meta_array *)oxi_file_take(file, sizeof *array);
    ox_string *texts = (ox_string *)oxi_file_take(file, (size_t)count * sizeof *texts);
    float *scores = (float *)oxi_file_take(file, (size_t)count * sizeof *scores);
    int32_t *types = (int32_t *)oxi_file_take(file, (size_t)count * sizeof *types);
    size_t at = 4;
    if (!array || !texts || !scores || !types) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < count; i++) {
        if (bytes < at || bytes - at < 8)
            return oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "its tokenizer ends at token %lld",
                                 (long long)i);
        const uint32_t bits = oxi_read_u32(data + at), length = oxi_read_u32(data + at + 4);
        at += 8;
        if (length > bytes - at)
            return oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "its tokenizer ends inside token %lld",
                                 (long long)i);
        memcpy(&scores[i], &bits, 4);
        types[i] = i == 0    ? OX_TOKEN_UNKNOWN
                   : i < 3   ? OX_TOKEN_CONTROL
                   : i < 259 ? OX_TOKEN_BYTE
                             : OX_TOKEN_NORMAL;
        const ox_status status = oxi_llm_bin_token(file, i, (const char *)data + at, length, &texts[i]);
        if (status != OX_OK) return status;
        at += length;
    }
    memset(array, 0, sizeof *array);
    array->count = count;
    array->texts = texts;
    array->type = OX_GGUF_STRING;
    ox_status status = oxi_llm_fact_text(c, "tokenizer.ggml.model", "llama", 5);
    oxi_meta_item *meta = status == OX_OK ? oxi_llm_new_fact(c, "tokenizer.ggml.tokens") : NULL;
    if (!meta) return OX_ERR_NOMEM;
    meta->type = OX_FILE_META_ARRAY;
    meta->data = array;
    status = oxi_llm_fact_array(c, "tokenizer.ggml.scores", OX_GGUF_F32, scores, count);
    return status == OX_OK ? oxi_llm_fact_array(c, "tokenizer.ggml.token_type", OX_GGUF_I32, types, count)
                           : status;
}

/* tokN.bin of as many tokens, or tokenizer.bin; a model without one takes ids alone. */
static ox_status oxi_llm_bin_tokenizer(const oxi_llm_config *c, int64_t count) {
    const char *path = c->file->parts[0].path;
    const size_t folder = oxi_folder_length(path), bytes = folder + 40;
    char *beside = (char *)oxi_alloc(bytes);
    oxi_mapping mapping;
    if (!beside) return OX_ERR_NOMEM;
    memset(&mapping, 0, sizeof mapping);
    (void)snprintf(beside, bytes, "%.*stok%lld.bin", (int)folder, path, (long long)count);
    if (!oxi_is_file(beside)) (void)snprintf(beside, bytes, "%.*stokenizer.bin", (int)folder, path);
    ox_status status = OX_OK;
    if (oxi_is_file(beside)) {
        status = oxi_map_file(beside, true, &mapping);
        if (status == OX_OK) status = oxi_llm_bin_tokens(c, mapping.data, mapping.bytes, count);
        oxi_unmap_file(&mapping);
    }
    oxi_free(beside, bytes);
    return status;
}

static ox_file *oxi_llm_open_bin(const char *path, ox_device *device) {
    static const oxi_llm_model_type llama = {"llama", "llama", "", OXI_LLM_TRAIT_NONE, 0};
    oxi_llm_config c;
    oxi_llm_folder folder;
    oxi_llm_bin b;
    int version = 0;
    ox_file *file = oxi_file_new(device);
    if (!file) return NULL;
    memset(&c, 0, sizeof c);
    memset(&folder, 0, sizeof folder);
    memset(&b, 0, sizeof b);
    folder.model = &llama;
    c.file = b.file = file;
    c.folder = &folder;
    file->format = &oxi_format_llama2c;
    ox_status status = oxi_file_map_part(file, path);
    if (status == OX_OK) status = oxi_llm_bin_header(&b, &version);
    if (status == OX_OK) status = oxi_llm_bin_weights(&b, version);
    if (status == OX_OK) status = oxi_llm_bin_facts(&c, &b);
    if (status == OX_OK) status = oxi_llm_bin_tokenizer(&c, b.vocabulary);
    if (status == OX_OK) status = oxi_file_index(file);
    if (status == OX_OK) return file;
    oxi_file_free(file);
    return NULL;
}
