/* test_vulkan_families.c - families beside LLaMA on a GPU: what the CPU computes, token by token and in
 * batches, in f32 and in Q8_0, and how many dispatches and barriers a layer takes of a new token, counted:
 * one more and the family is slower a byte of weights on any GPU. */
#include "llm_plain.h"

enum { WIDTH = 64, HIDDEN = 64, HEADS = 4, SIZE = 32, VOCABULARY = 60, TEXT = 20, FEWER = 2, MORE = 4 };
enum { PLAIN = 32, VALUE = 32, RANK = 32, EXPERTS = 4, USED = 2 };

static int latent, turned; /* numbers of a latent, and of the end of a key that is turned */

/* ---- models -------------------------------------------------------------------------------------------- */

static int64_t most_positions = 64;

static void begin(const char *family, int layers) {
    plain_start(family, 5);
    plain_whole("block_count", layers);
    plain_whole("context_length", most_positions);
    plain_whole("embedding_length", WIDTH);
    plain_whole("feed_forward_length", HIDDEN);
    plain_whole("attention.head_count", HEADS);
    plain_put("token_embd.weight", 0, VOCABULARY, WIDTH, 0, 1);
    plain_put("output.weight", 0, VOCABULARY, WIDTH, 0, -2);
}

static void put_gated(int l, const char *end, int hidden) {
    static const char *const names[] = {"gate", "up", "down"};
    char name[40];
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "ffn_%s%s.weight", names[i], end);
        plain_matrix(plain_name(l, name), i < 2 ? hidden : WIDTH, i < 2 ? WIDTH : hidden);
    }
}

static void put_routed(int l) {
    plain_matrix(plain_name(l, "ffn_gate_inp.weight"), EXPERTS, WIDTH);
    plain_put(plain_name(l, "ffn_gate_exps.weight"), EXPERTS, HIDDEN, WIDTH, 0, -1.5);
    plain_put(plain_name(l, "ffn_up_exps.weight"), EXPERTS, HIDDEN, WIDTH, 0, -1.5);
    plain_put(plain_name(l, "ffn_down_exps.weight"), EXPERTS, WIDTH, HIDDEN, 0, -1.5);
}

static void put_experts(int l) {
    put_routed(l);
    put_gated(l, "_shexp", HIDDEN);
}

static void put_latent(int l) {
    plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
    plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
    plain_norm(plain_name(l, "attn_q_a_norm"), RANK, 0);
    plain_norm(plain_name(l, "attn_kv_a_norm"), latent, 0);
    plain_matrix(plain_name(l, "attn_q_a.weight"), RANK, WIDTH);
    plain_matrix(plain_name(l, "attn_q_b.weight"), HEADS * (PLAIN + turned), RANK);
    plain_matrix(plain_name(l, "attn_kv_a_mqa.weight"), latent + turned, WIDTH);
    plain_put(plain_name(l, "attn_k_b.weight"), HEADS, latent, PLAIN, 0, -1.5);
    plain_put(plain_name(l, "attn_v_b.weight"), HEADS, VALUE, latent, 0, -1.5);
    plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, HEADS * VALUE);
}

/* Latent attention: experts and one of all tokens, or a plain feed-forward and sums by a factor. */
static void make_latent(const char *family, int layers, bool experts) {
    begin(family, layers);
    plain_whole("attention.head_count_kv", 1);
    plain_whole("attention.q_lora_rank", RANK);
    plain_whole("attention.kv_lora_rank", latent);
    plain_whole("attention.key_length", latent + turned);
    plain_whole("attention.value_length", latent);
    plain_whole("attention.key_length_mla", PLAIN + turned);
    plain_whole("attention.value_length_mla", VALUE);
    plain_whole("rope.dimension_count", turned);
    plain_fact("attention.layer_norm_rms_epsilon", 1e-5);
    if (experts) {
        plain_whole("expert_count", EXPERTS);
        plain_whole("expert_used_count", USED);
        plain_whole("expert_feed_forward_length", HIDDEN);
        plain_whole("expert_shared_count", 1);
    } else {
        plain_fact("residual_scale", 0.3);
        plain_fact("embedding_scale", 3);
    }
    plain_norm("output_norm", WIDTH, 0);
    for (int l = 0; l < layers; l++) {
        put_latent(l);
        if (experts)
            put_experts(l);
        else
            put_gated(l, "", HIDDEN);
    }
}

