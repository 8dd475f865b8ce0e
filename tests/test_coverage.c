/* test_coverage.c - every row of ops.def, on every dtype that the row accepts and on operands of every
 * layout: the result is that of contiguous copies, bit for bit; dtypes that the row does not accept are
 * refused. A row without a case fails. Rows that add up floats may take terms in the order of memory:
 * there the last bits may differ (rows_that_add). That a case runs its row and no other is read from the
 * profiler. Numbers are checked by the suite of each family.
 * OX_VULKAN_ASKED OX_VULKAN_LONG OX_TIERS */
#include "backwards.h"
#include "covers.h"
#include "stack_use.h"

#include "oxtorch_stream.h"

#include <stdio.h>

/* view_as_complex wants pairs side by side, so its layouts are its own; `to` wants a second device. */
static const char *const covered_below[] = {"view_as_complex", "to"};
/* No public function is a call of it: test_chain.c. */
static const char *const covered_elsewhere[] = {"chain"};

/* ---- stack ------------------------------------------------------------------------------------------- */

static void check_stack(size_t used, const char *label, ox_dtype dtype, layout l) {
    CHECK_MSG(used <= STACK_MOST || !stack_is_measured(), "%s %s, %s: %u bytes of stack", label,
              ox_dtype_name(dtype), layout_name(l), (unsigned)used);
}

/* ---- running a case ---------------------------------------------------------------------------------- */

/* Whether the profiler's table has a line for this op. */
static bool profile_names(const char *row) {
    static char table[20000];
    ox_profile_table(table, sizeof table);
    size_t length = strlen(row);
    for (const char *line = table; line; line = strchr(line, '\n')) {
        line += strspn(line, "\n ");
        if (strncmp(line, row, length) == 0 && (line[length] == ' ' || line[length] == '\t')) return true;
        if (!*line) break;
    }
    return false;
}

static bool is_view_row(const char *row) {
    const op_row *r = op_row_named(row);
    return r && strcmp(r->family, "VIEW") == 0;
}

/* Sums of floats depend in their last bits on the order of the terms, and that is the order of memory. Of
 * reductions the table says which take more together than the largest, the least or a count. */
static const char *const rows_that_add[] = {"softmax",    "log_softmax", "layer_norm", "rms_norm",
                                            "group_norm", "matmul",      "linear",     "addmm",
                                            "attention",  "linear_experts", "conv", "conv_back_input",
                                            "conv_back_weight", "batch_norm", "linear_attention",
                                            "selective_scan"};
static const char *const reductions[][2] = {
#define OXI_REDUCTION(op, kind, ...) {#op, #kind},
#include "../src/form/reduce.def"
#undef OXI_REDUCTION
};

/* "" where it is none. */
static const char *reduction_kind(const char *row) {
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (strcmp(row, reductions[i][0]) == 0) return reductions[i][1];
    return "";
}

static bool row_adds(const char *row) {
    const char *kind = reduction_kind(row);
    for (size_t i = 0; i < sizeof rows_that_add / sizeof *rows_that_add; i++)
        if (strcmp(row, rows_that_add[i]) == 0) return true;
    if (*kind) return strcmp(kind, "MOST") != 0 && strcmp(kind, "LEAST") != 0 && strcmp(kind, "COUNT") != 0;
    return strcmp(op_row_named(row)->family, "PARTS") == 0;
}

/* The size of what is added up to each of `results` numbers, of which the sum may be a small rest. */
static double size_of_terms(const char *row, const ox_tensor *x, int64_t results) {
    double size = 0;
    for (int64_t i = 0; strcmp(reduction_kind(row), "SUM") == 0 && i < ox_numel(x); i++) {
        const char *p = element(x, i);
        double term = fabs(load_real(x->dtype, p)) + fabs(load_imaginary(x->dtype, p));
        size += isfinite(term) ? term : 0;
    }
    return results ? size / (double)results : 0;
}

/* x: the first operand */
static bool nearly_same(const char *row, const ox_tensor *x, const ox_tensor *a, const ox_tensor *b) {
    const float_format *f = format_of(a->dtype);
    double most = size_of_terms(row, x, ox_numel(b));
    bool same = a->dtype == b->dtype && a->ndim == b->ndim;
    for (int d = 0; same && d < a->ndim; d++) same = a->shape[d] == b->shape[d];
    if (!row_adds(row) || !f || !same) return false;
    for (int64_t i = 0; i < ox_numel(b); i++)
        most =
            larger(most, larger(load_real(b->dtype, element(b, i)), load_imaginary(b->dtype, element(b, i))));
    for (int64_t i = 0; same && i < ox_numel(a); i++) {
        double re = load_real(a->dtype, element(a, i)) - load_real(b->dtype, element(b, i));
        double im = load_imaginary(a->dtype, element(a, i)) - load_imaginary(b->dtype, element(b, i));
        same = is_nan_element(b->dtype, element(b, i)) ? is_nan_element(a->dtype, element(a, i))
                                                       : fabs(re) + fabs(im) <= 8 * spacing(f, most);
    }
    return same;
}

