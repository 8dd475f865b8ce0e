/* matmul, linear and addmm calls as raw products: derives sizes and strides, walks the leading dims.
 * Leading dims that lie one behind the other are joined with the rows; small matrices of a batch are shared
 * out to the threads. Called by the CPU device; shapes and dtypes were checked by ops/rules.c. */

/* A product for each position of the leading dims. g: the first of them. */
typedef struct oxi_product {
    oxi_gemm g;
    bool pairs; /* of complex numbers; strides and dtypes are those of their parts */
    int ndim;
    int64_t shape[OX_MAX_DIMS], a_stride[OX_MAX_DIMS], b_stride[OX_MAX_DIMS], c_stride[OX_MAX_DIMS];
    int64_t failed; /* atomic: status of a product that failed, or 0 */
} oxi_product;

/* ---- integers: in 64 bits, wrapped to the result's dtype when stored ----------------------------------- */

enum { OXI_INT_ROWS = 8, OXI_INT_COLUMNS = 512 };

typedef struct oxi_int_product {
    const oxi_gemm *g;
    const oxi_kernels *kernels;
    int64_t *scratch; /* of each lane: sums [OXI_INT_ROWS][OXI_INT_COLUMNS], a row of b */
} oxi_int_product;

static void oxi_int_load(const oxi_kernels *kernels, ox_dtype dtype, int64_t n, const void *from,
                         int64_t stride, int64_t *out) {
    kernels->load[dtype][dtype == OX_U64 ? OXI_LANE_U64 : OXI_LANE_I64](n, from, stride, out);
}

static void oxi_int_add(int64_t n, int64_t s, const int64_t *x, int64_t *y) {
    for (int64_t i = 0; i < n; i++) y[i] = (int64_t)((uint64_t)y[i] + (uint64_t)s * (uint64_t)x[i]);
}

/* alpha sums + beta addend, stored: n elements of row m from column `first` on. */
static void oxi_int_finish(const oxi_int_product *p, int64_t m, int64_t first, int64_t n, int64_t *sums,
                           int64_t *stage) {
    const oxi_gemm *g = p->g;
    if (g->alpha != 1)
        for (int64_t i = 0; i < n; i++) sums[i] = (int64_t)((uint64_t)sums[i] * (uint64_t)(int64_t)g->alpha);
    if (g->addend) {
        const char *from = (const char *)g->addend +
                           oxi_signed_bytes(g->addend_dtype, m * g->addend_row + first * g->addend_col);
        oxi_int_load(p->kernels, g->addend_dtype, n, from, g->addend_col, stage);
        oxi_int_add(n, (int64_t)g->beta, stage, sums);
    }
    oxi_lane lane = g->c_dtype == OX_U64 ? OXI_LANE_U64 : OXI_LANE_I64;
    p->kernels->store[g->c_dtype][lane](n, sums, oxi_gemm_c(g, m, first), g->c_col);
}

static void oxi_int_task(void *arg, int64_t index, int lane) {
    const oxi_int_product *p = (const oxi_int_product *)arg;
    const oxi_gemm *g = p->g;
    int64_t across = (g->n + OXI_INT_COLUMNS - 1) / OXI_INT_COLUMNS;
    int64_t m = index / across * OXI_INT_ROWS, n = index % across * OXI_INT_COLUMNS;
    int64_t rows = oxi_min_i64(OXI_INT_ROWS, g->m - m), columns = oxi_min_i64(OXI_INT_COLUMNS, g->n - n);
    int64_t *sums = p->scratch + (int64_t)lane * (OXI_INT_ROWS + 1) * OXI_INT_COLUMNS;
    int64_t *line = sums + OXI_INT_ROWS * OXI_INT_COLUMNS;
    memset(sums, 0, OXI_INT_ROWS * OXI_INT_COLUMNS * sizeof(int64_t));
    for (int64_t k = 0; k < g->k; k++) {
        oxi_int_load(p->kernels, g->b_dtype, columns,
                     (const char *)g->b + oxi_signed_bytes(g->b_dtype, k * g->b_row + n * g->b_col), g->b_col,
                     line);
        for (int64_t i = 0; i < rows; i++) {
            int64_t a;
            const char *from =
                (const char *)g->a + oxi_signed_bytes(g->a_dtype, (m + i) * g->a_row + k * g->a_col);
            oxi_int_load(p->kernels, g->a_dtype, 1, from, 1, &a);
            oxi_int_add(columns, a, line, sums + i * OXI_INT_COLUMNS);
        }
    }
    for (int64_t i = 0; i < rows; i++) oxi_int_finish(p, m + i, n, columns, sums + i * OXI_INT_COLUMNS, line);
}

