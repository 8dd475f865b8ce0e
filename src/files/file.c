/* The public functions over open files: which format it is, what is inside, tensors by name, metadata.
 * The table of formats is here; higher rooms add rows while the program runs.
 * ox_file is counted: tensors that lie in the mapping keep it open after ox_file_close. */

/* ---- formats ----------------------------------------------------------------------------------------- */

#define OXI_MOST_FORMATS 24
/* Asked from the last on: those known by one byte after those with a name of their own. */
static const oxi_format *oxi_formats[OXI_MOST_FORMATS] = {&oxi_format_safetensors, &oxi_format_shards,
                                                          &oxi_format_npz, &oxi_format_npy, &oxi_format_gguf};
static int64_t oxi_format_count = 5;
static oxi_lock oxi_format_lock; /* guards both */

static OXI_UNUSED bool oxi_file_register(const oxi_format *format) {
    oxi_lock_take(&oxi_format_lock);
    bool there = false, fits = oxi_format_count < OXI_MOST_FORMATS;
    for (int64_t i = 0; i < oxi_format_count; i++) there = there || oxi_formats[i] == format;
    if (!there && fits) oxi_formats[oxi_format_count++] = format;
    oxi_lock_give(&oxi_format_lock);
    return there || fits;
}

/* The last whose probe says yes; when none does, the one of the path's extension; or NULL. */
static const oxi_format *oxi_find_format(const oxi_file_part *part, const unsigned char *lead) {
    const oxi_format *found = NULL;
    oxi_lock_take(&oxi_format_lock);
    for (int64_t i = oxi_format_count - 1; i >= 0 && !found; i--)
        if (oxi_formats[i]->probe(lead, part->mapping.bytes)) found = oxi_formats[i];
    for (int64_t i = oxi_format_count - 1; i >= 0 && !found; i--)
        if (oxi_ends_with(part->path, oxi_formats[i]->extension)) found = oxi_formats[i];
    oxi_lock_give(&oxi_format_lock);
    return found;
}

/* ---- opening ----------------------------------------------------------------------------------------- */

static ox_file *oxi_file_new(ox_device *device) {
    if (!device) device = ox_cpu();
    if (device->hold && device->hold(device, true) != OX_OK) return NULL;
    ox_file *file = (ox_file *)oxi_calloc(1, sizeof *file);
    if (!file) {
        if (device->hold) (void)device->hold(device, false);
        return NULL;
    }
    file->references = 1;
    file->device = device;
    return file;
}

/* Reads the directory of a file whose part 0 is there; gives NULL and frees the file when that fails. */
static ox_file *oxi_file_read(ox_file *file) {
    enum { PROBED = 16 }; /* what a format's probe looks at */
    const oxi_file_part *part = &file->parts[0];
    const unsigned char *lead = NULL;
    size_t bytes = part->mapping.bytes;
    ox_status status = oxi_file_window(file, 0, 0, bytes < (size_t)PROBED ? bytes : (size_t)PROBED, &lead);
    if (status == OX_OK) file->format = oxi_find_format(part, lead);
    if (file->format)
        status = file->format->open(file);
    else if (status == OX_OK && bytes == 0)
        status = oxi_file_fail(OX_ERR_FORMAT, file, 0, SIZE_MAX, "the file is empty");
    else if (status == OX_OK)
        status = oxi_file_fail(OX_ERR_FORMAT, file, 0, 0,
                               "neither the first bytes nor the name are of a known format "
                               "(GGUF, safetensors, npy, npz)");
    if (status == OX_OK) status = oxi_file_index(file);
    for (size_t i = 0; i < file->item_count && status == OX_OK; i++) {
        if (!file->items[i].unsupported) break;
        if (i + 1 == file->item_count)
            status = oxi_file_fail(OX_ERR_UNSUPPORTED, file, 0, SIZE_MAX,
                                   "nothing in it can be loaded: array %s: %s",
                                   OXI_QUOTE(file->items[0].name), file->items[0].unsupported);
    }
    if (status == OX_OK) return file;
    oxi_file_free(file);
    return NULL;
}

