/* test_llm_importance.c - importance matrices: files of both formats, read, made, cut and hostile; what a
 * model multiplies with, heard. OX_QEMU: short enough to be emulated. */
#include "oxtorch_llm.h"

#include "check.h"
#include "llm_make.h"
#include "quantize_make.h"

/* ---- importance files ---------------------------------------------------------------------------------- */

static void put_floats(gguf_bytes *b, const float *x, int count) {
    for (int i = 0; i < count; i++) gguf_number(b, gguf_float_bits(x[i]), 4);
}

static void put_old_entry(gguf_bytes *b, const char *name, int calls, const float *x, int count) {
    gguf_number(b, strlen(name), 4);
    gguf_put(b, name, strlen(name));
    gguf_number(b, (uint64_t)calls, 4);
    gguf_number(b, (uint64_t)count, 4);
    put_floats(b, x, count);
}

static void write_bytes(const char *path, const gguf_bytes *b, size_t count) {
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(b->data, 1, count, file) == count);
    if (file) fclose(file);
}

static bool opens(const char *path) {
    ox_llm_importance *m = ox_llm_importance_open(path);
    const bool well = m != NULL;
    CHECK(well == (ox_error() == OX_OK));
    ox_llm_importance_close(m);
    return well;
}

static void put_pair(gguf_make *g, const char *name, const float *sums, int columns, int matrices,
                     float count) {
    const int64_t shape[2] = {matrices, columns}, ones[2] = {matrices, 1};
    gguf_bytes b = {NULL, 0, 0}, c = {NULL, 0, 0};
    char full[80];
    put_floats(&b, sums, columns * matrices);
    for (int i = 0; i < matrices; i++) put_floats(&c, &count, 1);
    snprintf(full, sizeof full, "%s.in_sum2", name);
    gguf_tensor(g, full, 0, 2, shape, b.data, b.count);
    snprintf(full, sizeof full, "%s.counts", name);
    if (count >= 0) gguf_tensor(g, full, 0, 2, ones, c.data, c.count);
    free(b.data);
    free(c.data);
}

/* Weighted tensors of a quantized file are those that the means give. */
static void check_weighted(const char *from, const char *to, const float *means) {
    ox_file *a = ox_file_open(from, NULL), *b = ox_file_open(to, NULL);
    OX_SCOPE {
        ox_tensor *x = a ? ox_file_tensor(a, "blk.1.ffn_up.weight") : NULL;
        ox_tensor *y = b ? ox_file_tensor(b, "blk.1.ffn_up.weight") : NULL;
        CHECK_MSG(x && y && ox_equal(y, ox_llm_quantize_tensor(x, y->dtype, means, 1)), "%s",
                  ox_error_text());
        CHECK(x && y && !ox_equal(y, ox_llm_quantize_tensor(x, y->dtype, NULL, 1)));
        CHECK(b && ox_file_meta_int(b, "quantize.imatrix.chunks_count", 0) == 5);
        CHECK(b && ox_file_meta_int(b, "quantize.imatrix.entries_count", 0) == 2);
        CHECK(b && ox_file_meta_find(b, "quantize.imatrix.dataset").text.length == 4);
        CHECK(b && ox_file_meta_find(b, "quantize.imatrix.file").text.length == 6);
    }
    ox_file_close(a);
    ox_file_close(b);
}

