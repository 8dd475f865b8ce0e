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
    OXI_VK_CONV_WIDE = 4096,           /* columns from which on fewer rows than a matrix has go to matrices */
    OXI_VK_CONV_PARTS = 64,            /* most parts that terms are cut into, */
    OXI_VK_CONV_PART_LEAST = 256,      /* and the fewest terms of one */
    OXI_VK_CONV_UNITS = 132,           /* multiprocessors that a device is to have */
    OXI_VK_CONV_CLASSES = 16,          /* most classes of positions that strides make */
    OXI_VK_CONV_PART_BYTES = 1 << 26,  /* most that the samples' gradients of a weight take */
    OXI_VK_CONV_POSITIONS = 1 << 29    /* most that a position may be */
};

/* The three tensors as they lie, and who is who. */
typedef struct oxi_vk_conv_job {
    oxi_conv_form form;
    oxi_op op;
    bool inner;                        /* channels are counted innermost, by eights: those behind are 0 */
    const oxi_conv_side *a, *b, *c;
    int64_t m, n, k;
    oxi_vk_shader shader;
    oxi_vk_tiling tiling;
    int64_t parts;                     /* of k */
    int64_t beside;                    /* jobs that run at the same time */
    bool follows;                      /* another of them wrote to c's memory before: elsewhere */
    oxi_vk_temporary copy[2], sums, result;
    ox_tensor views[3], sum;           /* of a, b and c as laid; sum: c in parts */
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

/* Those of images, then those of weights, whose terms are fetched 32 at a time: two workgroups of 128 x 128
 * share a multiprocessor then. `least`: how fast one is, in percent of the first, about. */
enum { OXI_VK_CONV_TILINGS = 8, OXI_VK_CONV_WEIGHT_TILINGS = 3 };
static const oxi_vk_tiling oxi_vk_conv_tilings[OXI_VK_CONV_TILINGS] = {
    {128, 128, 64, 2, 4, 1, 36864 + 512, 100}, {128, 96, 64, 2, 2, 1, 32256 + 384, 106},
    {128, 96, 64, 4, 2, 1, 32256 + 384, 89},   {64, 128, 64, 2, 2, 1, 27648 + 512, 80},
    {64, 96, 64, 2, 2, 1, 23040 + 384, 72},    {64, 64, 64, 2, 2, 1, 18432 + 256, 55},
    {16, 128, 64, 1, 4, 1, 20736 + 512, 30},   {64, 64, 32, 2, 2, 1, 10240 + 256, 20},
};
static const oxi_vk_tiling oxi_vk_conv_weight_tilings[OXI_VK_CONV_WEIGHT_TILINGS] = {
    {128, 128, 32, 2, 4, 1, 18432 + 512, 105},
    {16, 128, 64, 1, 4, 1, 20736 + 512, 30},
    {64, 64, 32, 2, 2, 1, 10240 + 256, 80},
};

static uint64_t oxi_vk_conv_tiles_of(const oxi_vk_conv_job *job, const oxi_vk_tiling *row) {
    return (uint64_t)((job->m + row->m - 1) / row->m) * (uint64_t)((job->n + row->n - 1) / row->n) *
           (uint64_t)job->form.groups;
}

static int64_t oxi_vk_conv_most_parts(const oxi_vk_conv_job *job) {
    int64_t parts = job->k / OXI_VK_CONV_PART_LEAST;
    if (parts > OXI_VK_CONV_PARTS) return OXI_VK_CONV_PARTS;
    return parts < 1 ? 1 : parts;
}

/* The shader of cooperative matrices for this call, or OXI_VK_SHADER_COUNT. */
static oxi_vk_shader oxi_vk_conv_matrices(const oxi_vk_device *d, const oxi_vk_conv_job *job) {
    const oxi_conv_form *f = &job->form;
    ox_dtype dtype = job->b->t->dtype;
    if (job->a->t->dtype != dtype || f->groups != 1) return OXI_VK_SHADER_COUNT;
    if (job->n < 32 || job->k < 32) return OXI_VK_SHADER_COUNT;
    if (job->m < 16 && (job->op == OXI_OP_conv_back_weight || job->n < OXI_VK_CONV_WIDE)) /* most is waste */
        return OXI_VK_SHADER_COUNT;
    if (dtype == OX_F16 && d->caps & OX_VULKAN_CAP_COOPERATIVE) return OXI_VK_SHADER_conv_tiles;
    return dtype == OX_BF16 && d->caps & OX_VULKAN_CAP_BF16 ? OXI_VK_SHADER_conv_tiles_bf16
                                                            : OXI_VK_SHADER_COUNT;
}

/* Makes `side` one whose dim `last` (0 or 1) is innermost, in eights, and all is dense: a copy, if it does
 * not lie so. */
static ox_status oxi_vk_conv_lay(oxi_vk_device *d, oxi_conv_side *side, int last, oxi_vk_temporary *copy,
                                 ox_tensor *view) {
    const ox_tensor *t = side->t;
    int64_t shape[OX_MAX_DIMS], stride[OX_MAX_DIMS];
    ox_tensor lines = oxi_borrowed(t), laid;
    int dim[OX_MAX_DIMS];
    for (int i = 0; i < t->ndim; i++) { /* the other of the two, spatial dims, `last` */
        dim[i] = i == 0 ? 1 - last : i == t->ndim - 1 ? last : i + 1;
        lines.shape[i] = t->shape[dim[i]];
        lines.stride[i] = t->stride[dim[i]];
    }
    *view = oxi_borrowed(t);
    oxi_vk_lay_strides(&lines, 8, stride, shape);
    for (int i = 0; i < t->ndim; i++) view->stride[dim[i]] = stride[i];
    if (t->shape[last] % 8 == 0 && oxi_same_layout(view, t) && oxi_vk_element_at(t) % 8 == 0) {
        *side = oxi_conv_side_of(view); /* dims of size 1 have strides, too */
        return OX_OK;
    }
    ox_status status = oxi_vk_lay(d, &lines, 8, copy, &laid);
    if (status != OX_OK) return status;
    view->storage = laid.storage;
    view->offset = 0;
    *side = oxi_conv_side_of(view);
    return status;
}

/* What cooperative matrices read. */
static ox_status oxi_vk_conv_lay_all(oxi_vk_device *d, oxi_vk_conv_job *job) {
    oxi_conv_form *f = &job->form;
    if (!job->tiling.subs_m) return OX_OK;
    oxi_conv_side *a = job->op == OXI_OP_conv_back_weight ? &f->y : &f->weight;
    oxi_conv_side *b = job->op == OXI_OP_conv_back_input ? &f->y : &f->x;
    job->inner = true;
    oxi_vk_conv_roles(job);
    ox_status status =
        oxi_vk_conv_lay(d, a, job->op == OXI_OP_conv_back_input ? 0 : 1, &job->copy[0], &job->views[0]);
    return status == OX_OK ? oxi_vk_conv_lay(d, b, 1, &job->copy[1], &job->views[1]) : status;
}

/* ---- a call -------------------------------------------------------------------------------------------- */

/* How long these tiles, with terms in so many parts, take, about: as many rounds as the busiest
 * multiprocessor has workgroups, a few steps more each than terms ask for. Four subgroups leave it idle where
 * they are alone; those of a weight wait for the memory, so that a step takes at least 0.6 us by however few.
 * Parts are written in f32 and read again, those of images in another order and by a dispatch that a
 * single part does without. Rates are those of an H200; only what they are to each other matters. */
static double oxi_vk_conv_seconds(const oxi_vk_conv_job *job, const oxi_vk_tiling *row, int64_t parts) {
    const double rate = 2.4e14 / OXI_VK_CONV_UNITS, begin = 4e-6, wait = 6e-7;
    const bool weight = job->op == OXI_OP_conv_back_weight, four = row->subs_m * row->subs_n == 4;
    uint64_t groups = oxi_vk_conv_tiles_of(job, row) * (uint64_t)(parts * job->beside);
    double rounds = (double)((groups + OXI_VK_CONV_UNITS - 1) / OXI_VK_CONV_UNITS);
    double steps = (double)oxi_parts(oxi_parts(job->k, parts), row->deep) + (weight ? 1 : 3);
    double step = 2.0 * row->m * row->n * row->deep * 100 / (rate * (row->least ? row->least : 10));
    double c = (double)job->m * (double)job->n * (double)job->form.groups;
    double busy = rounds * step * (four && rounds == 1 && !weight ? 2 : 1);
    if (weight && busy < wait) busy = wait;
    if (weight) return busy * steps + (double)parts * c * 8 / 5e12;
    return busy * steps + (parts > 1 ? begin + (double)parts * c * 8 / 1.2e12 : 0);
}

/* Into how many parts terms are best cut, with these tiles; *least: how long that takes. */
static int64_t oxi_vk_conv_cut(const oxi_vk_conv_job *job, const oxi_vk_tiling *row, double *least) {
    int64_t best = 1, most = oxi_vk_conv_most_parts(job);
    *least = oxi_vk_conv_seconds(job, row, 1);
    for (int64_t parts = 2; parts <= most && job->shader != OXI_VK_SHADER_conv_few; parts++) {
        double seconds = oxi_vk_conv_seconds(job, row, parts);
        if (seconds >= *least) continue;
        *least = seconds;
        best = parts;
    }
    return best;
}

/* Whether c consists of whole fours, as it lies: neighbors of 16 bits in a word that different invocations
 * write would go there by atomics. */
static bool oxi_vk_conv_in_fours(const oxi_conv_side *c) {
    int64_t run = 1;
    bool ends = false;
    for (int i = 4; i >= 0; i--) {
        if (c->shape[i] == 1) continue;
        ends = ends || i < 2 || c->stride[i] != run;
        if (ends && c->stride[i] % 4 != 0) return false;
        if (!ends) run *= c->shape[i];
    }
    return run % 4 == 0 && oxi_vk_element_at(c->t) % 4 == 0;
}

/* Whether these are a weight's gradients by matrices, which leave taps apart: oxi_vk_conv_turn ends them. */
static bool oxi_vk_conv_turned(const oxi_vk_conv_job *job) {
    return job->op == OXI_OP_conv_back_weight && job->tiling.subs_m;
}

/* Whether results lie in memory of their own first. */
static bool oxi_vk_conv_apart(const oxi_vk_conv_job *job) {
    return job->parts > 1 || oxi_vk_conv_turned(job);
}

/* Strides of a dense tensor of that shape where rows of the product are outermost and its columns follow each
 * other as they are counted: [O, spatial dims, C] for a weight, [C, N, spatial dims] for images. */
static void oxi_vk_conv_strides(int ndim, const int64_t *shape, bool weight, int64_t *strides) {
    int64_t stride = 1;
    for (int i = ndim; i-- > 0;) { /* the innermost first */
        int dim = weight ? (i == ndim - 1 ? 1 : i > 0 ? i + 1 : 0) : i > 1 ? i : 1 - i;
        strides[dim] = stride;
        stride *= shape[dim];
    }
}

/* c as parts in f32, [parts, c], of matrices row by row; a weight's channels lie in fours then. */
static ox_status oxi_vk_conv_part(oxi_vk_device *d, oxi_vk_conv_job *job, oxi_conv_side *c) {
    const ox_tensor *t = c->t;
    ox_tensor *view = &job->views[2];
    int64_t shape[OX_MAX_DIMS];
    shape[0] = job->parts;
    for (int i = 0; i < t->ndim; i++)
        shape[1 + i] = i == 1 && oxi_vk_conv_turned(job) ? oxi_round_up(t->shape[i], 4) : t->shape[i];
    ox_status status = oxi_vk_temporary_make(d, &job->sums, OX_F32, t->ndim + 1, shape);
    if (status != OX_OK) return status;
    job->sum = oxi_borrowed(&job->sums.t);
    if (job->tiling.subs_m)
        oxi_vk_conv_strides(t->ndim, shape + 1, oxi_vk_conv_turned(job), job->sum.stride + 1);
    oxi_meta(view, OX_F32, t->ndim, t->shape);
    memcpy(view->stride, job->sum.stride + 1, (size_t)t->ndim * sizeof *view->stride);
    view->storage = job->sums.t.storage;
    *c = oxi_conv_side_of(view);
    return OX_OK;
}

/* The sum of a weight's parts that matrices left, the taps of a channel side by side: in *out if it is
 * dense. */
static ox_status oxi_vk_conv_turn(oxi_vk_device *d, oxi_vk_conv_job *job, ox_tensor *out) {
    const oxi_conv_side *c = &job->form.weight;
    const int64_t line = oxi_round_up(c->shape[1], 4), taps = oxi_vk_conv_count(c);
    const int64_t tiles = oxi_parts(oxi_min_i64(taps, OXI_VK_TURN_TAPS) * line, OXI_VK_TURN_NUMBERS);
    const int64_t each = oxi_round_up(oxi_parts(line, tiles), 4);
    const bool dense = ox_is_contiguous(out);
    oxi_vk_conv_turn_params params;
    oxi_vk_dispatch dispatch;
    ox_status status = OX_OK;
    if (!dense) status = oxi_vk_temporary_make(d, &job->result, out->dtype, out->ndim, out->shape);
    if (status != OX_OK) return status;
    const ox_tensor *to = dense ? out : &job->result.t;
    memset(&params, 0, sizeof params);
    memset(&dispatch, 0, sizeof dispatch);
    params.at[0] = oxi_vk_element_at(to);
    params.at[1] = oxi_vk_element_at(&job->sums.t);
    params.rows = (uint32_t)c->shape[0];
    params.channels = (uint32_t)c->shape[1];
    params.taps = (uint32_t)taps;
    params.line = (uint32_t)line;
    params.each = (uint32_t)each;
    params.parts = (uint32_t)job->parts;
    params.part = (uint32_t)job->sums.t.stride[0];
    oxi_vk_bind(&dispatch, 0, to, true);
    oxi_vk_bind(&dispatch, 1, &job->sums.t, false);
    dispatch.shader = OXI_VK_SHADER_conv_turn;
    dispatch.special.conv_turn.to = (uint32_t)to->dtype;
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    oxi_vk_groups(&dispatch, (uint64_t)(oxi_parts(line, each) * c->shape[0]));
    dispatch.groups[2] = (uint32_t)oxi_parts(taps, OXI_VK_TURN_TAPS);
    status = oxi_vk_record(d, &dispatch);
    return status == OX_OK && !dense ? oxi_vk_copy(d, to, out) : status;
}

/* The parts' sum, to where it belongs. */
static ox_status oxi_vk_conv_sum(oxi_vk_device *d, oxi_vk_conv_job *job, ox_tensor *out) {
    ox_tensor *parts = &job->sum;
    oxi_call sum = oxi_call_of(OXI_OP_sum, &parts, 1, out);
    sum.attr = oxi_attrs_by_default(OXI_OP_sum);
    sum.attr.reduce.dims = 1;
    return oxi_vk_reduce(d, &sum);
}

static ox_status oxi_vk_conv_dispatch(oxi_vk_device *d, const oxi_vk_conv_job *job) {
    const ox_tensor *bias = job->form.bias;
    const oxi_vk_tiling *tiling = &job->tiling;
    oxi_vk_conv_params params;
    oxi_vk_dispatch dispatch;
    oxi_vk_conv_params_of(job, &params);
    memset(&dispatch, 0, sizeof dispatch);
    oxi_vk_bind(&dispatch, 0, job->c->t, true);
    dispatch.use[0].beside = job->follows && !job->sums.chunk;
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
    params.part_c = job->parts > 1 ? (uint32_t)job->sums.t.stride[0] : 0;
    dispatch.shader = job->shader;
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
        tiles->loose = oxi_vk_width(job->c->t->dtype) == 1 && !oxi_vk_conv_in_fours(job->c);
    }
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    dispatch.groups[0] = (uint32_t)oxi_parts(job->n, tiling->n);
    dispatch.groups[1] = (uint32_t)oxi_parts(job->m, tiling->m);
    dispatch.groups[2] = (uint32_t)(job->form.groups * job->parts);
    return oxi_vk_record(d, &dispatch);
}

