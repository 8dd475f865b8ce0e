/* test_stream_random.c - random programs over tensors in files, in the spill file and in RAM: views of views,
 * operations, writes into views, under budgets and tiles of any size. Each is run in RAM as well, and all
 * that it makes has the same bits. With two words, FIRST and COUNT: that many programs from that number
 * on. */
#include "backwards.h"
#include "stream_check.h"

#include <inttypes.h>

enum { POOL = 10, OPS = 14, ELEMENTS = 60000 };

typedef struct pair {
    ox_tensor *near, *far; /* the same numbers in RAM, and anywhere */
    bool writable;
} pair;

typedef struct program {
    uint64_t number, random;
    ox_stream *stream;
    char folder[256];
    pair pool[POOL];
    int count, files;
    bool over; /* an operation in place was refused for want of budget: the two differ from here on */
} program;

static uint64_t next_random(program *p) {
    p->random ^= p->random << 13;
    p->random ^= p->random >> 7;
    p->random ^= p->random << 17;
    return p->random >> 11;
}

static int64_t below(program *p, int64_t end) {
    return end > 0 ? (int64_t)(next_random(p) % (uint64_t)end) : 0;
}

static int64_t between(program *p, int64_t low, int64_t high) {
    return low + below(p, high - low + 1);
}

/* ---- tensors ------------------------------------------------------------------------------------------- */

static pair *any(program *p) {
    return &p->pool[below(p, p->count)];
}

/* Of the far side, or, sometimes, the one in RAM in its place. */
static ox_tensor *far_of(program *p, const pair *one) {
    return below(p, 5) ? one->far : one->near;
}

static int64_t compared; /* tensors, in all programs */

static void put(program *p, const char *what, ox_tensor *near, ox_tensor *far, bool writable) {
    bool no_room = !far && ox_error() == OX_ERR_NOMEM;
    CHECK_MSG(no_room || (!near && !far) || (near && far && same_bits(near, far)),
              "program %" PRIu64 ", %s: %s", p->number, what, !near == !far ? "other bits" : ox_error_text());
    ox_error_clear();
    compared += near && far;
    if (!near || !far || ox_numel(near) > 4 * ELEMENTS) return;
    pair one = {near, far, writable};
    p->pool[p->count < POOL ? p->count++ : below(p, POOL)] = one;
}

static ox_shape random_shape(program *p) {
    ox_shape shape = OX_SHAPE(1);
    shape.ndim = (int)between(p, 1, 4);
    int64_t left = below(p, 3) ? ELEMENTS : between(p, 1, 3000);
    for (int d = 0; d < shape.ndim; d++) {
        shape.dim[d] = below(p, 25) ? between(p, 1, d == shape.ndim - 1 ? left : left < 90 ? left : 90) : 0;
        left /= shape.dim[d] > 0 ? shape.dim[d] : 1;
        if (left < 1) left = 1;
    }
    return shape;
}

static void add_input(program *p) {
    static const ox_dtype dtypes[] = {OX_F32, OX_F32, OX_F16, OX_BF16, OX_F64,
                                      OX_I32, OX_I64, OX_U8,  OX_BOOL};
    ox_dtype dtype = dtypes[below(p, 9)];
    ox_tensor *near = ox_cast(ox_mul_number(numbers(random_shape(p), OX_F32, next_random(p)), 9), dtype),
              *far;
    if (below(p, 2)) {
        char path[320];
        int lead = (int)(below(p, 2) ? below(p, 40) : 8 * below(p, 1000));
        snprintf(path, sizeof path, "%s/oxtorch-random-%p-%d.raw", p->folder, (void *)p, p->files++);
        put_raw(path, near, lead);
        far = ox_stream_raw(p->stream, path, lead, dtype, ox_shape_of(near));
        remove(path);
        put(p, "raw", near, far, false);
    } else {
        put(p, "to", near, ox_to(near, ox_stream_device(p->stream)), true);
        if (p->count > 0) p->pool[p->count - 1].writable = below(p, 2) > 0;
    }
}

/* ---- views --------------------------------------------------------------------------------------------- */

typedef struct choice {
    int kind, dim, other;
    int64_t a, b, c;
} choice;

static ox_tensor *view(ox_tensor *t, const choice *w) {
    switch (w->kind) {
    case 0: return ox_transpose(t, w->dim, w->other);
    case 1: return ox_slice(t, w->dim, w->a, w->b, w->c);
    case 2: return backwards(t, OX_DIMS(w->dim));
    case 3: return ox_select(t, w->dim, w->a);
    case 4: return ox_unsqueeze(t, w->dim);
    case 5: return ox_unfold(t, w->dim, w->a % 7 + 1, w->c);
    case 6: return w->dim == w->other ? ox_t(t) : ox_diagonal(t, (int)w->c - 2, w->dim, w->other);
    default: return ox_view(t, OX_SHAPE(-1));
    }
}

