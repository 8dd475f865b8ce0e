/* test_chain.c - elementwise ops in one pass: programs against an interpreter of their text in double, on
 * every layout and float dtype, one result and many, in place, empty; texts that are no program; on a GPU
 * without a detour, also where each tensor lies in a block of its own; steps of optimizers and gradients
 * there; a chain that is the gate of two products there. The implementation is in this file, so that it sees
 * what lies below the public functions. OX_O0 OX_TIERS */
#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L /* setenv */
#endif
#define OX_STATIC
#define OX_NO_VOLK_IMPLEMENTATION
#define OX_IMPLEMENTATION
#include "oxtorch_nn.h"
#if defined(__has_include)
#if __has_include(<vulkan/vulkan.h>) && __has_include(<volk.h>)
#include "oxtorch_vulkan.h"
#define HAS_VULKAN 1
#endif
#endif
#include "operands.h"

static ox_device *place; /* where chains run */

/* ---- the text, a word at a time, in double ------------------------------------------------------------- */

typedef struct said {
    double result[OXI_MAX_OUT], around; /* around: how large what it went through was */
    int results;
} said;

static double said_op(const char *word, const double *s, int *takes) {
    static const char *const binary[] = {"+", "-", "*", "/", "lt", "ge", "maximum", "atan2", "logical_and"};
    *takes = strcmp(word, "where") == 0 || strcmp(word, "lerp") == 0 ? 3 : 1;
    for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
        if (strcmp(word, binary[i]) == 0) *takes = 2;
    double a = s[-*takes], b = *takes > 1 ? s[1 - *takes] : 0, c = *takes > 2 ? s[2 - *takes] : 0;
    switch (word[0]) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return a / b;
    case 'w': return a != 0 ? b : c;
    case 'm': return a > b ? a : b;
    case 'g': return strcmp(word, "ge") == 0 ? a >= b : 0.5 * a * (1 + erf(a * sqrt(0.5)));
    case 'a': return strcmp(word, "abs") == 0 ? fabs(a) : atan2(a, b);
    case 'e': return strcmp(word, "exp") == 0 ? exp(a) : erf(a);
    case 't': return tanh(a);
    case 'n': return -a;
    case 'l':
        if (strcmp(word, "lt") == 0) return a < b;
        if (strcmp(word, "lerp") == 0) return a + c * (b - a);
        if (strcmp(word, "leaky_relu") == 0) return a > 0 ? a : a * 0.01;
        return a != 0 && b != 0;
    default:
        if (strcmp(word, "sqrt") == 0) return sqrt(a);
        if (strcmp(word, "square") == 0) return a * a;
        if (strcmp(word, "sin") == 0) return sin(a);
        return 1 / (1 + exp(-a)); /* sigmoid */
    }
}

static said say(const char *text, const double *in, const double *numbers) {
    said out = {{0}, 1, 0};
    double stack[16], kept[8] = {0}, *top = stack;
    char words[OXI_CHAIN_TEXT * 2];
    (void)snprintf(words, sizeof words, "%s", text);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        int takes = 0;
        if (word[0] == ';') out.result[out.results++] = *--top;
        else if (word[0] == '=') kept[word[1] - 'p'] = top[-1];
        else if (strcmp(word, "drop") == 0) top--;
        else if (word[0] == 'n' && word[1] >= '0' && word[1] <= '9') *top++ = numbers[atoi(word + 1)];
        else if (!word[1] && word[0] >= 'a' && word[0] <= 'f') *top++ = in[word[0] - 'a'];
        else if (!word[1] && word[0] >= 'p' && word[0] <= 'u') *top++ = kept[word[0] - 'p'];
        else {
            double made = said_op(word, top, &takes);
            top -= takes;
            *top++ = made;
        }
        if (top > stack && fabs(top[-1]) > out.around) out.around = fabs(top[-1]);
    }
    return out;
}

