/* Importance that is heard: a listener sees each product of a model's layers with its input, whose squares
 * are added up, for each expert and head by itself. One listener serves all that listen; they are a list. */

static oxi_lock oxi_importance_lock;
static ox_llm_importance *oxi_importance_listening; /* guarded by it */

/* A tensor's numbers on the CPU, without gaps; NULL on error. */
static const void *oxi_importance_numbers(ox_tensor *t, ox_dtype dtype) {
    if (ox_device_of(t) != ox_cpu()) t = ox_to(t, ox_cpu());
    t = ox_contiguous(ox_cast(t, dtype));
    return t ? ox_data(t) : NULL;
}

/* Adds the squares of a row to the sums of a matrix, which saw one more. */
static ox_status oxi_importance_add_row(const oxi_importance_entry *e, const float *row, int64_t matrix) {
    if (matrix < 0 || matrix >= e->matrices)
        return oxi_fail(OX_ERR_INDEX, "llm_importance: %s has no matrix %lld", OXI_QUOTE(e->name),
                        (long long)matrix);
    float *sum = e->sum + matrix * e->columns;
    bool finite = true;
    for (int64_t i = 0; i < e->columns; i++) {
        sum[i] += row[i] * row[i];
        finite = finite && oxi_is_sum(sum[i]);
    }
    oxi_importance_counts(e)[matrix] += 1;
    return finite ? OX_OK : oxi_fail(OX_ERR_FORMAT, "llm_importance: inputs are not finite");
}

/* x [.., columns], as many rows for each matrix of the entry; or with ids [R, S] x [R, columns] or
 * [R, S, columns], rows for the matrices of these. */
static ox_status oxi_importance_square(const oxi_importance_entry *e, ox_tensor *x, ox_tensor *ids) {
    ox_status status = OX_OK;
    OX_SCOPE {
        const int64_t rows = ids ? ox_numel(ids) : ox_numel(x) / e->columns;
        const int64_t of_matrix = (rows + e->matrices - 1) / e->matrices;
        const int64_t shared = ids && x->ndim == 2 ? ids->shape[1] : 1; /* products of a row of x */
        const float *p = (const float *)oxi_importance_numbers(x, OX_F32);
        const int64_t *id = p && ids ? (const int64_t *)oxi_importance_numbers(ids, OX_I64) : NULL;
        if (rows > 0 && (!p || (ids && !id))) status = ox_error();
        for (int64_t r = 0; r < rows && status == OX_OK; r++)
            status = oxi_importance_add_row(e, p + r / shared * e->columns, id ? id[r] : r / of_matrix);
    }
    return status;
}

/* Whether a call multiplies with the weight: as it is, or head by head, [heads, columns, rows], with a view
 * of it or of its copy as floats. */
static bool oxi_importance_is_of(const oxi_importance_entry *e, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *w = call->in[1];
    if (x->ndim < 1 || x->shape[x->ndim - 1] != e->columns) return false;
    if (call->op != OXI_OP_matmul) return w == e->weight;
    if (x->ndim != 3 || w->ndim != 3 || x->shape[0] != e->matrices || w->shape[0] != e->matrices)
        return false;
    return w->storage == e->copy || (w->storage == e->weight->storage && w->offset == e->weight->offset);
}

static void oxi_importance_hear_for(ox_llm_importance *m, const oxi_call *call) {
    for (size_t i = 0; i < m->count && m->status == OX_OK; i++) {
        oxi_importance_entry *e = &m->entries[i];
        if (oxi_op_row_of(call->op)->family == OXI_FAMILY_COPY) {
            if (call->in[0] == e->weight && e->matrices > 1) e->copy = call->out[0]->storage;
        } else if (oxi_importance_is_of(e, call)) {
            e->copy = NULL;
            m->status =
                oxi_importance_square(e, call->in[0], call->op == OXI_OP_linear_experts ? call->in[2] : NULL);
            return;
        }
    }
}

static void oxi_importance_hear(oxi_listener *self, const oxi_call *call, ox_device *device,
                                ox_status status) {
    (void)self, (void)device;
    const int family = oxi_op_row_of(call->op)->family;
    if (status != OX_OK || (family != OXI_FAMILY_PRODUCT && family != OXI_FAMILY_COPY)) return;
    oxi_lock_take(&oxi_importance_lock);
    for (ox_llm_importance *m = oxi_importance_listening; m; m = m->next) oxi_importance_hear_for(m, call);
    oxi_lock_give(&oxi_importance_lock);
}

