/* Sampling at places that a tensor tells: coordinates become indices of the flattened image and weights, and
 * gradients of places flow through the weights. */

typedef struct oxi_grid {
    ox_tensor *flat; /* [N,C,D H W] */
    int dims;
    int64_t size[3]; /* of the spatial dims, the last is the grid's first coordinate */
    bool zeros;      /* what is outside counts as 0 */
} oxi_grid;

/* min(max(x, low), high) without a slope at the bounds, as torch cuts coordinates. */
static ox_tensor *oxi_cut_coordinate(ox_tensor *x, double high) {
    ox_tensor *inside = ox_logical_and(ox_gt_number(x, 0), ox_lt_number(x, high));
    return ox_where(inside, x, ox_clamp(ox_detach(x), 0, high));
}

/* Mirrored into [low, low + span]. */
static ox_tensor *oxi_mirrored_at(ox_tensor *x, double low, double span) {
    if (span <= 0) return ox_mul_number(x, 0);
    ox_tensor *away = ox_abs(ox_sub_number(x, low));
    ox_tensor *times = ox_floor(ox_div_number(ox_detach(away), span));
    ox_tensor *rest = ox_sub(away, ox_mul_number(times, span));
    ox_tensor *odd = ox_ne_number(ox_remainder_number(times, 2), 0);
    return ox_add_number(ox_where(odd, ox_rsub_number(rest, span), rest), low);
}

/* A coordinate as a place in elements of a dim of `size`; padding 0 leaves what is outside there. */
static ox_tensor *oxi_grid_place(ox_tensor *x, int64_t size, int padding, bool align_corners, bool cut) {
    double n = (double)size;
    ox_tensor *place = align_corners
                           ? ox_mul_number(ox_add_number(x, 1), (n - 1) / 2)
                           : ox_mul_number(ox_sub_number(ox_mul_number(ox_add_number(x, 1), n), 1), 0.5);
    if (!cut || padding == 0) return place;
    if (padding == 2)
        place = align_corners ? oxi_mirrored_at(place, 0, n - 1) : oxi_mirrored_at(place, -0.5, n);
    return oxi_cut_coordinate(place, n - 1);
}

/* x at whole places (floats, one tensor a dim, [N,1,P]) -> [N,C,P]; 0 outside if g->zeros. */
static ox_tensor *oxi_read_places(const oxi_grid *g, ox_tensor *const *place) {
    ox_tensor *index = NULL, *inside = NULL;
    for (int d = 0; d < g->dims; d++) {
        double last = (double)(g->size[d] - 1);
        ox_tensor *at = ox_detach(place[d]);
        ox_tensor *in = ox_logical_and(ox_ge_number(at, 0), ox_le_number(at, last));
        at = ox_cast(ox_clamp(ox_where(in, at, ox_number(0)), 0, last), OX_I64);
        inside = d ? ox_logical_and(inside, in) : in;
        index = d ? ox_add(ox_mul(index, ox_integer(g->size[d])), at) : at;
    }
    if (!index) return NULL;
    ox_shape shape = ox_shape_of(index);
    shape.dim[1] = g->flat->shape[1];
    ox_tensor *read = ox_gather(g->flat, 2, ox_expand(index, shape));
    return g->zeros ? ox_where(inside, read, ox_number(0)) : read;
}

static ox_tensor *oxi_sample_linear(const oxi_grid *g, ox_tensor *const *place) {
    ox_tensor *low[3], *part[3], *sum = NULL;
    for (int d = 0; d < g->dims; d++) {
        low[d] = ox_floor(ox_detach(place[d]));
        part[d] = ox_sub(place[d], low[d]);
    }
    for (int corner = 0; corner < 1 << g->dims; corner++) {
        ox_tensor *at[3], *weight = NULL;
        for (int d = 0; d < g->dims; d++) {
            bool high = corner >> d & 1;
            at[d] = high ? ox_add_number(low[d], 1) : low[d];
            ox_tensor *much = high ? part[d] : ox_rsub_number(part[d], 1);
            weight = weight ? ox_mul(weight, much) : much;
        }
        ox_tensor *term = ox_mul(oxi_read_places(g, at), weight);
        sum = sum ? ox_add(sum, term) : term;
    }
    return sum;
}

