/* The profiler: times every call while it is on, then prints a table per op or a Chrome trace.
 * Records grow in one block; when memory runs out the rest of the run is not recorded, and the table says
 * so. */

/* By lane: what the trace calls it, and what happens there; calls have the names of their ops. */
static const char *const oxi_profile_lane_names[OXI_PROFILE_LANES][2] = {
    {"calls", ""}, {"gpu", ""}, {"disk", "transfer"}, {"ring", "wait"}, {"compute", "tile"}};

static int64_t oxi_profile_on; /* atomic: 1 while it is */
static OXI_THREAD_LOCAL double oxi_profile_started; /* when the call began that is heard */
static oxi_lock oxi_profile_lock; /* guards the next two lines */
static oxi_profile_record *oxi_profile_records;
static size_t oxi_profile_count, oxi_profile_room, oxi_profile_lost;

static bool oxi_profiling(void) { return oxi_atomic_load(&oxi_profile_on) != 0; }

static void oxi_profile_drop(void) {
    oxi_free(oxi_profile_records, oxi_profile_room * sizeof *oxi_profile_records);
    oxi_profile_records = NULL;
    oxi_profile_count = oxi_profile_room = oxi_profile_lost = 0;
}

static void oxi_profile_forget(void) {
    oxi_lock_take(&oxi_profile_lock);
    oxi_profile_drop();
    oxi_lock_give(&oxi_profile_lock);
}

/* Flops of a product or of attention come from its shapes, of other ops from the row. */
static double oxi_call_flops(const oxi_call *call) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    double most = (double)ox_numel(call->out[0]);
    if (row->flops >= 0) {
        for (int i = 0; i < call->in_count; i++)
            if (call->in[i] && (double)ox_numel(call->in[i]) > most) most = (double)ox_numel(call->in[i]);
        return most * row->flops;
    }
    if (row->family == OXI_FAMILY_LINALG) { /* of the order of an LU, for a matrix of a batch */
        const ox_tensor *x = call->in[0];
        double m = (double)x->shape[x->ndim - 2], n = (double)x->shape[x->ndim - 1];
        return 2 * (double)ox_numel(x) * (m < n ? m : n);
    }
    if (row->family == OXI_FAMILY_FFT) {
        const ox_tensor *x = call->in[0];
        return 5 * (double)ox_numel(x) * log2((double)x->shape[call->attr.fourier.dim] + 1);
    }
    if (call->op == OXI_OP_pinv || call->op == OXI_OP_det) return 0; /* their parts have them */
    if (row->family == OXI_FAMILY_ATTENTION) {
        const ox_tensor *q = call->in[0], *k = call->in[1];
        double half = call->attr.attention.causal ? 0.5 : 1.0;
        return half * 4.0 * (double)ox_numel(q) * (double)k->shape[k->ndim - 2];
    }
    if (row->family == OXI_FAMILY_CONV) {
        oxi_conv_form form;
        oxi_conv_form_of(call, &form);
        return oxi_conv_form_flops(&form);
    }
    if (row->family == OXI_FAMILY_RECURRENCE) /* each number of the memory decays, is written to and read */
        return (call->in[5] ? 10.0 : 6.0) * (double)ox_numel(call->in[4]) * (double)call->in[0]->shape[1];
    if (row->family == OXI_FAMILY_PARTS) { /* a layer: each number takes one of the weight's rows */
        const ox_tensor *weight = call->in[1];
        return weight->shape[0] ? 2 * most * (double)(ox_numel(weight) / weight->shape[0]) : 0;
    }
    oxi_product_form product;
    oxi_product_form_of(call, &product);
    return oxi_product_form_flops(&product);
}

static double oxi_call_bytes(const oxi_call *call) {
    double bytes = 0;
    for (int i = 0; i < call->in_count; i++) bytes += (double)ox_nbytes(call->in[i]);
    for (int i = 0; i < call->out_count; i++) bytes += (double)ox_nbytes(call->out[i]);
    return bytes;
}

