/* Gradients of the weights of two-dimensional convolutions, without laying out all of their windows: conv.c's
 *   g x [O, taps] = g [O, places] windows of x [places, taps]
 * where a panel of x has lines of (channel, column of the kernel) and all rows: a row of the kernel is the
 * same panel from so many rows further down, so a kernel of 3 x 3 packs an image three times and not nine.
 * Places are taken some rows of an image at a time, a step; a sum is cut where steps are, whatever the
 * threads do. */

enum {
    OXI_BACK_WEIGHT_DEPTH = 512,    /* packed elements of k of a step */
    OXI_BACK_WEIGHT_SUMS = 1 << 17, /* bytes of sums of a task */
    OXI_BACK_WEIGHT_WIDEST = 4096,  /* columns of y: a line of them is laid out at once */
    OXI_BACK_WEIGHT_LINES = 32,     /* no panel is wider */
    OXI_BACK_WEIGHT_PLACES = 1024,  /* with fewer, sums are stored too often */
    OXI_BACK_WEIGHT_PACKED = 8 << 20 /* bytes of panels at a time */
};

typedef struct oxi_back_weight {
    const oxi_conv_form *form;
    oxi_gemm_plan plan;
    int64_t output, channel;  /* the first ones of the group */
    int64_t lines, columns;   /* of x: channels x columns of the kernel */
    int64_t taps, phases;     /* rows of the kernel; phases of x's rows, which lie a stride apart */
    int64_t wide;             /* columns of y, whole packed elements */
    int64_t rows, x_rows;     /* of y in a step, of a phase of x */
    int64_t a_panels, b_panels, a_panel, b_panel; /* how many, and bytes of one */
    int64_t steps, first, count; /* all of them, those at work */
    int64_t most, group, parts; /* steps at work at most; panels of A of a task; parts of the taps */
    char *a, *b, *sums, *scratch; /* sums: NULL if all steps are worked at once */
    size_t lane_bytes, sums_at;
} oxi_back_weight;

static int64_t oxi_back_weight_row(const oxi_back_weight *w, int64_t step, int64_t *sample) {
    int64_t each = oxi_parts(w->form->y.shape[3], w->rows);
    *sample = step / each;
    return step % each * w->rows;
}

/* ---- panels -------------------------------------------------------------------------------------------- */

/* Lines of some channels of w, whose places are those of a panel. Columns from `end` on are none of y's. */
static void oxi_back_weight_pack(const oxi_back_weight *w, const oxi_gemm_side *side, const oxi_windows *from,
                                 int64_t line, int64_t lines, int64_t end, char *panel, char *stage) {
    int64_t bytes = oxi_info(from->dtype)->block_bytes, wide = from->places[2];
    int64_t most = OXI_GEMM_SLAB / (lines * wide * bytes), element = w->plan.type.element;
    oxi_gemm_side flat = *side;
    flat.data = stage + OXI_GEMM_STAGE;
    flat.dtype = from->dtype;
    flat.k_stride = 1;
    if (most < 1) most = 1;
    for (int64_t row = 0, rows; row < from->places[1]; row += rows) {
        rows = oxi_min_i64(from->places[1] - row, most);
        flat.k = flat.line_stride = rows * wide;
        int64_t depth = flat.k / w->plan.type.k_each;
        char *slab = stage + OXI_GEMM_STAGE;
        oxi_windows_read(from, line, lines, row * wide, flat.k, slab, flat.k);
        for (int64_t i = 0; end < wide && i < lines * rows; i++)
            memset(slab + (i * wide + end) * bytes, 0, (size_t)((wide - end) * bytes));
        oxi_gemm_pack_along(&w->plan, &flat, 0, lines, 0, depth, panel, depth * side->width, stage);
        panel += depth * side->width * element;
    }
}

static void oxi_back_weight_pack_g(const oxi_back_weight *w, int64_t sample, int64_t row, int64_t index,
                                   char *panel, char *stage) {
    const oxi_conv_form *f = w->form;
    int64_t width = w->plan.a.width, line = index * width;
    oxi_windows g = oxi_conv_elements(&f->y, oxi_conv_data(&f->y, sample, w->output), false);
    g.origin[1] = row;
    g.places[1] = oxi_min_i64(w->rows, f->y.shape[3] - row);
    g.places[2] = w->wide;
    oxi_back_weight_pack(w, &w->plan.a, &g, line, oxi_min_i64(width, f->outputs - line), w->wide, panel,
                         stage);
}

