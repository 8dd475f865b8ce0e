/* test_llm_quantize.c - models in smaller types: errors beside those of a brute-force search, importance, odd
 * shapes, which tensor becomes what, writing that fails. What llama-quantize chooses is written down here.
 * OX_QEMU: short enough to be emulated. */
#include "oxtorch_llm.h"

#include "check.h"
#include "quantize_make.h"

/* ---- errors -------------------------------------------------------------------------------------------- */

/* What the best of many grids leaves of one run of numbers: `levels` steps apart from any start, or the 16
 * numbers of IQ4's table; scales are not rounded. */
static double best_of_run(const float *x, int run, int levels, bool centered, bool table) {
    static const int numbers[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
    double low = 0, high = 0, best = 1e30;
    for (int i = 0; i < run; i++) low = fmin(low, (double)x[i]), high = fmax(high, (double)x[i]);
    const double most = fmax(high, -low), half = levels / 2;
    for (int s = 0; s < 160; s++)
        for (int m = 0; m < (centered || table ? 2 : 24); m++) {
            const double wide = 0.7 + s * 0.004, sign = m ? -1 : 1;
            double scale = table      ? sign * most * wide / 120
                           : centered ? sign * most * wide / half
                                      : (high - low) * wide / (levels - 1);
            const double least = centered ? -half * scale : low + (high - low) * (m - 4) * 0.01;
            double sum = 0;
            for (int i = 0; i < run && scale != 0; i++) {
                double code = rint(((double)x[i] - least) / scale), near;
                code = fmin(fmax(code, 0), levels - 1);
                near = code * scale + least;
                if (table) {
                    near = numbers[0] * scale;
                    for (int k = 1; k < 16; k++)
                        if (fabs(numbers[k] * scale - (double)x[i]) < fabs(near - (double)x[i]))
                            near = numbers[k] * scale;
                }
                sum += (near - (double)x[i]) * (near - (double)x[i]);
            }
            best = fmin(best, sum);
        }
    return best;
}

/* more: how much larger an error may be than that of the best grids: some are formulas, scales have few bits,
 * and numbers count by their size. */
static const struct type_row {
    ox_dtype dtype;
    int run, levels;
    bool centered, table;
    double more;
} type_rows[] = {
    {OX_Q4_0, 32, 16, true, false, 1.35},   {OX_Q4_1, 32, 16, false, false, 1.5},
    {OX_Q5_0, 32, 32, true, false, 1.35},   {OX_Q5_1, 32, 32, false, false, 1.5},
    {OX_Q2_K, 16, 4, false, false, 1.35},   {OX_Q3_K, 16, 8, true, false, 1.2},
    {OX_Q4_K, 32, 16, false, false, 1.15},  {OX_Q5_K, 32, 32, false, false, 1.15},
    {OX_Q6_K, 16, 64, true, false, 1.15},   {OX_IQ4_NL, 32, 16, false, true, 1.1},
    {OX_IQ4_XS, 32, 16, false, true, 1.15},
};
enum { TYPE_ROWS = sizeof type_rows / sizeof *type_rows };

static void test_errors(void) {
    for (int t = 0; t < TYPE_ROWS; t++)
        OX_SCOPE {
            const struct type_row *row = &type_rows[t];
            draw_state = 3;
            ox_tensor *x = make_weights(1, 1024), *q = ox_llm_quantize_tensor(x, row->dtype, NULL, 1);
            double best = 0;
            for (int i = 0; i < 1024; i += row->run)
                best += best_of_run((const float *)ox_data(x) + i, row->run, row->levels, row->centered,
                                    row->table);
            const double error = q ? weighted_error(x, q, NULL) : 1e30;
            CHECK_MSG(error < row->more * best, "%s: %.3f of the best, %s", ox_dtype_name(row->dtype),
                      error / best, ox_error_text());
        }
}

/* Types that are formulas: the bytes of ggml for 1, 2, ... 256 in halves of both signs. */
static void test_formulas(void) {
    OX_SCOPE {
        ox_tensor *x = ox_empty(OX_SHAPE(256), OX_F32);
        for (int i = 0; i < 256; i++) ((float *)ox_data(x))[i] = (i % 2 ? -0.5f : 0.5f) * (float)(i % 13);
        ox_tensor *q = ox_llm_quantize_tensor(x, OX_MXFP4, NULL, 1);
        const unsigned char *p = q ? (const unsigned char *)ox_data(q) : NULL;
        /* the largest is 6: the scale is 1, and codes are those of 0 .5 1 1.5 2 3 4 6 */
        CHECK(p && p[0] == 127 && (p[1] & 15) == 0 && (p[2] & 15) == 9 && (p[3] & 15) == 2);
        CHECK(p && (p[13] & 15) == 7 && (p[14] & 15) == 8 % 8);
        for (int t = 0; t < 2; t++) {
            q = ox_llm_quantize_tensor(x, t ? OX_TQ2_0 : OX_TQ1_0, NULL, 1);
            ox_tensor *y = q ? ox_cast(q, OX_F32) : NULL;
            for (int i = 0; y && i < 256; i++) {
                const float v = ((float *)ox_data(x))[i], near = fabsf(v) < 3 ? 0 : v < 0 ? -6.0f : 6.0f;
                CHECK_MSG(((float *)ox_data(y))[i] == near, "%d: %g", i, (double)((float *)ox_data(y))[i]);
            }
            CHECK_MSG(y != NULL, "%s", ox_error_text());
        }
        ox_tensor *wide = make_weights(3, 512);
        CHECK(ox_equal(ox_llm_quantize_tensor(wide, OX_Q8_0, NULL, 1), ox_cast(wide, OX_Q8_0)));
        CHECK(ox_equal(ox_llm_quantize_tensor(wide, OX_Q4_K, NULL, 0), ox_cast(wide, OX_Q4_K)));
        CHECK(ox_equal(ox_llm_quantize_tensor(wide, OX_BF16, NULL, 1), ox_cast(wide, OX_BF16)));
    }
}

static void test_importance(void) {
    float importance[1024], zeros[1024] = {0};
    for (int t = 0; t < TYPE_ROWS + 1; t++)
        OX_SCOPE {
            const ox_dtype dtype = t < TYPE_ROWS ? type_rows[t].dtype : OX_MXFP4;
            draw_state = 5;
            make_importance(importance, 1024);
            ox_tensor *x = make_weights(4, 1024), *plain = ox_llm_quantize_tensor(x, dtype, NULL, 1);
            ox_tensor *q = ox_llm_quantize_tensor(x, dtype, importance, 1);
            CHECK_MSG(q && plain, "%s: %s", ox_dtype_name(dtype), ox_error_text());
            if (!q || !plain) break;
            const double ratio = weighted_error(x, q, importance) / weighted_error(x, plain, importance);
            CHECK_MSG(ratio < (dtype == OX_MXFP4 ? 0.99 : 0.95), "%s: %.3f of the error without importance",
                      ox_dtype_name(dtype), ratio);
            /* columns that nothing is known of, one that alone counts, and huge ones */
            q = ox_llm_quantize_tensor(x, dtype, zeros, 1);
            CHECK(weighted_error(x, q, NULL) < 1.3 * weighted_error(x, plain, NULL));
            zeros[77] = zeros[500] = zeros[901] = 3e38f;
            q = ox_llm_quantize_tensor(x, dtype, zeros, 1);
            CHECK_MSG(weighted_error(x, q, zeros) < 0.5 * weighted_error(x, plain, zeros), "%s: %g",
                      ox_dtype_name(dtype), weighted_error(x, q, zeros) / weighted_error(x, plain, zeros));
            zeros[77] = zeros[500] = zeros[901] = 0;
        }
}

/* Experts have rows of their own. */
static void test_matrices(void) {
    OX_SCOPE {
        float importance[3 * 256];
        draw_state = 6;
        make_importance(importance, 3 * 256);
        ox_tensor *x = ox_reshape(make_weights(15, 256), OX_SHAPE(3, 5, 256));
        ox_tensor *q = ox_llm_quantize_tensor(x, OX_Q4_K, importance, 3);
        CHECK(q && q->ndim == 3 && q->shape[0] == 3 && q->shape[2] == 256);
        for (int i = 0; i < 3; i++)
            CHECK(ox_equal(ox_clone(ox_select(q, 0, i)),
                           ox_llm_quantize_tensor(ox_select(x, 0, i), OX_Q4_K, importance + 256 * i, 1)));
    }
}

/* Rows of any count, columns that are no multiple of 256, other dtypes, strides, any number of threads. */
static void test_shapes(void) {
    static const int64_t shapes[][2] = {{1, 32},  {3, 96},   {7, 288}, {1, 1056},
                                        {5, 256}, {37, 768}, {2, 1280}};
    static const ox_dtype types[] = {OX_Q4_0,   OX_Q5_1,  OX_IQ4_NL, OX_MXFP4, OX_Q2_K,
                                     OX_IQ4_XS, OX_TQ1_0, OX_Q3_K,   OX_Q6_K};
    float importance[1280];
    draw_state = 8;
    make_importance(importance, 1280);
    for (int s = 0; s < 7; s++)
        for (int t = 0; t < 18; t++)
            OX_SCOPE {
                const ox_dtype dtype = types[t % 9];
                const float *known = t < 9 ? NULL : importance;
                if (shapes[s][1] % ox_dtype_get_info(dtype)->block_elements != 0) break;
                ox_tensor *x = ox_cast(make_weights(shapes[s][0], shapes[s][1]), OX_F16);
                ox_set_threads(1);
                ox_tensor *q = ox_llm_quantize_tensor(x, dtype, known, 1);
                ox_set_threads(3);
                CHECK(ox_equal(q, ox_llm_quantize_tensor(ox_cast(x, OX_F32), dtype, known, 1)));
                CHECK(ox_equal(q, ox_llm_quantize_tensor(ox_cast(x, OX_F64), dtype, known, 1)));
                ox_tensor *turned = ox_t(ox_contiguous(ox_t(x)));
                CHECK(ox_equal(q, ox_llm_quantize_tensor(turned, dtype, known, 1)));
                /* each row is by itself */
                const int64_t last = shapes[s][0] - 1;
                CHECK(ox_equal(ox_clone(ox_narrow(q, 0, last, 1)),
                               ox_llm_quantize_tensor(ox_narrow(x, 0, last, 1), dtype, known, 1)));
                CHECK_MSG(weighted_error(x->dtype == OX_F32 ? x : ox_cast(x, OX_F32), q, NULL) <
                              (dtype == OX_TQ1_0 ? 2 : 0.2) *
                                  weighted_error(ox_cast(x, OX_F32), ox_zeros_like(x), NULL),
                          "%s [%d, %d]", ox_dtype_name(dtype), (int)shapes[s][0], (int)shapes[s][1]);
            }
    ox_set_threads(0);
    OX_SCOPE {
        CHECK(ox_llm_quantize_tensor(ox_zeros(OX_SHAPE(0, 256), OX_F32), OX_Q2_K, NULL, 1) != NULL);
    }
}

/* A block with such a number is NaN, and no other one. */
static void test_not_finite(void) {
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    float importance[512];
    make_importance(importance, 512);
    for (int t = 0; t < TYPE_ROWS + 3; t++)
        for (int b = 0; b < 6; b++)
            OX_SCOPE {
                static const ox_dtype more[] = {OX_MXFP4, OX_TQ1_0, OX_TQ2_0};
                const ox_dtype dtype = t < TYPE_ROWS ? type_rows[t].dtype : more[t - TYPE_ROWS];
                ox_tensor *x = make_weights(1, 512);
                ((float *)ox_data(x))[300] = bad[b % 3];
                ox_tensor *y = ox_llm_quantize_tensor(x, dtype, b < 3 ? NULL : importance, 1);
                const int block = ox_dtype_get_info(dtype)->block_elements;
                y = y ? ox_cast(y, OX_F32) : NULL;
                int wrong = 0;
                for (int i = 0; y && i < 512; i++)
                    wrong += (isfinite(((float *)ox_data(y))[i]) != 0) == (i / block == 300 / block);
                CHECK_MSG(y && wrong == 0, "%s: %d numbers", ox_dtype_name(dtype), wrong);
            }
}

static void test_refusals(void) {
    OX_SCOPE {
        float importance[256];
        for (int i = 0; i < 256; i++) importance[i] = 1;
        ox_tensor *x = make_weights(3, 256);
        check_refused(ox_llm_quantize_tensor(NULL, OX_Q4_0, NULL, 1), OX_ERR_ARG, "x");
        check_refused(ox_llm_quantize_tensor(x, OX_IQ2_S, NULL, 1), OX_ERR_UNSUPPORTED, "iq2_s");
        check_refused(ox_llm_quantize_tensor(x, OX_I8, NULL, 1), OX_ERR_UNSUPPORTED, "i8");
        check_refused(ox_llm_quantize_tensor(ox_narrow(x, 1, 0, 64), OX_Q2_K, NULL, 1), OX_ERR_SHAPE, "256");
        check_refused(ox_llm_quantize_tensor(ox_cast(x, OX_I32), OX_Q2_K, NULL, 1), OX_ERR_DTYPE, "i32");
        check_refused(ox_llm_quantize_tensor(x, OX_Q2_K, importance, 2), OX_ERR_ARG, "2 matrices");
        importance[9] = NAN;
        check_refused(ox_llm_quantize_tensor(x, OX_Q2_K, importance, 1), OX_ERR_ARG, "importance");
        importance[9] = -1;
        check_refused(ox_llm_quantize_tensor(x, OX_Q8_0, importance, 1), OX_ERR_ARG, "-1");
    }
}

/* ---- files --------------------------------------------------------------------------------------------- */

/* The types of a tensor in all layers, as letters: digits for Q2_K to Q6_K and Q8_0. */
static void types_of(const ox_file *file, const char *part, int layers, char *out) {
    static const struct letter {
        ox_dtype dtype;
        char letter;
    } letters[] = {{OX_Q2_K, '2'},   {OX_Q3_K, '3'},   {OX_Q4_K, '4'},  {OX_Q5_K, '5'}, {OX_Q6_K, '6'},
                   {OX_Q8_0, '8'},   {OX_Q4_0, 'o'},   {OX_Q4_1, 'p'},  {OX_Q5_0, 'r'}, {OX_Q5_1, 's'},
                   {OX_IQ4_NL, 'n'}, {OX_IQ4_XS, 'x'}, {OX_MXFP4, 'm'}, {OX_F16, 'h'},  {OX_F32, 'f'}};
    for (int i = 0; i < layers; i++) {
        char name[64];
        ox_file_entry entry;
        snprintf(name, sizeof name, "blk.%d.%s.weight", i, part);
        out[i] = '-';
        for (int64_t k = 0; k < ox_file_count(file); k++) {
            if (strcmp(ox_file_name(file, k), name) != 0) continue;
            (void)ox_file_get_entry(file, k, &entry);
            for (int l = 0; l < 15; l++)
                if (letters[l].dtype == entry.dtype) out[i] = letters[l].letter;
        }
    }
    out[layers] = 0;
}

/* What llama-quantize 0.7.0 (ggml 0.27) chooses. */
static const struct choice {
    const char *architecture, *mix;
    int experts, keys; /* of 8 heads */
    int64_t width;
    const char *value, *down, *merge, *query;
} choices[] = {
    {"llama", "Q4_K_M", 0, 8, 256, "6644644644644666", "6644644644644666", "4444444444444444",
     "4444444444444444"},
    {"llama", "q4_k_s", 0, 8, 256, "5555444444444444", "5544444444444444", "4444444444444444",
     "4444444444444444"},
    {"llama", "Q3_K", 0, 8, 256, "5544444444444444", "5444444444444444", "4444444444444444",
     "3333333333333333"},
    {"llama", "Q3_K_L", 0, 8, 256, "5555555555555555", "5555555555555555", "5555555555555555",
     "3333333333333333"},
    {"llama", "Q2_K", 0, 2, 256, "4444444444444444", "3333333333333333", "3333333333333333",
     "2222222222222222"},
    {"llama", "Q2_K", 0, 8, 256, "3333333333333333", "3333333333333333", "3333333333333333",
     "2222222222222222"},
    {"llama", "IQ4_XS", 0, 2, 256, "5555555555555555", "55xxxxxxxxxxxxxx", "xxxxxxxxxxxxxxxx",
     "xxxxxxxxxxxxxxxx"},
    {"llama", "Q5_K_M", 0, 8, 96, "88ss8ss8ss8ss888", "88ss8ss8ss8ss888", "ssssssssssssssss",
     "ssssssssssssssss"},
    {"llama", "Q4_K_M", 0, 8, 40, "hhhhhhhhhhhhhhhh", "hhhhhhhhhhhhhhhh", "hhhhhhhhhhhhhhhh",
     "hhhhhhhhhhhhhhhh"},
    {"falcon", "Q4_K_M", 0, 8, 256, "6644644644644666", "6544544544544555", "4444444444444444",
     "4444444444444444"},
    {"llama", "Q4_K_M", 8, 8, 256, "8888888888888888", NULL, "5555555555555555", "4444444444444444"},
    {"llama", "MXFP4_MOE", 4, 8, 256, "8888888888888888", NULL, "8888888888888888", "8888888888888888"},
    {"llama", "F16", 0, 8, 256, "hhhhhhhhhhhhhhhh", "hhhhhhhhhhhhhhhh", "hhhhhhhhhhhhhhhh",
     "hhhhhhhhhhhhhhhh"},
};

static void check_types(const ox_file *file, const struct choice *c) {
    static const char *const parts[] = {"attn_v", "ffn_down", "attn_output", "attn_q"};
    const char *const wanted[] = {c->value, c->down, c->merge, c->query};
    char types[17];
    for (int k = 0; k < 4; k++) {
        if (!wanted[k]) continue;
        types_of(file, parts[k], 16, types);
        CHECK_MSG(strcmp(types, wanted[k]) == 0, "%s %s of %s: %s", c->mix, parts[k], c->architecture, types);
    }
    types_of(file, "attn_norm", 16, types);
    CHECK(strcmp(types, "ffffffffffffffff") == 0);
    types_of(file, "ffn_down_exps", 16, types);
    CHECK(c->experts == 0 ||
          strcmp(types, strcmp(c->mix, "MXFP4_MOE") == 0 ? "mmmmmmmmmmmmmmmm" : "6644644644644666") == 0);
    types_of(file, "ffn_gate_inp", 16, types);
    CHECK(c->experts == 0 || strcmp(types, "ffffffffffffffff") == 0);
}

static void test_choices(void) {
    const char *from = gguf_path("quantize_from.gguf"), *to = gguf_path("quantize_to.gguf");
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        const struct choice *c = &choices[i];
        const ox_llm_quantize_desc desc = desc_of(c->mix);
        make_file(from, 16, c->architecture, c->experts, 8, c->keys, i % 2 == 0, c->width);
        const ox_status status = ox_llm_quantize(from, to, &desc);
        CHECK_MSG(status == OX_OK, "%s: %s", c->mix, ox_error_text());
        ox_file *file = status == OX_OK ? ox_file_open(to, NULL) : NULL;
        if (file) check_types(file, c);
        ox_error_clear();
        ox_file_close(file);
    }
    remove(from);
    remove(to);
}

