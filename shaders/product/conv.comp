// conv.comp - convolutions in f32, of any strides and dtypes that are computed in it: a workgroup takes TILE
// x TILE of c, an invocation EACH x EACH of them.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define ONLY_F32
#include "tables/conv_f32.glsl"
#include "product/conv.glsl"

const uint EACH = 4, TILE = 16 * EACH, DEEP = 16, LINE = TILE + 4;
shared float tile_a[DEEP * LINE], tile_b[DEEP * LINE];
shared ivec4 spots[DEEP];
shared uint places_a[DEEP];

float number(const uint dtype, const uvec2 raw) {
    return uintBitsToFloat(f32_of(dtype, raw.x));
}

void main() {
    uint lane = gl_LocalInvocationID.x, tx = lane % 16, ty = lane / 16;
    uint row0 = gl_WorkGroupID.y * TILE, column0 = gl_WorkGroupID.x * TILE, group = group_of();
    uint at_a = P_at.y + group * P_group.y, at_b = P_at.z + group * P_group.z;
    uint begin = part_of() * P_part_k, end = min(begin + P_part_k, P_k);
    ivec4 spot = spot_of_n(column0 + lane % TILE);
    float sum[EACH][EACH], older[EACH][EACH];
    [[unroll]] for (uint i = 0; i < EACH; i++)
        [[unroll]] for (uint j = 0; j < EACH; j++) sum[i][j] = older[i][j] = 0;
    for (uint k0 = begin; k0 < end; k0 += DEEP) {
        if ((k0 - begin) % (8 * DEEP) == 0) /* short sums first: smaller errors */
            [[unroll]] for (uint i = 0; i < EACH; i++)
                [[unroll]] for (uint j = 0; j < EACH; j++) {
                    older[i][j] += sum[i][j];
                    sum[i][j] = 0;
                }
        if (lane < DEEP) {
            spots[lane] = spot_of_k(k0 + lane, end);
            places_a[lane] = place_of_a(k0 + lane);
        }
        barrier();
        for (uint i = 0; i < EACH; i++) {
            uint u = lane + THREADS * i, k = A_ALONG == 1 ? u % DEEP : u / TILE,
                 row = A_ALONG == 1 ? u / DEEP : u % TILE, place;
            bool there = k0 + k < end && row0 + row < P_m;
            tile_a[k * LINE + row] =
                there ? number(DTYPE_A, load_a(DTYPE_A, at_a + places_a[k] + (row0 + row) * P_row.y)) : 0;
            k = u / TILE;
            there = is_inside(spot + spots[k], place);
            tile_b[k * LINE + lane % TILE] = there ? number(DTYPE_B, load_b(DTYPE_B, at_b + place)) : 0;
        }
        barrier();
        for (uint k = 0; k < DEEP; k++) {
            float a[EACH], b[EACH];
            [[unroll]] for (uint i = 0; i < EACH; i++) {
                a[i] = tile_a[k * LINE + EACH * ty + i];
                b[i] = tile_b[k * LINE + tx + 16 * i];
            }
            [[unroll]] for (uint i = 0; i < EACH; i++)
                [[unroll]] for (uint j = 0; j < EACH; j++) sum[i][j] = fma(a[i], b[j], sum[i][j]);
        }
    }
    [[unroll]] for (uint j = 0; j < EACH; j++) {
        uint column = column0 + tx + 16 * j;
        if (column >= P_n) continue;
        uint place = P_at.x + part_of() * P_part_c + group * P_group.x + place_of_c(column);
        [[unroll]] for (uint i = 0; i < EACH; i++) {
            uint row = row0 + EACH * ty + i;
            if (row >= P_m) continue;
            float r = biased(older[i][j] + sum[i][j], row);
            store_c(DTYPE_C, place + row * P_row.x, uvec2(narrow_of_f32(DTYPE_C, floatBitsToUint(r)), 0));
        }
    }
}
