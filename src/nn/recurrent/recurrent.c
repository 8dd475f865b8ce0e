/* Recurrent nets: a kind is how many gates it has and what a step makes of them; layers, directions, batches
 * and results are the same for all. A step is a row (step.c), or made of functions where that does not
 * run. */


typedef struct oxi_recurrent_weights {
    ox_tensor *w, *u, *b, *d, *projection;
} oxi_recurrent_weights;

typedef struct oxi_recurrent {
    const oxi_recurrent_kind *kind;
    ox_tensor *const *params;
    int64_t layers;
    int directions, each; /* weights of a layer and direction */
    bool has_biases, train;
    double dropout;
} oxi_recurrent;

/* ---- steps --------------------------------------------------------------------------------------------- */

static void oxi_step_lstm(ox_tensor *x, ox_tensor *h, ox_tensor **state) {
    ox_tensor *all = ox_add(x, h), *keep = ox_sigmoid(oxi_gate_of(all, 1, 4));
    ox_tensor *write = ox_mul(ox_sigmoid(oxi_gate_of(all, 0, 4)), ox_tanh(oxi_gate_of(all, 2, 4)));
    state[1] = ox_add(ox_mul(keep, state[1]), write);
    state[0] = ox_mul(ox_sigmoid(oxi_gate_of(all, 3, 4)), ox_tanh(state[1]));
}

static void oxi_step_gru(ox_tensor *x, ox_tensor *h, ox_tensor **state) {
    ox_tensor *reset = ox_sigmoid(ox_add(oxi_gate_of(x, 0, 3), oxi_gate_of(h, 0, 3)));
    ox_tensor *keep = ox_sigmoid(ox_add(oxi_gate_of(x, 1, 3), oxi_gate_of(h, 1, 3)));
    ox_tensor *made = ox_tanh(ox_add(oxi_gate_of(x, 2, 3), ox_mul(reset, oxi_gate_of(h, 2, 3))));
    state[0] = ox_add(made, ox_mul(keep, ox_sub(state[0], made)));
}

static void oxi_step_tanh(ox_tensor *x, ox_tensor *h, ox_tensor **state) {
    state[0] = ox_tanh(ox_add(x, h));
}

static void oxi_step_relu(ox_tensor *x, ox_tensor *h, ox_tensor **state) {
    state[0] = ox_relu(ox_add(x, h));
}

static const oxi_recurrent_kind oxi_kind_lstm = {"lstm", 4, 2, OXI_RECURRENT_LSTM, oxi_step_lstm,
                                                 {"lstm_step", oxi_lstm_back, NULL}};
static const oxi_recurrent_kind oxi_kind_gru = {"gru", 3, 1, OXI_RECURRENT_GRU, oxi_step_gru,
                                                {"gru_step", oxi_gru_back, NULL}};
static const oxi_recurrent_kind oxi_kind_rnn_tanh = {"rnn_tanh", 1, 1, OXI_RECURRENT_TANH, oxi_step_tanh,
                                                     {"rnn_tanh_step", oxi_rnn_back, NULL}};
static const oxi_recurrent_kind oxi_kind_rnn_relu = {"rnn_relu", 1, 1, OXI_RECURRENT_RELU, oxi_step_relu,
                                                     {"rnn_relu_step", oxi_rnn_back, NULL}};

/* ---- layers -------------------------------------------------------------------------------------------- */

static oxi_recurrent_weights oxi_weights_of(const oxi_recurrent *r, int64_t place) {
    ox_tensor *const *from = r->params + place * r->each;
    oxi_recurrent_weights weights = {from[0], from[1], NULL, NULL, NULL};
    if (r->has_biases) {
        weights.b = from[2];
        weights.d = from[3];
    }
    int plain = r->has_biases ? 4 : 2;
    if (r->each > plain) weights.projection = from[plain];
    return weights;
}

/* One direction of a layer, x [T,N,I] -> [T,N,H]; state: as it begins, and ends. `list` has room for T. */
static ox_tensor *oxi_recurrent_run(const oxi_recurrent *r, int64_t place, bool backward, ox_tensor *x,
                                    ox_tensor **state, ox_tensor **list) {
    oxi_recurrent_weights weights = oxi_weights_of(r, place);
    ox_tensor *gates = ox_linear(x, weights.w, weights.b);
    int64_t times = x->shape[0];
    for (int64_t i = 0; i < times; i++) {
        int64_t t = backward ? times - 1 - i : i;
        ox_tensor *from_x = ox_select(gates, 0, t), *from_h = ox_linear(state[0], weights.u, weights.d);
        oxi_recurrent_step(r->kind, from_x, from_h, state);
        if (weights.projection) state[0] = ox_linear(state[0], weights.projection, NULL);
        if (!state[0]) return NULL;
        list[t] = state[0];
    }
    return ox_stack(list, (int)times, 0);
}

