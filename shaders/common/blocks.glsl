// blocks.glsl - block types: four neighbors of a row as floats. Layouts are ggml's; roundings are in its
// order. A shader defines WEIGHTS, the words that hold the blocks, and WIDE_WEIGHTS, the same in sixteens
// of bytes, before the include; where it takes iq1, iq2 and iq3, BOOKS and BOOKS_AT, the words of their
// books (oxi_groups of cpu/product/blocks_iq.c: groups of eight or four numbers, each a byte) and the
// first of them; IN_EIGHTS where only block_eight is used; KEEPS_SUBNORMALS where the numbers themselves
// are asked for, not their products with others. Places are bytes.

#include "common/words.glsl"

#include "tables/block_dtype.glsl"

bool is_block(const uint dtype) {
    return dtype >= Q4_0;
}

uint byte_at(const uint b) {
    return WEIGHTS.d[b >> 2] >> ((b & 3) * 8) & 0xff;
}
uint short_at(const uint b) {
    return (b & 1) == 0 ? WEIGHTS.d[b >> 2] >> ((b & 2) * 8) & 0xffff : byte_at(b) | byte_at(b + 1) << 8;
}
float half_at(const uint b) {
    return uintBitsToFloat(f32_of_f16(short_at(b)));
}
// Nibble number i of the bytes at b.
uint nibble_at(const uint b, const uint i) {
    return byte_at(b + i / 2) >> (4 * (i & 1)) & 15;
}
// Four bytes; all of them belong to the row.
uint word_at(const uint b) {
    uint s = (b & 3) * 8, low = WEIGHTS.d[b >> 2];
    return s == 0 ? low : low >> s | WEIGHTS.d[(b >> 2) + 1] << (32 - s);
}

