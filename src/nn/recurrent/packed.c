/* Packed sequences. A run is so many steps of the same sequences: a padded tensor's part, and what a
 * recurrent net goes through at once. Packing, its way back and the nets all walk runs. */

static ox_packed oxi_no_packed(void) {
    ox_packed p;
    memset(&p, 0, sizeof p);
    return p;
}

static ox_packed oxi_packed_end(oxi_work *work, ox_packed p) {
    if (!p.data || !p.batch_sizes) p = oxi_no_packed();
    if (p.data) {
        ox_keep(p.data);
        ox_keep(p.batch_sizes);
        if (p.sorted_indices) ox_keep(p.sorted_indices);
        if (p.unsorted_indices) ox_keep(p.unsorted_indices);
    }
    (void)oxi_work_end(work, NULL);
    return p;
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

/* Steps [time, time + steps) of the first `count` sequences, rows [row, row + steps count) of the data. */
typedef struct oxi_run_of_steps {
    int64_t time, steps, count, row;
} oxi_run_of_steps;

typedef struct oxi_packed_steps {
    oxi_run_of_steps *run;
    int64_t count, times, sequences, rows;
    size_t bytes;
} oxi_packed_steps;

static void oxi_packed_steps_free(oxi_packed_steps *r) {
    oxi_free(r->run, r->bytes);
}

/* i64 numbers of t, in memory that oxi_free takes with *bytes; NULL and an error. */
static int64_t *oxi_numbers_of(const char *name, ox_tensor *t, size_t *bytes) {
    if (t->ndim != 1 || !oxi_is_int(t->dtype))
        return (int64_t *)OXI_FAIL_NULL(OX_ERR_SHAPE, "%s: %s is no list of integers", name,
                                        oxi_tensor_text(t));
    int64_t count = ox_numel(t);
    *bytes = ((size_t)count + 1) * sizeof(int64_t);
    int64_t *numbers = (int64_t *)oxi_alloc(*bytes);
    if (!numbers || ox_to_ints(t, numbers, count) == OX_OK) return numbers;
    oxi_free(numbers, *bytes);
    return NULL;
}

/* Of batch sizes, which do not rise and are above 0; false and an error. */
static bool oxi_steps_of_sizes(const char *name, const int64_t *sizes, int64_t times, oxi_packed_steps *r) {
    memset(r, 0, sizeof *r);
    bool fits = times > 0 && oxi_mul_size((size_t)times, sizeof *r->run, &r->bytes);
    for (int64_t t = 0; t < times && fits; t++) fits = sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]);
    if (!fits) {
        (void)oxi_fail(OX_ERR_ARG, "%s: batch sizes that rise, are 0, or none", name);
        return false;
    }
    r->run = (oxi_run_of_steps *)oxi_alloc(r->bytes);
    if (!r->run) return false;
    r->times = times;
    r->sequences = sizes[0];
    for (int64_t t = 0; t < times && fits; t++) {
        if (t == 0 || sizes[t] != sizes[t - 1]) {
            oxi_run_of_steps begin = {t, 0, sizes[t], r->rows};
            r->run[r->count++] = begin;
        }
        r->run[r->count - 1].steps++;
        fits = oxi_add_i64(r->rows, sizes[t], &r->rows);
    }
    if (!fits) oxi_packed_steps_free(r);
    return fits;
}

/* Of a packed sequence, whose data has as many rows. */
static bool oxi_packed_runs(const char *name, const ox_packed *p, oxi_packed_steps *r) {
    size_t bytes;
    if (!p || !p->data || !p->batch_sizes) {
        if (ox_error() == OX_OK) (void)oxi_fail(OX_ERR_ARG, "%s: no packed sequence", name);
        return false;
    }
    int64_t *sizes = oxi_numbers_of(name, p->batch_sizes, &bytes);
    if (!sizes) return false;
    bool made = oxi_steps_of_sizes(name, sizes, p->batch_sizes->shape[0], r);
    oxi_free(sizes, bytes);
    if (!made || (p->data->ndim > 0 && p->data->shape[0] == r->rows)) return made;
    (void)oxi_fail(OX_ERR_SHAPE, "%s: %lld steps in data %s", name, (long long)r->rows,
                   oxi_tensor_text(p->data));
    oxi_packed_steps_free(r);
    return false;
}

