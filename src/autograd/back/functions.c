/* What comes back through a function of one operand, g f'(x) by one kernel: where its formula would run as a
 * dozen kernels, tile by tile. Operands lie side by side; narrow floats are widened in tiles. Called by
 * back.c. */

enum { OXI_FUNCTION_BACK_TASK = 1 << 14, OXI_FUNCTION_BACK_TILE = 1024 };

typedef struct oxi_function_job {
    const ox_tensor *g, *x, *out;
    const oxi_kernels *k;
    void (*kernel)(int64_t n, const float *g, const float *x, float *out, bool streams);
    int64_t count;
    bool narrow, streams;
} oxi_function_job;

/* Numbers [first, first + n) of a tensor. */
static char *oxi_numbers_at(const ox_tensor *t, int64_t first) {
    return oxi_ptr(t) + oxi_signed_bytes(t->dtype, first);
}

/* The same as floats: where they are, or in room. */
static const float *oxi_floats_of(const oxi_kernels *k, const ox_tensor *t, int64_t first, int64_t n,
                                  float *room) {
    const char *at = oxi_numbers_at(t, first);
    if (t->dtype == OX_F32) return (const float *)(const void *)at;
    k->load[t->dtype][OXI_LANE_F32](n, at, 1, room);
    return room;
}

static void oxi_function_back_tile(const oxi_function_job *f, int64_t first, int64_t n) {
    OXI_ALIGNED float g[OXI_FUNCTION_BACK_TILE], x[OXI_FUNCTION_BACK_TILE];
    f->k->load[f->g->dtype][OXI_LANE_F32](n, oxi_numbers_at(f->g, first), 1, g);
    f->k->load[f->x->dtype][OXI_LANE_F32](n, oxi_numbers_at(f->x, first), 1, x);
    f->kernel(n, g, x, x, false);
    f->k->store[f->out->dtype][OXI_LANE_F32](n, x, oxi_numbers_at(f->out, first), 1);
}

static void oxi_function_back_task(void *arg, int64_t index, int lane) {
    const oxi_function_job *f = (const oxi_function_job *)arg;
    int64_t first = index * OXI_FUNCTION_BACK_TASK, n = oxi_min_i64(OXI_FUNCTION_BACK_TASK, f->count - first);
    (void)lane;
    if (!f->narrow)
        f->kernel(n, (const float *)(const void *)oxi_numbers_at(f->g, first),
                  (const float *)(const void *)oxi_numbers_at(f->x, first),
                  (float *)(void *)oxi_numbers_at(f->out, first), f->streams);
    for (int64_t end = first + n; f->narrow && first < end; first += OXI_FUNCTION_BACK_TILE)
        oxi_function_back_tile(f, first, oxi_min_i64(OXI_FUNCTION_BACK_TILE, end - first));
}

/* Operands [g, x] are contiguous, of one shape, of floats other than f64. */
static ox_status oxi_function_back_run(const oxi_call *call) {
    const oxi_back_kernels *own = oxi_back_kernels_in_use();
    oxi_function_job f = {call->in[0], call->in[1], call->out[0], oxi_cpu_kernels(), own->silu,
                          0,           false,       false};
    if (call->op == OXI_OP_gelu_back) f.kernel = own->gelu;
    if (call->op == OXI_OP_gelu_tanh_back) f.kernel = own->gelu_tanh;
    f.count = ox_numel(f.x);
    f.narrow = f.g->dtype != OX_F32 || f.x->dtype != OX_F32 || f.out->dtype != OX_F32;
    f.streams = oxi_streams(f.out);
    oxi_parallel_for(oxi_parts(f.count, OXI_FUNCTION_BACK_TASK), oxi_function_back_task, &f);
    return OX_OK;
}