/* ---- operands ------------------------------------------------------------------------------------------ */

enum { OPERANDS = OXI_CHAIN_OPERANDS };

typedef struct program {
    const char *text;
    int operands;
} program;

static const double numbers[OXI_CHAIN_NUMBERS] = {0.75, -0.25, 1.5, 2, 0.1, 3, -1, 0.5, 0.125, 4, -2, 0.0625};

static const program programs[] = {
    {"a neg ;", 1},
    {"a b + n0 * ;", 2},
    {"a b lt a b where ; a b maximum ;", 2},
    {"a b lt n1 + ;", 2},                                 /* a condition as a number */
    {"a b ge c n0 lt logical_and a c where ;", 3},
    {"a sigmoid =p n2 p - * p * b * ;", 2},
    {"a tanh square n2 - neg b * =p ; p exp ; p c n0 lerp ;", 3},
    {"a exp ; b tanh ; a b atan2 ; a gelu leaky_relu ;", 2},
    {"a b * c + d - e abs n5 + / f + ;", 6},
    {"a n0 * b n1 * + =p ; c n2 * b b * n4 * + =q ; p q abs sqrt n3 + / n4 * d - ;", 4},
    {"a n0 + b n1 + c n2 + * * n3 n4 + n5 n6 n7 + * * n8 n9 n10 n11 * + * - + ;", 3},
    {"a b c lerp d e f lerp - =p drop p erf ; p sin ; p p * ; a f * ;", 6},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

/* How an operand of [4,6,8] lies. */
enum { PLAIN, TRANSPOSED, SLICED, BACKWARDS, ROW, COLUMN, ONE, LAYOUTS };
static const char *const ways[] = {"plain", "transposed", "sliced", "backwards", "row", "column", "one"};

static ox_tensor *laid_out(int way, ox_dtype dtype, int seed) {
    static float v[2 * 4 * 6 * 8];
    for (int i = 0; i < 2 * 4 * 6 * 8; i++)
        v[i] = (float)(((i * 37 + seed * 101) % 193) - 96) / 64 + 0.03125f;
    ox_tensor *t = NULL;
    switch (way) {
    case PLAIN: t = oxi_copied(v, OX_SHAPE(4, 6, 8), OX_F32); break;
    case TRANSPOSED: t = oxi_copied(v, OX_SHAPE(8, 6, 4), OX_F32); break;
    case SLICED: t = oxi_copied(v, OX_SHAPE(4, 6, 16), OX_F32); break;
    case BACKWARDS: t = oxi_copied(v, OX_SHAPE(4, 6, 8), OX_F32); break;
    case ROW: t = oxi_copied(v, OX_SHAPE(8), OX_F32); break;
    case COLUMN: t = oxi_copied(v, OX_SHAPE(6, 1), OX_F32); break;
    default: t = oxi_copied(v + seed, OX_SHAPE(1), OX_F32); break;
    }
    t = ox_to(ox_cast(t, dtype), place);
    if (way == TRANSPOSED) t = ox_transpose(t, 0, 2);
    if (way == SLICED) t = ox_slice(t, 2, 1, OX_END, 2);
    if (way == BACKWARDS) t = ox_slice(t, 1, OX_END, OX_END, -1);
    return t;
}

static double step_of(ox_dtype dtype) {
    return dtype == OX_F64 ? 1e-14 : dtype == OX_F32 ? 4e-6 : dtype == OX_F16 ? 2e-3 : 1.6e-2;
}

static double real_at(ox_tensor *t, int64_t i) { return load_real(t->dtype, element(t, i)); }

/* Runs it on `in`, with the results in `out` where there are any, and compares. */
static void check_run(const char *what, const char *text, ox_tensor *const *in, int count, ox_tensor **out) {
    ox_tensor *host[OPERANDS], *got[OXI_MAX_OUT] = {NULL};
    ox_dtype widest = OX_BF16;
    ox_shape shape = OX_SHAPE(4, 6, 8);
    for (int i = 0; i < count; i++) {
        host[i] = ox_clone(ox_to(ox_expand(in[i], shape), ox_cpu()));
        if (in[i]->ndim == 3 || i == 0) widest = in[i]->dtype == OX_BF16 ? widest : in[i]->dtype;
    }
    for (int r = 0; out && r < OXI_MAX_OUT; r++) got[r] = out[r];
    const ox_status status = oxi_chain_run(text, in, count, numbers, OXI_CHAIN_NUMBERS, got);
    CHECK_MSG(status == OX_OK, "%s, %s: %s", text, what, ox_error_text());
    if (status != OX_OK) return;
    const int results = oxi_chain_of(text)->result_count;
    for (int r = 0; r < results; r++) {
        ox_tensor *y = ox_contiguous(ox_to(ox_expand(got[r], shape), ox_cpu()));
        int64_t wrong = -1;
        double error = 0;
        for (int64_t i = 0; y && i < 4 * 6 * 8; i++) {
            double x[OPERANDS];
            for (int k = 0; k < count; k++) x[k] = real_at(host[k], i);
            const said want = say(text, x, numbers);
            const double off = fabs(real_at(y, i) - want.result[r]);
            if (off <= step_of(y->dtype) * want.around) continue;
            wrong = i;
            error = off;
        }
        CHECK_MSG(y && wrong < 0, "%s, %s: result %d, element %lld is off by %g", text, what, r,
                  (long long)wrong, error);
    }
}

/* ---- everywhere ---------------------------------------------------------------------------------------- */

static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16, OX_F64};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

