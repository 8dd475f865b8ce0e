/* test_losses.c - losses against plain loops in double precision: every reduction, layouts, odd and empty
 * shapes, classes that are ignored, ends of the range; their gradients and the gradients of those.
 */
#include "oxtorch_nn.h"

#include "check.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

enum { OPERANDS = 4, MOST = 256 };

/* ---- operands ------------------------------------------------------------------------------------------ */

typedef enum layout { CONTIGUOUS, TRANSPOSED, SLICED, ROW_FOR_ALL, LAYOUTS } layout;

/* Numbers of a kind: x any, p in (0, 1), s 1 or -1, n counts 0 1 2 .., v above 0, l logs of p. */
static double number_of(char kind, int64_t i, int operand) {
    double wave = sin(1.7 * (double)i + 0.9 * operand + 0.3) * 1.9;
    double part = 0.5 + 0.23 * wave;
    switch (kind) {
    case 'p': return part;
    case 'l': return log(part);
    case 's': return wave > 0 ? 1 : -1;
    case 'n': return (double)((i * 5 + operand) % 4);
    case 'v': return 0.2 + fabs(wave);
    default: return wave;
    }
}

static ox_tensor *numbers(char kind, int operand, ox_shape shape) {
    ox_tensor *t = ox_empty(shape, OX_F64);
    for (int64_t i = 0; i < ox_numel(t); i++) ((double *)ox_data(t))[i] = number_of(kind, i, operand);
    return t;
}

/* [rows, columns] in a layout. */
static ox_tensor *made(char kind, int operand, int64_t rows, int64_t columns, layout how) {
    switch (how) {
    case TRANSPOSED: return ox_t(numbers(kind, operand, OX_SHAPE(columns, rows)));
    case SLICED:
        return ox_slice(ox_slice(numbers(kind, operand, OX_SHAPE(rows, 2 * columns + 1)), 1, 1, OX_END, 2), 0,
                        OX_END, OX_END, -1);
    case ROW_FOR_ALL: return ox_expand(numbers(kind, operand, OX_SHAPE(1, columns)), OX_SHAPE(rows, columns));
    default: return numbers(kind, operand, OX_SHAPE(rows, columns));
    }
}

static bool near(double got, double expected, double tolerance) {
    if (isnan(expected)) return isnan(got);
    return got == expected || fabs(got - expected) <= tolerance * (1 + fabs(expected));
}

/* Compares a loss with the terms that a loop made, reduced here. */
static void check_terms(const char *name, ox_tensor *loss, const double *terms, int64_t count,
                        ox_loss_reduction reduction, double divisor, double tolerance) {
    double got[MOST], sum = 0;
    CHECK_MSG(loss != NULL, "%s: %s", name, ox_error_text());
    ox_error_clear();
    if (!loss) return;
    for (int64_t i = 0; i < count; i++) sum += terms[i];
    bool all = reduction == OX_LOSS_NONE;
    if (all ? ox_numel(loss) != count : loss->ndim != 0) {
        CHECK_MSG(false, "%s: a shape of %d dims", name, loss->ndim);
        return;
    }
    CHECK(ox_to_doubles(loss, got, all ? count : 1) == OX_OK);
    if (!all) {
        double expected = reduction == OX_LOSS_SUM ? sum : sum / divisor;
        CHECK_MSG(near(got[0], expected, tolerance), "%s, reduction %d: %.17g, not %.17g", name,
                  (int)reduction, got[0], expected);
    }
    for (int64_t i = 0; all && i < count; i++)
        CHECK_MSG(near(got[i], terms[i], tolerance), "%s, term %d: %.17g, not %.17g", name, (int)i, got[i],
                  terms[i]);
}

/* ---- losses of one number a term ----------------------------------------------------------------------- */

typedef ox_tensor *(*loss_function)(ox_tensor *const *in, ox_loss_reduction reduction);

typedef struct loss_case {
    const char *name, *kinds; /* a letter an operand, as of number_of; capitals want a gradient */
    loss_function run;
    double (*plain)(const double *in, int64_t d); /* of a term's operands; rows: in[operand * d + i] */
} loss_case;

#define LOSS(name, kinds, call, formula)                                              \
    static ox_tensor *run_##name(ox_tensor *const *in, ox_loss_reduction reduction) { \
        (void)in;                                                                     \
        return call;                                                                  \
    }                                                                                 \
    static double plain_##name(const double *v, int64_t d) {                          \
        (void)d;                                                                      \
        return formula;                                                               \
    }
