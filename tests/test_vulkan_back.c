/* test_vulkan_back.c - gradients that a row of its own computes on Vulkan (vulkan/ops/back/) against those of
 * the composed rules in f64: softmax, norms, attention; operands of every layout and dtype, masks, groups of
 * heads, lines that registers hold and that are read again. No call takes the detour by the CPU, and a second
 * run has the same bits. Losses of classes, in chunks. That a missing barrier is seen where dispatches are
 * written backwards (OX_VULKAN_ORDER). The implementation is in this file, so that chunks are small and notes
 * are seen. OX_O0: the compiler takes longest here. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#define OXI_VK_BACKWARDS
#define OX_STATIC
#define OX_NO_AVX /* one vector tier is enough: compile less */
#define OX_IMPLEMENTATION
#define OX_NO_VOLK_IMPLEMENTATION
#define OXI_CLASS_LOGS_FAR 40
#include "oxtorch_nn.h"
#include "oxtorch_vulkan.h"

#include "back_rows.h"

static ox_device *gpu;

/* On the GPU, as it lies here; base is what it is a view of. */
static ox_tensor *there(ox_tensor *t, ox_tensor *base) {
    ox_shape stride = ox_shape_of(t);
    for (int d = 0; d < t->ndim; d++) stride.dim[d] = t->stride[d];
    return ox_as_strided(ox_to(base, gpu), ox_shape_of(t), stride, t->offset - base->offset);
}

/* A tensor of that layout here, and the same on the GPU; the numbers of `values`, but where several elements
 * share memory: other ones. */
static ox_tensor *laid_out(layout l, ox_tensor *values, ox_dtype dtype, ox_tensor **far) {
    ox_tensor *base, *t = laid_out_over(l, values, dtype, &base);
    CHECK((*far = there(t, base)) != NULL);
    return t;
}

/* shapes of f64 leaves; each is taken as `dtype`, in a layout; g's is another one. far: what `user` is on the
 * GPU. */
typedef struct subject {
    const char *row;
    back_function f;
    void *user, *far;
    int count;
    ox_shape shape[MOST_IN]; /* ndim 0: NULL */
} subject;

static void check_back(const subject *s, ox_dtype dtype, layout l, double near_by) {
    ox_tensor *wide[MOST_IN], *leaf[MOST_IN], *ours[2][MOST_IN] = {{NULL}, {NULL}}, *theirs[MOST_IN] = {NULL};
    int64_t detours = ox_memory_get_stats().detours;
    for (int i = 0; i < MOST_IN; i++) wide[i] = leaf[i] = NULL;
    for (int i = 0; i < s->count; i++) {
        if (s->shape[i].ndim == 0) continue;
        ox_tensor *t = laid_out(l, ox_randn(s->shape[i], OX_F32), dtype, &leaf[i]);
        wide[i] = ox_requires_grad_(ox_cast(t, OX_F64), true);
        leaf[i] = ox_requires_grad_(leaf[i], true);
    }
    ox_tensor *plain = s->f(wide, s->user), *far;
    ox_tensor *g = ox_sub_number(ox_rand(ox_shape_of(plain), OX_F32), 0.4);
    g = laid_out((layout)((l + 1) % LAYOUT_COUNT), g, dtype, &far);
    gradients(s->f, s->user, wide, s->count, ox_cast(g, OX_F64), true, theirs);
    CHECK(ox_device_sync(gpu) == OX_OK); /* what is noted already is not timed */
    ox_profile_begin();
    for (int turn = 0; turn < 2; turn++) gradients(s->f, s->far, leaf, s->count, far, false, ours[turn]);
    CHECK(ox_device_sync(gpu) == OX_OK); /* which times the calls */
    ox_profile_end();
    CHECK_MSG(ran(s->row), "%s did not run for %s, %s", s->row, ox_dtype_name(dtype), layout_name(l));
    CHECK_MSG(ox_memory_get_stats().detours == detours, "%s: a detour", s->row);
    for (int i = 0; i < s->count && theirs[i]; i++) {
        double most = ox_item(ox_amax(ox_abs(theirs[i]), OX_ALL_DIMS, false)) + 1;
        ox_tensor *back = ours[0][i] ? ox_to(ours[0][i], ox_cpu()) : NULL;
        CHECK_MSG(back && back->dtype == dtype &&
                      ox_allclose(ox_cast(back, OX_F64), theirs[i], near_by, near_by * most, false),
                  "%s, gradient %d of %s, %s: %s", s->row, i, ox_dtype_name(dtype), layout_name(l),
                  ox_error_text());
        CHECK_MSG(back && ox_equal(back, ox_to(ours[1][i], ox_cpu())), "%s, gradient %d: other bits", s->row,
                  i);
    }
    ox_error_clear();
}

