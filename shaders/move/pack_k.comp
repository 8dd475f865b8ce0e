// pack_k.comp - pack.glsl for the K types, whose scales are searched for, to the least weighted squared
// error: an invocation takes a run of 16 or 32 numbers, eight or sixteen of them share a block. Names are
// those of cpu/product/quantize.c: number = scale code - least, the scale is d times a code, least dmin
// times one above low; or (ZERO) least is the scale times ZERO.
#version 450
#extension GL_GOOGLE_include_directive : require
#define ONLY_F64
#include "move/pack.glsl"
#include "math/math_double.glsl"

const bool SIX = DTYPE == Q6_K;
const uint RUN = SIX ? 16 : 32, RUNS = SIX ? 16 : 8, ROUNDS = SIX ? 1 : 2, GRIDS = SIX ? 8 : 6;
const uint BYTES = SIX ? BYTES_Q6_K : DTYPE == Q5_K ? BYTES_Q5_K : BYTES_Q4_K;
#define ZERO (SIX ? 32.0 : 0.0)
#define MOST (SIX ? 63.0 : DTYPE == Q5_K ? 31.0 : 15.0)
#define LOWEST (SIX ? -128.0 : 0.0)
#define HIGHEST (SIX ? 127.0 : 63.0)
#define FIRST (SIX ? -2.7 : -1.3)
#define BY (SIX ? 0.45 : 0.35)

shared float numbers[THREADS], curves[THREADS];               // of a run each
shared double terms[5][THREADS];
shared uint codes[THREADS * 8];                          // four a word

uint run = gl_LocalInvocationID.x % RUNS, first_run = gl_LocalInvocationID.x - run;
float x[32], weight[32], low = 0, range, w = 0, wx = 0, wxx = 0;
float scale = 0, least = 0, error = INF;            // the best so far
float d = 0, dmin = 0, scale_code = 0, least_code = 0, cost;

// Sums over the run with codes q: of weight q, weight q q, weight q x; the square of the largest distance.
struct Sums {
    float wq, wqq, wqx, worst;
};
Sums sums_of(const float inverse, const float shift) {
    precise float wq = 0, wqq = 0, wqx = 0, v, t, off;
    float worst = 0;
    for (uint i = 0; i < RUN; i++) {
        v = x[i] * inverse;
        v = v + shift;
        float q = nearest_code(v, MOST);
        t = weight[i] * q;
        off = q - v;
        off = off * off;
        wq = wq + t;
        wqq = wqq + t * q;
        wqx = wqx + t * x[i];
        worst = off > worst ? off : worst;
    }
    return Sums(wq, wqq, wqx, worst);
}
vec2 inverted(const float scale, const float least) { /* what codes are the nearest to: x times x plus y */
    float inverse = scale != 0 ? quotient(1, scale) : 0;
    precise float shift = least * inverse;
    return vec2(inverse, SIX ? ZERO : shift);
}
Sums sums_with(const float scale, const float least) {
    vec2 v = inverted(scale, least);
    return sums_of(v.x, v.y);
}
float cost_of(const float scale, const float least) {
    vec2 by = inverted(scale, least);
    precise float sum = 0, off, v;
    float worst = 0;
    for (uint i = 0; i < RUN; i++) {
        v = x[i] * by.x;
        v = v + by.y;
        off = scale * nearest_code(v, MOST);
        off = off - least;
        off = off - x[i];
        off = off * off;
        sum = sum + weight[i] * off;
        worst = off > worst ? off : worst;
    }
    sum = sum + w / float(RUN) * worst;
    return sum;
}

