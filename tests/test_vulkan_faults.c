/* test_vulkan_faults.c - a Vulkan device that fails: lost or out of memory at the n-th call of each kind,
 * while it is opened and while it works; memory that is used up, a budget, small limits, a driver that
 * computes wrong, no loader. An error in words or the right numbers, nothing left behind, and afterwards it
 * works. */
#include "backwards.h"
#include "operands.h"
#include "oxtorch_vulkan.h"

#if defined(__has_include) && !defined(_WIN32)
#if __has_include(<vulkan/vulkan.h>) && __has_include(<volk.h>)
#define HAS_VULKAN 1
#endif
#endif

#ifdef HAS_VULKAN
#include "vulkan_between.h"

static const char *const call_names[BETWEEN_CALLS] = {"submit", "wait",  "allocate", "buffer",   "bind",
                                                      "map",    "begin", "end",      "pipeline", "module",
                                                      "pool",   "sets",  "fence",    "device",   "instance"};

/* ---- work ---------------------------------------------------------------------------------------------- */

/* Uploads, a few ops over views, downloads: the numbers in RAM, or NULL. */
static ox_tensor *work(ox_device *gpu, ox_tensor *x, ox_tensor *large) {
    ox_tensor *y = ox_to(x, gpu), *z = ox_to(large, gpu);
    ox_tensor *a = ox_add(ox_matmul(y, ox_t(y)), ox_sum(backwards(y, OX_DIMS(1)), OX_DIMS(1), true));
    ox_tensor *b = ox_copy_(ox_slice(a, 1, 0, 40, 3), ox_number(2));
    ox_tensor *first = ox_to(a, ox_cpu());
    ox_tensor *c = ox_narrow(ox_to(z, ox_cpu()), 0, (5 << 20) + 3, 1600);
    ox_tensor *parts[2] = {ox_view(first, OX_SHAPE(1600)), ox_cast(c, OX_F32)};
    return b ? ox_cat(parts, 2, 0) : NULL;
}

typedef struct faulty {
    ox_tensor *x, *large, *right;
    ox_device *gpu;
} faulty;

static bool gives_right(faulty *f) {
    bool right = false;
    OX_SCOPE {
        ox_tensor *got = work(f->gpu, f->x, f->large);
        right = got && same_bits(got, f->right);
    }
    return right;
}

static bool says(const char *word) {
    return ox_error() != OX_OK && strstr(ox_error_text(), word);
}

/* A lost device: errors that say so, tensors that can be released without one, and it opens again. */
static void check_lost(faulty *f, ox_tensor *kept, const char *call, long at) {
    CHECK_MSG(!ox_neg(kept) && says("lost"), "%s %ld: %s", call, at, ox_error_text());
    ox_error_clear();
    CHECK_MSG(!ox_to(kept, ox_cpu()) && says("lost"), "%s %ld: %s", call, at, ox_error_text());
    ox_error_clear();
    CHECK_MSG(!ox_to(f->x, f->gpu) && says("lost"), "%s %ld: %s", call, at, ox_error_text());
    ox_error_clear();
    CHECK_MSG(!ox_vulkan(0) && says("lost"), "%s %ld: %s", call, at, ox_error_text());
    ox_error_clear();
    CHECK(ox_device_sync(f->gpu) == OX_ERR_DEVICE);
    ox_error_clear();
    CHECK(ox_device_close(f->gpu) == OX_ERR_ARG && says("tensors"));
    ox_error_clear();
    ox_release(kept);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    if (at % 2) CHECK(ox_device_close(f->gpu) == OX_OK);
    f->gpu = ox_vulkan(0);
    CHECK_MSG(f->gpu != NULL, "%s %ld: not opened again: %s", call, at, ox_error_text());
}

