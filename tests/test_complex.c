/* test_complex.c - complex numbers: products, einsum, parts, angles, closeness, texts. Elementwise ops are in
 * test_ops.c, reductions and scans in test_reduce.c. References are plain loops in double.
 * OX_VULKAN OX_TIERS OX_QEMU */
#include "operands.h"
#include "oxtorch_nn.h"

/* ---- products ------------------------------------------------------------------------------------------ */

typedef struct pair {
    double re, im;
} pair;

static pair pair_at(const ox_tensor *t, int64_t at) {
    pair z;
    z.re = load_real(t->dtype, element(t, at));
    z.im = load_imaginary(t->dtype, element(t, at));
    return z;
}

/* *sum += a b, and to *size what it may err by. */
static void add_product(pair *sum, double *size, pair a, pair b) {
    sum->re += a.re * b.re - a.im * b.im;
    sum->im += a.re * b.im + a.im * b.re;
    *size += hypot(a.re, a.im) * hypot(b.re, b.im);
}

/* f32 sums of k terms that are together as large as `size`. */
static bool pair_is_close(const ox_tensor *t, int64_t at, pair want, double size, int64_t k) {
    pair got = pair_at(t, at);
    return hypot(got.re - want.re, got.im - want.im) <= 4e-7 * sqrt((double)k + 1) * size + 1e-30;
}

/* y [count][m][n] = a [count][m][k] b [count][k][n]; operands of one matrix repeat. */
static void check_product(const char *what, ox_tensor *y, ox_tensor *a, ox_tensor *b, int64_t count,
                          int64_t m, int64_t n, int64_t k) {
    bool right = y && y->dtype == OX_C64 && ox_numel(y) == count * m * n;
    int64_t a_step = ox_numel(a) == m * k ? 0 : m * k, b_step = ox_numel(b) == k * n ? 0 : k * n;
    for (int64_t at = 0; right && at < count * m * n; at++) {
        int64_t batch = at / (m * n), row = at / n % m, column = at % n;
        pair sum = {0, 0};
        double size = 0;
        for (int64_t i = 0; i < k; i++)
            add_product(&sum, &size, pair_at(a, batch * a_step + row * k + i),
                        pair_at(b, batch * b_step + i * n + column));
        right = pair_is_close(y, at, sum, size, k);
    }
    CHECK_MSG(right, "%s [%lld,%lld] x [%lld,%lld]: %s", what, (long long)m, (long long)k, (long long)k,
              (long long)n, ox_error_text());
    ox_error_clear();
}

static ox_tensor *complex_matrix(int l, int64_t rows, int64_t columns) {
    const int64_t shape[2] = {rows, columns};
    return random_layout((layout)l, DOMAIN_MODEST, 2, shape, OX_C64);
}

static void test_matmul(void) {
    static const int64_t sizes[][3] = {{1, 1, 1},  {1, 7, 5}, {6, 1, 9}, {3, 5, 300}, {17, 33, 65},
                                       {5, 70, 3}, {4, 3, 0}, {0, 3, 2}, {3, 0, 2},   {1, 40, 33}};
    for (int s = 0; s < 10; s++)
        for (int a = 0; a < LAYOUT_COUNT; a++)
            for (int b = 0; b < LAYOUT_COUNT; b++)
                OX_SCOPE {
                    int64_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
                    ox_tensor *x = complex_matrix(a, m, k), *y = complex_matrix(b, k, n);
                    check_product("matmul", ox_matmul(x, y), x, y, 1, m, n, k);
                }
    OX_SCOPE {
        ox_tensor *x = complex_matrix(LAYOUT_TRANSPOSED, 90, 80),
                  *y = complex_matrix(LAYOUT_FLIPPED, 80, 100);
        check_product("packed", ox_matmul(x, y), x, y, 1, 90, 100, 80);
    }
}