static void test_importance_files(void) {
    const char *from = gguf_path("quantize_from.gguf"), *to = gguf_path("quantize_to.gguf");
    const char *path = gguf_path("importance");
    float means[256], sums[256];
    draw_state = 21;
    make_importance(means, 256);
    make_file(from, 2, "llama", 0, 8, 8, true, 256);
    for (int format = 0; format < 3; format++) {
        for (int i = 0; i < 256; i++) sums[i] = means[i] * (format ? 64.0f : 4.0f);
        if (format == 0) {
            gguf_bytes b = {NULL, 0, 0};
            gguf_number(&b, 2, 4);
            put_old_entry(&b, "blk.1.ffn_up.weight", 4, sums, 256);
            put_old_entry(&b, "blk.0.attn_k.weight", 4, sums, 256);
            gguf_number(&b, 5, 4);
            gguf_number(&b, 4, 4);
            gguf_put(&b, "text", 4);
            write_bytes(path, &b, b.count);
            free(b.data);
        } else if (format == 1) {
            gguf_make g;
            memset(&g, 0, sizeof g);
            gguf_text(&g, "general.type", "imatrix");
            gguf_array(&g, "imatrix.datasets", GGUF_TEXT, 1);
            gguf_string(&g.keys, "text", 4);
            gguf_u32(&g, "imatrix.chunk_count", 5);
            put_pair(&g, "blk.1.ffn_up.weight", sums, 256, 1, 64);
            put_pair(&g, "blk.0.attn_k.weight", sums, 256, 1, 64);
            CHECK(gguf_write(&g, path) == 0);
        } else { /* what is read is saved */
            ox_llm_importance *m = ox_llm_importance_open(path);
            CHECK(ox_llm_importance_save(m, path, NULL, 0) == OX_OK);
            ox_llm_importance_close(m);
        }
        ox_llm_quantize_desc desc = desc_of("Q4_K_M");
        ox_llm_importance *m = ox_llm_importance_open(path);
        CHECK_MSG(m != NULL, "%s", ox_error_text());
        desc.importance = m;
        desc.importance_name = "a.gguf";
        CHECK_MSG(ox_llm_quantize(from, to, &desc) == OX_OK, "%s", ox_error_text());
        check_weighted(from, to, means);
        ox_llm_importance_close(m);
        ox_error_clear();
    }
    remove(from);
    remove(to);
    remove(path);
}

/* A file of another size than the weights: refused, but for embeddings. */
static void test_importance_sizes(void) {
    const char *from = gguf_path("quantize_from.gguf"), *to = gguf_path("quantize_to.gguf");
    const char *path = gguf_path("importance");
    static const char *const names[] = {"token_embd.weight", "blk.0.attn_k.weight"};
    float sums[128] = {1};
    make_file(from, 2, "llama", 0, 8, 8, true, 256);
    for (int i = 0; i < 2; i++) {
        gguf_bytes b = {NULL, 0, 0};
        gguf_number(&b, 1, 4);
        put_old_entry(&b, names[i], 1, sums, 128);
        write_bytes(path, &b, b.count);
        free(b.data);
        ox_llm_quantize_desc desc = desc_of("Q4_0");
        ox_llm_importance *m = ox_llm_importance_open(path);
        desc.importance = m;
        const bool done = ox_llm_quantize(from, to, &desc) == OX_OK;
        if (i == 0)
            CHECK_MSG(done, "%s", ox_error_text());
        else
            check_refused(done, OX_ERR_FORMAT, "128 columns");
        ox_llm_importance_close(m);
        ox_error_clear();
    }
    remove(from);
    remove(to);
    remove(path);
}

