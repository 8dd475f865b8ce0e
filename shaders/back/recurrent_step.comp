// recurrent_step.comp - a step of a recurrent net behind its products, and its way back: an invocation takes
// a number of a sample's state, and its gates, which lie a state's width apart. As autograd/back/kernels.inc.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "tables/recurrent_step.glsl"

#include "common/common.glsl"
#include "common/number.glsl"
#include "math/math_exp.glsl"

DEFINE_LOAD(load_0, b1)
DEFINE_LOAD(load_1, b2)
DEFINE_LOAD(load_2, b3)
DEFINE_LOAD(load_3, b5)
DEFINE_STORE(store_0, b0)
DEFINE_STORE(store_1, b4)
DEFINE_STORE(store_2, b5)

uint width = P_width, sample_, column;
// Gate k of an operand of `gates` of them.
uint place(const uint gates, const uint k) {
    return (sample_ * gates + k) * width + column;
}
#define READ(j, at, gates, k) uintBitsToFloat(f32_of(DTYPE, load_##j(DTYPE, at + place(gates, k)).x))
#define WRITE(j, at, gates, k, value) \
    store_##j(DTYPE, at + place(gates, k), uvec2(narrow_of_f32(DTYPE, floatBitsToUint(value)), 0))

float through_sigmoid(const float g, const float s) {
    return g * (s * (1 - s));
}
float through_tanh(const float g, const float t) {
    return g * (1 - t * t);
}

void lstm() {
    vec4 gate;
    for (uint k = 0; k < 4; k++) {
        float sum = READ(0, P_at.y, 4, k) + READ(1, P_at.z, 4, k);
        gate[k] = k == 2 ? my_tanh(sum) : my_sigmoid(sum);
        WRITE(0, P_at.x, 4, k, gate[k]);
    }
    float c = gate.y * READ(2, P_at.w, 1, 0) + gate.x * gate.z;
    WRITE(1, P_more.x, 1, 0, c);
    WRITE(2, P_more.y, 1, 0, gate.w * my_tanh(c));
}
void lstm_back() {
    vec4 gate;
    float g = READ(0, P_at.y, 1, 0), c = READ(2, P_at.w, 1, 0);
    for (uint k = 0; k < 4; k++) gate[k] = READ(1, P_at.z, 4, k);
    float t = my_tanh(gate.y * c + gate.x * gate.z), own = through_tanh(g * gate.w, t);
    if (GIVEN == 1) own += READ(3, P_more.y, 1, 0);
    WRITE(0, P_at.x, 4, 0, through_sigmoid(own * gate.z, gate.x));
    WRITE(0, P_at.x, 4, 1, through_sigmoid(own * c, gate.y));
    WRITE(0, P_at.x, 4, 2, through_tanh(own * gate.x, gate.z));
    WRITE(0, P_at.x, 4, 3, through_sigmoid(g * t, gate.w));
    WRITE(1, P_more.x, 1, 0, own * gate.y);
}
void gru() {
    float reset = my_sigmoid(READ(0, P_at.y, 3, 0) + READ(1, P_at.z, 3, 0));
    float keep = my_sigmoid(READ(0, P_at.y, 3, 1) + READ(1, P_at.z, 3, 1)), part = READ(1, P_at.z, 3, 2);
    float made = my_tanh(READ(0, P_at.y, 3, 2) + reset * part);
    WRITE(0, P_at.x, 4, 0, reset);
    WRITE(0, P_at.x, 4, 1, keep);
    WRITE(0, P_at.x, 4, 2, made);
    WRITE(0, P_at.x, 4, 3, part);
    WRITE(1, P_more.x, 1, 0, made + keep * (READ(2, P_at.w, 1, 0) - made));
}
void gru_back() {
    float g = READ(0, P_at.y, 1, 0), reset = READ(1, P_at.z, 4, 0), keep = READ(1, P_at.z, 4, 1);
    float made = READ(1, P_at.z, 4, 2), own = through_tanh(g * (1 - keep), made);
    float of_reset = through_sigmoid(own * READ(1, P_at.z, 4, 3), reset);
    float of_keep = through_sigmoid(g * (READ(2, P_at.w, 1, 0) - made), keep);
    WRITE(0, P_at.x, 3, 0, of_reset);
    WRITE(0, P_at.x, 3, 1, of_keep);
    WRITE(0, P_at.x, 3, 2, own);
    WRITE(1, P_more.x, 3, 0, of_reset);
    WRITE(1, P_more.x, 3, 1, of_keep);
    WRITE(1, P_more.x, 3, 2, own * reset);
    WRITE(2, P_more.y, 1, 0, g * keep);
}
void rnn() {
    float sum = READ(0, P_at.y, 1, 0) + READ(1, P_at.z, 1, 0);
    WRITE(0, P_at.x, 1, 0, KIND == TANH ? my_tanh(sum) : sum < 0 ? 0 : sum);
}
void rnn_back() {
    float g = READ(0, P_at.y, 1, 0), y = READ(1, P_at.z, 1, 0);
    WRITE(0, P_at.x, 1, 0, KIND == TANH ? through_tanh(g, y) : y <= 0 ? 0 : g);
}

void main() {
    uint i = group_index() * THREADS + gl_LocalInvocationID.x;
    if (i >= P_n) return;
    sample_ = i / width;
    column = i % width;
    if (KIND == LSTM) {
        if (BACK == 0) lstm();
        else lstm_back();
    } else if (KIND == GRU) {
        if (BACK == 0) gru();
        else gru_back();
    } else if (BACK == 0) rnn();
    else rnn_back();
}
