/* test_gradients.c - the gradient of every row of ops.def that has one, against central differences: operands
 * in every layout, f64 and c64, f32 and bf16 against f64; kinks and special points against what PyTorch gives
 * there. A row without a case fails. Rules are driven here by a tape of this file's own, which is a list of
 * the calls that a listener hears, and get no more saved than the table says.
 * The implementation is in this file, so that it sees what lies below the public functions. OX_O0: the
 * compiler takes longest here. */
#define OX_STATIC
#define OX_NO_AVX /* one vector tier is enough: compile less */
#define OX_IMPLEMENTATION
#define OXI_ATTENTION_SCORES 64 /* attention in many chunks */
#define OXI_ATTENTION_ROWS 3
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

/* Rows whose results have parts of f32, also of operands of f64. */
static bool gives_c64(const gradient_case *c) {
    return strcmp(c->row, "fft_r2c") == 0 || strcmp(c->row, "eig") == 0;
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
    precision p = precision_of(gives_c64(c) ? OX_F32 : t->dtype);
    if (t->dtype == OX_F64 && strncmp(c->label, "g_attend", 8) == 0) p.relative *= 4;
    int probes = count < 6 ? (int)count : 6;
    for (int n = -2; n < probes; n++)
        for (int part = 0; part < parts; part++) {
            int64_t at = n < 0   ? -1
                         : n < 3 ? (int64_t)(test_random() % (uint64_t)count)
                                 : n * (count - 1) / (probes - 1);
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
            CHECK_MSG(close || bad > 1,
                      "%s (%s): operand %d, element %d%s, %s: %.12g, differences give %.12g", c->label,
                      c->row, k, (int)at, part ? " i" : "", where, exact, numeric);
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
                if (can_have_gradient(in[k]) && !constant)
                    check_operand(c, plain, grads[k], k, layout_name(l));
            }
        ox_error_clear();
        forget_calls();
    }
}

/* ---- the whole table ----------------------------------------------------------------------------------- */

enum { MOST_CASES = 512 };
static gradient_case cases[MOST_CASES];
static int case_count;

static int gradient_column(const char *name) {
    for (int op = 0; op < OXI_OP_COUNT; op++)
        if (strcmp(oxi_op_row_of((oxi_op)op)->name, name) == 0) return oxi_op_row_of((oxi_op)op)->gradient;
    return OXI_GRADIENT_none;
}

/* Of what this file's tape cannot follow: writes into views of what is made, and in bf16 into f32 copies. */
static bool is_made_in_place(const gradient_case *c, ox_dtype dtype) {
    bool adds = strstr("scatter_add scatter_prod index_add", c->row) || strcmp(c->label, "g_glu") == 0;
    return strcmp(c->label, "repeat") == 0 || (dtype == OX_BF16 && adds);
}

