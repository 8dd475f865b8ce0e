/* The capacitor: what was read from read-only files, in which order, and as many of its bytes as fit.
 * Passes over a model repeat, so the least recently used bytes are the next ones: what is kept stays, what
 * does not fit streams by. Known ranges tell what comes next, for reads ahead of the operations. */

enum {
    OXI_SLAB_BYTES = 64 << 20,
    OXI_KEPT_PATIENCE = 8 /* kept bytes go when this many times the budget was asked for since */
};

/* ---- ranges ------------------------------------------------------------------------------------------ */

static oxi_stream_range **oxi_range_bucket(ox_stream *stream, const oxi_stream_file *file, uint64_t offset) {
    uint64_t hash = (offset ^ (uint64_t)(uintptr_t)file) * 0x9E3779B97F4A7C15u;
    return &stream->buckets[hash >> 52];
}

static oxi_stream_range *oxi_range_find(ox_stream *stream, oxi_stream_file *file, uint64_t offset,
                                        size_t bytes) {
    oxi_stream_range *range = *oxi_range_bucket(stream, file, offset);
    while (range && (range->file != file || range->offset != offset || range->bytes != bytes))
        range = range->chain;
    return range;
}

/* The range, new if need be; NULL when so many are known that no more are learned, or without memory. */
static oxi_stream_range *oxi_range_of(ox_stream *stream, oxi_stream_file *file, uint64_t offset,
                                      size_t bytes) {
    oxi_stream_range *range = oxi_range_find(stream, file, offset, bytes);
    if (range || stream->range_count >= OXI_STREAM_RANGES_MOST) return range;
    range = (oxi_stream_range *)oxi_try_alloc(sizeof *range);
    if (!range) return NULL;
    oxi_stream_range **bucket = oxi_range_bucket(stream, file, offset);
    memset(range, 0, sizeof *range);
    range->file = file;
    range->offset = offset;
    range->bytes = bytes;
    range->chain = *bucket;
    *bucket = range;
    stream->range_count++;
    return range;
}

/* An operation asked for it: it is what follows the one before. */
static void oxi_range_touch(ox_stream *stream, oxi_stream_range *range) {
    if (stream->last) stream->last->successor = range;
    stream->last = range;
    stream->past[stream->past_count++ % OXI_STREAM_PAST] = range;
    stream->clock += range->bytes;
    range->used_at = stream->clock;
    if (range->slab) range->slab->used_at = stream->clock;
}

/* ---- slabs ------------------------------------------------------------------------------------------- */

/* Bytes that the budget still allows to be kept: a sixteenth is left for what operations need for a while.
 * What only the cache holds goes where that makes room for `wanted`. */
static size_t oxi_budget_left(ox_stream *stream, size_t wanted) {
    ox_memory_stats now = ox_memory_get_stats();
    size_t held = now.bytes_in_use + now.bytes_cached, budget = stream->desc.ram_bytes;
    size_t limit = stream->base_bytes + budget - budget / 16;
    bool full = held >= limit || limit - held < wanted;
    bool helps = now.bytes_in_use < limit && limit - now.bytes_in_use >= wanted;
    if (full && (helps || held >= limit) && now.bytes_cached > 0) {
        ox_trim();
        held = ox_memory_get_stats().bytes_in_use;
    }
    return held < limit ? limit - held : 0;
}

static bool oxi_range_is_idle(const oxi_stream_range *range) {
    return range->users == 0 && range->load.pending == 0;
}

static void oxi_range_drop(oxi_stream_range *range) {
    range->memory = NULL;
    range->slab = NULL;
    range->guessed = false;
}

/* Gives a slab back unless some of it is being read or used. */
static bool oxi_slab_free(ox_stream *stream, oxi_stream_slab *slab) {
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < OXI_STREAM_BUCKETS; i++)
            for (oxi_stream_range *range = stream->buckets[i]; range; range = range->chain) {
                if (range->slab != slab) continue;
                if (pass == 0 && !oxi_range_is_idle(range)) return false;
                if (pass == 1) oxi_range_drop(range);
            }
    for (oxi_stream_slab **link = &stream->slabs; *link; link = &(*link)->next)
        if (*link == slab) {
            *link = slab->next;
            break;
        }
    stream->slab_bytes -= slab->bytes;
    oxi_free(slab->block, slab->bytes);
    oxi_free(slab, sizeof *slab);
    ox_trim(); /* the budget counts what the cache holds */
    return true;
}

/* What was held before this operation's results may leave no room for kept tiles: the newest slabs go. */
static void oxi_capacitor_yield(ox_stream *stream, size_t wanted) {
    while (stream->slabs && oxi_budget_left(stream, wanted) < wanted)
        if (!oxi_slab_free(stream, stream->slabs)) return;
}

