/* Random numbers (dropout's are bernoulli), and draws from given weights. What an element is depends on its
 * place, the seed and the counter alone, so that every device gives the same bits: shaders/generate has the
 * same in GLSL. Each op is a generator as in generate/fill.c, or, where elements depend on each other, a
 * function of the call. */

/* ---- random numbers: what every device gives --------------------------------------------------------------
 * Element e (row-major index) of a call depends on e and on the call's seed and counter (call->random) alone,
 * through w[0..3] = philox(key seed, counter_hi counter, counter_lo block):
 *   word         w[e % 4] of block e / 4
 *   double word  w[2 (e % 2)] << 32 | w[2 (e % 2) + 1] of block e / 2
 * and for each op
 *   uniform      u = the top b bits of the word / 2^b; b = 24 for f32, 11 f16, 8 bf16, 4 f8_e4m3, 3 f8_e5m2;
 *                f64: the top 53 bits of the double word / 2^53. The value low + u (high - low) is worked out
 *                in double and rounded once; where that gives high, the number below high stands instead.
 *   normal       Box & Muller 1958, in double: mean + deviation r cos(2 pi u2) for even e, sin for odd e;
 *                r = sqrt(-2 log u1). A pair of elements shares u1 = (w0 + 1) / 2^32 and u2 = w1 / 2^32, w0
 *                and w1 being the words of the even and the odd one; f64: u1 = (top 53 bits of the even
 *                double word + 1) / 2^53, u2 = top 53 bits of the odd one / 2^53.
 *   randint      low + floor(double word (high - low) / 2^64)
 *   bernoulli    1 where u < p: u of 24 bits of the word; f64 operands: 53 bits of the double word
 *   randperm     0, 1, .. n-1, then for i = n-1 .. 1: i and floor(double word of i times (i + 1) / 2^64) swap
 *   multinomial  u of 53 bits of the double word. With replacement sample e takes the first category whose
 *                running sum of weights (in double) exceeds u times their sum; without, category k of row r
 *                gets the key -log(1 - u) / weight with e = r K + k, and the samples are the smallest keys in
 *                order (Efraimidis & Spirakis 2006).
 */

/* ---- words and uniform numbers ------------------------------------------------------------------------- */

static uint64_t oxi_random_double_word(const uint32_t *pair) {
    return (uint64_t)pair[0] << 32 | pair[1];
}

/* floor(a b / 2^64) */
OXI_SMALL uint64_t oxi_multiply_high(uint64_t a, uint64_t b) {
    uint64_t a0 = a & 0xffffffffu, a1 = a >> 32, b0 = b & 0xffffffffu, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t carry = a0 * b1 + (middle & 0xffffffffu);
    return a1 * b1 + (middle >> 32) + (carry >> 32);
}

/* The double word of element e alone. */
static uint64_t oxi_random_double_word_at(const oxi_random_state *state, int64_t e) {
    uint32_t w[4];
    oxi_philox(state->seed, state->counter, (uint64_t)e / 2, w);
    return oxi_random_double_word(w + 2 * (e % 2));
}

/* n words from element `first` (a multiple of 4) on, as whole blocks: room for n rounded up to 4. */
static void oxi_random_words(const oxi_random_state *state, int64_t first, int64_t n, uint32_t *words) {
    for (int64_t i = 0; i < n; i += 4)
        oxi_philox(state->seed, state->counter, (uint64_t)(first + i) / 4, words + i);
}

/* n double words from element `first` (a multiple of 2) on: room for n rounded up to 2. */
static void oxi_random_double_words(const oxi_random_state *state, int64_t first, int64_t n,
                                    uint64_t *words) {
    uint32_t w[4];
    for (int64_t i = 0; i < n; i += 2) {
        oxi_philox(state->seed, state->counter, (uint64_t)(first + i) / 2, w);
        words[i] = oxi_random_double_word(w);
        words[i + 1] = oxi_random_double_word(w + 2);
    }
}