/* Whether invocations can share the work of these tiles. */
static bool oxi_vk_conv_suits(const oxi_vk_device *d, const oxi_vk_conv_job *job, const oxi_vk_tiling *row) {
    uint32_t lanes = row->subs_m * row->subs_n * d->subgroup_size, eighths = row->deep / 8;
    if (row->shared > d->limits.maxComputeSharedMemorySize) return false;
    if (row->m > 64 && job->m <= row->m / 2) return false; /* half of it for nothing */
    return row->m * eighths % lanes == 0 && row->n * eighths % lanes == 0;
}

/* The shader of a call, the tiles of c that its workgroups take, and the parts of terms. */
static void oxi_vk_conv_choose(const oxi_vk_device *d, oxi_vk_conv_job *job) {
    static const oxi_vk_tiling few = {OXI_VK_CONV_ROWS, OXI_VK_THREADS, 1, 0, 0, 1, 0, 0};
    static const oxi_vk_tiling plain = {OXI_VK_CONV_TILE, OXI_VK_CONV_TILE, 16, 0, 0, 1, 0, 0};
    double least = 0;
    bool is_few = job->m <= OXI_VK_CONV_ROWS && job->op != OXI_OP_conv_back_weight;
    job->shader = oxi_vk_conv_matrices(d, job);
    if (job->shader == OXI_VK_SHADER_COUNT) {
        job->tiling = is_few ? few : plain;
        job->shader = is_few ? OXI_VK_SHADER_conv_few : OXI_VK_SHADER_conv;
        job->parts = oxi_vk_conv_cut(job, &job->tiling, &least);
        return;
    }
    job->parts = 0;
    const bool weight = job->op == OXI_OP_conv_back_weight;
    int tilings = weight ? OXI_VK_CONV_WEIGHT_TILINGS : OXI_VK_CONV_TILINGS;
    for (int i = 0; i < tilings; i++) {
        const oxi_vk_tiling *row = weight ? &oxi_vk_conv_weight_tilings[i] : &oxi_vk_conv_tilings[i];
        double seconds;
        if (!oxi_vk_conv_suits(d, job, row) && (i + 1 < tilings || job->parts)) continue;
        int64_t parts = oxi_vk_conv_cut(job, row, &seconds);
        if (job->parts && seconds >= least) continue;
        job->tiling = *row;
        job->parts = parts;
        least = seconds;
    }
}