static void test_hostile_importance(void) {
    const char *path = gguf_path("importance");
    static const float good[4] = {1, 2, 0, 4},
                       bad[][4] = {{1, -2, 0, 1}, {1, NAN, 0, 1}, {1, 2, INFINITY, 1}};
    gguf_bytes b = {NULL, 0, 0};
    gguf_number(&b, 2, 4);
    put_old_entry(&b, "a", 1, good, 4);
    put_old_entry(&b, "bc", 0, good, 4);
    for (size_t cut = 0; cut < b.count; cut++) { /* every truncation */
        write_bytes(path, &b, cut);
        CHECK_MSG(!opens(path), "%d bytes", (int)cut);
        ox_error_clear();
    }
    write_bytes(path, &b, b.count);
    CHECK(opens(path));
    for (size_t at = 0; at < b.count; at++) /* every field with large and negative values */
        for (int k = 0; k < 3; k++) {
            const unsigned char was = b.data[at];
            b.data[at] = k == 0 ? 255 : k == 1 ? 127 : 0;
            write_bytes(path, &b, b.count);
            (void)opens(path);
            ox_error_clear();
            b.data[at] = was;
        }
    for (int i = 0; i < 4; i++) { /* numbers that are no sums; a name twice */
        b.count = 0;
        gguf_number(&b, 2, 4);
        put_old_entry(&b, "a", 1, good, 4);
        put_old_entry(&b, i < 3 ? "b" : "a", 1, i < 3 ? bad[i] : good, 4);
        write_bytes(path, &b, b.count);
        CHECK(!opens(path));
        check_refused(false, OX_ERR_FORMAT, i < 3 ? "sum" : "twice");
    }
    free(b.data);
    for (int i = 0; i < 4; i++) { /* counts that are missing, negative, of another number; no entries */
        gguf_make g;
        memset(&g, 0, sizeof g);
        gguf_text(&g, "general.type", "imatrix");
        if (i < 2) put_pair(&g, "a", i ? bad[0] : good, 4, 1, i ? 1.0f : -1.0f);
        if (i == 2) {
            const int64_t shape[1] = {4}, three[1] = {3};
            gguf_tensor(&g, "a.in_sum2", 0, 1, shape, good, 16);
            gguf_tensor(&g, "a.counts", 0, 1, three, good, 12);
        }
        CHECK(gguf_write(&g, path) == 0);
        CHECK_MSG(!opens(path), "%d", i);
        ox_error_clear();
    }
    check_refused(ox_llm_importance_open(gguf_path("no such file")) != NULL, OX_ERR_IO, "no such file");
    check_refused(ox_llm_importance_open(NULL) != NULL, OX_ERR_ARG, "path");
    remove(path);
}

/* ---- importance that is heard -------------------------------------------------------------------------- */

/* The inputs of a layer's first products are the normalized embeddings: their squares are known. */
static void check_heard(const char *path, const model *m, const int32_t *tokens, int count) {
    ox_file *file = ox_file_open(path, NULL);
    CHECK_MSG(file && ox_file_count(file) == 2 * 7, "%s", ox_error_text());
    OX_SCOPE {
        ox_tensor *sums = file ? ox_file_tensor(file, "blk.0.attn_q.weight.in_sum2") : NULL;
        ox_tensor *counts = file ? ox_file_tensor(file, "blk.0.attn_q.weight.counts") : NULL;
        CHECK(counts && ox_numel(counts) == 1 && ((float *)ox_data(counts))[0] == (float)count);
        const int width = m->s.width;
        for (int i = 0; sums && i < width; i++) {
            double sum = 0;
            for (int t = 0; t < count; t++) {
                const float *x = m->embedding + tokens[t] * width;
                double squares = 0;
                for (int k = 0; k < width; k++) squares += (double)x[k] * (double)x[k];
                const double v = (double)x[i] / sqrt(squares / width + 1e-5) * (double)m->layer[0][NORM][i];
                sum += v * v;
            }
            const double got = (double)((float *)ox_data(sums))[i];
            CHECK_MSG(fabs(got - sum) <= 1e-4 * sum, "column %d: %g, not %g", i, got, sum);
        }
        CHECK(sums && ox_numel(sums) == width);
        ox_tensor *down = file ? ox_file_tensor(file, "blk.0.ffn_down.weight.in_sum2") : NULL;
        CHECK(down && ox_numel(down) == m->s.hidden);
    }
    if (file) CHECK(ox_file_meta_int(file, "imatrix.chunk_size", 0) == 6);
    if (file) CHECK(ox_file_meta_int(file, "imatrix.chunk_count", 0) == 2);
    ox_file_close(file);
}

