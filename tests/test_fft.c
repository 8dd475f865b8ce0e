/* test_fft.c - Fourier transforms against the sum that they are, in double: every length up to 130 and some
 * beyond (primes, their squares, powers), both directions, norms, dims, layouts; there and back; short-time
 * transforms. OX_TIERS */
#include "operands.h"
#include "oxtorch_nn.h"

#ifdef OX_NO_FFT
int main(void) {
    check_skip("fft", "left out by OX_NO_FFT");
    return check_done("fft");
}
#else

static double part(ox_tensor *t, int64_t i, int imaginary) {
    const float *p = (const float *)ox_data(t);
    return (double)p[2 * i + imaginary];
}

/* sum_t x[t] exp(-+2 pi i k t / n), by angles that are reduced exactly. */
static void plain_transform(int64_t n, const double *x, int64_t k, bool back, double out[2]) {
    out[0] = out[1] = 0;
    for (int64_t t = 0; t < n; t++) {
        double angle = 2 * 3.14159265358979323846 * (double)(k * t % n) / (double)n, c = cos(angle),
               s = sin(angle);
        if (!back) s = -s;
        out[0] += x[2 * t] * c - x[2 * t + 1] * s;
        out[1] += x[2 * t] * s + x[2 * t + 1] * c;
    }
}

static void check_length(int64_t n) {
    static double x[2 * 4096];
    ox_tensor *z = ox_complex(ox_randn(OX_SHAPE(n), OX_F32), ox_randn(OX_SHAPE(n), OX_F32)), *re = ox_real(z);
    double size = 0, worst = 0, real_worst = 0, out[2];
    for (int64_t i = 0; i < n; i++) {
        x[2 * i] = part(z, i, 0);
        x[2 * i + 1] = part(z, i, 1);
        size += x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];
    }
    ox_tensor *there = ox_fft(z, 0, -1, NULL), *back = ox_ifft(z, 0, -1, "forward");
    ox_tensor *half = ox_rfft(re, 0, -1, NULL), *again = ox_irfft(half, n, -1, NULL),
              *round = ox_ifft(there, 0, -1, NULL);
    CHECK_MSG(there && back && half && again && round, "%lld: %s", (long long)n, ox_error_text());
    if (!there || !back || !half || !again || !round) return;
    CHECK(half->shape[0] == n / 2 + 1 && again->shape[0] == n && again->dtype == OX_F32);
    int64_t step = n > 300 ? n / 97 : 1;
    for (int64_t k = 0; k < n; k += step) {
        plain_transform(n, x, k, false, out);
        worst = check_worst(worst, fabs(part(there, k, 0) - out[0]) + fabs(part(there, k, 1) - out[1]));
        plain_transform(n, x, k, true, out);
        worst = check_worst(worst, fabs(part(back, k, 0) - out[0]) + fabs(part(back, k, 1) - out[1]));
    }
    for (int64_t i = 0; i < n; i++) x[2 * i + 1] = 0;
    for (int64_t k = 0; k < n / 2 + 1; k += step) {
        plain_transform(n, x, k, false, out);
        real_worst =
            check_worst(real_worst, fabs(part(half, k, 0) - out[0]) + fabs(part(half, k, 1) - out[1]));
    }
    double allowed = 5.5e-7 * sqrt(size) * (1 + log2((double)n) / 6); /* of f32, pass by pass */
    CHECK_MSG(worst <= allowed && real_worst <= allowed, "%lld: off by %g, %g of %g", (long long)n, worst,
              real_worst, allowed);
    CHECK_MSG(ox_allclose(again, re, 1e-5, 1e-5, false), "%lld: irfft of rfft", (long long)n);
    CHECK_MSG(ox_allclose(ox_view_as_real(round), ox_view_as_real(z), 1e-5, 1e-5, false), "%lld: ifft of fft",
              (long long)n);
}

static void test_lengths(void) {
    static const int64_t more[] = {131,  169,  243,  256,  311,  499,  512,  625, 997,
                                   1000, 1024, 2048, 2187, 2310, 3721, 4093, 4096};
    ox_manual_seed(1);
    for (int64_t n = 1; n <= 130; n++)
        OX_SCOPE {
            check_length(n);
        }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        OX_SCOPE {
            check_length(more[i]);
        }
}

