/* test_alloc_failure.c - memory that runs out at every possible point: an error value and OX_ERR_NOMEM, no
 * crash, nothing leaked, and the library works afterwards. The allocator fails at request n, for every n,
 * in three ways; then arenas of growing size. Each program uses one part of the library broadly.
 * OX_QEMU */
#include "check.h"
#include "hook_alloc.h"
#include "oxtorch_nn.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef enum failure { FAIL_FROM_THERE, FAIL_ONCE, FAIL_TWICE, FAILURE_WAYS } failure; /* requests refused */

/* ---- programs ---------------------------------------------------------------------------------------- */

/* A program fills out[] with its results, NULL where an op failed, and returns how many there are. */
#define MOST_RESULTS 40
typedef int (*program)(ox_tensor **out);

static ox_tensor *numbers(int64_t rows, int64_t columns, ox_dtype dtype) {
    ox_tensor *t = ox_arange(1, (double)(rows * columns + 1), 1, OX_F32);
    return ox_cast(ox_view(ox_mul_number(t, 0.125), OX_SHAPE(rows, columns)), dtype);
}

static int run_elementwise(ox_tensor **out) {
    int n = 0;
    ox_tensor *x = numbers(5, 9, OX_F32), *h = numbers(5, 9, OX_F16), *i = ox_cast(x, OX_I32),
              *t = ox_t(numbers(9, 5, OX_F32));
    out[n++] = ox_exp(ox_neg(x));
    out[n++] = ox_add(x, h);
    out[n++] = ox_mul(x, t);
    out[n++] = ox_div(i, ox_integer(3));
    out[n++] = ox_floor_divide(i, ox_add(i, ox_integer(1)));
    out[n++] = ox_where(ox_gt(x, ox_number(2)), x, ox_zeros_like(x));
    out[n++] = ox_masked_fill(x, ox_lt(x, t), -1);
    out[n++] = ox_lerp(x, t, ox_number(0.5));
    out[n++] = ox_clamp_(ox_clone(x), 1, 2);
    out[n++] = ox_glu(numbers(3, 8, OX_F32), 1);
    out[n++] = ox_dropout(x, 0.5, true);
    ox_tensor *y = ox_clone(x);
    out[n++] = ox_add_(ox_slice(y, 0, 1, OX_END, 1), ox_slice(y, 0, 0, -1, 1)); /* overlaps: through a copy */
    out[n++] = ox_pow(i, ox_integer(2));
    out[n++] = ox_view_as_complex(ox_view(numbers(5, 8, OX_F32), OX_SHAPE(5, 4, 2)));
    return n;
}

static int run_views(ox_tensor **out) {
    int n = 0;
    ox_tensor *x = numbers(6, 8, OX_F32), *part[8];
    out[n++] = ox_reshape(ox_t(x), OX_SHAPE(4, 12));
    out[n++] = ox_flatten(ox_flip(x, OX_DIMS(0)), 0, 1);
    out[n++] = ox_contiguous(ox_slice(x, 1, 0, OX_END, 2));
    out[n++] = ox_unflatten(x, 1, OX_SHAPE(2, 4));
    out[n++] = ox_expand(ox_unsqueeze(ox_select(x, 0, 1), 0), OX_SHAPE(3, 8));
    out[n++] = ox_unfold(ox_diagonal(x, 0, 0, 1), 0, 2, 1);
    int64_t parts = ox_split(x, 2, 0, part, 8);
    out[n++] = parts == 3 ? part[2] : NULL;
    parts = ox_unbind(x, 1, part, 8);
    out[n++] = parts == 8 ? part[7] : NULL;
    const int64_t sizes[2] = {1, 5};
    parts = ox_split_with_sizes(x, sizes, 2, 0, part, 8);
    out[n++] = parts == 2 ? part[1] : NULL;
    parts = ox_chunk(x, 3, 1, part, 8);
    out[n++] = parts == 3 ? part[0] : NULL;
    out[n++] = ox_copy_(ox_t(ox_empty(OX_SHAPE(8, 6), OX_F64)), x);
    return n;
}

