// product_dot.comp - products with few rows of a and columns of a block type, by integer dot products: each
// workgroup rounds its rows of a to 8 bits, with a scale for every 16, and keeps them in shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_integer_dot_product : require
#define ROUGH_GATES
#include "product/product_few.glsl"
#include "product/router.glsl"

shared uvec4 quants[ROWS * INNER / 16];     // sixteen numbers of a: by slot_of
shared vec2 sizes[ROWS * INNER / 16];       // of those: the scale, the sum times the scale
shared float factors[ROWS > 1 ? ROWS : 1];
float only_factor = 1; // where there is one row

// Sixteens of weights that an invocation takes at a time, a unit: two of a block of 32, or four.
const uint PARTS = DTYPE_B == Q4_K || DTYPE_B == Q5_K || DTYPE_B == Q6_K ? 4 : 2;
const uint UNITS = INNER / 16 / PARTS;      // of a row

// Where sixteen number i of a row lies: those that neighbors meet at the same time lie side by side.
uint slot_of(const uint i) {
    uint unit = i / PARTS, part = i % PARTS;
    if (DTYPE_B == Q4_K || DTYPE_B == Q5_K) part = 2 * (part % 2) + part / 2; /* nibbles, then bytes */
    if (DTYPE_B == Q6_K) {
        unit = i / 16 * 4 + i % 16 / 8 * 2 + i % 2;
        part = i % 8 / 2;
    }
    return part * UNITS + unit;
}

// Rows are rounded by fours, which neighbors make sixteens of: little code, for it is fetched anew by each
// dispatch and takes longer than what it does. They are taken as they are before the norm's factor, which
// changes no rounding and comes at the end (PLAIN_FACTOR), or with all of it.
const bool PLAIN_FACTOR = KIND == NORM_RMS && !BIASED, TOGETHER = LANES >= 4;
const uint AT_ONCE = ROUNDS < 4 ? ROUNDS : 4;

shared uint quarter[TOGETHER ? 1 : gl_WorkGroupSize.x];

