/* Carries out requests: through io_uring, through threads, or at once where there are neither.
 * What a request needs next, and what a result means for it, is the same for all three: short transfers go
 * on, interrupted ones are repeated, refused direct reads go through the page cache. Called by the ring. */

/* ---- one request ------------------------------------------------------------------------------------- */

static uint64_t oxi_request_begin(const oxi_stream_request *r) {
    return r->direct ? r->offset / OXI_STREAM_PAGE * OXI_STREAM_PAGE : r->offset;
}

/* Bytes from its begin that it needs. */
static size_t oxi_request_need(const oxi_stream_request *r) {
    return (size_t)(r->offset - oxi_request_begin(r)) + r->bytes;
}

/* What is there stays; the rest goes through the page cache. */
static void oxi_request_make_plain(oxi_stream_request *r) {
    size_t lead = (size_t)(r->offset - oxi_request_begin(r));
    r->done = r->done > lead ? r->done - lead : 0;
    r->direct = false;
}

typedef struct oxi_stream_transfer {
    intptr_t handle;
    int slot; /* of the handle, or -1 */
    uint64_t offset;
    size_t bytes;
    char *memory;
} oxi_stream_transfer;

/* The next transfer of a request; false and *result when the test's hook decides otherwise. */
static bool oxi_request_next(oxi_stream_reader *reader, oxi_stream_request *r, oxi_stream_transfer *out,
                             int64_t *result) {
    uint64_t begin = oxi_request_begin(r);
    size_t end = oxi_request_need(r);
    if (r->direct) end = (end + OXI_STREAM_PAGE - 1) / OXI_STREAM_PAGE * OXI_STREAM_PAGE;
    out->handle = r->direct ? r->file->direct : r->file->plain;
    out->slot = r->file->slot[r->direct];
    out->offset = begin + r->done;
    out->bytes = end - r->done;
    out->memory = r->memory - (size_t)(r->offset - begin) + r->done;
    if (!reader->fault) return true;
    *result =
        reader->fault(reader->fault_user, oxi_atomic_add(&reader->fault_number, 1), (int64_t)out->bytes);
    if (*result <= 0) return false;
    if ((size_t)*result < out->bytes) out->bytes = (size_t)*result;
    if (!r->direct) return true;
    out->bytes -= out->bytes % OXI_STREAM_PAGE; /* as oxi_request_moved makes of an end within a page */
    if (out->bytes > 0) return true;
    oxi_request_make_plain(r);
    *result = -EINTR;
    return false;
}

/* So many bytes more are there. A direct transfer that ended within a page goes on at that page's start, and
 * where it did not get any further, through the page cache. */
static void oxi_request_moved(oxi_stream_request *r, size_t bytes) {
    size_t before = r->done;
    r->done += bytes;
    if (r->done >= oxi_request_need(r) || !r->direct || r->done % OXI_STREAM_PAGE == 0) return;
    size_t whole = r->done - r->done % OXI_STREAM_PAGE;
    if (whole > before)
        r->done = whole;
    else
        oxi_request_make_plain(r);
}

/* Takes the result of a transfer; true when the request is over, well or not. */
static bool oxi_request_is_over(oxi_stream_reader *reader, oxi_stream_request *r, int64_t result) {
    enum { RETRIES_MOST = 256 };
    if (result > 0) {
        oxi_atomic_add(&reader->progress, 1);
        oxi_request_moved(r, (size_t)result);
        return r->done >= oxi_request_need(r);
    }
    if (result == 0) {
        r->cause = r->write ? ENOSPC : OXI_STREAM_ENDED;
        return true;
    }
    int cause = (int)-result;
    bool again = cause == EINTR || cause == EAGAIN;
    int64_t progress = oxi_atomic_load(&reader->progress);
    if (progress != r->progress) r->retries = 0; /* others get on: it is not all of the file that is stuck */
    r->progress = progress;
    if (again && r->retries++ < RETRIES_MOST) return false;
    r->retries = 0;
    if (r->direct) {
        oxi_request_make_plain(r);
        return false;
    }
    r->cause = cause;
    return true;
}

static bool oxi_request_advance(oxi_stream_reader *reader, oxi_stream_request *r, int64_t result) {
    bool over = oxi_request_is_over(reader, r, result);
    if (over) r->end = oxi_now();
    return over;
}

OXI_UNUSED static void oxi_request_execute(oxi_stream_reader *reader, oxi_stream_request *r) {
    oxi_stream_transfer t;
    int64_t result = 0;
    do {
        if (oxi_request_next(reader, r, &t, &result))
            result = oxi_stream_handle_move(t.handle, r->write, t.memory, t.bytes, t.offset);
    } while (!oxi_request_advance(reader, r, result));
}

