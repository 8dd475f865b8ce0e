/* test_calls.c - calls as data: a listener hears every call of a public function once; a kept call gives
 * the same bits when it is run again, here and on a GPU, after everything that it was made of is gone;
 * attribute sets compare, hash and print by what they hold; families and forms know all their ops.
 * The implementation is in this file, so that it sees what lies below the public functions. OX_O0: the
 * compiler takes longest here. */
#define OX_STATIC
#define OX_NO_AVX /* one vector tier is enough: compile less */
#define OX_NO_VOLK_IMPLEMENTATION
#define OX_IMPLEMENTATION
#include "covers.h"

#include "oxtorch_llm.h"
#if defined(__has_include)
#if __has_include(<vulkan/vulkan.h>) && __has_include(<volk.h>)
#include "oxtorch_vulkan.h"
#define HAS_VULKAN 1
#endif
#endif

#include <stdio.h>

/* ---- what is heard ------------------------------------------------------------------------------------- */

enum { MOST_KEPT = 4096, MOST_IN = 16 };
static struct {
    oxi_op op;
    oxi_kept *kept;
    ox_tensor *result[OXI_MAX_OUT]; /* copies of what the call gave */
} heard[MOST_KEPT];
static int heard_count, before_count;
static bool keeps;

static ox_tensor *copied(const ox_tensor *t) {
    ox_tensor *copy = t ? oxi_tensor_new(ox_cpu(), t->dtype, t->ndim, t->shape) : NULL;
    if (!copy) return NULL;
    CHECK_MSG(ox_copy_(copy, (ox_tensor *)(uintptr_t)t) != NULL, "%s", ox_error_text());
    copy->is_number = t->is_number;
    return copy;
}

/* Operands are copied, for calls behind this one may write over them. The result of copy_ says shape and
 * dtype. */
static ox_status hear_before(oxi_listener *self, const oxi_call *call, ox_device *device) {
    (void)self, (void)device;
    before_count++;
    if (!keeps || heard_count == MOST_KEPT || oxi_op_row_of(call->op)->family >= OXI_FAMILY_COMPUTED)
        return OX_OK;
    OX_SCOPE {
        oxi_call own = *call;
        ox_tensor *in[MOST_IN];
        bool fills = call->out[0] && (call->op == OXI_OP_copy || call->in_count == 0);
        if (call->in_count > MOST_IN) break;
        for (int i = 0; i < call->in_count; i++) in[i] = copied(call->in[i]);
        own.in = in;
        own.out[0] = fills ? oxi_tensor_new(ox_cpu(), call->out[0]->dtype, call->out[0]->ndim,
                                            call->out[0]->shape)
                           : NULL;
        heard[heard_count].op = call->op;
        heard[heard_count].kept = oxi_call_keep(&own, true);
    }
    return OX_OK;
}

static void hear_after(oxi_listener *self, const oxi_call *call, ox_device *device, ox_status status) {
    (void)self, (void)device;
    if (!keeps || heard_count == MOST_KEPT || !heard[heard_count].kept) return;
    for (int i = 0; i < OXI_MAX_OUT && status == OX_OK; i++)
        OX_SCOPE {
            heard[heard_count].result[i] = ox_retain(copied(i < call->out_count ? call->out[i] : NULL));
        }
    heard_count++;
}
static oxi_listener ear = {hear_before, hear_after, NULL};

static void forget(void) {
    for (int n = 0; n < heard_count; n++) {
        oxi_kept_drop(heard[n].kept);
        for (int i = 0; i < OXI_MAX_OUT; i++) ox_release(heard[n].result[i]);
    }
    memset(heard, 0, sizeof heard);
    heard_count = 0;
}

/* ---- once each ----------------------------------------------------------------------------------------- */

static int calls_of(ox_tensor *result) {
    int count = before_count;
    CHECK_MSG(result != NULL, "%s", ox_error_text());
    before_count = 0;
    return count;
}

