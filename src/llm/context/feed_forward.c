/* The feed-forward of a layer: plain, gated, or experts that a router chooses for each token.
 * Called by forward.c. */

/* ---- one feed-forward ---------------------------------------------------------------------------------- */

/* activation(gate) * up, or activation(up) where there is no gate; `halves`: both lie in `up`, the gate
 * first.
 * clamp > 0: gate, or its activation, is at most that, and up between minus that and that. */
static ox_tensor *oxi_llm_activate(const ox_llm *model, ox_tensor *gate, ox_tensor *up, bool halves,
                                   double clamp) {
    const oxi_llm_activation *activation = model->numbers.activation;
    if (!up) return NULL;
    if (halves) {
        const int64_t half = up->shape[up->ndim - 1] / 2;
        gate = ox_narrow(up, -1, 0, half);
        up = ox_narrow(up, -1, half, half);
    }
    const bool late = oxi_llm_has_trait(model, OXI_LLM_TRAIT(CLAMP_LATE));
    if (clamp > 0) up = ox_clamp_(up, -clamp, clamp);
    if (clamp > 0 && gate && late) return ox_mul_(ox_clamp_(activation->plain(gate), -INFINITY, clamp), up);
    if (clamp > 0 && gate) gate = ox_clamp_(gate, -INFINITY, clamp);
    up = oxi_llm_capped(model->numbers.up_cap, up);
    if (gate && model->numbers.gate_cap > 0) /* what is let through is capped, what opens is not */
        return ox_mul_(ox_mul_(ox_sigmoid(gate), oxi_llm_capped(model->numbers.gate_cap, gate)), up);
    return gate ? oxi_llm_gated(activation, gate, up) : activation->plain(up);
}

/* A parabola over 0 and an exponential below it. source: Huang et al. 2024, "xIELU" */
static ox_tensor *oxi_llm_bent(const double *bend, ox_tensor *x) {
    ox_tensor *below = ox_sub_(ox_expm1_(ox_clamp(x, -INFINITY, bend[3])), x);
    ox_tensor *out = ox_where(ox_gt(x, ox_number(0)), ox_mul_number_(ox_mul(x, x), bend[0]),
                              ox_mul_number_(below, bend[1]));
    return ox_add_scaled_(out, x, bend[2]);
}

/* What of each row lies over its mean by more than `cutoff` standard deviations, less that; else 0. */
static ox_tensor *oxi_llm_cut(ox_tensor *x, double cutoff) {
    x = ox_sub(x, ox_mean(x, OX_DIMS(-1), true));
    ox_tensor *deviation = ox_sqrt_(ox_mean(ox_mul(x, x), OX_DIMS(-1), true));
    return ox_relu_(ox_sub_(x, ox_mul_number_(deviation, cutoff)));
}

/* x [S, width], normalized -> [S, width]; beside: NULL, or a product that goes with it. */
static ox_tensor *oxi_llm_feed_forward(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *x,
                                       oxi_llm_wanted *beside) {
    const oxi_llm_part *p = l->part;
    oxi_llm_wanted list[3];
    int count = 0;
    if (beside) list[count++] = *beside;
    if (p[OXI_LLM_GATE].weight) list[count++] = oxi_llm_want(&p[OXI_LLM_GATE], x);
    list[count++] = oxi_llm_want(&p[OXI_LLM_UP], x);
    if (!oxi_llm_products(list, count)) return NULL;
    if (beside) *beside = list[0];
    ox_tensor *gate = p[OXI_LLM_GATE].weight ? list[count - 2].out : NULL, *up = list[count - 1].out;
    if (gate && l->cuts) gate = oxi_llm_cut(gate, l->cutoff);
    if (l->bends && !gate)
        x = oxi_llm_bent(l->bend, up);
    else
        x = oxi_llm_activate(model, gate, up, oxi_llm_has_trait(model, OXI_LLM_TRAIT(GATE_IN_UP)),
                             l->shared_clamp);
    if (p[OXI_LLM_DOWN_DIVISOR].weight) x = ox_div_(x, p[OXI_LLM_DOWN_DIVISOR].weight);
    if (p[OXI_LLM_DOWN_NORM].weight) x = oxi_llm_normalize(model, &p[OXI_LLM_DOWN_NORM], x);
    return oxi_llm_product(&p[OXI_LLM_DOWN], x);
}

/* ---- the router ---------------------------------------------------------------------------------------- */

/* Scores [S, experts] with those of the groups that are not chosen at -infinity: a group counts as its two
 * best experts do. source: DeepSeek-V3, 2024, section 2.1.2 */
