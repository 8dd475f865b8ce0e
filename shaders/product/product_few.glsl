// product_few.glsl - products with few rows of a (ROWS) and columns of b that lie along k, as when a language
// model writes: a team of SPLIT lines of 32 invocations takes COLUMNS of them, so that each weight is read
// once. What stands before and behind them may be part of it (fuse.c): the norm that made a, and the sum
// that this is of; up to three products of one a, their columns one behind the other, or two with a gate that
// meets both (PAIR); the residual that is added. All c's and the normalized a lie in block 0, all b's in
// block 2, x and what it is the sum with in block 1, the norms' weights in block 3, biases in block 4 or,
// where there are none, the normalized a that lies apart from the c's; but for b's all is f32.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tables/product_few.glsl"
#include "product/product.glsl"

const uint TEAMS = gl_WorkGroupSize.x / 32 / SPLIT, OUTPUTS = ROWS * COLUMNS, TEAM = 32 * SPLIT;
const uint TAKES = TEAMS * COLUMNS / (1 + PAIR);    // columns of a workgroup at a time
const uint SUMS = TEAM / LANES;                     // of a team for an output; LANES are added as a subgroup
const bool ALONE = TEAM == LANES;                   // a team is a subgroup: all of it has the sums

const uint KIND = NORM & 3;
const bool WRITTEN = (NORM & NORM_WRITTEN) != 0, WEIGHTED = (NORM & NORM_WEIGHT) != 0,
           BIASED = (NORM & NORM_BIAS) != 0, ADDED = (NORM & NORM_ADDED) != 0;

shared float partial[TEAMS * OUTPUTS * (SUMS + 1) + gl_WorkGroupSize.x / LANES + 16];

// The sum over all invocations, in all of them.
float sum_of_all(float sum) {
    uint id = gl_LocalInvocationID.x;
    if (LANES > 1) sum = subgroupAdd(sum);
    barrier();
    if (id % LANES == 0) partial[id / LANES] = sum;
    barrier();
    if (LANES == 1) {
        if (id < 16) {
            sum = 0;
            for (uint i = id; i < gl_WorkGroupSize.x; i += 16) sum += partial[i];
            partial[gl_WorkGroupSize.x + id] = sum;
        }
        barrier();
    }
    uint count = LANES == 1 ? 16 : gl_WorkGroupSize.x / LANES;
    uint from = LANES == 1 ? gl_WorkGroupSize.x : 0;
    sum = 0;
    for (uint i = 0; i < count; i++) sum += partial[from + i];
    return sum;
}

// ---- rows of a: x, or x + rms_norm(another row), and the norm of that ----

float other_factor = 0;    // what the other row is multiplied by

