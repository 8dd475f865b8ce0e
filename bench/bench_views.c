/* Operations on views as fractions of their speed on contiguous operands of the same shape: transposed,
 * sliced, flipped and broadcast matrices of many sides, and tensors whose dims are permuted. Both sides take
 * turns; a figure is the median of the turns' ratios, 1 = as fast as contiguous.
 *     bench_views [WORD] [SIDES]    only cases whose names hold WORD; sides, 64,1000 for instance */
#include "oxtorch.h"
#include "bench.h"

enum { RUNS = 15 };
#define ALL_SIDES "64,256,1000,1024,2048,4096,4100"
static const double TURN = 0.002; /* seconds that a turn takes at least */

/* ---- what is done to operands a and b; r is a contiguous result where the op writes into one ----------- */

typedef void (*op_run)(ox_tensor *r, ox_tensor *a, ox_tensor *b);

static ox_tensor *mask, *mask_turned;
static void run_copy(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)b;
    ox_copy_(r, a);
}
static void run_into(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r;
    ox_copy_(a, b);
}
static void run_add(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r;
    ox_release(ox_add(a, b));
}
static void run_mul_(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r;
    ox_mul_(a, b);
}
static void run_gelu(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r, (void)b;
    ox_release(ox_gelu(a));
}
static void run_gt(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r;
    ox_release(ox_gt(a, b));
}
static void run_where(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r;
    ox_release(ox_where(b->stride[1] == 1 ? mask : mask_turned, a, b));
}
static void run_to_f32(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r, (void)b;
    ox_release(ox_cast(a, OX_F32));
}
static void run_to_bf16(ox_tensor *r, ox_tensor *a, ox_tensor *b) {
    (void)r, (void)b;
    ox_release(ox_cast(a, OX_BF16));
}

/* ---- views of a square -------------------------------------------------------------------------------- */

typedef enum view { PLAIN, TURNED, COLUMN, ROW, SECOND, FLIPPED, BACKWARDS, TURNED_FLIPPED } view;

static ox_tensor *backwards(ox_tensor *x, int dim) {
    return ox_slice(x, dim, OX_END, OX_END, -1);
}

/* A view [n,n] of numbers in [-1,1]; mostly a part of a larger tensor, which it keeps. */
static ox_tensor *make_view(view kind, int64_t n, ox_dtype dtype) {
    ox_tensor *result = NULL;
    OX_SCOPE {
        ox_tensor *x = ox_cast(ox_rand(OX_SHAPE(n, kind == SECOND ? 2 * n : n), OX_F32), dtype);
        result = kind == PLAIN       ? x
                 : kind == TURNED    ? ox_t(x)
                 : kind == COLUMN    ? ox_expand(ox_contiguous(ox_narrow(x, 1, 0, 1)), OX_SHAPE(n, n))
                 : kind == ROW       ? ox_expand(ox_narrow(x, 0, 0, 1), OX_SHAPE(n, n))
                 : kind == SECOND    ? ox_slice(x, 1, 0, 2 * n, 2)
                 : kind == FLIPPED   ? backwards(x, 1)
                 : kind == BACKWARDS ? backwards(backwards(x, 0), 1)
                                     : backwards(ox_t(x), 0);
        ox_keep(result);
    }
    return result;
}

