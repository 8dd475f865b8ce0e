/* Gradients of what takes rows together: softmax and norms. */

static ox_shape oxi_along_dims(const oxi_backward *b) {
    return oxi_dims_of_set(b->operand[0].ndim ? 1u << b->call->attr.along.dim : 0);
}

OXI_GRADIENT_RULE(softmax) {
    bool done;
    ox_status status = oxi_softmax_back(b, OXI_OP_softmax_back, &done);
    if (done || status != OX_OK) return status;
    ox_tensor *y = oxi_wide(b->out[0]), *weighted = ox_mul(oxi_wide(b->g[0]), y);
    return oxi_gives(b, 0, ox_sub(weighted, ox_mul(y, ox_sum(weighted, oxi_along_dims(b), true))));
}

OXI_GRADIENT_RULE(log_softmax) {
    bool done;
    ox_status status = oxi_softmax_back(b, OXI_OP_log_softmax_back, &done);
    if (done || status != OX_OK) return status;
    ox_tensor *y = oxi_wide(b->out[0]), *g = oxi_wide(b->g[0]);
    return oxi_gives(b, 0, ox_sub(g, ox_mul(ox_exp(y), ox_sum(g, oxi_along_dims(b), true))));
}

/* ---- norms --------------------------------------------------------------------------------------------- */

/* A normalized row and what its elements were multiplied with. */
typedef struct oxi_normal_row {
    ox_tensor *y, *scale;
    ox_shape dims;
    bool centered;
} oxi_normal_row;

static oxi_normal_row oxi_normal_row_of(ox_tensor *x, ox_shape dims, double eps, bool centered) {
    oxi_normal_row row;
    ox_tensor *apart = centered ? ox_sub(x, ox_mean(x, dims, true)) : x;
    row.scale = ox_rsqrt(ox_add(ox_mean(ox_square(apart), dims, true), ox_number(eps)));
    row.y = ox_mul(apart, row.scale);
    row.dims = dims;
    row.centered = centered;
    return row;
}

/* scale (g - mean(g) - y mean(g y)); what is not centered has no mean taken off. */
static ox_tensor *oxi_normal_row_back(const oxi_normal_row *row, ox_tensor *g) {
    ox_tensor *along = ox_mul(row->y, ox_mean(ox_mul(g, row->y), row->dims, true));
    ox_tensor *rest = row->centered ? ox_sub(g, ox_mean(g, row->dims, true)) : g;
    return ox_mul(ox_sub(rest, along), row->scale);
}

static ox_status oxi_norm_rows_back(oxi_backward *b, bool centered) {
    const oxi_call *call = b->call;
    bool done;
    ox_status status = oxi_norm_back(b, centered ? OXI_OP_layer_norm_back : OXI_OP_rms_norm_back, &done);
    if (done || status != OX_OK) return status;
    ox_tensor *g = oxi_wide(b->g[0]);
    if (b->wants[0] || b->wants[1]) {
        ox_tensor *x = oxi_wide(call->in[0]);
        ox_shape dims = x ? oxi_last_dims(x, call->attr.norm.last_dims) : OX_SCALAR_SHAPE;
        oxi_normal_row row = oxi_normal_row_of(x, dims, call->attr.norm.eps, centered);
        if (b->wants[0]) {
            ox_tensor *own = call->in[1] ? ox_mul(g, oxi_wide(call->in[1])) : g;
            status = oxi_gives(b, 0, oxi_normal_row_back(&row, own));
        }
        if (status == OX_OK && b->wants[1]) status = oxi_gives(b, 1, ox_mul(g, row.y));
    }
    if (status == OX_OK && call->in_count > 2 && b->wants[2]) status = oxi_gives(b, 2, g);
    return status;
}

OXI_GRADIENT_RULE(layer_norm) { return oxi_norm_rows_back(b, true); }
OXI_GRADIENT_RULE(rms_norm) { return oxi_norm_rows_back(b, false); }

