/* test_gradients_on.c - gradients by the engine for every case of gradient_cases.h: those of gradients
 * against differences, on the CPU; and gradients on a stream and on Vulkan against those of the CPU, made
 * where the operands are. A software GPU compiles shaders for minutes: there it is one case of eight, all of
 * them where OX_TEST_ALL is in the environment.
 */
#include "gradient_cases.h"
#include "oxtorch_nn.h"
#include "oxtorch_stream.h"
#include "oxtorch_vulkan.h"

/* ---- a case as a function ------------------------------------------------------------------------------ */

/* A case with all of its operands, and which of them are inputs. */
typedef struct subject {
    const gradient_case *c;
    ox_tensor *operand[MOST_OPERANDS], *input[MOST_OPERANDS];
    int at[MOST_OPERANDS], inputs;
} subject;

/* rope's factors have no gradient; integers and masks neither. */
static bool is_input(const gradient_case *c, int k, const ox_tensor *t) {
    return can_have_gradient(t) && !(strcmp(c->row, "rope") == 0 && k > 0);
}

/* False: the case has no such operands. */
static bool subject_make(subject *s, const gradient_case *c, ox_dtype dtype, layout l) {
    memset(s, 0, sizeof *s);
    s->c = c;
    for (int k = 0; k < MOST_OPERANDS; k++) {
        if (!c->in[k].kind) continue;
        ox_tensor *t = smooth_operand(&c->in[k], l, dtype, c->in[k].shape);
        if (!t) return false;
        s->operand[k] = t;
        if (!is_input(c, k, t)) continue;
        s->at[s->inputs] = k;
        s->input[s->inputs++] = ox_requires_grad_(t, true);
    }
    return s->inputs > 0;
}

/* The results that have a gradient, in a row. */
static ox_tensor *results_of(ox_tensor *const *in, void *user) {
    const subject *s = (const subject *)user;
    ox_tensor *operand[MOST_OPERANDS], *out[MOST_RESULTS] = {NULL, NULL}, *rows[MOST_RESULTS];
    int count = 0;
    memcpy(operand, s->operand, sizeof operand);
    for (int i = 0; i < s->inputs; i++) operand[s->at[i]] = in[i];
    if (s->c->map)
        out[0] = s->c->map(operand);
    else
        s->c->run(operand, out);
    for (int i = 0; i < MOST_RESULTS; i++) {
        if (!out[i] || !ox_requires_grad(out[i])) continue;
        rows[count++] = ox_flatten(out[i]->dtype == OX_C64 ? ox_view_as_real(out[i]) : out[i], 0, -1);
    }
    return count > 1 ? ox_cat(rows, count, 0) : count ? rows[0] : NULL;
}

/* coarse: the results are of f32. */
static bool has_gradient(subject *s, bool *coarse) {
    bool has = false;
    OX_SCOPE {
        ox_tensor *y = results_of(s->input, s);
        has = y != NULL;
        *coarse = has && y->dtype != OX_F64;
    }
    ox_error_clear(); /* of dtypes that a case is not for */
    return has;
}

/* ---- gradients of gradients ---------------------------------------------------------------------------- */

static int gradients_checked;

enum { MOST_NUMBERS = 130 }; /* of a case: each costs two gradients of all */

/* Differences of what has f32 in it are coarse. Casts are linear, and f16 has no differences. */
static void check_twice(const gradient_case *c) {
    int64_t numbers = 0;
    for (int k = 0; k < MOST_OPERANDS; k++) {
        int64_t count = c->in[k].kind ? 1 : 0;
        for (int d = 0; d < c->in[k].ndim; d++) count *= c->in[k].shape[d];
        numbers += count;
    }
    if (numbers > MOST_NUMBERS || strncmp(c->label, "cast_", 5) == 0) return;
    OX_SCOPE {
        subject s;
        ox_gradcheck_desc desc;
        bool coarse = false;
        memset(&desc, 0, sizeof desc);
        desc.absolute = 1e-4;
        if (!subject_make(&s, c, OX_F64, LAYOUT_PLAIN) || !has_gradient(&s, &coarse)) {
            ox_error_clear();
            break;
        }
        for (int i = 0; i < s.inputs; i++) coarse = coarse || s.input[i]->dtype != OX_F64;
        if (coarse) {
            desc.eps = strncmp(c->row, "fft_", 4) == 0 ? 0.25 : 0.0078125; /* linear: any step */
            desc.absolute = 2e-2;
            desc.relative = 3e-2;
        }
        gradients_checked++;
        CHECK_MSG(ox_gradgradcheck(results_of, &s, s.input, s.inputs, &desc) == OX_OK, "%s (%s): %s",
                  c->label, c->row, ox_error_text());
        ox_error_clear();
    }
}

