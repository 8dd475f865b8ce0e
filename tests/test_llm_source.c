/* test_llm_source.c - models of other files than GGUF: small Hugging Face folders are made here, one for
 * each transform and trap, converted, and what was written is looked at; llama2.c's files; what is
 * refused, by name; the folders of OX_TEST_DATA with their logits. OX_QEMU: short enough to be emulated. */
#include "llm_folder.h"

static const char some_tokenizer[] =
    "{\"version\":\"1.0\",\"model\":{\"type\":\"WordLevel\",\"vocab\":{\"a\":0},\"unk_token\":\"a\"}}";

/* ---- LLaMA --------------------------------------------------------------------------------------------- */

#define LLAMA_SIZES                                                                                \
    "\"hidden_size\":8,\"intermediate_size\":6,\"num_hidden_layers\":1,\"num_attention_heads\":2," \
    "\"num_key_value_heads\":1,\"vocab_size\":10,\"max_position_embeddings\":64,\"rms_norm_eps\":1e-5"

static void add_llama(parts *p, const char *const names[9]) {
    static const int64_t rows[9] = {8, 4, 4, 8, 6, 6, 8, 0, 0}, columns[9] = {8, 8, 8, 8, 8, 8, 6, 8, 8};
    add(p, "model.embed_tokens.weight", 10, 8);
    for (int i = 0; i < 9; i++) add(p, names[i], rows[i], columns[i]);
    add(p, "model.norm.weight", 0, 8);
}
static const char *const llama_names[9] = {
    "model.layers.0.self_attn.q_proj.weight",        "model.layers.0.self_attn.k_proj.weight",
    "model.layers.0.self_attn.v_proj.weight",        "model.layers.0.self_attn.o_proj.weight",
    "model.layers.0.mlp.gate_proj.weight",           "model.layers.0.mlp.up_proj.weight",
    "model.layers.0.mlp.down_proj.weight",           "model.layers.0.input_layernorm.weight",
    "model.layers.0.post_attention_layernorm.weight"};

/* Halves of heads become pairs: rows 0 2 1 3 of a head of 4. */
static ox_tensor *paired(ox_tensor *t, int64_t heads) {
    const int64_t order[4] = {0, 2, 1, 3};
    ox_tensor *rows[8];
    int count = 0;
    for (int64_t h = 0; h < heads; h++)
        for (int i = 0; i < 4; i++) rows[count++] = ox_select(t, 0, 4 * h + order[i]);
    return ox_stack(rows, count, 0);
}

static void test_llama(void) {
    parts p = {{NULL}, {NULL}, 0};
    add_llama(&p, llama_names);
    add(&p, "lm_head.weight", 10, 8);
    add(&p, "model.layers.0.self_attn.rotary_emb.inv_freq", 0, 2);
    make_model("{\"model_type\":\"llama\"," LLAMA_SIZES ",\"head_dim\":null,\"rope_theta\":5000.0,"
               "\"rope_scaling\":{\"type\":\"linear\",\"factor\":4.0},\"bos_token_id\":1,"
               "\"eos_token_id\":[5,6],\"pad_token_id\":10,\"torch_dtype\":\"bfloat16\","
               "\"sliding_window\":null}",
               &p);
    write_text("generation_config.json", "{\"temperature\":0.6,\"top_k\":20}");
    write_text("tokenizer.json", some_tokenizer);
    write_text("tokenizer_config.json", "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"T\"},"
                                        "{\"name\":\"default\",\"template\":\"D\"}]}");
    ox_file *file = convert(NULL);
    has_text(file, "general.architecture", "llama");
    has_int(file, "llama.block_count", 1);
    has_int(file, "llama.context_length", 64);
    has_int(file, "llama.embedding_length", 8);
    has_int(file, "llama.feed_forward_length", 6);
    has_int(file, "llama.attention.head_count", 2);
    has_int(file, "llama.attention.head_count_kv", 1);
    has_int(file, "llama.attention.key_length", 4);
    has_int(file, "llama.rope.dimension_count", 4);
    has_int(file, "llama.vocab_size", 10);
    has_float(file, "llama.rope.freq_base", 5000);
    has_float(file, "llama.attention.layer_norm_rms_epsilon", 1e-5);
    has_text(file, "llama.rope.scaling.type", "linear");
    has_float(file, "llama.rope.scaling.factor", 4);
    has_int(file, "tokenizer.ggml.bos_token_id", 1);
    has_int(file, "tokenizer.ggml.eos_token_id", 5);
    has_no(file, "tokenizer.ggml.padding_token_id"); /* of ten words it is none */
    has_text(file, "tokenizer.huggingface.json", some_tokenizer);
    has_text(file, "tokenizer.chat_template", "D");
    has_text(file, "tokenizer.chat_template.tool_use", "T");
    has_float(file, "general.sampling.temp", 0.6);
    has_int(file, "general.sampling.top_k", 20);
    has_no(file, "llama.attention.sliding_window");
    CHECK(ox_file_count(file) == 12);
    has_tensor(file, "token_embd.weight", p.tensors[0]);
    has_tensor(file, "blk.0.attn_q.weight", paired(p.tensors[1], 2));
    has_tensor(file, "blk.0.attn_k.weight", paired(p.tensors[2], 1));
    has_tensor(file, "blk.0.attn_v.weight", p.tensors[3]);
    has_tensor(file, "blk.0.attn_output.weight", p.tensors[4]);
    has_tensor(file, "blk.0.ffn_gate.weight", p.tensors[5]);
    has_tensor(file, "blk.0.ffn_up.weight", p.tensors[6]);
    has_tensor(file, "blk.0.ffn_down.weight", p.tensors[7]);
    has_tensor(file, "blk.0.attn_norm.weight", p.tensors[8]);
    has_tensor(file, "blk.0.ffn_norm.weight", p.tensors[9]);
    has_tensor(file, "output_norm.weight", p.tensors[10]);
    has_tensor(file, "output.weight", p.tensors[11]);
    ox_file_close(file);
}

