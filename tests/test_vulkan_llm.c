/* test_vulkan_llm.c - language models on a GPU beside the same on the CPU: steps that are recorded ahead, and
 * what makes them void: other work, other contexts, other threads, other positions. Counted: a token is one
 * submission, with nothing made and nothing read back but its logits. */
#include "oxtorch_llm.h"
#include "oxtorch_vulkan.h"
#include "check.h"
#include "llm_make.h"

#include <pthread.h>

#if defined(__has_include) && !defined(_WIN32)
#if __has_include(<vulkan/vulkan.h>) && __has_include(<volk.h>)
#define HAS_VULKAN 1
#include "vulkan_between.h"
#endif
#endif

enum { VOCABULARY = 60, TOKENS = 24 };

static const sizes wide = {2, 256, 256, 4, 2, 64, 64, 64, VOCABULARY, TYPE_F32, 0, 0, 0, 0, 1};

typedef struct pair {
    ox_device *gpu;
    ox_llm *there, *here; /* the same model on both */
    double coarse;        /* of the largest logit */
    float expected[TOKENS][VOCABULARY];
} pair;

static int32_t token_at(int i) {
    return (int32_t)(i * 37 % VOCABULARY);
}

static ox_llm_context *open_context(ox_llm *llm, int64_t capacity) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = capacity;
    ox_llm_context *context = ox_llm_context_open(llm, &desc);
    CHECK_MSG(context != NULL, "%s", ox_error_text());
    return context;
}

static bool open_pair(pair *p, ox_device *gpu, int type) {
    gguf_make g;
    model m;
    sizes s = wide;
    const char *path = gguf_path("vulkan_llm.gguf");
    memset(&g, 0, sizeof g);
    memset(p, 0, sizeof *p);
    s.type = type;
    add_model(&g, &m, s);
    CHECK(gguf_write(&g, path) == 0);
    free_model(&m);
    p->gpu = gpu;
    p->coarse = type_row(type)->make ? 0.05 : 1e-4;
    p->there = ox_llm_open(path, gpu);
    p->here = ox_llm_open(path, NULL);
    CHECK_MSG(p->there && p->here, "%s", ox_error_text());
    if (!p->there || !p->here) return false;
    ox_llm_context *context = open_context(p->here, 0);
    ox_set_exact(true); /* what activations in 8 bits may be off by is told of exact ones */
    for (int i = 0; i < TOKENS; i++) CHECK(ox_llm_decode_one(context, token_at(i), p->expected[i]) == OX_OK);
    ox_set_exact(false);
    ox_llm_context_close(context);
    return true;
}

static void close_pair(pair *p) {
    ox_llm_close(p->there);
    ox_llm_close(p->here);
    remove(gguf_path("vulkan_llm.gguf"));
}

/* Whether these are the logits of place i, and of no other. */
static void expect(const pair *p, int i, const float *logits, const char *when) {
    double largest = 0, off = 0;
    for (int k = 0; k < VOCABULARY; k++) {
        largest = fmax(largest, fabs(p->expected[i][k]));
        off = check_worst(off, fabs(p->expected[i][k] - logits[k]));
    }
    CHECK_MSG(off <= p->coarse * largest, "%s, token %d: off by %g of %g", when, i, off, largest);
}

static void step(const pair *p, ox_llm_context *context, int i, const char *when) {
    float copy[VOCABULARY];
    const float *logits = copy;
    if (i % 3 == 0) logits = ox_llm_step(context, token_at(i)); /* where the device puts them */
    else if (ox_llm_decode_one(context, token_at(i), copy) != OX_OK) logits = NULL;
    CHECK_MSG(logits != NULL, "%s", ox_error_text());
    if (logits) expect(p, i, logits, when);
    CHECK(ox_llm_length(context) == i + 1);
}

/* ---- counted ------------------------------------------------------------------------------------------- */

