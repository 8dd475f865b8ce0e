/* test_linalg.c - linear algebra by its residuals: sizes from 0 to 257 (1000 once), batches, singular and
 * ill-conditioned matrices, layouts, errors. A residual is measured in eps of the dtype times the size of the
 * matrix and of its numbers, as LAPACK's own tests do. OX_TIERS OX_TSAN */
#include "operands.h"
#include "oxtorch_nn.h"

#ifdef OX_NO_LINALG
int main(void) {
    check_skip("linalg", "left out by OX_NO_LINALG");
    return check_done("linalg");
}
#else

static const int64_t sizes[] = {0, 1, 2, 31, 64, 97, 257};
enum { SIZES = sizeof sizes / sizeof *sizes };
static const ox_dtype wide_dtypes[] = {OX_F32, OX_F64};

static double eps_of(ox_dtype dtype) {
    return dtype == OX_F64 ? 2.220446049250313e-16 : 1.1920929e-7;
}

static double largest(ox_tensor *t) {
    if (!t || ox_numel(t) == 0) return 0;
    return ox_item(ox_amax(ox_abs(ox_cast(t, OX_F64)), OX_ALL_DIMS, false));
}

static ox_tensor *wide(ox_tensor *t) {
    return t ? ox_cast(t, OX_F64) : NULL;
}
static ox_tensor *turned(ox_tensor *t) {
    return ox_transpose(t, -2, -1);
}
static ox_tensor *product(ox_tensor *a, ox_tensor *b) {
    return ox_matmul(wide(a), wide(b));
}

/* What a - b is of eps, n and the size of a: below `most`. */
static void check_residual(ox_tensor *a, ox_tensor *b, ox_dtype dtype, int64_t n, double most,
                           const char *what) {
    CHECK_MSG(a && b, "%s of %s, %lld: %s", what, ox_dtype_name(dtype), (long long)n, ox_error_text());
    if (!a || !b) {
        ox_error_clear();
        return;
    }
    double size = largest(a), off = largest(ox_sub(wide(a), wide(b)));
    double scaled = off / (eps_of(dtype) * (size > 0 ? size : 1) * (double)(n > 0 ? n : 1));
    CHECK_MSG(scaled <= most, "%s of %s, %lld: off by %g eps n", what, ox_dtype_name(dtype), (long long)n,
              scaled);
}

static void check_orthogonal(ox_tensor *q, ox_dtype dtype, int64_t n, const char *what) {
    if (!q || ox_numel(q) == 0) return;
    ox_tensor *eye = ox_eye(q->shape[q->ndim - 1], q->shape[q->ndim - 1], OX_F64);
    ox_tensor *got = product(turned(q), q);
    check_residual(ox_expand(eye, ox_shape_of(got)), got, dtype, n, 4, what);
}

/* ---- factors ------------------------------------------------------------------------------------------- */

static void check_lu(ox_tensor *x, int64_t n) {
    ox_tuple f = ox_lu(x, true), plain = ox_lu_factor(x, true);
    check_residual(x, product(f.t[0], product(f.t[1], f.t[2])), x->dtype, n, 4, "P L U");
    CHECK(plain.t[0] && plain.t[1] && plain.t[1]->dtype == OX_I32);
    CHECK_MSG(largest(f.t[1]) <= 1, "an element of L is above 1");
}

static void check_qr(ox_tensor *x, int64_t n) {
    static const char *const modes[] = {"reduced", "complete"};
    for (int m = 0; m < 2; m++) {
        ox_tuple f = ox_qr(x, modes[m]);
        check_residual(x, product(f.t[0], f.t[1]), x->dtype, n, 8, "Q R");
        check_orthogonal(f.t[0], x->dtype, n, "Q of QR");
        if (f.t[1] && ox_numel(f.t[1])) CHECK(largest(ox_tril(f.t[1], -1)) == 0);
    }
    ox_tuple packed = ox_geqrf(x);
    if (x->shape[x->ndim - 2] >= x->shape[x->ndim - 1] && packed.t[0]) {
        ox_tensor *q = ox_householder_product(packed.t[0], packed.t[1]);
        check_residual(ox_qr(x, NULL).t[0], q, x->dtype, n, 8, "householder_product");
    }
}

static void check_svd(ox_tensor *x, int64_t n) {
    ox_tuple f = ox_svd(x, false), full = ox_svd(x, true);
    CHECK_MSG(f.t[0] && full.t[0], "svd: %s", ox_error_text());
    if (!f.t[0] || !full.t[0]) return;
    ox_tensor *us = ox_mul(wide(f.t[0]), ox_unsqueeze(wide(f.t[1]), -2));
    check_residual(x, product(us, f.t[2]), x->dtype, n, 8, "U S V");
    check_orthogonal(f.t[0], x->dtype, n, "U");
    check_orthogonal(turned(f.t[2]), x->dtype, n, "V");
    check_orthogonal(full.t[0], x->dtype, n, "all of U");
    check_orthogonal(turned(full.t[2]), x->dtype, n, "all of V");
    if (f.t[1]->shape[f.t[1]->ndim - 1] > 1) {
        ox_tensor *falls = ox_diff(f.t[1], 1, -1, NULL, NULL);
        CHECK(ox_item(ox_amax(falls, OX_ALL_DIMS, false)) <= 0 &&
              ox_item(ox_amin(f.t[1], OX_ALL_DIMS, false)) >= 0);
    }
}

