/* Writing files whole or not at all: to a temporary name beside the target, flushed to the disk, then
 * renamed, and the folder flushed. The name is one that nobody could have taken before, and what is replaced
 * keeps its rights. The first failure sticks, so writers need one check at the end. Called by
 * the writers of every format. */

static void oxi_output_drop(oxi_output *output) {
    if (output->stream) fclose(output->stream);
    if (output->temporary) oxi_remove_file(output->temporary);
    oxi_free(output->path, output->path_bytes);
    oxi_free(output->temporary, output->temporary_bytes);
    memset(output, 0, sizeof *output);
}

static ox_status oxi_output_failed(oxi_output *output, const char *what) {
    if (output->status == OX_OK)
        output->status =
            oxi_fail(OX_ERR_IO, "%s: cannot be %s: %s", oxi_path_text(output->path), what, strerror(errno));
    return output->status;
}

static ox_status oxi_output_open(oxi_output *output, const char *name, const char *path) {
    enum { TRIES = 16 };
    memset(output, 0, sizeof *output);
    if (!path || !*path) return output->status = oxi_fail(OX_ERR_ARG, "%s: no path", name);
    size_t length = strlen(path);
    output->path_bytes = length + 1;
    output->temporary_bytes = length + 48;
    output->path = (char *)oxi_alloc(output->path_bytes);
    output->temporary = (char *)oxi_alloc(output->temporary_bytes);
    ox_status status = OX_ERR_NOMEM;
    if (output->path && output->temporary) {
        memcpy(output->path, path, length + 1);
        for (int i = 0; !output->stream && i < TRIES && (i == 0 || errno == EEXIST); i++) {
            snprintf(output->temporary, output->temporary_bytes, "%s.%016llx.tmp", path,
                     (unsigned long long)oxi_unpredictable());
            output->stream = oxi_create_file(output->temporary, path);
        }
        if (output->stream) return OX_OK;
        status = oxi_output_failed(output, "created");
    }
    oxi_free(output->temporary, output->temporary_bytes);
    output->temporary = NULL; /* nothing to remove */
    oxi_output_drop(output);
    return output->status = status;
}

static void oxi_output_write(oxi_output *output, const void *data, size_t bytes) {
    if (output->status != OX_OK || bytes == 0) return;
    if (fwrite(data, 1, bytes, output->stream) != bytes) (void)oxi_output_failed(output, "written");
    output->written += bytes;
}

static void oxi_output_fill(oxi_output *output, int byte, size_t bytes) {
    char block[256];
    memset(block, byte, sizeof block);
    for (; bytes > sizeof block; bytes -= sizeof block) oxi_output_write(output, block, sizeof block);
    oxi_output_write(output, block, bytes);
}

static ox_status oxi_visit_numbers(const ox_tensor *t, oxi_bytes_fn visit, void *user) {
    enum { PIECE = 1 << 20 };
    ox_device *device = ox_device_of(t);
    size_t bytes = ox_nbytes(t), unit = oxi_swap_unit(t->dtype), start = oxi_byte_offset(t->dtype, t->offset);
    bool swaps = unit > 1 && oxi_big_endian_host();
    if (device->host && !swaps) {
        visit(user, oxi_plain_ptr(t), bytes);
        return OX_OK;
    }
    char *piece = (char *)oxi_alloc(PIECE);
    ox_status status = piece ? OX_OK : OX_ERR_NOMEM;
    for (size_t at = 0; at < bytes && status == OX_OK; at += PIECE) {
        size_t count = bytes - at < (size_t)PIECE ? bytes - at : (size_t)PIECE;
        status = device->read(device, oxi_storage_data(t->storage), start + at, piece, count);
        if (swaps) oxi_copy_swapped(piece, piece, count, unit);
        if (status == OX_OK) visit(user, piece, count);
    }
    oxi_free(piece, PIECE);
    return status;
}

static void oxi_output_piece(void *user, const char *data, size_t bytes) {
    oxi_output_write((oxi_output *)user, data, bytes);
}

static void oxi_output_tensor(oxi_output *output, const ox_tensor *t) {
    ox_status status = oxi_visit_numbers(t, oxi_output_piece, output);
    if (output->status == OX_OK) output->status = status;
}

static ox_status oxi_output_finish(oxi_output *output) {
    if (output->status != OX_OK) return output->status;
    FILE *stream = output->stream;
    output->stream = NULL;
    if (!oxi_close_synced(stream)) (void)oxi_output_failed(output, "written");
    return output->status;
}

static ox_status oxi_output_rename(oxi_output *output) {
    ox_status status = output->status;
    if (status == OX_OK && oxi_rename_file(output->temporary, output->path)) {
        output->temporary[oxi_folder_length(output->temporary)] = 0;
        if (!oxi_sync_folder(output->temporary[0] ? output->temporary : "."))
            status = oxi_output_failed(output, "flushed to the disk");
        oxi_free(output->temporary, output->temporary_bytes);
        output->temporary = NULL;
    } else if (status == OX_OK) {
        status = oxi_output_failed(output, "renamed from its temporary name");
    }
    oxi_output_drop(output);
    return status;
}

static int oxi_compare_given(const void *user, uint32_t a, uint32_t b) {
    const char *const *names = (const char *const *)user;
    return strcmp(names[a], names[b]);
}

static ox_status oxi_check_names(const char *op, const char *const *names, int64_t count) {
    if (count < 0 || count > INT32_MAX || (count > 0 && !names))
        return oxi_fail(OX_ERR_ARG, "%s: no names", op);
    for (int64_t i = 0; i < count; i++)
        if (!names[i] || !names[i][0] || strlen(names[i]) > 65000)
            return oxi_fail(OX_ERR_ARG, "%s: name %lld is missing, empty or longer than 65000 bytes", op,
                            (long long)i);
    size_t bytes = (size_t)count * 2 * sizeof(uint32_t);
    uint32_t *order = (uint32_t *)oxi_alloc(bytes);
    if (!order) return OX_ERR_NOMEM;
    oxi_sort_indexes(order, order + count, (uint32_t)count, oxi_compare_given, names);
    ox_status status = OX_OK;
    for (int64_t i = 1; i < count && status == OX_OK; i++) {
        const char *name = names[order[i]];
        if (strcmp(name, names[order[i - 1]]) == 0)
            status = oxi_fail(OX_ERR_ARG, "%s: name %s is given twice", op, OXI_QUOTE(name));
    }
    oxi_free(order, bytes);
    return status;
}

static ox_tensor *oxi_writable(const char *op, ox_tensor *t) {
    if (!t) return OXI_FAIL_NULL(OX_ERR_ARG, "%s: no tensor", op);
    return oxi_contiguous(t);
}
