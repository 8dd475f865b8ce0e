/* Reference-counted device memory.
 * The last release gives borrowed memory back to its lender and the rest to the device.
 * Shared by all views of a tensor; called by tensor.c and the file readers. */

static OXI_THREAD_LOCAL bool oxi_inference_mode; /* what this thread makes has no part in gradients */

static ox_storage *oxi_storage_header(ox_device *device, void *data, size_t bytes) {
    ox_storage *storage = (ox_storage *)oxi_calloc(1, sizeof *storage);
    if (!storage) return NULL;
    storage->references = 1;
    storage->device = device;
    storage->data = data;
    storage->bytes = bytes;
    storage->inference = oxi_inference_mode;
    oxi_atomic_add(&oxi_stat_storages, 1);
    return storage;
}

static ox_storage *oxi_storage_new(ox_device *device, size_t bytes) {
    void *data = NULL;
    if (device->alloc(device, bytes, &data) != OX_OK) return NULL;
    ox_storage *storage = oxi_storage_header(device, data, bytes);
    if (!storage) device->free(device, data, bytes);
    return storage;
}

static ox_storage *oxi_storage_borrow(ox_device *device, void *data, size_t bytes, ox_release_fn release,
                                      void *user) {
    ox_storage *storage = oxi_storage_header(device, data, bytes);
    if (!storage) return NULL;
    storage->borrowed = true;
    storage->release = release;
    storage->release_user = user;
    storage->release_data = data;
    return storage;
}

static void oxi_storage_retain(ox_storage *storage) {
    oxi_atomic_add(&storage->references, 1);
}

static void oxi_storage_release(ox_storage *storage) {
    if (!storage) return;
    /* The only owner has nobody to agree with. */
    if (oxi_atomic_load(&storage->references) != 1 && oxi_atomic_add(&storage->references, -1) != 0) return;
    if (storage->layout) storage->layout->drop(storage);
    if (!storage->borrowed)
        storage->device->free(storage->device, storage->data, storage->bytes);
    else if (storage->release)
        storage->release(storage->release_user, storage->release_data);
    oxi_free(storage, sizeof *storage);
    oxi_atomic_add(&oxi_stat_storages, -1);
}

static void oxi_storage_plain(ox_storage *storage) {
    if (storage->layout && storage->layout->leave) storage->layout->leave(storage);
    if (storage->pin) (void)oxi_pin_settle(storage->pin);
}

static void oxi_storage_unpack(ox_storage *storage) {
    oxi_storage_plain(storage);
    if (storage->layout && !storage->layout->leave) storage->layout->drop(storage);
}

static void *oxi_storage_data(ox_storage *storage) {
    oxi_storage_plain(storage);
    return storage->data;
}

/* Where this thread's calls run, which takes operands of any device then; NULL: where their operands are. */
static OXI_THREAD_LOCAL ox_device *oxi_capture;

static ox_device *oxi_common_device(ox_device *a, ox_device *b) {
    if (a == b || a->partner == b) return a;
    if (b->partner == a) return b;
    return oxi_capture && (a == oxi_capture || b == oxi_capture) ? oxi_capture : NULL;
}

static OXI_UNUSED ox_device *oxi_working_device(ox_device *device) {
    return device->partner ? device->partner : device;
}
