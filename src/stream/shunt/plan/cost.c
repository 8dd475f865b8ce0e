/* What calls and moves take: at first max(flops / F, bytes / B) with F, B and the links as measured once, at
 * three sizes; then what calls of the same shapes, and moves, took in the last steps. */

/* ---- figures ------------------------------------------------------------------------------------------- */

/* The sums of a step before become its figure. */
static void oxi_shunt_figure_fold(oxi_shunt_figure *f, int64_t step) {
    enum { PAST = (int)(sizeof f->past / sizeof *f->past) };
    if (f->step == step) return;
    if (f->amount > 0) {
        bool first = f->count == 1 && !f->second;
        f->second = f->second || first;
        if (!first) {
            memmove(f->past + 1, f->past, (PAST - 1) * sizeof *f->past);
            if (f->count < PAST) f->count++;
        }
        f->past[0] = f->seconds / f->amount;
    }
    f->step = step;
    f->seconds = f->amount = 0;
}

static void oxi_shunt_figure_note(oxi_shunt_figure *f, int64_t step, double seconds, double amount) {
    oxi_shunt_figure_fold(f, step);
    f->seconds += seconds;
    f->amount += amount;
}

/* 0: nothing is known. */
static double oxi_shunt_figure_of(oxi_shunt_figure *f, int64_t step) {
    double sorted[sizeof f->past / sizeof *f->past];
    oxi_shunt_figure_fold(f, step);
    if (f->count == 0) return f->amount > 0 ? f->seconds / f->amount : 0;
    for (int32_t i = 0, at; i < f->count; i++) {
        for (at = i; at > 0 && sorted[at - 1] > f->past[i]; at--) sorted[at] = sorted[at - 1];
        sorted[at] = f->past[i];
    }
    return (sorted[(f->count - 1) / 2] + sorted[f->count / 2]) / 2;
}

static oxi_shunt_mean *oxi_shunt_mean_of(ox_shunt *s, uint64_t key) {
    for (uint64_t i = 0; i < 16; i++) {
        oxi_shunt_mean *mean = &s->means[(key + i) % OXI_SHUNT_MEANS];
        if (mean->key == key || mean->key == 0) return mean;
    }
    return NULL;
}

static void oxi_shunt_mean_put(ox_shunt *s, uint64_t key, double seconds) {
    oxi_shunt_mean *mean = key ? oxi_shunt_mean_of(s, key) : NULL;
    if (!mean) return;
    mean->key = key;
    oxi_shunt_figure_note(&mean->took, s->stats.steps, seconds, 1);
}

/* Whether a GPU waits for calls of a kind, to see what they take: in the first two steps that have them.
 * Behind those it notes them ahead. */
static bool oxi_shunt_mean_wants(ox_shunt *s, uint64_t key) {
    oxi_shunt_mean *mean = key && oxi_shunt_is_planned(s) ? oxi_shunt_mean_of(s, key) : NULL;
    if (!mean) return false;
    if (mean->key == key) oxi_shunt_figure_fold(&mean->took, s->stats.steps);
    return mean->key != key || mean->took.count + mean->took.second < 2;
}

/* Seconds that calls of a kind took; 0: none ran yet. */
static double oxi_shunt_mean_seconds(ox_shunt *s, uint64_t key) {
    oxi_shunt_mean *mean = key ? oxi_shunt_mean_of(s, key) : NULL;
    return mean && mean->key == key ? oxi_shunt_figure_of(&mean->took, s->stats.steps) : 0;
}

/* ---- calibration --------------------------------------------------------------------------------------- */

static ox_tensor *oxi_shunt_filled(ox_device *device, int64_t rows, int64_t columns) {
    const int64_t shape[2] = {rows, columns};
    ox_tensor *t = oxi_tensor_new(device, OX_F32, 2, shape);
    if (!t) return NULL;
    oxi_call fill = oxi_call_of(OXI_OP_fill, NULL, 0, t);
    fill.attr = oxi_attrs_fill();
    fill.attr.fill.value = 1;
    fill.attr.fill.shape = ox_shape_from(2, shape);
    return oxi_apply_quiet(&fill) == OX_OK ? t : NULL;
}