/* Products of a form, and which shader takes them. */
static void oxi_vk_conv_plan(const oxi_vk_device *d, oxi_vk_conv_job *job, oxi_op op,
                             const oxi_conv_form *form, int64_t beside) {
    memset(job, 0, sizeof *job);
    job->op = op;
    job->form = *form;
    job->beside = beside;
    oxi_vk_conv_roles(job);
    oxi_vk_conv_choose(d, job);
}

/* The result goes to *out. */
static ox_status oxi_vk_conv_end(oxi_vk_device *d, oxi_vk_conv_job *job, ox_tensor *out) {
    oxi_conv_side *c = job->op == OXI_OP_conv              ? &job->form.y
                       : job->op == OXI_OP_conv_back_input ? &job->form.x : &job->form.weight;
    ox_status status = OX_OK;
    bool apart = oxi_vk_conv_apart(job);
    if (apart) status = oxi_vk_conv_part(d, job, c);
    if (status == OX_OK) status = oxi_vk_conv_dispatch(d, job);
    if (status != OX_OK || !apart) return status;
    return oxi_vk_conv_turned(job) ? oxi_vk_conv_turn(d, job, out) : oxi_vk_conv_sum(d, job, out);
}

static void oxi_vk_conv_drop(oxi_vk_device *d, oxi_vk_conv_job *job) {
    for (int i = 0; i < 2; i++) oxi_vk_temporary_drop(d, &job->copy[i]);
    oxi_vk_temporary_drop(d, &job->sums);
    oxi_vk_temporary_drop(d, &job->result);
}

