/* test_views.c - views: where each element of a view lies, on bases of every layout; refusals; lists of
 * views. Every element of a base carries its own row-major number, so a view is checked by the numbers it
 * shows.
 * OX_VULKAN OX_TIERS OX_QEMU */
#include "backwards.h"
#include "operands.h"

/* A tensor whose elements count 0, 1, 2 ... row by row, laid out in any way that does not share memory. */
static ox_tensor *counted(layout l, int ndim, const int64_t *shape, ox_dtype dtype) {
    ox_tensor *base, *t = new_layout(l, ndim, shape, dtype, &base);
    for (int64_t i = 0; t && i < ox_numel(t); i++) store_real(dtype, element(t, i), (double)i);
    return t;
}

static int64_t number_at(const ox_tensor *t, int64_t at) {
    return (int64_t)load_real(t->dtype, element(t, at));
}

/* The row-major number of the base element that view element `index` must show. */
typedef int64_t (*source_of)(const int64_t *index);

static void check_view(const char *what, layout l, const ox_tensor *base, const ox_tensor *view, int ndim,
                       const int64_t *shape, source_of source) {
    CHECK_MSG(view != NULL, "%s of a %s base: %s", what, layout_name(l), ox_error_text());
    ox_error_clear();
    if (!view) return;
    bool same = view->ndim == ndim && view->dtype == base->dtype;
    for (int d = 0; same && d < ndim; d++) same = view->shape[d] == shape[d];
    CHECK_MSG(same, "%s of a %s base: wrong shape", what, layout_name(l));
    CHECK_MSG(view->storage == base->storage, "%s of a %s base: copied", what, layout_name(l));
    for (int64_t i = 0; same && i < ox_numel(view); i++) {
        int64_t index[OX_MAX_DIMS], rest = i;
        for (int d = ndim - 1; d >= 0; d--) {
            index[d] = rest % shape[d];
            rest /= shape[d];
        }
        CHECK_MSG(number_at(view, i) == source(index), "%s of a %s base: element %lld shows %lld", what,
                  layout_name(l), (long long)i, (long long)number_at(view, i));
    }
    /* A kernel sees the same elements as plain loops do. */
    ox_tensor *copy = ox_clone((ox_tensor *)(uintptr_t)view);
    CHECK_MSG(copy && same_bits(copy, view), "%s of a %s base: clone differs: %s", what, layout_name(l),
              ox_error_text());
    ox_error_clear();
}

/* ---- a base [4,5,6] ---------------------------------------------------------------------------------- */

#define AT(i, j, k) (((i)*5 + (j)) * 6 + (k))
#define SOURCE(name, formula)                        \
    static int64_t source_##name(const int64_t *v) { \
        (void)v;                                     \
        return (formula);                            \
    }
SOURCE(same, AT(v[0], v[1], v[2]))
SOURCE(transpose, AT(v[2], v[1], v[0]))
SOURCE(permute, AT(v[1], v[2], v[0]))
SOURCE(movedim, AT(v[2], v[0], v[1]))
SOURCE(narrow, AT(v[0], v[1] + 2, v[2]))
SOURCE(step, AT(v[0], v[1], 1 + 2 * v[2]))
SOURCE(back, AT(v[0], 4 - 2 * v[1], v[2]))
SOURCE(back_part, AT(v[0], v[1], 4 - v[2]))
SOURCE(select, AT(v[0], 3, v[1]))
SOURCE(third, AT(v[0], 2, v[2]))
SOURCE(select_first, AT(2, v[0], v[1]))
SOURCE(flip, AT(3 - v[0], v[1], 5 - v[2]))
SOURCE(diagonal, AT(v[0], v[1], v[1]))
SOURCE(diagonal_above, AT(v[0], v[1], v[1] + 2))
SOURCE(diagonal_below, AT(v[0], v[1] + 3, v[1]))
SOURCE(diagonal_outer, AT(v[1] + 1, v[0], v[1]))
SOURCE(unsqueeze, AT(v[0], v[2], v[3]))
SOURCE(unfold, AT(v[0], v[1] * 2 + v[3], v[2]))
SOURCE(unflatten, AT(v[0], v[1], v[2] * 3 + v[3]))
SOURCE(last_unsqueezed, AT(v[0], v[1], v[2]))
SOURCE(expand, AT(v[1], v[2], v[3]))
#undef AT

