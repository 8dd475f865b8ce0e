/* Rotary position embedding (Su et al. 2021, "RoFormer"): pairs of a row's elements rotate by an angle of
 * its position.
 * cos and sin of every position are worked out once in double and shared by all heads; rows are then
 * rotated by the tier's kernels, whatever their strides. Called by the CPU device for ROPE. */

enum { OXI_ROPE_PIECE = 256, OXI_ROPE_GRAIN = 1 << 14 }; /* pairs at a time; elements of a task */

typedef struct oxi_rope {
    const ox_tensor *x, *positions, *factors, *out;
    int64_t length, half; /* S; pairs of a row */
    bool interleaved;
    oxi_lane lane;
    double scale, magnitude;
    double *frequencies;   /* [half] */
    char *cosines, *sines; /* [S][half] of the lane's type */
} oxi_rope;

static void oxi_rope_store(const oxi_rope *job, char *table, int64_t at, double value) {
    if (job->lane == OXI_LANE_F64)
        ((double *)(void *)table)[at] = value;
    else
        ((float *)(void *)table)[at] = (float)value;
}

/* The table's row of one position. */
static void oxi_rope_angles(void *arg, int64_t index, int lane) {
    (void)lane;
    const oxi_rope *job = (const oxi_rope *)arg;
    int64_t position = index;
    if (job->positions) {
        const char *p = oxi_ptr(job->positions);
        int64_t offset = index * job->positions->stride[0] * oxi_dtype_bytes(job->positions->dtype);
        position = oxi_index_at(p + offset, job->positions->dtype == OX_I64);
    }
    for (int64_t i = 0; i < job->half; i++) {
        double angle = (double)position * job->scale * job->frequencies[i];
        oxi_rope_store(job, job->cosines, index * job->half + i, job->magnitude * cos(angle));
        oxi_rope_store(job, job->sines, index * job->half + i, job->magnitude * sin(angle));
    }
}

/* Pairs (a, b) become (a cos - b sin, b cos + a sin); at most OXI_ROPE_PIECE of them. steps in elements. */
static void oxi_rope_rotate(const oxi_rope *job, int64_t n, const char *x, int64_t x_step, int64_t x_other,
                          char *to, int64_t to_step, int64_t to_other, const char *cosines,
                          const char *sines) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    ox_dtype dtype = job->x->dtype;
    int64_t bytes = oxi_dtype_bytes(dtype);
    double a[OXI_ROPE_PIECE], b[OXI_ROPE_PIECE], rotated[OXI_ROPE_PIECE];
    oxi_map_numbers minus = oxi_plain_numbers;
    minus.f[0] = -1;
    kernels->load[dtype][job->lane](n, x, x_step, a);
    kernels->load[dtype][job->lane](n, x + x_other * bytes, x_step, b);
    const void *first[3] = {a, cosines, NULL}, *second[3] = {rotated, b, sines};
    kernels->map[OXI_OP_mul][job->lane](n, first, rotated, &oxi_plain_numbers);
    kernels->map[OXI_OP_addcmul][job->lane](n, second, rotated, &minus);
    kernels->store[dtype][job->lane](n, rotated, to, to_step);
    first[0] = b;
    second[1] = a;
    kernels->map[OXI_OP_mul][job->lane](n, first, rotated, &oxi_plain_numbers);
    kernels->map[OXI_OP_addcmul][job->lane](n, second, rotated, &oxi_plain_numbers);
    kernels->store[dtype][job->lane](n, rotated, to + to_other * bytes, to_step);
}

