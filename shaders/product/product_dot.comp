// product_dot.comp - products with few rows of a and columns of a block type, by integer dot products: each
// workgroup rounds its rows of a to 8 bits, with a scale for every 16, and keeps them in shared memory.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_integer_dot_product : require
#include "product/product_few.glsl"

shared uvec4 quants[ROWS * INNER / 16];     // sixteen numbers of a
shared vec2 sizes[ROWS * INNER / 16];       // of those: the scale, the sum times the scale
shared float factors[ROWS];

// Rounds sixteen numbers a time of a row: as they are before the norm's factor, which changes no rounding and
// comes at the end (PLAIN_FACTOR), or with all of it. The sum of their squares before the weights.
const bool PLAIN_FACTOR = KIND == NORM_RMS && !BIASED;

vec4 sixteens_part(const uint row, const uint from, const uint k, const float mean, const float factor,
                   inout float sum) {
    if (!PLAIN_FACTOR) return normalized(row, from, k, mean, factor);
    vec4 x = factor * plain_at(row, from, k);
    sum += dot(x, x);
    return x * norm_weight(k);
}
float take_sixteens(const uint row, const uint from, const float mean, const float factor) {
    float sum = 0;
    for (uint unit = gl_LocalInvocationID.x; 16 * unit < INNER; unit += gl_WorkGroupSize.x) {
        uint place = row * (INNER / 16) + unit;
        vec4 x[4];
        uvec4 most = uvec4(0), packed;
        ivec4 whole = ivec4(0);
        [[unroll]] for (uint i = 0; i < 4; i++)
            x[i] = sixteens_part(row, from, 16 * unit + 4 * i, mean, factor, sum);
        [[unroll]] for (uint i = 0; i < 4; i++)
            most = max(most, floatBitsToUint(x[i]) & 0x7fffffffu); /* as bits NaN is above all */
        float one = uintBitsToFloat(max(max(most.x, most.y), max(most.z, most.w))) / 127;
        float inverse = one > 0 ? 1 / one : 0;
        [[unroll]] for (uint i = 0; i < 4; i++) {
            ivec4 q = ivec4(roundEven(x[i] * inverse));
            uvec4 b = uvec4(q) & 0xff;
            packed[i] = b.x | b.y << 8 | b.z << 16 | b.w << 24;
            whole += q;
        }
        quants[place] = packed;
        sizes[place] = vec2(one, one * float(whole.x + whole.y + (whole.z + whole.w)));
    }
    return sum;
}
void take_quants(const uint at) {
    for (uint row = 0; row < ROWS; row++) {
        uint from = at + row * P_row.y;
        float mean = 0, factor = 1, last = 1;
        take_other(row);
        if (KIND == NORM_LAYER) {
            mean = mean_of(row, from);
            factor = norm_factor(false, row, from, mean, sum_of_squares(false, row, from, mean, 1));
        } else if (KIND == NORM_RMS && !PLAIN_FACTOR) {
            factor = norm_factor(false, row, from, 0, sum_of_squares(false, row, from, 0, 1));
        }
        float sum = take_sixteens(row, from, mean, factor);
        if (PLAIN_FACTOR) {
            last = norm_factor(false, row, from, 0, sum);
            bool odd = last < 1e-18 || last > 1e12; /* numbers near the ends of the range are taken at size 1 */
            if (odd) take_sixteens(row, from, 0, last);
            if (odd) last = 1;
        }
        if (gl_LocalInvocationID.x == 0) factors[row] = last;
    }
    barrier();
}
// Norms that are asked for, when the sums are done: others wait for them, but not these columns.
void write_normals(const uint at) {
    if (!WRITTEN || group_index() != 0) return;
    for (uint row = 0; row < ROWS; row++) {
        uint from = at + row * P_row.y;
        float mean = 0;
        take_other(row);
        if (KIND == NORM_LAYER) mean = mean_of(row, from);
        float factor = norm_factor(false, row, from, mean, sum_of_squares(false, row, from, mean, 1));
        write_normalized(row, from, mean, factor);
    }
}

// ---- weights: an invocation takes 64 of a column at a time, a team a chunk of them ----

// Parts of sixteen weights that belong together, in a unit: one, two that are the nibbles of the same bytes,
// or four. Types whose blocks do not begin at sixteens are brought into shared memory in sixteens, as they
// lie, and taken from there; the others are taken as they are.
const bool STAGED = DTYPE_B != Q4_K && DTYPE_B != Q5_K;
const uint PARTS = DTYPE_B == Q8_0 ? 1 : STAGED && DTYPE_B != Q6_K ? 2 : 4, UNITS = 4 / PARTS;
const uint BLOCK = PARTS == 4 ? 256 : 32;
const uint BYTES = DTYPE_B == Q6_K   ? BYTES_Q6_K
                   : DTYPE_B == Q8_0 ? BYTES_Q8_0
                   : DTYPE_B == Q4_0 ? BYTES_Q4_0
                   : DTYPE_B == Q4_1 ? BYTES_Q4_1
                   : DTYPE_B == Q5_0 ? BYTES_Q5_0
                                     : BYTES_Q5_1;
