/* The compiled shaders as the driver takes them: SPIR-V words, one array a shader.
 * `make shaders` writes spirv/<name>.inc from shaders/<name>.comp; the rows are those of shaders.def.
 * Read by record.c when a pipeline is made. */

static const uint32_t oxi_vk_code_map[] = {
#include "vulkan/spirv/map.inc"
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