/* As transformers 5 spells it; one matrix for both ends; a text model inside another; bf16; no "model.". */
static void test_spellings(void) {
    parts p = {{NULL}, {NULL}, 0};
    static char bare[9][64];
    const char *names[9];
    for (int i = 0; i < 9; i++) {
        snprintf(bare[i], sizeof bare[i], "%s", llama_names[i] + 6);
        names[i] = bare[i];
    }
    add_llama(&p, names);
    p.names[0] = "embed_tokens.weight";
    p.names[10] = "norm.weight";
    add(&p, "lm_head.weight", 10, 8);
    for (int i = 0; i < p.count; i++) p.tensors[i] = ox_cast(p.tensors[i], OX_BF16);
    make_model(
        "{\"model_type\":\"other\",\"text_config\":{\"model_type\":\"llama\"," LLAMA_SIZES
        ",\"dtype\":\"bfloat16\",\"tie_word_embeddings\":true,\"rope_parameters\":{\"rope_theta\":100.0,"
        "\"rope_type\":\"llama3\",\"factor\":8.0,\"low_freq_factor\":1.0,\"high_freq_factor\":4.0,"
        "\"original_max_position_embeddings\":16}}}",
        &p);
    write_text("chat_template.jinja", "{{ x }}");
    ox_file *file = convert(NULL);
    has_text(file, "general.architecture", "llama");
    has_text(file, "tokenizer.chat_template", "{{ x }}");
    has_float(file, "llama.rope.freq_base", 100);
    has_no(file, "llama.rope.scaling.type");
    CHECK(!ox_file_has(file, "output.weight"));
    ox_tensor *t = ox_file_tensor(file, "blk.0.attn_q.weight"),
              *norm = ox_file_tensor(file, "blk.0.attn_norm.weight");
    CHECK(t && t->dtype == OX_BF16 && norm && norm->dtype == OX_F32);
    has_tensor(file, "blk.0.attn_q.weight", paired(ox_cast(p.tensors[1], OX_F32), 2));
    /* a turn of the first frequency takes 6.28 positions: 16/6.28 is between 1 and 4; of the second 62.8:
     * more than 16 */
    const double share = (16 / (2 * 3.14159265358979) - 1) / (4 - 1);
    const float factors[2] = {(float)(1 / ((1 - share) / 8 + share)), 8};
    ox_tensor *freqs = ox_file_tensor(file, "rope_freqs.weight");
    CHECK(freqs && ox_allclose(freqs, ox_from_floats(factors, OX_SHAPE(2), OX_F32), 1e-6, 0, false));
    ox_file_close(file);
}

/* ---- other transforms ---------------------------------------------------------------------------------- */

static void test_plus_one(void) {
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "model.embed_tokens.weight", 10, 8);
    add(&p, "model.layers.0.input_layernorm.weight", 0, 8);
    add(&p, "model.layers.0.input_layernorm.bias", 0, 8);
    add(&p, "model.layers.0.self_attn.q_proj.weight", 8, 8);
    make_model("{\"model_type\":\"nemotron\"," LLAMA_SIZES ",\"norm_eps\":0.5,\"partial_rotary_factor\":0.5}",
               &p);
    ox_file *file = convert(NULL);
    has_tensor(file, "blk.0.attn_norm.weight", ox_add(p.tensors[1], ox_number(1)));
    has_tensor(file, "blk.0.attn_norm.bias", p.tensors[2]);
    has_tensor(file, "blk.0.attn_q.weight", p.tensors[3]); /* no pairs */
    has_float(file, "nemotron.attention.layer_norm_epsilon", 0.5);
    has_int(file, "nemotron.rope.dimension_count", 2);
    ox_file_close(file);
}

