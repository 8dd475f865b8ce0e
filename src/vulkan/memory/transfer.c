/* Bytes between host and device through a ring of mapped memory, and within the device.
 * An upload is copied into the ring and recorded like any op: it waits only when the ring is full. A download
 * is recorded behind what is under way, piece by piece: one is copied out while the next is on its way. */

/* Room for up to `bytes` in the ring: where, and how much of it there is. */
static ox_status oxi_vk_stage_room(oxi_vk_device *d, uint64_t bytes, uint64_t *offset, uint64_t *room) {
    oxi_vk_stage *stage = &d->stage[d->stage_current];
    ox_status status = OX_OK;
    uint64_t used = (stage->used + 15) / 16 * 16;
    if (stage->serial <= d->done) used = 0;
    if (used > 0 && used + (bytes < 65536 ? bytes : 65536) > OXI_VK_STAGE_BYTES) {
        d->stage_current = (d->stage_current + 1) % OXI_VK_STAGES;
        stage = &d->stage[d->stage_current];
        if (stage->serial > d->serial) status = oxi_vk_submit(d);
        if (status == OX_OK) status = oxi_vk_wait(d, stage->serial);
        used = 0;
    }
    *offset = (uint64_t)d->stage_current * OXI_VK_STAGE_BYTES + used;
    *room = OXI_VK_STAGE_BYTES - used < bytes ? OXI_VK_STAGE_BYTES - used : bytes;
    stage->used = used + *room;
    if (status == OX_OK) status = oxi_vk_begin(d);
    stage->serial = d->serial + 1;
    return status;
}

static ox_status oxi_vk_upload(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, const char *data,
                               uint64_t bytes) {
    const oxi_vk_use use = oxi_vk_use_of(chunk, true);
    ox_status status = OX_OK;
    d->ahead.keeps = true;
    if (oxi_vk_by_pin(d, chunk, offset, (char *)(uintptr_t)data, bytes, true, &status)) return status;
    if (oxi_vk_can_carry(d, chunk, bytes, true)) return oxi_vk_carry(d, chunk, offset, data, NULL, bytes);
    while (bytes > 0 && status == OX_OK) {
        uint64_t at, part;
        status = oxi_vk_stage_room(d, bytes, &at, &part);
        if (status == OX_OK) status = oxi_vk_touch(d, &use, 1);
        if (status != OX_OK) return status;
        oxi_copy_bytes(d->staging.mapped + at, data, (size_t)part);
        status = oxi_vk_copy_region(d, d->staging.buffer, at, chunk->block->buffer,
                                    oxi_vk_chunk_at(chunk, offset), part);
        if (status != OX_OK) return status;
        d->counters.bytes_up += (int64_t)part;
        data += part;
        offset += part;
        bytes -= part;
        if (bytes > 0 || d->work > (uint64_t)64 << 20) status = oxi_vk_submit(d);
    }
    return status;
}

typedef struct oxi_vk_piece {
    uint64_t at, bytes; /* in the ring */
    int64_t serial;
    char *out;
} oxi_vk_piece;

static ox_status oxi_vk_take_piece(oxi_vk_device *d, const oxi_vk_piece *piece) {
    if (piece->bytes == 0) return OX_OK;
    ox_status status = oxi_vk_wait(d, piece->serial);
    if (status == OX_OK && d->lost) status = oxi_vk_check_open(d);
    if (status == OX_OK) oxi_copy_bytes(piece->out, d->staging.mapped + piece->at, (size_t)piece->bytes);
    return status;
}

