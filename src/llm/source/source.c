/* Sources: which maker a path has, and the interface over the ox_file that each of them gives.
 * Called by the model and by convert. */

struct oxi_llm_source {
    ox_file *file;
};

static oxi_llm_source *oxi_llm_source_over(ox_file *file) {
    if (!file) return NULL;
    oxi_llm_source *source = (oxi_llm_source *)oxi_calloc(1, sizeof *source);
    if (source)
        source->file = file;
    else
        ox_file_close(file);
    return source;
}

static OXI_UNUSED oxi_llm_source *oxi_llm_source_of_file(ox_file *file) {
    if (!file) {
        (void)oxi_fail_missing("llm: the file");
        return NULL;
    }
    oxi_atomic_add(&file->references, 1);
    return oxi_llm_source_over(file);
}

/* The folder of a config.json, without its name. */
static oxi_llm_source *oxi_llm_source_beside(const char *path, ox_device *device) {
    const size_t length = oxi_folder_length(path), bytes = length + 2;
    char *folder = (char *)oxi_alloc(bytes);
    if (!folder) return NULL;
    memcpy(folder, length ? path : "./", length ? length : 2);
    folder[length ? length : 1] = 0;
    oxi_llm_source *source = oxi_llm_source_over(oxi_llm_open_folder(folder, device));
    oxi_free(folder, bytes);
    return source;
}

static oxi_llm_source *oxi_llm_source_open(const char *path, ox_device *device) {
    if (!path || !*path) {
        (void)oxi_fail(OX_ERR_ARG, "llm: no path");
        return NULL;
    }
    if (oxi_is_folder(path)) return oxi_llm_source_over(oxi_llm_open_folder(path, device));
    if (strcmp(path + oxi_folder_length(path), "config.json") == 0)
        return oxi_llm_source_beside(path, device);
    if (oxi_ends_with(path, ".bin")) return oxi_llm_source_over(oxi_llm_open_bin(path, device));
    ox_file *file = ox_file_open(path, device);
    if (file && strcmp(ox_file_format(file), "gguf") != 0) {
        (void)oxi_file_fail(OX_ERR_UNSUPPORTED, file, 0, SIZE_MAX,
                            "no model: a GGUF file, a folder with a config.json, or llama2.c's .bin is one");
        ox_file_close(file);
        return NULL;
    }
    return oxi_llm_source_over(file);
}

static void oxi_llm_source_close(oxi_llm_source *source) {
    if (!source) return;
    ox_file_close(source->file);
    oxi_free(source, sizeof *source);
}

static OXI_UNUSED ox_file *oxi_llm_source_file(const oxi_llm_source *s) {
    return s->file;
}

static OXI_UNUSED ox_file_meta oxi_llm_source_find(const oxi_llm_source *s, const char *key) {
    return ox_file_meta_find(s->file, key);
}
static OXI_UNUSED ox_file_meta oxi_llm_source_element(const oxi_llm_source *s, const ox_file_meta *array,
                                                      int64_t i) {
    return ox_file_meta_element(s->file, array, i);
}
static OXI_UNUSED int64_t oxi_llm_source_meta_count(const oxi_llm_source *s) {
    return ox_file_meta_count(s->file);
}
static OXI_UNUSED ox_file_meta oxi_llm_source_meta_at(const oxi_llm_source *s, int64_t i) {
    return ox_file_meta_at(s->file, i);
}

static OXI_UNUSED bool oxi_llm_source_has(const oxi_llm_source *s, const char *tensor) {
    return ox_file_has(s->file, tensor);
}
static OXI_UNUSED ox_tensor *oxi_llm_source_tensor(oxi_llm_source *s, const char *tensor) {
    return ox_file_tensor(s->file, tensor);
}
static OXI_UNUSED int64_t oxi_llm_source_count(const oxi_llm_source *s) {
    return ox_file_count(s->file);
}
static OXI_UNUSED const char *oxi_llm_source_name(const oxi_llm_source *s, int64_t i) {
    return ox_file_name(s->file, i);
}
static OXI_UNUSED ox_status oxi_llm_source_entry(const oxi_llm_source *s, int64_t i, ox_file_entry *out) {
    return ox_file_get_entry(s->file, i, out);
}

static OXI_UNUSED ox_string oxi_llm_source_text(const oxi_llm_source *s, oxi_llm_source_text_kind which) {
    ox_string none;
    memset(&none, 0, sizeof none);
    if (s->file->format == &oxi_format_huggingface)
        return ((const oxi_llm_folder *)s->file->state)->text[which];
    if (which != OXI_LLM_SOURCE_TOKENIZER) return none;
    const ox_file_meta meta = ox_file_meta_find(s->file, "tokenizer.huggingface.json");
    return meta.type == OX_FILE_META_STRING ? meta.text : none;
}