/* n numbers in [0, 1) of `bits` random bits: 53 from double words, fewer from words. */
static void oxi_random_units(const oxi_random_state *state, int bits, int64_t first, int64_t n, double *out) {
    if (bits > 32) {
        uint64_t words[OXI_FILL_PIECE];
        oxi_random_double_words(state, first, n, words);
        for (int64_t i = 0; i < n; i++) out[i] = (double)(words[i] >> 11) / 9007199254740992.0;
    } else {
        uint32_t words[OXI_FILL_PIECE];
        oxi_random_words(state, first, n, words);
        double unit = ldexp(1.0, -bits);
        for (int64_t i = 0; i < n; i++) out[i] = (double)(words[i] >> (32 - bits)) * unit;
    }
}

/* Random bits of a uniform number: as many as the significand has, so that it stays below 1. */
static int oxi_random_bits(ox_dtype dtype) {
    switch (dtype) {
    case OX_F64: return 53;
    case OX_F16: return 11;
    case OX_BF16: return 8;
    case OX_F8_E4M3: return 4;
    case OX_F8_E5M2: return 3;
    default: return 24;
    }
}

/* ---- uniform, normal, randint -------------------------------------------------------------------------- */

/* x rounded to dtype and back. */
static double oxi_round_to(ox_dtype dtype, double x) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    unsigned char element[8];
    double rounded = x;
    kernels->store[dtype][OXI_LANE_F64](1, &x, element, 1);
    kernels->load[dtype][OXI_LANE_F64](1, element, 1, &rounded);
    return rounded;
}

/* The largest number of dtype below `high`, or `low` if none lies between. */
static double oxi_number_below(ox_dtype dtype, double low, double high) {
    if (dtype == OX_F64) {
        double below = nextafter(high, low);
        return below > low ? below : low;
    }
    /* A step down is between 2^-b and 2^(1-b) of the value for b significand bits; subnormals step by
     * more. */
    for (double part = ldexp(1.0, -oxi_random_bits(dtype) - 1); part < 2; part *= 2) {
        double size = fabs(high) > 1.0 / 16384 ? fabs(high) : 1.0 / 16384;
        double below = oxi_round_to(dtype, high - part * size);
        if (below < high) return below > low ? below : low;
    }
    return low;
}

static bool oxi_make_uniform(const oxi_fill_job *job, int64_t first, int64_t n, void *values) {
    double low = job->call->attr.uniform.low, high = job->call->attr.uniform.high, *out = (double *)values;
    oxi_random_units(&job->call->random, oxi_random_bits(job->out->dtype), job->from + first, n, out);
    if (low == 0 && high == 1) return true;
    for (int64_t i = 0; i < n; i++) {
        out[i] = low + out[i] * (high - low);
        if (low < high && oxi_round_to(job->out->dtype, out[i]) >= high) out[i] = job->last_below;
    }
    return true;
}

/* Two lanes where the compiler has vectors, one elsewhere: the same plain arithmetic without branches, so the
 * numbers depend neither on the C library nor on the tier. */
#if defined(__GNUC__) || defined(__clang__)
enum { OXI_RANDOM_LANES = 2 };
typedef double oxi_real_lanes __attribute__((vector_size(16)));
typedef uint64_t oxi_bits_lanes __attribute__((vector_size(16)));
#else
enum { OXI_RANDOM_LANES = 1 };
typedef double oxi_real_lanes;
typedef uint64_t oxi_bits_lanes;
#endif

/* Logarithms of n numbers in [2^-53, 1], in place: x = m 2^k with m around 1, log m = 2 atanh((m - 1) / (m
 * + 1)) by its series. Room for n rounded up to OXI_RANDOM_LANES. */
