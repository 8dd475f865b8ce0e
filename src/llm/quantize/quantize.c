/* A GGUF file into another with smaller types: which type each tensor becomes is planned first, since the
 * directory comes first; then tensors are written one at a time. */

typedef struct oxi_quantize_item {
    ox_file_entry entry; /* as it is in the source */
    int64_t index, layer;
    ox_dtype to;
} oxi_quantize_item;

typedef struct oxi_quantize_plan {
    ox_file *file;
    const ox_llm_quantize_desc *desc;
    oxi_quantize_item *items; /* [count], as the source has them */
    uint32_t *order;          /* [2 * count]: as they are written; scratch behind it */
    ox_file_entry *entries;   /* [count]: as they are written */
    size_t count;
    float *importance; /* [importance_room]: of the tensor that is written */
    size_t importance_room;
} oxi_quantize_plan;

/* ---- patterns ------------------------------------------------------------------------------------------ */

/* Whether text begins with what a pattern says, or (ends) is it. Goes back to the last '*' alone: linear in
 * the text for each of its characters. */
static bool oxi_pattern_begins(const char *pattern, const char *text) {
    const char *star = NULL, *from = text;
    while (true) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern == 0 || (*pattern == '$' && !pattern[1] && !*text)) {
            return true;
        } else if (*text && (*pattern == '?' || *pattern == *text)) {
            pattern++;
            text++;
        } else if (star && *from) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
}

