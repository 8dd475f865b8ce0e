/* test_special.c - the special functions against mpmath (special_golden.h) in f64, and f32, f16 and integers
 * against f64; poles and ends; layouts. OX_TIERS */
#include "operands.h"
#include "special_golden.h"

#ifdef OX_NO_SPECIAL
int main(void) {
    check_skip("special", "left out by OX_NO_SPECIAL");
    return check_done("special");
}
#else

typedef struct special_entry {
    const char *name;
    ox_tensor *(*one)(ox_tensor *x);
    ox_tensor *(*two)(ox_tensor *a, ox_tensor *b);
} special_entry;
static ox_tensor *polygamma_of(ox_tensor *n, ox_tensor *x) {
    return ox_polygamma((int64_t)ox_item(n), x);
}
static const special_entry entries[] = {
#define OXI_X(name) {#name, ox_##name, NULL},
    OX_SPECIAL_1(OXI_X)
#undef OXI_X
#define OXI_X(name) {#name, NULL, ox_##name},
        OX_SPECIAL_2(OXI_X)
#undef OXI_X
            {"polygamma", NULL, polygamma_of},
};
enum { ENTRIES = sizeof entries / sizeof *entries };

static const special_entry *entry_of(const char *name) {
    for (int i = 0; i < ENTRIES; i++)
        if (strcmp(entries[i].name, name) == 0) return &entries[i];
    return NULL;
}

static double call(const special_entry *e, double a, double b, ox_dtype dtype) {
    double result = NAN;
    OX_SCOPE {
        ox_tensor *x = ox_full(OX_SCALAR_SHAPE, a, dtype), *y = ox_full(OX_SCALAR_SHAPE, b, dtype);
        ox_tensor *made = e->one ? e->one(x) : e->two(x, y);
        CHECK_MSG(made && made->dtype == dtype, "%s: %s", e->name, ox_error_text());
        if (made) result = ox_item(made);
    }
    return result;
}

/* Where a function is near a zero or grows steeply, arguments' own last bits count: a relative bound for the
 * function's steepness, an absolute one of 1 beside values that are small. */
static double bound_of(const special_golden *g) {
    bool polynomial = strstr(g->name, "polynomial") != NULL,
         waves = strstr(g->name, "bessel_j") || strstr(g->name, "bessel_y") || strstr(g->name, "airy");
    if (strstr(g->name, "igamma")) return 3e-13;
    if (polynomial) return 2e-12 * (1 + fabs(g->value)) / fabs(g->value == 0 ? 1 : g->value);
    if (waves && fabs(g->a) > 4 && g->a < 0 + 1e9) return 2e-12;
    return 4e-14 * (1 + (fabs(g->value) < 1 && (strstr(g->name, "gamma") || strstr(g->name, "log"))
                             ? 1 / fabs(g->value)
                             : 0));
}

static void test_goldens(void) {
    int seen[ENTRIES] = {0};
    for (size_t i = 0; i < sizeof special_goldens / sizeof *special_goldens; i++) {
        const special_golden *g = &special_goldens[i];
        const special_entry *e = entry_of(g->name);
        CHECK_MSG(e != NULL, "no function %s", g->name);
        if (!e) continue;
        seen[e - entries]++;
        double got = call(e, g->a, g->b, OX_F64),
               off = fabs(got - g->value) / (g->value == 0 ? 1 : fabs(g->value));
        CHECK_MSG(got == g->value || off <= bound_of(g), "%s(%.17g, %.17g): %.17g, not %.17g: %g", g->name,
                  g->a, g->b, got, g->value, off);
        float a = (float)g->a, b = (float)g->b; /* f32: what f64 gives, rounded once */
        float narrow = (float)call(e, (double)a, (double)b, OX_F32),
              wide = (float)call(e, (double)a, (double)b, OX_F64);
        CHECK_MSG(narrow == wide || (isnan(narrow) && isnan(wide)), "%s(%g, %g) in f32: %g, not %g", g->name,
                  (double)a, (double)b, (double)narrow, (double)wide);
    }
    for (int i = 0; i < ENTRIES; i++) CHECK_MSG(seen[i] > 2, "%s has %d values", entries[i].name, seen[i]);
}

