/* The graph: tapes of variables and nodes of recorded calls. Tapes lead to nodes, nodes to earlier nodes and
 * to tapes of leaves, never back: counting references is enough. A node holds no tensor's header but its own,
 * so a result that is saved does not keep itself alive. (WORDS: internal.h) */
#ifndef OX_AUTOGRAD_GRAPH_H
#define OX_AUTOGRAD_GRAPH_H

/* What both begin with, so that chains of any length are released by a loop. */
typedef struct oxi_counted {
    int64_t references;
    struct oxi_counted *next_dead;
    bool is_node;
} oxi_counted;

typedef struct oxi_tape oxi_tape;

/* Where a gradient goes: node and output, or leaf, or nowhere. Owns a reference. */
typedef struct oxi_edge {
    oxi_node *node;
    int output;
    oxi_tape *leaf;
} oxi_edge;

typedef struct oxi_hook {
    struct oxi_hook *next;
    int64_t number;
    ox_gradient_hook change;         /* NULL: it is one of these, and has a header of the leaf */
    ox_accumulated_hook accumulated;
    ox_operation_hook operation;     /* of a node */
    ox_tensor *header;
    void *user;
    struct oxi_hook **list;          /* that it is in */
    oxi_tape *tape;                  /* by which it was registered; NULL: gone */
    struct oxi_hook *sibling;        /* the one that this registered before */
} oxi_hook;

struct oxi_tape {
    oxi_counted counted;
    bool requires_grad;              /* a leaf that wants one */
    oxi_edge made;                   /* the node that its present numbers come from, or nothing */
    ox_tensor *gradient;
    oxi_outline outline;
    oxi_hook *hooks;                 /* of a leaf; those of results belong to nodes */
    oxi_hook *registered;            /* all that were by this tape and are there, wherever */
    const char *changed_by;          /* the last function that changed it in place */
    /* of views: of which variable, by which call */
    oxi_tape *parent, *base;         /* base: the last parent, which the chain keeps alive; its own: itself */
    oxi_call view;
    ox_tensor *viewed;               /* the parent as the view found it, where its gradient needs that */
    bool became;                     /* its variable became this view of itself (ox_t_ and others) */
    bool unrecorded;                 /* made while nothing was recorded, or by a call without a gradient */
    int64_t generation;              /* of a base: counts changes in place; of a view: that `made` is of */
};

/* A tensor that a node keeps; its header is the node's own and has no tape. */
typedef struct oxi_saved {
    ox_tensor *tensor;
    int64_t version;
    oxi_edge edge;                   /* of its tape when it was saved: nothing for the node's own results */
    const ox_saved_hooks *hooks;     /* which keep it as `packed` instead; NULL: as tensor */
    void *packed;
} oxi_saved;

typedef enum oxi_node_kind {
    OXI_NODE_CALL,
    OXI_NODE_PUT_BACK,               /* a base after a view of it was changed: operand 0 is the base before, 1
                                      * what the view is now */
    OXI_NODE_CUSTOM                  /* ox_attach_function */
} oxi_node_kind;

struct oxi_node {
    oxi_counted counted;
    oxi_node_kind kind;
    int64_t sequence;
    oxi_call call;                   /* without operands */
    const oxi_gradient_row *row;     /* of calls; NULL: its gradient is zeros */
    int in_count, out_count, saved_count;
    oxi_edge *edges;                 /* in_count */
    oxi_outline *operand, *result;   /* in_count, out_count */
    bool *wants;                     /* in_count: the operands that had a gradient when it was recorded */
    oxi_saved *saved; /* of calls: operands in order, then results; custom: what it asked for */
    bool released;    /* what was saved is gone */
    oxi_hook **hooks;                /* out_count */
    oxi_hook *watchers;              /* of the operation */
    oxi_tape **keeper;               /* out_count: the tape that keeps the gradient of a result, or NULL; it
                                      * takes itself out when it goes */
    const ox_function *function;     /* of CUSTOM */
    void *user;
    oxi_call *views;                 /* of PUT_BACK: view_count calls that lead to the view, an own block */
    int view_count;
    int *saved_output;               /* of CUSTOM: which result each saved tensor is, or -1 */
    size_t bytes;                    /* of this block, arrays included */
};

/* ---- tapes (tape.c) ------------------------------------------------------------------------------------ */

/* t's tape, made if it has none; NULL and an error where memory ends. */
static oxi_tape *oxi_tape_of(ox_tensor *t);
/* Where the gradient of a tape's variable goes, as it is now; borrowed. A stale view is recorded anew. */
static ox_status oxi_tape_edge(oxi_tape *tape, oxi_edge *edge);
/* out is a view of in by the call: its tape says so. */
static ox_status oxi_tape_view(const oxi_call *call, oxi_node *node, bool recorded);
/* A view before it is changed, owned: by nodes of its own, since hooks of those before heard of earlier uses
 * and do not hear of the change. */
static ox_status oxi_tape_before(oxi_tape *tape, oxi_edge *edge);
/* The variable was written to: its numbers, and those of its base, come from the edge now. */
static ox_status oxi_tape_rewrite(oxi_tape *tape, const oxi_edge *edge, const char *by);
/* Gives one reference back to what this and others began with. */
static void oxi_counted_drop(oxi_counted *counted);
OXI_SMALL bool oxi_edge_is(const oxi_edge *edge) { return edge->node || edge->leaf; }
static oxi_edge oxi_edge_copy(const oxi_edge *edge);   /* with a reference of its own */
static void oxi_edge_drop(oxi_edge *edge);
static void oxi_outline_of(const ox_tensor *t, oxi_outline *out);
OXI_SMALL bool oxi_has_gradients(ox_dtype dtype) {
    return oxi_is_float(dtype) || oxi_info(dtype)->cls == OX_CLASS_COMPLEX;
}

/* Another header of t, of no scope and without a tape; NULL and an error where memory ends (node.c). */
static ox_tensor *oxi_plain_header(const ox_tensor *t);

/* ---- nodes (node.c) ------------------------------------------------------------------------------------ */

static int64_t oxi_next_sequence(void);
/* A node without edges; NULL and an error where memory ends. */
static oxi_node *oxi_node_new(oxi_node_kind kind, int in_count, int out_count, int saved_count);
static void oxi_node_forget(oxi_node *node);            /* what it saved */
/* A saved tensor as an operand of rules, owned by the open scope; with_tape: as the variable that it was.
 * NULL and an error where it was changed meanwhile. */
static ox_tensor *oxi_saved_take(oxi_node *node, oxi_saved *saved, int output, bool with_tape);

/* ---- checkpoints (checkpoint.c) ------------------------------------------------------------------------ */

typedef struct oxi_checkpoint oxi_checkpoint;
/* Lets go of what frames of a list keep, and of the list. */
static void oxi_checkpoints_empty(oxi_checkpoint *list);
/* That the storage of a saved tensor had when it was saved, or now where hooks of a user's keep it. */
static int64_t oxi_saved_version(const oxi_saved *saved, const ox_tensor *now);

#endif
