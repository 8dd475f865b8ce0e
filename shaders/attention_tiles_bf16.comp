// attention_tiles_bf16.comp - attention_tiles.glsl in bf16.
#version 450
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_EXT_bfloat16 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require
#define ELEMENT bfloat16_t
#define ELEMENT_IS_BF16
#include "element.glsl"
#include "attention_tiles.glsl"
