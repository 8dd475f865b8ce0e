/* test_vulkan.c - the Vulkan device: transfers, memory, recording, errors, and ops that the suites of ops,
 * run on it through mirror.c, do not see: what the counters say, deferred errors, sharing of buffers.
 * Skipped with the reason where there is no device. */
#include "backwards.h"
#include "operands.h"
#include "oxtorch_vulkan.h"

static ox_device *gpu;
static bool software, dots, doubles;

/* A processor that stands in for a GPU takes long to compile what a GPU has at once: it gets every fifth
 * case, which is another type and size each time. */
static bool is_turn(void) {
    static int64_t count;
    return !software || count++ % 5 == 0;
}

/* t's memory on the device, seen with t's strides: the layout survives, as ox_to alone would not do. */
static ox_tensor *there(ox_tensor *t) {
    int64_t first = t->offset, last = t->offset;
    for (int d = 0; d < t->ndim; d++) {
        int64_t far = (t->shape[d] - 1) * t->stride[d];
        if (far < 0)
            first += far;
        else
            last += far;
    }
    if (ox_numel(t) == 0) return ox_to(t, gpu);
    ox_tensor *flat = ox_as_strided(t, OX_SHAPE(last - first + 1), OX_SHAPE(1), first);
    ox_tensor *moved = ox_to(flat, gpu);
    ox_shape stride = ox_shape_from(t->ndim, t->stride);
    return moved ? ox_as_strided(moved, ox_shape_of(t), stride, t->offset - first) : NULL;
}

static ox_tensor *back(ox_tensor *t) {
    return t ? ox_to(t, ox_cpu()) : NULL;
}

/* ---- transfers ----------------------------------------------------------------------------------------- */

/* Large ones, several times round the ring, from anywhere in a page. */
static void check_large_transfers(void) {
    const int64_t n = (33 << 20) + 12345;
    for (int shift = 0; shift < 3; shift++)
        OX_SCOPE {
            ox_tensor *bytes = ox_randint(0, 256, OX_SHAPE(n + 3), OX_U8);
            ox_tensor *x = ox_narrow(bytes, 0, shift, n);
            ox_tensor *y = ox_to(x, gpu), *z = back(ox_add(y, ox_integer(1)));
            CHECK_MSG(y && same_bits(back(y), x), "%s", ox_error_text());
            CHECK_MSG(z && same_bits(z, ox_add(x, ox_integer(1))), "%s", ox_error_text());
        }
}

static void check_round_trips(void) {
    static const int64_t sizes[] = {0, 1, 3, 255, 4099, 1 << 20, (3 << 20) + 5, (9 << 20) + 3};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        OX_SCOPE {
            ox_tensor *x = ox_randint(0, 255, OX_SHAPE(sizes[i]), OX_U8);
            CHECK_MSG(same_bits(back(there(x)), x), "%lld bytes there and back", (long long)sizes[i]);
        }
    OX_SCOPE { /* uploads that wait for each other */
        ox_tensor *x[8];
        for (int i = 0; i < 8; i++) x[i] = ox_to(ox_full(OX_SHAPE(1 << 20), i, OX_F32), gpu);
        for (int i = 0; i < 8; i++) CHECK(ox_item(ox_mean(x[i], OX_ALL_DIMS, false)) == i);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

/* ---- ops on views: no copy, no detour ------------------------------------------------------------------ */

static bool near(ox_tensor *got, ox_tensor *want, double tolerance) {
    return got && want && ox_allclose(back(got), want, tolerance, tolerance, true);
}

static ox_tensor *joined(ox_tensor *x) {
    ox_tensor *list[2];
    list[0] = x;
    list[1] = ox_narrow(x, 1, 2, 5);
    return ox_cat(list, 2, 1);
}

static void check_views(ox_dtype dtype, double tolerance) {
    const int64_t shape[3] = {3, 9, 14};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            int64_t detours = ox_memory_get_stats().detours;
            ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 3, shape, dtype), *y = there(x);
            ox_tensor *w = random_layout(LAYOUT_PLAIN, DOMAIN_UNIT, 1, shape + 2, dtype), *v = there(w);
            ox_tensor *got[] = {ox_contiguous(y),
                                ox_cast(y, OX_F32),
                                ox_gelu(y),
                                ox_add(y, v),
                                ox_softmax(y, 1),
                                ox_rms_norm(y, 1, v, 1e-5),
                                ox_layer_norm(y, 2, NULL, NULL, 1e-5),
                                ox_sum(y, OX_DIMS(0, 2), false),
                                ox_amax(y, OX_DIMS(1), true),
                                ox_matmul(y, ox_transpose(y, 1, 2)),
                                ox_matmul(y, v),
                                ox_linear(y, ox_select(y, 0, 1), NULL),
                                joined(y)};
            int64_t made = ox_memory_get_stats().detours;
            ox_tensor *want[] = {ox_contiguous(x),
                                 ox_cast(x, OX_F32),
                                 ox_gelu(x),
                                 ox_add(x, w),
                                 ox_softmax(x, 1),
                                 ox_rms_norm(x, 1, w, 1e-5),
                                 ox_layer_norm(x, 2, NULL, NULL, 1e-5),
                                 ox_sum(x, OX_DIMS(0, 2), false),
                                 ox_amax(x, OX_DIMS(1), true),
                                 ox_matmul(x, ox_transpose(x, 1, 2)),
                                 ox_matmul(x, w),
                                 ox_linear(x, ox_select(x, 0, 1), NULL),
                                 joined(x)};
            CHECK_MSG(made == detours, "%s, %s: %lld detours", ox_dtype_name(dtype), layout_name((layout)l),
                      (long long)(made - detours));
            for (size_t i = 0; i < sizeof got / sizeof *got; i++)
                CHECK_MSG(near(got[i], want[i], tolerance), "%s, %s: op %d differs: %s", ox_dtype_name(dtype),
                          layout_name((layout)l), (int)i, ox_error_text());
            ox_error_clear();
        }
}