static ox_status oxi_vk_conv_run(oxi_vk_device *d, oxi_op op, const oxi_conv_form *form, ox_tensor *out) {
    oxi_vk_conv_job job;
    oxi_vk_conv_plan(d, &job, op, form, 1);
    ox_status status = oxi_vk_conv_lay_all(d, &job);
    if (status == OX_OK) status = oxi_vk_conv_end(d, &job, out);
    oxi_vk_conv_drop(d, &job);
    return status;
}

/* ---- what flows back through strides ------------------------------------------------------------------- */

/* Positions of the input that leave the same rest when they are divided by the strides meet the same taps,
 * and no others: each such class is a convolution without strides. */
typedef struct oxi_vk_conv_class {
    ox_tensor x, weight; /* what of them belongs to it */
    oxi_conv_form form;
    oxi_vk_conv_job job;
    bool none;           /* no positions, or no taps */
} oxi_vk_conv_class;

typedef struct oxi_vk_conv_all {
    int64_t count, busy;   /* busy: those that have positions and taps */
    oxi_vk_temporary copy; /* of y */
    ox_tensor y;
    oxi_vk_conv_class of[OXI_VK_CONV_CLASSES];
} oxi_vk_conv_all;

/* The class of these rests, [0, stride) of each spatial dim. */
static void oxi_vk_conv_class_of(const oxi_conv_form *f, const int64_t *rest, oxi_vk_conv_class *out) {
    out->form = *f;
    out->x = oxi_borrowed(f->x.t);
    out->weight = oxi_borrowed(f->weight.t);
    out->none = false;
    for (int i = 0; i < 3; i++) {
        int64_t s = f->stride[i], tap = (rest[i] + f->padding[i]) % s;
        int64_t rows = f->x.shape[2 + i] - rest[i], taps = f->weight.shape[2 + i] - tap;
        int dim = out->x.ndim - 3 + i;
        out->form.padding[i] = (rest[i] + f->padding[i] - tap) / s;
        out->form.stride[i] = 1;
        if (dim < 2 || s == 1) continue; /* s is 1 for dims that are missing */
        out->none = out->none || rows <= 0 || taps <= 0;
        out->x.offset += rest[i] * out->x.stride[dim];
        out->x.shape[dim] = oxi_parts(rows, s);
        out->x.stride[dim] *= s;
        out->weight.offset += tap * out->weight.stride[dim];
        out->weight.shape[dim] = oxi_parts(taps, s);
        out->weight.stride[dim] *= s;
    }
    out->form.x = oxi_conv_side_of(&out->x);
    out->form.weight = oxi_conv_side_of(&out->weight);
}