static const struct {
    ox_dtype dtype;
    double near_by;
} dtypes[] = {{OX_F32, 3e-6}, {OX_F16, 2e-3}, {OX_BF16, 2e-2}};

/* ---- softmax and norms --------------------------------------------------------------------------------- */

static ox_tensor *softmax_of(ox_tensor *const *in, void *user) {
    return ox_softmax(in[0], *(int *)user);
}
static ox_tensor *log_softmax_of(ox_tensor *const *in, void *user) {
    return ox_log_softmax(in[0], *(int *)user);
}
static ox_tensor *layer_norm_of(ox_tensor *const *in, void *user) {
    return ox_layer_norm(in[0], *(int *)user, in[1], in[2], 1e-5);
}
static ox_tensor *rms_norm_of(ox_tensor *const *in, void *user) {
    return ox_rms_norm(in[0], *(int *)user, in[1], 1e-5);
}

static void check_rows(int64_t rows, int64_t n, ox_dtype dtype, double near_by, layout l) {
    int last = -1, one = 1, two = 2;
    ox_shape x = OX_SHAPE(rows, 2, n), w = OX_SHAPE(n), none = OX_SCALAR_SHAPE;
    const subject subjects[] = {{"softmax_back", softmax_of, &last, &last, 1, {x, none, none}},
                                {"log_softmax_back", log_softmax_of, &last, &last, 1, {x, none, none}},
                                {"layer_norm_back", layer_norm_of, &two, &two, 1, {x, none, none}},
                                {"layer_norm_back", layer_norm_of, &one, &one, 2, {x, w, none}},
                                {"layer_norm_back", layer_norm_of, &one, &one, 3, {x, w, w}},
                                {"rms_norm_back", rms_norm_of, &one, &one, 1, {x, none, none}},
                                {"rms_norm_back", rms_norm_of, &one, &one, 2, {x, w, none}}};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        check_back(&subjects[i], dtype, l, near_by);
}

static void test_rows(void) {
    static const int64_t sizes[][2] = {{1, 5}, {3, 1}, {7, 33}, {40, 768}, {300, 64}, {2, 5000}};
    for (int d = 0; d < 3; d++)
        for (int s = 0; s < 6; s++)
            for (int l = 0; l<LAYOUT_COUNT; l += sizes[s][0]> 10 || sizes[s][1] > 1000 ? 4 : d ? 3 : 1)
                OX_SCOPE {
                    check_rows(sizes[s][0], sizes[s][1], dtypes[d].dtype, dtypes[d].near_by, (layout)l);
                }
}

/* Numbers whose squares leave the range of f32: as of those in range, divided by the factor. */
static void test_range(void) {
    static const double factors[] = {1e-24, 1e24};
    for (int i = 0; i < 2; i++)
        OX_SCOPE {
            int one = 1;
            ox_tensor *x = ox_randn(OX_SHAPE(3, 40), OX_F32), *g[2], *w = ox_randn(OX_SHAPE(3, 40), OX_F32);
            for (int k = 0; k < 2; k++) {
                ox_tensor *in = ox_mul_number(x, k ? factors[i] : 1), *list = ox_to(w, gpu);
                in = ox_requires_grad_(ox_to(in, gpu), true);
                ox_tensor *y = ox_rms_norm(in, one, NULL, 0);
                ox_grad_desc desc;
                memset(&desc, 0, sizeof desc);
                desc.gradients = &list;
                CHECK(ox_grad(&y, 1, &in, 1, &desc, &g[k]) == OX_OK);
                g[k] = ox_mul_number(ox_to(g[k], ox_cpu()), k ? factors[i] : 1);
            }
            CHECK(ox_allclose(g[1], g[0], 1e-4, 1e-5, false));
        }
}

/* Rows and gradients that hardly vary beside their means, exact numbers of f32: as the CPU in f64. */
static void test_about(void) {
    int one = 1;
    for (int64_t n = 8; n < 20000; n = 6 * n + 4)
        OX_SCOPE {
            ox_tensor *x = ox_sub_number(ox_randn(OX_SHAPE(5, n), OX_F32), 3e5), *got[2];
            ox_tensor *g = ox_add_number(ox_randn(OX_SHAPE(5, n), OX_F32), 1e3);
            for (int k = 0; k < 2; k++) {
                ox_tensor *in[MOST_IN] = {NULL};
                in[0] = ox_requires_grad_(k ? ox_to(x, gpu) : ox_cast(x, OX_F64), true);
                gradients(layer_norm_of, &one, in, 1, k ? ox_to(g, gpu) : g, false, &got[k]);
                got[k] = ox_cast(ox_to(got[k], ox_cpu()), OX_F64);
            }
            CHECK_MSG(ox_allclose(got[1], got[0], 0, 2e-4, false), "rows of %lld", (long long)n);
        }
}

