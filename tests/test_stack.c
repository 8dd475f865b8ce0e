/* test_stack.c - stack: every public call stays under STACK_MOST, so that it can be made from a thread of a
 * server or a plugin. Here are calls on operands that are larger than a tile, on streams, files and language
 * models; test_coverage.c has every row of the table on every dtype and layout. At last all of them once more
 * in a thread with 64 KiB.
 * OX_TIERS */
#include "check.h"
#include "llm_make.h"
#include "oxtorch.h"
#include "oxtorch_llm.h"
#include "oxtorch_nn.h"
#include "oxtorch_stream.h"
#include "stack_use.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if !defined(OX_NO_THREADS) && !defined(_WIN32)
#include <pthread.h>
#define HAVE_SMALL_THREADS 1
#endif

static const char *measured_what = "";
static bool paints; /* the stack is as large as what is painted */

static void check_use(size_t used, const char *call) {
    CHECK_MSG(used <= STACK_MOST || !stack_is_measured(), "%s: %s: %u bytes of stack", measured_what, call,
              (unsigned)used);
}

/* Evaluates an expression, which must have no error. */
#define USES(expression)                                                                           \
    do {                                                                                           \
        if (paints) stack_paint();                                                                 \
        (void)(expression);                                                                        \
        if (paints) check_use(stack_used(), #expression);                                          \
        CHECK_MSG(ox_error() == OX_OK, "%s: %s: %s", measured_what, #expression, ox_error_text()); \
        ox_error_clear();                                                                          \
    } while (0)

/* ---- operations on x [130,270] and others of that size, all of one dtype and on one device ------------- */

typedef struct operands {
    ox_tensor *x, *y, *few, *mask, *ids, *index;
} operands;

static operands operands_on(ox_device *device, ox_dtype dtype) {
    operands o;
    ox_tensor *mask = ox_eq(ox_randint(0, 3, OX_SHAPE(130 * 270), OX_I64), ox_integer(0));
    o.x = ox_to(ox_cast(ox_mul_number(ox_rand(OX_SHAPE(130, 270), OX_F32), 7), dtype), device);
    o.y = ox_to(ox_cast(ox_mul_number(ox_rand(OX_SHAPE(270, 130), OX_F32), 5), dtype), device);
    o.few = ox_to(ox_cast(ox_mul_number(ox_rand(OX_SHAPE(270), OX_F32), 3), dtype), device);
    o.mask = ox_to(ox_view(mask, OX_SHAPE(130, 270)), device);
    o.ids = ox_to(ox_randint(0, 130, OX_SHAPE(40), OX_I64), device);
    o.index = ox_to(ox_randint(0, 130, OX_SHAPE(130, 270), OX_I64), device);
    return o;
}

static void use_elementwise(const operands *o, bool real) {
    USES(ox_add(o->x, ox_t(o->y)));
    USES(ox_add(ox_t(o->x), o->y));
    USES(ox_mul(ox_t(o->x), ox_t(o->x)));
    USES(ox_div(o->x, o->few));
    USES(ox_mul_number(ox_t(o->x), 2));
    USES(ox_add_(ox_clone(o->x), ox_t(o->y)));
    USES(ox_eq(o->x, ox_t(o->y)));
    USES(ox_where(o->mask, o->x, ox_t(o->y)));
    USES(ox_where(ox_t(o->mask), ox_t(o->x), o->y));
    USES(ox_masked_select(ox_t(o->x), ox_t(o->mask)));
    USES(ox_clone(ox_t(o->x)));
    USES(ox_cast(ox_t(o->x), OX_F64));
    USES(ox_cast(ox_t(o->x), OX_BF16));
    if (!real) return;
    USES(ox_gelu(ox_t(o->x)));
    USES(ox_exp(ox_slice(o->x, 1, 0, OX_END, 3)));
    USES(ox_silu_mul(ox_t(o->x), o->y));
    USES(ox_lerp(ox_t(o->x), o->y, ox_t(o->x)));
    USES(ox_addcmul(ox_t(o->x), ox_t(o->x), o->y, 2));
    USES(ox_pow(ox_t(o->x), o->y));
}

static void use_lines(const operands *o, bool real) {
    for (int dim = 0; dim < 2; dim++) {
        USES(ox_sum(ox_t(o->x), OX_DIMS(dim), false));
        USES(ox_cumsum(o->x, dim));
        USES(ox_sort(o->x, dim, true).values);
        USES(ox_topk(ox_t(o->x), 5, dim, true).values);
        USES(ox_max(o->x, dim, false).values);
        USES(ox_argmin(ox_t(o->x), dim, false));
        if (!real) continue;
        USES(ox_softmax(ox_t(o->x), dim));
        USES(ox_log_softmax(o->x, dim));
        USES(ox_logsumexp(o->x, OX_DIMS(dim), false));
        USES(ox_var(ox_t(o->x), OX_DIMS(dim), 1, false));
        USES(ox_norm(o->x, 3, OX_DIMS(dim), false));
    }
    USES(ox_sum(o->x, OX_ALL_DIMS, false));
    if (!real) return;
    USES(ox_layer_norm(ox_t(o->y), 1, NULL, NULL, 1e-5));
    USES(ox_layer_norm(o->x, 1, o->few, o->few, 1e-5));
    USES(ox_rms_norm(o->x, 1, o->few, 1e-5));
}

static void use_moves(const operands *o) {
    ox_tensor *list[3] = {o->x, ox_t(o->y), o->x}, *parts[4] = {NULL, NULL, NULL, NULL};
    USES(ox_cat(list, 3, 0));
    USES(ox_stack(list, 3, 1));
    USES(ox_roll(ox_t(o->x), OX_SHAPE(3, 5), OX_DIMS(0, 1)));
    USES(ox_repeat(ox_t(o->x), OX_SHAPE(2, 1)));
    USES(ox_gather(o->x, 0, o->index));
    USES(ox_scatter(o->x, 0, o->index, ox_t(o->y)));
    USES(ox_scatter_add(o->x, 0, o->index, ox_t(o->y)));
    USES(ox_index_select(ox_t(o->x), 1, o->ids));
    USES(ox_index_add(o->x, 0, o->ids, ox_narrow(ox_t(o->y), 0, 0, 40), 1));
    USES(ox_nonzero(ox_t(o->x)));
    USES(ox_triu(ox_t(o->x), 1));
    USES(ox_split(o->x, 50, 0, parts, 4));
}

static void use_products(const operands *o) {
    ox_tensor *list[2] = {o->x, o->y};
    USES(ox_matmul(o->x, o->y));
    USES(ox_matmul(ox_t(o->x), ox_t(o->y)));
    USES(ox_linear(o->x, ox_t(o->y), NULL));
    USES(ox_addmm(ox_ones_like(ox_matmul(o->x, o->y)), o->x, o->y, 1, 1));
    USES(ox_einsum("ij,jk->ki", list, 2));
    USES(ox_dot(o->few, o->few));
}

static void use_operations(ox_device *device, const char *where) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F16, OX_F64, OX_I64, OX_U8};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        OX_SCOPE {
            bool real = dtypes[i] != OX_I64 && dtypes[i] != OX_U8;
            char what[64];
            snprintf(what, sizeof what, "%s %s", where, ox_dtype_name(dtypes[i]));
            measured_what = what;
            operands o = operands_on(device, dtypes[i]);
            use_elementwise(&o, real);
            use_lines(&o, real);
            use_moves(&o);
            use_products(&o);
            measured_what = "";
        }
}

