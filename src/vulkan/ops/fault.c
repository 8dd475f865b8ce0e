/* What a shader has found wrong (shaders/common/fault.glsl), as the error that the CPU would have given. It
 * is known when numbers are read, so the message says that. Called by memory/transfer.c. */

static ox_status oxi_vk_fault_error(const oxi_vk_fault *found) {
    const oxi_op_row *row = oxi_op_row_of((oxi_op)(found->kind - 1));
    const char *late = "(found when numbers were read)";
    int64_t value = (int64_t)((uint64_t)found->value_high << 32 | found->value_low);
    if (row->family == OXI_FAMILY_INDEX || row->family == OXI_FAMILY_PRODUCT) {
        if (row->family == OXI_FAMILY_INDEX &&
            oxi_index_form_of((oxi_op)(found->kind - 1))->kind == OXI_INDEX_SELECT)
            return oxi_fail(OX_ERR_ARG, "%s: the operand changed while it was read", row->name);
        return oxi_fail(OX_ERR_INDEX, "%s: index %lld is out of range for a size of %u %s", row->name,
                        (long long)value, found->size, late);
    }
    if (oxi_generated_kind_of((oxi_op)(found->kind - 1)) == OXI_GENERATES_TOGETHER)
        return oxi_fail(OX_ERR_ARG, "%s: row %u: %s %s", row->name, ~found->value_low / 4,
                        oxi_multinomial_why((int)(~found->value_low % 4)), late);
    return oxi_fail(OX_ERR_ARG, "%s: a probability is not in [0, 1] %s", row->name, late);
}
