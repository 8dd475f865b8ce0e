/* What will be read next where no pass has told it yet. Models are made of layers that are alike: what was
 * read last is looked for among the ranges read before, and what followed there follows here, as far on in
 * the file as the layers are apart. Called by the ring, which reads it ahead of the operations. */

enum { OXI_CONTEXT_LEAST = 2, OXI_CONTEXT_MOST = 32 }; /* ranges that must agree, and that are compared */

static oxi_stream_range *oxi_past_at(const ox_stream *stream, int64_t index) {
    return stream->past[index % OXI_STREAM_PAST];
}

/* Of the ranges up to number `a` and up to number `b` so many agree: files, sizes, and how far on each is
 * from the one before. first: the oldest that is remembered. */
static int oxi_past_context(const ox_stream *stream, int64_t a, int64_t b, int64_t first) {
    int count = 0;
    for (; count < OXI_CONTEXT_MOST && a >= first; count++, a--, b--) {
        const oxi_stream_range *x = oxi_past_at(stream, a), *y = oxi_past_at(stream, b);
        if (x->file != y->file || x->bytes != y->bytes) break;
        if (count == 0) continue;
        const oxi_stream_range *x_next = oxi_past_at(stream, a + 1), *y_next = oxi_past_at(stream, b + 1);
        if (x_next->offset - x->offset != y_next->offset - y->offset) break;
    }
    return count;
}

/* The number of the range that is most like the last one in what was read before it; -1. */
static int64_t oxi_past_twin(const ox_stream *stream) {
    int64_t last = stream->past_count - 1, first = last < OXI_STREAM_PAST ? 0 : last - OXI_STREAM_PAST + 1;
    int64_t twin = -1;
    int most = OXI_CONTEXT_LEAST - 1;
    for (int64_t i = last - 1; i >= first && most < OXI_CONTEXT_MOST; i--) {
        int context = oxi_past_context(stream, i, last, first);
        if (context <= most) continue;
        most = context;
        twin = i;
    }
    return twin;
}

static bool oxi_region_holds(const oxi_stream_region *region, uint64_t offset, size_t bytes) {
    return offset >= region->offset && offset - region->offset <= region->bytes &&
           bytes <= region->bytes - (size_t)(offset - region->offset);
}

/* A range like `known`, `shift` bytes further on, is part of a tensor: of the same, or of one that is as
 * large, at the same place. */
static bool oxi_range_may_follow(const oxi_stream_range *known, uint64_t shift) {
    uint64_t offset = known->offset + shift;
    for (const oxi_stream_region *from = known->file->regions; from; from = from->next) {
        if (!oxi_region_holds(from, known->offset, known->bytes)) continue;
        if (oxi_region_holds(from, offset, known->bytes)) return true;
        for (const oxi_stream_region *to = known->file->regions; to; to = to->next)
            if (to->bytes == from->bytes && to->offset == from->offset + shift) return true;
    }
    return false;
}

/* The ranges that are likely to be read next, at most `most` of them; their number. */
static int oxi_predict_reads(ox_stream *stream, oxi_stream_range **out, int most) {
    int64_t last = stream->past_count - 1, twin = oxi_past_twin(stream);
    if (twin < 0) return 0;
    int count = 0, period = (int)(last - twin);
    uint64_t shift = oxi_past_at(stream, last)->offset - oxi_past_at(stream, twin)->offset;
    while (count < most) {
        oxi_stream_range *known =
            count < period ? oxi_past_at(stream, twin + 1 + count) : out[count - period];
        if (shift == 0 || known->file != stream->last->file || !oxi_range_may_follow(known, shift)) break;
        out[count] = oxi_range_of(stream, known->file, known->offset + shift, known->bytes);
        if (!out[count]) break;
        out[count++]->far = known->far;
    }
    return count;
}
