/* Padding: constants are joined to the ends; what is in the tensor already is selected by index, so that its
 * gradient adds up where an element was taken twice. */

#define OXI_PAD_MOST ((int64_t)1 << 60) /* sums of two with a size stay below INT64_MAX */

typedef enum oxi_pad_mode {
    OXI_PAD_CONSTANT,
    OXI_PAD_REFLECT,
    OXI_PAD_REPLICATE,
    OXI_PAD_CIRCULAR
} oxi_pad_mode;

/* Which of `count` words the given one is, NULL being the first; -1 and an error. */
static int oxi_mode_word(const char *name, const char *const *words, int count, const char *given) {
    for (int i = 0; i < count; i++)
        if (!given || strcmp(given, words[i]) == 0) return i;
    (void)oxi_fail(OX_ERR_ARG, "%s: no mode \"%s\"", name, given);
    return -1;
}

static ox_tensor *oxi_pad_constant(ox_tensor *x, int dim, int64_t before, int64_t behind, double value) {
    ox_tensor *parts[3];
    int count = 0;
    ox_shape shape = ox_shape_of(x);
    ox_scalar number = ox_scalar_float(value);
    ox_tensor *one = oxi_full_scalar(OX_SCALAR_SHAPE, number, x->dtype, oxi_working_device(ox_device_of(x)));
    shape.dim[dim] = before;
    if (before > 0) parts[count++] = ox_expand(one, shape);
    parts[count++] = x;
    shape.dim[dim] = behind;
    if (behind > 0) parts[count++] = ox_expand(one, shape);
    for (int i = 0; i < count; i++)
        if (!parts[i]) return NULL;
    return ox_cat(parts, count, dim);
}

/* Which element of a dim of n stands at each place from -before to n + behind. */
static ox_tensor *oxi_pad_places(ox_tensor *x, int64_t n, int64_t before, int64_t behind, oxi_pad_mode mode) {
    ox_tensor *at = oxi_ramp_beside(x, before + n + behind, OX_I64);
    at = ox_sub(at, ox_integer(before));
    ox_tensor *last = ox_integer(n - 1);
    if (mode == OXI_PAD_CIRCULAR) return ox_remainder(at, ox_integer(n));
    if (mode == OXI_PAD_REPLICATE) return ox_clamp(at, 0, (double)(n - 1));
    return ox_sub(last, ox_abs(ox_sub(last, ox_abs(at))));
}

static bool oxi_pad_fits(const ox_tensor *x, int dim, int64_t before, int64_t behind, oxi_pad_mode mode) {
    int64_t n = x->shape[dim], longest = before > behind ? before : behind, most = OXI_PAD_MOST;
    if (mode == OXI_PAD_REFLECT) most = n - 1;
    if (mode == OXI_PAD_CIRCULAR) most = n;
    if (mode == OXI_PAD_REPLICATE && n == 0) most = 0;
    bool in_range =
        before > -OXI_PAD_MOST && before < OXI_PAD_MOST && behind > -OXI_PAD_MOST && behind < OXI_PAD_MOST;
    if (in_range && longest <= most && n + before + behind >= 0) return true;
    (void)oxi_fail(OX_ERR_ARG, "pad: %lld and %lld at the ends of dim %d of %s", (long long)before,
                   (long long)behind, dim, oxi_tensor_text(x));
    return false;
}

static ox_tensor *oxi_pad_dim(ox_tensor *x, int dim, int64_t before, int64_t behind, oxi_pad_mode mode,
                              double value) {
    if (!x || (before == 0 && behind == 0)) return x;
    if (!oxi_pad_fits(x, dim, before, behind, mode)) return NULL;
    int64_t cut = before < 0 ? -before : 0, end = x->shape[dim] - (behind < 0 ? -behind : 0);
    before = before < 0 ? 0 : before;
    behind = behind < 0 ? 0 : behind;
    if (mode == OXI_PAD_CONSTANT) {
        /* as torch, first one end and then the other: what is cut may be what the other end adds */
        if (end < cut)
            x = oxi_pad_constant(x, dim, before, behind, value);
        else
            return oxi_pad_constant(ox_narrow(x, dim, cut, end - cut), dim, before, behind, value);
        return before ? ox_narrow(x, dim, 0, before + end) : ox_narrow(x, dim, cut, x->shape[dim] - cut);
    }
    if (mode == OXI_PAD_CIRCULAR && end > cut) { /* torch's circle is of what is left */
        x = ox_narrow(x, dim, cut, end - cut);
        cut = 0;
        end -= x ? end - x->shape[dim] : 0;
    }
    if (!x) return NULL;
    ox_tensor *places = oxi_pad_places(x, x->shape[dim], before, behind, mode);
    if (cut || end < x->shape[dim]) places = ox_narrow(places, 0, cut, before + end + behind - cut);
    return ox_index_select(x, dim, places);
}

OX_API ox_tensor *ox_pad(ox_tensor *x, const int64_t *pad, int64_t count, const char *mode, double value) {
    static const char *const words[] = {"constant", "reflect", "replicate", "circular"};
    if (oxi_any_null("pad", &x, 1)) return NULL;
    int how = oxi_mode_word("pad", words, 4, mode);
    if (how < 0) return NULL;
    bool spatial = how != OXI_PAD_CONSTANT;
    if (count < 0 || count % 2 || count / 2 > x->ndim ||
        (spatial && (count == 0 || count > 6 || count / 2 + 1 > x->ndim || count / 2 + 2 < x->ndim)))
        return OXI_FAIL_NULL(OX_ERR_ARG, "pad: %lld numbers for %s, %s", (long long)count, oxi_tensor_text(x),
                             words[how]);
    oxi_work work = oxi_work_begin("pad");
    ox_tensor *y = x;
    for (int i = 0; i < count / 2 && y; i++)
        y = oxi_pad_dim(y, x->ndim - 1 - i, pad[2 * i], pad[2 * i + 1], (oxi_pad_mode)how, value);
    return oxi_work_end(&work, y == x ? ox_clone(x) : y);
}
