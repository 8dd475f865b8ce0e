/* A source written with the GGUF writer, one tensor at a time: its facts, and each tensor in the dtype that
 * is asked for. Called by users and by examples/convert.c. */

/* Matrices that are read as f32 wherever they are read. */
static bool oxi_llm_stays_f32(const char *name, int ndim) {
    static const char *const endings[] = {"_norm.weight",       "ffn_gate_inp.weight", "position_embd.weight",
                                          "token_types.weight", "attn_rel_b.weight",   ".bias"};
    if (ndim < 2) return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (oxi_ends_with(name, endings[i])) return true;
    return false;
}

static ox_dtype oxi_llm_convert_dtype(const ox_file_entry *entry, ox_dtype asked) {
    if (oxi_info(entry->dtype)->cls != OX_CLASS_FLOAT) return entry->dtype;
    if (oxi_llm_stays_f32(entry->name, entry->ndim)) return OX_F32;
    if (asked == OX_DTYPE_NONE) return entry->dtype == OX_F64 ? OX_F32 : entry->dtype;
    if (asked == OX_Q8_0 && entry->shape[entry->ndim - 1] % 32) return OX_F16;
    return asked;
}

/* general.file_type: what most of the matrices are. source llama.h llama_ftype */
static uint32_t oxi_llm_file_type(ox_dtype dtype) {
    return dtype == OX_F16 ? 1 : dtype == OX_Q8_0 ? 7 : dtype == OX_BF16 ? 32 : dtype == OX_MXFP4 ? 38 : 0;
}

typedef struct oxi_llm_conversion {
    ox_file *file;
    const ox_llm_convert_desc *desc;
    ox_file_entry *entries; /* [count], as they are written */
    int64_t count;
    ox_gguf_pair pairs[4]; /* what the conversion adds to the source's facts */
    int64_t pair_count;
    ox_tokenizer *tokenizer; /* of a tokenizer.json, with what GGUF's metadata says of it; or NULL */
    oxi_tokenizer_fact_list facts;
    ox_gguf_pair *all; /* [all_count]: facts and pairs; NULL = pairs alone */
    size_t all_count;
} oxi_llm_conversion;

/* The entries, and the dtype that most of their bytes have. */
static ox_status oxi_llm_convert_entries(oxi_llm_conversion *work, ox_dtype *most) {
    int64_t bytes[64], largest = 0;
    memset(bytes, 0, sizeof bytes);
    *most = OX_F32;
    for (int64_t i = 0; i < work->count; i++) {
        ox_file_entry *entry = &work->entries[i];
        const ox_status status = ox_file_get_entry(work->file, i, entry);
        if (status != OX_OK) return status;
        if (entry->dtype == OX_DTYPE_NONE) continue; /* the writer says what is wrong */
        entry->dtype = oxi_llm_convert_dtype(entry, work->desc->dtype);
        if ((unsigned)entry->dtype >= 64 || entry->ndim < 2) continue;
        bytes[entry->dtype] += entry->bytes;
        if (bytes[entry->dtype] > largest) {
            largest = bytes[entry->dtype];
            *most = entry->dtype;
        }
    }
    return OX_OK;
}

static ox_status oxi_llm_convert_put(oxi_llm_conversion *work, ox_gguf_writer *writer, int64_t i) {
    const ox_llm_convert_desc *desc = work->desc;
    const ox_file_entry *entry = &work->entries[i];
    if (desc->progress && !desc->progress(desc->user, entry->name, i, work->count))
        return oxi_fail(OX_ERR_ARG, "llm_convert: stopped at tensor %s", OXI_QUOTE(entry->name));
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_file_tensor_at(work->file, i);
    if (t && t->dtype != entry->dtype) t = ox_cast(t, entry->dtype);
    const ox_status status = t ? ox_gguf_writer_put(writer, t) : oxi_llm_error();
    ox_scope_end(&scope);
    return status;
}

static void oxi_llm_add_pair(oxi_llm_conversion *work, const char *key, ox_gguf_type type,
                             const void *value) {
    ox_gguf_pair *pair = &work->pairs[work->pair_count++];
    memset(pair, 0, sizeof *pair);
    pair->key = key;
    pair->type = type;
    pair->count = type == OX_GGUF_STRING ? -1 : 0;
    pair->value = value;
}

/* Rows of the embedding: llama.cpp wants a token for each. 0 = there is none. */
static int64_t oxi_llm_convert_rows(const oxi_llm_conversion *work) {
    for (int64_t i = 0; i < work->count; i++)
        if (strcmp(work->entries[i].name, "token_embd.weight") == 0) return work->entries[i].shape[0];
    return 0;
}

/* GGUF's own metadata of a tokenizer.json, for readers that know no other; the text stays beside it. One that
 * GGUF has no kind for: its readers want one, and this one says that ids are all. */
static ox_status oxi_llm_convert_tokenizer(oxi_llm_conversion *work) {
    const bool clear = ox_error() == OX_OK;
    if (ox_file_meta_find(work->file, "tokenizer.ggml.model").type != OX_FILE_META_NONE) return OX_OK;
    ox_tokenizer *tokenizer = oxi_llm_open_tokenizer(work->file);
    ox_status status =
        tokenizer ? oxi_tokenizer_facts(tokenizer, oxi_llm_convert_rows(work), &work->facts) : ox_error();
    work->tokenizer = tokenizer;
    if (tokenizer && status == OX_OK) return OX_OK;
    if (status != OX_OK && status != OX_ERR_UNSUPPORTED) return status;
    if (clear) ox_error_clear();
    work->facts.count = 0;
    oxi_llm_add_pair(work, "tokenizer.ggml.model", OX_GGUF_STRING, "no_vocab");
    return OX_OK;
}