/* Rows of the data that a run has, as [steps, count, ..]. */
static ox_tensor *oxi_run_rows(ox_tensor *data, const oxi_run_of_steps *run) {
    return ox_unflatten(ox_narrow(data, 0, run->row, run->steps * run->count), 0,
                        OX_SHAPE(run->steps, run->count));
}

/* ---- packing ------------------------------------------------------------------------------------------- */

/* Lengths sorted from the longest on, and as batch sizes: sizes has room for the longest. */
static bool oxi_lengths_fit(const int64_t *lengths, int64_t count, int64_t most, bool sorted) {
    for (int64_t i = 0; i < count; i++) {
        bool fits =
            lengths[i] > 0 && lengths[i] <= most && (!sorted || i == 0 || lengths[i] <= lengths[i - 1]);
        if (fits) continue;
        (void)oxi_fail(OX_ERR_ARG,
                       "pack_padded_sequence: a length of %lld (sequence %lld) among up to %lld%s",
                       (long long)lengths[i], (long long)i, (long long)most,
                       lengths[i] > 0 && lengths[i] <= most ? ", which are not sorted" : "");
        return false;
    }
    if (count > 0) return true;
    (void)oxi_fail(OX_ERR_ARG, "pack_padded_sequence: no sequences");
    return false;
}

/* x [T,N,..] sorted: its runs one behind the other. */
static ox_tensor *oxi_pack_runs(ox_tensor *x, const oxi_packed_steps *r) {
    size_t bytes;
    ox_tensor **list = oxi_list_new(r->count, &bytes);
    bool made = list != NULL;
    for (int64_t i = 0; i < r->count && made; i++) {
        const oxi_run_of_steps *run = &r->run[i];
        ox_tensor *part = ox_narrow(ox_narrow(x, 0, run->time, run->steps), 1, 0, run->count);
        made = (list[i] = part ? ox_flatten(part, 0, 1) : NULL) != NULL;
    }
    ox_tensor *data = made ? ox_cat(list, (int)r->count, 0) : NULL;
    if (list) oxi_free(list, bytes);
    return data;
}

/* The work of it: lengths are those of x's sequences as they come. */
static ox_packed oxi_pack(ox_tensor *x, const int64_t *lengths, int64_t count, bool sorted) {
    ox_packed p = oxi_no_packed();
    oxi_packed_steps r;
    int64_t times = 0;
    for (int64_t i = 0; i < count; i++) times = lengths[i] > times ? lengths[i] : times;
    size_t bytes = (size_t)times * sizeof(int64_t);
    int64_t *sizes = (int64_t *)oxi_alloc(bytes);
    if (!sizes) return p;
    memset(sizes, 0, bytes);
    for (int64_t i = 0; i < count; i++) sizes[lengths[i] - 1]++;
    for (int64_t t = times - 1; t > 0; t--) sizes[t - 1] += sizes[t];
    if (!sorted) {
        ox_tensor *order = ox_argsort(oxi_copied(lengths, OX_SHAPE(count), OX_I64), 0, true);
        p.sorted_indices = order;
        p.unsorted_indices = order ? ox_argsort(order, 0, false) : NULL;
        x = p.unsorted_indices ? ox_index_select(x, 1, ox_to(order, oxi_working_device(ox_device_of(x))))
                               : NULL;
    }
    p.batch_sizes = oxi_copied(sizes, OX_SHAPE(times), OX_I64);
    if (x && oxi_steps_of_sizes("pack_padded_sequence", sizes, times, &r)) {
        p.data = oxi_pack_runs(x, &r);
        oxi_packed_steps_free(&r);
    }
    oxi_free(sizes, bytes);
    return p;
}

