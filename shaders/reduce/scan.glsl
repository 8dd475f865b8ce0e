// scan.glsl - running sums and products: a workgroup takes a line, THREADS elements at a time, and carries
// the last on. Few long lines are cut into up to 256 segments: one dispatch finds what they come to, the
// next begins each with what is before it. The includer brings numbers: none, joined, settled.
#extension GL_GOOGLE_include_directive : require
#include "tables/scan.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "common/integer.glsl"
#include "common/lines.glsl"

DEFINE_LOAD(load_x, b1)
DEFINE_STORE(store, b0)

shared uvec2 states[THREADS];

uvec2 none();                                        // the state of no elements
uvec2 joined(const uvec2 a, const uvec2 b);          // b comes behind a
uvec2 settled(const uvec2 s);                        // a state as a number

// The states of all invocations up to this one; all come here.
uvec2 up_to_here(uvec2 s) {
    uint lane = gl_LocalInvocationID.x;
    states[lane] = s;
    barrier();
    for (uint reach = 1; reach < THREADS; reach *= 2) {
        if (lane >= reach) s = joined(states[lane - reach], s);
        barrier();
        states[lane] = s;
        barrier();
    }
    return s;
}

void main() {
    uint segments = PART == SCAN_WHOLE ? 1 : P_f0, position = group_index() / segments,
         segment = group_index() % segments, n = P_length, lane = gl_LocalInvocationID.x;
    if (position >= P_kept) return;
    uvec4 at = kept_places(position);
    uvec2 carried = none();
    uint begin = PART == SCAN_WHOLE ? 0 : segment * P_f1, end = PART == SCAN_WHOLE ? n : min(begin + P_f1, n);
    uint totals = P_f2 + 2 * position * segments;
    if (PART == SCAN_CARRIED) {
        bool before = lane < segment;
        up_to_here(before ? uvec2(b2.d[totals + 2 * lane], b2.d[totals + 2 * lane + 1]) : none());
        carried = states[THREADS - 1];
        barrier();
    }
    for (uint first = begin; first < end; first += THREADS) {
        uint i = first + lane;
        uvec4 e = at + line_places(min(i, n - 1));
        uvec2 s = up_to_here(i < end ? lane_of(FROM, load_x(FROM, e.y), LANE) : none());
        s = joined(carried, s);
        carried = joined(carried, states[THREADS - 1]);
        if (PART != SCAN_TOTALS && i < end) store(TO, e.x, raw_of(TO, settled(s), LANE));
        barrier();
    }
    if (PART == SCAN_TOTALS && lane == 0) {
        b2.d[totals + 2 * segment] = carried.x;
        b2.d[totals + 2 * segment + 1] = carried.y;
    }
}
