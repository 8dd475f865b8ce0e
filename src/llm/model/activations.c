/* Activations of the feed-forward: of one operand, and of a gate times its other half.
 * A family names a row (families.def). Called by the forward pass. */

static ox_tensor *oxi_llm_relu2(ox_tensor *x) {
    x = ox_relu_(x);
    return ox_mul_(x, x);
}

static ox_tensor *oxi_llm_gelu_gated(ox_tensor *gate, ox_tensor *up) {
    return ox_mul_(ox_gelu_(gate), up);
}

static ox_tensor *oxi_llm_relu_gated(ox_tensor *gate, ox_tensor *up) {
    return ox_mul_(ox_relu_(gate), up);
}

static ox_tensor *oxi_llm_relu2_gated(ox_tensor *gate, ox_tensor *up) {
    return ox_mul_(oxi_llm_relu2(gate), up);
}

/* x sigmoid(1.702 x) */
static ox_tensor *oxi_llm_gelu_quick(ox_tensor *x) {
    return ox_mul_(x, ox_sigmoid_(ox_mul_number(x, 1.702)));
}

static ox_tensor *oxi_llm_gelu_quick_gated(ox_tensor *gate, ox_tensor *up) {
    return ox_mul_(oxi_llm_gelu_quick(gate), up);
}

/* min(gate, 7) sigmoid(1.702 min(gate, 7)) (clamp(up, -7, 7) + 1), as GPT-OSS has it. */
static ox_tensor *oxi_llm_clamped_gated(ox_tensor *gate, ox_tensor *up) {
    static const double numbers[] = {7, 1.702, -7, 1};
    ox_tensor *in[2] = {gate, up}, *out = NULL;
    if (!gate || !up) return NULL;
    return oxi_chain_run(OXI_CHAIN_CLAMPED_GATE, in, 2, numbers, 4, &out) == OX_OK ? out : NULL;
}

static const oxi_llm_activation oxi_llm_silu = {ox_silu_, ox_silu_mul_};
static const oxi_llm_activation oxi_llm_gelu = {ox_gelu_, oxi_llm_gelu_gated};
static const oxi_llm_activation oxi_llm_gelu_tanh = {ox_gelu_tanh_, ox_gelu_mul_};
static const oxi_llm_activation oxi_llm_relu = {ox_relu_, oxi_llm_relu_gated};
static const oxi_llm_activation oxi_llm_relu_or_gelu = {ox_relu_, ox_gelu_mul_}; /* plain, gated */
static const oxi_llm_activation oxi_llm_square = {oxi_llm_relu2, oxi_llm_relu2_gated};
static const oxi_llm_activation oxi_llm_quick = {oxi_llm_gelu_quick, oxi_llm_gelu_quick_gated};
static const oxi_llm_activation oxi_llm_clamped = {ox_silu_, oxi_llm_clamped_gated};

/* What files call them: hidden_activation, in the words of transformers' configurations. */
typedef struct oxi_llm_activation_name {
    const char *name;
    const oxi_llm_activation *activation;
} oxi_llm_activation_name;

static const oxi_llm_activation_name oxi_llm_activation_names[] = {
    {"silu", &oxi_llm_silu},
    {"swish", &oxi_llm_silu},
    {"gelu", &oxi_llm_gelu},
    {"gelu_python", &oxi_llm_gelu},
    {"gelu_new", &oxi_llm_gelu_tanh},
    {"gelu_fast", &oxi_llm_gelu_tanh},
    {"gelu_accurate", &oxi_llm_gelu_tanh},
    {"gelu_pytorch_tanh", &oxi_llm_gelu_tanh},
    {"gelu_python_tanh", &oxi_llm_gelu_tanh},
    {"quick_gelu", &oxi_llm_quick},
    {"relu", &oxi_llm_relu},
    {"relu2", &oxi_llm_square},
    {"relu_squared", &oxi_llm_square},
    /* of gates; the rest is said by the weights */
    {"gated-gelu", &oxi_llm_gelu_tanh},
    {"gated-silu", &oxi_llm_silu},
    {"gated-relu", &oxi_llm_relu},
    {"geglu", &oxi_llm_gelu},
    {"swiglu", &oxi_llm_silu},
};

/* NULL: none of that name. */
static const oxi_llm_activation *oxi_llm_named_activation(ox_string name) {
    for (size_t i = 0; i < sizeof oxi_llm_activation_names / sizeof *oxi_llm_activation_names; i++)
        if (oxi_llm_text_is(name, oxi_llm_activation_names[i].name))
            return oxi_llm_activation_names[i].activation;
    return NULL;
}
