/* test_llm_families.c - families of language models beside each other: what two of them compute must be the
 * same where one's weights are the other's in another form (fused, permuted, split, one expert for all). So
 * each way of the forward pass is held to another one. And all of them: a text at once, in batches and
 * token by token; encoders; parts that are missing. */
#include "oxtorch_llm.h"
#include "check.h"
#include "gguf_make.h"

#include <math.h>

enum { WIDTH = 32, HIDDEN = 24, HEADS = 4, KV_HEADS = 2, SIZE = 8, VOCABULARY = 40, LAYERS = 5, TEXT = 14 };
enum { QUERIES = HEADS * SIZE, KEYS = KV_HEADS * SIZE, ROOM = 120, LOGITS = TEXT * VOCABULARY };

/* ---- models: tensors and facts, by name ---------------------------------------------------------------- */

typedef struct made {
    char family[24], names[ROOM][48], keys[ROOM][64];
    ox_tensor *tensors[ROOM];
    ox_gguf_pair pairs[ROOM];
    double numbers[ROOM];
    int count, pair_count;
    bool copied; /* read into memory, not mapped */
} made;

static void put(made *m, const char *name, ox_tensor *t) {
    int i = 0;
    while (i < m->count && strcmp(m->names[i], name) != 0) i++;
    snprintf(m->names[i], sizeof m->names[i], "%s", name);
    m->tensors[i] = t;
    if (i == m->count) m->count++;
}

static ox_tensor *get(const made *m, const char *name) {
    for (int i = 0; i < m->count; i++)
        if (strcmp(m->names[i], name) == 0) return m->tensors[i];
    return NULL;
}

static void drop(made *m, const char *name) {
    for (int i = 0; i < m->count; i++) {
        if (strcmp(m->names[i], name) != 0) continue;
        m->count--;
        m->tensors[i] = m->tensors[m->count];
        memmove(m->names[i], m->names[m->count], sizeof m->names[i]);
        return;
    }
}

/* A fact of the family: a u32 where it is whole, else an f64. */
static void fact(made *m, const char *key, double value, bool whole) {
    int i = 0;
    while (i < m->pair_count && strcmp(m->keys[i], key) != 0) i++;
    snprintf(m->keys[i], sizeof m->keys[i], "%s", key);
    memset(&m->pairs[i], 0, sizeof m->pairs[i]);
    m->numbers[i] = value;
    m->pairs[i].type = whole ? OX_GGUF_U32 : OX_GGUF_F64;
    if (i == m->pair_count) m->pair_count++;
}

static const char *layer_name(int layer, const char *name) {
    static char names[8][48];
    static int at;
    at = (at + 1) % 8;
    snprintf(names[at], sizeof names[at], "blk.%d.%s", layer, name);
    return names[at];
}

static ox_tensor *matrix(int64_t rows, int64_t columns) {
    return ox_mul_number(ox_randn(OX_SHAPE(rows, columns), OX_F32), 1.5 / sqrt((double)columns));
}

static ox_tensor *norm(int64_t size) {
    return ox_add_number(ox_mul_number(ox_randn(OX_SHAPE(size), OX_F32), 0.25), 1);
}

static ox_tensor *bias(int64_t size) {
    return ox_mul_number(ox_randn(OX_SHAPE(size), OX_F32), 0.3);
}

