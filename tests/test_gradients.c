/* test_gradients.c - the gradient of every row of ops.def that has one, against central differences: operands
 * in every layout, f64 and c64, f32 and bf16 against f64; kinks and special points against what PyTorch gives
 * there. A row without a case fails. Rules are driven here by a tape of this file's own, which is a list of
 * the calls that a listener hears, and get no more saved than the table says.
 * The implementation is in this file, so that it sees what lies below the public functions. OX_O0: the
 * compiler takes longest here. */
#define OX_STATIC
#define OX_NO_AVX /* one vector tier is enough: compile less */
#define OX_IMPLEMENTATION
#include "gradient_cases.h"

#include "oxtorch_nn.h"

#include <stdio.h>

/* ---- a tape -------------------------------------------------------------------------------------------- */

enum { MOST_CALLS = 64, MOST_LIST = 16, MOST_LEAVES = MOST_OPERANDS };

/* A heard call, with its results. */
typedef struct heard_call {
    oxi_kept *kept;
    ox_tensor *out[OXI_MAX_OUT];
} heard_call;

static heard_call heard[MOST_CALLS];
static int heard_count;
static bool listens;
static const char *case_label; /* for messages */

/* Gradients of tensors, by their headers. */
typedef struct known_gradient {
    const ox_tensor *of;
    ox_tensor *g;
} known_gradient;
static known_gradient known[4 * MOST_CALLS];
static int known_count;

static void hear(oxi_listener *self, const oxi_call *call, ox_device *device, ox_status status) {
    (void)self, (void)device;
    if (!listens || status != OX_OK || heard_count == MOST_CALLS) return;
    heard_call *h = &heard[heard_count];
    h->kept = oxi_call_keep(call, false);
    for (int i = 0; i < OXI_MAX_OUT; i++) h->out[i] = i < call->out_count ? ox_retain(call->out[i]) : NULL;
    heard_count++;
}
static oxi_listener ear = {NULL, hear, NULL};

static void forget_calls(void) {
    for (int i = 0; i < heard_count; i++) {
        oxi_kept_drop(heard[i].kept);
        for (int k = 0; k < OXI_MAX_OUT; k++) ox_release(heard[i].out[k]);
    }
    heard_count = known_count = 0;
}

static known_gradient *gradient_of(const ox_tensor *t) {
    for (int i = 0; i < known_count; i++)
        if (known[i].of == t) return &known[i];
    known_gradient *fresh = &known[known_count++];
    fresh->of = t;
    fresh->g = NULL;
    return fresh;
}

static bool can_have_gradient(const ox_tensor *t) {
    return t && !t->is_number && (is_real_float(t->dtype) || t->dtype == OX_C64);
}

static bool is_tracked(const ox_tensor *t) {
    for (int i = 0; i < known_count; i++)
        if (known[i].of == t) return true;
    return false;
}

static oxi_outline outline_of(const ox_tensor *t) {
    oxi_outline o;
    memset(&o, 0, sizeof o);
    if (!t) return o;
    o.dtype = t->dtype;
    o.ndim = t->ndim;
    memcpy(o.shape, t->shape, sizeof o.shape);
    o.device = ox_device_of(t);
    return o;
}

/* What the engine does with a gradient: summed to the operand's shape, as its dtype. */
static ox_tensor *settled(ox_tensor *g, const ox_tensor *like) {
    g = oxi_summed_to(g, ox_shape_of(like));
    g = g ? ox_cast(g, like->dtype) : NULL;
    bool same = g && g->ndim == like->ndim;
    for (int d = 0; same && d < g->ndim; d++) same = g->shape[d] == like->shape[d];
    CHECK_MSG(same, "a gradient of the shape of %s does not fit %s: %s", g ? oxi_tensor_text(g) : "nothing",
              oxi_tensor_text(like), ox_error_text());
    return same ? g : NULL;
}

static void add_gradient(ox_tensor *t, ox_tensor *g) {
    known_gradient *k = gradient_of(t);
    if (g) k->g = k->g ? ox_add(k->g, g) : g;
}

