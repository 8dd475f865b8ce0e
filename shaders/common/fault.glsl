// fault.glsl - what a shader finds wrong: the first finding stays in FAULT_BLOCK until the host reads it.
#include "tables/fault.glsl"

void tell(const uint place, const uint kind, const uvec2 value, const uint size) {
    if (atomicCompSwap(FAULT_BLOCK.d[place + FAULT_kind], 0, kind) != 0) return;
    FAULT_BLOCK.d[place + FAULT_value_low] = value.x;
    FAULT_BLOCK.d[place + FAULT_value_high] = value.y;
    FAULT_BLOCK.d[place + FAULT_size] = size;
}
