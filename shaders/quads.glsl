// quads.glsl - the first four blocks as words two and four at a time, and four elements at once of dtypes of
// up to 32 bits. Places are multiples of 4.

#include "words.glsl"

layout(set = 1, binding = 0, std430) buffer Pairs0 { uvec2 d[]; } p0;
layout(set = 1, binding = 1, std430) buffer Pairs1 { uvec2 d[]; } p1;
layout(set = 1, binding = 2, std430) buffer Pairs2 { uvec2 d[]; } p2;
layout(set = 1, binding = 3, std430) buffer Pairs3 { uvec2 d[]; } p3;
layout(set = 1, binding = 0, std430) buffer Quads0 { uvec4 d[]; } q0;
layout(set = 1, binding = 1, std430) buffer Quads1 { uvec4 d[]; } q1;
layout(set = 1, binding = 2, std430) buffer Quads2 { uvec4 d[]; } q2;
layout(set = 1, binding = 3, std430) buffer Quads3 { uvec4 d[]; } q3;

uvec4 halfwords_of(const uvec2 p) {
    return uvec4(p.x & 0xffff, p.x >> 16, p.y & 0xffff, p.y >> 16);
}
#define DEFINE_LOAD_QUAD(name, words, pairs, quads)                      \
    uvec4 name(const uint dtype, const uint e) {                                     \
        switch (width_of(dtype)) {                                       \
        case 0: return bytes_of(words.d[e >> 2]);                        \
        case 1: return halfwords_of(pairs.d[e >> 2]);                    \
        default: return quads.d[e >> 2];                                 \
        }                                                                \
    }
#define DEFINE_STORE_QUAD(name, words, pairs, quads)                                                    \
    void name(const uint dtype, const uint e, uvec4 v) {                                                \
        switch (width_of(dtype)) {                                                                      \
        case 0:                                                                                         \
            v &= 0xff;                                                                                  \
            words.d[e >> 2] = v.x | v.y << 8 | v.z << 16 | v.w << 24;                                   \
            break;                                                                                      \
        case 1: pairs.d[e >> 2] = uvec2((v.x & 0xffff) | v.y << 16, (v.z & 0xffff) | v.w << 16); break; \
        default: quads.d[e >> 2] = v;                                                                   \
        }                                                                                               \
    }
