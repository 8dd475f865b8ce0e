/* Attention by products, softmax and elementwise calls of the same device: f64, rows of more than 512
 * elements and what else the shaders of attention do not take. Scores lie in memory that is given back at
 * once. Called by transformer.c. */

typedef struct oxi_vk_plain_attention {
    oxi_vk_row_job job;
    const oxi_call *call;
    ox_dtype compute;
    ox_tensor q, k, v, mask, out; /* heads as [.., Hkv, H / Hkv, ..], k as [.., D, T] */
    oxi_vk_temporary scores;      /* [.., Hkv, H / Hkv, S, T] */
} oxi_vk_plain_attention;

static bool oxi_vk_can_attention_plain(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *q = call->in[0], *k = call->in[1];
    int n = q->ndim;
    bool wide = q->dtype == OX_F64 || (call->in[3] && call->in[3]->dtype == OX_F64);
    uint64_t count = (uint64_t)k->shape[n - 2], lead = 1;
    if (n >= OX_MAX_DIMS || (wide && !(d->caps & OX_VULKAN_F64))) return false;
    if (oxi_is_block(k->dtype) && !oxi_vk_expands(k->dtype)) return false;
    if (call->attr.attention.query_start >= (int64_t)1 << 30 ||
        call->attr.attention.window >= (int64_t)1 << 30) return false;
    for (int i = 0; i < n - 2; i++) lead *= (uint64_t)q->shape[i];
    count *= lead * (uint64_t)q->shape[n - 2];
    return lead <= 65535 && count < UINT32_MAX && count * 8 <= d->tensor_bytes_most && oxi_vk_fits(q) &&
           oxi_vk_fits(k) && oxi_vk_fits(call->in[2]);
}

/* t [.., heads, rows, columns] as [.., heads / group, group, rows, columns]; group 1: the heads of k and
 * v. */
static ox_tensor oxi_vk_heads_apart(const ox_tensor *t, int64_t group) {
    ox_tensor view = oxi_borrowed(t);
    int n = t->ndim;
    if (n < 3) return view;
    view.ndim = n + 1;
    for (int i = n; i > n - 2; i--) {
        view.shape[i] = t->shape[i - 1];
        view.stride[i] = t->stride[i - 1];
    }
    view.shape[n - 2] = group;
    view.stride[n - 2] = t->stride[n - 3];
    view.shape[n - 3] = group ? t->shape[n - 3] / group : 0;
    view.stride[n - 3] = t->stride[n - 3] * group;
    return view;
}

/* The mask over all of q's dims; those that it lacks or that are 1 stand still. */
static ox_tensor oxi_vk_mask_beside(const ox_tensor *mask, const ox_tensor *q, int64_t keys) {
    ox_tensor view = oxi_borrowed(mask);
    int lead = q->ndim - mask->ndim;
    view.ndim = q->ndim;
    for (int i = 0; i < q->ndim; i++) {
        bool own = i >= lead && mask->shape[i - lead] != 1;
        view.shape[i] = i == q->ndim - 1 ? keys : q->shape[i];
        view.stride[i] = own ? mask->stride[i - lead] : 0;
    }
    return view;
}

static void oxi_vk_plain_product(oxi_vk_row_job *job, ox_tensor *a, ox_tensor *b, ox_tensor *c) {
    ox_tensor *in[2];
    in[0] = a;
    in[1] = b;
    oxi_call call = oxi_call_of(OXI_OP_matmul, in, 2, c);
    if (job->status == OX_OK) job->status = oxi_vk_product_run(job->d, &call);
}

/* scores = where(condition, scores, number), or the other way round. */
static void oxi_vk_plain_where(oxi_vk_row_job *job, ox_tensor *condition, ox_tensor *scores, double value,
                               bool keeps) {
    ox_storage storage;
    ox_tensor number = oxi_vk_number(OX_F64, &value, &storage), *in[3];
    in[0] = condition;
    in[1] = keeps ? scores : &number;
    in[2] = keeps ? &number : scores;
    oxi_call call = oxi_call_of(OXI_OP_where, in, 3, scores);
    if (job->status == OX_OK) job->status = oxi_vk_map(job->d, &call);
}

/* seen [S,T] loses the keys behind (op tril) or before (triu) a diagonal. */
static void oxi_vk_plain_cut(oxi_vk_row_job *job, oxi_op op, int64_t diagonal, ox_tensor *seen) {
    oxi_call call = oxi_call_of(op, &seen, 1, seen);
    call.attr.diagonal.diagonal = diagonal;
    if (job->status == OX_OK) job->status = oxi_vk_pattern(job->d, &call);
}

