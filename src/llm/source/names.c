/* Names of a folder's tensors to GGUF's, by the rows of names.def. Each stored tensor must have a row; what a
 * row makes of it is a plan, and those of one stack become one plan. Called by folder.c. */

typedef struct oxi_llm_name_row {
    const char *sets, *name, *target;
    oxi_llm_transform transform;
} oxi_llm_name_row;
typedef struct oxi_llm_stem_row {
    const char *sets, *stem, *target, *added;
} oxi_llm_stem_row;

#define OXI_X(sets, name, target, transform) {sets, name, target, OXI_LLM_TRANSFORM_##transform},
static const oxi_llm_name_row oxi_llm_model_name_rows[] = {OXI_LLM_MODEL_NAME_LIST(OXI_X)};
static const oxi_llm_name_row oxi_llm_layer_name_rows[] = {OXI_LLM_LAYER_NAME_LIST(OXI_X)};
#undef OXI_X
#define OXI_X(sets, stem, target, added) {sets, stem, target, added},
static const oxi_llm_stem_row oxi_llm_stem_rows[] = {OXI_LLM_STEM_LIST(OXI_X)};
#undef OXI_X
#define OXI_X(prefix) prefix,
static const char *const oxi_llm_prefixes[] = {OXI_LLM_PREFIX_LIST(OXI_X)};
#undef OXI_X
enum {
    OXI_LLM_MODEL_NAMES = (int)(sizeof oxi_llm_model_name_rows / sizeof *oxi_llm_model_name_rows),
    OXI_LLM_LAYER_NAMES = (int)(sizeof oxi_llm_layer_name_rows / sizeof *oxi_llm_layer_name_rows),
    OXI_LLM_STEMS = (int)(sizeof oxi_llm_stem_rows / sizeof *oxi_llm_stem_rows),
    OXI_LLM_PREFIXES = (int)(sizeof oxi_llm_prefixes / sizeof *oxi_llm_prefixes)
};

static oxi_llm_plan *oxi_llm_add_plan(const oxi_llm_config *c, const char *name) {
    oxi_llm_folder *folder = c->folder;
    const size_t length = strlen(name);
    char *copy = (char *)oxi_file_take(c->file, length + 1);
    void *grown = copy ? oxi_grow(folder->plans, &folder->plan_room, folder->plan_count + 1,
                                  sizeof *folder->plans, false)
                       : NULL;
    if (!grown) return NULL;
    folder->plans = (oxi_llm_plan *)grown;
    oxi_llm_plan *plan = &folder->plans[folder->plan_count++];
    memset(plan, 0, sizeof *plan);
    memcpy(copy, name, length + 1);
    plan->name = copy;
    return plan;
}

/* ---- matching ------------------------------------------------------------------------------------------ */

/* Digits at *p, at most 9 of them. */
static bool oxi_llm_name_number(const char **p, uint32_t *number) {
    int digits = 0;
    for (*number = 0; oxi_is_digit(**p) && digits < 9; ++*p, digits++)
        *number = *number * 10 + (uint32_t)(**p - '0');
    return digits > 0 && !oxi_is_digit(**p);
}

/* Whether a name is that of a row; *suffix receives what '*' stands for in GGUF. */
static bool oxi_llm_name_is(const char *pattern, const char *name, uint32_t *number, const char **suffix) {
    for (; *pattern; pattern++) {
        if (*pattern == '~') return true;
        if (*pattern == '*') {
            const bool weight = strcmp(name, "weight") == 0 || strcmp(name, "gamma") == 0;
            *suffix = weight ? "weight" : "bias";
            return weight || strcmp(name, "bias") == 0 || strcmp(name, "beta") == 0;
        }
        if (*pattern == '#') {
            if (!oxi_llm_name_number(&name, number)) return false;
        } else if (*pattern != *name++) {
            return false;
        }
    }
    return *name == 0;
}

/* What the names of a model are compared with. */
typedef struct oxi_llm_naming {
    const oxi_llm_config *config;
    bool of_model[OXI_LLM_MODEL_NAMES], of_layer[OXI_LLM_LAYER_NAMES], stems[OXI_LLM_STEMS];
    uint32_t from; /* the stored tensor that is being placed */
    bool found;    /* it has a row */
    bool attends;  /* its layer has a matrix of queries */
} oxi_llm_naming;

