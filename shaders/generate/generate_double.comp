// generate_double.comp - ramps of floats, uniform numbers of any range, normal ones: worked out in f64.
#version 450
#extension GL_GOOGLE_include_directive : require
#define DOUBLE
#include "generate/generate.glsl"
