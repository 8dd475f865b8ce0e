/* Products with few rows against columns that lie along k, as when a language model writes: product_rows.comp
 * or, with weights of block types, product_dot.comp read each weight once. How they are shared out, what
 * stands before and behind them (fuse.c), and rows that one leaves for the next. Called by product.c. */

/* Products with few rows of one a, and what stands before and behind them: fuse.c finds such groups. */
typedef struct oxi_vk_product_group {
    const oxi_call *product[OXI_VK_GROUP];
    int products;          /* of one a and with one type of weights */
    bool pair;             /* two of the same size, for a gate */
    const oxi_call *norm;  /* that makes a, or NULL */
    bool writes_normal;    /* its result is not in memory yet */
    const oxi_call *post;  /* rms_norm whose result is to be added to x, which the norm or a is of */
    const ox_tensor *other; /* instead: that it is to be added to */
    const ox_tensor *x;    /* with either */
    const oxi_call *weigh, *sum; /* mul_ of the only product's result, of experts, and its sum; or NULL */
    const oxi_call *tail;  /* add_ of the only product or that sum, silu_mul or gelu_mul of both, or NULL */
    oxi_vk_steps *steps;   /* of which the only product's result is an operand, or NULL; not held any more
                            * when they are part of its dispatch */
    oxi_vk_routing *routing; /* of which the only product's result is the numbers, or NULL; likewise */
    const oxi_call *router; /* that makes the numbers by which a gate chooses (router.c), or NULL */
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
    case OX_Q5_1:
    case OX_MXFP4: return 2;
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

/* How a product with few rows is shared out: lines of a team, columns of a line, chunks in flight. many:
 * weights; quick: so few that all columns are taken at once. */
typedef struct oxi_vk_few {
    bool dot, staged, many, quick, chained;
    uint32_t lines, split, columns, ahead, shared; /* bytes of a, and what is staged, in shared memory */
} oxi_vk_few;

/* Neighbors that are added as a subgroup, 1 where that is not known to work. */
static uint32_t oxi_vk_few_lanes(const oxi_vk_device *d) {
    uint32_t both = OX_VULKAN_CAP_SUBGROUP | OX_VULKAN_CAP_SIZES;
    return (d->caps & both) == both && d->subgroup_size <= OXI_VK_LINE_LANES ? d->subgroup_size : 1;
}

static uint32_t oxi_vk_few_shared(const oxi_vk_device *d, const oxi_vk_few *f, const oxi_vk_product *p) {
    uint32_t outputs = (uint32_t)p->whole_m * f->columns, lines = f->lines / f->split;
    uint32_t lanes = oxi_vk_few_lanes(d), sums = OXI_VK_LINE_LANES * f->split / lanes;
    return f->shared + 256 + 4 * lines * outputs * (sums + 1) + 8 * OXI_VK_LINE_LANES * f->lines / lanes;
}

/* Whether the device has workgroups of so many lines. */
static bool oxi_vk_has_lines(const oxi_vk_device *d, uint32_t lines) {
    const uint32_t threads = OXI_VK_LINE_LANES * lines;
    const bool sized = d->caps & OX_VULKAN_CAP_SIZES && d->subgroup_size > 0;
    return threads <= d->limits.maxComputeWorkGroupInvocations &&
           !(sized && threads / d->subgroup_size > d->subgroups_most);
}

/* Many weights are worth more invocations, for more of them are on their way then: twice as many lines a
 * workgroup, or, of types that need more registers than each invocation has there, twice as many workgroups.
 * Units of Q5_K and Q6_K are so large that enough is on its way. Short columns that twice as many lines take
 * all at once are worth them, too: fewer workgroups round a then. */
static bool oxi_vk_dot_doubles_lines(ox_dtype dtype) {
    return dtype != OX_Q5_K && dtype != OX_Q6_K && dtype != OX_Q8_0;
}
/* Most workgroups of each batch; those of experts each round a, too. */
static uint64_t oxi_vk_dot_groups(const oxi_vk_few *f, ox_dtype dtype, uint64_t batches) {
    const uint64_t most = OXI_VK_DOT_GROUPS;
    if (batches <= 1) return f->many && dtype == OX_Q8_0 ? 2 * most : most;
    const bool more = f->many && oxi_vk_dot_doubles_lines(dtype) && oxi_vk_dot_parts(dtype) == 2;
    return (more ? 3 : 2) * most / batches + 1;
}

/* How many weights meet a row. */
static int64_t oxi_vk_few_weights(const oxi_vk_product *p, int64_t n) {
    int64_t weights = n * p->form.k;
    for (int i = 0; i < p->form.ndim; i++) weights *= p->form.shape[i];
    return weights;
}

/* Lines of a workgroup of product_dot.comp: as many as the device has room for. */
static uint32_t oxi_vk_dot_lines(const oxi_vk_device *d, const oxi_vk_few *f, const oxi_vk_product *p) {
    oxi_vk_few tried = *f;
    const bool twice = (f->many || f->quick) && p->form.ndim == 0 &&
                       oxi_vk_dot_doubles_lines(p->form.t[2]->dtype);
    tried.lines = (twice ? 2 : 1) * OXI_VK_DOT_LINES;
    while (tried.lines > OXI_VK_LINES &&
           !(oxi_vk_has_lines(d, tried.lines) &&
             oxi_vk_few_shared(d, &tried, p) <= d->limits.maxComputeSharedMemorySize))
        tried.lines /= 2;
    return tried.lines;
}

/* Words that an invocation fetches where its subgroup does it together for units of Q6_K. */
static uint32_t oxi_vk_stage_words(uint32_t lanes) {
    return (lanes / 4 * (uint32_t)oxi_info(OX_Q6_K)->block_bytes + 5) / 4 / lanes + 1;
}

/* Where a row's units are no multiple of a line, some of its invocations have nothing to do in the last of
 * its turns: two or four columns one behind the other, or both of a pair, take fewer turns in all. */
static void oxi_vk_dot_chains(const oxi_vk_device *d, const oxi_vk_product *p, int64_t n, bool pair,
                              uint32_t units, oxi_vk_few *f) {
    const uint64_t line = OXI_VK_LINE_LANES, lines = oxi_vk_dot_groups(f, p->form.t[2]->dtype, 1) * f->lines;
    uint64_t best = ((uint64_t)n + lines - 1) / lines * ((units + line - 1) / line) * (pair ? 2 : 1);
    if (!f->dot || f->split > 1 || p->whole_m > 1 || p->form.ndim > 0 || p->own) return;
    for (uint32_t columns = 2; columns <= (pair ? 2 : 4); columns *= 2) {
        const uint64_t each = pair ? 1 : columns, taken = ((uint64_t)n + lines * each - 1) / (lines * each),
                       turns = taken * ((columns * units + line - 1) / line);
        oxi_vk_few tried = *f;
        tried.columns = columns;
        tried.chained = true;
        if (turns >= best || oxi_vk_few_shared(d, &tried, p) > d->limits.maxComputeSharedMemorySize) continue;
        *f = tried;
        best = turns;
    }
}

/* Units of 32 weights that do not fill their line's last turn leave little on its way: twice as many lines,
 * where all workgroups have columns then. */
static void oxi_vk_dot_odd_lines(const oxi_vk_device *d, const oxi_vk_product *p, int64_t n, bool pair,
                                 oxi_vk_few *f) {
    oxi_vk_few tried = *f;
    tried.lines = 2 * OXI_VK_DOT_LINES;
    const int64_t takes = tried.lines / f->split * f->columns / (pair ? 2 : 1);
    if (f->lines == OXI_VK_DOT_LINES && p->form.ndim == 0 && n >= OXI_VK_DOT_GROUPS * takes &&
        oxi_vk_has_lines(d, tried.lines) &&
        oxi_vk_few_shared(d, &tried, p) <= d->limits.maxComputeSharedMemorySize)
        *f = tried;
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
    f.columns = pair || (n >= 2048 && m <= 4 && !own) ? 2 : 1;
    f.shared = 24 * m * (k / 16) + 4 * m; /* bytes, and two floats for sixteen of them */
    f.many = m == 1 && oxi_vk_few_weights(p, pair ? 2 * n : n) >= OXI_VK_DOT_MANY;
    f.quick = m == 1 && (pair ? 2 * n : n) <= 2 * OXI_VK_DOT_GROUPS * OXI_VK_DOT_LINES &&
              k / 16 <= parts * OXI_VK_LINE_LANES;
    f.lines = oxi_vk_dot_lines(d, &f, p);
    f.dot = parts && d->caps & OX_VULKAN_CAP_DOT && p->rough && wide && p->form.t[1]->dtype == OX_F32 &&
            oxi_vk_few_shared(d, &f, p) <= d->limits.maxComputeSharedMemorySize;
    if (f.dot && p->form.t[2]->dtype == OX_Q6_K && !pair && oxi_vk_few_lanes(d) >= 4) {
        oxi_vk_few staged = f;
        staged.shared += 4 * OXI_VK_LINE_LANES * f.lines * oxi_vk_stage_words(oxi_vk_few_lanes(d));
        staged.staged = true;
        if (oxi_vk_few_shared(d, &staged, p) <= d->limits.maxComputeSharedMemorySize) f = staged;
    }
    if (!f.dot) f.shared = made ? 4 * m * k : 0;
    if (!f.dot) f.lines = OXI_VK_LINES;
    if (f.dot && !pair) f.columns = 1; /* little code: it is fetched anew for each dispatch */
    uint32_t units = (f.dot ? k / 16 / parts : k / 16) * (own ? m : 1);
    const int64_t enough = f.dot ? OXI_VK_DOT_GROUPS * OXI_VK_DOT_LINES / 2 : 8191; /* lines */
    while (f.split < 4 && n * f.split <= enough && units > OXI_VK_LINE_LANES * f.split) f.split *= 2;
    f.ahead = f.dot || own || f.columns == 2 || m > 2 || units <= OXI_VK_LINE_LANES * f.split ? 1 : 2;
    oxi_vk_dot_chains(d, p, n, pair, units, &f);
    if (f.dot && parts == 2 && units % OXI_VK_LINE_LANES > 0) oxi_vk_dot_odd_lines(d, p, n, pair, &f);
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
    few->chained = f->chained;
    few->lanes = oxi_vk_few_lanes(d);
    few->inner = f->shared || p->own ? (uint32_t)p->form.k : 32;
    few->experts = p->own;
    few->pushed_fours = d->pushed_bytes / 16;
    uint64_t most = OXI_VK_FEW_GROUPS, batches = 1;
    for (int i = 0; i < p->form.ndim; i++) batches *= (uint64_t)p->form.shape[i];
    if (f->dot) most = oxi_vk_dot_groups(f, p->form.t[2]->dtype, batches);
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
    const ox_tensor *x = g->x ? g->x : g->norm->in[0];
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
        const int alone = oxi_vk_bias_of(g->product[0]) ? 5 : 4; /* where nothing else is bound */
        if (g->writes_normal) oxi_vk_bind(dispatch, apart ? alone : (*more)++, g->norm->out[0], true);
    }
    if (g->other) {
        *flags |= OXI_VK_NORM_ADDED | OXI_VK_NORM_ADDED_PLAIN;
        params->other = oxi_vk_element_at(g->other);
        oxi_vk_bind(dispatch, (*more)++, g->other, false);
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

/* Numbers of a chain that is the gate. */
static void oxi_vk_product_clamped(const oxi_call *gate, oxi_vk_product_params *params) {
    const double *numbers = gate->attr.chain.numbers.n;
    params->limit = oxi_vk_float_bits(numbers[0]);
    params->slope = oxi_vk_float_bits(numbers[1]);
    params->shift = oxi_vk_float_bits(numbers[3]);
}

/* In rows/routing.c. */
static bool oxi_vk_product_can_route(const oxi_vk_product_group *g, const oxi_vk_product *p);
static bool oxi_vk_product_routes(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                  oxi_vk_product_params *params, oxi_vk_dispatch *dispatch);

/* In router.c. */
static bool oxi_vk_may_leave_parts(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                   const oxi_vk_product *p, const oxi_vk_few *f,
                                   const oxi_vk_dispatch *dispatch);
static void oxi_vk_choice_params(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                 oxi_vk_product_params *params);

/* In steps.c. */
static bool oxi_vk_product_steps(const oxi_vk_product_group *g, oxi_vk_product_params *params,
                                 oxi_vk_dispatch *dispatch);

/* What the group has beside its first product. */
static void oxi_vk_product_joined(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                  oxi_vk_product_params *params, oxi_vk_dispatch *dispatch) {
    int more = OXI_VK_BINDINGS;
    if (g->products > 1) oxi_vk_product_parts_of(g, params, dispatch, &more);
    if (g->sum) oxi_vk_product_weighed(g, params, dispatch, &more);
    if (g->tail) {
        params->tail = oxi_vk_element_at(g->tail->out[0]);
        dispatch->special.product_few.tail = oxi_vk_fused_of(g->tail->op)->tail;
        if (g->tail->op == OXI_OP_chain) oxi_vk_product_clamped(g->tail, params);
        oxi_vk_bind(dispatch, more++, g->tail->out[0], true);
    }
    if (g->norm || g->x) oxi_vk_product_norm_of(g, params, dispatch, &more);
    if (g->steps && oxi_vk_product_steps(g, params, dispatch)) g->steps->count = 0;
    if (dispatch->special.product_few.routes && !oxi_vk_product_routes(d, g, params, dispatch))
        dispatch->special.product_few.routes = 0;
}

/* ---- rows that the product before has rounded ---------------------------------------------------------- */

/* The row that a product makes or takes: nobody else writes it, and it lies element behind element. */
static bool oxi_vk_is_one_row(const ox_tensor *t, int64_t k) {
    return t->dtype == OX_F32 && ox_numel(t) == k && ox_is_contiguous(t) &&
           !oxi_vk_chunk_of(t)->block->lent;
}

/* What was left rounded of the product's only row, or of its rows of experts that lie so; or NULL. */
static const oxi_vk_rounded *oxi_vk_rounded_of(oxi_vk_device *d, const oxi_vk_product_group *g,
                                               const oxi_vk_product *p, const oxi_vk_few *f) {
    const ox_tensor *a = p->form.t[1];
    oxi_vk_chunk *chunk = oxi_vk_chunk_of(a);
    const int64_t k = p->form.m * p->form.k;
    if (!f->dot || g->norm || g->x || p->form.ndim > 0 || (p->form.m != 1 && !p->own)) return NULL;
    for (const oxi_vk_rounded *r = d->rounded; r < d->rounded + OXI_VK_ROUNDED; r++)
        if (r->of == chunk && oxi_vk_is_one_row(a, k) && r->k == k && r->at == oxi_vk_byte_at(a) &&
            r->written == oxi_vk_epochs_of(d, chunk)->written && r->carried == chunk->carried[OXI_VK_UP])
            return r;
    return NULL;
}

/* Lets it read that. */
static void oxi_vk_take_rounded(oxi_vk_device *d, const oxi_vk_rounded *r, oxi_vk_product_params *params,
                                oxi_vk_dispatch *dispatch) {
    params->at[1] = (uint32_t)(r->chunk->offset / 4);
    dispatch->special.product_few.norm |= OXI_VK_NORM_TAKEN;
    dispatch->use[1].chunk = r->chunk;
    d->counters.rounded++;
}

/* Workgroups that have columns where each keeps what it makes of its own, by `takes` at a time
 * (share_columns in product_dot.comp); 0: they have no room for theirs. */
static uint32_t oxi_vk_groups_of_own(const oxi_vk_dispatch *dispatch, int64_t takes, int64_t n) {
    const int64_t most = (int64_t)dispatch->groups[0] * dispatch->groups[1];
    const int64_t unit = takes > 16 ? takes : 16, units = (n + unit - 1) / unit;
    const int64_t own = (units + most - 1) / most; /* of a workgroup */
    if ((16 % takes != 0 && takes % 16 != 0) || own > OXI_VK_LEFT_ROOM / unit) return 0;
    return (uint32_t)((units + own - 1) / own);
}

/* What a product makes that may be worth rounding, since another one is likely to follow; NULL: nothing. */
static const ox_tensor *oxi_vk_leaves_rounded(const oxi_vk_device *d, const oxi_vk_product_group *g,
                                              const oxi_vk_product *p, const oxi_vk_few *f,
                                              oxi_vk_dispatch *dispatch) {
    const bool gated = g->pair && g->tail;
    const ox_tensor *out = gated ? g->tail->out[0] : p->form.t[0];
    const int64_t n = p->form.n;
    const bool alone = !g->tail && g->products == 1 && p->form.activation != OX_ACTIVATION_NONE;
    if (!gated && (!alone || dispatch->special.product_few.tail != OXI_VK_TAIL_NONE)) return NULL;
    const bool experts = p->form.ids && p->form.ndim == 2 && p->form.shape[0] == 1;
    if (!f->dot || p->own || (p->form.ndim > 0 && !experts) || p->form.m != 1) return NULL;
    const uint32_t takes = f->lines / f->split * f->columns / (g->pair ? 2 : 1);
    const uint32_t groups = oxi_vk_groups_of_own(dispatch, takes, n);
    const int64_t all = experts ? p->form.shape[1] * n : n;
    if (n % 16 != 0 || !groups || p->form.column[0] != 1 || !oxi_vk_is_one_row(out, all)) return NULL;
    if (oxi_vk_few_shared(d, f, p) + 4 * OXI_VK_LEFT_ROOM > d->limits.maxComputeSharedMemorySize) return NULL;
    oxi_vk_groups(dispatch, groups);
    return out;
}

/* Finds room for that: n bytes, and two floats for each sixteen of them; not where `taken` lies, which the
 * dispatch itself reads, nor where the last one was left, so that a product of that runs beside. *leaves:
 * whether the dispatch reaches it, which may have bound another block there. */
static ox_status oxi_vk_leave_rounded(oxi_vk_device *d, int64_t n, const oxi_vk_rounded *taken,
                                      oxi_vk_product_params *params, oxi_vk_dispatch *dispatch,
                                      bool *leaves) {
    const uint64_t bytes = (uint64_t)n + (uint64_t)n / 16 * 8;
    int at = (d->rounded_at + 1) % OXI_VK_ROUNDED;
    if (taken == &d->rounded[at]) at = (at + 1) % OXI_VK_ROUNDED;
    oxi_vk_rounded *r = &d->rounded[d->rounded_at = at];
    if (r->bytes < bytes) {
        if (r->chunk) oxi_vk_chunk_give(d, r->chunk);
        r->of = NULL;
        r->chunk = oxi_vk_chunk_alloc(d, bytes);
        r->bytes = r->chunk ? bytes : 0;
        if (!r->chunk) return OX_ERR_NOMEM;
    }
    const oxi_vk_chunk *bound = dispatch->use[5].chunk;
    *leaves = !bound || bound->block == r->chunk->block;
    if (!*leaves) return OX_OK;
    if (dispatch->uses < OXI_VK_BINDINGS) dispatch->uses = OXI_VK_BINDINGS;
    oxi_vk_use *use = &dispatch->use[bound ? dispatch->uses++ : 5];
    params->left = (uint32_t)(r->chunk->offset / 4);
    dispatch->special.product_few.norm |= OXI_VK_NORM_LEFT;
    use->chunk = r->chunk;
    use->writes = true;
    return OX_OK;
}

/* All of a dispatch with few rows. *left: what is to be noted behind it as rounded, or NULL. */
static ox_status oxi_vk_product_shared_out(oxi_vk_device *d, const oxi_vk_product_group *g,
                                           const oxi_vk_product *p, bool wide, oxi_vk_product_params *params,
                                           oxi_vk_dispatch *dispatch, const ox_tensor **left) {
    int64_t more = 0;
    bool leaves = false;
    for (int i = 1; i < g->products && !g->pair; i++) more += g->product[i]->in[1]->shape[0];
    const oxi_vk_few f =
        oxi_vk_few_of(d, p, p->whole_n + more, wide, g->pair, g->norm || g->x, p->own);
    oxi_vk_product_few(d, p, &f, p->form.n + more, g->pair, dispatch);
    if (g->router)
        dispatch->special.product_few.routes = OXI_VK_ROUTES_CHOICE;
    else if (g->routing && oxi_vk_product_can_route(g, p) &&
             oxi_vk_few_shared(d, &f, p) + OXI_VK_ROUTE_SHARED <= d->limits.maxComputeSharedMemorySize)
        dispatch->special.product_few.routes = OXI_VK_ROUTES_BEHIND;
    const oxi_vk_rounded *rounded = oxi_vk_rounded_of(d, g, p, &f);
    if (rounded) oxi_vk_take_rounded(d, rounded, params, dispatch);
    oxi_vk_product_joined(d, g, params, dispatch);
    dispatch->waits = oxi_vk_may_leave_parts(d, g, p, &f, dispatch);
    *left = oxi_vk_leaves_rounded(d, g, p, &f, dispatch);
    if (!*left) return OX_OK;
    const ox_status status = oxi_vk_leave_rounded(d, ox_numel(*left), rounded, params, dispatch, &leaves);
    if (!leaves) *left = NULL;
    return status;
}

/* Behind that dispatch. */
static void oxi_vk_note_rounded(oxi_vk_device *d, const ox_tensor *out, int64_t n) {
    oxi_vk_chunk *chunk = oxi_vk_chunk_of(out);
    oxi_vk_rounded *r = &d->rounded[d->rounded_at];
    r->of = chunk;
    r->at = oxi_vk_byte_at(out);
    r->k = n;
    r->written = oxi_vk_epochs_of(d, chunk)->written;
    r->carried = chunk->carried[OXI_VK_UP];
}