static void test_heard_once(void) {
    CHECK(oxi_listen(&ear) && oxi_listen(&ear));
    OX_SCOPE {
        ox_tensor *x = ox_randn(OX_SHAPE(5, 6), OX_F32), *h = ox_cast(x, OX_F16);
        before_count = 0;
        CHECK(calls_of(ox_add(x, x)) == 1);
        CHECK(calls_of(ox_exp_(x)) == 1);
        CHECK(calls_of(ox_t(x)) == 1);
        CHECK(calls_of(ox_sum(x, OX_ALL_DIMS, false)) == 1);
        CHECK(calls_of(ox_copy_(ox_t(ox_narrow(x, 1, 0, 5)), ox_narrow(x, 1, 1, 5))) == 4); /* three views */
        CHECK(calls_of(ox_add_(ox_narrow(x, 1, 0, 5), ox_narrow(x, 1, 1, 5))) == 3); /* a detached result */
        CHECK(calls_of(ox_add(h, h)) == 1);
        CHECK(calls_of(ox_contiguous(x)) == 1);
        CHECK(calls_of(ox_to(x, ox_cpu())) == 1);
        CHECK(calls_of(ox_rand(OX_SHAPE(3), OX_F32)) == 1);
        ox_profile_begin();
        CHECK(calls_of(ox_mul(x, x)) == 1); /* beside the profiler */
        ox_profile_end();
    }
    oxi_listen_end(&ear);
    before_count = 0;
    OX_SCOPE { (void)ox_ones(OX_SHAPE(2), OX_F32); }
    CHECK(before_count == 0);
}

/* ---- kept and run again -------------------------------------------------------------------------------- */

static bool same_results(ox_tensor *const *out, int n) {
    bool same = true;
    for (int i = 0; i < OXI_MAX_OUT; i++) {
        ox_tensor *wanted = heard[n].result[i], *got = out[i];
        if (!wanted) continue;
        if (got && ox_device_of(got) != ox_cpu()) got = ox_to(got, ox_cpu());
        bool blocks = got && oxi_is_block(got->dtype);
        same = same && got && (blocks ? ox_equal(got, wanted) : same_bits(got, wanted));
    }
    return same;
}

static void run_again(const char *what) {
    for (int n = 0; n < heard_count; n++)
        OX_SCOPE {
            ox_tensor *out[OXI_MAX_OUT] = {NULL, NULL};
            if (!heard[n].result[0]) continue;
            ox_status status = oxi_kept_run(heard[n].kept, out);
            CHECK_MSG(status == OX_OK && same_results(out, n), "%s: %s gave something else: %s", what,
                      oxi_op_row_of(heard[n].op)->name, ox_error_text());
            ox_error_clear();
        }
}

#ifdef HAS_VULKAN
/* The same calls with their operands on a GPU, twice: what runs there gives itself again. */
static void run_on_gpu(const char *what) {
    ox_device *device = ox_vulkan(0);
    if (!device) {
        check_skip("calls on a GPU", ox_error_text());
        ox_error_clear();
        return;
    }
    for (int n = 0; n < heard_count; n++)
        OX_SCOPE {
            oxi_call call = heard[n].kept->call;
            ox_tensor *in[MOST_IN], *first[OXI_MAX_OUT] = {NULL, NULL}, *again[OXI_MAX_OUT] = {NULL, NULL};
            bool there = call.in_count > 0 && call.in_count <= MOST_IN && !call.out[0];
            for (int i = 0; there && i < call.in_count; i++) {
                in[i] = call.in[i] && !call.in[i]->is_number ? ox_to(call.in[i], device) : call.in[i];
                there = !call.in[i] || in[i] != NULL;
            }
            if (!there) continue;
            call.in = in;
            oxi_kept *kept = oxi_call_keep(&call, false);
            bool ran = oxi_kept_run(kept, first) == OX_OK && oxi_kept_run(kept, again) == OX_OK;
            for (int i = 0; ran && i < OXI_MAX_OUT; i++)
                if (first[i])
                    CHECK_MSG(oxi_is_block(first[i]->dtype) ||
                                  same_bits(ox_to(first[i], ox_cpu()), ox_to(again[i], ox_cpu())),
                              "%s: %s differs from itself on a GPU", what, oxi_op_row_of(heard[n].op)->name);
            CHECK_MSG(ran || !heard[n].result[0], "%s: %s on a GPU: %s", what,
                      oxi_op_row_of(heard[n].op)->name, ox_error_text());
            oxi_kept_drop(kept);
            ox_error_clear();
        }
}

static void close_gpu(void) {
    ox_device *device = ox_vulkan(0);
    if (device) CHECK_MSG(ox_device_close(device) == OX_OK, "%s", ox_error_text());
    ox_error_clear();
}
#else
static void run_on_gpu(const char *what) { (void)what; }
static void close_gpu(void) {}
#endif

/* Every row of the table on f32, where it takes that, else on its first dtype. Operands are contiguous, as
 * the kept copies are: a sum over another order of elements may round otherwise. */
