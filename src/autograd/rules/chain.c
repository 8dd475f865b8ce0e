/* Formulas as programs: the gradients of one call in one pass, where nobody records them. A program follows
 * from the op, the operands that want a gradient and what kinds of things the letters are; it is written once
 * and found again. What cannot be a chain (complex numbers, integers, tensors of another device) is left to
 * the formulas. */

enum { OXI_CHAIN_LETTERS = 6, OXI_GRADIENT_CHAINS = 512, OXI_CHAIN_STEPS_LEAST = 2 };
static const char oxi_chain_letters[] = "abcyzg";

typedef enum oxi_letter_kind {
    OXI_LETTER_ABSENT,
    OXI_LETTER_TENSOR,
    OXI_LETTER_CONDITION,
    OXI_LETTER_NUMBER
} oxi_letter_kind;

/* Where a number of a program comes from: an attribute, a letter, or the formula. */
typedef struct oxi_number_source {
    int8_t attribute, letter; /* -1: not from there */
    double value;
} oxi_number_source;

/* A value while a program is written: of the chain, or a number that is known already. */
typedef struct oxi_chain_item {
    bool known;
    int value;
    double number;
} oxi_chain_item;

typedef struct oxi_gradient_chain {
    uint64_t key;
    int64_t ready;                      /* atomic */
    const oxi_chain *program;           /* NULL: formulas are as good */
    int8_t letter_of[OXI_CHAIN_OPERANDS], gradient_of[OXI_MAX_OUT];
    oxi_number_source number[OXI_CHAIN_NUMBERS];
} oxi_gradient_chain;

static oxi_gradient_chain oxi_gradient_chains[OXI_GRADIENT_CHAINS];
static oxi_lock oxi_gradient_chain_lock;

