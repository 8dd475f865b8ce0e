// scan.comp - running sums and products: a workgroup takes a line, 256 elements at a time, and carries the
// last on. Float sums are kept in two floats.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint PRODUCT = 0;
layout(constant_id = 1) const uint LANE = 0;
layout(constant_id = 2) const uint TO = 12;
layout(constant_id = 3) const uint FROM = 12;

#include "common.glsl"
#include "number.glsl"
#include "integer.glsl"
#include "math.glsl"
#include "lines.glsl"

DEFINE_LOAD(load_x, b1)
DEFINE_STORE(store, b0)

const bool REAL = LANE == LANE_F32;

shared uvec2 states[256];

vec2 pair_of(const uvec2 s) {
    return uintBitsToFloat(s);
}
// b comes behind a.
uvec2 joined(const uvec2 a, const uvec2 b) {
    if (!REAL) return PRODUCT == 1 ? times(a, b) : plus(a, b);
    vec2 p = pair_of(a), q = pair_of(b);
    precise float plain = PRODUCT == 1 ? p.x * q.x : p.x + q.x;
    float size = size_of(plain);
    bool wide = PRODUCT == 0 || (size > 1e-30 && size_of(p.x) < 1e30 && size_of(q.x) < 1e30);
    if (!(size < 1e37) || !wide) return uvec2(floatBitsToUint(plain), 0);
    return floatBitsToUint(PRODUCT == 1 ? mul2(p, q) : add2(p, q));
}

void main() {
    uint position = group_index(), n = param[0].y, lane = gl_LocalInvocationID.x;
    if (position >= param[0].x) return;
    uvec4 at = kept_places(position);
    uvec2 none = PRODUCT == 0 ? uvec2(0)
                 : REAL       ? uvec2(floatBitsToUint(1.0), 0)
                              : uvec2(1, 0),
          carried = none;
    for (uint first = 0; first < n; first += 256) {
        uint i = first + lane;
        uvec4 e = at + line_places(min(i, n - 1));
        uvec2 s = i < n ? lane_of(FROM, load_x(FROM, e.y), LANE) : none;
        states[lane] = s;
        barrier();
        for (uint reach = 1; reach < 256; reach *= 2) {
            if (lane >= reach) s = joined(states[lane - reach], s);
            barrier();
            states[lane] = s;
            barrier();
        }
        s = joined(carried, s);
        carried = joined(carried, states[255]);
        if (i < n) {
            if (REAL) {
                vec2 p = pair_of(s);
                s = uvec2(floatBitsToUint(size_of(p.x) < INF ? p.x + p.y : p.x), 0);
            }
            store(TO, e.x, raw_of(TO, s, LANE));
        }
        barrier();
    }
}
