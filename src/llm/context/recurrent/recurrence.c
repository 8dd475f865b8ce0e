/* What recurrences over positions are made of: the state that a layer keeps, the convolution over the last
 * positions, and linear attention with decays, in chunks of positions. Called by mixers.c and context.c. */

/* ---- states -------------------------------------------------------------------------------------------- */

/* Whether layers keep more of a text than keys and values. */
static bool oxi_llm_has_states(const ox_llm *model) {
    return model->numbers.mixing.kind || model->numbers.blocks || model->grams.rows > 0;
}

/* Whether a step can be recorded before the one that it goes on from is over: all of it is on the device. */
static bool oxi_llm_states_go_ahead(const ox_llm *model) {
    const oxi_llm_mixing *m = &model->numbers.mixing;
    if (!oxi_llm_has_states(model)) return true;
    return m->kind && m->kind != OXI_LLM_MIXES_RWKV7 && !model->numbers.blocks && model->grams.rows == 0;
}

/* False: no memory. Models without recurrences have none. */
static bool oxi_llm_open_states(ox_llm_context *context) {
    const size_t layers = (size_t)context->model->config.layers;
    if (!oxi_llm_has_states(context->model)) return true;
    context->states = (oxi_llm_state *)oxi_calloc(layers, sizeof *context->states);
    context->written = (oxi_llm_state *)oxi_calloc(layers, sizeof *context->written);
    context->recorded = (oxi_llm_state *)oxi_calloc(layers, sizeof *context->recorded);
    context->homes = (ox_tensor **)oxi_calloc(1, sizeof *context->homes);
    return context->states && context->written && context->recorded && context->homes;
}

static void oxi_llm_drop_late(oxi_llm_state *state) {
    for (int i = 0; i < 3; i++) {
        ox_release(state->late[i]);
        state->late[i] = NULL;
    }
}

static void oxi_llm_drop_states(const ox_llm_context *context, oxi_llm_state *states) {
    for (int64_t i = 0; states && i < context->model->config.layers; i++) {
        ox_release(states[i].window);
        ox_release(states[i].memory);
        ox_release(states[i].home);
        oxi_llm_drop_late(&states[i]);
        ox_release(states[i].fed);
        ox_release(states[i].grams);
        memset(&states[i], 0, sizeof states[i]);
    }
}

static void oxi_llm_clear_states(ox_llm_context *context) {
    oxi_llm_drop_states(context, context->states);
}

static void oxi_llm_close_states(ox_llm_context *context) {
    const size_t bytes = (size_t)context->model->config.layers * sizeof *context->states;
    oxi_llm_drop_states(context, context->states);
    oxi_llm_drop_states(context, context->written);
    oxi_llm_drop_states(context, context->recorded);
    if (context->homes) ox_release(*context->homes);
    oxi_free(context->homes, context->homes ? sizeof *context->homes : 0);
    oxi_free(context->recorded, context->recorded ? bytes : 0);
    oxi_free(context->states, context->states ? bytes : 0);
    oxi_free(context->written, context->written ? bytes : 0);
}

static void oxi_llm_settle_state(ox_tensor **kept, ox_tensor **written) {
    if (!*written) return;
    ox_release(*kept);
    *kept = *written;
    *written = NULL;
}

/* A memory that was written holds all positions but its own late one. */
static void oxi_llm_settle_memory(oxi_llm_state *kept, oxi_llm_state *written) {
    if (written->memory || written->late[0]) oxi_llm_drop_late(kept);
    if (written->memory && !written->home) {
        ox_release(kept->home);
        kept->home = NULL;
    }
    oxi_llm_settle_state(&kept->memory, &written->memory);
    oxi_llm_settle_state(&kept->home, &written->home);
    for (int i = 0; i < 3; i++) oxi_llm_settle_state(&kept->late[i], &written->late[i]);
}