static int run_complex(ox_tensor **out) {
    int n = 0;
    ox_tensor *z = ox_view_as_complex(ox_view(numbers(6, 8, OX_F32), OX_SHAPE(6, 4, 2))), *list[2];
    list[0] = list[1] = z;
    out[n++] = ox_matmul(z, ox_t(z));
    out[n++] = ox_linear(z, z, ox_select(ox_t(z), 0, 1));
    out[n++] = ox_addmm(ox_select(ox_t(z), 0, 1), z, ox_t(z), 2, 3);
    out[n++] = ox_einsum("ij,ik->jk", list, 2);
    out[n++] = ox_norm(z, 3, OX_DIMS(0), false);
    out[n++] = ox_prod(z, OX_DIMS(1), false);
    out[n++] = ox_cumprod(ox_t(z), 1);
    out[n++] = ox_angle(z);
    out[n++] = ox_conj(ox_t(z));
    out[n++] = ox_isnan(ox_imag(z));
    out[n++] = ox_allclose(z, z, 0, 0, true) ? ox_real(z) : NULL;
    return n;
}

static int run_reductions(ox_tensor **out) {
    int n = 0;
    ox_tensor *x = numbers(7, 33, OX_F32), *h = numbers(40, 70, OX_F16);
    ox_pair pair;
    out[n++] = ox_sum(x, OX_ALL_DIMS, false);
    out[n++] = ox_sum(ox_t(h), OX_DIMS(0), true);
    out[n++] = ox_mean(h, OX_DIMS(1), false);
    out[n++] = ox_var(x, OX_DIMS(0), 1, false);
    out[n++] = ox_std(ox_t(x), OX_DIMS(0), 1, false);
    out[n++] = ox_logsumexp(x, OX_DIMS(0), false);
    out[n++] = ox_norm(x, 2, OX_ALL_DIMS, false);
    out[n++] = ox_argmax(x, OX_FLATTENED, false);
    pair = ox_max(x, 0, false);
    out[n++] = pair.values;
    out[n++] = pair.indices;
    out[n++] = ox_cumsum(ox_t(x), 0);
    pair = ox_sort(x, 0, true);
    out[n++] = pair.values;
    out[n++] = pair.indices;
    pair = ox_topk(ox_t(x), 3, -1, true);
    out[n++] = pair.values;
    out[n++] = pair.indices;
    out[n++] = ox_argsort(x, 1, false);
    out[n++] = ox_softmax(ox_t(x), 0);
    out[n++] = ox_log_softmax(h, 1);
    ox_tensor *weight = ox_select(x, 0, 0);
    out[n++] = weight ? ox_layer_norm(x, 1, weight, NULL, 1e-5) : NULL;
    out[n++] = ox_rms_norm(ox_slice(h, 1, 0, OX_END, 2), 1, NULL, 1e-5);
    out[n++] = ox_group_norm(ox_view(numbers(6, 8, OX_F32), OX_SHAPE(2, 6, 4)), 3, NULL, NULL, 1e-5);
    return n;
}

static int run_index(ox_tensor **out) {
    int n = 0;
    ox_tensor *x = numbers(6, 5, OX_F32), *i = ox_arange(0, 4, 1, OX_I64), *list[3],
              *mask = ox_gt(x, ox_number(2));
    list[0] = list[1] = x;
    list[2] = ox_t(numbers(5, 6, OX_F32));
    out[n++] = ox_cat(list, 3, 1);
    out[n++] = ox_stack(list, 3, 1);
    out[n++] = ox_repeat(x, OX_SHAPE(2, 3));
    out[n++] = ox_tile(x, OX_SHAPE(2));
    out[n++] = ox_roll(x, OX_DIMS(7), OX_ALL_DIMS);
    out[n++] = ox_roll(x, OX_DIMS(1, 2), OX_DIMS(0, 1));
    out[n++] = ox_index_select(x, 1, i);
    out[n++] = ox_gather(x, 1, ox_expand(i, OX_SHAPE(6, 4)));
    out[n++] = ox_take_along_dim(x, ox_unsqueeze(i, 0), 1);
    out[n++] = ox_scatter(x, 1, ox_expand(i, OX_SHAPE(6, 4)), x);
    out[n++] = ox_scatter_add(x, 0, ox_expand(ox_unsqueeze(i, 1), OX_SHAPE(4, 5)), x);
    out[n++] = ox_index_add(x, 0, i, ox_narrow(x, 0, 1, 4), 2);
    out[n++] = ox_masked_select(x, mask);
    out[n++] = ox_nonzero(mask);
    out[n++] = ox_embedding(i, x);
    out[n++] = ox_one_hot(i, -1);
    out[n++] = ox_triu(x, 0);
    out[n++] = ox_tril_(ox_clone(x), 1);
    return n;
}

