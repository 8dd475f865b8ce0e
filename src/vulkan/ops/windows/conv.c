/* Convolutions and what flows back through them, as products whose windows are never laid out in memory: each
 * of the three is c [m,n] = a [m,k] b [k,n] of every group, with elements of b where positions of k and n add
 * up to (shaders/product/conv.glsl).
 *     conv             a weight [O, C taps]     b x             c y [O, samples places]
 *     conv_back_input  a weight [C, O taps]     b y             c x [C, samples positions]
 *     conv_back_weight a y [O, samples places]  b x             c weight [O, C taps]
 * f16 and bf16 go to cooperative matrices where there are any: images are copied so that channels are
 * neighbors, which are counted innermost then. Called by the Vulkan device for CONV. */

enum {
    OXI_VK_CONV_TILE = 64,             /* of conv.comp */
    OXI_VK_CONV_ROWS = 4,              /* most of conv_few.comp */
    OXI_VK_CONV_PARTS = 32,            /* most parts that terms are cut into, */
    OXI_VK_CONV_PART_LEAST = 256,      /* and the fewest terms of one */
    OXI_VK_CONV_GROUPS = 132,          /* workgroups that a device is to have */
    OXI_VK_CONV_POSITIONS = 1 << 29    /* most that a position may be */
};

/* The three tensors as they lie, and who is who. */
typedef struct oxi_vk_conv_job {
    oxi_conv_form form;
    oxi_op op;
    bool inner;                        /* channels are counted innermost, by eights: those behind are 0 */
    const oxi_conv_side *a, *b, *c;
    int64_t m, n, k;
    oxi_vk_tiling tiling;
    int64_t parts;                     /* of k */
    oxi_vk_temporary copy[2], sums;
} oxi_vk_conv_job;

static int64_t oxi_vk_conv_count(const oxi_conv_side *side) {
    return side->shape[2] * side->shape[3] * side->shape[4];
}

/* Channels, or outputs where an input is made, as taps count them. */
static int64_t oxi_vk_conv_channels(const oxi_vk_conv_job *job) {
    int64_t channels = job->op == OXI_OP_conv_back_input ? job->form.outputs : job->form.channels;
    return job->inner ? oxi_round_up(channels, 8) : channels;
}

static void oxi_vk_conv_roles(oxi_vk_conv_job *job) {
    const oxi_conv_form *f = &job->form;
    int64_t taps = oxi_vk_conv_count(&f->weight) * oxi_vk_conv_channels(job);
    int64_t places = f->samples * oxi_vk_conv_count(&f->y);
    job->a = job->op == OXI_OP_conv_back_weight ? &f->y : &f->weight;
    job->b = job->op == OXI_OP_conv_back_input ? &f->y : &f->x;
    job->c = job->op == OXI_OP_conv ? &f->y : job->op == OXI_OP_conv_back_input ? &f->x : &f->weight;
    job->m = job->op == OXI_OP_conv_back_input ? f->channels : f->outputs;
    job->n = job->op == OXI_OP_conv               ? places
             : job->op == OXI_OP_conv_back_weight ? taps
                                                  : f->samples * oxi_vk_conv_count(&f->x);
    job->k = job->op == OXI_OP_conv_back_weight ? places : taps;
}

static bool oxi_vk_can_conv(const oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_conv_job job;
    const uint32_t *most = d->limits.maxComputeWorkGroupCount;
    for (int i = 0; i < call->in_count + 1; i++) {
        const ox_tensor *t = i < call->in_count ? call->in[i] : call->out[0];
        if (t && (!oxi_vk_product_reads(t->dtype) || !oxi_vk_fits(t))) return false;
    }
    oxi_conv_form_of(call, &job.form);
    job.op = call->op;
    job.inner = false;
    oxi_vk_conv_roles(&job);
    for (int i = 0; i < 3; i++) {
        const oxi_conv_form *f = &job.form;
        double reach = (double)f->y.shape[2 + i] * (double)f->stride[i] + (double)f->padding[i] +
                       (double)f->dilation[i] * (double)f->weight.shape[2 + i] + (double)f->x.shape[2 + i];
        if (reach >= OXI_VK_CONV_POSITIONS) return false;
    }
    return (job.m + OXI_VK_CONV_TILE - 1) / OXI_VK_CONV_TILE <= most[1] && job.k < INT32_MAX &&
           (job.n + OXI_VK_CONV_TILE - 1) / OXI_VK_CONV_TILE <= most[0] &&
           job.form.groups * OXI_VK_CONV_PARTS <= most[2];
}

