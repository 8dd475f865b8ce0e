/* A module in which a function that is called with constants is one for each of them. specialize.c knows what
 * a constant rules out; of a function that is called for many, it only knows that with a copy for each. What
 * is called from a copy with what the copy was made for is copied in its turn.
 * The literals of an instruction, which are not renumbered, are the specification's (SPIR-V 1.6, 3.49). */

enum {
    OXI_VK_SPV_PARAMETER = 55,
    OXI_VK_SPV_NO_CONTRACTION = 42,
    OXI_VK_COPIED_ARGUMENTS = 12 /* most that a function has */
};

/* A copy of a function: for these arguments, 0 where they are none of the module's constants. */
typedef struct oxi_vk_function_copy {
    uint32_t function, id, argument[OXI_VK_COPIED_ARGUMENTS];
} oxi_vk_function_copy;

typedef struct oxi_vk_words {
    uint32_t *at;
    size_t count, room;
} oxi_vk_words;

typedef struct oxi_vk_copier {
    const uint32_t *code;
    uint32_t words, bound, next; /* ids: the module's, the next that is free */
    uint32_t *function;          /* [bound] where a function stands, 0 = none */
    uint32_t *fresh;             /* [bound] an id of the copy that is being written, 0 = as it is */
    bool *local, *exact;         /* [bound] of a function; not to be contracted */
    oxi_vk_words out, marks;     /* functions that are written; ids that are not to be contracted */
    oxi_vk_function_copy *copy;
    size_t copies, copy_room;
} oxi_vk_copier;

/* Whether word i of an instruction is a literal and not an id. */
static bool oxi_vk_spv_is_literal(uint32_t code, uint32_t i) {
    static const uint8_t first[][2] = {{59, 3}, {61, 4}, {62, 3}, {63, 3}, {79, 5},
                                       {81, 4}, {82, 5}, {246, 3}, {247, 2}, {250, 4}};
    if (code == 12) return i == 4;
    if (code == OXI_VK_SPV_FUNCTION || code == 68) return i == (code == 68 ? 4u : 3u);
    if (code == OXI_VK_SPV_SWITCH) return i >= 3 && i % 2 == 1;
    for (size_t k = 0; k < sizeof first / sizeof *first; k++)
        if (first[k][0] == code) return i >= first[k][1];
    return false;
}

static bool oxi_vk_words_put(oxi_vk_words *to, const uint32_t *words, size_t count) {
    if (to->count + count > to->room) {
        size_t room = 2 * (to->count + count);
        uint32_t *at = (uint32_t *)oxi_realloc(to->at, 4 * to->room, 4 * room);
        if (!at) return false;
        to->at = at;
        to->room = room;
    }
    memcpy(to->at + to->count, words, 4 * count);
    to->count += count;
    return true;
}

/* The copy of a function for these arguments, to be written later if it is new; 0: there is no memory. */
static uint32_t oxi_vk_copy_of(oxi_vk_copier *c, const oxi_vk_function_copy *wanted) {
    for (size_t i = 0; i < c->copies; i++)
        if (c->copy[i].function == wanted->function &&
            memcmp(c->copy[i].argument, wanted->argument, sizeof wanted->argument) == 0)
            return c->copy[i].id;
    if (c->copies == c->copy_room) {
        size_t room = 2 * c->copy_room + 64;
        oxi_vk_function_copy *grown =
            (oxi_vk_function_copy *)oxi_realloc(c->copy, c->copy_room * sizeof *grown, room * sizeof *grown);
        if (!grown) return 0;
        c->copy = grown;
        c->copy_room = room;
    }
    c->copy[c->copies] = *wanted;
    c->copy[c->copies].id = c->next++;
    return c->copy[c->copies++].id;
}

/* The id that stands for `id` in what is being written. */
static uint32_t oxi_vk_copied_id(oxi_vk_copier *c, uint32_t id, bool copied) {
    if (!copied || id >= c->bound || !c->local[id]) return id;
    if (!c->fresh[id]) {
        c->fresh[id] = c->next++;
        if (c->exact[id] && !oxi_vk_words_put(&c->marks, &c->fresh[id], 1)) return 0;
    }
    return c->fresh[id];
}

/* Of a call in what is being written, the function that it calls now; 0: there is no memory. */
static uint32_t oxi_vk_callee_of(oxi_vk_copier *c, const uint32_t *call, uint32_t words) {
    oxi_vk_function_copy wanted;
    bool constants = false;
    memset(&wanted, 0, sizeof wanted);
    wanted.function = call[3];
    for (uint32_t i = 4; i < words && i - 4 < OXI_VK_COPIED_ARGUMENTS; i++) {
        if (call[i] >= c->bound || c->local[call[i]]) continue;
        wanted.argument[i - 4] = call[i];
        constants = true;
    }
    return constants ? oxi_vk_copy_of(c, &wanted) : call[3];
}

