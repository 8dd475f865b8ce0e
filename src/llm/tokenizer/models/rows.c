/* The table of models. */

static const oxi_model_row oxi_model_rows[] = {
    {"BPE", oxi_bpe_encode},
    {"WordPiece", oxi_word_piece_encode},
    {"WordLevel", oxi_word_level_encode},
    {"Unigram", oxi_unigram_encode},
    {"llama", oxi_spm_encode}, /* those below: GGUF files alone */
    {"bert", oxi_word_piece_gguf_encode},
    {"greedy", oxi_greedy_encode},
    {"plamo", oxi_plamo_encode},
};

static const oxi_model_row *oxi_model_row_of(const char *name) {
    for (size_t i = 0; i < sizeof oxi_model_rows / sizeof *oxi_model_rows; i++)
        if (strcmp(oxi_model_rows[i].name, name) == 0) return &oxi_model_rows[i];
    return NULL;
}