static void test_counts(const pair *p) {
    ox_llm_context *context = open_context(p->there, 256);
    for (int round = 0; round < 2; round++) { /* command buffers and memory are those of the first round */
        CHECK(ox_llm_rewind(context, 0) == OX_OK);
        for (int i = 0; i < TOKENS; i++) step(p, context, i, "counted");
    }
    CHECK(ox_llm_rewind(context, 0) == OX_OK);
    for (int i = 0; i < 4; i++) step(p, context, i, "counted");
    const ox_vulkan_stats a = ox_vulkan_get_stats(p->gpu);
    const int64_t detours = ox_memory_get_stats().detours, allocations = ox_memory_get_stats().system_allocs;
    for (int i = 4; i < TOKENS; i++) step(p, context, i, "counted");
    const ox_vulkan_stats b = ox_vulkan_get_stats(p->gpu);
    const int64_t tokens = TOKENS - 4;
    CHECK_MSG(b.submits - a.submits == tokens, "%lld submissions", (long long)(b.submits - a.submits));
    CHECK_MSG(b.waits - a.waits <= tokens, "%lld waits", (long long)(b.waits - a.waits));
    CHECK(b.allocations == a.allocations && b.pipelines == a.pipelines);
    CHECK(b.descriptor_sets == a.descriptor_sets && b.transfers == a.transfers);
    CHECK(b.bytes_down - a.bytes_down == tokens * VOCABULARY * 4); /* the logits */
    CHECK(b.bytes_up - a.bytes_up == tokens * 8);                  /* a token, and where it stands */
    CHECK(b.bytes_in_use == a.bytes_in_use && b.dispatches > a.dispatches);
    CHECK(ox_memory_get_stats().detours == detours && ox_memory_get_stats().system_allocs == allocations);
    ox_llm_context_close(context);
}

/* ---- what makes a recorded step void ------------------------------------------------------------------- */

/* Between two steps, at place i. */
static void disturb(const pair *p, ox_llm_context *context, int how, int i) {
    OX_SCOPE {
        ox_tensor *x = ox_to(ox_full(OX_SHAPE(300), i, OX_F32), p->gpu);
        switch (how) {
        case 0: CHECK(ox_item(ox_sum(x, OX_ALL_DIMS, false)) == 300.0 * i); break; /* read */
        case 1: (void)ox_add_(x, ox_number(1)); break;                             /* recorded only */
        case 2: (void)ox_rms_norm(ox_view(x, OX_SHAPE(1, 300)), 1, NULL, 1e-5); break;
        case 3: CHECK(ox_device_sync(p->gpu) == OX_OK); break;
        case 4: CHECK(ox_vulkan_buffer_of(x, NULL) != 0); break;
        case 5:
            ox_profile_begin();
            (void)ox_neg(x);
            ox_profile_end();
            break;
        default: /* what was rewound to is run again */
            if (i < 3) break;
            CHECK(ox_llm_rewind(context, i - 2) == OX_OK);
            step(p, context, i - 2, "rewound");
            step(p, context, i - 1, "rewound");
        }
    }
}