/* Writes the function at `at`: as it is, but for what it calls, or as a copy. */
static bool oxi_vk_write_function(oxi_vk_copier *c, uint32_t at, const oxi_vk_function_copy *copy) {
    uint32_t parameter = 0, code = 0;
    if (copy) memset(c->fresh, 0, c->bound * sizeof *c->fresh);
    for (; code != OXI_VK_SPV_FUNCTION_END; at += c->code[at] >> 16) {
        const uint32_t *in = c->code + at;
        uint32_t words = in[0] >> 16;
        size_t begin = c->out.count;
        code = in[0] & 0xffff;
        if (!oxi_vk_words_put(&c->out, in, words)) return false;
        for (uint32_t i = 1; i < words; i++) {
            if (oxi_vk_spv_is_literal(code, i) || (code == OXI_VK_SPV_CALL && i == 3)) continue;
            uint32_t id = oxi_vk_copied_id(c, in[i], copy != NULL);
            if (!id) return false;
            c->out.at[begin + i] = id;
        }
        if (copy && code == OXI_VK_SPV_FUNCTION) c->out.at[begin + 2] = copy->id;
        if (copy && code == OXI_VK_SPV_PARAMETER && parameter < OXI_VK_COPIED_ARGUMENTS) {
            uint32_t argument = copy->argument[parameter++];
            if (argument) c->fresh[in[2]] = argument;
        }
        if (code == OXI_VK_SPV_CALL) {
            uint32_t callee = oxi_vk_callee_of(c, c->out.at + begin, words);
            if (!callee) return false;
            c->out.at[begin + 3] = callee;
        }
    }
    return true;
}

/* Notes what stands where; returns where functions begin. */
static uint32_t oxi_vk_copier_look(oxi_vk_copier *c) {
    uint32_t first = 0, inside = 0;
    for (uint32_t at = OXI_VK_SPV_HEADER; at < c->words; at += c->code[at] >> 16) {
        const uint32_t *in = c->code + at;
        uint32_t code = in[0] & 0xffff, words = in[0] >> 16;
        if (code == OXI_VK_SPV_DECORATE && in[2] == OXI_VK_SPV_NO_CONTRACTION) c->exact[in[1]] = true;
        if (code == OXI_VK_SPV_FUNCTION) {
            if (!first) first = at;
            inside = in[2];
            c->function[in[2]] = at;
        } else if (inside && code == OXI_VK_SPV_LABEL) {
            c->local[in[1]] = true;
        } else if (inside && words > 2 && !oxi_vk_spv_is_literal(code, 2) && code != 62 && code != 63 &&
                   (code < OXI_VK_SPV_LOOP_MERGE || code > 255) && code != 254) {
            c->local[in[2]] = true; /* a result */
        }
    }
    return first;
}

/* The module up to its functions, with the marks of copies among its decorations. */
static bool oxi_vk_copier_begin(oxi_vk_copier *c, uint32_t first, oxi_vk_words *to) {
    bool marked = false;
    for (uint32_t at = 0, words; at < first; at += words) {
        const uint32_t *in = c->code + at;
        words = at == 0 ? (uint32_t)OXI_VK_SPV_HEADER : in[0] >> 16;
        if (at > 0 && !marked && (in[0] & 0xffff) == OXI_VK_SPV_DECORATE) {
            marked = true;
            for (size_t i = 0; i < c->marks.count; i++) {
                const uint32_t mark[3] = {3u << 16 | OXI_VK_SPV_DECORATE, c->marks.at[i],
                                          OXI_VK_SPV_NO_CONTRACTION};
                if (!oxi_vk_words_put(to, mark, 3)) return false;
            }
        }
        if (!oxi_vk_words_put(to, in, words)) return false;
    }
    to->at[3] = c->next;
    return true;
}

/* The module with copies, [*words], which the caller frees; NULL: there is no memory. */
static uint32_t *oxi_vk_copy_functions(const uint32_t *code, uint32_t words, size_t *out_words,
                                       size_t *out_room) {
    oxi_vk_copier c;
    oxi_vk_words whole;
    memset(&c, 0, sizeof c);
    memset(&whole, 0, sizeof whole);
    c.code = code;
    c.words = words;
    c.bound = c.next = code[3];
    size_t room = c.bound * (2 * sizeof(uint32_t) + 2 * sizeof(bool));
    c.function = (uint32_t *)oxi_calloc(1, room);
    bool fits = c.function != NULL;
    if (fits) {
        c.fresh = c.function + c.bound;
        c.local = (bool *)(c.fresh + c.bound);
        c.exact = c.local + c.bound;
        uint32_t first = oxi_vk_copier_look(&c);
        for (uint32_t id = 1; fits && id < c.bound; id++)
            if (c.function[id]) fits = oxi_vk_write_function(&c, c.function[id], NULL);
        for (size_t i = 0; fits && i < c.copies; i++) {
            oxi_vk_function_copy copy = c.copy[i]; /* the list may move */
            fits = oxi_vk_write_function(&c, c.function[copy.function], &copy);
        }
        fits = fits && oxi_vk_copier_begin(&c, first, &whole) &&
               oxi_vk_words_put(&whole, c.out.at, c.out.count);
        oxi_free(c.function, room);
    }
    oxi_free(c.out.at, 4 * c.out.room);
    oxi_free(c.marks.at, 4 * c.marks.room);
    oxi_free(c.copy, c.copy_room * sizeof *c.copy);
    if (!fits) oxi_free(whole.at, 4 * whole.room);
    *out_words = whole.count;
    *out_room = whole.room;
    return fits ? whole.at : NULL;
}