/* ---- batch, group and instance norm -------------------------------------------------------------------- */

/* user: running mean and variance, of the dtype that the CPU's f64 wants or the GPU's f32; NULL: training. */
static ox_tensor *batch_norm_of(ox_tensor *const *in, void *user) {
    ox_tensor **running = (ox_tensor **)user;
    return ox_batch_norm(in[0], in[1], in[2], running[0], running[1], !running[0], 0.1, 1e-5);
}

static void check_channels(ox_shape x, int groups, ox_dtype dtype, double near_by, layout l) {
    ox_shape w = OX_SHAPE(x.dim[1]), none = OX_SCALAR_SHAPE;
    ox_tensor *running[2][2] = {{NULL, NULL}, {NULL, NULL}}, *training[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        ox_tensor *t = ox_add_number(ox_rand(w, OX_F32), 0.5);
        running[0][i] = ox_cast(t, OX_F64);
        running[1][i] = ox_to(t, gpu);
    }
    for (int count = 1; count < 4; count++) {
        const subject subjects[] = {
            {"group_norm_back", group_norm_of, &groups, &groups, count, {x, count > 1 ? w : none, w}},
            {"group_norm_back", instance_norm_of, NULL, NULL, count, {x, count > 1 ? w : none, w}},
            {"group_norm_back", batch_norm_of, training, training, count, {x, count > 1 ? w : none, w}},
            {"group_norm_back", batch_norm_of, running[0], running[1], count, {x, count > 1 ? w : none, w}}};
        for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
            check_back(&subjects[i], dtype, l, near_by * 8);
    }
}

static void test_channels(void) {
    static const struct {
        int64_t n, c, s;
        int groups;
    } cases[] = {{5, 4, 3, 2}, {3, 6, 37, 3}, {9, 32, 90, 8}, {2, 2, 5000, 1}};
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int l = 0; l<LAYOUT_COUNT; l += i> 1 || d ? 4 : 1)
                OX_SCOPE {
                    check_channels(OX_SHAPE(cases[i].n, cases[i].c, cases[i].s), cases[i].groups,
                                   dtypes[d].dtype, dtypes[d].near_by, (layout)l);
                }
}

/* ---- recurrent nets ------------------------------------------------------------------------------------ */

static void test_nets(void) {
    static const int64_t sizes[][3] = {{1, 1, 1}, {3, 2, 5}, {2, 9, 33}};
    ox_shape none = OX_SCALAR_SHAPE;
    for (int net = 0; net < NETS; net++)
        for (int d = 0; d < 3; d++)
            for (int s = 0; s < 3; s++)
                for (int l = 0; l<LAYOUT_COUNT; l += s> 1 || d ? 5 : 2)
                    OX_SCOPE {
                        int64_t n = sizes[s][1], width = sizes[s][2], rows = net_gates[net] * width;
                        subject step = {"recurrent_step",
                                        net_of,
                                        &net,
                                        &net,
                                        5,
                                        {OX_SHAPE(sizes[s][0], n, 3), OX_SHAPE(1, n, width),
                                         OX_SHAPE(rows, 3), OX_SHAPE(rows, width),
                                         net == NET_LSTM ? OX_SHAPE(1, n, width) : none}};
                        if (net == NET_RELU && d > 0) continue; /* signs are left to rounding */
                        check_back(&step, dtypes[d].dtype, (layout)l, dtypes[d].near_by * 30);
                        step.row = "recurrent_step_back";
                        check_back(&step, dtypes[d].dtype, (layout)l, dtypes[d].near_by * 30);
                    }
}

/* ---- attention ----------------------------------------------------------------------------------------- */

typedef struct attention_case {
    int64_t batch, heads, kv_heads, queries, keys, depth, value_depth;
    bool causal, sinks;
    int64_t window;
    int mask; /* 1: bool [S,T], 2: f32 [B,1,1,T], 3: f32 [H,S,T] */
    double softcap;
} attention_case;

static ox_tensor *attention_of(ox_tensor *const *in, void *user) {
    return ox_scaled_dot_product_attention(in[0], in[1], in[2], (const ox_attention_desc *)user);
}

