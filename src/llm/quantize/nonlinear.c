/* IQ4_NL and IQ4_XS: codes of 4 bits stand for 16 numbers that lie closer together near zero (oxi_table_iq4).
 * Scales are searched for eight runs of 32 side by side: eight blocks of IQ4_NL, or one of IQ4_XS. */

typedef struct oxi_iq4 {
    float
        near[512]; /* of numbers from -128 in halves, between which it does not change: the table's nearest */
    float x[32][OXI_RUNS], weight[32][OXI_RUNS], largest[OXI_RUNS];
    float scale[OXI_RUNS], curve[OXI_RUNS], gain[OXI_RUNS]; /* the best: what it takes off the error */
} oxi_iq4;

static void oxi_iq4_begin(oxi_iq4 *b, const float *x) {
    memset(b, 0, sizeof *b);
    for (int k = 0, i = 0; k < 16; k++) {
        const int end = k < 15 ? oxi_table_iq4[k] + oxi_table_iq4[k + 1] + 256 : 512; /* twice the middle */
        for (; i < end; i++) b->near[i] = (float)oxi_table_iq4[k];
    }
    for (int j = 0; j < OXI_RUNS; j++)
        for (int i = 0; i < 32; i++) {
            b->x[i][j] = x[32 * j + i];
            b->weight[i][j] = x[256 + 32 * j + i];
            if (fabsf(b->x[i][j]) > fabsf(b->largest[j])) b->largest[j] = b->x[i][j];
        }
}

/* Sums of weight * q * x and weight * q * q, with q of the table nearest to x * inverse. */
static void oxi_iq4_sum(const oxi_iq4 *b, const float *inverse, float *wqx, float *wqq) {
    float twice[OXI_RUNS], q[OXI_RUNS], sum[OXI_RUNS] = {0}, square[OXI_RUNS] = {0};
    int at[OXI_RUNS];
    for (int j = 0; j < OXI_RUNS; j++) twice[j] = 2 * inverse[j];
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < OXI_RUNS; j++) {
            float v = b->x[i][j] * twice[j] + 256;
            v = v > 0 ? v : 0;
            v = v < 511 ? v : 511;
            at[j] = (int)v;
        }
        for (int j = 0; j < OXI_RUNS; j++) q[j] = b->near[at[j]];
        for (int j = 0; j < OXI_RUNS; j++) {
            const float wq = b->weight[i][j] * q[j];
            sum[j] += wq * b->x[i][j];
            square[j] += wq * q[j];
        }
    }
    memcpy(wqx, sum, sizeof sum);
    memcpy(wqq, square, sizeof square);
}

/* Fits scales to the codes nearest to x * inverse, and keeps those that are the best so far. */
static void oxi_iq4_try(oxi_iq4 *b, const float *inverse) {
    float wqx[OXI_RUNS], wqq[OXI_RUNS];
    oxi_iq4_sum(b, inverse, wqx, wqq);
    for (int j = 0; j < OXI_RUNS; j++) {
        if (!(wqq[j] > 0) || !(wqx[j] * wqx[j] > b->gain[j] * wqq[j])) continue;
        b->scale[j] = wqx[j] / wqq[j];
        b->gain[j] = wqx[j] * b->scale[j];
        b->curve[j] = wqq[j];
    }
}

/* The largest number becomes something about either end of the table; then what is nearest to the best. */
static void oxi_iq4_search(oxi_iq4 *b) {
    float inverse[OXI_RUNS];
    for (int step = 0; step < 24; step++) {
        const float end = step < 15 ? (float)(step - 134) : 101 + 3.5f * (float)(step - 15);
        for (int j = 0; j < OXI_RUNS; j++) inverse[j] = b->largest[j] != 0 ? end / b->largest[j] : 0;
        oxi_iq4_try(b, inverse);
    }
    for (int round = 0; round < 2; round++) {
        for (int j = 0; j < OXI_RUNS; j++) inverse[j] = b->scale[j] != 0 ? 1 / b->scale[j] : 0;
        oxi_iq4_try(b, inverse);
    }
}

/* What the error is, less the sum of weight * x * x. */
static void oxi_iq4_cost(const oxi_iq4 *b, const float *scale, float *cost) {
    float inverse[OXI_RUNS], wqx[OXI_RUNS], wqq[OXI_RUNS];
    for (int j = 0; j < OXI_RUNS; j++) inverse[j] = scale[j] != 0 ? 1 / scale[j] : 0;
    oxi_iq4_sum(b, inverse, wqx, wqq);
    for (int j = 0; j < OXI_RUNS; j++) cost[j] = scale[j] * (scale[j] * wqq[j] - 2 * wqx[j]);
}

static uint8_t oxi_iq4_code(float v) {
    int code = 0;
    while (code < 15 && 2 * v >= (float)(oxi_table_iq4[code] + oxi_table_iq4[code + 1])) code++;
    return (uint8_t)code;
}

