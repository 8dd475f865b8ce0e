/* Recurrences over positions: which layers of a model have one, its sizes, and what its tensors must hold.
 * A family's is a row of mixers.def. Called by config.c and weights.c; context/recurrent/ runs them. */

typedef enum oxi_llm_mixer_place {
    OXI_LLM_PLACE_ALONE = 0,
    OXI_LLM_PLACE_EVERY,
    OXI_LLM_PLACE_BESIDE,
    OXI_LLM_PLACE_UNHEADED,
    OXI_LLM_PLACE_SINGLE,
    OXI_LLM_PLACE_LISTED
} oxi_llm_mixer_place;

typedef struct oxi_llm_mixer_row {
    const char *family;
    oxi_llm_mixer mixer;
    oxi_llm_mixer_place place;
    int interval;
} oxi_llm_mixer_row;

#define OXI_LLM_MIXER(family, mixer, place, interval) \
    {family, OXI_LLM_MIXES_##mixer, OXI_LLM_PLACE_##place, interval},
static const oxi_llm_mixer_row oxi_llm_mixer_rows[] = {
#include "mixers.def"
};

/* ---- which layers -------------------------------------------------------------------------------------- */

static const oxi_llm_mixer_row *oxi_llm_find_mixer(const ox_llm *model) {
    for (size_t i = 0; i < sizeof oxi_llm_mixer_rows / sizeof *oxi_llm_mixer_rows; i++)
        if (strcmp(oxi_llm_mixer_rows[i].family, model->family->name) == 0) return &oxi_llm_mixer_rows[i];
    return NULL;
}

/* Whether layer `i` has the mixer, of families that list theirs. */
static ox_status oxi_llm_read_listed(const ox_llm *model, const ox_file *file, int64_t interval, int64_t i,
                                     int64_t *out) {
    char key[96];
    *out = i % interval != interval - 1;
    oxi_llm_key(model, "attention.recurrent_layers", key);
    if (ox_file_meta_find(file, key).type != OX_FILE_META_ARRAY) return OX_OK;
    return oxi_llm_read_int(model, file, "attention.recurrent_layers", i, 0, OXI_LLM_NEEDED, out);
}

static ox_status oxi_llm_read_layer_kind(ox_llm *model, const ox_file *file, const oxi_llm_mixer_row *row,
                                         int64_t interval, int64_t i) {
    oxi_llm_layer *l = &model->layers[i];
    const bool single = row->place == OXI_LLM_PLACE_SINGLE;
    int64_t heads = 1, hidden = 0, recurrent = 1;
    ox_status status = OX_OK;
    if (single || row->place == OXI_LLM_PLACE_UNHEADED) {
        status = oxi_llm_read_int(model, file, "attention.head_count_kv", i, 0, OXI_LLM_NEEDED, &heads);
        if (!status && single)
            status = oxi_llm_read_int(model, file, "feed_forward_length", i, 0, 0, &hidden);
        recurrent = heads == 0 && hidden == 0;
    }
    if (row->place == OXI_LLM_PLACE_LISTED)
        status = oxi_llm_read_listed(model, file, interval, i, &recurrent);
    l->mixer = recurrent ? row->mixer : OXI_LLM_MIXES_NONE;
    l->attends = row->place == OXI_LLM_PLACE_BESIDE || (!recurrent && hidden == 0);
    l->feeds = row->place != OXI_LLM_PLACE_ALONE && (!single || hidden > 0);
    return status;
}

/* ---- sizes --------------------------------------------------------------------------------------------- */

static void oxi_llm_set_size(oxi_llm_mixing *m, oxi_llm_size size, int64_t value) {
    m->size[size] = value;
}

/* Sizes that are too large to be one's are refused, so that their products fit. Lists: of layer 0. */
static ox_status oxi_llm_read_size(const ox_llm *model, const ox_file *file, const char *key,
                                   int64_t otherwise, int64_t *out) {
    const ox_status status = oxi_llm_read_int(model, file, key, 0, 1, otherwise, out);
    if (status || *out <= (int64_t)1 << 20) return status;
    return oxi_fail(OX_ERR_FORMAT, "llm: metadata key %s.%s is %lld, allowed are at most %lld",
                    model->config.architecture, key, (long long)*out, (long long)1 << 20);
}

/* Those of Mamba in all forms: `heads` of the state, or rank of the steps. */
static ox_status oxi_llm_size_mamba(ox_llm *model, const ox_file *file, oxi_llm_mixing *m) {
    int64_t state = 0, steps = 0, bare = 0, late = 0;
    ox_status status = oxi_llm_read_size(model, file, "ssm.inner_size", OXI_LLM_NEEDED, &m->inner);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.state_size", OXI_LLM_NEEDED, &state);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.time_step_rank", OXI_LLM_NEEDED, &steps);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.group_count", 1, &m->groups);
    if (!status) status = oxi_llm_read_int(model, file, "ssm.dt_b_c_rms", -1, 0, 0, &bare);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.norm_group_count", m->groups, &m->norm_groups);
    if (!status) status = oxi_llm_read_int(model, file, "ssm.norm_before_gate", -1, 0, 0, &late);
    m->gated_late = late != 0;
    if (!status) status = oxi_llm_read_float(model, file, "ssm.norm_epsilon", -1, 0, 0, &m->epsilon);
    if (status) return status;
    const bool first = m->kind == OXI_LLM_MIXES_MAMBA, second = m->kind == OXI_LLM_MIXES_MAMBA2;
    m->bare_norms = bare != 0;
    m->heads = first ? 1 : steps;
    m->key = first ? m->inner : state;
    m->value = first ? state : m->inner / steps;
    if (!second) m->groups = 1;
    m->rank = first ? steps : second ? 0 : model->config.width / 16 > 64 ? model->config.width / 16 : 64;
    if (m->inner % m->heads != 0 || m->heads % m->groups != 0 || m->inner % m->groups != 0 ||
        m->inner % m->norm_groups != 0)
        return oxi_fail(OX_ERR_FORMAT, "llm: a state of %lld numbers in %lld heads, %lld groups",
                        (long long)m->inner, (long long)m->heads, (long long)m->groups);
    const int64_t pairs = 2 * m->groups * state, channels = m->inner + (second ? pairs : 0);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_CHANNELS, channels);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_IN, m->inner + channels + (second ? steps : 0));
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_X, pairs + m->rank);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_STATE, state);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_STEPS, first ? m->inner : steps);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_DECAYS, first ? m->inner * state : steps);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_SKIPS, first ? m->inner : steps);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_NORM, m->inner);
    return OX_OK;
}

