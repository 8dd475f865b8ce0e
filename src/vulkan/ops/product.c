/* Matrix products: matmul, linear and addmm as c = act(alpha a b + beta addend + bias) over strided memory.
 * Few rows against columns that lie along k take product_rows.comp or, with weights of block types,
 * product_dot.comp, which read each weight once; everything else goes through tiles in shared memory. Called
 * by the Vulkan device for PRODUCT, and by fuse.c for several calls at once. */

enum {
    OXI_VK_PRODUCT_ROWS = 8,
    OXI_VK_LINES = 8,     /* of a workgroup for few rows, .. */
    OXI_VK_DOT_LINES = 16, /* .. and where each rounds a, which is the faster the more they are */
    OXI_VK_LINE_LANES = 32,
    OXI_VK_FEW_GROUPS = 528,       /* workgroups for few rows: four of each multiprocessor of an H200, .. */
    OXI_VK_DOT_GROUPS = 132,       /* .. and one where each rounds a */
    OXI_VK_EXPAND_ROWS = 128,      /* of a, from which on weights of block types are expanded first */
    OXI_VK_EXPAND_BYTES = 1 << 28, /* most that they may take then */
    OXI_VK_LAY_LEAST = 128,        /* rows, columns and terms of products whose operands are copied first, */
    OXI_VK_LAY_BYTES = 1 << 30,    /* and the most that a copy may take */
    OXI_VK_PARTS = 16,             /* most parts of k that are products of their own */
    OXI_VK_PART_LEAST = 512,       /* of k in a part */
    OXI_VK_MOST_SLOTS = 65535      /* workgroups along z */
};

/* Tiles of c that a workgroup takes, the largest first; a product takes the first row that makes `least` of
 * them or more and whose shared memory the device has. */
typedef struct oxi_vk_tiling {
    uint32_t m, n, deep;     /* of c, and along k at a time */
    uint32_t subs_m, subs_n; /* subgroups of cooperative matrices; 0: an invocation takes m/16 x n/16 */
    uint32_t stages, shared; /* bytes */
    uint32_t least;
} oxi_vk_tiling;

typedef struct oxi_vk_product {
    oxi_product_form form;    /* of block types, b is */
    int64_t whole_m, whole_n; /* of the call that this is a part of: they decide in what order is summed */
    bool own;                 /* each row has an expert of its own, and results are weighed and summed */
    bool padded[3];           /* by zeros behind each line of operand t, whose copy is laid out so */
    bool weights;             /* b is a layer's: what meets it may be rounded */
    bool rough;               /* and ox_set_exact did not ask for more */
} oxi_vk_product;

static bool oxi_vk_product_reads(ox_dtype dtype) {
    switch (dtype) {
    case OX_F16:
    case OX_BF16:
    case OX_F32:
    case OX_F8_E4M3:
    case OX_F8_E5M2: return true;
    default: return false;
    }
}

/* Integers meet their own kind, in product_integer.comp. */
static bool oxi_vk_can_product_integer(const oxi_call *call) {
    oxi_product_form form;
    oxi_product_form_of(call, &form);
    bool known = form.activation == OX_ACTIVATION_NONE;
    for (int i = 0; i < call->in_count; i++)
        known = known && (!call->in[i] || (oxi_is_int(call->in[i]->dtype) && oxi_vk_fits(call->in[i])));
    return known;
}

/* f64 meets f64, and block types, which are expanded to it. */
static bool oxi_vk_can_product_double(const oxi_vk_device *d, const oxi_call *call) {
    oxi_product_form form;
    oxi_product_form_of(call, &form);
    bool known = form.activation <= OX_ACTIVATION_RELU;
    for (int i = 0; i < call->in_count; i++) {
        const ox_tensor *t = call->in[i];
        known = known && (!t || ((t->dtype == OX_F64 || oxi_vk_expands(t->dtype)) && oxi_vk_fits(t)));
    }
    return known && d->caps & OX_VULKAN_CAP_F64;
}

static bool oxi_vk_product_takes(const ox_tensor *t) {
    return (oxi_vk_product_reads(t->dtype) || oxi_vk_expands(t->dtype)) && oxi_vk_fits(t);
}

/* Experts: what a shader finds wrong is told where the bias or the books are not; blocks of f64 and empty
 * results, of which only the numbers of experts count, are left to the CPU. */
static bool oxi_vk_can_experts(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *c = call->out[0], *w = call->in[1], *bias = call->in[3];
    if (oxi_vk_needs_books(w->dtype) && bias) return false;
    if (ox_numel(w) == 0 || ox_numel(call->in[2]) > OXI_VK_MOST_SLOTS) return false;
    bool wide = c->dtype == OX_F64, known = !wide || (d->caps & OX_VULKAN_CAP_F64 && !oxi_is_block(w->dtype));
    for (int i = 0; i < 4; i++)
        if (i != 2 && call->in[i])
            known = known && (wide ? oxi_vk_fits(call->in[i]) : oxi_vk_product_takes(call->in[i]));
    return known && (wide || oxi_vk_product_reads(c->dtype));
}

static bool oxi_vk_can_product(const oxi_vk_device *d, const oxi_call *call) {
    const ox_tensor *c = call->out[0];
    if (!oxi_vk_fits(c)) return false;
    if (oxi_op_row_of(call->op)->operands == &oxi_operands_experts) return oxi_vk_can_experts(d, call);
    if (c->dtype == OX_F64) return oxi_vk_can_product_double(d, call);
    if (oxi_is_int(c->dtype)) return oxi_vk_can_product_integer(call);
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && !oxi_vk_product_takes(call->in[i])) return false;
    return oxi_vk_product_reads(c->dtype);
}

