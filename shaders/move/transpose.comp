// transpose.comp - copies of elements of 32 or 16 bits between operands that lie along different dims: tiles
// of SIDE x SIDE go through shared memory, so that both sides are taken word behind word.
#version 450
#extension GL_GOOGLE_include_directive : require

#include "tables/transpose.glsl"
#include "common/common.glsl"

// Where lines of 16 bits begin at words, tiles of twice the side hold two neighbors of a line in each word.
const uint REACH = WORDS == 1 ? 2 * SIDE : SIDE;
shared uint tile[REACH][SIDE + 1];

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

void transpose_words(const uvec4 at, const uint row, const uint column) {
    uint rows = P_rows, columns = P_columns;
    for (uint u = gl_LocalInvocationID.x; u < REACH * SIDE; u += THREADS) {
        uint x = u % SIDE, j = u / SIDE, e = at.y + row + 2 * x + (column + j) * P_column_step;
        if (row + 2 * x < rows && column + j < columns) tile[j][x] = b1.d[e / 2];
    }
    barrier();
    for (uint u = gl_LocalInvocationID.x; u < SIDE * SIDE; u += THREADS) {
        uint two = u % SIDE * 2, x = u / SIDE, e = at.x + (row + 2 * x) * P_row_step + column + two;
        uvec2 words = uvec2(tile[two][x], tile[two + 1][x]);
        if (row + 2 * x >= rows || column + two >= columns) continue;
        write_two(e, words & 0xffff, column + two + 1 < columns);
        write_two(e + P_row_step, words >> 16, column + two + 1 < columns); /* rows are even then */
    }
}

void main() {
    uint rows = P_rows, columns = P_columns, across = (columns + (REACH - 1)) / REACH,
         down = (rows + (REACH - 1)) / REACH;
    uint i = group_index(), outer = i / (across * down), x = gl_LocalInvocationID.x % SIDE,
         y = gl_LocalInvocationID.x / SIDE;
    if (outer >= P_outer) return;
    uint row = i % (across * down) / across * REACH, column = i % across * REACH;
    uvec4 at = places_of(param[ROW_at], outer, P_outer_dims, ROW_stride, ROW_shape);
    if (WORDS == 1) {
        transpose_words(at, row, column);
        return;
    }
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
