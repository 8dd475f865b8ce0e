/* Which type a tensor becomes: mixes by name, and rules by a tensor's role, its layer and what the model is
 * like. The choices are those of llama-quantize, so that files agree tensor by tensor (source: llama.cpp,
 * src/llama-quant.cpp). */

/* name, general.file_type, the type of most matrices */
#define OXI_MIX_LIST(X)        \
    X(Q4_0, 2, OX_Q4_0)        \
    X(Q4_1, 3, OX_Q4_1)        \
    X(MXFP4_MOE, 38, OX_MXFP4) \
    X(Q5_0, 8, OX_Q5_0)        \
    X(Q5_1, 9, OX_Q5_1)        \
    X(TQ1_0, 36, OX_TQ1_0)     \
    X(TQ2_0, 37, OX_TQ2_0)     \
    X(Q2_K, 10, OX_Q2_K)       \
    X(Q2_K_S, 21, OX_Q2_K)     \
    X(Q3_K_S, 11, OX_Q3_K)     \
    X(Q3_K_M, 12, OX_Q3_K)     \
    X(Q3_K_L, 13, OX_Q3_K)     \
    X(IQ4_NL, 25, OX_IQ4_NL)   \
    X(IQ4_XS, 30, OX_IQ4_XS)   \
    X(Q4_K_S, 14, OX_Q4_K)     \
    X(Q4_K_M, 15, OX_Q4_K)     \
    X(Q5_K_S, 16, OX_Q5_K)     \
    X(Q5_K_M, 17, OX_Q5_K)     \
    X(Q6_K, 18, OX_Q6_K)       \
    X(Q8_0, 7, OX_Q8_0)        \
    X(F16, 1, OX_F16)          \
    X(BF16, 32, OX_BF16)       \
    X(F32, 0, OX_F32)          \
    X(COPY, -1, OX_DTYPE_NONE)

typedef enum oxi_mix {
#define OXI_X(name, file_type, dtype) OXI_MIX_##name,
    OXI_MIX_LIST(OXI_X)
#undef OXI_X
        OXI_MIX_COUNT
} oxi_mix;

static const struct oxi_mix_row {
    const char *name;
    int file_type; /* -1: as it was */
    ox_dtype dtype;
} oxi_mixes[] = {
#define OXI_X(name, file_type, dtype) {#name, file_type, dtype},
    OXI_MIX_LIST(OXI_X)
#undef OXI_X
};

static const struct oxi_mix_alias {
    const char *name;
    oxi_mix mix;
} oxi_mix_aliases[] = {{"Q3_K", OXI_MIX_Q3_K_M}, {"Q4_K", OXI_MIX_Q4_K_M}, {"Q5_K", OXI_MIX_Q5_K_M}};

OX_API const char *ox_llm_quantize_mix(int64_t index) {
    return index >= 0 && index < OXI_MIX_COUNT ? oxi_mixes[index].name : NULL;
}

static bool oxi_same_letters(const char *a, const char *b) {
    for (; *a && *b; a++, b++) {
        const char upper = *a >= 'a' && *a <= 'z' ? (char)(*a - 'a' + 'A') : *a;
        if (upper != *b) return false;
    }
    return *a == *b;
}

/* OXI_MIX_COUNT: none. */
static oxi_mix oxi_mix_by_name(const char *name) {
    for (size_t i = 0; i < sizeof oxi_mix_aliases / sizeof *oxi_mix_aliases; i++)
        if (oxi_same_letters(name, oxi_mix_aliases[i].name)) return oxi_mix_aliases[i].mix;
    int mix = 0;
    while (mix < OXI_MIX_COUNT && !oxi_same_letters(name, oxi_mixes[mix].name)) mix++;
    return (oxi_mix)mix;
}

/* ---- roles --------------------------------------------------------------------------------------------- */

