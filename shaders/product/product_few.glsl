// product_few.glsl - products with few rows of a (ROWS) and columns of b that lie along k, as when a language
// model writes: a team of SPLIT lines of 32 invocations takes COLUMNS of them, so that each weight is read
// once. What stands before and behind them may be part of it (fuse.c): the norm that made a, and the sum
// that this is of; up to three products of one a, their columns one behind the other, or two with a gate that
// meets both (PAIR); the residual that is added. All c's and the normalized a lie in block 0, all b's in
// block 2, x and what it is the sum with in block 1, the norms' weights in block 3, biases in block 4; the
// normalized a that lies apart from the c's in block 4, or 5 where there are biases; but for b's all is f32.
// A row that a product of a block type is likely to meet is left behind for it, rounded, beside c (LEFT), in
// block 5; a workgroup takes sixteens of columns that follow each other then. Such a product finds it in
// block 1 in the place of a (TAKEN).
// Some columns may be an operand of steps (map/steps.glsl), whose result is written as well (TAIL_STEPS).
// Behind a router's numbers the last workgroup goes on with them (ROUTES, rows/route.glsl). Where the router
// stands behind a sum, who makes that leaves parts of its numbers, and the gate that its experts begin with
// adds them up and chooses for itself (product/router.glsl).
// Rows that have an expert each (OWN) meet its columns alone; beside c, which is theirs by weights, their sum
// is written, and what it is added to. Weights, sum and that lie in block 3.
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "tables/product_few.glsl"
#define PUSHED PUSHED_FOURS
#define OWN_EXPERTS (EXPERTS == 1)
#define CHOSEN_EXPERTS (ROUTES == ROUTES_CHOICE)
#include "product/product.glsl"
#define STEPS_AT ROW_behind
#define STEPS_ROW P_steps_n
#include "map/steps.glsl"
#define ROUTER_ROOM (ROUTES == ROUTES_BEHIND ? ROUTE_EXPERTS : ROUTES == ROUTES_CHOICE ? CHOICE_EXPERTS : 1)
#define ROUTER_BEHIND(i) param[ROW_behind + (i) / 4][(i) % 4]
#define ROUTER_AT(result) ROUTER_BEHIND(result)
#define ROUTER_IDS ROUTER_BEHIND(ROUTE_IDS)
#define ROUTER_INDICES ROUTER_BEHIND(ROUTE_IDS + 1)
#define ROUTER_BIAS ROUTER_BEHIND(ROUTE_IDS + 2)
#define ROUTER_LEAST uintBitsToFloat(ROUTER_BEHIND(ROUTE_IDS + 3))
#define ROUTER_SCALE uintBitsToFloat(ROUTER_BEHIND(ROUTE_IDS + 4))
#define ROUTER_WRITES (!CHOSEN_EXPERTS || gl_WorkGroupID == uvec3(0))
#include "rows/route.glsl"

const uint TEAMS = gl_WorkGroupSize.x / 32 / SPLIT, OUTPUTS = ROWS * COLUMNS, TEAM = 32 * SPLIT;
const uint TAKES = TEAMS * COLUMNS / (1 + PAIR);    // columns of a workgroup at a time
const uint SUMS = TEAM / LANES;                     // of a team for an output; LANES are added as a subgroup
const bool ALONE = TEAM == LANES;                   // a team is a subgroup: all of it has the sums

const uint KIND = NORM & 3;
const bool WRITTEN = (NORM & NORM_WRITTEN) != 0, WEIGHTED = (NORM & NORM_WEIGHT) != 0,
           BIASED = (NORM & NORM_BIAS) != 0, ADDED = (NORM & NORM_ADDED) != 0,
           NORMS_OTHER = (NORM & (NORM_ADDED | NORM_ADDED_PLAIN)) == NORM_ADDED,
           TAKEN = (NORM & NORM_TAKEN) != 0, ROUNDS_LEFT = (NORM & NORM_LEFT) != 0,
           LEFT = ROUNDS_LEFT || ROUTES == ROUTES_PARTS;
shared float left[LEFT ? LEFT_ROOM : 1]; // the workgroup's results from column left_first on
uint left_first, left_end;
void put_left(const uint column, const float x) {
    if (LEFT) left[column - left_first] = x;
}

