/* The Vulkan device as the call sees it: which calls it takes, and who runs them.
 * One row a family: can(call) says yes only where the shader gives what the CPU gives; run records it.
 * Everything else takes the counted detour of ops/call/call.c. */

typedef struct oxi_vk_executor {
    bool (*can)(const oxi_vk_device *d, const oxi_call *call);
    ox_status (*run)(oxi_vk_device *d, const oxi_call *call);
} oxi_vk_executor;

/* By family, in the order of oxi_family. */
static const oxi_vk_executor oxi_vk_executors[OXI_FAMILY_COMPUTED] = {
    {oxi_vk_can_map, oxi_vk_map},             /* MAP */
    {oxi_vk_can_copy, oxi_vk_copy_any},       /* COPY */
    {oxi_vk_can_draw, oxi_vk_draw},           /* FILL */
    {oxi_vk_can_draw, oxi_vk_draw},           /* RANDOM */
    {oxi_vk_can_reduce, oxi_vk_reduce},       /* REDUCE */
    {oxi_vk_can_scan, oxi_vk_scan},           /* SCAN */
    {oxi_vk_can_sort, oxi_vk_sort},           /* SORT */
    {oxi_vk_can_row, oxi_vk_row},             /* ROW */
    {oxi_vk_can_index, oxi_vk_index},         /* INDEX */
    {oxi_vk_can_product, oxi_vk_product_run}, /* PRODUCT */
    {oxi_vk_can_rope, oxi_vk_rope_alone},     /* ROPE */
    {oxi_vk_can_attention, oxi_vk_attention}, /* ATTENTION */
    {oxi_vk_can_conv, oxi_vk_conv},           /* CONV */
    {oxi_vk_can_pool, oxi_vk_pool},           /* POOL */
    {oxi_vk_can_recurrence, oxi_vk_recurrence}, /* RECURRENCE */
    {oxi_vk_can_chain, oxi_vk_chain},         /* CHAIN */
    {oxi_vk_can_back, oxi_vk_back},           /* BACK */
    {NULL, NULL},                             /* SPECIAL */
    {NULL, NULL},                             /* LINALG */
    {NULL, NULL},                             /* FFT */
};

static bool oxi_vk_supports(ox_device *self, const oxi_call *call) {
    const oxi_vk_device *d = (const oxi_vk_device *)self;
    const oxi_vk_executor *executor = &oxi_vk_executors[oxi_op_row_of(call->op)->family];
    /* of the host, as parameters */
    bool takes_numbers = executor->can == oxi_vk_can_map || executor->can == oxi_vk_can_copy;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        if (t && !oxi_vk_is_here(d, t) && !(takes_numbers && oxi_vk_is_immediate(t))) return false;
    }
    return executor->can && executor->can(d, call); /* the CPU runs what has no executor */
}

static ox_status oxi_vk_run(ox_device *self, const oxi_call *call) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_vk_enter(d);
    ox_status status = oxi_vk_check_open(d);
    bool joined = false;
    if (status == OX_OK) status = oxi_vk_join(d, call, &joined);
    oxi_vk_time_call(d, call);
    if (status == OX_OK && !joined) status = oxi_vk_executors[oxi_op_row_of(call->op)->family].run(d, call);
    oxi_lock_give(&d->lock);
    return status;
}

/* A part of a product sums in the order of the whole; it is not held back, for the whole is there only
 * now. */
static ox_status oxi_vk_run_part(ox_device *self, const oxi_call *call, const oxi_part *part) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    if (oxi_op_row_of(call->op)->family != OXI_FAMILY_PRODUCT) return oxi_vk_run(self, call);
    oxi_vk_enter(d);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_flush(d);
    oxi_vk_time_call(d, call);
    if (status == OX_OK) status = oxi_vk_product_part(d, call, part->whole);
    oxi_lock_give(&d->lock);
    return status;
}

static ox_status oxi_vk_sync_open(ox_device *device);
static ox_status oxi_vk_close(ox_device *device);