/* ---- parameters ---------------------------------------------------------------------------------------- */

/* How columns or terms are counted where they are (channels, taps), or (samples, positions in `image`). */
static void oxi_vk_conv_taps(const oxi_vk_conv_job *job, uint32_t *size) {
    for (int i = 0; i < 3; i++) size[i] = (uint32_t)job->form.weight.shape[2 + i];
    size[3] = job->inner ? (uint32_t)oxi_vk_conv_channels(job) : 1;
}
static void oxi_vk_conv_positions(const oxi_conv_side *image, uint32_t *size) {
    for (int i = 0; i < 3; i++) size[i] = (uint32_t)image->shape[2 + i];
    size[3] = 1;
}

static void oxi_vk_conv_params_of(const oxi_vk_conv_job *job, oxi_vk_conv_params *out) {
    const oxi_conv_form *f = &job->form;
    const oxi_conv_side *a = job->a, *b = job->b, *c = job->c;
    const bool input = job->op == OXI_OP_conv_back_input, weight = job->op == OXI_OP_conv_back_weight;
    const int64_t channel = input ? f->weight.stride[0] : f->weight.stride[1];
    memset(out, 0, sizeof *out);
    out->m = (uint32_t)job->m;
    out->n = (uint32_t)job->n;
    out->k = (uint32_t)job->k;
    out->row[0] = (uint32_t)c->stride[weight ? 0 : 1];
    out->row[1] = (uint32_t)a->stride[input || weight ? 1 : 0];
    out->group[0] = (uint32_t)(job->m * c->stride[weight ? 0 : 1]);
    out->group[1] = (uint32_t)(f->outputs * a->stride[weight ? 1 : 0]);
    out->group[2] = (uint32_t)((input ? f->outputs : f->channels) * b->stride[1]);
    oxi_vk_conv_taps(job, weight ? out->n_size : out->k_size);
    oxi_vk_conv_positions(weight ? &f->y : c, weight ? out->k_size : out->n_size);
    for (int i = 0; i < 3; i++) {
        uint32_t tap = (uint32_t)(input ? -f->dilation[i] : f->dilation[i]);
        uint32_t step = input ? 1 : (uint32_t)f->stride[i];
        out->n_step[i] = weight ? tap : step;
        out->k_step[i] = weight ? step : tap;
        out->n_start[i] = (uint32_t)(input ? f->padding[i] : -f->padding[i]);
        out->apart[i] = input ? (uint32_t)f->stride[i] : 1;
        out->image[i] = (uint32_t)b->shape[2 + i];
        out->b_stride[i] = (uint32_t)b->stride[2 + i];
        out->c_n[i] = (uint32_t)c->stride[2 + i];
        out->a_k[i] = (uint32_t)a->stride[2 + i];
    }
    /* channels are the weight's second dim (input: its first) and b's second, samples the first of others */
    int taps = weight ? 0 : 1, samples = 1 - taps;
    out->outer[taps] = job->inner ? 0 : (uint32_t)channel;
    out->outer[samples] = (uint32_t)(weight ? a->stride[0] : c->stride[0]);
    out->outer[2 + taps] = job->inner ? 0 : (uint32_t)b->stride[1];
    out->outer[2 + samples] = (uint32_t)b->stride[0];
    out->inner[taps] = (uint32_t)b->stride[1];
    out->columns = weight ? (uint32_t)f->channels : 1;
    out->c_n[3] = weight ? (uint32_t)channel : 0;
    out->a_k[3] = weight ? (uint32_t)a->stride[4] : (uint32_t)channel;
}