#define TERMS(LOSS)                                                                                          \
    LOSS(mse, "XX", ox_mse_loss(in[0], in[1], reduction), pow(v[0] - v[1], 2))                               \
    LOSS(l1, "XX", ox_l1_loss(in[0], in[1], reduction), fabs(v[0] - v[1]))                                   \
    LOSS(huber, "XX", ox_huber_loss(in[0], in[1], reduction, 0.7), plain_smooth(v[0] - v[1], 0.7))           \
    LOSS(smooth_l1, "XX", ox_smooth_l1_loss(in[0], in[1], reduction, 1.3),                                   \
         plain_smooth(v[0] - v[1], 1.3) / 1.3)                                                               \
    LOSS(smooth_l1_of_0, "XX", ox_smooth_l1_loss(in[0], in[1], reduction, 0), fabs(v[0] - v[1]))             \
    LOSS(binary_cross_entropy, "PP", ox_binary_cross_entropy(in[0], in[1], NULL, reduction),                 \
         -v[1] * log(v[0]) - (1 - v[1]) * log(1 - v[0]))                                                     \
    LOSS(binary_cross_entropy_weight, "PPv", ox_binary_cross_entropy(in[0], in[1], in[2], reduction),        \
         -v[2] * (v[1] * log(v[0]) + (1 - v[1]) * log(1 - v[0])))                                            \
    LOSS(logits, "XP", ox_binary_cross_entropy_with_logits(in[0], in[1], NULL, NULL, reduction),             \
         -v[1] * log(1 / (1 + exp(-v[0]))) - (1 - v[1]) * log(1 / (1 + exp(v[0]))))                          \
    LOSS(logits_weights, "XPvV", ox_binary_cross_entropy_with_logits(in[0], in[1], in[2], in[3], reduction), \
         -v[2] * (v[3] * v[1] * log(1 / (1 + exp(-v[0]))) + (1 - v[1]) * log(1 / (1 + exp(v[0])))))          \
    LOSS(kl_div, "XP", ox_kl_div(in[0], in[1], reduction, false), v[1] * (log(v[1]) - v[0]))                 \
    LOSS(kl_div_log, "XL", ox_kl_div(in[0], in[1], reduction, true), exp(v[1]) * (v[1] - v[0]))              \
    LOSS(gaussian_nll, "XXV", ox_gaussian_nll_loss(in[0], in[1], in[2], false, 1e-6, reduction),             \
         0.5 * (log(v[2]) + pow(v[0] - v[1], 2) / v[2]))                                                     \
    LOSS(gaussian_nll_full, "XXV", ox_gaussian_nll_loss(in[0], in[1], in[2], true, 1e-6, reduction),         \
         0.5 * (log(v[2]) + pow(v[0] - v[1], 2) / v[2] + log(2 * 3.14159265358979323846)))                   \
    LOSS(poisson_nll, "XX", ox_poisson_nll_loss(in[0], in[1], true, false, 1e-8, reduction),                 \
         exp(v[0]) - v[1] * v[0])                                                                            \
    LOSS(poisson_nll_full, "Xn", ox_poisson_nll_loss(in[0], in[1], true, true, 1e-8, reduction),             \
         exp(v[0]) - v[1] * v[0] + plain_stirling(v[1]))                                                     \
    LOSS(poisson_nll_rate, "VX", ox_poisson_nll_loss(in[0], in[1], false, false, 1e-8, reduction),           \
         v[0] - v[1] * log(v[0] + 1e-8))                                                                     \
    LOSS(hinge_embedding, "Xs", ox_hinge_embedding_loss(in[0], in[1], 0.8, reduction),                       \
         v[1] == 1 ? v[0] : fmax(0, 0.8 - v[0]))                                                             \
    LOSS(margin_ranking, "XXs", ox_margin_ranking_loss(in[0], in[1], in[2], 0.4, reduction),                 \
         fmax(0, 0.4 - v[2] * (v[0] - v[1])))                                                                \
    LOSS(soft_margin, "Xs", ox_soft_margin_loss(in[0], in[1], reduction), log(1 + exp(-v[0] * v[1])))

static double plain_smooth(double d, double delta) {
    return fabs(d) < delta ? d * d / 2 : delta * (fabs(d) - delta / 2);
}

static double plain_stirling(double t) {
    return t > 1 ? t * log(t) - t + 0.5 * log(2 * 3.14159265358979323846 * t) : 0;
}

TERMS(LOSS)
#define LOSS_ROW(name, kinds, call, formula) {#name, kinds, run_##name, plain_##name},
static const loss_case term_cases[] = {TERMS(LOSS_ROW)};

static void test_terms(void) {
    static const int64_t sizes[][2] = {{5, 7}, {1, 1}, {3, 0}, {16, 3}};
    for (size_t c = 0; c < sizeof term_cases / sizeof *term_cases; c++) {
        const loss_case *t = &term_cases[c];
        int operands = (int)strlen(t->kinds);
        for (int s = 0; s < 4 * LAYOUTS * 2; s++)
            OX_SCOPE {
                ox_tensor *in[OPERANDS];
                double values[OPERANDS][MOST], terms[MOST];
                int64_t rows = sizes[s % 4][0], columns = sizes[s % 4][1], count = rows * columns;
                bool narrow = s >= 4 * LAYOUTS;
                for (int i = 0; i < operands; i++) { /* another layout for each */
                    in[i] = made((char)(t->kinds[i] | 32), i, rows, columns, (layout)((s / 4 + i) % LAYOUTS));
                    CHECK(ox_to_doubles(in[i], values[i], count) == OX_OK);
                    if (narrow) in[i] = ox_cast(in[i], OX_F32);
                }
                for (int64_t k = 0; k < count; k++) {
                    double v[OPERANDS] = {0, 0, 0, 0};
                    for (int i = 0; i < operands; i++) v[i] = values[i][k];
                    terms[k] = t->plain(v, 1);
                }
                for (int r = OX_LOSS_MEAN; r <= OX_LOSS_NONE; r++) {
                    ox_tensor *loss = t->run(in, (ox_loss_reduction)r);
                    CHECK(!loss || loss->dtype == (narrow ? OX_F32 : OX_F64));
                    check_terms(t->name, loss, terms, count, (ox_loss_reduction)r, (double)count,
                                narrow ? 2e-6 : 1e-13);
                }
            }
    }
}

/* ---- losses of a row a term ---------------------------------------------------------------------------- */

static double plain_distance(const double *a, const double *b, int64_t d, double p) {
    double sum = 0;
    for (int64_t i = 0; i < d; i++) sum += pow(fabs(a[i] - b[i] + 1e-6), p);
    return pow(sum, 1 / p);
}

static double plain_cosine(const double *a, const double *b, int64_t d) {
    double ab = 0, aa = 0, bb = 0;
    for (int64_t i = 0; i < d; i++) ab += a[i] * b[i], aa += a[i] * a[i], bb += b[i] * b[i];
    return ab / sqrt(aa * bb);
}

static double plain_soft_labels(const double *v, int64_t d, bool weighted) {
    double sum = 0;
    for (int64_t i = 0; i < d; i++) {
        double x = v[i], t = v[d + i], w = weighted ? v[2 * d + i] : 1;
        sum += w * (t * log(1 + exp(-x)) + (1 - t) * log(1 + exp(x)));
    }
    return sum / (double)d;
}

static double plain_triplet(const double *v, int64_t d, double p, double margin, bool swap) {
    double far = plain_distance(v, v + 2 * d, d, p), other = plain_distance(v + d, v + 2 * d, d, p);
    return fmax(0, margin + plain_distance(v, v + d, d, p) - (swap ? fmin(far, other) : far));
}

