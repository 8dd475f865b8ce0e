// steps.glsl - element i of a product of two tensors and of what is done to it in place: STEPS_ADDCMUL adds
// another product, STEPS_ADD and STEPS_MUL take one more tensor, STEPS_SILU none. A step is four bits of
// STEPS_CODES; its tensors lie in the blocks of STEPS_BLOCKS and, from the eleventh on, STEPS_MORE_BLOCKS,
// three bits each, at the places that parameters from STEPS_AT on hold. The first tensors of steps 1 ..
// STEPS_KEPT are rows of a window, which are written one behind the other, STEPS_ROW elements apart, from
// P_window on. Tensors that STEPS_OWN has a bit of are what the shader itself makes.

#include "common/any_word.glsl"

float step_operand(const uint which, const uint i) {
    uint block = which < 10 ? STEPS_BLOCKS >> (3 * which) & 7 : STEPS_MORE_BLOCKS >> (3 * (which - 10)) & 7;
    return word_of(block, param[STEPS_AT + which / 4][which % 4] + i);
}
struct step_numbers {
    float a[STEPS_MOST], b[STEPS_MOST];
};
// What steps of element i are of, all on its way before the first is needed.
step_numbers fetched_steps(const uint i) {
    step_numbers s;
    [[unroll]] for (uint k = 0; k < STEPS_MOST; k++) {
        uint code = STEPS_CODES >> (4 * k) & 15;
        bool one = k < STEPS_COUNT && code != STEPS_SILU, two = one && (k == 0 || code == STEPS_ADDCMUL);
        if (one && (STEPS_OWN >> (2 * k) & 1) == 0) s.a[k] = step_operand(2 * k, i);
        if (two && (STEPS_OWN >> (2 * k + 1) & 1) == 0) s.b[k] = step_operand(2 * k + 1, i);
    }
    return s;
}
// own: the operand that lies nowhere yet.
float taken_steps(const uint i, step_numbers n, const float own, const bool writes) {
    const uint to = STEPS_MORE_BLOCKS >> (3 * (2 * STEPS_MOST - 10)) & 7; /* behind all tensors' */
    [[unroll]] for (uint k = 0; k < STEPS_MOST; k++) {
        if ((STEPS_OWN >> (2 * k) & 1) != 0) n.a[k] = own;
        if ((STEPS_OWN >> (2 * k + 1) & 1) != 0) n.b[k] = own;
        if (k > 0 && k <= STEPS_KEPT && writes) PUT_WORD_OF(to, P_window + (k - 1) * STEPS_ROW + i, n.a[k])
    }
    precise float s = n.a[0] * n.b[0];
    [[unroll]] for (uint k = 1; k < STEPS_MOST; k++) {
        if (k >= STEPS_COUNT) continue;
        switch (STEPS_CODES >> (4 * k) & 15) {
        case STEPS_ADDCMUL: s = fma(n.a[k], n.b[k], s); break;
        case STEPS_ADD: s = s + n.a[k]; break;
        case STEPS_MUL: s = s * n.a[k]; break;
        case STEPS_SILU: s = my_silu(s); break;
        }
    }
    return s;
}
float steps_of(const uint i, const bool writes) {
    return taken_steps(i, fetched_steps(i), 0, writes);
}
