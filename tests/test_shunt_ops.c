/* test_shunt_ops.c - every row of the table through the planner: each case of covers.h and op_cases.h, on
 * operands of every layout that lie on the shunt, and captured from the CPU; the bits are those of eager
 * runs. Without a budget in all layouts; within one that moves nearly everything to the disk and back each
 * op and dtype in one, another for the next dtype. */
#include "backwards.h"
#include "covers.h"

#include "oxtorch_stream.h"

#include <unistd.h>

/* The same view over a copy of what t reaches of its memory, on another device. */
static ox_tensor *there(ox_tensor *t, ox_device *device) {
    int64_t low = t->offset, high = t->offset;
    for (int d = 0; d < t->ndim; d++) {
        int64_t far = (t->shape[d] - 1) * t->stride[d];
        if (far < 0)
            low += far;
        else
            high += far;
    }
    if (ox_numel(t) == 0) return ox_to(t, device);
    ox_tensor *flat = ox_to(ox_as_strided(t, OX_SHAPE(high - low + 1), OX_SHAPE(1), low), device);
    return ox_as_strided(flat, ox_shape_of(t), ox_shape_from(t->ndim, t->stride), t->offset - low);
}

typedef enum way { WAY_THERE, WAY_CAPTURED, WAYS } way;
static const char *const way_names[] = {"on the shunt", "captured"};

typedef struct many {
    ox_tensor *t[MOST_OPERANDS];
} many;

static many operands_for(ox_tensor *const *in, int count, ox_shunt *shunt, way w) {
    many m;
    for (int k = 0; k < MOST_OPERANDS; k++) m.t[k] = k < count ? in[k] : NULL;
    for (int k = 0; k < count && w == WAY_THERE; k++)
        if (in[k]) m.t[k] = there(in[k], ox_shunt_device(shunt));
    return m;
}

static void check_result(ox_tensor *wanted, ox_tensor *got, const char *label, ox_dtype dtype, layout l,
                         way w) {
    ox_tensor *near = got ? ox_to(got, ox_cpu()) : NULL;
    CHECK_MSG(wanted && near && same_bits(wanted, near), "%s %s, %s, %s: %s", label, ox_dtype_name(dtype),
              layout_name(l), way_names[w], ox_error() ? ox_error_text() : "other bits");
    ox_error_clear();
}

static void run_cover(const cover *c, ox_dtype dtype, layout l, ox_shunt *shunt) {
    ox_tensor *in[MOST_OPERANDS] = {NULL, NULL, NULL, NULL, NULL}, *wanted[MOST_RESULTS] = {NULL, NULL};
    int count = 0;
    test_random_state = (uint64_t)(dtype * LAYOUT_COUNT + l) * 1099511628211u | 1;
    for (; count < MOST_OPERANDS && c->in[count].kind; count++)
        in[count] =
            make_operand(c, count, l == LAYOUT_PLAIN ? l : (layout)((l + 2 * count) % LAYOUT_COUNT), dtype);
    c->run(in, wanted);
    CHECK_MSG(wanted[0] != NULL, "%s: %s", c->label, ox_error_text());
    for (int w = 0; w < WAYS; w++) {
        ox_tensor *got[MOST_RESULTS] = {NULL, NULL};
        many m = operands_for(in, count, shunt, (way)w);
        ox_device *before = ox_set_default_device(w == WAY_THERE ? ox_shunt_device(shunt) : ox_cpu());
        if (w == WAY_CAPTURED) ox_capture_begin(shunt);
        c->run(m.t, got);
        ox_set_default_device(before);
        if (w == WAY_CAPTURED) CHECK_MSG(ox_capture_end(shunt) == OX_OK, "%s", ox_error_text());
        for (int r = 0; r < MOST_RESULTS; r++)
            if (wanted[r]) check_result(wanted[r], got[r], c->label, dtype, l, (way)w);
    }
}

/* Whether a case is run: all, or with `few` one layout of each op and dtype. */
static bool is_run(bool few, int n, int dtype, int l) {
    return !few || (n + dtype) % LAYOUT_COUNT == l;
}

static void run_covers(ox_shunt *shunt, bool few) {
    for (int n = 0; n < COVER_COUNT; n++) {
        const op_row *row = op_row_named(covers[n].row);
        for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++) {
            if (!(accept_bit((ox_dtype)d) & row->accepts) || lists(covers[n].not_for, (ox_dtype)d)) continue;
            for (int l = 0; l < LAYOUT_COUNT; l++)
                if (is_run(few, n, d, l))
                    OX_SCOPE {
                        run_cover(&covers[n], (ox_dtype)d, (layout)l, shunt);
                    }
        }
    }
}