/* A row's transform, or where a model's experts are stored turned (as files of Qwen 3 VL are), the one that
 * turns them back. */
static oxi_llm_transform oxi_llm_name_transform(const oxi_llm_naming *naming, oxi_llm_transform how) {
    const oxi_llm_folder *f = naming->config->folder;
    const int hidden = how == OXI_LLM_TRANSFORM_NONE ? 1 : 2; /* hidden_size's dim: of down, or gate and up */
    ox_file_entry e;
    if (f->model->trait != OXI_LLM_TRAIT_EITHER) return how;
    if (ox_file_get_entry(f->weights, naming->from, &e) != OX_OK || e.ndim != 3) return how;
    if (e.shape[hidden] == f->width || e.shape[3 - hidden] != f->width) return how;
    switch (how) {
    case OXI_LLM_TRANSFORM_NONE: return OXI_LLM_TRANSFORM_TURNED;
    case OXI_LLM_TRANSFORM_ROWS_FIRST: return OXI_LLM_TRANSFORM_TURNED_FIRST;
    case OXI_LLM_TRANSFORM_ROWS_SECOND: return OXI_LLM_TRANSFORM_TURNED_SECOND;
    default: return how;
    }
}

static ox_status oxi_llm_name_take(oxi_llm_naming *naming, const oxi_llm_name_row *row, const char *start,
                                   uint32_t number, const char *suffix) {
    const oxi_llm_config *c = naming->config;
    char name[160];
    const int stem = (int)strcspn(row->target, "*");
    naming->found = true;
    if (row->transform == OXI_LLM_TRANSFORM_SKIP) return OX_OK;
    const bool bias = row->target[stem] && strcmp(suffix, "bias") == 0; /* tied is the matrix alone */
    if (row->transform == OXI_LLM_TRANSFORM_HEAD && c->folder->tied && !bias) return OX_OK;
    (void)snprintf(name, sizeof name, "%s%.*s%s", start, stem, row->target, row->target[stem] ? suffix : "");
    oxi_llm_plan *plan = oxi_llm_add_plan(c, name);
    if (!plan) return OX_ERR_NOMEM;
    plan->transform = oxi_llm_name_transform(naming, row->transform);
    plan->number = number;
    if (row->transform >= OXI_LLM_TRANSFORM_JOIN_FIRST && row->transform <= OXI_LLM_TRANSFORM_JOIN_FOURTH) {
        plan->number = (uint32_t)(row->transform - OXI_LLM_TRANSFORM_JOIN_FIRST);
        plan->transform = OXI_LLM_TRANSFORM_JOIN;
    }
    plan->from = naming->from;
    return OX_OK;
}

