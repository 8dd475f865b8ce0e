/* test_llm_griffin.c - gated linear recurrent units (RG-LRU, RecurrentGemma) against plain loops in double,
 * position by position: the convolution, gates by a matrix a group, decays from slow to fast, what the first
 * position brings; on the CPU, on a stream and on Vulkan.
 */
#include "llm_plain.h"

enum { WIDTH = 24, HIDDEN = 30, INNER = 20, GROUPS = 5, SIZE = INNER / GROUPS, TAPS = 4, VOCABULARY = 40,
       TEXT = 45, LAYERS = 3 };
static const double epsilon = 1e-5, cap = 3, scale = 2.5;

/* ---- the model ----------------------------------------------------------------------------------------- */

static void put_gate(int l, const char *stem) {
    char name[40];
    snprintf(name, sizeof name, "%s.weight", stem);
    plain_put(plain_name(l, name), GROUPS, SIZE, SIZE, 0, -1.5);
    snprintf(name, sizeof name, "%s.bias", stem);
    plain_put(plain_name(l, name), 0, GROUPS, SIZE, 0, 1);
}

static void make_model(uint64_t seed) {
    plain_start("recurrent-gemma", seed);
    plain_whole("block_count", LAYERS);
    plain_whole("context_length", 64);
    plain_whole("embedding_length", WIDTH);
    plain_whole("feed_forward_length", HIDDEN);
    plain_whole("attention.head_count", 2);
    plain_whole("attention.head_count_kv", 0);
    plain_whole("ssm.inner_size", INNER);
    plain_whole("ssm.conv_kernel", TAPS);
    plain_whole("ssm.group_count", GROUPS);
    plain_fact("attention.layer_norm_rms_epsilon", epsilon);
    plain_fact("final_logit_softcapping", cap);
    plain_fact("embedding_scale", scale);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, 1);
    plain_norm("output_norm", WIDTH, 0);
    plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
    for (int l = 0; l < LAYERS; l++) {
        plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
        plain_matrix(plain_name(l, "ssm_in.weight"), 2 * INNER, WIDTH);
        plain_put(plain_name(l, "ssm_in.bias"), 0, 0, 2 * INNER, 0, 0.3);
        plain_put(plain_name(l, "ssm_conv1d.weight"), 0, INNER, TAPS, 0, -1.5);
        plain_put(plain_name(l, "ssm_conv1d.bias"), 0, 0, INNER, 0, 0.3);
        put_gate(l, "ssm_gate_in");
        put_gate(l, "ssm_gate_a");
        plain_put(plain_name(l, "ssm_a"), 0, INNER, 1, -0.02 * pow(12, l), 0.004 * pow(12, l));
        plain_matrix(plain_name(l, "ssm_out.weight"), WIDTH, INNER);
        plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
        plain_matrix(plain_name(l, "ffn_gate.weight"), HIDDEN, WIDTH);
        plain_matrix(plain_name(l, "ffn_up.weight"), HIDDEN, WIDTH);
        plain_matrix(plain_name(l, "ffn_down.weight"), WIDTH, HIDDEN);
    }
}

/* ---- plain loops --------------------------------------------------------------------------------------- */

static struct {
    double window[TAPS][INNER], h[INNER];
} memories[LAYERS];

static void gate(int l, const char *stem, const double *u, double *out) {
    for (int g = 0; g < GROUPS; g++)
        plain_product_of(plain_name(l, stem), g, u + g * SIZE, out + g * SIZE);
    for (int i = 0; i < INNER; i++) out[i] = plain_sigmoid(out[i]);
}

/* source: De et al. 2024, "Griffin", equations 3 to 6 */
static void mix(int l, bool first, const double *x, double *out) {
    double both[2 * INNER], u[INNER], in[INNER], r[INNER], y[INNER];
    const float *taps = plain_data(plain_name(l, "ssm_conv1d.weight")),
                *bias = plain_data(plain_name(l, "ssm_conv1d.bias")),
                *rate = plain_data(plain_name(l, "ssm_a"));
    plain_product(plain_name(l, "ssm_in"), x, both);
    memmove(memories[l].window[0], memories[l].window[1], sizeof memories[l].window - sizeof both / 2);
    memcpy(memories[l].window[TAPS - 1], both, sizeof both / 2);
    for (int i = 0; i < INNER; i++) {
        u[i] = bias[i];
        for (int k = 0; k < TAPS; k++) u[i] += taps[i * TAPS + k] * memories[l].window[k][i];
    }
    gate(l, "ssm_gate_in", u, in);
    gate(l, "ssm_gate_a", u, r);
    for (int i = 0; i < INNER; i++) {
        const double a = exp(rate[i] * r[i]);
        memories[l].h[i] = a * memories[l].h[i] + (first ? 1 : sqrt(1 - a * a)) * in[i] * u[i];
        y[i] = plain_bend(PLAIN_GELU_TANH, both[INNER + i]) * memories[l].h[i];
    }
    plain_product(plain_name(l, "ssm_out"), y, out);
}