static void test_collect(void) {
    const char *path = gguf_path("quantize_model.gguf"), *heard = gguf_path("importance.gguf");
    static const int32_t tokens[12] = {1, 5, 9, 4, 22, 31, 3, 8, 8, 15, 7, 30};
    gguf_make g;
    model m;
    memset(&g, 0, sizeof g);
    add_model(&g, &m, tiny);
    CHECK(gguf_write(&g, path) == 0);
    ox_llm *llm = ox_llm_open(path, NULL), *other = ox_llm_open(path, NULL);
    ox_llm_context *context = ox_llm_context_open(llm, NULL), *second = ox_llm_context_open(other, NULL);
    ox_llm_importance *a = ox_llm_importance_collect(llm), *b = ox_llm_importance_collect(other);
    CHECK_MSG(a && b && context && second, "%s", ox_error_text());
    check_refused(ox_llm_importance_save(a, heard, "x", 6) == OX_OK, OX_ERR_ARG, "nothing was heard");
    CHECK(ox_llm_decode(context, tokens, 7, NULL) == OX_OK);
    CHECK(ox_llm_decode(second, tokens, 3, NULL) == OX_OK); /* of another model */
    CHECK(ox_llm_decode(context, tokens + 7, 5, NULL) == OX_OK);
    CHECK(ox_llm_importance_stop(a) == OX_OK);
    CHECK(ox_llm_decode(context, tokens, 2, NULL) == OX_OK); /* not heard any more */
    CHECK_MSG(ox_llm_importance_save(a, heard, "text", 6) == OX_OK, "%s", ox_error_text());
    check_heard(heard, &m, tokens, 12);
    CHECK(opens(heard));
    ox_llm_context_close(context);
    ox_llm_context_close(second);
    ox_llm_close(llm);
    ox_llm_close(other);
    ox_llm_importance_close(a);
    ox_llm_importance_close(b); /* still listens */
    free_model(&m);
    remove(path);
    remove(heard);
}

/* ---- experts ------------------------------------------------------------------------------------------- */

/* A layer whose attention adds nothing, so that its experts see the normalized embeddings. All embeddings are
 * above 0 in their first column, where the router of the last expert is far below 0: it is never chosen. */
enum { VOCABULARY = 20, WIDTH = 32, HIDDEN = 64, EXPERTS = 5, CHOSEN = 2 };
typedef struct mixture {
    float embedding[VOCABULARY * WIDTH], norm[WIDTH], router[EXPERTS * WIDTH];
    float gate[EXPERTS * HIDDEN * WIDTH], up[EXPERTS * HIDDEN * WIDTH], down[EXPERTS * WIDTH * HIDDEN];
    float merge[WIDTH * WIDTH], other[WIDTH * WIDTH];
} mixture;

static void put_matrices(gguf_make *g, const char *name, float *x, double scale, int count, int rows,
                         int columns) {
    const int64_t shape[3] = {count, rows, columns};
    const int first = count > 0  ? 0
                      : rows > 0 ? 1
                                 : 2,
              all = (count ? count : 1) * (rows ? rows : 1) * columns;
    gguf_bytes b = {NULL, 0, 0};
    for (int i = 0; i < all && scale > 0; i++) x[i] = (float)scale * normal();
    put_floats(&b, x, all);
    gguf_tensor(g, name, 0, 3 - first, shape + first, b.data, b.count);
    free(b.data);
}