/* Operands: out and x without their last dim; the position is the row's place along dim S. */
static void oxi_rope_piece(void *arg, const oxi_walk *w, const oxi_cursor *c, int lane) {
    (void)lane;
    const oxi_rope *job = (const oxi_rope *)arg;
    int last = job->x->ndim - 1;
    int64_t bytes = w->bytes[0], lane_bytes = oxi_lane_bytes(job->lane), x_stride = job->x->stride[last];
    int64_t to_stride = job->out->stride[last], rest = job->x->shape[last] - 2 * job->half;
    int64_t apart = job->interleaved ? 1 : job->half, each = job->interleaved ? 2 : 1;
    for (int64_t i = 0; i < c->n; i++) {
        const char *x = c->p[1] + i * w->step[1] * bytes;
        char *to = c->p[0] + i * w->step[0] * bytes;
        int64_t row = (c->position + i) % job->length * job->half;
        for (int64_t pair = 0; pair < job->half; pair += OXI_ROPE_PIECE) {
            int64_t n = oxi_min_i64(job->half - pair, OXI_ROPE_PIECE);
            oxi_rope_rotate(job, n, x + pair * each * x_stride * bytes, each * x_stride, apart * x_stride,
                          to + pair * each * to_stride * bytes, each * to_stride, apart * to_stride,
                          job->cosines + (row + pair) * lane_bytes, job->sines + (row + pair) * lane_bytes);
        }
        oxi_copy_run(rest, bytes, x + 2 * job->half * x_stride * bytes, x_stride * bytes,
                     to + 2 * job->half * to_stride * bytes, to_stride * bytes);
    }
}

static void oxi_rope_rows(oxi_rope *job) {
    int last = job->x->ndim - 1;
    oxi_walk w;
    oxi_walk_begin(&w, last, job->x->shape);
    oxi_walk_add_raw(&w, oxi_ptr(job->out), oxi_dtype_bytes(job->x->dtype), job->out->stride);
    oxi_walk_add_raw(&w, oxi_ptr(job->x), oxi_dtype_bytes(job->x->dtype), job->x->stride);
    oxi_walk_ready(&w, OXI_WALK_IN_ORDER);
    int64_t grain = OXI_ROPE_GRAIN / job->x->shape[last];
    oxi_walk_all(&w, grain > 0 ? grain : 1, OXI_ROPE_GRAIN, oxi_rope_piece, job);
}

static ox_status oxi_cpu_rope(const oxi_call *call) {
    const oxi_attr_rope *attr = &call->attr.rope;
    oxi_rope job;
    memset(&job, 0, sizeof job);
    job.x = call->in[0];
    job.positions = call->in[1];
    job.factors = call->in[2];
    job.out = call->out[0];
    job.length = job.x->shape[job.x->ndim - 2];
    job.half = attr->dims / 2;
    job.interleaved = attr->interleaved;
    job.lane = job.x->dtype == OX_F64 ? OXI_LANE_F64 : OXI_LANE_F32;
    job.scale = attr->scale;
    job.magnitude = attr->magnitude;
    if (ox_numel(job.x) == 0) return OX_OK;
    size_t entries, bytes, row_bytes = (size_t)job.half * sizeof(double);
    if (!oxi_mul_size((size_t)job.length, (size_t)job.half, &entries) ||
        !oxi_mul_size(entries, 2 * (size_t)oxi_lane_bytes(job.lane), &bytes) ||
        !oxi_add_size(bytes, row_bytes, &bytes))
        return oxi_fail(OX_ERR_NOMEM, "rope: too many positions");
    char *memory = (char *)oxi_alloc(bytes);
    if (!memory) return OX_ERR_NOMEM;
    job.frequencies = (double *)(void *)memory;
    job.cosines = memory + row_bytes;
    job.sines = job.cosines + entries * (size_t)oxi_lane_bytes(job.lane);
    for (int64_t i = 0; i < job.half; i++) {
        job.frequencies[i] = pow(attr->base, -2.0 * (double)i / (double)attr->dims);
        if (job.factors)
            job.frequencies[i] /=
                (double)((const float *)(const void *)oxi_ptr(job.factors))[i * job.factors->stride[0]];
    }
    oxi_parallel_for(job.length, oxi_rope_angles, &job);
    oxi_rope_rows(&job);
    oxi_free(memory, bytes);
    return OX_OK;
}