static void check_attention(const attention_case *c, ox_dtype dtype, double near_by, layout l) {
    ox_attention_desc desc, far;
    memset(&desc, 0, sizeof desc);
    desc.causal = c->causal;
    desc.window = c->window;
    desc.softcap = c->softcap;
    if (c->sinks) desc.sinks = ox_randn(OX_SHAPE(c->heads), OX_F32);
    if (c->mask == 1) desc.mask = ox_gt_number(ox_rand(OX_SHAPE(c->queries, c->keys), OX_F32), 0.4);
    if (c->mask == 2) desc.mask = ox_randn(OX_SHAPE(c->batch, 1, 1, c->keys), OX_F32);
    if (c->mask == 3) desc.mask = ox_randn(OX_SHAPE(c->heads, c->queries, c->keys), OX_F32);
    far = desc;
    if (c->sinks) far.sinks = ox_to(desc.sinks, gpu);
    if (c->mask) far.mask = ox_to(desc.mask, gpu);
    if (c->mask == 3) desc.mask = ox_flip(desc.mask, OX_DIMS(2));
    if (c->mask == 3) far.mask = ox_slice(far.mask, 2, OX_END, OX_END, -1);
    subject s = {"attention_back",
                 attention_of,
                 &desc,
                 &far,
                 3,
                 {OX_SHAPE(c->batch, c->heads, c->queries, c->depth),
                  OX_SHAPE(c->batch, c->kv_heads, c->keys, c->depth),
                  OX_SHAPE(c->batch, c->kv_heads, c->keys, c->value_depth)}};
    /* scores of rows whose elements are alike grow with the depth, and so does their rounding */
    check_back(&s, dtype, l, c->depth > 64 && l == LAYOUT_EXPANDED_LAST ? 4 * near_by : near_by);
}