/* What a folder holds. */
typedef struct oxi_folder {
    char name[256]; /* of an index; when there is none, of a safetensors file */
    int indexes, files;
} oxi_folder;

static void oxi_folder_visit(void *user, const char *name) {
    oxi_folder *folder = (oxi_folder *)user;
    bool index = oxi_ends_with(name, ".safetensors.index.json"), file = oxi_ends_with(name, ".safetensors");
    if ((!index && !file) || strlen(name) >= sizeof folder->name) return;
    if (index || folder->indexes == 0) strcpy(folder->name, name);
    folder->indexes += index;
    folder->files += file;
}

/* Path of what to open in a folder: by its usual name, else the only index, else the only safetensors
 * file. */
static ox_status oxi_folder_choose(const char *path, char *out, size_t room) {
    static const char *const usual[2] = {"model.safetensors.index.json", "model.safetensors"};
    const char *separator = oxi_folder_length(path) == strlen(path) ? "" : "/";
    for (int i = 0; i < 2; i++) {
        snprintf(out, room, "%s%s%s", path, separator, usual[i]);
        if (oxi_is_file(out)) return OX_OK;
    }
    oxi_folder folder;
    memset(&folder, 0, sizeof folder);
    ox_status status = oxi_list_folder(path, oxi_folder_visit, &folder);
    if (status != OX_OK) return status;
    snprintf(out, room, "%s%s%s", path, separator, folder.name);
    if (folder.indexes == 1 || (folder.indexes == 0 && folder.files == 1)) return OX_OK;
    return oxi_fail(
        OX_ERR_NOT_FOUND,
        "%s: a folder with %d safetensors files and %d indexes of shards: nothing, or no one thing, "
        "to open",
        oxi_path_text(path), folder.files, folder.indexes);
}

static ox_status oxi_map_folder(ox_file *file, const char *path) {
    size_t bytes = strlen(path) + sizeof(oxi_folder);
    char *whole = (char *)oxi_alloc(bytes);
    if (!whole) return OX_ERR_NOMEM;
    ox_status status = oxi_folder_choose(path, whole, bytes);
    if (status == OX_OK) status = oxi_file_map_part(file, whole);
    oxi_free(whole, bytes);
    return status;
}

static ox_file *oxi_open_path(const char *name, const char *path, ox_device *device, bool copies) {
    if (!path || !*path) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no path", name);
        return NULL;
    }
    ox_file *file = oxi_file_new(device);
    if (!file) return NULL;
    file->copies = copies;
    ox_status status = oxi_is_folder(path) ? oxi_map_folder(file, path) : oxi_file_map_part(file, path);
    if (status == OX_OK) return oxi_file_read(file);
    oxi_file_free(file);
    return NULL;
}

OX_API ox_file *ox_file_open(const char *path, ox_device *device) {
    return oxi_open_path("file_open", path, device, false);
}

OX_API ox_file *ox_file_open_copy(const char *path, ox_device *device) {
    return oxi_open_path("file_open_copy", path, device, true);
}

static OXI_UNUSED ox_file *oxi_open_memory(const char *label, const void *data, size_t bytes,
                                           ox_device *device) {
    static const unsigned char nothing = 0;
    ox_file *file = oxi_file_new(device);
    if (!file) return NULL;
    oxi_file_part *part = oxi_file_add_part(file);
    char *path = (char *)oxi_file_take(file, strlen(label) + 1);
    if (!part || !path) {
        file->part_count = 0;
        oxi_file_free(file);
        return NULL;
    }
    strcpy(path, label);
    part->path = path;
    part->borrowed = true;
    part->mapping.data = data ? (const unsigned char *)data : &nothing;
    part->mapping.bytes = data ? bytes : 0;
    return oxi_file_read(file);
}

