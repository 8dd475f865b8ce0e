/* Inside the planner: handles, kept calls, plans, and who carries them out.
 *
 * A storage on the device is an item: bytes, and the copies of them that there are on three tiers: the
 * compute device's memory, the host's, the disk. A call that reaches the device is kept as a node, which
 * names items, not tensors: so a tensor's release is seen when it happens. (oxi_call_keep holds references,
 * and would keep everything alive until the step has run.) At a read or a sync the nodes are a step.
 *     capture.c              the device's functions: items, nodes, when a step runs
 *     over.c                 results of large calls in the memory of their operands
 *     cut.c                  calls that are too large for the budget, as nodes of pieces of items
 *     far.c                  calls that fit nothing and fall into no pieces: the stream's
 *     run.c                  one node: headers over items, the library's own run of a call, what failures say
 *     tiers.c                copies of an item: host, disk, compression
 *     online.c               a step call by call: eager, without a budget, and where no plan fits
 *     lanes/lanes.c          the threads of lanes
 *     lanes/staging.c        moves to and from a GPU: pinned memory, what goes on to the disk
 *     lanes/replay.c         carries a plan out, a thread a lane
 *     lanes/disk.c           the disk's lane, which works ahead of itself
 *     trace.c, dump.c        what can be looked at
 *     plan/arena.c           the device's memory under a budget: places, and who has to leave one (DTR)
 *     plan/key.c             what makes two steps the same; the plans that are known
 *     plan/cost.c            what calls and moves take: calibrated, then measured
 *     plan/rings.c           memory between the disk and a GPU
 *     plan/liveness.c        who reads and writes an item, in which order
 *     plan/early.c           the order that gives memory back as early as it may
 *     plan/place.c           which items stay between two uses (weighted MIN), and which stay for good
 *     plan/rematerialize.c   which calls run a second time
 *     plan/exact.c           all orders with second runs, of small steps
 *     plan/places.c          where in the device's memory they lie, by packings
 *     plan/reserve.c         places that are kept for large ones
 *     plan/spill.c           what a step takes of the disk, where that has a budget
 *     plan/schedule.c        prefetches walking backward, instructions on four lanes, what they take
 *     plan/plan.c            the search over all of that
 *     plan/pack.c            whose copies are compressed */
/* WORDS OF THIS ROOM
 *     item           the bytes of one storage on the device
 *     node           a kept call; step: nodes that run together, and one run of them
 *     copy           the bytes of an item on a tier; clean: the same as another copy; dirty: the only one
 *     tier           memory of the compute device, memory of the host, the disk
 *     to load, to save  to make a copy on the device, or off it
 *     blank          an item without any copy: nobody has written to it
 *     parts          of an item that is in parts: items of their own, one behind the other; it has no copy
 *     piece          a node that does some rows of a call that was cut
 *     small          an item that is no matter for a plan: they share a part of the budget
 *     access         a node that reads or writes an item; gap: between two of them, or beyond the last one
 *     segment        a time for which an item is on the device
 *     pinned         on the device from the beginning of a step to its end, and from step to step
 *     lane           what does one thing after another: compute, up (to the host), down (from it), disk
 *     instruction    a piece of work of a lane; clock: how far each lane has to be before it begins
 *     ring           memory of the host between the disk and a GPU; staged: in one
 *     tile           a part of a large item that is in a ring by itself
 *     slot           a node's place in the order of a plan; a node that is recomputed has several */
#ifndef OX_STREAM_SHUNT_INTERNAL_H
#define OX_STREAM_SHUNT_INTERNAL_H

enum {
    OXI_SHUNT_ALIGN = 256,           /* of places on the device */
    OXI_SHUNT_PAGE = 4096,           /* of those that a disk reads into */
    OXI_SHUNT_NODES_MOST = 1 << 18,  /* of a step: it runs when there are so many */
    OXI_SHUNT_CHUNK = 1 << 18,       /* bytes of node memory taken at once */
    OXI_SHUNT_PLANS = 64,            /* that are kept */
    OXI_SHUNT_VERY_FEW = 64,         /* uses of items by the nodes of a small step: all ways are tried */
    OXI_SHUNT_FEW = 400,             /* and of one whose plans are changed a use at a time */
    OXI_SHUNT_MEANS = 4096,          /* kinds of calls whose times are known */
    OXI_SHUNT_FLIGHTS = 4,           /* moves of the disk that are under way at once */
    OXI_SHUNT_TILE = 8 << 20,        /* bytes of a large item that are in a ring at once, at most */
    OXI_SHUNT_TILE_LEAST = 1 << 20,
    OXI_SHUNT_TILES = 6,             /* of a ring, under way at once */
    OXI_SHUNT_AHEAD = 16             /* loads of the next step that are begun when one ends */
};

