/* The stream device and the public functions: opening, regions for open files, moving bytes, running calls.
 * A call becomes a plan of tiles (ops/tile.c, ops/cuttable_dims.c), or what is no
 * plan (ops/cat_and_rows.c, long_lines.c, reduce.c, long_rows.c).
 * The lock is held by whoever runs, moves or frees. */

#ifdef OX_NO_THREADS
static void oxi_stream_take(oxi_stream_mutex *m) {
    (void)m;
}
static void oxi_stream_give(oxi_stream_mutex *m) {
    (void)m;
}
#else
static void oxi_stream_take(oxi_stream_mutex *m) {
    oxi_mutex_take(m);
}
static void oxi_stream_give(oxi_stream_mutex *m) {
    oxi_mutex_give(m);
}
#endif

static void oxi_stream_lock(ox_stream *stream) {
    oxi_stream_take(&stream->lock);
}
static void oxi_stream_unlock(ox_stream *stream) {
    oxi_stream_give(&stream->lock);
}

static ox_stream *oxi_stream_of(ox_device *device) {
    return (ox_stream *)device->state;
}

/* In the child of a fork a stream's ring in the kernel, its threads and its spill file are the parent's, and
 * its lock may be held for ever: nothing of it is touched, and its memory stays until the process ends. */
static bool oxi_stream_is_inherited(const ox_stream *stream) {
    return stream->forks != oxi_forks();
}

/* Takes the lock. */
static ox_status oxi_stream_enter(ox_stream *stream) {
    if (oxi_stream_is_inherited(stream))
        return oxi_fail(
            OX_ERR_DEVICE,
            "%s: the stream was opened before a fork, by the parent process; a child opens its own",
            stream->name);
    oxi_stream_lock(stream);
    return OX_OK;
}

static void oxi_stream_free(ox_stream *stream) {
    oxi_ring_free_cells(stream);
    oxi_capacitor_close(stream);
    oxi_spill_close(stream);
    oxi_reader_close(&stream->reader);
    while (stream->request_blocks) {
        oxi_request_block *block = (oxi_request_block *)stream->request_blocks;
        stream->request_blocks = block->next;
        oxi_free(block, sizeof *block);
    }
    oxi_free(stream->spill_folder, stream->spill_folder_bytes);
    oxi_free(stream, sizeof *stream);
}

/* Gives one reference back and the lock, or the whole stream. */
static void oxi_stream_release(ox_stream *stream) {
    bool last = --stream->references == 0;
    oxi_stream_unlock(stream);
    if (last) oxi_stream_free(stream);
}

/* ---- memory ------------------------------------------------------------------------------------------- */

static ox_status oxi_stream_alloc(ox_device *self, size_t bytes, void **out) {
    ox_stream *stream = oxi_stream_of(self);
    oxi_stream_region *region = NULL;
    *out = NULL;
    ox_status status = oxi_stream_enter(stream);
    if (status != OX_OK) return status;
    status = oxi_spill_alloc(stream, bytes, &region);
    oxi_stream_unlock(stream);
    *out = region;
    return status;
}

static void oxi_stream_region_free(oxi_stream_region *region) {
    ox_stream *stream = region->stream;
    if (oxi_stream_is_inherited(stream)) return;
    oxi_stream_lock(stream);
    oxi_stream_region_unlink(region);
    if (region->file == stream->spill)
        oxi_spill_free(stream, region);
    else
        oxi_stream_file_release(stream, region->file);
    oxi_stream_region_delete(region);
    oxi_stream_release(stream);
}

static void oxi_stream_give_back(ox_device *self, void *memory, size_t bytes) {
    (void)self, (void)bytes;
    oxi_stream_region_free((oxi_stream_region *)memory);
}

static void oxi_stream_region_released(void *user, void *data) {
    (void)user;
    oxi_stream_region_free((oxi_stream_region *)data);
}

/* Bytes [at, at + bytes) of a region, straight to or from host memory. */
static ox_status oxi_stream_move(const oxi_stream_region *region, size_t at, void *memory, size_t bytes,
                                 bool write) {
    ox_stream *stream = region->stream;
    oxi_stream_load load;
    memset(&load, 0, sizeof load);
    if (write) oxi_region_note(region, at, (const char *)memory, bytes);
    oxi_ring_request(stream, &load, region->file, region->offset + at, bytes, (char *)memory, write, false);
    oxi_ring_wait_for(stream, &load);
    if (load.cause != 0) return oxi_ring_fail(&load, region->file);
    return write ? OX_OK : oxi_region_check(region, at, (const char *)memory, bytes);
}

