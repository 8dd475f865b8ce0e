/* The sampler: from logits to the next token.
 * Filters need the likeliest tokens only: a heap gives as many as are wanted in order, without a full sort.
 * Called by users and by generate.c. */

typedef struct oxi_candidate {
    float logit;
    int32_t token;
} oxi_candidate;

struct ox_llm_sampler {
    ox_llm_sampler_desc desc;
    uint64_t picks;            /* made so far: the counter of the random numbers */
    oxi_candidate *candidates; /* [room]: a heap in front, what was taken from it behind, the best one last */
    size_t room;
};

OX_API ox_llm_sampler *ox_llm_sampler_open(const ox_llm_sampler_desc *desc) {
    ox_llm_sampler_desc zero;
    memset(&zero, 0, sizeof zero);
    if (!desc) desc = &zero;
    if (!(desc->temperature >= 0) || desc->top_k < 0 || !(desc->top_p >= 0) || !(desc->min_p >= 0) ||
        desc->min_p > 1) {
        (void)oxi_fail(OX_ERR_ARG,
                       "sampler: temperature %g, top_k %lld, top_p %g, min_p %g are not all in range",
                       desc->temperature, (long long)desc->top_k, desc->top_p, desc->min_p);
        return NULL;
    }
    ox_llm_sampler *sampler = (ox_llm_sampler *)oxi_calloc(1, sizeof *sampler);
    if (sampler) sampler->desc = *desc;
    return sampler;
}

OX_API void ox_llm_sampler_close(ox_llm_sampler *sampler) {
    if (!sampler) return;
    oxi_free(sampler->candidates, sampler->room * sizeof *sampler->candidates);
    oxi_free(sampler, sizeof *sampler);
}

/* ---- the heap ------------------------------------------------------------------------------------------ */

static bool oxi_candidate_before(const oxi_candidate *a, const oxi_candidate *b) {
    return a->logit > b->logit || (!(a->logit < b->logit) && a->token < b->token);
}

static void oxi_candidate_sift(oxi_candidate *heap, size_t count, size_t at) {
    const oxi_candidate moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) break;
        if (child + 1 < count && oxi_candidate_before(&heap[child + 1], &heap[child])) child++;
        if (!oxi_candidate_before(&heap[child], &moved)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

/* Moves the best of the heap's `count` behind its end; the heap has one less then. */
static void oxi_candidate_take(oxi_candidate *heap, size_t count) {
    const oxi_candidate best = heap[0];
    heap[0] = heap[count - 1];
    oxi_candidate_sift(heap, count - 1, 0);
    heap[count - 1] = best;
}

/* ---- filters ------------------------------------------------------------------------------------------- */

/* Sum of e^(logit - max), not yet scaled by the temperature. */
static double oxi_candidate_mass(const oxi_candidate *list, size_t count, double max) {
    double mass = 0;
    for (size_t i = 0; i < count; i++) mass += exp((double)list[i].logit - max);
    return mass;
}

/* top_k and top_p: leaves the kept ones at the end of list, the best last; returns how many they are. */
static size_t oxi_sampler_keep_best(const ox_llm_sampler_desc *desc, oxi_candidate *list, size_t count,
                                    double max) {
    const bool top_k = desc->top_k > 0 && (uint64_t)desc->top_k < count;
    const bool top_p = desc->top_p > 0 && desc->top_p < 1;
    if (!top_k && !top_p) return count;
    for (size_t i = count / 2; i > 0; i--) oxi_candidate_sift(list, count, i - 1);
    size_t taken = 0, most = top_k ? (size_t)desc->top_k : count;
    double mass = 0, wanted = INFINITY;
    if (top_k) {
        for (; taken < most; taken++) oxi_candidate_take(list, count - taken);
    }
    if (top_p) wanted = desc->top_p * oxi_candidate_mass(list + (top_k ? count - most : 0), most, max);
    for (size_t kept = 0; kept < most; kept++) {
        if (mass >= wanted) return kept;
        if (kept == taken) oxi_candidate_take(list, count - taken++);
        mass += exp((double)list[count - 1 - kept].logit - max);
    }
    return most;
}

/* Uniform in [0, 1), 53 bits. */
static double oxi_sampler_uniform(ox_llm_sampler *sampler) {
    uint32_t words[4];
    oxi_philox(sampler->desc.seed, 0, sampler->picks++, words);
    return ((double)(words[0] >> 5) * 67108864.0 + (double)(words[1] >> 6)) / 9007199254740992.0;
}

/* ---- picking ------------------------------------------------------------------------------------------- */

/* The largest logit, the first of equals; -1 where no token is possible or a logit is no number. */
static int32_t oxi_sampler_best(const float *logits, int64_t count) {
    int32_t best = -1;
    float max = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        if (isnan(logits[i]) || (isinf(logits[i]) && logits[i] > 0)) return -1;
        if (logits[i] > max) {
            max = logits[i];
            best = (int32_t)i;
        }
    }
    return best;
}

static size_t oxi_sampler_fill(ox_llm_sampler *sampler, const float *logits, int64_t count) {
    if ((size_t)count > sampler->room) {
        size_t bytes;
        oxi_candidate *list = NULL;
        if (oxi_mul_size((size_t)count, sizeof *list, &bytes)) list = (oxi_candidate *)oxi_alloc(bytes);
        if (!list) return 0;
        oxi_free(sampler->candidates, sampler->room * sizeof *list);
        sampler->candidates = list;
        sampler->room = (size_t)count;
    }
    size_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isinf(logits[i])) continue;
        sampler->candidates[used].logit = logits[i];
        sampler->candidates[used++].token = (int32_t)i;
    }
    return used;
}

OX_API int32_t ox_llm_sampler_pick(ox_llm_sampler *sampler, const float *logits, int64_t count) {
    if (!sampler || !logits) {
        (void)oxi_fail_missing(sampler ? "sampler: the list of logits" : "sampler: the sampler");
        return -1;
    }
    const int32_t best = count <= INT32_MAX ? oxi_sampler_best(logits, count) : -1;
    if (best < 0) {
        (void)oxi_fail(OX_ERR_ARG, "sampler: no token can be picked from these %lld logits",
                       (long long)count);
        return -1;
    }
    const ox_llm_sampler_desc *desc = &sampler->desc;
    if (!(desc->temperature > 0)) return best;
    const double max = logits[best];
    const size_t used = oxi_sampler_fill(sampler, logits, count);
    if (!used) return -1;
    const size_t kept = oxi_sampler_keep_best(desc, sampler->candidates, used, max);
    const oxi_candidate *list = sampler->candidates + used - kept;
    const double least = desc->min_p > 0 ? max + log(desc->min_p) : -INFINITY;
    double mass = 0;
    for (size_t i = 0; i < kept; i++) {
        if (list[i].logit >= least) mass += exp(((double)list[i].logit - max) / desc->temperature);
    }
    double target = oxi_sampler_uniform(sampler) * mass;
    for (size_t i = kept; i > 0; i--) {
        if (!(list[i - 1].logit >= least)) continue;
        target -= exp(((double)list[i - 1].logit - max) / desc->temperature);
        if (target < 0) return list[i - 1].token;
    }
    return best; /* rounding used up the target: the likeliest */
}
