/* The dtype and shape of each tensor of a folder, from what is stored and its transform: nothing is read
 * for it. A shape that a transform cannot work with is an error that names the stored tensor. Called by
 * folder.c. */

static bool oxi_llm_adds_one(const oxi_llm_folder *folder, const oxi_llm_plan *plan) {
    return folder->model->trait == OXI_LLM_TRAIT_ONE && oxi_ends_with(plan->name, ".weight");
}

/* Rows of latent heads whose last ones are turned: nothing changes. */
static const char *oxi_llm_shape_ends(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                      const ox_file_entry *e, int64_t rows) {
    const int64_t groups = plan->transform == OXI_LLM_TRANSFORM_LATENT_TURNED ? 1 : folder->heads;
    if (e->ndim > 2) return "is no matrix or vector";
    if (plan->transform == OXI_LLM_TRANSFORM_KEY) return "is no part of latent attention";
    return rows % groups || rows / groups < folder->halves || folder->halves % 2
               ? "has rows that do not end in pairs of qk_rope_head_dim"
               : NULL;
}

/* Rows and columns of a delta net's heads. */
static const char *oxi_llm_shape_delta(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                       ox_file_entry *e) {
    const oxi_llm_transform how = plan->transform;
    const int64_t keys = folder->delta_keys, both = 2 * keys * folder->delta_key,
                  heads = keys * folder->delta_each;
    const bool mixed = how == OXI_LLM_TRANSFORM_DELTA_MIXED;
    if (heads < 1) return "is of a delta net that config.json does not have";
    if (how == OXI_LLM_TRANSFORM_DELTA_DECAYS && oxi_info(e->dtype)->cls != OX_CLASS_FLOAT)
        return "is not of floats";
    if (how == OXI_LLM_TRANSFORM_DELTA_DECAYS) e->dtype = OX_F32;
    if (mixed && e->ndim == 3 && e->shape[1] == 1) {
        e->ndim = 2;
        e->shape[1] = e->shape[2];
    }
    const int dim = how == OXI_LLM_TRANSFORM_DELTA_COLUMNS;
    if (e->ndim > 2 || e->ndim <= dim) return "is no matrix or vector";
    if (how == OXI_LLM_TRANSFORM_DELTA_FIRST || how == OXI_LLM_TRANSFORM_DELTA_SECOND) {
        const int64_t values = (e->shape[0] - both) / 2;
        if (e->ndim != 2 || values < heads || values % heads || e->shape[0] != both + 2 * values)
            return "has rows that do not divide into queries, keys, values and gates";
        e->shape[0] = how == OXI_LLM_TRANSFORM_DELTA_FIRST ? both + values : values;
        return NULL;
    }
    const int64_t size = e->shape[dim] - (mixed ? both : 0);
    return size < heads || size % heads ? "has sizes that do not divide into heads of values" : NULL;
}

/* [rows, n] by another matrix: [rows, m] */
static const char *oxi_llm_shape_projected(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                           ox_file_entry *e) {
    const bool back = plan->transform == OXI_LLM_TRANSFORM_PROJECTED_BACK;
    ox_file_entry by;
    if (ox_file_get_entry(folder->weights, plan->by, &by) != OX_OK || by.ndim != 2 || e->ndim != 2 ||
        by.shape[back ? 0 : 1] != e->shape[1])
        return "has other columns than the matrix that it is multiplied by";
    if (oxi_info(e->dtype)->cls != OX_CLASS_FLOAT || oxi_info(by.dtype)->cls != OX_CLASS_FLOAT)
        return "is not of floats";
    e->shape[1] = by.shape[back ? 1 : 0];
    e->dtype = OX_F32;
    return NULL;
}

static ox_file *oxi_llm_plan_file(const oxi_llm_folder *folder, const oxi_llm_plan *plan) {
    return plan->module ? folder->modules[plan->module - 1] : folder->weights;
}

/* ---- 8-bit floats with scales -------------------------------------------------------------------------- */

static bool oxi_llm_is_f8(int dtype) {
    return dtype == OX_F8_E4M3 || dtype == OX_F8_E5M2;
}

