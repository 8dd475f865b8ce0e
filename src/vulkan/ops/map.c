/* Elementwise ops and copies: a shader for each kind of op (form/map.def), specialized for op and dtypes.
 * The lane that an op computes in is the CPU's choice (f32, or 64-bit integers), so results agree; copies
 * between equal dtypes move bits. Called by the Vulkan device for MAP and COPY. */

static bool oxi_vk_map_reads(ox_dtype dtype) {
    return dtype != OX_F64 && dtype != OX_C64 && !oxi_is_block(dtype);
}

/* Whether the first operand says which of the others counts. */
static bool oxi_vk_has_mask(const oxi_call *call) {
    return oxi_op_row_of(call->op)->flag == OXI_FLAG_MASKED;
}

static bool oxi_vk_is_copy(const oxi_call *call) {
    return oxi_op_row_of(call->op)->family == OXI_FAMILY_COPY;
}

static ox_dtype oxi_vk_map_compute(const oxi_call *call) {
    return oxi_vk_is_copy(call) ? call->in[0]->dtype : oxi_compute_dtype(call);
}

/* Whether the op only moves elements of one dtype. */
static bool oxi_vk_map_moves(const oxi_call *call) {
    ox_dtype to = call->out[0]->dtype;
    if (oxi_is_block(to)) return false;
    if (!(oxi_vk_is_copy(call) || oxi_vk_has_mask(call)) || oxi_vk_map_compute(call) != to) return false;
    for (int i = oxi_vk_has_mask(call); i < call->in_count; i++)
        if (call->in[i]->dtype != to) return false;
    return true;
}

static uint32_t oxi_vk_map_lane(const oxi_call *call) {
    return oxi_vk_map_moves(call) ? (uint32_t)OXI_VK_LANE_RAW
                                  : (uint32_t)oxi_lane_of(oxi_vk_map_compute(call));
}

static bool oxi_vk_has_blocks(const oxi_call *call) {
    for (int i = 0; i < call->in_count; i++)
        if (oxi_is_block(call->in[i]->dtype)) return true;
    return oxi_is_block(call->out[0]->dtype);
}

/* In f64: whatever is computed in it, and complex numbers. `where` only moves and converts, by bits. */
static bool oxi_vk_can_map_wide(const oxi_vk_device *d, const oxi_call *call) {
    oxi_map_shader shader = oxi_map_row_of(call->op).shader;
    if (oxi_vk_has_blocks(call) || shader == OXI_MAP_SHADER_none) return false;
    return shader == OXI_MAP_SHADER_move || d->caps & OX_VULKAN_CAP_F64;
}

static bool oxi_vk_can_map(const oxi_vk_device *d, const oxi_call *call) {
    ox_dtype to = call->out[0]->dtype;
    if (oxi_map_row_of(call->op).code < 0 || !oxi_vk_fits(call->out[0])) return false;
    if (oxi_vk_map_moves(call)) return true;
    if (oxi_vk_is_copy(call)) return !oxi_vk_has_blocks(call);
    uint32_t lane = oxi_vk_map_lane(call);
    if (lane == OXI_LANE_F64 || lane == OXI_LANE_C64) return oxi_vk_can_map_wide(d, call);
    if (!oxi_vk_map_reads(to)) return false;
    if (lane == OXI_LANE_F32 && oxi_is_int(to)) return false;
    for (int i = 0; i < call->in_count; i++)
        if (!oxi_vk_is_immediate(call->in[i]) && !oxi_vk_map_reads(call->in[i]->dtype)) return false;
    return true;
}

static void oxi_vk_double_words(double value, uint32_t *words) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    oxi_vk_words_of(bits, words);
}