static void check_square(ox_tensor *x, int64_t n) {
    ox_dtype dtype = x->dtype;
    ox_tensor *sum = ox_add(x, turned(x)), *rhs = ox_randn(OX_SHAPE(n, 3), dtype);
    ox_tuple e = ox_eigh(sum, false);
    CHECK_MSG(e.t[0] && e.t[1], "eigh: %s", ox_error_text());
    if (e.t[0] && e.t[1]) {
        ox_tensor *back = product(ox_mul(wide(e.t[1]), ox_unsqueeze(wide(e.t[0]), -2)), turned(e.t[1]));
        check_residual(sum, back, dtype, n, 8, "V L V^T");
        check_orthogonal(e.t[1], dtype, n, "eigenvectors");
    }
    ox_tensor *y = ox_solve(x, rhs, true); /* backward error: of the residual against |x| |y| */
    if (n && y) {
        double off = largest(ox_sub(product(x, y), wide(rhs)));
        double size = largest(x) * largest(y) * (double)n + largest(rhs);
        CHECK_MSG(off <= 4 * eps_of(dtype) * size, "solve of %lld: a residual of %g", (long long)n,
                  off / (eps_of(dtype) * size));
    }
    ox_tensor *definite = ox_add(product(x, turned(x)), ox_mul_number(ox_eye(n, n, OX_F64), (double)n + 1));
    definite = ox_cast(definite, dtype);
    for (int upper = 0; upper < 2; upper++) {
        ox_tensor *l = ox_cholesky(definite, upper != 0);
        ox_tensor *back = l ? (upper ? product(turned(l), l) : product(l, turned(l))) : NULL;
        check_residual(definite, back, dtype, n, 4, "L L^T");
        check_residual(rhs, product(definite, ox_cholesky_solve(rhs, l, upper != 0)), dtype, n, 40,
                       "cholesky_solve");
    }
}

static void test_factors(void) {
    for (int d = 0; d < 2; d++)
        for (int s = 0; s < SIZES; s++)
            OX_SCOPE {
                int64_t n = sizes[s], m = n / 2 + 3;
                ox_manual_seed((uint64_t)(7 * s + d));
                ox_tensor *x = ox_randn(OX_SHAPE(n, n), wide_dtypes[d]),
                          *tall = ox_randn(OX_SHAPE(n, m), wide_dtypes[d]);
                ox_tensor *shapes[3];
                shapes[0] = x;
                shapes[1] = tall;
                shapes[2] = ox_t(tall);
                for (int i = 0; i < 3; i++) {
                    check_lu(shapes[i], n + m);
                    check_qr(shapes[i], n + m);
                    if (n < 200) check_svd(shapes[i], n + m);
                }
                check_square(x, n);
                CHECK_MSG(ox_error() == OX_OK, "%lld: %s", (long long)n, ox_error_text());
                ox_error_clear();
            }
}

/* Numbers of many sizes, ranks that are not full, numbers far from 1. */
static ox_tensor *hard_matrix(int kind, int64_t n, ox_dtype dtype) {
    ox_tensor *x = ox_randn(OX_SHAPE(n, n), OX_F64);
    if (kind == 0) x = ox_zeros(OX_SHAPE(n, n), OX_F64);
    if (kind == 1) x = ox_matmul(ox_narrow(x, 1, 0, 3), ox_narrow(x, 0, 0, 3)); /* rank 3 */
    if (kind == 2) x = ox_mul(x, ox_exp10(ox_linspace(0, -12, n, OX_F64)));
    if (kind == 3) x = ox_ones(OX_SHAPE(n, n), OX_F64);
    if (kind == 4) x = ox_mul_number(x, dtype == OX_F64 ? 1e-200 : 1e-25);
    if (kind == 5) x = ox_mul_number(x, dtype == OX_F64 ? 1e150 : 1e18);
    if (kind == 6) x = ox_triu(ox_ones(OX_SHAPE(n, n), OX_F64), 0);
    return ox_cast(x, dtype);
}

