// any_word.glsl - the word at place e of whichever block it lies in, as f32 or as bits. `block` is a constant
// wherever these are called.
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
void put_bits_of(const uint block, const uint e, const uint x) {
    switch (block) {
    case 0: b0.d[e] = x; break;
    case 1: b1.d[e] = x; break;
    case 2: b2.d[e] = x; break;
    case 3: b3.d[e] = x; break;
    case 4: b4.d[e] = x; break;
    default: b5.d[e] = x; break;
    }
}
void put_word_of(const uint block, const uint e, const float x) {
    put_bits_of(block, e, floatBitsToUint(x));
}
// Adds to it; what was there.
uint add_bits_of(const uint block, const uint e, const uint x) {
    switch (block) {
    case 0: return atomicAdd(b0.d[e], x);
    case 1: return atomicAdd(b1.d[e], x);
    case 2: return atomicAdd(b2.d[e], x);
    case 3: return atomicAdd(b3.d[e], x);
    case 4: return atomicAdd(b4.d[e], x);
    default: return atomicAdd(b5.d[e], x);
    }
}

#endif
