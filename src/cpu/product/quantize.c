/* Floats into block types: kernels->quantize.
 * Q4_0 to Q8_0 are ggml's formulas, byte for byte. Of the K types only the layout is given: their scales are
 * searched for, to the least weighted squared error. cpu/move/copy.c calls them with rows of whole blocks. */

/* Every product and sum is rounded by itself, as the formulas say, also where a processor could fuse the two:
 * the same numbers give the same bytes everywhere (but not if clang is told -ffp-contract=fast). */
#if defined(__clang__)
#define OXI_ROUND_EACH _Pragma("clang fp contract(off)")
#else
#define OXI_ROUND_EACH
#endif
#ifdef OXI_OPTIMIZES
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

/* What lies side by side: loops over it become vectors, and sums stay apart till the end. */
enum { OXI_RUNS = 8 };

static void oxi_put_half(uint8_t *p, float number) {
    uint16_t half = oxi_f32_to_f16(number);
    p[0] = (uint8_t)half;
    p[1] = (uint8_t)(half >> 8);
}

static float oxi_as_half(float number) {
    return oxi_f16_to_f32(oxi_f32_to_f16(number));
}

/* The nearest whole number of 0 to most; NaN gives 0. */
static float oxi_nearest_code(float v, float most) {
    v = v > 0 ? v : 0;
    v = v < most ? v : most;
    return (float)(int)(v + 0.5f);
}

/* Smallest and largest of n numbers (a multiple of 8); false if one is NaN or infinite. */
static bool oxi_find_range(int64_t n, const float *x, float *low, float *high) {
    OXI_ROUND_EACH
    float least[OXI_RUNS], most[OXI_RUNS], wrong[OXI_RUNS] = {0}, total = 0;
    memcpy(least, x, sizeof least);
    memcpy(most, x, sizeof most);
    for (int64_t i = 0; i < n; i += OXI_RUNS)
        for (int j = 0; j < OXI_RUNS; j++) {
            float v = x[i + j];
            least[j] = v < least[j] ? v : least[j];
            most[j] = v > most[j] ? v : most[j];
            wrong[j] += v * 0;
        }
    *low = least[0];
    *high = most[0];
    for (int j = 0; j < OXI_RUNS; j++) {
        *low = least[j] < *low ? least[j] : *low;
        *high = most[j] > *high ? most[j] : *high;
        total += wrong[j];
    }
    return total == 0;
}

/* ---- Q4_0 Q4_1 Q5_0 Q5_1 Q8_0: quantize_row_..._ref of ggml-quants.c ----------------------------------- */

/* Codes of 4 or 5 bits in nibbles: i and i + 16 share a byte; the fifth bits come before. */
static void oxi_store_codes_32(const uint8_t *code, int bits, uint8_t *p) {
    if (bits == 5) {
        memset(p, 0, 4);
        for (int i = 0; i < 32; i++) p[i / 8] |= (uint8_t)(code[i] >> 4 << i % 8);
        p += 4;
    }
    for (int i = 0; i < 16; i++) p[i] = (uint8_t)((code[i] & 15) | code[i + 16] << 4);
}

/* The first number that equals v: which zero, and which sign of the largest magnitude. */
static float oxi_first_equal(const float *x, float v, bool any_sign) {
    for (int i = 0; i < 32; i++)
        if (x[i] == v || (any_sign && x[i] == -v)) return x[i];
    return v;
}

/* A block of 32 codes. Centred: number = d * (code - half), and the number of the largest magnitude is code
 * 0; else number = d * code + least. NaN or an infinity makes d NaN, and so the whole block. */