const uint CHUNK = TEAM * 64 / BLOCK * BYTES;               // bytes
const uint ROOM = STAGED ? (CHUNK + 30) / 16 : 1;           // sixteens that these lie in, at most
const uint PIECES = STAGED ? (ROOM + TEAM - 1) / TEAM : DTYPE_B == Q4_K ? 3 : 5;

shared uvec4 staged[STAGED ? TEAMS * COLUMNS * ROOM : 1];

// What an invocation fetches of a chunk.
struct pieces {
    uvec4 d[5]; /* the most that PIECES is */
};
pieces pieces_of(const uint row, const uint chunk, const uint lane) {
    pieces t;
    if (STAGED) {
        uint first = (row + chunk * CHUNK) >> 4, end = (row + INNER / BLOCK * BYTES + 15) >> 4;
        [[unroll]] for (uint i = 0; i < PIECES; i++) {
            uint own = lane + TEAM * i;
            if (own < ROOM && first + own < end) t.d[i] = WIDE_WEIGHTS.d[first + own];
        }
        return t;
    }
    uint unit = chunk * TEAM + lane, part = unit % 4, head = (row >> 4) + unit / 4 * (DTYPE_B == Q4_K ? 9 : 11);
    if (64 * unit >= INNER) return t;
    t.d[0] = WIDE_WEIGHTS.d[head];
    [[unroll]] for (uint h = 0; h < 2; h++)
        t.d[1 + h] = WIDE_WEIGHTS.d[head + (DTYPE_B == Q4_K ? 1 : 3) + 2 * part + h];
    [[unroll]] for (uint h = 0; h < PIECES - 3; h++) t.d[3 + h] = WIDE_WEIGHTS.d[head + 1 + h];
    return t;
}
void stage(const pieces t, const uint at, const uint lane) {
    [[unroll]] for (uint i = 0; i < PIECES; i++)
        if (lane + TEAM * i < ROOM) staged[at + lane + TEAM * i] = t.d[i];
}

// Each part: weights as bytes, which sixteen of a they meet, what dot products and sums of a are multiplied
// by.
struct weights {
    uvec4 w[4];
    uint place[4];
    vec2 terms[4];
};

