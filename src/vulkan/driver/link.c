/* A module of several: their entry points become functions that one of its own calls in order. Part i sees
 * descriptor sets from i OXI_VK_DESCRIPTOR_SETS on. Of types that are no aggregates a module has each only
 * once, and of built-in variables too: later parts take those of earlier ones, and their shared memory as
 * well. Specialization constants become numbers, and what follows from them: drivers unroll no loop whose end
 * they would have to work out first.
 * What is linked is in Vulkan's memory model, in which a part sees what workgroups wrote that it has waited
 * for (in GLSL's it meets old lines of its cache, NVIDIA 580.159). Blocks that only one of them reads, and
 * weights, stay private to an invocation. The numbers are the specification's (SPIR-V 1.6, section 3). */

enum {
    OXI_VK_SPV_UNDEFINED = 1,
    OXI_VK_SPV_IMPORT = 11,
    OXI_VK_SPV_MEMORY_MODEL = 14,
    OXI_VK_SPV_TYPE_VOID = 19,
    OXI_VK_SPV_TYPE_VECTOR = 23,
    OXI_VK_SPV_TYPE_ARRAY = 28,
    OXI_VK_SPV_TYPE_RUNTIME_ARRAY = 29,
    OXI_VK_SPV_TYPE_STRUCT = 30,
    OXI_VK_SPV_TYPE_POINTER = 32,
    OXI_VK_SPV_TYPE_FUNCTION = 33,
    OXI_VK_SPV_VARIABLE = 59,
    OXI_VK_SPV_LOAD = 61,
    OXI_VK_SPV_STORE = 62,
    OXI_VK_SPV_ACCESS_CHAIN = 65,
    OXI_VK_SPV_MEMBER_DECORATE = 72,
    OXI_VK_SPV_CONTROL_BARRIER = 224,
    OXI_VK_SPV_MEMORY_BARRIER = 225,
    OXI_VK_SPV_RETURN = 253,
    OXI_VK_SPV_MODEL = 5345,        /* capabilities: Vulkan's memory model, .. */
    OXI_VK_SPV_MODEL_DEVICE = 5346, /* .. and its scope of the whole device */
    OXI_VK_SPV_BUILTIN = 11,        /* decorations */
    OXI_VK_SPV_BINDING = 33,
    OXI_VK_SPV_DESCRIPTOR_SET = 34,
    OXI_VK_SPV_INPUT = 1,           /* storage classes */
    OXI_VK_SPV_SHARED = 4,
    OXI_VK_SPV_BUFFER = 12,
    OXI_VK_SPV_WORKGROUP_SIZE = 25, /* a built-in */
    OXI_VK_SPV_NON_PRIVATE = 32,    /* of loads and stores */
    OXI_VK_SPV_ACQUIRES = 2 | 8,    /* of barriers, and what those need in the model */
    OXI_VK_SPV_RELEASES = 4 | 8,
    OXI_VK_SPV_MAKES_AVAILABLE = 0x2000,
    OXI_VK_SPV_MAKES_VISIBLE = 0x4000,
    OXI_VK_SPV_BUILTINS = 64,       /* numbers of those that are known here are lower */
    OXI_VK_LINK_ROOM = 256,         /* words of an instruction outside of functions */
    OXI_VK_LINK_SHARED = 32         /* most variables in shared memory */
};

/* What is known of an id of the part that is read. */
typedef struct oxi_vk_link_id {
    uint32_t now;              /* what it is called, 0 = nothing yet */
    uint32_t builtin, special; /* the built-in, the specialization constant that it is, and 1; 0 = none */
    uint32_t binding;          /* of a variable, and 1; 0 = none */
    uint32_t value;            /* of a constant of one word that is known */
    uint32_t storage;          /* of a pointer, and of its type: the class, and 1; 0 = it is none */
    uint32_t of, count;        /* a pointer type: what to; an array type: elements, and how many */
    uint32_t bytes;            /* of a type */
    bool known, truth;         /* the value; it is of type bool */
    bool fresh;                /* a pointer: others write what it points to */
} oxi_vk_link_id;

/* A variable in shared memory, of which each part has one at most: elements, and the most of them (0: it is
 * none of an array). */
typedef struct oxi_vk_link_shared {
    uint32_t id, of, count, bytes, part;
} oxi_vk_link_shared;