static void oxi_vk_fill_base(oxi_vk_device *d) {
    d->base.name = d->device_name;
    d->base.host = false;
    d->base.alloc = oxi_vk_alloc;
    d->base.free = oxi_vk_free;
    d->base.read = oxi_vk_read;
    d->base.write = oxi_vk_write;
    d->base.copy = oxi_vk_move;
    d->base.supports = oxi_vk_supports;
    d->base.run = oxi_vk_run;
    d->base.run_part = oxi_vk_run_part;
    d->base.sync = oxi_vk_sync_open;
    d->base.close = oxi_vk_close;
    d->base.expand = NULL;
    d->base.pin = oxi_vk_pin_memory;
    d->base.unpin = oxi_vk_unpin;
    d->base.pin_event = oxi_vk_pin_event;
    d->base.copy_async = oxi_vk_copy_async;
    d->base.event_done = oxi_vk_event_done;
    d->base.event_wait = oxi_vk_event_wait;
    d->base.peer = oxi_vk_peer;
    d->base.statistics = oxi_vk_statistics;
    d->base.budget = oxi_vk_set_budget;
    d->base.ahead = &oxi_vk_ahead_functions;
    d->base.state = NULL;
}

/* ---- self-test: a driver that computes wrong is refused ------------------------------------------------ */

/* What a device gives for a few ops on x [n]; as text the name of the first that differs, or NULL. */
static const char *oxi_vk_test_ops(ox_device *device) {
    float numbers[259];
    for (int i = 0; i < 259; i++) numbers[i] = (float)(i - 130) * 0.37f;
    ox_tensor *x = oxi_copied(numbers, OX_SHAPE(7, 37), OX_F32), *there = ox_to(x, device);
    struct {
        const char *name;
        ox_tensor *host, *device;
    } pairs[] = {
        {"copies", ox_contiguous(ox_t(x)), ox_contiguous(ox_t(there))},
        {"f16", ox_cast(x, OX_F16), ox_cast(there, OX_F16)},
        {"add", ox_add(x, ox_slice(x, 1, OX_END, OX_END, -1)),
         ox_add(there, ox_slice(there, 1, OX_END, OX_END, -1))},
        {"exp", ox_exp(x), ox_exp(there)},
        {"integers", ox_mul(ox_cast(x, OX_I64), ox_integer(77)),
         ox_mul(ox_cast(there, OX_I64), ox_integer(77))},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ox_tensor *back = pairs[i].device ? ox_to(pairs[i].device, ox_cpu()) : NULL;
        if (!back || !ox_allclose(back, pairs[i].host, 1e-6, 1e-30, true)) return pairs[i].name;
    }
    return NULL;
}