static int run_products(ox_tensor **out) {
    int n = 0;
    ox_tensor *a = numbers(33, 40, OX_F32), *b = numbers(40, 18, OX_F32), *h = numbers(33, 40, OX_BF16),
              *list[3];
    ox_tensor *q = ox_zeros(OX_SHAPE(4 * 36), OX_U8), *blocks = NULL;
    out[n++] = ox_matmul(a, b);
    out[n++] = ox_matmul(ox_t(b), ox_t(a));
    out[n++] = ox_matmul(h, ox_cast(b, OX_BF16));
    out[n++] = ox_matmul(ox_cast(a, OX_F64), ox_cast(b, OX_F64));
    out[n++] = ox_matmul(ox_cast(a, OX_I8), ox_cast(b, OX_I8));
    out[n++] = ox_matmul(ox_expand(a, OX_SHAPE(2, 33, 40)), b);
    out[n++] = ox_matmul(a, ox_select(b, 1, 0));
    ox_tensor *bias = ox_select(b, 0, 0);
    out[n++] = bias ? ox_linear_act(a, ox_t(b), bias, OX_ACTIVATION_GELU) : NULL;
    out[n++] = ox_addmm(ox_zeros(OX_SHAPE(18), OX_F32), a, b, 1, 2);
    out[n++] = ox_outer(ox_select(a, 0, 0), ox_select(b, 0, 1));
    out[n++] = ox_dot(ox_select(a, 0, 0), ox_select(b, 1, 1));
    list[0] = a;
    list[1] = b;
    list[2] = ox_t(b);
    out[n++] = ox_einsum("ij,jk,kl->il", list, 3);
    out[n++] = ox_einsum("ij->j", list, 1);
    out[n++] = ox_einsum("ij,jk", list, 2);
    if (q) blocks = ox_from_data(ox_data(q), OX_SHAPE(4, 64), OX_Q4_0);
    out[n++] = ox_cast(blocks, OX_F32);
    out[n++] = ox_cast(ox_cast(ox_narrow(a, 1, 4, 32), OX_Q5_1), OX_F32);
    out[n++] = ox_cast(ox_cast(blocks, OX_Q8_0), OX_F32);
    out[n++] =
        ox_linear(ox_narrow(ox_expand(a, OX_SHAPE(2, 33, 40)), 2, 0, 32), ox_narrow(blocks, 1, 32, 32), NULL);
    out[n++] = ox_embedding(ox_arange(0, 3, 1, OX_I32), blocks);
    ox_tensor *odd = ox_remainder(ox_arange(0, 66, 1, OX_I32), ox_integer(2));
    ox_tensor *two = ox_cast(ox_narrow(ox_narrow(a, 0, 0, 2), 1, 0, 33), OX_F16);
    ox_tensor *experts = odd ? ox_view(odd, OX_SHAPE(33, 2)) : NULL;
    ox_tensor *both = blocks ? ox_view(blocks, OX_SHAPE(2, 4, 32)) : NULL;
    out[n++] = both ? ox_linear_experts(ox_narrow(a, 1, 0, 32), both, experts, NULL) : NULL;
    out[n++] = two ? ox_linear_experts(a, ox_expand(a, OX_SHAPE(2, 33, 40)), experts, two) : NULL;
    return n;
}