OX_API ox_packed ox_pack_padded_sequence(ox_tensor *x, ox_tensor *lengths, bool batch_first,
                                         bool enforce_sorted) {
    ox_tensor *in[2] = {x, lengths};
    size_t bytes;
    if (oxi_any_null("pack_padded_sequence", in, 2)) return oxi_no_packed();
    if (x->ndim < 2 || lengths->ndim != 1 || lengths->shape[0] != x->shape[batch_first ? 0 : 1]) {
        (void)oxi_fail(OX_ERR_SHAPE, "pack_padded_sequence: lengths %s of %s", oxi_tensor_text(lengths),
                       oxi_tensor_text(x));
        return oxi_no_packed();
    }
    int64_t count = lengths->shape[0], *numbers = oxi_numbers_of("pack_padded_sequence", lengths, &bytes);
    if (!numbers) return oxi_no_packed();
    oxi_work work = oxi_work_begin("pack_padded_sequence");
    ox_packed p = oxi_no_packed();
    if (batch_first) x = ox_transpose(x, 0, 1);
    if (x && oxi_lengths_fit(numbers, count, x->shape[0], enforce_sorted))
        p = oxi_pack(x, numbers, count, enforce_sorted);
    oxi_free(numbers, bytes);
    return oxi_packed_end(&work, p);
}

OX_API ox_packed ox_packed_with(const ox_packed *p, ox_tensor *data) {
    ox_packed out = oxi_no_packed();
    if (!data || !p || !p->batch_sizes) return out;
    out = *p;
    out.data = data;
    return out;
}

/* ---- padding ------------------------------------------------------------------------------------------- */

static ox_tensor *oxi_packed_padded(const ox_packed *p, const oxi_packed_steps *r, double value,
                                    int64_t total) {
    size_t bytes;
    ox_tensor **list = oxi_list_new(r->count, &bytes), *x = NULL;
    bool made = list != NULL;
    for (int64_t i = 0; i < r->count && made; i++) {
        ox_tensor *part = oxi_run_rows(p->data, &r->run[i]);
        list[i] = part ? oxi_pad_constant(part, 1, 0, r->sequences - r->run[i].count, value) : NULL;
        made = list[i] != NULL;
    }
    if (made) x = ox_cat(list, (int)r->count, 0);
    if (x && total > r->times) x = oxi_pad_constant(x, 0, 0, total - r->times, value);
    if (list) oxi_free(list, bytes);
    if (!x || !p->unsorted_indices) return x;
    return ox_index_select(x, 1, ox_to(p->unsorted_indices, oxi_working_device(ox_device_of(x))));
}

/* How many steps each sequence has, in the order of before. */
static ox_tensor *oxi_packed_lengths(const ox_packed *p, const oxi_packed_steps *r) {
    ox_tensor *sizes = ox_unsqueeze(ox_cast(p->batch_sizes, OX_I64), 1);
    ox_tensor *there = sizes ? ox_gt(sizes, oxi_ramp_beside(sizes, r->sequences, OX_I64)) : NULL;
    ox_tensor *lengths = there ? ox_sum(there, OX_DIMS(0), false) : NULL;
    return lengths && p->unsorted_indices ? ox_index_select(lengths, 0, p->unsorted_indices) : lengths;
}

OX_API ox_tuple ox_pad_packed_sequence(const ox_packed *p, bool batch_first, double value, int64_t total) {
    oxi_packed_steps r;
    if (!oxi_packed_runs("pad_packed_sequence", p, &r)) return oxi_no_tuple();
    oxi_work work = oxi_work_begin("pad_packed_sequence");
    ox_tensor *x = NULL, *lengths = NULL;
    if (total != 0 && total < r.times)
        (void)oxi_fail(OX_ERR_ARG, "pad_packed_sequence: %lld steps, %lld in all", (long long)r.times,
                       (long long)total);
    else if ((lengths = oxi_packed_lengths(p, &r)) != NULL)
        x = oxi_packed_padded(p, &r, value, total);
    oxi_packed_steps_free(&r);
    if (x && batch_first) x = ox_transpose(x, 0, 1);
    return oxi_tuple_end(&work, x, lengths, NULL);
}

