/* test_llm_joined.c - folders whose tensors are joined, cut in fourths, of two stacks of layers, of layers
 * whose norms vary, or not stored at all; and what is refused of them, in words.
 */
#include "llm_folder.h"

/* Two stacks of layers, and a matrix of a gate, queries, keys and values. */
static void test_stacks(void) {
    static const char config[] = "{\"model_type\":\"hrm_text\",\"hidden_size\":8,\"intermediate_size\":6,"
                                 "\"num_attention_heads\":2,\"head_dim\":2,\"vocab_size\":10,%s}";
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.z_L_init", 0, 8);
        add(&p, "model.L_module.layers.1.attn.gqkv_proj.weight", 16, 8);
        add(&p, "model.H_module.layers.1.mlp.gate_up_proj.weight", 12, 8);
        add(&p, "model.H_module.layers.0.self_attn.gate_proj.weight", 4, 8);
        static const char *const facts[] = { /* as it is saved, as it was given, without what is usual */
            "\"num_hidden_layers\":16,\"num_layers_per_stack\":2,\"H_cycles\":2,\"L_cycles\":3,"
            "\"embedding_scale\":2",
            "\"num_hidden_layers\":2,\"H_cycles\":2,\"L_cycles\":3,\"initializer_range\":0.5",
            "\"num_hidden_layers\":2,\"L_cycles\":null,\"embedding_scale\":2",
            "\"num_hidden_layers\":2,\"H_cycles\":2,\"embedding_scale\":2",
            "\"num_layers_per_stack\":2,\"L_cycles\":3,\"embedding_scale\":2"};
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
            ox_file *file = convert_as(&p, config, facts[i]);
            has_int(file, "hrm_text.block_count", 16);
            has_int(file, "hrm_text.hrm.layers_per_stack", 2);
            has_int(file, "hrm_text.hrm.l_cycles", 3);
            has_float(file, "hrm_text.embedding_scale", 2);
            has_tensor(file, "hrm.z_l_init", p.tensors[1]);
            has_tensor(file, "blk.1.attn_gate.weight", ox_narrow(p.tensors[2], 0, 0, 4));
            has_tensor(file, "blk.1.attn_qkv.weight", ox_narrow(p.tensors[2], 0, 4, 12));
            has_tensor(file, "blk.3.ffn_up.weight", ox_narrow(p.tensors[3], 0, 6, 6));
            has_tensor(file, "blk.2.attn_gate.weight", p.tensors[4]);
            ox_file_close(file);
        }
        p.tensors[2] = ox_narrow(p.tensors[2], 0, 0, 15);
        make_model_as(&p, config, "\"num_hidden_layers\":2,\"H_cycles\":2,\"L_cycles\":3");
        refuse(OX_ERR_FORMAT, "no four parts");
        make_model_as(&p, config, "\"num_hidden_layers\":16,\"num_layers_per_stack\":\"x\"");
        refuse(OX_ERR_FORMAT, "is no number");
    }
}

/* Positions by sines, from the third on; that of the padding token's number is 0. */
static void test_sines(void) {
    static const char config[] = "{\"model_type\":\"xglm\",\"d_model\":6,\"ffn_dim\":5,\"num_layers\":1,"
                                 "\"attention_heads\":2,\"vocab_size\":10,\"max_position_embeddings\":%s}";
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 6);
        add(&p, "model.layers.0.fc1.weight", 5, 6);
        add(&p, "model.layer_norm.weight", 0, 6);
        ox_file *file = convert_as(&p, config, "7,\"pad_token_id\":5");
        has_text(file, "general.architecture", "opt");
        has_float(file, "opt.embedding_scale", sqrt(6));
        has_int(file, "opt.attention.head_count", 2);
        has_tensor(file, "output_norm.weight", p.tensors[2]);
        ox_tensor *t = ox_file_tensor(file, "position_embd.weight");
        CHECK(t && t->ndim == 2 && t->shape[0] == 7 && t->shape[1] == 6);
        for (int i = 0; t && i < 42; i++) {
            const int at = i / 6 + 2, k = i % 3;
            const double angle = at * pow(10000, -k / 2.0);
            const double wanted = at == 5 ? 0 : i % 6 < 3 ? sin(angle) : cos(angle);
            const double off = fabs(((const float *)ox_data(t))[i] - wanted);
            CHECK_MSG(off < 1e-6, "position %d, number %d: %g", at, i % 6, off);
        }
        ox_file_close(file);
        file = convert_as(&p, config, "7,\"scale_embedding\":false");
        has_float(file, "opt.embedding_scale", 0);
        ox_file_close(file);
        make_model_as(&p, config, "7,\"add_cross_attention\":true");
        refuse(OX_ERR_UNSUPPORTED, "add_cross_attention is 1");
        make_model_as(&p, config, "9000000");
        refuse(OX_ERR_FORMAT, "9000000 positions of 6");
    }
}