static void test_gpt2(void) {
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "transformer.wte.weight", 10, 8);
    add(&p, "transformer.wpe.weight", 16, 8);
    add(&p, "transformer.h.0.attn.c_attn.weight", 8, 24);
    add(&p, "transformer.h.0.attn.c_attn.bias", 0, 24);
    add(&p, "transformer.h.0.attn.bias", 4, 4);
    make_model("{\"model_type\":\"gpt2\",\"n_embd\":8,\"n_head\":2,\"n_layer\":1,\"n_positions\":16,"
               "\"n_inner\":null,\"vocab_size\":10,\"layer_norm_epsilon\":1e-5}",
               &p);
    ox_file *file = convert(NULL);
    CHECK(ox_file_count(file) == 4);
    has_tensor(file, "blk.0.attn_qkv.weight", ox_t(p.tensors[2]));
    has_tensor(file, "blk.0.attn_qkv.bias", p.tensors[3]);
    has_tensor(file, "position_embd.weight", p.tensors[1]);
    has_int(file, "gpt2.feed_forward_length", 32);
    has_no(file, "gpt2.rope.freq_base");
    ox_file_close(file);
}

/* Rows of [groups][queries.., key, value] of size 2: all queries, all keys, all values. */
static void check_fused(const char *config, const char *name, const char *tensor, int64_t rows,
                        const int *order) {
    parts p = {{NULL}, {NULL}, 0};
    ox_tensor *blocks[16];
    add(&p, name, rows, 8);
    make_model(config, &p);
    ox_file *file = convert(NULL);
    for (int64_t i = 0; i < rows / 2; i++) blocks[i] = ox_narrow(p.tensors[0], 0, 2 * order[i], 2);
    has_tensor(file, tensor, ox_cat(blocks, (int)(rows / 2), 0));
    ox_file_close(file);
}

static void test_fused(void) {
    static const int neox[6] = {0, 3, 1, 4, 2, 5}, groups[8] = {0, 1, 4, 5, 2, 6, 3, 7},
                     one[6] = {0, 1, 2, 3, 4, 5};
    check_fused("{\"model_type\":\"gpt_neox\",\"hidden_size\":8,\"num_attention_heads\":2,"
                "\"num_hidden_layers\":1,\"rotary_pct\":0.5}",
                "gpt_neox.layers.0.attention.query_key_value.weight", "blk.0.attn_qkv.weight", 12, neox);
    check_fused("{\"model_type\":\"falcon\",\"hidden_size\":8,\"num_attention_heads\":4,\"num_kv_heads\":2,"
                "\"num_hidden_layers\":1,\"new_decoder_architecture\":true}",
                "transformer.h.0.self_attention.query_key_value.weight", "blk.0.attn_qkv.weight", 16, groups);
    check_fused("{\"model_type\":\"falcon\",\"hidden_size\":8,\"num_attention_heads\":4,\"num_kv_heads\":4,"
                "\"num_hidden_layers\":1,\"multi_query\":true}",
                "transformer.h.0.self_attention.query_key_value.weight", "blk.0.attn_qkv.weight", 12, one);
}

static void test_experts(void) {
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "model.layers.0.block_sparse_moe.experts.1.w1.weight", 6, 8);
    add(&p, "model.layers.0.block_sparse_moe.experts.0.w1.weight", 6, 8);
    add(&p, "model.layers.0.block_sparse_moe.gate.weight", 2, 8);
    make_model(
        "{\"model_type\":\"mixtral\"," LLAMA_SIZES ",\"num_local_experts\":2,\"num_experts_per_tok\":1}", &p);
    ox_tensor *pair[2] = {p.tensors[1], p.tensors[0]};
    ox_file *file = convert(NULL);
    has_tensor(file, "blk.0.ffn_gate_exps.weight", ox_stack(pair, 2, 0));
    has_tensor(file, "blk.0.ffn_gate_inp.weight", p.tensors[2]);
    has_int(file, "llama.expert_count", 2);
    has_int(file, "llama.expert_used_count", 1);
    ox_file_close(file);
    p.names[0] = "model.layers.0.block_sparse_moe.experts.2.w1.weight";
    make_model("{\"model_type\":\"mixtral\"," LLAMA_SIZES "}", &p);
    refuse(OX_ERR_FORMAT, "number 1 of those that make up blk.0.ffn_gate_exps.weight");

    parts q = {{NULL}, {NULL}, 0};
    add_shape(&q, "model.layers.0.mlp.experts.gate_up_proj", 2, 6, 8);
    add_shape(&q, "model.layers.0.mlp.experts.down_proj", 2, 8, 3);
    make_model("{\"model_type\":\"qwen3_moe\"," LLAMA_SIZES ",\"num_experts\":2,\"moe_intermediate_size\":3}",
               &q);
    file = convert(NULL);
    has_tensor(file, "blk.0.ffn_gate_exps.weight", ox_narrow(q.tensors[0], 1, 0, 3));
    has_tensor(file, "blk.0.ffn_up_exps.weight", ox_narrow(q.tensors[0], 1, 3, 3));
    has_tensor(file, "blk.0.ffn_down_exps.weight", q.tensors[1]);
    has_int(file, "qwen3moe.expert_feed_forward_length", 3);
    ox_file_close(file);
}

#define OSS                                                                                  \
    "{\"model_type\":\"gpt_oss\"," LLAMA_SIZES                                               \
    ",\"layer_types\":[\"sliding_attention\"],\"sliding_window\":7,\"quantization_config\":" \
    "{\"quant_method\":\"mxfp4\"}}"

