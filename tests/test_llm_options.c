/* test_llm_options.c - options of config.json that change tensors: turned halves of latent heads, OPT's
 * projections and norms, norms of heads; lists of layers as numbers; model types that are rows alone.
 */
#include "llm_folder.h"
#include "oxtorch_nn.h"

static ox_tensor *rows_of(ox_tensor *t, const int64_t *rows, int count) {
    ox_tensor *list[32];
    for (int i = 0; i < count; i++) list[i] = ox_narrow(t, 0, rows[i], 1);
    return ox_cat(list, count, 0);
}

/* Rows of a latent head that turn as halves, (i, i + 2), are written as pairs. */
static void test_halves(void) {
    static const int64_t query[] = {0, 1, 2, 3, 5, 4, 6, 7, 8, 9, 10, 12, 11, 13};
    static const char *const names[] = {"token_embd.weight", "blk.0.attn_q_b.weight", "blk.1.attn_q.weight",
                                        "blk.0.attn_kv_a_mqa.weight", "blk.0.attn_kv_a_mqa.bias"};
    static const char config[] = "{\"model_type\":\"deepseek_v3\",\"kv_lora_rank\":3,\"q_lora_rank\":5,"
                                 "\"qk_nope_head_dim\":3,\"qk_rope_head_dim\":4,\"v_head_dim\":2,"
                                 "\"rope_interleave\":%s," SIZES "}";
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.self_attn.q_b_proj.weight", 14, 5);
        add(&p, "model.layers.1.self_attn.q_proj.weight", 14, 8);
        add(&p, "model.layers.0.self_attn.kv_a_proj_with_mqa.weight", 7, 8);
        add(&p, "model.layers.0.self_attn.kv_a_proj_with_mqa.bias", 0, 7);
        for (int halves = 0; halves < 2; halves++) {
            ox_file *file = convert_as(&p, config, halves ? "false" : "true");
            for (int i = 1; i < p.count; i++)
                has_tensor(file, names[i],
                           halves ? rows_of(p.tensors[i], query, (int)p.tensors[i]->shape[0]) : p.tensors[i]);
            ox_file_close(file);
        }
        p.tensors[3] = ox_narrow(p.tensors[3], 0, 0, 3);
        make_model_as(&p, config, "false");
        refuse(OX_ERR_FORMAT, "pairs of qk_rope_head_dim");
    }
}

/* Embeddings of 4 numbers in a model of 8: the matrices between them are multiplied into both ends. */
static void test_projections(void) {
    static const char config[] =
        "{\"model_type\":\"opt\",\"word_embed_proj_dim\":4,\"tie_word_embeddings\":%s," SIZES "}";
    char text[600];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.decoder.embed_tokens.weight", 10, 4);
        add(&p, "model.decoder.project_in.weight", 8, 4);
        add(&p, "model.decoder.project_out.weight", 4, 8);
        add(&p, "lm_head.weight", 10, 4);
        for (int i = 0; i < 4; i++) p.tensors[i] = ox_div(p.tensors[i], ox_number(4096));
        for (int tied = 0; tied < 2; tied++) {
            snprintf(text, sizeof text, config, tied ? "true" : "false");
            if (tied) p.count--;
            make_model(text, &p);
            ox_file *file = convert(NULL);
            has_tensor(file, "token_embd.weight", ox_matmul(p.tensors[0], ox_t(p.tensors[1])));
            has_tensor(file, "output.weight", ox_matmul(p.tensors[tied ? 0 : 3], p.tensors[2]));
            CHECK(ox_file_count(file) == 2);
            ox_file_close(file);
        }
        p.tensors[1] = ox_narrow(p.tensors[1], 1, 0, 3);
        make_model(text, &p);
        refuse(OX_ERR_FORMAT, "other columns than the matrix");
    }
}

/* Norms behind sums have other names, and a fact; norms without weights are ones. */
static void test_norms(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.decoder.embed_tokens.weight", 10, 8);
        add(&p, "model.decoder.layers.0.self_attn_layer_norm.weight", 0, 8);
        add(&p, "model.decoder.layers.0.final_layer_norm.bias", 0, 8);
        ox_file *file = convert_as(&p, "{\"model_type\":\"opt\",\"do_layer_norm_before\":false," SIZES "}");
        has_tensor(file, "blk.0.attn_output_norm.weight", p.tensors[1]);
        has_tensor(file, "blk.0.layer_output_norm.bias", p.tensors[2]);
        has_int(file, "opt.norms_behind_sums", 1);
        ox_file_close(file);
        p.count = 1;
        file = convert_as(&p, "{\"model_type\":\"opt\",\"layer_norm_elementwise_affine\":false," SIZES "}");
        has_int(file, "opt.norms_behind_sums", 0);
        has_tensor(file, "blk.0.attn_norm.weight", ox_ones(OX_SHAPE(8), OX_F32));
        has_tensor(file, "blk.3.ffn_norm.weight", ox_ones(OX_SHAPE(8), OX_F32));
        has_tensor(file, "output_norm.weight", ox_ones(OX_SHAPE(8), OX_F32));
        CHECK(ox_file_count(file) == 1 + 9);
        ox_file_close(file);
        add(&p, "model.layers.0.self_attn.q_layernorm.weight", 0, 4);
        add(&p, "model.layers.0.self_attn.k_layernorm.bias", 0, 4);
        file = convert_as(&p,
                          "{\"model_type\":\"phi\",\"qk_layernorm\":true,\"layer_norm_eps\":1e-5," SIZES "}");
        has_tensor(file, "blk.0.attn_q_norm.weight", p.tensors[1]);
        has_tensor(file, "blk.0.attn_k_norm.bias", p.tensors[2]);
        ox_file_close(file);
    }
}

