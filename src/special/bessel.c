/* Bessel functions and orthogonal polynomials on doubles. Sources: Abramowitz and Stegun, chapters 9, 10, 22;
 * Miller's backward recurrence; K by the trapezoid rule, which converges exponentially here. */

#define OXI_EULER 0.57721566490153286061

/* e^-|x| I_n: a series of positive terms up to 20, then Hankel's. */
static double oxi_scaled_i(int n, double x) {
    double size = fabs(x), sum = 1, term = 1;
    double sign = n % 2 && x < 0 ? -1 : 1;
    if (size <= 20) {
        double quarter = 0.25 * size * size;
        for (int k = 1; k < 80 && term > 1e-18 * sum; k++) sum += term *= quarter / (k * (double)(k + n));
        return sign * sum * (n ? 0.5 * size : 1) * exp(-size);
    }
    if (isinf(size)) return 0;
    for (int k = 1; k < 30; k++) {
        double odd = 2 * k - 1, next = -term * (4.0 * n * n - odd * odd) / (8 * k * size);
        if (fabs(next) >= fabs(term) || fabs(next) < 1e-18 * sum) break;
        sum += term = next;
    }
    return sign * sum / sqrt(2 * OXI_PI_F64 * size);
}
static double oxi_special_i0e(double x) {
    return x != x ? x : oxi_scaled_i(0, x);
}
static double oxi_special_i1e(double x) {
    return x != x || x == 0 ? x : oxi_scaled_i(1, x);
}
/* e^|x| in halves: it may be infinite where the product is not. */
static double oxi_unscaled(double scaled, double x) {
    double half = exp(0.5 * fabs(x));
    return isinf(x) ? half : scaled * half * half;
}
static double oxi_special_i0(double x) {
    return x != x ? x : oxi_unscaled(oxi_special_i0e(x), x);
}
static double oxi_special_i1(double x) {
    return x != x || x == 0 || isinf(x) ? x : oxi_unscaled(oxi_special_i1e(x), x);
}

/* e^x K_n(x), n any real: the integral of exp(-x (cosh t - 1)) cosh(n t) over t > 0. */
static double oxi_scaled_k_integral(double n, double x) {
    double step = x > 9 ? 0.6 / sqrt(x) : 0.2, sum = 0.5; /* a bell of that width in the end */
    for (double t = step;; t += step) {
        double s = sinh(0.5 * t), power = 2 * x * s * s, term = exp(-power) * cosh(n * t);
        sum += term;
        if (power > 45 || term < 1e-18 * sum) break;
    }
    return sum * step;
}

/* Of 0 < x < 1, by series with a logarithm. */
static double oxi_small_k(int n, double x) {
    double l = log(0.5 * x) + OXI_EULER, q = 0.25 * x * x, term = 1, harmonic = 0, sum;
    if (n == 0) {
        sum = -l;
        for (int k = 1; k < 30; k++) {
            term *= q / ((double)k * k);
            harmonic += 1.0 / k;
            sum += term * (harmonic - l);
        }
        return sum;
    }
    sum = 0;
    for (int k = 0; k < 30; k++) { /* psi(k + 1) + psi(k + 2), without Euler's constants */
        sum += term * (l - 0.5 * (2 * harmonic + 1.0 / (k + 1)));
        harmonic += 1.0 / (k + 1);
        term *= q / ((k + 1.0) * (k + 2.0));
    }
    return 1 / x + 0.5 * x * sum;
}
static double oxi_bessel_k(int n, double x, bool scaled) {
    if (x != x || x < 0) return NAN;
    if (x == 0) return INFINITY;
    if (isinf(x)) return 0;
    if (x < 1) return oxi_small_k(n, x) * (scaled ? exp(x) : 1);
    return oxi_scaled_k_integral(n, x) * (scaled ? 1 : exp(-x));
}
static double oxi_special_k0(double x) {
    return oxi_bessel_k(0, x, false);
}
static double oxi_special_k1(double x) {
    return oxi_bessel_k(1, x, false);
}
static double oxi_special_k0e(double x) {
    return oxi_bessel_k(0, x, true);
}
static double oxi_special_k1e(double x) {
    return oxi_bessel_k(1, x, true);
}

/* J0 J1 Y0 Y1 of 0 < x <= 25: all J_n from one far above down, and Neumann's sums of them for Y. */
static void oxi_bessel_miller(double x, double out[4]) {
    int start = 2 * (int)(0.5 * x + 30);
    double above = 0, now = 1e-280, even = 0, odd = 0, scale = 0, j[2];
    for (int n = start; n >= 0; n--) {
        int k = n / 2;
        double sign = k % 2 ? -1 : 1;
        if (n % 2 == 0) scale += (n ? 2 : 1) * now;
        if (n % 2 == 0 && n) even += sign * now / k;
        if (n % 2 && k) odd += sign * now * n / (k * (k + 1.0));
        if (n < 2) j[n] = now;
        double below = 2 * n / x * now - above;
        above = now;
        now = below;
        if (fabs(now) > 1e200) {
            now *= 1e-200, above *= 1e-200, even *= 1e-200, odd *= 1e-200, scale *= 1e-200;
            if (n < 2) j[n] *= 1e-200;
            if (n == 0) j[1] *= 1e-200;
        }
    }
    double l = log(0.5 * x) + OXI_EULER, c = 2 / OXI_PI_F64;
    out[0] = j[0] / scale;
    out[1] = j[1] / scale;
    out[2] = c * l * out[0] - 2 * c * even / scale;
    out[3] = -c / x * out[0] + c * (l - 1) * out[1] - c * odd / scale;
}

