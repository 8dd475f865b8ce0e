/* Optimizers: groups of parameters, their options, what is kept of each, and the walk over them. What a step
 * computes is the rule's (optimizer_rules.c). */

typedef struct oxi_optimized {
    ox_tensor *tensor;
    ox_tensor *state[OXI_STATES_MOST];
    int64_t steps;
    int group;
} oxi_optimized;

typedef struct oxi_optimizer_group {
    double options[OXI_OPTIONS_MOST];
} oxi_optimizer_group;

struct ox_optimizer {
    const oxi_optimizer_row *row;
    oxi_optimized *parameters;
    oxi_optimizer_group *groups;
    size_t parameter_room, group_room; /* of the blocks, in elements */
    int64_t parameter_count;
    int group_count;
};

/* ---- parameters ---------------------------------------------------------------------------------------- */

static oxi_optimized *oxi_find_optimized(const ox_optimizer *o, const ox_tensor *t) {
    for (int64_t i = 0; i < o->parameter_count; i++)
        if (o->parameters[i].tensor == t) return &o->parameters[i];
    return NULL;
}

/* NULL and an error where it is not one of the optimizer's. */
static oxi_optimized *oxi_optimized_of(const ox_optimizer *o, const ox_tensor *t) {
    oxi_optimized *p = o && t ? oxi_find_optimized(o, t) : NULL;
    if (!p)
        (void)oxi_fail(OX_ERR_ARG, "optimizer: %s is none of its parameters",
                       t ? oxi_tensor_text(t) : "NULL");
    return p;
}

static ox_status oxi_check_parameter(const ox_optimizer *o, ox_tensor *t) {
    const char *name = o->row->name;
    if (oxi_any_null(name, &t, 1)) return ox_error();
    if (!oxi_has_gradients(t->dtype))
        return oxi_fail(OX_ERR_DTYPE, "%s: the parameter %s", name, oxi_tensor_text(t));
    if (!ox_is_leaf(t))
        return oxi_fail(OX_ERR_ARG, "%s: %s is a result, not a parameter", name, oxi_tensor_text(t));
    if (oxi_find_optimized(o, t))
        return oxi_fail(OX_ERR_ARG, "%s: the parameter %s is there twice", name, oxi_tensor_text(t));
    return OX_OK;
}

/* All of a group, or none. */
static ox_status oxi_add_parameters(ox_optimizer *o, ox_tensor *const *list, int count, int group) {
    if (count < 0 || (count > 0 && !list))
        return oxi_fail(OX_ERR_ARG, "%s: %d parameters", o->row->name, count);
    int64_t before = o->parameter_count;
    void *parameters = oxi_grow(o->parameters, &o->parameter_room, (size_t)before + (size_t)count,
                                sizeof *o->parameters, false);
    ox_status status = parameters || count == 0 ? OX_OK : OX_ERR_NOMEM;
    if (parameters) o->parameters = (oxi_optimized *)parameters;
    for (int i = 0; i < count && status == OX_OK; i++) {
        status = oxi_check_parameter(o, list[i]);
        if (status != OX_OK) break;
        oxi_optimized *p = &o->parameters[o->parameter_count++];
        memset(p, 0, sizeof *p);
        p->tensor = ox_retain(list[i]);
        p->group = group;
    }
    while (status != OX_OK && o->parameter_count > before)
        ox_release(o->parameters[--o->parameter_count].tensor);
    return status;
}

static void oxi_forget_state(oxi_optimized *p) {
    for (int k = 0; k < OXI_STATES_MOST; k++) {
        ox_release(p->state[k]);
        p->state[k] = NULL;
    }
}

/* ---- an optimizer and its groups ----------------------------------------------------------------------- */

OX_API void ox_optimizer_close(ox_optimizer *optimizer) {
    if (!optimizer) return;
    for (int64_t i = 0; i < optimizer->parameter_count; i++) {
        oxi_forget_state(&optimizer->parameters[i]);
        ox_release(optimizer->parameters[i].tensor);
    }
    oxi_free(optimizer->parameters, optimizer->parameter_room * sizeof *optimizer->parameters);
    oxi_free(optimizer->groups, optimizer->group_room * sizeof *optimizer->groups);
    oxi_free(optimizer, sizeof *optimizer);
}