/* All layers; last[s]: the last states of each layer and direction, one after the other. */
static ox_tensor *oxi_recurrent_layers(const oxi_recurrent *r, ox_tensor *x, ox_tensor *const *states,
                                       ox_tensor **last, ox_tensor **list) {
    for (int64_t layer = 0; layer < r->layers; layer++) {
        ox_tensor *sides[2] = {NULL, NULL};
        for (int side = 0; side < r->directions; side++) {
            int64_t place = layer * r->directions + side, all = r->layers * r->directions;
            ox_tensor *state[2] = {NULL, NULL};
            for (int s = 0; s < r->kind->states; s++) state[s] = ox_select(states[s], 0, place);
            sides[side] = oxi_recurrent_run(r, place, side == 1, x, state, list);
            if (!sides[side]) return NULL;
            for (int s = 0; s < r->kind->states; s++) last[s * all + place] = state[s];
        }
        x = r->directions == 2 ? ox_cat(sides, 2, 2) : sides[0];
        if (layer + 1 < r->layers && r->dropout > 0) x = ox_dropout(x, r->dropout, r->train);
        if (!x) return NULL;
    }
    return x;
}

/* Whether W and U have the rows of all gates: sizes of 1 would broadcast. False and an error. */
static bool oxi_gates_fit(const oxi_recurrent_kind *kind, const ox_tensor *w, const ox_tensor *u,
                          const ox_tensor *state) {
    int64_t rows = kind->gates * state->shape[state->ndim - 1];
    if (w->ndim == 2 && u->ndim == 2 && w->shape[0] == rows && u->shape[0] == rows) return true;
    (void)oxi_fail(OX_ERR_SHAPE, "%s: weights %s, %s beside a state %s", kind->name, oxi_tensor_text(w),
                   oxi_tensor_text(u), oxi_tensor_text(state));
    return false;
}

static bool oxi_recurrent_fits(const oxi_recurrent *r, const ox_tensor *x, ox_tensor *const *states,
                               int state_count, int param_count, int batch_dim) {
    const char *name = r->kind->name;
    int64_t all = r->layers * r->directions, plain = r->has_biases ? 4 : 2;
    bool counts = r->layers >= 1 && r->layers <= 1024 && state_count == r->kind->states &&
                  param_count % all == 0 &&
                  (param_count / all == plain || (r->kind->states == 2 && param_count / all == plain + 1));
    if (!counts || !(r->dropout >= 0 && r->dropout <= 1)) {
        (void)oxi_fail(OX_ERR_ARG, "%s: %d weights, %d states, %lld layers, dropout %g", name, param_count,
                       state_count, (long long)r->layers, r->dropout);
        return false;
    }
    for (int s = 0; s < state_count; s++) {
        const ox_tensor *t = states[s];
        bool fits = (x->ndim == 2 || x->ndim == 3) && t->ndim == x->ndim && t->shape[0] == all &&
                    (x->ndim == 2 || t->shape[1] == x->shape[batch_dim]) &&
                    x->shape[x->ndim == 3 ? 1 - batch_dim : 0] > 0;
        if (fits) continue;
        (void)oxi_fail(OX_ERR_SHAPE, "%s: a state %s beside %s", name, oxi_tensor_text(t),
                       oxi_tensor_text(x));
        return false;
    }
    for (int64_t i = 0; i < all; i++) {
        ox_tensor *const *own = r->params + i * (param_count / all);
        if (!oxi_gates_fit(r->kind, own[0], own[1], states[state_count - 1])) return false;
    }
    return true;
}

/* The last states of one sort as one tensor; of one sequence without the dim of samples. */
static ox_tensor *oxi_last_states(ox_tensor **last, int64_t count, bool single) {
    ox_tensor *all = ox_stack(last, (int)count, 0);
    return single ? ox_squeeze(all, 1) : all;
}

static ox_tuple oxi_recurrent_call(oxi_recurrent *r, ox_tensor *x, ox_tensor *const *states, int state_count,
                                   int param_count, bool batch_first) {
    const char *name = r->kind->name;
    size_t bytes;
    if (oxi_any_null(name, &x, 1) || state_count < 1 || param_count < 1 ||
        oxi_any_null(name, states, state_count) || oxi_any_null(name, r->params, param_count))
        return oxi_no_tuple();
    bool single = x->ndim == 2, turned = batch_first && !single;
    if (r->layers < 1 || !oxi_recurrent_fits(r, x, states, state_count, param_count, turned ? 0 : 1)) {
        if (r->layers < 1) (void)oxi_fail(OX_ERR_ARG, "%s: %lld layers", name, (long long)r->layers);
        return oxi_no_tuple();
    }
    int64_t all = r->layers * r->directions, times = x->shape[turned ? 1 : 0];
    r->each = (int)(param_count / all);
    ox_tensor **list = times <= INT32_MAX ? oxi_list_new(times + 2 * all, &bytes) : NULL;
    if (!list) return oxi_no_tuple();
    oxi_work work = oxi_work_begin(name);
    ox_tensor *begin[2] = {NULL, NULL}, *last[2] = {NULL, NULL};
    for (int s = 0; s < state_count; s++) begin[s] = single ? ox_unsqueeze(states[s], 1) : states[s];
    x = single ? ox_unsqueeze(x, 1) : turned ? ox_transpose(x, 0, 1) : x;
    bool made = x && begin[0] && (state_count == 1 || begin[1]);
    ox_tensor *y = made ? oxi_recurrent_layers(r, x, begin, list + times, list) : NULL;
    for (int s = 0; s < state_count && y; s++) last[s] = oxi_last_states(list + times + s * all, all, single);
    y = !y ? NULL : single ? ox_squeeze(y, 1) : turned ? ox_transpose(y, 0, 1) : y;
    if (state_count == 2 && !last[1]) y = NULL;
    oxi_free(list, bytes ? bytes : sizeof *list);
    return oxi_tuple_end(&work, y, last[0], last[1]);
}