shared float partial[TEAMS * OUTPUTS * (SUMS + 1)];
const uint SUBGROUPS = gl_WorkGroupSize.x / LANES;
shared float parts_of_sum[SUBGROUPS + (SUBGROUPS > 16 ? SUBGROUPS : 16)];

// The sum over all invocations, in all of them, and a barrier behind what they wrote before. Sums of
// subgroups lie where those before the last ones did, which nobody reads any more: one barrier is enough.
// Little code, for each dispatch fetches it anew.
uint sums_turn = 0;
float sum_of_all(float sum) {
    uint id = gl_LocalInvocationID.x;
    const uint count = LANES == 1 ? 16 : SUBGROUPS;
    if (LANES > 1) sum = subgroupAdd(sum);
    if (LANES > 1 && count <= LANES) {
        const uint from = sums_turn * count;
        sums_turn = 1 - sums_turn;
        if (id % LANES == 0) parts_of_sum[from + id / LANES] = sum;
        barrier();
        return subgroupAdd(id % LANES < count ? parts_of_sum[from + id % LANES] : 0);
    }
    barrier();
    if (id % LANES == 0) parts_of_sum[id / LANES] = sum;
    barrier();
    if (LANES == 1) {
        if (id < 16) {
            sum = 0;
            for (uint i = id; i < gl_WorkGroupSize.x; i += 16) sum += parts_of_sum[i];
            parts_of_sum[SUBGROUPS + id] = sum;
        }
        barrier();
    }
    uint from = LANES == 1 ? SUBGROUPS : 0;
    sum = 0;
    for (uint i = 0; i < count; i++) sum += parts_of_sum[from + i];
    return sum;
}

// ---- rows of a: x, or x + another row or its rms_norm, and the norm of that ----

float other_factor = 0;    // what the other row is multiplied by

vec4 weights_at(const uint at, const uint k) {
    return uintBitsToFloat(w3.d[(at + k) >> 2]);
}
// What numbers k .. k + 3 of a row are made from, as it lies.
struct source {
    vec4 x, other, other_weight, weight, bias;
};
source source_at(const uint row, const uint from, const uint k) {
    source s;
    s.x = wide_a(F32, from + k);
    if (ADDED) s.other = uintBitsToFloat(w1.d[(P_other + row * P_k + k) >> 2]);
    if (NORMS_OTHER) s.other_weight = weights_at(P_other_weight, k);
    if (WEIGHTED) s.weight = weights_at(P_norm_weight, k);
    if (BIASED) s.bias = weights_at(P_norm_bias, k);
    return s;
}
// Invocation i of a workgroup takes fours i, i + THREADS .. of a row. Those of a short row, or of one that is
// gone over several times, are fetched once, all together, before the first of them is needed.
const uint FOURS = INNER / 4, ROUNDS = (FOURS + gl_WorkGroupSize.x - 1) / gl_WorkGroupSize.x;
const bool MADE = KIND != 0 || ADDED, AGAIN = KIND == NORM_LAYER || NORMS_OTHER;
const uint HELD_MOST = AGAIN ? 4 : MADE ? 2 : 0, HELD = ROUNDS <= HELD_MOST ? ROUNDS : 0;
source held[HELD > 0 ? HELD : 1];

