/* Rows: which dims of x make one up, and what is done with it. */

static const struct {
    oxi_op op;
    oxi_row_extent extent;
    oxi_reduction_kind measure;
    oxi_row_kind finish;
} oxi_row_table[] = {
#define OXI_ROWS(op, row, measure, finish) \
    {OXI_OP_##op, OXI_ROW_##row, OXI_REDUCES_##measure, OXI_ROW_##finish},
#include "form/rows.def"
#undef OXI_ROWS
};

static oxi_row_form oxi_row_form_of(const oxi_call *call) {
    const ox_tensor *x = call->in[0];
    oxi_row_form form;
    size_t i = 0;
    memset(&form, 0, sizeof form);
    while (oxi_row_table[i].op != call->op) i++; /* every op of the family is there: tests/test_calls.c */
    form.finish = oxi_row_table[i].finish;
    form.measure = oxi_row_table[i].measure;
    switch (oxi_row_table[i].extent) {
    case OXI_ROW_ONE: form.inside = x->ndim ? 1u << call->attr.along.dim : 0; break;
    case OXI_ROW_LAST:
        form.eps = call->attr.norm.eps;
        for (int d = x->ndim - (int)call->attr.norm.last_dims; d < x->ndim; d++) form.inside |= 1u << d;
        break;
    case OXI_ROW_GROUPS:
        form.eps = call->attr.groups.eps;
        form.groups = call->attr.groups.groups;
        for (int d = 1; d < x->ndim; d++) form.inside |= 1u << d;
        break;
    }
    return form;
}
