/* test_ops.c - elementwise ops: every dtype, every layout, in place, promotion, broadcasting, special
 * values. References: plain loops over doubles and 64-bit integers (op_cases.h), and the answers of
 * PyTorch (torch_golden.h).
 * OX_VULKAN_LONG OX_TIERS OX_QEMU */
#include "backwards.h"
#include "op_cases.h"
#include "torch_golden.h"

/* ---- one result against its reference ---------------------------------------------------------------- */

static uint64_t int_reference(const op_case *c, ox_dtype dtype, const int64_t *v) {
    int bits = dtype == OX_BOOL ? 1 : 8 * (int)width_of(dtype);
    if (is_signed_int(dtype) || dtype == OX_BOOL) return (uint64_t)c->signed_int(v[0], v[1], v[2], bits);
    return c->unsigned_int((uint64_t)v[0], (uint64_t)v[1], (uint64_t)v[2], bits);
}

/* Whether element `at` of result is right; operands are contiguous and all of result's shape. */
static bool int_element_is_right(const op_case *c, const ox_tensor *result, ox_tensor *const *in,
                                 int64_t at) {
    int64_t v[3] = {0, 0, 0};
    char want[8] = {0};
    ox_dtype dtype = in[c->arity - 1]->dtype;
    for (int k = 0; k < c->arity; k++) v[k] = load_int(in[k]->dtype, element(in[k], at));
    store_int(result->dtype, want, (int64_t)int_reference(c, dtype, v));
    return memcmp(want, element(result, at), width_of(result->dtype)) == 0;
}

static bool real_element_is_right(const op_case *c, const ox_tensor *result, ox_tensor *const *in,
                                  int64_t at) {
    double v[3] = {0, 0, 0}, around;
    ox_dtype dtype = in[c->arity - 1]->dtype;
    for (int k = 0; k < c->arity; k++) {
        v[k] = load_real(in[k]->dtype, element(in[k], at));
        if (is_integral(dtype)) v[k] = (double)(float)v[k];
    }
    double want = c->real(v[0], v[1], v[2]), got = load_real(result->dtype, element(result, at));
    if (result->dtype == OX_BOOL) return got == want;
    around = c->around ? c->around(v[0], v[1], v[2]) : want;
    return is_close_around(result->dtype, got, want, dtype == OX_F64 ? c->ulps_f64 : c->ulps, around);
}

/* Complex results: the distance in the plane, measured in ULP of the result's size. */
static bool complex_element_is_right(const op_case *c, const ox_tensor *result, ox_tensor *const *in,
                                     int64_t at) {
    double v[3][2] = {{0, 0}, {0, 0}, {0, 0}}, want[2], size;
    for (int k = 0; k < c->arity; k++) {
        v[k][0] = load_real(in[k]->dtype, element(in[k], at));
        v[k][1] = load_imaginary(in[k]->dtype, element(in[k], at));
    }
    c->complex_pair(v[0], v[1], want);
    double re = load_real(result->dtype, element(result, at)),
           im = load_imaginary(result->dtype, element(result, at));
    if (result->dtype == OX_BOOL) return re == want[0];
    size = hypot(want[0], want[1]);
    if (!(size <= 1e37)) return true; /* overflow: which part goes first is not laid down */
    return hypot(re - want[0], im - want[1]) <=
           8 * spacing(format_of(OX_F32), size) + (c->around ? 1e-6 * larger(v[0][0], v[0][1]) : 0);
}

/* The first element that is wrong, or -1. */
static int64_t first_wrong(const op_case *c, const ox_tensor *result, ox_tensor *const *in) {
    ox_dtype dtype = in[c->arity - 1]->dtype;
    for (int64_t i = 0; i < ox_numel(result); i++) {
        bool right;
        if (dtype == OX_C64)
            right = !c->complex_pair || complex_element_is_right(c, result, in, i);
        else if (is_integral(dtype) && c->signed_int)
            right = int_element_is_right(c, result, in, i);
        else
            right = !c->real || real_element_is_right(c, result, in, i);
        if (!right) return i;
    }
    return -1;
}

static void check_reference(const op_case *c, const ox_tensor *result, ox_tensor *const *in,
                            const char *where) {
    int64_t at = first_wrong(c, result, in);
    char text[200] = "";
    size_t used = 0;
    for (int k = 0; at >= 0 && k < c->arity; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, " %.9g",
                                 load_real(in[k]->dtype, element(in[k], at)));
    CHECK_MSG(at < 0, "%s %s %s: element %lld of%s is %.9g", c->label, ox_dtype_name(in[c->arity - 1]->dtype),
              where, (long long)at, text, at < 0 ? 0.0 : load_real(result->dtype, element(result, at)));
}

/* ---- every op x dtype x layout ----------------------------------------------------------------------- */

typedef struct test_shape {
    int ndim;
    int64_t dim[3];
} test_shape;

static const test_shape shapes[] = {
    {0, {0, 0, 0}},  {1, {1, 0, 0}},  {1, {3, 0, 0}},  {1, {7, 0, 0}}, {1, {17, 0, 0}},
    {1, {33, 0, 0}}, {1, {65, 0, 0}}, {1, {0, 0, 0}},  {2, {3, 0, 0}}, {2, {5, 13, 0}},
    {2, {4, 33, 0}}, {3, {3, 4, 5}},  {3, {2, 1, 17}},
};
#define SHAPE_COUNT ((int)(sizeof shapes / sizeof *shapes))

/* Shapes a layout is tried with: all of them when plain, else some that have inner and outer dims; every
 * such shape for the dtypes that stand for the others' ways through the executor. */
static bool shape_suits(layout l, int shape, ox_dtype dtype) {
    if (l == LAYOUT_PLAIN || shape == 10 || shape == 11) return true;
    bool stands = dtype == OX_F32 || dtype == OX_F16 || dtype == OX_I32 || dtype == OX_C64;
    return stands && (shape == 3 || shape == 8 || shape >= 9);
}

static domain domain_for(const op_case *c, const op_row *row, ox_dtype dtype, int operand) {
    /* pow and products of integers stay in range; a divisor of 0 is refused for integers */
    (void)row;
    if (is_integral(dtype) && strcmp(c->name, "pow") == 0) return operand == 0 ? DOMAIN_MODEST : DOMAIN_COUNT;
    return c->domains[operand];
}

/* Operands in layout l and its neighbors, and plain copies of them. false when one could not be made. */
static bool make_operands(const op_case *c, const op_row *row, ox_dtype dtype, layout l,
                          const test_shape *shape, ox_tensor **views, ox_tensor **plain) {
    bool made = true;
    for (int k = 0; k < c->arity; k++) {
        layout own = l == LAYOUT_PLAIN ? l : (layout)((l + 4 * k) % LAYOUT_COUNT);
        ox_dtype own_dtype = k == 0 && strcmp(row->flag, "MASKED") == 0 ? OX_BOOL : dtype;
        views[k] = random_layout(own, domain_for(c, row, dtype, k), shape->ndim, shape->dim, own_dtype);
        plain[k] = views[k] ? plain_copy(views[k]) : NULL;
        made = made && plain[k];
    }
    CHECK_MSG(made, "%s: operands %s", c->label, ox_error_text());
    return made;
}

static bool has_shape(const ox_tensor *t, const test_shape *shape) {
    bool same = t->ndim == shape->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = t->shape[d] == shape->dim[d];
    return same;
}

