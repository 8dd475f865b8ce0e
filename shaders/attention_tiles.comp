// attention_tiles.comp - attention_tiles.glsl in f16.
#version 450
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#define ELEMENT float16_t
#include "element.glsl"
#include "attention_tiles.glsl"
