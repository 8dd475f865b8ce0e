/* Status codes and the sticky per-thread error.
 * The first error of a thread stays until it is cleared, so one check covers a chain of calls.
 * Every part reports through oxi_fail (base/internal.h). */
#ifndef OX_BASE_ERROR_H
#define OX_BASE_ERROR_H

OX_EXTERN_C_BEGIN

#define OX_STATUS_LIST(X) \
    X(OX_OK, 0, "no error") \
    X(OX_ERR_SHAPE, 1, "shapes do not fit") \
    X(OX_ERR_DTYPE, 2, "dtype not allowed") \
    X(OX_ERR_DIM, 3, "dimension out of range") \
    X(OX_ERR_INDEX, 4, "index out of range") \
    X(OX_ERR_ARG, 5, "bad argument") \
    X(OX_ERR_NOMEM, 6, "out of memory") \
    X(OX_ERR_DEVICE, 7, "device error") \
    X(OX_ERR_IO, 8, "file could not be read or written") \
    X(OX_ERR_FORMAT, 9, "malformed file") \
    X(OX_ERR_NOT_FOUND, 10, "not found") \
    X(OX_ERR_UNSUPPORTED, 11, "not supported")

typedef enum ox_status {
#define OXI_X(name, value, text) name = value,
    OX_STATUS_LIST(OXI_X)
#undef OXI_X
} ox_status;

/* The calling thread's first error since the last clear; OX_OK (0) if there was none. */
OX_API ox_status ox_error(void);
/* The same in words: op, shapes, dtypes, file and field. "" if there was none. Valid until ox_error_clear. */
OX_API const char *ox_error_text(void);
OX_API void ox_error_clear(void);
/* The general meaning of a status, e.g. "shapes do not fit". */
OX_API const char *ox_status_text(ox_status status);

/* Messages of the library: errors as they happen, notes such as a device detour. Silent by default.
 * `callback` may be called from any thread. NULL makes it silent again. */
typedef enum ox_log_level { OX_LOG_NONE = 0, OX_LOG_ERROR, OX_LOG_WARN, OX_LOG_INFO } ox_log_level;
typedef void (*ox_log_fn)(void *user, ox_log_level level, const char *text);
OX_API void ox_set_log(ox_log_fn callback, void *user, ox_log_level most);

OX_EXTERN_C_END
#endif
