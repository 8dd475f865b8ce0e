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

/* ---- in whose name ------------------------------------------------------------------------------------- */

static OXI_THREAD_LOCAL const char *oxi_speaker;
static OXI_THREAD_LOCAL bool oxi_speaks_in_place;

OXI_UNUSED static bool oxi_speak_for(const char *name, bool in_place) {
    if (oxi_speaker) return false;
    oxi_speaker = name;
    oxi_speaks_in_place = in_place;
    return true;
}

OXI_UNUSED static bool oxi_speak(const char *name) { return oxi_speak_for(name, false); }

OXI_UNUSED static void oxi_speak_end(bool speaks) {
    if (speaks) oxi_speaker = NULL;
}

/* Puts the speaker in the place of the name that text[OXI_ERROR_ROOM] begins with, or before a text without
 * one. A function that works in place ends in "_". A speaker that is a path may be there already. */
static void oxi_tell_as_speaker(char *text) {
    if (!oxi_speaker) return;
    size_t name = strlen(oxi_speaker);
    const char *in_place = oxi_speaks_in_place && oxi_speaker[name - 1] != '_' ? "_" : "";
    if (!*in_place && strncmp(text, oxi_speaker, name) == 0 && text[name] == ':' && text[name + 1] == ' ')
        return;
    size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    bool named = word > 0 && text[word] == ':' && text[word + 1] == ' ';
    const char *rest = named ? text + word + 2 : text;
    char told[OXI_ERROR_ROOM];
    int lead = snprintf(told, sizeof told, "%s%s: ", oxi_speaker, in_place);
    size_t start = lead > 0 && lead < OXI_ERROR_ROOM ? (size_t)lead : 0, length = strlen(rest);
    if (length > sizeof told - 1 - start) length = sizeof told - 1 - start;
    memcpy(told + start, rest, length);
    told[start + length] = 0;
    memcpy(text, told, start + length + 1);
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
    oxi_tell_as_speaker(text);
    if (first) {
        error->status = status;
        memcpy(error->text, text, sizeof text);
    }
    if (oxi_log_wanted(OX_LOG_ERROR)) oxi_log_text(OX_LOG_ERROR, text);
    return status;
}

OXI_UNUSED static ox_status oxi_fail_missing(const char *what) {
    return ox_error() != OX_OK ? ox_error() : oxi_fail(OX_ERR_ARG, "%s is NULL", what);
}

/* Moves the calling thread's error to *to, unless there is one already. */
OXI_UNUSED static void oxi_error_move(oxi_error *to) {
    if (to->status == OX_OK) *to = oxi_thread_error;
    ox_error_clear();
}

/* Puts an error that oxi_error_move took back, if there was one, over those since. */
OXI_UNUSED static void oxi_error_put_back(const oxi_error *earlier) {
    if (earlier->status != OX_OK) oxi_thread_error = *earlier;
}

/* Makes `from`, of a thread that works for this one, the calling thread's error if it is the first. Not
 * logged again. */
OXI_UNUSED static void oxi_error_adopt(const oxi_error *from) {
    if (from->status == OX_OK || oxi_thread_error.status != OX_OK) return;
    oxi_thread_error = *from;
    oxi_tell_as_speaker(oxi_thread_error.text);
}