/* A case draws numbers of its own: what other cases there are changes none of them. */
static void seed_case(const char *label, int dtype, int l) {
    uint64_t hash = 14695981039346656037u;
    for (; *label; label++) hash = (hash ^ (unsigned char)*label) * 1099511628211u;
    test_random_state = (hash ^ (uint64_t)(dtype * LAYOUT_COUNT + l)) * 1099511628211u | 1;
}

static void run_case(const cover *c, ox_dtype dtype, layout l, bool *ran) {
    ox_tensor *views[MOST_OPERANDS] = {NULL, NULL, NULL, NULL},
              *plain[MOST_OPERANDS] = {NULL, NULL, NULL, NULL};
    ox_tensor *a[MOST_RESULTS] = {NULL, NULL}, *b[MOST_RESULTS] = {NULL, NULL};
    seed_case(c->label, (int)dtype, (int)l);
    for (int k = 0; k < MOST_OPERANDS && c->in[k].kind; k++) {
        views[k] = make_operand(c, k, l == LAYOUT_PLAIN ? l : (layout)((l + 2 * k) % LAYOUT_COUNT), dtype);
        plain[k] = views[k] ? plain_copy(views[k]) : NULL;
    }
    ox_profile_begin();
    stack_paint();
    c->run(views, a);
    check_stack(stack_used(), c->label, dtype, l);
    ox_profile_end();
    bool named = is_view_row(c->row) || profile_names(c->row);
    c->run(plain, b);
    CHECK_MSG(a[0] && b[0], "%s %s, %s: %s", c->label, ox_dtype_name(dtype), layout_name(l), ox_error_text());
    CHECK_MSG(!a[0] || named, "%s: the row %s did not run", c->label, c->row);
    for (int r = 0; r < MOST_RESULTS; r++)
        if (a[r] && b[r])
            CHECK_MSG(same_bits(a[r], b[r]) || nearly_same(c->row, plain[0], a[r], b[r]),
                      "%s %s, %s: result %d differs from contiguous copies", c->label, ox_dtype_name(dtype),
                      layout_name(l), r);
    *ran = *ran || (a[0] && b[0]);
    ox_error_clear();
}

static void refuse_case(const cover *c, ox_dtype dtype) {
    ox_tensor *in[MOST_OPERANDS] = {NULL, NULL, NULL, NULL}, *out[MOST_RESULTS] = {NULL, NULL};
    for (int k = 0; k < MOST_OPERANDS && c->in[k].kind; k++) in[k] = make_operand(c, k, LAYOUT_PLAIN, dtype);
    c->run(in, out);
    CHECK_MSG(!out[0] && (ox_error() == OX_ERR_DTYPE || ox_error() == OX_ERR_SHAPE ||
                          ox_error() == OX_ERR_UNSUPPORTED),
              "%s must refuse %s (%d: %s)", c->label, ox_dtype_name(dtype), (int)ox_error(), ox_error_text());
    ox_error_clear();
}

/* covered[row][dtype]: some case ran. */
static bool covered[OP_ROW_COUNT][PLAIN_DTYPES + 1];

static void run_covers(void) {
    for (int n = 0; n < COVER_COUNT; n++) {
        const cover *c = &covers[n];
        const op_row *row = op_row_named(c->row);
        CHECK_MSG(row != NULL, "no row %s", c->row);
        for (int d = OX_BOOL; row && d <= PLAIN_DTYPES; d++) {
            ox_dtype dtype = (ox_dtype)d;
            bool *ran = &covered[row - op_rows][d];
            if (!(accept_bit(dtype) & row->accepts) || lists(c->not_for, dtype)) {
                OX_SCOPE {
                    refuse_case(c, dtype);
                }
                *ran = true;
                continue;
            }
            for (int l = 0; l < LAYOUT_COUNT; l++) {
                if (l > 0 && strcmp(row->family, "FILL") == 0) break;
                OX_SCOPE {
                    run_case(c, dtype, (layout)l, ran);
                }
            }
        }
    }
}

/* Elementwise rows: test_ops.c has them all with references; here each runs once a dtype and layout, under
 * the profiler. */
