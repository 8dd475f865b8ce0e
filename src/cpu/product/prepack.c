/* ox_prepack. Block types are repacked (cpu/product/repack.c). Of others packed panels are kept with their
 * storage: the product that first wants them makes them, later ones take them. Panels that were made before
 * the storage was changed in place, as its version tells, are dropped. Called by cpu/product/gemm.c; freed
 * with the storage. */

enum { OXI_PREPACKED_MOST = 64 }; /* sets of panels of one storage: its matrices, and what they multiply */

/* What panels were made of, and how. */
typedef struct oxi_panels_key {
    const void *data;
    ox_dtype dtype;
    int64_t lines, k, line_stride, k_stride;
    oxi_pack_kernel pack;
    int width, element;
    int64_t depth;
    int64_t version; /* of the storage */
} oxi_panels_key;

typedef struct oxi_panels {
    oxi_panels_key key;
    int64_t references;
    char *memory;
    size_t bytes;
    struct oxi_panels *next;
} oxi_panels;

/* The panels of a storage: a layout that is kept beside its bytes (tensor/internal.h). */
typedef struct oxi_prepacked {
    oxi_panels *first; /* the newest */
} oxi_prepacked;
static oxi_lock oxi_panels_lock; /* guards the lists of all storages */

static bool oxi_panels_match(const oxi_panels_key *a, const oxi_panels_key *b) {
    return a->data == b->data && a->dtype == b->dtype && a->lines == b->lines && a->k == b->k &&
           a->line_stride == b->line_stride && a->k_stride == b->k_stride && a->pack == b->pack &&
           a->width == b->width && a->element == b->element && a->depth == b->depth &&
           a->version == b->version;
}

static void oxi_panels_release(oxi_panels *panels) {
    if (!panels || oxi_atomic_add(&panels->references, -1) != 0) return;
    oxi_free(panels->memory, panels->bytes);
    oxi_free(panels, sizeof *panels);
}

/* A reference to the panels of that key, or NULL. */
static oxi_panels *oxi_panels_find(oxi_prepacked *home, const oxi_panels_key *key) {
    oxi_lock_take(&oxi_panels_lock);
    oxi_panels *panels = home->first;
    while (panels && !oxi_panels_match(&panels->key, key)) panels = panels->next;
    if (panels) oxi_atomic_add(&panels->references, 1);
    oxi_lock_give(&oxi_panels_lock);
    return panels;
}

/* Panels to be filled in, one reference; NULL where memory is short. */
static oxi_panels *oxi_panels_new(const oxi_panels_key *key, size_t bytes) {
    oxi_panels *panels = (oxi_panels *)oxi_try_alloc(sizeof *panels);
    if (!panels) return NULL;
    memset(panels, 0, sizeof *panels);
    panels->key = *key;
    panels->references = 1;
    panels->bytes = bytes;
    panels->memory = (char *)oxi_try_alloc(bytes);
    if (panels->memory) return panels;
    oxi_free(panels, sizeof *panels);
    return NULL;
}

/* Keeps panels that are filled; what is of another version, the same made by another thread, and what is one
 * too many, goes. */
static void oxi_panels_keep(oxi_prepacked *home, oxi_panels *panels) {
    oxi_panels *gone = NULL, **at = &home->first;
    oxi_atomic_add(&panels->references, 1);
    oxi_lock_take(&oxi_panels_lock);
    panels->next = home->first;
    home->first = panels;
    for (int count = 0; *at; count++) {
        oxi_panels *one = *at;
        bool twin = one != panels && oxi_panels_match(&one->key, &panels->key);
        if (one->key.version == panels->key.version && !twin && count < OXI_PREPACKED_MOST) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = gone;
        gone = one;
    }
    oxi_lock_give(&oxi_panels_lock);
    while (gone) {
        oxi_panels *next = gone->next;
        oxi_panels_release(gone);
        gone = next;
    }
}

static void oxi_prepacked_drop(ox_storage *storage) {
    oxi_prepacked *home = (oxi_prepacked *)storage->packed;
    storage->layout = NULL;
    storage->packed = NULL;
    while (home->first) {
        oxi_panels *next = home->first->next;
        oxi_panels_release(home->first);
        home->first = next;
    }
    oxi_free(home, sizeof *home);
}

static const oxi_layout oxi_prepacked_layout = {NULL, oxi_prepacked_drop, NULL};

/* Where panels of a storage are kept; NULL: nowhere. */
static oxi_prepacked *oxi_prepacked_of(const ox_storage *storage) {
    return storage && storage->layout == &oxi_prepacked_layout ? (oxi_prepacked *)storage->packed : NULL;
}

/* Panels are kept from now on: of numbers as they are now. */
static ox_status oxi_prepack_panels(ox_storage *storage) {
    oxi_storage_unpack(storage);
    if (storage->layout) return OX_OK; /* block types lie in it, too */
    storage->packed = oxi_calloc(1, sizeof(oxi_prepacked));
    if (!storage->packed) return OX_ERR_NOMEM;
    storage->layout = &oxi_prepacked_layout;
    return OX_OK;
}

OX_API ox_status ox_prepack(ox_tensor *weight) {
    if (!weight) return oxi_fail(OX_ERR_ARG, "prepack: the tensor is NULL");
    if (weight->storage->device != ox_cpu()) return OX_OK;
    if (!oxi_is_block(weight->dtype)) return oxi_prepack_panels(weight->storage);
    oxi_repack(weight);
    return OX_OK;
}

OX_API ox_status ox_unpack(ox_tensor *weight) {
    if (!weight) return oxi_fail(OX_ERR_ARG, "unpack: the tensor is NULL");
    if (weight->storage->device == ox_cpu()) oxi_storage_unpack(weight->storage);
    return OX_OK;
}