static void test_keeping_covers(void) {
    keeps = true;
    (void)oxi_listen(&ear);
    for (int n = 0; n < COVER_COUNT; n++)
        OX_SCOPE {
            const cover *c = &covers[n];
            const op_row *row = op_row_named(c->row);
            bool bytes = strstr(c->not_for, ",i64,") != NULL; /* int_mm takes those alone */
            ox_dtype dtype = row->accepts & ACCEPT_FLOAT ? OX_F32
                             : bytes                     ? OX_I8
                             : row->accepts & ACCEPT_INT ? OX_I64
                                                         : OX_C64;
            ox_tensor *in[MOST_OPERANDS] = {NULL, NULL, NULL, NULL}, *out[MOST_RESULTS] = {NULL, NULL};
            keeps = false;
            for (int k = 0; k < MOST_OPERANDS && c->in[k].kind; k++)
                in[k] = make_operand(c, k, LAYOUT_PLAIN, dtype);
            keeps = true;
            c->run(in, out);
            CHECK_MSG(out[0] != NULL, "%s: %s", c->label, ox_error_text());
            ox_error_clear();
        }
    for (int n = 0; n < OP_CASE_COUNT; n++)
        OX_SCOPE {
            const int64_t shape[2] = {5, 33};
            const op_case *c = &op_cases[n];
            const op_row *row = op_row_named(c->name);
            ox_dtype dtype = row->accepts & ACCEPT_FLOAT ? OX_F32 : OX_I32;
            ox_tensor *in[3];
            keeps = false;
            for (int k = 0; k < c->arity; k++) {
                bool mask = k == 0 && strcmp(row->flag, "MASKED") == 0;
                in[k] = random_layout(LAYOUT_PLAIN, c->domains[k], 2, shape,
                                      mask ? OX_BOOL : dtype);
            }
            keeps = true;
            (void)c->run(in);
            ox_error_clear();
        }
    oxi_listen_end(&ear);
    keeps = false;
    CHECK(heard_count > 150);
    run_again("covers");
    run_on_gpu("covers");
    forget();
}

static void test_keeping_a_model(void) {
    const char *folder = getenv("OX_TEST_DATA");
    char path[512];
    (void)snprintf(path, sizeof path, "%s/models/stories260K/stories260K.gguf",
                   folder ? folder : "../shared/data");
    ox_llm *model = ox_llm_open(path, NULL);
    if (!model) {
        ox_error_clear();
        check_skip("calls of a model", "no stories260K.gguf in OX_TEST_DATA");
        return;
    }
    ox_llm_context *context = ox_llm_context_open(model, NULL);
    const int32_t prompt[5] = {1, 403, 407, 261, 378};
    static float logits[5 * 512];
    (void)oxi_listen(&ear);
    keeps = true;
    CHECK(ox_llm_decode_all(context, prompt, 5, logits) == OX_OK);
    CHECK(ox_llm_decode(context, prompt, 1, logits) == OX_OK);
    keeps = false;
    oxi_listen_end(&ear);
    ox_llm_context_close(context);
    ox_llm_close(model);
    CHECK(heard_count > 50);
    run_again("stories260K");
    run_on_gpu("stories260K");
    forget();
}

/* ---- parts --------------------------------------------------------------------------------------------- */

static int part_calls[OXI_OP_COUNT];

/* What a kernel gave against what the row's parts give, as far as numbers of its dtype go. */
static void check_parts(const oxi_call *call, const char *what) {
    ox_tensor *wanted = call->out[0];
    oxi_call again = *call;
    again.out[0] = oxi_tensor_new(ox_cpu(), wanted->dtype, wanted->ndim, wanted->shape);
    ox_status status = oxi_run_by_parts(&again);
    CHECK_MSG(status == OX_OK, "%s by parts: %s", what, ox_error_text());
    if (status != OX_OK) return;
    int64_t n = ox_numel(wanted);
    double *a = (double *)calloc((size_t)n + 1, sizeof *a), *b = (double *)calloc((size_t)n + 1, sizeof *b);
    CHECK(ox_to_doubles(wanted, a, n) == OX_OK && ox_to_doubles(again.out[0], b, n) == OX_OK);
    double step = wanted->dtype == OX_F64   ? 1e-12
                  : wanted->dtype == OX_F32 ? 1e-5
                  : wanted->dtype == OX_F16 ? 2e-3
                                            : 1.6e-2;
    double most = 1, worst = 0;
    if (ox_dtype_get_info(wanted->dtype)->block_bytes == 1) step = 0.3;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(a[i]) && fabs(a[i]) > most) most = fabs(a[i]);
    for (int64_t i = 0; i < n; i++) {
        bool same = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        double off = same ? 0 : fabs(a[i] - b[i]) / (step * most);
        worst = check_worst(worst, off);
    }
    CHECK_MSG(worst <= 1, "%s of %s by parts: %g times what is allowed", what, oxi_tensor_text(wanted),
              worst);
    free(a);
    free(b);
}