static void make_deepseek(int layers) {
    latent = 64;
    turned = 16;
    make_latent("deepseek2", layers, true);
}
static void make_minicpm(int layers) { /* with latents of DeepSeek's size */
    latent = 512;
    turned = 64;
    make_latent("minicpm3", layers, false);
}

/* Norms, and attention whose heads share keys by twos. */
static void put_grouped(int l) {
    plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
    plain_norm(plain_name(l, "ffn_norm"), WIDTH, 0);
    plain_matrix(plain_name(l, "attn_q.weight"), WIDTH, WIDTH);
    plain_matrix(plain_name(l, "attn_k.weight"), WIDTH / 2, WIDTH);
    plain_matrix(plain_name(l, "attn_v.weight"), WIDTH / 2, WIDTH);
    plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, WIDTH);
}

/* Experts, and one of all tokens that a number of its own opens. */
static void make_qwen2moe(int layers) {
    begin("qwen2moe", layers);
    plain_whole("attention.head_count_kv", 2);
    plain_whole("rope.dimension_count", WIDTH / HEADS);
    plain_fact("attention.layer_norm_rms_epsilon", 1e-5);
    plain_whole("expert_count", EXPERTS);
    plain_whole("expert_used_count", USED);
    plain_whole("expert_feed_forward_length", HIDDEN);
    plain_whole("expert_shared_feed_forward_length", HIDDEN);
    plain_norm("output_norm", WIDTH, 0);
    for (int l = 0; l < layers; l++) {
        put_grouped(l);
        plain_put(plain_name(l, "ffn_gate_inp_shexp.weight"), 0, 0, WIDTH, 0, 0.3);
        put_experts(l);
    }
}

/* Sums by a factor. */
static void make_granite(int layers) {
    begin("granite", layers);
    plain_whole("attention.head_count_kv", 2);
    plain_whole("rope.dimension_count", WIDTH / HEADS);
    plain_fact("attention.layer_norm_rms_epsilon", 1e-5);
    plain_fact("residual_scale", 0.22);
    plain_fact("embedding_scale", 12);
    plain_norm("output_norm", WIDTH, 0);
    for (int l = 0; l < layers; l++) {
        put_grouped(l);
        put_gated(l, "", HIDDEN);
    }
}

/* Biases by how far keys are; heads that are no power of two. */
static void make_bloom(int layers) {
    begin("bloom", layers);
    plain_fact("attention.layer_norm_epsilon", 1e-5);
    plain_norm("token_embd_norm", WIDTH, 1);
    plain_norm("output_norm", WIDTH, 1);
    for (int l = 0; l < layers; l++) {
        plain_norm(plain_name(l, "attn_norm"), WIDTH, 1);
        plain_norm(plain_name(l, "ffn_norm"), WIDTH, 1);
        plain_matrix(plain_name(l, "attn_qkv.weight"), 3 * WIDTH, WIDTH);
        plain_put(plain_name(l, "attn_qkv.bias"), 0, 0, 3 * WIDTH, 0, 0.3);
        plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, WIDTH);
        plain_put(plain_name(l, "attn_output.bias"), 0, 0, WIDTH, 0, 0.3);
        plain_matrix(plain_name(l, "ffn_up.weight"), HIDDEN, WIDTH);
        plain_put(plain_name(l, "ffn_up.bias"), 0, 0, HIDDEN, 0, 0.3);
        plain_matrix(plain_name(l, "ffn_down.weight"), WIDTH, HIDDEN);
        plain_put(plain_name(l, "ffn_down.bias"), 0, 0, WIDTH, 0, 0.3);
    }
}