/* The sections of a module, in order. */
enum {
    OXI_VK_LINK_BEGIN,
    OXI_VK_LINK_EXTENSIONS,
    OXI_VK_LINK_IMPORTS,
    OXI_VK_LINK_MARKS,
    OXI_VK_LINK_TYPES,
    OXI_VK_LINK_CODE,
    OXI_VK_LINK_SECTIONS
};
typedef struct oxi_vk_linker {
    oxi_vk_words section[OXI_VK_LINK_SECTIONS];
    const uint32_t *code, *special; /* the part's words; the values of its constants */
    uint32_t words, part, bound;
    oxi_vk_link_id *id;             /* [bound] */
    uint32_t next;                  /* ids */
    uint32_t known[OXI_VK_SPV_BUILTINS]; /* the variable of a built-in, 0 = none yet */
    uint32_t interface[OXI_VK_SPV_BUILTINS], inputs;
    oxi_vk_link_shared shared[OXI_VK_LINK_SHARED];
    uint32_t shared_count;
    uint32_t mode[8], mode_words;
    uint32_t empty, function_type, word; /* types: void, that of entry points, uint */
    uint32_t entry[OXI_VK_RELAY_PARTS];
    bool fits;                      /* there was memory, and nothing that is not known here */
} oxi_vk_linker;

static void oxi_vk_link_put(oxi_vk_linker *l, int section, const uint32_t *words, size_t count) {
    l->fits = l->fits && oxi_vk_words_put(&l->section[section], words, count);
}

static uint32_t oxi_vk_link_name(oxi_vk_linker *l, uint32_t id) {
    if (!l->id[id].now) l->id[id].now = l->next++;
    return l->id[id].now;
}

/* An instruction of the section like `in` but for word `but` (0 = like all of it); NULL: there is none. */
static const uint32_t *oxi_vk_link_same(const oxi_vk_words *list, const uint32_t *in, uint32_t but) {
    uint32_t words = in[0] >> 16;
    for (size_t at = 0; at < list->count; at += list->at[at] >> 16) {
        const uint32_t *there = list->at + at;
        uint32_t same = 0;
        while (same < words && (there[same] == in[same] || (but && same == but))) same++;
        if (same == words) return there;
    }
    return NULL;
}

/* Puts an instruction of which a module has one, whose word `result` is an id of the part, 0: it has none. */
static void oxi_vk_link_once(oxi_vk_linker *l, int section, uint32_t *in, uint32_t result) {
    const uint32_t *there = oxi_vk_link_same(&l->section[section], in, result);
    uint32_t own = in[result];
    if (result && there) l->id[own].now = there[result];
    if (result) in[result] = oxi_vk_link_name(l, own);
    if (!there) oxi_vk_link_put(l, section, in, in[0] >> 16);
}

/* ---- outside of functions ------------------------------------------------------------------------------ */

/* Whether word i of an instruction outside of functions is a literal. */
static bool oxi_vk_link_is_literal(const uint32_t *in, uint32_t i) {
    switch (in[0] & 0xffff) {
    case OXI_VK_SPV_TYPE_INT:
    case OXI_VK_SPV_TYPE_FLOAT: return i >= 2;
    case OXI_VK_SPV_TYPE_VECTOR: return i == 3;
    case OXI_VK_SPV_TYPE_POINTER: return i == 2;
    case OXI_VK_SPV_CONSTANT:
    case OXI_VK_SPV_SPEC_CONSTANT: return i >= 3;
    case OXI_VK_SPV_VARIABLE: return i == 3;
    case OXI_VK_SPV_SPEC_OP: return i == 3 || (i > 3 && oxi_vk_spv_is_literal(in[3], i - 1));
    default: return false;
    }
}

/* What a type is, for what comes of it. */
static void oxi_vk_link_learn_type(oxi_vk_linker *l, const uint32_t *from) {
    oxi_vk_link_id *id = l->id, *own = &id[from[1]];
    switch (from[0] & 0xffff) {
    case OXI_VK_SPV_TYPE_BOOL: own->truth = true; own->bytes = 4; break;
    case OXI_VK_SPV_TYPE_INT:
    case OXI_VK_SPV_TYPE_FLOAT: own->bytes = from[2] / 8; break;
    case OXI_VK_SPV_TYPE_VECTOR: own->bytes = from[3] * id[from[2]].bytes; break;
    case OXI_VK_SPV_TYPE_ARRAY:
        own->of = from[2];
        own->count = id[from[3]].value;
        own->bytes = own->count * id[from[2]].bytes;
        break;
    case OXI_VK_SPV_TYPE_POINTER:
        own->storage = from[2] + 1;
        own->of = from[3];
        break;
    default: break;
    }
}