enum {
    OXI_PART_OTHER = 0,
    OXI_PART_OUTPUT = 1,
    OXI_PART_EMBEDDING = 2,
    OXI_PART_VALUE = 4, /* and what holds values beside others */
    OXI_PART_KEY = 8,
    OXI_PART_MERGE = 16,
    OXI_PART_DOWN = 32
};

/* The first that fits; names in whole, others where they are part of one. */
static const struct oxi_part_row {
    const char *text;
    bool whole;
    int part;
} oxi_parts_by_name[] = {
    {"output.weight", true, OXI_PART_OUTPUT},
    {"token_embd.weight", true, OXI_PART_EMBEDDING},
    {"per_layer_token_embd.weight", true, OXI_PART_EMBEDDING},
    {"attn_qkv.weight", false, OXI_PART_VALUE},
    {"attn_kv_b.weight", false, OXI_PART_VALUE},
    {"attn_v.weight", false, OXI_PART_VALUE},
    {"attn_k.weight", false, OXI_PART_KEY},
    {"attn_output.weight", false, OXI_PART_MERGE},
    {"ffn_down", false, OXI_PART_DOWN},
};

static int oxi_mix_part(const char *name) {
    for (size_t i = 0; i < sizeof oxi_parts_by_name / sizeof *oxi_parts_by_name; i++) {
        const struct oxi_part_row *row = &oxi_parts_by_name[i];
        if (row->whole ? strcmp(name, row->text) == 0 : strstr(name, row->text) != NULL) return row->part;
    }
    return OXI_PART_OTHER;
}

/* Matrices that stay as they are: small tables, norms, routers. Those in whole first. */
static const char *const oxi_kept_names[] = {"position_embd.weight", "token_types.weight"};
static const char *const oxi_kept_texts[] = {
    "_norm.weight",
    "ffn_gate_inp.weight",
    "ffn_gate_tid2eid.weight",
    "altup",
    "laurel",
    "per_layer_model_proj",
    "ssm_conv1d",
    "shortconv.conv.weight",
    "indexer.k_proj.weight",
    "indexer.q_proj.weight",
    "time_mix_first.weight",
    "time_mix_w0.weight",
    "time_mix_w1.weight",
    "time_mix_w2.weight",
    "time_mix_v0.weight",
    "time_mix_v1.weight",
    "time_mix_v2.weight",
    "time_mix_a0.weight",
    "time_mix_a1.weight",
    "time_mix_a2.weight",
    "time_mix_g1.weight",
    "time_mix_g2.weight",
    "time_mix_decay_w1.weight",
    "time_mix_decay_w2.weight",
    "time_mix_lerp_fused.weight",
    "attn_rel_b.weight",
    ".position_embd",
    "sam.pos_embd",
    "sam.neck.",
    "sam.net_",
    ".rel_pos",
    ".patch_embd",
    ".patch_merger",
    "a.rvq.codebook",
    "mm.a.code_embd",
};

/* Dims as the format counts them: those of one element at the front are none. */
static int oxi_real_dims(const ox_file_entry *entry) {
    int first = 0;
    while (first < entry->ndim - 1 && entry->shape[first] == 1) first++;
    return entry->ndim - first;
}

static bool oxi_is_quantizable(const ox_file_entry *entry) {
    const size_t length = strlen(entry->name);
    if (oxi_real_dims(entry) < 2 || length < 6 || strcmp(entry->name + length - 6, "weight") != 0)
        return false;
    for (size_t i = 0; i < sizeof oxi_kept_names / sizeof *oxi_kept_names; i++)
        if (strcmp(entry->name, oxi_kept_names[i]) == 0) return false;
    for (size_t i = 0; i < sizeof oxi_kept_texts / sizeof *oxi_kept_texts; i++)
        if (strstr(entry->name, oxi_kept_texts[i])) return false;
    return true;
}

/* ---- what the model is like ---------------------------------------------------------------------------- */

