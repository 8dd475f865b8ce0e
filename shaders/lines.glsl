// lines.glsl - operands cut into lines: a place for each kept position, and the elements along the rest.
// param[0] kept positions, elements of a line, kept dims, line dims; [1] f0 f1 f2, one word more;
// [2] first elements of four operands; [3 + d] their strides along kept dim d; [11 + d] along line dim d;
// [19], [20] kept shape; [21], [22] line shape.

uvec4 kept_places(uint i) {
    uvec4 e = param[2];
    for (int d = int(param[0].z) - 1; d > 0; d--) {
        uint size = d < 4 ? param[19][d] : param[20][d - 4];
        e += i % size * param[3 + d];
        i /= size;
    }
    return e + i * param[3];
}
uvec4 line_places(uint i) {
    uvec4 e = uvec4(0);
    for (int d = int(param[0].w) - 1; d > 0; d--) {
        uint size = d < 4 ? param[21][d] : param[22][d - 4];
        e += i % size * param[11 + d];
        i /= size;
    }
    return e + i * param[11];
}