static void do_view(program *p) {
    const pair one = *any(p);
    const int dims = one.near->ndim;
    choice w = {(int)below(p, 8), 0, 0, 0, 0, 0};
    if (dims == 0) return;
    w.dim = (int)below(p, dims);
    w.other = (int)below(p, dims);
    w.a = below(p, one.near->shape[w.dim]);
    w.b = between(p, w.a, one.near->shape[w.dim]);
    w.c = between(p, 1, 4);
    ox_tensor *near = view(one.near, &w), *far = view(one.far, &w);
    put(p, "view", near, far, one.writable && w.kind != 5);
}

/* ---- operations ---------------------------------------------------------------------------------------- */

static ox_tensor *unary(ox_tensor *t, int kind, int dim) {
    switch (kind) {
    case 0: return ox_neg(t);
    case 1: return ox_exp(t);
    case 2: return ox_relu(t);
    case 3: return ox_mul_number(t, 1.5);
    case 4: return ox_cast(ox_clamp(t, -100, 100), OX_F16);
    case 5: return ox_cast(ox_clamp(t, 0, 100), OX_U8);
    case 6: return ox_clone(t);
    case 7: return ox_sum(t, OX_DIMS(dim), false);
    case 8: return ox_amax(t, OX_DIMS(dim), true);
    case 9: return ox_argmax(t, dim, false);
    case 10: return ox_mean(ox_cast(t, OX_F32), OX_ALL_DIMS, false);
    case 11: return ox_var(ox_cast(t, OX_F32), OX_DIMS(dim), 1, false);
    case 12: return ox_any(t, OX_DIMS(dim), false);
    case 13: return ox_softmax(ox_cast(t, OX_F32), dim);
    case 14: return ox_log_softmax(ox_cast(t, OX_F32), dim);
    case 15: return ox_cumsum(t, dim);
    case 16: return ox_sort(t, dim, false).values;
    case 17: return ox_sort(t, dim, true).indices;
    case 18: return ox_rms_norm(ox_cast(t, OX_F32), 1, NULL, 1e-5);
    case 19: return ox_layer_norm(ox_cast(t, OX_F32), 1, NULL, NULL, 1e-5);
    case 20: return ox_tril(t, 1);
    case 21: return ox_roll(t, OX_DIMS(5), OX_DIMS(dim));
    default: return ox_logsumexp(ox_cast(t, OX_F32), OX_DIMS(dim), false);
    }
}
enum { UNARY = 23, BINARY = 9 };

static ox_tensor *binary(ox_tensor *a, ox_tensor *b, int kind, int dim) {
    ox_tensor *both[2] = {a, b};
    switch (kind) {
    case 0: return ox_add(a, b);
    case 1: return ox_mul(a, b);
    case 2: return ox_maximum(a, b);
    case 3: return ox_lt(a, b);
    case 4: return ox_where(ox_gt(a, b), a, b);
    case 5: return ox_matmul(ox_cast(a, OX_F32), ox_cast(b, OX_F32));
    case 6: return ox_linear(ox_cast(a, OX_F32), ox_cast(b, OX_F32), NULL);
    case 7: return ox_cat(both, 2, dim);
    default:
        return ox_index_select(
            a, dim,
            ox_remainder(ox_cast(ox_view(b, OX_SHAPE(-1)), OX_I64), ox_number((double)a->shape[dim])));
    }
}

/* Something that goes with a: its rows turned, a part of it, or anything. */
static pair partner(program *p, const pair *a) {
    const choice turn = {0, 0, a->near->ndim - 1, 0, 0, 0};
    pair b = *any(p);
    if (below(p, 3) == 0) return b;
    b = *a;
    if (below(p, 2) && a->near->ndim > 1) {
        b.near = view(a->near, &turn);
        b.far = view(a->far, &turn);
    } else {
        b.near = ox_narrow(a->near, 0, 0, a->near->shape[0] > 0);
        b.far = ox_narrow(a->far, 0, 0, a->near->shape[0] > 0);
    }
    return b;
}

static void do_unary(program *p) {
    const pair a = *any(p);
    char what[40];
    int kind = (int)below(p, UNARY), dim = a.near->ndim > 0 ? (int)below(p, a.near->ndim) : 0;
    snprintf(what, sizeof what, "unary %d along %d", kind, dim);
    ox_tensor *near = unary(a.near, kind, dim);
    ox_error_clear();
    put(p, what, near, unary(a.far, kind, dim), true);
}