/* The value of a constant of one word, if it is one that is known. */
static void oxi_vk_link_learn_value(oxi_vk_linker *l, const uint32_t *from) {
    oxi_vk_link_id *id = l->id, *own = &id[from[2]];
    const uint32_t code = from[0] & 0xffff, words = from[0] >> 16;
    uint32_t in[3] = {0, 0, 0};
    own->truth = id[from[1]].truth;
    own->known = true;
    switch (code) {
    case OXI_VK_SPV_TRUE:
    case OXI_VK_SPV_FALSE: own->value = code == OXI_VK_SPV_TRUE; break;
    case OXI_VK_SPV_SPEC_TRUE:
    case OXI_VK_SPV_SPEC_FALSE:
        own->value = own->special ? l->special[own->special - 1] != 0 : code == OXI_VK_SPV_SPEC_TRUE;
        break;
    case OXI_VK_SPV_CONSTANT: own->value = from[3]; break;
    case OXI_VK_SPV_SPEC_CONSTANT:
        own->value = own->special ? l->special[own->special - 1] : from[3];
        break;
    case OXI_VK_SPV_SPEC_OP:
        own->known = words >= 5 && words <= 7;
        for (uint32_t i = 4; own->known && i < words; i++) {
            own->known = from[i] < l->bound && id[from[i]].known;
            in[i - 4] = own->known ? id[from[i]].value : 0;
        }
        own->known = own->known && oxi_vk_spv_work_out(from[3], in[0], in[1], in[2], &own->value);
        break;
    default: own->known = false; break;
    }
}

/* A part's variable in shared memory is one of those that there are, or a new one. */
static void oxi_vk_link_share(oxi_vk_linker *l, uint32_t own, uint32_t type) {
    const oxi_vk_link_id *array = &l->id[type];
    const uint32_t count = array->count, of = oxi_vk_link_name(l, count ? array->of : type);
    oxi_vk_link_shared *s = l->shared, *end = s + l->shared_count;
    while (s < end && !(s->of == of && (s->count > 0) == (count > 0) && s->part != l->part)) s++;
    if (s == end && l->shared_count == OXI_VK_LINK_SHARED) {
        l->fits = false;
        return;
    }
    if (s == end) {
        memset(s, 0, sizeof *s);
        s->id = l->next++;
        s->of = of;
        l->shared_count++;
    }
    s->part = l->part; /* taken, by this one */
    if (s->count < count) s->count = count;
    if (s->bytes < array->bytes) s->bytes = array->bytes;
    l->id[own].now = s->id;
}

/* A constant or a variable, or whatever else has a type and an id. */
static void oxi_vk_link_value(oxi_vk_linker *l, const uint32_t *from, uint32_t *in) {
    oxi_vk_link_id *own = &l->id[from[2]];
    const uint32_t code = from[0] & 0xffff;
    if (code == OXI_VK_SPV_VARIABLE) {
        own->storage = from[3] + 1;
        own->fresh = from[3] == OXI_VK_SPV_SHARED || (from[3] == OXI_VK_SPV_BUFFER && own->binding != 3);
        if (from[3] == OXI_VK_SPV_SHARED) {
            oxi_vk_link_share(l, from[2], l->id[from[1]].of);
            return;
        }
        const bool input = from[3] == OXI_VK_SPV_INPUT && own->builtin;
        if (input && l->known[own->builtin - 1]) {
            own->now = l->known[own->builtin - 1];
            return;
        }
        if (input) l->known[own->builtin - 1] = l->interface[l->inputs++] = oxi_vk_link_name(l, from[2]);
    } else {
        oxi_vk_link_learn_value(l, from);
    }
    in[2] = oxi_vk_link_name(l, from[2]);
    if (own->known && own->truth) {
        in[0] = 3u << 16 | (own->value ? OXI_VK_SPV_TRUE : OXI_VK_SPV_FALSE);
    } else if (own->known) {
        in[0] = 4u << 16 | OXI_VK_SPV_CONSTANT;
        in[3] = own->value;
    }
    oxi_vk_link_put(l, OXI_VK_LINK_TYPES, in, in[0] >> 16);
}