static void check_out_of_place(const op_case *c, const op_row *row, ox_dtype dtype, layout l,
                               const test_shape *shape) {
    ox_tensor *views[3], *plain[3];
    if (!make_operands(c, row, dtype, l, shape, views, plain)) return;
    ox_tensor *result = c->run(views), *flat = c->run(plain);
    CHECK_MSG(result && flat, "%s %s %s: %s", c->label, ox_dtype_name(dtype), layout_name(l),
              ox_error_text());
    if (!result || !flat) {
        ox_error_clear();
        return;
    }
    CHECK_MSG(result->dtype == map_result(row, dtype) && has_shape(result, shape) && ox_is_contiguous(result),
              "%s %s: a %s result", c->label, ox_dtype_name(dtype), ox_dtype_name(result->dtype));
    CHECK_MSG(same_bits(result, flat), "%s %s, %s, %d dims, first %lld: differs from a contiguous copy",
              c->label, ox_dtype_name(dtype), layout_name(l), shape->ndim, (long long)shape->dim[0]);
    check_reference(c, flat, plain, layout_name(l));
}

/* The in-place form on a view: the same numbers as the other form, converted to the target's dtype, and
 * nothing beside the view touched. */
static void check_in_place(const op_case *c, const op_row *row, ox_dtype dtype, layout l,
                           const test_shape *shape) {
    ox_tensor *views[3], *plain[3], *base = NULL;
    if (!make_operands(c, row, dtype, LAYOUT_PLAIN, shape, views, plain)) return;
    ox_tensor *target = new_layout(l, shape->ndim, shape->dim, dtype, &base), *want = c->run(plain);
    if (!target || !want) {
        CHECK_MSG(target && want, "%s: %s", c->label, ox_error_text());
        ox_error_clear();
        return;
    }
    write_elements(target, ox_data(plain[0]));
    ox_tensor *before = plain_copy(base);
    views[0] = target;
    bool part =
        strcmp(row->gives, "REAL") == 0 && dtype == OX_C64; /* torch refuses abs_ of complex numbers */
    bool allowed = ox_dtype_get_info(want->dtype)->cls <= ox_dtype_get_info(dtype)->cls && !part;
    ox_tensor *result = c->run_in_place(views);
    if (!allowed) {
        CHECK_MSG(!result && ox_error() == OX_ERR_DTYPE && same_bits(base, before), "%s_ %s must be refused",
                  c->label, ox_dtype_name(dtype));
        ox_error_clear();
        return;
    }
    CHECK_MSG(result == target, "%s_ %s: %s", c->label, ox_dtype_name(dtype), ox_error_text());
    ox_error_clear();
    ox_tensor *cast = ox_cast(want, dtype);
    CHECK_MSG(cast && same_bits(target, cast), "%s_ %s, %s: differs from %s", c->label, ox_dtype_name(dtype),
              layout_name(l), c->label);
    /* Put the old numbers back: then all of the memory must be as it was. */
    write_elements(target, ox_data(plain[0]));
    CHECK_MSG(same_bits(base, before), "%s_ %s, %s: wrote beside the view", c->label, ox_dtype_name(dtype),
              layout_name(l));
}

static bool can_be_written(layout l) {
    return l != LAYOUT_EXPANDED_FIRST && l != LAYOUT_EXPANDED_LAST;
}

static void check_refused(const op_case *c, const op_row *row, ox_dtype dtype) {
    const int64_t shape[1] = {3};
    ox_tensor *in[3];
    for (int k = 0; k < 3; k++)
        in[k] = random_layout(LAYOUT_PLAIN, DOMAIN_NOT_ZERO, 1, shape,
                              k == 0 && strcmp(row->flag, "MASKED") == 0 ? OX_BOOL : dtype);
    CHECK_MSG(!c->run(in) && ox_error() == OX_ERR_DTYPE, "%s must refuse %s", c->label, ox_dtype_name(dtype));
    ox_error_clear();
}

static void check_case(const op_case *c) {
    const op_row *row = op_row_named(c->name);
    CHECK_MSG(row != NULL, "%s has no row", c->name);
    for (int d = OX_BOOL; row && d <= PLAIN_DTYPES; d++) {
        if (!(accept_bit((ox_dtype)d) & row->accepts)) {
            OX_SCOPE {
                check_refused(c, row, (ox_dtype)d);
            }
            continue;
        }
        for (int l = 0; l < LAYOUT_COUNT; l++)
            for (int s = 0; s < SHAPE_COUNT; s++) {
                if (!shape_suits((layout)l, s, (ox_dtype)d)) continue;
                OX_SCOPE {
                    check_out_of_place(c, row, (ox_dtype)d, (layout)l, &shapes[s]);
                    if (c->run_in_place && can_be_written((layout)l))
                        check_in_place(c, row, (ox_dtype)d, (layout)l, &shapes[s]);
                }
            }
    }
}

/* ---- promotion: torch's tables ----------------------------------------------------------------------- */

static ox_dtype golden_dtype(char letter) {
    const char *at = letter == '-' ? NULL : strchr(GOLDEN_DTYPES, letter);
    return at ? (ox_dtype)(OX_BOOL + (at - GOLDEN_DTYPES)) : OX_DTYPE_NONE;
}

static ox_tensor *small_tensor(ox_dtype dtype, int ndim, int first) {
    const int64_t shape[1] = {3};
    ox_tensor *t = ox_empty(ox_shape_from(ndim, shape), dtype);
    for (int64_t i = 0; i < ox_numel(t); i++)
        store_real(dtype, element(t, i), dtype == OX_BOOL ? 1 : (double)(first + i));
    return t;
}

/* a + b has the dtype `want` and the numbers of the operands converted first; OX_DTYPE_NONE: refused. */
static void check_mixed(ox_tensor *a, ox_tensor *b, ox_dtype want, const char *what) {
    ox_tensor *sum = ox_add(a, b);
    if (!want) {
        CHECK_MSG(!sum && ox_error() == OX_ERR_DTYPE, "%s %s + %s must be refused", what,
                  ox_dtype_name(a->dtype), ox_dtype_name(b->dtype));
        ox_error_clear();
        return;
    }
    CHECK_MSG(sum && sum->dtype == want, "%s %s + %s is %s, not %s (%s)", what, ox_dtype_name(a->dtype),
              ox_dtype_name(b->dtype), ox_dtype_name(want), sum ? ox_dtype_name(sum->dtype) : "refused",
              ox_error_text());
    ox_error_clear();
    ox_tensor *converted = sum ? ox_add(ox_cast(a, want), ox_cast(b, want)) : NULL;
    CHECK_MSG(!sum || same_bits(sum, converted), "%s %s + %s: wrong numbers", what, ox_dtype_name(a->dtype),
              ox_dtype_name(b->dtype));
    ox_error_clear();
}

