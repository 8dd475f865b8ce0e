/* Work recorded ahead: one thread's calls are noted whole, and go in one submission when the bytes come that
 * they work on, so that the host makes the next step ready while the device computes this one. Nothing else
 * is ever noted behind them: whoever wants to makes them void. Called by a language model (ox_device). */

enum { OXI_VK_MAIL_BYTES = 1 << 20 }; /* at least: drivers want no smaller pieces of memory */

static OXI_THREAD_LOCAL char oxi_vk_this_thread; /* its address tells threads apart */

static void oxi_vk_enter(oxi_vk_device *d) {
    oxi_lock_take(&d->lock);
    if (d->ahead.recorder != &oxi_vk_this_thread)
        d->ahead.recorder = NULL; /* then it is work like any other */
}

static void oxi_vk_ahead_void(oxi_vk_device *d) {
    if (!d->ahead.waiting) return;
    d->ahead.waiting = 0;
    d->ahead.slot = NULL;
    if (d->ahead.keeps) return;
    for (int i = 0; i < OXI_VK_FREQUENCIES; i++) d->turns[i].of[0] = NULL; /* they may be part of it */
    for (int i = 0; i < OXI_VK_ROUNDED; i++) d->rounded[i].of = NULL;
    d->placed.of = NULL;
    d->sum_made.of = NULL;
    d->command_count = d->param_used = 0;
    d->work = 0;
    d->recorded = 0;
    d->recording = false;
    d->ahead.gap = true;
}

/* ---- boxes --------------------------------------------------------------------------------------------- */

static uint64_t oxi_vk_in_box(uint64_t bytes) {
    return (bytes + OXI_VK_ALIGN - 1) / OXI_VK_ALIGN * OXI_VK_ALIGN;
}

/* Where a box's parts lie in the mail. */
static uint64_t oxi_vk_box_up(const oxi_vk_device *d, const oxi_vk_box *box) {
    return (uint64_t)(box - d->ahead.box) * (d->ahead.mail.bytes / 2);
}
static uint64_t oxi_vk_box_fault(const oxi_vk_device *d, const oxi_vk_box *box) {
    return oxi_vk_box_up(d, box) + oxi_vk_in_box(box->up);
}
static uint64_t oxi_vk_box_down(const oxi_vk_device *d, const oxi_vk_box *box) {
    return oxi_vk_box_fault(d, box) + oxi_vk_in_box(sizeof(oxi_vk_fault));
}

/* The box of the next number, with so much room; NULL: what was in it is still to be taken, or no memory. */
static oxi_vk_box *oxi_vk_next_box(oxi_vk_device *d, uint64_t up, uint64_t down) {
    oxi_vk_box *box = &d->ahead.box[(d->ahead.number + 1) & 1];
    uint64_t room = oxi_vk_in_box(up) + oxi_vk_in_box(sizeof(oxi_vk_fault)) + oxi_vk_in_box(down);
    bool small = d->ahead.mail.bytes < 2 * room;
    if (box->number || (small && (d->ahead.box[0].number || d->ahead.box[1].number))) return NULL;
    if (oxi_vk_wait(d, small ? d->serial : box->serial) != OX_OK) return NULL;
    if (small) {
        oxi_vk_host_buffer_drop(d, &d->ahead.mail);
        oxi_vk_forget_commands(d);
        const uint64_t least = OXI_VK_MAIL_BYTES;
        if (oxi_vk_host_buffer_make(d, 2 * room > least ? 2 * room : least,
                                    VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                                    VK_MEMORY_PROPERTY_HOST_CACHED_BIT, &d->ahead.mail) != OX_OK)
            return NULL;
        memset(d->ahead.mail.mapped, 0, (size_t)d->ahead.mail.bytes);
    }
    box->up = up;
    box->down = down;
    return box;
}

/* Notes a copy between a chunk and a place in the mail. */
static ox_status oxi_vk_mail(oxi_vk_device *d, oxi_vk_chunk *chunk, uint64_t offset, uint64_t at,
                             uint64_t bytes, bool up) {
    const oxi_vk_use use = oxi_vk_use_of(chunk, up);
    VkBuffer mail = d->ahead.mail.buffer, block = chunk->block->buffer;
    uint64_t there = oxi_vk_chunk_at(chunk, offset);
    ox_status status = oxi_vk_touch(d, &use, 1);
    if (status != OX_OK) return status;
    return up ? oxi_vk_copy_region(d, mail, at, block, there, bytes)
              : oxi_vk_copy_region(d, block, there, mail, at, bytes);
}

/* ---- the device's functions ---------------------------------------------------------------------------- */

