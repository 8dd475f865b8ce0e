/* test_tensors.c - views in place, resizing, what is put by index in place, strides of one's own, dtypes,
 * runs, bits, quantized numbers, samples and LDL factors against plain loops: layouts, gradients, refusals.
 * PyTorch's own cases are run by torch_ops.py. OX_VULKAN(where gather scatter_add) */
#include "oxtorch_nn.h"

#include "check.h"

#include <math.h>
#include <string.h>

static void refused(bool made, ox_status status, const char *words) {
    CHECK_MSG(!made && ox_error() == status && strstr(ox_error_text(), words), "%s: %s", words,
              ox_error_text());
    ox_error_clear();
}

static ox_tensor *counted(ox_shape shape, ox_dtype dtype) {
    int64_t count = 1;
    for (int d = 0; d < shape.ndim; d++) count *= shape.dim[d];
    return ox_reshape(ox_arange(0, (double)count, 1, dtype), shape);
}

static ox_tensor *waves(ox_shape shape, ox_dtype dtype) {
    return ox_cast(ox_mul_number(ox_sin(ox_mul_number(counted(shape, OX_F64), 1.7)), 1.9), dtype);
}

/* ---- views in place ------------------------------------------------------------------------------------ */

typedef ox_tensor *(*view_function)(ox_tensor *t);
#define VIEWS(X)                                                                \
    X(transpose, ox_transpose_(t, 0, -1), ox_transpose(t, 0, -1))               \
    X(squeeze, ox_squeeze_(t, 1), ox_squeeze(t, 1))                             \
    X(squeeze_all, ox_squeeze_all_(t), ox_squeeze_all(t))                       \
    X(unsqueeze, ox_unsqueeze_(t, -1), ox_unsqueeze(t, -1))                     \
    X(as_strided, ox_as_strided_(t, OX_SHAPE(2, 2), OX_SHAPE(1, 2), t->offset), \
      ox_as_strided(t, OX_SHAPE(2, 2), OX_SHAPE(1, 2), t->offset))
#define X(name, own, other)                           \
    static ox_tensor *in_place_##name(ox_tensor *t) { \
        return own;                                   \
    }                                                 \
    static ox_tensor *view_##name(ox_tensor *t) {     \
        return other;                                 \
    }
VIEWS(X)
#undef X
static const struct {
    const char *name;
    view_function own, other;
} views[] = {
#define X(name, own, other) {#name, in_place_##name, view_##name},
    VIEWS(X)
#undef X
};
enum { VIEW_COUNT = sizeof views / sizeof *views };

/* Bases [3,1,4] in three layouts. */
static ox_tensor *base_of(int layout) {
    ox_tensor *t = counted(OX_SHAPE(3, 1, 4), OX_F32);
    if (layout == 1) t = ox_transpose(counted(OX_SHAPE(4, 1, 3), OX_F32), 0, 2);
    if (layout == 2) t = ox_slice(counted(OX_SHAPE(3, 2, 9), OX_F32), 2, 1, OX_END, 2);
    return layout == 2 ? ox_narrow(t, 1, 1, 1) : t;
}

static void test_views(void) {
    for (int v = 0; v < VIEW_COUNT; v++)
        for (int layout = 0; layout < 3; layout++)
            OX_SCOPE {
                ox_tensor *t = base_of(layout), *whole = ox_view(t, ox_shape_of(t)),
                          *want = views[v].other(t);
                const void *storage = t->storage;
                CHECK_MSG(views[v].own(t) == t && t->storage == storage, "%s: %s", views[v].name,
                          ox_error_text());
                CHECK_MSG(t->ndim == want->ndim && t->offset == want->offset && ox_equal(t, want),
                          "%s of layout %d", views[v].name, layout);
                for (int d = 0; d < t->ndim; d++)
                    CHECK(t->shape[d] == want->shape[d] && t->stride[d] == want->stride[d]);
                ox_fill_(t, 7); /* still the numbers of before */
                CHECK(ox_item(ox_amax(whole, OX_ALL_DIMS, false)) >= 7);
            }
    OX_SCOPE {
        ox_tensor *t = counted(OX_SHAPE(2, 3), OX_I64);
        for (int i = 0; i < 1001; i++) CHECK(ox_t_(t) == t);
        CHECK(t->shape[0] == 3 && t->stride[0] == 1 && ox_item_int(ox_select(ox_select(t, 0, 1), 0, 1)) == 4);
        ox_tensor *empty = ox_zeros(OX_SHAPE(0, 3), OX_F32);
        CHECK(ox_transpose_(empty, 0, 1) == empty && empty->shape[1] == 0);
    }
}

/* Of a result y = 2 x, turned in place, sum(y w) has the gradient 2 w turned back; with numbers that were
 * changed by way of it. */
