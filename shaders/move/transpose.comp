// transpose.comp - copies of 32-bit elements between operands that lie along different dims: tiles of SIDE x
// SIDE go through shared memory, so that both sides are taken word behind word.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "tables/transpose.glsl"
#include "common/common.glsl"

shared uint tile[SIDE][SIDE + 1];

void main() {
    uint rows = P_rows, columns = P_columns, across = (columns + (SIDE - 1)) / SIDE,
         down = (rows + (SIDE - 1)) / SIDE;
    uint i = group_index(), outer = i / (across * down), x = gl_LocalInvocationID.x % SIDE,
         y = gl_LocalInvocationID.x / SIDE;
    if (outer >= P_outer) return;
    uint row = i % (across * down) / across * SIDE, column = i % across * SIDE;
    uvec4 at = places_of(param[ROW_at], outer, P_outer_dims, ROW_stride, ROW_shape);
    for (uint j = y; j < SIDE; j += THREADS / SIDE)
        if (row + x < rows && column + j < columns)
            tile[j][x] = b1.d[at.y + row + x + (column + j) * P_column_step];
    barrier();
    for (uint j = y; j < SIDE; j += THREADS / SIDE)
        if (row + j < rows && column + x < columns)
            b0.d[at.x + (row + j) * P_row_step + column + x] = tile[x][j];
}