/* Lists that say a number, and facts of lists. */
static void test_lists(void) {
    static const struct {
        const char *config, *key;
        double value;
    } facts[] = {
        {"exaone_moe\",\"mlp_layer_types\":[\"dense\",\"dense\",\"sparse\",\"dense\"]",
         "exaone-moe.leading_dense_block_count", 2},
        {"exaone_moe\",\"mlp_layer_types\":[\"sparse\",1]", "exaone-moe.leading_dense_block_count", 0},
        {"exaone_moe\",\"first_k_dense_replace\":3", "exaone-moe.leading_dense_block_count", 3},
        {"exaone_moe\",\"mlp_layer_types\":5", "exaone-moe.leading_dense_block_count", 1},
        {"hunyuan_v1_moe\",\"num_experts\":4,\"moe_topk\":[2,2,2,2]", "hunyuan-moe.expert_used_count", 2},
        {"hunyuan_v1_moe\",\"num_experts\":4,\"moe_topk\":3", "hunyuan-moe.expert_used_count", 3},
        {"deepseek_v2\",\"kv_lora_rank\":4,\"qk_nope_head_dim\":2,\"qk_rope_head_dim\":2,"
         "\"topk_method\":\"greedy\",\"n_group\":4",
         "deepseek2.expert_group_count", 0},
        {"ministral3\",\"rope_parameters\":{\"rope_theta\":1e4,\"llama_4_scaling_beta\":0.25,"
         "\"original_max_position_embeddings\":16}",
         "mistral3.attention.temperature_scale", 0.25},
        {"afmoe\",\"mup_enabled\":false", "afmoe.embedding_scale", 0},
        {"cohere2_moe\",\"mlp_layer_types\":[\"dense\",\"sparse\"]", "cohere2moe.leading_dense_block_count",
         1},
        {"cohere2_moe\",\"expert_selection_fn\":\"sigmoid\"", "cohere2moe.expert_gating_func", 2},
        {"cohere2_moe\",\"num_shared_experts\":3", "cohere2moe.expert_shared_feed_forward_length", 18},
        {"cohere2_moe\"", "cohere2moe.expert_gating_func", 3},
        {"minimax\",\"mlp_alpha_factor\":1.5,\"full_attn_alpha_factor\":1.5", "minimax-01.residual_scale",
         1.5},
        {"qwen2_vl\",\"rope_scaling\":{\"type\":\"mrope\",\"mrope_section\":[1,1,2]}",
         "qwen2vl.rope.freq_base", 1e6},
        {"persimmon\",\"qk_layernorm\":false", "nemotron.attention.head_count_kv", 2},
        {"llama\",\"rope_parameters\":{\"rope_theta\":1e4,\"partial_rotary_factor\":0.5}",
         "llama.rope.dimension_count", 4},
        {"phi3\",\"rope_parameters\":{\"rope_theta\":1e4,\"partial_rotary_factor\":0.5}",
         "phi3.rope.dimension_count", 2},
    };
    static const int turned[] = {1, 0, 0, 1}, none[] = {0, 0, 0, 0};
    static const struct {
        const char *config, *key;
        bool said;
    } full[] = {{"cohere2\",\"sliding_window\":4", "cohere2.attention.rope_pattern", true},
                {"cohere2\",\"sliding_window\":null", "cohere2.attention.rope_pattern", true},
                {"exaone4\",\"sliding_window\":4", "exaone4.attention.rope_pattern", true},
                {"exaone4\",\"sliding_window\":null", "exaone4.attention.rope_pattern", false}};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
            ox_file *file = convert_as(&p, "{\"model_type\":\"%s," SIZES "}", facts[i].config);
            has_float(file, facts[i].key, facts[i].value);
            ox_file_close(file);
        }
        ox_file *file = convert_as(
            &p, "{\"model_type\":\"afmoe\",\"sliding_window\":4,\"layer_types\":[\"sliding_attention\","
                "\"full_attention\",\"full_attention\",\"sliding_attention\"]," SIZES "}");
        CHECK(has_list(file, "afmoe.attention.rope_pattern", 4, turned));
        ox_file_close(file);
        for (size_t i = 0; i < sizeof full / sizeof *full; i++) { /* no layer has a window */
            file = convert_as(&p,
                              "{\"model_type\":\"%s,\"layer_types\":[\"full_attention\","
                              "\"full_attention\",\"full_attention\",\"full_attention\"]," SIZES "}",
                              full[i].config);
            if (full[i].said)
                CHECK(has_list(file, full[i].key, 4, none));
            else
                has_no(file, full[i].key);
            ox_file_close(file);
        }
        file = convert_as(&p, "{\"model_type\":\"cohere2_moe\",\"sliding_window\":4,\"layer_types\":["
                              "\"full_attention\",\"full_attention\",\"full_attention\","
                              "\"sliding_attention\"],"
                              "\"mlp_layer_types\":[\"dense\",\"sparse\",\"sparse\",\"sparse\"]," SIZES "}");
        CHECK(has_list(file, "cohere2moe.attention.rope_pattern", 4, turned));
        ox_file_close(file);
        file = convert_as(&p, "{\"model_type\":\"minimax\",\"sliding_window\":4,\"layer_types\":["
                              "\"full_attention\",\"linear_attention\",\"linear_attention\","
                              "\"full_attention\"]," SIZES "}");
        CHECK(has_list(file, "minimax-01.attention.sliding_window_pattern", 4, turned));
        ox_file_close(file);
        file = convert_as(
            &p, "{\"model_type\":\"gemma3_text\",\"sliding_window\":4,\"rope_parameters\":{"
                "\"full_attention\":{\"rope_type\":\"default\",\"rope_theta\":1e6},\"sliding_attention\":{"
                "\"rope_type\":\"linear\",\"rope_theta\":1e4,\"factor\":4.0}}," SIZES "}");
        has_float(file, "gemma3.rope.scaling.factor_swa", 4);
        ox_file_close(file);
    }
}

