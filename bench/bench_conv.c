/* bench_conv.c - convolutions of ResNets and what flows back through them on a GPU, TFLOP/s. All that a call
 * does counts, copies too.
 *
 *     bench_conv [f16|bf16|f32] [IMAGES, 64] [INDEX] [WORD]    only shapes whose names contain the word
 *
 * The least time of some runs of a twentieth of a second, after as long as drivers take to swap better code
 * in. bench/peers/conv.py has the same shapes in PyTorch. */
#include "oxtorch_nn.h"
#include "oxtorch_vulkan.h"

#include "bench.h"

typedef struct conv_shape {
    const char *name;
    int channels, outputs, side, kernel, stride, padding;
} conv_shape;

static const conv_shape shapes[] = {
    {"7x7/2 3-64@224", 3, 64, 224, 7, 2, 3},          {"3x3 64-64@56", 64, 64, 56, 3, 1, 1},
    {"3x3 128-128@28", 128, 128, 28, 3, 1, 1},        {"3x3 256-256@14", 256, 256, 14, 3, 1, 1},
    {"3x3 512-512@7", 512, 512, 7, 3, 1, 1},          {"3x3/2 64-128@56", 64, 128, 56, 3, 2, 1},
    {"3x3/2 128-256@28", 128, 256, 28, 3, 2, 1},      {"3x3/2 256-512@14", 256, 512, 14, 3, 2, 1},
    {"1x1/2 64-128@56", 64, 128, 56, 1, 2, 0},        {"1x1/2 128-256@28", 128, 256, 28, 1, 2, 0},
    {"1x1/2 256-512@14", 256, 512, 14, 1, 2, 0},      {"1x1/2 256-512@56", 256, 512, 56, 1, 2, 0},
    {"1x1/2 1024-2048@14", 1024, 2048, 14, 1, 2, 0},  {"1x1 256-64@56", 256, 64, 56, 1, 1, 0},
    {"1x1 64-256@56", 64, 256, 56, 1, 1, 0},          {"1x1 512-128@28", 512, 128, 28, 1, 1, 0},
    {"1x1 128-512@28", 128, 512, 28, 1, 1, 0},        {"1x1 1024-256@14", 1024, 256, 14, 1, 1, 0},
    {"1x1 256-1024@14", 256, 1024, 14, 1, 1, 0},      {"1x1 2048-512@7", 2048, 512, 7, 1, 1, 0},
    {"1x1 512-2048@7", 512, 2048, 7, 1, 1, 0},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, FORWARD = 0, TO_INPUT, TO_WEIGHT, DIRECTIONS };

typedef struct conv_work {
    ox_tensor *x, *w, *y;
    ox_conv_desc desc;
    ox_conv_transpose_desc back;
} conv_work;

static void once(const conv_work *work, int direction) {
    OX_SCOPE {
        ox_tensor *made = NULL;
        ox_shape kernel = OX_DIMS(work->w->shape[2], work->w->shape[3]);
        if (direction == FORWARD) made = ox_conv2d(work->x, work->w, NULL, &work->desc);
        if (direction == TO_INPUT) made = ox_conv_transpose2d(work->y, work->w, NULL, &work->back);
        if (direction == TO_WEIGHT) made = ox_conv_back_weight(work->y, work->x, kernel, &work->desc);
        if (!made) {
            fprintf(stderr, "%s\n", ox_error_text());
            exit(1);
        }
    }
}

static double some(ox_device *gpu, const conv_work *work, int direction, int count) {
    ox_device_sync(gpu);
    double start = bench_now();
    for (int i = 0; i < count; i++) once(work, direction);
    ox_device_sync(gpu);
    return (bench_now() - start) / count;
}

static double seconds_of(ox_device *gpu, const conv_work *work, int direction) {
    double warm = bench_now() + 0.3, least = 1e9;
    double first = some(gpu, work, direction, 1);
    for (int i = 0; bench_now() < warm; i++) first = some(gpu, work, direction, first < 1e-3 ? 20 : 1);
    int count = first < 0.05 ? (int)(0.05 / first) + 1 : 1;
    for (int i = 0; i < 4; i++) {
        double now = some(gpu, work, direction, count);
        if (now < least) least = now;
    }
    return least;
}

static ox_tensor *drawn(ox_device *gpu, ox_shape shape, ox_dtype dtype) {
    return ox_cast(ox_to(ox_mul_number(ox_randn(shape, OX_F32), 0.1), gpu), dtype);
}

static void measure(ox_device *gpu, const conv_shape *s, ox_dtype dtype, int64_t images) {
    conv_work work;
    memset(&work, 0, sizeof work);
    int64_t out = (s->side + 2 * s->padding - s->kernel) / s->stride + 1;
    work.x = drawn(gpu, OX_SHAPE(images, s->channels, s->side, s->side), dtype);
    work.w = drawn(gpu, OX_SHAPE(s->outputs, s->channels, s->kernel, s->kernel), dtype);
    work.y = drawn(gpu, OX_SHAPE(images, s->outputs, out, out), dtype);
    work.desc.stride = work.back.stride = OX_DIMS(s->stride);
    work.desc.padding = work.back.padding = OX_DIMS(s->padding);
    work.back.output_padding = OX_DIMS(s->side - ((out - 1) * s->stride - 2 * s->padding + s->kernel));
    double flops = 2.0 * (double)(images * out * out) * s->channels * s->outputs * s->kernel * s->kernel;
    printf("%-20s", s->name);
    for (int d = 0; d < DIRECTIONS; d++) {
        double seconds = seconds_of(gpu, &work, d);
        printf(" %7.1f us %6.1f", 1e6 * seconds, 1e-12 * flops / seconds);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "f16";
    ox_dtype dtype = strcmp(name, "f32") == 0 ? OX_F32 : strcmp(name, "bf16") == 0 ? OX_BF16 : OX_F16;
    int64_t images = argc > 2 ? atoi(argv[2]) : 64;
    ox_device *gpu = ox_vulkan(argc > 3 ? atoi(argv[3]) : 0);
    if (!gpu) {
        printf("no GPU: %s\n", ox_error_text());
        return 0;
    }
    printf("%s, %s, %d images: forward, input's gradient, weight's gradient (TFLOP/s)\n",
           ox_device_name(gpu), ox_dtype_name(dtype), (int)images);
    for (int i = 0; i < SHAPES; i++)
        if (argc < 5 || strstr(shapes[i].name, argv[4]))
            OX_SCOPE {
                measure(gpu, &shapes[i], dtype, images);
            }
    return 0;
}