void begin(const uint from) {
    precise float squares = 0;
    float high = number_at(from);
    for (uint i = 0; i < RUN; i++) {
        float y = number_at(from + i);
        squares = squares + y * y;
        low = y < low ? y : low;
        high = y > high ? y : high;
    }
    squares = squares / float(RUN);
    float size = root(squares);
    precise float across = high - low, t, u;
    range = !SIX ? across : high > -low ? high : low;
    if (SIX) low = 0;
    for (uint i = 0; i < RUN; i++) {
        float y = number_at(from + i);
        t = size + size_of(y);
        weight[i] = t;
        u = y - low;
        x[i] = u;
        u = t * u;
        t = w + t;
        w = t;
        t = wx + u;
        wx = t;
        u = u * x[i];
        u = wxx + u;
        wxx = u;
    }
}
// Scale and least number by least squares for given codes, kept if they are the best so far.
void fit(const Sums s) {
    precise float fresh, below, t, u;
    if (!(s.wqq > 0)) return;
    if (SIX) {
        t = s.wqq - 2 * ZERO * s.wq;
        t = t + ZERO * ZERO * w;
        if (!(t > 0)) return;
        u = s.wqx - ZERO * wx;
        fresh = quotient(u, t);
        below = ZERO * fresh;
    } else {
        t = w * s.wqq - s.wq * s.wq;
        u = 1e-5 * w * s.wqq;
        if (t > u) {
            u = w * s.wqx - s.wq * wx;
            fresh = quotient(u, t);
        } else {
            fresh = 0;
        }
        t = fresh * s.wq - wx;
        below = quotient(t, w);
        if (!(fresh > 0) || below < low) { /* the block's least number may not be negative */
            below = low;
            t = s.wqx + below * s.wq;
            fresh = quotient(t, s.wqq);
        }
        if (!(fresh > 0)) return;
    }
    t = wxx + fresh * (fresh * s.wqq - 2 * (s.wqx + below * s.wq)) + below * (below * w + 2 * wx);
    u = w / float(RUN) * s.worst * fresh * fresh;
    t = t + u;
    if (!(t < error)) return;
    error = t;
    scale = fresh;
    least = below;
}
// Grids a little coarser and finer than the range asks for, which begin at the smallest number or end at
// the largest.
void search() {
    for (uint grid = 0; grid < GRIDS; grid++)
        for (uint end = 0; end < (SIX ? 1 : 2); end++) {
            precise float finer = FIRST + BY * float(grid), levels = SIX ? -ZERO - finer : MOST + finer;
            float inverse = range != 0 ? quotient(levels, range) : 0;
            fit(sums_of(inverse, SIX ? ZERO : end == 1 ? -finer : 0));
        }
    fit(sums_with(scale, least));
}

float nearest_between(const float v, const float lowest, const float highest) {
    precise float above = v - lowest, r = nearest_code(above, highest - lowest) + lowest;
    return r;
}
float as_half(const float v) {
    return uintBitsToFloat(f32_of_f16(half_of(v)));
}
// The f16 unit of which the runs' numbers are nearest to whole multiples within bounds; all come here.
float common_unit(const float number, const float curve, const float lowest, const float highest) {
    barrier();
    numbers[gl_LocalInvocationID.x] = number;
    curves[gl_LocalInvocationID.x] = curve;
    barrier();
    float largest = 0, best = INF, unit = 0, outward = lowest < 0 ? -1 : 1;
    for (uint i = first_run; i < first_run + RUNS; i++)
        largest = size_of(numbers[i]) > size_of(largest) ? numbers[i] : largest;
    if (largest == 0) return 0;
    for (int step = -2; step < 14; step++) {
        precise float levels = (lowest < 0 ? lowest : highest) - 0.5 * outward * float(step), sum = 0;
        float inverse = quotient(levels, largest), u = quotient(1, inverse);
        for (uint i = first_run; i < first_run + RUNS; i++) {
            precise float v = numbers[i] * inverse, off = u * nearest_between(v, lowest, highest);
            off = off - numbers[i];
            off = off * off;
            sum = sum + curves[i] * off;
        }
        unit = sum < best ? u : unit;
        best = sum < best ? sum : best;
    }
    float r = as_half(unit);
    if (r != 0) return r;
    return unit < 0 ? -5.9604645e-8 : 5.9604645e-8; /* the smallest f16 makes more than 0 does */
}