/* ---- what is more than one operation, or none ---------------------------------------------------------- */

static ox_tensor *blocks(ox_dtype dtype) {
    return ox_cast(ox_randn(OX_SHAPE(64, 256), OX_F32), dtype);
}

static void use_the_rest(void) {
    ox_tensor *x = ox_randn(OX_SHAPE(130, 270), OX_F32), *q = ox_randn(OX_SHAPE(1, 4, 33, 64), OX_F32);
    char text[4000];
    measured_what = "cpu";
    USES(ox_embedding(ox_randint(0, 130, OX_SHAPE(40), OX_I64), x));
    USES(ox_randn(OX_SHAPE(10000), OX_F64));
    USES(ox_rand(OX_SHAPE(10000), OX_F16));
    USES(ox_randint(0, 100, OX_SHAPE(10000), OX_I32));
    USES(ox_randperm(10000, OX_I64));
    USES(ox_multinomial(ox_exp(x), 4, false));
    USES(ox_dropout(ox_t(x), 0.3, true));
    USES(ox_arange(0, 10000, 0.7, OX_BF16));
    USES(ox_scaled_dot_product_attention(q, q, q, NULL));
    USES(ox_rope(q, NULL, NULL));
    USES(ox_equal(x, ox_t(ox_clone(ox_t(x)))));
    USES(ox_allclose(x, ox_t(ox_t(x)), 1e-5, 1e-8, true));
    USES(ox_format(x, text, sizeof text));
    USES(ox_format(ox_mul_number(x, 1e30), text, sizeof text));
    USES(ox_item(ox_mean(ox_t(x), OX_ALL_DIMS, false)));
    static const ox_dtype kinds[] = {OX_Q4_0, OX_Q8_0, OX_Q4_K, OX_Q6_K};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        ox_tensor *w = blocks(kinds[i]), *a = ox_randn(OX_SHAPE(70, 256), OX_F32);
        measured_what = ox_dtype_name(kinds[i]);
        USES(blocks(kinds[i]));
        USES(ox_cast(w, OX_F16));
        USES(ox_linear(a, w, NULL));
        USES(ox_linear(ox_narrow(a, 0, 0, 1), w, NULL));
        USES(ox_matmul(a, ox_t(w)));
        USES(ox_prepack(w));
        USES(ox_linear(a, w, NULL));
        USES(ox_embedding(ox_zeros(OX_SHAPE(9), OX_I64), w));
    }
    measured_what = "profiler";
    USES(ox_profile_begin());
    for (int i = 0; i < 50; i++) (void)ox_exp(x);
    USES(ox_profile_end());
    USES(ox_profile_table(text, sizeof text));
    USES(ox_profile_trace(gguf_path("stack.json")));
    remove(gguf_path("stack.json"));
}

