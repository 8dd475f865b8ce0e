/* The ring (CrookScheduler): cells that tiles are read into, and the steps of an operation that flow through
 * them. A step's sources set their bits as their bytes come in; when all are there it is computed, and its
 * cells go round. Called by the device; one flow runs at a time. */

/* ---- requests ---------------------------------------------------------------------------------------- */

enum { OXI_REQUEST_BLOCK = 64 };
typedef struct oxi_request_block {
    struct oxi_request_block *next;
    oxi_stream_request request[OXI_REQUEST_BLOCK];
} oxi_request_block;

static oxi_stream_request *oxi_request_new(ox_stream *stream) {
    if (!stream->free_requests) {
        oxi_request_block *block = (oxi_request_block *)oxi_try_alloc(sizeof *block);
        if (!block) return NULL;
        block->next = (oxi_request_block *)stream->request_blocks;
        stream->request_blocks = block;
        for (int i = 0; i < OXI_REQUEST_BLOCK; i++) {
            block->request[i].next = stream->free_requests;
            stream->free_requests = &block->request[i];
        }
    }
    oxi_stream_request *r = stream->free_requests;
    stream->free_requests = r->next;
    memset(r, 0, sizeof *r);
    return r;
}

/* A failure of `load` that no request tells. */
static void oxi_load_fail(oxi_stream_load *load, int cause, uint64_t at) {
    if (load->cause != 0) return;
    load->cause = cause;
    load->failed_at = at;
}

/* Counts what a request that was waited for says of the disk, until the tiles are chosen: while nothing
 * waits, the disk is not what is slow. */
static void oxi_pace_note(ox_stream *stream, const oxi_stream_request *r, double waited) {
    oxi_stream_pace *pace = &stream->pace;
    double took = r->end - r->start;
    if (pace->settled || r->write || r->cause != 0 || r->bytes < OXI_STREAM_PIECE / 2) return;
    if (r->alone && (pace->latency == 0 || took < pace->latency)) pace->latency = took;
    pace->bytes += (int64_t)r->bytes;
    pace->seconds += waited;
}

/* Takes back one request that is over. False when there is none (to wait for). */
static bool oxi_ring_deliver(ox_stream *stream, bool sleep) {
    double start = sleep ? oxi_now() : 0;
    oxi_stream_request *r = oxi_reader_take(&stream->reader, sleep);
    double now = oxi_now();
    if (sleep) stream->stats.stall_seconds += now - start;
    if (sleep) oxi_profile_span(OXI_PROFILE_RING, start, now, 0);
    if (!r) return false;
    oxi_profile_span(OXI_PROFILE_DISK, r->start, r->end, (double)r->bytes);
    if (sleep) oxi_pace_note(stream, r, now - start);
    if (r->cause != 0)
        oxi_load_fail(r->load, r->cause, oxi_request_begin(r) + r->done);
    else
        *(r->write ? &stream->stats.written_bytes : &stream->stats.disk_bytes) += (int64_t)r->bytes;
    if (r->end > r->load->end) r->load->end = r->end;
    r->load->pending--;
    r->next = stream->free_requests;
    stream->free_requests = r;
    return true;
}

static void oxi_ring_wait_for(ox_stream *stream, const oxi_stream_load *load) {
    while (load->pending > 0 && oxi_ring_deliver(stream, true)) {}
}

static void oxi_ring_quiet(ox_stream *stream) {
    while (stream->reader.flying > 0 && oxi_ring_deliver(stream, true)) {}
}

/* Bytes of the file to or from memory, in pieces. Direct: memory lies in its page as the file's bytes do, and
 * what is read may fill it from the first page's start to the last one's end. */
