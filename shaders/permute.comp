// permute.comp - a random permutation from what each place i swaps with when 0 .. n-1 are shuffled from the
// end (Knuth's algorithm P): h(i) <= i. Before its turn a place k holds what the last swap with it brought,
// which is that of the least k' > k with h(k') = k: a tree, whose roots hold their own numbers and are
// found by doubling steps. The swaps come in the order of h, equal ones in their own. param[0] n, first
// elements of the result and of h; [1] of the swaps' places (I64), of links in and out.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint PASS = 0;

#include "common.glsl"

const uint LINK = 0, DOUBLE_STEPS = 1;

uint swapped(const uint j) {
    return b1.d[param[0].z + j];
}
uint place(const uint j) { /* of I64 */
    return b2.d[2 * (param[1].x + j)];
}
bool goes_on(const uint j) {
    return j + 1 < param[0].x && swapped(j + 1) == swapped(j);
}
uint parent_of(const uint k) {
    uint least = 0, most = param[0].x;
    while (least < most) {
        uint middle = least + (most - least) / 2;
        if (swapped(middle) < k) least = middle + 1;
        else most = middle;
    }
    if (least == param[0].x || swapped(least) != k) return k;
    if (place(least) != k) return place(least);
    return goes_on(least) ? place(least + 1) : k;
}
uint link(const uint k) {
    return b3.d[param[1].y + k];
}

void main() {
    uint j = group_index() * 256 + gl_LocalInvocationID.x;
    if (j >= param[0].x) return;
    if (PASS == LINK) {
        b4.d[param[1].z + j] = parent_of(j);
    } else if (PASS == DOUBLE_STEPS) {
        b4.d[param[1].z + j] = link(link(j));
    } else {
        uint i = place(j), value = swapped(j);
        if (value == i) value = link(i);
        else if (goes_on(j)) value = link(place(j + 1));
        b0.d[param[0].y + i] = value;
    }
}
