/* Writing safetensors: a JSON header whose lengths are known before the numbers are, then the numbers;
 * several files of bounded size with an index when asked for. The bytes are those of the reference
 * writer. Called by ox_save_safetensors and by rooms above that write the numbers themselves. */

/* A text that grows; the first failure sticks. */
typedef struct oxi_json_out {
    char *data;
    size_t used, room;
    bool failed;
} oxi_json_out;

static void oxi_json_put_bytes(oxi_json_out *words, const char *text, size_t length) {
    void *grown = words->failed ? NULL : oxi_grow(words->data, &words->room, words->used + length, 1, false);
    if (!grown) {
        words->failed = true;
        return;
    }
    words->data = (char *)grown;
    memcpy(words->data + words->used, text, length);
    words->used += length;
}

static void oxi_json_put(oxi_json_out *words, const char *text) {
    oxi_json_put_bytes(words, text, strlen(text));
}

static void oxi_json_put_number(oxi_json_out *words, int64_t value) {
    char digits[24];
    snprintf(digits, sizeof digits, "%lld", (long long)value);
    oxi_json_put(words, digits);
}

/* A JSON string. */
static void oxi_json_put_quote(oxi_json_out *words, const char *text) {
    oxi_json_put(words, "\"");
    for (; *text; text++) {
        static const char plain[] = "\b\t\n\f\r\"\\", letters[] = "btnfr\"\\";
        const char *special = strchr(plain, *text);
        char escape[8];
        if (special)
            snprintf(escape, sizeof escape, "\\%c", letters[special - plain]);
        else if ((unsigned char)*text < 0x20)
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)*text);
        if (special || (unsigned char)*text < 0x20)
            oxi_json_put(words, escape);
        else
            oxi_json_put_bytes(words, text, 1);
    }
    oxi_json_put(words, "\"");
}

/* What is to be written. */
typedef struct oxi_save {
    const char *path;
    const char *const *names;
    ox_tensor *const *tensors;
    const char *const *metadata;
    int64_t count, pairs;
    uint32_t *shard; /* of each tensor */
    uint32_t *order; /* by shard, then as they lie in the file */
    uint32_t shards;
} oxi_save;

static int oxi_safetensors_rank(ox_dtype dtype) {
    for (int i = 0; i < OXI_SAFETENSORS_DTYPES; i++)
        if (oxi_safetensors_dtypes[i].dtype == dtype) return i;
    return -1;
}

static int oxi_compare_saved(const void *user, uint32_t a, uint32_t b) {
    const oxi_save *save = (const oxi_save *)user;
    if (save->shard[a] != save->shard[b]) return save->shard[a] < save->shard[b] ? -1 : 1;
    int rank_a = oxi_safetensors_rank(save->tensors[a]->dtype),
        rank_b = oxi_safetensors_rank(save->tensors[b]->dtype);
    return rank_a != rank_b ? rank_b - rank_a : strcmp(save->names[a], save->names[b]);
}

static ox_status oxi_save_check(const oxi_save *save) {
    ox_status status = oxi_check_names("save_safetensors", save->names, save->count);
    if (status != OX_OK) return status;
    if (save->count > 0 && !save->tensors) return oxi_fail(OX_ERR_ARG, "save_safetensors: no tensors");
    if (save->pairs < 0 || (save->pairs > 0 && !save->metadata))
        return oxi_fail(OX_ERR_ARG, "save_safetensors: no metadata");
    for (int64_t i = 0; i < save->count; i++) {
        const char *name = save->names[i];
        if (!save->tensors[i])
            return oxi_fail(OX_ERR_ARG, "save_safetensors: tensor %s is NULL", OXI_QUOTE(name));
        if (!oxi_utf8_is_valid(name, strlen(name)) || strcmp(name, "__metadata__") == 0)
            return oxi_fail(OX_ERR_ARG, "save_safetensors: %s cannot be a name", OXI_QUOTE(name));
        if (!oxi_info(save->tensors[i]->dtype)->safetensors[0])
            return oxi_fail(OX_ERR_UNSUPPORTED, "save_safetensors: tensor %s: the format has no %s",
                            OXI_QUOTE(name), ox_dtype_name(save->tensors[i]->dtype));
    }
    for (int64_t i = 0; i < 2 * save->pairs; i++)
        if (!save->metadata[i] || !oxi_utf8_is_valid(save->metadata[i], strlen(save->metadata[i])))
            return oxi_fail(OX_ERR_ARG, "save_safetensors: metadata %lld is NULL or not UTF-8", (long long)i);
    return OX_OK;
}