// Scale and least number above low for codes of them.
vec2 scales_of(const float scale_code, const float least_code) {
    precise float s = d * scale_code, t = SIX ? ZERO * s : dmin * least_code + low;
    return vec2(s, t);
}
float least_of(const float scale, const Sums s) {
    precise float t = scale * s.wq - wx;
    t = w > 0 ? quotient(t, w) - low : 0;
    return t > 0 ? t : 0;
}
float least_code_of(const float least) {
    return dmin > 0 ? nearest_code(quotient(least, dmin), 63) : 0;
}
void find_units() {
    search();
    Sums s = sums_with(scale, least);
    precise float about = SIX ? ZERO * (2 * s.wq - ZERO * w) : s.wq * s.wq, curve;
    if (!SIX) about = quotient(about, w);
    curve = w > 0 ? s.wqq - about : 0;
    d = common_unit(scale, curve, LOWEST, HIGHEST);
    scale_code = d != 0 ? nearest_between(quotient(scale, d), LOWEST, HIGHEST) : 0;
    if (SIX) return;
    float above = least_of(scales_of(scale_code, 0).x, s);
    dmin = common_unit(above, w, 0, 63);
    least_code = least_code_of(above);
}
// Tries the neighbors of the scale code, with the least number that goes with each.
void try_neighbors() {
    float from = scale_code, least_from = least_code;
    for (int by = -1; by <= 1; by++) {
        float code = nearest_between(from + float(by), LOWEST, HIGHEST), below = 0;
        vec2 t = scales_of(code, least_from);
        if (!SIX) {
            below = least_code_of(least_of(t.x, sums_with(t.x, t.y)));
            t = scales_of(code, below);
        }
        float fresh = cost_of(t.x, t.y);
        if (!(fresh < cost)) continue;
        cost = fresh;
        scale_code = code;
        least_code = below;
    }
}
float cost_of_block(const float own) {
    barrier();
    numbers[gl_LocalInvocationID.x] = own;
    barrier();
    precise float sum = 0;
    for (uint i = first_run; i < first_run + RUNS; i++) sum = sum + numbers[i];
    return sum;
}
float f32_of_double(const double v) {
    return uintBitsToFloat(f32_of_f64(bits_of(v), false));
}
// d and dmin by least squares for all codes as they are, if that makes it better; all come here.
void refit() {
    uint id = gl_LocalInvocationID.x;
    vec2 t = scales_of(scale_code, least_code);
    Sums s = sums_with(t.x, t.y);
    precise double a = scale_code, v = least_code, z = ZERO, u, sum[5];
    u = double(s.wqq) - z * (2 * double(s.wq) - z * double(w));
    u = a * a * u;
    terms[0][id] = u;
    u = a * v * double(s.wq);
    terms[1][id] = u;
    u = v * v * double(w);
    terms[2][id] = u;
    u = double(s.wqx) + double(low) * double(s.wq) - z * double(wx);
    u = a * u;
    terms[3][id] = u;
    u = v * (double(wx) + double(low) * double(w));
    terms[4][id] = u;
    float now = cost_of_block(cost);
    for (uint k = 0; k < 5; k++) {
        sum[k] = 0;
        for (uint i = first_run; i < first_run + RUNS; i++) sum[k] = sum[k] + terms[k][i];
    }
    precise double uu = sum[0], uv = sum[1], vv = sum[2], ux = sum[3], vx = sum[4], both = uu * vv - uv * uv,
                   least_both = 1e-9lf * uu * vv, up, down;
    bool two = both > least_both;
    float old_d = d, old_dmin = dmin;
    up = two ? ux * vv - vx * uv : ux;
    d = as_half(f32_of_double(quotient(up, two ? both : uu)));
    down = ux * uv - vx * uu;
    if (two) dmin = as_half(f32_of_double(quotient(down, both)));
    t = scales_of(scale_code, least_code);
    float fresh = cost_of(t.x, t.y), all = cost_of_block(fresh);
    if (uu > 0 && dmin >= 0 && all < now) {
        cost = fresh;
        return;
    }
    d = old_d;
    dmin = old_dmin;
}

