/* A module without what its specialization constants rule out. A shader covers all dtypes and ops of its
 * kind, a pipeline one of them; drivers carry the others through most of their work before they find that
 * nothing leads there (a software driver takes three times as long over a pipeline, and gives the same code).
 *
 * Blocks are followed from the entry point on, along branches whose condition follows from constants one way
 * only. What is not reached is left out: blocks, functions, ways into phis, decorations of what stood there.
 * Control flow stays structured (SPIR-V 2.11):
 *     an if that is decided      becomes a branch; its merge is a block like any other
 *     a switch that is decided   too, unless an inner construct breaks out of it: then it keeps one case
 *     a way back to a loop's header is always kept
 *     merges and continue targets that are not reached stay as empty blocks, for they are named
 * The numbers are the specification's (SPIR-V 1.6, section 3). */

enum {
    OXI_VK_SPV_TYPES = 19,     /* OpTypeVoid .. OpTypeFunction have their id as the first operand */
    OXI_VK_SPV_TYPE_BOOL = 20,
    OXI_VK_SPV_TYPE_INT = 21,
    OXI_VK_SPV_TYPES_END = 34,
    OXI_VK_SPV_TRUE = 41,
    OXI_VK_SPV_FALSE = 42,
    OXI_VK_SPV_SPEC_TRUE = 48,
    OXI_VK_SPV_SPEC_FALSE = 49,
    OXI_VK_SPV_SPEC_CONSTANT = 50,
    OXI_VK_SPV_SPEC_OP = 52,
    OXI_VK_SPV_FUNCTION = 54,
    OXI_VK_SPV_FUNCTION_END = 56,
    OXI_VK_SPV_CALL = 57,
    OXI_VK_SPV_DECORATE = 71,
    OXI_VK_SPV_PHI = 245,
    OXI_VK_SPV_LOOP_MERGE = 246,
    OXI_VK_SPV_SELECTION_MERGE = 247,
    OXI_VK_SPV_LABEL = 248,
    OXI_VK_SPV_BRANCH = 249,
    OXI_VK_SPV_BRANCH_IF = 250,
    OXI_VK_SPV_SWITCH = 251,
    OXI_VK_SPV_UNREACHABLE = 255,
    OXI_VK_SPV_SPEC_ID = 1 /* a decoration */
};

/* What is known of an id. A construct is named by its header's label. */
typedef struct oxi_vk_spv_id {
    uint32_t at;          /* a function's and a label's place in the module, in words */
    uint32_t value;       /* of a word that is known; before its instruction, the number of its SpecId */
    uint32_t home;        /* the block or function that it is defined in, 0 = the module */
    uint32_t taken;       /* a block: the only successor left, 0 = as its last instruction says */
    uint32_t construct;   /* a block: the innermost one that it lies in, 0 = none */
    uint32_t merge, next; /* a header: where its construct ends; a loop: its continue target */
    bool type, word;      /* it is a type; of one 32-bit integer or a bool */
    bool special, known;  /* it has a SpecId; its value is known */
    bool reached;         /* a block or function */
    bool named;           /* a merge or continue target of a block that is reached */
    bool decided;         /* a header: of a switch that has one way left */
    bool stays;           /* which an inner construct breaks out of */
} oxi_vk_spv_id;