static void oxi_quantize_32(const float *x, int bits, bool centered, uint8_t *p) {
    OXI_ROUND_EACH
    uint8_t code[32];
    float low, high, d, least = 0, most = (float)((1 << bits) - 1), half = (float)(1 << (bits - 1));
    bool finite = oxi_find_range(32, x, &low, &high);
    if (centered) {
        float largest = high > -low ? high : low;
        if (high == -low) largest = high == 0 ? 0 : oxi_first_equal(x, high, true);
        d = largest / -half;
    } else {
        d = (high - low) / most;
        least = oxi_first_equal(x, low, false);
    }
    float inverse = d != 0 ? 1 / d : 0, shift = centered ? half + 0.5f : 0.5f;
    for (int i = 0; i < 32; i++) {
        float v = (x[i] - least) * inverse;
        v = v + shift;
        v = v > 0 ? v : 0;
        v = v < most ? v : most;
        code[i] = (uint8_t)(int)v;
    }
    if (!finite) memset(code, 0, sizeof code);
    oxi_put_half(p, finite ? d : NAN);
    if (!centered) oxi_put_half(p + 2, finite ? least : NAN);
    oxi_store_codes_32(code, bits, p + (centered ? 2 : 4));
}

/* Halves are rounded away from zero. */
static void oxi_quantize_q8_0(const float *x, uint8_t *p) {
    OXI_ROUND_EACH
    float low, high;
    bool finite = oxi_find_range(32, x, &low, &high);
    float d = (high > -low ? high : fabsf(low)) / 127, inverse = finite && d != 0 ? 1 / d : 0;
    oxi_put_half(p, finite ? d : NAN);
    for (int i = 0; i < 32; i++) {
        float v = finite ? x[i] * inverse : 0;
        v = v > -127 ? v : -127; /* 1 / d is infinite when d is next to nothing */
        v = v < 127 ? v : 127;
        int whole = (int)v;
        float rest = v - (float)whole;
        p[2 + i] = (uint8_t)(whole + (rest >= 0.5f) - (rest <= -0.5f));
    }
}

/* ---- K types: 256 numbers in runs of 16 or 32, each run with a scale of 6 or 8 bits -------------------- */

/* Q4_K and Q5_K: number = d * scale * code - dmin * least. Q6_K: number = d * scale * (code - zero). */
typedef struct oxi_k_plan {
    int bits, bytes, run, parts; /* bits of a code, bytes of a block, numbers of a run; parts of eight runs */
    float zero;                  /* 0: there are least numbers */
    float lowest, highest;       /* scale codes */
    int grids;                   /* that are tried for a run */
    float first, by;             /* codes that the first is finer than asked for, and each next one */
    int rounds;    /* of trying other scale codes */
    bool weighted; /* 256 numbers are followed by their weights, and errors are sums by these alone */
} oxi_k_plan;

static const oxi_k_plan oxi_plan_q4_k = {4, OXI_BYTES_OX_Q4_K, 32, 1, 0, 0, 63, 6, -1.3f, 0.35f, 2, false};
static const oxi_k_plan oxi_plan_q5_k = {5, OXI_BYTES_OX_Q5_K, 32, 1, 0, 0, 63, 6, -1.3f, 0.35f, 2, false};
static const oxi_k_plan oxi_plan_q6_k = {6,   OXI_BYTES_OX_Q6_K, 16, 2,     32, -128,
                                         127, 8,                 -2.7f, 0.45f, 1,  false};

/* Eight runs side by side: number i of run j is x[i][j], above the run's `low` (its smallest number or 0),
 * so that x = scale * code - least; this `least` is low more than the block's. With a zero low is 0, and
 * least is scale * zero. */
typedef struct oxi_runs {
    const oxi_k_plan *plan;
    float most; /* codes are 0 to most */
    float x[32][OXI_RUNS], weight[32][OXI_RUNS];
    float low[OXI_RUNS], range[OXI_RUNS]; /* range: the largest x; with a zero the one of largest magnitude */
    float w[OXI_RUNS], wx[OXI_RUNS], wxx[OXI_RUNS];          /* sums of weight, weight * x, weight * x * x */
    float mean[OXI_RUNS]; /* weight, or 0: by it the largest error counts once more */
    float scale[OXI_RUNS], least[OXI_RUNS], error[OXI_RUNS]; /* the best so far */
} oxi_runs;