/* The header of one shard, which holds order[first, end), padded to a multiple of `align` bytes, its length
 * in front. */
static void oxi_save_header(const oxi_save *save, int64_t first, int64_t end, size_t align,
                            oxi_json_out *words) {
    int64_t offset = 0;
    oxi_json_put_bytes(words, "\0\0\0\0\0\0\0\0{", 9);
    if (save->pairs > 0) {
        oxi_json_put(words, "\"__metadata__\":{");
        for (int64_t i = 0; i < save->pairs; i++) {
            if (i) oxi_json_put(words, ",");
            oxi_json_put_quote(words, save->metadata[2 * i]);
            oxi_json_put(words, ":");
            oxi_json_put_quote(words, save->metadata[2 * i + 1]);
        }
        oxi_json_put(words, first < end ? "}," : "}");
    }
    for (int64_t i = first; i < end; i++) {
        const ox_tensor *t = save->tensors[save->order[i]];
        if (i > first) oxi_json_put(words, ",");
        oxi_json_put_quote(words, save->names[save->order[i]]);
        oxi_json_put(words, ":{\"dtype\":\"");
        oxi_json_put(words, oxi_info(t->dtype)->safetensors);
        oxi_json_put(words, "\",\"shape\":[");
        for (int d = 0; d < t->ndim; d++) {
            if (d) oxi_json_put(words, ",");
            oxi_json_put_number(words, t->shape[d]);
        }
        oxi_json_put(words, "],\"data_offsets\":[");
        oxi_json_put_number(words, offset);
        oxi_json_put(words, ",");
        oxi_json_put_number(words, offset += (int64_t)ox_nbytes(t));
        oxi_json_put(words, "]}");
    }
    oxi_json_put(words, "}");
    while (!words->failed && words->used % align) oxi_json_put(words, " ");
    for (int i = 0; i < 8 && !words->failed; i++)
        words->data[i] = (char)((uint64_t)(words->used - 8) >> (8 * i));
}

/* The header of a file of one tensor, padded to a multiple of `align` bytes; *bytes of it, of `room` to be
 * freed. NULL: an error. */
static OXI_UNUSED char *oxi_save_header_of(const char *name, ox_tensor *t, size_t align, size_t *bytes,
                                           size_t *room) {
    uint32_t order = 0;
    oxi_json_out words;
    oxi_save save;
    memset(&words, 0, sizeof words);
    memset(&save, 0, sizeof save);
    save.names = &name;
    save.tensors = &t;
    save.count = 1;
    save.order = &order;
    if (oxi_save_check(&save) != OX_OK) return NULL;
    oxi_save_header(&save, 0, 1, align, &words);
    *bytes = words.used;
    *room = words.room;
    if (!words.failed) return words.data;
    oxi_free(words.data, words.room);
    return NULL;
}

static ox_status oxi_save_shard(const oxi_save *save, int64_t first, int64_t end, const char *path,
                                oxi_output *output) {
    oxi_json_out words;
    memset(&words, 0, sizeof words);
    oxi_save_header(save, first, end, 8, &words);
    ox_status status = words.failed ? OX_ERR_NOMEM : OX_OK;
    if (status == OX_OK && words.used - 8 > OXI_SAFETENSORS_HEADER_MOST)
        status = oxi_fail(OX_ERR_ARG, "save_safetensors: header of more than %u bytes",
                          OXI_SAFETENSORS_HEADER_MOST);
    if (status == OX_OK) status = oxi_output_open(output, "save_safetensors", path);
    if (status == OX_OK) oxi_output_write(output, words.data, words.used);
    oxi_free(words.data, words.room);
    for (int64_t i = first; i < end && status == OX_OK; i++) {
        ox_tensor *whole = oxi_writable("save_safetensors", save->tensors[save->order[i]]);
        if (!whole)
            status = ox_error();
        else
            oxi_output_tensor(output, whole);
        ox_release(whole);
    }
    return status == OX_OK ? oxi_output_finish(output) : status;
}

/* Path of a shard, or of the index (shard == shards), into out. */
static void oxi_save_path(const oxi_save *save, uint32_t shard, char *out, size_t room) {
    int stem = (int)strlen(save->path) - (oxi_ends_with(save->path, ".safetensors") ? 12 : 0);
    if (shard == save->shards)
        snprintf(out, room, "%s.index.json", save->path);
    else
        snprintf(out, room, "%.*s-%05u-of-%05u.safetensors", stem, save->path, (unsigned)shard + 1,
                 (unsigned)save->shards);
}