OX_API ox_tuple ox_lstm(ox_tensor *x, ox_tensor *const *states, int state_count, ox_tensor *const *params,
                        int param_count, bool has_biases, int64_t layers, double dropout, bool train,
                        bool bidirectional, bool batch_first) {
    oxi_recurrent r = {&oxi_kind_lstm, params, layers, bidirectional ? 2 : 1, 0, has_biases, train, dropout};
    return oxi_recurrent_call(&r, x, states, state_count, param_count, batch_first);
}

/* ---- one step ------------------------------------------------------------------------------------------ */

/* Puts the next state into `state`, which is as it was; false and an error. */
static bool oxi_recurrent_cell(const oxi_recurrent_kind *kind, ox_tensor *x, ox_tensor **state, ox_tensor *w,
                               ox_tensor *u, ox_tensor *b, ox_tensor *d) {
    ox_tensor *in[3] = {x, w, u};
    if (oxi_any_null(kind->name, in, 3) || oxi_any_null(kind->name, state, kind->states)) return false;
    bool single = x->ndim == 1;
    bool fits = single || x->ndim == 2;
    for (int s = 0; s < kind->states; s++)
        fits = fits && state[s]->ndim == x->ndim && (single || state[s]->shape[0] == x->shape[0]);
    if (!fits) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s_cell: a state %s beside %s", kind->name, oxi_tensor_text(state[0]),
                       oxi_tensor_text(x));
        return false;
    }
    if (!oxi_gates_fit(kind, w, u, state[kind->states - 1])) return false;
    if (single) x = ox_unsqueeze(x, 0);
    for (int s = 0; s < kind->states && single; s++) state[s] = ox_unsqueeze(state[s], 0);
    oxi_recurrent_step(kind, ox_linear(x, w, b), ox_linear(state[0], u, d), state);
    for (int s = 0; s < kind->states && single; s++) state[s] = ox_squeeze(state[s], 0);
    return state[0] != NULL;
}

OX_API ox_tuple ox_lstm_cell(ox_tensor *x, ox_tensor *const *states, int state_count, ox_tensor *w,
                             ox_tensor *u, ox_tensor *b, ox_tensor *d) {
    if (state_count != 2) {
        (void)oxi_fail(OX_ERR_ARG, "lstm_cell: %d states", state_count);
        return oxi_no_tuple();
    }
    oxi_work work = oxi_work_begin("lstm_cell");
    ox_tensor *state[2] = {states[0], states[1]};
    bool made = oxi_recurrent_cell(&oxi_kind_lstm, x, state, w, u, b, d);
    return oxi_tuple_end(&work, made ? state[0] : NULL, state[1], NULL);
}

#define OXI_X(name)                                                                                          \
    OX_API ox_tuple ox_##name(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int param_count,         \
                              bool has_biases, int64_t layers, double dropout, bool train,                   \
                              bool bidirectional, bool batch_first) {                                        \
        oxi_recurrent r = {&oxi_kind_##name, params, layers, bidirectional ? 2 : 1, 0,                       \
                           has_biases,       train,  dropout};                                               \
        return oxi_recurrent_call(&r, x, &h, 1, param_count, batch_first);                                   \
    }                                                                                                        \
    OX_API ox_tensor *ox_##name##_cell(ox_tensor *x, ox_tensor *h, ox_tensor *w, ox_tensor *u, ox_tensor *b, \
                                       ox_tensor *d) {                                                       \
        oxi_work work = oxi_work_begin(#name "_cell");                                                       \
        ox_tensor *state = h;                                                                                \
        bool made = oxi_recurrent_cell(&oxi_kind_##name, x, &state, w, u, b, d);                             \
        return oxi_work_end(&work, made ? state : NULL);                                                     \
    }
OXI_X(gru) OXI_X(rnn_tanh) OXI_X(rnn_relu)
#undef OXI_X
