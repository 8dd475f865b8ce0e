/* test_together.c - calls that are run together: the numbers are those of calls one by one, whatever dtypes,
 * rows and threads; the tasks of products of few rows are one region; errors; listeners hear each of them.
 * OX_TSAN OX_O0: tests internals. */
#include <stdlib.h>
#define OX_IMPLEMENTATION
#define OX_STATIC
#include "oxtorch.h"
#include "oxtorch_llm.h"

#include "operands.h"

enum { MOST = OXI_TOGETHER_MOST };

/* A product: x [rows, k] by [n, k], or by the matrices of two experts of three. */
typedef struct product {
    ox_dtype dtype;
    int64_t n, k;
    bool repacked, experts, own_x;
} product;

static const product products[MOST] = {
    {OX_Q4_0, 160, 256, true, false, false}, {OX_Q6_K, 64, 256, false, false, false},
    {OX_F16, 301, 256, false, false, true},  {OX_Q4_0, 96, 256, true, true, false},
    {OX_BF16, 512, 256, false, false, true}, {OX_Q8_0, 48, 256, true, false, true},
    {OX_F32, 400, 192, false, false, true},  {OX_Q4_0, 16, 256, true, false, false}};

typedef struct wanted {
    ox_tensor *in[MOST][4];
    oxi_call call[MOST];
} wanted;

static void prepare(wanted *w, int64_t rows, int first, int count) {
    ox_tensor *same = ox_randn(OX_SHAPE(rows, 256), OX_F32);
    memset(w, 0, sizeof *w);
    for (int i = 0; i < count; i++) {
        const product *p = &products[(first + i) % MOST];
        ox_shape shape = p->experts ? OX_SHAPE(3, p->n, p->k) : OX_SHAPE(p->n, p->k);
        ox_tensor **in = w->in[i];
        in[0] = p->own_x ? ox_randn(OX_SHAPE(rows, p->k), OX_F32) : same;
        in[1] = ox_cast(ox_randn(shape, OX_F32), p->dtype);
        if (p->experts) {
            ox_tensor *ids = ox_remainder(ox_arange(0, (double)(2 * rows), 1, OX_I32), ox_integer(3));
            in[2] = ox_view(ox_cast(ids, OX_I32), OX_SHAPE(rows, 2));
        } else if (i % 2) {
            in[2] = ox_randn(OX_SHAPE(p->n), OX_F32);
        }
        if (p->repacked) CHECK(ox_prepack(in[1]) == OX_OK);
        const oxi_op op = p->experts ? OXI_OP_linear_experts : OXI_OP_linear;
        w->call[i] = oxi_call_of(op, in, 3 + p->experts, NULL);
    }
}

/* What one of them gives by itself. */
static bool is_alone(const wanted *w, int i) {
    oxi_call alone = w->call[i];
    alone.together = NULL;
    alone.out[0] = NULL;
    return oxi_apply(&alone) == OX_OK && w->call[i].out[0] && ox_equal(alone.out[0], w->call[i].out[0]);
}

static void check_together(int64_t rows, int first, int count, int threads) {
    wanted w;
    ox_set_threads(threads);
    prepare(&w, rows, first, count);
    const oxi_region_counts before = oxi_regions;
    const ox_status status = oxi_apply_together(w.call, count);
    const int64_t regions = oxi_regions.at_once - before.at_once;
    CHECK_MSG(status == OX_OK, "%s", ox_error_text());
    if (rows == 1 && threads > 1 && count > 1) /* sums of experts' rows are apart where they are many */
        CHECK_MSG(regions == 1, "%d regions of %d calls, %d threads", (int)regions, count, threads);
    for (int i = 0; i < count; i++)
        CHECK_MSG(is_alone(&w, i), "call %d of %d from %d, %d rows, %d threads", i, count, first, (int)rows,
                  threads);
}

static void test_numbers(void) {
    static const int64_t rows[] = {1, 2, 4, 7, 20};
    static const int threads[] = {1, 2, 3, 5};
    for (int r = 0; r < 5; r++)
        for (int t = 0; t < 4; t++)
            for (int first = 0; first < MOST; first += 3)
                OX_SCOPE {
                    check_together(rows[r], first, MOST, threads[t]);
                    check_together(rows[r], first + 1, 2 + first / 3, threads[t]);
                    check_together(rows[r], first, 1, threads[t]);
                }
    ox_set_threads(3);
    ox_set_exact(true);
    OX_SCOPE { check_together(2, 0, MOST, 3); }
    ox_set_exact(false);
}

/* The calls before one that fails have their results, those behind it are not begun. */
static void test_error(void) {
    for (int wrong = 0; wrong < 4; wrong++)
        OX_SCOPE {
            wanted w;
            prepare(&w, 1, 4, 4);
            w.in[wrong][1] = ox_randn(OX_SHAPE(5, 7), OX_F32);
            CHECK(oxi_apply_together(w.call, 4) == OX_ERR_SHAPE);
            ox_error_clear();
            for (int i = 0; i < 4; i++) CHECK(i < wrong ? is_alone(&w, i) : !w.call[i].out[0]);
        }
}

static int heard;
static void hear(oxi_listener *self, const oxi_call *call, ox_device *device, ox_status status) {
    (void)self, (void)device;
    heard += status == OX_OK && call->out[0] && !call->together;
}

static void test_listener(void) {
    oxi_listener listener = {NULL, hear, NULL};
    CHECK(oxi_listen(&listener));
    OX_SCOPE {
        wanted w;
        prepare(&w, 1, 0, MOST);
        heard = 0;
        CHECK(oxi_apply_together(w.call, MOST) == OX_OK && heard == MOST);
        oxi_listen_end(&listener);
        for (int i = 0; i < MOST; i++) CHECK(is_alone(&w, i));
    }
}

int main(void) {
    test_numbers();
    test_error();
    test_listener();
    return check_done("together");
}