static void hear_for_parts(oxi_listener *self, const oxi_call *call, ox_device *device, ox_status status) {
    const oxi_op_row *row = oxi_op_row_of(call->op);
    (void)self, (void)device;
    if (status != OX_OK || !row->parts || row->family == OXI_FAMILY_PARTS) return;
    for (int i = 0; i < call->in_count; i++)
        if (call->in[i] && call->in[i]->storage == call->out[0]->storage) return; /* in place */
    part_calls[call->op]++;
    OX_SCOPE { check_parts(call, row->name); }
}

/* Rows whose kernels and parts are two ways to the same numbers, on views too. */
static void test_parts(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F64, OX_F16, OX_BF16};
    oxi_listener listener = {NULL, hear_for_parts, NULL};
    ox_set_exact(true);
    CHECK(oxi_listen(&listener));
    for (int d = 0; d < 4; d++)
        for (int l = 0; l < LAYOUT_COUNT; l++) {
            for (int n = 0; n < COVER_COUNT; n++)
                OX_SCOPE {
                    const cover *c = &covers[n];
                    ox_tensor *in[MOST_OPERANDS] = {NULL, NULL, NULL, NULL}, *out[MOST_RESULTS];
                    if (!(op_row_named(c->row)->accepts & ACCEPT_FLOAT)) continue;
                    for (int k = 0; k < MOST_OPERANDS && c->in[k].kind; k++)
                        in[k] = make_operand(c, k, (layout)l, dtypes[d]);
                    c->run(in, out);
                    ox_error_clear();
                }
            for (int n = 0; n < OP_CASE_COUNT; n++)
                OX_SCOPE {
                    const int64_t shape[2] = {5, 33};
                    const op_case *c = &op_cases[n];
                    ox_tensor *in[3];
                    if (!(op_row_named(c->name)->accepts & ACCEPT_FLOAT)) continue;
                    for (int k = 0; k < c->arity; k++)
                        in[k] = random_layout((layout)l, c->domains[k], 2, shape, dtypes[d]);
                    (void)c->run(in);
                    ox_error_clear();
                }
        }
    oxi_listen_end(&listener);
    ox_set_exact(false);
    for (int op = 0; op < OXI_OP_COUNT; op++) {
        const oxi_op_row *row = oxi_op_row_of((oxi_op)op);
        if (row->parts && row->family != OXI_FAMILY_PARTS)
            CHECK_MSG(part_calls[op] > 0, "no call of %s tried its parts", row->name);
    }
}

static bool (*supports)(ox_device *self, const oxi_call *call);
static ox_status (*run)(ox_device *self, const oxi_call *call);
static int silu_refused, sigmoid_failed;

/* A device that has no kernel for silu, until it is asked again for the detour. */
static bool supports_no_silu(ox_device *self, const oxi_call *call) {
    if (call->op == OXI_OP_silu && silu_refused++ == 0) return false;
    return supports(self, call);
}

static ox_status run_no_sigmoid(ox_device *self, const oxi_call *call) {
    if (call->op != OXI_OP_sigmoid) return run(self, call);
    sigmoid_failed++;
    return oxi_fail(OX_ERR_NOMEM, "sigmoid: out of memory");
}

/* Parts that run out of memory leave the call to a detour, whatever went wrong before, which stands. */
static void test_parts_without_memory(void) {
    supports = oxi_cpu_device.supports;
    run = oxi_cpu_device.run;
    for (int earlier = 0; earlier < 3; earlier++)
        OX_SCOPE {
            const float three = 3;
            ox_tensor *x = ox_from_floats(&three, OX_SHAPE(1), OX_F32);
            if (earlier == 1) (void)oxi_fail(OX_ERR_SHAPE, "an earlier error");
            if (earlier == 2) (void)oxi_fail(OX_ERR_NOMEM, "an earlier error");
            silu_refused = sigmoid_failed = 0;
            oxi_cpu_device.supports = supports_no_silu;
            oxi_cpu_device.run = run_no_sigmoid;
            ox_tensor *y = ox_silu(x);
            oxi_cpu_device.supports = supports;
            oxi_cpu_device.run = run;
            CHECK(silu_refused == 2 && sigmoid_failed == 1);
            CHECK(y && fabs(ox_item(y) - 3 / (1 + exp(-3.0))) < 1e-5);
            CHECK_MSG(strcmp(ox_error_text(), earlier ? "an earlier error" : "") == 0, "%s", ox_error_text());
            ox_error_clear();
        }
}