/* The index file: as transformers writes it, names in order. */
static ox_status oxi_save_index(const oxi_save *save, char *path, size_t room, oxi_output *output) {
    oxi_json_out words;
    int64_t total = 0;
    memset(&words, 0, sizeof words);
    for (int64_t i = 0; i < save->count; i++) total += (int64_t)ox_nbytes(save->tensors[i]);
    oxi_json_put(&words, "{\n  \"metadata\": {\n    \"total_size\": ");
    oxi_json_put_number(&words, total);
    oxi_json_put(&words, "\n  },\n  \"weight_map\": {");
    for (int64_t i = 0; i < save->count; i++) {
        oxi_json_put(&words, i ? ",\n    " : "\n    ");
        oxi_json_put_quote(&words, save->names[save->order[i]]);
        oxi_json_put(&words, ": ");
        oxi_save_path(save, save->shard[save->order[i]], path, room);
        oxi_json_put_quote(&words, path + oxi_folder_length(path));
    }
    oxi_json_put(&words, "\n  }\n}\n");
    oxi_save_path(save, save->shards, path, room);
    ox_status status = words.failed ? OX_ERR_NOMEM : oxi_output_open(output, "save_safetensors", path);
    if (status == OX_OK) {
        oxi_output_write(output, words.data, words.used);
        status = oxi_output_finish(output);
    }
    oxi_free(words.data, words.room);
    return status;
}

/* Writes every file under a temporary name, then renames them, the index last. */
static ox_status oxi_save_all(const oxi_save *save, bool sharded) {
    size_t files = (size_t)save->shards + (sharded ? 1 : 0), room = strlen(save->path) + 48;
    oxi_output *outputs = (oxi_output *)oxi_calloc(files, sizeof *outputs);
    char *path = (char *)oxi_alloc(room);
    ox_status status = outputs && path ? OX_OK : OX_ERR_NOMEM;
    int64_t first = 0;
    for (uint32_t k = 0; k < save->shards && status == OX_OK; k++) {
        int64_t end = first;
        while (end < save->count && save->shard[save->order[end]] == k) end++;
        if (sharded)
            oxi_save_path(save, k, path, room);
        else
            strcpy(path, save->path);
        status = oxi_save_shard(save, first, end, path, &outputs[k]);
        first = end;
    }
    if (status == OX_OK && sharded) status = oxi_save_index(save, path, room, &outputs[save->shards]);
    for (size_t k = 0; outputs && k < files; k++) {
        if (status == OX_OK)
            status = oxi_output_rename(&outputs[k]);
        else
            oxi_output_drop(&outputs[k]);
    }
    oxi_free(path, room);
    oxi_free(outputs, files * sizeof *outputs);
    return status;
}

OX_API ox_status ox_save_safetensors(const char *path, const char *const *names, ox_tensor *const *tensors,
                                     int64_t count, const char *const *metadata, int64_t pairs,
                                     int64_t max_shard_bytes) {
    oxi_save save;
    memset(&save, 0, sizeof save);
    save.path = path;
    save.names = names;
    save.tensors = tensors;
    save.metadata = metadata;
    save.count = count;
    save.pairs = pairs;
    if (!path || !*path) return oxi_fail(OX_ERR_ARG, "save_safetensors: no path");
    if (max_shard_bytes < 0)
        return oxi_fail(OX_ERR_ARG, "save_safetensors: shards of %lld bytes", (long long)max_shard_bytes);
    ox_status status = oxi_save_check(&save);
    if (status != OX_OK) return status;
    size_t bytes = ((size_t)count * 3 + 1) * sizeof(uint32_t);
    save.shard = (uint32_t *)oxi_alloc(bytes);
    if (!save.shard) return OX_ERR_NOMEM;
    save.order = save.shard + count;
    save.shards = 1;
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) { /* in the caller's order: layers stay together */
        int64_t more = (int64_t)ox_nbytes(tensors[i]);
        if (max_shard_bytes > 0 && used > 0 && more > max_shard_bytes - used) {
            save.shards++;
            used = 0;
        }
        save.shard[i] = save.shards - 1;
        used += more;
    }
    oxi_sort_indexes(save.order, save.order + count, (uint32_t)count, oxi_compare_saved, &save);
    status = oxi_save_all(&save, max_shard_bytes > 0);
    oxi_free(save.shard, bytes);
    return status;
}
