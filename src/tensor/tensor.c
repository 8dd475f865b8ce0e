/* Tensor headers, shapes, references and scopes.
 * Headers come from type-stable slabs: a freed one keeps its count of 0, so a late ox_release is seen and
 * counted. Every result of every op passes through oxi_tensor_over. */

/* ---- shapes -------------------------------------------------------------------------------------------- */

OX_API ox_shape ox_make_shape(int ndim, int64_t d0, int64_t d1, int64_t d2, int64_t d3, int64_t d4,
                              int64_t d5, int64_t d6, int64_t d7) {
    ox_shape shape;
    shape.ndim = ndim < 0 || ndim > OX_MAX_DIMS ? -1 : ndim;
    const int64_t dims[OX_MAX_DIMS] = {d0, d1, d2, d3, d4, d5, d6, d7};
    memcpy(shape.dim, dims, sizeof dims);
    return shape;
}

OX_API ox_shape ox_shape_from(int ndim, const int64_t *dims) {
    ox_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.ndim = ndim < 0 || ndim > OX_MAX_DIMS || (ndim > 0 && !dims) ? -1 : ndim;
    for (int d = 0; d < shape.ndim; d++) shape.dim[d] = dims[d];
    return shape;
}

OX_API ox_shape ox_shape_of(const ox_tensor *t) {
    return t ? ox_shape_from(t->ndim, t->shape) : ox_shape_from(-1, NULL);
}

static ox_status oxi_check_shape(const char *op, ox_dtype dtype, int ndim, const int64_t *shape,
                                 size_t *bytes) {
    const ox_dtype_info *info = oxi_info(dtype);
    if (info->cls == OX_CLASS_NONE)
        return oxi_fail(OX_ERR_DTYPE, "%s: dtype %d does not exist", op, (int)dtype);
    if (ndim < 0 || ndim > OX_MAX_DIMS)
        return oxi_fail(OX_ERR_SHAPE, "%s: more than %d dims", op, OX_MAX_DIMS);
    int64_t blocks = 1, elements = 1;
    bool empty = false, fits = true;
    for (int d = 0; d < ndim; d++) {
        int64_t size = shape[d];
        if (size < 0) return oxi_fail(OX_ERR_SHAPE, "%s: dim %d has size %lld", op, d, (long long)size);
        if (d == ndim - 1 && size % info->block_elements)
            return oxi_fail(OX_ERR_SHAPE, "%s: %s packs %d elements a block; the last dim is %lld", op,
                            info->name, info->block_elements, (long long)size);
        if (size == 0) {
            empty = true;
            continue;
        }
        fits = fits && oxi_mul_i64(elements, size, &elements);
        fits = fits && oxi_mul_i64(blocks, d == ndim - 1 ? size / info->block_elements : size, &blocks);
    }
    int64_t total = 0;
    if (!fits || !oxi_mul_i64(blocks, info->block_bytes, &total) || total > INT64_MAX / 4 ||
        (uint64_t)total > SIZE_MAX / 4)
        return oxi_fail(OX_ERR_SHAPE, "%s: %s%s has more elements than memory can hold", op, info->name,
                        oxi_shape_text(ndim, shape));
    if (ndim == 0 && info->block_elements != 1)
        return oxi_fail(OX_ERR_SHAPE, "%s: a 0-dim tensor cannot be %s", op, info->name);
    if (bytes) *bytes = empty ? 0 : (size_t)total;
    return OX_OK;
}

static int oxi_wrap_dim(const char *op, int dim, int ndim) {
    int limit = ndim > 0 ? ndim : 1;
    if (dim >= -limit && dim < limit) return dim < 0 ? dim + limit : dim;
    (void)oxi_fail(OX_ERR_DIM, "%s: dim %d is out of range for a tensor of %d dims", op, dim, ndim);
    return -1;
}