static void check_promotion(void) {
    for (int a = 0; a < PLAIN_DTYPES; a++)
        for (int b = 0; b < PLAIN_DTYPES; b++) {
            ox_dtype da = (ox_dtype)(OX_BOOL + a), db = (ox_dtype)(OX_BOOL + b),
                     want = golden_dtype(golden_promote[a][b]);
            ox_dtype zero_dim = golden_dtype(golden_zero_dim[a][b]);
            CHECK_MSG(ox_promote_types(da, db) == want, "promote_types(%s, %s) is %s, not %s",
                      ox_dtype_name(da), ox_dtype_name(db), ox_dtype_name(want),
                      ox_dtype_name(ox_promote_types(da, db)));
            OX_SCOPE {
                check_mixed(small_tensor(da, 1, 1), small_tensor(db, 1, 2), want, "tensors");
                check_mixed(small_tensor(da, 0, 1), small_tensor(db, 0, 2), want, "0-dim");
                check_mixed(small_tensor(da, 1, 1), small_tensor(db, 0, 2), zero_dim, "tensor and 0-dim");
                check_mixed(small_tensor(db, 0, 1), small_tensor(da, 1, 2), zero_dim, "0-dim and tensor");
            }
        }
    for (int a = 0; a < PLAIN_DTYPES; a++)
        for (int way = 0; way < 4; way++)
            OX_SCOPE {
                ox_tensor *t = small_tensor((ox_dtype)(OX_BOOL + a), way < 2 ? 1 : 0, 1);
                ox_tensor *number = way % 2 ? ox_integer(2) : ox_number(1.5);
                ox_tensor *sum = ox_add(t, number), *turned = ox_add(number, t);
                ox_dtype want = golden_dtype(golden_number[a][way]);
                CHECK_MSG(sum && turned && sum->dtype == want && turned->dtype == want,
                          "%s + %s is %s, not %s", ox_dtype_name(t->dtype), way % 2 ? "2" : "1.5",
                          ox_dtype_name(want), sum ? ox_dtype_name(sum->dtype) : ox_error_text());
                ox_error_clear();
            }
    CHECK(ox_promote_types(OX_Q4_0, OX_F32) == OX_DTYPE_NONE);
    CHECK(ox_promote_types(OX_Q4_0, OX_Q4_0) == OX_DTYPE_NONE);
    CHECK(ox_promote_types(OX_DTYPE_NONE, OX_F32) == OX_DTYPE_NONE);
    CHECK(ox_promote_types((ox_dtype)9999, OX_F32) == OX_DTYPE_NONE);
    CHECK(ox_promote_types((ox_dtype)-1, OX_F32) == OX_DTYPE_NONE);
}

/* Every op that takes two operands of different dtypes computes in their common one. */
static void check_mixed_case(const op_case *c) {
    const op_row *row = op_row_named(c->name);
    if (c->arity < 2 || !row) return;
    static const ox_dtype pairs[][2] = {{OX_I32, OX_F32}, {OX_F16, OX_F32},  {OX_BOOL, OX_I64},
                                        {OX_U8, OX_I8},   {OX_BF16, OX_F16}, {OX_F64, OX_F32},
                                        {OX_I16, OX_F16}, {OX_C64, OX_F32},  {OX_U8, OX_F8_E5M2}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ox_dtype common = ox_promote_types(pairs[i][0], pairs[i][1]);
        for (int turned = 0; turned < 2; turned++)
            OX_SCOPE {
                ox_tensor *in[3], *cast[3];
                for (int k = 0; k < c->arity; k++) {
                    bool mask = k == 0 && strcmp(row->flag, "MASKED") == 0;
                    in[k] = small_tensor(mask ? OX_BOOL : pairs[i][(k + turned) % 2], 1, 1 + k);
                    cast[k] = common && !mask ? ox_cast(in[k], common) : in[k];
                }
                ox_tensor *got = c->run(in);
                if (!got) ox_error_clear();
                ox_tensor *want = common && got ? c->run(cast) : NULL;
                bool bools = pairs[i][0] == OX_BOOL || pairs[i][1] == OX_BOOL;
                bool takes = common && accept_bit(common) & row->accepts &&
                             !(bools && strcmp(c->name, "sub") == 0) && strcmp(c->name, "lerp") != 0;
                CHECK_MSG(takes ? same_bits(got, want) : !got, "%s of %s and %s", c->label,
                          ox_dtype_name(pairs[i][0]), ox_dtype_name(pairs[i][1]));
                ox_error_clear();
            }
    }
}

/* ---- broadcasting ------------------------------------------------------------------------------------ */

/* a expanded by plain loops to `shape`. */
static ox_tensor *grown(const ox_tensor *a, int ndim, const int64_t *shape) {
    ox_tensor *out = ox_empty(ox_shape_from(ndim, shape), a->dtype);
    for (int64_t i = 0; i < ox_numel(out); i++) {
        int64_t rest = i, offset = 0;
        for (int d = ndim - 1; d >= 0; d--) {
            int own = d - (ndim - a->ndim);
            if (own >= 0 && a->shape[own] != 1) offset += rest % shape[d] * a->stride[own];
            rest /= shape[d];
        }
        memcpy(element(out, i), (char *)ox_data(a) + offset * (int64_t)width_of(a->dtype),
               width_of(a->dtype));
    }
    return out;
}

static void check_broadcast(void) {
    static const struct {
        int n[3];
        int64_t dim[3][4];
        int out;
        int64_t shape[4];
    } cases[] = {
        {{3, 2, 1}, {{3, 1, 5}, {4, 1}, {5}}, 3, {3, 4, 5}},
        {{1, 2, 0}, {{5}, {3, 5}, {0}}, 2, {3, 5}},
        {{0, 2, 2}, {{0}, {2, 3}, {1, 1}}, 2, {2, 3}},
        {{1, 1, 1}, {{1}, {0}, {1}}, 1, {0}},
        {{2, 3, 1}, {{1, 3}, {2, 0, 3}, {1}}, 3, {2, 0, 3}},
        {{4, 4, 4}, {{2, 1, 3, 1}, {1, 4, 1, 65}, {2, 4, 3, 65}}, 4, {2, 4, 3, 65}},
        {{2, 2, 2}, {{7, 1}, {1, 17}, {7, 17}}, 2, {7, 17}},
    };
    for (int n = 0; n < OP_CASE_COUNT; n++) {
        const op_case *c = &op_cases[n];
        const op_row *row = op_row_named(c->name);
        if (c->arity < 2 || !row) continue;
        ox_dtype dtype = row->accepts & ACCEPT_FLOAT ? OX_F32 : OX_I32;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int turn = 0; turn < c->arity; turn++)
                OX_SCOPE {
                    ox_tensor *in[3], *full[3];
                    int64_t shape[4] = {1, 1, 1, 1}, ndim = 0;
                    for (int k = 0; k < c->arity; k++) {
                        int at = (k + turn) % c->arity, lead = 4 - cases[i].n[at];
                        in[k] = random_layout(LAYOUT_PLAIN, c->domains[k], cases[i].n[at], cases[i].dim[at],
                                              k == 0 && strcmp(row->flag, "MASKED") == 0 ? OX_BOOL : dtype);
                        if (ndim < cases[i].n[at]) ndim = cases[i].n[at];
                        for (int d = lead; d < 4; d++)
                            if (cases[i].dim[at][d - lead] != 1) shape[d] = cases[i].dim[at][d - lead];
                    }
                    for (int k = 0; k < c->arity; k++) full[k] = grown(in[k], (int)ndim, shape + 4 - ndim);
                    ox_tensor *got = c->run(in), *want = c->run(full);
                    CHECK_MSG(got && same_bits(got, want), "%s: broadcast case %d: %s", c->label, (int)i,
                              ox_error_text());
                    ox_error_clear();
                }
    }
    OX_SCOPE { /* eight dims, and shapes that do not fit */
        ox_tensor *a = ox_ones(OX_SHAPE(2, 1, 2, 1, 2, 1, 2, 1), OX_F32),
                  *b = ox_ones(OX_SHAPE(1, 3, 1, 3, 1, 3, 1, 3), OX_F32);
        ox_tensor *sum = ox_add(a, b);
        CHECK(sum && ox_numel(sum) == 1296 && sum->ndim == 8 &&
              ox_item(ox_amin(sum, OX_ALL_DIMS, false)) == 2);
        CHECK(!ox_add(ox_ones(OX_SHAPE(2, 3), OX_F32), ox_ones(OX_SHAPE(2, 4), OX_F32)) &&
              ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_where(ox_ones(OX_SHAPE(3), OX_BOOL), ox_ones(OX_SHAPE(2), OX_F32),
                        ox_ones(OX_SHAPE(2), OX_F32)) &&
              ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

/* ---- in place: overlap, refusals --------------------------------------------------------------------- */

static void check_overlap(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_I16, OX_F16, OX_F64, OX_U8};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        ox_dtype dtype = dtypes[i];
        for (int way = 0; way < 6; way++)
            OX_SCOPE {
                const int64_t shape[2] = {9, 9};
                ox_tensor *x = random_layout(LAYOUT_PLAIN, DOMAIN_MODEST, 2, shape, dtype),
                          *old = plain_copy(x);
                ox_tensor *to[2], *from[2];
                ox_tensor *both[2] = {x, old};
                for (int k = 0; k < 2; k++) {
                    ox_tensor *t = both[k];
                    to[k] = way == 0   ? ox_slice(t, 0, 1, OX_END, 1)
                            : way == 1 ? ox_slice(t, 1, 0, -1, 1)
                            : way == 4 ? ox_select(t, 0, 3)
                                       : t;
                    from[k] = way == 0   ? ox_slice(t, 0, 0, -1, 1)
                              : way == 1 ? ox_slice(t, 1, 1, OX_END, 1)
                              : way == 2 ? ox_t(t)
                              : way == 3 ? backwards(t, OX_DIMS(0, 1))
                              : way == 4 ? ox_select(t, 1, 2)
                                         : ox_select(t, 0, 8);
                }
                ox_tensor *want = ox_sub(to[1], from[1]);
                ox_tensor *got = ox_sub_(to[0], from[0]);
                CHECK_MSG(got && same_bits(got, want), "overlap %d of %s: %s", way, ox_dtype_name(dtype),
                          ox_error_text());
                ox_error_clear();
            }
    }
    OX_SCOPE { /* the same tensor on both sides, and as a mask over itself */
        ox_tensor *x = ox_arange(0, 65, 1, OX_F32);
        CHECK(ox_mul_(x, x) == x && ox_item(ox_select(x, 0, 8)) == 64);
        ox_tensor *mask = ox_ones(OX_SHAPE(5), OX_BOOL);
        CHECK(ox_masked_fill_(mask, mask, 0) == mask && ox_item(ox_any(mask, OX_ALL_DIMS, false)) == 0);
        ox_tensor *bits = ox_view_dtype(x, OX_I32); /* other dtype, same bytes */
        ox_tensor *want = ox_add(x, ox_clone(bits));
        CHECK(ox_add_(x, bits) == x && same_bits(x, want));
        ox_tensor *y = ox_arange(0, 10, 1, OX_F32);
        CHECK(ox_addcmul_(ox_slice(y, 0, 2, 7, 1), ox_slice(y, 0, 1, 6, 1), ox_slice(y, 0, 3, 8, 1), 1) !=
              NULL);
        for (int i = 0; i < 5; i++) CHECK(ox_item(ox_select(y, 0, 2 + i)) == 2 + i + (1 + i) * (3 + i));
    }
}

