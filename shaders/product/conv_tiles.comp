// conv_tiles.comp - convolutions by cooperative matrices, as product_tiles.comp has products. What is
// contiguous of a and b lies in eights: b along k where B_ALONG is 1, else along n; a likewise. An invocation
// fetches terms that follow one another at equal distances: their digits are carried, not divided.
#version 450
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_EXT_shader_16bit_storage : require
#define ONLY_F32
#include "tables/conv_tiles.glsl"
#include "product/conv.glsl"
#include "common/wide.glsl"
#define IN_BF16 (DTYPE_B != F16)
#include "common/element.glsl"
#include "tables/memory_fours.glsl"
#include "tables/memory_halves.glsl"

const uint THREADS = gl_WorkGroupSize.x;
const uint FETCHES_A = TILE_M * DEEP / 8 / THREADS, FETCHES_B = TILE_N * DEEP / 8 / THREADS;
const uint ACROSS_A = A_ALONG == 1 ? DEEP / 8 : TILE_M / 8, ACROSS_B = B_ALONG == 1 ? DEEP / 8 : TILE_N / 8;
const uint LINE_A = ACROSS_A + 1, LINE_B = ACROSS_B + 1;
const uint SIZE_A = LINE_A * (A_ALONG == 1 ? TILE_M : DEEP), SIZE_B = LINE_B * (B_ALONG == 1 ? TILE_N : DEEP);
const uint COUNT_M = TILE_M / SUBS_M / SIDE, COUNT_N = TILE_N / SUBS_N / SIDE;
const uint FOURS = COUNT_N * SIDE / 4, LINE_C = FOURS + 1, SIZE_C = SUBS_M * SUBS_N * SIDE * LINE_C;
const uint SIZE = SIZE_A + SIZE_B;

shared uvec4 tiles[SIZE > SIZE_C ? SIZE : SIZE_C];
shared uint places_c[TILE_N]; // NOWHERE: of what was added to make eights
const uint NOWHERE = ~0u;
uvec4 next_a[FETCHES_A], next_b[FETCHES_B];

// Columns that this invocation fetches; the term that it is at, with the number of terms to the next.
const uint COLUMNS = B_ALONG == 1 ? FETCHES_B : 1, STEP = B_ALONG == 1 ? DEEP : THREADS / ACROSS_B;
ivec4 spots[COLUMNS];
uint term, outer, outer_step;
uvec4 digits, digits_step;

void begin_terms(const uint column0, const uint begin) {
    uint lane = gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0; i < COLUMNS; i++)
        spots[i] = spot_of_n(column0 +
                             (B_ALONG == 1 ? (lane + i * THREADS) / ACROSS_B : lane % ACROSS_B * 8));
    term = begin + (B_ALONG == 1 ? lane % ACROSS_B * 8 : lane / ACROSS_B);
    digits = digits_of(term, P_k_size, outer);
    digits_step = digits_of(STEP, P_k_size, outer_step);
}
ivec4 spot_of_term(const uint end) {
    if (term >= end) return ivec4(0, OUTSIDE, OUTSIDE, OUTSIDE);
    return ivec4(int(outer * P_outer.w + digits.w * P_inner.y), ivec3(digits.xyz * P_k_step.xyz));
}
void next_term() {
    term += STEP;
    digits += digits_step;
    outer += outer_step;
    [[unroll]] for (int i = 3; i >= 0; i--)
        if (digits[i] >= P_k_size[i]) {
            digits[i] -= P_k_size[i];
            if (i > 0) digits[i - 1]++;
            else outer++;
        }
}
// Terms are one behind the other in a, DEEP at a time within a part.
void fetch(const uint at_a, const uint at_b, const uint row0, const uint k0, const uint end) {
    uint lane = gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0; i < FETCHES_A; i++) {
        uint u = lane + i * THREADS, across = u % ACROSS_A * 8, down = u / ACROSS_A;
        uint row = row0 + (A_ALONG == 1 ? down : across), k = k0 + (A_ALONG == 1 ? across : down);
        bool there = row < P_m && k < end;
        next_a[i] = there ? w1.d[(at_a + row * P_row.y + k * P_a_k.w) >> 3] : uvec4(0);
    }
    ivec4 spot = spot_of_term(end);
    [[unroll]] for (uint i = 0; i < FETCHES_B; i++) {
        uint place;
        next_b[i] = is_inside(spots[i % COLUMNS] + spot, place) ? w2.d[(at_b + place) >> 3] : uvec4(0);
        if (B_ALONG == 1 && i + 1 < FETCHES_B) continue;
        next_term();
        spot = spot_of_term(end);
    }
}
void put() {
    uint lane = gl_LocalInvocationID.x;
    [[unroll]] for (uint i = 0; i < FETCHES_A; i++) {
        uint u = lane + i * THREADS;
        tiles[u / ACROSS_A * LINE_A + u % ACROSS_A] = next_a[i];
    }
    [[unroll]] for (uint i = 0; i < FETCHES_B; i++) {
        uint u = lane + i * THREADS;
        tiles[SIZE_A + u / ACROSS_B * LINE_B + u % ACROSS_B] = next_b[i];
    }
}

