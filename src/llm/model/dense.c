/* Products behind a model, dense_2 to dense_5 of a file: each takes what the one before it makes. They are
 * checked by the file's entries, so that what is converted can be opened.
 * Called by weights.c and convert.c. */

/* The tensor dense_<number><part>; false: there is none. */
static bool oxi_llm_dense_entry(const ox_file *file, int number, const char *part, ox_file_entry *out) {
    char name[40];
    (void)snprintf(name, sizeof name, "dense_%d%s", number, part);
    const int64_t at = oxi_file_find(file, name);
    return at >= 0 && ox_file_get_entry(file, at, out) == OX_OK;
}

/* A size that the metadata may repeat; 0 is none. */
static ox_status oxi_llm_check_dense_size(const ox_file *file, const char *architecture, int number,
                                          const char *end, int64_t size) {
    char key[96];
    int64_t stated = 0;
    (void)snprintf(key, sizeof key, "%s.dense_%d_%s", architecture, number, end);
    const ox_status status = oxi_llm_meta_int(file, key, 0, INT32_MAX, 0, &stated);
    if (status || stated == 0 || stated == size) return status;
    return oxi_fail(OX_ERR_SHAPE, "llm: metadata key %s is %lld, tensor dense_%d.weight has %lld", key,
                    (long long)stated, number, (long long)size);
}

/* Whether what a product takes is added to what its activation gives. */
static bool oxi_llm_dense_adds(const ox_file *file, const char *architecture, int number) {
    char key[96];
    (void)snprintf(key, sizeof key, "%s.dense_%d_residual", architecture, number);
    const ox_file_meta meta = ox_file_meta_find(file, key);
    return meta.type == OX_FILE_META_BOOL && meta.i != 0;
}

/* It is added as it is, or times a matrix of the product's shape. */
static ox_status oxi_llm_check_dense_residual(const ox_file *file, const char *architecture, int number,
                                              int64_t rows, int64_t columns) {
    const bool adds = oxi_llm_dense_adds(file, architecture, number);
    ox_file_entry by;
    if (!oxi_llm_dense_entry(file, number, "_residual.weight", &by)) {
        if (!adds || rows == columns) return OX_OK;
        return oxi_fail(OX_ERR_SHAPE,
                        "llm: tensor dense_%d_residual.weight is missing, for %lld rows of %lld", number,
                        (long long)rows, (long long)columns);
    }
    if (adds && by.ndim == 2 && by.shape[0] == rows && by.shape[1] == columns &&
        oxi_info(by.dtype)->cls == OX_CLASS_FLOAT)
        return OX_OK;
    return oxi_fail(OX_ERR_SHAPE, "llm: tensor %s is %s of %s, for %lld rows of %lld that %s", by.name,
                    oxi_shape_text(by.ndim, by.shape), ox_dtype_name(by.dtype), (long long)rows,
                    (long long)columns, adds ? "are added" : "nothing is added to");
}

/* One of them, behind a row of *width, which becomes its own. Files drop ones: a vector is a row. */
static ox_status oxi_llm_check_product(const ox_file *file, const char *architecture, int number,
                                       const ox_file_entry *weight, int64_t *width) {
    const int64_t columns = weight->ndim > 0 ? weight->shape[weight->ndim - 1] : 0;
    const ox_dtype_info *info = oxi_info(weight->dtype);
    ox_file_entry bias;
    int64_t rows = 1;
    if (info->cls != OX_CLASS_FLOAT && info->cls != OX_CLASS_BLOCK)
        return oxi_fail(OX_ERR_DTYPE, "llm: tensor %s has dtype %s: weights are floats or of block types",
                        weight->name, ox_dtype_name(weight->dtype));
    for (int d = 0; d < weight->ndim - 1 && rows > 0; d++)
        rows = weight->shape[d] > 0 && weight->shape[d] <= INT32_MAX / rows ? rows * weight->shape[d] : 0;
    if (weight->ndim < 1 || weight->ndim > 3 || columns != *width || rows < 1)
        return oxi_fail(OX_ERR_SHAPE, "llm: tensor %s is %s, behind a row of %lld", weight->name,
                        oxi_shape_text(weight->ndim, weight->shape), (long long)*width);
    if (oxi_llm_dense_entry(file, number, ".bias", &bias) && (bias.ndim != 1 || bias.shape[0] != rows))
        return oxi_fail(OX_ERR_SHAPE, "llm: tensor %s is %s, for %lld rows", bias.name,
                        oxi_shape_text(bias.ndim, bias.shape), (long long)rows);
    ox_status status = oxi_llm_check_dense_residual(file, architecture, number, rows, columns);
    if (!status) status = oxi_llm_check_dense_size(file, architecture, number, "feat_in", columns);
    *width = rows;
    return status ? status : oxi_llm_check_dense_size(file, architecture, number, "feat_out", rows);
}

