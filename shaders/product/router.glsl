// router.glsl - a router behind a sum that a product ends with, and before the gate of its experts, without
// a dispatch of its own. The product's workgroups have columns of the sum x, and leave their parts of what
// the router's numbers are made of (ROUTES_PARTS): sums of norm weight times router's weight times x, a row
// for each expert, and the sum of squares as the last row; [experts + 1, workgroups]. Each workgroup of the
// gate adds up all of them and chooses for itself (ROUTES_CHOICE). ROUTER_BLOCKS says, from bit 12 on, in
// which blocks the numbers, the parts, the router's weights and its bias lie, in bit 24 whether there is one;
// for the product the norm's weights are in the place of the bias.

// What is needed first is pushed, in the place of what steps have.
#define CHOICE_PARTS P_steps_first
#define CHOICE_GROUPS P_steps_n
#define CHOICE_USED P_steps_to
#define CHOICE_NUMBERS P_window
#define PARTS_ROW P_steps_n
#define PARTS_WEIGHTS P_steps_to
#define PARTS_NORM P_window
#define CHOICE_WEIGHTS ROUTER_BEHIND(ROUTE_RESULTS + 6)
#define CHOICE_ROW ROUTER_BEHIND(ROUTE_RESULTS + 7)
#define CHOICE_BIAS ROUTER_BEHIND(ROUTE_RESULTS + 8)

float router_weight(const uint at) {
    return word_of(ROUTER_BLOCKS >> 18 & 7, at);
}
float router_bias(const uint at) {
    return word_of(ROUTER_BLOCKS >> 21 & 7, at);
}

// ---- the product: a subgroup takes a row of parts ----

float weight_of_part(const uint row, const uint column) {
    return router_bias(PARTS_NORM + column) * router_weight(PARTS_WEIGHTS + row * PARTS_ROW + column);
}
// The weight of an invocation's first row and column, on its way while the product is computed.
float early = 0;
void fetch_parts() {
    const uint row = gl_LocalInvocationID.x / LANES, column = left_first + gl_LocalInvocationID.x % LANES;
    if (ROUTES == ROUTES_PARTS && row < P_experts && column < left_end) early = weight_of_part(row, column);
}
void leave_parts() {
    if (ROUTES != ROUTES_PARTS) return;
    const uint own = gl_LocalInvocationID.x / LANES, lane = gl_LocalInvocationID.x % LANES;
    const uint groups = gl_NumWorkGroups.x * gl_NumWorkGroups.y, to = CHOICE_PARTS + group_index();
    barrier();
    for (uint row = own; row < P_experts || row == 0; row += gl_WorkGroupSize.x / LANES) {
        float sum = 0, squares = 0;
        for (uint column = left_first + lane; column < left_end; column += LANES) {
            const float x = left[column - left_first];
            const bool first = row == own && column == left_first + lane;
            sum += x * (first ? early : weight_of_part(row, column));
            squares += x * x;
        }
        if (LANES > 1) sum = subgroupAdd(sum);
        if (LANES > 1 && row == 0) squares = subgroupAdd(squares);
        if (lane == 0) PUT_WORD_OF(ROUTER_BLOCKS >> 15 & 7, to + row * groups, sum)
        if (lane == 0 && row == 0) PUT_WORD_OF(ROUTER_BLOCKS >> 15 & 7, to + P_experts * groups, squares)
    }
}

// ---- the gate ----

// So many neighbors share a row of parts, each of which has some of them on their way at once.
const uint SHARING = LANES < 8 ? LANES : 8, SHARED_ROWS = gl_WorkGroupSize.x / SHARING;
const uint PARTS_AT_ONCE = 8;
shared float squares_of_parts;

// Numbers before the norm's factor, as scores; returns the sum of squares.
float sum_of_parts() {
    const uint lane = gl_LocalInvocationID.x % SHARING, groups = CHOICE_GROUPS;
    for (uint first = 0; first <= P_experts; first += SHARED_ROWS) {
        const uint row = first + gl_LocalInvocationID.x / SHARING;
        float sum = 0;
        for (uint i = lane; i < groups && row <= P_experts; i += PARTS_AT_ONCE * SHARING) {
            float part[PARTS_AT_ONCE];
            [[unroll]] for (uint j = 0; j < PARTS_AT_ONCE; j++) {
                const uint group = i + j * SHARING, at = CHOICE_PARTS + row * groups + group;
                part[j] = group < groups ? word_of(ROUTER_BLOCKS >> 15 & 7, at) : 0;
            }
            [[unroll]] for (uint j = 0; j < PARTS_AT_ONCE; j++) sum += part[j];
        }
        [[unroll]] for (uint i = 1; i < SHARING; i *= 2) sum += subgroupShuffleXor(sum, i);
        if (lane == 0 && row < P_experts) put_score(row, sum);
        if (lane == 0 && row == P_experts) squares_of_parts = sum;
    }
    barrier();
    return squares_of_parts;
}
// The same of a row whose squares leave the range of f32, with the factor.
void take_numbers_of_row(const uint from) {
    const float factor = norm_factor(SUM_SQUARES, 0, from, vec2(0));
    for (uint expert = 0; expert < P_experts; expert++) {
        float sum = 0;
        for (uint four = gl_LocalInvocationID.x; four < FOURS; four += gl_WorkGroupSize.x) {
            const vec4 a = normalized(source_at(0, from, 4 * four), vec2(0), factor);
            const uint at = CHOICE_WEIGHTS + expert * CHOICE_ROW + 4 * four;
            for (uint j = 0; j < 4; j++) sum += a[j] * router_weight(at + j);
        }
        sum = sum_of_all(sum);
        if (gl_LocalInvocationID.x == 0) put_score(expert, sum);
    }
    barrier();
}
// The expert that this workgroup works for; the row begins at `from`.
uint chosen_expert(const uint from) {
    float size = 1, factor = 1;
    const float squares = sum_of_parts() / float(P_k);
    if (leaves_range(squares, size)) take_numbers_of_row(from);
    else factor = factor_of(squares, size, P_epsilon);
    for (uint i = gl_LocalInvocationID.x; i < in_fours(P_experts); i += gl_WorkGroupSize.x) {
        precise float x = -INF;
        if (i < P_experts) {
            x = score(i) * factor;
            if ((ROUTER_BLOCKS >> 24 & 1) != 0) x = x + router_bias(CHOICE_BIAS + i);
            if (ROUTER_WRITES) PUT_WORD_OF(ROUTER_BLOCKS >> 12 & 7, CHOICE_NUMBERS + i, x)
        }
        put_score(i, x);
    }
    choose_experts(0, P_experts, CHOICE_USED);
    return best[gl_WorkGroupID.z];
}
void give_choice() {
    if (CHOSEN_EXPERTS && ROUTER_WRITES) give_chosen(0, CHOICE_USED);
}