// What the four neighbors of a sixteen have: the most, the sum.
uvec4 of_neighbors(const uint x) {
    uint id = gl_LocalInvocationID.x, first = id & ~3u;
    barrier();
    quarter[id] = x;
    barrier();
    return uvec4(quarter[first], quarter[first + 1], quarter[first + 2], quarter[first + 3]);
}
uint most_of_sixteen(uint x) {
    if (TOGETHER) {
        x = max(x, subgroupShuffleXor(x, 1));
        return max(x, subgroupShuffleXor(x, 2));
    }
    uvec4 all = of_neighbors(x);
    return max(max(all.x, all.y), max(all.z, all.w));
}
int sum_of_sixteen(int x) {
    if (TOGETHER) {
        x += subgroupShuffleXor(x, 1);
        return x + subgroupShuffleXor(x, 2);
    }
    ivec4 all = ivec4(of_neighbors(uint(x)));
    return all.x + all.y + (all.z + all.w);
}
// Four numbers of a sixteen as bytes, and its size and sum as `sizes` has them; all invocations come here.
uint rounded_four(const vec4 x, out vec2 size) {
    uvec4 bits = floatBitsToUint(x) & 0x7fffffffu; /* as bits NaN is above all */
    float one = uintBitsToFloat(most_of_sixteen(max(max(bits.x, bits.y), max(bits.z, bits.w)))) / 127;
    precise vec4 q = x * (one > 0 ? 1 / one : 0);
    q = q + 12582912; /* rounds to even, the number in the lowest bits, which takes less than converting */
    uvec4 b = floatBitsToUint(q) & 0xff;
    uint bytes = b.x | b.y << 8 | b.z << 16 | b.w << 24;
    int whole = sum_of_sixteen(dotPacked4x8EXT(int(bytes), 0x01010101));
    size = vec2(one, one * float(whole));
    return bytes;
}
// Four numbers of a row, `four` counted in fours.
void take_four(const uint row, const uint four, const vec4 x) {
    vec2 size;
    uint bytes = rounded_four(x, size);
    if (four >= FOURS) return;
    uint place = row * (INNER / 16) + slot_of(four / 4);
    quants[place][four & 3] = bytes;
    if (four % 4 == 0) sizes[place] = size;
}
// The rows as the product before left them: bytes of all, and behind them sizes.
void take_left(const uint at) {
    const uint each = INNER / 16;
    for (uint i = gl_LocalInvocationID.x; i < ROWS * each; i += gl_WorkGroupSize.x) {
        uint size = at + ROWS * INNER / 4 + 2 * i, place = i / each * each + slot_of(i % each);
        quants[place] = w1.d[at / 4 + i];
        sizes[place] = uintBitsToFloat(uvec2(b1.d[size], b1.d[size + 1]));
    }
    if (ROWS > 1 && gl_LocalInvocationID.x < ROWS) factors[gl_LocalInvocationID.x] = 1;
    barrier();
}
// Leaves the workgroup's results so: of experts, behind those of experts before.
void leave_results() {
    barrier();
    uint four = gl_LocalInvocationID.x, place = (gl_WorkGroupID.z * P_n + left_first) / 4 + four;
    uint size = P_left + gl_NumWorkGroups.z * P_n / 4 + place / 4 * 2;
    bool own = left_first + 4 * four < left_end;
    vec4 x = vec4(0);
    vec2 scaled;
    if (own)
        for (uint j = 0; j < 4; j++) x[j] = left[4 * four + j];
    uint bytes = rounded_four(x, scaled);
    if (!own) return;
    b5.d[P_left + place] = bytes;
    if (four % 4 > 0) return;
    b5.d[size] = floatBitsToUint(scaled.x);
    b5.d[size + 1] = floatBitsToUint(scaled.y);
}
// Which columns are the workgroup's where they are to be left.
void share_columns(inout uint first, inout uint step, inout uint columns) {
    if (!LEFT) return;
    const uint unit = max(TAKES, 16);
    uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y, units = (P_n + unit - 1) / unit;
    uint each = (units + groups - 1) / groups * unit;
    first = left_first = group_index() * each;
    columns = left_end = min(P_n, left_first + each);
    step = TAKES;
}
// A row; the sum of the squares of `factor` times its numbers before the weights (PLAIN_FACTOR).
float take_fours(const uint row, const uint from, const vec2 mean, const float factor) {
    float sum = 0;
    for (uint first = gl_LocalInvocationID.x; first - gl_LocalInvocationID.x < FOURS;
         first += AT_ONCE * gl_WorkGroupSize.x) {
        vec4 x[AT_ONCE];
        [[unroll]] for (uint i = 0; i < AT_ONCE; i++) { /* all on their way before the first is needed */
            uint four = first + i * gl_WorkGroupSize.x;
            x[i] = vec4(0);
            if (four >= FOURS) continue;
            source s;
            if (HELD > 0) s = held[i];
            else s = source_at(row, from, 4 * four);
            if (!PLAIN_FACTOR) {
                x[i] = normalized(s, mean, factor);
                continue;
            }
            vec4 plain = factor * plain_of(s);
            sum += dot(plain, plain);
            x[i] = WEIGHTED ? plain * s.weight : plain;
        }
        [[dont_unroll]] for (uint i = 0; i < AT_ONCE; i++) {
            take_four(row, first + i * gl_WorkGroupSize.x, x[0]);
            [[unroll]] for (uint j = 1; j < AT_ONCE; j++) x[j - 1] = x[j];
        }
    }
    return sum;
}
void take_quants(const uint at) {
    vec2 mean;
    float factor;
    if (TAKEN) {
        take_left(at);
        return;
    }
    for (uint row = 0; row < ROWS; row++) {
        uint from = at + row * P_row.y;
        float last = 1;
        mean = vec2(0);
        factor = 1;
        if (ROWS > 1) hold_row(row, from);
        take_other(row, from);
        if (MOMENTS) take_moments(row, from, mean, factor);
        else if (KIND == NORM_LAYER) mean = mean_of(row, from);
        if (KIND != 0 && !PLAIN_FACTOR && !MOMENTS) factor = norm_factor(SUM_SQUARES, row, from, mean);
        float size = 1;
        float squares = take_fours(row, from, mean, factor);
        if (PLAIN_FACTOR) {
            squares = sum_of_all(squares) / float(P_k);
            if (leaves_range(squares, size)) /* written twice: as a loop it would hold up what comes behind */
                squares = sum_of_all(take_fours(row, from, mean, size)) / float(P_k);
            last = factor_of(squares, size, P_epsilon);
            factor = size * last;
        }
        if (ROWS == 1) only_factor = last;
        else if (gl_LocalInvocationID.x == 0) factors[row] = last;
        if (ROWS > 1) row_is_made(row, mean, factor);
    }
    if (ROWS > 1 || !PLAIN_FACTOR) barrier(); /* else the sum of squares had one */
    if (ROWS == 1) row_is_made(0, mean, factor); /* while others go on */
}
// ---- weights ----