static void add_case(gradient_case c) {
    bool moves = !c.map && !c.run; /* to another device */
    if (gradient_column(c.row) == OXI_GRADIENT_yes && !moves && !is_made_in_place(&c, OX_F64) &&
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

static unsigned accepts_of(const char *row) {
    for (int op = 0; op < OXI_OP_COUNT; op++)
        if (strcmp(oxi_op_row_of((oxi_op)op)->name, row) == 0) return oxi_op_row_of((oxi_op)op)->accepts;
    return 0;
}

/* Linear algebra, which is of f32 and f64. */
static bool is_of_matrices(const gradient_case *c) {
    for (int op = 0; op < OXI_OP_COUNT; op++)
        if (strcmp(oxi_op_row_of((oxi_op)op)->name, c->row) == 0)
            return oxi_op_row_of((oxi_op)op)->family == OXI_FAMILY_LINALG || op == OXI_OP_det ||
                   op == OXI_OP_pinv;
    return false;
}

static void test_layouts(void) {
    for (int i = 0; i < case_count; i++)
        for (int l = 0; l < LAYOUT_COUNT; l++) {
            /* elements that lie on one another have one gradient between them */
            bool shared = strcmp(cases[i].row, "as_strided") == 0 && l >= LAYOUT_EXPANDED_FIRST &&
                          l <= LAYOUT_EXPANDED_LAST;
            bool pairs = strcmp(cases[i].row, "view_as_complex") == 0 ||
                         strcmp(cases[i].label, "view_as_real") == 0 ||
                         accepts_of(cases[i].row) == OXI_ACCEPT_C;
            bool alike = l == LAYOUT_EXPANDED_FIRST || l == LAYOUT_EXPANDED_LAST; /* ties */
            bool chooses = strstr("amax amin max_dim min_dim sort topk scatter_amax scatter_amin std "
                                  "max_pool", cases[i].row) != NULL ||
                           is_of_matrices(&cases[i]) || /* singular ones */
                           strncmp(cases[i].label, "g_norm_inf", 10) == 0 ||
                           strncmp(cases[i].label, "g_norm_least", 12) == 0;
            if (!shared && !pairs && !(alike && chooses)) check_case(&cases[i], (layout)l, OX_F64, -1);
        }
}

/* ---- other dtypes -------------------------------------------------------------------------------------- */

/* c64: functions of these are too steep for differences of f32 where their numbers are large. */
static gradient_case tame(gradient_case c) {
    bool steep = strncmp(c.row, "prod", 4) == 0 || strncmp(c.row, "cumprod", 7) == 0 ||
                 strcmp(c.row, "scatter_prod") == 0 || strcmp(c.row, "tanh") == 0;
    bool poles = strcmp(c.row, "div") == 0 || strcmp(c.row, "log") == 0 || strcmp(c.row, "sqrt") == 0 ||
                 strcmp(c.row, "reciprocal") == 0 || strcmp(c.row, "addcdiv") == 0 ||
                 strcmp(c.row, "abs") == 0 || strcmp(c.row, "norm") == 0;
    for (int k = 0; k < MOST_OPERANDS; k++)
        if (steep || poles) c.in[k].numbers = steep ? DOMAIN_UNIT : DOMAIN_NOT_ZERO;
    return c;
}

static void test_complex(void) {
    static const layout layouts[] = {LAYOUT_PLAIN, LAYOUT_TRANSPOSED, LAYOUT_FLIPPED};
    for (int i = 0; i < case_count; i++) {
        gradient_case c = tame(cases[i]);
        unsigned accepts = accepts_of(c.row);
        bool not_complex =
            strstr("g_view_as_complex g_acosh g_masked_fill g_pow_number g_rpow_number g_glu "
                   "glu g_linear_relu g_linear_gelu g_linear_gelu_tanh g_linear_silu linear_act "
                   "g_linear_sigmoid g_linear_tanh view_as_real g_norm_inf g_norm_least "
                   "cholesky cholesky_upper eigh eig solve", /* of adjoints: test_linalg.c has them */
                   c.label) != NULL;
        if (!(accepts & OXI_ACCEPT_C) || not_complex || strstr(c.label, " long")) continue;
        for (int l = 0; l < 3; l++) check_case(&c, layouts[l], OX_C64, -1);
    }
    for (int i = 0; i < case_count; i++) /* pairs side by side */
        if (strcmp(cases[i].label, "view_as_real") == 0) check_case(&cases[i], LAYOUT_PLAIN, OX_C64, -1);
}

/* A dim of no elements; what refuses such operands gives no result. */
static void test_empty(void) {
    for (int i = 0; i < case_count; i++) {
        const gradient_case *c = &cases[i];
        bool alone = c->map || !c->in[1].kind;
        if (!alone || c->in[0].ndim == 0 || c->in[0].kind != 'x') continue;
        for (int d = 0; d < c->in[0].ndim; d++)
            OX_SCOPE {
                ox_tensor *in[MOST_OPERANDS] = {NULL}, *out[MOST_RESULTS] = {NULL};
                int64_t shape[4];
                memcpy(shape, c->in[0].shape, sizeof shape);
                shape[d] = 0;
                in[0] = smooth_operand(&c->in[0], LAYOUT_PLAIN, OX_F64, shape);
                if (c->map && c->in[1].kind) break; /* they broadcast: the first dim alone is checked below */
                if (c->map)
                    out[0] = c->map(in);
                else
                    c->run(in, out);
                bool takes = out[0] != NULL;
                ox_error_clear();
                if (takes) check_case(c, LAYOUT_PLAIN, OX_F64, d);
            }
        if (c->map) check_case(c, LAYOUT_PLAIN, OX_F64, 0);
    }
}

/* Of narrow floats: the same numbers in f64 give nearly the same gradients. */
static void check_narrow(const gradient_case *c, ox_dtype dtype, double relative) {
    OX_SCOPE {
        ox_tensor *in[MOST_OPERANDS] = {NULL}, *wide[MOST_OPERANDS] = {NULL}, *grads[MOST_OPERANDS],
                  *exact[MOST_OPERANDS] = {NULL}, *kept[MOST_OPERANDS] = {NULL};
        for (int k = 0; k < MOST_OPERANDS; k++) {
            if (!c->in[k].kind) continue;
            in[k] = smooth_operand(&c->in[k], LAYOUT_TRANSPOSED, dtype, c->in[k].shape);
            wide[k] = c->in[k].kind == 'x' ? ox_clone(ox_cast(in[k], OX_F64)) : in[k];
        }
        bool fine = gradients_of(c, in, grads);
        for (int k = 0; fine && k < MOST_OPERANDS; k++) kept[k] = grads[k] ? ox_cast(grads[k], OX_F64) : NULL;
        forget_calls();
        fine = fine && gradients_of(c, wide, exact);
        for (int k = 0; fine && k < MOST_OPERANDS; k++) {
            if (!kept[k] || !exact[k]) continue;
            double most = 0, apart = 0;
            for (int64_t i = 0; i < ox_numel(kept[k]); i++) {
                double want = gradient_at(exact[k], i, 0), off = fabs(gradient_at(kept[k], i, 0) - want);
                most = fabs(want) > most ? fabs(want) : most;
                apart = off > apart || off != off ? off : apart;
            }
            CHECK_MSG(apart <= relative * most + relative * 0.05,
                      "%s (%s) in %s: operand %d is off by %g of %g", c->label, c->row, ox_dtype_name(dtype),
                      k, apart, most);
        }
        ox_error_clear();
        forget_calls();
    }
}

static void test_narrow(void) {
    for (int i = 0; i < case_count; i++) {
        const gradient_case *c = &cases[i];
        test_random_state = 1000003u; /* the same numbers, whatever cases come before */
        bool pairs = strcmp(c->row, "view_as_complex") == 0 || accepts_of(c->row) == OXI_ACCEPT_C;
        bool breaks = strstr("remainder fmod floor_divide", c->row) != NULL; /* at whole quotients */
        if (pairs || c->in[0].kind == 'b' || strcmp(c->row, "as_strided") == 0) continue;
        check_narrow(c, OX_F32, 2e-4);
        if (!breaks && !is_made_in_place(c, OX_BF16) && !is_of_matrices(c)) check_narrow(c, OX_BF16, 0.06);
    }
}

/* ---- special points ------------------------------------------------------------------------------------ */

/* An op of one or two numbers, and what torch gives for a result's gradient of `g`; NAN: NaN. */
typedef struct special_point {
    const char *op;
    double a, b, g, for_a, for_b;
} special_point;

static const special_point special_points[] = {
    {"abs", 0, 0, 1, 0, 0},
    {"relu", 0, 0, 1, 0, 0},
    {"relu", -1, 0, INFINITY, 0, 0},
    {"relu", NAN, 0, 2, 2, 0},
    {"relu6", 6, 0, 1, 0, 0},
    {"relu6", 0, 0, 1, 0, 0},
    {"leaky_relu", 0, 0, 1, 0.125, 0},
    {"clamp", -1.5, 0, 1, 0, 0},
    {"clamp", 2.25, 0, 1, 0, 0},
    {"clamp", NAN, 0, 1, 0, 0},
    {"clamp", INFINITY, 0, 1, 0, 0},
    {"hardtanh", -1, 0, 1, 0, 0},
    {"hardtanh", 2, 0, 1, 0, 0},
    {"threshold", 1, 0, 1, 0, 0},
    {"nan_to_num", NAN, 0, INFINITY, 0, 0},
    {"sqrt", 0, 0, 1, INFINITY, 0},
    {"log", 0, 0, 1, INFINITY, 0},
    {"pow", 0, 2, 1, 0, 0},
    {"pow", 0, 0, 1, 0, 0},
    {"pow", 2, 0, 1, 0, 0.6931471805599453},
    {"pow", -2, 3, 1, 12, NAN},
    {"pow", 0, 1, 1, 1, 0},
    {"maximum", 2, 2, 1, 0.5, 0.5},
    {"minimum", 2, 2, 1, 0.5, 0.5},
    {"maximum", NAN, 2, 1, 1, 1},
    {"atan2", 0, 0, 1, 0, 0},
    {"hypot", 0, 0, 1, NAN, NAN},
    {"copysign", 0, 1, 1, 0, 0},
    {"copysign", 3, -1, 2, -2, 0},
    {"div", 1, 0, 1, INFINITY, -INFINITY},
    {"silu", -800, 0, 1, 0, 0},
    {"silu", 800, 0, 1, 1, 0},
    {"gelu", -40, 0, 1, 0, 0},
    {"gelu", 40, 0, 1, 1, 0},
    {"gelu_tanh", -40, 0, 1, 0, 0},
    {"gelu_tanh", 40, 0, 1, 1, 0},
    {"softplus", 1000, 0, 1, 1, 0},
    {"softplus", -1000, 0, 1, 0, 0},
    {"logsigmoid", 1000, 0, 1, 0, 0},
    {"logsigmoid", -1000, 0, 1, 1, 0},
    {"mish", 1000, 0, 1, 1, 0},
    {"mish", -700, 0, 1, 0, 0},
    {"tanh", 1000, 0, 1, 0, 0},
    {"sigmoid", -800, 0, 1, 0, 0},
    {"elu", 1000, 0, 1, 1, 0},
    {"elu", -1000, 0, 1, 0, 0},
    {"elu", 0, 0, 1, 1.25, 0},
    {"selu", 1000, 0, 1, 1.0507009873554805, 0},
    {"celu", 1000, 0, 1, 1, 0},
    {"celu", 0, 0, 1, 1, 0},
    {"hardswish", -3, 0, INFINITY, 0, 0},
    {"hardswish", 3, 0, 1, 1, 0},
    {"hardsigmoid", 3, 0, INFINITY, 0, 0},
    {"hardsigmoid", -3, 0, 1, 0, 0},
    {"softsign", 0, 0, 1, 1, 0},
};

static bool is_value(double got, double want) {
    if (isnan(want)) return isnan(got);
    return isinf(want) ? got == want : fabs(got - want) <= 1e-14 * fabs(want) + 1e-300;
}

static ox_tensor *times_g(ox_tensor *const *in); /* keeps the case's function and g beside it */
static op_run special_run;
static double special_g;
static ox_tensor *times_g(ox_tensor *const *in) {
    ox_tensor *y = special_run(in);
    return ox_mul_number(y, special_g / weight_at(0, 0));
}

static void test_special_points(void) {
    for (size_t i = 0; i < sizeof special_points / sizeof *special_points; i++) {
        const special_point *p = &special_points[i];
        gradient_case c;
        memset(&c, 0, sizeof c);
        int found = -1;
        for (int k = 0; k < OP_CASE_COUNT && found < 0; k++)
            if (strcmp(op_cases[k].label, p->op) == 0) found = k;
        CHECK_MSG(found >= 0, "%s", p->op);
        if (found < 0) continue;
        special_run = op_cases[found].run;
        special_g = p->g;
        c.row = c.label = p->op;
        c.map = times_g;
        OX_SCOPE {
            ox_tensor *in[MOST_OPERANDS] = {NULL}, *grads[MOST_OPERANDS];
            in[0] = ox_from_doubles(&p->a, OX_SCALAR_SHAPE, OX_F64);
            if (op_cases[found].arity == 2) in[1] = ox_from_doubles(&p->b, OX_SCALAR_SHAPE, OX_F64);
            if (gradients_of(&c, in, grads)) {
                double a = gradient_at(grads[0], 0, 0), b = gradient_at(grads[1], 0, 0);
                CHECK_MSG(is_value(a, p->for_a), "%s(%g, %g): %g for a, not %g", p->op, p->a, p->b, a,
                          p->for_a);
                CHECK_MSG(is_value(b, p->for_b), "%s(%g, %g): %g for b, not %g", p->op, p->a, p->b, b,
                          p->for_b);
            }
            forget_calls();
        }
    }
}

/* Lists: results that are told of g = 1 each, by weights of their own taken off again. */
typedef struct special_list {
    const char *label;
    cover_run run;
    int count;
    double x[4], want[4];
} special_list;

GIVES(s_prod, ox_prod(in[0], OX_DIMS(0), false))
GIVES(s_amax, ox_amax(in[0], OX_DIMS(0), false))
GIVES(s_amin, ox_amin(in[0], OX_DIMS(0), false))
GIVES(s_norm2, ox_norm(in[0], 2, OX_DIMS(0), false))
GIVES(s_norm1, ox_norm(in[0], 1, OX_DIMS(0), false))
GIVES(s_norm3, ox_norm(in[0], 3, OX_DIMS(0), false))
GIVES(s_norm_inf, ox_norm(in[0], INFINITY, OX_DIMS(0), false))
GIVES(s_std, ox_std(in[0], OX_DIMS(0), 1, false))
GIVES(s_var, ox_var(in[0], OX_DIMS(0), 1, false))
GIVES(s_cumprod, ox_sum(ox_cumprod(in[0], 0), OX_DIMS(0), false))
GIVES(s_logsumexp, ox_logsumexp(in[0], OX_DIMS(0), false))
GIVES(s_nansum, ox_nansum(in[0], OX_DIMS(0), false))
PAIR(s_max, ox_max(in[0], 0, false))
static ox_tensor *to_the_second(ox_tensor *x) { /* all elements go to place 1 of four */
    return ox_add_number(ox_zeros_like(x), 1);
}
GIVES(s_scatter, ox_sum(ox_scatter(ox_zeros_like(in[0]), 0, ox_cast(to_the_second(in[0]), OX_I64), in[0]),
                        OX_DIMS(0), false))
GIVES(s_scatter_prod, ox_sum(ox_scatter_reduce(ox_ones_like(in[0]), 0, ox_cast(to_the_second(in[0]), OX_I64),
                                               in[0], OX_REDUCTION_PROD, true), OX_DIMS(0), false))
GIVES(s_scatter_most, ox_sum(ox_scatter_reduce(ox_zeros_like(in[0]), 0, ox_cast(to_the_second(in[0]), OX_I64),
                                               in[0], OX_REDUCTION_AMAX, false), OX_DIMS(0), false))

GIVES(s_strided, ox_sum(ox_as_strided(in[0], OX_SHAPE(4), OX_SHAPE(0), 0), OX_DIMS(0), false))

GIVES(s_entr, ox_sum(ox_entr(in[0]), OX_DIMS(0), false))

static const special_list special_lists[] = {
    {"prod, one 0", cover_s_prod, 3, {2, 0, 3}, {0, 6, 0}},
    {"prod, two 0", cover_s_prod, 3, {0, 0, 3}, {0, 0, 0}},
    {"amax, alike", cover_s_amax, 4, {1, 3, 3, 0}, {0, 0.5, 0.5, 0}},
    {"amin, alike", cover_s_amin, 4, {1, 1, 3, 1}, {1. / 3, 1. / 3, 0, 1. / 3}},
    {"amax of NaN", cover_s_amax, 2, {1, NAN}, {NAN, NAN}},
    {"max, alike", cover_s_max, 3, {1, 3, 3}, {0, 1, 0}},
    {"norm 2 of 0", cover_s_norm2, 2, {0, 0}, {0, 0}},
    {"norm 1 of 0", cover_s_norm1, 2, {0, -2}, {0, -1}},
    {"norm 3 of 0", cover_s_norm3, 2, {0, 0}, {0, 0}},
    {"largest, alike", cover_s_norm_inf, 3, {3, -3, 1}, {0.5, -0.5, 0}},
    {"std of one number", cover_s_std, 3, {2, 2, 2}, {0, 0, 0}},
    {"var of one", cover_s_var, 1, {2}, {NAN}},
    {"cumprod, one 0", cover_s_cumprod, 3, {2, 0, 3}, {1, 8, 0}},
    {"cumprod, two 0", cover_s_cumprod, 4, {2, 0, 0, 5}, {1, 2, 0, 0}},
    {"logsumexp, -inf", cover_s_logsumexp, 2, {-INFINITY, 4}, {0, 1}},
    {"entr of 0", cover_s_entr, 3, {-0.0, 0, 1}, {INFINITY, INFINITY, -1}}, /* -0 as 0 */
    {"nansum", cover_s_nansum, 2, {NAN, 4}, {0, 1}},
    {"scatter, the last one stays", cover_s_scatter, 3, {4, 5, 6}, {0, 0, 1}},
    {"scatter_prod, one 0", cover_s_scatter_prod, 3, {4, 0, 6}, {0, 24, 0}},
    {"scatter_amax alone, alike", cover_s_scatter_most, 4, {-4, -4, -6, -4}, {1. / 3, 1. / 3, 0, 1. / 3}},
};

static void test_special_lists(void) {
    for (size_t i = 0; i < sizeof special_lists / sizeof *special_lists; i++) {
        const special_list *p = &special_lists[i];
        gradient_case c;
        memset(&c, 0, sizeof c);
        c.row = c.label = p->label;
        c.run = p->run;
        OX_SCOPE {
            ox_tensor *in[MOST_OPERANDS] = {NULL}, *grads[MOST_OPERANDS];
            in[0] = ox_from_doubles(p->x, OX_SHAPE(p->count), OX_F64);
            if (gradients_of(&c, in, grads))
                for (int k = 0; k < p->count; k++) {
                    double got = gradient_at(grads[0], k, 0) / weight_at(0, 0);
                    bool close = is_value(got, p->want[k]) || fabs(got - p->want[k]) <= 1e-12;
                    CHECK_MSG(close, "%s: element %d gets %g, not %g", p->label, k, got, p->want[k]);
                }
            forget_calls();
        }
    }
}

/* What is no formula is found when it is compiled, with the place where it ends to be one. */
static void test_refused_formulas(void) {
    static const char *const texts[] = {
        "g exq", "g +", "a b", "g sum", "1 2 3 4 5 6 7", "g =s", "g f3 *", "h", "", "g 1x *", "where",
        "a b c g y z 1 + + + + + +"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        oxi_formula f;
        memset(&f, 0, sizeof f);
        oxi_formula_compile(&f, texts[i]);
        CHECK_MSG(f.refused != NULL, "\"%s\" passes for a formula", texts[i]);
    }
    oxi_formula f;
    memset(&f, 0, sizeof f);
    oxi_formula_compile(&f, "a sigmoid =p 1 p - * f0 0.5 where");
    CHECK(!f.refused && f.count == 10 && f.letters == 1 && f.number_count == 2 && f.numbers[1] == 0.5);
    CHECK(oxi_formula_letters("a y g p =q q exp 1 f0 b") == (1u | 2u | 1u << 24));
}

/* Elements of an operand that lie on one another share what comes back to their place. */
static void test_strided_over_expanded(void) {
    gradient_case c;
    memset(&c, 0, sizeof c);
    c.row = c.label = "as_strided";
    c.run = cover_s_strided;
    OX_SCOPE {
        const double one = 3;
        ox_tensor *in[MOST_OPERANDS] = {NULL}, *grads[MOST_OPERANDS];
        in[0] = ox_expand(ox_from_doubles(&one, OX_SHAPE(1), OX_F64), OX_SHAPE(3));
        if (gradients_of(&c, in, grads))
            for (int k = 0; k < 3; k++)
                CHECK(fabs(gradient_at(grads[0], k, 0) / weight_at(0, 0) - 4.0 / 3) < 1e-12);
        forget_calls();
    }
}

/* ---- block types --------------------------------------------------------------------------------------- */

static ox_tensor *block_weight;
GIVES(s_linear_blocks, ox_linear(in[0], block_weight, in[1]))
GIVES(s_matmul_blocks, ox_matmul(in[0], ox_t(block_weight)))
GIVES(s_matmul_left_blocks, ox_matmul(block_weight, in[0]))

/* What is multiplied with blocks has the gradient that it has beside the numbers that they stand for. */
static void test_blocks(void) {
    static const struct { cover_run run; int64_t shape[2], bias;
    } tries[] = {{cover_s_linear_blocks, {3, 64}, 5},
                 {cover_s_matmul_blocks, {3, 64}, 0},
                 {cover_s_matmul_left_blocks, {64, 3}, 0}};
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        for (int exact = 0; exact < 2; exact++)
            OX_SCOPE {
                ox_tensor *in[MOST_OPERANDS] = {NULL}, *grads[MOST_OPERANDS], *wide_grads[MOST_OPERANDS];
                gradient_case c;
                memset(&c, 0, sizeof c);
                c.row = c.label = "block types";
                c.run = tries[i].run;
                ox_set_exact(exact != 0);
                ox_tensor *blocks = ox_cast(ox_randn(OX_SHAPE(5, 64), OX_F32), OX_Q8_0);
                in[0] = ox_randn(OX_SHAPE(tries[i].shape[0], tries[i].shape[1]), OX_F32);
                if (tries[i].bias) in[1] = ox_randn(OX_SHAPE(tries[i].bias), OX_F32);
                block_weight = blocks;
                bool fine = gradients_of(&c, in, grads);
                for (int k = 0; fine && k < 2; k++) grads[k] = grads[k] ? ox_clone(grads[k]) : NULL;
                forget_calls();
                block_weight = ox_cast(blocks, OX_F32);
                fine = fine && gradients_of(&c, in, wide_grads);
                for (int k = 0; fine && k < 2; k++)
                    CHECK(!in[k] || ox_allclose(grads[k], wide_grads[k], 1e-5, 1e-5, false));
                forget_calls();
                ox_set_exact(false);
            }
}

int main(void) {
    gather_cases();
    CHECK(oxi_listen(&ear));
    test_every_row();
    test_layouts();
    test_complex();
    test_empty();
    test_narrow();
    test_special_points();
    test_special_lists();
    test_refused_formulas();
    test_strided_over_expanded();
    test_blocks();
    oxi_listen_end(&ear);
    return check_done("gradients");
}