/* c^T = b^T a^T: what is a becomes b, where shaders take block types. */
static void oxi_vk_product_swap(oxi_product_form *p) {
    const ox_tensor *a = p->t[1];
    int64_t m = p->m, row[4], column[4];
    memcpy(row, p->row, sizeof row);
    memcpy(column, p->column, sizeof column);
    p->t[1] = p->t[2];
    p->t[2] = a;
    p->m = p->n;
    p->n = m;
    for (int i = 0; i < 4; i++) {
        int from = i == 1 ? 2 : i == 2 ? 1 : i;
        p->row[i] = column[from];
        p->column[i] = row[from];
    }
    for (int e = 0; e < p->ndim; e++) {
        int64_t stride = p->stride[1][e];
        p->stride[1][e] = p->stride[2][e];
        p->stride[2][e] = stride;
    }
}

/* whole: of which the call is a part, or NULL. */
static oxi_vk_product oxi_vk_product_of(const oxi_call *call, const oxi_call *whole_call) {
    oxi_vk_product p;
    memset(&p, 0, sizeof p);
    oxi_product_form_of(call, &p.form);
    if (oxi_is_block(p.form.t[OXI_PRODUCT_A]->dtype)) oxi_vk_product_swap(&p.form);
    p.weights = p.form.layer || oxi_is_block(p.form.t[OXI_PRODUCT_B]->dtype);
    oxi_product_form_join(&p.form);
    p.whole_m = p.form.m;
    p.whole_n = p.form.n;
    if (whole_call) {
        oxi_vk_product whole = oxi_vk_product_of(whole_call, NULL);
        p.whole_m = whole.form.m;
        p.whole_n = whole.form.n;
    }
    return p;
}

/* Strides and places as the shader counts: elements, or bytes of block types along their rows. */
static uint32_t oxi_vk_product_units(const ox_tensor *t, int64_t elements) {
    if (!oxi_is_block(t->dtype)) return (uint32_t)elements;
    const ox_dtype_info *info = oxi_info(t->dtype);
    return (uint32_t)(elements / info->block_elements * info->block_bytes);
}

static void oxi_vk_product_params_of(const oxi_vk_product *p, oxi_vk_product_params *out) {
    memset(out, 0, sizeof *out);
    out->m = (uint32_t)p->form.m;
    out->n = (uint32_t)p->form.n;
    out->k = (uint32_t)p->form.k;
    out->lead = (uint32_t)p->form.ndim;
    out->alpha = oxi_vk_float_bits(p->form.alpha);
    out->beta = oxi_vk_float_bits(p->form.beta);
    for (int i = 0; i < 4; i++) {
        const ox_tensor *t = p->form.t[i];
        if (!t) continue;
        out->at[i] = oxi_is_block(t->dtype) ? (uint32_t)oxi_vk_byte_at(t) : oxi_vk_element_at(t);
        out->row[i] = oxi_vk_product_units(t, p->form.row[i]);
        out->column[i] = oxi_vk_product_units(t, p->form.column[i]);
        for (int e = 0; e < p->form.ndim; e++)
            out->stride[e][i] = oxi_vk_product_units(t, p->form.stride[i][e]);
    }
    for (int e = 0; e < p->form.ndim; e++) out->shape[e] = (uint32_t)p->form.shape[e];
    if (!p->form.ndim) out->shape[0] = 1;
    if (p->form.bias) {
        out->bias_at = oxi_vk_element_at(p->form.bias);
        out->bias_stride = (uint32_t)p->form.bias->stride[p->form.bias->ndim - 1];
    }
    if (!p->form.ids) return;
    out->experts = (uint32_t)p->form.t[2]->shape[0];
    out->expert_b = oxi_vk_product_units(p->form.t[2], p->form.expert);
    out->expert_bias = p->form.bias ? (uint32_t)p->form.bias->stride[0] : 0;
    out->at[3] = oxi_vk_element_at(p->form.ids);
    for (int e = 0; e < p->form.ndim; e++) out->stride[e][3] = (uint32_t)p->form.ids->stride[e];
}

/* Whether operand t begins at a multiple of `each` elements in every matrix and every line of it. */
static bool oxi_vk_product_aligned(const oxi_vk_product *p, const oxi_vk_product_params *params, int t,
                                   int64_t line, uint32_t each) {
    bool aligned = line % each == 0 && params->at[t] % each == 0;
    for (int e = 0; e < p->form.ndim; e++) aligned = aligned && params->stride[e][t] % each == 0;
    return aligned;
}

/* By how the numbers get there: as f32, as they are to cooperative matrices, expanded from blocks to them. */
typedef enum oxi_vk_way { OXI_VK_WAY_F32, OXI_VK_WAY_MATRICES, OXI_VK_WAY_BLOCKS, OXI_VK_WAYS } oxi_vk_way;

static const oxi_vk_tiling oxi_vk_tilings[OXI_VK_WAYS][4] = {
    {{128, 128, 16, 0, 0, 1, 16896, 100}, {64, 64, 16, 0, 0, 1, 8704, 0}},
    {{128, 128, 64, 2, 2, 1, 36864, 100},
     {64, 128, 64, 2, 2, 1, 27648, 100},
     {64, 64, 64, 2, 2, 1, 18432, 1},
     {64, 64, 32, 2, 2, 1, 10240, 0}},
    {{128, 128, 32, 2, 4, 1, 20480, 100}, {64, 64, 32, 2, 2, 1, 10240, 0}},
};

static uint64_t oxi_vk_tiles(const oxi_vk_product *p, const oxi_vk_tiling *row, uint64_t batches) {
    return (uint64_t)((p->whole_m + row->m - 1) / row->m) * (uint64_t)((p->whole_n + row->n - 1) / row->n) *
           batches;
}

/* Whether c is cut into enough tiles that are not half empty. */
static bool oxi_vk_tiling_suits(const oxi_vk_device *d, const oxi_vk_product *p, const oxi_vk_tiling *row,
                                uint64_t batches, oxi_vk_way way) {
    if (row->shared > d->limits.maxComputeSharedMemorySize) return false;
    if (oxi_vk_tiles(p, row, batches) < row->least) return false;
    if (way != OXI_VK_WAY_MATRICES || row->m * row->n <= 64 * 64) return true;
    return p->whole_m > row->m / 2 && p->whole_n > row->n / 2;
}