uint four_in_round(const uint round) {
    return gl_LocalInvocationID.x + round * gl_WorkGroupSize.x;
}
void hold_row(const uint row, const uint from) {
    [[unroll]] for (uint i = 0; i < HELD; i++)
        if (four_in_round(i) < FOURS) held[i] = source_at(row, from, 4 * four_in_round(i));
}
// Before the norm.
vec4 plain_of(const source s) {
    vec4 x = s.x;
    if (ADDED) {
        precise vec4 y = NORMS_OTHER ? s.other * other_factor : s.other;
        if (NORMS_OTHER) y = y * s.other_weight;
        precise vec4 sum = x + y;
        x = sum;
    }
    return x;
}
// The mean of a layer_norm's row in two parts: the row's first number and how far from it the mean is. One
// number would be off by more than it should where rows hardly vary beside their mean. (0, 0) of other norms.
vec2 at_first(const uint row, const uint from) {
    float x = plain_of(source_at(row, from, 0)).x;
    return vec2(abs(x) < 1e38 ? x : 0, 0); /* distances from larger ones might leave the range of f32 */
}
vec4 about(const source s, const vec2 mean) {
    precise vec4 x = plain_of(s);
    if (KIND == NORM_LAYER) x = (x - mean.x) - mean.y;
    return x;
}
// What a pass over a row adds up: distances from `mean`, or their squares after they are taken times `size`,
// of itself or of the other row.
const uint SUM_NUMBERS = 0, SUM_SQUARES = 1, SUM_OTHER = 2;
float part_of_sum(const uint what, const source s, const vec2 mean, const float size) {
    vec4 x = what == SUM_OTHER ? s.other : about(s, mean);
    if (what == SUM_NUMBERS) return dot(x, vec4(1));
    x *= size;
    return dot(x, x);
}
float sum_of_row(const uint what, const uint row, const uint from, const vec2 mean, const float size) {
    float sum = 0;
    [[unroll]] for (uint i = 0; i < HELD; i++)
        if (four_in_round(i) < FOURS) sum += part_of_sum(what, held[i], mean, size);
    for (uint four = four_in_round(HELD); four < FOURS; four += gl_WorkGroupSize.x)
        sum += part_of_sum(what, source_at(row, from, 4 * four), mean, size);
    return sum;
}
// Whether squares of numbers of size 1 leave the range of f32: then they are taken again, of another size.
bool leaves_range(const float squares, inout float size) {
    if (size != 1) return false;
    if (!(squares < 1e36)) size = 5.42101086e-20;
    else if (squares < 1e-24) size = 1.84467441e19;
    return size != 1;
}
// 1 / deviation, in the size that squares are of.
float factor_of(const float squares, const float size, const uint epsilon) {
    precise float all = squares + uintBitsToFloat(epsilon) * size * size;
    return 1 / sqrt(all);
}
// What a row's distances from `mean` are multiplied by, or the other row: a loop, for code that is there
// once is fetched once.
float norm_factor(const uint what, const uint row, const uint from, const vec2 mean) {
    float size = 1, squares;
    [[dont_unroll]] for (uint attempt = 0; attempt < 2; attempt++) {
        squares = sum_of_all(sum_of_row(what, row, from, mean, size)) / float(P_k);
        if (!leaves_range(squares, size)) break;
    }
    return size * factor_of(squares, size, what == SUM_OTHER ? P_other_epsilon : P_epsilon);
}
// Before anything else of a row is asked for.
void take_other(const uint row, const uint from) {
    if (NORMS_OTHER) other_factor = norm_factor(SUM_OTHER, row, from, vec2(0));
}
vec2 mean_of(const uint row, const uint from) {
    vec2 mean = at_first(row, from);
    mean.y = sum_of_all(sum_of_row(SUM_NUMBERS, row, from, mean, 1)) / float(P_k);
    return mean;
}
// Mean and factor of a layer_norm's row that is held, with one barrier: subgroups take squares of distances
// from means of their own. What each has lies where the row before the last one had it.
const bool MOMENTS = KIND == NORM_LAYER && HELD > 0 && LANES > 1 && SUBGROUPS <= LANES;
shared vec3 moments[MOMENTS ? 2 * SUBGROUPS : 1]; // the sum, the squares, how many numbers
void take_moments(const uint row, const uint from, out vec2 mean, out float factor) {
    const vec2 first = at_first(row, from);
    uint lane = gl_LocalInvocationID.x % LANES, at = row % 2 * SUBGROUPS;
    float sum = 0, squares = 0, count = 0, size = 1;
    [[unroll]] for (uint i = 0; i < HELD; i++)
        if (four_in_round(i) < FOURS) {
            sum += dot(about(held[i], first), vec4(1));
            count += 4;
        }
    sum = subgroupAdd(sum);
    count = subgroupAdd(count);
    const float own = count > 0 ? sum / count : 0;
    [[unroll]] for (uint i = 0; i < HELD; i++)
        if (four_in_round(i) < FOURS) {
            vec4 x = about(held[i], first) - own;
            squares += dot(x, x);
        }
    squares = subgroupAdd(squares);
    if (lane == 0) moments[at + gl_LocalInvocationID.x / LANES] = vec3(sum, squares, count);
    barrier();
    vec3 part = lane < SUBGROUPS ? moments[at + lane] : vec3(0);
    mean = vec2(first.x, subgroupAdd(part.x) / float(P_k));
    const float off = part.z > 0 ? part.x / part.z - mean.y : 0;
    squares = subgroupAdd(part.y + part.z * off * off) / float(P_k);
    factor = factor_of(squares, 1, P_epsilon);
    if (leaves_range(squares, size)) factor = norm_factor(SUM_SQUARES, row, from, mean);
}
// Four numbers of a row of a.
vec4 normalized(const source s, const vec2 mean, const float factor) {
    precise vec4 r = about(s, mean);
    if (KIND == 0) return r;
    r = r * factor;
    if (WEIGHTED) r = r * s.weight;
    if (BIASED) r = r + s.bias;
    return r;
}
void write_four(const uint row, const uint four, const vec4 x) {
    uint to = P_normal + row * P_k + 4 * four;
    if ((NORM & NORM_APART) == 0) w0.d[to >> 2] = floatBitsToUint(x);
    else if (DTYPE_BIAS == 0)
        for (uint j = 0; j < 4; j++) b4.d[to + j] = floatBitsToUint(x[j]);
    else
        for (uint j = 0; j < 4; j++) b5.d[to + j] = floatBitsToUint(x[j]);
}
// Each workgroup writes a share of each row: of one that is held here, for only their stores are left; of
// others behind the products, where nobody waits for them.
vec4 made_with[WRITTEN && HELD == 0 ? ROWS : 1];
void row_is_made(const uint row, const vec2 mean, const float factor) {
    if (!WRITTEN) return;
    if (HELD == 0) {
        made_with[row] = vec4(mean, factor, other_factor);
        return;
    }
    uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y, group = group_index();
    [[unroll]] for (uint i = 0; i < HELD; i++) {
        uint four = four_in_round(i);
        if (four < FOURS && four % groups == group) write_four(row, four, normalized(held[i], mean, factor));
    }
}
void write_normal(const uint at) {
    if (!WRITTEN || HELD > 0) return;
    uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
    for (uint row = 0; row < ROWS; row++) {
        other_factor = made_with[row].w;
        for (uint four = group_index() + gl_LocalInvocationID.x * groups; four < FOURS;
             four += gl_WorkGroupSize.x * groups) {
            source s = source_at(row, at + row * P_row.y, 4 * four);
            write_four(row, four, normalized(s, made_with[row].xy, made_with[row].z));
        }
    }
}