/* ---- what runs there and what takes the detour --------------------------------------------------------- */

/* Each gives a result of x [6,40] and ids [6,40] below 6, on whatever device they are. */
#define OP(name, expression)                                    \
    static ox_tensor *op_##name(ox_tensor *x, ox_tensor *ids) { \
        (void)x, (void)ids;                                     \
        return expression;                                      \
    }
OP(gather, ox_gather(x, 0, ids))
OP(scatter, ox_scatter(x, 0, ids, backwards(x, OX_DIMS(1))))
OP(scatter_add, ox_scatter_add(x, 0, ids, backwards(x, OX_DIMS(0))))
OP(index_add, ox_index_add(x, 1, ox_select(ids, 0, 2), backwards(x, OX_DIMS(1)), -2))
OP(index_select, ox_index_select(ox_t(x), 1, ox_select(ids, 1, 3)))
OP(embedding, ox_embedding(ids, x))
OP(one_hot, ox_one_hot(ox_t(ids), 6))
OP(triu, ox_triu(ox_t(x), 2))
OP(tril, ox_tril(backwards(x, OX_DIMS(1)), -1))
OP(roll, ox_roll(ox_t(x), OX_SHAPE(-3, 2), OX_SHAPE(0, 1)))
OP(turned, ox_contiguous(ox_permute(ox_reshape(x, OX_SHAPE(2, 24, 5)), OX_DIMS(2, 0, 1))))
OP(sum, ox_sum(x, OX_DIMS(1), false))
OP(std, ox_std(x, OX_DIMS(0), 1, false))
OP(prod, ox_prod(x, OX_DIMS(1), false))
OP(argmax, ox_argmax(x, 1, false))
OP(cumsum, ox_cumsum(x, 1))
OP(softmax, ox_softmax(x, 1))
OP(where, ox_where(ox_gt(x, ox_number(0)), x, ox_neg(x)))
OP(pow, ox_pow(ox_abs(x), ox_number(1.5)))
OP(double_sum, ox_add(ox_cast(x, OX_F64), ox_cast(x, OX_F64)))
OP(norm_3, ox_norm(x, 3, OX_DIMS(1), false))
OP(argsort, ox_argsort(x, 1, false))
OP(masked_select, ox_masked_select(x, ox_gt(x, ox_number(0))))
OP(nonzero, ox_nonzero(ox_relu(x)))
#undef OP

/* A new detour, and one that is gone, has to be noted here. */
static void check_detours(void) {
    const struct {
        const char *name;
        ox_tensor *(*run)(ox_tensor *x, ox_tensor *ids);
        bool detours;
    } ops[] = {
#define ROW(name, detours) {#name, op_##name, detours},
        ROW(gather, false) ROW(scatter, false) ROW(scatter_add, false) ROW(index_add, false)
        ROW(index_select, false) ROW(embedding, false) ROW(one_hot, false) ROW(triu, false) ROW(tril, false)
        ROW(roll, false) ROW(turned, false) ROW(sum, false) ROW(std, false) ROW(prod, false)
        ROW(argmax, false) ROW(cumsum, false) ROW(softmax, false) ROW(where, false) ROW(pow, false)
        ROW(double_sum, !doubles) ROW(norm_3, !doubles) ROW(argsort, false) ROW(masked_select, false)
        ROW(nonzero, false)
#undef ROW
    };
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(6, 40), OX_F32), *ids = ox_randint(0, 6, OX_SHAPE(6, 40), OX_I64);
        ox_tensor *y = there(x), *places = there(ids);
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            int64_t before = ox_memory_get_stats().detours;
            ox_tensor *got = ops[i].run(y, places);
            bool detours = ox_memory_get_stats().detours != before;
            CHECK_MSG(detours == ops[i].detours, "%s: %s", ops[i].name, detours ? "a detour" : "no detour");
            CHECK_MSG(near(got, ops[i].run(x, ids), 1e-5), "%s differs: %s", ops[i].name, ox_error_text());
            ox_error_clear();
        }
    }
}

/* Whether arithmetic on the device tells the smallest numbers of f32 from 0. */
static bool keeps_subnormals(void) {
    bool keeps = false;
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_full(OX_SHAPE(4), 1e-40, OX_F32), gpu);
        keeps = ox_item(ox_amax(ox_mul(x, ox_to(ox_ones(OX_SHAPE(4), OX_F32), gpu)), OX_ALL_DIMS, false)) > 0;
    }
    return keeps;
}

