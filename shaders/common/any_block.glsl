// any_block.glsl - elements of whichever block an operand lies in: where there are more operands than blocks
// can be bound, those of one block share its binding. `block` is a constant wherever these are called.

#define DEFINE_ANY_BLOCK(k)        \
    DEFINE_LOAD(load_of_##k, b##k) \
    DEFINE_STORE(store_to_##k, b##k)
DEFINE_ANY_BLOCK(0)
DEFINE_ANY_BLOCK(1)
DEFINE_ANY_BLOCK(2)
DEFINE_ANY_BLOCK(3)
DEFINE_ANY_BLOCK(4)
DEFINE_ANY_BLOCK(5)

uvec2 load_any(const uint block, const uint dtype, const uint e) {
    switch (block) {
    case 0: return load_of_0(dtype, e);
    case 1: return load_of_1(dtype, e);
    case 2: return load_of_2(dtype, e);
    case 3: return load_of_3(dtype, e);
    case 4: return load_of_4(dtype, e);
    default: return load_of_5(dtype, e);
    }
}
void store_any(const uint block, const uint dtype, const uint e, const uvec2 raw) {
    switch (block) {
    case 0: store_to_0(dtype, e, raw); break;
    case 1: store_to_1(dtype, e, raw); break;
    case 2: store_to_2(dtype, e, raw); break;
    case 3: store_to_3(dtype, e, raw); break;
    case 4: store_to_4(dtype, e, raw); break;
    default: store_to_5(dtype, e, raw); break;
    }
}
