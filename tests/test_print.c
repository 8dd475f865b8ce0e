/* test_print.c - ox_format against what PyTorch 2.14 prints, its dtype names exchanged for ours.
 * One test needs a device of its own. OX_O0: the compiler takes longest here. */
#include <stdio.h>
#define OX_IMPLEMENTATION
#define OX_STATIC
#define OX_NO_SIMD                       /* no kernels are tested here: compile less */
#define OX_NO_IQ                         /* to print what cannot be expanded */
#include "backwards.h"
#include "oxtorch.h"

#include "check.h"

/* Formats t, compares, and releases t. */
static void check_text(ox_tensor *t, const char *expected, int line) {
    char text[4096];
    size_t length = ox_format(t, text, sizeof text);
    bool same = length == strlen(expected) && strcmp(text, expected) == 0;
    CHECK_MSG(same, "line %d: expected\n%s\ngot\n%s", line, expected, text);
    CHECK(ox_format(t, NULL, 0) == length);
    ox_release(t);
}

#define CHECK_TEXT(tensor, expected) check_text(tensor, expected, __LINE__)

/* Numbers of the dtype, converted here: the kernels that convert are not what is tested. */
static ox_tensor *floats(const double *data, ox_shape shape, ox_dtype dtype) {
    ox_tensor *t = ox_empty(shape, dtype);
    for (int64_t i = 0; i < ox_numel(t); i++) {
        void *to = (char *)ox_data(t) + (size_t)i * (size_t)ox_dtype_get_info(dtype)->block_bytes;
        float f32 = (float)data[i];
        int64_t i64 = fabs(data[i]) < 1e18 ? (int64_t)data[i] : 0;
        uint16_t bits = dtype == OX_F16 ? oxi_f32_to_f16(f32) : oxi_f32_to_bf16(f32);
        uint8_t byte = dtype == OX_F8_E4M3 ? oxi_f32_to_f8_e4m3(f32) : oxi_f32_to_f8_e5m2(f32);
        if (dtype == OX_F32) memcpy(to, &f32, 4);
        if (dtype == OX_F64) memcpy(to, &data[i], 8);
        if (dtype == OX_I64) memcpy(to, &i64, 8);
        if (dtype == OX_F16 || dtype == OX_BF16) memcpy(to, &bits, 2);
        if (dtype == OX_F8_E4M3 || dtype == OX_F8_E5M2) memcpy(to, &byte, 1);
    }
    return t;
}

static void test_floats(void) {
    static const double pi[] = {3.14159}, plain[] = {1, 2.5, -3.25}, whole[] = {1, 2, -30};
    static const double special[] = {0, NAN, INFINITY, -INFINITY, 1.5}, tiny[] = {1e-5, 1, -2};
    static const double large[] = {1, 2e9}, huge[] = {3e38, 0}, zeros[] = {0, 0, 0, 0};
    static const double signs[] = {-0.0, 0}, nans[] = {NAN, -NAN};
    static const double halves[] = {.1, 65504}, tenths[] = {.1, 1000}, eights[] = {.5, -2};
    CHECK_TEXT(floats(pi, OX_SCALAR_SHAPE, OX_F32), "tensor(3.1416)");
    CHECK_TEXT(floats(plain, OX_SHAPE(3), OX_F32), "tensor([ 1.0000,  2.5000, -3.2500])");
    CHECK_TEXT(floats(whole, OX_SHAPE(3), OX_F32), "tensor([  1.,   2., -30.])");
    CHECK_TEXT(floats(special, OX_SHAPE(5), OX_F32), "tensor([0.0000,    nan,    inf,   -inf, 1.5000])");
    CHECK_TEXT(floats(tiny, OX_SHAPE(3), OX_F32), "tensor([ 1.0000e-05,  1.0000e+00, -2.0000e+00])");
    CHECK_TEXT(floats(large, OX_SHAPE(2), OX_F32), "tensor([1.0000e+00, 2.0000e+09])");
    CHECK_TEXT(floats(huge, OX_SHAPE(2), OX_F32), "tensor([3.0000e+38, 0.0000e+00])");
    CHECK_TEXT(floats(zeros, OX_SHAPE(2, 2), OX_F32), "tensor([[0., 0.],\n        [0., 0.]])");
    CHECK_TEXT(floats(signs, OX_SHAPE(2), OX_F32), "tensor([-0., 0.])");
    CHECK_TEXT(floats(nans, OX_SHAPE(2), OX_F32), "tensor([nan, nan])");
    CHECK_TEXT(floats(halves, OX_SHAPE(2), OX_F16), "tensor([9.9976e-02, 6.5504e+04], dtype=f16)");
    CHECK_TEXT(floats(tenths, OX_SHAPE(2), OX_BF16), "tensor([1.0010e-01, 1.0000e+03], dtype=bf16)");
    CHECK_TEXT(floats(halves, OX_SHAPE(1), OX_F64), "tensor([0.1000], dtype=f64)");
    CHECK_TEXT(floats(eights, OX_SHAPE(2), OX_F8_E4M3), "tensor([ 0.5000, -2.0000], dtype=f8_e4m3)");
    CHECK_TEXT(floats(eights, OX_SHAPE(2), OX_F8_E5M2), "tensor([ 0.5000, -2.0000], dtype=f8_e5m2)");
}