vec4 other_at(const uint row, const uint k) {
    return uintBitsToFloat(w1.d[(P_other + row * P_k + k) >> 2]);
}
vec4 weights_at(const uint at, const uint k) {
    return uintBitsToFloat(w3.d[(at + k) >> 2]);
}
// Numbers k .. k + 3 of a row before its norm.
vec4 plain_at(const uint row, const uint from, const uint k) {
    vec4 x = wide_a(F32, from + k);
    if (ADDED) {
        precise vec4 y = other_at(row, k) * other_factor;
        y = y * weights_at(P_other_weight, k);
        precise vec4 sum = x + y;
        x = sum;
    }
    return x;
}
float sum_of_squares(const bool other, const uint row, const uint from, const float shift, const float size) {
    float sum = 0;
    for (uint k = 4 * gl_LocalInvocationID.x; k < P_k; k += 4 * gl_WorkGroupSize.x) {
        vec4 x = size * ((other ? other_at(row, k) : plain_at(row, from, k)) - shift);
        sum += dot(x, x);
    }
    return sum;
}
// What a row's distances from `shift` are multiplied by, from the invocations' sums of their squares; squares
// that leave the range of f32 are taken again, of numbers of another size.
float norm_factor(const bool other, const uint row, const uint from, const float shift, float sum) {
    float size = 1;
    for (uint attempt = 0; attempt < 2; attempt++) {
        sum = sum_of_all(sum) / float(P_k);
        if (size != 1) break;
        if (!(sum < 1e37)) size = 5.42101086e-20;
        else if (sum < 1e-25) size = 1.84467441e19;
        else break;
        sum = sum_of_squares(other, row, from, shift, size);
    }
    float epsilon = uintBitsToFloat(other ? P_other_epsilon : P_epsilon);
    precise float squares = sum + epsilon * size * size;
    return size / sqrt(squares);
}
// Before anything else of a row is asked for.
void take_other(const uint row) {
    if (ADDED) other_factor = norm_factor(true, row, 0, 0, sum_of_squares(true, row, 0, 0, 1));
}
float mean_of(const uint row, const uint from) {
    float sum = 0;
    for (uint k = 4 * gl_LocalInvocationID.x; k < P_k; k += 4 * gl_WorkGroupSize.x)
        sum += dot(plain_at(row, from, k), vec4(1));
    return sum_of_all(sum) / float(P_k);
}
vec4 norm_weight(const uint k) {
    return WEIGHTED ? weights_at(P_norm_weight, k) : vec4(1);
}
// Numbers k .. k + 3 of a row of a.
vec4 normalized(const uint row, const uint from, const uint k, const float mean, const float factor) {
    precise vec4 r = plain_at(row, from, k);
    if (KIND == 0) return r;
    if (KIND == NORM_LAYER) r = r - mean;
    r = r * factor;
    if (WEIGHTED) r = r * weights_at(P_norm_weight, k);
    if (BIASED) r = r + weights_at(P_norm_bias, k);
    return r;
}
// What rows were made with, for those that are written behind the products: nobody waits for them there.
vec3 made_with[WRITTEN ? ROWS : 1];
void remember_row(const uint row, const float mean, const float factor) {
    if (WRITTEN) made_with[row] = vec3(mean, factor, other_factor);
}
// Each workgroup writes a share of each row.
void write_normal(const uint at) {
    uint begin = 4 * (group_index() + gl_LocalInvocationID.x * gl_NumWorkGroups.x * gl_NumWorkGroups.y),
         step = 4 * gl_WorkGroupSize.x * gl_NumWorkGroups.x * gl_NumWorkGroups.y;
    for (uint row = 0; row < ROWS && WRITTEN; row++) {
        other_factor = made_with[row].z;
        for (uint k = begin; k < P_k; k += step) {
            vec4 x = normalized(row, at + row * P_row.y, k, made_with[row].x, made_with[row].y);
            uint to = P_normal + row * P_k + k;
            if ((NORM & NORM_APART) == 0) w0.d[to >> 2] = floatBitsToUint(x);
            else
                for (uint j = 0; j < 4; j++) b4.d[to + j] = floatBitsToUint(x[j]);
        }
    }
}

// ---- columns ----

