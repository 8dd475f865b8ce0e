// words.glsl - what words of narrow elements hold.

uvec4 bytes_of(const uint w) {
    return uvec4(w, w >> 8, w >> 16, w >> 24) & 0xff;
}
vec4 signed_bytes(const uint w) {
    return vec4(int(w << 24) >> 24, int(w << 16) >> 24, int(w << 8) >> 24, int(w) >> 24);
}
// Numbers of 16 bits.
vec2 two_of(const uint dtype, const uint word) {
    return dtype == BF16 ? uintBitsToFloat(uvec2(word << 16, word & 0xffff0000u)) : unpackHalf2x16(word);
}
vec4 four_halves(const uint dtype, const uvec2 words) {
    return vec4(two_of(dtype, words.x), two_of(dtype, words.y));
}