static ox_tensor *oxi_llm_choose_groups(const oxi_llm_numbers *n, ox_tensor *scores) {
    const int64_t groups = n->expert_groups, size = n->experts / groups;
    ox_tensor *grouped = ox_unflatten(scores, 1, OX_SHAPE(groups, size));
    ox_tensor *best = ox_sum(ox_topk(grouped, size < 2 ? size : 2, 2, true).values, OX_DIMS(2), false);
    ox_tensor *chosen = ox_topk(best, n->expert_groups_used, 1, true).indices; /* [S, used] */
    if (!chosen) return NULL;
    ox_tensor *ones = ox_full_like(best, 1), *zeros = ox_full_like(best, 0);
    ox_tensor *open = ox_scatter(zeros, 1, chosen, ox_narrow(ones, 1, 0, n->expert_groups_used));
    open = ox_unsqueeze(ox_gt(open, ox_number(0)), 2);
    return ox_flatten(ox_where(open, grouped, ox_number(-INFINITY)), 1, 2);
}

/* What a router's numbers [S, experts] become. */
static ox_tensor *oxi_llm_router_scores(const oxi_llm_numbers *n, ox_tensor *logits) {
    if (n->jitter > 0) return logits;
    if (n->router == OXI_LLM_ROUTER_SOFTMAX) return ox_softmax(logits, -1);
    if (n->router == OXI_LLM_ROUTER_ROOT) return ox_sqrt_(ox_softplus(logits, 1, 20));
    return n->router == OXI_LLM_ROUTER_SIGMOID ? ox_sigmoid(logits) : logits;
}

/* The weights of chosen experts [S, used], of their scores `w`. */
static ox_tensor *oxi_llm_weigh_chosen(const oxi_llm_numbers *n, ox_tensor *w) {
    if (n->router == OXI_LLM_ROUTER_LATE) w = ox_softmax(w, -1);
    if (n->routed_norm && n->router != OXI_LLM_ROUTER_LATE) /* the bound is the smallest normal half float */
        w = ox_div(w, ox_clamp(ox_sum(w, OX_DIMS(1), true), 6.103515625e-5, INFINITY));
    return n->routed_scale > 0 && n->routed_scale != 1 ? ox_mul_number(w, n->routed_scale) : w;
}

/* The same, of all scores. */
static ox_tensor *oxi_llm_weigh(const oxi_llm_numbers *n, ox_tensor *scores, ox_tensor *chosen) {
    return oxi_llm_weigh_chosen(n, ox_gather(scores, 1, chosen));
}

/* The weights of a sparse mixer's experts [S, used]: the share that each has among those that are near it and
 * not chosen before. source: Liu et al. 2024, "GRIN: GRadient-INformed MoE" */
static ox_tensor *oxi_llm_weigh_sparse(const oxi_llm_numbers *n, ox_tensor *scores, ox_tensor *chosen) {
    if (!scores || !chosen) return NULL;
    const int64_t used = n->experts_used;
    /* what waits for nothing of its own line comes first */
    ox_tensor *best = ox_unsqueeze(ox_gather(scores, 1, chosen), 2); /* [S, used, 1] */
    ox_tensor *none = ox_full_like(ox_narrow(scores, 1, 0, 1), -INFINITY), *list[OXI_LLM_SPARSE_MOST];
    ox_tensor *most = ox_maximum(ox_unsqueeze(ox_abs(scores), 1), best);
    ox_tensor *far = ox_sub(best, ox_unsqueeze(scores, 1));
    list[0] = scores;
    for (int64_t i = 1; i < used; i++)
        if (!(list[i] = ox_scatter(list[i - 1], 1, ox_narrow(chosen, 1, i - 1, 1), none))) return NULL;
    ox_tensor *is_far = ox_gt(ox_div_(far, most), ox_number(2 * n->jitter));
    ox_tensor *left = ox_unflatten(ox_cat(list, (int)used, 1), 1, OX_SHAPE(used, n->experts));
    ox_tensor *near = ox_where(is_far, ox_number(-INFINITY), left);
    return ox_squeeze(ox_gather(ox_softmax(near, -1), 2, ox_unsqueeze(chosen, 2)), 2);
}

/* The experts of each token, i64 [S, used], all scores [S, experts] and, where these alone decide, those of
 * the chosen, else NULL. */
static ox_tensor *oxi_llm_route(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *x,
                                ox_tensor **scores, ox_tensor **best) {
    const oxi_llm_numbers *n = &batch->context->model->numbers;
    ox_tensor *table = l->part[OXI_LLM_ROUTER_TABLE].weight;
    *scores = oxi_llm_router_scores(n, oxi_llm_product(&l->part[OXI_LLM_ROUTER], x));
    if (table) return ox_index_select(table, 0, batch->ids);
    const oxi_llm_part *own = &l->part[OXI_LLM_ROUTER_CHOICE];
    ox_tensor *bias = own->bias ? own->bias : own->weight, *choice = bias ? ox_add(*scores, bias) : *scores;
    if (n->expert_groups > 1) choice = oxi_llm_choose_groups(n, choice);
    const ox_pair top = ox_topk(choice, n->experts_used, 1, true);
    *best = choice == *scores ? top.values : NULL;
    return top.indices;
}