static const oxi_vk_tiling *oxi_vk_tiling_of(const oxi_vk_device *d, const oxi_vk_product *p,
                                             uint64_t batches, oxi_vk_way way) {
    const oxi_vk_tiling *row = oxi_vk_tilings[way];
    while (row->least && !oxi_vk_tiling_suits(d, p, row, batches, way)) row++;
    return row;
}

/* Whether what is contiguous of operand t (1 = a, 2 = b) comes in aligned groups of `each` elements. */
static bool oxi_vk_product_wide(const oxi_vk_product *p, const oxi_vk_product_params *params, int t,
                                uint32_t each) {
    bool along = t == 1 ? p->form.column[1] == 1 : p->form.row[2] == 1;
    if (oxi_is_block(p->form.t[t]->dtype)) return true;
    if (!along && (t == 1 ? p->form.row[1] : p->form.column[2]) != 1) return false;
    int64_t size = along ? p->form.k : t == 1 ? p->form.m : p->form.n;
    int64_t line = along == (t == 1) ? p->form.row[t] : p->form.column[t];
    return (size % each == 0 || p->padded[t]) && oxi_vk_product_aligned(p, params, t, line, each);
}

/* The shader of cooperative matrices for this product, or OXI_VK_SHADER_COUNT, wherever operands lie. Rows
 * that meet weights of another type are rounded to what the matrices take. */
static oxi_vk_shader oxi_vk_matrix_shader_by_types(const oxi_vk_device *d, const oxi_vk_product *p) {
    ox_dtype a = p->form.t[1]->dtype, b = p->form.t[2]->dtype;
    bool rough = p->rough && a == OX_F32;
    bool half = b == OX_F16 || b == OX_BF16;
    if (p->whole_m < 32 || p->form.k < 32 || p->whole_n < 32) return OXI_VK_SHADER_COUNT;
    if (!(a == b && half) && !(rough && (half || oxi_is_block(b)))) return OXI_VK_SHADER_COUNT;
    if (a == OX_F32 && p->form.column[1] != 1) return OXI_VK_SHADER_COUNT;
    if (b != OX_F16 && d->caps & OX_VULKAN_CAP_BF16) return OXI_VK_SHADER_product_tiles_bf16;
    return b == OX_F16 && d->caps & OX_VULKAN_CAP_COOPERATIVE ? OXI_VK_SHADER_product_tiles
                                                              : OXI_VK_SHADER_COUNT;
}

/* The same of operands as they lie. */
static oxi_vk_shader oxi_vk_matrix_shader(const oxi_vk_device *d, const oxi_vk_product *p,
                                          const oxi_vk_product_params *params) {
    bool wide = oxi_vk_product_wide(p, params, 1, 8) && oxi_vk_product_wide(p, params, 2, 8);
    return wide ? oxi_vk_matrix_shader_by_types(d, p) : OXI_VK_SHADER_COUNT;
}

/* ---- few rows ------------------------------------------------------------------------------------------ */

/* Products with few rows of one a, and what stands before and behind them: fuse.c finds such groups. */
typedef struct oxi_vk_product_group {
    const oxi_call *product[OXI_VK_GROUP];
    int products;          /* of one a and with one type of weights */
    bool pair;             /* two of the same size, for a gate */
    const oxi_call *norm;  /* that makes a, or NULL */
    bool writes_normal;    /* its result is not in memory yet */
    const oxi_call *post;  /* rms_norm whose result is to be added to x, which the norm or a is of */
    const ox_tensor *x;    /* with post */
    const oxi_call *weigh, *sum; /* mul_ of the only product's result, of experts, and its sum; or NULL */
    const oxi_call *tail;  /* add_ of the only product or that sum, silu_mul or gelu_mul of both, or NULL */
    const oxi_call *whole; /* of which the product is a part, or NULL */
} oxi_vk_product_group;

static bool oxi_vk_product_is_few(const oxi_vk_product *p) {
    return p->whole_m <= OXI_VK_PRODUCT_ROWS && (oxi_is_block(p->form.t[2]->dtype) || p->form.row[2] == 1);
}

/* Sixteens of weights that an invocation of product_dot.comp takes at a time; 0: the type has no such way. */
static uint32_t oxi_vk_dot_parts(ox_dtype dtype) {
    switch (dtype) {
    case OX_Q8_0:
    case OX_Q4_0:
    case OX_Q4_1:
    case OX_Q5_0:
    case OX_Q5_1: return 2;
    case OX_Q4_K:
    case OX_Q5_K:
    case OX_Q6_K: return 4;
    default: return 0;
    }
}

/* What is added to a product's columns, or NULL. */
static const ox_tensor *oxi_vk_bias_of(const oxi_call *product) {
    return product->in[product->op == OXI_OP_linear_experts ? 3 : 2];
}

/* How a product with few rows is shared out: lines of a team, columns of a line, chunks in flight. */
typedef struct oxi_vk_few {
    bool dot, staged;
    uint32_t lines, split, columns, ahead, shared; /* bytes of a in shared memory */
} oxi_vk_few;

/* Neighbors that are added as a subgroup, 1 where that is not known to work. */
static uint32_t oxi_vk_few_lanes(const oxi_vk_device *d) {
    uint32_t both = OX_VULKAN_CAP_SUBGROUP | OX_VULKAN_CAP_SIZES;
    return (d->caps & both) == both && d->subgroup_size <= OXI_VK_LINE_LANES ? d->subgroup_size : 1;
}

static uint32_t oxi_vk_few_shared(const oxi_vk_device *d, const oxi_vk_few *f, const oxi_vk_product *p) {
    uint32_t outputs = (uint32_t)p->whole_m * f->columns, lines = f->lines / f->split;
    uint32_t lanes = oxi_vk_few_lanes(d), sums = OXI_VK_LINE_LANES * f->split / lanes;
    return f->shared + 256 + 4 * lines * outputs * (sums + 1) + 4 * OXI_VK_LINE_LANES * f->lines / lanes;
}