static ox_tensor *triplet(ox_tensor *const *in, ox_loss_reduction reduction, double p, double margin,
                          bool swap) {
    ox_triplet_margin_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.p = p;
    desc.margin = margin;
    desc.swap = swap;
    desc.reduction = reduction;
    return ox_triplet_margin_loss(in[0], in[1], in[2], &desc);
}

/* A distance is not reduced by the library. */
static ox_tensor *reduced(ox_tensor *terms, ox_loss_reduction reduction) {
    return reduction == OX_LOSS_NONE  ? terms
           : reduction == OX_LOSS_SUM ? ox_sum(terms, OX_ALL_DIMS, false)
                                      : ox_mean(terms, OX_ALL_DIMS, false);
}

#define ROWS(LOSS)                                                                                          \
    LOSS(cosine_similarity, "XX", reduced(ox_cosine_similarity(in[0], in[1], -1, 1e-8), reduction),         \
         plain_cosine(v, v + d, d))                                                                         \
    LOSS(pairwise_distance, "XX", reduced(ox_pairwise_distance(in[0], in[1], 2, 1e-6, false), reduction),   \
         plain_distance(v, v + d, d, 2))                                                                    \
    LOSS(pairwise_distance_3, "XX", reduced(ox_pairwise_distance(in[0], in[1], 3, 1e-6, false), reduction), \
         plain_distance(v, v + d, d, 3))                                                                    \
    LOSS(triplet_margin, "XXX", triplet(in, reduction, 0, 0, false), plain_triplet(v, d, 2, 1, false))      \
    LOSS(triplet_margin_swap, "XXX", triplet(in, reduction, 3, 2.5, true),                                  \
         plain_triplet(v, d, 3, 2.5, true))                                                                 \
    LOSS(multilabel_soft_margin, "XP", ox_multilabel_soft_margin_loss(in[0], in[1], NULL, reduction),       \
         plain_soft_labels(v, d, false))                                                                    \
    LOSS(multilabel_soft_margin_weight, "XPv",                                                              \
         ox_multilabel_soft_margin_loss(in[0], in[1], in[2], reduction), plain_soft_labels(v, d, true))
ROWS(LOSS)
static const loss_case row_cases[] = {ROWS(LOSS_ROW)};

static void test_rows(void) {
    static const int64_t sizes[][2] = {{5, 7}, {1, 1}, {0, 3}, {9, 4}};
    for (size_t c = 0; c < sizeof row_cases / sizeof *row_cases; c++) {
        const loss_case *t = &row_cases[c];
        int operands = (int)strlen(t->kinds);
        for (int s = 0; s < 4 * LAYOUTS; s++)
            OX_SCOPE {
                ox_tensor *in[OPERANDS];
                double values[OPERANDS][MOST], terms[MOST], v[OPERANDS * 16];
                int64_t rows = sizes[s % 4][0], d = sizes[s % 4][1];
                for (int i = 0; i < operands; i++) {
                    in[i] = made((char)(t->kinds[i] | 32), i, rows, d, (layout)((s / 4 + i) % LAYOUTS));
                    CHECK(ox_to_doubles(in[i], values[i], rows * d) == OX_OK);
                }
                for (int64_t k = 0; k < rows; k++) {
                    for (int i = 0; i < operands; i++)
                        memcpy(v + i * d, values[i] + k * d, (size_t)d * sizeof *v);
                    terms[k] = t->plain(v, d);
                }
                for (int r = OX_LOSS_MEAN; r <= OX_LOSS_NONE; r++)
                    check_terms(t->name, t->run(in, (ox_loss_reduction)r), terms, rows, (ox_loss_reduction)r,
                                (double)rows, 1e-12);
            }
    }
}