static void test_batches(void) {
    const int64_t shape[4] = {2, 3, 4, 5};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 4, shape, OX_C64),
                      *y = complex_matrix((l + 3) % LAYOUT_COUNT, 5, 6), *v = ox_select(ox_t(y), 0, 2);
            check_product("batch", ox_matmul(x, y), x, y, 6, 4, 6, 5);
            check_product("vector", ox_matmul(x, v), x, v, 6, 4, 1, 5);
            ox_tensor *turned = ox_transpose(x, -1, -2);
            check_product("squares", ox_matmul(x, turned), x, turned, 6, 4, 4, 5);
        }
}

/* beta c + alpha a b. */
static void check_sum(const char *what, ox_tensor *y, ox_tensor *c, ox_tensor *product, double beta,
                      double alpha) {
    bool right = y && y->dtype == OX_C64 && product && ox_numel(y) == ox_numel(product);
    for (int64_t i = 0; right && i < ox_numel(y); i++) {
        pair p = pair_at(product, i), z = pair_at(c, i), want;
        want.re = beta * z.re + alpha * p.re;
        want.im = beta * z.im + alpha * p.im;
        right = pair_is_close(y, i, want, 60, 9);
    }
    CHECK_MSG(right, "%s: %s", what, ox_error_text());
    ox_error_clear();
}

static void test_sums(void) {
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *x = complex_matrix(l, 7, 9), *w = complex_matrix((l + 5) % LAYOUT_COUNT, 11, 9),
                      *c = complex_matrix((l + 2) % LAYOUT_COUNT, 7, 11), *bias = ox_select(c, 0, 3),
                      *product = ox_matmul(x, ox_t(w)), *rows = ox_expand(bias, OX_SHAPE(7, 11));
            check_sum("linear", ox_linear(x, w, NULL), product, product, 0, 1);
            check_sum("linear with bias", ox_linear(x, w, bias), rows, product, 1, 1);
            check_sum("addmm", ox_addmm(c, x, ox_t(w), 0.5, -2), c, product, 0.5, -2);
            check_sum("addmm of a row", ox_addmm(bias, x, ox_t(w), 3, 1), rows, product, 3, 1);
            ox_tensor *target = ox_t(ox_clone(ox_t(c)));
            check_sum("addmm_", ox_addmm_(target, x, ox_t(w), 2, 0.25), c, product, 2, 0.25);
            CHECK(!ox_linear_act(x, w, NULL, OX_ACTIVATION_RELU) && ox_error() == OX_ERR_DTYPE);
            ox_error_clear();
            CHECK(!ox_matmul(x, ox_real(ox_t(w))) && ox_error() == OX_ERR_DTYPE);
            ox_error_clear();
        }
}

static void test_vectors(void) {
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            const int64_t length[1] = {37};
            ox_tensor *a = random_layout((layout)l, DOMAIN_MODEST, 1, length, OX_C64),
                      *b = random_layout((layout)((l + 1) % LAYOUT_COUNT), DOMAIN_MODEST, 1, length, OX_C64),
                      *list[2];
            list[0] = a;
            list[1] = b;
            check_product("dot", ox_dot(a, b), a, b, 1, 1, 1, 37);
            check_product("outer", ox_outer(a, b), a, b, 1, 37, 37, 1);
            check_product("einsum dot", ox_einsum("i,i->", list, 2), a, b, 1, 1, 1, 37);
            check_product("einsum outer", ox_einsum("i,j->ij", list, 2), a, b, 1, 37, 37, 1);
            ox_tensor *m = complex_matrix(l, 6, 37), *n = complex_matrix((l + 4) % LAYOUT_COUNT, 8, 37);
            list[0] = m;
            list[1] = n;
            check_product("einsum", ox_einsum("ik,jk->ij", list, 2), m, ox_t(n), 1, 6, 8, 37);
        }
}

/* ---- parts --------------------------------------------------------------------------------------------- */