/* Parts of a family that llama-quantize leaves, or has in eight bits, in each mix of blocks. */
static void test_families(void) {
    static const struct {
        const char *architecture, *name, *mix;
        ox_dtype dtype;
    } cases[] = {{"glm5-next", "blk.0.attn_v_b.weight", "Q2_K", OX_F32},
                 {"glm5-next", "blk.0.indexer.attn_q_b.weight", "Q4_K_M", OX_F32},
                 {"glm5-next", "blk.0.attn_q_b.weight", "Q4_K_M", OX_Q8_0},
                 {"glm5-next", "blk.0.attn_q_b.weight", "F16", OX_F16},
                 {"deepseek2", "blk.0.attn_v_b.weight", "Q2_K", OX_Q2_K}};
    const char *from = gguf_path("quantize_from.gguf"), *to = gguf_path("quantize_to.gguf");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        OX_SCOPE {
            ox_gguf_pair pair;
            ox_gguf_desc made;
            ox_file_entry entry;
            memset(&pair, 0, sizeof pair);
            memset(&made, 0, sizeof made);
            memset(&entry, 0, sizeof entry);
            pair.key = "general.architecture";
            pair.type = OX_GGUF_STRING;
            pair.count = -1;
            pair.value = cases[i].architecture;
            entry.name = cases[i].name;
            entry.dtype = OX_F32;
            entry.ndim = 2;
            entry.shape[0] = 8;
            entry.shape[1] = 256;
            made.pairs = &pair;
            made.pair_count = 1;
            made.entries = &entry;
            made.count = 1;
            ox_gguf_writer *writer = ox_gguf_writer_open(from, &made);
            CHECK(writer && ox_gguf_writer_put(writer, ox_randn(OX_SHAPE(8, 256), OX_F32)) == OX_OK);
            CHECK(ox_gguf_writer_close(writer) == OX_OK);
            const ox_llm_quantize_desc desc = desc_of(cases[i].mix);
            CHECK_MSG(ox_llm_quantize(from, to, &desc) == OX_OK, "%s", ox_error_text());
            ox_file *file = ox_file_open(to, NULL);
            ox_tensor *got = file ? ox_file_tensor(file, cases[i].name) : NULL;
            CHECK_MSG(got && got->dtype == cases[i].dtype, "%s %s", cases[i].mix, cases[i].name);
            ox_file_close(file);
        }
    remove(from);
    remove(to);
}

