// reduce.glsl - what reductions share: LANES invocations take a line, partial states are merged through
// shared memory. Few long lines are cut into SEGMENTS, whose results a second dispatch reduces: P_extra is
// the length then. The includer brings numbers and what is done with them: lane_at, begun, added,
// merged.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/reduce.glsl"

#include "common/common.glsl"
#ifndef ONLY_F64
#include "common/quads.glsl"
#endif
#include "common/number.glsl"
#include "common/integer.glsl"
#include "common/lines.glsl"

const uint EACH = QUADS == 0 ? 1 : QUADS;

DEFINE_LOAD(load_x, b0)
DEFINE_STORE(store, b1)
DEFINE_STORE(store_place, b2)

shared uvec4 states[THREADS]; // numbers as bits

uvec2 lane_at(const uint e);                        // an element as a number
uvec4 begun(const uint what);                       // the state of no elements
uvec4 added(const uint what, const uvec4 s, uvec2 v, const uint place);
uvec4 merged(const uint what, const uvec4 s, const uvec4 t);

const uint GROUP_LINES = THREADS / LANES;
uint line = ACROSS == 1 ? gl_LocalInvocationID.x % GROUP_LINES : gl_LocalInvocationID.x / LANES;
uint lane = ACROSS == 1 ? gl_LocalInvocationID.x / GROUP_LINES : gl_LocalInvocationID.x % LANES;
uint slot_of(const uint lane) {
    return ACROSS == 1 ? lane * GROUP_LINES + line : line * LANES + lane;
}
// The line's state, in all of its lanes, from every lane's; all invocations come here.
uvec4 joined(const uint what, uvec4 s) {
    states[slot_of(lane)] = s;
    barrier();
    [[dont_unroll]] for (uint half_way = LANES / 2; half_way > 0; half_way /= 2) {
        if (lane < half_way) {
            s = merged(what, s, states[slot_of(lane + half_way)]);
            states[slot_of(lane)] = s;
        }
        barrier();
    }
    s = states[slot_of(0)];
    barrier();
    return s;
}

#ifdef ONLY_F64
uvec4 walked(const uint what, const bool real_line, const uint at, const uint begin, const uint end) {
    uvec4 s = begun(what);
    if (real_line)
        for (uint i = begin + lane; i < end; i += SEGMENTS * LANES)
            s = added(what, s, lane_at(at + line_places(i).x), i);
    return joined(what, s);
}
#else
DEFINE_LOAD_QUAD(load_quad, b0, p0, q0)
void load_quads(const uint at, out uvec4 raw[EACH]) {
    [[unroll]] for (uint q = 0; q < EACH; q++) raw[q] = load_quad(FROM, at + q * LANES * 4);
}
// Elements begin .. end - 1 of the line that starts at `at`; with QUADS begin is a multiple of 4.
uvec4 walked(const uint what, const bool real_line, const uint at, const uint begin, uint end) {
    uvec4 s = begun(what);
    uint step = LANES * 4, i = begin + (QUADS > 0 ? lane * 4 : lane);
    if (!real_line) end = 0;
    if (QUADS > 0) { /* the next ones are on their way while these are added */
        uvec4 raw[EACH];
        bool more = i + (EACH - 1) * step + 4 <= end;
        if (more) load_quads(at + i, raw);
        [[dont_unroll]] while (more) {
            uint next = i + SEGMENTS * EACH * step;
            uvec4 fresh[EACH];
            more = next + (EACH - 1) * step + 4 <= end;
            if (more) load_quads(at + next, fresh);
            [[unroll]] for (uint q = 0; q < EACH; q++)
                [[unroll]] for (uint j = 0; j < 4; j++)
                    s = added(what, s, lane_of(FROM, uvec2(raw[q][j], 0), LANE), i + q * step + j);
            i = next;
            [[unroll]] for (uint q = 0; q < EACH; q++) raw[q] = fresh[q];
        }
    }
    if (QUADS > 1)
        [[dont_unroll]] for (; i + 4 <= end; i += step) {
            uvec4 raw = load_quad(FROM, at + i);
            [[unroll]] for (uint j = 0; j < 4; j++)
                s = added(what, s, lane_of(FROM, uvec2(raw[j], 0), LANE), i + j);
        }
    uint rest = QUADS > 0 ? 1 : SEGMENTS * LANES;
    [[dont_unroll]] for (; i < end; i += rest)
        s = added(what, s, lane_at(at + (QUADS > 0 ? i : line_places(i).x)), i);
    return joined(what, s);
}
#endif
