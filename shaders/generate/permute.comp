// permute.comp - a random permutation from what each place i swaps with when 0 .. n-1 are shuffled from the
// end (Knuth's algorithm P): h(i) <= i. Before its turn a place k holds what the last swap with it brought,
// which is that of the least k' > k with h(k') = k: a tree, whose roots hold their own numbers and are
// found by doubling steps. The swaps come in the order of h, equal ones in their own.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/permute.glsl"

#include "common/common.glsl"

uint swapped(const uint j) {
    return b1.d[P_swaps + j];
}
uint place(const uint j) { /* of I64 */
    return b2.d[2 * (P_order + j)];
}
bool goes_on(const uint j) {
    return j + 1 < P_n && swapped(j + 1) == swapped(j);
}
uint parent_of(const uint k) {
    uint least = 0, most = P_n;
    while (least < most) {
        uint middle = least + (most - least) / 2;
        if (swapped(middle) < k) least = middle + 1;
        else most = middle;
    }
    if (least == P_n || swapped(least) != k) return k;
    if (place(least) != k) return place(least);
    return goes_on(least) ? place(least + 1) : k;
}
uint link(const uint k) {
    return b3.d[P_links_in + k];
}

void main() {
    uint j = group_index() * THREADS + gl_LocalInvocationID.x;
    if (j >= P_n) return;
    if (PASS == LINK) {
        b4.d[P_links_out + j] = parent_of(j);
    } else if (PASS == DOUBLE_STEPS) {
        b4.d[P_links_out + j] = link(link(j));
    } else {
        uint i = place(j), value = swapped(j);
        if (value == i) value = link(i);
        else if (goes_on(j)) value = link(place(j + 1));
        b0.d[P_to + i] = value;
    }
}
