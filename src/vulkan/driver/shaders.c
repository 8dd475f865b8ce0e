/* The compiled shaders as the driver takes them: SPIR-V words, one array a shader.
 * `make shaders` writes spirv/<name>.inc from <name>.comp in the rooms of shaders/; the rows are those of
 * shaders.def. Read by record.c when a pipeline is made. */

static const uint32_t oxi_vk_code_move[] = {
#include "vulkan/spirv/move.inc"
};
static const uint32_t oxi_vk_code_transpose[] = {
#include "vulkan/spirv/transpose.inc"
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
static const uint32_t oxi_vk_code_chain[] = {
#include "vulkan/spirv/chain.inc"
};
static const uint32_t oxi_vk_code_chain_double[] = {
#include "vulkan/spirv/chain_double.inc"
};
static const uint32_t oxi_vk_code_pool[] = {
#include "vulkan/spirv/pool.inc"
};
static const uint32_t oxi_vk_code_pool_double[] = {
#include "vulkan/spirv/pool_double.inc"
};
static const uint32_t oxi_vk_code_generate[] = {
#include "vulkan/spirv/generate.inc"
};
static const uint32_t oxi_vk_code_generate_double[] = {
#include "vulkan/spirv/generate_double.inc"
};
static const uint32_t oxi_vk_code_reduce[] = {
#include "vulkan/spirv/reduce.inc"
};
static const uint32_t oxi_vk_code_reduce_double[] = {
#include "vulkan/spirv/reduce_double.inc"
};
static const uint32_t oxi_vk_code_softmax_norm[] = {
#include "vulkan/spirv/softmax_norm.inc"
};
static const uint32_t oxi_vk_code_rows_back[] = {
#include "vulkan/spirv/rows_back.inc"
};
static const uint32_t oxi_vk_code_channels_back[] = {
#include "vulkan/spirv/channels_back.inc"
};
static const uint32_t oxi_vk_code_recurrent_step[] = {
#include "vulkan/spirv/recurrent_step.inc"
};
static const uint32_t oxi_vk_code_attention_back_tiles[] = {
#include "vulkan/spirv/attention_back_tiles.inc"
};
static const uint32_t oxi_vk_code_attention_back[] = {
#include "vulkan/spirv/attention_back.inc"
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
static const uint32_t oxi_vk_code_pack[] = {
#include "vulkan/spirv/pack.inc"
};
static const uint32_t oxi_vk_code_pack_k[] = {
#include "vulkan/spirv/pack_k.inc"
};
static const uint32_t oxi_vk_code_permute[] = {
#include "vulkan/spirv/permute.inc"
};
static const uint32_t oxi_vk_code_multinomial[] = {
#include "vulkan/spirv/multinomial.inc"
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
static const uint32_t oxi_vk_code_product_integer[] = {
#include "vulkan/spirv/product_integer.inc"
};
static const uint32_t oxi_vk_code_product_tiles[] = {
#include "vulkan/spirv/product_tiles.inc"
};
static const uint32_t oxi_vk_code_conv[] = {
#include "vulkan/spirv/conv.inc"
};
static const uint32_t oxi_vk_code_conv_few[] = {
#include "vulkan/spirv/conv_few.inc"
};
static const uint32_t oxi_vk_code_conv_tiles[] = {
#include "vulkan/spirv/conv_tiles.inc"
};
static const uint32_t oxi_vk_code_conv_turn[] = {
#include "vulkan/spirv/conv_turn.inc"
};
static const uint32_t oxi_vk_code_gather[] = {
#include "vulkan/spirv/gather.inc"
};
static const uint32_t oxi_vk_code_scatter[] = {
#include "vulkan/spirv/scatter.inc"
};
static const uint32_t oxi_vk_code_scatter_double[] = {
#include "vulkan/spirv/scatter_double.inc"
};
static const uint32_t oxi_vk_code_select[] = {
#include "vulkan/spirv/select.inc"
};
static const uint32_t oxi_vk_code_pattern[] = {
#include "vulkan/spirv/pattern.inc"
};
static const uint32_t oxi_vk_code_steps[] = {
#include "vulkan/spirv/steps.inc"
};
static const uint32_t oxi_vk_code_route[] = {
#include "vulkan/spirv/route.inc"
};
static const uint32_t oxi_vk_code_selective_scan[] = {
#include "vulkan/spirv/selective_scan.inc"
};
static const uint32_t oxi_vk_code_linear_attention[] = {
#include "vulkan/spirv/linear_attention.inc"
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
static const uint32_t oxi_vk_code_attention_latent[] = {
#include "vulkan/spirv/attention_latent.inc"
};
static const uint32_t oxi_vk_code_attention_tiles[] = {
#include "vulkan/spirv/attention_tiles.inc"
};

typedef struct oxi_vk_code {
    const uint32_t *code;
    size_t bytes;
    uint32_t threads, traits;
} oxi_vk_code;

static const oxi_vk_code oxi_vk_shaders[OXI_VK_SHADER_COUNT] = {
#define OXI_X(name, code, table, threads, traits) \
    {oxi_vk_code_##code, sizeof oxi_vk_code_##code, threads, traits},
#include "vulkan/driver/shaders.def"
#undef OXI_X
};

/* ---- modules that are changed before a driver sees them ------------------------------------------------
 * Subnormals: a device without SPV_KHR_float_controls takes no module that names it. Sums over subgroups: one
 * that has none takes no module that could ask for them. Elements of cooperative
 * matrices: a module in bf16 is the one in f16 with another type, but for matrices of sums, which stay what
 * they are: a device need not have them in bf16. */

enum {
    OXI_VK_CHANGE_WORDS = 32, /* most that a module grows by */
    OXI_VK_SPV_HEADER = 5,    /* words */
    OXI_VK_SPV_EXTENSION = 10,
    OXI_VK_SPV_ENTRY = 15,
    OXI_VK_SPV_MODE = 16,
    OXI_VK_SPV_CAPABILITY = 17,
    OXI_VK_SPV_TYPE_FLOAT = 22,
    OXI_VK_SPV_CONSTANT = 43,
    OXI_VK_SPV_TYPE_MATRIX = 4456,
    OXI_VK_SPV_ACCUMULATOR = 2, /* a matrix's use */
    OXI_VK_SPV_FLOAT16 = 9,
    OXI_VK_SPV_ARITHMETIC = 63, /* GroupNonUniformArithmetic */
    OXI_VK_SPV_SHUFFLE = 65,    /* GroupNonUniformShuffle */
    OXI_VK_SPV_DENORM_PRESERVE = 4459, /* an execution mode */
    OXI_VK_SPV_DENORMS = 4464,         /* its capability */
    OXI_VK_SPV_BFLOAT16 = 5116,
    OXI_VK_SPV_BFLOAT16_MATRIX = 5118
};

static uint32_t *oxi_vk_put_capability(uint32_t *out, uint32_t capability) {
    out[0] = 2u << 16 | OXI_VK_SPV_CAPABILITY;
    out[1] = capability;
    return out + 2;
}

static uint32_t *oxi_vk_put_extension(uint32_t *out, const char *name) {
    uint32_t length = (uint32_t)strlen(name), words = 2 + length / 4;
    memset(out, 0, 4 * words);
    out[0] = words << 16 | OXI_VK_SPV_EXTENSION;
    for (uint32_t i = 0; i < length; i++) out[1 + i / 4] |= (uint32_t)(unsigned char)name[i] << (8 * (i % 4));
    return out + words;
}

/* Whether an instruction `code` of the module has `id` and then `value` from word `at` on. */
static bool oxi_vk_module_says(const oxi_vk_code *shader, uint32_t code, int at, uint32_t id,
                               uint32_t value) {
    const uint32_t *in = shader->code + OXI_VK_SPV_HEADER, *end = shader->code + shader->bytes / 4;
    for (; in < end; in += in[0] >> 16)
        if ((in[0] & 0xffff) == code && in[at] == id && in[at + 1] == value) return true;
    return false;
}

/* Writes the instruction `in` of `words` words, or what stands in its place. */
static uint32_t *oxi_vk_put_changed(uint32_t *out, const uint32_t *in, uint32_t words,
                                    const oxi_vk_code *shader) {
    uint32_t code = in[0] & 0xffff, traits = shader->traits, half = shader->code[3]; /* an id of its own */
    bool bf16 = traits & OXI_VK_IN_BF16;
    if (traits & OXI_VK_NO_ARITHMETIC && code == OXI_VK_SPV_CAPABILITY &&
        (in[1] == OXI_VK_SPV_ARITHMETIC || in[1] == OXI_VK_SPV_SHUFFLE))
        return out;
    memcpy(out, in, 4 * (size_t)words);
    out += words;
    if (bf16 && code == OXI_VK_SPV_CAPABILITY && in[1] == OXI_VK_SPV_FLOAT16)
        return oxi_vk_put_capability(oxi_vk_put_capability(out, OXI_VK_SPV_BFLOAT16),
                                     OXI_VK_SPV_BFLOAT16_MATRIX);
    if (bf16 && code == OXI_VK_SPV_TYPE_FLOAT && in[2] == 16) {
        out[-3] += 1u << 16;
        *out++ = 0; /* the encoding: BFloat16KHR */
        *out++ = in[0];
        *out++ = half;
        *out++ = 16;
    }
    if (bf16 && code == OXI_VK_SPV_TYPE_MATRIX &&
        oxi_vk_module_says(shader, OXI_VK_SPV_TYPE_FLOAT, 1, in[2], 16) &&
        oxi_vk_module_says(shader, OXI_VK_SPV_CONSTANT, 2, in[6], OXI_VK_SPV_ACCUMULATOR))
        out[2 - (int)words] = half;
    if (traits & OXI_VK_KEEPS_SUBNORMALS && code == OXI_VK_SPV_ENTRY) { /* of which there is one */
        out[0] = 4u << 16 | OXI_VK_SPV_MODE;
        out[1] = in[2];
        out[2] = OXI_VK_SPV_DENORM_PRESERVE;
        out[3] = 32;
        out += 4;
    }
    return out;
}

/* Writes the module with what its traits ask for to `out`, [bytes / 4 + OXI_VK_CHANGE_WORDS]; returns its
 * bytes. */
static size_t oxi_vk_change_module(const oxi_vk_code *shader, uint32_t *out) {
    const uint32_t *in = shader->code, *end = in + shader->bytes / 4;
    uint32_t *to = out + OXI_VK_SPV_HEADER, traits = shader->traits;
    memcpy(out, in, 4 * OXI_VK_SPV_HEADER);
    if (traits & OXI_VK_IN_BF16) out[3]++; /* ids */
    in += OXI_VK_SPV_HEADER;
    if (traits & OXI_VK_KEEPS_SUBNORMALS) to = oxi_vk_put_capability(to, OXI_VK_SPV_DENORMS);
    for (bool capabilities = true; in < end; in += in[0] >> 16) {
        if (capabilities && (in[0] & 0xffff) != OXI_VK_SPV_CAPABILITY) { /* behind them: extensions */
            capabilities = false;
            if (traits & OXI_VK_KEEPS_SUBNORMALS) to = oxi_vk_put_extension(to, "SPV_KHR_float_controls");
            if (traits & OXI_VK_IN_BF16) to = oxi_vk_put_extension(to, "SPV_KHR_bfloat16");
        }
        to = oxi_vk_put_changed(to, in, in[0] >> 16, shader);
    }
    return 4 * (size_t)(to - out);
}
