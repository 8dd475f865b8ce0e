/* The table of gradients in memory, and its formulas: postfix text is compiled once to words, which run as
 * calls of the table, or as one fused call by whoever reads the words. Rules of other ops are in the files
 * beside this one. */

#define OXI_FORMULAS(op, ...) \
    static const oxi_gradient_row oxi_gradient_of_##op = {NULL, NULL, {__VA_ARGS__}, OXI_OP_COUNT};
#define OXI_FORMULAS_ROW(op, row, ...) \
    static const oxi_gradient_row oxi_gradient_of_##op = {NULL, NULL, {__VA_ARGS__}, OXI_OP_##row};
#define OXI_FORMULAS_BUT(op, rule, ...) \
    static const oxi_gradient_row oxi_gradient_of_##op = {NULL, oxi_gradient_##rule, {__VA_ARGS__}, \
                                                          OXI_OP_COUNT};
#define OXI_GRADIENT(op, saves, rule) \
    static const oxi_gradient_row oxi_gradient_of_##op = {saves, oxi_gradient_##rule, {NULL, NULL, NULL}, \
                                                          OXI_OP_COUNT};
#include "autograd/grads.def"

static const oxi_gradient_row *oxi_gradient_row_of(oxi_op op) {
    switch (op) {
#define OXI_FORMULAS(op, ...) \
    case OXI_OP_##op: return &oxi_gradient_of_##op;
#define OXI_FORMULAS_BUT(op, ...) OXI_FORMULAS(op, "")
#define OXI_GRADIENT(op, ...) OXI_FORMULAS(op, "")
#include "autograd/grads.def"
    default: return NULL;
    }
}

/* ---- compiling ----------------------------------------------------------------------------------------- */

enum {
#define OXI_FORMULAS(op, ...) OXI_FORMULA_ROW_##op,
#define OXI_FORMULAS_BUT(op, ...) OXI_FORMULAS(op, "")
#include "autograd/grads.def"
    OXI_FORMULA_ROWS
};
static oxi_formula oxi_formulas[OXI_FORMULA_ROWS][3];
static oxi_lock oxi_formula_lock;

static int oxi_formula_row_of(oxi_op op) {
    switch (op) {
#define OXI_FORMULAS(op, ...) \
    case OXI_OP_##op: return OXI_FORMULA_ROW_##op;
#define OXI_FORMULAS_BUT(op, ...) OXI_FORMULAS(op, "")
#include "autograd/grads.def"
    default: return -1;
    }
}

/* What a word is: letters and f0 p =p by their form, then numbers, then names. False: nothing. */
static bool oxi_word_of(oxi_formula *f, const char *text, size_t length, oxi_word *out) {
    char first = text[0], *end;
    if (length == 1 && first >= 'a' && first <= 'z') {
        bool kept = first >= 'p' && first < 'p' + OXI_FORMULA_KEPT;
        out->kind = kept ? OXI_WORD_KEPT : OXI_WORD_LETTER;
        out->index = (uint16_t)(first - (kept ? 'p' : 'a'));
        return kept || first <= 'e' || first == 'g' || first >= 'y';
    }
    if (length == 2 && (first == 'f' || first == '=')) {
        out->kind = first == 'f' ? OXI_WORD_ATTRIBUTE : OXI_WORD_KEEP;
        out->index = (uint16_t)(text[1] - (first == 'f' ? '0' : 'p'));
        return out->index < 3;
    }
    oxi_op op = oxi_map_op_named(text, length);
    out->kind = OXI_WORD_OP;
    out->index = (uint16_t)op;
    if (op != OXI_OP_COUNT) return true;
    double number = strtod(text, &end);
    out->kind = OXI_WORD_NUMBER;
    out->index = (uint16_t)f->number_count;
    if (end != text + length || f->number_count == OXI_FORMULA_NUMBERS) return false;
    f->numbers[f->number_count++] = number;
    return true;
}

/* How high the stack is behind a word; 0: it takes more than is there, or puts more there than has room. */
static int oxi_height_behind(const oxi_word *word, int height) {
    int takes = 0;
    if (word->kind == OXI_WORD_KEEP) takes = 1;
    if (word->kind == OXI_WORD_OP) takes = oxi_op_row_of((oxi_op)word->index)->operands->in_count;
    return takes > height || height - takes == OXI_FORMULA_DEPTH ? 0 : height - takes + 1;
}

static void oxi_formula_compile(oxi_formula *f, const char *text) {
    int height = 0;
    while (*text && !f->refused) {
        size_t length = strcspn(text, " ");
        oxi_word *word = &f->words[f->count];
        bool known = f->count < OXI_FORMULA_WORDS && oxi_word_of(f, text, length, word);
        if (known) {
            height = oxi_height_behind(word, height);
            known = height > 0;
            if (word->kind == OXI_WORD_LETTER && word->index != 'g' - 'a') f->letters |= 1u << word->index;
            f->count++;
        }
        if (!known) f->refused = text;
        text += length;
        text += strspn(text, " ");
    }
    if (!f->refused && height != 1) f->refused = text;
}