/* What belongs to a product that is not computed: tensors and facts of one behind the last. llama.cpp writes
 * a fact of 0 where there is none. */
static ox_status oxi_llm_refuse_products(const ox_file *file, const char *architecture, int last) {
    static const char *const facts[] = {"feat_in", "feat_out", "activation", "residual"};
    const int kinds = (int)(sizeof facts / sizeof *facts);
    char key[96] = "";
    ox_file_entry entry;
    bool found = false;
    for (int64_t i = 0; !found && i < ox_file_count(file); i++) {
        if (ox_file_get_entry(file, i, &entry) != OX_OK || strncmp(entry.name, "dense_", 6) != 0) continue;
        const char *digits = entry.name + 6;
        if (*digits < '0' || *digits > '9') continue;
        const bool one = digits[1] == '.' || strcmp(digits + 1, "_residual.weight") == 0;
        const int number = one ? *digits - '0' : 10;
        found = number < 2 || number > last;
        if (found) (void)snprintf(key, sizeof key, "tensor %.64s", entry.name);
    }
    for (int i = kinds * (last - 1); !found && i < kinds * OXI_LLM_DENSE_MOST; i++) {
        (void)snprintf(key, sizeof key, "%s.dense_%d_%s", architecture, i / kinds + 2, facts[i % kinds]);
        const ox_file_meta meta = ox_file_meta_find(file, key);
        const bool none = (meta.type == OX_FILE_META_INT || meta.type == OX_FILE_META_UINT) && meta.i == 0;
        found = meta.type != OX_FILE_META_NONE && !none;
    }
    if (!found) return OX_OK;
    return oxi_fail(OX_ERR_UNSUPPORTED,
                    "llm: %s is of no product behind the model: there are %d, from dense_2.weight on, and "
                    "at most %d are supported",
                    key, last - 1, (int)OXI_LLM_DENSE_MOST);
}

/* Of a model whose rows have `width` numbers; *embedding receives those of the last product. */
static ox_status oxi_llm_check_dense(const ox_file *file, const char *architecture, int64_t width,
                                     int64_t *embedding) {
    char key[96];
    ox_file_entry weight;
    int64_t stated = 0;
    int last = 1;
    ox_status status = OX_OK;
    *embedding = width;
    while (!status && last <= OXI_LLM_DENSE_MOST && oxi_llm_dense_entry(file, last + 1, ".weight", &weight))
        status = oxi_llm_check_product(file, architecture, ++last, &weight, embedding);
    if (!status) status = oxi_llm_refuse_products(file, architecture, last);
    (void)snprintf(key, sizeof key, "%s.embedding_length_out", architecture);
    if (status || last == 1) return status; /* DeepSeek 4's is that of its residual streams */
    status = oxi_llm_meta_int(file, key, 0, INT32_MAX, 0, &stated);
    if (status || stated == 0 || stated == *embedding) return status;
    return oxi_fail(OX_ERR_SHAPE, "llm: metadata key %s is %lld, the last product makes %lld", key,
                    (long long)stated, (long long)*embedding);
}