/* A number of the host as a raw element of the dtype that is returned: its own where it is only moved. */
static ox_dtype oxi_vk_map_immediate(const ox_tensor *t, uint32_t lane, uint32_t *raw) {
    const void *at = oxi_ptr(t);
    if (lane == OXI_VK_LANE_RAW || lane == OXI_LANE_C64) {
        memcpy(raw, at, (size_t)oxi_info(t->dtype)->block_bytes);
        return t->dtype;
    }
    if (lane == OXI_LANE_F64) {
        oxi_vk_double_words(oxi_element_to_f64(t->dtype, at), raw);
        return OX_F64;
    }
    if (oxi_info(t->dtype)->cls == OX_CLASS_FLOAT) {
        raw[0] = oxi_vk_float_bits(oxi_element_to_f64(t->dtype, at));
        raw[1] = 0;
        return OX_F32;
    }
    oxi_vk_words_of((uint64_t)oxi_element_to_i64(t->dtype, at), raw);
    return t->dtype == OX_BOOL ? OX_BOOL : t->dtype == OX_U64 ? OX_U64 : OX_I64;
}

/* f0 .. f2 as f64, for that lane. */
static void oxi_vk_map_doubles(const double *f, oxi_vk_map_params *params) {
    oxi_vk_double_words(f[0], params->whole[0]);
    oxi_vk_double_words(f[1], params->whole[1]);
    oxi_vk_double_words(f[2], params->immediate[3]);
}

/* f0 and f1 as integers of the lane: bounds stop at its ends, factors wrap. */
static void oxi_vk_map_whole(const oxi_call *call, const double *f, uint32_t lane, uint32_t (*words)[2]) {
    oxi_attr_kind kind = oxi_op_row_of(call->op)->attributes()->kind;
    bool factor = kind == OXI_ATTR_SCALAR || kind == OXI_ATTR_FACTOR;
    for (int i = 0; i < 2; i++) {
        uint64_t value = factor                 ? oxi_to_u64_wrapped(f[i])
                         : lane == OXI_LANE_U64 ? oxi_to_u64_saturated(f[i])
                                                : (uint64_t)oxi_to_i64_saturated(f[i]);
        oxi_vk_words_of(value, words[i]);
    }
}

/* Whether the result's elements, in order, fill words: they follow each other, or do so along the last dim,
 * whose lines are whole words. */
static bool oxi_vk_map_packs(const oxi_walk *w) {
    uint64_t first = (uint64_t)(uintptr_t)w->base[0];
    int64_t each = 4 / w->bytes[0];
    int last = w->ndim - 1;
    if (each == 0 || first % 4 != 0 || w->step[0] != 1) return false;
    for (int e = 0; e < last; e++)
        if (w->stride[0][e] % each != 0) return false;
    return last == 0 || w->shape[last] % each == 0;
}

#ifndef OXI_VK_QUADS
#define OXI_VK_QUADS 2 /* quads of an invocation, where elements are taken four at a time */
#endif

/* Whether operand k of a walk, of up to 32 bits, lies element behind element along the last dim or stands
 * still there, and starts at a quad. *still: which. */
static bool oxi_vk_walks_quads(const oxi_walk *w, int k, bool *still) {
    int last = w->ndim - 1;
    *still = w->step[k] == 0;
    if (w->bytes[k] > 4 || (!*still && (w->step[k] != 1 || oxi_vk_walk_at(w, k) % 4 != 0))) return false;
    for (int e = 0; e < last; e++)
        if (!*still && w->stride[k][e] % 4 != 0) return false;
    return true;
}

/* How elements are taken four at a time, as the shader's QUADS; 0 where they are not. */
static uint32_t oxi_vk_map_quads(const oxi_vk_device *d, const oxi_walk *w, const int *operand, int count) {
    uint32_t still = 0, flat = 1, quads = oxi_vk_is_software(d) ? 1 : OXI_VK_QUADS;
    int last = w->ndim - 1;
    if (w->numel < 4096) return 0; /* not worth another pipeline */
    if (w->step[0] != 1 || (w->ndim > 1 && w->shape[last] % 4 != 0)) return 0;
    for (int i = 0; i <= count; i++) {
        int k = i == 0 ? 0 : operand[i - 1];
        if (i > 0 && k == 0) continue;
        bool stands = false;
        if (!oxi_walk_flat(w, k)) flat = 0;
        if (!oxi_vk_walks_quads(w, k, &stands)) return 0;
        still |= (uint32_t)stands << i;
    }
    return quads | still << 8 | flat << 16;
}

