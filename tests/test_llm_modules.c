/* What sentence-transformers and PyLate have behind a model: pooling, and products behind it or of tokens,
 * from folders and in what a conversion writes; vectors against the same in public operations; MPNet. */
#include "llm_folder.h"

#define GEMMA                                                                                        \
    "{\"model_type\":\"gemma3_text\",\"hidden_size\":8,\"intermediate_size\":6,\"head_dim\":4,"      \
    "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"num_key_value_heads\":1,\"vocab_size\":10," \
    "\"max_position_embeddings\":64,\"query_pre_attn_scalar\":4,\"sliding_window\":4%s}"
#define MODULE(path, type) "{\"path\":\"" path "\",\"type\":\"sentence_transformers.models." type "\"}"
#define LATE(path) "{\"path\":\"" path "\",\"type\":\"pylate.models.Dense.Dense\"}"
#define PLAIN "\"activation_function\":\"torch.nn.Identity\","
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
                 {"{\"pooling_mode\":\"lasttoken\"}", 3},
                 {"{\"pooling_mode\":\"lasttoken\",\"pooling_mode_mean_tokens\":true}", 3},
                 {"{\"pooling_mode\":\"CLS\"}", 2},
                 {"{\"pooling_mode\":[\"cls\"]}", 2},
                 {"{\"pooling_mode\":null,\"pooling_mode_lasttoken\":1}", 3},
                 {"{\"word_embedding_dimension\":8}", 1},
                 {"{\"pooling_mode_mean_tokens\":false,\"pooling_mode_cls_token\":0}", 1}};
    static const char *const refused[] = {"{\"pooling_mode_max_tokens\":true}",
                                          "{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":1}",
                                          "{\"pooling_mode\":\"lmk\"}",
                                          "{\"pooling_mode\":[\"cls\",\"mean\"]}",
                                          "{\"pooling_mode\":[]}",
                                          "{\"pooling_mode\":5}",
                                          "{\"pooling_mode\":\"cls\\u0000\"}",
                                          "{\"pooling_mode_lmk\":true}"};
    static const char modules[] =
        "[{\"idx\":0,\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
        "{\"idx\":1,\"path\":\"%s\",\"type\":\"sentence_transformers.models.Pooling\"}]";
    static const char *const paths[] = {"../1_Pooling",
                                        "",
                                        "/",
                                        "..",
                                        "./1_Pooling",
                                        "/tmp/1_Pooling",
                                        "a/1_Pooling",
                                        "a\\\\b",
                                        "c:d",
                                        "1_Pooling\\u0000/..",
                                        "a234567890123456789012345678901234567890123456789012345678901234"};
    static const char *const lists[] = {"{}", "null", "[]",
                                        "{\"path\":\"1_Pooling\",\"type\":\"x.Pooling\"}"};
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
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            snprintf(text, sizeof text, modules, i % 2 ? "1_Pooling/" : "1_Pooling");
            write_text("modules.json", text);
            write_text("1_Pooling/config.json", kinds[i].config);
            ox_file *file = convert(NULL);
            has_int(file, "qwen3.pooling_type", kinds[i].number);
            ox_file_close(file);
        }
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
            write_text("1_Pooling/config.json", refused[i]);
            refuse(OX_ERR_UNSUPPORTED, "another pooling");
        }
        write_text("1_Pooling/config.json", "{\"pooling_mode\":\"cls\",\"pooling_mode\":\"mean\"}");
        refuse(OX_ERR_UNSUPPORTED, "a key is there twice");
        write_text("1_Pooling/config.json", "[]");
        refuse(OX_ERR_FORMAT, "1_Pooling/config.json is no object");
        remove_inner("1_Pooling/config.json");
        refuse(OX_ERR_UNSUPPORTED, "'1_Pooling'/config.json: there is no such file");
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) { /* what may leave the folder */
            snprintf(text, sizeof text, modules, paths[i]);
            write_text("modules.json", text);
            refuse(OX_ERR_UNSUPPORTED, "modules.json: the path");
        }
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            write_text("modules.json", lists[i]);
            refuse(OX_ERR_FORMAT, "no list of modules");
        }
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
        refuse(OX_ERR_UNSUPPORTED, "without biases, factors and activations");
        write_dense("2_Dense", "linear.Identity", first, NULL);
        file = convert(NULL);
        has_int(file, "gemma-embedding.embedding_length_out", 12);
        ox_file_close(file);
        embed(written, 12, got);
        write_dense("2_Dense", "activation.Tanh", ox_cast(first, OX_F64), ox_cast(bias, OX_F64));
        embed(folder, 12, got);
        for (int i = 0; i < 12; i++) CHECK(fabsf(got[i] - want[i]) < 1e-4f);
        write_dense("2_Dense", "linear.Identity", first, NULL);
        write_dense("3_Dense", "linear.Identity", ox_randn(OX_SHAPE(9, 12), OX_F32), NULL);
        write_text("modules.json", POOLED "," MODULE("2_Dense", "Dense") "," MODULE("3_Dense", "Dense") "]");
        embed(folder, 9, got);
        refuse(OX_ERR_UNSUPPORTED, "back to the model's width");
    }
}

