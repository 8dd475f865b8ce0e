/* test_sampler.c - greedy and random picks: what is kept, how often it comes, which draws repeat.
 * References: the kept set by sorting everything, frequencies against the softmax of what is kept. OX_QEMU
 */
#include "oxtorch_llm.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 40, PICKS = 20000 };

static uint32_t random_state = 5;

static double random_number(void) {
    random_state = random_state * 1664525u + 1013904223u;
    return (double)(random_state >> 8) / 16777216.0;
}

static ox_llm_sampler_desc options(double temperature, int64_t top_k, double top_p, double min_p) {
    ox_llm_sampler_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.temperature = temperature;
    desc.top_k = top_k;
    desc.top_p = top_p;
    desc.min_p = min_p;
    desc.seed = 42;
    return desc;
}

static int32_t pick_once(ox_llm_sampler_desc desc, const float *logits, int64_t count) {
    ox_llm_sampler *sampler = ox_llm_sampler_open(&desc);
    const int32_t token = ox_llm_sampler_pick(sampler, logits, count);
    ox_llm_sampler_close(sampler);
    return token;
}

static void test_greedy(void) {
    const float logits[6] = {-1, 3, 2, 3, -INFINITY, 0};
    ox_llm_sampler *greedy = ox_llm_sampler_open(NULL);
    for (int i = 0; i < 3; i++) CHECK(ox_llm_sampler_pick(greedy, logits, 6) == 1);
    CHECK(ox_llm_sampler_pick(greedy, logits, 1) == 0);
    ox_llm_sampler_close(greedy);
    CHECK(pick_once(options(1, 1, 0, 0), logits, 6) == 1);
    CHECK(pick_once(options(1, 0, 1e-9, 0), logits, 6) == 1);
    CHECK(pick_once(options(1e-3, 0, 0, 0), logits + 1, 2) == 0);
    const int32_t even = pick_once(options(1, 0, 0, 1), logits, 6); /* both of the likeliest */
    CHECK(even == 1 || even == 3);
}

/* ---- what is kept, how often --------------------------------------------------------------------------- */

/* The probability of each token by the definition; filters see the untempered softmax. */
static void expected_odds(ox_llm_sampler_desc desc, const float *logits, double *odds) {
    int order[COUNT];
    for (int i = 0; i < COUNT; i++) {
        int at = i;
        for (; at > 0 && logits[order[at - 1]] < logits[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    const double max = logits[order[0]];
    int kept = desc.top_k > 0 && desc.top_k < COUNT ? (int)desc.top_k : COUNT;
    double mass = 0, sum = 0, total = 0;
    for (int i = 0; i < kept; i++) mass += exp(logits[order[i]] - max);
    for (int i = 0; desc.top_p > 0 && desc.top_p < 1 && i < kept; i++) {
        sum += exp(logits[order[i]] - max);
        if (sum >= desc.top_p * mass) kept = i + 1;
    }
    while (desc.min_p > 0 && exp(logits[order[kept - 1]] - max) < desc.min_p) kept--;
    for (int i = 0; i < COUNT; i++) odds[i] = 0;
    for (int i = 0; i < kept; i++) total += odds[order[i]] = exp((logits[order[i]] - max) / desc.temperature);
    for (int i = 0; i < COUNT; i++) odds[i] /= total;
}

static void test_odds(void) {
    const ox_llm_sampler_desc cases[] = {
        options(1, 0, 0, 0),   options(0.5, 0, 0, 0), options(3, 0, 1, 0),     options(1, 5, 0, 0),
        options(1, 0, 0.7, 0), options(1, 0, 0, 0.2), options(2, 8, 0.9, 0.1), options(0.7, 100, 0.95, 0)};
    float logits[COUNT];
    double odds[COUNT];
    for (int i = 0; i < COUNT; i++) logits[i] = (float)(6 * random_number() - 3);
    logits[7] = -INFINITY;
    for (int c = 0; c < (int)(sizeof cases / sizeof *cases); c++) {
        int seen[COUNT] = {0};
        expected_odds(cases[c], logits, odds);
        ox_llm_sampler *sampler = ox_llm_sampler_open(&cases[c]);
        for (int i = 0; i < PICKS; i++) seen[ox_llm_sampler_pick(sampler, logits, COUNT)]++;
        ox_llm_sampler_close(sampler);
        for (int i = 0; i < COUNT; i++) {
            const double spread = sqrt(PICKS * odds[i] * (1 - odds[i]));
            CHECK_MSG(fabs(seen[i] - PICKS * odds[i]) <= 5 * spread + 1e-9, "case %d, token %d: %d of %g", c,
                      i, seen[i], PICKS * odds[i]);
        }
    }
}

static void test_repeats(void) {
    float logits[COUNT];
    for (int i = 0; i < COUNT; i++) logits[i] = (float)random_number();
    ox_llm_sampler_desc desc = options(1, 0, 0.9, 0);
    ox_llm_sampler *a = ox_llm_sampler_open(&desc), *b = ox_llm_sampler_open(&desc);
    desc.seed++;
    ox_llm_sampler *c = ox_llm_sampler_open(&desc);
    int same = 0;
    for (int i = 0; i < 100; i++) {
        const int32_t token = ox_llm_sampler_pick(a, logits, COUNT);
        CHECK(token == ox_llm_sampler_pick(b, logits, COUNT));
        same += token == ox_llm_sampler_pick(c, logits, COUNT);
    }
    CHECK_MSG(same < 50, "%d of 100 equal for another seed", same);
    ox_llm_sampler_close(a);
    ox_llm_sampler_close(b);
    ox_llm_sampler_close(c);
}

static void expect_refused(ox_llm_sampler_desc desc) {
    CHECK(ox_llm_sampler_open(&desc) == NULL && ox_error() == OX_ERR_ARG);
    ox_error_clear();
}

static void test_refusals(void) {
    const float bad[4][2] = {{NAN, 1}, {1, INFINITY}, {-INFINITY, -INFINITY}, {0, NAN}};
    for (int i = 0; i < 4; i++) {
        CHECK(pick_once(options(0, 0, 0, 0), bad[i], 2) == -1 && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(pick_once(options(1, 0, 0, 0), bad[i], 2) == -1 && ox_error() == OX_ERR_ARG);
        ox_error_clear();
    }
    CHECK(pick_once(options(1, 0, 0, 0), bad[0], 0) == -1 && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    expect_refused(options(-1, 0, 0, 0));
    expect_refused(options(NAN, 0, 0, 0));
    expect_refused(options(1, -1, 0, 0));
    expect_refused(options(1, 0, -0.1, 0));
    expect_refused(options(1, 0, 0, 1.5));
    expect_refused(options(1, 0, 0, NAN));
    CHECK(ox_llm_sampler_pick(NULL, bad[0], 2) == -1 && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    CHECK(pick_once(options(0, 0, 0, 0), NULL, 2) == -1 && ox_error() == OX_ERR_ARG);
    ox_error_clear();
    ox_llm_sampler_close(NULL);
    CHECK(ox_error() == OX_OK);
}

int main(void) {
    const size_t before = ox_memory_get_stats().bytes_in_use;
    test_greedy();
    test_odds();
    test_repeats();
    test_refusals();
    CHECK(ox_memory_get_stats().bytes_in_use == before);
    return check_done("sampler");
}