/* A family of the plain kind: RMS norms before, biases of q, k, v, a gate. */
static void make_plain(made *m, const char *family) {
    memset(m, 0, sizeof *m);
    ox_manual_seed(7);
    snprintf(m->family, sizeof m->family, "%s", family);
    fact(m, "block_count", LAYERS, true);
    fact(m, "context_length", 64, true);
    fact(m, "embedding_length", WIDTH, true);
    fact(m, "feed_forward_length", HIDDEN, true);
    fact(m, "attention.head_count", HEADS, true);
    fact(m, "attention.head_count_kv", KV_HEADS, true);
    fact(m, "attention.layer_norm_rms_epsilon", 1e-6, false);
    fact(m, "attention.layer_norm_epsilon", 1e-6, false);
    put(m, "token_embd.weight", ox_randn(OX_SHAPE(VOCABULARY, WIDTH), OX_F32));
    put(m, "output_norm.weight", norm(WIDTH));
    put(m, "output.weight", matrix(VOCABULARY, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        put(m, layer_name(i, "attn_norm.weight"), norm(WIDTH));
        put(m, layer_name(i, "attn_q.weight"), matrix(QUERIES, WIDTH));
        put(m, layer_name(i, "attn_k.weight"), matrix(KEYS, WIDTH));
        put(m, layer_name(i, "attn_v.weight"), matrix(KEYS, WIDTH));
        put(m, layer_name(i, "attn_q.bias"), bias(QUERIES));
        put(m, layer_name(i, "attn_k.bias"), bias(KEYS));
        put(m, layer_name(i, "attn_v.bias"), bias(KEYS));
        put(m, layer_name(i, "attn_output.weight"), matrix(WIDTH, QUERIES));
        put(m, layer_name(i, "ffn_norm.weight"), norm(WIDTH));
        put(m, layer_name(i, "ffn_gate.weight"), matrix(HIDDEN, WIDTH));
        put(m, layer_name(i, "ffn_up.weight"), matrix(HIDDEN, WIDTH));
        put(m, layer_name(i, "ffn_down.weight"), matrix(WIDTH, HIDDEN));
    }
}

static ox_llm *open_made(made *m) {
    static char keys[ROOM][96];
    static uint32_t whole[ROOM];
    ox_file_entry entries[ROOM];
    ox_gguf_desc desc;
    ox_gguf_pair pairs[ROOM + 1];
    const char *path = gguf_path("families.gguf");
    memset(&desc, 0, sizeof desc);
    memset(entries, 0, sizeof entries);
    memset(pairs, 0, sizeof pairs);
    pairs[0].key = "general.architecture";
    pairs[0].type = OX_GGUF_STRING;
    pairs[0].count = -1;
    pairs[0].value = m->family;
    for (int i = 0; i < m->pair_count; i++) {
        snprintf(keys[i], sizeof keys[i], "%s.%s", m->family, m->keys[i]);
        pairs[i + 1] = m->pairs[i];
        pairs[i + 1].key = keys[i];
        whole[i] = (uint32_t)m->numbers[i];
        pairs[i + 1].value = m->pairs[i].type == OX_GGUF_U32 ? (const void *)&whole[i] : &m->numbers[i];
    }
    for (int i = 0; i < m->count; i++) {
        entries[i].name = m->names[i];
        entries[i].dtype = m->tensors[i]->dtype;
        entries[i].ndim = m->tensors[i]->ndim;
        memcpy(entries[i].shape, m->tensors[i]->shape, sizeof entries[i].shape);
    }
    desc.pairs = pairs;
    desc.pair_count = m->pair_count + 1;
    desc.entries = entries;
    desc.count = m->count;
    ox_gguf_writer *writer = ox_gguf_writer_open(path, &desc);
    CHECK_MSG(writer != NULL, "%s: %s", m->family, ox_error_text());
    for (int i = 0; writer && i < m->count; i++) CHECK(ox_gguf_writer_put(writer, m->tensors[i]) == OX_OK);
    CHECK(ox_gguf_writer_close(writer) == OX_OK);
    ox_file *file = m->copied ? ox_file_open_copy(path, NULL) : NULL;
    ox_llm *model = m->copied ? ox_llm_open_file(file) : ox_llm_open(path, NULL);
    ox_file_close(file);
    (void)remove(path);
    return model;
}

/* ---- logits -------------------------------------------------------------------------------------------- */

static const int32_t text[TEXT] = {3, 17, 39, 0, 8, 8, 25, 31, 2, 14, 30, 6, 21, 11};

static double distance(const float *a, const float *b, int count) {
    double most = 0, largest = 1e-30;
    for (int i = 0; i < count; i++) {
        const double d = fabs((double)a[i] - b[i]);
        most = check_worst(most, d);
        if (fabs((double)b[i]) > largest) largest = fabs((double)b[i]);
    }
    return most / largest;
}

/* Logits of the text at once, which those in batches of five, token by token and after rewinding must
 * equal. */
static void run(made *m, float *logits) {
    static float others[LOGITS];
    ox_llm *model = open_made(m);
    CHECK_MSG(model != NULL, "%s: %s", m->family, ox_error_text());
    memset(logits, 0, LOGITS * sizeof *logits);
    if (!model) return;
    ox_llm_context_desc desc;
    memset(&desc, 0, sizeof desc);
    ox_llm_context *context = ox_llm_context_open(model, &desc);
    CHECK_MSG(ox_llm_decode_all(context, text, TEXT, logits) == OX_OK, "%s: %s", m->family, ox_error_text());
    CHECK(ox_llm_rewind(context, TEXT / 2) == OX_OK);
    memcpy(others, logits, sizeof others);
    CHECK(ox_llm_decode_all(context, text + TEXT / 2, TEXT - TEXT / 2, others + TEXT / 2 * VOCABULARY) ==
          OX_OK);
    CHECK_MSG(distance(others, logits, LOGITS) < 1e-5, "%s: after rewinding %g", m->family,
              distance(others, logits, LOGITS));
    CHECK(ox_llm_rewind(context, 0) == OX_OK);
    for (int i = 0; i < TEXT; i++)
        CHECK(ox_llm_decode_one(context, text[i], others + i * VOCABULARY) == OX_OK);
    CHECK_MSG(distance(others, logits, LOGITS) < 1e-5, "%s: token by token %g", m->family,
              distance(others, logits, LOGITS));
    ox_llm_context_close(context);
    desc.batch = 5;
    context = ox_llm_context_open(model, &desc);
    CHECK(ox_llm_decode_all(context, text, TEXT, others) == OX_OK);
    CHECK_MSG(distance(others, logits, LOGITS) < 1e-5, "%s: in batches %g", m->family,
              distance(others, logits, LOGITS));
    ox_llm_context_close(context);
    ox_llm_close(model);
}

/* Whether two models compute the same; `scale`: the second one's logits are so many times the first one's. */
static void check_same(const char *what, made *a, made *b, double scale) {
    static float left[LOGITS], right[LOGITS];
    run(a, left);
    run(b, right);
    for (int i = 0; i < LOGITS; i++) left[i] = (float)(left[i] * scale);
    CHECK_MSG(distance(left, right, LOGITS) < 1e-5, "%s: %g apart", what, distance(left, right, LOGITS));
}

static void check_moved(const char *what, made *a, made *b) {
    static float left[LOGITS], right[LOGITS];
    run(a, left);
    run(b, right);
    CHECK_MSG(distance(left, right, LOGITS) > 1e-3, "%s moves nothing", what);
}

/* ---- forms of the same weights ------------------------------------------------------------------------- */

static made a, b;

static ox_tensor *joined(ox_tensor *x, ox_tensor *y, ox_tensor *z) {
    ox_tensor *parts[3] = {x, y, z};
    return ox_cat(parts, z ? 3 : 2, 0);
}

/* Rows of heads from halves (i, i + size / 2) to pairs (2i, 2i + 1). */
static ox_tensor *to_pairs(ox_tensor *t, int heads) {
    ox_shape shape = ox_shape_of(t);
    t = ox_transpose(ox_reshape(t, OX_SHAPE(heads, 2, SIZE / 2, ox_numel(t) / (heads * SIZE))), 1, 2);
    return ox_reshape(t, shape);
}

static void test_forms(void) {
    OX_SCOPE {
        make_plain(&a, "qwen2");
        b = a;
        snprintf(b.family, sizeof b.family, "phi3");
        for (int i = 0; i < LAYERS; i++) {
            put(&b, layer_name(i, "attn_qkv.weight"),
                joined(get(&a, layer_name(i, "attn_q.weight")), get(&a, layer_name(i, "attn_k.weight")),
                       get(&a, layer_name(i, "attn_v.weight"))));
            put(&b, layer_name(i, "attn_qkv.bias"),
                joined(get(&a, layer_name(i, "attn_q.bias")), get(&a, layer_name(i, "attn_k.bias")),
                       get(&a, layer_name(i, "attn_v.bias"))));
            put(&b, layer_name(i, "ffn_up.weight"),
                joined(get(&a, layer_name(i, "ffn_gate.weight")), get(&a, layer_name(i, "ffn_up.weight")),
                       NULL));
            static const char *const gone[] = {"attn_q.weight",  "attn_k.weight", "attn_v.weight",
                                               "attn_q.bias",    "attn_k.bias",   "attn_v.bias",
                                               "ffn_gate.weight"};
            for (int k = 0; k < 7; k++) drop(&b, layer_name(i, gone[k]));
        }
        check_same("fused q, k, v and gate", &a, &b, 1);
        b = a;
        snprintf(b.family, sizeof b.family, "llama");
        check_moved("rope of pairs, not halves", &a, &b);
        for (int i = 0; i < LAYERS; i++) {
            put(&b, layer_name(i, "attn_q.weight"), to_pairs(get(&a, layer_name(i, "attn_q.weight")), HEADS));
            put(&b, layer_name(i, "attn_k.weight"),
                to_pairs(get(&a, layer_name(i, "attn_k.weight")), KV_HEADS));
            put(&b, layer_name(i, "attn_q.bias"), to_pairs(get(&a, layer_name(i, "attn_q.bias")), HEADS));
            put(&b, layer_name(i, "attn_k.bias"), to_pairs(get(&a, layer_name(i, "attn_k.bias")), KV_HEADS));
        }
        check_same("rope of pairs with rows permuted", &a, &b, 1);
        b = a;
        fact(&b, "attention.sliding_window", 1000, true);
        check_same("a window wider than the text", &a, &b, 1);
        fact(&b, "attention.sliding_window", 4, true);
        check_moved("a window of 4", &a, &b);
        b = a;
        fact(&b, "rope.freq_base", 500, false);
        check_moved("the base of rope", &a, &b);
        b = a;
        put(&b, "rope_freqs.weight", ox_full(OX_SHAPE(SIZE / 2), 4, OX_F32));
        made c = a;
        fact(&c, "rope.scaling.factor", 4, false);
        check_same("factors of 4 and positions by 4", &b, &c, 1);
    }
}

static void test_scales(void) {
    OX_SCOPE {
        make_plain(&a, "granite");
        b = a;
        fact(&b, "logit_scale", 4, false);
        check_same("logits that are divided", &a, &b, 0.25);
        fact(&b, "logit_scale", 1, false);
        fact(&b, "embedding_scale", 3, false);
        put(&a, "token_embd.weight", ox_mul_number(get(&a, "token_embd.weight"), 3));
        check_same("embeddings that are scaled", &a, &b, 1);
        fact(&b, "residual_scale", 0.5, false);
        for (int i = 0; i < LAYERS; i++) {
            put(&a, layer_name(i, "attn_output.weight"),
                ox_mul_number(get(&a, layer_name(i, "attn_output.weight")), 0.5));
            put(&a, layer_name(i, "ffn_down.weight"),
                ox_mul_number(get(&a, layer_name(i, "ffn_down.weight")), 0.5));
        }
        check_same("sums that are scaled", &a, &b, 1);
        fact(&b, "attention.scale", 0.1, false);
        check_moved("the scale of scores", &a, &b);
        make_plain(&a, "llama");
        b = a;
        fact(&b, "attention.scale_by_layer", 1, true);
        for (int i = 0; i < 2 * LAYERS; i++) {
            const char *name = i % 2 ? "attn_q.bias" : "attn_q.weight";
            ox_tensor *t = get(&a, layer_name(i / 2, name));
            if (t) put(&a, layer_name(i / 2, name), ox_mul_number(t, 1.0 / (i / 2 + 1)));
        }
        check_same("scores that are scaled less from layer to layer", &a, &b, 1);
        make_plain(&a, "command-r");
        b = a;
        fact(&b, "logit_scale", 4, false);
        check_same("logits that are multiplied", &a, &b, 4);
    }
}

/* Rows of few bits that are no whole sixteen are the same in a file that was read, of which sixteen lie side
 * by side, as where they are mapped: with a bias and without. */
static void test_rows(void) {
    static float left[LOGITS], right[LOGITS];
    static const ox_dtype types[] = {OX_Q4_0, OX_Q8_0};
    for (int i = 0; i < 8; i++) {
        OX_SCOPE {
            make_plain(&a, "qwen2");
            put(&a, "output.weight", ox_cast(matrix(VOCABULARY, WIDTH), types[i % 2]));
            if (i & 2) put(&a, "output.bias", bias(VOCABULARY));
            b = a;
            b.copied = true;
            ox_set_exact(i < 4);
            if (i < 4) check_same("rows beyond the last sixteen", &a, &b, 1);
            for (int second = 0; second < 2; second++) {
                ox_llm *model = open_made(second ? &b : &a);
                ox_llm_context *context = ox_llm_context_open(model, NULL);
                for (int t = 0; t < TEXT; t++)
                    CHECK(ox_llm_decode_one(context, text[t],
                                            (second ? right : left) + t * VOCABULARY) == OX_OK);
                ox_llm_context_close(context);
                ox_llm_close(model);
            }
            CHECK_MSG(distance(left, right, LOGITS) < 1e-5, "rows token by token: %g apart",
                      distance(left, right, LOGITS));
            ox_set_exact(false);
        }
    }
}

/* A rope over no element of a head turns nothing; values that are turned as keys are. */
static void test_turns(void) {
    OX_SCOPE {
        make_plain(&a, "qwen2");
        b = a;
        fact(&b, "rope.freq_base", 1e30, false);
        fact(&a, "rope.dimension_count", 2, true);
        check_moved("a rope over two elements", &a, &b);
        fact(&a, "rope.dimension_count", 0, true);
        b = a;
        fact(&b, "rope.freq_base", 500, false);
        check_same("a rope over no element", &a, &b, 1);
        make_plain(&a, "qwen2");
        check_moved("whether there is a rope", &a, &b);
        b = a;
        fact(&b, "attention.turned_values", 1, true);
        check_moved("values that are turned", &a, &b);
        fact(&b, "rope.dimension_count", 0, true);
        fact(&a, "rope.dimension_count", 0, true);
        check_same("values that are turned by nothing", &a, &b, 1);
    }
}

/* ---- experts ------------------------------------------------------------------------------------------- */

enum { EXPERTS = 4 };

/* The dense feed-forward of a as experts that are all alike. */
static void to_experts(int used) {
    static const char *const names[] = {"ffn_gate", "ffn_up", "ffn_down"};
    fact(&b, "expert_count", EXPERTS, true);
    fact(&b, "expert_used_count", used, true);
    fact(&b, "expert_feed_forward_length", HIDDEN, true);
    for (int i = 0; i < LAYERS; i++) {
        for (int k = 0; k < 3; k++) {
            char dense[32], all[32];
            snprintf(dense, sizeof dense, "%s.weight", names[k]);
            snprintf(all, sizeof all, "%s_exps.weight", names[k]);
            ox_tensor *one = get(&a, layer_name(i, dense)), *parts[EXPERTS];
            for (int e = 0; e < EXPERTS; e++) parts[e] = one;
            put(&b, layer_name(i, all), ox_stack(parts, EXPERTS, 0));
            drop(&b, layer_name(i, dense));
        }
        put(&b, layer_name(i, "ffn_gate_inp.weight"), matrix(EXPERTS, WIDTH));
    }
}

static void test_experts(void) {
    static const char *const families[] = {"qwen3moe", "olmoe", "glm4moe"};
    static const char *const dense[] = {"qwen3", "qwen2", "qwen2"};
    for (int i = 0; i < 3; i++)
        for (int used = 1; used <= EXPERTS; used++)
            OX_SCOPE {
                make_plain(&a, dense[i]);
                b = a;
                snprintf(b.family, sizeof b.family, "%s", families[i]);
                to_experts(used);
                fact(&b, "expert_weights_norm", 1, true);
                if (i == 2) /* the norm has another name there */
                    for (int l = 0; l < LAYERS; l++) {
                        put(&b, layer_name(l, "post_attention_norm.weight"),
                            get(&a, layer_name(l, "ffn_norm.weight")));
                        drop(&b, layer_name(l, "ffn_norm.weight"));
                        put(&b, layer_name(l, "exp_probs_b.bias"), bias(EXPERTS));
                    }
                check_same("experts that are alike", &a, &b, 1);
                if (used > 1 && i == 0) {
                    for (int l = 0; l < LAYERS; l++)
                        put(&b, layer_name(l, "ffn_down_exps.weight"),
                            ox_mul_number(ox_randn(OX_SHAPE(EXPERTS, WIDTH, HIDDEN), OX_F32), 0.3));
                    check_moved("experts of their own", &a, &b);
                }
            }
}

/* Experts of queries and results that are alike: heads that are. */
static void test_query_experts(void) {
    OX_SCOPE {
        make_plain(&a, "qwen2");
        b = a;
        snprintf(b.family, sizeof b.family, "jetmoe");
        to_experts(2);
        for (int l = 0; l < LAYERS; l++) {
            ox_tensor *q = matrix(KEYS, WIDTH), *out = matrix(WIDTH, KEYS), *list[EXPERTS];
            for (int e = 0; e < EXPERTS; e++) list[e] = q;
            put(&b, layer_name(l, "attn_q_exps.weight"), ox_stack(list, EXPERTS, 0));
            for (int e = 0; e < EXPERTS; e++) list[e] = out;
            put(&b, layer_name(l, "attn_output_exps.weight"), ox_stack(list, EXPERTS, 0));
            put(&b, layer_name(l, "attn_gate_inp.weight"), matrix(EXPERTS, WIDTH));
            drop(&b, layer_name(l, "attn_q.weight"));
            drop(&b, layer_name(l, "attn_q.bias"));
            drop(&b, layer_name(l, "attn_output.weight"));
            q = ox_reshape(q, OX_SHAPE(KV_HEADS, 1, SIZE, WIDTH));
            q = ox_expand(q, OX_SHAPE(KV_HEADS, 2, SIZE, WIDTH));
            put(&a, layer_name(l, "attn_q.weight"), ox_reshape(q, OX_SHAPE(QUERIES, WIDTH)));
            drop(&a, layer_name(l, "attn_q.bias"));
            out = ox_reshape(ox_mul_number(out, 0.5), OX_SHAPE(WIDTH, KV_HEADS, 1, SIZE));
            out = ox_expand(out, OX_SHAPE(WIDTH, KV_HEADS, 2, SIZE));
            put(&a, layer_name(l, "attn_output.weight"), ox_reshape(out, OX_SHAPE(WIDTH, QUERIES)));
        }
        check_same("queries of experts that are alike", &a, &b, 1);
        ox_tensor *bias_of_all = ox_expand(bias(WIDTH), OX_SHAPE(EXPERTS, WIDTH));
        put(&a, layer_name(1, "attn_output.bias"), ox_contiguous(ox_select(bias_of_all, 0, 0)));
        put(&b, layer_name(1, "attn_output_exps.bias"), ox_contiguous(bias_of_all));
        check_same("with a bias", &a, &b, 1);
        fact(&b, "output_norm_epsilon", 0.5, false);
        check_moved("an epsilon of the last norm", &a, &b);
        fact(&b, "output_norm_epsilon", 1e-6, false);
        put(&b, layer_name(2, "attn_q_exps.weight"), ox_randn(OX_SHAPE(EXPERTS, KEYS, WIDTH), OX_F32));
        check_moved("queries of their own", &a, &b);
        drop(&b, layer_name(2, "attn_output_exps.weight"));
        CHECK(!open_made(&b) && strstr(ox_error_text(), "attn_output_exps.weight is missing"));
        ox_error_clear();
    }
}

/* A difference of heads that are alike is a part of what each has, and its norm takes the part away: it is
 * that of the row where there are two heads. `keys`: 2, or 1 for both. */
static void check_difference(int keys) {
    make_plain(&a, "qwen2");
    fact(&a, "attention.head_count", 2, true);
    fact(&a, "attention.head_count_kv", keys, true);
    fact(&a, "attention.key_length", SIZE, true);
    fact(&a, "attention.value_length", SIZE, true);
    fact(&a, "attention.layer_norm_rms_epsilon", 1e-12, false);
    for (int l = 0; l < LAYERS; l++) {
        ox_tensor *q = matrix(SIZE, WIDTH), *k = matrix(SIZE, WIDTH);
        put(&a, layer_name(l, "attn_q.weight"), joined(q, q, NULL));
        put(&a, layer_name(l, "attn_k.weight"), keys == 2 ? joined(k, k, NULL) : k);
        put(&a, layer_name(l, "attn_v.weight"), matrix(keys * SIZE, WIDTH));
        put(&a, layer_name(l, "attn_output.weight"), matrix(WIDTH, 2 * SIZE));
        drop(&a, layer_name(l, "attn_q.bias"));
        drop(&a, layer_name(l, "attn_k.bias"));
        drop(&a, layer_name(l, "attn_v.bias"));
    }
    b = a;
    snprintf(b.family, sizeof b.family, "diffllama");
    for (int l = 0; l < LAYERS; l++) {
        const double left = 1 - (0.8 - 0.6 * exp(-0.3 * l));
        put(&a, layer_name(l, "attn_sub_norm.weight"), ox_full(OX_SHAPE(2 * SIZE), left, OX_F32));
        put(&b, layer_name(l, "attn_lambda.weight"), ox_zeros(OX_SHAPE(4 * SIZE), OX_F32));
    }
    check_same("a difference of heads that are alike", &a, &b, 1);
    for (int l = 0; l < LAYERS; l++) { /* nothing is taken off: the second half of the heads is not seen */
        const double start = 0.8 - 0.6 * exp(-0.3 * l);
        ox_tensor *lambda = ox_zeros(OX_SHAPE(4 * SIZE), OX_F32);
        ox_fill_(ox_narrow(lambda, 0, 2 * SIZE, 2), sqrt(log1p(start) / 2));
        ox_fill_(ox_narrow(lambda, 0, 3 * SIZE, 2), sqrt(log1p(start) / 2));
        put(&b, layer_name(l, "attn_lambda.weight"), lambda);
        ox_tensor *q = get(&b, layer_name(l, "attn_q.weight"));
        put(&b, layer_name(l, "attn_q.weight"), joined(ox_narrow(q, 0, 0, SIZE), matrix(SIZE, WIDTH), NULL));
    }
    check_same("a difference from nothing", &a, &b, 1);
    put(&b, layer_name(0, "attn_lambda.weight"), ox_mul_number(ox_ones(OX_SHAPE(4 * SIZE), OX_F32), 0.3));
    check_moved("a difference", &a, &b);
    put(&b, layer_name(0, "attn_lambda.weight"), ox_ones(OX_SHAPE(4 * SIZE - 1), OX_F32));
    CHECK(!open_made(&b) && strstr(ox_error_text(), "attn_lambda.weight is"));
    ox_error_clear();
}

/* Scores of keys that are the same for all change nothing, nor do shares of residual rows that are 1; a rate
 * of a key's own does. */
static void test_key_scores(void) {
    OX_SCOPE {
        make_plain(&a, "qwen2");
        b = a;
        snprintf(b.family, sizeof b.family, "doge");
        for (int l = 0; l < LAYERS; l++) {
            put(&b, layer_name(l, "attn_key_score.weight"), matrix(KV_HEADS, KEYS));
            put(&b, layer_name(l, "attn_key_rate.weight"), ox_zeros(OX_SHAPE(KV_HEADS), OX_F32));
            put(&b, layer_name(l, "attn_residual.weight"), ox_ones(OX_SHAPE(WIDTH), OX_F32));
            put(&b, layer_name(l, "ffn_residual.weight"), ox_ones(OX_SHAPE(WIDTH), OX_F32));
        }
        check_same("scores that all keys have", &a, &b, 1);
        put(&b, layer_name(3, "attn_key_rate.weight"), ox_ones(OX_SHAPE(KV_HEADS), OX_F32));
        check_moved("scores of keys", &a, &b);
        put(&b, layer_name(3, "attn_key_rate.weight"), ox_zeros(OX_SHAPE(KV_HEADS), OX_F32));
        put(&b, layer_name(1, "ffn_residual.weight"), norm(WIDTH));
        check_moved("a share of residual rows", &a, &b);
        drop(&b, layer_name(2, "attn_key_rate.weight"));
        CHECK(!open_made(&b) && strstr(ox_error_text(), "attn_key_rate.weight is missing"));
        ox_error_clear();
    }
}

/* ---- latent attention ---------------------------------------------------------------------------------- */

enum { TURNED = 4, VALUE = 5 };

/* One matrix of keys and values, of a dtype, is the same as two: values as they lie in it, keys as they lie
 * transposed, in Q8_0 if the matrix has blocks and their rows have whole ones, else in f16. */
static void check_latent(int64_t latent, int64_t plain, ox_dtype dtype) {
    const ox_dtype narrow = dtype == OX_F32 ? OX_F32 : plain % 32 == 0 ? OX_Q8_0 : OX_F16;
    OX_SCOPE {
        make_plain(&a, "deepseek2");
        fact(&a, "attention.head_count_kv", 1, true);
        fact(&a, "attention.kv_lora_rank", latent, true);
        fact(&a, "attention.key_length", latent + TURNED, true);
        fact(&a, "attention.value_length", latent, true);
        fact(&a, "attention.key_length_mla", plain + TURNED, true);
        fact(&a, "attention.value_length_mla", VALUE, true);
        fact(&a, "rope.dimension_count", TURNED, true);
        for (int i = 0; i < LAYERS; i++) {
            static const char *const gone[] = {"attn_k.weight", "attn_v.weight", "attn_q.bias", "attn_k.bias",
                                               "attn_v.bias"};
            for (int k = 0; k < 5; k++) drop(&a, layer_name(i, gone[k]));
            put(&a, layer_name(i, "attn_q.weight"), matrix(HEADS * (plain + TURNED), WIDTH));
            put(&a, layer_name(i, "attn_kv_a_mqa.weight"), matrix(latent + TURNED, WIDTH));
            put(&a, layer_name(i, "attn_kv_a_norm.weight"), norm(latent));
            put(&a, layer_name(i, "attn_kv_b.weight"),
                ox_cast(matrix(HEADS * (plain + VALUE), latent), dtype));
            put(&a, layer_name(i, "attn_output.weight"), matrix(WIDTH, HEADS * VALUE));
        }
        b = a;
        for (int i = 0; i < LAYERS; i++) {
            ox_tensor *both =
                ox_unflatten(get(&a, layer_name(i, "attn_kv_b.weight")), 0, OX_SHAPE(HEADS, plain + VALUE));
            ox_tensor *keys = ox_cast(ox_narrow(both, 1, 0, plain), OX_F32);
            keys = ox_contiguous(ox_transpose(keys, 1, 2));
            put(&b, layer_name(i, "attn_k_b.weight"), ox_cast(keys, narrow));
            put(&b, layer_name(i, "attn_v_b.weight"), ox_contiguous(ox_narrow(both, 1, plain, VALUE)));
            drop(&b, layer_name(i, "attn_kv_b.weight"));
        }
        check_same("keys and values of the latent, split", &a, &b, 1);
        fact(&b, "rope.freq_base", 100, false);
        check_moved("rope of latent attention", &a, &b);
    }
}

static void test_latent(void) {
    check_latent(12, 6, OX_F32);
    ox_set_exact(true); /* codes of activations would differ between batches */
    check_latent(32, 6, OX_Q8_0);
    check_latent(32, 32, OX_Q8_0);
    ox_set_exact(false);
}

/* ---- many families at once ----------------------------------------------------------------------------- */

/* Families that run on the plain weights, with what they want beside: each agrees with itself in batches and
 * token by token (run). Those of a kind compute the same here, those of others do not. */
static const struct {
    const char *name;
    int kind;
} many[] = {{"llama", 0},   {"mistral3", 0},    {"internlm2", 0}, {"granite", 0},  {"xverse", 0},
            {"qwen2", 1},   {"exaone", 1},      {"orion", 2},     {"stablelm", 2}, {"gemma", 3},
            {"smollm3", 4}, {"arcee", 5},       {"minicpm", 6},   {"baichuan", 7}, {"cohere2", 8},
            {"plamo", 9},   {"starcoder2", 10}, {"olmo", 11},     {"gemma2", 12},  {"gemma3", 13},
            {"olmo2", 14},  {"exaone4", 15},    {"afmoe", 16},    {"qwen3", 17},   {"hunyuan-dense", 18}};
enum { MANY = sizeof many / sizeof *many };

static void test_many(void) {
    static float logits[MANY][LOGITS];
    for (int i = 0; i < MANY; i++)
        OX_SCOPE {
            make_plain(&a, many[i].name);
            fact(&a, "attention.sliding_window", 4, true);
            fact(&a, "rope.dimension_count", SIZE - 2, true);
            for (int l = 0; l < LAYERS && many[i].kind >= 12; l++) {
                put(&a, layer_name(l, "attn_q_norm.weight"), norm(SIZE));
                put(&a, layer_name(l, "attn_k_norm.weight"), norm(SIZE));
                if (many[i].kind >= 17) continue;
                put(&a, layer_name(l, "post_attention_norm.weight"), norm(WIDTH));
                put(&a, layer_name(l, "post_ffw_norm.weight"), norm(WIDTH));
            }
            run(&a, logits[i]);
            for (int k = 0; k < i; k++) {
                const double apart = distance(logits[i], logits[k], LOGITS);
                CHECK_MSG(many[i].kind == many[k].kind ? apart < 1e-5 : apart > 1e-4,
                          "%s and %s are %g apart", many[i].name, many[k].name, apart);
            }
        }
}

/* ---- encoders, refusals -------------------------------------------------------------------------------- */

static void test_encoder(void) {
    static float rows[TEXT * WIDTH], out[WIDTH];
    OX_SCOPE {
        make_plain(&a, "nomic-bert");
        put(&a, "token_embd_norm.weight", norm(WIDTH));
        put(&a, "token_types.weight", ox_randn(OX_SHAPE(2, WIDTH), OX_F32));
        for (int i = 0; i < LAYERS; i++) {
            put(&a, layer_name(i, "attn_output_norm.weight"), get(&a, layer_name(i, "attn_norm.weight")));
            put(&a, layer_name(i, "layer_output_norm.weight"), get(&a, layer_name(i, "ffn_norm.weight")));
            drop(&a, layer_name(i, "attn_norm.weight"));
            drop(&a, layer_name(i, "ffn_norm.weight"));
        }
        drop(&a, "output_norm.weight");
        drop(&a, "output.weight");
        ox_llm *model = open_made(&a);
        CHECK_MSG(model && ox_llm_get_config(model)->encoder && !ox_llm_get_config(model)->causal, "%s",
                  ox_error_text());
        ox_llm_context *context = ox_llm_context_open(model, NULL);
        ox_llm_embed_desc desc;
        memset(&desc, 0, sizeof desc);
        CHECK(ox_llm_decode(context, text, TEXT, rows) == OX_ERR_UNSUPPORTED &&
              strstr(ox_error_text(), "ox_llm_embed"));
        ox_error_clear();
        desc.pooling = OX_LLM_POOLING_NONE;
        CHECK(ox_llm_embed(context, text, TEXT, &desc, rows) == OX_OK);
        for (int kind = OX_LLM_POOLING_MODEL; kind < OX_LLM_POOLING_COUNT; kind++) {
            if (kind == OX_LLM_POOLING_NONE) continue;
            desc.pooling = (ox_llm_pooling)kind;
            CHECK(ox_llm_embed(context, text, TEXT, &desc, out) == OX_OK);
            for (int i = 0; i < WIDTH; i++) {
                double mean = 0;
                for (int t = 0; t < TEXT; t++) mean += rows[t * WIDTH + i] / TEXT;
                const double want = kind == OX_LLM_POOLING_FIRST  ? rows[i]
                                    : kind == OX_LLM_POOLING_LAST ? rows[(TEXT - 1) * WIDTH + i]
                                                                  : mean;
                CHECK(fabs(out[i] - want) < 1e-5);
            }
        }
        desc.normalize = true;
        CHECK(ox_llm_embed(context, text, TEXT, &desc, out) == OX_OK);
        double squares = 0;
        for (int i = 0; i < WIDTH; i++) squares += (double)out[i] * out[i];
        CHECK(fabs(squares - 1) < 1e-5);
        int32_t types[TEXT] = {0};
        for (int i = TEXT / 2; i < TEXT; i++) types[i] = 1;
        static float typed[TEXT * WIDTH];
        desc.pooling = OX_LLM_POOLING_NONE;
        desc.types = types;
        CHECK(ox_llm_embed(context, text, TEXT, &desc, typed) == OX_OK &&
              distance(typed, rows, TEXT * WIDTH) > 1e-3);
        types[3] = 2;
        CHECK(ox_llm_embed(context, text, TEXT, &desc, typed) == OX_ERR_INDEX &&
              strstr(ox_error_text(), "token 3"));
        ox_error_clear();
        ox_llm_context_close(context);
        ox_llm_close(model);
    }
}

/* What stands between the last norm and the output matrix: a matrix, the activation, a norm. */
static void test_head(void) {
    static float bare[LOGITS], headed[LOGITS], got[TEXT * WIDTH], expected[TEXT * WIDTH];
    OX_SCOPE {
        make_plain(&a, "modern-bert-decoder");
        for (int i = 0; i < LAYERS; i++) {
            drop(&a, layer_name(i, "ffn_gate.weight"));
            put(&a, layer_name(i, "ffn_up.weight"), matrix(2 * HIDDEN, WIDTH)); /* with the gate */
        }
        ox_tensor *output[2] = {ox_eye(WIDTH, WIDTH, OX_F32),
                                ox_zeros(OX_SHAPE(VOCABULARY - WIDTH, WIDTH), OX_F32)};
        put(&a, "output.weight", ox_cat(output, 2, 0)); /* logits are what it is given */
        run(&a, bare);
        b = a;
        ox_tensor *dense = matrix(WIDTH, WIDTH), *weight = norm(WIDTH);
        put(&b, "output_dense.weight", dense);
        put(&b, "output_dense_norm.weight", weight);
        run(&b, headed);
        ox_tensor *x = ox_narrow(ox_from_floats(bare, OX_SHAPE(TEXT, VOCABULARY), OX_F32), 1, 0, WIDTH);
        x = ox_gelu(ox_linear(ox_contiguous(x), dense, NULL));
        CHECK(ox_to_floats(ox_layer_norm(x, 1, weight, NULL, 1e-6), expected, TEXT * WIDTH) == OX_OK);
        for (int t = 0; t < TEXT; t++)
            memcpy(got + t * WIDTH, headed + t * VOCABULARY, WIDTH * sizeof *got);
        CHECK_MSG(distance(got, expected, TEXT * WIDTH) < 1e-5, "behind the last norm: %g apart",
                  distance(got, expected, TEXT * WIDTH));
    }
}

static void test_missing(void) {
    OX_SCOPE {
        make_plain(&a, "qwen2");
        for (int i = 0; i < a.count; i++) {
            b = a;
            char name[48];
            snprintf(name, sizeof name, "%s", a.names[i]);
            drop(&b, name);
            ox_llm *model = open_made(&b);
            const bool may =
                strstr(name, ".bias") || strcmp(name, "output.weight") == 0 || strstr(name, "ffn_gate");
            CHECK_MSG(may ? model != NULL
                          : !model && ox_error() == OX_ERR_NOT_FOUND && strstr(ox_error_text(), name),
                      "without %s: %s", name, ox_error_text());
            ox_error_clear();
            ox_llm_close(model);
        }
    }
}

int main(void) {
    test_forms();
    test_scales();
    test_rows();
    test_turns();
    test_experts();
    test_query_experts();
    test_key_scores();
    for (int keys = 1; keys <= 2; keys++) OX_SCOPE check_difference(keys);
    test_latent();
    test_many();
    test_encoder();
    test_head();
    test_missing();
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("llm_families");
}