/* The best of three runs, in seconds. */
static double oxi_shunt_time_call(ox_device *device, oxi_op op, ox_tensor *a, ox_tensor *b) {
    double best = 1;
    ox_tensor *in[2] = {a, b};
    for (int i = 0; i < 3 && a && b; i++) {
        oxi_call call = oxi_call_of(op, in, op == OXI_OP_copy ? 1 : 2, NULL);
        if (op == OXI_OP_copy) call.attr = oxi_attrs_dtype();
        double start = oxi_now();
        if (oxi_apply_quiet(&call) != OX_OK || device->sync(device) != OX_OK) break;
        double seconds = oxi_now() - start;
        ox_release(call.out[0]);
        if (seconds < best) best = seconds;
    }
    return best > 1e-9 ? best : 1e-9;
}

/* Operations of a product of matrices, or bytes of a copy of one, a second: of one that takes a while beside
 * what a GPU takes for an empty call, which does not count. */
static double oxi_shunt_time_square(ox_shunt *s, oxi_op op, int64_t side, int64_t most) {
    double rate = 1, empty = s->rates.empty;
    for (bool over = false; !over; side *= 2) {
        const double size = (double)side, amount = size * size * (op == OXI_OP_copy ? 8 : 2 * size);
        ox_tensor *square = oxi_shunt_filled(s->compute, side, side);
        double seconds = oxi_shunt_time_call(s->compute, op, square, square);
        over = !square || seconds > 4 * empty || 2 * side > most;
        if (square || rate == 1) rate = amount / (seconds > 1.25 * empty ? seconds - empty : 0.2 * seconds);
        ox_release(square);
    }
    return rate;
}

static ox_status oxi_shunt_link(ox_shunt *s, ox_storage *there, size_t at, char *host, size_t bytes, bool up);

/* As items move: to a GPU from pinned memory. */
static double oxi_shunt_time_link(ox_shunt *s, size_t bytes, bool up) {
    ox_storage *device = oxi_storage_new(s->compute, bytes);
    ox_storage *pinned = device && s->compute->copy_async ? oxi_storage_pinned(s->compute, bytes) : NULL;
    char *host = pinned ? (char *)pinned->data : (char *)oxi_try_alloc(bytes);
    double best = 1;
    if (host) memset(host, 1, bytes);
    for (int i = 0; i < 3 && host && device; i++) {
        double start = oxi_now();
        if (oxi_shunt_link(s, device, 0, host, bytes, up) != OX_OK) break;
        if (oxi_now() - start < best) best = oxi_now() - start;
    }
    if (device) oxi_storage_release(device);
    if (pinned)
        oxi_storage_release(pinned);
    else
        oxi_free(host, bytes);
    return best > 1e-9 ? best : 1e-9;
}

/* Bytes a second from the times of the three sizes, without what a move takes at least. */
static double oxi_shunt_slope(const double *seconds, const size_t *bytes) {
    double slope = 0;
    for (int i = 1; i < 3; i++) {
        double one = (double)(bytes[i] - bytes[i - 1]) / (seconds[i] - seconds[i - 1]);
        if (seconds[i] > seconds[i - 1] && one > slope) slope = one;
    }
    return slope > 0 ? slope : (double)bytes[2] / seconds[2];
}

/* Of numbers of a matrix, there and back: the best of three runs. */
static void oxi_shunt_calibrate_packing(ox_shunt *s) {
    enum { COUNT = 1 << 16, COLUMNS = 256 };
    const int compression = (int)s->desc.compression;
    const oxi_shunt_packing p = {COUNT, compression == OX_COMPRESSION_F16 ? 0 : COLUMNS, compression, 0};
    if (compression == OX_COMPRESSION_NONE) return;
    float *x = (float *)oxi_alloc(COUNT * sizeof *x);
    char *packed = (char *)oxi_alloc(oxi_shunt_packed_bytes(compression, COUNT));
    for (int i = 0; x && i < COUNT; i++) x[i] = (float)(i * 37 % 201 - 100);
    for (int i = 0; x && packed && i < 3; i++) {
        double start = oxi_now();
        if (oxi_shunt_pack(&p, x, packed) != OX_OK) break;
        double middle = oxi_now();
        if (oxi_shunt_unpack(&p, packed, x) != OX_OK) break;
        double took[2] = {(oxi_now() - middle) / COUNT, (middle - start) / COUNT};
        for (int save = 0; save < 2; save++)
            if (i == 0 || took[save] < s->rates.packing[save]) s->rates.packing[save] = took[save];
    }
    oxi_free(packed, oxi_shunt_packed_bytes(compression, COUNT));
    oxi_free(x, COUNT * sizeof *x);
}

