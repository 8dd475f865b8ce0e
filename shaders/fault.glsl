// fault.glsl - what a shader finds wrong: the first finding stays in block 5 until the host reads it.
// param[0].w: the fault's place, in words. Words: kind (op + 1, 0 = none), value low and high, size.

void tell(const uint place, const uint kind, const uvec2 value, const uint size) {
    if (atomicCompSwap(b5.d[place], 0, kind) != 0) return;
    b5.d[place + 1] = value.x;
    b5.d[place + 2] = value.y;
    b5.d[place + 3] = size;
}