typedef struct oxi_mix_model {
    oxi_mix mix;
    char architecture[64];
    bool importance, falcon, tied;
    bool shares_values;               /* 80 layers whose value matrices are small: those get more bits */
    int64_t layers, experts, sharing; /* sharing: query heads that share a key head */
    int64_t values;                   /* matrices of that role */
    int64_t value, down;              /* how many have come so far */
} oxi_mix_model;

/* A number, or the first of an array. */
static int64_t oxi_mix_number(const ox_file *file, const char *architecture, const char *key,
                              int64_t otherwise) {
    char name[128];
    snprintf(name, sizeof name, "%s.%s", architecture, key);
    ox_file_meta meta = ox_file_meta_find(file, name);
    if (meta.type == OX_FILE_META_ARRAY) meta = ox_file_meta_element(file, &meta, 0);
    const bool number = meta.type == OX_FILE_META_INT || meta.type == OX_FILE_META_UINT;
    return number && meta.i >= 0 && meta.i < INT32_MAX ? meta.i : otherwise;
}

static void oxi_mix_read(oxi_mix_model *m, const ox_file *file, oxi_mix mix, bool importance) {
    static const char *const sharing_at_80[] = {"qwen2", "deci", "apertus"};
    char *name = m->architecture;
    memset(m, 0, sizeof *m);
    const ox_file_meta architecture = ox_file_meta_find(file, "general.architecture");
    if (architecture.type == OX_FILE_META_STRING)
        oxi_llm_copy_text(architecture.text, name, sizeof m->architecture);
    m->mix = mix;
    m->importance = importance;
    m->falcon = strcmp(name, "falcon") == 0;
    m->layers = oxi_mix_number(file, name, "block_count", 0);
    m->experts = oxi_mix_number(file, name, "expert_count", 0);
    const int64_t heads = oxi_mix_number(file, name, "attention.head_count", 0);
    const int64_t keys = oxi_mix_number(file, name, "attention.head_count_kv", heads);
    m->sharing = keys > 0 ? heads / keys : 0;
    m->shares_values = m->layers == 80 && strcmp(name, "llama") == 0 && heads != keys;
    for (size_t i = 0; i < sizeof sharing_at_80 / sizeof *sharing_at_80; i++)
        if (m->layers == 80 && strcmp(name, sharing_at_80[i]) == 0) m->shares_values = true;
    m->tied = true;
    for (int64_t i = 0; i < ox_file_count(file); i++) {
        const int part = oxi_mix_part(ox_file_name(file, i));
        if (part == OXI_PART_OUTPUT) m->tied = false;
        if (part == OXI_PART_VALUE) m->values++;
    }
}

/* "blk.<layer>." at the start of a name; -1 = another name. */
static int64_t oxi_layer_of(const char *name) {
    int64_t layer = 0;
    int digits = 0;
    if (strncmp(name, "blk.", 4) != 0) return -1;
    for (name += 4; *name >= '0' && *name <= '9' && digits < 9; name++, digits++)
        layer = layer * 10 + (*name - '0');
    return digits > 0 && *name == '.' ? layer : -1;
}

/* Matrices of a family that stay as they are, or are of one type in all mixes of blocks. */
static const struct oxi_family_kept {
    const char *architecture, *text;
    ox_dtype dtype; /* NONE: as it is */
} oxi_kept_by_family[] = {
    {"glm5-next", "attn_k_b.weight", OX_DTYPE_NONE},      {"glm5-next", "attn_v_b.weight", OX_DTYPE_NONE},
    {"glm5-next", "attn_kv_a_mqa.weight", OX_DTYPE_NONE}, {"glm5-next", ".indexer", OX_DTYPE_NONE},
    {"glm5-next", ".hc_", OX_DTYPE_NONE},                 {"glm5-next", "ssm_f_", OX_DTYPE_NONE},
    {"glm5-next", "ssm_g_", OX_DTYPE_NONE},               {"glm5-next", "ssm_beta", OX_DTYPE_NONE},
    {"glm5-next", "attn_q_a.weight", OX_Q8_0},            {"glm5-next", "attn_q_b.weight", OX_Q8_0},
};

