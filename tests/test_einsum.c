/* test_einsum.c - einsum against a plain loop over all index letters, on operands of every layout; what it
 * refuses. The loop needs no idea of contraction order: it runs over every combination of indices and adds
 * up products.
 * OX_VULKAN_LONG OX_TIERS */
#include "operands.h"
#include "oxtorch_nn.h"

#include <ctype.h>

/* ---- the plain loop ---------------------------------------------------------------------------------- */

#define MOST_LABELS 12
#define MOST_TERMS 4

/* An equation taken apart. "..." is written out as the labels '0', '1', .. counted from the right. */
typedef struct equation {
    char term[MOST_TERMS][32], result[32];
    int terms;
    bool has_result;
    char label[MOST_LABELS];
    int64_t size[MOST_LABELS];
    int labels, dots;
} equation;

static int label_of(equation *e, char c) {
    for (int i = 0; i < e->labels; i++)
        if (e->label[i] == c) return i;
    e->label[e->labels] = c;
    e->size[e->labels] = 1;
    return e->labels++;
}

/* Copies letters from text until a stop, with "..." as `dots` labels. */
static const char *spell(const char *text, int dots, char *out) {
    while (*text && *text != ',' && *text != '-') {
        if (*text == '.') {
            for (int i = dots - 1; i >= 0; i--) *out++ = (char)('0' + i);
            text += 3;
        } else if (*text == ' ') {
            text++;
        } else {
            *out++ = *text++;
        }
    }
    *out = 0;
    return text;
}

static void take_apart(equation *e, const char *text, ox_tensor *const *in, int count) {
    memset(e, 0, sizeof *e);
    for (; e->terms < count; e->terms++) {
        int letters = 0;
        bool dots = false;
        for (const char *p = text; *p && *p != ',' && *p != '-'; p++) {
            letters += isalpha((unsigned char)*p) != 0;
            dots = dots || *p == '.';
        }
        int own = dots ? in[e->terms]->ndim - letters : 0;
        if (own > e->dots) e->dots = own;
        text = spell(text, own, e->term[e->terms]);
        for (int d = 0; d < in[e->terms]->ndim; d++) {
            int label = label_of(e, e->term[e->terms][d]);
            if (in[e->terms]->shape[d] != 1) e->size[label] = in[e->terms]->shape[d];
        }
        if (*text == ',') text++;
    }
    e->has_result = *text == '-';
    if (e->has_result) {
        spell(text + 2, e->dots, e->result);
        return;
    }
    int n = 0;
    for (int i = e->dots - 1; i >= 0; i--) e->result[n++] = (char)('0' + i);
    for (int c = 'A'; c <= 'z'; c++) {
        int times = 0;
        for (int t = 0; t < e->terms; t++)
            for (const char *p = e->term[t]; *p; p++) times += *p == c;
        if (times == 1 && isalpha(c)) e->result[n++] = (char)c;
    }
    e->result[n] = 0;
}

/* The product of the terms' elements at the given index of each label. */
static double product_at(equation *e, ox_tensor *const *in, const int64_t *index, bool magnitude) {
    double product = 1;
    for (int t = 0; t < e->terms; t++) {
        int64_t offset = 0;
        for (int d = 0; d < in[t]->ndim; d++)
            if (in[t]->shape[d] != 1) offset += index[label_of(e, e->term[t][d])] * in[t]->stride[d];
        product *= load_real(in[t]->dtype, (char *)ox_data(in[t]) + offset * (int64_t)width_of(in[t]->dtype));
    }
    return magnitude ? fabs(product) : product;
}

/* Result element `at`: the sum over all labels that the result does not have. */
static double sum_at(equation *e, ox_tensor *const *in, int64_t at, double *magnitude) {
    int64_t index[MOST_LABELS] = {0};
    bool fixed[MOST_LABELS] = {false};
    for (int d = (int)strlen(e->result) - 1; d >= 0; d--) {
        int label = label_of(e, e->result[d]);
        index[label] = at % e->size[label];
        at /= e->size[label];
        fixed[label] = true;
    }
    double sum = 0;
    *magnitude = 0;
    for (int i = 0; i < e->labels; i++)
        if (e->size[i] == 0) return 0;
    for (;;) {
        sum += product_at(e, in, index, false);
        *magnitude += product_at(e, in, index, true);
        int i = 0;
        for (; i < e->labels; i++) {
            if (fixed[i]) continue;
            if (++index[i] < e->size[i]) break;
            index[i] = 0;
        }
        if (i == e->labels) return sum;
    }
}

/* ---- one equation over dtypes and layouts ------------------------------------------------------------ */

typedef struct einsum_case {
    const char *text;
    int count;
    int ndim[MOST_TERMS];
    int64_t shape[MOST_TERMS][4];
} einsum_case;

/* Whether a letter of one term alone is summed over: such sums of integers are i64, and so is the result. */
static bool sums_alone(const equation *e) {
    for (int i = 0; i < e->labels; i++) {
        int terms = 0;
        for (int t = 0; t < e->terms; t++) terms += strchr(e->term[t], e->label[i]) != NULL;
        if (terms == 1 && !strchr(e->result, e->label[i])) return true;
    }
    return false;
}