static ox_status oxi_llm_size_conv(ox_llm *model, const ox_file *file, oxi_llm_mixing *m) {
    m->inner = model->config.width;
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_CHANNELS, m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_IN, 3 * m->inner);
    return oxi_llm_read_int(model, file, "shortconv.l_cache", -1, 2, OXI_LLM_NEEDED, &m->taps);
}

static ox_status oxi_llm_size_delta(ox_llm *model, const ox_file *file, oxi_llm_mixing *m) {
    ox_status status = oxi_llm_read_size(model, file, "ssm.inner_size", OXI_LLM_NEEDED, &m->inner);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.state_size", OXI_LLM_NEEDED, &m->key);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.time_step_rank", OXI_LLM_NEEDED, &m->heads);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.group_count", OXI_LLM_NEEDED, &m->groups);
    if (!status) status = oxi_llm_read_float(model, file, "ssm.length_epsilon", -1, 0, 0, &m->length_epsilon);
    if (!status) status = oxi_llm_read_float(model, file, "ssm.norm_epsilon", -1, 0, 0, &m->epsilon);
    if (!status) status = oxi_llm_read_float(model, file, "ssm.rate_scale", -1, 0, 1, &m->rate_scale);
    if (status) return status;
    m->value = m->inner / m->heads;
    if (m->heads % m->groups != 0 || m->inner % m->heads != 0)
        return oxi_fail(OX_ERR_FORMAT, "llm: a delta net of %lld numbers, %lld heads of %lld, %lld keys",
                        (long long)m->inner, (long long)m->heads, (long long)m->key, (long long)m->groups);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_CHANNELS, 2 * m->groups * m->key + m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_IN, 2 * m->groups * m->key + 2 * m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_STEPS, m->heads);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_DECAYS, m->heads);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_NORM, m->value);
    return OX_OK;
}

