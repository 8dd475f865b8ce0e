/* A plan for people: as text, a line an instruction with the time that the simulation gives it; as a drawing,
 * tensors over time by tier: what is on the device when, pinned at the bottom, the lanes under it, and under
 * them how much waits on the host and on the disk. */

static const char **oxi_shunt_plan_names(const oxi_shunt_plan *plan) {
    const char **names = (const char **)oxi_shunt_list((size_t)plan->node_count, sizeof *names);
    const char *at = plan->text;
    for (int32_t n = 0; names && n < plan->node_count; n++) {
        names[n] = at ? at : "call";
        if (at) at += strlen(at) + 1;
    }
    return names;
}

static bool oxi_shunt_dump_text(FILE *file, const oxi_shunt_plan *plan, const char **names) {
    bool ok =
        fprintf(file,
                "%d calls, %d of them again; %d items, %d stays on the device\n"
                "%.3f ms simulated, %.3f ms of computing, %.3f ms at least\n"
                "%llu bytes of the device, %llu of them pinned\n\n"
                "%10s %10s  %-8s what\n",
                (int)plan->slot_count, (int)plan->recomputed, (int)plan->item_count, (int)plan->segment_count,
                1e3 * plan->simulated, 1e3 * plan->compute, 1e3 * plan->bound, (unsigned long long)plan->peak,
                (unsigned long long)plan->pinned_bytes, "at ms", "takes ms", "lane") > 0;
    static const char *const actions[] = {"call", "load", "save", "read", "write"};
    for (int32_t i = 0; i < plan->item_count && ok; i++)
        if (plan->known[i].pinned)
            ok = fprintf(file, "%10s %10s  %-8s item %d at %llu, %llu bytes\n", "", "", "pinned", (int)i,
                         (unsigned long long)plan->known[i].place,
                         (unsigned long long)plan->known[i].room) > 0;
    for (int32_t i = 0; i < plan->instruction_count && ok; i++) {
        const oxi_shunt_instruction *in = &plan->instruction[i];
        ok = fprintf(file, "%10.3f %10.3f  %-8s ", 1e3 * in->start, 1e3 * in->seconds,
                     oxi_shunt_lane_names[in->lane]) > 0;
        if (in->action == OXI_ACT_NODE)
            ok = ok && fprintf(file, "call %d %s\n", (int)in->node, names[in->node]) > 0;
        else
            ok = ok &&
                 fprintf(file, "%s item %d at %llu, %llu bytes, calls %d to %d\n",
                         actions[in->action], (int)in->item,
                         (unsigned long long)(plan->segment[in->segment].place + in->from),
                         (unsigned long long)(in->bytes > 0 ? in->bytes : plan->known[in->item].room),
                         (int)plan->segment[in->segment].first, (int)plan->segment[in->segment].last) > 0;
    }
    return ok;
}

/* ---- the drawing --------------------------------------------------------------------------------------- */

enum { OXI_SHUNT_WIDE = 1200, OXI_SHUNT_HIGH = 400, OXI_SHUNT_LANE_HIGH = 22, OXI_SHUNT_TIER_HIGH = 70 };

typedef struct oxi_shunt_drawing {
    FILE *file;
    const oxi_shunt_plan *plan;
    double across, up;   /* pixels a second, a byte */
    double *begin, *end; /* of segments */
} oxi_shunt_drawing;

static bool oxi_shunt_draw(const oxi_shunt_drawing *d, double x, double y, double wide, double high,
                           const char *color, const char *text, int number) {
    return fprintf(d->file,
                   "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" stroke=\"#fff\" "
                   "stroke-width=\"0.3\"><title>%s %d</title></rect>\n",
                   x, y, wide < 0.4 ? 0.4 : wide, high < 0.4 ? 0.4 : high, color, text, number) > 0;
}

/* When segments come and go: by the instructions that name them, else by their calls. */
static void oxi_shunt_draw_times(oxi_shunt_drawing *d, double (*slot)[2]) {
    const oxi_shunt_plan *plan = d->plan;
    for (int32_t g = 0; g < plan->segment_count; g++) d->begin[g] = d->end[g] = -1;
    for (int32_t i = 0; i < plan->instruction_count; i++) {
        const oxi_shunt_instruction *in = &plan->instruction[i];
        if (in->action == OXI_ACT_LOAD && in->from == 0) d->begin[in->segment] = in->start;
        if (in->action == OXI_ACT_SAVE) d->end[in->segment] = in->start + in->seconds;
        if (in->action != OXI_ACT_NODE) continue;
        slot[in->slot][0] = in->start;
        slot[in->slot][1] = in->start + in->seconds;
    }
    for (int32_t g = 0; g < plan->segment_count; g++) {
        if (d->begin[g] < 0) d->begin[g] = slot[plan->segment[g].first][0];
        if (d->end[g] < 0)
            d->end[g] = plan->segment[g].stays ? plan->simulated : slot[plan->segment[g].last][1];
    }
}

