/* Activations of the feed-forward: of one operand, and of a gate times its other half.
 * A family names a row (families.def). Called by the forward pass. */

static ox_tensor *oxi_llm_relu2(ox_tensor *x) {
    x = ox_relu_(x);
    return ox_mul_(x, x);
}

/* x sigmoid(1.702 x) */
static ox_tensor *oxi_llm_gelu_quick(ox_tensor *x) {
    return ox_mul_(x, ox_sigmoid_(ox_mul_number(x, 1.702)));
}

static ox_tensor *oxi_llm_same(ox_tensor *x) { return x; }

static ox_tensor *oxi_llm_gelu_10(ox_tensor *x) { return ox_clamp_(ox_gelu_(x), -10, 10); }

static ox_tensor *oxi_llm_relu6(ox_tensor *x) { return ox_clamp_(x, 0, 6); }

static ox_tensor *oxi_llm_leaky_relu(ox_tensor *x) { return ox_maximum_(x, ox_mul_number(x, 0.01)); }

/* x relu6(x + 3) / 6 */
static ox_tensor *oxi_llm_hard_swish(ox_tensor *x) {
    return ox_mul_(x, ox_mul_number_(oxi_llm_relu6(ox_add_number(x, 3)), 1.0 / 6));
}

/* x tanh(log(1 + e^x)) = x n / (n + 2) with n = e^x (e^x + 2), where 1 is left of the fraction from 20 on */
static ox_tensor *oxi_llm_mish(ox_tensor *x) {
    ox_tensor *e = ox_exp_(ox_clamp(x, -INFINITY, 20)), *n = ox_mul_(ox_add_number(e, 2), e);
    return ox_mul_(x, ox_div_(n, ox_add_number(n, 2)));
}

/* min(gate, 7) sigmoid(1.702 min(gate, 7)) (clamp(up, -7, 7) + 1), as GPT-OSS has it. */
static ox_tensor *oxi_llm_clamped_gated(ox_tensor *gate, ox_tensor *up) {
    static const double numbers[] = {7, 1.702, -7, 1};
    ox_tensor *in[2] = {gate, up}, *out = NULL;
    if (!gate || !up) return NULL;
    return oxi_chain_run(OXI_CHAIN_CLAMPED_GATE, in, 2, numbers, 4, &out) == OX_OK ? out : NULL;
}

static const oxi_llm_activation oxi_llm_silu = {ox_silu_, ox_silu_mul_};
static const oxi_llm_activation oxi_llm_gelu = {ox_gelu_, NULL};
static const oxi_llm_activation oxi_llm_gelu_tanh = {ox_gelu_tanh_, ox_gelu_mul_};
static const oxi_llm_activation oxi_llm_relu = {ox_relu_, NULL};
static const oxi_llm_activation oxi_llm_relu_or_gelu = {ox_relu_, ox_gelu_mul_}; /* plain, gated */
static const oxi_llm_activation oxi_llm_square = {oxi_llm_relu2, NULL};
static const oxi_llm_activation oxi_llm_clamped = {ox_silu_, oxi_llm_clamped_gated};

/* activation(gate) * up, written to gate. */
static ox_tensor *oxi_llm_gated(const oxi_llm_activation *activation, ox_tensor *gate, ox_tensor *up) {
    return activation->gated ? activation->gated(gate, up) : ox_mul_(activation->plain(gate), up);
}

/* What files call them: hidden_activation, in the words of transformers' configurations. */
typedef struct oxi_llm_activation_name {
    const char *name;
    oxi_llm_activation activation;
} oxi_llm_activation_name;

static const oxi_llm_activation_name oxi_llm_activation_names[] = {
    {"silu", {ox_silu_, ox_silu_mul_}},
    {"swish", {ox_silu_, ox_silu_mul_}},
    {"gelu", {ox_gelu_, NULL}},
    {"gelu_python", {ox_gelu_, NULL}},
    {"gelu_new", {ox_gelu_tanh_, ox_gelu_mul_}},
    {"gelu_fast", {ox_gelu_tanh_, ox_gelu_mul_}},
    {"gelu_accurate", {ox_gelu_tanh_, ox_gelu_mul_}},
    {"gelu_pytorch_tanh", {ox_gelu_tanh_, ox_gelu_mul_}},
    {"gelu_python_tanh", {ox_gelu_tanh_, ox_gelu_mul_}},
    {"gelu_10", {oxi_llm_gelu_10, NULL}},
    {"quick_gelu", {oxi_llm_gelu_quick, NULL}},
    {"relu", {ox_relu_, NULL}},
    {"relu2", {oxi_llm_relu2, NULL}},
    {"relu_squared", {oxi_llm_relu2, NULL}},
    {"relu6", {oxi_llm_relu6, NULL}},
    {"leaky_relu", {oxi_llm_leaky_relu, NULL}},
    {"hardswish", {oxi_llm_hard_swish, NULL}},
    {"mish", {oxi_llm_mish, NULL}},
    {"sigmoid", {ox_sigmoid_, NULL}},
    {"tanh", {ox_tanh_, NULL}},
    {"linear", {oxi_llm_same, NULL}},
    /* of gates; the rest is said by the weights */
    {"gated-gelu", {ox_gelu_tanh_, ox_gelu_mul_}},
    {"gated-silu", {ox_silu_, ox_silu_mul_}},
    {"gated-relu", {ox_relu_, NULL}},
    {"geglu", {ox_gelu_, NULL}},
    {"swiglu", {ox_silu_, ox_silu_mul_}},
};

/* NULL: none of that name. */
static const oxi_llm_activation *oxi_llm_named_activation(ox_string name) {
    for (size_t i = 0; i < sizeof oxi_llm_activation_names / sizeof *oxi_llm_activation_names; i++)
        if (oxi_llm_text_is(name, oxi_llm_activation_names[i].name))
            return &oxi_llm_activation_names[i].activation;
    return NULL;
}