static void test_void(const pair *p) {
    enum { WAYS = 7 };
    for (int how = 0; how < WAYS; how++) {
        ox_llm_context *context = open_context(p->there, 256);
        char when[32];
        snprintf(when, sizeof when, "disturbed, way %d", how);
        for (int i = 0; i < TOKENS; i++) {
            if (i % 3 == 1) disturb(p, context, how, i);
            step(p, context, i, when);
        }
        ox_llm_context_close(context);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

/* Steps without logits, prompts between steps, the end of a context, growing keys and values. */
static void test_mixed(const pair *p) {
    ox_llm_context *context = open_context(p->there, TOKENS);
    int32_t tokens[TOKENS];
    float logits[VOCABULARY];
    for (int i = 0; i < TOKENS; i++) tokens[i] = token_at(i);
    for (int i = 0; i < 5; i++) CHECK(ox_llm_decode_one(context, tokens[i], NULL) == OX_OK);
    step(p, context, 5, "after steps without logits");
    CHECK(ox_llm_decode(context, tokens + 6, 6, logits) == OX_OK);
    expect(p, 11, logits, "a prompt after steps");
    for (int i = 12; i < TOKENS; i++) step(p, context, i, "steps after a prompt");
    CHECK(ox_llm_decode_one(context, 0, logits) == OX_ERR_ARG); /* it is full */
    ox_error_clear();
    CHECK(ox_llm_rewind(context, TOKENS - 1) == OX_OK);
    step(p, context, TOKENS - 1, "the last place again");
    CHECK(ox_llm_rewind(context, 3) == OX_OK);
    step(p, context, 3, "rewound");
    CHECK(ox_llm_decode_one(context, VOCABULARY, logits) == OX_ERR_INDEX && ox_llm_length(context) == 4);
    ox_error_clear();
    step(p, context, 4, "after a token that does not exist");
    ox_llm_context_close(context);
}

static void test_growth(const pair *p) {
    enum { LONG = 300 }; /* keys and values have room for 256 at first */
    ox_llm_context *there = open_context(p->there, LONG), *here = open_context(p->here, LONG);
    float a[VOCABULARY], b[VOCABULARY];
    double off = 0, largest = 0;
    for (int i = 0; i < LONG; i++) {
        CHECK(ox_llm_decode_one(there, token_at(i), a) == OX_OK &&
              ox_llm_decode_one(here, token_at(i), b) == OX_OK);
        for (int k = 0; k < VOCABULARY; k++) {
            off = check_worst(off, fabs(a[k] - b[k]));
            largest = fmax(largest, fabs(b[k]));
        }
    }
    CHECK_MSG(off <= p->coarse * largest, "off by %g of %g", off, largest);
    ox_llm_context_close(there);
    ox_llm_context_close(here);
}

/* Contexts in turn; one is closed with a step recorded. */
static void test_two(const pair *p) {
    ox_llm_context *a = open_context(p->there, 256), *b = open_context(p->there, 256);
    for (int i = 0; i < TOKENS; i++) {
        step(p, a, i, "the first of two");
        if (i < TOKENS / 2) step(p, b, i, "the second of two");
        if (i == TOKENS / 2) ox_llm_context_close(b);
    }
    ox_llm_context_close(a);
}

typedef struct worker {
    const pair *p;
    int rounds, right;
} worker;

static void *run_worker(void *user) {
    worker *w = (worker *)user;
    for (int i = 0; i < w->rounds; i++)
        OX_SCOPE {
            ox_tensor *x = ox_to(ox_full(OX_SHAPE(1, 1000), 1, OX_F32), w->p->gpu);
            ox_tensor *y = ox_rms_norm(ox_add(x, ox_number(i)), 1, NULL, 0);
            double sum = y ? ox_item(ox_sum(y, OX_ALL_DIMS, false)) : 0;
            w->right += fabs(sum - 1000) < 0.1;
        }
    return NULL;
}

static void test_threads(const pair *p) {
    ox_llm_context *context = open_context(p->there, 256);
    worker w;
    pthread_t thread;
    w.p = p;
    w.rounds = 60;
    w.right = 0;
    CHECK(pthread_create(&thread, NULL, run_worker, &w) == 0);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TOKENS; i++) step(p, context, i, "beside another thread");
        CHECK(ox_llm_rewind(context, 0) == OX_OK);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_MSG(w.right == w.rounds, "%d of %d", w.right, w.rounds);
    ox_llm_context_close(context);
}

/* ---- devices that fail --------------------------------------------------------------------------------- */

#ifdef HAS_VULKAN
/* The device is lost at the at-th call of a kind, some steps on: an error in words, and another one works. */
static void check_lost(between_call call, long at) {
    static pair p;
    ox_device *gpu = ox_vulkan(0);
    float logits[VOCABULARY];
    CHECK_MSG(gpu && open_pair(&p, gpu, TYPE_F32), "%s", ox_error_text());
    if (!gpu || !p.there) return;
    ox_llm_context *context = open_context(p.there, 256);
    for (int i = 0; i < 3; i++) step(&p, context, i, "before the device is lost");
    between_fail(call, at, VK_ERROR_DEVICE_LOST);
    int i = 3;
    while (i < TOKENS && ox_llm_decode_one(context, token_at(i), logits) == OX_OK)
        expect(&p, i++, logits, "at last");
    CHECK_MSG(i < TOKENS && ox_llm_length(context) == i && strstr(ox_error_text(), "lost"), "token %d: %s", i,
              ox_error_text());
    ox_error_clear();
    CHECK(ox_llm_decode_one(context, 1, logits) != OX_OK && strstr(ox_error_text(), "lost"));
    ox_error_clear();
    between.at = 0;
    ox_llm_context_close(context);
    close_pair(&p);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    gpu = ox_vulkan(0); /* opens anew */
    CHECK_MSG(gpu && ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
}

static void test_lost(void) {
    if (!between_begin() || ox_vulkan_use_loader(between_loader) != OX_OK) return;
    check_lost(BETWEEN_SUBMIT, 1);
    check_lost(BETWEEN_SUBMIT, 5);
    check_lost(BETWEEN_WAIT, 2);
    CHECK_MSG(between.memory == 0, "%llu bytes left", (unsigned long long)between.memory);
    CHECK(ox_vulkan_use_loader(NULL) == OX_OK);
}
#else
static void test_lost(void) {}
#endif

int main(void) {
    static const int types[] = {TYPE_F32, TYPE_F16, TYPE_Q8_0, TYPE_Q4_K};
    ox_device *gpu = ox_vulkan(0);
    if (!gpu) {
        return check_skipped("vulkan_llm", ox_error_text());
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        static pair p;
        if (open_pair(&p, gpu, types[i])) {
            test_counts(&p);
            test_mixed(&p);
            if (i == 0) {
                test_void(&p);
                test_growth(&p);
                test_two(&p);
                test_threads(&p);
            }
        }
        close_pair(&p);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
    test_lost();
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    return check_done("vulkan_llm");
}