static const oxi_formula *oxi_formula_of(oxi_op op, int i) {
    const oxi_gradient_row *row = oxi_gradient_row_of(op);
    int place = oxi_formula_row_of(op);
    if (place < 0 || i > 2 || !row->formula[i]) return NULL;
    oxi_formula *f = &oxi_formulas[place][i];
    if (oxi_atomic_load(&f->compiled)) return f;
    oxi_lock_take(&oxi_formula_lock);
    if (!oxi_atomic_load(&f->compiled)) {
        oxi_formula_compile(f, row->formula[i]);
        oxi_atomic_store(&f->compiled, 1);
    }
    oxi_lock_give(&oxi_formula_lock);
    return f;
}

/* ---- letters ------------------------------------------------------------------------------------------- */

static unsigned oxi_formula_letters(const char *formula) {
    unsigned letters = 0;
    for (; formula && *formula; formula += strspn(formula, " ")) {
        size_t length = strcspn(formula, " ");
        bool is_letter = length == 1 && *formula >= 'a' && *formula <= 'z' && *formula != 'g';
        if (is_letter && (*formula < 'p' || *formula >= 'p' + OXI_FORMULA_KEPT))
            letters |= 1u << (*formula - 'a');
        formula += length;
    }
    return letters;
}

/* Of linear: x or the weight, and what tells the activation's derivative: its result, or the operands that
 * the sum before it is computed of once more. */
static unsigned oxi_linear_letters(const oxi_call *call, const bool *wants) {
    const unsigned a = 1, b = 2, c = 4, y = 1u << ('y' - 'a');
    unsigned own = (wants[0] ? b : 0) | (wants[1] ? a : 0);
    switch (call->attr.activation.activation) {
    case OX_ACTIVATION_NONE: return own;
    case OX_ACTIVATION_RELU:
    case OX_ACTIVATION_SIGMOID:
    case OX_ACTIVATION_TANH: return own | y;
    default: return a | b | c;
    }
}

/* Which special functions' derivatives are in their results: those of the others stay when it changes. */
static bool oxi_special_reads_result(const oxi_call *call) {
    switch (call->attr.special.function) {
    case OXI_SPECIAL_erfinv:
    case OXI_SPECIAL_erfcx:
    case OXI_SPECIAL_ndtri:
    case OXI_SPECIAL_i0e:
    case OXI_SPECIAL_i1:
    case OXI_SPECIAL_i1e: return true;
    default: return false;
    }
}

static unsigned oxi_gradient_letters(const oxi_call *call, const bool *wants) {
    const oxi_gradient_row *row = oxi_gradient_row_of(call->op);
    unsigned letters = 0;
    if (!row) return 0;
    if (call->op == OXI_OP_linear) return oxi_linear_letters(call, wants);
    for (int i = 0; !row->saves && i < 3 && i < call->in_count; i++)
        if (wants[i]) letters |= oxi_formula_letters(row->formula[i]);
    if (!row->saves) return letters;
    bool apart = strchr(row->saves, ';') != NULL;
    int i = 0;
    for (const char *at = row->saves; *at; at++) {
        if (*at == ';')
            i++;
        else if (!apart || wants[i])
            letters |= 1u << (*at - 'a');
    }
    /* without the second result the way back measures anew, and reads none */
    if ((call->op == OXI_OP_attention && call->out_count == 1) ||
        (call->op == OXI_OP_special && !oxi_special_reads_result(call)))
        letters &= (1u << OXI_LETTER_RESULTS) - 1;
    return letters;
}

/* ---- running ------------------------------------------------------------------------------------------- */

/* A value on the stack: a tensor, or a number (t is NULL). */
typedef struct oxi_operand {
    ox_tensor *t;
    double number;
} oxi_operand;

/* The op of values on the stack, which the result takes the place of. */
static bool oxi_run_word(oxi_op op, oxi_operand *in, int count) {
    ox_tensor *t[3] = {NULL, NULL, NULL};
    double number[3];
    bool numbers = true;
    for (int i = 0; i < count; i++) {
        numbers = numbers && !in[i].t;
        number[i] = in[i].number;
    }
    if (oxi_op_row_of(op)->flag == OXI_FLAG_MASKED && !in[0].t) {
        in[0] = in[0].number != 0 ? in[1] : in[2];
        return true;
    }
    if (numbers && oxi_fold_numbers(op, number, count, &in[0].number)) return true;
    bool by_one = op == OXI_OP_mul && !in[1].t && in[1].number == 1; /* f0 of add, mostly */
    if (by_one) return true;
    for (int i = 0; i < count; i++) {
        t[i] = in[i].t ? in[i].t : ox_number(in[i].number);
        if (!t[i]) return false;
    }
    oxi_attrs attr = oxi_attrs_by_default(op);
    in[0].t = oxi_apply_list(op, &attr, t, count, NULL);
    if (in[0].t && numbers) in[0].t->is_number = true; /* which goes beside tensors of any device */
    return in[0].t != NULL;
}