/* Many lines at once, as many as lie side by side and others, give what each gives alone: sums in double. */
static void check_lines(int64_t lines, int64_t n, ox_dtype real) {
    static double x[2 * 20000];
    ox_tensor *z = ox_complex(ox_randn(OX_SHAPE(lines, n), OX_F32), ox_randn(OX_SHAPE(lines, n), OX_F32));
    ox_tensor *re = ox_cast(ox_real(z), real), *there = ox_fft(z, 0, -1, NULL);
    ox_tensor *half = ox_rfft(re, 0, -1, NULL), *back = ox_ifft(z, 0, -1, "ortho"),
              *again = ox_irfft(half, n, -1, NULL), *other = ox_ihfft(re, 0, -1, "forward");
    CHECK_MSG(there && half && back && again && other, "%lld lines of %lld: %s", (long long)lines,
              (long long)n, ox_error_text());
    if (!there || !half || !back || !again || !other) return;
    double worst = 0, real_worst = 0, out[2];
    double allowed = 5.5e-7 * sqrt(2.5 * (double)n + 4) * (1 + log2((double)n) / 6);
    for (int64_t l = 0; l < lines; l += lines > 9 ? 7 : 1) {
        for (int64_t i = 0; i < 2 * n; i++) x[i] = part(z, l * n + i / 2, (int)(i % 2));
        for (int64_t k = 0; k < n; k += n > 60 ? n / 19 : 1) {
            plain_transform(n, x, k, false, out);
            for (int c = 0; c < 2; c++) worst = check_worst(worst, fabs(part(there, l * n + k, c) - out[c]));
            plain_transform(n, x, k, true, out);
            for (int c = 0; c < 2; c++)
                worst = check_worst(worst, fabs(part(back, l * n + k, c) * sqrt((double)n) - out[c]));
        }
        for (int64_t i = 0; i < n; i++) x[2 * i + 1] = 0;
        for (int64_t k = 0, to = n / 2 + 1; k < to; k += n > 60 ? n / 19 : 1) {
            plain_transform(n, x, k, false, out);
            real_worst = check_worst(real_worst, fabs(part(half, l * to + k, 0) - out[0]));
            real_worst = check_worst(real_worst, fabs(part(half, l * to + k, 1) - out[1]));
            real_worst = check_worst(real_worst, fabs(part(other, l * to + k, 0) - out[0]));
            real_worst = check_worst(real_worst, fabs(part(other, l * to + k, 1) + out[1]));
        }
    }
    CHECK_MSG(worst <= allowed && real_worst <= allowed, "%lld lines of %lld: off by %g, %g of %g",
              (long long)lines, (long long)n, worst, real_worst, allowed);
    CHECK_MSG(ox_allclose(again, ox_real(z), 1e-5, 1e-5, false), "%lld lines of %lld: irfft of rfft",
              (long long)lines, (long long)n);
}