static void feed(int l, double *x) {
    double normal[WIDTH], opened[HIDDEN], up[HIDDEN], out[WIDTH];
    memcpy(normal, x, sizeof normal);
    plain_normalize(plain_name(l, "ffn_norm"), 0, 0, epsilon, WIDTH, normal);
    plain_product(plain_name(l, "ffn_gate"), normal, opened);
    plain_product(plain_name(l, "ffn_up"), normal, up);
    for (int i = 0; i < HIDDEN; i++) up[i] *= plain_bend(PLAIN_GELU_TANH, opened[i]);
    plain_product(plain_name(l, "ffn_down"), up, out);
    for (int i = 0; i < WIDTH; i++) x[i] += out[i];
}

static void run(const int32_t *ids, double *logits) {
    const float *tokens = plain_data("token_embd.weight");
    memset(memories, 0, sizeof memories);
    for (int t = 0; t < TEXT; t++) {
        double x[WIDTH], normal[WIDTH], out[WIDTH];
        for (int i = 0; i < WIDTH; i++) x[i] = scale * tokens[ids[t] * WIDTH + i];
        for (int l = 0; l < LAYERS; l++) {
            memcpy(normal, x, sizeof normal);
            plain_normalize(plain_name(l, "attn_norm"), 0, 0, epsilon, WIDTH, normal);
            mix(l, t == 0, normal, out);
            for (int i = 0; i < WIDTH; i++) x[i] += out[i];
            feed(l, x);
        }
        plain_normalize("output_norm", 0, 0, epsilon, WIDTH, x);
        plain_product("output", x, logits + t * VOCABULARY);
        for (int i = 0; i < VOCABULARY; i++)
            logits[t * VOCABULARY + i] = cap * tanh(logits[t * VOCABULARY + i] / cap);
    }
}

/* ---- tests --------------------------------------------------------------------------------------------- */

static int32_t ids[TEXT];
static float got[TEXT * VOCABULARY];
static double expected[TEXT * VOCABULARY];

/* Batches of `batch` positions, 0: all at once, -1: token by token. */
static void test_text(ox_llm *model, plain_place place, int batch) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.batch = batch > 0 ? batch : 0;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    memset(got, 0, sizeof got);
    if (batch >= 0) CHECK(ox_llm_decode_all(context, ids, TEXT, got) == OX_OK);
    for (int t = 0; t < TEXT && batch < 0; t++)
        CHECK(ox_llm_decode_one(context, ids[t], got + t * VOCABULARY) == OX_OK);
    const double apart = plain_apart(got, expected, TEXT * VOCABULARY);
    CHECK_MSG(ox_error() == OX_OK && apart < 1e-5, "on %s, batches of %d: %g apart, %s", plain_places[place],
              batch, apart, ox_error_text());
    ox_error_clear();
    ox_llm_context_close(context);
}

int main(void) {
    static const int batches[] = {0, -1, 17, 1, 2};
    ox_set_exact(true);
    for (int t = 0; t < TEXT; t++) ids[t] = (t * t * 3 + 11 * t + 5) % VOCABULARY;
    for (int at = 0; at < PLAIN_PLACES; at++) {
        const plain_place place = (plain_place)at;
        ox_device *device = plain_device(place);
        make_model(61);
        run(ids, expected);
        ox_llm *model = device ? plain_open_on(device) : NULL;
        for (int b = 0; model && b < (place == PLAIN_CPU ? 5 : 3); b++) test_text(model, place, batches[b]);
        ox_llm_close(model);
        if (device) plain_leave(place, device);
    }
    CHECK_NO_TENSORS();
    return check_done("llm_griffin");
}
