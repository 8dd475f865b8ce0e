// product.comp - matrix products: a workgroup computes 64 x 64 of c, an invocation 4 x 4, in f32; 16 along k at a
// time go through shared memory, from any strides and dtypes, block types expanded on the way.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
#include "product.glsl"

const uint TILE = 64, DEEP = 16, PAD = 4;

shared float tile_a[DEEP][TILE + PAD], tile_b[DEEP][TILE + PAD];

void main() {
    uint rows = param[0].x, columns = param[0].y, inner = param[0].z, lane = gl_LocalInvocationID.x;
    uint row0 = gl_WorkGroupID.y * TILE, column0 = gl_WorkGroupID.x * TILE;
    uint tx = lane % 16, ty = lane / 16;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    vec4 sum[4] = vec4[](vec4(0), vec4(0), vec4(0), vec4(0));
    for (uint k0 = 0; k0 < inner; k0 += DEEP) {
        for (uint j = 0; j < 4; j++) {
            uint k = A_ALONG == 1 ? lane % 16 : lane / 64 + 4 * j, row = A_ALONG == 1 ? lane / 16 + 16 * j : lane % 64;
            bool inside = k0 + k < inner && row0 + row < rows;
            tile_a[k][row] = inside ? number_a(at.y + (row0 + row) * param[4].y + (k0 + k) * param[5].y) : 0;
        }
        if (is_block(DTYPE_B)) {
            uint k = lane % 4 * 4, column = lane / 4;
            vec4 four = vec4(0);
            if (k0 + k < inner && column0 + column < columns)
                four = block_numbers(DTYPE_B, at.z + (column0 + column) * param[5].z, k0 + k);
            for (uint j = 0; j < 4; j++) tile_b[k + j][column] = four[j];
        } else {
            for (uint j = 0; j < 4; j++) {
                uint k = B_ALONG == 1 ? lane % 16 : lane / 64 + 4 * j;
                uint column = B_ALONG == 1 ? lane / 16 + 16 * j : lane % 64;
                bool inside = k0 + k < inner && column0 + column < columns;
                tile_b[k][column] = inside ? number_b(at.z + (k0 + k) * param[4].z + (column0 + column) * param[5].z) : 0;
            }
        }
        barrier();
        vec4 part[4] = vec4[](vec4(0), vec4(0), vec4(0), vec4(0)); /* short sums first: smaller errors */
        for (uint k = 0; k < DEEP; k++) {
            vec4 b = vec4(tile_b[k][4 * tx], tile_b[k][4 * tx + 1], tile_b[k][4 * tx + 2], tile_b[k][4 * tx + 3]);
            for (uint i = 0; i < 4; i++) part[i] = fma(vec4(tile_a[k][4 * ty + i]), b, part[i]);
        }
        for (uint i = 0; i < 4; i++) sum[i] += part[i];
        barrier();
    }
    for (uint i = 0; i < 4; i++) {
        uint row = row0 + 4 * ty + i, column = column0 + 4 * tx;
        if (row >= rows) break;
        uint e = at.x + row * param[4].x + column * param[5].x, each = 4 >> width_of(DTYPE_C);
        if (PACKED != 0 && column + 4 <= columns) {
            uint word = 0;
            for (uint j = 0; j < 4; j++) {
                uint bits = raw_of(DTYPE_C, uvec2(floatBitsToUint(finished(sum[i][j], at, row, column + j)), 0), LANE_F32).x;
                word |= bits << (j % each * (8 << width_of(DTYPE_C)));
                if (j % each == each - 1) {
                    b0.d[(e + j) >> (2 - width_of(DTYPE_C))] = word;
                    word = 0;
                }
            }
        } else {
            for (uint j = 0; j < 4 && column + j < columns; j++) {
                float r = finished(sum[i][j], at, row, column + j);
                store_c(DTYPE_C, e + j * param[5].x, raw_of(DTYPE_C, uvec2(floatBitsToUint(r), 0), LANE_F32));
            }
        }
    }
}
