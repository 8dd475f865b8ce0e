/* test_llm_folders.c - facts and tensors of folders that need more than a name: recurrent layers, poolings of
 * embedding models, activations, encoders by their class, lists of layers; what is refused, in words.
 */
#include "llm_folder.h"

/* ---- 8-bit floats with scales ------------------------------------------------------------------------- */

/* [rows, columns] times scales as `kind` has them (0 one, 1 one a row, 2 the same as a column, 3 one of each
 * 3 rows and 5 columns), in bf16. */
static ox_tensor *scaled_by_hand(ox_tensor *t, ox_tensor *scales, int kind) {
    const int64_t rows = t->shape[0], columns = t->shape[1], across = (columns - 1) / 5 + 1;
    float x[64], s[64];
    CHECK(ox_to_floats(t, x, rows * columns) == OX_OK);
    CHECK(ox_to_floats(scales, s, ox_numel(scales)) == OX_OK);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < columns; c++)
            x[r * columns + c] *= s[kind == 0 ? 0 : kind < 3 ? r : r / 3 * across + c / 5];
    return ox_cast(ox_from_floats(x, OX_SHAPE(rows, columns), OX_F32), OX_BF16);
}

static void test_f8(void) {
    static const char *const methods[] = {"fp8", "compressed-tensors"};
    static const char *const ends[] = {"_scale_inv", "_scale"};
    static char names[16][80];
    for (int kind = 0; kind < 4; kind++)
        OX_SCOPE {
            parts p = {{0}, {0}, 0};
            ox_tensor *want[16] = {NULL};
            const int way = kind % 2;
            add_layer(&p, false);
            const int count = p.count;
            for (int i = 2; i < 9; i++) { /* matrices of the layer */
                ox_tensor *t = p.tensors[i] = ox_cast(p.tensors[i], i % 2 ? OX_F8_E4M3 : OX_F8_E5M2);
                const int64_t rows = t->shape[0], down = (rows - 1) / 3 + 1,
                              across = (t->shape[1] - 1) / 5 + 1;
                ox_tensor *s = kind == 0   ? ox_rand(OX_SHAPE(1), OX_F32)
                               : kind == 1 ? ox_rand(OX_SHAPE(rows), OX_F32)
                               : kind == 2 ? ox_rand(OX_SHAPE(rows, 1), OX_F32)
                                           : ox_rand(OX_SHAPE(down, across), OX_F32);
                want[i] = scaled_by_hand(t, s, kind);
                snprintf(names[i], sizeof names[i], "%s%s", p.names[i], ends[way]);
                p.names[p.count] = names[i];
                p.tensors[p.count++] = s;
            }
            add(&p, "model.layers.0.self_attn.k_proj.input_scale", 0, 1); /* is passed over */
            const char *blocks = ",\"weight_block_size\":[3,5]";
#define CONFIG                                                                                            \
    "{\"model_type\":\"llama\",\"hidden_size\":8,\"intermediate_size\":6,\"num_hidden_layers\":1,"      \
    "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"rms_norm_eps\":1e-5,\"vocab_size\":10,"      \
    "\"max_position_embeddings\":64,\"quantization_config\":{\"quant_method\":\"%s\"%s}}"
            make_model_as(&p, CONFIG, methods[way], blocks);
            ox_file *file = convert(NULL);
            static const char *const made[] = {"attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"};
            for (int i = 4; file && i < 9; i++) {
                char name[64];
                snprintf(name, sizeof name, "blk.0.%s.weight", made[i - 4]);
                ox_tensor *got = ox_file_tensor(file, name);
                const bool same = got && got->dtype == OX_BF16 && ox_equal(got, want[i]);
                CHECK_MSG(same, "%s, scales %d", name, kind);
            }
            if (file) ox_file_close(file);
            /* scales that are missing, of another shape, or no floats */
            ox_tensor *kept = p.tensors[count];
            p.tensors[count] = ox_rand(OX_SHAPE(2, 2, 2), OX_F32);
            make_model_as(&p, CONFIG, methods[way], blocks);
            refuse(OX_ERR_FORMAT, "scales of another shape");
            p.tensors[count] = ox_cast(kept, OX_I32);
            make_model_as(&p, CONFIG, methods[way], blocks);
            refuse(OX_ERR_FORMAT, "scales that are no floats");
            p.names[count] = "model.layers.0.self_attn.v_proj.input_scale";
            make_model_as(&p, CONFIG, methods[way], blocks);
            refuse(OX_ERR_FORMAT, "no scales beside it");
#undef CONFIG
        }
}

/* ---- recurrent layers ---------------------------------------------------------------------------------- */

static void test_mamba(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "backbone.embeddings.weight", 10, 8);
        add(&p, "backbone.layers.0.norm.weight", 0, 8);
        add(&p, "backbone.layers.0.mixer.in_proj.weight", 32, 8);
        add_shape(&p, "backbone.layers.0.mixer.conv1d.weight", 16, 1, 4);
        add(&p, "backbone.layers.0.mixer.A_log", 16, 3);
        p.tensors[4] = ox_mul_number(ox_randn(OX_SHAPE(16, 3), OX_F32), 0.5);
        add(&p, "backbone.layers.0.mixer.D", 0, 16);
        add(&p, "backbone.norm_f.weight", 0, 8);
        ox_file *file = convert_as(
            &p, "{\"model_type\":\"mamba\",\"hidden_size\":8,\"num_hidden_layers\":1,\"state_size\":3,"
                "\"expand\":2,\"conv_kernel\":4,\"time_step_rank\":1,\"vocab_size\":10}");
        has_int(file, "mamba.ssm.inner_size", 16);
        has_int(file, "mamba.ssm.conv_kernel", 4);
        has_int(file, "mamba.attention.head_count", 0);
        has_float(file, "mamba.attention.layer_norm_rms_epsilon", 1e-5);
        has_no(file, "mamba.rope.freq_base");
        has_no(file, "mamba.attention.key_length");
        has_tensor(file, "blk.0.ssm_conv1d.weight", ox_squeeze(p.tensors[3], 1));
        has_tensor(file, "blk.0.ssm_a", ox_neg(ox_exp(p.tensors[4])));
        has_tensor(file, "blk.0.ssm_d", p.tensors[5]);
        ox_file_close(file);
        p.tensors[3] = ox_reshape(p.tensors[3], OX_SHAPE(16, 2, 2));
        make_model("{\"model_type\":\"mamba\",\"hidden_size\":8,\"num_hidden_layers\":1,\"state_size\":3,"
                   "\"expand\":2,\"conv_kernel\":4,\"time_step_rank\":1,\"vocab_size\":10}",
                   &p);
        refuse(OX_ERR_FORMAT, "mixer.conv1d.weight' is not [n, 1, m]");
    }
}