#define HYBRID                                                                                         \
    "{\"model_type\":\"olmo_hybrid\",\"linear_num_key_heads\":2,\"linear_num_value_heads\":4,"         \
    "\"linear_key_head_dim\":2,\"linear_value_head_dim\":3,\"layer_types\":[\"linear_attention\","     \
    "\"full_attention\",\"linear_attention\",\"full_attention\"]," SIZES

/* Layers with a delta net have norms before their halves, those with attention behind them, of one name. */
static void test_hybrid(void) {
    static const int recurrent[4] = {1, 0, 1, 0};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.linear_attn.v_proj.weight", 12, 8);
        add(&p, "model.layers.0.linear_attn.q_proj.weight", 4, 8);
        add(&p, "model.layers.0.linear_attn.k_proj.weight", 4, 8);
        add_shape(&p, "model.layers.0.linear_attn.k_conv1d.weight", 4, 1, 4);
        add_shape(&p, "model.layers.0.linear_attn.q_conv1d.weight", 4, 1, 4);
        add_shape(&p, "model.layers.0.linear_attn.v_conv1d.weight", 12, 1, 4);
        add(&p, "model.layers.0.feedforward_layer_norm.weight", 0, 8);
        add(&p, "model.layers.1.feedforward_layer_norm.weight", 0, 8);
        add(&p, "model.layers.1.self_attn.q_proj.weight", 8, 8);
        add(&p, "model.layers.2.post_attention_layernorm.weight", 0, 8);
        ox_file *file = convert_as(&p, HYBRID ",\"rope_theta\":5000}");
        ox_tensor *list[3] = {p.tensors[2], p.tensors[3], p.tensors[1]};
        has_tensor(file, "blk.0.attn_qkv.weight", ox_cat(list, 3, 0));
        for (int i = 0; i < 3; i++) list[i] = p.tensors[i == 2 ? 6 : 5 - i];
        has_tensor(file, "blk.0.ssm_conv1d.weight", ox_squeeze(ox_cat(list, 3, 0), 1));
        has_tensor(file, "blk.0.ffn_norm.weight", p.tensors[7]);
        has_tensor(file, "blk.1.post_attention_norm.weight", p.tensors[8]);
        has_tensor(file, "blk.2.ffn_norm.weight", p.tensors[10]);
        CHECK(has_list(file, "olmo_hybrid.attention.recurrent_layers", 4, recurrent));
        has_int(file, "olmo_hybrid.ssm.inner_size", 12);
        has_int(file, "olmo_hybrid.attention.rope_pattern", 1);
        has_float(file, "olmo_hybrid.ssm.rate_scale", 2);
        ox_file_close(file);
        file = convert_as(&p, HYBRID ",\"linear_allow_neg_eigval\":false,\"rope_parameters\":null}");
        has_int(file, "olmo_hybrid.attention.rope_pattern", 0);
        has_float(file, "olmo_hybrid.ssm.rate_scale", 1);
        ox_file_close(file);
        p.tensors[3] = ox_reshape(p.tensors[3], OX_SHAPE(8, 4));
        make_model_as(&p, HYBRID "}");
        refuse(OX_ERR_FORMAT, "columns of all that are joined");
        p.names[3] = "model.layers.3.linear_attn.k_proj.weight";
        make_model_as(&p, HYBRID "}");
        refuse(OX_ERR_FORMAT, "number 1 of those that make up blk.0.attn_qkv.weight");
    }
}