static void test_layouts(void) {
    char what[120];
    for (int p = 0; p < PROGRAMS; p++)
        for (int d = 0; d < DTYPES; d++)
            for (int way = 0; way < LAYOUTS; way++) {
                if (dtypes[d] != OX_F32 && (way + p + d) % 3) continue;
                OX_SCOPE {
                    ox_tensor *in[OPERANDS];
                    for (int i = 0; i < programs[p].operands; i++)
                        in[i] = laid_out(i == 0 ? way % (SLICED + 2) : (way + i) % LAYOUTS, dtypes[d], i);
                    (void)snprintf(what, sizeof what, "%s, %s", ox_dtype_name(dtypes[d]), ways[way]);
                    check_run(what, programs[p].text, in, programs[p].operands, NULL);
                }
            }
}

/* f16 beside f32 computes in f32, and a condition is an operand of its own. */
static void test_mixed(void) {
    OX_SCOPE {
        ox_tensor *in[] = {laid_out(PLAIN, OX_F32, 0), laid_out(TRANSPOSED, OX_F16, 1),
                           laid_out(ROW, OX_BF16, 2), laid_out(SLICED, OX_F32, 3)};
        check_run("mixed", "a b * c + ; a d lt b c where ;", in, 4, NULL);
        ox_tensor *a = laid_out(BACKWARDS, OX_F16, 0), *b = laid_out(PLAIN, OX_F16, 1);
        ox_tensor *given[] = {ox_to(ox_empty(OX_SHAPE(4, 6, 8), OX_F32), place), NULL, NULL, NULL};
        ox_tensor *halves[] = {a, b};
        check_run("into f32", "a b + ;", halves, 2, given);
    }
}

static void test_in_place(void) {
    for (int d = 0; d < DTYPES; d++)
        OX_SCOPE {
            ox_tensor *p = laid_out(PLAIN, dtypes[d], 0), *m = laid_out(PLAIN, dtypes[d], 1);
            ox_tensor *in[] = {p, m, laid_out(TRANSPOSED, dtypes[d], 2)};
            ox_tensor *out[] = {m, p, NULL, NULL};
            check_run("in place", "b n0 * c n1 * + =p ; a p n4 * - ;", in, 3, out);
            ox_tensor *part = ox_slice(laid_out(SLICED, dtypes[d], 3), 0, 0, 4, 1);
            ox_tensor *alone[] = {part}, *into[] = {part, NULL, NULL, NULL};
            check_run("in place of a slice", "a n0 * n1 + ;", alone, 1, into);
        }
}

