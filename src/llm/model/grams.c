/* Embeddings of n-grams: rows of a table that a token and those before it choose by a hash.
 * Called by config.c; weights.c checks their tensors, ../context/grams.c
 * runs them. source: Qwen 4 (experimental), llama.cpp */

/* Element `i` of an array of whole numbers, of 64 bits. */
static ox_status oxi_llm_read_wide(const ox_llm *model, const ox_file *file, const char *key, int64_t i,
                                   uint64_t *out) {
    char full[96];
    oxi_llm_key(model, key, full);
    ox_file_meta meta = ox_file_meta_find(file, full);
    if (meta.type != OX_FILE_META_ARRAY || i >= meta.count)
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s has no element %lld", full, (long long)i);
    meta = ox_file_meta_element(file, &meta, i);
    if (meta.type != OX_FILE_META_INT && meta.type != OX_FILE_META_UINT)
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not of whole numbers", full);
    *out = (uint64_t)meta.i;
    return OX_OK;
}

static ox_status oxi_llm_read_grams(ox_llm *model, const ox_file *file) {
    oxi_llm_grams *g = &model->grams;
    int64_t end = 0;
    if (!oxi_llm_is_listed(model, file, "ple.layers")) return OX_OK;
    ox_status status = oxi_llm_read_int(model, file, "ple.ngram_size", -1, 2, OXI_LLM_NEEDED, &g->most);
    if (!status)
        status = oxi_llm_read_int(model, file, "ple.heads_per_ngram", -1, 1, OXI_LLM_NEEDED, &g->each);
    if (!status) status = oxi_llm_read_int(model, file, "ple.conv_kernel", -1, 1, OXI_LLM_NEEDED, &g->taps);
    if (!status) status = oxi_llm_read_int(model, file, "ple.eos_token_id", -1, 0, 0, &end);
    if (status) return status;
    g->end = (int32_t)end;
    if (g->most > OXI_LLM_GRAM_MOST || g->taps > 64 || g->each * (g->most - 1) > OXI_LLM_GRAM_ROWS)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm: %lld rows of n-grams of %lld tokens are not supported",
                        (long long)g->each, (long long)g->most);
    g->rows = g->each * (g->most - 1);
    for (int64_t i = 0; !status && i < g->most; i++)
        status = oxi_llm_read_wide(model, file, "ple.layer_multipliers", i, &g->factor[i]);
    for (int64_t i = 0; !status && i < g->rows; i++) {
        status = oxi_llm_read_wide(model, file, "ple.head_offsets", i, &g->first[i]);
        if (!status) status = oxi_llm_read_wide(model, file, "ple.head_vocab_sizes", i, &g->count[i]);
        if (!status && (g->count[i] < 1 || g->count[i] > INT32_MAX || g->first[i] > INT32_MAX - g->count[i]))
            return oxi_fail(OX_ERR_FORMAT, "llm: row %lld of n-grams has no place in a table", (long long)i);
    }
    return status;
}
