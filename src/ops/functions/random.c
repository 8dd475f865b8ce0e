/* The public random functions and generators; dropout.
 * Each call takes the next counter value of the thread's generator, so the numbers depend on its seed and on
 * how many random calls it has served, not on threads, strides or device. */

/* Atomic, so that threads may share one. */
struct ox_generator {
    int64_t seed, counter;
};

static ox_generator oxi_default_generator;
static OXI_THREAD_LOCAL ox_generator *oxi_generator; /* of this thread's calls; NULL: the default one */
/* Gives this thread's calls their states instead; and whether generators stay as they are (checkpoint.c). */
static OXI_THREAD_LOCAL oxi_random_state (*oxi_random_source)(void);
static OXI_THREAD_LOCAL bool oxi_random_again;

static ox_generator *oxi_generator_or_default(ox_generator *generator) {
    return generator ? generator : &oxi_default_generator;
}

OX_API ox_generator *ox_generator_open(uint64_t seed) {
    ox_generator *generator = (ox_generator *)oxi_calloc(1, sizeof *generator);
    if (generator) generator->seed = (int64_t)seed;
    return generator;
}

OX_API void ox_generator_close(ox_generator *generator) {
    if (!generator) return;
    if (oxi_generator == generator) oxi_generator = NULL;
    oxi_free(generator, sizeof *generator);
}

OX_API ox_generator_state ox_generator_get_state(ox_generator *generator) {
    ox_generator *g = oxi_generator_or_default(generator);
    ox_generator_state state;
    state.seed = (uint64_t)oxi_atomic_load(&g->seed);
    state.counter = (uint64_t)oxi_atomic_load(&g->counter);
    return state;
}

OX_API void ox_generator_set_state(ox_generator *generator, ox_generator_state state) {
    ox_generator *g = oxi_generator_or_default(generator);
    if (oxi_random_again) return;
    oxi_atomic_store(&g->seed, (int64_t)state.seed);
    oxi_atomic_store(&g->counter, (int64_t)state.counter);
}

OX_API void ox_generator_seed(ox_generator *generator, uint64_t seed) {
    ox_generator_state state = {seed, 0};
    ox_generator_set_state(generator, state);
}
OX_API void ox_manual_seed(uint64_t seed) {
    ox_generator_seed(NULL, seed);
}

OX_API ox_generator *ox_generator_use(ox_generator *generator) {
    ox_generator *previous = oxi_generator;
    oxi_generator = generator;
    return previous;
}

OX_API ox_generator_scope ox_generator_scope_begin(ox_generator *generator) {
    ox_generator_scope scope;
    scope.previous = ox_generator_use(generator);
    scope.open = true;
    return scope;
}

OX_API void ox_generator_scope_end(ox_generator_scope *scope) {
    if (!scope || !scope->open) return;
    scope->open = false;
    (void)ox_generator_use(scope->previous);
}

static oxi_random_state oxi_draw_random_state(void) {
    ox_generator *generator = oxi_generator_or_default(oxi_generator);
    oxi_random_state state;
    state.seed = (uint64_t)oxi_atomic_load(&generator->seed);
    state.counter = (uint64_t)oxi_atomic_add(&generator->counter, 1);
    return state;
}
static oxi_random_state oxi_next_random_state(void) {
    return oxi_random_source ? oxi_random_source() : oxi_draw_random_state();
}

/* uniform from 0 to 1, or normal of mean 0 and deviation 1. */
static ox_tensor *oxi_rand(const char *name, oxi_op op, ox_shape shape, ox_dtype dtype, ox_device *device) {
    oxi_attrs attr = op == OXI_OP_uniform ? oxi_attrs_uniform() : oxi_attrs_normal();
    dtype = oxi_default_dtype(dtype, ox_default_dtype());
    return oxi_fill_new(name, op, attr, shape, dtype, device, oxi_next_random_state());
}
OX_API ox_tensor *ox_rand(ox_shape shape, ox_dtype dtype) {
    return oxi_rand("rand", OXI_OP_uniform, shape, dtype, ox_default_device());
}
OX_API ox_tensor *ox_randn(ox_shape shape, ox_dtype dtype) {
    return oxi_rand("randn", OXI_OP_normal, shape, dtype, ox_default_device());
}