static void oxi_iq4_store(const oxi_iq4 *b, int run, float scale, uint8_t *p) {
    const float inverse = scale != 0 ? 1 / scale : 0;
    uint8_t code[32];
    for (int i = 0; i < 32; i++) code[i] = oxi_iq4_code(b->x[i][run] * inverse);
    oxi_store_codes_32(code, 4, p);
}

static void oxi_write_iq4_nl(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    oxi_iq4 b;
    float y[512];
    const unsigned bad = oxi_take_blocks(x, y);
    (void)plan;
    oxi_iq4_begin(&b, y);
    oxi_iq4_search(&b);
    for (int j = 0; j < blocks; j++, p += OXI_BYTES_OX_IQ4_NL) {
        const float d = oxi_as_half(b.scale[j]);
        oxi_put_half(p, bad >> j & 1 ? NAN : d);
        oxi_iq4_store(&b, j, d, p + 2);
    }
}

/* ---- IQ4_XS: scales are d times codes of -32 to 31 ----------------------------------------------------- */

/* Tries the neighbors of every scale code. */
static void oxi_iq4_step(const oxi_iq4 *b, float d, float *code, float *cost) {
    float from[OXI_RUNS], scale[OXI_RUNS], other[OXI_RUNS];
    memcpy(from, code, sizeof from);
    for (int by = -1; by <= 1; by += 2) {
        for (int j = 0; j < OXI_RUNS; j++) scale[j] = d * oxi_nearest_between(from[j] + (float)by, -32, 31);
        oxi_iq4_cost(b, scale, other);
        for (int j = 0; j < OXI_RUNS; j++) {
            if (!(other[j] < cost[j])) continue;
            cost[j] = other[j];
            code[j] = oxi_nearest_between(from[j] + (float)by, -32, 31);
        }
    }
}

static float oxi_iq4_costs(const oxi_iq4 *b, float d, const float *code, float *cost) {
    float scale[OXI_RUNS], sum = 0;
    for (int j = 0; j < OXI_RUNS; j++) scale[j] = d * code[j];
    oxi_iq4_cost(b, scale, cost);
    for (int j = 0; j < OXI_RUNS; j++) sum += cost[j];
    return sum;
}

/* d by least squares for the codes as they are, if that makes it better. */
static float oxi_iq4_refit(const oxi_iq4 *b, float d, const float *code, float *cost) {
    float inverse[OXI_RUNS], wqx[OXI_RUNS], wqq[OXI_RUNS], other[OXI_RUNS], now = 0, up = 0, down = 0;
    for (int j = 0; j < OXI_RUNS; j++) inverse[j] = d * code[j] != 0 ? 1 / (d * code[j]) : 0;
    oxi_iq4_sum(b, inverse, wqx, wqq);
    for (int j = 0; j < OXI_RUNS; j++) {
        up += code[j] * wqx[j];
        down += code[j] * code[j] * wqq[j];
        now += cost[j];
    }
    const float fitted = down > 0 ? oxi_as_half(up / down) : d;
    if (!(oxi_iq4_costs(b, fitted, code, other) < now)) return d;
    memcpy(cost, other, sizeof other);
    return fitted;
}

static void oxi_write_iq4_xs(const oxi_k_plan *plan, const float *x, int blocks, uint8_t *p) {
    oxi_iq4 b;
    float low, high, code[OXI_RUNS], cost[OXI_RUNS];
    int high_bits = 0;
    (void)plan, (void)blocks;
    memset(p, 0, OXI_BYTES_OX_IQ4_XS);
    if (!oxi_find_range(256, x, &low, &high) || low < -1e9f || high > 1e9f) {
        oxi_put_half(p, NAN);
        return;
    }
    oxi_iq4_begin(&b, x);
    oxi_iq4_search(&b);
    float d = oxi_common_unit(OXI_RUNS, b.scale, b.curve, -32, 31);
    for (int j = 0; j < OXI_RUNS; j++) code[j] = d != 0 ? oxi_nearest_between(b.scale[j] / d, -32, 31) : 0;
    (void)oxi_iq4_costs(&b, d, code, cost);
    for (int round = 0; round < 2; round++) {
        oxi_iq4_step(&b, d, code, cost);
        d = oxi_iq4_refit(&b, d, code, cost);
    }
    oxi_put_half(p, d);
    for (int j = 0; j < OXI_RUNS; j++) {
        const int scale = (int)code[j] + 32;
        p[4 + j / 2] |= (uint8_t)((scale & 15) << j % 2 * 4);
        high_bits |= scale >> 4 << 2 * j;
        oxi_iq4_store(&b, j, d * code[j], p + 8 + 16 * j);
    }
    p[2] = (uint8_t)high_bits;
    p[3] = (uint8_t)(high_bits >> 8);
}