/* One call backward; only what its letters name is there. */
static bool call_back(const heard_call *h) {
    const oxi_call *call = &h->kept->call;
    const oxi_gradient_row *row = oxi_gradient_row_of(call->op);
    ox_tensor *in[MOST_LIST], *grad[MOST_LIST];
    bool wants[MOST_LIST], any = false;
    oxi_outline operands[MOST_LIST], results[OXI_MAX_OUT];
    oxi_call shown = *call;
    oxi_backward b;
    memset(&b, 0, sizeof b);
    for (int i = 0; i < call->in_count; i++) {
        wants[i] = can_have_gradient(call->in[i]) && is_tracked(call->in[i]);
        operands[i] = outline_of(call->in[i]);
        grad[i] = NULL;
    }
    for (int i = 0; i < OXI_MAX_OUT; i++) {
        results[i] = outline_of(h->out[i]);
        if (is_tracked(h->out[i])) b.g[i] = gradient_of(h->out[i])->g;
        any = any || b.g[i];
    }
    bool wanted = false;
    for (int i = 0; i < call->in_count; i++) wanted = wanted || wants[i];
    if (!any || !wanted) return true;
    if (!row) {
        CHECK_MSG(false, "%s has no gradient", oxi_op_row_of(call->op)->name);
        return false;
    }
    unsigned letters = oxi_gradient_letters(call, wants);
    for (int i = 0; i < call->in_count; i++) in[i] = letters >> i & 1 ? call->in[i] : NULL;
    for (int i = 0; i < OXI_MAX_OUT; i++) b.out[i] = letters >> ('y' - 'a' + i) & 1 ? h->out[i] : NULL;
    shown.in = in;
    b.call = &shown;
    b.operand = operands;
    b.result = results;
    b.wants = wants;
    b.grad = grad;
    ox_status status = row->rule ? row->rule(&b) : oxi_gradient_by_formula(row, &b);
    CHECK_MSG(status == OX_OK, "the gradient of %s: %s", oxi_op_row_of(call->op)->name, ox_error_text());
    ox_error_clear();
    for (int i = 0; status == OX_OK && i < call->in_count; i++) {
        CHECK_MSG(wants[i] || !grad[i], "%s: %s gives operand %d a gradient that nobody wants", case_label,
                  oxi_op_row_of(call->op)->name, i);
        if (wants[i] && grad[i]) add_gradient(call->in[i], settled(grad[i], call->in[i]));
    }
    return status == OX_OK;
}

/* Which results follow from leaves, in the order of the calls. */
static void track(ox_tensor *const *leaves, int count) {
    for (int i = 0; i < count; i++)
        if (can_have_gradient(leaves[i])) (void)gradient_of(leaves[i]);
    for (int c = 0; c < heard_count; c++) {
        const oxi_call *call = &heard[c].kept->call;
        bool follows = false;
        for (int i = 0; i < call->in_count; i++) follows = follows || is_tracked(call->in[i]);
        for (int i = 0; i < OXI_MAX_OUT; i++)
            if (follows && can_have_gradient(heard[c].out[i])) (void)gradient_of(heard[c].out[i]);
    }
}

/* ---- a case -------------------------------------------------------------------------------------------- */

static ox_tensor *leaf_for_results(const ox_tensor *t, int which);

/* Runs a case on operands and goes back: gradients of the operands, NULL where there is none. */
static bool gradients_of(const gradient_case *c, ox_tensor *const *in, ox_tensor **grads) {
    ox_tensor *out[MOST_RESULTS] = {NULL, NULL};
    case_label = c->label;
    listens = true;
    if (c->map)
        out[0] = c->map(in);
    else
        c->run(in, out);
    listens = false;
    CHECK_MSG(out[0] != NULL, "%s: %s", c->label, ox_error_text());
    CHECK(heard_count < MOST_CALLS);
    track(in, strcmp(c->row, "rope") == 0 ? 1 : MOST_OPERANDS); /* whose factors have none */
    for (int i = 0; i < MOST_RESULTS; i++)
        if (is_tracked(out[i])) gradient_of(out[i])->g = leaf_for_results(out[i], i);
    bool fine = out[0] != NULL;
    for (int i = heard_count - 1; fine && i >= 0; i--) fine = call_back(&heard[i]);
    for (int i = 0; i < MOST_OPERANDS; i++)
        grads[i] = fine && in[i] && is_tracked(in[i]) ? gradient_of(in[i])->g : NULL;
    return fine;
}

/* Weights of the loss, the same for a place in every run. */
static double weight_at(int64_t i, int which) {
    uint64_t x = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u + (uint64_t)which * 0x2545f4914f6cdd1du;
    x ^= x >> 29;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 32;
    return (double)(x >> 11) / 4503599627370496.0 - 1;
}