/* ---- on devices ---------------------------------------------------------------------------------------- */

/* The gradients of a weighted sum of the results. */
static bool go_back(subject *s, const char *where) {
    ox_tensor *y = results_of(s->input, s), *w = y ? ox_to(leaf_for_results(y, 0), ox_device_of(y)) : NULL;
    ox_tensor *sum = w ? ox_sum(ox_mul(y, w), OX_ALL_DIMS, false) : NULL;
    bool fine = sum && ox_backward(sum, NULL) == OX_OK;
    CHECK_MSG(fine, "%s (%s) on %s: %s", s->c->label, s->c->row, where, ox_error_text());
    ox_error_clear();
    return fine;
}

/* How far numbers are apart, of what the largest is. */
static double apart(ox_tensor *a, ox_tensor *b) {
    double far = 0;
    OX_SCOPE {
        ox_tensor *x = a->dtype == OX_C64 ? ox_view_as_real(a) : a, *y = ox_to(b, ox_cpu());
        if (y && y->dtype == OX_C64) y = ox_view_as_real(y);
        if (!y || ox_numel(x) == 0) break;
        double most = ox_item(ox_amax(ox_abs(x), OX_ALL_DIMS, false));
        far = ox_item(ox_amax(ox_abs(ox_sub(x, y)), OX_ALL_DIMS, false)) / (most + 1);
    }
    return far;
}

static void check_on(const gradient_case *c, ox_device *device, layout l) {
    OX_SCOPE {
        subject here, there;
        bool coarse = false;
        if (!subject_make(&here, c, OX_F32, l) || !has_gradient(&here, &coarse)) {
            ox_error_clear();
            break;
        }
        there = here;
        for (int k = 0; k < MOST_OPERANDS; k++)
            there.operand[k] = here.operand[k] ? ox_to(ox_detach(here.operand[k]), device) : NULL;
        for (int i = 0; i < here.inputs; i++)
            there.input[i] = ox_requires_grad_(there.operand[here.at[i]], true);
        if (!go_back(&here, "the CPU") || !go_back(&there, ox_device_name(device))) break;
        for (int i = 0; i < here.inputs; i++) {
            ox_tensor *a = ox_gradient(here.input[i]), *b = ox_gradient(there.input[i]);
            double far = a && b ? apart(a, b) : a || b;
            CHECK_MSG(far < 3e-5, "%s (%s) on %s, operand %d: %g apart", c->label, c->row,
                      ox_device_name(device), here.at[i], far);
        }
    }
}

/* ---- all cases ----------------------------------------------------------------------------------------- */

/* every: one case of so many. */
static void for_each_case(ox_device *device, int every) {
    int count = OP_CASE_COUNT + COVER_COUNT + GRADIENT_CASE_COUNT;
    for (int i = 0; i < count; i += every) {
        gradient_case c;
        if (i < OP_CASE_COUNT)
            c = case_of_op(&op_cases[i]);
        else if (i < OP_CASE_COUNT + COVER_COUNT)
            c = case_of_cover(&covers[i - OP_CASE_COUNT]);
        else
            c = gradient_cases[i - OP_CASE_COUNT - COVER_COUNT];
        if ((!c.map && !c.run) || strcmp(c.label, "acosh") == 0) continue; /* beyond 1: g_acosh */
        if (!device)
            check_twice(&c);
        else
            check_on(&c, device, i / every % 2 ? LAYOUT_TRANSPOSED : LAYOUT_PLAIN);
    }
}

static ox_device *small_stream(void) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.ram_bytes = 4 << 20;
    desc.tile_bytes = 4096;
    desc.spill = getenv("OX_TEST_TMP");
    desc.forgetful = true;
    return ox_stream_device(ox_stream_open(&desc));
}

int main(void) {
    ox_device *stream = small_stream(), *gpu = ox_vulkan(0);
    if (!gpu) check_skip("gradients on Vulkan", ox_error_text());
    ox_error_clear();
    for_each_case(NULL, 1);
    CHECK_MSG(gradients_checked > 200, "%d cases", gradients_checked);
    CHECK(stream != NULL);
    if (stream) for_each_case(stream, 1);
    if (gpu) for_each_case(gpu, getenv("OX_TEST_ALL") ? 1 : 8);
    if (stream) CHECK(ox_device_close(stream) == OX_OK);
    if (gpu) CHECK(ox_device_close(gpu) == OX_OK);
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("gradients_on");
}
