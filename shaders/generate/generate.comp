// generate.comp - ramps of integers, random numbers that need no arithmetic in f64.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "generate/generate.glsl"
