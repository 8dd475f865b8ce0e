/* Elementwise ops: their code in shaders, and which of them has what. */

static const struct {
    oxi_op op;
    oxi_map_shader shader;
    const char *complex; /* GLSL, or NONE */
} oxi_map_table[] = {
#define OXI_MAP(op, operands, simd, f64, integer, complex, shader, glsl, glsl_f64, glsl_integer, ...) \
    {OXI_OP_##op, OXI_MAP_SHADER_##shader, #__VA_ARGS__},
#include "form/map.def"
};

OXI_UNUSED static oxi_map_row oxi_map_row_of(oxi_op op) {
    oxi_map_row row = {-1, OXI_MAP_SHADER_none, false};
    for (size_t i = 0; i < sizeof oxi_map_table / sizeof *oxi_map_table; i++) {
        if (oxi_map_table[i].op != op) continue;
        row.code = (int)i;
        row.shader = oxi_map_table[i].shader;
        row.complex = strcmp(oxi_map_table[i].complex, "NONE") != 0;
        break;
    }
    return row;
}
