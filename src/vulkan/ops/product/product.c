/* Products as dispatches: those of few rows (few.c), and all others through tiles in shared memory, with
 * weights of block types expanded before where that is faster. Called by the Vulkan device for PRODUCT, and
 * by fuse.c for several calls at once. */

/* In router.c. */
static void oxi_vk_note_sum(oxi_vk_device *d, const oxi_vk_product_group *g, const oxi_vk_dispatch *dispatch,
                            const oxi_vk_product_params *params);

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
    if (p->form.ids) dispatch.special.product.ids = (uint32_t)p->form.ids->dtype;
    if (p->form.ids && !group->router) {
        oxi_vk_bind(&dispatch, 3, p->form.ids, false);
        oxi_vk_bind_fault(d, &dispatch, p->form.bias ? OXI_VK_FAULT_BINDING : 4);
        params.fault = (uint32_t)(d->fault->offset / 4);
        params.kind = (uint32_t)group->product[0]->op + 1;
    }
    bool along = oxi_is_block(b->dtype) || p->form.row[2] == 1, few = oxi_vk_product_is_few(p);
    uint32_t width = oxi_vk_width(c->dtype), each = width == 3 ? 1 : 4u >> width, wide = few ? 8 : 4;
    oxi_vk_product_specials *special = &dispatch.special.product;
    special->single = p->form.ndim < 2 ? (uint32_t)p->form.ndim + 1 : 0;
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
    const ox_tensor *left = NULL;
    ox_status status = OX_OK;
    for (int e = 0; e < p->form.ndim; e++) batches *= (uint64_t)p->form.shape[e];
    if (oxi_vk_product_is_simple(p)) {
        oxi_vk_product_many_simple(p, &params, &dispatch);
    } else if (few) {
        status = oxi_vk_product_shared_out(d, group, p, special->a_wide, &params, &dispatch, &left);
    } else {
        oxi_vk_product_many(d, p, &params, batches, &dispatch);
    }
    if (status == OX_OK) status = oxi_vk_bind_books(d, &dispatch, 5, b->dtype, &params.books);
    if (status != OX_OK) return status;
    const oxi_vk_dispatch open = dispatch;
    dispatch.use[0].beside = oxi_vk_lies_beside(d, c);
    oxi_vk_bind_rest(&dispatch);
    if (batches > 65535 || dispatch.groups[1] > 65535)
        return oxi_fail(OX_ERR_UNSUPPORTED, "%s: %s: too many matrices or rows at once",
                        oxi_op_name(group->product[0]), d->device_name);
    dispatch.groups[2] = (uint32_t)batches;
    if (left) d->rounded[d->rounded_at].of = NULL;
    status = oxi_vk_record(d, &dispatch);
    if (status == OX_OK && left) oxi_vk_note_rounded(d, left, ox_numel(left));
    if (status == OX_OK && dispatch.waits) oxi_vk_note_sum(d, group, &open, &params);
    return status;
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