static void run_map(const op_case *c, const op_row *row, ox_dtype dtype, layout l, ox_shunt *shunt) {
    const int64_t shape[2] = {5, 33};
    ox_tensor *in[3] = {NULL, NULL, NULL};
    bool power = strcmp(c->name, "pow") == 0 && is_integral(dtype);
    for (int k = 0; k < c->arity; k++)
        in[k] = random_layout((layout)((l + k) % LAYOUT_COUNT), power ? DOMAIN_COUNT : c->domains[k], 2,
                              shape, k == 0 && strcmp(row->flag, "MASKED") == 0 ? OX_BOOL : dtype);
    ox_tensor *wanted = c->run(in), *changed = NULL, *first = ox_clone(in[0]);
    many in_place = {{first, in[1], in[2], NULL, NULL}};
    bool masked = strcmp(row->flag, "MASKED") == 0;
    if (c->run_in_place && !masked) changed = c->run_in_place(in_place.t);
    if (!changed) ox_error_clear(); /* a result that does not fit into the operand */
    for (int w = 0; w < WAYS; w++) {
        many m = operands_for(in, c->arity, shunt, (way)w);
        if (w == WAY_CAPTURED) ox_capture_begin(shunt);
        ox_tensor *got = c->run(m.t);
        m.t[0] = changed ? ox_clone(m.t[0]) : m.t[0];
        ox_tensor *got_changed = changed ? c->run_in_place(m.t) : NULL;
        if (w == WAY_CAPTURED) CHECK_MSG(ox_capture_end(shunt) == OX_OK, "%s", ox_error_text());
        check_result(wanted, got, c->label, dtype, l, (way)w);
        if (changed) check_result(changed, got_changed, c->label, dtype, l, (way)w);
    }
}

static void run_maps(ox_shunt *shunt, bool few) {
    for (int n = 0; n < OP_CASE_COUNT; n++) {
        const op_row *row = op_row_named(op_cases[n].name);
        for (int d = OX_BOOL; d <= PLAIN_DTYPES; d++) {
            if (!(accept_bit((ox_dtype)d) & row->accepts)) continue;
            for (int l = 0; l < LAYOUT_COUNT; l++)
                if (is_run(few, n, d, l))
                    OX_SCOPE {
                        run_map(&op_cases[n], row, (ox_dtype)d, (layout)l, shunt);
                    }
        }
    }
}

/* Weights of block types, as products and embeddings read them. */
static void run_blocks(ox_shunt *shunt) {
    for (int d = OX_Q4_0; d < OX_DTYPE_COUNT; d++)
        OX_SCOPE {
            ox_tensor *q = ox_empty(OX_SHAPE(8, 512), (ox_dtype)d), *x = ox_randn(OX_SHAPE(3, 512), OX_F32);
            unsigned char *bytes = (unsigned char *)ox_data(q);
            for (size_t i = 0; i < ox_nbytes(q); i++) bytes[i] = (unsigned char)(test_random() >> 40 & 0x2f);
            ox_tensor *full = ox_cast(q, OX_F32);
            ox_error_clear();
            if (!full) continue; /* OX_NO_IQ */
            ox_device *device = ox_shunt_device(shunt);
            ox_tensor *far = ox_to(q, device), *rows = ox_slice(far, 0, 1, OX_END, 2);
            check_result(ox_linear(x, q, NULL), ox_linear(ox_to(x, device), far, NULL), "linear", (ox_dtype)d,
                         LAYOUT_PLAIN, WAY_THERE);
            check_result(ox_cast(ox_slice(q, 0, 1, OX_END, 2), OX_F32), ox_cast(rows, OX_F32), "cast",
                         (ox_dtype)d, LAYOUT_STEP_FIRST, WAY_THERE);
        }
}

static void run_all(ox_shunt *shunt, bool few) {
    CHECK_MSG(shunt != NULL, "%s", ox_error_text());
    if (!shunt) return;
    run_covers(shunt, few);
    run_maps(shunt, few);
    run_blocks(shunt);
    const ox_shunt_stats s = ox_shunt_get_stats(shunt);
    CHECK(s.calls > 0 && s.steps > 0 && s.device_bytes == 0 && s.host_bytes == 0 && s.disk_bytes == 0);
    CHECK_MSG(ox_shunt_close(shunt) == OX_OK, "%s", ox_error_text());
}

int main(void) {
    const char *folder = getenv("OX_TEST_TMP");
    ox_shunt_desc desc;
    memset(&desc, 0, sizeof desc);
    run_all(ox_shunt_open(&desc), false);
    desc.spill = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : folder ? folder : ".";
    desc.device_bytes = 256 << 10; /* the largest operand has 110 KiB */
    desc.host_bytes = 64 << 10;
    run_all(ox_shunt_open(&desc), true);
    desc.eager = true;
    run_all(ox_shunt_open(&desc), true);
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
                  ox_memory_get_stats().bad_releases == 0,
              "%lld tensors, %lld storages left", (long long)ox_memory_get_stats().tensors,
              (long long)ox_memory_get_stats().storages);
    return check_done("shunt_ops");
}
