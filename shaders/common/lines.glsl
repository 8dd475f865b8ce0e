// lines.glsl - operands cut into lines: a place for each kept position, and the elements along the rest.
#include "tables/line.glsl"

uvec4 kept_places(const uint i) {
    return places_of(param[ROW_at], i, P_kept_dims, ROW_kept_stride, ROW_kept_shape);
}
uvec4 line_places(const uint i) {
    return places_of(uvec4(0), i, P_line_dims, ROW_line_stride, ROW_line_shape);
}
