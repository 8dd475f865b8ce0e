// route.comp - the experts of a row, a workgroup each: scores of a router's numbers, the largest of them and
// the weights that they get, as calls of softmax, topk, sum, clamp, div, mul and copy would give them. Block
// 0 has all results in f32, block 1 the numbers, block 4 what is added to scores before they are compared,
// blocks 2 and 3 the indices as i64 and i32.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/route.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"

shared float scores[ROUTE_EXPERTS], weights[ROUTE_USED];
shared uint keys[ROUTE_EXPERTS], best[ROUTE_USED];

void give(const uint result, const uint i, const float x) {
    if ((GIVEN >> result & 1) != 0) b0.d[param[ROW_at + result / 4][result % 4] + i] = floatBitsToUint(x);
}
// As sort.comp orders numbers: zeros are equal, NaNs are equal and largest.
uint key_of(const float x) {
    uint bits = floatBitsToUint(x), size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return ~0u;
    return size == 0 ? 0x80000000u : bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
// Softmax over shared numbers, a few of them an invocation; all come here.
void take_scores(const uint row, const uint experts) {
    uint id = gl_LocalInvocationID.x;
    float most = -INF, total = 0;
    for (uint i = id; i < experts; i += THREADS) {
        float x = uintBitsToFloat(b1.d[P_numbers + row * experts + i]);
        scores[i] = SCORES == ROUTE_SIGMOID ? my_sigmoid(x) : x;
    }
    barrier();
    if (SCORES != ROUTE_SOFTMAX) return;
    for (uint i = 0; i < experts; i++) most = scores[i] > most ? scores[i] : most;
    barrier();
    for (uint i = id; i < experts; i += THREADS) scores[i] = my_exp(scores[i] - most);
    barrier();
    for (uint i = 0; i < experts; i++) total += scores[i];
    barrier();
    for (uint i = id; i < experts; i += THREADS) scores[i] = scores[i] / total;
    barrier();
}
float chosen_by(const uint i) {
    if (BIASED == 0) return scores[i];
    precise float x = scores[i] + uintBitsToFloat(b4.d[P_bias + i]);
    return x;
}
// Weight t of `used`, of which all are shared.
void give_weights(const uint row, const uint t, const uint used) {
    float w = weights[t], sum = 0;
    if (LATE == 1) {
        float most = -INF, total = 0;
        for (uint i = 0; i < used; i++) most = weights[i] > most ? weights[i] : most;
        for (uint i = 0; i < used; i++) total += my_exp(weights[i] - most);
        w = my_exp(w - most) / total;
        give(ROUTE_LATE, row * used + t, w);
    }
    for (uint i = 0; i < used; i++) sum += weights[i]; /* not of late ones: those have it already */
    if (t == 0) give(ROUTE_SUM, row, sum);
    if ((GIVEN >> ROUTE_BOUND & 1) != 0) sum = is_nan(sum) ? sum : max(sum, uintBitsToFloat(P_least));
    if (t == 0) give(ROUTE_BOUND, row, sum);
    if ((GIVEN >> ROUTE_SHARES & 1) != 0) w = w / sum;
    give(ROUTE_SHARES, row * used + t, w);
    give(ROUTE_SCALED, row * used + t, w * uintBitsToFloat(P_scale));
}

void main() {
    uint row = group_index(), id = gl_LocalInvocationID.x, experts = P_experts, used = P_used;
    if (row >= P_rows) return;
    take_scores(row, experts);
    for (uint i = id; i < experts; i += THREADS) {
        float x = chosen_by(i);
        give(ROUTE_SCORES, row * experts + i, scores[i]);
        give(ROUTE_CHOICE, row * experts + i, x);
        keys[i] = key_of(x);
    }
    barrier();
    for (uint i = id; i < experts; i += THREADS) { /* how many come before it */
        uint key = keys[i], before = 0;
        for (uint j = 0; j < experts; j++) before += uint(keys[j] > key || (keys[j] == key && j < i));
        if (before < used) best[before] = i;
    }
    barrier();
    if (id < used) weights[id] = PICKED == 1 ? scores[best[id]] : chosen_by(best[id]);
    barrier();
    if (id >= used) return;
    uint i = best[id], to = row * used + id;
    give(ROUTE_VALUES, to, chosen_by(i));
    give(ROUTE_PICKED, to, scores[i]);
    b2.d[2 * (P_indices + to)] = i;
    b2.d[2 * (P_indices + to) + 1] = 0;
    if ((GIVEN >> ROUTE_IDS & 1) != 0) b3.d[P_ids + to] = i;
    give_weights(row, id, used);
}