/* What was written while tokens ran becomes the state, or is forgotten: an error leaves all as it was. */
static void oxi_llm_settle_states(const ox_llm_context *context, bool good) {
    if (!context->states) return;
    for (int64_t i = 0; good && i < context->model->config.layers; i++) {
        oxi_llm_settle_state(&context->states[i].window, &context->written[i].window);
        oxi_llm_settle_memory(&context->states[i], &context->written[i]);
        oxi_llm_settle_state(&context->states[i].fed, &context->written[i].fed);
        oxi_llm_settle_state(&context->states[i].grams, &context->written[i].grams);
    }
    oxi_llm_drop_states(context, context->written);
}

/* The step that is recorded next goes on from what the one before it writes; what it writes itself is kept
 * apart until it is started. */
static void oxi_llm_turn_states(ox_llm_context *context) {
    oxi_llm_state *kept = context->states;
    context->states = context->written;
    context->written = context->recorded;
    context->recorded = kept;
}
static void oxi_llm_go_on_from_written(ox_llm_context *context) {
    oxi_llm_turn_states(context);
}

/* Behind it: everything is in its place again. */
static void oxi_llm_keep_recorded(ox_llm_context *context, bool good) {
    oxi_llm_turn_states(context);
    oxi_llm_turn_states(context);
    if (!good && context->states) oxi_llm_drop_states(context, context->recorded);
}

/* The step that was recorded is started: what it writes is what is written now. Else it is forgotten. */
static void oxi_llm_take_recorded(ox_llm_context *context, bool started) {
    if (!context->states) return;
    oxi_llm_state *written = context->written;
    if (!started) oxi_llm_drop_states(context, context->recorded);
    if (!started) return;
    context->written = context->recorded;
    context->recorded = written;
}

/* What there is of it, or zeros. */
static ox_tensor *oxi_llm_state_or_zeros(const ox_llm *model, ox_tensor *written, ox_tensor *kept,
                                         ox_shape shape) {
    if (written) return written;
    if (kept) return kept;
    ox_tensor *zeros = oxi_tensor_new(model->device, OX_F32, shape.ndim, shape.dim);
    return zeros ? ox_zero_(zeros) : NULL;
}

/* Keeps `t`, a tensor of its own, for the batch after this one. */
static bool oxi_llm_write_state(ox_tensor **slot, ox_tensor *t) {
    if (!t) return false;
    ox_release(*slot);
    *slot = ox_retain(t);
    return true;
}

/* Keeps a memory that holds all positions. */
static bool oxi_llm_write_memory(const oxi_llm_batch *batch, int64_t index, ox_tensor *memory) {
    oxi_llm_state *written = &batch->context->written[index];
    if (!oxi_llm_write_state(&written->memory, memory)) return false;
    ox_release(written->home);
    written->home = NULL;
    oxi_llm_drop_late(written);
    return true;
}

/* The memory without its late position, and where both are: states, or what was written. */
static ox_tensor *oxi_llm_early_memory(const oxi_llm_batch *batch, int64_t index, oxi_llm_state **of) {
    const ox_llm_context *context = batch->context;
    const oxi_llm_mixing *m = &context->model->numbers.mixing;
    *of = context->written[index].memory ? &context->written[index] : &context->states[index];
    return oxi_llm_state_or_zeros(context->model, NULL, (*of)->memory, OX_SHAPE(m->heads, m->key, m->value));
}

/* The late position, or NULL. */
static ox_tensor *const *oxi_llm_late_of(const oxi_llm_batch *batch, int64_t index, const oxi_llm_state *of) {
    const oxi_llm_state *written = &batch->context->written[index];
    return written->late[0] ? written->late : of->late[0] ? of->late : NULL;
}

static ox_tensor *oxi_llm_scan_heads(const oxi_llm_batch *batch, int64_t index, ox_tensor *u,
                                     ox_tensor *steps, ox_tensor *gate, ox_tensor *memory, bool hold,
                                     ox_tensor *out); /* mixers.c */