typedef enum oxi_shunt_lane {
    OXI_LANE_COMPUTE,
    OXI_LANE_UP,
    OXI_LANE_DOWN,
    OXI_LANE_DISK,
    OXI_LANES
} oxi_shunt_lane;

typedef enum oxi_shunt_kind {        /* of the classes that compression is asked for by */
    OXI_KIND_WEIGHT,
    OXI_KIND_ACTIVATION,
    OXI_KIND_STATE
} oxi_shunt_kind;

/* ---- items and nodes ----------------------------------------------------------------------------------- */

typedef struct oxi_shunt_item {
    struct oxi_shunt_item *previous, *next; /* of all */
    size_t bytes;
    int64_t pending;                 /* operands of kept nodes that are it */
    int64_t uses;                    /* of them, those of the step that is looked at */
    struct oxi_shunt_item **part;    /* NULL: it is whole */
    int32_t part_count;
    bool held;                       /* by a storage */
    bool failed;                     /* its numbers are lost */
    bool small;
    bool valid;                      /* `storage` has its bytes */
    bool file;                       /* `disk` is a file of the user's */
    bool disk_valid;
    bool all_f32;                    /* to every node, and no logarithms: it may be compressed */
    bool packs;                      /* the plan wants its copies compressed */
    uint8_t kind;                    /* oxi_shunt_kind */
    uint8_t packed;                  /* ox_compression of the host's or disk's copy, */
    int16_t packed_shift;            /* whose numbers are 2^shift times what they were, */
    int64_t packed_columns;          /* and its blocks go along so many columns; 0: along rows */
    int64_t columns;                 /* of what was written to it last; 0: not known, or of images */
    ox_storage *storage;             /* on the compute device; NULL: it is not there */
    uint64_t place;                  /* with a budget: where, in bytes of it */
    uint32_t skew;                   /* bytes of its place before its own: they lie in pages as a file's do */
    void *host;                      /* NULL: no copy */
    ox_storage *pinned;              /* whose memory that is; NULL: it is no pinned memory */
    size_t host_bytes;
    bool lent;                       /* `storage` is that copy: nothing was moved, its place is empty */
    ox_storage *disk;                /* of the inner stream; NULL: none */
    size_t disk_bytes, disk_at;      /* of the copy; where it begins in `disk` */
    char *staged;                    /* its bytes in a ring, on the way from the disk or to it; NULL: none */
    int32_t index;                   /* in the table of the step that is looked at */
    int64_t mark;                    /* the number of that step */
    bool again;                      /* the step before had it as well */
    int64_t used_at;                 /* the node of all that used it last */
    int64_t protects;                /* the node of all that needs it now */
    int64_t first_at, last_at;       /* nodes of the step that use it (over.c) */
    int64_t whole_at;                /* the last call for cut.c that wants it whole, */
    int64_t cut_at;                  /* and the last pass in which it was decided how it lies: */
    const int64_t *cut_ends;         /* where its parts end; */
    int64_t cut_count;               /* 0: it is whole */
    int64_t ahead;                   /* the plan that it was loaded ahead for; 0: none */
    int32_t ahead_index;             /* in the table of that plan's steps */
    struct oxi_shunt_flight *flight; /* that brings it meanwhile; NULL: none */
} oxi_shunt_item;

typedef struct oxi_shunt_operand {
    oxi_shunt_item *item;            /* NULL: a number, or nothing */
    ox_tensor *given;                /* of another device: a call that runs at once */
    int64_t offset, *dims;           /* shape, then strides */
    uint64_t number[2];              /* a number's bytes */
    ox_dtype dtype;
    int8_t ndim;
    bool there, is_number, covers;   /* covers: all bytes of the item are its elements */
    bool over;                       /* a result whose item has an operand's numbers before (over.c) */
} oxi_shunt_operand;

typedef struct oxi_shunt_node {
    oxi_op op;
    bool exact;
    int32_t in_count, out_count;
    int64_t number;                  /* of the call among those that were pending with it */
    const oxi_part *told;            /* of the call that it is a piece of; NULL: of none */
    oxi_attrs *attr;
    oxi_random_state random;
    const char *name;                /* the function that was called, or NULL */
    oxi_shunt_operand *operand;      /* operands, then results */
    uint64_t shape_key;              /* of op, dtypes and shapes: what times are kept by */
} oxi_shunt_node;

typedef struct oxi_shunt_chunk {
    struct oxi_shunt_chunk *next;
    size_t used, bytes;
} oxi_shunt_chunk;