static void not_opened(const char *path, ox_status status, const char *words) {
    ox_error_clear();
    const ox_llm *model = ox_llm_open(path, NULL);
    CHECK_MSG(!model && ox_error() == status && strstr(ox_error_text(), words), "expected %s, got %d %s",
              words, (int)ox_error(), ox_error_text());
    ox_error_clear();
}

/* What is not computed is said, whatever lies in the folder. */
static void test_refused(void) {
    static const struct {
        const char *members, *words;
    } options[] = {{"\"activation_function\":\"torch.nn.Softshrink\"", "an activation_function that"},
                   {"\"activation_function\":\"Tanh\"", "an activation_function that"},
                   {"\"activation_function\":\"mine.Identity\"", "an activation_function that"},
                   {"\"activation_function\":\"torch.\"", "an activation_function that"},
                   {"", "no activation_function"},
                   {"\"activation_function\":null", "no activation_function"},
                   {PLAIN "\"module_input_name\":\"token_embeddings\"", "anything but the pooled row"},
                   {PLAIN "\"module_input_name\":\"all_layer_embeddings\"", "anything but the pooled row"},
                   {PLAIN "\"module_output_name\":\"token_embeddings\"", "anything but the pooled row"},
                   {PLAIN "\"module_output_name\":5", "anything but the pooled row"},
                   {PLAIN "\"in_features\":7", "in_features"},
                   {PLAIN "\"out_features\":12.0", "out_features"},
                   {PLAIN "\"bias\":true", "a key is there twice"}};
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
        refuse(OX_ERR_UNSUPPORTED, "a folder in this one");
        write_text("modules.json", "[" MODULE("0_Transformer", "Transformer") "]");
        refuse(OX_ERR_UNSUPPORTED, "a folder of its own, '0_Transformer'");
        write_text("modules.json", "[" MODULE("", "Transformer") "," MODULE("", "Transformer") "]");
        refuse(OX_ERR_UNSUPPORTED, "Transformer' at its place");
        write_text("modules.json", POOLED ",{\"path\":\"2_Dense\",\"path\":\"3\",\"type\":\"x.Dense\"}]");
        refuse(OX_ERR_UNSUPPORTED, "a key of 'x.Dense' is there twice");
        write_text("modules.json", POOLED "," MODULE("2_Dense/", "Dense") "]");
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
            char text[300];
            snprintf(text, sizeof text, "{%s%s\"bias\":false}", options[i].members,
                     *options[i].members ? "," : "");
            write_text("2_Dense/config.json", text);
            refuse(OX_ERR_UNSUPPORTED, options[i].words);
        }
        write_text("2_Dense/config.json", "{\"activation_function\":\"torch.nn.Identity\"}");
        refuse(OX_ERR_FORMAT, "linear.bias is missing");
        write_text("2_Dense/config.json", "{" PLAIN "\"bias\":false,\"use_residual\":true}");
        refuse(OX_ERR_FORMAT, "residual.weight is missing");
        write_text("2_Dense/config.json", "{\"activation_function\":\"torch.nn.Tanh\",\"bias\":false,"
                                          "\"use_residual\":true}");
        refuse(OX_ERR_FORMAT, "residual.weight is missing");
        write_text("2_Dense/config.json", "{\"activation_function\":\"torch.nn.Identity\",\"bias\":0,"
                                          "\"module_output_name\":null,\"in_features\":8}");
        ox_file_close(convert(NULL));
        write_dense("2_Dense", "linear.Identity", weight, ox_randn(OX_SHAPE(12), OX_F32));
        write_text("2_Dense/config.json", "{\"activation_function\":\"torch.nn.Identity\",\"bias\":false}");
        refuse(OX_ERR_UNSUPPORTED, "more tensors");
        write_dense("2_Dense", "linear.Identity", ox_randn(OX_SHAPE(12, 9), OX_F32), NULL);
        not_opened(folder, OX_ERR_SHAPE, "dense_2.weight is [12,9], behind a row of 8");
        refuse(OX_ERR_SHAPE, "dense_2.weight is [12,9], behind a row of 8");
        write_dense("2_Dense", "linear.Identity", ox_zeros(OX_SHAPE(0, 8), OX_F32), NULL);
        refuse(OX_ERR_SHAPE, "dense_2.weight is [0,8]");
        write_dense("2_Dense", "linear.Identity", ox_zeros(OX_SHAPE(12, 8), OX_I32), NULL);
        refuse(OX_ERR_DTYPE, "dense_2.weight has dtype i32");
        write_dense("2_Dense", "activation.Tanh", weight, ox_randn(OX_SHAPE(12, 1), OX_F32));
        not_opened(folder, OX_ERR_SHAPE, "dense_2.bias is [12,1], for 12 rows");
        write_dense("2_Dense", "activation.Tanh", weight, ox_randn(OX_SHAPE(11), OX_F32));
        not_opened(folder, OX_ERR_SHAPE, "dense_2.bias is [11], for 12 rows");
        remove_inner("2_Dense/config.json");
        refuse(OX_ERR_UNSUPPORTED, "'2_Dense'/config.json: there is no such file");
        write_dense("2_Dense", "linear.Identity", weight, NULL);
        remove_inner("2_Dense/model.safetensors");
        refuse(OX_ERR_UNSUPPORTED, "2_Dense' are no safetensors");
    }
    remove_inner("modules.json");
}