/* Sums whose parts leave the range of f32, in one dispatch and in two. */
static void check_edges(void) {
    static const int64_t lengths[] = {64, 1001, 100000};
    /* the smallest meets subnormals on the way, which some devices take for 0 */
    static const float sizes[] = {3e38f, 1e30f, 1e-30f, 1e-36f};
    const size_t count = keeps_subnormals() ? 4 : 3;
    for (size_t l = 0; l < 3; l++)
        for (size_t s = 0; s < count; s++)
            OX_SCOPE {
                ox_tensor *x = ox_mul(ox_rand(OX_SHAPE(lengths[l]), OX_F32), ox_number(sizes[s]));
                ox_tensor *list[2];
                list[0] = x;
                list[1] = ox_neg(backwards(x, OX_DIMS(0)));
                ox_tensor *both = ox_cat(list, 2, 0), *y = there(both);
                CHECK(fabs(ox_item(ox_sum(y, OX_ALL_DIMS, false))) <= 1e-7 * (double)lengths[l] * sizes[s]);
                ox_tensor *mean = ox_cast(ox_mean(ox_cast(x, OX_F64), OX_ALL_DIMS, false), OX_F32);
                CHECK_MSG(near(ox_mean(there(x), OX_ALL_DIMS, false), mean, 0.0), "mean of %lld around %g",
                          (long long)lengths[l], sizes[s]);
                double got = ox_item(ox_std(y, OX_ALL_DIMS, 1, false)),
                       want = ox_item(ox_std(both, OX_ALL_DIMS, 1, false));
                CHECK_MSG(fabs(got - want) <= 1e-6 * want, "std %g, not %g", got, want);
                got = ox_item(ox_norm(y, 2, OX_ALL_DIMS, false));
                want = ox_item(ox_norm(both, 2, OX_ALL_DIMS, false));
                CHECK_MSG(got == want || fabs(got - want) <= 1e-6 * want, "norm %g, not %g", got, want);
            }
    OX_SCOPE { /* products far out of range on the way */
        ox_tensor *x = ox_mul(ox_add(ox_rand(OX_SHAPE(40000), OX_F32), ox_number(0.5)), ox_number(1e20));
        ox_tensor *list[2];
        list[0] = x;
        list[1] = ox_reciprocal(x);
        ox_tensor *y = there(ox_cat(list, 2, 0));
        CHECK(fabs(ox_item(ox_prod(y, OX_ALL_DIMS, false)) - 1) < 1e-3);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

/* A copy into a view leaves what lies beside it. */
static void check_in_place(void) {
    static const ox_dtype dtypes[] = {OX_U8, OX_F16, OX_F32, OX_I64};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_arange(0, 99, 1, OX_I32), dtypes[d]), *y = ox_to(x, gpu);
            ox_tensor *part = ox_slice(x, 0, 3, 50, 7), *there_part = ox_slice(y, 0, 3, 50, 7);
            ox_tensor *odd = ox_narrow(x, 0, 61, 5), *there_odd = ox_narrow(y, 0, 61, 5);
            ox_copy_(part, ox_add(part, part));
            ox_copy_(there_part, ox_add(there_part, there_part));
            ox_copy_(odd, backwards(odd, OX_DIMS(0)));
            ox_copy_(there_odd, backwards(there_odd, OX_DIMS(0)));
            CHECK_MSG(same_bits(back(y), x), "%s: a copy into a view", ox_dtype_name(dtypes[d]));
        }
}

/* ---- products: each way that a shader takes ------------------------------------------------------------ */

typedef struct product_case {
    int64_t m, n, k;
    bool a_turned, b_turned; /* whether neighbors in memory lie across k */
    int64_t cut;             /* elements that lie before each row */
} product_case;

/* [rows, columns] of numbers like those of a layer, in memory as asked for. */
static ox_tensor *matrix_of(int64_t rows, int64_t columns, bool turned, int64_t cut, ox_dtype dtype) {
    ox_tensor *x = turned ? ox_randn(OX_SHAPE(columns, rows + cut), OX_F32)
                          : ox_randn(OX_SHAPE(rows, columns + cut), OX_F32);
    x = ox_narrow(ox_cast(ox_mul(x, ox_number(0.5)), dtype), 1, cut, turned ? rows : columns);
    return turned ? ox_t(x) : x;
}

static double distance(ox_tensor *got, ox_tensor *want) {
    ox_tensor *difference = ox_sub(ox_cast(back(got), OX_F64), want);
    double size = ox_item(ox_norm(want, 2, OX_ALL_DIMS, false));
    return ox_item(ox_norm(difference, 2, OX_ALL_DIMS, false)) / size;
}

static void check_product(const product_case *c, ox_dtype dtype, double tolerance) {
    if (!is_turn()) return;
    OX_SCOPE {
        ox_tensor *a = matrix_of(c->m, c->k, c->a_turned, c->cut, dtype),
                  *b = matrix_of(c->k, c->n, c->b_turned, c->cut, dtype),
                  *w = matrix_of(c->n, c->k, c->b_turned, c->cut, dtype),
                  *bias = ox_randn(OX_SHAPE(c->n), OX_F32);
        ox_tensor *x = ox_cast(a, OX_F64), *wide = ox_cast(w, OX_F64);
        double plain = distance(ox_matmul(there(a), there(b)), ox_matmul(x, ox_cast(b, OX_F64)));
        double gelu = distance(ox_linear_act(there(a), there(w), there(bias), OX_ACTIVATION_GELU),
                               ox_linear_act(x, wide, ox_cast(bias, OX_F64), OX_ACTIVATION_GELU));
        CHECK_MSG(plain < tolerance && gelu < tolerance,
                  "%s %lld x %lld x %lld%s%s, %lld cut: %g, gelu %g: %s", ox_dtype_name(dtype),
                  (long long)c->m, (long long)c->n, (long long)c->k, c->a_turned ? ", a turned" : "",
                  c->b_turned ? ", b turned" : "", (long long)c->cut, plain, gelu, ox_error_text());
    }
}

