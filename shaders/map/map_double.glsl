// map_double.glsl - functions of f64. REAL is double.

#include "map/map_plain.glsl"

double elu_of(const double x, const double alpha, const double inner) {
    precise double r = alpha * my_expm1(x * inner);
    return x < 0 ? r : x;
}
double gelu_tanh_of(const double x) {
    precise double inner = x * (1.5957691216057308lf + 0.07135481627260025lf * x * x);
    return x * my_sigmoid(inner);
}
double remainder_of(const double a, const double b) {
    double rest = my_fmod(a, b);
    return rest != 0 && (b < 0) != (rest < 0) ? rest + b : rest;
}
double floor_divide_of(const double a, const double b) {
    double plain = quotient(a, b), rest = my_fmod(a, b);
    if (!is_something(b) || is_nan(rest)) return is_something(b) ? rest : plain;
    precise double whole = quotient(a - rest, b) - (rest != 0 && (b < 0) != (rest < 0) ? 1 : 0);
    return whole == 0 ? with_sign(0, plain) : roundEven(whole);
}
double mapped_further(const uint op, const double a, const double b, const double c, const double f0,
                      const double f1, const double f2) {
    switch (op) {
#include "tables/map_double_cases.glsl"
    default: return mapped(op, a, b, c, f0, f1, f2);
    }
}