/* ---- cooperative matrices ------------------------------------------------------------------------------ */

static const oxi_vk_tiling oxi_vk_conv_tilings[] = {
    {128, 128, 32, 2, 4, 1, 20480 + 3072, 100},
    {64, 128, 64, 2, 2, 1, 27648 + 3584, 100},
    {64, 64, 64, 2, 2, 1, 18432 + 2304, 100},
    {64, 64, 32, 2, 2, 1, 10240 + 1792, 0},
};

static uint64_t oxi_vk_conv_tiles_of(const oxi_vk_conv_job *job, const oxi_vk_tiling *row) {
    return (uint64_t)((job->m + row->m - 1) / row->m) * (uint64_t)((job->n + row->n - 1) / row->n) *
           (uint64_t)job->form.groups;
}

static int64_t oxi_vk_conv_most_parts(const oxi_vk_conv_job *job) {
    int64_t parts = 1;
    while (parts < OXI_VK_CONV_PARTS && job->k / (2 * parts) >= OXI_VK_CONV_PART_LEAST) parts *= 2;
    return parts;
}

/* The shader of cooperative matrices for this call, or OXI_VK_SHADER_COUNT. */
static oxi_vk_shader oxi_vk_conv_matrices(const oxi_vk_device *d, const oxi_vk_conv_job *job) {
    const oxi_conv_form *f = &job->form;
    ox_dtype dtype = job->b->t->dtype;
    if (job->a->t->dtype != dtype || f->groups != 1) return OXI_VK_SHADER_COUNT;
    if (job->m < 16 || job->n < 32 || job->k < 32) return OXI_VK_SHADER_COUNT;
    if (dtype == OX_F16 && d->caps & OX_VULKAN_CAP_COOPERATIVE) return OXI_VK_SHADER_conv_tiles;
    return dtype == OX_BF16 && d->caps & OX_VULKAN_CAP_BF16 ? OXI_VK_SHADER_conv_tiles_bf16
                                                            : OXI_VK_SHADER_COUNT;
}

/* Makes `side` one whose dim `last` (0 or 1) is innermost, in eights, and all is dense: a copy, if it does
 * not lie so. */
static ox_status oxi_vk_conv_lay(oxi_vk_device *d, oxi_conv_side *side, int last, oxi_vk_temporary *copy,
                                 ox_tensor *view) {
    const ox_tensor *t = side->t;
    int64_t shape[OX_MAX_DIMS], dense = 1;
    bool whole = t->shape[last] % 8 == 0;
    *view = oxi_borrowed(t);
    for (int i = t->ndim; i-- > 0;) { /* the innermost first: `last`, spatial dims from behind, the other */
        int dim = i == t->ndim - 1 ? last : i > 0 ? i + 1 : 1 - last;
        view->stride[dim] = dense;
        shape[i] = dim == last ? oxi_round_up(t->shape[dim], 8) : t->shape[dim];
        dense *= shape[i];
    }
    if (whole && oxi_same_layout(view, t) && oxi_vk_element_at(t) % 8 == 0) {
        *side = oxi_conv_side_of(view); /* dims of size 1 have strides, too */
        return OX_OK;
    }
    ox_status status = oxi_vk_temporary_make(d, copy, t->dtype, t->ndim, shape);
    oxi_call zeros = oxi_call_of(OXI_OP_fill, NULL, 0, &copy->t);
    zeros.attr = oxi_attrs_by_default(OXI_OP_fill);
    if (status == OX_OK && !whole) status = oxi_vk_make(d, &zeros);
    if (status != OX_OK) return status;
    view->storage = copy->t.storage;
    view->offset = 0;
    status = oxi_vk_copy(d, t, view);
    *side = oxi_conv_side_of(view);
    return status;
}