static void oxi_slab_touch_some(void *arg, int64_t index, int lane) {
    const oxi_stream_slab *slab = (const oxi_stream_slab *)arg;
    size_t at = slab->touched + (size_t)index * OXI_HUGE_PAGE, end = at + OXI_HUGE_PAGE;
    if (end > slab->bytes) end = slab->bytes;
    (void)lane;
    for (; at < end; at += OXI_STREAM_PAGE) *(volatile char *)(slab->block + at) = 0;
}

/* The system clears pages when they are first used: by all threads, not by the one that submits reads, and a
 * few at a time, while reads that were begun before go on. */
static void oxi_slab_touch(oxi_stream_slab *slab, size_t end) {
    if (end <= slab->touched) return;
    size_t pages = (end - slab->touched + OXI_HUGE_PAGE - 1) / OXI_HUGE_PAGE;
    oxi_parallel_for((int64_t)pages, oxi_slab_touch_some, slab);
    slab->touched += pages * OXI_HUGE_PAGE;
}

static oxi_stream_slab *oxi_slab_new(ox_stream *stream, size_t need) {
    size_t left = oxi_budget_left(stream, need), bytes = OXI_SLAB_BYTES;
    if (bytes > left / 2) bytes = left / 2 / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
    bytes = bytes < need ? need : bytes / need * need; /* ranges are mostly alike: no rest that holds none */
    if (bytes > left) return NULL;
    oxi_stream_slab *slab = (oxi_stream_slab *)oxi_try_alloc(sizeof *slab);
    if (!slab) return NULL;
    slab->block = (char *)oxi_try_alloc(bytes);
    if (!slab->block) {
        oxi_free(slab, sizeof *slab);
        return NULL;
    }
    slab->bytes = bytes;
    slab->used = slab->touched = 0;
    slab->used_at = stream->clock;
    slab->next = stream->slabs;
    stream->slabs = slab;
    stream->slab_bytes += bytes;
    return slab;
}

/* One that was not read for long goes when there is no room for a new one. */
static oxi_stream_slab *oxi_slab_with_room(ox_stream *stream, size_t need) {
    uint64_t patience = (uint64_t)OXI_KEPT_PATIENCE * stream->desc.ram_bytes;
    for (oxi_stream_slab *slab = stream->slabs; slab; slab = slab->next)
        if (slab->bytes - slab->used >= need) return slab;
    oxi_stream_slab *fresh = oxi_slab_new(stream, need);
    for (oxi_stream_slab *slab = stream->slabs, *next; slab && !fresh; slab = next) {
        next = slab->next;
        if (stream->clock - slab->used_at > patience && oxi_slab_free(stream, slab))
            fresh = oxi_slab_new(stream, need);
    }
    return fresh;
}

/* ---- what the ring calls ----------------------------------------------------------------------------- */

/* Memory in which the range will be kept, aligned as in the file; false when there is no room. */
static bool oxi_capacitor_accept(ox_stream *stream, oxi_stream_range *range) {
    if (stream->desc.forgetful) return false;
    oxi_stream_slab *slab = oxi_slab_with_room(stream, range->bytes + 3 * OXI_STREAM_PAGE);
    if (!slab) return false;
    uintptr_t at = (uintptr_t)slab->block + slab->used;
    at = (at + OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
    range->memory = (char *)at + range->offset % OXI_STREAM_PAGE;
    range->slab = slab;
    at = (uintptr_t)range->memory + range->bytes; /* a direct read fills its last page */
    at = (at + OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
    slab->used = (size_t)(at - (uintptr_t)slab->block);
    oxi_slab_touch(slab, slab->used);
    return true;
}

static bool oxi_slab_is_empty(ox_stream *stream, const oxi_stream_slab *slab) {
    for (int i = 0; i < OXI_STREAM_BUCKETS; i++)
        for (oxi_stream_range *range = stream->buckets[i]; range; range = range->chain)
            if (range->slab == slab) return false;
    return true;
}

/* What is kept of a file (NULL: of all) and what was learned about it. None of it may be in flight. */
static void oxi_capacitor_forget_file(ox_stream *stream, const oxi_stream_file *file) {
    for (int i = 0; i < OXI_STREAM_BUCKETS; i++)
        for (oxi_stream_range *range = stream->buckets[i]; range; range = range->chain)
            if (range->successor && (!file || range->successor->file == file)) range->successor = NULL;
    if (stream->last && (!file || stream->last->file == file)) stream->last = NULL;
    stream->past_count = 0;
    for (int i = 0; i < OXI_STREAM_BUCKETS; i++)
        for (oxi_stream_range **link = &stream->buckets[i]; *link;) {
            oxi_stream_range *range = *link;
            if (file && range->file != file) {
                link = &range->chain;
                continue;
            }
            *link = range->chain;
            stream->range_count--;
            oxi_free(range, sizeof *range);
        }
    for (oxi_stream_slab *slab = stream->slabs, *next; slab; slab = next) {
        next = slab->next;
        if (oxi_slab_is_empty(stream, slab)) (void)oxi_slab_free(stream, slab);
    }
}

static void oxi_capacitor_close(ox_stream *stream) {
    oxi_capacitor_forget_file(stream, NULL);
}