/* Numbers among themselves, by the processor's kernel; false: the op has none for doubles. */
static bool oxi_fold_numbers(oxi_op op, const double *in, int count, double *out) {
    oxi_map_kernel kernel = oxi_cpu_kernels()->map[op][OXI_LANE_F64];
    const void *at[3] = {NULL, NULL, NULL};
    oxi_map_numbers numbers = oxi_plain_numbers;
    oxi_attrs attr = oxi_attrs_by_default(op);
    uint8_t truth = 0;
    bool gives_truth = oxi_op_row_of(op)->gives == OXI_GIVES_BOOL;
    if (!kernel) return false;
    oxi_attrs_numbers(op, &attr, numbers.f, 3);
    for (int i = 0; i < count; i++) at[i] = &in[i];
    kernel(1, at, gives_truth ? (void *)&truth : (void *)out, &numbers);
    if (gives_truth) *out = truth;
    return true;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

typedef struct oxi_chain_writer {
    oxi_chain chain;
    oxi_gradient_chain *out;
    const uint8_t *kind;                /* of each letter */
    const double *attribute;
    unsigned ones;                      /* attributes that are 1, which is part of the key */
} oxi_chain_writer;

/* The place of a number among the program's, which it gets if it has none; -1: they are too many. */
static int oxi_writer_number(oxi_chain_writer *w, int attribute, int letter, double value) {
    oxi_number_source source;
    memset(&source, 0, sizeof source);
    source.attribute = (int8_t)attribute;
    source.letter = (int8_t)letter;
    source.value = value;
    int count = w->chain.number_count;
    for (int j = 0; j < count; j++)
        if (memcmp(&w->out->number[j], &source, sizeof source) == 0) return oxi_chain_number(j);
    if (count == OXI_CHAIN_NUMBERS) return -1;
    w->out->number[count] = source;
    w->chain.number_count++;
    return oxi_chain_number(count);
}

static oxi_chain_item oxi_writer_letter(oxi_chain_writer *w, int letter) {
    oxi_chain_item item = {false, -1, 0};
    int place = (int)(strchr(oxi_chain_letters, 'a' + letter) - oxi_chain_letters);
    if (w->kind[place] == OXI_LETTER_NUMBER) item.value = oxi_writer_number(w, -1, place, 0);
    for (int i = 0; i < w->chain.operand_count; i++)
        if (w->out->letter_of[i] == place) item.value = oxi_chain_operand(i);
    return item;
}

static int oxi_writer_value(oxi_chain_writer *w, oxi_chain_item item) {
    return item.known ? oxi_writer_number(w, -1, -1, item.number) : item.value;
}

/* Whether an op gives one of its operands as it is; *item: which. */
static bool oxi_writer_passes(oxi_op op, const oxi_chain_item *in, oxi_chain_item *item) {
    if (oxi_op_row_of(op)->flag == OXI_FLAG_MASKED && in[0].known) {
        *item = in[0].number != 0 ? in[1] : in[2];
        return true;
    }
    if (op == OXI_OP_mul && in[1].known && in[1].number == 1) {
        *item = in[0];
        return true;
    }
    return false;
}

static oxi_chain_item oxi_writer_op(oxi_chain_writer *w, oxi_op op, const oxi_chain_item *in, int count) {
    oxi_chain_item item = {false, -1, 0};
    double numbers[3];
    int values[3];
    bool known = true;
    if (oxi_writer_passes(op, in, &item)) return item;
    for (int i = 0; i < count; i++) {
        known = known && in[i].known;
        numbers[i] = in[i].number;
    }
    if (known && oxi_fold_numbers(op, numbers, count, &item.number)) {
        item.known = true;
        return item;
    }
    for (int i = 0; i < count; i++) values[i] = oxi_writer_value(w, in[i]);
    item.value = oxi_chain_add(&w->chain, op, values, count);
    return item;
}

/* The value of a formula; -1: it does not fit. */
static oxi_chain_item oxi_writer_formula(oxi_chain_writer *w, const oxi_formula *f) {
    oxi_chain_item stack[OXI_FORMULA_DEPTH], kept[OXI_FORMULA_KEPT];
    int height = 0;
    for (int i = 0; i < f->count; i++) {
        const oxi_word *word = &f->words[i];
        if (word->kind == OXI_WORD_OP) {
            int count = oxi_op_row_of((oxi_op)word->index)->operands->in_count;
            height -= count - 1;
            stack[height - 1] = oxi_writer_op(w, (oxi_op)word->index, &stack[height - 1], count);
            continue;
        }
        if (word->kind == OXI_WORD_KEEP) {
            kept[word->index] = stack[height - 1];
            continue;
        }
        oxi_chain_item *top = &stack[height++];
        top->known = word->kind == OXI_WORD_NUMBER;
        if (top->known) top->number = f->numbers[word->index];
        if (word->kind == OXI_WORD_KEPT) *top = kept[word->index];
        if (word->kind == OXI_WORD_LETTER) *top = oxi_writer_letter(w, word->index);
        if (word->kind == OXI_WORD_ATTRIBUTE) {
            top->known = w->ones >> word->index & 1;
            top->number = 1;
            if (!top->known) top->value = oxi_writer_number(w, word->index, -1, 0);
        }
    }
    return stack[0];
}

static void oxi_gradient_chain_write(oxi_gradient_chain *out, oxi_op op, unsigned wants, const uint8_t *kind,
                                     unsigned ones) {
    oxi_chain_writer w;
    bool fits = true;
    memset(&w, 0, sizeof w);
    w.out = out;
    w.kind = kind;
    w.ones = ones;
    memset(out->letter_of, -1, sizeof out->letter_of);
    for (int l = 0; l < OXI_CHAIN_LETTERS; l++) {
        if (kind[l] != OXI_LETTER_TENSOR && kind[l] != OXI_LETTER_CONDITION) continue;
        if (kind[l] == OXI_LETTER_CONDITION) w.chain.conditions |= 1u << w.chain.operand_count;
        out->letter_of[w.chain.operand_count++] = (int8_t)l;
    }
    for (int i = 0; i < 3 && fits; i++) {
        const oxi_formula *f = wants >> i & 1 ? oxi_formula_of(op, i) : NULL;
        if (!f || f->refused) continue;
        oxi_chain_item item = oxi_writer_formula(&w, f);
        if (item.known || (item.value >= 0 && item.value < oxi_chain_value(0))) continue; /* nothing to do */
        out->gradient_of[w.chain.result_count] = (int8_t)i;
        fits = oxi_chain_give(&w.chain, item.value);
    }
    bool pays = w.chain.step_count >= OXI_CHAIN_STEPS_LEAST;
    out->program = fits && pays ? oxi_chain_finish(&w.chain) : NULL;
}

/* ---- finding ------------------------------------------------------------------------------------------- */

static const oxi_gradient_chain *oxi_gradient_chain_find(oxi_op op, unsigned wants, const uint8_t *kind,
                                                         unsigned ones) {
    uint64_t key = (uint64_t)op << 24 | wants << 20 | ones << 16;
    for (int l = 0; l < OXI_CHAIN_LETTERS; l++) key |= (uint64_t)kind[l] << (2 * l);
    uint64_t place = key * 0x9E3779B97F4A7C15u >> 55; /* of 512 */
    for (int tries = 0; tries < 16; tries++, place = (place + 1) % OXI_GRADIENT_CHAINS) {
        oxi_gradient_chain *at = &oxi_gradient_chains[place];
        if (!oxi_atomic_load(&at->ready)) {
            oxi_lock_take(&oxi_gradient_chain_lock);
            if (!oxi_atomic_load(&at->ready)) {
                at->key = key;
                oxi_gradient_chain_write(at, op, wants, kind, ones);
                oxi_atomic_store(&at->ready, 1);
            }
            oxi_lock_give(&oxi_gradient_chain_lock);
        }
        if (at->key == key) return at;
    }
    return NULL;
}

/* ---- running ------------------------------------------------------------------------------------------- */

/* Kinds of the letters that the wanted formulas read; false: one of them is nothing for a chain. */
static bool oxi_chain_kinds(oxi_op op, unsigned wants, const oxi_formula_values *values, uint8_t *kind) {
    unsigned letters = 1u << ('g' - 'a');
    for (int i = 0; i < 3; i++) {
        const oxi_formula *f = wants >> i & 1 ? oxi_formula_of(op, i) : NULL;
        if (f) letters |= f->letters;
    }
    for (int l = 0; l < OXI_CHAIN_LETTERS; l++) {
        int letter = oxi_chain_letters[l] - 'a';
        const ox_tensor *t = values->letter[letter];
        kind[l] = OXI_LETTER_ABSENT;
        if (!(letters >> letter & 1)) continue;
        if (!t) return false;
        ox_dtype_class of = oxi_info(t->dtype)->cls;
        if (t->is_number && !ox_device_of(t)->host) return false;
        kind[l] = t->is_number ? OXI_LETTER_NUMBER
                  : t->dtype == OX_BOOL ? OXI_LETTER_CONDITION : OXI_LETTER_TENSOR;
        if (kind[l] != OXI_LETTER_CONDITION && of != OX_CLASS_FLOAT && !(t->is_number && of == OX_CLASS_INT))
            return false;
    }
    return true;
}

static ox_dtype oxi_chain_result_dtype(const oxi_backward *b, int i) {
    const oxi_outline *to = &b->operand[i], *from = &b->result[0];
    const size_t bytes = (size_t)to->ndim * sizeof *to->shape;
    bool summed = to->ndim != from->ndim || memcmp(to->shape, from->shape, bytes);
    if (!summed && oxi_info(to->dtype)->cls == OX_CLASS_FLOAT) return to->dtype;
    return b->g[0]->dtype == OX_F64 ? OX_F64 : OX_F32;
}

static oxi_call oxi_gradient_chain_call(const oxi_gradient_chain *chain, const oxi_backward *b,
                                        const oxi_formula_values *values, ox_tensor **in) {
    const oxi_chain *program = chain->program;
    oxi_attrs attr = oxi_attrs_chain();
    ox_dtype *dtypes[OXI_MAX_OUT] = {&attr.chain.dtype, &attr.chain.dtype_2, &attr.chain.dtype_3,
                                      &attr.chain.dtype_4};
    for (int i = 0; i < program->operand_count; i++)
        in[i] = values->letter[oxi_chain_letters[chain->letter_of[i]] - 'a'];
    for (int j = 0; j < program->number_count; j++) {
        const oxi_number_source *from = &chain->number[j];
        const ox_tensor *t = from->letter < 0 ? NULL : values->letter[oxi_chain_letters[from->letter] - 'a'];
        attr.chain.numbers.n[j] = t                      ? oxi_element_to_f64(t->dtype, oxi_ptr(t))
                                  : from->attribute >= 0 ? values->attribute[from->attribute]
                                                         : from->value;
    }
    oxi_call call = oxi_call_of(OXI_OP_chain, in, program->operand_count, NULL);
    call.out_count = program->result_count;
    attr.chain.program = program;
    for (int r = 0; r < program->result_count; r++)
        *dtypes[r] = oxi_chain_result_dtype(b, chain->gradient_of[r]);
    call.attr = attr;
    return call;
}

static ox_status oxi_gradients_by_chain(oxi_backward *b, const oxi_formula_values *values) {
    uint8_t kind[OXI_CHAIN_LETTERS];
    unsigned wants = 0, ones = 0;
    if (ox_is_grad_enabled() || !b->g[0]) return OX_OK; /* formulas are recorded, word by word */
    for (int i = 0; i < b->call->in_count && i < 3; i++) wants |= (unsigned)b->wants[i] << i;
    for (int i = 0; i < 3; i++) ones |= (unsigned)(values->attribute[i] == 1) << i;
    if (!oxi_chain_kinds(b->call->op, wants, values, kind)) return OX_OK;
    const oxi_gradient_chain *chain = oxi_gradient_chain_find(b->call->op, wants, kind, ones);
    if (!chain || !chain->program) return OX_OK;
    ox_tensor *in[OXI_CHAIN_OPERANDS];
    oxi_call call = oxi_gradient_chain_call(chain, b, values, in);
    ox_status status = oxi_call_runs_there(&call) ? oxi_apply(&call) : OX_OK;
    for (int r = 0; status == OX_OK && r < call.out_count && call.out[r]; r++)
        b->grad[chain->gradient_of[r]] = call.out[r];
    return status;
}
