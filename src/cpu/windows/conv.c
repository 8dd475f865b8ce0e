/* Convolutions and what flows back, as products of a matrix with windows that are never laid out as a whole:
 * their panels are packed from the image itself (windows.h), or read where they lie in one that is laid out
 * with zeros around it (image.c).
 *   y        [O, places]  = weight [O, taps] windows of x [taps, places]
 *   g weight [C, places]  = weight [C, taps] windows of g [taps, places], once for each phase of the stride
 *   g x      [O, taps]    = g [O, places] windows of x [places, taps]
 * Places are those of all samples, so that weights are packed once. Groups are products of their own. */

typedef struct oxi_conv {
    oxi_conv_form form;
    const oxi_call *call;
    int64_t sample; /* the first one */
    int64_t failed; /* atomic: status of a product that failed, or 0 */
    ox_status (*group)(const struct oxi_conv *c, int64_t group);
} oxi_conv;

static const char *oxi_conv_data(const oxi_conv_side *side, int64_t first, int64_t second) {
    return (const char *)oxi_ptr(side->t) +
           oxi_signed_bytes(side->t->dtype, first * side->stride[0] + second * side->stride[1]);
}

/* The elements of a side from `data` on as windows: a tap for each channel, all positions as places. */
static oxi_windows oxi_conv_elements(const oxi_conv_side *side, const char *data, bool channels_first) {
    oxi_windows w;
    w.data = data;
    w.dtype = side->t->dtype;
    w.channel_stride = side->stride[channels_first ? 0 : 1];
    w.sample_stride = side->stride[channels_first ? 1 : 0];
    for (int d = 0; d < 3; d++) {
        w.taps[d] = w.step[d] = 1;
        w.spacing[d] = w.origin[d] = 0;
        w.places[d] = w.size[d] = side->shape[2 + d];
        w.stride[d] = side->stride[2 + d];
    }
    return w;
}

/* The windows of x that y has. */
static oxi_windows oxi_conv_windows(const oxi_conv_form *f, const char *data) {
    oxi_windows w = oxi_conv_elements(&f->x, data, false);
    for (int d = 0; d < 3; d++) {
        w.taps[d] = f->weight.shape[2 + d];
        w.spacing[d] = f->dilation[d];
        w.places[d] = f->y.shape[2 + d];
        w.origin[d] = -f->padding[d];
        w.step[d] = f->stride[d];
    }
    return w;
}

/* ---- operands of products ------------------------------------------------------------------------------ */

/* a: rows are taps of w, which has `samples`. Numbers that lie evenly are read by strides. */
static void oxi_conv_set_a(oxi_gemm *g, oxi_windows *w, int64_t samples, ox_storage *storage) {
    int64_t offset, step;
    oxi_windows_join(w);
    g->a = w->data;
    g->a_dtype = w->dtype;
    g->a_windows = w;
    if (!oxi_windows_are_even(w, samples, &offset, &step)) return;
    g->a = w->data + oxi_signed_bytes(w->dtype, offset);
    g->a_row = w->channel_stride;
    g->a_col = step;
    g->a_windows = NULL;
    g->a_storage = storage;
}

static void oxi_conv_set_b(oxi_gemm *g, const oxi_windows *w, bool by_taps) {
    g->b = w->data;
    g->b_dtype = w->dtype;
    g->b_windows = w;
    g->b_by_taps = by_taps;
}

/* c: columns are places of w. */
static void oxi_conv_set_c(oxi_gemm *g, oxi_windows *w, int64_t samples) {
    int64_t offset, step;
    oxi_windows_join(w);
    g->c = (void *)(uintptr_t)w->data;
    g->c_dtype = w->dtype;
    g->c_row = w->channel_stride;
    g->c_places = w;
    if (!oxi_windows_are_even(w, samples, &offset, &step)) return;
    g->c = (char *)g->c + oxi_signed_bytes(w->dtype, offset);
    g->c_col = step;
    g->c_places = NULL;
}