static ox_status oxi_llm_name_rows(oxi_llm_naming *naming, const oxi_llm_name_row *rows, const bool *holds,
                                   int count, const char *start, const char *name) {
    for (int i = 0; i < count; i++) {
        const oxi_llm_transform transform = rows[i].transform;
        uint32_t number = 0;
        const char *suffix = "";
        if (!holds[i] || !oxi_llm_name_is(rows[i].name, name, &number, &suffix)) continue;
        if (transform == OXI_LLM_TRANSFORM_ENCODER && strncmp(start, "enc.", 4) != 0) continue;
        if (transform == OXI_LLM_TRANSFORM_DECODER && strncmp(start, "dec.", 4) != 0) continue;
        if (transform == OXI_LLM_TRANSFORM_ATTENDING && !naming->attends) continue;
        if (transform == OXI_LLM_TRANSFORM_MIXING && naming->attends) continue;
        const ox_status status = oxi_llm_name_take(naming, &rows[i], start, number, suffix);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}

/* Whether a tensor is stored beside another one, of whose name `length` letters are the layer's. */
static bool oxi_llm_layer_has(const oxi_llm_folder *folder, const char *name, size_t length,
                              const char *other) {
    char path[160];
    const int used = snprintf(path, sizeof path, "%.*s.%s", (int)(length < 100 ? length : 100), name, other);
    return length < 100 && used > 0 && oxi_file_find(folder->weights, path) >= 0;
}

/* What is added to the number of a stem's layers. */
static ox_status oxi_llm_stem_added(const oxi_llm_config *c, const oxi_llm_stem_row *stem, uint32_t *out) {
    int64_t added = 0;
    const ox_status status =
        stem->added[0] ? oxi_llm_config_int(c, stem->added, 0, 1 << 16, -1, &added) : OX_OK;
    *out = (uint32_t)added;
    return status;
}

/* A name behind its prefix. */
static ox_status oxi_llm_name_rest(oxi_llm_naming *naming, const char *whole, const char *rest) {
    const oxi_llm_folder *folder = naming->config->folder;
    for (int i = 0; i < OXI_LLM_STEMS && !naming->found; i++) {
        const oxi_llm_stem_row *stem = &oxi_llm_stem_rows[i];
        const size_t length = strlen(stem->stem);
        const char *p = rest + length;
        uint32_t layer = 0, added = 0;
        char start[64];
        if (!naming->stems[i] || strncmp(rest, stem->stem, length) != 0) continue;
        if (!oxi_llm_name_number(&p, &layer) || *p != '.') continue;
        const ox_status counted = oxi_llm_stem_added(naming->config, stem, &added);
        if (counted != OX_OK) return counted;
        naming->attends = oxi_llm_layer_has(folder, whole, (size_t)(p - whole), "self_attn.q_proj.weight");
        layer += added;
        if (layer >= folder->layers && layer < folder->layers + folder->beyond) {
            naming->found = true; /* of layers that guess further tokens */
            return OX_OK;
        }
        (void)snprintf(start, sizeof start, "%s%u.", stem->target, (unsigned)layer);
        const ox_status status = oxi_llm_name_rows(naming, oxi_llm_layer_name_rows, naming->of_layer,
                                                   OXI_LLM_LAYER_NAMES, start, p + 1);
        if (status != OX_OK) return status;
        if (naming->found && layer >= folder->layers)
            return oxi_file_fail(OX_ERR_FORMAT, naming->config->file, 0, SIZE_MAX,
                                 "tensor %s is of layer %u, config.json says %lld layers", OXI_QUOTE(whole),
                                 (unsigned)layer, (long long)folder->layers);
    }
    if (naming->found) return OX_OK;
    return oxi_llm_name_rows(naming, oxi_llm_model_name_rows, naming->of_model, OXI_LLM_MODEL_NAMES, "",
                             rest);
}

static ox_status oxi_llm_place_tensor(oxi_llm_naming *naming, const char *name) {
    naming->found = oxi_llm_is_scale(naming->config->folder, name);
    for (int i = 0; i < OXI_LLM_PREFIXES && !naming->found; i++) {
        const size_t length = strlen(oxi_llm_prefixes[i]);
        if (strncmp(name, oxi_llm_prefixes[i], length) != 0) continue;
        const ox_status status = oxi_llm_name_rest(naming, name, name + length);
        if (status != OX_OK) return status;
    }
    if (naming->found) return OX_OK;
    return oxi_file_fail(OX_ERR_UNSUPPORTED, naming->config->file, 0, SIZE_MAX,
                         "tensor %s is none that is known of models of the type %s", OXI_QUOTE(name),
                         naming->config->folder->model->name);
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

static int oxi_llm_compare_plans(const void *user, uint32_t a, uint32_t b) {
    const oxi_llm_plan *x = (const oxi_llm_plan *)user + a, *y = (const oxi_llm_plan *)user + b;
    const int order = strcmp(x->name, y->name);
    return order ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* Whether a tensor is made of several that are stored: plan->first and plan->count. */
static bool oxi_llm_is_of_pieces(const oxi_llm_plan *plan) {
    return plan->transform == OXI_LLM_TRANSFORM_STACK || plan->transform == OXI_LLM_TRANSFORM_JOIN;
}

/* The plans of one name, order[first, end), become one: the pieces of a stack, in their order. */
static ox_status oxi_llm_stack_plans(const oxi_llm_config *c, const uint32_t *order, size_t first, size_t end,
                                     size_t *pieces, oxi_llm_plan *out) {
    oxi_llm_folder *folder = c->folder;
    *out = folder->plans[order[first]];
    if (!oxi_llm_is_of_pieces(out)) {
        if (end - first == 1) return OX_OK;
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "tensors %s and %s are both %s",
                             OXI_QUOTE(ox_file_name(folder->weights, out->from)),
                             OXI_QUOTE(ox_file_name(folder->weights, folder->plans[order[first + 1]].from)),
                             out->name);
    }
    out->first = (uint32_t)*pieces;
    out->count = (uint32_t)(end - first);
    for (size_t i = first; i < end; i++) {
        const oxi_llm_plan *piece = &folder->plans[order[i]];
        if (piece->transform != out->transform || piece->number != i - first)
            return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX,
                                 "tensor %s: number %u of those that make up %s was expected",
                                 OXI_QUOTE(ox_file_name(folder->weights, piece->from)), (unsigned)(i - first),
                                 out->name);
        folder->pieces[(*pieces)++] = piece->from;
    }
    return OX_OK;
}

static ox_status oxi_llm_join_plans(const oxi_llm_config *c) {
    oxi_llm_folder *folder = c->folder;
    const size_t count = folder->plan_count;
    size_t kept = 0, pieces = 0;
    if (count == 0 || count > UINT32_MAX / 2)
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "%llu tensors", (unsigned long long)count);
    uint32_t *order = (uint32_t *)oxi_calloc(count, 2 * sizeof *order);
    oxi_llm_plan *joined = (oxi_llm_plan *)oxi_calloc(count, sizeof *joined);
    folder->pieces = (uint32_t *)oxi_calloc(count, sizeof *folder->pieces);
    folder->piece_room = count;
    ox_status status = order && joined && folder->pieces ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK)
        oxi_sort_indexes(order, order + count, (uint32_t)count, oxi_llm_compare_plans, folder->plans);
    for (size_t first = 0, end; first < count && status == OX_OK; first = end) {
        const char *name = folder->plans[order[first]].name;
        for (end = first + 1; end < count && strcmp(folder->plans[order[end]].name, name) == 0;) end++;
        status = oxi_llm_stack_plans(c, order, first, end, &pieces, &joined[kept++]);
    }
    if (status == OX_OK) {
        memcpy(folder->plans, joined, kept * sizeof *joined);
        folder->plan_count = kept;
    }
    oxi_free(order, count * 2 * sizeof *order);
    oxi_free(joined, count * sizeof *joined);
    return status;
}

