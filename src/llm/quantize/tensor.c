/* A tensor as blocks: the table of writers, and rows shared by all threads. */

#define OXI_NO_PLAN \
    { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, false }

/* Scales are tried in the steps of ggml's search with importance, or finer ones. */
static const oxi_block_writer oxi_block_writers[] = {
    {OX_Q4_0,
     1,
     oxi_write_centered,
     OXI_NO_PLAN,
     {4, OXI_BYTES_OX_Q4_0, 32, 1, 8, 0, 0, 25, -1.2f, 0.1f, 0, true}},
    {OX_Q4_1,
     1,
     oxi_write_above_least,
     OXI_NO_PLAN,
     {4, OXI_BYTES_OX_Q4_1, 32, 1, 0, 0, 0, 19, -1.8f, 0.15f, 0, true}},
    {OX_Q5_0,
     1,
     oxi_write_centered,
     OXI_NO_PLAN,
     {5, OXI_BYTES_OX_Q5_0, 32, 1, 16, 0, 0, 25, -1.2f, 0.1f, 0, true}},
    {OX_Q5_1,
     1,
     oxi_write_above_least,
     OXI_NO_PLAN,
     {5, OXI_BYTES_OX_Q5_1, 32, 1, 0, 0, 0, 19, -1.8f, 0.15f, 0, true}},
    {OX_Q2_K,
     1,
     oxi_write_q2_k,
     {2, OXI_BYTES_OX_Q2_K, 16, 2, 0, 0, 15, 6, -0.9f, 0.35f, 2, false},
     {2, OXI_BYTES_OX_Q2_K, 16, 2, 0, 0, 15, 19, -0.9f, 0.1f, 3, true}},
    {OX_Q3_K,
     2,
     oxi_write_q3_k,
     {3, OXI_BYTES_OX_Q3_K, 16, 2, 4, -32, 31, 6, -0.9f, 0.35f, 1, false},
     {3, OXI_BYTES_OX_Q3_K, 16, 2, 4, -32, 31, 21, -1.5f, 0.12f, 3, true}},
    {OX_Q4_K,
     2,
     oxi_write_q45_k,
     OXI_NO_PLAN,
     {4, OXI_BYTES_OX_Q4_K, 32, 1, 0, 0, 63, 12, -1.3f, 0.2f, 3, true}},
    {OX_Q5_K,
     2,
     oxi_write_q45_k,
     OXI_NO_PLAN,
     {5, OXI_BYTES_OX_Q5_K, 32, 1, 0, 0, 63, 12, -1.3f, 0.2f, 3, true}},
    {OX_Q6_K,
     0,
     oxi_write_q6_k,
     OXI_NO_PLAN,
     {6, OXI_BYTES_OX_Q6_K, 16, 2, 32, -128, 127, 16, -2.7f, 0.25f, 2, true}},
    {OX_IQ4_NL, 2, oxi_write_iq4_nl, OXI_NO_PLAN, OXI_NO_PLAN},
    {OX_IQ4_XS, 2, oxi_write_iq4_xs, OXI_NO_PLAN, OXI_NO_PLAN},
    {OX_MXFP4, 1, oxi_write_mxfp4, OXI_NO_PLAN, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, true}},
    {OX_TQ1_0, 0, oxi_write_tq1_0, OXI_NO_PLAN, OXI_NO_PLAN},
    {OX_TQ2_0, 0, oxi_write_tq2_0, OXI_NO_PLAN, OXI_NO_PLAN},
};

static const oxi_block_writer *oxi_block_writer_of(ox_dtype dtype) {
    for (size_t i = 0; i < sizeof oxi_block_writers / sizeof *oxi_block_writers; i++)
        if (oxi_block_writers[i].dtype == dtype) return &oxi_block_writers[i];
    return NULL;
}

