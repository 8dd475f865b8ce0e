/* What comes back through attention: a pass of queries, which also measures the softmax, or comes behind a
 * small one that takes it from a logsumexp, then one of keys and values (attention_back.comp). Operands and
 * results may lie in more blocks than can be bound: then mask and sinks are copied beside the measures, and
 * keys and values are two passes. Called by back.c. */

enum {
    OXI_VK_BACK_SIDE = 32, /* rows of a workgroup of attention_back.comp, SIDE there */
    OXI_VK_BACK_SUBS = 4,  /* subgroups of one of attention_back_tiles.comp, */
    OXI_VK_BACK_FAR = 32,  /* the rows that they meet at a time, */
    OXI_VK_BACK_DEEP = 128 /* and the longest that registers hold */
};

/* What a pass binds, in the order of attention_back.comp. */
enum {
    OXI_VK_BACK_Q,
    OXI_VK_BACK_K,
    OXI_VK_BACK_V,
    OXI_VK_BACK_G,
    OXI_VK_BACK_MASK,
    OXI_VK_BACK_SINKS, /* or the logsumexp */
    OXI_VK_BACK_MEASURES,
    OXI_VK_BACK_TO,
    OXI_VK_BACK_TO_V,
    OXI_VK_BACK_MADE, /* the result, beside a logsumexp */
    OXI_VK_BACK_TENSORS
};

typedef struct oxi_vk_attention_back_job {
    const oxi_call *call;
    const ox_tensor *t[OXI_VK_BACK_TENSORS]; /* NULL: not there; results of the pass at hand */
    ox_tensor mask, sinks;                   /* copies */
    oxi_vk_temporary own;                    /* the measures, and those copies */
    bool known;
    oxi_vk_attention_back_params params;
    oxi_vk_attention_back_specials special;
    bool tiles;                              /* takes cooperative matrices */
} oxi_vk_attention_back_job;

/* Bytes of shared memory that take so many numbers of a row at once. */
static uint32_t oxi_vk_attention_back_room(uint32_t deep) {
    return OXI_VK_BACK_SIDE * 16 * (2 * (deep / 4 + 1) + 2 * (OXI_VK_BACK_SIDE / 4 + 1) + 1);
}

static bool oxi_vk_can_attention_back(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *q = call->in[1], *v = call->in[3], *mask = call->in[4];
    const oxi_attr_attention *told = &call->attr.attention;
    int64_t lead = 1, n = q->ndim, most = (int64_t)1 << 30;
    for (int i = 0; i < 4; i++)
        if (!oxi_vk_product_reads(call->in[i]->dtype) || !oxi_vk_fits(call->in[i]) ||
            ox_numel(call->in[i]) == 0)
            return false;
    if (mask && ((mask->dtype != OX_BOOL && !oxi_vk_product_reads(mask->dtype)) || !oxi_vk_fits(mask)))
        return false;
    for (int r = 0; r < call->out_count; r++)
        if (call->out[r] && !ox_is_contiguous(call->out[r])) return false;
    for (int i = 5; i < 7 && call->in_count > 6; i++)
        if (!ox_is_contiguous(call->in[i]) || !oxi_vk_fits(call->in[i])) return false;
    if (n > OXI_VK_ATTENTION_LEAD || told->query_start >= most || told->window >= most) return false;
    if (q->shape[n - 1] > OXI_VK_ATTENTION_DEPTH || v->shape[n - 1] > OXI_VK_ATTENTION_DEPTH) return false;
    for (int i = 0; i < n - 3; i++) lead *= q->shape[i];
    if (lead > 65535 || (n > 2 && q->shape[n - 3] > 65535) || ox_numel(q) / q->shape[n - 1] >= most)
        return false;
    return oxi_vk_attention_back_room(32) <= d->limits.maxComputeSharedMemorySize;
}

/* Whether rows of an operand lie in aligned groups of `each` elements. */
static bool oxi_vk_attention_back_wide(const oxi_vk_attention_back_params *p, int i, uint32_t each) {
    bool wide = p->column[i] == 1 && p->at[i] % each == 0 && p->row[i] % each == 0 && p->head[i] % each == 0;
    for (uint32_t e = 0; e < p->lead; e++) wide = wide && p->stride[e][i] % each == 0;
    return wide;
}