/* ---- OPT ----------------------------------------------------------------------------------------------- */

/* The plan of a name; NULL = there is none. */
static oxi_llm_plan *oxi_llm_plan_of(const oxi_llm_folder *folder, const char *name) {
    for (size_t i = 0; i < folder->plan_count; i++)
        if (strcmp(folder->plans[i].name, name) == 0) return &folder->plans[i];
    return NULL;
}

static int64_t oxi_llm_stored_projection(const oxi_llm_folder *folder, const char *name) {
    char path[64];
    for (int i = 0; i < OXI_LLM_PREFIXES; i++) {
        (void)snprintf(path, sizeof path, "%s%s.weight", oxi_llm_prefixes[i], name);
        const int64_t at = oxi_file_find(folder->weights, path);
        if (at >= 0) return at;
    }
    return -1;
}

/* Embeddings of another width than the layers: the matrices between them become part of the embedding, and of
 * the output, which is then no longer the same. */
static ox_status oxi_llm_project_embedding(const oxi_llm_config *c) {
    oxi_llm_folder *folder = c->folder;
    const int64_t in = oxi_llm_stored_projection(folder, "project_in"),
                  out = oxi_llm_stored_projection(folder, "project_out");
    oxi_llm_plan *embedding = oxi_llm_plan_of(folder, "token_embd.weight"),
                 *head = oxi_llm_plan_of(folder, "output.weight");
    if ((in < 0 && out < 0) || !embedding) return OX_OK;
    const uint32_t stored = embedding->from;
    if (in >= 0) {
        embedding->transform = OXI_LLM_TRANSFORM_PROJECTED;
        embedding->by = (uint32_t)in;
    }
    if (!head) {
        head = oxi_llm_add_plan(c, "output.weight");
        if (!head) return OX_ERR_NOMEM;
        head->from = stored;
    }
    if (out < 0) return OX_OK;
    head->transform = OXI_LLM_TRANSFORM_PROJECTED_BACK;
    head->by = (uint32_t)out;
    return OX_OK;
}