static ox_tensor *leaf_for_results(const ox_tensor *t, int which) {
    ox_tensor *g = ox_empty(ox_shape_of(t), t->dtype);
    int64_t count = g ? ox_numel(g) : 0;
    for (int64_t i = 0; i < count; i++) {
        store_real(t->dtype, element(g, i), weight_at(2 * i, which));
        if (t->dtype == OX_C64) store_real(OX_F32, element(g, i) + 4, weight_at(2 * i + 1, which));
    }
    return g;
}

/* The loss: results by their weights. *size is what the terms add up to without their signs. */
static double loss_of(const gradient_case *c, ox_tensor *const *in, double *size) {
    double sum = 0;
    *size = 0;
    OX_SCOPE {
        ox_tensor *out[MOST_RESULTS] = {NULL, NULL};
        if (c->map)
            out[0] = c->map(in);
        else
            c->run(in, out);
        for (int r = 0; r < MOST_RESULTS; r++) {
            if (!can_have_gradient(out[r])) continue;
            for (int64_t i = 0; i < ox_numel(out[r]); i++) {
                const char *p = element(out[r], i);
                double real = load_real(out[r]->dtype, p) * weight_at(2 * i, r),
                       imaginary = load_imaginary(out[r]->dtype, p) * weight_at(2 * i + 1, r);
                sum += real + imaginary;
                *size += fabs(real) + fabs(imaginary);
            }
        }
    }
    return sum;
}

/* ---- operands ------------------------------------------------------------------------------------------ */

static ox_dtype operand_dtype(char kind, ox_dtype dtype) {
    return kind == 'c' ? OX_C64 : kind == 'f' ? OX_F32 : kind_dtype(kind, dtype);
}

static void fill_smooth(ox_tensor *t, const operand *o) {
    static double values[MOST_ELEMENTS];
    char *p = (char *)values;
    int64_t count = ox_numel(t);
    size_t width = width_of(t->dtype);
    for (int64_t i = 0; i < count; i++, p += width) {
        if (o->kind == 'b')
            *p = (char)(test_random() >> 20 & 1);
        else if (o->kind == 'i' || o->kind == 'j')
            store_int(t->dtype, p, (int64_t)(test_random() >> 33) % o->limit);
        else
            store_real(t->dtype, p, draw_smooth(o->numbers));
        if (t->dtype == OX_C64) store_real(OX_F32, p + 4, draw_smooth(o->numbers));
    }
    write_elements(t, values);
}

static ox_tensor *smooth_operand(const operand *o, layout l, ox_dtype dtype, const int64_t *shape) {
    ox_tensor *base;
    bool plain = o->kind != 'x' || o->ndim == 0;
    ox_tensor *t = new_layout(plain ? LAYOUT_PLAIN : l, o->ndim, shape, operand_dtype(o->kind, dtype), &base);
    if (!t || ox_numel(t) > MOST_ELEMENTS) return NULL;
    fill_smooth(t, o);
    return t;
}

/* ---- against differences ------------------------------------------------------------------------------- */

/* Steps and bounds of a dtype: 1e-6 in f64; numbers of f32 leave less. */
typedef struct precision {
    double step, relative, absolute, noise;
} precision;

static precision precision_of(ox_dtype dtype) {
    precision fine = {1e-6, 2e-7, 1e-8, 4e-10}, coarse = {0.0078125, 3e-3, 3e-4, 3e-5};
    return dtype == OX_F64 ? fine : coarse;
}

/* Element i of t, of c64 its real (0) or imaginary part (1), moved by a step. */
static void move_element(ox_tensor *t, int64_t i, int part, double step) {
    char *p = element(t, i) + 4 * part;
    ox_dtype dtype = t->dtype == OX_C64 ? OX_F32 : t->dtype;
    store_real(dtype, p, load_real(dtype, p) + step);
}

/* All elements of operand k moved along a direction (or one element, at >= 0); the difference of the loss. */
static double difference(const gradient_case *c, ox_tensor **plain, int k, int64_t at, int part, double step,
                         uint64_t seed, double *size) {
    double loss[2], sizes[2];
    for (int side = 0; side < 2; side++)
        OX_SCOPE {
            ox_tensor *in[MOST_OPERANDS];
            memcpy(in, plain, sizeof in);
            in[k] = plain_copy(plain[k]);
            double signed_step = side ? step : -step;
            for (int64_t i = 0; i < ox_numel(in[k]); i++) {
                if (at >= 0 && i != at) continue;
                double along = at >= 0 ? 1 : weight_at(i, (int)seed);
                move_element(in[k], i, part, along * signed_step);
            }
            loss[side] = loss_of(c, in, &sizes[side]);
        }
    *size = sizes[0] > sizes[1] ? sizes[0] : sizes[1];
    return (loss[1] - loss[0]) / (2 * step);
}