/* Every tensor is what ox_llm_quantize_tensor makes of it; layers are in order; metadata is there. */
static void test_contents(void) {
    const char *from = gguf_path("quantize_from.gguf"), *to = gguf_path("quantize_to.gguf");
    for (int64_t m = 0; ox_llm_quantize_mix(m); m++) {
        const ox_llm_quantize_desc desc = desc_of(ox_llm_quantize_mix(m));
        make_file(from, 2, "llama", 0, 8, 8, m % 2 == 0, 256);
        const ox_status status = ox_llm_quantize(from, to, &desc);
        if (strcmp(desc.mix, "Q2_K_S") == 0) {
            check_refused(status == OX_OK, OX_ERR_NOT_FOUND, "importance");
            continue;
        }
        CHECK_MSG(status == OX_OK, "%s: %s", desc.mix, ox_error_text());
        ox_file *a = ox_file_open(from, NULL), *b = ox_file_open(to, NULL);
        const bool copy = strcmp(desc.mix, "COPY") == 0;
        CHECK(a && b && ox_file_count(a) == ox_file_count(b));
        for (int64_t i = 0; a && b && i < ox_file_count(b); i++)
            OX_SCOPE {
                ox_tensor *x = ox_file_tensor(a, ox_file_name(b, i)), *y = ox_file_tensor_at(b, i);
                CHECK_MSG(x && y && ox_equal(y, ox_llm_quantize_tensor(x, y->dtype, NULL, 1)), "%s %s: %s",
                          desc.mix, ox_file_name(b, i), ox_error_text());
                CHECK(!copy || (x && y && x->dtype == y->dtype));
            }
        if (b) {
            CHECK(strcmp(ox_file_name(b, 0), m % 2 ? "output.weight" : "output_norm.weight") == 0);
            CHECK(strncmp(ox_file_name(b, ox_file_count(b) - 1), "blk.1.", 6) == 0);
            CHECK(ox_file_meta_int(b, "general.quantization_version", 0) == 2);
            CHECK(ox_file_meta_find(b, "some.key").text.length == 4);
            CHECK(copy || ox_file_meta_int(b, "general.file_type", -1) >= 0);
            if (strcmp(desc.mix, "Q4_K_M") == 0) CHECK(ox_file_meta_int(b, "general.file_type", -1) == 15);
        }
        ox_file_close(a);
        ox_file_close(b);
    }
    ox_error_clear();
    remove(from);
    remove(to);
}

