// quads.glsl - the first four blocks as words two and four at a time, and four elements at once of dtypes of
// up to 32 bits. Places are multiples of 4.

#include "common/words.glsl"

#include "tables/memory_quads.glsl"

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
