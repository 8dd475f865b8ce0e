// common.glsl - what every shader sees: parameters, six blocks of memory as words, its place in the work.
// A block holds many tensors; parameters give each operand's first element, counted from the block's start.

layout(set = 0, binding = 0, std140) uniform Params { uvec4 param[32]; };
layout(set = 1, binding = 0, std430) buffer Block0 { uint d[]; } b0;
layout(set = 1, binding = 1, std430) buffer Block1 { uint d[]; } b1;
layout(set = 1, binding = 2, std430) buffer Block2 { uint d[]; } b2;
layout(set = 1, binding = 3, std430) buffer Block3 { uint d[]; } b3;
layout(set = 1, binding = 4, std430) buffer Block4 { uint d[]; } b4;
layout(set = 1, binding = 5, std430) buffer Block5 { uint d[]; } b5;

// Workgroups are laid out in x and y where x alone does not reach.
uint group_index() {
    return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
}

// dtypes, as in ox_dtype
const uint BOOL = 1, U8 = 2, I8 = 3, U16 = 4, I16 = 5, U32 = 6, I32 = 7, U64 = 8, I64 = 9, F16 = 10,
           BF16 = 11, F32 = 12, F64 = 13, C64 = 14, E4M3 = 15, E5M2 = 16;

// log2 of an element's bytes
uint width_of(const uint dtype) {
    switch (dtype) {
    case BOOL: case U8: case I8: case E4M3: case E5M2: return 0;
    case U16: case I16: case F16: case BF16: return 1;
    case U64: case I64: case F64: case C64: return 3;
    default: return 2;
    }
}
bool is_float(const uint dtype) {
    return dtype == F16 || dtype == BF16 || dtype == F32 || dtype == E4M3 || dtype == E5M2;
}

// The element at place e, zero-extended: x holds the low word.
#define DEFINE_LOAD(name, block)                                                       \
    uvec2 name(const uint dtype, const uint e) {                                                   \
        switch (width_of(dtype)) {                                                     \
        case 0: return uvec2(block.d[e >> 2] >> ((e & 3) * 8) & 0xff, 0);              \
        case 1: return uvec2(block.d[e >> 1] >> ((e & 1) * 16) & 0xffff, 0);           \
        case 2: return uvec2(block.d[e], 0);                                           \
        default: return uvec2(block.d[2 * e], block.d[2 * e + 1]);                     \
        }                                                                              \
    }
// Writes one element; neighbours in the same word may be written by others at the same time.
#define DEFINE_STORE(name, block)                                                      \
    void name(const uint dtype, const uint e, const uvec2 bits) {                                        \
        uint shift, at;                                                                \
        switch (width_of(dtype)) {                                                     \
        case 0:                                                                        \
            at = e >> 2;                                                               \
            shift = (e & 3) * 8;                                                       \
            atomicAnd(block.d[at], ~(0xffu << shift));                                 \
            atomicOr(block.d[at], (bits.x & 0xff) << shift);                           \
            break;                                                                     \
        case 1:                                                                        \
            at = e >> 1;                                                               \
            shift = (e & 1) * 16;                                                      \
            atomicAnd(block.d[at], ~(0xffffu << shift));                               \
            atomicOr(block.d[at], (bits.x & 0xffff) << shift);                         \
            break;                                                                     \
        case 2: block.d[e] = bits.x; break;                                            \
        default:                                                                       \
            block.d[2 * e] = bits.x;                                                   \
            block.d[2 * e + 1] = bits.y;                                               \
        }                                                                              \
    }