static void test_empty(void) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_empty(OX_SHAPE(3, 0, 2), OX_F32), place);
        ox_tensor *in[] = {x, laid_out(ONE, OX_F32, 0)}, *out[OXI_MAX_OUT] = {NULL};
        CHECK(oxi_chain_run("a b + ; a b * ;", in, 2, numbers, 1, out) == OX_OK && ox_numel(out[0]) == 0 &&
              out[1]->ndim == 3);
    }
}

/* More than a workgroup, and a count that is no multiple of four. */
static void test_long(void) {
    for (int d = 0; d < DTYPES; d++)
        OX_SCOPE {
            const int64_t n = 20003;
            ox_tensor *x = ox_cast(ox_rand(OX_SHAPE(n), OX_F32), dtypes[d]), *y = ox_to(x, place);
            ox_tensor *in[] = {y, ox_slice(y, 0, OX_END, OX_END, -1)}, *out[OXI_MAX_OUT] = {NULL};
            CHECK(oxi_chain_run("a b - n0 * a + ; a a * ;", in, 2, numbers, 1, out) == OX_OK);
            ox_tensor *sum = ox_to(out[0], ox_cpu()), *square = ox_to(out[1], ox_cpu());
            int64_t wrong = 0;
            for (int64_t i = 0; i < n; i++) {
                double a = real_at(x, i), b = real_at(x, n - 1 - i);
                wrong += !(fabs(real_at(sum, i) - ((a - b) * 0.75 + a)) <= 2 * step_of(dtypes[d]));
                wrong += !(fabs(real_at(square, i) - a * a) <= step_of(dtypes[d]));
            }
            CHECK_MSG(wrong == 0, "%s: %lld", ox_dtype_name(dtypes[d]), (long long)wrong);
        }
}

/* ---- texts --------------------------------------------------------------------------------------------- */