static void oxi_random_logs(int64_t n, double *x) {
    const uint64_t half_root = 0x3fe6a09e667f3bcdu;    /* the bits of sqrt(1/2), the least m */
    const uint64_t integer_bits = 0x4338000000000000u; /* of the double whose last bit is worth 1 */
    for (int64_t i = 0; i < n; i += OXI_RANDOM_LANES) {
        oxi_bits_lanes bits, exponent;
        oxi_real_lanes m, k;
        memcpy(&bits, x + i, sizeof bits);
        exponent = (bits - half_root) & 0xfff0000000000000u; /* k times 2^52 */
        bits -= exponent;
        memcpy(&m, &bits, sizeof m);
        exponent = ((exponent >> 52) ^ 0x800u) - 0x800u + integer_bits;
        memcpy(&k, &exponent, sizeof k);
        k -= 6755399441055744.0;
        oxi_real_lanes s = (m - 1.0) / (m + 1.0), z = s * s, sum = z * (1.0 / 21) + 1.0 / 19;
        sum = sum * z + 1.0 / 17;
        sum = sum * z + 1.0 / 15;
        sum = sum * z + 1.0 / 13;
        sum = sum * z + 1.0 / 11;
        sum = sum * z + 1.0 / 9;
        sum = sum * z + 1.0 / 7;
        sum = sum * z + 1.0 / 5;
        sum = sum * z + 1.0 / 3;
        sum = sum * z + 1.0;
        k = k * 0.69314718055994531 + 2.0 * s * sum;
        memcpy(x + i, &k, sizeof k);
    }
}

/* Cosines and sines of 2 pi u for n numbers u in [0, 1): reduced exactly to an eighth of a turn either
 * way, then their series. Room as above. */
static void oxi_random_turns(int64_t n, const double *u, double *cosines, double *sines) {
    const double integer =
        6755399441055744.0; /* plus a small number: that number rounded, in the last bits */
    for (int64_t i = 0; i < n; i += OXI_RANDOM_LANES) {
        oxi_real_lanes t, quarters;
        oxi_bits_lanes quarter, c_bits, s_bits, swap, c_sign, s_sign;
        memcpy(&t, u + i, sizeof t);
        t *= 4.0;
        quarters = t + integer;
        memcpy(&quarter, &quarters, sizeof quarter);
        oxi_real_lanes r = (t - (quarters - integer)) * 1.5707963267948966, z = r * r;
        oxi_real_lanes c = 1.0 / 87178291200.0 - z * (1.0 / 20922789888000.0);
        oxi_real_lanes s = 1.0 / 1307674368000.0 - z * (1.0 / 355687428096000.0);
        c = 1.0 / 479001600 - z * c;
        s = 1.0 / 6227020800.0 - z * s;
        c = 1.0 / 3628800 - z * c;
        s = 1.0 / 39916800 - z * s;
        c = 1.0 / 40320 - z * c;
        s = 1.0 / 362880 - z * s;
        c = 1.0 / 720 - z * c;
        s = 1.0 / 5040 - z * s;
        c = 1.0 / 24 - z * c;
        s = 1.0 / 120 - z * s;
        c = 1.0 / 2 - z * c;
        s = 1.0 / 6 - z * s;
        c = 1.0 - z * c;
        s = (1.0 - z * s) * r;
        memcpy(&c_bits, &c, sizeof c_bits);
        memcpy(&s_bits, &s, sizeof s_bits);
        swap = (c_bits ^ s_bits) & (0u - (quarter & 1u)); /* odd quarters: the sine is the cosine */
        c_sign = ((quarter + 1u) & 2u) << 62;
        s_sign = (quarter & 2u) << 62;
        c_bits ^= swap ^ c_sign;
        s_bits ^= swap ^ s_sign;
        memcpy(cosines + i, &c_bits, sizeof c_bits);
        memcpy(sines + i, &s_bits, sizeof s_bits);
    }
}

