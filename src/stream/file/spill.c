/* The spill folder: memory on the disk for tensors that are moved to the stream and for large results, in
 * one file without a name, so that nothing stays behind whatever happens; its free parts are a list of gaps,
 * first fit. Named tensors have files of their own, which stay. Called by the device. */

static ox_status oxi_spill_open(ox_stream *stream) {
    if (stream->spill) return OX_OK;
    oxi_stream_file *file = oxi_stream_file_new(stream->spill_folder);
    if (!file) return OX_ERR_NOMEM;
    char path[1024];
    file->writable = true;
    file->plain = oxi_stream_handle_unnamed(stream->spill_folder, path, sizeof path);
    if (file->plain == -1) {
        int cause = errno;
        oxi_stream_file_free(file);
        return oxi_fail(OX_ERR_IO, "%s: no spill file can be made there: %s",
                        oxi_path_text(stream->spill_folder), strerror(cause));
    }
    if (!stream->desc.buffered) file->direct = oxi_stream_handle_direct(file->plain);
    oxi_reader_know_file(&stream->reader, file);
    stream->spill = file;
    return OX_OK;
}

static uint64_t oxi_spill_round(size_t bytes) {
    return ((uint64_t)bytes + OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
}

/* Whole pages, from the first gap that has them or from the end, which is made longer: false without room. */
static bool oxi_spill_take(ox_stream *stream, uint64_t bytes, uint64_t *out) {
    for (oxi_stream_gap **link = &stream->gaps; *link; link = &(*link)->next) {
        oxi_stream_gap *gap = *link;
        if (gap->bytes < bytes) continue;
        *out = gap->offset;
        gap->offset += bytes;
        gap->bytes -= bytes;
        if (gap->bytes == 0) {
            *link = gap->next;
            oxi_free(gap, sizeof *gap);
        }
        return true;
    }
    *out = stream->spill_end;
    if (bytes > 0 && oxi_stream_handle_reserve(stream->spill->plain, *out, bytes) != 0) {
        oxi_stream_handle_resize(stream->spill->plain, *out); /* what it did get */
        return false;
    }
    stream->spill_end += bytes;
    oxi_stream_handle_resize(stream->spill->plain, stream->spill_end);
    return true;
}

/* Joins the last gap to the unused end, and gives the disk back what lies behind it. */
static void oxi_spill_shrink(ox_stream *stream) {
    oxi_stream_gap **link = &stream->gaps;
    while (*link && (*link)->next) link = &(*link)->next;
    oxi_stream_gap *gap = *link;
    if (gap && gap->offset + gap->bytes == stream->spill_end) {
        stream->spill_end = gap->offset;
        *link = NULL;
        oxi_free(gap, sizeof *gap);
    }
    oxi_stream_handle_resize(stream->spill->plain, stream->spill_end);
}

/* Without memory for another gap the bytes are lost until the stream is closed. */
static void oxi_spill_give(ox_stream *stream, uint64_t offset, uint64_t bytes) {
    oxi_stream_gap *before = NULL, *after = stream->gaps;
    if (bytes == 0) return;
    while (after && after->offset < offset) {
        before = after;
        after = after->next;
    }
    if (before && before->offset + before->bytes == offset) {
        before->bytes += bytes;
    } else {
        oxi_stream_gap *gap = (oxi_stream_gap *)oxi_try_alloc(sizeof *gap);
        if (!gap) return;
        gap->offset = offset;
        gap->bytes = bytes;
        gap->next = after;
        if (before)
            before->next = gap;
        else
            stream->gaps = gap;
        before = gap;
    }
    if (after && before->offset + before->bytes == after->offset) {
        before->bytes += after->bytes;
        before->next = after->next;
        oxi_free(after, sizeof *after);
    }
    oxi_spill_shrink(stream);
}

static ox_status oxi_spill_alloc(ox_stream *stream, size_t bytes, oxi_stream_region **out) {
    ox_status status = oxi_spill_open(stream);
    if (status != OX_OK) return status;
    uint64_t room = oxi_spill_round(bytes), offset = 0, used = stream->stats.spilled_bytes;
    if (stream->spill_budget > 0 && (used > stream->spill_budget || room > stream->spill_budget - used))
        return oxi_fail(OX_ERR_NOMEM, "%s: out of memory: %llu bytes needed, %llu in use, a budget of %llu",
                        stream->name, (unsigned long long)room, (unsigned long long)used,
                        (unsigned long long)stream->spill_budget);
    if (!oxi_spill_take(stream, room, &offset))
        return oxi_fail(OX_ERR_IO, "%s: offset %llu: no room for %llu bytes of the spill file",
                        oxi_path_text(stream->spill_folder), (unsigned long long)stream->spill_end,
                        (unsigned long long)room);
    *out = oxi_stream_region_new(stream, stream->spill, offset, bytes);
    if (!*out) {
        oxi_spill_give(stream, offset, room);
        return OX_ERR_NOMEM;
    }
    stream->stats.spilled_bytes += (size_t)room;
    if (stream->stats.spilled_bytes > stream->spill_peak) stream->spill_peak = stream->stats.spilled_bytes;
    return OX_OK;
}

static void oxi_spill_free(ox_stream *stream, const oxi_stream_region *region) {
    uint64_t room = oxi_spill_round(region->bytes);
    stream->stats.spilled_bytes -= (size_t)room;
    oxi_spill_give(stream, region->offset, room);
}

static void oxi_spill_close(ox_stream *stream) {
    while (stream->gaps) {
        oxi_stream_gap *gap = stream->gaps;
        stream->gaps = gap->next;
        oxi_free(gap, sizeof *gap);
    }
    if (!stream->spill) return;
    oxi_reader_forget_file(&stream->reader, stream->spill);
    oxi_stream_file_free(stream->spill);
    stream->spill = NULL;
}

/* ---- named tensors ------------------------------------------------------------------------------------- */

/* A file of `room` bytes that begins with `header`; removed again if that cannot be. */
static ox_status oxi_named_fill(const oxi_stream_file *file, char *header, size_t bytes, uint64_t room) {
    int64_t moved = 0;
    int cause = oxi_stream_handle_reserve(file->plain, 0, room);
    for (size_t at = 0; cause == 0 && at < bytes; at += (size_t)moved) {
        do moved = oxi_stream_handle_move(file->plain, true, header + at, bytes - at, at);
        while (moved == -EINTR);
        if (moved <= 0) cause = moved < 0 ? (int)-moved : ENOSPC;
    }
    if (cause == 0) {
        oxi_stream_handle_resize(file->plain, room);
        return OX_OK;
    }
    oxi_remove_file(file->path);
    return oxi_fail(OX_ERR_IO, "%s: %s", oxi_path_text(file->path), strerror(cause));
}

/* header: so many pages, in front of the numbers. */
static ox_status oxi_named_open(ox_stream *stream, const char *path, char *header, size_t header_bytes,
                                size_t bytes, oxi_stream_region **out) {
    oxi_stream_file *file = oxi_stream_file_new(path);
    if (!file) return OX_ERR_NOMEM;
    file->writable = true;
    file->plain = oxi_stream_handle_create(path);
    ox_status status = file->plain == -1 ? oxi_fail(OX_ERR_IO, "%s: %s", oxi_path_text(path), strerror(errno))
                                         : oxi_named_fill(file, header, header_bytes, header_bytes + bytes);
    if (status != OX_OK) {
        oxi_stream_file_free(file);
        return status;
    }
    if (!stream->desc.buffered) file->direct = oxi_stream_handle_direct(file->plain);
    oxi_reader_know_file(&stream->reader, file);
    *out = oxi_stream_region_new(stream, file, header_bytes, bytes);
    if (*out) return OX_OK;
    oxi_remove_file(path);
    oxi_stream_file_release(stream, file);
    return OX_ERR_NOMEM;
}