static void oxi_meta(ox_tensor *meta, ox_dtype dtype, int ndim, const int64_t *shape) {
    memset(meta, 0, sizeof *meta);
    meta->dtype = dtype;
    meta->ndim = ndim;
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; d--) {
        meta->shape[d] = shape[d];
        meta->stride[d] = stride;
        /* may wrap for a shape that is refused a moment later */
        stride = (int64_t)((uint64_t)stride * (uint64_t)(shape[d] > 0 ? shape[d] : 1));
    }
}

static void oxi_settle_strides(ox_tensor *meta) {
    bool empty = false;
    for (int d = 0; d < meta->ndim; d++) empty = empty || meta->shape[d] == 0;
    int64_t stride = 1;
    for (int d = meta->ndim - 1; d >= 0; d--) {
        if (empty)
            meta->stride[d] = stride;
        else if (meta->shape[d] == 1 &&
                 (meta->stride[d] > INT64_MAX / 64 || meta->stride[d] < INT64_MIN / 64))
            meta->stride[d] = 0;
        if (empty && meta->shape[d] > 0) stride *= meta->shape[d];
    }
}

/* Field by field: another thread may be counting references in t. */
static ox_tensor oxi_borrowed(const ox_tensor *t) {
    ox_tensor header;
    memset(&header, 0, sizeof header);
    header.dtype = t->dtype;
    header.ndim = t->ndim;
    header.offset = t->offset;
    header.storage = t->storage;
    memcpy(header.shape, t->shape, sizeof header.shape);
    memcpy(header.stride, t->stride, sizeof header.stride);
    return header;
}

/* ---- text of shapes, for messages ---------------------------------------------------------------------- */

/* A message may name four tensors: four buffers take turns. */
static char *oxi_text_buffer(void) {
    static OXI_THREAD_LOCAL char buffers[4][OXI_TEXT_ROOM];
    static OXI_THREAD_LOCAL unsigned turn;
    return buffers[turn++ % 4];
}

static const char *oxi_dims_text(const char *prefix, int ndim, const int64_t *shape) {
    char *out = oxi_text_buffer();
    size_t room = OXI_TEXT_ROOM, used = (size_t)snprintf(out, room, "%s[", prefix);
    for (int d = 0; d < ndim && d < OX_MAX_DIMS; d++)
        used += (size_t)snprintf(out + used, room - used, "%s%lld", d ? "," : "", (long long)shape[d]);
    snprintf(out + used, room - used, "]");
    return out;
}

static const char *oxi_shape_text(int ndim, const int64_t *shape) {
    return oxi_dims_text("", ndim, shape);
}
static const char *oxi_tensor_text(const ox_tensor *t) {
    return t ? oxi_dims_text(ox_dtype_name(t->dtype), t->ndim, t->shape) : "NULL";
}

/* ---- headers ------------------------------------------------------------------------------------------- */

#define OXI_SLAB_HEADERS 64
typedef struct oxi_slab {
    struct oxi_slab *next;
    ox_tensor headers[OXI_SLAB_HEADERS];
} oxi_slab;
static oxi_slab oxi_first_slab;
static oxi_slab *oxi_slabs;         /* all of them; NULL before the first tensor */
static ox_tensor *oxi_free_headers; /* linked by scope_next */
static oxi_lock oxi_header_lock;

static void oxi_slab_add(oxi_slab *slab) {
    slab->next = oxi_slabs;
    oxi_slabs = slab;
    for (int i = OXI_SLAB_HEADERS - 1; i >= 0; i--) {
        slab->headers[i].references = 0;
        slab->headers[i].scope_next = oxi_free_headers;
        oxi_free_headers = &slab->headers[i];
    }
}

/* Gives all slabs but the built-in one back; called by base/memory.c when no tensor is alive. */
static void oxi_headers_trim(void) {
    oxi_lock_take(&oxi_header_lock);
    oxi_slab *slab = oxi_slabs;
    oxi_slabs = NULL;
    oxi_free_headers = NULL;
    while (slab) {
        oxi_slab *next = slab->next;
        if (slab != &oxi_first_slab) oxi_free(slab, sizeof *slab);
        slab = next;
    }
    oxi_lock_give(&oxi_header_lock);
}

