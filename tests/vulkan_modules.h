/* vulkan_modules.h - modules without what their constants rule out (src/vulkan/driver/specialize.c): a small
 * one is run by the interpreter below, whole and specialized, for all its constants and many inputs. */
#ifndef VULKAN_MODULES_H
#define VULKAN_MODULES_H

/* glslangValidator --target-env vulkan1.1, then the passes of shaders/build.sh, of
 *
 *     layout(constant_id = 0) const uint OP = 0;
 *     layout(constant_id = 1) const bool TWICE = false;
 *     layout(set = 0, binding = 0) buffer B { uint x[]; };
 *     uint sum_below(uint n) {
 *         uint s = 0;
 *         for (uint i = 0; i < n; i++) {
 *             if (TWICE && i == 3) continue;
 *             if (OP == 5 && s > 20) break;
 *             s += i;
 *         }
 *         return s;
 *     }
 *     uint twice(uint v) { return TWICE ? v * 2 : v; }
 *     void main() {
 *         uint v = x[0];
 *         switch (OP) {
 *         case 1: if (v == 7) break; v += 1;                            (and on into the next)
 *         case 2: v = TWICE && v > 4 ? v * 5 : v * 3; break;
 *         case 3:
 *         case 5: v = sum_below(v) + sum_below(v + 1); break;
 *         case 4: do { v += 5; if (v > 9) return; } while (TWICE); break;
 *         default:
 *             for (;;) {
 *                 if (OP == 9) { v = twice(v) + twice(v + 3); break; }
 *                 v += 7;
 *                 if (v > 30 || OP == 8) break;
 *             }
 *         }
 *         x[0] = v;
 *     }
 */