static void test_oss(void) {
    parts p = {{NULL}, {NULL}, 0};
    add_shape(&p, "model.layers.0.mlp.experts.gate_up_proj", 2, 8, 6);
    add_shape(&p, "model.layers.0.mlp.experts.down_proj", 2, 3, 8);
    add(&p, "model.layers.0.mlp.experts.gate_up_proj_bias", 2, 6);
    add(&p, "model.layers.0.post_attention_layernorm.weight", 0, 8);
    make_model(OSS, &p);
    ox_file *file = convert(NULL);
    ox_tensor *turned = ox_transpose(p.tensors[0], 1, 2);
    has_tensor(file, "blk.0.ffn_gate_exps.weight", ox_slice(turned, 1, 0, OX_END, 2));
    has_tensor(file, "blk.0.ffn_up_exps.weight", ox_slice(turned, 1, 1, OX_END, 2));
    has_tensor(file, "blk.0.ffn_down_exps.weight", ox_transpose(p.tensors[1], 1, 2));
    has_tensor(file, "blk.0.ffn_up_exps.bias", ox_slice(p.tensors[2], 1, 1, OX_END, 2));
    has_tensor(file, "blk.0.post_attention_norm.weight", p.tensors[3]);
    has_int(file, "gpt-oss.attention.sliding_window", 7);
    const ox_file_meta pattern = ox_file_meta_find(file, "gpt-oss.attention.sliding_window_pattern");
    CHECK(pattern.count == 1 && ox_file_meta_element(file, &pattern, 0).i == 1);
    ox_file_close(file);
}

/* Blocks of 4-bit floats: their values must be those of the folder. */
static void test_mxfp4(void) {
    static const float values[16] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0f, -0.5, -1, -1.5, -2, -3, -4, -6};
    unsigned char blocks[4 * 2 * 16], scales[4 * 2];
    float expected[4 * 64], gate[2 * 64];
    for (int b = 0; b < 8; b++) {
        scales[b] = (unsigned char)(125 + b % 5);
        for (int i = 0; i < 32; i++) {
            const int code = (i * 7 + b * 3) % 16;
            unsigned char *at = &blocks[b * 16 + i / 2];
            *at = (unsigned char)(i % 2 ? *at | code << 4 : code);
            expected[b * 32 + i] = ldexpf(values[code], scales[b] - 127);
        }
    }
    for (int i = 0; i < 128; i++) gate[i] = expected[i / 64 * 128 + i % 64];
    parts p = {{NULL}, {NULL}, 0};
    const int64_t shape[4] = {1, 4, 2, 16};
    p.names[0] = "model.layers.0.mlp.experts.gate_up_proj_blocks";
    p.tensors[0] = ox_from_data(blocks, ox_shape_from(4, shape), OX_U8);
    p.names[1] = "model.layers.0.mlp.experts.gate_up_proj_scales";
    p.tensors[1] = ox_from_data(scales, ox_shape_from(3, shape), OX_U8);
    p.names[2] = "model.layers.0.mlp.experts.down_proj_blocks";
    p.tensors[2] = p.tensors[0];
    p.names[3] = "model.layers.0.mlp.experts.down_proj_scales";
    p.tensors[3] = p.tensors[1];
    p.count = 4;
    make_model(OSS, &p);
    ox_file *file = convert(NULL);
    ox_tensor *down = ox_file_tensor(file, "blk.0.ffn_down_exps.weight");
    CHECK(down && down->dtype == OX_MXFP4);
    has_tensor(file, "blk.0.ffn_down_exps.weight", ox_from_floats(expected, OX_SHAPE(1, 4, 64), OX_F32));
    has_tensor(file, "blk.0.ffn_gate_exps.weight", ox_from_floats(gate, OX_SHAPE(1, 2, 64), OX_F32));
    ox_file_close(file);
    p.count = 3;
    make_model(OSS, &p);
    refuse(OX_ERR_FORMAT, "has no scales beside it");
}

static void test_latent(void) {
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "model.layers.0.self_attn.kv_b_proj.weight", 2 * (3 + 2), 4);
    add(&p, "model.layers.1.mlp.up_proj.weight", 2, 2);
    add(&p, "model.layers.0.mlp.gate.e_score_correction_bias", 0, 4);
    make_model("{\"model_type\":\"deepseek_v3\"," LLAMA_SIZES ",\"kv_lora_rank\":4,\"q_lora_rank\":null,"
               "\"qk_nope_head_dim\":3,\"qk_rope_head_dim\":2,\"v_head_dim\":2,\"n_routed_experts\":4,"
               "\"num_nextn_predict_layers\":1,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,"
               "\"original_max_position_embeddings\":16,\"mscale\":1.0,\"mscale_all_dim\":0.5}}",
               &p);
    ox_file *file = convert(NULL);
    ox_tensor *heads = ox_reshape(p.tensors[0], OX_SHAPE(2, 5, 4));
    CHECK(ox_file_count(file) == 3); /* none of the layer that guesses */
    has_tensor(file, "blk.0.attn_k_b.weight", ox_transpose(ox_narrow(heads, 1, 0, 3), 1, 2));
    has_tensor(file, "blk.0.attn_v_b.weight", ox_narrow(heads, 1, 3, 2));
    has_tensor(file, "blk.0.exp_probs_b.bias", p.tensors[2]);
    has_int(file, "deepseek2.attention.head_count_kv", 1);
    has_int(file, "deepseek2.attention.key_length", 6);
    has_int(file, "deepseek2.attention.key_length_mla", 5);
    has_int(file, "deepseek2.rope.dimension_count", 2);
    has_no(file, "deepseek2.attention.q_lora_rank");
    has_float(file, "deepseek2.rope.scaling.yarn_log_multiplier", 0.05);
    const double full = 0.1 * log(4) + 1, half = 0.05 * log(4) + 1;
    has_float(file, "deepseek2.rope.scaling.yarn_attn_factor", full / half / full);
    has_float(file, "deepseek2.expert_weights_scale", 2.5); /* where nothing is said */
    ox_file_close(file);
    make_model("{\"model_type\":\"glm_moe_dsa\"," LLAMA_SIZES ",\"kv_lora_rank\":4,\"q_lora_rank\":null,"
               "\"qk_nope_head_dim\":3,\"qk_rope_head_dim\":2,\"v_head_dim\":2,\"n_routed_experts\":4,"
               "\"num_nextn_predict_layers\":1}",
               &p);
    file = convert(NULL);
    has_float(file, "glm-dsa.expert_weights_scale", 2.5);
    ox_file_close(file);
}

