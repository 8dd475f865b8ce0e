// blocks.glsl - block types: four neighbours of a row as floats. Layouts are ggml's; roundings are in its order.
// A shader defines WEIGHTS, the binding that holds the blocks, before the include. Places are bytes.

const uint Q4_0 = 17, Q4_1 = 18, Q5_0 = 19, Q5_1 = 20, Q8_0 = 21, Q2_K = 23, Q3_K = 24, Q4_K = 25, Q5_K = 26,
           Q6_K = 27, IQ4_NL = 33, IQ4_XS = 36, MXFP4 = 40;

bool is_block(uint dtype) {
    return dtype >= Q4_0;
}

uint byte_at(uint b) {
    return WEIGHTS.d[b >> 2] >> ((b & 3) * 8) & 0xff;
}
float half_at(uint b) {
    uint w = (b & 1) == 0 ? WEIGHTS.d[b >> 2] >> ((b & 2) * 8) & 0xffff : byte_at(b) | byte_at(b + 1) << 8;
    return uintBitsToFloat(f32_of_f16(w));
}
// Four bytes; all of them belong to the row.
uint word_at(uint b) {
    uint s = (b & 3) * 8, low = WEIGHTS.d[b >> 2];
    return s == 0 ? low : low >> s | WEIGHTS.d[(b >> 2) + 1] << (32 - s);
}
uvec4 bytes_of(uint w) {
    return uvec4(w & 0xff, w >> 8 & 0xff, w >> 16 & 0xff, w >> 24);
}
vec4 signed_bytes(uint w) {
    return vec4(int(w << 24) >> 24, int(w << 16) >> 24, int(w << 8) >> 24, int(w) >> 24);
}

const int TABLE_IQ4[16] = int[](-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
const int TABLE_E2M1[16] = int[](0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
vec4 looked_up_iq4(uvec4 q) {
    return vec4(TABLE_IQ4[q.x], TABLE_IQ4[q.y], TABLE_IQ4[q.z], TABLE_IQ4[q.w]);
}
vec4 looked_up_e2m1(uvec4 q) {
    return vec4(TABLE_E2M1[q.x], TABLE_E2M1[q.y], TABLE_E2M1[q.z], TABLE_E2M1[q.w]);
}

// The low or, from place 16 of 32 on, the high nibbles of the bytes at `quants`.
uvec4 nibbles(uint quants, uint i) {
    return bytes_of(word_at(quants + (i & 15))) >> (i >= 16 ? 4 : 0) & 15;
}
// Bit i, i + 1, .. of the 32 at b, as 16s.
uvec4 fifth_bits(uint b, uint i) {
    uint bits = word_at(b) >> i;
    return uvec4(bits << 4, bits << 3, bits << 2, bits << 1) & 16;
}
// Scale and minimum number `i` of the 12 bytes of Q4_K and Q5_K.
vec2 six_bits(uint scales, uint i) {
    if (i < 4) return vec2(byte_at(scales + i) & 63, byte_at(scales + i + 4) & 63);
    uint both = byte_at(scales + i + 4);
    return vec2((both & 15) | byte_at(scales + i - 4) >> 6 << 4, both >> 4 | byte_at(scales + i) >> 6 << 4);
}

uint block_elements(uint dtype) {
    switch (dtype) {
    case Q2_K: case Q3_K: case Q4_K: case Q5_K: case Q6_K: case IQ4_XS: return 256;
    default: return 32;
    }
}
uint block_bytes(uint dtype) {
    switch (dtype) {
    case Q4_0: case IQ4_NL: return 18;
    case Q4_1: return 20;
    case Q5_0: return 22;
    case Q5_1: return 24;
    case Q8_0: return 34;
    case Q2_K: return 84;
    case Q3_K: return 110;
    case Q4_K: return 144;
    case Q5_K: return 176;
    case Q6_K: return 210;
    case IQ4_XS: return 136;
    default: return 17;
    }
}

// Numbers k .. k + 3 of the row that starts at byte `row`; k is a multiple of 4.
vec4 block_numbers(uint dtype, uint row, uint k) {
    uint size = block_elements(dtype), b = row + k / size * block_bytes(dtype), i = k % size;
    precise vec4 r = vec4(0);
    switch (dtype) {
    case Q4_0: r = half_at(b) * (vec4(nibbles(b + 2, i)) - 8); break;
    case Q4_1: r = half_at(b) * vec4(nibbles(b + 4, i)); r = r + half_at(b + 2); break;
    case Q5_0: r = half_at(b) * (vec4(nibbles(b + 6, i) | fifth_bits(b + 2, i)) - 16); break;
    case Q5_1: r = half_at(b) * vec4(nibbles(b + 8, i) | fifth_bits(b + 4, i)); r = r + half_at(b + 2); break;
    case Q8_0: r = half_at(b) * signed_bytes(word_at(b + 2 + i)); break;
    case IQ4_NL: r = half_at(b) * looked_up_iq4(nibbles(b + 2, i)); break;
    case MXFP4: {
        uint e = byte_at(b);
        float scale = uintBitsToFloat(e < 2 ? 0x200000u << e : (e - 1) << 23);
        r = scale * looked_up_e2m1(nibbles(b + 1, i));
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
        precise float scale = half_at(b + 208) * float(int(byte_at(b + 192 + part * 8 + j * 2 + l / 16) << 24) >> 24);
        r = scale * (vec4(low | high << 4) - 32);
        break;
    }
    case IQ4_XS: {
        uint n = i / 32, l = i % 32;
        uint low = byte_at(b + 4 + n / 2) >> (4 * (n & 1)) & 15, high = byte_at(b + 2 + n / 4) >> (2 * (n & 3)) & 3;
        precise float scale = half_at(b) * (float(low | high << 4) - 32);
        r = scale * looked_up_iq4(nibbles(b + 8 + n * 16, l));
        break;
    }
    }
    return r;
}