/* The at-th call of this kind fails. Gives false when there are fewer. */
static bool check_fault(faulty *f, between_call call, long at, VkResult result) {
    bool open = true;
    ox_tensor *kept = ox_to(f->x, f->gpu);
    CHECK(ox_device_sync(f->gpu) == OX_OK);
    between_fail(call, at, result);
    OX_SCOPE {
        ox_tensor *got = work(f->gpu, f->x, f->large);
        between.at = 0;
        CHECK_MSG(got ? same_bits(got, f->right) : ox_error() != OX_OK && ox_error_text()[0], "%s %ld: %s",
                  call_names[call], at, got ? "differs" : "no words");
        CHECK_MSG(!between.lost || (!got && says("lost")), "%s %ld: %s", call_names[call], at,
                  ox_error_text());
        ox_error_clear();
        open = ox_device_sync(f->gpu) == OX_OK;
        ox_error_clear();
    }
    if (open)
        ox_release(kept);
    else
        check_lost(f, kept, call_names[call], at);
    CHECK_MSG(f->gpu && gives_right(f), "%s %ld: the work afterwards: %s", call_names[call], at,
              ox_error_text());
    ox_error_clear();
    return between.fired > 0;
}

/* Every call of the work in turn; those that lose the device, which takes a while to open, more rarely. */
static void check_work(faulty *f) {
    static const struct {
        between_call call;
        VkResult result;
    } faults[] = {
        {BETWEEN_SUBMIT, VK_ERROR_DEVICE_LOST},
        {BETWEEN_WAIT, VK_ERROR_DEVICE_LOST},
        {BETWEEN_SUBMIT, VK_ERROR_OUT_OF_DEVICE_MEMORY},
        {BETWEEN_WAIT, VK_ERROR_OUT_OF_HOST_MEMORY},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        bool slow = faults[i].result == VK_ERROR_DEVICE_LOST;
        long at = 1, fired = 0;
        while (f->gpu && check_fault(f, faults[i].call, at, faults[i].result)) {
            at += slow && at >= 3 ? 5 : 1;
            fired++;
        }
        CHECK_MSG(fired > 0, "%s is never called", call_names[faults[i].call]);
    }
}

/* The same where the device has made nothing yet: pipelines, sets, memory and command buffers, which are
 * submitted again later, come during the work. */
static void check_first_work(faulty *f) {
    static const between_call calls[] = {BETWEEN_BEGIN,  BETWEEN_END,  BETWEEN_ALLOCATE,
                                         BETWEEN_BUFFER, BETWEEN_BIND, BETWEEN_PIPELINE,
                                         BETWEEN_MODULE, BETWEEN_POOL, BETWEEN_SETS};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (long at = 1; at < 40; at += at < 3 ? 1 : 5) {
            CHECK(ox_device_close(f->gpu) == OX_OK);
            f->gpu = ox_vulkan(0);
            const bool fired = f->gpu && check_fault(f, calls[i], at, VK_ERROR_OUT_OF_DEVICE_MEMORY);
            const bool always = at == 1 && (calls[i] == BETWEEN_BEGIN || calls[i] == BETWEEN_END);
            CHECK_MSG(fired || !always, "%s is never called", call_names[calls[i]]);
            if (!fired) break;
        }
}

/* ---- a queue for transfers ----------------------------------------------------------------------------- */

