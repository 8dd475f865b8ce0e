/* Reading windows. Called by cpu/product/gemm_pack.c on the way to panels, by gemm_tile.c for the places of
 * results, and by the room's executors. */

/* memcpy and zeros for lines of an image, which are often too short for a call. */
static inline void oxi_copy_line(char *to, const char *from, int64_t bytes) {
    if (bytes >= 16) {
        for (int64_t at = 0; at + 16 < bytes; at += 16) memcpy(to + at, from + at, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else
        for (int64_t at = 0; at < bytes; at++) to[at] = from[at];
}

static inline void oxi_zero_line(char *to, int64_t bytes) {
    if (bytes == 2) memset(to, 0, 2);
    else if (bytes == 4) memset(to, 0, 4);
    else if (bytes > 64)
        memset(to, 0, (size_t)bytes);
    else
        for (; bytes > 0; bytes--) *to++ = 0;
}

/* Of n elements from position x on, `step` apart: those from `before` to `end` are within `size`. */
typedef struct oxi_line_part {
    int64_t before, end;
} oxi_line_part;

static inline oxi_line_part oxi_part_inside(int64_t x, int64_t n, int64_t step, int64_t size) {
    oxi_line_part part = {0, n};
    if (x < 0) part.before = step == 1 ? -x : (-x + step - 1) / step;
    if (x + (n - 1) * step >= size)
        part.end = x >= size ? 0 : step == 1 ? size - x : (size - x + step - 1) / step;
    if (part.before > n) part.before = n;
    if (part.end < part.before) part.end = part.before;
    return part;
}

/* A tap on its way along places: where it is, and what does not change from line to line. */
typedef struct oxi_window_reader {
    const oxi_windows *w;
    const char *channel; /* of the tap, sample 0 */
    int64_t bytes, shift[3];
    int64_t apart;       /* bytes from one place of a line to the next */
    oxi_line_part whole; /* of a line from its first place to its last */
    bool dense;          /* lines of places and of the image are as long, each behind the one before */
} oxi_window_reader;

/* `n` places from column x of line `at_y` of the image on, all of lines that are there, where they are dense:
 * one run, moved by the tap's shift, then zeros where lines reach beyond. */
static void oxi_windows_read_dense(const oxi_window_reader *r, const char *plane, int64_t at_y, int64_t x,
                                   int64_t n, char *to) {
    int64_t columns = r->w->places[2], shift = r->shift[2], from = at_y * columns + x + shift;
    int64_t first = from < 0 ? -from : 0, end = oxi_min_i64(n, r->w->size[1] * columns - from);
    int64_t wide = oxi_min_i64(shift < 0 ? -shift : shift, columns);
    if (first < end)
        memcpy(to + first * r->bytes, plane + (from + first) * r->bytes, (size_t)((end - first) * r->bytes));
    if (wide == 0) return;
    for (int64_t at = shift < 0 ? -x : columns - wide - x; at < n; at += columns) {
        int64_t begin = at < 0 ? 0 : at, stop = oxi_min_i64(at + wide, n);
        if (begin < stop) oxi_zero_line(to + begin * r->bytes, (stop - begin) * r->bytes);
    }
}

/* `count` places from (sample, z, y, x) on. */
static void oxi_windows_read_tap(const oxi_window_reader *r, int64_t sample, int64_t z, int64_t y, int64_t x,
                                 int64_t count, char *out) {
    const oxi_windows *w = r->w;
    const int64_t bytes = r->bytes, columns = w->places[2], rows = w->places[1], step = w->step[2];
    const int64_t height = w->size[1], down = w->step[1], line_bytes = w->stride[1] * bytes;
    while (count > 0) {
        int64_t at_z = r->shift[0] + z * w->step[0], end_y = rows;
        bool inside = at_z >= 0 && at_z < w->size[0];
        const char *plane = r->channel;
        if (inside) plane += (sample * w->sample_stride + at_z * w->stride[0]) * bytes;
        for (; y < end_y && count > 0; y++, x = 0) {
            int64_t n = oxi_min_i64(count, columns - x), at_y = r->shift[1] + y * down;
            bool there = inside && at_y >= 0 && at_y < height;
            char *to = out;
            if (there && r->dense) {
                int64_t lines = oxi_min_i64(rows - y, height - at_y);
                n = oxi_min_i64(count, lines * columns - x);
                oxi_windows_read_dense(r, plane, at_y, x, n, to);
                y += lines - 1;
            }
            out += n * bytes;
            count -= n;
            if (there && r->dense) continue;
            if (!there) {
                oxi_zero_line(to, n * bytes);
                continue;
            }
            int64_t at_x = r->shift[2] + x * step;
            oxi_line_part part = n == columns ? r->whole : oxi_part_inside(at_x, n, step, w->size[2]);
            if (part.before > 0) oxi_zero_line(to, part.before * bytes);
            if (part.end < n) oxi_zero_line(to + part.end * bytes, (n - part.end) * bytes);
            if (part.end == part.before) continue;
            const char *from =
                plane + at_y * line_bytes + at_x * w->stride[2] * bytes + part.before * r->apart;
            to += part.before * bytes;
            if (r->apart == bytes)
                oxi_copy_line(to, from, (part.end - part.before) * bytes);
            else
                oxi_cpu_kernels()->gather[oxi_width_index((int)bytes)](part.end - part.before, from, r->apart,
                                                                       to);
        }
        y = 0;
        if (++z < w->places[0]) continue;
        z = 0;
        sample++;
    }
}

/* The few places of a sample, all of one tap: in elements from its first number, -1 where nothing is. */
enum { OXI_WINDOW_FEW = 16 };
typedef struct oxi_window_few {
    int64_t count, at[OXI_WINDOW_FEW];
    bool run; /* side by side */
} oxi_window_few;

static void oxi_windows_few(const oxi_windows *w, oxi_window_few *few) {
    few->count = w->places[0] * w->places[1] * w->places[2];
    few->run = true;
    for (int64_t p = 0; p < few->count; p++) {
        int64_t place = p;
        few->at[p] = 0;
        for (int d = 2; d >= 0; d--) {
            int64_t at = w->origin[d] + place % w->places[d] * w->step[d];
            place /= w->places[d];
            if (at < 0 || at >= w->size[d] || few->at[p] < 0) few->at[p] = -1;
            else few->at[p] += at * w->stride[d];
        }
        if (few->at[p] < 0 || few->at[p] != few->at[0] + p) few->run = false;
    }
}

#define OXI_READ_FEW(type) { \
        const type *numbers = (const type *)(const void *)from; \
        for (int64_t p = 0; p < n; p++) { \
            type number = 0; \
            if (at[p] >= 0) memcpy(&number, numbers + at[p], sizeof number); \
            memcpy(to + p * (int64_t)sizeof number, &number, sizeof number); \
        } \
    }
static inline void oxi_windows_read_few(const int64_t *at, int64_t n, int64_t bytes, const char *from,
                                        char *to) {
    if (bytes == 2) OXI_READ_FEW(uint16_t)
    else if (bytes == 4) OXI_READ_FEW(uint32_t)
    else OXI_READ_FEW(uint64_t)
}
#undef OXI_READ_FEW

/* Weights seen from their inputs: of each sample a few numbers, which lie beside those of the next channels.
 * They are read as they lie, all channels of a sample before the next one. */
static void oxi_windows_read_samples(const oxi_windows *w, int64_t tap, int64_t taps, int64_t place,
                                     int64_t count, int64_t bytes, char *out, int64_t row) {
    oxi_window_few few;
    oxi_windows_few(w, &few);
    for (int64_t n; count > 0; place += n, count -= n, out += n * bytes) {
        int64_t sample = place / few.count, first = place % few.count;
        const char *from = w->data + (tap * w->channel_stride + sample * w->sample_stride) * bytes;
        n = oxi_min_i64(count, few.count - first);
        for (int64_t t = 0; t < taps; t++, from += w->channel_stride * bytes)
            if (few.run)
                oxi_copy_line(out + t * row * bytes, from + few.at[first] * bytes, n * bytes);
            else
                oxi_windows_read_few(few.at + first, n, bytes, from, out + t * row * bytes);
    }
}

static bool oxi_windows_have_samples(const oxi_windows *w, int64_t count, int64_t bytes) {
    int64_t places = w->places[0] * w->places[1] * w->places[2];
    if (places > OXI_WINDOW_FEW || count <= places || (bytes != 2 && bytes != 4 && bytes != 8)) return false;
    for (int d = 0; d < 3; d++)
        if (w->taps[d] != 1 || w->stride[d] < 0) return false;
    return true;
}

static void oxi_windows_read(const oxi_windows *w, int64_t tap, int64_t taps, int64_t place, int64_t count,
                             char *out, int64_t row) {
    int64_t at[3], i[3];
    int64_t bytes = oxi_info(w->dtype)->block_bytes;
    if (oxi_windows_have_samples(w, count, bytes)) {
        oxi_windows_read_samples(w, tap, taps, place, count, bytes, out, row);
        return;
    }
    oxi_window_reader r;
    r.w = w;
    r.bytes = bytes;
    r.apart = w->step[2] * w->stride[2] * r.bytes;
    r.dense = r.apart == bytes && w->step[1] == 1 && w->places[2] == w->size[2] && w->stride[1] == w->size[2];
    for (int d = 2; d >= 0; d--) {
        i[d] = tap % w->taps[d];
        tap /= w->taps[d];
        at[d] = place % w->places[d];
        place /= w->places[d];
    }
    for (; taps > 0; taps--, out += row * r.bytes) {
        r.channel = w->data + tap * w->channel_stride * r.bytes;
        for (int d = 0; d < 3; d++) r.shift[d] = w->origin[d] + i[d] * w->spacing[d];
        r.whole = oxi_part_inside(r.shift[2], w->places[2], w->step[2], w->size[2]);
        oxi_windows_read_tap(&r, place, at[0], at[1], at[2], count, out);
        int d = 2;
        while (d >= 0 && ++i[d] == w->taps[d]) i[d--] = 0;
        if (d < 0) tap++;
    }
}

static oxi_window_run oxi_windows_run(const oxi_windows *w, int64_t place, int64_t count) {
    oxi_window_run run;
    run.step = w->step[2] * w->stride[2];
    run.count = 0;
    run.offset = 0;
    run.outside = false;
    for (int d = 2; d >= 0; d--) {
        int64_t at = place % w->places[d], x = w->origin[d] + at * w->step[d];
        int64_t inside = oxi_part_inside(x, w->places[d] - at, w->step[d], w->size[d]).end;
        run.outside = run.outside || inside == 0;
        if (d == 2) run.count = oxi_min_i64(count, inside ? inside : w->places[2] - at);
        run.offset += x * w->stride[d];
        place /= w->places[d];
    }
    run.offset += place * w->sample_stride;
    return run;
}

/* Whether dim d is read as it lies: one tap, no place outside. */
static bool oxi_windows_dim_is_plain(const oxi_windows *w, int d) {
    return w->taps[d] == 1 && w->origin[d] >= 0 &&
           w->origin[d] + (w->places[d] - 1) * w->step[d] < w->size[d];
}

static void oxi_windows_join(oxi_windows *w) {
    for (int d = 1; d >= 0; d--) {
        int64_t apart = w->step[2] * w->stride[2];
        if (!oxi_windows_dim_is_plain(w, d) || !oxi_windows_dim_is_plain(w, 2)) return;
        if (w->places[d] != 1 && w->step[d] * w->stride[d] != w->places[2] * apart) return;
        w->data +=
            (w->origin[d] * w->stride[d] + w->origin[2] * w->stride[2]) * oxi_info(w->dtype)->block_bytes;
        w->places[2] *= w->places[d];
        w->size[2] = (w->places[2] - 1) * w->step[2] + 1;
        w->origin[d] = w->origin[2] = 0;
        w->places[d] = w->step[d] = w->size[d] = 1;
    }
}

static bool oxi_windows_are_even(const oxi_windows *w, int64_t samples, int64_t *offset, int64_t *step) {
    oxi_windows joined = *w;
    oxi_windows_join(&joined);
    for (int d = 0; d < 3; d++)
        if (!oxi_windows_dim_is_plain(&joined, d) || (d < 2 && joined.places[d] != 1)) return false;
    oxi_window_run run = oxi_windows_run(&joined, 0, 1);
    if (samples != 1 && joined.sample_stride != joined.places[2] * run.step) return false;
    *offset = run.offset + (joined.data - w->data) / oxi_info(w->dtype)->block_bytes;
    *step = run.step;
    return true;
}