static void test_parts(void) {
    const int64_t shape[3] = {3, 4, 5};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *z = random_layout((layout)l, DOMAIN_MODEST, 3, shape, OX_C64), *re = ox_real(z),
                      *im = ox_imag(z), *other = ox_conj(z), *angle = ox_angle(z);
            bool right = re && im && other && angle && re->storage == z->storage && re->dtype == OX_F32 &&
                         angle->dtype == OX_F32 && other->storage != z->storage;
            for (int64_t i = 0; right && i < 60; i++) {
                pair p = pair_at(z, i), q = pair_at(other, i);
                right = load_real(OX_F32, element(re, i)) == p.re &&
                        load_real(OX_F32, element(im, i)) == p.im && q.re == p.re && q.im == -p.im &&
                        is_close(OX_F32, load_real(OX_F32, element(angle, i)), atan2(p.im, p.re), 2);
            }
            CHECK_MSG(right, "%s: %s", layout_name((layout)l), ox_error_text());
            ox_error_clear();
        }
    OX_SCOPE {
        static const double numbers[] = {3, -3, 0.0, -0.0, (double)INFINITY, -(double)INFINITY, (double)NAN},
                            angles[] = {0, 3.14159265358979, 0, 0, 0, 3.14159265358979, (double)NAN};
        ox_tensor *x = ox_from_doubles(numbers, OX_SHAPE(7), OX_F64), *angle = ox_angle(x);
        CHECK(angle && angle->dtype == OX_F64 &&
              ox_allclose(angle, ox_from_doubles(angles, OX_SHAPE(7), OX_F64), 1e-12, 0, true));
        ox_tensor *whole = ox_angle(ox_arange(-1, 2, 1, OX_I32));
        CHECK(whole && whole->dtype == OX_F32 && ox_item(ox_select(whole, 0, 1)) == 0);
        CHECK(!ox_real(x) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(ox_equal(ox_conj(x), x) == false && ox_equal(ox_conj(whole), whole));
    }
}

/* ---- closeness, texts ---------------------------------------------------------------------------------- */

static bool close_pairs(float a, float b, float c, float d, double rtol, double atol, bool equal_nan) {
    float x[2], y[2];
    x[0] = a;
    x[1] = b;
    y[0] = c;
    y[1] = d;
    bool close = false;
    OX_SCOPE {
        close = ox_allclose(ox_from_data(x, OX_SHAPE(1), OX_C64), ox_from_data(y, OX_SHAPE(1), OX_C64), rtol,
                            atol, equal_nan);
    }
    return close;
}

/* As torch.allclose of complex64 says. */
static void test_closeness(void) {
    CHECK(close_pairs(1, 2, 1, 2, 0, 0, false) && !close_pairs(1, 2, 1, -2, 0.5, 0, false));
    CHECK(!close_pairs(0, 1, 0, 2, 1e-5, 1e-8, false) && close_pairs(3, 4, 3, 4.9f, 0.25, 0, false));
    CHECK(!close_pairs(3, 4, 3, 4.9f, 0.1, 0, false) && close_pairs(3, 4, 3, 4.9f, 0, 1, false));
    CHECK(!close_pairs(NAN, 1, NAN, 1, 1, 1, false) && close_pairs(NAN, 1, NAN, 1, 0, 0, true));
    CHECK(close_pairs(NAN, 1, 2, NAN, 0, 0, true) && !close_pairs(NAN, 1, 2, 3, 1, 1, true));
    CHECK(close_pairs(INFINITY, 1, INFINITY, 1, 0, 0, false) &&
          !close_pairs(INFINITY, 1, INFINITY, 2, 1, 1, false));
    OX_SCOPE {
        ox_tensor *real = ox_ones(OX_SHAPE(2), OX_F32), *z = ox_ones(OX_SHAPE(2), OX_C64);
        CHECK(ox_allclose(real, z, 0, 0, false) && ox_allclose(z, real, 0, 0, false));
        (void)ox_fill_(ox_imag(z), 1);
        CHECK(!ox_allclose(real, z, 0, 0.5, false) && !ox_allclose(z, real, 0.5, 0, false));
    }
}

/* ---- a complex number and a real one ------------------------------------------------------------------- */

