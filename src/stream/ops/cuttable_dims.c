/* Which dims of each family of operations may be cut, so that every part has the bits of the whole. A row of
 * the table is a function that describes the space; a family without one is loaded as a whole.
 * Called by the device. */

enum { OXI_PLAN_OUT = OXI_MAX_IN };

/* Of a stream: neither in RAM nor in the memory of the device that computes. */
static bool oxi_is_streamed(const ox_tensor *t) {
    return ox_device_of(t)->run == oxi_stream_run;
}

/* Puts dim `dim` of an operand along dim d of the space, unless it is broadcast. */
static void oxi_space_map(oxi_stream_plan *plan, int operand, int d, int dim) {
    if (!plan->there[operand] || dim < 0) return;
    if (plan->operand[operand].shape[dim] == plan->space.size[d]) plan->space.dim[operand][d] = dim;
}

/* ---- elementwise ops and copies: every dim of the result --------------------------------------------- */

/* Blocks stay whole: the dim along which an operand's blocks lie is cut between them. */
static void oxi_space_keep_blocks(oxi_stream_plan *plan, int operand) {
    const ox_tensor *t = &plan->operand[operand];
    if (!plan->there[operand] || !oxi_is_block(t->dtype)) return;
    int along = oxi_block_dim(t), block = oxi_info(t->dtype)->block_elements;
    for (int d = 0; d < plan->space.ndim; d++)
        if (plan->space.dim[operand][d] == along && plan->space.unit[d] < block) plan->space.unit[d] = block;
}

static void oxi_space_elementwise(oxi_stream_plan *plan) {
    const ox_tensor *out = &plan->operand[OXI_PLAN_OUT];
    for (int d = 0; d < out->ndim; d++) {
        (void)oxi_space_add(&plan->space, out->shape[d]);
        for (int o = OXI_PLAN_OUT; o < OXI_STREAM_OPERANDS; o++) oxi_space_map(plan, o, d, d);
        for (int i = 0; i < OXI_MAX_IN; i++)
            oxi_space_map(plan, i, d, d - (out->ndim - plan->operand[i].ndim));
    }
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) oxi_space_keep_blocks(plan, i);
}

/* The least number of rows that is, times `inner`, a multiple of `of`. */
static int64_t oxi_space_unit(int64_t of, int64_t inner) {
    int64_t a = of, b = inner;
    for (int64_t rest; b > 0; a = b, b = rest) rest = a % b;
    return of / a;
}

/* The first dim of t, but for `whole`, that there is more than one of; rows along it lie one behind the other
 * in the order of elements. -1: there is none. */
static int oxi_space_first_dim(const ox_tensor *t, int whole) {
    for (int d = 0; d < t->ndim; d++)
        if (d != whole && t->shape[d] > 1) return d;
    return -1;
}

/* Elements that follow from their number: the CPU is told that of a part's first one, whole words of random
 * bits (cpu/generate/random.c) before it. */
static void oxi_space_generated(oxi_stream_plan *plan) {
    const ox_tensor *out = &plan->operand[OXI_PLAN_OUT];
    oxi_generated_kind kind = oxi_generated_form_of(plan->call).kind;
    int d = oxi_space_first_dim(out, -1);
    if (kind == OXI_GENERATES_CONSTANT) oxi_space_elementwise(plan);
    if (kind != OXI_GENERATES_RAMP && kind != OXI_GENERATES_RANDOM) return;
    if (d < 0 || !plan->compute->host) return;
    int at = oxi_space_add(&plan->space, out->shape[d]);
    plan->space.unit[at] = oxi_space_unit(4, ox_numel(out) / out->shape[d]);
    plan->space.dim[OXI_PLAN_OUT][at] = d;
    oxi_space_map(plan, 0, at, d);
}

/* ---- along one dim ----------------------------------------------------------------------------------- */

/* The dims of x that `whole` does not name, in results of the same dims as well. */
static void oxi_space_other_dims(oxi_stream_plan *plan, uint32_t whole) {
    const ox_tensor *x = &plan->operand[0];
    for (int d = 0; d < x->ndim; d++) {
        if (whole >> d & 1) continue;
        int at = oxi_space_add(&plan->space, x->shape[d]);
        plan->space.dim[0][at] = d;
        for (int o = OXI_PLAN_OUT; o < OXI_STREAM_OPERANDS; o++)
            if (plan->there[o]) plan->space.dim[o][at] = d;
    }
}

