// copy.comp - copies between any dtypes and strides.
#version 450
#extension GL_GOOGLE_include_directive : require
#define OPERANDS 1
#include "map_begin.glsl"

uvec2 compute(uvec2 a, uvec2 b, uvec2 c) {
    return a;
}

#include "map_end.glsl"