/* Into how many classes positions fall; 1: they are not told apart. */
static int64_t oxi_vk_conv_classes(oxi_op op, const oxi_conv_form *f) {
    int64_t classes = 1;
    if (op != OXI_OP_conv_back_input) return 1;
    for (int i = 0; i < 3; i++) {
        int64_t s = f->stride[i];
        if (s > 1 && (f->dilation[i] != 1 || s > OXI_VK_CONV_CLASSES)) return 1;
        if (f->weight.shape[2 + i] < s && f->bias) return 1; /* positions without taps have a bias, too */
        classes *= s;
    }
    return classes <= OXI_VK_CONV_CLASSES ? classes : 1;
}

/* Plans those that make something. */
static void oxi_vk_conv_plan_classes(const oxi_vk_device *d, const oxi_conv_form *f, oxi_vk_conv_all *all) {
    for (int64_t i = 0; i < all->count; i++) {
        const int64_t rest[3] = {i / (f->stride[1] * f->stride[2]), i / f->stride[2] % f->stride[1],
                                 i % f->stride[2]};
        oxi_vk_conv_class_of(f, rest, &all->of[i]);
        all->busy += !all->of[i].none;
    }
    const oxi_vk_conv_job *last = NULL;
    for (int64_t i = 0; i < all->count; i++) {
        oxi_vk_conv_class *one = &all->of[i];
        if (one->none) continue;
        oxi_vk_conv_plan(d, &one->job, OXI_OP_conv_back_input, &one->form, all->busy);
        /* halves of a word are not written by stores and by atomics at once */
        one->job.follows = last && !last->tiling.subs_m == !one->job.tiling.subs_m;
        last = &one->job;
    }
}

