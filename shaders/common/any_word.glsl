// any_word.glsl - the word at place e of whichever block it lies in, as f32 or as bits. What writes is no
// function: `block` is a constant, and of the ways to write, the module keeps that one alone. Whoever looks
// at it, a driver or a layer, then sees which blocks a dispatch writes.
#ifndef ANY_WORD
#define ANY_WORD

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
#define PUT_BITS_OF(block, e, x)                 \
    {                                            \
        const uint put_at = e, put_bits = x;     \
        switch (block) {                         \
        case 0: b0.d[put_at] = put_bits; break;  \
        case 1: b1.d[put_at] = put_bits; break;  \
        case 2: b2.d[put_at] = put_bits; break;  \
        case 3: b3.d[put_at] = put_bits; break;  \
        case 4: b4.d[put_at] = put_bits; break;  \
        default: b5.d[put_at] = put_bits; break; \
        }                                        \
    }
#define PUT_WORD_OF(block, e, x) PUT_BITS_OF(block, e, floatBitsToUint(x))
// Adds to it; `was`: what was there.
#define ADD_BITS_OF(block, e, x, was)            \
    switch (block) {                             \
    case 0: was = atomicAdd(b0.d[e], x); break;  \
    case 1: was = atomicAdd(b1.d[e], x); break;  \
    case 2: was = atomicAdd(b2.d[e], x); break;  \
    case 3: was = atomicAdd(b3.d[e], x); break;  \
    case 4: was = atomicAdd(b4.d[e], x); break;  \
    default: was = atomicAdd(b5.d[e], x); break; \
    }

#endif