static void check_products(void) {
    static const product_case cases[] = {
        {1, 33, 40, false, true, 0},    {1, 2048, 512, false, true, 0},    {5, 1025, 264, false, true, 8},
        {8, 70, 100, false, true, 3},   {3, 50, 64, true, true, 0},        {9, 64, 64, false, false, 0},
        {64, 64, 64, false, false, 0},  {128, 256, 96, false, true, 0},    {128, 128, 64, true, false, 0},
        {136, 72, 40, false, false, 8}, {40, 200, 72, true, true, 0},      {130, 131, 67, false, false, 1},
        {257, 65, 129, true, true, 0},  {1300, 1304, 32, false, false, 0}, {1281, 1283, 33, true, true, 5},
        {96, 96, 1, false, false, 0},   {64, 72, 2048, false, true, 0},    {96, 136, 4096, true, false, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_product(&cases[i], OX_F32, 1e-6);
        check_product(&cases[i], OX_F16, 1e-3);
        check_product(&cases[i], OX_BF16, 8e-3);
    }
}

/* [n, k] of any type: what cannot be made from numbers is made of bytes that hold modest scales wherever they
 * are read as one. */
static ox_tensor *weights_of(int64_t n, int64_t k, ox_dtype dtype) {
    static unsigned char bytes[1 << 20];
    ox_tensor *made = ox_cast(matrix_of(n, k, false, 0, OX_F32), dtype);
    if (made) return made;
    ox_error_clear();
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(rand() >> 7 & 0x3f);
    return ox_from_data(bytes, OX_SHAPE(n, k), dtype);
}

static bool meets_dots(ox_dtype dtype) {
    return (dtype >= OX_Q4_0 && dtype <= OX_Q8_0) || dtype == OX_Q4_K || dtype == OX_Q5_K ||
           dtype == OX_Q6_K || dtype == OX_MXFP4;
}

/* Rows as dot products take them: bytes, with a scale for each sixteen. */
static ox_tensor *in_bytes(ox_tensor *x) {
    ox_tensor *sixteens = ox_unflatten(x, 1, OX_DIMS(-1, 16));
    ox_tensor *one = ox_mul_number(ox_amax(ox_abs(sixteens), OX_DIMS(2), true), 1.0 / 127);
    return ox_reshape(ox_mul(ox_round(ox_div(sixteens, one)), one), OX_DIMS(x->shape[0], x->shape[1]));
}

/* Weights of other types: exact where they are asked to be, else as rough as what the rows are rounded to. */
static void check_weights(ox_dtype dtype, int64_t rows, int64_t n, int64_t k, bool exact) {
    if (!is_turn()) return;
    OX_SCOPE {
        ox_tensor *x = matrix_of(rows, k, false, 0, OX_F32), *w = weights_of(n, k, dtype);
        ox_set_exact(exact);
        bool rounds = dots && !exact && rows <= 8 && meets_dots(dtype); /* and many rows to 16 bits */
        ox_tensor *read = rounds ? in_bytes(x) : x;
        double off = distance(ox_linear(there(x), ox_to(w, gpu), NULL),
                              ox_linear(ox_cast(read, OX_F64), ox_cast(ox_cast(w, OX_F32), OX_F64), NULL));
        ox_set_exact(false);
        double tolerance = exact ? 1e-6 : rows > 8 ? 6e-3 : rounds ? 2e-3 : 1e-6; /* a byte more or less */
        CHECK_MSG(off < tolerance, "%s%s %lld x %lld x %lld: %g: %s", ox_dtype_name(dtype),
                  exact ? ", exact" : "", (long long)rows, (long long)n, (long long)k, off, ox_error_text());
    }
}

static void check_all_weights(void) {
    static const ox_dtype dtypes[] = {OX_F16,  OX_BF16,   OX_F8_E4M3, OX_Q4_0, OX_Q4_1, OX_Q5_0,
                                      OX_Q5_1, OX_Q8_0,   OX_Q2_K,    OX_Q3_K, OX_Q4_K, OX_Q5_K,
                                      OX_Q6_K, OX_IQ4_NL, OX_IQ4_XS,  OX_MXFP4};
    static const int64_t rows[] = {1, 3, 8, 9, 33, 130};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            check_weights(dtypes[i], rows[j], 70 + 13 * (int64_t)j, 256 << (j & 1), false);
            check_weights(dtypes[i], rows[j], 64, 512, true);
        }
}

/* ox_set_exact counts when an op is called, also one that is recorded later. */
static void check_exact_when_called(void) {
    OX_SCOPE {
        ox_tensor *x = there(matrix_of(1, 512, false, 0, OX_F32));
        ox_tensor *w = ox_to(weights_of(64, 512, OX_Q8_0), gpu);
        ox_set_exact(true);
        ox_tensor *exact = back(ox_linear(x, w, NULL)), *y = ox_linear(x, w, NULL);
        ox_set_exact(false);
        ox_tensor *z = ox_linear(x, w, NULL); /* no pair with y, which is held back */
        CHECK_MSG(same_bits(back(y), exact), "%s", ox_error_text());
        CHECK_MSG(same_bits(back(z), back(ox_linear(x, w, NULL))), "%s", ox_error_text());
    }
}

/* ---- attention: each way that a shader takes ----------------------------------------------------------- */

typedef struct attention_case {
    int64_t heads, kv_heads, queries, keys, depth, value_depth;
    int64_t start, window; /* causal unless start < 0 */
    double softcap;
    bool mask, turned; /* q and v as views: [queries, heads, depth] in memory */
    bool sinks;
} attention_case;

static ox_tensor *heads_of(int64_t heads, int64_t rows, int64_t depth, bool turned, ox_dtype dtype) {
    ox_tensor *x = turned ? ox_transpose(ox_randn(OX_SHAPE(rows, heads, depth), OX_F32), 0, 1)
                          : ox_randn(OX_SHAPE(heads, rows, depth), OX_F32);
    return ox_cast(x, dtype);
}