static bool oxi_shunt_draw_memory(oxi_shunt_drawing *d) {
    static const char *const colors[3] = {"#4c78a8", "#f58518", "#54a24b"};
    const oxi_shunt_plan *plan = d->plan;
    bool ok = true;
    for (int32_t i = 0; i < plan->item_count && ok; i++) {
        const oxi_shunt_known *k = &plan->known[i];
        if (k->pinned)
            ok = oxi_shunt_draw(d, 0, OXI_SHUNT_HIGH - (double)(k->place + k->room) * d->up,
                                plan->simulated * d->across, (double)k->room * d->up, "#9aa5b1",
                                "pinned item", (int)i);
    }
    for (int32_t g = 0; g < plan->segment_count && ok; g++) {
        const oxi_shunt_known *k = &plan->known[plan->segment[g].item];
        ok = oxi_shunt_draw(d, d->begin[g] * d->across,
                            OXI_SHUNT_HIGH - (double)(plan->segment[g].place + k->room) * d->up,
                            (d->end[g] - d->begin[g]) * d->across, (double)k->room * d->up,
                            colors[k->kind % 3], "item", (int)plan->segment[g].item);
    }
    return ok;
}

static bool oxi_shunt_draw_lanes(oxi_shunt_drawing *d) {
    static const char *const colors[OXI_LANES] = {"#72b7b2", "#e45756", "#4c78a8", "#b279a2"};
    bool ok = true;
    for (int lane = 0; lane < OXI_LANES && ok; lane++)
        ok = fprintf(d->file, "<text x=\"2\" y=\"%d\" font-size=\"10\">%s</text>\n",
                     OXI_SHUNT_HIGH + 20 + lane * OXI_SHUNT_LANE_HIGH, oxi_shunt_lane_names[lane]) > 0;
    for (int32_t i = 0; i < d->plan->instruction_count && ok; i++) {
        const oxi_shunt_instruction *in = &d->plan->instruction[i];
        ok = oxi_shunt_draw(d, in->start * d->across, OXI_SHUNT_HIGH + 24 + in->lane * OXI_SHUNT_LANE_HIGH,
                            in->seconds * d->across, 8, colors[in->lane],
                            in->action == OXI_ACT_NODE ? "call" : "item",
                            in->action == OXI_ACT_NODE ? (int)in->node : (int)in->item);
    }
    return ok;
}

/* Bytes that begin to wait on a tier, or end (below 0). */
typedef struct oxi_shunt_wait {
    double at, bytes;
    int tier; /* 0: the host, 1: the disk */
} oxi_shunt_wait;