const int TABLE_IQ4[16] = int[](-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
const int TABLE_E2M1[16] = int[](0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
vec4 looked_up_iq4(const uvec4 q) {
    return vec4(TABLE_IQ4[q.x], TABLE_IQ4[q.y], TABLE_IQ4[q.z], TABLE_IQ4[q.w]);
}
vec4 looked_up_e2m1(const uvec4 q) {
    return vec4(TABLE_E2M1[q.x], TABLE_E2M1[q.y], TABLE_E2M1[q.z], TABLE_E2M1[q.w]);
}
#ifdef KEEPS_SUBNORMALS
// e2m1 by the scales of MXFP4 that are subnormal: 2^-127 for e = 1, where it has the bits of an f32 but for
// its width, and half of it for e = 0.
vec4 least_e2m1(const uvec4 q, const uint e) {
    uvec4 size = (q & 7) << 22;
    if (e == 0) size = mix(size - 0x800000u, size >> 1, lessThan(q & 7, uvec4(4)));
    return uintBitsToFloat(size | mix((q & 8) << 28, uvec4(0), equal(size, uvec4(0))));
}
#endif

// The low or, from place 16 of 32 on, the high nibbles of the bytes at `quants`.
uvec4 nibbles(const uint quants, const uint i) {
    return bytes_of(word_at(quants + (i & 15))) >> (i >= 16 ? 4 : 0) & 15;
}
// Bit i, i + 1, .. of the 32 at b, as 16s.
uvec4 fifth_bits(const uint b, const uint i) {
    uint bits = word_at(b) >> i;
    return uvec4(bits << 4, bits << 3, bits << 2, bits << 1) & 16;
}
// Scale and minimum number `i` of the 12 bytes of Q4_K and Q5_K.
vec2 six_bits(const uint scales, const uint i) {
    if (i < 4) return vec2(byte_at(scales + i) & 63, byte_at(scales + i + 4) & 63);
    uint both = byte_at(scales + i + 4);
    return vec2((both & 15) | byte_at(scales + i - 4) >> 6 << 4, both >> 4 | byte_at(scales + i) >> 6 << 4);
}

#ifdef BOOKS
// ---- iq1, iq2, iq3: numbers i .. i + 3 of the block at b come from group `group` of a book ----

#include "tables/book.glsl"

vec4 in_book(const uint group, const uint upper) {
    return vec4(bytes_of(BOOKS.d[BOOKS_AT + 2 * group + upper]));
}
// Bit j of the four that are meant: number j is negative.
vec4 with_signs(const vec4 r, const uint signs) {
    return mix(r, -r, notEqual(uvec4(signs) & uvec4(1, 2, 4, 8), uvec4(0)));
}
// Seven signs and an eighth that makes the number of minus signs even.
uint even_signs(const uint seven) {
    return seven | (bitCount(seven) & 1) << 7;
}
vec4 book_numbers(const uint dtype, const uint b, const uint i) {
    uint n = i / 8, part = i / 32, j = n & 3, upper = i >> 2 & 1, high;
    bool one = dtype == IQ1_S || dtype == IQ1_M;
    float less = 8, scale = dtype == IQ1_M ? 0 : half_at(b);
    uint group, half_of = upper, signs = 0;
    switch (dtype) {
    case IQ2_XXS:
        high = word_at(b + 6 + 8 * part);
        group = BOOK_IQ2_XXS + byte_at(b + 2 + 8 * part + j);
        signs = even_signs(high >> (7 * j) & 127);
        scale *= (0.5 + float(high >> 28)) * 0.25;
        break;
    case IQ2_XS:
        high = short_at(b + 2 + 2 * n);
        group = BOOK_IQ2_XS + (high & 511);
        signs = even_signs(high >> 9);
        scale *= (0.5 + float(nibble_at(b + 66, i / 16))) * 0.25;
        break;
    case IQ2_S:
        group = BOOK_IQ2_S + (byte_at(b + 2 + n) | (byte_at(b + 66 + n / 4) >> (2 * j) & 3) << 8);
        signs = byte_at(b + 34 + n);
        scale *= (0.5 + float(nibble_at(b + 74, i / 16))) * 0.25;
        break;
    case IQ3_XXS:
        high = word_at(b + 66 + 4 * part);
        group = BOOK_IQ3_XXS + byte_at(b + 2 + 2 * n + upper);
        half_of = 0;
        signs = even_signs(high >> (7 * j) & 127);
        scale *= (0.5 + float(high >> 28)) * 0.5;
        break;
    case IQ3_S:
        high = byte_at(b + 66 + n / 4) >> (2 * j + upper) & 1;
        group = BOOK_IQ3_S + (byte_at(b + 2 + 2 * n + upper) | high << 8);
        half_of = 0;
        signs = byte_at(b + 74 + n);
        scale *= float(1 + 2 * nibble_at(b + 106, part));
        break;
    case IQ1_S:
        high = short_at(b + 34 + 2 * part);
        group = BOOK_IQ1 + (byte_at(b + 2 + n) | (high >> (3 * j) & 7) << 8);
        less = high >> 15 != 0 ? 10 : 8;
        scale *= float(2 * (high >> 12 & 7) + 1) * 0.125;
        break;
    default: /* IQ1_M: the high bits of four words of scales are the block's f16 scale */
        high = nibble_at(b + 32, n);
        group = BOOK_IQ1 + (byte_at(b + n) | (high & 7) << 8);
        less = (high & 8) != 0 ? 10 : 8;
        scale = uintBitsToFloat(f32_of_f16(short_at(b + 48) >> 12 | short_at(b + 50) >> 12 << 4 |
                                           short_at(b + 52) >> 12 << 8 | short_at(b + 54) >> 12 << 12));
        scale *= float(2 * (short_at(b + 48 + i / 64 * 2) >> (i / 16 % 4 * 3) & 7) + 1) * 0.125;
    }
    vec4 r = in_book(group, half_of);
    precise vec4 scaled = scale * (one ? r - less : with_signs(r, signs >> (4 * upper)));
    return scaled;
}
#endif
// Five ternary digits a byte, as a fraction of 256: times 3^k, the high byte of three times that is digit k.
vec4 ternary_digits(const uint b, const uint i) {
    uint wide = i < 160 ? 32 : i < 240 ? 16 : 4, rest = i < 160 ? i : i < 240 ? i - 160 : i - 240;
    uint digit = rest / wide, power = digit == 0 ? 1 : digit == 1 ? 3 : digit == 2 ? 9 : digit == 3 ? 27 : 81;
    uvec4 bytes = bytes_of(word_at(b + (i < 160 ? 0 : i < 240 ? 32 : 48) + rest % wide));
    return vec4((bytes * power & 255) * 3 >> 8) - 1;
}

// Numbers k .. k + 3 of the row that starts at byte `row`; k is a multiple of 4.
vec4 block_numbers(const uint dtype, const uint row, const uint k) {
    uint size = block_elements(dtype), b = row + k / size * block_bytes(dtype), i = k % size;
    precise vec4 r = vec4(0);
    switch (dtype) {
    case Q5_0: r = half_at(b) * (vec4(nibbles(b + 6, i) | fifth_bits(b + 2, i)) - 16); break;
    case Q5_1: r = half_at(b) * vec4(nibbles(b + 8, i) | fifth_bits(b + 4, i)); r = r + half_at(b + 2); break;
    case Q8_1: r = half_at(b) * signed_bytes(word_at(b + 4 + i)); break;
    case Q8_K: r = uintBitsToFloat(word_at(b)) * signed_bytes(word_at(b + 4 + i)); break;
    case TQ1_0: r = half_at(b + 52) * ternary_digits(b, i); break;
    case TQ2_0: {
        uvec4 q = bytes_of(word_at(b + i / 128 * 32 + i % 32)) >> (i % 128 / 32 * 2) & 3;
        r = half_at(b + 64) * (vec4(q) - 1);
        break;
    }
    case Q1_0:
        r = half_at(b) * (vec4(uvec4(byte_at(b + 2 + i / 8) >> (i & 4)) >> uvec4(0, 1, 2, 3) & 1) * 2 - 1);
        break;
    case Q2_0: r = half_at(b) * (vec4(uvec4(byte_at(b + 2 + i / 4)) >> uvec4(0, 2, 4, 6) & 3) - 1); break;
    case NVFP4: { /* scales are unsigned e4m3 */
        uint all = byte_at(b + i / 16), e = all & 127, l = i % 32;
        uint at = b + 4 + i / 32 * 16 + l / 16 * 8 + l % 8, power = (116 + (e >> 3)) << 23;
        float scale = e < 8 ? float(e) * 0.0009765625 : float(8 | (e & 7)) * uintBitsToFloat(power);
        r = (all == 127 ? 0 : scale) * looked_up_e2m1(bytes_of(word_at(at)) >> (l / 8 % 2 * 4) & 15);
        break;
    }
#ifdef BOOKS
    case IQ2_XXS: case IQ2_XS: case IQ2_S: case IQ3_XXS: case IQ3_S: case IQ1_S: case IQ1_M:
        r = book_numbers(dtype, b, i);
        break;
#endif
    case IQ4_NL: r = half_at(b) * looked_up_iq4(nibbles(b + 2, i)); break;
    case MXFP4: {
        uint e = byte_at(b);
        uvec4 q = nibbles(b + 1, i);
        r = uintBitsToFloat(e < 2 ? 0x200000u << e : (e - 1) << 23) * looked_up_e2m1(q);
#ifdef KEEPS_SUBNORMALS
        if (e < 2) r = least_e2m1(q, e);
#endif
        break;
    }
    case Q2_K: {
        uint part = i / 128, j = i % 128 / 32, l = i % 32, both = byte_at(b + part * 8 + j * 2 + l / 16);
        precise float scale = half_at(b + 80) * float(both & 15), least = half_at(b + 82) * float(both >> 4);
        r = scale * vec4(bytes_of(word_at(b + 16 + part * 32 + l)) >> (2 * j) & 3);
        r = r - least;
        break;
    }
    case Q3_K: {
        uint part = i / 128, j = i % 128 / 32, l = i % 32, n = part * 8 + j * 2 + l / 16;
        uint low = n < 8 ? byte_at(b + 96 + n) & 15 : byte_at(b + 88 + n) >> 4;
        uint high = byte_at(b + 104 + n % 4) >> (2 * (n / 4)) & 3;
        uvec4 q = bytes_of(word_at(b + 32 + part * 32 + l)) >> (2 * j) & 3;
        uvec4 h = bytes_of(word_at(b + l)) >> (part * 4 + j) & 1;
        precise float scale = half_at(b + 108) * (float(low | high << 4) - 32);
        r = scale * (vec4(q) - 4 + 4 * vec4(h));
        break;
    }
#ifndef IN_EIGHTS /* block_eight has them */
    case Q4_0: r = half_at(b) * (vec4(nibbles(b + 2, i)) - 8); break;
    case Q4_1: r = half_at(b) * vec4(nibbles(b + 4, i)); r = r + half_at(b + 2); break;
    case Q8_0: r = half_at(b) * signed_bytes(word_at(b + 2 + i)); break;
    case Q4_K: case Q5_K: {
        uint part = i / 64, upper = i % 64 / 32, l = i % 32, quants = b + (dtype == Q4_K ? 16 : 48);
        vec2 s = six_bits(b + 4, 2 * part + upper);
        precise float scale = half_at(b) * s.x, least = half_at(b + 2) * s.y;
        uvec4 q = bytes_of(word_at(quants + part * 32 + l)) >> (4 * upper) & 15;
        if (dtype == Q5_K) q |= (bytes_of(word_at(b + 16 + l)) >> (2 * part + upper) & 1) << 4;
        r = scale * vec4(q);
        r = r - least;
        break;
    }
    case Q6_K: {
        uint part = i / 128, j = i % 128 / 32, l = i % 32;
        uvec4 low = bytes_of(word_at(b + part * 64 + l + (j & 1) * 32)) >> (j < 2 ? 0 : 4) & 15;
        uvec4 high = bytes_of(word_at(b + 128 + part * 32 + l)) >> (2 * j) & 3;
        precise float scale =
            half_at(b + 208) * float(int(byte_at(b + 192 + part * 8 + j * 2 + l / 16) << 24) >> 24);
        r = scale * (vec4(low | high << 4) - 32);
        break;
    }
#endif
    case IQ4_XS: {
        uint n = i / 32, l = i % 32;
        uint low = byte_at(b + 4 + n / 2) >> (4 * (n & 1)) & 15,
             high = byte_at(b + 2 + n / 4) >> (2 * (n & 3)) & 3;
        precise float scale = half_at(b) * (float(low | high << 4) - 32);
        r = scale * looked_up_iq4(nibbles(b + 8 + n * 16, l));
        break;
    }
    }
    return r;
}

// ---- eight at a time, for sums of products ----

#ifdef WIDE_WEIGHTS
// How far apart the two fours of a chunk lie: nibbles of the same bytes.
uint pair_distance(const uint dtype) {
    switch (dtype) {
    case Q4_0: case Q4_1: case Q5_0: case Q5_1: case IQ4_NL: case IQ4_XS: case MXFP4: return 16;
    case Q2_K: case Q3_K: case Q4_K: case Q5_K: return 32;
    case Q6_K: return 64;
    default: return 4;
    }
}
// Four bytes at an even place, and the f16 there: loads without branches.
uint word_at_even(const uint b) {
    uint i = b >> 2, odd = b >> 1 & 1, low = WEIGHTS.d[i], high = WEIGHTS.d[i + odd];
    return odd == 0 ? low : low >> 16 | high << 16;
}
float half_at_even(const uint b) {
    return unpackHalf2x16(WEIGHTS.d[b >> 2] >> ((b & 2) * 8)).x;
}
// Scales and minima number 2 p and 2 p + 1 of Q4_K and Q5_K, whose first 16 bytes are h.
vec4 two_scales(const uvec4 h, const uint p) {
    uvec2 s = h.yz >> (p * 16);
    if (p >= 2) {
        uint low = h.w >> (p * 16 - 32);
        s = (uvec2(low, low >> 4) & 0x0f0f) | (h.yz >> (p * 16 - 30) & 0x3030);
    }
    s &= 0x3f3f;
    return vec4(s.x & 0xff, s.x >> 8, s.y & 0xff, s.y >> 8) * unpackHalf2x16(h.x).xxyy;
}

// Two fours of the row at byte `row`, from k.x and k.y = k.x + pair_distance on, as scale q - least.
// terms: the scales of both, then what is taken off. The first 16 bytes of K blocks are aligned.
void block_eight(const uint dtype, const uint row, const uvec2 k, out vec4 x, out vec4 y, out vec4 terms) {
    uint size = block_elements(dtype), b = row + k.x / size * block_bytes(dtype), i = k.x % size;
    switch (dtype) {
    case Q8_0:
        /* scaled first: four large numbers by 127 could leave the range of f32 */
        x = half_at_even(b) * signed_bytes(word_at_even(b + 2 + i));
        y = half_at_even(b) * signed_bytes(word_at_even(b + 6 + i));
        terms = vec4(1, 1, 0, 0);
        return;
    case Q4_0: case Q4_1: {
        uint w = word_at_even(b + (dtype == Q4_0 ? 2 : 4) + i);
        float middle = dtype == Q4_0 ? 8 : 0, least = dtype == Q4_0 ? 0 : -half_at_even(b + 2);
        x = vec4(bytes_of(w & 0x0f0f0f0f)) - middle;
        y = vec4(bytes_of(w >> 4 & 0x0f0f0f0f)) - middle;
        terms = vec4(half_at_even(b).xx, least, least);
        return;
    }
    case Q4_K: case Q5_K: {
        uint part = i / 64, l = i % 32;
        uint w = WEIGHTS.d[(b + (dtype == Q4_K ? 16 : 48) + part * 32 + l) >> 2];
        uvec2 q = uvec2(w, w >> 4) & 0x0f0f0f0f;
        if (dtype == Q5_K)
            q |= (uvec2(WEIGHTS.d[(b + 16 + l) >> 2]) >> uvec2(2 * part, 2 * part + 1) & 0x01010101) << 4;
        x = vec4(bytes_of(q.x));
        y = vec4(bytes_of(q.y));
        terms = two_scales(WIDE_WEIGHTS.d[b >> 4], part);
        return;
    }
    case Q6_K: {
        uint part = i / 128, j = i % 64 / 32, l = i % 32, scales = b + 192 + part * 8 + j * 2 + l / 16;
        uint low = word_at_even(b + part * 64 + l + j * 32),
             high = word_at_even(b + 128 + part * 32 + l) >> (2 * j);
        x = vec4(bytes_of((low & 0x0f0f0f0f) | (high & 0x03030303) << 4)) - 32;
        y = vec4(bytes_of((low >> 4 & 0x0f0f0f0f) | (high & 0x30303030))) - 32;
        vec2 two = vec2(int(byte_at(scales) << 24) >> 24, int(byte_at(scales + 4) << 24) >> 24);
        terms = vec4(half_at_even(b + 208) * two, 0, 0);
        return;
    }
    default:
        x = block_numbers(dtype, row, k.x);
        y = block_numbers(dtype, row, k.y);
        terms = vec4(1, 1, 0, 0);
    }
}
#endif