// ---- experts: each row's ----

const bool OWN = OWN_EXPERTS;
shared uint expert_b[OWN ? ROWS : 1], expert_bias[OWN ? ROWS : 1];
shared float expert_weight[OWN ? ROWS : 1];

void take_experts(const uvec4 at) {
    uint id = gl_LocalInvocationID.x;
    if (!OWN) return;
    if (id >= ROWS) return;
    uint expert = expert_at_place(at.w + id * P_row.w);
    expert_b[id] = at.z + expert * P_expert_b;
    expert_bias[id] = expert * P_expert_bias;
    expert_weight[id] = uintBitsToFloat(b3.d[P_part_b0 + gl_WorkGroupID.z * ROWS + id]);
}
// A column is what those of all experts are, one behind the other. The row that part `i` of it belongs to,
// where each expert's has `each`, or the column where those are chained; the part's number in that; where the
// expert's column begins.
uint row_of_part(const uint i, const uint each) {
    return OWN ? min(i / each, ROWS - 1) : CHAINED == 1 ? min(i / each, COLUMNS - 1) : 0;
}
uint part_in_row(const uint i, const uint each) {
    return OWN || CHAINED == 1 ? i % each : i;
}
uint column_of_part(const uint place, const uint i, const uint each) {
    return OWN ? expert_b[row_of_part(i, each)] + place : place;
}
// The same of what is fetched first, before a barrier has let others see what take_experts found.
uint first_column_of_part(const uvec4 at, const uint place, const uint i, const uint each) {
    return OWN ? at_expert(at, expert_at_place(at.w + row_of_part(i, each) * P_row.w)).z + place : place;
}

// ---- columns ----

