// select.comp - elements where a mask is true (masked_select) and where an operand is not 0 (nonzero), in
// order: workgroups count what they will give, the counts are added up, then each writes behind those before
// it. param[0] positions, dims, first word of the counts, how many there are; [1] first elements of the
// result, of what is tested, of x; elements of the result (rows of coordinates); [2] strides of the result's
// dims, the fault's place, op + 1; [3 + d] strides of what is tested and of x along dim d; [11], [12] shape.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
layout(constant_id = 0) const uint PASS = 0;
layout(constant_id = 1) const uint TESTED = 1;      // dtypes of what is tested and of x
layout(constant_id = 2) const uint DTYPE = 12;
layout(constant_id = 3) const uint COORDINATES = 0; // 1: the result is coordinates

#include "common.glsl"
#include "fault.glsl"

DEFINE_LOAD(load_tested, b1)
DEFINE_LOAD(load_x, b2)
DEFINE_STORE(store, b0)

const uint COUNT = 0, ADD_UP = 1;
const uint EACH = 16; // positions of an invocation, one behind the other

shared uint sums[256];

uvec4 places(const uint i) {
    return places_of(param[1].yzyz, i, param[0].y, 3, 11);
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
    for (uint reach = 1; reach < 256; reach *= 2) {
        if (lane >= reach) sum += sums[lane - reach];
        barrier();
        sums[lane] = sum;
        barrier();
    }
    all_of = sums[255];
    barrier();
    return sum - own;
}

void add_up() {
    uint n = param[0].w, total = 0, part;
    for (uint first = 0; first < n; first += 256) {
        uint i = first + gl_LocalInvocationID.x, count = i < n ? b3.d[param[0].z + i] : 0;
        uint before = total + sum_before(count, part);
        if (i < n) b3.d[param[0].z + i] = before;
        total += part;
    }
    if (gl_LocalInvocationID.x == 0 && total != param[1].w) tell(param[2].z, param[2].w, uvec2(total, 0), 0);
}
void write(const uint place, uint position, const uint x) {
    if (place >= param[1].w) return; /* what is tested has changed since it was counted */
    if (COORDINATES == 0) {
        store(DTYPE, param[1].x + place * param[2].x, load_x(DTYPE, x));
        return;
    }
    uint row = param[1].x + place * param[2].x;
    for (int d = int(param[0].y) - 1; d >= 0; d--) {
        store(I64, row + d * param[2].y, uvec2(position % size_at(11, d), 0));
        position /= size_at(11, d);
    }
}

void main() {
    if (PASS == ADD_UP) {
        add_up();
        return;
    }
    uint first = (group_index() * 256 + gl_LocalInvocationID.x) * EACH, last = min(first + EACH, param[0].x);
    uint chosen = 0, total;
    for (uint i = first; i < last; i++)
        if (is_true(TESTED, load_tested(TESTED, places(i).x))) chosen |= 1u << (i - first);
    uint before = sum_before(bitCount(chosen), total), group = group_index();
    if (PASS == COUNT) {
        if (gl_LocalInvocationID.x == 0 && group < param[0].w) b3.d[param[0].z + group] = total;
        return;
    }
    if (group < param[0].w) before += b3.d[param[0].z + group];
    for (; chosen != 0; chosen &= chosen - 1) {
        uint i = first + findLSB(chosen);
        write(before++, i, places(i).y);
    }
}
