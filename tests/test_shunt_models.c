/* test_shunt_models.c - models on a planner: a language model whose weights stay in their file gives the
 * logits of the CPU, bit by bit, and the step of a token is planned once for as long as its cache has room;
 * a GPT-2 trains with the bits of RAM within a fraction of what it takes there, and gradients go as they
 * come. */
#include "oxtorch_llm.h"
#include "oxtorch_nn.h"
#include "oxtorch_stream.h"

#include "../examples/gpt2.h"
#include "check.h"
#include "llm_make.h"

#include <unistd.h>

static const char *folder(void) {
    const char *test = getenv("OX_TEST_TMP");
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : test ? test : ".";
}

static ox_shunt *open_shunt(uint64_t bytes) {
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.device_bytes = bytes;
    desc.spill = folder();
    ox_shunt *shunt = ox_shunt_open(&desc);
    CHECK_MSG(shunt != NULL, "%s", ox_error_text());
    return shunt;
}

/* ---- generating ---------------------------------------------------------------------------------------- */

enum { VOCABULARY = 60, PROMPT = 70, TOKENS = 40 };

static int32_t token_at(int i) {
    return (int32_t)(i * 37 % VOCABULARY);
}

/* A prompt, then tokens one by one: their logits. plans: made for all tokens but the first two. */
static void run_text(ox_llm *llm, ox_dtype cache, ox_shunt *shunt, float *logits, int64_t *plans) {
    int32_t prompt[PROMPT];
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.cache = cache;
    desc.capacity = PROMPT + TOKENS + 8;
    ox_llm_context *context = ox_llm_context_open(llm, &desc);
    for (int i = 0; i < PROMPT; i++) prompt[i] = token_at(i);
    CHECK_MSG(context && ox_llm_decode(context, prompt, PROMPT, logits) == OX_OK, "%s", ox_error_text());
    for (int i = 0; context && i < TOKENS; i++) {
        if (i == 2) *plans = ox_shunt_get_stats(shunt).plans;
        CHECK_MSG(ox_llm_decode_one(context, token_at(PROMPT + i), logits + (i + 1) * VOCABULARY) == OX_OK,
                  "token %d: %s", i, ox_error_text());
    }
    *plans = ox_shunt_get_stats(shunt).plans - *plans;
    ox_llm_context_close(context);
}

static void test_generating(int type, ox_dtype cache, uint64_t budget) {
    static const sizes shape = {3, 256, 512, 4, 2, 64, 64, 64, VOCABULARY, TYPE_F32, 0, 0, 0, 0, 1};
    static float wanted[(TOKENS + 1) * VOCABULARY], got[(TOKENS + 1) * VOCABULARY];
    const char *path = gguf_path("shunt_models.gguf");
    gguf_make g;
    model m;
    sizes s = shape;
    int64_t plans = 0;
    memset(&g, 0, sizeof g);
    s.type = type;
    add_model(&g, &m, s);
    CHECK(gguf_write(&g, path) == 0);
    free_model(&m);
    ox_shunt *shunt = open_shunt(budget);
    ox_llm *here = ox_llm_open(path, NULL), *there = ox_llm_open(path, ox_shunt_device(shunt));
    CHECK_MSG(here && there, "%s", ox_error_text());
    if (here && there) {
        run_text(here, cache, NULL, wanted, &plans);
        run_text(there, cache, shunt, got, &plans);
        CHECK_MSG(memcmp(wanted, got, sizeof got) == 0, "type %d, a budget of %llu: other logits", type,
                  (unsigned long long)budget);
        const ox_shunt_stats stats = ox_shunt_get_stats(shunt);
        CHECK_MSG(plans == 0, "type %d, a budget of %llu: %lld plans", type, (unsigned long long)budget,
                  (long long)plans);
        CHECK(budget == 0 || (stats.device_peak <= budget && stats.replays >= TOKENS - 2));
        CHECK(stats.written_bytes == 0 || budget > 0);
    }
    ox_llm_close(here);
    ox_llm_close(there);
    CHECK(ox_shunt_close(shunt) == OX_OK);
    remove(path);
}

/* ---- training ------------------------------------------------------------------------------------------ */

enum { STEPS = 5, SEQUENCES = 4 };

static ox_tensor *parameters[GPT2_KINDS * GPT2_MOST_LAYERS];

static void make_gpt2(gpt2 *m, ox_device *device) {
    ox_manual_seed(9);
    for (int kind = 0; kind < GPT2_KINDS; kind++)
        for (int64_t l = 0; l < gpt2_copies(&m->config, kind); l++) {
            ox_tensor *t = ox_mul_number(ox_randn(gpt2_shape(&m->config, kind), OX_F32), 0.05);
            m->p[kind][l] = ox_requires_grad_(ox_to(t, device), true);
        }
}

static void train(gpt2 *m, ox_device *device, double *losses) {
    make_gpt2(m, device);
    int count = gpt2_parameters(m, parameters);
    ox_optimizer *adamw = ox_optimizer_open(OX_OPTIMIZER_ADAMW, parameters, count);
    ox_tensor *ids = ox_randint(0, m->config.vocabulary, OX_SHAPE(SEQUENCES, m->config.positions), OX_I64);
    ox_tensor *targets = ox_to(ox_flip(ids, OX_DIMS(1)), device);
    ids = ox_to(ids, device);
    for (int i = 0; i < STEPS; i++)
        OX_SCOPE {
            ox_tensor *loss = gpt2_loss(m, ids, targets);
            CHECK_MSG(ox_backward(loss, NULL) == OX_OK && ox_optimizer_step(adamw) == OX_OK, "%s",
                      ox_error_text());
            ox_optimizer_zero_grad(adamw);
            losses[i] = ox_item(loss);
        }
    ox_optimizer_close(adamw);
}

static void test_training(void) {
    static gpt2 near, far;
    const gpt2_config config = {16, 64, 4, 2, 128};
    double wanted[STEPS], got[STEPS];
    near.config = far.config = config;
    OX_SCOPE {
        train(&near, ox_cpu(), wanted);
        for (int k = 0; k < 2; k++) {
            const uint64_t budget = k ? 3 << 20 : 0; /* of 13 MB */
            ox_shunt *shunt = open_shunt(budget);
            OX_SCOPE {
                train(&far, ox_shunt_device(shunt), got);
                for (int i = 0; i < STEPS; i++)
                    CHECK_MSG(got[i] == wanted[i], "budget %llu, step %d: %.9g, not %.9g",
                              (unsigned long long)budget, i, got[i], wanted[i]);
                int count = gpt2_parameters(&near, parameters);
                for (int i = 0; i < count; i++) parameters[i] = ox_clone(parameters[i]);
                ox_tensor *others[GPT2_KINDS * GPT2_MOST_LAYERS];
                gpt2_parameters(&far, others);
                for (int i = 0; i < count; i++)
                    CHECK(ox_equal(parameters[i], ox_to(others[i], ox_cpu())));
                const ox_shunt_stats s = ox_shunt_get_stats(shunt);
                CHECK(budget == 0 || (s.device_peak <= budget && s.written_bytes > 0));
            }
            CHECK(ox_shunt_close(shunt) == OX_OK);
        }
    }
}

int main(void) {
    test_generating(TYPE_F32, OX_F32, 0);
    test_generating(TYPE_Q4_0, OX_F32, 0);
    test_generating(TYPE_F32, OX_F16, 2 << 20); /* of 8 MB */
    test_generating(TYPE_F16, OX_F32, 2 << 20);
    test_generating(TYPE_Q4_0, OX_F32, 1200 << 10);
    test_training();
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    return check_done("shunt_models");
}