/* The same sums with codes q; worst: the square of the largest distance between a code and what it rounds. */
typedef struct oxi_code_sums {
    float wq[OXI_RUNS], wqq[OXI_RUNS], wqx[OXI_RUNS], worst[OXI_RUNS];
} oxi_code_sums;

/* A number's weight is its magnitude and the run's root mean square, as it is for ggml. */
static void oxi_runs_begin(oxi_runs *r, const oxi_k_plan *plan, const float *x) {
    OXI_ROUND_EACH
    int count = plan->run;
    memset(r, 0, sizeof *r);
    r->plan = plan;
    r->most = (float)((1 << plan->bits) - 1);
    for (int j = 0; j < OXI_RUNS; j++, x += count) {
        float squares = 0, low = 0, high = x[0];
        for (int i = 0; i < count; i++) {
            squares += x[i] * x[i];
            low = x[i] < low ? x[i] : low;
            high = x[i] > high ? x[i] : high;
        }
        float size = sqrtf(squares / (float)count);
        r->low[j] = plan->zero > 0 ? 0 : low;
        r->range[j] = plan->zero == 0 ? high - low : high > -low ? high : low;
        for (int i = 0; i < count; i++) {
            r->weight[i][j] = plan->weighted ? x[i + 256] : size + fabsf(x[i]);
            r->x[i][j] = x[i] - r->low[j];
        }
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < OXI_RUNS; j++) {
            float wx = r->weight[i][j] * r->x[i][j];
            r->w[j] += r->weight[i][j];
            r->wx[j] += wx;
            r->wxx[j] += wx * r->x[i][j];
        }
    for (int j = 0; j < OXI_RUNS; j++) r->mean[j] = plan->weighted ? 0 : r->w[j] / (float)count;
}

/* A code is what is nearest to x * inverse + shift. */
static void oxi_runs_sum(const oxi_runs *r, const float *inverse, const float *shift, oxi_code_sums *out) {
    OXI_ROUND_EACH
    oxi_code_sums s;
    memset(&s, 0, sizeof s);
    for (int i = 0; i < r->plan->run; i++)
        for (int j = 0; j < OXI_RUNS; j++) {
            float v = r->x[i][j] * inverse[j] + shift[j], q = oxi_nearest_code(v, r->most);
            float wq = r->weight[i][j] * q, off = (q - v) * (q - v);
            s.wq[j] += wq;
            s.wqq[j] += wq * q;
            s.wqx[j] += wq * r->x[i][j];
            s.worst[j] = off > s.worst[j] ? off : s.worst[j];
        }
    *out = s;
}

static void oxi_runs_invert(const oxi_runs *r, const float *scale, const float *least, float *inverse,
                            float *shift) {
    OXI_ROUND_EACH
    for (int j = 0; j < OXI_RUNS; j++) {
        inverse[j] = scale[j] != 0 ? 1 / scale[j] : 0;
        shift[j] = r->plan->zero > 0 ? r->plan->zero : least[j] * inverse[j];
    }
}

/* What a run's numbers cost with the codes nearest to them: weighted squares of what is off, and once more,
 * at the mean weight (unless weights are given), the largest. */
static void oxi_runs_cost(const oxi_runs *r, const float *scale, const float *least, float *cost) {
    OXI_ROUND_EACH
    float inverse[OXI_RUNS], shift[OXI_RUNS], sum[OXI_RUNS] = {0}, worst[OXI_RUNS] = {0};
    oxi_runs_invert(r, scale, least, inverse, shift);
    for (int i = 0; i < r->plan->run; i++)
        for (int j = 0; j < OXI_RUNS; j++) {
            float q = oxi_nearest_code(r->x[i][j] * inverse[j] + shift[j], r->most);
            float off = scale[j] * q - least[j] - r->x[i][j];
            off = off * off;
            sum[j] += r->weight[i][j] * off;
            worst[j] = off > worst[j] ? off : worst[j];
        }
    for (int j = 0; j < OXI_RUNS; j++) cost[j] = sum[j] + r->mean[j] * worst[j];
}

