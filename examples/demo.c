/* demo.c - a tour: what this machine can do, strided views, a softmax, matrix products on every tier.
 *
 * Shows   ox_isa, ox_threads, ox_copy_; ox_t, ox_select, ox_slice over one storage; ox_softmax; ox_matmul.
 *         A tier is picked when a program starts (OX_ISA in the environment): the demo runs itself for each.
 * build   cc -O2 examples/demo.c -I. -o demo -lm -lpthread   (options.h beside it)
 * run     ./demo
 * refuses avx3 => demo: TIER wants one of c, sse2, avx, avx2, avx512, amx and neon (avx3)
 * prints
 *     OxTorch ...
 *
 *     This machine
 *         tier       ...
 *         threads    ...
 *     ...
 *         copy       ... GB/s
 *
 *     Views share their storage
 *         x = 0 .. 11 as [3,4]    [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
 *         ox_t(x), row 1          [1, 5, 9]
 *         x[::-1, 1::2]           [[9, 11], [5, 7], [1, 3]]
 *         after x[1] *= 10        [[9, 11], [50, 70], [1, 3]]
 *         storages in use         1
 *
 *     softmax([1, 2, 3, 4])       [0.03206, 0.08714, 0.2369, 0.6439]
 *
 *     A product [512,512] x [512,512], GFLOP/s
 *         tier        f32     bf16
 *     ...
 */
#define OX_IMPLEMENTATION
#include "oxtorch.h"

#include "options.h"

#include <time.h>

static const char help[] =
    "usage: demo [TIER]\n"
    "a tour: what this machine can do, strided views, a softmax, matrix products on every tier\n"
    "\n"
    "  TIER          only measures products, if the program runs on that tier: c, sse2, avx, avx2, avx512,\n"
    "                amx or neon\n"
    "  --help, -h    this text\n"
    "\n"
    "example: OX_ISA=avx2 demo avx2\n";

static const char *const tiers[] = {"c", "sse2", "avx", "avx2", "avx512", "amx", "neon"};

static bool read_tier(const char *text, void *out) {
    size_t i = 0;
    while (i < sizeof tiers / sizeof *tiers && strcmp(text, tiers[i]) != 0) i++;
    *(const char **)out = text;
    return i < sizeof tiers / sizeof *tiers;
}

static double seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Linux says what caches there are; elsewhere the line is left out. */
static void print_caches(void) {
    static const int data_caches[] = {0, 2, 3}; /* 1 holds instructions */
    char line[96] = "";
    for (int i = 0; i < 3; i++) {
        char path[96];
        long size = 0; /* KiB: the file says "2048K" */
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", data_caches[i]);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%ldK", &size) == 1) {
            snprintf(line + strlen(line), sizeof line - strlen(line), "%s%ld %s", line[0] ? ", " : "",
                     size < 1024 ? size : size / 1024, size < 1024 ? "KiB" : "MiB");
        }
        if (file) fclose(file);
    }
    if (line[0]) printf("    caches     %s\n", line);
}

/* Bytes read plus bytes written, the best of five. */
static double copy_bandwidth(void) {
    double best = 1e9;
    OX_SCOPE {
        ox_tensor *from = ox_ones(OX_SHAPE(16 << 20), OX_F32), *to = ox_zeros_like(from);
        for (int i = 0; i < 5; i++) {
            const double start = seconds();
            ox_copy_(to, from);
            if (seconds() - start < best) best = seconds() - start;
        }
    }
    return 2.0 * (double)(64 << 20) / best / 1e9;
}

static void print_numbers(const char *what, ox_tensor *t) {
    float number[16];
    const int64_t count = ox_numel(t), columns = ox_size(t, -1);
    if (ox_to_floats(t, number, count) != OX_OK) return;
    printf("%-28s%s", what, t->ndim == 2 ? "[" : "");
    for (int64_t i = 0; i < count; i++) {
        printf("%s%.4g%s",
               i % columns ? ", "
               : i         ? ", ["
                           : "[",
               (double)number[i], (i + 1) % columns ? "" : "]");
    }
    printf("%s\n", t->ndim == 2 ? "]" : "");
}

static void show_views(void) {
    printf("\nViews share their storage\n");
    OX_SCOPE {
        ox_tensor *x = ox_view(ox_arange(0, 12, 1, OX_F32), OX_SHAPE(3, 4));
        ox_tensor *y = ox_slice(ox_slice(x, 0, OX_END, OX_END, -1), 1, 1, OX_END, 2);
        print_numbers("    x = 0 .. 11 as [3,4]", x);
        print_numbers("    ox_t(x), row 1", ox_select(ox_t(x), 0, 1));
        print_numbers("    x[::-1, 1::2]", y);
        OX_SCOPE {
            ox_mul_(ox_select(x, 0, 1), ox_number(10));
        }
        print_numbers("    after x[1] *= 10", y);
        printf("    %-24s%lld\n\n", "storages in use", (long long)ox_memory_get_stats().storages);
        print_numbers("softmax([1, 2, 3, 4])", ox_softmax(ox_arange(1, 5, 1, OX_F32), -1));
    }
}

static double product_gflops(ox_dtype dtype) {
    const int64_t n = 512;
    double best = 1e9;
    OX_SCOPE {
        ox_tensor *a = ox_randn(OX_SHAPE(n, n), dtype), *b = ox_randn(OX_SHAPE(n, n), dtype);
        const double end = seconds() + 0.2;
        while (seconds() < end) {
            const double start = seconds();
            OX_SCOPE {
                (void)ox_matmul(a, b);
            }
            if (seconds() - start < best) best = seconds() - start;
        }
    }
    return 2e-9 * (double)(n * n * n) / best;
}

/* One row of the table, if this processor has the tier that was asked for. */
static int print_tier(const char *tier) {
    if (strcmp(ox_isa(), tier) == 0) {
        printf("    %-8s %6.1f   %6.1f\n", tier, product_gflops(OX_F32), product_gflops(OX_BF16));
    }
    return ox_error() ? 1 : 0;
}

int main(int count, char **words) {
    const char *tier = NULL;
    const option plain[] = {
        {"TIER", read_tier, &tier, "wants one of c, sse2, avx, avx2, avx512, amx and neon"}};
    const command_line demo = {"demo", help, NULL, 0, plain, 1};
    if (!options_read(&demo, count, words)) return 2;
    if (tier) return print_tier(tier);
    printf("OxTorch %s\n\nThis machine\n", ox_version());
    printf("    tier       %s\n    threads    %d\n", ox_isa(), ox_threads());
    print_caches();
    printf("    copy       %.1f GB/s\n", copy_bandwidth());
    show_views();
    printf("\nA product [512,512] x [512,512], GFLOP/s\n    tier        f32     bf16\n");
    setenv("OX_DEMO", words[0], 1);
    for (size_t i = 0; i < sizeof tiers / sizeof *tiers; i++) {
        char command[64];
        snprintf(command, sizeof command, "OX_ISA=%s \"$OX_DEMO\" %s", tiers[i], tiers[i]);
        fflush(stdout);
        if (system(command)) fprintf(stderr, "demo: the tier %s failed\n", tiers[i]);
    }
    if (ox_error()) fprintf(stderr, "demo: %s\n", ox_error_text());
    return ox_error() ? 1 : 0;
}
