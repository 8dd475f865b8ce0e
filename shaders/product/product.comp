// product.comp - matrix products: a workgroup computes TILE x TILE of c, an invocation EACH x EACH, in f32;
// DEEP along k at a time lie in shared memory while the next are fetched, from any strides and dtypes but
// block types.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "tables/product_shared.glsl"
#include "product/product.glsl"

const uint TILE = 16 * EACH, QUADS = EACH / 4, FETCHES = TILE * DEEP / (4 * THREADS), LINE = TILE / 4 + 1;

// Four neighbors of a tile's row lie together.
shared vec4 tile_a[STAGES * DEEP * LINE], tile_b[STAGES * DEEP * LINE];
vec4 next_a[FETCHES], next_b[FETCHES];

// Fours of a line are rotated so that what is stored across lines (neighbors along k) meets no bank twice.
uint turned(const uint four, const uint k, const uint along) {
    return along == 1 ? (four + 2 * (k >> 3)) % (TILE / 4) : four;
}
// Place of fetch i of this invocation in a tile: the first of four along k, or of four in a line across it.
uvec2 place_of(uint i, uint along) { // across, k
    uint unit = gl_LocalInvocationID.x + THREADS * i;
    return along == 1 ? uvec2(unit / (DEEP / 4), unit % (DEEP / 4) * 4)
                      : uvec2(unit % (TILE / 4) * 4, unit / (TILE / 4));
}
bvec4 exist(const uvec2 p, const uint along, const uint across, const uint inner) {
    uvec4 step = uvec4(0, 1, 2, 3);
    return along == 1 ? lessThan(p.y + step, uvec4(p.x < across ? inner : 0))
                      : lessThan(p.x + step, uvec4(p.y < inner ? across : 0));
}
vec4 fetch_a(const uint e, const uvec2 p) {
    bvec4 there = exist(p, A_ALONG, P_m, P_k);
    uint first = e + p.x * P_row.y + p.y * P_column.y, step = A_ALONG == 1 ? P_column.y : P_row.y;
    if (A_WIDE == 1) return there.x ? wide_a(DTYPE_A, first) : vec4(0);
    vec4 r = vec4(0);
    [[unroll]] for (uint j = 0; j < 4; j++)
        if (there[j]) r[j] = number_a(first + j * step);
    return r;
}
vec4 fetch_b(const uint e, const uvec2 p) {
    bvec4 there = exist(p, B_ALONG, P_n, P_k);
    uint first = e + p.x * P_column.z + p.y * P_row.z, step = B_ALONG == 1 ? P_row.z : P_column.z;
    if (B_WIDE == 1) return there.x ? wide_b(DTYPE_B, first) : vec4(0);
    vec4 r = vec4(0);
    [[unroll]] for (uint j = 0; j < 4; j++)
        if (there[j]) r[j] = number_b(first + j * step);
    return r;
}
void fetch(const uvec4 at, const uint row0, const uint column0, const uint k0) {
    [[unroll]] for (uint i = 0; i < FETCHES; i++) {
        next_a[i] = fetch_a(at.y, place_of(i, A_ALONG) + uvec2(row0, k0));
        next_b[i] = fetch_b(at.z, place_of(i, B_ALONG) + uvec2(column0, k0));
    }
}
void put(const uint stage) {
    [[unroll]] for (uint i = 0; i < FETCHES; i++) {
        uvec2 a = place_of(i, A_ALONG), b = place_of(i, B_ALONG);
        uint to_a = (stage * DEEP + a.y) * LINE + turned(a.x / 4, a.y, A_ALONG);
        uint to_b = (stage * DEEP + b.y) * LINE + turned(b.x / 4, b.y, B_ALONG);
        if (A_ALONG == 1) [[unroll]]
            for (uint j = 0; j < 4; j++) tile_a[to_a + j * LINE][a.x & 3] = next_a[i][j];
        else tile_a[to_a] = next_a[i];
        if (B_ALONG == 1) [[unroll]]
            for (uint j = 0; j < 4; j++) tile_b[to_b + j * LINE][b.x & 3] = next_b[i][j];
        else tile_b[to_b] = next_b[i];
    }
}

// Four neighbors of a row of c, as far as they exist.
void write_four(const vec4 sum, const uvec4 at, const uint row, const uint column) {
    uint columns = P_n, e = at.x + row * P_row.x + column * P_column.x, width = width_of(DTYPE_C);
    if (PLAIN == 1) { /* f32 in aligned fours */
        if (row < P_m && column < columns) w0.d[e >> 2] = floatBitsToUint(sum);
        return;
    }
    if (row >= P_m) return;
    bool whole = PACKED != 0 && column + 4 <= columns;
    uint each = 4 >> width, word = 0;
    for (uint j = 0; j < 4 && column + j < columns; j++) {
        float r = finished(sum[j], at, row, column + j);
        uint bits = narrow_of_f32(DTYPE_C, floatBitsToUint(r));
        if (!whole) {
            store_c(DTYPE_C, e + j * P_column.x, uvec2(bits, 0));
            continue;
        }
        word |= bits << (j % each * (8 << width));
        if (j % each == each - 1) {
            b0.d[(e + j) >> (2 - width)] = word;
            word = 0;
        }
    }
}

void main() {
    uint inner = P_k, lane = gl_LocalInvocationID.x, tx = lane % 16, ty = lane / 16, stage = 0;
    uvec2 tile = tile_of_group();
    uint row0 = tile.y * TILE, column0 = tile.x * TILE;
    uvec4 at = batch_places(gl_WorkGroupID.z);
    vec4 sum[EACH][QUADS], older[4] = vec4[](vec4(0), vec4(0), vec4(0), vec4(0));
    [[unroll]] for (uint i = 0; i < EACH; i++)
        [[unroll]] for (uint q = 0; q < QUADS; q++) sum[i][q] = vec4(0);
    fetch(at, row0, column0, 0);
    put(0);
    barrier();
    for (uint k0 = DEEP;; k0 += DEEP) {
        bool more = k0 < inner;
        if (more) fetch(at, row0, column0, k0);
        if (EACH == 4) /* short sums first, where there are registers for them: smaller errors */
            [[unroll]] for (uint i = 0; i < EACH; i++) {
                older[i] += sum[i][0];
                sum[i][0] = vec4(0);
            }
        [[unroll]] for (uint k = 0; k < DEEP; k++) {
            vec4 b[QUADS];
            [[unroll]] for (uint q = 0; q < QUADS; q++) b[q] =
                tile_b[(stage * DEEP + k) * LINE + turned(16 * q + tx, k, B_ALONG)];
            [[unroll]] for (uint r = 0; r < QUADS; r++) {
                vec4 a = tile_a[(stage * DEEP + k) * LINE + turned(16 * r + ty, k, A_ALONG)];
                [[unroll]] for (uint q = 0; q < QUADS; q++) [[unroll]] for (uint i = 0; i < 4; i++)
                    sum[4 * r + i][q] = fma(vec4(a[i]), b[q], sum[4 * r + i][q]);
            }
        }
        if (!more) break;
        if (STAGES == 1) barrier();
        else stage ^= 1;
        put(stage);
        barrier();
    }
    if (EACH == 4) [[unroll]] for (uint i = 0; i < EACH; i++) sum[i][0] += older[i];
    [[unroll]] for (uint i = 0; i < EACH; i++)
        [[unroll]] for (uint q = 0; q < QUADS; q++)
            write_four(sum[i][q], at, row0 + i / 4 * 64 + 4 * ty + i % 4, column0 + 64 * q + 4 * tx);
}
