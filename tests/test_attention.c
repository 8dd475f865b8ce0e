/* Attention and rope against plain loops in double: dtypes, layouts, masks, heads, long keys, threads.
 * OX_TIERS OX_TSAN OX_QEMU OX_VULKAN(attention rope) */
#include "backwards.h"
#include "operands.h"

/* ---- the plain loops ----------------------------------------------------------------------------------- */

typedef struct shapes {
    int64_t batch, heads, kv_heads, length, keys, depth, value_depth;
} shapes;

static double *doubles_of(ox_tensor *t) {
    double *out = (double *)malloc(sizeof(double) * (size_t)(ox_numel(t) + 1));
    for (int64_t i = 0; i < ox_numel(t); i++) out[i] = load_real(t->dtype, element(t, i));
    return out;
}

/* Whether the query at s sees key t. */
static bool sees(const ox_attention_desc *desc, int64_t s, int64_t t) {
    int64_t position = desc->query_start + s;
    return (!desc->causal || t <= position) && (desc->window <= 0 || t > position - desc->window);
}

/* softmax(scale q k^T + mask, sink) v; mask: additive doubles [batch][heads][length][keys] or NULL. */
static double *attend(const shapes *n, const double *q, const double *k, const double *v, const double *mask,
                      const ox_attention_desc *desc) {
    double *out =
        (double *)calloc((size_t)(n->batch * n->heads * n->length * n->value_depth + 1), sizeof(double));
    double *scores = (double *)malloc(sizeof(double) * (size_t)(n->keys + 1));
    double scale = desc->scale != 0 ? desc->scale : 1 / sqrt((double)n->depth);
    for (int64_t row = 0; row < n->batch * n->heads * n->length; row++) {
        int64_t s = row % n->length, head = row / n->length % n->heads, batch = row / n->length / n->heads;
        int64_t kv = batch * n->kv_heads + head / (n->heads / n->kv_heads);
        double max = -INFINITY, sum = 0;
        double sink = desc->sinks ? load_real(OX_F32, element(desc->sinks, head)) : -INFINITY;
        for (int64_t t = 0; t < n->keys; t++) {
            double score = 0;
            for (int64_t d = 0; d < n->depth; d++)
                score += q[row * n->depth + d] * k[(kv * n->keys + t) * n->depth + d];
            score *= scale;
            if (desc->softcap > 0) score = desc->softcap * tanh(score / desc->softcap);
            if (mask) score += mask[row * n->keys + t];
            scores[t] = sees(desc, s, t) ? score : -INFINITY;
            if (scores[t] > max) max = scores[t];
        }
        double top = sink > max ? sink : max;
        if (max > -INFINITY) sum = exp(sink - top);
        for (int64_t t = 0; t < n->keys && max > -INFINITY; t++) {
            double weight = exp(scores[t] - top);
            sum += weight;
            for (int64_t d = 0; d < n->value_depth; d++)
                out[row * n->value_depth + d] += weight * v[(kv * n->keys + t) * n->value_depth + d];
        }
        for (int64_t d = 0; d < n->value_depth; d++)
            out[row * n->value_depth + d] = sum > 0 ? out[row * n->value_depth + d] / sum : 0;
    }
    free(scores);
    return out;
}

/* ---- one case ------------------------------------------------------------------------------------------ */

static ox_tensor *make(layout l, int64_t a, int64_t b, int64_t c, int64_t d, ox_dtype dtype) {
    const int64_t shape[4] = {a, b, c, d};
    ox_tensor *base, *t = new_layout(l, 4, shape, dtype, &base);
    for (int64_t i = 0; i < ox_numel(t); i++) store_real(dtype, element(t, i), 2 * test_uniform() - 1);
    return t;
}

/* mask as additive doubles, broadcast. */
static double *mask_doubles(const shapes *n, ox_tensor *mask) {
    ox_tensor *full = ox_expand(mask, OX_SHAPE(n->batch, n->heads, n->length, n->keys));
    double *out = doubles_of(full);
    for (int64_t i = 0; mask->dtype == OX_BOOL && i < ox_numel(full); i++)
        out[i] = out[i] != 0 ? 0 : -INFINITY;
    return out;
}