static void test_other_classes(void) {
    static const uint8_t bools[] = {1, 0, 0, 1}, bytes[] = {1, 255};
    static const int64_t ints[] = {1, -200, 30, 4}, ends[] = {INT64_MIN, INT64_MAX};
    static const uint64_t wide[] = {0, UINT64_MAX};
    static const int32_t columns[] = {7};
    static const float complex_numbers[] = {1, 2, -.5f, -3, 0, NAN};
    CHECK_TEXT(ox_from_data(bools, OX_SHAPE(2, 2), OX_BOOL),
               "tensor([[ True, False],\n        [False,  True]])");
    CHECK_TEXT(ox_from_data(ints, OX_SHAPE(2, 2), OX_I64), "tensor([[   1, -200],\n        [  30,    4]])");
    CHECK_TEXT(ox_from_data(bytes, OX_SHAPE(2), OX_U8), "tensor([  1, 255], dtype=u8)");
    CHECK_TEXT(ox_from_data(bytes, OX_SHAPE(2), OX_I8), "tensor([ 1, -1], dtype=i8)");
    CHECK_TEXT(ox_from_data(columns, OX_SHAPE(1, 1), OX_I32), "tensor([[7]], dtype=i32)");
    CHECK_TEXT(ox_from_data(wide, OX_SHAPE(2), OX_U64),
               "tensor([                   0, 18446744073709551615], dtype=u64)");
    CHECK_TEXT(ox_from_data(ends, OX_SHAPE(2), OX_I64),
               "tensor([-9223372036854775808,  9223372036854775807])");
    CHECK_TEXT(ox_from_data(complex_numbers, OX_SHAPE(3), OX_C64),
               "tensor([ 1.0000+2.j, -0.5000-3.j,  0.0000+nanj])");
    CHECK_TEXT(ox_from_data(ints, OX_SHAPE(0), OX_F32), "tensor([])");
    CHECK_TEXT(ox_from_data(ints, OX_SHAPE(0, 3), OX_F32), "tensor([], size=(0, 3))");
    CHECK_TEXT(ox_from_data(ints, OX_SHAPE(2, 0), OX_I64), "tensor([], size=(2, 0), dtype=i64)");
}

static ox_tensor *counted(int64_t count, ox_shape shape, ox_dtype dtype) {
    double *data = (double *)malloc((size_t)count * sizeof *data);
    for (int64_t i = 0; i < count; i++) data[i] = (double)i;
    ox_tensor *t = floats(data, shape, dtype);
    free(data);
    return t;
}

