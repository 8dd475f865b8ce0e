/* Programs of chains: written step by step, equal steps once, then given tiles and kept, each once for the
 * process, so that a program's address is its name. */

static oxi_chain oxi_chains[OXI_CHAIN_PROGRAMS];
static int64_t oxi_chain_count; /* atomic; programs below it never change */
static oxi_lock oxi_chain_lock;

static bool oxi_chain_is_condition(const oxi_chain *chain, int value) {
    if (value < OXI_CHAIN_OPERANDS) return chain->conditions >> value & 1;
    if (value < oxi_chain_value(0)) return false;
    return oxi_op_row_of((oxi_op)chain->step[value - oxi_chain_value(0)].op)->gives == OXI_GIVES_BOOL;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static int oxi_chain_step_of(oxi_chain *chain, const oxi_chain_step *step) {
    for (int k = 0; k < chain->step_count; k++)
        if (memcmp(&chain->step[k], step, sizeof *step) == 0) return oxi_chain_value(k);
    if (chain->step_count == OXI_CHAIN_STEPS) return -1;
    chain->step[chain->step_count] = *step;
    return oxi_chain_value(chain->step_count++);
}

/* A condition as a number. */
static int oxi_chain_widen(oxi_chain *chain, int value) {
    oxi_chain_step step;
    memset(&step, 0, sizeof step);
    step.op = OXI_OP_copy;
    step.in[0] = (uint8_t)value;
    return oxi_chain_step_of(chain, &step);
}

OXI_UNUSED static int oxi_chain_add(oxi_chain *chain, oxi_op op, const int *in, int count) {
    bool masked = oxi_op_row_of(op)->flag == OXI_FLAG_MASKED;
    oxi_chain_step step;
    memset(&step, 0, sizeof step);
    step.op = (uint16_t)op;
    for (int i = 0; i < count; i++) {
        int value = in[i];
        bool condition = value >= 0 && oxi_chain_is_condition(chain, value), wanted = masked && i == 0;
        if (condition && !wanted) value = oxi_chain_widen(chain, value);
        if (value < 0 || (wanted && !condition)) return -1;
        step.in[i] = (uint8_t)value;
    }
    return oxi_chain_step_of(chain, &step);
}

OXI_UNUSED static bool oxi_chain_give(oxi_chain *chain, int value) {
    if (value >= 0 && oxi_chain_is_condition(chain, value)) value = oxi_chain_widen(chain, value);
    if (value < oxi_chain_value(0) || chain->result_count == OXI_MAX_OUT) return false;
    chain->result[chain->result_count++] = (uint8_t)value;
    return true;
}

/* ---- keeping ------------------------------------------------------------------------------------------- */

/* The last step that reads the value of step k, or the end where it is a result. */
static int oxi_chain_last_use(const oxi_chain *chain, int k) {
    int last = k;
    for (int r = 0; r < chain->result_count; r++)
        if (chain->result[r] == oxi_chain_value(k)) return chain->step_count;
    for (int s = k + 1; s < chain->step_count; s++)
        for (int i = 0; i < 3; i++)
            if (chain->step[s].in[i] == oxi_chain_value(k)) last = s;
    return last;
}

/* Gives each step the lowest tile that is free. None writes over what it reads itself: conditions have a byte
 * an element, numbers four or eight. */
static bool oxi_chain_place(oxi_chain *chain) {
    int busy_until[OXI_CHAIN_TILES];
    memset(busy_until, 0, sizeof busy_until);
    chain->tile_count = 0;
    for (int k = 0; k < chain->step_count; k++) {
        int tile = 0;
        while (tile < OXI_CHAIN_TILES && busy_until[tile] >= k + 1) tile++;
        if (tile == OXI_CHAIN_TILES) return false;
        busy_until[tile] = oxi_chain_last_use(chain, k) + 1;
        chain->step[k].tile = (uint8_t)tile;
        if (tile >= chain->tile_count) chain->tile_count = tile + 1;
    }
    return true;
}

OXI_UNUSED static const oxi_chain *oxi_chain_finish(oxi_chain *chain) {
    const oxi_chain *found = NULL;
    if (chain->result_count == 0 || !oxi_chain_place(chain)) return NULL;
    oxi_lock_take(&oxi_chain_lock);
    int count = (int)oxi_atomic_load(&oxi_chain_count);
    for (int i = 0; i < count && !found; i++)
        if (memcmp(&oxi_chains[i], chain, sizeof *chain) == 0) found = &oxi_chains[i];
    if (!found && count < OXI_CHAIN_PROGRAMS) {
        oxi_chains[count] = *chain;
        found = &oxi_chains[count];
        oxi_atomic_store(&oxi_chain_count, count + 1);
    }
    oxi_lock_give(&oxi_chain_lock);
    return found;
}

/* ---- of text ------------------------------------------------------------------------------------------- */

static oxi_op oxi_map_op_named(const char *word, size_t length) {
    static const struct { const char *sign; oxi_op op; } signs[] = {
        {"+", OXI_OP_add}, {"-", OXI_OP_sub}, {"*", OXI_OP_mul}, {"/", OXI_OP_div}};
    for (size_t i = 0; length == 1 && i < sizeof signs / sizeof *signs; i++)
        if (word[0] == signs[i].sign[0]) return signs[i].op;
    for (int op = 0; op < OXI_OP_COUNT; op++) {
        const oxi_op_row *row = oxi_op_row_of((oxi_op)op);
        if (row->family == OXI_FAMILY_MAP && strlen(row->name) == length &&
            memcmp(row->name, word, length) == 0)
            return (oxi_op)op;
    }
    return OXI_OP_COUNT;
}

enum { OXI_CHAIN_STACK = 8, OXI_CHAIN_KEPT = 6 }; /* p .. u */

/* What is known while a text is read. */
typedef struct oxi_chain_reader {
    oxi_chain chain;
    int stack[OXI_CHAIN_STACK], height, kept[OXI_CHAIN_KEPT];
} oxi_chain_reader;

static bool oxi_reader_push(oxi_chain_reader *r, int value) {
    if (value < 0 || r->height == OXI_CHAIN_STACK) return false;
    r->stack[r->height++] = value;
    return true;
}

static bool oxi_reader_op(oxi_chain_reader *r, oxi_op op) {
    int count = oxi_op_row_of(op)->operands->in_count;
    if (count > r->height) return false;
    r->height -= count;
    return oxi_reader_push(r, oxi_chain_add(&r->chain, op, &r->stack[r->height], count));
}

/* False: the word is none. */
static bool oxi_reader_word(oxi_chain_reader *r, const char *word, size_t length) {
    char first = word[0];
    if (length == 1 && first == ';') return r->height > 0 && oxi_chain_give(&r->chain, r->stack[--r->height]);
    if (length == 1 && first >= 'a' && first < 'a' + OXI_CHAIN_OPERANDS) {
        if (first - 'a' >= r->chain.operand_count) r->chain.operand_count = first - 'a' + 1;
        return oxi_reader_push(r, oxi_chain_operand(first - 'a'));
    }
    if (length == 1 && first >= 'p' && first < 'p' + OXI_CHAIN_KEPT)
        return oxi_reader_push(r, r->kept[first - 'p']);
    if (length == 2 && first == '=' && word[1] >= 'p' && word[1] < 'p' + OXI_CHAIN_KEPT && r->height > 0) {
        r->kept[word[1] - 'p'] = r->stack[r->height - 1];
        return true;
    }
    if (length >= 2 && first == 'n' && word[1] >= '0' && word[1] <= '9') {
        int place = atoi(word + 1);
        if (place >= OXI_CHAIN_NUMBERS) return false;
        if (place >= r->chain.number_count) r->chain.number_count = place + 1;
        return oxi_reader_push(r, oxi_chain_number(place));
    }
    if (length == 4 && memcmp(word, "drop", 4) == 0) return r->height-- > 0;
    oxi_op op = oxi_map_op_named(word, length);
    return op != OXI_OP_COUNT && oxi_reader_op(r, op);
}

static const oxi_chain *oxi_chain_read_text(const char *text) {
    oxi_chain_reader r;
    memset(&r, 0, sizeof r);
    for (int i = 0; i < OXI_CHAIN_KEPT; i++) r.kept[i] = -1;
    for (const char *at = text; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (!oxi_reader_word(&r, at, length))
            return (const oxi_chain *)OXI_FAIL_NULL(OX_ERR_ARG, "chain: \"%s\" at \"%s\"", text, at);
        at += length;
    }
    const oxi_chain *chain = r.height == 0 ? oxi_chain_finish(&r.chain) : NULL;
    if (!chain) (void)oxi_fail(OX_ERR_ARG, "chain: \"%s\" is no program, or one too many", text);
    return chain;
}

enum { OXI_CHAIN_TEXT = 240 };
static struct {
    int64_t ready; /* atomic */
    char text[OXI_CHAIN_TEXT];
    const oxi_chain *chain;
} oxi_chain_texts[64];
static oxi_lock oxi_chain_text_lock;

OXI_UNUSED static const oxi_chain *oxi_chain_of(const char *text) {
    const uint64_t hash = oxi_attr_hash(14695981039346656037u, text, strlen(text));
    if (strlen(text) >= OXI_CHAIN_TEXT) return oxi_chain_read_text(text);
    for (int tries = 0; tries < 8; tries++) {
        int place = (int)((hash >> 20) + (uint64_t)tries) & 63;
        if (!oxi_atomic_load(&oxi_chain_texts[place].ready)) {
            oxi_lock_take(&oxi_chain_text_lock);
            const oxi_chain *chain = NULL;
            if (!oxi_atomic_load(&oxi_chain_texts[place].ready) &&
                (chain = oxi_chain_read_text(text)) != NULL) {
                strcpy(oxi_chain_texts[place].text, text);
                oxi_chain_texts[place].chain = chain;
                oxi_atomic_store(&oxi_chain_texts[place].ready, 1);
            }
            oxi_lock_give(&oxi_chain_text_lock);
            if (!oxi_atomic_load(&oxi_chain_texts[place].ready)) return NULL;
        }
        if (strcmp(oxi_chain_texts[place].text, text) == 0) return oxi_chain_texts[place].chain;
    }
    return oxi_chain_read_text(text);
}

OXI_UNUSED static ox_status oxi_chain_run(const char *text, ox_tensor *const *in, int count,
                                          const double *numbers, int number_count, ox_tensor **out) {
    const oxi_chain *chain = oxi_chain_of(text);
    if (!chain || oxi_any_null("chain", in, count)) return ox_error();
    oxi_call call = oxi_call_of(OXI_OP_chain, in, count, NULL);
    call.out_count = chain->result_count;
    call.attr = oxi_attrs_chain();
    call.attr.chain.program = chain;
    memcpy(call.attr.chain.numbers.n, numbers, (size_t)number_count * sizeof *numbers);
    for (int r = 0; r < chain->result_count; r++) call.out[r] = out[r];
    ox_status status = oxi_apply(&call);
    for (int r = 0; r < chain->result_count; r++) out[r] = call.out[r];
    return status;
}

/* ---- as text ------------------------------------------------------------------------------------------- */

static int oxi_chain_text(const oxi_chain *chain, char *out, size_t room) {
    int used = 0;
    for (int k = 0; chain && k < chain->step_count; k++) {
        const oxi_chain_step *step = &chain->step[k];
        int count = oxi_op_row_of((oxi_op)step->op)->operands->in_count;
        for (int i = 0; i <= count; i++) {
            size_t left = (size_t)used < room ? room - (size_t)used : 0;
            char *at = left ? out + used : NULL;
            int value = i < count ? step->in[i] : 0;
            int more = i == count
                           ? snprintf(at, left, "%s -> t%d; ", oxi_op_row_of((oxi_op)step->op)->name, k)
                       : value < OXI_CHAIN_OPERANDS ? snprintf(at, left, "%c ", 'a' + value)
                       : value < oxi_chain_value(0) ? snprintf(at, left, "n%d ", value - OXI_CHAIN_OPERANDS)
                                                    : snprintf(at, left, "t%d ", value - oxi_chain_value(0));
            used += more > 0 ? more : 0;
        }
    }
    return used;
}
