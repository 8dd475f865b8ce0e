// move.comp - copies between any dtypes and strides, and one of two operands by a mask.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#define MOVES
#define WIDE_DTYPES
#include "map/map_begin.glsl"

uvec2 compute(const uvec2 a, const uvec2 b, const uvec2 c) {
    if (OP == OP_copy) return a;
    return (a.x & 0xff) != 0 ? b : c;
}

#include "map/map_end.glsl"
