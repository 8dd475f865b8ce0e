/* test_images.c - padding, resampling, sampling by grids, pixel shuffles and what goes with pooling: against
 * plain loops in double precision; every layout; gradients, and the gradients of those; refusals. PyTorch's
 * own cases are run by torch_ops.py. */
#include "oxtorch_nn.h"

#include "operands.h"

static double at(ox_tensor *t, int64_t i) {
    return load_real(t->dtype, element(t, i));
}

static ox_tensor *image(int ndim, const int64_t *shape, uint64_t seed) {
    ox_generator *own = ox_generator_open(seed);
    ox_generator *before = ox_generator_use(own);
    ox_tensor *x = ox_randn(ox_shape_from(ndim, shape), OX_F64);
    ox_generator_use(before);
    ox_generator_close(own);
    return x;
}
static ox_tensor *image_of(int64_t n, int64_t c, int64_t h, int64_t w, uint64_t seed) {
    const int64_t shape[4] = {n, c, h, w};
    return image(4, shape, seed);
}

static void near_all(ox_tensor *got, const double *want, int64_t count, double bound, const char *what) {
    CHECK_MSG(got && ox_numel(got) == count, "%s: %s", what, got ? "another size" : ox_error_text());
    for (int64_t i = 0; got && i < count && i < ox_numel(got); i++) {
        double off = fabs(at(got, i) - want[i]);
        if (off <= bound * (1 + fabs(want[i]))) continue;
        CHECK_MSG(false, "%s: element %d is %.17g, not %.17g", what, (int)i, at(got, i), want[i]);
        break;
    }
    ox_error_clear();
}

/* ---- padding ------------------------------------------------------------------------------------------- */

static const char *const pad_modes[] = {"constant", "reflect", "replicate", "circular"};

/* The element at place i of n ones, -1 for none. */
static int64_t padded_place(int mode, int64_t i, int64_t n) {
    switch (mode) {
    case 1:
        while (i < 0 || i >= n) i = i < 0 ? -i : 2 * (n - 1) - i;
        return i;
    case 2: return i < 0 ? 0 : i >= n ? n - 1 : i;
    case 3: return ((i % n) + n) % n;
    default: return i < 0 || i >= n ? -1 : i;
    }
}

static void test_pad(void) {
    static const int64_t pads[][4] = {{1, 2, 0, 3}, {0, 0, 2, 1}, {2, 2, 2, 2}, {3, 0, 1, 0}};
    enum { H = 4, W = 5 };
    for (int mode = 0; mode < 4; mode++)
        for (int p = 0; p < 4; p++)
            OX_SCOPE {
                const int64_t *pad = pads[p];
                ox_tensor *x = image_of(1, 1, H, W, 7);
                double want[20 * 20];
                int64_t count = 0;
                for (int64_t y = -pad[2]; y < H + pad[3]; y++)
                    for (int64_t z = -pad[0]; z < W + pad[1]; z++) {
                        int64_t a = padded_place(mode, y, H), b = padded_place(mode, z, W);
                        want[count++] = a < 0 || b < 0 ? 2.5 : at(x, a * W + b);
                    }
                near_all(ox_pad(x, pad, 4, pad_modes[mode], 2.5), want, count, 0, pad_modes[mode]);
            }
    OX_SCOPE {
        static const int64_t cut[2] = {-1, 2}, away[2] = {-3, -2}, whole[6] = {1, 0, 0, 1, 0, 2};
        ox_tensor *row = ox_reshape(ox_arange(0, 5, 1, OX_I64), OX_SHAPE(1, 5)), *x = image_of(1, 2, 3, 3, 1);
        static const double kept[] = {1, 2, 3, 4, 9, 9};
        near_all(ox_pad(row, cut, 2, NULL, 9), kept, 6, 0, "cut at one end");
        CHECK(ox_numel(ox_pad(row, away, 2, NULL, 0)) == 0);
        CHECK(ox_pad(x, whole, 6, NULL, 0)->shape[1] == 4);
        CHECK(ox_allclose(ox_pad(ox_zeros(OX_SHAPE(2, 0), OX_F32), cut, 0, NULL, 0),
                          ox_zeros(OX_SHAPE(2, 0), OX_F32), 0, 0, false));
    }
}

/* ---- interpolation ------------------------------------------------------------------------------------- */

