// chain.glsl - elementwise ops one behind the other, in registers: operands in, a program's steps, results
// out. The program is constants (STEP0 ..): each function that is called with some is copied for them before
// a driver sees it (vulkan/driver/copies.c), so that a step has no other op in it. The includer brings the
// functions, and VALUE, what a value is: four neighbors of f32, or one f64.

// Step k: its op, and the places of its operands among the values.
#define OP_OF(k) STEP##k & 0xff
#define PLACE_OF(k, i) STEP##k >> (8 + 8 * i) & 0xff
#define NUMBERS_OF(k) \
    uvec2(NUMBER_A##k, NUMBER_B##k), uvec2(NUMBER_C##k, NUMBER_D##k), uvec2(NUMBER_E##k, NUMBER_F##k)

#include "common/any_block.glsl"