static ox_status oxi_llm_size_kda(ox_llm *model, const ox_file *file, oxi_llm_mixing *m) {
    ox_status status = oxi_llm_read_size(model, file, "kda.head_dim", OXI_LLM_NEEDED, &m->key);
    if (!status) status = oxi_llm_read_size(model, file, "attention.head_count", OXI_LLM_NEEDED, &m->heads);
    if (!status)
        status = oxi_llm_read_float(model, file, "kda.gate_lower_bound", -1, -INFINITY, 0, &m->bound);
    if (!(m->bound > -1e30 && m->bound < 0)) m->bound = 0;
    if (!status) status = oxi_llm_read_float(model, file, "kda.norm_epsilon", -1, 0, 0, &m->length_epsilon);
    if (status) return status;
    m->value = m->key;
    m->groups = m->heads;
    m->inner = m->heads * m->key;
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_CHANNELS, 3 * m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_STEPS, m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_DECAYS, m->heads);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_NORM, m->value);
    return OX_OK;
}

static ox_status oxi_llm_size_lightning(ox_llm *model, const ox_file *file, oxi_llm_mixing *m) {
    ox_status status = oxi_llm_read_size(model, file, "attention.head_count", OXI_LLM_NEEDED, &m->heads);
    if (status) return status;
    const int64_t width = model->config.width,
                  head = width % m->heads == 0 ? width / m->heads : OXI_LLM_NEEDED;
    status = oxi_llm_read_size(model, file, "attention.key_length", head, &m->key);
    if (!status) status = oxi_llm_read_float(model, file, "ssm.norm_epsilon", -1, 0, 0, &m->epsilon);
    if (status) return status;
    m->value = m->key;
    m->groups = m->heads;
    m->inner = m->heads * m->key;
    return OX_OK;
}

/* Numbers that decay each by their own, in groups whose gates see each other. */
static ox_status oxi_llm_size_gated(ox_llm *model, const ox_file *file, oxi_llm_mixing *m) {
    ox_status status = oxi_llm_read_size(model, file, "ssm.inner_size", OXI_LLM_NEEDED, &m->inner);
    if (!status) status = oxi_llm_read_size(model, file, "ssm.group_count", OXI_LLM_NEEDED, &m->groups);
    if (status) return status;
    if (m->inner % m->groups != 0)
        return oxi_fail(OX_ERR_FORMAT, "llm: a recurrence of %lld numbers in %lld groups",
                        (long long)m->inner, (long long)m->groups);
    m->heads = m->value = 1;
    m->key = m->inner;
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_GROUPS, m->groups);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_GROUP, m->inner / m->groups);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_CHANNELS, m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_IN, 2 * m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_DECAYS, m->inner);
    return OX_OK;
}

/* `shifts` inputs are shifted, and as many ranks lie behind each other in what makes their shares. */
static ox_status oxi_llm_size_rwkv(ox_llm *model, const ox_file *file, oxi_llm_mixing *m) {
    const bool sixth = m->kind == OXI_LLM_MIXES_RWKV6;
    m->inner = model->config.width;
    ox_status status = oxi_llm_read_size(model, file, "wkv.head_size", OXI_LLM_NEEDED, &m->key);
    if (!status && sixth)
        status = oxi_llm_read_size(model, file, "time_mix_extra_dim", OXI_LLM_NEEDED, &m->rank);
    if (status) return status;
    if (m->inner % m->key != 0 || m->inner > 1 << 20)
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld numbers in heads of %lld", (long long)m->inner,
                        (long long)m->key);
    m->value = m->key;
    m->heads = m->inner / m->key;
    status = oxi_llm_read_size(model, file, "attention.head_count_kv", m->heads, &m->groups);
    if (!status && m->heads % m->groups != 0)
        return oxi_fail(OX_ERR_FORMAT, "llm: %lld heads cannot share %lld key-value heads",
                        (long long)m->heads, (long long)m->groups);
    m->shifts = sixth ? 5 : 6;
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_SHIFTS, m->shifts);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_SHIFT_RANKS, m->shifts * m->rank);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_DECAYS, m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_NORM, m->inner);
    return status;
}

/* ---- what tensors must hold ---------------------------------------------------------------------------- */

/* A weight that a mixer must have, and how many numbers it holds where parts.def does not say. */
typedef struct oxi_llm_mixer_need {
    oxi_llm_layer_role role;
    oxi_llm_size count;
} oxi_llm_mixer_need;