static void oxi_vk_attention_back_sides(oxi_vk_attention_back_job *job) {
    oxi_vk_attention_back_params *p = &job->params;
    const ox_tensor *q = job->t[OXI_VK_BACK_Q], *k = job->t[OXI_VK_BACK_K];
    const oxi_attr_attention *told = &job->call->attr.attention;
    int n = q->ndim;
    p->length = (uint32_t)q->shape[n - 2];
    p->keys = (uint32_t)k->shape[n - 2];
    p->heads = n > 2 ? (uint32_t)q->shape[n - 3] : 1;
    p->group = n > 2 ? (uint32_t)(q->shape[n - 3] / k->shape[n - 3]) : 1;
    p->scale = oxi_vk_float_bits(told->scale);
    p->softcap = oxi_vk_float_bits(told->softcap);
    p->start = (uint32_t)told->query_start;
    p->window = (uint32_t)told->window;
    p->lead = n > 3 ? (uint32_t)(n - 3) : 0;
    for (uint32_t e = 0; e < p->lead; e++) p->shape[e] = (uint32_t)q->shape[e];
    for (int i = 0; i < 4; i++) {
        const ox_tensor *t = job->t[i];
        p->at[i] = oxi_vk_element_at(t);
        p->row[i] = (uint32_t)oxi_vk_stride_back(t, 2);
        p->head[i] = (uint32_t)oxi_vk_stride_back(t, 3);
        p->column[i] = (uint32_t)t->stride[n - 1];
        for (uint32_t e = 0; e < p->lead; e++) p->stride[e][i] = (uint32_t)t->stride[e];
        job->special.wide |= (uint32_t)oxi_vk_attention_back_wide(p, i, 4) << i;
    }
}

/* Places of mask, sinks, measures and results. */
static void oxi_vk_attention_back_places(oxi_vk_attention_back_job *job) {
    oxi_vk_attention_back_params *p = &job->params;
    const ox_tensor *mask = job->t[OXI_VK_BACK_MASK], *sinks = job->t[OXI_VK_BACK_SINKS];
    p->measures = oxi_vk_element_at(&job->own.t);
    for (int r = 0; r < 3; r++) {
        const ox_tensor *out = job->call->out[r];
        p->to[r] = oxi_vk_element_at(out);
        bool wide = p->to[r] % 4 == 0 && out->shape[out->ndim - 1] % 4 == 0;
        job->special.wide |= (uint32_t)wide << (4 + r);
    }
    if (job->known) p->made_at = oxi_vk_element_at(job->t[OXI_VK_BACK_MADE]);
    uint32_t *const to[6] = {&p->mask_at,     &p->mask_row, &p->mask_head,
                             &p->mask_column, &p->sinks_at, &p->sinks_stride};
    oxi_vk_mask_places(mask, sinks, job->call->in[1]->ndim, to, p->mask_stride);
}

static void oxi_vk_attention_back_specials_of(const oxi_vk_device *d, oxi_vk_attention_back_job *job) {
    const ox_tensor *q = job->t[OXI_VK_BACK_Q], *v = job->t[OXI_VK_BACK_V], *mask = job->t[OXI_VK_BACK_MASK];
    oxi_vk_attention_back_specials *s = &job->special;
    s->dtype = (uint32_t)q->dtype;
    s->cache = (uint32_t)v->dtype;
    s->gradient = (uint32_t)job->t[OXI_VK_BACK_G]->dtype;
    s->mask = mask ? (uint32_t)mask->dtype : 0;
    s->causal = job->call->attr.attention.causal;
    s->sinks = job->t[OXI_VK_BACK_SINKS] != NULL && !job->known;
    s->softcap = job->call->attr.attention.softcap > 0;
    s->known = job->known;
    s->depth = (uint32_t)q->shape[q->ndim - 1];
    s->depth_v = (uint32_t)v->shape[v->ndim - 1];
    bool deep = (s->depth > 32 || s->depth_v > 32) &&
                oxi_vk_attention_back_room(64) <= d->limits.maxComputeSharedMemorySize;
    s->deep = deep ? 64 : 32;
}

