/* What C and shaders share: memory as it is bound, workgroups, specialization constants, parameters and
 * codes. This and the .def files are the one source; tools/tables.c includes them and writes what shaders see
 * of it. */
#ifndef OX_VULKAN_SHARED_H
#define OX_VULKAN_SHARED_H

/* ---- memory and workgroups ----------------------------------------------------------------------------- */

enum {
    OXI_VK_PARAM_SET,                 /* descriptor sets: parameters, and blocks of memory */
    OXI_VK_BLOCK_SET,
    OXI_VK_DESCRIPTOR_SETS
};
enum {
    OXI_VK_BINDINGS = 6,              /* storage buffers of a shader */
    OXI_VK_FAULT_BINDING = 5,         /* where a shader tells what it found wrong */
    OXI_VK_PARAM_BYTES = 512,         /* most that a dispatch takes */
    OXI_VK_PUSHED_LEAST = 128,        /* of those, the first, as push constants: all devices have so many, */
    OXI_VK_PUSHED_MOST = 256,         /* and most of them so many */
    OXI_VK_THREADS = 256,             /* invocations of most shaders' workgroups: shaders.def */
    OXI_VK_FEW_THREADS = 64           /* where each takes much time */
};

/* ---- codes --------------------------------------------------------------------------------------------- */

enum { OXI_VK_LANE_RAW = OXI_LANE_COUNT };                     /* beside oxi_lane's: bits as they lie */
enum { OXI_VK_SOFTMAX, OXI_VK_LOG_SOFTMAX, OXI_VK_LAYER, OXI_VK_RMS };
/* Whole lines; what segments of lines come to; segments, which carry on from those. */
enum { OXI_VK_SCAN_WHOLE, OXI_VK_SCAN_TOTALS, OXI_VK_SCAN_CARRIED };
enum { OXI_VK_SELECT_COUNT, OXI_VK_SELECT_ADD_UP, OXI_VK_SELECT_WRITE, OXI_VK_SELECT_PASSES };
/* What a pass of attention_back.comp gives. */
enum { OXI_VK_BACK_QUERIES = 1, OXI_VK_BACK_KEYS = 2, OXI_VK_BACK_VALUES = 4, OXI_VK_BACK_KNOWN = 8 };
enum { OXI_VK_POOL_MOST, OXI_VK_POOL_AVERAGE, OXI_VK_POOL_BACK };
enum { OXI_VK_PERMUTE_LINK, OXI_VK_PERMUTE_DOUBLE_STEPS, OXI_VK_PERMUTE_GIVE };
enum { OXI_VK_MULTINOMIAL_LOOK, OXI_VK_MULTINOMIAL_DRAW };
/* What a product of few rows does with c: it is added to a sum, or its silu or gelu_tanh times another c, or
 * OXI_CHAIN_CLAMPED_GATE of both; some of it is an operand of steps; or, with an activation, it is times
 * another c. */
