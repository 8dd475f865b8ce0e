// blocks.glsl - elements of whichever block an operand lies in: where there are more operands than blocks can
// be bound, those of one block share its binding. `block` is a constant wherever these are called.
#include "common/quads.glsl"
#include "tables/memory_chain.glsl"

#define DEFINE_BLOCK(k)                                   \
    DEFINE_LOAD(load_of_##k, b##k)                        \
    DEFINE_STORE(store_to_##k, b##k)                      \
    DEFINE_LOAD_QUAD(quad_of_##k, b##k, p##k, q##k)       \
    DEFINE_STORE_QUAD(quad_to_##k, b##k, p##k, q##k)
DEFINE_BLOCK(0)
DEFINE_BLOCK(1)
DEFINE_BLOCK(2)
DEFINE_BLOCK(3)
DEFINE_BLOCK(4)
DEFINE_BLOCK(5)

uint load(const uint block, const uint dtype, const uint e) {
    switch (block) {
    case 0: return load_of_0(dtype, e).x;
    case 1: return load_of_1(dtype, e).x;
    case 2: return load_of_2(dtype, e).x;
    case 3: return load_of_3(dtype, e).x;
    case 4: return load_of_4(dtype, e).x;
    default: return load_of_5(dtype, e).x;
    }
}
uvec4 load_quad(const uint block, const uint dtype, const uint e) {
    switch (block) {
    case 0: return quad_of_0(dtype, e);
    case 1: return quad_of_1(dtype, e);
    case 2: return quad_of_2(dtype, e);
    case 3: return quad_of_3(dtype, e);
    case 4: return quad_of_4(dtype, e);
    default: return quad_of_5(dtype, e);
    }
}
void store(const uint block, const uint dtype, const uint e, const uint raw) {
    switch (block) {
    case 0: store_to_0(dtype, e, uvec2(raw, 0)); break;
    case 1: store_to_1(dtype, e, uvec2(raw, 0)); break;
    case 2: store_to_2(dtype, e, uvec2(raw, 0)); break;
    case 3: store_to_3(dtype, e, uvec2(raw, 0)); break;
    case 4: store_to_4(dtype, e, uvec2(raw, 0)); break;
    default: store_to_5(dtype, e, uvec2(raw, 0)); break;
    }
}
void store_quad(const uint block, const uint dtype, const uint e, const uvec4 raw) {
    switch (block) {
    case 0: quad_to_0(dtype, e, raw); break;
    case 1: quad_to_1(dtype, e, raw); break;
    case 2: quad_to_2(dtype, e, raw); break;
    case 3: quad_to_3(dtype, e, raw); break;
    case 4: quad_to_4(dtype, e, raw); break;
    default: quad_to_5(dtype, e, raw); break;
    }
}
