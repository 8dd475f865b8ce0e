/* What an open file holds: its parts, the directory of arrays and metadata, and tensors over them.
 * Records grow as the file is read, never by what it claims; names are found through sorted indexes,
 * which no hostile choice of names slows down. Called by every format. */

enum {
    OXI_FILE_PROBED = 64 << 10, /* the first window */
    OXI_FILE_PIECE = 1 << 20    /* the largest, unless more is asked for at once */
};

/* ---- messages ---------------------------------------------------------------------------------------- */

static const char *oxi_path_text(const char *path) {
    size_t length = strlen(path);
    return length > 120 ? path + length - 120 : path;
}

static oxi_quoted oxi_quote(const char *name, size_t length) {
    oxi_quoted out;
    size_t used = 0;
    out.text[used++] = '\'';
    for (size_t i = 0; i < length && i < 60; i++) {
        unsigned char c = (unsigned char)name[i];
        out.text[used++] = c < 0x20 || c == 0x7F ? '?' : (char)c;
    }
    memcpy(out.text + used, length > 60 ? "...'" : "'", length > 60 ? 5 : 2);
    return out;
}

static ox_status oxi_file_fail(ox_status status, const ox_file *file, size_t part, size_t at,
                               const char *format, ...) {
    char words[320];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    const char *path = oxi_path_text(file->parts[part].path);
    if (at == SIZE_MAX) return oxi_fail(status, "%s: %s", path, words);
    return oxi_fail(status, "%s: offset %llu: %s", path, (unsigned long long)at, words);
}

static OXI_UNUSED bool oxi_speak_for_file(const ox_file *file) {
    const char *path = oxi_path_text(file->parts[0].path);
    return *path && oxi_speak(path);
}

/* ---- bytes ------------------------------------------------------------------------------------------- */