/* The counters are written with the lock held: no other needs to be taken for them. */
static void oxi_count_tensors(int more) {
    oxi_atomic_store(&oxi_stat_tensors, oxi_atomic_load(&oxi_stat_tensors) + more);
    if (more > 0) oxi_atomic_store(&oxi_stat_tensors_made, oxi_atomic_load(&oxi_stat_tensors_made) + more);
}

static ox_tensor *oxi_header_pop(void) {
    oxi_lock_take(&oxi_header_lock);
    if (!oxi_slabs) oxi_slab_add(&oxi_first_slab);
    ox_tensor *t = oxi_free_headers;
    if (t) {
        oxi_free_headers = t->scope_next;
        oxi_count_tensors(1);
    }
    oxi_lock_give(&oxi_header_lock);
    return t;
}

/* A new slab is taken outside the lock: an allocation in need may come back here through oxi_headers_trim. */
static ox_tensor *oxi_header_take(void) {
    ox_tensor *t = oxi_header_pop();
    if (t) return t;
    oxi_slab *slab = (oxi_slab *)oxi_alloc(sizeof *slab);
    if (!slab) return NULL;
    oxi_on_memory_change(oxi_headers_trim);
    oxi_lock_take(&oxi_header_lock);
    oxi_slab_add(slab);
    oxi_lock_give(&oxi_header_lock);
    return oxi_header_take();
}

/* fewer: how many tensors less are alive by that. */
static void oxi_header_give(ox_tensor *t, int fewer) {
    oxi_lock_take(&oxi_header_lock);
    t->scope_next = oxi_free_headers;
    oxi_free_headers = t;
    oxi_count_tensors(-fewer);
    oxi_lock_give(&oxi_header_lock);
}

/* ---- scopes -------------------------------------------------------------------------------------------- */

/* The list of a scope is its thread's alone. Another thread that gives the last reference to a tensor in it
 * back leaves the header there, as OXI_SCOPE_LEFT references say, and the thread finds it when the scope
 * ends. Threads have numbers, because a new one may have its scopes where those of an ended one were. */
#define OXI_MAX_SCOPES 256
#define OXI_SCOPE_LEFT (INT64_MIN / 2)
typedef struct oxi_scope {
    ox_tensor *first;
} oxi_scope;
static OXI_THREAD_LOCAL oxi_scope oxi_scopes[OXI_MAX_SCOPES];
static OXI_THREAD_LOCAL int oxi_scope_depth;
static OXI_THREAD_LOCAL int64_t oxi_scope_thread; /* 0: this thread never began a scope */

static void oxi_scope_link(oxi_scope *scope, ox_tensor *t) {
    t->scope = scope;
    t->scope_previous = NULL;
    t->scope_next = scope->first;
    if (scope->first) scope->first->scope_previous = t;
    scope->first = t;
    oxi_atomic_store(&t->scope_thread, oxi_scope_thread);
}

static void oxi_scope_unlink(ox_tensor *t) {
    if (!t->scope) return;
    if (t->scope_previous)
        t->scope_previous->scope_next = t->scope_next;
    else
        t->scope->first = t->scope_next;
    if (t->scope_next) t->scope_next->scope_previous = t->scope_previous;
    t->scope = NULL;
    t->scope_previous = t->scope_next = NULL;
    oxi_atomic_store(&t->scope_thread, 0);
}

OX_API ox_scope ox_scope_begin(void) {
    static int64_t threads;
    ox_scope scope;
    if (oxi_scope_thread == 0) oxi_scope_thread = oxi_atomic_add(&threads, 1);
    scope.scope = NULL;
    scope.thread = oxi_scope_thread;
    scope.open = true;
    if (oxi_scope_depth == OXI_MAX_SCOPES) {
        (void)oxi_fail(OX_ERR_ARG, "scope: more than %d scopes are open in one thread", OXI_MAX_SCOPES);
        return scope;
    }
    scope.scope = &oxi_scopes[oxi_scope_depth++];
    scope.scope->first = NULL;
    return scope;
}