static void oxi_profile_put(const oxi_profile_record *record) {
    oxi_lock_take(&oxi_profile_lock);
    if (oxi_profile_count == oxi_profile_room) {
        size_t room = oxi_profile_room ? 2 * oxi_profile_room : 1024;
        size_t bytes = oxi_profile_room * sizeof *oxi_profile_records;
        void *grown = oxi_try_alloc(room * sizeof *oxi_profile_records); /* not the op's error */
        if (grown) {
            if (bytes > 0) memcpy(grown, oxi_profile_records, bytes);
            oxi_free(oxi_profile_records, bytes);
            oxi_profile_records = (oxi_profile_record *)grown;
            oxi_profile_room = room;
        }
    }
    if (oxi_profile_count < oxi_profile_room) {
        oxi_profile_records[oxi_profile_count++] = *record;
    } else {
        oxi_profile_lost++;
    }
    oxi_lock_give(&oxi_profile_lock);
}

static oxi_profile_record oxi_profile_record_of(const oxi_call *call, oxi_profile_lane lane) {
    oxi_profile_record record;
    record.lane = lane;
    record.op = call->op;
    record.start = record.seconds = 0;
    record.flops = oxi_call_flops(call);
    record.bytes = oxi_call_bytes(call);
    return record;
}

static ox_status oxi_profile_before(oxi_listener *self, const oxi_call *call, ox_device *device) {
    (void)self, (void)call, (void)device;
    oxi_profile_started = oxi_now();
    return OX_OK;
}

static void oxi_profile_after(oxi_listener *self, const oxi_call *call, ox_device *device, ox_status status) {
    double end = oxi_now();
    (void)self;
    if (status != OX_OK || device->times_calls || oxi_op_row_of(call->op)->family > OXI_FAMILY_PARTS)
        return;
    oxi_profile_record record = oxi_profile_record_of(call, OXI_PROFILE_CALLS);
    record.start = oxi_profile_started;
    record.seconds = end - record.start;
    oxi_profile_put(&record);
}

static oxi_listener oxi_profiler = {oxi_profile_before, oxi_profile_after, NULL};

OX_API void ox_profile_begin(void) {
    oxi_profile_forget();
    oxi_on_memory_change(oxi_profile_forget);
    oxi_atomic_store(&oxi_profile_on, 1);
    (void)oxi_listen(&oxi_profiler);
}

OX_API void ox_profile_end(void) {
    oxi_atomic_store(&oxi_profile_on, 0);
    oxi_listen_end(&oxi_profiler);
}

static OXI_UNUSED void oxi_profile_span(oxi_profile_lane lane, double start, double end, double bytes) {
    oxi_profile_record record;
    if (!oxi_profiling()) return;
    memset(&record, 0, sizeof record);
    record.lane = lane;
    record.start = start;
    record.seconds = end - start;
    record.bytes = bytes;
    oxi_profile_put(&record);
}

/* ---- the table ----------------------------------------------------------------------------------------- */

/* snprintf into what is left of a buffer; returns the length of the text, 0 on failure. */
static int oxi_text_append(size_t room, char *out, const char *format, ...) OXI_PRINTF(3, 4);
static int oxi_text_append(size_t room, char *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(room ? out : NULL, room, format, arguments);
    va_end(arguments);
    return length > 0 ? length : 0;
}

typedef struct oxi_profile_line {
    int op;
    int64_t calls;
    double seconds, flops, bytes;
} oxi_profile_line;

static int oxi_profile_compare(const void *a, const void *b) {
    double x = ((const oxi_profile_line *)a)->seconds, y = ((const oxi_profile_line *)b)->seconds;
    return x > y ? -1 : x < y;
}

OX_API size_t ox_profile_table(char *out, size_t room) {
    oxi_profile_line lines[OXI_OP_COUNT];
    double total = 0;
    char none[1];
    size_t used = 0;
    if (!out) {
        out = none;
        room = 0;
    }
    for (int op = 0; op < OXI_OP_COUNT; op++) {
        lines[op].op = op;
        lines[op].calls = 0;
        lines[op].seconds = lines[op].flops = lines[op].bytes = 0;
    }
    oxi_lock_take(&oxi_profile_lock);
    for (size_t i = 0; i < oxi_profile_count; i++) {
        const oxi_profile_record *record = &oxi_profile_records[i];
        if (record->lane > OXI_PROFILE_GPU) continue;
        oxi_profile_line *line = &lines[record->op];
        line->calls++;
        line->seconds += record->seconds;
        line->flops += record->flops;
        line->bytes += record->bytes;
        total += record->seconds;
    }
    size_t lost = oxi_profile_lost;
    oxi_lock_give(&oxi_profile_lock);
    qsort(lines, OXI_OP_COUNT, sizeof *lines, oxi_profile_compare);
#define OXI_ROOM (used < room ? room - used : 0), out + (used < room ? used : 0)
    used += (size_t)oxi_text_append(OXI_ROOM, "%-20s %8s %10s %6s %9s %9s\n", "op", "calls", "ms", "share",
                                    "GFLOP/s", "GB/s");
    for (int i = 0; i < OXI_OP_COUNT && lines[i].calls > 0; i++) {
        const oxi_profile_line *line = &lines[i];
        double seconds = line->seconds > 0 ? line->seconds : 1e-12;
        used += (size_t)oxi_text_append(OXI_ROOM, "%-20s %8lld %10.3f %5.1f%% %9.2f %9.2f\n",
                                        oxi_op_row_of((oxi_op)line->op)->name, (long long)line->calls,
                                        1e3 * line->seconds, total > 0 ? 100 * line->seconds / total : 0,
                                        line->flops / seconds * 1e-9, line->bytes / seconds * 1e-9);
    }
    if (lost)
        used += (size_t)oxi_text_append(OXI_ROOM, "(%llu calls more, not recorded: out of memory)\n",
                                        (unsigned long long)lost);
#undef OXI_ROOM
    return used;
}