static pair sum_of(pair a, pair b) {
    pair r = {a.re + b.re, a.im + b.im};
    return r;
}
static pair difference_of(pair a, pair b) {
    pair r = {a.re - b.re, a.im - b.im};
    return r;
}
static pair product_of(pair a, pair b) {
    pair r = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return r;
}
static pair quotient_of(pair a, pair b) {
    double ratio = fabs(b.re) >= fabs(b.im) ? b.im / b.re : b.re / b.im;
    pair r = {a.re / fabs(b.re), a.im / fabs(b.re)}; /* by 0: each part on its own, as in NumPy */
    if (b.re == 0 && b.im == 0) return r;
    if (fabs(b.re) >= fabs(b.im)) {
        r.re = (a.re + a.im * ratio) / (b.re + b.im * ratio);
        r.im = (a.im - a.re * ratio) / (b.re + b.im * ratio);
    } else {
        r.re = (a.re * ratio + a.im) / (b.im + b.re * ratio);
        r.im = (a.im * ratio - a.re) / (b.im + b.re * ratio);
    }
    return r;
}

static bool is_part(double got, double want) {
    if (isnan(want)) return isnan(got);
    return is_close(OX_F32, got, want, 1) && (want != 0 || !signbit(got) == !signbit(want));
}

/* The real one's imaginary part is +0, which counts: signs of zeros and NaN come of it. */
static void test_with_reals(void) {
    static const struct {
        const char *name;
        ox_tensor *(*run)(ox_tensor *a, ox_tensor *b);
        pair (*want)(pair a, pair b);
    } ops[] = {{"add", ox_add, sum_of},
               {"sub", ox_sub, difference_of},
               {"mul", ox_mul, product_of},
               {"div", ox_div, quotient_of}};
    static const float special[] = {0.0f, -0.0f, 1.0f, -1.0f, INFINITY, -INFINITY, NAN, 2.5f, -3e38f};
    enum { N = 9, COUNT = N * N * N };
    static float parts[2 * COUNT], reals[COUNT];
    for (int i = 0; i < COUNT; i++) {
        parts[2 * i] = special[i / (N * N)], parts[2 * i + 1] = special[i / N % N];
        reals[i] = special[i % N];
    }
    ox_tensor *z = ox_view_as_complex(ox_from_floats(parts, OX_SHAPE(COUNT, 2), OX_F32));
    ox_tensor *x = ox_from_floats(reals, OX_SHAPE(COUNT), OX_F32);
    for (int op = 0; op < 4; op++)
        for (int second = 0; second < 2; second++) {
            ox_tensor *a = second ? z : x, *b = second ? x : z, *y = ops[op].run(a, b);
            for (int i = 0; i < COUNT && y; i++) {
                pair left = pair_at(a, i), right = pair_at(b, i), got = pair_at(y, i);
                pair want = ops[op].want(left, right);
                CHECK_MSG(is_part(got.re, want.re) && is_part(got.im, want.im),
                          "%s(%g%+gi, %g%+gi) is %g%+gi, not %g%+gi", ops[op].name, left.re, left.im,
                          right.re, right.im, got.re, got.im, want.re, want.im);
            }
            CHECK_MSG(y != NULL, "%s: %s", ops[op].name, ox_error_text());
        }
}

/* exp(b log a), by the length and the angle; and of 0. */
static void test_powers(void) {
    static const float bases[] = {1.5f, 0.25f, -2, 0.5f, -0.75f, -1.25f, 0, 2, 0, 0, 0, 0};
    static const float powers[] = {2, 0, 0.5f, -1, -1.5f, 0.75f, 0, 1, 0, 0, 1.5f, 1};
    ox_tensor *a = ox_view_as_complex(ox_from_floats(bases, OX_SHAPE(6, 2), OX_F32));
    ox_tensor *b = ox_view_as_complex(ox_from_floats(powers, OX_SHAPE(6, 2), OX_F32)), *y = ox_pow(a, b);
    CHECK_MSG(y != NULL, "pow: %s", ox_error_text());
    for (int i = 0; i < 6 && y; i++) {
        pair x = pair_at(a, i), p = pair_at(b, i), want = {i == 4, 0};
        double size = hypot(x.re, x.im), turn = atan2(x.im, x.re);
        if (size > 0) {
            double angle = p.re * turn + p.im * log(size), length = exp(p.re * log(size) - p.im * turn);
            want.re = length * cos(angle);
            want.im = length * sin(angle);
        }
        CHECK_MSG(pair_is_close(y, i, want, hypot(want.re, want.im), 1), "power %d is %g%+gi", i,
                  pair_at(y, i).re, pair_at(y, i).im);
    }
}