static bool oxi_sequences_fit(const char *name, ox_tensor *const *list, int count, int64_t *most) {
    *most = 0;
    if (count < 1 || !list) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no sequences", name);
        return false;
    }
    if (oxi_any_null(name, list, count)) return false;
    for (int i = 0; i < count; i++) {
        bool fits = list[i]->ndim > 0 && list[i]->ndim < OX_MAX_DIMS && list[i]->ndim == list[0]->ndim &&
                    list[i]->dtype == list[0]->dtype;
        for (int d = 1; fits && d < list[0]->ndim; d++) fits = list[i]->shape[d] == list[0]->shape[d];
        if (!fits) {
            (void)oxi_fail(OX_ERR_SHAPE, "%s: %s beside %s", name, oxi_tensor_text(list[i]),
                           oxi_tensor_text(list[0]));
            return false;
        }
        *most = list[i]->shape[0] > *most ? list[i]->shape[0] : *most;
    }
    return true;
}

OX_API ox_tensor *ox_pad_sequence(ox_tensor *const *list, int count, bool batch_first, double value,
                                  const char *side) {
    static const char *const sides[2] = {"right", "left"};
    int64_t most;
    size_t bytes;
    int left = oxi_mode_word("pad_sequence", sides, 2, side);
    if (left < 0 || !oxi_sequences_fit("pad_sequence", list, count, &most)) return NULL;
    ox_tensor **rows = oxi_list_new(count, &bytes);
    if (!rows) return NULL;
    oxi_work work = oxi_work_begin("pad_sequence");
    bool made = true;
    for (int i = 0; i < count && made; i++) {
        int64_t more = most - list[i]->shape[0];
        rows[i] = oxi_pad_constant(list[i], 0, left ? more : 0, left ? 0 : more, value);
        made = rows[i] != NULL;
    }
    ox_tensor *x = made ? ox_stack(rows, count, batch_first ? 0 : 1) : NULL;
    oxi_free(rows, bytes);
    return oxi_work_end(&work, x);
}

OX_API int64_t ox_unpad_sequence(ox_tensor *padded, ox_tensor *lengths, bool batch_first, ox_tensor **out,
                                 int64_t room) {
    ox_tensor *in[2] = {padded, lengths};
    size_t bytes;
    int64_t made = 0;
    if (oxi_any_null("unpad_sequence", in, 2)) return -1;
    int of = batch_first ? 0 : 1;
    if (padded->ndim < 2 || lengths->ndim != 1 || lengths->shape[0] != padded->shape[of]) {
        (void)oxi_fail(OX_ERR_SHAPE, "unpad_sequence: lengths %s of %s", oxi_tensor_text(lengths),
                       oxi_tensor_text(padded));
        return -1;
    }
    int64_t count = lengths->shape[0], *numbers = oxi_numbers_of("unpad_sequence", lengths, &bytes);
    if (!numbers) return -1;
    int64_t wanted = !out ? 0 : room < count ? room : count;
    for (; made < wanted; made++) {
        oxi_work work = oxi_work_begin("unpad_sequence");
        out[made] = oxi_work_end(&work, ox_narrow(ox_select(padded, of, made), 0, 0, numbers[made]));
        if (!out[made]) break;
    }
    oxi_free(numbers, bytes);
    return oxi_results_end(out, made, wanted) < 0 ? -1 : count;
}

OX_API ox_packed ox_pack_sequence(ox_tensor *const *list, int count, bool enforce_sorted) {
    int64_t most;
    size_t bytes = (size_t)(count > 0 ? count : 1) * sizeof(int64_t);
    if (!oxi_sequences_fit("pack_sequence", list, count, &most)) return oxi_no_packed();
    int64_t *lengths = (int64_t *)oxi_alloc(bytes);
    if (!lengths) return oxi_no_packed();
    for (int i = 0; i < count; i++) lengths[i] = list[i]->shape[0];
    oxi_work work = oxi_work_begin("pack_sequence");
    ox_packed p = oxi_no_packed();
    if (oxi_lengths_fit(lengths, count, most, enforce_sorted)) {
        ox_tensor *x = ox_pad_sequence(list, count, false, 0, NULL);
        if (x) p = oxi_pack(x, lengths, count, enforce_sorted);
    }
    oxi_free(lengths, bytes);
    return oxi_packed_end(&work, p);
}