static void use_file(const char *path) {
    ox_file *file = NULL;
    measured_what = path;
    USES(file = ox_file_open(path, NULL));
    for (int64_t i = 0; i < ox_file_count(file); i++) USES(ox_file_tensor_at(file, i));
    USES(ox_file_meta_find(file, "none"));
    USES(ox_file_close(file));
}

static void use_files(void) {
    ox_tensor *list[2] = {ox_t(ox_randn(OX_SHAPE(30, 40), OX_F32)), ox_ones(OX_SHAPE(500), OX_I64)};
    const char *names[2] = {"first", "second"}, *path;
    USES(ox_save_npy(path = gguf_path("stack.npy"), list[0]));
    use_file(path);
    remove(path);
    USES(ox_save_npz(path = gguf_path("stack.npz"), names, list, 2));
    use_file(path);
    remove(path);
    USES(ox_save_safetensors(path = gguf_path("stack.safetensors"), names, list, 2, NULL, 0, 0));
    use_file(path);
    remove(path);
    use_file("tests/corpus/npy/deflated.npz");
    use_file("tests/corpus/npy/dynamic.npz");
}

static void use_model(void) {
    const char *path = gguf_path("stack.gguf");
    gguf_make g;
    model m;
    memset(&g, 0, sizeof g);
    add_model(&g, &m, tiny);
    CHECK(gguf_write(&g, path) == 0);
    free_model(&m);
    use_file(path);
    measured_what = "model";
    ox_llm *llm = NULL;
    ox_llm_context *context = NULL;
    ox_llm_generate_desc desc;
    float logits[64];
    int32_t tokens[64], one = 1;
    memset(&desc, 0, sizeof desc);
    desc.steps = 5;
    desc.past_end = true;
    desc.sampling.temperature = 1;
    desc.sampling.top_k = 5;
    USES(llm = ox_llm_open(path, NULL));
    USES(context = ox_llm_context_open(llm, NULL));
    USES(ox_tokenizer_encode(ox_llm_tokenizer(llm), "ab ba", -1, NULL, tokens, 64));
    USES(ox_llm_decode(context, &one, 1, logits));
    USES(ox_llm_generate(context, "ab", &desc, NULL));
    USES(ox_llm_context_close(context));
    USES(ox_llm_close(llm));
    remove(path);
}

static void use_stream(void) {
    ox_stream_desc desc;
    ox_stream *stream = NULL;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = 4 << 20;
    desc.tile_bytes = 32 << 10;
    desc.result_bytes = 1;
    desc.spill = getenv("OX_TEST_TMP");
    measured_what = "stream";
    USES(stream = ox_stream_open(&desc));
    if (!stream) return;
    use_operations(ox_stream_device(stream), "stream");
    USES(ox_device_close(ox_stream_device(stream)));
}

static void use_everything(void) {
    OX_SCOPE {
        use_operations(ox_cpu(), "cpu");
    }
    OX_SCOPE {
        use_the_rest();
    }
    OX_SCOPE {
        use_files();
    }
    OX_SCOPE {
        use_model();
    }
    OX_SCOPE {
        use_stream();
    }
}

#ifdef HAVE_SMALL_THREADS
static void *run_small(void *unused) {
    use_everything();
    return unused;
}

/* The guard page lies within the 64 KiB or beside them, as the system likes; thread-local variables within.
 */
static void check_small_thread(void) {
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    if (!stack_is_measured() || pthread_attr_setstacksize(&attr, 64 << 10) != 0 ||
        pthread_create(&thread, &attr, run_small, NULL) != 0)
        check_skip("a thread with 64 KiB", stack_is_measured() ? "it cannot be started" : STACK_NOT_MEASURED);
    else
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}
#endif

int main(void) {
    ox_set_threads(1);
    if (!stack_is_measured()) check_skip("bytes of stack", STACK_NOT_MEASURED);
    paints = true;
    use_everything();
    paints = false;
#ifdef HAVE_SMALL_THREADS
    check_small_thread();
#endif
    CHECK_MSG(ox_memory_get_stats().tensors == 0, "%lld tensors left",
              (long long)ox_memory_get_stats().tensors);
    return check_done("stack");
}
