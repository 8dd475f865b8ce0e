/* test_sparse.c - sparse tensors, bags of embeddings and histograms of several dims, against loops over the
 * dense numbers: layouts, empty ones, gradients, refusals. */
#include "oxtorch_nn.h"

#include "operands.h"

static bool same(ox_tensor *a, ox_tensor *b, double bound) {
    return a && b && a->dtype == b->dtype && ox_allclose(a, b, bound, bound, false);
}

/* x [5,7] of a layout with zeros where a pattern has them. */
static ox_tensor *holes(layout l, ox_dtype dtype) {
    static const int64_t shape[2] = {5, 7};
    ox_tensor *x = random_layout(l, DOMAIN_UNIT, 2, shape, dtype);
    ox_tensor *mask = ox_from_doubles((const double[]){1, 0, 0, 1, 0, 0, 0}, OX_SHAPE(7), OX_F64);
    ox_tensor *rows = ox_from_doubles((const double[]){1, 0, 1, 1, 1}, OX_SHAPE(5, 1), OX_F64);
    return ox_mul_(x, ox_cast(ox_mul(mask, rows), dtype));
}

static void test_layouts(void) {
    for (int l = 0; l < LAYOUT_EXPANDED_FIRST; l++)
        OX_SCOPE {
            static const int64_t wide[2] = {7, 3}, tall[2] = {5, 4}, deep[2] = {4, 7};
            ox_tensor *x = holes((layout)l, OX_F64),
                      *d = random_layout((layout)l, DOMAIN_UNIT, 2, wide, OX_F64);
            ox_sparse coo = ox_to_sparse(x, 0), csr = ox_to_sparse_csr(x), rows = ox_to_sparse(x, 1);
            CHECK_MSG(coo.values && csr.values && rows.values, "%s: %s", layout_name((layout)l),
                      ox_error_text());
            CHECK(ox_numel(coo.values) == 8 && coo.coalesced && rows.values->shape[0] == 4);
            CHECK(ox_item_int(ox_select(csr.pointers, 0, 2)) == 2);
            CHECK(same(ox_to_dense(&coo), x, 0) && same(ox_to_dense(&csr), x, 0));
            CHECK(same(ox_to_dense(&rows), x, 0));
            CHECK(same(ox_sparse_mm(&coo, d), ox_matmul(x, d), 1e-14));
            CHECK(same(ox_sparse_mm(&csr, d), ox_matmul(x, d), 1e-14));
            CHECK(same(ox_sparse_mm(&csr, ox_select(d, 1, 1)), ox_matmul(x, ox_select(d, 1, 1)), 1e-14));
            ox_tensor *c = random_layout((layout)l, DOMAIN_UNIT, 2, (const int64_t[]){5, 3}, OX_F64);
            CHECK(same(ox_sparse_addmm(c, &coo, d, 0.5, 2), ox_addmm(c, x, d, 0.5, 2), 1e-14));
            ox_sparse turned = ox_sparse_t(&csr), twice = ox_sparse_add(&coo, &csr);
            CHECK(same(ox_to_dense(&turned), ox_contiguous(ox_t(x)), 0));
            CHECK(same(ox_to_dense(&twice), ox_mul_number(x, 2), 0) && ox_numel(twice.values) == 8);
            ox_sparse third = ox_sparse_mul_number(&csr, -3);
            CHECK(same(ox_to_dense(&third), ox_mul_number(x, -3), 0));
            CHECK(same(ox_sparse_sum(&coo), ox_sum(x, OX_ALL_DIMS, false), 1e-14));
            ox_tensor *a = random_layout((layout)l, DOMAIN_UNIT, 2, tall, OX_F64),
                      *b = random_layout((layout)l, DOMAIN_UNIT, 2, deep, OX_F64);
            ox_sparse sampled = ox_sparse_sampled_addmm(&csr, a, b, 0.25, 2);
            ox_tensor *there = ox_cast(ox_ne_number(x, 0), OX_F64);
            ox_tensor *want = ox_add_scaled(ox_mul_number(x, 0.25), ox_mul(ox_matmul(a, b), there), 2);
            CHECK(same(ox_to_dense(&sampled), want, 1e-14));
            ox_tensor *seen = ox_where(ox_ne_number(x, 0), x, ox_number(-INFINITY));
            for (int dim = 0; dim < 2; dim++) {
                ox_sparse soft = ox_sparse_softmax(&coo, dim), logs = ox_sparse_log_softmax(&csr, dim);
                want = ox_nan_to_num(ox_softmax(seen, dim), 0, 0, 0);
                CHECK(same(ox_to_dense(&soft), want, 1e-14));
                CHECK(same(ox_exp(logs.values), soft.values, 1e-14));
            }
            ox_error_clear();
        }
}

