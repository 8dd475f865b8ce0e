// product_tiles.glsl - matrix products by cooperative matrices of 16 x 16 x 16 of ELEMENT with f32 sums: eight
// subgroups compute 128 x TILE_N of c; 32 along k at a time lie in shared memory, the next 32 in registers.
// What is contiguous lies in eights: places, strides and the size along it are multiples of 8 elements. a may be
// f32, which is rounded; b may be a block type, which is expanded.
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
layout(local_size_x_id = 10) in;            // eight subgroups
layout(constant_id = 11) const uint TILE_N = 128;
#include "product.glsl"

layout(set = 1, binding = 1, std430) readonly buffer Wide1 { uvec4 d[]; } w1;
layout(set = 1, binding = 2, std430) readonly buffer Wide2 { uvec4 d[]; } w2;

const uint TILE_M = 128, DEEP = 32;
const uint THREADS = gl_WorkGroupSize.x;
const uint EACH_A = TILE_M * DEEP / 8 / THREADS, EACH_B = TILE_N * DEEP / 8 / THREADS;
// A line of shared memory and what keeps lines out of each other's banks, in eights.
const uint LINE_A = A_ALONG == 1 ? DEEP / 8 + 1 : TILE_M / 8 + 1, LINE_B = B_ALONG == 1 ? DEEP / 8 + 1 : TILE_N / 8 + 1;
const uint COUNT_M = 4, COUNT_N = TILE_N / 64; // matrices of a subgroup, which are laid out 2 x 4

shared uvec4 tile_a[TILE_M * 5], tile_b[TILE_N * 5];
shared float block_of_c[8 * 16 * 16];

uint pack_two(vec2 x) {
#ifdef ELEMENT_IS_BF16
    uvec2 u = floatBitsToUint(x), r = (u + 0x7fffu + (u >> 16 & 1u)) >> 16;
    if (isnan(x.x)) r.x = 0x7fc0;
    if (isnan(x.y)) r.y = 0x7fc0;
    return r.x | r.y << 16;
#else
    return packHalf2x16(x);
#endif
}
uvec4 pack_eight(vec4 low, vec4 high) {
    return uvec4(pack_two(low.xy), pack_two(low.zw), pack_two(high.xy), pack_two(high.zw));
}
uvec4 eight_a(uint e) {
    if (DTYPE_A == F32) return pack_eight(uintBitsToFloat(w1.d[e >> 2]), uintBitsToFloat(w1.d[(e >> 2) + 1]));
    return w1.d[e >> 3];
}
uvec4 eight_b(uint e, uint k) {
    if (is_block(DTYPE_B)) return pack_eight(block_numbers(DTYPE_B, e, k), block_numbers(DTYPE_B, e, k + 4));
    return w2.d[e >> 3];
}

// Four neighbours of a row of c, from `column` on, as far as they exist.
void put_four(vec4 sum, uvec4 at, uint row, uint column, uint rows, uint columns) {
    uvec4 bits;
    uint e = at.x + row * param[4].x + column * param[5].x;
    if (row < rows) {
        [[unroll]] for (uint j = 0; j < 4; j++) {
            float r = finished(sum[j], at, row, min(column + j, columns - 1));
            bits[j] = raw_of(DTYPE_C, uvec2(floatBitsToUint(r), 0), LANE_F32).x;
        }
        if (PACKED != 0 && column + 4 <= columns) {
            if (width_of(DTYPE_C) == 2)
                [[unroll]] for (uint j = 0; j < 4; j++) b0.d[e + j] = bits[j];
            if (width_of(DTYPE_C) == 1) {
                b0.d[e / 2] = bits.x | bits.y << 16;
                b0.d[e / 2 + 1] = bits.z | bits.w << 16;
            }
            if (width_of(DTYPE_C) == 0) b0.d[e / 4] = bits.x | bits.y << 8 | bits.z << 16 | bits.w << 24;
        } else {
            [[unroll]] for (uint j = 0; j < 4; j++)
                if (column + j < columns) store_c(DTYPE_C, e + j * param[5].x, uvec2(bits[j], 0));
        }
    }
}

