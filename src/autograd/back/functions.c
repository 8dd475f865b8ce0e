/* What comes back through a function of one operand, g f'(x) by one kernel: where its formula would run as a
 * dozen kernels, tile by tile. Operands lie side by side; narrow floats are widened in tiles. Called by
 * back.c. */

enum { OXI_FUNCTION_BACK_TASK = 1 << 14, OXI_FUNCTION_BACK_TILE = 1024 };

typedef struct oxi_function_job {
    const ox_tensor *g, *x, *out;
    const oxi_kernels *k;
    void (*kernel)(int64_t n, const float *g, const float *x, float *out, bool streams, const float *table);
    const float *table;
    int64_t count;
    bool narrow, streams;
} oxi_function_job;

static void oxi_function_back_tile(const oxi_function_job *f, int64_t first, int64_t n) {
    OXI_ALIGNED float g[OXI_FUNCTION_BACK_TILE], x[OXI_FUNCTION_BACK_TILE];
    f->k->load[f->g->dtype][OXI_LANE_F32](n, oxi_numbers_at(f->g, first), 1, g);
    f->k->load[f->x->dtype][OXI_LANE_F32](n, oxi_numbers_at(f->x, first), 1, x);
    f->kernel(n, g, x, x, false, f->table);
    f->k->store[f->out->dtype][OXI_LANE_F32](n, x, oxi_numbers_at(f->out, first), 1);
}

static void oxi_function_back_task(void *arg, int64_t index, int lane) {
    const oxi_function_job *f = (const oxi_function_job *)arg;
    int64_t first = index * OXI_FUNCTION_BACK_TASK, n = oxi_min_i64(OXI_FUNCTION_BACK_TASK, f->count - first);
    (void)lane;
    if (!f->narrow)
        f->kernel(n, (const float *)(const void *)oxi_numbers_at(f->g, first),
                  (const float *)(const void *)oxi_numbers_at(f->x, first),
                  (float *)(void *)oxi_numbers_at(f->out, first), f->streams, f->table);
    for (int64_t end = first + n; f->narrow && first < end; first += OXI_FUNCTION_BACK_TILE)
        oxi_function_back_tile(f, first, oxi_min_i64(OXI_FUNCTION_BACK_TILE, end - first));
}

/* f'(-a) for gelu of a, by erf or tanh: 1 - Phi(a) - a phi(a), and as silu's for the odd polynomial u in
 * place of a: e (1 + e - a u') / (1 + e)^2, e = e^-u. */
static double oxi_gelu_back_of(double a, bool by_tanh) {
    double u = a * (1.5957691216057308 + 0.07135481627260025 * a * a), e = exp(-u), t = a * a;
    if (by_tanh) return e * (1 + e - a * (1.5957691216057308 + 0.21406444881780076 * t)) / (1 + e) / (1 + e);
    return 0.5 * erfc(a * 0.70710678118654752) - a * 0.39894228040143268 * exp(-0.5 * t);
}

/* Of each interval but the last, which is of zeros, the polynomial of the distance from its middle that meets
 * the function at Chebyshev's points: Newton's divided differences, then powers. */
static void oxi_gelu_table(const oxi_back_kernels *own, bool by_tanh, float *table) {
    int degree = own->degree;
    for (int i = 0; i < own->picks - 1; i++) {
        double x[9], y[9];
        for (int k = 0; k <= degree; k++) {
            x[k] = own->step / 2 * cos(3.14159265358979324 * (k + 0.5) / (degree + 1));
            y[k] = oxi_gelu_back_of(i * own->step + x[k], by_tanh);
        }
        for (int j = 1; j <= degree; j++)
            for (int k = degree; k >= j; k--) y[k] = (y[k] - y[k - 1]) / (x[k] - x[k - j]);
        for (int j = degree - 1; j >= 0; j--)
            for (int k = j; k < degree; k++) y[k] -= x[j] * y[k + 1];
        for (int k = 0; k <= degree; k++) table[k * own->picks + i] = (float)y[k];
    }
}

/* By erf and by tanh, made at the first call. */
static float (*oxi_gelu_tables(const oxi_back_kernels *own))[160] {
    static OXI_ALIGNED float tables[2][160];
    static int64_t made;
    static oxi_lock lock;
    if (!oxi_atomic_load(&made)) {
        oxi_lock_take(&lock);
        if (!oxi_atomic_load(&made)) {
            oxi_gelu_table(own, false, tables[0]);
            oxi_gelu_table(own, true, tables[1]);
            oxi_atomic_store(&made, 1);
        }
        oxi_lock_give(&lock);
    }
    return tables;
}

/* Operands [g, x] are contiguous, of one shape, of floats other than f64. */
static ox_status oxi_function_back_run(const oxi_call *call) {
    const oxi_back_kernels *own = oxi_back_kernels_in_use();
    oxi_function_job f = {call->in[0], call->in[1], call->out[0], oxi_cpu_kernels(), own->silu,
                          NULL,        0,           false,        false};
    if (call->op != OXI_OP_silu_back) {
        f.kernel = own->gelu;
        f.table = oxi_gelu_tables(own)[call->op == OXI_OP_gelu_tanh_back];
    }
    f.count = ox_numel(f.x);
    f.narrow = f.g->dtype != OX_F32 || f.x->dtype != OX_F32 || f.out->dtype != OX_F32;
    f.streams = oxi_streams(f.out);
    oxi_parallel_for(oxi_parts(f.count, OXI_FUNCTION_BACK_TASK), oxi_function_back_task, &f);
    return OX_OK;
}