static void test_shapes(void) {
    CHECK_TEXT(counted(8, OX_SHAPE(2, 2, 2), OX_F32),
               "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])");
    CHECK_TEXT(counted(30, OX_SHAPE(30), OX_I64),
               "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
               "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])");
    CHECK_TEXT(counted(1001, OX_SHAPE(1001), OX_I64), "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
    CHECK_TEXT(counted(1200, OX_SHAPE(40, 30), OX_F32),
               "tensor([[0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 2.7000e+01, 2.8000e+01,\n"
               "         2.9000e+01],\n"
               "        [3.0000e+01, 3.1000e+01, 3.2000e+01,  ..., 5.7000e+01, 5.8000e+01,\n"
               "         5.9000e+01],\n"
               "        [6.0000e+01, 6.1000e+01, 6.2000e+01,  ..., 8.7000e+01, 8.8000e+01,\n"
               "         8.9000e+01],\n"
               "        ...,\n"
               "        [1.1100e+03, 1.1110e+03, 1.1120e+03,  ..., 1.1370e+03, 1.1380e+03,\n"
               "         1.1390e+03],\n"
               "        [1.1400e+03, 1.1410e+03, 1.1420e+03,  ..., 1.1670e+03, 1.1680e+03,\n"
               "         1.1690e+03],\n"
               "        [1.1700e+03, 1.1710e+03, 1.1720e+03,  ..., 1.1970e+03, 1.1980e+03,\n"
               "         1.1990e+03]])");
    CHECK_TEXT(counted(11, OX_SHAPE(11), OX_F64),
               "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10.], dtype=f64)");
}

static void test_views(void) {
    OX_SCOPE {
        ox_tensor *a = counted(6, OX_SHAPE(2, 3), OX_F32);
        CHECK_TEXT(ox_retain(ox_t(a)), "tensor([[0., 3.],\n        [1., 4.],\n        [2., 5.]])");
        ox_tensor *b = counted(10, OX_SHAPE(10), OX_I64);
        CHECK_TEXT(ox_retain(ox_slice(b, 0, 1, OX_END, 3)), "tensor([1, 4, 7])");
        CHECK_TEXT(ox_retain(backwards(b, OX_DIMS(0))), "tensor([9, 8, 7, 6, 5, 4, 3, 2, 1, 0])");
        CHECK_TEXT(ox_retain(ox_expand(ox_narrow(b, 0, 7, 1), OX_SHAPE(3))), "tensor([7, 7, 7])");
        CHECK_TEXT(ox_retain(ox_select(b, 0, 4)), "tensor(4)");
    }
}

static void test_room(void) {
    char text[20];
    ox_tensor *t = counted(3, OX_SHAPE(3), OX_I64);      /* tensor([0, 1, 2]): 17 characters */
    memset(text, '#', sizeof text);
    CHECK(ox_format(t, text, 10) == 17 && strcmp(text, "tensor([0") == 0 && text[10] == '#');
    CHECK(ox_format(t, text, 17) == 17 && strcmp(text, "tensor([0, 1, 2]") == 0);
    CHECK(ox_format(t, text, 18) == 17 && strcmp(text, "tensor([0, 1, 2])") == 0);
    CHECK(ox_format(t, text, 1) == 17 && text[0] == 0);
    text[0] = '#';
    CHECK(ox_format(t, text, 0) == 17 && text[0] == '#');
    CHECK(ox_format(NULL, text, sizeof text) == 0 && text[0] == 0);
    ox_release(t);
}

/* ---- a device whose memory the CPU cannot read as it lies ---------------------------------------------- */

typedef struct far_state {
    const char *memory;
    int reads;
    bool fails;
} far_state;

static ox_status far_read(ox_device *self, const void *memory, size_t offset, void *out, size_t bytes) {
    far_state *state = (far_state *)self->state;
    (void)memory;
    state->reads++;
    if (state->fails) return oxi_fail(OX_ERR_DEVICE, "far: lost");
    memcpy(out, state->memory + offset, bytes);
    return OX_OK;
}

static void test_far_device(void) {
    static float memory[400000];
    far_state state;
    ox_device device;
    ox_tensor meta;
    int64_t shape[2] = {2, 3};
    char text[400];
    memset(&state, 0, sizeof state);
    memset(&device, 0, sizeof device);
    for (int i = 0; i < 400000; i++) memory[i] = (float)(i % 1000);
    state.memory = (const char *)memory;
    device.name = "far:0";
    device.read = far_read;
    device.state = &state;
    ox_storage *storage = oxi_storage_borrow(&device, &state, sizeof memory, NULL, NULL);
    oxi_meta(&meta, OX_F32, 2, shape);
    meta.offset = 5;
    ox_tensor *t = oxi_tensor_over(storage, &meta);
    CHECK_TEXT(t, "tensor([[ 5.,  6.,  7.],\n        [ 8.,  9., 10.]], device='far:0')");
    CHECK(state.reads == 2);                             /* once each for the text and for its length */
    meta.stride[0] = 300002;                             /* too far apart to be read at once */
    meta.stride[1] = -1;
    state.reads = 0;
    CHECK_TEXT(oxi_tensor_over(storage, &meta),
               "tensor([[5., 4., 3.],\n        [7., 6., 5.]], device='far:0')");
    CHECK(state.reads == 12);
    state.fails = true;
    t = oxi_tensor_over(storage, &meta);
    CHECK(ox_format(t, text, sizeof text) == 0 && text[0] == 0 && ox_error() == OX_ERR_DEVICE);
    ox_error_clear();
    meta.offset = 399998;                                /* beyond the storage: an error, not a wild read */
    meta.stride[1] = 1;
    state.fails = false;
    ox_tensor *wild = oxi_tensor_over(storage, &meta);
    CHECK(ox_format(wild, text, sizeof text) == 0 && ox_error() == OX_ERR_INDEX);
    ox_error_clear();
    ox_release(t);
    ox_release(wild);
    oxi_storage_release(storage);
}

/* ---- block types: the numbers that they stand for ------------------------------------------------ */

static void test_blocks(void) {
    static unsigned char bytes[2 * 34 + 2 * 50];
    char text[1000];
    bytes[1] = 0x3c; /* the scale 1 in f16, then 32 integers */
    for (int i = 0; i < 32; i++) bytes[2 + i] = (unsigned char)i;
    ox_tensor *t = ox_from_blob(bytes, OX_SHAPE(2, 32), NULL, OX_Q8_0, NULL, NULL);
    ox_format(t, text, sizeof text);
    CHECK_MSG(strncmp(text, "tensor([[ 0.,  1.,  2.,  3.,  4.,", 33) == 0, "%s", text);
    CHECK_MSG(strstr(text, "dtype=q8_0)") != NULL, "%s", text);
    ox_release(t);
    t = ox_from_blob(bytes, OX_SHAPE(2, 256), NULL, OX_IQ1_S, NULL, NULL); /* left out of this build */
    ox_format(t, text, sizeof text);
    CHECK_MSG(strcmp(text, "tensor(..., size=(2, 256), dtype=iq1_s)") == 0, "%s", text);
    CHECK(ox_error() == OX_OK);
    OX_SCOPE {
        const char *words = "iq1_s is left out of this build (OX_NO_IQ)";
        CHECK(!ox_linear(ox_ones(OX_SHAPE(1, 256), OX_F32), t, NULL) && ox_error() == OX_ERR_UNSUPPORTED);
        CHECK_MSG(strstr(ox_error_text(), words) != NULL, "%s", ox_error_text());
        ox_error_clear();
        CHECK(!ox_embedding(ox_zeros(OX_SHAPE(2), OX_I64), t) && ox_error() == OX_ERR_UNSUPPORTED);
        CHECK_MSG(strstr(ox_error_text(), words) != NULL, "%s", ox_error_text());
        ox_error_clear();
        CHECK(!ox_cast(t, OX_F32) && ox_error() == OX_ERR_UNSUPPORTED);
        CHECK_MSG(strstr(ox_error_text(), words) != NULL, "%s", ox_error_text());
        ox_error_clear();
    }
    ox_release(t);
}

int main(void) {
    test_floats();
    test_other_classes();
    test_shapes();
    test_views();
    test_room();
    test_far_device();
    test_blocks();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_memory_get_stats().tensors == 0 && ox_memory_get_stats().storages == 0 &&
          ox_memory_get_stats().bad_releases == 0);
    ox_shutdown();
    return check_done("print");
}
