// transpose.comp - copies of elements of 32 or 16 bits between operands that lie along different dims: tiles
// of SIDE x SIDE go through shared memory, so that both sides are taken word behind word.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "tables/transpose.glsl"
#include "common/common.glsl"

shared uint tile[SIDE][SIDE + 1];

DEFINE_LOAD(load, b1)
DEFINE_STORE(store, b0)
const uint DTYPE = WIDTH == 1 ? F16 : U32;

// Two neighbors of a row of the result, of 16 bits each.
void write_two(const uint e, const uvec2 two, const bool both) {
    if (both && e % 2 == 0) {
        b0.d[e / 2] = two.x | two.y << 16;
        return;
    }
    store(DTYPE, e, uvec2(two.x, 0));
    if (both) store(DTYPE, e + 1, uvec2(two.y, 0));
}

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
            tile[j][x] = load(DTYPE, at.y + row + x + (column + j) * P_column_step).x;
    barrier();
    for (uint u = gl_LocalInvocationID.x; WIDTH == 1 && u < SIDE * SIDE / 2; u += THREADS) {
        uint j = u / (SIDE / 2), two = u % (SIDE / 2) * 2;
        if (row + j < rows && column + two < columns)
            write_two(at.x + (row + j) * P_row_step + column + two, uvec2(tile[two][j], tile[two + 1][j]),
                      column + two + 1 < columns);
    }
    if (WIDTH == 1) return;
    for (uint j = y; j < SIDE; j += THREADS / SIDE)
        if (row + j < rows && column + x < columns)
            b0.d[at.x + (row + j) * P_row_step + column + x] = tile[x][j];
}
