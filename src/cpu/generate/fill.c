/* Tensors made from nothing, without chance: constants, ramps, eye; and the driver of all that are made so.
 * An op is a generator that gives elements [first, first + n) in a lane type; the driver cuts the work,
 * converts and honors strides. Called by generate/generate.c. */

enum { OXI_FILL_CHUNK = 8192, OXI_FILL_PIECE = 512 }; /* elements of a task; of a buffer on its stack */

typedef struct oxi_fill_job {
    const oxi_call *call;
    const ox_tensor *out;
    int64_t count;
    int64_t from, all; /* of the call that this is a part of: where it begins, by 4; its elements */
    oxi_lane lane;
    /* Writes elements [first, first + n) to `values` (the lane's type); first is a multiple of 4. false =
     * stop. */
    bool (*make)(const struct oxi_fill_job *job, int64_t first, int64_t n, void *values);
    double last_below; /* uniform: what stands for values that round to high; NaN = not needed */
    int64_t bad;       /* set (atomically) when make said stop */
} oxi_fill_job;

static void oxi_fill_chunk(void *arg, int64_t index, int lane) {
    (void)lane;
    oxi_fill_job *job = (oxi_fill_job *)arg;
    union {
        double f64[OXI_FILL_PIECE];
        float f32[OXI_FILL_PIECE];
        int64_t i64[OXI_FILL_PIECE];
    } values;
    int64_t first = index * OXI_FILL_CHUNK;
    int64_t end = oxi_min_i64(job->count, first + OXI_FILL_CHUNK);
    for (; first < end; first += OXI_FILL_PIECE) {
        int64_t n = oxi_min_i64(end - first, OXI_FILL_PIECE);
        if (!job->make(job, first, n, &values)) {
            oxi_atomic_store(&job->bad, 1);
            return;
        }
        oxi_store_range(job->out, first, n, job->lane, &values);
    }
}

static void oxi_fill_run(oxi_fill_job *job) {
    oxi_parallel_for((job->count + OXI_FILL_CHUNK - 1) / OXI_FILL_CHUNK, oxi_fill_chunk, job);
}

/* ---- ramps --------------------------------------------------------------------------------------------- */

static bool oxi_make_arange(const oxi_fill_job *job, int64_t first, int64_t n, void *values) {
    const oxi_attr_ramp *ramp = &job->call->attr.ramp;
    if (job->lane == OXI_LANE_F64) {
        double *out = (double *)values;
        for (int64_t i = 0; i < n; i++) out[i] = ramp->start + (double)(job->from + first + i) * ramp->step;
    } else { /* integers step by whole numbers, as torch.arange does */
        int64_t *out = (int64_t *)values;
        uint64_t start = (uint64_t)oxi_whole_bits(ramp->start), step = (uint64_t)oxi_whole_bits(ramp->step);
        for (int64_t i = 0; i < n; i++) out[i] = (int64_t)(start + (uint64_t)(job->from + first + i) * step);
    }
    return true;
}

/* From both ends to the middle, so that the ends are exact and the steps symmetric: torch.linspace. Integers
 * get whole ends, and numbers between them truncated. */
static bool oxi_make_linspace(const oxi_fill_job *job, int64_t first, int64_t n, void *values) {
    double start = job->call->attr.ends.start, end = job->call->attr.ends.end, *out = (double *)values;
    if (oxi_is_int(job->out->dtype)) {
        start = trunc(start);
        end = trunc(end);
    }
    double step = job->all > 1 ? (end - start) / (double)(job->all - 1) : 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t e = job->from + first + i;
        out[i] = e < job->all / 2 || job->all == 1 ? start + step * (double)e
                                                   : end - step * (double)(job->all - 1 - e);
    }
    return true;
}

/* ---- constants ----------------------------------------------------------------------------------------- */

/* An element of dtype: `whole` of integers, `value` of the others. */
static void oxi_fill_element(double value, int64_t whole, ox_dtype dtype, void *element) {
    const oxi_kernels *kernels = oxi_cpu_kernels();
    if (oxi_is_int(dtype))
        kernels->store[dtype][OXI_LANE_I64](1, &whole, element, 1);
    else
        kernels->store[dtype][OXI_LANE_F64](1, &value, element, 1);
}

static ox_status oxi_fill_eye(const oxi_call *call) {
    ox_tensor diagonal = oxi_borrowed(call->out[0]);
    unsigned char element[8];
    memset(element, 0, sizeof element);
    oxi_fill_strided(&diagonal, element);
    if (diagonal.ndim != 2) return OX_OK;
    oxi_fill_element(1, 1, diagonal.dtype, element);
    diagonal.ndim = 1;
    if (diagonal.shape[1] < diagonal.shape[0]) diagonal.shape[0] = diagonal.shape[1];
    diagonal.stride[0] += diagonal.stride[1];
    oxi_fill_strided(&diagonal, element);
    return OX_OK;
}