static ox_tensor *oxi_llm_memory(const oxi_llm_batch *batch, int64_t index) {
    oxi_llm_state *of;
    ox_tensor *memory = oxi_llm_early_memory(batch, index, &of);
    ox_tensor *const *late = oxi_llm_late_of(batch, index, of);
    if (!memory || !late) return memory;
    ox_tensor *both = late[2] ? ox_linear_attention(late[0], late[0], late[1], late[2], memory, NULL, NULL)
                              : oxi_llm_scan_heads(batch, index, late[0], late[1], NULL, memory, false, NULL);
    return ox_narrow(both, 1, 1, memory->shape[1]);
}

/* ---- convolution --------------------------------------------------------------------------------------- */

/* Runs a chain of ops over tensors and numbers, in one pass; `out`: a place for each result, NULL. */
static bool oxi_llm_chain(const char *text, ox_tensor *const *in, int count, const double *numbers,
                          int number_count, ox_tensor **out) {
    for (int i = 0; i < count; i++)
        if (!in[i]) return false;
    return oxi_chain_run(text, in, count, numbers, number_count, out) == OX_OK;
}

/* One without numbers, and its only result. */
static ox_tensor *oxi_llm_chained(const char *text, ox_tensor *const *in, int count) {
    const double no_numbers = 0;
    ox_tensor *out = NULL;
    return oxi_llm_chain(text, in, count, &no_numbers, 0, &out) ? out : NULL;
}

/* sum + x k of one tap, or of two in one pass where the CPU computes; sum NULL: 0. bias, or NULL, and silu
 * come into the same pass. */
static ox_tensor *oxi_llm_add_taps(ox_tensor *sum, ox_tensor *const *x, ox_tensor *const *k, int count,
                                   ox_tensor *bias, bool silu) {
    static const char *const texts[] = {
        "a b * c d addcmul ;",          "a b c addcmul d e addcmul ;",
        "a b * c d addcmul silu ;",     "a b c addcmul d e addcmul silu ;",
        "a b * c d addcmul e + ;",      "a b c addcmul d e addcmul f + ;",
        "a b * c d addcmul e + silu ;", "a b c addcmul d e addcmul f + silu ;"};
    ox_tensor *in[6] = {sum, x[0], k[0], x[1], k[1], bias};
    if (count == 1) {
        ox_tensor *out = sum ? ox_addcmul_(sum, x[0], k[0], 1) : ox_mul(x[0], k[0]);
        if (bias) out = ox_add_(out, bias);
        return silu ? ox_silu_(out) : out;
    }
    const char *text = texts[4 * (bias != NULL) + 2 * silu + (sum != NULL)];
    const int used = 4 + (sum != NULL) + (bias != NULL);
    return oxi_llm_chained(text, sum ? in : in + 1, used);
}

/* Each channel's weighted sum over positions `apart` from each other, up to its own: x [S, channels] by a
 * kernel [taps, channels]. The rows before the batch are the layer's state; a single position reads them
 * where they lie. */
static ox_tensor *oxi_llm_convolve_over(const ox_llm *model, ox_tensor *kernel, ox_tensor *bias, bool silu,
                                        int64_t apart, ox_tensor *kept, ox_tensor **written, ox_tensor *x) {
    if (!x) return NULL;
    const int64_t taps = kernel->shape[0], before = (taps - 1) * apart, count = x->shape[0];
    const bool one = count == 1 && before > 0;
    const int most = model->device == ox_cpu() ? 2 : 1;
    ox_tensor *list[2], *old, *sum = NULL;
    old = oxi_llm_state_or_zeros(model, *written, kept, OX_SHAPE(before, kernel->shape[1]));
    list[0] = one ? ox_narrow(old, 0, 1, before - 1) : old;
    list[1] = x;
    if (!list[0]) return NULL;
    ox_tensor *all = one ? NULL : ox_cat(list, 2, 0); /* [before + S, channels] */
    for (int64_t k = 0, next; k < taps; k = next) {
        ox_tensor *rows[2] = {NULL, NULL}, *weights[2] = {NULL, NULL};
        next = k + most < taps ? k + most : taps;
        for (int64_t i = k; i < next; i++) {
            rows[i - k] = !one           ? ox_narrow(all, 0, i * apart, count)
                          : i < taps - 1 ? ox_narrow(old, 0, i * apart, 1)
                                         : x;
            weights[i - k] = ox_select(kernel, 0, i);
        }
        const bool last = next == taps;
        sum = oxi_llm_add_taps(sum, rows, weights, (int)(next - k), last ? bias : NULL, last && silu);
        if (!sum) return NULL;
    }
    /* of one position behind the sum: a GPU has read its rows for that */
    ox_tensor *window = one ? ox_cat(list, 2, 0) : ox_clone(ox_narrow(all, 0, count, before));
    return oxi_llm_write_state(written, window) ? sum : NULL;
}