static ox_status oxi_stream_read(ox_device *self, const void *memory, size_t offset, void *out,
                                 size_t bytes) {
    ox_stream *stream = oxi_stream_of(self);
    ox_status status = oxi_stream_enter(stream);
    if (status != OX_OK) return status;
    status = oxi_stream_move((const oxi_stream_region *)memory, offset, out, bytes, false);
    oxi_stream_unlock(stream);
    return status;
}

static ox_status oxi_stream_write(ox_device *self, void *memory, size_t offset, const void *data,
                                  size_t bytes) {
    ox_stream *stream = oxi_stream_of(self);
    ox_status status = oxi_stream_enter(stream);
    if (status != OX_OK) return status;
    status =
        oxi_stream_move((const oxi_stream_region *)memory, offset, (void *)(uintptr_t)data, bytes, true);
    oxi_stream_unlock(stream);
    return status;
}

static ox_status oxi_stream_copy(ox_device *self, void *to, size_t to_offset, const void *from,
                                 size_t from_offset, size_t bytes) {
    size_t room = oxi_stream_of(self)->desc.tile_bytes, done = 0;
    char *buffer = (char *)oxi_alloc(room);
    ox_status status = buffer ? OX_OK : OX_ERR_NOMEM;
    while (status == OX_OK && done < bytes) {
        size_t part = bytes - done < room ? bytes - done : room;
        status = oxi_stream_read(self, from, from_offset + done, buffer, part);
        if (status == OX_OK) status = oxi_stream_write(self, to, to_offset + done, buffer, part);
        done += part;
    }
    oxi_free(buffer, room);
    return status;
}

static void oxi_stream_statistics(ox_device *self, ox_device_stats *out) {
    ox_stream *stream = oxi_stream_of(self);
    if (oxi_stream_is_inherited(stream)) return;
    oxi_stream_lock(stream);
    out->bytes_in_use = stream->stats.spilled_bytes;
    out->bytes_peak = stream->spill_peak;
    out->bytes_reserved = stream->spill_end;
    out->bytes_budget = stream->spill_budget;
    oxi_stream_unlock(stream);
}

static ox_status oxi_stream_budget(ox_device *self, uint64_t bytes) {
    ox_stream *stream = oxi_stream_of(self);
    ox_status status = oxi_stream_enter(stream);
    if (status != OX_OK) return status;
    stream->spill_budget = bytes;
    oxi_stream_unlock(stream);
    return OX_OK;
}

/* ---- calls -------------------------------------------------------------------------------------------- */

static bool oxi_stream_supports(ox_device *self, const oxi_call *call) {
    (void)self, (void)call;
    return true;
}

static ox_status oxi_stream_run_locked(ox_stream *stream, const oxi_call *call) {
    if (call->op == OXI_OP_cat) return oxi_stream_cat(stream, call);
    if (oxi_stream_picks(call)) return oxi_stream_rows(stream, call);
    if (oxi_stream_reduces(call)) return oxi_stream_reduce(stream, call);
    /* not on the stack, of which a program's threads may have little: kernels run below it */
    oxi_stream_plan *plan = (oxi_stream_plan *)oxi_alloc(sizeof *plan);
    bool done = false;
    ox_status status = OX_OK;
    if (!plan) return OX_ERR_NOMEM;
    oxi_plan_open(plan, stream->desc.compute, call);
    oxi_plan_cut(plan, oxi_stream_room(stream));
    if (oxi_stream_has_long_rows(stream, plan)) status = oxi_stream_long_rows_run(stream, call, &done);
    if (!done) status = oxi_stream_run_cut(stream, plan);
    oxi_free(plan, sizeof *plan);
    return status;
}

static bool oxi_stream_has_index(const oxi_call *call) {
    return oxi_op_row_of(call->op)->family == OXI_FAMILY_INDEX && call->in_count > 1 &&
           oxi_is_int(call->in[1]->dtype);
}

/* Indices in range are asked for even where they move nothing, as on the CPU. */
static ox_status oxi_stream_check_index(ox_stream *stream, const oxi_call *call) {
    const char *name = oxi_op_row_of(call->op)->name;
    ox_tensor *index = NULL, x = oxi_at_least_1d(call->in[0]);
    oxi_stream_lock(stream);
    ox_status status = oxi_ring_settle(stream);
    if (status == OX_OK) status = oxi_stream_near(stream, call->in[1], &index);
    oxi_stream_unlock(stream);
    if (status == OX_OK)
        status = call->op == OXI_OP_embedding
                     ? oxi_check_indices(name, index, x.shape[0], "a table")
                     : oxi_check_dim_indices(name, index, &x, call->attr.along.dim, NULL);
    ox_release(index);
    return status;
}