/* ---- late interaction ---------------------------------------------------------------------------------- */

/* Rows of three tokens, or what they are pooled to. */
static void embed_tokens(const char *path, ox_llm_pooling pooling, bool normalize, bool late, float *out) {
    static const int32_t ids[3] = {3, 7, 1};
    const ox_llm_embed_desc desc = {pooling, normalize, NULL};
    ox_llm *model = ox_llm_open(path, NULL);
    ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
    CHECK_MSG(context && ox_llm_embed(context, ids, 3, &desc, out) == OX_OK, "%s", ox_error_text());
    if (model) CHECK(ox_llm_get_config(model)->late == late);
    ox_llm_context_close(context);
    ox_llm_close(model);
    ox_error_clear();
}

static void check_rows(const float *got, ox_tensor *want, const char *what) {
    float numbers[3 * 12];
    const int64_t count = ox_numel(want);
    CHECK(count <= 3 * 12 && ox_to_floats(want, numbers, count) == OX_OK);
    for (int64_t i = 0; i < count; i++)
        CHECK_MSG(fabsf(got[i] - numbers[i]) < 1e-4f, "%s: %g is %g", what, (double)got[i],
                  (double)numbers[i]);
}

/* A product of tokens with what it takes added to it, which is `residual` times as much; NULL = as it is. */
static void write_late(const char *name, ox_tensor *weight, ox_tensor *residual, const char *more) {
    static const char *const names[] = {"linear.weight", "residual.weight"};
    ox_tensor *tensors[2] = {weight, residual};
    char path[1300], text[300];
    write_dense(name, "linear.Identity", weight, NULL);
    snprintf(path, sizeof path, "%s/config.json", name);
    snprintf(text, sizeof text, "{%s\"bias\":false,\"use_residual\":true%s}",
             strstr(more, "activation_function") ? "" : PLAIN, more);
    write_text(path, text);
    snprintf(path, sizeof path, "%s/%s/model.safetensors", folder, name);
    CHECK(ox_save_safetensors(path, names, tensors, residual ? 2 : 1, NULL, 0, 0) == OX_OK);
}