/* Run j: scale and least number by least squares for given codes, kept if they are the best so far. */
static void oxi_runs_fit(oxi_runs *r, const oxi_code_sums *s, int j) {
    OXI_ROUND_EACH
    float w = r->w[j], wx = r->wx[j], wq = s->wq[j], wqq = s->wqq[j], wqx = s->wqx[j];
    float z = r->plan->zero, scale, least;
    if (!(wqq > 0)) return;
    if (z > 0) {
        float around = wqq - 2 * z * wq + z * z * w; /* sum of weight * (q - z)^2 */
        if (!(around > 0)) return;
        scale = (wqx - z * wx) / around;
        least = z * scale;
    } else {
        float both = w * wqq - wq * wq; /* next to nothing when all codes are the same */
        scale = both > 1e-5f * w * wqq ? (w * wqx - wq * wx) / both : 0;
        least = (scale * wq - wx) / w;
        if (!(scale > 0) || least < r->low[j]) { /* the block's least number may not be negative */
            least = r->low[j];
            scale = (wqx + least * wq) / wqq;
        }
        if (!(scale > 0)) return;
    }
    float error = r->wxx[j] + scale * (scale * wqq - 2 * (wqx + least * wq)) + least * (least * w + 2 * wx);
    error += r->mean[j] * s->worst[j] * scale * scale;
    if (!(error < r->error[j])) return;
    r->error[j] = error;
    r->scale[j] = scale;
    r->least[j] = least;
}

/* Grids a little coarser and finer than a run's range asks for, which begin at its smallest number or end
 * at its largest: fits to the codes of each, and then once more to those of the best. */
static void oxi_runs_search(oxi_runs *r) {
    OXI_ROUND_EACH
    const oxi_k_plan *plan = r->plan;
    float inverse[OXI_RUNS], shift[OXI_RUNS];
    oxi_code_sums sums;
    for (int j = 0; j < OXI_RUNS; j++) r->error[j] = INFINITY;
    for (int grid = 0; grid < plan->grids; grid++)
        for (int end = 0; end < (plan->zero > 0 ? 1 : 2); end++) {
            float finer = plan->first + plan->by * (float)grid;
            float levels = plan->zero > 0 ? -plan->zero - finer : r->most + finer; /* more codes below zero */
            for (int j = 0; j < OXI_RUNS; j++) {
                inverse[j] = r->range[j] != 0 ? levels / r->range[j] : 0;
                shift[j] = plan->zero > 0 ? plan->zero : end ? -finer : 0;
            }
            oxi_runs_sum(r, inverse, shift, &sums);
            for (int j = 0; j < OXI_RUNS; j++) oxi_runs_fit(r, &sums, j);
        }
    oxi_runs_invert(r, r->scale, r->least, inverse, shift);
    oxi_runs_sum(r, inverse, shift, &sums);
    for (int j = 0; j < OXI_RUNS; j++) oxi_runs_fit(r, &sums, j);
}

/* ---- what the runs of a block share -------------------------------------------------------------------- */

/* A run's scale is d times its code, its least number dmin times its. */
typedef struct oxi_k_block {
    oxi_runs runs[2];
    float d, dmin;
    float scale_code[2][OXI_RUNS], least_code[2][OXI_RUNS], cost[2][OXI_RUNS];
} oxi_k_block;

static float oxi_nearest_between(float v, float lowest, float highest) {
    OXI_ROUND_EACH
    return oxi_nearest_code(v - lowest, highest - lowest) + lowest;
}