/* Lines of a workgroup of product_dot.comp: as many as the device has room for. */
static uint32_t oxi_vk_dot_lines(const oxi_vk_device *d) {
    const uint32_t threads = OXI_VK_LINE_LANES * OXI_VK_DOT_LINES;
    const bool sized = d->caps & OX_VULKAN_CAP_SIZES && d->subgroup_size > 0;
    if (threads > d->limits.maxComputeWorkGroupInvocations) return OXI_VK_LINES;
    return sized && threads / d->subgroup_size > d->subgroups_most ? OXI_VK_LINES : OXI_VK_DOT_LINES;
}

/* Words that an invocation fetches where its subgroup does it together for units of Q6_K. */
static uint32_t oxi_vk_stage_words(uint32_t lanes) {
    return (lanes / 4 * (uint32_t)oxi_info(OX_Q6_K)->block_bytes + 5) / 4 / lanes + 1;
}

/* Few columns are shared by several lines, many are taken in pairs that read a once: what an H200 likes.
 * made: a is not what lies in memory, but made by each workgroup. own: each row has an expert of its own. */
static oxi_vk_few oxi_vk_few_of(const oxi_vk_device *d, const oxi_vk_product *p, int64_t n, bool wide,
                                bool pair, bool made, bool own) {
    const uint32_t m = (uint32_t)p->whole_m, k = (uint32_t)p->form.k;
    const uint32_t parts = oxi_vk_dot_parts(p->form.t[2]->dtype);
    oxi_vk_few f;
    memset(&f, 0, sizeof f);
    f.split = 1;
    f.lines = oxi_vk_dot_lines(d);
    f.columns = pair || (n >= 2048 && m <= 4 && !own) ? 2 : 1;
    f.shared = 24 * m * (k / 16) + 4 * m; /* bytes, and two floats for sixteen of them */
    f.dot = parts && d->caps & OX_VULKAN_CAP_DOT && p->rough && wide && p->form.t[1]->dtype == OX_F32 &&
            oxi_vk_few_shared(d, &f, p) <= d->limits.maxComputeSharedMemorySize;
    if (f.dot && p->form.t[2]->dtype == OX_Q6_K && !pair && !own && oxi_vk_few_lanes(d) >= 4) {
        oxi_vk_few staged = f;
        staged.shared += 4 * OXI_VK_LINE_LANES * f.lines * oxi_vk_stage_words(oxi_vk_few_lanes(d));
        f.staged = oxi_vk_few_shared(d, &staged, p) <= d->limits.maxComputeSharedMemorySize;
    }
    if (!f.dot) f.shared = made ? 4 * m * k : 0;
    if (!f.dot) f.lines = OXI_VK_LINES;
    if (f.dot && !pair) f.columns = 1; /* little code: it is fetched anew for each dispatch */
    uint32_t units = (f.dot ? k / 16 / parts : k / 16) * (own ? m : 1);
    const int64_t enough = f.dot ? OXI_VK_DOT_GROUPS * OXI_VK_DOT_LINES / 2 : 8191; /* lines */
    while (f.split < 4 && n * f.split <= enough && units > OXI_VK_LINE_LANES * f.split) f.split *= 2;
    f.ahead = f.dot || own || f.columns == 2 || m > 2 || units <= OXI_VK_LINE_LANES * f.split ? 1 : 2;
    return f;
}

static void oxi_vk_product_few(const oxi_vk_device *d, const oxi_vk_product *p, const oxi_vk_few *f,
                               int64_t n, bool pair, oxi_vk_dispatch *dispatch) {
    uint64_t each = f->lines / f->split * f->columns / (pair ? 2 : 1);
    uint64_t groups = ((uint64_t)n + each - 1) / each;
    dispatch->shader = f->dot ? OXI_VK_SHADER_product_dot : OXI_VK_SHADER_product_rows;
    oxi_vk_product_few_specials *few = &dispatch->special.product_few;
    few->threads = OXI_VK_LINE_LANES * f->lines;
    few->rows = (uint32_t)p->form.m;
    few->columns = f->columns;
    few->ahead = f->ahead;
    few->split = f->split;
    few->pair = pair;
    few->products = 1;
    few->staged = f->staged;
    few->lanes = oxi_vk_few_lanes(d);
    few->inner = f->shared || p->own ? (uint32_t)p->form.k : 32;
    few->experts = p->own;
    const uint64_t most = f->dot ? OXI_VK_DOT_GROUPS : OXI_VK_FEW_GROUPS;
    if (groups > most) groups = most; /* each takes more columns */
    oxi_vk_groups(dispatch, groups);
}

/* A row of fused.def; ops that are none of them join nothing. */
static const oxi_vk_fused *oxi_vk_fused_of(oxi_op op) {
    static const oxi_vk_fused rows[] = {
#define OXI_FUSED(op, joins, tail) {OXI_OP_##op, OXI_VK_JOINS_##joins, tail},
#include "vulkan/ops/fused.def"
#undef OXI_FUSED
    };
    static const oxi_vk_fused none = {OXI_OP_COUNT, OXI_VK_JOINS_NOTHING, 0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op) return &rows[i];
    return &none;
}

