// lines.glsl - operands cut into lines: a place for each kept position, and the elements along the rest.
// param[0] kept positions, elements of a line, kept dims, line dims; [1] f0 f1 f2, one word more;
// [2] first elements of four operands; [3 + d] their strides along kept dim d; [11 + d] along line dim d;
// [19], [20] kept shape; [21], [22] line shape.

uvec4 kept_places(const uint i) {
    return places_of(param[2], i, param[0].z, 3, 19);
}
uvec4 line_places(const uint i) {
    return places_of(uvec4(0), i, param[0].w, 11, 21);
}