/* They run side by side; y is laid once for all of them. */
static ox_status oxi_vk_conv_run_classes(oxi_vk_device *d, const oxi_conv_form *f, oxi_vk_conv_all *all) {
    oxi_conv_side y = f->y;
    ox_status status = OX_OK;
    bool tiles = false;
    for (int64_t i = 0; i < all->count; i++)
        tiles = tiles || (!all->of[i].none && all->of[i].job.tiling.subs_m > 0);
    if (tiles) status = oxi_vk_conv_lay(d, &y, 1, &all->copy, &all->y);
    for (int64_t i = 0; i < all->count && status == OX_OK; i++) {
        if (all->of[i].none) continue;
        all->of[i].job.form.y = y;
        status = oxi_vk_conv_lay_all(d, &all->of[i].job);
    }
    for (int64_t i = 0; i < all->count && status == OX_OK; i++)
        if (!all->of[i].none) status = oxi_vk_conv_end(d, &all->of[i].job, &all->of[i].x);
    for (int64_t i = 0; i < all->count; i++)
        if (!all->of[i].none) oxi_vk_conv_drop(d, &all->of[i].job);
    oxi_vk_temporary_drop(d, &all->copy);
    return status;
}

static ox_status oxi_vk_conv_by_classes(oxi_vk_device *d, const oxi_conv_form *f, int64_t classes,
                                        ox_tensor *out) {
    oxi_vk_conv_all *all = (oxi_vk_conv_all *)oxi_alloc(sizeof *all);
    ox_status status = OX_OK;
    if (!all) return OX_ERR_NOMEM;
    memset(all, 0, sizeof *all);
    all->count = classes;
    oxi_vk_conv_plan_classes(d, f, all);
    if (all->busy < classes) { /* no tap reaches the others */
        oxi_call zeros = oxi_call_of(OXI_OP_fill, NULL, 0, out);
        zeros.attr = oxi_attrs_by_default(OXI_OP_fill);
        status = oxi_vk_make(d, &zeros);
    }
    if (status == OX_OK) status = oxi_vk_conv_run_classes(d, f, all);
    oxi_free(all, sizeof *all);
    return status;
}