static void check_once(const einsum_case *c, ox_dtype dtype, int layouts) {
    ox_tensor *in[MOST_TERMS], *plain[MOST_TERMS];
    equation e;
    for (int i = 0; i < c->count; i++) {
        layout l = (layout)((layouts * (i + 1)) % LAYOUT_COUNT);
        in[i] = random_layout(l, is_integral(dtype) ? DOMAIN_UNIT : DOMAIN_MODEST, c->ndim[i], c->shape[i],
                              dtype);
        plain[i] = plain_copy(in[i]);
    }
    take_apart(&e, c->text, in, c->count);
    ox_tensor *result = ox_einsum(c->text, in, c->count), *flat = ox_einsum(c->text, plain, c->count);
    CHECK_MSG(result && flat, "%s %s: %s", c->text, ox_dtype_name(dtype), ox_error_text());
    ox_error_clear();
    if (!result || !flat) return;
    if (is_integral(dtype) && sums_alone(&e)) dtype = OX_I64;
    bool same = result->dtype == dtype && result->ndim == (int)strlen(e.result);
    for (int d = 0; same && d < result->ndim; d++)
        same = result->shape[d] == e.size[label_of(&e, e.result[d])];
    CHECK_MSG(same, "%s %s: wrong shape or dtype %s", c->text, ox_dtype_name(dtype),
              ox_dtype_name(result->dtype));
    for (int i = 0; i < c->count; i++)
        CHECK_MSG(result->storage != in[i]->storage, "%s: the result shares memory", c->text);
    bool whole = is_integral(dtype);
    double unit = whole ? 0 : spacing(format_of(dtype), 1.0);
    for (int64_t i = 0; same && i < ox_numel(result); i++) {
        double magnitude, want = sum_at(&e, in, i, &magnitude);
        if (whole) { /* wraps */
            char cell[8];
            store_int(dtype, cell, (int64_t)want);
            want = load_real(dtype, cell);
        }
        double got = load_real(dtype, element(result, i)), other = load_real(dtype, element(flat, i));
        double bound = unit * magnitude * (dtype == OX_F32 || dtype == OX_F64 ? 8 : 3) + 1e-30;
        CHECK_MSG(fabs(got - want) <= bound && fabs(other - want) <= bound,
                  "%s %s, layouts %d: element %lld is %.9g (plain %.9g), not %.9g", c->text,
                  ox_dtype_name(dtype), layouts, (long long)i, got, other, want);
    }
}