static void check_in_place_refusals(void) {
    OX_SCOPE {
        ox_tensor *narrow = ox_ones(OX_SHAPE(1, 4), OX_F32), *wide = ox_expand(narrow, OX_SHAPE(3, 4));
        ox_tensor *f32 = ox_ones(OX_SHAPE(3, 4), OX_F32), *i32 = ox_ones(OX_SHAPE(3, 4), OX_I32),
                  *b = ox_ones(OX_SHAPE(3, 4), OX_BOOL);
        ox_tensor *c64 = ox_ones(OX_SHAPE(3, 4), OX_C64), *half = ox_ones(OX_SHAPE(3, 4), OX_F16);
#define REFUSES(expression, status)                     \
    do {                                                \
        CHECK(!(expression) && ox_error() == (status)); \
        ox_error_clear();                               \
    } while (0)
        REFUSES(ox_add_(wide, f32), OX_ERR_ARG);
        REFUSES(ox_exp_(wide), OX_ERR_ARG);
        REFUSES(ox_copy_(wide, f32), OX_ERR_ARG);
        REFUSES(ox_masked_fill_(wide, b, 1), OX_ERR_ARG);
        REFUSES(ox_cumsum_(wide, 0), OX_ERR_ARG);
        CHECK(ox_item(ox_sum(narrow, OX_ALL_DIMS, false)) == 4);
        CHECK(ox_fill_(wide, 2) == wide); /* all of them may be the same number */
        CHECK(ox_item(ox_sum(narrow, OX_ALL_DIMS, false)) == 8);
        REFUSES(ox_add_(narrow, f32), OX_ERR_SHAPE);
        REFUSES(ox_add_(ox_ones(OX_SHAPE(4), OX_F32), f32), OX_ERR_SHAPE);
        REFUSES(ox_lerp_(narrow, f32, f32), OX_ERR_SHAPE);
        REFUSES(ox_copy_(narrow, f32), OX_ERR_SHAPE);
        REFUSES(ox_add_(i32, f32), OX_ERR_DTYPE);
        REFUSES(ox_add_(b, i32), OX_ERR_DTYPE);
        REFUSES(ox_add_(f32, c64), OX_ERR_DTYPE);
        REFUSES(ox_exp_(i32), OX_ERR_DTYPE);
        REFUSES(ox_div_(i32, i32), OX_ERR_DTYPE);
        REFUSES(ox_abs_(c64), OX_ERR_DTYPE);
        REFUSES(ox_add_(i32, ox_number(0.5)), OX_ERR_DTYPE);
        REFUSES(ox_masked_fill_(i32, b, 0.5), OX_ERR_DTYPE);
        REFUSES(ox_masked_fill_(i32, i32, 1), OX_ERR_DTYPE);
        REFUSES(ox_floor_divide(i32, ox_zeros(OX_SHAPE(4), OX_I32)), OX_ERR_ARG);
        REFUSES(ox_fmod_(i32, ox_zeros(OX_SHAPE(4), OX_I32)), OX_ERR_ARG);
        REFUSES(ox_add_scaled(i32, i32, 0.5), OX_ERR_DTYPE);
        REFUSES(ox_add_scaled_(i32, i32, (double)NAN), OX_ERR_DTYPE);
        REFUSES(ox_add_scaled(i32, i32, 1e30), OX_ERR_DTYPE);
        REFUSES(ox_clamp(i32, 0.5, 3), OX_ERR_DTYPE);
        REFUSES(ox_clamp_(i32, 0, (double)NAN), OX_ERR_DTYPE);
        REFUSES(ox_pow(i32, ox_integer(-1)), OX_ERR_ARG);
        REFUSES(ox_atan2(ox_ones(OX_SHAPE(4), OX_C64), ox_full(OX_SHAPE(4), -1, OX_I32)), OX_ERR_DTYPE);
        CHECK(ox_item(ox_sum(i32, OX_ALL_DIMS, false)) == 12);
        /* Within a category: computed in the wider dtype, rounded once to the target's. */
        CHECK(ox_add_(half, ox_full(OX_SCALAR_SHAPE, 2048, OX_F32)) == half && half->dtype == OX_F16 &&
              ox_item(ox_amax(half, OX_ALL_DIMS, false)) == 2048);
        CHECK(ox_add_(i32, b) == i32 && ox_item_int(ox_sum(i32, OX_ALL_DIMS, false)) == 24);
        CHECK(ox_eq_(f32, f32) == f32 && f32->dtype == OX_F32 &&
              ox_item(ox_sum(f32, OX_ALL_DIMS, false)) == 12);
        CHECK(ox_add_(ox_ones(OX_SHAPE(3), OX_U8), ox_full(OX_SHAPE(3), 300, OX_I32)) != NULL);
    }
}

/* ---- special values ---------------------------------------------------------------------------------- */

