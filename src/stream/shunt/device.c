/* Opening and closing, steps, files, captures, and what is public of a shunt. */

/* ---- steps --------------------------------------------------------------------------------------------- */

static ox_status oxi_shunt_step(ox_shunt *s) {
    bool planned = false;
    ox_status status = OX_OK;
    if (oxi_shunt_is_planned(s) && !s->desc.eager) status = oxi_shunt_step_planned(s, &planned);
    if (status == OX_OK && !planned)
        status = oxi_shunt_step_online(s);
    else if (!planned)
        oxi_shunt_drop_nodes(s);
    return status;
}

/* Runs what is pending, with the lock held. */
static ox_status oxi_shunt_flush(ox_shunt *s) {
    ox_device *capture = oxi_capture;
    if (s->running || s->node_count == 0) return OX_OK;
    s->running = true;
    s->references++;
    oxi_capture = NULL; /* what runs now are the compute device's calls */
    double start = oxi_now();
    s->stats.steps++;
    s->stats.compute_seconds = s->stats.simulated_seconds = s->stats.bound_seconds = s->lanes_seconds = 0;
    s->lanes_runs = 0;
    int64_t plans = s->plans_made;
    if (oxi_shunt_is_planned(s)) {
        oxi_shunt_calibrate(s);
        oxi_shunt_write_all_over(s);
    }
    ox_status status = oxi_shunt_wants_cut(s) ? oxi_shunt_step_cut(s) : oxi_shunt_step(s);
    s->stats.wall_seconds = oxi_now() - start;
    if (status == OX_OK && s->lanes_runs > 0 && plans == s->plans_made)
        oxi_shunt_figure_note(&s->rates.around, s->stats.steps, s->stats.wall_seconds - s->lanes_seconds,
                              (double)s->lanes_runs);
    if (s->stats.bound_seconds < s->stats.compute_seconds) s->stats.bound_seconds = s->stats.compute_seconds;
    s->stats.eta = s->stats.wall_seconds > 0 ? s->stats.bound_seconds / s->stats.wall_seconds : 0;
    oxi_shunt_nodes_free(s, false);
    if (plans != s->plans_made || s->stats.steps % OXI_SHUNT_STEPS_ASKED == 1) oxi_shunt_give_back_cached(s);
    oxi_capture = capture;
    s->running = false;
    s->references--;
    return status;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void oxi_shunt_region_released(void *user, void *data) {
    oxi_shunt_item_released((ox_shunt *)user, (oxi_shunt_item *)data);
}

/* Weights that lie in files: the file is their copy on the disk. */
static ox_status oxi_shunt_region(ox_device *self, const char *path, const oxi_file_id *id, size_t offset,
                                  size_t bytes, ox_storage **out) {
    ox_shunt *s = oxi_shunt_of(self);
    ox_storage *disk = NULL;
    ox_status status = oxi_shunt_enter(s);
    if (status != OX_OK) return status;
    status = oxi_shunt_stream_open(s);
    oxi_shunt_item *item = status == OX_OK ? oxi_shunt_item_new(s, bytes, offset) : NULL;
    if (status == OX_OK && !item) status = OX_ERR_NOMEM;
    if (status == OX_OK) {
        ox_device *stream = ox_stream_device(s->stream);
        status = stream->region(stream, path, id, offset, bytes, &disk);
    }
    if (status == OX_OK) {
        item->disk = disk;
        item->file = item->disk_valid = true;
        item->disk_bytes = bytes;
        *out = oxi_storage_borrow(self, item, bytes, oxi_shunt_region_released, s);
        if (!*out) status = OX_ERR_NOMEM;
    }
    if (status != OX_OK && item) {
        item->held = false;
        oxi_shunt_item_settle(s, item);
    }
    oxi_stream_give(&s->lock);
    return status;
}

static ox_status oxi_shunt_hold(ox_device *self, bool holds) {
    ox_shunt *s = oxi_shunt_of(self);
    if (!holds && oxi_shunt_is_inherited(s)) return OX_OK;
    ox_status status = oxi_shunt_enter(s);
    if (status != OX_OK) return status;
    s->references++;
    if (holds) {
        oxi_stream_give(&s->lock);
        return OX_OK;
    }
    s->references--;
    oxi_shunt_release(s);
    return OX_OK;
}

static void oxi_shunt_statistics(ox_device *self, ox_device_stats *out) {
    ox_shunt *s = oxi_shunt_of(self);
    if (oxi_shunt_is_inherited(s)) return;
    oxi_stream_take(&s->tiers);
    out->bytes_in_use = s->stats.device_bytes;
    out->bytes_peak = s->stats.device_peak;
    out->bytes_reserved = s->arena ? s->desc.device_bytes : s->stats.device_bytes;
    out->bytes_budget = s->desc.device_bytes;
    oxi_stream_give(&s->tiers);
}

static ox_status oxi_shunt_budget(ox_device *self, uint64_t bytes) {
    ox_shunt *s = oxi_shunt_of(self);
    return oxi_fail(OX_ERR_UNSUPPORTED, "%s: its budgets are those that it was opened with, not %llu bytes",
                    s->name, (unsigned long long)bytes);
}

/* ---- opening and closing ------------------------------------------------------------------------------- */

/* "512", "64K", "3.5G" .. */
static bool oxi_shunt_bytes_of(const char *text, uint64_t *out) {
    char *end;
    double number = strtod(text, &end);
    const char *letters = "KMG", *letter = *end ? strchr(letters, *end) : NULL;
    if (letter && *letter && end > text) {
        for (const char *l = letters; l <= letter; l++) number *= 1024;
        end++;
    }
    if (end == text || *end || !(number >= 0) || number > 9e18 || (number > 0 && number < 1)) return false;
    *out = (uint64_t)number;
    return true;
}

static ox_status oxi_shunt_environment(ox_shunt_desc *desc) {
    const struct {
        const char *name;
        uint64_t *bytes;
    } budgets[3] = {{"OX_SHUNT_DEVICE_BYTES", &desc->device_bytes},
                    {"OX_SHUNT_HOST_BYTES", &desc->host_bytes},
                    {"OX_SHUNT_DISK_BYTES", &desc->disk_bytes}};
    for (int i = 0; i < 3; i++) {
        const char *text = getenv(budgets[i].name);
        if (!text || !*text || *budgets[i].bytes) continue;
        if (!oxi_shunt_bytes_of(text, budgets[i].bytes))
            return oxi_fail(OX_ERR_ARG, "shunt_open: %s=%.40s is no number of bytes", budgets[i].name, text);
    }
    const char *eager = getenv("OX_SHUNT_EAGER");
    if (!desc->spill) desc->spill = getenv("OX_SHUNT_SPILL");
    if (!desc->trace) desc->trace = getenv("OX_SHUNT_TRACE");
    if (desc->trace && !*desc->trace) desc->trace = NULL;
    bool is_number = !eager || !*eager || strcmp(eager, "0") == 0 || strcmp(eager, "1") == 0;
    if (!is_number) return oxi_fail(OX_ERR_ARG, "shunt_open: OX_SHUNT_EAGER=%.40s is neither 0 nor 1", eager);
    if (eager && *eager == '1') desc->eager = true;
    return OX_OK;
}

/* What has values that are none of those in the header. */
static ox_status oxi_shunt_check_choices(const ox_shunt_desc *desc) {
    const unsigned classes = OX_COMPRESS_WEIGHTS | OX_COMPRESS_ACTIVATIONS | OX_COMPRESS_STATE |
                             OX_COMPRESS_ALWAYS;
    if ((unsigned)desc->recompute > OX_RECOMPUTE_EXACT)
        return oxi_fail(OX_ERR_ARG, "shunt_open: recompute %d is none", (int)desc->recompute);
    if ((unsigned)desc->compression > OX_COMPRESSION_Q4)
        return oxi_fail(OX_ERR_ARG, "shunt_open: compression %d is none", (int)desc->compression);
    if (desc->compress & ~classes)
        return oxi_fail(OX_ERR_ARG, "shunt_open: compress 0x%x has classes that there are not",
                        desc->compress);
    if (desc->compression != OX_COMPRESSION_NONE && (desc->compress & ~(unsigned)OX_COMPRESS_ALWAYS) == 0)
        return oxi_fail(OX_ERR_ARG, "shunt_open: compression of nothing: compress wants OX_COMPRESS_...");
    if (!(desc->search_seconds >= 0 && desc->search_seconds <= DBL_MAX))
        return oxi_fail(OX_ERR_ARG, "shunt_open: a search of %g seconds", desc->search_seconds);
    return OX_OK;
}

static ox_status oxi_shunt_describe(ox_shunt_desc *desc) {
    ox_status status = oxi_shunt_environment(desc);
    if (status == OX_OK) status = oxi_shunt_check_choices(desc);
    if (status != OX_OK) return status;
    if (!desc->compute) desc->compute = ox_cpu();
    if (desc->compute->partner || desc->compute->hold)
        return oxi_fail(OX_ERR_ARG, "shunt_open: %s leaves computing to others", desc->compute->name);
    if (desc->device_bytes > SIZE_MAX / 4)
        return oxi_fail(OX_ERR_ARG, "shunt_open: a budget of %llu bytes",
                        (unsigned long long)desc->device_bytes);
    if (desc->device_bytes > 0 && desc->device_bytes < 16 * OXI_SHUNT_PAGE)
        return oxi_fail(OX_ERR_ARG, "shunt_open: a budget of %llu bytes is less than %d",
                        (unsigned long long)desc->device_bytes, 16 * OXI_SHUNT_PAGE);
    if (desc->host_bytes == 0 && !desc->compute->host) desc->host_bytes = oxi_available_memory() / 2;
    if (!desc->spill || !*desc->spill) desc->spill = oxi_stream_temporary();
    return OX_OK;
}

/* Ends the capture of this thread. Its shunt lives as long: another thread may have closed it. */
static void oxi_shunt_capture_leave(void) {
    ox_shunt *s = oxi_capture ? oxi_shunt_of(oxi_capture) : NULL;
    oxi_capture = NULL;
    if (!s || oxi_shunt_is_inherited(s)) return;
    oxi_stream_take(&s->lock);
    s->captures--;
    oxi_shunt_release(s);
}

/* The user's reference: calls that nobody asked for go. */
static ox_status oxi_shunt_close_device(ox_device *self) {
    ox_shunt *s = oxi_shunt_of(self);
    if (oxi_shunt_is_inherited(s)) return OX_OK;
    if (oxi_capture == self) oxi_shunt_capture_leave();
    oxi_stream_take(&s->lock);
    if (s->captures == 0) { /* else another thread's go on, and end with a step */
        oxi_shunt_drop_nodes(s);
        oxi_shunt_nodes_free(s, false);
    }
    s->closed = true;
    oxi_shunt_release(s);
    return OX_OK;
}

static void oxi_shunt_make_device(ox_shunt *s) {
    static int64_t counter;
    ox_device *device = &s->device;
    (void)snprintf(s->name, sizeof s->name, "shunt:%lld", (long long)oxi_atomic_add(&counter, 1) - 1);
    device->name = s->name;
    device->alloc = oxi_shunt_alloc;
    device->free = oxi_shunt_give_back;
    device->read = oxi_shunt_read;
    device->write = oxi_shunt_write;
    device->copy = oxi_shunt_copy;
    device->supports = oxi_shunt_supports;
    device->run = oxi_shunt_run;
    device->sync = oxi_shunt_sync;
    device->close = oxi_shunt_close_device;
    device->state = s;
    device->like_cpu = s->compute->host;
    device->times_calls = true;
    device->region = oxi_shunt_region;
    device->hold = oxi_shunt_hold;
    device->statistics = oxi_shunt_statistics;
    device->budget = oxi_shunt_budget;
}

/* The part of a budget that small items share, and how small those are. A GPU's weights want the rest more:
 * what has no room there comes over the disk. */
static void oxi_shunt_divide(ox_shunt *s) {
    uint64_t all = s->desc.device_bytes / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE;
    const uint64_t most = (uint64_t)(s->compute->host ? 64 : 32) << 20;
    uint64_t shared = all / 16 < most ? all / 16 : most;
    s->desc.device_bytes = all;
    s->main_bytes = all - shared / OXI_SHUNT_PAGE * OXI_SHUNT_PAGE;
    s->small_most = shared / 64 / OXI_SHUNT_ALIGN * OXI_SHUNT_ALIGN;
}

static char *oxi_shunt_text(const char *text, size_t *bytes) {
    *bytes = strlen(text) + 1;
    char *copy = (char *)oxi_alloc(*bytes);
    if (copy) memcpy(copy, text, *bytes);
    return copy;
}

static void oxi_shunt_free(ox_shunt *s) {
    oxi_shunt_ahead_end(s);
    oxi_shunt_crew_close(s);
    if (oxi_shunt_trace_write(s) != OX_OK) oxi_log(OX_LOG_ERROR, "%s: no trace", s->name);
    for (int i = 0; i < OXI_SHUNT_PLANS; i++) oxi_shunt_plan_free(s->plans[i]);
    oxi_shunt_nodes_free(s, true);
    oxi_free(s->nodes, s->node_room * sizeof *s->nodes);
    oxi_free(s->table, s->table_room * sizeof *s->table);
    for (int part = 0; part < 2; part++)
        oxi_free(s->resident[part].item, s->resident[part].room * sizeof(oxi_shunt_item *));
    oxi_free(s->spans, s->span_room * sizeof *s->spans);
    for (int k = 0; k < 2; k++) oxi_shunt_ring_drop(s, k);
    oxi_shunt_kept_trim(s, 0);
    oxi_free(s->kept, s->kept_room * sizeof *s->kept);
    if (s->arena) s->compute->free(s->compute, s->arena, (size_t)s->desc.device_bytes);
    if (s->stream) (void)ox_device_close(ox_stream_device(s->stream));
    oxi_free(s->spill, s->spill_bytes);
    oxi_free(s->trace_path, s->trace_bytes);
    oxi_free(s, sizeof *s);
}

OX_API ox_shunt *ox_shunt_open(const ox_shunt_desc *desc) {
    ox_shunt_desc filled;
    memset(&filled, 0, sizeof filled);
    if (desc) filled = *desc;
    if (oxi_shunt_describe(&filled) != OX_OK) return NULL;
    ox_shunt *s = (ox_shunt *)oxi_calloc(1, sizeof *s);
    if (!s) return NULL;
#ifndef OX_NO_THREADS
    static const oxi_mutex open_mutex = OXI_MUTEX_OPEN;
    s->lock = s->tiers = s->opening = open_mutex;
#endif
    s->references = 1;
    s->forks = oxi_forks();
    s->desc = filled;
    s->compute = filled.compute;
    s->items.next = s->items.previous = &s->items;
    s->origin = oxi_now();
    oxi_shunt_divide(s);
    oxi_shunt_make_device(s);
    s->spill = oxi_shunt_text(filled.spill, &s->spill_bytes);
    if (filled.trace) s->trace_path = oxi_shunt_text(filled.trace, &s->trace_bytes);
    if (s->spill && (!filled.trace || s->trace_path)) return s;
    oxi_shunt_free(s);
    return NULL;
}

OX_API ox_device *ox_shunt_device(ox_shunt *shunt) {
    if (!shunt) (void)oxi_fail_missing("shunt_device: the shunt");
    return shunt ? &shunt->device : NULL;
}

OX_API ox_status ox_shunt_close(ox_shunt *shunt) {
    return shunt ? oxi_shunt_close_device(&shunt->device) : OX_OK;
}

/* ---- captures ------------------------------------------------------------------------------------------ */

OX_API ox_status ox_capture_begin(ox_shunt *shunt) {
    if (!shunt) return oxi_fail_missing("capture_begin: the shunt");
    ox_status status = oxi_shunt_enter(shunt);
    if (status != OX_OK) return status;
    shunt->references++; /* the capture's own */
    shunt->captures++;
    oxi_stream_give(&shunt->lock);
    oxi_shunt_capture_leave();
    oxi_capture = &shunt->device;
    return OX_OK;
}

OX_API ox_status ox_capture_end(ox_shunt *shunt) {
    if (!shunt) return oxi_fail_missing("capture_end: the shunt");
    ox_device *capture = oxi_capture;
    bool own = capture == &shunt->device;
    if (own) oxi_capture = NULL;
    ox_status status = oxi_shunt_sync(&shunt->device);
    if (!own) return status;
    oxi_capture = capture;
    oxi_shunt_capture_leave();
    return status;
}

/* ---- looking ------------------------------------------------------------------------------------------- */

OX_API ox_shunt_stats ox_shunt_get_stats(ox_shunt *shunt) {
    ox_shunt_stats stats;
    memset(&stats, 0, sizeof stats);
    if (!shunt || oxi_shunt_is_inherited(shunt)) return stats;
    oxi_stream_take(&shunt->lock);
    oxi_stream_take(&shunt->tiers);
    stats = shunt->stats;
    oxi_stream_give(&shunt->tiers);
    if (shunt->stream) {
        ox_device_stats disk = ox_device_get_stats(ox_stream_device(shunt->stream));
        stats.disk_bytes = disk.bytes_in_use;
        stats.disk_peak = disk.bytes_peak;
    }
    oxi_stream_give(&shunt->lock);
    return stats;
}