static void check_plain_views(layout l) {
    const int64_t base_shape[3] = {4, 5, 6};
    ox_tensor *x = counted(l, 3, base_shape, OX_I16);
#define VIEW(call, source, n, ...)                                   \
    do {                                                             \
        const int64_t expected[] = {__VA_ARGS__};                    \
        check_view(#call, l, x, call, n, expected, source_##source); \
    } while (0)
    VIEW(ox_transpose(x, 0, 2), transpose, 3, 6, 5, 4);
    VIEW(ox_transpose(x, -1, 0), transpose, 3, 6, 5, 4);
    VIEW(ox_transpose(x, 1, 1), same, 3, 4, 5, 6);
    VIEW(ox_permute(x, OX_DIMS(2, 0, 1)), permute, 3, 6, 4, 5);
    VIEW(ox_permute(x, OX_DIMS(-1, 0, -2)), permute, 3, 6, 4, 5);
    VIEW(ox_movedim(x, 0, 2), movedim, 3, 5, 6, 4);
    VIEW(ox_movedim(x, -3, -1), movedim, 3, 5, 6, 4);
    VIEW(ox_movedim(x, 2, 0), permute, 3, 6, 4, 5);
    VIEW(ox_narrow(x, 1, 2, 3), narrow, 3, 4, 3, 6);
    VIEW(ox_narrow(x, -2, -3, 3), narrow, 3, 4, 3, 6);
    VIEW(ox_narrow(x, 1, 5, 0), narrow, 3, 4, 0, 6);
    VIEW(ox_slice(x, 2, 1, OX_END, 2), step, 3, 4, 5, 3);
    VIEW(ox_slice(x, 2, -5, 100, 2), step, 3, 4, 5, 3);
    VIEW(ox_slice(x, 1, 0, OX_END, 1), same, 3, 4, 5, 6);
    VIEW(ox_slice(x, 1, -100, 100, 1), same, 3, 4, 5, 6);
    VIEW(ox_slice(x, 1, 3, 3, 1), same, 3, 4, 0, 6);
    VIEW(ox_slice(x, 1, 4, 2, 1), same, 3, 4, 0, 6);
    VIEW(ox_slice(x, 1, OX_END, OX_END, -2), back, 3, 4, 3, 6);
    VIEW(ox_slice(x, 1, -1, -100, -2), back, 3, 4, 3, 6);
    VIEW(ox_slice(x, 1, 2, OX_END, -100), third, 3, 4, 1, 6);
    VIEW(ox_slice(x, 2, 4, 0, -1), back_part, 3, 4, 5, 4);
    VIEW(ox_slice(x, 2, 0, 4, -1), same, 3, 4, 5, 0);
    VIEW(ox_select(x, 1, 3), select, 2, 4, 6);
    VIEW(ox_select(x, -2, -2), select, 2, 4, 6);
    VIEW(ox_select(x, 0, 2), select_first, 2, 5, 6);
    VIEW(backwards(x, OX_DIMS(0, -1)), flip, 3, 4, 5, 6);
    VIEW(backwards(backwards(x, OX_DIMS(1)), OX_DIMS(1)), same, 3, 4, 5, 6);
    VIEW(backwards(x, OX_SCALAR_SHAPE), same, 3, 4, 5, 6);
    VIEW(ox_diagonal(x, 0, 1, 2), diagonal, 2, 4, 5);
    VIEW(ox_diagonal(x, 2, 1, 2), diagonal_above, 2, 4, 4);
    VIEW(ox_diagonal(x, -3, -2, -1), diagonal_below, 2, 4, 2);
    VIEW(ox_diagonal(x, -1, 0, 2), diagonal_outer, 2, 5, 3);
    VIEW(ox_diagonal(x, 1, 2, 0), diagonal_outer, 2, 5, 3);
    VIEW(ox_diagonal(x, 6, 1, 2), diagonal, 2, 4, 0);
    VIEW(ox_diagonal(x, -1000, 1, 2), diagonal, 2, 4, 0);
    VIEW(ox_unsqueeze(x, 1), unsqueeze, 4, 4, 1, 5, 6);
    VIEW(ox_unsqueeze(x, -3), unsqueeze, 4, 4, 1, 5, 6);
    VIEW(ox_unsqueeze(x, -1), last_unsqueezed, 4, 4, 5, 6, 1);
    VIEW(ox_squeeze(ox_unsqueeze(x, 2), 2), same, 3, 4, 5, 6);
    VIEW(ox_squeeze(x, 1), same, 3, 4, 5, 6);
    VIEW(ox_squeeze_all(ox_unsqueeze(ox_unsqueeze(x, 0), -1)), same, 3, 4, 5, 6);
    VIEW(ox_unfold(x, 1, 3, 2), unfold, 4, 4, 2, 6, 3);
    VIEW(ox_unfold(x, 1, 0, 2), unfold, 4, 4, 3, 6, 0);
    VIEW(ox_unflatten(x, 2, OX_SHAPE(2, 3)), unflatten, 4, 4, 5, 2, 3);
    VIEW(ox_unflatten(x, -1, OX_SHAPE(2, -1)), unflatten, 4, 4, 5, 2, 3);
    VIEW(ox_expand(x, OX_SHAPE(7, 4, 5, 6)), expand, 4, 7, 4, 5, 6);
    VIEW(ox_expand(x, OX_SHAPE(7, -1, 5, -1)), expand, 4, 7, 4, 5, 6);
    VIEW(ox_expand_as(ox_unsqueeze(x, 0), ox_expand(x, OX_SHAPE(7, 4, 5, 6))), expand, 4, 7, 4, 5, 6);
    VIEW(ox_view(x, OX_SHAPE(4, 5, -1)), same, 3, 4, 5, 6);
    VIEW(ox_view(x, OX_SHAPE(4, 1, 5, 6)), unsqueeze, 4, 4, 1, 5, 6);
    VIEW(ox_view(x, OX_SHAPE(4, 5, 2, 3)), unflatten, 4, 4, 5, 2, 3);
    CHECK(ox_error() == OX_OK);
}

/* ---- reshape against plain counting: the elements in row-major order stay ---------------------------- */

static void check_reshape(layout l) {
    const int64_t base_shape[3] = {4, 5, 6};
    static const ox_shape none = {0, {0, 0, 0, 0, 0, 0, 0, 0}};
    ox_shape wanted[8] = {none, none, none, none, none, none, none, none};
    wanted[0] = OX_SHAPE(120);
    wanted[1] = OX_SHAPE(20, 6);
    wanted[2] = OX_SHAPE(4, 30);
    wanted[3] = OX_SHAPE(2, 2, 5, 6, 1);
    wanted[4] = OX_SHAPE(-1, 8);
    wanted[5] = OX_SHAPE(6, 5, 4);
    wanted[6] = OX_SHAPE(1, 120, 1);
    wanted[7] = OX_SHAPE(2, 3, 4, 5);
    ox_tensor *x = counted(l, 3, base_shape, OX_F32);
    for (int i = 0; i < 8; i++) {
        ox_tensor *r = ox_reshape(x, wanted[i]);
        CHECK_MSG(r && ox_numel(r) == 120 && r->ndim == wanted[i].ndim, "reshape %d of a %s base: %s", i,
                  layout_name(l), ox_error_text());
        bool same = r != NULL;
        for (int64_t e = 0; same && e < 120; e++) same = number_at(r, e) == e;
        CHECK_MSG(same, "reshape %d of a %s base", i, layout_name(l));
        ox_tensor *v = ox_view(x, wanted[i]); /* a view, or refused; never a copy */
        CHECK_MSG(v ? v->storage == x->storage : ox_error() == OX_ERR_SHAPE && r->storage != x->storage,
                  "view %d of a %s base", i, layout_name(l));
        ox_error_clear();
        for (int64_t e = 0; v && e < 120; e++)
            if (number_at(v, e) != e) {
                CHECK_MSG(false, "view %d of a %s base", i, layout_name(l));
                break;
            }
    }
    for (int first = 0; first < 3; first++)
        for (int last = first; last < 3; last++) {
            ox_tensor *f = ox_flatten(x, first, last - 3);
            bool same = f && f->ndim == 3 - (last - first);
            for (int64_t e = 0; same && e < 120; e++) same = number_at(f, e) == e;
            CHECK_MSG(same, "flatten %d to %d of a %s base", first, last, layout_name(l));
        }
    ox_error_clear();
}

/* ---- views of views at random: the library's strides against element numbers kept by hand ------------ */

typedef struct picture { /* a tensor as its shape and the numbers it must show */
    int ndim;
    int64_t shape[OX_MAX_DIMS];
    int64_t count, number[4096];
} picture;

static picture picture_of(const ox_tensor *t) {
    static picture p;
    p.ndim = t->ndim;
    p.count = ox_numel(t);
    for (int d = 0; d < t->ndim; d++) p.shape[d] = t->shape[d];
    for (int64_t i = 0; i < p.count; i++) p.number[i] = number_at(t, i);
    return p;
}

/* One step on a picture by plain loops: dim d becomes start, start + step, ... (length of them). */
static void slice_picture(picture *p, int dim, int64_t start, int64_t length, int64_t step) {
    static picture from;
    from = *p;
    int64_t inner = 1, outer = 1;
    for (int d = dim + 1; d < p->ndim; d++) inner *= p->shape[d];
    for (int d = 0; d < dim; d++) outer *= p->shape[d];
    p->shape[dim] = length;
    p->count = outer * length * inner;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < length; i++)
            for (int64_t n = 0; n < inner; n++)
                p->number[(o * length + i) * inner + n] =
                    from.number[(o * from.shape[dim] + start + i * step) * inner + n];
}