/* Hankel's series for J_n and Y_n of large x. */
static void oxi_bessel_hankel(int n, double x, double *j, double *y) {
    double p = 1, q = 0, term = 1, mu = 4.0 * n * n, c = cos(x), s = sin(x), r = sqrt(1 / (OXI_PI_F64 * x));
    for (int k = 1; k < 40; k++) {
        double odd = 2 * k - 1, next = term * (mu - odd * odd) / (8 * k * x);
        if (fabs(next) >= fabs(term) || fabs(next) < 1e-18) break;
        term = next;
        if (k % 2)
            q += k % 4 == 1 ? term : -term;
        else
            p += k % 4 == 0 ? term : -term;
    }
    /* cos and sin of x - pi/4 - n pi/2, times sqrt 2 */
    double co = n ? s - c : c + s, si = n ? -(c + s) : s - c;
    *j = r * (p * co - q * si);
    *y = r * (p * si + q * co);
}

static double oxi_bessel(int which, double x) { /* J0 J1 Y0 Y1 */
    double out[4], size = fabs(x), j, y;
    if (x != x) return x;
    if (which < 2) {
        if (x == 0) return which ? 0 : 1;
        if (isinf(x)) return 0;
    } else {
        if (x < 0) return NAN;
        if (x == 0) return -INFINITY;
        if (isinf(x)) return 0;
    }
    double sign = which == 1 && x < 0 ? -1 : 1;
    if (size < 1e-8 && which < 2) return which ? 0.5 * x : 1;
    if (size < 1e-8) return which == 2 ? 2 / OXI_PI_F64 * (log(0.5 * x) + OXI_EULER) : -2 / (OXI_PI_F64 * x);
    if (size <= 25) {
        oxi_bessel_miller(size, out);
        return sign * out[which];
    }
    oxi_bessel_hankel(which % 2, size, &j, &y);
    return sign * (which < 2 ? j : y);
}
static double oxi_special_j0(double x) {
    return oxi_bessel(0, x);
}
static double oxi_special_j1(double x) {
    return oxi_bessel(1, x);
}
static double oxi_special_y0(double x) {
    return oxi_bessel(2, x);
}
static double oxi_special_y1(double x) {
    return oxi_bessel(3, x);
}

static double oxi_special_spherical_j0(double x) {
    if (isinf(x)) return 0;
    if (fabs(x) < 0.1) {
        double s = x * x;
        return 1 - s / 6 * (1 - s / 20 * (1 - s / 42 * (1 - s / 72 * (1 - s / 110))));
    }
    return sin(x) / x;
}

/* ---- Airy's function: y'' = x y ------------------------------------------------------------------------ */

/* y and y' from `at` to at + h by Taylor's series. */
static void oxi_airy_step(double at, double h, double *y, double *slope) {
    double c[40], sum = 0, rise = 0;
    c[0] = *y;
    c[1] = *slope;
    c[2] = 0.5 * at * c[0];
    for (int k = 3; k < 40; k++) c[k] = (at * c[k - 2] + c[k - 3]) / (k * (k - 1.0));
    for (int k = 39; k > 0; k--) {
        sum = (sum + c[k]) * h;
        rise = rise * h + k * c[k];
    }
    *y = c[0] + sum;
    *slope = rise;
}

static double oxi_special_airy_ai(double x) {
    double y = 0.35502805388781723926, slope = -0.25881940379280679840;
    if (x != x || isinf(x)) return x != x ? x : 0;
    double z = 2.0 / 3 * fabs(x) * sqrt(fabs(x));
    if (x > 1) return x > 110 ? 0 : sqrt(x / 3) / OXI_PI_F64 * oxi_scaled_k_integral(1.0 / 3, z) * exp(-z);
    if (x > -12) {
        int steps = (int)ceil(fabs(x));
        for (int i = 0; i < steps; i++) oxi_airy_step(x / steps * i, x / steps, &y, &slope);
        return y;
    }
    double even = 1, odd = 0, term = 1; /* sin and cos of z + pi/4 with a series in 1/z */
    for (int k = 1; k < 30; k++) {
        double next = term * (6 * k - 5) * (6 * k - 3.0) * (6 * k - 1) / (216.0 * k * (2 * k - 1) * z);
        if (fabs(next) >= fabs(term) || fabs(next) < 1e-18) break;
        term = next;
        if (k % 2)
            odd += k % 4 == 1 ? term : -term;
        else
            even += k % 4 == 0 ? term : -term;
    }
    double c = cos(z), s = sin(z), r = 1 / sqrt(2 * OXI_PI_F64 * sqrt(-x));
    return r * ((s + c) * even - (c - s) * odd);
}