/* As PyLate and sentence-transformers write it: a row for each token behind the products, with what is added
 * to them, from the folder and from GGUF. */
static void test_late(void) {
    static const char tokens[] = ",\"module_input_name\":\"token_embeddings\"";
    float hidden[24], got[36];
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        ox_manual_seed(5);
        add_layer(&p, true);
        make_model_as(&p, GEMMA, "");
        embed_tokens(folder, OX_LLM_POOLING_NONE, false, false, hidden);
        ox_tensor *x = ox_from_floats(hidden, OX_SHAPE(3, 8), OX_F32), *want;
        ox_tensor *wide = ox_randn(OX_SHAPE(12, 8), OX_F32), *other = ox_randn(OX_SHAPE(12, 8), OX_F32),
                  *square = ox_randn(OX_SHAPE(8, 8), OX_F32);
        embed_tokens(folder, OX_LLM_POOLING_NONE, true, false, got);
        want = ox_div(x, ox_sqrt(ox_sum(ox_mul(x, x), OX_DIMS(1), true)));
        check_rows(got, want, "hidden states of length one");
        write_late("2_Dense", square, NULL, "");
        write_late("3_Dense", wide, ox_cast(other, OX_F64), tokens);
        write_text("modules.json", "[" MODULE("", "Transformer") "," LATE("2_Dense") "," MODULE(
                                       "3_Dense", "Dense") "," MODULE("4_Normalize", "Normalize") "]");
        want = ox_add(ox_linear(x, square, NULL), x);
        want = ox_add(ox_linear(want, wide, NULL), ox_linear(want, other, NULL));
        embed_tokens(folder, OX_LLM_POOLING_NONE, false, true, got);
        check_rows(got, want, "tokens");
        embed_tokens(folder, OX_LLM_POOLING_MODEL, false, true, got);
        check_rows(got, ox_mean(want, OX_DIMS(0), false), "pooled");
        embed_tokens(folder, OX_LLM_POOLING_LAST, false, true, got);
        check_rows(got, ox_select(want, 0, 2), "last");
        embed_tokens(folder, OX_LLM_POOLING_NONE, true, true, got);
        check_rows(got, ox_div(want, ox_sqrt(ox_sum(ox_mul(want, want), OX_DIMS(1), true))), "of length one");
        refuse(OX_ERR_UNSUPPORTED, "back to the model's width");
        for (int square_one = 0; square_one < 2; square_one++) { /* added behind the activation */
            write_late("2_Dense", square_one ? square : wide, square_one ? NULL : other,
                       ",\"activation_function\":\"torch.nn.modules.activation.Tanh\"");
            write_text("modules.json", "[" MODULE("", "Transformer") "," LATE("2_Dense") "]");
            want = ox_add(ox_tanh(ox_linear(x, square_one ? square : wide, NULL)),
                          square_one ? x : ox_linear(x, other, NULL));
            embed_tokens(folder, OX_LLM_POOLING_NONE, false, true, got);
            check_rows(got, want, "behind the activation");
            refuse(OX_ERR_UNSUPPORTED, "without biases, factors and activations");
        }
        write_late("2_Dense", wide, square, ",\"activation_function\":\"torch.nn.modules.activation.Tanh\"");
        not_opened(folder, OX_ERR_SHAPE, "dense_2_residual.weight is [8,8] of f32, for 12 rows of 8");
        write_late("2_Dense", square, NULL, "");
        write_late("3_Dense", wide, ox_cast(other, OX_F64), tokens);
        write_text("modules.json", "[" MODULE("", "Transformer") "," LATE("2_Dense") "," MODULE(
                                       "3_Dense", "Dense") "," MODULE("4_Normalize", "Normalize") "]");
        /* one product, which GGUF has */
        write_text("modules.json", "[" MODULE("", "Transformer") "," LATE("3_Dense") "]");
        ox_file *file = convert(NULL);
        has_int(file, "gemma3.pooling_type", 0);
        has_int(file, "gemma3.embedding_length_out", 12);
        has_tensor(file, "dense_2.weight", ox_add(wide, other));
        ox_file_close(file);
        embed_tokens(written, OX_LLM_POOLING_NONE, false, true, got);
        check_rows(got, ox_linear(x, ox_add(wide, other), NULL), "from GGUF");
    }
    remove_inner("modules.json");
}