static ox_status oxi_int_run(const oxi_gemm *g) {
    oxi_int_product p;
    if (g->m == 0 || g->n == 0) return OX_OK;
    int64_t tasks =
        (g->m + OXI_INT_ROWS - 1) / OXI_INT_ROWS * ((g->n + OXI_INT_COLUMNS - 1) / OXI_INT_COLUMNS);
    size_t bytes = (size_t)oxi_lanes(tasks) * (OXI_INT_ROWS + 1) * OXI_INT_COLUMNS * sizeof(int64_t);
    p.g = g;
    p.kernels = oxi_cpu_kernels();
    p.scratch = (int64_t *)oxi_alloc(bytes);
    if (!p.scratch) return OX_ERR_NOMEM;
    oxi_parallel_for(tasks, oxi_int_task, &p);
    oxi_free(p.scratch, bytes);
    return OX_OK;
}

/* ---- complex numbers: products of their parts, which are read and written as they lie -------------------- */

static const float *oxi_part_of(const void *pairs, int part) {
    return (const float *)pairs + part;
}

static ox_status oxi_pairs_run(const oxi_gemm *g) {
    static const struct {
        int a, b, c; /* 0: real part, 1: imaginary part */
        double sign;
    } step[] = {{0, 0, 0, 1}, {1, 1, 0, -1}, {0, 1, 1, 1}, {1, 0, 1, 1}};
    ox_status status = OX_OK;
    for (int i = 0; i < 4 && status == OX_OK; i++) {
        oxi_gemm part = *g;
        part.shared = NULL;
        part.a = oxi_part_of(g->a, step[i].a);
        part.b = oxi_part_of(g->b, step[i].b);
        part.c = (float *)g->c + step[i].c;
        part.alpha = step[i].sign * g->alpha;
        if (i % 2) { /* on top of the first half */
            part.addend = part.c;
            part.addend_dtype = part.c_dtype;
            part.addend_row = part.c_row;
            part.addend_col = part.c_col;
            part.beta = 1;
        } else if (g->addend) {
            part.addend = oxi_part_of(g->addend, step[i].c);
        }
        status = oxi_gemm_run(&part);
    }
    return status;
}

/* Strides and dtypes of pairs as those of their parts. */
static void oxi_product_split_pairs(oxi_product *p) {
    oxi_gemm *g = &p->g;
    p->pairs = true;
    g->a_dtype = g->b_dtype = g->c_dtype = OX_F32;
    g->a_row *= 2;
    g->a_col *= 2;
    g->b_row *= 2;
    g->b_col *= 2;
    g->c_row *= 2;
    g->c_col *= 2;
    for (int d = 0; d < p->ndim; d++) {
        p->a_stride[d] *= 2;
        p->b_stride[d] *= 2;
        p->c_stride[d] *= 2;
    }
}

/* ---- leading dims -------------------------------------------------------------------------------------- */

static ox_status oxi_product_one(const oxi_product *p, const oxi_gemm *g) {
    if (p->pairs) return oxi_pairs_run(g);
    bool ints = oxi_is_int(g->c_dtype), narrow = g->a_dtype == OX_I8 && g->b_dtype == OX_I8;
    return ints && !(narrow && oxi_gemm_is_plain(g)) ? oxi_int_run(g) : oxi_gemm_run(g);
}

static oxi_gemm oxi_product_at(const oxi_product *p, int64_t index) {
    int64_t a = 0, b = 0, c = 0;
    for (int d = p->ndim - 1; d >= 0; d--) {
        int64_t i = index % p->shape[d];
        index /= p->shape[d];
        a += i * p->a_stride[d];
        b += i * p->b_stride[d];
        c += i * p->c_stride[d];
    }
    oxi_gemm g = p->g;
    g.a = (const char *)g.a + oxi_signed_bytes(g.a_dtype, a);
    g.b = (const char *)g.b + oxi_signed_bytes(g.b_dtype, b);
    g.c = (char *)g.c + oxi_signed_bytes(g.c_dtype, c);
    return g;
}

static void oxi_product_task(void *arg, int64_t index, int lane) {
    oxi_product *p = (oxi_product *)arg;
    (void)lane;
    if (oxi_atomic_load(&p->failed)) return;
    oxi_gemm g = oxi_product_at(p, index);
    ox_status status = oxi_product_one(p, &g);
    if (status != OX_OK) oxi_atomic_store(&p->failed, (int64_t)status);
}

/* Joins the last leading dim with the rows where b is the same for all of it and rows of a and c go on
 * evenly. */
static void oxi_product_join(oxi_product *p) {
    oxi_gemm *g = &p->g;
    while (p->ndim > 0) {
        int d = p->ndim - 1;
        bool even = p->a_stride[d] == g->m * g->a_row && p->c_stride[d] == g->m * g->c_row;
        if (g->m == 1) {
            g->a_row = p->a_stride[d];
            g->c_row = p->c_stride[d];
            even = true;
        }
        if (p->shape[d] != 1 && (p->b_stride[d] != 0 || !even)) return;
        if (p->shape[d] != 1) g->m *= p->shape[d];
        p->ndim--;
    }
}