/* Weight k of four of a place t behind the second, as oxi_cubic_weights. */
static ox_tensor *oxi_cubic_weight(ox_tensor *t, int k) {
    const double a = -0.75;
    ox_tensor *d = k < 2 ? ox_add_number(t, 1 - k) : ox_rsub_number(t, k - 1);
    if (k == 1 || k == 2)
        return ox_add_number(ox_mul(ox_sub_number(ox_mul_number(d, a + 2), a + 3), ox_square(d)), 1);
    d = ox_add_number(ox_mul(ox_sub_number(ox_mul_number(d, a), 5 * a), d), 8 * a);
    ox_tensor *away = k < 2 ? ox_add_number(t, 1 - k) : ox_rsub_number(t, k - 1);
    return ox_sub_number(ox_mul(d, away), 4 * a);
}

/* Rows of four, then the four rows. The places of elements are cut or mirrored each, not the sample's. */
static ox_tensor *oxi_sample_cubic(const oxi_grid *g, ox_tensor *const *place, int padding,
                                   bool align_corners) {
    ox_tensor *low[2], *part[2], *sum = NULL;
    for (int d = 0; d < 2; d++) {
        low[d] = ox_floor(ox_detach(place[d]));
        part[d] = ox_sub(place[d], low[d]);
    }
    for (int tap = 0; tap < 16; tap++) {
        ox_tensor *at[2], *weight[2];
        const int k[2] = {tap / 4, tap % 4};
        for (int d = 0; d < 2; d++) {
            double n = (double)g->size[d];
            at[d] = ox_add_number(low[d], k[d] - 1);
            if (padding == 2)
                at[d] = align_corners ? oxi_mirrored_at(at[d], 0, n - 1) : oxi_mirrored_at(at[d], -0.5, n);
            if (padding) at[d] = ox_clamp(at[d], 0, n - 1);
            weight[d] = oxi_cubic_weight(part[d], k[d]);
        }
        ox_tensor *term = ox_mul(ox_mul(oxi_read_places(g, at), weight[0]), weight[1]);
        sum = sum ? ox_add(sum, term) : term;
    }
    return sum;
}

static bool oxi_grid_fits(const ox_tensor *x, const ox_tensor *grid, int mode) {
    int dims = x->ndim - 2;
    bool fits = (dims == 2 || dims == 3) && grid->ndim == x->ndim && grid->shape[0] == x->shape[0] &&
                grid->shape[dims + 1] == dims && (mode != 2 || dims == 2);
    for (int d = 0; d < dims && fits; d++) fits = x->shape[2 + d] > 0;
    if (!fits)
        (void)oxi_fail(OX_ERR_SHAPE, "grid_sample: %s at %s%s", oxi_tensor_text(x), oxi_tensor_text(grid),
                       mode == 2 ? ", bicubic" : "");
    else if (!oxi_is_float(x->dtype) || grid->dtype != x->dtype)
        (void)oxi_fail(OX_ERR_DTYPE, "grid_sample: %s at %s", oxi_tensor_text(x), oxi_tensor_text(grid));
    return fits && oxi_is_float(x->dtype) && grid->dtype == x->dtype;
}