/* Equal indices, an order that is none, dense dims, sizes that are found, nothing at all. */
static void test_coalesce(void) {
    OX_SCOPE {
        ox_tensor *indices = ox_from_ints((const int64_t[]){2, 0, 2, 1, 1, 3, 1, 0}, OX_SHAPE(2, 4), OX_I32);
        ox_tensor *values = ox_from_doubles((const double[]){1, 2, 3, 4, 5, 6, 7, 8}, OX_SHAPE(4, 2), OX_F32);
        ox_sparse s = ox_sparse_coo_tensor(indices, values, OX_SCALAR_SHAPE), c = ox_sparse_coalesce(&s);
        CHECK(s.shape.ndim == 3 && s.shape.dim[0] == 3 && s.shape.dim[1] == 4 && s.shape.dim[2] == 2);
        CHECK(!s.coalesced && c.coalesced && c.values->shape[0] == 3 && c.indices->dtype == OX_I64);
        static const int64_t places[] = {0, 1, 2, 3, 0, 1};
        static const double sums[] = {3, 4, 7, 8, 6, 8};
        for (int i = 0; i < 6; i++) {
            CHECK(ox_item_int(ox_select(ox_flatten(c.indices, 0, -1), 0, i)) == places[i]);
            CHECK(ox_item(ox_select(ox_flatten(c.values, 0, -1), 0, i)) == sums[i]);
        }
        CHECK(same(ox_to_dense(&s), ox_to_dense(&c), 0));
        ox_sparse none = ox_to_sparse(ox_zeros(OX_SHAPE(3, 2), OX_F32), 0), csr = ox_sparse_to_csr(&none);
        CHECK(ox_numel(none.values) == 0 && same(ox_to_dense(&none), ox_zeros(OX_SHAPE(3, 2), OX_F32), 0));
        CHECK(csr.pointers && csr.pointers->shape[0] == 4 && ox_item_int(ox_select(csr.pointers, 0, 3)) == 0);
        CHECK(same(ox_sparse_mm(&csr, ox_ones(OX_SHAPE(2, 2), OX_F32)), ox_zeros(OX_SHAPE(3, 2), OX_F32), 0));
        ox_sparse empty = ox_sparse_coalesce(&none);
        CHECK(empty.values && ox_numel(empty.values) == 0);
    }
}

static ox_tensor *product_of(ox_tensor *const *in, void *user) {
    (void)user;
    ox_tensor *indices = ox_from_ints((const int64_t[]){2, 0, 2, 1, 3, 1}, OX_SHAPE(2, 3), OX_I64);
    ox_sparse s = ox_sparse_coo_tensor(indices, in[0], OX_SHAPE(3, 4)), c = ox_sparse_coalesce(&s);
    ox_sparse soft = ox_sparse_softmax(&c, 1);
    return ox_add(ox_sparse_mm(&soft, in[1]), ox_sparse_mm(&s, ox_square(in[1])));
}
static ox_tensor *bags_of(ox_tensor *const *in, void *user) {
    (void)user;
    ox_tensor *ids = ox_from_ints((const int64_t[]){1, 0, 3, 3, 2}, OX_SHAPE(5), OX_I64);
    ox_tensor *offsets = ox_from_ints((const int64_t[]){0, 2, 2}, OX_SHAPE(3), OX_I64);
    return ox_embedding_bag(ids, in[0], offsets, "sum", in[1], false, 2);
}