/* Targets a row: signs, classes, lists of classes. */
static void test_row_targets(void) {
    enum { N = 6, C = 5 };
    static const int64_t classes[N] = {4, 0, 2, 2, 1, 3};
    static const int64_t labels[N][C] = {{3, 0, -1, 1, 2}, {-1, 2, 2, 2, 2},  {0, 1, 2, 3, 4},
                                         {2, 2, -1, 0, 0}, {4, -1, -1, 4, 4}, {1, 3, 0, -1, 4}};
    for (int how = 0; how < LAYOUTS; how++)
        OX_SCOPE {
            ox_tensor *x = made('x', 0, N, C, (layout)how), *y = made('x', 1, N, C, CONTIGUOUS);
            ox_tensor *signs = numbers('s', 2, OX_SHAPE(N)), *weight = numbers('v', 3, OX_SHAPE(C));
            ox_tensor *chosen = ox_from_ints(classes, OX_SHAPE(N), how % 2 ? OX_I64 : OX_I32);
            ox_tensor *label = ox_from_ints(labels[0], OX_SHAPE(N, C), OX_I64);
            double a[N * C], b[N * C], s[N], w[C], cosine[N], margin[2][N], listed[N];
            CHECK(ox_to_doubles(x, a, N * C) == OX_OK && ox_to_doubles(y, b, N * C) == OX_OK);
            CHECK(ox_to_doubles(signs, s, N) == OX_OK && ox_to_doubles(weight, w, C) == OX_OK);
            for (int n = 0; n < N; n++) {
                const double *row = a + n * C;
                double cos = plain_cosine(row, b + n * C, C), right = row[classes[n]];
                bool is_label[C] = {false};
                cosine[n] = s[n] == 1 ? 1 - cos : fmax(0, cos - 0.1);
                margin[0][n] = margin[1][n] = listed[n] = 0;
                for (int i = 0; i < C; i++) {
                    double over = fmax(0, 0.7 - right + row[i]);
                    if (i == classes[n]) continue;
                    margin[0][n] += over / C;
                    margin[1][n] += w[classes[n]] * over * over / C;
                }
                for (int j = 0; j < C && labels[n][j] >= 0; j++) is_label[labels[n][j]] = true;
                for (int j = 0; j < C && labels[n][j] >= 0; j++)
                    for (int i = 0; i < C; i++)
                        if (!is_label[i]) listed[n] += fmax(0, 1 - row[labels[n][j]] + row[i]) / C;
            }
            for (int i = OX_LOSS_MEAN; i <= OX_LOSS_NONE; i++) {
                ox_loss_reduction r = (ox_loss_reduction)i;
                check_terms("cosine_embedding", ox_cosine_embedding_loss(x, y, signs, 0.1, r), cosine, N, r,
                            N, 1e-9);
                check_terms("multi_margin", ox_multi_margin_loss(x, chosen, 1, 0.7, NULL, r), margin[0], N, r,
                            N, 1e-13);
                check_terms("multi_margin 2", ox_multi_margin_loss(x, chosen, 2, 0.7, weight, r), margin[1],
                            N, r, N, 1e-13);
                check_terms("multilabel_margin", ox_multilabel_margin_loss(x, label, r), listed, N, r, N,
                            1e-13);
            }
            /* one row without its dim */
            ox_tensor *one = ox_select(x, 0, 3);
            check_terms(
                "cosine_embedding of a row",
                ox_cosine_embedding_loss(one, ox_select(y, 0, 3), ox_select(signs, 0, 3), 0.1, OX_LOSS_MEAN),
                cosine + 3, 1, OX_LOSS_MEAN, 1, 1e-9);
            check_terms("multi_margin of a row",
                        ox_multi_margin_loss(one, ox_select(chosen, 0, 3), 1, 0.7, NULL, OX_LOSS_MEAN),
                        margin[0] + 3, 1, OX_LOSS_MEAN, 1, 1e-13);
            check_terms("multi_margin of a row and a list",
                        ox_multi_margin_loss(one, ox_narrow(chosen, 0, 3, 1), 1, 0.7, NULL, OX_LOSS_NONE),
                        margin[0] + 3, 1, OX_LOSS_NONE, 1, 1e-13);
            check_terms("multilabel_margin of a row",
                        ox_multilabel_margin_loss(one, ox_select(label, 0, 3), OX_LOSS_MEAN), listed + 3, 1,
                        OX_LOSS_MEAN, 1, 1e-13);
        }
}

/* ---- classes ------------------------------------------------------------------------------------------- */

/* input [N,C,D], its logarithms of softmax, and a target of each kind. */
enum { N = 4, C = 5, D = 3 };
typedef struct class_problem {
    double logs[N][C][D], probability[N][C][D], weight[C];
    int64_t target[N][D];
    ox_tensor *input, *of_classes, *of_probabilities, *weights;
} class_problem;

static void class_problem_make(class_problem *q, bool views, int64_t ignored) {
    double x[N][C][D];
    q->input = numbers('x', 0, OX_SHAPE(N, C, D));
    if (views) q->input = ox_permute(numbers('x', 0, OX_SHAPE(D, N, C)), OX_DIMS(1, 2, 0));
    q->weights =
        views ? ox_slice(numbers('v', 1, OX_SHAPE(2 * C)), 0, 0, OX_END, 2) : numbers('v', 1, OX_SHAPE(C));
    q->of_probabilities = numbers('p', 2, OX_SHAPE(N, C, D));
    CHECK(ox_to_doubles(q->input, x[0][0], N * C * D) == OX_OK);
    CHECK(ox_to_doubles(q->weights, q->weight, C) == OX_OK);
    CHECK(ox_to_doubles(q->of_probabilities, q->probability[0][0], N * C * D) == OX_OK);
    for (int n = 0; n < N; n++)
        for (int d = 0; d < D; d++) {
            double sum = 0;
            for (int c = 0; c < C; c++) sum += exp(x[n][c][d]);
            for (int c = 0; c < C; c++) q->logs[n][c][d] = x[n][c][d] - log(sum);
            q->target[n][d] = (n * 7 + d * 3) % 6 == 5 ? ignored : (n * 2 + d) % C;
        }
    q->of_classes = ox_from_ints(q->target[0], OX_SHAPE(N, D), OX_I64);
    if (views) q->of_classes = ox_t(ox_contiguous(ox_t(q->of_classes)));
}

static void check_classes(const class_problem *q, bool weighted, double smoothing, int64_t ignored,
                          bool ignores, ox_loss_reduction r) {
    double terms[N * D], plain[N * D], divisor = 0, positions = 0;
    ox_cross_entropy_desc desc;
    ox_nll_loss_desc nll;
    memset(&desc, 0, sizeof desc);
    memset(&nll, 0, sizeof nll);
    desc.weight = nll.weight = weighted ? q->weights : NULL;
    desc.reduction = nll.reduction = r;
    desc.ignores = nll.ignores = ignores;
    desc.ignore_index = nll.ignore_index = ignores ? ignored : 77; /* which must not matter */
    desc.label_smoothing = smoothing;
    for (int n = 0; n < N; n++)
        for (int d = 0; d < D; d++) {
            int64_t t = q->target[n][d];
            int at = n * D + d;
            terms[at] = plain[at] = 0;
            if (t == ignored) continue;
            double w = weighted ? q->weight[t] : 1;
            plain[at] = -w * q->logs[n][t][d];
            terms[at] = (1 - smoothing) * plain[at];
            for (int c = 0; c < C; c++)
                terms[at] -= smoothing / C * (weighted ? q->weight[c] : 1) * q->logs[n][c][d];
            divisor += w;
            positions++;
        }
    CHECK(positions < N * D && positions > 1); /* some are ignored */
    check_terms("cross_entropy", ox_cross_entropy(q->input, q->of_classes, &desc), terms, N * D, r, divisor,
                1e-13);
    check_terms("nll_loss", ox_nll_loss(ox_log_softmax(q->input, 1), q->of_classes, &nll), plain, N * D, r,
                divisor, 1e-13);
    if (ignores) return;
    for (int n = 0; n < N; n++)
        for (int d = 0; d < D; d++) {
            terms[n * D + d] = 0;
            for (int c = 0; c < C; c++)
                terms[n * D + d] -= (weighted ? q->weight[c] : 1) * q->logs[n][c][d] *
                                    (q->probability[n][c][d] * (1 - smoothing) + smoothing / C);
        }
    check_terms("cross_entropy of probabilities", ox_cross_entropy(q->input, q->of_probabilities, &desc),
                terms, N * D, r, N * D, 1e-13);
}

