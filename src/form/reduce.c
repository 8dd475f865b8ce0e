/* Reductions: a row of the table, and for norm what its number says. */

static const struct {
    oxi_op op;
    oxi_reduction_kind kind;
    oxi_reduction_finish finish;
    oxi_reduction_places places;
    oxi_reduction_reads reads;
} oxi_reductions[] = {
#define OXI_REDUCTION(op, kind, finish, places, reads) \
    {OXI_OP_##op, OXI_REDUCES_##kind, OXI_FINISH_##finish, OXI_PLACES_##places, OXI_READS_##reads},
#include "form/reduce.def"
#undef OXI_REDUCTION
};

static void oxi_reduction_by_power(oxi_reduction *r, double p) {
    r->kind = p == 2           ? OXI_REDUCES_SQUARES
              : p == 1         ? OXI_REDUCES_ABSOLUTE
              : p == 0         ? OXI_REDUCES_COUNT
              : p == INFINITY  ? OXI_REDUCES_MOST_ABSOLUTE
              : p == -INFINITY ? OXI_REDUCES_LEAST_ABSOLUTE
                               : OXI_REDUCES_POWERS;
    if (p == 2) r->finish = OXI_FINISH_ROOT;
    if (r->kind == OXI_REDUCES_POWERS) r->finish = OXI_FINISH_POWER;
}

static oxi_reduction oxi_reduction_of(const oxi_call *call) {
    oxi_reduction r;
    size_t i = 0;
    memset(&r, 0, sizeof r);
    while (oxi_reductions[i].op != call->op) i++; /* every op of the family is there: tests/test_calls.c */
    r.kind = oxi_reductions[i].kind;
    r.finish = oxi_reductions[i].finish;
    r.places = oxi_reductions[i].places;
    r.reads = oxi_reductions[i].reads;
    (void)oxi_attrs_numbers(call->op, &call->attr, &r.number, 1);
    if (r.kind == OXI_REDUCES_BY_POWER) oxi_reduction_by_power(&r, r.number);
    return r;
}

OXI_UNUSED static bool oxi_reduction_takes_sizes(const oxi_reduction *r) {
    return r->kind == OXI_REDUCES_SQUARES || r->kind == OXI_REDUCES_ABSOLUTE ||
           r->kind == OXI_REDUCES_MOST_ABSOLUTE || r->kind == OXI_REDUCES_LEAST_ABSOLUTE ||
           r->kind == OXI_REDUCES_POWERS;
}
