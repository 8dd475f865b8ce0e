/* Softmax, log_softmax, norms and rotary embedding of f64: a few reductions and elementwise calls of the
 * same device, whose small results lie in memory that is given back at once. Rows of f64 are rare enough
 * to go without a shader of their own. Called by rows.c and transformer.c. */

/* One number a row, seen as it is [.., 1, ..] and beside the row's elements. */
typedef struct oxi_vk_row_numbers {
    ox_tensor each, beside;
    ox_storage storage;
    oxi_vk_chunk *chunk;
} oxi_vk_row_numbers;

/* What the steps of a row have in common; status: of the first that failed. */
typedef struct oxi_vk_row_job {
    oxi_vk_device *d;
    ox_status status;
    uint32_t dims;                  /* of a line */
    int64_t length;                 /* its elements */
    ox_tensor out, x, weight, bias; /* of one shape; what stands still has stride 0 */
} oxi_vk_row_job;

static ox_tensor oxi_vk_row_view(const oxi_vk_line_operand *o, int ndim, const int64_t *shape) {
    ox_tensor view = oxi_borrowed(o->t);
    view.ndim = ndim;
    for (int i = 0; i < ndim; i++) {
        view.shape[i] = shape[i];
        view.stride[i] = o->stride[i];
    }
    return view;
}

static void oxi_vk_row_numbers_begin(oxi_vk_row_job *job, oxi_vk_row_numbers *n) {
    int64_t shape[OX_MAX_DIMS];
    for (int i = 0; i < job->x.ndim; i++) shape[i] = job->dims >> i & 1 ? 1 : job->x.shape[i];
    oxi_meta(&n->each, OX_F64, job->x.ndim, shape);
    n->chunk = oxi_vk_borrow(job->d, &n->each, &n->storage);
    if (!n->chunk) job->status = OX_ERR_NOMEM;
    n->beside = n->each;
    for (int i = 0; i < job->x.ndim; i++) {
        n->beside.shape[i] = job->x.shape[i];
        if (job->dims >> i & 1) n->beside.stride[i] = 0;
    }
}

static void oxi_vk_row_numbers_end(oxi_vk_row_job *job, oxi_vk_row_numbers *n) {
    if (n->chunk) oxi_vk_chunk_give(job->d, n->chunk);
}

/* out = op(a, b); b may be NULL. */
static void oxi_vk_row_step(oxi_vk_row_job *job, oxi_op op, ox_tensor *out, ox_tensor *a, ox_tensor *b) {
    ox_tensor *in[2];
    if (job->status != OX_OK) return;
    in[0] = a;
    in[1] = b;
    oxi_call call = oxi_call_of(op, in, b ? 2 : 1, out);
    bool reduces = oxi_op_row_of(op)->family == OXI_FAMILY_REDUCE;
    if (reduces) {
        call.attr = oxi_attrs_power(); /* of norm; what others are told begins with the same members */
        call.attr.reduce.dims = job->dims;
        call.attr.reduce.keepdim = true;
    } else {
        call.attr = oxi_attrs_scale();
    }
    job->status = reduces ? oxi_vk_reduce(job->d, &call) : oxi_vk_map(job->d, &call);
}

/* out = op(a, number) */
static void oxi_vk_row_number(oxi_vk_row_job *job, oxi_op op, ox_tensor *out, ox_tensor *a, double value) {
    ox_storage storage;
    ox_tensor number = oxi_vk_number(OX_F64, &value, &storage);
    oxi_vk_row_step(job, op, out, a, &number);
}

static void oxi_vk_row_softmax(oxi_vk_row_job *job, bool logarithm) {
    oxi_vk_row_numbers n;
    ox_tensor powers = job->out;
    ox_storage storage;
    oxi_vk_chunk *chunk = NULL;
    oxi_vk_row_numbers_begin(job, &n);
    if (logarithm && job->status == OX_OK) {
        oxi_meta(&powers, OX_F64, job->out.ndim, job->out.shape);
        chunk = oxi_vk_borrow(job->d, &powers, &storage);
        if (!chunk) job->status = OX_ERR_NOMEM;
    }
    oxi_vk_row_step(job, OXI_OP_amax, &n.each, &job->x, NULL);
    oxi_vk_row_step(job, OXI_OP_sub, &job->out, &job->x, &n.beside);
    oxi_vk_row_step(job, OXI_OP_exp, &powers, &job->out, NULL);
    oxi_vk_row_step(job, OXI_OP_sum, &n.each, &powers, NULL);
    if (logarithm) oxi_vk_row_step(job, OXI_OP_log, &n.each, &n.each, NULL);
    oxi_vk_row_step(job, logarithm ? OXI_OP_sub : OXI_OP_div, &job->out, &job->out, &n.beside);
    if (chunk) oxi_vk_chunk_give(job->d, chunk);
    oxi_vk_row_numbers_end(job, &n);
}