// Of what is staged from sixteen `at` on: words, halves and sixteen bytes at an even place.
uint staged_word(const uint at, const uint i) {
    return staged[at + (i >> 2)][i & 3];
}
uint staged_half(const uint at, const uint b) {
    return staged_word(at, b >> 2) >> (8 * (b & 2)) & 0xffff;
}
float staged_float(const uint at, const uint b) {
    return uintBitsToFloat(f32_of_f16(staged_half(at, b)));
}
uint staged_word_at_even(const uint at, const uint b) {
    return staged_half(at, b) | staged_half(at, b + 2) << 16;
}
uvec4 staged_sixteen(const uint at, const uint b) {
    uint i = b >> 2;
    uvec4 low = uvec4(staged_word(at, i), staged_word(at, i + 1), staged_word(at, i + 2), staged_word(at, i + 3));
    if ((b >> 1 & 1) == 0) return low;
    return low >> 16 | uvec4(low.yzw, staged_word(at, i + 4)) << 16;
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

// Unit `unit`: of a staged chunk, whose byte 0 is byte `b` of the sixteens from `at` on, and in which the unit
// is number `own`; or what was fetched for it.
weights weights_of(const pieces d, const uint at, const uint b, const uint own, const uint unit) {
    weights t;
    [[unroll]] for (uint i = 0; i < PARTS; i++) t.place[i] = PARTS * unit + i;
    switch (DTYPE_B) {
    case Q8_0: {
        uint first = b + own / 2 * BYTES_Q8_0;
        t.w[0] = staged_sixteen(at, first + 2 + 16 * (own & 1));
        t.terms[0] = vec2(staged_float(at, first), 0);
        break;
    }
    case Q4_0: case Q4_1: case Q5_0: case Q5_1: {
        bool five = DTYPE_B == Q5_0 || DTYPE_B == Q5_1, low = DTYPE_B == Q4_1 || DTYPE_B == Q5_1;
        uint first = b + own * BYTES, rest = first + (low ? 4 : 2);
        float scale = staged_float(at, first);
        take_nibbles(t, 0, staged_sixteen(at, rest + (five ? 4 : 0)));
        t.terms[0] = t.terms[1] =
            vec2(scale, low ? -staged_float(at, first + 2) : (five ? 16 : 8) * scale);
        if (five) {
            uint bits = staged_word_at_even(at, rest);
            t.w[0] |= fifths(bits);
            t.w[1] |= fifths(bits >> 16);
        }
        break;
    }
    case Q4_K: case Q5_K: {
        uint part = unit % 4;
        vec4 s = two_scales(d.d[0], part);
        [[unroll]] for (uint h = 0; h < 2; h++) {
            take_nibbles(t, 2 * h, d.d[1 + h]);
            if (DTYPE_B == Q5_K) {
                uvec4 high = d.d[PIECES - 2 + h] >> (2 * part);
                t.w[2 * h] |= (high & 0x01010101) << 4;
                t.w[2 * h + 1] |= (high >> 1 & 0x01010101) << 4;
            }
            t.place[2 * h] = 4 * unit + h;
            t.place[2 * h + 1] = 4 * unit + h + 2;
            t.terms[2 * h] = s.xz;
            t.terms[2 * h + 1] = s.yw;
        }
        break;
    }
    case Q6_K: {
        uint first = b + own / 4 * BYTES_Q6_K, part = own % 4 / 2, h = own & 1;
        uvec4 low = staged_sixteen(at, first + 64 * part + 16 * h),
              next = staged_sixteen(at, first + 64 * part + 16 * h + 32),
              high = staged_sixteen(at, first + 128 + 32 * part + 16 * h);
        uint scales = first + 192 + 8 * part;
        float scale = staged_float(at, first + 208);
        t.w[0] = (low & 0x0f0f0f0f) | (high & 0x03030303) << 4;
        t.w[1] = (next & 0x0f0f0f0f) | (high & 0x0c0c0c0c) << 2;
        t.w[2] = (low >> 4 & 0x0f0f0f0f) | (high & 0x30303030);
        t.w[3] = (next >> 4 & 0x0f0f0f0f) | (high >> 2 & 0x30303030);
        [[unroll]] for (uint j = 0; j < PARTS; j++) {
            int one = int(staged_half(at, scales + 2 * j) << (24 - 8 * h)) >> 24;
            t.place[j] = unit / 4 * 16 + 8 * part + 2 * j + h;
            t.terms[j] = scale * float(one) * vec2(1, 32);
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

void wait_for_team() {
    if (ALONE) subgroupBarrier();
    else barrier();
}

void main() {
    uint columns = P_n, id = gl_LocalInvocationID.x, lane = id % TEAM, team = id / TEAM;
    uint first = group_index() * TAKES, step = gl_NumWorkGroups.x * gl_NumWorkGroups.y * TAKES;
    uint units = INNER / 16 / PARTS, chunks = (units + TEAM * UNITS - 1) / (TEAM * UNITS);
    uvec4 at = batch_places(gl_WorkGroupID.z);
    uint place[COLUMNS];
    pieces next[COLUMNS]; /* on their way while what comes before is computed */
    [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
        place[j] = place_of_b(at.z, first, team, j);
        next[j] = pieces_of(place[j], 0, lane);
    }
    take_quants(at.y);
    for (; first < columns; first += step) {
        float sum[OUTPUTS];
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] = 0;
        for (uint chunk = 0; chunk < chunks; chunk++) {
            bool ends = chunk + 1 == chunks, more = !ends || first + step < columns;
            pieces here[COLUMNS];
            uint begin[COLUMNS];
            [[unroll]] for (uint j = 0; j < COLUMNS; j++) {
                begin[j] = place[j] + chunk * CHUNK & 15;
                here[j] = next[j];
                if (STAGED) stage(here[j], (team * COLUMNS + j) * ROOM, lane);
                if (ends) place[j] = place_of_b(at.z, first + step, team, j);
                if (more) next[j] = pieces_of(place[j], ends ? 0 : chunk + 1, lane);
            }
            if (STAGED) wait_for_team();
            [[unroll]] for (uint u = 0; u < UNITS; u++) {
                uint own = lane + TEAM * u, unit = chunk * TEAM * UNITS + own;
                if (unit >= units) continue;
                weights t[COLUMNS];
                [[unroll]] for (uint j = 0; j < COLUMNS; j++)
                    t[j] = weights_of(here[j], (team * COLUMNS + j) * ROOM, begin[j], own, unit);
                [[unroll]] for (uint row = 0; row < ROWS; row++)
                    [[unroll]] for (uint i = 0; i < PARTS; i++) {
                        uint sixteen = row * (INNER / 16) + t[0].place[i];
                        vec2 s = sizes[sixteen];
                        uvec4 q = quants[sixteen];
                        [[unroll]] for (uint j = 0; j < COLUMNS; j++)
                            sum[row * COLUMNS + j] += t[j].terms[i].x * s.x * float(dot_of(t[j].w[i], q)) -
                                                      t[j].terms[i].y * s.y;
                    }
            }
            if (STAGED) wait_for_team();
        }
        [[unroll]] for (uint i = 0; i < OUTPUTS; i++) sum[i] *= factors[i / COLUMNS];
        write_outputs(at, first, sum);
    }
    write_normals(at.y);
}
