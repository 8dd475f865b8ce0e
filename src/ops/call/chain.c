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
            int more = i == count ? snprintf(at, left, "%s -> t%d; ", oxi_op_row_of((oxi_op)step->op)->name, k)
                       : value < OXI_CHAIN_OPERANDS ? snprintf(at, left, "%c ", 'a' + value)
                       : value < oxi_chain_value(0) ? snprintf(at, left, "n%d ", value - OXI_CHAIN_OPERANDS)
                                                    : snprintf(at, left, "t%d ", value - oxi_chain_value(0));
            used += more > 0 ? more : 0;
        }
    }
    return used;
}