/* Ends, poles, NaN: as PyTorch answers. */
static void test_edges(void) {
    static const struct {
        const char *name;
        double a, b, value;
    } edges[] = {{"lgamma", 0, 0, INFINITY},
                 {"lgamma", -2, 0, INFINITY},
                 {"digamma", 0, 0, -INFINITY},
                 {"digamma", -3, 0, NAN},
                 {"erfinv", 1, 0, INFINITY},
                 {"erfinv", -1, 0, -INFINITY},
                 {"erfinv", 1.5, 0, NAN},
                 {"ndtri", 0, 0, -INFINITY},
                 {"ndtri", 1, 0, INFINITY},
                 {"ndtri", -0.1, 0, NAN},
                 {"i0", INFINITY, 0, INFINITY},
                 {"bessel_y0", 0, 0, -INFINITY},
                 {"bessel_y0", -1, 0, NAN},
                 {"bessel_j0", 0, 0, 1},
                 {"bessel_j1", 0, 0, 0},
                 {"zeta", 1, 2, INFINITY},
                 {"zeta", 0.5, 2, NAN},
                 {"zeta", 2, 0, INFINITY},
                 {"zeta", 2, -1, INFINITY},
                 {"igamma", 0, 1, 1},
                 {"igamma", 2, 0, 0},
                 {"igamma", 2, INFINITY, 1},
                 {"igammac", 2, INFINITY, 0},
                 {"igamma", -1, 1, NAN},
                 {"modified_bessel_k0", 0, 0, INFINITY},
                 {"modified_bessel_k0", -1, 0, NAN},
                 {"spherical_bessel_j0", 0, 0, 1},
                 {"erfcx", -30, 0, INFINITY},
                 {"erfcx", INFINITY, 0, 0},
                 {"log_ndtr", INFINITY, 0, 0},
                 {"chebyshev_polynomial_t", 0.5, -1, 0}};
    static const struct {
        double a, x, upper; /* by quadrature of the density, mpmath with 40 digits */
    } many[] = {{1e9, 1e9 + 3e4, 0.171390587401841386},
                {1e9, 1e9, 0.499995794779129943},
                {1e9, 1e9 - 5e4, 0.943078658280839443},
                {1e12, 1e12 + 2e6, 0.0227501859391187249},
                {1e20, 1e20, 0.499999999986701924}};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++) {
        double upper = call(entry_of("igammac"), many[i].a, many[i].x, OX_F64);
        CHECK_MSG(fabs(upper - many[i].upper) < 1e-11, "igammac(%g, %g): %.17g", many[i].a, many[i].x, upper);
        double lower = call(entry_of("igamma"), many[i].a, many[i].x, OX_F64);
        CHECK_MSG(fabs(lower - (1 - many[i].upper)) < 1e-11, "igamma(%g, %g): %.17g", many[i].a, many[i].x,
                  lower);
    }
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        double got = call(entry_of(edges[i].name), edges[i].a, edges[i].b, OX_F64);
        CHECK_MSG(got == edges[i].value || (isnan(got) && isnan(edges[i].value)), "%s(%g, %g): %g, not %g",
                  edges[i].name, edges[i].a, edges[i].b, got, edges[i].value);
    }
    for (int i = 0; i < ENTRIES; i++)
        if (entries[i].one) CHECK_MSG(isnan(call(&entries[i], NAN, 0, OX_F64)), "%s of NaN", entries[i].name);
}

static void test_layouts(void) {
    static const int64_t shape[3] = {3, 4, 300};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *x = random_layout((layout)l, DOMAIN_POSITIVE, 3, shape, OX_F32),
                      *y = ox_select(x, 0, 1);
            CHECK(ox_allclose(ox_lgamma(x), ox_lgamma(ox_clone(x)), 0, 0, true));
            CHECK(ox_allclose(ox_igamma(x, y), ox_igamma(ox_clone(x), ox_clone(y)), 0, 0, true));
            CHECK(ox_allclose(ox_zeta(ox_number(2), x), ox_zeta(ox_full_like(x, 2), x), 0, 0, true));
        }
    OX_SCOPE {
        ox_tensor *n = ox_arange(1, 5, 1, OX_I64), *g = ox_lgamma(n), *h = ox_digamma(ox_cast(n, OX_BF16));
        CHECK(g && g->dtype == OX_F32 && fabs(ox_item(ox_select(g, 0, 3)) - log(6)) < 1e-6);
        CHECK(h && h->dtype == OX_BF16);
        CHECK(!ox_lgamma(ox_complex(g, g)) && ox_error() == OX_ERR_DTYPE);
        CHECK_MSG(strstr(ox_error_text(), "lgamma"), "%s", ox_error_text());
        ox_error_clear();
        CHECK(ox_lgamma(ox_zeros(OX_SHAPE(0, 3), OX_F32)) != NULL);
        CHECK(fabs(ox_item(ox_entr(ox_full(OX_SCALAR_SHAPE, 0.5, OX_F64))) - 0.34657359027997264) < 1e-15);
        CHECK(fabs(ox_item(ox_ndtr(ox_full(OX_SCALAR_SHAPE, -1, OX_F64))) - 0.15865525393145707) < 1e-15);
        ox_tensor *half = ox_full(OX_SCALAR_SHAPE, 2.5, OX_F64);
        CHECK(fabs(ox_item(ox_mvlgamma(half, 3)) - 1.8809954616117746) < 1e-8);
    }
}

int main(void) {
    test_goldens();
    test_edges();
    test_layouts();
    return check_done("special");
}
#endif