static void test_attention(void) {
    static const attention_case cases[] = {{1, 1, 1, 1, 1, 1, 1, false, false, 0, 0, 0},
                                           {2, 3, 3, 5, 7, 4, 6, false, false, 0, 0, 0},
                                           {2, 4, 2, 9, 9, 8, 8, true, false, 0, 0, 0},
                                           {1, 6, 2, 20, 33, 5, 3, false, true, 0, 1, 0},
                                           {2, 2, 1, 40, 40, 16, 16, true, true, 7, 0, 0},
                                           {2, 2, 2, 33, 17, 8, 8, false, false, 0, 2, 0},
                                           {1, 4, 1, 12, 30, 8, 9, true, false, 0, 3, 0},
                                           {1, 2, 2, 100, 90, 64, 64, true, false, 0, 0, 0},
                                           {1, 1, 1, 70, 150, 80, 130, true, false, 50, 0, 0},
                                           {1, 2, 1, 10, 300, 8, 8, false, true, 0, 1, 0},
                                           {2, 4, 2, 19, 30, 8, 6, true, true, 0, 0, 1.5},
                                           {1, 2, 1, 40, 50, 8, 8, false, true, 0, 3, 0.7},
                                           {1, 4, 2, 70, 90, 32, 16, false, true, 0, 1, 0},
                                           {2, 2, 2, 33, 70, 16, 32, false, false, 0, 2, 0},
                                           {1, 2, 1, 70, 80, 64, 64, true, true, 40, 3, 0},
                                           {1, 2, 2, 20, 70, 128, 128, true, false, 0, 0, 0}};
    for (int d = 0; d < 3; d++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
            for (int l = 0; l<LAYOUT_COUNT; l += cases[i].queries> 20 ? 7 : d ? 4 : 2)
                OX_SCOPE {
                    check_attention(&cases[i], dtypes[d].dtype, dtypes[d].near_by * 4, (layout)l);
                }
}

/* Rows that see no key have gradients of zeros. */
static void test_blind(void) {
    OX_SCOPE {
        ox_attention_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.mask = ox_to(ox_zeros(OX_SHAPE(4, 6), OX_BOOL), gpu);
        ox_tensor *in[3], *g[3];
        for (int i = 0; i < 3; i++) {
            ox_tensor *t = ox_randn(OX_SHAPE(2, i ? 6 : 4, 8), OX_F32);
            in[i] = ox_requires_grad_(ox_to(t, gpu), true);
        }
        gradients(attention_of, &desc, in, 3, ox_to(ox_ones(OX_SHAPE(2, 4, 8), OX_F32), gpu), false, g);
        for (int i = 0; i < 3; i++) {
            ox_tensor *back = ox_to(g[i], ox_cpu());
            CHECK(ox_equal(back, ox_zeros_like(back)));
        }
    }
}

/* ---- losses of classes: the same as on the CPU --------------------------------------------------------- */

/* layer: linear_cross_entropy in chunks of rows, else cross_entropy of the logits x. */
static void check_loss(ox_dtype dtype, bool layer, double near_by) {
    enum { CLASS_ROWS = 13, CLASSES = 11, CLASS_WIDTH = 5 };
    ox_shape shape[3] = {OX_SHAPE(CLASS_ROWS, layer ? CLASS_WIDTH : CLASSES), OX_SHAPE(CLASSES, CLASS_WIDTH),
                         OX_SHAPE(CLASSES)};
    ox_tensor *target = ox_randint(0, CLASSES, OX_SHAPE(CLASS_ROWS), OX_I64), *g[2][3], *loss[2];
    ox_tensor *values[3];
    ox_cross_entropy_desc desc;
    int count = layer ? 3 : 1;
    memset(&desc, 0, sizeof desc);
    desc.ignores = true;
    desc.ignore_index = 3;
    for (int i = 0; i < count; i++) values[i] = ox_cast(ox_randn(shape[i], OX_F32), dtype);
    int64_t detours = ox_memory_get_stats().detours;
    for (int far = 0; far < 2; far++) {
        ox_device *device = far ? gpu : ox_cpu();
        ox_tensor *in[3], *to = ox_to(target, device);
        for (int i = 0; i < count; i++) in[i] = ox_requires_grad_(ox_detach(ox_to(values[i], device)), true);
        loss[far] = layer ? ox_linear_cross_entropy(in[0], in[1], to, in[2], &desc)
                          : ox_cross_entropy(in[0], to, &desc);
        CHECK_MSG(ox_grad(&loss[far], 1, in, count, NULL, g[far]) == OX_OK, "%s", ox_error_text());
    }
    CHECK(ox_allclose(ox_to(loss[1], ox_cpu()), loss[0], near_by, near_by, false));
    for (int i = 0; i < count; i++)
        CHECK_MSG(ox_allclose(ox_to(g[1][i], ox_cpu()), g[0][i], near_by, near_by, false),
                  "gradient %d of %s", i, ox_dtype_name(dtype));
    CHECK(ox_memory_get_stats().detours == detours);
}

static void test_losses(void) {
    for (int d = 0; d < 3; d++)
        for (int layer = 0; layer < 2; layer++)
            OX_SCOPE {
                check_loss(dtypes[d].dtype, layer == 1, dtypes[d].near_by * 2);
            }
}

/* A row of the family that no suite knows fails. */
static void test_all_rows(void) {
    for (int op = 0; op < OXI_OP_COUNT; op++) {
        const oxi_op_row *row = oxi_op_row_of((oxi_op)op);
        bool known = row->family != OXI_FAMILY_BACK;
        for (int r = 0; r < BACK_ROWS; r++) known = known || strcmp(row->name, back_rows[r]) == 0;
        CHECK_MSG(known, "%s", row->name);
    }
}

/* ---- the order of dispatches --------------------------------------------------------------------------- */

/* A copy of what another one made is right in any order as long as a barrier lies between both. */
static void test_order(void) {
    for (int missing = 0; missing < 2; missing++)
        OX_SCOPE {
            oxi_vk_device *d = (oxi_vk_device *)gpu;
            ox_tensor *t[3];
            for (int i = 0; i < 3; i++) t[i] = ox_to(ox_full(OX_SHAPE(64), i, OX_F32), gpu);
            CHECK(ox_device_sync(gpu) == OX_OK);
            CHECK(ox_copy_(t[1], t[0]) != NULL && ox_copy_(t[2], t[1]) != NULL);
            CHECK(d->recording && d->command_count == 2 && d->commands[1].epoch > d->commands[0].epoch);
            if (missing) d->commands[1].epoch = d->commands[0].epoch;
            const float got = (float)ox_item(ox_narrow(t[2], 0, 0, 1));
            CHECK_MSG(got == (missing ? 1 : 0), "%s a barrier: %g", missing ? "without" : "with", got);
        }
}

int main(void) {
    test_all_rows();
    gpu = ox_vulkan(0);
    if (!gpu) return check_skipped("vulkan_back", ox_error_text());
    ox_manual_seed(5);
    test_rows();
    test_range();
    test_about();
    test_channels();
    test_nets();
    test_attention();
    test_blind();
    test_losses();
    CHECK(ox_error() == OX_OK);
    CHECK(ox_device_close(gpu) == OX_OK);
    (void)setenv("OX_VULKAN_ORDER", "backwards", 1);
    gpu = ox_vulkan(0);
    CHECK_MSG(gpu != NULL, "%s", ox_error_text());
    if (gpu) test_order();
    CHECK(ox_device_close(gpu) == OX_OK);
    return check_done("vulkan_back");
}