static void test_classes(void) {
    static const int64_t ignored[] = {-100, 0, 9};
    for (int i = 0; i < 3 * 2 * 2 * 2 * 3; i++)
        OX_SCOPE {
            class_problem q;
            int64_t index = ignored[i % 3];
            class_problem_make(&q, i / 3 % 2, index);
            check_classes(&q, i / 6 % 2, i / 12 % 2 ? 0.2 : 0, index, index != -100,
                          (ox_loss_reduction)(i / 24));
        }
}

/* Without a batch, all ignored, none at all, other integers. */
static void test_class_shapes(void) {
    OX_SCOPE {
        static const int64_t two = 2, all[3] = {-100, -100, -100};
        ox_tensor *x = numbers('x', 0, OX_SHAPE(5)), *t = ox_from_ints(&two, OX_SCALAR_SHAPE, OX_I64);
        ox_tensor *expected = ox_neg(ox_select(ox_log_softmax(x, 0), 0, 2));
        CHECK(ox_allclose(ox_cross_entropy(x, t, NULL), expected, 1e-14, 0, false));
        CHECK(ox_allclose(ox_cross_entropy(x, ox_cast(t, OX_U8), NULL), expected, 1e-14, 0, false));
        CHECK(ox_allclose(ox_nll_loss(ox_log_softmax(x, 0), t, NULL), expected, 1e-14, 0, false));
        ox_tensor *hot = ox_cast(ox_one_hot(t, 5), OX_F64);
        CHECK(ox_allclose(ox_cross_entropy(x, hot, NULL), expected, 1e-14, 0, false));
        ox_cross_entropy_desc desc;
        memset(&desc, 0, sizeof desc);
        ox_tensor *w = ox_requires_grad_(numbers('x', 1, OX_SHAPE(3, 5)), true);
        ox_tensor *none = ox_from_ints(all, OX_SHAPE(3), OX_I64);
        CHECK(isnan(ox_item(ox_cross_entropy(w, none, NULL))));
        desc.reduction = OX_LOSS_SUM;
        ox_tensor *loss = ox_cross_entropy(w, none, &desc);
        CHECK(ox_item(loss) == 0 && ox_backward(loss, NULL) == OX_OK);
        CHECK(ox_equal(ox_gradient(w), ox_zeros(OX_SHAPE(3, 5), OX_F64)));
        ox_tensor *empty = ox_zeros(OX_SHAPE(0, 5), OX_F64), *no = ox_zeros(OX_SHAPE(0), OX_I64);
        CHECK(ox_item(ox_cross_entropy(empty, no, &desc)) == 0 &&
              isnan(ox_item(ox_cross_entropy(empty, no, NULL))));
        CHECK(ox_error() == OX_OK);
    }
}

/* ---- ends of the range --------------------------------------------------------------------------------- */

static double item_of(ox_tensor *x, ox_tensor *target, loss_function run) {
    ox_tensor *in[2] = {x, target};
    return ox_item(run(in, OX_LOSS_SUM));
}

static void test_ends(void) {
    static const float logits[] = {1000, -1000, 1000, -1000}, signs[] = {1, -1, 1, -1}, ones[] = {1, 0, 1, 0};
    OX_SCOPE {
        ox_tensor *x = ox_from_floats(logits, OX_SHAPE(4), OX_F32),
                  *t = ox_from_floats(ones, OX_SHAPE(4), OX_F32);
        ox_tensor *s = ox_from_floats(signs, OX_SHAPE(4), OX_F32), *wrong = ox_neg(x);
        CHECK(item_of(x, t, run_logits) == 0 && item_of(wrong, t, run_logits) == 4000);
        CHECK(item_of(x, s, run_soft_margin) == 0 && item_of(wrong, s, run_soft_margin) == 4000);
        ox_tensor *rows = ox_reshape(ox_mul_number(x, 30), OX_SHAPE(2, 2));
        static const int64_t first[2] = {0, 0}, second[2] = {1, 1};
        ox_tensor *right = ox_from_ints(first, OX_SHAPE(2), OX_I64),
                  *far = ox_from_ints(second, OX_SHAPE(2), OX_I64);
        CHECK(ox_item(ox_cross_entropy(rows, right, NULL)) == 0);
        CHECK(ox_item(ox_cross_entropy(rows, far, NULL)) == 60000);
        /* probabilities of 0 and 1: the log is cut at -100, and gradients are finite */
        ox_tensor *p = ox_requires_grad_(ox_clone(t), true), *flipped = ox_rsub_number(t, 1);
        CHECK(item_of(p, t, run_binary_cross_entropy) == 0);
        ox_tensor *loss = ox_binary_cross_entropy(p, flipped, NULL, OX_LOSS_SUM);
        CHECK(ox_item(loss) == 400 && ox_backward(loss, NULL) == OX_OK);
        CHECK(ox_item(ox_all(ox_isfinite(ox_gradient(p)), OX_ALL_DIMS, false)) == 1);
        /* 0 log 0 */
        ox_tensor *logs = ox_requires_grad_(ox_log(ox_full(OX_SHAPE(4), 0.5, OX_F32)), true);
        ox_tensor *target = ox_requires_grad_(ox_clone(t), true);
        loss = ox_kl_div(logs, target, OX_LOSS_BATCHMEAN, false);
        CHECK(fabs(ox_item(loss) - 2 * log(2) / 4) < 1e-7 && ox_backward(loss, NULL) == OX_OK);
        CHECK(ox_item(ox_all(ox_isfinite(ox_gradient(target)), OX_ALL_DIMS, false)) == 1);
        /* variances below eps count as eps, and their gradient passes */
        ox_tensor *v = ox_requires_grad_(ox_zeros(OX_SHAPE(1), OX_F64), true),
                  *one = ox_ones(OX_SHAPE(1), OX_F64);
        loss = ox_gaussian_nll_loss(one, ox_zeros_like(one), v, false, 0.5, OX_LOSS_SUM);
        CHECK(near(ox_item(loss), 0.5 * (log(0.5) + 2), 1e-15) && ox_backward(loss, NULL) == OX_OK);
        CHECK(near(ox_item(ox_gradient(v)), 0.5 * (2 - 4), 1e-15));
        CHECK(ox_error() == OX_OK);
    }
}