/* ---- experts ------------------------------------------------------------------------------------------- */

/* Of three parts, of which the gate may be missing, or in one with `up`: a feed-forward by each token's
 * experts [S, used], or, where these are NULL, of all tokens. */
typedef struct oxi_llm_mlp {
    const oxi_llm_part *gate, *up, *down; /* gate NULL: none of its own */
    bool joined;
    double clamp;
    ox_tensor *x, *experts;
    ox_tensor *open; /* [S, 1], what is multiplied by, or NULL */
} oxi_llm_mlp;

static oxi_llm_mlp oxi_llm_mlp_of(const oxi_llm_part *gate, const oxi_llm_part *up, const oxi_llm_part *down,
                                  ox_tensor *x, ox_tensor *experts) {
    oxi_llm_mlp m;
    memset(&m, 0, sizeof m);
    m.gate = gate->weight ? gate : NULL;
    m.up = up;
    m.down = down;
    m.x = x;
    m.experts = experts;
    return m;
}

/* All but the last products of up to two that need nothing of each other, and these as `last`, whose results
 * are [S, used, out] or [S, out]; false on error. A GPU has one after the other, each gate behind its own. */
static bool oxi_llm_begin_mlps(const ox_llm *model, const oxi_llm_mlp *list, int count,
                               oxi_llm_wanted *last) {
    oxi_llm_wanted wanted[4];
    const int each = model->device == ox_cpu() ? count : 1;
    for (int first = 0; first < count; first += each) {
        int n = 0;
        for (const oxi_llm_mlp *m = list + first; m < list + first + each; m++) {
            if (m->gate) wanted[n++] = oxi_llm_want_experts(m->gate, m->x, m->experts);
            wanted[n++] = oxi_llm_want_experts(m->up, m->x, m->experts);
        }
        if (!oxi_llm_products(wanted, n)) return false;
        n = 0;
        for (int i = first; i < first + each; i++) {
            const oxi_llm_mlp *m = &list[i];
            ox_tensor *gate = m->gate ? wanted[n++].out : NULL;
            gate = oxi_llm_activate(model, gate, wanted[n++].out, m->joined, m->clamp);
            if (m->open) gate = ox_mul_(gate, m->open);
            last[i] = oxi_llm_want_experts(m->down, gate, m->experts); /* of [S, used, hidden] */
        }
    }
    return true;
}

/* [S, used, out] -> [S, out], by their weights: one call on the CPU; a GPU has both behind the product. */
static ox_tensor *oxi_llm_sum_experts(ox_tensor *out, ox_tensor *weights) {
    if (!out) return NULL;
    if (weights && ox_device_of(out) == ox_cpu()) return oxi_llm_sum_rows(weights, out);
    if (weights) out = ox_mul_(out, ox_unsqueeze(weights, 2));
    return ox_sum(out, OX_DIMS(1), false);
}

/* What the experts of all tokens are multiplied by, [S, 1], by the router that they have. */
static ox_tensor *oxi_llm_open_shared(const oxi_llm_layer *l, ox_tensor *x) {
    return ox_sigmoid_(ox_linear(x, ox_unsqueeze(l->part[OXI_LLM_SHARED_ROUTER].weight, 0), NULL));
}

/* out += what small experts make of it, one for each few of the others.
 * source: Wu et al. 2025, "Grove MoE" */
static ox_tensor *oxi_llm_add_chunks(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *out,
                                     ox_tensor *scores, ox_tensor *chosen) {
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_part *p = l->part;
    if (n->chunk_share > 1) chosen = ox_floor_divide(chosen, ox_integer(n->chunk_share));
    oxi_llm_mlp more = oxi_llm_mlp_of(&p[OXI_LLM_CHUNKS_GATE], &p[OXI_LLM_CHUNKS_UP], &p[OXI_LLM_CHUNKS_DOWN],
                                      out, ox_cast(chosen, OX_I32));
    oxi_llm_wanted last;
    if (!more.experts || !oxi_llm_begin_mlps(model, &more, 1, &last)) return NULL;
    ox_tensor *sum = oxi_llm_sum_experts(oxi_llm_product_of(last), oxi_llm_weigh(n, scores, chosen));
    return ox_add_scaled_(out, sum, n->chunk_scale);
}

/* x [S, width], normalized -> [S, width]; `router_x`: what the router sees. beside: NULL, or, on a GPU, with
 * sums behind its products, the last product of the experts of all tokens is left to the caller. */
