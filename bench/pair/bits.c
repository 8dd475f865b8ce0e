/* The results by which bits.py compares two builds of the library: a line `what hash` each.
 * Every row of the table, on every dtype and in every layout (tests/covers.h, tests/op_cases.h); larger
 * operands, where work is cut among threads; products of all block types; a model's text and logits.
 *
 *     bits THREADS [MODEL.gguf]     OX_ISA picks the tier */
#define OX_IMPLEMENTATION
#include "oxtorch.h"
#include "oxtorch_llm.h"
#include "../../tests/covers.h"

#include <stdio.h>

/* ---- hashing: FNV-1a over dtype, shape and bytes, all NaNs being one ----------------------------------- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t bytes) {
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ p[i]) * 1099511628211u;
    return hash;
}

static uint64_t hash_numbers(uint64_t hash, const ox_tensor *t) {
    size_t width = width_of(t->dtype), part = t->dtype == OX_C64 ? 4 : width;
    ox_dtype dtype = t->dtype == OX_C64 ? OX_F32 : t->dtype;
    for (int64_t i = 0; i < ox_numel(t); i++)
        for (size_t at = 0; at < width; at += part)
            hash = is_nan_element(dtype, element(t, i) + at) ? hash_bytes(hash, "nan", 3)
                                                             : hash_bytes(hash, element(t, i) + at, part);
    return hash;
}

static uint64_t hash_of(const ox_tensor *t) {
    uint64_t hash = 14695981039346656037u;
    int dtype = (int)t->dtype;
    hash = hash_bytes(hash, &dtype, sizeof dtype);
    hash = hash_bytes(hash, t->shape, (size_t)t->ndim * sizeof *t->shape);
    return ox_dtype_get_info(t->dtype)->cls == OX_CLASS_BLOCK ? hash_bytes(hash, ox_data(t), ox_nbytes(t))
                                                        : hash_numbers(hash, t);
}

/* Two results share a line; a refusal is one too, by its status. */
static void show(const char *what, const char *dtype, const char *how, const ox_tensor *a,
                 const ox_tensor *b) {
    if (a)
        printf("%s/%s/%s %016llx\n", what, dtype, how,
               (unsigned long long)(hash_of(a) ^ (b ? hash_of(b) * 31 : 0)));
    else
        printf("%s/%s/%s refused %d\n", what, dtype, how, (int)ox_error());
    ox_error_clear();
}

/* The same numbers for a case, whatever cases come before it. */
static void seed_of(const char *what, int more) {
    test_random_state = (hash_bytes(14695981039346656037u, what, strlen(what)) + (uint64_t)more) | 1;
    ox_manual_seed(test_random_state);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

static void show_covers(void) {
    for (int n = 0; n < COVER_COUNT; n++)
        for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    const cover *c = &covers[n];
                    ox_tensor *in[MOST_OPERANDS] = {NULL, NULL, NULL, NULL};
                    ox_tensor *out[MOST_RESULTS] = {NULL, NULL};
                    seed_of(c->label, d);
                    for (int k = 0; k < MOST_OPERANDS && c->in[k].kind; k++)
                        in[k] = make_operand(c, k, (layout)((l + 2 * k) % LAYOUT_COUNT), (ox_dtype)d);
                    c->run(in, out);
                    show(c->label, ox_dtype_name((ox_dtype)d), layout_name((layout)l), out[0], out[1]);
                }
}

static void show_map(const op_case *c, ox_dtype dtype, int l, bool in_place) {
    const int64_t shape[2] = {5, 33};
    ox_tensor *in[3];
    char how[80];
    seed_of(c->label, (int)dtype);
    for (int k = 0; k < c->arity; k++) {
        bool power = strcmp(c->name, "pow") == 0 && is_integral(dtype);
        bool mask = strcmp(c->name, "where") == 0 && k == 0;
        layout at = (layout)((l + (in_place && k == 0 ? 0 : k)) % LAYOUT_COUNT);
        in[k] = random_layout(at, power ? DOMAIN_COUNT : c->domains[k], 2, shape, mask ? OX_BOOL : dtype);
    }
    snprintf(how, sizeof how, "%s%s", in_place ? "in place, " : "", layout_name((layout)l));
    show(c->label, ox_dtype_name(dtype), how, in_place ? c->run_in_place(in) : c->run(in), NULL);
}

static void show_maps(void) {
    for (int n = 0; n < OP_CASE_COUNT; n++)
        for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
            for (int l = 0; l < LAYOUT_COUNT; l++) {
                OX_SCOPE { show_map(&op_cases[n], (ox_dtype)d, l, false); }
                if (op_cases[n].run_in_place)
                    OX_SCOPE { show_map(&op_cases[n], (ox_dtype)d, l, true); }
            }
}

