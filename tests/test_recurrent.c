/* test_recurrent.c - recurrent nets against plain loops in double precision: layers, directions, biases,
 * projections, one sequence and many; gradients; operands in other layouts; refusals. PyTorch's own modules
 * are compared by torch_nn.py. */
#include "oxtorch_nn.h"

#include "check.h"

#include <math.h>
#include <string.h>

enum { T = 4, N = 2, I = 3, H = 2, MOST = 64, WEIGHTS = 40 };

typedef enum net_kind { LSTM, GRU, TANH, RELU, KINDS } net_kind;
static const int gates_of[KINDS] = {4, 3, 1, 1};
static const char *const name_of[KINDS] = {"lstm", "gru", "rnn_tanh", "rnn_relu"};

typedef struct net {
    net_kind kind;
    int layers, directions, projection;
    bool biases, batch_first, transposed;
    ox_tensor *x, *state[2], *weight[WEIGHTS];
    int weights, each;
} net;

static double sigmoid(double v) {
    return 1 / (1 + exp(-v));
}
static double number_at(ox_tensor *t, int64_t i) {
    return ((const double *)ox_data(t))[i];
}

/* Numbers that differ from tensor to tensor; with `transposed` the same ones, the other way round in
 * memory. */
static ox_tensor *numbers(ox_shape shape, int which, bool transposed) {
    ox_tensor *t = ox_empty(shape, OX_F64);
    for (int64_t i = 0; i < ox_numel(t); i++)
        ((double *)ox_data(t))[i] = 0.8 * sin(1.3 * (double)i + 0.7 * which + 0.2);
    if (!transposed || shape.ndim < 2) return t;
    return ox_transpose(ox_contiguous(ox_transpose(t, -1, -2)), -1, -2);
}

static void make(net *n) {
    int g = gates_of[n->kind], out = n->projection ? n->projection : H, places = n->layers * n->directions;
    n->x = numbers(n->batch_first ? OX_SHAPE(N, T, I) : OX_SHAPE(T, N, I), 0, n->transposed);
    n->state[0] = numbers(OX_SHAPE(places, N, out), 1, n->transposed);
    n->state[1] = n->kind == LSTM ? numbers(OX_SHAPE(places, N, H), 2, n->transposed) : NULL;
    n->weights = 0;
    n->each = 2 + (n->biases ? 2 : 0) + (n->projection ? 1 : 0);
    for (int p = 0; p < places; p++) {
        int in = p < n->directions ? I : out * n->directions;
        n->weight[n->weights++] = numbers(OX_SHAPE(g * H, in), 3 + 7 * p, n->transposed);
        n->weight[n->weights++] = numbers(OX_SHAPE(g * H, out), 4 + 7 * p, n->transposed);
        for (int b = 0; b < 2 && n->biases; b++)
            n->weight[n->weights++] = numbers(OX_SHAPE(g * H), 5 + b + 7 * p, false);
        if (n->projection) n->weight[n->weights++] = numbers(OX_SHAPE(out, H), 8 + 7 * p, n->transposed);
    }
}

static ox_tuple run(const net *n, bool train, double dropout) {
    bool both = n->directions == 2;
    ox_tensor *const *w = n->weight;
    switch (n->kind) {
    case LSTM:
        return ox_lstm(n->x, n->state, 2, w, n->weights, n->biases, n->layers, dropout, train, both,
                       n->batch_first);
    case GRU:
        return ox_gru(n->x, n->state[0], w, n->weights, n->biases, n->layers, dropout, train, both,
                      n->batch_first);
    case TANH:
        return ox_rnn_tanh(n->x, n->state[0], w, n->weights, n->biases, n->layers, dropout, train, both,
                           n->batch_first);
    default:
        return ox_rnn_relu(n->x, n->state[0], w, n->weights, n->biases, n->layers, dropout, train, both,
                           n->batch_first);
    }
}

/* ---- the plain loop ------------------------------------------------------------------------------------ */

static double dot(ox_tensor *w, int row, const double *v, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += number_at(w, row * count + i) * v[i];
    return sum;
}