// Four neighbors of a row of c, from `column` of the tile on, as far as they exist.
void write_four(const vec4 sum, const uint at_c, const uint row, const uint column0, const uint column) {
    if (row >= P_m || column0 + column >= P_n) return;
    uint here = at_c + row * P_row.x, e = here + places_c[column];
    vec4 r;
    [[unroll]] for (uint j = 0; j < 4; j++) r[j] = biased(sum[j], row);
    uvec4 bits = results_of(DTYPE_C, r);
    bool whole = column0 + column + 4 <= P_n && places_c[column + 3] == places_c[column] + 3 && e % 4 == 0;
    if (whole && width_of(DTYPE_C) == 2) {
        w0.d[e >> 2] = bits;
    } else if (whole && width_of(DTYPE_C) == 1) {
        f0.d[e >> 2] = uvec2(bits.x | bits.y << 16, bits.z | bits.w << 16);
    } else {
        for (uint j = 0; j < 4 && column0 + column + j < P_n; j++)
            if (places_c[column + j] != NOWHERE)
                store_c(DTYPE_C, here + places_c[column + j], uvec2(bits[j], 0));
    }
}

// One, of 16 bits, where columns are not in whole fours: neighbors among invocations are those in the row.
void write_one(const float sum, const uint at_c, const uint row, const uint column0, const uint column) {
    if (row >= P_m || column0 + column >= P_n || places_c[column] == NOWHERE) return;
    vec4 r = vec4(biased(sum, row), 0, 0, 0);
    h0.d[at_c + row * P_row.x + places_c[column]] = uint16_t(results_of(DTYPE_C, r).x);
}

void main() {
    uint lane = gl_LocalInvocationID.x, group = group_of();
    uint row0 = gl_WorkGroupID.y * TILE_M, column0 = gl_WorkGroupID.x * TILE_N;
    uint at_a = P_at.y + group * P_group.y, at_b = P_at.z + group * P_group.z;
    uint at_c = P_at.x + part_of() * P_part_c + group * P_group.x;
    uint begin = part_of() * P_part_k, end = min(begin + P_part_k, P_k);
    uint sub_m = gl_SubgroupID / SUBS_N, sub_n = gl_SubgroupID % SUBS_N;
    uint sub_row = sub_m * (TILE_M / SUBS_M), sub_column = sub_n * (TILE_N / SUBS_N);
    for (uint i = lane; i < TILE_N; i += THREADS)
        places_c[i] = (column0 + i) % P_n_size.w < P_columns ? place_of_c(column0 + i) : NOWHERE;
    begin_terms(column0, begin);
    SUMS sum[COUNT_M][COUNT_N];
    [[unroll]] for (uint i = 0; i < COUNT_M; i++)
        [[unroll]] for (uint j = 0; j < COUNT_N; j++) sum[i][j] = SUMS(0.0);
    fetch(at_a, at_b, row0, begin, end);
    put();
    barrier();
    for (uint k0 = begin + DEEP;; k0 += DEEP) {
        bool more = k0 < end;
        if (more) fetch(at_a, at_b, row0, k0, end);
        [[unroll]] for (uint k = 0; k < DEEP; k += SIDE) {
            LEFT a[COUNT_M];
            RIGHT b;
            [[unroll]] for (uint i = 0; i < COUNT_M; i++) {
                uint row = sub_row + SIDE * i;
                if (A_ALONG == 1) coopMatLoad(a[i], tiles, row * LINE_A + k / 8, LINE_A, BY_ROWS);
                else coopMatLoad(a[i], tiles, k * LINE_A + row / 8, LINE_A, BY_COLUMNS);
            }
            [[unroll]] for (uint j = 0; j < COUNT_N; j++) {
                uint column = sub_column + SIDE * j;
                if (B_ALONG == 1) coopMatLoad(b, tiles, SIZE_A + column * LINE_B + k / 8, LINE_B, BY_COLUMNS);
                else coopMatLoad(b, tiles, SIZE_A + k * LINE_B + column / 8, LINE_B, BY_ROWS);
                [[unroll]] for (uint i = 0; i < COUNT_M; i++) sum[i][j] = coopMatMulAdd(a[i], b, sum[i][j]);
            }
        }
        if (!more) break;
        barrier();
        put();
        barrier();
    }
    uint own = gl_SubgroupID * SIDE * LINE_C;
    barrier();
    [[unroll]] for (uint i = 0; i < COUNT_M; i++) { /* strip by strip through shared memory */
        [[unroll]] for (uint j = 0; j < COUNT_N; j++)
            coopMatStore(sum[i][j], tiles, own + SIDE / 4 * j, LINE_C, BY_ROWS);
        SUBGROUP_STEP
        if (LOOSE == 1)
            for (uint u = gl_SubgroupInvocationID; u < SIDE * FOURS * 4; u += gl_SubgroupSize) {
                uint down = u / (FOURS * 4), across = u % (FOURS * 4);
                write_one(uintBitsToFloat(tiles[own + down * LINE_C + across / 4][across % 4]), at_c,
                          row0 + sub_row + SIDE * i + down, column0, sub_column + across);
            }
        else for (uint u = gl_SubgroupInvocationID; u < SIDE * FOURS; u += gl_SubgroupSize) {
            uint down = u / FOURS, across = u % FOURS;
            write_four(uintBitsToFloat(tiles[own + down * LINE_C + across]), at_c,
                       row0 + sub_row + SIDE * i + down, column0, sub_column + 4 * across);
        }
        SUBGROUP_STEP
    }
}
