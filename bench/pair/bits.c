/* The results by which bits.py compares two builds of the library: a line `case/dtype/how hash` each.
 * Every row of the table, on every dtype and in every layout (tests/covers.h, tests/op_cases.h), in place
 * and of no elements; casts between all dtypes; every number of 8 and 16 bits and the special ones of the
 * others; larger operands, where work is cut among threads; products of all block types; a model's text and
 * logits.
 *
 *     bits THREADS [MODEL.gguf]     OX_ISA picks the tier
 *     bits rows                     prints the rows of ops.def that have no case here */
#define OX_IMPLEMENTATION
#include "oxtorch.h"
#include "oxtorch_llm.h"
#ifndef OX_FLATTENED
#include "old_names.h"
#endif
#ifndef MEANT
#define MEANT(now, then) now
#endif
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

/* Results of integers whose dtype is another one in older builds: a second line has their low bits. */
static bool was_retyped(const char *what, const ox_tensor *a) {
    static const char *const words[] = {"matmul", "linear", "dot", "all", "any"};
    if (strncmp(what, "large ", 6) == 0) what += 6;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_integral(a->dtype) && strncmp(what, words[i], strlen(words[i])) == 0) return true;
    return false;
}

/* Two results share a line; a refusal is one too, by its status. No line: this build lacks the function. */
static void show(const char *what, const char *dtype, const char *how, const ox_tensor *a,
                 const ox_tensor *b) {
    if (!a && ox_error() == OX_OK) return;
    if (a)
        printf("%s/%s/%s %016llx\n", what, dtype, how,
               (unsigned long long)(hash_of(a) ^ (b ? hash_of(b) * 31 : 0)));
    else
        printf("%s/%s/%s refused-%d\n", what, dtype, how, (int)ox_error());
    if (a && was_retyped(what, a)) {
        uint64_t hash = 1;
        for (int64_t i = 0; i < ox_numel(a); i++) hash = hash_bytes(hash, element(a, i), 1);
        printf("%s, low bits/%s/%s %016llx\n", what, dtype, how, (unsigned long long)hash);
    }
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

/* Of no elements: each dim of each operand in turn is narrowed to 0. What does not fit then is refused. */
static void show_empty_cover(const cover *c, ox_dtype dtype, int operand, int dim) {
    ox_tensor *in[MOST_OPERANDS] = {NULL, NULL, NULL, NULL}, *out[MOST_RESULTS] = {NULL, NULL};
    char how[48];
    seed_of(c->label, (int)dtype);
    for (int k = 0; k < MOST_OPERANDS && c->in[k].kind; k++)
        in[k] = make_operand(c, k, LAYOUT_PLAIN, dtype);
    in[operand] = ox_narrow(in[operand], dim, 0, 0);
    c->run(in, out);
    snprintf(how, sizeof how, "empty, operand %d dim %d", operand, dim);
    show(c->label, ox_dtype_name(dtype), how, out[0], out[1]);
}

static void show_empty(void) {
    for (int n = 0; n < COVER_COUNT; n++)
        for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
            for (int k = 0; k < MOST_OPERANDS && covers[n].in[k].kind; k++)
                for (int dim = 0; dim < covers[n].in[k].ndim; dim++)
                    OX_SCOPE { show_empty_cover(&covers[n], (ox_dtype)d, k, dim); }
    for (int n = 0; n < OP_CASE_COUNT; n++)
        for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
            OX_SCOPE {
                const int64_t shape[2] = {5, 0};
                ox_tensor *in[3];
                bool masked = strcmp(op_cases[n].name, "where") == 0;
                for (int k = 0; k < 3; k++)
                    in[k] = ox_empty(ox_shape_from(2, shape), masked && k == 0 ? OX_BOOL : (ox_dtype)d);
                show(op_cases[n].label, ox_dtype_name((ox_dtype)d), "empty", op_cases[n].run(in), NULL);
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
    static const char *const binary[] = {"add", "sub", "mul", "div", "maximum", "eq", "pow", "remainder"};
    static const double numbers[] = {2.5, 0.1, 3, 2, -1, 70001};
    enum { NUMBER_COUNT = sizeof numbers / sizeof *numbers };
    for (size_t o = 0; o < sizeof binary / sizeof *binary; o++)
        for (int a = OX_BOOL; a <= PLAIN_DTYPES; a++)
            for (int b = OX_BOOL; b <= PLAIN_DTYPES + NUMBER_COUNT; b++)
                OX_SCOPE {
                    const int64_t shape[2] = {3, 21};
                    ox_tensor *in[2];
                    char how[32];
                    const op_case *c = op_cases;
                    while (strcmp(c->label, binary[o]) != 0) c++;
                    seed_of(c->label, a * 64 + b);
                    in[0] = random_layout(LAYOUT_PLAIN, DOMAIN_COUNT, 2, shape, (ox_dtype)a);
                    int number = b - PLAIN_DTYPES - 1;
                    double value = number < 0 ? 0 : numbers[number];
                    bool whole = value == floor(value);
                    in[1] = number < 0 ? random_layout(LAYOUT_TRANSPOSED, DOMAIN_COUNT, 2, shape, (ox_dtype)b)
                            : whole    ? ox_integer((int64_t)value)
                                       : ox_number(value);
                    if (number < 0) snprintf(how, sizeof how, "with %s", ox_dtype_name((ox_dtype)b));
                    else snprintf(how, sizeof how, "with the number %g", value);
                    show(c->label, ox_dtype_name((ox_dtype)a), how, c->run(in), NULL);
                }
}

/* ---- functions made of rows, and in place -------------------------------------------------------------- */

/* x, floats below 32 bits in f32 */
static ox_tensor *widened(ox_tensor *x) {
    return x && is_real_float(x->dtype) && width_of(x->dtype) < 4 ? ox_cast(x, OX_F32) : x;
}

static ox_tensor *narrowed(ox_tensor *x, ox_dtype dtype) {
    return x && x->dtype != dtype ? ox_cast(x, dtype) : x;
}

/* x, y [3,8,6], m a mask, i indices below 3 [3,8,6], j below 8 [8]: X(label, row of ops.def that only this
 * covers or "", call) */
#define MORE(X)                                                                                           \
    X(add_number, "", ox_add_number(x, 2)) X(add_fraction, "", ox_add_number(x, 2.5))                     \
    X(sub_number, "", ox_sub_number(x, 2)) X(mul_number, "", ox_mul_number(x, 3))                         \
    X(mul_fraction, "", ox_mul_number(x, 0.3)) X(div_number, "", ox_div_number(x, 3))                     \
    X(square_number, "", ox_pow_number(x, 2)) X(root_number, "", ox_pow_number(x, 0.5))                   \
    X(cube_number, "", ox_pow_number(x, 3)) X(inverse_number, "", ox_pow_number(x, -1))                   \
    X(angle, "", ox_angle(x)) X(conj, "", ox_conj(x)) X(real, "", ox_real(x)) X(imag, "", ox_imag(x))     \
    X(glu, "", ox_glu(x, -1)) X(glu_1, "", ox_glu(x, 1)) X(masked_fill, "", ox_masked_fill(x, m, 3))      \
    X(masked_fill_, "", ox_masked_fill_(x, m, 3)) X(dropout, "", ox_dropout(x, 0.25, true))               \
    X(dropout_, "", ox_dropout_(x, 0.25, true)) X(bernoulli_, "", ox_bernoulli_(x, 0.5))                  \
    X(dot, "", ox_dot(ox_select(ox_select(x, 0, 0), 0, 1), ox_select(ox_select(y, 0, 0), 0, 2)))          \
    X(outer, "", ox_outer(ox_select(ox_select(x, 0, 0), 0, 1), ox_select(ox_select(y, 0, 0), 1, 2)))      \
    X(tile, "", ox_tile(x, OX_SHAPE(2, 1, 2))) X(reshape, "", ox_reshape(x, OX_SHAPE(8, 18)))             \
    X(movedim, "", ox_movedim(x, 0, 2)) X(flatten, "", ox_flatten(x, 0, 1))                               \
    X(unflatten, "", ox_unflatten(x, 1, OX_SHAPE(2, 4))) X(squeeze, "", ox_squeeze_all(ox_unsqueeze(x, 1))) \
    X(view_as_complex, "view_as_complex", ox_view_as_complex(ox_reshape(x, OX_SHAPE(3, 8, 3, 2))))        \
    X(to, "to", ox_to(x, NULL)) X(full_like, "", ox_full_like(x, 2)) X(zero_, "", ox_zero_(x))            \
    X(rand_like, "", ox_rand_like(x)) X(randn_like, "", ox_randn_like(x))                                 \
    X(randint_like, "", ox_randint_like(x, 0, 2)) X(cumsum_, "", ox_cumsum_(x, 1))                        \
    X(cumprod_, "", ox_cumprod_(x, -1)) X(triu_, "", ox_triu_(x, 1)) X(tril_, "", ox_tril_(x, 0))         \
    X(softmax_sum, "", ox_softmax(ox_sum(x, OX_DIMS(0), false), 0))                                       \
    X(scatter_, "", ox_scatter_(x, 0, i0, y)) X(scatter_add_, "", ox_scatter_add_(x, 0, i, y))            \
    X(index_add_, "", ox_index_add_(x, 1, j, y, 2)) X(copy_self, "", ox_copy_(x, y))                      \
    X(copy_broadcast, "", ox_copy_(x, ox_narrow(y, 1, 0, 1)))                                             \
    X(copy_converted, "", ox_copy_(x, ox_cast(y, OX_F32)))                                                \
    X(add_mixed, "", ox_add(x, ox_cast(y, OX_F32))) X(mul_bool, "", ox_mul(x, m))                         \
    X(add_into, "", ox_add_(x, ox_narrow(y, 2, 0, 1)))                                                    \
    X(glu_meant, "", MEANT(ox_glu(x, -1), narrowed(ox_glu(widened(x), -1), dtype)))                       \
    X(scatter_add_meant, "", MEANT(ox_scatter_add(x, 0, i, y),                                            \
                                   narrowed(ox_scatter_add(widened(x), 0, i, widened(y)), dtype)))        \
    X(index_add_meant, "", MEANT(ox_index_add(x, 1, j, y, 2),                                             \
                                 narrowed(ox_index_add(widened(x), 1, j, widened(y), 2), dtype)))         \
    X(flip_meant, "", ox_sum(MEANT(ox_flip(x, OX_DIMS(2)), ox_clone(ox_flip(x, OX_DIMS(2)))),             \
                             OX_DIMS(2), false))                                                          \
    X(or_meant, "", MEANT(ox_add_scaled(x, y, -1),                                                        \
                          dtype == OX_BOOL ? ox_logical_or(x, y) : ox_add_scaled(x, y, -1)))              \
    X(add_nothing, "", ox_add_scaled(x, y, 0)) X(add_minus, "", ox_add_scaled(x, y, -1))                  \
    X(index_add_minus, "", ox_index_add(x, 1, j, y, -1)) X(clamp_far, "", ox_clamp(x, 0, 260))            \
    X(clamp_above, "", ox_clamp(x, 200, INFINITY))                                                        \
    X(hardtanh_far, "", ox_hardtanh(x, 0, 260)) X(celu_of_0, "", ox_celu(x, 0.5))                         \
    X(rope, "", rope_of(x, false, 1, 0)) X(rope_pairs, "", rope_of(x, true, 1, 4000))                     \
    X(rope_scaled, "", rope_of(x, false, 0.25, 100000))                                                   \
    X(norm_0, "", ox_norm(x, 0, OX_DIMS(1), false)) X(norm_1, "", ox_norm(x, 1, OX_DIMS(2), false))       \
    X(norm_most, "", ox_norm(x, INFINITY, OX_DIMS(0), false))                                             \
    X(norm_half, "", ox_norm(x, 0.5, OX_ALL_DIMS, true)) X(var_0, "", ox_var(x, OX_ALL_DIMS, 0, true))    \
    X(one_hot_own, "", ox_one_hot(ox_clamp(x, 0, 6), 0))                                                  \
    X(flip_sum, "", ox_sum(ox_flip(x, OX_DIMS(2)), OX_DIMS(2), false))                                    \
    X(arange_step, "", ox_arange(0.5, 9, 0.75, x->dtype))                                                 \
    X(topk_least, "", ox_topk(x, 3, 2, false).values) X(argsort, "", ox_argsort(x, 1, true))              \
    X(multinomial, "", ox_multinomial(ox_abs(ox_select(x, 0, 1)), 9, true))                               \
    X(masked_attention, "", attention_of(x, y, i0))                                                       \
    X(conv_products, "", ox_matmul(ox_unfold(x, 1, 3, 2), ox_unfold(ox_transpose(y, 1, 2), 2, 3, 2)))

/* positions from `from` on, without factors */
static ox_tensor *rope_of(ox_tensor *x, bool interleaved, double scale, int64_t from) {
    ox_rope_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.interleaved = interleaved;
    desc.scale = scale;
    return ox_rope(x, ox_arange((double)from, (double)(from + ox_size(x, -2)), 1, OX_I64), &desc);
}

/* x, y [3,8,6] as [1,3,8,6]; rows whose index is 0 see nothing */
static ox_tensor *attention_of(ox_tensor *x, ox_tensor *y, ox_tensor *index) {
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    ox_tensor *rows = ox_narrow(ox_select(index, 0, 0), 1, 0, 1); /* [8,1] */
    desc.mask = ox_clone(ox_expand(ox_cast(rows, OX_BOOL), OX_SHAPE(8, 8)));
    return ox_scaled_dot_product_attention(ox_unsqueeze(x, 0), ox_unsqueeze(y, 0), ox_unsqueeze(x, 0), &desc);
}

static void show_more(void) {
    const int64_t shape[3] = {3, 8, 6}, rows[3] = {1, 8, 6};
    for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            OX_SCOPE {
                ox_tensor *i, *i0, *j, *m, *x, *y, *pair[2];
                ox_dtype dtype = (ox_dtype)d;
                layout other = (layout)((l + 2) % LAYOUT_COUNT);
#define X(name, row, call)                                                                               \
    OX_SCOPE {                                                                                           \
        seed_of(#name, d);                                                                               \
        x = pair[0] = random_layout((layout)l, DOMAIN_MODEST, 3, shape, dtype);                          \
        y = pair[1] = random_layout(other, DOMAIN_MODEST, 3, shape, dtype);                              \
        m = random_layout(other, DOMAIN_ANY, 3, shape, OX_BOOL);                                         \
        i = ox_randint(0, 3, ox_shape_from(3, shape), OX_I64);                                           \
        i0 = ox_randint(0, 3, ox_shape_from(3, rows), OX_I64);                                           \
        j = ox_randint(0, 8, OX_SHAPE(8), OX_I32);                                                       \
        (void)i, (void)i0, (void)j, (void)m, (void)y, (void)pair;                                        \
        show(#name, ox_dtype_name(dtype), layout_name((layout)l), call, NULL);                           \
    }
                MORE(X)
#undef X
            }
}

/* From each dtype to each. */
static void show_casts(void) {
    const int64_t shape[2] = {7, 37};
    for (int from = OX_BOOL; from <= PLAIN_DTYPES; from++)
        for (int to = OX_BOOL; to <= PLAIN_DTYPES; to++)
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    char how[64];
                    seed_of("cast", from);
                    snprintf(how, sizeof how, "to %s, %s", ox_dtype_name((ox_dtype)to),
                             layout_name((layout)l));
                    show("cast", ox_dtype_name((ox_dtype)from), how,
                         ox_cast(random_layout((layout)l, DOMAIN_ANY, 2, shape, (ox_dtype)from),
                                 (ox_dtype)to), NULL);
                }
}

/* ---- special numbers ----------------------------------------------------------------------------------- */

/* Of 8 and 16 bits all numbers there are; of others the ends, the zeros, infinities, NaN, subnormals. */
static ox_tensor *special_numbers(ox_dtype dtype) {
    static const double reals[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, -2.5, 1e-3, -7, 88.5, -88.5, 104, -104,
                                   709.5, -745, INFINITY, -INFINITY, NAN, 1e-40, -1e-40, 1e-310, 3e38, -3e38,
                                   1e300, 16777217, 4503599627370497.0, 2147483648.0, -2147483649.0};
    static const int64_t wholes[] = {0, 1, 2, 3, 7, -1, -2, -7, 255, 32767, 65535, INT32_MAX, INT32_MIN,
                                     UINT32_MAX, INT64_MAX, INT64_MIN, INT64_MIN + 1};
    size_t width = width_of(dtype), reals_count = sizeof reals / sizeof *reals;
    if (width <= 2) {
        ox_tensor *all = ox_empty(OX_SHAPE((int64_t)1 << 8 * width), dtype); /* bool: any byte is true */
        for (int64_t i = 0; all && i < ox_numel(all); i++) store_int(width == 1 ? OX_U8 : OX_U16,
                                                                     element(all, i), i);
        return all;
    }
    bool real = format_of(dtype) != NULL, complex = dtype == OX_C64;
    size_t count = complex ? reals_count * reals_count : real ? reals_count : sizeof wholes / sizeof *wholes;
    ox_tensor *t = ox_empty(OX_SHAPE((int64_t)count), dtype);
    for (size_t i = 0; t && i < count; i++) {
        if (!real) store_int(dtype, element(t, (int64_t)i), wholes[i]);
        else store_real(dtype, element(t, (int64_t)i), reals[i % reals_count]);
        if (complex) store_real(OX_F32, element(t, (int64_t)i) + 4, reals[i / reals_count]);
    }
    return t;
}

/* Functions of one operand on each of them, of more on each pair (of 16 bits on 97 x 89 of them). */
static void show_special(void) {
    for (int n = 0; n < OP_CASE_COUNT; n++)
        for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)
            OX_SCOPE {
                const op_case *c = &op_cases[n];
                ox_dtype dtype = (ox_dtype)d;
                ox_tensor *all = special_numbers(dtype), *in[3] = {all, all, all};
                if (c->arity > 1) {
                    bool wide = ox_numel(all) > 60000;
                    ox_tensor *a = wide ? ox_slice(all, 0, 0, OX_END, 677) : all,
                              *b = wide ? ox_slice(all, 0, 0, OX_END, 739) : all;
                    in[0] = ox_unsqueeze(a, 1);
                    in[1] = ox_unsqueeze(b, 0);
                    in[2] = ox_flip(in[0], OX_DIMS(0));
                    if (strcmp(c->name, "where") == 0) in[0] = ox_cast(in[0], OX_BOOL);
                }
                ox_error_clear();
                show(c->label, ox_dtype_name(dtype), "special numbers", c->run(in), NULL);
            }
    for (int from = OX_BOOL; from <= PLAIN_DTYPES; from++)
        for (int to = OX_BOOL; to <= PLAIN_DTYPES; to++)
            OX_SCOPE {
                char how[64];
                snprintf(how, sizeof how, "to %s, special numbers", ox_dtype_name((ox_dtype)to));
                show("cast", ox_dtype_name((ox_dtype)from), how,
                     ox_cast(special_numbers((ox_dtype)from), (ox_dtype)to), NULL);
            }
#define REDUCED(X)                                                                                  \
    X(sum) X(mean) X(prod) X(amax) X(amin) X(all) X(any) X(logsumexp)
#define X(op)                                                                                         \
    for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++)                                                     \
        OX_SCOPE {                                                                                    \
            ox_tensor *all = special_numbers((ox_dtype)d);                                            \
            show(#op, ox_dtype_name((ox_dtype)d), "special numbers", ox_##op(all, OX_DIMS(0), false), \
                 ox_##op(ox_narrow(all, 0, 0, 2), OX_DIMS(0), false));                                \
        }
    REDUCED(X)
#undef X
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
                static const ox_dtype others[] = {OX_F16, OX_BF16, OX_F64};
                for (size_t o = 0; o < sizeof others / sizeof *others; o++) {
                    snprintf(how, sizeof how, "%d rows of %s", (int)rows[r], ox_dtype_name(others[o]));
                    show("linear", ox_dtype_name((ox_dtype)d), how, ox_linear(ox_cast(x, others[o]), w, NULL),
                         NULL);
                }
                ox_tensor *holes = ox_clone(x);
                float odd[2] = {NAN, INFINITY};
                for (int k = 0; k < 2; k++) store_real(OX_F32, element(holes, 300 + 500 * k), odd[k]);
                snprintf(how, sizeof how, "%d rows with nan and inf", (int)rows[r]);
                show("linear", ox_dtype_name((ox_dtype)d), how, ox_linear(holes, w, NULL), NULL);
                snprintf(how, sizeof how, "%d rows", (int)rows[r]);
                show("matmul", ox_dtype_name((ox_dtype)d), how, ox_matmul(x, ox_t(w)), NULL);
                show("linear_act", ox_dtype_name((ox_dtype)d), how,
                     ox_linear_act(x, w, ox_arange(0, 72, 1, OX_F32), OX_ACTIVATION_GELU), NULL);
                if (r == 0)
                    show("embedding", ox_dtype_name((ox_dtype)d), "",
                         ox_embedding(ox_arange(0, 72, 5, OX_I64), w), NULL);
                if (r == 0) show("expand", ox_dtype_name((ox_dtype)d), "", ox_cast(w, OX_F32), NULL);
                if (r == 0) {
                    const int64_t whole[2] = {4, 1024};
                    ox_tensor *z = large(LAYOUT_TRANSPOSED, DOMAIN_MODEST, 2, whole, OX_F32);
                    show("quantize", ox_dtype_name((ox_dtype)d), "", ox_cast(z, (ox_dtype)d), NULL);
                }
            }
}

/* ---- a model ------------------------------------------------------------------------------------------- */

/* Logits of a prompt and of 200 greedy steps, and their text, with a cache of `cache`. */
static void show_model(const char *path, ox_dtype cache) {
    ox_llm *model = ox_llm_open(path, NULL);
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.cache = cache;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    const ox_tokenizer *tokenizer = model ? ox_llm_tokenizer(model) : NULL;
    const char *name = ox_dtype_name(cache);
    const int32_t prompt[9] = {1, 403, 407, 261, 378, 417, 300, 261, 410};
    static float logits[9 * 32768];
    static char text[8192];
    int32_t ids[200], steps = 0;
    int64_t count = tokenizer ? ox_tokenizer_count(tokenizer) : 0;
    bool fits = context && count <= 32768 && ox_llm_decode_all(context, prompt, 9, logits) == OX_OK;
    printf("model/%s/prompt %016llx\n", name,
           fits ? (unsigned long long)hash_bytes(1, logits, (size_t)count * 9 * sizeof *logits) : 0ull);
    if (fits) memmove(logits, logits + 8 * count, (size_t)count * sizeof *logits);
    for (; fits && steps < 200; steps++) {
        int32_t best = 0;
        for (int32_t i = 1; i < count; i++)
            if (logits[i] > logits[best]) best = i;
        ids[steps] = best;
        fits = ox_llm_decode(context, &best, 1, logits) == OX_OK;
        printf("model/%s/step %d %d-%016llx\n", name, (int)steps, (int)best,
               (unsigned long long)hash_bytes(1, logits, (size_t)count * sizeof *logits));
    }
    size_t length = fits ? ox_tokenizer_decode(tokenizer, ids, steps, text, sizeof text) : 0;
    printf("model/%s/text of %d letters %016llx\n", name, (int)length,
           (unsigned long long)hash_bytes(1, text, length));
    if (!fits) printf("model/%s/end refused-%d\n", name, (int)ox_error());
    ox_error_clear();
    ox_llm_context_close(context);
    ox_llm_close(model);
}

/* ---- rows of ops.def without a case -------------------------------------------------------------------- */

static bool has_case(const char *row) {
#define X(name, its, call) #its,
    static const char *const more[] = {MORE(X)};
#undef X
    char quoted[48];
    snprintf(quoted, sizeof quoted, "\"%s\"", row);
    for (int i = 0; i < COVER_COUNT; i++)
        if (strcmp(covers[i].row, row) == 0) return true;
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (strcmp(op_cases[i].name, row) == 0) return true;
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (strcmp(more[i], quoted) == 0) return true;
    return false;
}

static void show_rows(void) {
    for (int i = 0; i < OP_ROW_COUNT; i++)
        if (!has_case(op_rows[i].name)) printf("%s\n", op_rows[i].name);
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "rows") == 0) {
        show_rows();
        return 0;
    }
    ox_set_threads(argc > 1 ? atoi(argv[1]) : 1);
    show_covers();
    show_empty();
    show_maps();
    show_promotion();
    show_more();
    show_casts();
    show_special();
    show_large();
    show_attention();
    show_blocks();
    static const ox_dtype caches[] = {OX_F32, OX_F16, OX_BF16, OX_Q8_0};
    for (size_t i = 0; argc > 2 && i < sizeof caches / sizeof *caches; i++) show_model(argv[2], caches[i]);
    return 0;
}