/* A letter as the formula reads it: an ox_number as the number that it is, narrow floats widened, complex
 * numbers conjugated, but for g. False, and an error, where it is not there. */
static bool oxi_formula_letter(const oxi_formula *f, oxi_formula_values *values, int letter,
                               oxi_operand *out) {
    ox_tensor *t = values->letter[letter];
    if (!t) return oxi_fail(OX_ERR_ARG, "a formula reads what was not saved: %c", 'a' + letter) == OX_OK;
    out->t = t;
    if (f->count == 1) return true; /* "g" */
    if (t->is_number && t->dtype != OX_C64 && ox_device_of(t)->host) {
        out->number = oxi_element_to_f64(t->dtype, oxi_ptr(t));
        out->t = NULL;
        return true;
    }
    if (!values->ready[letter]) {
        t = oxi_wide(t);
        values->ready[letter] = t && t->dtype == OX_C64 && letter != 'g' - 'a' ? ox_conj(t) : t;
    }
    out->t = values->ready[letter];
    return out->t != NULL;
}

/* "g f0 *" with a factor of 1: g as it comes, in its own dtype. */
static bool oxi_formula_is_g(const oxi_formula *f, const oxi_formula_values *values) {
    const oxi_word *w = f->words;
    return f->count == 3 && w[0].kind == OXI_WORD_LETTER && w[0].index == 'g' - 'a' &&
           w[1].kind == OXI_WORD_ATTRIBUTE && values->attribute[w[1].index] == 1 &&
           w[2].kind == OXI_WORD_OP && w[2].index == OXI_OP_mul;
}

static ox_tensor *oxi_formula_value(const oxi_formula *f, oxi_formula_values *values) {
    oxi_operand stack[OXI_FORMULA_DEPTH], kept[OXI_FORMULA_KEPT];
    int height = 0;
    if (f->refused) return OXI_FAIL_NULL(OX_ERR_ARG, "a formula of grads.def at \"%s\"", f->refused);
    if (oxi_formula_is_g(f, values)) return values->letter['g' - 'a'];
    for (int i = 0; i < f->count; i++) {
        const oxi_word *word = &f->words[i];
        if (word->kind == OXI_WORD_OP) {
            int count = oxi_op_row_of((oxi_op)word->index)->operands->in_count;
            height -= count - 1;
            if (!oxi_run_word((oxi_op)word->index, &stack[height - 1], count)) return NULL;
            continue;
        }
        if (word->kind == OXI_WORD_KEEP) {
            kept[word->index] = stack[height - 1];
            continue;
        }
        oxi_operand *top = &stack[height++];
        top->t = NULL;
        if (word->kind == OXI_WORD_NUMBER) top->number = f->numbers[word->index];
        if (word->kind == OXI_WORD_ATTRIBUTE) top->number = values->attribute[word->index];
        if (word->kind == OXI_WORD_KEPT) *top = kept[word->index];
        if (word->kind == OXI_WORD_LETTER && !oxi_formula_letter(f, values, word->index, top)) return NULL;
    }
    return stack[0].t ? stack[0].t : ox_number(stack[0].number);
}

static ox_status oxi_gradient_by_formula(const oxi_gradient_row *row, oxi_backward *b) {
    const oxi_call *call = b->call;
    oxi_formula_values values;
    memset(&values, 0, sizeof values);
    (void)oxi_attrs_numbers(call->op, &call->attr, values.attribute, 3);
    for (int i = 0; i < call->in_count; i++) values.letter[i] = call->in[i];
    for (int i = 0; i < 2; i++) values.letter['y' - 'a' + i] = b->out[i];
    values.letter['g' - 'a'] = b->g[0];
    ox_status status = oxi_function_back(row->row, call->in[0], b->g[0], &b->grad[0]);
    if (status != OX_OK || b->grad[0]) return status;
    status = oxi_gradients_by_chain(b, &values);
    if (status != OX_OK) return status;
    for (int i = 0; i < call->in_count && i < 3; i++) {
        const bool open = b->wants[i] && row->formula[i] && !b->grad[i];
        const oxi_formula *f = open ? oxi_formula_of(call->op, i) : NULL;
        if (!f) continue;
        b->grad[i] = oxi_formula_value(f, &values);
        if (!b->grad[i]) return ox_error();
    }
    return OX_OK;
}

static ox_tensor *oxi_formula_run(oxi_op op, const oxi_attrs *attr, ox_tensor *x, ox_tensor *y,
                                  ox_tensor *g) {
    const oxi_formula *f = oxi_formula_of(op, 0);
    oxi_formula_values values;
    ox_tensor *by_row = NULL;
    if (f && oxi_function_back(oxi_gradient_row_of(op)->row, x, g, &by_row) != OX_OK) return NULL;
    if (by_row) return by_row;
    memset(&values, 0, sizeof values);
    if (attr) (void)oxi_attrs_numbers(op, attr, values.attribute, 3);
    values.letter[0] = x;
    values.letter['y' - 'a'] = y;
    values.letter['g' - 'a'] = g;
    return f ? oxi_formula_value(f, &values) : NULL;
}