// Which of the products column `column` belongs to.
uint part_of(const uint column) {
    if (PRODUCTS == 1 || column < P_begin0) return 0;
    return PRODUCTS == 2 || column < P_begin1 ? 1 : 2;
}
// Where column j of a team lies in b; columns behind the last one repeat it.
uint place_of_b(const uint b, const uint first, const uint team, const uint j) {
    uint column = min(first + (PAIR == 1 ? team : team * COLUMNS + j), P_n - 1), begin = 0, from = b;
    if (PAIR == 1 && j == 1) from = P_part_b0;
    if (PRODUCTS > 1) { /* all at once: no branch that a parameter decides keeps others from coming */
        const uvec4 parts = uvec4(P_begin, P_part_b);
        bool second = column >= parts.x, third = PRODUCTS > 2 && column >= parts.y;
        begin = third ? parts.y : second ? parts.x : 0;
        from = third ? parts.w : second ? parts.z : b;
    }
    return from + (column - begin) * P_column.z;
}
// The sum of what the invocations of a team have for an output.
float total_of(const uint team, const uint place) {
    uint from = (team * OUTPUTS + place) * (SUMS + 1);
    float total[4] = float[](0.0, 0.0, 0.0, 0.0);
    [[unroll]] for (uint j = 0; j < SUMS; j++) total[j & 3] += partial[from + j];
    return total[0] + total[1] + (total[2] + total[3]);
}
// An invocation finishes one output at most: of its own team, or of all of them in order.
const uint EACH = OUTPUTS / (1 + PAIR);             // of a team
// Its row and column, of those from column `first` on; false: it has none. The number of a team and the place
// in it are not made one number and taken apart again: wrong sums of six rows come of it (NVIDIA 580.159).
bool place_of_output(const uint first, out uint row, out uint column) {
    uint id = gl_LocalInvocationID.x, team = ALONE ? id / TEAM : id / EACH,
         place = ALONE ? id % TEAM : id % EACH;
    row = PAIR == 1 ? place : place / COLUMNS;
    column = first + (PAIR == 1 ? team : team * COLUMNS + place % COLUMNS);
    return (ALONE ? place < EACH : team < TEAMS) && column < P_n;
}
// What is added to it: fetched before it is needed.
vec2 biases;
float residual;
void fetch_added(const uvec4 at, const uint first) {
    uint row, column;
    if ((DTYPE_BIAS == 0 && TAIL != TAIL_ADD) || !place_of_output(first, row, column)) return;
    uint part = part_of(column);
    if (part == 0) biases.x = bias_at(place_of_bias(at, column));
    else biases.x = bias_at(part == 1 ? P_part_bias0 + column - P_begin0 : P_part_bias1 + column - P_begin1);
    if (PAIR == 1) biases.y = bias_at(P_part_bias0 + column);
    if (TAIL == TAIL_ADD) residual = uintBitsToFloat(b0.d[P_tail + row * P_row.x + column * P_column.x]);
}
void write_output(const uvec4 at, const uint row, const uint column, const vec2 sum) {
    uint offset = row * P_row.x + column * P_column.x, part = part_of(column);
    float r = finished_with(sum.x, at.w + row * P_row.w + column * P_column.w, biases.x);
    if (PRODUCTS > 1 && part > 0) {
        uint own = column - (part == 1 ? P_begin0 : P_begin1);
        b0.d[(part == 1 ? P_part_c0 + row * P_part_row0 : P_part_c1 + row * P_part_row1) + own] =
            floatBitsToUint(r);
        return;
    }
    store_c(DTYPE_C, at.x + offset, uvec2(narrow_of_f32(DTYPE_C, floatBitsToUint(r)), 0));
    if (PAIR == 1) {
        float other = finished_with(sum.y, 0, biases.y);
        b0.d[P_part_c0 + offset] = floatBitsToUint(other);
        float gated = TAIL == TAIL_SILU ? my_silu_times(r, other) : my_gelu_tanh_times(r, other);
        if (TAIL != TAIL_NONE) b0.d[P_tail + offset] = floatBitsToUint(gated);
    } else if (TAIL == TAIL_ADD) {
        precise float all = residual + r;
        b0.d[P_tail + offset] = floatBitsToUint(all);
    }
}
// Adds up what the invocations have, [OUTPUTS] each, and writes outputs from column `first` on.
void write_outputs(const uvec4 at, const uint first, const float sum[OUTPUTS]) {
    uint id = gl_LocalInvocationID.x, team = id / TEAM, lane = id % TEAM, row, column;
    bool has = place_of_output(first, row, column);
    vec2 own = vec2(0);
    [[unroll]] for (uint i = 0; i < OUTPUTS; i++) {
        float all = LANES > 1 ? subgroupAdd(sum[i]) : sum[i];
        if (ALONE && lane == i / (1 + PAIR)) own[i % (1 + PAIR)] = all;
        if (!ALONE && lane % LANES == 0) partial[(team * OUTPUTS + i) * (SUMS + 1) + lane / LANES] = all;
    }
    if (!ALONE) {
        barrier();
        uint place = id % EACH * (1 + PAIR);
        if (has) own.x = total_of(id / EACH, place);
        if (has && PAIR == 1) own.y = total_of(id / EACH, place + 1);
        barrier();
    }
    if (has) write_output(at, row, column, own);
}