enum {
    OXI_VK_TAIL_NONE,
    OXI_VK_TAIL_ADD,
    OXI_VK_TAIL_SILU,
    OXI_VK_TAIL_GELU,
    OXI_VK_TAIL_CLAMPED,
    OXI_VK_TAIL_STEPS,
    OXI_VK_TAIL_GATED
};
enum { OXI_VK_ACT_SQUARE = OX_ACTIVATION_TANH + 1 }; /* the square of relu, beside ox_activation's */
/* How a product of few rows makes a: one of the first two or none, and what goes with it. */
enum {
    OXI_VK_NORM_RMS = 1,
    OXI_VK_NORM_LAYER = 2,
    OXI_VK_NORM_WRITTEN = 4,          /* the result is written as well */
    OXI_VK_NORM_WEIGHT = 8,
    OXI_VK_NORM_BIAS = 16,
    OXI_VK_NORM_ADDED = 32,           /* rms_norm of other rows is added first */
    OXI_VK_NORM_APART = 64,           /* what is written lies in block 4, where no biases are */
    OXI_VK_NORM_TAKEN = 128,          /* a is rounded already, by the product that made it .. */
    OXI_VK_NORM_LEFT = 256,           /* .. as this one does with what it makes, .. */
    OXI_VK_NORM_ADDED_PLAIN = 512,    /* what is added first is those rows themselves */
    OXI_VK_LEFT_ROOM = 256            /* .. so many results of a workgroup at most */
};
enum { OXI_VK_STEPS_MUL, OXI_VK_STEPS_ADDCMUL, OXI_VK_STEPS_ADD, OXI_VK_STEPS_SILU }; /* of steps.comp */
/* Operands of selective_scan.comp, as the call has them. */
enum {
    OXI_VK_SCAN_C,
    OXI_VK_SCAN_B,
    OXI_VK_SCAN_U,
    OXI_VK_SCAN_STEP,
    OXI_VK_SCAN_STATE,
    OXI_VK_SCAN_RATE,
    OXI_VK_SCAN_SKIP,
    OXI_VK_SCAN_GATE,
    OXI_VK_SCAN_BIAS,
    OXI_VK_SCAN_OPERANDS,
    OXI_VK_SCAN_MADE = OXI_VK_SCAN_OPERANDS /* what steps make of u, b and c */
};
enum { OXI_VK_ROUTE_SOFTMAX = 1, OXI_VK_ROUTE_SIGMOID }; /* what a router's scores are of its numbers */
/* A product of few rows goes on with the router's numbers that it makes, leaves parts of them, or chooses by
 * them (product/router.c). */
enum { OXI_VK_ROUTES_BEHIND = 1, OXI_VK_ROUTES_PARTS, OXI_VK_ROUTES_CHOICE };
/* What route.comp gives beside indices: scores, the same with a bias, the largest of them, scores at their
 * places, their softmax; the sum of weights, at least a bound, what they are divided by it and multiplied;
 * indices as i32. */
enum {
    OXI_VK_ROUTE_SCORES,
    OXI_VK_ROUTE_CHOICE,
    OXI_VK_ROUTE_VALUES,
    OXI_VK_ROUTE_PICKED,
    OXI_VK_ROUTE_LATE,
    OXI_VK_ROUTE_SUM,
    OXI_VK_ROUTE_BOUND,
    OXI_VK_ROUTE_SHARES,
    OXI_VK_ROUTE_SCALED,
    OXI_VK_ROUTE_IDS,
    OXI_VK_ROUTE_RESULTS
};
enum {
    OXI_VK_ROUTE_EXPERTS = 1024,      /* most of a row of route.comp, .. */
    OXI_VK_ROUTE_USED = 64,           /* .. and of those that are chosen, .. */
    OXI_VK_ROUTE_SHARED = 8 * (OXI_VK_ROUTE_EXPERTS + OXI_VK_ROUTE_USED), /* and bytes of a workgroup */
    OXI_VK_CHOICE_EXPERTS = 64,       /* most that the gate of experts chooses from: parts of 128 take each of
                                       * its workgroups longer than a dispatch of the router does; .. */
    OXI_VK_CHOICE_SHARED = 8 * (OXI_VK_CHOICE_EXPERTS + OXI_VK_ROUTE_USED), /* and bytes there */
    OXI_VK_RECURRENCE_COLUMNS = 32,   /* of a workgroup of linear_attention.comp, .. */
    OXI_VK_SCAN_COLUMNS = 16,         /* .. and of selective_scan.comp */
    OXI_VK_SCAN_HELD = 32,            /* most keys of an invocation of the latter, .. */
    OXI_VK_SCAN_INNER = 512,          /* .. and of the row of a product that makes its steps */
    OXI_VK_STEPS_MOST = 8,            /* of a dispatch of steps.comp */
    OXI_VK_SELECT_EACH = 16,          /* positions of an invocation of select.comp */
    OXI_VK_SORT_ROOM = 1024,          /* items of a workgroup of sort.comp */
    OXI_VK_TILE = 32,                 /* both sides of a tile of transpose.comp */
    OXI_VK_SIMPLE_TILE = 64,          /* and of product_simple.glsl */
    OXI_VK_TURN_NUMBERS = 1024,       /* of a workgroup of conv_turn.comp, about, .. */
    OXI_VK_TURN_TAPS = 16,            /* .. of so many taps at most */
    OXI_VK_LATENT_KEYS = 512,         /* most of attention_latent.comp */
    OXI_VK_ATTENTION_LEAD = 6         /* leading dims of attention, at most */
};