typedef struct oxi_vk_special_module {
    const uint32_t *code, *special;
    uint32_t words, bound;
    oxi_vk_spv_id *id;     /* [bound] */
    uint32_t *ahead;       /* [bound] blocks that are reached and not looked at yet */
    uint32_t ahead_count;
} oxi_vk_special_module;

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* The value of a, b and c under an instruction of 32-bit integers and bools; false = not worked out here. */
static bool oxi_vk_spv_work_out(uint32_t code, uint32_t a, uint32_t b, uint32_t c, uint32_t *value) {
    int32_t sa, sb;
    memcpy(&sa, &a, 4);
    memcpy(&sb, &b, 4);
    switch (code) {
    case 83: *value = a; return true;                     /* OpCopyObject */
    case 124: *value = a; return true;                    /* OpBitcast */
    case 126: *value = 0u - a; return true;               /* OpSNegate */
    case 128: *value = a + b; return true;                /* OpIAdd */
    case 130: *value = a - b; return true;                /* OpISub */
    case 132: *value = a * b; return true;                /* OpIMul */
    case 134: *value = b ? a / b : 0; return b != 0;      /* OpUDiv */
    case 137: *value = b ? a % b : 0; return b != 0;      /* OpUMod */
    case 164: case 170: *value = a == b; return true;     /* OpLogicalEqual, OpIEqual */
    case 165: case 171: *value = a != b; return true;     /* OpLogicalNotEqual, OpINotEqual */
    case 166: *value = a | b; return true;                /* OpLogicalOr */
    case 167: *value = a & b; return true;                /* OpLogicalAnd */
    case 168: *value = !a; return true;                   /* OpLogicalNot */
    case 169: *value = a ? b : c; return true;            /* OpSelect */
    case 172: *value = a > b; return true;                /* OpUGreaterThan, then signed, in turns */
    case 173: *value = sa > sb; return true;
    case 174: *value = a >= b; return true;
    case 175: *value = sa >= sb; return true;
    case 176: *value = a < b; return true;
    case 177: *value = sa < sb; return true;
    case 178: *value = a <= b; return true;
    case 179: *value = sa <= sb; return true;
    case 194: *value = b < 32 ? a >> b : 0; return b < 32; /* OpShiftRightLogical */
    case 196: *value = b < 32 ? a << b : 0; return b < 32; /* OpShiftLeftLogical */
    case 197: *value = a | b; return true;                /* OpBitwiseOr, Xor, And, Not */
    case 198: *value = a ^ b; return true;
    case 199: *value = a & b; return true;
    case 200: *value = ~a; return true;
    default: return false;
    }
}

/* Notes the result of an instruction `code` with operands `at`[count], of the type of id `of`. */
static void oxi_vk_spv_note(oxi_vk_special_module *m, uint32_t code, oxi_vk_spv_id *of, const uint32_t *at,
                            uint32_t count) {
    const oxi_vk_spv_id *in[3] = {NULL, NULL, NULL};
    uint32_t value[3] = {0, 0, 0};
    if (code < 83 || code > 200 || count < 1 || count > 3) return;
    for (uint32_t i = 0; i < count; i++) {
        if (at[i] >= m->bound) return;
        in[i] = &m->id[at[i]];
        value[i] = in[i]->known ? in[i]->value : 0;
    }
    bool all = true;
    for (uint32_t i = 0; i < count; i++) all = all && in[i]->known;
    if (code == 169 && count == 3 && in[0]->known) { /* of a select only what it takes */
        const oxi_vk_spv_id *taken = in[value[0] ? 1 : 2];
        of->known = taken->known;
        of->value = taken->value;
    } else if ((code == 166 || code == 167) && count == 2 && !all) { /* one of two may be enough */
        for (int i = 0; i < 2; i++)
            if (in[i]->known && value[i] == (code == 166)) {
                of->known = true;
                of->value = value[i];
            }
    } else if (all) {
        uint32_t result = 0;
        of->known = oxi_vk_spv_work_out(code, value[0], value[1], value[2], &result);
        of->value = result;
    }
}

/* ---- what there is ------------------------------------------------------------------------------------- */

