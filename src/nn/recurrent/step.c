/* A step of a recurrent net as one row of the table and one function of the tape, with what its gates came to
 * saved. Its gradient is a row as well, or, where it is to be differentiated, made of functions. Called by
 * recurrent.c. */

typedef struct oxi_recurrent_kind {
    const char *name;
    int gates, states; /* a state: h, or h and c */
    int kind;          /* of the rows */
    /* The next state from the gates of x and of h, [N,G H] each, by functions. */
    void (*step)(ox_tensor *x, ox_tensor *h, ox_tensor **state);
    ox_function function; /* of the tape; its user is the kind */
} oxi_recurrent_kind;

static ox_tensor *oxi_gate_of(ox_tensor *gates, int i, int of) {
    int64_t width = gates ? gates->shape[1] / of : 0;
    return ox_narrow(gates, 1, i * width, width);
}

/* ---- back ---------------------------------------------------------------------------------------------- */

/* Results [count] of a row; false: there is none for these operands. */
static bool oxi_recurrent_row(const oxi_recurrent_kind *kind, oxi_op op, ox_tensor *const *in, int in_count,
                              int count, ox_tensor **out) {
    oxi_call call = oxi_call_of(op, in, in_count, NULL);
    call.attr.recurrent.kind = kind->kind;
    call.out_count = count;
    if (!oxi_call_runs_there(&call) || oxi_apply(&call) != OX_OK) return false;
    for (int k = 0; k < count; k++) out[k] = call.out[k];
    return true;
}

/* The same of gradients, where nothing comes to gates themselves and nobody records it. in: g of h, g of c or
 * nothing, gates, the state; what is missing of h is zeros. */
static bool oxi_step_back_row(const ox_function_context *c, ox_tensor *gates_back, ox_tensor **in,
                              int in_count, int count) {
    if (ox_is_grad_enabled() || gates_back) return false;
    for (int i = 0; i < in_count; i++) {
        if (!in[i]) continue;
        in[i] = ox_contiguous(oxi_as_dtype_of(in[i], in[2]));
        if (!in[i] || in[i]->dtype == OX_F64) return false;
    }
    const oxi_recurrent_kind *kind = (const oxi_recurrent_kind *)c->user;
    return oxi_recurrent_row(kind, OXI_OP_recurrent_step_back, in, in_count, count, c->input_gradients);
}

static ox_tensor *oxi_through_sigmoid(ox_tensor *g, ox_tensor *s) {
    return ox_mul(g, ox_mul(s, ox_rsub_number(s, 1)));
}
static ox_tensor *oxi_through_tanh(ox_tensor *g, ox_tensor *t) {
    return ox_mul(g, ox_rsub_number(ox_square(t), 1));
}
/* More of what comes back, from gate i of what came to the gates, if anything did. */
static ox_tensor *oxi_with_gate(ox_tensor *own, ox_tensor *gates_back, int i) {
    return gates_back ? ox_add(own, oxi_gate_of(gates_back, i, 4)) : own;
}

/* Inputs x, h [N,4 H], c; outputs gates, c, h; saved c and gates. */
static ox_status oxi_lstm_back(const ox_function_context *c) {
    ox_tensor *from = c->gradients[0], *state = c->saved[0], *gates = c->saved[1];
    ox_tensor *g = c->gradients[2] ? c->gradients[2] : ox_zeros_like(state);
    ox_tensor *in[4] = {g, c->gradients[1], gates, state}, *out[2], *gate[4], *own[4];
    ox_function_context row = *c;
    row.input_gradients = out;
    if (!g) return ox_error();
    if (!oxi_step_back_row(&row, from, in, 4, 2)) {
        for (int i = 0; i < 4; i++) gate[i] = oxi_gate_of(gates, i, 4);
        ox_tensor *t = ox_tanh(ox_add(ox_mul(gate[1], state), ox_mul(gate[0], gate[2])));
        ox_tensor *of_c = oxi_through_tanh(ox_mul(g, gate[3]), t);
        if (c->gradients[1]) of_c = ox_add(of_c, c->gradients[1]);
        own[0] = oxi_through_sigmoid(oxi_with_gate(ox_mul(of_c, gate[2]), from, 0), gate[0]);
        own[1] = oxi_through_sigmoid(oxi_with_gate(ox_mul(of_c, state), from, 1), gate[1]);
        own[2] = oxi_through_tanh(oxi_with_gate(ox_mul(of_c, gate[0]), from, 2), gate[2]);
        own[3] = oxi_through_sigmoid(oxi_with_gate(ox_mul(g, t), from, 3), gate[3]);
        out[0] = own[0] && own[1] && own[2] && own[3] ? ox_cat(own, 4, 1) : NULL;
        out[1] = ox_mul(of_c, gate[1]);
    }
    c->input_gradients[0] = c->input_gradients[1] = out[0];
    c->input_gradients[2] = out[1];
    return out[0] && out[1] ? OX_OK : ox_error();
}