/* ---- queues ------------------------------------------------------------------------------------------ */

static void oxi_queue_put(oxi_stream_queue *queue, oxi_stream_request *r) {
    r->next = NULL;
    if (queue->last)
        queue->last->next = r;
    else
        queue->first = r;
    queue->last = r;
}

/* Before all others: what somebody waits for while much is read ahead. */
static void oxi_queue_push(oxi_stream_queue *queue, oxi_stream_request *r) {
    r->next = queue->first;
    queue->first = r;
    if (!queue->last) queue->last = r;
}

static oxi_stream_request *oxi_queue_take(oxi_stream_queue *queue) {
    oxi_stream_request *r = queue->first;
    if (!r) return NULL;
    queue->first = r->next;
    if (!queue->first) queue->last = NULL;
    return r;
}

/* ---- threads ----------------------------------------------------------------------------------------- */

#ifndef OX_NO_THREADS

static void oxi_stream_worker(oxi_stream_reader *reader) {
    oxi_mutex_take(&reader->mutex);
    for (;;) {
        oxi_stream_request *r = oxi_queue_take(&reader->waiting);
        if (r) {
            oxi_mutex_give(&reader->mutex);
            oxi_request_execute(reader, r);
            oxi_mutex_take(&reader->mutex);
            oxi_queue_put(&reader->finished, r);
            oxi_condition_wake(&reader->ready);
        } else if (reader->stopping) {
            break;
        } else {
            oxi_condition_wait(&reader->work, &reader->mutex);
        }
    }
    oxi_mutex_give(&reader->mutex);
}

#if defined(_WIN32)
static DWORD WINAPI oxi_stream_worker_main(LPVOID reader) {
    oxi_stream_worker((oxi_stream_reader *)reader);
    return 0;
}
static bool oxi_stream_thread_start(oxi_thread *out, oxi_stream_reader *reader) {
    *out = CreateThread(NULL, (SIZE_T)256 << 10, oxi_stream_worker_main, reader, 0, NULL);
    return *out != NULL;
}
#else
static void *oxi_stream_worker_main(void *reader) {
    oxi_stream_worker((oxi_stream_reader *)reader);
    return NULL;
}
static bool oxi_stream_thread_start(oxi_thread *out, oxi_stream_reader *reader) {
    return pthread_create(out, NULL, oxi_stream_worker_main, reader) == 0;
}
#endif

/* A system that gives no thread at all gets requests carried out by the caller. */
static void oxi_stream_start_threads(oxi_stream_reader *reader) {
    static const oxi_mutex open_mutex = OXI_MUTEX_OPEN;
    static const oxi_condition new_condition = OXI_CONDITION_NEW;
    reader->mutex = open_mutex;
    reader->work = reader->ready = new_condition;
    int want = reader->most < OXI_STREAM_THREADS_MOST ? reader->most : OXI_STREAM_THREADS_MOST;
    while (reader->thread_count < want &&
           oxi_stream_thread_start(&reader->threads[reader->thread_count], reader))
        reader->thread_count++;
}

static void oxi_stream_stop_threads(oxi_stream_reader *reader) {
    oxi_mutex_take(&reader->mutex);
    reader->stopping = true;
    oxi_condition_wake_all(&reader->work);
    oxi_mutex_give(&reader->mutex);
    for (int i = 0; i < reader->thread_count; i++) oxi_thread_join(reader->threads[i]);
    reader->thread_count = 0;
}

#endif

/* Requests that wait are carried out by threads from here on, or at once. */
OXI_UNUSED static void oxi_reader_go_on(oxi_stream_reader *reader) {
    oxi_stream_request *r;
#ifndef OX_NO_THREADS
    oxi_stream_start_threads(reader);
    if (reader->thread_count > 0) return;
#endif
    while ((r = oxi_queue_take(&reader->waiting))) {
        oxi_request_execute(reader, r);
        oxi_queue_put(&reader->finished, r);
    }
}

/* ---- io_uring: the caller submits and waits itself --------------------------------------------------- */

#ifdef OX_USE_LIBURING

/* Memory that io_uring knows is not looked up and held anew for each transfer, nor are its own files. */
static void oxi_uring_prepare(const oxi_stream_reader *reader, struct io_uring_sqe *entry, bool write,
                              const oxi_stream_transfer *t) {
    bool known = reader->buffer && t->memory >= reader->buffer &&
                 t->memory + t->bytes <= reader->buffer + reader->buffer_bytes;
    int handle = t->slot >= 0 ? t->slot : (int)t->handle;
    unsigned bytes = (unsigned)t->bytes;
    if (write && known)
        io_uring_prep_write_fixed(entry, handle, t->memory, bytes, t->offset, 0);
    else if (write)
        io_uring_prep_write(entry, handle, t->memory, bytes, t->offset);
    else if (known)
        io_uring_prep_read_fixed(entry, handle, t->memory, bytes, t->offset, 0);
    else
        io_uring_prep_read(entry, handle, t->memory, bytes, t->offset);
    if (t->slot >= 0) io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
}