static oxi_listener oxi_importance_listener = {NULL, oxi_importance_hear, NULL};

/* An entry for each matrix of the layers, and for the matrices of all experts. */
static ox_status oxi_importance_name_weights(ox_llm_importance *m, const ox_llm *model) {
    for (int64_t layer = 0; layer < model->config.layers; layer++)
        for (int role = 0; role < OXI_LLM_LAYER_ROLES; role++) {
            const ox_tensor *weight = model->layers[layer].part[role].weight;
            char name[96];
            if (!weight || weight->ndim < 2 || weight->ndim > 3 || ox_numel(weight) < 1) continue;
            const int length = snprintf(name, sizeof name, "blk.%lld.%s.weight", (long long)layer,
                                        oxi_llm_layer_parts[role].name);
            oxi_importance_entry *e =
                oxi_importance_add(m, name, (size_t)length, weight->shape[weight->ndim - 1],
                                   weight->ndim == 3 ? weight->shape[0] : 1);
            if (!e) return ox_error();
            e->weight = weight;
        }
    return oxi_importance_sort(m);
}

OX_API ox_llm_importance *ox_llm_importance_collect(ox_llm *model) {
    if (!model) {
        (void)oxi_fail_missing("llm_importance_collect: the model");
        return NULL;
    }
    ox_llm_importance *m = (ox_llm_importance *)oxi_calloc(1, sizeof *m);
    if (!m) return NULL;
    if (oxi_importance_name_weights(m, model) != OX_OK) {
        ox_llm_importance_close(m);
        return NULL;
    }
    if (!oxi_listen(&oxi_importance_listener)) {
        (void)oxi_fail(OX_ERR_UNSUPPORTED, "llm_importance_collect: too many listen");
        ox_llm_importance_close(m);
        return NULL;
    }
    m->model = model;
    (void)oxi_atomic_add(&model->references, 1);
    oxi_lock_take(&oxi_importance_lock);
    m->next = oxi_importance_listening;
    oxi_importance_listening = m;
    oxi_lock_give(&oxi_importance_lock);
    return m;
}

OX_API ox_status ox_llm_importance_stop(ox_llm_importance *m) {
    if (!m) return oxi_fail_missing("llm_importance_stop: the importance");
    if (!m->model) return m->status;
    oxi_lock_take(&oxi_importance_lock);
    ox_llm_importance **at = &oxi_importance_listening;
    while (*at && *at != m) at = &(*at)->next;
    if (*at) *at = m->next;
    if (!oxi_importance_listening) oxi_listen_end(&oxi_importance_listener);
    oxi_lock_give(&oxi_importance_lock);
    for (size_t i = 0; i < m->count; i++) m->entries[i].weight = NULL;
    ox_llm_close(m->model);
    m->model = NULL;
    return m->status;
}

OX_API void ox_llm_importance_close(ox_llm_importance *m) {
    if (!m) return;
    (void)ox_llm_importance_stop(m);
    for (size_t i = 0; i < m->count; i++) {
        oxi_free(m->entries[i].sum, m->entries[i].bytes);
        oxi_free(m->entries[i].name, m->entries[i].name_bytes);
    }
    oxi_free(m->entries, m->room * sizeof *m->entries);
    oxi_free(m->order, 2 * m->count * sizeof *m->order);
    oxi_free(m->dataset, m->dataset_bytes);
    oxi_free(m, sizeof *m);
}

/* ---- saving -------------------------------------------------------------------------------------------- */

static bool oxi_is_heard(const oxi_importance_entry *e) {
    for (int64_t i = 0; i < e->matrices; i++)
        if (oxi_importance_counts(e)[i] > 0) return true;
    return false;
}

/* The directory's two tensors of an entry; names has room for both names. */
static void oxi_importance_describe(const oxi_importance_entry *e, char *names, ox_file_entry *out) {
    memset(out, 0, 2 * sizeof *out);
    for (int k = 0; k < 2; k++, names += e->name_bytes + 8) {
        snprintf(names, e->name_bytes + 8, "%s.%s", e->name, k ? "counts" : "in_sum2");
        out[k].name = names;
        out[k].dtype = OX_F32;
        out[k].ndim = 2;
        out[k].shape[0] = e->matrices;
        out[k].shape[1] = k ? 1 : e->columns;
    }
}

