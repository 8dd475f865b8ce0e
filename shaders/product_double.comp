// product_double.comp - matrix products in f64: a workgroup takes 64 x 64 of c, an invocation 4 x 4 of them.
// All operands are f64; param[18] alpha, beta.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
layout(local_size_x = 256) in;
#include "product.glsl"

const uint TILE = 64, DEEP = 16, LINE = TILE;
shared double tile_a[DEEP * LINE], tile_b[DEEP * LINE];

#define DEFINE_DOUBLE(name, block)                                       \
    double name(const uint e) {                                          \
        return packDouble2x32(uvec2(block.d[2 * e], block.d[2 * e + 1])); \
    }
DEFINE_DOUBLE(double_a, b1)
DEFINE_DOUBLE(double_b, b2)
DEFINE_DOUBLE(double_addend, b3)
DEFINE_DOUBLE(double_bias, b4)

// Neighbours among invocations fetch neighbours in memory.
uvec2 place_of(const uint i, const uint along) {
    uint t = gl_LocalInvocationID.x + 256 * i;
    return along == 1 ? uvec2(t / DEEP, t % DEEP) : uvec2(t % TILE, t / TILE);
}
double finished_double(const double sum, const uvec4 at, const uint row, const uint column) {
    precise double r = sum * packDouble2x32(param[18].xy);
    if (DTYPE_ADDEND != 0)
        r = r + packDouble2x32(param[18].zw) * double_addend(at.w + row * param[4].w + column * param[5].w);
    if (DTYPE_BIAS != 0) r = r + double_bias(param[3].x + column * param[3].y);
    return ACTIVATION == 1 && r < 0 ? 0.0lf : r;
}

void main() {
    uint rows = param[0].x, columns = param[0].y, inner = param[0].z, lane = gl_LocalInvocationID.x;
    uint tx = lane % 16, ty = lane / 16, row0 = tile_of_group().y * TILE, column0 = tile_of_group().x * TILE;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    double sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) sum[i][j] = 0;
    for (uint k0 = 0; k0 < inner; k0 += DEEP) {
        for (uint i = 0; i < 4; i++) {
            uvec2 p = place_of(i, A_ALONG), q = place_of(i, B_ALONG);
            uvec2 a = p + uvec2(row0, k0), b = q + uvec2(column0, k0);
            bool a_there = a.x < rows && a.y < inner, b_there = b.x < columns && b.y < inner;
            tile_a[p.y * LINE + p.x] = a_there ? double_a(at.y + a.x * param[4].y + a.y * param[5].y) : 0;
            tile_b[q.y * LINE + q.x] = b_there ? double_b(at.z + b.x * param[5].z + b.y * param[4].z) : 0;
        }
        barrier();
        for (uint k = 0; k < DEEP; k++) {
            double a[4], b[4];
            [[unroll]] for (uint i = 0; i < 4; i++) {
                a[i] = tile_a[k * LINE + ty + 16 * i];
                b[i] = tile_b[k * LINE + tx + 16 * i];
            }
            [[unroll]] for (uint i = 0; i < 4; i++)
                [[unroll]] for (uint j = 0; j < 4; j++) sum[i][j] = fma(a[i], b[j], sum[i][j]);
        }
        barrier();
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) {
            uint row = row0 + ty + 16 * i, column = column0 + tx + 16 * j;
            if (row >= rows || column >= columns) continue;
            uint e = at.x + row * param[4].x + column * param[5].x;
            uvec2 bits = unpackDouble2x32(finished_double(sum[i][j], at, row, column));
            b0.d[2 * e] = bits.x;
            b0.d[2 * e + 1] = bits.y;
        }
}
