/* What comes back through batch, group and instance norm (channels_back.comp): a dispatch that adds up, one
 * that writes, and reductions of the sums for weight and bias. Mean and variance of a batch are operands;
 * those of groups are measured here, by reductions. Called by back.c. */

enum { OXI_VK_CHANNEL_PARTS = 64, OXI_VK_CHANNEL_NUMBERS = 4096 }; /* of a unit at most, of a part at least */

typedef struct oxi_vk_channels_job {
    const oxi_call *call;
    oxi_vk_temporary own; /* [statistics] means, as many variances, sums */
    int64_t statistics, parts;
    bool batch;
    oxi_vk_channels_back_params params;
} oxi_vk_channels_job;

/* Operands g, x, weight?, mean?, variance?, of which g and x are of floats that shaders read. */
static bool oxi_vk_can_channels_back(const oxi_call *call) {
    for (int i = 0; i < 2; i++)
        if (!ox_is_contiguous(call->in[i])) return false;
    for (int i = 2; i < 5; i++)
        if (call->in[i] && !ox_is_contiguous(call->in[i])) return false;
    for (int i = 3; i < 5; i++)
        if (call->attr.group_norm_back.groups == 0 && (!call->in[i] || call->in[i]->dtype != OX_F32))
            return false;
    for (int r = 0; r < call->out_count; r++)
        if (call->out[r] && !ox_is_contiguous(call->out[r])) return false;
    return ox_numel(call->in[1]) > 0 && 3 * ox_numel(call->in[1]) < (int64_t)1 << 32;
}

static void oxi_vk_channels_shape(oxi_vk_channels_job *job) {
    const ox_tensor *x = job->call->in[1];
    const oxi_attr_group_norm_back *told = &job->call->attr.group_norm_back;
    oxi_vk_channels_back_params *p = &job->params;
    int64_t channels = x->shape[1], size = ox_numel(x) / (x->shape[0] * channels);
    job->batch = told->groups == 0;
    int64_t samples = job->batch ? x->shape[0] : 1, units = job->batch ? channels : x->shape[0] * channels;
    int64_t together = job->batch ? 1 : channels / told->groups;
    int64_t parts = oxi_min_i64(samples * size / OXI_VK_CHANNEL_NUMBERS + 1, OXI_VK_CHANNEL_PARTS);
    int64_t each = oxi_parts(samples, oxi_min_i64(parts, samples));
    job->parts = oxi_parts(samples, each);
    job->statistics = units / together;
    p->units = (uint32_t)units;
    p->samples = (uint32_t)samples;
    p->size = (uint32_t)size;
    p->channels = (uint32_t)channels;
    p->parts = (uint32_t)job->parts;
    p->each = (uint32_t)each;
    p->together = (uint32_t)together;
    p->count = oxi_vk_float_bits((double)(job->batch ? samples * size : together * size));
    p->epsilon = oxi_vk_float_bits(told->eps);
}

/* Numbers [first, first + rows) of the job's own, as a tensor. */
static ox_tensor oxi_vk_channels_own(const oxi_vk_channels_job *job, int64_t first, int64_t rows) {
    ox_tensor t = job->own.t;
    t.offset += first;
    t.shape[0] = rows;
    return t;
}

/* Mean and variance: copies of the operands, or of each group of x. */
static ox_status oxi_vk_channels_measure(oxi_vk_device *d, oxi_vk_channels_job *job) {
    static const oxi_op ops[2] = {OXI_OP_mean, OXI_OP_var};
    ox_status status = OX_OK;
    for (int i = 0; i < 2 && status == OX_OK; i++) {
        ox_tensor to = oxi_vk_channels_own(job, i * job->statistics, job->statistics);
        ox_tensor rows = *job->call->in[1], *in = &rows;
        if (job->batch) {
            status = oxi_vk_copy(d, job->call->in[3 + i], &to);
            continue;
        }
        rows.ndim = 2;
        rows.shape[1] = rows.stride[0] = ox_numel(job->call->in[1]) / job->statistics;
        rows.shape[0] = job->statistics;
        rows.stride[1] = 1;
        oxi_call call = oxi_call_of(ops[i], &in, 1, &to);
        call.attr = oxi_attrs_moments();
        call.attr.moments.dims = 2;
        call.attr.moments.correction = 0;
        status = oxi_vk_reduce(d, &call);
    }
    return status;
}