static void check_attention(const attention_case *c, ox_dtype dtype, ox_dtype cache, bool exact,
                            double tolerance) {
    if (!is_turn()) return;
    OX_SCOPE {
        ox_tensor *q = heads_of(c->heads, c->queries, c->depth, c->turned, dtype),
                  *k = heads_of(c->kv_heads, c->keys, c->depth, false, cache),
                  *v = heads_of(c->kv_heads, c->keys, c->value_depth, c->turned && cache != OX_Q8_0, cache);
        ox_tensor *mask = c->mask ? ox_randn(OX_SHAPE(c->queries, c->keys), OX_F32) : NULL;
        ox_attention_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.causal = c->start >= 0;
        desc.query_start = c->start > 0 ? c->start : 0;
        desc.window = c->window;
        desc.softcap = c->softcap;
        desc.mask = mask ? there(mask) : NULL;
        ox_tensor *sinks = c->sinks ? ox_mul_number(ox_randn(OX_SHAPE(c->heads), OX_F32), 3) : NULL;
        desc.sinks = sinks ? there(sinks) : NULL;
        bool block = cache == OX_Q8_0;
        ox_set_exact(exact);
        ox_tensor *got = ox_scaled_dot_product_attention(there(q), block ? ox_to(k, gpu) : there(k),
                                                         block ? ox_to(v, gpu) : there(v), &desc);
        ox_set_exact(false);
        desc.mask = mask;
        desc.sinks = sinks;
        ox_tensor *want = ox_scaled_dot_product_attention(ox_cast(q, OX_F32), ox_cast(k, OX_F32),
                                                          ox_cast(v, OX_F32), &desc);
        double off = distance(got, ox_cast(want, OX_F64));
        CHECK_MSG(off < tolerance, "%s, cache %s: %lld (%lld) heads, %lld x %lld, depth %lld: %g: %s",
                  ox_dtype_name(dtype), ox_dtype_name(cache), (long long)c->heads, (long long)c->kv_heads,
                  (long long)c->queries, (long long)c->keys, (long long)c->depth, off, ox_error_text());
    }
}