// What an invocation fetches of a unit, as it lies: words, and sixteens of the types that begin at sixteens.
struct pieces {
    uint d[19];
    uvec4 w[5];
};
// Units of Q6_K lie at any even place: subgroups fetch theirs word by word, side by side (STAGED), through
// shared memory, for invocations that fetch their own touch most lines with each word. Other types have fewer
// words, and gain nothing. Where units are those of several experts it is as much of a subgroup as has one.
const uint LEFT_OVER = OWN || CHAINED == 1 ? UNITS % LANES : 0;
const uint GROUP = LEFT_OVER == 0 ? LANES : UNITS % 16 == 0 ? 16 : UNITS % 8 == 0 ? 8 : 4;
const uint FETCHED = STAGED == 1 ? (GROUP / 4 * BYTES_Q6_K + 5) / 4 / GROUP + 1 : 1; // words of each
const uint STAGE = GROUP * FETCHED;
shared uint stage[STAGED == 1 ? gl_WorkGroupSize.x / GROUP * STAGE : 1];
uint stage_at; // where a word of the weights lies in it, less its place among them

uint weight_word(const uint i) {
    return STAGED == 1 ? stage[stage_at + i] : WEIGHTS.d[i];
}
// Each part of a unit: weights as bytes, and what dot products and sums of a are multiplied by.
struct weights {
    uvec4 w[4];
    vec2 terms[4];
};

// Sixteen bytes at an even place, in four words and, if that is odd, a fifth.
void take_words_at_even(inout pieces t, const uint to, const uint b) {
    uint i = b >> 2;
    [[unroll]] for (uint j = 0; j < 4; j++) t.d[to + j] = weight_word(i + j);
    t.d[to + 4] = weight_word(i + 3 + (b >> 1 & 1));
}
uvec4 words_at_even(const pieces t, const uint from, const uint b) {
    uvec4 low = uvec4(t.d[from], t.d[from + 1], t.d[from + 2], t.d[from + 3]);
    if ((b >> 1 & 1) == 0) return low;
    return low >> 16 | uvec4(low.yzw, t.d[from + 4]) << 16;
}
float half_of(const uint word, const uint b) {
    return uintBitsToFloat(f32_of_f16(word >> (8 * (b & 2)) & 0xffff));
}
// Bits 0 .. 15 as bit 4 of sixteen bytes.
uvec4 fifths(const uint bits) {
    uvec4 four = uvec4(bits, bits >> 4, bits >> 8, bits >> 12) & 15;
    return (four * 0x00204081u & 0x01010101u) << 4;
}
void take_nibbles(inout weights t, const uint to, const uvec4 w) {
    t.w[to] = w & 0x0f0f0f0f;
    t.w[to + 1] = w >> 4 & 0x0f0f0f0f;
}

// The eight e2m1 of a word: three bits of a nibble for 0 1 2 3 4 6 8 12, twice its size, and a sign. As bytes
// that are never negative, that and 12: the low nibbles' and the high ones'.
uvec2 twelve_and_e2m1(const uint w) {
    const uint ones = 0x11111111, top = (w >> 2 & ones) * 15, four = ones << 2 | (w & ones) << 1;
    const uint size = (w & 0x33333333 & ~top) | (four + (four & (w >> 1 & ones) * 15) & top);
    const uvec2 sizes = uvec2(size, size >> 4) & 0x0f0f0f0f, signs = uvec2(w >> 3, w >> 7) & 0x01010101;
    return 0x0c0c0c0c + sizes - ((sizes & signs * 255) << 1);
}