/* The f16 unit of which numbers are nearest to whole multiples within bounds; curve[i] is how much it matters
 * for number i. Tried are units of which the largest number is the last multiple, or a little more, or less.
 */
static float oxi_common_unit(int n, const float *number, const float *curve, float lowest, float highest) {
    OXI_ROUND_EACH
    float largest = 0, best = INFINITY, unit = 0, outward = lowest < 0 ? -1.0f : 1.0f;
    for (int i = 0; i < n; i++) largest = fabsf(number[i]) > fabsf(largest) ? number[i] : largest;
    if (largest == 0) return 0;
    for (int step = -2; step < 14; step++) {
        float inverse = ((lowest < 0 ? lowest : highest) - 0.5f * outward * (float)step) / largest;
        float u = 1 / inverse, cost = 0;
        for (int i = 0; i < n; i++) {
            float off = u * oxi_nearest_between(number[i] * inverse, lowest, highest) - number[i];
            cost += curve[i] * (off * off);
        }
        unit = cost < best ? u : unit;
        best = cost < best ? cost : best;
    }
    float half = oxi_as_half(unit);
    if (half != 0) return half;
    return unit < 0 ? -5.9604645e-8f : 5.9604645e-8f; /* the smallest f16 makes more than 0 does */
}

/* scale and least (above low) of a part's runs for codes. */
static void oxi_k_scales(const oxi_k_block *b, int part, const float *scale_code, const float *least_code,
                         float *scale, float *least) {
    OXI_ROUND_EACH
    const oxi_runs *r = &b->runs[part];
    float zero = r->plan->zero;
    for (int j = 0; j < OXI_RUNS; j++) {
        scale[j] = b->d * scale_code[j];
        least[j] = zero > 0 ? zero * scale[j] : b->dmin * least_code[j] + r->low[j];
    }
}

static float oxi_k_cost(const oxi_k_block *b, float cost[2][OXI_RUNS]) {
    OXI_ROUND_EACH
    float scale[OXI_RUNS], least[OXI_RUNS], sum = 0;
    for (int part = 0; part < b->runs[0].plan->parts; part++) {
        oxi_k_scales(b, part, b->scale_code[part], b->least_code[part], scale, least);
        oxi_runs_cost(&b->runs[part], scale, least, cost[part]);
        for (int j = 0; j < OXI_RUNS; j++) sum += cost[part][j];
    }
    return sum;
}

/* The block's least numbers that go best with scales and with the codes that `sums` are of. */
static void oxi_k_least(const oxi_runs *r, const float *scale, const oxi_code_sums *sums, float *least) {
    OXI_ROUND_EACH
    for (int j = 0; j < OXI_RUNS; j++) {
        float best = r->w[j] > 0 ? (scale[j] * sums->wq[j] - r->wx[j]) / r->w[j] - r->low[j] : 0;
        least[j] = best > 0 ? best : 0;
    }
}

static void oxi_k_least_codes(const oxi_k_block *b, const float *least, float *code) {
    OXI_ROUND_EACH
    for (int j = 0; j < OXI_RUNS; j++)
        code[j] = b->dmin > 0 ? oxi_nearest_code(least[j] / b->dmin, b->runs[0].plan->highest) : 0;
}