/* Whether cooperative matrices take the call: operands of one dtype in aligned eights, sizes that fit. */
static bool oxi_vk_attention_back_in_tiles(const oxi_vk_device *d, const oxi_vk_attention_back_job *job) {
    const oxi_vk_attention_back_specials *s = &job->special;
    const oxi_vk_attention_back_params *p = &job->params;
    const uint32_t side = d->matrix_side, near_rows = OXI_VK_BACK_SUBS * side, far_rows = OXI_VK_BACK_FAR;
    const uint32_t results = 7u << 4;
    uint32_t cap = s->dtype == OX_F16    ? OX_VULKAN_CAP_COOPERATIVE
                   : s->dtype == OX_BF16 ? OX_VULKAN_CAP_BF16 : 0;
    if (job->call->exact || s->softcap || !(d->caps & cap)) return false;
    if (s->cache != s->dtype || s->gradient != s->dtype) return false;
    if (s->depth % side != 0 || s->depth_v % side != 0 || far_rows % side != 0) return false;
    if (s->depth > OXI_VK_BACK_DEEP || s->depth_v > OXI_VK_BACK_DEEP) return false;
    if (p->length < side || p->keys < side || (s->wide & results) != results) return false;
    for (int i = 0; i < 4; i++)
        if (!oxi_vk_attention_back_wide(p, i, 8)) return false;
    uint32_t line = s->depth / 8 + 1, line_v = s->depth_v / 8 + 1, most = line > line_v ? line : line_v;
    uint32_t tiles = far_rows * (line + line_v);
    if (tiles < near_rows * most) tiles = near_rows * most;
    uint32_t numbers = 3 * (near_rows > far_rows ? near_rows : far_rows) + side;
    uint32_t bytes = 16 * (tiles + near_rows * (far_rows / 8 + 1)) + 4 * numbers;
    return bytes <= d->limits.maxComputeSharedMemorySize;
}

/* ---- a pass -------------------------------------------------------------------------------------------- */

/* The results of a pass among what it binds. */
static void oxi_vk_attention_back_results(oxi_vk_attention_back_job *job, uint32_t what) {
    ox_tensor *const *out = job->call->out;
    job->special.what = what;
    job->t[OXI_VK_BACK_TO] = what == OXI_VK_BACK_QUERIES ? out[0] : what & OXI_VK_BACK_KEYS ? out[1] : NULL;
    job->t[OXI_VK_BACK_TO_V] = what & OXI_VK_BACK_VALUES ? out[2] : NULL;
}

static bool oxi_vk_attention_back_needs(const oxi_vk_attention_back_job *job, int i) {
    const uint32_t what = job->special.what, first = job->known ? OXI_VK_BACK_KNOWN : OXI_VK_BACK_QUERIES;
    bool measures = i == OXI_VK_BACK_SINKS || i == OXI_VK_BACK_MADE; /* is read to measure */
    bool unread = (i == OXI_VK_BACK_V && what == OXI_VK_BACK_VALUES) || (measures && what != first) ||
                  (what == OXI_VK_BACK_KNOWN && i != OXI_VK_BACK_G && i != OXI_VK_BACK_MEASURES && !measures);
    return job->t[i] && !unread;
}

/* The binding whose block t's is, or `none`; the last ones first, where results are. */
static int oxi_vk_attention_back_beside(const oxi_vk_dispatch *dispatch, const ox_tensor *t, int none) {
    for (int at = OXI_VK_BINDINGS; at-- > 0;)
        if (dispatch->use[at].chunk && dispatch->use[at].chunk->block == oxi_vk_chunk_of(t)->block) return at;
    return none;
}

/* Binds what a pass needs; false: it lies in too many blocks. Which bindings these are is a constant of the
 * pipeline, so most operands have one of their own: wherever they lie, it is the same pipeline. packed: they
 * share. */