static int64_t oxi_tape_dropper; /* the function of whoever puts tapes into tensors (autograd/) */

static void oxi_tape_release(void *tape) {
    ((void (*)(void *))(intptr_t)oxi_atomic_load(&oxi_tape_dropper))(tape);
}

/* The memory and the header of a tensor without references. */
static void oxi_tensor_free(ox_tensor *t) {
    oxi_scope_unlink(t);
    if (t->tape) oxi_tape_release(t->tape);
    oxi_storage_release(t->storage);
    t->storage = NULL;
    oxi_header_give(t, 1);
}

/* Gives the reference of this thread's scope back, unless another thread has. */
static void oxi_scope_release(ox_tensor *t) {
    oxi_scope_unlink(t);
    int64_t left = oxi_atomic_add(&t->references, -1);
    if (left > 0) return;
    if (left == 0) {
        oxi_tensor_free(t);
        return;
    }
    oxi_atomic_store(&t->references, 0);
    t->storage = NULL;
    oxi_header_give(t, 0);
}

OX_API void ox_scope_end(ox_scope *scope) {
    if (!scope || !scope->open) return;
    scope->open = false;
    if (scope->thread != oxi_scope_thread) {
        (void)oxi_fail(OX_ERR_ARG, "scope_end: the scope was begun by another thread");
        return;
    }
    if (!scope->scope) return;
    int depth = (int)(scope->scope - oxi_scopes);
    while (oxi_scope_depth > depth) {
        oxi_scope *top = &oxi_scopes[oxi_scope_depth - 1];
        while (top->first) oxi_scope_release(top->first);
        oxi_scope_depth--;
    }
}

OX_API ox_tensor *ox_keep(ox_tensor *t) {
    if (!t || oxi_scope_depth == 0 || oxi_atomic_load(&t->scope_thread) != oxi_scope_thread) return t;
    if (t->scope != &oxi_scopes[oxi_scope_depth - 1]) return t;
    oxi_scope_unlink(t);
    if (oxi_scope_depth > 1) oxi_scope_link(&oxi_scopes[oxi_scope_depth - 2], t);
    return t;
}

OX_API ox_tensor *ox_retain(ox_tensor *t) {
    if (t) oxi_atomic_add(&t->references, 1);
    return t;
}

static bool oxi_scope_is_foreign(const ox_tensor *t) {
    int64_t thread = oxi_atomic_load(&t->scope_thread);
    return thread != 0 && thread != oxi_scope_thread;
}

/* Gives a reference to a tensor in another thread's scope back; false when it has left that meanwhile. The
 * last one and the mark are one step: from then on the header is the scope's. */
static bool oxi_release_foreign(ox_tensor *t) {
    for (;;) {
        int64_t references = oxi_atomic_load(&t->references);
        ox_storage *storage = t->storage;
        void *tape = t->tape;
        if (references <= 0 || !oxi_scope_is_foreign(t)) return false;
        if (!oxi_atomic_cas(&t->references, references, references > 1 ? references - 1 : OXI_SCOPE_LEFT))
            continue;
        if (references > 1) return true;
        if (tape) oxi_tape_release(tape);
        oxi_storage_release(storage);
        oxi_lock_take(&oxi_header_lock);
        oxi_count_tensors(-1);
        oxi_lock_give(&oxi_header_lock);
        return true;
    }
}

OX_API void ox_release(ox_tensor *t) {
    if (!t) return;
    if (oxi_scope_is_foreign(t) && oxi_release_foreign(t)) return;
    int64_t left = oxi_atomic_add(&t->references, -1);
    if (left > 0) return;
    if (left < 0) {
        oxi_atomic_store(&t->references, 0);
        oxi_atomic_add(&oxi_stat_bad_releases, 1);
        return;
    }
    oxi_tensor_free(t);
}

/* ---- making -------------------------------------------------------------------------------------------- */

