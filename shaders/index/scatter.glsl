// scatter.glsl - elements moved to, or added to, where an index says: an invocation goes through a line along
// the indexed dim, in order, so that equal indices act one after the other and results are the same every
// time. Of lines that are few each has SLICES invocations, which take every SLICES-th place each.
// lines.glsl with operands result, index, source. The includer brings sum_of.
#extension GL_GOOGLE_include_directive : require
#include "tables/scatter.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/lines.glsl"
#include "common/fault.glsl"

DEFINE_LOAD(load, b0)
DEFINE_LOAD(load_index, b1)
DEFINE_LOAD(load_source, b2)
DEFINE_STORE(store, b0)

uvec2 sum_of(const uvec2 a, const uvec2 b);          // a + alpha b

void main() {
    uint position = group_index() * THREADS + gl_LocalInvocationID.x, size = P_f2;
    uint lines = P_kept, line = BESIDE == 1 ? position / SLICES : position % lines,
         slice = BESIDE == 1 ? position % SLICES : position / lines;
    if (position >= lines * SLICES) return;
    uvec4 at = kept_places(line);
    for (uint i = 0; i < P_length; i++) {
        uvec4 e = at + line_places(i);
        uvec2 index = i64_of(INDEX, load_index(INDEX, e.y)), raw;
        if (index.y != 0 || index.x >= size) {
            tell(P_extra, KIND, index, size);
            continue;
        }
        if (SLICES > 1 && index.x % SLICES != slice) continue;
        uint to = e.x + index.x * P_f1;
        raw = load_source(DTYPE, e.z);
        if (LANE == LANE_C64) raw = sum_of(load(DTYPE, to), raw); /* as they lie */
        else if (LANE != LANE_RAW)
            raw =
                raw_of(DTYPE, sum_of(lane_of(DTYPE, load(DTYPE, to), LANE), lane_of(DTYPE, raw, LANE)), LANE);
        store(DTYPE, to, raw);
    }
}
