/* test_packed.c - packed sequences: packing, padding and back against plain loops, recurrent nets over them
 * against the nets over each sequence alone, gradients, refusals. PyTorch's own are compared by torch_nn.py.
 * */
#include "oxtorch_nn.h"

#include "check.h"

#include <string.h>

enum { N = 5, T = 6, I = 3, H = 4 };
static const int64_t lengths[N] = {2, 6, 1, 6, 4}, sorted_lengths[N] = {6, 6, 4, 2, 1};

static ox_tensor *numbers(ox_shape shape, int which) {
    int64_t count = 1;
    for (int d = 0; d < shape.ndim; d++) count *= shape.dim[d];
    ox_tensor *t = ox_arange(0, (double)count, 1, OX_F64);
    t = ox_mul_number(ox_sin(ox_add_number(ox_mul_number(t, 1.3), 0.7 * which + 0.2)), 0.8);
    return ox_reshape(t, shape);
}

static double at(ox_tensor *t, int64_t i) {
    return ((const double *)ox_data(t))[i];
}

/* Row of the data: step t of the n-th longest; ties come in any order, so by the batch sizes. */
static void check_packing(bool batch_first, bool enforce, bool other_layout) {
    const int64_t *own = enforce ? sorted_lengths : lengths;
    ox_tensor *x = numbers(batch_first ? OX_SHAPE(N, T, I) : OX_SHAPE(T, N, I), 1);
    if (other_layout) x = ox_transpose(ox_contiguous(ox_transpose(x, 0, 2)), 0, 2);
    ox_packed p = ox_pack_padded_sequence(x, ox_from_data(own, OX_SHAPE(N), OX_I64), batch_first, enforce);
    CHECK_MSG(p.data && p.batch_sizes, "%s", ox_error_text());
    CHECK(!p.sorted_indices == enforce && !p.unsorted_indices == enforce);
    if (!p.data) return;
    int64_t sizes[T], order[N], row = 0;
    CHECK(ox_to_ints(p.batch_sizes, sizes, T) == OX_OK);
    for (int n = 0; n < N; n++) order[n] = n;
    if (!enforce) CHECK(ox_to_ints(p.sorted_indices, order, N) == OX_OK);
    ox_tensor *data = ox_contiguous(p.data), *plain = ox_contiguous(batch_first ? ox_transpose(x, 0, 1) : x);
    for (int t = 0; t < T; t++) {
        int64_t count = 0;
        for (int n = 0; n < N; n++) count += own[n] > t;
        CHECK(sizes[t] == count);
        for (int64_t n = 0; n < count; n++, row++) {
            CHECK(own[order[n]] > t);
            for (int i = 0; i < I; i++) CHECK(at(data, row * I + i) == at(plain, (t * N + order[n]) * I + i));
        }
    }
    CHECK(data->shape[0] == row);
    ox_tuple back = ox_pad_packed_sequence(&p, batch_first, -7, T + 1);
    CHECK_MSG(back.t[0] && back.t[1], "%s", ox_error_text());
    int64_t found[N];
    CHECK(ox_to_ints(back.t[1], found, N) == OX_OK && memcmp(found, own, sizeof found) == 0);
    ox_tensor *padded = ox_contiguous(batch_first ? ox_transpose(back.t[0], 0, 1) : back.t[0]);
    CHECK(padded->shape[0] == T + 1 && padded->shape[1] == N);
    for (int t = 0; t <= T; t++)
        for (int n = 0; n < N; n++)
            for (int i = 0; i < I; i++)
                CHECK(at(padded, (t * N + n) * I + i) == (t < own[n] ? at(plain, (t * N + n) * I + i) : -7));
}

static void test_packing(void) {
    for (int i = 0; i < 8; i++)
        OX_SCOPE
            check_packing(i & 1, i & 2, i & 4);
    CHECK(ox_error() == OX_OK);
}

static void test_lists(void) {
    OX_SCOPE {
        ox_tensor *list[N], *back[N];
        for (int n = 0; n < N; n++) list[n] = numbers(OX_SHAPE(lengths[n], I), n);
        ox_tensor *all = ox_pad_sequence(list, N, true, 9, NULL),
                  *left = ox_pad_sequence(list, N, false, 9, "left");
        CHECK(all && all->shape[0] == N && all->shape[1] == T && left && left->shape[0] == T);
        ox_tensor *count = ox_from_data(lengths, OX_SHAPE(N), OX_I64);
        CHECK(ox_unpad_sequence(all, count, true, back, N) == N);
        ox_packed p = ox_pack_sequence(list, N, false);
        ox_tuple padded = ox_pad_packed_sequence(&p, true, 9, 0);
        CHECK(padded.t[0] && ox_equal(padded.t[0], all));
        for (int n = 0; n < N; n++) {
            CHECK(back[n] && ox_equal(back[n], list[n]));
            CHECK(ox_equal(ox_narrow(ox_select(left, 1, n), 0, T - lengths[n], lengths[n]), list[n]));
            if (lengths[n] < T) CHECK(ox_item(ox_select(ox_select(ox_select(left, 1, n), 0, 0), 0, 0)) == 9);
        }
        CHECK(ox_error() == OX_OK);
    }
}