static void test_windows(void) {
    static const int gemma[4] = {1, 0, 1, 0}, qwen[4] = {0, 1, 1, 1}, letters[4] = {1, 1, 0, 1};
    static const struct {
        const char *config, *key;
        const int *sliding;
    } cases[] = {
        {"{\"model_type\":\"gemma2\",\"sliding_window\":5", "gemma2.attention.sliding_window_pattern", gemma},
        {"{\"model_type\":\"qwen2\",\"sliding_window\":5,\"use_sliding_window\":true,\"max_window_layers\":1",
         "qwen2.attention.sliding_window_pattern", qwen},
        {"{\"model_type\":\"exaone4\",\"sliding_window\":5,\"sliding_window_pattern\":\"LLG\"",
         "exaone4.attention.sliding_window_pattern", letters},
        {"{\"model_type\":\"qwen2\",\"sliding_window\":5,\"use_sliding_window\":false",
         "qwen2.attention.sliding_window", NULL}};
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "model.embed_tokens.weight", 10, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char config[600];
        snprintf(config, sizeof config,
                 "%s,\"hidden_size\":8,\"num_attention_heads\":2,\"num_hidden_layers\":4}", cases[i].config);
        make_model(config, &p);
        ox_file *file = convert(NULL);
        const ox_file_meta pattern = ox_file_meta_find(file, cases[i].key);
        CHECK((pattern.type == OX_FILE_META_ARRAY) == (cases[i].sliding != NULL));
        for (int64_t k = 0; k < pattern.count; k++)
            CHECK_MSG(ox_file_meta_element(file, &pattern, k).i == cases[i].sliding[k], "%s[%d]",
                      cases[i].key, (int)k);
        ox_file_close(file);
    }
}

static void test_others(void) {
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "roberta.embeddings.position_embeddings.weight", 10, 8);
    add(&p, "roberta.embeddings.LayerNorm.gamma", 0, 8);
    add(&p, "roberta.embeddings.position_ids", 1, 10);
    make_model("{\"model_type\":\"roberta\"," LLAMA_SIZES ",\"pad_token_id\":1,\"layer_norm_eps\":1e-12}",
               &p);
    ox_file *file = convert(NULL);
    has_tensor(file, "position_embd.weight", ox_slice(p.tensors[0], 0, 2, OX_END, 1));
    has_tensor(file, "token_embd_norm.weight", p.tensors[1]);
    has_int(file, "bert.context_length", 62);
    has_int(file, "bert.attention.causal", 0);
    ox_file_close(file);

    parts q = {{NULL}, {NULL}, 0};
    add(&q, "model.layers.0.mlp.gate_up_proj.weight", 12, 8);
    make_model("{\"model_type\":\"phi3\"," LLAMA_SIZES
               ",\"original_max_position_embeddings\":16,\"rope_scaling\":"
               "{\"type\":\"longrope\",\"long_factor\":[2,3.5],\"short_factor\":[1,1.5]}}",
               &q);
    file = convert(NULL);
    const float factors[2] = {2, 3.5};
    has_tensor(file, "rope_factors_long.weight", ox_from_floats(factors, OX_SHAPE(2), OX_F32));
    has_tensor(file, "blk.0.ffn_up.weight", q.tensors[0]);
    has_float(file, "phi3.rope.scaling.attn_factor", sqrt(1 + log(4) / log(16)));
    has_int(file, "phi3.rope.scaling.original_context_length", 16);
    ox_file_close(file);
}

/* ---- dtypes and the file ------------------------------------------------------------------------------- */

static bool stop(void *user, const char *tensor, int64_t done, int64_t count) {
    int *calls = (int *)user;
    return tensor && done <= count && ++*calls < 2;
}

