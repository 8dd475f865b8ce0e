/* Operands of large products whose lines are not in aligned groups, and results of 16 bits whose rows begin
 * within words: copies of them take part instead (a vocabulary of 50,257 is such a size). Called by
 * product.c. */

/* The number of neighbors that the product's shader takes at a time; 1: its operands are not copied. */
static int64_t oxi_vk_product_group_of(const oxi_vk_device *d, const oxi_vk_product *p) {
    ox_dtype a = p->form.t[1]->dtype, b = p->form.t[2]->dtype;
    bool many = p->whole_m >= OXI_VK_LAY_LEAST && p->whole_n >= OXI_VK_LAY_LEAST &&
                p->form.k >= OXI_VK_LAY_LEAST && !p->form.ids;
    if (!many || a != b) return 1;
    if (a == OX_F32) return 4;
    return oxi_vk_matrix_shader_by_types(d, p) == OXI_VK_SHADER_COUNT ? 1 : 8;
}

/* Whether memory is taken for a copy of these lines. */
static bool oxi_vk_product_lays(const ox_tensor *lines) {
    return ox_numel(lines) <= OXI_VK_LAY_BYTES / (int64_t)oxi_info(lines->dtype)->block_bytes;
}

/* Operands whose lines are not in aligned groups give way to copies whose are. */
static ox_status oxi_vk_product_lay(oxi_vk_device *d, oxi_vk_product *p, oxi_vk_laid *laid) {
    int64_t each = oxi_vk_product_group_of(d, p);
    oxi_vk_product_params params;
    ox_status status = OX_OK;
    for (int t = 1; t < 3 && each > 1 && status == OX_OK; t++) {
        int place[OX_MAX_DIMS];
        bool by_rows = p->form.column[t] == 1 || (t == 1 && p->form.row[t] != 1); /* else along k */
        oxi_vk_product_params_of(p, &params);
        if (oxi_vk_product_wide(p, &params, t, (uint32_t)each)) continue;
        ox_tensor lines = oxi_vk_product_lines(p, t, by_rows, place);
        if (!oxi_vk_product_lays(&lines)) continue;
        status = oxi_vk_lay(d, &lines, each, &laid->made[t], &laid->lines[t]);
        oxi_vk_product_put(p, t, &laid->lines[t], by_rows, place);
        p->padded[t] = true;
    }
    return status;
}

/* Results of 16 bits whose rows begin within words: neighbors would be written by different invocations. They
 * get rows of their own, from which they are copied. */
static ox_status oxi_vk_product_lay_result(oxi_vk_device *d, oxi_vk_product *p, oxi_vk_laid *laid) {
    int place[OX_MAX_DIMS];
    oxi_vk_product_params params;
    oxi_vk_product_params_of(p, &params);
    if (oxi_vk_product_group_of(d, p) != 8 || oxi_vk_width(p->form.t[0]->dtype) != 1) return OX_OK;
    if (p->form.column[0] == 1 && oxi_vk_product_aligned(p, &params, 0, p->form.row[0], 2)) return OX_OK;
    laid->to = oxi_vk_product_lines(p, 0, true, place);
    if (!oxi_vk_product_lays(&laid->to)) return OX_OK;
    int64_t shape[OX_MAX_DIMS];
    laid->lines[0] = laid->to;
    oxi_vk_lay_strides(&laid->to, 8, laid->lines[0].stride, shape);
    ox_status status = oxi_vk_temporary_make(d, &laid->made[0], laid->to.dtype, laid->to.ndim, shape);
    laid->lines[0].storage = laid->made[0].t.storage;
    laid->lines[0].offset = 0;
    oxi_vk_product_put(p, 0, &laid->lines[0], true, place);
    return status;
}