/* Layers with attention by their types, or by a list of them; rows of a stored tensor as a size. */
static void test_layers(void) {
    static const char *const lists[] = {"\"layer_types\":[\"conv\",\"full_attention\",\"conv\"]",
                                        "\"full_attn_idxs\":[1]"};
    static const int heads[3] = {0, 2, 0};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.feed_forward.w1.weight", 11, 8);
        add_shape(&p, "model.layers.0.conv.conv.weight", 8, 1, 3);
        add(&p, "model.embedding_norm.weight", 0, 8);
        for (int i = 0; i < 2; i++) {
            for (int k = 0; k < p.count && i; k++) p.names[k] += strlen("model."); /* without its head */
            ox_file *file =
                convert_as(&p,
                           "{\"model_type\":\"lfm2\",\"hidden_size\":8,\"num_hidden_layers\":3,"
                           "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"intermediate_size\":999,"
                           "\"norm_eps\":1e-5,\"vocab_size\":10,%s}",
                           lists[i]);
            CHECK(has_list(file, "lfm2.attention.head_count_kv", 3, heads));
            has_int(file, "lfm2.feed_forward_length", 11);
            has_int(file, "lfm2.shortconv.l_cache", 3);
            has_tensor(file, "blk.0.shortconv.conv.weight", ox_squeeze(p.tensors[2], 1));
            ox_file_close(file);
        }
    }
}

/* ---- facts --------------------------------------------------------------------------------------------- */

static ox_file *convert_config(const char *config) {
    parts p = {{0}, {0}, 0};
    add(&p, "model.embed_tokens.weight", 10, 8);
    make_model(config, &p);
    return convert(NULL);
}

static void test_facts(void) {
    static const int chunked[4] = {1, 0, 1, 1};
    OX_SCOPE {
        ox_file *file = convert_config(
            "{\"model_type\":\"llama4_text\",\"attention_chunk_size\":16,\"no_rope_layers\":[1,0,1,1],"
            "\"attn_temperature_tuning\":false,\"use_qk_norm\":false,\"intermediate_size_mlp\":9," SIZES "}");
        has_int(file, "llama4.attention.sliding_window", 16);
        CHECK(has_list(file, "llama4.attention.sliding_window_pattern", 4, chunked));
        CHECK(has_list(file, "llama4.attention.rope_pattern", 4, chunked));
        has_float(file, "llama4.attention.temperature_scale", 0);
        has_int(file, "llama4.feed_forward_length", 9);
        has_int(file, "llama4.use_qk_norm", 0);
        ox_file_close(file);
        file = convert_config("{\"model_type\":\"phimoe\",\"router_jitter_noise\":0.25," SIZES "}");
        has_float(file, "phimoe.router_jitter", 0.25);
        has_float(file, "phimoe.attention.layer_norm_epsilon", 1e-5);
        has_no(file, "phimoe.attention.layer_norm_rms_epsilon");
        ox_file_close(file);
        file = convert_config("{\"model_type\":\"qwen3_vl_moe_text\",\"sliding_window\":16,"
                              "\"num_experts\":2,\"num_experts_per_tok\":1," SIZES "}");
        has_no(file, "qwen3vlmoe.attention.sliding_window");
        ox_file_close(file);
        file = convert_config("{\"model_type\":\"ernie4_5\",\"use_bias\":true," SIZES "}");
        has_int(file, "ernie4_5.use_bias", 1);
        ox_file_close(file);
        file = convert_config("{\"model_type\":\"granitemoehybrid\",\"position_embedding_type\":\"nope\","
                              "\"mamba_n_heads\":2,\"mamba_expand\":2,\"mamba_d_state\":4," SIZES "}");
        has_int(file, "granitehybrid.rope.scaling.finetuned", 0);
        has_int(file, "granitehybrid.ssm.inner_size", 16);
        ox_file_close(file);
        file = convert_config("{\"model_type\":\"granitemoehybrid\",\"position_embedding_type\":\"rope\","
                              "\"mamba_n_heads\":2,\"mamba_expand\":2,\"mamba_d_state\":4," SIZES "}");
        has_int(file, "granitehybrid.rope.scaling.finetuned", 1);
        ox_file_close(file);
    }
}

/* Options whose default is not what a file without the fact is computed with. */
static void test_options(void) {
    static const struct {
        const char *config, *key;
        double value;
    } options[] = {
        {"gemma2\",\"attn_logit_softcapping\":null,\"query_pre_attn_scalar\":4",
         "gemma2.attn_logit_softcapping", 0},
        {"gemma2\",\"final_logit_softcapping\":null", "gemma2.final_logit_softcapping", 0},
        {"gemma2\",\"final_logit_softcapping\":7.5", "gemma2.final_logit_softcapping", 7.5},
        {"gpt2\",\"scale_attn_weights\":false,\"layer_norm_epsilon\":1e-5", "gpt2.attention.scale", 1},
        {"gpt2\",\"scale_attn_weights\":true,\"layer_norm_epsilon\":1e-5", "gpt2.attention.scale", 0},
        {"mpt\",\"attn_config\":{\"softmax_scale\":0.25}", "mpt.attention.scale", 0.25},
        {"biogpt\",\"scale_embedding\":false", "opt.embedding_scale", 0},
        {"solar_open\",\"first_k_dense_replace\":2", "glm4moe.leading_dense_block_count", 0},
        {"phimoe\",\"num_experts_per_tok\":4", "phimoe.expert_used_count", 2}, /* its router has no more */
        {"deepseek_v3\",\"kv_lora_rank\":4,\"qk_nope_head_dim\":2,\"qk_rope_head_dim\":2,\"v_head_dim\":2,"
         "\"num_experts\":256,\"n_routed_experts\":3",
         "deepseek2.expert_count", 3},
        {"biogpt\",\"x\":0", "opt.embedding_scale", 2.8284271247461903},
        {"biogpt\",\"layer_norm_eps\":0.5", "opt.attention.layer_norm_epsilon", 1e-5},
        {"minicpm3\",\"scale_emb\":1,\"scale_depth\":1,\"dim_model_base\":8,\"kv_lora_rank\":4,"
         "\"qk_nope_head_dim\":2,\"qk_rope_head_dim\":2",
         "minicpm3.attention.latent_norm_epsilon", 1e-6},
    };
    static const struct {
        const char *config, *words;
    } refused[] = {
        {"bloom\",\"apply_residual_connection_post_layernorm\":true", "post_layernorm is 1"},
        {"opt\",\"_remove_final_layer_norm\":true,\"do_layer_norm_before\":true", "_remove_final_layer_norm"},
        {"laguna\",\"moe_router_logit_softcapping\":3.0", "moe_router_logit_softcapping is 3"},
        {"mamba2\",\"hidden_act\":\"gelu\"", "hidden_act is 'gelu'"},
        {"mamba2\",\"time_step_limit\":[0.0,2.5]", "time_step_limit"},
        {"gemma3_text\",\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":\"llama3\"}}",
         "'llama3' of sliding_attention"},
    };
    char config[700];
    OX_SCOPE {
        for (size_t i = 0; i < sizeof options / sizeof *options; i++)
            OX_SCOPE {
                snprintf(config, sizeof config, "{\"model_type\":\"%s," SIZES "}", options[i].config);
                parts one = {{0}, {0}, 0};
                const bool wte = strncmp(options[i].config, "gpt2", 4) == 0 || options[i].config[0] == 'm';
                const bool plain = strncmp(options[i].config, "minicpm3", 8) == 0 || !wte;
                add(&one, plain ? "model.embed_tokens.weight" : "transformer.wte.weight", 10, 8);
                make_model(config, &one);
                ox_file *file = convert(NULL);
                has_float(file, options[i].key, options[i].value);
                ox_file_close(file);
            }
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
            make_model_as(&p, "{\"model_type\":\"%s," SIZES "}", refused[i].config);
            refuse(OX_ERR_UNSUPPORTED, refused[i].words);
        }
        /* experts of all layers' windows, and their shares as they are */
        ox_file *file = convert_config("{\"model_type\":\"qwen3_moe\",\"use_sliding_window\":true,"
                                       "\"sliding_window\":5,\"norm_topk_prob\":false," SIZES "}");
        static const int all[4] = {1, 1, 1, 1};
        CHECK(has_list(file, "qwen3moe.attention.sliding_window_pattern", 4, all));
        has_int(file, "qwen3moe.expert_weights_plain", 1);
        ox_file_close(file);
        /* a bias that the model would not read */
        add(&p, "model.layers.0.mamba.conv1d.bias", 0, 6);
        for (int said = 0; said < 2; said++) {
            file = convert_as(&p,
                              "{\"model_type\":\"granitemoehybrid\",\"mamba_n_heads\":2,\"mamba_expand\":2,"
                              "\"mamba_d_state\":4,\"mamba_conv_bias\":%s," SIZES "}",
                              said ? "true" : "null");
            has_tensor(file, "blk.0.ssm_conv1d.bias", said ? p.tensors[1] : ox_zeros_like(p.tensors[1]));
            ox_file_close(file);
        }
        p.count = 1;
        /* the bias of a head stays where its matrix is the embedding */
        add(&p, "lm_head.weight", 10, 8);
        add(&p, "lm_head.bias", 0, 10);
        file = convert_as(
            &p, "{\"model_type\":\"phi\",\"tie_word_embeddings\":true,\"layer_norm_eps\":1e-5," SIZES "}");
        has_tensor(file, "output.bias", p.tensors[2]);
        CHECK(!ox_file_has(file, "output.weight"));
        ox_file_close(file);
    }
}