/* An instruction of the module, in order: types, constants, and where functions, blocks and results stand. */
static void oxi_vk_spv_list(oxi_vk_special_module *m, uint32_t at, uint32_t *home) {
    const uint32_t *in = m->code + at;
    uint32_t code = in[0] & 0xffff, words = in[0] >> 16;
    oxi_vk_spv_id *id = m->id;
    if (code == OXI_VK_SPV_DECORATE && words == 4 && in[2] == OXI_VK_SPV_SPEC_ID &&
        in[3] < OXI_VK_CONSTANTS) {
        id[in[1]].special = true;
        id[in[1]].value = in[3];
    } else if ((code >= OXI_VK_SPV_TYPES && code < OXI_VK_SPV_TYPES_END) || code == OXI_VK_SPV_TYPE_MATRIX) {
        id[in[1]].type = true;
        id[in[1]].word = code == OXI_VK_SPV_TYPE_BOOL || (code == OXI_VK_SPV_TYPE_INT && in[2] == 32);
    } else if (code == OXI_VK_SPV_LABEL) {
        *home = in[1];
        id[in[1]].at = at;
    } else if (code == OXI_VK_SPV_FUNCTION_END) {
        *home = 0;
    } else if (words > 2 && in[1] < m->bound && id[in[1]].type) { /* with a result */
        oxi_vk_spv_id *of = &id[in[2]];
        if (code == OXI_VK_SPV_FUNCTION) {
            *home = in[2];
            of->at = at;
            return;
        }
        of->home = *home;
        if (*home || !id[in[1]].word) return;
        bool special = of->special;
        uint32_t given = special ? m->special[of->value] : 0;
        of->known = true;
        if (code == OXI_VK_SPV_CONSTANT) of->value = in[3];
        else if (code == OXI_VK_SPV_TRUE || code == OXI_VK_SPV_FALSE) of->value = code == OXI_VK_SPV_TRUE;
        else if (code == OXI_VK_SPV_SPEC_CONSTANT) of->value = special ? given : in[3];
        else if (code == OXI_VK_SPV_SPEC_TRUE || code == OXI_VK_SPV_SPEC_FALSE)
            of->value = special ? given != 0 : code == OXI_VK_SPV_SPEC_TRUE;
        else {
            of->known = false;
            if (code == OXI_VK_SPV_SPEC_OP) oxi_vk_spv_note(m, in[3], of, in + 4, words - 4);
        }
    }
}

/* ---- what is reached ----------------------------------------------------------------------------------- */

/* `to` is reached from a block in the construct of header `from` (0 = none). A branch to a merge or a
 * continue target leaves what lies inside of it. */
static void oxi_vk_spv_reach(oxi_vk_special_module *m, uint32_t from, uint32_t to) {
    oxi_vk_spv_id *id = m->id;
    uint32_t construct = from;
    for (uint32_t c = from; c; c = id[c].construct) {
        if (id[c].merge != to && id[c].next != to) continue;
        if (id[c].decided && c != from) id[c].stays = true; /* a break */
        construct = id[c].next == to ? c : id[c].construct;
        break;
    }
    if (id[to].reached) return;
    id[to].reached = true;
    id[to].construct = construct;
    m->ahead[m->ahead_count++] = to;
}

static void oxi_vk_spv_reach_function(oxi_vk_special_module *m, uint32_t function) {
    if (m->id[function].reached) return;
    m->id[function].reached = true;
    uint32_t at = m->id[function].at;
    while ((m->code[at] & 0xffff) != OXI_VK_SPV_LABEL) at += m->code[at] >> 16;
    oxi_vk_spv_reach(m, 0, m->code[at + 1]);
}

/* Whether a branch to one of `in`'s targets goes back to the header of a loop around `block`. */
static bool oxi_vk_spv_goes_back(const oxi_vk_special_module *m, uint32_t block, uint32_t to) {
    for (uint32_t c = block; c; c = m->id[c].construct)
        if (c == to && m->id[c].next) return true;
    return false;
}

/* The only way out of the block that ends with `in`, 0 = there are several or none. */
static uint32_t oxi_vk_spv_only_way(const oxi_vk_special_module *m, uint32_t block, const uint32_t *in) {
    uint32_t code = in[0] & 0xffff, words = in[0] >> 16;
    const oxi_vk_spv_id *by = &m->id[in[1]];
    uint32_t taken = 0;
    if (code == OXI_VK_SPV_BRANCH_IF && by->known) {
        taken = in[by->value ? 2 : 3];
        if (oxi_vk_spv_goes_back(m, block, in[2]) || oxi_vk_spv_goes_back(m, block, in[3])) return 0;
    } else if (code == OXI_VK_SPV_SWITCH && by->known) {
        taken = in[2];
        for (uint32_t i = 3; i + 1 < words; i += 2)
            if (in[i] == by->value) taken = in[i + 1];
    }
    return taken;
}