/* ---- costs --------------------------------------------------------------------------------------------- */

/* What one of something takes: seconds over a step's amount, and of the last five steps the one in the
 * middle. A mean of the latest ones would be that of a step's end, where nothing moves beside them; and what
 * disturbs a single step says nothing of the next one. */
typedef struct oxi_shunt_figure {
    int64_t step;                    /* that the sums are of: */
    double seconds, amount;
    double past[5];                  /* of steps before, the last one first */
    int32_t count;                   /* of them; the first, which pays for pages, makes way for the second */
    bool second;                     /* it has */
} oxi_shunt_figure;

typedef struct oxi_shunt_mean {
    uint64_t key;                    /* 0: of nothing */
    oxi_shunt_figure took;
} oxi_shunt_mean;

typedef struct oxi_shunt_rates {
    bool known, disk_known;
    double flops, bytes;             /* of the compute device, a second */
    double up, down;                 /* of the link */
    double disk_read, disk_write;
    oxi_shunt_figure moved[OXI_LANES][2]; /* seconds for a byte, to and from */
    oxi_shunt_figure disk[2][2];     /* of reads, of writes: that found it idle, that came behind others */
    oxi_shunt_figure alone[2];       /* that nobody came behind before they were over */
    struct {
        double seconds, bytes[2][2];
        int32_t moves[2];
    } ended;                         /* those that ended last, together: they are no figures yet */
    double start[OXI_LANES];         /* seconds that an instruction takes at least */
    double empty;                    /* of a call that is waited for and computes nothing: a GPU's */
    oxi_shunt_figure between;        /* beside each node of a step: its places, its small items */
    oxi_shunt_figure wake[OXI_LANES]; /* from what a lane waits for to its instruction */
    oxi_shunt_figure works[OXI_LANES]; /* seconds of a processor for a byte that a lane moves */
    double packing[2];               /* seconds for a number that comes back, that leaves; measured: */
    oxi_shunt_figure packed[2];
    oxi_shunt_figure around;         /* of a step beside its lanes */
} oxi_shunt_rates;

/* ---- problems: a step as planners see it --------------------------------------------------------------- */

/* A node's use of an item, all operands together. */
typedef struct oxi_shunt_touch {
    int32_t item;
    bool reads, writes;              /* reads: the bytes that were there before matter */
} oxi_shunt_touch;

typedef struct oxi_shunt_known {
    uint64_t room;                   /* bytes of the budget */
    bool held, had;                  /* somebody needs its bytes after the step; it has bytes before */
    bool small;                      /* no matter for plans */
    bool pinned;
    bool on_host;                    /* where the bytes are before, if not on the device */
    bool on_disk;                    /* they are there, whatever else has them */
    bool caches;                     /* the host is to keep a copy beside the disk's */
    bool packs;                      /* copies that are made are compressed */
    bool moves_whole;                /* or may be, so that it comes at once */
    bool bare;                       /* it has bytes, and no copy of them off the device */
    uint8_t kind;
    uint64_t place;                  /* of a pinned one */
    double load[2], save[2];         /* seconds, over the link and from the disk; */
    double load_takes[2], save_takes[2]; /* those of them that computing is without a processor */
    uint64_t spill, spilled;         /* bytes that a copy takes of the disk, that it has there before */
} oxi_shunt_known;

typedef struct oxi_shunt_problem {
    int32_t node_count, item_count;
    const int32_t *first;            /* of node n: touches first[n] .. first[n + 1] - 1 */
    const oxi_shunt_touch *touch;
    const double *seconds;           /* of nodes */
    const bool *again;               /* which of them may run twice; NULL: none */
    const int32_t *order;            /* in which they run; NULL: the program's */
    oxi_shunt_known *known;
    oxi_shunt_known *other;          /* with copies compressed that may be; NULL: none may */
    uint64_t capacity, host_room;
    uint64_t largest;                /* room of an item, as the search has found it */
    uint64_t cache_room;             /* of host_room, for copies of what lies on the disk */
    uint64_t disk_most, disk_used;   /* the disk's budget (0: none), and what is taken of it before */
    uint64_t ring[2];                /* bytes on the way from the disk, and to it; 0: it is one move */
    uint64_t tile;                   /* what comes passes the ring in tiles of so many bytes */
    double least[OXI_LANES];         /* seconds of an instruction that moves nothing */
    double time_most;                /* seconds to search for, as oxi_shunt_spent counts them: */
    double begun, begun_work;        /* when that began; what this thread had worked by then; */
    double time_share;               /* what a second of time counts as, where less was worked */
    bool fits;                       /* in another order: then no longer than that */
    bool another;                    /* order is to be searched next, where none of this one fits in time */
    ox_recompute recompute;
    oxi_shunt_item *const *items;    /* NULL in tests */
} oxi_shunt_problem;

