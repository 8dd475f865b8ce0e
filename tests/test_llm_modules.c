/* What sentence-transformers has behind a model: pooling, and products behind it, from folders and in what a
 * conversion writes; vectors against the same in public operations. */
#include "llm_folder.h"

#define GEMMA                                                                                        \
    "{\"model_type\":\"gemma3_text\",\"hidden_size\":8,\"intermediate_size\":6,\"head_dim\":4,"      \
    "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":1,\"vocab_size\":10," \
    "\"max_position_embeddings\":64,\"query_pre_attn_scalar\":4,\"sliding_window\":4%s}"
#define MODULE(path, type) "{\"path\":\"" path "\",\"type\":\"sentence_transformers.models." type "\"}"
#define POOLED "[" MODULE("", "Transformer") "," MODULE("1_Pooling", "Pooling")

static void make_inner(const char *name) {
    char path[1300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)make_folder(path);
}

static void remove_inner(const char *name) {
    char path[1300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)remove(path);
}

/* The folder of a product: linear.weight [rows, columns], and a bias; both are given. */
static void write_dense(const char *name, const char *activation, ox_tensor *weight, ox_tensor *bias) {
    static const char *const names[] = {"linear.weight", "linear.bias"};
    ox_tensor *tensors[2] = {weight, bias};
    char path[1300], config[100], text[300];
    make_inner(name);
    snprintf(text, sizeof text,
             "{\"in_features\":%d,\"out_features\":%d,\"bias\":%s,"
             "\"activation_function\":\"torch.nn.modules.%s\"}",
             (int)weight->shape[1], (int)weight->shape[0], bias ? "true" : "false", activation);
    snprintf(config, sizeof config, "%s/config.json", name);
    write_text(config, text);
    snprintf(path, sizeof path, "%s/%s/model.safetensors", folder, name);
    CHECK(ox_save_safetensors(path, names, tensors, bias ? 2 : 1, NULL, 0, 0) == OX_OK);
}

/* ---- pooling, activations ------------------------------------------------------------------------------ */

static void test_pooling(void) {
    static const struct {
        const char *config;
        int number;
    } kinds[] = {{"{\"pooling_mode_mean_tokens\":true,\"pooling_mode_cls_token\":false}", 1},
                 {"{\"pooling_mode_cls_token\":true}", 2},
                 {"{\"pooling_mode\":\"lasttoken\"}", 3}};
    static const char modules[] =
        "[{\"idx\":0,\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
        "{\"idx\":1,\"path\":\"%s\",\"type\":\"sentence_transformers.models.Pooling\"}]";
    static const char config[] = "{\"model_type\":\"qwen3\"," SIZES "}";
    char text[400], path[1300];
    parts p = {{0}, {0}, 0};
    snprintf(path, sizeof path, "%s/1_Pooling", folder);
    OX_SCOPE {
        add(&p, "model.embed_tokens.weight", 10, 8);
        make_model(config, &p);
        (void)make_folder(path);
        snprintf(text, sizeof text, modules, "1_Pooling");
        write_text("modules.json", text);
        for (int i = 0; i < 3; i++) {
            write_text("1_Pooling/config.json", kinds[i].config);
            ox_file *file = convert(NULL);
            has_int(file, "qwen3.pooling_type", kinds[i].number);
            ox_file_close(file);
        }
        write_text("1_Pooling/config.json", "{\"pooling_mode_max_tokens\":true}");
        refuse(OX_ERR_UNSUPPORTED, "another pooling");
        write_text("1_Pooling/config.json",
                   "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":true}");
        refuse(OX_ERR_UNSUPPORTED, "another pooling");
        write_text("1_Pooling/config.json", "[]");
        refuse(OX_ERR_FORMAT, "1_Pooling/config.json is no object");
        /* what leaves the folder is not followed */
        snprintf(text, sizeof text, modules, "../1_Pooling");
        write_text("modules.json", text);
        ox_file *file = convert(NULL);
        has_no(file, "qwen3.pooling_type");
        ox_file_close(file);
    }
    remove_inner("modules.json");
    ox_trim();
    CHECK_MSG(ox_memory_get_stats().bytes_in_use == 0, "%zu bytes are left",
              ox_memory_get_stats().bytes_in_use);
}

/* The pooled row of three tokens; `count` numbers. */
static void embed(const char *path, int count, float *out) {
    static const int32_t ids[3] = {3, 7, 1};
    ox_llm *model = ox_llm_open(path, NULL);
    ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
    CHECK_MSG(context && ox_llm_embed(context, ids, 3, NULL, out) == OX_OK, "%s", ox_error_text());
    if (model) CHECK(ox_llm_get_config(model)->embedding == count);
    ox_llm_context_close(context);
    ox_llm_close(model);
    ox_error_clear();
}

/* Two products as EmbeddingGemma has them, and one with a bias and an activation as LaBSE: what is pooled
 * times their matrices. GGUF has the first. */