static float golden_float(const char *bits, int at) {
    char cell[9];
    memcpy(cell, bits + 8 * at, 8);
    cell[8] = 0;
    uint32_t word = (uint32_t)strtoul(cell, NULL, 16);
    float f;
    memcpy(&f, &word, sizeof f);
    return f;
}

static const op_case *case_named(const char *label) {
    for (int i = 0; i < OP_CASE_COUNT; i++)
        if (strcmp(op_cases[i].label, label) == 0) return &op_cases[i];
    return NULL;
}

/* Whether ours is torch's answer: the same class, the same sign of zero, numbers within both error bounds. */
static bool answers_like(const op_case *c, ox_dtype dtype, double ours, double torch) {
    if (isnan(torch) || isnan(ours)) return isnan(torch) && isnan(ours);
    if (torch == 0 || isinf(torch))
        return ours == torch && (dtype == OX_BOOL || signbit(ours) == signbit(torch));
    if (dtype == OX_BOOL) return ours == torch;
    if (dtype == OX_F64) return fabs(ours - torch) <= 1e-6 * fabs(torch);
    return is_close(dtype, ours, torch, c->ulps == 0 ? 0 : c->ulps + 2);
}

static void check_golden_unary(const golden_row *row, ox_dtype dtype) {
    const op_case *c = case_named(row->op);
    double in[GOLDEN_UNARY_COUNT][2];
    CHECK_MSG(c != NULL, "no case for %s", row->op);
    if (!c) return;
    for (int i = 0; i < GOLDEN_UNARY_COUNT; i++)
        store_real(dtype, (char *)in + (size_t)i * width_of(dtype),
                   (double)golden_float(golden_unary_inputs, i));
    ox_tensor *x = ox_from_data(in, OX_SHAPE(GOLDEN_UNARY_COUNT), dtype), *y = c->run(&x);
    CHECK_MSG(y != NULL, "%s %s: %s", row->op, ox_dtype_name(dtype), ox_error_text());
    for (int i = 0; y && i < GOLDEN_UNARY_COUNT; i++) {
        double number = (double)golden_float(golden_unary_inputs, i),
               torch = (double)golden_float(row->bits, i);
        double exact = load_real(dtype, element(x, i)), ours = load_real(y->dtype, element(y, i));
        const float_format *f = format_of(dtype);
        if (flushed(number) != number || (flushed(torch) != torch && ours == 0)) continue;
        if (exact != number && !(isnan(exact) && isnan(number))) continue; /* not a number of this dtype */
        if (dtype == OX_F64 && (fabs(number) > 88 || (number != 0 && fabs(number) < 1e-30)))
            continue; /* f64 reaches further */
        if (f->mantissa < 23 && y->dtype != OX_BOOL) {
            if (!isnan(torch) && !isinf(torch) && torch != 0 && fabs(torch) < 1e-4) continue;
            torch = round_to_format(f, torch);
        }
        bool like = f->mantissa < 23 && c->ulps > 0 && y->dtype != OX_BOOL
                        ? is_close(dtype, ours, torch, 0) || fabs(ours - torch) <= spacing(f, torch)
                        : answers_like(c, y->dtype, ours, torch);
        CHECK_MSG(like, "%s %s of %.9g is %.9g, torch says %.9g", row->op, ox_dtype_name(dtype), exact, ours,
                  torch);
    }
}

static void check_golden_binary(const golden_row *row, ox_dtype dtype) {
    const op_case *c = case_named(row->op);
    enum { COUNT = GOLDEN_BINARY_COUNT };
    double cells[COUNT];
    CHECK_MSG(c != NULL, "no case for %s", row->op);
    if (!c) return;
    for (int i = 0; i < COUNT; i++)
        store_real(dtype, (char *)cells + (size_t)i * width_of(dtype),
                   (double)golden_float(golden_binary_inputs, i));
    ox_tensor *line = ox_from_data(cells, OX_SHAPE(COUNT), dtype);
    ox_tensor *in[2] = {ox_unsqueeze(line, 1), line}, *y = c->run(in);
    CHECK_MSG(y != NULL, "%s %s: %s", row->op, ox_dtype_name(dtype), ox_error_text());
    for (int i = 0; y && i < COUNT * COUNT; i++) {
        double a = (double)golden_float(golden_binary_inputs, i / COUNT),
               b = (double)golden_float(golden_binary_inputs, i % COUNT);
        double torch = (double)golden_float(row->bits, i), ours = load_real(y->dtype, element(y, i));
        bool extreme = (a != 0 && fabs(a) < 1e-30) || (b != 0 && fabs(b) < 1e-30) ||
                       (fabs(a) > 1e30 && !isinf(a)) || (fabs(b) > 1e30 && !isinf(b));
        if (dtype == OX_F64 && extreme) continue;
        if (flushed(a) != a || flushed(b) != b || (flushed(torch) != torch && ours == 0)) continue;
        CHECK_MSG(answers_like(c, dtype, ours, torch), "%s %s of %.9g and %.9g is %.9g, torch says %.9g",
                  row->op, ox_dtype_name(dtype), a, b, ours, torch);
    }
}

static void check_golden_integers(const golden_row *rows, int count, const int *inputs, ox_dtype dtype) {
    for (int r = 0; r < count; r++) {
        const op_case *c = case_named(rows[r].op);
        CHECK_MSG(c != NULL, "no case for %s", rows[r].op);
        for (int i = 0; c && i < GOLDEN_INT_COUNT * GOLDEN_INT_COUNT; i++) {
            const char *digits = rows[r].bits + 2 * i;
            int a = inputs[i / GOLDEN_INT_COUNT], b = inputs[i % GOLDEN_INT_COUNT], want = 0;
            bool refused = digits[0] == 'z';
            if (!refused) sscanf(digits, "%2x", (unsigned *)&want);
            OX_SCOPE {
                ox_tensor *in[2] = {ox_full(OX_SHAPE(1), a, dtype), ox_full(OX_SHAPE(1), b, dtype)},
                          *y = c->run(in);
                CHECK_MSG(refused ? !y && ox_error() == OX_ERR_ARG
                                  : y && (int)(load_int(dtype, ox_data(y)) & 255) == want,
                          "%s %s of %d and %d is %lld, torch says %d", rows[r].op, ox_dtype_name(dtype), a, b,
                          y ? (long long)load_int(dtype, ox_data(y)) : -1,
                          dtype == OX_I8 ? (int8_t)want : want);
                ox_error_clear();
            }
        }
    }
}

/* Complex results have the class of torch's; the sign of a zero is not compared. */
static bool part_like(double ours, double torch) {
    if (isnan(torch) || isnan(ours)) return isnan(torch) && isnan(ours);
    return ours == torch || fabs(ours - torch) <= 1e-5 * fabs(torch) + 1e-6;
}

static bool part_like_in(ox_dtype dtype, double ours, double want) {
    return isnan(want) ? isnan(ours) : ours == want || is_close(dtype, ours, want, 2);
}

/* Operand k of golden pair `at`: its parts are digits of `at` to the base `parts`. */
static ox_tensor *golden_complex_operand(const char *bits, int parts, int at) {
    float z[2];
    z[0] = golden_float(bits, at / parts % parts);
    z[1] = golden_float(bits, at % parts);
    return ox_from_data(z, OX_SHAPE(1), OX_C64);
}

