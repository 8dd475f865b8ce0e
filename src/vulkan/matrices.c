/* Cooperative matrices and integer dot products: whether the device has them (square matrices that the tiles
 * can use), and asking for them. Structures are our own where the headers are older than the extensions
 * (VK_KHR_cooperative_matrix 2023, VK_KHR_shader_bfloat16 2025; numbers from the Vulkan registry). Called by
 * loader.c. */

enum {
    OXI_VK_SHADER_F16_FEATURES = 1000082000,
    OXI_VK_MEMORY_MODEL_FEATURES = 1000211000,
    OXI_VK_MATRIX_FEATURES = 1000506000,
    OXI_VK_MATRIX_PROPERTIES = 1000506001,
    OXI_VK_BF16_FEATURES = 1000141000,
    OXI_VK_DOT_FEATURES = 1000280000,
    OXI_VK_COMPONENT_F16 = 0,
    OXI_VK_COMPONENT_F32 = 1,
    OXI_VK_COMPONENT_BF16 = 1000141000,
    OXI_VK_SCOPE_SUBGROUP = 3
};

#define OXI_VK_DOT_EXTENSION "VK_KHR_shader_integer_dot_product"

/* All feature structures that are used here are a header and a few booleans. */
typedef struct oxi_vk_feature {
    int32_t type; /* VkStructureType */
    void *next;
    VkBool32 has[4];
} oxi_vk_feature;

typedef struct oxi_vk_matrix {
    int32_t type;
    void *next;
    uint32_t m, n, k;
    int32_t a, b, c, result; /* VkComponentTypeKHR */
    VkBool32 saturates;
    int32_t scope; /* VkScopeKHR */
} oxi_vk_matrix;

typedef VkResult(VKAPI_PTR *oxi_vk_list_matrices)(VkPhysicalDevice physical, uint32_t *count,
                                                  oxi_vk_matrix *out);

/* Structures to chain to vkCreateDevice, each asking for its first boolean. */
typedef struct oxi_vk_matrix_features {
    oxi_vk_feature arithmetic, model, matrices, bf16, dot;
} oxi_vk_matrix_features;