/* ---- copies that transpose dims ----------------------------------------------------------------------- */

/* The dim along which x (operand 1 of a walk of elements of 32 or 16 bits) lies element behind element, where
 * the result does so along the last one and both are long enough for tiles; -1: none. */
static int oxi_vk_transposed_dim(const oxi_walk *w) {
    int last = w->ndim - 1;
    if (w->operands != 2 || (w->bytes[0] != 4 && w->bytes[0] != 2)) return -1;
    if (w->step[0] != 1 || w->step[1] == 1) return -1;
    for (int e = 0; e < last && w->shape[last] >= OXI_VK_TILE / 2; e++)
        if (w->stride[1][e] == 1 && w->shape[e] >= OXI_VK_TILE / 2) return e;
    return -1;
}

static ox_status oxi_vk_transpose(oxi_vk_device *d, const oxi_walk *w, int transposed,
                                  oxi_vk_dispatch *dispatch) {
    oxi_vk_transpose_params params;
    int last = w->ndim - 1;
    memset(&params, 0, sizeof params);
    params.rows = (uint32_t)w->shape[transposed];
    params.columns = (uint32_t)w->shape[last];
    params.outer = (uint32_t)(w->numel / w->shape[transposed] / w->shape[last]);
    params.row_step = (uint32_t)w->stride[0][transposed];
    params.column_step = (uint32_t)w->stride[1][last];
    for (int k = 0; k < 2; k++) params.at[k] = oxi_vk_walk_at(w, k);
    for (int e = 0; e < last; e++) {
        if (e == transposed) continue;
        for (int k = 0; k < 2; k++) params.stride[params.outer_dims][k] = (uint32_t)w->stride[k][e];
        params.shape[params.outer_dims++] = (uint32_t)w->shape[e];
    }
    bool words = w->bytes[0] == 2 && params.rows % 2 == 0 && params.column_step % 2 == 0 &&
                 params.at[1] % 2 == 0;
    for (uint32_t e = 0; e < params.outer_dims; e++) words = words && params.stride[e][1] % 2 == 0;
    const uint32_t reach = words ? 2 * OXI_VK_TILE : OXI_VK_TILE;
    dispatch->shader = OXI_VK_SHADER_transpose;
    dispatch->special.transpose.words = words;
    dispatch->special.transpose.width = w->bytes[0] == 2 ? 1 : 2;
    dispatch->params = &params;
    dispatch->param_bytes = sizeof params;
    uint64_t across = (params.columns + reach - 1) / reach, down = (params.rows + reach - 1) / reach;
    oxi_vk_groups(dispatch, across * down * params.outer);
    return oxi_vk_record(d, dispatch);
}

/* ---- any of them --------------------------------------------------------------------------------------- */

static oxi_vk_shader oxi_vk_map_shader(oxi_map_shader shader, uint32_t lane) {
    if (shader == OXI_MAP_SHADER_move) return OXI_VK_SHADER_move;
    if (lane == OXI_LANE_I64 || lane == OXI_LANE_U64) return OXI_VK_SHADER_map_integer;
    if (lane == OXI_LANE_F64 || lane == OXI_LANE_C64) return OXI_VK_SHADER_map_double;
    return shader == OXI_MAP_SHADER_plain ? OXI_VK_SHADER_map_plain : OXI_VK_SHADER_map_function;
}

/* A dispatch in the making: the result is operand 0 of the walk. */
typedef struct oxi_vk_map_job {
    oxi_vk_map_params params;
    oxi_vk_dispatch dispatch;
    oxi_walk walk;
    int operand[3];                  /* places in the walk; 0: absent, or a number */
    ox_dtype from[3];
    uint32_t lane, immediate;
} oxi_vk_map_job;

