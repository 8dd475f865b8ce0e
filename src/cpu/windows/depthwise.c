/* Convolutions whose groups have few channels: each image of the result is a sum of a few images times a
 * number, line by line. A product of so few rows would spend its time on packing. Called by conv.c:
 *   y += w[k] x, shifted by tap k           gx += w[k] g, shifted back           gw[k] = x, shifted, times g
 * f32 and f64 sums; a sum is taken tap by tap whatever the threads do. */

enum { OXI_DEPTHWISE_CHANNELS = 4 };

typedef struct oxi_depthwise {
    const oxi_conv_form *form;
    const oxi_kernels *kernels;
    oxi_lane lane;
    oxi_op op;
    int element;
    char *scratch;                   /* of each lane: an image of sums, a line */
    size_t lane_bytes;
} oxi_depthwise;

/* Where tap i of dim d meets: places [first, end) of y are at position first * stride + shift of x. */
typedef struct oxi_depthwise_reach {
    int64_t first, end, shift;
} oxi_depthwise_reach;

static oxi_depthwise_reach oxi_depthwise_reach_of(const oxi_conv_form *f, int d, int64_t i) {
    oxi_depthwise_reach r;
    int64_t stride = f->stride[d];
    r.shift = i * f->dilation[d] - f->padding[d];
    r.first = r.shift >= 0 ? 0 : (-r.shift + stride - 1) / stride;
    int64_t left = f->x.shape[2 + d] - 1 - r.shift;
    r.end = left < 0 ? 0 : oxi_min_i64(f->y.shape[2 + d], left / stride + 1);
    if (r.end < r.first) r.end = r.first;
    return r;
}

static void oxi_depthwise_load(const oxi_depthwise *w, const oxi_conv_side *side, const int64_t *at,
                               int64_t n, int64_t step, void *out) {
    int64_t offset = 0;
    for (int d = 0; d < 5; d++) offset += at[d] * side->stride[d];
    const char *from = (const char *)oxi_ptr(side->t) + oxi_signed_bytes(side->t->dtype, offset);
    w->kernels->load[side->t->dtype][w->lane](n, from, step * side->stride[4], out);
}

/* y[i step] += s x[i] */
static void oxi_depthwise_add(const oxi_depthwise *w, int64_t n, double s, const void *x, char *y,
                              int64_t step) {
    if (w->lane == OXI_LANE_F64)
        for (int64_t i = 0; i < n; i++) ((double *)(void *)y)[i * step] += s * ((const double *)x)[i];
    else if (step == 1)
        w->kernels->axpy_f32(n, (float)s, (const float *)x, (float *)(void *)y);
    else
        for (int64_t i = 0; i < n; i++) ((float *)(void *)y)[i * step] += (float)s * ((const float *)x)[i];
}

static double oxi_depthwise_dot(const oxi_depthwise *w, int64_t n, const void *a, const void *b) {
    double sum = 0;
    if (w->lane == OXI_LANE_F32) return w->kernels->dot_f32(n, (const float *)a, (const float *)b);
    for (int64_t i = 0; i < n; i++) sum += ((const double *)a)[i] * ((const double *)b)[i];
    return sum;
}

/* Lines of one tap: of image `c` of x and `o` of y, of one sample. sums: the image that is added to, if any;
 * returns the tap's gradient where that is asked for. */
static double oxi_depthwise_tap(const oxi_depthwise *w, int64_t sample, int64_t c, int64_t o,
                                const int64_t *k, double number, char *sums, char *line) {
    const oxi_conv_form *f = w->form;
    oxi_depthwise_reach r[3];
    double total = 0;
    for (int d = 0; d < 3; d++) r[d] = oxi_depthwise_reach_of(f, d, k[d]);
    int64_t n = r[2].end - r[2].first;
    const oxi_conv_side *to = w->op == OXI_OP_conv ? &f->y : &f->x;
    for (int64_t z = r[0].first; z < r[0].end && n > 0; z++)
        for (int64_t y = r[1].first; y < r[1].end; y++) {
            int64_t at_y[5] = {sample, o, z, y, r[2].first};
            int64_t at_x[5] = {sample, c, z * f->stride[0] + r[0].shift, y * f->stride[1] + r[1].shift,
                               r[2].first * f->stride[2] + r[2].shift};
            const int64_t *at = w->op == OXI_OP_conv ? at_y : at_x;
            int64_t place = (at[2] * to->shape[3] + at[3]) * to->shape[4] + at[4];
            char *row = sums ? sums + place * w->element : NULL;
            if (w->op == OXI_OP_conv) oxi_depthwise_load(w, &f->x, at_x, n, f->stride[2], line);
            else oxi_depthwise_load(w, &f->y, at_y, n, 1, line);
            if (w->op == OXI_OP_conv) oxi_depthwise_add(w, n, number, line, row, 1);
            else if (w->op == OXI_OP_conv_back_input)
                oxi_depthwise_add(w, n, number, line, row, f->stride[2]);
            else {
                char *other = line + oxi_align_up((size_t)(f->y.shape[4] * w->element));
                oxi_depthwise_load(w, &f->x, at_x, n, f->stride[2], other);
                total += oxi_depthwise_dot(w, n, line, other);
            }
        }
    return total;
}