static void run_maps(void) {
    const int64_t shape[2] = {5, 33};
    for (int n = 0; n < OP_CASE_COUNT; n++) {
        const op_case *c = &op_cases[n];
        const op_row *row = op_row_named(c->name);
        for (int d = OX_BOOL; row && d <= PLAIN_DTYPES; d++) {
            ox_dtype dtype = (ox_dtype)d;
            if (!(accept_bit(dtype) & row->accepts)) {
                covered[row - op_rows][d] = true;
                continue;
            }
            for (int l = 0; l < LAYOUT_COUNT; l++)
                OX_SCOPE {
                    ox_tensor *in[3], *plain[3];
                    for (int k = 0; k < c->arity; k++) {
                        bool power = strcmp(c->name, "pow") == 0 && is_integral(dtype);
                        in[k] = random_layout((layout)((l + k) % LAYOUT_COUNT),
                                              power ? DOMAIN_COUNT : c->domains[k], 2, shape,
                                              k == 0 && strcmp(row->flag, "MASKED") == 0 ? OX_BOOL : dtype);
                        plain[k] = plain_copy(in[k]);
                    }
                    ox_profile_begin();
                    stack_paint();
                    ox_tensor *result = c->run(in);
                    check_stack(stack_used(), c->label, dtype, (layout)l);
                    ox_profile_end();
                    CHECK_MSG(result && profile_names(c->name), "%s %s: %s", c->label, ox_dtype_name(dtype),
                              ox_error_text());
                    CHECK_MSG(same_bits(result, c->run(plain)), "%s %s, %s", c->label, ox_dtype_name(dtype),
                              layout_name((layout)l));
                    covered[row - op_rows][d] = covered[row - op_rows][d] || result;
                    ox_error_clear();
                }
        }
        if (row && strcmp(row->flag, "INPLACE") == 0)
            CHECK_MSG(c->run_in_place || strcmp(c->name, "softplus") == 0, "%s has no in-place form",
                      c->name);
    }
}

static void run_view_as_complex(void) {
    const op_row *row = op_row_named("view_as_complex");
    for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++) covered[row - op_rows][d] = true;
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            const int64_t shape[2] = {4, 5};
            ox_tensor *c = random_layout((layout)l, DOMAIN_MODEST, 2, shape, OX_C64),
                      *real = ox_view_as_real(c), *back = ox_view_as_complex(real);
            CHECK_MSG(back && same_bits(back, c) && back->storage == c->storage, "view_as_complex, %s: %s",
                      layout_name((layout)l), ox_error_text());
            ox_error_clear();
        }
}

/* To the memory of a stream, which is a file, and back. */
static void run_to(void) {
    const op_row *row = op_row_named("to");
    const int64_t shape[2] = {4, 5};
    const char *folder = getenv("OX_TEST_TMP");
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.spill = folder ? folder : ".";
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "no stream: %s", ox_error_text());
    for (int d = OX_BOOL; stream && d <= PLAIN_DTYPES; d++)
        for (int l = 0; l < LAYOUT_COUNT; l++)
            OX_SCOPE {
                ox_tensor *x = random_layout((layout)l, DOMAIN_ANY, 2, shape, (ox_dtype)d),
                          *there = ox_to(x, ox_stream_device(stream)), *back = ox_to(there, ox_cpu());
                CHECK_MSG(back && same_bits(back, x) && ox_device_of(there) == ox_stream_device(stream),
                          "to, %s, %s: %s", ox_dtype_name((ox_dtype)d), layout_name((layout)l),
                          ox_error_text());
                covered[row - op_rows][d] = true;
                ox_error_clear();
            }
    ox_device_close(ox_stream_device(stream));
}

/* ---- block types: where the row accepts them --------------------------------------------------------- */

static ox_tensor *random_blocks(ox_dtype dtype, int64_t rows, int64_t columns) {
    ox_tensor *t = ox_empty(OX_SHAPE(rows, columns), dtype);
    unsigned char *bytes = (unsigned char *)ox_data(t);
    /* Small bytes keep every f16 scale inside a block small and finite. */
    for (size_t i = 0; t && i < ox_nbytes(t); i++) bytes[i] = (unsigned char)(test_random() >> 40 & 0x2f);
    return t;
}

static void check_block_row(const char *row, bool right, ox_dtype dtype) {
    CHECK_MSG(right, "%s of %s: %s", row, ox_dtype_name(dtype), ox_error_text());
    ox_error_clear();
}

