// common.glsl - what every shader sees: parameters, six blocks of memory as words, its place in the work.
// A block holds many tensors; parameters give each operand's first element, counted from the block's start.
// Parameters (P_name, ROW_name of those that are vectors), specialization constants and codes have their
// names and numbers in src/vulkan/parameters.def, specialization.def and constants.def, from which tables/ is
// written.

#include "tables/memory.glsl"

// Workgroups are laid out in x and y where x alone does not reach.
uint group_index() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

// Element i, in row-major order, of a shape of `dims` dims: the places of up to four operands that begin at
// `at`. Parameters from `strides` on hold theirs, a dim each, those from `shape` on the sizes.
uint size_at(const uint shape, const uint d) {
    return param[shape + (d >> 2)][d & 3];
}
uvec4 places_of(uvec4 at, uint i, const uint dims, const uint strides, const uint shape) {
    for (uint d = dims; d-- > 1;) {
        uint size = size_at(shape, d);
        at += i % size * param[strides + d];
        i /= size;
    }
    return at + i * param[strides];
}

#include "tables/dtype.glsl"

bool is_float(const uint dtype) {
    return dtype == F16 || dtype == BF16 || dtype == F32 || dtype == E4M3 || dtype == E5M2;
}

// Of an element narrower than a word: where its bits begin, and as many ones as it has.
uint shift_of(const uint width, const uint e) {
    return (e & (3u >> width)) << (3 + width);
}
uint ones_of(const uint width) {
    return ~0u >> (32 - (8u << width));
}
// The element at place e, zero-extended: x holds the low word.
#define DEFINE_LOAD(name, block)                                                                       \
    uvec2 name(const uint dtype, const uint e) {                                                       \
        uint width = width_of(dtype);                                                                  \
        if (width == 3) return uvec2(block.d[2 * e], block.d[2 * e + 1]);                              \
        return uvec2(block.d[e >> (2 - width)] >> shift_of(width, e) & ones_of(width), 0);             \
    }
// Writes one element; neighbors in the same word may be written by others at the same time.
#define DEFINE_STORE(name, block)                                                                      \
    void name(const uint dtype, const uint e, const uvec2 bits) {                                      \
        uint width = width_of(dtype), at = width == 3 ? 2 * e : e >> (2 - width);                      \
        if (width < 2) {                                                                               \
            atomicAnd(block.d[at], ~(ones_of(width) << shift_of(width, e)));                           \
            atomicOr(block.d[at], (bits.x & ones_of(width)) << shift_of(width, e));                    \
            return;                                                                                    \
        }                                                                                              \
        block.d[at] = bits.x;                                                                          \
        if (width == 3) block.d[at + 1] = bits.y;                                                      \
    }
