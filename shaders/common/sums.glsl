// sums.glsl - running sums in two floats: x is the plain sum, infinite or NaN where that is, y what it lost
// (Neumaier 1974).

vec2 plus2(const vec2 s, const float x) {
    vec2 t = two_sum(s.x, x);
    precise float lost = s.y + t.y;
    return vec2(t.x, lost);
}
vec2 join2(const vec2 s, const vec2 t) {
    vec2 u = two_sum(s.x, t.x);
    precise float lost = (s.y + t.y) + u.y;
    return vec2(u.x, lost);
}
bool finite(const float x) {
    return (floatBitsToUint(x) & 0x7f800000u) != 0x7f800000u;
}
// As a number of two floats that do not overlap.
vec2 settled(const vec2 s) {
    return finite(s.x) ? quick_sum(s.x, s.y) : vec2(s.x, 0);
}