static void check_attentions(void) {
    static const attention_case cases[] = {
        {4, 2, 1, 37, 64, 64, 36, 0, 0, false, true, false},
        {2, 2, 1, 700, 64, 64, 699, 0, 0, false, false, false},
        {2, 1, 3, 1300, 128, 128, 1297, 600, 0, true, true, false},
        {2, 2, 5, 33, 40, 72, -1, 0, 5, true, false, false},
        {2, 1, 70, 70, 64, 64, 0, 0, 0, false, true, false},
        {2, 2, 130, 150, 128, 128, 20, 0, 0, false, false, false},
        {4, 1, 66, 200, 64, 64, 134, 50, 3, true, false, false},
        {1, 1, 17, 19, 13, 21, -1, 0, 0, false, false, false},
        {3, 3, 65, 64, 32, 32, -1, 0, 0, false, true, false},
        {2, 2, 100, 97, 96, 96, -1, 0, 0, true, true, false},
        {4, 2, 1, 37, 64, 64, 36, 0, 0, false, true, true},
        {4, 2, 2, 1300, 128, 128, 1297, 600, 0, true, true, true},
        {4, 1, 1, 700, 64, 64, 699, 0, 3, false, false, true},
        {4, 1, 66, 200, 64, 64, 134, 50, 3, true, false, true},
        {2, 1, 70, 70, 64, 64, 0, 0, 0, false, true, true},
        {3, 3, 65, 64, 32, 32, -1, 0, 0, false, true, true},
        {2, 1, 17, 19, 13, 21, -1, 0, 0, false, false, true},
        /* long rows, as latents are */
        {4, 1, 1, 37, 576, 512, 36, 0, 0, false, true, false},
        {4, 1, 3, 1300, 576, 512, 1297, 0, 0, false, true, true},
        {2, 1, 1, 150, 288, 256, 149, 100, 0, false, false, false},
        {2, 2, 2, 90, 520, 640, -1, 0, 3, true, true, false},
        {2, 1, 1, 600, 1024, 1024, 599, 0, 0, false, false, true},
        {2, 1, 12, 40, 576, 512, 28, 0, 0, true, true, false},
        {2, 1, 1, 20, 1032, 64, 19, 0, 0, false, true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        check_attention(&cases[i], OX_F32, OX_F32, false, 2e-6);
        check_attention(&cases[i], OX_F16, OX_F16, false, 2e-3);
        check_attention(&cases[i], OX_BF16, OX_BF16, false, 1.5e-2);
        check_attention(&cases[i], OX_F32, OX_F16, false, 2e-3);
        check_attention(&cases[i], OX_F32, OX_F16, true, 2e-6);
        if (cases[i].depth % 32 == 0 && cases[i].value_depth % 32 == 0)
            check_attention(&cases[i], OX_F32, OX_Q8_0, false, 1e-2);
    }
}

/* ---- calls that become one dispatch -------------------------------------------------------------------- */

/* A layer of a language model as far as it is joined: every result is there, and is what it is without. */
typedef struct joined_results {
    ox_tensor *all[12];
    int count;
} joined_results;

static void keep(joined_results *r, ox_tensor *t) {
    r->all[r->count++] = t;
}

static joined_results joined_layer(ox_tensor *x, ox_tensor *cache, ox_tensor *positions,
                                   ox_tensor *const *w) {
    joined_results r;
    ox_rope_desc rope;
    memset(&r, 0, sizeof r);
    memset(&rope, 0, sizeof rope);
    rope.interleaved = true;
    ox_tensor *normal = ox_rms_norm(x, 1, w[0], 1e-5);
    keep(&r, ox_linear(normal, w[1], NULL)); /* alone, then two of a size */
    ox_tensor *k = ox_linear(normal, w[2], NULL);
    keep(&r, k);
    keep(&r, ox_linear(normal, w[2], NULL));
    keep(&r, normal);
    k = ox_rope(ox_transpose(ox_view(k, OX_SHAPE(x->shape[0], 8, 32)), 0, 1), positions, &rope);
    keep(&r, k);
    keep(&r, ox_copy_(ox_narrow(cache, 1, 3, x->shape[0]), k));
    ox_tensor *gate = ox_linear(normal, w[3], NULL), *up = ox_linear(normal, w[4], NULL);
    keep(&r, gate);
    keep(&r, up);
    ox_tensor *gated = ox_silu_mul(gate, up);
    keep(&r, gated);
    ox_tensor *down = ox_linear(gated, w[5], NULL);
    keep(&r, ox_add_(x, down));
    keep(&r, down);
    keep(&r, ox_add_(down, ox_linear(down, w[6], NULL))); /* what is added to is read as well */
    return r;
}

static void check_joined(ox_dtype dtype, int64_t rows, bool exact, double tolerance) {
    const int64_t width = 256, hidden = 512;
    ox_set_exact(exact);
    OX_SCOPE {
        ox_tensor *w[7], *v[7];
        const int64_t sizes[7][2] = {{width, 0},      {512, width},    {256, width},  {hidden, width},
                                     {hidden, width}, {width, hidden}, {width, width}};
        for (int i = 0; i < 7; i++) {
            w[i] = i == 0 ? ox_rand(OX_SHAPE(width), OX_F32)
                          : ox_cast(ox_mul_number(ox_randn(OX_SHAPE(sizes[i][0], sizes[i][1]), OX_F32), 0.1),
                                    dtype);
            v[i] = ox_to(w[i], gpu);
        }
        ox_tensor *x = ox_randn(OX_SHAPE(rows, width), OX_F32), *y = ox_to(x, gpu);
        ox_tensor *cache = ox_zeros(OX_SHAPE(8, 9, 32), OX_F16), *there_cache = ox_to(cache, gpu);
        ox_tensor *positions = ox_arange(3, (double)(3 + rows), 1, OX_I32);
        ox_vulkan_stats before = ox_vulkan_get_stats(gpu);
        joined_results got = joined_layer(y, there_cache, ox_to(positions, gpu), v);
        ox_vulkan_stats after = ox_vulkan_get_stats(gpu);
        for (int i = 1; i < 7; i++) w[i] = ox_cast(ox_cast(w[i], OX_F32), OX_F32);
        joined_results want = joined_layer(x, cache, positions, w);
        for (int i = 0; i < want.count; i++) {
            double off = distance(ox_cast(got.all[i], OX_F32), ox_cast(want.all[i], OX_F64));
            double most = want.all[i]->dtype == OX_F16 && tolerance < 2e-4 ? 2e-4 : tolerance; /* rounded */
            CHECK_MSG(off < most, "%s, %lld rows: result %d of a layer: %g: %s", ox_dtype_name(dtype),
                      (long long)rows, i, off, ox_error_text());
        }
        CHECK(distance(ox_cast(there_cache, OX_F32), ox_cast(cache, OX_F64)) <
              (tolerance < 2e-4 ? 2e-4 : tolerance));
        /* norm and three products; rope and copy; two and gate; product and sum; the last two */
        if (rows <= 4 && !getenv("OX_VULKAN_BLOCKS")) /* which keeps calls apart as well */
            CHECK_MSG(after.dispatches - before.dispatches == 6, "%lld dispatches",
                      (long long)(after.dispatches - before.dispatches));
    }
    ox_set_exact(false);
}

static void check_all_joined(void) {
    check_joined(OX_F16, 1, false, 1e-5);
    check_joined(OX_F16, 3, false, 1e-5);
    check_joined(OX_F32, 6, false, 1e-5);
    check_joined(OX_Q8_0, 1, false, 3e-2);
    check_joined(OX_Q4_K, 2, false, 3e-2);
    check_joined(OX_Q4_K, 2, true, 1e-5);
    check_joined(OX_Q6_K, 1, false, 3e-2);
}

/* ---- recording ----------------------------------------------------------------------------------------- */

static void loop_body(ox_tensor *x, ox_tensor *w) {
    OX_SCOPE {
        ox_tensor *y = ox_silu(ox_matmul(x, w));
        (void)ox_add_(x, ox_mul(y, ox_number(1e-3)));
    }
}

static void check_steady_loop(void) {
    if (getenv("OX_VULKAN_BLOCKS")) return; /* which of many buffers a tensor gets is another one each time */
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_randn(OX_SHAPE(33, 40), OX_F32), gpu),
                  *w = ox_to(ox_randn(OX_SHAPE(40, 40), OX_F32), gpu);
        loop_body(x, w);
        CHECK(ox_device_sync(gpu) == OX_OK);
        ox_vulkan_stats before = ox_vulkan_get_stats(gpu);
        for (int i = 0; i < 50; i++) loop_body(x, w);
        ox_vulkan_stats after = ox_vulkan_get_stats(gpu);
        CHECK(after.allocations == before.allocations && after.pipelines == before.pipelines);
        CHECK(after.descriptor_sets == before.descriptor_sets && after.waits == before.waits);
        CHECK_MSG(after.dispatches - before.dispatches == 200, "%lld dispatches",
                  (long long)(after.dispatches - before.dispatches));
        CHECK(after.submits - before.submits <= 4);
        CHECK(isfinite(ox_item(ox_sum(x, OX_ALL_DIMS, false))));
    }
}

