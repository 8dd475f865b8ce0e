/* Checksums, when they are asked for: of ranges of files as they were read first, and of the pages of the
 * spill file as they were written last. Bytes that are others when they are read again are an error.
 * Called by the ring and by the device. */

/* Four sums of 8-byte words, each turned and multiplied, so that any changed byte changes them. */
static uint64_t oxi_sum_of(const char *data, size_t bytes) {
    const uint64_t odd = 0x9E3779B97F4A7C15u;
    uint64_t sum[4] = {1, 2, 3, 4}, word;
    size_t at = 0;
    for (; at + 32 <= bytes; at += 32)
        for (int i = 0; i < 4; i++) {
            memcpy(&word, data + at + 8 * (size_t)i, 8);
            sum[i] = ((sum[i] << 29 | sum[i] >> 35) ^ word) * odd;
        }
    for (; at < bytes; at++) {
        uint64_t *one = &sum[at % 4];
        *one = ((*one << 29 | *one >> 35) ^ (uint8_t)data[at]) * odd;
    }
    return sum[0] ^ sum[1] * odd ^ (sum[2] << 17 | sum[2] >> 47) ^ sum[3] * (odd << 1 | 1) ^ bytes;
}

static ox_status oxi_sum_fail(const oxi_stream_file *file, uint64_t offset, size_t bytes, const char *what) {
    return oxi_fail(OX_ERR_IO, "%s: offset %llu: %llu bytes are not those that were %s",
                    oxi_path_text(file->path), (unsigned long long)offset, (unsigned long long)bytes, what);
}

/* ---- pages of the spill file --------------------------------------------------------------------------- */

/* Visits the pages of a region that [from, from + bytes) touches, until one says no, which is at *at; those
 * of which it has a part only have no data. The last one may be short. */
typedef bool (*oxi_page_fn)(uint32_t *known, const char *data, size_t bytes);
static bool oxi_region_visit(const oxi_stream_region *region, uint64_t from, const char *data, size_t bytes,
                             oxi_page_fn visit, uint64_t *at) {
    uint64_t end = from + bytes, page = from / OXI_STREAM_PAGE;
    for (; page * OXI_STREAM_PAGE < end; page++) {
        uint64_t first = page * OXI_STREAM_PAGE, last = first + OXI_STREAM_PAGE;
        if (last > region->bytes) last = region->bytes;
        bool whole = first >= from && last <= end;
        *at = first;
        if (!visit(&region->sums[page], whole ? data + (first - from) : NULL, (size_t)(last - first)))
            return false;
    }
    return true;
}

/* 0 stands for what is not known. */
static uint32_t oxi_page_sum(const char *data, size_t bytes) {
    uint64_t sum = oxi_sum_of(data, bytes);
    uint32_t folded = (uint32_t)(sum ^ sum >> 32);
    return folded ? folded : 1;
}

static bool oxi_page_note(uint32_t *known, const char *data, size_t bytes) {
    *known = data ? oxi_page_sum(data, bytes) : 0;
    return true;
}

static bool oxi_page_check(uint32_t *known, const char *data, size_t bytes) {
    return !data || *known == 0 || *known == oxi_page_sum(data, bytes);
}

/* Before bytes [from, from + bytes) of a region are written. */
static void oxi_region_note(const oxi_stream_region *region, uint64_t from, const char *data, size_t bytes) {
    uint64_t at;
    if (region->sums) (void)oxi_region_visit(region, from, data, bytes, oxi_page_note, &at);
}

/* After they were read: what is known of them holds. */
static ox_status oxi_region_check(const oxi_stream_region *region, uint64_t from, const char *data,
                                  size_t bytes) {
    uint64_t at;
    if (!region->sums || oxi_region_visit(region, from, data, bytes, oxi_page_check, &at)) return OX_OK;
    return oxi_sum_fail(region->file, region->offset + at, OXI_STREAM_PAGE, "written here");
}

/* ---- ranges of files ---------------------------------------------------------------------------------- */

/* The bytes of a range, read just now, are those that it had when it was read first. */
static ox_status oxi_range_check(ox_stream *stream, const oxi_stream_source *source) {
    oxi_stream_range *range = source->range ? source->range : source->cell ? source->cell->range : NULL;
    if (!stream->desc.checksums || !range) return OX_OK;
    bool *checked = source->range ? &range->checked : &source->cell->checked;
    if (*checked) return OX_OK;
    uint64_t sum = oxi_sum_of(source->data, range->bytes);
    if (range->has_sum && range->sum != sum) {
        if (source->range) range->load.cause = EIO; /* what is kept is not used again */
        return oxi_sum_fail(range->file, range->offset, range->bytes, "read here before");
    }
    range->sum = sum;
    range->has_sum = *checked = true;
    return OX_OK;
}
