/* Mixtures of experts whose weights lie in a stream: the rows of one expert after the other are a linear
 * layer of its part of the weights, so that only experts that are used are read. Called by the device,
 * without its lock. */

/* In order of their experts. NULL: an error. */
static ox_tensor *oxi_stream_experts_of(const oxi_call *call) {
    ox_tensor *x = call->in[0], *w = call->in[1], *bias = call->in[3];
    ox_tensor *ids = ox_flatten(ox_cast(ox_to(call->in[2], ox_cpu()), OX_I64), 0, 1);
    if (!ids || oxi_check_indices(oxi_op_name(call), ids, w->shape[0], "a weight") != OX_OK) return NULL;
    ox_device *device = oxi_working_device(ox_device_of(x));
    ox_pair order = ox_sort(ids, 0, false);
    ox_tensor *from = order.indices;
    if (x->ndim == 2) from = ox_floor_divide(from, ox_integer(call->in[2]->shape[1]));
    x = ox_index_select(x->ndim == 2 ? x : ox_flatten(x, 0, 1), 0, ox_to(from, device));
    int64_t slots = ids->shape[0], shape[2] = {slots, w->shape[1]}, n;
    ox_tensor *y = oxi_tensor_new(device, call->out[0]->dtype, 2, shape);
    const int64_t *expert = order.values ? (const int64_t *)ox_data(order.values) : NULL;
    for (int64_t first = 0; expert && y && first < slots; first += n) {
        for (n = 1; first + n < slots && expert[first + n] == expert[first];) n++;
        ox_tensor *one = ox_linear(ox_narrow(x, 0, first, n), ox_select(w, 0, expert[first]),
                                   bias ? ox_select(bias, 0, expert[first]) : NULL);
        if (!ox_copy_(ox_narrow(y, 0, first, n), one)) return NULL;
    }
    y = ox_index_select(y, 0, ox_to(ox_argsort(order.indices, 0, false), device));
    return ox_reshape(y, ox_shape_of(call->out[0]));
}

static ox_status oxi_stream_experts(const oxi_call *call) {
    bool unheard = oxi_unheard, exact = oxi_exact;
    ox_scope scope = ox_scope_begin();
    oxi_unheard = true;
    oxi_exact = call->exact;
    ox_tensor *made = oxi_stream_experts_of(call);
    ox_status status = made ? oxi_copy_quiet(call->out[0], made) : ox_error();
    oxi_unheard = unheard;
    oxi_exact = exact;
    ox_scope_end(&scope);
    return status;
}
