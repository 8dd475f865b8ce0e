/* The gamma function's family, and erf's, on doubles. Sources: Abramowitz and Stegun, chapters 6, 7, 23; the
 * incomplete gamma function as in Gautschi 1979. */

static double oxi_special_lgamma(double x) {
    return lgamma(x);
}

/* log x - 1/2x - sum B2k / (2k x^2k), from 10 on; below by psi(x) = psi(x + 1) - 1/x, and by reflection. */
static double oxi_special_digamma(double x) {
    static const double b[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                               1.0 / 132, -691.0 / 32760, 1.0 / 12};
    double less = 0;
    if (x == 0) return copysign(INFINITY, -x);
    if (x < 0) {
        if (x == floor(x)) return NAN;
        double part = x - floor(x); /* tan has its period exactly */
        return oxi_special_digamma(1 - x) - OXI_PI_F64 / tan(OXI_PI_F64 * part);
    }
    for (; x < 10; x++) less += 1 / x;
    if (x > 1e17) return log(x) - less;
    double sum = 0, square = 1 / (x * x);
    for (int i = 6; i >= 0; i--) sum = (sum + b[i]) * square;
    return log(x) - 0.5 / x - sum - less;
}

/* Euler and Maclaurin's sum: terms up to q + 9, then an integral and derivatives. */
static double oxi_special_zeta(double s, double q) {
    /* (2k)! / B2k */
    static const double a[] = {12.0,
                               -720.0,
                               30240.0,
                               -1209600.0,
                               47900160.0,
                               -1.8924375803183791606e9,
                               7.47242496e10,
                               -2.950130727918164224e12,
                               1.1646782814350067249e14,
                               -4.5979787224074726105e15,
                               1.8152105401943546773e17,
                               -7.1661652561756670113e18};
    if (s == 1) return INFINITY;
    if (s < 1 || s != s || q != q) return NAN;
    if (q <= 0 && q == floor(q)) return INFINITY;
    if (q <= 0 && s != floor(s)) return NAN;
    double sum = pow(q, -s), b = 0, at = q;
    for (int i = 0; i < 9 || at <= 9; i++) {
        at += 1;
        b = pow(at, -s);
        sum += b;
        if (fabs(b) < 1e-17 * fabs(sum)) return sum;
    }
    sum += b * at / (s - 1) - 0.5 * b;
    double factor = 1, k = 0;
    for (int i = 0; i < 12; i++) {
        factor *= s + k;
        b /= at;
        double term = factor * b / a[i];
        sum += term;
        if (fabs(term) < 1e-17 * fabs(sum)) break;
        factor *= s + k + 1;
        b /= at;
        k += 2;
    }
    return sum;
}

static double oxi_special_trigamma(double x) {
    if (x == INFINITY) return 0;
    if (x > 0 || x != x) return oxi_special_zeta(2, x);
    if (x == floor(x)) return INFINITY;
    double s = sin(OXI_PI_F64 * (x - floor(x)));
    return OXI_PI_F64 * OXI_PI_F64 / (s * s) - oxi_special_zeta(2, 1 - x);
}

static double oxi_special_polygamma(double n, double x) {
    if (n == 0) return oxi_special_digamma(x);
    if (n == 1) return oxi_special_trigamma(x);
    return (fmod(n, 2) == 0 ? -1 : 1) * tgamma(n + 1) * oxi_special_zeta(n + 1, x);
}

/* ---- erf ----------------------------------------------------------------------------------------------- */

/* e^(x x) with the rounding of x x made good. */
static double oxi_exp_of_square(double x) {
    double high = x * x, low = fma(x, x, -high);
    return exp(high) * (1 + low);
}

static double oxi_special_erfcx(double x) {
    if (x < 0) return x < -26.7 ? INFINITY : 2 * oxi_exp_of_square(x) - oxi_special_erfcx(-x);
    if (x < 12) return oxi_exp_of_square(x) * erfc(x);
    if (x > 1e8) return 0.56418958354775628695 / x;
    double f = x; /* 1 / (x + 1/2 / (x + 1 / (x + 3/2 / ...))) / sqrt(pi) */
    for (int k = 24; k >= 1; k--) f = x + 0.5 * k / f;
    return 0.56418958354775628695 / f;
}

/* y with erfc(y) = c, of 0 < c <= 1: an asymptotic guess, then Halley's steps on the log. */
static double oxi_erfc_inverse(double c) {
    double l = sqrt(-2 * log(0.5 * c)), y;
    if (c == 0) return INFINITY;
    if (c == 1) return 0;
    if (c > 0.4) { /* near 0 by its series */
        double t = 0.88622692545275801365 * (1 - c);
        y = t + t * t * t / 3;
    } else
        y = (l - (2.515517 + l * (0.802853 + l * 0.010328)) /
                     (1 + l * (1.432788 + l * (0.189269 + l * 0.001308)))) *
            0.70710678118654752440;
    for (int i = 0; i < 4; i++) {
        double slope = 1.12837916709551257390 * exp(-y * y), e = (erfc(y) - c) / slope;
        y += e / (1 - y * e); /* Halley: the second derivative is -2 y of the first */
        if (fabs(e) < 1e-17 * fabs(y)) break;
    }
    return y;
}

