/* The executor of the families FILL and RANDOM: which generator or function an op has. Called by the CPU
 * device. */

/* Who makes the elements of a row of form/generate.def one by one: by its code. */
static bool (*const oxi_makes[])(const oxi_fill_job *job, int64_t first, int64_t n, void *values) = {
#define oxi_make_fill NULL
#define oxi_make_eye NULL
#define oxi_make_randperm NULL
#define oxi_make_multinomial NULL
#define OXI_GENERATE(op, kind, numbers) oxi_make_##op,
#include "form/generate.def"
#undef OXI_GENERATE
#undef oxi_make_fill
#undef oxi_make_eye
#undef oxi_make_randperm
#undef oxi_make_multinomial
};

static ox_status oxi_fill_one_by_one(const oxi_call *call, const oxi_generated_form *form,
                                     const oxi_part *part) {
    oxi_fill_job job;
    memset(&job, 0, sizeof job);
    job.call = call;
    job.out = call->out[0];
    job.count = job.all = ox_numel(job.out);
    if (part) {
        job.from = part->first;
        job.all = ox_numel(part->whole->out[0]);
    }
    job.lane = form->whole ? OXI_LANE_I64 : OXI_LANE_F64;
    job.make = oxi_makes[form->code];
    if (form->numbers == OXI_NUMBERS_UNIT && form->first < form->second)
        job.last_below = oxi_number_below(job.out->dtype, form->first, form->second);
    oxi_fill_run(&job);
    if (job.bad)
        return oxi_fail(OX_ERR_ARG, "%s: a probability is not in [0, 1]", oxi_op_row_of(call->op)->name);
    return OX_OK;
}

static ox_status oxi_cpu_fill(const oxi_call *call, const oxi_part *part) {
    oxi_generated_form form = oxi_generated_form_of(call);
    unsigned char element[8];
    switch (form.kind) {
    case OXI_GENERATES_CONSTANT:
        oxi_fill_element(form.first, form.low, call->out[0]->dtype, element);
        oxi_fill_strided(call->out[0], element);
        return OX_OK;
    case OXI_GENERATES_DIAGONAL: return oxi_fill_eye(call);
    case OXI_GENERATES_TOGETHER: return form.whole ? oxi_fill_randperm(call) : oxi_multinomial_run(call);
    default: return oxi_fill_one_by_one(call, &form, part);
    }
}
