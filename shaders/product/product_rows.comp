// product_rows.comp - products with few rows of a in f32, weights of any type: an invocation takes eight of
// each column at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define IN_EIGHTS
#include "product/product_few.glsl"

shared vec4 normal[KIND == 0 && !ADDED ? 1 : ROWS * INNER / 4];

vec4 four_a(const uint at, const uint row, const uint k) {
    if (KIND != 0 || ADDED) return normal[(row * INNER + k) / 4];
    uint step = P_column.y, e = at + row * P_row.y, first = e + k * step;
    if (A_WIDE == 1) return wide_a(DTYPE_A, first);
    vec4 r;
    [[unroll]] for (uint j = 0; j < 4; j++) r[j] = k + j < P_k ? number_a(first + j * step) : 0;
    return r;
}

// Weights of sixteen bytes or twice that can be fetched ahead of their use, as they lie.
#define FETCHED (!is_block(DTYPE_B) && B_WIDE == 1 && width_of(DTYPE_B) > 0)
struct eight {
    uvec4 low, high;
};
eight fetched(const uint e, const uint k) {
    eight w;
    if (width_of(DTYPE_B) == 1) {
        w.low = w2.d[(e + k) >> 3];
    } else {
        w.low = w2.d[(e + k) >> 2];
        w.high = w2.d[((e + k) >> 2) + 1];
    }
    return w;
}
void eight_b(const eight w, const uint e, const uvec2 k, inout vec4 x, inout vec4 y, inout vec4 terms) {
    if (is_block(DTYPE_B)) {
        block_eight(DTYPE_B, e, k, x, y, terms);
    } else if (FETCHED) {
        x = width_of(DTYPE_B) == 1 ? four_of(DTYPE_B, w.low.xy) : uintBitsToFloat(w.low);
        y = width_of(DTYPE_B) == 1 ? four_of(DTYPE_B, w.low.zw) : uintBitsToFloat(w.high);
    } else if (B_WIDE == 1) {
        x = wide_b(DTYPE_B, e + k.x);
        y = wide_b(DTYPE_B, e + k.y);
    } else {
        [[unroll]] for (uint j = 0; j < 4; j++) {
            if (k.x + j < P_k) x[j] = number_b(e + k.x + j);
            if (k.y + j < P_k) y[j] = number_b(e + k.y + j);
        }
    }
}
void take_norm(const uint at) {
    vec2 mean;
    float factor;
    for (uint row = 0; row < ROWS; row++) {
        uint from = at + row * P_row.y;
        mean = vec2(0);
        factor = 1;
        hold_row(row, from);
        take_other(row, from);
        if (MOMENTS) take_moments(row, from, mean, factor);
        else if (KIND == NORM_LAYER) mean = mean_of(row, from);
        if (KIND != 0 && !MOMENTS) factor = norm_factor(SUM_SQUARES, row, from, mean);
        [[unroll]] for (uint i = 0; i < HELD; i++)
            if (four_in_round(i) < FOURS)
                normal[row * FOURS + four_in_round(i)] = normalized(held[i], mean, factor);
        for (uint four = four_in_round(HELD); four < FOURS; four += gl_WorkGroupSize.x)
            normal[row * FOURS + four] = normalized(source_at(row, from, 4 * four), mean, factor);
        if (ROWS > 1) row_is_made(row, mean, factor);
    }
    barrier();
    if (ROWS == 1) row_is_made(0, mean, factor); /* while others go on */
}
// Where in its pair of fours, or of blocks, chunk c begins.
uvec2 place_of_chunk(const uint c) {
    uint pair = pair_distance(DTYPE_B);
    return c / (pair / 4) * 2 * pair + c % (pair / 4) * 4 + uvec2(0, pair);
}

const uint EIGHTS = INNER / 8; // of a row; where rows have an expert each, INNER is their length
// What an invocation fetches for part `i` of a column.
eight fetched_part(const uint place, const uint i) {
    return fetched(column_of_part(place, i, EIGHTS), 8 * part_in_row(i, EIGHTS));
}

void main() {
    uint columns = P_n, inner = OWN ? ROWS * INNER : P_k, id = gl_LocalInvocationID.x;
    uint lane = id % TEAM, team = id / TEAM;
    uint first = group_index() * TAKES, step = gl_NumWorkGroups.x * gl_NumWorkGroups.y * TAKES;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    take_experts(at);
    await_results();
    uint place[COLUMNS];
    eight next[AHEAD][COLUMNS]; /* on their way while what comes before is computed */
    [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
        place[j] = place_of_b(at.z, first, team, j);
        if (FETCHED)
            [[unroll]] for (uint ahead = 0; ahead < AHEAD; ahead++)
                if (8 * (lane + TEAM * ahead) < inner)
                    next[ahead][j] = fetched(first_column_of_part(at, place[j], lane + TEAM * ahead, EIGHTS),
                                             8 * part_in_row(lane + TEAM * ahead, EIGHTS));
    }
    if (OWN) barrier();
    if (KIND != 0 || ADDED) take_norm(at.y);
    for (; first < columns; first += step) {
        float sum[OUTPUTS];
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] = 0;
        fetch_added(at, first);
        for (uint begin = 0; 8 * begin < inner; begin += TEAM * AHEAD) {
            uint chunk = begin + lane, following = chunk + TEAM * AHEAD;
            bool ends = 8 * (begin + TEAM * AHEAD) >= inner, more = !ends || first + step < columns;
            vec4 x[AHEAD][COLUMNS], y[AHEAD][COLUMNS], terms[AHEAD][COLUMNS];
            [[unroll]] for (uint ahead = 0; ahead < AHEAD; ahead++) {
                uint c = chunk + TEAM * ahead;
                uvec2 k = place_of_chunk(part_in_row(c, EIGHTS));
                [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                    x[ahead][j] = y[ahead][j] = vec4(0);
                    terms[ahead][j] = vec4(1, 1, 0, 0);
                    if (8 * c < inner)
                        eight_b(next[ahead][j], column_of_part(place[j], c, EIGHTS), k, x[ahead][j],
                                y[ahead][j], terms[ahead][j]);
                }
            }
            if (ends) following = lane;
            [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                if (ends) place[j] = place_of_b(at.z, first + step, team, j);
                if (FETCHED)
                    [[unroll]] for (uint ahead = 0; ahead < AHEAD; ahead++)
                        if (more && 8 * (following + TEAM * ahead) < inner)
                            next[ahead][j] = fetched_part(place[j], following + TEAM * ahead);
            }
            [[unroll]] for (uint ahead = 0; ahead < AHEAD; ahead++) {
                uint c = chunk + TEAM * ahead;
                uvec2 k = place_of_chunk(part_in_row(c, EIGHTS));
                if (8 * c >= inner) continue;
                [[unroll]] for (uint row = 0; row < ROWS; row++) {
                    if (OWN && row != row_of_part(c, EIGHTS)) continue;
                    vec4 p = four_a(at.y, row, k.x), q = four_a(at.y, row, k.y);
                    float p_sum = dot(p, vec4(1)), q_sum = dot(q, vec4(1));
                    [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                        vec4 t = terms[ahead][j];
                        float more = t.x * dot(p, x[ahead][j]) + t.y * dot(q, y[ahead][j]);
                        sum[row * COLUMNS + j] +=
                            is_block(DTYPE_B) ? more - (t.z * p_sum + t.w * q_sum) : more;
                    }
                }
            }
        }
        write_results(at, first, sum);
    }
    write_normal(at.y);
    route_results(at.x);
}
