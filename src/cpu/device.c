/* The CPU device: memory from base/, and one executor for each family of ops. */

static ox_status oxi_cpu_alloc(ox_device *self, size_t bytes, void **out) {
    (void)self;
    *out = oxi_try_alloc(bytes);
    if (!*out && oxi_pins_trim(NULL)) *out = oxi_try_alloc(bytes); /* what is kept for reuse goes first */
    return *out ? OX_OK : oxi_fail_memory(bytes);
}

static void oxi_cpu_free(ox_device *self, void *memory, size_t bytes) {
    (void)self;
    oxi_free(memory, bytes);
}

static ox_status oxi_cpu_read(ox_device *self, const void *memory, size_t offset, void *out, size_t bytes) {
    (void)self;
    if (bytes > 0) memcpy(out, (const char *)memory + offset, bytes);
    return OX_OK;
}

static ox_status oxi_cpu_write(ox_device *self, void *memory, size_t offset, const void *data, size_t bytes) {
    (void)self;
    if (bytes > 0) memcpy((char *)memory + offset, data, bytes);
    return OX_OK;
}

static ox_status oxi_cpu_move(ox_device *self, void *to, size_t to_offset, const void *from,
                              size_t from_offset, size_t bytes) {
    (void)self;
    if (bytes > 0) memmove((char *)to + to_offset, (const char *)from + from_offset, bytes);
    return OX_OK;
}

/* Elementwise rows and reductions that have parts are computed by these where numbers are complex. */
static bool oxi_cpu_supports(ox_device *self, const oxi_call *call) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    (void)self;
    return !row->parts || !call->out[0] || call->out[0]->dtype != OX_C64 ||
           (row->family != OXI_FAMILY_MAP && row->family != OXI_FAMILY_REDUCE);
}

/* Rows of n numbers that a task of the family BACK takes; what goes to weights is added up by tasks. */
enum { OXI_BACK_TASKS = 32, OXI_BACK_BLOCK = 16384 };
OXI_UNUSED static int64_t oxi_back_task_rows(int64_t rows, int64_t n) {
    return oxi_parts(rows, oxi_min_i64(oxi_min_i64(rows * n / OXI_BACK_BLOCK + 1, OXI_BACK_TASKS), rows));
}

/* The executors, by the name of the family: those whose parts are told something, and the others. */
static ox_status oxi_cpu_run_part(ox_device *self, const oxi_call *call, const oxi_part *part) {
    (void)self;
    switch (oxi_op_row_of(call->op)->family) {
    case OXI_FAMILY_MAP: return oxi_cpu_map(call);
    case OXI_FAMILY_COPY: return oxi_cpu_copy(call);
    case OXI_FAMILY_FILL:
    case OXI_FAMILY_RANDOM: return oxi_cpu_fill(call, part);
    case OXI_FAMILY_REDUCE: return oxi_cpu_reduce(call);
    case OXI_FAMILY_SCAN: return oxi_cpu_scan(call);
    case OXI_FAMILY_SORT: return oxi_cpu_sort(call);
    case OXI_FAMILY_ROW: return oxi_cpu_row(call, part);
    case OXI_FAMILY_INDEX: return oxi_cpu_index(call, part);
    case OXI_FAMILY_PRODUCT: return oxi_cpu_product(call, part);
    case OXI_FAMILY_ROPE: return oxi_cpu_rope(call);
    case OXI_FAMILY_ATTENTION: return oxi_cpu_attention(call, part);
    case OXI_FAMILY_SPECIAL: return oxi_cpu_special(call);
    case OXI_FAMILY_LINALG: return oxi_cpu_linalg(call, part);
    case OXI_FAMILY_FFT: return oxi_cpu_fft(call, part);
    case OXI_FAMILY_CONV: return oxi_cpu_conv(call);
    case OXI_FAMILY_POOL: return oxi_cpu_pool(call);
    case OXI_FAMILY_CHAIN: return oxi_cpu_chain(call);
    case OXI_FAMILY_BACK: return oxi_cpu_back(call, part);
    case OXI_FAMILY_RECURRENCE: return oxi_cpu_recurrence(call);
    default: return oxi_fail(OX_ERR_UNSUPPORTED, "%s: nothing to run", oxi_op_row_of(call->op)->name);
    }
}