/* Hands over what is prepared; false when io_uring has been forbidden since it was opened. */
static bool oxi_uring_hand_over(oxi_stream_reader *reader, unsigned wait) {
    int result = io_uring_submit_and_wait(&reader->uring, wait);
    unsigned left = io_uring_sq_ready(&reader->uring), count = 0;
    for (oxi_stream_request *r = reader->prepared.first; r; r = r->next) count++;
    for (; count > left; count--) (void)oxi_queue_take(&reader->prepared);
    return result >= 0 || result == -EINTR || result == -EAGAIN || result == -EBUSY || result == -ENOMEM;
}

static void oxi_uring_take_back(oxi_stream_reader *reader, struct io_uring_cqe *completion) {
    oxi_stream_request *r = (oxi_stream_request *)io_uring_cqe_get_data(completion);
    int64_t result = completion->res;
    io_uring_cqe_seen(&reader->uring, completion);
    reader->in_system--;
    oxi_queue_put(oxi_request_advance(reader, r, result) ? &reader->finished : &reader->waiting, r);
}

/* From now on without io_uring. What the system has taken still comes back by itself. */
static void oxi_uring_leave(oxi_stream_reader *reader) {
    struct io_uring_cqe *completion = NULL;
    oxi_stream_request *r;
    for (; (r = oxi_queue_take(&reader->prepared)); reader->in_system--) oxi_queue_put(&reader->waiting, r);
    while (reader->in_system > 0)
        if (io_uring_peek_cqe(&reader->uring, &completion) == 0)
            oxi_uring_take_back(reader, completion);
        else
            oxi_yield();
    io_uring_queue_exit(&reader->uring);
    reader->uses_uring = false;
    oxi_reader_go_on(reader);
}

static void oxi_uring_feed(oxi_stream_reader *reader) {
    bool fed = false;
    while (reader->waiting.first && reader->in_system < reader->most) {
        oxi_stream_request *r = oxi_queue_take(&reader->waiting);
        oxi_stream_transfer t;
        int64_t result = 0;
        if (!oxi_request_next(reader, r, &t, &result)) {
            oxi_queue_put(oxi_request_advance(reader, r, result) ? &reader->finished : &reader->waiting, r);
            continue;
        }
        struct io_uring_sqe *entry = io_uring_get_sqe(&reader->uring); /* there are as many as `most` */
        oxi_uring_prepare(reader, entry, r->write, &t);
        io_uring_sqe_set_data(entry, r);
        oxi_queue_put(&reader->prepared, r);
        reader->in_system++;
        fed = true;
    }
    if (fed && !oxi_uring_hand_over(reader, 0)) oxi_uring_leave(reader); /* the rest goes at the next wait */
}

/* Takes completions; with `sleep`, at least one if any is to come. */
static void oxi_uring_reap(oxi_stream_reader *reader, bool sleep) {
    struct io_uring_cqe *completion = NULL;
    oxi_uring_feed(reader);
    while (reader->uses_uring && reader->in_system > 0) {
        bool wait = sleep && !reader->finished.first;
        if (wait && !oxi_uring_hand_over(reader, 1)) { /* interrupted: once more */
            oxi_uring_leave(reader);
        } else if (io_uring_peek_cqe(&reader->uring, &completion) == 0) {
            oxi_uring_take_back(reader, completion);
            oxi_uring_feed(reader);
        } else if (!wait) {
            return;
        }
    }
}

static void oxi_uring_know_handle(oxi_stream_reader *reader, intptr_t handle, int *slot) {
    int at = 0, file = (int)handle;
    *slot = -1;
    while (at < OXI_STREAM_SLOTS && (reader->slots_taken >> at & 1)) at++;
    if (handle < 0 || at == OXI_STREAM_SLOTS) return;
    if (io_uring_register_files_update(&reader->uring, (unsigned)at, &file, 1) != 1) return;
    reader->slots_taken |= (uint64_t)1 << at;
    *slot = at;
}

static void oxi_uring_forget_handle(oxi_stream_reader *reader, int *slot) {
    int none = -1;
    if (*slot < 0 || !reader->uses_uring) return;
    (void)io_uring_register_files_update(&reader->uring, (unsigned)*slot, &none, 1);
    reader->slots_taken &= ~((uint64_t)1 << *slot);
    *slot = -1;
}