static void check_golden_complex(const golden_row *row, const char *parts, int part_count, int operands) {
    const op_case *c = case_named(row->op);
    int each = part_count * part_count, all = operands == 2 ? each * each : each;
    CHECK_MSG(c != NULL, "no case for %s", row->op);
    for (int i = 0; c && i < all; i++)
        OX_SCOPE {
            ox_tensor *in[2];
            in[0] = golden_complex_operand(parts, part_count, operands == 2 ? i / each : i);
            in[1] = golden_complex_operand(parts, part_count, i % each);
            ox_tensor *y = c->run(in);
            double re = y ? load_real(y->dtype, ox_data(y)) : 0,
                   im = y ? load_imaginary(y->dtype, ox_data(y)) : 0;
            double want_re = (double)golden_float(row->bits, 2 * i),
                   want_im = (double)golden_float(row->bits, 2 * i + 1);
            CHECK_MSG(y && part_like(re, want_re) && part_like(im, want_im),
                      "%s c64 of (%g, %g), (%g, %g) is (%g, %g), torch says (%g, %g)", row->op,
                      load_real(OX_C64, ox_data(in[0])), load_imaginary(OX_C64, ox_data(in[0])),
                      load_real(OX_C64, ox_data(in[1])), load_imaginary(OX_C64, ox_data(in[1])), re, im,
                      want_re, want_im);
        }
}

static void check_special_values(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
    for (size_t i = 0; i < sizeof golden_unary / sizeof *golden_unary; i++)
        for (int d = 0; d < 4; d++)
            OX_SCOPE {
                check_golden_unary(&golden_unary[i], dtypes[d]);
            }
    for (size_t i = 0; i < sizeof golden_binary / sizeof *golden_binary; i++)
        for (int d = 0; d < 2; d++)
            OX_SCOPE {
                check_golden_binary(&golden_binary[i], dtypes[d]);
            }
    for (size_t i = 0; i < sizeof golden_complex / sizeof *golden_complex; i++)
        check_golden_complex(&golden_complex[i], golden_parts, GOLDEN_PARTS, 1);
    for (size_t i = 0; i < sizeof golden_complex_pairs / sizeof *golden_complex_pairs; i++)
        check_golden_complex(&golden_complex_pairs[i], golden_pair_parts, GOLDEN_PAIR_PARTS, 2);
    check_golden_integers(golden_i8, (int)(sizeof golden_i8 / sizeof *golden_i8), golden_i8_inputs, OX_I8);
    check_golden_integers(golden_u8, (int)(sizeof golden_u8 / sizeof *golden_u8), golden_u8_inputs, OX_U8);
}

/* All pairs of the integers that overflow or sit at an edge, for the wide dtypes. */
static void check_wide_integers(void) {
    static const ox_dtype dtypes[] = {OX_I16, OX_U16, OX_I32, OX_U32, OX_I64, OX_U64};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        ox_dtype dtype = dtypes[d];
        int bits = 8 * (int)width_of(dtype);
        const int64_t least = (int64_t)((uint64_t)1 << (bits - 1)),
                      edge[] = {least,    least + 1, -1, 0, 1, 2, 7, (int64_t)((uint64_t)least - 1),
                                bits - 1, bits,      -7};
        enum { EDGES = 11 };
        for (int n = 0; n < OP_CASE_COUNT; n++) {
            const op_case *c = &op_cases[n];
            const op_row *row = op_row_named(c->name);
            if (c->arity > 2 || !c->signed_int || !row || !(row->accepts & ACCEPT_INT)) continue;
            bool divides = strstr(c->name, "div") || strstr(c->name, "mod") || strstr(c->name, "remainder"),
                 power = strcmp(c->name, "pow") == 0;
            for (int i = 0; i < EDGES * EDGES; i++) {
                char cells[2][8];
                store_int(dtype, cells[0], edge[i / EDGES]);
                store_int(dtype, cells[1], edge[i % EDGES]);
                if (divides && load_int(dtype, cells[1]) == 0) continue;
                bool long_power = power && !is_signed_int(dtype);
                if (long_power && (uint64_t)load_int(dtype, cells[1]) > 1000) continue;
                if (c->arity == 1 && i % EDGES) continue;
                OX_SCOPE {
                    ox_tensor *in[2] = {ox_from_data(cells[0], OX_SHAPE(1), dtype),
                                        ox_from_data(cells[1], OX_SHAPE(1), dtype)},
                              *y = c->run(in);
                    CHECK_MSG(y != NULL, "%s %s: %s", c->label, ox_dtype_name(dtype), ox_error_text());
                    if (y) check_reference(c, y, in, "at the edges");
                }
            }
        }
    }
}

/* ---- functions that are no row of their own ---------------------------------------------------------- */

static void check_numbers(void) {
    OX_SCOPE {
        const int64_t shape[2] = {5, 7};
        ox_tensor *x = random_layout(LAYOUT_TRANSPOSED, DOMAIN_POSITIVE, 2, shape, OX_F32),
                  *half = ox_number(0.5);
        CHECK(same_bits(ox_add_number(x, 0.5), ox_add(x, half)));
        CHECK(same_bits(ox_sub_number(x, 0.5), ox_sub(x, half)));
        CHECK(same_bits(ox_mul_number(x, 0.5), ox_mul(x, half)));
        CHECK(same_bits(ox_div_number(x, 0.5), ox_div(x, half)));
        CHECK(same_bits(ox_pow_number(x, 0.5), ox_pow(x, half)));
        ox_tensor *i = ox_arange(0, 6, 1, OX_I32);
        CHECK(ox_add_number(i, 1.5)->dtype == OX_F32 &&
              ox_item(ox_select(ox_add_number(i, 1.5), 0, 2)) == 3.5);
        CHECK(ox_add(i, ox_integer(3))->dtype == OX_I32 && ox_pow(i, ox_integer(2))->dtype == OX_I32);
        CHECK(ox_item_int(ox_select(ox_pow(i, ox_integer(3)), 0, 5)) == 125);
        ox_tensor *f16 = ox_cast(x, OX_F16), *scaled = ox_mul_number(f16, 0.1);
        CHECK(scaled->dtype == OX_F16);
        for (int64_t e = 0; e < 35; e++)
            CHECK(is_close(OX_F16, load_real(OX_F16, element(scaled, e)),
                           0.1 * load_real(OX_F16, element(f16, e)), 1));
        CHECK(ox_error() == OX_OK);
        ox_error_clear();
    }
    OX_SCOPE {
        ox_tensor *x = ox_arange(0, 24, 1, OX_F32), *m = ox_gt(x, ox_number(11)),
                  *y = ox_masked_fill(x, m, -1);
        for (int64_t e = 0; e < 24; e++) CHECK(load_real(OX_F32, element(y, e)) == (e > 11 ? -1 : (double)e));
        CHECK(same_bits(
            ox_masked_fill(ox_view(x, OX_SHAPE(2, 12)), ox_unsqueeze(ox_arange(0, 2, 1, OX_BOOL), 1), -1),
            ox_view(y, OX_SHAPE(2, 12))));
        ox_tensor *in_place = ox_clone(x);
        CHECK(ox_masked_fill_(in_place, m, -1) == in_place && same_bits(in_place, y));
        ox_tensor *infinite = ox_masked_fill(ox_cast(x, OX_F16), m, -(double)INFINITY);
        CHECK(infinite && infinite->dtype == OX_F16 &&
              ox_item(ox_amin(infinite, OX_ALL_DIMS, false)) == -(double)INFINITY);
        CHECK(ox_masked_fill(ox_ones(OX_SHAPE(24), OX_C64), m, 0.5) != NULL);
        ox_tensor *g = ox_glu(ox_view(x, OX_SHAPE(2, 12)), -1);
        CHECK(g && g->ndim == 2 && g->shape[1] == 6);
        for (int64_t e = 0; g && e < 12; e++) {
            double a = (double)(e / 6 * 12 + e % 6);
            CHECK(is_close(OX_F32, load_real(OX_F32, element(g, e)), a / (1 + exp(-(a + 6))), 3));
        }
        g = ox_glu(ox_t(ox_view(x, OX_SHAPE(3, 8))), 0);
        CHECK(g && g->shape[0] == 4 && g->shape[1] == 3);
        CHECK(!ox_glu(ox_ones(OX_SHAPE(3), OX_F32), 0) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_glu(ox_ones(OX_SHAPE(4), OX_F32), 1) && ox_error() == OX_ERR_DIM);
        ox_error_clear();
    }
}