/* The group's other products, and columns of all of them. */
static void oxi_vk_product_parts_of(const oxi_vk_product_group *g, oxi_vk_product_params *params,
                                    oxi_vk_dispatch *dispatch, int *more) {
    uint32_t columns = params->n;
    for (int i = 1; i < g->products; i++) {
        const ox_tensor *b = g->product[i]->in[1], *c = g->product[i]->out[0],
                        *bias = oxi_vk_bias_of(g->product[i]);
        params->begin[i - 1] = columns;
        params->part_b[i - 1] = oxi_is_block(b->dtype) ? (uint32_t)oxi_vk_byte_at(b) : oxi_vk_element_at(b);
        params->part_c[i - 1] = oxi_vk_element_at(c);
        params->part_row[i - 1] = (uint32_t)c->shape[c->ndim - 1];
        if (bias) params->part_bias[i - 1] = oxi_vk_element_at(bias);
        columns += (uint32_t)c->shape[c->ndim - 1];
        oxi_vk_bind(dispatch, (*more)++, b, false);
        oxi_vk_bind(dispatch, (*more)++, c, true);
        if (bias) oxi_vk_bind(dispatch, (*more)++, bias, false);
    }
    if (!g->pair) params->n = columns;
    if (!g->pair) dispatch->special.product_few.products = (uint32_t)g->products;
}

/* How a is made: x and a norm, and what is added before it. */
static void oxi_vk_product_norm_of(const oxi_vk_product_group *g, oxi_vk_product_params *params,
                                   oxi_vk_dispatch *dispatch, int *more) {
    uint32_t *flags = &dispatch->special.product_few.norm;
    const ox_tensor *x = g->post ? g->x : g->norm->in[0];
    params->at[1] = oxi_vk_element_at(x);
    params->row[1] = params->k;
    oxi_vk_bind(dispatch, 1, x, false);
    if (g->norm) {
        const bool layer = oxi_vk_fused_of(g->norm->op)->tail == OXI_VK_NORM_LAYER;
        const ox_tensor *weight = g->norm->in[1], *bias = layer ? g->norm->in[2] : NULL;
        *flags |= oxi_vk_fused_of(g->norm->op)->tail;
        params->epsilon = oxi_vk_float_bits(g->norm->attr.norm.eps);
        params->normal = oxi_vk_element_at(g->norm->out[0]);
        if (weight) {
            *flags |= OXI_VK_NORM_WEIGHT;
            params->norm_weight = oxi_vk_element_at(weight);
            oxi_vk_bind(dispatch, 3, weight, false);
        }
        if (bias) {
            *flags |= OXI_VK_NORM_BIAS;
            params->norm_bias = oxi_vk_element_at(bias);
            oxi_vk_bind(dispatch, weight ? (*more)++ : 3, bias, false);
        }
        if (g->writes_normal) *flags |= OXI_VK_NORM_WRITTEN;
        const bool apart = oxi_vk_chunk_of(g->norm->out[0])->block != dispatch->use[0].chunk->block;
        if (g->writes_normal && apart) *flags |= OXI_VK_NORM_APART;
        if (g->writes_normal) oxi_vk_bind(dispatch, apart ? 4 : (*more)++, g->norm->out[0], true);
    }
    if (!g->post) return;
    const ox_tensor *other = g->post->in[0], *weight = g->post->in[1];
    *flags |= OXI_VK_NORM_ADDED;
    params->other = oxi_vk_element_at(other);
    params->other_weight = oxi_vk_element_at(weight);
    params->other_epsilon = oxi_vk_float_bits(g->post->attr.norm.eps);
    oxi_vk_bind(dispatch, (*more)++, other, false);
    oxi_vk_bind(dispatch, dispatch->use[3].chunk ? (*more)++ : 3, weight, false);
}

/* Weights lie where the numbers of experts do. */
static void oxi_vk_product_weighed(const oxi_vk_product_group *g, oxi_vk_product_params *params,
                                   oxi_vk_dispatch *dispatch, int *more) {
    const ox_tensor *ids = g->product[0]->in[2];
    params->row[3] = (uint32_t)ids->stride[1];
    params->part_b[0] = oxi_vk_element_at(g->weigh->in[1]);
    params->part_c[0] = oxi_vk_element_at(g->sum->out[0]);
    oxi_vk_bind(dispatch, (*more)++, g->weigh->in[1], false);
    oxi_vk_bind(dispatch, (*more)++, g->sum->out[0], true);
}

/* What the group has beside its first product. */
static void oxi_vk_product_joined(const oxi_vk_product_group *g, oxi_vk_product_params *params,
                                  oxi_vk_dispatch *dispatch) {
    int more = OXI_VK_BINDINGS;
    if (g->products > 1) oxi_vk_product_parts_of(g, params, dispatch, &more);
    if (g->sum) oxi_vk_product_weighed(g, params, dispatch, &more);
    if (g->tail) {
        params->tail = oxi_vk_element_at(g->tail->out[0]);
        dispatch->special.product_few.tail = oxi_vk_fused_of(g->tail->op)->tail;
        oxi_vk_bind(dispatch, more++, g->tail->out[0], true);
    }
    if (g->norm || g->post) oxi_vk_product_norm_of(g, params, dispatch, &more);
}

/* ---- many rows ----------------------------------------------------------------------------------------- */