static bool oxi_vk_attention_back_bind(oxi_vk_attention_back_job *job, uint32_t what, bool packed,
                                       oxi_vk_dispatch *dispatch) {
    static const int own[OXI_VK_BACK_TENSORS] = {0, 1, 2, 3, -1, -1, 4, 5, -1, -1};
    const uint32_t first = job->known ? OXI_VK_BACK_KNOWN : OXI_VK_BACK_QUERIES; /* which writes measures */
    memset(dispatch, 0, sizeof *dispatch);
    oxi_vk_attention_back_results(job, what);
    job->special.blocks = 0;
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < OXI_VK_BACK_TENSORS; i++) {
            if (!oxi_vk_attention_back_needs(job, i) || (own[i] < 0) != (turn == 1)) continue;
            bool writes = i == OXI_VK_BACK_TO || i == OXI_VK_BACK_TO_V ||
                          (i == OXI_VK_BACK_MEASURES && what == first);
            int at = packed || own[i] < 0 ? oxi_vk_attention_back_beside(dispatch, job->t[i], -1) : own[i];
            for (int free = 0; at < 0 && free < OXI_VK_BINDINGS; free++)
                if (!dispatch->use[free].chunk) at = free;
            if (at < 0) return false;
            oxi_vk_bind(dispatch, dispatch->use[at].chunk ? OXI_VK_BINDINGS + i : at, job->t[i], writes);
            job->special.blocks |= (uint32_t)at << (3 * i);
        }
    int bound = 0;
    while (!dispatch->use[bound].chunk) bound++;
    if (dispatch->uses < OXI_VK_BINDINGS) dispatch->uses = OXI_VK_BINDINGS;
    for (int i = 0; i < dispatch->uses; i++)
        if (!dispatch->use[i].chunk) dispatch->use[i] = dispatch->use[bound];
    return true;
}

/* Both ways of binding. */
static bool oxi_vk_attention_back_reaches(oxi_vk_attention_back_job *job, uint32_t what,
                                          oxi_vk_dispatch *dispatch) {
    return oxi_vk_attention_back_bind(job, what, false, dispatch) ||
           oxi_vk_attention_back_bind(job, what, true, dispatch);
}