static void oxi_shunt_calibrate(ox_shunt *s) {
    static const size_t sizes[3] = {1u << 20, 4u << 20, 16u << 20};
    double seconds[2][3];
    if (s->rates.known) return;
    if (!s->compute->host) (void)s->compute->sync(s->compute); /* what others did wrong there is told */
    const oxi_error earlier = oxi_shunt_errors_begin();
    ox_scope scope = ox_scope_begin();
    s->rates.known = true;
    if (!s->compute->host) {
        ox_tensor *few = oxi_shunt_filled(s->compute, 1, 16);
        s->rates.empty = oxi_shunt_time_call(s->compute, OXI_OP_copy, few, few);
    }
    s->rates.flops = oxi_shunt_time_square(s, OXI_OP_matmul, 384, 2048);
    s->rates.bytes = oxi_shunt_time_square(s, OXI_OP_copy, 1024, 4096);
    for (int up = 0; up < 2; up++)
        for (int i = 0; i < 3; i++) seconds[up][i] = oxi_shunt_time_link(s, sizes[i], up != 0);
    s->rates.down = oxi_shunt_slope(seconds[0], sizes);
    s->rates.up = oxi_shunt_slope(seconds[1], sizes);
    s->rates.disk_read = 1e9;
    s->rates.disk_write = 8e8;
    s->rates.start[OXI_LANE_COMPUTE] = 1e-6;
    s->rates.start[OXI_LANE_UP] = s->rates.start[OXI_LANE_DOWN] = 2e-6;
    for (int up = 0; up < 2 && !s->compute->host; up++)
        s->rates.start[up ? OXI_LANE_UP : OXI_LANE_DOWN] = oxi_shunt_time_link(s, 4096, up != 0);
    s->rates.start[OXI_LANE_DISK] = 5e-5;
    oxi_shunt_calibrate_packing(s);
    ox_scope_end(&scope);
    oxi_shunt_errors_end(&earlier);
}

/* With the first plan that moves anything there; a disk that fails is found by whoever needs it. */
static void oxi_shunt_calibrate_disk(ox_shunt *s) {
    static const size_t sizes[3] = {1u << 20, 4u << 20, 16u << 20};
    double seconds[2][3];
    if (s->rates.disk_known || s->desc.fault) return;
    s->rates.disk_known = true;
    const oxi_error earlier = oxi_shunt_errors_begin();
    ox_status status = oxi_shunt_stream_open(s);
    for (int i = 0; i < 3 && status == OX_OK; i++) {
        void *memory = oxi_alloc(sizes[i] + OXI_SHUNT_PAGE);
        ox_storage *disk = memory ? oxi_storage_new(ox_stream_device(s->stream), sizes[i]) : NULL;
        char *pages = oxi_shunt_first_page(memory);
        if (!disk) status = OX_ERR_NOMEM;
        if (memory) memset(memory, 7, sizes[i] + OXI_SHUNT_PAGE);
        for (int way = 0; way < 2 && status == OX_OK; way++) {
            double start = oxi_now();
            status = oxi_shunt_disk_move(s, disk, 0, pages, sizes[i], way == 0, true);
            seconds[way][i] = oxi_now() - start;
        }
        oxi_storage_release(disk);
        oxi_free(memory, sizes[i] + OXI_SHUNT_PAGE);
    }
    if (status == OX_OK) {
        s->rates.disk_write = oxi_shunt_slope(seconds[0], sizes);
        s->rates.disk_read = oxi_shunt_slope(seconds[1], sizes);
    }
    oxi_shunt_errors_end(&earlier);
}

/* ---- what moves took ----------------------------------------------------------------------------------- */

