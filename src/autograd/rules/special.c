/* Gradients of the special functions: derivatives in other ones. Those that PyTorch does not differentiate
 * (Bessel functions but I, polynomials, Airy's, zeta) have none here either. */

/* sign(x) with 1 at 0, where the other factor is taken care of. */
static ox_tensor *oxi_special_i1_slope(ox_tensor *x, ox_tensor *y, bool scaled) {
    ox_tensor *zero = ox_eq_number(x, 0), *safe = ox_where(zero, ox_number(1), x);
    ox_tensor *other = ox_div(y, safe);
    if (scaled) other = ox_add(other, ox_mul(y, ox_sign(x)));
    return ox_where(zero, ox_number(0.5), ox_sub(scaled ? ox_i0e(x) : ox_i0(x), other));
}

/* x^(a - 1) e^-x / Gamma(a), the derivative of igamma by x. */
static ox_tensor *oxi_special_gamma_density(ox_tensor *a, ox_tensor *x) {
    ox_tensor *power = ox_sub(ox_mul(ox_sub_number(a, 1), ox_log(x)), x);
    return ox_exp(ox_sub(power, ox_lgamma(a)));
}

static ox_tensor *oxi_special_slope(int64_t function, ox_tensor *a, ox_tensor *x, ox_tensor *y) {
    switch (function) {
    case OXI_SPECIAL_lgamma: return ox_digamma(a);
    case OXI_SPECIAL_digamma: return ox_polygamma(1, a);
    case OXI_SPECIAL_polygamma: return ox_polygamma((int64_t)ox_item(a) + 1, x);
    case OXI_SPECIAL_erfinv: return ox_mul_number(ox_exp(ox_square(y)), 0.88622692545275801365);
    case OXI_SPECIAL_erfcx: return ox_sub_number(ox_mul_number(ox_mul(a, y), 2), 1.12837916709551257390);
    case OXI_SPECIAL_ndtri:
        return ox_mul_number(ox_exp(ox_mul_number(ox_square(y), 0.5)), 2.50662827463100050242);
    case OXI_SPECIAL_log_ndtr: /* the density over the distribution */
        return ox_rdiv_number(ox_erfcx(ox_mul_number(a, -0.70710678118654752440)), 0.79788456080286535588);
    case OXI_SPECIAL_i0: return ox_i1(a);
    case OXI_SPECIAL_i0e: return ox_sub(ox_i1e(a), ox_mul(ox_sign(a), y));
    case OXI_SPECIAL_i1: return oxi_special_i1_slope(a, y, false);
    case OXI_SPECIAL_i1e: return oxi_special_i1_slope(a, y, true);
    case OXI_SPECIAL_igamma: return oxi_special_gamma_density(a, x);
    case OXI_SPECIAL_igammac: return ox_neg(oxi_special_gamma_density(a, x));
    default: return NULL;
    }
}

OXI_GRADIENT_RULE(special) {
    static const char *const names[] = {
#define OXI_SPECIAL(name, operands, f64) #name,
#include "special/special.def"
    };
    int64_t function = b->call->attr.special.function;
    bool second = function == OXI_SPECIAL_polygamma || function == OXI_SPECIAL_igamma ||
                  function == OXI_SPECIAL_igammac;
    int by = second ? 1 : 0;
    ox_tensor *y = b->out[0], *slope = NULL;
    if (b->wants[by] && function >= 0 && function < OXI_SPECIAL_COUNT)
        slope = oxi_special_slope(function, b->call->in[0], b->call->in[1], y);
    if (!slope && ox_error() == OX_OK)
        return oxi_fail(OX_ERR_UNSUPPORTED, "%s: has no derivative by operand %d",
                        function >= 0 && function < OXI_SPECIAL_COUNT ? names[function] : "special",
                        b->wants[by] ? by + 1 : 2 - by);
    return slope ? oxi_gives(b, by, ox_mul(b->g[0], slope)) : ox_error();
}