/* Facts that say no where the architecture says yes, and the other way. */
static void test_plain(void) {
    static const struct {
        const char *config, *key;
        int value;
    } facts[] = {{"gemma3_text\",\"use_bidirectional_attention\":true",
                  "gemma-embedding.attention.causal", 0},
                 {"gemma3_text\",\"use_bidirectional_attention\":null", "gemma3.attention.causal", 1},
                 {"falcon_h1\",\"mamba_rms_norm\":true", "falcon-h1.ssm.norm_before_gate", 1},
                 {"falcon_h1\",\"mamba_rms_norm\":true,\"mamba_norm_before_gate\":false",
                  "falcon-h1.ssm.norm_before_gate", 0},
                 {"falcon_h1\",\"mamba_norm_before_gate\":true", "falcon-h1.ssm.norm_before_gate", 0}};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
            ox_file *said = convert_as(&p, "{\"model_type\":\"%s,\"mamba_d_ssm\":4,\"mamba_n_heads\":2,"
                                           "\"mamba_d_state\":3," SIZES "}", facts[i].config);
            has_int(said, facts[i].key, facts[i].value);
            ox_file_close(said);
        }
        make_model_as(&p, "{\"model_type\":\"aria_text\",\"hidden_act\":\"%s\"," SIZES "}", "relu");
        refuse(OX_ERR_UNSUPPORTED, "hidden_act must be 'silu'");
        make_model_as(&p, "{\"model_type\":\"gemma4_text\",\"use_bidirectional_attention\":\"%s\"," SIZES "}",
                      "all");
        refuse(OX_ERR_UNSUPPORTED, "use_bidirectional_attention may not be 'all'");
        ox_file *file = convert_as(
            &p, "{\"model_type\":\"lfm2_moe\",\"norm_topk_prob\":false,\"layer_types\":[\"conv\",\"conv\","
                "\"conv\",\"conv\"]," SIZES "}");
        has_int(file, "lfm2moe.expert_weights_plain", 1);
        ox_file_close(file);
        for (int scaled = 0; scaled < 2; scaled++) {
            file = convert_as(&p, "{\"model_type\":\"afmoe\",\"mup_enabled\":%s," SIZES "}",
                              scaled ? "true" : "false");
            has_int(file, "afmoe.embedding_plain", !scaled);
            ox_file_close(file);
        }
    }
}