static void oxi_uring_open(oxi_stream_reader *reader) {
    int none[OXI_STREAM_SLOTS];
    reader->uses_uring = io_uring_queue_init((unsigned)reader->most, &reader->uring, 0) == 0;
    for (int i = 0; i < OXI_STREAM_SLOTS; i++) none[i] = -1;
    if (!reader->uses_uring) return;
    reader->knows_files = io_uring_register_files(&reader->uring, none, OXI_STREAM_SLOTS) == 0;
}

#endif

/* ---- what the ring calls ----------------------------------------------------------------------------- */

static void oxi_reader_open(oxi_stream_reader *reader, const ox_stream_desc *desc) {
    reader->most = desc->queue;
    reader->fault = desc->fault;
    reader->fault_user = desc->fault_user;
#ifdef OX_USE_LIBURING
    if (desc->reading == OX_STREAM_BEST) oxi_uring_open(reader);
#endif
#ifndef OX_NO_THREADS
    if (!reader->uses_uring) oxi_stream_start_threads(reader);
#endif
}

/* Nothing may be flying. */
static void oxi_reader_close(oxi_stream_reader *reader) {
    (void)reader;
#ifdef OX_USE_LIBURING
    if (reader->uses_uring) io_uring_queue_exit(&reader->uring);
#endif
#ifndef OX_NO_THREADS
    if (!reader->uses_uring) oxi_stream_stop_threads(reader);
#endif
}

/* The ring's memory, NULL before it goes; nothing may be flying. A system that refuses does without. */
static void oxi_reader_know_memory(oxi_stream_reader *reader, char *memory, size_t bytes) {
    (void)reader, (void)memory, (void)bytes;
#ifdef OX_USE_LIBURING
    struct iovec one;
    if (!reader->uses_uring) return;
    if (reader->buffer) (void)io_uring_unregister_buffers(&reader->uring);
    reader->buffer = NULL;
    one.iov_base = memory;
    one.iov_len = bytes;
    if (!memory || bytes > (size_t)1 << 30 || io_uring_register_buffers(&reader->uring, &one, 1) != 0) return;
    reader->buffer = memory;
    reader->buffer_bytes = bytes;
#endif
}

static void oxi_reader_know_file(oxi_stream_reader *reader, oxi_stream_file *file) {
    (void)reader, (void)file;
#ifdef OX_USE_LIBURING
    if (!reader->uses_uring || !reader->knows_files) return;
    oxi_uring_know_handle(reader, file->plain, &file->slot[0]);
    oxi_uring_know_handle(reader, file->direct, &file->slot[1]);
#endif
}

static void oxi_reader_forget_file(oxi_stream_reader *reader, oxi_stream_file *file) {
    (void)reader, (void)file;
#ifdef OX_USE_LIBURING
    for (int i = 0; i < 2; i++) oxi_uring_forget_handle(reader, &file->slot[i]);
#endif
}

/* Begins a request, which belongs to the reader until oxi_reader_take gives it back. */
static void oxi_reader_submit(oxi_stream_reader *reader, oxi_stream_request *r) {
    reader->flying++;
    void (*put)(oxi_stream_queue *, oxi_stream_request *) = reader->urgent ? oxi_queue_push : oxi_queue_put;
#ifdef OX_USE_LIBURING
    if (reader->uses_uring) {
        put(&reader->waiting, r);
        oxi_uring_feed(reader);
        return;
    }
#endif
#ifndef OX_NO_THREADS
    if (reader->thread_count > 0) {
        oxi_mutex_take(&reader->mutex);
        put(&reader->waiting, r);
        oxi_condition_wake(&reader->work);
        oxi_mutex_give(&reader->mutex);
        return;
    }
#endif
    (void)put;
    oxi_request_execute(reader, r);
    oxi_queue_put(&reader->finished, r);
}

/* A request that is over; sleeps for it if asked to and any is flying. NULL: none. */
static oxi_stream_request *oxi_reader_take(oxi_stream_reader *reader, bool sleep) {
    oxi_stream_request *r;
    if (reader->flying == 0) return NULL;
#ifdef OX_USE_LIBURING
    if (reader->uses_uring && !reader->finished.first) oxi_uring_reap(reader, sleep);
#endif
#ifndef OX_NO_THREADS
    if (reader->thread_count > 0) {
        oxi_mutex_take(&reader->mutex);
        while (!reader->finished.first && sleep) oxi_condition_wait(&reader->ready, &reader->mutex);
        r = oxi_queue_take(&reader->finished);
        oxi_mutex_give(&reader->mutex);
        reader->flying -= r != NULL;
        return r;
    }
#endif
    (void)sleep;
    r = oxi_queue_take(&reader->finished);
    reader->flying -= r != NULL;
    return r;
}