/* Runs longer than a tile, of elements that are wider than the lanes they are computed in, at any step. */
static void check_wide_elements(void) {
    static const ox_dtype pairs[][2] = {{OX_I64, OX_F32}, {OX_U64, OX_F16}, {OX_F32, OX_I64},
                                        {OX_I64, OX_I16}, {OX_I16, OX_I64}, {OX_I64, OX_U8}};
    static const layout layouts[] = {LAYOUT_STEP_LAST, LAYOUT_FLIPPED, LAYOUT_STEP_BACK, LAYOUT_TRANSPOSED};
    const int64_t shapes[2][2] = {{1, 2600}, {40, 150}};
    for (int i = 0; i < 6 * 4 * 2; i++)
        OX_SCOPE {
            const int64_t *shape = shapes[i % 2];
            layout l = layouts[i / 2 % 4];
            ox_tensor *a = random_layout(l, DOMAIN_MODEST, 2, shape, pairs[i / 8][0]),
                      *b = random_layout(l, DOMAIN_POSITIVE, 2, shape, pairs[i / 8][1]);
            ox_tensor *flat_a = plain_copy(a), *flat_b = plain_copy(b);
            CHECK_MSG(same_bits(ox_div(a, b), ox_div(flat_a, flat_b)) &&
                          same_bits(ox_lt(a, b), ox_lt(flat_a, flat_b)) &&
                          same_bits(ox_sigmoid(a), ox_sigmoid(flat_a)),
                      "%s and %s, %s, [%d,%d]: %s", ox_dtype_name(a->dtype), ox_dtype_name(b->dtype),
                      layout_name(l), (int)shape[0], (int)shape[1], ox_error_text());
        }
}

/* Negative alphas: torch takes the exponential below 0 only, so that -0 stays -0, and does not clamp. */
static void check_negative_alpha(void) {
    static const double x[] = {-0.0, 0.0, -1, 1, (double)NAN, -(double)INFINITY},
                        elu[] = {-0.0, 0.0, 0.6321205588285577, 1, (double)NAN, 1},
                        celu[] = {-0.0, 0.0, -1.718281828459045, 1, (double)NAN, -(double)INFINITY};
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
    for (int d = 0; d < 4; d++)
        OX_SCOPE {
            ox_tensor *in = ox_repeat(ox_from_doubles(x, OX_SHAPE(6), dtypes[d]), OX_SHAPE(11)),
                      *y = ox_elu(in, -1), *z = ox_celu(backwards(in, OX_DIMS(0)), -1), *zero = ox_elu(in, 0);
            for (int64_t i = 0; i < 66; i++) {
                double a = load_real(dtypes[d], element(y, i)), b = load_real(dtypes[d], element(z, 65 - i)),
                       c = load_real(dtypes[d], element(zero, i));
                bool sign =
                    (x[i % 6] != 0) || (signbit(a) == signbit(x[i % 6]) && signbit(b) == signbit(x[i % 6]) &&
                                        signbit(c) == signbit(x[i % 6]));
                CHECK_MSG(sign && part_like_in(dtypes[d], a, elu[i % 6]) &&
                              part_like_in(dtypes[d], b, celu[i % 6]) &&
                              (x[i % 6] < 0 ? c == 0 && signbit(c) : part_like_in(dtypes[d], c, x[i % 6])),
                          "%s of %g: elu %g, celu %g, elu of alpha 0 %g", ox_dtype_name(dtypes[d]), x[i % 6],
                          a, b, c);
            }
        }
}

/* clamp and its like with one bound missing, and bounds that cross. */
static void check_bounds(void) {
    OX_SCOPE {
        const double inf = (double)INFINITY;
        ox_tensor *x = ox_arange(-3, 4, 1, OX_F32), *i = ox_arange(-3, 4, 1, OX_I32),
                  *wide = ox_arange(-3, 4, 1, OX_I64);
        CHECK(ox_item(ox_amin(ox_clamp(x, -1, inf), OX_ALL_DIMS, false)) == -1 &&
              ox_item(ox_amax(ox_clamp(x, -1, inf), OX_ALL_DIMS, false)) == 3);
        CHECK(ox_item(ox_amin(ox_clamp(x, -inf, 1), OX_ALL_DIMS, false)) == -3 &&
              ox_item(ox_amax(ox_clamp(x, -inf, 1), OX_ALL_DIMS, false)) == 1);
        CHECK(ox_item_int(ox_amin(ox_clamp(i, -1, inf), OX_ALL_DIMS, false)) == -1 &&
              ox_item_int(ox_amax(ox_clamp(i, -1, inf), OX_ALL_DIMS, false)) == 3);
        CHECK(ox_item_int(ox_amin(ox_clamp(wide, -inf, 1), OX_ALL_DIMS, false)) == -3 &&
              ox_item_int(ox_amax(ox_clamp(wide, -inf, 1), OX_ALL_DIMS, false)) == 1);
        ox_tensor *u = ox_arange(0, 7, 1, OX_U8);
        CHECK(ox_item_int(ox_amax(ox_clamp(u, -2, 4), OX_ALL_DIMS, false)) == 4 &&
              ox_item_int(ox_amin(ox_clamp(u, -2, 4), OX_ALL_DIMS, false)) == 0);
        CHECK(ox_item(ox_amax(ox_clamp(x, 2, 1), OX_ALL_DIMS, false)) == 1); /* torch: the upper bound wins */
        ox_tensor *big = ox_clamp(ox_full(OX_SHAPE(2), 9e18, OX_I64), -inf, inf);
        CHECK(ox_item_int(ox_select(big, 0, 0)) == (int64_t)9e18);
        ox_tensor *nan = ox_nan_to_num(ox_full(OX_SHAPE(2), inf, OX_F16), 0, inf, -inf);
        CHECK(ox_item(ox_select(nan, 0, 0)) == 65504);
        nan = ox_nan_to_num(ox_full(OX_SHAPE(2), -inf, OX_F32), 0, inf, -inf);
        CHECK(ox_item(ox_select(nan, 0, 1)) == -3.4028234663852886e38);
        nan = ox_nan_to_num(ox_full(OX_SHAPE(2), -inf, OX_F64), 0, inf, -inf);
        CHECK(ox_item(ox_select(nan, 0, 1)) == -1.7976931348623157e308);
        nan = ox_nan_to_num(ox_full(OX_SHAPE(2), inf, OX_BF16), 0, inf, -inf);
        CHECK(ox_item(ox_select(nan, 0, 1)) == 3.3895313892515355e38);
        CHECK(ox_error() == OX_OK);
        ox_error_clear();
    }
}