/* Inputs x, h [N,3 H], the state; outputs gates r z n and h's part of the last, the state; saved: the state
 * and gates. */
static ox_status oxi_gru_back(const ox_function_context *c) {
    ox_tensor *from = c->gradients[0], *state = c->saved[0], *gates = c->saved[1];
    ox_tensor *g = c->gradients[1] ? c->gradients[1] : ox_zeros_like(state);
    ox_tensor *in[4] = {g, NULL, gates, state}, *gate[4], *own[3];
    if (!g) return ox_error();
    if (oxi_step_back_row(c, from, in, 4, 3)) return OX_OK;
    for (int i = 0; i < 4; i++) gate[i] = oxi_gate_of(gates, i, 4);
    own[2] = oxi_with_gate(ox_mul(g, ox_rsub_number(gate[1], 1)), from, 2);
    own[2] = oxi_through_tanh(own[2], gate[2]);
    own[1] = oxi_with_gate(ox_mul(g, ox_sub(state, gate[2])), from, 1);
    own[1] = oxi_through_sigmoid(own[1], gate[1]);
    own[0] = oxi_through_sigmoid(oxi_with_gate(ox_mul(own[2], gate[3]), from, 0), gate[0]);
    bool made = own[0] && own[1] && own[2];
    c->input_gradients[0] = made ? ox_cat(own, 3, 1) : NULL;
    own[2] = oxi_with_gate(ox_mul(own[2], gate[0]), from, 3);
    c->input_gradients[1] = made && own[2] ? ox_cat(own, 3, 1) : NULL;
    c->input_gradients[2] = ox_mul(g, gate[1]);
    return c->input_gradients[0] && c->input_gradients[1] && c->input_gradients[2] ? OX_OK : ox_error();
}

/* Inputs x and h; output and saved: their sum through tanh or relu. */
static ox_status oxi_rnn_back(const ox_function_context *c) {
    ox_tensor *y = c->saved[0], *g = c->gradients[0], *in[3] = {g, NULL, y};
    bool relu = ((const oxi_recurrent_kind *)c->user)->kind == OXI_RECURRENT_RELU;
    if (!oxi_step_back_row(c, NULL, in, 3, 1))
        c->input_gradients[0] =
            relu ? ox_where(ox_le(y, ox_number(0)), ox_number(0), g) : oxi_through_tanh(g, y);
    c->input_gradients[1] = c->input_gradients[0];
    return c->input_gradients[0] ? OX_OK : ox_error();
}

/* ---- forward ------------------------------------------------------------------------------------------- */

/* Whether the row takes these: matrices of f32, f16 or bf16, all of one dtype, a row a sample. */
static bool oxi_step_fits(const oxi_recurrent_kind *kind, const ox_tensor *x, const ox_tensor *h,
                          const ox_tensor *state) {
    if (!x || !h || !state || x->ndim != 2 || h->ndim != 2 || state->ndim != 2) return false;
    if (!oxi_back_reads(x) || h->dtype != x->dtype || state->dtype != x->dtype || ox_numel(x) == 0)
        return false;
    return h->shape[0] == x->shape[0] && h->shape[1] == x->shape[1] && state->shape[0] == x->shape[0] &&
           state->shape[1] * kind->gates == x->shape[1];
}

/* The next state; false: not by the row. */
static bool oxi_step_by_row(const oxi_recurrent_kind *kind, ox_tensor *x, ox_tensor *h, ox_tensor **state) {
    ox_tensor *out[3], *own = state[kind->states - 1];
    int given = kind->gates > 1 ? 3 : 2, count = kind->gates > 1 ? 1 + kind->states : 1;
    if (kind->gates > 1 && !oxi_step_fits(kind, x, h, own)) return false;
    if (kind->gates == 1 && !oxi_step_fits(kind, x, h, x)) return false;
    oxi_start_back();
    ox_tensor *in[3] = {ox_contiguous(x), ox_contiguous(h), given > 2 ? ox_contiguous(own) : NULL};
    if (!in[0] || !in[1] || (given > 2 && !in[2])) return false;
    bool enabled = ox_set_grad_enabled(false);
    bool made = oxi_recurrent_row(kind, OXI_OP_recurrent_step, in, given, count, out);
    (void)ox_set_grad_enabled(enabled);
    if (!made) return false;
    ox_tensor *saved[2] = {given > 2 ? in[2] : out[0], out[0]};
    if (enabled && ox_attach_function(&kind->function, (void *)(uintptr_t)kind, in, given, out, count, saved,
                                      given - 1) != OX_OK)
        return false;
    if (kind->states == 2) state[1] = out[1];
    state[0] = out[count - 1];
    return true;
}

static void oxi_recurrent_step(const oxi_recurrent_kind *kind, ox_tensor *x, ox_tensor *h,
                               ox_tensor **state) {
    if (!oxi_step_by_row(kind, x, h, state)) kind->step(x, h, state);
}