/* Whether all numbers from low to high are some of the dtype; floats hold what they round, not infinity. */
static bool oxi_holds_range(ox_dtype dtype, int64_t low, int64_t high) {
    if (dtype == OX_I64) return true;
    if (dtype == OX_BOOL) return low >= 0 && high <= 1;
    double most = oxi_dtype_max(dtype);
    if (!oxi_is_int(dtype)) return -(double)low <= most && (double)high <= most;
    return (double)low >= oxi_integer_least(dtype) && (double)high < oxi_integer_end(dtype);
}

static ox_tensor *oxi_randint(const char *name, int64_t low, int64_t high, ox_shape shape, ox_dtype dtype,
                              ox_device *device) {
    if (low >= high)
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: there is no number from %lld to below %lld", name,
                             (long long)low, (long long)high);
    dtype = oxi_default_dtype(dtype, OX_I64);
    if (!oxi_holds_range(dtype, low, high - 1))
        return OXI_FAIL_NULL(OX_ERR_ARG, "%s: %lld to %lld does not fit %s", name, (long long)low,
                             (long long)(high - 1), ox_dtype_name(dtype));
    oxi_attrs attr = oxi_attrs_randint();
    attr.randint.low = low;
    attr.randint.high = high;
    return oxi_fill_new(name, OXI_OP_randint, attr, shape, dtype, device, oxi_next_random_state());
}
OX_API ox_tensor *ox_randint(int64_t low, int64_t high, ox_shape shape, ox_dtype dtype) {
    return oxi_randint("randint", low, high, shape, dtype, ox_default_device());
}

OX_API ox_tensor *ox_rand_like(const ox_tensor *t) {
    if (oxi_null_model("rand_like", t)) return NULL;
    return oxi_rand("rand_like", OXI_OP_uniform, ox_shape_of(t), t->dtype, ox_device_of(t));
}
OX_API ox_tensor *ox_randn_like(const ox_tensor *t) {
    if (oxi_null_model("randn_like", t)) return NULL;
    return oxi_rand("randn_like", OXI_OP_normal, ox_shape_of(t), t->dtype, ox_device_of(t));
}
OX_API ox_tensor *ox_randint_like(const ox_tensor *t, int64_t low, int64_t high) {
    if (oxi_null_model("randint_like", t)) return NULL;
    return oxi_randint("randint_like", low, high, ox_shape_of(t), t->dtype, ox_device_of(t));
}

OX_API ox_tensor *ox_randperm(int64_t n, ox_dtype dtype) {
    return oxi_fill_new(NULL, OXI_OP_randperm, oxi_attrs_shape(), ox_shape_from(1, &n),
                        oxi_default_dtype(dtype, OX_I64), ox_default_device(), oxi_next_random_state());
}

/* Fills x itself: a FILL call whose result is given. */
static ox_tensor *oxi_fill_in_place(const char *name, oxi_op op, ox_tensor *x, oxi_attrs attr,
                                    oxi_random_state state) {
    if (oxi_any_null(name, &x, 1)) return NULL;
    oxi_call call = oxi_fill_call_of(name, op, attr, ox_shape_of(x), x->dtype, x);
    call.random = state;
    return oxi_apply(&call) == OX_OK ? x : NULL;
}

OX_API ox_tensor *ox_uniform_(ox_tensor *x, double low, double high) {
    oxi_attrs attr = oxi_attrs_uniform();
    attr.uniform.low = low;
    attr.uniform.high = high;
    if (!(low <= high && high - low < INFINITY))
        return OXI_FAIL_NULL(OX_ERR_ARG, "uniform_: from %g to %g is no finite range", low, high);
    if (x && oxi_is_float(x->dtype) && (-low > oxi_dtype_max(x->dtype) || high > oxi_dtype_max(x->dtype)))
        return OXI_FAIL_NULL(OX_ERR_ARG, "uniform_: %g to %g does not fit %s", low, high, oxi_tensor_text(x));
    return oxi_fill_in_place("uniform_", OXI_OP_uniform, x, attr, oxi_next_random_state());
}

