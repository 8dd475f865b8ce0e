/* back_rows.h - what suites of the rows that compute gradients (autograd/back/) share: gradients by the row
 * or composed, operands of every layout, and whether the row ran. */
#ifndef OX_TESTS_BACK_ROWS_H
#define OX_TESTS_BACK_ROWS_H

#include "oxtorch_nn.h"

#include "operands.h"

enum { MOST_IN = 5 };

typedef ox_tensor *(*back_function)(ox_tensor *const *in, void *user);

/* All rows of the family BACK, each of which a suite has seen run: test_vulkan_back.c compares this with the
 * table, test_back.c with what it ran. */
TEST_UNUSED static const char *const back_rows[] = {
    "softmax_back",    "log_softmax_back", "layer_norm_back", "rms_norm_back",  "attention_back",
    "group_norm_back", "gelu_back",        "gelu_tanh_back",  "silu_back",      "recurrent_step",
    "recurrent_step_back"};
enum { BACK_ROWS = sizeof back_rows / sizeof *back_rows };
TEST_UNUSED static bool back_row_ran[BACK_ROWS];

/* Whether the profiler's table has a line for the row. */
static bool ran(const char *row) {
    static char table[20000];
    ox_profile_table(table, sizeof table);
    for (const char *at = table; (at = strstr(at, row)) != NULL; at++)
        if ((at == table || at[-1] == '\n') && at[strlen(row)] == ' ') return true;
    return false;
}

static void gradients(back_function f, void *user, ox_tensor *const *in, int count, ox_tensor *g,
                      bool composed, ox_tensor **out) {
    ox_tensor *leaf[MOST_IN], *result = f(in, user), *list[1] = {ox_cast(g, result ? result->dtype : OX_F32)};
    ox_grad_desc desc;
    int leaves = 0;
    memset(&desc, 0, sizeof desc);
    desc.gradients = list;
    desc.create_graph = composed; /* recorded gradients are the composed ones */
    for (int i = 0; i < count; i++)
        if (in[i] && ox_requires_grad(in[i])) leaf[leaves++] = in[i];
    CHECK_MSG(result && ox_grad(&result, 1, leaf, leaves, &desc, out) == OX_OK, "%s", ox_error_text());
}

/* A tensor of that layout, a view of *base; the numbers of `values`, but where several elements share memory:
 * other ones. */
static ox_tensor *laid_out_over(layout l, ox_tensor *values, ox_dtype dtype, ox_tensor **base) {
    ox_tensor *t = new_layout(l, values->ndim, values->shape, dtype, base);
    bool shared = l == LAYOUT_EXPANDED_FIRST || l == LAYOUT_EXPANDED_LAST;
    ox_tensor *to = shared ? *base : t;
    CHECK(ox_copy_(to, shared ? ox_randn(ox_shape_of(*base), OX_F32) : values) != NULL);
    return t;
}

/* ---- recurrent nets ------------------------------------------------------------------------------------ */

enum { NET_LSTM, NET_GRU, NET_TANH, NET_RELU, NETS };
TEST_UNUSED static const int net_gates[NETS] = {4, 3, 1, 1};

/* in: x [T,N,I], h [1,N,H], W, U, and of an lstm c; user: which. Outputs and last states side by side. */
TEST_UNUSED static ox_tensor *net_of(ox_tensor *const *in, void *user) {
    ox_tensor *params[2] = {in[2], in[3]}, *states[2] = {in[1], in[4]};
    ox_tuple t;
    switch (*(int *)user) {
    case NET_LSTM: t = ox_lstm(in[0], states, 2, params, 2, false, 1, 0, true, false, false); break;
    case NET_GRU: t = ox_gru(in[0], in[1], params, 2, false, 1, 0, true, false, false); break;
    case NET_TANH: t = ox_rnn_tanh(in[0], in[1], params, 2, false, 1, 0, true, false, false); break;
    default: t = ox_rnn_relu(in[0], in[1], params, 2, false, 1, 0, true, false, false); break;
    }
    return ox_cat(t.t, in[4] ? 3 : 2, 0);
}

/* ---- norms --------------------------------------------------------------------------------------------- */

static ox_tensor *group_norm_of(ox_tensor *const *in, void *user) {
    return ox_group_norm(in[0], *(int *)user, in[1], in[2], 1e-5);
}
static ox_tensor *instance_norm_of(ox_tensor *const *in, void *user) {
    (void)user;
    return ox_instance_norm(in[0], in[1], in[2], 1e-5);
}

#endif