/* ---- orthogonal polynomials ---------------------------------------------------------------------------- */

/* Three terms: p[k + 1] = (a x + b) p[k] - c p[k - 1], from 1 and `first`; as torch's, the degree is cut. */
typedef enum oxi_polynomial {
    OXI_CHEBYSHEV,
    OXI_HERMITE,
    OXI_HERMITE_E,
    OXI_LAGUERRE,
    OXI_LEGENDRE
} oxi_polynomial;
static double oxi_three_terms(oxi_polynomial kind, double x, int64_t n, double first) {
    double p = 1, q = first;
    if (n < 0) return 0;
    if (n == 0) return 1;
    for (int64_t i = 1; i < n && q == q; i++) {
        double k = (double)i, next;
        switch (kind) {
        case OXI_HERMITE: next = 2 * x * q - 2 * k * p; break;
        case OXI_HERMITE_E: next = x * q - k * p; break;
        case OXI_LAGUERRE: next = ((2 * k + 1 - x) * q - k * p) / (k + 1); break;
        case OXI_LEGENDRE: next = ((2 * k + 1) * x * q - k * p) / (k + 1); break;
        default: next = 2 * x * q - p;
        }
        p = q;
        q = next;
    }
    return q;
}
/* A degree as a number of recurrences: beyond 2^24 none ends. */
static int64_t oxi_degree(double n) {
    return n != n || n <= -1 ? -1 : n > 16777216 ? 16777216 : (int64_t)n;
}
static double oxi_parity(int64_t n, double odd) {
    return n % 2 ? odd : -odd;
}

static double oxi_special_chebyshev_t(double x, double degree) {
    int64_t n = oxi_degree(degree);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
    if (n > 6 && fabs(x) < 1) return cos((double)n * acos(x));
    return oxi_three_terms(OXI_CHEBYSHEV, x, n, x);
}
static double oxi_special_chebyshev_u(double x, double degree) {
    int64_t n = oxi_degree(degree);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 || n % 2 == 0 ? (double)n + 1 : -((double)n + 1);
    if (n > 8 && fabs(x) < 1) return sin(((double)n + 1) * acos(x)) / sin(acos(x));
    return oxi_three_terms(OXI_CHEBYSHEV, x, n, 2 * x);
}
static double oxi_special_chebyshev_v(double x, double degree) {
    int64_t n = oxi_degree(degree);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 ? 1 : oxi_parity(n, -(2 * (double)n + 1));
    if (n > 8 && fabs(x) < 1) return cos(((double)n + 0.5) * acos(x)) / cos(acos(x) / 2);
    return oxi_three_terms(OXI_CHEBYSHEV, x, n, 2 * x - 1);
}
static double oxi_special_chebyshev_w(double x, double degree) {
    int64_t n = oxi_degree(degree);
    if (n < 0) return 0;
    if (fabs(x) == 1) return x > 0 ? 2 * (double)n + 1 : oxi_parity(n, -1);
    if (n > 8 && fabs(x) < 1) return sin(((double)n + 0.5) * acos(x)) / sin(acos(x) / 2);
    return oxi_three_terms(OXI_CHEBYSHEV, x, n, 2 * x + 1);
}
static double oxi_special_shifted_t(double x, double n) {
    return oxi_special_chebyshev_t(2 * x - 1, n);
}
static double oxi_special_shifted_u(double x, double n) {
    return oxi_special_chebyshev_u(2 * x - 1, n);
}
static double oxi_special_shifted_v(double x, double n) {
    return oxi_special_chebyshev_v(2 * x - 1, n);
}
static double oxi_special_shifted_w(double x, double n) {
    return oxi_special_chebyshev_w(2 * x - 1, n);
}
static double oxi_special_hermite_h(double x, double n) {
    return oxi_three_terms(OXI_HERMITE, x, oxi_degree(n), 2 * x);
}
static double oxi_special_hermite_he(double x, double n) {
    return oxi_three_terms(OXI_HERMITE_E, x, oxi_degree(n), x);
}
static double oxi_special_laguerre(double x, double n) {
    return oxi_three_terms(OXI_LAGUERRE, x, oxi_degree(n), 1 - x);
}
static double oxi_special_legendre(double x, double degree) {
    int64_t n = oxi_degree(degree);
    if (n >= 0 && fabs(x) == 1) return x > 0 || n % 2 == 0 ? 1 : -1;
    return oxi_three_terms(OXI_LEGENDRE, x, n, x);
}