static ox_status oxi_vk_download(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, char *out,
                                 uint64_t bytes) {
    const oxi_vk_use use = oxi_vk_use_of(chunk, false);
    oxi_vk_piece last, piece;
    memset(&last, 0, sizeof last);
    ox_status status = OX_OK;
    if (oxi_vk_by_pin(d, chunk, offset, out, bytes, false, &status)) return status;
    if (oxi_vk_can_carry(d, chunk, bytes, false)) return oxi_vk_carry(d, chunk, offset, NULL, out, bytes);
    while (bytes > 0 && status == OX_OK) {
        status = oxi_vk_stage_room(d, bytes, &piece.at, &piece.bytes);
        if (status == OX_OK) status = oxi_vk_touch(d, &use, 1);
        if (status != OX_OK) return status;
        status = oxi_vk_copy_region(d, chunk->block->buffer, oxi_vk_chunk_at(chunk, offset),
                                    d->staging.buffer, piece.at, piece.bytes);
        if (status != OX_OK) return status;
        piece.out = out;
        piece.serial = d->serial + 1;
        d->counters.bytes_down += (int64_t)piece.bytes;
        out += piece.bytes;
        offset += piece.bytes;
        bytes -= piece.bytes;
        status = oxi_vk_submit(d);
        if (status == OX_OK) status = oxi_vk_take_piece(d, &last);
        last = piece;
    }
    return status == OX_OK ? oxi_vk_take_piece(d, &last) : status;
}

/* ---- what shaders found wrong -------------------------------------------------------------------------- */

static ox_status oxi_vk_clear_fault(oxi_vk_device *d) {
    oxi_vk_fault none;
    memset(&none, 0, sizeof none);
    d->fault_told = false;
    return oxi_vk_upload(d, d->fault, 0, (const char *)&none, sizeof none);
}

/* Records a copy of it behind what is under way, where a shader may have written it; *at: its place in the
 * ring, to be looked at when what is recorded by then is over. */
static ox_status oxi_vk_ask_fault(oxi_vk_device *d, uint64_t *at) {
    const oxi_vk_use use = oxi_vk_use_of(d->fault, false);
    uint64_t room;
    ox_status status = oxi_vk_stage_room(d, sizeof(oxi_vk_fault), at, &room);
    if (status == OX_OK) status = oxi_vk_touch(d, &use, 1);
    if (status == OX_OK)
        status =
            oxi_vk_copy_region(d, d->fault->block->buffer, d->fault->offset, d->staging.buffer, *at, room);
    return status;
}

static ox_status oxi_vk_tell_fault(oxi_vk_device *d, const void *copy) {
    oxi_vk_fault found;
    memcpy(&found, copy, sizeof found);
    d->fault_told = false;
    if (found.kind == 0) return OX_OK;
    ox_status status = oxi_vk_clear_fault(d);
    return status == OX_OK ? oxi_vk_fault_error(&found) : status;
}

/* When the copy that was asked for has come: what was read may have gone another way. */
static ox_status oxi_vk_hear_fault(oxi_vk_device *d, uint64_t at) {
    ox_status status = oxi_vk_submit(d);
    if (status == OX_OK) status = oxi_vk_wait(d, d->serial);
    return status == OX_OK ? oxi_vk_tell_fault(d, d->staging.mapped + at) : status;
}

/* ---- the device's functions ---------------------------------------------------------------------------- */

static ox_status oxi_vk_read(ox_device *self, const void *memory, size_t offset, void *out, size_t bytes) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    if (bytes == 0) return OX_OK;
    oxi_vk_enter(d);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_flush(d);
    uint64_t fault_at = 0;
    bool told = d->fault_told;
    if (status == OX_OK && told) status = oxi_vk_ask_fault(d, &fault_at);
    if (status == OX_OK && told && bytes > OXI_VK_STAGE_BYTES) { /* the ring comes round before the end */
        status = oxi_vk_hear_fault(d, fault_at);
        told = false;
    }
    if (status == OX_OK)
        status = oxi_vk_download(d, (oxi_vk_chunk *)(uintptr_t)memory, offset, (char *)out, bytes);
    if (status == OX_OK && told) status = oxi_vk_hear_fault(d, fault_at);
    oxi_lock_give(&d->lock);
    return status;
}

static ox_status oxi_vk_write(ox_device *self, void *memory, size_t offset, const void *data, size_t bytes) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    if (bytes == 0) return OX_OK;
    oxi_vk_enter(d);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_flush(d);
    if (status == OX_OK) status = oxi_vk_upload(d, (oxi_vk_chunk *)memory, offset, (const char *)data, bytes);
    oxi_lock_give(&d->lock);
    return status;
}