OX_API int ox_optimizer_add_group(ox_optimizer *optimizer, ox_tensor *const *parameters, int count) {
    if (!optimizer) {
        (void)oxi_fail(OX_ERR_ARG, "optimizer_add_group: the optimizer is NULL");
        return -1;
    }
    int group = optimizer->group_count;
    void *groups = oxi_grow(optimizer->groups, &optimizer->group_room, (size_t)group + 1,
                            sizeof *optimizer->groups, false);
    if (!groups) return -1;
    optimizer->groups = (oxi_optimizer_group *)groups;
    if (oxi_add_parameters(optimizer, parameters, count, group) != OX_OK) return -1;
    oxi_optimizer_group *made = &optimizer->groups[optimizer->group_count++];
    memset(made, 0, sizeof *made);
    if (group > 0)
        *made = optimizer->groups[0];
    else
        for (int i = 0; optimizer->row->options[i].name; i++)
            made->options[i] = optimizer->row->options[i].first;
    return group;
}

OX_API ox_optimizer *ox_optimizer_open(ox_optimizer_rule rule, ox_tensor *const *parameters, int count) {
    const oxi_optimizer_row *row = oxi_optimizer_row_of((int)rule);
    if (!row) {
        (void)oxi_fail(OX_ERR_ARG, "optimizer_open: no rule %d", (int)rule);
        return NULL;
    }
    ox_optimizer *o = (ox_optimizer *)oxi_calloc(1, sizeof *o);
    if (!o) return NULL;
    o->row = row;
    if (ox_optimizer_add_group(o, parameters, count) == 0) return o;
    ox_optimizer_close(o);
    return NULL;
}

OX_API int ox_optimizer_groups(const ox_optimizer *optimizer) {
    return optimizer ? optimizer->group_count : 0;
}

/* The place of an option, -1 and an error where there is none, or no such group. all: OX_ALL_GROUPS
 * is one. */
static int oxi_optimizer_option_of(const ox_optimizer *o, int group, bool all, const char *option) {
    if (!o || !option) {
        (void)oxi_fail(OX_ERR_ARG, "optimizer: %s is NULL", o ? "the option" : "the optimizer");
        return -1;
    }
    if ((group < 0 || group >= o->group_count) && !(all && group == OX_ALL_GROUPS)) {
        (void)oxi_fail(OX_ERR_ARG, "%s: no group %d of %d", o->row->name, group, o->group_count);
        return -1;
    }
    for (int i = 0; o->row->options[i].name; i++)
        if (strcmp(o->row->options[i].name, option) == 0) return i;
    (void)oxi_fail(OX_ERR_ARG, "%s: no option \"%.40s\"", o->row->name, option);
    return -1;
}

static bool oxi_is_in_option_range(oxi_option_range range, double value) {
    switch (range) {
    case OXI_NOT_NEGATIVE: return value >= 0;
    case OXI_BELOW_1: return value >= 0 && value < 1;
    case OXI_FLAG: return value == 0 || value == 1;
    default: return value == value;
    }
}

OX_API ox_status ox_optimizer_set(ox_optimizer *optimizer, int group, const char *option, double value) {
    int at = oxi_optimizer_option_of(optimizer, group, true, option);
    if (at < 0) return ox_error();
    if (!oxi_is_in_option_range(optimizer->row->options[at].range, value))
        return oxi_fail(OX_ERR_ARG, "%s: %s cannot be %g", optimizer->row->name, option, value);
    for (int i = 0; i < optimizer->group_count; i++)
        if (group == OX_ALL_GROUPS || group == i) optimizer->groups[i].options[at] = value;
    return OX_OK;
}

OX_API double ox_optimizer_get(const ox_optimizer *optimizer, int group, const char *option) {
    int at = oxi_optimizer_option_of(optimizer, group, false, option);
    return at < 0 ? NAN : optimizer->groups[group].options[at];
}