static ox_status oxi_product_run(oxi_product *p) {
    int64_t count = 1;
    for (int d = 0; d < p->ndim; d++) count *= p->shape[d];
    if (count == 0) return OX_OK;
    if (count == 1) return oxi_product_one(p, &p->g);
    p->g.shared = NULL; /* each has an a of its own */
    double flops = 2.0 * (double)p->g.m * (double)p->g.n * (double)p->g.k;
    if (flops < 5e7 || count >= 8 * (int64_t)oxi_lanes(count)) {
        oxi_parallel_for(count, oxi_product_task, p);
        return (ox_status)oxi_atomic_load(&p->failed);
    }
    for (int64_t i = 0; i < count; i++) {
        oxi_gemm g = oxi_product_at(p, i);
        ox_status status = oxi_product_one(p, &g);
        if (status != OX_OK) return status;
    }
    return OX_OK;
}

/* ---- the calls: sizes and strides, of operands that may lie anywhere ----------------------------------- */

/* The stride of leading dim d of `ndim`, counted from the last one, of an operand with `own` leading dims; 0
 * if broadcast. */
static int64_t oxi_leading_stride(const ox_tensor *t, int own, int ndim, int d) {
    int at = d - (ndim - own);
    return at < 0 || t->shape[at] == 1 ? 0 : t->stride[at];
}

static void oxi_matmul_plan(oxi_product *p, const oxi_call *call) {
    const ox_tensor *a = call->in[0], *b = call->in[1], *c = call->out[0];
    int a_leading = a->ndim > 2 ? a->ndim - 2 : 0, b_leading = b->ndim > 2 ? b->ndim - 2 : 0;
    p->ndim = a_leading > b_leading ? a_leading : b_leading;
    p->g.k = a->shape[a->ndim - 1];
    p->g.a_col = a->stride[a->ndim - 1];
    p->g.m = p->g.n = 1;
    int c_dim = p->ndim; /* of c: the rows, if a has some, then the columns, if b has */
    if (a->ndim > 1) {
        p->g.m = a->shape[a->ndim - 2];
        p->g.a_row = a->stride[a->ndim - 2];
        p->g.c_row = c->stride[c_dim++];
    }
    p->g.b_row = b->stride[b->ndim > 1 ? b->ndim - 2 : 0];
    p->g.c_col = 1;
    if (b->ndim > 1) {
        p->g.n = b->shape[b->ndim - 1];
        p->g.b_col = b->stride[b->ndim - 1];
        p->g.c_col = c->stride[c_dim];
    }
    for (int d = 0; d < p->ndim; d++) {
        p->shape[d] = c->shape[d];
        p->a_stride[d] = oxi_leading_stride(a, a_leading, p->ndim, d);
        p->b_stride[d] = oxi_leading_stride(b, b_leading, p->ndim, d);
        p->c_stride[d] = c->stride[d];
    }
}

static void oxi_linear_plan(oxi_product *p, const oxi_call *call) {
    const ox_tensor *x = call->in[0], *w = call->in[1], *out = call->out[0];
    int last = x->ndim - 1;
    p->ndim = last > 0 ? last - 1 : 0;
    p->g.m = last > 0 ? x->shape[last - 1] : 1;
    p->g.n = w->shape[0];
    p->g.k = x->shape[last];
    p->g.a_row = last > 0 ? x->stride[last - 1] : 0;
    p->g.a_col = x->stride[last];
    p->g.b_row = w->stride[1];
    p->g.b_col = w->stride[0];
    p->g.c_row = last > 0 ? out->stride[last - 1] : 0;
    p->g.c_col = out->stride[last];
    p->g.activation = call->attr.activation.activation;
    for (int d = 0; d < p->ndim; d++) {
        p->shape[d] = x->shape[d];
        p->a_stride[d] = x->stride[d];
        p->c_stride[d] = out->stride[d];
    }
}

static void oxi_addmm_plan(oxi_product *p, const oxi_call *call) {
    const ox_tensor *a = call->in[1], *b = call->in[2], *out = call->out[0];
    p->g.m = a->shape[0];
    p->g.n = b->shape[1];
    p->g.k = a->shape[1];
    p->g.a_row = a->stride[0];
    p->g.a_col = a->stride[1];
    p->g.b_row = b->stride[0];
    p->g.b_col = b->stride[1];
    p->g.c_row = out->stride[0];
    p->g.c_col = out->stride[1];
    p->g.beta = call->attr.addmm.beta;
    p->g.alpha = call->attr.addmm.alpha;
}

