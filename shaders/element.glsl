// element.glsl - cooperative matrices of SIDE x SIDE of ELEMENT and of f32 sums; floats rounded to two
// ELEMENTs of a word.
#define SUMS coopmat<float, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseAccumulator>
#define NARROW coopmat<ELEMENT, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseAccumulator>
#define LEFT coopmat<ELEMENT, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseA>
#define RIGHT coopmat<ELEMENT, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseB>
#define BY_ROWS gl_CooperativeMatrixLayoutRowMajor
#define BY_COLUMNS gl_CooperativeMatrixLayoutColumnMajor

uint pack_two(const vec2 x) {
#ifdef ELEMENT_IS_BF16
    uvec2 u = floatBitsToUint(x), r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    if (isnan(x.x)) r.x = 0x7fc0;
    if (isnan(x.y)) r.y = 0x7fc0;
    return r.x | r.y << 16;
#else
    return packHalf2x16(x);
#endif
}
uvec4 pack_eight(const vec4 low, const vec4 high) {
    return uvec4(pack_two(low.xy), pack_two(low.zw), pack_two(high.xy), pack_two(high.zw));
}
