// philox.glsl - random bits that depend on the element, the seed and the call's counter alone, as
// cpu/generate/random.c describes, and what is made of them; with DOUBLE defined also the logarithms that
// random numbers need. The includer has seed and counter among its parameters.

// Philox4x32-10 (Salmon et al. 2011).
uvec4 philox(const uvec2 block) {
    uvec4 c = uvec4(block, P_counter);
    uvec2 key = P_seed;
    for (uint i = 0; i < 10; i++) {
        uint high0, low0, high1, low1;
        umulExtended(0xD2511F53u, c.x, high0, low0);
        umulExtended(0xCD9E8D57u, c.z, high1, low1);
        c = uvec4(high1 ^ c.y ^ key.x, low1, high0 ^ c.w ^ key.y, low0);
        key += uvec2(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}
// v 2^-n of an integer, as f64.
uvec2 fraction(const uvec2 v, const uint n) {
    uvec2 bits = f64_of_u64(v);
    return (bits.x | bits.y) == 0 ? bits : uvec2(bits.x, bits.y - (n << 20));
}
#ifdef DOUBLE
#include "math/math_double.glsl"

// log u for u in [2^-53, 1]: u = m 2^k with m around 1, log m = 2 atanh((m - 1) / (m + 1)) by its series;
// the CPU's steps, whose bits count here.
double log_of(const double u) {
    uvec2 bits = bits_of(u), over = minus(bits, uvec2(0x667f3bcdu, 0x3fe6a09eu)); /* sqrt(1/2) */
    int k = int(over.y) >> 20;
    precise double m = packDouble2x32(uvec2(bits.x, bits.y - (uint(k) << 20)));
    precise double s = quotient(m - 1.0lf, m + 1.0lf), z = s * s, sum = z * (1.0lf / 21.0lf) + 1.0lf / 19.0lf;
    sum = sum * z + 1.0lf / 17.0lf;
    sum = sum * z + 1.0lf / 15.0lf;
    sum = sum * z + 1.0lf / 13.0lf;
    sum = sum * z + 1.0lf / 11.0lf;
    sum = sum * z + 1.0lf / 9.0lf;
    sum = sum * z + 1.0lf / 7.0lf;
    sum = sum * z + 1.0lf / 5.0lf;
    sum = sum * z + 1.0lf / 3.0lf;
    sum = sum * z + 1.0lf;
    sum = double(k) * 0.69314718055994531lf + 2.0lf * s * sum;
    return sum;
}
#endif