static void oxi_space_one_dim(oxi_stream_plan *plan) {
    if (plan->operand[0].ndim > 0) oxi_space_other_dims(plan, 1u << plan->call->attr.along.dim);
}

/* What the CPU chooses by strides holds for parts that have those of the whole, and are told the rest. */
static void oxi_space_rows(oxi_stream_plan *plan) {
    const oxi_call *call = plan->call;
    oxi_space_other_dims(plan, oxi_row_form_of(call).inside);
    plan->keeps_strides = !oxi_row_tell(call, &plan->told);
}

/* x [..,S,D]: without positions those of a part would begin at 0 again, so S stays whole. */
static void oxi_space_rope(oxi_stream_plan *plan) {
    int last = plan->operand[0].ndim - 1;
    oxi_space_other_dims(plan, 1u << last | (plan->there[1] ? 0 : 1u << (last - 1)));
    if (plan->there[1]) plan->space.dim[1][plan->space.ndim - 1] = 0;
}

/* ---- products: parts go the way of the whole, which they are told ------------------------------------- */

/* Joins all dims but the last `keep` of an operand, which must lie end to end. */
static bool oxi_plan_join(ox_tensor *t, int keep) {
    int64_t shape[OX_MAX_DIMS], stride[OX_MAX_DIMS];
    if (t->ndim <= keep + 1) return true;
    int lead = t->ndim - keep;
    shape[0] = 1;
    for (int d = 0; d < lead; d++) shape[0] *= t->shape[d];
    for (int d = 0; d < keep; d++) shape[1 + d] = t->shape[lead + d];
    if (!oxi_view_strides(t, keep + 1, shape, stride)) return false;
    t->ndim = keep + 1;
    memcpy(t->shape, shape, (size_t)t->ndim * sizeof *shape);
    memcpy(t->stride, stride, (size_t)t->ndim * sizeof *stride);
    return true;
}

/* Rows of x, all leading dims joined, as one dim of the space; false if they cannot be. */
static bool oxi_space_rows_of_product(oxi_stream_plan *plan) {
    ox_tensor x = plan->operand[0], out = plan->operand[OXI_PLAN_OUT];
    if (x.ndim < 2 || !oxi_plan_join(&x, 1) || !oxi_plan_join(&out, 1)) return false;
    plan->operand[0] = x;
    plan->operand[OXI_PLAN_OUT] = out;
    int d = oxi_space_add(&plan->space, x.shape[0]);
    plan->space.dim[0][d] = plan->space.dim[OXI_PLAN_OUT][d] = 0;
    return true;
}

/* x [..,K], weight [N,K], bias [N] -> [..,N] */
static void oxi_space_linear(oxi_stream_plan *plan) {
    bool rows = plan->streamed[0] || plan->streamed[OXI_PLAN_OUT];
    if (rows && !oxi_space_rows_of_product(plan))
        oxi_space_other_dims(plan, 1u << (plan->operand[0].ndim - 1));
    int d = oxi_space_add(&plan->space, plan->operand[1].shape[0]);
    plan->space.dim[1][d] = 0;
    if (plan->there[2]) plan->space.dim[2][d] = 0;
    plan->space.dim[OXI_PLAN_OUT][d] = plan->operand[OXI_PLAN_OUT].ndim - 1;
}

/* Leading dims of a product, each of a or b or of both: products of their own. */
static void oxi_space_batches(oxi_stream_plan *plan, int leading) {
    const ox_tensor *out = &plan->operand[OXI_PLAN_OUT];
    for (int d = 0; d < leading; d++) {
        int at = oxi_space_add(&plan->space, out->shape[d]);
        plan->space.dim[OXI_PLAN_OUT][at] = d;
        for (int i = 0; i < 2; i++) {
            int own = plan->operand[i].ndim - 2, dim = d - (leading - own);
            if (own > 0) oxi_space_map(plan, i, at, dim);
        }
    }
}