/* A number a row of c. */
static void oxi_conv_add_bias(const oxi_conv *c, oxi_gemm *g, int64_t first) {
    const ox_tensor *bias = c->form.bias;
    if (!bias) return;
    g->addend = (const char *)oxi_ptr(bias) + oxi_signed_bytes(bias->dtype, first * bias->stride[0]);
    g->addend_dtype = bias->dtype;
    g->addend_row = bias->stride[0];
    g->addend_col = 0;
    g->beta = 1;
}

static oxi_gemm oxi_conv_product(const oxi_conv *c, int64_t m, int64_t n, int64_t k) {
    oxi_gemm g;
    memset(&g, 0, sizeof g);
    g.m = m;
    g.n = n;
    g.k = k;
    g.alpha = 1;
    g.exact = c->call->exact;
    g.way = OXI_WAY_PANELS;
    return g;
}

static int64_t oxi_spatial(const int64_t *sizes) {
    return sizes[0] * sizes[1] * sizes[2];
}

/* c = a b: from an image that is laid out, or from windows. */
static ox_status oxi_conv_run(const oxi_conv_form *f, oxi_gemm *g, oxi_image *image, oxi_windows *b,
                              oxi_windows *to) {
    if (image) return oxi_image_run(image, g, to);
    oxi_windows_join(b);
    oxi_conv_set_b(g, b, false);
    oxi_conv_set_c(g, to, f->samples);
    return oxi_gemm_run(g);
}

/* ---- the three ----------------------------------------------------------------------------------------- */

static ox_status oxi_conv_forward(const oxi_conv *c, int64_t group) {
    const oxi_conv_form *f = &c->form;
    int64_t first = group * f->outputs, places = oxi_spatial(f->y.shape + 2);
    int64_t taps = f->channels * oxi_spatial(f->weight.shape + 2);
    oxi_gemm g = oxi_conv_product(c, f->outputs, f->samples * places, taps);
    oxi_windows a = oxi_conv_elements(&f->weight, oxi_conv_data(&f->weight, first, 0), true);
    oxi_windows b = oxi_conv_windows(f, oxi_conv_data(&f->x, c->sample, group * f->channels));
    oxi_windows y = oxi_conv_elements(&f->y, oxi_conv_data(&f->y, c->sample, first), false);
    oxi_conv_set_a(&g, &a, f->channels, f->weight.t->storage);
    oxi_conv_add_bias(c, &g, first);
    oxi_image image;
    bool laid = oxi_image_takes(&image, f, &g, &b, f->channels);
    return oxi_conv_run(f, &g, laid ? &image : NULL, &b, &y);
}

static ox_status oxi_conv_back_weight(const oxi_conv *c, int64_t group) {
    const oxi_conv_form *f = &c->form;
    int64_t first = group * f->outputs, places = oxi_spatial(f->y.shape + 2);
    int64_t taps = f->channels * oxi_spatial(f->weight.shape + 2);
    oxi_gemm g = oxi_conv_product(c, f->outputs, taps, f->samples * places);
    oxi_windows a = oxi_conv_elements(&f->y, oxi_conv_data(&f->y, 0, first), false);
    oxi_windows b = oxi_conv_windows(f, oxi_conv_data(&f->x, 0, group * f->channels));
    oxi_windows w = oxi_conv_elements(&f->weight, oxi_conv_data(&f->weight, first, 0), true);
    oxi_conv_set_a(&g, &a, f->samples, NULL);
    oxi_windows_join(&b);
    oxi_conv_set_b(&g, &b, true);
    oxi_conv_set_c(&g, &w, f->channels);
    return oxi_gemm_run(&g);
}

/* Positions of x along one dim that are `stride` apart meet the same taps of the kernel, `period` apart. */
typedef struct oxi_conv_phase {
    int64_t start, count;      /* positions */
    int64_t tap, taps, period; /* the first tap, how many */
    int64_t place, spacing;    /* of g, where the first tap meets the first position; from tap to tap */
} oxi_conv_phase;

