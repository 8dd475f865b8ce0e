// pattern.comp - elements that depend on where they stand: triu and tril, one_hot.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/pattern.glsl"

#include "common/common.glsl"
#include "common/fault.glsl"

DEFINE_LOAD(load, b1)
DEFINE_STORE(store, b0)

void main() {
    uint i = group_index() * THREADS + gl_LocalInvocationID.x;
    uint dims = P_ndim, last = size_at(ROW_shape, dims - 1);
    if (i >= P_n) return;
    uvec4 e = places_of(param[ROW_at], i, dims, ROW_stride, ROW_shape);
    uvec2 place = uvec2(i % last, dims > 1 ? i / last % size_at(ROW_shape, dims - 2) : 0); /* column, row */
    if (KIND == ONE_HOT) {
        uvec2 id = load(DTYPE, e.y);
        if (DTYPE == I32) id.y = uint(int(id.x) >> 31);
        if (id.y != 0 || id.x >= P_number) tell(P_fault, OP, id, P_number);
        store(I64, e.x, uvec2(id.y == 0 && id.x == place.x ? 1 : 0, 0));
        return;
    }
    int over = int(place.x) - int(place.y) - int(P_number);
    bool kept = KIND == UPPER ? over >= 0 : over <= 0;
    store(DTYPE, e.x, kept ? load(DTYPE, e.y) : uvec2(0));
}