/* The square of relu: of a product, and as the gate of two, with norms in the middle of both halves. */
static void make_squared(const char *family, int layers, bool gated) {
    begin(family, layers);
    plain_whole("attention.head_count_kv", 2);
    plain_whole("rope.dimension_count", WIDTH / HEADS);
    plain_fact(gated ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", 1e-5);
    plain_norm("output_norm", WIDTH, !gated);
    for (int l = 0; l < layers; l++) {
        plain_norm(plain_name(l, "attn_norm"), WIDTH, !gated);
        plain_norm(plain_name(l, "ffn_norm"), WIDTH, !gated);
        plain_matrix(plain_name(l, "attn_q.weight"), WIDTH, WIDTH);
        plain_matrix(plain_name(l, "attn_k.weight"), WIDTH / 2, WIDTH);
        plain_matrix(plain_name(l, "attn_v.weight"), WIDTH / 2, WIDTH);
        plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, WIDTH);
        if (gated) {
            plain_norm(plain_name(l, "attn_sub_norm"), WIDTH, 0);
            plain_norm(plain_name(l, "ffn_sub_norm"), HIDDEN, 0);
            put_gated(l, "", HIDDEN);
        } else {
            plain_matrix(plain_name(l, "ffn_up.weight"), HIDDEN, WIDTH);
            plain_matrix(plain_name(l, "ffn_down.weight"), WIDTH, HIDDEN);
        }
    }
}

static void make_nemotron(int layers) { make_squared("nemotron", layers, false); }
static void make_bitnet(int layers) { make_squared("bitnet", layers, true); }

/* Norms of queries and keys: of each head behind their turn, or of all heads as one row. */
static void make_normed(const char *family, int layers, int keys, bool row, bool behind, bool experts) {
    const int size = WIDTH / HEADS;
    begin(family, layers);
    plain_whole("attention.head_count_kv", keys);
    plain_whole("rope.dimension_count", size);
    plain_fact("attention.layer_norm_rms_epsilon", 1e-5);
    if (experts) {
        plain_whole("expert_count", EXPERTS);
        plain_whole("expert_used_count", USED);
        plain_whole("expert_feed_forward_length", HIDDEN);
    }
    plain_norm("output_norm", WIDTH, 0);
    for (int l = 0; l < layers; l++) {
        plain_norm(plain_name(l, behind ? "post_attention_norm" : "attn_norm"), WIDTH, 0);
        plain_norm(plain_name(l, behind ? "post_ffw_norm" : "ffn_norm"), WIDTH, 0);
        plain_norm(plain_name(l, "attn_q_norm"), row ? WIDTH : size, 0);
        plain_norm(plain_name(l, "attn_k_norm"), row ? keys * size : size, 0);
        plain_matrix(plain_name(l, "attn_q.weight"), WIDTH, WIDTH);
        plain_matrix(plain_name(l, "attn_k.weight"), keys * size, WIDTH);
        plain_matrix(plain_name(l, "attn_v.weight"), keys * size, WIDTH);
        plain_matrix(plain_name(l, "attn_output.weight"), WIDTH, WIDTH);
        if (experts)
            put_routed(l);
        else
            put_gated(l, "", HIDDEN);
    }
}

static void make_olmo2(int layers) { make_normed("olmo2", layers, HEADS, true, true, false); }
static void make_olmo2_grouped(int layers) { make_normed("olmo2", layers, 2, true, true, false); }
static void make_olmoe(int layers) { make_normed("olmoe", layers, HEADS, true, false, true); }
static void make_hunyuan(int layers) { make_normed("hunyuan-dense", layers, 2, false, false, false); }
static void make_maincoder(int layers) { make_normed("maincoder", layers, 2, false, false, false); }