/* The same over the last positions, with the layer's bias if there is one, and its silu if that is wanted. */
static ox_tensor *oxi_llm_convolve(const oxi_llm_batch *batch, int64_t index, bool silu, ox_tensor *x) {
    const ox_llm_context *context = batch->context;
    const oxi_llm_part *part = &context->model->layers[index].part[OXI_LLM_MIXER_CONV];
    return oxi_llm_convolve_over(context->model, part->weight, part->bias, silu, 1,
                                 context->states[index].window, &context->written[index].window, x);
}

/* ---- linear attention with decays ---------------------------------------------------------------------- */

/* Of each head, position by position, with a memory M [key, value]:
 *     z = erase M                        of the memory as it was, where it is erased
 *     M = exp(decay) M                   a number, or one for each row of M
 *     u = rate (v - k M), or v           the delta rule, where there are rates
 *     M = M + k^T u + write^T z;  out = q M
 * source    Yang et al. 2024, "Gated Delta Networks";
 *           Dao and Gu 2024, "Transformers are SSMs" (without rates); Peng et al. 2025, "RWKV-7" (erasing) */
typedef struct oxi_llm_linear {
    ox_tensor *q, *k, *v;     /* [heads, S, key], [heads, S, key], [heads, S, value] */
    ox_tensor *decay;         /* logarithms, [heads, S, 1] or [heads, S, key] */
    ox_tensor *rate;          /* [heads, S, 1], or NULL */
    double scale[2];          /* with rates: q and k are so many times what is given */
    ox_tensor *erase, *write; /* [heads, S, key], or NULL; not with rates */
    ox_tensor *own;           /* [heads, 1, value], or NULL: out = q M + own, of M before the position */
} oxi_llm_linear;

/* Positions at once, with one decay or with many; the least that the CPU makes products of: a token of RWKV 6
 * is two, and those are faster one by one. */
enum { OXI_LLM_CHUNK = 64, OXI_LLM_CHUNK_WIDE = 16, OXI_LLM_CHUNK_LEAST = 3 };

/* Positions one by one, in one pass over the memory. What the delta rule takes off is erased of the memory as
 * it was: rate (k exp(decay) M). */
static ox_tensor *oxi_llm_linear_steps(const oxi_llm_linear *in, ox_tensor **memory) {
    ox_tensor *q = in->q, *v = in->v, *erase = in->erase, *write = in->write;
    if (!q || !*memory) return NULL;
    if (in->rate) {
        ox_tensor *of[5] = {in->k, in->decay, in->rate, q, v}, *made[4] = {NULL, NULL, NULL, NULL};
        const double scale[2] = {in->scale[1], in->scale[0]};
        const bool all = in->k && v && in->k->shape[2] == v->shape[2];
        if (!oxi_llm_chain(all ? "a n0 * =p b exp neg * ; p c * ; d n1 * ; e c n0 * * ;"
                               : "a n0 * =p b exp neg * ; p c * ; d n1 * ;",
                           of, all ? 5 : 4, scale, 2, made))
            return NULL;
        erase = made[0];
        write = made[1];
        q = made[2];
        v = all ? made[3] : ox_mul_number_(ox_mul(v, in->rate), scale[0]); /* instead of k */
    }
    ox_tensor *both = ox_linear_attention(q, in->k, v, in->decay, *memory, erase, write);
    *memory = ox_narrow(both, 1, in->q->shape[1], in->q->shape[2]);
    return ox_narrow(both, 1, 0, in->q->shape[1]);
}