static oxi_conv_phase oxi_conv_phase_of(const oxi_conv_form *f, int d, int64_t start) {
    oxi_conv_phase p;
    int64_t stride = f->stride[d], dilation = f->dilation[d], kernel = f->weight.shape[2 + d];
    int64_t above = stride, common = dilation; /* greatest common divisor */
    while (above % common) {
        int64_t rest = above % common;
        above = common;
        common = rest;
    }
    p.start = start;
    p.count = (f->x.shape[2 + d] - 1 - start) / stride + 1;
    p.period = stride / common;
    p.spacing = dilation / common;
    p.tap = 0;
    while (p.tap < kernel && p.tap < p.period && (start + f->padding[d] - p.tap * dilation) % stride) p.tap++;
    bool meets = p.tap < kernel && p.tap < p.period;
    p.taps = meets ? (kernel - 1 - p.tap) / p.period + 1 : 0;
    p.place = (start + f->padding[d] - p.tap * dilation) / stride;
    return p;
}

/* The weights as [channels][taps][outputs], whose runs are steps of what flows back: each phase reads some of
 * the taps, numbers that lie far apart otherwise. The caller frees it; NULL: no memory. */
static char *oxi_conv_turned(const oxi_conv_form *f, size_t *bytes) {
    const int64_t *k = f->weight.shape + 2, *w = f->weight.stride, o = f->outputs;
    int64_t element = oxi_info(f->weight.t->dtype)->block_bytes;
    const int64_t shape[5] = {f->channels, k[0], k[1], k[2], o}, from[5] = {w[1], w[2], w[3], w[4], w[0]};
    const int64_t to[5] = {oxi_spatial(k) * o, k[1] * k[2] * o, k[2] * o, o, 1};
    *bytes = (size_t)(f->channels * to[0] * element);
    char *memory = (char *)oxi_alloc(*bytes);
    if (!memory) return NULL;
    oxi_walk walk;
    oxi_walk_begin(&walk, 5, shape);
    oxi_walk_add_raw(&walk, memory, element, to);
    oxi_walk_add_raw(&walk, (char *)(uintptr_t)oxi_conv_data(&f->weight, 0, 0), element, from);
    oxi_walk_ready(&walk, OXI_WALK_TILED);
    walk.moves = walk.step[0] == 1;
    if (oxi_walk_all(&walk, OXI_COPY_GRAIN, OXI_COPY_GRAIN, oxi_copy_piece, NULL) == OX_OK) return memory;
    oxi_free(memory, *bytes);
    return NULL;
}

/* The phase's taps of these, taps before outputs. */
static oxi_windows oxi_conv_turned_taps(const oxi_conv_form *f, const oxi_conv_phase *phase,
                                        const char *turned) {
    const int64_t *k = f->weight.shape + 2, o = f->outputs;
    oxi_windows w = oxi_conv_elements(&f->weight, turned, false);
    w.channel_stride = oxi_spatial(k) * o;
    w.sample_stride = phase[0].period * k[1] * k[2] * o;
    w.data += oxi_signed_bytes(w.dtype, phase[0].tap * k[1] * k[2] * o);
    for (int d = 0; d < 2; d++) {
        w.origin[d] = phase[1 + d].tap;
        w.step[d] = phase[1 + d].period;
        w.places[d] = phase[1 + d].taps;
        w.size[d] = k[1 + d];
        w.stride[d] = d ? o : k[2] * o;
    }
    w.origin[2] = 0;
    w.step[2] = w.stride[2] = 1;
    w.places[2] = w.size[2] = o;
    return w;
}