static void test_hard(void) {
    for (int d = 0; d < 2; d++)
        for (int kind = 0; kind < 7; kind++)
            OX_SCOPE {
                ox_manual_seed((uint64_t)kind);
                ox_tensor *x = hard_matrix(kind, 33, wide_dtypes[d]);
                check_lu(x, 33);
                check_qr(x, 33);
                check_svd(x, 33);
                if (kind == 1) CHECK(ox_item_int(ox_matrix_rank(x, 0, -1, false)) == 3);
                if (kind == 0)
                    CHECK(ox_item_int(ox_matrix_rank(x, 0, -1, false)) == 0 && ox_item(ox_det(x)) == 0);
                ox_tensor *p = ox_pinv(x, 0, -1, false);
                if (kind < 2 || kind == 3 || kind == 6)
                    check_residual(x, product(product(x, p), x), wide_dtypes[d], 33, 400, "X pinv(X) X");
                if (kind == 0 || kind == 3) {
                    CHECK(!ox_inv(x) && ox_error() == OX_ERR_ARG);
                    CHECK_MSG(strstr(ox_error_text(), "singular"), "%s", ox_error_text());
                    ox_error_clear();
                }
                CHECK_MSG(ox_error() == OX_OK, "kind %d: %s", kind, ox_error_text());
                ox_error_clear();
            }
    OX_SCOPE { /* Hilbert's matrix: its singular values to full accuracy, its inverse in whole numbers */
        double h[64];
        for (int i = 0; i < 64; i++) h[i] = 1.0 / (i / 8 + i % 8 + 1);
        ox_tensor *x = ox_from_doubles(h, OX_SHAPE(8, 8), OX_F64);
        CHECK(fabs(ox_item(ox_select(ox_svdvals(x), 0, 0)) - 1.6959389969219497) < 1e-14);
        CHECK(fabs(ox_item(ox_select(ox_svdvals(x), 0, 7)) - 1.1115389663724358e-10) < 1e-16);
        CHECK(fabs(ox_item(ox_select(ox_select(ox_inv(x), 0, 7), 0, 7)) - 176679360) < 1e3);
        CHECK(fabs(ox_item(ox_det(x)) / 2.7370501137915130e-33 - 1) < 1e-6);
    }
}

/* Symmetric matrices that are divided, and singular values of many rows. */
static ox_tensor *large_matrix(int kind, int64_t n) {
    ox_tensor *x = ox_randn(OX_SHAPE(n, n), OX_F64), *ramp = ox_arange(0, (double)n, 1, OX_F64), *one;
    ox_tensor *fall = ox_exp(ox_mul_number(ramp, -0.9)), *across = ox_unsqueeze(ramp, 1);
    switch (kind) {
    case 0: return ox_add(x, ox_t(x));
    case 1: return ox_matmul(ox_narrow(x, 1, 0, 5), ox_t(ox_narrow(x, 1, 0, 5)));
    case 2: return ox_eye(n, n, OX_F64);
    case 3: return ox_full(OX_SHAPE(n, n), 1, OX_F64);
    case 4: return ox_reciprocal(ox_add_number(ox_add(ramp, across), 1)); /* Hilbert's */
    case 5: return ox_mul(ox_mul(ox_add(x, ox_t(x)), fall), ox_unsqueeze(fall, 1)); /* to 1e-300 and below */
    case 6: /* Wilkinson's: pairs of values that are nearly the same */
        one = ox_diag(ox_ones(OX_SHAPE(n - 1), OX_F64), 1);
        ramp = ox_abs(ox_add_number(ramp, -0.5 * (double)(n - 1)));
        return ox_add(ox_diag(ramp, 0), ox_add(one, ox_t(one)));
    case 8: return ox_matmul(ox_narrow(x, 1, 2, n - 2), ox_narrow(x, 0, 2, n - 2)); /* two ranks less */
    default: return ox_zeros(OX_SHAPE(n, n), OX_F64);
    }
}

static void test_large(void) {
    static const int64_t some[] = {33, 64, 101, 200, 390};
    for (int s = 0; s < 5; s++)
        for (int kind = 0; kind < 9; kind++)
            OX_SCOPE {
                ox_manual_seed((uint64_t)kind);
                int64_t n = some[s];
                ox_tensor *x = large_matrix(kind, n);
                if (kind == 8) check_svd(x, n);
                x = ox_add(ox_tril(x, 0), turned(ox_tril(x, -1)));
                ox_tuple e = ox_eigh(x, kind % 2 == 1);
                CHECK_MSG(e.t[0], "eigh of %lld, kind %d: %s", (long long)n, kind, ox_error_text());
                if (!e.t[0]) continue;
                check_residual(ox_matmul(x, e.t[1]), ox_mul(e.t[1], e.t[0]), OX_F64, n, 4, "eigh");
                check_orthogonal(e.t[1], OX_F64, n, "its vectors");
                check_residual(e.t[0], ox_eigvalsh(x, kind % 2 == 1), OX_F64, n, 4, "values alone");
                ox_tensor *steps = ox_diff(e.t[0], 1, -1, NULL, NULL);
                CHECK(ox_item(ox_amin(steps, OX_ALL_DIMS, false)) >= 0);
                check_svd(x, n);
            }
}

/* What counts as nothing goes by a matrix's own size: a factor is one of its eigenvalues, no more. */
static void test_sizes_of_numbers(void) {
    static const double factors[] = {1e-5, 1e-10, 1e-20, 1e-40, 1e-80, 1e-120, 1e10, 1e80};
    for (int f = 0; f < 8; f++)
        for (int kind = 0; kind < 8; kind += 2)
            OX_SCOPE {
                ox_manual_seed((uint64_t)kind);
                ox_tensor *x = ox_mul_number(large_matrix(kind, 65), factors[f]);
                ox_tuple e = ox_eigh(x, false);
                CHECK_MSG(e.t[0], "eigh of numbers near %g: %s", factors[f], ox_error_text());
                if (!e.t[0]) continue;
                check_residual(ox_matmul(x, e.t[1]), ox_mul(e.t[1], e.t[0]), OX_F64, 65, 4, "eigh");
                check_residual(e.t[0], ox_eigvalsh(x, false), OX_F64, 65, 4, "values alone");
                check_orthogonal(e.t[1], OX_F64, 65, "its vectors");
                check_svd(x, 65);
            }
}