/* An embedding has rows that no token of the tokenizer stands for: unused tokens do in GGUF files. */
static void test_padding(void) {
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "model.embed_tokens.weight", 10, 8);
    make_model("{\"model_type\":\"qwen2\"," LLAMA_SIZES "}", &p);
    write_text("tokenizer.json", "{\"model\":{\"type\":\"Unigram\",\"unk_id\":0,"
                                 "\"vocab\":[[\"?\",0],[\"a\",-1],[\"b\",-2]]}}");
    ox_file *file = convert(NULL);
    const ox_file_meta tokens = ox_file_meta_find(file, "tokenizer.ggml.tokens"),
                       types = ox_file_meta_find(file, "tokenizer.ggml.token_type"),
                       scores = ox_file_meta_find(file, "tokenizer.ggml.scores");
    CHECK(tokens.count == 10 && types.count == 10 && scores.count == 10);
    const ox_string last = ox_file_meta_element(file, &tokens, 9).text;
    CHECK(last.length == 6 && memcmp(last.data, "[PAD9]", 6) == 0);
    CHECK(ox_file_meta_element(file, &types, 9).i == OX_TOKEN_UNUSED);
    CHECK(ox_file_meta_element(file, &types, 2).i == OX_TOKEN_NORMAL);
    ox_file_close(file);
}

static void test_dtypes(void) {
    parts p = {{NULL}, {NULL}, 0};
    ox_llm_convert_desc desc;
    int calls = 0;
    add(&p, "model.embed_tokens.weight", 4, 64);
    add(&p, "model.layers.0.self_attn.v_proj.weight", 4, 8);
    add(&p, "model.norm.weight", 0, 8);
    make_model("{\"model_type\":\"qwen2\"," LLAMA_SIZES "}", &p);
    memset(&desc, 0, sizeof desc);
    desc.dtype = OX_Q8_0;
    desc.name = "a name";
    ox_file *file = convert(&desc);
    ox_tensor *embedding = ox_file_tensor(file, "token_embd.weight");
    CHECK(embedding && embedding->dtype == OX_Q8_0);
    CHECK(embedding && ox_allclose(ox_cast(embedding, OX_F32), p.tensors[0], 0.01, 1, false));
    ox_tensor *narrow = ox_file_tensor(file, "blk.0.attn_v.weight"),
              *norm = ox_file_tensor(file, "output_norm.weight");
    CHECK(narrow && narrow->dtype == OX_F16 && norm && norm->dtype == OX_F32);
    has_text(file, "general.name", "a name");
    has_int(file, "general.file_type", 7);
    ox_file_close(file);
    /* a GGUF file is a source too */
    char again[1300];
    snprintf(again, sizeof again, "%s.again", written);
    desc.dtype = OX_F32;
    desc.name = NULL;
    CHECK(ox_llm_convert(written, again, &desc) == OX_OK);
    file = ox_file_open(again, NULL);
    has_text(file, "general.name", "a name");
    has_tensor(file, "blk.0.attn_v.weight", p.tensors[1]);
    ox_file_close(file);
    (void)remove(again);
    desc.progress = stop;
    desc.user = &calls;
    (void)remove(written);
    CHECK(ox_llm_convert(folder, written, &desc) == OX_ERR_ARG && calls == 2);
    FILE *left = fopen(written, "rb");
    CHECK(!left);
    if (left) fclose(left);
    desc.progress = NULL;
    desc.dtype = OX_I32;
    CHECK(ox_llm_convert(folder, written, &desc) == OX_ERR_UNSUPPORTED);
    CHECK(ox_llm_convert(NULL, written, NULL) == OX_ERR_ARG &&
          ox_llm_convert(folder, NULL, NULL) == OX_ERR_ARG);
    ox_error_clear();
}

/* ---- what is refused ----------------------------------------------------------------------------------- */