/* What some encoders' and decoders' parts are called, and what of them is refused. */
static void test_row_types(void) {
    static const struct {
        const char *type, *embedding, *from, *to;
    } cases[] = {
        {"data2vec-text", "data2vec_text.embeddings.word_embeddings",
         "data2vec_text.encoder.layer.0.attention.self.query", "blk.0.attn_q"},
        {"ernie", "ernie.embeddings.word_embeddings", "ernie.encoder.layer.1.output.dense", "blk.1.ffn_down"},
        {"electra", "electra.embeddings.word_embeddings", "electra.encoder.layer.0.intermediate.dense",
         "blk.0.ffn_up"},
        {"bert-generation", "embeddings.word_embeddings", "encoder.layer.0.output.LayerNorm",
         "blk.0.layer_output_norm"},
        {"roformer", "roformer.embeddings.word_embeddings", "roformer.encoder.layer.0.attention.self.key",
         "blk.0.attn_k"},
        {"roberta-prelayernorm", "roberta_prelayernorm.embeddings.word_embeddings",
         "roberta_prelayernorm.encoder.layer.0.intermediate.LayerNorm", "blk.0.ffn_norm"},
        {"xlm-roberta-xl", "roberta.embeddings.word_embeddings",
         "roberta.encoder.layer.1.attention.self_attn_layer_norm", "blk.1.attn_norm"},
        {"megatron-bert", "bert.embeddings.word_embeddings", "bert.encoder.ln", "output_norm"},
        {"gpt_neox_japanese", "gpt_neox_japanese.embed_in",
         "gpt_neox_japanese.layers.0.post_attention_layernorm", "blk.0.ffn_norm"},
        {"gpt-sw3", "transformer.wte", "transformer.h.0.ln_2", "blk.0.ffn_norm"},
        {"hyperclovax", "model.embed_tokens", "model.layers.0.post_norm2", "blk.0.post_ffw_norm"},
    };
    char names[3][96], to[48];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "", 10, 8);
        add(&p, "", 8, 8);
        for (int i = 0; i < 2; i++) p.names[i] = names[i];
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            snprintf(names[0], sizeof names[0], "%s.weight", cases[i].embedding);
            snprintf(names[1], sizeof names[1], "%s.weight", cases[i].from);
            snprintf(to, sizeof to, "%s.weight", cases[i].to);
            ox_file *file = convert_as(&p, "{\"model_type\":\"%s\"," SIZES "}", cases[i].type);
            has_tensor(file, "token_embd.weight", p.tensors[0]);
            has_tensor(file, to, p.tensors[1]);
            ox_file_close(file);
        }
        p.count = 1;
        strcpy(names[0], "embeddings.word_embeddings.weight");
        make_model_as(&p, "{\"model_type\":\"bert-generation\",\"is_decoder\":%s," SIZES "}", "true");
        refuse(OX_ERR_UNSUPPORTED, "is_decoder is 1, and only 0 is supported");
        ox_file *asked =
            convert_as(&p, "{\"model_type\":\"distilbert\",\"is_decoder\":%s," SIZES "}", "true");
        has_int(asked, "bert.attention.causal", 0);
        ox_file_close(asked);
        for (int said = 0; said < 2; said++) {
            const char *word = said ? "true" : "false";
            asked = convert_as(&p,
                               "{\"model_type\":\"big_bird\",\"attention_type\":\"original_full\","
                               "\"rescale_embeddings\":%s," SIZES "}",
                               word);
            has_float(asked, "bert.embedding_scale", said ? sqrt(8) : 0);
            ox_file_close(asked);
            asked = convert_as(&p, "{\"model_type\":\"roformer\",\"rotary_value\":%s," SIZES "}", word);
            has_int(asked, "roformer.attention.turned_values", said);
            ox_file_close(asked);
        }
        make_model_as(&p, "{\"model_type\":\"big_bird\",\"attention_type\":\"%s\"," SIZES "}",
                      "block_sparse");
        refuse(OX_ERR_UNSUPPORTED, "attention_type must be 'original_full'");
        make_model_as(&p, "{\"model_type\":\"ernie\",\"use_task_id\":%s," SIZES "}", "true");
        refuse(OX_ERR_UNSUPPORTED, "use_task_id is 1");
    }
}

/* Rows of a delta net: of one matrix by key, cut into two; of several, whose heads of values change
 * places. */
