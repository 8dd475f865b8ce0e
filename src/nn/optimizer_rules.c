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

/* ---- steps as chains ----------------------------------------------------------------------------------- */

enum { OXI_STEP_TEXT = 200 };

/* A step of one parameter, which one chain computes: what it does as text, piece by piece, and the numbers
 * and tensors that the text names. */
typedef struct oxi_update {
    char text[OXI_STEP_TEXT];
    double numbers[OXI_CHAIN_NUMBERS];
    ox_tensor *in[OXI_CHAIN_OPERANDS], *out[OXI_MAX_OUT];
    int in_count, number_count, out_count;
} oxi_update;

/* Adds words; "#" in them stands for the place of each number in turn. */
static void oxi_update_say(oxi_update *step, const char *words, const double *numbers) {
    size_t used = strlen(step->text);
    for (; *words && used + 8 < sizeof step->text; words++) {
        if (*words != '#') {
            step->text[used++] = *words;
            continue;
        }
        step->numbers[step->number_count] = *numbers++;
        used += (size_t)snprintf(step->text + used, sizeof step->text - used, "n%d", step->number_count++);
    }
    step->text[used] = 0;
}

static void oxi_update_say_1(oxi_update *step, const char *words, double number) {
    oxi_update_say(step, words, &number);
}

/* Begins with the gradient to descend along, kept as p: its sign turned to maximize, and weight_decay times
 * the parameter added. a is the parameter, b the gradient. */
static void oxi_update_begin(oxi_update *step, const oxi_optimizer_update *u, double maximize,
                             double weight_decay) {
    memset(step, 0, sizeof *step);
    step->in[step->in_count++] = u->parameter;
    step->in[step->in_count++] = u->gradient;
    oxi_update_say(step, maximize != 0 ? "b neg " : "b ", NULL);
    if (weight_decay != 0) oxi_update_say_1(step, "a # * + ", weight_decay);
    oxi_update_say(step, "=p drop ", NULL);
}

/* The next operand, which a result is written to as well: results come in the order of these, and the
 * parameter's last. False: t is NULL. */
static bool oxi_update_changes(oxi_update *step, ox_tensor *t) {
    step->in[step->in_count++] = t;
    step->out[step->out_count++] = t;
    return t != NULL;
}

static ox_status oxi_update_run(oxi_update *step, ox_tensor *parameter) {
    step->out[step->out_count++] = parameter;
    return oxi_chain_run(step->text, step->in, step->in_count, step->numbers, step->number_count, step->out);
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
    const bool begun = u->state[0] != NULL; /* else the buffer becomes the gradient */
    const double kept[] = {o.momentum, begun ? 1 - o.dampening : 1}, ahead[] = {o.momentum, -o.lr};
    oxi_update step;
    oxi_update_begin(&step, u, o.maximize, o.weight_decay);
    if (o.momentum != 0) {
        if (!oxi_update_changes(&step, oxi_state_of(u, 0))) return ox_error();
        oxi_update_say(&step, "c # * p # * + =q ; ", kept);
    }
    if (o.momentum == 0) oxi_update_say_1(&step, "a p # * + ;", -o.lr);
    else if (o.nesterov == 0) oxi_update_say_1(&step, "a q # * + ;", -o.lr);
    else oxi_update_say(&step, "a p q # * + # * + ;", ahead);
    return oxi_update_run(&step, u->parameter);
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
    const bool decoupled = o.decoupled_weight_decay != 0;
    const double correction1 = 1 - pow(o.beta1, (double)u->step);
    const double correction2 = 1 - pow(o.beta2, (double)u->step);
    const double squares[] = {o.beta2, 1 - o.beta2}, end[] = {-o.lr / correction1, sqrt(correction2), o.eps};
    oxi_update step;
    oxi_update_begin(&step, u, o.maximize, decoupled ? 0 : o.weight_decay);
    if (!oxi_update_changes(&step, oxi_state_of(u, 0)) || !oxi_update_changes(&step, oxi_state_of(u, 1)))
        return ox_error();
    oxi_update_say_1(&step, "c p # lerp =q ; ", 1 - o.beta1);
    oxi_update_say(&step, "d # * # p * p * + =r ; ", squares);
    if (o.amsgrad != 0) {
        if (!oxi_update_changes(&step, oxi_state_of(u, 2))) return ox_error();
        oxi_update_say(&step, "e r maximum =r ; ", NULL);
    }
    oxi_update_say(&step, "a ", NULL);
    if (decoupled && o.weight_decay != 0) oxi_update_say_1(&step, "# * ", 1 - o.lr * o.weight_decay);
    oxi_update_say(&step, "q # * r sqrt # / # + / + ;", end);
    return oxi_update_run(&step, u->parameter);
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