static bool oxi_vk_ahead_begin(ox_device *self, void *memory, size_t bytes, size_t out_bytes) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_vk_box *box = NULL;
    const bool clear = ox_error() == OX_OK;
    oxi_vk_enter(d);
    ox_status status = d->lost || !d->open || oxi_profiling() ? OX_ERR_DEVICE : oxi_vk_flush(d);
    if (status == OX_OK) status = oxi_vk_submit(d);
    if (status == OX_OK) box = oxi_vk_next_box(d, bytes, out_bytes);
    if (box) status = oxi_vk_mail(d, (oxi_vk_chunk *)memory, 0, oxi_vk_box_up(d, box), bytes, true);
    bool begun = box && status == OX_OK;
    if (begun) d->ahead.recorder = &oxi_vk_this_thread;
    d->ahead.keeps = false;
    oxi_lock_give(&d->lock);
    if (!begun && clear) ox_error_clear(); /* whoever cannot go ahead goes the usual way */
    return begun;
}

/* Readies all that is known now, while the device computes the step before; what cannot be is left to the
 * submission. */
static void oxi_vk_ahead_ready(oxi_vk_device *d) {
    oxi_vk_slot *slot = oxi_vk_find_slot(d);
    if (oxi_vk_slot_is_over(d, slot) && oxi_vk_ready_slot(d, slot) == OX_OK) d->ahead.slot = slot;
}

static int64_t oxi_vk_ahead_end(ox_device *self, const void *memory, size_t offset) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    int64_t number = d->ahead.number + 1;
    oxi_vk_box *box = &d->ahead.box[number & 1];
    oxi_vk_enter(d);
    ox_status status = oxi_vk_flush(d);
    box->told = d->fault_told;
    if (status == OX_OK && memory && box->told)
        status = oxi_vk_mail(d, d->fault, 0, oxi_vk_box_fault(d, box), sizeof(oxi_vk_fault), false);
    if (status == OX_OK && memory)
        status = oxi_vk_mail(d, (oxi_vk_chunk *)(uintptr_t)memory, offset, oxi_vk_box_down(d, box), box->down,
                             false);
    bool whole = d->ahead.recorder != NULL && status == OX_OK; /* nothing of it was submitted */
    if (d->ahead.recorder) d->ahead.waiting = number;
    if (!whole || !memory) oxi_vk_ahead_void(d);
    d->ahead.recorder = NULL;
    if (d->ahead.waiting) d->ahead.number = number;
    if (d->ahead.waiting) oxi_vk_ahead_ready(d);
    number = d->ahead.waiting;
    oxi_lock_give(&d->lock);
    return number;
}

static bool oxi_vk_ahead_start(ox_device *self, int64_t number, const void *data) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_vk_box *box = &d->ahead.box[number & 1];
    oxi_vk_enter(d);
    bool there = number && d->ahead.waiting == number && !d->lost && !oxi_profiling();
    if (there) {
        memcpy(d->ahead.mail.mapped + oxi_vk_box_up(d, box), data, (size_t)box->up);
        d->counters.bytes_up += (int64_t)box->up;
        d->ahead.waiting = 0;
        (void)oxi_vk_submit(d); /* an error is a lost device, which taking the result tells of */
        box->number = number;
        box->serial = d->serial;
    }
    oxi_lock_give(&d->lock);
    return there;
}

static ox_status oxi_vk_ahead_take(ox_device *self, int64_t number, void *out, const void **there) {
    oxi_vk_device *d = (oxi_vk_device *)self;
    oxi_vk_box *box = &d->ahead.box[number & 1];
    ox_status status = OX_OK;
    oxi_lock_take(&d->lock);
    if (out || there) {
        status = d->lost || !d->open ? oxi_vk_check_open(d) : oxi_vk_wait(d, box->serial);
        if (status == OX_OK && box->told)
            status = oxi_vk_tell_fault(d, d->ahead.mail.mapped + oxi_vk_box_fault(d, box));
        const char *result = d->ahead.mail.mapped + oxi_vk_box_down(d, box);
        if (status == OX_OK && out) memcpy(out, result, (size_t)box->down);
        if (status == OX_OK && there) *there = result;
        if (status == OX_OK) d->counters.bytes_down += (int64_t)box->down;
    }
    box->number = 0;
    oxi_lock_give(&d->lock);
    return status;
}

static const oxi_ahead oxi_vk_ahead_functions = {oxi_vk_ahead_begin, oxi_vk_ahead_end, oxi_vk_ahead_start,
                                                 oxi_vk_ahead_take};

static void oxi_vk_ahead_stop(oxi_vk_device *d) {
    oxi_vk_host_buffer_drop(d, &d->ahead.mail);
}