static ox_status oxi_vk_channels_pass(oxi_vk_device *d, const oxi_vk_channels_job *job, bool writes) {
    const oxi_call *call = job->call;
    const ox_tensor *weight = call->in[2];
    oxi_vk_dispatch dispatch;
    memset(&dispatch, 0, sizeof dispatch);
    dispatch.shader = OXI_VK_SHADER_channels_back;
    oxi_vk_channels_back_specials *s = &dispatch.special.channels_back;
    s->writes = writes;
    s->training = call->attr.group_norm_back.training;
    s->to = (uint32_t)call->out[0]->dtype;
    s->gradient = (uint32_t)call->in[0]->dtype;
    s->from = (uint32_t)call->in[1]->dtype;
    s->weight = weight ? (uint32_t)weight->dtype : 0;
    oxi_vk_bind(&dispatch, 0, call->out[0], writes);
    oxi_vk_bind(&dispatch, 1, call->in[0], false);
    oxi_vk_bind(&dispatch, 2, call->in[1], false);
    if (weight) oxi_vk_bind(&dispatch, 3, weight, false);
    oxi_vk_bind(&dispatch, 4, &job->own.t, !writes);
    oxi_vk_bind_rest(&dispatch);
    dispatch.params = &job->params;
    dispatch.param_bytes = sizeof job->params;
    oxi_vk_groups(&dispatch, (uint64_t)(job->params.units * (uint64_t)job->parts));
    return oxi_vk_record(d, &dispatch);
}

/* The sums of parts, or of samples, to the results behind the first. */
static ox_status oxi_vk_channels_join(oxi_vk_device *d, const oxi_vk_channels_job *job) {
    const int64_t units = job->params.units, channels = job->params.channels;
    ox_status status = OX_OK;
    for (int k = 1; k < job->call->out_count && status == OX_OK; k++) {
        ox_tensor part = oxi_vk_channels_own(job, 2 * job->statistics + (k - 1) * units, 0), *in = &part;
        part.ndim = 2;
        part.shape[0] = job->batch ? job->parts : units / channels;
        part.stride[0] = job->batch ? 2 * units : channels;
        part.shape[1] = channels;
        part.stride[1] = 1;
        oxi_call sum = oxi_call_of(OXI_OP_sum, &in, 1, job->call->out[k]);
        sum.attr = oxi_attrs_reduce();
        sum.attr.reduce.dims = 1;
        status = oxi_vk_reduce(d, &sum);
    }
    return status;
}

static ox_status oxi_vk_channels_back(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_channels_job job;
    memset(&job, 0, sizeof job);
    job.call = call;
    oxi_vk_channels_shape(&job);
    const int64_t numbers = 2 * job.statistics + 2 * job.parts * (int64_t)job.params.units;
    ox_status status = oxi_vk_temporary_make(d, &job.own, OX_F32, 1, &numbers);
    if (status != OX_OK) return status;
    job.params.statistics = oxi_vk_element_at(&job.own.t);
    job.params.apart = (uint32_t)job.statistics;
    job.params.sums = job.params.statistics + (uint32_t)(2 * job.statistics);
    job.params.at[0] = oxi_vk_element_at(call->out[0]);
    for (int i = 0; i < 2; i++) job.params.at[1 + i] = oxi_vk_element_at(call->in[i]);
    if (call->in[2]) job.params.weight_at = oxi_vk_element_at(call->in[2]);
    status = oxi_vk_channels_measure(d, &job);
    bool adds = call->attr.group_norm_back.training || call->out_count > 1;
    if (status == OX_OK && adds) status = oxi_vk_channels_pass(d, &job, false);
    if (status == OX_OK) status = oxi_vk_channels_pass(d, &job, true);
    if (status == OX_OK) status = oxi_vk_channels_join(d, &job);
    oxi_vk_temporary_drop(d, &job.own);
    return status;
}
