// where.comp - one of two operands by a mask, and copies of raw elements.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 3
#include "map_begin.glsl"
#define SELECTS

uvec2 compute(uvec2 a, uvec2 b, uvec2 c) {
    return (a.x & 0xff) != 0 ? b : c;
}

#include "map_end.glsl"