static void run_blocks(void) {
    for (int d = OX_Q4_0; d < OX_DTYPE_COUNT; d++)
        OX_SCOPE {
            ox_dtype dtype = (ox_dtype)d;
            const int64_t shape[2] = {3, 512}, columns[2] = {512, 3};
            ox_tensor *q = random_blocks(dtype, 8, 512), *rows = ox_slice(q, 0, 1, OX_END, 2),
                      *plain = ox_clone(rows);
            ox_tensor *x = random_layout(LAYOUT_STEP_LAST, DOMAIN_UNIT, 2, shape, OX_F32),
                      *y = random_layout(LAYOUT_TRANSPOSED, DOMAIN_UNIT, 2, columns, OX_F32);
            ox_tensor *ids = ox_randint(0, 4, OX_SHAPE(5), OX_I64), *c = ox_ones(OX_SHAPE(3, 4), OX_F32);
            ox_tensor *none = ox_zeros(OX_SHAPE(3, 2), OX_I32);
            if (!plain) {
                check_block_row("copy", false, dtype);
                continue;
            }
            check_block_row("copy",
                            memcmp(ox_data(plain), ox_data(ox_select(rows, 0, 0)), ox_nbytes(plain) / 4) == 0,
                            dtype);
            ox_tensor *full = ox_cast(rows, OX_F32);
            bool known = full != NULL; /* with OX_NO_IQ some types have no expansion: they are refused */
            if (!known) {
                CHECK_MSG(ox_error() == OX_ERR_UNSUPPORTED, "%s: %s", ox_dtype_name(dtype), ox_error_text());
                ox_error_clear();
            }
            check_block_row("view, permute, expand, flip",
                            ox_view(q, OX_SHAPE(2, 4, 512)) && ox_transpose(q, 0, 1) &&
                                backwards(q, OX_DIMS(0)) && ox_unsqueeze(q, 1),
                            dtype);
            if (!known) continue;
            check_block_row("copy to f32", same_bits(full, ox_cast(plain, OX_F32)), dtype);
            check_block_row("copy to f16", same_bits(ox_cast(rows, OX_F16), ox_cast(full, OX_F16)), dtype);
            check_block_row("embedding", same_bits(ox_embedding(ids, rows), ox_embedding(ids, full)), dtype);
            for (int exact = 0; exact < 2; exact++) {
                ox_set_exact(exact != 0);
                check_block_row("matmul",
                                same_bits(ox_matmul(x, ox_t(rows)), ox_matmul(plain_copy(x), ox_t(plain))),
                                dtype);
                check_block_row("matmul, blocks first",
                                same_bits(ox_matmul(rows, y), ox_matmul(plain, plain_copy(y))), dtype);
                check_block_row("linear",
                                same_bits(ox_linear(x, rows, NULL), ox_linear(plain_copy(x), plain, NULL)),
                                dtype);
                ox_tensor *one = ox_unsqueeze(rows, 0), *same = ox_unsqueeze(plain, 0);
                check_block_row("linear_experts",
                                same_bits(ox_linear_experts(x, one, none, NULL),
                                          ox_linear_experts(plain_copy(x), same, none, NULL)),
                                dtype);
                check_block_row("addmm",
                                same_bits(ox_addmm(c, x, ox_t(rows), 1, 2),
                                          ox_addmm(c, plain_copy(x), ox_t(plain), 1, 2)),
                                dtype);
            }
            ox_set_exact(false);
        }
}

int main(void) {
    run_covers();
    run_maps();
    run_view_as_complex();
    run_to();
    run_blocks();
    for (int r = 0; r < OP_ROW_COUNT; r++) {
        bool apart = strcmp(op_rows[r].family, "BACK") == 0 || strcmp(op_rows[r].family, "CHAIN") == 0;
        if (apart) continue; /* no function calls them by name: test_back, test_optimizers, test_gradients */
        int cases = 0;
        if (strcmp(covered_elsewhere[0], op_rows[r].name) == 0) continue;
        for (int n = 0; n < COVER_COUNT; n++) cases += strcmp(covers[n].row, op_rows[r].name) == 0;
        for (int n = 0; n < OP_CASE_COUNT; n++) cases += strcmp(op_cases[n].name, op_rows[r].name) == 0;
        for (size_t n = 0; n < sizeof covered_below / sizeof *covered_below; n++)
            cases += strcmp(covered_below[n], op_rows[r].name) == 0;
        CHECK_MSG(cases > 0, "the op %s has no case in tests/test_coverage.c or tests/op_cases.h",
                  op_rows[r].name);
        for (int d = OX_BOOL; cases && d <= PLAIN_DTYPES; d++)
            CHECK_MSG(covered[r][d], "the op %s did not run on %s", op_rows[r].name,
                      ox_dtype_name((ox_dtype)d));
    }
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("coverage");
}