/* Rows are a sample's channels of one group: x as [N, groups, ..]. */
OXI_GRADIENT_RULE(group_norm) {
    const oxi_call *call = b->call;
    const oxi_outline *outline = &b->operand[0];
    oxi_attr_group_norm_back told = {call->attr.groups.groups, call->attr.groups.eps, true};
    bool done;
    ox_status status = oxi_channels_back_by_row(b, &told, 1, NULL, NULL, &done);
    if (done || status != OX_OK) return status;
    ox_tensor *g = oxi_wide(b->g[0]);
    int64_t count = oxi_outline_numel(outline);
    if (count > 0 && (b->wants[0] || b->wants[1])) {
        int64_t rows = outline->shape[0] * call->attr.groups.groups;
        ox_shape grouped = OX_SHAPE(rows, count / rows), shape = oxi_outline_shape(outline);
        ox_tensor *x = ox_reshape(oxi_wide(call->in[0]), grouped);
        oxi_normal_row row = oxi_normal_row_of(x, OX_DIMS(1), call->attr.groups.eps, true);
        if (b->wants[0]) {
            ox_tensor *own = g;
            if (g && call->in[1]) own = ox_mul(g, oxi_by_channel(oxi_wide(call->in[1]), g));
            own = oxi_normal_row_back(&row, ox_reshape(own, grouped));
            status = oxi_gives(b, 0, ox_reshape(own, shape));
        }
        if (status == OX_OK && b->wants[1])
            status = oxi_gives(b, 1, oxi_summed_by_channel(ox_mul(g, ox_reshape(row.y, shape))));
    }
    if (status == OX_OK && b->wants[2]) status = oxi_gives(b, 2, oxi_summed_by_channel(g));
    return status;
}

/* A number a channel, beside t [N,C,..]. */
static ox_tensor *oxi_beside_channels(ox_tensor *numbers, const ox_tensor *t) {
    return numbers && t ? oxi_by_channel(numbers, t) : NULL;
}

/* With s = weight / sqrt(variance + eps): dx = s g; in training s (g - mean(g) - y mean(g y)), y the
 * normalized x, mean and variance being x's own. */
OXI_GRADIENT_RULE(batch_norm) {
    const oxi_call *call = b->call;
    const oxi_outline *outline = &b->operand[0];
    bool training = call->attr.batch_norm.training, done;
    oxi_attr_group_norm_back told = {0, call->attr.batch_norm.eps, training};
    ox_status status = oxi_channels_back_by_row(b, &told, 3, call->in[1], call->in[2], &done);
    if (done || status != OX_OK) return status;
    ox_tensor *g = oxi_wide(b->g[0]);
    if (!g) return ox_error();
    if (oxi_outline_numel(outline) == 0) return status;
    ox_tensor *total = training || b->wants[4] ? oxi_summed_by_channel(g) : NULL;
    ox_tensor *apart = NULL, *along = NULL;
    ox_tensor *mean = oxi_wide(call->in[1]), *variance = oxi_wide(call->in[2]);
    if (training && call->in[0] && ox_is_grad_enabled()) { /* differentiated: these depend on x */
        ox_shape dims = oxi_dims_of_set(((1u << outline->ndim) - 1) & ~2u);
        mean = ox_mean(oxi_wide(call->in[0]), dims, false);
        variance = ox_var(oxi_wide(call->in[0]), dims, 0, false);
    }
    ox_tensor *deviation = NULL; /* 1 / sqrt(variance + eps) */
    if (status == OX_OK && (b->wants[0] || b->wants[3]))
        deviation = ox_rsqrt(ox_add_number(variance, call->attr.batch_norm.eps));
    if (status == OX_OK && ((training && b->wants[0]) || b->wants[3])) {
        apart = ox_sub(oxi_wide(call->in[0]), oxi_beside_channels(mean, g));
        along = ox_mul(oxi_summed_by_channel(ox_mul(g, apart)), deviation); /* sum of g y */
    }
    if (status == OX_OK && b->wants[0]) {
        ox_tensor *scale = call->in[3] ? ox_mul(deviation, oxi_wide(call->in[3])) : deviation, *own = NULL;
        double each = (double)outline->shape[1] / (double)oxi_outline_numel(outline);
        if (!training) own = ox_mul(g, oxi_beside_channels(scale, g));
        else {
            ox_tensor *less = ox_mul_number(ox_mul(total, scale), -each);
            ox_tensor *slope = ox_mul_number(ox_mul(ox_mul(along, scale), deviation), -each);
            own = ox_addcmul(oxi_beside_channels(less, g), apart, oxi_beside_channels(slope, g), 1);
            own = ox_addcmul(own, g, oxi_beside_channels(scale, g), 1);
        }
        status = oxi_gives(b, 0, own);
    }
    if (status == OX_OK && b->wants[3]) status = oxi_gives(b, 3, along);
    if (status == OX_OK && b->wants[4]) status = oxi_gives(b, 4, total);
    return status;
}