static const struct square {
    const char *name;
    op_run run;
    ox_dtype dtype;
    view a, b;
} squares[] = {
    {"copy u8 turned", run_copy, OX_U8, TURNED, PLAIN},
    {"copy bf16 turned", run_copy, OX_BF16, TURNED, PLAIN},
    {"copy f32 turned", run_copy, OX_F32, TURNED, PLAIN},
    {"copy f64 turned", run_copy, OX_F64, TURNED, PLAIN},
    {"copy f32 into turned", run_into, OX_F32, TURNED, PLAIN},
    {"copy f32 turned and flipped", run_copy, OX_F32, TURNED_FLIPPED, PLAIN},
    {"copy f32 flipped", run_copy, OX_F32, FLIPPED, PLAIN},
    {"copy f32 backwards", run_copy, OX_F32, BACKWARDS, PLAIN},
    {"copy u8 flipped", run_copy, OX_U8, FLIPPED, PLAIN},
    {"copy f32 every second", run_copy, OX_F32, SECOND, PLAIN},
    {"copy u8 every second", run_copy, OX_U8, SECOND, PLAIN},
    {"copy f32 of a column", run_copy, OX_F32, COLUMN, PLAIN},
    {"cast bf16 to f32 turned", run_to_f32, OX_BF16, TURNED, PLAIN},
    {"cast f16 to f32 turned", run_to_f32, OX_F16, TURNED, PLAIN},
    {"cast u8 to f32 turned", run_to_f32, OX_U8, TURNED, PLAIN},
    {"cast f32 to bf16 turned", run_to_bf16, OX_F32, TURNED, PLAIN},
    {"add f32 a turned", run_add, OX_F32, TURNED, PLAIN},
    {"add f32 b turned", run_add, OX_F32, PLAIN, TURNED},
    {"add f32 both turned", run_add, OX_F32, TURNED, TURNED},
    {"add bf16 b turned", run_add, OX_BF16, PLAIN, TURNED},
    {"add f64 b turned", run_add, OX_F64, PLAIN, TURNED},
    {"add u8 b turned", run_add, OX_U8, PLAIN, TURNED},
    {"add f32 b a column", run_add, OX_F32, PLAIN, COLUMN},
    {"add f32 b a row", run_add, OX_F32, PLAIN, ROW},
    {"add f32 b flipped", run_add, OX_F32, PLAIN, FLIPPED},
    {"mul_ f32 b turned", run_mul_, OX_F32, PLAIN, TURNED},
    {"mul_ f32 a turned", run_mul_, OX_F32, TURNED, PLAIN},
    {"gelu f32 turned", run_gelu, OX_F32, TURNED, PLAIN},
    {"gt f32 b turned", run_gt, OX_F32, PLAIN, TURNED},
    {"where f32 turned mask and b", run_where, OX_F32, PLAIN, TURNED},
};

/* ---- dims in another order: a copy of the permuted tensor beside one of the tensor --------------------- */

static const struct permuted {
    const char *name;
    ox_dtype dtype;
    ox_shape shape, order;
} permuted[] = {
    {"NCHW to NHWC f32", OX_F32, {4, {8, 64, 56, 56}}, {4, {0, 2, 3, 1}}},
    {"NHWC to NCHW f32", OX_F32, {4, {8, 56, 56, 64}}, {4, {0, 3, 1, 2}}},
    {"NCHW to NHWC f32, C 3", OX_F32, {4, {8, 3, 224, 224}}, {4, {0, 2, 3, 1}}},
    {"NHWC to NCHW u8, C 3", OX_U8, {4, {8, 224, 224, 3}}, {4, {0, 3, 1, 2}}},
    {"NHWC to NCHW u8, C 4", OX_U8, {4, {8, 224, 224, 4}}, {4, {0, 3, 1, 2}}},
    {"heads f32 512 x 32 x 64", OX_F32, {3, {512, 32, 64}}, {3, {1, 0, 2}}},
    {"heads f16 2048 x 32 x 128", OX_F16, {3, {2048, 32, 128}}, {3, {1, 0, 2}}},
    {"keys f16 32 x 512 x 64", OX_F16, {3, {32, 512, 64}}, {3, {0, 2, 1}}},
    {"reversed f32 64 x 48 x 40 x 32", OX_F32, {4, {64, 48, 40, 32}}, {4, {3, 2, 1, 0}}},
    {"points f32 1000000 x 3", OX_F32, {2, {1000000, 3}}, {2, {1, 0}}},
    {"pairs of f32 1000 x 1000 x 2", OX_F32, {3, {1000, 1000, 2}}, {3, {1, 0, 2}}},
    {"fours of f32 1000 x 1000 x 4", OX_F32, {3, {1000, 1000, 4}}, {3, {1, 0, 2}}},
    {"pixels u8 1000 x 1000 x 4", OX_U8, {3, {1000, 1000, 4}}, {3, {1, 0, 2}}},
};