static void do_binary(program *p) {
    const pair a = *any(p);
    if (a.near->ndim == 0) return;
    const pair b = partner(p, &a);
    char what[40];
    int kind = (int)below(p, BINARY), dim = (int)below(p, a.near->ndim);
    if (kind == 8 && ox_numel(b.near) > 3000) kind = 0;
    if (ox_numel(a.near) * (int64_t)(1 + ox_numel(b.near) / 64) > 40 * ELEMENTS)
        return; /* outer ones are large */
    snprintf(what, sizeof what, "binary %d along %d", kind, dim);
    ox_tensor *near = binary(a.near, b.near, kind, dim);
    ox_error_clear();
    put(p, what, near, binary(far_of(p, &a), far_of(p, &b), kind, dim), true);
}

static ox_tensor *change(ox_tensor *t, ox_tensor *from, int kind) {
    switch (kind) {
    case 0: return ox_fill_(t, 3);
    case 1: return ox_add_(t, from);
    case 2: return ox_neg_(t);
    case 3: return ox_copy_(t, from);
    default: return ox_mul_(t, ox_number(2));
    }
}

/* Writes into a tensor, which all views of it see. */
static void do_change(program *p) {
    const pair a = *any(p);
    if (!a.writable || a.near->ndim == 0) return;
    pair b = partner(p, &a);
    b.near = ox_clone(b.near); /* what is written is not what is read */
    b.far = ox_clone(b.far);
    if (!b.far) return;
    char what[40];
    int kind = (int)below(p, 5);
    snprintf(what, sizeof what, "change %d", kind);
    bool near = change(a.near, b.near, kind) != NULL;
    ox_error_clear();
    bool far = change(a.far, below(p, 3) ? b.far : b.near, kind) != NULL;
    p->over = !far && ox_error() == OX_ERR_NOMEM;
    CHECK_MSG(p->over || near == far, "program %" PRIu64 ", %s: %s", p->number, what, ox_error_text());
    ox_error_clear();
    for (int i = 0; i < p->count && !p->over; i++)
        CHECK_MSG(same_bits(p->pool[i].near, p->pool[i].far), "program %" PRIu64 ", after %s: tensor %d",
                  p->number, what, i);
}

/* ---- programs ------------------------------------------------------------------------------------------ */

static ox_stream *random_stream(program *p) {
    ox_stream_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.depth = (int)between(p, 3, 6);
    desc.tile_bytes = (size_t)(4096 * (below(p, 2) ? 4 : between(p, 4, 20)));
    desc.ram_bytes = 4 * (size_t)desc.depth * desc.tile_bytes + (below(p, 3) ? (size_t)below(p, 1 << 20) : 0);
    desc.result_bytes = below(p, 3) ? 1 : below(p, 2) ? 0 : 20000;
    desc.queue = (int)between(p, 1, 40);
    desc.reading = below(p, 2) ? OX_STREAM_THREADS : OX_STREAM_BEST;
    desc.buffered = below(p, 3) == 0;
    desc.forgetful = below(p, 4) == 0;
    desc.checksums = below(p, 3) == 0;
    const char *memory = case_folders[1];
    snprintf(p->folder, sizeof p->folder, "%s", memory && below(p, 2) ? memory : case_folders[0]);
    desc.spill = p->folder;
    ox_stream *stream = ox_stream_open(&desc);
    CHECK_MSG(stream != NULL, "program %" PRIu64 ": %s", p->number, ox_error_text());
    return stream;
}

static void run_program(uint64_t number) {
    program p;
    memset(&p, 0, sizeof p);
    p.number = number;
    p.random = (number + 1) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 8; i++) (void)next_random(&p);
    p.stream = random_stream(&p);
    OX_SCOPE {
        for (int i = 0; i < 3; i++) add_input(&p);
        for (int i = 0; i < OPS && !p.over && p.count > 0; i++) {
            int64_t what = below(&p, 10);
            if (what < 3)
                do_view(&p);
            else if (what < 6)
                do_unary(&p);
            else if (what < 8)
                do_binary(&p);
            else if (what < 9)
                do_change(&p);
            else
                add_input(&p);
        }
    }
    CHECK(ox_stream_get_stats(p.stream).spilled_bytes == 0);
    ox_device_close(ox_stream_device(p.stream));
}

int main(int count, char **words) {
    uint64_t first = count == 3 ? strtoull(words[1], NULL, 10) : 0;
    uint64_t programs = count == 3 ? strtoull(words[2], NULL, 10) : 150;
    check_cases();
    for (uint64_t i = 0; i < programs; i++) run_program(first + i);
    CHECK_MSG(compared > 6 * (int64_t)programs, "%" PRId64 " tensors", compared);
    ox_memory_stats stats = ox_memory_get_stats();
    CHECK(stats.tensors == 0 && stats.storages == 0 && stats.bad_releases == 0);
    return check_done("stream_random");
}