/* Gated delta nets, whose heads share queries and keys by twos, in place of attention. */
static void make_delta(int layers) {
    enum { GROUPS = 2, KEY = 16 };
    begin("qwen35", layers);
    plain_fact("attention.layer_norm_rms_epsilon", 1e-5);
    plain_whole("ssm.inner_size", WIDTH);
    plain_whole("ssm.conv_kernel", 4);
    plain_whole("ssm.state_size", KEY);
    plain_whole("ssm.time_step_rank", HEADS);
    plain_whole("ssm.group_count", GROUPS);
    plain_whole("full_attention_interval", 2 * MORE); /* none */
    plain_norm("output_norm", WIDTH, 0);
    for (int l = 0; l < layers; l++) {
        const int rows = 2 * GROUPS * KEY + WIDTH;
        plain_norm(plain_name(l, "attn_norm"), WIDTH, 0);
        plain_norm(plain_name(l, "post_attention_norm"), WIDTH, 0);
        plain_matrix(plain_name(l, "attn_qkv.weight"), rows, WIDTH);
        plain_put(plain_name(l, "attn_gate.weight"), 0, WIDTH, WIDTH, 0, -1);
        plain_put(plain_name(l, "ssm_beta.weight"), 0, HEADS, WIDTH, 0, -0.5);
        plain_put(plain_name(l, "ssm_alpha.weight"), 0, HEADS, WIDTH, 0, -0.5);
        plain_put(plain_name(l, "ssm_dt.bias"), 0, 0, HEADS, 0, 0.5);
        plain_put(plain_name(l, "ssm_a"), 0, 0, HEADS, -1, 0.2);
        plain_put(plain_name(l, "ssm_conv1d.weight"), 0, rows, 4, 1, 0.2);
        plain_norm(plain_name(l, "ssm_norm"), KEY, 0);
        plain_matrix(plain_name(l, "ssm_out.weight"), WIDTH, WIDTH);
        put_gated(l, "", HIDDEN);
    }
}

/* ---- both sides ---------------------------------------------------------------------------------------- */

typedef struct family {
    const char *name;
    void (*make)(int layers);
    int dispatches, barriers; /* a layer, at most */
} family;

static const family families[] = {
    {"deepseek2", make_deepseek, 12, 6},
    {"minicpm3", make_minicpm, 10, 6},
    {"qwen2moe", make_qwen2moe, 10, 7},
    {"granite", make_granite, 6, 5},
    {"bloom", make_bloom, 5, 5},
    {"nemotron", make_nemotron, 5, 5},
    {"bitnet", make_bitnet, 5, 5},
    {"olmo2", make_olmo2, 7, 5},
    {"olmo2, grouped", make_olmo2_grouped, 7, 5},
    {"olmoe", make_olmoe, 6, 5},
    {"hunyuan", make_hunyuan, 6, 5},
    {"maincoder", make_maincoder, 6, 5},
    {"delta net", make_delta, 15, 11},
};

static int32_t token_at(int i) {
    return (int32_t)(i * 37 % VOCABULARY);
}

static ox_llm_context *open_context(ox_llm *model) {
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.cache = OX_F16;
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    CHECK_MSG(context != NULL, "%s", ox_error_text());
    return context;
}

/* Writes the model that was made, or one in Q8_0 of it; the file's path. */
static const char *write_in(ox_dtype dtype) {
    static char from[256], to[256];
    ox_llm_quantize_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.mix = "Q8_0";
    snprintf(from, sizeof from, "%s", gguf_path("vulkan_families.gguf"));
    snprintf(to, sizeof to, "%s", gguf_path("vulkan_families_q8.gguf"));
    CHECK(gguf_write(&plain_file, from) == 0);
    if (dtype == OX_F32) return from;
    CHECK_MSG(ox_llm_quantize(from, to, &desc) == OX_OK, "%s", ox_error_text());
    return to;
}

static ox_llm *open_on(const char *path, ox_device *device) {
    ox_llm *model = ox_llm_open(path, device);
    CHECK_MSG(model != NULL, "%s", ox_error_text());
    return model;
}