static void oxi_ring_pieces(ox_stream *stream, oxi_stream_load *load, oxi_stream_file *file, uint64_t offset,
                            size_t bytes, char *memory, bool write, bool direct) {
    while (bytes > 0) {
        size_t part = OXI_STREAM_PIECE - (direct ? (size_t)(offset % OXI_STREAM_PAGE) : 0);
        oxi_stream_request *r = oxi_request_new(stream);
        if (!r) {
            oxi_load_fail(load, ENOMEM, offset);
            return;
        }
        if (part > bytes) part = bytes;
        r->load = load;
        r->file = file;
        r->offset = offset;
        r->bytes = part;
        r->memory = memory;
        r->write = write;
        r->direct = direct;
        r->start = oxi_now();
        r->alone = stream->reader.flying == 0;
        load->pending++;
        oxi_reader_submit(&stream->reader, r);
        offset += part;
        memory += part;
        bytes -= part;
    }
}

/* The same; of direct writes the pages in part go through the page cache, for others hold their rest. */
static void oxi_ring_request(ox_stream *stream, oxi_stream_load *load, oxi_stream_file *file, uint64_t offset,
                             size_t bytes, char *memory, bool write, bool direct) {
    size_t lead = (size_t)((0 - offset) % OXI_STREAM_PAGE), whole;
    if (write && direct) {
        if (lead > bytes) lead = bytes;
        whole = (bytes - lead) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
        oxi_ring_pieces(stream, load, file, offset, lead, memory, true, false);
        oxi_ring_pieces(stream, load, file, offset + lead, whole, memory + lead, true, true);
        offset += lead + whole;
        memory += lead + whole;
        bytes -= lead + whole;
        direct = false;
    }
    oxi_ring_pieces(stream, load, file, offset, bytes, memory, write, direct);
}

static ox_status oxi_ring_fail(const oxi_stream_load *load, const oxi_stream_file *file) {
    const char *path = oxi_path_text(file->path);
    unsigned long long at = (unsigned long long)load->failed_at;
    if (load->cause == OXI_STREAM_ENDED)
        return oxi_fail(OX_ERR_IO, "%s: offset %llu: the file ends here; it became shorter", path, at);
    if (load->cause == ENOMEM) return oxi_fail(OX_ERR_NOMEM, "%s: offset %llu: no memory", path, at);
    return oxi_fail(OX_ERR_IO, "%s: offset %llu: %s", path, at, strerror(load->cause));
}

/* ---- cells ------------------------------------------------------------------------------------------- */

static void oxi_ring_free_cells(ox_stream *stream) {
    oxi_ring_quiet(stream);
    oxi_reader_know_memory(&stream->reader, NULL, 0);
    oxi_unpin_memory(&stream->ring_pin);
    oxi_free(stream->cells, (size_t)stream->cell_record_room * sizeof *stream->cells);
    oxi_free(stream->ring_block, stream->ring_block_bytes);
    stream->cells = NULL;
    stream->ring_block = NULL;
    stream->ring_block_bytes = 0;
    stream->cell_count = stream->cell_record_room = 0;
}