static void test_view_gradients(void) {
    for (int v = 0; v < VIEW_COUNT; v++)
        for (int later = 0; later < 2; later++)
            OX_SCOPE {
                ox_tensor *g[2];
                for (int way = 0; way < 2; way++) {
                    ox_tensor *x = ox_requires_grad_(counted(OX_SHAPE(3, 1, 4), OX_F32), true);
                    ox_tensor *y = ox_mul_number(x, 2), *whole = ox_view(y, ox_shape_of(y));
                    ox_tensor *z = way ? views[v].own(y) : views[v].other(y);
                    CHECK_MSG(z != NULL, "%s: %s", views[v].name, ox_error_text());
                    if (later) ox_mul_(z, ox_add_number(counted(ox_shape_of(z), OX_F32), 1));
                    ox_tensor *sum =
                        ox_add(ox_sum(ox_mul(z, counted(ox_shape_of(z), OX_F32)), OX_ALL_DIMS, false),
                               ox_sum(ox_square(whole), OX_ALL_DIMS, false));
                    CHECK_MSG(ox_backward(sum, NULL) == OX_OK, "%s: %s", views[v].name, ox_error_text());
                    g[way] = ox_gradient(x);
                    ox_error_clear();
                }
                CHECK_MSG(g[0] && g[1] && ox_equal(g[0], g[1]), "%s: the gradient", views[v].name);
            }
}

static void test_view_rules(void) {
    OX_SCOPE {
        ox_tensor *x = ox_requires_grad_(counted(OX_SHAPE(3, 4), OX_F32), true);
        refused(ox_t_(x) != NULL, OX_ERR_ARG, "a leaf that wants a gradient is changed in place");
        refused(ox_transpose_(ox_view(x, OX_SHAPE(4, 3)), 0, 1) != NULL, OX_ERR_ARG, "by a view of it");
        ox_tensor *y = ox_mul_number(x, 2), *z = ox_mul(y, y);
        CHECK(ox_t_(y) == y && !ox_is_leaf(y) && ox_requires_grad(y));
        refused(ox_backward(ox_sum(z, OX_ALL_DIMS, false), NULL) == OX_OK, OX_ERR_ARG, "changed in place");
        ox_tensor *w = ox_requires_grad_(counted(OX_SHAPE(3, 4), OX_F32), true);
        OX_NO_GRAD {
            refused(ox_t_(y) != NULL, OX_ERR_ARG, "while nothing is");
            refused(ox_t_(x) != NULL, OX_ERR_ARG, "a recorded call needs");
            CHECK(ox_t_(w) == w && ox_is_leaf(w) && ox_requires_grad(w));
        }
        CHECK(ox_backward(ox_sum(ox_mul(w, w), OX_ALL_DIMS, false), NULL) == OX_OK);
        CHECK(ox_gradient(w) && ox_equal(ox_gradient(w), ox_mul_number(ox_detach(w), 2)));
        OX_NO_GRAD refused(ox_t_(w) != NULL, OX_ERR_ARG, "ox_set_gradient");
        refused(ox_unsqueeze_(ox_number(3), 0) != NULL, OX_ERR_ARG, "a number stays what it is");
        refused(ox_t_(NULL) != NULL, OX_ERR_ARG, "t_");
        refused(ox_t_(ox_zeros(OX_SHAPE(2, 2, 2), OX_F32)) != NULL, OX_ERR_DIM, "t_");
        refused(ox_transpose_(ox_zeros(OX_SHAPE(2, 2), OX_F32), 0, 2) != NULL, OX_ERR_DIM, "transpose_");
        refused(ox_as_strided_(ox_zeros(OX_SHAPE(4), OX_F32), OX_SHAPE(9), OX_SHAPE(1), 0) != NULL,
                OX_ERR_SHAPE, "as_strided_");
        ox_tensor *i = NULL;
        OX_INFERENCE_MODE i = ox_zeros(OX_SHAPE(2, 3), OX_F32);
        refused(ox_t_(i) != NULL, OX_ERR_ARG, "inference");
        CHECK(ox_detach_(y) == y && !ox_requires_grad(y));
        refused(ox_detach_(ox_t(z)) != NULL, OX_ERR_ARG, "detach_");
        CHECK(ox_detach_(w) == w && !ox_requires_grad(w));
        ox_tensor *v = ox_mul_number(ox_requires_grad_(ox_ones(OX_SHAPE(4), OX_F32), true), 1), *seen;
        seen = ox_as_strided(v, OX_SHAPE(2, 2), OX_SHAPE(1, 2), 0);
        ox_mul_(v, counted(OX_SHAPE(4), OX_F32)); /* seen is a view of it still */
        ox_tensor *sum = ox_sum(ox_mul(seen, seen), OX_ALL_DIMS, false), *g = NULL;
        CHECK_MSG(ox_grad(&sum, 1, &v, 1, NULL, &g) == OX_OK && g && ox_equal(g, ox_mul_number(v, 2)), "%s",
                  ox_error_text());
    }
}

