// rope.glsl - what turns a pair of a row's elements, and the norm of a row that may come before: for
// rope.comp, and for attention that turns queries and keys itself (attention_row.comp).

// A pair (a, b) turned.
vec2 turned_pair(const float a, const float b, const vec2 turn) {
    precise float x = a * turn.x - b * turn.y, y = b * turn.x + a * turn.y;
    return vec2(x, y);
}
// What rms_norm multiplies a row by, of `length` numbers that FOUR(from + k) gives four at a time; squares
// that leave the range of f32 are taken again.
#define DEFINE_ROW_FACTOR(name, FOUR)                                                \
    float name(const uint from, const uint length, const float epsilon) {            \
        float size = 1, sum = 0;                                                     \
        for (uint attempt = 0; attempt < 2; attempt++) {                             \
            sum = 0;                                                                 \
            for (uint k = 0; k < length; k += 4) {                                   \
                vec4 x = size * FOUR(from + k);                                      \
                sum += dot(x, x);                                                    \
            }                                                                        \
            sum /= float(length);                                                    \
            if (size != 1) break;                                                    \
            if (!(sum < 1e37)) size = 5.42101086e-20;                                \
            else if (sum < 1e-25) size = 1.84467441e19;                              \
            else break;                                                              \
        }                                                                            \
        precise float squares = sum + epsilon * size * size;                         \
        return size / sqrt(squares);                                                 \
    }
