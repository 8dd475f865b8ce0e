/* Softmax and norms over lines that are longer than a tile, or whose elements lie further apart: a pass that
 * measures them and one that writes, both in the CPU's own chunks (cpu/rows/softmax_norm.c). Called by the
 * device for calls whose rows do not fit tiles as a whole. */

typedef struct oxi_stream_long_rows {
    oxi_stream_lines lines; /* first */
    oxi_row row;
    int64_t parts; /* steps of a pass */
} oxi_stream_long_rows;

static ox_status oxi_long_rows_prepare(oxi_stream_flow *flow, int64_t index, oxi_stream_step *step) {
    const oxi_stream_long_rows *job = (const oxi_stream_long_rows *)(const void *)flow;
    oxi_lines_part part = oxi_lines_at(&job->lines, index % job->parts);
    oxi_lines_prepare(&job->lines, &part, index >= job->parts, step);
    return OX_OK;
}

static void oxi_long_rows_write(const oxi_stream_lines *job, int64_t group, int64_t first, int64_t count,
                                int lane) {
    oxi_row_write_part(&((const oxi_stream_long_rows *)(const void *)job)->row, group, first, count, lane);
}

static ox_status oxi_long_rows_compute(oxi_stream_flow *flow, int64_t index, const oxi_stream_step *step) {
    oxi_stream_long_rows *job = (oxi_stream_long_rows *)(void *)flow;
    oxi_lines_part part = oxi_lines_at(&job->lines, index % job->parts);
    if (index == job->parts) oxi_parallel_for(oxi_reduce_groups(job->lines.r), oxi_row_join_task, &job->row);
    oxi_lines_run(&job->lines, &part, step, index < job->parts ? oxi_lines_reduce : oxi_long_rows_write);
    return OX_OK;
}

/* False when the CPU takes such rows as a whole, or parts of the result lie between each other. */
static bool oxi_long_rows_cut(oxi_stream_long_rows *job, ox_stream *stream) {
    oxi_reduce *r = &job->row.measure;
    if (r->chunks == 1 && !r->by_columns) return false;
    oxi_lines_cut(&job->lines, oxi_stream_room(stream));
    if (!oxi_lines_can_store(&job->lines)) return false;
    r->in_parts = r->chunks == 1 || r->in_parts;
    job->parts = job->lines.flow.count;
    job->lines.flow.count = 2 * job->parts;
    job->lines.flow.prepare = oxi_long_rows_prepare;
    job->lines.flow.compute = oxi_long_rows_compute;
    return true;
}

/* weights: on the host */
static ox_status oxi_long_rows_run(ox_stream *stream, const oxi_call *call, bool *done) {
    oxi_stream_long_rows job;
    oxi_lines_call planned;
    oxi_reduce *r = &job.row.measure;
    oxi_lines_begin(&job.lines, call, oxi_is_streamed(call->out[0]), &planned);
    ox_status status = oxi_row_plan(&job.row, &planned.call, NULL);
    for (int k = 0; k < 2 && status == OX_OK; k++) job.lines.shift[k] = job.row.line_shift[k];
    if (status == OX_OK) oxi_lines_end(&job.lines, call, r, 2);
    *done = status != OX_OK || oxi_long_rows_cut(&job, stream);
    if (status == OX_OK && *done) {
        if (job.lines.flow.cell_bytes > oxi_stream_room(stream)) stream->stats.whole_loads++;
        status = oxi_reduce_begin(r);
        if (status == OX_OK) status = oxi_flow_run_all(stream, &job.lines.flow);
        oxi_reduce_end(r);
    }
    oxi_row_close(&job.row);
    return status;
}

/* Rows of a streamed tensor that the plan has to load as a whole. The result is in RAM or streamed. */
static bool oxi_stream_has_long_rows(const ox_stream *stream, const oxi_stream_plan *plan) {
    const oxi_call *call = plan->call;
    bool here = oxi_is_streamed(call->out[0]) || ox_device_of(call->out[0])->host;
    return oxi_op_row_of(call->op)->family == OXI_FAMILY_ROW && here && oxi_is_streamed(call->in[0]) &&
           plan->flow.cell_bytes > oxi_stream_room(stream);
}

/* *done: false when the call is to be run another way. */
static ox_status oxi_stream_long_rows_run(ox_stream *stream, const oxi_call *call, bool *done) {
    ox_tensor *in[OXI_MAX_IN] = {call->in[0]};
    oxi_call near = *call;
    ox_status status = OX_OK;
    near.in = in;
    for (int i = 1; i < call->in_count && status == OX_OK; i++)
        status = call->in[i] ? oxi_stream_near(stream, call->in[i], &in[i]) : OX_OK;
    *done = status != OX_OK;
    if (status == OX_OK) status = oxi_long_rows_run(stream, &near, done);
    for (int i = 1; i < call->in_count; i++) ox_release(in[i]);
    return status;
}