static double gradient_at(ox_tensor *g, int64_t i, int part) {
    if (!g) return 0;
    const char *p = element(g, i);
    return part ? load_imaginary(g->dtype, p) : load_real(g->dtype, p);
}

static void check_operand(const gradient_case *c, ox_tensor **plain, ox_tensor *g, int k, const char *where) {
    const ox_tensor *t = plain[k];
    int64_t count = ox_numel(t);
    int parts = t->dtype == OX_C64 ? 2 : 1, bad = 0;
    precision p = precision_of(t->dtype);
    if (t->dtype == OX_F64 && strncmp(c->label, "g_attend", 8) == 0) p.relative *= 4;
    int probes = count < 6 ? (int)count : 6;
    for (int n = -2; n < probes; n++)
        for (int part = 0; part < parts; part++) {
            int64_t at = n < 0 ? -1 : n < 3 ? (int64_t)(test_random() % (uint64_t)count) : n * (count - 1) / (probes - 1);
            uint64_t seed = (uint64_t)(n + 9);
            double size, numeric = difference(c, plain, k, at, part, p.step, seed, &size), exact = 0, sum = 0;
            if (count == 0) continue;
            for (int64_t i = 0; i < count; i++) {
                if (at >= 0 && i != at) continue;
                double own = gradient_at(g, i, part) * (at >= 0 ? 1 : weight_at(i, (int)seed));
                exact += own;
                sum += fabs(own);
            }
            double slack = p.relative * (sum + fabs(numeric)) + p.absolute + p.noise * size;
            bool close = fabs(exact - numeric) <= slack;
            bad += !close;
            CHECK_MSG(close || bad > 1, "%s (%s): operand %d, element %d%s, %s: %.12g, differences give %.12g",
                      c->label, c->row, k, (int)at, part ? " i" : "", where, exact, numeric);
        }
}

/* A case in one layout: `shape` replaces the shapes of operands (empty ones), or is NULL. */
static void check_case(const gradient_case *c, layout l, ox_dtype dtype, int empty_dim) {
    OX_SCOPE {
        ox_tensor *in[MOST_OPERANDS], *plain[MOST_OPERANDS], *grads[MOST_OPERANDS];
        bool made = true;
        for (int k = 0; k < MOST_OPERANDS; k++) {
            int64_t shape[4];
            memcpy(shape, c->in[k].shape, sizeof shape);
            if (empty_dim >= 0 && k == 0) shape[empty_dim] = 0;
            in[k] = c->in[k].kind ? smooth_operand(&c->in[k], l, dtype, shape) : NULL;
            plain[k] = in[k] ? plain_copy(in[k]) : NULL;
            made = made && (in[k] || !c->in[k].kind);
        }
        CHECK_MSG(made, "%s: %s", c->label, ox_error_text());
        if (made && gradients_of(c, in, grads))
            for (int k = 0; k < MOST_OPERANDS; k++) {
                bool constant = strcmp(c->row, "rope") == 0 && k > 0;
                if (can_have_gradient(in[k]) && !constant) check_operand(c, plain, grads[k], k, layout_name(l));
            }
        ox_error_clear();
        forget_calls();
    }
}

/* ---- the whole table ----------------------------------------------------------------------------------- */

/* Rows of the domain where an elementwise op is smooth, if op_cases.h asks for more than that. */
static domain smooth_domain(const char *row, domain given) {
    if (strcmp(row, "log1p") == 0 || strcmp(row, "pow") == 0) return DOMAIN_POSITIVE;
    if (strcmp(row, "reciprocal") == 0 || strcmp(row, "atan2") == 0) return DOMAIN_NOT_ZERO;
    return given == DOMAIN_ANY ? DOMAIN_MODEST : given;
}