static void transpose_picture(picture *p, int a, int b) {
    static picture from;
    from = *p;
    p->shape[a] = from.shape[b];
    p->shape[b] = from.shape[a];
    for (int64_t i = 0; i < p->count; i++) {
        int64_t index[OX_MAX_DIMS], rest = i, at = 0;
        for (int d = p->ndim - 1; d >= 0; d--) {
            index[d] = rest % p->shape[d];
            rest /= p->shape[d];
        }
        int64_t swap = index[a];
        index[a] = index[b];
        index[b] = swap;
        for (int d = 0; d < p->ndim; d++) at = at * from.shape[d] + index[d];
        p->number[i] = from.number[at];
    }
}

static void check_random_views(void) {
    for (int round = 0; round < 300; round++)
        OX_SCOPE {
            static picture p;
            const int64_t base_shape[4] = {3, 4, 5, 6};
            ox_tensor *x = counted((layout)(round % 3), 4, base_shape, OX_I32);
            p = picture_of(x);
            for (int step = 0; step < 6 && x; step++) {
                int dim = (int)(test_random() % 4), other = (int)(test_random() % 4);
                int64_t size = x->shape[dim];
                switch (test_random() % 5) {
                case 0:
                    x = ox_transpose(x, dim, other);
                    transpose_picture(&p, dim, other);
                    break;
                case 1: {
                    int64_t start = (int64_t)(test_random() % (uint64_t)(size + 1)),
                            by = 1 + (int64_t)(test_random() % 3);
                    x = ox_slice(x, dim, start, OX_END, by);
                    slice_picture(&p, dim, start, (size - start + by - 1) / by, by);
                    break;
                }
                case 2:
                    x = backwards(x, OX_DIMS(dim));
                    slice_picture(&p, dim, size - 1, size, -1);
                    break;
                case 3: {
                    int64_t by = 1 + (int64_t)(test_random() % 3);
                    x = ox_slice(x, dim, OX_END, OX_END, -by);
                    slice_picture(&p, dim, size - 1, (size + by - 1) / by, -by);
                    break;
                }
                default: { /* [.., s, ..] -> [.., 1, s, ..] -> back: strides of size-1 dims must not matter */
                    x = ox_squeeze(ox_unsqueeze(x, dim), dim);
                    break;
                }
                }
            }
            bool same = x && x->ndim == p.ndim && ox_numel(x) == p.count;
            for (int d = 0; same && d < p.ndim; d++) same = x->shape[d] == p.shape[d];
            for (int64_t i = 0; same && i < p.count; i++) same = number_at(x, i) == p.number[i];
            CHECK_MSG(same, "round %d: %s", round, ox_error_text());
            ox_tensor *flat = x ? ox_reshape(x, OX_SHAPE(-1)) : NULL;
            if (p.count == 0) {
                ox_error_clear();
                continue;
            }
            same = flat && ox_numel(flat) == p.count;
            for (int64_t i = 0; same && i < p.count; i++) same = number_at(flat, i) == p.number[i];
            CHECK_MSG(same, "round %d, flattened: %s", round, ox_error_text());
        }
}

/* ---- lists ------------------------------------------------------------------------------------------- */