/* ---- measuring ----------------------------------------------------------------------------------------- */

typedef struct side {
    op_run run;
    ox_tensor *result, *a, *b;
    int calls;
} side;

static double seconds_of(const side *s) {
    double start = bench_now();
    for (int i = 0; i < s->calls; i++) s->run(s->result, s->a, s->b);
    return (bench_now() - start) / s->calls;
}

/* Speed of `own` / speed of `plain`; both have their number of calls set. */
static double ratio_of(side *own, side *plain, double *plain_seconds) {
    double ratios[RUNS], seconds[RUNS];
    side *sides[2] = {own, plain};
    for (int k = 0; k < 2; k++) {
        sides[k]->calls = 1;
        seconds_of(sides[k]);
        double once = seconds_of(sides[k]);
        sides[k]->calls = once < TURN ? (int)(TURN / once) + 1 : 1;
    }
    for (int i = 0; i < RUNS; i++) {
        seconds[i] = seconds_of(plain);
        ratios[i] = seconds[i] / seconds_of(own);
    }
    *plain_seconds = bench_median(seconds, RUNS);
    return bench_median(ratios, RUNS);
}

static double square_ratio(const struct square *c, int64_t n, double *plain_seconds) {
    side own = {c->run, NULL, NULL, NULL, 1}, plain = own;
    own.a = make_view(c->a, n, c->dtype);
    own.b = make_view(c->b, n, c->dtype);
    plain.a = make_view(PLAIN, n, c->dtype);
    plain.b = make_view(PLAIN, n, c->dtype);
    own.result = plain.result = make_view(PLAIN, n, c->dtype);
    mask = ox_gt(plain.a, plain.b);
    mask_turned = ox_t(mask);
    double ratio = ratio_of(&own, &plain, plain_seconds);
    ox_tensor *all[] = {own.a, own.b, plain.a, plain.b, own.result, mask, mask_turned};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ox_release(all[i]);
    return ratio;
}

static double permuted_ratio(const struct permuted *c, double *plain_seconds) {
    side own = {run_copy, NULL, NULL, NULL, 1}, plain = own;
    OX_SCOPE {
        plain.a = ox_keep(ox_cast(ox_rand(c->shape, OX_F32), c->dtype));
        plain.result = ox_keep(ox_clone(plain.a));
        own.a = ox_keep(ox_permute(plain.a, c->order));
        own.result = ox_keep(ox_clone(own.a));
    }
    double ratio = ratio_of(&own, &plain, plain_seconds);
    ox_tensor *all[] = {own.a, plain.a, own.result, plain.result};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) ox_release(all[i]);
    return ratio;
}

int main(int argc, char **argv) {
    const char *word = argc > 1 ? argv[1] : "", *sides = argc > 2 ? argv[2] : ALL_SIDES;
    double least = 1, seconds;
    printf("speed of views / contiguous, tier %s, %d threads\n%-32s", ox_isa(), ox_threads(), "");
    for (const char *at = sides; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        printf(" %6d", atoi(at));
    printf("\n");
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++) {
        if (!strstr(squares[i].name, word)) continue;
        printf("%-32s", squares[i].name);
        for (const char *at = sides; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
            double ratio = square_ratio(&squares[i], atoi(at), &seconds);
            least = ratio < least ? ratio : least;
            printf(" %6.2f", ratio);
            fflush(stdout);
        }
        printf("   contiguous %.3f ms\n", 1e3 * seconds);
    }
    for (size_t i = 0; i < sizeof permuted / sizeof *permuted; i++) {
        if (!strstr(permuted[i].name, word)) continue;
        double ratio = permuted_ratio(&permuted[i], &seconds);
        least = ratio < least ? ratio : least;
        printf("%-32s %6.2f   contiguous %.3f ms\n", permuted[i].name, ratio, 1e3 * seconds);
    }
    printf("least %.2f\n", least);
    return ox_error() != OX_OK;
}