static double oxi_special_erfinv(double x) {
    double size = fabs(x);
    if (size > 1 || x != x) return NAN;
    if (size == 1) return copysign(INFINITY, x);
    if (size > 0.6) return copysign(oxi_erfc_inverse(1 - size), x);
    double t = 0.88622692545275801365 * x, y = t + t * t * t / 3;
    for (int i = 0; i < 4; i++) {
        double e = (erf(y) - x) * exp(y * y) * 0.88622692545275801365;
        y -= e / (1 + y * e);
    }
    return x == 0 ? x : y;
}

static double oxi_special_ndtri(double p) {
    if (!(p >= 0 && p <= 1)) return NAN;
    if (p == 0) return -INFINITY;
    if (p == 1) return INFINITY;
    if (p <= 0.5) return -1.41421356237309504880 * oxi_erfc_inverse(2 * p);
    return 1.41421356237309504880 *
           (p < 0.75 ? oxi_special_erfinv(2 * p - 1) : oxi_erfc_inverse(2 * (1 - p)));
}

static double oxi_special_log_ndtr(double x) {
    double t = x * 0.70710678118654752440;
    if (x < -1) return log(0.5 * oxi_special_erfcx(-t)) - t * t;
    return log1p(-0.5 * erfc(t));
}

/* ---- the incomplete gamma function --------------------------------------------------------------------- */

/* log(1 + m) - m of m = (x - a) / a, a times which is log(x^a e^-x / (a^a e^-a)). */
static double oxi_gamma_exponent(double a, double x) {
    double m = (x - a) / a;
    if (fabs(m) >= 0.1) return log(x / a) - m;
    double power = m * m, sum = 0;
    for (int k = 2; k < 40; k++, power *= -m) sum -= power / k;
    return sum;
}

/* x^a e^-x / Gamma(a + 1). */
static double oxi_gamma_factor(double a, double x) {
    if (a < 20) return exp(a * log(x) - x - lgamma(a + 1));
    double exponent = a * oxi_gamma_exponent(a, x);
    double r = 1 / a, square = r * r; /* of Stirling's series */
    double rest = r * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680)));
    return exp(exponent - rest) / sqrt(2 * OXI_PI_F64 * a);
}

/* The lower function by its series, the upper by its continued fraction (Lentz); *upper says which. */
static double oxi_incomplete_gamma(double a, double x, bool *upper) {
    *upper = x > 1.1 && x > a;
    double factor = oxi_gamma_factor(a, x);
    if (!*upper) {
        double term = 1, sum = 1;
        for (double k = 1; k < 1e6 && term > 1e-17 * sum; k++) sum += term *= x / (a + k);
        return factor * sum;
    }
    double b = x + 1 - a, c = 1e300, d = 1 / (b != 0 ? b : 1e-300), h = d;
    for (double i = 1; i < 1e6; i++) {
        double n = -i * (i - a);
        b += 2;
        d = n * d + b;
        c = b + n / c;
        d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
        if (fabs(c) < 1e-300) c = 1e-300;
        h *= d * c;
        if (fabs(d * c - 1) < 1e-16) break;
    }
    return factor * a * h;
}

/* Where a is so large that both take too many terms: the normal distribution (DLMF 8.12, its first term). */
static double oxi_gamma_of_many(double a, double x, bool lower) {
    double e = oxi_gamma_exponent(a, x), t = copysign(sqrt(-2 * e), x - a), m = (x - a) / a;
    double c = fabs(t) < 0.01 ? t / 12 - t * t * 2 / 135 - 1.0 / 3 : 1 / m - 1 / t;
    double rest = c * exp(a * e) / sqrt(2 * OXI_PI_F64 * a), z = t * sqrt(a / 2);
    return lower ? erfc(-z) / 2 - rest : erfc(z) / 2 + rest;
}

static double oxi_gamma_part(double a, double x, bool lower) {
    bool upper;
    if (!(a >= 0 && x >= 0) || (isinf(a) && isinf(x)) || (a == 0 && x == 0)) return NAN;
    if (a == 0 || isinf(x)) return lower;
    if (x == 0 || isinf(a)) return !lower;
    if (a > 1e8) return oxi_gamma_of_many(a, x, lower);
    double part = oxi_incomplete_gamma(a, x, &upper);
    return upper == lower ? 1 - part : part;
}
static double oxi_special_igamma(double a, double x) {
    return oxi_gamma_part(a, x, true);
}
static double oxi_special_igammac(double a, double x) {
    return oxi_gamma_part(a, x, false);
}