static void test_delta(void) {
#define DELTA                                                                               \
    "\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,\"linear_key_head_dim\":2,"    \
    "\"linear_value_head_dim\":2,\"layer_types\":[\"linear_attention\",\"full_attention\"," \
    "\"linear_attention\",\"linear_attention\"]," SIZES "}"
    /* a key's rows: q 2, k 2, values 4, gates 4 */
    static const int64_t mixed[] = {0, 1, 12, 13, 2, 3, 14, 15, 4, 5, 6, 7, 16, 17, 18, 19},
                         gates[] = {8, 9, 10, 11, 20, 21, 22, 23},
                         parted[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15},
                         heads[] = {0, 2, 1, 3}, wide[] = {0, 1, 4, 5, 2, 3, 6, 7};
    static const int recurrent[] = {1, 0, 1, 1};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.linear_attn.in_proj_qkvz.weight", 24, 8);
        ox_file *file = convert_as(&p, "{\"model_type\":\"qwen3_next\"," DELTA);
        has_tensor(file, "blk.0.attn_qkv.weight", rows_of(p.tensors[1], mixed, 16));
        has_tensor(file, "blk.0.attn_gate.weight", rows_of(p.tensors[1], gates, 8));
        CHECK(has_list(file, "qwen3next.attention.recurrent_layers", 4, recurrent));
        has_int(file, "qwen3next.ssm.inner_size", 8);
        ox_file_close(file);
        p.names[1] = "model.layers.0.linear_attn.in_proj_qkv.weight";
        p.tensors[1] = ox_narrow(p.tensors[1], 0, 0, 16);
        add(&p, "model.layers.0.linear_attn.in_proj_z.weight", 8, 8);
        add(&p, "model.layers.0.linear_attn.in_proj_b.weight", 4, 8);
        add(&p, "model.layers.0.linear_attn.dt_bias", 0, 4);
        add(&p, "model.layers.0.linear_attn.out_proj.weight", 8, 8);
        add_shape(&p, "model.layers.0.linear_attn.conv1d.weight", 16, 1, 4);
        add(&p, "model.layers.0.linear_attn.A_log", 0, 4);
        p.tensors[7] = ox_mul_number(ox_arange(0, 4, 1, OX_F32), 0.25);
        file = convert_as(&p, "{\"model_type\":\"qwen3_5_text\"," DELTA);
        has_tensor(file, "blk.0.attn_qkv.weight", rows_of(p.tensors[1], parted, 16));
        has_tensor(file, "blk.0.attn_gate.weight", rows_of(p.tensors[2], wide, 8));
        has_tensor(file, "blk.0.ssm_beta.weight", rows_of(p.tensors[3], heads, 4));
        has_tensor(file, "blk.0.ssm_dt.bias", rows_of(p.tensors[4], heads, 4));
        has_tensor(file, "blk.0.ssm_out.weight", ox_t(rows_of(ox_t(p.tensors[5]), wide, 8)));
        has_tensor(file, "blk.0.ssm_conv1d.weight", rows_of(ox_squeeze(p.tensors[6], 1), parted, 16));
        has_tensor(file, "blk.0.ssm_a", ox_neg(ox_exp(rows_of(p.tensors[7], heads, 4))));
        ox_file_close(file);
        p.tensors[2] = ox_narrow(p.tensors[2], 0, 0, 7);
        make_model("{\"model_type\":\"qwen3_5_text\"," DELTA, &p);
        refuse(OX_ERR_FORMAT, "do not divide into heads of values");
    }
}

/* Layers with attention by a period or a list; a head that is turned in part becomes pairs in that part. */
static void test_hybrids(void) {
    static const int jamba[] = {0, 0, 1, 0}, bamba[] = {0, 1, 0, 0};
    static const int64_t rows[] = {0, 2, 1, 3, 4, 5, 6, 7, 8, 10, 9, 11, 12, 13, 14, 15};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.1.self_attn.q_proj.weight", 16, 8);
        ox_file *file =
            convert_as(&p, "{\"model_type\":\"jamba\",\"attn_layer_period\":3,\"attn_layer_offset\":2,"
                           "\"mamba_d_state\":4,\"mamba_expand\":2,\"mamba_dt_rank\":3," SIZES "}");
        CHECK(has_list(file, "jamba.attention.head_count_kv", 4, jamba));
        has_int(file, "jamba.ssm.time_step_rank", 3);
        has_no(file, "jamba.rope.freq_base");
        ox_file_close(file);
        file = convert_as(&p, "{\"model_type\":\"bamba\",\"attn_layer_indices\":[1],\"mamba_d_state\":4,"
                              "\"mamba_expand\":2,\"mamba_n_heads\":2,\"head_dim\":8," SIZES "}");
        CHECK(has_list(file, "granitehybrid.attention.head_count_kv", 4, bamba));
        has_tensor(file, "blk.1.attn_q.weight", rows_of(p.tensors[1], rows, 16));
        has_int(file, "granitehybrid.rope.dimension_count", 4);
        has_int(file, "granitehybrid.rope.scaling.finetuned", 1);
        ox_file_close(file);
    }
}

/* A stored output matrix is passed over where nothing says that it is no embedding. */
static void test_tied(void) {
    static const struct {
        const char *whole, *inner;
        int kept;
    } cases[] = {{"", "", 1},
                 {"\"tie_word_embeddings\":false,", "\"tie_word_embeddings\":true,", 1},
                 {"\"tie_word_embeddings\":true,", "\"tie_word_embeddings\":false,", 1},
                 {"\"tie_word_embeddings\":true,", "\"tie_word_embeddings\":true,", 0},
                 {"\"tie_word_embeddings\":true,", "", 0},
                 {"", "\"tie_word_embeddings\":true,", 0}};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.language_model.embed_tokens.weight", 10, 8);
        add(&p, "lm_head.weight", 10, 8);
        add(&p, "model.visual.patch_embed.proj.weight", 3, 8);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            ox_file *file = convert_as(&p,
                                       "{\"model_type\":\"qwen3_vl\",%s\"text_config\":"
                                       "{\"model_type\":\"qwen3_vl_text\",%s" SIZES "}}",
                                       cases[i].whole, cases[i].inner);
            CHECK(ox_file_count(file) == 1 + cases[i].kept);
            if (cases[i].kept) has_tensor(file, "output.weight", p.tensors[1]);
            ox_file_close(file);
        }
    }
}