/* The variance as torch takes it: without the last dim, with sizes of 1, a number. */
static void test_variances(void) {
    OX_SCOPE {
        ox_tensor *x = made('x', 0, 4, 3, CONTIGUOUS), *y = made('x', 1, 4, 3, CONTIGUOUS);
        ox_tensor *v = numbers('v', 2, OX_SHAPE(4)), *column = ox_reshape(v, OX_SHAPE(4, 1)), *number;
        ox_tensor *expected =
            ox_gaussian_nll_loss(x, y, ox_expand(column, OX_SHAPE(4, 3)), true, 1e-6, OX_LOSS_NONE);
        CHECK(ox_equal(ox_gaussian_nll_loss(x, y, v, true, 1e-6, OX_LOSS_NONE), expected));
        CHECK(ox_equal(ox_gaussian_nll_loss(x, y, column, true, 1e-6, OX_LOSS_NONE), expected));
        number = ox_gaussian_nll_loss(x, y, ox_number(0.3), true, 1e-6, OX_LOSS_NONE);
        CHECK(ox_equal(number, ox_gaussian_nll_loss(x, y, ox_full_like(x, 0.3), true, 1e-6, OX_LOSS_NONE)));
    }
}

/* Sizes of 1 are broadcast before a norm is taken along them. */
static void test_broadcast_cosine(void) {
    OX_SCOPE {
        ox_tensor *a = numbers('x', 0, OX_SHAPE(1, 2, 3)), *b = numbers('x', 1, OX_SHAPE(2, 1, 3));
        ox_tensor *whole[2] = {ox_clone(ox_expand(a, OX_SHAPE(2, 2, 3))),
                               ox_clone(ox_expand(b, OX_SHAPE(2, 2, 3)))};
        for (int dim = -2; dim < 3; dim++) {
            ox_tensor *expected = ox_cosine_similarity(whole[0], whole[1], dim, 1e-8);
            CHECK(expected && ox_allclose(ox_cosine_similarity(a, b, dim, 1e-8), expected, 1e-14, 0, false));
            CHECK(ox_allclose(ox_cosine_similarity(b, ox_select(a, 0, 0), dim, 1e-8), expected, 1e-14, 0,
                              false));
        }
    }
}

/* ---- gradients ----------------------------------------------------------------------------------------- */

static ox_tensor *checked_terms(ox_tensor *const *in, void *user) {
    return ((const loss_case *)user)->run(in, OX_LOSS_NONE);
}

/* Capitals of the kinds want a gradient. Kinks have no second derivative, nor has what is flat there. */
static void check_gradients(const loss_case *t) {
    OX_SCOPE {
        ox_tensor *in[OPERANDS];
        int operands = (int)strlen(t->kinds);
        for (int i = 0; i < operands; i++) {
            bool wants = t->kinds[i] >= 'A' && t->kinds[i] <= 'Z';
            in[i] = ox_requires_grad_(ox_clone(made((char)(t->kinds[i] | 32), i, 3, 4, CONTIGUOUS)), wants);
        }
        CHECK_MSG(ox_gradcheck(checked_terms, (void *)t, in, operands, NULL) == OX_OK, "%s: %s", t->name,
                  ox_error_text());
        ox_error_clear();
        CHECK_MSG(ox_gradgradcheck(checked_terms, (void *)t, in, operands, NULL) == OX_OK, "%s: %s", t->name,
                  ox_error_text());
        ox_error_clear();
    }
}

static ox_tensor *checked_classes(ox_tensor *const *in, void *user) {
    ox_cross_entropy_desc desc = *(const ox_cross_entropy_desc *)user;
    desc.weight = in[2];
    return ox_cross_entropy(in[0], in[1], &desc);
}

static ox_tensor *checked_rows(ox_tensor *const *in, void *user) {
    int which = *(const int *)user;
    return which == 0   ? ox_cosine_embedding_loss(in[0], in[1], in[2], 0.1, OX_LOSS_NONE)
           : which == 1 ? ox_multi_margin_loss(in[0], in[1], 2, 1, in[2], OX_LOSS_NONE)
                        : ox_multilabel_margin_loss(in[0], in[1], OX_LOSS_NONE);
}