static bool oxi_pattern_fits(const char *pattern, const char *text) {
    if (*pattern == '^') return oxi_pattern_begins(pattern + 1, text);
    do
        if (oxi_pattern_begins(pattern, text)) return true;
    while (*text++);
    return false;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static ox_status oxi_quantize_check_desc(const char *from, const char *to, const ox_llm_quantize_desc *desc) {
    if (!from || !to || !desc || !desc->mix)
        return oxi_fail_missing(!desc || !desc->mix ? "llm_quantize: the mix" : "llm_quantize: a path");
    if (strcmp(from, to) == 0) return oxi_fail(OX_ERR_ARG, "llm_quantize: a file cannot become itself");
    if (oxi_mix_by_name(desc->mix) == OXI_MIX_COUNT)
        return oxi_fail(strncmp(desc->mix, "IQ", 2) == 0 ? OX_ERR_UNSUPPORTED : OX_ERR_ARG,
                        "llm_quantize: there is no mix %s", OXI_QUOTE(desc->mix));
    if (desc->rule_count < 0 || (desc->rule_count > 0 && !desc->rules))
        return oxi_fail(OX_ERR_ARG, "llm_quantize: %lld rules", (long long)desc->rule_count);
    for (int64_t i = -2; i < desc->rule_count; i++) {
        const ox_dtype dtype = i == -2 ? desc->output : i == -1 ? desc->embedding : desc->rules[i].dtype;
        if (i >= 0 && !desc->rules[i].pattern) return oxi_fail_missing("llm_quantize: a rule's pattern");
        if ((i >= 0 || dtype != OX_DTYPE_NONE) && !oxi_is_written(dtype))
            return oxi_fail(OX_ERR_UNSUPPORTED, "llm_quantize: nothing is quantized to %s",
                            ox_dtype_name(dtype));
    }
    return OX_OK;
}

/* What the caller says of a tensor; OX_DTYPE_NONE = nothing. */
static ox_dtype oxi_quantize_ruled(const ox_llm_quantize_desc *desc, const char *name) {
    for (int64_t i = 0; i < desc->rule_count; i++)
        if (oxi_pattern_fits(desc->rules[i].pattern, name)) return desc->rules[i].dtype;
    return OX_DTYPE_NONE;
}

static ox_dtype oxi_quantize_choose(const ox_llm_quantize_desc *desc, oxi_mix_model *model,
                                    const ox_file_entry *entry) {
    const ox_dtype main = oxi_mixes[model->mix].dtype;
    const int part = oxi_mix_part(entry->name);
    if (model->mix == OXI_MIX_COPY || !oxi_is_quantizable(entry)) return entry->dtype;
    if (part == OXI_PART_OUTPUT && desc->keep_output) return entry->dtype;
    const ox_dtype wanted = oxi_mix_of_family(model, entry);
    if (wanted && (wanted == entry->dtype || oxi_is_block(main)))
        return oxi_mix_fit(wanted, entry->shape[entry->ndim - 1]);
    const ox_dtype ruled = oxi_is_block(main) ? oxi_quantize_ruled(desc, entry->name) : OX_DTYPE_NONE;
    ox_dtype to = main;
    if (part == OXI_PART_EMBEDDING && desc->embedding)
        to = desc->embedding;
    else if (part == OXI_PART_OUTPUT && desc->output)
        to = desc->output;
    else if (ruled)
        to = ruled;
    else if (part == OXI_PART_EMBEDDING && model->tied && desc->output && oxi_is_block(main))
        to = desc->output;
    else if (oxi_is_block(main) && !desc->pure)
        to = oxi_mix_choose(model, entry, part);
    return oxi_mix_fit(to, entry->shape[entry->ndim - 1]);
}

/* By layer, what is in none first; then by name: llama-quantize's order, which rules count in. */
static int oxi_quantize_compare(const void *user, uint32_t a, uint32_t b) {
    const oxi_quantize_item *items = (const oxi_quantize_item *)user;
    if (items[a].layer != items[b].layer) return items[a].layer < items[b].layer ? -1 : 1;
    return strcmp(items[a].entry.name, items[b].entry.name);
}

static ox_status oxi_quantize_list(oxi_quantize_plan *plan) {
    const size_t count = (size_t)ox_file_count(plan->file);
    plan->count = count;
    plan->items = (oxi_quantize_item *)oxi_calloc(count, sizeof *plan->items);
    plan->entries = (ox_file_entry *)oxi_calloc(count, sizeof *plan->entries);
    plan->order = (uint32_t *)oxi_calloc(2 * count, sizeof *plan->order);
    if (!plan->items || !plan->entries || !plan->order) return OX_ERR_NOMEM;
    for (size_t i = 0; i < count; i++) {
        oxi_quantize_item *item = &plan->items[i];
        const ox_status status = ox_file_get_entry(plan->file, (int64_t)i, &item->entry);
        if (status != OX_OK) return status;
        item->index = (int64_t)i;
        item->layer = oxi_layer_of(item->entry.name);
        plan->order[i] = (uint32_t)i;
    }
    oxi_sort_indexes(plan->order, plan->order + count, (uint32_t)count, oxi_quantize_compare, plan->items);
    return OX_OK;
}

/* An expert's columns are its own; a matrix of experts has one row of importance for each. */
static int64_t oxi_quantize_matrices(const ox_file_entry *entry) {
    return entry->ndim > 2 ? entry->shape[entry->ndim - 3] : 1;
}

/* What is known of the importance of a tensor's columns; NULL = nothing. */
static ox_status oxi_quantize_find_importance(const oxi_quantize_plan *plan, const oxi_quantize_item *item,
                                              const oxi_importance_entry **out) {
    const ox_file_entry *entry = &item->entry;
    const oxi_importance_entry *e = oxi_importance_find(plan->desc->importance, entry->name);
    *out = NULL;
    if (!e || item->to == entry->dtype || !oxi_is_block(item->to)) return OX_OK;
    if (entry->ndim <= 3 &&
        e->columns * e->matrices == entry->shape[entry->ndim - 1] * oxi_quantize_matrices(entry))
        *out = e;
    else if (oxi_mix_part(entry->name) != OXI_PART_EMBEDDING)
        return oxi_fail(OX_ERR_FORMAT, "llm_quantize: %s: importance of %lld columns, it has %lld",
                        OXI_QUOTE(entry->name), (long long)(e->columns * e->matrices),
                        (long long)entry->shape[entry->ndim - 1]);
    return OX_OK;
}

static ox_status oxi_quantize_check_item(const oxi_quantize_plan *plan, const oxi_quantize_item *item,
                                         oxi_mix mix) {
    const ox_file_entry *entry = &item->entry;
    const oxi_importance_entry *importance;
    const int part = oxi_mix_part(entry->name);
    if (entry->dtype == OX_DTYPE_NONE)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm_quantize: %s is of a type that cannot be read",
                        OXI_QUOTE(entry->name));
    if (item->to == entry->dtype) return OX_OK;
    const ox_dtype_class cls = ox_dtype_get_info(entry->dtype)->cls;
    if (cls == OX_CLASS_BLOCK && !plan->desc->requantize)
        return oxi_fail(OX_ERR_UNSUPPORTED,
                        "llm_quantize: %s is %s already, and to requantize was not asked for",
                        OXI_QUOTE(entry->name), ox_dtype_name(entry->dtype));
    if (cls != OX_CLASS_BLOCK && cls != OX_CLASS_FLOAT)
        return oxi_fail(OX_ERR_DTYPE, "llm_quantize: %s is %s", OXI_QUOTE(entry->name),
                        ox_dtype_name(entry->dtype));
    const ox_status status = oxi_quantize_find_importance(plan, item, &importance);
    if (status != OX_OK || importance) return status;
    if (mix == OXI_MIX_Q2_K_S && item->to == OX_Q2_K && part != OXI_PART_OUTPUT && part != OXI_PART_EMBEDDING)
        return oxi_fail(OX_ERR_NOT_FOUND, "llm_quantize: Q2_K_S needs the importance of %s",
                        OXI_QUOTE(entry->name));
    return OX_OK;
}

