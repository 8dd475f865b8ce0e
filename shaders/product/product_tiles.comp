// product_tiles.comp - matrix products by cooperative matrices of SIDE x SIDE x SIDE of f16 or bf16 with f32
// sums: SUBS_M x SUBS_N subgroups compute TILE_M x TILE_N of c; DEEP along k at a time lie in shared memory,
// the next in registers. What is contiguous lies in eights: places, strides and the size along it are
// multiples of 8 elements. a may be f32, which is rounded; with bf16 b may be a block type but those that
// need books, which is expanded.
#version 450
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#include "tables/product_tiles.glsl"
#define NO_BOOKS
#include "product/product.glsl"
#define IN_BF16 (DTYPE_B != F16)
#include "common/element.glsl"
#include "tables/memory_fours.glsl"

const uint THREADS = gl_WorkGroupSize.x;
const uint FETCHES_A = TILE_M * DEEP / 8 / THREADS, FETCHES_B = TILE_N * DEEP / 8 / THREADS;
// A line of shared memory and what keeps lines out of each other's banks, in eights; lines of a tile.
const uint ACROSS_A = A_ALONG == 1 ? DEEP / 8 : TILE_M / 8, ACROSS_B = B_ALONG == 1 ? DEEP / 8 : TILE_N / 8;
const uint LINE_A = ACROSS_A + 1, LINE_B = ACROSS_B + 1;
const uint SIZE_A = LINE_A * (A_ALONG == 1 ? TILE_M : DEEP), SIZE_B = LINE_B * (B_ALONG == 1 ? TILE_N : DEEP);
const uint COUNT_M = TILE_M / SUBS_M / SIDE, COUNT_N = TILE_N / SUBS_N / SIDE; // matrices of a subgroup
// Sums on their way to c: of each subgroup a strip of matrices, in fours.
const uint FOURS = COUNT_N * SIDE / 4, LINE_C = FOURS + 1, SIZE_C = SUBS_M * SUBS_N * SIDE * LINE_C;
const uint SIZE = STAGES * (SIZE_A + SIZE_B);

shared uvec4 tiles[SIZE > SIZE_C ? SIZE : SIZE_C];
uvec4 next_a[FETCHES_A], next_b[FETCHES_B];

uvec4 eight_a(const uint e) {
    if (DTYPE_A == F32) return pack_eight(uintBitsToFloat(w1.d[e >> 2]), uintBitsToFloat(w1.d[(e >> 2) + 1]));
    return w1.d[e >> 3];
}
uvec4 eight_b(const uint e, const uint k) {
    /* blocks are expanded to bf16, whose range is that of their scales */
    if (is_block(DTYPE_B)) return pack_eight(block_numbers(DTYPE_B, e, k), block_numbers(DTYPE_B, e, k + 4));
    return w2.d[e >> 3];
}

void fetch(const uvec4 at, const uint row0, const uint column0, const uint k0) {
    uint lane = gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0; i < FETCHES_A; i++) {
        uint u = lane + i * THREADS, across = u % ACROSS_A * 8, down = u / ACROSS_A;
        uint row = row0 + (A_ALONG == 1 ? down : across), k = k0 + (A_ALONG == 1 ? across : down);
        bool there = EVEN == 1 || (row < P_m && k < P_k);
        next_a[i] = there ? eight_a(at.y + row * P_row.y + k * P_column.y) : uvec4(0);
    }
    [[unroll]] for (uint i = 0; i < FETCHES_B; i++) {
        uint u = lane + i * THREADS, across = u % ACROSS_B * 8, down = u / ACROSS_B;
        uint column = column0 + (B_ALONG == 1 ? down : across), k = k0 + (B_ALONG == 1 ? across : down);
        uint place = at.z + column * P_column.z + (is_block(DTYPE_B) ? 0 : k * P_row.z);
        bool there = EVEN == 1 || (column < P_n && k < P_k);
        next_b[i] = there ? eight_b(place, k) : uvec4(0);
    }
}
void put(const uint stage) {
    uint lane = gl_LocalInvocationID.x, to = stage * (SIZE_A + SIZE_B);
    [[unroll]] for (uint i = 0; i < FETCHES_A; i++) {
        uint u = lane + i * THREADS;
        tiles[to + u / ACROSS_A * LINE_A + u % ACROSS_A] = next_a[i];
    }
    [[unroll]] for (uint i = 0; i < FETCHES_B; i++) {
        uint u = lane + i * THREADS;
        tiles[to + SIZE_A + u / ACROSS_B * LINE_B + u % ACROSS_B] = next_b[i];
    }
}