/* Whether a cast to this type is what it becomes without importance. */
static bool oxi_is_written_by_cast(ox_dtype dtype) {
    return dtype == OX_F32 || dtype == OX_F16 || dtype == OX_BF16 || oxi_cpu_kernels()->quantize[dtype];
}

static bool oxi_is_written(ox_dtype dtype) {
    return (unsigned)dtype < OX_DTYPE_COUNT && (oxi_is_written_by_cast(dtype) || oxi_block_writer_of(dtype));
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

typedef struct oxi_quantize_job {
    const oxi_block_writer *writer;
    oxi_load_kernel load;
    const char *from; /* [rows, columns], without gaps */
    uint8_t *to;
    const float *importance; /* NULL, or [matrices, columns] */
    int64_t rows, columns, rows_of_matrix, rows_of_task, first_row;
    size_t from_row, to_row; /* bytes */
} oxi_quantize_job;

static void oxi_blocks_of_row(const oxi_quantize_job *job, int64_t row) {
    enum { PIECE = 1024 };
    float buffer[PIECE], x[512];
    const oxi_block_writer *w = job->writer;
    const ox_dtype_info *info = ox_dtype_get_info(w->dtype);
    const int64_t matrix = (job->first_row + row) / job->rows_of_matrix;
    const float *importance = job->importance ? job->importance + matrix * job->columns : NULL;
    const char *from = job->from + (size_t)row * job->from_row;
    const size_t from_bytes = job->from_row / (size_t)job->columns;
    uint8_t *p = job->to + (size_t)row * job->to_row;
    for (int64_t at = 0; at < job->columns; at += 256) {
        if (at % PIECE == 0)
            job->load(oxi_min_i64(PIECE, job->columns - at), from + (size_t)at * from_bytes, 1, buffer);
        const int count = (int)oxi_min_i64(256, job->columns - at), blocks = count / info->block_elements;
        oxi_weigh(buffer + at % PIECE, importance ? importance + at : NULL, count, w->spread, x);
        w->write(importance ? &w->weighted : &w->plain, x, blocks, p);
        p += blocks * info->block_bytes;
    }
}

static void oxi_quantize_rows(void *arg, int64_t index, int lane) {
    const oxi_quantize_job *job = (const oxi_quantize_job *)arg;
    const int64_t first = index * job->rows_of_task, end = oxi_min_i64(job->rows, first + job->rows_of_task);
    (void)lane;
    for (int64_t row = first; row < end; row++) oxi_blocks_of_row(job, row);
}

/* Rows [first, first + x's) of a tensor, from floats x [rows, columns] without gaps. */
static bool oxi_quantize_part(ox_tensor *x, ox_tensor *out, int64_t first, const float *importance,
                              int64_t rows_of_matrix) {
    oxi_quantize_job job;
    memset(&job, 0, sizeof job);
    job.writer = oxi_block_writer_of(out->dtype);
    if (!x) return false;
    if (!job.writer || (!importance && oxi_is_written_by_cast(out->dtype)))
        return ox_copy_(ox_narrow(out, 0, first, x->shape[0]), x) != NULL;
    job.load = oxi_cpu_kernels()->load[x->dtype][OXI_LANE_F32];
    if (!job.load) {
        x = ox_cast(x, OX_F32);
        job.load = oxi_cpu_kernels()->load[OX_F32][OXI_LANE_F32];
        if (!x) return false;
    }
    job.rows = x->shape[0];
    job.columns = x->shape[1];
    job.from = (const char *)ox_data(x);
    job.from_row = ox_nbytes(x) / (size_t)job.rows;
    job.to_row = ox_nbytes(out) / (size_t)out->shape[0];
    job.to = (uint8_t *)ox_data(out) + (size_t)first * job.to_row;
    job.importance = importance;
    job.rows_of_matrix = rows_of_matrix;
    job.first_row = first;
    job.rows_of_task = (1 << 13) / job.columns > 1 ? (1 << 13) / job.columns : 1;
    oxi_parallel_for((job.rows + job.rows_of_task - 1) / job.rows_of_task, oxi_quantize_rows, &job);
    return true;
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

static ox_status oxi_quantize_check(const ox_tensor *x, ox_dtype dtype, const float *importance,
                                    int64_t matrices) {
    if (!x) return oxi_fail_missing("llm_quantize_tensor: x");
    if (!oxi_is_written(dtype))
        return oxi_fail(OX_ERR_UNSUPPORTED, "llm_quantize_tensor: nothing is quantized to %s",
                        ox_dtype_name(dtype));
    const ox_dtype_class cls = ox_dtype_get_info(x->dtype)->cls;
    if (cls != OX_CLASS_FLOAT && cls != OX_CLASS_BLOCK)
        return oxi_fail(OX_ERR_DTYPE, "llm_quantize_tensor: floats or blocks, not %s", oxi_tensor_text(x));
    const int block = ox_dtype_get_info(dtype)->block_elements;
    if (x->ndim < 1 || x->shape[x->ndim - 1] % block != 0)
        return oxi_fail(OX_ERR_SHAPE, "llm_quantize_tensor: rows of %s are no multiple of %s's %d",
                        oxi_tensor_text(x), ox_dtype_name(dtype), block);
    const int64_t columns = x->shape[x->ndim - 1], numbers = ox_numel(x);
    if (matrices < 0 || (matrices > 1 && numbers > 0 && numbers / columns % matrices != 0))
        return oxi_fail(OX_ERR_ARG, "llm_quantize_tensor: %s is not %lld matrices", oxi_tensor_text(x),
                        (long long)matrices);
    for (int64_t i = 0; importance && numbers > 0 && i < columns * (matrices > 1 ? matrices : 1); i++)
        if (!(importance[i] >= 0) || !(importance[i] <= FLT_MAX))
            return oxi_fail(OX_ERR_ARG, "llm_quantize_tensor: an importance of %g", (double)importance[i]);
    return OX_OK;
}

/* The same without checks; registered in the innermost scope. */
static ox_tensor *oxi_quantize_tensor(ox_tensor *x, ox_dtype dtype, const float *importance,
                                      int64_t matrices) {
    ox_tensor *out = oxi_tensor_new(ox_cpu(), dtype, x->ndim, x->shape);
    if (!out || ox_numel(out) == 0) return out;
    const int64_t columns = x->shape[x->ndim - 1], rows = ox_numel(x) / columns;
    const bool blocks = oxi_is_block(x->dtype);
    const int64_t of_part = blocks ? oxi_min_i64(rows, (1 << 22) / columns + 1) : rows;
    bool done = true;
    ox_scope scope = ox_scope_begin();
    ox_tensor *plain = ox_contiguous(ox_device_of(x) == ox_cpu() ? x : ox_to(x, ox_cpu()));
    plain = ox_reshape(plain, OX_SHAPE(rows, columns));
    ox_tensor *flat = ox_reshape(out, OX_SHAPE(rows, columns));
    for (int64_t row = 0; done && row < rows; row += of_part) {
        ox_scope part = ox_scope_begin();
        ox_tensor *some = ox_narrow(plain, 0, row, oxi_min_i64(of_part, rows - row));
        if (blocks) some = ox_cast(some, OX_F32);
        done = flat && oxi_quantize_part(some, flat, row, importance, rows / (matrices > 1 ? matrices : 1));
        ox_scope_end(&part);
    }
    ox_scope_end(&scope);
    if (done) return out;
    ox_release(out);
    return NULL;
}

OX_API ox_tensor *ox_llm_quantize_tensor(ox_tensor *x, ox_dtype dtype, const float *importance,
                                         int64_t matrices) {
    if (oxi_quantize_check(x, dtype, importance, matrices) != OX_OK) return NULL;
    return oxi_quantize_tensor(x, dtype, importance, matrices);
}