static void oxi_vk_product_many(const oxi_vk_device *d, const oxi_vk_product *p,
                                const oxi_vk_product_params *params, uint64_t batches,
                                oxi_vk_dispatch *dispatch) {
    oxi_vk_shader matrices = oxi_vk_matrix_shader(d, p, params);
    bool uses = matrices != OXI_VK_SHADER_COUNT;
    oxi_vk_way way = !uses                               ? OXI_VK_WAY_F32
                     : oxi_is_block(p->form.t[2]->dtype) ? OXI_VK_WAY_BLOCKS
                                                         : OXI_VK_WAY_MATRICES;
    const oxi_vk_tiling *row = oxi_vk_tiling_of(d, p, batches, way);
    const ox_dtype c = p->form.t[0]->dtype,
                   element = matrices == OXI_VK_SHADER_product_tiles ? OX_F16 : OX_BF16;
    int64_t whole = uses ? d->matrix_side : 4;
    bool plain = !p->form.t[3] && !p->form.bias && p->form.alpha == 1 &&
                 p->form.activation == OX_ACTIVATION_NONE && p->form.column[0] == 1 &&
                 (c == OX_F32 || (uses && c == element));
    plain = plain && p->form.n % whole == 0 && (!uses || p->form.m % whole == 0) &&
            oxi_vk_product_aligned(p, params, 0, p->form.row[0], c == OX_F32 ? 4 : 8);
    dispatch->special.product.plain = plain;
    dispatch->groups[0] = (uint32_t)((p->form.n + row->n - 1) / row->n);
    dispatch->groups[1] = (uint32_t)((p->form.m + row->m - 1) / row->m);
    dispatch->shader = uses ? matrices : OXI_VK_SHADER_product;
    if (!uses) {
        dispatch->special.product_shared.each = row->m / 16;
        dispatch->special.product_shared.deep = row->deep;
        dispatch->special.product_shared.stages = row->stages;
        return;
    }
    oxi_vk_product_tiles_specials *tiles = &dispatch->special.product_tiles;
    tiles->threads = row->subs_m * row->subs_n * d->subgroup_size;
    tiles->tile_m = row->m;
    tiles->tile_n = row->n;
    tiles->deep = row->deep;
    tiles->subs_m = row->subs_m;
    tiles->subs_n = row->subs_n;
    tiles->side = d->matrix_side;
    tiles->stages = row->stages;
    tiles->even = p->form.m % row->m == 0 && p->form.n % row->n == 0 && p->form.k % row->deep == 0;
}

/* What weights of a block type are expanded to before they are multiplied; OX_DTYPE_NONE: they are taken
 * as they lie. Every tile of rows would expand them again, which takes longer than doing it once. */
static ox_dtype oxi_vk_product_expands(const oxi_vk_device *d, const oxi_vk_product *p) {
    oxi_vk_product_params params;
    ox_dtype b = p->form.t[2]->dtype;
    if (!oxi_is_block(b)) return OX_DTYPE_NONE;
    if (p->form.t[0]->dtype == OX_F64) return OX_F64;
    if (oxi_vk_product_is_few(p)) return OX_DTYPE_NONE;
    oxi_vk_product_params_of(p, &params);
    if (oxi_vk_matrix_shader(d, p, &params) == OXI_VK_SHADER_COUNT) return OX_F32;
    return p->whole_m >= OXI_VK_EXPAND_ROWS || oxi_vk_needs_books(b) ? OX_BF16 : OX_DTYPE_NONE;
}

/* The matrices of operand t (0: the result): dims along which they differ, then lines; by_rows: rows of them.
 * place: where a leading dim of the product is among them, or -1. */
static ox_tensor oxi_vk_product_lines(const oxi_vk_product *p, int t, bool by_rows, int *place) {
    const oxi_product_form *form = &p->form;
    const int64_t size[2] = {t == 2 ? form->k : form->m, t == 1 ? form->k : form->n};
    const int64_t stride[2] = {form->row[t], form->column[t]};
    ox_tensor lines = oxi_borrowed(form->t[t]);
    lines.ndim = 0;
    for (int e = 0; e < form->ndim; e++) {
        place[e] = -1;
        if (form->stride[t][e] == 0) continue; /* the same for all of it */
        place[e] = lines.ndim;
        lines.shape[lines.ndim] = form->shape[e];
        lines.stride[lines.ndim++] = form->stride[t][e];
    }
    for (int i = 0; i < 2; i++) {
        lines.shape[lines.ndim] = size[by_rows ? i : 1 - i];
        lines.stride[lines.ndim++] = stride[by_rows ? i : 1 - i];
    }
    return lines;
}

/* Those lines, as they lie now, in operand t's place. */
static void oxi_vk_product_put(oxi_vk_product *p, int t, const ox_tensor *lines, bool by_rows,
                               const int *place) {
    const int64_t *last = lines->stride + lines->ndim - 2;
    for (int e = 0; e < p->form.ndim; e++)
        if (place[e] >= 0) p->form.stride[t][e] = lines->stride[place[e]];
    p->form.t[t] = lines;
    p->form.row[t] = last[by_rows ? 0 : 1];
    p->form.column[t] = last[by_rows ? 1 : 0];
}

/* Records the expansion of b, [lead dims that b has, n, k], and puts its result in b's place. */
static ox_status oxi_vk_product_expand(oxi_vk_device *d, oxi_vk_product *p, ox_dtype to,
                                       oxi_vk_temporary *made) {
    int place[OX_MAX_DIMS];
    ox_tensor blocks = oxi_vk_product_lines(p, 2, false, place);
    ox_status status = oxi_vk_temporary_make(d, made, to, blocks.ndim, blocks.shape);
    if (status == OX_OK)
        status =
            to == OX_F64 ? oxi_vk_from_blocks(d, &blocks, &made->t) : oxi_vk_expand(d, &blocks, &made->t);
    oxi_vk_product_put(p, 2, &made->t, false, place);
    return status;
}

/* ---- operands that are copied first -------------------------------------------------------------------- */

/* Copies of a call's operands, and its result before it is copied to where it belongs. */
typedef struct oxi_vk_laid {
    oxi_vk_temporary made[3];
    ox_tensor lines[3], to; /* to: the result's own place */
} oxi_vk_laid;

/* In lay/product_lay.c. */
static ox_status oxi_vk_product_lay(oxi_vk_device *d, oxi_vk_product *p, oxi_vk_laid *laid);
static ox_status oxi_vk_product_lay_result(oxi_vk_device *d, oxi_vk_product *p, oxi_vk_laid *laid);

/* Numbers that are not f32. */
static bool oxi_vk_product_is_simple(const oxi_vk_product *p) {
    return p->form.t[0]->dtype == OX_F64 || oxi_is_int(p->form.t[0]->dtype);
}