/* Products that stand where they are of other rows, and what could not be added to them. */
static void test_late_refused(void) {
    static const char pooled[] = ",\"module_input_name\":\"sentence_embedding\"";
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add_layer(&p, true);
        make_model_as(&p, GEMMA, "");
        ox_tensor *wide = ox_randn(OX_SHAPE(12, 8), OX_F32), *square = ox_randn(OX_SHAPE(8, 8), OX_F32);
        write_late("2_Dense", square, NULL, "");
        write_text("modules.json",
                   "[" MODULE("", "Transformer") "," LATE("2_Dense") "," MODULE("1_Pooling", "Pooling") "]");
        refuse(OX_ERR_UNSUPPORTED, "Pooling' at its place");
        write_text("modules.json", POOLED "," LATE("2_Dense") "]");
        refuse(OX_ERR_UNSUPPORTED, "without a pooling, each token's");
        write_late("2_Dense", square, NULL, pooled);
        ox_file_close(convert(NULL));
        write_text("modules.json", "[" MODULE("", "Transformer") "," LATE("2_Dense") "]");
        refuse(OX_ERR_UNSUPPORTED, "without a pooling, each token's");
        write_late("2_Dense", square, NULL, ",\"module_output_name\":\"sentence_embedding\"");
        refuse(OX_ERR_UNSUPPORTED, "without a pooling, each token's");
        write_late("2_Dense", square, square, "");
        refuse(OX_ERR_UNSUPPORTED, "more tensors");
        write_late("2_Dense", wide, ox_randn(OX_SHAPE(8, 12), OX_F32), "");
        refuse(OX_ERR_FORMAT, "another shape than the matrix that is added");
        write_late("2_Dense", wide, ox_zeros(OX_SHAPE(12, 8), OX_I32), "");
        refuse(OX_ERR_FORMAT, "is not of floats");
        write_text("modules.json", "[" MODULE("", "Transformer") "," MODULE("2_Dense", "Dense") "]");
        write_late("2_Dense", square, NULL, "");
        refuse(OX_ERR_UNSUPPORTED, "without a pooling, each token's");
    }
    remove_inner("modules.json");
}

/* ---- GGUF files ---------------------------------------------------------------------------------------- */

/* A file like `from`, which does not say how it pools, with more tensors and a number: it neither opens nor
 * is converted, or, OX_OK, both. */
