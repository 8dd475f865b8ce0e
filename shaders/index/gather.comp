// gather.comp - elements picked by index along a dim: gather, index_select, embedding.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/gather.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/fault.glsl"

DEFINE_LOAD(load_index, b1)
DEFINE_LOAD(load_x, b2)
DEFINE_STORE(store, b0)

uvec2 picked(const uint i, out uint to) {
    uvec4 e = places_of(param[ROW_at], i, P_ndim, ROW_stride, ROW_shape);
    uvec2 index = i64_of(INDEX, load_index(INDEX, e.y));
    to = e.x;
    if (index.y != 0 || index.x >= P_size) {
        tell(P_fault, P_kind, index, P_size);
        return uvec2(0);
    }
    return load_x(DTYPE, e.z + index.x * P_step);
}

void main() {
    uint n = P_n, first = (group_index() * THREADS + gl_LocalInvocationID.x) * EACH, word = 0, to;
    uint bits = 8u << width_of(DTYPE);
    for (uint i = first; i < min(first + EACH, n); i++) {
        uvec2 raw = picked(i, to);
        if (EACH == 1 || first + EACH > n) {
            store(DTYPE, to, raw);
        } else {
            word |= (raw.x & ((1u << (bits & 31)) - 1)) << ((i - first) * bits);
            if (i - first == EACH - 1) b0.d[to >> (2 - width_of(DTYPE))] = word;
        }
    }
}
