/* Blocks of types that the core does not write, and of all types with importance: plans for the core's search
 * of scales (cpu/product/quantize.c), and the layouts. */

/* Writes blocks from numbers x [256], which their weights x[256 .. 511] follow. */
typedef void (*oxi_write_blocks)(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p);

/* A row of the table of writers. */
typedef struct oxi_block_writer {
    ox_dtype dtype;
    float spread; /* weight = importance * sqrt(x^2 + spread * mean of x^2); 0: importance alone */
    oxi_write_blocks write;
    oxi_k_plan plain, weighted; /* plans that hold no bits are for writers that need none */
} oxi_block_writer;

/* ---- weights ------------------------------------------------------------------------------------------- */

/* Weights of numbers without importance: those of the core's K types. */
static void oxi_weigh_plainly(const float *x, float mean, float *weight) {
    const float size = sqrtf(mean);
    for (int i = 0; i < 256; i++) weight[i] = size + fabsf(x[i]);
}

/* The block's largest is 1, and none is next to nothing: fits to one number alone would be anything. */
static void oxi_weights_finish(float *weight) {
    float most = 0;
    for (int i = 0; i < 256; i++) most = weight[i] > most ? weight[i] : most;
    const float scale = most > 0 ? 1 / most : 0, floor = most > 0 ? 1e-4f : 1;
    for (int i = 0; i < 256; i++) weight[i] = weight[i] * scale + floor;
}

/* out [512]: `count` numbers, zeros behind them, and the weights of all. */
static void oxi_weigh(const float *x, const float *importance, int count, float spread, float *out) {
    float squares = 0, most = 0, *weight = out + 256;
    for (int i = 0; i < 256; i++) out[i] = i < count ? x[i] : 0;
    for (int i = 0; i < 256; i++) squares += fabsf(out[i]) < 1e9f ? out[i] * out[i] : 0;
    const float mean = squares / (float)count;
    for (int i = 0; importance && i < count; i++) most = importance[i] > most ? importance[i] : most;
    if (!(most > 0)) {
        oxi_weigh_plainly(out, mean, weight);
    } else {
        for (int i = 0; i < 256; i++) {
            const float share = i < count ? importance[i] / most : 0;
            weight[i] = spread > 0 ? share * sqrtf(spread * mean + out[i] * out[i]) : share;
        }
    }
    for (int i = 0; i < 256; i++) weight[i] = fabsf(out[i]) < 1e9f ? weight[i] : 0;
    oxi_weights_finish(weight);
}

/* ---- Q4_0 Q4_1 Q5_0 Q5_1 with weights: eight blocks of 32 side by side --------------------------------- */

/* Blocks with numbers that are not finite, or too large for f16 scales, are zeros in y [512] and bits of what
 * is returned. */
static unsigned oxi_take_blocks(const float *x, float *y) {
    unsigned bad = 0;
    memcpy(y, x, 512 * sizeof *y);
    for (int b = 0; b < 8; b++) {
        float low, high;
        if (oxi_find_range(32, x + 32 * b, &low, &high) && low > -1e9f && high < 1e9f) continue;
        memset(y + 32 * b, 0, 32 * sizeof *y);
        bad |= 1u << b;
    }
    return bad;
}

/* number = d * code + least, of f16 numbers. */
static void oxi_code_block(const float *x, float d, float least, float most, uint8_t *code) {
    const float inverse = d != 0 ? 1 / d : 0;
    for (int i = 0; i < 32; i++) code[i] = (uint8_t)(int)oxi_nearest_code((x[i] - least) * inverse, most);
}

static void oxi_write_centered(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    float y[512];
    uint8_t code[32];
    oxi_runs r;
    const unsigned bad = oxi_take_blocks(x, y);
    oxi_runs_begin(&r, plan, y);
    oxi_runs_search(&r);
    for (int b = 0; b < blocks; b++, p += plan->bytes) {
        const float d = oxi_as_half(r.scale[b]);
        oxi_code_block(y + 32 * b, d, -plan->zero * d, r.most, code);
        oxi_put_half(p, bad >> b & 1 ? NAN : d);
        oxi_store_codes_32(code, plan->bits, p + 2);
    }
}