/* One step of one sample: h (out numbers) and c (H) are replaced. */
static void plain_step(const net *n, ox_tensor *const *w, const double *x, int in, double *h, double *c) {
    int g = gates_of[n->kind], out = n->projection ? n->projection : H;
    double from_x[4 * H], from_h[4 * H], next[H];
    for (int r = 0; r < g * H; r++) {
        from_x[r] = dot(w[0], r, x, in) + (n->biases ? number_at(w[2], r) : 0);
        from_h[r] = dot(w[1], r, h, out) + (n->biases ? number_at(w[3], r) : 0);
    }
    for (int j = 0; j < H; j++) {
        const double *a = from_x + j, *b = from_h + j;
        if (n->kind == LSTM) {
            c[j] = sigmoid(a[H] + b[H]) * c[j] + sigmoid(a[0] + b[0]) * tanh(a[2 * H] + b[2 * H]);
            next[j] = sigmoid(a[3 * H] + b[3 * H]) * tanh(c[j]);
        } else if (n->kind == GRU) {
            double z = sigmoid(a[H] + b[H]), made = tanh(a[2 * H] + sigmoid(a[0] + b[0]) * b[2 * H]);
            next[j] = (1 - z) * made + z * h[j];
        } else
            next[j] = n->kind == TANH ? tanh(a[0] + b[0]) : fmax(0, a[0] + b[0]);
    }
    for (int j = 0; j < out; j++) h[j] = n->projection ? dot(w[n->each - 1], j, next, H) : next[j];
}

/* One sample: its outputs [T][D out], last states into the places of h and c. */
static void plain_sample(const net *n, ox_tensor *const *w, const double *x, double *y, double (*h)[MOST],
                         double (*c)[MOST]) {
    int out = n->projection ? n->projection : H, in = I;
    double now[T][MOST];
    for (int t = 0; t < T; t++) memcpy(now[t], x + t * I, I * sizeof *x);
    for (int layer = 0; layer < n->layers; layer++) {
        double next[T][MOST];
        for (int side = 0; side < n->directions; side++) {
            int place = layer * n->directions + side;
            for (int i = 0; i < T; i++) {
                int t = side ? T - 1 - i : i;
                plain_step(n, w + place * n->each, now[t], in, h[place], c[place]);
                memcpy(next[t] + side * out, h[place], (size_t)out * sizeof(double));
            }
        }
        in = out * n->directions;
        memcpy(now, next, sizeof now);
    }
    for (int t = 0; t < T; t++) memcpy(y + t * in, now[t], (size_t)in * sizeof(double));
}

static void near_to(const net *n, ox_tensor *t, int64_t i, double want, const char *what) {
    double got = number_at(t, i);
    if (fabs(got - want) <= 1e-13) return;
    CHECK_MSG(false, "%s, %d layers, %d directions: %s %d is %.17g, not %.17g", name_of[n->kind], n->layers,
              n->directions, what, (int)i, got, want);
}

static void check_net(net *n) {
    make(n);
    ox_tensor *plain[WEIGHTS];
    for (int i = 0; i < n->weights; i++) plain[i] = ox_contiguous(n->weight[i]);
    ox_tuple made = run(n, true, 0);
    int out = n->projection ? n->projection : H, wide = out * n->directions,
        places = n->layers * n->directions;
    CHECK_MSG(made.t[0] && made.t[1] && !made.t[2] == (n->kind != LSTM), "%s: %s", name_of[n->kind],
              ox_error_text());
    ox_error_clear();
    if (!made.t[0]) return;
    ox_tensor *y = ox_contiguous(made.t[0]), *x = ox_contiguous(n->x), *h0 = ox_contiguous(n->state[0]);
    ox_tensor *c0 = n->state[1] ? ox_contiguous(n->state[1]) : NULL;
    for (int s = 0; s < N; s++) {
        double in[T * I], want[T * MOST], h[8][MOST], c[8][MOST];
        for (int t = 0; t < T; t++)
            for (int i = 0; i < I; i++)
                in[t * I + i] = number_at(x, ((n->batch_first ? s * T + t : t * N + s)) * I + i);
        for (int p = 0; p < places; p++) {
            for (int j = 0; j < out; j++) h[p][j] = number_at(h0, (p * N + s) * out + j);
            for (int j = 0; j < H && c0; j++) c[p][j] = number_at(c0, (p * N + s) * H + j);
        }
        plain_sample(n, plain, in, want, h, c);
        for (int t = 0; t < T; t++)
            for (int j = 0; j < wide; j++)
                near_to(n, y, (n->batch_first ? s * T + t : t * N + s) * wide + j, want[t * wide + j],
                        "output");
        for (int p = 0; p < places; p++) {
            for (int j = 0; j < out; j++) near_to(n, made.t[1], (p * N + s) * out + j, h[p][j], "h");
            for (int j = 0; j < H && c0; j++) near_to(n, made.t[2], (p * N + s) * H + j, c[p][j], "c");
        }
    }
    CHECK(made.t[0]->shape[2] == wide);
}