/* Operands of two dtypes, and numbers beside tensors. */
static void show_promotion(void) {
    static const char *const binary[] = {"add", "div", "maximum", "eq", "pow"};
    for (size_t o = 0; o < sizeof binary / sizeof *binary; o++)
        for (int a = OX_BOOL; a <= PLAIN_DTYPES; a++)
            for (int b = OX_BOOL; b <= PLAIN_DTYPES + 2; b++)
                OX_SCOPE {
                    const int64_t shape[2] = {3, 21};
                    ox_tensor *in[2];
                    char how[32];
                    const op_case *c = op_cases;
                    while (strcmp(c->label, binary[o]) != 0) c++;
                    seed_of(c->label, a * 64 + b);
                    in[0] = random_layout(LAYOUT_PLAIN, DOMAIN_COUNT, 2, shape, (ox_dtype)a);
                    in[1] = b == PLAIN_DTYPES + 1 ? ox_number(2.5)
                            : b > PLAIN_DTYPES
                                ? ox_integer(3)
                                : random_layout(LAYOUT_TRANSPOSED, DOMAIN_COUNT, 2, shape, (ox_dtype)b);
                    snprintf(how, sizeof how, "with %s",
                             b > PLAIN_DTYPES ? (b == PLAIN_DTYPES + 1 ? "number" : "integer")
                                              : ox_dtype_name((ox_dtype)b));
                    show(c->label, ox_dtype_name((ox_dtype)a), how, c->run(in), NULL);
                }
}

/* ---- larger operands ----------------------------------------------------------------------------------- */

static ox_tensor *large(layout l, domain kind, int ndim, const int64_t *shape, ox_dtype dtype) {
    ox_tensor *base = NULL, *t = new_layout(l, ndim, shape, dtype, &base);
    for (int64_t i = 0; t && i < ox_numel(t); i++) random_values(kind, dtype, 1, element(t, i));
    return t;
}

#define WIDE(X)                                                                                       \
    X(exp, ox_exp(x)) X(add, ox_add(x, y)) X(gelu, ox_gelu(x)) X(gt, ox_gt(x, y))                      \
    X(sum, ox_sum(x, OX_ALL_DIMS, false)) X(sum_0, ox_sum(x, OX_DIMS(0), false))                       \
    X(sum_1, ox_sum(x, OX_DIMS(1), false)) X(var_0, ox_var(x, OX_DIMS(0), 1, false))                   \
    X(var_1, ox_var(x, OX_DIMS(1), 1, true)) X(amax, ox_amax(x, OX_DIMS(1), false))                    \
    X(argmax, ox_argmax(x, 0, false)) X(logsumexp, ox_logsumexp(x, OX_DIMS(1), false))                 \
    X(norm, ox_norm(x, 2, OX_ALL_DIMS, false)) X(cumsum_0, ox_cumsum(x, 0)) X(cumsum_1, ox_cumsum(x, 1)) \
    X(softmax_0, ox_softmax(x, 0)) X(softmax_1, ox_softmax(x, 1)) X(log_softmax, ox_log_softmax(x, 1)) \
    X(layer_norm, ox_layer_norm(x, 1, NULL, NULL, 1e-5)) X(rms_norm, ox_rms_norm(x, 1, NULL, 1e-5))    \
    X(argsort, ox_argsort(x, 1, false)) X(clone, ox_clone(x)) X(to_f32, ox_cast(x, OX_F32))            \
    X(to_bf16, ox_cast(x, OX_BF16)) X(triu, ox_triu(x, 3)) X(roll, ox_roll(x, OX_DIMS(5), OX_DIMS(1)))  \
    X(matmul, ox_matmul(x, ox_t(y))) X(matmul_thin, ox_matmul(ox_narrow(x, 0, 0, 1), ox_t(y)))         \
    X(matmul_few, ox_matmul(ox_narrow(x, 0, 0, 7), ox_t(y)))                                           \
    X(matmul_down, ox_matmul(ox_t(ox_narrow(x, 0, 0, 200)), ox_narrow(y, 0, 0, 200)))                  \
    X(linear_gelu, ox_linear_act(ox_narrow(x, 0, 0, 33), y, NULL, OX_ACTIVATION_GELU))