/* What decays leave of position s at position t >= s, [heads, decays, T, T]; 0 before. Sums are taken from s
 * on, so that none is the difference of larger ones. */
static ox_tensor *oxi_llm_decays(ox_tensor *decay) {
    ox_tensor *rows = ox_unsqueeze(ox_transpose(decay, 1, 2), 3); /* [heads, decays, T, 1] */
    if (!rows) return NULL;
    const int64_t count = rows->shape[2];
    rows = ox_expand(rows, OX_SHAPE(rows->shape[0], rows->shape[1], count, count));
    return ox_tril_(ox_exp_(ox_cumsum_(ox_tril(rows, -1), 2)), 0);
}

/* a_t . b_s by what decays leave, [heads, T, T]. */
static ox_tensor *oxi_llm_decayed_scores(ox_tensor *a, ox_tensor *b, ox_tensor *left) {
    if (!a || !b || !left) return NULL;
    if (left->shape[1] == 1) return ox_mul_(ox_matmul(a, ox_transpose(b, 1, 2)), ox_squeeze(left, 1));
    ox_tensor *columns = ox_unsqueeze(ox_transpose(b, 1, 2), 2),
              *rows = ox_unsqueeze(ox_transpose(a, 1, 2), 3);
    return ox_sum(ox_mul_(ox_mul(left, columns), rows), OX_DIMS(1), false);
}

/* u of the delta rule, where each position takes off what those before it wrote: forward substitution. */
static ox_tensor *oxi_llm_delta(const oxi_llm_linear *in, ox_tensor *left, ox_tensor *from,
                                ox_tensor *memory) {
    ox_tensor *scores = ox_mul_(oxi_llm_decayed_scores(in->k, in->k, left), in->rate);
    ox_tensor *u = ox_mul_(ox_sub(in->v, ox_matmul(ox_mul(in->k, from), memory)), in->rate);
    for (int64_t t = 1; u && scores && t < u->shape[1]; t++) {
        ox_scope scope = ox_scope_begin();
        ox_tensor *row = ox_narrow(ox_narrow(scores, 1, t, 1), 2, 0, t);
        const bool done = ox_sub_(ox_narrow(u, 1, t, 1), ox_matmul(row, ox_narrow(u, 1, 0, t))) != NULL;
        ox_scope_end(&scope);
        if (!done) return NULL;
    }
    return scores ? u : NULL;
}

/* z of positions that erase: each sees the memory before them, and what those before it wrote, which is
 * theirs and z of them: forward substitution. */
static ox_tensor *oxi_llm_erased(const oxi_llm_linear *in, ox_tensor *left, ox_tensor *from,
                                 ox_tensor *memory) {
    const int64_t count = in->k->shape[1];
    ox_tensor *z = ox_clone(ox_matmul(in->erase, memory)); /* right for the first one */
    if (count == 1 || !z) return z;
    /* of positions 1 .., by what lies before them: 0 .. count - 2 */
    const int64_t rows = count - 1;
    ox_tensor *erase = ox_narrow(in->erase, 1, 1, rows), *behind = ox_narrow(z, 1, 1, rows);
    left = ox_narrow(ox_narrow(left, 2, 0, rows), 3, 0, rows);
    ox_tensor *of_z = oxi_llm_decayed_scores(erase, ox_narrow(in->write, 1, 0, rows), left);
    ox_tensor *of_v = oxi_llm_decayed_scores(erase, ox_narrow(in->k, 1, 0, rows), left);
    ox_tensor *seen = ox_matmul(ox_mul(erase, ox_narrow(from, 1, 0, rows)), memory);
    seen = ox_add_(seen, ox_matmul(of_v, ox_narrow(in->v, 1, 0, rows)));
    if (!of_z || !ox_copy_(behind, seen)) return NULL;
    for (int64_t t = 1; t < count; t++) {
        ox_scope scope = ox_scope_begin();
        ox_tensor *row = ox_narrow(ox_narrow(of_z, 1, t - 1, 1), 2, 0, t);
        const bool done = ox_add_(ox_narrow(z, 1, t, 1), ox_matmul(row, ox_narrow(z, 1, 0, t))) != NULL;
        ox_scope_end(&scope);
        if (!done) return NULL;
    }
    return z;
}