/* What a query's position lets it see. */
static void oxi_vk_plain_positions(oxi_vk_plain_attention *a) {
    oxi_vk_row_job *job = &a->job;
    const oxi_attr_attention *told = &a->call->attr.attention;
    const int64_t start = told->query_start, window = told->window;
    const bool causal = told->causal;
    int n = a->scores.t.ndim;
    oxi_vk_temporary seen;
    if ((!causal && window == 0) || job->status != OX_OK) return;
    memset(&seen, 0, sizeof seen);
    job->status = oxi_vk_temporary_make(job->d, &seen, OX_BOOL, 2, a->scores.t.shape + n - 2);
    if (job->status == OX_OK) job->status = oxi_vk_fill_with(job->d, 1, 1, &seen.t);
    if (causal) oxi_vk_plain_cut(job, OXI_OP_tril, start, &seen.t);
    if (window > 0) oxi_vk_plain_cut(job, OXI_OP_triu, start - window + 1, &seen.t);
    if (job->status == OX_OK) {
        ox_tensor beside = oxi_vk_mask_beside(&seen.t, &a->scores.t, seen.t.shape[1]);
        oxi_vk_plain_where(job, &beside, &a->scores.t, -INFINITY, true);
    }
    oxi_vk_temporary_drop(job->d, &seen);
}

static void oxi_vk_plain_scores(oxi_vk_plain_attention *a) {
    oxi_vk_row_job *job = &a->job;
    ox_tensor *scores = &a->scores.t, *mask = &a->mask;
    double softcap = a->call->attr.attention.softcap;
    oxi_vk_plain_product(job, &a->q, &a->k, scores);
    oxi_vk_row_number(job, OXI_OP_mul, scores, scores, a->call->attr.attention.scale);
    if (softcap > 0) {
        oxi_vk_row_number(job, OXI_OP_div, scores, scores, softcap);
        oxi_vk_row_step(job, OXI_OP_tanh, scores, scores, NULL);
        oxi_vk_row_number(job, OXI_OP_mul, scores, scores, softcap);
    }
    if (mask->storage && mask->dtype == OX_BOOL)
        oxi_vk_plain_where(job, mask, scores, -INFINITY, true);
    else if (mask->storage)
        oxi_vk_row_step(job, OXI_OP_add, scores, scores, mask);
    oxi_vk_plain_positions(a);
}

/* Softmax of the scores, in their place; rows that see nothing are 0. */
static void oxi_vk_plain_weights(oxi_vk_plain_attention *a) {
    oxi_vk_row_job *job = &a->job;
    ox_tensor *scores = &a->scores.t, lowest;
    int last = scores->ndim - 1;
    int64_t shape[OX_MAX_DIMS];
    oxi_vk_temporary most, blind;
    oxi_call call = oxi_call_of(OXI_OP_softmax, &scores, 1, scores);
    call.attr.along.dim = last;
    memset(&most, 0, sizeof most);
    memset(&blind, 0, sizeof blind);
    memcpy(shape, scores->shape, sizeof shape);
    shape[last] = 1;
    if (job->status == OX_OK)
        job->status = oxi_vk_temporary_make(job->d, &most, a->compute, scores->ndim, shape);
    if (job->status == OX_OK)
        job->status = oxi_vk_temporary_make(job->d, &blind, OX_BOOL, scores->ndim, shape);
    job->dims = 1u << last;
    oxi_vk_row_step(job, OXI_OP_amax, &most.t, scores, NULL);
    oxi_vk_row_number(job, OXI_OP_eq, &blind.t, &most.t, -INFINITY);
    if (job->status == OX_OK) job->status = oxi_vk_row(job->d, &call);
    if (job->status == OX_OK) {
        lowest = oxi_vk_mask_beside(&blind.t, scores, scores->shape[last]);
        oxi_vk_plain_where(job, &lowest, scores, 0, false);
    }
    oxi_vk_temporary_drop(job->d, &blind);
    oxi_vk_temporary_drop(job->d, &most);
}

static ox_status oxi_vk_attention_plain(oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *q = call->in[0], *k = call->in[1], *mask = call->in[3];
    int n = q->ndim;
    int64_t group = n > 2 && k->shape[n - 3] > 0 ? q->shape[n - 3] / k->shape[n - 3] : 1,
            keys = k->shape[n - 2];
    int64_t shape[OX_MAX_DIMS];
    oxi_vk_plain_attention a;
    memset(&a, 0, sizeof a);
    a.job.d = d;
    a.call = call;
    a.compute = q->dtype == OX_F64 ? OX_F64 : OX_F32;
    ox_tensor turned = oxi_borrowed(k);
    turned.shape[n - 2] = k->shape[n - 1];
    turned.shape[n - 1] = keys;
    turned.stride[n - 2] = k->stride[n - 1];
    turned.stride[n - 1] = k->stride[n - 2];
    a.q = oxi_vk_heads_apart(q, group);
    a.k = oxi_vk_heads_apart(&turned, 1);
    a.v = oxi_vk_heads_apart(call->in[2], 1);
    a.out = oxi_vk_heads_apart(call->out[0], group);
    if (mask) {
        ox_tensor beside = oxi_vk_mask_beside(mask, q, keys);
        a.mask = oxi_vk_heads_apart(&beside, group);
    }
    memcpy(shape, a.q.shape, sizeof shape);
    shape[a.q.ndim - 1] = keys;
    a.job.status = oxi_vk_temporary_make(d, &a.scores, a.compute, a.q.ndim, shape);
    if (keys > 0) oxi_vk_plain_scores(&a);
    if (keys > 0) oxi_vk_plain_weights(&a);
    oxi_vk_plain_product(&a.job, &a.scores.t, &a.v, &a.out);
    oxi_vk_temporary_drop(d, &a.scores);
    return a.job.status;
}
