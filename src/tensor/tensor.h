/* The tensor: (storage, offset, shape, strides, dtype), its shape literals, reference counts and scopes.
 * Row-major like PyTorch; strides count elements and may be 0 (broadcast) or negative (flip).
 * Everything else in the library takes and returns these. */
#ifndef OX_TENSOR_TENSOR_H
#define OX_TENSOR_TENSOR_H

OX_EXTERN_C_BEGIN

typedef struct ox_tensor ox_tensor;
typedef struct ox_storage ox_storage;
typedef struct ox_device ox_device;

/* Public to read; change it only through functions. */
struct ox_tensor {
    ox_dtype dtype;
    int ndim;                       /* 0 for a single number */
    int64_t shape[OX_MAX_DIMS];
    int64_t stride[OX_MAX_DIMS];    /* in elements */
    int64_t offset;                 /* in elements, from the start of the storage */
    ox_storage *storage;            /* shared by all views */
    bool is_number;                 /* made by ox_number: promotes by category only */

    int64_t references;             /* private from here on */
    int64_t scope_thread;           /* whose scope it belongs to; 0: it belongs to none */
    struct oxi_scope *scope;        /* this and its place there are that thread's alone */
    ox_tensor *scope_previous, *scope_next;
    void *tape;
};

/* ---- shape literals: OX_SHAPE(2, 3), OX_DIMS(0, -1), up to 8 numbers ----------------------------------- */

typedef struct ox_shape {
    int ndim;                       /* -1 = made from too many numbers: every function refuses it */
    int64_t dim[OX_MAX_DIMS];
} ox_shape;

#define OX_SHAPE(...) \
    ox_make_shape(OXI_COUNT(__VA_ARGS__, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, \
                            8, 7, 6, 5, 4, 3, 2, 1, 0), \
                  OXI_FIRST8(__VA_ARGS__, 0, 0, 0, 0, 0, 0, 0, 0, 0))
#define OX_DIMS OX_SHAPE
/* No dims: the shape of a single number; as the `dims` of a reduction, all of them. */
#define OX_SCALAR_SHAPE ox_make_shape(0, 0, 0, 0, 0, 0, 0, 0, 0)
#define OX_ALL_DIMS OX_SCALAR_SHAPE
#define OXI_COUNT(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, n, ...) n
#define OXI_FIRST8(a, b, c, d, e, f, g, h, ...) a, b, c, d, e, f, g, h
OX_API ox_shape ox_make_shape(int ndim, int64_t d0, int64_t d1, int64_t d2, int64_t d3, int64_t d4,
                              int64_t d5, int64_t d6, int64_t d7);
OX_API ox_shape ox_shape_from(int ndim, const int64_t *dims);
OX_API ox_shape ox_shape_of(const ox_tensor *t);

/* ---- facts --------------------------------------------------------------------------------------------- */

OX_API int64_t ox_numel(const ox_tensor *t);                   /* number of elements; 0 for NULL */
OX_API int64_t ox_size(const ox_tensor *t, int dim); /* dim < 0 counts from the end; error OX_ERR_DIM, 0 */
OX_API size_t ox_nbytes(const ox_tensor *t);                   /* bytes of a contiguous copy */
OX_API bool ox_is_contiguous(const ox_tensor *t);
OX_API ox_device *ox_device_of(const ox_tensor *t);
/* The first element's address in host memory; NULL when the tensor lives on another device. */
OX_API void *ox_data(const ox_tensor *t);

/* ---- devices ------------------------------------------------------------------------------------------- */

OX_API ox_device *ox_cpu(void);
OX_API const char *ox_device_name(const ox_device *device);
/* ox_to - a copy on `device`; another view of t if it is there already. */
OX_API ox_tensor *ox_to(ox_tensor *t, ox_device *device);

/* ---- ownership --------------------------------------------------------------------------------------------
 * A result belongs to the innermost open scope of its thread, or to the caller if none is open. The end of
 * a scope releases what belongs to it. OX_SCOPE { ... } may be left by break, goto or return (gcc, clang).
 * A thread ends the scopes that it began, and before it ends itself. */

typedef struct ox_scope { struct oxi_scope *scope; int64_t thread; bool open; } ox_scope;
OX_API ox_scope ox_scope_begin(void);
/* Ends scopes inside it as well. Error OX_ERR_ARG for a scope of another thread, which stays open there. */
OX_API void ox_scope_end(ox_scope *scope);
#define OX_SCOPE OXI_SCOPE_OF(ox_scope, ox_scope_begin(), ox_scope_end)
/* A block between a begin and an end, of any kind. Named after its line, so that a scope within a scope hides
 * nothing. */
#define OXI_SCOPE_OF(type, begin, end) OXI_SCOPE_NAMED(type, begin, end, OXI_PASTE(type##_at_, __LINE__))
#if defined(__GNUC__) || defined(__clang__)
#define OXI_SCOPE_NAMED(type, begin, end, name) \
    for (type name __attribute__((cleanup(end))) = begin; name.open; end(&name))
#else
#define OXI_SCOPE_NAMED(type, begin, end, name) for (type name = begin; name.open; end(&name))
#endif
#define OXI_PASTE(a, b) OXI_PASTE_NOW(a, b)
#define OXI_PASTE_NOW(a, b) a##b
/* Hands t to the scope outside the innermost one (to the caller if there is none); returns t. */
OX_API ox_tensor *ox_keep(ox_tensor *t);
/* One more reference, which the caller owns and gives back with ox_release; returns t. NULL is allowed in
 * both. Releasing a scope's tensor early is allowed, from any thread: it leaves the scope. */
OX_API ox_tensor *ox_retain(ox_tensor *t);
OX_API void ox_release(ox_tensor *t);

OX_EXTERN_C_END
#endif