static void test_resize(void) {
    OX_SCOPE {
        ox_tensor *t = ox_t(counted(OX_SHAPE(2, 3), OX_F32)), *view = ox_narrow(t, 0, 0, 1);
        const void *storage = t->storage;
        CHECK(ox_resize_(t, OX_SHAPE(3, 2)) == t && t->stride[0] == 1); /* the same shape */
        CHECK(ox_resize_(t, OX_SHAPE(2, 2)) == t && t->stride[0] == 2 && t->storage == storage);
        CHECK(ox_equal(t, counted(OX_SHAPE(2, 2), OX_F32)));
        CHECK(ox_resize_(t, OX_SHAPE(4, 4)) == t && t->storage != storage);
        CHECK(ox_equal(ox_narrow(ox_flatten(t, 0, -1), 0, 0, 6), ox_arange(0, 6, 1, OX_F32)));
        CHECK(ox_item(ox_select(ox_select(t, 0, 3), 0, 3)) == 0);
        CHECK(view->storage == storage && ox_item(ox_select(ox_select(view, 0, 0), 0, 1)) == 3);
        ox_tensor *part = ox_narrow(ox_arange(0, 9, 1, OX_I16), 0, 4, 2);
        CHECK(ox_resize_as_(part, ox_zeros(OX_SHAPE(2, 4), OX_F32)) == part && part->offset == 4);
        CHECK(ox_item_int(ox_select(ox_select(part, 0, 1), 0, 0)) == 8 &&
              ox_item_int(ox_select(ox_select(part, 0, 1), 0, 3)) == 0);
        CHECK(ox_resize_(part, OX_SHAPE(0, 3)) == part && ox_numel(part) == 0);
        CHECK(ox_resize_(part, OX_SCALAR_SHAPE) == part && ox_item_int(part) == 4);
        ox_tensor *x = ox_requires_grad_(ox_ones(OX_SHAPE(3), OX_F32), true);
        refused(ox_resize_(x, OX_SHAPE(2)) != NULL, OX_ERR_ARG, "resize_");
        refused(ox_resize_(ox_mul(x, x), OX_SHAPE(2)) != NULL, OX_ERR_ARG, "resize_");
        refused(ox_resize_(t, OX_SHAPE(-1)) != NULL, OX_ERR_SHAPE, "resize_");
        refused(ox_resize_(t, OX_SHAPE((int64_t)1 << 40, (int64_t)1 << 40)) != NULL, OX_ERR_SHAPE, "resize_");
        refused(ox_resize_as_(t, NULL) != NULL, OX_ERR_ARG, "resize_as_");
        CHECK(t->shape[0] == 4);
    }
}

static void test_put(void) {
    OX_SCOPE {
        const int64_t rows[2] = {2, 0}, cells[3] = {1, 11, -2};
        ox_tensor *x = ox_requires_grad_(counted(OX_SHAPE(3, 4), OX_F64), true), *y = ox_mul_number(x, 3);
        ox_tensor *turned = ox_t(y), *index[2] = {NULL, ox_from_data(rows, OX_SHAPE(2), OX_I64)};
        ox_tensor *v = ox_requires_grad_(ox_full(OX_SHAPE(4, 2), 5, OX_F64), true);
        CHECK(ox_index_put_(turned, index, 2, v, false) == turned);
        CHECK(ox_item(ox_select(ox_select(y, 0, 2), 0, 3)) == 5 &&
              ox_item(ox_select(ox_select(y, 0, 1), 0, 3)) == 21);
        CHECK(ox_backward(ox_sum(ox_square(y), OX_ALL_DIMS, false), NULL) == OX_OK);
        CHECK(ox_item(ox_sum(ox_gradient(v), OX_ALL_DIMS, false)) == 80);
        CHECK(ox_item(ox_select(ox_select(ox_gradient(x), 0, 1), 0, 3)) == 126 &&
              ox_item(ox_select(ox_select(ox_gradient(x), 0, 0), 0, 3)) == 0);
        ox_tensor *z = counted(OX_SHAPE(3, 4), OX_F64), *at = ox_from_data(cells, OX_SHAPE(3), OX_I64);
        CHECK(ox_put_(z, at, ox_ones(OX_SHAPE(3), OX_F64), true) == z);
        CHECK(ox_item(ox_select(ox_select(z, 0, 0), 0, 1)) == 2 &&
              ox_item(ox_select(ox_select(z, 0, 2), 0, 2)) == 11);
        refused(ox_index_put_(NULL, index, 2, v, false) != NULL, OX_ERR_ARG, "index_put_");
        index[1] = ox_full(OX_SHAPE(2), 3, OX_I64);
        refused(ox_index_put_(ox_t(z), index, 2, v, false) != NULL, OX_ERR_INDEX, "index_put_");
        refused(ox_put_(z, ox_full(OX_SHAPE(1), 12, OX_I64), ox_ones(OX_SHAPE(1), OX_F64), false) != NULL,
                OX_ERR_INDEX, "put_");
    }
}

/* ---- made, dtypes -------------------------------------------------------------------------------------- */