/* What is stored beside a matrix under its name and this end; -1 = nothing. */
static int64_t oxi_llm_stored_beside(const ox_file *weights, int64_t at, const char *end) {
    char name[160];
    const int used = snprintf(name, sizeof name, "%s%s", ox_file_name(weights, at), end);
    return used > 0 && used < (int)sizeof name ? oxi_file_find(weights, name) : -1;
}

/* Where the scales of a matrix of 8-bit floats are stored; -1 = nowhere. Whatever they are called, weights
 * are multiplied by them. */
static int64_t oxi_llm_f8_scales(const ox_file *weights, int64_t at) {
    const int64_t scales = oxi_llm_stored_beside(weights, at, "_scale_inv");
    return scales >= 0 ? scales : oxi_llm_stored_beside(weights, at, "_scale");
}

/* Whether a stored tensor is no weight: scales of weights or of what meets them. */
static bool oxi_llm_is_scale(const oxi_llm_folder *folder, const char *name) {
    static const char *const ends[] = {"_scale_inv",  ".weight_scale", "_proj_scale",
                                       ".input_scale", ".k_scale",     ".v_scale"};
    const size_t length = strlen(name);
    for (size_t i = 0; folder->scaled_rows > 0 && i < sizeof ends / sizeof *ends; i++)
        if (length > strlen(ends[i]) && strcmp(name + length - strlen(ends[i]), ends[i]) == 0) return true;
    return false;
}

/* Whether scales are one, of all or of each matrix, one a row, [.., rows] or [.., rows, 1], or one a block of
 * rows and columns. */
static bool oxi_llm_scales_fit(const oxi_llm_folder *folder, const ox_file_entry *e,
                               const ox_file_entry *scales) {
    const int64_t rows = e->shape[e->ndim - 2], columns = e->shape[e->ndim - 1],
                  down = (rows - 1) / folder->scaled_rows + 1,
                  across = (columns - 1) / folder->scaled_columns + 1;
    int64_t count = 1;
    for (int d = 0; d < scales->ndim; d++) count *= scales->shape[d] == 1 ? 1 : 2;
    if (count == 1) return true; /* one, of any dims */
    for (int d = 0; d < e->ndim - 2; d++)
        if (d >= scales->ndim || scales->shape[d] != e->shape[d]) return false;
    const int64_t *last = scales->shape + e->ndim - 2;
    if (scales->ndim == e->ndim - 1) return last[0] == rows;
    return scales->ndim == e->ndim && ((last[1] == 1 && (last[0] == rows || last[0] == 1)) ||
                                       (last[0] == down && last[1] == across));
}

/* What a stored tensor is when it is read: 8-bit floats become bf16. NULL or what is wrong. */
static const char *oxi_llm_stored_entry(const oxi_llm_folder *folder, const ox_file *file, uint32_t at,
                                        ox_file_entry *e) {
    ox_file_entry scales;
    if (ox_file_get_entry(file, at, e) != OX_OK) return "has no entry";
    if (folder->scaled_rows == 0 || !oxi_llm_is_f8(e->dtype)) return NULL;
    const int64_t beside = oxi_llm_f8_scales(file, at);
    if (beside < 0 || ox_file_get_entry(file, beside, &scales) != OX_OK) return "has no scales beside it";
    if (oxi_info(scales.dtype)->cls != OX_CLASS_FLOAT) return "has scales that are no floats";
    if (e->ndim < 2 || e->ndim > 3 || e->shape[e->ndim - 2] < 1 || e->shape[e->ndim - 1] < 1)
        return "of 8-bit floats is no matrix";
    e->dtype = OX_BF16;
    return oxi_llm_scales_fit(folder, e, &scales) ? NULL : "has scales of another shape";
}

/* [rows, n] and another one of that shape, of the same file; and itself: a square */
static const char *oxi_llm_shape_added(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                       ox_file_entry *e) {
    ox_file_entry by;
    if (ox_file_get_entry(oxi_llm_plan_file(folder, plan), plan->by, &by) != OX_OK || e->ndim != 2 ||
        by.ndim != 2 || by.shape[0] != e->shape[0] || by.shape[1] != e->shape[1])
        return "has another shape than the matrix that is added to it";
    if (plan->by == plan->from && e->shape[0] != e->shape[1]) return "has no diagonal";
    if (oxi_info(e->dtype)->cls != OX_CLASS_FLOAT || oxi_info(by.dtype)->cls != OX_CLASS_FLOAT)
        return "is not of floats";
    e->dtype = OX_F32;
    return NULL;
}