static void oxi_vk_link_global(oxi_vk_linker *l, const uint32_t *from) {
    uint32_t in[OXI_VK_LINK_ROOM], code = from[0] & 0xffff, words = from[0] >> 16;
    const bool type = code >= OXI_VK_SPV_TYPES && code < OXI_VK_SPV_TYPES_END;
    if (words > OXI_VK_LINK_ROOM) {
        l->fits = false;
        return;
    }
    memcpy(in, from, 4 * (size_t)words);
    for (uint32_t i = 1; i < words; i++)
        if (i != (type ? 1u : 2u) && !oxi_vk_link_is_literal(from, i)) in[i] = oxi_vk_link_name(l, in[i]);
    if (!type) {
        oxi_vk_link_value(l, from, in);
        return;
    }
    oxi_vk_link_learn_type(l, from);
    if (code == OXI_VK_SPV_TYPE_ARRAY || code == OXI_VK_SPV_TYPE_RUNTIME_ARRAY ||
        code == OXI_VK_SPV_TYPE_STRUCT) {
        in[1] = oxi_vk_link_name(l, from[1]);
        oxi_vk_link_put(l, OXI_VK_LINK_TYPES, in, words);
        return;
    }
    oxi_vk_link_once(l, OXI_VK_LINK_TYPES, in, 1);
    if (code == OXI_VK_SPV_TYPE_VOID) l->empty = in[1];
    if (code == OXI_VK_SPV_TYPE_INT && in[2] == 32 && in[3] == 0) l->word = in[1];
    if (code == OXI_VK_SPV_TYPE_FUNCTION && words == 3 && in[2] == l->empty) l->function_type = in[1];
}

/* What stands before types, and what decorations tell of ids. */
static void oxi_vk_link_head(oxi_vk_linker *l, const uint32_t *from) {
    uint32_t in[OXI_VK_LINK_ROOM], code = from[0] & 0xffff, words = from[0] >> 16;
    if (words > OXI_VK_LINK_ROOM) {
        l->fits = false;
        return;
    }
    memcpy(in, from, 4 * (size_t)words);
    if (code == OXI_VK_SPV_CAPABILITY) oxi_vk_link_once(l, OXI_VK_LINK_BEGIN, in, 0);
    else if (code == OXI_VK_SPV_EXTENSION) oxi_vk_link_once(l, OXI_VK_LINK_EXTENSIONS, in, 0);
    else if (code == OXI_VK_SPV_IMPORT) oxi_vk_link_once(l, OXI_VK_LINK_IMPORTS, in, 1);
    else if (code == OXI_VK_SPV_ENTRY) l->entry[l->part] = oxi_vk_link_name(l, in[2]);
    else if (code == OXI_VK_SPV_MODE && words <= 8) {
        memcpy(l->mode, in, 4 * (size_t)words); /* parts are of one size */
        l->mode_words = words;
    }
    if (code != OXI_VK_SPV_DECORATE || words != 4) return;
    oxi_vk_link_id *own = &l->id[in[1]];
    if (in[2] == OXI_VK_SPV_BUILTIN && in[3] < OXI_VK_SPV_BUILTINS) own->builtin = in[3] + 1;
    else if (in[2] == OXI_VK_SPV_BINDING) own->binding = in[3] + 1;
    else if (in[2] == OXI_VK_SPV_SPEC_ID && in[3] < OXI_VK_CONSTANTS) own->special = in[3] + 1;
}

static void oxi_vk_link_mark(oxi_vk_linker *l, const uint32_t *from) {
    uint32_t in[8], words = from[0] >> 16;
    const bool member = (from[0] & 0xffff) == OXI_VK_SPV_MEMBER_DECORATE;
    if (words > 8 || (!member && from[2] == OXI_VK_SPV_SPEC_ID) || !l->id[from[1]].now) return;
    memcpy(in, from, 4 * (size_t)words);
    in[1] = l->id[from[1]].now;
    const bool builtin = !member && from[2] == OXI_VK_SPV_BUILTIN;
    if (builtin && l->part > 0 &&
        (from[3] == OXI_VK_SPV_WORKGROUP_SIZE || oxi_vk_link_same(&l->section[OXI_VK_LINK_MARKS], in, 0)))
        return;
    if (!member && from[2] == OXI_VK_SPV_DESCRIPTOR_SET) in[3] += l->part * OXI_VK_DESCRIPTOR_SETS;
    oxi_vk_link_put(l, OXI_VK_LINK_MARKS, in, words);
}

/* ---- functions ----------------------------------------------------------------------------------------- */

static uint32_t oxi_vk_link_number(oxi_vk_linker *l, uint32_t value) {
    const uint32_t in[4] = {4u << 16 | OXI_VK_SPV_CONSTANT, l->word, l->next++, value};
    oxi_vk_link_put(l, OXI_VK_LINK_TYPES, in, 4);
    return in[2];
}

