/* Inside the stream room: files and regions, requests and who carries them out, the ring of cells, kept
 * ranges, and the flow of steps that an operation becomes. Everything but the reader's queues belongs to the
 * thread that holds the stream's lock. */
/* WORDS OF THIS ROOM
 *     region         bytes of a file that a storage points at
 *     flow, step     a call as a sequence of tiles; one of them: its sources are read, computed, written
 *     tile           what one step computes; source: an operand or result of a step
 *     ring, cell     the buffers that steps flow through; one buffer: one operand's part of one tile
 *     layout         how a strided part of a region lies in the file and in a cell: runs, and loops over them
 *     request, load  bytes to be read or written by the system; all requests of one piece of memory
 *     capacitor      what remembers the order in which files were read, and keeps what fits the budget
 *     range, slab    a run of a file that the capacitor knows; memory that kept ranges lie in
 *     successor      the range that was read after this one the last time: what to prefetch
 *     guessed        prefetched before an operation asked for it (stream/ring/guess_next.c)
 *     far            of a tensor that the budget has no room for
 *     spill file     a file without a name that large results lie in; gap: free bytes of it
 *     pace           what the first tiles tell of the disk: bandwidth and latency */
#ifndef OX_STREAM_INTERNAL_H
#define OX_STREAM_INTERNAL_H

enum {
    OXI_STREAM_PAGE = 4096,         /* direct reads begin and end on multiples of it, in file and memory */
    OXI_STREAM_PIECE = 1 << 20,     /* most bytes of one request */
    OXI_STREAM_OPERANDS = OXI_MAX_IN + OXI_MAX_OUT, /* of a call that is cut: operands, then results */
    OXI_STREAM_WINDOW = 16,         /* most steps in flight */
    OXI_STREAM_LEAST_DEPTH = 3,
    OXI_STREAM_SLOTS = 64,          /* files that io_uring keeps for itself */
    OXI_STREAM_PAST = 512,          /* ranges whose order is compared with what comes */
    OXI_STREAM_ENDED = -1           /* a cause: the file ends before what was asked for */
};

/* ---- files and regions (stream/file/file.c, stream/file/spill.c) -------------------------------------- */

typedef struct oxi_stream_file {
    struct oxi_stream_file *next;
    struct oxi_stream_region *regions; /* of a file that nobody writes to */
    int64_t references;
    oxi_file_id id;                 /* two files never meet */
    intptr_t plain, direct;         /* handles; direct is -1 where the file system refuses it */
    int slot[2];                    /* places of the two among io_uring's own files, or -1 */
    bool writable;
    char *path;
    size_t path_bytes;
} oxi_stream_file;

/* What a storage on the device points at. */
typedef struct oxi_stream_region {
    struct oxi_stream_region *next; /* of its file */
    struct ox_stream *stream;
    oxi_stream_file *file;
    uint64_t offset;
    size_t bytes;
    uint32_t *sums;                 /* of its pages as they were written last, 0 = not known; or NULL */
} oxi_stream_region;

/* Free bytes of the spill file, by offset. */
typedef struct oxi_stream_gap {
    struct oxi_stream_gap *next;
    uint64_t offset, bytes;
} oxi_stream_gap;

/* ---- requests (stream/file/reader.c) ------------------------------------------------------------------ */

/* Bytes on their way to or from one piece of memory. */
typedef struct oxi_stream_load {
    int64_t pending;                /* requests that are not done */
    int64_t flow;                   /* of the stream that began it */
    int cause;                      /* 0, an errno, or OXI_STREAM_ENDED: of the first that failed */
    uint64_t failed_at;             /* byte of the file where that was */
    double end;                     /* when the last of those that are done was over */
} oxi_stream_load;

typedef struct oxi_stream_request {
    struct oxi_stream_request *next;
    oxi_stream_load *load;
    oxi_stream_file *file;
    uint64_t offset;                /* what is wanted: bytes of the file to or from memory */
    size_t bytes, done;             /* done counts from the aligned start when direct */
    char *memory;
    bool write, direct;
    int retries, cause;
    int64_t progress;               /* of the reader, when this one was last tried */
    double start, end;              /* when it was submitted and was over */
    bool alone;                     /* with nothing else on its way */
} oxi_stream_request;