/* ---- recurrent nets ------------------------------------------------------------------------------------ */

/* Rows [n, sequences) of a sort of state, which go on, or begin, with a run; joined: behind the first ones.
 * */
static ox_tensor *oxi_state_with(ox_tensor *first, ox_tensor *rest) {
    ox_tensor *both[2] = {first, rest};
    if (!first || !rest || rest->shape[0] == 0) return first;
    return ox_cat(both, 2, 0);
}

/* One direction of a layer over all runs. state: [N,H] of each sort, as it begins, and ends. */
static ox_tensor *oxi_packed_direction(const oxi_recurrent *whole, int64_t place, bool backward,
                                       const oxi_packed_steps *r, ox_tensor *data, ox_tensor **state,
                                       ox_tensor **list) {
    oxi_recurrent own = *whole;
    int sorts = whole->kind->states;
    ox_tensor *now[2] = {NULL, NULL};
    own.params = whole->params + place * whole->each;
    own.layers = own.directions = 1;
    own.dropout = 0;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t k = backward ? r->count - 1 - i : i;
        const oxi_run_of_steps *run = &r->run[k];
        int64_t had = i == 0 ? 0 : now[0]->shape[0];
        for (int s = 0; s < sorts; s++) {
            if (i == 0)
                now[s] = ox_narrow(state[s], 0, 0, run->count);
            else if (backward) /* more begin */
                now[s] = oxi_state_with(now[s], ox_narrow(state[s], 0, had, run->count - had));
            else { /* some are over */
                ox_tensor *over = ox_narrow(now[s], 0, run->count, had - run->count);
                state[s] = i == 1 ? over : oxi_state_with(over, state[s]);
                now[s] = ox_narrow(now[s], 0, 0, run->count);
            }
        }
        ox_tensor *x = oxi_run_rows(data, run), *begin[2] = {NULL, NULL};
        for (int s = 0; s < sorts; s++) begin[s] = now[s] ? ox_unsqueeze(now[s], 0) : NULL;
        if (!x || !begin[0] || (sorts == 2 && !begin[1])) return NULL;
        ox_tuple made =
            oxi_recurrent_call(&own, backward ? ox_flip(x, OX_DIMS(0)) : x, begin, sorts, whole->each, false);
        if (!made.t[0]) return NULL;
        for (int s = 0; s < sorts; s++) now[s] = ox_squeeze(made.t[1 + s], 0);
        ox_tensor *y = backward ? ox_flip(made.t[0], OX_DIMS(0)) : made.t[0];
        list[k] = ox_flatten(y, 0, 1);
        if (!list[k]) return NULL;
    }
    for (int s = 0; s < sorts; s++)
        state[s] = backward || r->count == 1 ? now[s] : oxi_state_with(now[s], state[s]);
    return ox_cat(list, (int)r->count, 0);
}

/* All layers; last[s * all + place]: the last states. */
static ox_tensor *oxi_packed_layers(const oxi_recurrent *w, const oxi_packed_steps *r, ox_tensor *data,
                                    ox_tensor *const *states, ox_tensor **last, ox_tensor **list) {
    int64_t all = w->layers * w->directions;
    for (int64_t place = 0; place < all;) {
        ox_tensor *sides[2] = {NULL, NULL};
        for (int side = 0; side < w->directions; side++, place++) {
            ox_tensor *state[2] = {NULL, NULL};
            for (int s = 0; s < w->kind->states; s++) state[s] = ox_select(states[s], 0, place);
            sides[side] = oxi_packed_direction(w, place, side == 1, r, data, state, list);
            if (!sides[side]) return NULL;
            for (int s = 0; s < w->kind->states; s++) last[s * all + place] = state[s];
        }
        data = w->directions == 2 ? ox_cat(sides, 2, 1) : sides[0];
        if (place < all && w->dropout > 0) data = ox_dropout(data, w->dropout, w->train);
        if (!data) return NULL;
    }
    return data;
}

