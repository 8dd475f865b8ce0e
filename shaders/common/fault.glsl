// fault.glsl - what a shader finds wrong: the first finding stays in FAULT_BLOCK until the host reads it.
#include "tables/fault.glsl"

#define DEFINE_TELL(name, block)                                                           \
    void name(const uint place, const uint kind, const uvec2 value, const uint size) {      \
        if (atomicCompSwap(block.d[place + FAULT_kind], 0, kind) != 0) return;              \
        block.d[place + FAULT_value_low] = value.x;                                         \
        block.d[place + FAULT_value_high] = value.y;                                        \
        block.d[place + FAULT_size] = size;                                                 \
    }
DEFINE_TELL(tell, FAULT_BLOCK)