/* Experts of DBRX, which lie behind each other in one matrix, and what its options are. */
static void test_experts_behind(void) {
#define DBRX(norm, clip)                                                                          \
    "{\"model_type\":\"dbrx\",\"d_model\":8,\"n_heads\":2,\"n_layers\":1,\"max_seq_len\":64,"   \
    "\"vocab_size\":10,\"attn_config\":{\"kv_n_heads\":1,\"clip_qkv\":" clip                     \
    ",\"rope_theta\":500000},\"ffn_config\":{\"ffn_hidden_size\":6,\"moe_num_experts\":3,"         \
    "\"moe_top_k\":2" norm "}}"
#define BLOCK(name) "transformer.blocks.0." name
    OX_SCOPE {
        parts p = {{0}, {0}, 0}, odd;
        add(&p, "transformer.wte.weight", 10, 8);
        add(&p, BLOCK("ffn.experts.mlp.w1"), 18, 8);
        add(&p, BLOCK("ffn.experts.mlp.v1"), 18, 8);
        add(&p, BLOCK("ffn.experts.mlp.w2"), 18, 8);
        add(&p, BLOCK("norm_attn_norm.norm_2.weight"), 0, 8);
        add(&p, BLOCK("norm_attn_norm.attn.Wqkv.weight"), 16, 8);
        ox_file *file = convert_as(&p, DBRX("%s", "0.5"), ",\"moe_normalize_expert_weights\":1.0");
        has_tensor(file, "blk.0.ffn_gate_exps.weight", ox_reshape(p.tensors[1], OX_SHAPE(3, 6, 8)));
        has_tensor(file, "blk.0.ffn_up_exps.weight", ox_reshape(p.tensors[2], OX_SHAPE(3, 6, 8)));
        has_tensor(file, "blk.0.ffn_down_exps.weight",
                   ox_transpose(ox_reshape(p.tensors[3], OX_SHAPE(3, 6, 8)), 1, 2));
        has_tensor(file, "blk.0.attn_output_norm.weight", p.tensors[4]);
        has_tensor(file, "blk.0.attn_qkv.weight", p.tensors[5]);
        has_float(file, "dbrx.attention.clamp_kqv", 0.5);
        has_float(file, "dbrx.rope.freq_base", 500000);
        has_int(file, "dbrx.expert_count", 3);
        has_int(file, "dbrx.expert_used_count", 2);
        has_int(file, "dbrx.feed_forward_length", 6);
        has_int(file, "dbrx.attention.head_count_kv", 1);
        ox_file_close(file);
        file = convert_as(&p, DBRX("%s", "null"), ""); /* the class norms, and clips nothing */
        CHECK(ox_file_meta_float(file, "dbrx.attention.clamp_kqv", -77) == -77);
        ox_file_close(file);
        make_model_as(&p, DBRX(",\"moe_normalize_expert_weights\":%s", "8"), "null");
        refuse(OX_ERR_UNSUPPORTED, "moe_normalize_expert_weights is 0, and only 1 is supported");
        make_model_as(&p, DBRX(",\"moe_normalize_expert_weights\":%s", "8"), "2");
        refuse(OX_ERR_UNSUPPORTED, "moe_normalize_expert_weights is 2, and only 1 is supported");
        odd = p;
        odd.tensors[1] = ox_narrow(p.tensors[1], 0, 0, 17);
        make_model_as(&odd, DBRX("%s", "8"), "");
        refuse(OX_ERR_FORMAT, "are no matrices of experts behind each other");
    }
#undef BLOCK
#undef DBRX
}

/* Experts as transformers 5 writes them, and as the files of Qwen 3 VL have them. */
static void test_turned_experts(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0}, turned;
        add_shape(&p, "model.language_model.layers.0.mlp.experts.gate_up_proj", 2, 6, 8);
        add_shape(&p, "model.language_model.layers.0.mlp.experts.down_proj", 2, 8, 3);
        turned = p;
        for (int i = 0; i < p.count; i++) turned.tensors[i] = ox_contiguous(ox_transpose(p.tensors[i], 1, 2));
        for (int i = 0; i < 2; i++) {
            make_model("{\"model_type\":\"qwen3_vl_moe\",\"text_config\":{\"model_type\":"
                       "\"qwen3_vl_moe_text\",\"num_experts\":2," SIZES "}}",
                       i ? &turned : &p);
            ox_file *file = convert(NULL);
            has_tensor(file, "blk.0.ffn_gate_exps.weight", ox_narrow(p.tensors[0], 1, 0, 3));
            has_tensor(file, "blk.0.ffn_up_exps.weight", ox_narrow(p.tensors[0], 1, 3, 3));
            has_tensor(file, "blk.0.ffn_down_exps.weight", p.tensors[1]);
            ox_file_close(file);
        }
    }
}