// Four neighbors of a row of c, from `column` on, as far as they exist.
void write_four(const vec4 sum, const uvec4 at, const uint row, const uint column) {
    uint columns = P_n, e = at.x + row * P_row.x + column * P_column.x;
    vec4 r;
    if (row >= P_m) return;
    [[unroll]] for (uint j = 0; j < 4; j++) r[j] = finished(sum[j], at, row, min(column + j, columns - 1));
    uvec4 bits = results_of(DTYPE_C, r);
    if (PACKED != 0 && column + 4 <= columns) {
        if (PLAIN == 1 && DTYPE_C == F32) w0.d[e / 4] = bits;
        else if (width_of(DTYPE_C) == 2)
            [[unroll]] for (uint j = 0; j < 4; j++) b0.d[e + j] = bits[j];
        if (width_of(DTYPE_C) == 1) {
            uvec2 words = uvec2(bits.x | bits.y << 16, bits.z | bits.w << 16);
            if (e % 4 == 0) {
                f0.d[e / 4] = words;
            } else {
                b0.d[e / 2] = words.x;
                b0.d[e / 2 + 1] = words.y;
            }
        }
        if (width_of(DTYPE_C) == 0) b0.d[e / 4] = bits.x | bits.y << 8 | bits.z << 16 | bits.w << 24;
        return;
    }
    [[unroll]] for (uint j = 0; j < 4; j++)
        if (column + j < columns) store_c(DTYPE_C, e + j * P_column.x, uvec2(bits[j], 0));
}

void main() {
    uint inner = P_k, stage = 0;
    uvec2 tile = tile_of_group();
    uint row0 = tile.y * TILE_M, column0 = tile.x * TILE_N;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    uint sub_m = gl_SubgroupID / SUBS_N, sub_n = gl_SubgroupID % SUBS_N;
    uint sub_row = sub_m * (TILE_M / SUBS_M), sub_column = sub_n * (TILE_N / SUBS_N);

    SUMS sum[COUNT_M][COUNT_N];
    [[unroll]] for (uint i = 0; i < COUNT_M; i++)
        [[unroll]] for (uint j = 0; j < COUNT_N; j++) sum[i][j] = SUMS(0.0);

    fetch(at, row0, column0, 0);
    put(0);
    barrier();
    for (uint k0 = DEEP;; k0 += DEEP) {
        bool more = k0 < inner;
        if (more) fetch(at, row0, column0, k0);
        uint from_a = stage * (SIZE_A + SIZE_B), from_b = from_a + SIZE_A;
        [[unroll]] for (uint k = 0; k < DEEP; k += SIDE) {
            LEFT a[COUNT_M];
            RIGHT b;
            [[unroll]] for (uint i = 0; i < COUNT_M; i++) {
                uint row = sub_row + SIDE * i;
                if (A_ALONG == 1) coopMatLoad(a[i], tiles, from_a + row * LINE_A + k / 8, LINE_A, BY_ROWS);
                else coopMatLoad(a[i], tiles, from_a + k * LINE_A + row / 8, LINE_A, BY_COLUMNS);
            }
            [[unroll]] for (uint j = 0; j < COUNT_N; j++) {
                uint column = sub_column + SIDE * j;
                if (B_ALONG == 1) coopMatLoad(b, tiles, from_b + column * LINE_B + k / 8, LINE_B, BY_COLUMNS);
                else coopMatLoad(b, tiles, from_b + k * LINE_B + column / 8, LINE_B, BY_ROWS);
                [[unroll]] for (uint i = 0; i < COUNT_M; i++) sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]);
            }
        }
        if (!more) break;
        if (STAGES == 1) barrier();
        else stage ^= 1;
        put(stage);
        barrier();
    }
    uint own = gl_SubgroupID * SIDE * LINE_C;
    barrier();
    [[unroll]] for (uint i = 0; i < COUNT_M; i++) { /* strip by strip through shared memory */
        [[unroll]] for (uint j = 0; j < COUNT_N; j++)
            coopMatStore(sum[i][j], tiles, own + SIDE / 4 * j, LINE_C, BY_ROWS);
        SUBGROUP_STEP
        for (uint u = gl_SubgroupInvocationID; u < SIDE * FOURS; u += gl_SubgroupSize) {
            uint down = u / FOURS, across = u % FOURS;
            write_four(uintBitsToFloat(tiles[own + down * LINE_C + across]), at,
                       row0 + sub_row + SIDE * i + down, column0 + sub_column + 4 * across);
        }
        SUBGROUP_STEP
    }
}
