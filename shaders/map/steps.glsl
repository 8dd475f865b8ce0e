// steps.glsl - element i of a product of two tensors and of what is done to it in place: STEPS_ADDCMUL adds
// another product, STEPS_ADD and STEPS_MUL take one more tensor, STEPS_SILU none. A step is four bits of
// STEPS_CODES; its tensors lie in the blocks of STEPS_BLOCKS and, from the eleventh on, STEPS_MORE_BLOCKS,
// three bits each, at the places that parameters from STEPS_AT on hold. The first tensors of steps 1 ..
// STEPS_KEPT are rows of a window, which are written one behind the other, STEPS_ROW elements apart, from
// P_window on.

// The word at place e of a block.
float word_of(const uint block, const uint e) {
    switch (block) {
    case 0: return uintBitsToFloat(b0.d[e]);
    case 1: return uintBitsToFloat(b1.d[e]);
    case 2: return uintBitsToFloat(b2.d[e]);
    case 3: return uintBitsToFloat(b3.d[e]);
    case 4: return uintBitsToFloat(b4.d[e]);
    default: return uintBitsToFloat(b5.d[e]);
    }
}
void put_word_of(const uint block, const uint e, const float x) {
    switch (block) {
    case 0: b0.d[e] = floatBitsToUint(x); break;
    case 1: b1.d[e] = floatBitsToUint(x); break;
    case 2: b2.d[e] = floatBitsToUint(x); break;
    case 3: b3.d[e] = floatBitsToUint(x); break;
    case 4: b4.d[e] = floatBitsToUint(x); break;
    default: b5.d[e] = floatBitsToUint(x); break;
    }
}
float step_operand(const uint which, const uint i) {
    uint block = which < 10 ? STEPS_BLOCKS >> (3 * which) & 7 : STEPS_MORE_BLOCKS >> (3 * (which - 10)) & 7;
    return word_of(block, param[STEPS_AT + which / 4][which % 4] + i);
}
float steps_of(const uint i, const bool writes) {
    float a[STEPS_MOST], b[STEPS_MOST];
    [[unroll]] for (uint k = 0; k < STEPS_MOST; k++) { /* all on their way before the first is needed */
        uint code = STEPS_CODES >> (4 * k) & 15;
        if (k < STEPS_COUNT && code != STEPS_SILU) a[k] = step_operand(2 * k, i);
        if (k < STEPS_COUNT && (k == 0 || code == STEPS_ADDCMUL)) b[k] = step_operand(2 * k + 1, i);
    }
    const uint to = STEPS_MORE_BLOCKS >> (3 * (2 * STEPS_MOST - 10)) & 7; /* behind all tensors' */
    [[unroll]] for (uint k = 1; k < STEPS_MOST; k++)
        if (k <= STEPS_KEPT && writes) put_word_of(to, P_window + (k - 1) * STEPS_ROW + i, a[k]);
    precise float s = a[0] * b[0];
    [[unroll]] for (uint k = 1; k < STEPS_MOST; k++) {
        if (k >= STEPS_COUNT) continue;
        switch (STEPS_CODES >> (4 * k) & 15) {
        case STEPS_ADDCMUL: s = fma(a[k], b[k], s); break;
        case STEPS_ADD: s = s + a[k]; break;
        case STEPS_MUL: s = s * a[k]; break;
        case STEPS_SILU: s = my_silu(s); break;
        }
    }
    return s;
}