static bool oxi_make_normal(const oxi_fill_job *job, int64_t first, int64_t n, void *values) {
    const oxi_attr_normal *normal = &job->call->attr.normal;
    const oxi_random_state *state = &job->call->random;
    double *out = (double *)values, u1[OXI_FILL_PIECE / 2], u2[OXI_FILL_PIECE / 2],
           cosines[OXI_FILL_PIECE / 2], sines[OXI_FILL_PIECE / 2];
    int64_t pairs = (n + 1) / 2, room = (pairs + 1) / 2 * 2;
    if (job->out->dtype == OX_F64) {
        uint64_t words[OXI_FILL_PIECE];
        oxi_random_double_words(state, job->from + first, 2 * room, words);
        for (int64_t i = 0; i < room; i++) {
            u1[i] = (double)(int64_t)((words[2 * i] >> 11) + 1) / 9007199254740992.0;
            u2[i] = (double)(int64_t)(words[2 * i + 1] >> 11) / 9007199254740992.0;
        }
    } else {
        uint32_t words[OXI_FILL_PIECE];
        oxi_random_words(state, job->from + first, 2 * room, words);
        for (int64_t i = 0; i < room; i++) {
            u1[i] = ((double)words[2 * i] + 1) / 4294967296.0;
            u2[i] = (double)words[2 * i + 1] / 4294967296.0;
        }
    }
    oxi_random_logs(pairs, u1);
    oxi_random_turns(pairs, u2, cosines, sines);
    for (int64_t i = 0; i < pairs; i++) {
        double r = normal->deviation * sqrt(-2 * u1[i]);
        out[2 * i] = normal->mean + r * cosines[i];
        if (2 * i + 1 < n) out[2 * i + 1] = normal->mean + r * sines[i];
    }
    return true;
}

static bool oxi_make_randint(const oxi_fill_job *job, int64_t first, int64_t n, void *values) {
    uint64_t low = (uint64_t)job->call->attr.randint.low,
             range = (uint64_t)job->call->attr.randint.high - low;
    uint64_t words[OXI_FILL_PIECE];
    int64_t *out = (int64_t *)values;
    oxi_random_double_words(&job->call->random, job->from + first, n, words);
    for (int64_t i = 0; i < n; i++)
        out[i] = (int64_t)(low + oxi_multiply_high(words[i], range));
    return true;
}

/* ---- permutations -------------------------------------------------------------------------------------- */

static ox_status oxi_fill_randperm(const oxi_call *call) {
    const ox_tensor *out = call->out[0];
    int64_t n = ox_numel(out);
    size_t bytes;
    if (oxi_is_float(out->dtype)
            ? n > (int64_t)1 << oxi_random_bits(out->dtype)
            : oxi_info(out->dtype)->block_bytes == 1 && n > (out->dtype == OX_I8 ? 128 : 256))
        return oxi_fail(OX_ERR_ARG, "randperm: %s does not hold all numbers below %lld",
                        ox_dtype_name(out->dtype), (long long)n);
    if (!oxi_mul_size((size_t)n, sizeof(int64_t), &bytes))
        return oxi_fail(OX_ERR_NOMEM, "randperm: too many numbers");
    int64_t *order = (int64_t *)oxi_alloc(bytes);
    if (!order) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t first = (n - 1) / OXI_FILL_PIECE * OXI_FILL_PIECE; first >= 0; first -= OXI_FILL_PIECE) {
        uint64_t words[OXI_FILL_PIECE];
        int64_t count = oxi_min_i64(n - first, OXI_FILL_PIECE);
        oxi_random_double_words(&call->random, first, count, words);
        for (int64_t i = 0; i < count; i++) {
            words[i] = oxi_multiply_high(words[i], (uint64_t)(first + i) + 1);
            OXI_PREFETCH_WRITE(order + words[i]);
        }
        for (int64_t i = count - 1; i >= 0; i--) {
            int64_t swap = order[first + i];
            order[first + i] = order[words[i]];
            order[words[i]] = swap;
        }
    }
    oxi_store_range(out, 0, n, OXI_LANE_I64, order);
    oxi_free(order, bytes);
    return OX_OK;
}

/* ---- bernoulli and multinomial ------------------------------------------------------------------------- */

static bool oxi_make_bernoulli(const oxi_fill_job *job, int64_t first, int64_t n, void *values) {
    const ox_tensor *probabilities = job->call->in[0];
    double unit[OXI_FILL_PIECE], *out = (double *)values;
    oxi_load_range(probabilities, first, n, OXI_LANE_F64, out);
    int bits = probabilities->dtype == OX_F64 ? 53 : 24;
    oxi_random_units(&job->call->random, bits, job->from + first, n, unit);
    for (int64_t i = 0; i < n; i++) {
        if (!(out[i] >= 0 && out[i] <= 1)) return false;
        out[i] = unit[i] < out[i];
    }
    return true;
}