/* Chooses the types, in the order in which tensors are written. */
static ox_status oxi_quantize_make_plan(oxi_quantize_plan *plan, oxi_mix mix) {
    oxi_mix_model model;
    ox_status status = oxi_quantize_list(plan);
    if (status != OX_OK) return status;
    if (ox_file_meta_int(plan->file, "split.count", 0) > 1)
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm_quantize: the file is a part of a split one");
    oxi_mix_read(&model, plan->file, mix, plan->desc->importance != NULL);
    for (size_t i = 0; i < plan->count && status == OX_OK; i++) {
        oxi_quantize_item *item = &plan->items[plan->order[i]];
        item->to = oxi_quantize_choose(plan->desc, &model, &item->entry);
        plan->entries[i] = item->entry;
        plan->entries[i].dtype = item->to;
        status = oxi_quantize_check_item(plan, item, mix);
    }
    return status;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

/* Means of squares for the writers; NULL and OX_OK: none are known. */
static ox_status oxi_quantize_importance(oxi_quantize_plan *plan, const oxi_quantize_item *item,
                                         const float **out) {
    const oxi_importance_entry *e;
    ox_status status = oxi_quantize_find_importance(plan, item, &e);
    *out = NULL;
    if (status != OX_OK || !e) return status;
    if (plan->importance_room < e->bytes) {
        oxi_free(plan->importance, plan->importance_room);
        plan->importance = (float *)oxi_alloc(e->bytes);
        plan->importance_room = plan->importance ? e->bytes : 0;
        if (!plan->importance) return OX_ERR_NOMEM;
    }
    oxi_importance_means(e, plan->importance);
    *out = plan->importance;
    return OX_OK;
}

static ox_status oxi_quantize_put(oxi_quantize_plan *plan, ox_gguf_writer *writer, size_t index) {
    const oxi_quantize_item *item = &plan->items[plan->order[index]];
    const float *importance = NULL;
    ox_status status = oxi_quantize_importance(plan, item, &importance);
    ox_llm_quantize_step step = {item->entry.name,
                                 (int64_t)index,
                                 (int64_t)plan->count,
                                 item->entry.dtype,
                                 item->to,
                                 item->entry.bytes,
                                 0,
                                 importance != NULL};
    if (status != OX_OK) return status;
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_file_tensor_at(plan->file, item->index);
    if (t && item->to != t->dtype)
        t = oxi_quantize_tensor(t, item->to, importance, oxi_quantize_matrices(&item->entry));
    if (t) step.to_bytes = (int64_t)ox_nbytes(t);
    status = t ? ox_gguf_writer_put(writer, t) : ox_error();
    ox_scope_end(&scope);
    if (status == OX_OK && plan->desc->progress && !plan->desc->progress(plan->desc->user, &step))
        return oxi_fail(OX_ERR_ARG, "llm_quantize: the caller ended it");
    return status;
}

static ox_status oxi_quantize_write(oxi_quantize_plan *plan, const char *to, oxi_mix mix) {
    const ox_llm_importance *importance = plan->desc->importance;
    const char *name = plan->desc->importance_name ? plan->desc->importance_name : "";
    const uint32_t version = 2, file_type = (uint32_t)oxi_mixes[mix].file_type;
    const uint32_t entries = importance ? (uint32_t)importance->count : 0;
    const uint32_t chunks = importance && importance->chunks < UINT32_MAX ? (uint32_t)importance->chunks : 0;
    ox_gguf_pair pairs[6];
    int count = 0;
    memset(pairs, 0, sizeof pairs);
    const ox_gguf_pair all[] = {
        {"general.quantization_version", OX_GGUF_U32, OX_GGUF_U8, 0, &version},
        {"general.file_type", OX_GGUF_U32, OX_GGUF_U8, 0, mix == OXI_MIX_COPY ? NULL : &file_type},
        {"quantize.imatrix.file", OX_GGUF_STRING, OX_GGUF_U8, -1, importance && *name ? name : NULL},
        {"quantize.imatrix.dataset", OX_GGUF_STRING, OX_GGUF_U8, -1, importance ? importance->dataset : NULL},
        {"quantize.imatrix.entries_count", OX_GGUF_U32, OX_GGUF_U8, 0, importance ? &entries : NULL},
        {"quantize.imatrix.chunks_count", OX_GGUF_U32, OX_GGUF_U8, 0, chunks > 0 ? &chunks : NULL},
    };
    for (int i = 0; i < 6; i++)
        if (all[i].value) pairs[count++] = all[i];
    const ox_gguf_desc desc = {plan->file, pairs, count, plan->entries, (int64_t)plan->count};
    ox_gguf_writer *writer = ox_gguf_writer_open(to, &desc);
    ox_status status = writer ? OX_OK : ox_error();
    for (size_t i = 0; i < plan->count && status == OX_OK; i++) status = oxi_quantize_put(plan, writer, i);
    if (status == OX_OK) return ox_gguf_writer_close(writer);
    if (writer) oxi_gguf_writer_free(writer);
    return status;
}

OX_API ox_status ox_llm_quantize(const char *from, const char *to, const ox_llm_quantize_desc *desc) {
    ox_status status = oxi_quantize_check_desc(from, to, desc);
    if (status != OX_OK) return status;
    oxi_quantize_plan plan;
    memset(&plan, 0, sizeof plan);
    plan.desc = desc;
    plan.file = ox_file_open(from, ox_cpu());
    if (!plan.file) return ox_error();
    const oxi_mix mix = oxi_mix_by_name(desc->mix);
    if (strcmp(ox_file_format(plan.file), "gguf") != 0)
        status = oxi_fail(OX_ERR_UNSUPPORTED, "llm_quantize: %s is no GGUF file (ox_llm_convert writes one)",
                          oxi_path_text(from));
    if (status == OX_OK) status = oxi_quantize_make_plan(&plan, mix);
    if (status == OX_OK) status = oxi_quantize_write(&plan, to, mix);
    oxi_free(plan.importance, plan.importance_room);
    oxi_free(plan.items, plan.count * sizeof *plan.items);
    oxi_free(plan.entries, plan.count * sizeof *plan.entries);
    oxi_free(plan.order, 2 * plan.count * sizeof *plan.order);
    ox_file_close(plan.file);
    return status;
}