static void write_mixture(const char *path, mixture *m) {
    gguf_make g;
    memset(&g, 0, sizeof g);
    memset(m, 0, sizeof *m);
    draw_state = 5;
    gguf_text(&g, "general.architecture", "llama");
    gguf_u32(&g, "llama.block_count", 1);
    gguf_u32(&g, "llama.context_length", 64);
    gguf_u32(&g, "llama.embedding_length", WIDTH);
    gguf_u32(&g, "llama.feed_forward_length", HIDDEN);
    gguf_u32(&g, "llama.attention.head_count", 2);
    gguf_u32(&g, "llama.expert_count", EXPERTS);
    gguf_u32(&g, "llama.expert_used_count", CHOSEN);
    gguf_f32(&g, "llama.attention.layer_norm_rms_epsilon", 1e-5f);
    for (int i = 0; i < VOCABULARY * WIDTH; i++) m->embedding[i] = i % WIDTH ? normal() : 3;
    for (int i = 0; i < EXPERTS * WIDTH; i++) m->router[i] = normal();
    for (int i = 0; i < EXPERTS; i++) m->router[i * WIDTH] = i == EXPERTS - 1 ? -50.0f : 0.0f;
    for (int i = 0; i < WIDTH; i++) m->norm[i] = 1 + 0.2f * normal();
    put_matrices(&g, "token_embd.weight", m->embedding, 0, 0, VOCABULARY, WIDTH);
    put_matrices(&g, "output_norm.weight", m->norm, 0, 0, 0, WIDTH);
    put_matrices(&g, "blk.0.attn_norm.weight", m->norm, 0, 0, 0, WIDTH);
    put_matrices(&g, "blk.0.ffn_norm.weight", m->norm, 0, 0, 0, WIDTH);
    put_matrices(&g, "blk.0.attn_output.weight", m->merge, 0, 0, WIDTH, WIDTH);
    put_matrices(&g, "blk.0.attn_q.weight", m->other, 0.1, 0, WIDTH, WIDTH);
    put_matrices(&g, "blk.0.attn_k.weight", m->other, 0.1, 0, WIDTH, WIDTH);
    put_matrices(&g, "blk.0.attn_v.weight", m->other, 0.1, 0, WIDTH, WIDTH);
    put_matrices(&g, "blk.0.ffn_gate_inp.weight", m->router, 0, 0, EXPERTS, WIDTH);
    put_matrices(&g, "blk.0.ffn_gate_exps.weight", m->gate, 0.2, EXPERTS, HIDDEN, WIDTH);
    put_matrices(&g, "blk.0.ffn_up_exps.weight", m->up, 0.2, EXPERTS, HIDDEN, WIDTH);
    put_matrices(&g, "blk.0.ffn_down_exps.weight", m->down, 0.2, EXPERTS, WIDTH, HIDDEN);
    CHECK(gguf_write(&g, path) == 0);
}

static double dot(const float *a, const double *x, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += (double)a[i] * x[i];
    return sum;
}

/* What the matrices of each expert are multiplied with, in double: sums of squares and how many rows. */
static void reference_mixture(const mixture *m, const int32_t *tokens, int count, double *in, double *hidden,
                              int *rows) {
    memset(in, 0, EXPERTS * WIDTH * sizeof *in);
    memset(hidden, 0, EXPERTS * HIDDEN * sizeof *hidden);
    memset(rows, 0, EXPERTS * sizeof *rows);
    for (int t = 0; t < count; t++) {
        double x[WIDTH], squares = 0, score[EXPERTS];
        for (int i = 0; i < WIDTH; i++) x[i] = (double)m->embedding[tokens[t] * WIDTH + i];
        for (int i = 0; i < WIDTH; i++) squares += x[i] * x[i];
        for (int i = 0; i < WIDTH; i++) x[i] *= (double)m->norm[i] / sqrt(squares / WIDTH + 1e-5);
        for (int e = 0; e < EXPERTS; e++) score[e] = dot(m->router + e * WIDTH, x, WIDTH);
        for (int n = 0; n < CHOSEN; n++) {
            int best = 0;
            for (int e = 1; e < EXPERTS; e++)
                if (score[e] > score[best]) best = e;
            score[best] = -INFINITY;
            rows[best]++;
            for (int i = 0; i < WIDTH; i++) in[best * WIDTH + i] += x[i] * x[i];
            for (int i = 0; i < HIDDEN; i++) {
                const double gate = dot(m->gate + (best * HIDDEN + i) * WIDTH, x, WIDTH);
                const double v = gate / (1 + exp(-gate)) * dot(m->up + (best * HIDDEN + i) * WIDTH, x, WIDTH);
                hidden[best * HIDDEN + i] += v * v;
            }
        }
    }
}

static void check_experts(ox_file *file, const char *name, const double *sums, const int *rows, int columns) {
    char key[64];
    snprintf(key, sizeof key, "blk.0.%s.weight.in_sum2", name);
    ox_tensor *got = file ? ox_file_tensor(file, key) : NULL;
    snprintf(key, sizeof key, "blk.0.%s.weight.counts", name);
    ox_tensor *counts = file ? ox_file_tensor(file, key) : NULL;
    CHECK_MSG(got && counts && got->ndim == 2 && got->shape[0] == EXPERTS && got->shape[1] == columns &&
                  counts->shape[0] == EXPERTS && counts->shape[1] == 1,
              "%s: %s", name, ox_error_text());
    for (int e = 0; got && counts && e < EXPERTS; e++) CHECK(((float *)ox_data(counts))[e] == (float)rows[e]);
    for (int i = 0; got && i < EXPERTS * columns; i++) {
        const double v = (double)((float *)ox_data(got))[i];
        CHECK_MSG(fabs(v - sums[i]) <= 1e-4 * sums[i], "%s %d: %g, not %g", name, i, v, sums[i]);
    }
}