static void test_t5(void) {
    static const struct {
        const char *config;
        double scale; /* of logits; -77: there is none */
    } scales[] = {{"\"tie_word_embeddings\":true", 0.5},
                  {"\"tie_word_embeddings\":false", -77},
                  {"\"scale_decoder_outputs\":false,\"tie_word_embeddings\":true", -77},
                  {"\"dropout_rate\":0", 0.5}};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "shared.weight", 10, 4);
        add(&p, "encoder.block.0.layer.0.SelfAttention.q.weight", 6, 4);
        add(&p, "encoder.block.0.layer.1.layer_norm.weight", 0, 4);
        add(&p, "decoder.block.0.layer.1.layer_norm.weight", 0, 4);
        add(&p, "lm_head.weight", 10, 4);
        for (int i = 0; i < 4; i++) {
            ox_file *file = convert_as(
                &p,
                "{\"model_type\":\"t5\",\"d_model\":4,\"d_kv\":3,\"d_ff\":5,\"num_layers\":1,\"num_heads\":2,"
                "\"vocab_size\":10,\"relative_attention_max_distance\":40,%s}",
                scales[i].config);
            has_text(file, "general.architecture", "t5");
            has_float(file, "t5.logit_scale", scales[i].scale);
            has_int(file, "t5.attention.relative_max_distance", 40);
            has_tensor(file, "enc.blk.0.ffn_norm.weight", p.tensors[2]);
            has_tensor(file, "dec.blk.0.cross_attn_norm.weight", p.tensors[3]);
            has_tensor(file, "output.weight", p.tensors[4]);
            ox_file_close(file);
        }
        ox_file *file = convert_as(
            &p, "{\"model_type\":\"t5\",\"architectures\":[\"T5EncoderModel\"],\"d_model\":4,\"d_kv\":3,"
                "\"d_ff\":5,\"num_layers\":1,\"num_heads\":2,\"vocab_size\":10}");
        has_text(file, "general.architecture", "t5encoder");
        has_int(file, "t5encoder.attention.key_length", 3);
        ox_file_close(file);
    }
}

/* A feed-forward beside experts is a plain one where there are none. */
static void test_routed(void) {
    char config[500];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.shared_mlp.input_linear.weight", 10, 8);
        add(&p, "model.layers.0.shared_mlp.output_linear.weight", 8, 5);
        add(&p, "model.layers.0.block_sparse_moe.router.layer.weight", 2, 8);
        for (int experts = 2; experts >= 0; experts -= 2) {
            snprintf(config, sizeof config,
                     "{\"model_type\":\"granitemoehybrid\",\"num_local_experts\":%d,\"mamba_n_heads\":2,"
                     "\"mamba_expand\":2,\"mamba_d_state\":4,\"shared_intermediate_size\":5," SIZES "}",
                     experts);
            if (!experts) p.count--;
            make_model(config, &p);
            ox_file *file = convert(NULL);
            has_int(file, "granitehybrid.feed_forward_length", experts ? 6 : 5);
            ox_tensor *first = ox_narrow(p.tensors[1], 0, 0, 5), *second = ox_narrow(p.tensors[1], 0, 5, 5);
            has_tensor(file, experts ? "blk.0.ffn_gate_shexp.weight" : "blk.0.ffn_gate.weight", first);
            has_tensor(file, experts ? "blk.0.ffn_up_shexp.weight" : "blk.0.ffn_up.weight", second);
            has_tensor(file, experts ? "blk.0.ffn_down_shexp.weight" : "blk.0.ffn_down.weight", p.tensors[2]);
            ox_file_close(file);
        }
    }
}

/* What transformers has defaults for may be left out, as in the text_config of models that see images, and a
 * window that is null is none. */