/* `count` cells for `bytes` bytes each, wherever in its pages those lie. */
static ox_status oxi_ring_make_cells(ox_stream *stream, int count, size_t bytes) {
    size_t room = (bytes + 3 * OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE * OXI_STREAM_PAGE, all = 0;
    oxi_ring_free_cells(stream);
    if (!oxi_mul_size(room, (size_t)count, &all) || all > SIZE_MAX / 4) return OX_ERR_NOMEM;
    stream->cell_record_room = count;
    stream->ring_block_bytes = all + OXI_STREAM_PAGE;
    stream->cells = (oxi_stream_cell *)oxi_calloc((size_t)count, sizeof *stream->cells);
    stream->ring_block = stream->cells ? (char *)oxi_alloc(stream->ring_block_bytes) : NULL;
    if (!stream->ring_block) {
        stream->ring_block_bytes = 0;
        oxi_ring_free_cells(stream);
        return OX_ERR_NOMEM;
    }
    uintptr_t start = ((uintptr_t)stream->ring_block + OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE;
    for (int i = 0; i < count; i++)
        stream->cells[i].memory = (char *)(start * OXI_STREAM_PAGE) + (size_t)i * room;
    stream->cell_room = room;
    stream->cell_count = count;
    oxi_reader_know_memory(&stream->reader, stream->ring_block, stream->ring_block_bytes);
    return OX_OK;
}

/* Pins the cells for the device that their bytes go to, which reads them then without a copy by the host.
 * Where it cannot be, it is not asked again. */
static void oxi_ring_pin(ox_stream *stream, oxi_stream_flow *flow) {
    oxi_pinned_memory *pin = &stream->ring_pin;
    size_t bytes = (size_t)stream->cell_count * stream->cell_room;
    char *cells = stream->cells[0].memory;
    if (pin->device != flow->device) {
        oxi_unpin_memory(pin);
        (void)oxi_pin_memory(flow->device, cells, bytes, pin);
    }
    flow->pinned = pin->handle ? cells : NULL;
    flow->pinned_bytes = bytes;
}

/* The ring as it is between calls that need larger cells. */
static ox_status oxi_ring_open(ox_stream *stream) {
    size_t bytes = stream->desc.tile_bytes - 2 * OXI_STREAM_PAGE;
    return oxi_ring_make_cells(stream, 2 * stream->desc.depth, bytes);
}

/* Makes the cells fit a flow. Larger ones are fewer; the kept tiles make room if need be. */
static ox_status oxi_ring_fit(ox_stream *stream, const oxi_stream_flow *flow) {
    size_t usual = stream->desc.tile_bytes, room = flow->cell_bytes + 2 * OXI_STREAM_PAGE, all = 0;
    bool fits = stream->cell_room >= room && stream->cell_count >= flow->cells;
    if (fits && (stream->cell_room <= usual || room > usual)) return OX_OK;
    int count = flow->cells;
    if (room <= usual) {
        if (count < 2 * stream->desc.depth) count = 2 * stream->desc.depth;
        room = usual;
    }
    if (!oxi_mul_size(room, (size_t)count, &all) || all > stream->desc.ram_bytes)
        return oxi_fail(OX_ERR_NOMEM,
                        "%llu bytes cannot be cut into tiles, and the stream's RAM budget is %llu",
                        (unsigned long long)all, (unsigned long long)stream->desc.ram_bytes);
    oxi_ring_free_cells(stream);
    oxi_capacitor_yield(stream, all);
    return oxi_ring_make_cells(stream, count, room - 2 * OXI_STREAM_PAGE);
}

/* Tiles and depth that suit the disk, once some tiles have come in: a tile takes some milliseconds, for
 * threads wait for each other at its end, and twice what the disk delivers within its latency is on its way.
 * What was kept in other tiles goes. */
static ox_status oxi_ring_settle(ox_stream *stream) {
    enum { TILES = 2 };
    const double tile_seconds = 0.016;
    const size_t page = OXI_STREAM_PAGE, mib = (size_t)1 << 20;
    oxi_stream_pace *pace = &stream->pace;
    ox_stream_desc *desc = &stream->desc;
    if (pace->settled || pace->bytes < (int64_t)(TILES * desc->tile_bytes)) return OX_OK;
    oxi_ring_forget(stream); /* nothing flies: the time is whole */
    pace->settled = true;
    pace->bandwidth = (double)pace->bytes / (pace->seconds > 1e-6 ? pace->seconds : 1e-6);
    if (!pace->sets_tile && !pace->sets_depth) return OX_OK;
    double seconds = 2 * pace->latency > tile_seconds ? 2 * pace->latency : tile_seconds;
    size_t ring = desc->ram_bytes / 32 * 3 > 64 * mib ? desc->ram_bytes / 32 * 3 : 64 * mib;
    if (ring > desc->ram_bytes / 3) ring = desc->ram_bytes / 3;
    double wanted = pace->bandwidth * seconds, most = (double)(ring / (2 * OXI_STREAM_LEAST_DEPTH));
    if (wanted > 16.0 * (double)mib) wanted = 16.0 * (double)mib;
    if (wanted < 4.0 * (double)mib) wanted = 4.0 * (double)mib;
    if (wanted > most) wanted = most;
    size_t tile = pace->sets_tile ? ((size_t)wanted + page - 1) / page * page : desc->tile_bytes;
    if (tile < 4 * page || (tile > desc->tile_bytes / 4 * 3 && tile < desc->tile_bytes / 3 * 4))
        tile = desc->tile_bytes; /* not worth reading anew what is kept */
    int depth = 2 + (int)(2 * pace->bandwidth * pace->latency / (double)tile);
    if (depth < OXI_STREAM_LEAST_DEPTH + 1) depth = OXI_STREAM_LEAST_DEPTH + 1;
    while (depth > OXI_STREAM_LEAST_DEPTH && (depth > OXI_STREAM_WINDOW || 2 * (size_t)depth * tile > ring))
        depth--;
    if (pace->sets_depth) desc->depth = depth;
    if (tile != desc->tile_bytes) oxi_capacitor_forget_file(stream, NULL);
    desc->tile_bytes = tile;
    oxi_ring_free_cells(stream);
    oxi_capacitor_yield(stream, 2 * (size_t)desc->depth * tile);
    return oxi_ring_open(stream);
}

/* Nothing is in flight afterwards, and nothing read ahead is remembered. */
static void oxi_ring_forget(ox_stream *stream) {
    oxi_ring_quiet(stream);
    for (int i = 0; i < stream->cell_count; i++) {
        stream->cells[i].range = NULL;
        stream->cells[i].guessed = false;
    }
}

static bool oxi_cell_is_idle(const oxi_stream_cell *cell) {
    return cell->users == 0 && cell->load.pending == 0;
}

/* A cell that nothing uses: an empty one, else one that was read ahead in vain. */
static oxi_stream_cell *oxi_ring_idle_cell(ox_stream *stream, bool empty) {
    oxi_stream_cell *found = NULL;
    for (int i = 0; i < stream->cell_count; i++) {
        oxi_stream_cell *cell = &stream->cells[i];
        if (!oxi_cell_is_idle(cell)) continue;
        if (!cell->range) return cell;
        if (!empty) found = cell;
    }
    return found;
}

static oxi_stream_cell *oxi_ring_cell_of(ox_stream *stream, const oxi_stream_range *range) {
    for (int i = 0; i < stream->cell_count; i++) {
        oxi_stream_cell *cell = &stream->cells[i];
        if (cell->range == range && cell->load.cause == 0) return cell;
    }
    return NULL;
}

/* Before a cell is used again: what became of a write from it is remembered. */
static void oxi_cell_settle(ox_stream *stream, oxi_stream_cell *cell) {
    if (cell->storing && cell->load.cause != 0)
        oxi_load_fail(&stream->stores, cell->load.cause, cell->load.failed_at);
    cell->storing = false;
    cell->load.cause = 0;
}

/* Waits for a cell if that can help. NULL: none, and the step at hand has to wait for its turn. */
static oxi_stream_cell *oxi_ring_take_cell(ox_stream *stream, bool must) {
    oxi_stream_cell *cell;
    while (!(cell = oxi_ring_idle_cell(stream, false)))
        if (!must || !oxi_ring_deliver(stream, true)) return NULL;
    oxi_cell_settle(stream, cell);
    cell->range = NULL;
    cell->guessed = false;
    return cell;
}

/* ---- ranges: kept, read ahead, or read now ------------------------------------------------------------ */

/* A tensor beyond the budget may be read once and never again: its ranges are kept from the second time on,
 * for memory has its price, too. */
static bool oxi_range_may_be_kept(const oxi_stream_range *range) {
    return range->used_at > 0 || !range->far;
}

/* Begins to read a range to where its first byte belongs. */
static void oxi_ring_read(ox_stream *stream, const oxi_stream_range *range, oxi_stream_load *load,
                          char *memory) {
    load->cause = 0;
    load->flow = stream->flow;
    oxi_ring_request(stream, load, range->file, range->offset, range->bytes, memory, false,
                     range->file->direct >= 0);
}

/* Begins to read a range to where it will be kept; false when it will not, or there is no room for it. */
static bool oxi_ring_keep(ox_stream *stream, oxi_stream_range *range) {
    if (!oxi_range_may_be_kept(range) || !oxi_range_is_idle(range)) return false;
    if (!oxi_capacitor_accept(stream, range)) return false;
    range->checked = false;
    oxi_ring_read(stream, range, &range->load, range->memory);
    return true;
}

/* Begins to read a range into a cell. */
static void oxi_ring_fill(ox_stream *stream, oxi_stream_range *range, oxi_stream_cell *cell) {
    oxi_cell_settle(stream, cell);
    cell->range = range;
    cell->checked = cell->guessed = false;
    oxi_ring_read(stream, range, &cell->load, cell->memory + range->offset % OXI_STREAM_PAGE);
}

/* Where the bytes of a range are or will be. False when there is no cell for them yet. */
static bool oxi_ring_get(ox_stream *stream, oxi_stream_range *range, oxi_stream_source *source, bool must) {
    range->far = source->region->bytes > stream->desc.ram_bytes;
    if (range->memory && range->load.cause != 0 && oxi_range_is_idle(range)) oxi_range_drop(range);
    oxi_stream_cell *cell = range->memory ? NULL : oxi_ring_cell_of(stream, range);
    if (range->memory) {
        if (!range->guessed) stream->stats.ram_bytes += (int64_t)range->bytes;
        range->guessed = false;
    } else if (!cell && !oxi_ring_keep(stream, range)) {
        cell = oxi_ring_take_cell(stream, must);
        if (!cell) return false;
        oxi_ring_fill(stream, range, cell);
    }
    oxi_range_touch(stream, range);
    if (cell) cell->guessed = false;
    if (range->memory) {
        source->range = range;
        source->data = range->memory;
        range->users++;
    } else {
        source->cell = cell;
        source->data = cell->memory + range->offset % OXI_STREAM_PAGE;
        cell->users++;
    }
    return true;
}

/* Reads a range ahead of the operations, unless it is there; false when there is no room for it. */
static bool oxi_ring_read_ahead(ox_stream *stream, oxi_stream_range *range) {
    if (range->memory || oxi_ring_cell_of(stream, range)) return true;
    if (oxi_ring_keep(stream, range)) {
        range->guessed = true;
    } else {
        oxi_stream_cell *cell = oxi_ring_idle_cell(stream, true);
        if (!cell || cell->range || range->bytes + 2 * OXI_STREAM_PAGE > stream->cell_room) return false;
        oxi_ring_fill(stream, range, cell);
        cell->guessed = true;
    }
    stream->stats.guesses++;
    return true;
}

/* In the order of the last pass, while cells are empty; on the first one, what is likely to come. */
static void oxi_ring_guess(ox_stream *stream) {
    enum { HOPS_MOST = 1 << 14 };
    oxi_stream_range *range = stream->last, *likely[OXI_STREAM_WINDOW];
    if (range && !range->successor) {
        int count = oxi_predict_reads(stream, likely, stream->desc.depth);
        for (int i = 0; i < count && oxi_ring_read_ahead(stream, likely[i]); i++) {}
        return;
    }
    for (int hop = 0; range && hop < HOPS_MOST; hop++) {
        range = range->successor;
        if (!range || range == stream->last || !oxi_ring_read_ahead(stream, range)) return;
    }
}

/* Bytes read ahead, all in, that no operation asked for yet. */
static int64_t oxi_ring_ahead(const ox_stream *stream) {
    int64_t bytes = 0;
    for (int i = 0; i < stream->cell_count; i++)
        if (stream->cells[i].guessed && stream->cells[i].load.pending == 0)
            bytes += (int64_t)stream->cells[i].range->bytes;
    for (int i = 0; i < OXI_STREAM_BUCKETS; i++)
        for (const oxi_stream_range *range = stream->buckets[i]; range; range = range->chain)
            if (range->guessed && range->load.pending == 0) bytes += (int64_t)range->bytes;
    return bytes;
}

/* ---- steps ------------------------------------------------------------------------------------------- */

static oxi_stream_load *oxi_source_load(const oxi_stream_source *source) {
    return source->range ? &source->range->load : source->cell ? &source->cell->load : NULL;
}

static void oxi_source_release(oxi_stream_source *source) {
    if (source->range) source->range->users--;
    if (source->cell) {
        source->cell->users--;
        if (source->cell->users == 0 && source->cell->load.pending == 0) source->cell->range = NULL;
    }
    source->range = NULL;
    source->cell = NULL;
}

static void oxi_step_release(oxi_stream_step *step) {
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) oxi_source_release(&step->source[i]);
}

static bool oxi_same_source(const oxi_stream_source *a, const oxi_stream_source *b) {
    const oxi_stream_layout *x = &a->layout, *y = &b->layout;
    return a->use == OXI_STREAM_LOAD && b->use == OXI_STREAM_LOAD && a->region == b->region && b->data &&
           x->first == y->first && x->bytes == y->bytes && x->run == y->run && x->loops == y->loops &&
           memcmp(x->count, y->count, sizeof x->count) == 0 && memcmp(x->step, y->step, sizeof x->step) == 0;
}

/* Visits the runs of a layout: the byte of the region and the place in the cell of each. */
typedef void (*oxi_run_fn)(void *user, uint64_t from, size_t at, size_t bytes);
static void oxi_layout_runs(const oxi_stream_layout *layout, oxi_run_fn visit, void *user) {
    int64_t index[OX_MAX_DIMS] = {0};
    uint64_t from = layout->first;
    size_t at = 0;
    for (;;) {
        visit(user, from, at, layout->run);
        at += layout->run;
        int d = layout->loops - 1;
        for (; d >= 0; d--) {
            from += (uint64_t)layout->step[d];
            if (++index[d] < layout->count[d]) break;
            from -= (uint64_t)(layout->step[d] * layout->count[d]);
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

typedef struct oxi_source_pages {
    const oxi_stream_source *source;
    ox_status status;
} oxi_source_pages;

static void oxi_run_note(void *user, uint64_t from, size_t at, size_t bytes) {
    const oxi_stream_source *source = ((const oxi_source_pages *)user)->source;
    oxi_region_note(source->region, from, source->data + at, bytes);
}

static void oxi_run_check(void *user, uint64_t from, size_t at, size_t bytes) {
    oxi_source_pages *pages = (oxi_source_pages *)user;
    const oxi_stream_source *source = pages->source;
    if (pages->status == OX_OK)
        pages->status = oxi_region_check(source->region, from, source->data + at, bytes);
}

/* What was read has the bytes that were read, or written, here before. */
static ox_status oxi_source_check(ox_stream *stream, const oxi_stream_source *source) {
    oxi_source_pages pages = {source, oxi_range_check(stream, source)};
    if (pages.status == OX_OK && source->region->sums)
        oxi_layout_runs(&source->layout, oxi_run_check, &pages);
    return pages.status;
}

typedef struct oxi_run_job {
    ox_stream *stream;
    const oxi_stream_region *region;
    oxi_stream_load *load;
    char *data;
    bool write, direct;
} oxi_run_job;

static void oxi_run_request(void *user, uint64_t from, size_t at, size_t bytes) {
    const oxi_run_job *job = (const oxi_run_job *)user;
    oxi_ring_request(job->stream, job->load, job->region->file, job->region->offset + from, bytes,
                     job->data + at, job->write, job->direct);
}

/* One run of the stream's own file, which goes past the page cache where the file system allows it. */
static bool oxi_source_is_direct(const oxi_stream_source *source) {
    return source->region->file->writable && source->region->file->direct >= 0 && source->layout.loops == 0;
}

static void oxi_source_transfer(ox_stream *stream, oxi_stream_source *source, oxi_stream_load *load,
                                bool write) {
    oxi_run_job job;
    job.stream = stream;
    job.region = source->region;
    job.load = load;
    job.data = source->data;
    job.write = write;
    job.direct = oxi_source_is_direct(source);
    oxi_layout_runs(&source->layout, oxi_run_request, &job);
}

/* One run of a file that nobody writes to, whose elements can be used where they lie. */
static bool oxi_source_is_range(const oxi_stream_source *source) {
    const oxi_stream_layout *layout = &source->layout;
    return source->use == OXI_STREAM_LOAD && !source->region->file->writable && layout->loops == 0 &&
           source->region->offset % (uint64_t)layout->align == 0;
}

/* Finds memory for a source and begins to read. False when the ring has no room for it yet. */
static bool oxi_source_begin(ox_stream *stream, const oxi_stream_flow *flow, oxi_stream_source *source,
                             const oxi_stream_source *before, bool must) {
    if (before && oxi_same_source(source, before)) {
        source->cell = before->cell;
        source->range = before->range;
        source->data = before->data;
        if (source->cell) source->cell->users++;
        if (source->range) source->range->users++;
        return true;
    }
    if (oxi_source_is_range(source) && !flow->unlearned) {
        oxi_stream_range *range =
            oxi_range_of(stream, source->region->file, source->region->offset + source->layout.first,
                         source->layout.bytes);
        if (range) return oxi_ring_get(stream, range, source, must);
    }
    source->cell = oxi_ring_take_cell(stream, must);
    if (!source->cell) return false;
    source->cell->users++;
    source->data = source->cell->memory;
    if (oxi_source_is_direct(source))
        source->data += (source->region->offset + source->layout.first) % OXI_STREAM_PAGE;
    if (source->use & OXI_STREAM_LOAD) oxi_source_transfer(stream, source, &source->cell->load, false);
    return true;
}

static bool oxi_step_begin(ox_stream *stream, const oxi_stream_flow *flow, oxi_stream_step *step,
                           const oxi_stream_step *before, bool must) {
    step->wanted = step->ready = 0;
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        oxi_stream_source *source = &step->source[i];
        if (source->use == OXI_STREAM_UNUSED || source->layout.bytes == 0) continue;
        if (!oxi_source_begin(stream, flow, source, before ? &before->source[i] : NULL, must)) {
            oxi_step_release(step);
            return false;
        }
        if (source->use & OXI_STREAM_LOAD) step->wanted |= 1u << i;
    }
    return true;
}

/* Sleeps until its bytes are in, or are known not to come. A read that failed, but was begun by a flow before
 * this one, ahead or for itself, was not this one's to fail: it is read again. */
static const oxi_stream_load *oxi_source_wait(ox_stream *stream, const oxi_stream_source *source) {
    oxi_stream_range *range = source->range ? source->range : source->cell->range;
    oxi_stream_load *load = oxi_source_load(source);
    oxi_ring_wait_for(stream, load);
    if (load->cause == 0 || !range || load->flow == stream->flow) return load;
    oxi_ring_read(stream, range, load, source->data);
    oxi_ring_wait_for(stream, load);
    return load;
}

/* The barrier: sleeps until every source has set its bit. */
static ox_status oxi_step_wait(ox_stream *stream, oxi_stream_step *step) {
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        if (!(step->wanted >> i & 1)) continue;
        const oxi_stream_load *load = oxi_source_wait(stream, &step->source[i]);
        if (load->cause != 0) return oxi_ring_fail(load, step->source[i].region->file);
        ox_status status = oxi_source_check(stream, &step->source[i]);
        if (status != OX_OK) return status;
        step->ready |= 1u << i;
    }
    return OX_OK;
}

/* The cells stay taken until their bytes are written. */
static void oxi_step_store(ox_stream *stream, oxi_stream_step *step) {
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        oxi_stream_source *source = &step->source[i];
        if (!(source->use & OXI_STREAM_STORE) || !source->cell) continue;
        source->cell->storing = true;
        oxi_source_pages pages = {source, OX_OK};
        if (source->region->sums) oxi_layout_runs(&source->layout, oxi_run_note, &pages);
        oxi_source_transfer(stream, source, &source->cell->load, true);
    }
}

/* Waits for all writes to the file; the first that failed is the error. */
static ox_status oxi_ring_finish_stores(ox_stream *stream, const oxi_stream_file *file) {
    for (int i = 0; i < stream->cell_count; i++) {
        oxi_stream_cell *cell = &stream->cells[i];
        if (!cell->storing) continue;
        oxi_ring_wait_for(stream, &cell->load);
        oxi_cell_settle(stream, cell);
    }
    ox_status status = stream->stores.cause != 0 ? oxi_ring_fail(&stream->stores, file) : OX_OK;
    stream->stores.cause = 0;
    return status;
}

/* The same at the end of a flow, and for what the page cache has of them. */
static ox_status oxi_ring_end_stores(ox_stream *stream, const oxi_stream_file *file) {
    int cause = 0;
    ox_status status = oxi_ring_finish_stores(stream, file);
    if (file->direct >= 0) cause = oxi_stream_handle_settle(file->plain);
    if (status != OX_OK || cause == 0) return status;
    return oxi_fail(OX_ERR_IO, "%s: what was written did not get to the disk: %s", oxi_path_text(file->path),
                    strerror(cause));
}

/* ---- the flow ---------------------------------------------------------------------------------------- */

typedef struct oxi_flow_run {
    ox_stream *stream;
    oxi_stream_flow *flow;
    int64_t head, tail;            /* the next step to begin, and to compute */
    const oxi_stream_file *stores; /* where results go, or NULL */
} oxi_flow_run;

static oxi_stream_step *oxi_flow_step(const oxi_flow_run *run, int64_t index) {
    return &run->stream->steps[index % OXI_STREAM_WINDOW];
}

/* Begins as many steps as the window and the ring have room for; at least the next one. */
static ox_status oxi_flow_advance(oxi_flow_run *run) {
    int window = run->flow->window > 0 ? run->flow->window : run->stream->desc.depth;
    while (run->head < run->flow->count && run->head - run->tail < window) {
        oxi_stream_step *step = oxi_flow_step(run, run->head);
        bool must = run->head == run->tail;
        memset(step, 0, sizeof *step);
        ox_status status = run->flow->prepare(run->flow, run->head, step);
        if (status != OX_OK) return status;
        const oxi_stream_step *before = must ? NULL : oxi_flow_step(run, run->head - 1);
        if (!oxi_step_begin(run->stream, run->flow, step, before, must)) {
            return must ? oxi_fail(OX_ERR_NOMEM, "the stream's ring has too few cells") : OX_OK;
        }
        run->head++;
    }
    if (run->head < run->flow->count) return OX_OK;
    if (!run->flow->unlearned) oxi_ring_guess(run->stream);
    return OX_OK;
}

static ox_status oxi_flow_compute(oxi_flow_run *run) {
    ox_stream *stream = run->stream;
    oxi_stream_step *step = oxi_flow_step(run, run->tail);
    ox_status status = oxi_step_wait(stream, step);
    double start = oxi_now();
    if (status == OX_OK) status = run->flow->compute(run->flow, run->tail, step);
    double end = oxi_now();
    stream->stats.compute_seconds += end - start;
    oxi_profile_span(OXI_PROFILE_COMPUTE, start, end, 0);
    if (status == OX_OK) oxi_step_store(stream, step);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++)
        if (step->source[i].use & OXI_STREAM_STORE) run->stores = step->source[i].region->file;
    if (run->flow->window == 1 && run->stores && status == OX_OK)
        status = oxi_ring_finish_stores(stream, run->stores);
    oxi_step_release(step);
    run->tail++;
    stream->stats.tiles++;
    if (stream->desc.progress)
        stream->desc.progress(stream->desc.progress_user, run->tail, run->flow->count,
                              (int64_t)stream->clock);
    return status;
}

static ox_status oxi_flow_run_all(ox_stream *stream, oxi_stream_flow *flow) {
    double start = oxi_now();
    oxi_flow_run run;
    memset(&run, 0, sizeof run);
    run.stream = stream;
    run.flow = flow;
    stream->flow++;
    ox_status status = oxi_ring_fit(stream, flow);
    if (status == OX_OK && flow->device) oxi_ring_pin(stream, flow);
    while (status == OX_OK && run.tail < flow->count) {
        status = oxi_flow_advance(&run);
        if (status == OX_OK) status = oxi_flow_compute(&run);
    }
    for (; run.tail < run.head; run.tail++) oxi_step_release(oxi_flow_step(&run, run.tail));
    if (run.stores) {
        ox_status stored = oxi_ring_end_stores(stream, run.stores);
        if (status == OX_OK) status = stored;
    }
    stream->busy_seconds += oxi_now() - start;
    return status;
}