static ox_status oxi_vk_copy_within(oxi_vk_device *d, oxi_vk_chunk *to, uint64_t to_offset,
                                    oxi_vk_chunk *from, uint64_t from_offset, uint64_t bytes) {
    const oxi_vk_use use[2] = {oxi_vk_use_of(to, true), oxi_vk_use_of(from, false)};
    ox_status status = oxi_vk_touch(d, use, 2);
    if (status != OX_OK) return status;
    return oxi_vk_copy_region(d, from->block->buffer, oxi_vk_chunk_at(from, from_offset), to->block->buffer,
                              oxi_vk_chunk_at(to, to_offset), bytes);
}

static ox_status oxi_vk_move(ox_device *self, void *to, size_t to_offset, const void *from,
                             size_t from_offset, size_t bytes) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    if (bytes == 0) return OX_OK;
    oxi_vk_enter(d);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_flush(d);
    if (status == OX_OK)
        status = oxi_vk_copy_within(d, (oxi_vk_chunk *)to, to_offset, (oxi_vk_chunk *)(uintptr_t)from,
                                    from_offset, bytes);
    oxi_lock_give(&d->lock);
    return status;
}

/* ---- copies that are not waited for -------------------------------------------------------------------- */

/* Between a chunk and host memory. Pinned: begun; ordinary: read, or written, on return. */
static ox_status oxi_vk_begin_copy(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, char *host,
                                   uint64_t bytes, bool up, oxi_event *done) {
    oxi_vk_pin *pin = oxi_vk_find_pin(d, host, bytes);
    ox_status status = OX_OK;
    if (up) d->ahead.keeps = true;
    if (pin)
        status = oxi_vk_direct(d, chunk, offset, pin, host, bytes, up);
    else if (up)
        status = oxi_vk_upload(d, chunk, offset, host, bytes);
    else
        return oxi_vk_download(d, chunk, offset, host, bytes);
    *done = oxi_vk_event_of(d, chunk);
    return status;
}

static ox_status oxi_vk_copy_async(ox_device *self, const oxi_place *to, const oxi_place *from, size_t bytes,
                                   const oxi_event *after, oxi_event *done) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    memset(done, 0, sizeof *done);
    ox_status status = OX_OK;
    if (after && after->device != self) status = oxi_event_wait(after);
    if (bytes == 0 || status != OX_OK) return status;
    oxi_vk_enter(d);
    status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_flush(d);
    if (status == OX_OK && after && after->device == self) status = oxi_vk_wait_for(d, after);
    if (status == OX_OK && to->device == from->device) {
        oxi_vk_chunk *goal = (oxi_vk_chunk *)to->memory, *source = (oxi_vk_chunk *)from->memory;
        status = oxi_vk_copy_within(d, goal, to->offset, source, from->offset, bytes);
        if (status == OX_OK) *done = oxi_vk_event_of(d, goal);
    } else if (status == OX_OK) {
        bool up = to->device == self;
        const oxi_place *there = up ? to : from, *host = up ? from : to;
        status = oxi_vk_begin_copy(d, (oxi_vk_chunk *)there->memory, there->offset,
                                   (char *)host->memory + host->offset, bytes, up, done);
    }
    oxi_lock_give(&d->lock);
    return status;
}

static ox_status oxi_vk_sync(ox_device *self) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_vk_enter(d);
    ox_status status = oxi_vk_check_open(d);
    if (status == OX_OK) status = oxi_vk_flush(d);
    uint64_t fault_at = 0;
    bool told = d->fault_told;
    if (status == OX_OK && told) status = oxi_vk_ask_fault(d, &fault_at);
    if (status == OX_OK) status = oxi_vk_submit(d);
    if (status == OX_OK) status = oxi_vk_wait(d, d->serial);
    if (status == OX_OK && told) status = oxi_vk_tell_fault(d, d->staging.mapped + fault_at);
    oxi_lock_give(&d->lock);
    return status;
}
