/* test_device.c - what devices have in common, on the CPU, a stream and Vulkan, there also with a queue for
 * transfers and without imported memory: copies of odd sizes from odd places against a model in plain
 * memory, events in any order, pinned tensors, budgets, closing while copies are under way, failures at every
 * call, and two devices. It tests internals. OX_O0: the compiler takes longest here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define OX_IMPLEMENTATION
#define OX_STATIC
#define OX_NO_SIMD /* no kernels are tested here: compile less */
#define OX_NO_VOLK_IMPLEMENTATION
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

#include "check.h"
#include "hook_alloc.h"

#if defined(OXI_HAS_VOLK) && !defined(_WIN32)
#define HAS_VULKAN 1
#include "vulkan_between.h"
#include "vulkan_modules.h"
#endif

/* ---- a model ------------------------------------------------------------------------------------------- */

enum { AREA = 3 << 20, AREAS = 4, COPIES = 300, EVENTS = 7 };

static uint64_t state = 88172645463325252u;

static uint64_t some(uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

/* Areas 0 and 1 are the device's, 2 is pinned, 3 ordinary; model[i] is what area i should have. */
typedef struct areas {
    ox_device *device;
    oxi_place place[AREAS];
    unsigned char *model[AREAS];
    oxi_pin pin;
} areas;

static bool make_areas(areas *a, ox_device *device) {
    bool made = true;
    memset(a, 0, sizeof *a);
    a->device = device;
    for (int i = 0; i < AREAS; i++) {
        a->place[i].device = i < 2 ? device : ox_cpu();
        a->model[i] = (unsigned char *)malloc(AREA);
        for (int k = 0; k < AREA; k++) a->model[i][k] = (unsigned char)(some(256));
    }
    made = device->alloc(device, AREA, &a->place[0].memory) == OX_OK &&
           device->alloc(device, AREA, &a->place[1].memory) == OX_OK;
    made = made && oxi_pin_make(device, AREA, &a->pin);
    a->place[2].memory = a->pin.memory;
    a->place[3].memory = malloc(AREA);
    for (int i = 0; i < AREAS && made; i++) {
        if (i < 2)
            made = device->write(device, a->place[i].memory, 0, a->model[i], AREA) == OX_OK;
        else
            memcpy(a->place[i].memory, a->model[i], AREA);
    }
    return made;
}

static void check_areas(areas *a, const char *what) {
    unsigned char *got = (unsigned char *)malloc(AREA);
    for (int i = 0; i < AREAS; i++) {
        if (i < 2)
            CHECK(a->device->read(a->device, a->place[i].memory, 0, got, AREA) == OX_OK);
        else
            memcpy(got, a->place[i].memory, AREA);
        CHECK_MSG(memcmp(got, a->model[i], AREA) == 0, "%s: area %d on %s", what, i, a->device->name);
    }
    free(got);
}

static void drop_areas(areas *a) {
    oxi_pin_drop(&a->pin);
    for (int i = 0; i < 2; i++)
        if (a->place[i].memory) a->device->free(a->device, a->place[i].memory, AREA);
    free(a->place[3].memory);
    for (int i = 0; i < AREAS; i++) free(a->model[i]);
}

/* Copies in a row, of which each may name an earlier one that it comes behind; nobody waits for most. */
static void test_copies(ox_device *device) {
    areas a;
    oxi_event event[EVENTS];
    memset(event, 0, sizeof event);
    CHECK_MSG(make_areas(&a, device), "%s: %s", device->name, ox_error_text());
    for (int n = 0; n < COPIES; n++) {
        int to = (int)some(AREAS), from = (int)some(AREAS);
        size_t bytes = 1 + (size_t)some(n % 5 == 0 ? AREA / 2 : n % 3 == 0 ? 70000 : 300);
        oxi_place goal, source;
        if (to == from || (to >= 2 && from >= 2)) to = (int)some(2), from = 2 + (int)some(2);
        goal = a.place[to];
        source = a.place[from];
        goal.offset = some(AREA - bytes + 1);
        source.offset = some(AREA - bytes + 1);
        if (to < 2 && from < 2) { /* within the device: in words, as copies of buffers go */
            bytes = (bytes + 3) / 4 * 4;
            goal.offset = goal.offset / 4 * 4 % (AREA - bytes);
            source.offset = source.offset / 4 * 4 % (AREA - bytes);
            goal.offset = goal.offset / 4 * 4;
            source.offset = source.offset / 4 * 4;
        }
        if (to == 3 || from == 3) /* ordinary memory is the host's to order */
            for (int k = 0; k < EVENTS; k++) CHECK(oxi_event_wait(&event[k]) == OX_OK);
        const oxi_event *after = some(3) ? &event[some(EVENTS)] : NULL;
        oxi_event done;
        CHECK_MSG(device->copy_async(device, &goal, &source, bytes, after, &done) == OX_OK, "%s",
                  ox_error_text());
        memcpy(a.model[to] + goal.offset, a.model[from] + source.offset, bytes);
        event[some(EVENTS)] = done;
        if (some(8) == 0) {
            CHECK(oxi_event_wait(&done) == OX_OK && oxi_event_done(&done));
            if (to >= 2)
                CHECK(memcmp((char *)goal.memory + goal.offset, a.model[to] + goal.offset, bytes) == 0);
        }
        if (some(9) == 0) { /* the host writes into pinned memory, when nobody else does */
            oxi_event all = device->pin_event(device, a.pin.handle);
            CHECK(oxi_event_wait(&all) == OX_OK);
            size_t at = some(AREA - 1000);
            memset((char *)a.pin.memory + at, n, 1000);
            memset(a.model[2] + at, n, 1000);
        }
    }
    oxi_event all = device->pin_event(device, a.pin.handle);
    for (int n = 0; !oxi_event_done(&all) && n < 20000; n++) oxi_yield();
    for (int k = EVENTS - 1; k >= 0; k--) CHECK(oxi_event_wait(&event[k]) == OX_OK);
    CHECK(oxi_event_wait(&all) == OX_OK && oxi_event_done(&all));
    check_areas(&a, "copies");
    drop_areas(&a);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

static ox_tensor *ramp(int64_t n, double first) {
    return ox_add_number(ox_arange(0, (double)n, 1, OX_F32), first);
}

static void test_pinned(ox_device *device) {
    static const int64_t sizes[] = {0, 1, 3, 1000, 20011, 70001, 300007, 2000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        OX_SCOPE {
            const int64_t n = sizes[i];
            ox_tensor *x = ramp(n, 5), *pinned = ox_pin(x, device);
            CHECK_MSG(pinned && ox_equal(pinned, x), "%s: %s", device->name, ox_error_text());
            CHECK(n == 0 || ox_is_pinned(pinned, device) == (device->pin != NULL));
            ox_tensor *again = ox_pin(pinned, device);
            if (n > 0 && device->pin) CHECK(again && again->storage == pinned->storage);
            CHECK(again && again != pinned && again->storage != x->storage);
            ox_tensor *there = ox_to_async(pinned, device);
            CHECK(there && ox_device_of(there) == device);
            ox_tensor *twice = ox_to_async(ox_add(there, there), ox_cpu()); /* computed behind the upload */
            CHECK(twice && ox_equal(twice, ox_add(x, x)));
            CHECK(ox_is_ready(twice) && ox_wait(twice) == OX_OK);
            if (n > 10 && !device->host) { /* part of one, from the middle of another; ox_data waits */
                ox_tensor *part = ox_narrow(pinned, 0, 3, n - 7);
                CHECK(ox_copy_async_(ox_narrow(there, 0, 1, n - 7), part) != NULL);
                (void)ox_fill_(pinned, -1); /* not before it was read */
                CHECK(ox_copy_async_(part, ox_narrow(there, 0, 0, n - 7)) == part);
                const float *got = (const float *)ox_data(pinned);
                CHECK(got[0] == -1 && got[2] == -1 && got[3] == 5 && got[4] == 8 &&
                      got[n - 5] == (float)(n - 1) && got[n - 4] == -1);
            }
        }
    CHECK_MSG(ox_error() == OX_OK, "%s: %s", device->name, ox_error_text());
}

/* Where a copy cannot go as bytes it goes as ox_copy_ does. */
static void test_other_copies(ox_device *device) {
    OX_SCOPE {
        ox_tensor *host = ox_pin(ramp(12, 1), device),
                  *there = ox_to(ox_zeros(OX_SHAPE(4, 12), OX_F32), device);
        CHECK(ox_copy_async_(there, host) == there); /* broadcasts */
        CHECK(ox_item(ox_sum(there, OX_ALL_DIMS, false)) == 4 * 78);
        CHECK(ox_copy_async_(ox_t(ox_narrow(there, 1, 0, 4)), ox_to(ox_eye(4, 4, OX_I32), ox_cpu())) != NULL);
        CHECK(ox_item(ox_sum(there, OX_ALL_DIMS, false)) == 4 * (78 - 10) + 4);
        ox_tensor *back = ox_pin(ox_zeros(OX_SHAPE(12, 4), OX_F64), device);
        CHECK(ox_copy_async_(back, ox_t(there)) == back &&
              ox_item(ox_select(ox_select(back, 0, 4), 0, 1)) == 5);
        CHECK(ox_is_ready(back));
        ox_tensor *three = ox_pin(ox_number(3), device), *nine = ox_to_async(three, device);
        CHECK(nine && ox_item(ox_mul(nine, three)) == 9);
        ox_tensor *number = ox_to_async(ox_pin(ox_full(OX_SCALAR_SHAPE, 3, OX_F32), device), device);
        CHECK(number && ox_item(number) == 3);
        CHECK(ox_copy_async_(there, ox_zeros(OX_SHAPE(5), OX_F32)) == NULL && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(ox_to_async(host, NULL) == NULL && ox_error() == OX_ERR_DEVICE);
        ox_error_clear();
        CHECK(ox_empty_pinned(OX_SHAPE(3), OX_F32, NULL) == NULL && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(ox_wait(NULL) == OX_ERR_ARG);
        ox_error_clear();
    }
    CHECK_MSG(ox_error() == OX_OK, "%s: %s", device->name, ox_error_text());
}

/* ---- budgets ------------------------------------------------------------------------------------------- */

/* Tensors of `each` bytes fit into a budget of `room` more than is in use, as many as do and no more. */
static void test_budget(ox_device *device, size_t each, uint64_t room) {
    OX_SCOPE {
        ox_tensor *kept[64], *ones = ox_ones(OX_SHAPE((int64_t)each / 4), OX_F32);
        uint64_t before = ox_device_get_stats(device).bytes_in_use, most = before + room;
        int count = 0;
        ox_trim();
        CHECK(ox_device_set_budget(device, most) == OX_OK &&
              ox_device_get_stats(device).bytes_budget == most);
        while (count < 64 && (kept[count] = oxi_tensor_new(device, OX_F32, 1, ones->shape)) != NULL) {
            CHECK(device->write(device, kept[count]->storage->data, 0, ox_data(ones), each) == OX_OK);
            CHECK(ox_device_get_stats(device).bytes_in_use <= most);
            count++;
        }
        CHECK_MSG(count >= (int)(room / each) - 2 && count <= (int)(room / each), "%s: %d of %d",
                  device->name, count, (int)(room / each));
        CHECK_MSG(ox_error() == OX_ERR_NOMEM && strstr(ox_error_text(), "a budget of"), "%s: %s",
                  device->name, ox_error_text());
        ox_error_clear();
        ox_device_stats full = ox_device_get_stats(device);
        CHECK(full.bytes_in_use >= before + (uint64_t)count * each && full.bytes_peak >= full.bytes_in_use);
        CHECK(device == ox_cpu() ? full.bytes_in_use == ox_memory_get_stats().bytes_in_use
                                 : full.bytes_reserved <= most || device->partner != NULL);
        ox_release(kept[--count]);
        kept[count] = oxi_tensor_new(device, OX_F32, 1, ones->shape);
        CHECK_MSG(kept[count] != NULL, "%s: %s", device->name, ox_error_text()); /* where one was, one fits */
        if (kept[count])
            CHECK(device->write(device, kept[count]->storage->data, 0, ox_data(ones), each) == OX_OK);
        CHECK(ox_device_set_budget(device, before / 2 + 1) == OX_OK); /* below what is in use: all stays */
        CHECK(oxi_tensor_new(device, OX_F32, 1, ones->shape) == NULL && ox_error() == OX_ERR_NOMEM);
        ox_error_clear();
        CHECK(ox_device_set_budget(device, 0) == OX_OK);
        for (int i = 0; i <= count; i++)
            CHECK(kept[i] && ox_item(ox_sum(kept[i], OX_ALL_DIMS, false)) == (double)(each / 4));
        CHECK(oxi_tensor_new(device, OX_F32, 1, ones->shape) != NULL);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s: %s", device->name, ox_error_text());
    CHECK(ox_device_set_budget(NULL, 1) == OX_ERR_ARG);
    ox_error_clear();
    CHECK(ox_device_get_stats(NULL).bytes_in_use == 0 && ox_error() == OX_ERR_ARG);
    ox_error_clear();
}

/* An op beyond the budget fails as a whole, and an op within it works at once. */
static void test_budget_of_ops(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(512, 1024), OX_F32); /* 2 MiB */
        ox_trim();
        CHECK(ox_device_set_budget(ox_cpu(), ox_memory_get_stats().bytes_in_use + (3 << 20)) == OX_OK);
        ox_tensor *y = ox_exp(x);
        CHECK(y && !ox_exp(x) && ox_error() == OX_ERR_NOMEM);
        ox_error_clear();
        CHECK(!ox_pin(x, ox_cpu()) && ox_error() == OX_ERR_NOMEM);
        ox_error_clear();
        ox_release(y);
        CHECK(ox_softmax(x, -1) != NULL);
        CHECK(ox_device_set_budget(ox_cpu(), 0) == OX_OK && ox_exp(x) != NULL);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

static void test_no_memory(void) {
    hook h = {0, INT64_MAX, 0, 0, 0, 0};
    ox_allocator hooks = {hook_alloc, hook_free, &h};
    for (int64_t at = 1; at < 40; at++) {
        CHECK(ox_set_allocator(&hooks) == OX_OK);
        hook_allow(&h, at - 1);
        OX_SCOPE {
            ox_tensor *x = ox_ones(OX_SHAPE(3000), OX_F32), *pinned = ox_pin(x, ox_cpu());
            CHECK(pinned ? ox_item(ox_sum(pinned, OX_ALL_DIMS, false)) == 3000 || ox_error() == OX_ERR_NOMEM
                         : ox_error() == OX_ERR_NOMEM);
            hook_allow(&h, INT64_MAX);
            ox_error_clear();
        }
        CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    }
    CHECK(ox_set_allocator(NULL) == OX_OK);
}

/* ---- devices ------------------------------------------------------------------------------------------- */

static void test_cpu(void) {
    uint8_t uuid[16];
    test_copies(ox_cpu());
    test_pinned(ox_cpu());
    test_other_copies(ox_cpu());
    test_budget(ox_cpu(), 1 << 20, 10 << 20);
    test_budget_of_ops();
    CHECK(!ox_device_uuid(ox_cpu(), uuid) && ox_cpu()->peer(ox_cpu(), ox_cpu()) == OXI_PEER_DIRECT);
    CHECK(ox_is_ready(NULL) && !ox_is_pinned(NULL, ox_cpu()));
}

/* What functions give that make tensors, with `device` and a dtype as this thread's defaults. */
static void check_default_device(ox_device *device, ox_dtype dtype) {
    ox_device *before = ox_default_device();
    CHECK(before == ox_cpu() && ox_default_dtype() == OX_F32 && ox_set_default_dtype(dtype) == OX_OK);
    OX_SCOPE {
        const float three[3] = {1, 2, 3};
        ox_tensor *made[12], *near = ox_full(OX_SHAPE(2, 2), 5, OX_F32);
        int n = 0;
        OX_DEVICE_SCOPE(device) {
            made[n++] = ox_zeros(OX_SHAPE(2, 3), OX_DTYPE_NONE);
            made[n++] = ox_ones(OX_SHAPE(3), OX_DTYPE_NONE);
            made[n++] = ox_full(OX_SHAPE(3), 2, OX_DTYPE_NONE);
            made[n++] = ox_empty(OX_SHAPE(5, 1), OX_DTYPE_NONE);
            made[n++] = ox_linspace(0, 1, 5, OX_DTYPE_NONE);
            made[n++] = ox_eye(3, 3, OX_DTYPE_NONE);
            made[n++] = ox_rand(OX_SHAPE(9), OX_DTYPE_NONE);
            made[n++] = ox_randn(OX_SHAPE(9), OX_DTYPE_NONE);
            int floats = n;
            made[n++] = ox_arange(0, 7, 1, OX_I64);
            made[n++] = ox_randperm(11, OX_DTYPE_NONE);
            made[n++] = ox_from_floats(three, OX_SHAPE(3), OX_DTYPE_NONE);
            made[n++] = ox_from_data(three, OX_SHAPE(3), OX_F32);
            for (int i = 0; i < n; i++) {
                CHECK_MSG(made[i] && ox_device_of(made[i]) == device, "%d on %s: %s", i, device->name,
                          ox_error_text());
                CHECK_MSG(made[i] && (i >= floats || made[i]->dtype == dtype), "%d on %s", i, device->name);
            }
            CHECK(made[9] && made[9]->dtype == OX_I64 && made[10]->dtype == OX_F32);
            CHECK(ox_device_of(ox_zeros_like(near)) == ox_cpu() && ox_device_of(ox_number(1)) == ox_cpu());
            CHECK(ox_device_of(ox_add(near, near)) == ox_cpu()); /* operations follow their operands */
            CHECK(ox_item(ox_sum(ox_masked_fill(near, ox_gt(near, ox_number(9)), 1), OX_ALL_DIMS, false)) ==
                  20);
            CHECK(ox_item(ox_sum(made[5], OX_ALL_DIMS, false)) == 3);
        }
        CHECK(ox_default_device() == ox_cpu() && ox_device_of(ox_ones(OX_SHAPE(1), OX_I8)) == ox_cpu());
        CHECK(ox_item(ox_select(made[11], 0, 2)) == 3);
    }
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_set_default_device(device) == ox_cpu() && ox_set_default_device(NULL) == device);
    CHECK(ox_set_default_dtype(OX_DTYPE_NONE) == OX_OK && ox_default_dtype() == OX_F32);
    CHECK(ox_set_default_dtype(OX_I32) == OX_ERR_DTYPE && ox_default_dtype() == OX_F32);
    ox_error_clear();
}

/* Every device is waited for and closed the same way; the CPU has nothing to do in either. */
static void check_sync_and_close(void) {
    OX_SCOPE {
        ox_tensor *x = ox_ones(OX_SHAPE(3), OX_F32);
        CHECK(ox_device_sync(ox_cpu()) == OX_OK && ox_device_close(ox_cpu()) == OX_OK);
        CHECK(ox_item(ox_sum(x, OX_ALL_DIMS, false)) == 3 && ox_error() == OX_OK);
        check_default_device(ox_cpu(), OX_F64);
        CHECK(ox_device_sync(NULL) == OX_ERR_ARG);
        ox_error_clear();
        CHECK(ox_device_close(NULL) == OX_ERR_ARG);
        ox_error_clear();
    }
}

static void test_stream(void) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = 64 << 20;
    desc.result_bytes = 4096;
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "%s", ox_error_text());
    if (!stream) return;
    ox_device *device = ox_stream_device(stream);
    CHECK(!device->copy_async && ox_cpu()->peer(ox_cpu(), device) == OXI_PEER_NONE);
    test_pinned(device);
    test_other_copies(device);
    check_default_device(device, OX_F16);
    CHECK(ox_device_sync(device) == OX_OK);
    test_budget(device, 1 << 20, 10 << 20);
    CHECK(ox_device_get_stats(device).bytes_in_use == ox_stream_get_stats(stream).spilled_bytes);
    ox_device_close(ox_stream_device(stream));
}

#ifdef HAS_VULKAN

static ox_device *open_gpu(const char *caps, int transfers) {
    if (caps)
        setenv("OX_VULKAN_CAPS", caps, 1);
    else
        unsetenv("OX_VULKAN_CAPS");
    between.transfers = transfers;
    CHECK_MSG(ox_vulkan_use_loader(between_loader) == OX_OK, "%s", ox_error_text());
    ox_device *gpu = ox_vulkan(0);
    CHECK_MSG(gpu != NULL, "%s", ox_error_text());
    return gpu;
}

/* A steady loop pins nothing, dropped memory is not handed out before its copies are over, and ox_trim gives
 * back what is kept. */
static void test_kept_pins(ox_device *gpu) {
    const int64_t n = 1 << 19;
    ox_trim();
    CHECK(ox_memory_get_stats().bytes_cached_pinned == 0);
    size_t in_use = ox_memory_get_stats().bytes_in_use;
    int64_t pins = 0;
    bool right = true;
    OX_SCOPE {
        ox_tensor *sum = ox_to(ox_zeros(OX_SHAPE(n), OX_F32), gpu);
        for (int i = 0; i < 20; i++) {
            if (i == 4) pins = ox_memory_get_stats().pins;
            OX_SCOPE { /* sizes that differ a little share memory */
                ox_tensor *host = ox_empty_pinned(OX_SHAPE(n - 100 * (i % 3)), OX_F32, gpu);
                ox_fill_(host, i);
                ox_add_(ox_narrow(sum, 0, 0, n - 200), ox_narrow(ox_to_async(host, gpu), 0, 0, n - 200));
            } /* dropped with its copy under way */
            if (i >= 3) CHECK(ox_device_sync(gpu) == OX_OK);
        }
        CHECK_MSG(ox_memory_get_stats().pins == pins, "%lld and %lld", (long long)pins,
                  (long long)ox_memory_get_stats().pins);
        ox_tensor *all = ox_narrow(ox_to(sum, ox_cpu()), 0, 0, n - 200);
        right = ox_item(ox_amin(all, OX_ALL_DIMS, false)) == 190 &&
                ox_item(ox_amax(all, OX_ALL_DIMS, false)) == 190;
    }
    CHECK_MSG(right, "%s", ox_error_text());
    ox_memory_stats kept = ox_memory_get_stats();
    CHECK(kept.bytes_cached_pinned >= 4 * (size_t)n && kept.bytes_in_use <= in_use + (1 << 20));
    ox_trim();
    CHECK(ox_memory_get_stats().bytes_cached_pinned == 0 && ox_memory_get_stats().bytes_cached == 0);
}

/* Pinned tensors keep it open; copies that are under way do not. */
static void test_closing(ox_device *gpu) {
    ox_tensor *pinned = ox_empty_pinned(OX_SHAPE(1 << 20), OX_F32, gpu);
    CHECK(pinned && ox_device_close(gpu) == OX_ERR_ARG && strstr(ox_error_text(), "1 tensors"));
    ox_error_clear();
    OX_SCOPE {
        ox_fill_(pinned, 2);
        for (int i = 0; i < 20; i++) {
            ox_tensor *there = ox_to_async(pinned, gpu);
            (void)ox_to_async(ox_mul(there, there), ox_cpu());
        }
    }
    ox_release(pinned);
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
}

/* Work with pinned memory that gives 3 everywhere, or NULL. */
static ox_tensor *pinned_work(ox_device *gpu) {
    ox_tensor *up = ox_pin(ox_ones(OX_SHAPE(300001), OX_F32), gpu),
              *small = ox_pin(ox_ones(OX_SHAPE(1), OX_F32), gpu);
    ox_tensor *there = ox_to_async(up, gpu);
    ox_tensor *sum = ox_add(there, ox_mul(there, ox_to_async(small, gpu)));
    ox_tensor *two = ox_pin(sum, gpu); /* down into a pinned one */
    ox_tensor *again = ox_to_async(two, gpu), *down = ox_to_async(ox_add(again, there), ox_cpu());
    return down && ox_wait(down) == OX_OK ? down : NULL;
}

static bool works(ox_device *gpu) {
    bool right = false;
    OX_SCOPE {
        ox_tensor *got = pinned_work(gpu);
        right = got && ox_item(ox_amin(got, OX_ALL_DIMS, false)) == 3 &&
                ox_item(ox_amax(got, OX_ALL_DIMS, false)) == 3;
    }
    return right && ox_error() == OX_OK;
}

/* The at-th call of each kind fails: an error in words or the right numbers, and afterwards it works. */
static void test_faults(const char *caps, int transfers) {
    static const struct {
        between_call call;
        VkResult result;
    } faults[] = {
        {BETWEEN_SUBMIT, VK_ERROR_DEVICE_LOST},          {BETWEEN_WAIT, VK_ERROR_DEVICE_LOST},
        {BETWEEN_SUBMIT, VK_ERROR_OUT_OF_DEVICE_MEMORY}, {BETWEEN_BEGIN, VK_ERROR_OUT_OF_HOST_MEMORY},
        {BETWEEN_END, VK_ERROR_OUT_OF_DEVICE_MEMORY},    {BETWEEN_ALLOCATE, VK_ERROR_OUT_OF_DEVICE_MEMORY},
        {BETWEEN_BUFFER, VK_ERROR_OUT_OF_DEVICE_MEMORY}, {BETWEEN_BIND, VK_ERROR_OUT_OF_HOST_MEMORY},
        {BETWEEN_MAP, VK_ERROR_MEMORY_MAP_FAILED},
    };
    long fired = 0;
    ox_device *gpu = open_gpu(caps, transfers);
    for (size_t i = 0; gpu && i < sizeof faults / sizeof *faults; i++)
        for (long at = 1; gpu && at < 12; at += at < 5 ? 1 : 3) {
            ox_trim(); /* what is pinned is pinned anew */
            between_fail(faults[i].call, at, faults[i].result);
            OX_SCOPE {
                ox_tensor *got = pinned_work(gpu);
                between.at = 0;
                fired += between.fired;
                CHECK_MSG(got ? ox_error() != OX_OK || ox_item(ox_amax(got, OX_ALL_DIMS, false)) == 3
                              : ox_error() != OX_OK && ox_error_text()[0],
                          "fault %d at %ld", (int)i, at);
            }
            ox_error_clear();
            CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
            gpu = ox_vulkan(0); /* opens it again where it was lost */
            CHECK_MSG(gpu && works(gpu), "fault %d at %ld: afterwards: %s", (int)i, at, ox_error_text());
            ox_error_clear();
        }
    CHECK(fired > 20);
    if (gpu) CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
}

/* The device two times, which share nothing but the host. */
static void test_two(const char *caps, int transfers) {
    between.twice = 1;
    ox_device *a = open_gpu(caps, transfers), *b = ox_vulkan(1);
    CHECK_MSG(a && b && a != b, "%s", ox_error_text());
    uint8_t uuid[2][16];
    if (a && b) {
        CHECK(ox_device_uuid(a, uuid[0]) && ox_device_uuid(b, uuid[1]) && memcmp(uuid[0], uuid[1], 16) == 0);
        CHECK(a->peer(a, b) == OXI_PEER_PINNED && a->peer(a, ox_cpu()) == OXI_PEER_DIRECT &&
              ox_cpu()->peer(ox_cpu(), a) == OXI_PEER_DIRECT);
        OX_SCOPE {
            static const int64_t sizes[] = {0, 5, 2097152, 2097153, 11000003};
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                ox_tensor *x = ramp(sizes[i], 1), *y = ox_mul_number(ox_to(x, a), 2);
                ox_tensor *z = ox_add(ox_to(y, b), ox_to(x, b)),
                          *back = ox_to(ox_narrow(z, 0, 0, sizes[i]), a);
                CHECK_MSG(back && ox_equal(ox_to(back, ox_cpu()), ox_mul_number(x, 3)), "%lld, %s, %d: %s",
                          (long long)sizes[i], caps ? caps : "all", transfers, ox_error_text());
            }
            ox_tensor *wide = ox_to(ramp(4000000, 0), a);
            ox_tensor *turned = ox_to(ox_t(ox_view(wide, OX_SHAPE(2000, 2000))), b);
            CHECK(turned && ox_item(ox_select(ox_select(turned, 0, 1999), 0, 3)) == 3 * 2000 + 1999);
        }
        CHECK_MSG(ox_device_close(b) == OX_OK && ox_device_close(a) == OX_OK, "%s", ox_error_text());
    }
    between.twice = 0;
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}

static void test_vulkan(const char *caps, int transfers) {
    ox_device *gpu = open_gpu(caps, transfers);
    if (!gpu) return;
    long carried = between.on_transfer_queue, ways[2] = {between.on_queue[0], between.on_queue[1]};
    test_copies(gpu);
    check_default_device(gpu, OX_BF16);
    test_pinned(gpu);
    test_other_copies(gpu);
    test_kept_pins(gpu);
    CHECK(transfers == 0 || between.on_transfer_queue > carried);
    for (int way = 0; way < transfers; way++) CHECK(between.on_queue[way] > ways[way]);
    CHECK(ox_vulkan_get_stats(gpu).imports > 0);
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
    gpu = ox_vulkan(0); /* nothing is reserved yet but a little */
    if (gpu) test_budget(gpu, 40 << 20, 200 << 20);
    test_closing(gpu);
    test_two(caps, transfers);
}

static void test_all_vulkan(void) {
    test_modules();
    static const struct {
        const char *caps;
        int transfers;
    } ways[] = {{NULL, 0}, {NULL, 1}, {NULL, 2}, {"baseline", 0}, {"baseline,transfer", 2}};
    const char *why;
    ox_device *gpu = between_gpu(false, &why);
    if (!gpu) {
        check_skip("pinned memory of a GPU", why);
        ox_error_clear();
        return;
    }
    CHECK(ox_device_close(gpu) == OX_OK);
    long alive = between.alive;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) test_vulkan(ways[i].caps, ways[i].transfers);
    test_faults(NULL, 2);
    test_faults("baseline", 0);
    unsetenv("OX_VULKAN_CAPS");
    CHECK(ox_vulkan_use_loader(NULL) == OX_OK);
    CHECK_MSG(between.alive == alive, "%ld objects left", between.alive - alive);
}

#else
static void test_all_vulkan(void) {
    check_skip("pinned memory of a GPU", "no Vulkan headers");
}
#endif

int main(void) {
    test_cpu();
    test_stream();
    test_all_vulkan();
    ox_shutdown();
    test_no_memory();
    ox_shutdown();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bytes_in_use == 0,
              "%lld tensors, %lld bytes left", (long long)ox_memory_get_stats().tensors,
              (long long)ox_memory_get_stats().bytes_in_use);
    check_sync_and_close();
    return check_done("device");
}
