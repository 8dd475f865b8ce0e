// product.comp - matrix products: a workgroup computes TILE x TILE of c, an invocation EACH x EACH, in f32; DEEP along
// k at a time go through shared memory, from any strides and dtypes, block types expanded on the way.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;
#include "product.glsl"

layout(constant_id = 10) const uint EACH = 4;       // 4 or 8

const uint TILE = 16 * EACH, DEEP = EACH == 8 ? 8 : 16, QUADS = EACH / 4;

// Four neighbours of a tile's row lie together.
shared vec4 tile_a[DEEP][TILE / 4 + 1], tile_b[DEEP][TILE / 4 + 1];

void main() {
    uint rows = param[0].x, columns = param[0].y, inner = param[0].z, lane = gl_LocalInvocationID.x;
    uint row0 = gl_WorkGroupID.y * TILE, column0 = gl_WorkGroupID.x * TILE;
    uint tx = lane % 16, ty = lane / 16;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    vec4 sum[EACH][QUADS];
    for (uint i = 0; i < EACH; i++)
        for (uint q = 0; q < QUADS; q++) sum[i][q] = vec4(0);
    for (uint k0 = 0; k0 < inner; k0 += DEEP) {
        for (uint j = 0; j < 4; j++) {
            uint k = A_ALONG == 1 ? lane % DEEP : lane / TILE + 256 / TILE * j;
            uint row = A_ALONG == 1 ? lane / DEEP + 256 / DEEP * j : lane % TILE;
            bool inside = k0 + k < inner && row0 + row < rows;
            uint e = at.y + (row0 + row) * param[4].y + (k0 + k) * param[5].y;
            tile_a[k][row >> 2][row & 3] = inside ? number_a(e) : 0;
        }
        if (is_block(DTYPE_B)) {
            uint k = lane % (DEEP / 4) * 4, column = lane / (DEEP / 4);
            vec4 four = vec4(0);
            if (k0 + k < inner && column0 + column < columns)
                four = block_numbers(DTYPE_B, at.z + (column0 + column) * param[5].z, k0 + k);
            for (uint j = 0; j < 4; j++) tile_b[k + j][column >> 2][column & 3] = four[j];
        } else {
            for (uint j = 0; j < 4; j++) {
                uint k = B_ALONG == 1 ? lane % DEEP : lane / TILE + 256 / TILE * j;
                uint column = B_ALONG == 1 ? lane / DEEP + 256 / DEEP * j : lane % TILE;
                bool inside = k0 + k < inner && column0 + column < columns;
                uint e = at.z + (k0 + k) * param[4].z + (column0 + column) * param[5].z;
                tile_b[k][column >> 2][column & 3] = inside ? number_b(e) : 0;
            }
        }
        barrier();
        vec4 part[EACH][QUADS]; /* short sums first: smaller errors */
        for (uint i = 0; i < EACH; i++)
            for (uint q = 0; q < QUADS; q++) part[i][q] = vec4(0);
        for (uint k = 0; k < DEEP; k++)
            for (uint r = 0; r < QUADS; r++) {
                vec4 a = tile_a[k][16 * r + ty];
                for (uint q = 0; q < QUADS; q++) {
                    vec4 b = tile_b[k][16 * q + tx];
                    for (uint i = 0; i < 4; i++) part[4 * r + i][q] = fma(vec4(a[i]), b, part[4 * r + i][q]);
                }
            }
        for (uint i = 0; i < EACH; i++)
            for (uint q = 0; q < QUADS; q++) sum[i][q] += part[i][q];
        barrier();
    }
    uint width = width_of(DTYPE_C), each = 4 >> width;
    for (uint i = 0; i < EACH; i++) {
        uint row = row0 + i / 4 * 64 + 4 * ty + i % 4;
        if (row >= rows) break;
        for (uint q = 0; q < QUADS; q++) {
            uint column = column0 + 64 * q + 4 * tx, e = at.x + row * param[4].x + column * param[5].x, word = 0;
            bool whole = PACKED != 0 && column + 4 <= columns;
            for (uint j = 0; j < 4 && column + j < columns; j++) {
                float r = finished(sum[i][q][j], at, row, column + j);
                uvec2 raw = raw_of(DTYPE_C, uvec2(floatBitsToUint(r), 0), LANE_F32);
                if (!whole) {
                    store_c(DTYPE_C, e + j * param[5].x, raw);
                    continue;
                }
                word |= raw.x << (j % each * (8 << width));
                if (j % each == each - 1) {
                    b0.d[(e + j) >> (2 - width)] = word;
                    word = 0;
                }
            }
        }
    }
}