static OXI_UNUSED uint16_t oxi_read_u16(const unsigned char *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t oxi_read_u32(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static uint64_t oxi_read_u64(const unsigned char *p) {
    return oxi_read_u32(p) | (uint64_t)oxi_read_u32(p + 4) << 32;
}

static bool oxi_big_endian_host(void) {
    const uint16_t one = 1;
    unsigned char first;
    memcpy(&first, &one, 1);
    return first == 0;
}

static void oxi_copy_swapped(void *to, const void *from, size_t bytes, size_t unit) {
    unsigned char *out = (unsigned char *)to, one[8];
    const unsigned char *in = (const unsigned char *)from;
    for (size_t i = 0; i + unit <= bytes; i += unit) {
        memcpy(one, in + i, unit);
        for (size_t b = 0; b < unit; b++) out[i + b] = one[unit - 1 - b];
    }
}

static size_t oxi_swap_unit(ox_dtype dtype) {
    const ox_dtype_info *info = oxi_info(dtype);
    if (info->cls == OX_CLASS_BLOCK) return 1; /* blocks keep their byte order everywhere */
    return info->cls == OX_CLASS_COMPLEX ? (size_t)info->block_bytes / 2 : (size_t)info->block_bytes;
}

/* ---- memory of a file -------------------------------------------------------------------------------- */

typedef struct oxi_chunk {
    struct oxi_chunk *next;
    uint64_t used, room;
} oxi_chunk; /* bytes follow, aligned to 8 */

static void *oxi_file_take(ox_file *file, size_t bytes) {
    oxi_chunk *chunk = (oxi_chunk *)file->chunks;
    if (bytes > SIZE_MAX / 4) {
        (void)oxi_fail(OX_ERR_NOMEM, "file: %llu bytes of names", (unsigned long long)bytes);
        return NULL;
    }
    bytes = (bytes + 7) & ~(size_t)7;
    if (!chunk || chunk->room - chunk->used < bytes) {
        size_t room = chunk ? 2 * (size_t)chunk->room : 1024;
        if (room > 256 * 1024) room = 256 * 1024;
        if (room < bytes) room = bytes;
        oxi_chunk *more = (oxi_chunk *)oxi_alloc(sizeof *more + room);
        if (!more) return NULL;
        more->next = chunk;
        more->used = 0;
        more->room = room;
        file->chunks = chunk = more;
    }
    char *memory = (char *)(chunk + 1) + (size_t)chunk->used;
    chunk->used += bytes;
    return memory;
}

static void *oxi_grow(void *memory, size_t *room, size_t need, size_t each, bool exact) {
    size_t grown = need, bytes;
    if (memory && need <= *room) return memory;
    if (!exact && need <= SIZE_MAX / 4) {
        grown = *room ? 2 * *room : 8;
        if (grown < need) grown = need;
    }
    if (!oxi_mul_size(grown, each, &bytes)) {
        (void)oxi_fail(OX_ERR_NOMEM, "file: too many entries");
        return NULL;
    }
    void *more = memory ? oxi_realloc(memory, *room * each, bytes) : oxi_alloc(bytes);
    if (more) *room = grown;
    return more;
}

static oxi_file_part *oxi_file_add_part(ox_file *file) {
    void *grown = oxi_grow(file->parts, &file->part_room, file->part_count + 1, sizeof *file->parts, false);
    if (!grown) return NULL;
    file->parts = (oxi_file_part *)grown;
    oxi_file_part *part = &file->parts[file->part_count++];
    memset(part, 0, sizeof *part);
    part->path = "";
    return part;
}

static oxi_file_item *oxi_file_add_item(ox_file *file) {
    void *grown = oxi_grow(file->items, &file->item_room, file->item_count + 1, sizeof *file->items, false);
    if (!grown) return NULL;
    file->items = (oxi_file_item *)grown;
    oxi_file_item *item = &file->items[file->item_count++];
    memset(item, 0, sizeof *item);
    item->name = "";
    return item;
}

static oxi_meta_item *oxi_file_add_meta(ox_file *file) {
    void *grown = oxi_grow(file->metas, &file->meta_room, file->meta_count + 1, sizeof *file->metas, false);
    if (!grown) return NULL;
    file->metas = (oxi_meta_item *)grown;
    oxi_meta_item *meta = &file->metas[file->meta_count++];
    memset(meta, 0, sizeof *meta);
    meta->key = "";
    return meta;
}

static ox_status oxi_file_map_part(ox_file *file, const char *path) {
    size_t length = strlen(path);
    char *copy = (char *)oxi_file_take(file, length + 1);
    if (!copy) return OX_ERR_NOMEM;
    memcpy(copy, path, length + 1);
    oxi_mapping mapping;
    memset(&mapping, 0, sizeof mapping);
    ox_status status =
        file->device->region ? oxi_map_parts(path, &mapping) : oxi_map_file(path, file->copies, &mapping);
    if (status != OX_OK) return status;
    oxi_file_part *part = oxi_file_add_part(file);
    if (!part) {
        oxi_unmap_file(&mapping);
        return OX_ERR_NOMEM;
    }
    part->mapping = mapping;
    part->path = copy;
    return OX_OK;
}

static ox_status oxi_file_window(ox_file *file, size_t part, size_t at, size_t bytes,
                                 const unsigned char **out) {
    oxi_file_part *p = &file->parts[part];
    bool inside = at >= p->window_at && at - p->window_at <= p->window_bytes &&
                  bytes <= p->window_bytes - (at - p->window_at);
    const unsigned char *data = inside ? p->window : NULL; /* NULL too: no window yet, an empty file */
    size_t from = p->window_at;
    if (!oxi_mapping_is_in_parts(&p->mapping)) {
        data = p->mapping.data;
        from = 0;
        inside = true;
    }
    *out = data ? data + (at - from) : NULL; /* NULL + 0 is undefined in C */
    if (inside) return OX_OK;
    size_t room = 2 * p->window_bytes, left = p->mapping.bytes - at; /* small ones are many */
    if (room < OXI_FILE_PROBED) room = OXI_FILE_PROBED;
    if (room > OXI_FILE_PIECE) room = OXI_FILE_PIECE;
    if (room > left) room = left;
    if (room < bytes) room = bytes;
    unsigned char *window = (unsigned char *)oxi_file_take(file, room);
    if (!window) return OX_ERR_NOMEM;
    ox_status status = oxi_file_copy(file, part, at, window, room);
    if (status != OX_OK) return status;
    *out = p->window = window;
    p->window_at = at;
    p->window_bytes = room;
    return OX_OK;
}

static ox_status oxi_file_copy(const ox_file *file, size_t part, size_t at, void *out, size_t bytes) {
    const oxi_file_part *p = &file->parts[part];
    return oxi_mapping_copy(&p->mapping, oxi_path_text(p->path), at, out, bytes);
}

static ox_status oxi_file_visit(const ox_file *file, size_t part, size_t at, size_t bytes,
                                oxi_piece_fn visit, void *user) {
    const oxi_file_part *p = &file->parts[part];
    if (bytes == 0) return OX_OK;
    if (!oxi_mapping_is_in_parts(&p->mapping)) return visit(user, 0, p->mapping.data + at, bytes);
    const size_t most = OXI_FILE_PIECE;
    size_t room = bytes < most ? bytes : most;
    unsigned char *piece = (unsigned char *)oxi_alloc(most);
    ox_status status = piece ? OX_OK : OX_ERR_NOMEM;
    for (size_t done = 0; done < bytes && status == OX_OK; done += room) {
        if (room > bytes - done) room = bytes - done;
        status = oxi_mapping_copy(&p->mapping, oxi_path_text(p->path), at + done, piece, room);
        if (status == OX_OK) status = visit(user, done, piece, room);
    }
    oxi_free(piece, most);
    return status;
}

static void oxi_file_free(ox_file *file) {
    ox_device *device = file->device;
    if (file->format && file->format->close) file->format->close(file);
    for (size_t i = 0; i < file->part_count; i++) {
        oxi_mapping *mapping = &file->parts[i].mapping;
        if (file->parts[i].borrowed) continue;
        oxi_repacked_forget((void *)(uintptr_t)mapping->data, mapping->bytes);
        oxi_unmap_file(mapping);
    }
    oxi_free(file->parts, file->part_room * sizeof *file->parts);
    oxi_free(file->items, file->item_room * sizeof *file->items);
    oxi_free(file->metas, file->meta_room * sizeof *file->metas);
    while (file->chunks) {
        oxi_chunk *chunk = (oxi_chunk *)file->chunks;
        file->chunks = chunk->next;
        oxi_free(chunk, sizeof *chunk + (size_t)chunk->room);
    }
    oxi_free(file, sizeof *file);
    if (device->hold) (void)device->hold(device, false);
}

static void oxi_file_release(ox_file *file) {
    if (oxi_atomic_add(&file->references, -1) == 0) oxi_file_free(file);
}

/* ---- sorted names ------------------------------------------------------------------------------------ */

static void oxi_sort_indexes(uint32_t *order, uint32_t *scratch, uint32_t count, oxi_compare_fn compare,
                             const void *user) {
    for (uint32_t i = 0; i < count; i++) order[i] = i;
    for (uint32_t width = 1; width < count && width; width *= 2) {
        for (uint32_t start = 0; start < count; start += 2 * width) {
            uint32_t middle = count - start > width ? start + width : count;
            uint32_t end = count - middle > width ? middle + width : count;
            uint32_t a = start, b = middle;
            for (uint32_t out = start; out < end; out++)
                scratch[out] = b >= end || (a < middle && compare(user, order[a], order[b]) <= 0)
                                   ? order[a++]
                                   : order[b++];
            if (end == count) break;
        }
        memcpy(order, scratch, (size_t)count * sizeof *order);
    }
}

static int oxi_compare_text(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t shared = a_length < b_length ? a_length : b_length;
    int order = shared ? memcmp(a, b, shared) : 0;
    return order ? order : a_length < b_length ? -1 : a_length > b_length;
}

static int oxi_compare_items(const void *user, uint32_t a, uint32_t b) {
    const ox_file *file = (const ox_file *)user;
    return strcmp(file->items[a].name, file->items[b].name);
}

static int oxi_compare_metas(const void *user, uint32_t a, uint32_t b) {
    const ox_file *file = (const ox_file *)user;
    const oxi_meta_item *x = &file->metas[a], *y = &file->metas[b];
    return oxi_compare_text(x->key, x->key_length, y->key, y->key_length);
}

/* Sorts `count` records into *order (in the arena); *twice receives one that compares equal to another,
 * or count. */
static ox_status oxi_file_order(ox_file *file, size_t count, oxi_compare_fn compare, uint32_t **order,
                                size_t *twice) {
    *twice = count;
    if (count > UINT32_MAX / 2)
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "more than 2^31 entries");
    *order = (uint32_t *)oxi_file_take(file, count * sizeof **order);
    uint32_t *scratch = (uint32_t *)oxi_alloc(count * sizeof *scratch);
    if (*order && scratch) oxi_sort_indexes(*order, scratch, (uint32_t)count, compare, file);
    bool made = *order && scratch;
    oxi_free(scratch, count * sizeof *scratch);
    if (!made) return OX_ERR_NOMEM;
    for (size_t i = 1; i < count; i++) {
        uint32_t a = (*order)[i - 1], b = (*order)[i];
        if (compare(file, a, b) == 0 && b < *twice) *twice = b;
    }
    return OX_OK;
}

/* Builds both indexes; a name that occurs twice is a malformed file. */
static ox_status oxi_file_index(ox_file *file) {
    size_t twice;
    ox_status status = oxi_file_order(file, file->item_count, oxi_compare_items, &file->item_order, &twice);
    if (status != OX_OK) return status;
    if (twice < file->item_count) {
        const oxi_file_item *item = &file->items[twice];
        return oxi_file_fail(OX_ERR_FORMAT, file, item->part, item->at, "tensor name %s occurs twice",
                             OXI_QUOTE(item->name));
    }
    status = oxi_file_order(file, file->meta_count, oxi_compare_metas, &file->meta_order, &twice);
    if (status != OX_OK) return status;
    if (twice < file->meta_count) {
        const oxi_meta_item *meta = &file->metas[twice];
        return oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "metadata key %s occurs twice",
                             oxi_quote(meta->key, meta->key_length).text);
    }
    return OX_OK;
}