static void test_left_out(void) {
    static const char config[] =
        "{\"model_type\":\"%s\",\"hidden_size\":8,\"intermediate_size\":6,\"num_hidden_layers\":6,"
        "\"vocab_size\":10%s}";
    static const struct {
        const char *type, *more, *name;
        int heads, kv_heads, size, window;
    } cases[] = {{"gemma3_text", "", "gemma3", 8, 4, 256, 4096},
                 {"gemma3_text", ",\"sliding_window\":512,\"head_dim\":4", "gemma3", 8, 4, 4, 512},
                 {"gemma2", "", "gemma2", 8, 4, 256, 4096},
                 {"cohere2", ",\"num_attention_heads\":2,\"layer_norm_eps\":1e-5", "cohere2", 2, 2, 4, 4096},
                 {"cohere2", ",\"num_attention_heads\":2,\"layer_norm_eps\":1e-5,\"sliding_window\":null",
                  "cohere2", 2, 2, 4, 0}};
    char key[80], text[400];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            snprintf(text, sizeof text, config, cases[i].type, cases[i].more);
            make_model(text, &p);
            ox_file *file = convert(NULL);
            snprintf(key, sizeof key, "%s.attention.head_count", cases[i].name);
            has_int(file, key, cases[i].heads);
            snprintf(key, sizeof key, "%s.attention.head_count_kv", cases[i].name);
            has_int(file, key, cases[i].kv_heads);
            snprintf(key, sizeof key, "%s.attention.key_length", cases[i].name);
            has_int(file, key, cases[i].size);
            snprintf(key, sizeof key, "%s.attention.sliding_window", cases[i].name);
            if (cases[i].window) has_int(file, key, cases[i].window);
            else has_no(file, key);
            ox_file_close(file);
        }
    }
}

/* null is no, where what is left out would be yes. */
static void test_null_bools(void) {
    static const struct {
        const char *type, *embedding, *more, *key;
        int value; /* -77 = there is none */
    } cases[] = {
        {"falcon", "transformer.word_embeddings", ",\"parallel_attn\":null", "falcon.sequential_residual",
         1},
        {"falcon", "transformer.word_embeddings", "", "falcon.sequential_residual", -77},
        {"exaone_moe", "model.embed_tokens", ",\"norm_topk_prob\":null", "exaone-moe.expert_weights_norm",
         0},
        {"exaone_moe", "model.embed_tokens", "", "exaone-moe.expert_weights_norm", 1},
        {"mellum", "model.embed_tokens", ",\"norm_topk_prob\":null", "mellum.expert_weights_plain", 1}};
    char name[64];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "", 10, 8);
        p.names[0] = name;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            snprintf(name, sizeof name, "%s.weight", cases[i].embedding);
            ox_file *file =
                convert_as(&p, "{\"model_type\":\"%s\"," SIZES "%s}", cases[i].type, cases[i].more);
            has_int(file, cases[i].key, cases[i].value);
            ox_file_close(file);
        }
    }
}

/* What models with latent keys and values must tell, and how many experts there are. */
#define MLA                                                                                                  \
    ",\"kv_lora_rank\":4,\"q_lora_rank\":4,\"qk_nope_head_dim\":2,\"qk_rope_head_dim\":2,"                   \
    "\"v_head_dim\":2,\"n_routed_experts\":16,\"num_experts\":16"
#define STRETCHED                                                      \
    ",\"max_position_embeddings\":64,\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4," \
    "\"original_max_position_embeddings\":16"

/* What transformers' classes have where config.json says nothing. */
static const struct {
    const char *type, *more, *key;
    double value; /* -1 = there is none */
} class_defaults[] = {
    {"llama", "", "llama.attention.layer_norm_rms_epsilon", 1e-6},
    {"glm4", "", "glm4.attention.layer_norm_rms_epsilon", 1.5625e-7},
    {"glm4", "", "glm4.attention.head_count_kv", 2},
    {"glm4_moe", "", "glm4moe.expert_used_count", 8},
    {"laguna", "", "laguna.expert_used_count", 8},
    {"mellum", "", "mellum.expert_used_count", 8},
    {"minimax_m2", "", "minimax-m2.expert_used_count", 8},
    {"qwen3_moe", "", "qwen3moe.expert_used_count", 8},
    {"jetmoe", "", "jetmoe.expert_used_count", 2},
    {"qwen3_next", "", "qwen3next.expert_used_count", 10},
    {"mixtral", "", "llama.attention.head_count_kv", 8},
    {"mixtral", ",\"num_key_value_heads\":null", "llama.attention.head_count_kv", 2},
    {"phimoe", "", "phimoe.expert_count", 16},
    {"qwen2_moe", "", "qwen2moe.expert_shared_feed_forward_length", 5632},
    {"dots1", ",\"n_group\":2", "dots1.expert_group_used_count", 1},
    {"dots1", ",\"sliding_window\":4", "dots1.attention.sliding_window", -1},
    {"dots1", ",\"sliding_window\":4,\"max_window_layers\":2", "dots1.attention.sliding_window", 4},
    {"nemotron_h", ",\"n_group\":2,\"hybrid_override_pattern\":\"MEM*M-\"",
     "nemotron_h_moe.expert_group_used_count", 1},
    {"modernbert", "", "modern-bert.attention.sliding_window", 128},
    {"gpt_oss", "", "gpt-oss.rope.scaling.factor", 32},
    {"gpt_oss", "", "gpt-oss.rope.freq_base", 150000},
    {"gpt_oss", ",\"rope_theta\":1000", "gpt-oss.rope.freq_base", 1000},
    {"gpt_oss", ",\"rope_theta\":1000", "gpt-oss.rope.scaling.factor", -1},
    {"helium", ",\"rope_parameters\":null", "llama.rope.freq_base", 100000},
    {"vaultgemma", "", "vaultgemma.attn_logit_softcapping", 50},
    {"vaultgemma", ",\"attn_logit_softcapping\":null", "vaultgemma.attn_logit_softcapping", -1},
    {"aria_text", "", "granitemoe.attention.scale", -1},
    {"granite", "", "granite.attention.scale", 1},
    {"mistral4", MLA, "mistral4.rope.scaling.factor", 128},
    {"mistral4", MLA ",\"rope_parameters\":null", "mistral4.attention.temperature_scale", 0.1},
    {"mistral4", MLA ",\"rope_theta\":1000", "mistral4.rope.scaling.factor", -1},
    {"mistral4", MLA, "mistral4.expert_used_count", 4},
    {"mistral4", MLA ",\"n_group\":2", "mistral4.expert_group_used_count", 1},
    {"exaone_moe", "", "exaone-moe.expert_used_count", 8},
    {"glm4_moe", ",\"n_group\":2", "glm4moe.expert_group_used_count", 1},
    {"deepseek_v3", MLA, "deepseek2.expert_group_count", 8},
    {"deepseek_v3", MLA ",\"n_group\":2", "deepseek2.expert_group_count", 2},
    {"deepseek_v32", MLA, "deepseek32.expert_group_used_count", 4},
    {"deepseek_v32", MLA, "deepseek32.leading_dense_block_count", 3},
    {"deepseek_v32", MLA ",\"first_k_dense_replace\":1", "deepseek32.leading_dense_block_count", 1},
    {"deepseek_v32", MLA ",\"mlp_layer_types\":[\"sparse\"]", "deepseek32.leading_dense_block_count", 0},
    {"glm_moe_dsa", MLA, "glm-dsa.leading_dense_block_count", 3},
    {"deepseek_v4", "", "deepseek4.hash_layer_count", 3},
    {"deepseek_v4", ",\"num_hash_layers\":1", "deepseek4.hash_layer_count", 1},
    {"deepseek_v4", ",\"mlp_layer_types\":[\"hash_moe\",\"hash_moe\",\"moe\"]",
     "deepseek4.hash_layer_count", 2},
    {"deepseek_v4", "", "deepseek4.expert_gating_func", 4},
    {"deepseek_v4", ",\"scoring_func\":\"sigmoid\"", "deepseek4.expert_gating_func", 2},
    {"deepseek_v4", "", "deepseek4.attention.compress_rope_freq_base", 160000},
    {"deepseek_v4", ",\"qk_rope_head_dim\":2", "deepseek4.rope.dimension_count", 2},
    {"deepseek_v4", STRETCHED "}", "deepseek4.rope.scaling.factor", 4},
    {"deepseek_v4", STRETCHED "}", "deepseek4.rope.scaling.attn_factor", -1},
    {"deepseek_v4", STRETCHED ",\"attention_factor\":1.5}", "deepseek4.rope.scaling.attn_factor", 1.5},
    {"deepseek_v4", ",\"compress_ratios\":[0,0,4,128,4,128]", "deepseek4.attention.compress_overlaps", -1},
    {"deepseek_v4", "", "deepseek4.swiglu_clamp_exp", 10}};

