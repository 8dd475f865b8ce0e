/* The compiled shaders as the driver takes them: SPIR-V words, one array a shader.
 * `make shaders` writes spirv/<name>.inc from shaders/<name>.comp; the rows are those of shaders.def.
 * Read by record.c when a pipeline is made. */

static const uint32_t oxi_vk_code_move[] = {
#include "vulkan/spirv/move.inc"
};
static const uint32_t oxi_vk_code_turn[] = {
#include "vulkan/spirv/turn.inc"
};
static const uint32_t oxi_vk_code_map_plain[] = {
#include "vulkan/spirv/map_plain.inc"
};
static const uint32_t oxi_vk_code_map_exp[] = {
#include "vulkan/spirv/map_exp.inc"
};
static const uint32_t oxi_vk_code_map_log[] = {
#include "vulkan/spirv/map_log.inc"
};
static const uint32_t oxi_vk_code_map_angle[] = {
#include "vulkan/spirv/map_angle.inc"
};
static const uint32_t oxi_vk_code_map_integer[] = {
#include "vulkan/spirv/map_integer.inc"
};
static const uint32_t oxi_vk_code_map_double[] = {
#include "vulkan/spirv/map_double.inc"
};
static const uint32_t oxi_vk_code_made[] = {
#include "vulkan/spirv/made.inc"
};
static const uint32_t oxi_vk_code_made_double[] = {
#include "vulkan/spirv/made_double.inc"
};
static const uint32_t oxi_vk_code_reduce[] = {
#include "vulkan/spirv/reduce.inc"
};
static const uint32_t oxi_vk_code_row[] = {
#include "vulkan/spirv/row.inc"
};
static const uint32_t oxi_vk_code_scan[] = {
#include "vulkan/spirv/scan.inc"
};
static const uint32_t oxi_vk_code_expand[] = {
#include "vulkan/spirv/expand.inc"
};
static const uint32_t oxi_vk_code_sort[] = {
#include "vulkan/spirv/sort.inc"
};
static const uint32_t oxi_vk_code_product[] = {
#include "vulkan/spirv/product.inc"
};
static const uint32_t oxi_vk_code_product_rows[] = {
#include "vulkan/spirv/product_rows.inc"
};
static const uint32_t oxi_vk_code_product_dot[] = {
#include "vulkan/spirv/product_dot.inc"
};
static const uint32_t oxi_vk_code_product_double[] = {
#include "vulkan/spirv/product_double.inc"
};
static const uint32_t oxi_vk_code_product_tiles[] = {
#include "vulkan/spirv/product_tiles.inc"
};
static const uint32_t oxi_vk_code_product_tiles_bf16[] = {
#include "vulkan/spirv/product_tiles_bf16.inc"
};
static const uint32_t oxi_vk_code_gather[] = {
#include "vulkan/spirv/gather.inc"
};
static const uint32_t oxi_vk_code_scatter[] = {
#include "vulkan/spirv/scatter.inc"
};
static const uint32_t oxi_vk_code_select[] = {
#include "vulkan/spirv/select.inc"
};
static const uint32_t oxi_vk_code_pattern[] = {
#include "vulkan/spirv/pattern.inc"
};
static const uint32_t oxi_vk_code_rope[] = {
#include "vulkan/spirv/rope.inc"
};
static const uint32_t oxi_vk_code_attention[] = {
#include "vulkan/spirv/attention.inc"
};
static const uint32_t oxi_vk_code_attention_row[] = {
#include "vulkan/spirv/attention_row.inc"
};
static const uint32_t oxi_vk_code_attention_tiles[] = {
#include "vulkan/spirv/attention_tiles.inc"
};
static const uint32_t oxi_vk_code_attention_tiles_bf16[] = {
#include "vulkan/spirv/attention_tiles_bf16.inc"
};

typedef struct oxi_vk_code {
    const uint32_t *code;
    size_t bytes;
} oxi_vk_code;

static const oxi_vk_code oxi_vk_shaders[OXI_VK_SHADER_COUNT] = {
#define OXI_X(name) {oxi_vk_code_##name, sizeof oxi_vk_code_##name},
#include "vulkan/shaders.def"
#undef OXI_X
};