/* A queue of requests. */
typedef struct oxi_stream_queue { oxi_stream_request *first, *last; } oxi_stream_queue;

#ifdef OX_NO_THREADS
typedef struct oxi_stream_mutex { int unused; } oxi_stream_mutex;
#else
typedef oxi_mutex oxi_stream_mutex;
enum { OXI_STREAM_THREADS_MOST = 8 };
#endif

typedef struct oxi_stream_reader {
    int64_t flying;                 /* submitted and not yet taken back */
    int most;                       /* in flight in the system at once */
    int64_t (*fault)(void *user, int64_t number, int64_t bytes);
    void *fault_user;
    int64_t fault_number;           /* atomic */
    int64_t progress;               /* atomic: transfers that moved something */
    oxi_stream_queue waiting, finished;
    bool urgent;                    /* requests come before all that wait */
    bool uses_uring;
#ifdef OX_USE_LIBURING
    struct io_uring uring;
    oxi_stream_queue prepared;      /* that the system has not taken yet, in the order of its queue */
    int in_system;                  /* these, and those that it has */
    const char *buffer;             /* memory that io_uring knows, buffer_bytes of it; NULL: none */
    size_t buffer_bytes;
    bool knows_files;               /* it keeps files of its own ... */
    uint64_t slots_taken;           /* ... at places with their bit set */
#endif
#ifndef OX_NO_THREADS
    oxi_mutex mutex;                /* guards the two queues and stopping, when threads read */
    oxi_condition work, ready;
    oxi_thread threads[OXI_STREAM_THREADS_MOST];
    int thread_count;
    bool stopping;
#endif
} oxi_stream_reader;

/* ---- kept ranges (stream/ring/range_cache.c) ---------------------------------------------------------- */

/* A run of a read-only file that was read once: what followed it, and its bytes if they are kept. */
typedef struct oxi_stream_range {
    struct oxi_stream_range *chain; /* of its hash */
    struct oxi_stream_range *successor;
    oxi_stream_file *file;
    uint64_t offset;
    size_t bytes;
    char *memory;                   /* kept: the address of its first byte, aligned as in the file; or NULL */
    struct oxi_stream_slab *slab;   /* which that is in */
    oxi_stream_load load;
    int users;                      /* steps that read it */
    uint64_t used_at;               /* the stream's clock, in bytes */
    uint64_t sum;                   /* checksum of its bytes, once there is one */
    bool has_sum, checked;          /* checked: the bytes in memory */
    bool guessed;                   /* read ahead to be kept, and no operation asked for it yet */
    bool far;                       /* of a tensor beyond the budget */
} oxi_stream_range;

/* Memory of kept ranges, filled from its start on and given back as a whole. */
typedef struct oxi_stream_slab {
    struct oxi_stream_slab *next;
    char *block;
    size_t bytes, used;
    size_t touched;                 /* bytes that the system has given pages for */
    uint64_t used_at;               /* when one of its ranges was read last */
} oxi_stream_slab;

/* ---- the ring (stream/ring/ring.c) -------------------------------------------------------------------- */

/* A buffer of the ring: one operand's part of one tile. */
typedef struct oxi_stream_cell {
    char *memory;                   /* aligned to a page */
    oxi_stream_load load;
    oxi_stream_range *range;        /* what it holds, or is to hold, when read ahead; else NULL */
    int users;                      /* steps that hold it */
    bool checked;                   /* the range's checksum */
    bool guessed;                   /* read ahead, and no operation asked for it yet */
    bool storing;                   /* its load writes a result to the spill file */
} oxi_stream_cell;

/* How a strided part of a region lies in the file and in a cell: `run` bytes, and loops around them,
 * outermost first. What lies end to end, or nearly so, is one run and keeps its strides. */
typedef struct oxi_stream_layout {
    size_t bytes;                   /* in the cell; 0 = no elements */
    uint64_t first;                 /* byte of the region where the first run begins */
    size_t run;
    int loops;
    int64_t count[OX_MAX_DIMS], step[OX_MAX_DIMS]; /* step: bytes of the file */
    bool gaps;                      /* the run holds bytes between the elements */
    int align;                      /* of the region in its file, for its elements to be used as they lie */
    int64_t offset, stride[OX_MAX_DIMS];           /* of the elements in the cell */
} oxi_stream_layout;