static void test_gradients(void) {
    OX_SCOPE {
        ox_tensor *in[2] = {ox_randn(OX_SHAPE(3), OX_F64), ox_randn(OX_SHAPE(4, 2), OX_F64)};
        for (int i = 0; i < 2; i++) (void)ox_requires_grad_(in[i], true);
        CHECK_MSG(ox_gradcheck(product_of, NULL, in, 2, NULL) == OX_OK, "%s", ox_error_text());
        CHECK_MSG(ox_gradgradcheck(product_of, NULL, in, 2, NULL) == OX_OK, "%s", ox_error_text());
        ox_tensor *of_dense = ox_requires_grad_(ox_eye(3, 3, OX_F64), true);
        ox_sparse s = ox_to_sparse(of_dense, 0);
        CHECK(ox_backward(ox_sparse_sum(&s), NULL) == OX_OK);
        CHECK(same(ox_gradient(of_dense), ox_eye(3, 3, OX_F64), 0));
        ox_tensor *bags[2] = {ox_randn(OX_SHAPE(4, 2), OX_F64), ox_randn(OX_SHAPE(5), OX_F64)};
        for (int i = 0; i < 2; i++) (void)ox_requires_grad_(bags[i], true);
        CHECK_MSG(ox_gradcheck(bags_of, NULL, bags, 2, NULL) == OX_OK, "%s", ox_error_text());
    }
}

/* Each bag by a loop. */
static void test_bags(void) {
    static const int64_t numbers[] = {1, 0, 3, 3, 2, 1, 2}, begins[] = {0, 2, 2, 5};
    static const char *const modes[] = {"mean", "sum", "max"};
    for (int l = 0; l < LAYOUT_EXPANDED_FIRST; l++)
        for (int m = 0; m < 3; m++)
            for (int64_t padding = -1; padding < 4; padding += 2)
                OX_SCOPE {
                    ox_tensor *table =
                        random_layout((layout)l, DOMAIN_UNIT, 2, (const int64_t[]){4, 3}, OX_F64);
                    ox_tensor *ids = ox_from_ints(numbers, OX_SHAPE(7), m ? OX_I32 : OX_I64);
                    ox_tensor *offsets = ox_from_ints(begins, OX_SHAPE(4), OX_I64);
                    ox_tensor *got = ox_embedding_bag(ids, table, offsets, modes[m], NULL, false, padding);
                    CHECK_MSG(got && got->shape[0] == 4 && got->shape[1] == 3, "%s", ox_error_text());
                    for (int b = 0; b < 4 && got; b++)
                        for (int c = 0; c < 3; c++) {
                            double sum = 0, most = -INFINITY, count = 0;
                            for (int64_t i = begins[b]; i < (b < 3 ? begins[b + 1] : 7); i++) {
                                if (numbers[i] == padding) continue;
                                double x = ox_item(ox_select(ox_select(table, 0, numbers[i]), 0, c));
                                sum += x;
                                most = x > most ? x : most;
                                count++;
                            }
                            double want = m == 0      ? sum / (count > 0 ? count : 1)
                                          : m == 1    ? sum
                                          : count > 0 ? most
                                                      : 0;
                            CHECK(fabs(ox_item(ox_select(ox_select(got, 0, b), 0, c)) - want) < 1e-14);
                        }
                    ox_tensor *rows = ox_reshape(ox_narrow(ids, 0, 0, 6), OX_SHAPE(2, 3));
                    ox_tensor *ends = ox_from_ints((const int64_t[]){0, 3, 6}, OX_SHAPE(3), OX_I64);
                    CHECK(same(ox_embedding_bag(rows, table, NULL, modes[m], NULL, false, padding),
                               ox_embedding_bag(ids, table, ends, modes[m], NULL, true, padding), 0));
                }
}