/* The least number may have any sign: seen from the middle of its block it is negative, as the search wants
 * it. */
static void oxi_write_above_least(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    float y[512], z[512], middle[8];
    uint8_t code[32];
    oxi_runs r;
    const unsigned bad = oxi_take_blocks(x, y);
    memcpy(z, y, sizeof z);
    for (int b = 0; b < 8; b++) {
        float low, high;
        (void)oxi_find_range(32, y + 32 * b, &low, &high);
        middle[b] = 0.5f * (low + high);
        for (int i = 0; i < 32; i++) z[32 * b + i] -= middle[b];
    }
    oxi_runs_begin(&r, plan, z);
    oxi_runs_search(&r);
    for (int b = 0; b < blocks; b++, p += plan->bytes) {
        const float d = oxi_as_half(r.scale[b]);
        const float least = oxi_as_half(r.low[b] - r.least[b] + middle[b]);
        oxi_code_block(y + 32 * b, d, least, r.most, code);
        oxi_put_half(p, bad >> b & 1 ? NAN : d);
        oxi_put_half(p + 2, bad >> b & 1 ? NAN : least);
        oxi_store_codes_32(code, plan->bits, p + 4);
    }
}

/* ---- K types ------------------------------------------------------------------------------------------- */

static void oxi_write_q45_k(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    (void)blocks;
    oxi_quantize_q45_k(plan, x, p);
}

static void oxi_write_q6_k(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    (void)blocks;
    oxi_quantize_q6_k(plan, x, p);
}

