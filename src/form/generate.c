/* Generated numbers: what they are worked out in, and from which numbers of the call. */

static const struct {
    oxi_op op;
    oxi_generated_kind kind;
    oxi_generated_numbers numbers;
} oxi_generated_table[] = {
#define OXI_GENERATE(op, kind, numbers) {OXI_OP_##op, OXI_GENERATES_##kind, OXI_NUMBERS_##numbers},
#include "form/generate.def"
#undef OXI_GENERATE
};

static size_t oxi_generated_place(oxi_op op) {
    size_t i = 0;
    while (oxi_generated_table[i].op != op) i++; /* every op of the families is there: tests/test_calls.c */
    return i;
}

OXI_UNUSED static oxi_generated_kind oxi_generated_kind_of(oxi_op op) {
    return oxi_generated_table[oxi_generated_place(op)].kind;
}

/* Integers get whole ends and steps. */
static void oxi_generated_ramp(oxi_generated_form *form, ox_dtype dtype, int64_t count) {
    if (oxi_is_int(dtype)) {
        form->first = trunc(form->first);
        form->second = trunc(form->second);
    }
    form->step = form->second;
    if (form->numbers == OXI_NUMBERS_DOUBLE)
        form->step = count > 1 ? (form->second - form->first) / (double)(count - 1) : 0;
    form->low = oxi_whole_bits(form->first);
    form->range = (uint64_t)oxi_whole_bits(form->second);
}

static oxi_generated_form oxi_generated_form_of(const oxi_call *call) {
    ox_dtype dtype = call->out[0]->dtype;
    oxi_generated_form form;
    double two[2] = {0, 0};
    size_t i = oxi_generated_place(call->op);
    memset(&form, 0, sizeof form);
    form.code = (int)i;
    form.kind = oxi_generated_table[i].kind;
    form.numbers = oxi_generated_table[i].numbers;
    bool scaled = oxi_attrs_numbers(call->op, &call->attr, two, 2) == 2 && !(two[0] == 0 && two[1] == 1);
    form.first = two[0];
    form.second = two[1];
    form.whole = form.numbers == OXI_NUMBERS_WHOLE ||
                 (form.numbers == OXI_NUMBERS_CLASS && !oxi_is_float(dtype));
    form.in_double = form.numbers == OXI_NUMBERS_DOUBLE ||
                     (form.numbers == OXI_NUMBERS_CLASS && !form.whole) ||
                     (form.numbers == OXI_NUMBERS_UNIT && scaled);
    switch (form.kind) {
    case OXI_GENERATES_CONSTANT: form.low = call->attr.fill.whole; break;
    case OXI_GENERATES_DIAGONAL:
        form.first = 1;
        form.low = 1;
        break;
    case OXI_GENERATES_RAMP: oxi_generated_ramp(&form, dtype, ox_numel(call->out[0])); break;
    case OXI_GENERATES_RANDOM:
        if (!form.whole) break;
        form.low = call->attr.randint.low;
        form.range = (uint64_t)call->attr.randint.high - (uint64_t)form.low;
        break;
    default: break;
    }
    return form;
}