static void logits_of(ox_llm *model, bool at_once, float *out) {
    int32_t ids[TEXT];
    ox_llm_context *context = open_context(model);
    if (!context) return;
    for (int i = 0; i < TEXT; i++) ids[i] = token_at(i);
    if (at_once) CHECK_MSG(ox_llm_decode_all(context, ids, TEXT, out) == OX_OK, "%s", ox_error_text());
    for (int i = 0; i < TEXT && !at_once; i++) {
        const float *step = ox_llm_step(context, ids[i]);
        CHECK_MSG(step != NULL, "%s", ox_error_text());
        if (step) memcpy(out + (size_t)i * VOCABULARY, step, VOCABULARY * sizeof *out);
    }
    ox_llm_context_close(context);
}

/* What four new tokens take, behind twelve. */
static ox_vulkan_stats count(ox_llm *model, ox_device *gpu) {
    ox_llm_context *context = open_context(model);
    ox_vulkan_stats before, stats;
    for (int i = 0; i < 12; i++) CHECK(ox_llm_step(context, token_at(i)) != NULL);
    before = ox_vulkan_get_stats(gpu);
    for (int i = 12; i < 16; i++) CHECK(ox_llm_step(context, token_at(i)) != NULL);
    stats = ox_vulkan_get_stats(gpu);
    stats.dispatches -= before.dispatches;
    stats.barriers -= before.barriers;
    stats.submits -= before.submits;
    ox_llm_context_close(context);
    return stats;
}

static void compare(const family *f, ox_dtype dtype, ox_device *gpu) {
    static float want[TEXT * VOCABULARY], got[TEXT * VOCABULARY];
    f->make(MORE);
    const char *path = write_in(dtype);
    ox_llm *here = open_on(path, NULL), *there = open_on(path, gpu);
    if (here && there) {
        ox_set_exact(true); /* what activations in 8 bits are off by is told of exact ones */
        logits_of(here, true, want);
        ox_set_exact(false);
        for (int at_once = 0; at_once < 2; at_once++) {
            double off = 0, all = 0;
            logits_of(there, at_once, got);
            for (int i = 0; i < TEXT * VOCABULARY; i++) {
                off += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
                all += (double)want[i] * want[i];
            }
            CHECK_MSG(off <= (dtype == OX_F32 ? 1e-6 : 1e-2) * all, "%s, %s, %s: off by %g", f->name,
                      ox_dtype_name(dtype), at_once ? "a batch" : "steps", off / all);
        }
    }
    ox_llm_close(here);
    ox_llm_close(there);
}

static void check_steps(const family *f, ox_device *gpu) {
    ox_vulkan_stats stats[2];
    for (int i = 0; i < 2; i++) {
        f->make(i ? MORE : FEWER);
        ox_llm *model = open_on(write_in(OX_Q8_0), gpu);
        if (!model) return;
        stats[i] = count(model, gpu);
        CHECK_MSG(stats[i].submits == 4, "%s: %lld submissions", f->name, (long long)stats[i].submits);
        ox_llm_close(model);
    }
    const double layers = 4.0 * (MORE - FEWER), made = (double)(stats[1].dispatches - stats[0].dispatches),
                 barriers = (double)(stats[1].barriers - stats[0].barriers);
    CHECK_MSG(getenv("OX_VULKAN_BLOCKS") || made <= layers * f->dispatches, "%s: %g dispatches a layer",
              f->name, made / layers);
    CHECK_MSG(getenv("OX_VULKAN_BLOCKS") || barriers <= layers * f->barriers, "%s: %g barriers a layer",
              f->name, barriers / layers);
}

/* ---- many keys ------------------------------------------------------------------------------------ */