/* ---- windows of one element ---------------------------------------------------------------------------- */

/* Such windows see every `stride`-th position alone: the others are left out of x. */
static void oxi_vk_conv_thin(oxi_conv_form *f, ox_tensor *x) {
    *x = oxi_borrowed(f->x.t);
    for (int i = 0; i < 3; i++) {
        int dim = x->ndim - 3 + i;
        if (dim < 2 || f->stride[i] == 1 || f->weight.shape[2 + i] != 1 || f->padding[i] != 0) continue;
        x->shape[dim] = f->y.shape[2 + i];
        x->stride[dim] *= f->stride[i];
        f->stride[i] = 1;
    }
    f->x = oxi_conv_side_of(x);
}

/* Whether the positions of an image are one dim, whose size and stride these are. */
static bool oxi_vk_conv_flat(const oxi_conv_side *side, int64_t *size, int64_t *stride) {
    *size = oxi_vk_conv_count(side);
    *stride = 0;
    int64_t next = 0;
    for (int i = 4; i >= 2; i--) {
        if (side->shape[i] == 1) continue;
        if (*stride != 0 && side->stride[i] != next) return false;
        if (*stride == 0) *stride = side->stride[i];
        next = side->stride[i] * side->shape[i];
    }
    return *stride != 0;
}

/* Whether they are as good as products of matrices, a sample each: windows of one element, without strides,
 * positions in eights. */
static bool oxi_vk_conv_is_product(oxi_op op, const oxi_conv_form *f) {
    int64_t size, stride;
    if (f->groups != 1 || f->channels < 32 || f->outputs < 32) return false;
    for (int i = 0; i < 3; i++)
        if (f->weight.shape[2 + i] != 1 || f->stride[i] != 1 || f->padding[i] != 0) return false;
    int64_t most = f->samples * f->channels * f->outputs * (int64_t)sizeof(float);
    if (op == OXI_OP_conv_back_weight && most > OXI_VK_CONV_PART_BYTES) return false;
    if (!oxi_vk_conv_flat(&f->x, &size, &stride) || !oxi_vk_conv_flat(&f->y, &size, &stride)) return false;
    return size % 8 == 0 && size >= 64 && f->samples <= OXI_VK_MOST_SLOTS;
}

/* Rows and columns of operand `t` of a product, which lie in a side of a convolution. */
static void oxi_vk_conv_matrix(oxi_vk_product *p, int t, const oxi_conv_side *side, int64_t row,
                               int64_t column, int64_t next) {
    p->form.t[t] = side->t;
    p->form.row[t] = row;
    p->form.column[t] = column;
    p->form.stride[t][0] = next;
}

