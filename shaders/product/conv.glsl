// conv.glsl - what convolutions share: one product a group, c [m,n] = a [m,k] b [k,n], whose b is not laid
// out in memory. Element (k, n) of b stands in an image at the sum of two positions, one of k and one of n,
// or is 0 where that lies outside; a column n and a term k are counted as (outer, z, y, x, inner). Which of
// the three tensors is a, b and c is the host's (vulkan/ops/windows/conv.c).
#include "tables/conv.glsl"
#include "common/common.glsl"
#include "common/number.glsl"

DEFINE_LOAD(load_a, b1)
DEFINE_LOAD(load_b, b2)
DEFINE_LOAD(load_bias, b3)
DEFINE_STORE(store_c, b0)

const int OUTSIDE = -0x40000000;

uvec4 digits_of(const uint i, const uvec4 size, out uint outer) {
    uint rest = i;
    uvec4 d;
    d.w = rest % size.w;
    rest /= size.w;
    d.z = rest % size.z;
    rest /= size.z;
    d.y = rest % size.y;
    rest /= size.y;
    d.x = rest % size.x;
    outer = rest / size.x;
    return d;
}
uint along(const uvec4 digits, const uvec4 stride) {
    uvec4 p = digits * stride;
    return p.x + p.y + p.z + p.w;
}
// Of column n and term k: the place in b beside that of the position, and the position.
ivec4 spot_of_n(const uint n) {
    uint outer;
    uvec4 d = digits_of(n, P_n_size, outer);
    if (n >= P_n) return ivec4(0, OUTSIDE, OUTSIDE, OUTSIDE);
    return ivec4(int(outer * P_outer.z + d.w * P_inner.x), ivec3(d.xyz * P_n_step.xyz + P_n_start.xyz));
}
ivec4 spot_of_k(const uint k, const uint end) {
    uint outer;
    uvec4 d = digits_of(k, P_k_size, outer);
    if (k >= end) return ivec4(0, OUTSIDE, OUTSIDE, OUTSIDE);
    return ivec4(int(outer * P_outer.w + d.w * P_inner.y), ivec3(d.xyz * P_k_step.xyz));
}
uint place_of_c(const uint n) {
    uint outer;
    uvec4 d = digits_of(n, P_n_size, outer);
    return outer * P_outer.x + along(d, P_c_n);
}
uint place_of_a(const uint k) {
    uint outer;
    uvec4 d = digits_of(k, P_k_size, outer);
    return outer * P_outer.y + along(d, P_a_k);
}
// Whether a position lies in the image; its place there, counted from spot.x = 0.
bool is_inside(const ivec4 spot, out uint place) {
    ivec3 at = spot.yzw;
    place = 0;
    if (APART == 1) {
        if (any(lessThan(at, ivec3(0)))) return false;
        ivec3 apart = ivec3(P_apart.xyz), whole = at / apart;
        if (whole * apart != at) return false;
        at = whole;
    }
    if (any(greaterThanEqual(uvec3(at), P_image.xyz))) return false; /* or below 0 */
    uvec3 p = uvec3(at) * P_b_stride.xyz;
    place = uint(spot.x) + p.x + p.y + p.z;
    return true;
}

// A workgroup along z takes part of the terms of a group; parts are results of their own.
uint group_of() {
    return gl_WorkGroupID.z / P_parts;
}
uint part_of() {
    return gl_WorkGroupID.z % P_parts;
}
float biased(const float sum, const uint row) {
    if (DTYPE_BIAS == 0 || part_of() != 0) return sum;
    uint e = P_at.w + group_of() * P_group.w + row * P_row.w;
    return sum + uintBitsToFloat(f32_of(DTYPE_BIAS, load_bias(DTYPE_BIAS, e).x));
}