/* Steps from a few keys before those that one workgroup takes to a few behind them. */
static void check_many_keys(const char *name, void (*make)(int layers), ox_device *gpu) {
    enum { BEFORE = 509, STEPS = 6 };
    static float want[STEPS * VOCABULARY], last[VOCABULARY];
    static int32_t ids[BEFORE + STEPS];
    most_positions = 1024;
    make(1);
    const char *path = write_in(OX_F32);
    ox_llm *here = open_on(path, NULL), *there = open_on(path, gpu);
    most_positions = 64;
    ox_llm_context *contexts[2] = {here ? open_context(here) : NULL, there ? open_context(there) : NULL};
    for (int i = 0; i < BEFORE + STEPS; i++) ids[i] = token_at(i);
    for (int side = 0; side < 2 && contexts[0] && contexts[1]; side++) {
        double off = 0, all = 0;
        CHECK_MSG(ox_llm_decode(contexts[side], ids, BEFORE, last) == OX_OK, "%s", ox_error_text());
        for (int i = 0; i < STEPS; i++) {
            float *row = want + (size_t)i * VOCABULARY;
            const float *step = side ? ox_llm_step(contexts[1], ids[BEFORE + i]) : NULL;
            if (!side)
                CHECK_MSG(ox_llm_decode(contexts[0], ids + BEFORE + i, 1, row) == OX_OK, "%s",
                          ox_error_text());
            CHECK_MSG(!side || step, "%s", ox_error_text());
            for (int k = 0; step && k < VOCABULARY; k++) {
                off += ((double)step[k] - row[k]) * ((double)step[k] - row[k]);
                all += (double)row[k] * row[k];
            }
        }
        CHECK_MSG(!side || (all > 0 && off <= 1e-5 * all), "%s, many keys: off by %g", name,
                  off / all);
    }
    for (int side = 0; side < 2; side++) ox_llm_context_close(contexts[side]);
    ox_llm_close(here);
    ox_llm_close(there);
}

/* ---- factors ------------------------------------------------------------------------------------------- */

/* One layer whose halves have a factor of their own: the last logits of a text. */
static void run_factor(ox_device *device, double factor, float *logits) {
    begin("granite", 1);
    plain_whole("attention.head_count_kv", HEADS);
    plain_whole("rope.dimension_count", WIDTH / HEADS);
    plain_fact("attention.layer_norm_rms_epsilon", 1e-5);
    plain_fact("residual_scale", factor);
    plain_norm("output_norm", WIDTH, 0);
    plain_norm("blk.0.attn_norm", WIDTH, 0);
    plain_norm("blk.0.ffn_norm", WIDTH, 0);
    plain_matrix("blk.0.attn_q.weight", WIDTH, WIDTH);
    plain_matrix("blk.0.attn_k.weight", WIDTH, WIDTH);
    plain_matrix("blk.0.attn_v.weight", WIDTH, WIDTH);
    plain_matrix("blk.0.attn_output.weight", WIDTH, WIDTH);
    put_gated(0, "", HIDDEN);
    ox_llm *model = plain_open_on(device);
    ox_llm_context *context = model ? open_context(model) : NULL;
    int32_t ids[TEXT];
    for (int i = 0; i < TEXT; i++) ids[i] = token_at(i);
    if (context) CHECK_MSG(ox_llm_decode(context, ids, TEXT, logits) == OX_OK, "%s", ox_error_text());
    ox_llm_context_close(context);
    ox_llm_close(model);
}

/* Factors by which a row would be larger than any number whose square is finite. */
static void check_factors(ox_device *gpu) {
    static const double factors[] = {0.22, 1e-30, 1e30};
    static float here[VOCABULARY], there[VOCABULARY];
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        double off = 0, all = 0;
        run_factor(NULL, factors[i], here);
        run_factor(gpu, factors[i], there);
        for (int k = 0; k < VOCABULARY; k++) {
            off += fabs((double)there[k] - here[k]);
            all += fabs((double)here[k]);
        }
        CHECK_MSG(all > 0 && off <= 1e-3 * all, "a factor of %g: off by %g of %g", factors[i], off, all);
    }
}

int main(void) {
    ox_device *gpu = ox_vulkan(0);
    if (!gpu) return check_skipped("vulkan_families", ox_error_text());
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        compare(&families[i], OX_F32, gpu);
        compare(&families[i], OX_Q8_0, gpu);
        check_steps(&families[i], gpu);
    }
    check_many_keys("minicpm3", make_minicpm, gpu);
    check_many_keys("olmo2", make_olmo2_grouped, gpu);
    check_many_keys("hunyuan", make_hunyuan, gpu);
    check_factors(gpu);
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK_MSG(ox_device_close(gpu) == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    return check_done("vulkan_families");
}