static void test_texts(void) {
    static const char *const refused[] = {
        "", "a", "a b +", "a ; b", "+ ;", "a + ;", "a b c ;", ";", "drop", "g ;", "a n12 + ;", "a n + ;",
        "a unknown ;", "a matmul ;", "a =v ;", "a p + ;", "=p ;", "a ;", "n0 ;", "a b c d e f a b c + ;",
        "a a b where ;", "a b lt =p p ;", "a exp ; a exp ; a exp ; a exp ; a exp ;", "a  b + ;x",
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        ox_error_clear();
        CHECK_MSG(oxi_chain_of(refused[i]) == NULL && ox_error() != OX_OK, "\"%s\"", refused[i]);
    }
    ox_error_clear();
    char text[3 * OXI_CHAIN_TEXT] = "a exp";
    for (int i = 0; i < OXI_CHAIN_STEPS - 1; i++) strcat(text, " tanh");
    strcat(text, " ;");
    CHECK(oxi_chain_of(text) != NULL && oxi_chain_of(text)->step_count == OXI_CHAIN_STEPS);
    text[strlen(text) - 1] = 0;
    strcat(text, "tanh ;");
    CHECK(oxi_chain_of(text) == NULL && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    /* the same program is the same address, however it is said; equal steps are one */
    CHECK(oxi_chain_of("a b + ;") == oxi_chain_of("a  b  + ;"));
    const oxi_chain *twice = oxi_chain_of("a exp a exp * ;");
    CHECK(twice && twice->step_count == 2);
    char shown[100];
    CHECK(oxi_chain_text(twice, shown, sizeof shown) > 0);
    CHECK(strcmp(shown, "a exp -> t0; t0 t0 mul -> t1; ") == 0);
}

static void test_operands_refused(void) {
    OX_SCOPE {
        ox_tensor *x = laid_out(PLAIN, OX_F32, 0), *n = ox_to(ox_arange(0, 48, 1, OX_I64), place);
        ox_tensor *y = ox_to(ox_zeros(OX_SHAPE(5), OX_F32), place), *out[OXI_MAX_OUT] = {NULL};
        ox_tensor *one[] = {x}, *whole[] = {n}, *apart[] = {x, y}, *missing[] = {x, NULL};
        CHECK(oxi_chain_run("a b + ;", one, 1, numbers, 0, out) == OX_ERR_ARG);
        CHECK(oxi_chain_run("a exp ;", whole, 1, numbers, 0, out) == OX_ERR_DTYPE);
        CHECK(oxi_chain_run("a b + ;", apart, 2, numbers, 0, out) == OX_ERR_SHAPE);
        CHECK(oxi_chain_run("a b + ;", missing, 2, numbers, 0, out) == OX_ERR_ARG);
        ox_error_clear();
    }
}

static void test_chains(void) {
    test_layouts();
    test_mixed();
    test_in_place();
    test_empty();
    test_long();
    test_operands_refused();
}

/* ---- on a GPU ------------------------------------------------------------------------------------------ */

#ifdef HAS_VULKAN
/* Parameters there and here, stepped by the same gradients. */
static void check_optimizer(ox_optimizer_rule rule, ox_dtype dtype) {
    OX_SCOPE {
        ox_tensor *here = ox_cast(ox_randn(OX_SHAPE(33, 7), OX_F32), dtype), *there = ox_to(here, place);
        ox_optimizer *a = ox_optimizer_open(rule, &here, 1), *b = ox_optimizer_open(rule, &there, 1);
        for (int step = 0; step < 3; step++) {
            ox_tensor *g = ox_cast(ox_randn(OX_SHAPE(33, 7), OX_F32), dtype);
            (void)ox_set_gradient(here, g);
            (void)ox_set_gradient(there, ox_to(g, place));
            CHECK(ox_optimizer_step(a) == OX_OK);
            const int64_t detours = ox_memory_get_stats().detours;
            CHECK_MSG(ox_optimizer_step(b) == OX_OK, "%s", ox_error_text());
            CHECK_MSG(ox_memory_get_stats().detours == detours, "rule %d, %s: %lld detours", (int)rule,
                      ox_dtype_name(dtype), (long long)(ox_memory_get_stats().detours - detours));
        }
        CHECK_MSG(ox_allclose(ox_to(there, ox_cpu()), here, 4 * step_of(dtype), 4 * step_of(dtype), false),
                  "rule %d, %s", (int)rule, ox_dtype_name(dtype));
        ox_optimizer_close(a);
        ox_optimizer_close(b);
    }
}

static ox_tensor *gradient_of(ox_tensor *x, ox_tensor *y) {
    (void)ox_requires_grad_(x, true);
    ox_tensor *z = ox_mul(ox_silu(ox_mul(x, ox_tanh(y))), ox_sqrt(ox_add_number(ox_square(x), 1)));
    z = ox_sum(z, OX_ALL_DIMS, false);
    CHECK_MSG(ox_backward(z, NULL) == OX_OK, "%s", ox_error_text());
    return ox_gradient(x);
}

static void check_gradients(void) {
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(40, 9), OX_F32), *y = ox_randn(OX_SHAPE(9), OX_F32);
        ox_tensor *there = ox_to(x, place), *with = ox_to(y, place);
        ox_tensor *want = gradient_of(x, y);
        const int64_t detours = ox_memory_get_stats().detours;
        ox_tensor *got = gradient_of(there, with);
        CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
                  (long long)(ox_memory_get_stats().detours - detours));
        CHECK(got && want && ox_allclose(ox_to(got, ox_cpu()), want, 1e-5, 1e-5, false));
    }
}

