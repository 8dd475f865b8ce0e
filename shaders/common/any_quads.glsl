// any_quads.glsl - the same as any_block.glsl, four neighbors at a time.
#include "common/quads.glsl"
#include "tables/memory_chain.glsl"

#define DEFINE_ANY_QUADS(k)                        \
    DEFINE_LOAD_QUAD(quad_of_##k, b##k, p##k, q##k) \
    DEFINE_STORE_QUAD(quad_to_##k, b##k, p##k, q##k)
DEFINE_ANY_QUADS(0)
DEFINE_ANY_QUADS(1)
DEFINE_ANY_QUADS(2)
DEFINE_ANY_QUADS(3)
DEFINE_ANY_QUADS(4)
DEFINE_ANY_QUADS(5)

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