static void show_large(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_BF16, OX_F16, OX_F64, OX_I32, OX_I8, OX_I64, OX_C64};
    static const layout layouts[] = {LAYOUT_PLAIN, LAYOUT_TRANSPOSED, LAYOUT_STEP_LAST, LAYOUT_FLIPPED};
    const int64_t shape[2] = {263, 519};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t l = 0; l < sizeof layouts / sizeof *layouts; l++)
            OX_SCOPE {
                seed_of("large", (int)(16 * d + l));
                ox_tensor *x = large(layouts[l], DOMAIN_MODEST, 2, shape, dtypes[d]),
                          *y = large(layouts[(l + 1) % 4], DOMAIN_MODEST, 2, shape, dtypes[d]);
#define X(name, call) \
    OX_SCOPE { show("large " #name, ox_dtype_name(dtypes[d]), layout_name(layouts[l]), call, NULL); }
                WIDE(X)
#undef X
            }
}

/* ---- attention, and products of block types ------------------------------------------------------------ */

static void show_attention(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16, OX_Q8_0, OX_F64};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int variant = 0; variant < 8; variant++)
            OX_SCOPE {
                bool blocks = dtypes[d] == OX_Q8_0;
                ox_dtype own = blocks ? OX_F32 : dtypes[d];
                int64_t queries = variant % 3 == 0 ? 1 : variant % 3 == 1 ? 9 : 150;
                const int64_t q_shape[4] = {2, 6, queries, 64}, k_shape[4] = {2, 2, 170, 64};
                char how[48];
                seed_of("attention", (int)(16 * d) + variant);
                ox_tensor *q = large(LAYOUT_PLAIN, DOMAIN_UNIT, 4, q_shape, own),
                          *k = large(LAYOUT_PLAIN, DOMAIN_UNIT, 4, k_shape, own),
                          *v = large(LAYOUT_PLAIN, DOMAIN_UNIT, 4, k_shape, own);
                ox_attention_desc desc;
                memset(&desc, 0, sizeof desc);
                desc.causal = variant & 1;
                desc.query_start = variant & 1 ? 170 - queries : 0;
                desc.window = variant & 2 ? 40 : 0;
                desc.softcap = variant & 4 ? 20 : 0;
                if (variant == 6) desc.mask = large(LAYOUT_STEP_LAST, DOMAIN_UNIT, 1, &k_shape[2], own);
                if (blocks) k = ox_cast(k, OX_Q8_0), v = ox_cast(v, OX_Q8_0);
                snprintf(how, sizeof how, "variant %d", variant);
                show("attention", ox_dtype_name(dtypes[d]), how,
                     ox_scaled_dot_product_attention(q, k, v, &desc), NULL);
            }
}

static void show_blocks(void) {
    static const int64_t rows[] = {1, 3, 17, 70};
    for (int d = OX_Q4_0; d < OX_DTYPE_COUNT; d++)
        for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
            OX_SCOPE {
                const int64_t shape[2] = {rows[r], 1024};
                char how[48];
                seed_of("blocks", d);
                ox_tensor *w = ox_empty(OX_SHAPE(72, 1024), (ox_dtype)d);
                unsigned char *bytes = (unsigned char *)ox_data(w);
                for (size_t i = 0; i < ox_nbytes(w); i++)
                    bytes[i] = (unsigned char)(test_random() >> 40 & 0x2f);
                ox_tensor *x = large(LAYOUT_PLAIN, DOMAIN_UNIT, 2, shape, OX_F32);
                for (int variant = 0; variant < 3; variant++) {
                    static const char *const names[] = {"", "exact", "repacked"};
                    ox_set_exact(variant == 1);
                    if (variant == 2) (void)ox_prepack(w);
                    ox_error_clear();
                    snprintf(how, sizeof how, "%d rows %s", (int)rows[r], names[variant]);
                    show("linear", ox_dtype_name((ox_dtype)d), how, ox_linear(x, w, NULL), NULL);
                }
                ox_set_exact(false);
                if (r == 0) show("expand", ox_dtype_name((ox_dtype)d), "", ox_cast(w, OX_F32), NULL);
                if (r == 0) {
                    const int64_t whole[2] = {4, 1024};
                    ox_tensor *z = large(LAYOUT_TRANSPOSED, DOMAIN_MODEST, 2, whole, OX_F32);
                    show("quantize", ox_dtype_name((ox_dtype)d), "", ox_cast(z, (ox_dtype)d), NULL);
                }
            }
}

/* ---- a model ------------------------------------------------------------------------------------------- */

static void show_model(const char *path) {
    ox_llm *model = ox_llm_open(path, NULL);
    ox_llm_context *context = ox_llm_context_open(model, NULL);
    const int32_t prompt[9] = {1, 403, 407, 261, 378, 417, 300, 261, 410};
    static float logits[9 * 32768];
    int64_t count = model ? ox_tokenizer_count(ox_llm_tokenizer(model)) : 0;
    bool fits = context && count <= 32768 && ox_llm_decode_all(context, prompt, 9, logits) == OX_OK;
    printf("model/prompt %016llx\n",
           fits ? (unsigned long long)hash_bytes(1, logits, (size_t)count * 9 * sizeof *logits) : 0ull);
    for (int step = 0; fits && step < 100; step++) {
        int32_t best = 0;
        for (int32_t i = 1; i < count; i++)
            if (logits[i] > logits[best]) best = i;
        fits = ox_llm_decode(context, &best, 1, logits) == OX_OK;
        printf("model/step %d id %d %016llx\n", step, (int)best,
               (unsigned long long)hash_bytes(1, logits, (size_t)count * sizeof *logits));
    }
    if (!fits) printf("model/error %s\n", ox_error_text());
    ox_llm_context_close(context);
    ox_llm_close(model);
}

int main(int argc, char **argv) {
    ox_set_threads(argc > 1 ? atoi(argv[1]) : 1);
    show_covers();
    show_maps();
    show_promotion();
    show_large();
    show_attention();
    show_blocks();
    if (argc > 2) show_model(argv[2]);
    return 0;
}