/* Pieces that go up and down while the other queue computes with the memory that had them before. */
static void check_overlap(ox_device *gpu) {
    OX_SCOPE {
        const int64_t n = 700000;
        ox_tensor *total = ox_to(ox_zeros(OX_SHAPE(n), OX_F32), gpu), *seen[20];
        for (int i = 0; i < 20; i++) {
            OX_SCOPE {
                ox_tensor *x = ox_to(ox_full(OX_SHAPE(n), i, OX_F32), gpu);
                (void)ox_add_(total, ox_mul(x, ox_number(2)));
                seen[i] = ox_keep(ox_to(x, ox_cpu()));
            }
            if (i % 7 == 3) (void)ox_copy_(total, ox_to(total, ox_cpu())); /* down, and up into the same */
        }
        for (int i = 0; i < 20; i++)
            CHECK(seen[i] && ox_item(ox_amin(seen[i], OX_ALL_DIMS, false)) == i &&
                  ox_item(ox_amax(seen[i], OX_ALL_DIMS, false)) == i);
        ox_tensor *got = ox_to(total, ox_cpu());
        CHECK(got && ox_item(ox_amin(got, OX_ALL_DIMS, false)) == 380 &&
              ox_item(ox_amax(got, OX_ALL_DIMS, false)) == 380);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

/* What a shader found wrong is told though the memory that is read comes past the queue that told it. */
static void check_tidings(ox_device *gpu) {
    OX_SCOPE {
        const int64_t wrong = 700000;
        ox_tensor *x = ox_to(ox_ones(OX_SHAPE(wrong), OX_F32), gpu), *y = ox_clone(x);
        ox_tensor *index = ox_to(ox_from_data(&wrong, OX_SHAPE(1), OX_I64), gpu);
        CHECK(ox_device_sync(gpu) == OX_OK);
        int64_t before = ox_vulkan_get_stats(gpu).transfers;
        CHECK(ox_index_select(x, 0, index) != NULL);
        CHECK(!ox_to(y, ox_cpu()) && ox_error() == OX_ERR_INDEX &&
              ox_vulkan_get_stats(gpu).transfers > before);
        ox_error_clear();
        CHECK(ox_to(y, ox_cpu()) != NULL);
        for (int i = 0; i < 3; i++) { /* of experts, told where books and biases are not */
            ox_dtype dtype = i == 2 ? OX_IQ2_S : OX_F32;
            ox_tensor *w = ox_to(ox_empty(OX_SHAPE(3, 2, 256), dtype), gpu);
            ox_tensor *bias = i == 1 ? ox_to(ox_ones(OX_SHAPE(3, 2), OX_F32), gpu) : NULL;
            ox_tensor *ids = ox_to(ox_full(OX_SHAPE(1, 2), i == 0 ? -1 : 3, OX_I32), gpu);
            ox_tensor *row = ox_narrow(ox_view(x, OX_SHAPE(1, wrong)), 1, 0, 256);
            ox_tensor *out = ox_linear_experts(row, w, ids, bias);
            CHECK(out && !ox_to(out, ox_cpu()) && ox_error() == OX_ERR_INDEX);
            CHECK_MSG(strstr(ox_error_text(), i ? "index 3 is out of range for a size of 3" : "index -1 is"),
                      "%s", ox_error_text());
            ox_error_clear();
        }
    }
}

static void check_transfers(faulty *f) {
    static const between_call calls[] = {BETWEEN_SUBMIT, BETWEEN_WAIT, BETWEEN_BEGIN, BETWEEN_END};
    ox_vulkan_info facts;
    between.transfers = 1;
    CHECK(ox_vulkan_use_loader(between_loader) == OX_OK);
    f->gpu = ox_vulkan(0);
    CHECK_MSG(f->gpu && ox_vulkan_get_info(f->gpu, &facts) == OX_OK, "%s", ox_error_text());
    if (!f->gpu) return;
    if (!(facts.caps & OX_VULKAN_CAP_TRANSFER)) {
        check_skip("queue for transfers", "no counting semaphores, or not among OX_VULKAN_CAPS");
    } else {
        CHECK_MSG(gives_right(f), "%s", ox_error_text());
        CHECK(between.on_transfer_queue > 0 &&
              ox_vulkan_get_stats(f->gpu).transfers == between.on_transfer_queue);
        check_overlap(f->gpu);
        check_tidings(f->gpu);
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            for (long at = 1; f->gpu && at < 20; at += at < 4 ? 1 : 6)
                if (!check_fault(f, calls[i], at, VK_ERROR_DEVICE_LOST)) break;
        long before = between.on_transfer_queue;
        CHECK(f->gpu && gives_right(f) && between.on_transfer_queue > before);
    }
    if (f->gpu) CHECK(ox_device_close(f->gpu) == OX_OK);
    between.transfers = 0;
    CHECK(ox_vulkan_use_loader(between_loader) == OX_OK);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static void check_opening(void) {
    for (int call = 0; call < BETWEEN_CALLS; call++)
        for (long at = 1; at < 60; at += at < 2 ? 1 : 2 * at) {
            ox_shutdown(); /* the instance stays */
            CHECK_MSG(between.alive <= 1, "%ld objects left", between.alive);
            if (call == BETWEEN_INSTANCE) CHECK(ox_vulkan_use_loader(between_loader) == OX_OK); /* it goes */
            between_fail((between_call)call, at,
                         call == BETWEEN_SUBMIT || call == BETWEEN_WAIT ? VK_ERROR_DEVICE_LOST
                                                                        : VK_ERROR_OUT_OF_HOST_MEMORY);
            ox_device *gpu = ox_vulkan(0);
            bool fired = between.fired > 0;
            between.at = 0;
            CHECK_MSG(gpu || (fired && ox_error_text()[0]), "opening, %s %ld: %s", call_names[call], at,
                      ox_error_text());
            CHECK_MSG(gpu || between.alive <= 1, "opening, %s %ld: %ld objects left", call_names[call], at,
                      between.alive);
            ox_error_clear();
            if (gpu) CHECK(ox_device_close(gpu) == OX_OK);
            if (!fired) break;
        }
    ox_shutdown();
    CHECK(ox_vulkan_use_loader(NULL) == OX_OK);
}

/* ---- limits -------------------------------------------------------------------------------------------- */

static void check_out_of_memory(void) {
    ox_device *gpu = ox_vulkan(0);
    between.most_memory = between.memory + ((VkDeviceSize)203 << 20); /* small results find room beside 40 */
    OX_SCOPE {
        ox_tensor *list[100];
        int count = 0;
        while (count < 100 && (list[count] = ox_to(ox_full(OX_SHAPE(5 << 20), count, OX_U8), gpu))) count++;
        unsigned long long needed = 0, unused = 0, used = 0;
        const char *text = strstr(ox_error_text(), "out of memory: ");
        CHECK_MSG(ox_error() == OX_ERR_NOMEM && text &&
                      sscanf(text, "out of memory: %llu bytes needed, %llu free, %llu in use", &needed,
                             &unused, &used) == 3,
                  "%s", ox_error_text());
        CHECK_MSG(needed == 5 << 20 && used >= (unsigned long long)count * (5 << 20), "%s", ox_error_text());
        CHECK(count >= 20 && count <= 40);
        ox_error_clear();
        for (int i = 0; i < count; i++) CHECK(ox_item(ox_amax(list[i], OX_ALL_DIMS, false)) == i);
        for (int i = 0; i < count; i += 2) ox_release(list[i]);
        CHECK_MSG(ox_to(ox_full(OX_SHAPE(5 << 20), 1, OX_U8), gpu) != NULL, "%s", ox_error_text());
    }
    /* one that has room only when the blocks of the small ones are given back */
    OX_SCOPE {
        CHECK_MSG(ox_to(ox_full(OX_SHAPE(120 << 20), 1, OX_U8), gpu) != NULL, "%s", ox_error_text());
    }
    between.most_memory = 0;
    CHECK(ox_device_close(gpu) == OX_OK);
}

/* The driver would give more than the budget leaves. */
static void check_budget(void) {
    ox_device *gpu = ox_vulkan(0);
    ox_vulkan_info facts;
    if (!gpu || ox_vulkan_get_info(gpu, &facts) != OX_OK || !(facts.caps & OX_VULKAN_CAP_BUDGET)) {
        check_skip("memory budget", "the device does not tell one");
    } else {
        between.free_bytes = between.memory + ((VkDeviceSize)30 << 20);
        CHECK(ox_vulkan_get_info(gpu, &facts) == OX_OK && facts.free_bytes == 30 << 20);
        OX_SCOPE {
            CHECK(!ox_to(ox_full(OX_SHAPE(100 << 20), 1, OX_U8), gpu));
            CHECK_MSG(ox_error() == OX_ERR_NOMEM && strstr(ox_error_text(), "out of memory"), "%s",
                      ox_error_text());
            ox_error_clear();
            CHECK_MSG(ox_to(ox_full(OX_SHAPE(20 << 20), 1, OX_U8), gpu) != NULL, "%s", ox_error_text());
        }
        between.free_bytes = 0;
    }
    if (gpu) CHECK(ox_device_close(gpu) == OX_OK);
}

static void check_range(faulty *f) {
    between.range = 24 << 20;
    ox_device *gpu = ox_vulkan(0);
    CHECK_MSG(gpu != NULL, "%s", ox_error_text());
    OX_SCOPE {
        CHECK(!ox_to(ox_full(OX_SHAPE((24 << 20) + 1), 1, OX_U8), gpu) && says("25165825 bytes") &&
              says("25165824"));
        ox_error_clear();
        ox_tensor *whole = ox_to(ox_full(OX_SHAPE(24 << 20), 3, OX_U8), gpu);
        CHECK_MSG(whole && ox_item(ox_amin(whole, OX_ALL_DIMS, false)) == 3, "%s", ox_error_text());
        ox_device *before = f->gpu;
        f->gpu = gpu;
        CHECK_MSG(gives_right(f), "%s", ox_error_text());
        f->gpu = before;
    }
    CHECK(ox_device_close(gpu) == OX_OK);
    between.range = 0;
}

/* A device that keeps subnormals when it is asked to: it is asked by whole modules, and only then. */
static void check_subnormals(faulty *f) {
    for (int keeps = 0; keeps < 2; keeps++) {
        ox_vulkan_info facts;
        between.keeps = keeps;
        between.asked = between.asked_wrong = 0;
        f->gpu = ox_vulkan(0);
        CHECK_MSG(f->gpu && ox_vulkan_get_info(f->gpu, &facts) == OX_OK, "%s", ox_error_text());
        if (!f->gpu) continue;
        CHECK_MSG(gives_right(f), "%s", ox_error_text());
        bool used = (facts.caps & OX_VULKAN_CAP_SUBNORMALS) != 0;
        if (keeps && !used) check_skip("subnormals", "no float controls, or not among OX_VULKAN_CAPS");
        CHECK_MSG(used == (between.asked > 0) && between.asked_wrong == 0, "%ld shaders, %ld wrong",
                  between.asked, between.asked_wrong);
        CHECK(ox_device_close(f->gpu) == OX_OK);
    }
    between.keeps = 0;
    f->gpu = NULL;
}

static void check_wrong_driver(void) {
    between.wrong = 1;
    CHECK_MSG(!ox_vulkan(0) && says("wrong"), "%s", ox_error_text());
    ox_error_clear();
    between.wrong = 0;
}

static void *no_loader(void *instance, const char *name) {
    (void)instance;
    (void)name;
    return NULL;
}

static void check_no_driver(void) {
    CHECK(ox_vulkan_use_loader(no_loader) == OX_OK);
    CHECK(!ox_vulkan(0) && ox_error() == OX_ERR_DEVICE && says("loader"));
    ox_error_clear();
    CHECK(ox_vulkan_count() == 0 && ox_error() == OX_OK);
    CHECK(ox_vulkan_use_loader(between_loader) == OX_OK);
    between_fail(BETWEEN_INSTANCE, 1, VK_ERROR_INCOMPATIBLE_DRIVER);
    CHECK(!ox_vulkan(0) && ox_error() == OX_ERR_DEVICE && says("no Vulkan driver"));
    ox_error_clear();
    between.at = 0;
    CHECK(ox_vulkan_use_loader(between_loader) == OX_OK); /* looks around anew */
    ox_device *gpu = ox_vulkan(0);
    CHECK_MSG(gpu != NULL, "%s", ox_error_text());
    CHECK(ox_vulkan_use_loader(NULL) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_device_close(gpu) == OX_OK);
}

int main(void) {
    faulty f;
    memset(&f, 0, sizeof f);
    const char *why;
    f.gpu = between_gpu(true, &why);
    if (!f.gpu) return check_skipped("vulkan_faults", why);
    OX_SCOPE {
        f.x = ox_randn(OX_SHAPE(40, 33), OX_F32);
        f.large = ox_randint(0, 255, OX_SHAPE(18 << 20), OX_U8);
        OX_SCOPE {
            f.right = work(f.gpu, f.x, f.large);
            if (f.right) f.right = ox_keep(f.right);
        }
        CHECK_MSG(f.right != NULL, "%s", ox_error_text());
        check_work(&f);
        check_first_work(&f);
        CHECK(!f.gpu || ox_device_close(f.gpu) == OX_OK);
        check_transfers(&f);
        check_range(&f);
        check_out_of_memory();
        check_budget();
        check_subnormals(&f);
        check_wrong_driver();
        check_no_driver();
    }
    check_opening();
    CHECK_MSG(between.alive == 0 && between.memory == 0, "%ld objects, %llu bytes left", between.alive,
              (unsigned long long)between.memory);
    CHECK_NO_TENSORS();
    return check_done("vulkan_faults");
}

#else
int main(void) {
    return check_skipped("vulkan_faults", "no Vulkan headers");
}
#endif
