// map_end.glsl - the rest of an elementwise shader: operands in, compute, result out.

// An operand in the lane; an integer wider than the computing dtype counts as a number of that dtype.
uvec2 taken(uint dtype, uvec2 raw) {
    uvec2 v = lane_of(dtype, raw, LANE);
    if (INTEGER && dtype != COMPUTE && COMPUTE != BOOL) v = lane_of(COMPUTE, raw_of(COMPUTE, v, LANE), LANE);
    return v;
}

// The result's element from the operands' places.
uvec2 result_at(uvec4 e) {
    uvec2 a = (IMMEDIATE & 2) != 0 ? param[14].xy : load0(FROM0, e.y), b = uvec2(0), c = uvec2(0);
#ifndef SELECTS
    a = taken(FROM0, a);
#endif
#if OPERANDS > 1
    if (COUNT > 1) b = taken(FROM1, (IMMEDIATE & 4) != 0 ? param[14].zw : load1(FROM1, e.z));
#endif
#if OPERANDS > 2
    if (COUNT > 2) c = taken(FROM2, (IMMEDIATE & 8) != 0 ? param[15].xy : load2(FROM2, e.w));
#endif
    return raw_of(TO, compute(a, b, c), LANE);
}

uvec4 places(uint i) {
    uvec4 flat_places = param[3] + i;
    if ((FLAT & 15) == 15) return flat_places;
    uvec4 e = param[3];
    uint rest = i;
    for (int d = int(param[0].y) - 1; d > 0; d--) {
        uint size = d < 4 ? param[12][d] : param[13][d - 4], at = rest % size;
        rest /= size;
        e += at * param[4 + d];
    }
    e += rest * param[4];
    return e;
}

void main() {
    uint n = param[0].x, first = (group_index() * 256 + gl_LocalInvocationID.x) * EACH, width = width_of(TO);
    uint end = min(first + EACH, n), word = 0;
    bool whole = (FLAT & 1) != 0 && first + EACH <= n; /* the words of these elements are ours alone */
    for (uint i = first; i < end; i++) {
        uvec4 e = places(i);
        uint to = (FLAT & 1) != 0 ? param[3].x + i : e.x, part = i - first;
        uvec2 raw = result_at(e);
        if (width >= 2 || !whole) {
            store(TO, to, raw);
        } else {
            uint shift = width == 0 ? 8 * (part & 3) : 16 * (part & 1);
            word |= (width == 0 ? raw.x & 0xff : raw.x & 0xffff) << shift;
            if (shift == (width == 0 ? 24 : 16)) {
                b0.d[to >> (2 - width)] = word;
                word = 0;
            }
        }
    }
}