/* The clamped gate of two products of x [m, 64], on the device of x. */
static ox_tensor *gated(ox_tensor *x, ox_tensor *w, ox_tensor *bias, const double *numbers) {
    const int64_t n = w->shape[0] / 2;
    ox_tensor *in[2] = {NULL, NULL}, *out = NULL;
    for (int i = 0; i < 2; i++) in[i] = ox_linear(x, ox_narrow(w, 0, i * n, n), ox_narrow(bias, 0, i * n, n));
    return oxi_chain_run(OXI_CHAIN_CLAMPED_GATE, in, 2, numbers, 4, &out) == OX_OK ? out : NULL;
}

/* Both products and the gate are one dispatch, of few rows and of numbers that belong together; a bias beyond
 * f32's range and NaN go through the gate as on the CPU. */
static void check_gates(ox_dtype dtype) {
    static const double numbers[2][4] = {{7, 1.702, -7, 1}, {0.5, 1, -2, 0}};
    const int cases = dtype == OX_F32 ? 4 : 2; /* matrices of many rows may be rounded further */
    for (int i = 0; i < cases; i++)
        OX_SCOPE {
            const bool known = i % 2 == 0, few = i < 2;
            const int64_t n = 96;
            ox_tensor *x = ox_mul_number(ox_randn(OX_SHAPE(few ? 2 : 40, 64), OX_F32), 4);
            ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(2 * n, 64), OX_F32), dtype);
            float special[6] = {NAN, INFINITY, -INFINITY, 1e30f, -1e30f, 0};
            ox_tensor *bias = ox_randn(OX_SHAPE(2 * n), OX_F32);
            memcpy((float *)ox_data(bias) + 3, special, sizeof special);
            memcpy((float *)ox_data(bias) + n + 12, special, sizeof special);
            ox_tensor *want = gated(x, w, bias, numbers[!known]);
            x = ox_to(x, place);
            w = ox_to(w, place);
            bias = ox_to(bias, place);
            CHECK(ox_device_sync(place) == OX_OK);
            const int64_t before = ox_vulkan_get_stats(place).dispatches;
            ox_tensor *got = gated(x, w, bias, numbers[!known]);
            CHECK(ox_device_sync(place) == OX_OK);
            const int64_t made = ox_vulkan_get_stats(place).dispatches - before;
            if (known && few && !getenv("OX_VULKAN_BLOCKS"))
                CHECK_MSG(made == 1, "a gate of %s: %lld dispatches", ox_dtype_name(dtype), (long long)made);
            CHECK_MSG(got && want && ox_allclose(ox_to(got, ox_cpu()), want, 2e-3, 2e-3, true),
                      "the gate of %s, case %d", ox_dtype_name(dtype), i);
        }
}

static void test_there(void) {
    static const ox_optimizer_rule rules[] = {OX_OPTIMIZER_SGD, OX_OPTIMIZER_ADAM, OX_OPTIMIZER_ADAMW};
    place = ox_vulkan(0);
    if (!place) {
        check_skip("chains on a GPU", ox_error_text());
        ox_error_clear();
        return;
    }
    const int64_t detours = ox_memory_get_stats().detours;
    ox_vulkan_info info;
    CHECK(ox_vulkan_get_info(place, &info) == OX_OK);
    test_chains();
    const bool far_apart = getenv("OX_VULKAN_BLOCKS") != NULL; /* validate.sh */
    if (info.caps & OX_VULKAN_CAP_F64 && !far_apart)
        CHECK_MSG(ox_memory_get_stats().detours == detours, "%lld detours",
                  (long long)(ox_memory_get_stats().detours - detours));
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        for (int d = 0; d < 3; d++) check_optimizer(rules[i], dtypes[d]);
    check_gradients();
    check_gates(OX_F32);
    check_gates(OX_F16);
}