static const einsum_case cases[] = {
    {"ij,jk->ik", 2, {2, 2}, {{3, 5}, {5, 4}}},
    {"ij,jk", 2, {2, 2}, {{3, 5}, {5, 4}}},
    {"ij,kj->ki", 2, {2, 2}, {{3, 5}, {4, 5}}},
    {"ji,jk->ik", 2, {2, 2}, {{5, 3}, {5, 4}}},
    {"bij,bjk->bik", 2, {3, 3}, {{2, 3, 5}, {2, 5, 4}}},
    {"bij,jk->bik", 2, {3, 2}, {{2, 3, 5}, {5, 4}}},
    {"bhqd,bhkd->bhqk", 2, {4, 4}, {{2, 3, 4, 5}, {2, 3, 6, 5}}},
    {"i,j->ij", 2, {1, 1}, {{3}, {4}}},
    {"i,i->", 2, {1, 1}, {{33}, {33}}},
    {"i,i", 2, {1, 1}, {{7}, {7}}},
    {"i,i->i", 2, {1, 1}, {{7}, {7}}},
    {"ij,ij->ij", 2, {2, 2}, {{3, 4}, {3, 4}}},
    {"ij,j->i", 2, {2, 1}, {{3, 17}, {17}}},
    {"ij,ik->jk", 2, {2, 2}, {{6, 3}, {6, 4}}},
    {"ii->i", 1, {2}, {{5, 5}}},
    {"ii->", 1, {2}, {{5, 5}}},
    {"ii", 1, {2}, {{5, 5}}},
    {"iij->j", 1, {3}, {{4, 4, 3}}},
    {"iji->ij", 1, {3}, {{4, 3, 4}}},
    {"ij->ji", 1, {2}, {{3, 4}}},
    {"ij->", 1, {2}, {{3, 4}}},
    {"ij->j", 1, {2}, {{3, 4}}},
    {"ba", 1, {2}, {{3, 4}}},
    {"bA", 1, {2}, {{3, 4}}},
    {"ijk->kij", 1, {3}, {{2, 3, 4}}},
    {"i->i", 1, {1}, {{6}}},
    {"...ij->...ji", 1, {4}, {{2, 3, 4, 5}}},
    {"...ij->...ji", 1, {2}, {{4, 5}}},
    {"i...->...", 1, {3}, {{2, 3, 4}}},
    {"i...", 1, {3}, {{2, 3, 4}}},
    {"...ij,...jk->...ik", 2, {4, 3}, {{2, 3, 4, 5}, {3, 5, 2}}},
    {"...ij,...jk->...ik", 2, {4, 4}, {{2, 1, 4, 5}, {1, 3, 5, 2}}},
    {"b...,b...->b", 2, {3, 3}, {{2, 3, 4}, {2, 3, 4}}},
    {"...,...->...", 2, {2, 2}, {{3, 4}, {3, 4}}},
    {"...,->...", 2, {2, 0}, {{3, 4}, {0}}},
    {",->", 2, {0, 0}, {{0}, {0}}},
    {"->", 1, {0}, {{0}}},
    {"ij,jk,kl->il", 3, {2, 2, 2}, {{3, 4}, {4, 5}, {5, 2}}},
    {"i,ij,j->", 3, {1, 2, 1}, {{3}, {3, 4}, {4}}},
    {"i,i,i->i", 3, {1, 1, 1}, {{5}, {5}, {5}}},
    {"bi,ijk,bk->bj", 3, {2, 3, 2}, {{2, 3}, {3, 4, 5}, {2, 5}}},
    {"ab,bc,cd,de->ae", 4, {2, 2, 2, 2}, {{2, 3}, {3, 4}, {4, 2}, {2, 3}}},
    {"ij,kl->ijkl", 2, {2, 2}, {{2, 3}, {3, 2}}},
    {"ij,kl->", 2, {2, 2}, {{2, 3}, {3, 2}}},
    {"ij,jk->", 2, {2, 2}, {{2, 3}, {3, 2}}},
    {" i j , j k -> i k ", 2, {2, 2}, {{3, 5}, {5, 4}}},
    {"ijj,jk->ik", 2, {3, 2}, {{2, 3, 3}, {3, 4}}},
    {"ii,i->i", 2, {2, 1}, {{4, 4}, {4}}},
    {"ij,jk->ik", 2, {2, 2}, {{3, 1}, {5, 4}}},
    {"ij,jk->ik", 2, {2, 2}, {{3, 0}, {0, 4}}},
    {"ij,jk->ik", 2, {2, 2}, {{0, 3}, {3, 4}}},
    {"bij,bjk->bik", 2, {3, 3}, {{1, 3, 5}, {4, 5, 2}}},
    {"aB,Bc->ca", 2, {2, 2}, {{3, 5}, {5, 4}}},
};

static void check_refusals(void) {
    ox_tensor *a = ox_ones(OX_SHAPE(2, 3), OX_F32), *b = ox_ones(OX_SHAPE(3, 4), OX_F32),
              *f64 = ox_ones(OX_SHAPE(3, 4), OX_F64);
    ox_tensor *two[2] = {a, b}, *mixed[2] = {a, f64}, *same[2] = {a, a};
#define REFUSES(status, text, list, count)                                                              \
    do {                                                                                                \
        CHECK_MSG(!ox_einsum(text, list, count) && ox_error() == (status), "'%s': status %d: %s", text, \
                  (int)ox_error(), ox_error_text());                                                    \
        ox_error_clear();                                                                               \
    } while (0)
    static const char *const bad[] = {
        "",           "i",           "ij,jk,kl->il",    "ij->ik",          "ij,jk->il",      "ij,jk->ii",
        "ijk,jk->i",  "ij;jk->ik",   "i1,1k->ik",       "ij,jk-ik",        "ij,jk=>ik",      "ij,jk->ik->",
        "ij,jk->i,k", "..ij,jk->ik", "i..j,jk->ik",     "......ij,jk->ik", "ij,jk->ik,",     "ij,,jk->ik",
        "ij,jk->i.k", "i-j,jk",      "\xc3\xa4j,jk->k", "ij,jk->i?",       "...i...j,jk->ik"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) REFUSES(OX_ERR_ARG, bad[i], two, 2);
    REFUSES(OX_ERR_SHAPE, "ij,ik->jk", two, 2);
    REFUSES(OX_ERR_SHAPE, "ij,ji->", same, 2);
    REFUSES(OX_ERR_SHAPE, "ii->i", two, 1);
    REFUSES(OX_ERR_DTYPE, "ij,jk->ik", mixed, 2);
    REFUSES(OX_ERR_ARG, "ij,jk->ik", two, 1);
    REFUSES(OX_ERR_ARG, "ij,jk->ik", two, -1);
    CHECK(ox_memory_get_stats().tensors == 3);
}

static void check_dtypes(void) {
    static const ox_dtype dtypes[] = {OX_F64, OX_F16, OX_BF16, OX_I32, OX_I64, OX_I8, OX_U8, OX_U16};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
            OX_SCOPE {
                check_once(&cases[c], dtypes[d], (int)c + 1);
            }
}

int main(void) {
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            OX_SCOPE {
                check_once(&cases[c], OX_F32, l);
            }
    check_dtypes();
    OX_SCOPE {
        check_refusals();
    }
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("einsum");
}
