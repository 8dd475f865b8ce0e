/* Elementwise ops: their code in shaders, and which of them has what. */

static const struct {
    oxi_op op;
    oxi_map_shader shader;
} oxi_map_table[] = {
#define OXI_MAP(op, operands, simd, f64, integer, complex, shader, ...) \
    {OXI_OP_##op, OXI_MAP_SHADER_##shader},
#include "form/map.def"
};

OXI_UNUSED static oxi_map_row oxi_map_row_of(oxi_op op) {
    oxi_map_row row = {-1, OXI_MAP_SHADER_none};
    for (size_t i = 0; i < sizeof oxi_map_table / sizeof *oxi_map_table; i++) {
        if (oxi_map_table[i].op != op) continue;
        row.code = (int)i;
        row.shader = oxi_map_table[i].shader;
        break;
    }
    return row;
}
