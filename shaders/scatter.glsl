// scatter.glsl - elements moved to, or added to, where an index says: an invocation takes a line along the
// indexed dim, in order, so that equal indices act one after the other and results are the same every time.
// lines.glsl with operands result, index, source; param[1].yzw step along the dim of the result, its size,
// the fault's place; [23].xy alpha, as a number of the lane. The includer brings sum_of.
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint DTYPE = 12;
layout(constant_id = 1) const uint LANE = 0;        // LANE_RAW: moved, else added
layout(constant_id = 2) const uint INDEX = 9;       // I32 or I64
layout(constant_id = 3) const uint KIND = 1;        // op + 1

#include "common.glsl"
#include "number.glsl"
#include "lines.glsl"
#include "fault.glsl"

DEFINE_LOAD(load, b0)
DEFINE_LOAD(load_index, b1)
DEFINE_LOAD(load_source, b2)
DEFINE_STORE(store, b0)

uvec2 sum_of(const uvec2 a, const uvec2 b);          // a + alpha b

void main() {
    uint position = group_index() * 64 + gl_LocalInvocationID.x, size = param[1].z;
    if (position >= param[0].x) return;
    uvec4 at = kept_places(position);
    for (uint i = 0; i < param[0].y; i++) {
        uvec4 e = at + line_places(i);
        uvec2 index = i64_of(INDEX, load_index(INDEX, e.y)), raw = load_source(DTYPE, e.z);
        if (index.y != 0 || index.x >= size) {
            tell(param[1].w, KIND, index, size);
            continue;
        }
        uint to = e.x + index.x * param[1].y;
        if (LANE == LANE_C64) raw = sum_of(load(DTYPE, to), raw); /* as they lie */
        else if (LANE != LANE_RAW)
            raw =
                raw_of(DTYPE, sum_of(lane_of(DTYPE, load(DTYPE, to), LANE), lane_of(DTYPE, raw, LANE)), LANE);
        store(DTYPE, to, raw);
    }
}