static void test_nets(void) {
    for (int k = 0; k < KINDS; k++)
        for (int i = 0; i < 64; i++)
            OX_SCOPE {
                net n;
                memset(&n, 0, sizeof n);
                n.kind = (net_kind)k;
                n.layers = i & 1 ? 2 : 1;
                n.directions = i & 2 ? 2 : 1;
                n.biases = i & 4;
                n.batch_first = i & 8;
                n.transposed = i & 16;
                n.projection = k == LSTM && i & 32 ? 1 : 0;
                check_net(&n);
            }
}

/* One sequence is a batch of one. */
static void test_single(void) {
    OX_SCOPE {
        net n = {LSTM, 2, 2, 0, true, false, false, NULL, {NULL, NULL}, {NULL}, 0, 0};
        make(&n);
        ox_tuple all = run(&n, false, 0);
        n.x = ox_select(n.x, 1, 0);
        n.state[0] = ox_select(n.state[0], 1, 0);
        n.state[1] = ox_select(n.state[1], 1, 0);
        ox_tuple one = run(&n, false, 0);
        for (int i = 0; i < 3; i++)
            CHECK(one.t[i] && ox_allclose(one.t[i], ox_select(all.t[i], 1, 0), 1e-13, 1e-13, false));
    }
}

static void test_dropout(void) {
    OX_SCOPE {
        net n = {TANH, 2, 1, 0, true, false, false, NULL, {NULL, NULL}, {NULL}, 0, 0};
        make(&n);
        ox_manual_seed(5);
        ox_tuple plain = run(&n, false, 0.5), dropped = run(&n, true, 0.5), gone = run(&n, true, 1);
        CHECK(ox_equal(plain.t[0], run(&n, true, 0).t[0]) && !ox_equal(plain.t[0], dropped.t[0]));
        n.weight[4] = ox_zeros_like(n.weight[4]); /* the second layer sees nothing: as if all dropped */
        CHECK(gone.t[0] && ox_allclose(gone.t[0], run(&n, false, 0).t[0], 1e-13, 1e-13, false));
    }
}

static ox_tensor *checked(ox_tensor *const *in, void *user) {
    net n = *(const net *)user;
    n.x = in[0];
    n.state[0] = in[1];
    if (n.kind == LSTM) n.state[1] = in[2];
    for (int i = 0; i < n.weights; i++) n.weight[i] = in[2 + (n.kind == LSTM) + i];
    ox_tuple made = run(&n, false, 0);
    ox_tensor *sum = ox_sum(ox_square(made.t[0]), OX_ALL_DIMS, false);
    return ox_add(sum, ox_sum(made.t[n.kind == LSTM ? 2 : 1], OX_ALL_DIMS, false));
}