enum { OXI_LLM_MIXER_NEEDS = 16 };

/* What queries, keys and values of a mixer are made by: matrices of its own; those that attention has, for as
 * many queries as keys, or for more of them. */
typedef enum oxi_llm_mixer_heads {
    OXI_LLM_MIXER_HEADS_NONE = 0,
    OXI_LLM_MIXER_HEADS_ALIKE,
    OXI_LLM_MIXER_HEADS_SHARED
} oxi_llm_mixer_heads;

typedef struct oxi_llm_mixer_kind {
    ox_status (*size)(ox_llm *model, const ox_file *file, oxi_llm_mixing *m);
    bool convolves; /* it has taps */
    oxi_llm_mixer_heads heads;
    oxi_llm_mixer_need needs[OXI_LLM_MIXER_NEEDS]; /* up to one of role ATTENTION_NORM, which all have */
} oxi_llm_mixer_kind;

#define OXI_N(role, count) \
    { OXI_LLM_##role, OXI_LLM_SIZE_##count }
static const oxi_llm_mixer_kind oxi_llm_mixer_kinds[OXI_LLM_MIXES_COUNT] = {
    {NULL, false, OXI_LLM_MIXER_HEADS_NONE, {OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_mamba,
     true,
     OXI_LLM_MIXER_HEADS_NONE, /* MAMBA */
     {OXI_N(MIXER_IN, NONE), OXI_N(MIXER_CONV, MIXER_KERNEL), OXI_N(MIXER_X, NONE), OXI_N(MIXER_STEP, NONE),
      OXI_N(MIXER_DECAY, MIXER_DECAYS), OXI_N(MIXER_SKIP, MIXER_SKIPS), OXI_N(MIXER_OUT, NONE),
      OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_mamba,
     true,
     OXI_LLM_MIXER_HEADS_NONE, /* MAMBA2 */
     {OXI_N(MIXER_IN, NONE), OXI_N(MIXER_CONV, MIXER_KERNEL), OXI_N(MIXER_DECAY, MIXER_DECAYS),
      OXI_N(MIXER_SKIP, MIXER_SKIPS), OXI_N(MIXER_OUT, NONE), OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_mamba,
     true,
     OXI_LLM_MIXER_HEADS_NONE, /* PLAMO2 */
     {OXI_N(MIXER_IN, NONE), OXI_N(MIXER_CONV, MIXER_KERNEL), OXI_N(MIXER_X, NONE), OXI_N(MIXER_STEP, NONE),
      OXI_N(MIXER_DECAY, MIXER_DECAYS), OXI_N(MIXER_SKIP, MIXER_SKIPS), OXI_N(MIXER_OUT, NONE),
      OXI_N(MIXER_STEP_NORM, NONE), OXI_N(MIXER_KEY_NORM, NONE), OXI_N(MIXER_QUERY_NORM, NONE),
      OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_conv,
     false,
     OXI_LLM_MIXER_HEADS_NONE, /* CONV */
     {OXI_N(MIXER_IN, NONE), OXI_N(MIXER_CONV, MIXER_KERNEL), OXI_N(MIXER_OUT, NONE),
      OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_rwkv,
     false,
     OXI_LLM_MIXER_HEADS_SHARED, /* RWKV6 */
     {OXI_N(SHIFT_FIRST, NONE), OXI_N(SHIFT_DOWN, NONE), OXI_N(SHIFT_UP, NONE), OXI_N(QUERY, NONE),
      OXI_N(KEY, NONE), OXI_N(VALUE, NONE), OXI_N(MIXER_GATE, NONE), OXI_N(MIXER_DECAY, MIXER_DECAYS),
      OXI_N(DECAY_DOWN, NONE), OXI_N(DECAY_UP, NONE), OXI_N(MIXER_OUT, NONE), OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_rwkv,
     false,
     OXI_LLM_MIXER_HEADS_SHARED, /* RWKV7 */
     {OXI_N(SHIFT, NONE), OXI_N(QUERY, NONE), OXI_N(KEY, NONE), OXI_N(VALUE, NONE),
      OXI_N(MIXER_DECAY, MIXER_DECAYS), OXI_N(DECAY_DOWN, NONE), OXI_N(DECAY_UP, NONE), OXI_N(RATE, NONE),
      OXI_N(RATE_DOWN, NONE), OXI_N(RATE_UP, NONE), OXI_N(KEY_ERASED, NONE), OXI_N(KEY_RATED, NONE),
      OXI_N(MIXER_BONUS, MIXER_DECAYS), OXI_N(MIXER_OUT, NONE), OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_delta,
     true,
     OXI_LLM_MIXER_HEADS_ALIKE, /* DELTA */
     {OXI_N(QUERY_KEY_VALUE, NONE), OXI_N(ATTENTION_GATE, NONE), OXI_N(MIXER_CONV, MIXER_KERNEL),
      OXI_N(MIXER_DECAY, MIXER_DECAYS), OXI_N(MIXER_NORM, MIXER_NORM), OXI_N(MIXER_OUT, NONE),
      OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_kda,
     true,
     OXI_LLM_MIXER_HEADS_ALIKE, /* KDA */
     {OXI_N(QUERY, NONE), OXI_N(KEY, NONE), OXI_N(VALUE, NONE), OXI_N(CONV_QUERY, MIXER_PART_KERNEL),
      OXI_N(CONV_KEY, MIXER_PART_KERNEL), OXI_N(CONV_VALUE, MIXER_PART_KERNEL),
      OXI_N(MIXER_DECAY, MIXER_DECAYS), OXI_N(MIXER_BETA, NONE), OXI_N(DECAY_DOWN, NONE),
      OXI_N(MIXER_GATE, NONE), OXI_N(MIXER_NORM, MIXER_NORM), OXI_N(MERGE, NONE)}},
    {oxi_llm_size_lightning,
     false,
     OXI_LLM_MIXER_HEADS_ALIKE, /* LIGHTNING */
     {OXI_N(QUERY_KEY_VALUE, NONE), OXI_N(MERGE_NORM, NONE), OXI_N(ATTENTION_GATE, NONE), OXI_N(MERGE, NONE),
      OXI_N(ATTENTION_NORM, NONE)}},
    {oxi_llm_size_gated,
     true,
     OXI_LLM_MIXER_HEADS_NONE, /* GATED */
     {OXI_N(MIXER_IN, NONE), OXI_N(MIXER_CONV, MIXER_KERNEL), OXI_N(MIXER_DECAY, MIXER_DECAYS),
      OXI_N(MIXER_INPUT_GATE, NONE), OXI_N(MIXER_DECAY_GATE, NONE), OXI_N(MIXER_OUT, NONE),
      OXI_N(ATTENTION_NORM, NONE)}}};
#undef OXI_N

/* ---- all of it ----------------------------------------------------------------------------------------- */

static ox_status oxi_llm_read_mixing(ox_llm *model, const ox_file *file, oxi_llm_mixer kind) {
    oxi_llm_mixing *m = &model->numbers.mixing;
    const int64_t most = 1 << 20;
    m->kind = kind;
    ox_status status = OX_OK;
    if (oxi_llm_mixer_kinds[kind].convolves)
        status = oxi_llm_read_int(model, file, "ssm.conv_kernel", -1, 2, OXI_LLM_NEEDED, &m->taps);
    if (!status) status = oxi_llm_mixer_kinds[kind].size(model, file, m);
    if (status) return status;
    if (m->inner > most || m->groups > most || m->heads > most || m->key > most || m->value > most ||
        m->taps > 64)
        return oxi_fail(OX_ERR_FORMAT, "llm: a recurrence of %lld numbers, %lld heads, %lld taps",
                        (long long)m->inner, (long long)m->heads, (long long)m->taps);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_INNER, m->inner);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_RANK, m->rank);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_HEADS, m->heads);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_PAIRS, 2 * m->heads);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_KERNEL, m->taps * m->size[OXI_LLM_SIZE_MIXER_CHANNELS]);
    oxi_llm_set_size(m, OXI_LLM_SIZE_MIXER_PART_KERNEL, m->taps * m->inner);
    return OX_OK;
}

/* What each layer is made of, and the sizes of the mixer that some have. */
static ox_status oxi_llm_read_mixers(ox_llm *model, const ox_file *file) {
    const oxi_llm_mixer_row *row = oxi_llm_find_mixer(model);
    int64_t interval = 1;
    for (int64_t i = 0; i < model->config.layers; i++)
        model->layers[i].attends = model->layers[i].feeds = true;
    if (!row) return OX_OK;
    ox_status status = oxi_llm_read_int(model, file, "full_attention_interval", -1, 1,
                                        row->interval ? row->interval : 1, &interval);
    if (!status) status = oxi_llm_read_mixing(model, file, row->mixer);
    for (int64_t i = 0; !status && i < model->config.layers; i++)
        status = oxi_llm_read_layer_kind(model, file, row, interval, i);
    if (!status && !model->numbers.causal)
        return oxi_fail(OX_ERR_UNSUPPORTED,
                        "llm: recurrences whose tokens see all of the text are not supported");
    return status;
}

/* Heads of a layer that has the mixer alone: those of its products, of the same names as attention's. */
static void oxi_llm_place_mixer_heads(const ox_llm *model, oxi_llm_layer *l) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    const oxi_llm_mixer_heads heads = oxi_llm_mixer_kinds[m->kind].heads;
    if (heads == OXI_LLM_MIXER_HEADS_NONE) return;
    const bool alike = heads == OXI_LLM_MIXER_HEADS_ALIKE;
    l->kv_heads = m->groups;
    l->heads = alike ? m->groups : m->heads;
    l->key_size = m->key;
    l->value_size = alike ? m->heads / m->groups * m->value : m->value;
}

/* The kernel [channels, taps] of a convolution, as it is multiplied: [taps, channels]. Three become one,
 * beside each other. */
static ox_status oxi_llm_place_kernel(const ox_llm *model, oxi_llm_layer *l) {
    const int64_t taps = model->numbers.mixing.taps;
    oxi_llm_part *p = l->part;
    ox_tensor *list[3] = {p[OXI_LLM_CONV_QUERY].weight, p[OXI_LLM_CONV_KEY].weight,
                          p[OXI_LLM_CONV_VALUE].weight};
    const bool one = l->mixer != OXI_LLM_MIXES_KDA;
    if (one) list[0] = p[OXI_LLM_MIXER_CONV].weight;
    ox_scope scope = ox_scope_begin();
    for (int i = 0; i < (one ? 1 : 3); i++)
        list[i] = ox_transpose(ox_reshape(list[i], OX_SHAPE(ox_numel(list[i]) / taps, taps)), 0, 1);
    ox_tensor *kernel = one                             ? ox_contiguous(list[0])
                        : list[0] && list[1] && list[2] ? ox_cat(list, 3, 1)
                                                        : NULL;
    if (kernel) {
        ox_release(p[OXI_LLM_MIXER_CONV].weight);
        p[OXI_LLM_MIXER_CONV].weight = ox_retain(kernel);
    }
    ox_scope_end(&scope);
    return kernel ? OX_OK : oxi_llm_error();
}

/* The rates [channels, state] of Mamba, as they are multiplied: [state, channels]. */
static ox_status oxi_llm_place_rates(const ox_llm *model, oxi_llm_layer *l) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    ox_tensor **place = &l->part[OXI_LLM_MIXER_DECAY].weight;
    ox_scope scope = ox_scope_begin();
    ox_tensor *rates = ox_contiguous(ox_t(ox_reshape(*place, OX_SHAPE(m->key, m->value))));
    if (rates) {
        ox_release(*place);
        *place = ox_retain(rates);
    }
    ox_scope_end(&scope);
    return rates ? OX_OK : oxi_llm_error();
}

static ox_status oxi_llm_count_numbers(const ox_llm *model, const oxi_llm_layer *l, int64_t layer,
                                       const oxi_llm_mixer_need *need, const char *name) {
    const int64_t wanted = model->numbers.mixing.size[need->count];
    const oxi_llm_part *part = &l->part[need->role];
    if (!part->weight)
        return oxi_fail(OX_ERR_NOT_FOUND, "llm: tensor blk.%lld.%s is missing", (long long)layer, name);
    if (need->count == OXI_LLM_SIZE_NONE || ox_numel(part->weight) == wanted) return OX_OK;
    return oxi_fail(OX_ERR_SHAPE, "llm: tensor blk.%lld.%s is %s, the metadata asks for %lld numbers",
                    (long long)layer, name, oxi_tensor_text(part->weight), (long long)wanted);
}
