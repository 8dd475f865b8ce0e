/* test_stream_vulkan.c - a GPU computes on the tiles of a stream: the numbers of the CPU within what the
 * devices promise, operands on the GPU beside streamed ones, results on it and in the spill file. A language
 * model larger than the budget says what it says on the CPU. */
#include "oxtorch_llm.h"
#include "oxtorch_vulkan.h"
#include "llm_make.h"
#include "stream_check.h"

enum { BUDGET_ON_GPU = 4 << 20, STEPS = 24 };

static ox_device *gpu;

static bool is_close(ox_tensor *got, ox_tensor *wanted) {
    ox_tensor *near = got ? ox_to(got, ox_cpu()) : NULL;
    return near && wanted && near->dtype == wanted->dtype && ox_allclose(near, wanted, 2e-5, 2e-5, true);
}

static ox_stream *open_on_gpu(const stream_case *c, size_t results) {
    ox_stream_desc desc = case_desc(c);
    desc.ram_bytes = BUDGET_ON_GPU;
    desc.tile_bytes = 64 << 10;
    desc.result_bytes = results;
    desc.compute = gpu;
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    return stream;
}

/* One operand in a file, one on the GPU; results small and large. */
static void test_ops(const stream_case *c, size_t results) {
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-gpu.raw", c->folder);
    ox_stream *stream = open_on_gpu(c, results);
    OX_SCOPE {
        ox_tensor *w = numbers(OX_SHAPE(333, 256), OX_F32, 1), *x = numbers(OX_SHAPE(5, 256), OX_F32, 2);
        w = ox_clamp(w, -3, 3);
        x = ox_clamp(x, -3, 3);
        put_raw(path, w, 0);
        ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(333, 256)), *there = ox_to(x, gpu);
        ox_tensor *row = ox_narrow(x, 0, 0, 1), *row_there = ox_narrow(there, 0, 0, 1);
        ox_tensor *y = ox_relu(far);
        CHECK_MSG(is_close(y, ox_relu(w)), "%s", ox_error_text());
        CHECK(ox_device_of(y) == (results > 1 ? gpu : ox_stream_device(stream)));
        CHECK(is_close(ox_add(far, row_there), ox_add(w, row)));
        CHECK(is_close(ox_add(ox_t(far), ox_exp(ox_t(far))), ox_add(ox_t(w), ox_exp(ox_t(w)))));
        CHECK(is_close(ox_linear(there, far, NULL), ox_linear(x, w, NULL)));
        CHECK(is_close(ox_matmul(far, ox_t(there)), ox_matmul(w, ox_t(x))));
        CHECK(is_close(ox_sum(far, OX_DIMS(1), false), ox_sum(w, OX_DIMS(1), false)));
        CHECK(is_close(ox_sum(far, OX_ALL_DIMS, false), ox_sum(w, OX_ALL_DIMS, false)));
        CHECK(is_close(ox_softmax(far, -1), ox_softmax(w, -1)));
        CHECK(is_close(ox_cumsum(far, 1), ox_cumsum(w, 1)));
        CHECK(is_close(ox_sort(far, 1, false).values, ox_sort(w, 1, false).values)); /* by the CPU */
        ox_tensor *ids = ox_randint(0, 333, OX_SHAPE(17), OX_I64);
        CHECK(is_close(ox_embedding(ox_to(ids, gpu), far), ox_embedding(ids, w)));
        ox_tensor *both[2] = {far, there}, *near[2] = {w, x};
        CHECK(is_close(ox_cat(both, 2, 0), ox_cat(near, 2, 0)));
        ox_tensor *moved = ox_to(w, ox_stream_device(stream)), *mine = ox_clone(w);
        CHECK(ox_add_(moved, row_there) && ox_add_(mine, row) && is_close(moved, mine));
        CHECK(ox_copy_(ox_narrow(moved, 1, 3, 5), ox_narrow(far, 1, 9, 5)) &&
              ox_copy_(ox_narrow(mine, 1, 3, 5), ox_narrow(w, 1, 9, 5)) && is_close(moved, mine));
        CHECK(!ox_add(far, row) && ox_error() == OX_ERR_DEVICE); /* RAM is nobody's here */
        ox_error_clear();
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_device_close(ox_stream_device(stream));
    remove(path);
}

/* Products go the way of the whole, also where there are so many columns that parts would go another. */
static void test_blocks(const stream_case *c, int64_t rows, int64_t columns) {
    static const ox_dtype types[] = {OX_F16, OX_Q8_0, OX_Q4_0, OX_Q4_K, OX_Q6_K};
    char path[320];
    snprintf(path, sizeof path, "%s/oxtorch-gpu.raw", c->folder);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        OX_SCOPE {
            ox_tensor *w = ox_cast(ox_randn(OX_SHAPE(columns, 2048), OX_F32), types[i]);
            ox_tensor *x = ox_randn(OX_SHAPE(rows, 2048), OX_F32);
            put_raw(path, w, 0);
            ox_stream *stream = open_on_gpu(c, 1 << 20);
            ox_tensor *far = ox_stream_raw(stream, path, 0, types[i], OX_SHAPE(columns, 2048));
            ox_tensor *near = ox_linear(ox_to(x, gpu), ox_to(w, gpu), NULL),
                      *got = ox_linear(ox_to(x, gpu), far, NULL);
            CHECK_MSG(near && ox_equal(ox_to(got, ox_cpu()), ox_to(near, ox_cpu())), "%s: %s",
                      ox_dtype_name(types[i]), ox_error_text());
            CHECK(ox_stream_get_stats(stream).tiles > 1);
            ox_tensor *ids = ox_randint(0, columns, OX_SHAPE(9), OX_I64);
            CHECK_MSG(is_close(ox_embedding(ox_to(ids, gpu), far), ox_embedding(ids, w)), "%s: %s",
                      ox_dtype_name(types[i]), ox_error_text());
            ox_device_close(ox_stream_device(stream));
        }
    remove(path);
}