static oxi_vk_product oxi_vk_conv_product_of(oxi_op op, const oxi_conv_form *f) {
    oxi_vk_product p;
    const oxi_conv_side *w = &f->weight, *x = &f->x, *y = &f->y;
    int64_t size, at_x, at_y;
    memset(&p, 0, sizeof p);
    oxi_vk_conv_flat(x, &size, &at_x);
    oxi_vk_conv_flat(y, &size, &at_y);
    p.form.alpha = p.form.beta = 1;
    p.form.ndim = 1;
    p.form.shape[0] = f->samples;
    p.form.m = p.whole_m = op == OXI_OP_conv_back_input ? f->channels : f->outputs;
    p.form.n = p.whole_n = op == OXI_OP_conv_back_weight ? f->channels : size;
    p.form.k = op == OXI_OP_conv ? f->channels : op == OXI_OP_conv_back_input ? f->outputs : size;
    if (op == OXI_OP_conv) {
        oxi_vk_conv_matrix(&p, 0, y, y->stride[1], at_y, y->stride[0]);
        oxi_vk_conv_matrix(&p, 1, w, w->stride[0], w->stride[1], 0);
        oxi_vk_conv_matrix(&p, 2, x, x->stride[1], at_x, x->stride[0]);
    } else if (op == OXI_OP_conv_back_input) {
        oxi_vk_conv_matrix(&p, 0, x, x->stride[1], at_x, x->stride[0]);
        oxi_vk_conv_matrix(&p, 1, w, w->stride[1], w->stride[0], 0);
        oxi_vk_conv_matrix(&p, 2, y, y->stride[1], at_y, y->stride[0]);
    } else {
        oxi_vk_conv_matrix(&p, 1, y, y->stride[1], at_y, y->stride[0]);
        oxi_vk_conv_matrix(&p, 2, x, at_x, x->stride[1], x->stride[0]);
    }
    if (f->bias) {
        p.form.t[3] = f->bias;
        p.form.row[3] = f->bias->stride[0];
    }
    return p;
}

/* Samples are summed afterwards where a weight's gradient is asked for. */
static ox_status oxi_vk_conv_product(oxi_vk_device *d, const oxi_call *call, const oxi_conv_form *f) {
    oxi_vk_product p = oxi_vk_conv_product_of(call->op, f);
    oxi_vk_product_group alone;
    oxi_vk_temporary made;
    ox_tensor *in = &made.t, out = oxi_borrowed(call->out[0]);
    memset(&alone, 0, sizeof alone);
    alone.product[0] = call;
    alone.products = 1;
    if (p.form.t[0]) return oxi_vk_product_whole(d, &alone, p, OX_DTYPE_NONE);
    const int64_t shape[3] = {f->samples, f->outputs, f->channels};
    ox_status status = oxi_vk_temporary_make(d, &made, OX_F32, 3, shape);
    p.form.t[0] = &made.t;
    p.form.row[0] = f->channels;
    p.form.column[0] = 1;
    p.form.stride[0][0] = f->outputs * f->channels;
    if (status == OX_OK) status = oxi_vk_product_whole(d, &alone, p, OX_DTYPE_NONE);
    out.ndim = 2;
    oxi_call sum = oxi_call_of(OXI_OP_sum, &in, 1, &out);
    sum.attr = oxi_attrs_by_default(OXI_OP_sum);
    sum.attr.reduce.dims = 1;
    if (status == OX_OK) status = oxi_vk_reduce(d, &sum);
    oxi_vk_temporary_drop(d, &made);
    return status;
}

static ox_status oxi_vk_conv(oxi_vk_device *d, const oxi_call *call) {
    oxi_conv_form form;
    ox_tensor out = oxi_borrowed(call->out[0]), x;
    if (ox_numel(&out) == 0) return OX_OK;
    oxi_conv_form_of(call, &form);
    if (call->op != OXI_OP_conv_back_input) oxi_vk_conv_thin(&form, &x);
    if (oxi_vk_conv_is_product(call->op, &form)) return oxi_vk_conv_product(d, call, &form);
    int64_t classes = oxi_vk_conv_classes(call->op, &form);
    if (classes > 1) return oxi_vk_conv_by_classes(d, &form, classes, &out);
    return oxi_vk_conv_run(d, call->op, &form, &out);
}
