// product_rows.comp - products with few rows of a in f32, weights of any type: an invocation takes eight of
// each column at a time.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define IN_EIGHTS
#include "product/product_few.glsl"

shared vec4 normal[NORM == 0 ? 1 : ROWS * INNER / 4];

vec4 four_a(const uint at, const uint row, const uint k) {
    if (NORM != 0) return normal[(row * INNER + k) / 4];
    uint step = P_column.y, e = at + row * P_row.y, first = e + k * step;
    if (A_WIDE == 1) return wide_a(DTYPE_A, first);
    vec4 r;
    [[unroll]] for (uint j = 0; j < 4; j++) r[j] = k + j < P_k ? number_a(first + j * step) : 0;
    return r;
}
void eight_b(const uint e, const uvec2 k, inout vec4 x, inout vec4 y, inout vec4 terms) {
    if (is_block(DTYPE_B)) {
        block_eight(DTYPE_B, e, k, x, y, terms);
    } else if (B_WIDE == 1 && width_of(DTYPE_B) == 1) {
        uvec4 words = w2.d[(e + k.x) >> 3];
        x = four_of(DTYPE_B, words.xy);
        y = four_of(DTYPE_B, words.zw);
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
    for (uint row = 0; row < ROWS; row++) {
        uint from = at + row * P_row.y;
        float factor = norm_factor(from, sum_of_squares(from, 1));
        for (uint k = 4 * gl_LocalInvocationID.x; k < INNER; k += 4 * gl_WorkGroupSize.x)
            normal[(row * INNER + k) / 4] = normalized(from, k, factor);
        write_normalized(row, from, factor);
    }
    barrier();
}

void main() {
    uint columns = P_n, inner = P_k, id = gl_LocalInvocationID.x, lane = id % TEAM,
         team = id / TEAM;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    uint pair = pair_distance(DTYPE_B);
    if (NORM != 0) take_norm(at.y);
    for (uint first = group_index() * TAKES; first < columns;
         first += gl_NumWorkGroups.x * gl_NumWorkGroups.y * TAKES) {
        float sum[OUTPUTS];
        uint place[COLUMNS];
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] = 0;
        [[unroll]] for (uint j = 0; j < COLUMNS; j++) place[j] = place_of_b(at.z, first, team, j);
        for (uint chunk = lane; 8 * chunk < inner; chunk += TEAM * AHEAD) {
            vec4 x[AHEAD][COLUMNS], y[AHEAD][COLUMNS], terms[AHEAD][COLUMNS], p[AHEAD][ROWS], q[AHEAD][ROWS];
            [[unroll]] for (uint ahead = 0; ahead < AHEAD; ahead++) {
                uint c = chunk + TEAM * ahead;
                bool there = 8 * c < inner;
                uvec2 k = c / (pair / 4) * 2 * pair + c % (pair / 4) * 4 + uvec2(0, pair);
                [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                    x[ahead][j] = y[ahead][j] = vec4(0);
                    terms[ahead][j] = vec4(1, 1, 0, 0);
                    if (there) eight_b(place[j], k, x[ahead][j], y[ahead][j], terms[ahead][j]);
                }
                [[unroll]] for (uint row = 0; row < ROWS; row++) {
                    p[ahead][row] = there ? four_a(at.y, row, k.x) : vec4(0);
                    q[ahead][row] = there ? four_a(at.y, row, k.y) : vec4(0);
                }
            }
            [[unroll]] for (uint ahead = 0; ahead < AHEAD; ahead++)
                [[unroll]] for (uint row = 0; row < ROWS; row++) {
                    float p_sum = dot(p[ahead][row], vec4(1)), q_sum = dot(q[ahead][row], vec4(1));
                    [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                        vec4 t = terms[ahead][j], b_low = x[ahead][j], b_high = y[ahead][j];
                        float more = t.x * dot(p[ahead][row], b_low) + t.y * dot(q[ahead][row], b_high);
                        sum[row * COLUMNS + j] +=
                            is_block(DTYPE_B) ? more - (t.z * p_sum + t.w * q_sum) : more;
                    }
                }
        }
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++) partial[(team * OUTPUTS + i) * (TEAM + 1) + lane] =
            sum[i];
        barrier();
        write_outputs(at, first);
        barrier();
    }
}