/* From the runs' own scales to codes of common units. */
static void oxi_k_begin(oxi_k_block *b) {
    OXI_ROUND_EACH
    const oxi_k_plan *plan = b->runs[0].plan;
    float number[2 * OXI_RUNS] = {0}, curve[2 * OXI_RUNS] = {0}, inverse[OXI_RUNS], shift[OXI_RUNS];
    oxi_code_sums sums[2];
    for (int part = 0; part < plan->parts; part++) {
        oxi_runs *r = &b->runs[part];
        oxi_code_sums *s = &sums[part];
        oxi_runs_search(r);
        oxi_runs_invert(r, r->scale, r->least, inverse, shift);
        oxi_runs_sum(r, inverse, shift, s);
        for (int j = 0; j < OXI_RUNS; j++) {
            float wq = s->wq[j], w = r->w[j], z = plan->zero;
            float about = z > 0 ? z * (2 * wq - z * w) : wq * wq / w;
            number[OXI_RUNS * part + j] = r->scale[j];
            curve[OXI_RUNS * part + j] = w > 0 ? s->wqq[j] - about : 0;
        }
    }
    b->d = oxi_common_unit(OXI_RUNS * plan->parts, number, curve, plan->lowest, plan->highest);
    for (int i = 0; i < OXI_RUNS * plan->parts; i++)
        b->scale_code[i / OXI_RUNS][i % OXI_RUNS] =
            b->d != 0 ? oxi_nearest_between(number[i] / b->d, plan->lowest, plan->highest) : 0;
    if (plan->zero > 0) return;
    for (int part = 0, at = 0; part < plan->parts; part++, at += OXI_RUNS) {
        oxi_k_scales(b, part, b->scale_code[part], b->least_code[part], inverse, shift);
        oxi_k_least(&b->runs[part], inverse, &sums[part], number + at);
        memcpy(curve + at, b->runs[part].w, sizeof inverse);
    }
    b->dmin = oxi_common_unit(OXI_RUNS * plan->parts, number, curve, 0, plan->highest);
    for (int part = 0; part < plan->parts; part++)
        oxi_k_least_codes(b, number + OXI_RUNS * part, b->least_code[part]);
}

/* Tries the neighbors of every scale code, with the least numbers that go with them. */
static void oxi_k_step(oxi_k_block *b, int part) {
    OXI_ROUND_EACH
    const oxi_runs *r = &b->runs[part];
    const oxi_k_plan *plan = r->plan;
    float scale[OXI_RUNS], least[OXI_RUNS], cost[OXI_RUNS], code[OXI_RUNS];
    float from[OXI_RUNS], least_from[OXI_RUNS];
    memcpy(from, b->scale_code[part], sizeof from);
    memcpy(least_from, b->least_code[part], sizeof least_from);
    for (int by = -1; by <= 1; by++) {
        float least_code[OXI_RUNS] = {0};
        for (int j = 0; j < OXI_RUNS; j++)
            code[j] = oxi_nearest_between(from[j] + (float)by, plan->lowest, plan->highest);
        oxi_k_scales(b, part, code, least_from, scale, least);
        if (plan->zero == 0) {
            float inverse[OXI_RUNS], shift[OXI_RUNS];
            oxi_code_sums sums;
            oxi_runs_invert(r, scale, least, inverse, shift);
            oxi_runs_sum(r, inverse, shift, &sums);
            oxi_k_least(r, scale, &sums, least);
            oxi_k_least_codes(b, least, least_code);
            oxi_k_scales(b, part, code, least_code, scale, least);
        }
        oxi_runs_cost(r, scale, least, cost);
        for (int j = 0; j < OXI_RUNS; j++) {
            if (!(cost[j] < b->cost[part][j])) continue;
            b->cost[part][j] = cost[j];
            b->scale_code[part][j] = code[j];
            b->least_code[part][j] = least_code[j];
        }
    }
}