/* a [..,M,K], b [..,K,N] -> [..,M,N], or vectors in place of either */
static void oxi_space_matmul(oxi_stream_plan *plan) {
    int a_dims = plan->operand[0].ndim, b_dims = plan->operand[1].ndim;
    int columns = b_dims > 1, leading = plan->operand[OXI_PLAN_OUT].ndim - (a_dims > 1) - columns;
    bool rows = a_dims > 1 && (plan->streamed[0] || plan->streamed[OXI_PLAN_OUT]);
    if (!(rows && columns && b_dims == 2 && oxi_space_rows_of_product(plan))) {
        oxi_space_batches(plan, leading);
        int d = rows ? oxi_space_add(&plan->space, plan->operand[0].shape[a_dims - 2]) : -1;
        if (rows) plan->space.dim[0][d] = a_dims - 2;
        if (rows) plan->space.dim[OXI_PLAN_OUT][d] = leading;
    }
    if (!columns) return;
    int d = oxi_space_add(&plan->space, plan->operand[1].shape[b_dims - 1]);
    plan->space.dim[1][d] = b_dims - 1;
    plan->space.dim[OXI_PLAN_OUT][d] = plan->operand[OXI_PLAN_OUT].ndim - 1;
}

/* c (broadcast), a [M,K], b [K,N] -> [M,N] */
static void oxi_space_addmm(oxi_stream_plan *plan) {
    for (int side = 0; side < 2; side++) {
        int d = oxi_space_add(&plan->space, plan->operand[1 + side].shape[side]);
        plan->space.dim[1 + side][d] = plan->space.dim[OXI_PLAN_OUT][d] = side;
        oxi_space_map(plan, 0, d, side - (2 - plan->operand[0].ndim));
    }
}

static void oxi_space_product(oxi_stream_plan *plan) {
    oxi_product_roles roles = oxi_product_roles_of(plan->call->op);
    if (roles.transposed)
        oxi_space_linear(plan);
    else if (roles.addend < 0)
        oxi_space_matmul(plan);
    else
        oxi_space_addmm(plan);
}

/* ---- attention ---------------------------------------------------------------------------------------- */

/* A dim of all operands from the last one, of size 1 or `size` (times the group for q, mask and out). */
static void oxi_space_attention_dim(oxi_stream_plan *plan, int from_last, int64_t size, int64_t group) {
    int d = oxi_space_add(&plan->space, size);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
        bool queries = i == 0 || i == 3 || i >= OXI_PLAN_OUT;
        int64_t times = queries ? group : 1;
        int dim = plan->operand[i].ndim - from_last + (i > OXI_PLAN_OUT); /* logsumexp [..,H,S] */
        if (!plan->there[i] || dim < 0 || plan->operand[i].shape[dim] != size * times) continue;
        if (size * times == 1) continue;
        plan->space.dim[i][d] = dim;
        plan->space.times[i][d] = times;
    }
}

/* So many queries, and multiples of them, have tiles of their own on the CPU. */
static int64_t oxi_attention_unit(const oxi_call *call) {
    oxi_attention job;
    oxi_attention_shape(&job, call);
    if (call->in[0]->dtype == OX_F64) return 1;
    oxi_attention_cut(&job);
    return oxi_space_unit(job.tile_rows, job.group);
}

/* Queries, by such tiles; parts are told which they have. */
static void oxi_space_queries(oxi_stream_plan *plan) {
    const ox_tensor *q = &plan->operand[0], *mask = &plan->operand[3];
    int64_t queries = q->shape[q->ndim - 2];
    if (!plan->compute->host) return;
    int d = oxi_space_add(&plan->space, queries);
    plan->space.unit[d] = oxi_attention_unit(plan->call);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++)
        if (plan->there[i] && (i == 0 || i >= OXI_PLAN_OUT))
            plan->space.dim[i][d] = q->ndim - 2; /* logsumexp [..,H,S] */
    if (plan->there[3] && mask->ndim > 1) oxi_space_map(plan, 3, d, mask->ndim - 2);
    plan->told.queries = queries;
    plan->told_dim = d + 1;
}

/* q, out [..,H,S,D], k, v [..,Hkv,T,D], mask [..,H,S,T] or broadcast, sinks [H]: heads that share keys stay
 * together. How the keys of a head are cut depends on how many heads there are, so parts are told. */
static void oxi_space_attention(oxi_stream_plan *plan) {
    const ox_tensor *q = &plan->operand[0], *k = &plan->operand[1];
    if (q->ndim < 3 || k->ndim != q->ndim || plan->operand[2].ndim != q->ndim) {
        oxi_space_queries(plan);
        return;
    }
    int64_t heads = k->shape[k->ndim - 3], group = heads > 0 ? q->shape[q->ndim - 3] / heads : 1;
    plan->told.heads = heads;
    for (int d = 0; d < q->ndim - 3; d++) {
        plan->told.heads *= q->shape[d];
        oxi_space_attention_dim(plan, q->ndim - d, q->shape[d], 1);
    }
    oxi_space_attention_dim(plan, 3, heads, group);
    if (plan->there[4]) {
        plan->space.dim[4][plan->space.ndim - 1] = 0;
        plan->space.times[4][plan->space.ndim - 1] = group;
    }
    oxi_space_queries(plan);
}

