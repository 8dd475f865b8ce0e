/* The executors of the Vulkan device: each family of calls as dispatches of shaders. Which shader takes what
 * an op needs follows from its form (form/form.h) and from form/map.def and fused.def, not from its name.
 * Included by oxtorch_vulkan.h behind the driver; device.c has the table of executors. */
/* WORDS OF THIS ROOM
 *     place          of an operand: its first element, counted from the start of the block that it lies in
 *     walk           a shape and the strides of operands over it, dims merged where they can be (cpu/walk.c)
 *     line, kept     the elements that are reduced, scanned or normalized together; positions that there is
 *                    one of
 *     lane           what a map or a reduction computes in; raw: bits as they lie
 *     quad           four elements that lie one behind another and are loaded as one vector
 *     still          of an operand: its stride is 0, so all positions have the same element
 *     immediate      a number of the host that travels among the parameters instead of in memory
 *     each           how many elements an invocation takes
 *     units          a tensor of a block type seen as integers of 8, 16 or 32 bits, to be moved as it is
 *     few            of a product: so few rows of a that each weight is read once for all of them
 *     tail           what a product's shader does with its result for the call behind it
 *     temporary      a tensor that lives for one call, its memory taken from the device's and given back */
#ifndef OX_VULKAN_OPS_H
#define OX_VULKAN_OPS_H

/* What a shader has found wrong, in words (fault.c). */
static ox_status oxi_vk_fault_error(const oxi_vk_fault *found);

/* How a call becomes part of a dispatch with others: a row of fused.def. */
typedef enum oxi_vk_joins {
    OXI_VK_JOINS_NOTHING,
    OXI_VK_JOINS_PRODUCT,
    OXI_VK_JOINS_EXPERTS,
    OXI_VK_JOINS_WEIGHTS,
    OXI_VK_JOINS_SLOTS,
    OXI_VK_JOINS_SUM,
    OXI_VK_JOINS_GATE,
    OXI_VK_JOINS_ACTIVATION,
    OXI_VK_JOINS_NORM,
    OXI_VK_JOINS_ROPE,
    OXI_VK_JOINS_COPY,
    OXI_VK_JOINS_ATTENTION,
    OXI_VK_JOINS_SCAN
} oxi_vk_joins;
typedef struct oxi_vk_fused {
    oxi_op op;
    oxi_vk_joins role;
    uint32_t tail;
} oxi_vk_fused;

#endif