/* The sizes at the end of a shape, and what is wrong with them. */
static const char *oxi_llm_shape_rows(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                      ox_file_entry *e) {
    int64_t *rows = e->ndim == 1 ? &e->shape[0] : &e->shape[e->ndim - 2]; /* of a bias: its elements */
    const int64_t heads = plan->transform == OXI_LLM_TRANSFORM_KEY ? folder->kv_heads : folder->heads;
    const int64_t groups = folder->kv_heads, share = folder->heads / groups + 2;
    switch (plan->transform) {
    case OXI_LLM_TRANSFORM_LATENT_TURNED:
    case OXI_LLM_TRANSFORM_QUERY:
    case OXI_LLM_TRANSFORM_KEY:
        if (folder->halves) return oxi_llm_shape_ends(folder, plan, e, *rows);
        if (plan->transform == OXI_LLM_TRANSFORM_LATENT_TURNED) return NULL;
        if (folder->model->trait != OXI_LLM_TRAIT_PAIRS && folder->model->trait != OXI_LLM_TRAIT_BACKWARDS)
            return NULL;
        if (e->ndim > 2) return "is no matrix or vector";
        if (folder->turned % 2 || folder->turned > *rows / heads) return "has heads that cannot be turned so";
        return *rows % (2 * heads) ? "has rows that are no pairs of as many heads as config.json says" : NULL;
    case OXI_LLM_TRANSFORM_FUSED:
        if (e->ndim > 2) return "is no matrix or vector";
        if (folder->heads % groups || *rows % (groups * share))
            return "has rows that do not divide into heads";
        return NULL;
    case OXI_LLM_TRANSFORM_FOURTHS:
        return e->ndim != 2 || *rows % 12 ? "is no matrix of four parts of q, v and k" : NULL;
    case OXI_LLM_TRANSFORM_ROWS_FIRST:
    case OXI_LLM_TRANSFORM_ROWS_SECOND:
        if (e->ndim < 2 || *rows % 2) return "has rows that are no two halves";
        *rows /= 2;
        return NULL;
    case OXI_LLM_TRANSFORM_FIRST_FOURTH:
    case OXI_LLM_TRANSFORM_OTHER_FOURTHS:
        if (e->ndim != 2 || *rows % 4) return "has rows that are no four parts";
        *rows = *rows / 4 * (plan->transform == OXI_LLM_TRANSFORM_FIRST_FOURTH ? 1 : 3);
        return NULL;
    case OXI_LLM_TRANSFORM_POSITIONS:
    case OXI_LLM_TRANSFORM_WITHOUT_TWO: {
        const int64_t offset = plan->transform == OXI_LLM_TRANSFORM_WITHOUT_TWO ? 2
                               : folder->model->trait == OXI_LLM_TRAIT_OFFSET   ? folder->offset
                                                                                : 0;
        if (e->ndim != 2 || *rows <= offset) return "has no rows for positions";
        *rows -= offset;
        return NULL;
    }
    default: return NULL;
    }
}

static const char *oxi_llm_shape_columns(const oxi_llm_plan *plan, ox_file_entry *e) {
    const oxi_llm_transform how = plan->transform;
    const bool turned = how >= OXI_LLM_TRANSFORM_TURNED && how <= OXI_LLM_TRANSFORM_TURNED_ODD;
    int64_t *columns = &e->shape[e->ndim - 1];
    if (how == OXI_LLM_TRANSFORM_TURNED && e->ndim == 1) return NULL;
    if (turned && e->ndim < 2) return "is no matrix";
    if ((turned && how != OXI_LLM_TRANSFORM_TURNED) || how == OXI_LLM_TRANSFORM_EVEN ||
        how == OXI_LLM_TRANSFORM_ODD) {
        if (*columns % 2) return "has an odd number of columns";
        *columns /= 2;
    }
    if (turned) {
        const int64_t rows = columns[-1];
        columns[-1] = *columns;
        *columns = rows;
    }
    return NULL;
}