OX_API void ox_file_close(ox_file *file) {
    if (file) oxi_file_release(file);
}

/* ---- what is inside ---------------------------------------------------------------------------------- */

OX_API const char *ox_file_format(const ox_file *file) { return file ? file->format->name : "none"; }
OX_API int64_t ox_file_count(const ox_file *file) { return file ? (int64_t)file->item_count : 0; }

OX_API const char *ox_file_name(const ox_file *file, int64_t index) {
    return file && index >= 0 && index < (int64_t)file->item_count ? file->items[index].name : NULL;
}

OX_API bool ox_file_has(const ox_file *file, const char *name) {
    return file && name && oxi_file_find(file, name) >= 0;
}

OX_API ox_status ox_file_get_entry(const ox_file *file, int64_t index, ox_file_entry *out) {
    if (!file || !out) return oxi_fail(OX_ERR_ARG, "file_get_entry: no file or nowhere to write");
    memset(out, 0, sizeof *out);
    if (index < 0 || index >= (int64_t)file->item_count)
        return oxi_fail(OX_ERR_INDEX, "%s: entry %lld of %lld", oxi_path_text(file->parts[0].path),
                        (long long)index, (long long)file->item_count);
    const oxi_file_item *item = &file->items[index];
    out->name = item->name;
    out->dtype = (ox_dtype)item->dtype;
    out->ndim = item->ndim;
    for (int d = 0; d < item->ndim; d++) out->shape[d] = item->shape[d];
    out->bytes = (int64_t)item->bytes;
    return OX_OK;
}

/* A region of the file, for a device that reads it itself: never in memory as a whole. */
static ox_tensor *oxi_load_region(ox_file *file, const oxi_file_item *item) {
    const oxi_file_part *part = &file->parts[item->part];
    ox_device *device = file->device;
    ox_storage *region = NULL;
    if (item->swapped && oxi_swap_unit((ox_dtype)item->dtype) > 1) return oxi_item_swapped(file, item);
    if (device->region(device, part->path, &part->mapping.id, item->offset, item->bytes, &region) != OX_OK)
        return NULL;
    ox_tensor *t = oxi_item_over(file, item, region);
    oxi_storage_release(region);
    return t;
}

static ox_tensor *oxi_load_item(ox_file *file, const oxi_file_item *item) {
    const oxi_file_part *part = &file->parts[item->part];
    if (item->unsupported) {
        (void)oxi_file_fail(OX_ERR_UNSUPPORTED, file, item->part, item->at, "tensor %s: %s",
                            OXI_QUOTE(item->name), item->unsupported);
        return NULL;
    }
    if (item->packed) return file->format->load(file, item);
    if (file->format->check && file->format->check(file, item) != OX_OK) return NULL;
    if (file->device->region && !part->borrowed) return oxi_load_region(file, item);
    return oxi_item_tensor(file, item, part->mapping.data + item->offset);
}

OX_API ox_tensor *ox_file_tensor_at(ox_file *file, int64_t index) {
    if (!file) return OXI_FAIL_NULL(OX_ERR_ARG, "file_tensor_at: no file");
    if (index < 0 || index >= (int64_t)file->item_count)
        return OXI_FAIL_NULL(OX_ERR_INDEX, "%s: tensor %lld of %lld", oxi_path_text(file->parts[0].path),
                             (long long)index, (long long)file->item_count);
    return oxi_load_item(file, &file->items[index]);
}

OX_API ox_tensor *ox_file_tensor(ox_file *file, const char *name) {
    if (!file || !name) return OXI_FAIL_NULL(OX_ERR_ARG, "file_tensor: no file or no name");
    int64_t index = oxi_file_find(file, name);
    if (index < 0)
        return OXI_FAIL_NULL(OX_ERR_NOT_FOUND, "%s: no tensor %s", oxi_path_text(file->parts[0].path),
                             OXI_QUOTE(name));
    return oxi_load_item(file, &file->items[index]);
}