/* Weights that are repacked if there is memory for it; exact, as few rows have other bits then. */
static int run_repacked(ox_tensor **out) {
    int n = 0;
    ox_tensor *w[2];
    w[0] = ox_cast(numbers(32, 512, OX_F32), OX_Q4_K);
    w[1] = ox_cast(numbers(48, 256, OX_F32), OX_Q5_0);
    ox_set_exact(true);
    for (int i = 0; i < 2; i++) {
        ox_tensor *x = numbers(3, i ? 256 : 512, OX_F32);
        if (w[i]) (void)ox_prepack(w[i]);
        out[n++] = ox_linear(x, w[i], NULL);
        out[n++] = ox_linear(x, ox_narrow(w[i], 0, 16, 16), NULL);
        out[n++] = ox_linear(x, ox_narrow(w[i], 0, 8, 16), NULL); /* they are put back */
        if (w[i]) (void)ox_prepack(w[i]);
        out[n++] = ox_cast(w[i], OX_F32);
        if (w[i]) (void)ox_prepack(w[i]); /* freed as they are */
    }
    ox_set_exact(false);
    return n;
}

static int run_transformer(ox_tensor **out) {
    int n = 0;
    ox_rope_desc rope;
    ox_attention_desc attention;
    memset(&rope, 0, sizeof rope);
    memset(&attention, 0, sizeof attention);
    ox_tensor *q = ox_view(numbers(8, 40, OX_F32), OX_SHAPE(1, 4, 10, 8)),
              *k = ox_view(numbers(4, 40, OX_F32), OX_SHAPE(1, 2, 10, 8));
    ox_tensor *positions = ox_arange(3, 13, 1, OX_I64);
    out[n++] = positions ? ox_rope(q, positions, &rope) : NULL; /* NULL positions are 0, 1, .. */
    rope.interleaved = true;
    out[n++] = ox_rope(ox_transpose(q, 1, 2), NULL, &rope);
    out[n++] = ox_scaled_dot_product_attention(q, k, k, NULL);
    attention.causal = true;
    attention.mask = ox_ones(OX_SHAPE(10, 10), OX_BOOL);
    out[n++] = attention.mask
                   ? ox_scaled_dot_product_attention(q, ox_cast(k, OX_F16), ox_cast(k, OX_F16), &attention)
                   : NULL;
    attention.mask = NULL;
    attention.window = 3;
    out[n++] = ox_scaled_dot_product_attention(ox_cast(q, OX_F64), ox_cast(k, OX_F64), ox_cast(k, OX_F64),
                                               &attention);
    return n;
}

static int run_making(ox_tensor **out) {
    static const double d[6] = {1, 2, 3, 4, 5, 6};
    int n = 0;
    float f[6];
    ox_manual_seed(7);
    out[n++] = ox_from_doubles(d, OX_SHAPE(2, 3), OX_F16);
    out[n++] = ox_from_ints((const int64_t *)(const void *)"\1\0\0\0\0\0\0", OX_SHAPE(1), OX_U8);
    out[n++] = ox_rand(OX_SHAPE(5, 5), OX_F32);
    out[n++] = ox_randn(OX_SHAPE(33), OX_F16);
    out[n++] = ox_randint(0, 9, OX_SHAPE(7), OX_I32);
    out[n++] = ox_randperm(20, OX_I64);
    out[n++] = ox_bernoulli(ox_full(OX_SHAPE(9), 0.5, OX_F32));
    out[n++] = ox_multinomial(ox_ones(OX_SHAPE(2, 9), OX_F32), 4, false);
    out[n++] = ox_eye(3, 4, OX_F32);
    out[n++] = ox_linspace(0, 1, 5, OX_F64);
    out[n++] = ox_from_blob((void *)(uintptr_t)d, OX_SHAPE(2, 3), NULL, OX_F64, NULL, NULL);
    ox_tensor *x = ox_t(out[0]);
    out[n++] = ox_to_floats(x, f, 6) == OX_OK && f[5] == 6 ? ox_from_floats(f, OX_SHAPE(6), OX_F32) : NULL;
    out[n++] = x && ox_equal(x, x) ? ox_retain(x) : NULL;
    if (out[n - 1]) ox_release(x);
    out[n++] = ox_allclose(x, x, 0, 0, false) ? x : NULL;
    return n;
}

static int run_texts(ox_tensor **out) {
    char text[4000];
    int n = 0;
    ox_tensor *x = numbers(7, 8, OX_F32);
    size_t length = ox_format(x, text, sizeof text);
    out[n++] = length > 100 && length < sizeof text ? x : NULL;
    length = ox_format(ox_t(numbers(40, 40, OX_BF16)), text, sizeof text);
    out[n++] = length > 100 && length < sizeof text ? x : NULL;
    ox_profile_begin();
    out[n++] = ox_softmax(ox_add(x, x), 0);
    out[n++] = ox_exp(x);
    ox_profile_end();
    out[n++] = ox_profile_table(text, sizeof text) > 0 ? x : NULL;
    return n;
}