static void check_lists(layout l) {
    const int64_t base_shape[2] = {7, 6};
    ox_tensor *x = counted(l, 2, base_shape, OX_I32), *out[8];
    CHECK(ox_split(x, 3, 0, out, 8) == 3);
    CHECK(out[0]->shape[0] == 3 && out[2]->shape[0] == 1 && number_at(out[1], 0) == 18 &&
          number_at(out[2], 5) == 41);
    CHECK(ox_split(x, 7, 0, out, 8) == 1 && out[0]->shape[0] == 7);
    CHECK(ox_split(x, 100, -1, out, 8) == 1 && out[0]->shape[1] == 6);
    CHECK(ox_split(x, 4, -1, out, 1) == 2 && out[0]->shape[1] == 4); /* room for one: the count says two */
    CHECK(ox_split(x, 1, 0, NULL, 0) == 7);
    const int64_t sizes[3] = {2, 0, 5}, more[2] = {2, 4}, minus[3] = {3, -1, 5}, far[2] = {INT64_MAX, 1};
    CHECK(ox_split_with_sizes(x, sizes, 3, 0, out, 8) == 3 && out[0]->shape[0] == 2 &&
          out[1]->shape[0] == 0 && same_bits(out[2], ox_narrow(x, 0, 2, 5)) && out[2]->storage == x->storage);
    CHECK(ox_split_with_sizes(backwards(x, OX_DIMS(0, 1)), more, 2, -1, out, 8) == 2 &&
          same_bits(out[1], ox_narrow(backwards(x, OX_DIMS(0, 1)), 1, 2, 4)));
    CHECK(ox_split_with_sizes(x, sizes, 3, 0, NULL, 0) == 3 &&
          ox_split_with_sizes(x, sizes, 3, 0, out, 1) == 3);
    CHECK(ox_chunk(x, 3, 0, out, 8) == 3 && out[0]->shape[0] == 3 && out[2]->shape[0] == 1);
    CHECK(ox_chunk(x, 4, 1, out, 8) == 3 && out[0]->shape[1] == 2); /* torch: chunks of ceil(6/4) */
    CHECK(ox_chunk(x, 100, 0, out, 8) == 7);
    CHECK(ox_unbind(x, 0, out, 8) == 7 && out[0]->ndim == 1 && number_at(out[6], 5) == 41);
    CHECK(ox_unbind(x, -1, out, 8) == 6 && out[5]->shape[0] == 7 && number_at(out[5], 1) == 11);
    ox_tensor *empty = ox_narrow(x, 0, 0, 0);
    CHECK(ox_split(empty, 3, 0, out, 8) == 1 && out[0]->shape[0] == 0);
    CHECK(ox_split(empty, 0, 0, out, 8) == 1);
    CHECK(ox_unbind(empty, 0, out, 8) == 0);
    CHECK(ox_error() == OX_OK);
#define REFUSES(expression, status)                               \
    do {                                                          \
        CHECK(expression);                                        \
        CHECK_MSG(ox_error() == (status), "%s", ox_error_text()); \
        ox_error_clear();                                         \
    } while (0)
    REFUSES(ox_split(x, 0, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_split(x, -1, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_split(x, 1, 2, out, 8) == -1, OX_ERR_DIM);
    REFUSES(ox_split_with_sizes(x, more, 2, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_split_with_sizes(x, minus, 3, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_split_with_sizes(x, far, 2, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_split_with_sizes(x, sizes, 0, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_split_with_sizes(x, NULL, 3, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_split_with_sizes(x, sizes, 3, 2, out, 8) == -1, OX_ERR_DIM);
    REFUSES(ox_chunk(x, 0, 0, out, 8) == -1, OX_ERR_ARG);
    REFUSES(ox_unbind(x, 5, out, 8) == -1, OX_ERR_DIM);
    REFUSES(ox_unbind(ox_zeros(OX_SCALAR_SHAPE, OX_F32), 0, out, 8) == -1, OX_ERR_DIM);
    REFUSES(ox_split(NULL, 1, 0, out, 8) == -1, OX_ERR_ARG);
}

/* ---- what is refused --------------------------------------------------------------------------------- */

static void check_refusals(void) {
    ox_tensor *x = ox_zeros(OX_SHAPE(4, 5, 6), OX_F32), *zero = ox_zeros(OX_SCALAR_SHAPE, OX_F32);
    REFUSES(!ox_t(x), OX_ERR_DIM);
    REFUSES(!ox_transpose(x, 0, 3), OX_ERR_DIM);
    REFUSES(!ox_transpose(x, -4, 0), OX_ERR_DIM);
    REFUSES(!ox_permute(x, OX_DIMS(0, 1)), OX_ERR_DIM);
    REFUSES(!ox_permute(x, OX_DIMS(0, 1, 1)), OX_ERR_DIM);
    REFUSES(!ox_permute(x, OX_DIMS(0, 1, 3)), OX_ERR_DIM);
    REFUSES(!ox_permute(x, OX_DIMS(0, 1, INT64_C(1) << 32)), OX_ERR_DIM);
    REFUSES(!ox_movedim(x, 3, 0), OX_ERR_DIM);
    REFUSES(!ox_view(x, OX_SHAPE(4, 5)), OX_ERR_SHAPE);
    REFUSES(!ox_view(x, OX_SHAPE(-1, -1)), OX_ERR_SHAPE);
    REFUSES(!ox_view(x, OX_SHAPE(-2, 60)), OX_ERR_SHAPE);
    REFUSES(!ox_view(x, OX_SHAPE(-1, 7)), OX_ERR_SHAPE);
    REFUSES(!ox_view(x, OX_SHAPE(0, -1)), OX_ERR_SHAPE);
    REFUSES(!ox_view(x, OX_SHAPE(INT64_C(1) << 62, 8)), OX_ERR_SHAPE);
    REFUSES(!ox_reshape(x, OX_SHAPE(11, 11)), OX_ERR_SHAPE);
    REFUSES(!ox_view(x, OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1, 120)), OX_ERR_SHAPE); /* nine dims */
    REFUSES(!ox_view(ox_transpose(x, 0, 2), OX_SHAPE(120)), OX_ERR_SHAPE);
    REFUSES(!ox_flatten(x, 2, 1), OX_ERR_DIM);
    REFUSES(!ox_flatten(x, 0, 3), OX_ERR_DIM);
    CHECK(!ox_unflatten(x, 1, OX_SHAPE(2, 3)));
    CHECK_MSG(strcmp(ox_error_text(), "unflatten: dim 1 of f32[4,5,6] into [2,3]: 5 elements are not 6") == 0,
              "%s", ox_error_text());
    REFUSES(!ox_unflatten(x, 1, OX_SHAPE(2, 3)), OX_ERR_SHAPE);
    REFUSES(!ox_unflatten(x, 3, OX_SHAPE(2, 3)), OX_ERR_DIM);
    REFUSES(!ox_unflatten(x, 1, OX_SHAPE(5, 1, 1, 1, 1, 1, 1)), OX_ERR_SHAPE);
    REFUSES(!ox_narrow(x, 0, 3, 2), OX_ERR_INDEX);
    REFUSES(!ox_narrow(x, 0, -5, 1), OX_ERR_INDEX);
    REFUSES(!ox_narrow(x, 0, 0, -1), OX_ERR_INDEX);
    REFUSES(!ox_narrow(x, 0, INT64_MAX, INT64_MAX), OX_ERR_INDEX);
    REFUSES(!ox_narrow(x, 0, 1, INT64_MAX), OX_ERR_INDEX);
    REFUSES(!ox_narrow(zero, 0, 0, 1), OX_ERR_DIM);
    REFUSES(!ox_slice(x, 0, 0, 1, 0), OX_ERR_ARG);
    REFUSES(!ox_slice(x, 0, 0, 1, INT64_MIN), OX_ERR_ARG);
    REFUSES(!ox_slice(x, 3, 0, 1, 1), OX_ERR_DIM);
    REFUSES(!ox_select(x, 1, 5), OX_ERR_INDEX);
    REFUSES(!ox_select(x, 1, -6), OX_ERR_INDEX);
    REFUSES(!ox_select(x, 1, INT64_MIN), OX_ERR_INDEX);
    REFUSES(!ox_select(x, 3, 0), OX_ERR_DIM);
    REFUSES(!ox_select(zero, 0, 0), OX_ERR_DIM);
    REFUSES(!ox_expand(x, OX_SHAPE(5, 6)), OX_ERR_SHAPE);
    REFUSES(!ox_expand(x, OX_SHAPE(4, 5, 7)), OX_ERR_SHAPE);
    REFUSES(!ox_expand(x, OX_SHAPE(-1, 4, 5, 6)), OX_ERR_SHAPE);
    REFUSES(!ox_expand(zero, OX_SHAPE(INT64_C(1) << 40, INT64_C(1) << 40)), OX_ERR_SHAPE);
    REFUSES(!ox_flip(x, OX_DIMS(0, -3)), OX_ERR_DIM);
    REFUSES(!ox_flip(x, OX_DIMS(3)), OX_ERR_DIM);
    REFUSES(!ox_diagonal(x, 0, 1, 1), OX_ERR_DIM);
    REFUSES(!ox_diagonal(x, 0, 1, -2), OX_ERR_DIM);
    REFUSES(!ox_diagonal(x, 0, 1, 3), OX_ERR_DIM);
    REFUSES(!ox_diagonal(x, INT64_MIN, 0, 1), OX_ERR_ARG);
    REFUSES(!ox_as_strided(x, OX_SHAPE(11, 11), OX_SHAPE(11, 1), 0), OX_ERR_SHAPE);
    REFUSES(!ox_as_strided(x, OX_SHAPE(120), OX_SHAPE(1), 1), OX_ERR_SHAPE);
    REFUSES(!ox_as_strided(x, OX_SHAPE(2), OX_SHAPE(-1), 0), OX_ERR_SHAPE);
    REFUSES(!ox_as_strided(x, OX_SHAPE(2), OX_SHAPE(1), -1), OX_ERR_SHAPE);
    REFUSES(!ox_as_strided(x, OX_SHAPE(2, 2), OX_SHAPE(1), 0), OX_ERR_SHAPE);
    REFUSES(!ox_as_strided(x, OX_SHAPE(3), OX_SHAPE(INT64_MAX), 0), OX_ERR_SHAPE);
    REFUSES(!ox_as_strided(x, OX_SHAPE(-1), OX_SHAPE(1), 0), OX_ERR_SHAPE);
    REFUSES(!ox_squeeze(x, 3), OX_ERR_DIM);
    REFUSES(!ox_unsqueeze(x, 4), OX_ERR_DIM);
    REFUSES(!ox_unsqueeze(x, -5), OX_ERR_DIM);
    REFUSES(!ox_unsqueeze(ox_zeros(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), OX_F32), 0), OX_ERR_SHAPE);
    REFUSES(!ox_unfold(x, 1, 6, 1), OX_ERR_ARG);
    REFUSES(!ox_unfold(x, 1, 2, 0), OX_ERR_ARG);
    REFUSES(!ox_unfold(x, 1, -1, 1), OX_ERR_ARG);
    REFUSES(!ox_unfold(x, 3, 1, 1), OX_ERR_DIM);
    REFUSES(!ox_unfold(ox_zeros(OX_SHAPE(1, 1, 1, 1, 1, 1, 1, 2), OX_F32), 7, 1, 1), OX_ERR_SHAPE);
    REFUSES(!ox_view_as_real(x), OX_ERR_DTYPE);
    REFUSES(!ox_view_as_complex(x), OX_ERR_SHAPE);
    REFUSES(!ox_view_as_complex(ox_zeros(OX_SHAPE(2), OX_F64)), OX_ERR_SHAPE);
    REFUSES(!ox_view_as_complex(ox_zeros(OX_SHAPE(2), OX_C64)), OX_ERR_DTYPE);
    REFUSES(!ox_view_as_complex(ox_narrow(ox_zeros(OX_SHAPE(4), OX_F32), 0, 1, 2)), OX_ERR_SHAPE);
    REFUSES(!ox_view_dtype(x, OX_F64), OX_ERR_DTYPE);
    REFUSES(!ox_view_dtype(x, OX_F16), OX_ERR_DTYPE);
    REFUSES(!ox_view_dtype(x, OX_Q4_0), OX_ERR_DTYPE);
    REFUSES(!ox_view_dtype(x, OX_DTYPE_NONE), OX_ERR_DTYPE);
}

/* ---- 0-dim, complex, other dtypes, block types, writing through views -------------------------------- */

/* ---- numbers at the end of 64 bits ------------------------------------------------------------------- */

static int64_t extreme_number(void) {
    static const int64_t numbers[] = {0,
                                      1,
                                      2,
                                      3,
                                      -1,
                                      -2,
                                      INT64_MAX,
                                      INT64_MIN,
                                      INT64_MAX / 2,
                                      INT64_MIN / 2,
                                      INT64_C(1) << 40,
                                      -(INT64_C(1) << 40)};
    return numbers[test_random() % (sizeof numbers / sizeof *numbers)];
}

/* A view of x with such numbers, or NULL. */
static ox_tensor *extreme_view(ox_tensor *x) {
    int a = (int)(test_random() % 8), b = (int)(test_random() % 8);
    int64_t n = extreme_number(), m = extreme_number(), k = extreme_number();
    int dim = x->ndim ? a % x->ndim : 0, other = x->ndim ? b % x->ndim : 0;
    switch (test_random() % 18) {
    case 0: return ox_slice(x, dim, n, m, k);
    case 1: return ox_unfold(x, dim, n, m);
    case 2: return ox_view(x, OX_SHAPE(n, m));
    case 3: return ox_as_strided(x, OX_SHAPE(1, n), OX_DIMS(m, k), 0);
    case 4: return ox_as_strided(x, OX_SHAPE(n, 1, 2), OX_DIMS(m, k, n), m);
    case 5: return backwards(x, OX_DIMS(dim));
    case 6: return ox_diagonal(x, n, dim, other);
    case 7: return ox_transpose(x, dim, other);
    case 8: return ox_flatten(x, dim, -1);
    case 9: return ox_unflatten(x, dim, OX_SHAPE(n, m));
    case 10: return ox_narrow(x, dim, n, m);
    case 11: return ox_select(x, dim, n);
    case 12: return ox_expand(x, OX_SHAPE(n, m));
    case 13: return ox_unsqueeze(x, dim);
    case 14: return ox_view_as_real(ox_view_dtype(x, OX_C64));
    case 15: return ox_view(x, OX_SHAPE(0, n, m));
    case 16: return ox_reshape(x, OX_SHAPE(n, 1, m));
    default: return ox_slice(x, dim, 0, 1, n);
    }
}

/* Functions that read or write all of y, whose results are no larger than tests may be. */
static void use_extreme(ox_tensor *y) {
    ox_shape ends = OX_SHAPE(extreme_number(), extreme_number()), dims = OX_DIMS(0, 1);
    bool wide = false;
    for (int d = 0; d < y->ndim; d++) wide = wide || y->shape[d] > 64;
    CHECK(ox_numel(y) >= 0 && (ox_numel(y) > 0 || ox_is_contiguous(y)));
    ox_tensor *copy = ox_clone(y);
    CHECK_MSG(copy && same_bits(copy, plain_copy(y)), "%s", ox_error_text());
    (void)ox_exp(y);
    if (!wide) (void)ox_sum(y, OX_DIMS(0), false);
    if (!wide && ends.dim[0] != INT64_C(1) << 40 && ends.dim[1] != INT64_C(1) << 40) (void)ox_repeat(y, ends);
    (void)ox_softmax(y, -1);
    (void)ox_cumsum(y, 0);
    (void)ox_sort(y, -1, false);
    (void)ox_roll(y, ends, dims);
    (void)ox_triu(y, ends.dim[0]);
    if (!wide) (void)ox_index_select(y, 0, ox_zeros(OX_SHAPE(1), OX_I64));
    (void)ox_zero_(y);
    (void)ox_exp_(y);
}

/* Steps, sizes, strides and offsets that products of 64 bits do not hold: refused, or of no effect where no
 * element moves by them. What overflows is seen by `make asan`, what reads elsewhere by anybody. */
static void check_extreme_numbers(void) {
    const int64_t huge = INT64_C(1) << 62, wide = INT64_C(1) << 40;
    ox_tensor *x = ox_ones(OX_SHAPE(4, 8), OX_F32), *none = ox_zeros(OX_SHAPE(0), OX_F32),
              *few = ox_ones(OX_SHAPE(4), OX_F32), *view;
    view = ox_slice(x, 0, 0, OX_END, INT64_MAX);
    CHECK(view && view->shape[0] == 1 && ox_item(ox_sum(view, OX_ALL_DIMS, false)) == 8);
    view = ox_unfold(x, 0, 2, INT64_MAX);
    CHECK(view && view->shape[0] == 1 && ox_item(ox_sum(view, OX_ALL_DIMS, false)) == 16);
    REFUSES(!ox_view(none, OX_SHAPE(0, huge, 8)), OX_ERR_SHAPE);
    REFUSES(!ox_reshape(none, OX_SHAPE(wide, 0, wide)), OX_ERR_SHAPE);
    view = backwards(ox_as_strided(few, OX_SHAPE(1), OX_DIMS(INT64_MIN), 0), OX_DIMS(0));
    CHECK(view && ox_item(view) == 1);
    view = ox_diagonal(ox_as_strided(few, OX_SHAPE(1, 1), OX_DIMS(INT64_MAX, INT64_MAX), 0), 0, 0, 1);
    CHECK(view && ox_item(view) == 1);
    view = ox_view_as_real(ox_as_strided(ox_zeros(OX_SHAPE(4), OX_C64), OX_SHAPE(1), OX_DIMS(INT64_MAX), 0));
    CHECK(view && ox_numel(view) == 2);
    view = backwards(ox_transpose(ox_as_strided(few, OX_SHAPE(3, 0), OX_DIMS(-1, -1), 0), 0, 1), OX_DIMS(1));
    CHECK(view && view->offset == 0 && ox_exp_(view));
    CHECK(ox_triu(ox_as_strided(few, OX_SHAPE(2, 0), OX_DIMS(1, INT64_MAX), 0), 0));
    float one = 1;
    view = ox_from_blob(&one, OX_SHAPE(1, 1), OX_DIMS(INT64_MAX, INT64_MIN).dim, OX_F32, NULL, NULL);
    CHECK(view && ox_item(ox_exp(ox_diagonal(backwards(view, OX_DIMS(0, 1)), 0, 0, 1))) > 2.7);
    CHECK(ox_error() == OX_OK);
    for (int turn = 0; turn < 3000; turn++)
        OX_SCOPE {
            ox_tensor *start = turn % 3 ? ox_ones(OX_SHAPE(4, 8), OX_F32)
                                        : ox_zeros(OX_SHAPE(0, 1, 2), turn % 2 ? OX_F32 : OX_C64);
            for (int step = 0; step < 4; step++) {
                ox_tensor *next = extreme_view(start);
                if (next && ox_numel(next) <= 64) start = next;
                ox_error_clear();
            }
            use_extreme(start);
            ox_error_clear();
        }
}

static void check_zero_dim(void) {
    ox_tensor *zero = ox_full(OX_SCALAR_SHAPE, 7, OX_I32);
    CHECK(ox_t(zero)->ndim == 0 && ox_item(ox_t(zero)) == 7);
    CHECK(ox_view(zero, OX_SHAPE(1, 1))->ndim == 2 && ox_item(ox_view(zero, OX_SHAPE(1, 1))) == 7);
    CHECK(ox_view(zero, OX_SHAPE(-1))->ndim == 1);
    CHECK(ox_view(ox_view(zero, OX_SHAPE(1, 1)), OX_SCALAR_SHAPE)->ndim == 0);
    CHECK(ox_flatten(zero, 0, -1)->ndim == 1);
    CHECK(ox_squeeze(zero, 0)->ndim == 0 && ox_squeeze(zero, -1)->ndim == 0);
    CHECK(ox_unsqueeze(zero, 0)->ndim == 1 && ox_unsqueeze(zero, -1)->ndim == 1);
    CHECK(ox_permute(zero, OX_SCALAR_SHAPE)->ndim == 0);
    CHECK(ox_expand(zero, OX_SHAPE(2, 3))->shape[1] == 3 &&
          ox_item(ox_select(ox_select(ox_expand(zero, OX_SHAPE(2, 3)), 0, 1), 0, 2)) == 7);
    CHECK(ox_unfold(zero, 0, 1, 1)->ndim == 1);
    CHECK(ox_transpose(zero, 0, -1)->ndim == 0);
    ox_tensor *line = ox_arange(0, 5, 1, OX_I32);
    CHECK(ox_t(line)->ndim == 1 && ox_select(line, 0, -1)->ndim == 0 &&
          ox_item_int(ox_select(line, 0, -1)) == 4);
    CHECK(ox_squeeze(ox_narrow(line, 0, 2, 1), 0)->ndim == 0);
    ox_tensor *none = ox_zeros(OX_SHAPE(3, 0, 4), OX_F32);
    CHECK(ox_view(none, OX_SHAPE(0))->ndim == 1 && ox_view(none, OX_SHAPE(5, 0))->shape[0] == 5 &&
          ox_transpose(none, 0, 1)->shape[0] == 0);
    CHECK(backwards(none, OX_DIMS(0, 1, 2))->shape[1] == 0 &&
          ox_reshape(ox_transpose(none, 0, 2), OX_SHAPE(0, 9))->shape[1] == 9);
    CHECK(ox_expand(ox_zeros(OX_SHAPE(1, 3), OX_F32), OX_SHAPE(0, 3))->shape[0] == 0);
    CHECK(ox_unflatten(none, 1, OX_SHAPE(0, 7))->shape[2] == 7);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

static void check_complex_and_bits(void) {
    const float pairs[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    ox_tensor *real = ox_from_floats(pairs, OX_SHAPE(3, 2, 2), OX_F32), *c = ox_view_as_complex(real);
    CHECK(c && c->dtype == OX_C64 && c->ndim == 2 && c->shape[0] == 3 && c->storage == real->storage);
    ox_tensor *turned = ox_view_as_real(ox_t(c));
    CHECK(turned && turned->ndim == 3 && turned->shape[0] == 2 && turned->shape[1] == 3 &&
          turned->shape[2] == 2);
    for (int i = 0; turned && i < 12; i++)
        CHECK(load_real(OX_F32, element(turned, i)) == (double)pairs[i % 6 / 2 * 4 + i / 6 * 2 + i % 2]);
    ox_tensor *second = ox_view_as_complex(ox_narrow(real, 0, 1, 2));
    CHECK(second && load_real(OX_C64, element(second, 0)) == 4 &&
          load_imaginary(OX_C64, element(second, 3)) == 11);
    ox_tensor *bits = ox_view_dtype(ox_t(ox_select(real, 2, 0)), OX_I32);
    CHECK(bits && bits->dtype == OX_I32 && load_int(OX_I32, element(bits, 1)) == 0x40800000); /* 4.0f */
    CHECK(ox_view_dtype(c, OX_F64) != NULL &&
          ox_view_dtype(ox_zeros(OX_SHAPE(3), OX_BOOL), OX_F8_E4M3) != NULL);
    CHECK(ox_view_dtype(ox_zeros(OX_SHAPE(3), OX_U16), OX_BF16)->dtype == OX_BF16);
    const int64_t shape[2] = {6, 7};
    ox_tensor *x = counted(LAYOUT_PLAIN, 2, shape, OX_I32),
              *s = ox_as_strided(x, OX_SHAPE(3, 2, 2), OX_SHAPE(7, 0, -2), 9);
    for (int i = 0; s && i < 12; i++) CHECK(number_at(s, i) == 9 + i / 4 * 7 - i % 2 * 2);
    CHECK(ox_as_strided(x, OX_SHAPE(0, 5), OX_SHAPE(1000, 1000), 0) != NULL);
    CHECK(ox_as_strided(x, OX_SHAPE(42), OX_SHAPE(1), 0) != NULL &&
          ox_as_strided(x, OX_SCALAR_SHAPE, OX_SCALAR_SHAPE, 41) != NULL);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

/* A copy of its own, of any view: what a view backwards reads. */
static void check_flip_of(ox_tensor *x, ox_shape dims) {
    ox_tensor *flipped = ox_flip(x, dims), *view = backwards(x, dims);
    CHECK(flipped && view && same_bits(flipped, ox_contiguous(view)));
    CHECK(flipped && ox_is_contiguous(flipped) && flipped->storage != x->storage &&
          flipped->dtype == x->dtype);
}
static void check_flip(void) {
    OX_SCOPE {
        ox_tensor *x = ox_reshape(ox_arange(0, 60, 1, OX_I32), OX_SHAPE(3, 4, 5)), *copy, *rows;
        ox_tensor *q = ox_cast(ox_reshape(ox_linspace(-4, 4, 4 * 32, OX_F32), OX_SHAPE(4, 32)), OX_Q8_0);
        check_flip_of(x, OX_DIMS(0));
        check_flip_of(x, OX_DIMS(-1, 0));
        check_flip_of(x, OX_DIMS(0, 1, 2));
        check_flip_of(x, OX_SCALAR_SHAPE);
        check_flip_of(ox_transpose(x, 0, 2), OX_DIMS(1, 2));
        check_flip_of(ox_slice(x, 2, 0, OX_END, 2), OX_DIMS(2));
        check_flip_of(backwards(x, OX_DIMS(2)), OX_DIMS(2));
        check_flip_of(ox_expand(ox_narrow(x, 1, 2, 1), OX_SHAPE(3, 6, 5)), OX_DIMS(1, 2));
        check_flip_of(ox_narrow(x, 1, 4, 0), OX_DIMS(0, 1));
        copy = ox_flip(x, OX_DIMS(0, 1, 2));
        CHECK(ox_fill_(x, 7) && ox_item(ox_select(ox_flatten(copy, 0, -1), 0, 0)) == 59);
        CHECK(ox_item(ox_flip(ox_full(OX_SCALAR_SHAPE, 3, OX_F32), OX_DIMS(0))) == 3);
        rows = ox_flip(q, OX_DIMS(0));
        CHECK(rows && rows->dtype == OX_Q8_0 &&
              same_bits(ox_cast(rows, OX_F32), ox_flip(ox_cast(q, OX_F32), OX_DIMS(0))));
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

static void check_blocks(void) {
    ox_tensor *q = ox_empty(OX_SHAPE(2, 3, 64), OX_Q4_0);
    CHECK(q && ox_nbytes(q) == 2 * 3 * 2 * 18);
    for (size_t i = 0; q && i < ox_nbytes(q); i++)
        ((unsigned char *)ox_data(q))[i] = (unsigned char)(i * 7 + 1);
    const unsigned char *bytes = (const unsigned char *)ox_data(q);
    CHECK(ox_data(ox_select(q, 0, 1)) == (void *)(bytes + 108));
    CHECK(ox_data(ox_narrow(q, 1, 2, 1)) == (void *)(bytes + 72));
    CHECK(ox_data(ox_narrow(q, 2, 32, 32)) == (void *)(bytes + 18));
    CHECK(ox_transpose(q, 0, 1) && ox_transpose(q, 1, 2) && backwards(q, OX_DIMS(0)) &&
          ox_view(q, OX_SHAPE(6, 64)) && ox_expand(ox_narrow(q, 0, 0, 1), OX_SHAPE(5, 3, 64)));
    CHECK(ox_view(q, OX_SHAPE(12, 32)) && ox_select(q, 1, 2) && ox_unsqueeze(q, 0));
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
    ox_tensor *turned = ox_transpose(q, 1, 2), *columns = ox_t(ox_empty(OX_SHAPE(32, 64), OX_Q4_0));
    CHECK(ox_data(ox_narrow(turned, 1, 32, 32)) == (void *)(bytes + 18));
    CHECK(ox_data(backwards(turned, OX_DIMS(2))) == (void *)(bytes + 72) && ox_movedim(q, 2, 0));
    CHECK(ox_unflatten(q, 2, OX_SHAPE(2, 32)) && ox_flatten(q, 1, 2) && ox_slice(q, 1, OX_END, OX_END, -2));
    REFUSES(!ox_flip(turned, OX_DIMS(1)), OX_ERR_DTYPE);
    REFUSES(!ox_select(turned, 1, 0), OX_ERR_DTYPE);
    REFUSES(!ox_narrow(turned, 1, 1, 32), OX_ERR_DTYPE);
    CHECK(ox_view(columns, OX_SHAPE(2, 32, 32)) != NULL);
    REFUSES(!ox_view(columns, OX_SHAPE(4, 16, 32)), OX_ERR_DTYPE);
    REFUSES(!ox_select(q, 2, 0), OX_ERR_DTYPE);
    REFUSES(!ox_narrow(q, 2, 16, 32), OX_ERR_DTYPE);
    REFUSES(!ox_narrow(q, 2, 0, 16), OX_ERR_DTYPE);
    REFUSES(!ox_slice(q, 2, 0, OX_END, 2), OX_ERR_DTYPE);
    REFUSES(!ox_flip(q, OX_DIMS(2)), OX_ERR_DTYPE);
    REFUSES(!ox_view(q, OX_SHAPE(24, 16)), OX_ERR_DTYPE);
    REFUSES(!ox_unfold(q, 0, 1, 1), OX_ERR_DTYPE);
    REFUSES(!ox_diagonal(q, 0, 0, 1), OX_ERR_DTYPE);
    REFUSES(!ox_as_strided(q, OX_SHAPE(32), OX_SHAPE(1), 0), OX_ERR_DTYPE);
    REFUSES(!ox_view_dtype(q, OX_Q8_0), OX_ERR_DTYPE);
}

/* A write through any view lands in the base and nowhere else. */
static void check_writes(void) {
    const int64_t shape[2] = {5, 6};
    for (int way = 0; way < 6; way++)
        OX_SCOPE {
            ox_tensor *x = counted(LAYOUT_PLAIN, 2, shape, OX_F32);
            ox_tensor *v = way == 0   ? ox_t(x)
                           : way == 1 ? ox_slice(x, 1, 1, OX_END, 2)
                           : way == 2 ? ox_diagonal(x, 1, 0, 1)
                           : way == 3 ? ox_select(x, 0, 2)
                           : way == 4 ? backwards(ox_narrow(x, 0, 1, 3), OX_DIMS(1))
                                      : ox_as_strided(x, OX_SHAPE(4), OX_SHAPE(7), 2);
            static bool inside[30];
            memset(inside, 0, sizeof inside);
            for (int64_t i = 0; i < ox_numel(v); i++) inside[number_at(v, i)] = true;
            CHECK_MSG(ox_fill_(v, 100) == v, "%s", ox_error_text());
            for (int64_t i = 0; i < 30; i++)
                CHECK_MSG(number_at(x, i) == (inside[i] ? 100 : i), "way %d element %lld", way, (long long)i);
        }
}

int main(void) {
    for (int l = 0; l < LAYOUT_COUNT; l++) {
        if (l == LAYOUT_EXPANDED_FIRST || l == LAYOUT_EXPANDED_LAST) continue;
        OX_SCOPE {
            check_plain_views((layout)l);
        }
        OX_SCOPE {
            check_reshape((layout)l);
        }
        OX_SCOPE {
            check_lists((layout)l);
        }
    }
    check_random_views();
    OX_SCOPE {
        check_refusals();
    }
    OX_SCOPE {
        check_extreme_numbers();
    }
    OX_SCOPE {
        check_zero_dim();
    }
    OX_SCOPE {
        check_complex_and_bits();
    }
    OX_SCOPE {
        check_flip();
    check_blocks();
    }
    check_writes();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("views");
}