static void test_gradients(void) {
    for (size_t c = 0; c < sizeof term_cases / sizeof *term_cases; c++) check_gradients(&term_cases[c]);
    for (size_t c = 0; c < sizeof row_cases / sizeof *row_cases; c++) check_gradients(&row_cases[c]);
    for (int i = 0; i < 8; i++)
        OX_SCOPE {
            class_problem q;
            ox_cross_entropy_desc desc;
            class_problem_make(&q, false, 0);
            memset(&desc, 0, sizeof desc);
            desc.reduction = i & 1 ? OX_LOSS_NONE : OX_LOSS_MEAN;
            desc.label_smoothing = i & 2 ? 0.1 : 0;
            desc.ignores = !(i & 4);
            ox_tensor *target = i & 4 ? ox_requires_grad_(q.of_probabilities, true) : q.of_classes;
            ox_tensor *in[3] = {ox_requires_grad_(q.input, true), target, ox_requires_grad_(q.weights, true)};
            CHECK_MSG(ox_gradcheck(checked_classes, &desc, in, 3, NULL) == OX_OK, "%d: %s", i,
                      ox_error_text());
            ox_error_clear();
            CHECK_MSG(ox_gradgradcheck(checked_classes, &desc, in, 3, NULL) == OX_OK, "%d: %s", i,
                      ox_error_text());
            ox_error_clear();
        }
    for (int which = 0; which < 3; which++)
        OX_SCOPE {
            static const int64_t classes[4] = {2, 0, 1, 2},
                                 labels[4][3] = {{1, -1, 0}, {-1, 0, 0}, {2, 0, -1}, {0, 1, 2}};
            ox_tensor *x = ox_requires_grad_(numbers('x', 0, OX_SHAPE(4, 3)), true), *second, *third = NULL;
            second = which == 0   ? ox_requires_grad_(numbers('x', 1, OX_SHAPE(4, 3)), true)
                     : which == 1 ? ox_from_ints(classes, OX_SHAPE(4), OX_I64)
                                  : ox_from_ints(labels[0], OX_SHAPE(4, 3), OX_I64);
            third = which == 0 ? numbers('s', 2, OX_SHAPE(4))
                               : ox_requires_grad_(numbers('v', 2, OX_SHAPE(3)), true);
            ox_tensor *in[3] = {x, second, third};
            int count = which == 2 ? 2 : 3;
            CHECK_MSG(ox_gradcheck(checked_rows, &which, in, count, NULL) == OX_OK, "%d: %s", which,
                      ox_error_text());
            ox_error_clear();
            CHECK_MSG(ox_gradgradcheck(checked_rows, &which, in, count, NULL) == OX_OK, "%d: %s", which,
                      ox_error_text());
            ox_error_clear();
        }
}

/* ---- refusals, and what is left ------------------------------------------------------------------------ */

static void refused(ox_tensor *loss, ox_status status, const char *words) {
    CHECK_MSG(!loss && ox_error() == status && strstr(ox_error_text(), words), "%d %s", (int)ox_error(),
              ox_error_text());
    ox_error_clear();
}

static void test_refusals(void) {
    OX_SCOPE {
        static const int64_t classes[2] = {0, 5};
        ox_tensor *x = made('p', 0, 2, 5, CONTIGUOUS), *y = made('p', 1, 2, 4, CONTIGUOUS),
                  *w = ox_ones(OX_SHAPE(4), OX_F64);
        ox_tensor *t = ox_from_ints(classes, OX_SHAPE(2), OX_I64);
        ox_cross_entropy_desc desc;
        memset(&desc, 0, sizeof desc);
        refused(ox_cross_entropy(x, ox_cast(t, OX_F32), NULL), OX_ERR_DTYPE, "f32[2] are not integers");
        refused(ox_cross_entropy(x, ox_cast(x, OX_I64), NULL), OX_ERR_DTYPE, "probabilities i64[2,5]");
        refused(ox_nll_loss(x, ox_cast(t, OX_F64), NULL), OX_ERR_DTYPE, "not integers");
        refused(ox_linear_cross_entropy(x, ox_ones(OX_SHAPE(3, 5), OX_F64), ox_cast(t, OX_F64), NULL, NULL),
                OX_ERR_DTYPE, "not integers");
        refused(ox_mse_loss(x, NULL, OX_LOSS_MEAN), OX_ERR_ARG, "mse_loss: ");
        refused(ox_mse_loss(x, y, OX_LOSS_MEAN), OX_ERR_SHAPE, "mse_loss: ");
        refused(ox_mse_loss(x, x, (ox_loss_reduction)9), OX_ERR_ARG, "mse_loss: no reduction 9");
        refused(ox_mse_loss(x, x, OX_LOSS_BATCHMEAN), OX_ERR_ARG, "mse_loss: no reduction");
        refused(ox_huber_loss(x, x, OX_LOSS_MEAN, 0), OX_ERR_ARG, "delta 0");
        refused(ox_smooth_l1_loss(x, x, OX_LOSS_MEAN, -1), OX_ERR_ARG, "beta -1");
        refused(ox_binary_cross_entropy(x, y, NULL, OX_LOSS_MEAN), OX_ERR_SHAPE, "target");
        refused(ox_binary_cross_entropy_with_logits(x, y, NULL, NULL, OX_LOSS_MEAN), OX_ERR_SHAPE, "target");
        refused(ox_gaussian_nll_loss(x, x, w, false, 1e-6, OX_LOSS_MEAN), OX_ERR_SHAPE, "variances");
        refused(ox_cross_entropy(x, t, NULL), OX_ERR_INDEX, "cross_entropy: ");
        refused(ox_cross_entropy(x, w, NULL), OX_ERR_SHAPE, "classes");
        desc.weight = w;
        refused(ox_cross_entropy(x, t, &desc), OX_ERR_SHAPE, "weight");
        refused(ox_cross_entropy(x, x, &desc), OX_ERR_SHAPE, "weight");
        desc.weight = NULL;
        desc.label_smoothing = 1.5;
        refused(ox_cross_entropy(x, t, &desc), OX_ERR_ARG, "label_smoothing");
        desc.label_smoothing = 0;
        desc.ignores = true;
        refused(ox_cross_entropy(x, x, &desc), OX_ERR_ARG, "probabilities cannot");
        refused(ox_multi_margin_loss(x, t, 3, 1, NULL, OX_LOSS_MEAN), OX_ERR_ARG, "p 3");
        refused(ox_multilabel_margin_loss(x, t, OX_LOSS_MEAN), OX_ERR_SHAPE, "target");
        refused(ox_cosine_embedding_loss(x, x, x, 0, OX_LOSS_MEAN), OX_ERR_SHAPE, "targets");
        ox_triplet_margin_desc triplet_desc;
        memset(&triplet_desc, 0, sizeof triplet_desc);
        triplet_desc.margin = -1;
        refused(ox_triplet_margin_loss(x, x, x, &triplet_desc), OX_ERR_ARG, "margin -1");
        refused(ox_cosine_similarity(x, x, 4, 1e-8), OX_ERR_DIM, "cosine_similarity: ");
    }
}