/* d and dmin by least squares for all codes as they are, if that makes it better. */
static void oxi_k_refit(oxi_k_block *b) {
    OXI_ROUND_EACH
    double uu = 0, uv = 0, vv = 0, ux = 0, vx = 0; /* number = d * u - dmin * v */
    float now = 0, scale[OXI_RUNS], least[OXI_RUNS], inverse[OXI_RUNS], shift[OXI_RUNS], cost[2][OXI_RUNS];
    for (int part = 0; part < b->runs[0].plan->parts; part++) {
        const oxi_runs *r = &b->runs[part];
        oxi_code_sums s;
        oxi_k_scales(b, part, b->scale_code[part], b->least_code[part], scale, least);
        oxi_runs_invert(r, scale, least, inverse, shift);
        oxi_runs_sum(r, inverse, shift, &s);
        for (int j = 0; j < OXI_RUNS; j++) {
            double a = (double)b->scale_code[part][j], v = (double)b->least_code[part][j],
                   z = (double)r->plan->zero;
            double low = (double)r->low[j], w = (double)r->w[j], wx = (double)r->wx[j], wq = (double)s.wq[j];
            uu += a * a * ((double)s.wqq[j] - z * (2 * wq - z * w));
            uv += a * v * wq;
            vv += v * v * w;
            ux += a * ((double)s.wqx[j] + low * wq - z * wx);
            vx += v * (wx + low * w);
            now += b->cost[part][j];
        }
    }
    double both = uu * vv - uv * uv;
    bool two = both > 1e-9 * uu * vv;
    if (!(uu > 0)) return;
    float d = b->d, dmin = b->dmin;
    b->d = oxi_as_half((float)(two ? (ux * vv - vx * uv) / both : ux / uu));
    b->dmin = two ? oxi_as_half((float)((ux * uv - vx * uu) / both)) : dmin;
    if (b->dmin >= 0 && oxi_k_cost(b, cost) < now) {
        memcpy(b->cost, cost, sizeof cost);
        return;
    }
    b->d = d;
    b->dmin = dmin;
}

static void oxi_k_codes(const oxi_k_block *b, uint8_t *code) {
    OXI_ROUND_EACH
    float scale[OXI_RUNS], least[OXI_RUNS], inverse[OXI_RUNS], shift[OXI_RUNS];
    for (int part = 0; part < b->runs[0].plan->parts; part++) {
        const oxi_runs *r = &b->runs[part];
        oxi_k_scales(b, part, b->scale_code[part], b->least_code[part], scale, least);
        oxi_runs_invert(r, scale, least, inverse, shift);
        for (int j = 0; j < OXI_RUNS; j++)
            for (int i = 0; i < r->plan->run; i++)
                *code++ = (uint8_t)(int)oxi_nearest_code(r->x[i][j] * inverse[j] + shift[j], r->most);
    }
}

/* Finds scales and codes for 256 numbers; false if they are not finite, or beyond what f16 scales reach. */
static bool oxi_k_find(const oxi_k_plan *plan, const float *x, oxi_k_block *b, uint8_t *code) {
    float low, high;
    if (!oxi_find_range(256, x, &low, &high) || low < -1e9f || high > 1e9f) return false;
    memset(b, 0, sizeof *b);
    for (int part = 0; part < plan->parts; part++)
        oxi_runs_begin(&b->runs[part], plan, x + part * OXI_RUNS * plan->run);
    oxi_k_begin(b);
    (void)oxi_k_cost(b, b->cost);
    for (int round = 0; round < plan->rounds; round++) {
        for (int part = 0; part < plan->parts; part++) oxi_k_step(b, part);
        oxi_k_refit(b);
    }
    oxi_k_codes(b, code);
    return b->d * 0 == 0 && b->dmin * 0 == 0;
}

/* ---- the K types' layouts ------------------------------------------------------------------------------ */

/* The 6-bit scales and least numbers of q4_k and q5_k: eight each in 12 bytes. */
static void oxi_store_scales(const float *scale_code, const float *least_code, uint8_t *p) {
    for (int j = 0; j < 4; j++) {
        int scale = (int)scale_code[j], least = (int)least_code[j], second = (int)scale_code[j + 4],
            second_least = (int)least_code[j + 4];
        p[j] = (uint8_t)(scale | second >> 4 << 6);
        p[j + 4] = (uint8_t)(least | second_least >> 4 << 6);
        p[j + 8] = (uint8_t)((second & 15) | (second_least & 15) << 4);
    }
}