OX_API ox_tensor *ox_grid_sample(ox_tensor *x, ox_tensor *grid, const char *mode, const char *padding,
                                 bool align_corners) {
    static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
    static const char *const paddings[] = {"zeros", "border", "reflection"};
    ox_tensor *in[2] = {x, grid}, *place[3], *y;
    if (oxi_any_null("grid_sample", in, 2)) return NULL;
    int how = oxi_mode_word("grid_sample", modes, 3, mode),
        outside = oxi_mode_word("grid_sample", paddings, 3, padding);
    if (how < 0 || outside < 0 || !oxi_grid_fits(x, grid, how)) return NULL;
    oxi_work work = oxi_work_begin("grid_sample");
    oxi_grid g;
    ox_tensor *wide = oxi_wide(grid),
              *at = ox_reshape(wide, OX_SHAPE(grid->shape[0], 1, -1, grid->shape[x->ndim - 1]));
    g.dims = x->ndim - 2;
    g.zeros = outside == 0;
    g.flat = ox_flatten(oxi_wide(x), 2, -1);
    if (ox_numel(grid) == 0)
        at = ox_reshape(wide, OX_SHAPE(grid->shape[0], 1, grid->shape[0] ? 0 : 1, grid->shape[x->ndim - 1]));
    for (int d = 0; d < g.dims; d++) {
        g.size[d] = x->shape[2 + d];
        place[d] =
            oxi_grid_place(ox_select(at, -1, g.dims - 1 - d), g.size[d], outside, align_corners, how != 2);
        if (how == 1) place[d] = ox_round(place[d]);
    }
    if (!g.flat || !at) return oxi_work_end(&work, NULL);
    if (how == 2)
        y = oxi_sample_cubic(&g, place, outside, align_corners);
    else
        y = how == 1 ? oxi_read_places(&g, place) : oxi_sample_linear(&g, place);
    ox_shape shape = ox_shape_of(grid);
    for (int d = shape.ndim - 1; d > 1; d--) shape.dim[d] = shape.dim[d - 1];
    shape.dim[1] = x->shape[1];
    return oxi_work_end(&work, ox_cast(ox_reshape(y, shape), x->dtype));
}

OX_API ox_tensor *ox_affine_grid(ox_tensor *theta, ox_shape size, bool align_corners) {
    if (oxi_any_null("affine_grid", &theta, 1)) return NULL;
    int dims = size.ndim - 2;
    if ((dims != 2 && dims != 3) || theta->ndim != 3 || theta->shape[0] != size.dim[0] ||
        theta->shape[1] != dims || theta->shape[2] != dims + 1)
        return OXI_FAIL_NULL(OX_ERR_SHAPE, "affine_grid: %s for %d sizes", oxi_tensor_text(theta), size.ndim);
    if (!oxi_is_float(theta->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "affine_grid: %s", oxi_tensor_text(theta));
    oxi_work work = oxi_work_begin("affine_grid");
    ox_shape shape = size;
    ox_tensor *parts[4];
    shape.ndim = dims + 1;
    for (int d = 0; d < dims; d++) shape.dim[d] = size.dim[d + 2];
    shape.dim[dims] = 1;
    for (int c = 0; c < dims; c++) {
        int d = dims - 1 - c;
        double n = (double)shape.dim[d], most = align_corners ? 1 : 1 - 1 / n;
        ox_shape along = shape;
        for (int i = 0; i <= dims; i++) along.dim[i] = i == d ? shape.dim[d] : 1;
        ox_tensor *ramp = ox_linspace(n > 1 ? -most : 0, n > 1 ? most : 0, shape.dim[d],
                                      theta->dtype == OX_F64 ? OX_F64 : OX_F32);
        ramp = ox_to(ramp, oxi_working_device(ox_device_of(theta)));
        parts[c] = ox_expand(ox_reshape(ramp, along), shape);
    }
    parts[dims] = ox_ones_like(parts[0]);
    ox_tensor *base = ox_reshape(ox_cat(parts, dims + 1, dims), OX_SHAPE(-1, dims + 1));
    ox_tensor *made = ox_matmul(base, ox_transpose(oxi_wide(theta), 1, 2));
    ox_shape out = shape;
    out.ndim = dims + 2;
    for (int d = dims; d > 0; d--) out.dim[d] = shape.dim[d - 1];
    out.dim[0] = size.dim[0];
    out.dim[dims + 1] = dims;
    return oxi_work_end(&work, ox_cast(ox_reshape(made, out), theta->dtype));
}
