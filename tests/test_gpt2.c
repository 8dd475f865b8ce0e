/* test_gpt2.c - training of GPT-2 as a whole (examples/gpt2.h): logits, loss, the gradients of all parameters
 * and ten steps of AdamW against PyTorch, and the same bits for any number of threads.
 * OX_TIERS OX_TSAN
 */
#include "oxtorch_nn.h"

#include "../examples/gpt2.h"
#include "gpt2_golden.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

/* ---- the model that gpt2_golden.py makes --------------------------------------------------------------- */

/* Numbers of [0, 1) of the generator, from its state on. */
static double next_number(uint32_t *state) {
    *state = 1664525u * *state + 1013904223u;
    return (double)(*state >> 8) / 16777216.0;
}

/* count numbers, spread around center, as f32 would have them. */
static ox_tensor *spread_numbers(uint32_t *state, ox_shape shape, double spread, double center,
                                 ox_dtype dtype) {
    ox_tensor *t = ox_empty(shape, OX_F32);
    float *numbers = (float *)ox_data(t);
    for (int64_t i = 0; i < ox_numel(t); i++)
        numbers[i] = (float)((next_number(state) - 0.5) * spread + center);
    return ox_cast(t, dtype);
}

static gpt2 make_model(gpt2_config config, ox_dtype dtype) {
    gpt2 m;
    memset(&m, 0, sizeof m);
    m.config = config;
    for (int kind = 0; kind < GPT2_KINDS; kind++) {
        uint32_t state = (uint32_t)kind + 1;
        double center = kind == LN1W || kind == LN2W || kind == LNFW ? 1 : 0,
               spread = kind <= WPE ? 0.4 : 0.3;
        for (int64_t l = 0; l < gpt2_copies(&config, kind); l++)
            m.p[kind][l] = ox_requires_grad_(
                spread_numbers(&state, gpt2_shape(&config, kind), spread, center, dtype), true);
    }
    return m;
}

static void make_batch(int64_t vocabulary, int64_t batch, int64_t length, ox_tensor **ids,
                       ox_tensor **targets) {
    uint32_t state = 100;
    ox_tensor *all = ox_empty(OX_SHAPE(batch * length + 1), OX_I64);
    int64_t *numbers = (int64_t *)ox_data(all);
    for (int64_t i = 0; i <= batch * length; i++)
        numbers[i] = (int64_t)(next_number(&state) * (double)vocabulary);
    *ids = ox_reshape(ox_narrow(all, 0, 0, batch * length), OX_SHAPE(batch, length));
    *targets = ox_reshape(ox_narrow(all, 0, 1, batch * length), OX_SHAPE(batch, length));
}

/* ---- against PyTorch ----------------------------------------------------------------------------------- */

/* The norm of tensors one behind the other, and their products with the golden vectors. */
static void check_sums(ox_tensor *const *list, int64_t count, int which, double tolerance) {
    double sums[3] = {0, 0, 0};
    uint32_t state[2] = {200, 201};
    for (int64_t l = 0; l < count; l++) {
        int64_t numel = list[l] ? ox_numel(list[l]) : 0;
        double *numbers = (double *)malloc((size_t)numel * sizeof *numbers + 1);
        CHECK(numel && ox_to_doubles(list[l], numbers, numel) == OX_OK);
        for (int64_t i = 0; i < numel; i++) {
            sums[0] += numbers[i] * numbers[i];
            for (int k = 0; k < 2; k++) sums[1 + k] += numbers[i] * (next_number(&state[k]) - 0.5);
        }
        free(numbers);
    }
    sums[0] = sqrt(sums[0]);
    for (int k = 0; k < 3; k++)
        CHECK_MSG(fabs(sums[k] - golden_sums[which][k]) <= tolerance * golden_sums[which][0],
                  "%s: sum %d is %.12g, not %.12g", which ? gpt2_kinds[which - 1].name : "logits", k, sums[k],
                  golden_sums[which][k]);
}