static void test_dense(void) {
    float pooled[8], got[12], want[12];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        ox_manual_seed(5);
        add_layer(&p, true);
        make_model_as(&p, GEMMA, ",\"use_bidirectional_attention\":true");
        make_inner("1_Pooling");
        write_text("1_Pooling/config.json", "{\"pooling_mode_mean_tokens\":true}");
        write_text("modules.json", POOLED "]");
        embed(folder, 8, pooled);
        ox_tensor *x = ox_from_floats(pooled, OX_SHAPE(1, 8), OX_F32), *bias = ox_randn(OX_SHAPE(12), OX_F32),
                  *first = ox_randn(OX_SHAPE(12, 8), OX_F32), *second = ox_randn(OX_SHAPE(8, 12), OX_F32);
        write_dense("2_Dense", "linear.Identity", first, NULL);
        write_dense("3_Dense", "linear.Identity", second, NULL);
        write_text("modules.json", POOLED "," MODULE("2_Dense", "Dense") "," MODULE(
                                       "3_Dense", "Dense") "," MODULE("4_Normalize", "Normalize") "]");
        ox_to_floats(ox_linear(ox_linear(x, first, NULL), second, NULL), want, 8);
        embed(folder, 8, got);
        for (int i = 0; i < 8; i++) CHECK(fabsf(got[i] - want[i]) < 1e-4f);
        ox_file *file = convert(NULL);
        has_text(file, "general.architecture", "gemma-embedding");
        has_int(file, "gemma-embedding.dense_2_feat_in", 8);
        has_int(file, "gemma-embedding.dense_2_feat_out", 12);
        has_int(file, "gemma-embedding.dense_3_feat_in", 12);
        has_no(file, "gemma-embedding.embedding_length_out");
        has_tensor(file, "dense_2.weight", first);
        has_tensor(file, "dense_3.weight", second);
        ox_file_close(file);
        embed(written, 8, got);
        for (int i = 0; i < 8; i++) CHECK(fabsf(got[i] - want[i]) < 1e-4f);
        write_dense("2_Dense", "activation.Tanh", first, bias);
        write_text("modules.json", POOLED "," MODULE("2_Dense", "Dense") "]");
        ox_to_floats(ox_tanh(ox_linear(x, first, bias)), want, 12);
        embed(folder, 12, got);
        for (int i = 0; i < 12; i++) CHECK(fabsf(got[i] - want[i]) < 1e-4f);
        refuse(OX_ERR_UNSUPPORTED, "without biases and activations");
        write_dense("2_Dense", "linear.Identity", first, NULL);
        file = convert(NULL);
        has_int(file, "gemma-embedding.embedding_length_out", 12);
        ox_file_close(file);
        embed(written, 12, got);
        write_dense("3_Dense", "linear.Identity", ox_randn(OX_SHAPE(9, 12), OX_F32), NULL);
        write_text("modules.json", POOLED "," MODULE("2_Dense", "Dense") "," MODULE("3_Dense", "Dense") "]");
        embed(folder, 9, got);
        refuse(OX_ERR_UNSUPPORTED, "back to the model's width");
    }
}

/* What is not computed is said, whatever lies in the folder. */
static void test_refused(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add_layer(&p, true);
        make_model_as(&p, GEMMA, "");
        ox_tensor *weight = ox_randn(OX_SHAPE(12, 8), OX_F32);
        write_dense("2_Dense", "linear.Identity", weight, NULL);
        write_text("modules.json", "[" MODULE("2_Dense", "Dense") "]");
        refuse(OX_ERR_UNSUPPORTED, "Dense' at its place");
        write_text("modules.json",
                   POOLED "," MODULE("3_Normalize", "Normalize") "," MODULE("2_Dense", "Dense") "]");
        refuse(OX_ERR_UNSUPPORTED, "Dense' at its place");
        write_text("modules.json", POOLED "," MODULE("2_CNN", "CNN") "]");
        refuse(OX_ERR_UNSUPPORTED, "CNN' at its place");
        write_text("modules.json", POOLED "," MODULE("../2_Dense", "Dense") "]");
        refuse(OX_ERR_UNSUPPORTED, "in a folder of this one");
        write_text("modules.json", POOLED "," MODULE("2_Dense", "Dense") "]");
        write_text("2_Dense/config.json", "{\"activation_function\":\"torch.nn.Softshrink\"}");
        refuse(OX_ERR_UNSUPPORTED, "an activation_function that");
        write_text("2_Dense/config.json", "{}");
        refuse(OX_ERR_UNSUPPORTED, "no activation_function");
        write_text("2_Dense/config.json",
                   "{\"module_input_name\":\"token_embeddings\",\"activation_function\":\"Identity\"}");
        refuse(OX_ERR_UNSUPPORTED, "anything but the pooled row");
        write_text("2_Dense/config.json", "{\"bias\":true,\"activation_function\":\"Identity\"}");
        refuse(OX_ERR_FORMAT, "linear.bias is missing");
        write_dense("2_Dense", "linear.Identity", ox_randn(OX_SHAPE(12, 9), OX_F32), NULL);
        CHECK(!ox_llm_open(folder, NULL) && ox_error() == OX_ERR_SHAPE && strstr(ox_error_text(), "dense_2"));
        ox_error_clear();
        write_dense("2_Dense", "activation.Tanh", weight, ox_randn(OX_SHAPE(11), OX_F32));
        CHECK(!ox_llm_open(folder, NULL) && ox_error() == OX_ERR_SHAPE && strstr(ox_error_text(), "bias"));
        ox_error_clear();
        remove_inner("2_Dense/config.json");
        refuse(OX_ERR_UNSUPPORTED, "no activation_function");
        write_dense("2_Dense", "linear.Identity", weight, NULL);
        remove_inner("2_Dense/model.safetensors");
        refuse(OX_ERR_UNSUPPORTED, "2_Dense' are no safetensors");
    }
    remove_inner("modules.json");
}

int main(void) {
    begin_folders("modules");
    test_pooling();
    test_dense();
    test_refused();
    return end_folders("llm_modules");
}
