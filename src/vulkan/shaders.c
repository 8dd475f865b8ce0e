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
static const uint32_t oxi_vk_code_map_function[] = {
#include "vulkan/spirv/map_function.inc"
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
static const uint32_t oxi_vk_code_reduce_double[] = {
#include "vulkan/spirv/reduce_double.inc"
};
static const uint32_t oxi_vk_code_row[] = {
#include "vulkan/spirv/row.inc"
};
static const uint32_t oxi_vk_code_scan[] = {
#include "vulkan/spirv/scan.inc"
};
static const uint32_t oxi_vk_code_scan_double[] = {
#include "vulkan/spirv/scan_double.inc"
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
    bool subnormals; /* are to be kept */
} oxi_vk_code;

static const oxi_vk_code oxi_vk_shaders[OXI_VK_SHADER_COUNT] = {
#define OXI_X(name, subnormals) {oxi_vk_code_##name, sizeof oxi_vk_code_##name, subnormals != 0},
#include "vulkan/shaders.def"
#undef OXI_X
};

/* What makes a module keep subnormals of f32 (SPV_KHR_float_controls): three instructions at its beginning.
 * They are put in here since a device without the extension takes no module that has them. */
static const uint32_t oxi_vk_keep_capability[] = {2u << 16 | 17, 4464};
static const uint32_t oxi_vk_keep_extension[] = {7u << 16 | 10, 0x5f565053u, 0x5f52484bu, 0x616f6c66u,
                                                 0x6f635f74u,   0x6f72746eu, 0x0000736cu}; /* its name */
static const uint32_t oxi_vk_keep_mode[] = {4u << 16 | 16, 0, 4459, 32}; /* 0: the entry point */

enum {
    OXI_VK_KEEP_BYTES = sizeof oxi_vk_keep_capability + sizeof oxi_vk_keep_extension + sizeof oxi_vk_keep_mode
};

/* Writes the module with them to `out`, [bytes + OXI_VK_KEEP_BYTES]. */
static void oxi_vk_keep_subnormals(const oxi_vk_code *shader, uint32_t *out) {
    const uint32_t *in = shader->code;
    size_t count = shader->bytes / 4, i = 5; /* behind the header */
    bool entered = false;
    memcpy(out, in, 20);
    out += 5;
    memcpy(out, oxi_vk_keep_capability, sizeof oxi_vk_keep_capability);
    out += 2;
    for (bool capabilities = true; i < count && !entered;) {
        uint32_t code = in[i] & 0xffff, words = in[i] >> 16;
        if (capabilities && code != 17) {
            memcpy(out, oxi_vk_keep_extension, sizeof oxi_vk_keep_extension);
            out += 7;
            capabilities = false;
        }
        memcpy(out, in + i, 4 * (size_t)words);
        out += words;
        if (code == 15) { /* OpEntryPoint, of which there is one */
            memcpy(out, oxi_vk_keep_mode, sizeof oxi_vk_keep_mode);
            out[1] = in[i + 2];
            out += 4;
            entered = true;
        }
        i += words;
    }
    memcpy(out, in + i, 4 * (count - i));
}
