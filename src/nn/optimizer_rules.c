/* The rules of optimizers: a row a rule, with its options, what it keeps of a parameter, and the arithmetic
 * of one step of one parameter, which stands here alone. Steps are operations in place, under no grad. */

enum { OXI_OPTIONS_MOST = 16, OXI_STATES_MOST = 4 };

typedef enum oxi_option_range {
    OXI_ANY,
    OXI_NOT_NEGATIVE,
    OXI_BELOW_1,                     /* in [0, 1) */
    OXI_FLAG                         /* 0 or 1 */
} oxi_option_range;

typedef struct oxi_optimizer_option {
    const char *name;
    double first;                    /* the value at first */
    oxi_option_range range;
} oxi_optimizer_option;

/* One step of one parameter. Complex ones come as pairs of real numbers. */
typedef struct oxi_optimizer_update {
    const double *options;           /* of the group, in the order of the row's list */
    ox_tensor *parameter, *gradient;
    ox_tensor **state;               /* in the order of the row's names; NULL: not there yet. Owned */
    int64_t step;                    /* from 1 */
} oxi_optimizer_update;

typedef struct oxi_optimizer_row {
    const char *name;
    const oxi_optimizer_option *options;       /* the last one has no name */
    const char *states[OXI_STATES_MOST];
    ox_status (*update)(const oxi_optimizer_update *u);
} oxi_optimizer_row;

/* Options of a list as members of a struct, all double, in the order of their values. */
#define OXI_OPTION_MEMBER(name, first, range) double name;
#define OXI_OPTION_ENTRY(name, first, range) {#name, first, range},

/* ---- what rules have in common ------------------------------------------------------------------------- */

/* Puts a tensor, which the open scope owns, among what is kept. */
static ox_status oxi_keep_state(ox_tensor **state, ox_tensor *t) {
    if (!t) return ox_error();
    ox_release(*state);
    *state = ox_retain(t);
    return OX_OK;
}

/* State k, made of zeros where it is not there. */
static ox_tensor *oxi_state_of(const oxi_optimizer_update *u, int k) {
    if (!u->state[k] && oxi_keep_state(&u->state[k], ox_zeros_like(u->parameter)) != OX_OK) return NULL;
    return u->state[k];
}

/* The gradient to descend along: its sign turned to maximize, and weight_decay times the parameter added. The
 * leaf's own is not changed. */
static ox_tensor *oxi_descent(const oxi_optimizer_update *u, double maximize, double weight_decay) {
    ox_tensor *g = maximize != 0 ? ox_neg(u->gradient) : u->gradient;
    return weight_decay != 0 ? ox_add_scaled(g, u->parameter, weight_decay) : g;
}

/* ---- SGD ----------------------------------------------------------------------------------------------- */

#define OXI_SGD_OPTIONS(X) \
    X(lr, 1e-3, OXI_NOT_NEGATIVE) \
    X(momentum, 0, OXI_NOT_NEGATIVE) \
    X(dampening, 0, OXI_ANY) \
    X(weight_decay, 0, OXI_NOT_NEGATIVE) \
    X(nesterov, 0, OXI_FLAG) \
    X(maximize, 0, OXI_FLAG)
typedef struct oxi_sgd_options { OXI_SGD_OPTIONS(OXI_OPTION_MEMBER) } oxi_sgd_options;
static const oxi_optimizer_option oxi_sgd_option_list[] = {
    OXI_SGD_OPTIONS(OXI_OPTION_ENTRY){NULL, 0, OXI_ANY}};

static ox_status oxi_update_sgd(const oxi_optimizer_update *u) {
    oxi_sgd_options o;
    memcpy(&o, u->options, sizeof o);
    if (o.nesterov != 0 && (o.momentum == 0 || o.dampening != 0))
        return oxi_fail(OX_ERR_ARG, "sgd: nesterov wants a momentum and no dampening; they are %g and %g",
                        o.momentum, o.dampening);
    ox_tensor *g = oxi_descent(u, o.maximize, o.weight_decay), **buffer = &u->state[0];
    if (g && o.momentum != 0) {
        if (!*buffer) {
            if (oxi_keep_state(buffer, ox_clone(g)) != OX_OK) return ox_error();
        } else if (!ox_mul_number_(*buffer, o.momentum) || !ox_add_scaled_(*buffer, g, 1 - o.dampening)) {
            return ox_error();
        }
        g = o.nesterov != 0 ? ox_add_scaled(g, *buffer, o.momentum) : *buffer;
    }
    return ox_add_scaled_(u->parameter, g, -o.lr) ? OX_OK : ox_error();
}