/* The side of square matrices of this component with f32 sums: 16 before 8; 0 = there are none. */
static uint32_t oxi_vk_matrix_side(const oxi_vk_device *d, int32_t component) {
    oxi_vk_list_matrices list = (oxi_vk_list_matrices)vkGetInstanceProcAddr(
        d->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");
    oxi_vk_matrix found[64];
    uint32_t count = 64, side = 0;
    if (!list) return 0;
    memset(found, 0, sizeof found);
    for (uint32_t i = 0; i < count; i++) found[i].type = OXI_VK_MATRIX_PROPERTIES;
    VkResult result = list(d->physical, &count, found);
    if (result != VK_SUCCESS && result != VK_INCOMPLETE) return 0;
    for (uint32_t i = 0; i < count; i++) {
        const oxi_vk_matrix *x = &found[i];
        bool square = x->m == x->n && x->n == x->k && (x->m == 16 || x->m == 8);
        bool sums = x->c == OXI_VK_COMPONENT_F32 && x->result == OXI_VK_COMPONENT_F32;
        if (square && sums && x->a == component && x->b == component && x->scope == OXI_VK_SCOPE_SUBGROUP &&
            x->m > side)
            side = x->m;
    }
    return side;
}

/* The caps of the device that have to do with matrices. */
static uint32_t oxi_vk_matrix_caps(oxi_vk_device *d, const VkExtensionProperties *list, uint32_t count,
                                   const VkPhysicalDeviceSubgroupProperties *subgroup) {
    oxi_vk_matrix_features f;
    VkPhysicalDeviceFeatures2 all;
    uint32_t caps = 0;
    if (d->api_version < VK_API_VERSION_1_2 ||
        !oxi_vk_has_extension(list, count, "VK_KHR_cooperative_matrix") ||
        !(subgroup->supportedStages & VK_SHADER_STAGE_COMPUTE_BIT) ||
        subgroup->subgroupSize > 64 || /* the tiles are cut for eight of at most 64 */
        8 * subgroup->subgroupSize > d->limits.maxComputeWorkGroupInvocations ||
        d->limits.maxComputeSharedMemorySize < 32768)
        return 0;
    bool knows_bf16 = oxi_vk_has_extension(list, count, "VK_KHR_shader_bfloat16");
    memset(&f, 0, sizeof f);
    memset(&all, 0, sizeof all);
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    all.pNext = &f.arithmetic;
    f.arithmetic.type = OXI_VK_SHADER_F16_FEATURES;
    f.arithmetic.next = &f.model;
    f.model.type = OXI_VK_MEMORY_MODEL_FEATURES;
    f.model.next = &f.matrices;
    f.matrices.type = OXI_VK_MATRIX_FEATURES;
    f.matrices.next = knows_bf16 ? &f.bf16 : NULL;
    f.bf16.type = OXI_VK_BF16_FEATURES;
    vkGetPhysicalDeviceFeatures2(d->physical, &all);
    if (!f.model.has[0] || !f.matrices.has[0]) return 0;
    d->matrix_side = oxi_vk_matrix_side(d, OXI_VK_COMPONENT_F16);
    if (f.arithmetic.has[0] && d->matrix_side) caps |= OX_VULKAN_COOPERATIVE;
    /* has: the type, dot products, matrices */
    if (caps && f.bf16.has[0] && f.bf16.has[2] &&
        oxi_vk_matrix_side(d, OXI_VK_COMPONENT_BF16) == d->matrix_side)
        caps |= OX_VULKAN_BF16;
    return caps;
}

/* Dot products of bytes with 32-bit sums. */
static uint32_t oxi_vk_dot_caps(const oxi_vk_device *d, const VkExtensionProperties *list, uint32_t count) {
    oxi_vk_feature dot;
    VkPhysicalDeviceFeatures2 all;
    if (!oxi_vk_has_extension(list, count, OXI_VK_DOT_EXTENSION)) return 0;
    memset(&dot, 0, sizeof dot);
    memset(&all, 0, sizeof all);
    all.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    all.pNext = &dot;
    dot.type = OXI_VK_DOT_FEATURES;
    vkGetPhysicalDeviceFeatures2(d->physical, &all);
    return dot.has[0] ? OX_VULKAN_DOT : 0;
}

/* Adds to vkCreateDevice what d->caps use. */
static void oxi_vk_ask_matrices(const oxi_vk_device *d, oxi_vk_matrix_features *f, const char **names,
                                uint32_t *wanted, VkDeviceCreateInfo *info) {
    memset(f, 0, sizeof *f);
    if (d->caps & OX_VULKAN_DOT) {
        names[(*wanted)++] = OXI_VK_DOT_EXTENSION;
        f->dot.type = OXI_VK_DOT_FEATURES;
        f->dot.has[0] = VK_TRUE;
        info->pNext = &f->dot;
    }
    if (!(d->caps & (OX_VULKAN_COOPERATIVE | OX_VULKAN_BF16))) return;
    names[(*wanted)++] = "VK_KHR_cooperative_matrix";
    f->arithmetic.type = OXI_VK_SHADER_F16_FEATURES;
    f->arithmetic.has[0] = (d->caps & OX_VULKAN_COOPERATIVE) != 0;
    f->arithmetic.next = &f->model;
    f->model.type = OXI_VK_MEMORY_MODEL_FEATURES;
    f->model.has[0] = VK_TRUE;
    f->model.next = &f->matrices;
    f->matrices.type = OXI_VK_MATRIX_FEATURES;
    f->matrices.has[0] = VK_TRUE;
    f->matrices.next = (void *)(uintptr_t)info->pNext;
    info->pNext = &f->arithmetic;
    if (!(d->caps & OX_VULKAN_BF16)) return;
    names[(*wanted)++] = "VK_KHR_shader_bfloat16";
    f->bf16.type = OXI_VK_BF16_FEATURES;
    f->bf16.has[0] = f->bf16.has[2] = VK_TRUE;
    f->bf16.next = f->matrices.next;
    f->matrices.next = &f->bf16;
}
