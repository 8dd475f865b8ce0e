/* The CPU device: memory from base/, and one executor for each family of ops. */

static ox_status oxi_cpu_alloc(ox_device *self, size_t bytes, void **out) {
    (void)self;
    *out = oxi_alloc(bytes);
    return *out ? OX_OK : OX_ERR_NOMEM;
}

static void oxi_cpu_free(ox_device *self, void *memory, size_t bytes) {
    (void)self;
    oxi_free(memory, bytes);
}

static ox_status oxi_cpu_read(ox_device *self, const void *memory, size_t offset, void *out, size_t bytes) {
    (void)self;
    if (bytes > 0) memcpy(out, (const char *)memory + offset, bytes);
    return OX_OK;
}

static ox_status oxi_cpu_write(ox_device *self, void *memory, size_t offset, const void *data, size_t bytes) {
    (void)self;
    if (bytes > 0) memcpy((char *)memory + offset, data, bytes);
    return OX_OK;
}

static ox_status oxi_cpu_move(ox_device *self, void *to, size_t to_offset, const void *from,
                              size_t from_offset, size_t bytes) {
    (void)self;
    if (bytes > 0) memmove((char *)to + to_offset, (const char *)from + from_offset, bytes);
    return OX_OK;
}

static bool oxi_cpu_supports(ox_device *self, const oxi_call *call) {
    (void)self;
    (void)call;
    return true;
}

typedef ox_status (*oxi_cpu_executor)(const oxi_call *call);

/* By family, in the order of oxi_family; a VIEW never gets here. */
static const oxi_cpu_executor oxi_cpu_executors[OXI_FAMILY_COUNT] = {
    oxi_cpu_map,  oxi_cpu_copy,      oxi_cpu_fill, oxi_cpu_random, oxi_cpu_reduce,
    oxi_cpu_scan, oxi_cpu_sort,      oxi_cpu_row,  oxi_cpu_index,  oxi_cpu_product,
    oxi_cpu_rope, oxi_cpu_attention, NULL,
};

static ox_status oxi_cpu_run(ox_device *self, const oxi_call *call) {
    (void)self;
    return oxi_cpu_executors[oxi_op_row_of(call->op)->family](call);
}

static ox_status oxi_cpu_sync(ox_device *self) {
    (void)self;
    return OX_OK;
}

static ox_status oxi_cpu_expand(ox_dtype dtype, int64_t n, const void *blocks, float *out) {
    if (!oxi_cpu_kernels()->unpack[dtype]) return OX_ERR_UNSUPPORTED;
    if (out) oxi_expand_blocks(dtype, n, blocks, out);
    return OX_OK;
}

static ox_device oxi_cpu_device = {
    "cpu",        true,          oxi_cpu_alloc, oxi_cpu_free,
    oxi_cpu_read, oxi_cpu_write, oxi_cpu_move,  oxi_cpu_supports,
    oxi_cpu_run,  oxi_cpu_sync,  oxi_cpu_expand, NULL,
    NULL,         0,             NULL,           false,
    NULL,         NULL,
};

OX_API ox_device *ox_cpu(void) {
    return &oxi_cpu_device;
}