/* Nothing is read or written, but what the CPU refuses is refused. */
static ox_status oxi_stream_run_empty(ox_stream *stream, const oxi_call *call) {
    oxi_stream_plan plan;
    oxi_stream_step step;
    if (oxi_stream_has_index(call)) return oxi_stream_check_index(stream, call);
    if (call->in_count > OXI_MAX_IN || !stream->desc.compute->host) return OX_OK;
    memset(&step, 0, sizeof step);
    oxi_plan_operands(&plan, stream->desc.compute, call);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        if (plan.streamed[i] && ox_numel(&plan.operand[i]) > 0) return OX_OK;
        memcpy(step.source[i].layout.stride, plan.operand[i].stride, sizeof plan.operand[i].stride);
    }
    return oxi_plan_compute(&plan.flow, 0, &step);
}

static ox_status oxi_stream_run(ox_device *self, const oxi_call *call) {
    ox_stream *stream = oxi_stream_of(self);
    bool empty = true;
    for (int i = 0; i < call->out_count; i++) empty = empty && ox_numel(call->out[i]) == 0;
    if (empty) return oxi_stream_run_empty(stream, call);
    if (call->op == OXI_OP_linear_experts) return oxi_stream_experts(call);
    ox_status status = oxi_stream_enter(stream);
    if (status != OX_OK) return status;
    stream->stats.calls++;
    status = oxi_ring_settle(stream);
    if (status == OX_OK) status = oxi_stream_run_locked(stream, call);
    oxi_stream_unlock(stream);
    return status;
}

static ox_status oxi_stream_close(ox_device *self) {
    ox_stream *stream = oxi_stream_of(self);
    if (oxi_stream_is_inherited(stream)) return OX_OK;
    oxi_stream_lock(stream);
    oxi_stream_release(stream);
    return OX_OK;
}

static ox_status oxi_stream_sync(ox_device *self) {
    (void)self; /* a call returns when its results are written */
    return OX_OK;
}

/* Files that are open read regions of it later. */
static ox_status oxi_stream_hold(ox_device *self, bool holds) {
    ox_stream *stream = oxi_stream_of(self);
    if (!holds) {
        return oxi_stream_close(self);
    }
    ox_status status = oxi_stream_enter(stream);
    if (status != OX_OK) return status;
    stream->references++;
    oxi_stream_unlock(stream);
    return OX_OK;
}

/* ---- tensors over files ------------------------------------------------------------------------------- */

/* The storage of a file's region, which it takes over; NULL: no memory. */
static ox_storage *oxi_stream_storage_of(oxi_stream_region *region) {
    ox_storage *storage =
        oxi_storage_borrow(&region->stream->device, region, region->bytes, oxi_stream_region_released, NULL);
    if (storage)
        storage->read_only = !region->file->writable;
    else
        oxi_stream_region_free(region);
    return storage;
}

static ox_status oxi_stream_region_storage(ox_stream *stream, const char *path, const oxi_file_id *id,
                                           uint64_t offset, size_t bytes, ox_storage **out) {
    oxi_stream_region *region = NULL;
    ox_status status = oxi_stream_enter(stream);
    if (status != OX_OK) return status;
    status = oxi_stream_region_open(stream, path, id, offset, bytes, &region);
    oxi_stream_unlock(stream);
    if (status != OX_OK) return status;
    *out = oxi_stream_storage_of(region);
    return *out ? OX_OK : OX_ERR_NOMEM;
}

static ox_status oxi_stream_open_region(ox_device *device, const char *path, const oxi_file_id *id,
                                        size_t offset, size_t bytes, ox_storage **out) {
    return oxi_stream_region_storage(oxi_stream_of(device), path, id, (uint64_t)offset, bytes, out);
}