/* Each expert is quantized by what went to it, and one that nothing went to as if all columns were alike. */
static void check_experts_quantized(const char *from, const char *to, const char *heard, const int *rows) {
    float means[EXPERTS * WIDTH];
    ox_file *a = ox_file_open(from, NULL), *b = ox_file_open(to, NULL), *file = ox_file_open(heard, NULL);
    OX_SCOPE {
        ox_tensor *sums = file ? ox_file_tensor(file, "blk.0.ffn_up_exps.weight.in_sum2") : NULL;
        CHECK(ox_to_floats(sums, means, EXPERTS * WIDTH) == OX_OK);
        for (int i = 0; i < EXPERTS * WIDTH; i++)
            means[i] = rows[i / WIDTH] ? means[i] / (float)rows[i / WIDTH] : 1;
        ox_tensor *x = a ? ox_file_tensor(a, "blk.0.ffn_up_exps.weight") : NULL;
        ox_tensor *y = b ? ox_file_tensor(b, "blk.0.ffn_up_exps.weight") : NULL;
        ox_tensor *z = y ? ox_llm_quantize_tensor(x, y->dtype, means, EXPERTS) : NULL;
        CHECK_MSG(x && y && z && y->dtype == OX_Q4_0 && ox_equal(y, z), "%s", ox_error_text());
        for (int e = 0; z && e < EXPERTS;
             e++) { /* by itself; with another's importance it is something else */
            ox_tensor *one = ox_select(x, 0, e);
            for (int other = 0; other < EXPERTS; other++)
                CHECK(ox_equal(ox_select(y, 0, e),
                               ox_llm_quantize_tensor(one, y->dtype, means + other * WIDTH, 1)) ==
                      (e == other));
        }
    }
    ox_file_close(a);
    ox_file_close(b);
    ox_file_close(file);
}

static void test_collect_experts(void) {
    const char *path = gguf_path("quantize_from.gguf"), *heard = gguf_path("importance.gguf");
    const char *to = gguf_path("quantize_to.gguf");
    static const int32_t tokens[12] = {1, 5, 9, 4, 12, 11, 3, 8, 8, 15, 7, 10};
    static mixture m;
    double in[EXPERTS * WIDTH], hidden[EXPERTS * HIDDEN];
    int rows[EXPERTS];
    write_mixture(path, &m);
    reference_mixture(&m, tokens, 12, in, hidden, rows);
    CHECK(rows[EXPERTS - 1] == 0 && rows[0] + rows[1] + rows[2] + rows[3] == 24);
    ox_llm *llm = ox_llm_open(path, NULL);
    ox_llm_context *context = ox_llm_context_open(llm, NULL);
    ox_llm_importance *a = ox_llm_importance_collect(llm);
    CHECK_MSG(a && context, "%s", ox_error_text());
    CHECK(ox_llm_decode(context, tokens, 7, NULL) == OX_OK);
    for (int i = 7; i < 12; i++) CHECK(ox_llm_decode_one(context, tokens[i], NULL) == OX_OK);
    CHECK(ox_llm_importance_stop(a) == OX_OK);
    CHECK_MSG(ox_llm_importance_save(a, heard, "text", 6) == OX_OK, "%s", ox_error_text());
    ox_llm_importance_close(a);
    ox_llm_context_close(context);
    ox_llm_close(llm);
    ox_file *file = ox_file_open(heard, NULL);
    OX_SCOPE {
        check_experts(file, "ffn_gate_exps", in, rows, WIDTH);
        check_experts(file, "ffn_up_exps", in, rows, WIDTH);
        check_experts(file, "ffn_down_exps", hidden, rows, HIDDEN);
    }
    ox_file_close(file);
    ox_llm_quantize_desc desc = desc_of("Q4_0");
    ox_llm_importance *b = ox_llm_importance_open(heard);
    desc.importance = b;
    CHECK_MSG(ox_llm_quantize(path, to, &desc) == OX_OK, "%s", ox_error_text());
    check_experts_quantized(path, to, heard, rows);
    ox_llm_importance_close(b);
    remove(path);
    remove(heard);
    remove(to);
}