/* Long runs cross tiles, pieces and threads; the same bits for 1, 2 and 5 threads. */
static void check_long_runs(void) {
    static const char *const names[] = {"exp", "add", "where", "bitwise_not", "gelu", "lerp", "floor_divide"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        OX_SCOPE {
            const op_case *c = case_named(names[n]);
            ox_dtype dtype = strcmp(names[n], "bitwise_not") == 0 ? OX_I16 : n % 2 ? OX_F16 : OX_F32;
            ox_tensor *in[3], *result[3];
            for (int k = 0; k < c->arity; k++) {
                ox_tensor *t = ox_cast(ox_randint(1, 100, OX_SHAPE(37, 4001), OX_I64), dtype);
                in[k] = k == 1 ? ox_slice(t, 1, 0, OX_END, 1) : t;
                if (k == 0 && strcmp(names[n], "where") == 0) in[k] = ox_gt(t, ox_integer(50));
            }
            for (int threads = 0; threads < 3; threads++) {
                ox_set_threads(threads == 2 ? 5 : threads + 1);
                result[threads] = c->run(in);
            }
            ox_set_threads(0);
            CHECK_MSG(result[0] && same_bits(result[0], result[1]) && same_bits(result[0], result[2]),
                      "%s: threads change the result", names[n]);
            if (result[0]) check_reference(c, result[0], in, "long");
        }
}

/* Operands that run along their columns: the bits that contiguous ones give, in sizes around the edges of
 * tiles and past the caches. */
static void check_turned(int64_t rows, int64_t columns) {
    OX_SCOPE {
        ox_tensor *a = ox_randn(OX_SHAPE(rows, columns), OX_F32),
                  *turned = ox_randn(OX_SHAPE(columns, rows), OX_F32);
        ox_tensor *b = ox_t(turned), *flat = ox_clone(b), *c = backwards(b, OX_DIMS(0)),
                  *flat_c = ox_clone(c);
        ox_tensor *mask = ox_t(ox_gt(turned, backwards(turned, OX_DIMS(0)))), *flat_mask = ox_clone(mask);
        ox_tensor *b16 = ox_t(ox_cast(turned, OX_BF16)), *b8 = ox_t(ox_cast(turned, OX_I8));
        ox_tensor *sum = ox_clone(a), *flat_sum = ox_clone(a), *into = ox_t(ox_clone(ox_t(a)));
        bool same = same_bits(ox_add(a, b), ox_add(a, flat)) &&
                    same_bits(ox_add(b, c), ox_add(flat, flat_c)) && same_bits(ox_gelu(c), ox_gelu(flat_c)) &&
                    same_bits(ox_gt(a, c), ox_gt(a, flat_c)) &&
                    same_bits(ox_where(mask, a, b), ox_where(flat_mask, a, flat)) &&
                    same_bits(ox_where(mask, c, b), ox_where(flat_mask, flat_c, flat)) &&
                    same_bits(ox_add(b, ox_narrow(a, 0, 0, 1)), ox_add(flat, ox_narrow(a, 0, 0, 1))) &&
                    same_bits(ox_mul(b, ox_narrow(a, 1, 0, 1)), ox_mul(flat, ox_narrow(a, 1, 0, 1))) &&
                    same_bits(ox_add(b16, b16), ox_add(ox_clone(b16), ox_clone(b16))) &&
                    same_bits(ox_mul(b8, b8), ox_mul(ox_clone(b8), ox_clone(b8))) &&
                    same_bits(ox_cast(b16, OX_F32), ox_cast(ox_clone(b16), OX_F32)) &&
                    same_bits(ox_cast(c, OX_BF16), ox_cast(flat_c, OX_BF16)) &&
                    same_bits(ox_add_(sum, b), ox_add_(flat_sum, flat)) &&
                    same_bits(ox_add_(into, c), ox_add(a, flat_c));
        CHECK_MSG(same, "turned operands [%d,%d]", (int)rows, (int)columns);
    }
}

static void check_turned_operands(void) {
    static const int64_t sides[][2] = {{1, 1},    {1, 70},   {5, 4},     {8, 16},    {17, 33},  {64, 64},
                                       {63, 130}, {300, 20}, {257, 260}, {20, 3001}, {1027, 9}, {700, 513}};
    for (int i = 0; i < 12; i++) check_turned(sides[i][0], sides[i][1]);
#if !defined(__SANITIZE_THREAD__)
    check_turned(1451, 1467);
#endif
}

/* Rows cut out of wider ones, short and long, whose results are more than caches hold: the bits of few
 * rows. */
static void check_large_slices(void) {
    static const int64_t lengths[] = {21, 701, 1030, 5003};
    for (int s = 0; s < 4; s++)
        OX_SCOPE {
            const int64_t n = lengths[s], rows = 2200000 / n;
            ox_tensor *x = ox_narrow(ox_randn(OX_SHAPE(rows, n + 3), OX_F32), 1, 1, n);
            ox_tensor *y = ox_randn(OX_SHAPE(rows, n), OX_F32), *into = ox_clone(y);
            ox_tensor *sum = ox_add(x, y), *zero = ox_relu(x), *product = ox_mul_(into, x);
            bool same = true;
            for (int64_t r = 0; r + 7 <= rows; r += rows / 9)
                OX_SCOPE {
                    ox_tensor *a = ox_narrow(x, 0, r, 7), *b = ox_narrow(y, 0, r, 7);
                    same = same && same_bits(ox_narrow(sum, 0, r, 7), ox_add(a, b)) &&
                           same_bits(ox_narrow(zero, 0, r, 7), ox_relu(a)) &&
                           same_bits(ox_narrow(product, 0, r, 7), ox_mul(a, b));
                }
            CHECK_MSG(same, "%d rows of %d", (int)rows, (int)n);
        }
}

/* Columns of operands that are longer than a tile: they are walked, and results lie in steps there. */
static void check_long_columns(void) {
    static const char *const names[] = {"isnan", "lt", "logical_not", "abs", "mul"};
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_F64, OX_I32};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            OX_SCOPE {
                const op_case *c = case_named(names[n]);
                ox_tensor *columns[3] = {0}, *in[3] = {0};
                for (int k = 0; k < c->arity; k++) {
                    ox_tensor *t = ox_randint(0, 3, OX_SHAPE(3, 5000), OX_I64);
                    columns[k] = ox_t(ox_cast(t, dtypes[d]));
                    in[k] = ox_contiguous(columns[k]);
                }
                ox_tensor *result = c->run(columns);
                CHECK_MSG(result != NULL, "%s: %s", names[n], ox_error_text());
                if (result) check_reference(c, result, in, "long columns");
            }
}

/* Integers wider than the lanes that they are computed in, backwards and with gaps, in runs of more than a
 * tile. */
static void check_wide_at_steps(void) {
    enum { N = 5000 };
    static const int64_t steps[] = {-1, -3, 2};
    OX_SCOPE {
        ox_tensor *x = ox_arange(0, N, 1, OX_I64);
        for (int s = 0; s < 3; s++) {
            const int64_t step = steps[s], n = N / llabs(step), first = step < 0 ? (n - 1) * -step : 0;
            ox_tensor *t = ox_slice(x, 0, 0, n * llabs(step), llabs(step));
            ox_tensor *got = ox_contiguous(ox_mul_number(step < 0 ? backwards(t, OX_DIMS(0)) : t, 1.5));
            const float *p = (const float *)ox_data(got);
            for (int64_t i = 0; i < n; i++)
                CHECK_MSG(p && p[i] == 1.5f * (float)(first + i * step), "step %lld, number %lld: %g",
                          (long long)step, (long long)i, p ? (double)p[i] : 0);
        }
    }
}

int main(void) {
    for (int i = 0; i < OP_CASE_COUNT; i++) check_case(&op_cases[i]);
    check_promotion();
    for (int i = 0; i < OP_CASE_COUNT; i++) check_mixed_case(&op_cases[i]);
    check_broadcast();
    check_overlap();
    check_in_place_refusals();
    check_special_values();
    check_wide_integers();
    check_numbers();
    check_bounds();
    check_negative_alpha();
    check_wide_elements();
    check_long_runs();
    check_turned_operands();
    check_large_slices();
    check_long_columns();
    check_wide_at_steps();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("ops");
}
