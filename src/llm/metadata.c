/* Values of a GGUF file's metadata, checked, with words for what is wrong with them.
 * A key is missing, of another type or out of range: each is an error of its own that names the key.
 * Called by the tokenizer's parts and by model.c. */

static ox_status oxi_llm_meta_int(const ox_file *file, const char *key, int64_t low, int64_t high,
                                  int64_t otherwise, int64_t *out) {
    const ox_file_meta meta = ox_file_meta_find(file, key);
    *out = otherwise;
    if (meta.type == OX_FILE_META_NONE) {
        return otherwise < low ? oxi_fail(OX_ERR_NOT_FOUND, "llm: metadata key %s is missing", key) : OX_OK;
    }
    if (meta.type != OX_FILE_META_INT && meta.type != OX_FILE_META_UINT) {
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not a whole number", key);
    }
    /* an unsigned number of 2^63 or more reads as a negative one, and low is never below -1 */
    if (meta.i < low || meta.i > high || (meta.type == OX_FILE_META_UINT && meta.i < 0)) {
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is %.17g, allowed are %lld to %lld", key, meta.f,
                        (long long)low, (long long)high);
    }
    *out = meta.i;
    return OX_OK;
}

static ox_status oxi_llm_meta_bool(const ox_file *file, const char *key, bool otherwise, bool *out) {
    const ox_file_meta meta = ox_file_meta_find(file, key);
    *out = otherwise;
    if (meta.type == OX_FILE_META_NONE) return OX_OK;
    if (meta.type != OX_FILE_META_BOOL)
        return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s is not a bool", key);
    *out = meta.i != 0;
    return OX_OK;
}

static bool oxi_llm_text_is(ox_string text, const char *expected) {
    return (size_t)text.length == strlen(expected) && memcmp(text.data, expected, strlen(expected)) == 0;
}

static void oxi_llm_copy_text(ox_string text, char *out, size_t room) {
    size_t length = 0;
    for (; length + 1 < room && (int64_t)length < text.length; length++) {
        const char c = text.data[length];
        out[length] = c >= ' ' && c <= '~' ? c : '?';
    }
    out[length] = 0;
}

static ox_status oxi_llm_error(void) {
    const ox_status status = ox_error();
    return status ? status : OX_ERR_NOMEM;
}
