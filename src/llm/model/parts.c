/* Parts of a model in its file: their rows of parts.def with the sizes that the facts give, their names, and
 * the tensors of one, checked. Matrices stay where they are; vectors are small: they become f32, where the
 * numbers of the forward pass are. Called by weights.c. */

typedef struct oxi_llm_part_row {
    const char *name;
    oxi_llm_size experts, rows, columns;
} oxi_llm_part_row;

#define OXI_LLM_MODEL_PART(role, name, rows, columns) \
    {name, OXI_LLM_SIZE_NONE, OXI_LLM_SIZE_##rows, OXI_LLM_SIZE_##columns},
static const oxi_llm_part_row oxi_llm_model_parts[] = {
#include "parts.def"
};
#define OXI_LLM_LAYER_PART(role, name, experts, rows, columns) \
    {name, OXI_LLM_SIZE_##experts, OXI_LLM_SIZE_##rows, OXI_LLM_SIZE_##columns},
static const oxi_llm_part_row oxi_llm_layer_parts[] = {
#include "parts.def"
};

/* ---- sizes --------------------------------------------------------------------------------------------- */

/* Those of attention; 0: not one. */
static int64_t oxi_llm_size_of_heads(const ox_llm *model, const oxi_llm_layer *l, oxi_llm_size size) {
    const oxi_llm_numbers *n = &model->numbers;
    const int64_t turned = model->rope.size;
    const bool gated = oxi_llm_has_trait(model, OXI_LLM_TRAIT(QUERY_GATED));
    switch (size) {
    case OXI_LLM_SIZE_HEADS: return l->heads;
    case OXI_LLM_SIZE_KV_HEADS: return l->kv_heads;
    case OXI_LLM_SIZE_QUERIES:
        if (!l->attends) return l->heads * l->key_size;
        return l->heads * (n->latent ? n->latent_key : gated ? 2 * l->key_size : l->key_size);
    case OXI_LLM_SIZE_KEYS: return l->kv_heads * l->key_size;
    case OXI_LLM_SIZE_VALUES: return l->kv_heads * l->value_size;
    case OXI_LLM_SIZE_QUERY_KEY_VALUE:
        return (l->heads + l->kv_heads) * l->key_size + l->kv_heads * l->value_size;
    case OXI_LLM_SIZE_MERGE_GROUPS: return n->merge_groups;
    case OXI_LLM_SIZE_MERGE_RANK: return n->merge_rank;
    case OXI_LLM_SIZE_MERGE_PART: return n->merge_groups ? l->heads * l->value_size / n->merge_groups : 0;
    case OXI_LLM_SIZE_RATIO: return l->ratio;
    case OXI_LLM_SIZE_BLOCK: return l->overlaps ? 2 * l->key_size : l->key_size;
    case OXI_LLM_SIZE_INDEX_QUERIES: return n->index_heads * n->index_size;
    case OXI_LLM_SIZE_INDEX_HEADS: return n->index_heads;
    case OXI_LLM_SIZE_INDEX_SIZE: return n->index_size;
    case OXI_LLM_SIZE_INDEX_BLOCK: return l->overlaps ? 2 * n->index_size : n->index_size;
    case OXI_LLM_SIZE_MERGED:
        if (n->merge_groups && l->attends) return n->merge_groups * n->merge_rank;
        return l->heads * (n->latent && l->attends ? n->latent_value : l->value_size);
    case OXI_LLM_SIZE_BUCKETS: return n->buckets;
    case OXI_LLM_SIZE_PAIRS: return turned ? turned / 2 : -1; /* of families that are not turned: any */
    case OXI_LLM_SIZE_QUERY_RANK: return n->query_rank;
    case OXI_LLM_SIZE_LATENT: return n->latent;
    case OXI_LLM_SIZE_LATENT_TURNED: return n->latent + turned;
    case OXI_LLM_SIZE_LATENT_QUERIES: return l->heads * (n->latent ? n->latent_key : l->key_size);
    case OXI_LLM_SIZE_LATENT_PAIRS: return l->heads * (n->latent_key - turned + n->latent_value);
    case OXI_LLM_SIZE_LATENT_PLAIN: return n->latent_key - turned;
    case OXI_LLM_SIZE_LATENT_VALUE: return n->latent_value;
    default: return 0;
    }
}

/* -1: any. Sizes come from facts of at most 2^31 each, so products of two fit. */
static int64_t oxi_llm_size_of(const ox_llm *model, const oxi_llm_layer *l, oxi_llm_size size) {
    const ox_llm_config *c = &model->config;
    const oxi_llm_numbers *n = &model->numbers;
    switch (size) {
    case OXI_LLM_SIZE_ANY: return -1;
    case OXI_LLM_SIZE_VOCABULARY: return c->vocabulary ? c->vocabulary : -1; /* the first one tells */
    case OXI_LLM_SIZE_WIDTH: return c->width;
    case OXI_LLM_SIZE_HYPER: return n->hyper;
    case OXI_LLM_SIZE_HYPER_WIDTH: return n->hyper * c->width;
    case OXI_LLM_SIZE_HYPER_MIXES: return n->hyper * (n->hyper_rounds > 0 ? n->hyper + 2 : 2);
    case OXI_LLM_SIZE_HYPER_RANK: return n->hyper_rank;
    case OXI_LLM_SIZE_HIDDEN: return l->hidden;
    case OXI_LLM_SIZE_HIDDEN_UP:
        return oxi_llm_has_trait(model, OXI_LLM_TRAIT(GATE_IN_UP)) ? 2 * l->hidden : l->hidden;
    case OXI_LLM_SIZE_EXPERTS: return n->experts;
    case OXI_LLM_SIZE_EXPERTS_USED: return n->experts_used;
    case OXI_LLM_SIZE_CHUNKS: return n->chunk_share ? n->experts / n->chunk_share : 0;
    case OXI_LLM_SIZE_VALUE_EXPERTS: return n->value_experts;
    case OXI_LLM_SIZE_EXPERT_WIDTH: return n->expert_width;
    case OXI_LLM_SIZE_EXPERT_HIDDEN: return l->expert_hidden;
    case OXI_LLM_SIZE_EXPERT_GATE_UP: return 2 * l->expert_hidden;
    case OXI_LLM_SIZE_SHARED_HIDDEN: return n->shared_hidden;
    case OXI_LLM_SIZE_INPUT: return n->input;
    case OXI_LLM_SIZE_INPUTS: return n->input * c->layers;
    case OXI_LLM_SIZE_ALTERNATE: return n->alternate;
    case OXI_LLM_SIZE_ALTERNATE_SQUARE: return n->alternate * n->alternate;
    case OXI_LLM_SIZE_ALTERNATE_WIDTH: return (n->alternate - 1) * c->width;
#define OXI_X(size) case OXI_LLM_SIZE_##size:
        OXI_LLM_MIXER_SIZE_LIST(OXI_X)
#undef OXI_X
        return n->mixing.size[size];
    default: return oxi_llm_size_of_heads(model, l, size);
    }
}

/* Whether t is [experts, rows, columns] as far as the row has them; a vector of any size may be a matrix. */
static ox_status oxi_llm_check_shape(const ox_llm *model, const oxi_llm_layer *l, const char *name,
                                     const oxi_llm_part_row *row, const ox_tensor *t) {
    int64_t shape[3];
    int ndim = 0;
    if (row->experts) shape[ndim++] = oxi_llm_size_of(model, l, row->experts);
    if (row->rows) shape[ndim++] = oxi_llm_size_of(model, l, row->rows);
    shape[ndim++] = oxi_llm_size_of(model, l, row->columns);
    if (ndim == 1 && (shape[0] < 0 || shape[0] == ox_numel(t))) return OX_OK;
    bool fits = t->ndim == ndim;
    for (int d = 0; fits && d < ndim; d++) {
        if (shape[d] < 0) shape[d] = t->shape[d];
        fits = t->shape[d] == shape[d] && shape[d] > 0;
    }
    if (fits) return OX_OK;
    return oxi_fail(OX_ERR_SHAPE, "llm: tensor %s is %s, the metadata asks for %s", name, oxi_tensor_text(t),
                    oxi_shape_text(ndim, shape));
}

/* ---- one tensor ---------------------------------------------------------------------------------------- */

/* A vector, or the biases of experts, is f32 near the forward pass; a matrix stays what and where it is. */
static ox_tensor *oxi_llm_keep(ox_llm *model, ox_tensor *t, bool matrix) {
    model->config.parameters += ox_numel(t);
    model->config.bytes += (int64_t)ox_nbytes(t);
    return ox_retain(matrix ? t : ox_to(ox_cast(t, OX_F32), oxi_working_device(ox_device_of(t))));
}

/* The experts of each token, i64 [vocabulary, used] near the forward pass; NULL on error. */
static ox_tensor *oxi_llm_keep_table(ox_llm *model, const char *name, ox_tensor *t) {
    const int64_t most = model->numbers.experts - 1;
    ox_tensor *table = ox_cast(t, OX_I64), *first = ox_amin(table, OX_ALL_DIMS, false),
              *last = ox_amax(table, OX_ALL_DIMS, false);
    if (!first || !last) return NULL;
    if (ox_item_int(first) < 0 || ox_item_int(last) > most) {
        (void)oxi_fail(OX_ERR_INDEX, "llm: tensor %s has experts other than 0 to %lld", name,
                       (long long)most);
        return NULL;
    }
    model->config.bytes += (int64_t)ox_nbytes(t);
    return ox_retain(ox_to(table, oxi_working_device(ox_device_of(t))));
}

/* The tensor `name` in *out; NULL where there is none. */
static ox_status oxi_llm_load_tensor(ox_llm *model, const oxi_llm_layer *l, ox_file *file, const char *name,
                                     const oxi_llm_part_row *row, ox_tensor **out) {
    if (!ox_file_has(file, name)) return OX_OK;
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_file_tensor(file, name);
    const bool table = row == &oxi_llm_layer_parts[OXI_LLM_ROUTER_TABLE];
    const int ndim = 1 + (row->rows != OXI_LLM_SIZE_NONE) + (row->experts != OXI_LLM_SIZE_NONE);
    const int64_t parts = row->experts ? oxi_llm_size_of(model, l, row->experts) : 0;
    if (t && parts > 1 && t->ndim == 2 && t->shape[0] % parts == 0) /* or dims */
        t = ox_unflatten(t, 0, OX_SHAPE(parts, t->shape[0] / parts));
    if (t && t->ndim == 3 && ndim == 2) t = ox_flatten(t, 0, 1); /* matrices of the model are one */
    if (t && t->ndim == ndim - 1) t = ox_unsqueeze(t, 0);        /* files drop ones */
    ox_status status = t ? oxi_llm_check_shape(model, l, name, row, t) : oxi_llm_error();
    if (!status && ndim == 1 && oxi_is_block(t->dtype)) t = ox_cast(t, OX_F32); /* norms that have two dims */
    if (!status && ndim == 1 && row->columns != OXI_LLM_SIZE_ANY) t = ox_flatten(t, 0, -1);
    if (!status && !t) status = oxi_llm_error();
    if (!status) {
        const ox_dtype_class cls = oxi_info(t->dtype)->cls;
        if (table ? cls != OX_CLASS_INT : cls != OX_CLASS_FLOAT && cls != OX_CLASS_BLOCK)
            status = oxi_fail(OX_ERR_DTYPE, "llm: tensor %s has dtype %s: %s", name, ox_dtype_name(t->dtype),
                              table ? "a table is of integers" : "weights are floats or of block types");
    }
    if (!status) {
        *out = table ? oxi_llm_keep_table(model, name, t)
                     : oxi_llm_keep(model, t, row->rows != OXI_LLM_SIZE_NONE);
        if (!*out) status = oxi_llm_error();
    }
    ox_scope_end(&scope);
    return status;
}

/* What products are multiplied by: one number, or one for each expert. */
static ox_status oxi_llm_load_scale(const ox_llm *model, ox_file *file, const char *name, bool experts,
                                    oxi_llm_part *out) {
    if (!ox_file_has(file, name)) return OX_OK;
    ox_scope scope = ox_scope_begin();
    ox_tensor *t = ox_file_tensor(file, name);
    float *numbers = NULL;
    const int64_t count = t ? ox_numel(t) : 0, most = experts ? model->numbers.experts : 1;
    bool same = true;
    ox_status status = t ? OX_OK : oxi_llm_error();
    if (!status && count != 1 && count != most)
        status = oxi_fail(OX_ERR_SHAPE, "llm: tensor %s is %s, not a factor", name, oxi_tensor_text(t));
    if (!status) {
        numbers = (float *)oxi_alloc((size_t)count * sizeof *numbers);
        status = numbers ? ox_to_floats(t, numbers, count) : OX_ERR_NOMEM;
    }
    for (int64_t i = 0; !status && i < count; i++) {
        same = same && numbers[i] == numbers[0];
        if (!isfinite(numbers[i]))
            status = oxi_fail(OX_ERR_FORMAT, "llm: tensor %s has a factor of %g", name, (double)numbers[i]);
    }
    if (!status && same) out->scale = numbers[0];
    if (!status && !same) {
        ox_device *device = out->weight ? oxi_working_device(ox_device_of(out->weight)) : ox_cpu();
        out->scales = ox_retain(ox_to(oxi_copied(numbers, OX_SHAPE(count, 1), OX_F32), device));
        if (!out->scales) status = oxi_llm_error();
    }
    oxi_free(numbers, numbers ? (size_t)count * sizeof *numbers : 0);
    ox_scope_end(&scope);
    return status;
}

/* ---- a part: weight, bias and scale -------------------------------------------------------------------- */

static void oxi_llm_free_part(oxi_llm_part *part) {
    ox_release(part->weight);
    ox_release(part->bias);
    ox_release(part->scales);
    ox_release(part->rest);
    part->weight = part->bias = part->scales = part->rest = NULL;
}

static ox_status oxi_llm_load_part(ox_llm *model, const oxi_llm_layer *l, ox_file *file, const char *stem,
                                   const oxi_llm_part_row *row, oxi_llm_part *out) {
    char name[96];
    const bool matrix = row->rows != OXI_LLM_SIZE_NONE;
    oxi_llm_part_row bias = *row;
    if (matrix) bias.columns = row->rows;
    if (!matrix || row->experts == OXI_LLM_SIZE_NONE) bias.rows = OXI_LLM_SIZE_NONE;
    if (row->experts) bias.rows = row->experts; /* a row of biases an expert */
    bias.experts = OXI_LLM_SIZE_NONE;
    out->scale = 1;
    (void)snprintf(name, sizeof name, "%s.weight", stem);
    ox_status status = oxi_llm_load_tensor(model, l, file, name, row, &out->weight);
    if (!status && !out->weight && !matrix) /* some converters leave the end away */
        status = oxi_llm_load_tensor(model, l, file, stem, row, &out->weight);
    (void)snprintf(name, sizeof name, "%s.bias", stem);
    if (!status) status = oxi_llm_load_tensor(model, l, file, name, &bias, &out->bias);
    (void)snprintf(name, sizeof name, "%s.scale", stem);
    if (row == &oxi_llm_layer_parts[OXI_LLM_ROUTER] && oxi_llm_has_trait(model, OXI_LLM_TRAIT(ROUTER_SCALED)))
        return status; /* a part of its own */
    return status || !matrix ? status
                             : oxi_llm_load_scale(model, file, name, row->experts != OXI_LLM_SIZE_NONE, out);
}

/* The names that some families have for a part. */
typedef struct oxi_llm_other_name {
    const char *family;
    oxi_llm_layer_role role;
    const char *name;
} oxi_llm_other_name;

#define OXI_LLM_NAME(family, role, name) {family, OXI_LLM_##role, name},
static const oxi_llm_other_name oxi_llm_other_names[] = {
#include "names.def"
};

typedef struct oxi_llm_prefix {
    const char *family, *prefix;
} oxi_llm_prefix;

#define OXI_LLM_PREFIX(family, prefix) {family, prefix},
static const oxi_llm_prefix oxi_llm_prefixes_of_families[] = {
#include "names.def"
};

/* What stands before the names of the model's layers. */
static const char *oxi_llm_prefix_of(const ox_llm *model) {
    for (size_t i = 0; i < sizeof oxi_llm_prefixes_of_families / sizeof *oxi_llm_prefixes_of_families; i++)
        if (strcmp(oxi_llm_prefixes_of_families[i].family, model->family->name) == 0)
            return oxi_llm_prefixes_of_families[i].prefix;
    return "";
}

/* What a part of a layer is called in this file. "": the family has no such part. */
static const char *oxi_llm_part_name(const ox_llm *model, const ox_file *file, int64_t layer, int role) {
    for (size_t i = 0; i < sizeof oxi_llm_other_names / sizeof *oxi_llm_other_names; i++) {
        const oxi_llm_other_name *other = &oxi_llm_other_names[i];
        char name[96];
        if ((int)other->role != role || strcmp(other->family, model->family->name) != 0) continue;
        (void)snprintf(name, sizeof name, "%sblk.%lld.%s.weight", oxi_llm_prefix_of(model), (long long)layer,
                       other->name);
        if (!other->name[0] || ox_file_has(file, name)) return other->name;
    }
    return oxi_llm_layer_parts[role].name;
}

/* Biases that some files hold and their family does not add. */
#define OXI_LLM_NO_BIAS(family, role) {family, OXI_LLM_##role, NULL},
static const oxi_llm_other_name oxi_llm_no_biases[] = {
#include "names.def"
};

/* Those that are not added, unless the file says that all are. */
static ox_status oxi_llm_drop_biases(const ox_llm *model, const ox_file *file, oxi_llm_layer *l) {
    int64_t all = 0;
    const ox_status status = oxi_llm_read_int(model, file, "use_bias", -1, 0, 0, &all);
    for (size_t i = 0; !all && i < sizeof oxi_llm_no_biases / sizeof *oxi_llm_no_biases; i++) {
        if (strcmp(oxi_llm_no_biases[i].family, model->family->name) != 0) continue;
        oxi_llm_part *part = &l->part[oxi_llm_no_biases[i].role];
        ox_release(part->bias);
        part->bias = NULL;
    }
    return status;
}

/* The factor of a feed-forward's product holds for its bias too, as llama.cpp computes it. */
static ox_status oxi_llm_scale_biases(oxi_llm_layer *l) {
    for (int role = OXI_LLM_GATE; role <= OXI_LLM_DOWN; role++) {
        oxi_llm_part *part = &l->part[role];
        if (!part->bias || part->scale == 1) continue;
        ox_scope scope = ox_scope_begin();
        ox_tensor *bias = ox_mul_number(part->bias, part->scale);
        if (bias) {
            ox_release(part->bias);
            part->bias = ox_retain(bias);
        }
        ox_scope_end(&scope);
        if (!bias) return oxi_llm_error();
    }
    return OX_OK;
}
