/* The sticky error of each thread, the log callback, and the version.
 * The first error stays until it is cleared; later ones are only logged.
 * oxi_fail is the one way in; the thread pool carries a worker's error to the thread that waits for it. */

#define OXI_ERROR_ROOM 512

typedef struct oxi_error {
    ox_status status;
    char text[OXI_ERROR_ROOM];
} oxi_error;

static OXI_THREAD_LOCAL oxi_error oxi_thread_error;

static oxi_lock oxi_log_lock;           /* guards the two below */
static ox_log_fn oxi_log_callback;
static void *oxi_log_user;
static int64_t oxi_log_most;            /* atomic: the quick test whether anybody listens */

OX_API const char *ox_version(void) { return OX_VERSION; }

OX_API ox_status ox_error(void) { return oxi_thread_error.status; }

OX_API const char *ox_error_text(void) { return oxi_thread_error.text; }

OX_API void ox_error_clear(void) {
    oxi_thread_error.status = OX_OK;
    oxi_thread_error.text[0] = 0;
}

OX_API const char *ox_status_text(ox_status status) {
    switch (status) {
#define OXI_X(name, value, text) \
    case name: return text;
        OX_STATUS_LIST(OXI_X)
#undef OXI_X
    }
    return "unknown status";
}

OX_API void ox_set_log(ox_log_fn callback, void *user, ox_log_level most) {
    oxi_lock_take(&oxi_log_lock);
    oxi_log_callback = callback;
    oxi_log_user = user;
    oxi_atomic_store(&oxi_log_most, callback ? (int64_t)most : 0);
    oxi_lock_give(&oxi_log_lock);
}

static bool oxi_log_wanted(ox_log_level level) { return (int64_t)level <= oxi_atomic_load(&oxi_log_most); }

static void oxi_log_text(ox_log_level level, const char *text) {
    ox_log_fn callback;
    void *user;
    oxi_lock_take(&oxi_log_lock);
    callback = oxi_log_callback;
    user = oxi_log_user;
    oxi_lock_give(&oxi_log_lock);
    /* Outside the lock: the callback may itself log or call ox_set_log. */
    if (callback) callback(user, level, text);
}

/* vsnprintf that always leaves a terminated text. */
static void oxi_format_text(char *out, size_t room, const char *format, va_list args) {
    if (vsnprintf(out, room, format, args) < 0) out[0] = 0;
    out[room - 1] = 0;
}

OXI_UNUSED static void oxi_log(ox_log_level level, const char *format, ...) {
    char text[OXI_ERROR_ROOM];
    va_list args;
    if (!oxi_log_wanted(level)) return;
    va_start(args, format);
    oxi_format_text(text, sizeof text, format, args);
    va_end(args);
    oxi_log_text(level, text);
}

OXI_UNUSED static ox_status oxi_fail(ox_status status, const char *format, ...) {
    oxi_error *error = &oxi_thread_error;
    bool first = error->status == OX_OK;
    char text[OXI_ERROR_ROOM];
    va_list args;
    if (!first && !oxi_log_wanted(OX_LOG_ERROR)) return status;
    va_start(args, format);
    oxi_format_text(text, sizeof text, format, args);
    va_end(args);
    if (first) {
        error->status = status;
        memcpy(error->text, text, sizeof text);
    }
    if (oxi_log_wanted(OX_LOG_ERROR)) oxi_log_text(OX_LOG_ERROR, text);
    return status;
}

/* Moves the calling thread's error to *to, unless there is one already. */
OXI_UNUSED static void oxi_error_move(oxi_error *to) {
    if (to->status == OX_OK) *to = oxi_thread_error;
    ox_error_clear();
}

/* Makes `from` the calling thread's error if it is the first. Not logged again. */
OXI_UNUSED static void oxi_error_adopt(const oxi_error *from) {
    if (from->status != OX_OK && oxi_thread_error.status == OX_OK) oxi_thread_error = *from;
}
