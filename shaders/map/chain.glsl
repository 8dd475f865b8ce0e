// chain.glsl - elementwise ops one behind the other, in registers: operands in, a program's steps, results
// out. The program is constants (STEP0 ..): each function that is called with some is copied for them before
// a driver sees it (vulkan/driver/copies.c), so that a step has no other op in it. The includer brings the
// functions, and VALUE, what a value is: four neighbors of f32, or one f64.

// Step k: its op, and the places of its operands among the values.
#define OP_OF(k) STEP##k & 0xff
#define PLACE_OF(k, i) STEP##k >> (8 + 8 * i) & 0xff
#define NUMBERS_OF(k) \
    uvec2(NUMBER_A##k, NUMBER_B##k), uvec2(NUMBER_C##k, NUMBER_D##k), uvec2(NUMBER_E##k, NUMBER_F##k)

#define DEFINE_BLOCK(k)           \
    DEFINE_LOAD(load_of_##k, b##k) \
    DEFINE_STORE(store_to_##k, b##k)
DEFINE_BLOCK(0)
DEFINE_BLOCK(1)
DEFINE_BLOCK(2)
DEFINE_BLOCK(3)
DEFINE_BLOCK(4)
DEFINE_BLOCK(5)

uvec2 load(const uint block, const uint dtype, const uint e) {
    switch (block) {
    case 0: return load_of_0(dtype, e);
    case 1: return load_of_1(dtype, e);
    case 2: return load_of_2(dtype, e);
    case 3: return load_of_3(dtype, e);
    case 4: return load_of_4(dtype, e);
    default: return load_of_5(dtype, e);
    }
}
void store(const uint block, const uint dtype, const uint e, const uvec2 raw) {
    switch (block) {
    case 0: store_to_0(dtype, e, raw); break;
    case 1: store_to_1(dtype, e, raw); break;
    case 2: store_to_2(dtype, e, raw); break;
    case 3: store_to_3(dtype, e, raw); break;
    case 4: store_to_4(dtype, e, raw); break;
    default: store_to_5(dtype, e, raw); break;
    }
}