/* States in another order of sequences; NULL: as they are. */
static ox_tensor *oxi_states_by(ox_tensor *state, ox_tensor *order) {
    if (!state || !order) return state;
    return ox_index_select(state, 1, ox_to(order, oxi_working_device(ox_device_of(state))));
}

static ox_tuple oxi_packed_work(oxi_recurrent *w, const ox_packed *p, const oxi_packed_steps *r,
                                ox_tensor *const *states, int state_count, int param_count) {
    ox_tensor *begin[2] = {NULL, NULL}, *last[2] = {NULL, NULL}, *y = NULL;
    size_t bytes;
    int64_t all = w->layers * w->directions;
    oxi_work work = oxi_work_begin(w->kind->name);
    ox_tensor *like = oxi_run_rows(p->data, &r->run[0]); /* as a padded one of all sequences would be */
    bool there = like && oxi_recurrent_fits(w, like, states, state_count, param_count, 1);
    ox_tensor **list = there ? oxi_list_new(r->count + 2 * all, &bytes) : NULL;
    if (!list) return oxi_tuple_end(&work, NULL, NULL, NULL);
    w->each = (int)(param_count / all);
    for (int s = 0; s < state_count; s++) {
        begin[s] = oxi_states_by(states[s], p->sorted_indices);
        there = there && begin[s];
    }
    if (there) y = oxi_packed_layers(w, r, p->data, begin, list + r->count, list);
    for (int s = 0; s < state_count && y; s++) {
        last[s] = ox_stack(list + r->count + s * all, (int)all, 0);
        last[s] = oxi_states_by(last[s], p->unsorted_indices);
    }
    oxi_free(list, bytes);
    if (state_count == 2 && !last[1]) y = NULL;
    return oxi_tuple_end(&work, y, last[0], last[1]);
}

static ox_tuple oxi_packed_call(oxi_recurrent *w, const ox_packed *p, ox_tensor *const *states,
                                int state_count, int param_count) {
    const char *name = w->kind->name;
    oxi_packed_steps r;
    if (state_count < 1 || param_count < 1 || oxi_any_null(name, states, state_count) ||
        oxi_any_null(name, w->params, param_count))
        return oxi_no_tuple();
    if (!oxi_packed_runs(name, p, &r)) return oxi_no_tuple();
    ox_tuple made = oxi_no_tuple();
    if (p->data->ndim != 2)
        (void)oxi_fail(OX_ERR_SHAPE, "%s: packed data %s", name, oxi_tensor_text(p->data));
    else if (w->layers < 1)
        (void)oxi_fail(OX_ERR_ARG, "%s: %lld layers", name, (long long)w->layers);
    else
        made = oxi_packed_work(w, p, &r, states, state_count, param_count);
    oxi_packed_steps_free(&r);
    return made;
}

OX_API ox_tuple ox_lstm_packed(const ox_packed *p, ox_tensor *const *states, int state_count,
                               ox_tensor *const *params, int param_count, bool has_biases, int64_t layers,
                               double dropout, bool train, bool bidirectional) {
    oxi_recurrent w = {&oxi_kind_lstm, params, layers, bidirectional ? 2 : 1, 0, has_biases, train, dropout};
    return oxi_packed_call(&w, p, states, state_count, param_count);
}

#define OXI_X(name)                                                                                      \
    OX_API ox_tuple ox_##name##_packed(const ox_packed *p, ox_tensor *h, ox_tensor *const *params,       \
                                       int param_count, bool has_biases, int64_t layers, double dropout, \
                                       bool train, bool bidirectional) {                                 \
        oxi_recurrent w = {&oxi_kind_##name, params, layers, bidirectional ? 2 : 1, 0,                   \
                           has_biases,       train,  dropout};                                           \
        return oxi_packed_call(&w, p, &h, 1, param_count);                                               \
    }
OXI_X(gru) OXI_X(rnn_tanh) OXI_X(rnn_relu)
#undef OXI_X