// Unit `unit` of the row at byte `row`.
pieces pieces_of(const uint row, const uint unit) {
    pieces t;
    switch (DTYPE_B) {
    case Q8_0: {
        uint b = row + unit * BYTES_Q8_0;
        take_words_at_even(t, 0, b + 2);
        take_words_at_even(t, 5, b + 18);
        t.d[10] = weight_word(b >> 2);
        break;
    }
    case Q4_0: case Q4_1: case Q5_0: case Q5_1: {
        uint i = (row + unit * block_bytes(DTYPE_B)) >> 2;
        [[unroll]] for (uint j = 0; j < (DTYPE_B == Q4_0 || DTYPE_B == Q4_1 ? 5 : 6); j++)
            t.d[j] = weight_word(i + j);
        break;
    }
    case MXFP4: {
        uint i = (row + unit * BYTES_MXFP4) >> 2;
        [[unroll]] for (uint j = 0; j < 5; j++) t.d[j] = weight_word(i + j);
        break;
    }
    case Q4_K: case Q5_K: {
        uint head = (row + unit / 4 * block_bytes(DTYPE_B)) >> 4, own = head + 2 * (unit % 4);
        t.w[0] = WIDE_WEIGHTS.d[head];
        [[unroll]] for (uint h = 0; h < 2; h++) {
            t.w[1 + h] = WIDE_WEIGHTS.d[own + (DTYPE_B == Q4_K ? 1 : 3) + h];
            if (DTYPE_B == Q5_K) t.w[3 + h] = WIDE_WEIGHTS.d[head + 1 + h];
        }
        break;
    }
    case Q6_K: {
        uint b = row + unit / 4 * BYTES_Q6_K, part = unit % 4 / 2, h = unit & 1, scales = b + 192 + 8 * part;
        take_words_at_even(t, 0, b + 64 * part + 16 * h);
        take_words_at_even(t, 5, b + 64 * part + 16 * h + 32);
        take_words_at_even(t, 10, b + 128 + 32 * part + 16 * h);
        t.d[15] = weight_word(scales >> 2);
        t.d[16] = weight_word((scales >> 2) + 1);
        t.d[17] = weight_word((scales >> 2) + 1 + (scales >> 1 & 1));
        t.d[18] = weight_word((b + 208) >> 2);
        break;
    }
    }
    return t;
}
// The words of a group's units from `unit` on, of a row.
pieces words_from(const uint row, const uint unit) {
    pieces t;
    uint first = (row + unit / 4 * BYTES_Q6_K) >> 2, last = (row + UNITS * BYTES_Q6_K / 4 - 1) >> 2;
    [[unroll]] for (uint j = 0; j < FETCHED; j++)
        t.d[j] = WEIGHTS.d[min(first + gl_LocalInvocationID.x % GROUP + GROUP * j, last)];
    return t;
}
// What an invocation fetches for its unit, and that unit's pieces of it.
pieces fetched_of(const uint row, const uint unit) {
    if (STAGED == 1) return words_from(row, unit & ~(GROUP - 1));
    return pieces_of(row, unit);
}
// Puts what a subgroup has fetched of a column where each invocation finds its unit's words: the next column
// is on its way before this one is looked at.
void put_stage(const pieces fetched, const uint row, const uint unit) {
    uint id = gl_LocalInvocationID.x, to = id / GROUP * STAGE;
    subgroupBarrier();
    [[unroll]] for (uint j = 0; j < FETCHED; j++) stage[to + id % GROUP + GROUP * j] = fetched.d[j];
    subgroupBarrier();
    stage_at = to - ((row + (unit & ~(GROUP - 1)) / 4 * BYTES_Q6_K) >> 2);
}
// What they mean.
weights weights_of(const pieces d, const uint row, const uint unit) {
    weights t;
    switch (DTYPE_B) {
    case Q8_0: {
        uint b = row + unit * BYTES_Q8_0;
        t.w[0] = words_at_even(d, 0, b + 2);
        t.w[1] = words_at_even(d, 5, b + 18);
        t.terms[0] = t.terms[1] = vec2(half_of(d.d[10], b), 0);
        break;
    }
    case Q4_0: case Q4_1: case Q5_0: case Q5_1: {
        bool five = DTYPE_B == Q5_0 || DTYPE_B == Q5_1, low = DTYPE_B == Q4_1 || DTYPE_B == Q5_1;
        uint odd = (row + unit * block_bytes(DTYPE_B)) >> 1 & 1, last = five ? 5 : 4, at = five ? 1 : 0;
        uint w[6]; /* from the block's first byte on, the last word perhaps half */
        [[unroll]] for (uint j = 0; j < 6; j++) {
            uint here = d.d[min(j, last)], next = d.d[min(j + 1, last)];
            w[j] = odd == 0 ? here : here >> 16 | (j < last ? next << 16 : 0);
        }
        float scale = uintBitsToFloat(f32_of_f16(w[0] & 0xffff)),
              least = uintBitsToFloat(f32_of_f16(w[0] >> 16));
        uvec4 q;
        [[unroll]] for (uint j = 0; j < 4; j++)
            q[j] = low ? w[at + 1 + j] : w[at + j] >> 16 | w[at + j + 1] << 16;
        take_nibbles(t, 0, q);
        t.terms[0] = t.terms[1] = vec2(scale, low ? -least : (five ? 16 : 8) * scale);
        if (five) {
            uint bits = low ? w[1] : w[0] >> 16 | w[1] << 16;
            t.w[0] |= fifths(bits);
            t.w[1] |= fifths(bits >> 16);
        }
        break;
    }
    case MXFP4: {
        uint b = row + unit * BYTES_MXFP4, from = 8 * (b & 3), e = d.d[0] >> from & 0xff;
        [[unroll]] for (uint j = 0; j < 4; j++) {
            uvec2 both = twelve_and_e2m1(from == 24 ? d.d[j + 1]
                                                    : d.d[j] >> (from + 8) | d.d[j + 1] << (24 - from));
            t.w[0][j] = both.x;
            t.w[1][j] = both.y;
        }
        t.terms[0] = t.terms[1] = uintBitsToFloat(e < 2 ? 0x200000u << e : (e - 1) << 23) * vec2(1, 12);
        break;
    }
    case Q4_K: case Q5_K: {
        uint part = unit % 4;
        vec4 s = two_scales(d.w[0], part);
        [[unroll]] for (uint h = 0; h < 2; h++) {
            take_nibbles(t, 2 * h, d.w[1 + h]);
            if (DTYPE_B == Q5_K) {
                uvec4 high = d.w[3 + h] >> (2 * part);
                t.w[2 * h] |= (high & 0x01010101) << 4;
                t.w[2 * h + 1] |= (high >> 1 & 0x01010101) << 4;
            }
            t.terms[2 * h] = s.xz;
            t.terms[2 * h + 1] = s.yw;
        }
        break;
    }
    case Q6_K: {
        uint b = row + unit / 4 * BYTES_Q6_K, h = unit & 1, odd = (b + 192) >> 1 & 1;
        uvec4 low = words_at_even(d, 0, b), next = words_at_even(d, 5, b), high = words_at_even(d, 10, b);
        uvec2 scales = odd == 0 ? uvec2(d.d[15], d.d[16])
                                : uvec2(d.d[15] >> 16 | d.d[16] << 16, d.d[16] >> 16 | d.d[17] << 16);
        float scale = half_of(d.d[18], b + 208);
        t.w[0] = (low & 0x0f0f0f0f) | (high & 0x03030303) << 4;
        t.w[1] = (next & 0x0f0f0f0f) | (high & 0x0c0c0c0c) << 2;
        t.w[2] = (low >> 4 & 0x0f0f0f0f) | (high & 0x30303030);
        t.w[3] = (next >> 4 & 0x0f0f0f0f) | (high >> 2 & 0x30303030);
        [[unroll]] for (uint j = 0; j < PARTS; j++) {
            int own = int(scales[j / 2] << (24 - 16 * (j & 1) - 8 * h)) >> 24;
            t.terms[j] = scale * float(own) * vec2(1, 32);
        }
        break;
    }
    }
    return t;
}
int dot_of(const uvec4 x, const uvec4 y) {
    int sum = 0;
    [[unroll]] for (uint j = 0; j < 4; j++) sum += dotPacked4x8EXT(int(x[j]), int(y[j]));
    return sum;
}