/* Griffin: a list of kinds of layers that goes on over and over, gates by group, a scale that is a BF16. */
static void test_griffin(void) {
    static const int heads[4] = {0, 1, 0, 1};
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.temporal_block.linear_y.weight", 8, 8);
        add(&p, "model.layers.0.temporal_block.linear_x.weight", 8, 8);
        add(&p, "model.layers.0.temporal_block.linear_y.bias", 0, 8);
        add(&p, "model.layers.0.temporal_block.linear_x.bias", 0, 8);
        add_shape(&p, "model.layers.0.temporal_block.rg_lru.input_gate_weight", 2, 4, 4);
        add(&p, "model.layers.0.temporal_block.rg_lru.input_gate_bias", 2, 4);
        add(&p, "model.layers.0.temporal_block.rg_lru.recurrent_param", 0, 8);
        p.tensors[7] = ox_mul_number(p.tensors[7], 1e-3);
        add(&p, "model.layers.0.temporal_pre_norm.weight", 0, 8);
        ox_file *file = convert_as(&p, "{\"model_type\":\"recurrent_gemma\",\"attention_window_size\":16,"
                                       "\"block_types\":[\"recurrent\",\"attention\"],\"lru_width\":8," SIZES
                                       "}");
        ox_tensor *list[2] = {p.tensors[2], p.tensors[1]};
        has_tensor(file, "blk.0.ssm_in.weight", ox_cat(list, 2, 0));
        list[0] = p.tensors[4];
        list[1] = p.tensors[3];
        has_tensor(file, "blk.0.ssm_in.bias", ox_cat(list, 2, 0));
        has_tensor(file, "blk.0.ssm_gate_in.weight", ox_transpose(p.tensors[5], 1, 2));
        has_tensor(file, "blk.0.ssm_gate_in.bias", p.tensors[6]);
        has_tensor(file, "blk.0.ssm_a",
                   ox_unsqueeze(ox_mul_number(ox_softplus(p.tensors[7], 1, 20), -8), 1));
        has_tensor(file, "blk.0.attn_norm.weight", ox_add(p.tensors[8], ox_number(1)));
        CHECK(has_list(file, "recurrent-gemma.attention.head_count_kv", 4, heads));
        has_float(file, "recurrent-gemma.embedding_scale", 2.828125);
        has_float(file, "recurrent-gemma.final_logit_softcapping", 30);
        has_int(file, "recurrent-gemma.attention.sliding_window", 16);
        has_int(file, "recurrent-gemma.feed_forward_length", 3);
        ox_file_close(file);
    }
}

/* Experts of queries beside those of the feed-forward, and biases of all of them; four vectors as one. */
static void test_experts(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.mlp.bias", 0, 8);
        add_shape(&p, "model.layers.0.mlp.input_linear.weight", 3, 12, 8);
        add(&p, "model.layers.0.self_attention.kv_proj.weight", 8, 8);
        add_shape(&p, "model.layers.0.self_attention.experts.input_linear.weight", 3, 4, 8);
        add(&p, "model.layers.0.self_attention.experts.bias", 0, 8);
        ox_file *file = convert_as(&p, "{\"model_type\":\"jetmoe\",\"kv_channels\":2,\"num_local_experts\":3,"
                                       "\"num_experts_per_tok\":2," SIZES "}");
        has_int(file, "jetmoe.attention.head_count", 2);
        has_int(file, "jetmoe.attention.key_length", 2);
        has_int(file, "jetmoe.expert_feed_forward_length", 6);
        has_float(file, "jetmoe.attention.layer_norm_rms_epsilon", 1e-6);
        has_float(file, "jetmoe.output_norm_epsilon", 1e-5);
        has_tensor(file, "blk.0.ffn_down_exps.bias", ox_expand(p.tensors[1], OX_SHAPE(3, 8)));
        has_tensor(file, "blk.0.ffn_up_exps.weight", ox_narrow(p.tensors[2], 1, 6, 6));
        has_tensor(file, "blk.0.attn_v.weight", ox_narrow(p.tensors[3], 0, 4, 4));
        has_tensor(file, "blk.0.attn_q_exps.weight", p.tensors[4]);
        has_tensor(file, "blk.0.attn_output_exps.bias", ox_expand(p.tensors[5], OX_SHAPE(3, 8)));
        ox_file_close(file);
    }
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add(&p, "model.embed_tokens.weight", 10, 8);
        add(&p, "model.layers.0.self_attn.lambda_k2", 0, 4);
        add(&p, "model.layers.0.self_attn.lambda_q1", 0, 4);
        add(&p, "model.layers.0.self_attn.lambda_q2", 0, 4);
        add(&p, "model.layers.0.self_attn.lambda_k1", 0, 4);
        ox_file *file = convert_as(&p, "{\"model_type\":\"diffllama\"," SIZES "}");
        ox_tensor *list[4] = {p.tensors[2], p.tensors[4], p.tensors[3], p.tensors[1]};
        has_tensor(file, "blk.0.attn_lambda.weight", ox_cat(list, 4, 0));
        ox_file_close(file);
        make_model("{\"model_type\":\"doge\",\"is_moe\":true," SIZES "}", &p);
        refuse(OX_ERR_UNSUPPORTED, "is_moe is 1");
    }
}

int main(void) {
    begin_folders("joined");
    test_stacks();
    test_sines();
    test_hybrid();
    test_griffin();
    test_experts();
    return end_folders("llm_joined");
}