/* g, q [..,H,S,D], k, v [..,Hkv,T,D], mask; logsumexp [..,H,S] and the result, or sinks [H]: results are
 * gradients of q, k, v. Heads, as on the way there; what queries add to their keys stays in one part. */
static void oxi_space_attention_back(oxi_stream_plan *plan) {
    const ox_tensor *q = &plan->operand[1], *k = &plan->operand[2];
    if (q->ndim < 3 || k->ndim != q->ndim || !plan->compute->host) return;
    int64_t heads = k->shape[k->ndim - 3], group = heads > 0 ? q->shape[q->ndim - 3] / heads : 1;
    bool known = plan->call->in_count > 6;
    plan->told.heads = heads;
    for (int from_last = q->ndim; from_last >= 3; from_last--) {
        bool leading = from_last > 3, added = false;
        int64_t size = leading ? q->shape[q->ndim - from_last] : heads;
        int d = oxi_space_add(&plan->space, size);
        if (leading) plan->told.heads *= size;
        for (int i = 0; i < OXI_STREAM_OPERANDS; i++) {
            bool keys = i == 2 || i == 3 || i == OXI_PLAN_OUT + 1 || i == OXI_PLAN_OUT + 2;
            bool sinks = i == 5 && !known;
            int64_t times = keys || leading ? 1 : group;
            int dim = sinks ? (leading ? -1 : 0) : plan->operand[i].ndim - from_last + (i == 5);
            if (!plan->there[i] || dim < 0 || size * times == 1) continue;
            bool alike = plan->operand[i].shape[dim] == size * times;
            added = added || (!alike && i >= OXI_PLAN_OUT); /* all of them go to one result */
            if (!alike) continue;
            plan->space.dim[i][d] = dim;
            plan->space.times[i][d] = times;
        }
        for (int i = 0; i < OXI_STREAM_OPERANDS && added; i++) plan->space.dim[i][d] = -1;
        if (added) plan->space.size[d] = 1;
    }
}

/* ---- by index ----------------------------------------------------------------------------------------- */

/* Dims along which operands lie side by side; the indices of the one that is indexed; and, where parts run in
 * order, of that one a slice at a time, which reads or changes what its indices say. */
static void oxi_space_index(oxi_stream_plan *plan) {
    const oxi_index_form *form = oxi_index_form_of(plan->call->op);
    const ox_tensor *x = &plan->operand[0], *index = &plan->operand[1], *out = &plan->operand[OXI_PLAN_OUT];
    bool picks = form->kind == OXI_INDEX_PICK, each = form->by == OXI_BY_EACH;
    int along = plan->call->attr.along.dim, last = picks ? OXI_PLAN_OUT : 2;
    if ((!picks && form->kind != OXI_INDEX_PUT) || form->by == OXI_BY_ROWS) return;
    if (x->ndim == 0 || index->ndim == 0) return;
    for (int d = 0; d < x->ndim; d++) {
        bool alike = picks || !each || index->shape[d] == x->shape[d]; /* else some have no indices */
        if (d == along || !alike) continue;
        int at = oxi_space_add(&plan->space, out->shape[d]);
        plan->space.dim[0][at] = plan->space.dim[last][at] = plan->space.dim[OXI_PLAN_OUT][at] = d;
        if (each) plan->space.dim[1][at] = d;
    }
    bool again = !plan->in_order && plan->streamed[0]; /* all of it would come for each part */
    int at = picks && !again ? oxi_space_add(&plan->space, out->shape[along]) : -1;
    if (at >= 0) plan->space.dim[1][at] = each ? along : 0;
    if (at >= 0) plan->space.dim[OXI_PLAN_OUT][at] = along;
    if (!plan->in_order || !plan->compute->host) return;
    at = oxi_space_add(&plan->space, x->shape[along]);
    plan->space.dim[0][at] = along;
    if (!picks) plan->space.dim[OXI_PLAN_OUT][at] = along;
    plan->told.sliced = true;
    plan->told_dim = at + 1;
}

/* ---- convolutions: samples, but for what sums over them ----------------------------------------------- */

