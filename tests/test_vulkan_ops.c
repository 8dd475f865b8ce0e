/* test_vulkan_ops.c - ops whose result on a Vulkan device is the CPU's bit by bit, and that take no detour:
 * order, on lines that take several passes. Skipped with the reason where there is no device. */
#include "operands.h"
#include "oxtorch_vulkan.h"

static ox_device *gpu;

static ox_tensor *there(ox_tensor *t) {
    return t ? ox_to(t, gpu) : NULL;
}
static ox_tensor *back(ox_tensor *t) {
    return t ? ox_contiguous(ox_to(t, ox_cpu())) : NULL;
}
static bool same(ox_tensor *got, ox_tensor *want) {
    return got && want && same_bits(back(got), ox_contiguous(want));
}

/* ---- order --------------------------------------------------------------------------------------------- */

static void check_pair(const char *what, ox_dtype dtype, int64_t k, ox_pair got, ox_pair want) {
    CHECK_MSG(same(got.values, want.values) && same(got.indices, want.indices), "%s of %s, %lld: %s", what,
              ox_dtype_name(dtype), (long long)k, ox_error_text());
}

static void check_order(void) {
    static const ox_dtype dtypes[] = {OX_F32, OX_I64, OX_BF16, OX_U8};
    static const int64_t counts[] = {1, 100, 513, 700, 5000};
    int64_t detours = ox_stats().detours;
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        OX_SCOPE {
            ox_tensor *x = ox_cast(ox_mul_number(ox_randn(OX_SHAPE(5000, 3), OX_F32), 50), dtypes[d]);
            ox_tensor *lines = ox_flip(ox_t(x), OX_DIMS(1)), *y = ox_flip(ox_t(there(x)), OX_DIMS(1));
            for (int down = 0; down < 2; down++)
                check_pair("sort", dtypes[d], down, ox_sort(y, 1, down), ox_sort(lines, 1, down));
            for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                check_pair("topk", dtypes[d], counts[i], ox_topk(y, counts[i], 1, true),
                           ox_topk(lines, counts[i], 1, true));
            check_pair("sort of short lines", dtypes[d], 3, ox_sort(ox_t(y), -1, false),
                       ox_sort(ox_t(lines), -1, false));
        }
    CHECK_MSG(ox_stats().detours == detours, "%lld detours", (long long)(ox_stats().detours - detours));
}

int main(void) {
    gpu = ox_vulkan(0);
    if (!gpu) {
        check_skip("vulkan", ox_error_text());
        return check_done("vulkan_ops");
    }
    check_order();
    CHECK_MSG(ox_error() == OX_OK, "%s", ox_error_text());
    CHECK(ox_vulkan_close(gpu) == OX_OK);
    CHECK_MSG(ox_stats().tensors == 0 && ox_stats().storages == 0, "%lld tensors left",
              (long long)ox_stats().tensors);
    return check_done("vulkan_ops");
}