static const uint32_t modules_code[] = {
    119734787, 66304, 524299, 122, 0, 131089, 1, 393227, 1, 1280527431, 1685353262, 808793134, 0, 196622,
    0, 1, 327695, 5, 2, 1852399981, 0, 393232, 2, 17, 1, 1, 1, 262215, 3, 1, 1, 262215, 4, 1, 0, 262215,
    5, 6, 4, 196679, 6, 2, 327752, 6, 0, 35, 0, 262215, 7, 33, 0, 262215, 7, 34, 0, 131091, 8, 196641, 9,
    8, 262165, 10, 32, 0, 262176, 11, 7, 10, 262177, 12, 10, 11, 262187, 10, 13, 0, 131092, 14, 196657, 14,
    3, 262187, 10, 15, 3, 262194, 10, 4, 0, 262187, 10, 16, 5, 393268, 14, 17, 170, 4, 16, 262187, 10, 18,
    20, 262165, 19, 32, 1, 262187, 19, 20, 1, 262187, 10, 21, 2, 196637, 5, 10, 196638, 6, 5, 262176, 22,
    12, 6, 262203, 22, 7, 12, 262187, 19, 23, 0, 262176, 24, 12, 10, 262187, 10, 25, 7, 262187, 10, 26, 1,
    262187, 10, 27, 4, 262187, 10, 28, 9, 393268, 14, 29, 170, 4, 28, 262187, 10, 30, 30, 262187, 10, 31,
    8, 393268, 14, 32, 170, 4, 31, 327734, 8, 2, 0, 9, 131320, 33, 262203, 11, 34, 7, 262203, 11, 35, 7,
    262203, 11, 36, 7, 262203, 11, 37, 7, 393281, 24, 38, 7, 23, 23, 262205, 10, 39, 38, 196855,
    40, 0, 852219,
    4, 41, 1, 42, 2, 43, 3, 44, 5, 44, 4, 45, 131320, 41, 131321, 46, 131320, 46, 458997, 10, 47, 39, 41,
    48, 49, 262390, 50, 49, 0, 131321, 51, 131320, 51, 196855, 52, 0, 262394, 29, 53, 52, 131320, 53, 196670,
    36, 47, 327737, 10, 54, 55, 36, 327808, 10, 56, 47, 15, 196670, 37, 56, 327737, 10, 57, 55, 37, 327808,
    10, 58, 54, 57, 131321, 50, 131320, 52, 327808, 10, 48, 47, 25, 327852, 14, 59, 48, 30, 327846, 14, 60,
    59, 32, 196855, 61, 0, 262394, 60, 62, 61, 131320, 62, 131321, 50, 131320, 61, 131321, 49, 131320, 49,
    131321, 46, 131320, 50, 458997, 10, 63, 58, 53, 48, 62, 131321, 40, 131320, 42, 327850, 14, 64, 39, 25,
    196855, 65, 0, 262394, 64, 66, 65, 131320, 66, 131321, 40, 131320, 65, 327808, 10, 67, 39, 26, 131321,
    43, 131320, 43, 458997, 10, 68, 39, 33, 67, 65, 327852, 14, 69, 68, 27, 327847, 14, 70, 3, 69, 196855,
    71, 0, 262394, 70, 72, 73, 131320, 72, 327812, 10, 74, 68, 16, 131321, 71, 131320, 73, 327812, 10, 75,
    68, 15, 131321, 71, 131320, 71, 458997, 10, 76, 74, 72, 75, 73, 131321, 40, 131320, 44, 196670, 34, 39,
    327737, 10, 77, 78, 34, 327808, 10, 79, 39, 26, 196670, 35, 79, 327737, 10, 80, 78, 35, 327808, 10, 81,
    77, 80, 131321, 40, 131320, 45, 131321, 82, 131320, 82, 458997, 10, 83, 39, 45, 84, 85, 262390, 86, 85,
    0, 131321, 87, 131320, 87, 327808, 10, 84, 83, 16, 327852, 14, 88, 84, 28, 196855, 89, 0, 262394, 88,
    90, 89, 131320, 90, 65789, 131320, 89, 131321, 85, 131320, 85, 262394, 3, 82, 86, 131320, 86, 131321,
    40, 131320, 40, 852213, 10, 91, 63, 50, 39, 66, 76, 71, 81, 44, 84, 86, 196670, 38, 91, 65789, 65592,
    327734, 10, 78, 0, 12, 196663, 11, 92, 131320, 93, 131321, 94, 131320, 94, 458997, 10, 95, 13, 93, 96,
    97, 458997, 10, 98, 13, 93, 99, 97, 262205, 10, 100, 92, 327856, 14, 101, 98, 100, 262390, 102, 97, 0,
    262394, 101, 103, 102, 131320, 103, 327850, 14, 104, 98, 15, 327847, 14, 105, 3, 104, 196855, 106, 0,
    262394, 105, 107, 106, 131320, 107, 131321, 97, 131320, 106, 327852, 14, 108, 95, 18, 327847, 14, 109,
    17, 108, 196855, 110, 0, 262394, 109, 111, 110, 131320, 111, 131321, 102, 131320, 110, 327808, 10, 112,
    95, 98, 131321, 97, 131320, 97, 458997, 10, 96, 95, 107, 112, 110, 327808, 10, 99, 98, 20, 131321, 94,
    131320, 102, 131326, 95, 65592, 327734, 10, 55, 0, 12, 196663, 11, 113, 131320, 114, 196855, 115, 0,
    262394, 3, 116, 117, 131320, 116, 262205, 10, 118, 113, 327812, 10, 119, 118, 21, 131321, 115, 131320,
    117, 262205, 10, 120, 113, 131321, 115, 131320, 115, 458997, 10, 121, 119, 116, 120, 117, 131326, 121,
    65592,
};

enum { MODULES_IDS = 256 };

/* A module that is run. */
static struct {
    const uint32_t *code, *end, *label[MODULES_IDS];
    uint32_t value[MODULES_IDS]; /* of a pointer: the id of its variable, whose value is what it holds */
    bool known[MODULES_IDS];
    int steps;
    const char *wrong; /* what is not as it should be */
} modules;

static void modules_set(uint32_t id, uint32_t value) {
    modules.value[id] = value;
    modules.known[id] = true;
}

static uint32_t modules_get(uint32_t id) {
    if (!modules.known[id]) modules.wrong = "an id without a value";
    return modules.value[id];
}

