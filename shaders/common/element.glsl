// element.glsl - cooperative matrices of SIDE x SIDE of elements and of f32 sums; floats rounded to two
// elements of a word. Elements are f16 here; shaders.c makes the twin of a module whose elements are bf16.
// IN_BF16: which of them this is, as far as constants say. NARROW, sums on the way to elements, is of f16 in
// the twin too: in bf16 a device need not have such matrices. SUBGROUP_STEP: the subgroup sees what it wrote.
#define SUMS coopmat<float, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseAccumulator>
#define NARROW coopmat<float16_t, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseAccumulator>
#define LEFT coopmat<float16_t, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseA>
#define RIGHT coopmat<float16_t, gl_ScopeSubgroup, SIDE, SIDE, gl_MatrixUseB>
#define BY_ROWS gl_CooperativeMatrixLayoutRowMajor
#define BY_COLUMNS gl_CooperativeMatrixLayoutColumnMajor
#define SUBGROUP_STEP                  \
    {                                  \
        subgroupMemoryBarrierShared(); \
        subgroupBarrier();             \
    }

uint pack_two(const vec2 x) {
    if (!IN_BF16) return packHalf2x16(x);
    uvec2 u = floatBitsToUint(x), r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    if (isnan(x.x)) r.x = 0x7fc0;
    if (isnan(x.y)) r.y = 0x7fc0;
    return r.x | r.y << 16;
}
uvec4 pack_eight(const vec4 low, const vec4 high) {
    return uvec4(pack_two(low.xy), pack_two(low.zw), pack_two(high.xy), pack_two(high.zw));
}
// Four results of a dtype, a number each: what matrices are of is rounded by the device itself.
uvec4 results_of(const uint dtype, const vec4 x) {
    if (dtype == (IN_BF16 ? BF16 : F16)) {
        uvec2 two = uvec2(pack_two(x.xy), pack_two(x.zw));
        return uvec4(two.x & 0xffff, two.x >> 16, two.y & 0xffff, two.y >> 16);
    }
    uvec4 bits = floatBitsToUint(x);
    return uvec4(narrow_of_f32(dtype, bits.x), narrow_of_f32(dtype, bits.y), narrow_of_f32(dtype, bits.z),
                 narrow_of_f32(dtype, bits.w));
}