/* T positions at once: each sees the memory before them, and the others by products. */
static ox_tensor *oxi_llm_linear_chunk(const oxi_llm_linear *given, ox_tensor **memory) {
    oxi_llm_linear scaled = *given;
    const oxi_llm_linear *in = &scaled;
    if (given->rate) scaled.q = ox_mul_number(given->q, given->scale[0]);
    if (given->rate) scaled.k = ox_mul_number(given->k, given->scale[1]);
    if (!in->q || !in->k) return NULL;
    const int64_t last = in->k->shape[1] - 1;
    ox_tensor *left = oxi_llm_decays(in->decay), *from = ox_exp_(ox_cumsum(in->decay, 1)), *u = in->v;
    if (!left || !from) return NULL;
    if (in->rate) u = oxi_llm_delta(in, left, from, *memory);
    ox_tensor *z = in->erase ? oxi_llm_erased(in, left, from, *memory) : NULL;
    ox_tensor *out = ox_matmul(oxi_llm_decayed_scores(in->q, in->k, left), u);
    if (in->erase) out = ox_add_(out, ox_matmul(oxi_llm_decayed_scores(in->q, in->write, left), z));
    out = ox_add_(out, ox_matmul(ox_mul(in->q, from), *memory));
    ox_tensor *to_end = ox_transpose(ox_select(left, 2, last), 1, 2); /* [heads, T, decays] */
    ox_tensor *kept = ox_mul(*memory, ox_transpose(ox_narrow(from, 1, last, 1), 1, 2));
    if (in->erase) kept = ox_add_(kept, ox_matmul(ox_transpose(ox_mul(in->write, to_end), 1, 2), z));
    *memory = ox_add_(kept, ox_matmul(ox_transpose(ox_mul(in->k, to_end), 1, 2), u));
    return *memory ? out : NULL;
}

/* What the call of a late position gave, `both`, which ends with a memory like the one before, is kept in
 * `of`, and `own` is what is late now; both NULL: nothing was late. */
static bool oxi_llm_keep_late(oxi_llm_state *written, oxi_llm_state *of, ox_tensor *both,
                              const ox_tensor *memory, ox_tensor *const *own) {
    if (both && of->home != both) {
        ox_tensor *end = ox_narrow(both, 1, both->shape[1] - memory->shape[1], memory->shape[1]);
        if (!oxi_llm_write_state(&of->memory, end)) return false;
        (void)oxi_llm_write_state(&of->home, both);
    }
    if (both) oxi_llm_drop_late(of); /* now memory holds it */
    for (int i = 0; i < 3 && own[0]; i++) (void)oxi_llm_write_state(&written->late[i], own[i]);
    return own[0] != NULL;
}

/* Where the late position's call puts a memory: over the one before, or, at first, into what the layers
 * share, which lies in large pages. */
static ox_tensor *oxi_llm_home(const oxi_llm_batch *batch, int64_t index, const oxi_llm_state *of) {
    const ox_llm_context *context = batch->context;
    const oxi_llm_mixing *m = &context->model->numbers.mixing;
    const int64_t shape[4] = {context->model->config.layers, m->heads, 1 + m->key, m->value};
    if (of->home) return of->home;
    if (context->states[index].home || context->written[index].home) return NULL;
    if (!*context->homes)
        (void)oxi_llm_write_state(context->homes, oxi_tensor_new(context->model->device, OX_F32, 4, shape));
    return ox_select(*context->homes, 0, index);
}

/* One position, whose own key and value come into the memory with the next one: a memory that need not stay
 * as it was is read and written once, in place. Its state is the same before and behind that, so that an
 * error later on takes nothing back. [heads, 1, value] */