static ox_status oxi_vk_self_test(oxi_vk_device *d) {
    ox_scope scope = ox_scope_begin();
    const char *wrong = oxi_vk_test_ops(&d->base);
    ox_scope_end(&scope);
    if (!wrong) return OX_OK;
    if (ox_error() != OX_OK) return ox_error();
    return oxi_fail(OX_ERR_DEVICE, "%s: %s computes %s wrong; it is not used", d->device_name, d->model,
                    wrong);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

/* At the end of the process, or before memory comes from elsewhere: no tensor is alive. */
static void oxi_vk_close_all(void) {
    oxi_lock_take(&oxi_vk_open_lock);
    for (int i = 0; i < OXI_VK_DEVICES; i++)
        if (oxi_vk_devices[i].open) {
            oxi_vk_forget_cache_path(&oxi_vk_devices[i]);
            oxi_device_leaves(&oxi_vk_devices[i].base);
            oxi_vk_stop(&oxi_vk_devices[i]);
        }
    oxi_vk_look_again();
    oxi_lock_give(&oxi_vk_open_lock);
}

/* Tensors in its memory or pinned for it, beside what the device keeps for itself. */
static int64_t oxi_vk_tensors_on(oxi_vk_device *d) {
    oxi_lock_take(&d->lock);
    if (d->lost)
        oxi_vk_let_go(d);
    else if (d->kept_count > 0)
        (void)oxi_vk_flush(d);
    oxi_lock_give(&d->lock);
    int64_t ours = (d->fault != NULL) + (d->books != NULL);
    ours += (d->parts.chunk != NULL) + (d->late != NULL);
    for (int i = 0; i < OXI_VK_ROUNDED; i++) ours += d->rounded[i].chunk != NULL;
    for (int i = 0; i < OXI_VK_FREQUENCIES; i++)
        ours += (d->frequencies[i].chunk != NULL) + (d->turns[i].chunk != NULL);
    return d->chunks - ours + d->pin_count;
}

/* Makes a device that has `physical` and, where it is shared, `device` filled in ready for use. */
static ox_device *oxi_vk_open(oxi_vk_device *d) {
    oxi_vk_fill_base(d);
    oxi_on_fork(oxi_vk_in_child);
    ox_status status = d->shared ? OX_OK : oxi_vk_make_device(d);
    oxi_on_memory_change(oxi_vk_close_all);
    d->open = status == OX_OK;
    if (status == OX_OK) status = oxi_vk_start(d);
    if (status == OX_OK) status = oxi_vk_self_test(d);
    if (status == OX_OK) return &d->base;
    oxi_vk_stop(d);
    return NULL;
}

static ox_device *oxi_vk_open_at(int index) {
    oxi_vk_look_around();
    if (oxi_vk_host.count == 0) {
        (void)oxi_fail(OX_ERR_DEVICE, "vulkan: %s", oxi_vk_host.why);
        return NULL;
    }
    if (index < 0 || index >= oxi_vk_host.count) {
        (void)oxi_fail(OX_ERR_DEVICE, "vulkan: device %d of %d", index, oxi_vk_host.count);
        return NULL;
    }
    oxi_vk_device *d = &oxi_vk_devices[index];
    if (d->open && d->lost) oxi_device_leaves(&d->base);
    if (d->open && d->lost && oxi_vk_tensors_on(d) == 0) {
        oxi_vk_forget_cache_path(d);
        oxi_vk_stop(d);
    }
    if (d->open) return oxi_vk_check_open(d) == OX_OK ? &d->base : NULL;
    memset(d, 0, sizeof *d);
    d->place = index;
    d->host = oxi_vk_host.vk;
    d->instance = oxi_vk_host.instance;
    d->physical = oxi_vk_host.physical[index];
    (void)snprintf(d->device_name, sizeof d->device_name, "vulkan:%d", index);
    return oxi_vk_open(d);
}

OX_API ox_device *ox_vulkan(int index) {
    oxi_lock_take(&oxi_vk_open_lock);
    ox_device *device = oxi_vk_open_at(index);
    oxi_lock_give(&oxi_vk_open_lock);
    return device;
}

OX_API int ox_vulkan_count(void) {
    oxi_lock_take(&oxi_vk_open_lock);
    oxi_vk_look_around();
    int count = oxi_vk_host.count;
    oxi_lock_give(&oxi_vk_open_lock);
    return count;
}

OX_API ox_status ox_vulkan_use_loader(ox_vulkan_loader loader) {
    union { /* from the pointer type of a header without Vulkan */
        ox_vulkan_loader given;
        PFN_vkGetInstanceProcAddr wanted;
    } function;
    ox_status status = OX_OK;
    function.given = loader;
    oxi_lock_take(&oxi_vk_open_lock);
    for (int i = 0; i < OXI_VK_DEVICES; i++)
        if (oxi_vk_devices[i].open && !oxi_vk_devices[i].shared)
            status = oxi_fail(OX_ERR_ARG, "vulkan_use_loader: %s is open", oxi_vk_devices[i].device_name);
    if (status == OX_OK) {
        oxi_vk_forget_instance();
        oxi_vk_host.loader = loader ? function.wanted : NULL;
    }
    oxi_lock_give(&oxi_vk_open_lock);
    return status;
}

/* ---- facts --------------------------------------------------------------------------------------------- */

static oxi_vk_device *oxi_vk_of(const char *what, ox_device *device) {
    for (int i = 0; i < OXI_VK_DEVICES; i++)
        if (device == &oxi_vk_devices[i].base && oxi_vk_devices[i].open) return &oxi_vk_devices[i];
    for (int i = 0; i < OXI_VK_DEVICES; i++)
        if (device == &oxi_vk_devices[i].base && oxi_vk_devices[i].inherited) {
            (void)oxi_vk_check_open(&oxi_vk_devices[i]);
            return NULL;
        }
    (void)oxi_fail(OX_ERR_ARG, "%s: not an open Vulkan device", what);
    return NULL;
}

OX_API ox_status ox_vulkan_get_info(ox_device *device, ox_vulkan_info *out) {
    oxi_vk_device *d = oxi_vk_of("vulkan_info", device);
    if (!d || !out) return d ? oxi_fail_missing("vulkan_info: the facts") : OX_ERR_ARG;
    memset(out, 0, sizeof *out);
    (void)snprintf(out->name, sizeof out->name, "%s", d->model);
    (void)snprintf(out->driver, sizeof out->driver, "%s", d->driver);
    out->type = oxi_vk_type_name(d->type);
    out->api_version = d->api_version;
    out->caps = d->caps;
    out->queue_family = (int)d->queue_family;
    out->subgroup_size = d->subgroup_size;
    out->memory_bytes = d->memories.memoryHeaps[d->memories.memoryTypes[d->memory_type].heapIndex].size;
    oxi_lock_take(&d->lock);
    out->free_bytes = oxi_vk_free_bytes(d);
    oxi_lock_give(&d->lock);
    out->largest_tensor_bytes = d->tensor_bytes_most;
    out->shared = d->shared;
    return OX_OK;
}

static ox_status oxi_vk_sync_open(ox_device *device) {
    return oxi_vk_of("device_sync", device) ? oxi_vk_sync(device) : ox_error();
}

static ox_status oxi_vk_close(ox_device *device) {
    oxi_vk_device *d = oxi_vk_of("device_close", device);
    if (!d) return ox_error();
    oxi_lock_take(&oxi_vk_open_lock);
    oxi_device_leaves(&d->base);
    int64_t tensors = oxi_vk_tensors_on(d);
    if (tensors == 0) {
        oxi_vk_save_cache(d);
        oxi_vk_forget_cache_path(d);
        oxi_vk_stop(d);
    }
    oxi_lock_give(&oxi_vk_open_lock);
    if (tensors == 0) return OX_OK;
    return oxi_fail(OX_ERR_ARG, "device_close: %lld tensors are still on %s", (long long)tensors,
                    d->device_name);
}

OX_API ox_vulkan_stats ox_vulkan_get_stats(ox_device *device) {
    ox_vulkan_stats counters;
    memset(&counters, 0, sizeof counters);
    for (int i = 0; i < OXI_VK_DEVICES; i++) {
        oxi_vk_device *d = &oxi_vk_devices[i];
        if (device != &d->base || !d->open) continue;
        oxi_lock_take(&d->lock);
        if (d->kept_count > 0 && !d->lost) (void)oxi_vk_flush(d);
        counters = d->counters;
        oxi_lock_give(&d->lock);
    }
    return counters;
}

OX_API ox_status ox_vulkan_pipeline_cache(ox_device *device, const char *path) {
    oxi_vk_device *d = oxi_vk_of("vulkan_pipeline_cache", device);
    if (!d || !path) return d ? oxi_fail_missing("vulkan_pipeline_cache: the path") : OX_ERR_ARG;
    oxi_lock_take(&d->lock);
    ox_status status = oxi_vk_load_cache(d, path);
    oxi_lock_give(&d->lock);
    return status;
}