/* Takes the caller's reference to the storage over, unless it fails. */
static ox_tensor *oxi_tensor_of(ox_storage *storage, const ox_tensor *meta) {
    ox_tensor *t = oxi_header_take();
    if (!t) return NULL;
    t->dtype = meta->dtype;
    t->ndim = meta->ndim;
    t->offset = meta->offset;
    memcpy(t->shape, meta->shape, sizeof t->shape);
    memcpy(t->stride, meta->stride, sizeof t->stride);
    t->storage = storage;
    t->is_number = false;
    t->tape = NULL;
    oxi_atomic_store(&t->scope_thread, 0);
    t->scope = NULL;
    t->scope_previous = t->scope_next = NULL;
    oxi_atomic_store(&t->references, 1);
    if (oxi_scope_depth > 0) oxi_scope_link(&oxi_scopes[oxi_scope_depth - 1], t);
    return t;
}

static ox_tensor *oxi_tensor_over(ox_storage *storage, const ox_tensor *meta) {
    ox_tensor *t = oxi_tensor_of(storage, meta);
    if (t) oxi_storage_retain(storage);
    return t;
}

static ox_tensor *oxi_tensor_new(ox_device *device, ox_dtype dtype, int ndim, const int64_t *shape) {
    size_t bytes = 0;
    if (oxi_check_shape("tensor", dtype, ndim, shape, &bytes) != OX_OK) return NULL;
    ox_tensor meta;
    oxi_meta(&meta, dtype, ndim, shape);
    ox_storage *storage = oxi_storage_new(device, bytes);
    if (!storage) return NULL;
    ox_tensor *t = oxi_tensor_of(storage, &meta);
    if (!t) oxi_storage_release(storage);
    return t;
}

/* ---- facts --------------------------------------------------------------------------------------------- */

OX_API int64_t ox_numel(const ox_tensor *t) {
    int64_t count = t ? 1 : 0;
    for (int d = 0; t && d < t->ndim; d++) count *= t->shape[d];
    return count;
}

OX_API int64_t ox_size(const ox_tensor *t, int dim) {
    if (!t) return 0;
    if (t->ndim == 0) {
        (void)oxi_fail(OX_ERR_DIM, "size: dim %d of a tensor of 0 dims", dim);
        return 0;
    }
    int d = oxi_wrap_dim("size", dim, t->ndim);
    return d < 0 ? 0 : t->shape[d];
}

OX_API size_t ox_nbytes(const ox_tensor *t) {
    if (!t) return 0;
    const ox_dtype_info *info = oxi_info(t->dtype);
    return (size_t)(ox_numel(t) / info->block_elements) * (size_t)info->block_bytes;
}

OX_API bool ox_is_contiguous(const ox_tensor *t) {
    if (!t) return false;
    int64_t stride = 1;
    if (ox_numel(t) == 0) return true;
    for (int d = t->ndim - 1; d >= 0; d--) {
        if (t->shape[d] != 1 && t->stride[d] != stride) return false;
        stride *= t->shape[d];
    }
    return true;
}

OX_API ox_device *ox_device_of(const ox_tensor *t) {
    return t ? t->storage->device : NULL;
}
OX_API const char *ox_device_name(const ox_device *device) {
    return device ? device->name : "none";
}

static size_t oxi_byte_offset(ox_dtype dtype, int64_t offset) {
    if (offset == 0) return 0;
    const ox_dtype_info *info = oxi_info(dtype);
    return (size_t)(offset / info->block_elements) * (size_t)info->block_bytes;
}

static char *oxi_ptr(const ox_tensor *t) {
    return (char *)t->storage->data + oxi_byte_offset(t->dtype, t->offset);
}

static char *oxi_plain_ptr(const ox_tensor *t) {
    oxi_storage_plain(t->storage);
    return oxi_ptr(t);
}

OX_API void *ox_data(const ox_tensor *t) {
    return t && t->storage->device->host ? oxi_plain_ptr(t) : NULL;
}
