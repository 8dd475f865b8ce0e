/* Writing GGUF, version 3. The directory is written when the writer opens, for it holds sizes alone; then the
 * tensors, in its order, one at a time: a file may hold more than memory does. Read back by files/gguf.c. */

#define OXI_GGUF_NAME_READ 63 /* bytes of a tensor's name that ggml reads */

struct ox_gguf_writer {
    oxi_output output;
    ox_file_entry *entries; /* [count], without names */
    int64_t count, next;
    uint64_t align;
};

/* ---- fields -------------------------------------------------------------------------------------------- */

static void oxi_gguf_put(oxi_output *out, uint64_t value, int bytes) {
    unsigned char field[8];
    for (int i = 0; i < 8; i++) field[i] = (unsigned char)(value >> (8 * i));
    oxi_output_write(out, field, (size_t)bytes);
}

static void oxi_gguf_put_text(oxi_output *out, const char *text, int64_t length) {
    oxi_gguf_put(out, (uint64_t)length, 8);
    oxi_output_write(out, text, (size_t)length);
}

static int64_t oxi_gguf_text_length(const ox_gguf_pair *pair) {
    return pair->count < 0 ? (int64_t)strlen((const char *)pair->value) : pair->count;
}

/* Numbers of the host. */
static void oxi_gguf_put_numbers(oxi_output *out, int type, const void *numbers, int64_t count) {
    size_t bytes = (size_t)oxi_gguf_types[type].bytes;
    if (!oxi_big_endian_host()) {
        oxi_output_write(out, numbers, bytes * (size_t)count);
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        unsigned char number[8];
        oxi_copy_swapped(number, (const char *)numbers + (size_t)i * bytes, bytes, bytes);
        oxi_output_write(out, number, bytes);
    }
}

static void oxi_gguf_put_value(oxi_output *out, const ox_gguf_pair *pair) {
    if (pair->type == OX_GGUF_STRING) {
        oxi_gguf_put_text(out, (const char *)pair->value, oxi_gguf_text_length(pair));
    } else if (pair->type == OX_GGUF_ARRAY) {
        oxi_gguf_put(out, (uint64_t)pair->element, 4);
        oxi_gguf_put(out, (uint64_t)pair->count, 8);
        if (pair->element == OX_GGUF_STRING) {
            const ox_string *texts = (const ox_string *)pair->value;
            for (int64_t i = 0; i < pair->count; i++) oxi_gguf_put_text(out, texts[i].data, texts[i].length);
        } else if (pair->element == OX_GGUF_ARRAY) {
            const ox_gguf_pair *inner = (const ox_gguf_pair *)pair->value;
            for (int64_t i = 0; i < pair->count; i++) oxi_gguf_put_value(out, &inner[i]);
        } else {
            oxi_gguf_put_numbers(out, (int)pair->element, pair->value, pair->count);
        }
    } else {
        oxi_gguf_put_numbers(out, (int)pair->type, pair->value, 1);
    }
}

/* ---- metadata of a file that is open ------------------------------------------------------------------- */

static void oxi_gguf_copy_array(oxi_output *out, const oxi_meta_array *array) {
    oxi_gguf_put(out, (uint64_t)array->type, 4);
    oxi_gguf_put(out, (uint64_t)array->count, 8);
    for (int64_t i = 0; array->texts && i < array->count; i++)
        oxi_gguf_put_text(out, array->texts[i].data, array->texts[i].length);
    for (int64_t i = 0; array->inner && i < array->count; i++) oxi_gguf_copy_array(out, &array->inner[i]);
    if (array->type != OXI_GGUF_STRING && array->type != OXI_GGUF_ARRAY)
        oxi_output_write(out, array->data, (size_t)array->count * (size_t)oxi_gguf_types[array->type].bytes);
}

