/* chain: elementwise ops one behind the other, tile by tile, in one pass over their operands. What gradients
 * of elementwise ops, steps of optimizers and fused graphs run as; the program says which ops. */
#ifndef OX_OPS_CHAIN_H
#define OX_OPS_CHAIN_H

enum {
    OXI_CHAIN_OPERANDS = 6,
    OXI_CHAIN_STEPS = 40,
    OXI_CHAIN_PROGRAMS = 256,        /* that a process may have */
    OXI_CHAIN_TILES = 12             /* values between steps that are wanted at a time */
};

/* An op of map.def with default attributes. OXI_OP_copy: a condition as a number, 0 or 1. */
typedef struct oxi_chain_step {
    uint16_t op;
    uint8_t in[3];                   /* values: operands, then numbers, then the results of earlier steps */
    uint8_t tile;                    /* where the step's value lies; set by oxi_chain_finish */
} oxi_chain_step;

/* Numbers are read from attr.chain.numbers by their place. Comparisons give conditions, which only `where`
 * takes as they are; others read them as numbers. */
typedef struct oxi_chain {
    int operand_count, number_count, step_count, result_count, tile_count;
    unsigned conditions;             /* operands that are bool, bit by bit */
    oxi_chain_step step[OXI_CHAIN_STEPS];
    uint8_t result[OXI_MAX_OUT];     /* values of steps */
} oxi_chain;

/* The value of operand i, of number j, of step k. */
OXI_SMALL int oxi_chain_operand(int i) { return i; }
OXI_SMALL int oxi_chain_number(int j) { return OXI_CHAIN_OPERANDS + j; }
OXI_SMALL int oxi_chain_value(int k) { return OXI_CHAIN_OPERANDS + OXI_CHAIN_NUMBERS + k; }

/* Writing a program: zeros, then operand_count and conditions, then its ops in order. A value, that of an
 * earlier step if it is the same; -1, also where an operand is -1: no room, or a number as a condition. */
static int oxi_chain_add(oxi_chain *chain, oxi_op op, const int *in, int count);
/* False: there is no room, or the value is none of a step. */
static bool oxi_chain_give(oxi_chain *chain, int value);
/* The one program like it, which lives as long as the process; NULL: there are too many, or it needs more
 * tiles than there are. */
static const oxi_chain *oxi_chain_finish(oxi_chain *chain);

/* The program of a text in postfix, compiled when it is first seen. Its words: a .. f are operands, n0 n1 ..
 * numbers; + - * / and names of rows of map.def are ops; =p .. =u keep the top of the stack, which p .. u
 * push again; ";" takes it as the next result, "drop" takes it away. NULL and an error: it is no program, or
 * there are too many. */
static const oxi_chain *oxi_chain_of(const char *text);
/* min(a, limit) sigmoid(alpha min(a, limit)) (b between -limit and limit, + shift): the gate of GPT-OSS, by
 * numbers limit, alpha, -limit, shift. Here, for a device may have it behind products (fuse.c of Vulkan). */
#define OXI_CHAIN_CLAMPED_GATE "a n0 minimum =p n1 * sigmoid p * b n2 maximum n0 minimum n3 + * ;"
/* A step of AdamW (nn/optimizer_rules.c), which the CPU runs as one kernel. */
#define OXI_CHAIN_ADAM \
    "b =p drop c p n0 lerp =q ; d n1 * n2 p * p * + =r ; a n3 * q n4 * r sqrt n5 / n6 + / + ;"
/* Runs it; results are written to `out`, where there are any. */
static ox_status oxi_chain_run(const char *text, ox_tensor *const *in, int count, const double *numbers,
                               int number_count, ox_tensor **out);
/* The elementwise row of that name, or of the sign + - * /; OXI_OP_COUNT: there is none. */
static oxi_op oxi_map_op_named(const char *word, size_t length);

/* Whether a value is a condition. */
static bool oxi_chain_is_condition(const oxi_chain *chain, int value);
/* "a n0 mul"; snprintf's length. */
static int oxi_chain_text(const oxi_chain *chain, char *out, size_t room);

#endif