static void test_made(void) {
    OX_SCOPE {
        ox_tensor *t = ox_empty_strided(OX_SHAPE(2, 3), OX_SHAPE(1, 5), OX_F32);
        CHECK(t && t->stride[0] == 1 && t->stride[1] == 5 && t->storage &&
              ox_copy_(t, counted(OX_SHAPE(2, 3), OX_F32)));
        CHECK(ox_equal(t, counted(OX_SHAPE(2, 3), OX_F32)));
        t = ox_empty_strided(OX_SHAPE(0, 3), OX_SHAPE(9, 9), OX_F32);
        CHECK(t && ox_numel(t) == 0);
        refused(ox_empty_strided(OX_SHAPE(2), OX_SHAPE(-1), OX_F32) != NULL, OX_ERR_SHAPE, "empty_strided");
        refused(ox_empty_strided(OX_SHAPE(2), OX_SHAPE(1, 1), OX_F32) != NULL, OX_ERR_SHAPE, "empty_strided");
        refused(ox_empty_strided(OX_SHAPE(9, 9), OX_SHAPE(INT64_MAX / 8, INT64_MAX / 8), OX_F32) != NULL,
                OX_ERR_SHAPE, "empty_strided");
        t = ox_logspace(-2, 2, 9, 3, OX_F64);
        for (int i = 0; i < 9; i++) CHECK(fabs(ox_item(ox_select(t, 0, i)) - pow(3, -2 + 0.5 * i)) < 1e-12);
        CHECK(ox_logspace(0, 1, 0, 10, OX_DTYPE_NONE)->dtype == OX_F32);
        CHECK(ox_item_int(ox_select(ox_logspace(0, 2.9, 4, 10, OX_I8), 0, 3)) == 100); /* 2.9 is 2 there */
        refused(ox_logspace(0, 1, -1, 10, OX_F32) != NULL, OX_ERR_SHAPE, "logspace");
        ox_tensor *wide = ox_zeros(OX_SHAPE(2), OX_I16), *single = ox_zeros(OX_SCALAR_SHAPE, OX_F64);
        CHECK(ox_result_type(wide, ox_zeros(OX_SHAPE(1), OX_U8)) == OX_I16);
        CHECK(ox_result_type(wide, single) == OX_F64 && ox_result_type(wide, ox_number(2.5)) == OX_F32);
        CHECK(ox_result_type(wide, ox_integer(1)) == OX_I16);
        CHECK(ox_result_type(wide, NULL) == OX_DTYPE_NONE && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(ox_can_cast(OX_I64, OX_U8) && ox_can_cast(OX_BOOL, OX_F16) && ox_can_cast(OX_F64, OX_C64));
        CHECK(!ox_can_cast(OX_F16, OX_I64) && !ox_can_cast(OX_C64, OX_F64) && !ox_can_cast(OX_U8, OX_BOOL));
        CHECK(!ox_can_cast(OX_Q4_0, OX_F32) && !ox_can_cast(OX_DTYPE_NONE, OX_F32));
        ox_tensor *x = ox_t(waves(OX_SHAPE(5, 4), OX_F64));
        ox_tuple pair = ox_aminmax(x, 1, true), all = ox_aminmax(x, OX_FLATTENED, false);
        CHECK(ox_equal(pair.t[0], ox_amin(x, OX_DIMS(1), true)) &&
              ox_equal(pair.t[1], ox_amax(x, OX_DIMS(1), true)));
        CHECK(ox_item(all.t[0]) == ox_item(ox_amin(x, OX_ALL_DIMS, false)));
        pair = ox_std_mean(x, OX_DIMS(0), 1, false);
        all = ox_var_mean(x, OX_DIMS(0), 1, false);
        CHECK(ox_allclose(ox_square(pair.t[0]), all.t[0], 1e-12, 0, false) && ox_equal(pair.t[1], all.t[1]));
    }
}

/* ---- runs and bits ------------------------------------------------------------------------------------- */

static double reduced(const char *how, const double *x, int64_t step, int64_t n, double initial) {
    bool starts = !isnan(initial), product = strcmp(how, "prod") == 0;
    double value = starts ? initial : product ? 1 : 0, far = strcmp(how, "max") == 0 ? -INFINITY : INFINITY;
    if (strcmp(how, "max") == 0 || strcmp(how, "min") == 0) value = starts ? initial : far;
    for (int64_t i = 0; i < n; i++) {
        double v = x[i * step];
        value = product                   ? value * v
                : strcmp(how, "max") == 0 ? fmax(value, v)
                : strcmp(how, "min") == 0 ? fmin(value, v)
                                          : value + v;
    }
    if (strcmp(how, "mean") == 0) value = n ? value / (double)n : starts ? value : NAN;
    return value;
}

static void test_segments(void) {
    static const char *const hows[5] = {"sum", "prod", "mean", "max", "min"};
    const int64_t lengths[2][4] = {{2, 0, 3, 1}, {0, 1, 1, 4}};
    for (int h = 0; h < 5; h++)
        for (int i = 0; i < 8; i++)
            OX_SCOPE {
                bool starts = i & 1, turned = i & 2, offsets = i & 4;
                double initial = starts ? 0.25 : NAN, x[2][6][3];
                ox_tensor *t = waves(OX_SHAPE(2, 6, 3), OX_F64),
                          *runs = ox_from_data(lengths, OX_SHAPE(2, 4), OX_I64);
                CHECK(ox_to_doubles(t, &x[0][0][0], 36) == OX_OK);
                if (turned) t = ox_transpose(ox_contiguous(ox_transpose(t, 0, 2)), 0, 2);
                if (offsets) {
                    ox_tensor *both[2] = {ox_zeros(OX_SHAPE(2, 1), OX_I64), ox_cumsum(runs, 1)};
                    runs = ox_cat(both, 2, 1);
                }
                ox_tensor *y =
                    ox_segment_reduce(t, hows[h], offsets ? NULL : runs, offsets ? runs : NULL, 1, initial);
                CHECK_MSG(y && y->shape[1] == 4, "%s: %s", hows[h], ox_error_text());
                for (int b = 0; b < 2 && y; b++)
                    for (int s = 0, at = 0; s < 4; at += (int)lengths[b][s++])
                        for (int r = 0; r < 3; r++) {
                            double got = ox_item(ox_select(ox_select(ox_select(y, 0, b), 0, s), 0, r));
                            double want =
                                reduced(hows[h], &x[b][at < 6 ? at : 5][r], 3, lengths[b][s], initial);
                            CHECK_MSG(got == want || fabs(got - want) < 1e-12 || (isnan(got) && isnan(want)),
                                      "%s of run %d: %g, not %g", hows[h], s, got, want);
                        }
            }
    OX_SCOPE {
        ox_tensor *x = ox_zeros(OX_SHAPE(6), OX_F32), *four = ox_from_data(lengths[0], OX_SHAPE(4), OX_I64);
        refused(ox_segment_reduce(x, "median", four, NULL, 0, 0) != NULL, OX_ERR_ARG, "median");
        refused(ox_segment_reduce(x, "sum", NULL, NULL, 0, 0) != NULL, OX_ERR_ARG, "neither");
        refused(ox_segment_reduce(x, "sum", four, four, 0, 0) != NULL, OX_ERR_ARG, "and offsets");
        refused(ox_segment_reduce(ox_zeros(OX_SHAPE(7), OX_F32), "sum", four, NULL, 0, 0) != NULL,
                OX_ERR_INDEX, "do not cover");
        refused(ox_segment_reduce(x, "sum", NULL, four, 0, 0) != NULL, OX_ERR_INDEX, "do not cover");
        refused(ox_segment_reduce(x, "sum", four, NULL, 1, 0) != NULL, OX_ERR_DIM, "segment_reduce");
        refused(ox_segment_reduce(ox_zeros(OX_SHAPE(6), OX_I64), "sum", four, NULL, 0, 0) != NULL,
                OX_ERR_SHAPE, "runs");
        ox_tensor *none = ox_segment_reduce(ox_zeros(OX_SHAPE(0, 3), OX_F32), "max",
                                            ox_zeros(OX_SHAPE(2), OX_I64), NULL, 0, NAN);
        CHECK(none && none->shape[0] == 2 && ox_item(ox_amax(none, OX_ALL_DIMS, false)) == -INFINITY);
    }
}

static void test_hash(void) {
    OX_SCOPE {
        double x[3][5];
        ox_tensor *t = waves(OX_SHAPE(5, 3), OX_F64), *hash = ox_hash_tensor(ox_t(t), OX_DIMS(1), true);
        CHECK(hash && hash->dtype == OX_U64 && hash->ndim == 2 && hash->shape[0] == 3 && hash->shape[1] == 1);
        CHECK(ox_to_doubles(ox_t(t), &x[0][0], 15) == OX_OK);
        for (int i = 0; i < 3 && hash; i++) {
            uint64_t want = 0, bits;
            for (int j = 0; j < 5; j++) {
                memcpy(&bits, &x[i][j], sizeof bits);
                want ^= bits;
            }
            CHECK((uint64_t)ox_item_scalar(ox_select(ox_select(hash, 0, i), 0, 0)).integer == want);
        }
        hash = ox_hash_tensor(ox_arange(0, 7, 1, OX_I8), OX_ALL_DIMS, false);
        CHECK(hash && hash->ndim == 0 && ox_item_scalar(hash).integer == 7);
        CHECK(ox_item_scalar(ox_hash_tensor(ox_zeros(OX_SHAPE(0), OX_F32), OX_ALL_DIMS, false)).integer == 0);
        refused(ox_hash_tensor(ox_zeros(OX_SHAPE(2), OX_C64), OX_ALL_DIMS, false) != NULL, OX_ERR_DTYPE,
                "hash");
        refused(ox_hash_tensor(t, OX_DIMS(2), false) != NULL, OX_ERR_DIM, "hash");
    }
}

/* ---- quantized ----------------------------------------------------------------------------------------- */

static double quantized(double x, double scale, double zero, double least, double most) {
    double q = nearbyint(x * (double)(1.0f / (float)scale)) + zero;
    return q < least ? least : q > most ? most : q;
}

static void test_quantize(void) {
    static const ox_dtype dtypes[3] = {OX_I8, OX_U8, OX_I32};
    static const double ends[3][2] = {{-128, 127}, {0, 255}, {-2147483648.0, 2147483647.0}};
    for (int k = 0; k < 3; k++)
        for (int turned = 0; turned < 2; turned++)
            OX_SCOPE {
                double x[3][4], s[4] = {0.01, 0.5, 0.125, 0.03};
                int64_t z[4] = {3, 0, 100, 7};
                ox_tensor *t = waves(OX_SHAPE(3, 4), OX_F64);
                if (turned) t = ox_t(waves(OX_SHAPE(4, 3), OX_F64));
                CHECK(ox_to_doubles(t, &x[0][0], 12) == OX_OK);
                ox_tensor *q = ox_quantize_per_tensor(t, 0.03, 12, dtypes[k]),
                          *back = ox_dequantize(q, 0.03, 12);
                ox_tensor *scales = ox_from_data(s, OX_SHAPE(4), OX_F64),
                          *zeros = ox_from_data(z, OX_SHAPE(4), OX_I64);
                ox_tensor *c = ox_quantize_per_channel(t, scales, zeros, 1, dtypes[k]);
                ox_tensor *channels = ox_dequantize_per_channel(c, scales, zeros, -1);
                CHECK_MSG(q && back && c && channels && q->dtype == dtypes[k] && back->dtype == OX_F32, "%s",
                          ox_error_text());
                for (int i = 0; i < 12 && channels; i++) {
                    double one = quantized(x[i / 4][i % 4], 0.03, 12, ends[k][0], ends[k][1]);
                    double own =
                        quantized(x[i / 4][i % 4], s[i % 4], (double)z[i % 4], ends[k][0], ends[k][1]);
                    ox_tensor *cell = ox_select(ox_flatten(q, 0, -1), 0, i);
                    CHECK(ox_item(cell) == one && ox_item(ox_select(ox_flatten(c, 0, -1), 0, i)) == own);
                    CHECK(fabs(ox_item(ox_select(ox_flatten(back, 0, -1), 0, i)) - (one - 12) * 0.03) < 1e-6);
                    CHECK(fabs(ox_item(ox_select(ox_flatten(channels, 0, -1), 0, i)) -
                               (own - (double)z[i % 4]) * s[i % 4]) < 1e-5);
                }
            }
    OX_SCOPE {
        ox_tensor *far = ox_full(OX_SHAPE(2), 1e30, OX_F32), *x = ox_zeros(OX_SHAPE(2, 3), OX_F32);
        CHECK(ox_item(ox_amax(ox_quantize_per_tensor(far, 1, 0, OX_I32), OX_ALL_DIMS, false)) ==
              2147483647.0);
        refused(ox_quantize_per_tensor(x, 0, 0, OX_I8) != NULL, OX_ERR_ARG, "scale");
        refused(ox_quantize_per_tensor(x, NAN, 0, OX_I8) != NULL, OX_ERR_ARG, "scale");
        refused(ox_quantize_per_tensor(x, 1, 200, OX_I8) != NULL, OX_ERR_ARG, "zero point");
        refused(ox_quantize_per_tensor(x, 1, 0, OX_I16) != NULL, OX_ERR_DTYPE, "i16");
        refused(ox_quantize_per_tensor(ox_zeros(OX_SHAPE(2), OX_I64), 1, 0, OX_I8) != NULL, OX_ERR_DTYPE,
                "i64");
        refused(ox_quantize_per_channel(x, ox_ones(OX_SHAPE(2), OX_F32), ox_zeros(OX_SHAPE(2), OX_I64), 1,
                                        OX_I8) != NULL,
                OX_ERR_SHAPE, "scales");
        refused(ox_quantize_per_channel(x, ox_ones(OX_SHAPE(2), OX_F32), ox_zeros(OX_SHAPE(2), OX_I64), 2,
                                        OX_I8) != NULL,
                OX_ERR_DIM, "quantize_per_channel");
        refused(ox_dequantize(x, 1, 0) != NULL, OX_ERR_DTYPE, "dequantize");
        CHECK(ox_numel(ox_quantize_per_tensor(ox_zeros(OX_SHAPE(0), OX_F32), 1, 0, OX_I8)) == 0);
    }
}

static void test_fake_quantize(void) {
    static const ox_dtype dtypes[3] = {OX_F32, OX_F64, OX_F16};
    for (int k = 0; k < 3; k++)
        for (int channels = 0; channels < 2; channels++)
            OX_SCOPE {
                const double s[3] = {0.25, 0.125, 0.5};
                const int64_t z[3] = {1, 0, -2};
                double x[12];
                ox_tensor *leaf = ox_requires_grad_(waves(OX_SHAPE(3, 4), dtypes[k]), true), *t = ox_t(leaf);
                ox_tensor *scales = ox_from_data(s, OX_SHAPE(3), OX_F64),
                          *zeros = ox_from_data(z, OX_SHAPE(3), OX_I64);
                ox_tensor *y = channels ? ox_fake_quantize_per_channel_affine(t, scales, zeros, 1, -4, 3)
                                        : ox_fake_quantize_per_tensor_affine(t, 0.25, 1, -4, 3);
                CHECK_MSG(y && y->dtype == dtypes[k], "%s", ox_error_text());
                CHECK(ox_to_doubles(ox_contiguous(t), x, 12) == OX_OK);
                CHECK(ox_backward(ox_sum(ox_mul_number(y, 3), OX_ALL_DIMS, false), NULL) == OX_OK);
                for (int i = 0; i < 12 && y; i++) {
                    double scale = channels ? s[i % 3] : 0.25, zero = channels ? (double)z[i % 3] : 1;
                    double q = nearbyint(x[i] / scale) + zero, want = (fmin(fmax(q, -4), 3) - zero) * scale;
                    double got = ox_item(ox_select(ox_flatten(y, 0, -1), 0, i));
                    CHECK_MSG(got == want, "%g: %g, not %g", x[i], got, want);
                    double g = ox_item(ox_select(ox_flatten(ox_t(ox_gradient(leaf)), 0, -1), 0, i));
                    CHECK(g == (q < -4 || q > 3 ? 0 : 3));
                }
                refused(ox_fake_quantize_per_tensor_affine(t, 0.25, 4, -4, 3) != NULL, OX_ERR_ARG,
                        "zero point");
                refused(ox_fake_quantize_per_tensor_affine(t, 0.25, 0, 4, 3) != NULL, OX_ERR_ARG,
                        "from 4 to 3");
            }
}

/* ---- samples ------------------------------------------------------------------------------------------- */

static void test_samples(void) {
    OX_SCOPE {
        ox_manual_seed(3);
        ox_tensor *x = ox_requires_grad_(ox_zeros(OX_SHAPE(100, 300), OX_F32), true);
        CHECK(ox_trunc_normal_(ox_t(x), 1, 2, 0, 2) && ox_is_leaf(x));
        CHECK(ox_item(ox_amin(x, OX_ALL_DIMS, false)) >= 0 && ox_item(ox_amax(x, OX_ALL_DIMS, false)) <= 2);
        CHECK(fabs(ox_item(ox_mean(x, OX_ALL_DIMS, false)) - 1) < 0.02);
        /* a normal of deviation 2 within half a deviation: 0.5690 */
        CHECK(fabs(ox_item(ox_std(x, OX_ALL_DIMS, 1, false)) - 0.5690) < 0.01);
        refused(ox_trunc_normal_(x, 0, 0, -1, 1) != NULL, OX_ERR_ARG, "trunc_normal_");
        refused(ox_trunc_normal_(x, 0, 1, 1, 1) != NULL, OX_ERR_ARG, "trunc_normal_");
        const float odds[3] = {0.1f, 0.3f, 0.6f};
        ox_tensor *logits = ox_expand(ox_log(ox_from_data(odds, OX_SHAPE(3), OX_F32)), OX_SHAPE(20000, 3));
        ox_tensor *hard = ox_gumbel_softmax(logits, 0.7, true, -1), *often = ox_mean(hard, OX_DIMS(0), false);
        for (int i = 0; i < 3; i++) CHECK(fabs(ox_item(ox_select(often, 0, i)) - (double)odds[i]) < 0.015);
        CHECK(ox_item(ox_std(ox_sum(hard, OX_DIMS(1), false), OX_ALL_DIMS, 1, false)) < 1e-6);
        ox_tensor *l = ox_requires_grad_(ox_zeros(OX_SHAPE(4, 3), OX_F32), true);
        ox_tensor *soft = ox_gumbel_softmax(ox_t(l), 2, true, 0), *g = NULL,
                  *sum = ox_sum(ox_square(soft), OX_ALL_DIMS, false);
        CHECK(ox_grad(&sum, 1, &l, 1, NULL, &g) == OX_OK &&
              ox_item(ox_amax(ox_abs(g), OX_ALL_DIMS, false)) > 0);
        refused(ox_gumbel_softmax(l, 0, false, 0) != NULL, OX_ERR_ARG, "tau");
        refused(ox_gumbel_softmax(l, 1, false, 2) != NULL, OX_ERR_DIM, "gumbel_softmax");
        CHECK(ox_numel(ox_gumbel_softmax(ox_zeros(OX_SHAPE(0, 3), OX_F32), 1, true, 1)) == 0);
        ox_tensor *counts = ox_poisson(ox_full(OX_SHAPE(50, 400), 2.5, OX_F64));
        CHECK(counts && fabs(ox_item(ox_mean(counts, OX_ALL_DIMS, false)) - 2.5) < 0.05);
        refused(ox_poisson(ox_ones(OX_SHAPE(2), OX_I64)) != NULL, OX_ERR_DTYPE, "poisson");
        ox_error_clear();
    }
}

/* ---- LDL ----------------------------------------------------------------------------------------------- */

static void check_ldl(int64_t n, ox_dtype dtype, bool turned, bool definite) {
    double tolerance = dtype == OX_F64 ? 1e-10 : 2e-4;
    ox_tensor *a = waves(OX_SHAPE(2, n, n), OX_F64), *b = waves(OX_SHAPE(n, 3), dtype);
    a = ox_add_number(ox_add(a, ox_transpose(a, 1, 2)), 0.3);
    if (definite) a = ox_add(a, ox_mul_number(ox_eye(n, n, OX_F64), 2 * (double)n));
    a = ox_cast(a, dtype);
    if (turned) a = ox_transpose(ox_contiguous(a), 1, 2);
    ox_tuple f = ox_ldl_factor(a);
    CHECK_MSG(f.t[0] && f.t[1] && f.t[1]->dtype == OX_I32, "%s", ox_error_text());
    ox_tensor *x = ox_ldl_solve(f.t[0], f.t[1], b);
    CHECK_MSG(x && x->ndim == 3 && x->shape[0] == 2, "%s", ox_error_text());
    if (!x) return;
    double off = n ? ox_item(ox_amax(ox_abs(ox_sub(ox_matmul(a, x), b)), OX_ALL_DIMS, false)) : 0;
    double most = n ? ox_item(ox_amax(ox_abs(x), OX_ALL_DIMS, false)) : 0;
    CHECK_MSG(off <= tolerance * (1 + most), "LDL of %d: off by %g", (int)n, off);
    CHECK(ox_equal(f.t[0], ox_tril(f.t[0], 0)));
    if (definite && n) CHECK(ox_item_int(ox_amin(f.t[1], OX_ALL_DIMS, false)) >= 0);
    ox_tuple again = ox_ldl_factor_ex(a);
    CHECK(again.t[2] && ox_equal(again.t[0], f.t[0]) && !ox_item_int(ox_any(again.t[2], OX_ALL_DIMS, false)));
}

static void test_ldl(void) {
    for (int64_t n = 0; n < 24; n += n < 6 ? 1 : 5)
        for (int i = 0; i < 8; i++)
            OX_SCOPE
                check_ldl(n, i & 1 ? OX_F64 : OX_F32, i & 2, i & 4);
    OX_SCOPE {
        ox_tensor *zero = ox_zeros(OX_SHAPE(3, 3), OX_F64), *b = ox_ones(OX_SHAPE(3, 1), OX_F64);
        refused(ox_ldl_factor(zero).t[0] != NULL, OX_ERR_ARG, "row 1 of D is 0");
        CHECK(ox_item_int(ox_ldl_factor_ex(zero).t[2]) == 1);
        refused(ox_ldl_factor(ox_zeros(OX_SHAPE(2, 3), OX_F64)).t[0] != NULL, OX_ERR_SHAPE, "not square");
        refused(ox_ldl_factor(ox_zeros(OX_SHAPE(3, 3), OX_I64)).t[0] != NULL, OX_ERR_DTYPE, "ldl_factor");
        const int32_t bad[4][3] = {{1, 2, 4}, {0, 1, 2}, {1, 2, -3}, {-2, -3, 3}};
        for (int i = 0; i < 4; i++)
            refused(ox_ldl_solve(ox_eye(3, 3, OX_F64), ox_from_data(bad[i], OX_SHAPE(3), OX_I32), b) != NULL,
                    OX_ERR_INDEX, "pivots");
        refused(ox_ldl_solve(zero, ox_zeros(OX_SHAPE(2), OX_I32), b) != NULL, OX_ERR_SHAPE, "ldl_solve");
    }
}

/* ---- an index of nothing ------------------------------------------------------------------------------- */

static void test_nothing(void) {
    OX_SCOPE {
        ox_tensor *x = counted(OX_SHAPE(5), OX_F32), *none = ox_zeros(OX_SHAPE(2, 0), OX_I64);
        ox_tensor *got = ox_gather(x, 0, none);
        CHECK_MSG(got && got->ndim == 2 && got->shape[0] == 2 && got->shape[1] == 0, "%s", ox_error_text());
        ox_tensor *source = ox_ones(OX_SHAPE(2, 3), OX_F32), *same = ox_scatter(x, 0, none, source);
        CHECK(same && same != x && ox_equal(same, x) && ox_scatter_add_(x, 0, none, source) == x);
        CHECK(ox_equal(ox_scatter_reduce(x, 0, none, source, OX_REDUCTION_AMAX, true), x));
        ox_tensor *matrix = ox_t(counted(OX_SHAPE(3, 4), OX_F32));
        CHECK(ox_equal(ox_scatter(matrix, 1, ox_zeros(OX_SHAPE(9, 0), OX_I64), matrix), matrix));
        refused(ox_gather(x, 0, ox_zeros(OX_SHAPE(2, 1), OX_I64)) != NULL, OX_ERR_SHAPE, "gather");
        refused(ox_gather(x, 0, ox_zeros(OX_SHAPE(2, 0), OX_F32)) != NULL, OX_ERR_DTYPE, "gather");
    }
}

int main(void) {
    test_views();
    test_view_gradients();
    test_view_rules();
    test_resize();
    test_put();
    test_made();
    test_segments();
    test_hash();
    test_quantize();
    test_fake_quantize();
    test_samples();
    test_ldl();
    test_nothing();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    return check_done("tensors");
}
