/* The elementwise kernels as tables: an op and its formula on vectors, which kernels/map.inc makes into a
 * kernel per tier. In a formula x (or a, b, c) are the operands' vectors and f0, f1, f2 the attributes
 * f[0..2]. The op is as in ops/ops.def. */
#ifndef OX_CPU_KERNELS_MAP_ROWS_H
#define OX_CPU_KERNELS_MAP_ROWS_H

/* f32 and f64 have these in the same words: v(name) is vf_name or vd_name. The first of each kind are
 * arithmetic, which f64 has on wide tiers too. */
#define OXI_MAP_1_ARITHMETIC(X, v) \
    X(abs, v(abs)(x)) \
    X(neg, v(neg)(x)) \
    X(square, v(mul)(x, x)) \
    X(sqrt, v(sqrt)(x)) \
    X(reciprocal, v(div)(one, x)) \
    X(relu, v(max)(v(zero)(), x))
#define OXI_MAP_1_PLAIN(X, v) \
    X(sign, v(select)(v(gt)(x, v(zero)()), one, v(select)(v(lt)(x, v(zero)()), v(neg)(one), v(zero)()))) \
    X(floor, v(floor)(x)) \
    X(ceil, v(ceil)(x)) \
    X(round, v(round)(x)) \
    X(trunc, v(trunc)(x)) \
    X(frac, v(sub)(x, v(trunc)(x))) \
    X(rsqrt, v(div)(one, v(sqrt)(x))) \
    X(relu6, v(min)(v(set1)(6), v(max)(v(zero)(), x))) \
    X(leaky_relu, v(select)(v(gt)(x, v(zero)()), x, v(mul)(x, f0))) \
    X(softsign, v(div)(x, v(add)(one, v(abs)(x)))) \
    X(hardsigmoid, v(div)(v(min)(v(set1)(6), v(max)(v(zero)(), v(add)(x, v(set1)(3)))), v(set1)(6))) \
    X(hardswish, v(mul)(x, v(div)(v(min)(v(set1)(6), v(max)(v(zero)(), v(add)(x, v(set1)(3)))), \
                                  v(set1)(6)))) \
    X(threshold, v(select)(v(le)(x, f0), f1, x)) \
    X(clamp, v(select)(v(unord)(f0, f1), v(add)(f0, f1), v(min)(f1, v(max)(f0, x)))) \
    X(nan_to_num, v(select)(v(unord)(x, x), f0, v(select)(v(eq)(x, v(set1)(INFINITY)), f1, \
                  v(select)(v(eq)(x, v(set1)(-INFINITY)), f2, x))))

#define OXI_MAP_2_ARITHMETIC(X, v) \
    X(mul, v(mul)(a, b)) \
    X(div, v(div)(a, b)) \
    X(maximum, v(select)(v(unord)(a, b), v(add)(a, b), v(max)(a, b))) \
    X(minimum, v(select)(v(unord)(a, b), v(add)(a, b), v(min)(a, b)))
#define OXI_MAP_2_PLAIN(X, v) \
    X(trunc_divide, v(trunc)(v(div)(a, b))) \
    X(copysign, v(copysign)(a, b))

/* torch's lerp works from the nearer end, so that weight 1 gives b. */
#define OXI_MAP_3_PLAIN(X, v) \
    X(lerp, v(select)(v(lt)(v(abs)(c), v(set1)(0.5)), v(fma)(c, v(sub)(b, a), a), \
            v(fnma)(v(sub)(b, a), v(sub)(one, c), b))) \
    X(addcmul, v(fma)(v(mul)(f0, b), c, a)) \
    X(addcdiv, v(add)(a, v(div)(v(mul)(f0, b), c)))

/* Results are masks. m(name) is vm_name or vmd_name. */
#define OXI_MAP_1_BOOL(X, v, m) \
    X(isnan, v(unord)(x, x)) \
    X(isinf, v(eq)(v(abs)(x), v(set1)(INFINITY))) \
    X(isfinite, v(lt)(v(abs)(x), v(set1)(INFINITY))) \
    X(logical_not, v(eq)(x, v(zero)()))

#define OXI_MAP_2_BOOL(X, v, m) \
    X(eq, v(eq)(a, b)) \
    X(ne, v(ne)(a, b)) \
    X(lt, v(lt)(a, b)) \
    X(le, v(le)(a, b)) \
    X(gt, v(gt)(a, b)) \
    X(ge, v(ge)(a, b)) \
    X(logical_and, m(and)(v(ne)(a, v(zero)()), v(ne)(b, v(zero)()))) \
    X(logical_or, m(or)(v(ne)(a, v(zero)()), v(ne)(b, v(zero)()))) \
    X(logical_xor, m(not)(m(or)(m(and)(v(eq)(a, v(zero)()), v(eq)(b, v(zero)())), \
                                m(and)(v(ne)(a, v(zero)()), v(ne)(b, v(zero)())))))

/* f32 only, natively. */
#define OXI_MAP_1_F32(X) \
    X(exp, vf_exp(x)) X(exp2, vf_exp2(x)) X(log, vf_log(x)) X(log2, vf_log2(x)) \
    X(log1p, vf_log1p(x)) X(tanh, vf_tanh(x)) X(sigmoid, vf_sigmoid(x)) \
    X(erf, vf_erf(x)) X(sin, vf_sin(x)) X(cos, vf_cos(x)) X(gelu, vf_gelu(x)) X(gelu_tanh, vf_gelu_tanh(x)) \
    X(silu, vf_silu(x)) X(logsigmoid, vf_logsigmoid(x))

#define OXI_MAP_2_F32(X) \
    X(silu_mul, vf_mul(vf_silu(a), b)) \
    X(gelu_mul, vf_mul(vf_gelu_tanh(a), b))

/* f32 only, computed in f64 lanes and rounded once. */
#define OXI_MAP_1_WIDE(X) \
    X(expm1, vd_expm1(x)) \
    X(log10, vd_mul(vd_log(x), vd_set1(0.43429448190325183))) \
    X(tan, vd_tan(x)) X(asin, vd_asin(x)) X(acos, vd_acos(x)) X(atan, vd_atan(x)) \
    X(sinh, vd_sinh(x)) X(cosh, vd_cosh(x)) X(asinh, vd_asinh(x)) X(acosh, vd_acosh(x)) \
    X(atanh, vd_atanh(x)) X(erfc, vd_erfc(x)) X(mish, vd_mish(x)) \
    X(elu, vd_elu(x, f0, one)) \
    X(celu, vd_elu(x, f0, vd_div(one, f0))) \
    X(selu, vd_mul(vd_set1(1.0507009873554805), vd_elu(x, vd_set1(1.6732632423543772), one)))

#define OXI_MAP_2_WIDE(X) \
    X(pow, vd_pow(a, b)) X(atan2, vd_atan2(a, b)) X(hypot, vd_hypot(a, b)) X(fmod, vd_fmod(a, b)) \
    X(remainder, vd_remainder(a, b)) X(floor_divide, vd_floor_divide(a, b))

#endif
