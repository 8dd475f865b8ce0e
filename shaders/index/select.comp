// select.comp - elements where a mask is true (masked_select) and where an operand is not 0 (nonzero), in
// order: workgroups count what they will give, the counts are added up, then each writes behind those before
// it.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/select.glsl"

#include "common/common.glsl"
#include "common/fault.glsl"

DEFINE_LOAD(load_tested, b1)
DEFINE_LOAD(load_x, b2)
DEFINE_STORE(store, b0)


shared uint sums[THREADS];

uvec4 places(const uint i) {
    return places_of(P_at.yzyz, i, P_ndim, ROW_stride, ROW_shape);
}
bool is_true(const uint dtype, const uvec2 raw) {
    uint sign = 0;
    if (is_float(dtype) || dtype == C64) sign = 1u << ((8u << min(width_of(dtype), 2)) - 1);
    if (dtype == F64) return (raw.x | (raw.y & 0x7fffffffu)) != 0;
    return (raw.x & ~sign) != 0 || (raw.y & ~sign) != 0;
}
// The sum of what all invocations before this one have; `all_of`: of every one. All come here.
uint sum_before(const uint own, out uint all_of) {
    uint lane = gl_LocalInvocationID.x, sum = own;
    sums[lane] = sum;
    barrier();
    for (uint reach = 1; reach < THREADS; reach *= 2) {
        if (lane >= reach) sum += sums[lane - reach];
        barrier();
        sums[lane] = sum;
        barrier();
    }
    all_of = sums[THREADS - 1];
    barrier();
    return sum - own;
}

void add_up() {
    uint n = P_groups, total = 0, part;
    for (uint first = 0; first < n; first += THREADS) {
        uint i = first + gl_LocalInvocationID.x, count = i < n ? b3.d[P_counts + i] : 0;
        uint before = total + sum_before(count, part);
        if (i < n) b3.d[P_counts + i] = before;
        total += part;
    }
    if (gl_LocalInvocationID.x == 0 && total != P_size) tell(P_fault, P_kind, uvec2(total, 0), 0);
}
void write(const uint place, uint position, const uint x) {
    if (place >= P_size) return; /* what is tested has changed since it was counted */
    if (COORDINATES == 0) {
        store(DTYPE, P_at0 + place * P_row, load_x(DTYPE, x));
        return;
    }
    uint row = P_at0 + place * P_row;
    for (int d = int(P_ndim) - 1; d >= 0; d--) {
        store(I64, row + d * P_column, uvec2(position % size_at(ROW_shape, d), 0));
        position /= size_at(ROW_shape, d);
    }
}

void main() {
    if (PASS == ADD_UP) {
        add_up();
        return;
    }
    uint first = (group_index() * THREADS + gl_LocalInvocationID.x) * EACH, last = min(first + EACH, P_n);
    uint chosen = 0, total;
    for (uint i = first; i < last; i++)
        if (is_true(TESTED, load_tested(TESTED, places(i).x))) chosen |= 1u << (i - first);
    uint before = sum_before(bitCount(chosen), total), group = group_index();
    if (PASS == COUNT) {
        if (gl_LocalInvocationID.x == 0 && group < P_groups) b3.d[P_counts + group] = total;
        return;
    }
    if (group < P_groups) before += b3.d[P_counts + group];
    for (; chosen != 0; chosen &= chosen - 1) {
        uint i = first + findLSB(chosen);
        write(before++, i, places(i).y);
    }
}