OX_API ox_tensor *ox_stream_raw(ox_stream *stream, const char *path, int64_t offset, ox_dtype dtype,
                                ox_shape shape) {
    size_t bytes = 0;
    ox_tensor meta;
    ox_storage *storage = NULL;
    if (!stream || !path || offset < 0)
        return OXI_FAIL_NULL(OX_ERR_ARG, "stream_raw: no stream, no path, or an offset of %lld",
                             (long long)offset);
    if (oxi_check_shape("stream_raw", dtype, shape.ndim, shape.dim, &bytes) != OX_OK) return NULL;
    if (oxi_stream_region_storage(stream, path, NULL, (uint64_t)offset, bytes, &storage) != OX_OK)
        return NULL;
    oxi_meta(&meta, dtype, shape.ndim, shape.dim);
    ox_tensor *t = oxi_tensor_over(storage, &meta);
    oxi_storage_release(storage);
    return t;
}

/* FOLDER/NAME.safetensors, to be freed; NULL: an error. */
static char *oxi_stream_named_path(const ox_stream *stream, const char *name, size_t *bytes) {
    bool usable = name && *name && *name != '.' && !name[strcspn(name, "/\\:")];
    if (!usable) {
        (void)oxi_fail(OX_ERR_ARG, "stream_named: %s cannot be the name of a file",
                       name ? OXI_QUOTE(name) : "NULL");
        return NULL;
    }
    *bytes = strlen(stream->spill_folder) + strlen(name) + sizeof "/.safetensors";
    char *path = (char *)oxi_alloc(*bytes);
    if (path) (void)snprintf(path, *bytes, "%s/%s.safetensors", stream->spill_folder, name);
    return path;
}

OX_API ox_tensor *ox_stream_named(ox_stream *stream, const char *name, ox_dtype dtype, ox_shape shape) {
    size_t bytes = 0, header_bytes = 0, header_room = 0, path_bytes = 0;
    ox_tensor meta, *t = NULL;
    oxi_stream_region *region = NULL;
    if (!stream) return OXI_FAIL_NULL(OX_ERR_ARG, "stream_named: no stream");
    if (oxi_check_shape("stream_named", dtype, shape.ndim, shape.dim, &bytes) != OX_OK) return NULL;
    if (oxi_big_endian_host())
        return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED, "stream_named: numbers of a file have the other byte order");
    oxi_meta(&meta, dtype, shape.ndim, shape.dim);
    char *path = oxi_stream_named_path(stream, name, &path_bytes), *header = NULL;
    bool speaks = oxi_speak("stream_named");
    if (path) header = oxi_save_header_of(name, &meta, OXI_STREAM_PAGE, &header_bytes, &header_room);
    oxi_speak_end(speaks);
    if (header && oxi_stream_enter(stream) == OX_OK) {
        (void)oxi_named_open(stream, path, header, header_bytes, bytes, &region);
        oxi_stream_unlock(stream);
    }
    ox_storage *storage = region ? oxi_stream_storage_of(region) : NULL;
    if (storage) {
        t = oxi_tensor_over(storage, &meta);
        oxi_storage_release(storage);
    }
    oxi_free(header, header_room);
    oxi_free(path, path_bytes);
    return t;
}

/* ---- opening ------------------------------------------------------------------------------------------ */

/* The folder for temporary files. */
static const char *oxi_stream_temporary(void) {
    static const char *const names[] = {"TMPDIR", "TEMP", "TMP"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *folder = getenv(names[i]);
        if (folder && *folder) return folder;
    }
#if defined(_WIN32)
    return ".";
#else
    return "/tmp";
#endif
}

static int oxi_stream_between(int value, int usual, int least, int most) {
    if (value == 0) value = usual;
    return value < least ? least : value > most ? most : value;
}

/* Fills the defaults in. */
static ox_status oxi_stream_describe(ox_stream_desc *desc) {
    const size_t page = OXI_STREAM_PAGE, least = 4 * page;
    if (!desc->compute) desc->compute = ox_cpu();
    if (desc->compute->partner)
        return oxi_fail(OX_ERR_ARG, "stream_open: %s leaves computing to others", desc->compute->name);
    if (desc->ram_bytes == 0) desc->ram_bytes = oxi_available_memory() / 2;
    desc->depth = oxi_stream_between(desc->depth, 4, OXI_STREAM_LEAST_DEPTH, OXI_STREAM_WINDOW);
    desc->queue = oxi_stream_between(desc->queue, 32, 1, 256);
    size_t most = desc->ram_bytes / (4 * (size_t)desc->depth) / page * page; /* half of the budget */
    if (desc->tile_bytes == 0) desc->tile_bytes = most / 2 < (size_t)8 << 20 ? most / 2 : (size_t)8 << 20;
    if (desc->tile_bytes < least) desc->tile_bytes = least;
    if (desc->tile_bytes > SIZE_MAX / 64) return oxi_fail(OX_ERR_ARG, "stream_open: tiles too large");
    desc->tile_bytes = (desc->tile_bytes + page - 1) / page * page;
    if (desc->tile_bytes > most)
        return oxi_fail(
            OX_ERR_ARG,
            "stream_open: a ring of %d tiles of %llu bytes needs a budget of %llu bytes, not %llu",
            2 * desc->depth, (unsigned long long)desc->tile_bytes,
            4 * (unsigned long long)desc->depth * desc->tile_bytes, (unsigned long long)desc->ram_bytes);
    if (desc->result_bytes == 0) desc->result_bytes = desc->ram_bytes / 8;
    if (!desc->spill || !*desc->spill) desc->spill = oxi_stream_temporary();
    return OX_OK;
}