static const struct {
    const char *name;
    program run;
} programs[] = {
    {"elementwise", run_elementwise}, {"views", run_views},       {"complex", run_complex},
    {"reductions", run_reductions},   {"index", run_index},       {"products", run_products},
    {"transformer", run_transformer}, {"repacked", run_repacked}, {"making", run_making},
    {"texts", run_texts},
};
#define PROGRAM_COUNT ((int)(sizeof programs / sizeof *programs))

/* ---- running them ------------------------------------------------------------------------------------ */

typedef struct outcome {
    uint64_t hash[MOST_RESULTS]; /* of each result's numbers; 0 = NULL */
    int count;
    ox_status status;
} outcome;

static uint64_t hash_of(ox_tensor *t) {
    uint64_t hash =
        14695981039346656037u; /* FNV-1a over elements, row by row, without asking the library for memory */
    if (!t) return 0;
    size_t width = (size_t)ox_dtype_get_info(t->dtype)->block_bytes;
    for (int64_t i = 0; i < ox_numel(t); i++) {
        int64_t rest = i, offset = 0;
        for (int d = t->ndim - 1; d >= 0; d--) {
            offset += rest % t->shape[d] * t->stride[d];
            rest /= t->shape[d];
        }
        const unsigned char *p = (const unsigned char *)ox_data(t) + offset * (int64_t)width;
        for (size_t b = 0; b < width; b++) hash = (hash ^ p[b]) * 1099511628211u;
    }
    return hash | 1;
}

static outcome run_once(int number) {
    static ox_tensor *results[MOST_RESULTS];
    outcome o;
    memset(&o, 0, sizeof o);
    ox_error_clear();
    ox_manual_seed(7);
    OX_SCOPE {
        o.count = programs[number].run(results);
        o.status = ox_error();
        for (int i = 0; i < o.count; i++) o.hash[i] = hash_of(results[i]);
    }
    return o;
}

/* A result is either missing, with the error recorded, or right to the last bit. */
static void check_outcome(const char *what, const char *name, int64_t n, const outcome *got,
                          const outcome *want) {
    bool missing = false, right = got->count == want->count;
    for (int i = 0; i < got->count; i++) {
        missing = missing || got->hash[i] == 0;
        right = right && (got->hash[i] == 0 || got->hash[i] == want->hash[i]);
    }
    CHECK_MSG(right, "%s, %s %lld: a wrong result", name, what, (long long)n);
    CHECK_MSG(missing ? got->status == OX_ERR_NOMEM : got->status == OX_OK,
              "%s, %s %lld: status %d (%s) with %s results", name, what, (long long)n, (int)got->status,
              ox_error_text(), missing ? "missing" : "all");
    ox_memory_stats s = ox_memory_get_stats();
    CHECK_MSG(s.tensors == 0 && s.storages == 0 && s.bad_releases == 0,
              "%s, %s %lld: %lld tensors, %lld storages left", name, what, (long long)n, (long long)s.tensors,
              (long long)s.storages);
    ox_error_clear();
}

static void check_program(int number, failure way, const outcome *want) {
    static const char *const ways[] = {"failures from", "one failure at", "two failures at"};
    const char *name = programs[number].name;
    hook h;
    ox_allocator allocator;
    memset(&h, 0, sizeof h);
    h.fails = way;
    allocator.alloc = hook_alloc;
    allocator.free = hook_free;
    allocator.user = &h;
    for (int64_t n = 1; n < 5000; n++) {
        hook_allow(&h, n - 1);
        if (ox_set_allocator(&allocator) != OX_OK) {
            CHECK_MSG(false, "%s: %s", name, ox_error_text());
            break;
        }
        outcome got = run_once(number);
        check_outcome(ways[way], name, n, &got, want);
        bool done = h.failures == 0;
        hook_allow(&h, INT64_MAX);
        if (n % 16 == 1) { /* it works again as if nothing had been */
            got = run_once(number);
            check_outcome("again after", name, n, &got, want);
        }
        CHECK_MSG(ox_set_allocator(NULL) == OX_OK, "%s, %s %lld: %s", name, ways[way], (long long)n,
                  ox_error_text());
        CHECK_MSG(h.outstanding == 0 && h.bytes_out == 0,
                  "%s, %s %lld: %lld blocks, %lld bytes not given back", name, ways[way], (long long)n,
                  (long long)h.outstanding, (long long)h.bytes_out);
        ox_error_clear();
        if (done) return;
    }
    CHECK_MSG(false, "%s never ran through", name);
}