/* [heads * (nope + value), columns] */
static const char *oxi_llm_shape_latent(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                        ox_file_entry *e) {
    const int64_t columns = e->shape[1];
    if (e->ndim != 2 || e->shape[0] != folder->heads * (folder->nope_size + folder->value_size))
        return "has other rows than heads, qk_nope_head_dim and v_head_dim give";
    const bool keys = plan->transform == OXI_LLM_TRANSFORM_LATENT_KEYS;
    e->ndim = 3;
    e->shape[0] = folder->heads;
    e->shape[1] = keys ? columns : folder->value_size;
    e->shape[2] = keys ? folder->nope_size : columns;
    return NULL;
}

/* Where the scales of MXFP4 blocks are stored; -1 = nowhere. */
static int64_t oxi_llm_scales_of(const ox_file *weights, uint32_t blocks) {
    const char *name = ox_file_name(weights, blocks);
    const size_t length = strlen(name), stem = length > 7 ? length - 7 : 0; /* "_blocks" */
    char scales[160];
    if (stem + 8 > sizeof scales) return -1;
    memcpy(scales, name, stem);
    memcpy(scales + stem, "_scales", 8);
    return oxi_file_find(weights, scales);
}

/* blocks [E, rows, n, 16], scales [E, rows, n] */
static const char *oxi_llm_shape_mxfp4(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                       ox_file_entry *e) {
    ox_file_entry scales;
    const int64_t at = oxi_llm_scales_of(folder->weights, plan->from);
    if (at < 0) return "has no scales beside it";
    if (ox_file_get_entry(folder->weights, at, &scales) != OX_OK) return "has no scales beside it";
    if (e->dtype != OX_U8 || e->ndim != 4 || e->shape[3] != 16) return "is not u8 [.., .., .., 16]";
    if (scales.dtype != OX_U8 || scales.ndim != 3 || memcmp(scales.shape, e->shape, 3 * sizeof *e->shape))
        return "has scales of another shape";
    if (plan->transform != OXI_LLM_TRANSFORM_MXFP4 && e->shape[1] % 2) return "has an odd number of rows";
    if (e->shape[2] > INT64_MAX / 32) return "has too many blocks";
    e->dtype = OX_MXFP4;
    e->ndim = 3;
    e->shape[1] /= plan->transform == OXI_LLM_TRANSFORM_MXFP4 ? 1 : 2;
    e->shape[2] *= 32;
    return NULL;
}

static const char *oxi_llm_shape_stack(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                       ox_file_entry *e) {
    for (uint32_t i = 1; i < plan->count; i++) {
        ox_file_entry other;
        if (oxi_llm_stored_entry(folder, folder->weights, folder->pieces[plan->first + i], &other) ||
            other.dtype != e->dtype || other.ndim != e->ndim ||
            memcmp(other.shape, e->shape, (size_t)e->ndim * sizeof *e->shape))
            return "has not the dtype and shape of all that are stacked with it";
    }
    if (e->ndim > 3) return "has too many dims to be stacked";
    memmove(e->shape + 1, e->shape, (size_t)e->ndim * sizeof *e->shape);
    e->shape[0] = plan->count;
    e->ndim++;
    return NULL;
}

/* Rows behind rows. */
static const char *oxi_llm_shape_join(const oxi_llm_folder *folder, const oxi_llm_plan *plan,
                                      ox_file_entry *e) {
    const int last = e->ndim - 1;
    for (uint32_t i = 1; i < plan->count; i++) {
        ox_file_entry other;
        if (oxi_llm_stored_entry(folder, folder->weights, folder->pieces[plan->first + i], &other) ||
            other.dtype != e->dtype || other.ndim != e->ndim ||
            (last > 0 && other.shape[last] != e->shape[last]) || (last > 1 && other.shape[1] != 1) ||
            other.shape[0] > INT64_MAX - e->shape[0])
            return "has not the dtype and columns of all that are joined with it";
        e->shape[0] += other.shape[0];
    }
    if (e->ndim == 1 || e->ndim == 2) return NULL;
    if (e->ndim != 3 || e->shape[1] != 1) return "is no vector, matrix or kernel";
    e->shape[1] = e->shape[2];
    e->ndim = 2;
    return NULL;
}