/* ---- steps --------------------------------------------------------------------------------------------- */

/* The real numbers of t, as a view where they are complex. */
static ox_tensor *oxi_real_numbers(ox_tensor *t) {
    return t->dtype == OX_C64 ? ox_view_as_real(t) : t;
}

static ox_status oxi_step_parameter(const ox_optimizer *o, oxi_optimized *p) {
    oxi_optimizer_update u;
    ox_tensor *g = ox_gradient(p->tensor);
    if (!g) return OX_OK;
    ox_scope scope = ox_scope_begin();
    u.options = o->groups[p->group].options;
    u.parameter = oxi_real_numbers(p->tensor);
    u.gradient = oxi_real_numbers(g);
    u.state = p->state;
    u.step = p->steps + 1;
    ox_status status = u.parameter && u.gradient ? o->row->update(&u) : ox_error();
    ox_scope_end(&scope);
    if (status == OX_OK) p->steps++;
    return status;
}

OX_API ox_status ox_optimizer_step(ox_optimizer *optimizer) {
    if (!optimizer) return oxi_fail(OX_ERR_ARG, "optimizer_step: the optimizer is NULL");
    ox_status status = OX_OK;
    bool enabled = ox_set_grad_enabled(false);
    for (int64_t i = 0; i < optimizer->parameter_count && status == OX_OK; i++)
        status = oxi_step_parameter(optimizer, &optimizer->parameters[i]);
    (void)ox_set_grad_enabled(enabled);
    return status;
}

OX_API void ox_optimizer_zero_grad(ox_optimizer *optimizer) {
    for (int64_t i = 0; optimizer && i < optimizer->parameter_count; i++)
        (void)ox_set_gradient(optimizer->parameters[i].tensor, NULL);
}

/* ---- what is kept -------------------------------------------------------------------------------------- */

/* Where what has this name is kept of a parameter; NULL and an error. */
static ox_tensor **oxi_state_named(ox_optimizer *o, const ox_tensor *parameter, const char *name) {
    oxi_optimized *p = oxi_optimized_of(o, parameter);
    for (int k = 0; p && name && k < OXI_STATES_MOST && o->row->states[k]; k++)
        if (strcmp(o->row->states[k], name) == 0) return &p->state[k];
    if (p) (void)oxi_fail(OX_ERR_ARG, "%s: nothing is kept as \"%.40s\"", o->row->name, name ? name : "NULL");
    return NULL;
}

OX_API ox_tensor *ox_optimizer_state(ox_optimizer *optimizer, const ox_tensor *parameter, const char *name) {
    ox_tensor **state = oxi_state_named(optimizer, parameter, name);
    return state ? *state : NULL;
}

OX_API ox_status ox_optimizer_set_state(ox_optimizer *optimizer, const ox_tensor *parameter, const char *name,
                                        ox_tensor *value) {
    ox_tensor **state = oxi_state_named(optimizer, parameter, name);
    if (!state) return ox_error();
    if (!value) {
        ox_release(*state);
        *state = NULL;
        return OX_OK;
    }
    bool enabled = ox_set_grad_enabled(false);
    ox_scope scope = ox_scope_begin();
    ox_tensor *like = ox_empty_like(oxi_optimized_of(optimizer, parameter)->tensor);
    like = like ? oxi_real_numbers(like) : NULL;
    bool fits = like && value->ndim == like->ndim;
    for (int d = 0; fits && d < like->ndim; d++) fits = value->shape[d] == like->shape[d];
    ox_status status = !like ? ox_error() : OX_OK;
    if (like && !fits)
        status = oxi_fail(OX_ERR_SHAPE, "%s: %s is %s, not %s", optimizer->row->name, name,
                          oxi_tensor_text(like), oxi_tensor_text(value));
    if (status == OX_OK) status = oxi_keep_state(state, ox_copy_(like, value));
    ox_scope_end(&scope);
    (void)ox_set_grad_enabled(enabled);
    return status;
}

OX_API int64_t ox_optimizer_steps(const ox_optimizer *optimizer, const ox_tensor *parameter) {
    const oxi_optimized *p = oxi_optimized_of(optimizer, parameter);
    return p ? p->steps : -1;
}

