/* vulkan_matmul.c - matrix products on a GPU of operands as they lie in memory.
 *
 * Shows   tensors that live on a GPU, views of them (transposed, cut out, every second row, flipped), that a
 *         product of views is the product of the same numbers side by side, and, by the device's counters,
 *         that it takes one dispatch and no copy, up to sizes from which on a copy of operands that do not
 *         lie in aligned groups pays. Where there is no GPU the same program runs on the CPU.
 * build   cc -O2 examples/vulkan_matmul.c -I. -o vulkan_matmul -lm -lpthread   (options.h beside it)
 * run     ./vulkan_matmul [SIZE]
 *         the device and its speed go to standard error
 * refuses big => vulkan_matmul: SIZE wants a whole number from 1 to 16384 (big)
 * prints
 *     f32 plain: the same, copies 0
 *     f32 a transposed: the same, copies 0
 *     f32 b transposed: the same, copies 0
 *     f32 cut out of larger ones: the same, copies 0
 *     f32 every second row and column: the same, copies 0
 *     f32 rows and columns backwards: the same, copies 0
 *     f16 plain: the same, copies 0
 *     f16 a transposed: the same, copies 0
 *     f16 b transposed: the same, copies 0
 *     f16 cut out of larger ones: the same, copies 0
 *     f16 every second row and column: the same, copies 0
 *     f16 rows and columns backwards: the same, copies 0
 */
#define OX_IMPLEMENTATION
#include "oxtorch.h"
#include "oxtorch_vulkan.h"

#include "options.h"

#include <time.h>

static const char help[] =
    "usage: vulkan_matmul [SIZE]\n"
    "matrix products on a GPU of operands as they lie in memory, or on the CPU where there is none\n"
    "\n"
    "  SIZE          rows and columns of the operands, 96; where it is given, the speed is measured, too\n"
    "  --help, -h    this text\n"
    "\n"
    "example: vulkan_matmul 4096\n";

/* int64_t */
static bool read_size(const char *text, void *out) {
    return read_whole(text, out) && *(int64_t *)out >= 1 && *(int64_t *)out <= 16384;
}

/* A view of numbers as they lie on the device: x [2n, 2n] -> [n, n]. */
typedef ox_tensor *(*view_of)(ox_tensor *x, int64_t n);

static ox_tensor *cut_out(ox_tensor *x, int64_t n) {
    return ox_narrow(ox_narrow(x, 0, 8, n), 1, 8, n);
}
static ox_tensor *transposed(ox_tensor *x, int64_t n) {
    return ox_t(cut_out(x, n));
}
static ox_tensor *every_second(ox_tensor *x, int64_t n) {
    return ox_slice(ox_slice(x, 0, 0, 2 * n, 2), 1, 1, 2 * n, 2);
}
static ox_tensor *backwards(ox_tensor *x, int64_t n) {
    return ox_slice(ox_slice(cut_out(x, n), 0, OX_END, OX_END, -1), 1, OX_END, OX_END, -1);
}
static ox_tensor *plain(ox_tensor *x, int64_t n) {
    return ox_contiguous(cut_out(x, n));
}

static const struct {
    const char *name;
    view_of a, b;
} cases[] = {
    {"plain", plain, plain},
    {"a transposed", transposed, plain},
    {"b transposed", plain, transposed},
    {"cut out of larger ones", cut_out, cut_out},
    {"every second row and column", every_second, every_second},
    {"rows and columns backwards", backwards, backwards},
};

/* Multiplies views of x and y; the same numbers side by side give what it is compared with. */
static void compare(ox_device *gpu, ox_tensor *x, ox_tensor *y, int64_t n, int at) {
    OX_SCOPE {
        ox_tensor *a = cases[at].a(x, n), *b = cases[at].b(y, n);
        int64_t before = ox_vulkan_get_stats(gpu).dispatches;
        ox_tensor *c = ox_matmul(a, b);
        int64_t copies = gpu ? ox_vulkan_get_stats(gpu).dispatches - before - 1 : 0;
        ox_tensor *want = ox_matmul(ox_contiguous(a), ox_contiguous(b));
        bool half = x->dtype == OX_F16;
        bool same = ox_allclose(ox_to(c, ox_cpu()), ox_to(want, ox_cpu()), half ? 2e-3 : 1e-5,
                                half ? 1e-2 : 1e-4, false);
        printf("%s %s: %s, copies %lld\n", ox_dtype_name(x->dtype), cases[at].name,
               same ? "the same" : "DIFFERENT", (long long)copies);
    }
}

static double now(void) {
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Tera operations a second of products [n, n] x [n, n]; drivers swap better code in after a while. */
static double speed(ox_device *gpu, ox_tensor *x, int64_t n) {
    double took = 0;
    OX_SCOPE {
        ox_tensor *a = plain(x, n);
        for (double start = now(); now() - start < 0.8;) {
            double begin = now();
            OX_SCOPE {
                for (int i = 0; i < 8; i++) (void)ox_matmul(a, a);
            }
            (void)ox_device_sync(gpu);
            took = (now() - begin) / 8;
        }
    }
    return 2e-12 * (double)n * (double)n * (double)n / took;
}

int main(int count, char **words) {
    int64_t n = 96;
    const option plain[] = {{"SIZE", read_size, &n, "wants a whole number from 1 to 16384"}};
    const command_line vulkan_matmul = {"vulkan_matmul", help, NULL, 0, plain, 1};
    if (!options_read(&vulkan_matmul, count, words)) return 2;
    static const ox_dtype dtypes[] = {OX_F32, OX_F16};
    ox_device *gpu = ox_vulkan(0);
    ox_vulkan_info facts;
    if (gpu && ox_vulkan_get_info(gpu, &facts) == OX_OK)
        fprintf(stderr, "%s, %s\n", facts.name, facts.driver);
    else
        fprintf(stderr, "%s; on the CPU\n", ox_error_text());
    ox_error_clear();
    for (int d = 0; d < 2; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_randn(OX_SHAPE(2 * n + 16, 2 * n + 16), OX_F32), dtypes[d]);
            ox_tensor *y = ox_cast(ox_randn(OX_SHAPE(2 * n + 16, 2 * n + 16), OX_F32), dtypes[d]);
            x = ox_to(x, gpu ? gpu : ox_cpu());
            y = ox_to(y, gpu ? gpu : ox_cpu());
            for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) compare(gpu, x, y, n, i);
            if (gpu && count > 1)
                fprintf(stderr, "%s %lld: %.1f TFLOP/s\n", ox_dtype_name(dtypes[d]), (long long)n,
                        speed(gpu, x, n));
        }
    if (ox_error()) printf("%s\n", ox_error_text());
    return ox_error() ? 1 : 0;
}