/* Six operands and three results are nine blocks, of which a shader binds six. */
static void test_apart(void) {
    if (!place) return;
    CHECK(ox_device_close(place) == OX_OK);
    (void)setenv("OX_VULKAN_BLOCKS", "apart", 1);
    place = ox_vulkan(0);
    CHECK(place != NULL);
    if (!place) return;
    const char *text = "a b c lerp d e f lerp - =p drop p erf ; p sin ; p p * ; a f * ;";
    OX_SCOPE {
        ox_tensor *in[OPERANDS];
        for (int i = 0; i < OPERANDS; i++) in[i] = laid_out(i == 2 ? ROW : PLAIN, OX_F32, i);
        check_run("in too many blocks", text, in, OPERANDS, NULL);
        in[5] = in[0];
        check_run("a result at a time", text, in, OPERANDS, NULL);
        check_run("in four blocks", "a n0 * b n1 * + =p ; p c * ;", in, 3, NULL);
        ox_tensor *out[] = {in[1], in[2], NULL, NULL};
        in[2] = out[1] = laid_out(PLAIN, OX_F32, 2);
        check_run("in place", "a n0 * b n1 * + =p ; p c * ;", in, 3, out);
    }
    check_optimizer(OX_OPTIMIZER_ADAMW, OX_F32);
}
#endif

/* A step of AdamW is one kernel: the bits of its steps, which two signs in turn make another program. */
static void test_adam(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F16};
    static const double numbers[2][7] = {{0.1, 0.999, 0.001, 0.99999, -0.003, 0.03, 1e-8},
                                         {0.7, 0.5, 0.5, 1, -0.1, 0.9, 0.1}};
    for (int d = 0; d < 3; d++)
        for (int64_t n = 64; n < 6000; n = 3 * n + 1)
            for (int which = 0; which < 2; which++)
                OX_SCOPE {
                    ox_tensor *in[2][4], *none[3] = {NULL, NULL, NULL}, *out[3];
                    for (int i = 0; i < 4; i++) {
                        ox_tensor *x = ox_randn(OX_SHAPE(n), OX_F32);
                        in[0][i] = ox_cast(i == 3 ? ox_square(x) : x, dtypes[d]);
                        in[1][i] = ox_clone(in[0][i]);
                    }
                    for (int way = 0; way < 2; way++) {
                        ox_tensor *to[3] = {in[way][2], in[way][3], in[way][0]};
                        const char *text = way ? "b =p drop c p n0 lerp =q ; d n1 * n2 p * p * + =r ; a n3 * "
                                                 "q n4 * r sqrt n5 / n6 + / + neg neg ;"
                                               : OXI_CHAIN_ADAM;
                        memcpy(out, none, sizeof out);
                        CHECK(oxi_chain_run(text, in[way], 4, numbers[which], 7, out) == OX_OK);
                        for (int r = 0; r < 3; r++) CHECK(out[r] && ox_copy_(to[r], out[r]));
                    }
                    for (int i = 0; i < 4; i++)
                        CHECK(memcmp(ox_data(in[0][i]), ox_data(in[1][i]), ox_nbytes(in[0][i])) == 0);
                    ox_tensor *const inside[3] = {in[0][2], in[0][3], in[0][0]};
                    memcpy(out, inside, sizeof out); /* in place */
                    CHECK(oxi_chain_run(OXI_CHAIN_ADAM, in[0], 4, numbers[which], 7, out) == OX_OK);
                    memcpy(out, none, sizeof out);
                    CHECK(oxi_chain_run(OXI_CHAIN_ADAM, in[1], 4, numbers[which], 7, out) == OX_OK);
                    for (int r = 0; r < 3; r++) CHECK(ox_equal(out[r], inside[r]));
                }
}

int main(void) {
    place = ox_cpu();
    test_texts();
    test_chains();
    test_adam();
#ifdef HAS_VULKAN
    test_there();
    test_apart();
#endif
    return check_done("chain");
}
