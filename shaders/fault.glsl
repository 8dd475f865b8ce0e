// fault.glsl - what a shader finds wrong: the first finding stays in block 5 until the host reads it.
#include "tables/fault.glsl"

void tell(const uint place, const uint kind, const uvec2 value, const uint size) {
    if (atomicCompSwap(b5.d[place + FAULT_kind], 0, kind) != 0) return;
    b5.d[place + FAULT_value_low] = value.x;
    b5.d[place + FAULT_value_high] = value.y;
    b5.d[place + FAULT_size] = size;
}