uint code_word(const uint i) {
    return codes[first_run * 8 + i];
}
uint low_bits(const uint i) {
    return code_word(i) & 0x0f0f0f0fu;
}
uint high_bits(const uint i) {
    return code_word(i) >> 4 & 0x03030303u;
}
// Codes of four runs, as bytes.
uvec4 whole_numbers(const uint i) {
    return uvec4(ivec4(numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]));
}
uint bytes_word(const uvec4 v) {
    uvec4 b = v & 0xff;
    return b.x | b.y << 8 | b.z << 16 | b.w << 24;
}
void write_six(const uint to, const bool found) {
    for (uint k = run; k < 48; k += RUNS) {
        uint i = k < 32 ? k / 16 * 32 + k % 16 : (k - 32) / 8 * 32 + k % 8;
        uint word = low_bits(i) | low_bits(i + 16) << 4;
        if (k >= 32)
            word = high_bits(i) | high_bits(i + 8) << 2 | high_bits(i + 16) << 4 | high_bits(i + 24) << 6;
        put_word(to + 4 * k, found ? word : 0);
    }
    if (run < 4) put_word(to + 192 + 4 * run, found ? bytes_word(whole_numbers(first_run + 4 * run)) : 0);
    if (run == 0) put_half(to + 208, found ? half_of(d) : HALF_NAN);
}
void write_four_or_five(const uint to, const bool found) {
    uint low_at = to + BYTES - 128;
    for (uint k = run; k < 32; k += RUNS) {
        uint i = k / 8 * 16 + k % 8;
        put_word(low_at + 4 * k, found ? low_bits(i) | low_bits(i + 8) << 4 : 0);
    }
    if (DTYPE == Q5_K) {
        uint word = 0;
        for (uint k = 0; k < 8; k++) word |= high_bits(8 * k + run) << k;
        put_word(to + 16 + 4 * run, found ? word : 0);
    }
    if (run != 0) return;
    uvec4 s, t, l, m; /* codes of scales and of least numbers, of the first four runs and of the others */
    for (uint i = 0; i < 4; i++) {
        s[i] = uint(numbers[first_run + i]);
        t[i] = uint(numbers[first_run + 4 + i]);
        l[i] = uint(curves[first_run + i]);
        m[i] = uint(curves[first_run + 4 + i]);
    }
    put_word(to, found ? half_of(d) | half_of(dmin) << 16 : HALF_NAN);
    put_word(to + 4, found ? bytes_word(s | t >> 4 << 6) : 0);
    put_word(to + 8, found ? bytes_word(l | m >> 4 << 6) : 0);
    put_word(to + 12, found ? bytes_word((t & 15) | (m & 15) << 4) : 0);
}

void main() {
    uint block = group_index() * (THREADS / RUNS) + gl_LocalInvocationID.x / RUNS;
    bool there = block < P_blocks;
    uint from = P_from + 256 * (there ? block : 0) + RUN * run;
    float wrong = 0;
    for (uint i = 0; i < RUN; i++) {
        float y = number_at(from + i);
        if (!is_finite(y) || y < -1e9 || y > 1e9) wrong = 1;
    }
    bool found = cost_of_block(wrong) == 0;
    begin(from);
    find_units();
    vec2 t = scales_of(scale_code, least_code);
    cost = cost_of(t.x, t.y);
    for (uint round = 0; round < ROUNDS; round++) {
        try_neighbors();
        refit();
    }
    t = scales_of(scale_code, least_code);
    vec2 by = inverted(t.x, t.y);
    uint word = 0;
    for (uint i = 0; i < RUN; i++) {
        precise float v = x[i] * by.x;
        v = v + by.y;
        word |= uint(nearest_code(v, MOST)) << (8 * (i & 3));
        if ((i & 3) != 3) continue;
        codes[first_run * 8 + (run * RUN + i) / 4] = word;
        word = 0;
    }
    barrier();
    numbers[gl_LocalInvocationID.x] = scale_code;
    curves[gl_LocalInvocationID.x] = least_code;
    barrier();
    if (!there) return;
    found = found && is_finite(d) && is_finite(dmin);
    if (SIX) write_six(P_to + BYTES * block, found);
    else write_four_or_five(P_to + BYTES * block, found);
}