static const char *oxi_multinomial_why(int bad) {
    switch (bad) {
    case OXI_MULTINOMIAL_BAD_WEIGHT: return "a weight is negative, infinite or NaN";
    case OXI_MULTINOMIAL_NO_WEIGHT: return "the weights sum to zero";
    default: return "fewer categories have a weight than samples are to be drawn without replacement";
    }
}

typedef struct oxi_multinomial {
    const oxi_call *call;
    int64_t categories, samples;
    double *keys;         /* [lanes][categories]: running sums, or keys */
    int64_t *order;       /* [lanes][samples]: categories drawn */
    int64_t bad_row, bad; /* the first row that cannot be drawn from, and why; under the lock */
    oxi_lock lock;
} oxi_multinomial;

static void oxi_multinomial_fail(oxi_multinomial *job, int64_t row, int why) {
    oxi_lock_take(&job->lock);
    if (!job->bad || row < job->bad_row) {
        job->bad_row = row;
        job->bad = why;
    }
    oxi_lock_give(&job->lock);
}

/* keys: the running sums of a row's weights. */
static void oxi_draw_with_replacement(const oxi_multinomial *job, int64_t row, const double *sums,
                                      int64_t *out) {
    double total = sums[job->categories - 1];
    for (int64_t j = 0; j < job->samples; j++) {
        double u = (double)(oxi_random_double_word_at(&job->call->random, row * job->samples + j) >> 11) /
                   9007199254740992.0 * total;
        int64_t low = 0, high = job->categories - 1;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (sums[middle] > u)
                high = middle;
            else
                low = middle + 1;
        }
        while (low > 0 && sums[low] == sums[low - 1])
            low--; /* u rounded up to the sum: not a category of weight 0 */
        out[j] = low;
    }
}

/* Sorting order of two categories: by key, equal keys by number. */
static bool oxi_key_less(const double *keys, int64_t a, int64_t b) {
    return keys[a] < keys[b] || (keys[a] == keys[b] && a < b);
}

/* Lets heap[at] sink to its place in a heap of n with the largest key on top. */
static void oxi_key_sink(const double *keys, int64_t *heap, int64_t n, int64_t at) {
    for (;;) {
        int64_t child = 2 * at + 1, swap = heap[at];
        if (child >= n) return;
        if (child + 1 < n && oxi_key_less(keys, heap[child], heap[child + 1])) child++;
        if (!oxi_key_less(keys, heap[at], heap[child])) return;
        heap[at] = heap[child];
        heap[child] = swap;
        at = child;
    }
}

/* The `samples` smallest keys in order: a heap of the best so far, then sorted from the end. */
static void oxi_draw_smallest(const oxi_multinomial *job, const double *keys, int64_t *heap) {
    int64_t n = job->samples;
    for (int64_t i = 0; i < n; i++) heap[i] = i;
    for (int64_t i = n / 2 - 1; i >= 0; i--) oxi_key_sink(keys, heap, n, i);
    for (int64_t i = n; i < job->categories; i++) {
        if (!oxi_key_less(keys, i, heap[0])) continue;
        heap[0] = i;
        oxi_key_sink(keys, heap, n, 0);
    }
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t swap = heap[0];
        heap[0] = heap[i];
        heap[i] = swap;
        oxi_key_sink(keys, heap, i, 0);
    }
}

/* Weights of elements first .. first + n become the keys of a draw without replacement. */
static void oxi_race_keys(const oxi_random_state *state, int64_t first, int64_t n, double *keys) {
    double units[OXI_FILL_PIECE];
    for (int64_t k = 0; k < n;) {
        int64_t skip = (first + k) % 2, part = oxi_min_i64(n - k, OXI_FILL_PIECE - skip);
        oxi_random_units(state, 53, first + k - skip, part + skip, units);
        for (int64_t i = 0; i < part + skip; i++) units[i] = 1 - units[i];
        oxi_random_logs(part + skip, units);
        for (int64_t i = 0; i < part; i++)
            keys[k + i] = keys[k + i] > 0 ? fmin(-units[skip + i] / keys[k + i], DBL_MAX) : INFINITY;
        k += part;
    }
}

