// route.glsl - the experts of a row: scores of a router's numbers, the largest of them and the weights that
// they get, as calls of softmax, topk, sum, clamp, div, mul and copy would give them. A workgroup takes a
// row, whose numbers it has in `scores`. Who includes this says what is made of them (ROUTER_SCORES,
// ROUTER_BIASED, ROUTER_PICKED, ROUTER_LATE, ROUTER_GIVEN), how many there is room for (ROUTER_ROOM), where
// results lie (ROUTER_AT of one, ROUTER_INDICES, ROUTER_IDS) and what is added to scores before they are
// compared (ROUTER_BIAS), what bounds sums of weights and what these are multiplied by (ROUTER_LEAST,
// ROUTER_SCALE), in which blocks, three bits each, results in f32, indices as i64, as i32 and what is added
// are (ROUTER_BLOCKS), and whether this workgroup writes results (ROUTER_WRITES).

#include "common/any_word.glsl"

// Every invocation goes over all of a row, four numbers at a time: what is behind the last one is -INF.
const uint ROUTER_FOURS = (ROUTER_ROOM + 3) / 4;
shared vec4 scores[ROUTER_FOURS];
shared uvec4 keys[ROUTER_FOURS];
shared float weights_of_best[ROUTER_ROOM > 1 ? ROUTE_USED : 1];
shared uint best[ROUTER_ROOM > 1 ? ROUTE_USED : 1];

float score(const uint i) {
    return scores[i >> 2][i & 3];
}
void put_score(const uint i, const float x) {
    scores[i >> 2][i & 3] = x;
}
// A row's length in whole fours.
uint in_fours(const uint experts) {
    return (experts + 3) & ~3u;
}
void give(const uint result, const uint i, const float x) {
    if ((ROUTER_GIVEN >> result & 1) != 0 && ROUTER_WRITES)
        PUT_WORD_OF(ROUTER_BLOCKS & 7, ROUTER_AT(result) + i, x)
}
// As sort.comp orders numbers: zeros are equal, NaNs are equal and largest.
uint key_of(const float x) {
    uint bits = floatBitsToUint(x), size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return ~0u;
    return size == 0 ? 0x80000000u : bits >> 31 != 0 ? ~bits : bits | 0x80000000u;
}
// What the numbers become, a few of them an invocation; all come here.
void take_scores(const uint experts) {
    uint id = gl_LocalInvocationID.x;
    float most = -INF, total = 0;
    barrier();
    if (ROUTER_SCORES == ROUTE_SIGMOID) {
        for (uint i = id; i < experts; i += gl_WorkGroupSize.x) put_score(i, my_sigmoid(score(i)));
        barrier();
    }
    if (ROUTER_SCORES != ROUTE_SOFTMAX) return;
    vec4 four = vec4(most);
    for (uint i = 0; 4 * i < experts; i++) four = mix(four, scores[i], greaterThan(scores[i], four));
    most = max(max(four.x, four.y), max(four.z, four.w));
    barrier();
    for (uint i = id; i < in_fours(experts); i += gl_WorkGroupSize.x) put_score(i, my_exp(score(i) - most));
    barrier();
    for (uint i = 0; 4 * i < experts; i++) total += dot(scores[i], vec4(1));
    barrier();
    for (uint i = id; i < experts; i += gl_WorkGroupSize.x) put_score(i, score(i) / total);
    barrier();
}
float chosen_by(const uint i) {
    if (ROUTER_BIASED == 0) return score(i);
    precise float x = score(i) + word_of(ROUTER_BLOCKS >> 9 & 7, ROUTER_BIAS + i);
    return x;
}
// Weight t of `used`, of which all are shared.
void give_weights(const uint row, const uint t, const uint used) {
    float w = weights_of_best[t], sum = 0;
    if (ROUTER_LATE == 1) {
        float most = -INF, total = 0;
        for (uint i = 0; i < used; i++) most = weights_of_best[i] > most ? weights_of_best[i] : most;
        for (uint i = 0; i < used; i++) total += my_exp(weights_of_best[i] - most);
        w = my_exp(w - most) / total;
        give(ROUTE_LATE, row * used + t, w);
    }
    for (uint i = 0; i < used; i++) sum += weights_of_best[i]; /* not of late ones: those have it already */
    if (t == 0) give(ROUTE_SUM, row, sum);
    if ((ROUTER_GIVEN >> ROUTE_BOUND & 1) != 0) sum = is_nan(sum) ? sum : max(sum, ROUTER_LEAST);
    if (t == 0) give(ROUTE_BOUND, row, sum);
    if ((ROUTER_GIVEN >> ROUTE_SHARES & 1) != 0) w = w / sum;
    give(ROUTE_SHARES, row * used + t, w);
    give(ROUTE_SCALED, row * used + t, w * ROUTER_SCALE);
}
// Which experts are `best`.
void choose_experts(const uint row, const uint experts, const uint used) {
    uint id = gl_LocalInvocationID.x;
    take_scores(experts);
    for (uint i = id; i < in_fours(experts); i += gl_WorkGroupSize.x) {
        if (i >= experts) {
            keys[i >> 2][i & 3] = 0;
            continue;
        }
        float x = chosen_by(i);
        give(ROUTE_SCORES, row * experts + i, score(i));
        give(ROUTE_CHOICE, row * experts + i, x);
        keys[i >> 2][i & 3] = key_of(x);
    }
    barrier();
    for (uint i = id; i < experts; i += gl_WorkGroupSize.x) { /* how many come before it */
        const uvec4 key = uvec4(keys[i >> 2][i & 3]);
        uvec4 before = uvec4(0);
        for (uint j = 0; 4 * j < experts; j++) {
            const bvec4 same = equal(keys[j], key), ahead = lessThan(4 * j + uvec4(0, 1, 2, 3), uvec4(i));
            before += uvec4(greaterThan(keys[j], key)) + uvec4(same) * uvec4(ahead);
        }
        const uint place = before.x + before.y + before.z + before.w;
        if (place < used) best[place] = i;
    }
    barrier();
}
// What is made of that.
void give_chosen(const uint row, const uint used) {
    uint id = gl_LocalInvocationID.x;
    if (id < used) weights_of_best[id] = ROUTER_PICKED == 1 ? score(best[id]) : chosen_by(best[id]);
    barrier();
    if (id >= used) return;
    uint i = best[id], to = row * used + id;
    give(ROUTE_VALUES, to, chosen_by(i));
    give(ROUTE_PICKED, to, score(i));
    PUT_BITS_OF(ROUTER_BLOCKS >> 3 & 7, 2 * (ROUTER_INDICES + to), i)
    PUT_BITS_OF(ROUTER_BLOCKS >> 3 & 7, 2 * (ROUTER_INDICES + to) + 1, 0)
    if ((ROUTER_GIVEN >> ROUTE_IDS & 1) != 0) PUT_BITS_OF(ROUTER_BLOCKS >> 6 & 7, ROUTER_IDS + to, i)
    give_weights(row, id, used);
}
void route_row(const uint row, const uint experts, const uint used) {
    choose_experts(row, experts, used);
    give_chosen(row, used);
}
