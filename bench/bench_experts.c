/* bench_experts.c - ox_linear_experts, 8 experts of 4096 x 2048 and 2 slots a row, against ox_linear of the
 * rows of each expert, which are sorted before and whose results nobody puts back. Both run in turn. */
#include "oxtorch.h"
#include "peaks.h"

enum { EXPERTS = 8, SLOTS = 2, IN = 2048, OUT = 4096, RUNS = 15 };

typedef struct work {
    ox_tensor *x, *weights, *experts, *rows[EXPERTS]; /* rows: of each expert, NULL where it has none */
    int times;
} work;

static void run_experts(void *arg) {
    const work *w = (const work *)arg;
    for (int t = 0; t < w->times; t++)
        OX_SCOPE {
            ox_linear_experts(w->x, w->weights, w->experts, NULL);
        }
}

static void run_layers(void *arg) {
    const work *w = (const work *)arg;
    for (int t = 0; t < w->times; t++)
        OX_SCOPE {
            for (int e = 0; e < EXPERTS; e++)
                if (w->rows[e]) ox_linear(w->rows[e], ox_select(w->weights, 0, e), NULL);
        }
}

int main(void) {
    static const ox_dtype dtypes[] = {OX_Q4_0, OX_Q4_K, OX_F16};
    static const int rows[] = {1, 8, 128};
    printf("tier %s, %d threads\n%-8s %5s %12s %12s %7s\n", ox_isa(), ox_threads(), "weights", "rows",
           "experts, us", "layers, us", "ratio");
    OX_SCOPE {
        ox_tensor *numbers = ox_randn(OX_SHAPE(EXPERTS, OUT, IN), OX_F32);
        for (int d = 0; d < 3; d++)
            for (int r = 0; r < 3; r++)
                OX_SCOPE {
                    work w;
                    double experts, layers;
                    w.times = rows[r] > 8 ? 1 : 8;
                    w.weights = ox_cast(numbers, dtypes[d]);
                    w.x = ox_randn(OX_SHAPE(rows[r], IN), OX_F32);
                    w.experts = ox_topk(ox_rand(OX_SHAPE(rows[r], EXPERTS), OX_F32), SLOTS, 1, true).indices;
                    for (int e = 0; e < EXPERTS; e++) {
                        ox_tensor *has = ox_any(ox_eq(w.experts, ox_integer(e)), OX_DIMS(1), false);
                        ox_tensor *which = ox_squeeze(ox_nonzero(has), 1);
                        w.rows[e] = which && ox_numel(which) ? ox_index_select(w.x, 0, which) : NULL;
                    }
                    bench_in_turn(run_experts, &w, run_layers, &w, RUNS, &experts, &layers);
                    printf("%-8s %5d %12.1f %12.1f %7.3f\n", ox_dtype_name(dtypes[d]), rows[r],
                           experts / w.times * 1e6, layers / w.times * 1e6, experts / layers);
                }
    }
    if (ox_error()) printf("%s\n", ox_error_text());
    return ox_error() ? 1 : 0;
}