static void oxi_product_plan(oxi_product *p, const oxi_call *call) {
    int a = oxi_product_first(call->op);
    memset(p, 0, sizeof *p);
    p->g.a_dtype = call->in[a]->dtype;
    p->g.b_dtype = call->in[a + 1]->dtype;
    p->g.c_dtype = call->out[0]->dtype;
    p->g.exact = call->exact;
    p->g.alpha = 1;
    if (call->op == OXI_OP_matmul)
        oxi_matmul_plan(p, call);
    else if (call->op == OXI_OP_linear)
        oxi_linear_plan(p, call);
    else
        oxi_addmm_plan(p, call);
    oxi_product_join(p);
    if (p->g.c_dtype == OX_C64) oxi_product_split_pairs(p);
    p->g.way = oxi_gemm_judge(&p->g);
}

/* ---- running them -------------------------------------------------------------------------------------- */

/* The addend of addmm. As in torch: with beta 0, NaN in c does not matter. */
static void oxi_product_addend(oxi_gemm *g, const ox_tensor *c) {
    if (g->beta == 0) return;
    g->addend = oxi_ptr(c);
    g->addend_dtype = c->dtype;
    g->addend_row = oxi_leading_stride(c, c->ndim, 2, 0);
    g->addend_col = oxi_leading_stride(c, c->ndim, 2, 1);
}

/* The bias as n floats in *floats (to be freed), as it lies, or as an addend where f32 is not enough. */
static ox_status oxi_product_bias(oxi_gemm *g, const ox_tensor *bias, float **floats) {
    *floats = NULL;
    if (!bias) return OX_OK;
    bool wide =
        g->c_dtype == OX_F64 || g->a_dtype == OX_F64 || g->b_dtype == OX_F64 || !oxi_is_float(bias->dtype);
    if (wide) {
        g->addend = oxi_ptr(bias);
        g->addend_col = bias->stride[0];
        g->addend_dtype = bias->dtype;
        g->beta = 1;
    } else if (bias->dtype == OX_F32 && bias->stride[0] == 1) {
        g->bias = (const float *)(const void *)oxi_ptr(bias);
    } else {
        *floats = (float *)oxi_alloc((size_t)g->n * sizeof(float));
        if (!*floats) return OX_ERR_NOMEM;
        oxi_cpu_kernels()->load[bias->dtype][OXI_LANE_F32](g->n, oxi_ptr(bias), bias->stride[0], *floats);
        g->bias = *floats;
    }
    return OX_OK;
}

/* Holds repacked weights that are met as whole lines of whole groups, once; others will be put back. */
static oxi_repacked *oxi_product_hold(oxi_product *p, const ox_tensor *a, const ox_tensor *b) {
    const oxi_gemm *g = &p->g;
    oxi_repacked *held = NULL;
    if (p->ndim > 0) return NULL;
    if (oxi_is_block(g->b_dtype) && g->b_row == 1) held = oxi_repacked_hold(b, g->n, g->b_col, g->k);
    else if (oxi_is_block(g->a_dtype) && g->a_col == 1) held = oxi_repacked_hold(a, g->m, g->a_row, g->k);
    p->g.repacked = held != NULL;
    return held;
}

static char *oxi_product_operand(const oxi_product *p, const ox_tensor *t) {
    bool as_it_lies = p->g.repacked && oxi_is_block(t->dtype);
    return as_it_lies ? oxi_repacked_bytes(t) : oxi_ptr(t);
}

static ox_status oxi_cpu_product(const oxi_call *call, const oxi_part *part) {
    bool linear = call->op == OXI_OP_linear, addmm = call->op == OXI_OP_addmm;
    oxi_product p, whole;
    float *floats = NULL;
    oxi_product_plan(&p, call);
    if (ox_numel(call->out[0]) == 0) return OX_OK;
    if (part && part->whole) {
        oxi_product_plan(&whole, part->whole);
        p.g.way = whole.g.way;
    }
    if (part) p.g.shared = part->shared;
    oxi_repacked *held = oxi_product_hold(&p, call->in[addmm], call->in[addmm + 1]);
    p.g.a = oxi_product_operand(&p, call->in[addmm]);
    p.g.b = oxi_product_operand(&p, call->in[addmm + 1]);
    p.g.c = oxi_ptr(call->out[0]);
    p.g.a_storage = call->in[addmm]->storage;
    p.g.b_storage = call->in[addmm + 1]->storage;
    if (addmm) oxi_product_addend(&p.g, call->in[0]);
    ox_status status = linear ? oxi_product_bias(&p.g, call->in[2], &floats) : OX_OK;
    if (p.pairs) {
        p.g.addend_dtype = OX_F32;
        p.g.addend_row *= 2;
        p.g.addend_col *= 2;
    }
    if (status == OX_OK) status = oxi_product_run(&p);
    oxi_free(floats, (size_t)p.g.n * sizeof(float));
    oxi_repacked_let_go(held);
    return status;
}