/* ---- eigenvalues of general matrices ------------------------------------------------------------------- */

enum { TRIANGLE = 1, ROOTS_OF_ONE, ONE_CHAIN, TURNS, GRADED, BAND, MIRRORS, ARROW, EIG_KINDS };

/* A matrix whose eigenvalues are known to make trouble. */
static ox_tensor *eig_matrix(int kind, int64_t n) {
    ox_tensor *x = ox_randn(OX_SHAPE(n, n), OX_F32), *one = ox_eye(n, n, OX_F32);
    ox_tensor *next = n ? ox_roll(one, OX_DIMS(1), OX_DIMS(0)) : one;
    switch (kind) {
    case TRIANGLE: return ox_triu(x, 0);
    case ROOTS_OF_ONE: return next;
    case ONE_CHAIN: return ox_tril(next, -1); /* has one vector alone */
    case TURNS: return ox_sub(x, ox_transpose(x, 0, 1)); /* on the imaginary axis */
    case GRADED: return ox_mul(x, ox_exp(ox_mul_number(ox_arange(0, (double)n, 1, OX_F32), -0.3)));
    case BAND: return ox_tril(ox_triu(x, -1), 1);
    case MIRRORS: /* 1 and -1, but for the rounding */
        if (n) x = ox_qr(x, "complete").t[0];
        next = ox_sub(ox_mul_number(ox_fmod_number(ox_arange(0, (double)n, 1, OX_F32), 2), 2), ox_number(1));
        return ox_matmul(ox_mul(x, next), turned(x));
    case ARROW: /* all values but two are the same */
        if (n) next = ox_mul_number(ox_expand(ox_narrow(one, 1, 0, 1), OX_SHAPE(n, n)), 1e-3);
        return ox_add(one, ox_add(next, turned(next)));
    default: return x;
    }
}

static void test_eig(void) {
    static const int64_t some[] = {0, 1, 2, 3, 5, 31, 64, 100, 133};
    for (int s = 0; s < 9; s++)
        for (int kind = 0; kind < EIG_KINDS; kind++)
            OX_SCOPE {
                ox_manual_seed((uint64_t)s);
                ox_tensor *x = eig_matrix(kind, some[s]);
                int64_t n = x->shape[0];
                ox_tuple e = ox_eig(x);
                CHECK_MSG(e.t[0] && e.t[1], "eig: %s", ox_error_text());
                if (!e.t[0] || n == 0) continue;
                ox_tensor *left = ox_matmul(ox_cast(x, OX_C64), e.t[1]), *right = ox_mul(e.t[1], e.t[0]);
                double off = largest(ox_abs(ox_sub(left, right)));
                CHECK_MSG(off <= 4e-6 * sqrt((double)n) * (1 + largest(x)), "eig of %lld, kind %d: %g",
                          (long long)n, kind, off);
                if (kind == ROOTS_OF_ONE) CHECK(fabs(largest(ox_abs(e.t[0])) - 1) < 1e-5);
                ox_tensor *sizes = ox_norm(ox_abs(e.t[1]), 2, OX_DIMS(0), false);
                CHECK(largest(ox_abs(ox_add_number(sizes, -1))) < 1e-5);
                ox_tensor *trace = ox_sum(e.t[0], OX_ALL_DIMS, false);
                double diagonal = ox_item(ox_sum(ox_diagonal(x, 0, 0, 1), OX_ALL_DIMS, false));
                CHECK(fabs(ox_item(ox_real(trace)) - diagonal) < 1e-5 * (double)n * (1 + largest(x)));
                CHECK(fabs(ox_item(ox_imag(trace))) < 1e-5 * (double)n * (1 + largest(x)));
            }
    OX_SCOPE {
        ox_tensor *x = ox_full(OX_SHAPE(3, 3), NAN, OX_F32);
        CHECK(!ox_eig(x).t[0] && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_svd(x, false).t[0] && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_eigh(x, false).t[0] && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
}

/* The order of eigenvalues, and the vectors' signs, are those of a matrix beside it. */
static void test_eig_order(void) {
    for (int seed = 0; seed < 60; seed++)
        OX_SCOPE {
            ox_manual_seed((uint64_t)seed);
            int64_t n = 2 + seed % 7;
            ox_tensor *spread = ox_diag(ox_arange(0, 12.0 * (double)n, 12, OX_F64), 0);
            ox_tensor *x = ox_add(ox_randn(OX_SHAPE(n, n), OX_F64), spread);
            ox_tensor *beside = ox_add(x, ox_mul_number(ox_randn(OX_SHAPE(n, n), OX_F64), 1e-7));
            ox_tuple a = ox_eig(x), b = ox_eig(beside);
            for (int i = 0; i < 2; i++)
                CHECK_MSG(largest(ox_abs(ox_sub(a.t[i], b.t[i]))) < 1e-4, "seed %d: %s jump", seed,
                          i ? "vectors" : "values");
        }
}

/* ---- batches, layouts ---------------------------------------------------------------------------------- */

static void test_layouts(void) {
    static const int64_t shape[4] = {2, 3, 7, 7}, side[3] = {3, 7, 2};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 4, shape, OX_F64);
            ox_tensor *b = random_layout((layout)l, DOMAIN_MODEST, 3, side, OX_F64);
            ox_tensor *a = ox_add(x, ox_mul_number(ox_eye(7, 7, OX_F64), 50)), *copy = ox_clone(a);
            CHECK_MSG(ox_equal(ox_inv(a), ox_inv(copy)) && ox_equal(ox_det(a), ox_det(copy)), "%s",
                      layout_name((layout)l));
            ox_tensor *y = ox_solve(a, b, true),
                      *z = ox_solve(a, turned(b), false); /* a batch that broadcasts */
            check_residual(ox_expand(b, OX_SHAPE(2, 3, 7, 2)), product(a, y), OX_F64, 7, 40, "solve");
            check_residual(ox_expand(turned(b), OX_SHAPE(2, 3, 2, 7)), product(z, a), OX_F64, 7, 40,
                           "x a = b");
            ox_tuple d = ox_slogdet(a);
            check_residual(ox_det(a), ox_mul(d.t[0], ox_exp(d.t[1])), OX_F64, 7, 40, "slogdet");
            for (int i = 0; i < 8; i++) {
                bool upper = i & 1, left = i & 2, unit = i & 4;
                ox_tensor *t = upper ? ox_triu(a, unit) : ox_tril(a, -(int)unit), *rhs = left ? b : turned(b);
                if (unit) t = ox_add(t, ox_eye(7, 7, OX_F64));
                ox_tensor *u = ox_solve_triangular(a, rhs, upper, left, unit);
                ox_tensor *back = u ? (left ? product(t, u) : product(u, t)) : NULL;
                ox_shape whole = left ? OX_SHAPE(2, 3, 7, 2) : OX_SHAPE(2, 3, 2, 7);
                check_residual(ox_expand(rhs, whole), back, OX_F64, 7, 1e9, "solve_triangular");
            }
            CHECK_MSG(ox_error() == OX_OK, "%s: %s", layout_name((layout)l), ox_error_text());
            ox_error_clear();
        }
}