#ifndef OX_NO_STDIO

/* Transfers overlap, so they are events with a beginning and an end of their own. */
static bool oxi_profile_write(FILE *file, const oxi_profile_record *r, double origin, size_t number) {
    const double start = 1e6 * (r->start - origin), seconds = 1e6 * r->seconds;
    const char *name = r->lane <= OXI_PROFILE_GPU ? oxi_op_row_of(r->op)->name
                                                    : oxi_profile_lane_names[r->lane][1];
    if (r->lane != OXI_PROFILE_DISK)
        return fprintf(file,
                       ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,"
                       "\"dur\":%.3f,\"args\":{\"flops\":%.0f,\"bytes\":%.0f}}",
                       name, 1 + (int)r->lane, start, seconds, r->flops, r->bytes) > 0;
    for (int end = 0; end < 2; end++)
        if (fprintf(file,
                    ",\n{\"name\":\"%s\",\"cat\":\"disk\",\"ph\":\"%c\",\"id\":%llu,\"pid\":1,"
                    "\"tid\":%d,\"ts\":%.3f,\"args\":{\"bytes\":%.0f}}",
                    name, "be"[end], (unsigned long long)number, 1 + (int)r->lane, start + end * seconds,
                    r->bytes) <= 0)
            return false;
    return true;
}

/* When the first of all began, and how many there are. */
static double oxi_profile_origin(size_t *count) {
    oxi_lock_take(&oxi_profile_lock);
    *count = oxi_profile_count;
    double origin = oxi_profile_count > 0 ? oxi_profile_records[0].start : 0;
    for (size_t i = 1; i < oxi_profile_count; i++)
        if (oxi_profile_records[i].start < origin) origin = oxi_profile_records[i].start;
    oxi_lock_give(&oxi_profile_lock);
    return origin;
}

/* Record i, if there are so many. One at a time: whoever reads the file may be slow, and calls wait for the
 * lock. */
static bool oxi_profile_get(size_t i, oxi_profile_record *out) {
    oxi_lock_take(&oxi_profile_lock);
    bool there = i < oxi_profile_count;
    if (there) *out = oxi_profile_records[i];
    oxi_lock_give(&oxi_profile_lock);
    return there;
}

OX_API ox_status ox_profile_trace(const char *path) {
    if (!path) return oxi_fail(OX_ERR_ARG, "profile_trace: no path");
    FILE *file = fopen(path, "wb");
    if (!file) return oxi_fail(OX_ERR_IO, "profile_trace: %s: %s", path, strerror(errno));
    bool ok = fprintf(file, "{\"traceEvents\":[\n") > 0;
    for (int i = 0; i < OXI_PROFILE_LANES && ok; i++)
        ok = fprintf(file, "%s{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":"
                           "{\"name\":\"%s\"}}", i ? ",\n" : "", 1 + i, oxi_profile_lane_names[i][0]) > 0;
    oxi_profile_record record;
    size_t count = 0;
    double origin = oxi_profile_origin(&count);
    for (size_t i = 0; ok && i < count && oxi_profile_get(i, &record); i++)
        ok = oxi_profile_write(file, &record, origin, i);
    ok = ok && fprintf(file, "\n]}\n") > 0;
    ok = fclose(file) == 0 && ok;
    return ok ? OX_OK : oxi_fail(OX_ERR_IO, "profile_trace: %s could not be written whole", path);
}
#endif