OX_API ox_tensor *ox_normal_(ox_tensor *x, double mean, double deviation) {
    oxi_attrs attr = oxi_attrs_normal();
    oxi_random_state state = oxi_next_random_state();
    attr.normal.mean = mean;
    attr.normal.deviation = deviation;
    if (!(deviation >= 0)) return OXI_FAIL_NULL(OX_ERR_ARG, "normal_: deviation %g", deviation);
    return oxi_fill_in_place("normal_", OXI_OP_normal, x, attr, state);
}

/* Of an expanded tensor the numbers that it has are filled. */
static ox_tensor *oxi_fill_with(const char *name, ox_tensor *x, double value) {
    for (int d = 0; x && d < x->ndim; d++) {
        if (x->stride[d] != 0 || x->shape[d] < 2) continue;
        ox_scope scope = ox_scope_begin();
        bool done = oxi_fill_with(name, ox_narrow(x, d, 0, 1), value) != NULL;
        ox_scope_end(&scope);
        return done ? x : NULL;
    }
    return oxi_fill_in_place(name, OXI_OP_fill, x, oxi_fill_attrs(value), oxi_no_random_state());
}
OX_API ox_tensor *ox_fill_(ox_tensor *x, double value) {
    return oxi_fill_with("fill_", x, value);
}
OX_API ox_tensor *ox_zero_(ox_tensor *x) {
    return oxi_fill_with("zero_", x, 0);
}

/* By the probabilities or weights of x. */
static ox_tensor *oxi_random_of(oxi_op op, oxi_attrs attr, ox_tensor *x) {
    oxi_call call = oxi_call_of(op, &x, 1, NULL);
    call.attr = attr;
    call.random = oxi_next_random_state();
    if (oxi_any_null(oxi_op_row_of(op)->name, &x, 1)) return NULL;
    return oxi_apply(&call) == OX_OK ? call.out[0] : NULL;
}

OX_API ox_tensor *ox_bernoulli(ox_tensor *probabilities) {
    return oxi_random_of(OXI_OP_bernoulli, oxi_attrs_none(), probabilities);
}

OX_API ox_tensor *ox_bernoulli_(ox_tensor *x, double p) {
    if (oxi_any_null("bernoulli_", &x, 1)) return NULL;
    if (!(p >= 0 && p <= 1))
        return OXI_FAIL_NULL(OX_ERR_ARG, "bernoulli_: the probability %g is not in [0, 1]", p);
    oxi_work work = oxi_work_begin("bernoulli_");
    ox_tensor *drawn = ox_bernoulli(oxi_full("bernoulli_", ox_shape_of(x), p, OX_F32, ox_device_of(x))),
              *done = drawn ? ox_copy_(x, drawn) : NULL;
    (void)oxi_work_end(&work, NULL);
    return done;
}

OX_API ox_tensor *ox_multinomial(ox_tensor *weights, int64_t samples, bool replacement) {
    oxi_attrs attr = oxi_attrs_multinomial();
    attr.multinomial.samples = samples;
    attr.multinomial.replacement = replacement;
    return oxi_random_of(OXI_OP_multinomial, attr, weights);
}

OX_API ox_tensor *ox_dropout_(ox_tensor *x, double p, bool training) {
    oxi_work work = oxi_work_begin("dropout_");
    ox_tensor *dropped = ox_dropout(x, p, training), *result = dropped ? ox_copy_(x, dropped) : NULL;
    (void)oxi_work_end(&work, NULL);
    return result;
}

OX_API ox_tensor *ox_dropout(ox_tensor *x, double p, bool training) {
    if (oxi_any_null("dropout", &x, 1)) return NULL;
    if (!(p >= 0 && p <= 1))
        return OXI_FAIL_NULL(OX_ERR_ARG, "dropout: the probability %g is not in [0, 1]", p);
    bool draws = training && p > 0;
    if (draws && !oxi_is_float(x->dtype))
        return OXI_FAIL_NULL(OX_ERR_DTYPE, "dropout: not defined for %s", oxi_tensor_text(x));
    oxi_work work = oxi_work_begin("dropout");
    if (!draws) return oxi_work_end(&work, ox_clone(x));
    ox_tensor *result = ox_mul(x, ox_bernoulli(ox_full_like(x, 1 - p)));
    return oxi_work_end(&work, p < 1 ? ox_mul_number(result, 1 / (1 - p)) : result);
}