static double oxi_depthwise_number(const oxi_depthwise *w, int64_t o, int64_t c, const int64_t *k) {
    const int64_t at[5] = {o, c, k[0], k[1], k[2]};
    union {
        float f32;
        double f64;
    } number;
    oxi_depthwise_load(w, &w->form->weight, at, 1, 1, &number);
    return w->lane == OXI_LANE_F64 ? number.f64 : number.f32;
}

static void oxi_depthwise_store(const oxi_depthwise *w, const oxi_conv_side *side, const int64_t *at,
                                int64_t n, const void *from) {
    int64_t offset = 0;
    for (int d = 0; d < 5; d++) offset += at[d] * side->stride[d];
    char *to = (char *)oxi_ptr(side->t) + oxi_signed_bytes(side->t->dtype, offset);
    w->kernels->store[side->t->dtype][w->lane](n, from, to, side->stride[4]);
}

/* Task: one image of y or of the gradient of x. */
static void oxi_depthwise_image(void *arg, int64_t index, int lane) {
    const oxi_depthwise *w = (const oxi_depthwise *)arg;
    const oxi_conv_form *f = w->form;
    bool back = w->op == OXI_OP_conv_back_input;
    const oxi_conv_side *to = back ? &f->x : &f->y;
    int64_t own = index % to->shape[1], sample = index / to->shape[1], k[3];
    int64_t group = own / (back ? f->channels : f->outputs), others = back ? f->outputs : f->channels;
    int64_t lines = to->shape[2] * to->shape[3], columns = to->shape[4];
    char *sums = w->scratch + (size_t)lane * w->lane_bytes;
    char *line = sums + oxi_align_up((size_t)(lines * columns * w->element));
    memset(sums, 0, (size_t)(lines * columns * w->element));
    for (int64_t i = 0; i < others; i++) {
        int64_t other = group * others + i, c = back ? own : other, o = back ? other : own;
        for (k[0] = 0; k[0] < f->weight.shape[2]; k[0]++)
            for (k[1] = 0; k[1] < f->weight.shape[3]; k[1]++)
                for (k[2] = 0; k[2] < f->weight.shape[4]; k[2]++)
                    (void)oxi_depthwise_tap(w, sample, c, o, k,
                                            oxi_depthwise_number(w, o, c % f->channels, k), sums, line);
    }
    if (f->bias) {
        char one[8];
        const char *from = (const char *)oxi_ptr(f->bias) +
                           oxi_signed_bytes(f->bias->dtype, own * f->bias->stride[0]);
        w->kernels->load[f->bias->dtype][w->lane](1, from, 1, one);
        for (int64_t i = 0; i < lines * columns; i++) {
            if (w->lane == OXI_LANE_F64) ((double *)(void *)sums)[i] += *(double *)(void *)one;
            else ((float *)(void *)sums)[i] += *(float *)(void *)one;
        }
    }
    for (int64_t i = 0; i < lines; i++) {
        int64_t at[5] = {sample, own, i / to->shape[3], i % to->shape[3], 0};
        oxi_depthwise_store(w, to, at, columns, sums + i * columns * w->element);
    }
}

/* Task: one number of the gradient of the weight. */
static void oxi_depthwise_weight(void *arg, int64_t index, int lane) {
    const oxi_depthwise *w = (const oxi_depthwise *)arg;
    const oxi_conv_form *f = w->form;
    char *line = w->scratch + (size_t)lane * w->lane_bytes;
    int64_t at[5];
    for (int d = 4; d >= 0; d--) {
        at[d] = index % f->weight.shape[d];
        index /= f->weight.shape[d];
    }
    double total = 0;
    int64_t c = at[0] / f->outputs * f->channels + at[1];
    for (int64_t sample = 0; sample < f->samples; sample++)
        total += oxi_depthwise_tap(w, sample, c, at[0], at + 2, 0, NULL, line);
    float narrow = (float)total;
    oxi_depthwise_store(w, &f->weight, at, 1, w->lane == OXI_LANE_F64 ? (void *)&total : (void *)&narrow);
}

static bool oxi_conv_is_depthwise(const oxi_conv_form *f) {
    return f->groups > 1 && f->channels <= OXI_DEPTHWISE_CHANNELS && f->outputs <= OXI_DEPTHWISE_CHANNELS;
}

static ox_status oxi_depthwise_run(const oxi_conv_form *f, const oxi_call *call) {
    oxi_depthwise w;
    bool weight = call->op == OXI_OP_conv_back_weight;
    const oxi_conv_side *to = call->op == OXI_OP_conv ? &f->y : &f->x;
    w.form = f;
    w.kernels = oxi_cpu_kernels();
    w.op = call->op;
    w.lane = call->out[0]->dtype == OX_F64 ? OXI_LANE_F64 : OXI_LANE_F32;
    w.element = w.lane == OXI_LANE_F64 ? 8 : 4;
    int64_t pixels = weight ? 0 : to->shape[2] * to->shape[3] * to->shape[4];
    w.lane_bytes = oxi_align_up((size_t)(pixels * w.element)) +
                   2 * oxi_align_up((size_t)(f->y.shape[4] * w.element));
    int64_t tasks = weight ? ox_numel(call->out[0]) : to->shape[0] * to->shape[1];
    size_t bytes = (size_t)oxi_lanes(tasks) * w.lane_bytes;
    w.scratch = (char *)oxi_alloc(bytes);
    if (!w.scratch) return OX_ERR_NOMEM;
    oxi_parallel_for(tasks, weight ? oxi_depthwise_weight : oxi_depthwise_image, &w);
    oxi_free(w.scratch, bytes);
    return OX_OK;
}