/* ---- heads of latent attention ------------------------------------------------------------------------- */

enum { HEADS = 2, PLAIN = 16, TURNED = 8, LATENT = 32, VALUE = 16, QUERIES = HEADS * (PLAIN + TURNED) };

static void put_halves(gguf_make *g, const char *name, int heads, int rows, int columns) {
    const int64_t shape[3] = {heads, rows, columns};
    gguf_bytes b = {NULL, 0, 0};
    for (int i = 0; i < heads * rows * columns; i++) gguf_number(&b, half_bits(0.25 + i % 7), 2);
    gguf_tensor(g, name, TYPE_F16, 3, shape, b.data, b.count);
    free(b.data);
}

/* One layer; its query matrix [QUERIES, WIDTH]. Matrices of heads are f32 or f16. */
static void write_latent(const char *path, mixture *m, float *query, bool halves) {
    static float numbers[2 * HIDDEN * WIDTH];
    gguf_make g;
    memset(&g, 0, sizeof g);
    draw_state = 5;
    gguf_text(&g, "general.architecture", "deepseek2");
    gguf_u32(&g, "deepseek2.block_count", 1);
    gguf_u32(&g, "deepseek2.leading_dense_block_count", 1);
    gguf_u32(&g, "deepseek2.context_length", 64);
    gguf_u32(&g, "deepseek2.embedding_length", WIDTH);
    gguf_u32(&g, "deepseek2.feed_forward_length", HIDDEN);
    gguf_u32(&g, "deepseek2.attention.head_count", HEADS);
    gguf_u32(&g, "deepseek2.attention.head_count_kv", 1);
    gguf_u32(&g, "deepseek2.attention.key_length", LATENT + TURNED);
    gguf_u32(&g, "deepseek2.attention.value_length", LATENT);
    gguf_u32(&g, "deepseek2.attention.key_length_mla", PLAIN + TURNED);
    gguf_u32(&g, "deepseek2.attention.value_length_mla", VALUE);
    gguf_u32(&g, "deepseek2.attention.kv_lora_rank", LATENT);
    gguf_u32(&g, "deepseek2.rope.dimension_count", TURNED);
    gguf_f32(&g, "deepseek2.attention.layer_norm_rms_epsilon", 1e-5f);
    for (int i = 0; i < WIDTH; i++) m->norm[i] = 1 + 0.2f * normal();
    put_matrices(&g, "token_embd.weight", m->embedding, 1, 0, VOCABULARY, WIDTH);
    put_matrices(&g, "output_norm.weight", m->norm, 0, 0, 0, WIDTH);
    put_matrices(&g, "blk.0.attn_norm.weight", m->norm, 0, 0, 0, WIDTH);
    put_matrices(&g, "blk.0.ffn_norm.weight", m->norm, 0, 0, 0, WIDTH);
    put_matrices(&g, "blk.0.attn_q.weight", query, 0.2, 0, QUERIES, WIDTH);
    put_matrices(&g, "blk.0.attn_kv_a_mqa.weight", numbers, 0.2, 0, LATENT + TURNED, WIDTH);
    put_matrices(&g, "blk.0.attn_kv_a_norm.weight", numbers, 1, 0, 0, LATENT);
    put_matrices(&g, "blk.0.attn_output.weight", numbers, 0.2, 0, WIDTH, HEADS * VALUE);
    put_matrices(&g, "blk.0.ffn_gate.weight", numbers, 0.2, 0, HIDDEN, WIDTH);
    put_matrices(&g, "blk.0.ffn_up.weight", numbers, 0.2, 0, HIDDEN, WIDTH);
    put_matrices(&g, "blk.0.ffn_down.weight", numbers, 0.2, 0, WIDTH, HIDDEN);
    if (halves) {
        put_halves(&g, "blk.0.attn_k_b.weight", HEADS, LATENT, PLAIN);
        put_halves(&g, "blk.0.attn_v_b.weight", HEADS, VALUE, LATENT);
    } else {
        put_matrices(&g, "blk.0.attn_k_b.weight", numbers, 0.2, HEADS, LATENT, PLAIN);
        put_matrices(&g, "blk.0.attn_v_b.weight", numbers, 0.2, HEADS, VALUE, LATENT);
    }
    CHECK(gguf_write(&g, path) == 0);
}