/* Submissions that repeat a command buffer take the numbers of their own turn. */
static void check_repeats(void) {
    enum { TURNS = 40, SIZE = 300 };
    ox_vulkan_stats before = ox_vulkan_get_stats(gpu);
    OX_SCOPE {
        ox_tensor *sum = ox_to(ox_zeros(OX_SHAPE(SIZE), OX_F32), gpu);
        double total = 0;
        for (int i = 0; i < TURNS; i++)
            OX_SCOPE {
                ox_tensor *fresh = ox_to(ox_full(OX_SHAPE(SIZE), i * 7, OX_F32), gpu);
                ox_add_(sum, ox_number(i));
                ox_add_(ox_narrow(sum, 0, i, 1), ox_number(1));
                total += SIZE * i + 1;
                CHECK(ox_item(ox_sum(ox_add(sum, fresh), OX_ALL_DIMS, false)) == total + SIZE * i * 7);
            }
    }
    ox_vulkan_stats after = ox_vulkan_get_stats(gpu);
    CHECK_MSG(after.recordings - before.recordings < after.submits - before.submits, "%lld of %lld written",
              (long long)(after.recordings - before.recordings), (long long)(after.submits - before.submits));
}

/* ---- errors -------------------------------------------------------------------------------------------- */

static void check_errors(void) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_randn(OX_SHAPE(5, 3), OX_F32), gpu);
        ox_tensor *ids = ox_to(ox_full(OX_SHAPE(2), 7, OX_I64), gpu);
        ox_tensor *picked = ox_index_select(x, 0, ids);
        CHECK(picked != NULL && ox_error() == OX_OK);
        CHECK(ox_device_sync(gpu) == OX_ERR_INDEX && strstr(ox_error_text(), "index 7 is out of range"));
        ox_error_clear();
        CHECK(ox_device_sync(gpu) == OX_OK);
        CHECK(!ox_add(x, ox_ones(OX_SHAPE(3), OX_F32)) && ox_error() == OX_ERR_DEVICE);
        ox_error_clear();
        CHECK(ox_device_close(gpu) == OX_ERR_ARG); /* x is there */
        ox_error_clear();
        ox_vulkan_info facts;
        CHECK(ox_vulkan_get_info(ox_cpu(), &facts) == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_vulkan(99) && ox_error() == OX_ERR_DEVICE);
        ox_error_clear();
        CHECK(ox_vulkan_get_info(gpu, &facts) == OX_OK && facts.name[0] && facts.memory_bytes > 0);
        ox_tensor *huge = ox_expand(x, OX_SHAPE((int64_t)1 << 36, 5, 3));
        CHECK(huge && !ox_contiguous(huge) && ox_error() == OX_ERR_NOMEM);
        ox_error_clear();
    }
}

/* Work that is apart takes no barriers of its own, in whatever order it was called. */
static void check_apart(void) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_arange(0, 64, 1, OX_F32), gpu),
                  *y = ox_to(ox_arange(64, 128, 1, OX_F32), gpu);
        CHECK(ox_device_sync(gpu) == OX_OK);
        const int64_t barriers = ox_vulkan_get_stats(gpu).barriers;
        ox_tensor *a = ox_mul_number(ox_add_number(x, 1), 2), *b = ox_mul_number(ox_add_number(y, 1), 3);
        CHECK(ox_vulkan_get_stats(gpu).barriers - barriers <= 2); /* behind the uploads, and in between */
        (void)ox_copy_(x, b); /* behind who read it */
        CHECK(ox_item(ox_sum(a, OX_ALL_DIMS, false)) == 2 * (2016 + 64));
        CHECK(ox_item(ox_sum(x, OX_ALL_DIMS, false)) == 3 * (2016 + 64 * 64 + 64));
    }
}

/* ---- buffers ------------------------------------------------------------------------------------------- */

static int given_back;

static void take_back(void *user, void *data) {
    (void)user;
    (void)data;
    given_back++;
}

static void check_buffers(void) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_arange(0, 64, 1, OX_F32), gpu);
        uint64_t offset = 1, buffer = ox_vulkan_buffer_of(ox_narrow(x, 0, 3, 4), &offset);
        CHECK(buffer != 0 && offset % 256 == 12);
        offset -= 12;
        ox_tensor *same =
            ox_vulkan_from_buffer(gpu, buffer, offset, 256, OX_SHAPE(8, 8), OX_F32, take_back, NULL);
        CHECK_MSG(same && ox_item(ox_sum(same, OX_ALL_DIMS, false)) == 2016, "%s", ox_error_text());
        /* each waits for the one before, whose tensor is another one over the same bytes */
        CHECK(ox_device_sync(gpu) == OX_OK);
        int64_t barriers = ox_vulkan_get_stats(gpu).barriers;
        for (int i = 0; i < 4; i++) (void)ox_add_(i % 2 ? same : x, ox_number(1));
        CHECK(ox_vulkan_get_stats(gpu).barriers - barriers >= 3);
        CHECK(ox_item(ox_sum(x, OX_ALL_DIMS, false)) == 2016 + 4 * 64);
        CHECK(!ox_vulkan_from_buffer(gpu, buffer, offset, 255, OX_SHAPE(8, 8), OX_F32, NULL, NULL));
        ox_error_clear();
    }
    CHECK(given_back == 1);
}