/* Looks at a block: what it calls, and where it goes. */
static void oxi_vk_spv_follow(oxi_vk_special_module *m, uint32_t block) {
    oxi_vk_spv_id *id = m->id, *self = &id[block];
    const uint32_t *in = m->code + self->at, *merge = NULL;
    uint32_t code, words;
    for (in += in[0] >> 16;; in += words) {
        code = in[0] & 0xffff;
        words = in[0] >> 16;
        if (code >= OXI_VK_SPV_BRANCH && code <= OXI_VK_SPV_UNREACHABLE) break;
        if (code == OXI_VK_SPV_LOOP_MERGE || code == OXI_VK_SPV_SELECTION_MERGE) merge = in;
        else if (code == OXI_VK_SPV_CALL) oxi_vk_spv_reach_function(m, in[3]);
        else if (words > 3 && id[in[1]].word) oxi_vk_spv_note(m, code, &id[in[2]], in + 3, words - 3);
    }
    bool loop = merge && (merge[0] & 0xffff) == OXI_VK_SPV_LOOP_MERGE;
    if (loop) {
        self->next = merge[2];
        id[merge[2]].named = true;
    }
    self->taken = oxi_vk_spv_only_way(m, block, in);
    bool header = loop || (merge && !(self->taken && code == OXI_VK_SPV_BRANCH_IF));
    if (header) {
        self->merge = merge[1];
        self->decided = !loop && self->taken;
        if (!self->decided) id[merge[1]].named = true;
    }
    uint32_t from = header ? block : self->construct;
    if (self->taken) oxi_vk_spv_reach(m, from, self->taken);
    else if (code == OXI_VK_SPV_BRANCH) oxi_vk_spv_reach(m, from, in[1]);
    else if (code == OXI_VK_SPV_BRANCH_IF)
        for (int i = 2; i < 4; i++) oxi_vk_spv_reach(m, from, in[i]);
    else if (code == OXI_VK_SPV_SWITCH)
        for (uint32_t i = 2; i < words; i += 2) oxi_vk_spv_reach(m, from, in[i]);
}

/* ---- what is written ----------------------------------------------------------------------------------- */

static uint32_t *oxi_vk_spv_put(uint32_t *out, uint32_t code, uint32_t words, uint32_t a, uint32_t b) {
    out[0] = words << 16 | code;
    out[1] = a;
    if (words > 2) out[2] = b;
    return out + words;
}

/* A phi of `block` with the ways that are left. A loop whose continue target is not reached has that as the
 * way back: it brings the phi itself, which nobody sees. */
static uint32_t *oxi_vk_spv_put_phi(const oxi_vk_special_module *m, uint32_t block, const uint32_t *in,
                                    uint32_t *out) {
    uint32_t *to = out + 3, next = m->id[block].next;
    out[1] = in[1];
    out[2] = in[2];
    for (uint32_t i = 3; i + 1 < in[0] >> 16; i += 2) {
        const oxi_vk_spv_id *by = &m->id[in[i + 1]];
        if (!by->reached || (by->taken && by->taken != block)) continue;
        *to++ = in[i];
        *to++ = in[i + 1];
    }
    if (next && !m->id[next].reached) {
        *to++ = in[2];
        *to++ = next;
    }
    out[0] = (uint32_t)(to - out) << 16 | OXI_VK_SPV_PHI;
    return to;
}

/* The instruction `in` of a block that is reached. */
static uint32_t *oxi_vk_spv_put_inside(const oxi_vk_special_module *m, uint32_t block, const uint32_t *in,
                                       uint32_t *out) {
    const oxi_vk_spv_id *self = &m->id[block];
    uint32_t code = in[0] & 0xffff, words = in[0] >> 16;
    if (code == OXI_VK_SPV_PHI) return oxi_vk_spv_put_phi(m, block, in, out);
    if (self->taken && code == OXI_VK_SPV_SELECTION_MERGE && !self->stays) return out;
    if (self->taken && (code == OXI_VK_SPV_BRANCH_IF || code == OXI_VK_SPV_SWITCH))
        return self->stays ? oxi_vk_spv_put(out, OXI_VK_SPV_SWITCH, 3, in[1], self->taken)
                           : oxi_vk_spv_put(out, OXI_VK_SPV_BRANCH, 2, self->taken, 0);
    memcpy(out, in, 4 * (size_t)words);
    return out + words;
}

