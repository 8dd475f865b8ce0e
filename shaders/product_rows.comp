// product_rows.comp - products with few rows of a (ROWS, at most 8) and columns of b that lie along k: a team of SPLIT
// lines of 32 invocations takes COLUMNS of them, an invocation eight weights of each at a time, so that each weight is
// read once for all rows. What decoding a language model runs on.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x_id = 12) in;
#include "product.glsl"

layout(constant_id = 13) const uint ROWS = 1;       // rows of a
layout(constant_id = 14) const uint COLUMNS = 1;    // columns of a line
layout(constant_id = 15) const uint AHEAD = 2;      // chunks that are fetched before the first is used
layout(constant_id = 16) const uint SPLIT = 1;      // lines that share columns, each with a part of k

const uint TEAMS = gl_WorkGroupSize.x / 32 / SPLIT, OUTPUTS = ROWS * COLUMNS, TEAM = 32 * SPLIT;

shared float partial[TEAMS * OUTPUTS * (TEAM + 1)];

vec4 four_a(const uint e, const uint k) {
    uint step = param[5].y, first = e + k * step;
    if (A_WIDE == 1) return wide_a(DTYPE_A, first);
    vec4 r = vec4(0);
    [[unroll]] for (uint j = 0; j < 4; j++)
        if (k + j < param[0].z) r[j] = number_a(first + j * step);
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
            if (k.x + j < param[0].z) x[j] = number_b(e + k.x + j);
            if (k.y + j < param[0].z) y[j] = number_b(e + k.y + j);
        }
    }
}

void main() {
    uint columns = param[0].y, inner = param[0].z, lane = gl_LocalInvocationID.x % TEAM, team = gl_LocalInvocationID.x / TEAM;
    uint first = group_index() * TEAMS * COLUMNS, column0 = first + team * COLUMNS;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    float sum[OUTPUTS];
    [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] = 0;
    uint place[COLUMNS]; /* columns behind the last one repeat it */
    [[unroll]] for (uint j = 0; j < COLUMNS; j++) place[j] = at.z + min(column0 + j, columns - 1) * param[5].z;
    uint pair = pair_distance(DTYPE_B);
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
                p[ahead][row] = there ? four_a(at.y + row * param[4].y, k.x) : vec4(0);
                q[ahead][row] = there ? four_a(at.y + row * param[4].y, k.y) : vec4(0);
            }
        }
        [[unroll]] for (uint ahead = 0; ahead < AHEAD; ahead++)
            [[unroll]] for (uint row = 0; row < ROWS; row++) {
                float p_sum = dot(p[ahead][row], vec4(1)), q_sum = dot(q[ahead][row], vec4(1));
                [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                    vec4 t = terms[ahead][j];
                    float more = t.x * dot(p[ahead][row], x[ahead][j]) + t.y * dot(q[ahead][row], y[ahead][j]);
                    sum[row * COLUMNS + j] += is_block(DTYPE_B) ? more - (t.z * p_sum + t.w * q_sum) : more;
                }
            }
    }
    [[unroll]] for (uint i = 0; i < OUTPUTS; i++) partial[(team * OUTPUTS + i) * (TEAM + 1) + lane] = sum[i];
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < TEAMS * OUTPUTS; i += gl_WorkGroupSize.x) {
        uint row = i % OUTPUTS / COLUMNS, column = first + i / OUTPUTS * COLUMNS + i % COLUMNS;
        if (column >= columns) continue;
        float total[4] = float[](0.0, 0.0, 0.0, 0.0);
        [[unroll]] for (uint j = 0; j < TEAM; j++) total[j & 3] += partial[i * (TEAM + 1) + j];
        float r = finished(total[0] + total[1] + (total[2] + total[3]), at, row, column);
        uint e = at.x + row * param[4].x + column * param[5].x;
        store_c(DTYPE_C, e, uvec2(narrow_of_f32(DTYPE_C, floatBitsToUint(r)), 0));
    }
}