/* ---- attributes ---------------------------------------------------------------------------------------- */

static void test_attributes(void) {
    char text[200];
    oxi_attrs a = oxi_attrs_norm(), b = oxi_attrs_norm();
    CHECK(a.norm.last_dims == 1 && a.norm.eps == 1e-5);
    CHECK(oxi_attrs_equal(OXI_OP_layer_norm, &a, &b));
    CHECK(oxi_attrs_hash(OXI_OP_layer_norm, &a) == oxi_attrs_hash(OXI_OP_layer_norm, &b));
    b.norm.eps = 1e-6;
    CHECK(!oxi_attrs_equal(OXI_OP_layer_norm, &a, &b));
    CHECK(oxi_attrs_hash(OXI_OP_layer_norm, &a) != oxi_attrs_hash(OXI_OP_layer_norm, &b));
    CHECK(oxi_attrs_text(OXI_OP_layer_norm, &b, text, sizeof text) > 0);
    CHECK_MSG(strcmp(text, "last_dims=1, eps=9.9999999999999995e-07") == 0, "%s", text);
    a = oxi_attrs_sizes();
    a.sizes.shape = OX_SHAPE(2, 3);
    b = a;
    b.sizes.shape.dim[5] = 77; /* beyond the list */
    CHECK(oxi_attrs_equal(OXI_OP_view, &a, &b));
    CHECK(oxi_attrs_hash(OXI_OP_view, &a) == oxi_attrs_hash(OXI_OP_view, &b));
    (void)oxi_attrs_text(OXI_OP_view, &a, text, sizeof text);
    CHECK_MSG(strcmp(text, "shape=[2,3]") == 0, "%s", text);
    a = oxi_attrs_power();
    a.power.dims = 5;
    a.power.keepdim = true;
    (void)oxi_attrs_text(OXI_OP_norm, &a, text, sizeof text);
    CHECK_MSG(strcmp(text, "dims=[0,2], keepdim=true, p=2") == 0, "%s", text);
    CHECK(oxi_attrs_text(OXI_OP_norm, &a, text, 4) == (int)strlen("dims=[0,2], keepdim=true, p=2"));
    oxi_span span = {{1, 2, 3}};
    const oxi_attr_member spans = {"stride", OXI_ATTR_SPAN, 0, sizeof span};
    CHECK(oxi_attr_text(&spans, &span, text, sizeof text) == 7 && strcmp(text, "[1,2,3]") == 0);
    double numbers[3];
    a = oxi_attrs_range();
    CHECK(oxi_attrs_numbers(OXI_OP_clamp, &a, numbers, 3) == 2 && numbers[0] == -INFINITY);
    CHECK(oxi_attrs_text(OXI_OP_add, &a, text, sizeof text) > 0);
    CHECK(oxi_attrs_text(OXI_OP_exp, &a, text, sizeof text) == 0);
}

/* Each op of these families has a row of its form. */
static void test_forms(void) {
    for (int op = 0; op < OXI_OP_COUNT; op++) {
        oxi_family family = oxi_op_row_of((oxi_op)op)->family;
        int rows = 0;
        if (family != OXI_FAMILY_REDUCE && family != OXI_FAMILY_ROW && family != OXI_FAMILY_INDEX &&
            family != OXI_FAMILY_FILL && family != OXI_FAMILY_RANDOM)
            continue;
        for (size_t i = 0; i < sizeof oxi_reductions / sizeof *oxi_reductions; i++)
            rows += oxi_reductions[i].op == (oxi_op)op;
        for (size_t i = 0; i < sizeof oxi_row_table / sizeof *oxi_row_table; i++)
            rows += oxi_row_table[i].op == (oxi_op)op;
        for (size_t i = 0; i < sizeof oxi_index_table / sizeof *oxi_index_table; i++)
            rows += oxi_index_table[i].op == (oxi_op)op;
        for (size_t i = 0; i < sizeof oxi_generated_table / sizeof *oxi_generated_table; i++)
            rows += oxi_generated_table[i].op == (oxi_op)op;
        CHECK_MSG(rows == 1, "%s has %d forms", oxi_op_row_of((oxi_op)op)->name, rows);
    }
}

int main(void) {
    test_heard_once();
    test_attributes();
    test_forms();
    test_parts();
    test_parts_without_memory();
    test_keeping_covers();
    test_keeping_a_model();
    close_gpu();
    CHECK_MSG(ox_memory_get_stats().tensors == 0, "%lld tensors are left",
              (long long)ox_memory_get_stats().tensors);
    return check_done("calls");
}