/* An error that a shader found: the first one since the last read. */
typedef struct oxi_vk_fault {
    uint32_t kind;                    /* 0 = none, else oxi_op + 1 */
    uint32_t value_low, value_high, size;
} oxi_vk_fault;

/* The word behind that: workgroups that are through; 0, but while a dispatch counts them. */
enum { OXI_VK_ARRIVED = sizeof(oxi_vk_fault) / 4 };

/* ---- specialization constants -------------------------------------------------------------------------- */

#define OXI_SPECIAL(member, otherwise) uint32_t member;
#define OXI_SPECIAL_EACH(member, count, otherwise) uint32_t member[count];
#define OXI_SPECIAL_BASE(name) oxi_vk_##name##_specials base;
#define OXI_SPECIAL_THREADS(member) uint32_t member;
#define OXI_SPECIAL_GAP(member, count) uint32_t member[count];
#define OXI_SPECIALS(name, list) typedef struct oxi_vk_##name##_specials { list } oxi_vk_##name##_specials;
#include "vulkan/specialization.def"
#undef OXI_SPECIAL
#undef OXI_SPECIAL_EACH
#undef OXI_SPECIAL_BASE
#undef OXI_SPECIAL_THREADS
#undef OXI_SPECIAL_GAP
#undef OXI_SPECIALS

/* Rows that begin with another's may be read as that one. */
typedef union oxi_vk_specials {
    uint32_t word[24];                /* most that a shader has: OXI_VK_SPECIALS */
#define OXI_SPECIALS(name, list) oxi_vk_##name##_specials name;
#include "vulkan/specialization.def"
#undef OXI_SPECIALS
} oxi_vk_specials;
enum { OXI_VK_SPECIALS = sizeof(oxi_vk_specials) / sizeof(uint32_t) };

/* Constants of a chain's shader behind those, which follow from its program: a step's op and the places of
 * its operands, 8 bits each; the op's numbers as f32 or f64 bits; then the values that are results, and the
 * number of steps. */
enum {
    OXI_VK_STEP_CONSTANTS = 7,
    OXI_VK_CHAIN_RESULTS = OXI_VK_SPECIALS + OXI_CHAIN_STEPS * OXI_VK_STEP_CONSTANTS,
    OXI_VK_CHAIN_COUNT = OXI_VK_CHAIN_RESULTS + OXI_MAX_OUT,
    OXI_VK_CONSTANTS
};

/* ---- parameters ---------------------------------------------------------------------------------------- */

#define OXI_WORD(member) uint32_t member;
#define OXI_WORDS(member, count) uint32_t member[count];
#define OXI_PAIR(member) uint32_t member[2];
#define OXI_PAIRS(member, count) uint32_t member[count][2];
#define OXI_STRIDES(member, count) uint32_t member[count][4];
#define OXI_LINES(member) oxi_vk_line_params member;
#define OXI_UNUSED_WORDS(member, count) uint32_t member[count];
#define OXI_PARAMS(name, list) typedef struct oxi_vk_##name##_params { list } oxi_vk_##name##_params;
#include "vulkan/parameters.def"
#undef OXI_WORD
#undef OXI_WORDS
#undef OXI_PAIR
#undef OXI_PAIRS
#undef OXI_STRIDES
#undef OXI_LINES
#undef OXI_UNUSED_WORDS
#undef OXI_PARAMS

#endif