/* The factor of a row is 1 / sqrt(the mean of squares + epsilon). */
static void oxi_vk_row_norm(oxi_vk_row_job *job, bool centred, double epsilon) {
    oxi_vk_row_numbers mean, factor;
    ox_tensor *x = &job->x;
    oxi_vk_row_numbers_begin(job, &mean);
    oxi_vk_row_numbers_begin(job, &factor);
    if (centred) {
        oxi_vk_row_step(job, OXI_OP_mean, &mean.each, x, NULL);
        oxi_vk_row_step(job, OXI_OP_var, &factor.each, x, NULL);
        oxi_vk_row_step(job, OXI_OP_sub, &job->out, x, &mean.beside);
        x = &job->out;
    } else {
        oxi_vk_row_step(job, OXI_OP_norm, &factor.each, x, NULL);
        oxi_vk_row_step(job, OXI_OP_square, &factor.each, &factor.each, NULL);
        oxi_vk_row_number(job, OXI_OP_div, &factor.each, &factor.each, (double)job->length);
    }
    oxi_vk_row_number(job, OXI_OP_add, &factor.each, &factor.each, epsilon);
    oxi_vk_row_step(job, OXI_OP_rsqrt, &factor.each, &factor.each, NULL);
    oxi_vk_row_step(job, OXI_OP_mul, &job->out, x, &factor.beside);
    if (job->weight.storage) oxi_vk_row_step(job, OXI_OP_mul, &job->out, &job->out, &job->weight);
    if (job->bias.storage) oxi_vk_row_step(job, OXI_OP_add, &job->out, &job->out, &job->bias);
    oxi_vk_row_numbers_end(job, &factor);
    oxi_vk_row_numbers_end(job, &mean);
}

static bool oxi_vk_is_row_double(const oxi_call *call) {
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && call->in[i]->dtype != OX_F64) return false;
    return call->out[0]->dtype == OX_F64;
}

/* o: the result, x, weight, bias over the shape that is cut at `dims`. */
static ox_status oxi_vk_row_double(oxi_vk_device *d, const oxi_row_form *form, int ndim,
                                   const int64_t *shape, uint32_t dims, const oxi_vk_line_operand *o) {
    oxi_vk_row_job job;
    memset(&job, 0, sizeof job);
    job.d = d;
    job.dims = dims;
    job.length = 1;
    for (int i = 0; i < ndim; i++)
        if (dims >> i & 1) job.length *= shape[i];
    job.out = oxi_vk_row_view(&o[0], ndim, shape);
    job.x = oxi_vk_row_view(&o[1], ndim, shape);
    if (o[2].t) job.weight = oxi_vk_row_view(&o[2], ndim, shape);
    if (o[3].t) job.bias = oxi_vk_row_view(&o[3], ndim, shape);
    if (form->finish == OXI_ROW_NORM)
        oxi_vk_row_norm(&job, form->measure == OXI_REDUCES_MOMENTS, form->eps);
    else
        oxi_vk_row_softmax(&job, form->finish == OXI_ROW_LOG_SOFTMAX);
    return job.status;
}

/* ---- rope ---------------------------------------------------------------------------------------------- */

/* out += factor a b */
static void oxi_vk_row_add_product(oxi_vk_row_job *job, double factor, ox_tensor *out, ox_tensor *a,
                                   ox_tensor *b) {
    ox_tensor *in[3];
    in[0] = out;
    in[1] = a;
    in[2] = b;
    oxi_call call = oxi_call_of(OXI_OP_addcmul, in, 3, out);
    call.attr.value.value = factor;
    if (job->status == OX_OK) job->status = oxi_vk_map(job->d, &call);
}

static void oxi_vk_row_copy(oxi_vk_row_job *job, const ox_tensor *from, const ox_tensor *to) {
    if (job->status == OX_OK) job->status = oxi_vk_copy(job->d, from, to);
}

static void oxi_vk_row_make(oxi_vk_row_job *job, oxi_vk_temporary *made, int ndim, const int64_t *shape) {
    memset(made, 0, sizeof *made);
    if (job->status == OX_OK) job->status = oxi_vk_temporary_make(job->d, made, OX_F64, ndim, shape);
}

/* The turning elements of x [.., S, D]: `half` of them from element `first` on, `step` apart. */
static ox_tensor oxi_vk_rope_half(const ox_tensor *x, int64_t first, int64_t half, int64_t step) {
    ox_tensor view = oxi_borrowed(x);
    int last = x->ndim - 1;
    view.offset += first * x->stride[last];
    view.shape[last] = half;
    view.stride[last] = step * x->stride[last];
    return view;
}

/* A table [S, half] seen beside x [.., S, half]. */
static ox_tensor oxi_vk_rope_beside(const ox_tensor *table, const ox_tensor *x) {
    ox_tensor view = oxi_borrowed(table);
    view.ndim = x->ndim;
    for (int i = 0; i < x->ndim; i++) {
        bool own = i >= x->ndim - 2;
        view.shape[i] = x->shape[i];
        view.stride[i] = own ? table->stride[i - (x->ndim - 2)] : 0;
    }
    return view;
}