typedef ox_tuple (*net_function)(const ox_packed *p, ox_tensor *h, ox_tensor *const *params, int count,
                                 bool biases, int64_t layers, double dropout, bool train, bool both);
typedef ox_tuple (*padded_function)(ox_tensor *x, ox_tensor *h, ox_tensor *const *params, int count,
                                    bool biases, int64_t layers, double dropout, bool train, bool both,
                                    bool batch_first);
static const net_function nets[3] = {ox_gru_packed, ox_rnn_tanh_packed, ox_rnn_relu_packed};
static const padded_function padded_nets[3] = {ox_gru, ox_rnn_tanh, ox_rnn_relu};

/* A kind (0: lstm) over all sequences at once, and over each alone: outputs, states and gradients by all. */
static void check_net(int kind, int layers, bool both, bool enforce) {
    const int64_t *own = enforce ? sorted_lengths : lengths;
    int gates = kind == 0 ? 4 : kind == 1 ? 3 : 1, places = layers * (both ? 2 : 1), count = 0;
    ox_tensor *w[16], *x = numbers(OX_SHAPE(N, T, I), 0), *h = numbers(OX_SHAPE(places, N, H), 1),
                      *c = numbers(OX_SHAPE(places, N, H), 2), *g[2][20];
    for (int p = 0; p < places; p++) {
        w[count++] = numbers(OX_SHAPE(gates * H, p < (both ? 2 : 1) ? I : both ? 2 * H : H), 3 + p);
        w[count++] = numbers(OX_SHAPE(gates * H, H), 30 + p);
    }
    ox_tensor *leaf[20] = {x, h, c};
    for (int i = 0; i < count; i++) leaf[3 + i] = w[i];
    for (int i = 0; i < 3 + count; i++) ox_requires_grad_(leaf[i], true);
    ox_packed p = ox_pack_padded_sequence(x, ox_from_data(own, OX_SHAPE(N), OX_I64), true, enforce);
    ox_tensor *states[2] = {h, c};
    ox_tuple y = kind == 0 ? ox_lstm_packed(&p, states, 2, w, count, false, layers, 0, true, both)
                           : nets[kind - 1](&p, h, w, count, false, layers, 0, true, both);
    CHECK_MSG(y.t[0] && y.t[1] && !y.t[2] == (kind != 0), "%s", ox_error_text());
    if (!y.t[0]) return;
    ox_packed made = ox_packed_with(&p, y.t[0]);
    ox_tensor *all = ox_pad_packed_sequence(&made, true, 0, 0).t[0], *sum[2];
    ox_tensor *factor = numbers(OX_SHAPE(N, T, both ? 2 * H : H), 9),
              *other = numbers(OX_SHAPE(places, N, H), 8);
    sum[0] = ox_add(ox_sum(ox_mul(all, factor), OX_ALL_DIMS, false),
                    ox_sum(ox_mul(y.t[1], other), OX_ALL_DIMS, false));
    sum[1] = ox_number(0);
    for (int n = 0; n < N; n++) {
        ox_tensor *one = ox_narrow(ox_select(x, 0, n), 0, 0, own[n]), *begin[2];
        begin[0] = ox_select(h, 1, n);
        begin[1] = ox_select(c, 1, n);
        ox_tuple z =
            kind == 0 ? ox_lstm(one, begin, 2, w, count, false, layers, 0, true, both, false)
                      : padded_nets[kind - 1](one, begin[0], w, count, false, layers, 0, true, both, false);
        ox_tensor *part = ox_narrow(ox_select(all, 0, n), 0, 0, own[n]);
        CHECK(z.t[0] && ox_allclose(part, z.t[0], 1e-12, 1e-12, false));
        for (int s = 1; s < (kind == 0 ? 3 : 2); s++)
            CHECK(ox_allclose(ox_select(y.t[s], 1, n), z.t[s], 1e-12, 1e-12, false));
        ox_tensor *shown = ox_mul(z.t[0], ox_narrow(ox_select(factor, 0, n), 0, 0, own[n]));
        sum[1] = ox_add(sum[1], ox_sum(shown, OX_ALL_DIMS, false));
        sum[1] = ox_add(sum[1], ox_sum(ox_mul(z.t[1], ox_select(other, 1, n)), OX_ALL_DIMS, false));
    }
    ox_grad_desc desc = {NULL, false, false, true};
    for (int k = 0; k < 2; k++) CHECK(ox_grad(&sum[k], 1, leaf, 3 + count, &desc, g[k]) == OX_OK);
    for (int i = 0; i < 3 + count; i++)
        CHECK(!g[0][i] == !g[1][i] && (!g[0][i] || ox_allclose(g[0][i], g[1][i], 1e-10, 1e-12, false)));
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
}