static void check_gguf(ox_file *from, const char *key, int64_t value, const char *name, ox_tensor *t,
                       const char *other, ox_tensor *o, ox_status status, const char *words) {
    const char *names[2] = {name, other};
    ox_tensor *tensors[2] = {t, o};
    ox_file_entry entries[MOST];
    ox_gguf_pair pair = {key, OX_GGUF_I64, OX_GGUF_U8, 0, &value};
    ox_gguf_desc desc = {from, &pair, key ? 1 : 0, entries, ox_file_count(from)};
    char path[1300], good[1300];
    float row[8];
    snprintf(path, sizeof path, "%s-like.gguf", folder);
    snprintf(good, sizeof good, "%s-good.gguf", folder);
    for (int64_t i = 0; i < desc.count; i++) CHECK(ox_file_get_entry(from, i, &entries[i]) == OX_OK);
    for (int i = 0; i < 2 && names[i]; i++) {
        ox_file_entry *e = &entries[desc.count++];
        memset(e, 0, sizeof *e);
        e->name = names[i];
        e->dtype = tensors[i]->dtype;
        e->ndim = tensors[i]->ndim;
        for (int d = 0; d < e->ndim; d++) e->shape[d] = tensors[i]->shape[d];
    }
    ox_gguf_writer *writer = ox_gguf_writer_open(path, &desc);
    for (int64_t i = 0; writer && i < ox_file_count(from); i++)
        CHECK(ox_gguf_writer_put(writer, ox_file_tensor(from, entries[i].name)) == OX_OK);
    for (int i = 0; writer && i < 2 && names[i]; i++) CHECK(ox_gguf_writer_put(writer, tensors[i]) == OX_OK);
    CHECK_MSG(writer && ox_gguf_writer_close(writer) == OX_OK, "%s", ox_error_text());
    if (status != OX_OK) not_opened(path, status, words);
    ox_error_clear();
    CHECK(ox_llm_convert(path, good, NULL) == status && (status == OX_OK || strstr(ox_error_text(), words)));
    ox_error_clear();
    if (status == OX_OK) embed_tokens(good, OX_LLM_POOLING_MODEL, false, name != NULL, row);
    (void)remove(path);
    (void)remove(good);
}

/* Products that would be skipped, and sizes that are not theirs. */
static void test_gguf(void) {
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        add_layer(&p, true);
        make_model_as(&p, GEMMA, ",\"use_bidirectional_attention\":true");
        ox_file *file = convert(NULL);
        ox_tensor *m = ox_randn(OX_SHAPE(8, 8), OX_F32), *column = ox_randn(OX_SHAPE(8, 1), OX_F32),
                  *wide = ox_randn(OX_SHAPE(12, 8), OX_F32), *v = ox_randn(OX_SHAPE(8), OX_F32);
#define KEY(key) "gemma-embedding." key
#define SKIPPED OX_ERR_UNSUPPORTED, "of no product behind the model"
        check_gguf(file, NULL, 0, "dense_3.weight", m, NULL, NULL, SKIPPED);
        check_gguf(file, NULL, 0, "dense_2.weight", m, "dense_4.weight", m, SKIPPED);
        check_gguf(file, NULL, 0, "dense_2.weight", m, "dense_6.weight", m, SKIPPED);
        check_gguf(file, NULL, 0, "dense_2.bias", v, NULL, NULL, SKIPPED);
        check_gguf(file, NULL, 0, "dense_2.weight", m, "dense_12.weight", m, SKIPPED);
        check_gguf(file, KEY("dense_2_feat_in"), 8, NULL, NULL, NULL, NULL, SKIPPED);
        check_gguf(file, KEY("dense_3_feat_out"), 8, "dense_2.weight", m, NULL, NULL, SKIPPED);
#undef SKIPPED
        /* what llama.cpp writes of models without products, and of DeepSeek 4 */
        check_gguf(file, KEY("dense_2_feat_in"), 0, NULL, NULL, NULL, NULL, OX_OK, "");
        check_gguf(file, KEY("dense_2_feat_out"), 0, "dense_2.weight", m, NULL, NULL, OX_OK, "");
        check_gguf(file, KEY("dense_3_feat_out"), 0, "dense_2.weight", m, NULL, NULL, OX_OK, "");
        check_gguf(file, KEY("pooling_type"), UINT32_MAX, "dense_2.weight", m, NULL, NULL, OX_OK, "");
        check_gguf(file, KEY("embedding_length_out"), 32, NULL, NULL, NULL, NULL, OX_OK, "");
#define SIZE(words) OX_ERR_SHAPE, words
        check_gguf(file, NULL, 0, "dense_2.weight", wide, "dense_3.weight", wide,
                   SIZE("dense_3.weight is [12,8], behind a row of 12"));
        check_gguf(file, NULL, 0, "dense_2.weight", m, "dense_2.bias", column, SIZE("dense_2.bias is"));
        check_gguf(file, KEY("dense_2_feat_in"), 7, "dense_2.weight", m, NULL, NULL, SIZE("feat_in is 7"));
        check_gguf(file, KEY("dense_2_feat_out"), 7, "dense_2.weight", m, NULL, NULL, SIZE("feat_out is 7"));
        check_gguf(file, KEY("embedding_length_out"), 7, "dense_2.weight", m, NULL, NULL,
                   SIZE("embedding_length_out is 7"));
#undef SIZE
        check_gguf(file, KEY("embedding_length_out"), -5, "dense_2.weight", m, NULL, NULL, OX_ERR_FORMAT,
                   "embedding_length_out is -5");
        check_gguf(file, KEY("embedding_length_out"), UINT32_MAX, "dense_2.weight", m, NULL, NULL,
                   OX_ERR_FORMAT, "embedding_length_out is 4294967295");
#undef KEY
        ox_file_close(file);
    }
}