/* ---- scales -------------------------------------------------------------------------------------------- */

typedef struct oxi_llm_scale_row {
    const char *who, *tensor, *rows, *factor;
} oxi_llm_scale_row;
#define OXI_X(who, tensor, rows, factor) {who, tensor, rows, factor},
static const oxi_llm_scale_row oxi_llm_scale_rows[] = {OXI_LLM_SOURCE_SCALE_LIST(OXI_X)};
#undef OXI_X
enum { OXI_LLM_SCALE_ROWS = (int)(sizeof oxi_llm_scale_rows / sizeof *oxi_llm_scale_rows) };

/* Whether a plan is that of the tensor, of the model or of a layer. */
static bool oxi_llm_plan_is(const oxi_llm_plan *plan, const char *tensor) {
    const char *name = plan->name;
    if (strncmp(name, "blk.", 4) == 0) name = strchr(name + 4, '.') ? strchr(name + 4, '.') + 1 : name;
    return strcmp(name, tensor) == 0;
}

/* Rows [first, end) of the list, all of one tensor: its scales, one or one a row of the tensor; NULL in *out:
 * they are all 1. */
static ox_status oxi_llm_make_scales(const oxi_llm_config *c, int first, int end, int64_t tensor_rows,
                                     float **out, int64_t *count) {
    bool ones = true;
    int64_t at = 0;
    *out = NULL;
    *count = end - first == 1 ? 1 : tensor_rows;
    if (*count < 1 || *count > 1 << 24) /* a tensor without columns takes no bytes */
        return oxi_file_fail(OX_ERR_FORMAT, c->file, 0, SIZE_MAX, "%s has %lld rows",
                             oxi_llm_scale_rows[first].tensor, (long long)*count);
    float *scales = (float *)oxi_file_take(c->file, (size_t)*count * sizeof *scales);
    if (!scales) return OX_ERR_NOMEM;
    for (int i = first; i < end; i++) {
        double factor = 1;
        ox_status status;
        int64_t rows = *count - at;
        if (!oxi_llm_config_number(c, oxi_llm_scale_rows[i].factor, &factor, &status)) factor = 1;
        if (status == OX_OK && *oxi_llm_scale_rows[i].rows)
            status = oxi_llm_config_int(c, oxi_llm_scale_rows[i].rows, 0, rows, -1, &rows);
        if (status != OX_OK) return status;
        ones = ones && factor == 1;
        while (rows-- > 0) scales[at++] = (float)factor;
    }
    if (!ones) *out = scales;
    return OX_OK;
}

static ox_status oxi_llm_scale_tensor(const oxi_llm_config *c, int first, int end) {
    oxi_llm_folder *folder = c->folder;
    float *scales = NULL;
    int64_t count = 0;
    bool made = false;
    for (size_t i = 0; i < folder->plan_count; i++) {
        oxi_llm_plan *plan = &folder->plans[i];
        ox_file_entry entry;
        if (!oxi_llm_plan_is(plan, oxi_llm_scale_rows[first].tensor)) continue;
        ox_status status = made ? OX_OK : ox_file_get_entry(folder->weights, plan->from, &entry);
        if (status == OX_OK && !made)
            status = oxi_llm_make_scales(c, first, end, entry.ndim ? entry.shape[0] : 0, &scales, &count);
        if (status != OX_OK) return status;
        made = true;
        if (!scales) return OX_OK;
        plan->transform = OXI_LLM_TRANSFORM_SCALED;
        plan->values = scales;
        plan->count = (uint32_t)count;
    }
    return OX_OK;
}