static void oxi_vk_map_operands(oxi_vk_map_job *job, const oxi_call *call) {
    const ox_tensor *out = call->out[0];
    oxi_walk_begin(&job->walk, out->ndim, out->shape);
    oxi_vk_walk_add(&job->walk, out);
    oxi_vk_bind(&job->dispatch, 0, out, true);
    for (int i = 0; i < 3; i++) job->from[i] = OX_F32;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        job->from[i] = t->dtype;
        if (oxi_vk_is_immediate(t)) {
            bool mask = i == 0 && oxi_vk_has_mask(call);
            job->from[i] = oxi_vk_map_immediate(t, mask ? (uint32_t)OXI_VK_LANE_RAW : job->lane,
                                                job->params.immediate[i]);
            job->immediate |= 2u << i;
            continue;
        }
        job->operand[i] = job->walk.operands;
        oxi_vk_walk_add(&job->walk, t);
        oxi_vk_bind(&job->dispatch, 1 + i, t, false);
    }
    oxi_vk_bind_rest(&job->dispatch);
    oxi_walk_ready(&job->walk, OXI_WALK_MEMORY_ORDER);
}

/* Sizes, places and the numbers among the attributes. */
static void oxi_vk_map_fill(oxi_vk_map_job *job, const oxi_call *call, ox_dtype compute) {
    const oxi_walk *w = &job->walk;
    oxi_vk_map_params *params = &job->params;
    double f[3] = {0, 0, 0};
    params->n = (uint32_t)w->numel;
    params->ndim = (uint32_t)w->ndim;
    params->bits = 8u * (uint32_t)oxi_info(compute)->block_bytes;
    oxi_attrs_numbers(call->op, &call->attr, f, 3);
    for (int i = 0; i < 3; i++) params->f[i] = oxi_vk_float_bits(f[i]);
    if (job->lane == OXI_LANE_F64 || job->lane == OXI_LANE_C64)
        oxi_vk_map_doubles(f, params);
    else
        oxi_vk_map_whole(call, f, job->lane, params->whole);
    for (int k = 0; k < 4; k++) {
        int place = k == 0 ? 0 : job->operand[k - 1];
        if (k > 0 && place == 0) continue;
        params->at[k] = oxi_vk_walk_at(w, place);
        for (int e = 0; e < w->ndim; e++) params->stride[e][k] = (uint32_t)w->stride[place][e];
    }
    for (int e = 0; e < w->ndim; e++) params->shape[e] = (uint32_t)w->shape[e];
    job->dispatch.params = params;
    job->dispatch.param_bytes = sizeof *params;
}

static ox_status oxi_vk_map(oxi_vk_device *d, const oxi_call *call) {
    const ox_dtype compute = oxi_vk_map_compute(call), to = call->out[0]->dtype;
    oxi_vk_map_job job;
    memset(&job, 0, sizeof job);
    job.lane = oxi_vk_map_lane(call);
    oxi_vk_map_operands(&job, call);
    if (job.walk.numel == 0) return OX_OK;
    bool copies = oxi_vk_is_copy(call) && job.lane == OXI_VK_LANE_RAW;
    int transposed = copies ? oxi_vk_transposed_dim(&job.walk) : -1;
    if (transposed >= 0) return oxi_vk_transpose(d, &job.walk, transposed, &job.dispatch);
    oxi_vk_map_fill(&job, call, compute);
    uint32_t width = oxi_vk_width(to);
    bool packed = width < 2 && oxi_vk_map_packs(&job.walk);
    uint32_t each = packed ? 4u >> width : 1;
    uint32_t quads = oxi_vk_map_quads(d, &job.walk, job.operand, call->in_count);
    if (quads) each = 4 * (quads & 255);
    oxi_map_row row = oxi_map_row_of(call->op);
    job.dispatch.shader = oxi_vk_map_shader(row.shader, job.lane);
    oxi_vk_map_specials *special = &job.dispatch.special.map;
    special->op = (uint32_t)row.code;
    special->lane = job.lane;
    special->to = (uint32_t)to;
    for (int i = 0; i < 3; i++) special->from[i] = (uint32_t)job.from[i];
    special->packed = packed && !quads;
    special->immediate = job.immediate;
    special->compute = (uint32_t)compute;
    special->each = quads ? 1 : each;
    special->count = (uint32_t)call->in_count;
    special->quads = quads;
    oxi_vk_invocations(&job.dispatch, ((uint64_t)job.walk.numel + each - 1) / each);
    return oxi_vk_record(d, &job.dispatch);
}
