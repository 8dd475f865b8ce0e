// blocks.glsl - elements of up to 32 bits of whichever block an operand lies in.
#include "common/any_quads.glsl"
#include "common/any_block.glsl"

uint load(const uint block, const uint dtype, const uint e) {
    return load_any(block, dtype, e).x;
}
void store(const uint block, const uint dtype, const uint e, const uint raw) {
    store_any(block, dtype, e, uvec2(raw, 0));
}