/* What a barrier is to do in the memory model, from what it does in GLSL's. */
static uint32_t oxi_vk_link_semantics(oxi_vk_linker *l, uint32_t id) {
    uint32_t value = l->id[id].value;
    if (!l->id[id].known) l->fits = false;
    if (value & OXI_VK_SPV_RELEASES) value |= OXI_VK_SPV_MAKES_AVAILABLE;
    if (value & OXI_VK_SPV_ACQUIRES) value |= OXI_VK_SPV_MAKES_VISIBLE;
    return oxi_vk_link_number(l, value);
}

static void oxi_vk_link_code(oxi_vk_linker *l, const uint32_t *in) {
    uint32_t code = in[0] & 0xffff, words = in[0] >> 16;
    oxi_vk_words *to = &l->section[OXI_VK_LINK_CODE];
    size_t begin = to->count;
    oxi_vk_link_put(l, OXI_VK_LINK_CODE, in, words);
    for (uint32_t i = 1; l->fits && i < words; i++)
        if (!oxi_vk_spv_is_literal(code, i)) to->at[begin + i] = oxi_vk_link_name(l, in[i]);
    if (!l->fits) return;
    if (code == OXI_VK_SPV_ACCESS_CHAIN) l->id[in[2]].fresh = l->id[in[3]].fresh;
    if (code == OXI_VK_SPV_CONTROL_BARRIER) to->at[begin + 3] = oxi_vk_link_semantics(l, in[3]);
    if (code == OXI_VK_SPV_MEMORY_BARRIER) to->at[begin + 2] = oxi_vk_link_semantics(l, in[2]);
    const uint32_t plain = code == OXI_VK_SPV_LOAD ? 4 : code == OXI_VK_SPV_STORE ? 3 : 0;
    if (plain && l->id[in[plain == 4 ? 3 : 1]].fresh) {
        const uint32_t access = OXI_VK_SPV_NON_PRIVATE;
        if (words > plain) l->fits = false; /* something else is said of it, which is not known here */
        oxi_vk_link_put(l, OXI_VK_LINK_CODE, &access, 1);
        to->at[begin] = (plain + 1) << 16 | code;
    }
}