/* The rows of the scale list. A tied output matrix is scaled by itself, and no longer the embedding. */
static ox_status oxi_llm_scale_tensors(const oxi_llm_config *c) {
    ox_status status = OX_OK;
    for (int first = 0, end; first < OXI_LLM_SCALE_ROWS && status == OX_OK; first = end) {
        const char *tensor = oxi_llm_scale_rows[first].tensor;
        for (end = first + 1; end < OXI_LLM_SCALE_ROWS; end++)
            if (strcmp(oxi_llm_scale_rows[end].tensor, tensor) != 0) break;
        if (!oxi_llm_row_holds(c, oxi_llm_scale_rows[first].who)) continue;
        const oxi_llm_plan *embedding = oxi_llm_plan_of(c->folder, "token_embd.weight");
        if (embedding && strcmp(tensor, "output.weight") == 0 && !oxi_llm_plan_of(c->folder, tensor)) {
            const uint32_t stored = embedding->from;
            oxi_llm_plan *head = oxi_llm_add_plan(c, "output.weight");
            if (!head) return OX_ERR_NOMEM;
            head->from = stored;
        }
        status = oxi_llm_scale_tensor(c, first, end);
    }
    return status;
}

/* Norms without weights, of Galactica: ones. */
static ox_status oxi_llm_fill_norms(const oxi_llm_config *c) {
    static const char *const names[] = {"attn_norm", "ffn_norm"};
    const int64_t norms = 2 * c->folder->layers;
    int64_t affine = 0, width = 0;
    char name[64];
    ox_status status = oxi_llm_config_int(c, "layer_norm_elementwise_affine", 0, 1, 1, &affine);
    if (status == OX_OK) status = oxi_llm_config_int(c, "$width", 1, 1 << 20, -1, &width);
    if (status != OX_OK || affine) return status;
    float *ones = (float *)oxi_file_take(c->file, (size_t)width * sizeof *ones);
    if (!ones) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < width; i++) ones[i] = 1;
    for (int64_t i = 0; i <= norms; i++) {
        (void)snprintf(name, sizeof name, "output_norm.weight");
        if (i < norms)
            (void)snprintf(name, sizeof name, "blk.%lld.%s.weight", (long long)(i / 2), names[i % 2]);
        if (oxi_llm_plan_of(c->folder, name)) continue;
        oxi_llm_plan *plan = oxi_llm_add_plan(c, name);
        if (!plan) return OX_ERR_NOMEM;
        plan->transform = OXI_LLM_TRANSFORM_VALUES;
        plan->values = ones;
        plan->count = (uint32_t)width;
    }
    return OX_OK;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static ox_status oxi_llm_add_tensors(const oxi_llm_config *c) {
    const oxi_llm_folder *folder = c->folder;
    char sets[192];
    int64_t experts = 0, before = 1;
    oxi_llm_naming naming;
    const ox_status known =
        oxi_llm_config_int(c, "num_local_experts|num_experts|n_routed_experts", 0, INT32_MAX, 0, &experts);
    if (known != OX_OK) return known;
    const bool opt = strcmp(folder->model->name, "opt") == 0;
    ox_status status = opt ? oxi_llm_config_int(c, "do_layer_norm_before", 0, 1, 1, &before) : OX_OK;
    if (status != OX_OK) return status;
    (void)snprintf(sets, sizeof sets, "%s %s %s", folder->model->sets, experts > 0 ? "routed" : "unrouted",
                   before ? "before" : "behind");
    memset(&naming, 0, sizeof naming);
    naming.config = c;
    for (int i = 0; i < OXI_LLM_MODEL_NAMES; i++)
        naming.of_model[i] = oxi_llm_share_word(oxi_llm_model_name_rows[i].sets, sets);
    for (int i = 0; i < OXI_LLM_LAYER_NAMES; i++)
        naming.of_layer[i] = oxi_llm_share_word(oxi_llm_layer_name_rows[i].sets, sets);
    for (int i = 0; i < OXI_LLM_STEMS; i++)
        naming.stems[i] = oxi_llm_share_word(oxi_llm_stem_rows[i].sets, sets);
    const int64_t count = ox_file_count(folder->weights);
    for (int64_t i = 0; i < count; i++) {
        naming.from = (uint32_t)i;
        status = oxi_llm_place_tensor(&naming, ox_file_name(folder->weights, i));
        if (status != OX_OK) return status;
    }
    status = oxi_llm_join_plans(c);
    if (status == OX_OK) status = oxi_llm_scale_tensors(c);
    if (status == OX_OK && opt) status = oxi_llm_project_embedding(c);
    return status == OX_OK && opt && before ? oxi_llm_fill_norms(c) : status;
}