/* Place of an item by name, or -1. */
static int64_t oxi_file_find(const ox_file *file, const char *name) {
    size_t low = 0, high = file->item_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(file->items[file->item_order[middle]].name, name);
        if (order == 0) return file->item_order[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static int64_t oxi_file_find_meta(const ox_file *file, const char *key) {
    size_t low = 0, high = file->meta_count, length = strlen(key);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const oxi_meta_item *meta = &file->metas[file->meta_order[middle]];
        int order = oxi_compare_text(meta->key, meta->key_length, key, length);
        if (order == 0) return file->meta_order[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* ---- tensors ----------------------------------------------------------------------------------------- */

static bool oxi_item_shape(oxi_file_item *item, ox_dtype dtype, int ndim, const int64_t *shape,
                           size_t *bytes) {
    const ox_dtype_info *info = oxi_info(dtype);
    int64_t full = info->block_bytes,
            elements = 1; /* sizes with 1 in place of 0, so that strides fit as well */
    bool empty = false;
    if (ndim > OX_MAX_DIMS) return false;
    for (int d = 0; d < ndim; d++) {
        int64_t size = shape[d] > 0 ? shape[d] : 1;
        if (shape[d] < 0) return false;
        if (shape[d] == 0) empty = true;
        if (!oxi_mul_i64(elements, size, &elements)) return false;
        if (d == ndim - 1 && shape[d] > 0) size = shape[d] / info->block_elements;
        if (!oxi_mul_i64(full, size, &full)) return false;
    }
    if (full > INT64_MAX / 4 || (uint64_t)full > SIZE_MAX / 4) return false;
    item->dtype = (uint8_t)dtype;
    item->ndim = (uint8_t)ndim;
    item->shape = shape;
    *bytes = empty ? 0 : (size_t)full;
    return true;
}

static ox_tensor *oxi_item_over(ox_file *file, const oxi_file_item *item, ox_storage *storage) {
    ox_tensor meta;
    oxi_meta(&meta, (ox_dtype)item->dtype, item->ndim, item->shape);
    if (item->fortran) {
        int64_t stride = 1;
        for (int d = 0; d < item->ndim; d++) {
            meta.stride[d] = stride;
            stride *= item->shape[d] > 0 ? item->shape[d] : 1;
        }
    }
    ox_tensor *t = oxi_tensor_over(storage, &meta);
    if (!t || file->device == ox_cpu() || ox_device_of(t) == file->device) return t;
    ox_tensor *moved = ox_to(t, file->device);
    ox_release(t);
    return moved;
}

static void oxi_item_released(void *user, void *data) {
    (void)data;
    oxi_file_release((ox_file *)user);
}

static ox_tensor *oxi_item_tensor(ox_file *file, const oxi_file_item *item, const unsigned char *data) {
    static const unsigned char nothing[8] = {0};
    ox_dtype dtype = (ox_dtype)item->dtype;
    size_t element = (size_t)oxi_info(dtype)->block_bytes, unit = oxi_swap_unit(dtype);
    bool swaps = item->swapped && unit > 1;
    size_t align = oxi_is_block(dtype) ? 4 : element;
    ox_storage *storage;
    if (!swaps && item->bytes > 0 && (uintptr_t)data % align == 0) {
        oxi_atomic_add(&file->references, 1);
        storage = oxi_storage_borrow(ox_cpu(), (void *)(uintptr_t)data, item->bytes, oxi_item_released, file);
        if (storage) {
            storage->read_only = file->parts[item->part].borrowed;
            if (oxi_is_block(dtype) && !storage->read_only) storage->layout = &oxi_repacked_layout;
        } else {
            oxi_file_release(file);
        }
    } else {
        storage = oxi_storage_new(ox_cpu(), item->bytes);
        if (!data) data = nothing;
        if (storage && swaps)
            oxi_copy_swapped(storage->data, data, item->bytes, unit);
        else if (storage)
            memcpy(storage->data, data, item->bytes);
    }
    if (!storage) return NULL;
    ox_tensor *t = oxi_item_over(file, item, storage);
    oxi_storage_release(storage);
    return t;
}

typedef struct oxi_swapping {
    ox_storage *storage;
    unsigned char *block; /* OXI_FILE_PIECE bytes */
    size_t unit;
} oxi_swapping;

static ox_status oxi_swap_piece(void *user, size_t done, const unsigned char *data, size_t bytes) {
    const oxi_swapping *swapping = (const oxi_swapping *)user;
    ox_device *device = swapping->storage->device;
    oxi_copy_swapped(swapping->block, data, bytes, swapping->unit);
    return device->write(device, swapping->storage->data, done, swapping->block, bytes);
}

static ox_tensor *oxi_item_swapped(ox_file *file, const oxi_file_item *item) {
    oxi_swapping swapping;
    ox_tensor *t = NULL;
    swapping.unit = oxi_swap_unit((ox_dtype)item->dtype);
    swapping.storage = oxi_storage_new(file->device, item->bytes);
    swapping.block = swapping.storage ? (unsigned char *)oxi_alloc(OXI_FILE_PIECE) : NULL;
    if (swapping.block &&
        oxi_file_visit(file, item->part, item->offset, item->bytes, oxi_swap_piece, &swapping) == OX_OK)
        t = oxi_item_over(file, item, swapping.storage);
    oxi_free(swapping.block, OXI_FILE_PIECE);
    if (swapping.storage) oxi_storage_release(swapping.storage);
    return t;
}