static ox_status oxi_vk_attention_back_pass(oxi_vk_device *d, oxi_vk_attention_back_job *job, uint32_t what) {
    const oxi_vk_attention_back_params *p = &job->params;
    oxi_vk_dispatch dispatch;
    bool of_queries = what == OXI_VK_BACK_QUERIES || what == OXI_VK_BACK_KNOWN;
    uint32_t rows = of_queries ? p->length : p->keys, each = OXI_VK_BACK_SIDE;
    if (!oxi_vk_attention_back_reaches(job, what, &dispatch))
        return oxi_fail(OX_ERR_DEVICE, "attention_back: operands in too many blocks");
    dispatch.shader = OXI_VK_SHADER_attention_back;
    dispatch.special.attention_back = job->special;
    if (job->tiles && what != OXI_VK_BACK_KNOWN) {
        oxi_vk_attention_back_tiles_specials *tiles = &dispatch.special.attention_back_tiles;
        each = OXI_VK_BACK_SUBS * d->matrix_side;
        dispatch.shader = job->special.dtype == (uint32_t)OX_F16 ? OXI_VK_SHADER_attention_back_tiles
                                                                 : OXI_VK_SHADER_attention_back_tiles_bf16;
        tiles->threads = OXI_VK_BACK_SUBS * d->subgroup_size;
        tiles->side = d->matrix_side;
        tiles->subs = OXI_VK_BACK_SUBS;
        tiles->far = OXI_VK_BACK_FAR;
    }
    dispatch.params = p;
    dispatch.param_bytes = sizeof *p;
    dispatch.groups[0] = (rows + each - 1) / each;
    dispatch.groups[1] = of_queries ? p->heads : p->heads / p->group;
    dispatch.groups[2] = 1;
    for (uint32_t e = 0; e < p->lead; e++) dispatch.groups[2] *= p->shape[e];
    return oxi_vk_record(d, &dispatch);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* A copy of *t in job->own, from its byte `at` on. */
static ox_status oxi_vk_attention_back_copy(oxi_vk_device *d, oxi_vk_attention_back_job *job, int which,
                                            ox_tensor *copy, int64_t at) {
    const ox_tensor *t = job->t[which];
    if (!t) return OX_OK;
    oxi_meta(copy, t->dtype, t->ndim, t->shape);
    copy->storage = &job->own.storage;
    copy->offset = at / oxi_info(t->dtype)->block_bytes;
    job->t[which] = copy;
    return oxi_vk_copy(d, t, copy);
}

/* Memory for the measures; apart: and mask and sinks. */
static ox_status oxi_vk_attention_back_own(oxi_vk_device *d, oxi_vk_attention_back_job *job, bool apart) {
    const ox_tensor *q = job->t[OXI_VK_BACK_Q], *mask = job->t[OXI_VK_BACK_MASK],
                    *sinks = job->known ? NULL : job->t[OXI_VK_BACK_SINKS];
    int64_t measures = oxi_round_up(3 * (ox_numel(q) / q->shape[q->ndim - 1]), 4), numbers = measures;
    int64_t sinks_at = numbers, mask_at;
    if (apart && sinks) numbers += oxi_round_up(ox_numel(sinks), 4);
    mask_at = numbers;
    if (apart && mask) numbers += oxi_round_up((int64_t)ox_nbytes(mask), 16) / 4;
    ox_status status = oxi_vk_temporary_make(d, &job->own, OX_F32, 1, &numbers);
    job->t[OXI_VK_BACK_MEASURES] = &job->own.t;
    if (!apart || status != OX_OK) return status;
    if (sinks) status = oxi_vk_attention_back_copy(d, job, OXI_VK_BACK_SINKS, &job->sinks, 4 * sinks_at);
    if (status != OX_OK) return status;
    return oxi_vk_attention_back_copy(d, job, OXI_VK_BACK_MASK, &job->mask, 4 * mask_at);
}

/* Operands g, q, k, v, mask, sinks; or the logsumexp and the result behind the mask. */
static ox_status oxi_vk_attention_back(oxi_vk_device *d, const oxi_call *call) {
    static const int operand[6] = {1, 2, 3, 0, 4, 5};
    oxi_vk_attention_back_job job;
    oxi_vk_dispatch dispatch;
    const uint32_t keys = OXI_VK_BACK_KEYS, both = keys | OXI_VK_BACK_VALUES;
    memset(&job, 0, sizeof job);
    job.call = call;
    for (int i = 0; i < 6; i++) job.t[i] = call->in[operand[i]];
    job.known = call->in_count > 6;
    if (job.known) job.t[OXI_VK_BACK_MADE] = call->in[6];
    ox_status status = oxi_vk_attention_back_own(d, &job, false);
    bool near = status == OX_OK && oxi_vk_attention_back_reaches(&job, OXI_VK_BACK_QUERIES, &dispatch);
    bool together = near && oxi_vk_attention_back_reaches(&job, both, &dispatch);
    if (status == OX_OK && !together && (call->in[4] || (call->in[5] && !job.known))) {
        oxi_vk_temporary_drop(d, &job.own);
        status = oxi_vk_attention_back_own(d, &job, true);
        together = status == OX_OK && oxi_vk_attention_back_reaches(&job, both, &dispatch);
    }
    if (status == OX_OK) {
        oxi_vk_attention_back_sides(&job);
        oxi_vk_attention_back_places(&job);
        oxi_vk_attention_back_specials_of(d, &job);
        job.tiles = oxi_vk_attention_back_in_tiles(d, &job);
        if (job.known) status = oxi_vk_attention_back_pass(d, &job, OXI_VK_BACK_KNOWN);
    }
    if (status == OX_OK) status = oxi_vk_attention_back_pass(d, &job, OXI_VK_BACK_QUERIES);
    if (status == OX_OK) status = oxi_vk_attention_back_pass(d, &job, together ? both : keys);
    if (status == OX_OK && !together) status = oxi_vk_attention_back_pass(d, &job, OXI_VK_BACK_VALUES);
    oxi_vk_temporary_drop(d, &job.own);
    return status;
}
