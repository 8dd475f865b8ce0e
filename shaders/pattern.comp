// pattern.comp - elements that depend on where they stand: triu and tril, one_hot.
// param[0] n, dims, the fault's place; [1].xy first elements of the result and x, .z diagonal or classes;
// [2 + d].xy strides; [10], [11] shape of the result, in row-major order.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint DTYPE = 12;      // of x
layout(constant_id = 1) const uint KIND = 0;        // UPPER, LOWER, ONE_HOT
layout(constant_id = 2) const uint OP = 1;          // op + 1

#include "common.glsl"
#include "fault.glsl"

const uint UPPER = 0, LOWER = 1, ONE_HOT = 2;

DEFINE_LOAD(load, b1)
DEFINE_STORE(store, b0)

void main() {
    uint i = group_index() * 256 + gl_LocalInvocationID.x, dims = param[0].y, last = size_at(10, dims - 1);
    if (i >= param[0].x) return;
    uvec4 e = places_of(param[1], i, dims, 2, 10);
    uvec2 place = uvec2(i % last, dims > 1 ? i / last % size_at(10, dims - 2) : 0); /* column, row */
    if (KIND == ONE_HOT) {
        uvec2 id = load(DTYPE, e.y);
        if (DTYPE == I32) id.y = uint(int(id.x) >> 31);
        if (id.y != 0 || id.x >= param[1].z) tell(param[0].z, OP, id, param[1].z);
        store(I64, e.x, uvec2(id.y == 0 && id.x == place.x ? 1 : 0, 0));
        return;
    }
    int over = int(place.x) - int(place.y) - int(param[1].z);
    bool kept = KIND == UPPER ? over >= 0 : over <= 0;
    store(DTYPE, e.x, kept ? load(DTYPE, e.y) : uvec2(0));
}