/* turned: NULL, or the weights as above. */
static ox_status oxi_conv_back_phase(const oxi_conv *c, int64_t group, const oxi_conv_phase *phase,
                                     const char *turned) {
    const oxi_conv_form *f = &c->form;
    int64_t first = group * f->outputs, places = 1, taps = f->outputs;
    for (int d = 0; d < 3; d++) {
        places *= phase[d].count;
        taps *= phase[d].taps;
    }
    oxi_gemm g = oxi_conv_product(c, f->channels, f->samples * places, taps);
    oxi_windows a = oxi_conv_elements(&f->weight, oxi_conv_data(&f->weight, first, 0), false);
    oxi_windows b = oxi_conv_elements(&f->y, oxi_conv_data(&f->y, c->sample, first), false);
    oxi_windows x = oxi_conv_elements(&f->x, oxi_conv_data(&f->x, c->sample, group * f->channels), false);
    for (int d = 0; d < 3 && taps > 0; d++) {
        a.origin[d] = phase[d].tap;
        a.step[d] = phase[d].period;
        a.places[d] = b.taps[d] = phase[d].taps;
        b.origin[d] = phase[d].place;
        b.spacing[d] = -phase[d].spacing;
        b.places[d] = phase[d].count;
    }
    for (int d = 0; d < 3; d++) {
        x.origin[d] = phase[d].start;
        x.step[d] = f->stride[d];
        x.places[d] = phase[d].count;
    }
    oxi_conv_set_a(&g, &a, f->outputs, NULL);
    oxi_conv_add_bias(c, &g, group * f->channels);
    oxi_image image;
    bool laid = oxi_image_takes(&image, f, &g, &b, f->outputs);
    if (turned && taps > 0 && (laid ? f->outputs % image.type.k_each == 0 : taps == f->outputs)) {
        a = oxi_conv_turned_taps(f, phase, turned);
        image.by_taps = true;
        oxi_conv_set_a(&g, &a, phase[0].taps, NULL);
    }
    return oxi_conv_run(f, &g, laid ? &image : NULL, &b, &x);
}

static ox_status oxi_conv_back_input(const oxi_conv *c, int64_t group) {
    const oxi_conv_form *f = &c->form;
    int64_t count[3];
    ox_status status = OX_OK;
    oxi_conv_phase phase[3];
    bool apart = f->stride[0] > f->weight.shape[2] || f->stride[1] > f->weight.shape[3] ||
                 f->stride[2] > f->weight.shape[4]; /* some positions meet no tap */
    bool zeros = apart && !f->bias && f->groups == 1 && ox_is_contiguous(f->x.t);
    if (zeros) memset(oxi_ptr(f->x.t), 0, ox_nbytes(f->x.t));
    for (int d = 0; d < 3; d++) count[d] = oxi_min_i64(f->stride[d], f->x.shape[2 + d]);
    size_t bytes = 0;
    bool steps = f->stride[0] > 1 || f->stride[1] > 1 || f->stride[2] > 1;
    bool turns = steps && f->groups == 1 && f->outputs > 0;
    char *turned = turns ? oxi_conv_turned(f, &bytes) : NULL;
    if (turns && !turned) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < oxi_spatial(count) && status == OX_OK; i++) {
        phase[0] = oxi_conv_phase_of(f, 0, i / count[2] / count[1]);
        phase[1] = oxi_conv_phase_of(f, 1, i / count[2] % count[1]);
        phase[2] = oxi_conv_phase_of(f, 2, i % count[2]);
        bool meets = phase[0].taps > 0 && phase[1].taps > 0 && phase[2].taps > 0;
        if (meets || !zeros) status = oxi_conv_back_phase(c, group, phase, turned);
    }
    if (turned) oxi_free(turned, bytes);
    return status;
}

/* ---- with fewer products ------------------------------------------------------------------------------- */

/* Forward, or back to the image. */
static oxi_winograd oxi_conv_winograd(const oxi_conv *c, int64_t group) {
    const oxi_conv_form *f = &c->form;
    const int64_t *stride = f->weight.stride;
    bool back = c->call->op == OXI_OP_conv_back_input;
    const oxi_conv_side *from = back ? &f->y : &f->x, *to = back ? &f->x : &f->y;
    int64_t own = back ? f->channels : f->outputs;
    oxi_winograd w;
    memset(&w, 0, sizeof w);
    w.dtype = from->t->dtype;
    w.from.image = *from;
    w.to = *to;
    w.from.channels = back ? f->outputs : f->channels;
    w.outputs = own;
    w.from.data = oxi_conv_data(from, 0, group * w.from.channels);
    w.to_data = oxi_conv_data(to, 0, group * own);
    w.weight = oxi_conv_data(&f->weight, group * f->outputs, 0);
    w.weight_in = stride[back ? 0 : 1];
    w.weight_out = stride[back ? 1 : 0];
    w.weight_row = back ? -stride[3] : stride[3];
    w.weight_tap = back ? -stride[4] : stride[4];
    if (back) w.weight += 2 * (2 * stride[3] + 2 * stride[4]);
    for (int d = 0; d < 2; d++) w.from.origin[d] = back ? f->padding[1 + d] - 2 : -f->padding[1 + d];
    w.bias = f->bias;
    if (f->bias)
        w.bias_data = (const char *)oxi_ptr(f->bias) +
                      oxi_signed_bytes(f->bias->dtype, group * own * f->bias->stride[0]);
    return w;
}

