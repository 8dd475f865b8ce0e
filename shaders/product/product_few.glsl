// product_few.glsl - products with few rows of a (ROWS) and columns of b that lie along k, as when a language
// model writes: a team of SPLIT lines of 32 invocations takes COLUMNS of them, so that each weight is read
// once. What stands before and behind them may be part of it (fuse.c): the rms_norm that made a, two products
// of one a, the gate that meets both, the residual that is added. All c's and the normalized a lie
// in block 0, both b's in block 2, the norm's weight in block 4; f32.
#include "tables/product_few.glsl"
#include "product/product.glsl"

const uint TEAMS = gl_WorkGroupSize.x / 32 / SPLIT, OUTPUTS = ROWS * COLUMNS, TEAM = 32 * SPLIT;
const uint TAKES = TEAMS * COLUMNS / (1 + PAIR);    // columns of a workgroup at a time

shared float partial[TEAMS * OUTPUTS * (TEAM + 1) + 16];

float sum_of_squares(const uint row, const float size) {
    float sum = 0;
    for (uint k = 4 * gl_LocalInvocationID.x; k < P_k; k += 4 * gl_WorkGroupSize.x) {
        vec4 x = size * wide_a(F32, row + k);
        sum += dot(x, x);
    }
    return sum;
}
// What rms_norm multiplies a row by, from the invocations' sums of squares; squares that leave the range of
// f32 are taken again, of numbers of another size.
float norm_factor(const uint row, float sum) {
    uint id = gl_LocalInvocationID.x;
    float size = 1;
    for (uint attempt = 0; attempt < 2; attempt++) {
        barrier();
        partial[id] = sum;
        barrier();
        if (id < 16) {
            sum = 0;
            for (uint i = id; i < gl_WorkGroupSize.x; i += 16) sum += partial[i];
            partial[gl_WorkGroupSize.x + id] = sum;
        }
        barrier();
        sum = 0;
        [[unroll]] for (uint i = 0; i < 16; i++) sum += partial[gl_WorkGroupSize.x + i];
        sum /= float(P_k);
        if (size != 1) break;
        if (!(sum < 1e37)) size = 5.42101086e-20;
        else if (sum < 1e-25) size = 1.84467441e19;
        else break;
        sum = sum_of_squares(row, size);
    }
    precise float squares = sum + uintBitsToFloat(P_epsilon) * size * size;
    return size / sqrt(squares);
}
vec4 norm_weight(const uint k) {
    return uintBitsToFloat(w4.d[(P_norm_weight + k) >> 2]);
}
// Numbers k .. k + 3 of a row of a, normalized.
vec4 normalized(const uint from, const uint k, const float factor) {
    precise vec4 r = wide_a(F32, from + k) * factor;
    r = r * norm_weight(k);
    return r;
}
// The first workgroup does it, where it has to be done.
void write_normalized(const uint row, const uint from, const float factor) {
    if (NORM != 2 || group_index() != 0) return;
    for (uint k = 4 * gl_LocalInvocationID.x; k < P_k; k += 4 * gl_WorkGroupSize.x)
        w0.d[(P_normal + row * P_k + k) >> 2] = floatBitsToUint(normalized(from, k, factor));
}

// Where column j of a team lies in b; columns behind the last one repeat it.
uint place_of_b(const uint b, const uint first, const uint team, const uint j) {
    uint column = first + (PAIR == 1 ? team : team * COLUMNS + j);
    return (PAIR == 1 && j == 1 ? P_second_b : b) + min(column, P_n - 1) * P_column.z;
}
// The sum of what the invocations of a team have for an output.
float total_of(const uint team, const uint place) {
    uint from = (team * OUTPUTS + place) * (TEAM + 1);
    float total[4] = float[](0.0, 0.0, 0.0, 0.0);
    [[unroll]] for (uint j = 0; j < TEAM; j++) total[j & 3] += partial[from + j];
    return total[0] + total[1] + (total[2] + total[3]);
}
// All sums of the workgroup are in: outputs from column `first` on.
void write_outputs(const uvec4 at, const uint first) {
    uint columns = P_n, each = OUTPUTS / (1 + PAIR);
    for (uint i = gl_LocalInvocationID.x; i < TEAMS * each; i += gl_WorkGroupSize.x) {
        uint team = i / each, place = i % each, row = place / (PAIR == 1 ? 1 : COLUMNS);
        uint column = first + (PAIR == 1 ? team : team * COLUMNS + place % COLUMNS);
        if (column >= columns) continue;
        uint offset = row * P_row.x + column * P_column.x, e = at.x + offset;
        float r = finished(total_of(team, PAIR == 1 ? 2 * place : place), at, row, column);
        store_c(DTYPE_C, e, uvec2(narrow_of_f32(DTYPE_C, floatBitsToUint(r)), 0));
        if (PAIR == 1) {
            float other = finished(total_of(team, 2 * place + 1), at, row, column);
            b0.d[P_second_c + offset] = floatBitsToUint(other);
            float gated = TAIL == TAIL_SILU ? my_silu_times(r, other) : my_gelu_tanh_times(r, other);
            if (TAIL != TAIL_NONE) b0.d[P_tail + offset] = floatBitsToUint(gated);
        } else if (TAIL == TAIL_ADD) {
            precise float sum = uintBitsToFloat(b0.d[P_tail + offset]) + r;
            b0.d[P_tail + offset] = floatBitsToUint(sum);
        }
    }
}
