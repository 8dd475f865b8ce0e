/* The products of a form as raw ones: walks the leading dims, and shares small matrices of a batch out to the
 * threads. Called by the CPU device; shapes and dtypes were checked by ops/rules/. */

/* A product for each position of the leading dims. g: the first of them. */
typedef struct oxi_product {
    oxi_gemm g;
    oxi_product_form form;
    bool pairs; /* of complex numbers; strides and dtypes are those of their parts */
    int ndim;
    int64_t *shape, *a_stride, *b_stride, *c_stride; /* those of form */
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
    int64_t across = oxi_parts(g->n, OXI_INT_COLUMNS);
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
    int64_t tasks = oxi_parts(g->m, OXI_INT_ROWS) * oxi_parts(g->n, OXI_INT_COLUMNS);
    size_t bytes = (size_t)oxi_lanes(tasks) * (OXI_INT_ROWS + 1) * OXI_INT_COLUMNS * sizeof(int64_t);
    p.g = g;
    p.kernels = oxi_cpu_kernels();
    p.scratch = (int64_t *)oxi_alloc(bytes);
    if (!p.scratch) return OX_ERR_NOMEM;
    oxi_parallel_for(tasks, oxi_int_task, &p);
    oxi_free(p.scratch, bytes);
    return OX_OK;
}

/* ---- complex numbers: products of their parts, which are read and written as they lie ------------------ */

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
        part.together = NULL;
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

static ox_status oxi_product_run(oxi_product *p) {
    int64_t count = 1;
    for (int d = 0; d < p->ndim; d++) count *= p->shape[d];
    if (count == 0) return OX_OK;
    if (count == 1) return oxi_product_one(p, &p->g);
    p->g.shared = NULL; /* each has an a of its own */
    p->g.together = NULL;
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

/* ---- the call as raw products -------------------------------------------------------------------------- */

static void oxi_product_plan(oxi_product *p, const oxi_call *call) {
    oxi_product_form form;
    oxi_gemm *g = &p->g;
    memset(p, 0, sizeof *p);
    oxi_product_form_of(call, &form);
    oxi_product_form_join(&form);
    g->m = form.m;
    g->n = form.n;
    g->k = form.k;
    g->a_dtype = form.t[OXI_PRODUCT_A]->dtype;
    g->b_dtype = form.t[OXI_PRODUCT_B]->dtype;
    g->c_dtype = form.t[OXI_PRODUCT_C]->dtype;
    g->a_row = form.row[OXI_PRODUCT_A];
    g->a_col = form.column[OXI_PRODUCT_A];
    g->b_row = form.row[OXI_PRODUCT_B];
    g->b_col = form.column[OXI_PRODUCT_B];
    g->c_row = form.row[OXI_PRODUCT_C];
    g->c_col = form.column[OXI_PRODUCT_C];
    g->alpha = form.alpha;
    g->beta = form.beta;
    g->activation = form.activation;
    g->exact = call->exact;
    p->ndim = form.ndim;
    p->form = form;
    p->shape = p->form.shape;
    p->a_stride = p->form.stride[OXI_PRODUCT_A];
    p->b_stride = p->form.stride[OXI_PRODUCT_B];
    p->c_stride = p->form.stride[OXI_PRODUCT_C];
    if (g->c_dtype == OX_C64) oxi_product_split_pairs(p);
    g->way = oxi_gemm_choose_way(g);
}

/* ---- running them -------------------------------------------------------------------------------------- */

static void oxi_product_addend(oxi_gemm *g, const oxi_product_form *form) {
    const ox_tensor *addend = form->t[OXI_PRODUCT_ADDEND];
    if (!addend) return;
    g->addend = oxi_ptr(addend);
    g->addend_dtype = addend->dtype;
    g->addend_row = form->row[OXI_PRODUCT_ADDEND];
    g->addend_col = form->column[OXI_PRODUCT_ADDEND];
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

/* Holds repacked weights that are met as whole lines of whole groups, once or each by its experts' rows;
 * others are put back. */
static oxi_repacked *oxi_product_hold(oxi_product *p, const ox_tensor *a, const ox_tensor *b) {
    const oxi_gemm *g = &p->g;
    oxi_repacked *held = NULL;
    bool rows_of_b = oxi_is_block(g->b_dtype) && g->b_row == 1;
    bool rows_of_a = !rows_of_b && oxi_is_block(g->a_dtype) && g->a_col == 1;
    bool experts = p->form.ids && p->form.expert == g->n * g->k && g->n % OXI_REPACKED_ROWS == 0;
    int64_t many = experts ? b->shape[0] : 1;
    if ((p->ndim == 0 || experts) && rows_of_b) held = oxi_repacked_hold(b, many * g->n, g->b_col, g->k);
    if (p->ndim == 0 && rows_of_a) held = oxi_repacked_hold(a, g->m, g->a_row, g->k);
    p->g.repacked = held != NULL;
    if (held) return held;
    oxi_storage_plain(a->storage);
    oxi_storage_plain(b->storage);
    return NULL;
}

static ox_status oxi_experts_run(const oxi_product *p); /* experts.c */

static ox_status oxi_cpu_product(const oxi_call *call, const oxi_part *part) {
    oxi_product p, whole;
    float *floats = NULL;
    ox_status status = OX_OK;
    oxi_product_plan(&p, call);
    const ox_tensor *a = p.form.t[OXI_PRODUCT_A], *b = p.form.t[OXI_PRODUCT_B], *ids = p.form.ids;
    if (ids) status = oxi_check_indices(oxi_op_name(call), ids, b->shape[0], "a weight");
    if (status != OX_OK || ox_numel(call->out[0]) == 0) return status;
    if (part && part->whole) {
        oxi_product_plan(&whole, part->whole);
        p.g.way = whole.g.way;
    }
    if (part) p.g.shared = part->shared;
    p.g.together = call->together;
    const oxi_call *first = call->together ? call->together->calls : NULL;
    if (first && p.g.way == OXI_WAY_FEW_ROWS && a == first->in[0] &&
        oxi_takes_ratios(call->in[1]->dtype) == oxi_takes_ratios(first->in[1]->dtype))
        p.g.shared = &call->together->shared;
    oxi_repacked *held = oxi_product_hold(&p, a, b);
    p.g.a = oxi_ptr(a);
    p.g.b = oxi_ptr(b);
    p.g.c = oxi_ptr(call->out[0]);
    p.g.a_storage = a->storage;
    p.g.b_storage = b->storage;
    oxi_product_addend(&p.g, &p.form);
    if (!ids) status = oxi_product_bias(&p.g, p.form.bias, &floats);
    if (p.pairs) {
        p.g.addend_dtype = OX_F32;
        p.g.addend_row *= 2;
        p.g.addend_col *= 2;
    }
    if (status == OX_OK) status = ids ? oxi_experts_run(&p) : oxi_product_run(&p);
    oxi_free(floats, (size_t)p.g.n * sizeof(float));
    oxi_repacked_let_go(held);
    return status;
}