OX_API ox_status ox_optimizer_set_steps(ox_optimizer *optimizer, const ox_tensor *parameter, int64_t steps) {
    oxi_optimized *p = oxi_optimized_of(optimizer, parameter);
    if (!p) return ox_error();
    if (steps < 0) return oxi_fail(OX_ERR_ARG, "%s: %lld steps", optimizer->row->name, (long long)steps);
    p->steps = steps;
    return OX_OK;
}

/* ---- clipping ------------------------------------------------------------------------------------------ */

/* The norm of all gradients as one vector, on the first one's device. NULL and an error. */
static ox_tensor *oxi_norm_of_gradients(ox_tensor *const *parameters, int count, double p) {
    ox_tensor *first = NULL, **norms;
    size_t room = 0;
    int found = 0;
    norms = (ox_tensor **)oxi_grow(NULL, &room, (size_t)count + 1, sizeof *norms, true);
    if (!norms) return NULL;
    for (int i = 0; i < count; i++) {
        ox_tensor *g = ox_gradient(parameters[i]);
        if (!g) continue;
        if (!first) first = g;
        ox_tensor *norm = ox_norm(oxi_real_numbers(g), p, OX_ALL_DIMS, false);
        norm = norm && norm->dtype != OX_F64 ? ox_cast(norm, OX_F32) : norm;
        if (norm && ox_device_of(norm) != ox_device_of(first)) norm = ox_to(norm, ox_device_of(first));
        norms[found++] = norm;
    }
    for (int i = 1; i < found; i++) /* f32 beside f64 */
        if (norms[i] && norms[0] && norms[i]->dtype != norms[0]->dtype)
            norms[i] = ox_cast(norms[i], norms[0]->dtype);
    ox_tensor *norm =
        found ? ox_norm(ox_stack(norms, found, 0), p, OX_ALL_DIMS, false) : ox_zeros(OX_SCALAR_SHAPE, OX_F32);
    oxi_free(norms, room * sizeof *norms);
    return norm;
}

OX_API ox_tensor *ox_clip_grad_norm_(ox_tensor *const *parameters, int count, double most, double p) {
    if (count < 0 || oxi_any_null("clip_grad_norm_", parameters, count)) return NULL;
    bool enabled = ox_set_grad_enabled(false);
    oxi_work work = oxi_work_begin("clip_grad_norm_");
    ox_tensor *norm = oxi_norm_of_gradients(parameters, count, p), *factor = NULL;
    if (norm) factor = ox_clamp(ox_mul_number(ox_reciprocal(ox_add_number(norm, 1e-6)), most), -INFINITY, 1);
    for (int i = 0; i < count && factor; i++) {
        ox_tensor *g = ox_gradient(parameters[i]), *here = factor;
        if (!g) continue;
        if (ox_device_of(g) != ox_device_of(factor)) here = ox_to(factor, ox_device_of(g));
        if (!ox_mul_(oxi_real_numbers(g), here)) factor = NULL;
    }
    norm = oxi_work_end(&work, factor ? norm : NULL);
    (void)ox_set_grad_enabled(enabled);
    return norm;
}

OX_API ox_status ox_clip_grad_value_(ox_tensor *const *parameters, int count, double most) {
    if (count < 0 || oxi_any_null("clip_grad_value_", parameters, count)) return ox_error();
    if (!(most >= 0)) return oxi_fail(OX_ERR_ARG, "clip_grad_value_: %g is below 0", most);
    ox_status status = OX_OK;
    bool enabled = ox_set_grad_enabled(false);
    oxi_work work = oxi_work_begin("clip_grad_value_");
    for (int i = 0; i < count && status == OX_OK; i++) {
        ox_tensor *g = ox_gradient(parameters[i]);
        if (g && !ox_clamp_(oxi_real_numbers(g), -most, most)) status = ox_error();
    }
    (void)oxi_work_end(&work, NULL);
    (void)ox_set_grad_enabled(enabled);
    return status;
}
