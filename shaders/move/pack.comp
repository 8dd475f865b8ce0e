// pack.comp - pack.glsl for the types of 32 numbers: an invocation makes a block.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "move/pack.glsl"

const uint FIVE = DTYPE == Q5_0 || DTYPE == Q5_1 ? 1 : 0;
const bool CENTRED = DTYPE == Q4_0 || DTYPE == Q5_0 || DTYPE == Q8_0;
const uint BYTES = DTYPE == Q8_0 ? BYTES_Q8_0 : 16 + 4 * FIVE + (CENTRED ? 2 : 4);
#define MOST (FIVE == 1 ? 31.0 : 15.0)
#define HALF_WAY (FIVE == 1 ? 16.0 : 8.0)

// The first number that equals v: which zero, and which sign of the largest magnitude.
float first_equal(const uint from, const float v, const bool any_sign) {
    for (uint i = 0; i < 32; i++) {
        float x = number_at(from + i);
        if (x == v || (any_sign && x == -v)) return x;
    }
    return v;
}
// Halves are rounded away from zero.
uint signed_code(const float x) {
    precise float v = x > -127 ? x : -127;
    v = v < 127 ? v : 127;
    int whole = int(v);
    precise float rest = v - float(whole);
    return uint(whole + (rest >= 0.5 ? 1 : 0) - (rest <= -0.5 ? 1 : 0)) & 0xff;
}

void main() {
    uint block = group_index() * THREADS + gl_LocalInvocationID.x;
    if (block >= P_blocks) return;
    uint from = P_from + 32 * block, to = P_to + BYTES * block;
    uint word = 0, fifths = 0, low_nibbles[4];
    float low = number_at(from), high = low;
    bool whole = true;
    for (uint i = 0; i < 32; i++) {
        float x = number_at(from + i);
        low = x < low ? x : low;
        high = x > high ? x : high;
        whole = whole && is_finite(x);
    }
    precise float d, least = 0, v;
    if (DTYPE == Q8_0) {
        d = quotient(high > -low ? high : size_of(low), 127);
    } else if (CENTRED) { /* the number of the largest magnitude is code 0 */
        d = high > -low ? high : low;
        if (high == -low) d = high == 0 ? 0 : first_equal(from, high, true);
        d = d * (-1 / HALF_WAY);
    } else {
        d = high - low;
        d = quotient(d, MOST);
        least = first_equal(from, low, false);
    }
    float inverse = d != 0 ? quotient(1, d) : 0;
    put_half(to, whole ? half_of(d) : HALF_NAN);
    if (!CENTRED) put_half(to + 2, whole ? half_of(least) : HALF_NAN);
    to += CENTRED ? 2 : 4;
    for (uint i = 0; i < 32; i++) {
        v = number_at(from + i) - least;
        v = v * inverse;
        uint code;
        if (DTYPE == Q8_0) {
            code = whole ? signed_code(v) : 0;
        } else {
            v = v + (CENTRED ? HALF_WAY + 0.5 : 0.5);
            v = v > 0 ? v : 0;
            code = whole ? uint(v < MOST ? v : MOST) : 0;
            fifths |= code >> 4 << i;
            code &= 15;
        }
        word |= code << (8 * (i & 3));
        if ((i & 3) != 3) continue;
        if (DTYPE == Q8_0) put_word(to + i - 3, word);
        else if (i < 16) low_nibbles[i / 4] = word;
        else put_word(to + 4 * FIVE + i - 19, low_nibbles[i / 4 - 4] | word << 4);
        word = 0;
    }
    if (FIVE == 1) put_word(to, fifths);
}