/* ---- arenas ------------------------------------------------------------------------------------------ */

static void check_arenas(int number, const outcome *want) {
    static unsigned char arena[1 << 22];
    static const size_t sizes[] = {64,    100,   192,    500,     1024,    3000,   8192,
                                   20000, 65536, 150000, 1 << 19, 1 << 20, 1 << 22};
    bool complete = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int skew = 0; skew < 2; skew++) {
            memset(arena, 0xa5, sizeof arena);
            size_t bytes = sizes[i] - (size_t)skew * 7;
            int64_t requests = ox_memory_get_stats().system_allocs;
            ox_status status = ox_set_arena(arena + skew * 3, bytes);
            if (status != OX_OK) {
                CHECK_MSG(bytes < 128 && status == OX_ERR_ARG, "an arena of %lld bytes: %s", (long long)bytes,
                          ox_error_text());
                ox_error_clear();
                continue;
            }
            outcome got = run_once(number);
            check_outcome("arena of", programs[number].name, (int64_t)bytes, &got, want);
            got = run_once(number); /* nothing is lost by use */
            check_outcome("second run in an arena of", programs[number].name, (int64_t)bytes, &got, want);
            complete = true;
            for (int r = 0; r < got.count; r++) complete = complete && got.hash[r] != 0;
            CHECK_MSG(ox_memory_get_stats().system_allocs == requests,
                      "an arena asked the system for memory");
            CHECK(ox_set_arena(NULL, 0) == OX_OK);
            bool untouched = true;
            for (size_t b = (size_t)skew * 3 + bytes; b < sizeof arena; b++)
                untouched = untouched && arena[b] == 0xa5;
            for (int b = 0; b < skew * 3; b++) untouched = untouched && arena[b] == 0xa5;
            CHECK_MSG(untouched, "%s: wrote beside an arena of %lld bytes", programs[number].name,
                      (long long)bytes);
        }
    CHECK_MSG(complete, "%s does not run in 4 MiB", programs[number].name);
}

/* Hooks may not change while anything is alive; both functions must be given. */
static void check_changes(void) {
    ox_allocator half = {hook_alloc, NULL, NULL};
    ox_tensor *t = ox_zeros(OX_SHAPE(3), OX_F32);
    CHECK(ox_set_allocator(NULL) == OX_ERR_ARG && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    static unsigned char arena[4096];
    CHECK(ox_set_arena(arena, sizeof arena) == OX_ERR_ARG);
    ox_error_clear();
    ox_release(t);
    CHECK(ox_set_allocator(&half) == OX_ERR_ARG && ox_set_arena(arena, 3) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_set_arena(arena, sizeof arena) == OX_OK && ox_set_allocator(NULL) == OX_OK);
    ox_shutdown();
    OX_SCOPE {
        CHECK(ox_item(ox_sum(ox_ones(OX_SHAPE(3), OX_F32), OX_ALL_DIMS, false)) == 3);
    }
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
}

int main(void) {
    outcome want[PROGRAM_COUNT];
    for (int threads = 1; threads <= 4; threads += 3) {
        ox_set_threads(threads);
        for (int i = 0; i < PROGRAM_COUNT; i++) {
            want[i] = run_once(i);
            check_outcome("plain run", programs[i].name, threads, &want[i], &want[i]);
            if (threads == 1) check_arenas(i, &want[i]);
            for (int way = 0; way < FAILURE_WAYS; way++)
                if (threads == 1 || way == FAIL_FROM_THERE) check_program(i, (failure)way, &want[i]);
        }
    }
    ox_set_threads(0);
    check_changes();
    return check_done("alloc_failure");
}