static void oxi_vk_product_many_simple(const oxi_vk_product *p, oxi_vk_product_params *params,
                                       oxi_vk_dispatch *dispatch) {
    const uint32_t tile = OXI_VK_SIMPLE_TILE;
    double factor[2] = {p->form.alpha, p->form.beta};
    bool integer = oxi_is_int(p->form.t[0]->dtype);
    for (int i = 0; i < 2; i++) {
        if (integer)
            oxi_vk_words_of((uint64_t)oxi_to_i64_saturated(factor[i]), params->factors[i]);
        else
            oxi_vk_double_words(factor[i], params->factors[i]);
    }
    dispatch->shader = integer ? OXI_VK_SHADER_product_integer : OXI_VK_SHADER_product_double;
    dispatch->groups[0] = ((uint32_t)p->form.n + tile - 1) / tile;
    dispatch->groups[1] = ((uint32_t)p->form.m + tile - 1) / tile;
}

/* p: the first product of the group, its weights perhaps expanded. */
static ox_status oxi_vk_product_dispatch(oxi_vk_device *d, const oxi_vk_product_group *group,
                                         const oxi_vk_product *p) {
    oxi_vk_product_params params;
    oxi_vk_dispatch dispatch;
    const ox_tensor *c = p->form.t[0], *b = p->form.t[2];
    oxi_vk_product_params_of(p, &params);
    memset(&dispatch, 0, sizeof dispatch);
    for (int i = 0; i < 4; i++)
        if (p->form.t[i]) oxi_vk_bind(&dispatch, i, p->form.t[i], i == 0);
    if (p->form.bias) oxi_vk_bind(&dispatch, 4, p->form.bias, false);
    if (p->form.ids) {
        oxi_vk_bind(&dispatch, 3, p->form.ids, false);
        oxi_vk_bind_fault(d, &dispatch, p->form.bias ? OXI_VK_FAULT_BINDING : 4);
        dispatch.special.product.ids = (uint32_t)p->form.ids->dtype;
        params.fault = (uint32_t)(d->fault->offset / 4);
        params.kind = (uint32_t)group->product[0]->op + 1;
    }
    bool along = oxi_is_block(b->dtype) || p->form.row[2] == 1, few = oxi_vk_product_is_few(p);
    uint32_t width = oxi_vk_width(c->dtype), each = width == 3 ? 1 : 4u >> width, wide = few ? 8 : 4;
    oxi_vk_product_specials *special = &dispatch.special.product;
    special->single = p->form.ndim == 0;
    special->dtype_c = (uint32_t)c->dtype;
    special->dtype_a = (uint32_t)p->form.t[1]->dtype;
    special->dtype_b = (uint32_t)b->dtype;
    special->dtype_addend = p->form.t[3] ? (uint32_t)p->form.t[3]->dtype : 0;
    special->dtype_bias = p->form.bias ? (uint32_t)p->form.bias->dtype : 0;
    special->activation = (uint32_t)p->form.activation;
    special->packed = p->form.column[0] == 1 && oxi_vk_product_aligned(p, &params, 0, p->form.row[0], each);
    special->a_along = p->form.column[1] == 1;
    special->b_along = along;
    special->a_wide = oxi_vk_product_wide(p, &params, 1, wide) && (!few || p->form.column[1] == 1);
    special->b_wide = oxi_vk_product_wide(p, &params, 2, wide);
    dispatch.params = &params;
    dispatch.param_bytes = sizeof params;
    uint64_t batches = 1;
    for (int e = 0; e < p->form.ndim; e++) batches *= (uint64_t)p->form.shape[e];
    if (oxi_vk_product_is_simple(p)) {
        oxi_vk_product_many_simple(p, &params, &dispatch);
    } else if (few) {
        int64_t more = 0;
        for (int i = 1; i < group->products && !group->pair; i++) more += group->product[i]->in[1]->shape[0];
        oxi_vk_few f = oxi_vk_few_of(d, p, p->whole_n + more, special->a_wide, group->pair,
                                     group->norm || group->post, p->own);
        oxi_vk_product_few(d, p, &f, p->form.n + more, group->pair, &dispatch);
        oxi_vk_product_joined(group, &params, &dispatch);
    } else {
        oxi_vk_product_many(d, p, &params, batches, &dispatch);
    }
    ox_status status = oxi_vk_bind_books(d, &dispatch, 5, b->dtype, &params.books);
    if (status != OX_OK) return status;
    oxi_vk_bind_rest(&dispatch);
    if (batches > 65535 || dispatch.groups[1] > 65535)
        return oxi_fail(OX_ERR_UNSUPPORTED, "%s: %s: too many matrices or rows at once",
                        oxi_op_name(group->product[0]), d->device_name);
    dispatch.groups[2] = (uint32_t)batches;
    return oxi_vk_record(d, &dispatch);
}

/* Into how many parts k is cut: few tiles that each take long would leave most of the device idle. */
static int64_t oxi_vk_product_parts(const oxi_vk_device *d, const oxi_vk_product *p) {
    const oxi_vk_tiling *row = oxi_vk_tilings[OXI_VK_WAY_MATRICES];
    bool plain = p->form.ndim == 0 && !p->form.t[3] && !p->form.bias && p->form.alpha == 1 &&
                 p->form.activation == OX_ACTIVATION_NONE;
    oxi_vk_product_params params;
    int64_t parts = 1;
    if (!plain || oxi_is_block(p->form.t[2]->dtype) || oxi_vk_product_is_few(p)) return 1;
    oxi_vk_product_params_of(p, &params);
    if (oxi_vk_matrix_shader(d, p, &params) == OXI_VK_SHADER_COUNT) return 1;
    while (parts < OXI_VK_PARTS && oxi_vk_tiles(p, row, (uint64_t)parts) < row->least &&
           p->form.k % (2 * parts * row->deep) == 0 && p->form.k / (2 * parts) >= OXI_VK_PART_LEAST)
        parts *= 2;
    return parts;
}