/* Where no scope is open, a loss is one tensor, and its caller's. */
static void test_nothing_left(void) {
    ox_tensor *x = made('p', 0, 3, 3, CONTIGUOUS);
    static const int64_t classes[3] = {0, 2, 1};
    ox_tensor *t = ox_from_ints(classes, OX_SHAPE(3), OX_I64);
    int64_t before = ox_memory_get_stats().tensors;
    ox_tensor *loss[] = {
        ox_mse_loss(x, x, OX_LOSS_NONE),           ox_cross_entropy(x, t, NULL),
        ox_kl_div(x, x, OX_LOSS_BATCHMEAN, false), ox_multi_margin_loss(x, t, 1, 1, NULL, OX_LOSS_SUM),
        ox_cosine_similarity(x, x, 1, 1e-8),       ox_mse_loss(x, NULL, OX_LOSS_MEAN)};
    CHECK(ox_memory_get_stats().tensors == before + 5);
    for (int i = 0; i < 6; i++) ox_release(loss[i]);
    ox_error_clear();
    CHECK(ox_memory_get_stats().tensors == before);
    ox_release(x);
    ox_release(t);
}

/* ---- ctc ----------------------------------------------------------------------------------------------- */

enum { CTC_CLASSES = 3, CTC_MOST = 6 };

/* The probability of the labels: that of all paths of `times` classes that become them without repetitions
 * and blanks (class 0). */
static double paths_of(const double *p, int times, int stride, const int64_t *labels, int count) {
    double sum = 0;
    int paths = 1;
    for (int t = 0; t < times; t++) paths *= CTC_CLASSES;
    for (int path = 0; path < paths; path++) {
        double own = 1;
        int found = 0, last = 0, fits = 1;
        for (int t = 0, rest = path; t < times; t++, rest /= CTC_CLASSES) {
            int class_ = rest % CTC_CLASSES;
            own *= exp(p[t * stride + class_]);
            if (class_ && class_ != last) fits = fits && found < count && labels[found++] == class_;
            last = class_;
        }
        if (fits && found == count) sum += own;
    }
    return sum;
}

static void test_ctc(void) {
    static const int64_t labels[] = {1, 2, 2, 1, 1, 0}, lengths[] = {2, 1, 0}, times[] = {5, 3, 6};
    for (int flat = 0; flat < 2; flat++)
        OX_SCOPE {
            ox_manual_seed(3);
            ox_tensor *logits = ox_randn(OX_SHAPE(CTC_MOST, 3, CTC_CLASSES), OX_F64);
            ox_tensor *x = ox_log_softmax(logits, -1), *tx = ox_from_ints(times, OX_SHAPE(3), OX_I64);
            ox_tensor *tl = ox_from_ints(lengths, OX_SHAPE(3), OX_I64);
            /* samples: 1 2, then 2, then nothing */
            ox_tensor *t = flat ? ox_from_ints(labels, OX_SHAPE(3), OX_I64) : NULL;
            static const int64_t padded[] = {1, 2, 2, 0, 0, 0};
            if (!flat) t = ox_from_ints(padded, OX_SHAPE(3, 2), OX_I64);
            ox_tensor *loss = ox_ctc_loss(x, t, tx, tl, 0, OX_LOSS_NONE, false);
            CHECK_MSG(loss && ox_numel(loss) == 3, "%s", ox_error_text());
            const double *p = (const double *)ox_data(ox_contiguous(x));
            for (int n = 0; loss && n < 3; n++) {
                double want = -log(paths_of(p + n * CTC_CLASSES, (int)times[n], 3 * CTC_CLASSES,
                                            labels + (n ? n + 1 : 0), (int)lengths[n]));
                CHECK_MSG(fabs(ox_item(ox_select(loss, 0, n)) - want) < 1e-12, "ctc of sample %d: %g, not %g",
                          n, ox_item(ox_select(loss, 0, n)), want);
            }
            /* more labels than times: no path */
            ox_tensor *few = ox_from_ints((const int64_t[]){1, 3, 6}, OX_SHAPE(3), OX_I64);
            CHECK(isinf(ox_item(ox_ctc_loss(x, t, few, tl, 0, OX_LOSS_SUM, false))));
            CHECK(isfinite(ox_item(ox_ctc_loss(x, t, few, tl, 0, OX_LOSS_SUM, true))));
            CHECK(!ox_ctc_loss(x, t, tx, tl, 3, OX_LOSS_SUM, false) && ox_error() == OX_ERR_SHAPE);
            ox_error_clear();
            /* the gradient behind a log_softmax, against differences */
            ox_tensor *leaf = ox_requires_grad_(ox_detach(logits), true), *grads[1];
            ox_tensor *sum = ox_ctc_loss(ox_log_softmax(leaf, -1), t, tx, tl, 0, OX_LOSS_MEAN, false);
            CHECK_MSG(sum && ox_grad(&sum, 1, &leaf, 1, NULL, grads) == OX_OK, "%s", ox_error_text());
            for (int i = 0; sum && i < 8; i++) {
                double loss_at[2], *at = (double *)ox_data(logits) + 7 * i, was = *at;
                for (int side = 0; side < 2; side++) OX_NO_GRAD {
                        *at = was + (side ? 1e-6 : -1e-6);
                        loss_at[side] = ox_item(
                            ox_ctc_loss(ox_log_softmax(logits, -1), t, tx, tl, 0, OX_LOSS_MEAN, false));
                    }
                *at = was;
                double numeric = (loss_at[1] - loss_at[0]) / 2e-6,
                       own = ((const double *)ox_data(grads[0]))[7 * i];
                CHECK_MSG(fabs(numeric - own) < 1e-8, "ctc's gradient %d: %g, not %g", i, own, numeric);
            }
            ox_error_clear();
        }
}

int main(void) {
    test_ctc();
    test_terms();
    test_rows();
    test_row_targets();
    test_classes();
    test_class_shapes();
    test_ends();
    test_variances();
    test_broadcast_cosine();
    test_gradients();
    test_refusals();
    test_nothing_left();
    return check_done("losses");
}