/* The type that a family wants for a matrix; NONE where it does not say. */
static ox_dtype oxi_mix_of_family(const oxi_mix_model *m, const ox_file_entry *entry) {
    for (size_t i = 0; i < sizeof oxi_kept_by_family / sizeof *oxi_kept_by_family; i++) {
        const struct oxi_family_kept *row = &oxi_kept_by_family[i];
        if (strcmp(row->architecture, m->architecture) == 0 && strstr(entry->name, row->text))
            return row->dtype ? row->dtype : entry->dtype;
    }
    return OX_DTYPE_NONE;
}

/* ---- rules --------------------------------------------------------------------------------------------- */

typedef enum oxi_when {
    OXI_WHEN_ALWAYS,
    OXI_WHEN_SHARED,  /* four query heads or more share a key head */
    OXI_WHEN_FIRST_2, /* of these tensors; the fractions are of the layers */
    OXI_WHEN_FIRST_4,
    OXI_WHEN_FIRST_16TH,
    OXI_WHEN_FIRST_8TH,
    OXI_WHEN_PLAIN_8TH,    /* the same, without importance */
    OXI_WHEN_WEIGHTED_8TH, /* and with it */
    OXI_WHEN_ENDS          /* the first and last eighth, and every third between */
} oxi_when;

typedef enum oxi_who {
    OXI_WHO_ANY,
    OXI_WHO_FALCON,
    OXI_WHO_OTHERS, /* than Falcon */
    OXI_WHO_EIGHT,  /* others with eight experts */
    OXI_WHO_ALL_EIGHT
} oxi_who;

#define OXI_M(name) ((uint32_t)1 << OXI_MIX_##name)