static bool stop_at_last(void *user, const ox_llm_quantize_step *step) {
    ++*(int *)user;
    CHECK(step->name && step->to_bytes > 0 && step->from == OX_F32);
    return step->index + 1 < step->count;
}

static ox_dtype type_in(const char *path, const char *name) {
    ox_file *file = ox_file_open(path, NULL);
    ox_dtype dtype = OX_DTYPE_NONE;
    OX_SCOPE {
        ox_tensor *t = file ? ox_file_tensor(file, name) : NULL;
        if (t) dtype = t->dtype;
    }
    ox_file_close(file);
    return dtype;
}

static void test_rules(void) {
    static const ox_llm_quantize_rule rules[] = {{"^blk.?.attn_q.weight$", OX_Q8_0},
                                                 {"1.*down", OX_Q3_K},
                                                 {"attn_q.weigh$", OX_F32},
                                                 {"q", OX_IQ4_XS},
                                                 {"blk.0.attn_k", OX_BF16}};
    const char *from = gguf_path("quantize_from.gguf"), *to = gguf_path("quantize_to.gguf");
    ox_llm_quantize_desc desc = desc_of("Q6_K");
    make_file(from, 2, "llama", 0, 8, 8, false, 256);
    desc.rules = rules;
    desc.rule_count = 5;
    desc.output = OX_Q5_0;
    desc.embedding = OX_Q2_K;
    CHECK_MSG(ox_llm_quantize(from, to, &desc) == OX_OK, "%s", ox_error_text());
    CHECK(type_in(to, "blk.1.attn_q.weight") == OX_Q8_0 && type_in(to, "blk.1.ffn_down.weight") == OX_Q3_K);
    CHECK(type_in(to, "blk.0.ffn_down.weight") == OX_Q6_K && type_in(to, "blk.0.attn_k.weight") == OX_BF16);
    CHECK(type_in(to, "output.weight") == OX_Q5_0 && type_in(to, "token_embd.weight") == OX_Q2_K);
    CHECK(type_in(to, "blk.1.attn_k.weight") == OX_Q6_K && type_in(to, "blk.1.attn_norm.weight") == OX_F32);
    desc = desc_of("Q4_K_M");
    desc.pure = desc.keep_output = true;
    CHECK_MSG(ox_llm_quantize(from, to, &desc) == OX_OK, "%s", ox_error_text());
    CHECK(type_in(to, "output.weight") == OX_F32 && type_in(to, "blk.0.attn_v.weight") == OX_Q4_K);
    /* again */
    desc = desc_of("Q4_0");
    const char *third = gguf_path("quantize_third.gguf");
    check_refused(ox_llm_quantize(to, third, &desc) == OX_OK, OX_ERR_UNSUPPORTED, "already");
    CHECK(!exists(third));
    desc.requantize = true;
    CHECK_MSG(ox_llm_quantize(to, third, &desc) == OX_OK, "%s", ox_error_text());
    CHECK(type_in(third, "blk.0.attn_v.weight") == OX_Q4_0);
    remove(from);
    remove(to);
    remove(third);
}