/* The order in which nodes run, and who uses an item in which slot: accesses first[i] .. first[i + 1] - 1. */
typedef struct oxi_shunt_order {
    int32_t slot_count, access_count;
    int32_t *slot;                   /* nodes */
    int32_t *first;                  /* of items */
    int32_t *at;                     /* slot of an access */
    uint8_t *use;                    /* 1 reads, 2 writes */
    int32_t *access;                 /* of a slot's touches, in order: from[slot] on */
    int32_t *from;
    double *start;                   /* of slots, where nothing waits; slot_count + 1 */
    uint8_t *alone, *best_alone;     /* of slots: no load passes them; 2: who is not needed leaves, 3: all */
    uint8_t *crowded;                /* and where the last try had no place for somebody */
} oxi_shunt_order;

/* ---- plans --------------------------------------------------------------------------------------------- */

typedef enum oxi_shunt_action {
    OXI_ACT_NODE,
    OXI_ACT_LOAD,
    OXI_ACT_SAVE,
    OXI_ACT_READ,                    /* from the disk into a ring, for the load that comes behind it */
    OXI_ACT_WRITE                    /* to the disk, of what a save has left in a ring */
} oxi_shunt_action;

typedef struct oxi_shunt_instruction {
    uint8_t action, lane;
    int32_t node, slot;              /* of the step */
    int32_t item, segment;           /* of loads and saves */
    int32_t first, count;            /* of a node: its part of the plan's changes */
    int32_t number;                  /* on its lane, from 0 */
    int32_t wait[OXI_LANES];         /* how many instructions of each lane are over before it begins */
    double seconds, start;           /* as simulated */
    uint64_t ring_at;                /* of reads and writes, and of what is beside them: where in its ring */
    uint64_t from, bytes;            /* of the item, a tile; bytes 0: all of it */
    bool staged;                     /* a load or save that is beside them */
    bool ends;                       /* with it, the item is there */
} oxi_shunt_instruction;

/* An item comes to lie at a place without a load, or leaves the device. */
typedef struct oxi_shunt_change {
    int32_t item;
    bool begins, dies;               /* dies: nobody needs its bytes any more */
    uint64_t place;
} oxi_shunt_change;

typedef struct oxi_shunt_segment {
    int32_t item, first, last;       /* slots with an access */
    int32_t from;                    /* the slot that its load may begin with */
    bool loads, saves, dies, stays;  /* stays: on the device when the step is over */
    bool dirty;
    uint8_t lane;                    /* of the load */
    int32_t next;                    /* of those that begin, or end, in the same slot */
    int32_t next_end;
    int32_t block;                   /* while it is placed */
    int32_t read;                    /* tiles of it whose reads are in the plan, while it is made, */
    int32_t entry;                   /* and the place of the first one in the ring */
    bool begun, over;                /* its load is in the plan, and its end, while it is made */
    uint64_t place;
} oxi_shunt_segment;

typedef struct oxi_shunt_plan {
    uint64_t key[2];
    int64_t number;                  /* of all that were made, from 1 */
    int64_t used_at;
    int32_t node_count, item_count, instruction_count, change_count, segment_count, slot_count;
    int32_t lane_count[OXI_LANES];
    oxi_shunt_instruction *instruction;
    oxi_shunt_change *change;
    oxi_shunt_known *known;
    oxi_shunt_segment *segment;
    double *seconds;                 /* of nodes, as estimated */
    size_t instruction_room, change_room, segment_room;
    uint64_t peak, pinned_bytes;
    uint64_t ring[2];                /* of rings, if it has places in them */
    int32_t crowded;                 /* of a try: the first slot in which there was no place; -1: there was */
    double most;                     /* of a try: seconds that are too many; 0: none are */
    double until;                    /* and when it ends anyway, as oxi_shunt_spent; 0: it does not */
    bool large;                      /* of a try: an item wants more than half of memory (reserve.c) */
    int32_t recomputed;
    int64_t runs;
    int32_t moved;                   /* how often it was made again because items lie elsewhere now */
    bool whole;                      /* OX_RECOMPUTE_EXACT: no order with second runs takes less */
    bool measured;                   /* made, or looked at again, with times that were measured */
    double expected;                 /* seconds of computing that it was made for */
    double takes;                    /* seconds that moves take from computing: they count for ways; */
    uint64_t over;                   /* bytes of the disk beyond its budget, the most at once */
    double enough;                   /* simulated + takes that no other way is much below */
    double simulated, compute, bound, disk, link; /* seconds; the last two: what they have to do at least */
    double disk_read, disk_write;    /* the speeds that it was made for */
    char *text;                      /* names of nodes for people, one behind the other; NULL: none */
    size_t text_bytes;
} oxi_shunt_plan;