static uint32_t modules_compute(uint32_t code, uint32_t a, uint32_t b) {
    switch (code) {
    case 128: return a + b;
    case 132: return a * b;
    case 166: return a | b;
    case 167: return a & b;
    case 170: return a == b;
    case 172: return a > b;
    case 176: return a < b;
    default: modules.wrong = "an instruction that is not in the module"; return 0;
    }
}

/* Types, constants, variables and labels. */
static void modules_load(const uint32_t *code, size_t bytes, const uint32_t *special) {
    uint32_t special_id[MODULES_IDS];
    memset(&modules, 0, sizeof modules);
    memset(special_id, 255, sizeof special_id);
    modules.code = code;
    modules.end = code + bytes / 4;
    for (const uint32_t *in = code + 5; in < modules.end; in += in[0] >> 16) {
        uint32_t number = (in[0] >> 16) > 2 ? special_id[in[2] % MODULES_IDS] : UINT32_MAX;
        switch (in[0] & 0xffff) {
        case 71:
            if (in[2] == 1) special_id[in[1]] = in[3];
            break;
        case 43: modules_set(in[2], in[3]); break;
        case 49: modules_set(in[2], special[number]); break;
        case 50: modules_set(in[2], special[number]); break;
        case 52: modules_set(in[2], modules_compute(in[3], modules_get(in[4]), modules_get(in[5]))); break;
        case 59: modules_set(in[2], in[2]); break; /* a pointer to itself, until something is stored */
        case 54: modules.label[in[2]] = in; break;
        case 248: modules.label[in[1]] = in; break;
        default: break;
        }
    }
}

/* What a variable holds: ids of variables and of what they hold are kept apart. */
static uint32_t modules_held[MODULES_IDS];

static uint32_t modules_call(uint32_t function, uint32_t argument) {
    const uint32_t *in = modules.label[function];
    uint32_t before = 0, block = 0;
    while (in && in < modules.end && !modules.wrong) {
        const uint32_t *next = in + (in[0] >> 16);
        uint32_t code = in[0] & 0xffff, to = 0;
        if (++modules.steps > 20000) modules.wrong = "no end";
        switch (code) {
        case 54: case 59: case 246: case 247: break;
        case 55: modules_set(in[2], argument); break;
        case 248: block = in[1]; break;
        case 65: modules_set(in[2], modules_get(in[3])); break;
        case 61: modules_set(in[2], modules_held[modules_get(in[3])]); break;
        case 62: modules_held[modules_get(in[1])] = modules_get(in[2]); break;
        case 57: modules_set(in[2], modules_call(in[3], (in[0] >> 16) > 4 ? modules_get(in[4]) : 0)); break;
        case 245:
            for (uint32_t i = 3; i + 1 < in[0] >> 16; i += 2)
                if (in[i + 1] == before) {
                    modules_set(in[2], modules_get(in[i]));
                    to = 1;
                }
            if (!to) modules.wrong = "a phi without the way that was taken";
            to = 0;
            break;
        case 249: to = in[1]; break;
        case 250: to = modules_get(in[1]) ? in[2] : in[3]; break;
        case 251:
            to = in[2];
            for (uint32_t i = 3; i + 1 < in[0] >> 16; i += 2)
                if (in[i] == modules_get(in[1])) to = in[i + 1];
            break;
        case 253: return 0;
        case 254: return modules_get(in[1]);
        case 255: modules.wrong = "a block that nothing reaches"; break;
        default: modules_set(in[2], modules_compute(code, modules_get(in[3]), modules_get(in[4]))); break;
        }
        if (to) {
            before = block;
            next = modules.label[to];
            if (!next) modules.wrong = "a branch to nowhere";
        }
        in = next;
    }
    return 0;
}

/* What x[0] becomes. */
static uint32_t modules_run(const uint32_t *code, size_t bytes, const uint32_t *special, uint32_t x) {
    uint32_t entry = 0, buffer = 0;
    modules_load(code, bytes, special);
    for (const uint32_t *in = code + 5; in < modules.end; in += in[0] >> 16) {
        if ((in[0] & 0xffff) == 15) entry = in[2];
        if ((in[0] & 0xffff) == 59 && !buffer) buffer = in[2];
    }
    modules_held[buffer] = x;
    modules_call(entry, 0);
    return modules_held[buffer];
}