/* An elementwise op over operands that broadcast. */
static gradient_case case_of_op(const op_case *op) {
    static const operand shapes[3] = {X3(3, 4, 5), X2(4, 1), X1(5)};
    gradient_case c;
    memset(&c, 0, sizeof c);
    c.row = op->name;
    c.label = op->label;
    c.map = op->run;
    for (int k = 0; k < op->arity; k++) {
        c.in[k] = shapes[k];
        c.in[k].numbers = smooth_domain(op->name, op->domains[k]);
    }
    if (strcmp(op->name, "where") == 0) c.in[0].kind = 'b';
    return c;
}

static gradient_case case_of_cover(const cover *from) {
    gradient_case c;
    memset(&c, 0, sizeof c);
    c.row = from->row;
    c.label = from->label;
    memcpy(c.in, from->in, sizeof c.in);
    c.run = from->run;
    return c;
}

enum { MOST_CASES = 512 };
static gradient_case cases[MOST_CASES];
static int case_count;

static int gradient_column(const char *name) {
    for (int op = 0; op < OXI_OP_COUNT; op++)
        if (strcmp(oxi_op_row_of((oxi_op)op)->name, name) == 0) return oxi_op_row_of((oxi_op)op)->gradient;
    return OXI_GRADIENT_none;
}

/* Of what this file's tape cannot follow: writes into views of what is made. */
static bool is_made_in_place(const char *label) {
    return strcmp(label, "repeat") == 0;
}

static void add_case(gradient_case c) {
    bool moves = !c.map && !c.run; /* to another device */
    if (gradient_column(c.row) == OXI_GRADIENT_yes && !moves && !is_made_in_place(c.label) &&
        strncmp(c.label, "cast_", 5) != 0 && case_count < MOST_CASES)
        cases[case_count++] = c;
}

static void gather_cases(void) {
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (strcmp(op_cases[i].name, "acosh") != 0) /* beyond 1: gradient_cases.h has it */
            add_case(case_of_op(&op_cases[i]));
    for (int i = 0; i < COVER_COUNT; i++) add_case(case_of_cover(&covers[i]));
    for (int i = 0; i < GRADIENT_CASE_COUNT; i++) add_case(gradient_cases[i]);
    CHECK(case_count < MOST_CASES);
}

static void test_every_row(void) {
    for (int op = 0; op < OXI_OP_COUNT; op++) {
        const oxi_op_row *row = oxi_op_row_of((oxi_op)op);
        bool has = oxi_gradient_row_of((oxi_op)op) != NULL, tried = op == OXI_OP_to;
        CHECK_MSG(has == (row->gradient == OXI_GRADIENT_yes), "%s: the tables disagree about its gradient",
                  row->name);
        for (int i = 0; i < case_count; i++) tried = tried || strcmp(cases[i].row, row->name) == 0;
        CHECK_MSG(tried || !has, "%s: there is no case of its gradient", row->name);
        for (int k = 0; k < 3; k++) {
            const oxi_formula *f = oxi_formula_of((oxi_op)op, k);
            CHECK_MSG(!f || !f->refused, "%s: the formula at \"%s\"", row->name, f ? f->refused : "");
            CHECK(!f || f->letters == oxi_formula_letters(oxi_gradient_row_of((oxi_op)op)->formula[k]));
        }
    }
}

static void test_layouts(void) {
    for (int i = 0; i < case_count; i++)
        for (int l = 0; l < LAYOUT_COUNT; l++) {
            /* elements that lie on one another have one gradient between them */
            bool shared = strcmp(cases[i].row, "as_strided") == 0 && l >= LAYOUT_EXPANDED_FIRST &&
                          l <= LAYOUT_EXPANDED_LAST;
            bool pairs = strcmp(cases[i].row, "view_as_complex") == 0 || strcmp(cases[i].label, "view_as_real") == 0;
            bool alike = l == LAYOUT_EXPANDED_FIRST || l == LAYOUT_EXPANDED_LAST; /* ties */
            bool chooses = strstr("amax amin max_dim min_dim sort topk scatter_amax scatter_amin std", cases[i].row) != NULL ||
                           strncmp(cases[i].label, "g_norm_inf", 10) == 0 ||
                           strncmp(cases[i].label, "g_norm_least", 12) == 0;
            if (!shared && !pairs && !(alike && chooses)) check_case(&cases[i], (layout)l, OX_F64, -1);
        }
}

int main(void) {
    gather_cases();
    CHECK(oxi_listen(&ear));
    test_every_row();
    test_layouts();
    oxi_listen_end(&ear);
    return check_done("gradients");
}