/* Back to weights. */
static oxi_winograd oxi_conv_winograd_back(const oxi_conv *c, int64_t group) {
    const oxi_conv_form *f = &c->form;
    oxi_winograd w;
    memset(&w, 0, sizeof w);
    w.dtype = f->x.t->dtype;
    w.from.image = f->x;
    w.from.channels = f->channels;
    w.from.data = oxi_conv_data(&f->x, 0, group * f->channels);
    for (int d = 0; d < 2; d++) w.from.origin[d] = -f->padding[1 + d];
    w.by.image = f->y;
    w.by.channels = f->outputs;
    w.by.data = oxi_conv_data(&f->y, 0, group * f->outputs);
    w.to = f->weight;
    w.to_data = oxi_conv_data(&f->weight, group * f->outputs, 0);
    return w;
}

static ox_status oxi_conv_fewer_back(const oxi_conv *c, int64_t group) {
    oxi_winograd w = oxi_conv_winograd_back(c, group);
    int64_t failed = 0;
    ox_status status = oxi_winograd_run_back(&w, &failed);
    return failed && status == OX_OK ? oxi_conv_back_weight(c, group) : status;
}

static ox_status oxi_conv_fewer(const oxi_conv *c, int64_t group) {
    size_t bytes = (size_t)c->form.samples * sizeof(int64_t);
    int64_t *failed = (int64_t *)oxi_alloc(bytes);
    if (!failed) return OX_ERR_NOMEM;
    memset(failed, 0, bytes);
    oxi_winograd w = oxi_conv_winograd(c, group);
    ox_status status = oxi_winograd_run(&w, failed);
    for (int64_t i = 0; i < c->form.samples && status == OX_OK; i++) {
        if (!failed[i]) continue;
        oxi_conv one = *c;
        one.form.samples = 1;
        one.sample = i;
        status = (c->call->op == OXI_OP_conv ? oxi_conv_forward : oxi_conv_back_input)(&one, group);
    }
    oxi_free(failed, bytes);
    return status;
}

/* ---- the executor -------------------------------------------------------------------------------------- */

static void oxi_conv_task(void *arg, int64_t group, int lane) {
    oxi_conv *c = (oxi_conv *)arg;
    (void)lane;
    if (oxi_atomic_load(&c->failed)) return;
    ox_status status = c->group(c, group);
    if (status != OX_OK) oxi_atomic_store(&c->failed, (int64_t)status);
}

static ox_status oxi_cpu_conv(const oxi_call *call) {
    oxi_conv c;
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    memset(&c, 0, sizeof c);
    oxi_conv_form_of(call, &c.form);
    if (oxi_conv_is_depthwise(&c.form)) return oxi_depthwise_run(&c.form, call);
    c.call = call;
    c.group = call->op == OXI_OP_conv              ? oxi_conv_forward
              : call->op == OXI_OP_conv_back_input ? oxi_conv_back_input
                                                   : oxi_conv_back_weight;
    if (oxi_winograd_takes(&c.form, call))
        c.group = c.group == oxi_conv_back_weight ? oxi_conv_fewer_back : oxi_conv_fewer;
    double each = oxi_conv_form_flops(&c.form) / (double)c.form.groups;
    if (c.form.groups > 1 && (each < 5e7 || c.form.groups >= 8 * (int64_t)oxi_lanes(c.form.groups))) {
        oxi_parallel_for(c.form.groups, oxi_conv_task, &c);
        return (ox_status)oxi_atomic_load(&c.failed);
    }
    for (int64_t group = 0; group < c.form.groups; group++) {
        ox_status status = c.group(&c, group);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}