/* Each block that is named is there, and each phi names the blocks that lead to it. */
static const char *modules_form(const uint32_t *code, size_t bytes) {
    static uint8_t leads[MODULES_IDS][MODULES_IDS];
    const uint32_t *end = code + bytes / 4;
    bool label[MODULES_IDS] = {false};
    uint32_t block = 0;
    memset(leads, 0, sizeof leads);
    for (const uint32_t *in = code + 5; in < end; in += in[0] >> 16)
        if ((in[0] & 0xffff) == 248) label[in[1]] = true;
    for (int pass = 0; pass < 2; pass++)
        for (const uint32_t *in = code + 5; in < end; in += in[0] >> 16) {
            uint32_t op = in[0] & 0xffff, words = in[0] >> 16;
            uint32_t first = op == 250 || op == 251 ? 2 : 1, step = op == 251 ? 2 : 1, count = words;
            if (op == 246 || op == 247) count = op == 246 ? 3 : 2;
            if (op == 248) block = in[1];
            if (pass == 0 && op >= 246 && op <= 251 && op != 248)
                for (uint32_t i = first; i < count; i += step) {
                    if (!label[in[i]]) return "a block that is named is missing";
                    if (op >= 249) leads[in[i]][block] = 1;
                }
            if (pass == 1 && op == 245) {
                uint32_t ways = 0;
                for (uint32_t i = 0; i < MODULES_IDS; i++) ways += leads[block][i];
                if (ways != (words - 3) / 2) return "a phi has too many or too few ways";
                for (uint32_t i = 4; i < words; i += 2)
                    if (!leads[block][in[i]]) return "a phi's way does not lead to it";
            }
        }
    return NULL;
}

static int modules_count(const uint32_t *code, size_t bytes, uint32_t op, uint32_t words) {
    int count = 0;
    for (const uint32_t *in = code + 5; in < code + bytes / 4; in += in[0] >> 16)
        count += (in[0] & 0xffff) == op && (!words || in[0] >> 16 == words);
    return count;
}

static void test_modules(void) {
    oxi_vk_code whole = {modules_code, sizeof modules_code, 1, 0};
    uint32_t special[OXI_VK_CONSTANTS] = {0}, out[sizeof modules_code / 4];
    CHECK(modules_form(modules_code, sizeof modules_code) == NULL);
    for (uint32_t op = 0; op < 11; op++)
        for (uint32_t twice = 0; twice < 2; twice++) {
            size_t bytes = 0;
            special[0] = op;
            special[1] = twice;
            CHECK(oxi_vk_specialize(&whole, special, out, &bytes) == OX_OK);
            CHECK_MSG(bytes < sizeof modules_code, "op %u: %zu bytes", op, bytes);
            const char *form = modules_form(out, bytes);
            CHECK_MSG(!form, "op %u, twice %u: %s", op, twice, form);
            for (uint32_t x = 0; x < 45; x++) {
                uint32_t want = modules_run(modules_code, sizeof modules_code, special, x);
                const char *wrong = modules.wrong;
                uint32_t got = modules_run(out, bytes, special, x);
                CHECK_MSG(got == want && !wrong && !modules.wrong, "op %u, twice %u, x %u: %u, not %u; %s",
                          op, twice, x, got, want, modules.wrong ? modules.wrong : "");
            }
            /* A break out of a switch that is decided keeps it, with one case; other switches go. */
            CHECK_MSG(modules_count(out, bytes, 251, 0) == (op == 1) &&
                          modules_count(out, bytes, 251, 3) == (op == 1),
                      "op %u, twice %u: switches", op, twice);
            /* Functions go with their calls, loops with their case. */
            CHECK(modules_count(out, bytes, 54, 0) == 1 + (op == 3 || op == 5 || op == 9));
            CHECK(modules_count(out, bytes, 246, 0) == (op != 1 && op != 2));
        }
}

#endif