/* The first that fits is the type. */
static const struct oxi_mix_rule {
    int part;
    uint32_t mixes; /* 0 = all */
    oxi_who who;
    oxi_when when;
    ox_dtype dtype;
} oxi_mix_rules[] = {
    {OXI_PART_EMBEDDING, OXI_M(TQ1_0) | OXI_M(TQ2_0), OXI_WHO_ANY, OXI_WHEN_ALWAYS, OX_Q4_K},
    {OXI_PART_VALUE | OXI_PART_KEY, 0, OXI_WHO_ALL_EIGHT, OXI_WHEN_ALWAYS, OX_Q8_0},
    {OXI_PART_VALUE, OXI_M(Q2_K) | OXI_M(Q2_K_S), OXI_WHO_ANY, OXI_WHEN_SHARED, OX_Q4_K},
    {OXI_PART_VALUE, OXI_M(Q2_K), OXI_WHO_ANY, OXI_WHEN_ALWAYS, OX_Q3_K},
    {OXI_PART_VALUE, OXI_M(Q3_K_M), OXI_WHO_ANY, OXI_WHEN_FIRST_2, OX_Q5_K},
    {OXI_PART_VALUE, OXI_M(Q3_K_M), OXI_WHO_ANY, OXI_WHEN_ALWAYS, OX_Q4_K},
    {OXI_PART_VALUE, OXI_M(Q3_K_L), OXI_WHO_ANY, OXI_WHEN_ALWAYS, OX_Q5_K},
    {OXI_PART_VALUE, OXI_M(IQ4_NL) | OXI_M(IQ4_XS), OXI_WHO_ANY, OXI_WHEN_SHARED, OX_Q5_K},
    {OXI_PART_VALUE, OXI_M(Q4_K_M) | OXI_M(Q5_K_M), OXI_WHO_ANY, OXI_WHEN_ENDS, OX_Q6_K},
    {OXI_PART_VALUE, OXI_M(Q4_K_S), OXI_WHO_ANY, OXI_WHEN_FIRST_4, OX_Q5_K},
    {OXI_PART_DOWN, OXI_M(Q2_K), OXI_WHO_ANY, OXI_WHEN_ALWAYS, OX_Q3_K},
    {OXI_PART_DOWN, OXI_M(Q2_K_S), OXI_WHO_ANY, OXI_WHEN_FIRST_8TH, OX_Q4_K},
    {OXI_PART_DOWN, OXI_M(Q3_K_M), OXI_WHO_ANY, OXI_WHEN_FIRST_16TH, OX_Q5_K},
    {OXI_PART_DOWN, OXI_M(Q3_K_M), OXI_WHO_OTHERS, OXI_WHEN_ALWAYS, OX_Q4_K},
    {OXI_PART_DOWN, OXI_M(Q3_K_M), OXI_WHO_FALCON, OXI_WHEN_ENDS, OX_Q4_K},
    {OXI_PART_DOWN, OXI_M(Q3_K_L), OXI_WHO_FALCON, OXI_WHEN_ALWAYS, OX_Q4_K},
    {OXI_PART_DOWN, OXI_M(Q3_K_L), OXI_WHO_OTHERS, OXI_WHEN_ALWAYS, OX_Q5_K},
    {OXI_PART_DOWN, OXI_M(Q4_K_M), OXI_WHO_FALCON, OXI_WHEN_FIRST_16TH, OX_Q6_K},
    {OXI_PART_DOWN, OXI_M(Q4_K_M), OXI_WHO_FALCON, OXI_WHEN_ENDS, OX_Q5_K},
    {OXI_PART_DOWN, OXI_M(Q4_K_M), OXI_WHO_OTHERS, OXI_WHEN_ENDS, OX_Q6_K},
    {OXI_PART_DOWN, OXI_M(Q5_K_M), OXI_WHO_ANY, OXI_WHEN_ENDS, OX_Q6_K},
    {OXI_PART_DOWN, OXI_M(IQ4_NL) | OXI_M(IQ4_XS), OXI_WHO_ANY, OXI_WHEN_PLAIN_8TH, OX_Q5_K},
    {OXI_PART_DOWN, OXI_M(Q4_K_S), OXI_WHO_OTHERS, OXI_WHEN_FIRST_8TH, OX_Q5_K},
    {OXI_PART_DOWN, OXI_M(Q4_0), OXI_WHO_ANY, OXI_WHEN_WEIGHTED_8TH, OX_Q4_1},
    {OXI_PART_DOWN, OXI_M(Q5_0), OXI_WHO_ANY, OXI_WHEN_WEIGHTED_8TH, OX_Q5_1},
    {OXI_PART_MERGE,
     OXI_M(Q2_K) | OXI_M(Q3_K_S) | OXI_M(Q3_K_M) | OXI_M(IQ4_NL) | OXI_M(IQ4_XS) | OXI_M(Q4_K_S) |
         OXI_M(Q4_K_M),
     OXI_WHO_EIGHT, OXI_WHEN_ALWAYS, OX_Q5_K},
    {OXI_PART_MERGE, 0, OXI_WHO_EIGHT, OXI_WHEN_ALWAYS, OX_DTYPE_NONE}, /* the mix's own */
    {OXI_PART_MERGE, OXI_M(Q2_K), OXI_WHO_OTHERS, OXI_WHEN_ALWAYS, OX_Q3_K},
    {OXI_PART_MERGE, OXI_M(Q3_K_M), OXI_WHO_OTHERS, OXI_WHEN_ALWAYS, OX_Q4_K},
    {OXI_PART_MERGE, OXI_M(Q3_K_L), OXI_WHO_OTHERS, OXI_WHEN_ALWAYS, OX_Q5_K},
    {OXI_PART_MERGE, OXI_M(Q3_K_L), OXI_WHO_FALCON, OXI_WHEN_ALWAYS, OX_Q4_K},
};
#undef OXI_M