/* ---- the device ---------------------------------------------------------------------------------------- */

/* A move between memory and the disk that was begun: it goes on while its owner does other things,
 * begins the next one among them, so that the disk's queue does not run empty between two items. */
typedef struct oxi_shunt_flight {
    oxi_stream_load load;
    ox_stream *stream;               /* NULL: none */
    const oxi_stream_file *file;
    size_t bytes;
    bool write, unwatched;           /* unwatched: nobody waits, and sees how long it takes */
    double start;
} oxi_shunt_flight;

typedef struct oxi_shunt_span {      /* of the trace */
    uint8_t lane;
    const char *name;
    double start, end;
    uint64_t bytes;
} oxi_shunt_span;

/* Items of a part of the budget, by place. */
typedef struct oxi_shunt_residents {
    oxi_shunt_item **item;
    size_t room;
    int64_t count;
} oxi_shunt_residents;

struct ox_shunt {
    ox_device device;                /* its state is the shunt */
    char name[32];
    int64_t references;              /* the user's, each item's, open file's and capture's */
    int64_t captures;                /* that are open */
    int64_t forks;
    oxi_stream_mutex lock;
    ox_shunt_desc desc;
    ox_device *compute;
    char *spill, *trace_path;
    size_t spill_bytes, trace_bytes;

    oxi_shunt_item items;            /* the head of a ring of all */
    oxi_shunt_node **nodes;
    size_t node_room;
    int64_t node_count, node_clock;  /* pending; of all steps so far */
    oxi_shunt_chunk *chunks;
    bool closed;                     /* by the user */
    bool running, planned;           /* planned: main memory is a plan's, small items have the rest */
    oxi_shunt_item **table;          /* of the step that runs, by index */
    size_t table_room;
    int32_t table_count;
    int64_t step_number, cut_pass;
    int64_t cut_from;                /* calls before the pass, of all that cut.c has seen */
    bool cuts_least;                 /* nothing that fits whole */

    uint64_t main_bytes, small_most; /* of the budget: the part that plans have; the largest small item */
    void *arena;                     /* of a host's device: a block of device_bytes */
    oxi_shunt_residents resident[2]; /* with a budget: of the plans' part, which lanes change; of the small */

    oxi_stream_mutex tiers;          /* guards what lanes change: the accounting below, statistics, spans */
    oxi_stream_mutex opening;        /* guards the opening of: */
    ox_stream *stream;               /* of the spill folder and of files */
    uint64_t device_in_use;
    double disk_moved_at;            /* the end of the disk's last move */

    oxi_shunt_rates rates;
    oxi_shunt_mean means[OXI_SHUNT_MEANS];
    oxi_shunt_plan *plans[OXI_SHUNT_PLANS];
    oxi_shunt_plan *last_plan;
    int64_t plans_made, ran_last;    /* numbers of plans: of the last one made, of the last step's */
    double packed_seconds[OXI_LANES]; /* of all steps: packing and unpacking */
    double lanes_seconds;            /* of the step, in its lanes; */
    int64_t lanes_runs;              /* more than one where it was cut */
    oxi_shunt_flight ahead[OXI_SHUNT_AHEAD]; /* loads of the next step, which are their items'; or reads: */
    oxi_shunt_item *ahead_item[OXI_SHUNT_AHEAD]; /* into a ring, of whom, */
    int ahead_count;                 /* how many, */
    int64_t ahead_plan;              /* and by which plan: its first ones */
    void *ring[2];                   /* between the disk and a GPU (lanes/staging.c): from it, to it */
    ox_storage *ring_pinned[2];      /* whose memory that is; NULL: it is no pinned memory */
    uint64_t ring_bytes[2];
    ox_storage **kept;               /* pinned memory that nobody has now (lanes/staging.c) */
    size_t kept_room;
    int64_t kept_count;
    uint64_t kept_bytes;
    struct oxi_shunt_crew *crew;     /* threads of lanes; NULL: no step has needed one */
    ox_shunt_stats stats;

    oxi_shunt_span *spans;
    size_t span_room, span_count;
    double origin;
};

/* Begins to count what a search of plans takes; what it is by now, in seconds (lanes.c). */
static void oxi_shunt_spend(oxi_shunt_problem *p);
static double oxi_shunt_spent(const oxi_shunt_problem *p);

#endif