/* The low two bits of 256 codes: those of i, i + 32, i + 64 and i + 96 share a byte. */
static void oxi_store_codes_2(const uint8_t *code, uint8_t *p) {
    for (int i = 0; i < 64; i++) {
        const uint8_t *c = code + i / 32 * 128 + i % 32;
        p[i] = (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
    }
}

static void oxi_write_q2_k(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    oxi_k_block b;
    uint8_t code[256];
    (void)blocks;
    memset(p, 0, (size_t)plan->bytes);
    const bool found = oxi_k_find(plan, x, &b, code);
    oxi_put_half(p + 80, found ? b.d : NAN);
    if (!found) return;
    oxi_put_half(p + 82, b.dmin);
    for (int j = 0; j < 16; j++)
        p[j] = (uint8_t)((int)b.scale_code[j / 8][j % 8] | (int)b.least_code[j / 8][j % 8] << 4);
    oxi_store_codes_2(code, p + 16);
}

static void oxi_write_q3_k(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    oxi_k_block b;
    uint8_t code[256];
    (void)blocks;
    memset(p, 0, (size_t)plan->bytes);
    const bool found = oxi_k_find(plan, x, &b, code);
    oxi_put_half(p + 108, found ? b.d : NAN);
    if (!found) return;
    for (int j = 0; j < 16; j++) {
        const int scale = (int)b.scale_code[j / 8][j % 8] + 32;
        p[96 + j % 8] |= (uint8_t)((scale & 15) << j / 8 * 4);
        p[104 + j % 4] |= (uint8_t)(scale >> 4 << j / 4 * 2);
    }
    for (int i = 0; i < 256; i++) p[i % 32] |= (uint8_t)(code[i] >> 2 << i / 32);
    oxi_store_codes_2(code, p + 32);
}

/* ---- MXFP4: a power of two, and codes of its multiples 0 .5 1 1.5 2 3 4 6 ------------------------------ */

static uint8_t oxi_mxfp4_code(float x, float inverse) {
    const float v = fabsf(x) * inverse; /* in halves */
    const int code = (v > 0.5f) + (v > 1.5f) + (v > 2.5f) + (v > 3.5f) + (v > 5) + (v > 7) + (v > 10);
    return (uint8_t)(code > 0 && x < 0 ? code | 8 : code);
}

/* The weighted square of what is off with half the scale 2^power. */
static float oxi_mxfp4_error(const float *x, const float *weight, int power) {
    const float inverse = ldexpf(1, -power), half = ldexpf(1, power);
    float sum = 0;
    for (int i = 0; i < 32; i++) {
        const float off = half * (float)oxi_table_e2m1[oxi_mxfp4_code(x[i], inverse)] - x[i];
        sum += weight[i] * off * off;
    }
    return sum;
}

/* The scale follows from the largest number; with importance its neighbors are tried as well. */
static void oxi_write_mxfp4(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    for (int b = 0; b < blocks; b++, x += 32, p += OXI_BYTES_OX_MXFP4) {
        float low, high;
        uint8_t code[32] = {0};
        const bool finite = oxi_find_range(32, x, &low, &high);
        const float largest = high > -low ? high : -low;
        int power = finite && largest > 0 ? (int)floorf(log2f(largest)) - 3 : -128;
        if (plan->weighted && power > -126 && power < 125) {
            const float as_is = oxi_mxfp4_error(x, x + 256, power);
            const float more = oxi_mxfp4_error(x, x + 256, power + 1);
            const float less = oxi_mxfp4_error(x, x + 256, power - 1);
            power += more < as_is && more <= less ? 1 : less < as_is ? -1 : 0;
        }
        const float inverse = ldexpf(1, -power);
        for (int i = 0; power > -128 && i < 32; i++) code[i] = oxi_mxfp4_code(x[i], inverse);
        if (!finite) memset(code, 7, sizeof code); /* there is no NaN: 12 * 2^127 */
        p[0] = (uint8_t)(!finite ? 255 : power > -128 ? power + 128 : 0);
        oxi_store_codes_32(code, 4, p + 1);
    }
}

/* ---- TQ1_0 TQ2_0: -1, 0 or 1 times the largest number -------------------------------------------------- */

/* 0 1 2, halves away from zero; false: the block is not finite, and its scale p is NaN. */
static bool oxi_code_ternary(const float *x, uint8_t *code, uint8_t *p) {
    float low, high;
    const bool finite = oxi_find_range(256, x, &low, &high);
    const float d = high > -low ? high : -low, inverse = d > 0 ? 1 / d : 0;
    oxi_put_half(p, finite ? fabsf(d) : NAN);
    for (int i = 0; finite && i < 256; i++) {
        const float v = x[i] * inverse;
        code[i] = (uint8_t)(1 + (v >= 0.5f) - (v <= -0.5f));
    }
    return finite;
}

/* Digits of base 3, the first the highest, as a fraction of 256 that is rounded up. */
static uint8_t oxi_pack_ternary(const uint8_t *code, int digits, int apart) {
    int value = 0;
    for (int n = 0; n < 5; n++) value = value * 3 + (n < digits ? code[n * apart] : 0);
    return (uint8_t)((value * 256 + 242) / 243);
}

static void oxi_write_tq1_0(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    uint8_t code[256];
    (void)plan, (void)blocks;
    memset(p, 0, OXI_BYTES_OX_TQ1_0);
    if (!oxi_code_ternary(x, code, p + 52)) return;
    for (int i = 0; i < 32; i++) p[i] = oxi_pack_ternary(code + i, 5, 32);
    for (int i = 0; i < 16; i++) p[32 + i] = oxi_pack_ternary(code + 160 + i, 5, 16);
    for (int i = 0; i < 4; i++) p[48 + i] = oxi_pack_ternary(code + 240 + i, 4, 4);
}

static void oxi_write_tq2_0(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    uint8_t code[256];
    (void)plan, (void)blocks;
    memset(p, 0, OXI_BYTES_OX_TQ2_0);
    if (oxi_code_ternary(x, code, p + 64)) oxi_store_codes_2(code, p);
}