/* [n]: [n, 1] */
static const char *oxi_llm_shape_column(ox_file_entry *e) {
    if (e->ndim == 1) e->shape[e->ndim++] = 1;
    return NULL;
}

/* [experts n, m]: [experts, n, m], or [experts, m, n] */
static const char *oxi_llm_shape_by_expert(const oxi_llm_folder *folder, bool turned, ox_file_entry *e) {
    if (e->ndim != 2 || folder->experts < 1 || e->shape[0] % folder->experts)
        return "are no matrices of experts behind each other";
    const int64_t rows = e->shape[0] / folder->experts, columns = e->shape[1];
    e->ndim = 3;
    e->shape[0] = folder->experts;
    e->shape[1] = turned ? columns : rows;
    e->shape[2] = turned ? rows : columns;
    return NULL;
}

/* [n]: [experts, n] */
static const char *oxi_llm_shape_each(const oxi_llm_folder *folder, ox_file_entry *e) {
    if (e->ndim != 1 || folder->experts < 1) return "is no bias of experts";
    e->ndim = 2;
    e->shape[1] = e->shape[0];
    e->shape[0] = folder->experts;
    return NULL;
}

/* [n]: [groups, n / groups], where there are groups */
static const char *oxi_llm_shape_groups(int64_t groups, ox_file_entry *e) {
    if (groups < 2) return NULL;
    if (e->ndim != 1 || e->shape[0] % groups) return "does not divide into groups";
    e->ndim = 2;
    e->shape[1] = e->shape[0] / groups;
    e->shape[0] = groups;
    return NULL;
}

/* NULL or what is wrong. */
static const char *oxi_llm_shape(const oxi_llm_folder *folder, const oxi_llm_plan *plan, ox_file_entry *e) {
    const bool floats = oxi_info(e->dtype)->cls == OX_CLASS_FLOAT;
    if (e->ndim < 1) return "has no dims";
    switch (plan->transform) {
    case OXI_LLM_TRANSFORM_NORM:
        if (!oxi_llm_adds_one(folder, plan)) return NULL;
        if (!floats) return "is not of floats";
        e->dtype = OX_F32;
        return NULL;
    case OXI_LLM_TRANSFORM_SCALED:
        if (!floats) return "is not of floats";
        e->dtype = OX_F32;
        return plan->count == 1 || plan->count == e->shape[0] ? NULL : "has other rows than what scales them";
    case OXI_LLM_TRANSFORM_SQUEEZED:
        if (e->ndim != 3 || e->shape[1] != 1) return "is not [n, 1, m]";
        e->ndim = 2;
        e->shape[1] = e->shape[2];
        return NULL;
    case OXI_LLM_TRANSFORM_DECAYS:
    case OXI_LLM_TRANSFORM_GATED_DECAYS:
        e->dtype = OX_F32;
        return floats ? oxi_llm_shape_column(e) : "is not of floats";
    case OXI_LLM_TRANSFORM_MIXER_SKIPS: return folder->second ? oxi_llm_shape_column(e) : NULL;
    case OXI_LLM_TRANSFORM_MIXER_NORM: return oxi_llm_shape_groups(folder->mixer_groups, e);
    case OXI_LLM_TRANSFORM_INTEGERS:
        if (oxi_info(e->dtype)->cls != OX_CLASS_INT) return "is not of integers";
        e->dtype = OX_I32;
        return NULL;
    case OXI_LLM_TRANSFORM_TERNARY: return floats ? NULL : "is not of floats: packed weights are not read";
    case OXI_LLM_TRANSFORM_BY_EXPERT:
    case OXI_LLM_TRANSFORM_TURNED_BY_EXPERT:
        return oxi_llm_shape_by_expert(folder, plan->transform == OXI_LLM_TRANSFORM_TURNED_BY_EXPERT, e);
    case OXI_LLM_TRANSFORM_EACH_EXPERT: return oxi_llm_shape_each(folder, e);
    case OXI_LLM_TRANSFORM_FLAT:
        if (e->ndim != 2 || e->shape[0] != 1) return "is not [1, n]";
        e->ndim = 1;
        e->shape[0] = e->shape[1];
        return NULL;
    case OXI_LLM_TRANSFORM_LATENT_KEYS:
    case OXI_LLM_TRANSFORM_LATENT_VALUES: return oxi_llm_shape_latent(folder, plan, e);
    case OXI_LLM_TRANSFORM_DELTA_FIRST:
    case OXI_LLM_TRANSFORM_DELTA_SECOND:
    case OXI_LLM_TRANSFORM_DELTA_MIXED:
    case OXI_LLM_TRANSFORM_DELTA_HEADS:
    case OXI_LLM_TRANSFORM_DELTA_DECAYS:
    case OXI_LLM_TRANSFORM_DELTA_COLUMNS: return oxi_llm_shape_delta(folder, plan, e);
    case OXI_LLM_TRANSFORM_PROJECTED:
    case OXI_LLM_TRANSFORM_PROJECTED_BACK: return oxi_llm_shape_projected(folder, plan, e);
    case OXI_LLM_TRANSFORM_ADDED: return oxi_llm_shape_added(folder, plan, e);
    case OXI_LLM_TRANSFORM_MXFP4:
    case OXI_LLM_TRANSFORM_MXFP4_EVEN:
    case OXI_LLM_TRANSFORM_MXFP4_ODD: return oxi_llm_shape_mxfp4(folder, plan, e);
    case OXI_LLM_TRANSFORM_STACK: return oxi_llm_shape_stack(folder, plan, e);
    case OXI_LLM_TRANSFORM_JOIN: return oxi_llm_shape_join(folder, plan, e);
    default: {
        const char *wrong = oxi_llm_shape_rows(folder, plan, e);
        return wrong ? wrong : oxi_llm_shape_columns(plan, e);
    }
    }
}