static pair times(pair a, pair b) {
    pair z = {0, 0};
    double size = 0;
    add_product(&z, &size, a, b);
    return z;
}

/* a + w (b - a), t + value a b, t + value a / b, in place too. */
static void test_three_operands(void) {
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *a = complex_matrix(l, 5, 6), *b = complex_matrix((l + 2) % LAYOUT_COUNT, 5, 6),
                      *w = complex_matrix((l + 4) % LAYOUT_COUNT, 5, 6);
            ox_tensor *y[6] = {ox_lerp(a, b, w), ox_addcmul(a, b, w, -1.5), ox_addcdiv(a, b, w, 0.5),
                               ox_lerp_(ox_clone(a), b, w), ox_addcmul_(ox_clone(a), b, w, -1.5),
                               ox_addcdiv_(ox_clone(a), b, w, 0.5)};
            for (int64_t i = 0; i < 30 * 6; i++) {
                pair p = pair_at(a, i / 6), q = pair_at(b, i / 6), r = pair_at(w, i / 6), step = times(q, r);
                int op = (int)(i % 3);
                double size = hypot(p.re, p.im) + hypot(step.re, step.im) + hypot(r.re, r.im), factor = 1;
                if (op == 0) {
                    pair way = {q.re - p.re, q.im - p.im};
                    step = times(way, r);
                    size += hypot(p.re, p.im) * hypot(r.re, r.im) + hypot(q.re, q.im);
                } else if (op == 1)
                    factor = -1.5;
                else {
                    step = quotient_of(q, r);
                    factor = 0.5;
                    size += 4 * hypot(step.re, step.im);
                }
                pair want = {p.re + factor * step.re, p.im + factor * step.im};
                CHECK_MSG(y[i % 6] && pair_is_close(y[i % 6], i / 6, want, size, 9), "three operands %d: %s",
                          (int)(i % 6), ox_error_text());
            }
        }
}

/* log sum exp of numbers whose powers of e overflow, over each set of dims; of nothing it is -inf. */
static void test_logsumexp(void) {
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *x = complex_matrix(l, 5, 6), *far = ox_add_number(x, 200);
            ox_tensor *y = ox_logsumexp(far, OX_DIMS(1), true), *powers = ox_exp(ox_sub_number(x, 3));
            CHECK_MSG(y && y->dtype == OX_C64 && y->shape[1] == 1, "logsumexp: %s", ox_error_text());
            for (int64_t row = 0; y && row < 5; row++) {
                pair sum = {0, 0};
                double size = 0;
                for (int64_t k = 0; k < 6; k++) {
                    pair p = pair_at(powers, row * 6 + k);
                    sum.re += p.re;
                    sum.im += p.im;
                    size += hypot(p.re, p.im);
                }
                pair want = {203 + log(hypot(sum.re, sum.im)), atan2(sum.im, sum.re)};
                CHECK_MSG(pair_is_close(y, row, want, 300 + size / hypot(sum.re, sum.im), 9), "logsumexp");
            }
            ox_tensor *whole = ox_logsumexp(x, OX_ALL_DIMS, false);
            CHECK(whole && whole->ndim == 0 && whole->dtype == OX_C64);
            ox_tensor *none = ox_logsumexp(ox_narrow(x, 1, 0, 0), OX_DIMS(1), false);
            CHECK(none && pair_at(none, 4).re == -INFINITY && pair_at(none, 4).im == 0);
        }
}

int main(void) {
    OX_SCOPE {
        test_powers();
    }
    test_three_operands();
    test_logsumexp();
    test_matmul();
    test_batches();
    test_sums();
    test_vectors();
    test_parts();
    OX_SCOPE {
        test_with_reals();
    }
    test_closeness();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("complex");
}
