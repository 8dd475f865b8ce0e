// gather.comp - elements picked by index along a dim: gather, index_select, embedding. param[0] n, dims, op
// + 1, the fault's place; [1] first elements of the result, the index, x, the step along the dim; [2].x
// size of the dim; [3 + d] strides; [11], [12] shape.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint DTYPE = 12;      // of x
layout(constant_id = 1) const uint INDEX = 9;       // I32 or I64
layout(constant_id = 2) const uint EACH = 1; // elements of an invocation: those of a word of the result

#include "common.glsl"
#include "number.glsl"
#include "fault.glsl"

DEFINE_LOAD(load_index, b1)
DEFINE_LOAD(load_x, b2)
DEFINE_STORE(store, b0)

uvec2 picked(const uint i, out uint to) {
    uvec4 e = places_of(param[1], i, param[0].y, 3, 11);
    uvec2 index = i64_of(INDEX, load_index(INDEX, e.y));
    to = e.x;
    if (index.y != 0 || index.x >= param[2].x) {
        tell(param[0].w, param[0].z, index, param[2].x);
        return uvec2(0);
    }
    return load_x(DTYPE, e.z + index.x * param[1].w);
}

void main() {
    uint n = param[0].x, first = (group_index() * 256 + gl_LocalInvocationID.x) * EACH, word = 0, to;
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