static void test_defaults(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (size_t i = 0; i < sizeof class_defaults / sizeof *class_defaults; i++) {
            const bool modern = strcmp(class_defaults[i].type, "modernbert") == 0,
                       mamba = strcmp(class_defaults[i].type, "nemotron_h") == 0;
            p.names[0] = modern  ? "embeddings.tok_embeddings.weight"
                         : mamba ? "backbone.embeddings.weight"
                                 : "model.embed_tokens.weight";
            ox_file *file = convert_as(
                &p,
                "{\"model_type\":\"%s\",\"hidden_size\":8,\"intermediate_size\":6,\"num_hidden_layers\":6,"
                "\"num_attention_heads\":2,\"vocab_size\":10,\"head_dim\":4%s}",
                class_defaults[i].type, class_defaults[i].more);
            if (class_defaults[i].value < 0)
                has_no(file, class_defaults[i].key);
            else
                has_float(file, class_defaults[i].key, class_defaults[i].value);
            ox_file_close(file);
        }
        p.names[0] = "model.embed_tokens.weight";
        for (int given = 0; given < 2; given++) {
            ox_file *file = convert_as(&p, "{\"model_type\":\"glm4_moe\",%s" SIZES "}",
                                       given ? "\"norm_topk_prob\":false," : "");
            has_int(file, "glm4moe.expert_weights_norm", !given);
            ox_file_close(file);
        }
    }
}

/* Sizes that only transformers' class tells; null is none. */
static void test_class_sizes(void) {
    static const struct {
        const char *more, *key;
        int value;
    } facts[] = {{"", "qwen3.block_count", 32},
                 {"", "qwen3.feed_forward_length", 22016},
                 {"", "qwen3.attention.head_count", 32},
                 {"", "qwen3.attention.head_count_kv", 32},
                 {"", "qwen3.attention.key_length", 128},
                 {",\"num_attention_heads\":2", "qwen3.attention.key_length", 128},
                 {",\"num_attention_heads\":2,\"head_dim\":null", "qwen3.attention.key_length", 4},
                 {",\"num_key_value_heads\":null", "qwen3.attention.head_count_kv", 32},
                 {",\"num_hidden_layers\":3,\"num_key_value_heads\":1", "qwen3.attention.head_count_kv", 1},
                 {",\"num_hidden_layers\":3", "qwen3.block_count", 3}};
    static const int sliding[] = {1, 0, 1}, recurrent[] = {0, 1, 0};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
            ox_file *file = convert_as(&p, "{\"model_type\":\"qwen3\",\"hidden_size\":8,\"vocab_size\":10%s}",
                                       facts[i].more);
            has_int(file, facts[i].key, facts[i].value);
            ox_file_close(file);
        }
        ox_file *file = convert_as(&p,
                                   "{\"model_type\":\"minimax\",\"hidden_size\":8,\"vocab_size\":10,"
                                   "\"num_hidden_layers\":3,\"sliding_window\":%s}",
                                   "4");
        CHECK(has_list(file, "minimax-01.attention.sliding_window_pattern", 3, sliding));
        CHECK(has_list(file, "minimax-01.attention.recurrent_layers", 3, recurrent));
        ox_file_close(file);
    }
}

static double most_apart(const float *a, const float *b) {
    double most = 0;
    for (int i = 0; i < 10; i++) most = check_worst(most, fabs((double)a[i] - b[i]));
    return most;
}

/* A folder's activation is the one that is computed with; one of no known name is refused. */
static void test_activation(void) {
    static const char *const names[] = {"silu", "swish",      "gelu",      "gelu_new",
                                        "relu", "quick_gelu", "squareplus"};
    float logits[7][10];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        ox_manual_seed(3);
        add_layer(&p, false);
        for (int i = 0; i < 7; i++) {
            make_model_as(
                &p,
                "{\"model_type\":\"llama\",\"hidden_act\":\"%s\",\"hidden_size\":8,\"intermediate_size\":6,"
                "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
                "\"vocab_size\":10,\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5}",
                names[i]);
            ox_llm *model = ox_llm_open(folder, NULL);
            if (i == 6) {
                CHECK_MSG(!model && ox_error() == OX_ERR_UNSUPPORTED && strstr(ox_error_text(), "squareplus"),
                          "%s", ox_error_text());
                ox_error_clear();
                continue;
            }
            const int32_t ids[2] = {3, 7};
            ox_llm_context *context = ox_llm_context_open(model, NULL);
            CHECK_MSG(ox_llm_decode(context, ids, 2, logits[i]) == OX_OK, "%s", ox_error_text());
            ox_llm_context_close(context);
            ox_llm_close(model);
        }
    }
    CHECK(memcmp(logits[0], logits[1], sizeof logits[0]) == 0);
    for (int i = 2; i < 6; i++) {
        const double apart = most_apart(logits[i], logits[i - 1]);
        CHECK_MSG(apart > 1e-4, "%s and %s are %g apart", names[i], names[i - 1], apart);
    }
}

/* Factors of the rope are of the layers without a window alone. */
static void test_window_rope(void) {
    static const char *const kinds[] = {"sliding", "full"};
    float logits[2][2][10];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        ox_manual_seed(5);
        add_layer(&p, true);
        for (int i = 0; i < 4; i++) {
            make_model_as(
                &p,
                "{\"model_type\":\"gemma3_text\",\"hidden_size\":8,\"intermediate_size\":6,\"head_dim\":4,"
                "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":1,"
                "\"vocab_size\":10,\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5,"
                "\"query_pre_attn_scalar\":4,\"sliding_window\":4,\"layer_types\":[\"%s_attention\"],"
                "\"rope_parameters\":{\"sliding_attention\":{\"rope_theta\":100},\"full_attention\":"
                "{\"rope_theta\":100,\"rope_type\":\"%s\",\"factor\":8,\"low_freq_factor\":1,"
                "\"high_freq_factor\":4,\"original_max_position_embeddings\":8}}}",
                kinds[i / 2], i % 2 ? "llama3" : "default");
            ox_llm *model = ox_llm_open(folder, NULL);
            const int32_t ids[3] = {3, 7, 1};
            ox_llm_context *context = ox_llm_context_open(model, NULL);
            CHECK_MSG(ox_llm_decode(context, ids, 3, logits[i / 2][i % 2]) == OX_OK, "%s", ox_error_text());
            ox_llm_context_close(context);
            ox_llm_close(model);
        }
    }
    CHECK(memcmp(logits[0][0], logits[0][1], sizeof logits[0][0]) == 0);
    CHECK(memcmp(logits[1][0], logits[1][1], sizeof logits[1][0]) != 0);
}

