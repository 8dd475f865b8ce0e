// turn.comp - copies of 32-bit elements between operands that lie along different dims: tiles of 32 x 32 go
// through shared memory, so that both sides are taken word behind word. param[0] rows, columns, outer
// positions, outer dims; [1].xy first elements of the result and x, .z step between rows of the result, .w
// step between columns of x; [2 + d].xy strides of the outer dims; [10], [11] their shape.
#version 450
#extension GL_GOOGLE_include_directive : require
layout(local_size_x = 256) in;

#include "common.glsl"

shared uint tile[32][33];

void main() {
    uint rows = param[0].x, columns = param[0].y, across = (columns + 31) / 32, down = (rows + 31) / 32;
    uint i = group_index(), outer = i / (across * down), x = gl_LocalInvocationID.x % 32,
         y = gl_LocalInvocationID.x / 32;
    if (outer >= param[0].z) return;
    uint row = i % (across * down) / across * 32, column = i % across * 32;
    uvec4 at = places_of(param[1], outer, param[0].w, 2, 10);
    for (uint j = y; j < 32; j += 8)
        if (row + x < rows && column + j < columns)
            tile[j][x] = b1.d[at.y + row + x + (column + j) * param[1].w];
    barrier();
    for (uint j = y; j < 32; j += 8)
        if (row + j < rows && column + x < columns)
            b0.d[at.x + (row + j) * param[1].z + column + x] = tile[x][j];
}