static void oxi_space_samples(oxi_stream_plan *plan) {
    if (plan->call->op == OXI_OP_conv_back_weight) return;
    int d = oxi_space_add(&plan->space, plan->operand[0].shape[0]);
    plan->space.dim[0][d] = plan->space.dim[OXI_PLAN_OUT][d] = 0;
}

static void oxi_space_planes(oxi_stream_plan *plan) {
    const ox_tensor *x = &plan->operand[0];
    int planes = x->ndim - (int)plan->call->attr.pool.dims;
    oxi_space_other_dims(plan, (1u << x->ndim) - (1u << planes));
}

/* ---- memories: heads, which all operands begin with ---------------------------------------------------- */

static void oxi_space_heads(oxi_stream_plan *plan) {
    const int d = oxi_space_add(&plan->space, plan->operand[OXI_PLAN_OUT].shape[0]);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) oxi_space_map(plan, i, d, 0);
}

/* ---- matrices and lines of transforms ------------------------------------------------------------------ */

static void oxi_space_matrices(oxi_stream_plan *plan) {
    const ox_tensor *x = &plan->operand[0];
    for (int d = 0; d + 2 < x->ndim && plan->compute->host; d++) {
        int at = oxi_space_add(&plan->space, x->shape[d]);
        for (int i = 0; i < OXI_STREAM_OPERANDS; i++) oxi_space_map(plan, i, at, d);
    }
}

#ifndef OX_NO_FFT
/* Lines along which nothing is transformed. */
static void oxi_space_transforms(oxi_stream_plan *plan) {
    const ox_tensor *x = &plan->operand[0];
    int along = plan->call->attr.fourier.dim, d = oxi_space_first_dim(x, along);
    if (d < 0 || !plan->compute->host) return;
    int at = oxi_space_add(&plan->space, x->shape[d]);
    int64_t inner = ox_numel(x) / x->shape[along] / x->shape[d];
    plan->space.unit[at] = oxi_space_unit(oxi_fft_unit(plan->call), inner);
    plan->space.dim[0][at] = plan->space.dim[OXI_PLAN_OUT][at] = d;
}
#else
static void oxi_space_transforms(oxi_stream_plan *plan) { (void)plan; }
#endif

/* ---- gradients in one pass (autograd/back): g, x or y and the results lie side by side, so only the first
 * dim of more than one is cut; of rows -------------------------------------------------------------- */

/* What rows add up to goes to weight and bias: parts that run in order go on where those before stopped, by
 * whole tasks of the CPU. */
static bool oxi_space_adds_up(oxi_stream_plan *plan, int d, int rows) {
    const ox_tensor *x = &plan->operand[1];
    int64_t inner = 1, n = 1;
    bool fits = plan->in_order && plan->compute->host;
    for (int k = 1; k < plan->call->out_count; k++) fits = fits && plan->call->out[k]->dtype == OX_F32;
    if (!fits) return false;
    for (int k = d + 1; k < rows; k++) inner *= x->shape[k];
    for (int k = rows; k < x->ndim; k++) n *= x->shape[k];
    plan->told.rows = oxi_back_task_rows(x->shape[d] * inner, n);
    plan->space.unit[oxi_space_add(&plan->space, x->shape[d])] = oxi_space_unit(plan->told.rows, inner);
    return true;
}

static void oxi_space_back(oxi_stream_plan *plan) {
    const ox_tensor *x = &plan->operand[1];
    int rows = 0, d = 0, inside = 0;
    switch (plan->call->op) {
    case OXI_OP_attention_back: oxi_space_attention_back(plan); return;
    case OXI_OP_gelu_back:
    case OXI_OP_gelu_tanh_back:
    case OXI_OP_silu_back: break;
    case OXI_OP_softmax_back:
    case OXI_OP_log_softmax_back: inside = 1; break;
    case OXI_OP_layer_norm_back:
    case OXI_OP_rms_norm_back: inside = (int)plan->call->attr.norm.last_dims; break;
    default: return;
    }
    rows = x->ndim - inside;
    while (d < rows && x->shape[d] == 1) d++;
    if (d == rows) return;
    if (plan->call->out_count == 1)
        (void)oxi_space_add(&plan->space, x->shape[d]);
    else if (!oxi_space_adds_up(plan, d, rows))
        return;
    plan->space.dim[0][0] = plan->space.dim[1][0] = plan->space.dim[OXI_PLAN_OUT][0] = d;
}

/* ---- the table --------------------------------------------------------------------------------------- */