/* The pairs of the file: those of the tokenizer, then the conversion's. */
static ox_status oxi_llm_convert_pairs(oxi_llm_conversion *work, const uint32_t *type) {
    static const uint32_t version = 2; /* of the block types */
    if (work->desc->name) oxi_llm_add_pair(work, "general.name", OX_GGUF_STRING, work->desc->name);
    if (work->desc->dtype != OX_DTYPE_NONE || strcmp(ox_file_format(work->file), "gguf") != 0) {
        oxi_llm_add_pair(work, "general.file_type", OX_GGUF_U32, type);
        oxi_llm_add_pair(work, "general.quantization_version", OX_GGUF_U32, &version);
    }
    const ox_status status = oxi_llm_convert_tokenizer(work);
    if (status != OX_OK || work->facts.count == 0) return status;
    work->all_count = work->facts.count + (size_t)work->pair_count;
    work->all = (ox_gguf_pair *)oxi_alloc(work->all_count * sizeof *work->all);
    if (!work->all) return OX_ERR_NOMEM;
    memcpy(work->all, work->facts.pairs, work->facts.count * sizeof *work->all);
    memcpy(work->all + work->facts.count, work->pairs, (size_t)work->pair_count * sizeof *work->all);
    return OX_OK;
}

/* Products behind a model that could not be opened again, or that GGUF has no place for. llama.cpp wants
 * two to end at the model's width. */
static ox_status oxi_llm_refuse_dense(const ox_file *file) {
    static const char *const names[] = {"dense_2.bias", "dense_3.bias", "dense_2.scale", "dense_3.scale",
                                        "dense_4.weight"};
    static const char *const keys[] = {"dense_2_activation", "dense_3_activation", "dense_2_residual",
                                       "dense_3_residual"};
    const ox_file_meta architecture = ox_file_meta_find(file, "general.architecture");
    int64_t width = 0, embedding = 0;
    char name[64] = "", key[96];
    if (architecture.type == OX_FILE_META_STRING) oxi_llm_copy_text(architecture.text, name, sizeof name);
    (void)snprintf(key, sizeof key, "%s.embedding_length", name);
    ox_status status = oxi_llm_meta_int(file, key, 0, INT32_MAX, 0, &width);
    if (status == OX_OK) status = oxi_llm_check_dense(file, name, width, &embedding);
    bool bad = embedding != width && ox_file_has(file, "dense_3.weight");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) bad = bad || ox_file_has(file, names[i]);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        (void)snprintf(key, sizeof key, "%s.%s", name, keys[i]);
        bad = bad || ox_file_meta_find(file, key).type != OX_FILE_META_NONE;
    }
    if (status != OX_OK || !bad) return status;
    return oxi_fail(OX_ERR_UNSUPPORTED,
                    "llm_convert: GGUF has a product behind a model (Dense), or two that lead back to "
                    "the model's width, without biases, factors and activations; this model has others");
}

static ox_status oxi_llm_convert_write(oxi_llm_conversion *work, const char *to) {
    ox_dtype most = OX_F32;
    ox_gguf_desc desc;
    ox_status status = oxi_llm_refuse_dense(work->file);
    if (status == OX_OK) status = oxi_llm_convert_entries(work, &most);
    const uint32_t type = oxi_llm_file_type(most);
    if (status == OX_OK) status = oxi_llm_convert_pairs(work, &type);
    if (status != OX_OK) return status;
    memset(&desc, 0, sizeof desc);
    desc.like = work->file;
    desc.pairs = work->all ? work->all : work->pairs;
    desc.pair_count = work->all ? (int64_t)work->all_count : work->pair_count;
    desc.entries = work->entries;
    desc.count = work->count;
    ox_gguf_writer *writer = ox_gguf_writer_open(to, &desc);
    if (!writer) return oxi_llm_error();
    for (int64_t i = 0; i < work->count && status == OX_OK; i++)
        status = oxi_llm_convert_put(work, writer, i);
    if (status == OX_OK) return ox_gguf_writer_close(writer);
    oxi_gguf_writer_free(writer); /* drops the file; the error is that of the tensor */
    return status;
}

OX_API ox_status ox_llm_convert(const char *from, const char *to, const ox_llm_convert_desc *desc) {
    ox_llm_convert_desc zero;
    oxi_llm_conversion work;
    memset(&zero, 0, sizeof zero);
    memset(&work, 0, sizeof work);
    work.desc = desc ? desc : &zero;
    const ox_dtype dtype = work.desc->dtype;
    if (dtype != OX_DTYPE_NONE && dtype != OX_F32 && dtype != OX_F16 && dtype != OX_BF16 && dtype != OX_Q8_0)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm_convert: dtype %s: F32, F16, BF16 and Q8_0 are written",
                        ox_dtype_name(dtype));
    if (!to || !*to) return oxi_fail(OX_ERR_ARG, "llm_convert: no path to write to");
    oxi_llm_source *source = oxi_llm_source_open(from, NULL);
    if (!source) return oxi_llm_error();
    work.file = oxi_llm_source_file(source);
    work.count = ox_file_count(work.file);
    const size_t bytes = (size_t)work.count * sizeof *work.entries;
    work.entries = (ox_file_entry *)oxi_alloc(bytes);
    const ox_status status = work.entries ? oxi_llm_convert_write(&work, to) : OX_ERR_NOMEM;
    oxi_free(work.entries, bytes);
    oxi_free(work.all, work.all_count * sizeof *work.all);
    oxi_tokenizer_facts_free(&work.facts);
    ox_tokenizer_close(work.tokenizer);
    oxi_llm_source_close(source);
    return status;
}
