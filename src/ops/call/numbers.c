/* What has to be read of operands before a call can be made (OXI_NEEDS of ops.def): an answer of the device
 * that the host waits for. Public functions that make such a call come here first, and nothing else in ops/
 * reads numbers in the middle of a function; who captures calls cuts in oxi_read_numbers. */

typedef enum oxi_need {
    OXI_NEED_NONE,
    OXI_NEED_DIVISOR,
    OXI_NEED_COUNT,
    OXI_NEED_CLASSES
} oxi_need;

static oxi_need oxi_need_of(oxi_op op) {
    switch (op) {
#define OXI_NEEDS(op, need) case OXI_OP_##op: return OXI_NEED_##need;
#include "ops/ops.def"
    default: return OXI_NEED_NONE;
    }
}

/* Whether none of these truths is true; an error in these words where one is. */
static bool oxi_none_of(const char *name, ox_tensor *wrong, const char *words) {
    ox_tensor *any = wrong ? ox_any(wrong, OX_ALL_DIMS, false) : NULL;
    double found = 0;
    bool looked = any && ox_to_doubles(any, &found, 1) == OX_OK;
    if (found != 0) (void)oxi_fail(OX_ERR_ARG, "%s: %s", name, words);
    return looked && found == 0;
}

/* Integers divide by no zero: refused before anything is written. */
static bool oxi_check_divisor(const char *name, ox_tensor *a, ox_tensor *b) {
    if (ox_numel(a) == 0 || oxi_is_float(a->dtype) || oxi_is_float(b->dtype)) return true;
    return oxi_none_of(name, ox_eq(b, ox_integer(0)), "integer division by zero");
}

static bool oxi_count_true(ox_tensor *x, int64_t *count) {
    ox_tensor *found = ox_count_nonzero(x, OX_ALL_DIMS);
    *count = found ? ox_item_int(found) : -1;
    return *count >= 0;
}

/* The largest id + 1. */
static bool oxi_count_classes(const char *name, ox_tensor *ids, int64_t *count) {
    if (ox_numel(ids) == 0) {
        (void)oxi_fail(OX_ERR_SHAPE, "%s: %s has no ids to count the classes by", name, oxi_tensor_text(ids));
        return false;
    }
    ox_tensor *largest = ox_amax(ids, OX_ALL_DIMS, false);
    if (!largest) return false;
    int64_t most = ox_item_int(largest);
    if (oxi_add_i64(most, 1, count)) return true;
    (void)oxi_fail(OX_ERR_ARG, "%s: id %lld is too large", name, (long long)most);
    return false;
}

static bool oxi_read_numbers(const char *name, oxi_op op, ox_tensor *const *in, int count, oxi_attrs *attr) {
    oxi_need need = oxi_need_of(op);
    bool given = need == OXI_NEED_CLASSES && attr->classes.classes != -1, ready = true;
    if (need == OXI_NEED_NONE || given) return true;
    oxi_work work = oxi_work_begin(name);
    if (need == OXI_NEED_COUNT)
        ready = oxi_count_true(in[count - 1], &attr->counted.count);
    else if (need == OXI_NEED_CLASSES)
        ready = oxi_count_classes(name, in[0], &attr->classes.classes);
    else
        ready = oxi_check_divisor(name, in[0], in[1]);
    (void)oxi_work_end(&work, NULL);
    return ready;
}