static int oxi_shunt_wait_compare(const void *a, const void *b) {
    const oxi_shunt_wait *x = (const oxi_shunt_wait *)a, *y = (const oxi_shunt_wait *)b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* lane: of a segment's load, then of its save; 0: none. An item waits from the end of a segment, or of the
 * step before, to the load of the next one, which says where; or to the end of the step. Gives how many
 * there are in wait[], four a segment at most. */
static size_t oxi_shunt_draw_waits(const oxi_shunt_drawing *d, const uint8_t (*lane)[2],
                                   oxi_shunt_wait *wait) {
    const oxi_shunt_plan *plan = d->plan;
    size_t count = 0;
    for (int32_t g = 0; g < plan->segment_count; g++) {
        const oxi_shunt_segment *one = &plan->segment[g];
        const double bytes = (double)plan->known[one->item].room;
        const bool first = g == 0 || one[-1].item != one->item,
                   last = g + 1 == plan->segment_count || one[1].item != one->item;
        for (int after = 0; after < 2; after++) {
            uint8_t from = after && lane[g][1] ? lane[g][1] : lane[g][0];
            if (from == 0 || (after && (!last || one->stays || one->dies))) continue;
            const double before = first ? 0 : d->end[g - 1];
            const oxi_shunt_wait begin = {after ? d->end[g] : before, bytes, from == OXI_LANE_DISK},
                                 end = {after ? plan->simulated : d->begin[g], -bytes, begin.tier};
            wait[count++] = begin;
            wait[count++] = end;
        }
    }
    qsort(wait, count, sizeof *wait, oxi_shunt_wait_compare);
    return count;
}

static bool oxi_shunt_draw_tier(const oxi_shunt_drawing *d, int tier, const oxi_shunt_wait *wait,
                                size_t count) {
    const int bottom =
        OXI_SHUNT_HIGH + 24 + OXI_LANES * OXI_SHUNT_LANE_HIGH + (tier + 1) * OXI_SHUNT_TIER_HIGH;
    double most = 0, now = 0, since = 0;
    for (size_t i = 0; i < count; i++) {
        if (wait[i].tier != tier) continue;
        if (now > most && wait[i].at > since) most = now;
        now += wait[i].bytes;
        since = wait[i].at;
    }
    bool ok = fprintf(d->file,
                      "<text x=\"2\" y=\"%d\" font-size=\"10\">waits on the %s, at most %.0f bytes</text>\n",
                      bottom - OXI_SHUNT_TIER_HIGH + 16, tier ? "disk" : "host", most) > 0;
    now = since = 0;
    for (size_t i = 0; i < count && ok; i++) {
        const double high = (OXI_SHUNT_TIER_HIGH - 22) * now / (most > 0 ? most : 1);
        if (wait[i].tier != tier) continue;
        if (now > 0.5 && wait[i].at > since)
            ok = oxi_shunt_draw(d, since * d->across, bottom - high, (wait[i].at - since) * d->across, high,
                                tier ? "#b279a2" : "#4c78a8", tier ? "KiB on the disk" : "KiB on the host",
                                (int)(now / 1024));
        now += wait[i].bytes;
        since = wait[i].at;
    }
    return ok;
}

static bool oxi_shunt_draw_tiers(const oxi_shunt_drawing *d) {
    const size_t segments = (size_t)d->plan->segment_count;
    uint8_t(*lane)[2] = (uint8_t(*)[2])oxi_shunt_list(segments, sizeof *lane);
    oxi_shunt_wait *wait = (oxi_shunt_wait *)oxi_shunt_list(4 * segments, sizeof *wait);
    bool ok = lane && wait;
    for (int32_t i = 0; i < d->plan->instruction_count && ok; i++) {
        const oxi_shunt_instruction *in = &d->plan->instruction[i];
        if (in->action != OXI_ACT_NODE) /* of what goes by a ring, the disk's */
            lane[in->segment][!oxi_shunt_comes(in)] = in->staged ? (int)OXI_LANE_DISK : (int)in->lane;
    }
    const size_t count = ok ? oxi_shunt_draw_waits(d, (const uint8_t(*)[2])lane, wait) : 0;
    for (int tier = 0; tier < 2 && ok; tier++) ok = oxi_shunt_draw_tier(d, tier, wait, count);
    oxi_shunt_unlist(lane, segments, sizeof *lane);
    oxi_shunt_unlist(wait, 4 * segments, sizeof *wait);
    return ok;
}

static bool oxi_shunt_dump_drawing(FILE *file, const oxi_shunt_plan *plan) {
    oxi_shunt_drawing d;
    size_t segments = (size_t)plan->segment_count, slots = (size_t)plan->slot_count;
    double(*slot)[2] = (double(*)[2])oxi_shunt_list(slots, sizeof *slot);
    d.file = file;
    d.plan = plan;
    d.begin = (double *)oxi_shunt_list(2 * segments, sizeof *d.begin);
    bool ok = d.begin && slot;
    d.end = d.begin + segments;
    if (ok) oxi_shunt_draw_times(&d, slot);
    oxi_shunt_unlist(slot, slots, sizeof *slot);
    d.across = OXI_SHUNT_WIDE / (plan->simulated > 0 ? plan->simulated : 1);
    d.up = (OXI_SHUNT_HIGH - 20) / (double)(plan->peak > 0 ? plan->peak : 1);
    ok = ok &&
         fprintf(
             file,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
             "<text x=\"2\" y=\"12\" font-size=\"11\">memory of the device, %llu bytes, over %.3f ms: "
             "gray is pinned, blue weights, orange made by the step, green changed by it</text>\n",
             OXI_SHUNT_WIDE,
             OXI_SHUNT_HIGH + 28 + OXI_LANES * OXI_SHUNT_LANE_HIGH + 2 * OXI_SHUNT_TIER_HIGH,
             (unsigned long long)plan->peak, 1e3 * plan->simulated) > 0;
    ok = ok && oxi_shunt_draw_memory(&d) && oxi_shunt_draw_lanes(&d) && oxi_shunt_draw_tiers(&d);
    ok = ok && fprintf(file, "</svg>\n") > 0;
    oxi_shunt_unlist(d.begin, 2 * segments, sizeof *d.begin);
    return ok;
}

OX_API ox_status ox_shunt_dump(ox_shunt *shunt, const char *path) {
    if (!shunt || !path) return oxi_fail_missing(shunt ? "shunt_dump: the path" : "shunt_dump: the shunt");
    ox_status status = oxi_shunt_enter(shunt);
    if (status != OX_OK) return status;
    const oxi_shunt_plan *plan = shunt->last_plan;
    size_t length = strlen(path);
    if (!plan) status = oxi_fail(OX_ERR_ARG, "shunt_dump: nothing was planned yet");
    FILE *file = plan ? fopen(path, "wb") : NULL;
    if (plan && !file)
        status = oxi_fail(OX_ERR_IO, "shunt_dump: %s: %s", oxi_path_text(path), strerror(errno));
    const char **names = file ? oxi_shunt_plan_names(plan) : NULL;
    bool ok = names != NULL;
    if (ok && length > 4 && strcmp(path + length - 4, ".svg") == 0)
        ok = oxi_shunt_dump_drawing(file, plan);
    else if (ok)
        ok = oxi_shunt_dump_text(file, plan, names);
    if (names) oxi_shunt_unlist(names, (size_t)plan->node_count, sizeof *names);
    if (file) ok = fclose(file) == 0 && ok;
    if (file && !ok)
        status = oxi_fail(OX_ERR_IO, "shunt_dump: %s could not be written whole", oxi_path_text(path));
    oxi_stream_give(&shunt->lock);
    return status;
}
