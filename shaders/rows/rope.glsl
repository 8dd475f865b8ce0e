// rope.glsl - what turns a pair of a row's elements, and the norm of a row that may come before: for
// rope.comp, and for attention that turns queries and keys itself (attention_row.comp).
// The includer brings math_angle.glsl.

// Cosine and sine of a frequency (in two floats) times a position, times `magnitude`: the angle is formed in
// two floats and reduced exactly. scale: of the position, in two floats.
vec2 turn_at(const vec2 frequency, const int position, const vec2 scale, const float magnitude) {
    vec2 at = vec2(float(position), float(position - int(float(position))));
    vec2 angle = mul2(mul2(frequency, at), scale);
    int quarter;
    vec2 r = turns_of(angle.x, quarter);
    r = add2(r, vec2(angle.y, 0));
    precise float c = magnitude * sine_of_quarter(r, quarter + 1),
                  s = magnitude * sine_of_quarter(r, quarter);
    return vec2(c, s);
}
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