static ox_status oxi_vk_conv_lay_all(oxi_vk_device *d, oxi_vk_conv_job *job, ox_tensor *views) {
    oxi_conv_form *f = &job->form;
    oxi_conv_side *a = job->op == OXI_OP_conv_back_weight ? &f->y : &f->weight;
    oxi_conv_side *b = job->op == OXI_OP_conv_back_input ? &f->y : &f->x;
    job->inner = true;
    oxi_vk_conv_roles(job);
    ox_status status =
        oxi_vk_conv_lay(d, a, job->op == OXI_OP_conv_back_input ? 0 : 1, &job->copy[0], &views[0]);
    return status == OX_OK ? oxi_vk_conv_lay(d, b, 1, &job->copy[1], &views[1]) : status;
}

/* ---- a call -------------------------------------------------------------------------------------------- */

/* Into how many parts terms are cut, where there are few tiles. */
static void oxi_vk_conv_cut(oxi_vk_conv_job *job, oxi_vk_shader shader) {
    uint64_t tiles = oxi_vk_conv_tiles_of(job, &job->tiling);
    job->parts = 1;
    if (shader == OXI_VK_SHADER_conv_few) return;
    while (tiles * (uint64_t)job->parts < OXI_VK_CONV_GROUPS && job->parts < oxi_vk_conv_most_parts(job))
        job->parts *= 2;
}

/* c as parts in f32, [parts, c]. */
static ox_status oxi_vk_conv_part(oxi_vk_device *d, oxi_vk_conv_job *job, oxi_conv_side *c, ox_tensor *view) {
    const ox_tensor *t = c->t;
    int64_t shape[OX_MAX_DIMS];
    shape[0] = job->parts;
    for (int i = 0; i < t->ndim; i++) shape[1 + i] = t->shape[i];
    ox_status status = oxi_vk_temporary_make(d, &job->sums, OX_F32, t->ndim + 1, shape);
    if (status != OX_OK) return status;
    oxi_meta(view, OX_F32, t->ndim, t->shape);
    view->storage = job->sums.t.storage;
    *c = oxi_conv_side_of(view);
    return OX_OK;
}

static ox_status oxi_vk_conv_dispatch(oxi_vk_device *d, const oxi_vk_conv_job *job, oxi_vk_shader shader) {
    const ox_tensor *bias = job->form.bias;
    const oxi_vk_tiling *tiling = &job->tiling;
    oxi_vk_conv_params params;
    oxi_vk_dispatch dispatch;
    oxi_vk_conv_params_of(job, &params);
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_bind(&dispatch, 0, job->c->t, true);
    oxi_vk_bind(&dispatch, 1, job->a->t, false);
    oxi_vk_bind(&dispatch, 2, job->b->t, false);
    if (bias) oxi_vk_bind(&dispatch, 3, bias, false);
    params.at[0] = oxi_vk_element_at(job->c->t);
    params.at[1] = oxi_vk_element_at(job->a->t);
    params.at[2] = oxi_vk_element_at(job->b->t);
    if (bias) {
        params.at[3] = oxi_vk_element_at(bias);
        params.row[3] = (uint32_t)bias->stride[0];
        params.group[3] = (uint32_t)(job->m * bias->stride[0]);
    }
    params.parts = (uint32_t)job->parts;
    params.part_k = (uint32_t)(oxi_parts(oxi_parts(job->k, job->parts), tiling->deep) * tiling->deep);
    params.part_c = job->parts > 1 ? (uint32_t)ox_numel(job->c->t) : 0;
    dispatch.shader = shader;
    oxi_vk_conv_specials *special = &dispatch.special.conv;
    special->dtype_c = (uint32_t)job->c->t->dtype;
    special->dtype_a = (uint32_t)job->a->t->dtype;
    special->dtype_b = (uint32_t)job->b->t->dtype;
    special->dtype_bias = bias ? (uint32_t)bias->dtype : 0;
    special->a_along = job->op != OXI_OP_conv_back_weight;
    for (int i = 0; i < 3; i++) special->apart = special->apart || params.apart[i] != 1;
    if (tiling->subs_m) {
        oxi_vk_conv_tiles_specials *tiles = &dispatch.special.conv_tiles;
        tiles->threads = tiling->subs_m * tiling->subs_n * d->subgroup_size;
        tiles->b_along = job->op != OXI_OP_conv_back_weight;
        tiles->tile_m = tiling->m;
        tiles->tile_n = tiling->n;
        tiles->deep = tiling->deep;
        tiles->subs_m = tiling->subs_m;
        tiles->subs_n = tiling->subs_n;
        tiles->side = d->matrix_side;
    }
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    dispatch.groups[0] = (uint32_t)oxi_parts(job->n, tiling->n);
    dispatch.groups[1] = (uint32_t)oxi_parts(job->m, tiling->m);
    dispatch.groups[2] = (uint32_t)(job->form.groups * job->parts);
    return oxi_vk_record(d, &dispatch);
}