/* What goes wrong leaves no file, and an old one as it was. */
static void test_failures(void) {
    static const ox_llm_quantize_rule bad[] = {{"attn", OX_IQ1_S}};
    const char *from = gguf_path("quantize_from.gguf"), *to = gguf_path("quantize_to.gguf");
    const char *nowhere = gguf_path("no/such/folder.gguf");
    ox_llm_quantize_desc desc = desc_of("Q4_0");
    int steps = 0;
    make_file(from, 2, "llama", 0, 8, 8, true, 256);
    desc.progress = stop_at_last;
    desc.user = &steps;
    check_refused(ox_llm_quantize(from, to, &desc) == OX_OK, OX_ERR_ARG, "ended it");
    CHECK(!exists(to) && steps == 16);
    desc = desc_of("Q4_0");
    check_refused(ox_llm_quantize(from, nowhere, &desc) == OX_OK, OX_ERR_IO, "folder");
    check_refused(ox_llm_quantize(nowhere, to, &desc) == OX_OK, OX_ERR_IO, "folder");
    check_refused(ox_llm_quantize(from, from, &desc) == OX_OK, OX_ERR_ARG, "itself");
    desc.rules = bad;
    desc.rule_count = 1;
    check_refused(ox_llm_quantize(from, to, &desc) == OX_OK, OX_ERR_UNSUPPORTED, "iq1_s");
    desc = desc_of("IQ2_M");
    check_refused(ox_llm_quantize(from, to, &desc) == OX_OK, OX_ERR_UNSUPPORTED, "IQ2_M");
    desc = desc_of("Q7");
    check_refused(ox_llm_quantize(from, to, &desc) == OX_OK, OX_ERR_ARG, "Q7");
    check_refused(ox_llm_quantize(from, to, NULL) == OX_OK, OX_ERR_ARG, "mix");
    CHECK(!exists(to));
    FILE *file = fopen(to, "wb");
    if (file) CHECK(fputs("old", file) >= 0 && fclose(file) == 0);
    desc = desc_of("Q2_K_S");
    check_refused(ox_llm_quantize(from, to, &desc) == OX_OK, OX_ERR_NOT_FOUND, "importance");
    file = fopen(to, "rb");
    char text[8] = {0};
    CHECK(file && fread(text, 1, 7, file) == 3 && strcmp(text, "old") == 0);
    if (file) fclose(file);
    remove(from);
    remove(to);
}

int main(void) {
    test_errors();
    test_formulas();
    test_importance();
    test_matrices();
    test_shapes();
    test_not_finite();
    test_refusals();
    test_choices();
    test_families();
    test_contents();
    test_rules();
    test_failures();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0);
    return check_done("llm_quantize");
}