static ox_tensor *oxi_llm_linear_late(const oxi_llm_batch *batch, int64_t index, const oxi_llm_linear *in) {
    oxi_llm_state *of, *written = &batch->context->written[index];
    ox_tensor *memory = oxi_llm_early_memory(batch, index, &of), *own[3] = {in->k, in->v, in->decay};
    ox_tensor *const *late = oxi_llm_late_of(batch, index, of);
    const bool alone = of == written || !written->late[0]; /* what is late is of the same tokens */
    ox_tensor *q = in->own ? in->q : ox_mul(in->q, ox_exp(in->decay)), *none[2] = {NULL, NULL};
    if (!late) { /* nothing is written */
        none[0] = ox_zeros_like(in->k);
        none[1] = ox_zeros_like(in->decay);
    }
    ox_tensor *all[7] = {
        q, late ? late[0] : none[0], late ? late[1] : in->v, late ? late[2] : none[1], memory, NULL, NULL};
    ox_tensor *both = oxi_any_null("llm", all, 5)
                          ? NULL
                          : oxi_apply_list(OXI_OP_linear_attention, NULL, all, 7,
                                           alone ? oxi_llm_home(batch, index, of) : NULL);
    if (!both || !oxi_llm_keep_late(written, alone ? of : written, both, memory, own)) return NULL;
    ox_tensor *out = ox_narrow(both, 1, 0, 1);
    return in->own ? ox_add(out, in->own)
                   : ox_addcmul(out, ox_sum(ox_mul(in->q, in->k), OX_DIMS(2), true), in->v, 1);
}

/* Whether so few positions are taken one behind the other. */
static bool oxi_llm_one_by_one(const ox_llm *model, int64_t count) {
    return count < (model->device == ox_cpu() ? OXI_LLM_CHUNK_LEAST : 2);
}

/* All of a batch: [heads, S, value]; the memory is the layer's state. */
static ox_tensor *oxi_llm_run_linear(const oxi_llm_batch *batch, int64_t index, const oxi_llm_linear *in) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_mixing *m = &model->numbers.mixing;
    if (!in->q || !in->k || !in->v || !in->decay) return NULL;
    if (in->q->shape[1] == 1 && !in->rate && !in->erase && model->device == ox_cpu())
        return oxi_llm_linear_late(batch, index, in);
    ox_tensor *memory = oxi_llm_memory(batch, index);
    if (!memory) return NULL;
    const int64_t most = in->decay->shape[2] == 1 ? OXI_LLM_CHUNK : OXI_LLM_CHUNK_WIDE;
    const int64_t all = in->q->shape[1], shape[3] = {m->heads, all, m->value};
    if (oxi_llm_one_by_one(model, all)) {
        ox_tensor *rows = oxi_llm_linear_steps(in, &memory);
        return rows && oxi_llm_write_memory(batch, index, memory) ? rows : NULL;
    }
    ox_tensor *out = oxi_tensor_new(model->device, OX_F32, 3, shape);
    for (int64_t start = 0; out && start < all; start += most) {
        const int64_t count = all - start < most ? all - start : most;
        ox_scope scope = ox_scope_begin();
        oxi_llm_linear part;
        part.q = ox_narrow(in->q, 1, start, count);
        part.k = ox_narrow(in->k, 1, start, count);
        part.v = ox_narrow(in->v, 1, start, count);
        part.decay = ox_narrow(in->decay, 1, start, count);
        part.rate = in->rate ? ox_narrow(in->rate, 1, start, count) : NULL;
        part.erase = in->erase ? ox_narrow(in->erase, 1, start, count) : NULL;
        part.write = in->erase ? ox_narrow(in->write, 1, start, count) : NULL;
        memcpy(part.scale, in->scale, sizeof part.scale);
        ox_tensor *rows = oxi_llm_one_by_one(model, count) ? oxi_llm_linear_steps(&part, &memory)
                                                           : oxi_llm_linear_chunk(&part, &memory);
        const bool done = rows && ox_copy_(ox_narrow(out, 1, start, count), rows) &&
                          oxi_llm_write_memory(batch, index, memory);
        ox_scope_end(&scope);
        if (!done) return NULL;
        memory = batch->context->written[index].memory;
    }
    return out;
}