static void oxi_gguf_copy_pair(oxi_output *out, const oxi_meta_item *item) {
    int type = item->type == OX_FILE_META_STRING  ? OXI_GGUF_STRING /* safetensors' too */
               : item->type == OX_FILE_META_ARRAY ? OXI_GGUF_ARRAY
                                                  : (int)item->stored;
    oxi_gguf_put_text(out, item->key, item->key_length);
    oxi_gguf_put(out, (uint64_t)type, 4);
    if (type == OXI_GGUF_STRING) {
        oxi_gguf_put_text(out, (const char *)item->data, item->value.i);
    } else if (type == OXI_GGUF_ARRAY) {
        oxi_gguf_copy_array(out, (const oxi_meta_array *)item->data);
    } else if (item->type == OX_FILE_META_FLOAT && oxi_gguf_types[type].bytes == 4) {
        float narrow = (float)item->value.f;
        oxi_gguf_put_numbers(out, type, &narrow, 1);
    } else {
        oxi_gguf_put(out, (uint64_t)item->value.i, oxi_gguf_types[type].bytes); /* a double's bits, too */
    }
}

static bool oxi_gguf_gives(const ox_gguf_desc *desc, const oxi_meta_item *item) {
    for (int64_t i = 0; i < desc->pair_count; i++)
        if (strlen(desc->pairs[i].key) == item->key_length &&
            memcmp(desc->pairs[i].key, item->key, item->key_length) == 0)
            return true;
    return false;
}

/* ---- checks -------------------------------------------------------------------------------------------- */

static bool oxi_gguf_is_value(const ox_gguf_pair *pair, int depth) {
    if ((unsigned)pair->type >= OXI_GGUF_TYPES) return false;
    if (pair->type == OX_GGUF_STRING) return pair->value || pair->count == 0;
    if (pair->type != OX_GGUF_ARRAY) return pair->value != NULL;
    if ((unsigned)pair->element >= OXI_GGUF_TYPES || pair->count < 0 || (pair->count > 0 && !pair->value))
        return false;
    for (int64_t i = 0; i < pair->count && pair->element == OX_GGUF_STRING; i++) {
        const ox_string *text = (const ox_string *)pair->value + i;
        if (text->length < 0 || (text->length > 0 && !text->data)) return false;
    }
    for (int64_t i = 0; i < pair->count && pair->element == OX_GGUF_ARRAY; i++) {
        const ox_gguf_pair *inner = (const ox_gguf_pair *)pair->value + i;
        if (depth + 1 >= OXI_GGUF_NEST_MOST || inner->type != OX_GGUF_ARRAY ||
            !oxi_gguf_is_value(inner, depth + 1))
            return false;
    }
    return true;
}

/* The pairs; *align receives what they or `like` say of it. */
static ox_status oxi_gguf_check_pairs(const ox_gguf_desc *desc, uint64_t *align) {
    const int64_t count = desc->pair_count;
    if (count < 0 || count > INT32_MAX || (count > 0 && !desc->pairs))
        return oxi_fail(OX_ERR_ARG, "gguf_writer_open: no pairs");
    size_t bytes = (size_t)count * sizeof(const char *);
    const char **keys = (const char **)oxi_alloc(bytes);
    if (!keys) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < count; i++) keys[i] = desc->pairs[i].key;
    ox_status status = oxi_check_names("gguf_writer_open", keys, count);
    oxi_free(keys, bytes);
    int64_t given = ox_file_meta_int(desc->like, "general.alignment", 32);
    for (int64_t i = 0; i < count && status == OX_OK; i++) {
        const ox_gguf_pair *pair = &desc->pairs[i];
        if (!oxi_utf8_is_valid(pair->key, strlen(pair->key)) || !oxi_gguf_is_value(pair, 0))
            status = oxi_fail(OX_ERR_ARG, "gguf_writer_open: key %s: not UTF-8, or its value not of its type",
                              OXI_QUOTE(pair->key));
        else if (strcmp(pair->key, "general.alignment") == 0)
            given = pair->type == OX_GGUF_U32 ? (int64_t)*(const uint32_t *)pair->value : 0;
    }
    if (status == OX_OK && (given < 1 || given > OXI_GGUF_ALIGN_MOST || (given & (given - 1))))
        status = oxi_fail(OX_ERR_ARG, "gguf_writer_open: general.alignment must be a u32, a power of 2 of at "
                                      "most 2^20");
    *align = (uint64_t)given;
    return status;
}