/* ---- scaling of the rope ------------------------------------------------------------------------------- */

#define LLAMA                                                                                      \
    "\"hidden_size\":8,\"intermediate_size\":6,\"num_hidden_layers\":1,\"num_attention_heads\":2," \
    "\"num_key_value_heads\":1,\"vocab_size\":10,\"rms_norm_eps\":1e-5"
#define LISTS "\"short_factor\":[1,1.5],\"long_factor\":[2,4]"

static void test_scaling_facts(void) {
    static const struct {
        const char *config, *key;
        double value; /* NAN: there is none */
    } facts[] = {
        /* sqrt(1 + log 2 / log 8): the factor counts before 64 / 8 */
        {"llama\",\"max_position_embeddings\":64,\"rope_parameters\":{\"rope_type\":\"longrope\",\"factor\":"
         "2,"
         "\"original_max_position_embeddings\":8," LISTS "}",
         "llama.rope.scaling.attn_factor", 1.1547005383792515},
        {"llama\",\"max_position_embeddings\":64,\"rope_parameters\":{\"rope_type\":\"longrope\","
         "\"original_max_position_embeddings\":8,\"long_mscale\":3," LISTS "}",
         "llama.rope.scaling.attn_factor", 1.4142135623730951},
        {"phimoe\",\"max_position_embeddings\":64,\"rope_scaling\":{\"type\":\"longrope\",\"short_mscale\":1."
         "25,"
         "\"long_mscale\":1.5,\"original_max_position_embeddings\":8," LISTS "}",
         "phimoe.rope.scaling.attn_factor", 1.25},
        {"phimoe\",\"max_position_embeddings\":64,\"rope_scaling\":{\"type\":\"longrope\",\"short_mscale\":1."
         "25,"
         "\"long_mscale\":1.5,\"original_max_position_embeddings\":8," LISTS "}",
         "phimoe.rope.scaling.attn_factor_long", 1.5},
        {"llama\",\"max_position_embeddings\":64,\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":null,"
         "\"original_max_position_embeddings\":16}",
         "llama.rope.scaling.factor", 4},
        {"llama\",\"max_position_embeddings\":64,\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,"
         "\"mscale_all_dim\":1}",
         "llama.rope.scaling.yarn_log_multiplier", NAN},
        /* over 1 + 0.1 log 4 */
        {"llama\",\"max_position_embeddings\":64,\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,"
         "\"attention_factor\":1.0,\"original_max_position_embeddings\":16}",
         "llama.rope.scaling.attn_factor", 0.8782488562869419},
        {"mistral4\",\"kv_lora_rank\":4,\"qk_nope_head_dim\":2,\"qk_rope_head_dim\":2,\"v_head_dim\":2,"
         "\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,\"mscale\":1,\"mscale_all_dim\":1,"
         "\"original_max_position_embeddings\":16}",
         "mistral4.rope.scaling.attn_factor", 0.8782488562869419},
        {"mistral4\",\"kv_lora_rank\":4,\"qk_nope_head_dim\":2,\"qk_rope_head_dim\":2,\"v_head_dim\":2,"
         "\"rope_parameters\":{\"rope_type\":\"yarn\",\"factor\":4,\"attention_factor\":1.5,"
         "\"original_max_position_embeddings\":16}",
         "mistral4.rope.scaling.yarn_attn_factor", 1.317373284430413},
        {"llama\",\"max_position_embeddings\":64,\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":4}",
         "llama.rope.scaling.dynamic_factor", 4},
        /* 100 * 25^(4 / 2) */
        {"hunyuan_v1_dense\",\"rope_theta\":100,\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":1,"
         "\"alpha\":25}",
         "hunyuan-dense.rope.freq_base", 62500},
        {"hunyuan_v1_dense\",\"rope_theta\":100,\"rope_scaling\":{\"type\":\"dynamic\",\"factor\":1,"
         "\"alpha\":25}",
         "hunyuan-dense.rope.scaling.dynamic_factor", NAN},
        {"hunyuan_v1_dense\",\"rope_theta\":100", "hunyuan-dense.rope.freq_base", 100},
    };
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
            ox_file *file = convert_as(&p, "{\"model_type\":\"%s," LLAMA "}", facts[i].config);
            if (isnan(facts[i].value))
                has_no(file, facts[i].key);
            else
                has_float(file, facts[i].key, facts[i].value);
            ox_file_close(file);
        }
    }
}

/* The logits behind tokens that are run at once, with this rope and 4 positions to begin with. */
static void scaled_logits(const char *type, const char *rope, const parts *p, int64_t count, float *logits) {
    static const int32_t ids[6] = {3, 7, 1, 9, 4, 2};
    char config[900];
    snprintf(config, sizeof config,
             "{\"model_type\":\"%s\",\"num_local_experts\":2,\"num_experts_per_tok\":2,\"max_position_"
             "embeddings\":4,\"rope_parameters\":{%s}," LLAMA "}",
             type, rope);
    make_model(config, p);
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.capacity = 8;
    ox_llm *model = ox_llm_open(folder, NULL);
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    CHECK_MSG(ox_llm_decode(context, ids, count, logits) == OX_OK, "%s", ox_error_text());
    ox_llm_context_close(context);
    ox_llm_close(model);
}

/* Six tokens where there are four positions: the base is 100 (1 + 4 (6 / 4 - 1))^(4 / 2). */
static void test_growing_base(void) {
    static const char *const growing = "\"rope_theta\":100,\"rope_type\":\"dynamic\",\"factor\":4";
    float grown[10], same[10], plain[10], near[10];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        ox_manual_seed(5);
        add_layer(&p, false);
        add(&p, "lm_head.weight", 10, 8);
        p.tensors[p.count - 1] = ox_randn(OX_SHAPE(10, 8), OX_F32);
        scaled_logits("llama", growing, &p, 6, grown);
        scaled_logits("llama", "\"rope_theta\":900,\"rope_type\":\"default\"", &p, 6, same);
        scaled_logits("llama", "\"rope_theta\":100,\"rope_type\":\"default\"", &p, 6, plain);
        CHECK(most_apart(grown, same) < 1e-5);
        CHECK(most_apart(grown, plain) > 1e-3);
        scaled_logits("llama", growing, &p, 4, near);
        scaled_logits("llama", "\"rope_theta\":100,\"rope_type\":\"default\"", &p, 4, plain);
        CHECK(most_apart(near, plain) == 0);
    }
}