static ox_tensor *oxi_llm_mixture(const oxi_llm_batch *batch, const oxi_llm_layer *l, ox_tensor *x,
                                  ox_tensor *router_x, oxi_llm_wanted *beside) {
    const ox_llm *model = batch->context->model;
    const oxi_llm_part *p = l->part;
    const bool first = oxi_llm_has_trait(model, OXI_LLM_TRAIT(ROUTED_FIRST)),
               joined = p[OXI_LLM_EXPERTS_GATE_UP].weight != NULL;
    const oxi_llm_numbers *n = &model->numbers;
    ox_tensor *scores = NULL, *best = NULL, *chosen = oxi_llm_route(batch, l, router_x, &scores, &best),
              *weights = n->jitter > 0 ? oxi_llm_weigh_sparse(n, scores, chosen)
                         : best        ? oxi_llm_weigh_chosen(n, best)
                                       : oxi_llm_weigh(n, scores, chosen),
              *experts = model->device == ox_cpu() ? chosen : ox_cast(chosen, OX_I32);
    if (!experts || !weights) return NULL;
    ox_tensor *in = p[OXI_LLM_EXPERTS_IN].weight ? oxi_llm_product(&p[OXI_LLM_EXPERTS_IN], x) : x;
    if (first) in = ox_mul(ox_unsqueeze(in, 1), ox_unsqueeze(weights, 2));
    oxi_llm_mlp list[2]; /* those of each token, and that of all */
    oxi_llm_wanted last[2];
    list[0] = oxi_llm_mlp_of(&p[OXI_LLM_EXPERTS_GATE],
                             &p[joined ? OXI_LLM_EXPERTS_GATE_UP : OXI_LLM_EXPERTS_UP],
                             &p[OXI_LLM_EXPERTS_DOWN], in, experts);
    if (joined) list[0].gate = NULL;
    list[0].joined = joined;
    list[0].clamp = l->expert_clamp;
    list[1] =
        oxi_llm_mlp_of(&p[OXI_LLM_SHARED_GATE], &p[OXI_LLM_SHARED_UP], &p[OXI_LLM_SHARED_DOWN], x, NULL);
    list[1].clamp = l->shared_clamp;
    const bool shared = p[OXI_LLM_SHARED_UP].weight != NULL, both = shared && model->device == ox_cpu(),
               opens = shared && p[OXI_LLM_SHARED_ROUTER].weight,
               half = oxi_llm_has_trait(model, OXI_LLM_TRAIT(SHARED_HALF));
    /* on a GPU before the last product, which waits for nobody then */
    if (opens && !both && !(list[1].open = oxi_llm_open_shared(l, x))) return NULL;
    if (!oxi_llm_begin_mlps(model, list, shared ? 2 : 1, last)) return NULL;
    if (!oxi_llm_products(last, both ? 2 : 1)) return NULL;
    ox_tensor *out = oxi_llm_sum_experts(last[0].out, first ? NULL : weights);
    if (p[OXI_LLM_CHUNKS_DOWN].weight) out = oxi_llm_add_chunks(model, l, out, scores, chosen);
    if (p[OXI_LLM_EXPERTS_OUT_NORM].weight) out = oxi_llm_normalize(model, &p[OXI_LLM_EXPERTS_OUT_NORM], out);
    if (p[OXI_LLM_EXPERTS_OUT].weight) out = oxi_llm_product(&p[OXI_LLM_EXPERTS_OUT], out);
    if (!shared) return out;
    if (beside && !both && !half) {
        *beside = last[1];
        return out;
    }
    if (!both && !oxi_llm_products(&last[1], 1)) return NULL;
    if (opens && both) last[1].out = ox_mul_(last[1].out, oxi_llm_open_shared(l, x));
    out = ox_add_(out, last[1].out);
    return half ? ox_mul_number_(out, 0.5) : out;
}

/* Values [S, kv_heads * size] by the experts that a router of their own chooses: silu of each one's.
 * The router's bias decides the choice alone. */
static ox_tensor *oxi_llm_mix_values(const ox_llm *model, const oxi_llm_layer *l, ox_tensor *x) {
    const oxi_llm_numbers *n = &model->numbers;
    const oxi_llm_part *router = &l->part[OXI_LLM_VALUE_ROUTER];
    oxi_llm_part bare = *router;
    bare.bias = NULL;
    ox_tensor *scores = oxi_llm_router_scores(n, oxi_llm_product(&bare, x));
    ox_tensor *choice = router->bias ? ox_add(scores, router->bias) : scores;
    ox_tensor *chosen = ox_topk(choice, n->value_experts_used, 1, true).indices;
    ox_tensor *experts = ox_cast(chosen, OX_I32);
    if (!experts) return NULL;
    ox_tensor *out = oxi_llm_product_of(oxi_llm_want_experts(&l->part[OXI_LLM_VALUE_EXPERTS], x, experts));
    return oxi_llm_sum_experts(ox_silu_(out), oxi_llm_weigh(n, scores, chosen));
}
