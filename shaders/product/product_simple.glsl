// product_simple.glsl - matrix products of numbers that are not f32: a workgroup takes TILE x TILE of c, an
// invocation 4 x 4 of them; any strides. The includer brings NUMBER, operands as such and what is done with
// them.
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/product_simple.glsl"
#include "product/product.glsl"

const uint DEEP = 16;
shared NUMBER tile_a[DEEP * TILE], tile_b[DEEP * TILE];

NUMBER taken(const uint dtype, const uvec2 raw);
NUMBER with_product(const NUMBER a, const NUMBER b, const NUMBER sum); // a b + sum
NUMBER sum_of(const NUMBER a, const NUMBER b);
uvec2 raw_of_finished(const NUMBER number);         // activation and the result's dtype

// Neighbors among invocations fetch neighbors in memory.
uvec2 place_of(const uint i, const uint along) {
    uint t = gl_LocalInvocationID.x + THREADS * i;
    return along == 1 ? uvec2(t / DEEP, t % DEEP) : uvec2(t % TILE, t / TILE);
}
void finish(const NUMBER sum, const uvec4 at, const uint row, const uint column) {
    NUMBER zero = taken(DTYPE_C, uvec2(0)), r = with_product(sum, NUMBER_OF_BITS(P_factors0), zero);
    if (DTYPE_ADDEND != 0) {
        uint e = at.w + row * P_row.w + column * P_column.w;
        r = with_product(taken(DTYPE_ADDEND, load_addend(DTYPE_ADDEND, e)), NUMBER_OF_BITS(P_factors1), r);
    }
    if (DTYPE_BIAS != 0)
        r = sum_of(r, taken(DTYPE_BIAS, load_bias(DTYPE_BIAS, place_of_bias(at, column))));
    store_c(DTYPE_C, at.x + row * P_row.x + column * P_column.x, raw_of_finished(r));
}

void main() {
    uint rows = P_m, columns = P_n, inner = P_k, lane = gl_LocalInvocationID.x;
    uint tx = lane % 16, ty = lane / 16, row0 = tile_of_group().y * TILE, column0 = tile_of_group().x * TILE;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    NUMBER zero = taken(DTYPE_C, uvec2(0)), sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) sum[i][j] = zero;
    for (uint k0 = 0; k0 < inner; k0 += DEEP) {
        for (uint i = 0; i < 4; i++) {
            uvec2 p = place_of(i, A_ALONG), q = place_of(i, B_ALONG);
            uvec2 a = p + uvec2(row0, k0), b = q + uvec2(column0, k0);
            uint from_a = at.y + a.x * P_row.y + a.y * P_column.y,
                 from_b = at.z + b.x * P_column.z + b.y * P_row.z;
            bool a_there = a.x < rows && a.y < inner, b_there = b.x < columns && b.y < inner;
            tile_a[p.y * TILE + p.x] = a_there ? taken(DTYPE_A, load_a(DTYPE_A, from_a)) : zero;
            tile_b[q.y * TILE + q.x] = b_there ? taken(DTYPE_B, load_b(DTYPE_B, from_b)) : zero;
        }
        barrier();
        for (uint k = 0; k < DEEP; k++) {
            NUMBER a[4], b[4];
            [[unroll]] for (uint i = 0; i < 4; i++) {
                a[i] = tile_a[k * TILE + ty + 16 * i];
                b[i] = tile_b[k * TILE + tx + 16 * i];
            }
            [[unroll]] for (uint i = 0; i < 4; i++)
                [[unroll]] for (uint j = 0; j < 4; j++) sum[i][j] = with_product(a[i], b[j], sum[i][j]);
        }
        barrier();
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) {
            uint row = row0 + ty + 16 * i, column = column0 + tx + 16 * j;
            if (row < rows && column < columns) finish(sum[i][j], at, row, column);
        }
}