/* Phi-3.5-MoE's magnitudes of six tokens, and of four. */
static void test_two_magnitudes(void) {
    static const char *const names[] = {"self_attn.q_proj.weight",
                                        "self_attn.k_proj.weight",
                                        "self_attn.v_proj.weight",
                                        "self_attn.o_proj.weight",
                                        "block_sparse_moe.gate.weight",
                                        "block_sparse_moe.experts.0.w1.weight",
                                        "block_sparse_moe.experts.0.w2.weight",
                                        "block_sparse_moe.experts.0.w3.weight",
                                        "block_sparse_moe.experts.1.w1.weight",
                                        "block_sparse_moe.experts.1.w2.weight",
                                        "block_sparse_moe.experts.1.w3.weight",
                                        "input_layernorm.weight",
                                        "input_layernorm.bias",
                                        "post_attention_layernorm.weight",
                                        "post_attention_layernorm.bias"};
    static const int rows[] = {8, 4, 4, 8, 2, 6, 8, 6, 6, 8, 6, 0, 0, 0, 0},
                     columns[] = {8, 8, 8, 8, 8, 8, 6, 8, 8, 6, 8, 8, 8, 8, 8};
    static const char *const scales[] = {"1.25", "2.5", "1.25", "1.25", "2.5", "2.5"};
    float logits[3][2][10];
    char tensors[15][64], rope[300];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        ox_manual_seed(5);
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.norm.weight", 0, 8);
        add(&p, "model.norm.bias", 0, 8);
        for (int i = 0; i < 15; i++) {
            snprintf(tensors[i], sizeof tensors[i], "model.layers.0.%s", names[i]);
            add(&p, tensors[i], rows[i], columns[i]);
        }
        add(&p, "lm_head.weight", 10, 8);
        for (int i = 0; i < p.count; i++) p.tensors[i] = ox_randn(ox_shape_of(p.tensors[i]), OX_F32);
        for (int i = 0; i < 3; i++) {
            snprintf(rope, sizeof rope,
                     "\"rope_type\":\"longrope\",\"original_max_position_embeddings\":4,"
                     "\"short_mscale\":%s,\"long_mscale\":%s," LISTS,
                     scales[2 * i], scales[2 * i + 1]);
            scaled_logits("phimoe", rope, &p, 4, logits[i][0]);
            scaled_logits("phimoe", rope, &p, 6, logits[i][1]);
        }
    }
    CHECK(memcmp(logits[0][0], logits[1][0], sizeof logits[0][0]) == 0);
    CHECK(memcmp(logits[0][1], logits[2][1], sizeof logits[0][1]) == 0);
    CHECK(most_apart(logits[0][0], logits[2][0]) > 1e-3);
    CHECK(most_apart(logits[0][1], logits[1][1]) > 1e-3);
}

/* ---- Gemma 3n and 4, Apertus --------------------------------------------------------------------------- */

static void has_floats(const ox_file *file, const char *key, int count, const double *values) {
    const ox_file_meta list = ox_file_meta_find(file, key);
    CHECK_MSG(list.type == OX_FILE_META_ARRAY && list.count == count, "%s is missing", key);
    for (int i = 0; i < count && list.type == OX_FILE_META_ARRAY; i++) {
        const double got = ox_file_meta_element(file, &list, i).f;
        CHECK_MSG(got == values[i] || fabs(got - values[i]) < 1e-5, "%s: %g, not %g", key, got, values[i]);
    }
}

/* Gemma 4's last layer has no window, whatever is told. */
static void test_last_layer(void) {
    static const int windows[] = {1, 1, 1, 0};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (int told = 0; told < 2; told++) {
            ox_file *file =
                convert_as(&p, "{\"model_type\":\"gemma4_text\",\"hidden_size\":8,\"intermediate_size\":6,"
                               "\"num_hidden_layers\":4,\"num_attention_heads\":2,\"vocab_size\":10,"
                               "\"head_dim\":4,\"global_head_dim\":4%s}",
                           told ? ",\"layer_types\":[\"sliding_attention\",\"sliding_attention\","
                                  "\"sliding_attention\",\"sliding_attention\"]"
                                : "");
            CHECK(has_list(file, "gemma4.attention.sliding_window_pattern", 4, windows));
            ox_file_close(file);
        }
    }
}

/* Heads and widths that differ by layer; rope over a part of the larger heads; experts. */
static void test_gemma4(void) {
    static const char config[] =
        "{\"model_type\":\"gemma4\",\"text_config\":{\"model_type\":\"gemma4_text\",\"head_dim\":4,"
        "\"global_head_dim\":8,\"attention_k_eq_v\":true,\"num_global_key_value_heads\":2,"
        "\"use_double_wide_mlp\":true,\"num_kv_shared_layers\":1,\"sliding_window\":4,\"layer_types\":["
        "\"sliding_attention\",\"full_attention\",\"sliding_attention\",\"full_attention\"],"
        "\"enable_moe_block\":%s,\"num_experts\":2,\"top_k_experts\":1,\"moe_intermediate_size\":2,"
        "\"rope_parameters\":{\"full_attention\":{\"rope_type\":\"proportional\",\"factor\":2.0,"
        "\"partial_rotary_factor\":%s,\"rope_theta\":7.0},\"sliding_attention\":{\"rope_type\":\"default\","
        "\"rope_theta\":3.0}}," SIZES "}}";
    static const int heads[] = {1, 2, 1, 2}, hidden[] = {6, 6, 6, 12}, sliding[] = {1, 0, 1, 0};
    static const float factors[] = {2, 2, 1e30f, 1e30f};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.language_model.embed_tokens.weight", 10, 8);
        add(&p, "model.language_model.layers.0.router.scale", 0, 8);
        add(&p, "model.language_model.layers.0.router.per_expert_scale", 0, 2);
        add(&p, "model.language_model.layers.0.layer_scalar", 0, 1);
        add_shape(&p, "model.language_model.layers.0.experts.gate_up_proj", 2, 4, 8);
        add(&p, "model.language_model.layers.0.post_feedforward_layernorm_1.weight", 0, 8);
        add(&p, "model.vision_tower.encoder.layers.0.weight", 2, 2);
        add(&p, "model.embed_vision.weight", 2, 2);
        for (int routed = 0; routed < 2; routed++) {
            ox_file *file = convert_as(&p, config, routed ? "true" : "false", "0.5");
            CHECK(has_list(file, "gemma4.attention.head_count_kv", 4, heads));
            CHECK(has_list(file, "gemma4.feed_forward_length", 4, hidden));
            CHECK(has_list(file, "gemma4.attention.sliding_window_pattern", 4, sliding));
            has_int(file, "gemma4.attention.key_length", 8);
            has_int(file, "gemma4.attention.key_length_swa", 4);
            has_int(file, "gemma4.rope.dimension_count", 8);
            has_int(file, "gemma4.rope.dimension_count_swa", 4);
            has_float(file, "gemma4.rope.freq_base", 7);
            has_float(file, "gemma4.rope.freq_base_swa", 3);
            has_int(file, "gemma4.attention.shared_kv_layers", 1);
            has_float(file, "gemma4.final_logit_softcapping", 0);
            has_int(file, "gemma4.expert_count", 2 * routed);
            has_tensor(file, "rope_freqs.weight", ox_from_floats(factors, OX_SHAPE(4), OX_F32));
            has_tensor(file, "blk.0.ffn_gate_inp.scale", p.tensors[1]);
            has_tensor(file, "blk.0.ffn_down_exps.scale", p.tensors[2]);
            has_tensor(file, "blk.0.layer_output_scale.weight", p.tensors[3]);
            has_tensor(file, "blk.0.ffn_gate_up_exps.weight", p.tensors[4]);
            has_tensor(file, "blk.0.post_ffw_norm_1.weight", p.tensors[5]);
            CHECK(ox_file_count(file) == 7);
            ox_file_close(file);
        }
        make_model_as(&p, config, "false", "1.5");
        refuse(OX_ERR_FORMAT, "over 1.5 of 8 elements");
    }
}