/* Which loop a continue target belongs to, 0 = it is none. */
static uint32_t oxi_vk_spv_loop_of(const oxi_vk_special_module *m, uint32_t target) {
    for (uint32_t i = 1; i < m->bound; i++)
        if (m->id[i].next == target) return i;
    return 0;
}

/* Writes what is reached to `out`, [words]; returns its end. */
static uint32_t *oxi_vk_spv_write(const oxi_vk_special_module *m, uint32_t *out) {
    const oxi_vk_spv_id *id = m->id;
    uint32_t function = 0, block = 0;
    memcpy(out, m->code, 4 * OXI_VK_SPV_HEADER);
    out += OXI_VK_SPV_HEADER;
    for (uint32_t at = OXI_VK_SPV_HEADER, words; at < m->words; at += words) {
        const uint32_t *in = m->code + at;
        uint32_t code = in[0] & 0xffff;
        words = in[0] >> 16;
        if (code == OXI_VK_SPV_FUNCTION) {
            function = in[2];
            block = 0;
        }
        if (code == OXI_VK_SPV_LABEL) block = in[1];
        bool ends = code == OXI_VK_SPV_FUNCTION_END;
        if (!function) { /* decorations go with what they are of */
            uint32_t home = code == OXI_VK_SPV_DECORATE ? id[in[1]].home : 0;
            if (home && !id[home].reached) continue;
            memcpy(out, in, 4 * (size_t)words);
            out += words;
        } else if (id[function].reached) {
            if (block && !ends && id[block].reached) {
                out = oxi_vk_spv_put_inside(m, block, in, out);
            } else if (!block || ends) {
                memcpy(out, in, 4 * (size_t)words);
                out += words;
            } else if (code == OXI_VK_SPV_LABEL && id[block].named) { /* an empty one */
                uint32_t loop = oxi_vk_spv_loop_of(m, block);
                out = oxi_vk_spv_put(out, OXI_VK_SPV_LABEL, 2, block, 0);
                if (loop) out = oxi_vk_spv_put(out, OXI_VK_SPV_BRANCH, 2, loop, 0);
                else *out++ = 1u << 16 | OXI_VK_SPV_UNREACHABLE;
            }
        }
        if (ends) function = block = 0;
    }
    return out;
}

/* Writes the module of `shader` as its constants `special`, [OXI_VK_CONSTANTS], leave it to `out`, which has
 * room for all of it, and its bytes to *bytes. */
static ox_status oxi_vk_specialize(const oxi_vk_code *shader, const uint32_t *special, uint32_t *out,
                                   size_t *bytes) {
    oxi_vk_special_module m;
    memset(&m, 0, sizeof m);
    m.code = shader->code;
    m.special = special;
    m.words = (uint32_t)(shader->bytes / 4);
    m.bound = shader->code[3];
    size_t room = m.bound * (sizeof *m.id + sizeof *m.ahead);
    m.id = (oxi_vk_spv_id *)oxi_alloc(room);
    if (!m.id) return OX_ERR_NOMEM;
    memset(m.id, 0, m.bound * sizeof *m.id);
    m.ahead = (uint32_t *)(m.id + m.bound);
    uint32_t entry = 0, home = 0;
    for (uint32_t at = OXI_VK_SPV_HEADER; at < m.words; at += m.code[at] >> 16) {
        if ((m.code[at] & 0xffff) == OXI_VK_SPV_ENTRY) entry = m.code[at + 2];
        oxi_vk_spv_list(&m, at, &home);
    }
    oxi_vk_spv_reach_function(&m, entry);
    while (m.ahead_count) oxi_vk_spv_follow(&m, m.ahead[--m.ahead_count]);
    for (uint32_t i = 1; i < m.bound; i++) /* of switches that stay */
        if (m.id[i].stays) m.id[m.id[i].merge].named = true;
    *bytes = 4 * (size_t)(oxi_vk_spv_write(&m, out) - out);
    oxi_free(m.id, room);
    return OX_OK;
}