/* ---- MPNet --------------------------------------------------------------------------------------------- */

enum { TOKENS = 40 }; /* tokens, so that distances share buckets */

/* ids of [TOKENS, TOKENS]: the bucket of key t of query s. source: transformers MPNetEncoder */
static ox_tensor *mpnet_buckets(void) {
    int64_t ids[TOKENS * TOKENS];
    for (int s = 0; s < TOKENS; s++)
        for (int t = 0; t < TOKENS; t++) {
            const int far = abs(t - s);
            int bucket = far;
            if (far >= 8) bucket = 8 + (int)(log(far / 8.0) / log(128 / 8.0) * 8 + 1e-9);
            ids[s * TOKENS + t] = bucket + (t > s ? 16 : 0);
        }
    return ox_from_ints(ids, OX_SHAPE(TOKENS, TOKENS), OX_I64);
}

/* A norm over rows of weights [0] and biases [1]. */
static ox_tensor *mpnet_norm(ox_tensor *x, ox_tensor *const *t) {
    return ox_layer_norm(x, 1, t[0], t[1], 1e-12);
}

/* Rows [TOKENS, 8] of two heads as [2, TOKENS, 4]. */
static ox_tensor *mpnet_heads(ox_tensor *x) {
    return ox_permute(ox_reshape(x, OX_SHAPE(TOKENS, 2, 4)), OX_SHAPE(1, 0, 2));
}