static void test_lines(void) {
    static const int64_t lines[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
    static const int64_t lengths[] = {1, 2, 3, 4, 5, 6, 9, 14, 16, 20, 37, 64, 67, 90, 128, 134, 366, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
            OX_SCOPE {
                check_lines(lines[k], lengths[i], k % 2 ? OX_F64 : OX_F32);
            }
    static const int64_t longer[] = {1025, 1092, 2048, 2662, 3600, 4094, 9973, 9999, 16384, 19683, 20000};
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        for (int64_t k = 1; k <= 3; k += 2)
            OX_SCOPE {
                check_lines(k, longer[i], k == 1 ? OX_F32 : OX_F64);
            }
}

/* Along any dim of any layout: what a contiguous copy gives; several dims: one after the other. */
static void test_dims(void) {
    static const int64_t shape[3] = {5, 6, 7};
    for (int l = 0; l < LAYOUT_COUNT; l++)
        OX_SCOPE {
            ox_tensor *x = random_layout((layout)l, DOMAIN_MODEST, 3, shape, OX_C64);
            ox_tensor *f = random_layout((layout)l, DOMAIN_MODEST, 3, shape, OX_F32);
            for (int d = 0; d < 3; d++) {
                ox_tensor *z = ox_fft(x, 0, d, "ortho"), *same = ox_fft(ox_clone(x), 0, d, "ortho");
                CHECK_MSG(z && ox_equal(z, same), "%s: %s", layout_name((layout)l), ox_error_text());
                z = ox_rfft(f, 9, d, NULL);
                same = ox_rfft(ox_clone(f), 9, d, NULL);
                CHECK(z && ox_equal(z, same) && z->shape[d] == 5);
                z = ox_hfft(x, 8, d, NULL);
                same = ox_irfft(ox_conj(x), 8, d, "forward");
                CHECK(z && ox_equal(z, same));
            }
            ox_tensor *all = ox_fftn(x, OX_ALL_DIMS, OX_ALL_DIMS, NULL);
            ox_tensor *apart = ox_fft(ox_fft(ox_fft(x, 0, 0, NULL), 0, 1, NULL), 0, 2, NULL);
            CHECK(all && ox_allclose(ox_view_as_real(all), ox_view_as_real(apart), 1e-5, 1e-4, false));
            ox_tensor *two =
                ox_irfft2(ox_rfft2(f, OX_ALL_DIMS, OX_ALL_DIMS, NULL), OX_SHAPE(6, 7), OX_ALL_DIMS, NULL);
            CHECK(two && ox_allclose(two, f, 1e-4, 1e-4, false));
        }
}

static void test_errors(void) {
    OX_SCOPE {
        ox_tensor *z = ox_complex(ox_ones(OX_SHAPE(4), OX_F32), ox_ones(OX_SHAPE(4), OX_F32));
        CHECK(!ox_rfft(z, 0, -1, NULL) && ox_error() == OX_ERR_DTYPE);
        ox_error_clear();
        CHECK(!ox_fft(z, 0, -1, "half") && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_fft(z, -3, -1, NULL) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_fft(ox_zeros(OX_SHAPE(0), OX_F32), 0, 0, NULL) && ox_error() == OX_ERR_ARG);
        ox_error_clear();
        CHECK(!ox_fftn(z, OX_ALL_DIMS, OX_DIMS(0, 0), NULL) && ox_error() != OX_OK);
        ox_error_clear();
        ox_tensor *freq = ox_fftfreq(5, 0.5, OX_F64), *half = ox_rfftfreq(4, 1, OX_F64);
        CHECK(freq && ox_item(ox_select(freq, 0, 3)) == -0.8 && ox_item(ox_select(half, 0, 2)) == 0.5);
        ox_tensor *ramp = ox_arange(0, 5, 1, OX_I64), *moved = ox_fftshift(ramp, OX_ALL_DIMS);
        CHECK(ox_item_int(ox_select(moved, 0, 0)) == 3 && ox_equal(ox_ifftshift(moved, OX_ALL_DIMS), ramp));
    }
}

static void test_short_time(void) {
    OX_SCOPE {
        ox_stft_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.hop = 10;
        desc.window = ox_window_hann(40, false, OX_F32);
        desc.window_length = 40;
        desc.center = desc.onesided = true;
        ox_tensor *x = ox_randn(OX_SHAPE(2, 200), OX_F32), *s = ox_stft(x, 64, &desc), *back;
        CHECK(s && s->shape[1] == 33 && s->shape[2] == 21);
        back = s ? ox_istft(s, 64, 200, &desc) : NULL;
        CHECK_MSG(back && ox_allclose(back, x, 1e-4, 1e-5, false), "%s", ox_error_text());
        desc.center = false;
        s = ox_stft(x, 64, &desc);
        ox_tensor *frame =
            ox_mul(ox_narrow(x, 1, 22, 40), desc.window); /* the second frame, the window within */
        ox_tensor *first = ox_select(ox_select(s, 2, 1), 1, 0);
        CHECK(s && ox_allclose(ox_real(first), ox_sum(frame, OX_DIMS(1), false), 1e-4, 1e-4, false));
        ox_error_clear();
    }
}

int main(void) {
    test_lengths();
    test_lines();
    test_dims();
    test_errors();
    test_short_time();
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().bad_releases == 0);
    return check_done("fft");
}
#endif