static ox_status oxi_cpu_run(ox_device *self, const oxi_call *call) {
    return oxi_cpu_run_part(self, call, NULL);
}

static ox_status oxi_cpu_sync(ox_device *self) {
    (void)self;
    return OX_OK;
}

static ox_status oxi_cpu_expand(ox_dtype dtype, int64_t n, const void *blocks, float *out) {
    if (!oxi_cpu_kernels()->unpack[dtype]) return OX_ERR_UNSUPPORTED;
    if (out) oxi_expand_blocks(dtype, n, blocks, out);
    return OX_OK;
}

/* ---- copies, events and the budget: what is asked for is over on return -------------------------------- */

static ox_status oxi_cpu_pin(ox_device *self, void **memory, size_t bytes, void **out) {
    (void)self, (void)bytes;
    *out = *memory;
    return *memory ? OX_OK : OX_ERR_UNSUPPORTED;
}

static void oxi_cpu_unpin(ox_device *self, void *pin) {
    (void)self, (void)pin;
}

static oxi_event oxi_cpu_pin_event(ox_device *self, void *pin) {
    oxi_event over;
    (void)self, (void)pin;
    memset(&over, 0, sizeof over);
    return over;
}

static ox_status oxi_cpu_copy_async(ox_device *self, const oxi_place *to, const oxi_place *from, size_t bytes,
                                    const oxi_event *after, oxi_event *done) {
    memset(done, 0, sizeof *done);
    ox_status status = after ? oxi_event_wait(after) : OX_OK;
    if (status != OX_OK) return status;
    return oxi_cpu_move(self, to->memory, to->offset, from->memory, from->offset, bytes);
}

static bool oxi_cpu_event_done(ox_device *self, const oxi_event *event) {
    (void)self, (void)event;
    return true;
}

static ox_status oxi_cpu_event_wait(ox_device *self, const oxi_event *event) {
    (void)self, (void)event;
    return OX_OK;
}

static oxi_peer oxi_cpu_peer(ox_device *self, ox_device *other) {
    if (other == self) return OXI_PEER_DIRECT;
    return other->peer ? other->peer(other, self) : OXI_PEER_NONE;
}

static void oxi_cpu_statistics(ox_device *self, ox_device_stats *out) {
    ox_memory_stats now = ox_memory_get_stats();
    (void)self;
    out->bytes_in_use = now.bytes_in_use;
    out->bytes_peak = now.bytes_peak;
    out->bytes_reserved = (uint64_t)now.bytes_in_use + now.bytes_cached;
    out->bytes_budget = oxi_budget();
}

static ox_status oxi_cpu_set_budget(ox_device *self, uint64_t bytes) {
    (void)self;
    oxi_set_budget(bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX);
    return OX_OK;
}

static ox_device oxi_cpu_device = {
    "cpu",        true,          oxi_cpu_alloc, oxi_cpu_free,
    oxi_cpu_read, oxi_cpu_write, oxi_cpu_move,  oxi_cpu_supports,
    oxi_cpu_run,  oxi_cpu_run_part, oxi_cpu_sync, NULL,
    oxi_cpu_expand, NULL,         NULL,          0,             NULL,
    false,        NULL,          NULL,          oxi_cpu_pin,
    oxi_cpu_unpin, oxi_cpu_pin_event, oxi_cpu_copy_async, oxi_cpu_event_done,
    oxi_cpu_event_wait, oxi_cpu_peer, oxi_cpu_statistics, oxi_cpu_set_budget,
    {0},          true,
};

OX_API ox_device *ox_cpu(void) {
    return &oxi_cpu_device;
}