/* all-mpnet-base-v2's kind: BERT with biases of distances, which layers share, and positions from 2 on. */
static void test_mpnet(void) {
#define PAIR(name, rows, columns)              \
    {name ".weight", rows, columns}, {         \
        name ".bias", 0, rows ? rows : columns \
    }
#define LAYER(name) "mpnet.encoder.layer.0." name
    static const struct {
        const char *name;
        int rows, columns;
    } list[] = {{"mpnet.embeddings.word_embeddings.weight", 10, 8},
                {"mpnet.embeddings.position_embeddings.weight", TOKENS + 2, 8},
                {"mpnet.encoder.relative_attention_bias.weight", 32, 2},
                PAIR("mpnet.embeddings.LayerNorm", 0, 8),
                PAIR(LAYER("attention.attn.q"), 8, 8),
                PAIR(LAYER("attention.attn.k"), 8, 8),
                PAIR(LAYER("attention.attn.v"), 8, 8),
                PAIR(LAYER("attention.attn.o"), 8, 8),
                PAIR(LAYER("attention.LayerNorm"), 0, 8),
                PAIR(LAYER("intermediate.dense"), 6, 8),
                PAIR(LAYER("output.dense"), 8, 6),
                PAIR(LAYER("output.LayerNorm"), 0, 8),
                {"lm_head.bias", 0, 10}};
#undef PAIR
#undef LAYER
    float want[TOKENS * 8], got[TOKENS * 8];
    int32_t ids[TOKENS];
    int64_t wide[TOKENS];
    ox_llm_embed_desc rows;
    memset(&rows, 0, sizeof rows);
    rows.pooling = OX_LLM_POOLING_NONE;
    OX_SCOPE {
        parts p = {{0}, {0}, 0};
        for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
            add(&p, list[i].name, list[i].rows, list[i].columns);
            p.tensors[i] = ox_randn(ox_shape_of(p.tensors[i]), OX_F32);
        }
        for (int i = 0; i < TOKENS; i++) wide[i] = ids[i] = (7 * i + 3) % 10;
        make_model(
            "{\"model_type\":\"mpnet\",\"hidden_size\":8,\"intermediate_size\":6,\"num_hidden_layers\":1,"
            "\"num_attention_heads\":2,\"vocab_size\":10,\"max_position_embeddings\":42,"
            "\"relative_attention_num_buckets\":32}",
            &p);
        ox_tensor **t = p.tensors;
        ox_tensor *x = ox_embedding(ox_from_ints(wide, OX_SHAPE(TOKENS), OX_I64), t[0]);
        x = mpnet_norm(ox_add(x, ox_narrow(t[1], 0, 2, TOKENS)), t + 3);
        ox_tensor *q = mpnet_heads(ox_linear(x, t[5], t[6])), *k = mpnet_heads(ox_linear(x, t[7], t[8])),
                  *v = mpnet_heads(ox_linear(x, t[9], t[10])),
                  *bias = ox_permute(ox_embedding(mpnet_buckets(), t[2]), OX_SHAPE(2, 0, 1)),
                  *scores = ox_matmul(ox_mul(q, ox_number(0.5)), ox_permute(k, OX_SHAPE(0, 2, 1))),
                  *mixed = ox_matmul(ox_softmax(ox_add(scores, bias), -1), v);
        mixed = ox_reshape(ox_permute(mixed, OX_SHAPE(1, 0, 2)), OX_SHAPE(TOKENS, 8));
        x = mpnet_norm(ox_add(x, ox_linear(mixed, t[11], t[12])), t + 13);
        ox_tensor *fed = ox_linear(ox_gelu(ox_linear(x, t[15], t[16])), t[17], t[18]);
        ox_to_floats(mpnet_norm(ox_add(x, fed), t + 19), want, TOKENS * 8);
        ox_file *file = convert(NULL);
        has_int(file, "mpnet.context_length", TOKENS);
        has_tensor(file, "blk.0.attn_rel_b.weight", t[2]);
        ox_file_close(file);
        for (int i = 0; i < 2; i++) {
            ox_llm *model = ox_llm_open(i ? written : folder, NULL);
            ox_llm_context *context = model ? ox_llm_context_open(model, NULL) : NULL;
            CHECK_MSG(context && ox_llm_embed(context, ids, TOKENS, &rows, got) == OX_OK, "%s",
                      ox_error_text());
            for (int j = 0; context && j < TOKENS * 8; j++) CHECK(fabsf(got[j] - want[j]) < 1e-4f);
            ox_llm_context_close(context);
            ox_llm_close(model);
        }
    }
}

int main(void) {
    begin_folders("modules");
    test_pooling();
    test_dense();
    test_refused();
    test_late();
    test_late_refused();
    test_gguf();
    test_mpnet();
    return end_folders("llm_modules");
}
