// pool.glsl - pooling: an invocation an element of the result, or as many as fill a word. Images have up to
// three dims, the others count them; sums go through a window in the CPU's order. The includer brings
// numbers: NUMBER, ZERO, number_of(dtype, raw), raw_number(dtype, v), is_above(a, b), is_no_number(v),
// plus(a, b) and share(v, count).

DEFINE_LOAD(load_x, b1)
DEFINE_STORE(store, b0)
DEFINE_STORE(store_index, b2)

// A window along a dim: elements within the image from `first` on, and how many there are with the padding.
struct window {
    int first, count, padded;
};
window window_at(const uint d, const int at) {
    int size = int(P_size[d]), kernel = int(P_kernel[d]), dilation = int(P_dilation[d]);
    window w;
    if (kernel == 0) { /* floor(at size / places) up to ceil((at + 1) size / places) */
        int places = int(P_places[d]), end = ((at + 1) * size + places - 1) / places;
        w.first = at * size / places;
        w.count = end - w.first;
        w.padded = w.count;
        return w;
    }
    int start = at * int(P_stride[d]) - int(P_padding[d]);
    int skip = start < 0 ? (dilation - 1 - start) / dilation : 0;
    w.padded = min(start + dilation * (kernel - 1) + 1, size + int(P_padding[d])) - start;
    w.first = start + skip * dilation;
    w.count = kernel - skip;
    if (w.count > 0 && w.first + (w.count - 1) * dilation >= size)
        w.count = w.first >= size ? 0 : (size - 1 - w.first) / dilation + 1;
    return w;
}
// Places along a dim whose windows may hold position q: from the first to the last. Which do, holds() says.
ivec2 places_over(const uint d, const int q) {
    int size = int(P_size[d]), kernel = int(P_kernel[d]), places = int(P_places[d]);
    if (kernel == 0) return ivec2(q * places / size, min(((q + 1) * places + size - 1) / size, places) - 1);
    int stride = int(P_stride[d]), padded = q + int(P_padding[d]),
        reach = int(P_dilation[d]) * (kernel - 1);
    int first = padded <= reach ? 0 : (padded - reach + stride - 1) / stride;
    return ivec2(first, min(padded / stride, places - 1));
}
bool holds(const uint d, const window w, const int q) {
    int off = q - w.first, dilation = P_kernel[d] == 0 ? 1 : int(P_dilation[d]);
    return off >= 0 && off % dilation == 0 && off / dilation < w.count;
}
int divisor_of(const window z, const window y, const window x) {
    if (P_divisor != 0) return int(P_divisor);
    if (P_include_pad != 0) return z.padded * y.padded * x.padded;
    return z.count * y.count * x.count;
}

// Where an element of the result stands: its plane, and the position in that.
struct element {
    uint outer, plane;
    int z, y, x;
};
element element_of(uint i) {
    element e;
    e.x = int(i % P_shape3);
    i /= P_shape3;
    e.y = int(i % P_shape2);
    i /= P_shape2;
    e.z = int(i % P_shape1);
    i /= P_shape1;
    e.plane = i % P_shape0;
    e.outer = i / P_shape0;
    return e;
}
// Tensor t of the result, what is pooled, and indices.
uint place_of(const uint t, const element e) {
    return param[ROW_at][t] + e.outer * param[ROW_strides][t] + e.plane * param[ROW_strides + 1][t] +
           uint(e.z) * param[ROW_strides + 2][t] + uint(e.y) * param[ROW_strides + 3][t] +
           uint(e.x) * param[ROW_strides + 4][t];
}
NUMBER number_at(const element e, const int z, const int y, const int x) {
    element there = element(e.outer, e.plane, z, y, x);
    return number_of(DTYPE, load_x(DTYPE, place_of(1, there)));
}

NUMBER pooled(const element e) {
    window wz = window_at(0, e.z), wy = window_at(1, e.y), wx = window_at(2, e.x);
    NUMBER sum = ZERO;
    int best = -1;
    for (int z = 0; z < wz.count; z++)
        for (int y = 0; y < wy.count; y++)
            for (int x = 0; x < wx.count; x++) {
                ivec3 at = ivec3(wz.first, wy.first, wx.first) +
                           ivec3(z, y, x) * max(ivec3(P_dilation), ivec3(1));
                NUMBER v = number_at(e, at.x, at.y, at.z);
                if (KIND == POOL_AVERAGE) sum = plus(sum, v);
                else if (best < 0 || is_no_number(v) || (!is_no_number(sum) && is_above(v, sum))) {
                    sum = v;
                    best = (at.x * int(P_size[1]) + at.y) * int(P_size[2]) + at.z;
                }
            }
    if (KIND == POOL_AVERAGE) return share(sum, divisor_of(wz, wy, wx));
    store_index(I64, place_of(2, e), uvec2(best, best < 0 ? ~0u : 0u));
    return sum;
}
// What flows back to an element: shares of all windows that hold it, in their order.
NUMBER gathered(const element e) {
    NUMBER sum = ZERO;
    ivec2 pz = places_over(0, e.z), py = places_over(1, e.y), px = places_over(2, e.x);
    for (int z = pz.x; z <= pz.y; z++) {
        window wz = window_at(0, z);
        if (!holds(0, wz, e.z)) continue;
        for (int y = py.x; y <= py.y; y++) {
            window wy = window_at(1, y);
            if (!holds(1, wy, e.y)) continue;
            for (int x = px.x; x <= px.y; x++) {
                window wx = window_at(2, x);
                if (!holds(2, wx, e.x)) continue;
                sum = plus(sum, share(number_at(e, z, y, x), divisor_of(wz, wy, wx)));
            }
        }
    }
    return sum;
}

void main() {
    uint n = P_n, first = (group_index() * THREADS + gl_LocalInvocationID.x) * EACH, word = 0;
    uint bits = 8u << width_of(DTYPE);
    for (uint i = first; i < min(first + EACH, n); i++) {
        element e = element_of(i);
        uvec2 raw = raw_number(DTYPE, KIND == POOL_BACK ? gathered(e) : pooled(e));
        uint to = place_of(0, e);
        if (EACH == 1 || first + EACH > n) {
            store(DTYPE, to, raw);
        } else {
            word |= (raw.x & ((1u << (bits & 31)) - 1)) << ((i - first) * bits);
            if (i - first == EACH - 1) b0.d[to >> (2 - width_of(DTYPE))] = word;
        }
    }
}