static ox_status oxi_llm_add_item(const oxi_llm_config *c, uint32_t index) {
    const oxi_llm_folder *folder = c->folder;
    const oxi_llm_plan *plan = &folder->plans[index];
    const uint32_t from = oxi_llm_is_of_pieces(plan) ? folder->pieces[plan->first] : plan->from;
    ox_file_entry entry;
    size_t bytes = 0;
    memset(&entry, 0, sizeof entry);
    if (plan->transform == OXI_LLM_TRANSFORM_VALUES) {
        entry.dtype = OX_F32;
        entry.ndim = plan->columns ? 2 : 1;
        entry.shape[0] = plan->columns ? plan->count / plan->columns : plan->count;
        entry.shape[1] = plan->columns;
    } else {
        const ox_file *file = oxi_llm_plan_file(folder, plan);
        const oxi_file_item *stored = &file->items[from];
        const char *wrong = stored->unsupported;
        if (!wrong) wrong = oxi_llm_stored_entry(folder, file, from, &entry);
        if (!wrong) wrong = oxi_llm_shape(folder, plan, &entry);
        if (wrong)
            return oxi_file_fail(stored->unsupported ? OX_ERR_UNSUPPORTED : OX_ERR_FORMAT, c->file, 0,
                                 SIZE_MAX, "tensor %s %s", OXI_QUOTE(stored->name), wrong);
    }
    oxi_file_item *item = oxi_file_add_item(c->file);
    int64_t *shape = (int64_t *)oxi_file_take(c->file, sizeof entry.shape);
    if (!item || !shape) return OX_ERR_NOMEM;
    memcpy(shape, entry.shape, sizeof entry.shape);
    item->name = plan->name;
    item->packed = true;
    item->extra = index;
    if (!oxi_item_shape(item, entry.dtype, entry.ndim, shape, &bytes))
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "tensor %s is too large", plan->name);
    item->bytes = bytes;
    return OX_OK;
}

static ox_status oxi_llm_add_items(const oxi_llm_config *c) {
    ox_status status = OX_OK;
    for (size_t i = 0; i < c->folder->plan_count && status == OX_OK; i++)
        status = oxi_llm_add_item(c, (uint32_t)i);
    return status;
}