/* ---- Adam ---------------------------------------------------------------------------------------------- */

#define OXI_ADAM_OPTIONS(X, decay, decoupled) \
    X(lr, 1e-3, OXI_NOT_NEGATIVE) \
    X(beta1, 0.9, OXI_BELOW_1) \
    X(beta2, 0.999, OXI_BELOW_1) \
    X(eps, 1e-8, OXI_NOT_NEGATIVE) \
    X(weight_decay, decay, OXI_NOT_NEGATIVE) \
    X(amsgrad, 0, OXI_FLAG) \
    X(maximize, 0, OXI_FLAG) \
    X(decoupled_weight_decay, decoupled, OXI_FLAG)
typedef struct oxi_adam_options { OXI_ADAM_OPTIONS(OXI_OPTION_MEMBER, 0, 0) } oxi_adam_options;
static const oxi_optimizer_option oxi_adam_option_list[] = {
    OXI_ADAM_OPTIONS(OXI_OPTION_ENTRY, 0, 0){NULL, 0, OXI_ANY}};
static const oxi_optimizer_option oxi_adamw_option_list[] = {
    OXI_ADAM_OPTIONS(OXI_OPTION_ENTRY, 0.01, 1){NULL, 0, OXI_ANY}};

/* In the order of torch's operations, so that f32 is rounded as there. */
static ox_status oxi_update_adam(const oxi_optimizer_update *u) {
    oxi_adam_options o;
    memcpy(&o, u->options, sizeof o);
    bool decoupled = o.decoupled_weight_decay != 0;
    double correction1 = 1 - pow(o.beta1, (double)u->step), correction2 = 1 - pow(o.beta2, (double)u->step);
    ox_tensor *p = u->parameter, *g = oxi_descent(u, o.maximize, decoupled ? 0 : o.weight_decay);
    ox_tensor *m = oxi_state_of(u, 0), *v = oxi_state_of(u, 1);
    ox_tensor *most = o.amsgrad != 0 ? oxi_state_of(u, 2) : v;
    if (!g || !m || !v || !most) return ox_error();
    if (decoupled && o.weight_decay != 0 && !ox_mul_number_(p, 1 - o.lr * o.weight_decay)) return ox_error();
    if (!ox_lerp_(m, g, ox_number(1 - o.beta1))) return ox_error();
    if (!ox_mul_number_(v, o.beta2) || !ox_addcmul_(v, g, g, 1 - o.beta2)) return ox_error();
    if (most != v && !ox_maximum_(most, v)) return ox_error();
    ox_tensor *root = ox_sqrt(most);
    if (!root || !ox_div_number_(root, sqrt(correction2)) || !ox_add_number_(root, o.eps)) return ox_error();
    return ox_addcdiv_(p, m, root, -o.lr / correction1) ? OX_OK : ox_error();
}

/* ---- the table, in the order of ox_optimizer_rule ------------------------------------------------------ */

static const oxi_optimizer_row oxi_optimizer_rows[] = {
    {"sgd", oxi_sgd_option_list, {"momentum_buffer", NULL, NULL, NULL}, oxi_update_sgd},
    {"adam", oxi_adam_option_list, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", NULL}, oxi_update_adam},
    {"adamw", oxi_adamw_option_list, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", NULL}, oxi_update_adam},
};

static const oxi_optimizer_row *oxi_optimizer_row_of(int rule) {
    int count = (int)(sizeof oxi_optimizer_rows / sizeof *oxi_optimizer_rows);
    return rule > 0 && rule <= count ? &oxi_optimizer_rows[rule - 1] : NULL;
}