/* Reads a file of up to `room` bytes; writes one. */
static size_t take_file(const char *path, unsigned char *bytes, size_t room) {
    FILE *file = fopen(path, "rb");
    size_t got = file ? fread(bytes, 1, room, file) : 0;
    if (file) fclose(file);
    return got;
}

static void put_file(const char *path, const unsigned char *bytes, size_t count) {
    FILE *file = fopen(path, "wb");
    if (!file) return;
    fwrite(bytes, 1, count, file);
    fclose(file);
}

static bool takes_cache(const char *path) {
    bool works = ox_vulkan_pipeline_cache(gpu, path) == OX_OK && ox_error() == OX_OK;
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(10), OX_F32), gpu);
        works = works && ox_item(ox_sum(x, OX_ALL_DIMS, false)) == 10;
    }
    return works;
}

/* Files that are cut off, changed, of another driver or no file at all: none does harm. */
static void check_broken_caches(const char *path, const char *folder) {
    static unsigned char bytes[1 << 20], broken[1 << 20];
    char other[600];
    size_t count = take_file(path, bytes, sizeof bytes);
    CHECK_MSG(count > 64, "%d bytes of pipelines", (int)count);
    snprintf(other, sizeof other, "%s/broken.bin", folder);
    for (size_t cut = 0; cut < count; cut += cut < 80 ? 1 : 1 + count / 40) {
        put_file(other, bytes, cut);
        CHECK_MSG(takes_cache(other), "cut off at %d: %s", (int)cut, ox_error_text());
    }
    for (size_t at = 0; at < count; at += at < 80 ? 1 : 1 + count / 60) {
        memcpy(broken, bytes, count);
        broken[at] ^= (unsigned char)(1 + at % 255);
        put_file(other, broken, count);
        CHECK_MSG(takes_cache(other), "byte %d changed: %s", (int)at, ox_error_text());
    }
    for (int turn = 0; turn < 300; turn++) { /* several bytes at once, a part moved, some more or fewer */
        size_t length = count - (size_t)rand() % 3 * ((size_t)rand() % count);
        memcpy(broken, bytes, count);
        for (int k = rand() % 9; k >= 0; k--)
            broken[(size_t)rand() % (k % 2 ? 64 : count)] ^= (unsigned char)(1 << rand() % 8);
        if (turn % 3 == 0) memmove(broken + (size_t)rand() % 64, bytes + (size_t)rand() % 64, count / 2);
        if (length > count) length = 64 + (size_t)rand() % 64;
        if (turn % 5 == 0 && count + 8 < sizeof broken) length = count + 1 + (size_t)rand() % 7;
        put_file(other, broken, length);
        CHECK_MSG(takes_cache(other), "changed, turn %d: %s", turn, ox_error_text());
    }
    for (size_t i = 0; i < sizeof broken; i++) broken[i] = (unsigned char)(rand() >> 7);
    put_file(other, broken, sizeof broken);
    CHECK(takes_cache(other));
    remove(other);
    CHECK(takes_cache(folder));
    snprintf(other, sizeof other, "%s/no/such/folder/pipelines.bin", folder);
    CHECK(takes_cache(other));
    CHECK(ox_device_close(gpu) == OX_OK && ox_error() == OX_OK); /* cannot be written */
    gpu = ox_vulkan(0);
    CHECK_MSG(gpu && ox_vulkan_pipeline_cache(gpu, folder) == OX_OK, "%s", ox_error_text());
    CHECK(ox_device_close(gpu) == OX_OK && ox_error() == OX_OK); /* nor over a folder */
    gpu = ox_vulkan(0);
}

static void check_cache_file(void) {
    const char *folder = getenv("OX_TEST_TMP");
    char path[512];
    snprintf(path, sizeof path, "%s/pipelines.bin", folder ? folder : "/tmp");
    CHECK(ox_vulkan_pipeline_cache(gpu, path) == OX_OK);
    CHECK(ox_device_close(gpu) == OX_OK);
    gpu = ox_vulkan(0);
    CHECK_MSG(gpu && ox_vulkan_pipeline_cache(gpu, path) == OX_OK, "%s", ox_error_text());
    OX_SCOPE {
        CHECK(gpu && ox_item(ox_sum(ox_to(ox_ones(OX_SHAPE(10), OX_F32), gpu), OX_ALL_DIMS, false)) == 10);
    }
    if (gpu) check_broken_caches(path, folder ? folder : "/tmp");
    remove(path);
}

int main(void) {
    gpu = ox_vulkan(0);
    if (!gpu) {
        return check_skipped("vulkan", ox_error_text());
    }
    ox_vulkan_info facts;
    software = ox_vulkan_get_info(gpu, &facts) == OX_OK && strcmp(facts.type, "software") == 0;
    dots = facts.caps & OX_VULKAN_CAP_DOT;
    doubles = facts.caps & OX_VULKAN_CAP_F64;
    check_round_trips();
    check_large_transfers();
    check_views(OX_F32, 1e-5);
    check_views(OX_F16, 2e-2);
    check_views(OX_BF16, 8e-2);
    check_detours();
    check_edges();
    check_in_place();
    check_products();
    check_all_weights();
    check_exact_when_called();
    check_attentions();
    check_all_joined();
    check_steady_loop();
    check_repeats();
    check_errors();
    check_apart();
    check_buffers();
    check_cache_file();
    CHECK(ox_device_close(gpu) == OX_OK);
    CHECK_NO_TENSORS();
    return check_done("vulkan");
}
