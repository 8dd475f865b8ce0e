// product_rows.comp - products with few rows of a (ROWS, at most 8) and columns of b that lie along k: 32
// invocations share a column, each weight is read once for all rows. What decoding a language model runs on.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
#include "product.glsl"

shared float partial[8][ROWS][33];

vec4 four_a(uint e, uint k) {
    uint step = param[5].y, left = param[0].z - k;
    uint first = e + k * step;
    if (left >= 4)
        return vec4(number_a(first), number_a(first + step), number_a(first + 2 * step), number_a(first + 3 * step));
    return vec4(number_a(first), left > 1 ? number_a(first + step) : 0, left > 2 ? number_a(first + 2 * step) : 0, 0);
}
vec4 four_b(uint e, uint k) {
    if (is_block(DTYPE_B)) return block_numbers(DTYPE_B, e, k);
    uint left = param[0].z - k, first = e + k;
    if (left >= 4) return vec4(number_b(first), number_b(first + 1), number_b(first + 2), number_b(first + 3));
    return vec4(number_b(first), left > 1 ? number_b(first + 1) : 0, left > 2 ? number_b(first + 2) : 0, 0);
}

void main() {
    uint columns = param[0].y, inner = param[0].z, lane = gl_LocalInvocationID.x % 32, line = gl_LocalInvocationID.x / 32;
    uint column = (gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x) * 8 + line;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    float sum[ROWS];
    for (uint row = 0; row < ROWS; row++) sum[row] = 0;
    if (column < columns)
        for (uint k = 4 * lane; k < inner; k += 128) {
            vec4 b = four_b(at.z + column * param[5].z, k);
            for (uint row = 0; row < ROWS; row++) sum[row] += dot(four_a(at.y + row * param[4].y, k), b);
        }
    for (uint row = 0; row < ROWS; row++) partial[line][row][lane] = sum[row];
    barrier();
    for (uint half_way = 16; half_way > 0; half_way /= 2) {
        if (lane < half_way)
            for (uint row = 0; row < ROWS; row++) partial[line][row][lane] += partial[line][row][lane + half_way];
        barrier();
    }
    if (column >= columns || lane >= ROWS) return;
    uint row = lane, e = at.x + row * param[4].x + column * param[5].x;
    float r = finished(partial[line][row][0], at, row, column);
    store_c(DTYPE_C, e, raw_of(DTYPE_C, uvec2(floatBitsToUint(r), 0), LANE_F32));
}
