/* old_names.h - what bits.c calls by other names, or with other arguments, in builds from before the public
 * names were settled (commit 5003ef9 and those behind it). It stands behind the implementation. A function
 * that such a build lacks gives NULL without an error, and bits.c prints no line for it. */
#ifndef OLD_NAMES_H
#define OLD_NAMES_H

/* ---- other names --------------------------------------------------------------------------------------- */

#define ox_dtype_get_info ox_dtype_of
#define OX_FLATTENED OX_NO_DIM
#define OX_ACTIVATION_RELU "relu"
#define OX_ACTIVATION_GELU "gelu"
#define OX_ACTIVATION_GELU_TANH "gelu_tanh"
#define OX_ACTIVATION_SILU "silu"
#define OX_ACTIVATION_SIGMOID "sigmoid"
#define OX_ACTIVATION_TANH "tanh"

/* What a call that means something else now was called then: the results are to be the same. */
#define MEANT(now, then) then

/* ---- other arguments: a macro is not expanded inside itself ------------------------------------------- */

#define ox_embedding(ids, table) ox_embedding(table, ids)
#define ox_prepack(weight) ox_prepack(weight, true)

/* products of i8 gave their sums */
static inline ox_tensor *old_int_mm(ox_tensor *a, ox_tensor *b) {
    return a && b && a->dtype == OX_I8 && b->dtype == OX_I8 ? ox_matmul(a, b) : NULL;
}
#define ox_int_mm old_int_mm

/* ---- functions that came later ------------------------------------------------------------------------- */

#define ox_nansum(...) NULL
#define ox_clamp_tensor(...) NULL
#define ox_conv2d(...) NULL
#define ox_instance_norm(...) NULL
#define ox_scatter_reduce(...) NULL
#define ox_linear_experts(...) NULL
#define ox_linear_attention(...) NULL
/* an operand of attention that came later: `desc.sinks = in[4]` */
#define sinks scale; \
    if (in[4]) return; \
    ox_tensor *old_sinks
/* as op_cases.h has it where OX_INPLACE_1 lists it */
static ox_tensor *run_exp10(ox_tensor *const *in) {
    (void)in;
    return NULL;
}
static ox_tensor *run_exp10_(ox_tensor *const *in) {
    (void)in;
    return NULL;
}

#endif
