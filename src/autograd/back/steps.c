/* A step of a recurrent net behind its products, and its way back: all gates of a sample in one pass. What
 * gates came to is kept for the way back; a state's hyperbolic tangent is computed again. Numbers lie side by
 * side and are computed in f32. Called by back.c for the functions of nn/recurrent. */

enum { OXI_STEP_TASK = 1 << 13 }; /* numbers of the state in a task */

typedef struct oxi_steps {
    const oxi_call *call;
    const oxi_kernels *k;
    void (*kernel)(const oxi_step_row *r);
    int64_t samples, width, each; /* width: of a state; samples of a task */
    float *scratch;
    int64_t lane_numbers;
} oxi_steps;

static void oxi_steps_task(void *arg, int64_t index, int lane) {
    const oxi_steps *s = (const oxi_steps *)arg;
    const oxi_call *call = s->call;
    int64_t end = oxi_min_i64((index + 1) * s->each, s->samples);
    for (int64_t i = index * s->each; i < end; i++) {
        oxi_step_row row;
        float *room = s->scratch + lane * s->lane_numbers;
        memset(&row, 0, sizeof row);
        row.n = s->width;
        row.least = call->attr.recurrent.kind == OXI_RECURRENT_RELU ? 0 : -1;
        for (int k = 0; k < call->in_count; k++) {
            const ox_tensor *t = call->in[k];
            if (!t) continue;
            row.in[k] = oxi_floats_of(s->k, t, i * t->shape[1], t->shape[1], room);
            room += t->shape[1];
        }
        for (int k = 0; k < call->out_count; k++) {
            const ox_tensor *t = call->out[k];
            row.out[k] = t->dtype == OX_F32 ? (float *)(void *)oxi_numbers_at(t, i * t->shape[1]) : room;
            room += t->shape[1];
        }
        s->kernel(&row);
        for (int k = 0; k < call->out_count; k++) {
            const ox_tensor *t = call->out[k];
            char *to = oxi_numbers_at(t, i * t->shape[1]);
            if (t->dtype != OX_F32) s->k->store[t->dtype][OXI_LANE_F32](t->shape[1], row.out[k], to, 1);
        }
    }
}

/* Operands and results are contiguous matrices of floats other than f64, a row a sample, and not empty. */
static ox_status oxi_steps_run(const oxi_call *call) {
    const oxi_back_kernels *own = oxi_back_kernels_in_use();
    bool back = call->op == OXI_OP_recurrent_step_back;
    void (*const kernels[OXI_RECURRENT_KINDS][2])(const oxi_step_row *) = {{own->lstm, own->lstm_back},
                                                                           {own->gru, own->gru_back},
                                                                           {own->rnn, own->rnn_back},
                                                                           {own->rnn, own->rnn_back}};
    oxi_steps s;
    memset(&s, 0, sizeof s);
    s.call = call;
    s.k = oxi_cpu_kernels();
    s.kernel = kernels[call->attr.recurrent.kind][back];
    s.samples = call->in[0]->shape[0];
    s.width = call->out[call->out_count - 1]->shape[1];
    s.each = oxi_max_i64(OXI_STEP_TASK / s.width, 1);
    for (int k = 0; k < call->in_count; k++)
        if (call->in[k]) s.lane_numbers += call->in[k]->shape[1];
    for (int k = 0; k < call->out_count; k++) s.lane_numbers += call->out[k]->shape[1];
    s.lane_numbers = oxi_round_up(s.lane_numbers, OXI_LINE);
    int64_t tasks = oxi_parts(s.samples, s.each);
    size_t bytes = (size_t)(oxi_lanes(tasks) * s.lane_numbers) * sizeof(float);
    s.scratch = (float *)oxi_alloc(bytes);
    if (!s.scratch) return OX_ERR_NOMEM;
    oxi_parallel_for(tasks, oxi_steps_task, &s);
    oxi_free(s.scratch, bytes);
    return OX_OK;
}