/* Each part of k is a product, [parts, m, n] in f32; c is their sum. */
static ox_status oxi_vk_product_in_parts(oxi_vk_device *d, const oxi_vk_product_group *group,
                                         const oxi_vk_product *p, int64_t parts) {
    const int64_t shape[3] = {parts, p->form.m, p->form.n};
    ox_tensor sums, *in = &sums, c = oxi_borrowed(p->form.t[0]);
    ox_storage storage;
    oxi_meta(&sums, OX_F32, 3, shape);
    oxi_vk_chunk *chunk = oxi_vk_borrow(d, &sums, &storage);
    if (!chunk) return OX_ERR_NOMEM;
    oxi_vk_product q = *p;
    q.form.t[0] = &sums;
    q.form.row[0] = p->form.n;
    q.form.column[0] = 1;
    q.form.ndim = 1;
    q.form.shape[0] = parts;
    q.form.k = p->form.k / parts;
    q.form.stride[0][0] = p->form.m * p->form.n;
    q.form.stride[1][0] = q.form.k * p->form.column[1];
    q.form.stride[2][0] = q.form.k * p->form.row[2];
    q.form.stride[3][0] = 0;
    ox_status status = oxi_vk_product_dispatch(d, group, &q);
    c.ndim = 2;
    c.shape[0] = p->form.m;
    c.shape[1] = p->form.n;
    c.stride[0] = p->form.row[0];
    c.stride[1] = p->form.column[0];
    oxi_call sum = oxi_call_of(OXI_OP_sum, &in, 1, &c);
    sum.attr.reduce.dims = 1;
    if (status == OX_OK) status = oxi_vk_reduce(d, &sum);
    oxi_vk_chunk_give(d, chunk);
    return status;
}

/* Columns first .. first + n - 1 of a product without leading dims; t: headers for what they are of. */
static oxi_vk_product oxi_vk_product_columns(const oxi_vk_product *p, int64_t first, int64_t n,
                                             ox_tensor t[5]) {
    oxi_vk_product part = *p;
    const ox_tensor **operand[5] = {&part.form.t[0], &part.form.t[1], &part.form.t[2], &part.form.t[3],
                                    &part.form.bias};
    for (int i = 0; i < 5; i++) {
        if (!*operand[i] || i == 1) continue;
        t[i] = oxi_borrowed(*operand[i]);
        t[i].offset += first * (i == 4 ? p->form.bias->stride[0] : p->form.column[i]);
        *operand[i] = &t[i];
    }
    part.form.n = n;
    return part;
}

/* b, if it is of a block type, expanded or not; other operands copied where that pays. */
static ox_status oxi_vk_product_whole(oxi_vk_device *d, const oxi_vk_product_group *group, oxi_vk_product p,
                                      ox_dtype expand) {
    oxi_vk_temporary expanded;
    oxi_vk_laid laid;
    ox_status status = OX_OK;
    memset(&expanded, 0, sizeof expanded);
    memset(&laid, 0, sizeof laid);
    bool plain = !oxi_vk_product_is_few(&p) && !oxi_vk_product_is_simple(&p);
    if (expand != OX_DTYPE_NONE) status = oxi_vk_product_expand(d, &p, expand, &expanded);
    else if (plain) status = oxi_vk_product_lay(d, &p, &laid);
    int64_t parts = status == OX_OK ? oxi_vk_product_parts(d, &p) : 1;
    if (status == OX_OK && parts == 1 && plain) status = oxi_vk_product_lay_result(d, &p, &laid);
    if (status == OX_OK)
        status =
            parts > 1 ? oxi_vk_product_in_parts(d, group, &p, parts) : oxi_vk_product_dispatch(d, group, &p);
    if (status == OX_OK && laid.made[0].chunk) status = oxi_vk_copy(d, &laid.lines[0], &laid.to);
    for (int t = 0; t < 3; t++) oxi_vk_temporary_drop(d, &laid.made[t]);
    oxi_vk_temporary_drop(d, &expanded);
    return status;
}

/* Slots become rows, which have an expert each: what is summed over them is one product. */
static void oxi_vk_product_by_slots(oxi_vk_product *p) {
    oxi_product_form *form = &p->form;
    p->own = true;
    p->whole_m = form->m = form->shape[1];
    for (int i = 0; i < 2; i++) form->row[i] = form->stride[i][1];
    form->ndim = form->shape[0] > 1;
}

/* Large weights are expanded some columns at a time. */
static ox_status oxi_vk_product_group_run(oxi_vk_device *d, const oxi_vk_product_group *group) {
    oxi_vk_product p = oxi_vk_product_of(group->product[0], group->whole);
    ox_tensor operand[5];
    ox_status status = OX_OK;
    if (ox_numel(p.form.t[0]) == 0) return OX_OK;
    p.rough = p.weights && !group->product[0]->exact;
    if (group->sum) oxi_vk_product_by_slots(&p);
    ox_dtype expand = p.form.k > 0 ? oxi_vk_product_expands(d, &p) : OX_DTYPE_NONE;
    int64_t each = p.form.n;
    if (expand != OX_DTYPE_NONE && p.form.ndim == 0) {
        each = OXI_VK_EXPAND_BYTES / (p.form.k * oxi_info(expand)->block_bytes) / 128 * 128;
        each = each < 128 ? 128 : each;
    }
    for (int64_t first = 0; first < p.form.n && status == OX_OK; first += each) {
        int64_t n = p.form.n - first < each ? p.form.n - first : each;
        oxi_vk_product part = n < p.form.n ? oxi_vk_product_columns(&p, first, n, operand) : p;
        status = oxi_vk_product_whole(d, group, part, expand);
    }
    return status;
}

static ox_status oxi_vk_product_part(oxi_vk_device *d, const oxi_call *call, const oxi_call *whole) {
    oxi_vk_product_group alone;
    memset(&alone, 0, sizeof alone);
    alone.product[0] = call;
    alone.products = 1;
    alone.whole = whole;
    return oxi_vk_product_group_run(d, &alone);
}

static ox_status oxi_vk_product_run(oxi_vk_device *d, const oxi_call *call) {
    return oxi_vk_product_part(d, call, NULL);
}