/* What a family multiplies by is part of its weights: one number, or one for each part of the rows. */
static void test_scales(void) {
    static const char config[] =
        "{\"model_type\":\"falcon_h1\",\"mamba_d_ssm\":4,\"mamba_n_heads\":2,\"mamba_n_groups\":1,"
        "\"mamba_d_state\":3,\"tie_word_embeddings\":%s,\"embedding_multiplier\":2.0,"
        "\"lm_head_multiplier\":0.5,\"mlp_multipliers\":[1.0,4],\"key_multiplier\":0.25,"
        "\"attention_in_multiplier\":2,\"ssm_in_multiplier\":2.0,\"ssm_multipliers\":%s," SIZES "}";
    static const float by_row[] = {2, 2, 2, 2, 4, 4, 4, 4, 6, 6, 6, 8, 8, 8, 10, 10};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.mamba.in_proj.weight", 16, 8);
        add(&p, "model.layers.1.feed_forward.gate_proj.weight", 6, 8);
        add(&p, "model.layers.1.feed_forward.down_proj.weight", 8, 6);
        add(&p, "model.layers.1.self_attn.k_proj.weight", 4, 8);
        p.tensors[4] = ox_cast(p.tensors[4], OX_BF16);
        add(&p, "model.layers.0.mamba.in_proj.bias", 0, 16);
        add(&p, "model.layers.1.feed_forward.down_proj.bias", 0, 8);
        add(&p, "model.layers.1.self_attn.k_proj.bias", 0, 4);
        add(&p, "model.layers.1.self_attn.q_proj.bias", 0, 8);
        for (int tied = 0; tied < 2; tied++) {
            ox_file *file = convert_as(&p, config, tied ? "true" : "false", "[1,2,3,4,5.0]");
            has_tensor(file, "token_embd.weight", ox_mul_number(p.tensors[0], 2));
            has_tensor(file, "output.weight", ox_mul_number(p.tensors[0], 0.5));
            has_tensor(file, "blk.0.ssm_in.weight",
                       ox_mul(p.tensors[1], ox_from_floats(by_row, OX_SHAPE(16, 1), OX_F32)));
            has_tensor(file, "blk.1.ffn_gate.weight", p.tensors[2]);
            has_tensor(file, "blk.1.ffn_down.weight", ox_mul_number(p.tensors[3], 4));
            has_tensor(file, "blk.1.attn_k.weight", ox_mul_number(ox_cast(p.tensors[4], OX_F32), 0.5));
            ox_tensor *bias = ox_mul(p.tensors[5], ox_from_floats(by_row, OX_SHAPE(16), OX_F32));
            has_tensor(file, "blk.0.ssm_in.bias", ox_mul_number(bias, 0.5)); /* not by ssm_in_multiplier */
            has_tensor(file, "blk.1.ffn_down.bias", ox_mul_number(p.tensors[6], 4));
            has_tensor(file, "blk.1.attn_k.bias", ox_mul_number(p.tensors[7], 0.25));
            has_tensor(file, "blk.1.attn_q.bias", p.tensors[8]);
            has_int(file, "falcon-h1.ssm.inner_size", 4);
            ox_file_close(file);
        }
        make_model_as(&p, config, "true", "[1,2,3,\"4\"]");
        refuse(OX_ERR_FORMAT, "ssm_multipliers.3");
        p.tensors[1] = ox_narrow(p.tensors[1], 0, 0, 9);
        make_model_as(&p, config, "true", "[1,2,3,4]");
        refuse(OX_ERR_FORMAT, "mamba_n_groups*mamba_d_state");
    }
}