static void test_refused(void) {
    static const struct {
        const char *config;
        ox_status status;
        const char *words;
    } cases[] = {
        {"{\"model_type\":\"no_such\"}", OX_ERR_UNSUPPORTED, "'no_such'"},
        {"{\"hidden_size\":8}", OX_ERR_FORMAT, "no model_type"},
        {"[1]", OX_ERR_FORMAT, "no object"},
        {"{\"model_type\":", OX_ERR_FORMAT, "JSON"},
        {"{\"model_type\":\"minicpm\",\"hidden_size\":8}", OX_ERR_FORMAT, "$heads is missing"},
        {"{\"model_type\":\"qwen2\",\"num_attention_heads\":0,\"num_hidden_layers\":1}", OX_ERR_FORMAT,
         "$heads is 0"},
        {"{\"model_type\":\"qwen2\",\"num_attention_heads\":\"x\"}", OX_ERR_FORMAT, "is no number"},
        {"{\"model_type\":\"qwen2\",\"hidden_size\":1e300," LLAMA_SIZES "}", OX_ERR_FORMAT, "32 bits"},
        {"{\"model_type\":\"qwen2\"," LLAMA_SIZES ",\"quantization_config\":{\"quant_method\":\"gptq\"}}",
         OX_ERR_UNSUPPORTED, "'gptq'"},
        {"{\"model_type\":\"qwen2\"," LLAMA_SIZES ",\"rope_scaling\":{\"type\":\"newest\"}}",
         OX_ERR_UNSUPPORTED, "'newest'"},
        {"{\"model_type\":\"phi3\"," LLAMA_SIZES ",\"rope_scaling\":{\"type\":\"su\",\"long_factor\":[1]}}",
         OX_ERR_FORMAT, "rope.long_factor"},
        {"{\"model_type\":\"llama\"," LLAMA_SIZES ",\"num_attention_heads\":3}", OX_ERR_FORMAT, NULL},
        {"{\"model_type\":\"llama\",\"num_attention_heads\":0.5,\"num_hidden_layers\":1}", OX_ERR_FORMAT,
         "$heads is 0.5"},
        {"{\"model_type\":\"gpt2\",\"n_head\":2,\"n_layer\":1}", OX_ERR_UNSUPPORTED,
         "'model.embed_tokens.weight' is none that is known of models of the type gpt2"},
    };
    parts p = {{NULL}, {NULL}, 0};
    add(&p, "model.embed_tokens.weight", 10, 8);
    add(&p, "model.layers.0.self_attn.q_proj.weight", 8, 8);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_model(cases[i].config, &p);
        if (cases[i].words) refuse(cases[i].status, cases[i].words);
    }
    add(&p, "model.layers.0.self_attn.surprise.weight", 2, 2);
    make_model("{\"model_type\":\"llama\"," LLAMA_SIZES "}", &p);
    refuse(OX_ERR_UNSUPPORTED, "'model.layers.0.self_attn.surprise.weight'");
    p.names[2] = "model.layers.1.self_attn.v_proj.weight";
    make_model("{\"model_type\":\"llama\"," LLAMA_SIZES "}", &p);
    refuse(OX_ERR_FORMAT, "is of layer 1, config.json says 1 layers");
    p.names[2] = "layers.0.self_attn.q_proj.weight";
    make_model("{\"model_type\":\"llama\"," LLAMA_SIZES "}", &p);
    refuse(OX_ERR_FORMAT, "are both blk.0.attn_q.weight");
    p.count = 2;
    p.tensors[1] = ox_narrow(p.tensors[1], 0, 0, 6);
    make_model("{\"model_type\":\"llama\"," LLAMA_SIZES "}", &p);
    refuse(OX_ERR_FORMAT, "rows that are no pairs");
    char path[1300];
    snprintf(path, sizeof path, "%s/config.json", folder);
    (void)remove(path);
    refuse(OX_ERR_IO, "config.json");
}

/* ---- llama2.c ------------------------------------------------------------------------------------------ */

static void put(FILE *file, int32_t value) {
    const uint32_t bits = (uint32_t)value;
    for (int i = 0; i < 4; i++) fputc((int)(bits >> (8 * i) & 255), file);
}

/* Sizes 8, 6, 1 layer, 2 heads, 1 of keys, 4 tokens, 16 positions; numbers 0, 1, 2 .. */
static void make_bin(const char *path, int32_t vocabulary, int numbers) {
    const int32_t sizes[7] = {8, 6, 1, 2, 1, vocabulary, 16};
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    if (!file) return;
    for (int i = 0; i < 7; i++) put(file, sizes[i]);
    for (int i = 0; i < numbers; i++) {
        const float value = (float)i;
        uint32_t bits;
        memcpy(&bits, &value, 4);
        put(file, (int32_t)bits);
    }
    fclose(file);
}

static void test_llama2c(void) {
    enum { ALL = 32 + 8 + 64 + 32 + 32 + 64 + 8 + 48 + 48 + 48 + 8 + 32 * 2 };
    char path[1300];
    snprintf(path, sizeof path, "%s/small.bin", folder);
    make_bin(path, 4, ALL);
    CHECK_MSG(ox_llm_convert(path, written, NULL) == OX_OK, "%s", ox_error_text());
    ox_file *file = ox_file_open(written, NULL);
    CHECK(ox_file_count(file) == 11);
    has_int(file, "llama.block_count", 1);
    has_int(file, "llama.context_length", 16);
    has_tensor(file, "token_embd.weight", ox_reshape(ox_arange(0, 32, 1, OX_F32), OX_SHAPE(4, 8)));
    has_tensor(file, "blk.0.attn_k.weight", ox_reshape(ox_arange(104, 136, 1, OX_F32), OX_SHAPE(4, 8)));
    has_tensor(file, "blk.0.ffn_down.weight", ox_reshape(ox_arange(288, 336, 1, OX_F32), OX_SHAPE(8, 6)));
    has_tensor(file, "output_norm.weight", ox_arange(384, 392, 1, OX_F32));
    ox_file_close(file);
    make_bin(path, -4, ALL);
    CHECK(ox_llm_convert(path, written, NULL) == OX_ERR_FORMAT && strstr(ox_error_text(), "output.weight"));
    ox_error_clear();
    make_bin(path, 4, ALL - 100);
    CHECK(ox_llm_convert(path, written, NULL) == OX_ERR_FORMAT);
    ox_error_clear();
    make_bin(path, 0, ALL);
    CHECK(ox_llm_convert(path, written, NULL) == OX_ERR_FORMAT && strstr(ox_error_text(), "size 5 is 0"));

    ox_error_clear();
    (void)remove(path);
}