/* index: of count tensors of a role, or of layers. */
static bool oxi_is_when(oxi_when when, const oxi_mix_model *m, int64_t index, int64_t count) {
    switch (when) {
    case OXI_WHEN_SHARED: return m->sharing >= 4;
    case OXI_WHEN_FIRST_2: return index < 2;
    case OXI_WHEN_FIRST_4: return index < 4;
    case OXI_WHEN_FIRST_16TH: return index < count / 16;
    case OXI_WHEN_FIRST_8TH: return index < count / 8;
    case OXI_WHEN_PLAIN_8TH: return index < count / 8 && !m->importance;
    case OXI_WHEN_WEIGHTED_8TH: return index < count / 8 && m->importance;
    case OXI_WHEN_ENDS: return index < count / 8 || index >= 7 * count / 8 || (index - count / 8) % 3 == 2;
    default: return true;
    }
}

static bool oxi_is_who(oxi_who who, const oxi_mix_model *m) {
    switch (who) {
    case OXI_WHO_FALCON: return m->falcon;
    case OXI_WHO_OTHERS: return !m->falcon;
    case OXI_WHO_EIGHT: return !m->falcon && m->experts == 8;
    case OXI_WHO_ALL_EIGHT: return m->experts == 8;
    default: return true;
    }
}

/* The type of a matrix by role and place; counts it. */
static ox_dtype oxi_mix_choose(oxi_mix_model *m, const ox_file_entry *entry, int part) {
    const ox_dtype own = oxi_mixes[m->mix].dtype;
    if (part == OXI_PART_OUTPUT || (m->tied && part == OXI_PART_EMBEDDING)) {
        const bool fits = entry->shape[entry->ndim - 1] % ox_dtype_get_info(own)->block_elements == 0;
        return m->mix == OXI_MIX_MXFP4_MOE || m->falcon || !fits || own == OX_Q8_0 ? OX_Q8_0 : OX_Q6_K;
    }
    if (m->mix == OXI_MIX_MXFP4_MOE) return oxi_real_dims(entry) > 2 ? OX_MXFP4 : OX_Q8_0;
    const bool down = part == OXI_PART_DOWN;
    const int64_t layer = oxi_layer_of(entry->name);
    int64_t index = down ? m->down++ : part == OXI_PART_VALUE ? m->value++ : 0;
    if (down && m->experts > 1 && layer >= 0) index = layer;
    ox_dtype dtype = own;
    for (size_t i = 0; i < sizeof oxi_mix_rules / sizeof *oxi_mix_rules; i++) {
        const struct oxi_mix_rule *rule = &oxi_mix_rules[i];
        if (!(rule->part & part) || (rule->mixes && !(rule->mixes >> m->mix & 1))) continue;
        if (!oxi_is_who(rule->who, m) || !oxi_is_when(rule->when, m, index, down ? m->layers : m->values))
            continue;
        dtype = rule->dtype == OX_DTYPE_NONE ? own : rule->dtype;
        break;
    }
    if (part == OXI_PART_VALUE && m->shares_values && (dtype == OX_Q3_K || dtype == OX_Q4_K)) return OX_Q5_K;
    return dtype;
}

/* What takes a type's place where rows are no multiple of its blocks. */
static ox_dtype oxi_mix_fit(ox_dtype dtype, int64_t columns) {
    static const ox_dtype smaller[][2] = {{OX_IQ4_XS, OX_IQ4_NL}, {OX_Q2_K, OX_Q4_0},  {OX_Q3_K, OX_Q4_0},
                                          {OX_TQ1_0, OX_Q4_0},    {OX_TQ2_0, OX_Q4_0}, {OX_Q4_K, OX_Q5_0},
                                          {OX_Q5_K, OX_Q5_1},     {OX_Q6_K, OX_Q8_0}};
    if (columns % ox_dtype_get_info(dtype)->block_elements == 0) return dtype;
    for (size_t i = 0; i < sizeof smaller / sizeof *smaller; i++)
        if (smaller[i][0] == dtype && columns % 32 == 0) return smaller[i][1];
    return OX_F16;
}