/* The GPU reads the ring's cells itself, where it can import memory of the host. It may be closed while the
 * stream is open. */
static void test_pinned_ring(const stream_case *c) {
    char path[320];
    ox_tensor *w = ox_randn(OX_SHAPE(1500, 1024), OX_F32); /* more than the budget: not kept in RAM */
    ox_stream *stream = open_on_gpu(c, 1);
    ox_vulkan_info info;
    memset(&info, 0, sizeof info);
    CHECK(ox_vulkan_get_info(gpu, &info) == OX_OK);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/oxtorch-gpu-%d.raw", c->folder, i);
        put_raw(path, w, 0);
        int64_t imports = ox_vulkan_get_stats(gpu).imports;
        OX_SCOPE {
            ox_tensor *far = ox_stream_raw(stream, path, 0, OX_F32, OX_SHAPE(1500, 1024));
            CHECK_MSG(is_close(ox_relu(far), ox_relu(w)), "%s", ox_error_text());
        }
        bool imported = ox_vulkan_get_stats(gpu).imports > imports;
        CHECK(imported == ((info.caps & OX_VULKAN_CAP_HOST_MEMORY) != 0));
        CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
        gpu = ox_vulkan(0);
        remove(path);
    }
    ox_device_close(ox_stream_device(stream));
    ox_release(w);
}

typedef struct said {
    int32_t token[STEPS];
    int count;
} said;

static bool listen(void *user, const char *bytes, int64_t length, int32_t token) {
    said *s = (said *)user;
    (void)bytes, (void)length;
    s->token[s->count++] = token;
    return true;
}

/* The likeliest words after a prompt that is read in two batches. */
static said say(const char *path, ox_device *device) {
    ox_llm_generate_desc desc;
    ox_llm_context_desc batches;
    said s;
    memset(&s, 0, sizeof s);
    memset(&desc, 0, sizeof desc);
    memset(&batches, 0, sizeof batches);
    desc.steps = STEPS;
    desc.past_end = true;
    desc.text = listen;
    desc.user = &s;
    batches.batch = 8;
    ox_llm *model = ox_llm_open(path, device);
    ox_llm_context *context = model ? ox_llm_context_open(model, &batches) : NULL;
    CHECK_MSG(context && ox_llm_generate(context, "ABBACABDEADB", &desc, NULL) == OX_OK, "%s",
              ox_error_text());
    ox_llm_context_close(context);
    ox_llm_close(model);
    ox_error_clear();
    return s;
}

static void test_model(const stream_case *c, int type) {
    sizes s = {MAX_LAYERS, 256, 1536, 4, 2, 64, 64, 64, 60, type, 0, 0, 0, 1, 1};
    const char *path = gguf_path("stream_vulkan.gguf");
    gguf_make g;
    model m;
    memset(&g, 0, sizeof g);
    add_model(&g, &m, s);
    CHECK(gguf_write(&g, path) == 0);
    free_model(&m);
    ox_set_exact(true); /* activations are not rounded to 8 bits */
    said here = say(path, NULL);
    ox_set_exact(false);
    said there = say(path, gpu);
    ox_stream *stream = open_on_gpu(c, 1 << 20);
    said streamed = say(path, ox_stream_device(stream));
    CHECK(here.count == STEPS && there.count == STEPS && streamed.count == STEPS);
    CHECK_MSG(memcmp(&here, &streamed, sizeof here) == 0, "type %d", type);
    CHECK_MSG(memcmp(&there, &streamed, sizeof there) == 0, "type %d", type);
    int different = 0;
    for (int i = 1; i < STEPS; i++) different += here.token[i] != here.token[i - 1];
    CHECK_MSG(different > 3, "%d", different);
    ox_stream_stats stats = ox_stream_get_stats(stream);
    CHECK_MSG(stats.disk_bytes > 2 * (int64_t)BUDGET_ON_GPU && stats.whole_loads == 0 &&
                  stats.written_bytes == 0 && stats.kept_bytes + stats.ring_bytes <= BUDGET_ON_GPU,
              "%lld read, %lld whole, %lld written", (long long)stats.disk_bytes,
              (long long)stats.whole_loads, (long long)stats.written_bytes);
    ox_device_close(ox_stream_device(stream));
    remove(path);
}

int main(void) {
    check_cases();
    gpu = ox_vulkan_count() > 0 ? ox_vulkan(0) : NULL;
    if (!gpu) {
        check_skip("streams on a GPU", "there is no Vulkan device");
        return check_done("stream_vulkan");
    }
    for (int i = 0; i < 2; i++) {
        stream_case c = case_at(i);
        test_ops(&c, (size_t)1 << 20);
        test_ops(&c, 1);
        test_pinned_ring(&c);
        test_blocks(&c, 3, 700);
        test_blocks(&c, 2, 4200);
        test_blocks(&c, 40, 400);
        test_model(&c, i == 0 ? TYPE_F32 : TYPE_F16);
    }
    CHECK(ox_device_close(gpu) == OX_OK);
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream_vulkan");
}