typedef void (*oxi_space_fn)(oxi_stream_plan *plan);

/* By family, in the order of oxi_family. NULL: nothing is cut. */
static const oxi_space_fn oxi_spaces[OXI_FAMILY_COMPUTED] = {
    oxi_space_elementwise,
    oxi_space_elementwise,
    oxi_space_generated,
    oxi_space_generated,
    NULL,
    oxi_space_one_dim,
    oxi_space_one_dim,
    oxi_space_rows,
    oxi_space_index,
    oxi_space_product,
    oxi_space_rope,
    oxi_space_attention,
    oxi_space_samples,
    oxi_space_planes,
    oxi_space_heads,
    oxi_space_elementwise,
    oxi_space_back,
    oxi_space_elementwise,
    oxi_space_matrices,
    oxi_space_transforms,
};

static void oxi_plan_operand(oxi_stream_plan *plan, int at, const ox_tensor *t) {
    if (!t) return;
    plan->operand[at] = oxi_borrowed(t);
    plan->operand[at].is_number = t->is_number;
    plan->there[at] = true;
    plan->streamed[at] = oxi_is_streamed(t);
}

/* The operands of a call, with nothing cut yet. */
static void oxi_plan_operands(oxi_stream_plan *plan, ox_device *compute, const oxi_call *call) {
    memset(plan, 0, sizeof *plan);
    plan->compute = compute;
    plan->call = call;
    plan->told.whole = call;
    plan->flow.prepare = oxi_plan_prepare;
    plan->flow.compute = oxi_plan_compute;
    plan->flow.device = compute->host ? NULL : compute;
    for (int i = 0; i < call->in_count; i++) oxi_plan_operand(plan, i, call->in[i]);
    for (int i = 0; i < call->out_count && OXI_PLAN_OUT + i < OXI_STREAM_OPERANDS; i++)
        oxi_plan_operand(plan, OXI_PLAN_OUT + i, call->out[i]);
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++) plan->flow.cells += plan->streamed[i];
}

/* The dims along which the call may be cut; none where an operand is empty. */
static void oxi_plan_find_space(oxi_stream_plan *plan) {
    oxi_space_fn space = oxi_spaces[oxi_op_row_of(plan->call->op)->family];
    bool empty = false;
    for (int i = 0; i < OXI_STREAM_OPERANDS; i++)
        empty = empty || (plan->there[i] && ox_numel(&plan->operand[i]) == 0);
    if (space && !empty && plan->call->out_count <= OXI_STREAM_OPERANDS - OXI_PLAN_OUT) space(plan);
}

/* A call and the dims along which it may be cut. */
static void oxi_plan_open(oxi_stream_plan *plan, ox_device *compute, const oxi_call *call) {
    oxi_plan_operands(plan, compute, call);
    oxi_plan_find_space(plan);
}

/* ---- running a plan ----------------------------------------------------------------------------------- */

/* Most bytes of an operand in a tile: what a cell of the usual size holds wherever a page begins. */
static size_t oxi_stream_room(const ox_stream *stream) {
    return stream->desc.tile_bytes - 2 * OXI_STREAM_PAGE;
}

/* The first operand of a product is packed, or quantized, once for all parts that have it whole. */
static bool oxi_plan_shares(const oxi_stream_plan *plan) {
    int x = oxi_product_roles_of(plan->call->op).a;
    if (oxi_op_row_of(plan->call->op)->family != OXI_FAMILY_PRODUCT) return false;
    if (oxi_is_block(plan->operand[x].dtype)) x++;
    bool shares = !plan->streamed[x];
    for (int d = 0; d < plan->space.ndim; d++)
        shares = shares && (plan->space.dim[x][d] < 0 || plan->parts[d] == 1);
    return shares;
}

static ox_status oxi_stream_run_cut(ox_stream *stream, oxi_stream_plan *plan) {
    if (plan->flow.cell_bytes > oxi_stream_room(stream)) stream->stats.whole_loads++;
    plan->told.shared = oxi_plan_shares(plan) ? &plan->shared : NULL;
    ox_status status = oxi_flow_run_all(stream, &plan->flow);
    oxi_free(plan->shared.memory, plan->shared.bytes);
    return status;
}

static ox_status oxi_stream_run_plan(ox_stream *stream, oxi_stream_plan *plan) {
    oxi_plan_cut(plan, oxi_stream_room(stream));
    return oxi_stream_run_cut(stream, plan);
}