static double kernel_of(int cubic, double d) {
    const double a = -0.75;
    d = fabs(d);
    if (!cubic) return d < 1 ? 1 - d : 0;
    if (d < 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
    return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

/* How much of element j of n is in place i of m: kernels around the place, what reaches over the end counts
 * for the last. */
static double share_of(int cubic, bool corners, int64_t i, int64_t m, int64_t j, int64_t n) {
    double place = corners ? (m > 1 ? (double)i * (double)(n - 1) / (double)(m - 1) : 0)
                           : ((double)i + 0.5) * (double)n / (double)m - 0.5;
    double sum = 0;
    for (int64_t k = -4; k < n + 4; k++) {
        int64_t last = k < 0 ? 0 : k >= n ? n - 1 : k;
        if (last == j) sum += kernel_of(cubic, place - (double)k);
    }
    return sum;
}

static void check_interpolated(const char *mode, int cubic, bool corners, int64_t h, int64_t w) {
    enum { H = 4, W = 5 };
    OX_SCOPE {
        ox_tensor *x = image_of(2, 1, H, W, 3);
        double *want = (double *)calloc((size_t)(2 * h * w), sizeof *want);
        for (int64_t n = 0; n < 2; n++)
            for (int64_t p = 0; p < h * w; p++)
                for (int64_t e = 0; e < H * W; e++)
                    want[n * h * w + p] += share_of(cubic, corners, p / w, h, e / W, H) *
                                           share_of(cubic, corners, p % w, w, e % W, W) *
                                           at(x, n * H * W + e);
        near_all(ox_interpolate(x, OX_SHAPE(h, w), NULL, 0, mode, corners, false), want, 2 * h * w, 1e-12,
                 mode);
        free(want);
    }
}

static void test_interpolate(void) {
    static const int64_t sizes[][2] = {{4, 5}, {8, 10}, {3, 7}, {1, 2}, {9, 1}};
    for (int s = 0; s < 5; s++)
        for (int corners = 0; corners < 2; corners++) {
            check_interpolated("bilinear", 0, corners != 0, sizes[s][0], sizes[s][1]);
            check_interpolated("bicubic", 1, corners != 0, sizes[s][0], sizes[s][1]);
        }
    OX_SCOPE {
        static const double twice[] = {2}, uneven[] = {1.5, 0.5}, bad[] = {-1};
        static const double exact[] = {0, 0, 1, 2, 2}, plain[] = {0, 0, 1, 1, 2};
        ox_tensor *row = ox_reshape(ox_arange(0, 3, 1, OX_I64), OX_SHAPE(1, 1, 3)),
                  *x = image_of(1, 2, 4, 6, 4);
        near_all(ox_interpolate(row, OX_SHAPE(5), NULL, 0, "nearest", false, false), plain, 5, 0, "nearest");
        near_all(ox_interpolate(row, OX_SHAPE(5), NULL, 0, "nearest-exact", false, false), exact, 5, 0,
                 "exact");
        ox_tensor *wide = ox_interpolate(x, OX_SCALAR_SHAPE, twice, 1, "bilinear", false, false);
        CHECK(wide && wide->shape[2] == 8 && wide->shape[3] == 12);
        ox_tensor *two = ox_interpolate(x, OX_SCALAR_SHAPE, uneven, 2, "area", false, false);
        CHECK(two && two->shape[2] == 6 && two->shape[3] == 3);
        ox_tensor *half = ox_cast(x, OX_F16);
        ox_tensor *rounded = ox_cast(
            ox_interpolate(ox_cast(half, OX_F32), OX_SHAPE(3, 4), NULL, 0, "bicubic", false, false), OX_F16);
        CHECK(ox_equal(ox_interpolate(half, OX_SHAPE(3, 4), NULL, 0, "bicubic", false, false), rounded));
        CHECK(!ox_interpolate(x, OX_SCALAR_SHAPE, bad, 1, NULL, false, false) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_interpolate(x, OX_SHAPE(2), twice, 1, NULL, false, false) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_interpolate(x, OX_SHAPE(2), NULL, 0, "linear", false, false) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_interpolate(x, OX_SHAPE(2), NULL, 0, "area", true, false) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_interpolate(x, OX_SHAPE(2), NULL, 0, "cubic", false, false) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_interpolate(row, OX_SHAPE(2), NULL, 0, "linear", false, false) &&
              ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
    }
}

/* ---- grids --------------------------------------------------------------------------------------------- */

/* Antialias along one dim by a loop: the filter's weights of all elements, divided by their sum. */
static double smooth_at(const double *x, int64_t in, int64_t out, int64_t i, bool cubic) {
    double scale = (double)in / (double)out, wide = scale > 1 ? scale : 1, sum = 0, all = 0;
    for (int64_t k = 0; k < in; k++) {
        double t = fabs(((double)k + 0.5 - scale * ((double)i + 0.5)) / wide), w = t < 1 ? 1 - t : 0;
        if (cubic)
            w = t < 1   ? 1.5 * t * t * t - 2.5 * t * t + 1
                : t < 2 ? -0.5 * t * t * t + 2.5 * t * t - 4 * t + 2
                        : 0;
        sum += w * x[k];
        all += w;
    }
    return sum / all;
}

static void test_antialias(void) {
    static const int64_t sizes[] = {1, 3, 5, 7, 12, 23};
    double x[12];
    for (int i = 0; i < 12; i++) x[i] = sin(2.3 * i) + 0.1 * i;
    for (int cubic = 0; cubic < 2; cubic++)
        for (int s = 0; s < 6; s++)
            OX_SCOPE {
                const char *mode = cubic ? "bicubic-antialias" : "bilinear-antialias";
                ox_tensor *line = ox_from_doubles(x, OX_SHAPE(1, 1, 1, 12), OX_F64);
                ox_tensor *wide = ox_interpolate(line, OX_SHAPE(1, sizes[s]), NULL, 0, mode, false, false);
                ox_tensor *tall = ox_interpolate(ox_transpose(line, 2, 3), OX_SHAPE(sizes[s], 1), NULL, 0,
                                                 mode, false, false);
                CHECK_MSG(wide && tall, "%s", ox_error_text());
                CHECK(ox_allclose(wide, ox_transpose(tall, 2, 3), 0, 0, false));
                for (int64_t i = 0; i < sizes[s] && wide; i++)
                    CHECK(fabs(ox_item(ox_select(ox_flatten(wide, 0, -1), 0, i)) -
                               smooth_at(x, 12, sizes[s], i, cubic == 1)) < 1e-12);
                CHECK(!ox_interpolate(ox_squeeze(line, 2), OX_SHAPE(3), NULL, 0, mode, false, false));
                ox_error_clear();
            }
}

static void test_grid(void) {
    enum { H = 3, W = 4, P = 5 };
    OX_SCOPE {
        ox_tensor *x = image_of(1, 2, H, W, 5), *grid = ox_mul_number(image_of(1, 1, P, 2, 6), 0.7);
        for (int corners = 0; corners < 2; corners++) {
            double want[2 * P];
            for (int c = 0; c < 2; c++)
                for (int p = 0; p < P; p++) {
                    double u = at(grid, 2 * p), v = at(grid, 2 * p + 1), sum = 0;
                    double px = corners ? (u + 1) / 2 * (W - 1) : ((u + 1) * W - 1) / 2;
                    double py = corners ? (v + 1) / 2 * (H - 1) : ((v + 1) * H - 1) / 2;
                    for (int i = 0; i < H; i++)
                        for (int j = 0; j < W; j++)
                            sum += at(x, c * H * W + i * W + j) * kernel_of(0, py - i) * kernel_of(0, px - j);
                    want[c * P + p] = sum;
                }
            near_all(ox_grid_sample(x, grid, NULL, NULL, corners != 0), want, 2 * P, 1e-12, "grid_sample");
        }
        static const double same[] = {1, 0, 0, 0, 1, 0};
        ox_tensor *theta = ox_from_doubles(same, OX_SHAPE(1, 2, 3), OX_F64);
        static const char *const modes[] = {"bilinear", "nearest", "bicubic"};
        static const char *const paddings[] = {"zeros", "border", "reflection"};
        for (int i = 0; i < 18; i++) {
            ox_tensor *places = ox_affine_grid(theta, OX_SHAPE(1, 2, H, W), i % 2 != 0);
            ox_tensor *again = ox_grid_sample(x, places, modes[i / 2 % 3], paddings[i / 6], i % 2 != 0);
            CHECK_MSG(again && ox_allclose(again, x, 1e-12, 1e-12, false), "%s %s: %s", modes[i / 2 % 3],
                      paddings[i / 6], ox_error_text());
        }
        CHECK(!ox_grid_sample(x, grid, "area", NULL, false) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_grid_sample(x, ox_cast(grid, OX_F32), NULL, NULL, false) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(!ox_grid_sample(x, x, NULL, NULL, false) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_affine_grid(theta, OX_SHAPE(2, 1, 2, 2), false) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(ox_numel(ox_grid_sample(x, ox_zeros(OX_SHAPE(1, 0, 3, 2), OX_F64), NULL, NULL, false)) == 0);
    }
}

/* ---- pixels, windows ----------------------------------------------------------------------------------- */

static void test_shuffles(void) {
    enum { C = 2, R = 3, H = 2, W = 4 };
    OX_SCOPE {
        ox_tensor *x = image_of(1, C * R * R, H, W, 8), *wide = ox_pixel_shuffle(x, R);
        bool right = wide && wide->shape[1] == C;
        for (int c = 0; right && c < C; c++)
            for (int y = 0; y < H * R; y++)
                for (int z = 0; z < W * R; z++) {
                    int channel = (c * R + y % R) * R + z % R;
                    right = right &&
                            at(wide, (c * H * R + y) * W * R + z) == at(x, (channel * H + y / R) * W + z / R);
                }
        CHECK(right);
        CHECK(ox_equal(ox_pixel_unshuffle(wide, R), x));
        static const double mixed[] = {0, 3, 1, 4, 2, 5};
        ox_tensor *channels = ox_reshape(ox_arange(0, 6, 1, OX_F32), OX_SHAPE(1, 6, 1));
        near_all(ox_channel_shuffle(channels, 2), mixed, 6, 0, "channel_shuffle");
        CHECK(!ox_pixel_shuffle(x, 2) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_pixel_unshuffle(x, 0) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
        CHECK(!ox_channel_shuffle(x, 4) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

static void test_windows(void) {
    enum { C = 5, H = 4, W = 6 };
    OX_SCOPE {
        ox_tensor *x = image_of(1, C, H, W, 9);
        double want[C * H * W], powers[C * 2 * 3];
        for (int c = 0; c < C; c++)
            for (int p = 0; p < H * W; p++) {
                double sum = 0;
                for (int k = c - 1; k <= c + 1; k++)
                    sum += k < 0 || k >= C ? 0 : at(x, k * H * W + p) * at(x, k * H * W + p) / 3;
                want[c * H * W + p] = at(x, c * H * W + p) / pow(2 + 0.5 * sum, 0.75);
            }
        near_all(ox_local_response_norm(x, 3, 0.5, 0.75, 2), want, C * H * W, 1e-12, "local_response_norm");
        for (int i = 0; i < C * 6; i++) {
            double sum = 0;
            for (int k = 0; k < 4; k++) {
                int y = i / 3 % 2 * 2 + k / 2, z = i % 3 * 2 + k % 2;
                sum += pow(at(x, (i / 6 * H + y) * W + z), 2);
            }
            powers[i] = sqrt(sum);
        }
        near_all(ox_lp_pool2d(x, 2, OX_DIMS(2), OX_SCALAR_SHAPE, false), powers, C * 6, 1e-12, "lp_pool2d");
        ox_pair most = ox_max_pool2d_with_indices(x, OX_DIMS(2), OX_SCALAR_SHAPE, OX_SCALAR_SHAPE,
                                                  OX_SCALAR_SHAPE, false);
        ox_tensor *back = ox_max_unpool2d(most.values, most.indices, OX_DIMS(2), OX_SCALAR_SHAPE,
                                          OX_SCALAR_SHAPE, OX_SCALAR_SHAPE);
        ox_tensor *pooled = ox_max_pool2d(ox_where(ox_eq_number(back, 0), ox_number(-99), back), OX_DIMS(2),
                                          OX_SCALAR_SHAPE, OX_SCALAR_SHAPE, OX_SCALAR_SHAPE, false);
        CHECK(back && ox_equal(pooled, most.values));
        CHECK(ox_item(ox_sum(ox_ne_number(back, 0), OX_ALL_DIMS, false)) == C * 6);
        CHECK(ox_max_unpool2d(most.values, most.indices, OX_DIMS(2), OX_SCALAR_SHAPE, OX_SCALAR_SHAPE,
                              OX_SHAPE(5, 7))
                  ->shape[3] == 7);
        CHECK(!ox_max_unpool2d(most.values, most.indices, OX_DIMS(2), OX_SCALAR_SHAPE, OX_SCALAR_SHAPE,
                               OX_SHAPE(9, 9)) &&
              ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_max_unpool2d(most.values, ox_add_number(most.indices, 900), OX_DIMS(2), OX_SCALAR_SHAPE,
                               OX_SCALAR_SHAPE, OX_SCALAR_SHAPE) &&
              ox_error() != OX_OK);
        ox_error_clear();
        CHECK(!ox_lp_pool2d(x, 0, OX_DIMS(2), OX_SCALAR_SHAPE, false) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_local_response_norm(x, 0, 1, 1, 1) && ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

/* Each window's place is within what the samples leave, the last one ends with the image. */
static void test_fractional(void) {
    enum { H = 9, W = 7, OUT = 4, K = 2 };
    OX_SCOPE {
        ox_tensor *x = image_of(2, 3, H, W, 10);
        ox_tensor *samples = ox_full(OX_SHAPE(2, 3, 2), 0.4, OX_F64);
        ox_pair most = ox_fractional_max_pool2d(x, OX_DIMS(K), OX_DIMS(OUT), samples);
        CHECK(most.values && most.values->shape[3] == OUT && most.indices->dtype == OX_I64);
        double want[2 * 3 * OUT * OUT];
        for (int i = 0; i < 2 * 3 * OUT * OUT; i++) {
            int r = i / OUT % OUT, c = i % OUT, start[2];
            const int n[2] = {H, W}, place[2] = {r, c};
            for (int d = 0; d < 2; d++) {
                double alpha = (double)(n[d] - K) / (OUT - 1);
                start[d] =
                    place[d] == OUT - 1 ? n[d] - K : (int)((place[d] + 0.4) * alpha) - (int)(0.4 * alpha);
            }
            want[i] = -INFINITY;
            for (int k = 0; k < K * K; k++)
                want[i] = fmax(want[i], at(x, (i / OUT / OUT * H + start[0] + k / K) * W + start[1] + k % K));
        }
        near_all(most.values, want, 2 * 3 * OUT * OUT, 0, "fractional_max_pool2d");
        ox_tensor *flat = ox_gather(ox_flatten(x, 2, -1), 2, ox_flatten(most.indices, 2, -1));
        CHECK(ox_equal(ox_reshape(flat, ox_shape_of(most.values)), most.values));
        most = ox_fractional_max_pool2d(ox_narrow(x, 0, 0, 0), OX_DIMS(K), OX_DIMS(OUT),
                                        ox_narrow(samples, 0, 0, 0));
        CHECK(most.values && most.values->shape[0] == 0 && most.values->shape[3] == OUT);
        CHECK(!ox_fractional_max_pool2d(x, OX_DIMS(9), OX_DIMS(4), samples).values &&
              ox_error() == OX_ERR_SHAPE);
        ox_error_clear();
    }
}

/* ---- every layout, gradients --------------------------------------------------------------------------- */

static ox_tensor *made_by(int which, ox_tensor *x) {
    static const int64_t pad[4] = {1, 1, 2, 0};
    static const double scale[1] = {1.4};
    ox_shape none = OX_SCALAR_SHAPE;
    ox_tensor *y = NULL;
    ox_tensor *theta =
        ox_from_doubles((const double[]){0.8, 0.3, 0.1, -0.2, 0.9, 0.05}, OX_SHAPE(1, 2, 3), OX_F64);
    ox_tensor *grid = ox_expand(ox_affine_grid(theta, OX_SHAPE(1, 1, 3, 3), false), OX_SHAPE(2, 3, 3, 2));
    switch (which) {
    case 0:
    case 1:
    case 2:
    case 3: return ox_pad(x, pad, 4, pad_modes[which], 1);
    case 4: return ox_interpolate(x, none, scale, 1, "bilinear", false, false);
    case 5: return ox_interpolate(x, none, scale, 1, "bicubic", true, false);
    case 6: return ox_interpolate(x, none, scale, 1, "nearest", false, false);
    case 7: return ox_interpolate(x, OX_SHAPE(2, 3), NULL, 0, "area", false, false);
    case 8: return ox_grid_sample(x, grid, "bilinear", "zeros", false);
    case 9: return ox_grid_sample(x, grid, "bicubic", "reflection", true);
    case 10: return ox_pixel_shuffle(x, 2);
    case 11: return ox_pixel_unshuffle(x, 2);
    case 12: return ox_channel_shuffle(x, 2);
    case 13: return ox_lp_pool2d(x, 2, OX_DIMS(2), none, false);
    case 14: return ox_local_response_norm(x, 3, 0.5, 0.75, 1);
    case 15:
        y = ox_fractional_max_pool2d(x, OX_DIMS(2), OX_DIMS(2), ox_full(OX_SHAPE(2, 4, 2), 0.3, OX_F64))
                .values;
        return y;
    default: {
        ox_pair most = ox_max_pool2d_with_indices(x, OX_DIMS(2), none, none, none, false);
        return ox_max_unpool2d(most.values, most.indices, OX_DIMS(2), none, none, none);
    }
    }
}
enum { MADE = 17 };

static void test_layouts(void) {
    static const int64_t shape[4] = {2, 4, 4, 6};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        for (int i = 0; i < MADE; i++)
            OX_SCOPE {
                ox_tensor *x = random_layout((layout)l, DOMAIN_UNIT, 4, shape, OX_F64);
                ox_tensor *one = made_by(i, x), *other = made_by(i, ox_clone(x));
                CHECK_MSG(one && other && ox_equal(one, other), "function %d, %s: %s", i,
                          layout_name((layout)l), ox_error_text());
                ox_error_clear();
            }
}

static ox_tensor *checked(ox_tensor *const *in, void *user) {
    return made_by(*(int *)user, in[0]);
}

static ox_tensor *checked_grid(ox_tensor *const *in, void *user) {
    int which = *(int *)user;
    return ox_grid_sample(in[0], in[1], which % 2 ? "bicubic" : "bilinear", which / 2 ? "border" : "zeros",
                          false);
}

static void test_gradients(void) {
    for (int i = 0; i < MADE; i++)
        OX_SCOPE {
            ox_tensor *x = ox_requires_grad_(image_of(2, 4, 4, 6, 20), true);
            CHECK_MSG(ox_gradcheck(checked, &i, &x, 1, NULL) == OX_OK, "function %d: %s", i, ox_error_text());
            ox_error_clear();
            CHECK_MSG(ox_gradgradcheck(checked, &i, &x, 1, NULL) == OX_OK, "function %d: %s", i,
                      ox_error_text());
            ox_error_clear();
        }
    for (int i = 0; i < 4; i++)
        OX_SCOPE {
            ox_tensor *in[2];
            in[0] = ox_requires_grad_(image_of(1, 2, 3, 4, 21), true);
            in[1] = ox_requires_grad_(ox_detach(ox_mul_number(image_of(1, 2, 2, 2, 22), 0.5)), true);
            CHECK_MSG(ox_gradcheck(checked_grid, &i, in, 2, NULL) == OX_OK, "grid %d: %s", i,
                      ox_error_text());
            ox_error_clear();
        }
}

static void test_refused(void) {
    OX_SCOPE {
        static const int64_t longer[2] = {5, 0}, odd[3] = {1, 1, 1}, far[2] = {INT64_MAX, INT64_MAX};
        ox_tensor *x = image_of(1, 1, 4, 4, 1);
        for (int mode = 1; mode < 4; mode += 2) {
            CHECK(!ox_pad(x, longer, 2, pad_modes[mode], 0) && ox_error() == OX_ERR_ARG);
            ox_error_clear();
        }
        CHECK(!ox_pad(x, odd, 3, NULL, 0) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_pad(x, far, 2, NULL, 0) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_pad(x, longer, 2, "mirror", 0) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_pad(NULL, longer, 2, NULL, 0) && ox_error() != OX_OK);
        ox_error_clear();
    }
}

int main(void) {
    test_pad();
    test_interpolate();
    test_antialias();
    test_grid();
    test_shuffles();
    test_windows();
    test_fractional();
    test_layouts();
    test_gradients();
    test_refused();
    CHECK_MSG(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0,
              "%lld tensors left", (long long)ox_memory_get_stats().tensors);
    return check_done("images");
}