static double *oxi_shunt_rate_of(oxi_shunt_rates *rates, int lane, bool write) {
    return lane == OXI_LANE_UP     ? &rates->up
           : lane == OXI_LANE_DOWN ? &rates->down
           : write                 ? &rates->disk_write
                                   : &rates->disk_read;
}

enum { OXI_SHUNT_SAYS = 1 << 18 }; /* bytes of a move that says something */

/* The speed of a move is what steps have, beside the computing. Moves overlap, and each takes its time from
 * the end of the one before: one that was over by then counts with its bytes, too. */
static void oxi_shunt_moved_note(ox_shunt *s, int lane, bool write, double bytes, double seconds) {
    oxi_shunt_figure *moved = &s->rates.moved[lane][write];
    oxi_shunt_figure_note(moved, s->stats.steps, seconds, bytes);
    double each = oxi_shunt_figure_of(moved, s->stats.steps);
    if (each > 0) *oxi_shunt_rate_of(&s->rates, lane, write) = 1 / each;
}

static void oxi_shunt_rate_put(ox_shunt *s, int lane, bool write, size_t bytes, double seconds) {
    if (bytes < OXI_SHUNT_SAYS || !s->rates.known) return;
    oxi_stream_take(&s->tiers);
    oxi_shunt_moved_note(s, lane, write, (double)bytes, seconds - s->rates.start[lane]);
    oxi_stream_give(&s->tiers);
}

/* What ended last becomes figures, with the lock. Moves that ended together took their time together: of that
 * the one that found the disk idle has what it would have taken alone, or as much for a byte as all of them.
 * joined: another began before they ended. */
static void oxi_shunt_disk_note(ox_shunt *s, bool joined) {
    oxi_shunt_rates *rates = &s->rates;
    const int64_t step = s->stats.steps;
    double(*bytes)[2] = rates->ended.bytes, took[2][2] = {{0, 0}, {0, 0}}, left = rates->ended.seconds;
    const int first = bytes[1][0] > 0;
    const double one = bytes[first][0], others = bytes[0][1] + bytes[1][1];
    if (one > 0) {
        double alone = oxi_shunt_figure_of(&rates->alone[first], step) * one;
        double even = left * one / (one + others);
        took[first][0] = alone < even ? even : alone < left ? alone : left;
        left -= took[first][0];
        if (others == 0 && !joined) oxi_shunt_figure_note(&rates->alone[first], step, took[first][0], one);
    }
    for (int write = 0; write < 2; write++) {
        const double both = bytes[write][0] + bytes[write][1];
        if (bytes[write][1] > 0) took[write][1] = left * bytes[write][1] / others;
        for (int behind = 0; behind < 2; behind++)
            oxi_shunt_figure_note(&rates->disk[write][behind], step, took[write][behind],
                                  bytes[write][behind]);
        if (both > 0)
            oxi_shunt_moved_note(s, OXI_LANE_DISK, write != 0, both,
                                 took[write][0] + took[write][1] -
                                     rates->start[OXI_LANE_DISK] * rates->ended.moves[write]);
    }
    memset(&rates->ended, 0, sizeof rates->ended);
}

/* behind: another was under way when it began; together: it ended with the one before. */
static void oxi_shunt_disk_put(ox_shunt *s, bool write, size_t bytes, double seconds, bool behind,
                               bool together) {
    if (bytes < OXI_SHUNT_SAYS || !s->rates.known) return;
    oxi_stream_take(&s->tiers);
    if (!together) oxi_shunt_disk_note(s, behind);
    s->rates.ended.seconds += seconds;
    s->rates.ended.bytes[write][behind] += (double)bytes;
    s->rates.ended.moves[write]++;
    oxi_stream_give(&s->tiers);
}

/* The speeds of the steps so far. */
static void oxi_shunt_rates_fold(ox_shunt *s) {
    oxi_stream_take(&s->tiers);
    oxi_shunt_disk_note(s, false);
    oxi_stream_give(&s->tiers);
    for (int lane = OXI_LANE_UP; lane < OXI_LANES; lane++)
        for (int write = 0; write < 2; write++) {
            double each = oxi_shunt_figure_of(&s->rates.moved[lane][write], s->stats.steps);
            if (each > 0) *oxi_shunt_rate_of(&s->rates, lane, write != 0) = 1 / each;
        }
}