typedef enum oxi_stream_use {
    OXI_STREAM_UNUSED = 0,
    OXI_STREAM_LOAD = 1,
    OXI_STREAM_STORE = 2
} oxi_stream_use;

/* An operand or result of one step. */
typedef struct oxi_stream_source {
    unsigned use;                   /* oxi_stream_use, both bits for what is changed in part */
    const oxi_stream_region *region;
    oxi_stream_layout layout;
    oxi_stream_cell *cell;          /* where its bytes are: a cell, a kept range, or nowhere yet */
    oxi_stream_range *range;
    char *data;
} oxi_stream_source;

/* One tile. Source i sets bit i of `ready` when its bytes are in; it is computed when ready == wanted. */
typedef struct oxi_stream_step {
    oxi_stream_source source[OXI_STREAM_OPERANDS];
    unsigned wanted, ready;
} oxi_stream_step;

/* A call as a sequence of steps. prepare fills use, region and layout of the sources; compute finds their
 * bytes at `data`. */
typedef struct oxi_stream_flow {
    int64_t count;
    int cells;                      /* of one step, at most */
    size_t cell_bytes;              /* largest layout */
    int window;                     /* steps in flight, 0 = as many as the stream allows; 1 = each is written
                                     * before the next is read */
    bool unlearned;                 /* its reads follow no order worth learning */
    ox_device *device;              /* the one that cells' bytes go to, NULL: the host computes on them */
    const char *pinned;             /* cells that it reads itself, so that they stay until it has; or NULL */
    size_t pinned_bytes;
    ox_status (*prepare)(struct oxi_stream_flow *flow, int64_t index, oxi_stream_step *step);
    ox_status (*compute)(struct oxi_stream_flow *flow, int64_t index, const oxi_stream_step *step);
} oxi_stream_flow;

/* What the first tiles tell of the disk. */
typedef struct oxi_stream_pace {
    bool sets_tile, sets_depth;     /* nobody has fixed them */
    bool settled;
    double latency;                 /* the least of a request that began alone; 0: none yet */
    int64_t bytes;                  /* of reads that were waited for, which took `seconds` */
    double seconds;
    double bandwidth;
} oxi_stream_pace;

static ox_status oxi_stream_run(ox_device *self, const oxi_call *call);

enum { OXI_STREAM_BUCKETS = 4096, OXI_STREAM_RANGES_MOST = 1 << 18 };

struct ox_stream {
    ox_device device;               /* its state is the stream */
    char name[32];                  /* "stream:0", of the device */
    int64_t references;             /* the user's one, and one for each region and each file that is open */
    int64_t forks;                  /* oxi_forks of the process that opened it */
    oxi_stream_mutex lock;
    ox_stream_desc desc;            /* with its defaults filled in */
    size_t base_bytes;              /* what the library held when the stream was opened */
    oxi_stream_file *files;
    oxi_stream_reader reader;
    void *request_blocks;
    oxi_stream_request *free_requests;

    char *ring_block;               /* as allocated */
    size_t ring_block_bytes, cell_room;
    oxi_pinned_memory ring_pin;     /* device NULL: nobody has asked for it yet */
    oxi_stream_cell *cells;
    int cell_count, cell_record_room;
    oxi_stream_step steps[OXI_STREAM_WINDOW];
    oxi_stream_load stores;         /* the first write that failed, of the call that runs */
    int64_t flow;                   /* number of the flow that runs, or ran last */

    oxi_stream_range *buckets[OXI_STREAM_BUCKETS];
    oxi_stream_range *last;         /* the range that was read last */
    oxi_stream_range *past[OXI_STREAM_PAST]; /* those read before it, and itself: number i at i % PAST */
    int64_t past_count;
    int64_t range_count;
    uint64_t clock;                 /* bytes that operations asked for so far */
    oxi_stream_slab *slabs;
    size_t slab_bytes;

    oxi_stream_pace pace;
    oxi_stream_file *spill;
    char *spill_folder;
    size_t spill_folder_bytes;
    oxi_stream_gap *gaps;
    uint64_t spill_end;             /* bytes from here on were never used, or are free again */
    uint64_t spill_budget, spill_peak; /* the most that may be in use, 0 = no limit; the most that ever was */
    ox_stream_stats stats;
    double busy_seconds;
};

#endif