static void test_complex_systems(void) {
    OX_SCOPE {
        ox_tensor *a = ox_complex(ox_randn(OX_SHAPE(2, 9, 9), OX_F32), ox_randn(OX_SHAPE(2, 9, 9), OX_F32));
        ox_tensor *b = ox_complex(ox_randn(OX_SHAPE(2, 9, 2), OX_F32), ox_randn(OX_SHAPE(2, 9, 2), OX_F32));
        ox_tensor *x = ox_solve(a, b, true);
        CHECK(x && largest(ox_abs(ox_sub(ox_matmul(a, x), b))) < 1e-4);
    }
}

/* ---- powers, exponential, the rest --------------------------------------------------------------------- */

static void test_functions(void) {
    OX_SCOPE {
        double turn[4] = {0, -1, 1, 0};
        ox_tensor *x = ox_mul_number(ox_from_doubles(turn, OX_SHAPE(2, 2), OX_F64), 30),
                  *e = ox_matrix_exp(x);
        CHECK(e && fabs(ox_item(ox_select(ox_select(e, 0, 0), 0, 0)) - cos(30)) < 1e-12);
        CHECK(e && fabs(ox_item(ox_select(ox_select(e, 0, 1), 0, 0)) - sin(30)) < 1e-12);
        ox_tensor *a = ox_add(ox_randn(OX_SHAPE(4, 4), OX_F64), ox_mul_number(ox_eye(4, 4, OX_F64), 5));
        check_residual(ox_matmul(a, ox_matmul(a, a)), ox_matrix_power(a, 3), OX_F64, 4, 10, "x^3");
        check_residual(ox_eye(4, 4, OX_F64), ox_matmul(ox_matrix_power(a, -2), ox_matmul(a, a)), OX_F64, 4,
                       100, "x^-2");
        ox_tensor *tall = ox_randn(OX_SHAPE(20, 4), OX_F64), *b = ox_randn(OX_SHAPE(20, 2), OX_F64);
        ox_tuple s = ox_lstsq(tall, b, -1);
        ox_tensor *normal = s.t[0] ? ox_matmul(ox_t(tall), ox_sub(ox_matmul(tall, s.t[0]), b)) : NULL;
        CHECK(normal && largest(normal) < 1e-12 && ox_item_int(s.t[2]) == 4 && s.t[1]->shape[0] == 2);
        for (int wide_one = 0; wide_one < 2; wide_one++) { /* parts of Hilbert's */
            ox_tensor *h = ox_narrow(large_matrix(4, 31), wide_one, 0, 15);
            b = ox_matmul(h, ox_ones(OX_SHAPE(h->shape[1], 2), OX_F64));
            s = ox_lstsq(h, b, -1);
            CHECK(s.t[0] && largest(ox_sub(ox_matmul(h, s.t[0]), b)) < 1e-9 && largest(s.t[0]) < 4);
        }
        CHECK(ox_item(ox_matrix_norm(ox_ones(OX_SHAPE(3, 0), OX_F64), NULL, 1, OX_ALL_DIMS, false)) == 0);
        CHECK(ox_item(ox_matrix_norm(ox_ones(OX_SHAPE(0, 3), OX_F64), NULL, 2, OX_ALL_DIMS, false)) == 0);
        CHECK(!ox_matrix_norm(ox_ones(OX_SHAPE(0, 3), OX_F64), NULL, -2, OX_ALL_DIMS, false));
        ox_error_clear();
        CHECK(fabs(ox_item(ox_cond(ox_eye(3, 3, OX_F64), NULL, 2)) - 1) < 1e-14);
        CHECK(fabs(ox_item(ox_matrix_norm(ox_ones(OX_SHAPE(2, 3), OX_F64), "nuc", 0, OX_ALL_DIMS, false)) -
                   sqrt(6)) < 1e-14);
        CHECK(!ox_cholesky(ox_mul_number(ox_eye(3, 3, OX_F64), -1), false) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_inv(ox_ones(OX_SHAPE(2, 3), OX_F32)) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_lu_factor(ox_ones(OX_SHAPE(2, 2), OX_F16), true).t[0] && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
    }
}

/* ---- complex matrices: their factors, and gradients of what does not depend on phases ------------------ */

static ox_tensor *adjoint(ox_tensor *t) {
    return ox_conj(turned(t));
}

/* What a - b is of n eps and the size of a, all of c64. */
static void check_complex(ox_tensor *a, ox_tensor *b, int64_t n, const char *what) {
    CHECK_MSG(a && b, "%s of c64, %lld: %s", what, (long long)n, ox_error_text());
    ox_error_clear();
    if (!a || !b || ox_numel(a) == 0) return;
    double size = ox_item(ox_amax(ox_abs(a), OX_ALL_DIMS, false));
    double off = ox_item(ox_amax(ox_abs(ox_sub(a, b)), OX_ALL_DIMS, false));
    double scaled = off / (eps_of(OX_F32) * (size > 0 ? size : 1) * (double)(n > 0 ? n : 1));
    CHECK_MSG(scaled <= 8, "%s of c64, %lld: off by %g eps n", what, (long long)n, scaled);
}
static void check_unitary(ox_tensor *q, int64_t n, const char *what) {
    if (!q) return;
    ox_tensor *own = ox_matmul(adjoint(q), q), *eye;
    eye = ox_eye(q->shape[q->ndim - 1], q->shape[q->ndim - 1], OX_C64);
    check_complex(ox_expand(eye, ox_shape_of(own)), own, n, what);
}

static ox_tensor *complex_matrix(int64_t m, int64_t n, int kind) {
    ox_shape shape = OX_SHAPE(2, m, n);
    ox_tensor *x = ox_complex(ox_randn(shape, OX_F32), ox_randn(shape, OX_F32));
    if (kind == 1) /* the same column again and again */
        x = ox_contiguous(ox_expand(ox_narrow(x, -1, 0, n ? 1 : 0), shape));
    if (kind == 2) x = ox_zeros(shape, OX_C64);
    if (kind == 3) x = ox_contiguous(ox_expand(ox_eye(m, n, OX_C64), shape));
    if (kind == 4) { /* each singular value three times */
        ox_tensor *three = ox_cast(ox_div_mode(ox_arange(0, n, 1, OX_I64), ox_integer(3), "floor"), OX_F32);
        ox_shape sides = OX_SHAPE(2, m, m);
        ox_tensor *square = ox_complex(ox_randn(sides, OX_F32), ox_randn(sides, OX_F32));
        x = ox_mul(ox_eye(m, n, OX_C64), ox_add(three, ox_number(1)));
        x = ox_matmul(ox_qr(square, NULL).t[0], ox_contiguous(ox_expand(x, shape)));
    }
    return kind ? x : ox_flip(x, OX_DIMS(1)); /* of negative strides */
}

/* x = Q R, Q as a product of reflectors, whole and as a factor on either side. R's diagonal is real. */
static void check_complex_reflectors(ox_tensor *x, int64_t m, int64_t n) {
    int64_t k = m < n ? m : n, most = m > n ? m : n;
    ox_tuple packed = ox_geqrf(x);
    ox_tensor *r = ox_triu(packed.t[0], 0), *y = ox_conj(ox_narrow(x, -1, 0, k));
    CHECK_MSG(packed.t[0] != NULL, "geqrf: %s", ox_error_text());
    if (!packed.t[0]) return;
    if (k) {
        ox_tensor *diagonal = ox_imag(ox_diagonal(r, 0, -2, -1));
        CHECK(ox_item(ox_amax(ox_abs(diagonal), OX_ALL_DIMS, false)) == 0);
    }
    check_complex(x, ox_ormqr(packed.t[0], packed.t[1], r, true, false), most, "geqrf");
    check_complex(r, ox_ormqr(packed.t[0], packed.t[1], x, true, true), most, "Q^H x");
    if (m < n) return;
    ox_tensor *q = ox_householder_product(packed.t[0], packed.t[1]), *side = adjoint(y);
    check_unitary(q, most, "reflectors");
    ox_tensor *right = ox_ormqr(packed.t[0], packed.t[1], side, false, false);
    check_complex(ox_matmul(side, q), ox_narrow(right, -1, 0, n), most, "x^H Q");
    check_complex(side, ox_ormqr(packed.t[0], packed.t[1], right, false, true), most, "x^H Q Q^H");
}

static void check_complex_factors(int64_t m, int64_t n, int kind) {
    int64_t most = m > n ? m : n;
    ox_tensor *x = complex_matrix(m, n, kind);
    ox_tuple lu = ox_lu(x, true), parts;
    check_complex(x, ox_matmul(lu.t[0], ox_matmul(lu.t[1], lu.t[2])), most, "P L U");
    for (int whole = 0; whole < 2; whole++) {
        parts = ox_qr(x, whole ? "complete" : "reduced");
        check_complex(x, ox_matmul(parts.t[0], parts.t[1]), most, "Q R");
        check_complex(parts.t[1], ox_triu(parts.t[1], 0), most, "R");
        check_unitary(parts.t[0], most, "Q");
        parts = ox_svd(x, whole);
        CHECK(parts.t[0] != NULL);
        if (!parts.t[0]) return;
        int64_t k = parts.t[1]->shape[1];
        ox_tensor *u = ox_narrow(parts.t[0], -1, 0, k), *v = ox_narrow(parts.t[2], -2, 0, k);
        check_complex(x, ox_matmul(ox_mul(u, ox_unsqueeze(parts.t[1], -2)), v), most, "U S V");
        check_unitary(parts.t[0], most, "U");
        check_unitary(adjoint(parts.t[2]), most, "V");
    }
    ox_tensor *inverse = ox_pinv(x, 0, -1, false);
    check_complex(x, ox_matmul(x, ox_matmul(inverse, x)), most * 4, "pinv");
    check_complex_reflectors(x, m, n);
}

static void check_complex_square(int64_t n, int kind) {
    ox_tensor *x = complex_matrix(n, n, kind), *h = ox_add(x, adjoint(x)), *more = ox_matmul(x, adjoint(x));
    ox_tuple parts = ox_eigh(h, n % 2 == 1);
    CHECK(parts.t[0] && parts.t[0]->dtype == OX_F32);
    if (!parts.t[0]) return;
    ox_tensor *scaled = ox_mul(parts.t[1], ox_unsqueeze(parts.t[0], -2)), *steps;
    check_complex(h, ox_matmul(scaled, adjoint(parts.t[1])), n, "eigh");
    check_unitary(parts.t[1], n, "eigh's vectors");
    steps = n > 1 ? ox_diff(parts.t[0], 1, -1, NULL, NULL) : NULL;
    if (steps) CHECK(ox_item_int(ox_all(ox_ge_number(steps, 0), OX_ALL_DIMS, false)));
    more = ox_add(more, ox_eye(n, n, OX_C64));
    for (int upper = 0; upper < 2; upper++) {
        ox_tensor *l = ox_cholesky(more, upper);
        check_complex(more, upper ? ox_matmul(adjoint(l), l) : ox_matmul(l, adjoint(l)), n, "cholesky");
        check_complex(l, upper ? ox_triu(l, 0) : ox_tril(l, 0), n, "its triangle");
    }
    parts = ox_slogdet(x);
    if (n < 9) check_complex(ox_det(x), ox_mul(parts.t[0], ox_exp(parts.t[1])), 8, "det");
    if (kind && kind < 4) return;
    parts = ox_eig(x);
    check_complex(ox_matmul(x, parts.t[1]), ox_mul(parts.t[1], ox_unsqueeze(parts.t[0], -2)), n, "eig");
}

static ox_tensor *complex_checked(ox_tensor *const *in, void *user) {
    ox_tensor *x = in[0], *h = ox_add(x, adjoint(x));
    ox_tuple parts;
    switch (*(int *)user) {
    case 0: return ox_det(x);
    case 1: return ox_logdet(x);
    case 2: return ox_cholesky(ox_add(ox_matmul(x, adjoint(x)), ox_eye(3, 3, OX_C64)), false);
    case 3: return ox_lu_factor(x, true).t[0];
    case 4: parts = ox_qr(x, NULL); return ox_add(parts.t[0], parts.t[1]);
    case 5: parts = ox_eigh(h, false); return ox_add(ox_square(ox_abs(parts.t[1])), parts.t[0]);
    case 6: parts = ox_svd(x, false); return ox_add(ox_square(ox_abs(parts.t[2])), parts.t[1]);
    case 7: parts = ox_svd(ox_narrow(x, 1, 0, 2), false); return ox_matmul(parts.t[0], parts.t[2]);
    case 8: return ox_svdvals(x);
    case 9: parts = ox_eig(x); return ox_sum(parts.t[0], OX_DIMS(-1), false);
    case 10: return ox_pinv(ox_narrow(x, 0, 0, 2), 0, -1, false);
    case 11: return ox_solve_triangular(x, h, true, true, false);
    case 12: return ox_matrix_exp(x);
    case 13: return ox_eigvalsh(h, true);
    case 14: return ox_solve(x, h, false);
    default: return ox_var(x, OX_DIMS(0), 1, false);
    }
}

/* Numbers whose squares are beyond f64, or vanish. */
static void test_far_numbers(void) {
    static const double factors[2] = {1e300, 1e-310};
    for (int i = 0; i < 2; i++)
        OX_SCOPE {
            ox_tensor *x = ox_randn(OX_SHAPE(31, 31), OX_F64), *h = ox_add(x, turned(x));
            ox_tuple far = ox_eigh(ox_mul_number(h, factors[i]), false);
            check_residual(ox_eigvalsh(h, false), ox_div_number(far.t[0], factors[i]), OX_F64, 900, 4, "far");
            check_orthogonal(far.t[1], OX_F64, 31, "vectors of far numbers");
        }
    OX_SCOPE { /* from 1 down to 1e-200; and equal rows, of which nothing is left below the first */
        ox_tensor *ramp = ox_exp(ox_mul_number(ox_arange(0, 31, 1, OX_F64), -200 * 2.302585093 / 60));
        ox_tensor *x = ox_mul(ox_randn(OX_SHAPE(31, 31), OX_F64), ox_mul(ramp, ox_unsqueeze(ramp, 1)));
        ox_tensor *h = ox_add(ox_tril(x, 0), turned(ox_tril(x, -1)));
        ox_tuple parts = ox_eigh(h, false);
        CHECK_MSG(parts.t[1], "eigh of graded numbers: %s", ox_error_text());
        check_orthogonal(parts.t[1], OX_F64, 31, "vectors of graded numbers");
        parts = ox_svd(x, false);
        check_orthogonal(parts.t[0], OX_F64, 31, "U of graded numbers");
        check_orthogonal(turned(parts.t[2]), OX_F64, 31, "V of graded numbers");
        parts = ox_eig(x);
        CHECK_MSG(parts.t[1] && ox_item_int(ox_all(ox_isfinite(parts.t[1]), OX_ALL_DIMS, false)), "eig");
        x = ox_contiguous(ox_expand(ox_narrow(x, 0, 0, 1), OX_SHAPE(31, 31)));
        parts = ox_eig(x);
        CHECK_MSG(parts.t[1], "eig of equal rows: %s", ox_error_text());
        x = ox_contiguous(ox_expand(ox_randn(OX_SHAPE(1, 31), OX_F64), OX_SHAPE(31, 31)));
        parts = ox_eig(x);
        CHECK_MSG(parts.t[1], "eig of equal rows: %s", ox_error_text());
    }
    for (int64_t n = 1; n < 41; n += 13) /* general ones: nothing at all, and steps that would not converge */
        for (int i = 0; i < 3; i++)
            OX_SCOPE {
                ox_tensor *x = ox_randn(OX_SHAPE(n, n), OX_F64), *lengths;
                ox_tuple far = ox_eig(ox_mul_number(x, i < 2 ? factors[i] : 0));
                CHECK_MSG(far.t[1], "eig of far numbers, %lld: %s", (long long)n, ox_error_text());
                lengths = ox_norm(far.t[1], 2, OX_DIMS(0), false);
                CHECK(ox_item(ox_amax(ox_abs(ox_sub_number(lengths, 1)), OX_ALL_DIMS, false)) < 1e-5);
                if (i) /* c64 holds nothing as small */
                    CHECK(ox_item(ox_amax(ox_abs(far.t[0]), OX_ALL_DIMS, false)) == 0);
            }
}

static void test_complex_factors(void) {
    static const int64_t sides[] = {0, 1, 2, 7, 31, 70};
    for (int i = 0; i < 6; i++)
        for (int kind = 0; kind < 5; kind++) OX_SCOPE {
                int64_t n = sides[i], other = n / 2 + 1;
                check_complex_square(n, kind);
                check_complex_factors(n, n, kind);
                check_complex_factors(n, other, kind);
                check_complex_factors(other, n, kind);
            }
    OX_SCOPE {
        ox_tensor *bad = ox_complex(ox_full(OX_SHAPE(3, 3), NAN, OX_F32), ox_ones(OX_SHAPE(3, 3), OX_F32));
        CHECK(!ox_svd(bad, true).t[0] && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_eigh(bad, false).t[0] && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_cholesky(ox_neg(ox_eye(3, 3, OX_C64)), false) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(ox_item_int(ox_cholesky_ex(ox_neg(ox_eye(3, 3, OX_C64)), false).t[1]) == 1);
        ox_gradcheck_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.eps = 1e-2;
        desc.absolute = desc.relative = 1e-2;
        const double numbers[18] = {2,  1,  .5, -.3, .7, .2, -.4, .6, -1.5,
                                    .9, .3, .1, .2,  -.8, .1, .4, 1.2, -2};
        ox_tensor *x = ox_clone(ox_view_as_complex(ox_from_doubles(numbers, OX_SHAPE(3, 3, 2), OX_F32)));
        ox_requires_grad_(x, true);
        for (int which = 0; which < 16; which++)
            CHECK_MSG(ox_gradcheck(complex_checked, &which, &x, 1, &desc) == OX_OK, "%d: %s", which,
                      ox_error_text());
        ox_error_clear();
    }
}

int main(void) {
    test_factors();
    test_hard();
    test_large();
    test_sizes_of_numbers();
    test_eig();
    test_eig_order();
    test_layouts();
    test_complex_systems();
    test_far_numbers();
    test_complex_factors();
    test_functions();
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0);
    return check_done("linalg");
}
#endif