/* Layers that are one thing each, as words or as letters; two architectures. */
static void test_single(void) {
    static const int heads[] = {0, 1, 0, 0}, dense[] = {0, 0, 6, 0}, routed[] = {0, 0, 3, 0};
    static const struct {
        const char *layers, *architecture;
        const int *hidden;
    } kinds[] = {
        {"\"layers_block_type\":[\"mamba\",\"attention\",\"mlp\",\"mamba\"]", "nemotron_h", dense},
        {"\"hybrid_override_pattern\":\"M*-M\"", "nemotron_h", dense},
        {"\"layers_block_type\":[\"mamba\",\"attention\",\"moe\",\"mamba\"]", "nemotron_h_moe", routed},
        {"\"hybrid_override_pattern\":\"M*EM\"", "nemotron_h_moe", routed},
    };
    char key[80];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "backbone.embeddings.weight", 10, 8);
        add(&p, "backbone.layers.1.norm.weight", 0, 8);
        add(&p, "backbone.layers.1.mixer.q_proj.weight", 8, 8);
        add(&p, "backbone.layers.0.mixer.A_log", 0, 2);
        add(&p, "backbone.layers.0.mixer.D", 0, 2);
        add(&p, "backbone.layers.0.mixer.norm.weight", 0, 8);
        p.tensors[3] = ox_zeros(OX_SHAPE(2), OX_F32);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            ox_file *file =
                convert_as(&p,
                           "{\"model_type\":\"nemotron_h\",%s,\"mamba_num_heads\":2,\"mamba_head_dim\":4,"
                           "\"n_groups\":2,"
                           "\"n_routed_experts\":4,\"moe_intermediate_size\":3," SIZES "}",
                           kinds[i].layers);
            snprintf(key, sizeof key, "%s.attention.head_count_kv", kinds[i].architecture);
            CHECK(has_list(file, key, 4, heads));
            snprintf(key, sizeof key, "%s.feed_forward_length", kinds[i].architecture);
            CHECK(has_list(file, key, 4, kinds[i].hidden));
            snprintf(key, sizeof key, "%s.expert_count", kinds[i].architecture);
            CHECK((ox_file_meta_int(file, key, 0) == 4) == (kinds[i].hidden == routed));
            has_tensor(file, "blk.1.attn_q.weight", p.tensors[2]);
            has_tensor(file, "blk.1.attn_norm.weight", p.tensors[1]);
            has_tensor(file, "blk.0.ssm_a", ox_full(OX_SHAPE(2, 1), -1, OX_F32));
            has_tensor(file, "blk.0.ssm_d", ox_unsqueeze(p.tensors[4], 1));
            has_tensor(file, "blk.0.ssm_norm.weight", ox_reshape(p.tensors[5], OX_SHAPE(2, 4)));
            ox_file_close(file);
        }
        make_model("{\"model_type\":\"nemotron_h\",\"hybrid_override_pattern\":\"MMxM\"," SIZES "}", &p);
        refuse(OX_ERR_FORMAT, "what layer 2 is");
        make_model("{\"model_type\":\"nemotron_h\",\"layers_block_type\":[\"mamba\",[\"moe\"]]," SIZES "}",
                   &p);
        refuse(OX_ERR_FORMAT, "what layer 1 is");
    }
}

static ox_tensor *leaky_relu(ox_tensor *x) { return ox_leaky_relu(x, 0.01); }
static ox_tensor *gelu_10(ox_tensor *x) { return ox_clamp(ox_gelu(x), -10, 10); }
static ox_tensor *same(ox_tensor *x) { return x; }

/* One token in one layer whose attention adds nothing: what the feed-forward makes with each activation. */
static void test_activations(void) {
    static const struct {
        const char *name;
        ox_tensor *(*make)(ox_tensor *x);
    } kinds[] = {{"linear", same},     {"tanh", ox_tanh},   {"sigmoid", ox_sigmoid},
                 {"mish", ox_mish},    {"relu6", ox_relu6}, {"hardswish", ox_hardswish},
                 {"gelu_10", gelu_10}, {"silu", ox_silu},   {"leaky_relu", leaky_relu}};
    float got[10], want[10];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        ox_manual_seed(5);
        add_layer(&p, false);
        for (int i = 6; i < 9; i++) p.tensors[i] = ox_mul_number(p.tensors[i], 2);
        p.tensors[5] = ox_zeros_like(p.tensors[5]);
        ox_set_exact(1);
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            make_model_as(&p,
                          "{\"model_type\":\"llama\",\"hidden_act\":\"%s\",\"hidden_size\":8,"
                          "\"intermediate_size\":6,\"num_hidden_layers\":1,\"num_attention_heads\":2,"
                          "\"num_key_value_heads\":1,\"vocab_size\":10,\"rms_norm_eps\":1e-5}",
                          kinds[i].name);
            ox_llm *model = ox_llm_open(folder, NULL);
            ox_llm_context *context = ox_llm_context_open(model, NULL);
            const int32_t id = 3;
            CHECK_MSG(ox_llm_decode(context, &id, 1, got) == OX_OK, "%s", ox_error_text());
            ox_llm_context_close(context);
            ox_llm_close(model);
            ox_tensor *x = ox_narrow(p.tensors[0], 0, id, 1), *h = ox_rms_norm(x, 1, p.tensors[10], 1e-5);
            h = ox_mul(kinds[i].make(ox_linear(h, p.tensors[6], NULL)), ox_linear(h, p.tensors[7], NULL));
            x = ox_rms_norm(ox_add(x, ox_linear(h, p.tensors[8], NULL)), 1, p.tensors[1], 1e-5);
            ox_to_floats(ox_linear(x, p.tensors[0], NULL), want, 10);
            for (int k = 0; k < 10; k++)
                CHECK_MSG(fabsf(got[k] - want[k]) < 2e-5f, "%s: %g, not %g", kinds[i].name, (double)got[k],
                          (double)want[k]);
        }
        ox_set_exact(0);
    }
}

int main(void) {
    begin_folders("options");
    test_activations();
    test_halves();
    test_projections();
    test_norms();
    test_lists();
    test_plain();
    test_row_types();
    test_delta();
    test_hybrids();
    test_tied();
    test_experts_behind();
    test_turned_experts();
    test_scales();
    test_single();
    return end_folders("llm_options");
}