static void test_gradients(void) {
    for (int k = 0; k < KINDS; k++)
        OX_SCOPE {
            net n = {(net_kind)k, 1, 2, 0, true, false, true, NULL, {NULL, NULL}, {NULL}, 0, 0};
            ox_tensor *in[3 + WEIGHTS];
            int count = 0;
            make(&n);
            in[count++] = n.x;
            in[count++] = n.state[0];
            if (n.state[1]) in[count++] = n.state[1];
            for (int i = 0; i < n.weights; i++) in[count++] = n.weight[i];
            for (int i = 0; i < count; i++) ox_requires_grad_(in[i], true);
            CHECK_MSG(ox_gradcheck(checked, &n, in, count, NULL) == OX_OK, "%s: %s", name_of[k],
                      ox_error_text());
            ox_error_clear();
            CHECK_MSG(k == RELU || ox_gradgradcheck(checked, &n, in, count, NULL) == OX_OK, "%s: %s",
                      name_of[k], ox_error_text());
            ox_error_clear();
        }
}

/* A cell is a net of one layer and one step. */
static void test_cells(void) {
    for (int k = 0; k < KINDS; k++)
        OX_SCOPE {
            net n = {(net_kind)k, 1, 1, 0, true, false, false, NULL, {NULL, NULL}, {NULL}, 0, 0};
            make(&n);
            ox_tensor **w = n.weight, *x = ox_select(n.x, 0, 0), *h = ox_select(n.state[0], 0, 0), *made;
            n.x = ox_narrow(n.x, 0, 0, 1);
            ox_tuple net_made = run(&n, false, 0);
            if (k == LSTM) {
                ox_tensor *state[2];
                state[0] = h;
                state[1] = ox_select(n.state[1], 0, 0);
                ox_tuple cell = ox_lstm_cell(x, state, 2, w[0], w[1], w[2], w[3]);
                CHECK(cell.t[1] &&
                      ox_allclose(cell.t[1], ox_select(net_made.t[2], 0, 0), 1e-14, 1e-14, false));
                made = cell.t[0];
            } else
                made = k == GRU    ? ox_gru_cell(x, h, w[0], w[1], w[2], w[3])
                       : k == TANH ? ox_rnn_tanh_cell(x, h, w[0], w[1], w[2], w[3])
                                   : ox_rnn_relu_cell(x, h, w[0], w[1], w[2], w[3]);
            CHECK_MSG(made && ox_allclose(made, ox_select(net_made.t[1], 0, 0), 1e-14, 1e-14, false),
                      "%s: %s", name_of[k], ox_error_text());
        }
}

static void refused(ox_tuple made, ox_status status) {
    CHECK_MSG(!made.t[0] && !made.t[1] && ox_error() == status, "%d %s", (int)ox_error(), ox_error_text());
    ox_error_clear();
}

static void test_refused(void) {
    OX_SCOPE {
        net n = {LSTM, 1, 1, 0, true, false, false, NULL, {NULL, NULL}, {NULL}, 0, 0};
        make(&n);
        ox_tensor *const *w = n.weight;
        refused(ox_lstm(n.x, n.state, 1, w, 4, true, 1, 0, false, false, false), OX_ERR_ARG);
        refused(ox_lstm(n.x, n.state, 2, w, 3, true, 1, 0, false, false, false), OX_ERR_ARG);
        refused(ox_lstm(n.x, n.state, 2, w, 4, true, 0, 0, false, false, false), OX_ERR_ARG);
        refused(ox_lstm(n.x, n.state, 2, w, 4, true, 1, 2, false, false, false), OX_ERR_ARG);
        refused(ox_lstm(n.x, n.state, 2, w, 4, true, 1, 0, false, false, true), OX_ERR_SHAPE);
        refused(ox_gru(n.x, n.state[0], w, 4, true, 1, 0, false, false, false), OX_ERR_SHAPE);
        refused(ox_gru(ox_narrow(n.x, 0, 0, 0), n.state[0], w, 4, true, 1, 0, false, false, false),
                OX_ERR_SHAPE);
        CHECK(!ox_gru_cell(n.x, n.state[0], w[0], w[1], NULL, NULL) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

int main(void) {
    test_nets();
    test_single();
    test_dropout();
    test_gradients();
    test_cells();
    test_refused();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("recurrent");
}