static void test_nets(void) {
    for (int i = 0; i < 32; i++)
        OX_SCOPE
            check_net(i & 3, i & 4 ? 2 : 1, i & 8, i & 16);
}

static void refused(bool made, ox_status status, const char *words) {
    CHECK_MSG(!made && ox_error() == status && strstr(ox_error_text(), words), "%s: %s", words,
              ox_error_text());
    ox_error_clear();
}

static void test_refusals(void) {
    OX_SCOPE {
        const int64_t bad[3][2] = {{0, 2}, {3, 4}, {1, 2}}, rising[2] = {1, 2}, none = 0;
        ox_tensor *x = numbers(OX_SHAPE(2, 3, I), 0),
                  *w[2] = {numbers(OX_SHAPE(H, I), 1), numbers(OX_SHAPE(H, H), 2)};
        for (int i = 0; i < 3; i++)
            refused(ox_pack_padded_sequence(x, ox_from_data(bad[i], OX_SHAPE(2), OX_I64), true, true).data !=
                        NULL,
                    OX_ERR_ARG, "length");
        refused(ox_pack_padded_sequence(x, ox_zeros(OX_SHAPE(3), OX_I64), true, true).data != NULL,
                OX_ERR_SHAPE, "lengths");
        refused(ox_pack_padded_sequence(x, ox_ones(OX_SHAPE(2), OX_F32), true, true).data != NULL,
                OX_ERR_SHAPE, "list of integers");
        refused(ox_pack_padded_sequence(NULL, NULL, true, true).data != NULL, OX_ERR_ARG,
                "pack_padded_sequence");
        refused(ox_pack_sequence(NULL, 0, true).data != NULL, OX_ERR_ARG, "no sequences");
        refused(ox_pad_sequence(w, 2, true, 0, NULL) != NULL, OX_ERR_SHAPE, "pad_sequence");
        refused(ox_pad_sequence(w, 1, true, 0, "middle") != NULL, OX_ERR_ARG, "middle");
        ox_tensor *out[2];
        refused(ox_unpad_sequence(x, ox_from_data(bad[1], OX_SHAPE(2), OX_I64), true, out, 2) >= 0,
                OX_ERR_INDEX, "unpad_sequence");
        ox_packed p = ox_packed_with(NULL, x);
        CHECK(!p.data);
        refused(ox_pad_packed_sequence(&p, true, 0, 0).t[0] != NULL, OX_ERR_ARG, "no packed sequence");
        p = ox_pack_padded_sequence(x, ox_from_data(rising, OX_SHAPE(2), OX_I64), true, false);
        CHECK(p.data != NULL);
        refused(ox_pad_packed_sequence(&p, true, 0, 1).t[0] != NULL, OX_ERR_ARG, "in all");
        refused(ox_gru_packed(&p, numbers(OX_SHAPE(1, 2, H), 0), w, 2, false, 1, 0, false, false).t[0] !=
                    NULL,
                OX_ERR_SHAPE, "gru");
        refused(ox_rnn_tanh_packed(&p, numbers(OX_SHAPE(1, 3, H), 0), w, 2, false, 1, 0, false, false).t[0] !=
                    NULL,
                OX_ERR_SHAPE, "rnn_tanh");
        refused(ox_rnn_tanh_packed(&p, numbers(OX_SHAPE(1, 2, H), 0), w, 2, false, 0, 0, false, false).t[0] !=
                    NULL,
                OX_ERR_ARG, "rnn_tanh");
        p.batch_sizes = ox_from_data(rising, OX_SHAPE(2), OX_I64);
        refused(ox_pad_packed_sequence(&p, true, 0, 0).t[0] != NULL, OX_ERR_ARG, "rise");
        p.batch_sizes = ox_from_data(&none, OX_SHAPE(1), OX_I64);
        refused(ox_pad_packed_sequence(&p, true, 0, 0).t[0] != NULL, OX_ERR_ARG, "batch sizes");
        p.batch_sizes = ox_full(OX_SHAPE(2), 2, OX_I64);
        refused(ox_pad_packed_sequence(&p, true, 0, 0).t[0] != NULL, OX_ERR_SHAPE, "steps in data");
    }
}

int main(void) {
    test_packing();
    test_lists();
    test_nets();
    test_refusals();
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0);
    return check_done("packed");
}