static void oxi_stream_make_device(ox_stream *stream) {
    static int64_t counter;
    ox_device *device = &stream->device;
    (void)snprintf(stream->name, sizeof stream->name, "stream:%lld",
                   (long long)oxi_atomic_add(&counter, 1) - 1);
    device->name = stream->name;
    device->alloc = oxi_stream_alloc;
    device->free = oxi_stream_give_back;
    device->read = oxi_stream_read;
    device->write = oxi_stream_write;
    device->copy = oxi_stream_copy;
    device->supports = oxi_stream_supports;
    device->run = oxi_stream_run;
    device->sync = oxi_stream_sync;
    device->close = oxi_stream_close;
    device->state = stream;
    device->partner = stream->desc.compute;
    device->partner_bytes = stream->desc.result_bytes;
    device->region = oxi_stream_open_region;
    device->hold = oxi_stream_hold;
    device->statistics = oxi_stream_statistics;
    device->budget = oxi_stream_budget;
}

OX_API ox_stream *ox_stream_open(const ox_stream_desc *desc) {
    ox_stream_desc filled;
    memset(&filled, 0, sizeof filled);
    if (desc) filled = *desc;
    if (oxi_stream_describe(&filled) != OX_OK) return NULL;
    size_t base = ox_memory_get_stats().bytes_in_use;
    ox_stream *stream = (ox_stream *)oxi_calloc(1, sizeof *stream);
    if (!stream) return NULL;
#ifndef OX_NO_THREADS
    static const oxi_mutex open_mutex = OXI_MUTEX_OPEN;
    stream->lock = open_mutex;
#endif
    stream->references = 1;
    stream->forks = oxi_forks();
    stream->desc = filled;
    stream->base_bytes = base;
    stream->pace.sets_tile = !desc || desc->tile_bytes == 0;
    stream->pace.sets_depth = !desc || desc->depth == 0;
    stream->spill_folder_bytes = strlen(filled.spill) + 1;
    stream->spill_folder = (char *)oxi_alloc(stream->spill_folder_bytes);
    oxi_stream_make_device(stream);
    oxi_reader_open(&stream->reader, &stream->desc);
    if (stream->spill_folder && oxi_ring_open(stream) == OX_OK) {
        memcpy(stream->spill_folder, filled.spill, stream->spill_folder_bytes);
        stream->desc.spill = stream->spill_folder;
        return stream;
    }
    oxi_stream_free(stream);
    return NULL;
}

OX_API ox_device *ox_stream_device(ox_stream *stream) {
    if (!stream) (void)oxi_fail_missing("stream_device: the stream");
    return stream ? &stream->device : NULL;
}

OX_API ox_stream_stats ox_stream_get_stats(ox_stream *stream) {
    ox_stream_stats stats;
    memset(&stats, 0, sizeof stats);
    if (!stream || oxi_stream_is_inherited(stream)) return stats;
    oxi_stream_lock(stream);
    stats = stream->stats;
    stats.ring_bytes = stream->ring_block_bytes;
    stats.kept_bytes = stream->slab_bytes;
    stats.uring = stream->reader.uses_uring;
    stats.tile_bytes = stream->desc.tile_bytes;
    stats.depth = stream->desc.depth;
    stats.bandwidth = stream->pace.bandwidth;
    stats.latency = stream->pace.latency;
    stats.ahead_bytes = oxi_ring_ahead(stream);
    if (stream->busy_seconds > 0) stats.overlap = 1 - stats.stall_seconds / stream->busy_seconds;
    if (stats.overlap < 0) stats.overlap = 0;
    oxi_stream_unlock(stream);
    return stats;
}