/* ---- what things take ---------------------------------------------------------------------------------- */

static double oxi_shunt_lane_seconds(const ox_shunt *shunt, int lane, uint64_t bytes, bool write) {
    ox_shunt *s = (ox_shunt *)(uintptr_t)shunt; /* for the lock: lanes measure while others ask */
    oxi_stream_take(&s->tiers);
    double rate = *oxi_shunt_rate_of(&s->rates, lane, write);
    oxi_stream_give(&s->tiers);
    return s->rates.start[lane] + (rate > 0 ? (double)bytes / rate : 0);
}

/* Of a compressed copy that is made, or comes back, beside the move. */
static double oxi_shunt_packing_seconds(ox_shunt *s, const oxi_shunt_item *item, bool save) {
    oxi_stream_take(&s->tiers);
    double each = oxi_shunt_figure_of(&s->rates.packed[save], s->stats.steps);
    oxi_stream_give(&s->tiers);
    return (each > 0 ? each : s->rates.packing[save]) * (double)item->bytes / 4;
}

/* Of that, what a device that is the host's own processors computes less meanwhile. */
static double oxi_shunt_lane_takes(ox_shunt *s, int lane, uint64_t bytes) {
    double each = s->compute->host ? oxi_shunt_figure_of(&s->rates.works[lane], s->stats.steps) : 0;
    return each * (double)bytes;
}

/* What a simulation told the disk's lane last. Whenever a piece of it is over the lane sees what is due. */
typedef struct oxi_shunt_told {
    double start, over, pieces;
} oxi_shunt_told;

/* When a move of the disk is over that may begin at `due`, behind those that it was told before. They
 * overlap, so that the second of two takes less than one that finds the disk idle. */
static double oxi_shunt_disk_over(ox_shunt *s, uint64_t bytes, bool write, double due, oxi_shunt_told *told) {
    double usual = oxi_shunt_lane_seconds(s, OXI_LANE_DISK, bytes, write), takes[2];
    oxi_stream_take(&s->tiers);
    for (int behind = 0; behind < 2; behind++) {
        oxi_shunt_figure *f = &s->rates.disk[write][behind];
        double each = oxi_shunt_figure_of(f, s->stats.steps);
        takes[behind] = f->count > 0 || f->amount > 0 ? (double)bytes * each : usual;
    }
    if (takes[0] < s->rates.start[OXI_LANE_DISK]) takes[0] = s->rates.start[OXI_LANE_DISK];
    oxi_stream_give(&s->tiers);
    if (due < told->start) due = told->start;
    if (due > told->start && due < told->over) {
        double piece = (told->over - told->start) / told->pieces;
        due = told->start + ceil((due - told->start) / piece) * piece;
    }
    double over = due + takes[0];
    if (due < told->over && over < told->over + takes[1]) over = told->over + takes[1];
    told->start = due;
    told->over = over;
    told->pieces = ceil((double)bytes / OXI_STREAM_PIECE);
    return over;
}

/* Between the device and wherever items of this shunt wait as a rule. */
static double oxi_shunt_move_seconds(const ox_shunt *s, size_t bytes, bool write) {
    int lane = s->desc.host_bytes == 0 ? OXI_LANE_DISK : write ? OXI_LANE_UP : OXI_LANE_DOWN;
    return oxi_shunt_lane_seconds(s, lane, bytes, write);
}

/* Of a node: what it took before, else by its form. */
static double oxi_shunt_node_seconds(ox_shunt *s, const oxi_shunt_node *node) {
    oxi_shunt_headers h;
    double seconds = oxi_shunt_mean_seconds(s, node->shape_key);
    if (seconds > 0) return seconds;
    seconds = 1e-6;
    if (oxi_shunt_headers_open(&h, node) && ox_numel(h.call.out[0]) > 0) {
        double flops = oxi_call_flops(&h.call) / s->rates.flops,
               bytes = oxi_call_bytes(&h.call) / s->rates.bytes;
        seconds = s->rates.start[OXI_LANE_COMPUTE] + (flops > bytes ? flops : bytes);
    }
    oxi_shunt_headers_close(&h, node);
    return seconds;
}
