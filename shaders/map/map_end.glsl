// map_end.glsl - the rest of an elementwise shader: operands in, compute, result out.

// An operand in the lane; an integer wider than the computing dtype counts as a number of that dtype.
uvec2 taken(const uint dtype, const uvec2 raw) {
    uvec2 v = lane_of(dtype, raw, LANE);
    if (INTEGER && dtype != COMPUTE && COMPUTE != BOOL) v = lane_of(COMPUTE, raw_of(COMPUTE, v, LANE), LANE);
    return v;
}

// The result's element from raw ones.
uvec2 result_of(uvec2 a, const uvec2 b, const uvec2 c) {
#ifdef MOVES
    if (OP == OP_copy) a = taken(FROM0, a);
#else
    a = taken(FROM0, a);
#endif
    return raw_of(TO, compute(a, taken(FROM1, b), taken(FROM2, c)), LANE);
}

uvec4 places(const uint i) {
    return (QUADS >> 16) != 0 ? P_at + i : places_of(param[ROW_at], i, P_ndim, ROW_stride, ROW_shape);
}

#define LOAD_QUAD(bit, to, t, load_quad, load, dtype, e)                                                  \
    {                                                                                                     \
        uvec4 quad = (QUADS >> 8 & bit) != 0 ? load(dtype, e).xxxx : load_quad(dtype, e);                 \
        for (uint j = 0; j < 4; j++) to[t + j] = uvec2(quad[j], 0);                                       \
    }

// Elements of an invocation: EACH neighbors, or quads that are THREADS quads apart. All are loaded before the
// first is stored.
const uint QUADS_EACH = QUADS & 255, STEPS = QUADS == 0 ? 1 : QUADS_EACH, WIDE = QUADS == 0 ? EACH : 4;

void main() {
    uint n = P_n, first = group_index() * STEPS * THREADS * WIDE + gl_LocalInvocationID.x * WIDE;
    uint width = width_of(TO), to[STEPS * WIDE];
    uvec2 a[STEPS * WIDE], b[STEPS * WIDE], c[STEPS * WIDE];
    for (uint step = 0; step < STEPS; step++) {
        uint i = first + step * (4 * THREADS), t = step * WIDE;
        if (QUADS != 0 && i + 4 <= n) {
            uvec4 e = places(i);
            to[t] = e.x;
            if ((IMMEDIATE & 2) == 0) LOAD_QUAD(2, a, t, load_quad0, load0, FROM0, e.y)
#if OPERANDS > 1
            if (COUNT > 1 && (IMMEDIATE & 4) == 0) LOAD_QUAD(4, b, t, load_quad1, load1, FROM1, e.z)
#endif
#if OPERANDS > 2
            if (COUNT > 2 && (IMMEDIATE & 8) == 0) LOAD_QUAD(8, c, t, load_quad2, load2, FROM2, e.w)
#endif
            continue;
        }
        for (uint j = 0; j < WIDE; j++) {
            if (i + j >= n) continue;
            uvec4 e = places(i + j);
            to[t + j] = e.x;
            if ((IMMEDIATE & 2) == 0) a[t + j] = load0(FROM0, e.y);
#if OPERANDS > 1
            if (COUNT > 1 && (IMMEDIATE & 4) == 0) b[t + j] = load1(FROM1, e.z);
#endif
#if OPERANDS > 2
            if (COUNT > 2 && (IMMEDIATE & 8) == 0) c[t + j] = load2(FROM2, e.w);
#endif
        }
    }
    for (uint t = 0; t < STEPS * WIDE; t++) {
        uvec2 x = (IMMEDIATE & 2) != 0 ? P_immediate0 : a[t];
        uvec2 y = (IMMEDIATE & 4) != 0 ? P_immediate1 : COUNT > 1 ? b[t] : uvec2(0);
        uvec2 z = (IMMEDIATE & 8) != 0 ? P_immediate2 : COUNT > 2 ? c[t] : uvec2(0);
        a[t] = result_of(x, y, z);
    }
    for (uint step = 0; step < STEPS; step++) {
        uint i = first + step * (4 * THREADS), t = step * WIDE, word = 0;
        if (QUADS != 0 && i + 4 <= n) {
            store_quad(TO, to[t], uvec4(a[t].x, a[t + 1].x, a[t + 2].x, a[t + 3].x));
            continue;
        }
        /* the words of these elements are ours alone */
        bool whole = QUADS == 0 && width < 2 && PACKED == 1 && i + WIDE <= n;
        for (uint j = 0; j < WIDE; j++) {
            if (i + j >= n) continue;
            if (whole) word |= (width == 0 ? a[t + j].x & 0xff : a[t + j].x & 0xffff) << (j * (8 << width));
            else store(TO, to[t + j], a[t + j]);
        }
        if (whole) b0.d[to[t] >> (2 - width)] = word;
    }
}