static bool oxi_back_weight_meets(const oxi_back_weight *w, int64_t phase) {
    for (int64_t k = 0; k < w->taps; k++)
        if (k * w->form->dilation[1] % w->form->stride[1] == phase) return true;
    return false;
}

static void oxi_back_weight_pack_x(const oxi_back_weight *w, int64_t sample, int64_t row, int64_t index,
                                   char *panel, char *stage) {
    const oxi_conv_form *f = w->form;
    int64_t width = w->plan.b.width, line = index * width, lines = oxi_min_i64(width, w->lines - line);
    oxi_windows x = oxi_conv_elements(&f->x, oxi_conv_data(&f->x, sample, w->channel), false);
    x.taps[2] = w->columns;
    x.spacing[2] = f->dilation[2];
    x.origin[2] = -f->padding[2];
    x.places[1] = w->x_rows - w->rows + oxi_min_i64(w->rows, f->y.shape[3] - row);
    x.places[2] = w->wide;
    for (int d = 1; d < 3; d++) x.step[d] = f->stride[d];
    for (int64_t phase = 0; phase < w->phases; phase++, panel += w->b_panel / w->phases) {
        x.origin[1] = row * f->stride[1] + phase - f->padding[1];
        if (oxi_back_weight_meets(w, phase))
            oxi_back_weight_pack(w, &w->plan.b, &x, line, lines, f->y.shape[4], panel, stage);
    }
}