static void check_attention(const char *name, const shapes *n, layout l, ox_dtype q_dtype, ox_dtype k_dtype,
                            const ox_attention_desc *given) {
    OX_SCOPE {
        ox_attention_desc desc = *given;
        ox_dtype made = k_dtype == OX_Q8_0 ? OX_F32 : k_dtype;
        ox_tensor *q = make(l, n->batch, n->heads, n->length, n->depth, q_dtype),
                  *k = make(l, n->batch, n->kv_heads, n->keys, n->depth, made);
        ox_tensor *v = make(l, n->batch, n->kv_heads, n->keys, n->value_depth, made), *blocks[2] = {k, v};
        if (k_dtype == OX_Q8_0) {
            blocks[0] = ox_cast(k, k_dtype);
            blocks[1] = ox_cast(v, k_dtype);
            k = ox_cast(blocks[0], made);
            v = ox_cast(blocks[1], made);
        }
        double *dq = doubles_of(q), *dk = doubles_of(k), *dv = doubles_of(v),
               *dm = desc.mask ? mask_doubles(n, desc.mask) : NULL;
        double *want = attend(n, dq, dk, dv, dm, &desc);
        ox_tensor *out = ox_scaled_dot_product_attention(q, blocks[0], blocks[1], &desc);
        CHECK_MSG(out && out->dtype == q_dtype && ox_is_contiguous(out), "%s: %s", name, ox_error_text());
        double worst = 0, slack = q_dtype == OX_F64 ? 1e-13 : 2e-6;
        for (int64_t i = 0; out && i < ox_numel(out); i++) {
            double got = load_real(q_dtype, element(out, i)), off = fabs(got - want[i]);
            double rounding =
                q_dtype == OX_F16 || q_dtype == OX_BF16 ? 0.51 * spacing(format_of(q_dtype), want[i]) : 0;
            worst = off - rounding > worst || got != got ? (got != got ? INFINITY : off - rounding) : worst;
        }
        CHECK_MSG(worst <= slack, "%s, %s, q %s, k %s: off by %g", name, layout_name(l),
                  ox_dtype_name(q_dtype), ox_dtype_name(k_dtype), worst);
        free(dq);
        free(dk);
        free(dv);
        free(dm);
        free(want);
    }
}

static ox_attention_desc plain_desc(void) {
    ox_attention_desc desc;
    memset(&desc, 0, sizeof desc);
    return desc;
}

/* ---- cases --------------------------------------------------------------------------------------------- */

static void test_shapes(void) {
    static const shapes sizes[] = {
        {1, 1, 1, 1, 1, 1, 1},      {2, 3, 3, 5, 7, 8, 8},       {1, 2, 2, 9, 33, 5, 3},
        {1, 4, 2, 1, 700, 16, 16},  {2, 8, 2, 2, 65, 64, 32},    {1, 1, 1, 70, 70, 64, 64},
        {1, 6, 2, 40, 130, 24, 40}, {1, 2, 1, 300, 300, 16, 16}, {1, 8, 1, 1, 1100, 12, 20},
        {1, 1, 1, 20, 5000, 8, 8},  {1, 3, 3, 17, 0, 4, 4},      {1, 2, 2, 0, 5, 4, 4},
        {0, 2, 2, 3, 5, 4, 4},      {1, 2, 2, 11, 4, 0, 3},      {1, 1, 1, 12, 12, 300, 10},
        {1, 1, 1, 3, 40, 7, 257},   {1, 10, 1, 1, 513, 8, 8},
        {2, 12, 1, 1, 48, 36, 32},  {1, 16, 1, 1, 600, 20, 16},  {1, 17, 1, 1, 40, 8, 8},
        {1, 5, 1, 1, 41, 48, 112},  {1, 12, 2, 1, 75, 80, 208},  {1, 19, 1, 1, 530, 272, 256},
        {1, 40, 1, 1, 520, 12, 8},  {2, 20, 1, 1, 1100, 12, 20}};
    for (int i = 0; i < (int)(sizeof sizes / sizeof *sizes); i++) {
        char name[64];
        ox_attention_desc desc = plain_desc();
        if (sizes[i].depth == 0) desc.scale = 1;
        snprintf(name, sizeof name, "shape %d", i);
        check_attention(name, &sizes[i], LAYOUT_PLAIN, OX_F32, OX_F32, &desc);
        check_attention(name, &sizes[i], LAYOUT_PLAIN, OX_F64, OX_F64, &desc);
        desc.causal = true;
        check_attention(name, &sizes[i], LAYOUT_PLAIN, OX_F32, OX_F16, &desc);
        desc.query_start = sizes[i].keys - sizes[i].length;
        if (desc.query_start < 0) desc.query_start = 0;
        check_attention(name, &sizes[i], LAYOUT_INSIDE, OX_F16, OX_F16, &desc);
        desc.window = 6;
        check_attention(name, &sizes[i], LAYOUT_PLAIN, OX_F32, OX_F32, &desc);
        desc.causal = false;
        desc.window = 3;
        check_attention(name, &sizes[i], LAYOUT_PLAIN, OX_F64, OX_F64, &desc);
    }
}

static void test_dtypes_and_layouts(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16};
    static const shapes few = {1, 4, 2, 1, 70, 16, 16}, many = {2, 4, 2, 21, 70, 16, 24};
    ox_attention_desc desc = plain_desc();
    desc.causal = true;
    desc.query_start = 40;
    for (int q = 0; q < 3; q++)
        for (int k = 0; k < 3; k++)
            for (int l = 0; l < LAYOUT_COUNT; l++) {
                check_attention("few rows", &few, (layout)l, dtypes[q], dtypes[k], &desc);
                check_attention("many rows", &many, (layout)l, dtypes[q], dtypes[k], &desc);
            }
    for (int l = 0; l < LAYOUT_COUNT; l++) {
        check_attention("f64", &many, (layout)l, OX_F64, OX_F64, &desc);
        check_attention("f8", l % 2 ? &many : &few, (layout)l, OX_F32, OX_F8_E5M2, &desc);
    }
}