/* The matrices of heads that make keys are multiplied with the queries, before these are turned. */
static void check_heads(ox_file *file, const mixture *m, const float *query, const int32_t *tokens,
                        int count) {
    double sums[HEADS * PLAIN] = {0};
    for (int t = 0; t < count; t++) {
        double x[WIDTH], squares = 0;
        for (int i = 0; i < WIDTH; i++) x[i] = (double)m->embedding[tokens[t] * WIDTH + i];
        for (int i = 0; i < WIDTH; i++) squares += x[i] * x[i];
        for (int i = 0; i < WIDTH; i++) x[i] *= (double)m->norm[i] / sqrt(squares / WIDTH + 1e-5);
        for (int i = 0; i < HEADS * PLAIN; i++) {
            const double v = dot(query + (i / PLAIN * (PLAIN + TURNED) + i % PLAIN) * WIDTH, x, WIDTH);
            sums[i] += v * v;
        }
    }
    ox_tensor *got = file ? ox_file_tensor(file, "blk.0.attn_k_b.weight.in_sum2") : NULL;
    ox_tensor *counts = file ? ox_file_tensor(file, "blk.0.attn_k_b.weight.counts") : NULL;
    CHECK_MSG(got && counts && ox_numel(got) == HEADS * PLAIN && ox_numel(counts) == HEADS, "%s",
              ox_error_text());
    for (int i = 0; got && counts && i < HEADS * PLAIN; i++) {
        const double v = (double)((float *)ox_data(got))[i];
        CHECK(((float *)ox_data(counts))[i / PLAIN] == (float)count);
        CHECK_MSG(fabs(v - sums[i]) <= 1e-4 * sums[i], "head %d, %d: %g, not %g", i / PLAIN, i % PLAIN, v,
                  sums[i]);
    }
    got = file ? ox_file_tensor(file, "blk.0.attn_v_b.weight.in_sum2") : NULL;
    CHECK_MSG(got && ox_numel(got) == HEADS * LATENT, "%s", ox_error_text());
}

static void test_collect_heads(void) {
    const char *path = gguf_path("quantize_from.gguf"), *heard = gguf_path("importance.gguf");
    static const int32_t tokens[12] = {1, 5, 9, 4, 12, 11, 3, 8, 8, 15, 7, 10};
    static mixture m;
    static float query[QUERIES * WIDTH];
    for (int halves = 0; halves < 2; halves++) {
        write_latent(path, &m, query, halves != 0);
        ox_llm *llm = ox_llm_open(path, NULL);
        ox_llm_context *context = llm ? ox_llm_context_open(llm, NULL) : NULL;
        ox_llm_importance *a = ox_llm_importance_collect(llm);
        CHECK_MSG(a && context, "%s", ox_error_text());
        CHECK(ox_llm_decode(context, tokens, 12, NULL) == OX_OK);
        CHECK_MSG(ox_llm_importance_save(a, heard, "text", 6) == OX_OK, "%s", ox_error_text());
        ox_llm_importance_close(a);
        ox_llm_context_close(context);
        ox_llm_close(llm);
        ox_file *file = ox_file_open(heard, NULL);
        OX_SCOPE {
            check_heads(file, &m, query, tokens, 12);
        }
        ox_file_close(file);
    }
    remove(path);
    remove(heard);
}

int main(void) {
    test_importance_files();
    test_importance_sizes();
    test_hostile_importance();
    test_collect();
    test_collect_experts();
    test_collect_heads();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0);
    return check_done("llm_importance");
}