/* Task: a panel of a step. */
static void oxi_back_weight_panel(void *arg, int64_t index, int lane) {
    const oxi_back_weight *w = (const oxi_back_weight *)arg;
    int64_t all = w->a_panels + w->b_panels, step = index / all, i = index % all, sample;
    int64_t row = oxi_back_weight_row(w, w->first + step, &sample);
    char *stage = w->scratch + (size_t)lane * w->lane_bytes;
    if (i < w->a_panels)
        oxi_back_weight_pack_g(w, sample, row, i, w->a + (step * w->a_panels + i) * w->a_panel, stage);
    else {
        i -= w->a_panels;
        oxi_back_weight_pack_x(w, sample, row, i, w->b + (step * w->b_panels + i) * w->b_panel, stage);
    }
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

#define OXI_SPREAD_NUMBERS(type) \
    for (int64_t l = 0; l < n; l++) memcpy(to + at[l], from + l * (int64_t)sizeof(type), sizeof(type))

/* Sums [tap][output][line] of a panel of each to the weight. */
static void oxi_back_weight_store(const oxi_back_weight *w, int64_t output, int64_t line, const char *sums,
                                  int64_t tap, int64_t end) {
    const oxi_conv_side *weight = &w->form->weight;
    int64_t nr = w->plan.b.width, row = nr * w->plan.type.element, at[OXI_BACK_WEIGHT_LINES];
    int64_t rows = oxi_min_i64(w->plan.a.width, w->form->outputs - output);
    int64_t n = oxi_min_i64(nr, w->lines - line), bytes = oxi_info(weight->t->dtype)->block_bytes;
    oxi_store_kernel store = w->plan.kernels->store[weight->t->dtype][w->plan.type.lane];
    char from[8 * OXI_BACK_WEIGHT_LINES];
    for (int64_t l = 0; l < n; l++)
        at[l] = ((line + l) / w->columns * weight->stride[1] + (line + l) % w->columns * weight->stride[4]) *
                bytes;
    for (int64_t t = tap; t < end; t++)
        for (int64_t i = 0; i < rows; i++) {
            char *to = (char *)(uintptr_t)oxi_conv_data(weight, w->output + output + i, 0) +
                       t * weight->stride[3] * bytes;
            store(n, sums + (t * w->plan.a.width + i) * row, from, 1);
            if (bytes == 2) OXI_SPREAD_NUMBERS(uint16_t);
            else if (bytes == 4) OXI_SPREAD_NUMBERS(float);
            else OXI_SPREAD_NUMBERS(double);
        }
}
#undef OXI_SPREAD_NUMBERS

/* Some taps times a panel of g of a step. */
static void oxi_back_weight_multiply(const oxi_back_weight *w, int64_t step, int64_t i, int64_t j,
                                     int64_t tap, int64_t end, char *sums, char *copies) {
    const oxi_conv_form *f = w->form;
    const oxi_gemm_type *type = &w->plan.type;
    int64_t sample, row = oxi_back_weight_row(w, w->first + step, &sample), nr = w->plan.b.width;
    int64_t line = w->wide / type->k_each, each = w->plan.a.width * nr * type->element;
    int64_t k = oxi_min_i64(w->rows, f->y.shape[3] - row) * line;
    const char *a = w->a + (step * w->a_panels + i) * w->a_panel;
    const char *b = w->b + (step * w->b_panels + j) * w->b_panel;
    if (type->copies) type->copies(k, a, copies);
    for (; tap < end; tap++) {
        int64_t down = tap * f->dilation[1];
        const char *from = b + down % f->stride[1] * (w->b_panel / w->phases);
        from += down / f->stride[1] * line * nr * type->element;
        type->kernel->run(k, type->copies ? copies : a, from, sums + tap * each, nr, w->first + step > 0,
                          from);
    }
}

/* Task: some panels of g, one of x and a part of the taps. */
static void oxi_back_weight_task(void *arg, int64_t index, int lane) {
    const oxi_back_weight *w = (const oxi_back_weight *)arg;
    int64_t groups = oxi_parts(w->a_panels, w->group), part = index % w->parts, j = index / w->parts / groups;
    int64_t i = index / w->parts % groups * w->group, count = oxi_min_i64(w->group, w->a_panels - i);
    int64_t tap = w->taps * part / w->parts, end = w->taps * (part + 1) / w->parts;
    int64_t mr = w->plan.a.width, nr = w->plan.b.width, each = w->taps * mr * nr * w->plan.type.element;
    char *own = w->scratch + (size_t)lane * w->lane_bytes;
    char *sums = w->sums ? w->sums + (j * w->a_panels + i) * each : own + w->sums_at;
    for (int64_t step = 0; step < w->count; step++)
        for (int64_t p = 0; p < count; p++)
            oxi_back_weight_multiply(w, step, i + p, j, tap, end, sums + p * each, own);
    for (int64_t p = 0; p < count && w->first + w->count == w->steps; p++)
        oxi_back_weight_store(w, (i + p) * mr, j * nr, sums + p * each, tap, end);
}

/* ---- the call ------------------------------------------------------------------------------------------ */

/* Panels and steps, of rows; false where they are not worth it: tiles (amx.inc) have panels of their own, and
 * few rows, far apart, share too little. */
static bool oxi_back_weight_plan(oxi_back_weight *w) {
    const oxi_conv_form *f = w->form;
    const oxi_gemm_type *type = &w->plan.type;
    if (f->x.shape[2] != 1 || f->weight.shape[2] != 1 || f->y.shape[2] != 1 || f->padding[0]) return false;
    if (f->weight.shape[3] < 2 || f->y.shape[4] > OXI_BACK_WEIGHT_WIDEST) return false;
    if (type->kernel->tile_k || type->kernel->nr > OXI_BACK_WEIGHT_LINES) return false;
    w->taps = f->weight.shape[3];
    w->columns = f->weight.shape[4];
    w->lines = f->channels * w->columns;
    w->wide = oxi_round_up(f->y.shape[4], type->k_each);
    int64_t high = f->y.shape[3], line = w->wide / type->k_each, reach = (w->taps - 1) * f->dilation[1];
    int64_t rows = oxi_min_i64(high, line < OXI_BACK_WEIGHT_DEPTH ? OXI_BACK_WEIGHT_DEPTH / line : 1);
    w->rows = oxi_parts(high, oxi_parts(high, rows)); /* steps that are equal */
    w->steps = f->samples * oxi_parts(high, w->rows);
    w->phases = oxi_min_i64(f->stride[1], reach + 1);
    w->x_rows = w->rows + reach / f->stride[1];
    return w->x_rows <= w->taps * w->rows / w->phases;
}

/* Sizes of all that; its bytes. */
static size_t oxi_back_weight_size(oxi_back_weight *w) {
    const oxi_conv_form *f = w->form;
    const oxi_gemm_type *type = &w->plan.type;
    int64_t mr = w->plan.a.width, nr = w->plan.b.width, element = type->element, lanes = oxi_lanes(INT32_MAX);
    int64_t line = w->wide / type->k_each;
    w->a_panels = oxi_parts(f->outputs, mr);
    w->b_panels = oxi_parts(w->lines, nr);
    w->a_panel = w->rows * line * mr * element;
    w->b_panel = w->phases * w->x_rows * line * nr * element;
    int64_t step = w->a_panels * w->a_panel + w->b_panels * w->b_panel, sums = w->taps * mr * nr * element;
    w->most = oxi_min_i64(w->steps, step < OXI_BACK_WEIGHT_PACKED ? OXI_BACK_WEIGHT_PACKED / step : 1);
    w->group = oxi_min_i64(w->a_panels, sums < OXI_BACK_WEIGHT_SUMS ? OXI_BACK_WEIGHT_SUMS / sums : 1);
    while (w->group > 1 && oxi_parts(w->a_panels, w->group) * w->b_panels < 8 * lanes) w->group--;
    int64_t tasks = oxi_parts(w->a_panels, w->group) * w->b_panels;
    w->parts = tasks < 4 * lanes ? w->taps : 1;
    size_t copies = type->copies ? (size_t)(w->a_panel * type->lanes) : 0, stage = OXI_GEMM_STAGE;
    size_t slab = (size_t)(nr > mr ? nr : mr) * (size_t)w->wide * 8; /* numbers have at most 8 bytes */
    stage += slab > OXI_GEMM_SLAB ? slab : OXI_GEMM_SLAB;
    if (stage < copies) stage = copies;
    w->sums_at = oxi_align_up(stage);
    bool once = w->most == w->steps;
    w->lane_bytes = w->sums_at + (once ? oxi_align_up((size_t)(w->group * sums)) : 0);
    return (size_t)(w->most * step) + 2 * OXI_ALIGN + (size_t)lanes * w->lane_bytes +
           (once ? 0 : (size_t)(w->a_panels * w->b_panels * sums));
}

static bool oxi_back_weight_run(const oxi_conv_form *f, const oxi_gemm *g, int64_t group, ox_status *status) {
    oxi_back_weight w;
    if (oxi_gemm_is_small(g) || g->k < OXI_BACK_WEIGHT_PLACES) return false;
    memset(&w, 0, sizeof w);
    w.form = f;
    w.output = group * f->outputs;
    w.channel = group * f->channels;
    w.plan.g = g;
    w.plan.kernels = oxi_cpu_kernels();
    if (oxi_gemm_type_of(g, w.plan.kernels, &w.plan.type) != OX_OK || !oxi_back_weight_plan(&w)) return false;
    oxi_gemm_sides(&w.plan);
    size_t bytes = oxi_back_weight_size(&w);
    char *memory = (char *)oxi_alloc(bytes);
    *status = memory ? OX_OK : OX_ERR_NOMEM;
    if (!memory) return true;
    w.b = memory;
    w.a = w.b + oxi_align_up((size_t)(w.most * w.b_panels * w.b_panel));
    w.scratch = w.a + oxi_align_up((size_t)(w.most * w.a_panels * w.a_panel));
    if (w.most < w.steps) w.sums = w.scratch + (size_t)oxi_lanes(INT32_MAX) * w.lane_bytes;
    for (; w.first < w.steps; w.first += w.count) {
        w.count = oxi_min_i64(w.most, w.steps - w.first);
        oxi_parallel_for(w.count * (w.a_panels + w.b_panels), oxi_back_weight_panel, &w);
        oxi_parallel_for(oxi_parts(w.a_panels, w.group) * w.b_panels * w.parts, oxi_back_weight_task, &w);
    }
    oxi_free(memory, bytes);
    return true;
}