static ox_status oxi_gguf_check_entries(const ox_gguf_desc *desc, ox_file_entry *entries) {
    const char **names = (const char **)oxi_alloc((size_t)desc->count * sizeof *names);
    if (!names) return OX_ERR_NOMEM;
    for (int64_t i = 0; i < desc->count; i++) names[i] = desc->entries[i].name;
    ox_status status = oxi_check_names("gguf_writer_open", names, desc->count);
    for (int64_t i = 0; i < desc->count && status == OX_OK; i++) {
        ox_file_entry *entry = &entries[i];
        size_t bytes = 0;
        *entry = desc->entries[i];
        entry->name = NULL;
        status = oxi_check_shape("gguf_writer_open", entry->dtype, entry->ndim, entry->shape, &bytes);
        if (status != OX_OK) break;
        entry->bytes = (int64_t)bytes;
        if (strlen(names[i]) > OXI_GGUF_NAME_READ || !oxi_utf8_is_valid(names[i], strlen(names[i])))
            status = oxi_fail(OX_ERR_ARG, "gguf_writer_open: name %s is not UTF-8, or has more than %d bytes",
                              OXI_QUOTE(names[i]), OXI_GGUF_NAME_READ);
        else if (oxi_info(entry->dtype)->gguf_id < 0)
            status = oxi_fail(OX_ERR_UNSUPPORTED, "gguf_writer_open: tensor %s: the format has no %s",
                              OXI_QUOTE(names[i]), ox_dtype_name(entry->dtype));
        else if (entry->ndim > OXI_GGUF_DIMS_MOST)
            status = oxi_fail(OX_ERR_SHAPE, "gguf_writer_open: tensor %s has %d dims (at most %d)",
                              OXI_QUOTE(names[i]), entry->ndim, OXI_GGUF_DIMS_MOST);
    }
    oxi_free(names, (size_t)desc->count * sizeof *names);
    return status;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static uint64_t oxi_gguf_padding(const ox_gguf_writer *w, uint64_t bytes) {
    return (w->align - bytes % w->align) % w->align;
}

/* Dims, fastest first; a 0-dim tensor has one of size 1. */
static void oxi_gguf_put_entry(ox_gguf_writer *w, const char *name, const ox_file_entry *entry,
                               uint64_t *offset) {
    oxi_output *out = &w->output;
    oxi_gguf_put_text(out, name, (int64_t)strlen(name));
    oxi_gguf_put(out, entry->ndim ? (uint64_t)entry->ndim : 1, 4);
    for (int d = entry->ndim - 1; d >= 0; d--) oxi_gguf_put(out, (uint64_t)entry->shape[d], 8);
    if (entry->ndim == 0) oxi_gguf_put(out, 1, 8);
    oxi_gguf_put(out, (uint64_t)oxi_info(entry->dtype)->gguf_id, 4);
    oxi_gguf_put(out, *offset, 8);
    *offset += (uint64_t)entry->bytes + oxi_gguf_padding(w, (uint64_t)entry->bytes);
}

static void oxi_gguf_put_directory(ox_gguf_writer *w, const ox_gguf_desc *desc) {
    oxi_output *out = &w->output;
    uint64_t offset = 0, pairs = (uint64_t)desc->pair_count;
    size_t old = desc->like ? desc->like->meta_count : 0;
    for (size_t i = 0; i < old; i++) pairs += !oxi_gguf_gives(desc, &desc->like->metas[i]);
    oxi_output_write(out, "GGUF", 4);
    oxi_gguf_put(out, 3, 4);
    oxi_gguf_put(out, (uint64_t)w->count, 8);
    oxi_gguf_put(out, pairs, 8);
    for (size_t i = 0; i < old; i++)
        if (!oxi_gguf_gives(desc, &desc->like->metas[i])) oxi_gguf_copy_pair(out, &desc->like->metas[i]);
    for (int64_t i = 0; i < desc->pair_count; i++) {
        oxi_gguf_put_text(out, desc->pairs[i].key, (int64_t)strlen(desc->pairs[i].key));
        oxi_gguf_put(out, (uint64_t)desc->pairs[i].type, 4);
        oxi_gguf_put_value(out, &desc->pairs[i]);
    }
    for (int64_t i = 0; i < w->count; i++)
        oxi_gguf_put_entry(w, desc->entries[i].name, &w->entries[i], &offset);
    oxi_output_fill(out, 0, (size_t)oxi_gguf_padding(w, out->written));
}

static void oxi_gguf_writer_free(ox_gguf_writer *w) {
    oxi_output_drop(&w->output);
    oxi_free(w->entries, (size_t)w->count * sizeof *w->entries);
    oxi_free(w, sizeof *w);
}

OX_API ox_gguf_writer *ox_gguf_writer_open(const char *path, const ox_gguf_desc *desc) {
    if (!desc || desc->count < 0 || desc->count > INT32_MAX || (desc->count > 0 && !desc->entries)) {
        (void)oxi_fail(OX_ERR_ARG, "gguf_writer_open: no tensors");
        return NULL;
    }
    ox_gguf_writer *w = (ox_gguf_writer *)oxi_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->count = desc->count;
    w->entries = (ox_file_entry *)oxi_alloc((size_t)w->count * sizeof *w->entries);
    ox_status status = w->entries ? OX_OK : OX_ERR_NOMEM;
    if (status == OX_OK) status = oxi_gguf_check_pairs(desc, &w->align);
    if (status == OX_OK) status = oxi_gguf_check_entries(desc, w->entries);
    if (status == OX_OK) status = oxi_output_open(&w->output, "gguf_writer_open", path);
    if (status == OX_OK) {
        oxi_gguf_put_directory(w, desc);
        status = w->output.status;
    }
    if (status == OX_OK) return w;
    oxi_gguf_writer_free(w);
    return NULL;
}

OX_API ox_status ox_gguf_writer_put(ox_gguf_writer *w, ox_tensor *t) {
    if (!w || !t) return oxi_fail(OX_ERR_ARG, "gguf_writer_put: no %s", w ? "tensor" : "writer");
    if (w->output.status != OX_OK) return w->output.status;
    if (w->next == w->count)
        return oxi_fail(OX_ERR_ARG, "gguf_writer_put: all %lld tensors are written", (long long)w->count);
    const ox_file_entry *entry = &w->entries[w->next];
    bool same = t->ndim == entry->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = t->shape[d] == entry->shape[d];
    if (!same || t->dtype != entry->dtype)
        return oxi_fail(same ? OX_ERR_DTYPE : OX_ERR_SHAPE,
                        "gguf_writer_put: tensor %lld is %s%s, the directory has another dtype or shape",
                        (long long)w->next, ox_dtype_name(t->dtype), oxi_shape_text(t->ndim, t->shape));
    ox_tensor *whole = oxi_writable("gguf_writer_put", t);
    if (!whole) return ox_error();
    oxi_output_tensor(&w->output, whole);
    oxi_output_fill(&w->output, 0, (size_t)oxi_gguf_padding(w, (uint64_t)entry->bytes));
    ox_release(whole);
    w->next++;
    return w->output.status;
}

OX_API ox_status ox_gguf_writer_close(ox_gguf_writer *w) {
    if (!w) return OX_OK;
    ox_status status = w->output.status;
    if (status == OX_OK && w->next < w->count)
        status = oxi_fail(OX_ERR_ARG, "gguf_writer_close: %lld of %lld tensors were put; the file is dropped",
                          (long long)w->next, (long long)w->count);
    if (status == OX_OK) status = oxi_output_finish(&w->output);
    if (status == OX_OK) status = oxi_output_rename(&w->output);
    oxi_gguf_writer_free(w);
    return status;
}