/* Whether these tiles suit c: large enough for it, but not far larger, and enough of them with terms in
 * parts. */
static bool oxi_vk_conv_suits(const oxi_vk_device *d, const oxi_vk_conv_job *job, const oxi_vk_tiling *row) {
    if (row->shared > d->limits.maxComputeSharedMemorySize) return false;
    if (job->m <= row->m / 2 || job->n <= row->n / 2) return false;
    return oxi_vk_conv_tiles_of(job, row) * (uint64_t)oxi_vk_conv_most_parts(job) >= row->least;
}

/* The shader of a call, and the tiles of c that its workgroups take. */
static oxi_vk_shader oxi_vk_conv_shader(const oxi_vk_device *d, oxi_vk_conv_job *job) {
    static const oxi_vk_tiling few = {OXI_VK_CONV_ROWS, OXI_VK_THREADS, 1, 0, 0, 1, 0, 0};
    static const oxi_vk_tiling plain = {OXI_VK_CONV_TILE, OXI_VK_CONV_TILE, 16, 0, 0, 1, 0, 0};
    oxi_vk_shader shader = oxi_vk_conv_matrices(d, job);
    const oxi_vk_tiling *row = oxi_vk_conv_tilings;
    bool is_few = job->m <= OXI_VK_CONV_ROWS && job->op != OXI_OP_conv_back_weight;
    if (shader == OXI_VK_SHADER_COUNT) {
        job->tiling = is_few ? few : plain;
        return is_few ? OXI_VK_SHADER_conv_few : OXI_VK_SHADER_conv;
    }
    while (row->least && !oxi_vk_conv_suits(d, job, row)) row++;
    job->tiling = *row;
    return shader;
}

static ox_status oxi_vk_conv(oxi_vk_device *d, const oxi_call *call) {
    oxi_vk_conv_job job;
    ox_tensor views[3], *in = &job.sums.t, out = oxi_borrowed(call->out[0]);
    ox_status status = OX_OK;
    if (ox_numel(&out) == 0) return OX_OK;
    memset(&job, 0, sizeof job);
    job.op = call->op;
    oxi_conv_form_of(call, &job.form);
    oxi_vk_conv_roles(&job);
    oxi_vk_shader shader = oxi_vk_conv_shader(d, &job);
    if (job.tiling.subs_m) status = oxi_vk_conv_lay_all(d, &job, views);
    oxi_vk_conv_cut(&job, shader);
    oxi_conv_side *c = job.op == OXI_OP_conv ? &job.form.y
                       : job.op == OXI_OP_conv_back_input ? &job.form.x : &job.form.weight;
    if (status == OX_OK && job.parts > 1) status = oxi_vk_conv_part(d, &job, c, &views[2]);
    if (status == OX_OK) status = oxi_vk_conv_dispatch(d, &job, shader);
    if (status == OX_OK && job.parts > 1) {
        oxi_call sum = oxi_call_of(OXI_OP_sum, &in, 1, &out);
        sum.attr = oxi_attrs_by_default(OXI_OP_sum);
        sum.attr.reduce.dims = 1;
        status = oxi_vk_reduce(d, &sum);
    }
    for (int i = 0; i < 2; i++) oxi_vk_temporary_drop(d, &job.copy[i]);
    oxi_vk_temporary_drop(d, &job.sums);
    return status;
}