/* Queries that share their keys are taken some at a time: each has the bits that it has by itself. */
static void test_queries_beside(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16};
    for (int i = 0; i < 3 * 8; i++) OX_SCOPE {
        const int64_t heads = 1 + i / 3;
        ox_tensor *q = ox_randn(OX_SHAPE(1, heads, 1, 80), OX_F32),
                  *k = ox_cast(ox_randn(OX_SHAPE(1, 1, 75, 80), OX_F32), dtypes[i % 3]),
                  *v = ox_cast(ox_randn(OX_SHAPE(1, 1, 75, 212), OX_F32), dtypes[i % 3]),
                  *all = ox_scaled_dot_product_attention(q, k, v, NULL);
        for (int64_t head = 0; head < heads; head++) {
            ox_tensor *alone = ox_scaled_dot_product_attention(ox_narrow(q, 1, head, 1), k, v, NULL);
            CHECK(same_bits(ox_contiguous(ox_narrow(all, 1, head, 1)), alone));
        }
    }
}

/* q, k, v as a transformer has them: [B,S,H,D] seen as [B,H,S,D]; missing leading dims; more of them. */
static void test_views(void) {
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(2, 30, 3, 16), OX_F32), *q = ox_transpose(x, 1, 2),
                  *plain = ox_contiguous(q);
        ox_tensor *out = ox_scaled_dot_product_attention(q, q, q, NULL),
                  *same = ox_scaled_dot_product_attention(plain, plain, plain, NULL);
        CHECK(same_bits(out, same));
        ox_tensor *one = ox_select(plain, 0, 1), *two = ox_select(one, 0, 2);
        CHECK(
            same_bits(ox_scaled_dot_product_attention(one, one, one, NULL), ox_clone(ox_select(same, 0, 1))));
        CHECK(ox_allclose(ox_scaled_dot_product_attention(two, two, two, NULL),
                          ox_select(ox_select(same, 0, 1), 0, 2), 1e-5, 1e-6, false));
        ox_tensor *deep = ox_view(plain, OX_SHAPE(1, 2, 1, 3, 30, 16));
        CHECK(same_bits(
            ox_view(ox_scaled_dot_product_attention(deep, deep, deep, NULL), OX_SHAPE(2, 3, 30, 16)), same));
        ox_tensor *bad = ox_randn(OX_SHAPE(2, 2, 30, 16), OX_F32);
        CHECK(ox_scaled_dot_product_attention(plain, bad, bad, NULL) == NULL && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

/* A token's heads are cut among threads where there are few keys' heads: each has its own bits. */
static void test_heads_of_one_position(void) {
    for (int heads = 2; heads <= 44; heads += 7)
        OX_SCOPE {
            ox_tensor *q = ox_randn(OX_SHAPE(heads, 1, 40), OX_F32),
                      *k = ox_randn(OX_SHAPE(1, 90, 40), OX_F16), *v = ox_narrow(k, 2, 0, 32),
                      *all = ox_scaled_dot_product_attention(q, k, v, NULL);
            for (int h = 0; h < heads; h++) {
                ox_tensor *one = ox_scaled_dot_product_attention(ox_narrow(q, 0, h, 1), k, v, NULL);
                CHECK(same_bits(ox_clone(ox_narrow(all, 0, h, 1)), one));
            }
        }
}

static void test_masks(void) {
    static const shapes sizes[] = {{2, 4, 2, 3, 50, 8, 8}, {2, 4, 2, 23, 150, 8, 8}, {2, 4, 4, 2, 600, 8, 8},
                                   {2, 26, 2, 1, 70, 8, 8}};
    for (int i = 0; i < 4; i++)
        for (int kind = 0; kind < 10; kind++)
            OX_SCOPE {
                const shapes *n = &sizes[i];
                int64_t full[4] = {n->batch, n->heads, n->length, n->keys};
                for (int d = 0; d < 4; d++)
                    if (kind >> d & 1) full[d] = 1; /* kinds 0 .. 7: broadcast dims */
                int ndim = kind == 8 ? 2 : kind == 9 ? 3 : 4;
                ox_dtype dtype = kind % 3 == 0 ? OX_BOOL : kind % 3 == 1 ? OX_F32 : OX_F16;
                ox_tensor *base, *mask = new_layout(kind % 2 ? LAYOUT_TRANSPOSED : LAYOUT_PLAIN, ndim,
                                                    full + 4 - ndim, dtype, &base);
                for (int64_t at = 0; at < ox_numel(mask); at++) {
                    bool hidden = test_random() % 3 == 0;
                    if (dtype == OX_BOOL)
                        store_int(dtype, element(mask, at), !hidden);
                    else
                        store_real(dtype, element(mask, at), hidden ? -INFINITY : 4 * test_uniform() - 2);
                }
                /* one row sees nothing at all */
                if (kind == 0 || kind == 9)
                    for (int64_t t = 0; t < n->keys; t++) {
                        if (dtype == OX_BOOL)
                            store_int(dtype, element(mask, t), 0);
                        else
                            store_real(dtype, element(mask, t), -INFINITY);
                    }
                ox_attention_desc desc = plain_desc();
                desc.mask = mask;
                desc.causal = kind % 2;
                desc.query_start = kind % 2 ? 20 : 0;
                desc.softcap = kind % 4 == 1 ? 1.5 : 0;
                check_attention("mask", n, LAYOUT_PLAIN, OX_F32, kind % 2 ? OX_BF16 : OX_F32, &desc);
                check_attention("mask", n, LAYOUT_PLAIN, OX_F64, OX_F64, &desc);
            }
}

/* Scores that would overflow without the maximum, capped scores, other scales, infinite and absurd
 * settings. */
static void test_numbers(void) {
    static const shapes n = {1, 2, 2, 12, 40, 8, 8};
    ox_attention_desc desc = plain_desc();
    desc.scale = 60;
    check_attention("large scale", &n, LAYOUT_PLAIN, OX_F64, OX_F64, &desc);
    desc.softcap = 30;
    desc.scale = 3;
    check_attention("softcap", &n, LAYOUT_PLAIN, OX_F32, OX_F32, &desc);
    desc.scale = -1;
    check_attention("negative scale", &n, LAYOUT_PLAIN, OX_F32, OX_F32, &desc);
    desc = plain_desc();
    desc.window = INT64_MAX;
    desc.query_start = 3;
    check_attention("all of the window", &n, LAYOUT_PLAIN, OX_F32, OX_F32, &desc);
    OX_SCOPE {
        ox_tensor *x = ox_mul_number(ox_randn(OX_SHAPE(2, 30, 16), OX_F32), 1000),
                  *out = ox_scaled_dot_product_attention(x, x, x, NULL);
        CHECK(ox_item(ox_all(ox_isfinite(out), OX_ALL_DIMS, false)) == 1);
        desc = plain_desc();
        desc.causal = true;
        desc.query_start = INT64_MAX; /* beyond all keys: sees them all */
        ox_tensor *all = ox_scaled_dot_product_attention(x, x, x, &desc);
        CHECK(same_bits(all, out));
        desc.window = 5; /* and with a window, none of them */
        ox_tensor *none = ox_scaled_dot_product_attention(x, x, x, &desc);
        CHECK(none && ox_item(ox_count_nonzero(none, OX_ALL_DIMS)) == 0);
        /* NaN in a key that is not seen does not matter; in one that is, it does */
        ox_tensor *k = ox_randn(OX_SHAPE(1, 40, 16), OX_F32), *q = ox_randn(OX_SHAPE(1, 20, 16), OX_F32),
                  *clean = ox_clone(k);
        ox_fill_(ox_narrow(k, 1, 25, 15), NAN);
        desc = plain_desc();
        desc.causal = true;
        desc.query_start = 5;
        CHECK(same_bits(ox_scaled_dot_product_attention(q, k, k, &desc),
                        ox_scaled_dot_product_attention(q, clean, clean, &desc)));
        desc.query_start = 6;
        ox_tensor *seen = ox_scaled_dot_product_attention(q, k, clean, &desc);
        CHECK(seen && isnan(load_real(OX_F32, element(seen, 19 * 16))) &&
              !isnan(load_real(OX_F32, element(seen, 18 * 16))));
    }
}

/* The same bits for any number of threads; long keys are cut. */
static void test_threads(void) {
    static const int64_t lengths[] = {1, 4, 40, 150};
    int threads = ox_threads();
    for (int i = 0; i < 4; i++)
        OX_SCOPE {
            ox_tensor *q = ox_randn(OX_SHAPE(1, 2, lengths[i], 8), OX_F32),
                      *k = ox_randn(OX_SHAPE(1, 1, 4200, 8), OX_F16),
                      *v = ox_randn(OX_SHAPE(1, 1, 4200, 8), OX_F16);
            ox_attention_desc desc = plain_desc();
            desc.causal = true;
            desc.query_start = 4200 - lengths[i];
            ox_set_threads(1);
            ox_tensor *one = ox_scaled_dot_product_attention(q, k, v, &desc);
            ox_set_threads(4);
            CHECK(same_bits(one, ox_scaled_dot_product_attention(q, k, v, &desc)));
        }
    ox_set_threads(threads);
}

/* 2500 tokens: scores would take 50 MB, tiles of them take little; a few of the rows again in f64. */
static void test_long(void) {
    OX_SCOPE {
        ox_tensor *q = ox_randn(OX_SHAPE(2, 2500, 8), OX_F32), *k = ox_randn(OX_SHAPE(1, 2500, 8), OX_F16),
                  *v = ox_randn(OX_SHAPE(1, 2500, 8), OX_F16);
        ox_attention_desc desc = plain_desc();
        desc.causal = true;
        for (desc.window = 0; desc.window <= 500; desc.window += 500) {
            ox_memory_reset_peak();
            size_t before = ox_memory_get_stats().bytes_in_use;
            ox_tensor *out = ox_scaled_dot_product_attention(q, k, v, &desc);
            size_t more = ox_memory_get_stats().bytes_peak - before;
            CHECK_MSG(more < ((size_t)8 + 2 * (size_t)ox_threads()) << 20, "%zu bytes", more);
            ox_attention_desc last = desc;
            last.query_start = 2490;
            ox_tensor *wide = ox_scaled_dot_product_attention(ox_cast(ox_narrow(q, 1, 2490, 10), OX_F64),
                                                              ox_cast(k, OX_F64), ox_cast(v, OX_F64), &last);
            CHECK(ox_allclose(ox_narrow(out, 1, 2490, 10), wide, 1e-5, 1e-6, false));
        }
    }
}

/* ---- rope ---------------------------------------------------------------------------------------------- */

static void check_rope(layout l, int ndim, const int64_t *shape, ox_dtype dtype, ox_dtype positions_dtype,
                       const ox_rope_desc *given) {
    OX_SCOPE {
        ox_rope_desc desc = *given;
        ox_tensor *x = random_layout(l, DOMAIN_MODEST, ndim, shape, dtype), *positions = NULL, *base;
        int64_t length = shape[ndim - 2], width = shape[ndim - 1], dims = desc.dims ? desc.dims : width,
                half = dims / 2;
        if (positions_dtype != OX_DTYPE_NONE) {
            positions = new_layout(LAYOUT_STEP_LAST, 1, &length, positions_dtype, &base);
            for (int64_t s = 0; s < length; s++)
                store_int(positions_dtype, element(positions, s), (s * 37) % 1001 - 3);
        }
        ox_tensor *out = ox_rope(x, positions, &desc);
        CHECK_MSG(out && out->dtype == dtype && ox_is_contiguous(out), "%s", ox_error_text());
        double worst = 0;
        for (int64_t row = 0; out && row < ox_numel(x) / width; row++) {
            double position = positions ? (double)load_int(positions_dtype, element(positions, row % length))
                                        : (double)(row % length);
            for (int64_t i = 0; i < width; i++) {
                double got = load_real(dtype, element(out, row * width + i)),
                       want = load_real(dtype, element(x, row * width + i));
                if (i < dims) {
                    int64_t pair = desc.interleaved ? i / 2 : i % half,
                            a = desc.interleaved ? 2 * pair : pair, b = desc.interleaved ? a + 1 : a + half;
                    double angle = position * (desc.scale > 0 ? desc.scale : 1) *
                                   pow(desc.base > 0 ? desc.base : 10000, -2.0 * (double)pair / (double)dims);
                    if (desc.factors) angle /= load_real(OX_F32, element(desc.factors, pair));
                    double xa = load_real(dtype, element(x, row * width + a)),
                           xb = load_real(dtype, element(x, row * width + b));
                    want = (i == a ? xa * cos(angle) - xb * sin(angle) : xb * cos(angle) + xa * sin(angle)) *
                           (desc.magnitude > 0 ? desc.magnitude : 1);
                }
                double slack = dtype == OX_F64
                                   ? 1e-13
                                   : 4e-6 + (dtype == OX_F32 ? 0 : 0.51 * spacing(format_of(dtype), want));
                worst = check_worst(worst, fabs(got - want) - slack);
            }
        }
        CHECK_MSG(worst <= 0, "%s, %s%s, dims %d: off by %g more than allowed", layout_name(l),
                  ox_dtype_name(dtype), desc.interleaved ? " interleaved" : "", (int)dims, worst);
    }
}

static void test_rope(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_BF16, OX_F64};
    static const int64_t shape[4] = {2, 3, 11, 16}, wide[2] = {3, 1100}, none[3] = {2, 0, 8};
    ox_rope_desc desc;
    memset(&desc, 0, sizeof desc);
    for (int l = 0; l < LAYOUT_COUNT; l++)
        for (int d = 0; d < 4; d++)
            for (int mode = 0; mode < 4; mode++) {
                desc.interleaved = mode & 1;
                desc.dims = mode & 2 ? 10 : 0;
                check_rope((layout)l, 4, shape, dtypes[d],
                           mode & 2   ? OX_I32
                           : mode & 1 ? OX_I64
                                      : OX_DTYPE_NONE,
                           &desc);
            }
    OX_SCOPE {
        const float factors[8] = {1, 1, 2, 4, 8, 8, 8, 8};
        memset(&desc, 0, sizeof desc);
        desc.base = 500000;
        desc.scale = 0.25;
        desc.magnitude = 1.25;
        desc.factors = ox_from_data(factors, OX_SHAPE(8), OX_F32);
        check_rope(LAYOUT_TRANSPOSED, 4, shape, OX_F32, OX_I64, &desc);
    }
    memset(&desc, 0, sizeof desc);
    check_rope(LAYOUT_PLAIN, 2, wide, OX_F32, OX_I32, &desc);
    check_rope(LAYOUT_PLAIN, 3, none, OX_F32, OX_DTYPE_NONE, &desc);
    OX_SCOPE { /* heads side by side, as a projection leaves them, and any number of threads */
        int threads = ox_threads();
        ox_tensor *x = ox_randn(OX_SHAPE(70, 40, 64), OX_F32), *q = ox_transpose(x, 0, 1);
        ox_set_threads(1);
        ox_tensor *one = ox_rope(q, NULL, NULL);
        ox_set_threads(4);
        CHECK(same_bits(one, ox_rope(ox_contiguous(q), NULL, NULL)));
        ox_set_threads(threads);
        CHECK(ox_rope(x, ox_zeros(OX_SHAPE(3), OX_I64), NULL) == NULL && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

/* Keys and values in blocks: as if they had been expanded before. */
static void check_blocks(const char *name, ox_tensor *q, ox_tensor *k, ox_tensor *v,
                         const ox_attention_desc *desc) {
    ox_tensor *wide = ox_scaled_dot_product_attention(q, ox_cast(k, OX_F32), ox_cast(v, OX_F32), desc);
    ox_tensor *out = ox_scaled_dot_product_attention(q, k, v, desc);
    CHECK_MSG(out && wide && out->dtype == q->dtype, "%s, %s: %s", name, ox_dtype_name(k->dtype),
              ox_error_text());
    double tolerance = q->dtype == OX_F32 ? 2e-6 : 2e-3;
    bool close = out && ox_allclose(out, ox_cast(wide, out->dtype), tolerance, tolerance, false);
    CHECK_MSG(close, "%s, %s", name, ox_dtype_name(k->dtype));
}

static void test_blocks(void) {
    static const ox_dtype types[] = {OX_Q8_0, OX_Q4_0, OX_Q5_1, OX_Q6_K};
    static const int64_t lengths[] = {1, 3, 40}, keys[] = {1, 33, 700, 1100};
    for (int i = 0; i < 4 * 3 * 4; i++) OX_SCOPE {
        ox_dtype type = types[i % 4];
        int64_t depth = type == OX_Q6_K ? 256 : 64, value_depth = type == OX_Q6_K ? 512 : 96;
        int64_t s = lengths[i / 4 % 3], t = keys[i / 12];
        /* one type has all lengths, the others one each */
        if (is_short_mirror() && type != OX_Q8_0 && t != (type == OX_Q6_K ? 33 : 1)) continue;
        ox_attention_desc desc = plain_desc();
        desc.causal = i % 2 == 0;
        desc.query_start = t > s ? t - s : 0;
        ox_tensor *q = ox_randn(OX_SHAPE(4, s, depth), OX_F32);
        ox_tensor *k = ox_cast(ox_randn(OX_SHAPE(2, t + 5, depth), OX_F32), type);
        ox_tensor *v = ox_cast(ox_randn(OX_SHAPE(2, t + 5, value_depth), OX_F32), type);
        check_blocks("a cache with room", q, ox_narrow(k, 1, 0, t), ox_narrow(v, 1, 0, t), &desc);
        check_blocks("from the middle", q, ox_narrow(k, 1, 5, t), ox_narrow(v, 1, 5, t), &desc);
        check_blocks("every third", ox_cast(q, OX_F16), ox_slice(k, 1, 0, t, 3), ox_slice(v, 1, 0, t, 3),
                     &desc);
        check_blocks("one head for all", q, ox_expand(ox_narrow(k, 0, 1, 1), OX_SHAPE(2, t + 5, depth)),
                     ox_expand(ox_narrow(v, 0, 1, 1), OX_SHAPE(2, t + 5, value_depth)), &desc);
        check_blocks("backwards", q, backwards(k, OX_DIMS(1)), backwards(v, OX_DIMS(0, 1)), &desc);
        ox_tensor *rows = ox_cast(ox_randn(OX_SHAPE(t, 2, depth), OX_F32), type);
        check_blocks("heads side by side", q, ox_transpose(rows, 0, 1), ox_transpose(rows, 0, 1), &desc);
    }
    OX_SCOPE {
        ox_tensor *q = ox_randn(OX_SHAPE(2, 3, 32), OX_F32), *k = ox_randn(OX_SHAPE(2, 32, 32), OX_F32);
        ox_tensor *blocks = ox_cast(k, OX_Q8_0), *turned = ox_transpose(blocks, 1, 2);
        CHECK(ox_scaled_dot_product_attention(q, blocks, k, NULL) == NULL && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(ox_scaled_dot_product_attention(q, turned, turned, NULL) == NULL && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        q = ox_cast(q, OX_F64);
        CHECK(ox_scaled_dot_product_attention(q, blocks, blocks, NULL) == NULL && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(ox_scaled_dot_product_attention(blocks, blocks, blocks, NULL) == NULL);
        CHECK(ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

/* ---- sinks --------------------------------------------------------------------------------------------- */

enum { SINKS_MODEST, SINKS_FAR, SINKS_STRIDED, SINKS_BACKWARDS, SINKS_BROADCAST, SINKS_KINDS };

static ox_tensor *make_sinks(int kind, int64_t heads) {
    static const float far[] = {1e4f, -1e4f, -INFINITY, 90, -90, 0.5f};
    if (kind == SINKS_BROADCAST) return ox_expand(ox_full(OX_SHAPE(1), 1.5, OX_F32), OX_SHAPE(heads));
    ox_tensor *sinks = ox_mul_number(ox_randn(OX_SHAPE(heads), OX_F32), 3);
    for (int64_t h = 0; h < heads && kind == SINKS_FAR; h++)
        store_real(OX_F32, element(sinks, h), far[h % 6]);
    if (kind == SINKS_STRIDED) return ox_select(ox_mul_number(ox_randn(OX_SHAPE(heads, 3), OX_F32), 3), 1, 2);
    return kind == SINKS_BACKWARDS ? backwards(sinks, OX_DIMS(0)) : sinks;
}

/* One row, eight and hundreds; keys in chunks of both ways; heads that share keys. */
static void test_sinks(void) {
    static const shapes sizes[] = {{2, 6, 3, 1, 70, 32, 32},   {1, 6, 6, 8, 40, 32, 32},
                                   {1, 6, 2, 300, 300, 32, 32}, {1, 8, 1, 1, 3000, 32, 64},
                                   {1, 1, 1, 20, 5000, 8, 8},   {1, 2, 2, 9, 33, 5, 3},
                                   {1, 2, 1, 4, 2100, 32, 32}};
    static const ox_dtype caches[] = {OX_F32, OX_F16, OX_BF16, OX_Q8_0};
    for (int i = 0; i < 7; i++)
        for (int kind = 0; kind < SINKS_KINDS; kind++)
            OX_SCOPE {
                const shapes *n = &sizes[i];
                ox_dtype cache = n->depth % 32 ? caches[(i + kind) % 3] : caches[(i + kind) % 4];
                ox_attention_desc desc = plain_desc();
                desc.sinks = make_sinks(kind, n->heads);
                check_attention("sinks", n, LAYOUT_PLAIN, OX_F32, cache, &desc);
                check_attention("sinks", n, LAYOUT_PLAIN, OX_F64, OX_F64, &desc);
                if (is_short_mirror() && kind > SINKS_FAR) continue;
                desc.causal = true;
                desc.query_start = n->keys - n->length;
                check_attention("sinks, causal", n, LAYOUT_INSIDE, OX_F16, OX_F16, &desc);
                desc.window = 20;
                desc.softcap = kind % 2 ? 2 : 0;
                check_attention("sinks, a window", n, LAYOUT_PLAIN, OX_F32, cache, &desc);
                desc = plain_desc();
                desc.sinks = make_sinks(kind, n->heads);
                desc.mask = ox_randn(OX_SHAPE(n->length, n->keys), OX_F32);
                ox_fill_(ox_select(desc.mask, 0, 0), -INFINITY); /* a row sees nothing */
                check_attention("sinks and a mask", n, LAYOUT_PLAIN, OX_F32, cache, &desc);
                desc.mask = ox_gt(desc.mask, ox_number(0));
                check_attention("sinks and a mask", n, LAYOUT_PLAIN, OX_BF16, OX_F32, &desc);
                check_attention("sinks and a mask", n, LAYOUT_PLAIN, OX_F64, OX_F64, &desc);
            }
}

/* Sinks of -infinity change no bit (a GPU multiplies by 1); far ones leave nothing; scores of their size
 * are beside them. */
static void test_sink_numbers(void) {
    static const int64_t lengths[] = {1, 40}, keys[] = {50, 5000};
    for (int i = 0; i < 4; i++)
        for (int d = 0; d < 2; d++)
            OX_SCOPE {
                ox_dtype dtype = d ? OX_F64 : OX_F32;
                ox_tensor *q = ox_randn(OX_SHAPE(2, lengths[i % 2], 8), dtype),
                          *k = ox_randn(OX_SHAPE(1, keys[i / 2], 8), dtype);
                ox_attention_desc desc = plain_desc();
                ox_tensor *plain = ox_scaled_dot_product_attention(q, k, k, &desc);
                desc.sinks = ox_full(OX_SHAPE(2), -INFINITY, OX_F32);
                ox_tensor *same = ox_scaled_dot_product_attention(q, k, k, &desc);
                CHECK(is_mirror() ? ox_allclose(same, plain, 1e-5, 1e-6, false) : same_bits(plain, same));
                desc.sinks = ox_full(OX_SHAPE(2), 3e38, OX_F32);
                ox_tensor *none = ox_scaled_dot_product_attention(q, k, k, &desc);
                CHECK(none && ox_item(ox_count_nonzero(none, OX_ALL_DIMS)) == 0);
                /* all scores 10000, a sink of the logarithm of as many keys more: half of it is left */
                q = ox_full_like(q, 100);
                ox_tensor *ones = ox_full_like(k, 100);
                desc.scale = 0.125;
                desc.sinks = ox_full(OX_SHAPE(2), 1e4 + log((double)keys[i / 2]), OX_F32);
                ox_tensor *half = ox_scaled_dot_product_attention(q, ones, ones, &desc);
                CHECK(half && ox_allclose(half, ox_full_like(half, 50), 1e-3, 0, false));
            }
    OX_SCOPE { /* of one head without a dim, and what is refused */
        ox_tensor *x = ox_randn(OX_SHAPE(5, 8), OX_F32), *heads = ox_unsqueeze(x, 0);
        ox_attention_desc desc = plain_desc();
        desc.sinks = ox_ones(OX_SHAPE(1), OX_F32);
        ox_tensor *out = ox_scaled_dot_product_attention(x, x, x, &desc);
        CHECK(same_bits(ox_unsqueeze(out, 0), ox_scaled_dot_product_attention(heads, heads, heads, &desc)));
        ox_tensor *bad[3] = {ox_ones(OX_SHAPE(2), OX_F32), ox_ones(OX_SHAPE(1), OX_F16),
                             ox_ones(OX_SHAPE(1, 1), OX_F32)};
        for (int i = 0; i < 3; i++) {
            desc.sinks = bad[i];
            CHECK(!ox_scaled_dot_product_attention(x, x, x, &desc) && ox_error() == OX_ERR_SHAPE);
            ox_error_clear();
        }
    }
}

/* ---- rows that see nothing ----------------------------------------------------------------------------- */

/* Which rows of attention [S,Dv] are all 0 or all NaN, as PyTorch 2.14 has them: 'z' and 'n', others '.'. */
static void check_unseen(const char *what, ox_tensor *q, ox_tensor *k, ox_tensor *v,
                         const ox_attention_desc *desc, char (*kind)(int64_t row, int64_t keys)) {
    ox_tensor *out = ox_scaled_dot_product_attention(q, k, v, desc);
    int64_t rows = ox_size(q, -2), keys = ox_size(k, -2);
    CHECK_MSG(out != NULL, "%s: %s", what, ox_error_text());
    for (int64_t r = 0; out && r < rows; r++) {
        ox_tensor *row = ox_select(out, -2, r);
        double zeros = ox_item(ox_sum(ox_eq(row, ox_number(0)), OX_ALL_DIMS, false)),
               nans = ox_item(ox_sum(ox_isnan(row), OX_ALL_DIMS, false)), all = (double)ox_numel(row);
        char got = zeros == all ? 'z' : nans == all ? 'n' : nans == 0 ? '.' : '?';
        CHECK_MSG(got == kind(r, keys), "%s of %s, %lld keys, row %lld of %lld: %c", what,
                  ox_dtype_name(q->dtype), (long long)keys, (long long)r, (long long)rows, got);
    }
}

static char second_is_zero(int64_t row, int64_t keys) { return (void)keys, row == 1 ? 'z' : '.'; }
static char second_is_nan(int64_t row, int64_t keys) { return (void)keys, row == 1 ? 'n' : '.'; }
static char all_are_zero(int64_t row, int64_t keys) { return (void)row, (void)keys, 'z'; }
static char none_is_zero(int64_t row, int64_t keys) { return (void)row, (void)keys, '.'; }
/* A window of 2 on rows that begin 2 before the last key. */
static char past_is_zero(int64_t row, int64_t keys) { return (void)keys, row - 2 - 1 >= 0 ? 'z' : '.'; }

static void test_unseen(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16};
    static const int64_t keys[] = {3, 70, 300}, rows[] = {2, 9, 80};
    for (int c = 0; c < 27; c++)
        OX_SCOPE {
            ox_dtype dtype = dtypes[c % 3];
            int64_t t = keys[c / 3 % 3], s = rows[c / 9];
            ox_tensor *q = ox_cast(ox_randn(OX_SHAPE(2, 2, s, 16), OX_F32), dtype),
                      *k = ox_cast(ox_randn(OX_SHAPE(2, 1, t, 16), OX_F32), dtype),
                      *v = ox_add(ox_cast(ox_rand(OX_SHAPE(2, 1, t, 8), OX_F32), dtype), ox_integer(1));
            ox_tensor *seen = ox_ones(OX_SHAPE(s, t), OX_BOOL), *added = ox_zeros(OX_SHAPE(s, t), dtype);
            ox_attention_desc desc;
            memset(&desc, 0, sizeof desc);
            (void)ox_fill_(ox_select(seen, 0, 1), 0);
            desc.mask = seen;
            check_unseen("a mask of bool", q, k, v, &desc, second_is_zero);
            (void)ox_fill_(ox_select(added, 0, 1), -INFINITY);
            desc.mask = added;
            check_unseen("a mask of floats", q, k, v, &desc, second_is_zero);
            (void)ox_fill_(ox_select(added, 0, 1), NAN);
            check_unseen("a mask of NaN", q, k, v, &desc, second_is_nan);
            desc.mask = NULL;
            desc.causal = true;
            check_unseen("causal", q, k, v, &desc, none_is_zero); /* also with more rows than keys */
            desc.window = 2;
            desc.query_start = t - 1 - 1;
            check_unseen("a window past the keys", q, k, v, &desc, past_is_zero);
            memset(&desc, 0, sizeof desc);
            check_unseen("no keys", q, ox_narrow(k, 2, 0, 0), ox_narrow(v, 2, 0, 0), &desc, all_are_zero);
            check_unseen("keys of -infinity", ox_add(ox_abs(q), ox_integer(1)),
                         ox_full_like(k, -INFINITY), v, &desc, all_are_zero);
            CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
            ox_error_clear();
        }
}

int main(void) {
    test_shapes();
    test_queries_beside();
    test_blocks();
    test_dtypes_and_layouts();
    test_views();
    test_heads_of_one_position();
    test_masks();
    test_numbers();
    test_threads();
    test_long();
    test_sinks();
    test_sink_numbers();
    test_unseen();
    test_rope();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK_MSG(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0, "%lld tensors are left",
              (long long)stats.tensors);
    return check_done("attention");
}