// Which of the products column `column` belongs to.
uint part_of(const uint column) {
    if (PRODUCTS == 1 || column < P_begin0) return 0;
    return PRODUCTS == 2 || column < P_begin1 ? 1 : 2;
}
// Where column j of a team lies in b; columns behind the last one repeat it.
uint place_of_b(const uint b, const uint first, const uint team, const uint j) {
    uint column = min(first + (PAIR == 1 ? team : team * COLUMNS + j), P_n - 1), begin = 0;
    uint from = OWN ? 0 : b;
    if (PAIR == 1 && j == 1) from = IDS == 0 ? P_part_b0 : P_part_b0 + (b - P_at2);
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
// What is added to it, and what steps behind it are of: fetched before it is needed.
vec2 biases;
float residual;
step_numbers beside;
void fetch_added(const uvec4 at, const uint first) {
    uint row, column;
    const bool some = DTYPE_BIAS != 0 || TAIL == TAIL_ADD || TAIL == TAIL_STEPS;
    if (OWN || !some || !place_of_output(first, row, column)) return;
    if (TAIL == TAIL_STEPS && column - P_steps_first < P_steps_n)
        beside = fetched_steps(column - P_steps_first);
    uint part = part_of(column);
    if (part == 0) biases.x = bias_at(place_of_bias(at, column));
    else biases.x = bias_at(part == 1 ? P_part_bias0 + column - P_begin0 : P_part_bias1 + column - P_begin1);
    if (PAIR == 1) biases.y = bias_at(P_part_bias0 + (IDS == 0 ? 0 : at.w) + column);
    if (TAIL == TAIL_ADD) residual = uintBitsToFloat(b0.d[P_tail + row * P_row.x + column * P_column.x]);
}
// x / (1 + e^-y): the gate of x by y. Sums of rows that are rounded to bytes (ROUGH_GATES) are off by a
// thousand times what the device's own e^x is, which is less code; it is fetched anew by each dispatch.
#ifdef ROUGH_GATES
float opened(const float x, const float y) {
    return x / (1 + exp(min(-y, 88.0)));
}
float silu_times(const float x, const float factor) {
    return opened(x, x) * factor;
}
float gelu_tanh_times(const float x, const float factor) {
    return opened(x, x * (1.59576912 + 0.0713548163 * x * x)) * factor;
}
#else
float opened(const float x, const float y) {
    return x * my_sigmoid(y);
}
float silu_times(const float x, const float factor) {
    return my_silu_times(x, factor);
}
float gelu_tanh_times(const float x, const float factor) {
    return my_gelu_tanh_times(x, factor);
}
#endif
// c and another one through the gate behind them.
float gated_with(const float c, const float other) {
    if (TAIL == TAIL_GATED) return c * other; /* who finished c has applied the activation */
    if (TAIL == TAIL_SILU) return silu_times(c, other);
    if (TAIL == TAIL_GELU) return gelu_tanh_times(c, other);
    float limit = uintBitsToFloat(P_limit);
    float opens = is_nan(c) ? c : lesser_of(limit, c);
    float shown = is_nan(other) ? other : lesser_of(limit, greater_of(-limit, other));
    precise float slope = opens * uintBitsToFloat(P_slope), gate = opened(opens, slope),
                  shifted = shown + uintBitsToFloat(P_shift), r = gate * shifted;
    return r;
}
void write_output(const uvec4 at, const uint row, const uint column, const vec2 sum) {
    uint offset = row * P_row.x + column * P_column.x, part = part_of(column);
    float r = finished_with(sum.x, at.w + row * P_row.w + column * P_column.w, biases.x);
    if (PRODUCTS > 1 && part > 0) {
        uint own = column - (part == 1 ? P_begin0 : P_begin1);
        uint before = ROWS == 1 ? 0 : row * (part == 1 ? P_part_row0 : P_part_row1);
        b0.d[(part == 1 ? P_part_c0 : P_part_c1) + own + before] =
            floatBitsToUint(r);
        return;
    }
    if (ROUTES == ROUTES_BEHIND) atomicExchange(b0.d[at.x + offset], floatBitsToUint(r)); /* others look */
    else store_c(DTYPE_C, at.x + offset, uvec2(narrow_of_f32(DTYPE_C, floatBitsToUint(r)), 0));
    if (SINGLE != 1) offset += at.x - P_at0; /* of a pair: all three lie alike */
    if (PAIR == 1) {
        float other = TAIL == TAIL_GATED ? summed_with(sum.y, 0, biases.y)
                                         : finished_with(sum.y, 0, biases.y);
        b0.d[P_part_c0 + offset] = floatBitsToUint(other);
        float gated = gated_with(r, other);
        if (TAIL != TAIL_NONE) b0.d[P_tail + offset] = floatBitsToUint(gated);
        put_left(column, gated);
    } else if (TAIL == TAIL_ADD) {
        precise float all = residual + r;
        b0.d[P_tail + offset] = floatBitsToUint(all);
        put_left(column, all);
    } else if (TAIL == TAIL_STEPS) {
        const uint i = column - P_steps_first, to = STEPS_MORE_BLOCKS >> (3 * (2 * STEPS_MOST - 9)) & 7;
        if (i < P_steps_n) PUT_WORD_OF(to, P_steps_to + i, taken_steps(i, beside, r, true))
    } else {
        put_left(column, r);
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
// The same where rows have an expert each: by weights, and their sum.
void write_weighed(const uvec4 at, const uint first, const float sum[OUTPUTS]) {
    uint id = gl_LocalInvocationID.x, team = id / TEAM, lane = id % TEAM, column = first + team;
    float own[OUTPUTS], total = 0;
    [[unroll]] for (uint i = 0; i < OUTPUTS; i++) {
        own[i] = LANES > 1 ? subgroupAdd(sum[i]) : sum[i];
        if (!ALONE && lane % LANES == 0) partial[(team * OUTPUTS + i) * (SUMS + 1) + lane / LANES] = own[i];
    }
    if (!ALONE) {
        barrier();
        if (lane == 0)
            [[unroll]] for (uint i = 0; i < OUTPUTS; i++) own[i] = total_of(team, i);
        barrier();
    }
    if (column >= P_n || (lane > 0 && !ALONE)) return;
    [[unroll]] for (uint i = 0; i < OUTPUTS; i++) {
        float bias = bias_at(P_bias_at + expert_bias[i] + column * P_bias_stride);
        precise float weighed = finished_with(own[i], 0, bias) * expert_weight[i], all = total + weighed;
        total = all;
        if (!ALONE || lane == i) b0.d[at.x + i * P_row.x + column * P_column.x] = floatBitsToUint(weighed);
    }
    if (lane > 0) return;
    uint to = gl_WorkGroupID.z * P_n + column;
    b3.d[P_part_c0 + to] = floatBitsToUint(total);
    if (TAIL != TAIL_ADD) return;
    precise float all = uintBitsToFloat(b3.d[P_tail + to]) + total;
    b3.d[P_tail + to] = floatBitsToUint(all);
}
void write_results(const uvec4 at, const uint first, const float sum[OUTPUTS]) {
    if (OWN) write_weighed(at, first, sum);
    else write_outputs(at, first, sum);
}
// ---- what the last workgroup does ----

// Whether it is the last one that is through with its columns. What workgroups tell each other goes by
// atomics, which are as fresh as the place where they are made.
shared uint arrived;
// Fetches what route_results asks for while others of it are on their way.
void await_results() {
    if (ROUTES == ROUTES_BEHIND && gl_LocalInvocationID.x == 0) arrived = ROUTER_BEHIND(ROUTE_IDS + 6);
}
bool is_last(const uint counter) {
    const uint block = ROUTER_BLOCKS >> 12 & 7;
    const uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y;
    memoryBarrierBuffer();
    barrier();
    if (gl_LocalInvocationID.x == 0) ADD_BITS_OF(block, counter, 1, arrived)
    barrier();
    if (arrived + 1 < groups) return false;
    memoryBarrierBuffer();
    uint was;
    if (gl_LocalInvocationID.x == 0) ADD_BITS_OF(block, counter, 0u - groups, was) /* as it was */
    return true;
}
void route_results(const uint c) {
    if (ROUTES != ROUTES_BEHIND || !is_last(ROUTER_BEHIND(ROUTE_IDS + 6))) return;
    for (uint i = gl_LocalInvocationID.x; i < in_fours(P_n); i += gl_WorkGroupSize.x)
        put_score(i, i < P_n ? uintBitsToFloat(atomicOr(b0.d[c + i], 0)) : -INF);
    route_row(0, P_n, ROUTER_BEHIND(ROUTE_IDS + 5));
}