static void oxi_multinomial_row(void *arg, int64_t row, int lane) {
    oxi_multinomial *job = (oxi_multinomial *)arg;
    bool replacement = job->call->attr.multinomial.replacement;
    double *keys = job->keys + lane * job->categories, total = 0;
    int64_t *order = job->order + lane * job->samples, positive = 0;
    oxi_load_range(job->call->in[0], row * job->categories, job->categories, OXI_LANE_F64, keys);
    for (int64_t k = 0; k < job->categories; k++) {
        if (!(keys[k] >= 0 && keys[k] <= DBL_MAX)) {
            oxi_multinomial_fail(job, row, OXI_MULTINOMIAL_BAD_WEIGHT);
            return;
        }
        total += keys[k];
        positive += keys[k] > 0;
        if (replacement) keys[k] = total;
    }
    if (!replacement) oxi_race_keys(&job->call->random, row * job->categories, job->categories, keys);
    if (positive == 0 || !(total <= DBL_MAX)) {
        oxi_multinomial_fail(job, row, positive ? OXI_MULTINOMIAL_BAD_WEIGHT : OXI_MULTINOMIAL_NO_WEIGHT);
    } else if (!replacement && positive < job->samples) {
        oxi_multinomial_fail(job, row, OXI_MULTINOMIAL_TOO_FEW);
    } else {
        if (replacement)
            oxi_draw_with_replacement(job, row, keys, order);
        else
            oxi_draw_smallest(job, keys, order);
        oxi_store_range(job->call->out[0], row * job->samples, job->samples, OXI_LANE_I64, order);
    }
}

static ox_status oxi_multinomial_run(const oxi_call *call) {
    const ox_tensor *weights = call->in[0], *out = call->out[0];
    oxi_multinomial job;
    memset(&job, 0, sizeof job);
    job.call = call;
    job.categories = weights->ndim ? weights->shape[weights->ndim - 1] : 1;
    job.samples = call->attr.multinomial.samples;
    int64_t rows = 1;
    for (int d = 0; d < weights->ndim - 1; d++) rows *= weights->shape[d];
    if (rows == 0 || job.samples == 0) return OX_OK;
    if (job.categories == 0 || job.samples < 0 || ox_numel(out) != rows * job.samples ||
        (!call->attr.multinomial.replacement && job.samples > job.categories))
        return oxi_fail(OX_ERR_ARG, "multinomial: cannot draw %lld samples from %lld categories%s",
                        (long long)job.samples, (long long)job.categories,
                        call->attr.multinomial.replacement ? "" : " without replacement");
    size_t lanes = (size_t)oxi_lanes(rows), key_bytes, order_bytes;
    if (!oxi_mul_size((size_t)job.categories, lanes * sizeof(double), &key_bytes) ||
        !oxi_mul_size((size_t)job.samples, lanes * sizeof(int64_t), &order_bytes))
        return oxi_fail(OX_ERR_NOMEM, "multinomial: too many categories");
    job.keys = (double *)oxi_alloc(key_bytes);
    job.order = job.keys ? (int64_t *)oxi_alloc(order_bytes) : NULL;
    if (job.order) oxi_parallel_for(rows, oxi_multinomial_row, &job);
    ox_status status = job.order ? OX_OK : OX_ERR_NOMEM;
    oxi_free(job.order, job.order ? order_bytes : 0);
    oxi_free(job.keys, job.keys ? key_bytes : 0);
    if (job.bad)
        status = oxi_fail(OX_ERR_ARG, "multinomial: row %lld: %s", (long long)job.bad_row,
                          oxi_multinomial_why((int)job.bad));
    return status;
}