/* ---- models of the reference data, where they are ------------------------------------------------------ */

static const char *data_folder(void) {
    const char *data = getenv("OX_TEST_DATA");
    return data && *data ? data : "../shared/data";
}

/* The converted folder's logits by this library, and those of transformers. */
static void check_logits(const char *name) {
    char path[1300];
    ox_llm_convert_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.dtype = OX_F32;
    snprintf(path, sizeof path, "%s/models/hf/%s", data_folder(), name);
    CHECK_MSG(ox_llm_convert(path, written, &desc) == OX_OK, "%s", ox_error_text());
    strcat(path, "/reference.safetensors");
    ox_file *reference = ox_file_open(path, NULL);
    ox_tensor *ids = reference ? ox_file_tensor(reference, "ids") : NULL,
              *logits = reference ? ox_file_tensor(reference, "logits") : NULL;
    ox_llm *model = ox_llm_open(written, NULL);
    ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
    CHECK_MSG(context && ids && logits, "%s", ox_error_text());
    if (context && ids && logits) {
        const int64_t count = ox_numel(ids), vocabulary = ox_llm_get_config(model)->vocabulary;
        int64_t wide[64];
        int32_t tokens[64];
        float *out = (float *)malloc((size_t)(count * vocabulary) * sizeof *out);
        CHECK(out && count <= 64 && ox_to_ints(ids, wide, count) == OX_OK);
        for (int64_t i = 0; i < count && i < 64; i++) tokens[i] = (int32_t)wide[i];
        CHECK(out && ox_llm_decode_all(context, tokens, count, out) == OX_OK);
        ox_tensor *got = out ? ox_from_floats(out, OX_SHAPE(count, vocabulary), OX_F32) : NULL;
        CHECK_MSG(got && ox_allclose(got, logits, 1e-4, 1e-3, false), "%s: other logits", name);
        free(out);
    }
    ox_llm_context_close(context);
    ox_llm_close(model);
    ox_file_close(reference);
}

static void test_data(void) {
    char path[1300];
    snprintf(path, sizeof path, "%s/models/hf/llama3/config.json", data_folder());
    FILE *probe = fopen(path, "rb");
    if (!probe) {
        check_skip("folders of models", "no models/hf in OX_TEST_DATA");
        return;
    }
    fclose(probe);
    check_logits("llama3"); /* three shards, bf16, llama3's rope, one matrix for both ends */
    snprintf(path, sizeof path, "%s/models/hf/gemma", data_folder());
    CHECK_MSG(ox_llm_convert(path, written, NULL) == OX_OK, "%s", ox_error_text());
    snprintf(path, sizeof path, "%s/models/hf/gpt_oss_mxfp4/config.json", data_folder());
    CHECK_MSG(ox_llm_convert(path, written, NULL) == OX_OK, "%s", ox_error_text());
    ox_file *file = ox_file_open(written, NULL);
    ox_tensor *t = file ? ox_file_tensor(file, "blk.1.ffn_down_exps.weight") : NULL;
    CHECK(t && t->dtype == OX_MXFP4);
    ox_file_close(file);
    snprintf(path, sizeof path, "%s/models/stories260K/stories260K.bin", data_folder());
    CHECK_MSG(ox_llm_convert(path, written, NULL) == OX_OK, "%s", ox_error_text());
    snprintf(path, sizeof path, "%s/models/stories260K/stories260K.gguf", data_folder());
    file = ox_file_open(written, NULL);
    ox_file *other = ox_file_open(path, NULL);
    CHECK(file && other);
    for (int64_t i = 0; i < ox_file_count(file); i++)
        if (ox_file_has(other, ox_file_name(file, i)))
            has_tensor(file, ox_file_name(file, i),
                       ox_cast(ox_file_tensor(other, ox_file_name(file, i)), OX_F32));
    ox_tokenizer *a = ox_tokenizer_open(file), *b = ox_tokenizer_open(other);
    int32_t ids[2][64];
    const char *text = "Once upon a time, there was a\nlittle girl.";
    const int64_t count = a && b ? ox_tokenizer_encode(a, text, -1, NULL, ids[0], 64) : -1;
    CHECK(count > 0 && count <= 64 && ox_tokenizer_encode(b, text, -1, NULL, ids[1], 64) == count &&
          memcmp(ids[0], ids[1], (size_t)count * sizeof **ids) == 0);
    ox_tokenizer_close(a);
    ox_tokenizer_close(b);
    ox_file_close(file);
    ox_file_close(other);
}

int main(void) {
    static void (*const tests[])(void) = {test_llama,   test_spellings, test_plus_one, test_gpt2,
                                          test_fused,   test_experts,   test_oss,      test_mxfp4,
                                          test_latent,  test_windows,   test_others,   test_dtypes,
                                          test_padding, test_refused,   test_llama2c,  test_data};
    begin_folders("source");
    (void)make_folder(folder);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        ox_scope scope = ox_scope_begin();
        tests[i]();
        ox_scope_end(&scope);
    }
    return end_folders("llm_source");
}