static void test_histogram(void) {
    OX_SCOPE {
        ox_tensor *x =
            ox_from_doubles((const double[]){0, 0, 1, 2, 0.5, 1.5, 3, 0, 1, -1}, OX_SHAPE(5, 2), OX_F64);
        ox_tensor *edges[2] = {ox_from_doubles((const double[]){0, 0.5, 1}, OX_SHAPE(3), OX_F64),
                               ox_from_doubles((const double[]){0, 1, 2}, OX_SHAPE(3), OX_F64)};
        ox_tensor *weights = ox_from_doubles((const double[]){1, 2, 3, 4, 5}, OX_SHAPE(5), OX_F64);
        static const double plain[] = {1, 0, 0, 2}, weighed[] = {1, 0, 0, 5};
        ox_tensor *a = ox_histogramdd(x, edges, 2, NULL, false),
                  *b = ox_histogramdd(x, edges, 2, weights, false);
        ox_tensor *c = ox_histogramdd(x, edges, 2, weights, true);
        for (int i = 0; i < 4; i++) {
            CHECK(a && ox_item(ox_select(ox_flatten(a, 0, -1), 0, i)) == plain[i]);
            CHECK(b && ox_item(ox_select(ox_flatten(b, 0, -1), 0, i)) == weighed[i]);
            CHECK(c && fabs(ox_item(ox_select(ox_flatten(c, 0, -1), 0, i)) - weighed[i] / 6 / 0.5) < 1e-15);
        }
        CHECK(!ox_histogramdd(x, edges, 1, NULL, false) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

static void test_refused(void) {
    OX_SCOPE {
        ox_tensor *i = ox_from_ints((const int64_t[]){0, 5, 1, 1}, OX_SHAPE(2, 2), OX_I64);
        ox_tensor *v = ox_ones(OX_SHAPE(2), OX_F32), *d = ox_ones(OX_SHAPE(4, 2), OX_F32);
        CHECK(!ox_sparse_coo_tensor(i, v, OX_SHAPE(3, 4)).values && ox_error() == OX_ERR_INDEX);
        ox_error_clear();
        CHECK(!ox_sparse_coo_tensor(i, d, OX_SHAPE(6, 4)).values && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_sparse_coo_tensor(ox_cast(i, OX_F32), v, OX_SHAPE(6, 4)).values &&
              ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        ox_tensor *p = ox_from_ints((const int64_t[]){0, 2, 1}, OX_SHAPE(3), OX_I64);
        CHECK(!ox_sparse_csr_tensor(p, ox_select(i, 0, 1), v, OX_SHAPE(2, 4)).values &&
              ox_error() == OX_ERR_INDEX);
        ox_error_clear();
        ox_sparse none = ox_sparse_coo_tensor(NULL, v, OX_SHAPE(2));
        CHECK(!none.values && !ox_to_dense(&none) && ox_error() != OX_OK);
        ox_error_clear();
        ox_sparse s = ox_sparse_coo_tensor(i, v, OX_SHAPE(6, 4));
        CHECK(!ox_sparse_mm(&s, ox_ones(OX_SHAPE(3, 2), OX_F32)) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_sparse_mm(&s, ox_ones(OX_SHAPE(4, 2), OX_F64)) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        ox_tensor *ids = ox_from_ints((const int64_t[]){0, 9}, OX_SHAPE(2), OX_I64);
        ox_tensor *zero = ox_zeros(OX_SHAPE(1), OX_I64);
        CHECK(!ox_embedding_bag(ids, d, zero, "sum", NULL, false, -1) && ox_error() == OX_ERR_INDEX);
        ox_error_clear();
        CHECK(!ox_embedding_bag(ids, d, p, "sum", NULL, false, -1) && ox_error() == OX_ERR_INDEX);
        ox_error_clear();
        CHECK(!ox_embedding_bag(ids, d, zero, "max", v, false, -1) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

int main(void) {
    test_layouts();
    test_coalesce();
    test_gradients();
    test_bags();
    test_histogram();
    test_refused();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("sparse");
}
