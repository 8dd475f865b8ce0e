// multinomial.comp - draws from rows of weights, to the bits that cpu/generate/random.c gives. A workgroup
// looks at a row and writes its running sums or (RACE) the keys whose smallest are drawn; then invocations
// draw with replacement.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/multinomial.glsl"
#include "tables/fault.glsl"

#define ONLY_F64
#include "common/common.glsl"
#include "common/number.glsl"
#include "common/integer.glsl"
#define DOUBLE
#include "generate/philox.glsl"

#define MOST packDouble2x32(uvec2(~0u, 0x7fefffffu))
#define INFINITE packDouble2x32(uvec2(0, 0x7ff00000u))

DEFINE_LOAD(load, b1)
DEFINE_STORE(store, b0)

shared double weights[THREADS];
shared uint positive, bad;

double kept(const uint i) {
    return packDouble2x32(uvec2(b2.d[2 * (P_kept + i)], b2.d[2 * (P_kept + i) + 1]));
}
void keep(const uint i, const double v) {
    uvec2 bits = unpackDouble2x32(v);
    b2.d[2 * (P_kept + i)] = bits.x;
    b2.d[2 * (P_kept + i) + 1] = bits.y;
}
// The number of 53 random bits in [0, 1) of element e.
double unit_of(const uint e) {
    uvec4 w = philox(uvec2(e / 2, 0));
    return double_of(fraction(shifted_right(e % 2 == 0 ? w.yx : w.wz, 11), 53));
}
double key_of(const uint e, const double weight) {
    precise double u = 1 - unit_of(e), log_u = -log_of(u);
    return weight > 0 ? min(quotient(log_u, weight), MOST) : INFINITE;
}
void look(const uint row) {
    uint n = P_categories, lane = gl_LocalInvocationID.x;
    uint from = places_of(param[ROW_at], row, P_dims, ROW_stride, ROW_shape).x;
    precise double total = 0;
    if (lane == 0) positive = bad = 0;
    for (uint first = 0; first < n; first += THREADS) {
        uint k = first + lane, count = min(THREADS, n - first);
        barrier();
        double weight = k < n ? double_of(lane_of(FROM, load(FROM, from + k * P_step0), LANE_F64)) : 0;
        if (!(weight >= 0 && weight <= MOST)) atomicMax(bad, 1);
        if (weight > 0) atomicAdd(positive, 1);
        weights[lane] = weight;
        barrier();
        if (lane == 0)
            for (uint i = 0; i < count; i++) {
                total = total + weights[i];
                weights[i] = total;
            }
        barrier();
        if (k < n) keep(row * n + k, RACE == 1 ? key_of(row * n + k, weight) : weights[lane]);
    }
    if (lane != 0) return;
    uint why = bad != 0 || (positive > 0 && !(total <= MOST)) ? BAD_WEIGHT
               : positive == 0                                ? NO_WEIGHT
               : RACE == 1 && positive < P_samples             ? TOO_FEW
                                                              : 0;
    if (why == 0) return;
    uint place = P_fault; /* as in fault.glsl */
    uint before = atomicCompSwap(FAULT_BLOCK.d[place + FAULT_kind], 0, P_kind);
    /* of several rows the first stays */
    if (before == 0 || before == P_kind) atomicMax(FAULT_BLOCK.d[place + FAULT_value_low], ~(4 * row + why));
}
void draw(const uint row, const uint j) {
    uint n = P_categories, from = row * n, least = 0, most = n - 1;
    precise double u = unit_of(row * P_samples + j) * kept(from + n - 1);
    while (least < most) {
        uint middle = least + (most - least) / 2;
        if (kept(from + middle) > u) most = middle;
        else least = middle + 1;
    }
    /* u rounded up to the sum: not a category of weight 0 */
    while (least > 0 && kept(from + least) == kept(from + least - 1)) least--;
    uint to = places_of(param[ROW_at], row, P_dims, ROW_stride, ROW_shape).y + j * P_step1;
    store(I64, to, uvec2(least, 0));
}

void main() {
    if (PASS == LOOK) {
        if (group_index() < P_rows) look(group_index());
        return;
    }
    uint i = group_index() * THREADS + gl_LocalInvocationID.x;
    if (i < P_rows * P_samples) draw(i / P_samples, i % P_samples);
}
