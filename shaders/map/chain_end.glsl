// chain_end.glsl - the rest of a chain's shader. The includer defines the functions of values (number, taken,
// applied, given) and WIDE, how many elements an invocation has.

uint stride_of(const uint k, const uint d) {
    return param[ROW_stride + 2 * k + (d >> 2)][d & 3];
}

// Bits of operands and results, by their place among both.
const uint WALKED = USED & ~FLAT;
#define IS(bits, k) (((bits) >> (k) & 1) != 0)
#define BLOCK_OF(k) (BLOCKS >> (3 * k) & 7)

#define BEGIN(k) place[k] = param[ROW_at + (k >> 2)][k & 3] + (IS(FLAT, k) ? i : 0);
#define STEP_ALONG(k) if (IS(WALKED, k)) place[k] += along * stride_of(k, d);
#define TAKE(k) \
    if (IS(USED, k)) value[k] = taken(BLOCK_OF(k), FROM##k, IS(STILL, k), place[k], count);
#define RUN(k)                                                                                        \
    if (k < STEPS)                                                                                    \
        value[OPERANDS + NUMBERS + k] = applied(OP_OF(k), NUMBERS_OF(k), value[PLACE_OF(k, 0)],       \
                                                value[PLACE_OF(k, 1)], value[PLACE_OF(k, 2)]);
#define GIVE(r, k) if (IS(USED, k)) given(BLOCK_OF(k), TO##r, place[k], count, value[RESULT##r]);
#define BEGIN_RESULT(r, k) BEGIN(k)
#define STEP_RESULT(r, k) STEP_ALONG(k)

void main() {
    uint i = (group_index() * THREADS + gl_LocalInvocationID.x) * WIDE, place[OPERANDS + 4];
    VALUE value[VALUES];
    if (i >= P_n) return;
    uint count = min(WIDE, P_n - i);
    ALL_OPERANDS(BEGIN)
    ALL_RESULTS(BEGIN_RESULT)
    if (WALKED != 0) {
        uint rest = i;
        for (uint d = P_ndim; d-- > 0;) {
            uint size = size_at(ROW_shape, d), along = d == 0 ? rest : rest % size;
            rest /= size;
            ALL_OPERANDS(STEP_ALONG)
            ALL_RESULTS(STEP_RESULT)
        }
    }
    for (uint j = 0; j < NUMBERS; j++) {
        uvec4 two = param[ROW_number + (j >> 1)];
        value[OPERANDS + j] = number((j & 1) == 0 ? two.xy : two.zw);
    }
    ALL_OPERANDS(TAKE)
    ALL_STEPS(RUN)
    ALL_RESULTS(GIVE)
}
