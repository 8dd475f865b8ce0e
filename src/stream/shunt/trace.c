/* What lanes did, as a Chrome trace: compute, up, down, disk, plan; and beside a lane what the thread that
 * computes moved itself meanwhile, for spans of a line must not overlap. Spans grow in one block while a path
 * is given, up to 2^20 of them; without memory for more the rest is not recorded. Opens in Perfetto and
 * chrome://tracing. */

enum { OXI_SHUNT_PLAN_LANE = OXI_LANES, OXI_SHUNT_SPANS = 1 << 20 };
static const char *const oxi_shunt_lane_names[OXI_LANES + 1] = {"compute", "up", "down", "disk", "plan"};

static void oxi_shunt_span_put(ox_shunt *s, int lane, const char *name, double start, double end,
                               uint64_t bytes) {
    if (!s->trace_path) return;
    oxi_stream_take(&s->tiers);
    if (s->span_count == s->span_room && s->span_room < OXI_SHUNT_SPANS) {
        size_t room = s->span_room ? 2 * s->span_room : 1024;
        void *grown = oxi_try_alloc(room * sizeof *s->spans);
        if (grown) {
            if (s->span_count > 0) memcpy(grown, s->spans, s->span_count * sizeof *s->spans);
            oxi_free(s->spans, s->span_room * sizeof *s->spans);
            s->spans = (oxi_shunt_span *)grown;
            s->span_room = room;
        }
    }
    if (s->span_count < s->span_room) {
        oxi_shunt_span *span = &s->spans[s->span_count++];
        span->lane = (uint8_t)lane;
        span->name = name;
        span->start = start;
        span->end = end;
        span->bytes = bytes;
    }
    oxi_stream_give(&s->tiers);
}

static ox_status oxi_shunt_trace_write(ox_shunt *s) {
    if (!s->trace_path) return OX_OK;
    FILE *file = fopen(s->trace_path, "wb");
    if (!file)
        return oxi_fail(OX_ERR_IO, "shunt_close: %s: %s", oxi_path_text(s->trace_path), strerror(errno));
    enum { LINES = OXI_LANES + 1 };
    double over[2 * LINES];
    bool ok = fprintf(file, "{\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":"
                            "{\"name\":\"planner\"}}") > 0;
    for (int i = 0; i < 2 * LINES && ok; i++) { /* what is beside a lane comes right under it */
        over[i] = 0;
        ok = fprintf(file,
                     ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":"
                     "{\"name\":\"%s%s\"}},\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,"
                     "\"tid\":%d,\"args\":{\"sort_index\":%d}}",
                     1 + i, i < LINES ? "" : "beside ", oxi_shunt_lane_names[i % LINES], 1 + i,
                     2 * (i % LINES) + i / LINES) > 0;
    }
    for (size_t i = 0; i < s->span_count && ok; i++) { /* in the order in which they ended */
        const oxi_shunt_span *span = &s->spans[i];
        int line = span->lane + (span->start < over[span->lane] ? LINES : 0);
        double start = fmax(span->start, over[line]), end = fmax(span->end, start); /* of three: the rest */
        over[line] = end;
        ok = fprintf(file,
                     ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                     "\"args\":{\"bytes\":%llu}}",
                     span->name, 1 + line, 1e6 * (start - s->origin), 1e6 * (end - start),
                     (unsigned long long)span->bytes) > 0;
    }
    ok = ok && fprintf(file, "\n]}\n") > 0;
    ok = fclose(file) == 0 && ok;
    return ok ? OX_OK
              : oxi_fail(OX_ERR_IO, "shunt_close: %s could not be written whole",
                         oxi_path_text(s->trace_path));
}