OX_API ox_tensor *ox_load_file(const char *path) {
    ox_tensor *t = NULL;
    bool speaks = !path && oxi_speak("load_file");
    ox_file *file = ox_file_open(path, NULL);
    oxi_speak_end(speaks);
    if (!file) return NULL;
    if (file->item_count == 1)
        t = oxi_load_item(file, &file->items[0]);
    else
        (void)oxi_fail(OX_ERR_ARG, "%s: holds %lld tensors; ox_load_file is for files of one",
                       oxi_path_text(path), (long long)file->item_count);
    ox_file_close(file);
    return t;
}

/* ---- metadata ---------------------------------------------------------------------------------------- */

OX_API int64_t ox_file_meta_count(const ox_file *file) { return file ? (int64_t)file->meta_count : 0; }

static void oxi_meta_set_array(ox_file_meta *meta, const oxi_meta_array *array) {
    meta->type = OX_FILE_META_ARRAY;
    meta->element = oxi_gguf_types[array->type].type;
    meta->count = array->count;
    meta->array = array;
    meta->array_type = array->type;
}

OX_API ox_file_meta ox_file_meta_at(const ox_file *file, int64_t index) {
    ox_file_meta out;
    memset(&out, 0, sizeof out);
    if (!file || index < 0 || index >= (int64_t)file->meta_count) return out;
    const oxi_meta_item *item = &file->metas[index];
    out.key.data = item->key;
    out.key.length = item->key_length;
    out.type = (ox_file_meta_type)item->type;
    if (out.type == OX_FILE_META_STRING) {
        out.text.data = (const char *)item->data;
        out.text.length = item->value.i;
    } else if (out.type == OX_FILE_META_ARRAY) {
        oxi_meta_set_array(&out, (const oxi_meta_array *)item->data);
    } else if (out.type == OX_FILE_META_FLOAT) {
        out.f = item->value.f;
    } else {
        out.i = item->value.i;
        out.f = out.type == OX_FILE_META_UINT ? (double)(uint64_t)item->value.i : (double)item->value.i;
    }
    return out;
}

OX_API ox_file_meta ox_file_meta_find(const ox_file *file, const char *key) {
    return ox_file_meta_at(file, file && key ? oxi_file_find_meta(file, key) : -1);
}

OX_API ox_file_meta ox_file_meta_element(const ox_file *file, const ox_file_meta *array, int64_t index) {
    ox_file_meta out;
    memset(&out, 0, sizeof out);
    if (!file || !array || array->type != OX_FILE_META_ARRAY || !array->array || index < 0 ||
        index >= array->count)
        return out;
    const oxi_meta_array *from = (const oxi_meta_array *)array->array;
    out.key = array->key;
    if (from->inner) {
        oxi_meta_set_array(&out, &from->inner[index]);
    } else if (from->texts) {
        out.type = OX_FILE_META_STRING;
        out.text = from->texts[index];
    } else {
        oxi_gguf_number(from->data + index * oxi_gguf_types[from->type].bytes, from->type, &out);
    }
    return out;
}

OX_API int64_t ox_file_meta_int(const ox_file *file, const char *key, int64_t otherwise) {
    ox_file_meta meta = ox_file_meta_find(file, key);
    bool fits = meta.type == OX_FILE_META_INT || meta.type == OX_FILE_META_BOOL ||
                (meta.type == OX_FILE_META_UINT && meta.i >= 0);
    return fits ? meta.i : otherwise;
}

OX_API double ox_file_meta_float(const ox_file *file, const char *key, double otherwise) {
    ox_file_meta meta = ox_file_meta_find(file, key);
    bool fits =
        meta.type == OX_FILE_META_FLOAT || meta.type == OX_FILE_META_INT || meta.type == OX_FILE_META_UINT;
    return fits ? meta.f : otherwise;
}