// Where a row's units are no multiple of a team, its columns are taken one behind the other (CHAINED), as
// those of a row's experts are: all but the last of its turns have a unit for each invocation. Units of all
// that is one behind the other, and columns that an invocation meets in a turn.
const uint ALL = OWN ? ROWS * UNITS : CHAINED == 1 ? COLUMNS * UNITS : UNITS;
const uint MET = CHAINED == 1 ? 1 : COLUMNS;
// Where column j, or the one that unit `i` of all is of, begins.
uint place_in_team(const uint b, const uint first, const uint team, const uint j, const uint i) {
    return place_of_b(b, first, team, CHAINED == 1 ? min(i / UNITS, COLUMNS - 1) : j);
}

// What an invocation fetches for part `i` of a column.
pieces fetched_part(const uint place, const uint i) {
    return fetched_of(column_of_part(place, i, UNITS), part_in_row(i, UNITS));
}

// Whether an invocation meets the same numbers of a in each column: they stay in registers then.
const bool KEPT = STAGED == 1 && ROWS == 1 && CHAINED == 0 && UNITS <= TEAM;

void main() {
    uint columns = P_n, id = gl_LocalInvocationID.x, lane = id % TEAM, team = id / TEAM;
    uint first = group_index() * TAKES, step = gl_NumWorkGroups.x * gl_NumWorkGroups.y * TAKES;
    share_columns(first, step, columns);
    uvec4 at = batch_places(gl_WorkGroupID.z);
    take_experts(at);
    await_results();
    if (ROWS == 1 && !TAKEN) hold_row(0, at.y); /* before weights, which take longer */
    if (CHOSEN_EXPERTS) at = at_expert(at, chosen_expert(at.y));
    uint place[MET];
    pieces next[MET]; /* on their way while what comes before is computed */
    [[unroll]] for (uint j = 0; j < MET; j++) {
        place[j] = place_in_team(at.z, first, team, j, lane);
        if (STAGED == 1 || lane < ALL)
            next[j] = fetched_of(first_column_of_part(at, place[j], lane, UNITS), part_in_row(lane, UNITS));
    }
    fetch_parts();
    take_quants(at.y);
    uvec4 own_quants[PARTS];
    vec2 own_sizes[PARTS];
    if (KEPT)
        [[unroll]] for (uint i = 0; i < PARTS; i++) {
            uint slot = i * UNITS + min(lane, UNITS - 1);
            own_quants[i] = quants[slot];
            own_sizes[i] = sizes[slot];
        }
    for (; first < columns; first += step) {
        float sum[OUTPUTS];
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] = 0;
        fetch_added(at, first);
        for (uint chunk = 0; chunk < ALL; chunk += TEAM) {
            uint unit = chunk + lane, following = unit + TEAM;
            bool ends = chunk + TEAM >= ALL, more = !ends || first + step < columns;
            weights t[MET];
            uint own = row_of_part(unit, UNITS), part = part_in_row(unit, UNITS), b[MET];
            [[unroll]] for (uint j = 0; j < MET; j++) {
                b[j] = column_of_part(place[j], unit, UNITS);
                if (STAGED == 1) put_stage(next[j], b[j], part);
                else t[j] = weights_of(next[j], b[j], part);
            }
            if (ends) following = lane;
            [[unroll]] for (uint j = 0; j < MET; j++) {
                if (ends || CHAINED == 1)
                    place[j] = place_in_team(at.z, ends ? first + step : first, team, j, following);
                if (more && (STAGED == 1 || following < ALL))
                    next[j] = fetched_part(place[j], following);
            }
            if (STAGED == 1)
                [[unroll]] for (uint j = 0; j < MET; j++)
                    t[j] = weights_of(pieces_of(b[j], part), b[j], part);
            if ((OWN || CHAINED == 1) && unit < ALL) {
                float more = 0;
                [[unroll]] for (uint i = 0; i < PARTS; i++) {
                    uint slot = (OWN ? own * (INNER / 16) : 0) + i * UNITS + part;
                    vec2 s = sizes[slot];
                    more += t[0].terms[i].x * s.x * float(dot_of(t[0].w[i], quants[slot])) -
                            t[0].terms[i].y * s.y;
                }
                [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] += i == own ? more : 0;
            } else if (CHAINED == 0 && unit < ALL)
                [[unroll]] for (uint row = 0; row < ROWS; row++)
                    [[unroll]] for (uint i = 0; i < PARTS; i++) {
                        uint slot = row * (INNER / 16) + i * UNITS + unit;
                        vec2 s = KEPT ? own_sizes[i] : sizes[slot];
                        uvec4 q = KEPT ? own_quants[i] : quants[slot];
                        [[unroll]] for (uint j = 0; j < MET; j++)
                            sum[row * COLUMNS + j] += t[j].terms[i].x * s.x * float(dot_of(t[j].w[i], q)) -
                                                      t[j].terms[i].y * s.y;
                    }
        }
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++)
            sum[i] *= ROWS == 1 ? only_factor : factors[i / COLUMNS];
        write_results(at, first, sum);
    }
    if (ROUNDS_LEFT) leave_results();
    leave_parts();
    write_normal(at.y);
    route_results(at.x);
    give_choice();
}