/* whole: by logits that are all there. */
static void check_against_golden(ox_dtype dtype, bool whole, double tolerance) {
    const gpt2_config config = {POSITIONS, V, L, NH, C};
    OX_SCOPE {
        gpt2 m = make_model(config, dtype);
        ox_tensor *all[4 + 12 * L], *ids, *targets;
        make_batch(V, B, T, &ids, &targets);
        ox_optimizer *adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, all, gpt2_parameters(&m, all));
        ox_optimizer_set(adamw, OX_ALL_GROUPS, "lr", 1e-3);
        ox_optimizer_set(adamw, OX_ALL_GROUPS, "weight_decay", 0.01);
        for (int step = 0; step < 10; step++)
            OX_SCOPE {
                ox_tensor *logits = whole ? gpt2_forward(&m, ids) : NULL;
                ox_tensor *loss = whole ? gpt2_loss_of(logits, targets) : gpt2_loss(&m, ids, targets);
                ox_optimizer_zero_grad(adamw);
                CHECK_MSG(loss && ox_backward(loss, NULL) == OX_OK, "%s", ox_error_text());
                CHECK_MSG(loss && fabs(ox_item(loss) - golden_losses[step]) <= tolerance * golden_losses[0],
                          "step %d: %.12g, not %.12g", step, ox_item(loss), golden_losses[step]);
                if (step == 0 && whole) check_sums(&logits, 1, 0, tolerance);
                for (int kind = 0; kind < GPT2_KINDS && step == 0; kind++) {
                    ox_tensor *grads[L];
                    for (int64_t l = 0; l < gpt2_copies(&config, kind); l++)
                        grads[l] = ox_gradient(m.p[kind][l]);
                    check_sums(grads, gpt2_copies(&config, kind), kind + 1, tolerance);
                }
                CHECK(ox_optimizer_step(adamw) == OX_OK);
            }
        ox_optimizer_close(adamw);
    }
}

/* ---- threads ------------------------------------------------------------------------------------------- */

enum { BIG_V = 300, BIG_L = 2, BIG_C = 96, BIG_T = 64, BIG_B = 4, BIG_STEPS = 3 };
enum { MOST_NUMBERS = 2 * (BIG_V * BIG_C + BIG_T * BIG_C + BIG_L * 13 * BIG_C * BIG_C) };

/* Losses and the gradients of the last step, as bits. Returns how many numbers. */
static int64_t bits_with(int threads, ox_dtype dtype, float *numbers) {
    const gpt2_config config = {BIG_T, BIG_V, BIG_L, 4, BIG_C};
    int64_t count = 0;
    int before = ox_threads();
    ox_set_threads(threads);
    OX_SCOPE {
        gpt2 m = make_model(config, dtype);
        ox_tensor *all[4 + 12 * BIG_L], *ids, *targets;
        int parameters = gpt2_parameters(&m, all);
        make_batch(BIG_V, BIG_B, BIG_T, &ids, &targets);
        ox_optimizer *adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, all, parameters);
        for (int step = 0; step < BIG_STEPS; step++)
            OX_SCOPE {
                ox_tensor *loss = gpt2_loss(&m, ids, targets);
                ox_optimizer_zero_grad(adamw);
                CHECK(ox_backward(loss, NULL) == OX_OK && ox_optimizer_step(adamw) == OX_OK);
                numbers[count++] = (float)ox_item(loss);
            }
        for (int i = 0; i < parameters; i++) {
            ox_tensor *g = ox_gradient(all[i]);
            int64_t numel = g ? ox_numel(g) : 0;
            CHECK(g && count + numel <= MOST_NUMBERS && ox_to_floats(g, numbers + count, numel) == OX_OK);
            count += numel;
        }
        ox_optimizer_close(adamw);
    }
    ox_set_threads(before);
    return count;
}

static void test_threads(ox_dtype dtype) {
    float *one = (float *)malloc(MOST_NUMBERS * sizeof *one),
          *more = (float *)malloc(MOST_NUMBERS * sizeof *more);
    int64_t count = bits_with(1, dtype, one);
    CHECK(count > BIG_V * BIG_C && isfinite(one[0]) && one[BIG_STEPS - 1] < one[0]);
    for (int threads = 2; threads <= 4; threads *= 2) {
        CHECK(bits_with(threads, dtype, more) == count);
        CHECK_MSG(memcmp(one, more, (size_t)count * sizeof *one) == 0, "%s, %d threads", ox_dtype_name(dtype),
                  threads);
    }
    free(one);
    free(more);
}

int main(void) {
    for (int whole = 0; whole < 2; whole++) {
        check_against_golden(OX_F64, whole, 1e-12);
        check_against_golden(OX_F32, whole, 2e-5);
        check_against_golden(OX_BF16, whole, 3e-2);
    }
    test_threads(OX_F32);
    test_threads(OX_BF16);
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0);
    return check_done("gpt2");
}
