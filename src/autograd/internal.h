/* Gradients: what the rooms of autograd share. A tape is what a tensor knows of how it came about; a node is
 * a call that was recorded; the engine walks nodes backward and asks the row of each op in grads.def for the
 * gradients of its operands. */
/* WORDS OF THIS ROOM
 *     tape           ox_tensor.tape: of one variable, shared by all headers that are the same tensor again
 *     leaf           a variable that no recorded call made; gradients are added up in it
 *     node           a recorded call: what its gradient needs, and an edge for each operand
 *     edge           where a gradient goes: a result of an earlier node, or a leaf's tape
 *     saved          a tensor that a node keeps, with the version that its storage had then
 *     sequence       the number of a node in the order of recording; the engine goes from large to small
 *     formula        the derivative of an elementwise op in postfix, a column of grads.def
 *     rule           a function that makes gradients of a row from public functions
 *     row of back/   a row of ops.def that computes a gradient in one pass, where a rule may call it
 *     base, chain    the variable that a view shows a part of; the view calls that lead from it to the view
 *     place          of a checkpoint: what it saves in turn, kept while its function runs and when it ran
 *                    again
 *     generation     of a base: counts changes in place, after which the tapes of its views are stale */
#ifndef OX_AUTOGRAD_INTERNAL_H
#define OX_AUTOGRAD_INTERNAL_H

/* ---- what a rule works with ---------------------------------------------------------------------------- */

/* A tensor without its numbers. */
typedef struct oxi_outline {
    ox_dtype dtype;
    int ndim;
    int64_t shape[OX_MAX_DIMS];
    ox_device *device;
} oxi_outline;

typedef struct oxi_pass oxi_pass;
typedef struct oxi_node oxi_node;

/* A recorded call on its way backward. Rules fill grad[] by public functions. A gradient may have any shape
 * that the operand broadcasts to, any float dtype and device: the engine sums, converts and moves it. */
typedef struct oxi_backward {
    const oxi_call *call;            /* op, attributes, random state. call->in[i]: operand i where the row
                                      * saves it, else NULL; numbers are always there */
    const oxi_outline *operand;      /* of all operands */
    ox_tensor *out[OXI_MAX_OUT];     /* results where the row saves them, else NULL */
    const oxi_outline *result;       /* of all results */
    ox_tensor *g[OXI_MAX_OUT];       /* their gradients; NULL: none came. One of the two is there */
    const bool *wants;               /* whether operand i wants a gradient */
    ox_tensor **grad;                /* to be filled where wants[i]; NULL is a gradient of zeros */
    const oxi_pass *pass;            /* the engine's, or NULL */
    const oxi_node *node;            /* of its */
} oxi_backward;

/* What was added up for operand i so far, where a rule may add to it itself and leave grad[i] NULL, as one
 * does that would fill up zeros; NULL: nothing, or others see it. */
static ox_tensor *oxi_sum_so_far(const oxi_backward *b, int i);

/* Gradients of a row's operands. An error is recorded where a function gives NULL. */
typedef ox_status (*oxi_gradient_rule)(oxi_backward *b);

/* A row of grads.def. */
typedef struct oxi_gradient_row {
    const char *saves;               /* letters: a b c d e operands, y z results; NULL: of the formulas */
    oxi_gradient_rule rule;          /* NULL: formulas */
    const char *formula[3];          /* of elementwise ops, one an operand; NULL: none, or zeros */
    oxi_op row;                      /* that computes the first of them in one kernel; OXI_OP_COUNT: none */
} oxi_gradient_row;
static const oxi_gradient_row *oxi_gradient_row_of(oxi_op op); /* NULL: there is no gradient */

/* The formulas of a row (rules/formula.c). */
static ox_status oxi_gradient_by_formula(const oxi_gradient_row *row, oxi_backward *b);
/* The letters of a formula's operands and results, as in `saves`; a set of bits 'a' - 'a' and so on. */
static unsigned oxi_formula_letters(const char *formula);

/* Letters that a call's gradients read when only operands with wants[i] ask for one; no more than the row's
 * `saves` or its formulas name. */
#define OXI_LETTER_RESULTS ('y' - 'a') /* y and z are results */
static unsigned oxi_gradient_letters(const oxi_call *call, const bool *wants);

/* ---- formulas as programs (rules/formula.c) ------------------------------------------------------------ */

typedef enum oxi_word_kind {
    OXI_WORD_LETTER,                 /* index: 0 is a .. 25 is z */
    OXI_WORD_NUMBER,                 /* index: of the formula's numbers */
    OXI_WORD_ATTRIBUTE,              /* index: f0, f1, f2 */
    OXI_WORD_KEEP,                   /* the top of the stack becomes p, q, r (index) and stays there */
    OXI_WORD_KEPT,                   /* p, q, r */
    OXI_WORD_OP                      /* index: an oxi_op, which takes its operands from the stack */
} oxi_word_kind;
typedef struct oxi_word {
    uint16_t kind, index;
} oxi_word;
enum { OXI_FORMULA_WORDS = 40, OXI_FORMULA_NUMBERS = 6, OXI_FORMULA_DEPTH = 6, OXI_FORMULA_KEPT = 3 };
typedef struct oxi_formula {
    int64_t compiled;                /* atomic: the rest is there */
    int count, number_count;
    unsigned letters;                /* without g */
    const char *refused;             /* what is wrong: where in the text, or NULL */
    double numbers[OXI_FORMULA_NUMBERS];
    oxi_word words[OXI_FORMULA_WORDS];
} oxi_formula;
/* What letters and f0 f1 f2 stand for; ready: letters as formulas read them. */
typedef struct oxi_formula_values {
    ox_tensor *letter[26], *ready[26];
    double attribute[3];
} oxi_formula_values;
/* Gradients that one chain computes (rules/chain.c): what it gives is in grad[], the rest is as it was. */
static ox_status oxi_gradients_by_chain(oxi_backward *b, const oxi_formula_values *values);

/* The gradient of operand i of `op`, compiled when it is first asked for; NULL: it has none. */
static const oxi_formula *oxi_formula_of(oxi_op op, int i);
/* The gradient of operand 0 of an op of one operand: x and y where the formula reads them. */
static ox_tensor *oxi_formula_run(oxi_op op, const oxi_attrs *attr, ox_tensor *x, ox_tensor *y, ox_tensor *g);

#endif