/* Matrices of residual rows in a stack; shares that gates leave out, as deviations. */
static void test_gemma3n(void) {
    static const char config[] = "{\"model_type\":\"gemma3n_text\",\"altup_num_inputs\":3,"
                                 "\"activation_sparsity_pattern\":%s," SIZES "}";
    static const double cutoffs[] = {1.6448536, -INFINITY, 0, -1.2815516};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.altup_projections.0.weight", 8, 8);
        add(&p, "model.altup_projections.1.weight", 8, 8);
        add(&p, "model.layers.0.altup.correct_output_scale", 0, 8);
        add(&p, "model.layers.0.laurel.linear_left.weight", 2, 8);
        ox_file *file = convert_as(&p, config, "[0.95,0,0.5,0.1]");
        has_floats(file, "gemma3n.activation_sparsity_scale", 4, cutoffs);
        has_int(file, "gemma3n.altup.num_inputs", 3);
        has_tensor(file, "altup_proj.weight", ox_stack(&p.tensors[1], 2, 0));
        has_tensor(file, "blk.0.altup_correct_scale.weight", p.tensors[3]);
        has_tensor(file, "blk.0.laurel_l.weight", p.tensors[4]);
        ox_file_close(file);
        static const char *const wrong[] = {"[0.95,0.95]", "[0.95,0,1,0]", "\"x\""};
        for (int i = 0; i < 3; i++) {
            make_model_as(&p, config, wrong[i]);
            refuse(OX_ERR_FORMAT, "no share for layer");
        }
    }
}

/* Numbers of activations lie among the weights, and become facts. */
static void test_apertus(void) {
    static const char config[] = "{\"model_type\":\"apertus\",\"hidden_act\":\"%s\"," SIZES "}";
    static const double alphas[] = {2000, 3000, 4000, 5000}, betas[] = {0.5, 0.5, 0.5, 6000};
    char names[9][64];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.attention_layernorm.weight", 0, 8);
        for (int i = 0; i < 9; i++) {
            snprintf(names[i], sizeof names[i], "model.layers.%d.mlp.act_fn.%s", i == 4 ? 3 : i % 5 % 4,
                     i == 4  ? "beta"
                     : i < 4 ? "alpha_p"
                             : "alpha_n");
            add(&p, names[i], 0, 1);
        }
        for (int i = 5; i < 9; i++) names[i][13] = (char)('0' + i - 5);
        ox_file *file = convert_as(&p, config, "xielu");
        has_floats(file, "xielu.alpha_p", 4, alphas);
        has_floats(file, "xielu.beta", 4, betas);
        has_tensor(file, "blk.0.attn_norm.weight", p.tensors[1]);
        CHECK(ox_file_count(file) == 3 && ox_file_has(file, "rope_freqs.weight")); /* of LLaMA 3's scaling */
        ox_file_close(file);
        make_model("{\"model_type\":\"apertus\",\"hidden_act\":\"silu\"," SIZES "}", &p);
        refuse(OX_ERR_UNSUPPORTED, "hidden_act must be 'xielu'");
        p.count--;
        make_model("{\"model_type\":\"apertus\",\"hidden_act\":\"xielu\"," SIZES "}", &p);
        refuse(OX_ERR_FORMAT, "layers.3.mlp.act_fn.alpha_n is missing");
    }
}

/* The text model inside a model of images, under a name of its own. */
static void test_inner(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.text_model.embed_tokens.weight", 10, 8);
        add(&p, "model.text_model.layers.0.mlp.up_proj.weight", 6, 8);
        add(&p, "model.connector.modality_projection.proj.weight", 2, 8);
        add(&p, "model.vision_model.embeddings.patch_embedding.weight", 2, 8);
        ox_file *file = convert_as(
            &p, "{\"model_type\":\"smolvlm\",\"text_config\":{\"model_type\":\"llama\"," SIZES "}}");
        has_text(file, "general.architecture", "llama");
        has_tensor(file, "blk.0.ffn_up.weight", p.tensors[1]);
        CHECK(ox_file_count(file) == 2);
        ox_file_close(file);
    }
}

/* Rows of queries, values and keys in four parts. */
static void test_fourths(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "transformer.wte.weight", 10, 8);
        add(&p, "transformer.h.0.attn.qkv_proj.weight", 24, 8);
        ox_file *file = convert_as(
            &p, "{\"model_type\":\"codegen\",\"rotary_dim\":2,\"layer_norm_epsilon\":1e-5," SIZES "}");
        ox_tensor *all = ox_reshape(p.tensors[1], OX_SHAPE(4, 3, 2, 8)), *list[3];
        for (int i = 0; i < 3; i++)
            list[i] = ox_reshape(ox_select(all, 1, i == 0 ? 0 : 3 - i), OX_SHAPE(8, 8));
        has_tensor(file, "blk.0.attn_qkv.weight", ox_cat(list, 3, 0));
        ox_file_close(file);
        p.tensors[1] = ox_narrow(p.tensors[1], 0, 0, 23);
        make_model("{\"model_type\":\"codegen\",\"rotary_dim\":2,\"layer_norm_epsilon\":1e-5," SIZES "}", &p);
        refuse(OX_ERR_FORMAT, "four parts of q, v and k");
    }
}

int main(void) {
    begin_folders("folders");
    test_mamba();
    test_layers();
    test_facts();
    test_options();
    test_t5();
    test_routed();
    test_left_out();
    test_null_bools();
    test_f8();
    test_defaults();
    test_class_sizes();
    test_activation();
    test_window_rope();
    test_scaling_facts();
    test_growing_base();
    test_two_magnitudes();
    test_last_layer();
    test_gemma4();
    test_gemma3n();
    test_apertus();
    test_inner();
    test_fourths();
    return end_folders("llm_folders");
}