static ox_status oxi_importance_put(ox_gguf_writer *writer, const oxi_importance_entry *e) {
    ox_status status;
    ox_scope scope = ox_scope_begin();
    ox_tensor *sums = ox_from_floats(e->sum, OX_SHAPE(e->matrices, e->columns), OX_F32);
    ox_tensor *counts = ox_from_floats(oxi_importance_counts(e), OX_SHAPE(e->matrices, 1), OX_F32);
    status = sums && counts ? ox_gguf_writer_put(writer, sums) : ox_error();
    if (status == OX_OK) status = ox_gguf_writer_put(writer, counts);
    ox_scope_end(&scope);
    return status;
}

/* Tokens of the weight that saw most of them, as chunks. */
static uint32_t oxi_importance_chunks(const ox_llm_importance *m, int64_t chunk) {
    double most = 0;
    for (size_t i = 0; i < m->count; i++)
        for (int64_t j = 0; j < m->entries[i].matrices; j++)
            most = fmax(most, (double)oxi_importance_counts(&m->entries[i])[j]);
    const double chunks = m->chunks > 0 ? (double)m->chunks : ceil(most / (double)chunk);
    return chunks < 4e9 ? (uint32_t)chunks : UINT32_MAX;
}

static ox_status oxi_importance_write(const ox_llm_importance *m, const char *path,
                                      const ox_gguf_desc *desc) {
    ox_gguf_writer *writer = ox_gguf_writer_open(path, desc);
    ox_status status = writer ? OX_OK : ox_error();
    for (size_t i = 0; i < m->count && status == OX_OK; i++)
        if (oxi_is_heard(&m->entries[m->order[i]]))
            status = oxi_importance_put(writer, &m->entries[m->order[i]]);
    if (status == OX_OK) return ox_gguf_writer_close(writer);
    if (writer) oxi_gguf_writer_free(writer);
    return status;
}

OX_API ox_status ox_llm_importance_save(const ox_llm_importance *m, const char *path, const char *dataset,
                                        int64_t chunk) {
    if (!m || !path) return oxi_fail_missing("llm_importance_save: the importance, or a path");
    ox_string name = {dataset ? dataset : m->dataset ? m->dataset : "", 0};
    name.length = (int64_t)strlen(name.data);
    chunk = chunk > 0 && chunk < INT32_MAX ? chunk : 512;
    const uint32_t size = (uint32_t)chunk, chunks = oxi_importance_chunks(m, chunk);
    const ox_gguf_pair pairs[] = {
        {"general.type", OX_GGUF_STRING, OX_GGUF_U8, -1, "imatrix"},
        {"imatrix.datasets", OX_GGUF_ARRAY, OX_GGUF_STRING, 1, &name},
        {"imatrix.chunk_count", OX_GGUF_U32, OX_GGUF_U8, 0, &chunks},
        {"imatrix.chunk_size", OX_GGUF_U32, OX_GGUF_U8, 0, &size},
    };
    size_t heard = 0, names = 0, at = 0;
    for (size_t i = 0; i < m->count; i++) {
        heard += oxi_is_heard(&m->entries[i]);
        names += 2 * (m->entries[i].name_bytes + 8);
    }
    if (heard == 0) return oxi_fail(OX_ERR_ARG, "llm_importance_save: nothing was heard");
    ox_file_entry *entries = (ox_file_entry *)oxi_alloc(2 * heard * sizeof *entries);
    char *text = (char *)oxi_alloc(names);
    ox_status status = entries && text ? OX_OK : OX_ERR_NOMEM;
    ox_gguf_desc desc = {NULL, pairs, 4, entries, (int64_t)(2 * heard)};
    for (size_t i = 0, n = 0; i < m->count && status == OX_OK; i++) {
        const oxi_importance_entry *e = &m->entries[m->order[i]];
        if (!oxi_is_heard(e)) continue;
        oxi_importance_describe(e, text + at, &entries[n]);
        at += 2 * (e->name_bytes + 8);
        n += 2;
    }
    if (status == OX_OK) status = oxi_importance_write(m, path, &desc);
    oxi_free(text, names);
    oxi_free(entries, 2 * heard * sizeof *entries);
    return status;
}