/* angle [S, half] = position * scale * frequency; frequencies [half]. */
static void oxi_vk_rope_angles(oxi_vk_row_job *job, const oxi_call *call, const ox_tensor *frequencies,
                               ox_tensor *angle) {
    const ox_tensor *positions = call->in[1], *factors = call->in[2];
    ox_tensor each, turned;
    oxi_vk_temporary place, frequency;
    oxi_vk_row_make(job, &place, 1, &angle->shape[0]);
    oxi_vk_row_make(job, &frequency, 1, &angle->shape[1]);
    if (positions)
        oxi_vk_row_copy(job, positions, &place.t);
    else if (job->status == OX_OK)
        job->status = oxi_vk_ramp(job->d, &place.t);
    oxi_vk_row_number(job, OXI_OP_mul, &place.t, &place.t, call->attr.rope.scale);
    oxi_vk_row_copy(job, frequencies, &frequency.t);
    if (factors) {
        oxi_vk_temporary factor;
        oxi_vk_row_make(job, &factor, 1, &angle->shape[1]);
        oxi_vk_row_copy(job, factors, &factor.t);
        oxi_vk_row_step(job, OXI_OP_div, &frequency.t, &frequency.t, &factor.t);
        oxi_vk_temporary_drop(job->d, &factor);
    }
    each = turned = *angle;
    each.storage = place.t.storage;
    each.offset = place.t.offset;
    each.stride[0] = 1;
    each.stride[1] = 0;
    turned.storage = frequency.t.storage;
    turned.offset = frequency.t.offset;
    turned.stride[0] = 0;
    turned.stride[1] = 1;
    oxi_vk_row_step(job, OXI_OP_mul, angle, &each, &turned);
    oxi_vk_temporary_drop(job->d, &place);
    oxi_vk_temporary_drop(job->d, &frequency);
}

/* x [.., S, D]; the result may be x itself, so the first half waits in memory of its own. */
static ox_status oxi_vk_rope_double(oxi_vk_device *d, const oxi_call *call, const ox_tensor *frequencies) {
    const ox_tensor *x = call->in[0], *out = call->out[0];
    const int last = x->ndim - 1;
    const int64_t half = call->attr.rope.dims / 2, table[2] = {x->shape[last - 1], half};
    const bool interleaved = call->attr.rope.interleaved;
    const int64_t step = interleaved ? 2 : 1, other = interleaved ? 1 : half;
    oxi_vk_temporary c, s, turned;
    oxi_vk_row_job job;
    memset(&job, 0, sizeof job);
    job.d = d;
    ox_tensor a = oxi_vk_rope_half(x, 0, half, step), b = oxi_vk_rope_half(x, other, half, step);
    ox_tensor first = oxi_vk_rope_half(out, 0, half, step), second = oxi_vk_rope_half(out, other, half, step);
    oxi_vk_row_make(&job, &c, 2, table);
    oxi_vk_row_make(&job, &s, 2, table);
    oxi_vk_row_make(&job, &turned, a.ndim, a.shape);
    if (job.status == OX_OK && half > 0) {
        ox_tensor cosines = oxi_vk_rope_beside(&c.t, &a), sines = oxi_vk_rope_beside(&s.t, &a);
        oxi_vk_rope_angles(&job, call, frequencies, &s.t);
        oxi_vk_row_step(&job, OXI_OP_cos, &c.t, &s.t, NULL);
        oxi_vk_row_step(&job, OXI_OP_sin, &s.t, &s.t, NULL);
        oxi_vk_row_number(&job, OXI_OP_mul, &c.t, &c.t, call->attr.rope.magnitude);
        oxi_vk_row_number(&job, OXI_OP_mul, &s.t, &s.t, call->attr.rope.magnitude);
        oxi_vk_row_step(&job, OXI_OP_mul, &turned.t, &a, &cosines);
        oxi_vk_row_add_product(&job, -1, &turned.t, &b, &sines);
        oxi_vk_row_step(&job, OXI_OP_mul, &second, &b, &cosines);
        oxi_vk_row_add_product(&job, 1, &second, &a, &sines);
        oxi_vk_row_copy(&job, &turned.t, &first);
    }
    ox_tensor rest = oxi_vk_rope_half(x, 2 * half, x->shape[last] - 2 * half, 1),
              rest_out = oxi_vk_rope_half(out, 2 * half, x->shape[last] - 2 * half, 1);
    oxi_vk_row_copy(&job, &rest, &rest_out);
    oxi_vk_temporary_drop(d, &turned);
    oxi_vk_temporary_drop(d, &s);
    oxi_vk_temporary_drop(d, &c);
    return job.status;
}