void main() {
    uint rows = param[0].x, columns = param[0].y, inner = param[0].z, lane = gl_LocalInvocationID.x;
    // Neighbouring workgroups share rows and columns: strips of eight tiles down.
    uint across = gl_NumWorkGroups.x, down = gl_NumWorkGroups.y, id = gl_WorkGroupID.y * across + gl_WorkGroupID.x;
    uint strip = id / (8 * across), high = min(8, down - 8 * strip), rest = id - strip * 8 * across;
    uint row0 = (8 * strip + rest % high) * TILE_M, column0 = rest / high * TILE_N;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    uint sub_row = gl_SubgroupID / 4 * 64, sub_column = gl_SubgroupID % 4 * (TILE_N / 4);

    coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum[COUNT_M][COUNT_N];
    [[unroll]] for (uint i = 0; i < COUNT_M; i++)
        [[unroll]] for (uint j = 0; j < COUNT_N; j++)
            sum[i][j] = coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);

    uvec4 next_a[EACH_A], next_b[EACH_B];
    for (uint k0 = 0; k0 < inner + DEEP; k0 += DEEP) {
        if (k0 > 0) {
            barrier();
            [[unroll]] for (uint i = 0; i < EACH_A; i++) {
                uint e = lane + i * THREADS, each = A_ALONG == 1 ? DEEP / 8 : TILE_M / 8;
                tile_a[e / each * LINE_A + e % each] = next_a[i];
            }
            [[unroll]] for (uint i = 0; i < EACH_B; i++) {
                uint e = lane + i * THREADS, each = B_ALONG == 1 ? DEEP / 8 : TILE_N / 8;
                tile_b[e / each * LINE_B + e % each] = next_b[i];
            }
            barrier();
        }
        if (k0 < inner) {
            [[unroll]] for (uint i = 0; i < EACH_A; i++) {
                uint e = lane + i * THREADS;
                uint row = row0 + (A_ALONG == 1 ? e / (DEEP / 8) : e % (TILE_M / 8) * 8);
                uint k = k0 + (A_ALONG == 1 ? e % (DEEP / 8) * 8 : e / (TILE_M / 8));
                next_a[i] = row < rows && k < inner ? eight_a(at.y + row * param[4].y + k * param[5].y) : uvec4(0);
            }
            [[unroll]] for (uint i = 0; i < EACH_B; i++) {
                uint e = lane + i * THREADS;
                uint column = column0 + (B_ALONG == 1 ? e / (DEEP / 8) : e % (TILE_N / 8) * 8);
                uint k = k0 + (B_ALONG == 1 ? e % (DEEP / 8) * 8 : e / (TILE_N / 8));
                uint place = at.z + column * param[5].z + (is_block(DTYPE_B) ? 0 : k * param[4].z);
                next_b[i] = column < columns && k < inner ? eight_b(place, k) : uvec4(0);
            }
        }
        if (k0 == 0) continue;
        [[unroll]] for (uint k = 0; k < DEEP; k += 16) {
            coopmat<ELEMENT, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a[COUNT_M];
            coopmat<ELEMENT, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
            [[unroll]] for (uint i = 0; i < COUNT_M; i++) {
                uint row = sub_row + 16 * i;
                if (A_ALONG == 1) coopMatLoad(a[i], tile_a, row * LINE_A + k / 8, LINE_A, gl_CooperativeMatrixLayoutRowMajor);
                else coopMatLoad(a[i], tile_a, k * LINE_A + row / 8, LINE_A, gl_CooperativeMatrixLayoutColumnMajor);
            }
            [[unroll]] for (uint j = 0; j < COUNT_N; j++) {
                uint column = sub_column + 16 * j;
                if (B_ALONG == 1) coopMatLoad(b, tile_b, column * LINE_B + k / 8, LINE_B, gl_CooperativeMatrixLayoutColumnMajor);
                else coopMatLoad(b, tile_b, k * LINE_B + column / 8, LINE_B, gl_CooperativeMatrixLayoutRowMajor);
                [[unroll]] for (uint i = 0; i < COUNT_M; i++) sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]);
            }
        }
    }
    [[unroll]] for (uint i = 0; i < COUNT_M; i++)
        [[unroll]] for (uint j = 0; j < COUNT_N; j++) {
            coopMatStore(sum[i][j], block_of_c, gl_SubgroupID * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
            subgroupMemoryBarrierShared();
            subgroupBarrier();
            [[unroll]] for (uint part = 0; part < 512 / THREADS; part++) {
                uint e = 4 * (gl_SubgroupInvocationID + part * (THREADS / 8)), from = gl_SubgroupID * 256 + e;
                uint row = row0 + sub_row + 16 * i + e / 16, column = column0 + sub_column + 16 * j + e % 16;
                vec4 four = vec4(block_of_c[from], block_of_c[from + 1], block_of_c[from + 2], block_of_c[from + 3]);
                put_four(four, at, row, column, rows, columns);
            }
            subgroupBarrier();
        }
}