/* d is NaN, and with it every number of the block, where no scales could be found. */
static void oxi_quantize_q45_k(const oxi_k_plan *plan, const float *x, uint8_t *p) {
    oxi_k_block b;
    uint8_t code[256], *fifth = p + 16, *low = p + plan->bytes - 128;
    memset(p, 0, (size_t)plan->bytes);
    bool found = oxi_k_find(plan, x, &b, code);
    oxi_put_half(p, found ? b.d : NAN);
    if (!found) return;
    oxi_put_half(p + 2, b.dmin);
    oxi_store_scales(b.scale_code[0], b.least_code[0], p + 4);
    for (int i = 0; i < 128; i++) {
        int first = code[i / 32 * 64 + i % 32], second = code[i / 32 * 64 + 32 + i % 32];
        low[i] = (uint8_t)((first & 15) | (second & 15) << 4);
        if (plan->bits == 5) fifth[i % 32] |= (uint8_t)((first >> 4 | second >> 4 << 1) << i / 32 * 2);
    }
}

static void oxi_quantize_q6_k(const oxi_k_plan *plan, const float *x, uint8_t *p) {
    oxi_k_block b;
    uint8_t code[256];
    memset(p, 0, OXI_BYTES_OX_Q6_K);
    bool found = oxi_k_find(plan, x, &b, code);
    oxi_put_half(p + 208, found ? b.d : NAN);
    if (!found) return;
    for (int j = 0; j < 16; j++) p[192 + j] = (uint8_t)(int)b.scale_code[j / 8][j % 8];
    for (int i = 0; i < 128; i++) {
        const uint8_t *c = code + i / 64 * 128 + i % 64;
        p[i] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
    }
    for (int i = 0; i < 64; i++) {
        const uint8_t *c = code + i / 32 * 128 + i % 32;
        p[128 + i] = (uint8_t)(c[0] >> 4 | c[32] >> 4 << 2 | c[64] >> 4 << 4 | c[96] >> 4 << 6);
    }
}

/* ---- rows of blocks ------------------------------------------------------------------------------------ */

#define OXI_EACH_QUANTIZED_TYPE(X) \
    X(q4_0, OX_Q4_0, oxi_quantize_32(x, 4, true, p)) \
    X(q4_1, OX_Q4_1, oxi_quantize_32(x, 4, false, p)) \
    X(q5_0, OX_Q5_0, oxi_quantize_32(x, 5, true, p)) \
    X(q5_1, OX_Q5_1, oxi_quantize_32(x, 5, false, p)) \
    X(q8_0, OX_Q8_0, oxi_quantize_q8_0(x, p)) \
    X(q4_k, OX_Q4_K, oxi_quantize_q45_k(&oxi_plan_q4_k, x, p)) \
    X(q5_k, OX_Q5_K, oxi_quantize_q45_k(&oxi_plan_q5_k, x, p)) \
    X(q6_k, OX_Q6_K, oxi_quantize_q6_k(&oxi_plan_q6_k, x, p))

#define OXI_X(name, dtype, write) \
    static void oxi_quantize_blocks_##name(int64_t n, const float *x, void *blocks) { \
        uint8_t *p = (uint8_t *)blocks; \
        for (; n > 0; n -= OXI_ELEMENTS_##dtype, x += OXI_ELEMENTS_##dtype, p += OXI_BYTES_##dtype) \
            write; \
    }
OXI_EACH_QUANTIZED_TYPE(OXI_X)
#undef OXI_X

static void oxi_fill_quantize(oxi_kernels *k) {
#define OXI_X(name, dtype, write) k->quantize[dtype] = oxi_quantize_blocks_##name;
    OXI_EACH_QUANTIZED_TYPE(OXI_X)
#undef OXI_X
}

#undef OXI_EACH_QUANTIZED_TYPE
#undef OXI_ROUND_EACH
#ifdef OXI_OPTIMIZES
#pragma GCC pop_options
#endif
