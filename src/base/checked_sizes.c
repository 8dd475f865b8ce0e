/* Checked arithmetic for sizes that come from callers and files.
 * Each returns false, and leaves *out alone, when the result does not fit.
 * Used wherever bytes, shapes, strides and offsets are worked out. */

OXI_SMALL bool oxi_mul_size(size_t a, size_t b, size_t *out) {
    if (a != 0 && b > SIZE_MAX / a) return false;
    *out = a * b;
    return true;
}

OXI_SMALL bool oxi_add_size(size_t a, size_t b, size_t *out) {
    if (b > SIZE_MAX - a) return false;
    *out = a + b;
    return true;
}

OXI_SMALL bool oxi_mul_i64(int64_t a, int64_t b, int64_t *out) {
#if defined(__GNUC__) || defined(__clang__)
    int64_t product;
    bool fits = !__builtin_mul_overflow(a, b, &product);
    if (fits) *out = product;
#else
    bool fits;
    if (a == 0 || b == 0) {
        fits = true;
    } else if (a > 0) {
        fits = b > 0 ? a <= INT64_MAX / b : b >= INT64_MIN / a;
    } else {
        fits = b > 0 ? a >= INT64_MIN / b : b >= INT64_MAX / a;
    }
    if (fits) *out = a * b;
#endif
    return fits;
}

OXI_SMALL bool oxi_add_i64(int64_t a, int64_t b, int64_t *out) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
    *out = a + b;
    return true;
}