/* Reads a part: functions before decorations, which may be of what functions have. */
static void oxi_vk_link_part(oxi_vk_linker *l) {
    for (int pass = 0; pass < 3; pass++) {
        bool inside = false;
        for (uint32_t at = OXI_VK_SPV_HEADER; l->fits && at < l->words; at += l->code[at] >> 16) {
            const uint32_t *in = l->code + at;
            uint32_t code = in[0] & 0xffff;
            inside = inside || code == OXI_VK_SPV_FUNCTION;
            const bool mark = code == OXI_VK_SPV_DECORATE || code == OXI_VK_SPV_MEMBER_DECORATE;
            const bool head = !inside && code < OXI_VK_SPV_TYPE_VOID && code != OXI_VK_SPV_UNDEFINED;
            if (pass == 0 && (head || mark)) oxi_vk_link_head(l, in);
            if (pass == 1 && inside) oxi_vk_link_code(l, in);
            if (pass == 1 && !inside && !mark && !head) oxi_vk_link_global(l, in);
            if (pass == 2 && mark) oxi_vk_link_mark(l, in);
        }
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Shared memory of all parts; its bytes. */
static uint32_t oxi_vk_link_put_shared(oxi_vk_linker *l) {
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < l->shared_count; i++) {
        const oxi_vk_link_shared *s = &l->shared[i];
        uint32_t type = s->of;
        bytes += (s->bytes + 15) / 16 * 16;
        if (s->count) {
            const uint32_t count = oxi_vk_link_number(l, s->count);
            const uint32_t array[] = {4u << 16 | OXI_VK_SPV_TYPE_ARRAY, type = l->next++, s->of, count};
            oxi_vk_link_put(l, OXI_VK_LINK_TYPES, array, 4);
        }
        uint32_t pointer[] = {4u << 16 | OXI_VK_SPV_TYPE_POINTER, l->next, OXI_VK_SPV_SHARED, type};
        const uint32_t *there = oxi_vk_link_same(&l->section[OXI_VK_LINK_TYPES], pointer, 1);
        if (there) pointer[1] = there[1];
        else {
            l->next++;
            oxi_vk_link_put(l, OXI_VK_LINK_TYPES, pointer, 4);
        }
        const uint32_t variable[] = {4u << 16 | OXI_VK_SPV_VARIABLE, pointer[1], s->id, OXI_VK_SPV_SHARED};
        oxi_vk_link_put(l, OXI_VK_LINK_TYPES, variable, 4);
    }
    return bytes;
}

/* The entry point, which calls those of the parts. */
static void oxi_vk_link_main(oxi_vk_linker *l, uint32_t parts) {
    const uint32_t id = l->next++;
    const uint32_t begin[] = {5u << 16 | OXI_VK_SPV_FUNCTION, l->empty, id, 0, l->function_type,
                              2u << 16 | OXI_VK_SPV_LABEL, l->next++};
    const uint32_t end[] = {1u << 16 | OXI_VK_SPV_RETURN, 1u << 16 | OXI_VK_SPV_FUNCTION_END};
    oxi_vk_link_put(l, OXI_VK_LINK_CODE, begin, sizeof begin / sizeof *begin);
    for (uint32_t i = 0; i < parts; i++) {
        const uint32_t call[] = {4u << 16 | OXI_VK_SPV_CALL, l->empty, l->next++, l->entry[i]};
        oxi_vk_link_put(l, OXI_VK_LINK_CODE, call, 4);
    }
    oxi_vk_link_put(l, OXI_VK_LINK_CODE, end, 2);
    const uint32_t model[] = {3u << 16 | OXI_VK_SPV_MEMORY_MODEL, 0, 3}; /* logical, Vulkan's */
    const uint32_t entry[] = {(5 + l->inputs) << 16 | OXI_VK_SPV_ENTRY, 5, id, 0x6e69616d, 0}; /* "main" */
    oxi_vk_link_put(l, OXI_VK_LINK_IMPORTS, model, 3);
    oxi_vk_link_put(l, OXI_VK_LINK_IMPORTS, entry, 5);
    oxi_vk_link_put(l, OXI_VK_LINK_IMPORTS, l->interface, l->inputs);
    l->mode[1] = id;
    oxi_vk_link_put(l, OXI_VK_LINK_IMPORTS, l->mode, l->mode_words);
}

/* The sections behind a header. */
static ox_status oxi_vk_link_end(oxi_vk_linker *l, const uint32_t *header, oxi_vk_words *out) {
    uint32_t words[16];
    uint32_t *to = oxi_vk_put_capability(oxi_vk_put_capability(words, OXI_VK_SPV_MODEL), OXI_VK_SPV_MODEL_DEVICE);
    oxi_vk_link_put(l, OXI_VK_LINK_BEGIN, words, (size_t)(to - words));
    to = oxi_vk_put_extension(words, "SPV_KHR_vulkan_memory_model");
    oxi_vk_link_put(l, OXI_VK_LINK_EXTENSIONS, words, (size_t)(to - words));
    l->fits = l->fits && oxi_vk_words_put(out, header, OXI_VK_SPV_HEADER);
    for (int i = 0; l->fits && i < OXI_VK_LINK_SECTIONS; i++)
        l->fits = oxi_vk_words_put(out, l->section[i].at, l->section[i].count);
    if (l->fits) out->at[3] = l->next;
    for (int i = 0; i < OXI_VK_LINK_SECTIONS; i++) oxi_free(l->section[i].at, 4 * l->section[i].room);
    return l->fits ? OX_OK : OX_ERR_NOMEM;
}

/* Links the modules `part`, [parts], of which each has constants of its own, [OXI_VK_CONSTANTS]. What comes of
 * it is the caller's to free; *shared: bytes of shared memory. */
static ox_status oxi_vk_link(const oxi_vk_words *part, const uint32_t *const *constants, uint32_t parts,
                             oxi_vk_words *out, uint32_t *shared) {
    oxi_vk_linker l;
    memset(&l, 0, sizeof l);
    l.next = 1;
    l.fits = true;
    for (uint32_t i = 0; l.fits && i < parts; i++) {
        l.bound = part[i].at[3];
        l.code = part[i].at;
        l.words = (uint32_t)part[i].count;
        l.special = constants[i];
        l.part = i;
        l.id = (oxi_vk_link_id *)oxi_calloc(l.bound, sizeof *l.id);
        l.fits = l.id != NULL;
        if (l.fits) oxi_vk_link_part(&l);
        if (l.id) oxi_free(l.id, l.bound * sizeof *l.id);
    }
    *shared = oxi_vk_link_put_shared(&l);
    oxi_vk_link_main(&l, parts);
    return oxi_vk_link_end(&l, part[0].at, out);
}
