/* Reductions of streamed tensors, in the CPU's own chunks, whose partial results are joined at the end: so
 * the bits are those of the call in RAM. Called by the device. */

typedef struct oxi_stream_reduction {
    oxi_stream_lines lines; /* first */
    oxi_reduce r;
    bool far; /* results go to the spill file part by part, not to RAM */
} oxi_stream_reduction;

static ox_status oxi_reduction_prepare(oxi_stream_flow *flow, int64_t index, oxi_stream_step *step) {
    const oxi_stream_lines *job = (const oxi_stream_lines *)(const void *)flow;
    oxi_lines_part part = oxi_lines_at(job, index);
    oxi_lines_prepare(job, &part, true, step);
    return OX_OK;
}

static ox_status oxi_reduction_compute(oxi_stream_flow *flow, int64_t index, const oxi_stream_step *step) {
    oxi_stream_lines *job = (oxi_stream_lines *)(void *)flow;
    oxi_lines_part part = oxi_lines_at(job, index);
    oxi_lines_run(job, &part, step, oxi_lines_reduce);
    return OX_OK;
}

/* Reductions of a streamed operand that has elements. */
static bool oxi_stream_reduces(const oxi_call *call) {
    bool reduces = oxi_op_row_of(call->op)->family == OXI_FAMILY_REDUCE && ox_numel(call->in[0]) > 0;
    return reduces && oxi_is_streamed(call->in[0]);
}

static void oxi_reduction_open(oxi_stream_reduction *job, ox_stream *stream, const oxi_call *call, bool far) {
    oxi_lines_call planned;
    oxi_lines_begin(&job->lines, call, far, &planned);
    oxi_reduce_plan(&job->r, &planned.call);
    job->far = far;
    job->lines.shift[0] = job->r.line_shift;
    oxi_lines_end(&job->lines, call, &job->r, 1);
    job->lines.flow.prepare = oxi_reduction_prepare;
    job->lines.flow.compute = oxi_reduction_compute;
    oxi_lines_cut(&job->lines, oxi_stream_room(stream));
}

/* Results in the spill file can be written part by part: whole lines fit, and each part's results are one run
 * that fits as well. */
static bool oxi_reduction_stores(const oxi_stream_reduction *job, size_t room) {
    return !oxi_reduce_keeps_partials(&job->r) && job->lines.flow.cell_bytes <= room &&
           oxi_lines_can_store(&job->lines);
}

static ox_status oxi_reduction_run(oxi_stream_reduction *job, ox_stream *stream) {
    if (job->lines.flow.cell_bytes > oxi_stream_room(stream)) stream->stats.whole_loads++;
    ox_status status = oxi_reduce_begin(&job->r);
    if (status == OX_OK) status = oxi_flow_run_all(stream, &job->lines.flow);
    if (status == OX_OK) oxi_reduce_join(&job->r);
    oxi_reduce_end(&job->r);
    return status;
}

/* Results that are not in RAM are made there before they are moved. */
static ox_status oxi_stream_reduce_near(ox_stream *stream, const oxi_call *call) {
    oxi_stream_reduction job;
    oxi_call near = *call;
    ox_status status = OX_OK;
    for (int i = 0; i < call->out_count; i++) {
        const ox_tensor *out = call->out[i];
        if (ox_device_of(out)->host) continue;
        near.out[i] = oxi_tensor_new(ox_cpu(), out->dtype, out->ndim, out->shape);
        if (!near.out[i]) status = OX_ERR_NOMEM;
    }
    if (status == OX_OK) oxi_reduction_open(&job, stream, &near, false);
    if (status == OX_OK) status = oxi_reduction_run(&job, stream);
    for (int i = 0; i < call->out_count; i++) {
        if (near.out[i] == call->out[i]) continue;
        if (status == OX_OK && oxi_is_streamed(call->out[i]))
            status = oxi_stream_copy_by(stream, ox_cpu(), near.out[i], call->out[i]);
        else if (status == OX_OK && !ox_copy_(call->out[i], near.out[i]))
            status = ox_error();
        ox_release(near.out[i]);
    }
    return status;
}

/* Large results go straight to the spill file where their parts are runs of it. */
static ox_status oxi_stream_reduce(ox_stream *stream, const oxi_call *call) {
    oxi_stream_reduction job;
    bool far = true;
    for (int i = 0; i < call->out_count; i++) far = far && oxi_is_streamed(call->out[i]);
    if (far) oxi_reduction_open(&job, stream, call, true);
    if (far && oxi_reduction_stores(&job, oxi_stream_room(stream))) return oxi_reduction_run(&job, stream);
    return oxi_stream_reduce_near(stream, call);
}
