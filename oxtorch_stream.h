/* oxtorch_stream.h - 0.1.0 - tensors larger than memory, over oxtorch.h - SPDX-License-Identifier: MIT
 * Generated from src/ by tools/amalgamate.c. Do not edit: edit src/ and run make headers.
 *
 * DO THIS
 *     #define OX_IMPLEMENTATION        in exactly one source file, before the include
 *     #include "oxtorch_stream.h"      oxtorch.h lies beside it
 *     cc app.c -lm -lpthread           or, with io_uring: -DOX_USE_LIBURING and -luring
 *
 *     ox_stream_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.ram_bytes = (size_t)1 << 30;                                  1 GiB of RAM for all of it
 *     ox_stream *stream = ox_stream_open(&desc);
 *     ox_file *file = ox_file_open("model.safetensors", ox_stream_device(stream));
 *     ox_tensor *w = ox_file_tensor(file, "weight");                            stays in the file
 *     ox_tensor *y = ox_linear(x, w, NULL);                              x and y in RAM
 *     ...
 *     ox_file_close(file);
 *     ox_device_close(ox_stream_device(stream));
 *
 * HOW IT WORKS
 *     The stream is a device: its memory is files, its compute another device (the CPU, or a GPU). A tensor
 *     on it stays where it lies in a GGUF, safetensors, .npy, .npz or raw file (ox_stream_raw). An
 *     operation is cut into tiles. While one tile is computed the next ones are read, and results are
 *     written, through a ring of buffers. Results have the bits that the operation has in RAM. Small
 *     results are made in RAM, large ones in a spill file that has no name and disappears with the stream,
 *     also when the process is killed. ox_stream_named makes a tensor in a file that stays.
 *
 * MEMORY
 *     ram_bytes is what the library may hold. The ring takes up to a quarter of it; the rest keeps tiles of
 *     read-only files, so that a second pass over a model reads only what did not fit. The order of the
 *     first pass tells what to prefetch, also between operations; on the first pass itself over layers that
 *     are alike, each is prefetched as the one before it was used. With 0, a stream takes half of what the
 *     system, the memory limits of the process's groups (cgroups) and its own (ulimit) leave.
 *
 * THE DISK
 *     Files are read past the system's page cache where the file system allows it, by io_uring or by threads,
 *     which take over where io_uring is forbidden. Tile size and depth follow from the speed of the first
 *     tiles unless they are given. A read that fails, a file that became shorter, one that was replaced or
 *     written to since ox_file_open, a full disk: each is OX_ERR_IO with path and offset.
 *
 * WITH A GPU
 *     desc.compute = ox_vulkan(0) moves tiles there; operands in its memory may stand beside streamed ones.
 *     The numbers are the GPU's then. Reductions, and rows longer than a tile, stay with the CPU, which adds
 *     numbers up faster than they can be moved.
 *
 * THE PLANNER
 *     ox_shunt_open makes a device that keeps calls until numbers are asked for, and then plans the step as a
 *     whole: which tensors stay in memory, which move to the host's and to the disk and when, so that moves
 *     hide behind computing, and which calls run a second time instead. A step that comes again is replayed.
 *     Training is captured as it is. Budgets hold: what does not fit waits elsewhere (stream/shunt/shunt.h).
 *
 * WATCHING
 *     ox_stream_get_stats counts bytes, tiles and waiting; desc.progress is called after each tile; the
 *     trace of the profiler has lanes for disk, ring and compute.
 *
 * MACROS
 *     OX_USE_LIBURING      read through io_uring; it is asked at run time whether the system allows it.
 *                          liburing.h wants GNU C, as gcc and clang compile by themselves, not -std=c11
 *
 * LIMITS
 *     One operation at a time for each stream. Sorts and running sums along the only dim, attention over
 *     keys of one head beyond a tile, rows longer than a tile whose result lies in another order (softmax
 *     over the last dim of a transposed tensor), and other operations that cannot be cut load their
 *     operands as a whole, within the budget. Rows with gaps between their elements are read with the gaps.
 *     A file must not be written to while tensors lie in it; changed bytes are an error only if
 *     desc.checksums asks for that. Compressed members of .npz archives are unpacked in RAM and moved to
 *     the spill folder, numbers in the other byte order a piece at a time.
 */
#ifndef OX_TORCH_STREAM_H
#define OX_TORCH_STREAM_H

#ifndef OX_TORCH_FILE
#define OX_TORCH_FILE "oxtorch.h"
#endif
#include OX_TORCH_FILE
/* >>stream/stream.h */
/* Tensors larger than memory: a device whose memory is files and whose compute is another device.
 * A tensor on it is a region of a file. Operations are cut into tiles that flow through a ring of buffers, so
 * that reading, computing and writing overlap and memory stays under a budget. */
#ifndef OX_STREAM_STREAM_H
#define OX_STREAM_STREAM_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

typedef struct ox_stream ox_stream;

typedef enum ox_stream_reading {
    OX_STREAM_BEST = 0, /* io_uring where it was built in and the system allows it, else threads */
    OX_STREAM_THREADS   /* a pool of threads that read and write at offsets */
} ox_stream_reading;

/* All zeros is a good description. */
typedef struct ox_stream_desc {
    size_t ram_bytes;    /* the budget: what the library may hold in RAM beyond what it holds when the stream
                          * is opened; 0 = half of what the system, the memory limits of the process's
                          * groups (cgroups) and its own (ulimit) leave */
    size_t tile_bytes;   /* most bytes of an operand that are in one tile; 0 = 8 MiB, less if the budget is
                          * small, and after the first tiles what suits the disk: some milliseconds of it,
                          * 4 to 16 MiB. Rounded to 4 KiB, at least 16 KiB */
    int depth;           /* tiles on their way at once; 0 = 4, and after the first tiles what the disk's
                          * bandwidth and latency ask for; at least 3, at most 16 */
    int queue;           /* requests to the system in flight; 0 = 32, at most 256 */
    size_t result_bytes; /* results up to this size are made in RAM, larger ones in the spill folder;
                          * 0 = an eighth of the budget */
    const char *spill;   /* folder for results and tensors that are moved here; NULL = $TMPDIR, else /tmp */
    ox_device *compute;  /* what computes on the tiles: ox_cpu() (NULL is that) or ox_vulkan(0), to which
                          * tiles are moved; operands in its memory may stand beside streamed ones */
    ox_stream_reading reading;
    bool buffered;       /* always go through the system's page cache; otherwise only where a file system
                          * refuses direct transfers (tmpfs), and for pages in part */
    bool forgetful;      /* keep no tiles in RAM for the next pass */
    bool checksums;      /* a tile of a file that is read again must have the bytes that it had at first, and
                          * a page of the spill file those that were written, where a tile has all of it: 4
                          * bytes of RAM for each page */
    /* Called after each tile of an operation, in the thread that runs it; it must not use the stream. bytes:
     * of files, that operations have used since the stream was opened. NULL: nothing is called. */
    void (*progress)(void *user, int64_t tile, int64_t tiles, int64_t bytes);
    void *progress_user;
    /* For tests: asked before each transfer, possibly from several threads at once. number counts transfers
     * from 1. Gives how many of its bytes it may move (0 = the file ends here), or an errno made negative. */
    int64_t (*fault)(void *user, int64_t number, int64_t bytes);
    void *fault_user;
} ox_stream_desc;

/* ox_stream_open - makes a stream device. desc NULL = zeroed; it is copied.
 * memory    ring of tiles at once (2 x depth x tile_bytes); the rest of the budget as tiles are kept
 * errors    NULL: OX_ERR_ARG a budget too small for its tiles, or a stream as compute device; OX_ERR_NOMEM;
 *           OX_ERR_UNSUPPORTED a system without positioned reads
 * threads   one operation runs on a stream at a time; others wait for it
 * end       ox_device_close(ox_stream_device(stream)): tensors that are alive and files that are open keep
 *           the stream, and the last of them closes it. A child process (fork) cannot use its parent's
 *           streams: OX_ERR_DEVICE, and closing them there is nothing */
OX_API ox_stream *ox_stream_open(const ox_stream_desc *desc);
/* ox_stream_device - the device: ox_file_open("model.gguf", ox_stream_device(s)) gives tensors that stay in
 * the file, ox_to(t, ox_stream_device(s)) moves one to the spill folder, ox_to(t, ox_cpu()) brings one into
 * RAM. Operands in RAM may stand beside streamed ones, and results lie in RAM up to result_bytes; when a
 * GPU computes, in its memory instead. Every operation has the same bits as in RAM (on a GPU: as in its
 * memory, reductions as on the CPU). What cannot be cut (sort along the only dim, say) is loaded as a
 * whole, which is counted, or is OX_ERR_NOMEM when the budget has no room for it.
 * errors    of operations: OX_ERR_IO with path and offset; the result is dropped, files stay as they are */
OX_API ox_device *ox_stream_device(ox_stream *stream);

/* ox_stream_raw - a tensor over bytes of any file, from byte `offset` on: row-major, the host's byte order.
 * memory    one reference; read-only, as all that a stream reads from files (ox_clone it to write): what was
 *           written would have to stay somewhere. ox_stream_named makes a file that is written to
 * errors    NULL: OX_ERR_IO, also when the file is too short; OX_ERR_SHAPE; OX_ERR_DTYPE; OX_ERR_ARG */
OX_API ox_tensor *ox_stream_raw(ox_stream *stream, const char *path, int64_t offset, ox_dtype dtype,
                                ox_shape shape);

/* ox_stream_named - a tensor in a file of its own that stays: NAME.safetensors in the stream's spill folder,
 * with the one tensor NAME. Zeros at first; it can be written to: ox_copy_(t, result), ox_add_(t, x). What an
 * operation wrote is in the file when the operation returns; it reaches the disk when the system writes it.
 * memory    one reference; the file stays when it goes, also when the process is killed
 * errors    NULL: OX_ERR_IO a file of that name is there already, or there is no room; OX_ERR_SHAPE;
 *           OX_ERR_DTYPE; OX_ERR_ARG a name that cannot be one of a file; OX_ERR_UNSUPPORTED a dtype that
 *           safetensors does not know, a big-endian machine */
OX_API ox_tensor *ox_stream_named(ox_stream *stream, const char *name, ox_dtype dtype, ox_shape shape);

typedef struct ox_stream_stats {
    int64_t disk_bytes;     /* read from files */
    int64_t ram_bytes;      /* taken from tiles that were kept, instead of being read again */
    int64_t written_bytes;  /* to the spill file */
    int64_t calls, tiles;   /* operations, and tiles they were cut into */
    int64_t whole_loads;    /* operations with an operand that could not be cut into tiles */
    int64_t guesses;        /* reads begun before an operation asked for them */
    double stall_seconds;   /* computing waited for reads or writes */
    double compute_seconds; /* tiles were computed */
    double overlap;         /* the part of the time in operations that was not waiting: 0 to 1 */
    size_t ring_bytes;      /* held by the ring now */
    size_t kept_bytes;      /* held by tiles that are kept now */
    size_t tile_bytes;      /* of a tile, and tiles on their way at once, as chosen or adapted */
    int depth;
    double bandwidth;       /* bytes a second that the first tiles came at; 0: not measured yet */
    double latency;         /* seconds of a transfer that began with nothing else on its way, at least */
    int64_t ahead_bytes;    /* read ahead of operations and not used yet */
    size_t spilled_bytes;   /* live in the spill file now */
    bool uring;             /* requests go through io_uring */
} ox_stream_stats;
/* Counts since the stream was opened. Zeros for NULL. */
OX_API ox_stream_stats ox_stream_get_stats(ox_stream *stream);

OX_EXTERN_C_END
#endif
#endif
/* >>stream/shunt/shunt.h */
/* The planner: a device that keeps calls, and plans where every tensor lies and when it moves, over a
 * device's memory, memory of the host and the disk. Programs do not change: their tensors are on
 * ox_shunt_device(s).
 *
 *     ox_shunt_desc desc;
 *     memset(&desc, 0, sizeof desc);
 *     desc.device_bytes = (uint64_t)4 << 30;                  the most that tensors may take of RAM
 *     desc.spill = "/var/tmp";                                where the rest goes
 *     ox_shunt *shunt = ox_shunt_open(&desc);
 *     ox_tensor *w = ox_to(weights, ox_shunt_device(shunt));  or ox_file_open(path, ox_shunt_device(shunt))
 *     for (...) OX_SCOPE {
 *         ox_tensor *loss = step(w, batch);                   nothing runs yet
 *         printf("%g\n", ox_item(loss));                      planned once, then run; later replayed
 *     }
 *     ox_shunt_close(shunt);
 *
 * Calls are kept until numbers are asked for (ox_item, ox_to, ox_device_sync ...); then they run as one step,
 * with the bits that they have when each runs at once. What a step reads first and what it gives up are known
 * by then, so that moves hide behind computing. A program that never reads anything calls ox_device_sync at
 * the end of a step. Shapes, dtypes and which tensor is which are a step's key: a step that came before is
 * not planned again, but for three times at most in its first runs: twice where its tensors come to wait on
 * another tier than at first, once by what its calls took (`revised` counts them). */
#ifndef OX_STREAM_SHUNT_H
#define OX_STREAM_SHUNT_H
#ifndef OX_NO_STDIO

OX_EXTERN_C_BEGIN

typedef struct ox_shunt ox_shunt;

/* What may be computed a second time instead of being moved: nothing; what costs no more than moving bytes;
 * what pays by the plan, up to eight times the move; whatever pays; or, in steps that use tensors at most 64
 * times, of all orders with second runs the one that takes the least by the plan, sought for a second at most
 * (larger ones: whatever pays). With the others small steps are gone through like that as well, among what
 * they allow, for a tenth of a second. Random operations give the same numbers again. */
typedef enum ox_recompute {
    OX_RECOMPUTE_AUTO = 0,
    OX_RECOMPUTE_OFF,
    OX_RECOMPUTE_CHEAP,
    OX_RECOMPUTE_AGGRESSIVE,
    OX_RECOMPUTE_EXACT
} ox_recompute;

/* How f32 tensors are moved to the host and the disk. All but NONE change bits. Numbers that share a scale
 * are those of a column where there are 32 rows or more, [N,C] or [B,N,C], else those of a row. */
typedef enum ox_compression {
    OX_COMPRESSION_NONE = 0,
    OX_COMPRESSION_F16,
    OX_COMPRESSION_F8,               /* 8 bits, with a scale for each 16 numbers */
    OX_COMPRESSION_I8,               /* i8, with a scale for each 32 numbers (Q8_0) */
    OX_COMPRESSION_Q4                /* 4 bits, with a scale for each 32 numbers (Q4_0) */
} ox_compression;

/* Of which tensors: those that steps only read, those that they make, those that they change in place, with
 * what these are changed by, as gradients are. An optimizer's weights and moments change by less than 8 bits,
 * or f16, can hold, and lose those changes: the loss curve is another one. Training leaves STATE out;
 * activations keep the curve within 1 %, unless the training takes small changes far (docs/PLANNER.md).
 * A plan compresses what makes it shorter: it is made with and without, by what moves, packing and unpacking
 * take. Where less than 1 % is gained, all copies keep all bits; otherwise all those whose moves hide behind
 * computing anyway. So it is for disks and slow links; memory of the host is faster than packing. ALWAYS: all
 * copies of the classes, for what they leave free of the host's memory and the disk, also without a plan. */
enum { OX_COMPRESS_WEIGHTS = 1, OX_COMPRESS_ACTIVATIONS = 2, OX_COMPRESS_STATE = 4, OX_COMPRESS_ALWAYS = 8 };

/* All zeros is a good description: calls are kept and run as steps, without a limit of memory. */
typedef struct ox_shunt_desc {
    ox_device *compute;     /* what runs the calls: ox_cpu() (NULL is that) or ox_vulkan(0) */
    uint64_t device_bytes;  /* budgets: of tensors in its memory (what an operation needs while it runs comes
                             * beside it); 0 = no limit, and nothing is moved */
    uint64_t host_bytes;    /* of what waits in memory of the host; 0 = none on the CPU, whose memory is the
                             * device's, else half of what the system has left */
    uint64_t disk_bytes;    /* of what waits in the spill folder; 0 = no limit. Plans keep within it; a step
                             * of which none does is an error before it begins */
    const char *spill;      /* that folder; NULL = $TMPDIR, else /tmp */
    ox_recompute recompute;
    ox_compression compression;
    unsigned compress;      /* OX_COMPRESS_... */
    const char *trace;      /* a Chrome trace of every step goes there when the shunt is closed; NULL: none */
    bool raise;             /* a step that no plan fits is an error; otherwise it runs call by call, slower */
    bool eager;             /* each call runs at once, within the same budgets, without plans */
    double search_seconds;  /* of a processor's work that a plan may be sought with, which on a busy machine
                             * takes longer, but 45 ms or a third more at most; 0 = 15 to 35 ms, 2 us a call
                             * where that is more, 0.1 s in steps that use tensors at most 64 times. Where no
                             * plan is within disk_bytes yet it may be nine times that */
    /* For tests: as of ox_stream_desc, for transfers of the disk. */
    int64_t (*fault)(void *user, int64_t number, int64_t bytes);
    void *fault_user;
} ox_shunt_desc;

/* ox_shunt_open - makes a planning device. desc NULL = zeroed; it is copied. Where a budget is 0, the
 *   environment has a say: OX_SHUNT_DEVICE_BYTES, OX_SHUNT_HOST_BYTES, OX_SHUNT_DISK_BYTES, OX_SHUNT_SPILL,
 *   OX_SHUNT_TRACE; OX_SHUNT_EAGER=1. Bytes may end in K, M or G.
 * memory    a block of device_bytes with the first step that has a budget
 * errors    NULL: OX_ERR_ARG a device that leaves computing to others, values that no member has, compression
 *           of no class, or numbers of the environment that are none; OX_ERR_NOMEM
 * end       ox_shunt_close; tensors that are alive and open files keep the shunt until the last of them. What
 *           waits on the disk has no name there and is gone with the process, also when it is killed */
OX_API ox_shunt *ox_shunt_open(const ox_shunt_desc *desc);
/* Gives it back: calls that nobody asked for are dropped. NULL is allowed. */
OX_API ox_status ox_shunt_close(ox_shunt *shunt);
/* ox_shunt_device - the device. Every operation has the bits of the compute device; tensors that are written
 *   to in place may lie in files, which stay as they are.
 * errors    shapes and dtypes at the call; what operations say of numbers, the disk and memory when the step
 *           runs, with the number of the call in the step and its name: what the step was to make from there
 *           on is lost (reading it says so), what it was to change stays as it was; but a call in place that
 *           runs in pieces, as those do that take more than half of the budget, may have changed some rows.
 *           OX_ERR_NOMEM: a call that cannot run in pieces does not fit the budget, or what waits does not
 *           fit host and disk
 * threads   one step runs at a time; calls of several threads are one step in the order in which they came */
OX_API ox_device *ox_shunt_device(ox_shunt *shunt);

/* ox_capture_begin - calls of this thread run on the shunt until ox_capture_end, also where their operands
 *   are on the CPU or on its compute device: these are copied as they are at the call. Results are the
 *   shunt's; a call in place on such an operand runs at once. One shunt at a time: another ends the one
 *   before. A capture keeps its shunt alive: another thread may close it meanwhile.
 * errors    OX_ERR_ARG: shunt NULL; OX_ERR_DEVICE: it is a parent process's */
OX_API ox_status ox_capture_begin(ox_shunt *shunt);
/* Runs what is pending, and ends the capture. */
OX_API ox_status ox_capture_end(ox_shunt *shunt);

typedef struct ox_shunt_stats {
    int64_t calls;              /* kept; */
    int64_t steps;              /* runs of what was pending */
    int64_t plans, replays;     /* of them planned, run by a plan that was there; others ran call by call */
    int64_t revised;            /* plans made again in first runs, at most 3 of each */
    int64_t recomputed;         /* calls that ran a second time */
    int64_t up_bytes, down_bytes;       /* moved to the host, and from it */
    int64_t read_bytes, written_bytes;  /* of the disk */
    int64_t ahead_bytes;                /* of those read, what was begun when the step before ended */
    uint64_t device_bytes, device_peak; /* of tensors there: now, and the most */
    uint64_t host_bytes, host_peak, disk_bytes, disk_peak;
    double plan_seconds;        /* of all plans */
    /* of the last step: */
    double wall_seconds, compute_seconds, simulated_seconds;
    double bound_seconds;       /* no plan of these calls, once each, takes less: max of their computing, as
                                 * measured in this step, and of what each link has to move at the speed that
                                 * the plan was made for */
    double eta;                 /* bound / wall. By the planner's own figures: a step whose moves were faster
                                 * than they used to be has more than 1. For a claim, measure the links apart
                                 * (bench_shunt does) */
    uint64_t resident_bytes;    /* of what stays in the device's memory from step to step */
} ox_shunt_stats;
/* Counts since it was opened. Zeros for NULL. */
OX_API ox_shunt_stats ox_shunt_get_stats(ox_shunt *shunt);

/* ox_shunt_dump - writes the plan of the last planned step to a file that people can read: text, or a drawing
 *   of tensors over calls by tier where the path ends in ".svg".
 * errors    OX_ERR_ARG: shunt or path NULL, or nothing was planned yet; OX_ERR_IO */
OX_API ox_status ox_shunt_dump(ox_shunt *shunt, const char *path);

OX_EXTERN_C_END
#endif
#endif

#endif /* OX_TORCH_STREAM_H */

/* From here on the text is packed: comments, blank lines and indentation are left out. To read it, see
 * src/ in the repository: what stands behind the mark >>base/error.c here is src/base/error.c there. */
#if defined(OX_IMPLEMENTATION) && !defined(OX_TORCH_STREAM_IMPLEMENTED) && !defined(OX_NO_STDIO)
#define OX_TORCH_STREAM_IMPLEMENTED
#ifdef OX_USE_LIBURING
#include <liburing.h>
#endif
/* >>stream/internal.h */
#ifndef OX_STREAM_INTERNAL_H
#define OX_STREAM_INTERNAL_H
enum{OXI_STREAM_PAGE=4096,OXI_STREAM_PIECE=1<<20,OXI_STREAM_OPERANDS=OXI_MAX_IN+OXI_MAX_OUT,OXI_STREAM_WINDOW=16,
OXI_STREAM_LEAST_DEPTH=3,OXI_STREAM_SLOTS=64,OXI_STREAM_PAST=512,OXI_STREAM_ENDED=-1};
typedef struct oxi_stream_file{struct oxi_stream_file*next;struct oxi_stream_region*regions;int64_t references;oxi_file_id id;
intptr_t plain,direct;int slot[2];bool writable;char*path;size_t path_bytes;}oxi_stream_file;typedef struct oxi_stream_region{
struct oxi_stream_region*next;struct ox_stream*stream;oxi_stream_file*file;uint64_t offset;size_t bytes;uint32_t*sums;}oxi_stream_region;
typedef struct oxi_stream_gap{struct oxi_stream_gap*next;uint64_t offset,bytes;}oxi_stream_gap;typedef struct oxi_stream_load{
int64_t pending;int64_t flow;int cause;uint64_t failed_at;double end;}oxi_stream_load;
typedef struct oxi_stream_request{struct oxi_stream_request*next;oxi_stream_load*load;oxi_stream_file*file;uint64_t offset;
size_t bytes,done;
char*memory;bool write,direct;int retries,cause;int64_t progress;double start,end;
bool alone;}oxi_stream_request;typedef struct oxi_stream_queue{oxi_stream_request*first,*last;}oxi_stream_queue;
#ifdef OX_NO_THREADS
typedef struct oxi_stream_mutex{int unused;}oxi_stream_mutex;
#else
typedef oxi_mutex oxi_stream_mutex;
enum{OXI_STREAM_THREADS_MOST=8};
#endif
typedef struct oxi_stream_reader{int64_t flying;
int most;int64_t(*fault)(void*user,int64_t number,int64_t bytes);void*fault_user;int64_t fault_number;int64_t progress;
oxi_stream_queue waiting,finished;bool urgent;bool uses_uring;
#ifdef OX_USE_LIBURING
struct io_uring uring;
oxi_stream_queue prepared;int in_system;const char*buffer;size_t buffer_bytes;bool knows_files;uint64_t slots_taken;
#endif
#ifndef OX_NO_THREADS
oxi_mutex mutex;
oxi_condition work,ready;oxi_thread threads[OXI_STREAM_THREADS_MOST];int thread_count;bool stopping;
#endif
}oxi_stream_reader;
typedef struct oxi_stream_range{struct oxi_stream_range*chain;struct oxi_stream_range*successor;oxi_stream_file*file;uint64_t offset;
size_t bytes;char*memory;struct oxi_stream_slab*slab;oxi_stream_load load;int users;uint64_t used_at;uint64_t sum;bool has_sum,checked;
bool guessed;bool far;}oxi_stream_range;typedef struct oxi_stream_slab{struct oxi_stream_slab*next;char*block;size_t bytes,used;
size_t touched;uint64_t used_at;}oxi_stream_slab;typedef struct oxi_stream_cell{char*memory;oxi_stream_load load;oxi_stream_range*range;
int users;bool checked;bool guessed;bool storing;}oxi_stream_cell;typedef struct oxi_stream_layout{size_t bytes;uint64_t first;
size_t run;int loops;int64_t count[OX_MAX_DIMS],step[OX_MAX_DIMS];bool gaps;int align;int64_t offset,stride[OX_MAX_DIMS];
}oxi_stream_layout;typedef enum oxi_stream_use{OXI_STREAM_UNUSED=0,OXI_STREAM_LOAD=1,OXI_STREAM_STORE=2}oxi_stream_use;
typedef struct oxi_stream_source{unsigned use;const oxi_stream_region*region;oxi_stream_layout layout;oxi_stream_cell*cell;
oxi_stream_range*range;char*data;}oxi_stream_source;typedef struct oxi_stream_step{oxi_stream_source source[OXI_STREAM_OPERANDS];
unsigned wanted,ready;}oxi_stream_step;typedef struct oxi_stream_flow{int64_t count;int cells;size_t cell_bytes;int window;
bool unlearned;ox_device*device;const char*pinned;size_t pinned_bytes;
ox_status(*prepare)(struct oxi_stream_flow*flow,int64_t index,oxi_stream_step*step);
ox_status(*compute)(struct oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step);}oxi_stream_flow;
typedef struct oxi_stream_pace{bool sets_tile,sets_depth;bool settled;double latency;
int64_t bytes;double seconds;
double bandwidth;}oxi_stream_pace;
static ox_status oxi_stream_run(ox_device*self,const oxi_call*call);enum{OXI_STREAM_BUCKETS=4096,OXI_STREAM_RANGES_MOST=1<<18};
struct ox_stream{ox_device device;char name[32];int64_t references;int64_t forks;oxi_stream_mutex lock;ox_stream_desc desc;
size_t base_bytes;oxi_stream_file*files;oxi_stream_reader reader;void*request_blocks;oxi_stream_request*free_requests;char*ring_block;
size_t ring_block_bytes,cell_room;oxi_pinned_memory ring_pin;oxi_stream_cell*cells;int cell_count,cell_record_room;
oxi_stream_step steps[OXI_STREAM_WINDOW];oxi_stream_load stores;int64_t flow;oxi_stream_range*buckets[OXI_STREAM_BUCKETS];
oxi_stream_range*last;oxi_stream_range*past[OXI_STREAM_PAST];int64_t past_count;int64_t range_count;uint64_t clock;oxi_stream_slab*slabs;
size_t slab_bytes;oxi_stream_pace pace;oxi_stream_file*spill;char*spill_folder;size_t spill_folder_bytes;oxi_stream_gap*gaps;
uint64_t spill_end;uint64_t spill_budget,spill_peak;ox_stream_stats stats;double busy_seconds;};
#endif
/* >>stream/file/file.c */
#if defined(OXI_POSIX)
#if !defined(__cplusplus)
int ftruncate(int file,off_t bytes);
#endif
#ifndef O_LARGEFILE
#define O_LARGEFILE 0
#endif
#if defined(__linux__) && (defined(__x86_64__) || defined(__i386__) || defined(__riscv))
#define OXI_STREAM_DIRECT 040000
#define OXI_STREAM_UNNAMED (020000000|0200000)
#elif defined(__linux__) && (defined(__aarch64__) || defined(__arm__))
#define OXI_STREAM_DIRECT 0200000
#define OXI_STREAM_UNNAMED (020000000|040000)
#endif
static intptr_t oxi_stream_handle_open(const char*path,bool direct){int flags=O_RDONLY|O_CLOEXEC|O_LARGEFILE;
#ifdef OXI_STREAM_DIRECT
if(direct)flags|=OXI_STREAM_DIRECT;
#else
if(direct)return-1;
#endif
int file=open(path,flags|O_NONBLOCK);
if(file>=0&&fcntl(file,F_SETFL,flags)==0)return file;
if(file>=0)(void)close(file);
return-1;}
static void oxi_stream_handle_close(intptr_t handle){if(handle>=0)(void)close((int)handle);}
static intptr_t oxi_stream_handle_unnamed(const char*folder,char*path,size_t room){int flags=O_RDWR|O_CLOEXEC|O_LARGEFILE;
#ifdef OXI_STREAM_UNNAMED
int file=open(folder,flags|OXI_STREAM_UNNAMED,0600);
if(file>=0||(errno!=EISDIR&&errno!=EOPNOTSUPP&&errno!=ENOENT))return file;
#endif
(void)snprintf(path,room,"%s/oxtorch-%016llx.spill",folder,(unsigned long long)oxi_unpredictable());
int named=open(path,flags|O_CREAT|O_EXCL,0600);if(named>=0)(void)unlink(path);
return named;}
static intptr_t oxi_stream_handle_create(const char*path){return open(path,O_RDWR|O_CLOEXEC|O_LARGEFILE|O_CREAT|O_EXCL,0666);}
static int64_t oxi_stream_handle_move(intptr_t handle,bool write,void*memory,size_t bytes,uint64_t offset){
if(offset>INT64_MAX)return-EINVAL;
ssize_t moved=write?OXI_PWRITE((int)handle,memory,bytes,(int64_t)offset):OXI_PREAD((int)handle,memory,bytes,(int64_t)offset);
return moved<0?-(int64_t)errno:(int64_t)moved;}
static void oxi_stream_handle_resize(intptr_t handle,uint64_t bytes){
if((uint64_t)(off_t)bytes==bytes&&ftruncate((int)handle,(off_t)bytes)!=0)return;}
static int oxi_stream_handle_reserve(intptr_t handle,uint64_t from,uint64_t bytes){
#if defined(__linux__) && defined(__LP64__) && defined(SYS_fallocate)
if(syscall(SYS_fallocate,(long)handle,0L,(long)from,(long)bytes)!=0&&errno==ENOSPC)
return ENOSPC;
#else
(void)handle,(void)from,(void)bytes;
#endif
return 0;}
#if defined(__linux__) && defined(__LP64__) && defined(SYS_sync_file_range) && defined(SYS_fadvise64)
#define OXI_STREAM_CAN_SETTLE 1
#endif
static int oxi_stream_handle_settle(intptr_t handle){
#ifdef OXI_STREAM_CAN_SETTLE
const long wait_write_wait=7,not_needed=4;
int cause=syscall(SYS_sync_file_range,(long)handle,0L,0L,wait_write_wait)==0?0:errno;
(void)syscall(SYS_fadvise64,(long)handle,0L,0L,not_needed);return cause;
#else
(void)handle;
return 0;
#endif
}
static intptr_t oxi_stream_handle_direct(intptr_t handle){
#if defined(OXI_STREAM_CAN_SETTLE) && defined(OXI_STREAM_DIRECT)
const long random=1;
char path[64];(void)snprintf(path,sizeof path,"/proc/self/fd/%d",(int)handle);
if(syscall(SYS_fadvise64,(long)handle,0L,0L,random)!=0)return-1;
return open(path,O_RDWR|O_CLOEXEC|O_LARGEFILE|OXI_STREAM_DIRECT);
#else
(void)handle;
return-1;
#endif
}
static ox_status oxi_stream_identify(intptr_t handle,const char*path,oxi_file_id*id,uint64_t*bytes){struct stat info;
if(fstat((int)handle,&info)!=0)
return oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(path),strerror(errno));
if(!S_ISREG(info.st_mode))return oxi_fail(OX_ERR_IO,"%s: is not a regular file",oxi_path_text(path));
*id=oxi_file_id_of(&info);*bytes=(uint64_t)info.st_size;return OX_OK;}
#elif defined(_WIN32)
static intptr_t oxi_stream_handle_open(const char*path,bool direct){wchar_t wide[OXI_WIDE_ROOM];
if(direct||!oxi_wide_path(path,wide))return-1;
HANDLE file=CreateFileW(wide,GENERIC_READ,FILE_SHARE_READ|FILE_SHARE_DELETE,NULL,OPEN_EXISTING,0,NULL);errno=ENOENT;
return file==INVALID_HANDLE_VALUE?-1:(intptr_t)file;}
static void oxi_stream_handle_close(intptr_t handle){if(handle!=-1)CloseHandle((HANDLE)handle);}
static intptr_t oxi_stream_handle_unnamed(const char*folder,char*path,size_t room){wchar_t wide[OXI_WIDE_ROOM];
(void)snprintf(path,room,"%s/oxtorch-%016llx.spill",folder,(unsigned long long)oxi_unpredictable());
if(!oxi_wide_path(path,wide))return-1;
HANDLE file=CreateFileW(wide,GENERIC_READ|GENERIC_WRITE,FILE_SHARE_DELETE,NULL,CREATE_NEW,
FILE_ATTRIBUTE_TEMPORARY|FILE_FLAG_DELETE_ON_CLOSE,NULL);
errno=EACCES;return file==INVALID_HANDLE_VALUE?-1:(intptr_t)file;}
static intptr_t oxi_stream_handle_create(const char*path){wchar_t wide[OXI_WIDE_ROOM];if(!oxi_wide_path(path,wide))return-1;
HANDLE file=CreateFileW(wide,GENERIC_READ|GENERIC_WRITE,FILE_SHARE_READ|FILE_SHARE_DELETE,NULL,CREATE_NEW,0,NULL);
errno=GetLastError()==ERROR_FILE_EXISTS?EEXIST:EACCES;return file==INVALID_HANDLE_VALUE?-1:(intptr_t)file;}
static int64_t oxi_stream_handle_move(intptr_t handle,bool write,void*memory,size_t bytes,uint64_t offset){OVERLAPPED at;
DWORD moved=0,part=bytes>(1u<<30)?1u<<30:(DWORD)bytes;memset(&at,0,sizeof at);at.Offset=(DWORD)(offset&0xffffffffu);
at.OffsetHigh=(DWORD)(offset>>32);BOOL done=write?WriteFile((HANDLE)handle,memory,part,&moved,&at)
:ReadFile((HANDLE)handle,memory,part,&moved,&at);
if(done)return(int64_t)moved;
DWORD code=GetLastError();if(!write&&code==ERROR_HANDLE_EOF)return 0;
return code==ERROR_DISK_FULL?-ENOSPC:-EIO;}
static void oxi_stream_handle_resize(intptr_t handle,uint64_t bytes){LARGE_INTEGER end;end.QuadPart=(LONGLONG)bytes;
if(SetFilePointerEx((HANDLE)handle,end,NULL,FILE_BEGIN))(void)SetEndOfFile((HANDLE)handle);}
static ox_status oxi_stream_identify(intptr_t handle,const char*path,oxi_file_id*id,uint64_t*bytes){BY_HANDLE_FILE_INFORMATION info;
if(!GetFileInformationByHandle((HANDLE)handle,&info))
return oxi_fail(OX_ERR_IO,"%s: is not a regular file",oxi_path_text(path));
*id=oxi_file_id_of(&info);*bytes=(uint64_t)info.nFileSizeHigh<<32|info.nFileSizeLow;return OX_OK;}
#else
static intptr_t oxi_stream_handle_open(const char*path,bool direct){(void)path,(void)direct;
errno=EINVAL;return-1;}
static void oxi_stream_handle_close(intptr_t handle){(void)handle;}
static intptr_t oxi_stream_handle_unnamed(const char*folder,char*path,size_t room){(void)folder,(void)path,(void)room;return-1;}
static intptr_t oxi_stream_handle_create(const char*path){(void)path;return-1;}
static int64_t oxi_stream_handle_move(intptr_t handle,bool write,void*memory,size_t bytes,uint64_t offset){
(void)handle,(void)write,(void)memory,(void)bytes,(void)offset;return-EINVAL;}
static void oxi_stream_handle_resize(intptr_t handle,uint64_t bytes){(void)handle,(void)bytes;}
static ox_status oxi_stream_identify(intptr_t handle,const char*path,oxi_file_id*id,uint64_t*bytes){(void)handle,(void)id,(void)bytes;
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: this system has no reads at an offset",oxi_path_text(path));}
#endif
#if !defined(OXI_POSIX)
static int oxi_stream_handle_reserve(intptr_t handle,uint64_t from,uint64_t bytes){(void)handle,(void)from,(void)bytes;
return 0;}
static intptr_t oxi_stream_handle_direct(intptr_t handle){(void)handle;return-1;}
static int oxi_stream_handle_settle(intptr_t handle){(void)handle;return 0;}
#endif
static void oxi_ring_forget(ox_stream*stream);
static void oxi_capacitor_forget_file(ox_stream*stream,const oxi_stream_file*file);
static void oxi_reader_forget_file(oxi_stream_reader*reader,oxi_stream_file*file);
static void oxi_reader_know_file(oxi_stream_reader*reader,oxi_stream_file*file);static void oxi_stream_file_free(oxi_stream_file*file){
oxi_stream_handle_close(file->plain);oxi_stream_handle_close(file->direct);oxi_free(file->path,file->path_bytes);
oxi_free(file,sizeof*file);}
static void oxi_stream_file_release(ox_stream*stream,oxi_stream_file*file){if(--file->references>0)return;
oxi_ring_forget(stream);oxi_capacitor_forget_file(stream,file);for(oxi_stream_file**link=&stream->files;*link;link=&(*link)->next)
if(*link==file){*link=file->next;
break;}
oxi_reader_forget_file(&stream->reader,file);oxi_stream_file_free(file);}
static oxi_stream_file*oxi_stream_file_new(const char*path){oxi_stream_file*file=(oxi_stream_file*)oxi_calloc(1,sizeof*file);
if(!file)return NULL;
file->references=1;file->plain=file->direct=-1;file->slot[0]=file->slot[1]=-1;file->path_bytes=strlen(path)+1;
file->path=(char*)oxi_alloc(file->path_bytes);if(file->path){memcpy(file->path,path,file->path_bytes);
return file;}
oxi_stream_file_free(file);return NULL;}
static ox_status oxi_stream_file_open(ox_stream*stream,const char*path,oxi_stream_file**out,uint64_t*bytes){
oxi_stream_file*file=oxi_stream_file_new(path),*there=stream->files;if(!file)return OX_ERR_NOMEM;
file->plain=oxi_stream_handle_open(path,false);
ox_status status=file->plain==-1?oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(path),strerror(errno))
:oxi_stream_identify(file->plain,path,&file->id,bytes);
while(status==OX_OK&&there&&memcmp(&there->id,&file->id,sizeof file->id)!=0)
there=there->next;
if(status!=OX_OK||there){oxi_stream_file_free(file);
if(status==OX_OK)there->references++;
*out=there;return status;}
if(!stream->desc.buffered)file->direct=oxi_stream_handle_open(path,true);
oxi_reader_know_file(&stream->reader,file);file->next=stream->files;stream->files=file;*out=file;return OX_OK;}
static size_t oxi_region_pages(const oxi_stream_region*region){return region->bytes/OXI_STREAM_PAGE+(region->bytes%OXI_STREAM_PAGE!=0);}
static oxi_stream_region*oxi_stream_region_new(ox_stream*stream,oxi_stream_file*file,uint64_t offset,size_t bytes){
oxi_stream_region*region=(oxi_stream_region*)oxi_alloc(sizeof*region);if(!region)return NULL;
region->stream=stream;region->file=file;region->offset=offset;region->bytes=bytes;region->sums=NULL;
if(file->writable&&stream->desc.checksums&&bytes>0){region->sums=(uint32_t*)oxi_calloc(oxi_region_pages(region),sizeof*region->sums);
if(!region->sums){oxi_free(region,sizeof*region);
return NULL;}}
region->next=NULL;if(!file->writable){region->next=file->regions;
file->regions=region;}
stream->references++;return region;}
static void oxi_stream_region_unlink(oxi_stream_region*region){oxi_stream_region**link=&region->file->regions;
while(*link&&*link!=region)link=&(*link)->next;
if(*link)*link=region->next;}
static void oxi_stream_region_delete(oxi_stream_region*region){
if(region->sums)oxi_free(region->sums,oxi_region_pages(region)*sizeof*region->sums);
oxi_free(region,sizeof*region);}
static ox_status oxi_stream_region_open(ox_stream*stream,const char*path,const oxi_file_id*id,
uint64_t offset,size_t bytes,oxi_stream_region**out){oxi_stream_file*file=NULL;
uint64_t size=0;*out=NULL;ox_status status=oxi_stream_file_open(stream,path,&file,&size);if(status!=OX_OK)return status;
if(id&&memcmp(id,&file->id,sizeof*id)!=0)
status=oxi_fail(OX_ERR_IO,"%s: offset %llu: the file was replaced or written to since it was opened",
oxi_path_text(path),(unsigned long long)offset);
else if(offset>size||bytes>size-offset)
status=oxi_fail(OX_ERR_IO,"%s: offset %llu: %llu bytes are asked for, the file ends at %llu",
oxi_path_text(path),(unsigned long long)offset,(unsigned long long)bytes,(unsigned long long)size);
else
*out=oxi_stream_region_new(stream,file,offset,bytes);
if(*out)return OX_OK;
oxi_stream_file_release(stream,file);return status==OX_OK?OX_ERR_NOMEM:status;}
/* >>stream/file/spill.c */
static ox_status oxi_spill_open(ox_stream*stream){if(stream->spill)return OX_OK;
oxi_stream_file*file=oxi_stream_file_new(stream->spill_folder);if(!file)return OX_ERR_NOMEM;
char path[1024];file->writable=true;file->plain=oxi_stream_handle_unnamed(stream->spill_folder,path,sizeof path);if(file->plain==-1){
int cause=errno;oxi_stream_file_free(file);return oxi_fail(OX_ERR_IO,"%s: no spill file can be made there: %s",
oxi_path_text(stream->spill_folder),strerror(cause));}
if(!stream->desc.buffered)file->direct=oxi_stream_handle_direct(file->plain);
oxi_reader_know_file(&stream->reader,file);stream->spill=file;return OX_OK;}
static uint64_t oxi_spill_round(size_t bytes){return((uint64_t)bytes+OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;}
static bool oxi_spill_take(ox_stream*stream,uint64_t bytes,uint64_t*out){
for(oxi_stream_gap**link=&stream->gaps;*link;link=&(*link)->next){oxi_stream_gap*gap=*link;
if(gap->bytes<bytes)continue;
*out=gap->offset;gap->offset+=bytes;gap->bytes-=bytes;if(gap->bytes==0){*link=gap->next;
oxi_free(gap,sizeof*gap);}
return true;}
*out=stream->spill_end;if(bytes>0&&oxi_stream_handle_reserve(stream->spill->plain,*out,bytes)!=0){
oxi_stream_handle_resize(stream->spill->plain,*out);return false;}
stream->spill_end+=bytes;oxi_stream_handle_resize(stream->spill->plain,stream->spill_end);return true;}
static void oxi_spill_shrink(ox_stream*stream){oxi_stream_gap**link=&stream->gaps;while(*link&&(*link)->next)link=&(*link)->next;
oxi_stream_gap*gap=*link;if(gap&&gap->offset+gap->bytes==stream->spill_end){stream->spill_end=gap->offset;
*link=NULL;oxi_free(gap,sizeof*gap);}
oxi_stream_handle_resize(stream->spill->plain,stream->spill_end);}
static void oxi_spill_give(ox_stream*stream,uint64_t offset,uint64_t bytes){oxi_stream_gap*before=NULL,*after=stream->gaps;
if(bytes==0)return;
while(after&&after->offset<offset){before=after;
after=after->next;}
if(before&&before->offset+before->bytes==offset){before->bytes+=bytes;}else{
oxi_stream_gap*gap=(oxi_stream_gap*)oxi_try_alloc(sizeof*gap);if(!gap)return;
gap->offset=offset;gap->bytes=bytes;gap->next=after;if(before)
before->next=gap;
else
stream->gaps=gap;
before=gap;}
if(after&&before->offset+before->bytes==after->offset){before->bytes+=after->bytes;
before->next=after->next;oxi_free(after,sizeof*after);}
oxi_spill_shrink(stream);}
static ox_status oxi_spill_alloc(ox_stream*stream,size_t bytes,oxi_stream_region**out){ox_status status=oxi_spill_open(stream);
if(status!=OX_OK)return status;
uint64_t room=oxi_spill_round(bytes),offset=0,used=stream->stats.spilled_bytes;
if(stream->spill_budget>0&&(used>stream->spill_budget||room>stream->spill_budget-used))
return oxi_fail(OX_ERR_NOMEM,"%s: out of memory: %llu bytes needed, %llu in use, a budget of %llu",
stream->name,(unsigned long long)room,(unsigned long long)used,(unsigned long long)stream->spill_budget);
if(!oxi_spill_take(stream,room,&offset))
return oxi_fail(OX_ERR_IO,"%s: offset %llu: no room for %llu bytes of the spill file",
oxi_path_text(stream->spill_folder),(unsigned long long)stream->spill_end,(unsigned long long)room);
*out=oxi_stream_region_new(stream,stream->spill,offset,bytes);if(!*out){oxi_spill_give(stream,offset,room);
return OX_ERR_NOMEM;}
stream->stats.spilled_bytes+=(size_t)room;
if(stream->stats.spilled_bytes>stream->spill_peak)stream->spill_peak=stream->stats.spilled_bytes;
return OX_OK;}
static void oxi_spill_free(ox_stream*stream,const oxi_stream_region*region){uint64_t room=oxi_spill_round(region->bytes);
stream->stats.spilled_bytes-=(size_t)room;oxi_spill_give(stream,region->offset,room);}
static void oxi_spill_close(ox_stream*stream){while(stream->gaps){oxi_stream_gap*gap=stream->gaps;
stream->gaps=gap->next;oxi_free(gap,sizeof*gap);}
if(!stream->spill)return;
oxi_reader_forget_file(&stream->reader,stream->spill);oxi_stream_file_free(stream->spill);stream->spill=NULL;}
static ox_status oxi_named_fill(const oxi_stream_file*file,char*header,size_t bytes,uint64_t room){int64_t moved=0;
int cause=oxi_stream_handle_reserve(file->plain,0,room);for(size_t at=0;cause==0&&at<bytes;at+=(size_t)moved){
do moved=oxi_stream_handle_move(file->plain,true,header+at,bytes-at,at);
while(moved==-EINTR);
if(moved<=0)cause=moved<0?(int)-moved:ENOSPC;}
if(cause==0){oxi_stream_handle_resize(file->plain,room);
return OX_OK;}
oxi_remove_file(file->path);return oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(file->path),strerror(cause));}
static ox_status oxi_named_open(ox_stream*stream,const char*path,char*header,size_t header_bytes,size_t bytes,oxi_stream_region**out){
oxi_stream_file*file=oxi_stream_file_new(path);if(!file)return OX_ERR_NOMEM;
file->writable=true;file->plain=oxi_stream_handle_create(path);
ox_status status=file->plain==-1?oxi_fail(OX_ERR_IO,"%s: %s",oxi_path_text(path),strerror(errno))
:oxi_named_fill(file,header,header_bytes,header_bytes+bytes);
if(status!=OX_OK){oxi_stream_file_free(file);
return status;}
if(!stream->desc.buffered)file->direct=oxi_stream_handle_direct(file->plain);
oxi_reader_know_file(&stream->reader,file);*out=oxi_stream_region_new(stream,file,header_bytes,bytes);if(*out)return OX_OK;
oxi_remove_file(path);oxi_stream_file_release(stream,file);return OX_ERR_NOMEM;}
/* >>stream/file/reader.c */
static uint64_t oxi_request_begin(const oxi_stream_request*r){return r->direct?r->offset/OXI_STREAM_PAGE*OXI_STREAM_PAGE:r->offset;}
static size_t oxi_request_need(const oxi_stream_request*r){return(size_t)(r->offset-oxi_request_begin(r))+r->bytes;}
static void oxi_request_make_plain(oxi_stream_request*r){size_t lead=(size_t)(r->offset-oxi_request_begin(r));
r->done=r->done>lead?r->done-lead:0;
r->direct=false;}
typedef struct oxi_stream_transfer{intptr_t handle;int slot;uint64_t offset;size_t bytes;char*memory;}oxi_stream_transfer;
static bool oxi_request_next(oxi_stream_reader*reader,oxi_stream_request*r,oxi_stream_transfer*out,int64_t*result){
uint64_t begin=oxi_request_begin(r);size_t end=oxi_request_need(r);
if(r->direct)end=(end+OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
out->handle=r->direct?r->file->direct:r->file->plain;out->slot=r->file->slot[r->direct];out->offset=begin+r->done;
out->bytes=end-r->done;
out->memory=r->memory-(size_t)(r->offset-begin)+r->done;
if(!reader->fault)return true;
*result=reader->fault(reader->fault_user,oxi_atomic_add(&reader->fault_number,1),(int64_t)out->bytes);if(*result<=0)return false;
if((size_t)*result<out->bytes)out->bytes=(size_t)*result;
if(!r->direct)return true;
out->bytes-=out->bytes%OXI_STREAM_PAGE;if(out->bytes>0)return true;
oxi_request_make_plain(r);*result=-EINTR;return false;}
static void oxi_request_moved(oxi_stream_request*r,size_t bytes){size_t before=r->done;
r->done+=bytes;
if(r->done>=oxi_request_need(r)||!r->direct||r->done%OXI_STREAM_PAGE==0)return;
size_t whole=r->done-r->done%OXI_STREAM_PAGE;
if(whole>before)
r->done=whole;
else
oxi_request_make_plain(r);}
static bool oxi_request_is_over(oxi_stream_reader*reader,oxi_stream_request*r,int64_t result){enum{RETRIES_MOST=256};if(result>0){
oxi_atomic_add(&reader->progress,1);oxi_request_moved(r,(size_t)result);return r->done>=oxi_request_need(r);}
if(result==0){r->cause=r->write?ENOSPC:OXI_STREAM_ENDED;
return true;}
int cause=(int)-result;bool again=cause==EINTR||cause==EAGAIN;int64_t progress=oxi_atomic_load(&reader->progress);
if(progress!=r->progress)r->retries=0;
r->progress=progress;if(again&&r->retries++<RETRIES_MOST)return false;
r->retries=0;if(r->direct){oxi_request_make_plain(r);
return false;}
r->cause=cause;return true;}
static bool oxi_request_advance(oxi_stream_reader*reader,oxi_stream_request*r,int64_t result){
bool over=oxi_request_is_over(reader,r,result);if(over)r->end=oxi_now();
return over;}
OXI_UNUSED static void oxi_request_execute(oxi_stream_reader*reader,oxi_stream_request*r){oxi_stream_transfer t;int64_t result=0;do{
if(oxi_request_next(reader,r,&t,&result))
result=oxi_stream_handle_move(t.handle,r->write,t.memory,t.bytes,t.offset);}while(!oxi_request_advance(reader,r,result));}
static void oxi_queue_put(oxi_stream_queue*queue,oxi_stream_request*r){r->next=NULL;if(queue->last)
queue->last->next=r;
else
queue->first=r;
queue->last=r;}
static void oxi_queue_push(oxi_stream_queue*queue,oxi_stream_request*r){r->next=queue->first;queue->first=r;
if(!queue->last)queue->last=r;}
static oxi_stream_request*oxi_queue_take(oxi_stream_queue*queue){oxi_stream_request*r=queue->first;if(!r)return NULL;
queue->first=r->next;if(!queue->first)queue->last=NULL;
return r;}
#ifndef OX_NO_THREADS
static void oxi_stream_worker(oxi_stream_reader*reader){oxi_mutex_take(&reader->mutex);
for(;;){oxi_stream_request*r=oxi_queue_take(&reader->waiting);
if(r){oxi_mutex_give(&reader->mutex);
oxi_request_execute(reader,r);oxi_mutex_take(&reader->mutex);oxi_queue_put(&reader->finished,r);oxi_condition_wake(&reader->ready);
}else if(reader->stopping){break;}else{oxi_condition_wait(&reader->work,&reader->mutex);}}
oxi_mutex_give(&reader->mutex);}
#if defined(_WIN32)
static DWORD WINAPI oxi_stream_worker_main(LPVOID reader){oxi_stream_worker((oxi_stream_reader*)reader);
return 0;}
static bool oxi_stream_thread_start(oxi_thread*out,oxi_stream_reader*reader){
*out=CreateThread(NULL,(SIZE_T)256<<10,oxi_stream_worker_main,reader,0,NULL);return*out!=NULL;}
#else
static void*oxi_stream_worker_main(void*reader){oxi_stream_worker((oxi_stream_reader*)reader);
return NULL;}
static bool oxi_stream_thread_start(oxi_thread*out,oxi_stream_reader*reader){
return pthread_create(out,NULL,oxi_stream_worker_main,reader)==0;}
#endif
static void oxi_stream_start_threads(oxi_stream_reader*reader){static const oxi_mutex open_mutex=OXI_MUTEX_OPEN;
static const oxi_condition new_condition=OXI_CONDITION_NEW;reader->mutex=open_mutex;reader->work=reader->ready=new_condition;
int want=reader->most<OXI_STREAM_THREADS_MOST?reader->most:OXI_STREAM_THREADS_MOST;while(reader->thread_count<want&&
oxi_stream_thread_start(&reader->threads[reader->thread_count],reader))
reader->thread_count++;}
static void oxi_stream_stop_threads(oxi_stream_reader*reader){oxi_mutex_take(&reader->mutex);reader->stopping=true;
oxi_condition_wake_all(&reader->work);oxi_mutex_give(&reader->mutex);
for(int i=0;i<reader->thread_count;i++)oxi_thread_join(reader->threads[i]);
reader->thread_count=0;}
#endif
OXI_UNUSED static void oxi_reader_go_on(oxi_stream_reader*reader){oxi_stream_request*r;
#ifndef OX_NO_THREADS
oxi_stream_start_threads(reader);
if(reader->thread_count>0)return;
#endif
while((r=oxi_queue_take(&reader->waiting))){oxi_request_execute(reader,r);
oxi_queue_put(&reader->finished,r);}}
#ifdef OX_USE_LIBURING
static void oxi_uring_prepare(const oxi_stream_reader*reader,struct io_uring_sqe*entry,bool write,const oxi_stream_transfer*t){
bool known=reader->buffer&&t->memory>=reader->buffer&&t->memory+t->bytes<=reader->buffer+reader->buffer_bytes;
int handle=t->slot>=0?t->slot:(int)t->handle;unsigned bytes=(unsigned)t->bytes;if(write&&known)
io_uring_prep_write_fixed(entry,handle,t->memory,bytes,t->offset,0);
else if(write)
io_uring_prep_write(entry,handle,t->memory,bytes,t->offset);
else if(known)
io_uring_prep_read_fixed(entry,handle,t->memory,bytes,t->offset,0);
else
io_uring_prep_read(entry,handle,t->memory,bytes,t->offset);
if(t->slot>=0)io_uring_sqe_set_flags(entry,IOSQE_FIXED_FILE);}
static bool oxi_uring_hand_over(oxi_stream_reader*reader,unsigned wait){int result=io_uring_submit_and_wait(&reader->uring,wait);
unsigned left=io_uring_sq_ready(&reader->uring),count=0;for(oxi_stream_request*r=reader->prepared.first;r;r=r->next)count++;
for(;count>left;count--)(void)oxi_queue_take(&reader->prepared);
return result>=0||result==-EINTR||result==-EAGAIN||result==-EBUSY||result==-ENOMEM;}
static void oxi_uring_take_back(oxi_stream_reader*reader,struct io_uring_cqe*completion){
oxi_stream_request*r=(oxi_stream_request*)io_uring_cqe_get_data(completion);int64_t result=completion->res;
io_uring_cqe_seen(&reader->uring,completion);reader->in_system--;
oxi_queue_put(oxi_request_advance(reader,r,result)?&reader->finished:&reader->waiting,r);}
static void oxi_uring_leave(oxi_stream_reader*reader){struct io_uring_cqe*completion=NULL;oxi_stream_request*r;
for(;(r=oxi_queue_take(&reader->prepared));reader->in_system--)oxi_queue_put(&reader->waiting,r);
while(reader->in_system>0)
if(io_uring_peek_cqe(&reader->uring,&completion)==0)
oxi_uring_take_back(reader,completion);
else
oxi_yield();
io_uring_queue_exit(&reader->uring);reader->uses_uring=false;oxi_reader_go_on(reader);}
static void oxi_uring_feed(oxi_stream_reader*reader){bool fed=false;while(reader->waiting.first&&reader->in_system<reader->most){
oxi_stream_request*r=oxi_queue_take(&reader->waiting);oxi_stream_transfer t;int64_t result=0;if(!oxi_request_next(reader,r,&t,&result)){
oxi_queue_put(oxi_request_advance(reader,r,result)?&reader->finished:&reader->waiting,r);continue;}
struct io_uring_sqe*entry=io_uring_get_sqe(&reader->uring);oxi_uring_prepare(reader,entry,r->write,&t);io_uring_sqe_set_data(entry,r);
oxi_queue_put(&reader->prepared,r);reader->in_system++;fed=true;}
if(fed&&!oxi_uring_hand_over(reader,0))oxi_uring_leave(reader);}
static void oxi_uring_reap(oxi_stream_reader*reader,bool sleep){struct io_uring_cqe*completion=NULL;oxi_uring_feed(reader);
while(reader->uses_uring&&reader->in_system>0){bool wait=sleep&&!reader->finished.first;
if(wait&&!oxi_uring_hand_over(reader,1)){oxi_uring_leave(reader);}else if(io_uring_peek_cqe(&reader->uring,&completion)==0){
oxi_uring_take_back(reader,completion);oxi_uring_feed(reader);}else if(!wait){return;}}}
static void oxi_uring_know_handle(oxi_stream_reader*reader,intptr_t handle,int*slot){int at=0,file=(int)handle;*slot=-1;
while(at<OXI_STREAM_SLOTS&&(reader->slots_taken>>at&1))at++;
if(handle<0||at==OXI_STREAM_SLOTS)return;
if(io_uring_register_files_update(&reader->uring,(unsigned)at,&file,1)!=1)return;
reader->slots_taken|=(uint64_t)1<<at;*slot=at;}
static void oxi_uring_forget_handle(oxi_stream_reader*reader,int*slot){int none=-1;if(*slot<0||!reader->uses_uring)return;
(void)io_uring_register_files_update(&reader->uring,(unsigned)*slot,&none,1);reader->slots_taken&=~((uint64_t)1<<*slot);*slot=-1;}
static void oxi_uring_open(oxi_stream_reader*reader){int none[OXI_STREAM_SLOTS];
reader->uses_uring=io_uring_queue_init((unsigned)reader->most,&reader->uring,0)==0;for(int i=0;i<OXI_STREAM_SLOTS;i++)none[i]=-1;
if(!reader->uses_uring)return;
reader->knows_files=io_uring_register_files(&reader->uring,none,OXI_STREAM_SLOTS)==0;}
#endif
static void oxi_reader_open(oxi_stream_reader*reader,const ox_stream_desc*desc){reader->most=desc->queue;
reader->fault=desc->fault;reader->fault_user=desc->fault_user;
#ifdef OX_USE_LIBURING
if(desc->reading==OX_STREAM_BEST)oxi_uring_open(reader);
#endif
#ifndef OX_NO_THREADS
if(!reader->uses_uring)oxi_stream_start_threads(reader);
#endif
}
static void oxi_reader_close(oxi_stream_reader*reader){(void)reader;
#ifdef OX_USE_LIBURING
if(reader->uses_uring)io_uring_queue_exit(&reader->uring);
#endif
#ifndef OX_NO_THREADS
if(!reader->uses_uring)oxi_stream_stop_threads(reader);
#endif
}
static void oxi_reader_know_memory(oxi_stream_reader*reader,char*memory,size_t bytes){(void)reader,(void)memory,(void)bytes;
#ifdef OX_USE_LIBURING
struct iovec one;
if(!reader->uses_uring)return;
if(reader->buffer)(void)io_uring_unregister_buffers(&reader->uring);
reader->buffer=NULL;one.iov_base=memory;one.iov_len=bytes;
if(!memory||bytes>(size_t)1<<30||io_uring_register_buffers(&reader->uring,&one,1)!=0)return;
reader->buffer=memory;reader->buffer_bytes=bytes;
#endif
}
static void oxi_reader_know_file(oxi_stream_reader*reader,oxi_stream_file*file){(void)reader,(void)file;
#ifdef OX_USE_LIBURING
if(!reader->uses_uring||!reader->knows_files)return;
oxi_uring_know_handle(reader,file->plain,&file->slot[0]);oxi_uring_know_handle(reader,file->direct,&file->slot[1]);
#endif
}
static void oxi_reader_forget_file(oxi_stream_reader*reader,oxi_stream_file*file){(void)reader,(void)file;
#ifdef OX_USE_LIBURING
for(int i=0;i<2;i++)oxi_uring_forget_handle(reader,&file->slot[i]);
#endif
}
static void oxi_reader_submit(oxi_stream_reader*reader,oxi_stream_request*r){reader->flying++;
void(*put)(oxi_stream_queue*,oxi_stream_request*)=reader->urgent?oxi_queue_push:oxi_queue_put;
#ifdef OX_USE_LIBURING
if(reader->uses_uring){put(&reader->waiting,r);
oxi_uring_feed(reader);return;}
#endif
#ifndef OX_NO_THREADS
if(reader->thread_count>0){oxi_mutex_take(&reader->mutex);
put(&reader->waiting,r);oxi_condition_wake(&reader->work);oxi_mutex_give(&reader->mutex);return;}
#endif
(void)put;
oxi_request_execute(reader,r);oxi_queue_put(&reader->finished,r);}
static oxi_stream_request*oxi_reader_take(oxi_stream_reader*reader,bool sleep){oxi_stream_request*r;if(reader->flying==0)return NULL;
#ifdef OX_USE_LIBURING
if(reader->uses_uring&&!reader->finished.first)oxi_uring_reap(reader,sleep);
#endif
#ifndef OX_NO_THREADS
if(reader->thread_count>0){oxi_mutex_take(&reader->mutex);
while(!reader->finished.first&&sleep)oxi_condition_wait(&reader->ready,&reader->mutex);
r=oxi_queue_take(&reader->finished);oxi_mutex_give(&reader->mutex);reader->flying-=r!=NULL;return r;}
#endif
(void)sleep;
r=oxi_queue_take(&reader->finished);reader->flying-=r!=NULL;return r;}
/* >>stream/ring/range_cache.c */
enum{OXI_SLAB_BYTES=64<<20,OXI_KEPT_PATIENCE=8};
static oxi_stream_range**oxi_range_bucket(ox_stream*stream,const oxi_stream_file*file,uint64_t offset){
uint64_t hash=(offset^(uint64_t)(uintptr_t)file)*0x9E3779B97F4A7C15u;return&stream->buckets[hash>>52];}
static oxi_stream_range*oxi_range_find(ox_stream*stream,oxi_stream_file*file,uint64_t offset,size_t bytes){
oxi_stream_range*range=*oxi_range_bucket(stream,file,offset);
while(range&&(range->file!=file||range->offset!=offset||range->bytes!=bytes))
range=range->chain;
return range;}
static oxi_stream_range*oxi_range_of(ox_stream*stream,oxi_stream_file*file,uint64_t offset,size_t bytes){
oxi_stream_range*range=oxi_range_find(stream,file,offset,bytes);if(range||stream->range_count>=OXI_STREAM_RANGES_MOST)return range;
range=(oxi_stream_range*)oxi_try_alloc(sizeof*range);if(!range)return NULL;
oxi_stream_range**bucket=oxi_range_bucket(stream,file,offset);memset(range,0,sizeof*range);range->file=file;range->offset=offset;
range->bytes=bytes;range->chain=*bucket;*bucket=range;stream->range_count++;return range;}
static void oxi_range_touch(ox_stream*stream,oxi_stream_range*range){if(stream->last)stream->last->successor=range;
stream->last=range;stream->past[stream->past_count++%OXI_STREAM_PAST]=range;stream->clock+=range->bytes;range->used_at=stream->clock;
if(range->slab)range->slab->used_at=stream->clock;}
static size_t oxi_budget_left(ox_stream*stream,size_t wanted){ox_memory_stats now=ox_memory_get_stats();
size_t held=now.bytes_in_use+now.bytes_cached,budget=stream->desc.ram_bytes;size_t limit=stream->base_bytes+budget-budget/16;
bool full=held>=limit||limit-held<wanted;bool helps=now.bytes_in_use<limit&&limit-now.bytes_in_use>=wanted;
if(full&&(helps||held>=limit)&&now.bytes_cached>0){ox_trim();
held=ox_memory_get_stats().bytes_in_use;}
return held<limit?limit-held:0;}
static bool oxi_range_is_idle(const oxi_stream_range*range){return range->users==0&&range->load.pending==0;}
static void oxi_range_drop(oxi_stream_range*range){range->memory=NULL;range->slab=NULL;range->guessed=false;}
static bool oxi_slab_free(ox_stream*stream,oxi_stream_slab*slab){for(int pass=0;pass<2;pass++)
for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range*range=stream->buckets[i];range;range=range->chain){if(range->slab!=slab)continue;
if(pass==0&&!oxi_range_is_idle(range))return false;
if(pass==1)oxi_range_drop(range);}
for(oxi_stream_slab**link=&stream->slabs;*link;link=&(*link)->next)
if(*link==slab){*link=slab->next;
break;}
stream->slab_bytes-=slab->bytes;oxi_free(slab->block,slab->bytes);oxi_free(slab,sizeof*slab);ox_trim();return true;}
static void oxi_capacitor_yield(ox_stream*stream,size_t wanted){while(stream->slabs&&oxi_budget_left(stream,wanted)<wanted)
if(!oxi_slab_free(stream,stream->slabs))return;}
static void oxi_slab_touch_some(void*arg,int64_t index,int lane){const oxi_stream_slab*slab=(const oxi_stream_slab*)arg;
size_t at=slab->touched+(size_t)index*OXI_HUGE_PAGE,end=at+OXI_HUGE_PAGE;if(end>slab->bytes)end=slab->bytes;
(void)lane;for(;at<end;at+=OXI_STREAM_PAGE)*(volatile char*)(slab->block+at)=0;}
static void oxi_slab_touch(oxi_stream_slab*slab,size_t end){if(end<=slab->touched)return;
size_t pages=(end-slab->touched+OXI_HUGE_PAGE-1)/OXI_HUGE_PAGE;oxi_parallel_for((int64_t)pages,oxi_slab_touch_some,slab);
slab->touched+=pages*OXI_HUGE_PAGE;}
static oxi_stream_slab*oxi_slab_new(ox_stream*stream,size_t need){size_t left=oxi_budget_left(stream,need),bytes=OXI_SLAB_BYTES;
if(bytes>left/2)bytes=left/2/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
bytes=bytes<need?need:bytes/need*need;if(bytes>left)return NULL;
oxi_stream_slab*slab=(oxi_stream_slab*)oxi_try_alloc(sizeof*slab);if(!slab)return NULL;
slab->block=(char*)oxi_try_alloc(bytes);if(!slab->block){oxi_free(slab,sizeof*slab);
return NULL;}
slab->bytes=bytes;slab->used=slab->touched=0;slab->used_at=stream->clock;slab->next=stream->slabs;stream->slabs=slab;
stream->slab_bytes+=bytes;return slab;}
static oxi_stream_slab*oxi_slab_with_room(ox_stream*stream,size_t need){
uint64_t patience=(uint64_t)OXI_KEPT_PATIENCE*stream->desc.ram_bytes;for(oxi_stream_slab*slab=stream->slabs;slab;slab=slab->next)
if(slab->bytes-slab->used>=need)return slab;
oxi_stream_slab*fresh=oxi_slab_new(stream,need);for(oxi_stream_slab*slab=stream->slabs,*next;slab&&!fresh;slab=next){next=slab->next;
if(stream->clock-slab->used_at>patience&&oxi_slab_free(stream,slab))
fresh=oxi_slab_new(stream,need);}
return fresh;}
static bool oxi_capacitor_accept(ox_stream*stream,oxi_stream_range*range){if(stream->desc.forgetful)return false;
oxi_stream_slab*slab=oxi_slab_with_room(stream,range->bytes+3*OXI_STREAM_PAGE);if(!slab)return false;
uintptr_t at=(uintptr_t)slab->block+slab->used;at=(at+OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
range->memory=(char*)at+range->offset%OXI_STREAM_PAGE;range->slab=slab;at=(uintptr_t)range->memory+range->bytes;
at=(at+OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;slab->used=(size_t)(at-(uintptr_t)slab->block);oxi_slab_touch(slab,slab->used);
return true;}
static bool oxi_slab_is_empty(ox_stream*stream,const oxi_stream_slab*slab){for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range*range=stream->buckets[i];range;range=range->chain)
if(range->slab==slab)return false;
return true;}
static void oxi_capacitor_forget_file(ox_stream*stream,const oxi_stream_file*file){for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range*range=stream->buckets[i];range;range=range->chain)
if(range->successor&&(!file||range->successor->file==file))range->successor=NULL;
if(stream->last&&(!file||stream->last->file==file))stream->last=NULL;
stream->past_count=0;for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(oxi_stream_range**link=&stream->buckets[i];*link;){oxi_stream_range*range=*link;
if(file&&range->file!=file){link=&range->chain;
continue;}
*link=range->chain;stream->range_count--;oxi_free(range,sizeof*range);}
for(oxi_stream_slab*slab=stream->slabs,*next;slab;slab=next){next=slab->next;
if(oxi_slab_is_empty(stream,slab))(void)oxi_slab_free(stream,slab);}}
static void oxi_capacitor_close(ox_stream*stream){oxi_capacitor_forget_file(stream,NULL);}
/* >>stream/file/checksum.c */
static uint64_t oxi_sum_of(const char*data,size_t bytes){const uint64_t odd=0x9E3779B97F4A7C15u;uint64_t sum[4]={1,2,3,4},word;
size_t at=0;for(;at+32<=bytes;at+=32)
for(int i=0;i<4;i++){memcpy(&word,data+at+8*(size_t)i,8);
sum[i]=((sum[i]<<29|sum[i]>>35)^word)*odd;}
for(;at<bytes;at++){uint64_t*one=&sum[at%4];
*one=((*one<<29|*one>>35)^(uint8_t)data[at])*odd;}
return sum[0]^sum[1]*odd^(sum[2]<<17|sum[2]>>47)^sum[3]*(odd<<1|1)^bytes;}
static ox_status oxi_sum_fail(const oxi_stream_file*file,uint64_t offset,size_t bytes,const char*what){
return oxi_fail(OX_ERR_IO,"%s: offset %llu: %llu bytes are not those that were %s",
oxi_path_text(file->path),(unsigned long long)offset,(unsigned long long)bytes,what);}
typedef bool(*oxi_page_fn)(uint32_t*known,const char*data,size_t bytes);
static bool oxi_region_visit(const oxi_stream_region*region,uint64_t from,const char*data,size_t bytes,oxi_page_fn visit,uint64_t*at){
uint64_t end=from+bytes,page=from/OXI_STREAM_PAGE;for(;page*OXI_STREAM_PAGE<end;page++){
uint64_t first=page*OXI_STREAM_PAGE,last=first+OXI_STREAM_PAGE;if(last>region->bytes)last=region->bytes;
bool whole=first>=from&&last<=end;*at=first;if(!visit(&region->sums[page],whole?data+(first-from):NULL,(size_t)(last-first)))
return false;}
return true;}
static uint32_t oxi_page_sum(const char*data,size_t bytes){uint64_t sum=oxi_sum_of(data,bytes);uint32_t folded=(uint32_t)(sum^sum>>32);
return folded?folded:1;}
static bool oxi_page_note(uint32_t*known,const char*data,size_t bytes){*known=data?oxi_page_sum(data,bytes):0;return true;}
static bool oxi_page_check(uint32_t*known,const char*data,size_t bytes){return!data||*known==0||*known==oxi_page_sum(data,bytes);}
static void oxi_region_note(const oxi_stream_region*region,uint64_t from,const char*data,size_t bytes){uint64_t at;
if(region->sums)(void)oxi_region_visit(region,from,data,bytes,oxi_page_note,&at);}
static ox_status oxi_region_check(const oxi_stream_region*region,uint64_t from,const char*data,size_t bytes){uint64_t at;
if(!region->sums||oxi_region_visit(region,from,data,bytes,oxi_page_check,&at))return OX_OK;
return oxi_sum_fail(region->file,region->offset+at,OXI_STREAM_PAGE,"written here");}
static ox_status oxi_range_check(ox_stream*stream,const oxi_stream_source*source){
oxi_stream_range*range=source->range?source->range:source->cell?source->cell->range:NULL;if(!stream->desc.checksums||!range)return OX_OK;
bool*checked=source->range?&range->checked:&source->cell->checked;if(*checked)return OX_OK;
uint64_t sum=oxi_sum_of(source->data,range->bytes);if(range->has_sum&&range->sum!=sum){if(source->range)range->load.cause=EIO;
return oxi_sum_fail(range->file,range->offset,range->bytes,"read here before");}
range->sum=sum;range->has_sum=*checked=true;return OX_OK;}
/* >>stream/ring/guess_next.c */
enum{OXI_CONTEXT_LEAST=2,OXI_CONTEXT_MOST=32};static oxi_stream_range*oxi_past_at(const ox_stream*stream,int64_t index){
return stream->past[index%OXI_STREAM_PAST];}
static int oxi_past_context(const ox_stream*stream,int64_t a,int64_t b,int64_t first){int count=0;
for(;count<OXI_CONTEXT_MOST&&a>=first;count++,a--,b--){const oxi_stream_range*x=oxi_past_at(stream,a),*y=oxi_past_at(stream,b);
if(x->file!=y->file||x->bytes!=y->bytes)break;
if(count==0)continue;
const oxi_stream_range*x_next=oxi_past_at(stream,a+1),*y_next=oxi_past_at(stream,b+1);
if(x_next->offset-x->offset!=y_next->offset-y->offset)break;}
return count;}
static int64_t oxi_past_twin(const ox_stream*stream){
int64_t last=stream->past_count-1,first=last<OXI_STREAM_PAST?0:last-OXI_STREAM_PAST+1;int64_t twin=-1;int most=OXI_CONTEXT_LEAST-1;
for(int64_t i=last-1;i>=first&&most<OXI_CONTEXT_MOST;i--){int context=oxi_past_context(stream,i,last,first);
if(context<=most)continue;
most=context;twin=i;}
return twin;}
static bool oxi_region_holds(const oxi_stream_region*region,uint64_t offset,size_t bytes){
return offset>=region->offset&&offset-region->offset<=region->bytes&&bytes<=region->bytes-(size_t)(offset-region->offset);}
static bool oxi_range_may_follow(const oxi_stream_range*known,uint64_t shift){uint64_t offset=known->offset+shift;
for(const oxi_stream_region*from=known->file->regions;from;from=from->next){
if(!oxi_region_holds(from,known->offset,known->bytes))continue;
if(oxi_region_holds(from,offset,known->bytes))return true;
for(const oxi_stream_region*to=known->file->regions;to;to=to->next)
if(to->bytes==from->bytes&&to->offset==from->offset+shift)return true;}
return false;}
static int oxi_predict_reads(ox_stream*stream,oxi_stream_range**out,int most){
int64_t last=stream->past_count-1,twin=oxi_past_twin(stream);if(twin<0)return 0;
int count=0,period=(int)(last-twin);uint64_t shift=oxi_past_at(stream,last)->offset-oxi_past_at(stream,twin)->offset;while(count<most){
oxi_stream_range*known=count<period?oxi_past_at(stream,twin+1 +count):out[count-period];
if(shift==0||known->file!=stream->last->file||!oxi_range_may_follow(known,shift))break;
out[count]=oxi_range_of(stream,known->file,known->offset+shift,known->bytes);if(!out[count])break;
out[count++]->far=known->far;}
return count;}
/* >>stream/ring/ring.c */
enum{OXI_REQUEST_BLOCK=64};typedef struct oxi_request_block{struct oxi_request_block*next;oxi_stream_request request[OXI_REQUEST_BLOCK];
}oxi_request_block;static oxi_stream_request*oxi_request_new(ox_stream*stream){if(!stream->free_requests){
oxi_request_block*block=(oxi_request_block*)oxi_try_alloc(sizeof*block);if(!block)return NULL;
block->next=(oxi_request_block*)stream->request_blocks;stream->request_blocks=block;for(int i=0;i<OXI_REQUEST_BLOCK;i++){
block->request[i].next=stream->free_requests;stream->free_requests=&block->request[i];}}
oxi_stream_request*r=stream->free_requests;stream->free_requests=r->next;memset(r,0,sizeof*r);return r;}
static void oxi_load_fail(oxi_stream_load*load,int cause,uint64_t at){if(load->cause!=0)return;
load->cause=cause;load->failed_at=at;}
static void oxi_pace_note(ox_stream*stream,const oxi_stream_request*r,double waited){oxi_stream_pace*pace=&stream->pace;
double took=r->end-r->start;
if(pace->settled||r->write||r->cause!=0||r->bytes<OXI_STREAM_PIECE/2)return;
if(r->alone&&(pace->latency==0||took<pace->latency))pace->latency=took;
pace->bytes+=(int64_t)r->bytes;pace->seconds+=waited;}
static bool oxi_ring_deliver(ox_stream*stream,bool sleep){double start=sleep?oxi_now():0;
oxi_stream_request*r=oxi_reader_take(&stream->reader,sleep);double now=oxi_now();
if(sleep)stream->stats.stall_seconds+=now-start;
if(sleep)oxi_profile_span(OXI_PROFILE_RING,start,now,0);
if(!r)return false;
oxi_profile_span(OXI_PROFILE_DISK,r->start,r->end,(double)r->bytes);
if(sleep)oxi_pace_note(stream,r,now-start);
if(r->cause!=0)
oxi_load_fail(r->load,r->cause,oxi_request_begin(r)+r->done);
else
*(r->write?&stream->stats.written_bytes:&stream->stats.disk_bytes)+=(int64_t)r->bytes;
if(r->end>r->load->end)r->load->end=r->end;
r->load->pending--;r->next=stream->free_requests;stream->free_requests=r;return true;}
static void oxi_ring_wait_for(ox_stream*stream,const oxi_stream_load*load){while(load->pending>0&&oxi_ring_deliver(stream,true)){}}
static void oxi_ring_quiet(ox_stream*stream){while(stream->reader.flying>0&&oxi_ring_deliver(stream,true)){}}
static void oxi_ring_pieces(ox_stream*stream,oxi_stream_load*load,oxi_stream_file*file,uint64_t offset,
size_t bytes,char*memory,bool write,bool direct){while(bytes>0){size_t part=OXI_STREAM_PIECE-(direct?(size_t)(offset%OXI_STREAM_PAGE):0);
oxi_stream_request*r=oxi_request_new(stream);if(!r){oxi_load_fail(load,ENOMEM,offset);
return;}
if(part>bytes)part=bytes;
r->load=load;r->file=file;r->offset=offset;r->bytes=part;r->memory=memory;r->write=write;r->direct=direct;r->start=oxi_now();
r->alone=stream->reader.flying==0;load->pending++;oxi_reader_submit(&stream->reader,r);offset+=part;memory+=part;bytes-=part;}}
static void oxi_ring_request(ox_stream*stream,oxi_stream_load*load,oxi_stream_file*file,uint64_t offset,
size_t bytes,char*memory,bool write,bool direct){size_t lead=(size_t)((0 -offset)%OXI_STREAM_PAGE),whole;
if(write&&direct){if(lead>bytes)lead=bytes;
whole=(bytes-lead)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;oxi_ring_pieces(stream,load,file,offset,lead,memory,true,false);
oxi_ring_pieces(stream,load,file,offset+lead,whole,memory+lead,true,true);offset+=lead+whole;memory+=lead+whole;bytes-=lead+whole;
direct=false;}
oxi_ring_pieces(stream,load,file,offset,bytes,memory,write,direct);}
static ox_status oxi_ring_fail(const oxi_stream_load*load,const oxi_stream_file*file){const char*path=oxi_path_text(file->path);
unsigned long long at=(unsigned long long)load->failed_at;if(load->cause==OXI_STREAM_ENDED)
return oxi_fail(OX_ERR_IO,"%s: offset %llu: the file ends here; it became shorter",path,at);
if(load->cause==ENOMEM)return oxi_fail(OX_ERR_NOMEM,"%s: offset %llu: no memory",path,at);
return oxi_fail(OX_ERR_IO,"%s: offset %llu: %s",path,at,strerror(load->cause));}
static void oxi_ring_free_cells(ox_stream*stream){oxi_ring_quiet(stream);oxi_reader_know_memory(&stream->reader,NULL,0);
oxi_unpin_memory(&stream->ring_pin);oxi_free(stream->cells,(size_t)stream->cell_record_room*sizeof*stream->cells);
oxi_free(stream->ring_block,stream->ring_block_bytes);stream->cells=NULL;stream->ring_block=NULL;stream->ring_block_bytes=0;
stream->cell_count=stream->cell_record_room=0;}
static ox_status oxi_ring_make_cells(ox_stream*stream,int count,size_t bytes){
size_t room=(bytes+3*OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE,all=0;oxi_ring_free_cells(stream);
if(!oxi_mul_size(room,(size_t)count,&all)||all>SIZE_MAX/4)return OX_ERR_NOMEM;
stream->cell_record_room=count;stream->ring_block_bytes=all+OXI_STREAM_PAGE;
stream->cells=(oxi_stream_cell*)oxi_calloc((size_t)count,sizeof*stream->cells);
stream->ring_block=stream->cells?(char*)oxi_alloc(stream->ring_block_bytes):NULL;if(!stream->ring_block){stream->ring_block_bytes=0;
oxi_ring_free_cells(stream);return OX_ERR_NOMEM;}
uintptr_t start=((uintptr_t)stream->ring_block+OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE;for(int i=0;i<count;i++)
stream->cells[i].memory=(char*)(start*OXI_STREAM_PAGE)+(size_t)i*room;
stream->cell_room=room;stream->cell_count=count;oxi_reader_know_memory(&stream->reader,stream->ring_block,stream->ring_block_bytes);
return OX_OK;}
static void oxi_ring_pin(ox_stream*stream,oxi_stream_flow*flow){oxi_pinned_memory*pin=&stream->ring_pin;
size_t bytes=(size_t)stream->cell_count*stream->cell_room;char*cells=stream->cells[0].memory;if(pin->device!=flow->device){
oxi_unpin_memory(pin);(void)oxi_pin_memory(flow->device,cells,bytes,pin);}
flow->pinned=pin->handle?cells:NULL;flow->pinned_bytes=bytes;}
static ox_status oxi_ring_open(ox_stream*stream){size_t bytes=stream->desc.tile_bytes-2*OXI_STREAM_PAGE;
return oxi_ring_make_cells(stream,2*stream->desc.depth,bytes);}
static ox_status oxi_ring_fit(ox_stream*stream,const oxi_stream_flow*flow){
size_t usual=stream->desc.tile_bytes,room=flow->cell_bytes+2*OXI_STREAM_PAGE,all=0;
bool fits=stream->cell_room>=room&&stream->cell_count>=flow->cells;if(fits&&(stream->cell_room<=usual||room>usual))return OX_OK;
int count=flow->cells;if(room<=usual){if(count<2*stream->desc.depth)count=2*stream->desc.depth;
room=usual;}
if(!oxi_mul_size(room,(size_t)count,&all)||all>stream->desc.ram_bytes)
return oxi_fail(OX_ERR_NOMEM,"%llu bytes cannot be cut into tiles, and the stream's RAM budget is %llu",
(unsigned long long)all,(unsigned long long)stream->desc.ram_bytes);
oxi_ring_free_cells(stream);oxi_capacitor_yield(stream,all);return oxi_ring_make_cells(stream,count,room-2*OXI_STREAM_PAGE);}
static ox_status oxi_ring_settle(ox_stream*stream){enum{TILES=2};const double tile_seconds=0.016;
const size_t page=OXI_STREAM_PAGE,mib=(size_t)1<<20;oxi_stream_pace*pace=&stream->pace;ox_stream_desc*desc=&stream->desc;
if(pace->settled||pace->bytes<(int64_t)(TILES*desc->tile_bytes))return OX_OK;
oxi_ring_forget(stream);pace->settled=true;pace->bandwidth=(double)pace->bytes/(pace->seconds>1e-6?pace->seconds:1e-6);
if(!pace->sets_tile&&!pace->sets_depth)return OX_OK;
double seconds=2*pace->latency>tile_seconds?2*pace->latency:tile_seconds;
size_t ring=desc->ram_bytes/32*3>64*mib?desc->ram_bytes/32*3:64*mib;if(ring>desc->ram_bytes/3)ring=desc->ram_bytes/3;
double wanted=pace->bandwidth*seconds,most=(double)(ring/(2*OXI_STREAM_LEAST_DEPTH));
if(wanted>16.0*(double)mib)wanted=16.0*(double)mib;
if(wanted<4.0*(double)mib)wanted=4.0*(double)mib;
if(wanted>most)wanted=most;
size_t tile=pace->sets_tile?((size_t)wanted+page-1)/page*page:desc->tile_bytes;
if(tile<4*page||(tile>desc->tile_bytes/4*3&&tile<desc->tile_bytes/3*4))
tile=desc->tile_bytes;
int depth=2 +(int)(2*pace->bandwidth*pace->latency/(double)tile);
if(depth<OXI_STREAM_LEAST_DEPTH+1)depth=OXI_STREAM_LEAST_DEPTH+1;
while(depth>OXI_STREAM_LEAST_DEPTH&&(depth>OXI_STREAM_WINDOW||2*(size_t)depth*tile>ring))
depth--;
if(pace->sets_depth)desc->depth=depth;
if(tile!=desc->tile_bytes)oxi_capacitor_forget_file(stream,NULL);
desc->tile_bytes=tile;oxi_ring_free_cells(stream);oxi_capacitor_yield(stream,2*(size_t)desc->depth*tile);return oxi_ring_open(stream);}
static void oxi_ring_forget(ox_stream*stream){oxi_ring_quiet(stream);for(int i=0;i<stream->cell_count;i++){stream->cells[i].range=NULL;
stream->cells[i].guessed=false;}}
static bool oxi_cell_is_idle(const oxi_stream_cell*cell){return cell->users==0&&cell->load.pending==0;}
static oxi_stream_cell*oxi_ring_idle_cell(ox_stream*stream,bool empty){oxi_stream_cell*found=NULL;for(int i=0;i<stream->cell_count;i++){
oxi_stream_cell*cell=&stream->cells[i];if(!oxi_cell_is_idle(cell))continue;
if(!cell->range)return cell;
if(!empty)found=cell;}
return found;}
static oxi_stream_cell*oxi_ring_cell_of(ox_stream*stream,const oxi_stream_range*range){for(int i=0;i<stream->cell_count;i++){
oxi_stream_cell*cell=&stream->cells[i];if(cell->range==range&&cell->load.cause==0)return cell;}
return NULL;}
static void oxi_cell_settle(ox_stream*stream,oxi_stream_cell*cell){if(cell->storing&&cell->load.cause!=0)
oxi_load_fail(&stream->stores,cell->load.cause,cell->load.failed_at);
cell->storing=false;cell->load.cause=0;}
static oxi_stream_cell*oxi_ring_take_cell(ox_stream*stream,bool must){oxi_stream_cell*cell;
while(!(cell=oxi_ring_idle_cell(stream,false)))
if(!must||!oxi_ring_deliver(stream,true))return NULL;
oxi_cell_settle(stream,cell);cell->range=NULL;cell->guessed=false;return cell;}
static bool oxi_range_may_be_kept(const oxi_stream_range*range){return range->used_at>0||!range->far;}
static void oxi_ring_read(ox_stream*stream,const oxi_stream_range*range,oxi_stream_load*load,char*memory){load->cause=0;
load->flow=stream->flow;oxi_ring_request(stream,load,range->file,range->offset,range->bytes,memory,false,range->file->direct>=0);}
static bool oxi_ring_keep(ox_stream*stream,oxi_stream_range*range){
if(!oxi_range_may_be_kept(range)||!oxi_range_is_idle(range))return false;
if(!oxi_capacitor_accept(stream,range))return false;
range->checked=false;oxi_ring_read(stream,range,&range->load,range->memory);return true;}
static void oxi_ring_fill(ox_stream*stream,oxi_stream_range*range,oxi_stream_cell*cell){oxi_cell_settle(stream,cell);cell->range=range;
cell->checked=cell->guessed=false;oxi_ring_read(stream,range,&cell->load,cell->memory+range->offset%OXI_STREAM_PAGE);}
static bool oxi_ring_get(ox_stream*stream,oxi_stream_range*range,oxi_stream_source*source,bool must){
range->far=source->region->bytes>stream->desc.ram_bytes;
if(range->memory&&range->load.cause!=0&&oxi_range_is_idle(range))oxi_range_drop(range);
oxi_stream_cell*cell=range->memory?NULL:oxi_ring_cell_of(stream,range);if(range->memory){
if(!range->guessed)stream->stats.ram_bytes+=(int64_t)range->bytes;
range->guessed=false;}else if(!cell&&!oxi_ring_keep(stream,range)){cell=oxi_ring_take_cell(stream,must);
if(!cell)return false;
oxi_ring_fill(stream,range,cell);}
oxi_range_touch(stream,range);if(cell)cell->guessed=false;
if(range->memory){source->range=range;
source->data=range->memory;range->users++;}else{source->cell=cell;
source->data=cell->memory+range->offset%OXI_STREAM_PAGE;cell->users++;}
return true;}
static bool oxi_ring_read_ahead(ox_stream*stream,oxi_stream_range*range){if(range->memory||oxi_ring_cell_of(stream,range))return true;
if(oxi_ring_keep(stream,range)){range->guessed=true;}else{oxi_stream_cell*cell=oxi_ring_idle_cell(stream,true);
if(!cell||cell->range||range->bytes+2*OXI_STREAM_PAGE>stream->cell_room)return false;
oxi_ring_fill(stream,range,cell);cell->guessed=true;}
stream->stats.guesses++;return true;}
static void oxi_ring_guess(ox_stream*stream){enum{HOPS_MOST=1<<14};oxi_stream_range*range=stream->last,*likely[OXI_STREAM_WINDOW];
if(range&&!range->successor){int count=oxi_predict_reads(stream,likely,stream->desc.depth);
for(int i=0;i<count&&oxi_ring_read_ahead(stream,likely[i]);i++){}
return;}
for(int hop=0;range&&hop<HOPS_MOST;hop++){range=range->successor;
if(!range||range==stream->last||!oxi_ring_read_ahead(stream,range))return;}}
static int64_t oxi_ring_ahead(const ox_stream*stream){int64_t bytes=0;for(int i=0;i<stream->cell_count;i++)
if(stream->cells[i].guessed&&stream->cells[i].load.pending==0)
bytes+=(int64_t)stream->cells[i].range->bytes;
for(int i=0;i<OXI_STREAM_BUCKETS;i++)
for(const oxi_stream_range*range=stream->buckets[i];range;range=range->chain)
if(range->guessed&&range->load.pending==0)bytes+=(int64_t)range->bytes;
return bytes;}
static oxi_stream_load*oxi_source_load(const oxi_stream_source*source){
return source->range?&source->range->load:source->cell?&source->cell->load:NULL;}
static void oxi_source_release(oxi_stream_source*source){if(source->range)source->range->users--;
if(source->cell){source->cell->users--;
if(source->cell->users==0&&source->cell->load.pending==0)source->cell->range=NULL;}
source->range=NULL;source->cell=NULL;}
static void oxi_step_release(oxi_stream_step*step){for(int i=0;i<OXI_STREAM_OPERANDS;i++)oxi_source_release(&step->source[i]);}
static bool oxi_same_source(const oxi_stream_source*a,const oxi_stream_source*b){const oxi_stream_layout*x=&a->layout,*y=&b->layout;
return a->use==OXI_STREAM_LOAD&&b->use==OXI_STREAM_LOAD&&a->region==b->region&&b->data&&
x->first==y->first&&x->bytes==y->bytes&&x->run==y->run&&x->loops==y->loops&&
memcmp(x->count,y->count,sizeof x->count)==0&&memcmp(x->step,y->step,sizeof x->step)==0;}
typedef void(*oxi_run_fn)(void*user,uint64_t from,size_t at,size_t bytes);
static void oxi_layout_runs(const oxi_stream_layout*layout,oxi_run_fn visit,void*user){int64_t index[OX_MAX_DIMS]={0};
uint64_t from=layout->first;size_t at=0;for(;;){visit(user,from,at,layout->run);
at+=layout->run;int d=layout->loops-1;for(;d>=0;d--){from+=(uint64_t)layout->step[d];
if(++index[d]<layout->count[d])break;
from-=(uint64_t)(layout->step[d]*layout->count[d]);index[d]=0;}
if(d<0)return;}}
typedef struct oxi_source_pages{const oxi_stream_source*source;ox_status status;}oxi_source_pages;
static void oxi_run_note(void*user,uint64_t from,size_t at,size_t bytes){
const oxi_stream_source*source=((const oxi_source_pages*)user)->source;oxi_region_note(source->region,from,source->data+at,bytes);}
static void oxi_run_check(void*user,uint64_t from,size_t at,size_t bytes){oxi_source_pages*pages=(oxi_source_pages*)user;
const oxi_stream_source*source=pages->source;if(pages->status==OX_OK)
pages->status=oxi_region_check(source->region,from,source->data+at,bytes);}
static ox_status oxi_source_check(ox_stream*stream,const oxi_stream_source*source){
oxi_source_pages pages={source,oxi_range_check(stream,source)};if(pages.status==OX_OK&&source->region->sums)
oxi_layout_runs(&source->layout,oxi_run_check,&pages);
return pages.status;}
typedef struct oxi_run_job{ox_stream*stream;const oxi_stream_region*region;oxi_stream_load*load;char*data;bool write,direct;}oxi_run_job;
static void oxi_run_request(void*user,uint64_t from,size_t at,size_t bytes){const oxi_run_job*job=(const oxi_run_job*)user;
oxi_ring_request(job->stream,job->load,job->region->file,job->region->offset+from,bytes,job->data+at,job->write,job->direct);}
static bool oxi_source_is_direct(const oxi_stream_source*source){
return source->region->file->writable&&source->region->file->direct>=0&&source->layout.loops==0;}
static void oxi_source_transfer(ox_stream*stream,oxi_stream_source*source,oxi_stream_load*load,bool write){oxi_run_job job;
job.stream=stream;job.region=source->region;job.load=load;job.data=source->data;job.write=write;job.direct=oxi_source_is_direct(source);
oxi_layout_runs(&source->layout,oxi_run_request,&job);}
static bool oxi_source_is_range(const oxi_stream_source*source){const oxi_stream_layout*layout=&source->layout;
return source->use==OXI_STREAM_LOAD&&!source->region->file->writable&&layout->loops==0&&
source->region->offset%(uint64_t)layout->align==0;}
static bool oxi_source_begin(ox_stream*stream,const oxi_stream_flow*flow,oxi_stream_source*source,
const oxi_stream_source*before,bool must){if(before&&oxi_same_source(source,before)){source->cell=before->cell;
source->range=before->range;source->data=before->data;if(source->cell)source->cell->users++;
if(source->range)source->range->users++;
return true;}
if(oxi_source_is_range(source)&&!flow->unlearned){oxi_stream_range*range=
oxi_range_of(stream,source->region->file,source->region->offset+source->layout.first,source->layout.bytes);
if(range)return oxi_ring_get(stream,range,source,must);}
source->cell=oxi_ring_take_cell(stream,must);if(!source->cell)return false;
source->cell->users++;source->data=source->cell->memory;if(oxi_source_is_direct(source))
source->data+=(source->region->offset+source->layout.first)%OXI_STREAM_PAGE;
if(source->use&OXI_STREAM_LOAD)oxi_source_transfer(stream,source,&source->cell->load,false);
return true;}
static bool oxi_step_begin(ox_stream*stream,const oxi_stream_flow*flow,oxi_stream_step*step,const oxi_stream_step*before,bool must){
step->wanted=step->ready=0;for(int i=0;i<OXI_STREAM_OPERANDS;i++){oxi_stream_source*source=&step->source[i];
if(source->use==OXI_STREAM_UNUSED||source->layout.bytes==0)continue;
if(!oxi_source_begin(stream,flow,source,before?&before->source[i]:NULL,must)){oxi_step_release(step);
return false;}
if(source->use&OXI_STREAM_LOAD)step->wanted|=1u<<i;}
return true;}
static const oxi_stream_load*oxi_source_wait(ox_stream*stream,const oxi_stream_source*source){
oxi_stream_range*range=source->range?source->range:source->cell->range;oxi_stream_load*load=oxi_source_load(source);
oxi_ring_wait_for(stream,load);
if(load->cause==0||!range||load->flow==stream->flow)return load;
oxi_ring_read(stream,range,load,source->data);oxi_ring_wait_for(stream,load);
return load;}
static ox_status oxi_step_wait(ox_stream*stream,oxi_stream_step*step){for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(!(step->wanted>>i&1))continue;
const oxi_stream_load*load=oxi_source_wait(stream,&step->source[i]);
if(load->cause!=0)return oxi_ring_fail(load,step->source[i].region->file);
ox_status status=oxi_source_check(stream,&step->source[i]);if(status!=OX_OK)return status;
step->ready|=1u<<i;}
return OX_OK;}
static void oxi_step_store(ox_stream*stream,oxi_stream_step*step){for(int i=0;i<OXI_STREAM_OPERANDS;i++){
oxi_stream_source*source=&step->source[i];if(!(source->use&OXI_STREAM_STORE)||!source->cell)continue;
source->cell->storing=true;oxi_source_pages pages={source,OX_OK};
if(source->region->sums)oxi_layout_runs(&source->layout,oxi_run_note,&pages);
oxi_source_transfer(stream,source,&source->cell->load,true);}}
static ox_status oxi_ring_finish_stores(ox_stream*stream,const oxi_stream_file*file){for(int i=0;i<stream->cell_count;i++){
oxi_stream_cell*cell=&stream->cells[i];if(!cell->storing)continue;
oxi_ring_wait_for(stream,&cell->load);
oxi_cell_settle(stream,cell);}
ox_status status=stream->stores.cause!=0?oxi_ring_fail(&stream->stores,file):OX_OK;stream->stores.cause=0;return status;}
static ox_status oxi_ring_end_stores(ox_stream*stream,const oxi_stream_file*file){int cause=0;
ox_status status=oxi_ring_finish_stores(stream,file);if(file->direct>=0)cause=oxi_stream_handle_settle(file->plain);
if(status!=OX_OK||cause==0)return status;
return oxi_fail(OX_ERR_IO,"%s: what was written did not get to the disk: %s",oxi_path_text(file->path),strerror(cause));}
typedef struct oxi_flow_run{ox_stream*stream;oxi_stream_flow*flow;int64_t head,tail;const oxi_stream_file*stores;}oxi_flow_run;
static oxi_stream_step*oxi_flow_step(const oxi_flow_run*run,int64_t index){return&run->stream->steps[index%OXI_STREAM_WINDOW];}
static ox_status oxi_flow_advance(oxi_flow_run*run){int window=run->flow->window>0?run->flow->window:run->stream->desc.depth;
while(run->head<run->flow->count&&run->head-run->tail<window){oxi_stream_step*step=oxi_flow_step(run,run->head);
bool must=run->head==run->tail;memset(step,0,sizeof*step);ox_status status=run->flow->prepare(run->flow,run->head,step);
if(status!=OX_OK)return status;
const oxi_stream_step*before=must?NULL:oxi_flow_step(run,run->head-1);if(!oxi_step_begin(run->stream,run->flow,step,before,must)){
return must?oxi_fail(OX_ERR_NOMEM,"the stream's ring has too few cells"):OX_OK;}
run->head++;}
if(run->head<run->flow->count)return OX_OK;
if(!run->flow->unlearned)oxi_ring_guess(run->stream);
return OX_OK;}
static ox_status oxi_flow_compute(oxi_flow_run*run){ox_stream*stream=run->stream;oxi_stream_step*step=oxi_flow_step(run,run->tail);
ox_status status=oxi_step_wait(stream,step);double start=oxi_now();
if(status==OX_OK)status=run->flow->compute(run->flow,run->tail,step);
double end=oxi_now();
stream->stats.compute_seconds+=end-start;oxi_profile_span(OXI_PROFILE_COMPUTE,start,end,0);if(status==OX_OK)oxi_step_store(stream,step);
for(int i=0;i<OXI_STREAM_OPERANDS;i++)
if(step->source[i].use&OXI_STREAM_STORE)run->stores=step->source[i].region->file;
if(run->flow->window==1&&run->stores&&status==OX_OK)
status=oxi_ring_finish_stores(stream,run->stores);
oxi_step_release(step);run->tail++;stream->stats.tiles++;if(stream->desc.progress)
stream->desc.progress(stream->desc.progress_user,run->tail,run->flow->count,(int64_t)stream->clock);
return status;}
static ox_status oxi_flow_run_all(ox_stream*stream,oxi_stream_flow*flow){double start=oxi_now();
oxi_flow_run run;memset(&run,0,sizeof run);run.stream=stream;run.flow=flow;stream->flow++;ox_status status=oxi_ring_fit(stream,flow);
if(status==OX_OK&&flow->device)oxi_ring_pin(stream,flow);
while(status==OX_OK&&run.tail<flow->count){status=oxi_flow_advance(&run);
if(status==OX_OK)status=oxi_flow_compute(&run);}
for(;run.tail<run.head;run.tail++)oxi_step_release(oxi_flow_step(&run,run.tail));
if(run.stores){ox_status stored=oxi_ring_end_stores(stream,run.stores);
if(status==OX_OK)status=stored;}
stream->busy_seconds+=oxi_now()-start;return status;}
/* >>stream/ops/tile.c */
typedef struct oxi_layout_dim{int dim;int64_t count,step;}oxi_layout_dim;
static int oxi_layout_dims(const ox_tensor*t,oxi_layout_dim*out){int n=0;for(int d=0;d<t->ndim;d++){oxi_layout_dim one;
one.dim=d;one.count=t->shape[d];one.step=llabs(t->stride[d]);if(one.count==1||one.step==0)continue;
int at=n++;for(;at>0&&out[at-1].step<one.step;at--)out[at]=out[at-1];
out[at]=one;}
return n;}
static int64_t oxi_block_count(ox_dtype dtype,int64_t elements){return elements/oxi_info(dtype)->block_elements;}
static void oxi_layout_span(const ox_tensor*t,int64_t low,int64_t span,oxi_stream_layout*out){
size_t block=(size_t)oxi_info(t->dtype)->block_bytes;out->first=oxi_byte_offset(t->dtype,low);
out->bytes=out->run=(size_t)oxi_block_count(t->dtype,span)*block;out->loops=0;out->offset=t->offset-low;
memcpy(out->stride,t->stride,sizeof out->stride);}
static void oxi_layout_pack(const ox_tensor*t,int64_t low,int64_t run,const oxi_layout_dim*dims,int loops,int all,oxi_stream_layout*out){
size_t block=(size_t)oxi_info(t->dtype)->block_bytes;out->first=oxi_byte_offset(t->dtype,low);
out->run=(size_t)oxi_block_count(t->dtype,run)*block;out->loops=loops;memset(out->stride,0,sizeof out->stride);
for(int j=loops;j<all;j++)out->stride[dims[j].dim]=dims[j].step;
int64_t packed=run;out->bytes=out->run;for(int j=loops-1;j>=0;j--){out->count[j]=dims[j].count;
out->step[j]=oxi_block_count(t->dtype,dims[j].step)*(int64_t)block;out->stride[dims[j].dim]=packed;packed*=dims[j].count;
out->bytes*=(size_t)dims[j].count;}
out->offset=0;for(int d=0;d<t->ndim;d++){if(t->stride[d]>=0)continue;
out->stride[d]=-out->stride[d];out->offset+=-(t->shape[d]-1)*out->stride[d];}}
static int oxi_layout_align(ox_dtype dtype){return oxi_is_block(dtype)?4:oxi_info(dtype)->block_bytes;}
static void oxi_layout_of(const ox_tensor*t,bool pack,oxi_stream_layout*out){oxi_layout_dim dims[OX_MAX_DIMS];memset(out,0,sizeof*out);
out->align=oxi_layout_align(t->dtype);if(ox_numel(t)==0)return;
int all=oxi_layout_dims(t,dims),loops=all;int64_t block=oxi_info(t->dtype)->block_elements,low=t->offset,high=t->offset,run=1;
for(int d=0;d<t->ndim;d++)*(t->stride[d]<0?&low:&high)+=(t->shape[d]-1)*t->stride[d];
while(loops>0&&dims[loops-1].step==run)run*=dims[--loops].count;
int64_t span=(high/block-low/block+1)*block,packed=run;for(int j=0;j<loops;j++)packed*=dims[j].count;
if(pack&&packed<=span){oxi_layout_pack(t,low,run,dims,loops,all,out);}else{oxi_layout_span(t,low,span,out);
out->gaps=span!=packed;}}
enum{OXI_REQUEST_COST=4096};static double oxi_layout_cost(const oxi_stream_layout*layout){double runs=1;
for(int j=0;j<layout->loops;j++)runs*=(double)layout->count[j];
return(double)layout->bytes+runs*OXI_REQUEST_COST;}
static bool oxi_layout_packs(const ox_tensor*t,size_t room){oxi_stream_layout span,packed;oxi_layout_of(t,false,&span);
oxi_layout_of(t,true,&packed);return span.bytes>room||oxi_layout_cost(&span)>oxi_layout_cost(&packed);}
typedef struct oxi_stream_space{int ndim;int64_t size[OX_MAX_DIMS];int64_t unit[OX_MAX_DIMS];int dim[OXI_STREAM_OPERANDS][OX_MAX_DIMS];
int64_t times[OXI_STREAM_OPERANDS][OX_MAX_DIMS];}oxi_stream_space;typedef struct oxi_stream_plan{oxi_stream_flow flow;ox_device*compute;
const oxi_call*call;ox_tensor operand[OXI_STREAM_OPERANDS];bool there[OXI_STREAM_OPERANDS],streamed[OXI_STREAM_OPERANDS];
bool packs[OXI_STREAM_OPERANDS];bool keeps_strides;bool in_order;oxi_stream_space space;int64_t part[OX_MAX_DIMS];
int64_t parts[OX_MAX_DIMS];oxi_part told;int told_dim;oxi_shared shared;const int64_t*rows;}oxi_stream_plan;
static int oxi_space_add(oxi_stream_space*space,int64_t size){int d=space->ndim++;space->size[d]=size;space->unit[d]=1;
for(int i=0;i<OXI_STREAM_OPERANDS;i++){space->dim[i][d]=-1;
space->times[i][d]=1;}
return d;}
static ox_tensor oxi_plan_part(const oxi_stream_plan*plan,int operand,const int64_t*start,const int64_t*count){
ox_tensor t=plan->operand[operand];for(int d=0;d<plan->space.ndim;d++){int at=plan->space.dim[operand][d];
if(at<0)continue;
int64_t first=operand==0&&d==0&&plan->rows?plan->rows[start[0]]:start[d];t.offset+=first*plan->space.times[operand][d]*t.stride[at];
t.shape[at]=count[d]*plan->space.times[operand][d];}
return t;}
static int64_t oxi_plan_first(const oxi_stream_plan*plan,const int64_t*start){const int result=OXI_MAX_IN;
const ox_tensor*out=&plan->operand[result];int64_t first=0,step=1;for(int at=out->ndim-1;at>=0;step*=out->shape[at--])
for(int d=0;d<plan->space.ndim;d++)
if(plan->space.dim[result][d]==at)first+=start[d]*plan->space.times[result][d]*step;
return first;}
static oxi_part oxi_plan_tell(const oxi_stream_plan*plan,const int64_t*start){oxi_part told=plan->told;
told.first=oxi_plan_first(plan,start);if(plan->told_dim>0)told.start=start[plan->told_dim-1];
return told;}
static bool oxi_plan_is_result(int operand){return operand>=OXI_MAX_IN;}
static bool oxi_plan_packs(const oxi_stream_plan*plan,const ox_tensor*part,size_t room){
return!plan->keeps_strides&&oxi_layout_packs(part,room);}
typedef struct oxi_plan_cost{size_t most;double excess;
double traffic;}oxi_plan_cost;
static oxi_plan_cost oxi_plan_measure(const oxi_stream_plan*plan,const int64_t*count,size_t room){
static const int64_t origin[OX_MAX_DIMS]={0};oxi_plan_cost cost={0,0,0};for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(!plan->streamed[i])continue;
oxi_stream_layout layout;ox_tensor t=oxi_plan_part(plan,i,origin,count);oxi_layout_of(&t,oxi_plan_packs(plan,&t,room),&layout);
if(layout.bytes>cost.most)cost.most=layout.bytes;
if(layout.bytes>room)cost.excess+=(double)(layout.bytes-room);
cost.traffic+=oxi_layout_cost(&layout);}
for(int d=0;d<plan->space.ndim;d++)cost.traffic*=(double)plan->space.size[d]/(double)count[d];
return cost;}
static int64_t oxi_space_parts(const oxi_stream_space*space,int d,int64_t most,int64_t*largest){
int64_t unit=space->unit[d],units=oxi_parts(space->size[d],unit),per=most/unit;int64_t parts=oxi_parts(units,per>0?per:1);
*largest=oxi_parts(units,parts)*unit;if(*largest>space->size[d])*largest=space->size[d];
return parts;}
static bool oxi_space_halve(const oxi_stream_space*space,int d,int64_t*part){
int64_t old=part[d],half=oxi_parts(old,2*space->unit[d])*space->unit[d];if(half<old)part[d]=half;
return half<old;}
static int oxi_plan_choose_dim(const oxi_stream_plan*plan,int64_t*part,size_t room){oxi_plan_cost cost=oxi_plan_measure(plan,part,room);
int best=-1;double least=0;
for(int d=0;d<plan->space.ndim;d++){int64_t old=part[d];
if(!oxi_space_halve(&plan->space,d,part))continue;
oxi_plan_cost now=oxi_plan_measure(plan,part,room);part[d]=old;if(now.excess>=cost.excess||(best>=0&&now.traffic>0.999*least))continue;
best=d;least=now.traffic;}
return best;}
static void oxi_plan_grow(const oxi_stream_plan*plan,int d,int64_t*part,size_t room){
int64_t unit=plan->space.unit[d],size=plan->space.size[d],low=part[d]/unit,high=2*low;while(low<high){int64_t middle=low+(high-low+1)/2;
part[d]=oxi_min_i64(middle*unit,size);if(oxi_plan_measure(plan,part,room).most<=room)
low=middle;
else
high=middle-1;}
part[d]=oxi_min_i64(low*unit,size);}
static void oxi_plan_settle(oxi_stream_plan*plan,size_t room){static const int64_t origin[OX_MAX_DIMS]={0};plan->flow.count=1;
for(int d=0;d<plan->space.ndim;d++){plan->parts[d]=oxi_space_parts(&plan->space,d,plan->part[d],&plan->part[d]);
plan->flow.count*=plan->parts[d];}
for(int i=0;i<OXI_STREAM_OPERANDS;i++){oxi_stream_layout layout;
if(!plan->streamed[i])continue;
ox_tensor t=oxi_plan_part(plan,i,origin,plan->part);plan->packs[i]=oxi_plan_packs(plan,&t,room);oxi_layout_of(&t,plan->packs[i],&layout);
if(layout.bytes>plan->flow.cell_bytes)plan->flow.cell_bytes=layout.bytes;
if(oxi_plan_is_result(i)&&layout.gaps)plan->flow.window=1;}}
static void oxi_plan_cut(oxi_stream_plan*plan,size_t room){const oxi_stream_space*space=&plan->space;int last=-1;
memcpy(plan->part,space->size,sizeof plan->part);if(plan->rows)plan->part[0]=1;
size_t most=oxi_plan_measure(plan,plan->part,room).most;while(most>room){int d=oxi_plan_choose_dim(plan,plan->part,room);
if(d<0)break;
(void)oxi_space_halve(space,d,plan->part);most=oxi_plan_measure(plan,plan->part,room).most;last=d;}
if(last>=0&&most<=room)oxi_plan_grow(plan,last,plan->part,room);
oxi_plan_settle(plan,room);}
static void oxi_plan_place(const oxi_stream_plan*plan,int64_t index,int64_t*start,int64_t*count){for(int d=plan->space.ndim-1;d>=0;d--){
int64_t at=index%plan->parts[d],unit=plan->space.unit[d];int64_t units=oxi_parts(plan->space.size[d],unit);index/=plan->parts[d];
int64_t whole=units/plan->parts[d],longer=units%plan->parts[d];int64_t end=(whole*(at+1)+(at+1<longer?at+1:longer))*unit;
start[d]=(whole*at+(at<longer?at:longer))*unit;count[d]=(end<plan->space.size[d]?end:plan->space.size[d])-start[d];}}
static const oxi_stream_region*oxi_region_of(const ox_tensor*t){return(const oxi_stream_region*)t->storage->data;}
static ox_status oxi_plan_prepare(oxi_stream_flow*flow,int64_t index,oxi_stream_step*step){
const oxi_stream_plan*plan=(const oxi_stream_plan*)(const void*)flow;int64_t start[OX_MAX_DIMS],count[OX_MAX_DIMS];
oxi_plan_place(plan,index,start,count);for(int i=0;i<OXI_STREAM_OPERANDS;i++){oxi_stream_source*source=&step->source[i];
if(!plan->streamed[i])continue;
ox_tensor t=oxi_plan_part(plan,i,start,count);source->region=oxi_region_of(&t);oxi_layout_of(&t,plan->packs[i],&source->layout);
source->use=oxi_plan_is_result(i)?OXI_STREAM_STORE:OXI_STREAM_LOAD;if(oxi_plan_is_result(i)&&source->layout.gaps)
source->use|=OXI_STREAM_LOAD;}
return OX_OK;}
static void oxi_plan_borrow(const oxi_stream_plan*plan,const oxi_stream_source*source,ox_tensor*t,ox_storage*storage){
static char nothing[64];memset(storage,0,sizeof*storage);storage->references=1;storage->device=plan->compute;
storage->data=source->data?source->data:nothing;storage->bytes=source->layout.bytes;storage->borrowed=true;t->storage=storage;
t->offset=source->layout.offset;memcpy(t->stride,source->layout.stride,sizeof t->stride);}
static ox_status oxi_plan_upload(const oxi_stream_plan*plan,const oxi_stream_source*source,ox_tensor*t,
ox_storage**storage,oxi_event*sent){ox_device*device=plan->compute;
*storage=oxi_storage_new(device,source->layout.bytes);if(!*storage)return OX_ERR_NOMEM;
t->storage=*storage;t->offset=source->layout.offset;memcpy(t->stride,source->layout.stride,sizeof t->stride);
if(!(source->use&OXI_STREAM_LOAD)||source->layout.bytes==0)return OX_OK;
const char*cells=plan->flow.pinned;bool pinned=cells&&source->data>=cells&&source->data<cells+plan->flow.pinned_bytes;
if(!pinned||!device->copy_async)
return device->write(device,(*storage)->data,0,source->data,source->layout.bytes);
oxi_place to={device,(*storage)->data,0},from={ox_cpu(),source->data,0};
return device->copy_async(device,&to,&from,source->layout.bytes,NULL,sent);}
static ox_status oxi_plan_run_there(const oxi_stream_plan*plan,const oxi_stream_step*step,ox_tensor*part,
const oxi_call*call,const oxi_part*told){ox_device*device=plan->compute;
ox_storage*storage[OXI_STREAM_OPERANDS];oxi_event sent[OXI_STREAM_OPERANDS];ox_status status=OX_OK;memset(storage,0,sizeof storage);
memset(sent,0,sizeof sent);for(int i=0;i<OXI_STREAM_OPERANDS&&status==OX_OK;i++)
if(plan->streamed[i])
status=oxi_plan_upload(plan,&step->source[i],&part[i],&storage[i],&sent[i]);
if(status==OX_OK)status=oxi_run_part(device,call,told);
for(int i=OXI_MAX_IN;i<OXI_STREAM_OPERANDS&&status==OX_OK;i++)
if(storage[i])
status=device->read(device,storage[i]->data,0,step->source[i].data,step->source[i].layout.bytes);
for(int i=0;i<OXI_STREAM_OPERANDS;i++){ox_status over=oxi_event_wait(&sent[i]);
if(status==OX_OK)status=over;
if(storage[i])oxi_storage_release(storage[i]);}
return status;}
static ox_status oxi_plan_compute(oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step){
oxi_stream_plan*plan=(oxi_stream_plan*)(void*)flow;ox_tensor part[OXI_STREAM_OPERANDS],*in[OXI_MAX_IN];
ox_storage storage[OXI_STREAM_OPERANDS];int64_t start[OX_MAX_DIMS],count[OX_MAX_DIMS];oxi_call call=*plan->call;
oxi_plan_place(plan,index,start,count);oxi_part told=oxi_plan_tell(plan,start);for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(!plan->there[i])continue;
part[i]=oxi_plan_part(plan,i,start,count);part[i].references=1;if(plan->streamed[i]&&plan->compute->host)
oxi_plan_borrow(plan,&step->source[i],&part[i],&storage[i]);}
for(int i=0;i<call.in_count;i++)in[i]=plan->there[i]?&part[i]:NULL;
for(int i=0;i<call.out_count;i++)call.out[i]=&part[OXI_MAX_IN+i];
call.in=in;if(oxi_op_row_of(call.op)->family==OXI_FAMILY_FILL)
call.attr.shape.shape=ox_shape_from(part[OXI_MAX_IN].ndim,part[OXI_MAX_IN].shape);
return plan->compute->host?oxi_run_part(plan->compute,&call,&told):oxi_plan_run_there(plan,step,part,&call,&told);}
/* >>stream/ops/cuttable_dims.c */
enum{OXI_PLAN_OUT=OXI_MAX_IN};static bool oxi_is_streamed(const ox_tensor*t){return ox_device_of(t)->run==oxi_stream_run;}
static void oxi_space_map(oxi_stream_plan*plan,int operand,int d,int dim){if(!plan->there[operand]||dim<0)return;
if(plan->operand[operand].shape[dim]==plan->space.size[d])plan->space.dim[operand][d]=dim;}
static void oxi_space_keep_blocks(oxi_stream_plan*plan,int operand){const ox_tensor*t=&plan->operand[operand];
if(!plan->there[operand]||!oxi_is_block(t->dtype))return;
int along=oxi_block_dim(t),block=oxi_info(t->dtype)->block_elements;for(int d=0;d<plan->space.ndim;d++)
if(plan->space.dim[operand][d]==along&&plan->space.unit[d]<block)plan->space.unit[d]=block;}
static void oxi_space_elementwise(oxi_stream_plan*plan){const ox_tensor*out=&plan->operand[OXI_PLAN_OUT];for(int d=0;d<out->ndim;d++){
(void)oxi_space_add(&plan->space,out->shape[d]);for(int o=OXI_PLAN_OUT;o<OXI_STREAM_OPERANDS;o++)oxi_space_map(plan,o,d,d);
for(int i=0;i<OXI_MAX_IN;i++)
oxi_space_map(plan,i,d,d-(out->ndim-plan->operand[i].ndim));}
for(int i=0;i<OXI_STREAM_OPERANDS;i++)oxi_space_keep_blocks(plan,i);}
static int64_t oxi_space_unit(int64_t of,int64_t inner){int64_t a=of,b=inner;for(int64_t rest;b>0;a=b,b=rest)rest=a%b;
return of/a;}
static int oxi_space_first_dim(const ox_tensor*t,int whole){for(int d=0;d<t->ndim;d++)
if(d!=whole&&t->shape[d]>1)return d;
return-1;}
static void oxi_space_generated(oxi_stream_plan*plan){const ox_tensor*out=&plan->operand[OXI_PLAN_OUT];
oxi_generated_kind kind=oxi_generated_form_of(plan->call).kind;int d=oxi_space_first_dim(out,-1);
if(kind==OXI_GENERATES_CONSTANT)oxi_space_elementwise(plan);
if(kind!=OXI_GENERATES_RAMP&&kind!=OXI_GENERATES_RANDOM)return;
if(d<0||!plan->compute->host)return;
int at=oxi_space_add(&plan->space,out->shape[d]);plan->space.unit[at]=oxi_space_unit(4,ox_numel(out)/out->shape[d]);
plan->space.dim[OXI_PLAN_OUT][at]=d;oxi_space_map(plan,0,at,d);}
static void oxi_space_other_dims(oxi_stream_plan*plan,uint32_t whole){const ox_tensor*x=&plan->operand[0];for(int d=0;d<x->ndim;d++){
if(whole>>d&1)continue;
int at=oxi_space_add(&plan->space,x->shape[d]);plan->space.dim[0][at]=d;for(int o=OXI_PLAN_OUT;o<OXI_STREAM_OPERANDS;o++)
if(plan->there[o])plan->space.dim[o][at]=d;}}
static void oxi_space_one_dim(oxi_stream_plan*plan){if(plan->operand[0].ndim>0)oxi_space_other_dims(plan,1u<<plan->call->attr.along.dim);
}
static void oxi_space_rows(oxi_stream_plan*plan){const oxi_call*call=plan->call;oxi_space_other_dims(plan,oxi_row_form_of(call).inside);
plan->keeps_strides=!oxi_row_tell(call,&plan->told);}
static void oxi_space_rope(oxi_stream_plan*plan){int last=plan->operand[0].ndim -1;
oxi_space_other_dims(plan,1u<<last|(plan->there[1]?0:1u<<(last-1)));if(plan->there[1])plan->space.dim[1][plan->space.ndim-1]=0;}
static bool oxi_plan_join(ox_tensor*t,int keep){int64_t shape[OX_MAX_DIMS],stride[OX_MAX_DIMS];if(t->ndim<=keep+1)return true;
int lead=t->ndim-keep;shape[0]=1;for(int d=0;d<lead;d++)shape[0]*=t->shape[d];
for(int d=0;d<keep;d++)shape[1 +d]=t->shape[lead+d];
if(!oxi_view_strides(t,keep+1,shape,stride))return false;
t->ndim=keep+1;memcpy(t->shape,shape,(size_t)t->ndim*sizeof*shape);memcpy(t->stride,stride,(size_t)t->ndim*sizeof*stride);return true;}
static bool oxi_space_rows_of_product(oxi_stream_plan*plan){ox_tensor x=plan->operand[0],out=plan->operand[OXI_PLAN_OUT];
if(x.ndim<2||!oxi_plan_join(&x,1)||!oxi_plan_join(&out,1))return false;
plan->operand[0]=x;plan->operand[OXI_PLAN_OUT]=out;int d=oxi_space_add(&plan->space,x.shape[0]);
plan->space.dim[0][d]=plan->space.dim[OXI_PLAN_OUT][d]=0;return true;}
static void oxi_space_linear(oxi_stream_plan*plan){bool rows=plan->streamed[0]||plan->streamed[OXI_PLAN_OUT];
if(rows&&!oxi_space_rows_of_product(plan))
oxi_space_other_dims(plan,1u<<(plan->operand[0].ndim -1));
int d=oxi_space_add(&plan->space,plan->operand[1].shape[0]);plan->space.dim[1][d]=0;if(plan->there[2])plan->space.dim[2][d]=0;
plan->space.dim[OXI_PLAN_OUT][d]=plan->operand[OXI_PLAN_OUT].ndim -1;}
static void oxi_space_batches(oxi_stream_plan*plan,int leading){const ox_tensor*out=&plan->operand[OXI_PLAN_OUT];
for(int d=0;d<leading;d++){int at=oxi_space_add(&plan->space,out->shape[d]);
plan->space.dim[OXI_PLAN_OUT][at]=d;for(int i=0;i<2;i++){int own=plan->operand[i].ndim -2,dim=d-(leading-own);
if(own>0)oxi_space_map(plan,i,at,dim);}}}
static void oxi_space_matmul(oxi_stream_plan*plan){int a_dims=plan->operand[0].ndim,b_dims=plan->operand[1].ndim;
int columns=b_dims>1,leading=plan->operand[OXI_PLAN_OUT].ndim -(a_dims>1)-columns;
bool rows=a_dims>1&&(plan->streamed[0]||plan->streamed[OXI_PLAN_OUT]);if(!(rows&&columns&&b_dims==2&&oxi_space_rows_of_product(plan))){
oxi_space_batches(plan,leading);int d=rows?oxi_space_add(&plan->space,plan->operand[0].shape[a_dims-2]):-1;
if(rows)plan->space.dim[0][d]=a_dims-2;
if(rows)plan->space.dim[OXI_PLAN_OUT][d]=leading;}
if(!columns)return;
int d=oxi_space_add(&plan->space,plan->operand[1].shape[b_dims-1]);plan->space.dim[1][d]=b_dims-1;
plan->space.dim[OXI_PLAN_OUT][d]=plan->operand[OXI_PLAN_OUT].ndim -1;}
static void oxi_space_addmm(oxi_stream_plan*plan){for(int side=0;side<2;side++){
int d=oxi_space_add(&plan->space,plan->operand[1 +side].shape[side]);plan->space.dim[1 +side][d]=plan->space.dim[OXI_PLAN_OUT][d]=side;
oxi_space_map(plan,0,d,side-(2 -plan->operand[0].ndim));}}
static void oxi_space_product(oxi_stream_plan*plan){oxi_product_roles roles=oxi_product_roles_of(plan->call->op);if(roles.transposed)
oxi_space_linear(plan);
else if(roles.addend<0)
oxi_space_matmul(plan);
else
oxi_space_addmm(plan);}
static void oxi_space_attention_dim(oxi_stream_plan*plan,int from_last,int64_t size,int64_t group){
int d=oxi_space_add(&plan->space,size);for(int i=0;i<OXI_STREAM_OPERANDS;i++){bool queries=i==0||i==3||i>=OXI_PLAN_OUT;
int64_t times=queries?group:1;int dim=plan->operand[i].ndim -from_last+(i>OXI_PLAN_OUT);
if(!plan->there[i]||dim<0||plan->operand[i].shape[dim]!=size*times)continue;
if(size*times==1)continue;
plan->space.dim[i][d]=dim;plan->space.times[i][d]=times;}}
static int64_t oxi_attention_unit(const oxi_call*call){oxi_attention job;oxi_attention_shape(&job,call);
if(call->in[0]->dtype==OX_F64)return 1;
oxi_attention_cut(&job);return oxi_space_unit(job.tile_rows,job.group);}
static void oxi_space_queries(oxi_stream_plan*plan){const ox_tensor*q=&plan->operand[0],*mask=&plan->operand[3];
int64_t queries=q->shape[q->ndim-2];if(!plan->compute->host)return;
int d=oxi_space_add(&plan->space,queries);plan->space.unit[d]=oxi_attention_unit(plan->call);for(int i=0;i<OXI_STREAM_OPERANDS;i++)
if(plan->there[i]&&(i==0||i>=OXI_PLAN_OUT))
plan->space.dim[i][d]=q->ndim-2;
if(plan->there[3]&&mask->ndim>1)oxi_space_map(plan,3,d,mask->ndim-2);
plan->told.queries=queries;plan->told_dim=d+1;}
static void oxi_space_attention(oxi_stream_plan*plan){const ox_tensor*q=&plan->operand[0],*k=&plan->operand[1];
if(q->ndim<3||k->ndim!=q->ndim||plan->operand[2].ndim!=q->ndim){oxi_space_queries(plan);
return;}
int64_t heads=k->shape[k->ndim-3],group=heads>0?q->shape[q->ndim-3]/heads:1;plan->told.heads=heads;for(int d=0;d<q->ndim-3;d++){
plan->told.heads*=q->shape[d];oxi_space_attention_dim(plan,q->ndim-d,q->shape[d],1);}
oxi_space_attention_dim(plan,3,heads,group);if(plan->there[4]){plan->space.dim[4][plan->space.ndim-1]=0;
plan->space.times[4][plan->space.ndim-1]=group;}
oxi_space_queries(plan);}
static void oxi_space_attention_back(oxi_stream_plan*plan){const ox_tensor*q=&plan->operand[1],*k=&plan->operand[2];
if(q->ndim<3||k->ndim!=q->ndim||!plan->compute->host)return;
int64_t heads=k->shape[k->ndim-3],group=heads>0?q->shape[q->ndim-3]/heads:1;bool known=plan->call->in_count>6;plan->told.heads=heads;
for(int from_last=q->ndim;from_last>=3;from_last--){bool leading=from_last>3,added=false;
int64_t size=leading?q->shape[q->ndim-from_last]:heads;int d=oxi_space_add(&plan->space,size);if(leading)plan->told.heads*=size;
for(int i=0;i<OXI_STREAM_OPERANDS;i++){bool keys=i==2||i==3||i==OXI_PLAN_OUT+1||i==OXI_PLAN_OUT+2;
bool sinks=i==5&&!known;int64_t times=keys||leading?1:group;int dim=sinks?(leading?-1:0):plan->operand[i].ndim -from_last+(i==5);
if(!plan->there[i]||dim<0||size*times==1)continue;
bool alike=plan->operand[i].shape[dim]==size*times;added=added||(!alike&&i>=OXI_PLAN_OUT);if(!alike)continue;
plan->space.dim[i][d]=dim;plan->space.times[i][d]=times;}
for(int i=0;i<OXI_STREAM_OPERANDS&&added;i++)plan->space.dim[i][d]=-1;
if(added)plan->space.size[d]=1;}}
static void oxi_space_index(oxi_stream_plan*plan){const oxi_index_form*form=oxi_index_form_of(plan->call->op);
const ox_tensor*x=&plan->operand[0],*index=&plan->operand[1],*out=&plan->operand[OXI_PLAN_OUT];
bool picks=form->kind==OXI_INDEX_PICK,each=form->by==OXI_BY_EACH;int along=plan->call->attr.along.dim,last=picks?OXI_PLAN_OUT:2;
if((!picks&&form->kind!=OXI_INDEX_PUT)||form->by==OXI_BY_ROWS)return;
if(x->ndim==0||index->ndim==0)return;
for(int d=0;d<x->ndim;d++){bool alike=picks||!each||index->shape[d]==x->shape[d];
if(d==along||!alike)continue;
int at=oxi_space_add(&plan->space,out->shape[d]);plan->space.dim[0][at]=plan->space.dim[last][at]=plan->space.dim[OXI_PLAN_OUT][at]=d;
if(each)plan->space.dim[1][at]=d;}
bool again=!plan->in_order&&plan->streamed[0];int at=picks&&!again?oxi_space_add(&plan->space,out->shape[along]):-1;
if(at>=0)plan->space.dim[1][at]=each?along:0;
if(at>=0)plan->space.dim[OXI_PLAN_OUT][at]=along;
if(!plan->in_order||!plan->compute->host)return;
at=oxi_space_add(&plan->space,x->shape[along]);plan->space.dim[0][at]=along;if(!picks)plan->space.dim[OXI_PLAN_OUT][at]=along;
plan->told.sliced=true;plan->told_dim=at+1;}
static void oxi_space_samples(oxi_stream_plan*plan){if(plan->call->op==OXI_OP_conv_back_weight)return;
int d=oxi_space_add(&plan->space,plan->operand[0].shape[0]);plan->space.dim[0][d]=plan->space.dim[OXI_PLAN_OUT][d]=0;}
static void oxi_space_planes(oxi_stream_plan*plan){const ox_tensor*x=&plan->operand[0];
int planes=x->ndim-(int)plan->call->attr.pool.dims;oxi_space_other_dims(plan,(1u<<x->ndim)-(1u<<planes));}
static void oxi_space_heads(oxi_stream_plan*plan){const int d=oxi_space_add(&plan->space,plan->operand[OXI_PLAN_OUT].shape[0]);
for(int i=0;i<OXI_STREAM_OPERANDS;i++)oxi_space_map(plan,i,d,0);}
static void oxi_space_matrices(oxi_stream_plan*plan){const ox_tensor*x=&plan->operand[0];
for(int d=0;d+2<x->ndim&&plan->compute->host;d++){int at=oxi_space_add(&plan->space,x->shape[d]);
for(int i=0;i<OXI_STREAM_OPERANDS;i++)oxi_space_map(plan,i,at,d);}}
#ifndef OX_NO_FFT
static void oxi_space_transforms(oxi_stream_plan*plan){const ox_tensor*x=&plan->operand[0];
int along=plan->call->attr.fourier.dim,d=oxi_space_first_dim(x,along);if(d<0||!plan->compute->host)return;
int at=oxi_space_add(&plan->space,x->shape[d]);int64_t inner=ox_numel(x)/x->shape[along]/x->shape[d];
plan->space.unit[at]=oxi_space_unit(oxi_fft_unit(plan->call),inner);plan->space.dim[0][at]=plan->space.dim[OXI_PLAN_OUT][at]=d;}
#else
static void oxi_space_transforms(oxi_stream_plan*plan){(void)plan;}
#endif
static bool oxi_space_adds_up(oxi_stream_plan*plan,int d,int rows){const ox_tensor*x=&plan->operand[1];
int64_t inner=1,n=1;bool fits=plan->in_order&&plan->compute->host;
for(int k=1;k<plan->call->out_count;k++)fits=fits&&plan->call->out[k]->dtype==OX_F32;
if(!fits)return false;
for(int k=d+1;k<rows;k++)inner*=x->shape[k];
for(int k=rows;k<x->ndim;k++)n*=x->shape[k];
plan->told.rows=oxi_back_task_rows(x->shape[d]*inner,n);
plan->space.unit[oxi_space_add(&plan->space,x->shape[d])]=oxi_space_unit(plan->told.rows,inner);return true;}
static void oxi_space_back(oxi_stream_plan*plan){const ox_tensor*x=&plan->operand[1];int rows=0,d=0,inside=0;switch(plan->call->op){
case OXI_OP_attention_back:oxi_space_attention_back(plan);return;case OXI_OP_gelu_back:
case OXI_OP_gelu_tanh_back:
case OXI_OP_silu_back:break;
case OXI_OP_softmax_back:
case OXI_OP_log_softmax_back:inside=1;break;
case OXI_OP_layer_norm_back:
case OXI_OP_rms_norm_back:inside=(int)plan->call->attr.norm.last_dims;break;
default:return;}
rows=x->ndim-inside;while(d<rows&&x->shape[d]==1)d++;
if(d==rows)return;
if(plan->call->out_count==1)
(void)oxi_space_add(&plan->space,x->shape[d]);
else if(!oxi_space_adds_up(plan,d,rows))
return;
plan->space.dim[0][0]=plan->space.dim[1][0]=plan->space.dim[OXI_PLAN_OUT][0]=d;}
typedef void(*oxi_space_fn)(oxi_stream_plan*plan);static const oxi_space_fn oxi_spaces[OXI_FAMILY_COMPUTED]={oxi_space_elementwise,
oxi_space_elementwise,oxi_space_generated,oxi_space_generated,NULL,oxi_space_one_dim,oxi_space_one_dim,oxi_space_rows,oxi_space_index,
oxi_space_product,oxi_space_rope,oxi_space_attention,oxi_space_samples,oxi_space_planes,oxi_space_heads,oxi_space_elementwise,
oxi_space_back,oxi_space_elementwise,oxi_space_matrices,oxi_space_transforms,};
static void oxi_plan_operand(oxi_stream_plan*plan,int at,const ox_tensor*t){if(!t)return;
plan->operand[at]=oxi_borrowed(t);plan->operand[at].is_number=t->is_number;plan->there[at]=true;plan->streamed[at]=oxi_is_streamed(t);}
static void oxi_plan_operands(oxi_stream_plan*plan,ox_device*compute,const oxi_call*call){memset(plan,0,sizeof*plan);
plan->compute=compute;plan->call=call;plan->told.whole=call;plan->flow.prepare=oxi_plan_prepare;plan->flow.compute=oxi_plan_compute;
plan->flow.device=compute->host?NULL:compute;for(int i=0;i<call->in_count;i++)oxi_plan_operand(plan,i,call->in[i]);
for(int i=0;i<call->out_count&&OXI_PLAN_OUT+i<OXI_STREAM_OPERANDS;i++)
oxi_plan_operand(plan,OXI_PLAN_OUT+i,call->out[i]);
for(int i=0;i<OXI_STREAM_OPERANDS;i++)plan->flow.cells+=plan->streamed[i];}
static void oxi_plan_find_space(oxi_stream_plan*plan){oxi_space_fn space=oxi_spaces[oxi_op_row_of(plan->call->op)->family];
bool empty=false;for(int i=0;i<OXI_STREAM_OPERANDS;i++)
empty=empty||(plan->there[i]&&ox_numel(&plan->operand[i])==0);
if(space&&!empty&&plan->call->out_count<=OXI_STREAM_OPERANDS-OXI_PLAN_OUT)space(plan);}
static void oxi_plan_open(oxi_stream_plan*plan,ox_device*compute,const oxi_call*call){oxi_plan_operands(plan,compute,call);
oxi_plan_find_space(plan);}
static size_t oxi_stream_room(const ox_stream*stream){return stream->desc.tile_bytes-2*OXI_STREAM_PAGE;}
static bool oxi_plan_shares(const oxi_stream_plan*plan){int x=oxi_product_roles_of(plan->call->op).a;
if(oxi_op_row_of(plan->call->op)->family!=OXI_FAMILY_PRODUCT)return false;
if(oxi_is_block(plan->operand[x].dtype))x++;
bool shares=!plan->streamed[x];for(int d=0;d<plan->space.ndim;d++)
shares=shares&&(plan->space.dim[x][d]<0||plan->parts[d]==1);
return shares;}
static ox_status oxi_stream_run_cut(ox_stream*stream,oxi_stream_plan*plan){
if(plan->flow.cell_bytes>oxi_stream_room(stream))stream->stats.whole_loads++;
plan->told.shared=oxi_plan_shares(plan)?&plan->shared:NULL;ox_status status=oxi_flow_run_all(stream,&plan->flow);
oxi_free(plan->shared.memory,plan->shared.bytes);return status;}
static ox_status oxi_stream_run_plan(ox_stream*stream,oxi_stream_plan*plan){oxi_plan_cut(plan,oxi_stream_room(stream));
return oxi_stream_run_cut(stream,plan);}
/* >>stream/ops/cat_and_rows.c */
static ox_status oxi_stream_copy_by(ox_stream*stream,ox_device*compute,ox_tensor*from,ox_tensor*to){oxi_stream_plan plan;
oxi_call copy=oxi_call_of(OXI_OP_copy,&from,1,to);oxi_plan_open(&plan,compute,&copy);return oxi_stream_run_plan(stream,&plan);}
static ox_status oxi_stream_copy_plan(ox_stream*stream,ox_tensor*from,ox_tensor*to){
return oxi_stream_copy_by(stream,stream->desc.compute,from,to);}
static ox_status oxi_stream_cat(ox_stream*stream,const oxi_call*call){ox_tensor part=oxi_borrowed(call->out[0]);
int dim=call->attr.along.dim;ox_status status=OX_OK;for(int i=0;i<call->in_count&&status==OX_OK;i++){
if(ox_numel(call->in[i])==0)continue;
part.shape[dim]=call->in[i]->shape[dim];status=oxi_stream_copy_plan(stream,call->in[i],&part);
part.offset+=part.shape[dim]*part.stride[dim];}
return status;}
static void oxi_space_picked_rows(oxi_stream_plan*plan){ox_tensor*out=&plan->operand[OXI_PLAN_OUT];for(int d=0;d<out->ndim;d++){
int at=oxi_space_add(&plan->space,out->shape[d]);plan->space.dim[0][at]=plan->space.dim[OXI_PLAN_OUT][at]=d;}
oxi_space_keep_blocks(plan,0);oxi_space_keep_blocks(plan,OXI_PLAN_OUT);}
static void oxi_gather_add_dim(ox_tensor*t){memmove(t->shape+1,t->shape,(size_t)t->ndim*sizeof*t->shape);
memmove(t->stride+1,t->stride,(size_t)t->ndim*sizeof*t->stride);t->shape[0]=1;t->stride[0]=0;t->ndim++;}
static ox_status oxi_stream_pick(ox_stream*stream,const oxi_call*call,const int64_t*rows){oxi_stream_plan plan;
ox_tensor out=oxi_borrowed(call->out[0]),*table=call->in[0];if(out.ndim<table->ndim)oxi_gather_add_dim(&out);
if(!oxi_plan_join(&out,table->ndim-1))
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: rows of a streamed table go to dense results only",oxi_op_row_of(call->op)->name);
oxi_call copy=oxi_call_of(OXI_OP_copy,&table,1,&out);oxi_plan_operands(&plan,stream->desc.compute,&copy);plan.rows=rows;
plan.flow.unlearned=true;oxi_space_picked_rows(&plan);return oxi_stream_run_plan(stream,&plan);}
static ox_status oxi_stream_pick_by(ox_stream*stream,const oxi_call*call,const ox_tensor*index){
const char*name=oxi_op_row_of(call->op)->name;bool embedding=call->op==OXI_OP_embedding;
ox_status status=oxi_check_indices(name,index,call->in[0]->shape[0],embedding?"a table":"dim 0");if(status!=OX_OK)return status;
size_t bytes=(size_t)ox_numel(index)*sizeof(int64_t);int64_t*rows=(int64_t*)oxi_alloc(bytes);if(!rows)return OX_ERR_NOMEM;
oxi_load_range(index,0,ox_numel(index),OXI_LANE_I64,rows);status=oxi_stream_pick(stream,call,rows);oxi_free(rows,bytes);return status;}
static ox_status oxi_stream_near(ox_stream*stream,ox_tensor*t,ox_tensor**near){size_t bytes=ox_nbytes(t);
*near=ox_device_of(t)->host?ox_retain(t):NULL;if(*near)return OX_OK;
if(bytes>stream->desc.ram_bytes)
return oxi_fail(OX_ERR_NOMEM,"the stream's RAM budget has no room for %llu bytes of %s",(unsigned long long)bytes,oxi_tensor_text(t));
oxi_capacitor_yield(stream,bytes);*near=oxi_tensor_new(ox_cpu(),t->dtype,t->ndim,t->shape);if(!*near)return OX_ERR_NOMEM;
stream->stats.whole_loads+=oxi_is_streamed(t);ox_status status=oxi_is_streamed(t)?oxi_stream_copy_by(stream,ox_cpu(),t,*near)
:ox_copy_(*near,t)?OX_OK:ox_error();
if(status==OX_OK)return OX_OK;
ox_release(*near);*near=NULL;return status;}
static ox_status oxi_stream_rows(ox_stream*stream,const oxi_call*call){ox_tensor*near=NULL;
ox_status status=oxi_stream_near(stream,call->in[1],&near);if(status==OX_OK)status=oxi_stream_pick_by(stream,call,near);
ox_release(near);return status;}
static bool oxi_stream_picks(const oxi_call*call){bool rows=call->op==OXI_OP_embedding||
(call->op==OXI_OP_index_select&&call->attr.along.dim==0&&call->in[0]->ndim>0);
return rows&&call->in[0]->shape[0]>0&&ox_numel(call->out[0])>0;}
/* >>stream/ops/experts.c */
static ox_tensor*oxi_stream_experts_of(const oxi_call*call){ox_tensor*x=call->in[0],*w=call->in[1],*bias=call->in[3];
ox_tensor*ids=ox_flatten(ox_cast(ox_to(call->in[2],ox_cpu()),OX_I64),0,1);
if(!ids||oxi_check_indices(oxi_op_name(call),ids,w->shape[0],"a weight")!=OX_OK)return NULL;
ox_device*device=oxi_working_device(ox_device_of(x));ox_pair order=ox_sort(ids,0,false);ox_tensor*from=order.indices;
if(x->ndim==2)from=ox_floor_divide(from,ox_integer(call->in[2]->shape[1]));
x=ox_index_select(x->ndim==2?x:ox_flatten(x,0,1),0,ox_to(from,device));int64_t slots=ids->shape[0],shape[2]={slots,w->shape[1]},n;
ox_tensor*y=oxi_tensor_new(device,call->out[0]->dtype,2,shape);
const int64_t*expert=order.values?(const int64_t*)ox_data(order.values):NULL;for(int64_t first=0;expert&&y&&first<slots;first+=n){
for(n=1;first+n<slots&&expert[first+n]==expert[first];)n++;
ox_tensor*one=ox_linear(ox_narrow(x,0,first,n),ox_select(w,0,expert[first]),bias?ox_select(bias,0,expert[first]):NULL);
if(!ox_copy_(ox_narrow(y,0,first,n),one))return NULL;}
y=ox_index_select(y,0,ox_to(ox_argsort(order.indices,0,false),device));return ox_reshape(y,ox_shape_of(call->out[0]));}
static ox_status oxi_stream_experts(const oxi_call*call){bool unheard=oxi_unheard,exact=oxi_exact;ox_scope scope=ox_scope_begin();
oxi_unheard=true;oxi_exact=call->exact;ox_tensor*made=oxi_stream_experts_of(call);
ox_status status=made?oxi_copy_quiet(call->out[0],made):ox_error();oxi_unheard=unheard;oxi_exact=exact;ox_scope_end(&scope);
return status;}
/* >>stream/ops/long_lines.c */
enum{OXI_LINES_OPERANDS=1 +OXI_MAX_OUT};typedef struct oxi_stream_lines{oxi_stream_flow flow;oxi_reduce*r;int operands;
ox_tensor t[OXI_LINES_OPERANDS];bool streamed[OXI_LINES_OPERANDS];bool lined[OXI_LINES_OPERANDS];int64_t origin[OXI_LINES_OPERANDS];
int64_t shift[OXI_LINES_OPERANDS];int64_t groups,elements;int64_t group_steps,line_steps;}oxi_stream_lines;typedef struct oxi_lines_part{
int64_t group,groups,first,count;}oxi_lines_part;
static void oxi_walk_reach(const oxi_walk*w,int operand,int64_t first,int64_t end,int64_t*low,int64_t*high){
int64_t inside=w->numel,last=end-1;bool split=false;for(int d=0;d<w->ndim;d++){inside/=w->shape[d];
int64_t a=first/inside,b=last/inside;first%=inside;last%=inside;if(split){a=0;
b=w->shape[d]-1;}
split=split||a!=b;int64_t from=a*w->stride[operand][d],to=b*w->stride[operand][d];*low+=from<to?from:to;*high+=from<to?to:from;}}
static bool oxi_lines_span(const oxi_stream_lines*job,int operand,const oxi_lines_part*part,oxi_stream_layout*out){
const oxi_reduce*r=job->r;const ox_tensor*t=&job->t[operand];
int64_t low=job->origin[operand],high=low,bytes=oxi_info(t->dtype)->block_bytes;int64_t kept=part->group*r->group;
int64_t end=oxi_min_i64(kept+part->groups*r->group,r->kept.numel),elements=end-kept;oxi_walk_reach(&r->kept,operand,kept,end,&low,&high);
if(job->lined[operand]){oxi_walk_reach(&r->line,operand,part->first,part->first+part->count,&low,&high);
elements*=part->count;}
memset(out,0,sizeof*out);out->align=oxi_layout_align(t->dtype);out->first=(uint64_t)((t->offset+low)*bytes);
out->bytes=out->run=(size_t)((high-low+1)*bytes);out->offset=-low;return high-low+1==elements;}
static oxi_lines_part oxi_lines_at(const oxi_stream_lines*job,int64_t index){const oxi_reduce*r=job->r;oxi_lines_part part;
int64_t at=index%job->line_steps,end=r->line.numel;part.group=index/job->line_steps*job->groups;
part.groups=oxi_min_i64(oxi_reduce_groups(r)-part.group,job->groups);part.first=at*job->elements;if(job->elements<r->chunk){
int64_t pieces=oxi_parts(r->chunk,job->elements),chunk=at/pieces*r->chunk;part.first=chunk+at%pieces*job->elements;
end=oxi_min_i64(end,chunk+r->chunk);}
part.count=oxi_min_i64(end-part.first,job->elements);return part;}
static bool oxi_lines_fit(const oxi_stream_lines*job,const oxi_lines_part*part,size_t room){oxi_stream_layout layout;
for(int k=0;k<job->operands;k++){if(!job->streamed[k]||!job->lined[k])continue;
(void)oxi_lines_span(job,k,part,&layout);if(layout.bytes>room)return false;}
return true;}
static void oxi_lines_widen(const oxi_stream_lines*job,oxi_lines_part*part,int64_t*side,int64_t unit,int64_t most,size_t room){
int64_t low=1,high=oxi_parts(most,unit);while(low<high){int64_t middle=low+(high-low+1)/2;
*side=oxi_min_i64(middle*unit,most);if(oxi_lines_fit(job,part,room))
low=middle;
else
high=middle-1;}
*side=oxi_min_i64(low*unit,most);}
static void oxi_lines_shrink_groups(oxi_stream_lines*job,size_t room){oxi_reduce*r=job->r;
int64_t unit=r->by_columns?r->width:1,chunk=oxi_min_i64(r->chunk,r->line.numel);oxi_lines_part part={0,1,0,chunk};
while(r->group>unit&&!oxi_lines_fit(job,&part,room))
r->group=oxi_parts(r->group,2*unit)*unit;}
static void oxi_lines_cut(oxi_stream_lines*job,size_t room){oxi_reduce*r=job->r;oxi_lines_shrink_groups(job,room);
int64_t groups=oxi_reduce_groups(r),numel=r->line.numel,chunk=oxi_min_i64(r->chunk,numel);oxi_lines_part part={0,1,0,numel};
if(oxi_lines_fit(job,&part,room)){oxi_lines_widen(job,&part,&part.groups,1,groups,room);}else{part.groups=groups;
part.count=chunk;if(oxi_lines_fit(job,&part,room)){oxi_lines_widen(job,&part,&part.count,chunk,numel,room);
}else if(r->by_columns&&r->line.ndim==1){r->in_parts=chunk>OXI_REDUCE_ROWS;
oxi_lines_widen(job,&part,&part.count,OXI_REDUCE_ROWS,chunk,room);}else{part.groups=1;
oxi_lines_widen(job,&part,&part.count,chunk,numel,room);}}
job->groups=part.groups;job->elements=part.count;job->group_steps=oxi_parts(groups,part.groups);
job->line_steps=oxi_parts(numel,part.count);if(part.count<r->chunk)
job->line_steps=numel/r->chunk*oxi_parts(r->chunk,part.count)+oxi_parts(numel%r->chunk,part.count);
job->flow.count=job->group_steps*job->line_steps;for(int64_t i=0;i<job->flow.count;i++)
for(int k=0;k<job->operands;k++){oxi_stream_layout layout;
part=oxi_lines_at(job,i);if(!job->streamed[k])continue;
(void)oxi_lines_span(job,k,&part,&layout);if(layout.bytes>job->flow.cell_bytes)job->flow.cell_bytes=layout.bytes;}}
static bool oxi_lines_can_store(const oxi_stream_lines*job){oxi_stream_layout layout;for(int64_t i=0;i<job->flow.count;i++){
oxi_lines_part part=oxi_lines_at(job,i);for(int k=1;k<job->operands;k++)
if(job->streamed[k]&&!oxi_lines_span(job,k,&part,&layout))return false;}
return true;}
typedef struct oxi_lines_call{oxi_call call;ox_tensor*in[OXI_MAX_IN];ox_storage storage;}oxi_lines_call;
static char oxi_lines_nowhere[64];static void oxi_lines_begin(oxi_stream_lines*job,const oxi_call*call,bool far,oxi_lines_call*planned){
memset(job,0,sizeof*job);memset(planned,0,sizeof*planned);planned->call=*call;planned->call.in=planned->in;
planned->storage.device=ox_cpu();planned->storage.data=oxi_lines_nowhere;job->operands=1 +call->out_count;
for(int i=0;i<call->in_count;i++)planned->in[i]=call->in[i];
for(int k=0;k<job->operands;k++){job->t[k]=oxi_borrowed(k==0?call->in[0]:call->out[k-1]);
job->streamed[k]=k==0||far;if(!job->streamed[k])continue;
job->flow.cells++;job->t[k].offset=0;job->t[k].storage=&planned->storage;if(k==0)
planned->in[0]=&job->t[0];
else
planned->call.out[k-1]=&job->t[k];}}
static void oxi_lines_end(oxi_stream_lines*job,const oxi_call*call,oxi_reduce*r,int lined){job->r=r;r->call=call;
for(int k=0;k<job->operands;k++){int64_t bytes=oxi_info(job->t[k].dtype)->block_bytes;
job->lined[k]=k<lined;if(!job->streamed[k])continue;
int64_t first=(int64_t)((uintptr_t)r->kept.base[k]-(uintptr_t)oxi_lines_nowhere);job->origin[k]=(first+job->shift[k])/bytes;
job->t[k].offset=(k==0?call->in[0]:call->out[k-1])->offset;job->t[k].storage=(k==0?call->in[0]:call->out[k-1])->storage;}}
static void oxi_lines_prepare(const oxi_stream_lines*job,const oxi_lines_part*part,bool stores,oxi_stream_step*step){
for(int k=0;k<job->operands;k++){oxi_stream_source*source=&step->source[k==0?0:OXI_PLAN_OUT+k-1];
if(!job->streamed[k]||(k>0&&!stores))continue;
source->use=k==0?OXI_STREAM_LOAD:OXI_STREAM_STORE;source->region=oxi_region_of(&job->t[k]);
(void)oxi_lines_span(job,k,part,&source->layout);}}
typedef void(*oxi_lines_fn)(const oxi_stream_lines*job,int64_t group,int64_t first,int64_t count,int lane);
typedef struct oxi_lines_tasks{const oxi_stream_lines*job;oxi_lines_part part;oxi_lines_fn run;int64_t chunk,chunks;}oxi_lines_tasks;
static void oxi_lines_task(void*arg,int64_t index,int lane){const oxi_lines_tasks*tasks=(const oxi_lines_tasks*)arg;
const oxi_lines_part*part=&tasks->part;int64_t chunk=tasks->job->r->chunk,first=(tasks->chunk+index%tasks->chunks)*chunk;
int64_t end=oxi_min_i64(first+chunk,part->first+part->count);if(first<part->first)first=part->first;
tasks->run(tasks->job,part->group+index/tasks->chunks,first,end-first,lane);}
static void oxi_lines_reduce(const oxi_stream_lines*job,int64_t group,int64_t first,int64_t count,int lane){
oxi_reduce_part(job->r,group,first,count,lane);}
static void oxi_lines_run(oxi_stream_lines*job,const oxi_lines_part*part,const oxi_stream_step*step,oxi_lines_fn run){
oxi_lines_tasks tasks;oxi_reduce*r=job->r;for(int k=0;k<job->operands;k++){
const oxi_stream_source*source=&step->source[k==0?0:OXI_PLAN_OUT+k-1];if(source->use==OXI_STREAM_UNUSED)continue;
int64_t from=(job->origin[k]+source->layout.offset)*oxi_info(job->t[k].dtype)->block_bytes;
r->kept.base[k]=(char*)((uintptr_t)source->data+(uintptr_t)(from-job->shift[k]));}
tasks.job=job;tasks.part=*part;tasks.run=run;tasks.chunk=part->first/r->chunk;
tasks.chunks=(part->first+part->count-1)/r->chunk-tasks.chunk+1;oxi_parallel_for(part->groups*tasks.chunks,oxi_lines_task,&tasks);}
/* >>stream/ops/reduce.c */
typedef struct oxi_stream_reduction{oxi_stream_lines lines;oxi_reduce r;bool far;}oxi_stream_reduction;
static ox_status oxi_reduction_prepare(oxi_stream_flow*flow,int64_t index,oxi_stream_step*step){
const oxi_stream_lines*job=(const oxi_stream_lines*)(const void*)flow;oxi_lines_part part=oxi_lines_at(job,index);
oxi_lines_prepare(job,&part,true,step);return OX_OK;}
static ox_status oxi_reduction_compute(oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step){
oxi_stream_lines*job=(oxi_stream_lines*)(void*)flow;oxi_lines_part part=oxi_lines_at(job,index);
oxi_lines_run(job,&part,step,oxi_lines_reduce);return OX_OK;}
static bool oxi_stream_reduces(const oxi_call*call){
bool reduces=oxi_op_row_of(call->op)->family==OXI_FAMILY_REDUCE&&ox_numel(call->in[0])>0;return reduces&&oxi_is_streamed(call->in[0]);}
static void oxi_reduction_open(oxi_stream_reduction*job,ox_stream*stream,const oxi_call*call,bool far){oxi_lines_call planned;
oxi_lines_begin(&job->lines,call,far,&planned);oxi_reduce_plan(&job->r,&planned.call);job->far=far;job->lines.shift[0]=job->r.line_shift;
oxi_lines_end(&job->lines,call,&job->r,1);job->lines.flow.prepare=oxi_reduction_prepare;job->lines.flow.compute=oxi_reduction_compute;
oxi_lines_cut(&job->lines,oxi_stream_room(stream));}
static bool oxi_reduction_stores(const oxi_stream_reduction*job,size_t room){
return!oxi_reduce_keeps_partials(&job->r)&&job->lines.flow.cell_bytes<=room&&oxi_lines_can_store(&job->lines);}
static ox_status oxi_reduction_run(oxi_stream_reduction*job,ox_stream*stream){
if(job->lines.flow.cell_bytes>oxi_stream_room(stream))stream->stats.whole_loads++;
ox_status status=oxi_reduce_begin(&job->r);if(status==OX_OK)status=oxi_flow_run_all(stream,&job->lines.flow);
if(status==OX_OK)oxi_reduce_join(&job->r);
oxi_reduce_end(&job->r);return status;}
static ox_status oxi_stream_reduce_near(ox_stream*stream,const oxi_call*call){oxi_stream_reduction job;oxi_call near=*call;
ox_status status=OX_OK;for(int i=0;i<call->out_count;i++){const ox_tensor*out=call->out[i];
if(ox_device_of(out)->host)continue;
near.out[i]=oxi_tensor_new(ox_cpu(),out->dtype,out->ndim,out->shape);if(!near.out[i])status=OX_ERR_NOMEM;}
if(status==OX_OK)oxi_reduction_open(&job,stream,&near,false);
if(status==OX_OK)status=oxi_reduction_run(&job,stream);
for(int i=0;i<call->out_count;i++){if(near.out[i]==call->out[i])continue;
if(status==OX_OK&&oxi_is_streamed(call->out[i]))
status=oxi_stream_copy_by(stream,ox_cpu(),near.out[i],call->out[i]);
else if(status==OX_OK&&!ox_copy_(call->out[i],near.out[i]))
status=ox_error();
ox_release(near.out[i]);}
return status;}
static ox_status oxi_stream_reduce(ox_stream*stream,const oxi_call*call){oxi_stream_reduction job;bool far=true;
for(int i=0;i<call->out_count;i++)far=far&&oxi_is_streamed(call->out[i]);
if(far)oxi_reduction_open(&job,stream,call,true);
if(far&&oxi_reduction_stores(&job,oxi_stream_room(stream)))return oxi_reduction_run(&job,stream);
return oxi_stream_reduce_near(stream,call);}
/* >>stream/ops/long_rows.c */
typedef struct oxi_stream_long_rows{oxi_stream_lines lines;oxi_row row;int64_t parts;}oxi_stream_long_rows;
static ox_status oxi_long_rows_prepare(oxi_stream_flow*flow,int64_t index,oxi_stream_step*step){
const oxi_stream_long_rows*job=(const oxi_stream_long_rows*)(const void*)flow;
oxi_lines_part part=oxi_lines_at(&job->lines,index%job->parts);oxi_lines_prepare(&job->lines,&part,index>=job->parts,step);return OX_OK;}
static void oxi_long_rows_write(const oxi_stream_lines*job,int64_t group,int64_t first,int64_t count,int lane){
oxi_row_write_part(&((const oxi_stream_long_rows*)(const void*)job)->row,group,first,count,lane);}
static ox_status oxi_long_rows_compute(oxi_stream_flow*flow,int64_t index,const oxi_stream_step*step){
oxi_stream_long_rows*job=(oxi_stream_long_rows*)(void*)flow;oxi_lines_part part=oxi_lines_at(&job->lines,index%job->parts);
if(index==job->parts)oxi_parallel_for(oxi_reduce_groups(job->lines.r),oxi_row_join_task,&job->row);
oxi_lines_run(&job->lines,&part,step,index<job->parts?oxi_lines_reduce:oxi_long_rows_write);return OX_OK;}
static bool oxi_long_rows_cut(oxi_stream_long_rows*job,ox_stream*stream){oxi_reduce*r=&job->row.measure;
if(r->chunks==1&&!r->by_columns)return false;
oxi_lines_cut(&job->lines,oxi_stream_room(stream));if(!oxi_lines_can_store(&job->lines))return false;
r->in_parts=r->chunks==1||r->in_parts;job->parts=job->lines.flow.count;job->lines.flow.count=2*job->parts;
job->lines.flow.prepare=oxi_long_rows_prepare;job->lines.flow.compute=oxi_long_rows_compute;return true;}
static ox_status oxi_long_rows_run(ox_stream*stream,const oxi_call*call,bool*done){oxi_stream_long_rows job;
oxi_lines_call planned;oxi_reduce*r=&job.row.measure;oxi_lines_begin(&job.lines,call,oxi_is_streamed(call->out[0]),&planned);
ox_status status=oxi_row_plan(&job.row,&planned.call,NULL);for(int k=0;k<2&&status==OX_OK;k++)job.lines.shift[k]=job.row.line_shift[k];
if(status==OX_OK)oxi_lines_end(&job.lines,call,r,2);
*done=status!=OX_OK||oxi_long_rows_cut(&job,stream);
if(status==OX_OK&&*done){if(job.lines.flow.cell_bytes>oxi_stream_room(stream))stream->stats.whole_loads++;
status=oxi_reduce_begin(r);if(status==OX_OK)status=oxi_flow_run_all(stream,&job.lines.flow);
oxi_reduce_end(r);}
oxi_row_close(&job.row);return status;}
static bool oxi_stream_has_long_rows(const ox_stream*stream,const oxi_stream_plan*plan){const oxi_call*call=plan->call;
bool here=oxi_is_streamed(call->out[0])||ox_device_of(call->out[0])->host;
return oxi_op_row_of(call->op)->family==OXI_FAMILY_ROW&&here&&oxi_is_streamed(call->in[0])&&
plan->flow.cell_bytes>oxi_stream_room(stream);}
static ox_status oxi_stream_long_rows_run(ox_stream*stream,const oxi_call*call,bool*done){ox_tensor*in[OXI_MAX_IN]={call->in[0]};
oxi_call near=*call;ox_status status=OX_OK;near.in=in;for(int i=1;i<call->in_count&&status==OX_OK;i++)
status=call->in[i]?oxi_stream_near(stream,call->in[i],&in[i]):OX_OK;
*done=status!=OX_OK;
if(status==OX_OK)status=oxi_long_rows_run(stream,&near,done);
for(int i=1;i<call->in_count;i++)ox_release(in[i]);
return status;}
/* >>stream/memory.c */
#if defined(__linux__)
#include <sys/resource.h>
static const char*oxi_system_root="";
static FILE*oxi_system_file(const char*folder,const char*group,const char*name){char path[1280];
int length=snprintf(path,sizeof path,"%s%s%s%s",oxi_system_root,folder,group,name);return length<(int)sizeof path?fopen(path,"r"):NULL;}
static size_t oxi_file_number(const char*folder,const char*group,const char*name){unsigned long long number=0;
FILE*file=oxi_system_file(folder,group,name);bool found=file&&fscanf(file,"%llu",&number)==1;if(file)fclose(file);
return found&&number<SIZE_MAX?(size_t)number:SIZE_MAX;}
static size_t oxi_file_line(const char*folder,const char*group,const char*name,const char*word){char line[256];
unsigned long long number=0;size_t length=strlen(word);FILE*file=oxi_system_file(folder,group,name);
while(file&&fgets(line,(int)sizeof line,file))
if(strncmp(line,word,length)==0&&sscanf(line+length," %llu",&number)==1)break;
if(file)fclose(file);
return number<SIZE_MAX?(size_t)number:SIZE_MAX;}
typedef struct oxi_group_names{const char*folder,*most,*high,*used,*idle_pages,*pages;}oxi_group_names;
static const oxi_group_names oxi_groups_first={"/sys/fs/cgroup/memory","/memory.limit_in_bytes","/memory.limit_in_bytes",
"/memory.usage_in_bytes","total_inactive_file","total_active_file"};
static const oxi_group_names oxi_groups_second={
"/sys/fs/cgroup","/memory.max","/memory.high","/memory.current","inactive_file","active_file"};
static size_t oxi_group_room(const oxi_group_names*names,char*group){size_t least=SIZE_MAX;for(;;){
size_t most=oxi_file_number(names->folder,group,names->most);size_t high=oxi_file_number(names->folder,group,names->high);
size_t used=oxi_file_number(names->folder,group,names->used);if(high<most)most=high;
if(most!=SIZE_MAX&&used!=SIZE_MAX){size_t idle=oxi_file_line(names->folder,group,"/memory.stat",names->idle_pages);
size_t pages=oxi_file_line(names->folder,group,"/memory.stat",names->pages)/2;used=used>idle?used-idle:0;used=used>pages?used-pages:0;
most=most>used?most-used:0;}
if(most<least)least=most;
char*end=strrchr(group,'/');if(!end)return least;
*end=0;}}
static size_t oxi_groups_room(void){char line[1024];size_t least=SIZE_MAX;FILE*file=oxi_system_file("/proc/self/cgroup","","");
while(file&&fgets(line,(int)sizeof line,file)){char*controllers=strchr(line,':'),*path=controllers?strchr(controllers+1,':'):NULL;
if(!path)continue;
*path++ =0;path[strcspn(path,"\n")]=0;bool second=controllers[1]==0;if(!second&&strcmp(controllers+1,"memory")!=0)continue;
size_t room=oxi_group_room(second?&oxi_groups_second:&oxi_groups_first,path);if(room<least)least=room;}
if(file)fclose(file);
return least;}
static size_t oxi_process_room(int limit,unsigned long long pages){struct rlimit most;
const unsigned long long used=pages*(unsigned long long)sysconf(_SC_PAGESIZE);
if(getrlimit(limit,&most)!=0||most.rlim_cur==RLIM_INFINITY)return SIZE_MAX;
const unsigned long long room=most.rlim_cur>used?(unsigned long long)most.rlim_cur-used:0;return room<SIZE_MAX?(size_t)room:SIZE_MAX;}
static size_t oxi_processes_room(void){unsigned long long all=0,data=0;FILE*file=oxi_system_file("/proc/self/statm","","");
bool read=file&&fscanf(file,"%llu %*s %*s %*s %*s %llu",&all,&data)==2;if(file)fclose(file);
size_t least=SIZE_MAX,room;if(read&&(room=oxi_process_room(RLIMIT_AS,all))<least)least=room;
if(read&&(room=oxi_process_room(RLIMIT_DATA,data))<least)least=room;
return least;}
static size_t oxi_available_memory(void){size_t kilobytes=oxi_file_line("/proc/meminfo","","","MemAvailable:"),least=SIZE_MAX;
size_t rooms[3];if(kilobytes==0)kilobytes=2u<<20;
rooms[0]=kilobytes>SIZE_MAX/2048?SIZE_MAX/2:kilobytes*1024;rooms[1]=oxi_groups_room();rooms[2]=oxi_processes_room();for(int i=0;i<3;i++)
if(rooms[i]<least)least=rooms[i];
return least;}
#else
static size_t oxi_available_memory(void){return(size_t)2047<<20;}
#endif
/* >>stream/device.c */
#ifdef OX_NO_THREADS
static void oxi_stream_take(oxi_stream_mutex*m){(void)m;}
static void oxi_stream_give(oxi_stream_mutex*m){(void)m;}
#else
static void oxi_stream_take(oxi_stream_mutex*m){oxi_mutex_take(m);}
static void oxi_stream_give(oxi_stream_mutex*m){oxi_mutex_give(m);}
#endif
static void oxi_stream_lock(ox_stream*stream){oxi_stream_take(&stream->lock);}
static void oxi_stream_unlock(ox_stream*stream){oxi_stream_give(&stream->lock);}
static ox_stream*oxi_stream_of(ox_device*device){return(ox_stream*)device->state;}
static bool oxi_stream_is_inherited(const ox_stream*stream){return stream->forks!=oxi_forks();}
static ox_status oxi_stream_enter(ox_stream*stream){if(oxi_stream_is_inherited(stream))
return oxi_fail(OX_ERR_DEVICE,"%s: the stream was opened before a fork, by the parent process; a child opens its own",stream->name);
oxi_stream_lock(stream);return OX_OK;}
static void oxi_stream_free(ox_stream*stream){oxi_ring_free_cells(stream);oxi_capacitor_close(stream);oxi_spill_close(stream);
oxi_reader_close(&stream->reader);while(stream->request_blocks){oxi_request_block*block=(oxi_request_block*)stream->request_blocks;
stream->request_blocks=block->next;oxi_free(block,sizeof*block);}
oxi_free(stream->spill_folder,stream->spill_folder_bytes);oxi_free(stream,sizeof*stream);}
static void oxi_stream_release(ox_stream*stream){bool last=--stream->references==0;oxi_stream_unlock(stream);
if(last)oxi_stream_free(stream);}
static ox_status oxi_stream_alloc(ox_device*self,size_t bytes,void**out){ox_stream*stream=oxi_stream_of(self);
oxi_stream_region*region=NULL;*out=NULL;ox_status status=oxi_stream_enter(stream);if(status!=OX_OK)return status;
status=oxi_spill_alloc(stream,bytes,&region);oxi_stream_unlock(stream);*out=region;return status;}
static void oxi_stream_region_free(oxi_stream_region*region){ox_stream*stream=region->stream;if(oxi_stream_is_inherited(stream))return;
oxi_stream_lock(stream);oxi_stream_region_unlink(region);if(region->file==stream->spill)
oxi_spill_free(stream,region);
else
oxi_stream_file_release(stream,region->file);
oxi_stream_region_delete(region);oxi_stream_release(stream);}
static void oxi_stream_give_back(ox_device*self,void*memory,size_t bytes){(void)self,(void)bytes;
oxi_stream_region_free((oxi_stream_region*)memory);}
static void oxi_stream_region_released(void*user,void*data){(void)user;oxi_stream_region_free((oxi_stream_region*)data);}
static ox_status oxi_stream_move(const oxi_stream_region*region,size_t at,void*memory,size_t bytes,bool write){
ox_stream*stream=region->stream;oxi_stream_load load;memset(&load,0,sizeof load);
if(write)oxi_region_note(region,at,(const char*)memory,bytes);
oxi_ring_request(stream,&load,region->file,region->offset+at,bytes,(char*)memory,write,false);oxi_ring_wait_for(stream,&load);
if(load.cause!=0)return oxi_ring_fail(&load,region->file);
return write?OX_OK:oxi_region_check(region,at,(const char*)memory,bytes);}
static ox_status oxi_stream_read(ox_device*self,const void*memory,size_t offset,void*out,size_t bytes){
ox_stream*stream=oxi_stream_of(self);ox_status status=oxi_stream_enter(stream);if(status!=OX_OK)return status;
status=oxi_stream_move((const oxi_stream_region*)memory,offset,out,bytes,false);oxi_stream_unlock(stream);return status;}
static ox_status oxi_stream_write(ox_device*self,void*memory,size_t offset,const void*data,size_t bytes){
ox_stream*stream=oxi_stream_of(self);ox_status status=oxi_stream_enter(stream);if(status!=OX_OK)return status;
status=oxi_stream_move((const oxi_stream_region*)memory,offset,(void*)(uintptr_t)data,bytes,true);oxi_stream_unlock(stream);
return status;}
static ox_status oxi_stream_copy(ox_device*self,void*to,size_t to_offset,const void*from,size_t from_offset,size_t bytes){
size_t room=oxi_stream_of(self)->desc.tile_bytes,done=0;
char*buffer=(char*)oxi_alloc(room);ox_status status=buffer?OX_OK:OX_ERR_NOMEM;while(status==OX_OK&&done<bytes){
size_t part=bytes-done<room?bytes-done:room;
status=oxi_stream_read(self,from,from_offset+done,buffer,part);
if(status==OX_OK)status=oxi_stream_write(self,to,to_offset+done,buffer,part);
done+=part;}
oxi_free(buffer,room);return status;}
static void oxi_stream_statistics(ox_device*self,ox_device_stats*out){ox_stream*stream=oxi_stream_of(self);
if(oxi_stream_is_inherited(stream))return;
oxi_stream_lock(stream);out->bytes_in_use=stream->stats.spilled_bytes;out->bytes_peak=stream->spill_peak;
out->bytes_reserved=stream->spill_end;out->bytes_budget=stream->spill_budget;oxi_stream_unlock(stream);}
static ox_status oxi_stream_budget(ox_device*self,uint64_t bytes){ox_stream*stream=oxi_stream_of(self);
ox_status status=oxi_stream_enter(stream);if(status!=OX_OK)return status;
stream->spill_budget=bytes;oxi_stream_unlock(stream);return OX_OK;}
static bool oxi_stream_supports(ox_device*self,const oxi_call*call){(void)self,(void)call;return true;}
static ox_status oxi_stream_run_locked(ox_stream*stream,const oxi_call*call){if(call->op==OXI_OP_cat)return oxi_stream_cat(stream,call);
if(oxi_stream_picks(call))return oxi_stream_rows(stream,call);
if(oxi_stream_reduces(call))return oxi_stream_reduce(stream,call);
oxi_stream_plan*plan=(oxi_stream_plan*)oxi_alloc(sizeof*plan);bool done=false;
ox_status status=OX_OK;if(!plan)return OX_ERR_NOMEM;
oxi_plan_open(plan,stream->desc.compute,call);oxi_plan_cut(plan,oxi_stream_room(stream));
if(oxi_stream_has_long_rows(stream,plan))status=oxi_stream_long_rows_run(stream,call,&done);
if(!done)status=oxi_stream_run_cut(stream,plan);
oxi_free(plan,sizeof*plan);return status;}
static bool oxi_stream_has_index(const oxi_call*call){return oxi_op_row_of(call->op)->family==OXI_FAMILY_INDEX&&call->in_count>1&&
oxi_is_int(call->in[1]->dtype);}
static ox_status oxi_stream_check_index(ox_stream*stream,const oxi_call*call){const char*name=oxi_op_row_of(call->op)->name;
ox_tensor*index=NULL,x=oxi_at_least_1d(call->in[0]);oxi_stream_lock(stream);ox_status status=oxi_ring_settle(stream);
if(status==OX_OK)status=oxi_stream_near(stream,call->in[1],&index);
oxi_stream_unlock(stream);if(status==OX_OK)
status=call->op==OXI_OP_embedding?oxi_check_indices(name,index,x.shape[0],"a table")
:oxi_check_dim_indices(name,index,&x,call->attr.along.dim,NULL);
ox_release(index);return status;}
static ox_status oxi_stream_run_empty(ox_stream*stream,const oxi_call*call){oxi_stream_plan plan;oxi_stream_step step;
if(oxi_stream_has_index(call))return oxi_stream_check_index(stream,call);
if(call->in_count>OXI_MAX_IN||!stream->desc.compute->host)return OX_OK;
memset(&step,0,sizeof step);oxi_plan_operands(&plan,stream->desc.compute,call);for(int i=0;i<OXI_STREAM_OPERANDS;i++){
if(plan.streamed[i]&&ox_numel(&plan.operand[i])>0)return OX_OK;
memcpy(step.source[i].layout.stride,plan.operand[i].stride,sizeof plan.operand[i].stride);}
return oxi_plan_compute(&plan.flow,0,&step);}
static ox_status oxi_stream_run(ox_device*self,const oxi_call*call){ox_stream*stream=oxi_stream_of(self);bool empty=true;
for(int i=0;i<call->out_count;i++)empty=empty&&ox_numel(call->out[i])==0;
if(empty)return oxi_stream_run_empty(stream,call);
if(call->op==OXI_OP_linear_experts)return oxi_stream_experts(call);
ox_status status=oxi_stream_enter(stream);if(status!=OX_OK)return status;
stream->stats.calls++;status=oxi_ring_settle(stream);if(status==OX_OK)status=oxi_stream_run_locked(stream,call);
oxi_stream_unlock(stream);return status;}
static ox_status oxi_stream_close(ox_device*self){ox_stream*stream=oxi_stream_of(self);if(oxi_stream_is_inherited(stream))return OX_OK;
oxi_stream_lock(stream);oxi_stream_release(stream);return OX_OK;}
static ox_status oxi_stream_sync(ox_device*self){(void)self;return OX_OK;}
static ox_status oxi_stream_hold(ox_device*self,bool holds){ox_stream*stream=oxi_stream_of(self);if(!holds){
return oxi_stream_close(self);}
ox_status status=oxi_stream_enter(stream);if(status!=OX_OK)return status;
stream->references++;oxi_stream_unlock(stream);return OX_OK;}
static ox_storage*oxi_stream_storage_of(oxi_stream_region*region){ox_storage*storage=
oxi_storage_borrow(&region->stream->device,region,region->bytes,oxi_stream_region_released,NULL);
if(storage)
storage->read_only=!region->file->writable;
else
oxi_stream_region_free(region);
return storage;}
static ox_status oxi_stream_region_storage(ox_stream*stream,const char*path,const oxi_file_id*id,
uint64_t offset,size_t bytes,ox_storage**out){oxi_stream_region*region=NULL;
ox_status status=oxi_stream_enter(stream);if(status!=OX_OK)return status;
status=oxi_stream_region_open(stream,path,id,offset,bytes,&region);oxi_stream_unlock(stream);if(status!=OX_OK)return status;
*out=oxi_stream_storage_of(region);return*out?OX_OK:OX_ERR_NOMEM;}
static ox_status oxi_stream_open_region(ox_device*device,const char*path,const oxi_file_id*id,
size_t offset,size_t bytes,ox_storage**out){return oxi_stream_region_storage(oxi_stream_of(device),path,id,(uint64_t)offset,bytes,out);}
OX_API ox_tensor*ox_stream_raw(ox_stream*stream,const char*path,int64_t offset,ox_dtype dtype,ox_shape shape){size_t bytes=0;
ox_tensor meta;ox_storage*storage=NULL;if(!stream||!path||offset<0)
return OXI_FAIL_NULL(OX_ERR_ARG,"stream_raw: no stream, no path, or an offset of %lld",(long long)offset);
if(oxi_check_shape("stream_raw",dtype,shape.ndim,shape.dim,&bytes)!=OX_OK)return NULL;
if(oxi_stream_region_storage(stream,path,NULL,(uint64_t)offset,bytes,&storage)!=OX_OK)
return NULL;
oxi_meta(&meta,dtype,shape.ndim,shape.dim);ox_tensor*t=oxi_tensor_over(storage,&meta);oxi_storage_release(storage);return t;}
static char*oxi_stream_named_path(const ox_stream*stream,const char*name,size_t*bytes){
bool usable=name&&*name&&*name!='.'&&!name[strcspn(name,"/\\:")];if(!usable){
(void)oxi_fail(OX_ERR_ARG,"stream_named: %s cannot be the name of a file",name?OXI_QUOTE(name):"NULL");return NULL;}
*bytes=strlen(stream->spill_folder)+strlen(name)+sizeof "/.safetensors";char*path=(char*)oxi_alloc(*bytes);
if(path)(void)snprintf(path,*bytes,"%s/%s.safetensors",stream->spill_folder,name);
return path;}
OX_API ox_tensor*ox_stream_named(ox_stream*stream,const char*name,ox_dtype dtype,ox_shape shape){
size_t bytes=0,header_bytes=0,header_room=0,path_bytes=0;ox_tensor meta,*t=NULL;oxi_stream_region*region=NULL;
if(!stream)return OXI_FAIL_NULL(OX_ERR_ARG,"stream_named: no stream");
if(oxi_check_shape("stream_named",dtype,shape.ndim,shape.dim,&bytes)!=OX_OK)return NULL;
if(oxi_big_endian_host())
return OXI_FAIL_NULL(OX_ERR_UNSUPPORTED,"stream_named: numbers of a file have the other byte order");
oxi_meta(&meta,dtype,shape.ndim,shape.dim);char*path=oxi_stream_named_path(stream,name,&path_bytes),*header=NULL;
bool speaks=oxi_speak("stream_named");if(path)header=oxi_save_header_of(name,&meta,OXI_STREAM_PAGE,&header_bytes,&header_room);
oxi_speak_end(speaks);if(header&&oxi_stream_enter(stream)==OX_OK){(void)oxi_named_open(stream,path,header,header_bytes,bytes,&region);
oxi_stream_unlock(stream);}
ox_storage*storage=region?oxi_stream_storage_of(region):NULL;if(storage){t=oxi_tensor_over(storage,&meta);
oxi_storage_release(storage);}
oxi_free(header,header_room);oxi_free(path,path_bytes);return t;}
static const char*oxi_stream_temporary(void){static const char*const names[]={"TMPDIR","TEMP","TMP"};
for(size_t i=0;i<sizeof names/sizeof*names;i++){const char*folder=getenv(names[i]);
if(folder&&*folder)return folder;}
#if defined(_WIN32)
return ".";
#else
return "/tmp";
#endif
}
static int oxi_stream_between(int value,int usual,int least,int most){if(value==0)value=usual;
return value<least?least:value>most?most:value;}
static ox_status oxi_stream_describe(ox_stream_desc*desc){const size_t page=OXI_STREAM_PAGE,least=4*page;
if(!desc->compute)desc->compute=ox_cpu();
if(desc->compute->partner)
return oxi_fail(OX_ERR_ARG,"stream_open: %s leaves computing to others",desc->compute->name);
if(desc->ram_bytes==0)desc->ram_bytes=oxi_available_memory()/2;
desc->depth=oxi_stream_between(desc->depth,4,OXI_STREAM_LEAST_DEPTH,OXI_STREAM_WINDOW);
desc->queue=oxi_stream_between(desc->queue,32,1,256);size_t most=desc->ram_bytes/(4*(size_t)desc->depth)/page*page;
if(desc->tile_bytes==0)desc->tile_bytes=most/2<(size_t)8<<20?most/2:(size_t)8<<20;
if(desc->tile_bytes<least)desc->tile_bytes=least;
if(desc->tile_bytes>SIZE_MAX/64)return oxi_fail(OX_ERR_ARG,"stream_open: tiles too large");
desc->tile_bytes=(desc->tile_bytes+page-1)/page*page;if(desc->tile_bytes>most)
return oxi_fail(OX_ERR_ARG,"stream_open: a ring of %d tiles of %llu bytes needs a budget of %llu bytes, not %llu",
2*desc->depth,(unsigned long long)desc->tile_bytes,
4*(unsigned long long)desc->depth*desc->tile_bytes,(unsigned long long)desc->ram_bytes);
if(desc->result_bytes==0)desc->result_bytes=desc->ram_bytes/8;
if(!desc->spill||!*desc->spill)desc->spill=oxi_stream_temporary();
return OX_OK;}
static void oxi_stream_make_device(ox_stream*stream){static int64_t counter;ox_device*device=&stream->device;
(void)snprintf(stream->name,sizeof stream->name,"stream:%lld",(long long)oxi_atomic_add(&counter,1)-1);device->name=stream->name;
device->alloc=oxi_stream_alloc;device->free=oxi_stream_give_back;device->read=oxi_stream_read;device->write=oxi_stream_write;
device->copy=oxi_stream_copy;device->supports=oxi_stream_supports;device->run=oxi_stream_run;device->sync=oxi_stream_sync;
device->close=oxi_stream_close;device->state=stream;device->partner=stream->desc.compute;device->partner_bytes=stream->desc.result_bytes;
device->region=oxi_stream_open_region;device->hold=oxi_stream_hold;device->statistics=oxi_stream_statistics;
device->budget=oxi_stream_budget;}
OX_API ox_stream*ox_stream_open(const ox_stream_desc*desc){ox_stream_desc filled;memset(&filled,0,sizeof filled);if(desc)filled=*desc;
if(oxi_stream_describe(&filled)!=OX_OK)return NULL;
size_t base=ox_memory_get_stats().bytes_in_use;ox_stream*stream=(ox_stream*)oxi_calloc(1,sizeof*stream);if(!stream)return NULL;
#ifndef OX_NO_THREADS
static const oxi_mutex open_mutex=OXI_MUTEX_OPEN;
stream->lock=open_mutex;
#endif
stream->references=1;
stream->forks=oxi_forks();stream->desc=filled;stream->base_bytes=base;stream->pace.sets_tile=!desc||desc->tile_bytes==0;
stream->pace.sets_depth=!desc||desc->depth==0;stream->spill_folder_bytes=strlen(filled.spill)+1;
stream->spill_folder=(char*)oxi_alloc(stream->spill_folder_bytes);oxi_stream_make_device(stream);
oxi_reader_open(&stream->reader,&stream->desc);if(stream->spill_folder&&oxi_ring_open(stream)==OX_OK){
memcpy(stream->spill_folder,filled.spill,stream->spill_folder_bytes);stream->desc.spill=stream->spill_folder;return stream;}
oxi_stream_free(stream);return NULL;}
OX_API ox_device*ox_stream_device(ox_stream*stream){if(!stream)(void)oxi_fail_missing("stream_device: the stream");
return stream?&stream->device:NULL;}
OX_API ox_stream_stats ox_stream_get_stats(ox_stream*stream){ox_stream_stats stats;memset(&stats,0,sizeof stats);
if(!stream||oxi_stream_is_inherited(stream))return stats;
oxi_stream_lock(stream);stats=stream->stats;stats.ring_bytes=stream->ring_block_bytes;stats.kept_bytes=stream->slab_bytes;
stats.uring=stream->reader.uses_uring;stats.tile_bytes=stream->desc.tile_bytes;stats.depth=stream->desc.depth;
stats.bandwidth=stream->pace.bandwidth;stats.latency=stream->pace.latency;stats.ahead_bytes=oxi_ring_ahead(stream);
if(stream->busy_seconds>0)stats.overlap=1 -stats.stall_seconds/stream->busy_seconds;
if(stats.overlap<0)stats.overlap=0;
oxi_stream_unlock(stream);return stats;}
/* >>stream/shunt/internal.h */
#ifndef OX_STREAM_SHUNT_INTERNAL_H
#define OX_STREAM_SHUNT_INTERNAL_H
enum{OXI_SHUNT_ALIGN=256,OXI_SHUNT_PAGE=4096,OXI_SHUNT_NODES_MOST=1<<18,OXI_SHUNT_CHUNK=1<<18,OXI_SHUNT_PLANS=64,OXI_SHUNT_VERY_FEW=64,
OXI_SHUNT_FEW=400,OXI_SHUNT_MEANS=4096,OXI_SHUNT_FLIGHTS=4,OXI_SHUNT_TILE=8<<20,OXI_SHUNT_TILE_LEAST=1<<20,OXI_SHUNT_TILES=6,
OXI_SHUNT_AHEAD=16};
typedef enum oxi_shunt_lane{OXI_LANE_COMPUTE,OXI_LANE_UP,OXI_LANE_DOWN,OXI_LANE_DISK,OXI_LANES}oxi_shunt_lane;
typedef enum oxi_shunt_kind{OXI_KIND_WEIGHT,OXI_KIND_ACTIVATION,OXI_KIND_STATE}oxi_shunt_kind;typedef struct oxi_shunt_item{
struct oxi_shunt_item*previous,*next;size_t bytes;int64_t pending;int64_t uses;struct oxi_shunt_item**part;int32_t part_count;bool held;
bool failed;bool small;bool valid;bool file;bool disk_valid;bool all_f32;bool packs;uint8_t kind;uint8_t packed;int16_t packed_shift;
int64_t packed_columns;int64_t columns;ox_storage*storage;uint64_t place;uint32_t skew;void*host;ox_storage*pinned;size_t host_bytes;
bool lent;ox_storage*disk;size_t disk_bytes,disk_at;char*staged;int32_t index;int64_t mark;bool again;int64_t used_at;int64_t protects;
int64_t first_at,last_at;int64_t whole_at;int64_t cut_at;const int64_t*cut_ends;int64_t cut_count;int64_t ahead;int32_t ahead_index;
struct oxi_shunt_flight*flight;}oxi_shunt_item;typedef struct oxi_shunt_operand{oxi_shunt_item*item;ox_tensor*given;int64_t offset,*dims;
uint64_t number[2];ox_dtype dtype;int8_t ndim;bool there,is_number,covers;bool over;}oxi_shunt_operand;typedef struct oxi_shunt_node{
oxi_op op;bool exact;int32_t in_count,out_count;int64_t number;const oxi_part*told;oxi_attrs*attr;oxi_random_state random;
const char*name;oxi_shunt_operand*operand;uint64_t shape_key;}oxi_shunt_node;typedef struct oxi_shunt_chunk{struct oxi_shunt_chunk*next;
size_t used,bytes;}oxi_shunt_chunk;typedef struct oxi_shunt_figure{int64_t step;double seconds,amount;
double past[5];
int32_t count;bool second;}oxi_shunt_figure;typedef struct oxi_shunt_mean{uint64_t key;oxi_shunt_figure took;}oxi_shunt_mean;
typedef struct oxi_shunt_rates{bool known,disk_known;double flops,bytes;
double up,down;
double disk_read,disk_write;
oxi_shunt_figure moved[OXI_LANES][2];oxi_shunt_figure disk[2][2];oxi_shunt_figure alone[2];struct{double seconds,bytes[2][2];
int32_t moves[2];}ended;double start[OXI_LANES];
double empty;
oxi_shunt_figure between;oxi_shunt_figure wake[OXI_LANES];oxi_shunt_figure works[OXI_LANES];double packing[2];
oxi_shunt_figure packed[2];oxi_shunt_figure around;}oxi_shunt_rates;typedef struct oxi_shunt_touch{int32_t item;bool reads,writes;
}oxi_shunt_touch;typedef struct oxi_shunt_known{uint64_t room;bool held,had;bool small;bool pinned;bool on_host;bool on_disk;bool caches;
bool packs;bool moves_whole;bool bare;uint8_t kind;uint64_t place;double load[2],save[2];
double load_takes[2],save_takes[2];
uint64_t spill,spilled;}oxi_shunt_known;typedef struct oxi_shunt_problem{int32_t node_count,item_count;const int32_t*first;
const oxi_shunt_touch*touch;const double*seconds;
const bool*again;const int32_t*order;oxi_shunt_known*known;oxi_shunt_known*other;uint64_t capacity,host_room;uint64_t largest;
uint64_t cache_room;uint64_t disk_most,disk_used;uint64_t ring[2];uint64_t tile;double least[OXI_LANES];
double time_most;
double begun,begun_work;
double time_share;
bool fits;bool another;ox_recompute recompute;oxi_shunt_item*const*items;}oxi_shunt_problem;typedef struct oxi_shunt_order{
int32_t slot_count,access_count;int32_t*slot;int32_t*first;int32_t*at;uint8_t*use;int32_t*access;int32_t*from;double*start;
uint8_t*alone,*best_alone;uint8_t*crowded;}oxi_shunt_order;typedef enum oxi_shunt_action{OXI_ACT_NODE,OXI_ACT_LOAD,OXI_ACT_SAVE,
OXI_ACT_READ,OXI_ACT_WRITE}oxi_shunt_action;
typedef struct oxi_shunt_instruction{uint8_t action,lane;int32_t node,slot;int32_t item,segment;int32_t first,count;int32_t number;
int32_t wait[OXI_LANES];double seconds,start;
uint64_t ring_at;uint64_t from,bytes;bool staged;bool ends;}oxi_shunt_instruction;typedef struct oxi_shunt_change{int32_t item;
bool begins,dies;uint64_t place;}oxi_shunt_change;typedef struct oxi_shunt_segment{int32_t item,first,last;int32_t from;
bool loads,saves,dies,stays;bool dirty;uint8_t lane;int32_t next;int32_t next_end;int32_t block;int32_t read;int32_t entry;
bool begun,over;uint64_t place;}oxi_shunt_segment;typedef struct oxi_shunt_plan{uint64_t key[2];int64_t number;int64_t used_at;
int32_t node_count,item_count,instruction_count,change_count,segment_count,slot_count;int32_t lane_count[OXI_LANES];
oxi_shunt_instruction*instruction;oxi_shunt_change*change;oxi_shunt_known*known;oxi_shunt_segment*segment;double*seconds;
size_t instruction_room,change_room,segment_room;uint64_t peak,pinned_bytes;uint64_t ring[2];int32_t crowded;double most;
double until;
bool large;int32_t recomputed;int64_t runs;int32_t moved;bool whole;bool measured;double expected;
double takes;
uint64_t over;double enough;
double simulated,compute,bound,disk,link;
double disk_read,disk_write;
char*text;size_t text_bytes;}oxi_shunt_plan;typedef struct oxi_shunt_flight{oxi_stream_load load;ox_stream*stream;
const oxi_stream_file*file;size_t bytes;bool write,unwatched;double start;}oxi_shunt_flight;
typedef struct oxi_shunt_span{uint8_t lane;const char*name;double start,end;
uint64_t bytes;}oxi_shunt_span;typedef struct oxi_shunt_residents{oxi_shunt_item**item;size_t room;int64_t count;}oxi_shunt_residents;
struct ox_shunt{ox_device device;char name[32];int64_t references;int64_t captures;int64_t forks;oxi_stream_mutex lock;
ox_shunt_desc desc;ox_device*compute;char*spill,*trace_path;size_t spill_bytes,trace_bytes;oxi_shunt_item items;oxi_shunt_node**nodes;
size_t node_room;int64_t node_count,node_clock;oxi_shunt_chunk*chunks;bool closed;bool running,planned;oxi_shunt_item**table;
size_t table_room;int32_t table_count;int64_t step_number,cut_pass;int64_t cut_from;bool cuts_least;uint64_t main_bytes,small_most;
void*arena;oxi_shunt_residents resident[2];oxi_stream_mutex tiers;oxi_stream_mutex opening;ox_stream*stream;uint64_t device_in_use;
double disk_moved_at;
oxi_shunt_rates rates;oxi_shunt_mean means[OXI_SHUNT_MEANS];oxi_shunt_plan*plans[OXI_SHUNT_PLANS];oxi_shunt_plan*last_plan;
int64_t plans_made,ran_last;double packed_seconds[OXI_LANES];
double lanes_seconds;
int64_t lanes_runs;oxi_shunt_flight ahead[OXI_SHUNT_AHEAD];oxi_shunt_item*ahead_item[OXI_SHUNT_AHEAD];int ahead_count;int64_t ahead_plan;
void*ring[2];ox_storage*ring_pinned[2];uint64_t ring_bytes[2];ox_storage**kept;size_t kept_room;int64_t kept_count;uint64_t kept_bytes;
struct oxi_shunt_crew*crew;ox_shunt_stats stats;oxi_shunt_span*spans;size_t span_room,span_count;double origin;};
static void oxi_shunt_spend(oxi_shunt_problem*p);static double oxi_shunt_spent(const oxi_shunt_problem*p);
#endif
/* >>stream/shunt/capture.c */
static ox_shunt*oxi_shunt_of(ox_device*device){return(ox_shunt*)device->state;}
static bool oxi_shunt_is_inherited(const ox_shunt*s){return s->forks!=oxi_forks();}
static ox_status oxi_shunt_enter(ox_shunt*s){if(oxi_shunt_is_inherited(s))
return oxi_fail(OX_ERR_DEVICE,"%s: it was opened before a fork, by the parent process; a child opens ""its own",s->name);
oxi_stream_take(&s->lock);return OX_OK;}
static void oxi_shunt_free(ox_shunt*s);static void oxi_shunt_drop_nodes(ox_shunt*s);
static void oxi_shunt_nodes_free(ox_shunt*s,bool all);static bool oxi_shunt_is_abandoned(const ox_shunt*s){
if(!s->closed||s->running||s->node_count==0)return false;
const oxi_shunt_item*item=s->items.next;while(item!=&s->items&&!item->held)item=item->next;
return item==&s->items;}
static void oxi_shunt_release(ox_shunt*s){if(oxi_shunt_is_abandoned(s)){oxi_shunt_drop_nodes(s);
oxi_shunt_nodes_free(s,false);}
bool last=--s->references==0;oxi_stream_give(&s->lock);if(last)oxi_shunt_free(s);}
static ox_status oxi_shunt_flush(ox_shunt*s);static bool oxi_shunt_is_planned(const ox_shunt*s){return s->desc.device_bytes>0;}
static uint64_t oxi_shunt_room_of(size_t bytes){uint64_t align=bytes<4*OXI_SHUNT_PAGE?OXI_SHUNT_ALIGN:OXI_SHUNT_PAGE;
return((uint64_t)bytes+align-1 +(bytes==0))/align*align;}
static uint64_t oxi_shunt_item_room(const oxi_shunt_item*item){return oxi_shunt_room_of(item->bytes+item->skew);}
static oxi_shunt_item*oxi_shunt_item_new(ox_shunt*s,size_t bytes,uint64_t file){
uint32_t skew=file%8==0&&s->compute->host?(uint32_t)(file%OXI_SHUNT_PAGE):0;if(oxi_shunt_room_of(bytes)<=s->small_most)skew=0;
oxi_shunt_item*item=(oxi_shunt_item*)oxi_calloc(1,sizeof*item);if(!item)return NULL;
item->bytes=bytes;item->skew=skew;item->held=true;item->all_f32=true;item->small=oxi_shunt_room_of(bytes)<=s->small_most;
item->kind=OXI_KIND_STATE;item->next=&s->items;item->previous=s->items.previous;item->previous->next=item;s->items.previous=item;
s->references++;return item;}
static void oxi_shunt_item_forget(ox_shunt*s,oxi_shunt_item*item);static bool oxi_shunt_outlives(const oxi_shunt_item*item){
return item->held||item->pending>item->uses;}
static bool oxi_shunt_is_lost(const oxi_shunt_item*item){bool lost=item->failed;
for(int32_t k=0;k<item->part_count;k++)lost=lost||item->part[k]->failed;
return lost;}
static void oxi_shunt_item_settle(ox_shunt*s,oxi_shunt_item*item){if(item->held||item->pending>0)return;
oxi_shunt_item_forget(s,item);item->previous->next=item->next;item->next->previous=item->previous;oxi_free(item,sizeof*item);
s->references--;}
static ox_status oxi_shunt_alloc(ox_device*self,size_t bytes,void**out){ox_shunt*s=oxi_shunt_of(self);*out=NULL;
ox_status status=oxi_shunt_enter(s);if(status!=OX_OK)return status;
*out=oxi_shunt_item_new(s,bytes,0);oxi_stream_give(&s->lock);return*out?OX_OK:OX_ERR_NOMEM;}
static void oxi_shunt_item_released(ox_shunt*s,oxi_shunt_item*item){if(oxi_shunt_is_inherited(s))return;
oxi_stream_take(&s->lock);s->references++;item->held=false;oxi_shunt_item_settle(s,item);oxi_shunt_release(s);}
static void oxi_shunt_give_back(ox_device*self,void*memory,size_t bytes){(void)bytes;
if(memory)oxi_shunt_item_released(oxi_shunt_of(self),(oxi_shunt_item*)memory);}
static ox_status oxi_shunt_item_read(ox_shunt*s,oxi_shunt_item*item,size_t offset,void*out,size_t bytes);
static ox_status oxi_shunt_item_write(ox_shunt*s,oxi_shunt_item*item,size_t offset,const void*data,size_t bytes);
static ox_status oxi_shunt_ready(ox_shunt*s,const oxi_shunt_item*item){return item->pending>0?oxi_shunt_flush(s):OX_OK;}
static ox_status oxi_shunt_lost(const ox_shunt*s){
return oxi_fail(OX_ERR_DEVICE,"%s: these numbers were lost when a step failed",s->name);}
static ox_status oxi_shunt_read(ox_device*self,const void*memory,size_t offset,void*out,size_t bytes){ox_shunt*s=oxi_shunt_of(self);
oxi_shunt_item*item=(oxi_shunt_item*)(uintptr_t)memory;ox_status status=oxi_shunt_enter(s);if(status!=OX_OK)return status;
status=s->node_count>0?oxi_shunt_flush(s):OX_OK;if(status==OX_OK)status=oxi_shunt_is_lost(item)?oxi_shunt_lost(s):OX_OK;
if(status==OX_OK&&bytes>0)status=oxi_shunt_item_read(s,item,offset,out,bytes);
oxi_stream_give(&s->lock);return status;}
static ox_status oxi_shunt_write(ox_device*self,void*memory,size_t offset,const void*data,size_t bytes){ox_shunt*s=oxi_shunt_of(self);
oxi_shunt_item*item=(oxi_shunt_item*)memory;ox_status status=oxi_shunt_enter(s);if(status!=OX_OK)return status;
status=oxi_shunt_ready(s,item);if(status==OX_OK&&bytes<item->bytes&&oxi_shunt_is_lost(item))status=oxi_shunt_lost(s);
if(status==OX_OK&&bytes>0)status=oxi_shunt_item_write(s,item,offset,data,bytes);
if(status==OX_OK)item->failed=false;
oxi_stream_give(&s->lock);return status;}
static ox_status oxi_shunt_copy(ox_device*self,void*to,size_t to_offset,const void*from,size_t from_offset,size_t bytes){
void*through=oxi_alloc(bytes);ox_status status=through?oxi_shunt_read(self,from,from_offset,through,bytes):OX_ERR_NOMEM;
if(status==OX_OK)status=oxi_shunt_write(self,to,to_offset,through,bytes);
oxi_free(through,bytes);return status;}
static void*oxi_shunt_node_memory(ox_shunt*s,size_t bytes){oxi_shunt_chunk*chunk=s->chunks;bytes=(bytes+15)/16*16;
if(!chunk||chunk->bytes-chunk->used<bytes){size_t head=(sizeof*chunk+15)/16*16;
size_t room=head+bytes>OXI_SHUNT_CHUNK?head+bytes:(size_t)OXI_SHUNT_CHUNK;chunk=(oxi_shunt_chunk*)oxi_alloc(room);if(!chunk)return NULL;
chunk->next=s->chunks;chunk->used=head;chunk->bytes=room;s->chunks=chunk;}
void*memory=(char*)chunk+chunk->used;chunk->used+=bytes;return memory;}
static void oxi_shunt_nodes_free(ox_shunt*s,bool all){while(s->chunks&&(all||s->chunks->next)){oxi_shunt_chunk*chunk=s->chunks;
s->chunks=chunk->next;oxi_free(chunk,chunk->bytes);}
if(s->chunks)s->chunks->used=(sizeof*s->chunks+15)/16*16;
s->node_count=0;}
static oxi_shunt_item*oxi_shunt_snapshot(ox_shunt*s,const ox_tensor*t,int64_t*offset){int64_t first,last;if(ox_numel(t)==0){*offset=0;
oxi_shunt_item*empty=oxi_shunt_item_new(s,0,0);if(empty)empty->held=false;
return empty;}
oxi_reach(t,&first,&last);size_t from=oxi_byte_offset(t->dtype,first);
size_t bytes=oxi_byte_offset(t->dtype,last)+(size_t)oxi_info(t->dtype)->block_bytes-from;*offset=t->offset-first;
oxi_shunt_item*item=oxi_shunt_item_new(s,bytes,0);ox_device*device=ox_device_of(t);ox_status status=item?OX_OK:OX_ERR_NOMEM;
if(status==OX_OK&&device->host){status=oxi_shunt_item_write(s,item,0,(const char*)oxi_storage_data(t->storage)+from,bytes);
}else if(status==OX_OK){void*through=oxi_alloc(bytes);
status=through?device->read(device,t->storage->data,from,through,bytes):OX_ERR_NOMEM;
if(status==OX_OK)status=oxi_shunt_item_write(s,item,0,through,bytes);
oxi_free(through,bytes);}
if(item)item->held=false;
if(status==OX_OK)return item;
if(item)oxi_shunt_item_settle(s,item);
return NULL;}
static bool oxi_shunt_covers(const ox_tensor*t,const oxi_shunt_item*item){if(ox_nbytes(t)!=item->bytes)return false;
for(int d=0;d<t->ndim;d++)
if(t->stride[d]==0&&t->shape[d]>1)return false;
return true;}
static int64_t oxi_shunt_columns_of(const ox_tensor*t){bool rows=t->ndim==2||t->ndim==3;
return rows&&t->stride[t->ndim-1]==1?t->stride[t->ndim-2]:0;}
static bool oxi_shunt_note(ox_shunt*s,ox_tensor*t,bool written,oxi_shunt_operand*o,int64_t**dims,bool*at_once){memset(o,0,sizeof*o);
if(!t)return true;
o->there=true;o->is_number=t->is_number;o->dtype=t->dtype;o->ndim=(int8_t)t->ndim;o->offset=t->offset;o->dims=*dims;
for(int d=0;d<t->ndim;d++){o->dims[d]=t->shape[d];
o->dims[t->ndim+d]=t->stride[d];}
*dims+=2*t->ndim;ox_device*device=ox_device_of(t);if(device==&s->device&&(ox_numel(t)>0||t->storage->bytes==0)){
o->item=(oxi_shunt_item*)t->storage->data;}else if(device==&s->device){if(!(o->item=oxi_shunt_snapshot(s,t,&o->offset)))return false;
}else if(t->is_number&&device->host){memcpy(o->number,oxi_ptr(t),(size_t)oxi_info(t->dtype)->block_bytes);
o->offset=0;return true;}else if(written){o->given=t;
*at_once=true;return true;}else if(!(o->item=oxi_shunt_snapshot(s,t,&o->offset))){return false;}
o->covers=oxi_shunt_covers(t,o->item);o->item->all_f32=o->item->all_f32&&t->dtype==OX_F32;
if(written)o->item->columns=oxi_shunt_columns_of(t);
o->item->pending++;return true;}
static oxi_shunt_node*oxi_shunt_node_new(ox_shunt*s,const oxi_call*call,int64_t**dims){int operands=call->in_count+call->out_count;
size_t numbers=0;for(int i=0;i<call->in_count;i++)numbers+=call->in[i]?2*(size_t)call->in[i]->ndim:0;
for(int i=0;i<call->out_count;i++)numbers+=call->out[i]?2*(size_t)call->out[i]->ndim:0;
size_t head=(sizeof(oxi_shunt_node)+15)/16*16,attr=(sizeof(oxi_attrs)+15)/16*16;size_t list=(size_t)operands*sizeof(oxi_shunt_operand);
char*memory=(char*)oxi_shunt_node_memory(s,head+attr+list+numbers*sizeof**dims);if(!memory)return NULL;
oxi_shunt_node*node=(oxi_shunt_node*)(void*)memory;node->attr=(oxi_attrs*)(void*)(memory+head);
node->operand=(oxi_shunt_operand*)(void*)(memory+head+attr);*dims=(int64_t*)(void*)(memory+head+attr+list);node->op=call->op;
node->exact=call->exact;node->in_count=call->in_count;node->out_count=call->out_count;*node->attr=call->attr;node->random=call->random;
node->name=call->name;node->shape_key=0;node->number=s->node_count;node->told=NULL;return node;}
static bool oxi_shunt_makes_logarithms(const oxi_call*call){return call->op==OXI_OP_log_softmax||call->op==OXI_OP_logsumexp||
(call->op==OXI_OP_attention&&call->out_count>1);}
static ox_status oxi_shunt_keep(ox_shunt*s,const oxi_call*call,bool*at_once){int64_t*dims;oxi_shunt_node**nodes=
(oxi_shunt_node**)oxi_grow(s->nodes,&s->node_room,(size_t)s->node_count+1,sizeof*nodes,false);
if(!nodes)return OX_ERR_NOMEM;
s->nodes=nodes;oxi_shunt_node*node=oxi_shunt_node_new(s,call,&dims);bool noted=node!=NULL;int count=0;
for(;noted&&count<call->in_count;count++)
noted=oxi_shunt_note(s,call->in[count],false,&node->operand[count],&dims,at_once);
for(int i=0;noted&&i<call->out_count;i++,count++)
noted=oxi_shunt_note(s,call->out[i],true,&node->operand[count],&dims,at_once);
if(noted&&oxi_shunt_makes_logarithms(call)&&node->operand[count-1].item)
node->operand[count-1].item->all_f32=false;
if(noted){nodes[s->node_count++]=node;
s->stats.calls++;return OX_OK;}
for(int i=0;node&&i<count-1;i++)
if(node->operand[i].item){node->operand[i].item->pending--;
oxi_shunt_item_settle(s,node->operand[i].item);}
return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;}
static bool oxi_shunt_supports(ox_device*self,const oxi_call*call){const ox_shunt*s=oxi_shunt_of(self);
ox_tensor header[OXI_MAX_IN],*in[OXI_MAX_IN];ox_storage storage;bool saves=call->op==OXI_OP_attention&&call->out_count>1;
if(s->compute->host||(oxi_op_row_of(call->op)->family!=OXI_FAMILY_BACK&&!saves))return true;
memset(&storage,0,sizeof storage);storage.references=1;storage.device=s->compute;oxi_call asked=*call;asked.in=in;
for(int i=0;i<call->in_count;i++){in[i]=call->in[i]?&header[i]:NULL;
if(!in[i])continue;
header[i]=*call->in[i];header[i].storage=&storage;}
return s->compute->supports(s->compute,&asked);}
static ox_status oxi_shunt_run(ox_device*self,const oxi_call*call){ox_shunt*s=oxi_shunt_of(self);bool at_once=s->desc.eager;
ox_status status=oxi_shunt_enter(s);if(status!=OX_OK)return status;
s->references++;for(int i=0;i<call->out_count&&!s->desc.eager;i++)
at_once=at_once||ox_device_of(call->out[i])!=self;
if(at_once&&s->node_count>0)status=oxi_shunt_flush(s);
if(status==OX_OK)status=oxi_shunt_keep(s,call,&at_once);
if(status==OX_OK&&(at_once||s->node_count>=OXI_SHUNT_NODES_MOST))status=oxi_shunt_flush(s);
oxi_shunt_release(s);return status;}
static ox_status oxi_shunt_sync(ox_device*self){ox_shunt*s=oxi_shunt_of(self);ox_status status=oxi_shunt_enter(s);
if(status!=OX_OK)return status;
status=s->node_count>0?oxi_shunt_flush(s):OX_OK;if(status==OX_OK)status=s->compute->sync(s->compute);
oxi_stream_give(&s->lock);return status;}
/* >>stream/shunt/trace.c */
enum{OXI_SHUNT_PLAN_LANE=OXI_LANES,OXI_SHUNT_SPANS=1<<20};
static const char*const oxi_shunt_lane_names[OXI_LANES+1]={"compute","up","down","disk","plan"};
static void oxi_shunt_span_put(ox_shunt*s,int lane,const char*name,double start,double end,uint64_t bytes){if(!s->trace_path)return;
oxi_stream_take(&s->tiers);if(s->span_count==s->span_room&&s->span_room<OXI_SHUNT_SPANS){size_t room=s->span_room?2*s->span_room:1024;
void*grown=oxi_try_alloc(room*sizeof*s->spans);if(grown){if(s->span_count>0)memcpy(grown,s->spans,s->span_count*sizeof*s->spans);
oxi_free(s->spans,s->span_room*sizeof*s->spans);s->spans=(oxi_shunt_span*)grown;s->span_room=room;}}
if(s->span_count<s->span_room){oxi_shunt_span*span=&s->spans[s->span_count++];
span->lane=(uint8_t)lane;span->name=name;span->start=start;span->end=end;span->bytes=bytes;}
oxi_stream_give(&s->tiers);}
static ox_status oxi_shunt_trace_write(ox_shunt*s){if(!s->trace_path)return OX_OK;
FILE*file=fopen(s->trace_path,"wb");if(!file)
return oxi_fail(OX_ERR_IO,"shunt_close: %s: %s",oxi_path_text(s->trace_path),strerror(errno));
enum{LINES=OXI_LANES+1};double over[2*LINES];
bool ok=fprintf(file,"{\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":""{\"name\":\"planner\"}}")>0;
for(int i=0;i<2*LINES&&ok;i++){over[i]=0;
ok=fprintf(file,",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"args\":"
"{\"name\":\"%s%s\"}},\n{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,""\"tid\":%d,\"args\":{\"sort_index\":%d}}",
1 +i,i<LINES?"":"beside ",oxi_shunt_lane_names[i%LINES],1 +i,2*(i%LINES)+i/LINES)>0;}
for(size_t i=0;i<s->span_count&&ok;i++){const oxi_shunt_span*span=&s->spans[i];
int line=span->lane+(span->start<over[span->lane]?LINES:0);double start=fmax(span->start,over[line]),end=fmax(span->end,start);
over[line]=end;ok=fprintf(file,",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
"\"args\":{\"bytes\":%llu}}",span->name,1 +line,1e6*(start-s->origin),1e6*(end-start),(unsigned long long)span->bytes)>0;}
ok=ok&&fprintf(file,"\n]}\n")>0;ok=fclose(file)==0&&ok;return ok?OX_OK:oxi_fail(OX_ERR_IO,"shunt_close: %s could not be written whole",
oxi_path_text(s->trace_path));}
/* >>stream/shunt/run.c */
typedef struct oxi_shunt_headers{ox_tensor few[OXI_MAX_IN+OXI_MAX_OUT],*header;ox_storage few_numbers[OXI_MAX_IN],*number;
ox_tensor*few_in[OXI_MAX_IN],**in;oxi_call call;}oxi_shunt_headers;
static void oxi_shunt_header(const oxi_shunt_operand*o,ox_tensor*t,ox_storage*number){memset(t,0,sizeof*t);t->dtype=o->dtype;
t->ndim=o->ndim;t->offset=o->offset;t->is_number=o->is_number;t->references=1;if(o->ndim>0){
memcpy(t->shape,o->dims,(size_t)o->ndim*sizeof*o->dims);memcpy(t->stride,o->dims+o->ndim,(size_t)o->ndim*sizeof*o->dims);}
if(o->item){t->storage=o->item->storage;
return;}
memset(number,0,sizeof*number);number->references=1;number->device=ox_cpu();number->data=(void*)(uintptr_t)o->number;
number->bytes=sizeof o->number;number->borrowed=true;number->read_only=true;t->storage=number;}
static bool oxi_shunt_headers_open(oxi_shunt_headers*h,const oxi_shunt_node*node){
size_t operands=(size_t)(node->in_count+node->out_count),inputs=(size_t)node->in_count;bool many=node->in_count>OXI_MAX_IN;
h->header=many?(ox_tensor*)oxi_alloc(operands*sizeof*h->header):h->few;
h->number=many?(ox_storage*)oxi_alloc(inputs*sizeof*h->number):h->few_numbers;
h->in=many?(ox_tensor**)oxi_alloc(inputs*sizeof*h->in):h->few_in;oxi_call*call=&h->call;memset(call,0,sizeof*call);call->op=node->op;
call->in_count=node->in_count;call->out_count=node->out_count;call->exact=node->exact;call->attr=*node->attr;call->random=node->random;
call->name=node->name;call->in=h->in;if(!h->header||!h->number||!h->in)return false;
for(int i=0;i<node->in_count+node->out_count;i++){const oxi_shunt_operand*o=&node->operand[i];
bool is_in=i<node->in_count;ox_tensor*t=o->given?o->given:o->there?&h->header[i]:NULL;
if(t&&!o->given)oxi_shunt_header(o,t,&h->number[is_in?i:0]);
if(is_in)
h->in[i]=t;
else
call->out[i-node->in_count]=t;}
return true;}
static void oxi_shunt_headers_close(oxi_shunt_headers*h,const oxi_shunt_node*node){if(node->in_count<=OXI_MAX_IN)return;
size_t operands=(size_t)(node->in_count+node->out_count),inputs=(size_t)node->in_count;oxi_free(h->header,operands*sizeof*h->header);
oxi_free(h->number,inputs*sizeof*h->number);oxi_free(h->in,inputs*sizeof*h->in);}
static const char*oxi_shunt_node_name(const oxi_shunt_node*node){return node->name?node->name:oxi_op_row_of(node->op)->name;}
static void oxi_shunt_blame(const ox_shunt*s,const oxi_shunt_node*node){char text[OXI_ERROR_ROOM];
int length=snprintf(text,sizeof text,"%s, call %lld (%s): %.400s",s->name,(long long)node->number,
oxi_shunt_node_name(node),ox_error_text());
if(length>0)memcpy(oxi_thread_error.text,text,sizeof text);}
static void oxi_shunt_mean_put(ox_shunt*s,uint64_t key,double seconds);
static bool oxi_shunt_mean_wants(ox_shunt*s,uint64_t key);
static void oxi_shunt_span_put(ox_shunt*s,int lane,const char*name,double start,double end,uint64_t bytes);
static void oxi_shunt_written(ox_shunt*s,oxi_shunt_item*item);static ox_status oxi_shunt_unlend(ox_shunt*s,oxi_shunt_item*item);
static ox_status oxi_shunt_unlend_results(ox_shunt*s,const oxi_shunt_node*node){ox_status status=OX_OK;
for(int i=node->in_count;i<node->in_count+node->out_count&&status==OX_OK;i++)
if(node->operand[i].item)status=oxi_shunt_unlend(s,node->operand[i].item);
return status;}
static ox_status oxi_shunt_run_node(ox_shunt*s,const oxi_shunt_node*node){oxi_shunt_headers h;oxi_profile_record record;
const char*speaker=oxi_speaker;ox_status status=oxi_shunt_unlend_results(s,node);if(status!=OX_OK)return status;
bool opened=oxi_shunt_headers_open(&h,node),profiled=oxi_profiling();status=opened?OX_OK:OX_ERR_NOMEM;oxi_speaker=NULL;
bool clean=ox_error()==OX_OK;if(opened&&profiled)record=oxi_profile_record_of(&h.call,OXI_PROFILE_CALLS);
bool waits=opened&&!s->compute->host&&oxi_shunt_mean_wants(s,node->shape_key);if(waits)status=s->compute->sync(s->compute);
double start=oxi_now();
if(opened&&status==OX_OK)status=oxi_run_part(s->compute,&h.call,node->told);
if(waits&&status==OX_OK)status=s->compute->sync(s->compute);
double end=oxi_now();
oxi_speaker=speaker;if(opened&&profiled&&status==OX_OK){record.start=start;
record.seconds=end-start;oxi_profile_put(&record);}
oxi_shunt_headers_close(&h,node);if(status!=OX_OK&&clean)oxi_shunt_blame(s,node);
for(int i=0;i<node->out_count;i++){const oxi_shunt_operand*o=&node->operand[node->in_count+i];
if(!o->item||(status!=OX_OK&&!o->item->valid))continue;
oxi_shunt_written(s,o->item);(void)oxi_atomic_add(&o->item->storage->version,1);}
if(status!=OX_OK)return status;
s->stats.compute_seconds+=end-start;double took=end-start-(s->compute->host?0:s->rates.empty);
if(s->compute->host||waits)oxi_shunt_mean_put(s,node->shape_key,took>1e-7?took:1e-7);
oxi_shunt_span_put(s,OXI_LANE_COMPUTE,oxi_shunt_node_name(node),start,end,0);return OX_OK;}
static void oxi_shunt_wait_for_others(ox_shunt*s){bool times=false;for(int64_t n=0;n<s->node_count&&!s->compute->host&&!times;n++)
times=oxi_shunt_mean_wants(s,s->nodes[n]->shape_key);
if(times)(void)s->compute->sync(s->compute);}
/* >>stream/shunt/tiers.c */
static ox_status oxi_shunt_stream_open(ox_shunt*s){if(s->stream)return OX_OK;
ox_stream_desc desc;memset(&desc,0,sizeof desc);uint64_t tile=s->main_bytes/24/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE;
const uint64_t least=(uint64_t)64<<10,most=(uint64_t)4<<20;desc.depth=3;desc.tile_bytes=(size_t)(tile<least?least:tile<most?tile:most);
desc.ram_bytes=4*(size_t)desc.depth*desc.tile_bytes;if(desc.ram_bytes<(size_t)1<<20)desc.ram_bytes=(size_t)1<<20;
desc.forgetful=true;desc.spill=s->spill;desc.fault=s->desc.fault;desc.fault_user=s->desc.fault_user;s->stream=ox_stream_open(&desc);
if(!s->stream)return ox_error();
return s->desc.disk_bytes?ox_device_set_budget(ox_stream_device(s->stream),s->desc.disk_bytes):OX_OK;}
static void oxi_shunt_rate_put(ox_shunt*s,int lane,bool write,size_t bytes,double seconds);
static void oxi_shunt_disk_put(ox_shunt*s,bool write,size_t bytes,double seconds,bool behind,bool together);
static void oxi_shunt_flight_begin(oxi_shunt_flight*f,ox_storage*disk,size_t at,char*memory,
size_t bytes,bool write,bool owns,bool urgent){const oxi_stream_region*region=(const oxi_stream_region*)disk->data;
ox_stream*stream=region->stream;memset(f,0,sizeof*f);f->stream=stream;f->file=region->file;f->bytes=bytes;f->write=write;
uint64_t offset=region->offset+at;size_t skew=(size_t)(offset%OXI_STREAM_PAGE),lead=0,whole=0;
bool direct=region->file->direct!=-1&&(uintptr_t)memory%OXI_STREAM_PAGE==skew;if(direct&&owns&&write){offset-=skew;
memory-=skew;bytes=(bytes+skew+OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;}
if(direct&&owns){whole=bytes;}else if(direct){lead=(OXI_STREAM_PAGE-skew)%OXI_STREAM_PAGE;
if(lead<bytes)whole=(bytes-lead)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;
if(whole==0)lead=0;}
oxi_stream_lock(stream);f->start=oxi_now();stream->reader.urgent=urgent;const size_t parts[4]={0,lead,lead+whole,bytes};
for(int i=0;i<3;i++)
if(parts[i+1]>parts[i])
oxi_ring_request(stream,&f->load,region->file,offset+parts[i],parts[i+1]-parts[i],memory+parts[i],write,i==1);
stream->reader.urgent=false;oxi_stream_unlock(stream);}
static bool oxi_shunt_flight_step(oxi_shunt_flight*f){oxi_stream_lock(f->stream);
if(f->load.pending>0)(void)oxi_ring_deliver(f->stream,true);
bool over=f->load.pending==0;oxi_stream_unlock(f->stream);return over;}
static ox_status oxi_shunt_flight_end(ox_shunt*s,oxi_shunt_flight*f){while(!oxi_shunt_flight_step(f)){}
ox_status status=f->load.cause!=0?oxi_ring_fail(&f->load,f->file):OX_OK;oxi_stream_take(&s->tiers);
bool behind=f->start<s->disk_moved_at,together=behind&&f->load.end<=s->disk_moved_at;double start=behind?s->disk_moved_at:f->start;
double end=f->load.end>start?f->load.end:start;
s->disk_moved_at=end;*(f->write?&s->stats.written_bytes:&s->stats.read_bytes)+=(int64_t)f->bytes;
s->stats.ahead_bytes+=f->unwatched?(int64_t)f->bytes:0;oxi_stream_give(&s->tiers);
oxi_shunt_span_put(s,OXI_LANE_DISK,f->write?"write":"read",start,end,f->bytes);if(status==OX_OK&&!f->unwatched)
oxi_shunt_disk_put(s,f->write,f->bytes,end-start,behind,together);
f->stream=NULL;return status;}
static ox_status oxi_shunt_disk_move(ox_shunt*s,ox_storage*disk,size_t at,char*memory,size_t bytes,bool write,bool owns){
oxi_shunt_flight flight;oxi_shunt_flight_begin(&flight,disk,at,memory,bytes,write,owns,true);return oxi_shunt_flight_end(s,&flight);}
static bool oxi_shunt_owns_pages(const ox_shunt*s,const oxi_shunt_item*item){
return s->compute->host&&oxi_shunt_is_planned(s)&&!item->small&&item->place%OXI_SHUNT_PAGE==0&&
oxi_shunt_item_room(item)%OXI_SHUNT_PAGE==0;}
static oxi_error oxi_shunt_errors_begin(void){oxi_error earlier;earlier.status=OX_OK;oxi_error_move(&earlier);return earlier;}
static void oxi_shunt_errors_end(const oxi_error*earlier){ox_error_clear();oxi_error_put_back(earlier);}
static bool oxi_shunt_flight_lands(ox_shunt*s,oxi_shunt_flight*flight){const oxi_error earlier=oxi_shunt_errors_begin();
bool lands=oxi_shunt_flight_end(s,flight)==OX_OK;oxi_shunt_errors_end(&earlier);return lands;}
static void oxi_shunt_land(ox_shunt*s,oxi_shunt_item*item){if(!item->flight)return;
item->valid=oxi_shunt_flight_lands(s,item->flight);item->flight=NULL;}
static void oxi_shunt_kept_put(ox_shunt*s,ox_storage*pinned);
static void oxi_shunt_host_return(ox_shunt*s,void*memory,size_t bytes,ox_storage*pinned){if(pinned)
oxi_shunt_kept_put(s,pinned);
else
oxi_free(memory,bytes);
oxi_stream_take(&s->tiers);s->stats.host_bytes-=bytes;oxi_stream_give(&s->tiers);}
static void oxi_shunt_host_drop(ox_shunt*s,oxi_shunt_item*item){if(!item->host)return;
oxi_shunt_host_return(s,item->host,item->host_bytes,item->pinned);item->host=NULL;item->pinned=NULL;item->host_bytes=0;}
static void oxi_shunt_host_set(oxi_shunt_item*item,void*host,size_t bytes,ox_storage*pinned){item->host=host;item->host_bytes=bytes;
item->pinned=pinned;}
static void oxi_shunt_disk_set(oxi_shunt_item*item,size_t bytes,size_t at){item->disk_valid=true;item->disk_bytes=bytes;item->disk_at=at;
}
static void oxi_shunt_disk_drop(oxi_shunt_item*item){oxi_storage_release(item->disk);item->disk=NULL;item->disk_valid=item->file=false;
item->disk_bytes=item->disk_at=0;}
static void oxi_shunt_disk_stale(const ox_shunt*s,oxi_shunt_item*item){if(item->file||s->desc.disk_bytes>0)
oxi_shunt_disk_drop(item);
else
item->disk_valid=false;}
static void oxi_shunt_written(ox_shunt*s,oxi_shunt_item*item){item->valid=true;item->failed=false;item->ahead=0;
oxi_shunt_host_drop(s,item);oxi_shunt_disk_stale(s,item);item->packed=OX_COMPRESSION_NONE;}
static bool oxi_shunt_has_copy(const oxi_shunt_item*item){return item->host||item->disk_valid;}
static bool oxi_shunt_is_bare(const oxi_shunt_item*item){return item->valid&&!oxi_shunt_has_copy(item);}
static void oxi_shunt_count_device(ox_shunt*s,uint64_t bytes,bool more){oxi_stream_take(&s->tiers);s->device_in_use+=more?bytes:0 -bytes;
s->stats.device_bytes=s->device_in_use;if(s->device_in_use>s->stats.device_peak)s->stats.device_peak=s->device_in_use;
oxi_stream_give(&s->tiers);}
static void oxi_shunt_device_drop(ox_shunt*s,oxi_shunt_item*item){if(!item->storage)return;
oxi_shunt_land(s,item);item->ahead=0;oxi_storage_release(item->storage);item->storage=NULL;item->valid=item->lent=false;
oxi_shunt_count_device(s,oxi_shunt_item_room(item),false);}
static void oxi_shunt_resident_remove(ox_shunt*s,const oxi_shunt_item*item);
static void oxi_shunt_parts_drop(ox_shunt*s,oxi_shunt_item*item);static void oxi_shunt_ahead_drop(ox_shunt*s,const oxi_shunt_item*item);
static void oxi_shunt_item_forget(ox_shunt*s,oxi_shunt_item*item){oxi_shunt_ahead_drop(s,item);oxi_shunt_parts_drop(s,item);
if(item->storage&&oxi_shunt_is_planned(s))oxi_shunt_resident_remove(s,item);
oxi_shunt_device_drop(s,item);oxi_shunt_host_drop(s,item);oxi_shunt_disk_drop(item);}
static void*oxi_shunt_pinned_new(ox_shunt*s,size_t bytes,ox_storage**pinned);
static void*oxi_shunt_host_take(ox_shunt*s,size_t bytes,ox_storage**pinned){oxi_stream_take(&s->tiers);bool fits=
s->stats.host_bytes<=s->desc.host_bytes&&bytes<=s->desc.host_bytes-s->stats.host_bytes;
if(fits)s->stats.host_bytes+=bytes;
if(s->stats.host_bytes>s->stats.host_peak)s->stats.host_peak=s->stats.host_bytes;
oxi_stream_give(&s->tiers);void*memory=fits?oxi_shunt_pinned_new(s,bytes,pinned):NULL;
if(fits&&!memory)oxi_shunt_host_return(s,NULL,bytes,NULL);
return memory;}
static ox_status oxi_shunt_disk_take(ox_shunt*s,oxi_shunt_item*item,size_t bytes){
if(item->disk&&!item->file&&item->disk->bytes>=bytes)return OX_OK;
oxi_shunt_disk_drop(item);oxi_stream_take(&s->opening);ox_status status=oxi_shunt_stream_open(s);oxi_stream_give(&s->opening);
if(status==OX_OK)item->disk=oxi_storage_new(ox_stream_device(s->stream),bytes);
if(!item->disk)return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;
ox_device_stats now=ox_device_get_stats(ox_stream_device(s->stream));oxi_stream_take(&s->tiers);s->stats.disk_peak=now.bytes_peak;
oxi_stream_give(&s->tiers);return OX_OK;}
static void oxi_shunt_count_link(ox_shunt*s,bool up,size_t bytes,double start){const int lane=up?OXI_LANE_UP:OXI_LANE_DOWN;
double end=oxi_now();
oxi_shunt_span_put(s,lane,up?"save":"load",start,end,bytes);oxi_shunt_rate_put(s,lane,up,bytes,end-start);oxi_stream_take(&s->tiers);
*(up?&s->stats.up_bytes:&s->stats.down_bytes)+=(int64_t)bytes;
oxi_stream_give(&s->tiers);}
static ox_status oxi_shunt_put_copy(ox_shunt*s,oxi_shunt_item*item,const void*data,size_t bytes,size_t at,bool owns){
double start=oxi_now();
ox_storage*pinned=NULL;void*host=oxi_shunt_host_take(s,bytes,&pinned);if(host){if(bytes>0)memcpy(host,data,bytes);
oxi_shunt_host_drop(s,item);oxi_shunt_host_set(item,host,bytes,pinned);oxi_shunt_count_link(s,true,bytes,start);return OX_OK;}
ox_status status=oxi_shunt_disk_take(s,item,bytes+at);if(status==OX_OK)
status=oxi_shunt_disk_move(s,item->disk,at,(char*)(uintptr_t)data,bytes,true,owns);
if(status==OX_OK)oxi_shunt_disk_set(item,bytes,at);
return status;}
static bool oxi_shunt_may_pack(const ox_shunt*s,const oxi_shunt_item*item){
return s->desc.compression!=OX_COMPRESSION_NONE&&item->all_f32&&!item->small&&item->bytes%4==0&&s->desc.compress>>item->kind&1;}
static bool oxi_shunt_packs(const ox_shunt*s,const oxi_shunt_item*item){
return(item->packs||s->desc.compress&OX_COMPRESS_ALWAYS)&&oxi_shunt_may_pack(s,item);}
static ox_status oxi_shunt_save_packed(ox_shunt*s,oxi_shunt_item*item,const void*data);
static ox_status oxi_shunt_load_packed(ox_shunt*s,const oxi_shunt_item*item,const void*packed,void*out);
static ox_status oxi_shunt_link_item(ox_shunt*s,const oxi_shunt_item*item,size_t at,char*host,size_t bytes,bool up);
static ox_status oxi_shunt_save_off(ox_shunt*s,oxi_shunt_item*item);
static ox_status oxi_shunt_load_on(ox_shunt*s,const oxi_shunt_item*item);static void oxi_shunt_cache(ox_shunt*s,oxi_shunt_item*item){
if(!item->valid||item->host||!item->disk_valid||item->packed!=OX_COMPRESSION_NONE)return;
ox_storage*pinned=NULL;char*host=(char*)oxi_shunt_host_take(s,item->bytes,&pinned);if(!host)return;
oxi_storage_plain(item->storage);if(oxi_shunt_link_item(s,item,0,host,item->bytes,true)==OX_OK)
oxi_shunt_host_set(item,host,item->bytes,pinned);
else
oxi_shunt_host_return(s,host,item->bytes,pinned);}
static ox_status oxi_shunt_save(ox_shunt*s,oxi_shunt_item*item){if(!oxi_shunt_is_bare(item))return OX_OK;
ox_status status=OX_OK;oxi_storage_plain(item->storage);if(!s->compute->host&&!oxi_shunt_packs(s,item))return oxi_shunt_save_off(s,item);
void*data=item->storage->data,*through=NULL;if(!s->compute->host){data=through=oxi_alloc(item->bytes);
status=data?s->compute->read(s->compute,item->storage->data,0,data,item->bytes):OX_ERR_NOMEM;}
if(status==OX_OK)
status=oxi_shunt_packs(s,item)?oxi_shunt_save_packed(s,item,data):oxi_shunt_put_copy(s,item,data,item->bytes,item->skew,
oxi_shunt_owns_pages(s,item));
oxi_free(through,item->bytes);return status;}
static ox_status oxi_shunt_get_copy(ox_shunt*s,const oxi_shunt_item*item,size_t offset,void*out,size_t bytes,bool owns){if(!item->host)
return oxi_shunt_disk_move(s,item->disk,item->disk_at+offset,(char*)out,bytes,false,owns);
double start=oxi_now();
if(bytes>0)memcpy(out,(const char*)item->host+offset,bytes);
oxi_shunt_count_link(s,false,bytes,start);return OX_OK;}
static ox_status oxi_shunt_fetch(ox_shunt*s,const oxi_shunt_item*item,void*out,bool owns){
if(item->packed==OX_COMPRESSION_NONE)return oxi_shunt_get_copy(s,item,0,out,item->bytes,owns);
size_t bytes=item->host?item->host_bytes:item->disk_bytes;void*packed=oxi_alloc(bytes);
ox_status status=packed?oxi_shunt_get_copy(s,item,0,packed,bytes,false):OX_ERR_NOMEM;
if(status==OX_OK)status=oxi_shunt_load_packed(s,item,packed,out);
oxi_free(packed,bytes);return status;}
static bool oxi_shunt_may_lend(const ox_shunt*s,int kind){return s->compute->host&&kind==OXI_KIND_WEIGHT;}
static ox_storage*oxi_shunt_storage_at(ox_shunt*s,const oxi_shunt_item*item,uint64_t place){
return oxi_storage_borrow(s->compute,(char*)s->arena+place+item->skew,item->bytes,NULL,NULL);}
static ox_status oxi_shunt_unlend(ox_shunt*s,oxi_shunt_item*item){if(!item->lent)return OX_OK;
ox_storage*own=oxi_shunt_storage_at(s,item,item->place);if(!own)return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;
memcpy(own->data,item->host,item->bytes);oxi_storage_release(item->storage);item->storage=own;item->lent=false;return OX_OK;}
static ox_status oxi_shunt_load(ox_shunt*s,oxi_shunt_item*item){ox_status status;if(item->valid||!oxi_shunt_has_copy(item))return OX_OK;
if(s->compute->host){status=oxi_shunt_fetch(s,item,item->storage->data,oxi_shunt_owns_pages(s,item));
}else if(item->packed==OX_COMPRESSION_NONE){status=oxi_shunt_load_on(s,item);}else{void*through=oxi_alloc(item->bytes);
status=through?oxi_shunt_fetch(s,item,through,false):OX_ERR_NOMEM;if(status==OX_OK)
status=s->compute->write(s->compute,item->storage->data,0,through,item->bytes);
oxi_free(through,item->bytes);}
item->valid=status==OX_OK;return status;}
static bool oxi_shunt_loads_plainly(const ox_shunt*s,const oxi_shunt_item*item){
return s->compute->host&&!item->valid&&!item->host&&item->disk_valid&&item->packed==OX_COMPRESSION_NONE;}
static void oxi_shunt_load_begin(ox_shunt*s,oxi_shunt_item*item,oxi_shunt_flight*flight){
oxi_shunt_flight_begin(flight,item->disk,item->disk_at,(char*)item->storage->data,item->bytes,false,oxi_shunt_owns_pages(s,item),false);}
static bool oxi_shunt_saves_plainly(const ox_shunt*s,const oxi_shunt_item*item){
return s->compute->host&&oxi_shunt_is_bare(item)&&!oxi_shunt_packs(s,item);}
static ox_status oxi_shunt_save_begin(ox_shunt*s,oxi_shunt_item*item,oxi_shunt_flight*flight){oxi_storage_plain(item->storage);
ox_status status=oxi_shunt_disk_take(s,item,item->bytes+item->skew);if(status!=OX_OK)return status;
oxi_shunt_flight_begin(flight,item->disk,item->skew,(char*)item->storage->data,item->bytes,true,oxi_shunt_owns_pages(s,item),false);
return OX_OK;}
static ox_status oxi_shunt_move_end(ox_shunt*s,oxi_shunt_item*item,oxi_shunt_flight*flight){bool write=flight->write;
ox_status status=oxi_shunt_flight_end(s,flight);if(!write)item->valid=status==OX_OK;
if(write&&status==OX_OK)oxi_shunt_disk_set(item,item->bytes,item->skew);
return status;}
static ox_status oxi_shunt_bring(ox_shunt*s,oxi_shunt_item*item,bool loads);
static ox_status oxi_shunt_parts_move(ox_shunt*s,oxi_shunt_item*item,size_t offset,void*out,const void*data,size_t bytes);
static ox_status oxi_shunt_parts_replace(ox_shunt*s,oxi_shunt_item*item,const char*data);
static ox_status oxi_shunt_parts_even(ox_shunt*s,oxi_shunt_item*item);
static bool oxi_shunt_is_oversized(const ox_shunt*s,const oxi_shunt_item*item);
static ox_status oxi_shunt_item_read(ox_shunt*s,oxi_shunt_item*item,size_t offset,void*out,size_t bytes){oxi_shunt_land(s,item);
if(item->part)return oxi_shunt_parts_move(s,item,offset,out,NULL,bytes);
if(item->valid){oxi_storage_plain(item->storage);
return s->compute->read(s->compute,item->storage->data,offset,out,bytes);}
if(!oxi_shunt_has_copy(item)){memset(out,0,bytes);
return OX_OK;}
ox_status status=s->compute->host?OX_OK:s->compute->sync(s->compute);if(status!=OX_OK)return status;
if(item->packed==OX_COMPRESSION_NONE)return oxi_shunt_get_copy(s,item,offset,out,bytes,false);
if(offset==0&&bytes==item->bytes)return oxi_shunt_fetch(s,item,out,false);
void*all=oxi_alloc(item->bytes);status=all?oxi_shunt_fetch(s,item,all,false):OX_ERR_NOMEM;
if(status==OX_OK)memcpy(out,(const char*)all+offset,bytes);
oxi_free(all,item->bytes);return status;}
static void oxi_shunt_copies_move(oxi_shunt_item*to,oxi_shunt_item*from){oxi_shunt_host_set(to,from->host,from->host_bytes,from->pinned);
oxi_shunt_host_set(from,NULL,0,NULL);to->disk=from->disk;to->disk_valid=from->disk_valid;to->file=from->file;
to->disk_bytes=from->disk_bytes;to->disk_at=from->disk_at;from->disk=NULL;oxi_shunt_disk_drop(from);}
static ox_status oxi_shunt_replace(ox_shunt*s,oxi_shunt_item*item,const void*data){const bool clean=ox_error()==OX_OK;oxi_shunt_item old;
memset(&old,0,sizeof old);if(item->host&&item->host_bytes==item->bytes){double start=oxi_now();
memcpy(item->host,data,item->bytes);oxi_shunt_count_link(s,true,item->bytes,start);oxi_shunt_disk_stale(s,item);return OX_OK;}
if(oxi_shunt_has_copy(item))oxi_shunt_copies_move(&old,item);
ox_status status=oxi_shunt_put_copy(s,item,data,item->bytes,item->skew,false);if(status!=OX_OK&&oxi_shunt_has_copy(&old)){
const bool had_room=item->disk!=NULL;oxi_shunt_disk_drop(item);oxi_shunt_copies_move(item,&old);
if(had_room||(item->file&&!item->host))return status;
if(clean)ox_error_clear();
oxi_shunt_host_drop(s,item);if(item->file)
oxi_shunt_disk_drop(item);
else
item->disk_valid=false;
status=oxi_shunt_put_copy(s,item,data,item->bytes,item->skew,false);item->failed=item->failed||status!=OX_OK;}
if(status==OX_OK)item->packed=OX_COMPRESSION_NONE;
oxi_shunt_host_drop(s,&old);oxi_shunt_disk_drop(&old);return status;}
static ox_status oxi_shunt_item_write(ox_shunt*s,oxi_shunt_item*item,size_t offset,const void*data,size_t bytes){
bool whole=offset==0&&bytes==item->bytes;oxi_shunt_land(s,item);oxi_shunt_ahead_drop(s,item);
if(!item->part&&!whole&&!item->storage&&oxi_shunt_is_oversized(s,item)){ox_status cut=oxi_shunt_parts_even(s,item);
if(cut!=OX_OK)return cut;}
if(item->part&&whole)return oxi_shunt_parts_replace(s,item,(const char*)data);
if(item->part)return oxi_shunt_parts_move(s,item,offset,NULL,data,bytes);
if(whole&&oxi_shunt_is_planned(s)&&!item->storage&&!item->small)
return oxi_shunt_replace(s,item,data);
ox_status status=oxi_shunt_bring(s,item,!whole);if(status==OX_OK)status=oxi_shunt_unlend(s,item);
if(status!=OX_OK)return status;
oxi_storage_plain(item->storage);status=s->compute->write(s->compute,item->storage->data,offset,data,bytes);
if(status!=OX_OK)return status;
oxi_shunt_written(s,item);(void)oxi_atomic_add(&item->storage->version,1);return status;}
/* >>stream/shunt/compress.c */
enum{OXI_SHUNT_BLOCK=32,OXI_SHUNT_F8_BLOCK=16,OXI_SHUNT_F8_NAN=0x80};
static void oxi_shunt_to_roots(const float*x,float scale,uint8_t*out){const float whole=12582912;uint8_t code[OXI_SHUNT_F8_BLOCK];
for(int i=0;i<OXI_SHUNT_F8_BLOCK;i++){float root=oxi_float_of_bits((oxi_bits_of_float(fabsf(x[i])/scale)>>1)+(70u<<23));
uint32_t size=oxi_bits_of_float(root+whole)&0xff;code[i]=(uint8_t)(size|(oxi_bits_of_float(x[i])>>24&(size+0x7f)&0x80));}
memcpy(out,code,sizeof code);}
static float oxi_shunt_from_root(uint8_t x,float scale){int32_t code=x&0x7f;
uint32_t bits=2*oxi_bits_of_float((float)code)-(140u<<23),some=0u -(uint32_t)(code>0);
uint32_t nan=0u -(uint32_t)(x==OXI_SHUNT_F8_NAN),sign=(x&0x80u)<<24;float size=oxi_float_of_bits(bits&some)*scale;
return oxi_float_of_bits(oxi_bits_of_float(size)|sign|(0x7fc00000u&nan));}
static float oxi_shunt_most(const float*x,int32_t over){int32_t most=0;for(int i=0;i<OXI_SHUNT_F8_BLOCK;i++){
int32_t size=(int32_t)(oxi_bits_of_float(x[i])&0x7fffffff);size=size<over?size:0;most=size>most?size:most;}
return oxi_float_of_bits((uint32_t)most);}
static void oxi_shunt_to_f8(const float*x,int64_t blocks,uint16_t*scales,uint8_t*out){const float top=63.0f/32,least=FLT_MIN*top;
bool odd=false;for(int64_t b=0;b<blocks;b++){float most=oxi_shunt_most(x+b*OXI_SHUNT_F8_BLOCK,INT32_MAX);
if(!(most<=FLT_MAX)){odd=true;
most=oxi_shunt_most(x+b*OXI_SHUNT_F8_BLOCK,0x7f800000);}
if(most<least)most=least;
scales[b]=(uint16_t)((oxi_bits_of_float(most/top)+0x8000)>>16);}
for(int64_t b=0;b<blocks;b++)
oxi_shunt_to_roots(x+b*OXI_SHUNT_F8_BLOCK,oxi_bf16_to_f32(scales[b]),out+b*OXI_SHUNT_F8_BLOCK);
for(int64_t i=0;i<blocks*OXI_SHUNT_F8_BLOCK&&odd;i++)
if(!(fabsf(x[i])<=FLT_MAX))out[i]=OXI_SHUNT_F8_NAN;}
static void oxi_shunt_from_f8(const uint16_t*scales,const uint8_t*x,int64_t blocks,float*out){float roots[256];
for(int i=0;i<256;i++)roots[i]=oxi_shunt_from_root((uint8_t)i,1);
for(int64_t b=0;b<blocks;b++,x+=OXI_SHUNT_F8_BLOCK,out+=OXI_SHUNT_F8_BLOCK){const float scale=oxi_bf16_to_f32(scales[b]);
for(int i=0;i<OXI_SHUNT_F8_BLOCK;i++)out[i]=roots[x[i]]*scale;}}
static ox_dtype oxi_shunt_packed_dtype(int compression){return compression==OX_COMPRESSION_F16?OX_F16
:compression==OX_COMPRESSION_I8?OX_Q8_0:compression==OX_COMPRESSION_Q4?OX_Q4_0:OX_DTYPE_NONE;}
static int oxi_shunt_compression_of(const ox_shunt*s,int64_t count){
return count%OXI_SHUNT_BLOCK?OX_COMPRESSION_F16:(int)s->desc.compression;}
static size_t oxi_shunt_packed_bytes(int compression,int64_t count){
const ox_dtype_info*info=oxi_info(oxi_shunt_packed_dtype(compression));if(compression==OX_COMPRESSION_F8)
return(size_t)count+(size_t)(count/OXI_SHUNT_F8_BLOCK)*sizeof(uint16_t);
return(size_t)(count/info->block_elements)*(size_t)info->block_bytes;}
static void oxi_shunt_as_tensor(ox_tensor*t,ox_storage*storage,ox_dtype dtype,int ndim,const int64_t*shape,const void*data){
memset(storage,0,sizeof*storage);oxi_meta(t,dtype,ndim,shape);storage->references=t->references=1;storage->device=ox_cpu();
storage->data=(void*)(uintptr_t)data;storage->bytes=ox_nbytes(t);storage->borrowed=true;t->storage=storage;}
static ox_status oxi_shunt_copy_tensor(ox_tensor*from,ox_tensor*to){oxi_call copy=oxi_call_of(OXI_OP_copy,&from,1,to);
copy.attr=oxi_attrs_dtype();return oxi_apply_quiet(&copy);}
static ox_status oxi_shunt_cast(const void*from,ox_dtype from_dtype,void*to,ox_dtype to_dtype,int64_t count){ox_storage storage[2];
ox_tensor t[2];oxi_shunt_as_tensor(&t[0],&storage[0],from_dtype,1,&count,from);
oxi_shunt_as_tensor(&t[1],&storage[1],to_dtype,1,&count,to);return oxi_shunt_copy_tensor(&t[0],&t[1]);}
static ox_status oxi_shunt_transpose(const float*x,int64_t count,int64_t rows,int64_t columns,float*out){
const int64_t shape[3]={count/(rows*columns),columns,rows};ox_storage storage[2];ox_tensor t[2];
oxi_shunt_as_tensor(&t[0],&storage[0],OX_F32,3,shape,x);oxi_shunt_as_tensor(&t[1],&storage[1],OX_F32,3,shape,out);t[0].stride[1]=1;
t[0].stride[2]=columns;return oxi_shunt_copy_tensor(&t[0],&t[1]);}
static int oxi_shunt_shift_of(const float*x,int64_t count){float most=0;int exponent=0;for(int64_t i=0;i<count;i++){
float size=fabsf(x[i]);if(size>most&&size<=FLT_MAX)most=size;}
(void)frexpf(most,&exponent);int shift=most>0?15 -exponent:0;return shift>126?126:shift<-126?-126:shift;}
enum{OXI_SHUNT_PACKS=1<<16};typedef struct oxi_shunt_packing{int64_t count,columns;int compression,shift;}oxi_shunt_packing;
static int64_t oxi_shunt_packed_at_once(const oxi_shunt_packing*p){
int64_t tile=OXI_SHUNT_BLOCK*(p->columns>0?p->columns:1),tiles=OXI_SHUNT_PACKS/tile;return oxi_min_i64(p->count,tiles>1?tiles*tile:tile);
}
static char*oxi_shunt_packed_at(const oxi_shunt_packing*p,const char*packed,int64_t at,uint16_t**scale){
char*first=(char*)(uintptr_t)packed;*scale=(uint16_t*)(void*)first+at/OXI_SHUNT_F8_BLOCK;if(p->compression==OX_COMPRESSION_F8)
return first+(size_t)(p->count/OXI_SHUNT_F8_BLOCK)*sizeof**scale+at;
return first+oxi_shunt_packed_bytes(p->compression,at);}
static ox_status oxi_shunt_pack(const oxi_shunt_packing*p,const float*x,char*packed){
const ox_dtype dtype=oxi_shunt_packed_dtype(p->compression);int64_t most=oxi_shunt_packed_at_once(p);
const bool stages=p->columns>0||p->compression!=OX_COMPRESSION_F8;float factor=ldexpf(1,p->shift),*part=NULL;
if(stages)part=(float*)oxi_alloc((size_t)most*sizeof*part);
ox_status status=part||!stages?OX_OK:OX_ERR_NOMEM;for(int64_t at=0,some;at<p->count&&status==OX_OK;at+=some){uint16_t*scale;
char*out=oxi_shunt_packed_at(p,packed,at,&scale);const float*from=p->columns>0?part:x+at;some=p->count-at<most?p->count-at:most;
if(p->columns>0)status=oxi_shunt_transpose(x+at,some,OXI_SHUNT_BLOCK,p->columns,part);
if(p->compression==OX_COMPRESSION_F8){oxi_shunt_to_f8(from,some/OXI_SHUNT_F8_BLOCK,scale,(uint8_t*)out);
continue;}
for(int64_t i=0;i<some;i++)part[i]=from[i]*factor;
if(status==OX_OK)status=oxi_shunt_cast(part,OX_F32,out,dtype,some);}
oxi_free(part,(size_t)most*sizeof*part);return status;}
static ox_status oxi_shunt_unpack(const oxi_shunt_packing*p,const char*packed,float*out){
const ox_dtype dtype=oxi_shunt_packed_dtype(p->compression);int64_t most=oxi_shunt_packed_at_once(p);const bool stages=p->columns>0;
float factor=ldexpf(1,-p->shift),*part=NULL;if(stages)part=(float*)oxi_alloc((size_t)most*sizeof*part);
ox_status status=part||!stages?OX_OK:OX_ERR_NOMEM;for(int64_t at=0,some;at<p->count&&status==OX_OK;at+=some){uint16_t*scale;
const char*from=oxi_shunt_packed_at(p,packed,at,&scale);float*to=stages?part:out+at;some=p->count-at<most?p->count-at:most;
if(p->compression==OX_COMPRESSION_F8)
oxi_shunt_from_f8(scale,(const uint8_t*)from,some/OXI_SHUNT_F8_BLOCK,to);
else
status=oxi_shunt_cast(from,dtype,to,OX_F32,some);
for(int64_t i=0;i<some&&p->shift!=0;i++)to[i]*=factor;
if(stages&&status==OX_OK)
status=oxi_shunt_transpose(part,some,p->columns,OXI_SHUNT_BLOCK,out+at);}
oxi_free(part,(size_t)most*sizeof*part);return status;}
static void oxi_shunt_figure_note(oxi_shunt_figure*f,int64_t step,double seconds,double amount);
static void oxi_shunt_packing_put(ox_shunt*s,const oxi_shunt_item*item,bool save,double seconds){
int lane=!item->host?OXI_LANE_DISK:save?OXI_LANE_UP:OXI_LANE_DOWN;oxi_stream_take(&s->tiers);s->packed_seconds[lane]+=seconds;
oxi_shunt_figure_note(&s->rates.packed[save],s->stats.steps,seconds,(double)item->bytes/4);
oxi_stream_give(&s->tiers);}
static int64_t oxi_shunt_packed_columns(const oxi_shunt_item*item,int64_t count,int compression){
int64_t tile=OXI_SHUNT_BLOCK*item->columns;return compression!=OX_COMPRESSION_F16&&item->columns>1&&count%tile==0?item->columns:0;}
static ox_status oxi_shunt_save_packed(ox_shunt*s,oxi_shunt_item*item,const void*data){double start=oxi_now();
int64_t count=(int64_t)(item->bytes/sizeof(float));int compression=oxi_shunt_compression_of(s,count);
int shift=compression==OX_COMPRESSION_F8?0:oxi_shunt_shift_of((const float*)data,count);
int64_t columns=oxi_shunt_packed_columns(item,count,compression);const oxi_shunt_packing p={count,columns,compression,shift};
size_t bytes=oxi_shunt_packed_bytes(compression,count);char*packed=(char*)oxi_alloc(bytes);
ox_status status=packed?oxi_shunt_pack(&p,(const float*)data,packed):OX_ERR_NOMEM;double took=oxi_now()-start;
if(status==OX_OK)status=oxi_shunt_put_copy(s,item,packed,bytes,0,false);
if(status==OX_OK){oxi_shunt_packing_put(s,item,true,took);
item->packed=(uint8_t)compression;item->packed_shift=(int16_t)shift;item->packed_columns=columns;}
oxi_free(packed,bytes);return status;}
static ox_status oxi_shunt_load_packed(ox_shunt*s,const oxi_shunt_item*item,const void*packed,void*out){
const oxi_shunt_packing p={(int64_t)(item->bytes/sizeof(float)),item->packed_columns,item->packed,item->packed_shift};
double start=oxi_now();
ox_status status=oxi_shunt_unpack(&p,(const char*)packed,(float*)out);oxi_shunt_packing_put(s,item,false,oxi_now()-start);return status;}
/* >>stream/shunt/lanes/staging.c */
enum{OXI_SHUNT_PINNED_LEAST=64<<10,OXI_SHUNT_TWO=4<<20};static ox_storage*oxi_shunt_kept_take(ox_shunt*s,size_t bytes){
ox_storage*found=NULL;oxi_stream_take(&s->tiers);for(int64_t i=s->kept_count-1;i>=0&&!found;i--){if(s->kept[i]->bytes!=bytes)continue;
found=s->kept[i];s->kept[i]=s->kept[--s->kept_count];s->kept_bytes-=bytes;}
oxi_stream_give(&s->tiers);return found;}
static void oxi_shunt_kept_put(ox_shunt*s,ox_storage*pinned){oxi_stream_take(&s->tiers);
void*grown=oxi_grow(s->kept,&s->kept_room,(size_t)s->kept_count+1,sizeof*s->kept,false);if(grown){s->kept=(ox_storage**)grown;
s->kept[s->kept_count++]=pinned;s->kept_bytes+=pinned->bytes;}
oxi_stream_give(&s->tiers);if(!grown)oxi_storage_release(pinned);}
static void oxi_shunt_kept_trim(ox_shunt*s,uint64_t budget){bool any=false;for(;;){ox_storage*oldest=NULL;
oxi_stream_take(&s->tiers);if(s->kept_count>0&&s->kept_bytes+s->stats.host_bytes>budget){oldest=s->kept[0];
s->kept_count--;s->kept_bytes-=oldest->bytes;memmove(s->kept,s->kept+1,(size_t)s->kept_count*sizeof*s->kept);}
oxi_stream_give(&s->tiers);if(!oldest)break;
oxi_storage_release(oldest);any=true;}
if(!any)return;
(void)oxi_pins_trim(s->compute);if(ox_memory_get_stats().bytes_cached>budget/16)oxi_cache_empty();}
static void*oxi_shunt_pinned_new(ox_shunt*s,size_t bytes,ox_storage**pinned){
bool pins=!s->compute->host&&s->compute->copy_async&&bytes>=OXI_SHUNT_PINNED_LEAST;*pinned=pins?oxi_shunt_kept_take(s,bytes):NULL;
if(!s->compute->host)oxi_shunt_kept_trim(s,s->desc.host_bytes);
if(pins&&!*pinned)*pinned=oxi_storage_pinned(s->compute,bytes);
return*pinned?(*pinned)->data:oxi_try_alloc(bytes);}
static ox_status oxi_shunt_link(ox_shunt*s,ox_storage*there,size_t at,char*host,size_t bytes,bool up){ox_device*d=s->compute;
oxi_event done;
if(bytes==0)return OX_OK;
if(!d->copy_async)
return up?d->read(d,there->data,at,host,bytes):d->write(d,there->data,at,host,bytes);
const oxi_place device={d,there->data,at},memory={ox_cpu(),host,0};ox_status status=up?d->copy_async(d,&memory,&device,bytes,NULL,&done)
:d->copy_async(d,&device,&memory,bytes,NULL,&done);
return status==OX_OK?oxi_event_wait(&done):status;}
static ox_status oxi_shunt_link_item(ox_shunt*s,const oxi_shunt_item*item,size_t at,char*host,size_t bytes,bool up){
double start=oxi_now();
ox_status status=oxi_shunt_link(s,item->storage,at,host,bytes,up);if(status==OX_OK)oxi_shunt_count_link(s,up,bytes,start);
return status;}
static char*oxi_shunt_first_page(void*memory){return(char*)memory+(OXI_SHUNT_PAGE-(uintptr_t)memory%OXI_SHUNT_PAGE)%OXI_SHUNT_PAGE;}
static size_t oxi_shunt_pages_of(size_t bytes){return(bytes+OXI_SHUNT_PAGE-1)/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE;}
static size_t oxi_shunt_disk_skew(const oxi_shunt_item*item){const oxi_stream_region*region=(const oxi_stream_region*)item->disk->data;
return(size_t)((region->offset+item->disk_at)%OXI_SHUNT_PAGE);}
typedef struct oxi_shunt_tiles{oxi_shunt_flight flight[2];char*memory[2];size_t tile;}oxi_shunt_tiles;
static void oxi_shunt_tile_begin(const oxi_shunt_item*item,oxi_shunt_tiles*t,size_t k,bool write){
size_t at=k*t->tile,bytes=item->bytes-at<t->tile?item->bytes-at:t->tile;
oxi_shunt_flight_begin(&t->flight[k%2],item->disk,item->disk_at+at,t->memory[k%2],bytes,write,true,true);}
static ox_status oxi_shunt_tile_end(ox_shunt*s,oxi_shunt_tiles*t,size_t k){
return t->flight[k%2].stream?oxi_shunt_flight_end(s,&t->flight[k%2]):OX_OK;}
static ox_status oxi_shunt_tiles_run(ox_shunt*s,const oxi_shunt_item*item,oxi_shunt_tiles*t,bool write){
size_t count=(item->bytes+t->tile-1)/t->tile,ahead=write?0:2;ox_status status=OX_OK;
for(size_t k=0;k<count&&k<ahead;k++)oxi_shunt_tile_begin(item,t,k,write);
for(size_t k=0;k<count&&status==OX_OK;k++){size_t at=k*t->tile,bytes=item->bytes-at<t->tile?item->bytes-at:t->tile;
status=oxi_shunt_tile_end(s,t,k);if(status==OX_OK)status=oxi_shunt_link_item(s,item,at,t->memory[k%2],bytes,write);
if(status==OX_OK&&k+ahead<count)oxi_shunt_tile_begin(item,t,k+ahead,write);}
for(size_t k=0;k<2;k++){ox_status ended=oxi_shunt_tile_end(s,t,count+k);
if(status==OX_OK)status=ended;}
return status;}
static ox_status oxi_shunt_tiles_move(ox_shunt*s,const oxi_shunt_item*item,bool write){oxi_shunt_tiles t;memset(&t,0,sizeof t);
t.tile=oxi_shunt_pages_of(item->bytes<OXI_SHUNT_TWO?item->bytes:(size_t)OXI_SHUNT_TWO);
size_t each=t.tile+OXI_SHUNT_PAGE,room=2*each+OXI_SHUNT_PAGE;
ox_storage*pinned=s->compute->copy_async?oxi_storage_pinned(s->compute,room):NULL;
char*memory=pinned?(char*)pinned->data:(char*)oxi_alloc(room);if(!memory)return OX_ERR_NOMEM;
char*page=oxi_shunt_first_page(memory);for(int k=0;k<2;k++)t.memory[k]=page+(size_t)k*each+oxi_shunt_disk_skew(item);
ox_status status=oxi_shunt_tiles_run(s,item,&t,write);oxi_storage_release(pinned);if(!pinned)oxi_free(memory,room);
return status;}
static ox_status oxi_shunt_save_far(ox_shunt*s,oxi_shunt_item*item){ox_status status=oxi_shunt_disk_take(s,item,item->bytes);
if(status!=OX_OK)return status;
item->disk_at=0;status=oxi_shunt_tiles_move(s,item,true);item->disk_valid=status==OX_OK;item->disk_bytes=item->bytes;return status;}
static ox_status oxi_shunt_save_off(ox_shunt*s,oxi_shunt_item*item){ox_storage*pinned=NULL;
char*host=(char*)oxi_shunt_host_take(s,item->bytes,&pinned);if(!host)return oxi_shunt_save_far(s,item);
ox_status status=oxi_shunt_link_item(s,item,0,host,item->bytes,true);if(status==OX_OK)
oxi_shunt_host_set(item,host,item->bytes,pinned);
else
oxi_shunt_host_return(s,host,item->bytes,pinned);
return status;}
static ox_status oxi_shunt_load_on(ox_shunt*s,const oxi_shunt_item*item){
return item->host?oxi_shunt_link_item(s,item,0,(char*)item->host,item->bytes,false):oxi_shunt_tiles_move(s,item,false);}
static void oxi_shunt_ahead_end(ox_shunt*s){for(int k=0;k<s->ahead_count;k++)
if(s->ahead[k].stream)(void)oxi_shunt_flight_lands(s,&s->ahead[k]);
s->ahead_count=0;}
static void oxi_shunt_ahead_drop(ox_shunt*s,const oxi_shunt_item*item){bool among=false;
for(int k=0;k<s->ahead_count;k++)among=among||s->ahead_item[k]==item;
if(among)oxi_shunt_ahead_end(s);}
static void oxi_shunt_ring_drop(ox_shunt*s,int k){if(!s->ring[k])return;
oxi_shunt_host_return(s,s->ring[k],(size_t)s->ring_bytes[k]+OXI_SHUNT_PAGE,s->ring_pinned[k]);s->ring[k]=NULL;s->ring_bytes[k]=0;}
static void oxi_shunt_rings_open(ox_shunt*s,const uint64_t*bytes){for(int k=0;k<2;k++){if(bytes[k]<=s->ring_bytes[k])continue;
oxi_shunt_ring_drop(s,k);s->ring[k]=oxi_shunt_host_take(s,(size_t)bytes[k]+OXI_SHUNT_PAGE,&s->ring_pinned[k]);
if(s->ring[k])s->ring_bytes[k]=bytes[k];}}
static char*oxi_shunt_ring_at(const ox_shunt*s,int k,uint64_t at){return oxi_shunt_first_page(s->ring[k])+at;}
static bool oxi_shunt_by_ring(const oxi_shunt_instruction*in){return in&&(in->action==OXI_ACT_READ||in->action==OXI_ACT_WRITE);}
static char*oxi_shunt_read_to(const ox_shunt*s,const oxi_shunt_item*item,uint64_t at){
return oxi_shunt_ring_at(s,0,at)+oxi_shunt_disk_skew(item);}
static size_t oxi_shunt_tile_bytes(const oxi_shunt_item*item,const oxi_shunt_instruction*in){if(in->bytes==0)return item->bytes;
if(in->from>=item->bytes)return 0;
size_t left=item->bytes-(size_t)in->from;return in->ends||left<in->bytes?left:(size_t)in->bytes;}
static void oxi_shunt_ring_begin(const ox_shunt*s,const oxi_shunt_item*item,const oxi_shunt_instruction*in,oxi_shunt_flight*flight){
bool reads=in->action==OXI_ACT_READ;size_t bytes=item->packed==OX_COMPRESSION_NONE?oxi_shunt_tile_bytes(item,in):item->disk_bytes;
if(item->packed!=OX_COMPRESSION_NONE&&in->bytes>0)bytes=0;
if(reads&&bytes>0&&s->ring[0]&&!item->host&&item->disk_valid&&!item->valid)
oxi_shunt_flight_begin(flight,item->disk,item->disk_at+in->from,oxi_shunt_read_to(s,item,in->ring_at),bytes,false,true,false);
else if(!reads&&item->staged)
oxi_shunt_flight_begin(flight,item->disk,0,item->staged,item->bytes,true,true,false);}
static ox_status oxi_shunt_ring_end(ox_shunt*s,oxi_shunt_item*item,const oxi_shunt_instruction*in,oxi_shunt_flight*flight){
ox_status status=oxi_shunt_flight_end(s,flight);if(status!=OX_OK)return status;
if(in->action==OXI_ACT_READ){if(in->from==0)item->staged=oxi_shunt_read_to(s,item,in->ring_at);
return OX_OK;}
item->staged=NULL;oxi_shunt_disk_set(item,item->bytes,0);return OX_OK;}
static ox_status oxi_shunt_load_tile(ox_shunt*s,oxi_shunt_item*item,const oxi_shunt_instruction*in){
size_t bytes=oxi_shunt_tile_bytes(item,in);if(!item->staged)return in->ends?oxi_shunt_load(s,item):OX_OK;
ox_status status=oxi_shunt_link_item(s,item,(size_t)in->from,oxi_shunt_read_to(s,item,in->ring_at),bytes,false);
if(in->ends)item->staged=NULL;
if(in->ends)item->valid=status==OX_OK;
return status;}
static ox_status oxi_shunt_load_staged(ox_shunt*s,oxi_shunt_item*item){char*from=item->staged,*through=NULL;ox_status status=OX_OK;
item->staged=NULL;if(item->packed!=OX_COMPRESSION_NONE){through=(char*)oxi_alloc(item->bytes);
status=through?oxi_shunt_load_packed(s,item,from,through):OX_ERR_NOMEM;}
if(status==OX_OK)
status=oxi_shunt_link_item(s,item,0,through?through:from,item->bytes,false);
oxi_free(through,item->bytes);item->valid=status==OX_OK;return status;}
static ox_status oxi_shunt_save_staged(ox_shunt*s,oxi_shunt_item*item,uint64_t at){
if(!s->ring[1]||oxi_shunt_packs(s,item))return oxi_shunt_save(s,item);
if(!oxi_shunt_is_bare(item))return OX_OK;
oxi_storage_plain(item->storage);ox_status status=oxi_shunt_disk_take(s,item,item->bytes);char*to=oxi_shunt_ring_at(s,1,at);
if(status==OX_OK)status=oxi_shunt_link_item(s,item,0,to,item->bytes,true);
if(status==OX_OK)item->staged=to;
return status;}
static void oxi_shunt_unstage(ox_shunt*s,oxi_shunt_item*item){const char*from=item->staged;item->staged=NULL;
if(!from||item->valid||oxi_shunt_has_copy(item))return;
if(oxi_shunt_put_copy(s,item,from,item->bytes,0,false)!=OX_OK)item->failed=true;}
/* >>stream/shunt/plan/arena.c */
static int oxi_shunt_part_of(const ox_shunt*s,uint64_t place){return place>=s->main_bytes;}
static int64_t oxi_shunt_resident_from(const oxi_shunt_residents*list,uint64_t place){int64_t low=0,high=list->count;while(low<high){
int64_t middle=(low+high)/2;if(list->item[middle]->place<place)
low=middle+1;
else
high=middle;}
return low;}
static uint64_t oxi_shunt_end_of(const oxi_shunt_item*item){return item->place+oxi_shunt_item_room(item);}
static int64_t oxi_shunt_resident_over(const oxi_shunt_residents*list,uint64_t place){int64_t at=oxi_shunt_resident_from(list,place);
return at>0&&oxi_shunt_end_of(list->item[at-1])>place?at-1:at;}
static void oxi_shunt_resident_remove(ox_shunt*s,const oxi_shunt_item*item){
oxi_shunt_residents*list=&s->resident[oxi_shunt_part_of(s,item->place)];oxi_stream_take(&s->tiers);
int64_t at=oxi_shunt_resident_from(list,item->place);if(at<list->count&&list->item[at]==item){list->count--;
memmove(list->item+at,list->item+at+1,(size_t)(list->count-at)*sizeof*list->item);}
oxi_stream_give(&s->tiers);}
static ox_status oxi_shunt_resident_add(ox_shunt*s,oxi_shunt_item*item){
oxi_shunt_residents*list=&s->resident[oxi_shunt_part_of(s,item->place)];ox_status status=OX_OK;oxi_stream_take(&s->tiers);
void*grown=oxi_grow(list->item,&list->room,(size_t)list->count+1,sizeof*list->item,false);if(grown){list->item=(oxi_shunt_item**)grown;
int64_t at=oxi_shunt_resident_from(list,item->place);memmove(list->item+at+1,list->item+at,(size_t)(list->count-at)*sizeof*list->item);
list->item[at]=item;list->count++;}else{status=OX_ERR_NOMEM;}
oxi_stream_give(&s->tiers);return status;}
static ox_status oxi_shunt_evict(ox_shunt*s,oxi_shunt_item*item){
ox_status status=item->held||item->pending>0?oxi_shunt_save(s,item):OX_OK;if(status!=OX_OK)return status;
oxi_shunt_resident_remove(s,item);oxi_shunt_device_drop(s,item);return OX_OK;}
static ox_status oxi_shunt_arena_open(ox_shunt*s){if(!s->compute->host||s->arena)return OX_OK;
return s->compute->alloc(s->compute,(size_t)s->desc.device_bytes,&s->arena);}
enum{OXI_SHUNT_STEPS_ASKED=64};static void oxi_shunt_give_back_cached(const ox_shunt*s){
if(!s->compute->host||!oxi_shunt_is_planned(s))return;
if(ox_memory_get_stats().bytes_cached>s->desc.device_bytes/16)oxi_cache_empty();}
static ox_status oxi_shunt_settle_at(ox_shunt*s,oxi_shunt_item*item,uint64_t place){
if(!item->storage)return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;
item->place=place;ox_status status=oxi_shunt_resident_add(s,item);oxi_shunt_count_device(s,oxi_shunt_item_room(item),true);
if(status!=OX_OK)oxi_shunt_device_drop(s,item);
return status;}
static ox_status oxi_shunt_put_at(ox_shunt*s,oxi_shunt_item*item,uint64_t place){
item->storage=s->compute->host?oxi_shunt_storage_at(s,item,place):oxi_storage_new(s->compute,item->bytes);item->valid=item->lent=false;
return oxi_shunt_settle_at(s,item,place);}
static ox_status oxi_shunt_lend_at(ox_shunt*s,oxi_shunt_item*item,uint64_t place){
item->storage=oxi_storage_borrow(s->compute,item->host,item->bytes,NULL,NULL);item->valid=item->lent=true;
return oxi_shunt_settle_at(s,item,place);}
static bool oxi_shunt_is_free_for(const ox_shunt*s,const oxi_shunt_item*item,uint64_t place){
const oxi_shunt_residents*list=&s->resident[oxi_shunt_part_of(s,place)];uint64_t end=place+oxi_shunt_item_room(item);
int64_t at=oxi_shunt_resident_over(list,place);for(;at<list->count&&list->item[at]->place<end;at++)
if(list->item[at]!=item)return false;
return true;}
static ox_status oxi_shunt_shift(ox_shunt*s,oxi_shunt_item*item,uint64_t place){if(s->compute->host&&!item->lent){
ox_storage*moved=oxi_shunt_storage_at(s,item,place);if(!moved)return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;
oxi_storage_plain(item->storage);memmove(moved->data,item->storage->data,item->bytes);oxi_storage_release(item->storage);
item->storage=moved;}
oxi_shunt_resident_remove(s,item);item->place=place;return oxi_shunt_resident_add(s,item);}
static double oxi_shunt_move_seconds(const ox_shunt*s,size_t bytes,bool write);
static double oxi_shunt_worth(const ox_shunt*s,const oxi_shunt_item*item){double cost=oxi_shunt_move_seconds(s,item->bytes,false);
if(!item->held&&item->pending==0)return 0;
if(oxi_shunt_is_bare(item))cost+=oxi_shunt_move_seconds(s,item->bytes,true);
return cost/(double)(1 +s->node_clock-item->used_at);}
typedef struct oxi_shunt_window{uint64_t place;
double worth;
bool found;}oxi_shunt_window;
static bool oxi_shunt_window_at(const ox_shunt*s,uint64_t place,uint64_t bytes,uint64_t end,double most,double*worth){
if(bytes>end||place>end-bytes)return false;
const oxi_shunt_residents*list=&s->resident[oxi_shunt_part_of(s,place)];int64_t at=oxi_shunt_resident_over(list,place);*worth=0;
for(;at<list->count&&list->item[at]->place<place+bytes;at++){if(list->item[at]->protects==s->node_clock)return false;
*worth+=oxi_shunt_worth(s,list->item[at]);if(*worth>most)return false;}
return true;}
static oxi_shunt_window oxi_shunt_find(const ox_shunt*s,uint64_t bytes,uint64_t begin,uint64_t end){
const oxi_shunt_residents*list=&s->resident[oxi_shunt_part_of(s,begin)];oxi_shunt_window best;
double worth;
best.found=oxi_shunt_window_at(s,begin,bytes,end,1e300,&best.worth);
best.place=begin;for(int64_t i=oxi_shunt_resident_from(list,begin);i<list->count;i++){
const uint64_t starts[2]={list->item[i]->place,oxi_shunt_end_of(list->item[i])};if(best.found&&best.worth==0)break;
if(starts[0]>=end)break;
for(int k=0;k<2;k++)
if(oxi_shunt_window_at(s,starts[k],bytes,end,best.found?best.worth:1e300,&worth)&&(!best.found||worth<best.worth)){best.found=true;
best.worth=worth;best.place=starts[k];}}
return best;}
static ox_status oxi_shunt_clear(ox_shunt*s,uint64_t place,uint64_t bytes){for(;;){
const oxi_shunt_residents*list=&s->resident[oxi_shunt_part_of(s,place)];int64_t at=oxi_shunt_resident_over(list,place);
if(at>=list->count||list->item[at]->place>=place+bytes)return OX_OK;
ox_status status=oxi_shunt_evict(s,list->item[at]);if(status!=OX_OK)return status;}}
static ox_status oxi_shunt_make_room(ox_shunt*s,const oxi_shunt_item*item,uint64_t*place,bool*found){
uint64_t bytes=oxi_shunt_item_room(item);oxi_shunt_window window={0,0,false};
if(item->small)window=oxi_shunt_find(s,bytes,s->main_bytes,s->desc.device_bytes);
if(!window.found&&!s->planned)window=oxi_shunt_find(s,bytes,0,s->main_bytes);
*found=window.found;
*place=window.place;
return window.found?oxi_shunt_clear(s,window.place,bytes):OX_OK;}
typedef struct oxi_shunt_pages{size_t bytes;char*memory;}oxi_shunt_pages;static void oxi_shunt_pages_free(void*user,void*data){
oxi_shunt_pages*pages=(oxi_shunt_pages*)user;(void)data;oxi_free(pages->memory,pages->bytes);oxi_free(pages,sizeof*pages);}
static ox_storage*oxi_shunt_storage_new(ox_shunt*s,const oxi_shunt_item*item){
if(!item->file||!s->compute->host||item->bytes<OXI_SHUNT_CHUNK)
return oxi_storage_new(s->compute,item->bytes);
oxi_shunt_pages*pages=(oxi_shunt_pages*)oxi_alloc(sizeof*pages);if(!pages)return NULL;
pages->bytes=item->bytes+2*OXI_SHUNT_PAGE;pages->memory=(char*)oxi_alloc(pages->bytes);if(!pages->memory){oxi_free(pages,sizeof*pages);
return NULL;}
char*place=pages->memory+(OXI_SHUNT_PAGE-(uintptr_t)pages->memory%OXI_SHUNT_PAGE)+item->skew;
ox_storage*made=oxi_storage_borrow(s->compute,place,item->bytes,oxi_shunt_pages_free,pages);if(!made)oxi_shunt_pages_free(pages,NULL);
return made;}
static ox_status oxi_shunt_bring(ox_shunt*s,oxi_shunt_item*item,bool loads){if(!item->storage&&!oxi_shunt_is_planned(s)){
item->storage=oxi_shunt_storage_new(s,item);if(!item->storage)return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;
oxi_shunt_count_device(s,oxi_shunt_item_room(item),true);}else if(!item->storage){uint64_t place=0;
bool found=false;ox_status status=oxi_shunt_make_room(s,item,&place,&found);if(status!=OX_OK)return status;
if(!found)return OX_ERR_NOMEM;
status=oxi_shunt_arena_open(s);if(status==OX_OK)status=oxi_shunt_put_at(s,item,place);
if(status!=OX_OK)return status;}
ox_status status=loads?oxi_shunt_load(s,item):OX_OK;if(status!=OX_OK&&!item->valid){
if(oxi_shunt_is_planned(s))oxi_shunt_resident_remove(s,item);
oxi_shunt_device_drop(s,item);}
return status;}
/* >>stream/shunt/plan/cost.c */
static void oxi_shunt_figure_fold(oxi_shunt_figure*f,int64_t step){enum{PAST=(int)(sizeof f->past/sizeof*f->past)};
if(f->step==step)return;
if(f->amount>0){bool first=f->count==1&&!f->second;
f->second=f->second||first;if(!first){memmove(f->past+1,f->past,(PAST-1)*sizeof*f->past);
if(f->count<PAST)f->count++;}
f->past[0]=f->seconds/f->amount;}
f->step=step;f->seconds=f->amount=0;}
static void oxi_shunt_figure_note(oxi_shunt_figure*f,int64_t step,double seconds,double amount){oxi_shunt_figure_fold(f,step);
f->seconds+=seconds;f->amount+=amount;}
static double oxi_shunt_figure_of(oxi_shunt_figure*f,int64_t step){double sorted[sizeof f->past/sizeof*f->past];
oxi_shunt_figure_fold(f,step);if(f->count==0)return f->amount>0?f->seconds/f->amount:0;
for(int32_t i=0,at;i<f->count;i++){for(at=i;at>0&&sorted[at-1]>f->past[i];at--)sorted[at]=sorted[at-1];
sorted[at]=f->past[i];}
return(sorted[(f->count-1)/2]+sorted[f->count/2])/2;}
static oxi_shunt_mean*oxi_shunt_mean_of(ox_shunt*s,uint64_t key){for(uint64_t i=0;i<16;i++){
oxi_shunt_mean*mean=&s->means[(key+i)%OXI_SHUNT_MEANS];if(mean->key==key||mean->key==0)return mean;}
return NULL;}
static void oxi_shunt_mean_put(ox_shunt*s,uint64_t key,double seconds){oxi_shunt_mean*mean=key?oxi_shunt_mean_of(s,key):NULL;
if(!mean)return;
mean->key=key;oxi_shunt_figure_note(&mean->took,s->stats.steps,seconds,1);}
static bool oxi_shunt_mean_wants(ox_shunt*s,uint64_t key){oxi_shunt_mean*mean=key&&oxi_shunt_is_planned(s)?oxi_shunt_mean_of(s,key):NULL;
if(!mean)return false;
if(mean->key==key)oxi_shunt_figure_fold(&mean->took,s->stats.steps);
return mean->key!=key||mean->took.count+mean->took.second<2;}
static double oxi_shunt_mean_seconds(ox_shunt*s,uint64_t key){oxi_shunt_mean*mean=key?oxi_shunt_mean_of(s,key):NULL;
return mean&&mean->key==key?oxi_shunt_figure_of(&mean->took,s->stats.steps):0;}
static ox_tensor*oxi_shunt_filled(ox_device*device,int64_t rows,int64_t columns){const int64_t shape[2]={rows,columns};
ox_tensor*t=oxi_tensor_new(device,OX_F32,2,shape);if(!t)return NULL;
oxi_call fill=oxi_call_of(OXI_OP_fill,NULL,0,t);fill.attr=oxi_attrs_fill();fill.attr.fill.value=1;
fill.attr.fill.shape=ox_shape_from(2,shape);return oxi_apply_quiet(&fill)==OX_OK?t:NULL;}
static double oxi_shunt_time_call(ox_device*device,oxi_op op,ox_tensor*a,ox_tensor*b){double best=1;
ox_tensor*in[2]={a,b};for(int i=0;i<3&&a&&b;i++){oxi_call call=oxi_call_of(op,in,op==OXI_OP_copy?1:2,NULL);
if(op==OXI_OP_copy)call.attr=oxi_attrs_dtype();
double start=oxi_now();
if(oxi_apply_quiet(&call)!=OX_OK||device->sync(device)!=OX_OK)break;
double seconds=oxi_now()-start;
ox_release(call.out[0]);if(seconds<best)best=seconds;}
return best>1e-9?best:1e-9;}
static double oxi_shunt_time_square(ox_shunt*s,oxi_op op,int64_t side,int64_t most){double rate=1,empty=s->rates.empty;
for(bool over=false;!over;side*=2){const double size=(double)side,amount=size*size*(op==OXI_OP_copy?8:2*size);
ox_tensor*square=oxi_shunt_filled(s->compute,side,side);double seconds=oxi_shunt_time_call(s->compute,op,square,square);
over=!square||seconds>4*empty||2*side>most;if(square||rate==1)rate=amount/(seconds>1.25*empty?seconds-empty:0.2*seconds);
ox_release(square);}
return rate;}
static ox_status oxi_shunt_link(ox_shunt*s,ox_storage*there,size_t at,char*host,size_t bytes,bool up);
static double oxi_shunt_time_link(ox_shunt*s,size_t bytes,bool up){ox_storage*device=oxi_storage_new(s->compute,bytes);
ox_storage*pinned=device&&s->compute->copy_async?oxi_storage_pinned(s->compute,bytes):NULL;
char*host=pinned?(char*)pinned->data:(char*)oxi_try_alloc(bytes);double best=1;
if(host)memset(host,1,bytes);
for(int i=0;i<3&&host&&device;i++){double start=oxi_now();
if(oxi_shunt_link(s,device,0,host,bytes,up)!=OX_OK)break;
if(oxi_now()-start<best)best=oxi_now()-start;}
if(device)oxi_storage_release(device);
if(pinned)
oxi_storage_release(pinned);
else
oxi_free(host,bytes);
return best>1e-9?best:1e-9;}
static double oxi_shunt_slope(const double*seconds,const size_t*bytes){double slope=0;
for(int i=1;i<3;i++){double one=(double)(bytes[i]-bytes[i-1])/(seconds[i]-seconds[i-1]);
if(seconds[i]>seconds[i-1]&&one>slope)slope=one;}
return slope>0?slope:(double)bytes[2]/seconds[2];}
static void oxi_shunt_calibrate_packing(ox_shunt*s){enum{COUNT=1<<16,COLUMNS=256};const int compression=(int)s->desc.compression;
const oxi_shunt_packing p={COUNT,compression==OX_COMPRESSION_F16?0:COLUMNS,compression,0};if(compression==OX_COMPRESSION_NONE)return;
float*x=(float*)oxi_alloc(COUNT*sizeof*x);char*packed=(char*)oxi_alloc(oxi_shunt_packed_bytes(compression,COUNT));
for(int i=0;x&&i<COUNT;i++)x[i]=(float)(i*37%201 -100);
for(int i=0;x&&packed&&i<3;i++){double start=oxi_now();
if(oxi_shunt_pack(&p,x,packed)!=OX_OK)break;
double middle=oxi_now();
if(oxi_shunt_unpack(&p,packed,x)!=OX_OK)break;
double took[2]={(oxi_now()-middle)/COUNT,(middle-start)/COUNT};
for(int save=0;save<2;save++)
if(i==0||took[save]<s->rates.packing[save])s->rates.packing[save]=took[save];}
oxi_free(packed,oxi_shunt_packed_bytes(compression,COUNT));oxi_free(x,COUNT*sizeof*x);}
static void oxi_shunt_calibrate(ox_shunt*s){static const size_t sizes[3]={1u<<20,4u<<20,16u<<20};double seconds[2][3];
if(s->rates.known)return;
if(!s->compute->host)(void)s->compute->sync(s->compute);
const oxi_error earlier=oxi_shunt_errors_begin();ox_scope scope=ox_scope_begin();s->rates.known=true;if(!s->compute->host){
ox_tensor*few=oxi_shunt_filled(s->compute,1,16);s->rates.empty=oxi_shunt_time_call(s->compute,OXI_OP_copy,few,few);}
s->rates.flops=oxi_shunt_time_square(s,OXI_OP_matmul,384,2048);s->rates.bytes=oxi_shunt_time_square(s,OXI_OP_copy,1024,4096);
for(int up=0;up<2;up++)
for(int i=0;i<3;i++)seconds[up][i]=oxi_shunt_time_link(s,sizes[i],up!=0);
s->rates.down=oxi_shunt_slope(seconds[0],sizes);
s->rates.up=oxi_shunt_slope(seconds[1],sizes);s->rates.disk_read=1e9;s->rates.disk_write=8e8;s->rates.start[OXI_LANE_COMPUTE]=1e-6;
s->rates.start[OXI_LANE_UP]=s->rates.start[OXI_LANE_DOWN]=2e-6;for(int up=0;up<2&&!s->compute->host;up++)
s->rates.start[up?OXI_LANE_UP:OXI_LANE_DOWN]=oxi_shunt_time_link(s,4096,up!=0);
s->rates.start[OXI_LANE_DISK]=5e-5;oxi_shunt_calibrate_packing(s);ox_scope_end(&scope);oxi_shunt_errors_end(&earlier);}
static void oxi_shunt_calibrate_disk(ox_shunt*s){static const size_t sizes[3]={1u<<20,4u<<20,16u<<20};double seconds[2][3];
if(s->rates.disk_known||s->desc.fault)return;
s->rates.disk_known=true;const oxi_error earlier=oxi_shunt_errors_begin();ox_status status=oxi_shunt_stream_open(s);
for(int i=0;i<3&&status==OX_OK;i++){void*memory=oxi_alloc(sizes[i]+OXI_SHUNT_PAGE);
ox_storage*disk=memory?oxi_storage_new(ox_stream_device(s->stream),sizes[i]):NULL;char*pages=oxi_shunt_first_page(memory);
if(!disk)status=OX_ERR_NOMEM;
if(memory)memset(memory,7,sizes[i]+OXI_SHUNT_PAGE);
for(int way=0;way<2&&status==OX_OK;way++){double start=oxi_now();
status=oxi_shunt_disk_move(s,disk,0,pages,sizes[i],way==0,true);seconds[way][i]=oxi_now()-start;}
oxi_storage_release(disk);oxi_free(memory,sizes[i]+OXI_SHUNT_PAGE);}
if(status==OX_OK){s->rates.disk_write=oxi_shunt_slope(seconds[0],sizes);
s->rates.disk_read=oxi_shunt_slope(seconds[1],sizes);}
oxi_shunt_errors_end(&earlier);}
static double*oxi_shunt_rate_of(oxi_shunt_rates*rates,int lane,bool write){return lane==OXI_LANE_UP?&rates->up
:lane==OXI_LANE_DOWN?&rates->down:write?&rates->disk_write:&rates->disk_read;}
enum{OXI_SHUNT_SAYS=1<<18};static void oxi_shunt_moved_note(ox_shunt*s,int lane,bool write,double bytes,double seconds){
oxi_shunt_figure*moved=&s->rates.moved[lane][write];oxi_shunt_figure_note(moved,s->stats.steps,seconds,bytes);
double each=oxi_shunt_figure_of(moved,s->stats.steps);
if(each>0)*oxi_shunt_rate_of(&s->rates,lane,write)=1/each;}
static void oxi_shunt_rate_put(ox_shunt*s,int lane,bool write,size_t bytes,double seconds){
if(bytes<OXI_SHUNT_SAYS||!s->rates.known)return;
oxi_stream_take(&s->tiers);oxi_shunt_moved_note(s,lane,write,(double)bytes,seconds-s->rates.start[lane]);
oxi_stream_give(&s->tiers);}
static void oxi_shunt_disk_note(ox_shunt*s,bool joined){oxi_shunt_rates*rates=&s->rates;const int64_t step=s->stats.steps;
double(*bytes)[2]=rates->ended.bytes,took[2][2]={{0,0},{0,0}},left=rates->ended.seconds;
const int first=bytes[1][0]>0;const double one=bytes[first][0],others=bytes[0][1]+bytes[1][1];
if(one>0){double alone=oxi_shunt_figure_of(&rates->alone[first],step)*one;
double even=left*one/(one+others);
took[first][0]=alone<even?even:alone<left?alone:left;left-=took[first][0];
if(others==0&&!joined)oxi_shunt_figure_note(&rates->alone[first],step,took[first][0],one);}
for(int write=0;write<2;write++){const double both=bytes[write][0]+bytes[write][1];
if(bytes[write][1]>0)took[write][1]=left*bytes[write][1]/others;
for(int behind=0;behind<2;behind++)
oxi_shunt_figure_note(&rates->disk[write][behind],step,took[write][behind],bytes[write][behind]);
if(both>0)
oxi_shunt_moved_note(s,OXI_LANE_DISK,write!=0,both,took[write][0]+took[write][1]-rates->start[OXI_LANE_DISK]*rates->ended.moves[write]);}
memset(&rates->ended,0,sizeof rates->ended);}
static void oxi_shunt_disk_put(ox_shunt*s,bool write,size_t bytes,double seconds,bool behind,bool together){
if(bytes<OXI_SHUNT_SAYS||!s->rates.known)return;
oxi_stream_take(&s->tiers);if(!together)oxi_shunt_disk_note(s,behind);
s->rates.ended.seconds+=seconds;s->rates.ended.bytes[write][behind]+=(double)bytes;
s->rates.ended.moves[write]++;oxi_stream_give(&s->tiers);}
static void oxi_shunt_rates_fold(ox_shunt*s){oxi_stream_take(&s->tiers);oxi_shunt_disk_note(s,false);oxi_stream_give(&s->tiers);
for(int lane=OXI_LANE_UP;lane<OXI_LANES;lane++)
for(int write=0;write<2;write++){double each=oxi_shunt_figure_of(&s->rates.moved[lane][write],s->stats.steps);
if(each>0)*oxi_shunt_rate_of(&s->rates,lane,write!=0)=1/each;}}
static double oxi_shunt_lane_seconds(const ox_shunt*shunt,int lane,uint64_t bytes,bool write){ox_shunt*s=(ox_shunt*)(uintptr_t)shunt;
oxi_stream_take(&s->tiers);double rate=*oxi_shunt_rate_of(&s->rates,lane,write);
oxi_stream_give(&s->tiers);return s->rates.start[lane]+(rate>0?(double)bytes/rate:0);}
static double oxi_shunt_packing_seconds(ox_shunt*s,const oxi_shunt_item*item,bool save){oxi_stream_take(&s->tiers);
double each=oxi_shunt_figure_of(&s->rates.packed[save],s->stats.steps);
oxi_stream_give(&s->tiers);return(each>0?each:s->rates.packing[save])*(double)item->bytes/4;}
static double oxi_shunt_lane_takes(ox_shunt*s,int lane,uint64_t bytes){
double each=s->compute->host?oxi_shunt_figure_of(&s->rates.works[lane],s->stats.steps):0;
return each*(double)bytes;}
typedef struct oxi_shunt_told{double start,over,pieces;}oxi_shunt_told;
static double oxi_shunt_disk_over(ox_shunt*s,uint64_t bytes,bool write,double due,oxi_shunt_told*told){
double usual=oxi_shunt_lane_seconds(s,OXI_LANE_DISK,bytes,write),takes[2];
oxi_stream_take(&s->tiers);for(int behind=0;behind<2;behind++){oxi_shunt_figure*f=&s->rates.disk[write][behind];
double each=oxi_shunt_figure_of(f,s->stats.steps);
takes[behind]=f->count>0||f->amount>0?(double)bytes*each:usual;}
if(takes[0]<s->rates.start[OXI_LANE_DISK])takes[0]=s->rates.start[OXI_LANE_DISK];
oxi_stream_give(&s->tiers);if(due<told->start)due=told->start;
if(due>told->start&&due<told->over){double piece=(told->over-told->start)/told->pieces;
due=told->start+ceil((due-told->start)/piece)*piece;}
double over=due+takes[0];
if(due<told->over&&over<told->over+takes[1])over=told->over+takes[1];
told->start=due;told->over=over;told->pieces=ceil((double)bytes/OXI_STREAM_PIECE);
return over;}
static double oxi_shunt_move_seconds(const ox_shunt*s,size_t bytes,bool write){
int lane=s->desc.host_bytes==0?OXI_LANE_DISK:write?OXI_LANE_UP:OXI_LANE_DOWN;return oxi_shunt_lane_seconds(s,lane,bytes,write);}
static double oxi_shunt_node_seconds(ox_shunt*s,const oxi_shunt_node*node){oxi_shunt_headers h;
double seconds=oxi_shunt_mean_seconds(s,node->shape_key);
if(seconds>0)return seconds;
seconds=1e-6;if(oxi_shunt_headers_open(&h,node)&&ox_numel(h.call.out[0])>0){double flops=oxi_call_flops(&h.call)/s->rates.flops,
bytes=oxi_call_bytes(&h.call)/s->rates.bytes;
seconds=s->rates.start[OXI_LANE_COMPUTE]+(flops>bytes?flops:bytes);}
oxi_shunt_headers_close(&h,node);return seconds;}
/* >>stream/shunt/online.c */
static ox_status oxi_shunt_fail_room(const ox_shunt*s,uint64_t bytes){return oxi_fail(OX_ERR_NOMEM,
"out of memory: %llu bytes needed at once, a budget of %llu, %llu of them for large ""tensors",
(unsigned long long)bytes,(unsigned long long)s->desc.device_bytes,(unsigned long long)s->main_bytes);}
static bool oxi_shunt_is_seen(const oxi_shunt_node*node,int i){for(int k=0;k<i;k++)
if(node->operand[k].item==node->operand[i].item)return true;
return false;}
static ox_status oxi_shunt_too_large(const ox_shunt*s,const oxi_shunt_node*node){uint64_t bytes=0;
for(int i=0;i<node->in_count+node->out_count;i++){const oxi_shunt_item*item=node->operand[i].item;
if(item&&!oxi_shunt_is_seen(node,i))bytes+=oxi_shunt_item_room(item);}
return oxi_shunt_fail_room(s,bytes);}
static ox_status oxi_shunt_bring_all(ox_shunt*s,const oxi_shunt_node*node){int operands=node->in_count+node->out_count;s->node_clock++;
for(int i=0;i<operands;i++)
if(node->operand[i].item)node->operand[i].item->protects=s->node_clock;
for(int i=0;i<operands;i++){const oxi_shunt_operand*o=&node->operand[i];
if(!o->item)continue;
if(o->item->failed&&(i<node->in_count||!o->covers))return oxi_shunt_lost(s);
ox_status status=oxi_shunt_bring(s,o->item,i<node->in_count||!o->covers);if(status!=OX_OK)return status;
o->item->used_at=s->node_clock;}
return OX_OK;}
static ox_status oxi_shunt_leave_all(ox_shunt*s){ox_status status=OX_OK;for(int part=0;part<2;part++)
while(s->resident[part].count>0&&status==OX_OK)
status=oxi_shunt_evict(s,s->resident[part].item[0]);
return status;}
static ox_status oxi_shunt_run_online(ox_shunt*s,const oxi_shunt_node*node){bool clean=ox_error()==OX_OK;
ox_status status=oxi_shunt_bring_all(s,node);if(status==OX_ERR_NOMEM&&clean&&ox_error()==OX_OK){status=oxi_shunt_leave_all(s);
if(status==OX_OK)status=oxi_shunt_bring_all(s,node);
if(status==OX_ERR_NOMEM&&ox_error()==OX_OK)status=oxi_shunt_too_large(s,node);}
if(status==OX_OK)return oxi_shunt_run_node(s,node);
if(clean)oxi_shunt_blame(s,node);
return status;}
static void oxi_shunt_not_made(oxi_shunt_item*item,bool over){if(over||(!item->valid&&!oxi_shunt_has_copy(item)))item->failed=true;}
static void oxi_shunt_not_run(oxi_shunt_node*const*nodes,int64_t from,int64_t count){for(int64_t n=from;n<count;n++)
for(int i=0;i<nodes[n]->out_count;i++){const oxi_shunt_operand*o=&nodes[n]->operand[nodes[n]->in_count+i];
oxi_shunt_item*item=o->item;for(int32_t k=0;item&&k<item->part_count;k++)oxi_shunt_not_made(item->part[k],o->over);
if(item&&!item->part)oxi_shunt_not_made(item,o->over);}}
static void oxi_shunt_node_over(ox_shunt*s,const oxi_shunt_node*node){for(int i=0;i<node->in_count+node->out_count;i++){
oxi_shunt_item*item=node->operand[i].item;if(!item)continue;
item->pending--;oxi_shunt_item_settle(s,item);}}
static void oxi_shunt_drop_nodes(ox_shunt*s){oxi_shunt_not_run(s->nodes,0,s->node_count);
for(int64_t n=0;n<s->node_count;n++)oxi_shunt_node_over(s,s->nodes[n]);}
static ox_status oxi_shunt_step_online(ox_shunt*s){ox_status status=OX_OK;int64_t n=0;oxi_shunt_ahead_end(s);
for(int64_t i=0;i<s->resident[0].count;i++)oxi_shunt_land(s,s->resident[0].item[i]);
s->ran_last=0;for(;n<s->node_count;n++){status=oxi_shunt_run_online(s,s->nodes[n]);
if(status!=OX_OK)break;
oxi_shunt_node_over(s,s->nodes[n]);}
oxi_shunt_not_run(s->nodes,n,s->node_count);for(;n<s->node_count;n++)oxi_shunt_node_over(s,s->nodes[n]);
return status;}
/* >>stream/shunt/plan/key.c */
static uint64_t oxi_shunt_mix(uint64_t hash,uint64_t word){hash=(hash^word)*0x9e3779b97f4a7c15u;return hash^hash>>29;}
static bool oxi_shunt_varies(const oxi_attr_member*m,oxi_op op){
return m->kind==OXI_ATTR_F64||m->kind==OXI_ATTR_SCALAR||m->kind==OXI_ATTR_FACTOR||m->kind==OXI_ATTR_NUMBERS||m->kind==OXI_ATTR_SIZES||
(m->kind==OXI_ATTR_I64&&op==OXI_OP_fill);}
static uint64_t oxi_shunt_round(uint64_t number){uint64_t power=1;while(power<number&&power<UINT64_MAX/2)power*=2;
return power;}
static uint64_t oxi_shunt_hash_attributes(uint64_t hash,const oxi_shunt_node*node){
for(const oxi_attr_member*m=oxi_op_row_of(node->op)->attributes();m->name;m++){const void*at=oxi_attr_at(node->attr,m);
if(oxi_shunt_varies(m,node->op))continue;
hash=m->kind==OXI_ATTR_I64?oxi_shunt_mix(hash,oxi_shunt_round((uint64_t)*(const int64_t*)at+1)):oxi_attr_hash_member(hash,m,at);}
return hash;}
static uint64_t oxi_shunt_hash_shape(uint64_t hash,const oxi_shunt_operand*o){
hash=oxi_shunt_mix(hash,(uint64_t)o->dtype<<16|(uint64_t)(uint8_t)o->ndim<<4|(uint64_t)o->there<<1|(uint64_t)o->is_number);
for(int d=0;d<2*o->ndim;d++){bool counts=d<o->ndim&&o->item&&!o->covers;
uint64_t number=(uint64_t)o->dims[d];hash=oxi_shunt_mix(hash,counts?oxi_shunt_round(number):number);}
return hash;}
static bool oxi_shunt_tabulate(ox_shunt*s,oxi_shunt_item*item){item->uses=item->mark==s->step_number?item->uses+1:1;
if(item->mark==s->step_number)return true;
void*grown=oxi_grow(s->table,&s->table_room,(size_t)s->table_count+1,sizeof*s->table,false);if(!grown)return false;
s->table=(oxi_shunt_item**)grown;item->again=item->mark==s->step_number-1;item->mark=s->step_number;item->index=s->table_count;
s->table[s->table_count++]=item;return true;}
static bool oxi_shunt_key(ox_shunt*s,uint64_t key[2]){uint64_t hash=1,items=2;s->step_number++;s->table_count=0;
for(int64_t n=0;n<s->node_count;n++){oxi_shunt_node*node=s->nodes[n];
uint64_t own=oxi_shunt_mix(3 +(uint64_t)node->exact,(uint64_t)node->op);own=oxi_shunt_hash_attributes(own,node);
for(int i=0;i<node->in_count+node->out_count;i++){const oxi_shunt_operand*o=&node->operand[i];
if(o->there)own=oxi_shunt_hash_shape(own,o);
if(!o->item)continue;
if(!oxi_shunt_tabulate(s,o->item))return false;
items=oxi_shunt_mix(items,(uint64_t)o->item->index<<3|(uint64_t)o->covers<<1|(uint64_t)(i>=node->in_count));}
node->shape_key=own|1;hash=oxi_shunt_mix(hash,own);items=oxi_shunt_mix(items,(uint64_t)node->in_count);}
for(int32_t i=0;i<s->table_count;i++){const oxi_shunt_item*item=s->table[i];
uint64_t fate=(uint64_t)oxi_shunt_outlives(item)<<1|(uint64_t)(item->valid||oxi_shunt_has_copy(item));
items=oxi_shunt_mix(items,(uint64_t)(item->bytes+item->skew)<<2|fate);}
key[0]=oxi_shunt_mix(oxi_shunt_mix(5,hash),items);key[1]=oxi_shunt_mix(oxi_shunt_mix(7,items),hash);return true;}
static void oxi_shunt_plan_free(oxi_shunt_plan*plan){if(!plan)return;
oxi_free(plan->instruction,plan->instruction_room*sizeof*plan->instruction);oxi_free(plan->change,plan->change_room*sizeof*plan->change);
oxi_free(plan->segment,plan->segment_room*sizeof*plan->segment);oxi_free(plan->known,(size_t)plan->item_count*sizeof*plan->known);
oxi_free(plan->seconds,(size_t)plan->node_count*sizeof*plan->seconds);oxi_free(plan->text,plan->text_bytes);oxi_free(plan,sizeof*plan);}
static oxi_shunt_plan*oxi_shunt_plan_find(ox_shunt*s,const uint64_t key[2]){for(int i=0;i<OXI_SHUNT_PLANS;i++){
oxi_shunt_plan*plan=s->plans[i];if(!plan||plan->key[0]!=key[0]||plan->key[1]!=key[1])continue;
if(plan->node_count!=s->node_count||plan->item_count!=s->table_count)continue;
plan->used_at=s->step_number;return plan;}
return NULL;}
static void oxi_shunt_plan_drop(ox_shunt*s,oxi_shunt_plan*plan){for(int i=0;i<OXI_SHUNT_PLANS;i++)
if(s->plans[i]==plan)s->plans[i]=NULL;
if(s->last_plan==plan)s->last_plan=NULL;
oxi_shunt_plan_free(plan);}
static void oxi_shunt_plan_keep(ox_shunt*s,oxi_shunt_plan*plan,const uint64_t key[2]){int place=0;
for(int i=0;i<OXI_SHUNT_PLANS&&s->plans[place];i++)
if(!s->plans[i]||s->plans[i]->used_at<s->plans[place]->used_at)place=i;
if(s->plans[place]==s->last_plan)s->last_plan=NULL;
oxi_shunt_plan_free(s->plans[place]);s->plans[place]=plan;memcpy(plan->key,key,sizeof plan->key);plan->used_at=s->step_number;}
/* >>stream/shunt/plan/rings.c */
typedef struct oxi_shunt_ring_entry{uint64_t at,end;int32_t there,over;}oxi_shunt_ring_entry;typedef struct oxi_shunt_ring{
uint64_t bytes,head;oxi_shunt_ring_entry*entry;size_t room;int32_t first,count;}oxi_shunt_ring;
static uint64_t oxi_shunt_ring_room(uint64_t room){return(room+2*OXI_SHUNT_PAGE-1)/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE;}
static int32_t oxi_shunt_ring_take(oxi_shunt_ring*r,uint64_t room,int32_t*clock){bool turns=room>r->bytes-r->head;
uint64_t at=turns?0:r->head,end=at+room;void*grown=oxi_grow(r->entry,&r->room,(size_t)r->count+1,sizeof*r->entry,false);
if(!grown)return-1;
r->entry=(oxi_shunt_ring_entry*)grown;for(;r->first<r->count;r->first++){const oxi_shunt_ring_entry*oldest=&r->entry[r->first];
bool skipped=turns&&oldest->at>=r->head,apart=oldest->at>=end||oldest->end<=at;if(apart&&!skipped)break;
if(oldest->over==0)return-1;
if(oldest->over>*clock)*clock=oldest->over;}
r->head=end;r->entry[r->count].at=at;r->entry[r->count].end=end;r->entry[r->count].there=r->entry[r->count].over=0;return r->count++;}
static int32_t oxi_shunt_tiles_of(const oxi_shunt_problem*p,const oxi_shunt_known*k){
if(k->moves_whole||p->tile==0||k->room<=p->tile)return 1;
return(int32_t)((k->room+p->tile-1)/p->tile);}
static uint64_t oxi_shunt_tile_room(const oxi_shunt_problem*p,const oxi_shunt_known*k,int32_t t){int32_t tiles=oxi_shunt_tiles_of(p,k);
if(tiles==1)return k->room;
return t+1<tiles?p->tile:k->room-(uint64_t)t*p->tile;}
static uint64_t oxi_shunt_tile_size(const ox_shunt*s){uint64_t bytes=s->desc.host_bytes/64/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE;
if(bytes>OXI_SHUNT_TILE)bytes=OXI_SHUNT_TILE;
if(bytes<OXI_SHUNT_TILE_LEAST)bytes=OXI_SHUNT_TILE_LEAST;
return bytes;}
static uint64_t oxi_shunt_ring_size(const ox_shunt*s,int k,uint64_t mean,uint64_t most){const uint64_t host=s->desc.host_bytes;
uint64_t part=k==0?(OXI_SHUNT_TILES+2)*most:4*mean;if(part>host/8)part=host/8;
const uint64_t bytes=part/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE;return bytes>=most?bytes:most<=host/4?most:0;}
static uint64_t oxi_shunt_ring_wants(const ox_shunt*s,int k,uint64_t bytes){if(bytes<=s->ring_bytes[k])return 0;
return bytes-s->ring_bytes[k]+(s->ring_bytes[k]>0?0:OXI_SHUNT_PAGE);}
static ox_status oxi_shunt_demote(ox_shunt*s,oxi_shunt_item*item){if(!item->disk_valid){
ox_status status=oxi_shunt_disk_take(s,item,item->bytes);if(status==OX_OK)
status=oxi_shunt_disk_move(s,item->disk,0,(char*)item->host,item->bytes,true,false);
if(status!=OX_OK)return status;
oxi_shunt_disk_set(item,item->bytes,0);}
oxi_shunt_host_drop(s,item);return OX_OK;}
static void oxi_shunt_ring_writes(const oxi_shunt_node*node,uint64_t*all,uint64_t*count,uint64_t*most){
for(int i=0;i<node->out_count;i++){const oxi_shunt_item*item=node->operand[node->in_count+i].item;
if(!item||item->small)continue;
uint64_t room=oxi_shunt_ring_room(oxi_shunt_item_room(item));*all+=room;(*count)++;if(room>*most)*most=room;}}
static uint64_t oxi_shunt_rings_want(const ox_shunt*s){uint64_t all=0,most=0,writes=0,writes_most=0,count=0,tile=oxi_shunt_tile_size(s);
for(int32_t i=0;i<s->table_count;i++){uint64_t room=s->table[i]->small?0:oxi_shunt_item_room(s->table[i]);
all+=room;if(room>tile&&!oxi_shunt_may_pack(s,s->table[i]))room=tile;
if(room>0&&oxi_shunt_ring_room(room)>most)most=oxi_shunt_ring_room(room);}
if(all<=s->main_bytes+s->desc.host_bytes)return 0;
for(int64_t n=0;n<s->node_count;n++)
oxi_shunt_ring_writes(s->nodes[n],&writes,&count,&writes_most);
uint64_t wants=oxi_shunt_ring_wants(s,0,oxi_shunt_ring_size(s,0,0,most));if(count==0)return wants;
return wants+oxi_shunt_ring_wants(s,1,oxi_shunt_ring_size(s,1,writes/count,writes_most));}
static void oxi_shunt_rings_make_room(ox_shunt*s){const uint64_t wants=s->compute->host?0:oxi_shunt_rings_want(s);
const oxi_error earlier=oxi_shunt_errors_begin();for(int32_t i=0;i<s->table_count&&s->desc.host_bytes-s->stats.host_bytes<wants;i++){
oxi_shunt_item*item=s->table[i];if(!item->host||item->small||item->packed!=OX_COMPRESSION_NONE)continue;
if(oxi_shunt_demote(s,item)!=OX_OK)break;}
oxi_shunt_errors_end(&earlier);}
static void oxi_shunt_ring_sizes(const ox_shunt*s,oxi_shunt_problem*p){uint64_t most[2]={0,0},all[2]={0,0},count[2]={0,0};
p->tile=oxi_shunt_tile_size(s);for(int32_t t=0;t<p->first[p->node_count]&&!s->compute->host;t++){
const oxi_shunt_known*k=&p->known[p->touch[t].item];uint64_t room=k->small?0:oxi_shunt_ring_room(k->room);
for(int saves=0;saves<1 +p->touch[t].writes&&room>0;saves++){bool tiles=!saves&&oxi_shunt_tiles_of(p,k)>1;
uint64_t once=tiles?oxi_shunt_ring_room(p->tile):room;all[saves]+=room;count[saves]++;if(once>most[saves])most[saves]=once;}}
for(int k=0;k<2;k++){if(count[k]==0)continue;
uint64_t bytes=oxi_shunt_ring_size(s,k,all[k]/count[k],most[k]),wants=oxi_shunt_ring_wants(s,k,bytes);
if(bytes==0||wants>p->host_room)continue;
p->host_room-=wants;p->ring[k]=bytes>s->ring_bytes[k]?bytes:s->ring_bytes[k];}}
/* >>stream/shunt/plan/liveness.c */
static void*oxi_shunt_list(size_t count,size_t each){return oxi_calloc(count+1,each);}
static void oxi_shunt_unlist(void*list,size_t count,size_t each){oxi_free(list,(count+1)*each);}
static void oxi_shunt_order_close(oxi_shunt_order*o,const oxi_shunt_problem*p){
size_t slots=(size_t)o->slot_count,accesses=(size_t)o->access_count;oxi_shunt_unlist(o->slot,slots,sizeof*o->slot);
oxi_shunt_unlist(o->from,slots,sizeof*o->from);oxi_shunt_unlist(o->start,slots,sizeof*o->start);
oxi_shunt_unlist(o->first,(size_t)p->item_count,sizeof*o->first);oxi_shunt_unlist(o->at,accesses,sizeof*o->at);
oxi_shunt_unlist(o->use,accesses,sizeof*o->use);oxi_shunt_unlist(o->access,accesses,sizeof*o->access);
oxi_shunt_unlist(o->alone,3*slots,sizeof*o->alone);memset(o,0,sizeof*o);}
static bool oxi_shunt_order_fill(oxi_shunt_order*o,const oxi_shunt_problem*p){o->access_count=0;for(int32_t j=0;j<o->slot_count;j++)
o->access_count+=p->first[o->slot[j]+1]-p->first[o->slot[j]];
size_t slots=(size_t)o->slot_count,accesses=(size_t)o->access_count;o->from=(int32_t*)oxi_shunt_list(slots,sizeof*o->from);
o->start=(double*)oxi_shunt_list(slots,sizeof*o->start);
o->first=(int32_t*)oxi_shunt_list((size_t)p->item_count,sizeof*o->first);o->at=(int32_t*)oxi_shunt_list(accesses,sizeof*o->at);
o->use=(uint8_t*)oxi_shunt_list(accesses,sizeof*o->use);o->access=(int32_t*)oxi_shunt_list(accesses,sizeof*o->access);
o->alone=(uint8_t*)oxi_shunt_list(3*slots,sizeof*o->alone);
if(!o->from||!o->start||!o->first||!o->at||!o->use||!o->access||!o->alone)return false;
o->best_alone=o->alone+slots;o->crowded=o->best_alone+slots;for(int32_t j=0;j<o->slot_count;j++){int32_t n=o->slot[j];
o->from[j+1]=o->from[j]+p->first[n+1]-p->first[n];o->start[j+1]=o->start[j]+p->seconds[n];
for(int32_t t=p->first[n];t<p->first[n+1];t++)o->first[p->touch[t].item +1]++;}
for(int32_t i=0;i<p->item_count;i++)o->first[i+1]+=o->first[i];
for(int32_t j=0,k=0;j<o->slot_count;j++)
for(int32_t t=p->first[o->slot[j]];t<p->first[o->slot[j]+1];t++,k++){int32_t a=o->first[p->touch[t].item]++;
o->at[a]=j;o->use[a]=(uint8_t)((p->touch[t].reads?1:0)|(p->touch[t].writes?2:0));o->access[k]=a;}
for(int32_t i=p->item_count;i>0;i--)o->first[i]=o->first[i-1];
o->first[0]=0;return true;}
static bool oxi_shunt_order_open(oxi_shunt_order*o,const oxi_shunt_problem*p){memset(o,0,sizeof*o);o->slot_count=p->node_count;
o->slot=(int32_t*)oxi_shunt_list((size_t)o->slot_count,sizeof*o->slot);
for(int32_t j=0;o->slot&&j<o->slot_count;j++)o->slot[j]=p->order?p->order[j]:j;
if(o->slot&&oxi_shunt_order_fill(o,p))return true;
oxi_shunt_order_close(o,p);return false;}
static bool oxi_shunt_needed_after(const oxi_shunt_order*o,const oxi_shunt_problem*p,int32_t i,int32_t a){
return a+1<o->first[i+1]?(o->use[a+1]&1)!=0:p->known[i].held;}
static int32_t oxi_shunt_access_from(const oxi_shunt_order*o,int32_t i,int32_t slot){int32_t low=o->first[i],high=o->first[i+1];
while(low<high){int32_t middle=(low+high)/2;
if(o->at[middle]<slot)
low=middle+1;
else
high=middle;}
return low;}
typedef struct oxi_shunt_touches{int32_t*first;oxi_shunt_touch*touch;double*seconds;
bool*again;int32_t count;}oxi_shunt_touches;static void oxi_shunt_problem_close(oxi_shunt_problem*p,oxi_shunt_touches*t){
size_t nodes=(size_t)p->node_count;oxi_shunt_unlist(t->first,nodes,sizeof*t->first);
oxi_shunt_unlist(t->touch,(size_t)t->count,sizeof*t->touch);oxi_shunt_unlist(t->seconds,nodes,sizeof*t->seconds);
oxi_shunt_unlist(t->again,nodes,sizeof*t->again);}
static void oxi_shunt_touch_node(const oxi_shunt_node*node,oxi_shunt_touches*t,int32_t*end){int32_t begin=*end;
for(int i=0;i<node->in_count+node->out_count;i++){const oxi_shunt_operand*o=&node->operand[i];
if(!o->item)continue;
int32_t k=begin;while(k<*end&&t->touch[k].item!=o->item->index)k++;
if(k==*end){memset(&t->touch[k],0,sizeof t->touch[k]);
t->touch[k].item=o->item->index;(*end)++;}
if(i<node->in_count||!o->covers)t->touch[k].reads=true;
if(i>=node->in_count)t->touch[k].writes=true;}}
static bool oxi_shunt_may_repeat(const oxi_shunt_node*node){const oxi_shunt_operand*out=&node->operand[node->in_count];
if(node->out_count!=1||!out->item||!out->covers||out->item->small)return false;
for(int i=0;i<node->in_count;i++)
if(node->operand[i].item==out->item)return false;
return true;}
static bool oxi_shunt_moves_packed(const oxi_shunt_item*item,bool packs){
bool copied=item->kind==OXI_KIND_WEIGHT&&oxi_shunt_has_copy(item);return copied?item->packed!=OX_COMPRESSION_NONE:packs;}
static size_t oxi_shunt_moved_bytes(const ox_shunt*s,const oxi_shunt_item*item,bool packed){int64_t count=(int64_t)(item->bytes/4);
return packed?oxi_shunt_packed_bytes(oxi_shunt_compression_of(s,count),count):item->bytes;}
static uint64_t oxi_shunt_spill_room(uint64_t bytes);static uint64_t oxi_shunt_spilled(const oxi_shunt_item*item);
static size_t oxi_shunt_spill_bytes(const ox_shunt*s,const oxi_shunt_item*item,bool packed);
static void oxi_shunt_spill_know(const ox_shunt*s,oxi_shunt_problem*p);
static void oxi_shunt_know_moves(ox_shunt*s,const oxi_shunt_item*item,bool packs,oxi_shunt_known*known){
bool packed=oxi_shunt_moves_packed(item,packs);size_t moved=oxi_shunt_moved_bytes(s,item,packed);
size_t down=!packed&&oxi_shunt_may_lend(s,item->kind)?0:moved;
double work[2]={0,0};
for(int save=0;save<2&&packed;save++)work[save]=oxi_shunt_packing_seconds(s,item,save!=0);
known->packs=packs;known->spill=oxi_shunt_spill_room(oxi_shunt_spill_bytes(s,item,packed));
known->load[0]=oxi_shunt_lane_seconds(s,OXI_LANE_DOWN,down,false)+work[0];
known->load[1]=oxi_shunt_lane_seconds(s,OXI_LANE_DISK,moved,false)+work[0];
known->save[0]=oxi_shunt_lane_seconds(s,OXI_LANE_UP,moved,true)+work[1];
known->save[1]=oxi_shunt_lane_seconds(s,OXI_LANE_DISK,moved,true)+work[1];for(int save=0;save<2&&!s->compute->host;save++)work[save]=0;
known->load_takes[0]=oxi_shunt_lane_takes(s,OXI_LANE_DOWN,down)+work[0];
known->save_takes[0]=oxi_shunt_lane_takes(s,OXI_LANE_UP,moved)+work[1];
known->load_takes[1]=oxi_shunt_lane_takes(s,OXI_LANE_DISK,moved)+work[0];
known->save_takes[1]=oxi_shunt_lane_takes(s,OXI_LANE_DISK,moved)+work[1];}
static void oxi_shunt_know(ox_shunt*s,const oxi_shunt_item*item,oxi_shunt_known*known,oxi_shunt_known*other){
bool may=oxi_shunt_may_pack(s,item),always=(s->desc.compress&OX_COMPRESS_ALWAYS)!=0;memset(known,0,sizeof*known);
known->room=item->small?0:oxi_shunt_item_room(item);known->held=oxi_shunt_outlives(item);
known->had=item->valid||oxi_shunt_has_copy(item);known->small=item->small;known->on_host=item->host!=NULL;
known->on_disk=item->disk_valid;known->bare=oxi_shunt_is_bare(item);known->spilled=oxi_shunt_spilled(item);known->kind=item->kind;
known->moves_whole=may||item->packed!=OX_COMPRESSION_NONE;oxi_shunt_know_moves(s,item,may&&always,known);*other=*known;
if(may&&!always)oxi_shunt_know_moves(s,item,true,other);}
static bool oxi_shunt_is_made(const oxi_shunt_item*item){return!item->valid&&!oxi_shunt_has_copy(item);}
static bool oxi_shunt_is_elementwise(oxi_op op);static void oxi_shunt_classify_changes(const oxi_shunt_node*node){bool changes=false;
for(int i=0;i<node->out_count;i++){const oxi_shunt_item*item=node->operand[node->in_count+i].item;
bool there=item&&!oxi_shunt_is_made(item);for(int k=0;k<node->in_count;k++)there=there||(item&&node->operand[k].item==item);
changes=changes||(there&&item->kind==OXI_KIND_STATE);}
for(int i=0;i<node->in_count&&changes&&oxi_shunt_is_elementwise(node->op);i++){oxi_shunt_item*item=node->operand[i].item;
if(item&&item->kind==OXI_KIND_ACTIVATION)item->kind=OXI_KIND_STATE;}}
static void oxi_shunt_classify(ox_shunt*s){for(int32_t i=0;i<s->table_count;i++){oxi_shunt_item*item=s->table[i];
item->kind=!oxi_shunt_is_made(item)?OXI_KIND_WEIGHT:oxi_shunt_outlives(item)?OXI_KIND_STATE:OXI_KIND_ACTIVATION;}
for(int64_t n=0;n<s->node_count;n++)
for(int i=0;i<s->nodes[n]->out_count;i++){oxi_shunt_item*item=s->nodes[n]->operand[s->nodes[n]->in_count+i].item;
if(item&&item->kind==OXI_KIND_WEIGHT)item->kind=OXI_KIND_STATE;}
for(int64_t n=s->node_count-1;n>=0;n--)oxi_shunt_classify_changes(s->nodes[n]);}
static uint64_t oxi_shunt_cache_room(const oxi_shunt_problem*p){size_t items=(size_t)p->item_count,nodes=(size_t)p->node_count;
int32_t*first=(int32_t*)oxi_shunt_list(3*items,sizeof*first),*last=first+items,*writes=last+items;
uint64_t*live=(uint64_t*)oxi_shunt_list(nodes+1,sizeof*live),most=p->host_room,now=0;for(int32_t n=0;first&&n<p->node_count;n++)
for(int32_t t=p->first[n];t<p->first[n+1];t++){int32_t i=p->touch[t].item;
if(first[i]==0)first[i]=n+1;
last[i]=n+1;writes[i]|=p->touch[t].writes;}
for(int32_t i=0;first&&live&&i<p->item_count;i++){const oxi_shunt_known*k=&p->known[i];
if(first[i]==0||k->small||(k->had&&!writes[i]))continue;
live[k->had?0:first[i]-1]+=k->room;live[k->held?p->node_count:last[i]]-=k->room;}
if(first&&live)most=0;
for(int32_t n=0;first&&live&&n<p->node_count;n++){now+=live[n];
if(now>most)most=now;}
oxi_shunt_unlist(first,3*items,sizeof*first);oxi_shunt_unlist(live,nodes+1,sizeof*live);
if(p->ring[0]>0)most-=most<p->capacity/32?most:p->capacity/32;
return most<p->host_room?p->host_room-most:0;}
static double oxi_shunt_search_seconds(const ox_shunt*s,const oxi_shunt_problem*p,double computes){
double least=0.015 +2e-6*p->node_count,seconds=least+0.005*computes;
if(s->desc.search_seconds>0)return s->desc.search_seconds;
if(p->recompute==OX_RECOMPUTE_EXACT)return 1;
if(p->first[p->node_count]<=OXI_SHUNT_VERY_FEW)return 0.1;
if(seconds>0.035)seconds=0.035;
return seconds>least?seconds:least;}
static uint64_t oxi_shunt_host_left(const ox_shunt*s){
return s->desc.host_bytes>s->stats.host_bytes?s->desc.host_bytes-s->stats.host_bytes:0;}
static bool oxi_shunt_problem_open(ox_shunt*s,oxi_shunt_problem*p,oxi_shunt_touches*t,oxi_shunt_known*known){
uint64_t shared=s->desc.device_bytes-s->main_bytes;int64_t operands=0;memset(p,0,sizeof*p);memset(t,0,sizeof*t);
for(int64_t n=0;n<s->node_count;n++){uint64_t small=0;
for(int i=0;i<s->nodes[n]->in_count+s->nodes[n]->out_count;i++,operands++){const oxi_shunt_item*item=s->nodes[n]->operand[i].item;
if(item&&item->small)small+=oxi_shunt_item_room(item);}
if(small>shared/2)return false;}
p->node_count=(int32_t)s->node_count;p->item_count=s->table_count;p->known=known;p->items=s->table;t->count=(int32_t)operands;
t->first=(int32_t*)oxi_shunt_list((size_t)p->node_count,sizeof*t->first);
t->touch=(oxi_shunt_touch*)oxi_shunt_list((size_t)operands,sizeof*t->touch);
t->seconds=(double*)oxi_shunt_list((size_t)p->node_count,sizeof*t->seconds);
t->again=(bool*)oxi_shunt_list((size_t)p->node_count,sizeof*t->again);if(!t->first||!t->touch||!t->seconds||!t->again)return false;
for(int32_t i=0;i<s->table_count;i++){oxi_shunt_known*other=&known[s->table_count+i];
oxi_shunt_know(s,s->table[i],&known[i],other);if(other->packs!=known[i].packs)p->other=known+s->table_count;}
for(int32_t n=0,end=0;n<p->node_count;n++){oxi_shunt_touch_node(s->nodes[n],t,&end);
t->first[n+1]=end;t->seconds[n]=oxi_shunt_node_seconds(s,s->nodes[n]);p->time_most+=t->seconds[n];
t->again[n]=oxi_shunt_may_repeat(s->nodes[n]);}
p->first=t->first;p->touch=t->touch;p->seconds=t->seconds;p->again=t->again;p->capacity=s->main_bytes;
p->host_room=oxi_shunt_host_left(s);oxi_shunt_ring_sizes(s,p);oxi_shunt_spill_know(s,p);p->cache_room=oxi_shunt_cache_room(p);
p->recompute=s->desc.recompute;p->time_most=oxi_shunt_search_seconds(s,p,p->time_most);
for(int lane=0;lane<OXI_LANES;lane++)p->least[lane]=s->rates.start[lane];
return true;}
/* >>stream/shunt/plan/early.c */
static bool oxi_shunt_uses(const oxi_shunt_problem*p,int32_t n,int32_t item){for(int32_t t=p->first[n];t<p->first[n+1];t++)
if(p->touch[t].item==item)return true;
return false;}
static int64_t oxi_shunt_growth(const oxi_shunt_problem*p,const oxi_shunt_order*o,int32_t n,int32_t but){int64_t bytes=0;
for(int32_t k=o->from[n];k<o->from[n+1];k++){int32_t a=o->access[k],i=p->touch[p->first[n]+k-o->from[n]].item;
const oxi_shunt_known*known=&p->known[i];if(but>=0&&oxi_shunt_uses(p,but,i))continue;
if(a==o->first[i]&&!known->had)bytes+=(int64_t)known->room;
if(a+1==o->first[i+1]&&!known->held)bytes-=(int64_t)known->room;}
return bytes;}
static bool oxi_shunt_has_weight(const oxi_shunt_problem*p,int32_t n){for(int32_t t=p->first[n];t<p->first[n+1];t++)
if(p->known[p->touch[t].item].room>0)return true;
return false;}
static void oxi_shunt_anchor(const oxi_shunt_problem*p,const oxi_shunt_order*o,int32_t*behind,int32_t(*used)[2]){
for(int32_t i=0;i<p->item_count;i++)used[i][0]=used[i][1]=-1;
for(int32_t n=0;n<p->node_count;n++){int32_t least=-1;
for(int32_t t=p->first[n];t<p->first[n+1];t++){int32_t last=used[p->touch[t].item][p->touch[t].writes?0:1];
if(last>least)least=last;}
bool early=least>=0&&oxi_shunt_has_weight(p,n)&&oxi_shunt_growth(p,o,n,-1)<=0;behind[n]=early?least:n;
for(int32_t t=p->first[n];t<p->first[n+1];t++){int32_t*last=used[p->touch[t].item];
if(behind[n]>last[0])last[0]=behind[n];
if(p->touch[t].writes)last[1]=behind[n];}}}
static bool oxi_shunt_are_apart(const oxi_shunt_problem*p,int32_t a,int32_t b){for(int32_t t=p->first[a];t<p->first[a+1];t++)
for(int32_t u=p->first[b];u<p->first[b+1];u++)
if(p->touch[t].item==p->touch[u].item&&(p->touch[t].writes||p->touch[u].writes))
return false;
return true;}
static void oxi_shunt_order_lean(const oxi_shunt_problem*p,const oxi_shunt_order*o,int32_t*order){enum{FAR=4,MUCH=16};
const int64_t much=(int64_t)(p->capacity/MUCH);for(int32_t j=1;j<p->node_count;j++)
for(int32_t k=j;k>0&&j-k<FAR;k--){int32_t a=order[k-1],b=order[k];
if(oxi_shunt_growth(p,o,a,b)-oxi_shunt_growth(p,o,b,a)<=much)break;
if(!oxi_shunt_are_apart(p,a,b))break;
order[k-1]=b;order[k]=a;}}
static int32_t*oxi_shunt_order_early(const oxi_shunt_problem*p){size_t nodes=(size_t)p->node_count,items=(size_t)p->item_count;
oxi_shunt_order o;if(!oxi_shunt_order_open(&o,p))return NULL;
int32_t*behind=(int32_t*)oxi_shunt_list(nodes,sizeof*behind);int32_t*start=(int32_t*)oxi_shunt_list(nodes,sizeof*start);
int32_t*order=(int32_t*)oxi_shunt_list(nodes,sizeof*order);int32_t(*used)[2]=(int32_t(*)[2])oxi_shunt_list(items,sizeof*used);
bool made=behind&&start&&order&&used,moves=false;if(made)oxi_shunt_anchor(p,&o,behind,used);
for(int32_t n=0;made&&n<p->node_count;n++)start[behind[n]+1]++;
for(int32_t n=0;made&&n<p->node_count;n++)start[n+1]+=start[n];
for(int32_t n=0;made&&n<p->node_count;n++)order[start[behind[n]]++]=n;
for(int32_t n=0;made&&n<p->node_count;n++)moves=moves||order[n]!=n;
if(moves)oxi_shunt_order_lean(p,&o,order);
oxi_shunt_unlist(behind,nodes,sizeof*behind);oxi_shunt_unlist(start,nodes,sizeof*start);oxi_shunt_unlist(used,items,sizeof*used);
oxi_shunt_order_close(&o,p);if(moves)return order;
oxi_shunt_unlist(order,nodes,sizeof*order);return NULL;}
/* >>stream/shunt/plan/place.c */
enum{OXI_PACK_TIGHT=1,OXI_PACK_LATE=2,OXI_PACK_RING=4,OXI_PACK_APART=8,OXI_PACK_LONG=16};
enum{OXI_PACK_NEXT=32,OXI_PACK_TURNS=64,OXI_PACK_SIDES=128,OXI_PACKINGS=8};
enum{OXI_PACK_ENDS=OXI_PACK_APART|OXI_PACK_LONG|OXI_PACK_NEXT|OXI_PACK_TURNS|OXI_PACK_SIDES};enum{OXI_PACK_LOOSE=1<<28};
enum{OXI_PACK_SIDES_AT=8,OXI_PACK_SIDES_MOST=20};static const int oxi_shunt_packings[OXI_PACKINGS]={
0,OXI_PACK_TIGHT,OXI_PACK_RING,OXI_PACK_RING|OXI_PACK_TIGHT,OXI_PACK_APART,OXI_PACK_LONG,OXI_PACK_NEXT,OXI_PACK_TURNS};
enum{OXI_SHUNT_LARGE=16};typedef struct oxi_shunt_choice{double pinned_part,capacity_part,dirty_weight;
int packing,spread;}oxi_shunt_choice;typedef struct oxi_shunt_placing{uint8_t*keep;uint64_t pinned_bytes;}oxi_shunt_placing;
static uint64_t oxi_shunt_widest(const oxi_shunt_problem*p){uint64_t most=0;for(int32_t n=0;n<p->node_count;n++){uint64_t bytes=0;
for(int32_t t=p->first[n];t<p->first[n+1];t++)
if(!p->known[p->touch[t].item].pinned)bytes+=p->known[p->touch[t].item].room;
if(bytes>most)most=bytes;}
return most;}
typedef struct oxi_shunt_rank{double worth;
int32_t item,first;}oxi_shunt_rank;static int oxi_shunt_rank_compare(const void*a,const void*b){
const oxi_shunt_rank*x=(const oxi_shunt_rank*)a,*y=(const oxi_shunt_rank*)b;if(x->worth!=y->worth)return x->worth>y->worth?-1:1;
return x->first<y->first?-1:x->first>y->first;}
static uint32_t oxi_shunt_reversed(uint32_t bits){uint32_t out=0;for(int i=0;i<32;i++)out|=(bits>>i&1u)<<(31 -i);
return out;}
static void oxi_shunt_rank_spread(const oxi_shunt_problem*p,oxi_shunt_rank*rank,int32_t count){for(int32_t r=0,end;r<count;r=end){
for(end=r+1;end<count&&rank[end].worth>0.8*rank[r].worth;)end++;
for(int32_t q=r;q<end;q++)rank[q].worth=rank[r].worth;
qsort(rank+r,(size_t)(end-r),sizeof*rank,oxi_shunt_rank_compare);for(int32_t q=r;q<end;q++){
bool large=p->known[rank[q].item].room>p->capacity/OXI_SHUNT_LARGE;
rank[q].first=large?-1:(int32_t)(oxi_shunt_reversed((uint32_t)(q-r))>>1);}
qsort(rank+r,(size_t)(end-r),sizeof*rank,oxi_shunt_rank_compare);}}
static int32_t oxi_shunt_rank_all(const oxi_shunt_problem*p,const oxi_shunt_order*o,oxi_shunt_rank*rank){int32_t count=0;
for(int32_t i=0;i<p->item_count;i++){const oxi_shunt_known*k=&p->known[i];
if(!k->had||!k->held||k->small||o->first[i]==o->first[i+1])continue;
int uses=0;bool writes=false;for(int32_t a=o->first[i];a<o->first[i+1];a++){writes=writes||o->use[a]&2;
if(o->use[a]&1&&(a==o->first[i]||o->at[a]>o->at[a-1]+2))uses++;}
int from=k->on_host?0:1;double load=k->load[from],save=k->save[from];
rank[count].item=i;rank[count].first=o->at[o->first[i]];rank[count++].worth=(load*(uses>0)+1e-3*load*uses+save*writes)/(double)k->room;}
qsort(rank,(size_t)count,sizeof*rank,oxi_shunt_rank_compare);return count;}
static uint64_t oxi_shunt_pin_some(oxi_shunt_problem*p,const oxi_shunt_rank*rank,int32_t count,double part){uint64_t bytes=0;
for(int32_t i=0;i<p->item_count;i++)p->known[i].pinned=false;
for(int pass=0;pass<2&&part!=0;pass++){double left=(double)p->capacity-(double)oxi_shunt_widest(p);
double room=part>0?part*left:left+part*((double)p->capacity-left);
for(int32_t r=0;r<count;r++){oxi_shunt_known*k=&p->known[rank[r].item];
if(k->pinned||(double)(bytes+k->room)>room)continue;
k->pinned=true;k->place=bytes;bytes+=k->room;}}
return bytes;}
static void oxi_shunt_cache_some(oxi_shunt_problem*p,const oxi_shunt_rank*rank,int32_t count){uint64_t left=p->cache_room;
for(int32_t r=0;r<count;r++){oxi_shunt_known*k=&p->known[rank[r].item];
k->caches=!k->pinned&&!k->on_host&&k->on_disk&&k->room<=left;if(k->caches)left-=k->room;}}
static bool oxi_shunt_is_apart(const oxi_shunt_known*k){return k->pinned||k->small;}
typedef struct oxi_shunt_saving{double worth;
uint64_t room;double seconds,takes;}oxi_shunt_saving;
static int oxi_shunt_saving_compare(const void*a,const void*b){
const oxi_shunt_saving*x=(const oxi_shunt_saving*)a,*y=(const oxi_shunt_saving*)b;return x->worth>y->worth?-1:x->worth<y->worth;}
static double oxi_shunt_tier_bound(const oxi_shunt_problem*p,const oxi_shunt_order*o,int tier,double*takes){
oxi_shunt_saving*list=(oxi_shunt_saving*)oxi_shunt_list((size_t)p->item_count,sizeof*list);
double seconds=0,room=(double)(p->capacity+(tier?p->host_room:0));
int32_t count=0;for(int32_t i=0;list&&i<p->item_count;i++){const oxi_shunt_known*k=&p->known[i];
bool writes=false,reads=o->first[i]<o->first[i+1]&&o->use[o->first[i]]&1;
for(int32_t a=o->first[i];a<o->first[i+1];a++)writes=writes||o->use[a]&2;
if(!k->had||!k->held||k->on_host==(tier==1))continue;
list[count].seconds=(reads?k->load[tier]-p->least[tier?OXI_LANE_DISK:OXI_LANE_DOWN]:0)+
(writes?k->save[tier]-p->least[tier?OXI_LANE_DISK:OXI_LANE_UP]:0);
list[count].takes=reads*k->load_takes[tier]+writes*k->save_takes[tier];list[count].room=k->room;
list[count].worth=list[count].seconds/(double)k->room;
count++;}
if(list)qsort(list,(size_t)count,sizeof*list,oxi_shunt_saving_compare);
for(int32_t i=0;i<count;i++){double part=(double)list[i].room<=room?1:room/(double)list[i].room;
seconds+=(1 -part)*list[i].seconds;*takes+=(1 -part)*list[i].takes;room-=part*(double)list[i].room;}
oxi_shunt_unlist(list,(size_t)p->item_count,sizeof*list);return seconds;}
typedef struct oxi_shunt_heap{int32_t*access,*next,count;}oxi_shunt_heap;
static void oxi_shunt_heap_put(oxi_shunt_heap*h,int32_t access,int32_t next){int32_t at=h->count++;
for(;at>0&&h->next[(at-1)/2]<next;at=(at-1)/2){h->next[at]=h->next[(at-1)/2];
h->access[at]=h->access[(at-1)/2];}
h->next[at]=next;h->access[at]=access;}
static void oxi_shunt_heap_pop(oxi_shunt_heap*h){int32_t next=h->next[--h->count],access=h->access[h->count],at=0;
for(int32_t child;(child=2*at+1)<h->count;at=child){if(child+1<h->count&&h->next[child+1]>h->next[child])child++;
if(h->next[child]<=next)break;
h->next[at]=h->next[child];h->access[at]=h->access[child];}
h->next[at]=next;h->access[at]=access;}
typedef struct oxi_shunt_min{const oxi_shunt_problem*p;const oxi_shunt_order*o;uint8_t*keep;int32_t*item_of;int32_t*last;int32_t*stamp;
uint8_t*dirty;oxi_shunt_heap heap[2];uint64_t used,most,all;double weight;}oxi_shunt_min;
static int32_t oxi_shunt_min_top(oxi_shunt_min*m,int which,int32_t slot){oxi_shunt_heap*h=&m->heap[which];while(h->count>0){
int32_t a=h->access[0],i=m->item_of[a];if(m->last[i]==a&&m->dirty[i]==which&&m->stamp[i]!=slot)return a;
oxi_shunt_heap_pop(h);}
return-1;}
static void oxi_shunt_min_leave(oxi_shunt_min*m,int32_t i){m->keep[m->last[i]]=0;m->last[i]=-1;m->dirty[i]=0;
m->used-=m->p->known[i].room;}
static bool oxi_shunt_min_evict(oxi_shunt_min*m,int32_t slot){
int32_t clean=oxi_shunt_min_top(m,0,slot),dirty=oxi_shunt_min_top(m,1,slot),victim;if(clean<0&&dirty<0)return false;
if(clean<0||dirty<0){victim=clean<0?dirty:clean;}else{double now=m->o->start[slot];
int32_t a=m->heap[0].next[0],b=m->heap[1].next[0];double first=m->o->start[a]-now+1e-9*a,second=m->o->start[b]-now+1e-9*b;
victim=second>m->weight*first?dirty:clean;}
oxi_shunt_min_leave(m,m->item_of[victim]);return true;}
static void oxi_shunt_min_after(oxi_shunt_min*m,int32_t slot){const oxi_shunt_order*o=m->o;
for(int32_t k=o->from[slot];k<o->from[slot+1];k++){int32_t a=o->access[k],i=m->item_of[a];
bool ends=a+1==o->first[i+1];if(oxi_shunt_is_apart(&m->p->known[i]))continue;
if(o->use[a]&2)m->dirty[i]=1;
m->keep[a]=1;m->last[i]=a;if(!oxi_shunt_needed_after(o,m->p,i,a)||(ends&&m->p->known[i].had)){oxi_shunt_min_leave(m,i);
continue;}
oxi_shunt_heap_put(&m->heap[m->dirty[i]],a,ends?o->slot_count:o->at[a+1]);}}
static bool oxi_shunt_min_walk(oxi_shunt_min*m){const oxi_shunt_order*o=m->o;for(int32_t slot=0;slot<o->slot_count;slot++){
for(int32_t k=o->from[slot];k<o->from[slot+1];k++){int32_t i=m->item_of[o->access[k]];
m->stamp[i]=slot;if(m->last[i]>=0||oxi_shunt_is_apart(&m->p->known[i]))continue;
m->used+=m->p->known[i].room;m->last[i]=o->access[k];}
while(m->used>m->most&&oxi_shunt_min_evict(m,slot)){}
if(m->used>m->all)return false;
oxi_shunt_min_after(m,slot);}
return true;}
static bool oxi_shunt_has_large(const oxi_shunt_problem*p,const oxi_shunt_order*o){
return o->access_count>OXI_SHUNT_FEW&&p->largest>p->capacity/2;}
static bool oxi_shunt_place(const oxi_shunt_problem*p,const oxi_shunt_order*o,const oxi_shunt_choice*c,oxi_shunt_placing*out){
size_t items=(size_t)p->item_count,accesses=(size_t)o->access_count;
uint64_t widest=oxi_shunt_widest(p),left=p->capacity-out->pinned_bytes;oxi_shunt_min m;memset(&m,0,sizeof m);
if(out->pinned_bytes>p->capacity||widest>left)return false;
m.p=p;m.o=o;m.keep=out->keep;m.weight=c->dirty_weight;m.most=(uint64_t)(c->capacity_part*(double)left);
if(m.most<widest&&!oxi_shunt_has_large(p,o))m.most=widest;
m.all=left;int32_t*ints=(int32_t*)oxi_alloc((2*items+5*accesses+1)*sizeof*ints);m.dirty=(uint8_t*)oxi_shunt_list(items,1);
bool placed=ints&&m.dirty;if(placed){memset(m.keep,0,accesses);
m.last=ints;m.stamp=ints+items;m.item_of=m.stamp+items;for(int h=0;h<2;h++){m.heap[h].access=m.item_of+accesses*(size_t)(1 +2*h);
m.heap[h].next=m.heap[h].access +accesses;}
for(int32_t i=0;i<p->item_count;i++){m.last[i]=m.stamp[i]=-1;
for(int32_t a=o->first[i];a<o->first[i+1];a++)m.item_of[a]=i;}
placed=oxi_shunt_min_walk(&m);}
oxi_shunt_unlist(m.dirty,items,1);oxi_free(ints,(2*items+5*accesses+1)*sizeof*ints);return placed;}
static bool oxi_shunt_place_near(const oxi_shunt_problem*p,const oxi_shunt_order*o,int32_t far,uint8_t*keep){
uint64_t*used=(uint64_t*)oxi_shunt_list((size_t)o->slot_count,sizeof*used);if(!used)return false;
memset(keep,0,(size_t)o->access_count);for(int32_t i=0;i<p->item_count;i++)
for(int32_t a=o->first[i];a<o->first[i+1];a++)
if(!oxi_shunt_is_apart(&p->known[i]))used[o->at[a]]+=p->known[i].room;
for(int small=0;small<2;small++)
for(int32_t i=0;i<p->item_count;i++){const uint64_t room=p->known[i].room;
const bool is_small=room<=p->capacity/OXI_SHUNT_LARGE;if(oxi_shunt_is_apart(&p->known[i])||is_small!=(small==1))continue;
for(int32_t a=o->first[i];a+1<o->first[i+1];a++){int32_t from=o->at[a]+1,to=o->at[a+1];
bool fits=to-from<far;for(int32_t j=from;fits&&j<to;j++)fits=used[j]+room<=p->capacity;
for(int32_t j=from;fits&&j<to;j++)used[j]+=room;
keep[a]=fits;}}
oxi_shunt_unlist(used,(size_t)o->slot_count,sizeof*used);return true;}
/* >>stream/shunt/plan/places.c */
typedef struct oxi_shunt_block{uint64_t place,bytes;int32_t before,behind;int32_t bin,next,last;int32_t clock[OXI_LANES];double free_at;
}oxi_shunt_block;enum{OXI_SHUNT_BINS=32};typedef struct oxi_shunt_schedule{const oxi_shunt_problem*p;const oxi_shunt_order*o;
const uint8_t*keep;oxi_shunt_plan*plan;uint64_t*used;double*idle;
int32_t*loads,*issues,*defines,*ends;int32_t*segment_of;uint8_t*tier;int32_t(*saved)[2];oxi_shunt_block*block;
int32_t bin[OXI_SHUNT_BINS];int32_t bin_end[OXI_SHUNT_BINS];int32_t open_count;uint64_t bins;int32_t*block_of;size_t block_room;
int32_t block_count,spare;bool crowded;int32_t crowds;uint64_t placed;double*finish[OXI_LANES],lane_end[OXI_LANES];
size_t finish_room;oxi_shunt_ring ring[2];int32_t read_slot,read_segment;uint64_t host_left,disk_used;uint64_t*spilled;uint64_t*kept;
uint64_t*below;uint64_t limit;int packing;bool by_time;int32_t taken;bool tight;}oxi_shunt_schedule;
static bool oxi_shunt_block_free(const oxi_shunt_schedule*s,int32_t b){return b>=0&&s->block[b].bin>=0;}
static int oxi_shunt_bin_of(uint64_t bytes){int bin=1;for(bytes>>=12;bytes>0;bytes>>=1)bin++;
return bin<OXI_SHUNT_BINS?bin:OXI_SHUNT_BINS-1;}
static void oxi_shunt_block_unlist(oxi_shunt_schedule*s,int32_t b){const oxi_shunt_block*one=&s->block[b];if(one->last>=0)
s->block[one->last].next=one->next;
else
s->bin[one->bin]=one->next;
if(one->next>=0)
s->block[one->next].last=one->last;
else
s->bin_end[one->bin]=one->last;
if(s->bin[one->bin]<0)s->bins&=~((uint64_t)1<<one->bin);}
static int oxi_shunt_block_bin(const oxi_shunt_schedule*s,const oxi_shunt_block*one){
bool alone=!oxi_shunt_block_free(s,one->before)&&!oxi_shunt_block_free(s,one->behind);return alone?oxi_shunt_bin_of(one->bytes):0;}
static void oxi_shunt_block_enlist(oxi_shunt_schedule*s,int32_t b){oxi_shunt_block*one=&s->block[b];one->bin=oxi_shunt_block_bin(s,one);
one->last=s->bin[one->bin]<0?-1:s->bin_end[one->bin];while(s->by_time&&one->last>=0&&s->block[one->last].free_at>one->free_at)
one->last=s->block[one->last].last;
int32_t*from=one->last<0?&s->bin[one->bin]:&s->block[one->last].next;one->next=*from;*from=b;if(one->next>=0)
s->block[one->next].last=b;
else
s->bin_end[one->bin]=b;
s->bins|=(uint64_t)1<<one->bin;}
static void oxi_shunt_block_relist(oxi_shunt_schedule*s,int32_t b){
if(!oxi_shunt_block_free(s,b)||s->block[b].bin==oxi_shunt_block_bin(s,&s->block[b]))return;
oxi_shunt_block_unlist(s,b);oxi_shunt_block_enlist(s,b);}
static int32_t oxi_shunt_block_new(oxi_shunt_schedule*s,int32_t before,int32_t behind){int32_t b=s->spare;if(b>=0){
s->spare=s->block[b].behind;}else{void*grown=oxi_grow(s->block,&s->block_room,(size_t)s->block_count+1,sizeof*s->block,false);
if(!grown)return-1;
s->block=(oxi_shunt_block*)grown;b=s->block_count++;}
memset(&s->block[b],0,sizeof*s->block);s->block[b].bin=-1;s->block[b].before=before;s->block[b].behind=behind;
if(before>=0)s->block[before].behind=b;
if(behind>=0)s->block[behind].before=b;
return b;}
static void oxi_shunt_block_open(oxi_shunt_schedule*s,int32_t b){s->open_count++;oxi_shunt_block_enlist(s,b);
oxi_shunt_block_relist(s,s->block[b].before);oxi_shunt_block_relist(s,s->block[b].behind);}
static void oxi_shunt_block_remove(oxi_shunt_schedule*s,int32_t b){oxi_shunt_block*one=&s->block[b];oxi_shunt_block_unlist(s,b);
s->open_count--;if(one->before>=0)s->block[one->before].behind=one->behind;
if(one->behind>=0)s->block[one->behind].before=one->before;
one->bin=-1;one->behind=s->spare;s->spare=b;}
static void oxi_shunt_clock_join(int32_t*clock,const int32_t*other){for(int lane=0;lane<OXI_LANES;lane++)
if(other[lane]>clock[lane])clock[lane]=other[lane];}
typedef struct oxi_shunt_fit{int32_t first,last;double free_at;
uint64_t place,left,run_left;}oxi_shunt_fit;
static bool oxi_shunt_fit_at(const oxi_shunt_schedule*s,int32_t first,uint64_t room,double latest,oxi_shunt_fit*fit){uint64_t bytes=0;
fit->first=first;fit->place=s->block[first].place;fit->free_at=0;int32_t b=first;
for(;bytes<room&&oxi_shunt_block_free(s,b);b=s->block[b].behind){const oxi_shunt_block*one=&s->block[b];
if(one->free_at>latest)return false;
bytes+=one->bytes;if(one->free_at>fit->free_at)fit->free_at=one->free_at;
fit->last=b;}
if(bytes<room)return false;
fit->left=fit->run_left=bytes-room;for(;s->tight&&oxi_shunt_block_free(s,b);b=s->block[b].behind)fit->run_left+=s->block[b].bytes;
return true;}
static bool oxi_shunt_fit_beats(const oxi_shunt_schedule*s,const oxi_shunt_fit*x,const oxi_shunt_fit*y){
if(s->packing&OXI_PACK_ENDS)return x->place<y->place;
if(s->tight&&x->run_left!=y->run_left)return x->run_left<y->run_left;
if(!s->tight&&x->free_at!=y->free_at)return x->free_at<y->free_at;
if(!s->tight&&x->left!=y->left)return x->left<y->left;
return x->place<y->place;}
static bool oxi_shunt_occupy(oxi_shunt_schedule*s,const oxi_shunt_fit*fit,bool end,uint64_t room,oxi_shunt_segment*g,int32_t*clock){
int32_t before=s->block[fit->first].before,behind=s->block[fit->last].behind;int32_t rest=fit->left==0?-1:end?fit->first:fit->last;
g->place=fit->place+(end?fit->left:0);for(int32_t b=fit->first,next;b!=behind;b=next){next=s->block[b].behind;
oxi_shunt_clock_join(clock,s->block[b].clock);if(b!=rest)oxi_shunt_block_remove(s,b);}
if(rest>=0){oxi_shunt_block*one=&s->block[rest];
if(!end)one->place+=one->bytes-fit->left;
one->bytes=fit->left;if(end)
before=rest;
else
behind=rest;}
int32_t b=oxi_shunt_block_new(s,before,behind);if(b<0)return false;
s->block[b].place=g->place;s->block[b].bytes=room;s->block_of[g->item]=b;oxi_shunt_block_relist(s,before);
oxi_shunt_block_relist(s,behind);if(g->place+room>s->plan->peak)s->plan->peak=g->place+room;
return true;}
static bool oxi_shunt_fit_end(const oxi_shunt_schedule*s,int32_t last,uint64_t room,oxi_shunt_fit*fit){int32_t b=last;
uint64_t bytes=s->block[b].bytes;if(oxi_shunt_block_free(s,s->block[last].behind))return false;
while(bytes<room&&oxi_shunt_block_free(s,s->block[b].before)){b=s->block[b].before;
bytes+=s->block[b].bytes;}
if(bytes<room)return false;
fit->first=b;fit->last=last;fit->place=s->block[b].place;fit->left=bytes-room;return true;}
static bool oxi_shunt_fit_best(const oxi_shunt_schedule*s,int bin,bool end,uint64_t room,double now,bool found,oxi_shunt_fit*best){
oxi_shunt_fit fit;const uint64_t limit=s->kept?s->limit:UINT64_MAX;
const bool by_place=!end&&s->packing&OXI_PACK_ENDS,by_time=!by_place&&!s->tight;memset(&fit,0,sizeof fit);
for(int32_t b=s->bin[bin];b>=0;b=s->block[b].next){if(!end&&s->tight&&oxi_shunt_block_free(s,s->block[b].before))continue;
if(found&&by_place&&s->block[b].place>=best->place)continue;
const double latest=found&&by_time?best->free_at:HUGE_VAL;
if(!end&&s->block[b].free_at>latest){if(s->by_time)break;
continue;}
bool fits=end?oxi_shunt_fit_end(s,b,room,&fit):oxi_shunt_fit_at(s,b,room,latest,&fit);if(!fits)continue;
if(fit.place+(end?fit.left:0)+room>limit)continue;
if(fit.free_at<now)fit.free_at=now;
if(found&&(end?fit.place<best->place:!oxi_shunt_fit_beats(s,&fit,best)))continue;
*best=fit;found=true;}
return found;}
static bool oxi_shunt_fit_alone(const oxi_shunt_schedule*s,int bin,bool end,uint64_t room,double now,bool found,oxi_shunt_fit*best){
const uint64_t limit=s->kept?s->limit:UINT64_MAX;for(int32_t b=s->bin[bin];b>=0;b=s->block[b].next){
const oxi_shunt_block*one=&s->block[b];if(s->by_time&&!s->tight&&!end&&found&&one->free_at>best->free_at)break;
if(one->bytes<room)continue;
oxi_shunt_fit fit;fit.left=fit.run_left=one->bytes-room;fit.place=one->place;fit.free_at=one->free_at<now?now:one->free_at;
if(fit.place+(end?fit.left:0)+room>limit)continue;
if(found&&(end?fit.place<best->place:!oxi_shunt_fit_beats(s,&fit,best)))continue;
fit.first=fit.last=b;*best=fit;found=true;}
return found;}
static bool oxi_shunt_leaves_least(const oxi_shunt_schedule*s,int bin,uint64_t room,double now,const oxi_shunt_fit*best){
const uint64_t bytes=bin>1?(uint64_t)1<<(bin-2 +12):0;if(s->packing&OXI_PACK_ENDS||bytes<room)return false;
return s->tight?best->run_left<bytes-room:best->free_at<=now&&best->left<bytes-room;}
static bool oxi_shunt_takes_end(const oxi_shunt_schedule*s,const oxi_shunt_segment*g){
bool large=s->p->known[g->item].room>(s->p->capacity-s->plan->pinned_bytes)/OXI_SHUNT_LARGE;
int packing=s->packing,slots=g->last-g->first;int side=packing>>(OXI_PACK_SIDES_AT+s->taken%OXI_PACK_SIDES_MOST)&1;
return(packing&OXI_PACK_APART&&large)||(packing&OXI_PACK_LONG&&slots>1)||
(packing&OXI_PACK_NEXT&&slots>0)||(packing&OXI_PACK_TURNS&&s->taken%2==1)||(packing&OXI_PACK_SIDES&&side==1);}
static bool oxi_shunt_block_split(oxi_shunt_schedule*s,int32_t b,uint64_t bytes){
int32_t rest=oxi_shunt_block_new(s,b,s->block[b].behind);if(rest<0)return false;
oxi_shunt_block*one=&s->block[b],*two=&s->block[rest];two->place=one->place+bytes;two->bytes=one->bytes-bytes;two->free_at=one->free_at;
memcpy(two->clock,one->clock,sizeof two->clock);one->bytes=bytes;oxi_shunt_block_open(s,rest);return true;}
static int32_t oxi_shunt_block_at(oxi_shunt_schedule*s,uint64_t place){for(int bin=0;bin<OXI_SHUNT_BINS;bin++)
for(int32_t b=s->bin[bin];b>=0;b=s->block[b].next){uint64_t begin=s->block[b].place;
if(begin>place||place-begin>=s->block[b].bytes)continue;
if(begin==place)return b;
return oxi_shunt_block_split(s,b,place-begin)?s->block[b].behind:-1;}
return-1;}
static bool oxi_shunt_fit_place(oxi_shunt_schedule*s,uint64_t place,uint64_t room,oxi_shunt_fit*fit){uint64_t bytes=0;
int32_t b=oxi_shunt_block_at(s,place);fit->first=b;fit->place=place;for(;bytes<room&&oxi_shunt_block_free(s,b);b=s->block[b].behind){
bytes+=s->block[b].bytes;fit->last=b;}
fit->left=bytes-room;return bytes>=room;}
static uint64_t oxi_shunt_limit_of(const oxi_shunt_schedule*s,const oxi_shunt_segment*g){uint64_t limit=UINT64_MAX;
int32_t end=g->stays?s->o->slot_count-1:g->last;for(int32_t j=g->from+1;j<=end;j++)
if(s->below[j]<limit)limit=s->below[j];
return limit;}
static bool oxi_shunt_take_place(oxi_shunt_schedule*s,double now,oxi_shunt_segment*g,int32_t*clock){
uint64_t room=s->p->known[g->item].room,kept=s->kept?s->kept[g-s->plan->segment]:UINT64_MAX;
bool end=kept==UINT64_MAX&&oxi_shunt_takes_end(s,g);oxi_shunt_fit best;memset(&best,0,sizeof best);
bool found=kept<UINT64_MAX&&oxi_shunt_fit_place(s,kept,room,&best);for(int anywhere=s->kept==NULL;anywhere<2&&!found;anywhere++){
s->limit=anywhere?UINT64_MAX:oxi_shunt_limit_of(s,g);found=oxi_shunt_fit_best(s,0,end,room,now,false,&best);
for(int bin=oxi_shunt_bin_of(room);s->bins>>bin;bin++){if(found&&!end&&oxi_shunt_leaves_least(s,bin,room,now,&best))break;
if(s->bins>>bin&1)found=oxi_shunt_fit_alone(s,bin,end,room,now,found,&best);}}
s->block_of[g->item]=-1;s->placed+=room;s->taken++;s->crowded=s->crowded||!found;
return!found||oxi_shunt_occupy(s,&best,end,room,g,clock);}
static void oxi_shunt_block_merge(oxi_shunt_schedule*s,int32_t x,int32_t y){oxi_shunt_block*one=&s->block[x],*two=&s->block[y];
oxi_shunt_block_unlist(s,x);one->bytes+=two->bytes;if(two->free_at>one->free_at)one->free_at=two->free_at;
oxi_shunt_clock_join(one->clock,two->clock);oxi_shunt_block_remove(s,y);oxi_shunt_block_enlist(s,x);}
static void oxi_shunt_leave_place(oxi_shunt_schedule*s,int32_t item,const int32_t*clock,double free_at,double now){enum{MANY=256};
int32_t b=s->block_of[item];if(b<0)return;
oxi_shunt_block*one=&s->block[b];one->free_at=free_at;memcpy(one->clock,clock,sizeof one->clock);oxi_shunt_block_open(s,b);
bool many=s->open_count>MANY;int32_t before=one->before;if(oxi_shunt_block_free(s,before)&&
(many||(s->block[before].free_at<=now&&s->block[b].free_at<=now))){oxi_shunt_block_merge(s,before,b);
b=before;}
int32_t behind=s->block[b].behind;if(oxi_shunt_block_free(s,behind)&&(many||(s->block[behind].free_at<=now&&s->block[b].free_at<=now)))
oxi_shunt_block_merge(s,b,behind);}
/* >>stream/shunt/plan/reserve.c */
typedef struct oxi_shunt_large{uint64_t room,place;int32_t segment,from,end;}oxi_shunt_large;enum{OXI_SHUNT_LARGE_MOST=512};
static int oxi_shunt_large_compare(const void*a,const void*b){
const oxi_shunt_large*x=(const oxi_shunt_large*)a,*y=(const oxi_shunt_large*)b;if(x->room!=y->room)return x->room>y->room?-1:1;
return x->segment<y->segment?-1:x->segment>y->segment;}
static int32_t oxi_shunt_large_list(const oxi_shunt_schedule*s,oxi_shunt_large*list){
const uint64_t all=s->p->capacity-s->plan->pinned_bytes;int32_t count=0;for(int32_t g=0;g<s->plan->segment_count;g++){
const oxi_shunt_segment*one=&s->plan->segment[g];uint64_t room=s->p->known[one->item].room;if(room<=all/OXI_SHUNT_LARGE)continue;
if(count==OXI_SHUNT_LARGE_MOST)return 0;
const oxi_shunt_large large={room,0,g,one->from,one->stays?s->o->slot_count:one->last};list[count++]=large;}
qsort(list,(size_t)count,sizeof*list,oxi_shunt_large_compare);return count;}
static uint64_t oxi_shunt_large_place(const oxi_shunt_schedule*s,const oxi_shunt_large*list,int32_t k){
const oxi_shunt_large*one=&list[k];uint64_t end=s->p->capacity;for(int32_t q=0;q<k;q++){const oxi_shunt_large*other=&list[q];
bool apart=other->place==0||other->from>one->end||other->end<one->from;
if(apart||other->place>=end||other->place+other->room<=end-one->room)continue;
if(other->place<s->plan->pinned_bytes+one->room)return 0;
end=other->place;q=-1;}
return end-one->room;}
static void oxi_shunt_reserve(oxi_shunt_schedule*s){size_t slots=(size_t)s->o->slot_count,segments=(size_t)s->plan->segment_count;
oxi_shunt_large*list=(oxi_shunt_large*)oxi_shunt_list(OXI_SHUNT_LARGE_MOST,sizeof*list);
int32_t count=list?oxi_shunt_large_list(s,list):0;if(count>0){s->kept=(uint64_t*)oxi_shunt_list(segments,sizeof*s->kept);
s->below=(uint64_t*)oxi_shunt_list(slots,sizeof*s->below);}
if(s->kept&&!s->below){oxi_shunt_unlist(s->kept,segments,sizeof*s->kept);
s->kept=NULL;}
if(s->kept){memset(s->kept,0xff,segments*sizeof*s->kept);
memset(s->below,0xff,slots*sizeof*s->below);for(int32_t k=0;k<count;k++){list[k].place=oxi_shunt_large_place(s,list,k);
if(list[k].place==0)continue;
s->kept[list[k].segment]=list[k].place;uint64_t*below=&s->below[list[k].from];if(list[k].place<*below)*below=list[k].place;}}
oxi_shunt_unlist(list,OXI_SHUNT_LARGE_MOST,sizeof*list);}
static void oxi_shunt_reserve_end(oxi_shunt_schedule*s){
if(s->kept)oxi_shunt_unlist(s->kept,(size_t)s->plan->segment_count,sizeof*s->kept);
if(s->below)oxi_shunt_unlist(s->below,(size_t)s->o->slot_count,sizeof*s->below);}
/* >>stream/shunt/plan/spill.c */
static uint64_t oxi_shunt_spill_room(uint64_t bytes){return(bytes+OXI_STREAM_PAGE-1)/OXI_STREAM_PAGE*OXI_STREAM_PAGE;}
static uint64_t oxi_shunt_spilled(const oxi_shunt_item*item){return item->disk&&!item->file?oxi_shunt_spill_room(item->disk->bytes):0;}
static size_t oxi_shunt_spill_bytes(const ox_shunt*s,const oxi_shunt_item*item,bool packed){
return oxi_shunt_moved_bytes(s,item,packed)+(packed||!s->compute->host?0:item->skew);}
static uint64_t oxi_shunt_disk_used(const ox_shunt*s){return s->stream?ox_device_get_stats(ox_stream_device(s->stream)).bytes_in_use:0;}
static void oxi_shunt_spill_know(const ox_shunt*s,oxi_shunt_problem*p){p->disk_most=s->desc.disk_bytes;if(p->disk_most==0)return;
p->disk_used=oxi_shunt_disk_used(s);for(int64_t r=0;r<s->resident[0].count;r++){const oxi_shunt_item*item=s->resident[0].item[r];
if(item->mark==s->step_number||!oxi_shunt_is_bare(item))continue;
const uint64_t host=item->bytes<=p->host_room?item->bytes:0;p->host_room-=host;
if(host==0)p->disk_used+=oxi_shunt_spill_room(oxi_shunt_spill_bytes(s,item,false));}}
static bool oxi_shunt_spill_open(oxi_shunt_schedule*s){const oxi_shunt_problem*p=s->p;s->disk_used=p->disk_used;
if(p->disk_most==0)return true;
s->spilled=(uint64_t*)oxi_shunt_list((size_t)p->item_count,sizeof*s->spilled);for(int32_t i=0;s->spilled&&i<p->item_count;i++){
const oxi_shunt_known*k=&p->known[i];s->spilled[i]=k->spilled;if(!k->bare||k->pinned||k->small)continue;
s->tier[i]=k->room<=s->host_left?1:2;if(s->tier[i]==1)s->host_left-=k->room;
if(s->tier[i]==2)s->disk_used+=s->spilled[i]=k->spill;}
return s->spilled!=NULL;}
static void oxi_shunt_spill_set(oxi_shunt_schedule*s,int32_t item,uint64_t bytes){if(!s->spilled)return;
s->disk_used+=bytes-s->spilled[item];s->spilled[item]=bytes;}
static void oxi_shunt_spill_note(oxi_shunt_schedule*s){const uint64_t most=s->p->disk_most;
if(s->spilled&&s->disk_used>most&&s->disk_used-most>s->plan->over)
s->plan->over=s->disk_used-most;}
typedef struct oxi_shunt_walk{const ox_shunt*s;const oxi_shunt_plan*plan;uint64_t*host,*disk;bool*copied;uint64_t host_left,used,most;
uint64_t ever;bool touches;}oxi_shunt_walk;static bool oxi_shunt_walk_open(oxi_shunt_walk*w,const ox_shunt*s,const oxi_shunt_plan*plan){
const size_t items=(size_t)plan->item_count;memset(w,0,sizeof*w);w->s=s;w->plan=plan;w->host_left=oxi_shunt_host_left(s);
w->used=w->most=w->ever=oxi_shunt_disk_used(s);w->host=(uint64_t*)oxi_shunt_list(2*items,sizeof*w->host);
w->copied=(bool*)oxi_shunt_list(items,sizeof*w->copied);if(!w->host||!w->copied)return false;
w->disk=w->host+items;for(size_t i=0;i<items;i++){w->host[i]=s->table[i]->host_bytes;
w->disk[i]=oxi_shunt_spilled(s->table[i]);w->copied[i]=oxi_shunt_has_copy(s->table[i]);}
return true;}
static void oxi_shunt_walk_close(oxi_shunt_walk*w){oxi_shunt_unlist(w->host,2*(size_t)w->plan->item_count,sizeof*w->host);
oxi_shunt_unlist(w->copied,(size_t)w->plan->item_count,sizeof*w->copied);}
static void oxi_shunt_walk_drop(oxi_shunt_walk*w,int32_t i){w->touches=w->touches||w->host[i]>0||w->disk[i]>0;w->host_left+=w->host[i];
w->used-=w->disk[i];w->host[i]=w->disk[i]=0;w->copied[i]=false;}
static void oxi_shunt_walk_node(oxi_shunt_walk*w,const oxi_shunt_instruction*in){const oxi_shunt_node*node=w->s->nodes[in->node];
for(int i=0;i<node->out_count;i++){const oxi_shunt_item*item=node->operand[node->in_count+i].item;
if(item)oxi_shunt_walk_drop(w,item->index);}
for(int32_t c=in->first;c<in->first+in->count;c++)
if(w->plan->change[c].dies)oxi_shunt_walk_drop(w,w->plan->change[c].item);}
static void oxi_shunt_walk_save(oxi_shunt_walk*w,const oxi_shunt_instruction*in){const ox_shunt*s=w->s;const int32_t i=in->item;
const oxi_shunt_item*item=s->table[i];const bool packed=oxi_shunt_packs(s,item),caches=w->plan->known[i].caches;
const size_t bytes=oxi_shunt_moved_bytes(s,item,packed);w->touches=caches||!w->copied[i];
if(caches&&w->host[i]==0&&item->bytes<=w->host_left){w->host[i]=item->bytes;
w->host_left-=item->bytes;}
if(w->copied[i])return;
const bool past=in->lane==OXI_LANE_DISK||(in->staged&&s->ring[1]);const bool host=(!past||packed||caches)&&bytes<=w->host_left;
w->copied[i]=true;w->ever+=oxi_shunt_spill_room(oxi_shunt_spill_bytes(s,item,packed));if(host){w->host[i]=bytes;
w->host_left-=bytes;}
if(host&&!past)return;
const uint64_t room=oxi_shunt_spill_room(oxi_shunt_spill_bytes(s,item,packed));if(room>w->disk[i])w->used+=room-w->disk[i];
if(room>w->disk[i])w->disk[i]=room;
if(w->used>w->most)w->most=w->used;}
typedef struct oxi_shunt_nook{uint64_t place,end;const oxi_shunt_item*item;}oxi_shunt_nook;typedef struct oxi_shunt_nooks{
oxi_shunt_nook*list;int64_t count;}oxi_shunt_nooks;
static bool oxi_shunt_nook_take(const ox_shunt*s,oxi_shunt_nooks*n,const oxi_shunt_item*item){
const uint64_t room=oxi_shunt_item_room(item);uint64_t place=s->main_bytes;int64_t at=0;
for(;at<n->count&&n->list[at].place<place+room;at++){if(n->list[at].item==item)return true;
place=n->list[at].end;}
for(int64_t k=at;k<n->count;k++)
if(n->list[k].item==item)return true;
if(place+room>s->desc.device_bytes)return false;
memmove(n->list+at+1,n->list+at,(size_t)(n->count++-at)*sizeof*n->list);const oxi_shunt_nook taken={place,place+room,item};
n->list[at]=taken;return true;}
static void oxi_shunt_nook_leave(oxi_shunt_nooks*n,const oxi_shunt_item*item){for(int64_t k=0;k<n->count;k++)
if(n->list[k].item==item){memmove(n->list+k,n->list+k+1,(size_t)(--n->count-k)*sizeof*n->list);
return;}}
static bool oxi_shunt_nooks_node(const ox_shunt*s,const oxi_shunt_plan*plan,oxi_shunt_nooks*n,const oxi_shunt_instruction*in){
const oxi_shunt_node*node=s->nodes[in->node];for(int i=0;i<node->in_count+node->out_count;i++){
const oxi_shunt_item*item=node->operand[i].item;if(item&&item->small&&!oxi_shunt_nook_take(s,n,item))return false;}
for(int32_t c=in->first;c<in->first+in->count;c++)
if(plan->change[c].dies&&s->table[plan->change[c].item]->small)
oxi_shunt_nook_leave(n,s->table[plan->change[c].item]);
return true;}
static bool oxi_shunt_nooks_suffice(const ox_shunt*s,const oxi_shunt_plan*plan){const oxi_shunt_residents*there=&s->resident[1];
uint64_t end=there->count>0?oxi_shunt_end_of(there->item[there->count-1]):s->main_bytes;
size_t room=(size_t)there->count+(size_t)plan->item_count;for(int32_t i=0;i<plan->item_count;i++)
if(s->table[i]->small&&!s->table[i]->storage)end+=oxi_shunt_item_room(s->table[i]);
if(end<=s->desc.device_bytes)return true;
oxi_shunt_nooks n={(oxi_shunt_nook*)oxi_shunt_list(room,sizeof*n.list),0};bool suffice=n.list!=NULL;
for(int64_t r=0;suffice&&r<there->count;r++){const oxi_shunt_item*item=there->item[r];
const oxi_shunt_nook nook={item->place,oxi_shunt_end_of(item),item};n.list[n.count++]=nook;}
for(int32_t k=0;k<plan->instruction_count&&suffice;k++)
if(plan->instruction[k].action==OXI_ACT_NODE)
suffice=oxi_shunt_nooks_node(s,plan,&n,&plan->instruction[k]);
oxi_shunt_unlist(n.list,room,sizeof*n.list);return suffice;}
static void oxi_shunt_walk_small(oxi_shunt_walk*w){const ox_shunt*s=w->s;uint64_t host=0;if(oxi_shunt_nooks_suffice(s,w->plan))return;
for(const oxi_shunt_item*item=s->items.next;item!=&s->items;item=item->next){
if(!item->small||(!item->storage&&item->mark!=s->step_number))continue;
if(oxi_shunt_spilled(item)==0)w->used+=oxi_shunt_spill_room(item->bytes);
host+=item->bytes;}
w->host_left-=host<w->host_left?host:w->host_left;if(w->used>w->most)w->most=w->used;}
static bool oxi_shunt_walk_all(oxi_shunt_walk*w,const ox_shunt*s,oxi_shunt_plan*plan,bool in_order){int64_t before[OXI_LANES]={0};
const bool open=oxi_shunt_walk_open(w,s,plan);if(open)oxi_shunt_walk_small(w);
for(int32_t k=0;k<plan->instruction_count&&open;k++){oxi_shunt_instruction*in=&plan->instruction[k];
w->touches=false;if(in->action==OXI_ACT_NODE)oxi_shunt_walk_node(w,in);
if(in->action==OXI_ACT_SAVE)oxi_shunt_walk_save(w,in);
for(int lane=0;lane<OXI_LANES&&in_order&&w->touches;lane++)
if(lane!=(int)in->lane&&before[lane]>in->wait[lane])
in->wait[lane]=(int32_t)before[lane];
before[in->lane]++;}
oxi_shunt_walk_close(w);return open;}
static bool oxi_shunt_spill_walk(const ox_shunt*s,oxi_shunt_plan*plan,uint64_t*most){const uint64_t budget=s->desc.disk_bytes;
oxi_shunt_walk w;bool open=oxi_shunt_walk_all(&w,s,plan,false);*most=w.most;if(open&&budget>0&&w.most<=budget&&w.ever>budget)
open=oxi_shunt_walk_all(&w,s,plan,true);
return open;}
/* >>stream/shunt/plan/schedule.c */
static oxi_shunt_segment*oxi_shunt_segment_add(oxi_shunt_schedule*s){oxi_shunt_plan*plan=s->plan;
void*grown=oxi_grow(plan->segment,&plan->segment_room,(size_t)plan->segment_count+1,sizeof*plan->segment,false);if(!grown)return NULL;
plan->segment=(oxi_shunt_segment*)grown;oxi_shunt_segment*made=&plan->segment[plan->segment_count++];memset(made,0,sizeof*made);
return made;}
static bool oxi_shunt_segments_of(oxi_shunt_schedule*s,int32_t i){const oxi_shunt_order*o=s->o;const oxi_shunt_known*k=&s->p->known[i];
int32_t end=o->first[i+1];bool has_bytes=k->had;for(int32_t a=o->first[i],b;a<end;a=b+1){oxi_shunt_segment*g=oxi_shunt_segment_add(s);
if(!g)return false;
g->item=i;g->first=g->from=o->at[a];g->loads=has_bytes&&o->use[a]&1;for(b=a;;b++){if(o->use[b]&2)g->dirty=has_bytes=true;
if(!s->keep[b]||b+1==end)break;}
g->last=o->at[b];bool needed=oxi_shunt_needed_after(o,s->p,i,b);g->stays=needed&&s->keep[b];g->saves=needed&&!g->stays&&g->dirty;
g->dies=b+1==end&&!k->held;}
return true;}
static bool oxi_shunt_segments(oxi_shunt_schedule*s){s->plan->segment_count=0;for(int32_t i=0;i<s->p->item_count;i++){
if(oxi_shunt_is_apart(&s->p->known[i]))continue;
if(!oxi_shunt_segments_of(s,i))return false;}
for(int32_t g=0;g<s->plan->segment_count;g++){const oxi_shunt_segment*one=&s->plan->segment[g];
uint64_t room=s->p->known[one->item].room;int32_t last=one->stays?s->o->slot_count-1:one->last;s->used[one->first]+=room;
s->used[last+1]-=room;}
for(int32_t j=0;j<s->o->slot_count;j++)s->used[j+1]+=s->used[j];
for(int32_t j=0;j<s->o->slot_count;j++)
if(s->used[j]>s->p->capacity-s->plan->pinned_bytes)return false;
return true;}
static bool oxi_shunt_is_late(const oxi_shunt_schedule*s,int32_t j){
return j%256==255&&s->plan->until>0&&oxi_shunt_spent(s->p)>s->plan->until;}
static void oxi_shunt_list_segments(oxi_shunt_schedule*s){for(int32_t g=s->plan->segment_count-1;g>=0;g--){
oxi_shunt_segment*one=&s->plan->segment[g];one->next_end=s->ends[one->last];s->ends[one->last]=g;
int32_t*list=one->loads?&s->loads[one->first]:&s->defines[one->first];one->next=*list;*list=g;}}
static void oxi_shunt_find_idle(oxi_shunt_schedule*s){const oxi_shunt_order*o=s->o;double busy_until=0;
uint64_t host=s->p->host_room;s->plan->large=oxi_shunt_has_large(s->p,o);
if(s->plan->large)s->idle=(double*)oxi_shunt_list((size_t)o->slot_count+1,sizeof*s->idle);
if(!s->idle)return;
for(int32_t j=0;j<o->slot_count;j++){double from=busy_until>o->start[j]?busy_until:o->start[j];
s->idle[j+1]=s->idle[j]+(o->start[j+1]>from?o->start[j+1]-from:0);for(int32_t g=s->ends[j];g>=0;g=s->plan->segment[g].next_end){
const oxi_shunt_known*k=&s->p->known[s->plan->segment[g].item];if(!s->plan->segment[g].saves)continue;
if(k->room<=host){host-=k->room;
continue;}
busy_until=(busy_until>o->start[j+1]?busy_until:o->start[j+1])+k->save[1];}}}
static void oxi_shunt_want(oxi_shunt_schedule*s){const oxi_shunt_order*o=s->o;const double*start[2];
double next[2];
int32_t by[2];start[0]=o->start;start[1]=s->idle?s->idle:o->start;for(int lane=0;lane<2;lane++){next[lane]=start[lane][o->slot_count];
by[lane]=o->slot_count-1;}
for(int32_t j=o->slot_count-1;j>=0;j--)
for(int32_t g=s->loads[j];g>=0;g=s->plan->segment[g].next){oxi_shunt_segment*one=&s->plan->segment[g];
const oxi_shunt_known*k=&s->p->known[one->item];int lane=k->on_host||s->p->ring[0]>0?0:1;
int32_t least=g>0&&one[-1].item==one->item?one[-1].last +1:0;
next[lane]=(next[lane]<start[lane][j]?next[lane]:start[lane][j])-k->load[lane];
while(by[lane]>0&&start[lane][by[lane]]>next[lane])by[lane]--;
one->block=next[lane]>0?by[lane]:0;if(one->block<least)one->block=least;
if(s->packing&OXI_PACK_LATE)one->block=j;}}
enum{OXI_SHUNT_SPAN=16};typedef struct oxi_shunt_span_used{uint64_t most,more;}oxi_shunt_span_used;
static oxi_shunt_span_used*oxi_shunt_spans_open(oxi_shunt_schedule*s){const size_t slots=(size_t)s->o->slot_count;
oxi_shunt_span_used*span=(oxi_shunt_span_used*)oxi_shunt_list(slots/OXI_SHUNT_SPAN+1,sizeof*span);for(size_t j=0;span&&j<slots;j++){
if(s->o->alone[j])s->used[j]=UINT64_MAX/4;
if(s->used[j]>span[j/OXI_SHUNT_SPAN].most)span[j/OXI_SHUNT_SPAN].most=s->used[j];}
return span;}
static int32_t oxi_shunt_go_back(oxi_shunt_schedule*s,oxi_shunt_span_used*span,int32_t from,
int32_t least,uint64_t bytes,uint64_t others){while(from>least){const int32_t j=from-1;
oxi_shunt_span_used*one=&span[j/OXI_SHUNT_SPAN];if(from%OXI_SHUNT_SPAN==0&&from-OXI_SHUNT_SPAN>=least&&one->most<=others){
one->most+=bytes;one->more+=bytes;from-=OXI_SHUNT_SPAN;continue;}
if(s->used[j]+one->more>others)break;
s->used[j]+=bytes;if(s->used[j]+one->more>one->most)one->most=s->used[j]+one->more;
from=j;}
return from;}
static bool oxi_shunt_prefetch(oxi_shunt_schedule*s){enum{STEPS=1<<22,FAR=512};uint64_t room=s->p->capacity-s->plan->pinned_bytes;
oxi_shunt_span_used*span=oxi_shunt_spans_open(s);if(!span)return false;
if(s->packing&OXI_PACK_LOOSE)room-=room/8;
int32_t before[2]={0,0},far=STEPS/(s->o->slot_count+1);if(far<FAR)far=FAR;
oxi_shunt_list_segments(s);oxi_shunt_find_idle(s);oxi_shunt_want(s);for(int32_t j=0;j<s->o->slot_count&&!oxi_shunt_is_late(s,j);j++)
for(int32_t g=s->loads[j];g>=0;g=s->plan->segment[g].next){oxi_shunt_segment*one=&s->plan->segment[g];
const oxi_shunt_known*k=&s->p->known[one->item];int32_t*last=&before[k->on_host||s->p->ring[0]>0?0:1],least=one->block;
if(s->packing&OXI_PACK_RING&&*last>least)least=*last;
if(least<j-far)least=j-far;
if(s->o->alone[j]>2)least=j;
if(k->room<=room)
one->from=oxi_shunt_go_back(s,span,one->from,least,k->room,room-k->room);
if(one->from>*last)*last=one->from;}
for(int32_t j=s->o->slot_count-1;j>=0;j--)
for(int32_t g=s->loads[j],next;g>=0;g=next){oxi_shunt_segment*one=&s->plan->segment[g];
next=one->next;one->next=s->issues[one->from];s->issues[one->from]=g;}
oxi_shunt_unlist(span,(size_t)s->o->slot_count/OXI_SHUNT_SPAN+1,sizeof*span);return true;}
static double oxi_shunt_time_of(const oxi_shunt_schedule*s,const int32_t*wait){double time=0;
for(int lane=0;lane<OXI_LANES;lane++)
if(wait[lane]>0&&s->finish[lane][wait[lane]-1]>time)time=s->finish[lane][wait[lane]-1];
return time;}
static oxi_shunt_instruction*oxi_shunt_emit(oxi_shunt_schedule*s,int action,int lane,const int32_t*wait,double seconds){
oxi_shunt_plan*plan=s->plan;void*grown=oxi_grow(plan->instruction,&plan->instruction_room,(size_t)plan->instruction_count+1,
sizeof*plan->instruction,false);
if(!grown)return NULL;
plan->instruction=(oxi_shunt_instruction*)grown;oxi_shunt_instruction*in=&plan->instruction[plan->instruction_count++];
memset(in,0,sizeof*in);in->action=(uint8_t)action;in->lane=(uint8_t)lane;in->number=plan->lane_count[lane]++;
memcpy(in->wait,wait,sizeof in->wait);in->seconds=seconds;in->start=oxi_shunt_time_of(s,in->wait);
if(s->lane_end[lane]>in->start)in->start=s->lane_end[lane];
s->lane_end[lane]=s->finish[lane][in->number]=in->start+seconds;return in;}
static bool oxi_shunt_comes(const oxi_shunt_instruction*in){return in->action==OXI_ACT_LOAD||in->action==OXI_ACT_READ;}
static oxi_shunt_instruction*oxi_shunt_emit_share(oxi_shunt_schedule*s,int action,int lane,
const int32_t*wait,int32_t segment,double share){int32_t item=s->plan->segment[segment].item,tier=lane==OXI_LANE_DISK;
const oxi_shunt_known*k=&s->p->known[item];bool loads=action==OXI_ACT_LOAD||action==OXI_ACT_READ;oxi_shunt_instruction*in=
oxi_shunt_emit(s,action,lane,wait,share*(loads?k->load[tier]:k->save[tier]));
if(!in)return NULL;
in->item=item;in->segment=segment;in->ends=true;s->plan->takes+=share*(loads?k->load_takes[tier]:k->save_takes[tier]);return in;}
static oxi_shunt_instruction*oxi_shunt_emit_move(oxi_shunt_schedule*s,int action,int lane,const int32_t*wait,int32_t segment){
return oxi_shunt_emit_share(s,action,lane,wait,segment,1);}
static bool oxi_shunt_change_add(oxi_shunt_schedule*s,int32_t item,bool begins,bool dies,uint64_t place){oxi_shunt_plan*plan=s->plan;
void*grown=oxi_grow(plan->change,&plan->change_room,(size_t)plan->change_count+1,sizeof*plan->change,false);if(!grown)return false;
plan->change=(oxi_shunt_change*)grown;oxi_shunt_change*c=&plan->change[plan->change_count++];c->item=item;c->begins=begins;c->dies=dies;
c->place=place;return true;}
static bool oxi_shunt_may_stage(const oxi_shunt_schedule*s,int32_t item,bool saves){const oxi_shunt_known*k=&s->p->known[item];
uint64_t bytes=s->p->ring[saves],room=saves?k->room:oxi_shunt_tile_room(s->p,k,0);return bytes>0&&oxi_shunt_ring_room(room)<=bytes;}
static oxi_shunt_instruction*oxi_shunt_emit_tile(oxi_shunt_schedule*s,int action,const int32_t*clock,
int32_t g,int32_t t,uint64_t ring_at){const oxi_shunt_known*k=&s->p->known[s->plan->segment[g].item];
int32_t tiles=oxi_shunt_tiles_of(s->p,k);int lane=action==OXI_ACT_READ?OXI_LANE_DISK:OXI_LANE_DOWN;
uint64_t room=oxi_shunt_tile_room(s->p,k,t);double share=tiles>1?(double)room/(double)k->room:1;
oxi_shunt_instruction*in=oxi_shunt_emit_share(s,action,lane,clock,g,share);if(!in)return NULL;
in->ring_at=ring_at;in->ends=t+1==tiles;if(tiles>1)in->from=(uint64_t)t*s->p->tile;
if(tiles>1)in->bytes=room;
return in;}
static void oxi_shunt_wait_away(const oxi_shunt_schedule*s,int32_t g,int32_t*clock){const oxi_shunt_segment*one=&s->plan->segment[g];
const int32_t*saved=s->saved[one->item];if(saved[0]>=0)clock[saved[0]]=saved[1]+1;
if(g>0&&one[-1].item==one->item)clock[OXI_LANE_COMPUTE]=one[-1].last +1;}
static bool oxi_shunt_emit_read(oxi_shunt_schedule*s,int32_t g){
int32_t clock[OXI_LANES]={0,0,0,0},i=s->plan->segment[g].item,t=s->plan->segment[g].read;
uint64_t room=oxi_shunt_ring_room(oxi_shunt_tile_room(s->p,&s->p->known[i],t));oxi_shunt_wait_away(s,g,clock);
int32_t entry=oxi_shunt_ring_take(&s->ring[0],room,&clock[OXI_LANE_DOWN]);if(entry<0)return false;
const oxi_shunt_instruction*in=oxi_shunt_emit_tile(s,OXI_ACT_READ,clock,g,t,s->ring[0].entry[entry].at);if(!in)return false;
s->ring[0].entry[entry].there=in->number+1;if(t==0)s->plan->segment[g].entry=entry;
s->plan->segment[g].read++;return true;}
static void oxi_shunt_read_ahead(oxi_shunt_schedule*s){while(s->p->ring[0]>0&&s->read_slot<s->o->slot_count){int32_t g=s->read_segment;
if(g<0)g=s->read_segment=s->issues[s->read_slot];
if(g<0){s->read_slot++;
continue;}
const oxi_shunt_segment*one=&s->plan->segment[g];bool first=g==0||one[-1].item!=one->item;if(!one->begun){
if(!first&&!one[-1].over)return;
int32_t tiles=oxi_shunt_tiles_of(s->p,&s->p->known[one->item]);if(s->tier[one->item]!=2||!oxi_shunt_may_stage(s,one->item,false))tiles=0;
while(one->read<tiles)
if(!oxi_shunt_emit_read(s,g))return;}
s->read_segment=s->plan->segment[g].next;s->read_slot+=s->read_segment<0;}}
static bool oxi_shunt_emit_tiles(oxi_shunt_schedule*s,int32_t g,int32_t*clock){oxi_shunt_segment*one=&s->plan->segment[g];
int32_t tiles=oxi_shunt_tiles_of(s->p,&s->p->known[one->item]);for(int32_t t=0;t<tiles;t++){
if(one->read==t&&!oxi_shunt_emit_read(s,g))return false;
oxi_shunt_ring_entry*entry=&s->ring[0].entry[one->entry+t];if(entry->there>clock[OXI_LANE_DISK])clock[OXI_LANE_DISK]=entry->there;
oxi_shunt_instruction*in=oxi_shunt_emit_tile(s,OXI_ACT_LOAD,clock,g,t,entry->at);if(!in)return false;
in->staged=true;entry->over=in->number+1;}
return true;}
static bool oxi_shunt_emit_load(oxi_shunt_schedule*s,int32_t g){int32_t clock[OXI_LANES]={0,0,0,0};
oxi_shunt_segment*one=&s->plan->segment[g];int32_t i=one->item;bool staged=s->tier[i]==2&&oxi_shunt_may_stage(s,i,false);
oxi_shunt_wait_away(s,g,clock);int lane=s->tier[i]==1||staged?OXI_LANE_DOWN:OXI_LANE_DISK;
if(!oxi_shunt_take_place(s,s->lane_end[lane],one,clock))return false;
if(staged?!oxi_shunt_emit_tiles(s,g,clock):!oxi_shunt_emit_move(s,OXI_ACT_LOAD,lane,clock,g))
return false;
one->lane=(uint8_t)lane;one->begun=true;one->block=s->plan->lane_count[lane];s->segment_of[i]=g;return true;}
static bool oxi_shunt_emit_node(oxi_shunt_schedule*s,int32_t slot){
int32_t clock[OXI_LANES]={0,0,0,0},node=s->o->slot[slot],first=s->plan->change_count;
for(int32_t g=s->defines[slot];g>=0;g=s->plan->segment[g].next){oxi_shunt_segment*one=&s->plan->segment[g];
if(!oxi_shunt_take_place(s,s->lane_end[OXI_LANE_COMPUTE],one,clock)||!oxi_shunt_change_add(s,one->item,true,false,one->place))
return false;
s->segment_of[one->item]=g;}
for(int32_t t=s->p->first[node];t<s->p->first[node+1];t++){int32_t i=s->p->touch[t].item,g=s->segment_of[i];
if(g>=0&&s->plan->segment[g].loads&&s->plan->segment[g].first==slot){int lane=s->plan->segment[g].lane;
if(s->plan->segment[g].block>clock[lane])clock[lane]=s->plan->segment[g].block;}
if(s->p->known[i].small)continue;
if(!s->p->touch[t].writes)continue;
if(s->tier[i]==1)s->host_left+=s->p->known[i].room;
s->tier[i]=0;oxi_shunt_spill_set(s,i,0);}
oxi_shunt_instruction*in=oxi_shunt_emit(s,OXI_ACT_NODE,OXI_LANE_COMPUTE,clock,s->p->seconds[node]);if(!in)return false;
in->node=node;in->slot=slot;in->first=first;return true;}
static bool oxi_shunt_emit_save(oxi_shunt_schedule*s,int32_t g,int32_t*clock,double now){
int32_t i=s->plan->segment[g].item,written[OXI_LANES]={0,0,0,0};int32_t entry=
oxi_shunt_ring_take(&s->ring[1],oxi_shunt_ring_room(s->p->known[i].room),&clock[OXI_LANE_DISK]);
if(entry<0)return false;
oxi_shunt_instruction*in=oxi_shunt_emit_move(s,OXI_ACT_SAVE,OXI_LANE_UP,clock,g);if(!in)return false;
in->staged=true;in->ring_at=s->ring[1].entry[entry].at;clock[OXI_LANE_UP]=written[OXI_LANE_UP]=in->number+1;
double free_at=s->lane_end[OXI_LANE_UP];
in=oxi_shunt_emit_move(s,OXI_ACT_WRITE,OXI_LANE_DISK,written,g);if(!in)return false;
in->ring_at=s->ring[1].entry[entry].at;s->ring[1].entry[entry].over=in->number+1;s->tier[i]=2;
oxi_shunt_spill_set(s,i,s->p->known[i].spill);s->saved[i][0]=OXI_LANE_DISK;s->saved[i][1]=in->number;
oxi_shunt_leave_place(s,i,clock,free_at,now);return true;}
static bool oxi_shunt_emit_end(oxi_shunt_schedule*s,int32_t g){int32_t clock[OXI_LANES]={0,0,0,0};
oxi_shunt_segment*one=&s->plan->segment[g];const oxi_shunt_known*k=&s->p->known[one->item];if(one->stays)return true;
one->over=true;clock[OXI_LANE_COMPUTE]=s->plan->lane_count[OXI_LANE_COMPUTE];double free_at=s->lane_end[OXI_LANE_COMPUTE],now=free_at;
bool caches=k->caches&&!one->dirty&&!one->dies&&s->tier[one->item]==2&&k->room<=s->host_left;if(one->saves||caches){
bool host=k->room<=s->host_left;if(!host&&oxi_shunt_may_stage(s,one->item,true))return oxi_shunt_emit_save(s,g,clock,now);
int lane=host?OXI_LANE_UP:OXI_LANE_DISK;oxi_shunt_instruction*in=oxi_shunt_emit_move(s,OXI_ACT_SAVE,lane,clock,g);if(!in)return false;
if(host)s->host_left-=k->room;
if(!host)oxi_shunt_spill_set(s,one->item,k->spill);
s->tier[one->item]=host?1:2;s->saved[one->item][0]=lane;s->saved[one->item][1]=in->number;clock[lane]=in->number+1;
free_at=s->lane_end[lane];}else{if(!oxi_shunt_change_add(s,one->item,false,one->dies,one->place))return false;
if(one->dies&&s->tier[one->item]==1)s->host_left+=k->room;
if(one->dies)oxi_shunt_spill_set(s,one->item,0);}
oxi_shunt_leave_place(s,one->item,clock,free_at,now);return true;}
static bool oxi_shunt_emit_deaths(oxi_shunt_schedule*s,int32_t slot){const oxi_shunt_order*o=s->o;
for(int32_t k=o->from[slot];k<o->from[slot+1];k++){int32_t i=s->p->touch[s->p->first[o->slot[slot]]+k-o->from[slot]].item;
if(!s->p->known[i].small||s->p->known[i].held||o->access[k]+1<o->first[i+1])continue;
if(!oxi_shunt_change_add(s,i,false,true,0))return false;}
return true;}
static bool oxi_shunt_takes_too_long(const oxi_shunt_schedule*s,int32_t j){const double*start=s->o->start,most=s->plan->most;
double end=s->lane_end[OXI_LANE_COMPUTE]+start[s->o->slot_count]-start[j+1];
if(most<=0)return false;
for(int lane=OXI_LANE_UP;lane<OXI_LANES;lane++)
if(s->lane_end[lane]>end)end=s->lane_end[lane];
return end+s->plan->takes>=most;}
static bool oxi_shunt_note_crowded(oxi_shunt_schedule*s,int32_t j){enum{MOST=16,ONE_IN=128};
bool other=s->plan->crowded<0||s->placed>s->p->capacity-s->plan->pinned_bytes;if(s->plan->crowded<0)s->plan->crowded=j;
if(other)s->o->crowded[j]=1;
if(other)s->placed=0;
s->crowded=false;if(++s->crowds>MOST+s->o->slot_count/ONE_IN)s->plan->crowded=-1;
return s->o->access_count>OXI_SHUNT_FEW&&s->plan->crowded>=0;}
static bool oxi_shunt_emit_slot(oxi_shunt_schedule*s,int32_t j){s->tight=s->packing&OXI_PACK_TIGHT||s->o->alone[j];
for(int32_t g=s->issues[j];g>=0;g=s->plan->segment[g].next)
if(!oxi_shunt_emit_load(s,g))return false;
if(!oxi_shunt_emit_node(s,j))return false;
int32_t node=s->plan->instruction_count-1;if(!oxi_shunt_emit_deaths(s,j))return false;
for(int32_t g=s->ends[j];g>=0;g=s->plan->segment[g].next_end)
if(!oxi_shunt_emit_end(s,g))return false;
oxi_shunt_spill_note(s);oxi_shunt_read_ahead(s);s->plan->instruction[node].count=s->plan->change_count-s->plan->instruction[node].first;
return true;}
static bool oxi_shunt_emit_all(oxi_shunt_schedule*s){oxi_shunt_read_ahead(s);for(int32_t j=0;j<s->o->slot_count;j++){
bool emitted=oxi_shunt_emit_slot(s,j);if(s->crowded&&(!oxi_shunt_note_crowded(s,j)||!emitted))return false;
if(!emitted)return false;
if(oxi_shunt_takes_too_long(s,j)||oxi_shunt_is_late(s,j)){s->plan->crowded=-1;
return false;}}
return s->plan->crowded<0;}
static bool oxi_shunt_schedule_open(oxi_shunt_schedule*s){size_t slots=(size_t)s->o->slot_count+1,items=(size_t)s->p->item_count;
s->finish_room=2*((size_t)s->o->access_count+slots);for(size_t i=0;i<items&&s->p->ring[0]>0;i++){
size_t uses=(size_t)(s->o->first[i+1]-s->o->first[i]);s->finish_room+=uses*(size_t)(oxi_shunt_tiles_of(s->p,&s->p->known[i])-1);}
s->used=(uint64_t*)oxi_shunt_list(slots,sizeof*s->used);s->loads=(int32_t*)oxi_shunt_list(4*slots,sizeof*s->loads);
s->segment_of=(int32_t*)oxi_shunt_list(2*items,sizeof*s->segment_of);s->tier=(uint8_t*)oxi_shunt_list(items,1);
s->saved=(int32_t(*)[2])oxi_shunt_list(items,sizeof*s->saved);for(int lane=0;lane<OXI_LANES;lane++){
s->finish[lane]=(double*)oxi_alloc(s->finish_room*sizeof**s->finish);
if(!s->finish[lane])return false;}
if(!s->used||!s->loads||!s->segment_of||!s->tier||!s->saved)return false;
s->block_of=s->segment_of+items;s->issues=s->loads+slots;s->defines=s->issues+slots;s->ends=s->defines+slots;
for(size_t j=0;j<4*slots;j++)s->loads[j]=-1;
for(size_t i=0;i<items;i++){s->segment_of[i]=s->block_of[i]=s->saved[i][0]=-1;
s->tier[i]=s->p->known[i].had?(s->p->known[i].on_host?1:2):0;}
s->by_time=!(s->packing&(OXI_PACK_ENDS|OXI_PACK_TIGHT));s->spare=-1;for(int bin=0;bin<OXI_SHUNT_BINS;bin++)s->bin[bin]=-1;
if(oxi_shunt_block_new(s,-1,-1)<0)return false;
s->block->place=s->plan->pinned_bytes;s->block->bytes=s->p->capacity-s->plan->pinned_bytes;oxi_shunt_block_open(s,0);
s->host_left=s->p->host_room;s->read_segment=-1;for(int k=0;k<2;k++)s->ring[k].bytes=s->p->ring[k];
return oxi_shunt_spill_open(s);}
static void oxi_shunt_schedule_close(oxi_shunt_schedule*s){size_t slots=(size_t)s->o->slot_count+1,items=(size_t)s->p->item_count;
oxi_shunt_reserve_end(s);oxi_shunt_unlist(s->used,slots,sizeof*s->used);if(s->idle)oxi_shunt_unlist(s->idle,slots,sizeof*s->idle);
oxi_shunt_unlist(s->loads,4*slots,sizeof*s->loads);oxi_shunt_unlist(s->segment_of,2*items,sizeof*s->segment_of);
oxi_shunt_unlist(s->tier,items,1);oxi_shunt_unlist(s->saved,items,sizeof*s->saved);
if(s->spilled)oxi_shunt_unlist(s->spilled,items,sizeof*s->spilled);
for(int lane=0;lane<OXI_LANES;lane++)
oxi_free(s->finish[lane],s->finish_room*sizeof**s->finish);
oxi_free(s->block,s->block_room*sizeof*s->block);for(int k=0;k<2;k++)oxi_free(s->ring[k].entry,s->ring[k].room*sizeof*s->ring[k].entry);}
static bool oxi_shunt_schedule_run(const oxi_shunt_problem*p,const oxi_shunt_order*o,const uint8_t*keep,
uint64_t pinned_bytes,int packing,oxi_shunt_plan*plan){oxi_shunt_schedule s;
memset(&s,0,sizeof s);s.p=p;s.o=o;s.keep=keep;s.plan=plan;s.packing=packing;
plan->instruction_count=plan->change_count=plan->segment_count=0;memset(plan->lane_count,0,sizeof plan->lane_count);
plan->peak=plan->pinned_bytes=pinned_bytes;plan->simulated=plan->takes=0;plan->over=0;plan->crowded=-1;
memset(o->crowded,0,(size_t)o->slot_count);bool fits=oxi_shunt_schedule_open(&s)&&oxi_shunt_segments(&s);
fits=fits&&oxi_shunt_prefetch(&s);if(fits&&s.idle)oxi_shunt_reserve(&s);
fits=fits&&oxi_shunt_emit_all(&s);for(int lane=0;lane<OXI_LANES;lane++)
if(s.lane_end[lane]>plan->simulated)plan->simulated=s.lane_end[lane];
for(int k=0;k<2;k++)plan->ring[k]=s.ring[k].count>0?p->ring[k]:0;
oxi_shunt_schedule_close(&s);return fits;}
/* >>stream/shunt/plan/rematerialize.c */
typedef struct oxi_shunt_repeat{int32_t node,before;double worth;}oxi_shunt_repeat;
static int oxi_shunt_repeat_compare(const void*a,const void*b){
const oxi_shunt_repeat*x=(const oxi_shunt_repeat*)a,*y=(const oxi_shunt_repeat*)b;if(x->worth!=y->worth)return x->worth>y->worth?-1:1;
return x->before<y->before?-1:x->before>y->before;}
static bool oxi_shunt_unchanged(const oxi_shunt_order*o,int32_t i,int32_t from,int32_t to){
for(int32_t a=oxi_shunt_access_from(o,i,from);a<o->first[i+1]&&o->at[a]<to;a++)
if(o->use[a]&2)return false;
return true;}
static int32_t oxi_shunt_maker_before(const oxi_shunt_problem*p,const oxi_shunt_order*o,int32_t i,int32_t a,int32_t to){int32_t w=a-1;
while(w>=o->first[i]&&!(o->use[w]&2))w--;
if(w<o->first[i]||o->use[w]&1||!p->again)return-1;
int32_t slot=o->at[w],node=o->slot[slot];if(!p->again[node])return-1;
for(int32_t t=p->first[node];t<p->first[node+1];t++){int32_t in=p->touch[t].item;
if(in==i)continue;
if(!oxi_shunt_unchanged(o,in,slot,to))return-1;}
return slot;}
static int32_t oxi_shunt_maker(const oxi_shunt_problem*p,const oxi_shunt_order*o,int32_t i,int32_t a){
return oxi_shunt_maker_before(p,o,i,a,o->at[a]);}
static double oxi_shunt_repeat_moves(const oxi_shunt_problem*p,const oxi_shunt_known*k){
int tier=(k->had?k->on_host:k->room<=p->host_room)?0:1;return k->load[tier]+k->save[tier];}
static bool oxi_shunt_repeat_pays(const oxi_shunt_problem*p,double seconds,double moves){return p->recompute>=OX_RECOMPUTE_AGGRESSIVE||
seconds<=(p->recompute==OX_RECOMPUTE_CHEAP?1:8)*moves;}
static int32_t oxi_shunt_repeats(const oxi_shunt_problem*p,const oxi_shunt_order*o,const oxi_shunt_plan*best,oxi_shunt_repeat*out){
int32_t count=0;for(int32_t g=0;g<best->segment_count;g++){const oxi_shunt_segment*one=&best->segment[g];
if(!one->loads)continue;
int32_t a=oxi_shunt_access_from(o,one->item,one->first);int32_t slot=oxi_shunt_maker(p,o,one->item,a);if(slot<0)continue;
double moves=oxi_shunt_repeat_moves(p,&p->known[one->item]),seconds=p->seconds[o->slot[slot]];
bool wants=best->over>0&&p->recompute!=OX_RECOMPUTE_CHEAP;if(!wants&&!oxi_shunt_repeat_pays(p,seconds,moves))continue;
out[count].node=o->slot[slot];out[count].before=one->first;out[count++].worth=moves/(seconds+1e-12);}
qsort(out,(size_t)count,sizeof*out,oxi_shunt_repeat_compare);return count;}
static bool oxi_shunt_order_with(const oxi_shunt_problem*p,const oxi_shunt_order*o,
const oxi_shunt_repeat*list,int32_t count,oxi_shunt_order*out){size_t slots=(size_t)o->slot_count;
int32_t*more=(int32_t*)oxi_shunt_list(slots+1,sizeof*more),*next;memset(out,0,sizeof*out);out->slot_count=o->slot_count+count;
out->slot=(int32_t*)oxi_shunt_list(slots+(size_t)count,sizeof*out->slot);next=(int32_t*)oxi_shunt_list((size_t)count,sizeof*next);
bool made=more&&out->slot&&next;for(int32_t r=count-1;made&&r>=0;r--){next[r]=more[list[r].before];
more[list[r].before]=r+1;}
for(int32_t j=0,k=0;made&&j<o->slot_count;j++){for(int32_t r=more[j];r>0;r=next[r-1])out->slot[k++]=list[r-1].node;
out->slot[k++]=o->slot[j];}
oxi_shunt_unlist(more,slots+1,sizeof*more);oxi_shunt_unlist(next,(size_t)count,sizeof*next);made=made&&oxi_shunt_order_fill(out,p);
if(!made)oxi_shunt_order_close(out,p);
return made;}
/* >>stream/shunt/plan/plan.c */
typedef struct oxi_shunt_search{oxi_shunt_problem*p;oxi_shunt_order order,original;oxi_shunt_placing placing;
oxi_shunt_rank*rank,*ranks[2];int32_t rank_count;oxi_shunt_plan*trial,*best;uint8_t*best_keep,*best_pins;int packing;int64_t improved;
uint64_t random;
oxi_shunt_choice best_choice;uint64_t host_most;double bound,disk,link,end;
double enough;
double took;
double all_end;
bool spares;bool found,whole;}oxi_shunt_search;static double oxi_shunt_costs(const oxi_shunt_plan*plan){
const double over=plan->over>0?1e3 +1e-3*(double)plan->over:0;
return plan->simulated+plan->takes+over;}
static bool oxi_shunt_has_one(const oxi_shunt_search*s){return s->found||s->p->fits||s->p->another||s->spares;}
static bool oxi_shunt_is_over(const oxi_shunt_search*s){
if(!s->found)return oxi_shunt_spent(s->p)>s->end+(oxi_shunt_has_one(s)?0:10*s->p->time_most);
return oxi_shunt_costs(s->best)<=s->enough||oxi_shunt_spent(s->p)+s->took>s->end;}
static bool oxi_shunt_is_large(const oxi_shunt_search*s){return s->order.access_count>OXI_SHUNT_FEW;}
static double oxi_shunt_too_long(const oxi_shunt_search*s){return s->found?oxi_shunt_costs(s->best)*(1 -1e-6):0;}
static bool oxi_shunt_judge(oxi_shunt_search*s){if(s->found&&oxi_shunt_costs(s->trial)>=oxi_shunt_too_long(s))return false;
oxi_shunt_plan*other=s->best;s->best=s->trial;s->trial=other;s->found=true;s->improved++;s->best_choice.packing=s->packing;
memcpy(s->best_keep,s->placing.keep,(size_t)s->order.access_count);
memcpy(s->order.best_alone,s->order.alone,(size_t)s->order.slot_count);for(int32_t i=0;i<s->p->item_count;i++)
s->best_pins[i]=(uint8_t)(s->p->known[i].pinned|s->p->known[i].caches<<1);
return true;}
static void oxi_shunt_clear_slot(oxi_shunt_search*s,int32_t slot,int32_t behind){oxi_shunt_order*o=&s->order;bool all=o->alone[slot]>1;
o->alone[slot]=all?3:2;for(int32_t j=slot+1;j<=slot+behind&&j<o->slot_count;j++)
if(o->alone[j]==0)o->alone[j]=1;
for(int32_t i=0;i<s->p->item_count;i++){int32_t a=oxi_shunt_access_from(o,i,slot);
if(a==o->first[i])continue;
bool used=a<o->first[i+1]&&o->at[a]==slot;if(all||!used)s->placing.keep[a-1]=0;}}
static bool oxi_shunt_clear_slots(oxi_shunt_search*s,int32_t behind){oxi_shunt_order*o=&s->order;size_t slots=(size_t)o->slot_count+1;
int32_t*crowded=(int32_t*)oxi_shunt_list(slots,sizeof*crowded);if(!crowded)return false;
for(int32_t j=0;j<o->slot_count;j++){crowded[j+1]=crowded[j]+o->crowded[j];
if(!o->crowded[j])continue;
o->crowded[j]+=o->alone[j]>1;o->alone[j]=o->crowded[j]>1?3:2;for(int32_t k=j+1;k<=j+behind&&k<o->slot_count;k++)
if(o->alone[k]==0)o->alone[k]=1;}
for(int32_t i=0;i<s->p->item_count;i++)
for(int32_t a=o->first[i];a<o->first[i+1];a++){bool last=a+1==o->first[i+1];
int32_t end=last?o->slot_count:o->at[a+1];bool inside=crowded[end]>crowded[o->at[a]+1];
if(inside||(!last&&o->crowded[end]>1))s->placing.keep[a]=0;}
oxi_shunt_unlist(crowded,slots,sizeof*crowded);return true;}
static bool oxi_shunt_schedule_mended(oxi_shunt_search*s,int packing){enum{MENDS=40,MENDS_OF_LARGE=8};bool large=oxi_shunt_is_large(s);
memset(s->order.alone,0,(size_t)s->order.slot_count);s->trial->most=oxi_shunt_too_long(s);
s->trial->until=oxi_shunt_has_one(s)?s->end:large?0:s->end+0.25*s->p->time_most;
for(int mend=0;mend<=(large?MENDS_OF_LARGE:MENDS);mend++){
if(oxi_shunt_schedule_run(s->p,&s->order,s->placing.keep,s->placing.pinned_bytes,packing,s->trial))
return true;
if(s->trial->crowded<0||oxi_shunt_spent(s->p)>s->end)return false;
if(!large)
oxi_shunt_clear_slot(s,s->trial->crowded,mend);
else if(s->trial->large&&!(packing&OXI_PACK_LOOSE))
packing|=OXI_PACK_LOOSE;
else if(!oxi_shunt_clear_slots(s,packing&OXI_PACK_LOOSE?mend-1:mend))
return false;}
return false;}
static bool oxi_shunt_try(oxi_shunt_search*s,const oxi_shunt_choice*c){double start=oxi_shunt_spent(s->p);
s->rank=s->ranks[c->spread];s->placing.pinned_bytes=oxi_shunt_pin_some(s->p,s->rank,s->rank_count,c->pinned_part);
oxi_shunt_cache_some(s->p,s->ranks[1],s->rank_count);s->packing=c->packing;bool better=oxi_shunt_place(s->p,&s->order,c,&s->placing)&&
oxi_shunt_schedule_mended(s,c->packing)&&oxi_shunt_judge(s);
if(better)s->best_choice=*c;
s->took=oxi_shunt_spent(s->p)-start;return better;}
static uint64_t oxi_shunt_pins_place(oxi_shunt_problem*p){uint64_t bytes=0;for(int32_t i=0;i<p->item_count;i++){
if(!p->known[i].pinned)continue;
p->known[i].place=bytes;bytes+=p->known[i].room;}
return bytes;}
static void oxi_shunt_recall(oxi_shunt_search*s){memcpy(s->placing.keep,s->best_keep,(size_t)s->order.access_count);
memcpy(s->order.alone,s->order.best_alone,(size_t)s->order.slot_count);for(int32_t i=0;i<s->p->item_count;i++){
s->p->known[i].pinned=s->best_pins[i]&1;s->p->known[i].caches=s->best_pins[i]>>1;}
s->placing.pinned_bytes=oxi_shunt_pins_place(s->p);}
static bool oxi_shunt_run_trial(oxi_shunt_search*s){s->trial->most=oxi_shunt_too_long(s);s->trial->until=oxi_shunt_has_one(s)?s->end:0;
return oxi_shunt_schedule_run(s->p,&s->order,s->placing.keep,s->placing.pinned_bytes,s->packing,s->trial)&&oxi_shunt_judge(s);}
static bool oxi_shunt_try_near(oxi_shunt_search*s,int32_t far,int packing){
s->placing.pinned_bytes=oxi_shunt_pin_some(s->p,s->rank,s->rank_count,0);s->packing=packing;
bool better=oxi_shunt_place_near(s->p,&s->order,far,s->placing.keep)&&oxi_shunt_schedule_mended(s,packing)&&oxi_shunt_judge(s);
if(better)s->best_choice.capacity_part=s->best_choice.dirty_weight=1;
return better;}
static void oxi_shunt_try_none(oxi_shunt_search*s,int packing){memset(s->placing.keep,0,(size_t)s->order.access_count);
s->placing.pinned_bytes=oxi_shunt_pin_some(s->p,s->rank,s->rank_count,0);s->packing=packing;
if(oxi_shunt_run_trial(s))s->best_choice.capacity_part=s->best_choice.dirty_weight=1;}
static void oxi_shunt_try_farther(oxi_shunt_search*s){enum{FARTHER=4,STEPS=1<<21};const int32_t farthest=STEPS/(s->order.access_count+1);
double took=0;
for(int32_t far=FARTHER;far<=farthest&&s->found;far*=FARTHER){double start=oxi_shunt_spent(s->p);
if(start+took>s->end)return;
(void)oxi_shunt_try_near(s,far,s->best_choice.packing);took=oxi_shunt_spent(s->p)-start;}}
static void oxi_shunt_try_least_large(oxi_shunt_search*s){enum{FOLLOWS=3};const int last=OXI_PACK_TIGHT|OXI_PACK_LATE;
const double end=s->end;
s->end=s->all_end-FOLLOWS*s->took;s->spares=true;if(oxi_shunt_spent(s->p)+s->took<s->end)(void)oxi_shunt_try_near(s,1,0);
s->spares=false;s->end=end;if(!s->found)(void)oxi_shunt_try_near(s,1,last);
if(!s->found)oxi_shunt_try_none(s,last);}
static void oxi_shunt_try_least(oxi_shunt_search*s){const int last=OXI_PACK_TIGHT|OXI_PACK_LATE;
if(oxi_shunt_is_large(s)&&s->p->another)return;
if(oxi_shunt_is_large(s)&&!oxi_shunt_has_one(s))oxi_shunt_try_least_large(s);
for(int packing=0;packing<=last&&!s->found&&oxi_shunt_spent(s->p)<s->end;packing++)
(void)oxi_shunt_try_near(s,1,packing);
for(int packing=0;packing<=last&&!s->found;packing++){if(oxi_shunt_has_one(s)&&oxi_shunt_spent(s->p)>s->end)return;
oxi_shunt_try_none(s,packing);}
oxi_shunt_try_farther(s);}
static void oxi_shunt_try_all(oxi_shunt_search*s){enum{PINS=8};static const double of_all[PINS]={1,-1,-2,0.75,0.5,0.25,0,0.9},
of_large[PINS]={-2,0.75,-1,0.5,0.25,0.9,1,0},of_ringed[PINS]={-0.1,-0.35,-1,-2,0.75,0.5,0.25,0};
static const double parts[]={1,0.85,0.7,0.5};
const double*pins=s->order.access_count<=OXI_SHUNT_FEW?of_all:s->p->ring[0]>0?of_ringed:of_large;
static const struct{double weight;
int packing,spread;}ways[]={{1,OXI_PACK_LATE,1},{1,OXI_PACK_RING,1},{1,0,0},{1,OXI_PACK_TIGHT,1},{1,OXI_PACK_RING,0},
{1,OXI_PACK_APART,1},{1,0,1},{1,OXI_PACK_TIGHT,0},{3,OXI_PACK_APART,1},{3,0,0},{3,OXI_PACK_TIGHT,0},{3,OXI_PACK_RING,1},{3,0,1},
{1,OXI_PACK_LONG,1}};
for(size_t w=pins==of_ringed?0:1;w<sizeof ways/sizeof*ways;w++)
for(size_t i=0;i<PINS&&(w>0||i<2);i++)
for(size_t k=0;k<sizeof parts/sizeof*parts;k++){const oxi_shunt_choice c={pins[i],parts[k],ways[w].weight,ways[w].packing,
ways[w].spread};
if(oxi_shunt_is_over(s))return;
(void)oxi_shunt_try(s,&c);if(!s->found&&oxi_shunt_is_large(s))oxi_shunt_try_least(s);
if(!s->found&&oxi_shunt_is_large(s)&&s->p->another)return;
if(s->rank_count==0&&i>0)break;}}
typedef struct oxi_shunt_gaps{int32_t*access,*item,count;uint64_t*used;int64_t left;int64_t walked;}oxi_shunt_gaps;
static bool oxi_shunt_gaps_open(const oxi_shunt_search*s,oxi_shunt_gaps*gaps){const oxi_shunt_order*o=&s->order;
size_t most=(size_t)o->access_count;memset(gaps,0,sizeof*gaps);gaps->access=(int32_t*)oxi_shunt_list(2*most,sizeof*gaps->access);
gaps->used=(uint64_t*)oxi_shunt_list((size_t)o->slot_count,sizeof*gaps->used);if(!gaps->access||!gaps->used)return false;
gaps->item=gaps->access+most;for(int32_t i=0;i<s->p->item_count;i++)
for(int32_t a=o->first[i];a<o->first[i+1];a++){bool last=a+1==o->first[i+1];
if(s->p->known[i].small||!oxi_shunt_needed_after(o,s->p,i,a))continue;
if(last&&s->p->known[i].had)continue;
gaps->access[gaps->count]=a;gaps->item[gaps->count++]=i;}
return true;}
static void oxi_shunt_gaps_close(const oxi_shunt_search*s,oxi_shunt_gaps*gaps){
oxi_shunt_unlist(gaps->access,2*(size_t)s->order.access_count,sizeof*gaps->access);
oxi_shunt_unlist(gaps->used,(size_t)s->order.slot_count,sizeof*gaps->used);}
static void oxi_shunt_refine_gaps(oxi_shunt_search*s,const oxi_shunt_gaps*gaps,bool*better){for(int32_t g=0;g<gaps->count;g++){
if(oxi_shunt_is_over(s))return;
oxi_shunt_recall(s);if(s->p->known[gaps->item[g]].pinned)continue;
s->placing.keep[gaps->access[g]]^=1;*better=oxi_shunt_run_trial(s)||*better;}}
static void oxi_shunt_refine_pairs(oxi_shunt_search*s,const oxi_shunt_gaps*gaps,bool*better){for(int32_t a=0;a<gaps->count;a++)
for(int32_t b=a+1;b<gaps->count;b++){if(oxi_shunt_is_over(s))return;
oxi_shunt_recall(s);s->placing.keep[gaps->access[a]]^=1;s->placing.keep[gaps->access[b]]^=1;*better=oxi_shunt_run_trial(s)||*better;}}
static void oxi_shunt_refine_pins(oxi_shunt_search*s,bool*better){for(int32_t r=0;r<s->rank_count;r++)
for(int32_t q=r;q<s->rank_count;q++){if(oxi_shunt_is_over(s))return;
oxi_shunt_recall(s);s->p->known[s->rank[r].item].pinned=!s->p->known[s->rank[r].item].pinned;
if(q!=r)s->p->known[s->rank[q].item].pinned=!s->p->known[s->rank[q].item].pinned;
s->placing.pinned_bytes=oxi_shunt_pins_place(s->p);if(s->placing.pinned_bytes>s->p->capacity)continue;
if(oxi_shunt_run_trial(s))*better=true;
if(oxi_shunt_place(s->p,&s->order,&s->best_choice,&s->placing)&&oxi_shunt_run_trial(s))
*better=true;}}
typedef struct oxi_shunt_moves{double disk,down,either;}oxi_shunt_moves;
static double oxi_shunt_moves_least(const oxi_shunt_moves*m){
double most=m->disk>m->down?m->disk:m->down,half=(m->disk+m->down+m->either)/2;
return most>half?most:half;}
static void oxi_shunt_moves_load(const oxi_shunt_search*s,int32_t i,bool written,oxi_shunt_moves*m){
const oxi_shunt_known*k=&s->p->known[i];bool disk=written?k->room>s->host_most:!k->on_host;if(!written&&k->on_host)
m->down+=k->load[0];
else if(disk&&!k->caches)
m->disk+=k->load[1];
else
m->either+=k->load[0]<k->load[1]?k->load[0]:k->load[1];}
static oxi_shunt_moves oxi_shunt_moves_once(const oxi_shunt_search*s){const oxi_shunt_order*o=&s->order;oxi_shunt_moves m={0,0,0};
for(int32_t i=0;i<s->p->item_count;i++){const oxi_shunt_known*k=&s->p->known[i];
bool writes=false;if(!k->had||oxi_shunt_is_apart(k)||o->first[i]==o->first[i+1])continue;
for(int32_t a=o->first[i];a<o->first[i+1];a++)writes=writes||o->use[a]&2;
if(o->use[o->first[i]]&1)oxi_shunt_moves_load(s,i,false,&m);
if(k->held&&writes&&k->room>s->host_most)m.disk+=k->save[1];}
return m;}
static void oxi_shunt_moves_gap(const oxi_shunt_search*s,int32_t a,int32_t i,oxi_shunt_moves*m){const oxi_shunt_order*o=&s->order;
const oxi_shunt_known*k=&s->p->known[i];bool written=false,dirty=false,again=false,here=true;for(int32_t b=a;b>=o->first[i];b--){
written=written||o->use[b]&2;here=here&&(b==a||s->placing.keep[b]);dirty=dirty||(here&&o->use[b]&2);}
for(int32_t b=a+1;b<o->first[i+1];b++)again=again||o->use[b]&2;
if(dirty&&k->room>s->host_most&&(again||!k->had||!k->held))m->disk+=k->save[1];
if(a+1<o->first[i+1]&&o->use[a+1]&1)oxi_shunt_moves_load(s,i,written,m);}
static void oxi_shunt_walk_sides(oxi_shunt_search*s,oxi_shunt_gaps*gaps,bool late){enum{ALL=8,SOME=1<<(ALL-1)};
int32_t places=s->trial->segment_count;int64_t improved=s->improved;for(int32_t w=1;w<SOME&&gaps->left>0&&s->improved==improved;w++){
int32_t sides=w<<1;if(places<=ALL&&sides>=1<<places)break;
if(places>ALL)sides=(int32_t)(oxi_shunt_mix(17,(uint64_t)w)>>44);
s->packing=OXI_PACK_SIDES|(late?OXI_PACK_LATE:0)|sides<<OXI_PACK_SIDES_AT;gaps->left--;(void)oxi_shunt_run_trial(s);}}
static void oxi_shunt_walk_packings(oxi_shunt_search*s,oxi_shunt_gaps*gaps){for(int late=0;late<2;late++){
bool better=false,crowded=false;for(int w=0;w<OXI_PACKINGS&&gaps->left>0;w++){s->packing=oxi_shunt_packings[w]|(late?OXI_PACK_LATE:0);
gaps->left--;bool is=oxi_shunt_run_trial(s);better=better||is;crowded=crowded||(!is&&s->trial->crowded>=0);}
if(crowded&&!better)oxi_shunt_walk_sides(s,gaps,late==1);}}
static void oxi_shunt_walk_gaps(oxi_shunt_search*s,oxi_shunt_gaps*gaps,int32_t from,oxi_shunt_moves moves){
if(++gaps->walked%256==0&&oxi_shunt_is_over(s))gaps->left=0;
if(gaps->left<=0||oxi_shunt_moves_least(&moves)>=oxi_shunt_too_long(s))return;
if(from==gaps->count){if(!oxi_shunt_is_over(s))oxi_shunt_walk_packings(s,gaps);
return;}
int32_t a=gaps->access[from],i=gaps->item[from],end;uint64_t room=s->p->known[i].room,all=s->p->capacity-s->placing.pinned_bytes;
bool fits=true;end=a+1<s->order.first[i+1]?s->order.at[a+1]:s->order.slot_count;s->placing.keep[a]=0;if(s->p->known[i].pinned){
oxi_shunt_walk_gaps(s,gaps,from+1,moves);return;}
for(int32_t j=s->order.at[a]+1;j<end;j++){gaps->used[j]+=room;
fits=fits&&gaps->used[j]<=all;}
s->placing.keep[a]=1;if(fits)oxi_shunt_walk_gaps(s,gaps,from+1,moves);
for(int32_t j=s->order.at[a]+1;j<end;j++)gaps->used[j]-=room;
s->placing.keep[a]=0;oxi_shunt_moves_gap(s,a,i,&moves);oxi_shunt_walk_gaps(s,gaps,from+1,moves);}
static bool oxi_shunt_refine_all(oxi_shunt_search*s,oxi_shunt_gaps*gaps){enum{TRIES=8000*OXI_PACKINGS};uint32_t first=0;gaps->left=TRIES;
if(s->rank_count>16)return false;
for(int32_t r=0;r<s->rank_count;r++)first|=(uint32_t)(s->best_pins[s->rank[r].item]&1)<<r;
for(uint32_t w=0;w<1u<<s->rank_count;w++){uint32_t pins=w^first;
for(int32_t r=0;r<s->rank_count;r++)s->p->known[s->rank[r].item].pinned=pins>>r&1;
s->placing.pinned_bytes=oxi_shunt_pins_place(s->p);if(s->placing.pinned_bytes>s->p->capacity)continue;
memset(s->placing.keep,0,(size_t)s->order.access_count);memset(s->order.alone,0,(size_t)s->order.slot_count);
memset(gaps->used,0,(size_t)s->order.slot_count*sizeof*gaps->used);for(int32_t i=0;i<s->p->item_count;i++)
for(int32_t a=s->order.first[i];a<s->order.first[i+1];a++)
if(!oxi_shunt_is_apart(&s->p->known[i]))gaps->used[s->order.at[a]]+=s->p->known[i].room;
oxi_shunt_walk_gaps(s,gaps,0,oxi_shunt_moves_once(s));}
return gaps->left>0&&!oxi_shunt_is_over(s);}
static void oxi_shunt_refine_subsets(oxi_shunt_search*s,const oxi_shunt_gaps*gaps){static const double parts[]={1,0.7,0.5};
for(uint32_t pins=0;pins<1u<<s->rank_count;pins++)
for(int k=0;k<6;k++){oxi_shunt_choice c={0,parts[k/2],1,k%2,0};
if(oxi_shunt_is_over(s))return;
for(int32_t r=0;r<s->rank_count;r++)s->p->known[s->rank[r].item].pinned=pins>>r&1;
s->placing.pinned_bytes=oxi_shunt_pins_place(s->p);s->packing=c.packing;if(s->placing.pinned_bytes>s->p->capacity||
!oxi_shunt_place(s->p,&s->order,&c,&s->placing))
continue;
if(oxi_shunt_run_trial(s))s->best_choice=c;
for(int32_t g=0;g<gaps->count;g++){s->placing.keep[gaps->access[g]]^=1;
if(!oxi_shunt_run_trial(s))s->placing.keep[gaps->access[g]]^=1;}}}
static void oxi_shunt_shake(oxi_shunt_search*s,const oxi_shunt_gaps*gaps){enum{TRIES=8000,WALK=24};
for(int t=0;t<TRIES&&gaps->count>0&&!oxi_shunt_is_over(s);t++){bool walks=t/WALK%2==1&&t%WALK>0;
if(!walks)oxi_shunt_recall(s);
for(int k=0;k<(walks?1:3 +t%3);k++){s->random=oxi_shunt_mix(s->random,(uint64_t)t);
uint64_t pick=s->random>>20;
if(k==0&&s->rank_count>0&&pick&1){oxi_shunt_known*known=&s->p->known[s->rank[pick/2%(uint64_t)s->rank_count].item];
known->pinned=!known->pinned;}else{s->placing.keep[gaps->access[pick%(uint64_t)gaps->count]]^=1;}}
s->placing.pinned_bytes=oxi_shunt_pins_place(s->p);if(s->placing.pinned_bytes>s->p->capacity)continue;
int packing=t%(OXI_PACKINGS+1),sides=(int)(s->random>>44)<<OXI_PACK_SIDES_AT;
s->packing=(packing<OXI_PACKINGS?oxi_shunt_packings[packing]:OXI_PACK_SIDES|sides)|(t/(OXI_PACKINGS+1)%2?OXI_PACK_LATE:0);
(void)oxi_shunt_run_trial(s);}}
static bool oxi_shunt_is_short(const oxi_shunt_search*s){return s->found&&s->best->over>0;}
static void oxi_shunt_refine(oxi_shunt_search*s){enum{SUBSETS=5};bool better=s->found&&s->order.access_count<=OXI_SHUNT_FEW;
bool very_few=s->order.access_count<=OXI_SHUNT_VERY_FEW,whole=false;bool few_pins=very_few&&s->rank_count<=SUBSETS;oxi_shunt_gaps gaps;
if(!better)return;
if(oxi_shunt_gaps_open(s,&gaps)){if(few_pins){oxi_shunt_refine_subsets(s,&gaps);
whole=oxi_shunt_refine_all(s,&gaps);better=!whole;}
while(better&&!oxi_shunt_is_over(s)){better=false;
s->packing=s->best_choice.packing;oxi_shunt_refine_gaps(s,&gaps,&better);
if(s->rank_count<=OXI_SHUNT_VERY_FEW)oxi_shunt_refine_pins(s,&better);
if(!better&&very_few)oxi_shunt_refine_pairs(s,&gaps,&better);}
if((very_few&&!(few_pins&&whole))||oxi_shunt_is_short(s))oxi_shunt_shake(s,&gaps);}
oxi_shunt_gaps_close(s,&gaps);}
static bool oxi_shunt_try_ways(oxi_shunt_search*s){oxi_shunt_gaps gaps;
bool all=oxi_shunt_gaps_open(s,&gaps)&&oxi_shunt_refine_all(s,&gaps);oxi_shunt_gaps_close(s,&gaps);return all;}
static bool oxi_shunt_try_other(oxi_shunt_search*s,oxi_shunt_order order,bool*whole){oxi_shunt_order before=s->order;
int64_t improved=s->improved;uint8_t*pins=(uint8_t*)oxi_alloc((size_t)s->p->item_count+1),*keep=s->best_keep;
uint8_t*placing=s->placing.keep;if(!pins){oxi_shunt_order_close(&order,s->p);
return false;}
size_t accesses=(size_t)order.access_count;memcpy(pins,s->best_pins,(size_t)s->p->item_count);
s->placing.keep=(uint8_t*)oxi_shunt_list(accesses,1);s->best_keep=(uint8_t*)oxi_shunt_list(accesses,1);s->order=order;
if(s->placing.keep&&s->best_keep){(void)oxi_shunt_try(s,&s->best_choice);
if(!whole&&s->improved==improved&&oxi_shunt_spent(s->p)<s->end)oxi_shunt_try_all(s);
if(whole&&!oxi_shunt_try_ways(s))*whole=false;}
bool better=s->improved!=improved;if(better){oxi_shunt_unlist(keep,(size_t)before.access_count,1);
oxi_shunt_unlist(placing,(size_t)before.access_count,1);oxi_shunt_order_close(&before,s->p);}else{
oxi_shunt_unlist(s->placing.keep,accesses,1);oxi_shunt_unlist(s->best_keep,accesses,1);s->placing.keep=placing;s->best_keep=keep;
oxi_shunt_order_close(&order,s->p);s->order=before;memcpy(s->best_pins,pins,(size_t)s->p->item_count);}
oxi_free(pins,(size_t)s->p->item_count+1);return better;}
static bool oxi_shunt_try_repeats(oxi_shunt_search*s,const oxi_shunt_repeat*list,int32_t count){oxi_shunt_order order;
return oxi_shunt_order_with(s->p,&s->original,list,count,&order)&&oxi_shunt_try_other(s,order,NULL);}
static bool oxi_shunt_try_order(oxi_shunt_search*s,const int32_t*nodes,int32_t count,bool*whole){oxi_shunt_order order;
memset(&order,0,sizeof order);order.slot_count=count;order.slot=(int32_t*)oxi_shunt_list((size_t)count,sizeof*order.slot);
if(order.slot)memcpy(order.slot,nodes,(size_t)count*sizeof*nodes);
if(order.slot&&oxi_shunt_order_fill(&order,s->p))return oxi_shunt_try_other(s,order,whole);
oxi_shunt_order_close(&order,s->p);*whole=false;return false;}
static void oxi_shunt_try_again(oxi_shunt_search*s){size_t room=(size_t)s->best->segment_count;
oxi_shunt_repeat*list=(oxi_shunt_repeat*)oxi_shunt_list(room,sizeof*list);
int32_t count=list?oxi_shunt_repeats(s->p,&s->original,s->best,list):0,taken=0;
for(int32_t some=1;some<=2*count&&oxi_shunt_spent(s->p)+s->took<s->end;some*=2){int32_t many=some<count?some:count;
if(oxi_shunt_try_repeats(s,list,many))taken=many;
if(many==count)break;}
for(int32_t r=0;r<count&&count<=16&&oxi_shunt_spent(s->p)<s->end;r++){oxi_shunt_repeat one=list[r];
if(taken==0&&oxi_shunt_try_repeats(s,&one,1))break;}
oxi_shunt_unlist(list,room,sizeof*list);}
static bool oxi_shunt_exact_all(oxi_shunt_search*s);static bool oxi_shunt_search_open(oxi_shunt_search*s,oxi_shunt_problem*p){
memset(s,0,sizeof*s);s->p=p;s->end=oxi_shunt_spent(p)+p->time_most;size_t items=(size_t)p->item_count;
s->trial=(oxi_shunt_plan*)oxi_calloc(1,sizeof*s->trial);s->best=(oxi_shunt_plan*)oxi_calloc(1,sizeof*s->best);
s->ranks[0]=s->rank=(oxi_shunt_rank*)oxi_shunt_list(2*items,sizeof*s->rank);s->ranks[1]=s->rank+items;
s->best_pins=(uint8_t*)oxi_shunt_list(items,1);s->host_most=p->host_room;for(int32_t i=0;i<p->item_count;i++){
if(p->known[i].had&&p->known[i].on_host)s->host_most+=p->known[i].room;
if(p->known[i].room>p->largest)p->largest=p->known[i].room;}
if(!s->trial||!s->best||!s->rank||!s->best_pins)return false;
if(!oxi_shunt_order_open(&s->order,p)||!oxi_shunt_order_open(&s->original,p))return false;
s->placing.keep=(uint8_t*)oxi_shunt_list((size_t)s->order.access_count,1);
s->best_keep=(uint8_t*)oxi_shunt_list((size_t)s->order.access_count,1);return s->placing.keep&&s->best_keep;}
static void oxi_shunt_search_close(oxi_shunt_search*s){size_t items=(size_t)s->p->item_count,accesses=(size_t)s->order.access_count;
oxi_shunt_plan_free(s->trial);oxi_shunt_plan_free(s->best);oxi_shunt_unlist(s->ranks[0],2*items,sizeof*s->rank);
oxi_shunt_unlist(s->best_pins,items,1);oxi_shunt_unlist(s->placing.keep,accesses,1);oxi_shunt_unlist(s->best_keep,accesses,1);
oxi_shunt_order_close(&s->order,s->p);oxi_shunt_order_close(&s->original,s->p);}
static bool oxi_shunt_plan_finish(oxi_shunt_search*s){const oxi_shunt_problem*p=s->p;oxi_shunt_plan*plan=s->best;oxi_shunt_recall(s);
plan->node_count=p->node_count;plan->slot_count=s->order.slot_count;plan->recomputed=s->order.slot_count-p->node_count;
plan->known=(oxi_shunt_known*)oxi_alloc((size_t)p->item_count*sizeof*plan->known);
plan->seconds=(double*)oxi_alloc((size_t)p->node_count*sizeof*plan->seconds);
if(!plan->known||!plan->seconds){oxi_free(plan->known,(size_t)p->item_count*sizeof*plan->known);
oxi_free(plan->seconds,(size_t)p->node_count*sizeof*plan->seconds);plan->known=NULL;plan->seconds=NULL;return false;}
plan->item_count=p->item_count;memcpy(plan->known,p->known,(size_t)p->item_count*sizeof*plan->known);
memcpy(plan->seconds,p->seconds,(size_t)p->node_count*sizeof*plan->seconds);
plan->compute=plan->expected=s->original.start[p->node_count];plan->bound=s->bound;plan->disk=s->disk;plan->link=s->link;
plan->enough=s->enough;plan->whole=s->whole;return true;}
static void oxi_shunt_give_time(oxi_shunt_search*s){if(oxi_shunt_is_short(s))s->end=oxi_shunt_spent(s->p)+4*s->p->time_most;}
static oxi_shunt_plan*oxi_shunt_plan_search(oxi_shunt_problem*p){oxi_shunt_search s;oxi_shunt_plan*made=NULL;
const double begun=oxi_shunt_spent(p);
if(oxi_shunt_search_open(&s,p)){double takes=0;
s.disk=oxi_shunt_tier_bound(p,&s.order,1,&takes);s.link=oxi_shunt_tier_bound(p,&s.order,0,&takes);
s.bound=s.order.start[p->node_count]>s.disk?s.order.start[p->node_count]:s.disk;if(s.link>s.bound)s.bound=s.link;
s.enough=1.003*(s.bound+takes);s.rank_count=oxi_shunt_rank_all(p,&s.order,s.rank);
memcpy(s.ranks[1],s.rank,(size_t)s.rank_count*sizeof*s.rank);oxi_shunt_rank_spread(p,s.ranks[1],s.rank_count);
s.end-=(oxi_shunt_spent(p)-begun)/2;const double end=s.all_end=s.end;
if(p->recompute!=OX_RECOMPUTE_OFF&&oxi_shunt_is_large(&s))
s.end-=p->time_most/5;
oxi_shunt_try_all(&s);if(!s.found)oxi_shunt_try_least(&s);
s.end=end;oxi_shunt_give_time(&s);oxi_shunt_refine(&s);oxi_shunt_give_time(&s);
if(s.found&&p->recompute!=OX_RECOMPUTE_OFF&&!oxi_shunt_is_over(&s)){oxi_shunt_try_again(&s);
oxi_shunt_refine(&s);}
if(s.found&&p->recompute!=OX_RECOMPUTE_OFF&&s.original.access_count<=OXI_SHUNT_VERY_FEW&&!oxi_shunt_is_over(&s))
s.whole=oxi_shunt_exact_all(&s);
if(s.found&&oxi_shunt_plan_finish(&s)){made=s.best;
s.best=NULL;}}
oxi_shunt_search_close(&s);return made;}
static oxi_shunt_plan*oxi_shunt_plan_better(oxi_shunt_plan*a,oxi_shunt_plan*b){
bool better=b&&(!a||oxi_shunt_costs(b)<oxi_shunt_costs(a));oxi_shunt_plan_free(better?a:b);return better?b:a;}
static oxi_shunt_plan*oxi_shunt_plan_make(oxi_shunt_problem*p){const double most=p->time_most;
oxi_shunt_spend(p);int32_t*early=oxi_shunt_order_early(p);if(early)p->time_most=most/2;
p->another=early!=NULL;oxi_shunt_plan*plan=oxi_shunt_plan_search(p);const double left=most-oxi_shunt_spent(p);
p->another=false;p->order=early;p->fits=plan&&plan->over==0;if(left>0)p->time_most=left;
bool again=early&&(!p->fits||(left>0&&oxi_shunt_costs(plan)>plan->enough));
if(again)plan=oxi_shunt_plan_better(plan,oxi_shunt_plan_search(p));
p->order=NULL;p->fits=false;if(early&&!plan)plan=oxi_shunt_plan_search(p);
p->time_most=most;oxi_shunt_unlist(early,(size_t)p->node_count,sizeof*early);return plan;}
/* >>stream/shunt/plan/exact.c */
typedef struct oxi_shunt_exact{oxi_shunt_search*s;int32_t*order,room,front;int32_t slot;double seconds;
int32_t least,most;bool cut;bool whole;bool over;int64_t walks;}oxi_shunt_exact;
static void oxi_shunt_exact_push(oxi_shunt_exact*e,int32_t node){e->order[--e->front]=node;}
static int32_t oxi_shunt_exact_maker(const oxi_shunt_exact*e,int32_t i){const oxi_shunt_search*s=e->s;
int32_t a=oxi_shunt_access_from(&s->original,i,e->slot);if(s->p->known[i].small)return-1;
int32_t slot=oxi_shunt_maker_before(s->p,&s->original,i,a,e->slot);return slot<0?-1:s->original.slot[slot];}
static bool oxi_shunt_exact_pays(const oxi_shunt_exact*e,int32_t i,int32_t node){const oxi_shunt_problem*p=e->s->p;
return p->recompute==OX_RECOMPUTE_EXACT||oxi_shunt_repeat_pays(p,p->seconds[node],oxi_shunt_repeat_moves(p,&p->known[i]));}
static bool oxi_shunt_exact_has(const oxi_shunt_exact*e,int32_t at,int32_t node){for(int32_t k=e->front;k<at;k++)
if(e->order[k]==node)return true;
return false;}
static void oxi_shunt_exact_walk(oxi_shunt_exact*e,int32_t at);static void oxi_shunt_exact_next(oxi_shunt_exact*e){
const oxi_shunt_search*s=e->s;if(e->slot==0){int32_t count=e->room-e->front;
if(count-s->p->node_count<=e->least)return;
(void)oxi_shunt_try_order(e->s,e->order+e->front,count,&e->whole);return;}
int32_t before=e->front,slot=e->slot--;oxi_shunt_exact_push(e,s->original.slot[e->slot]);oxi_shunt_exact_walk(e,e->front);
e->front=before;e->slot=slot;}
static void oxi_shunt_exact_walk(oxi_shunt_exact*e,int32_t at){const oxi_shunt_problem*p=e->s->p;
if(e->seconds>=oxi_shunt_too_long(e->s))return;
e->over=e->over||(++e->walks%16==0&&oxi_shunt_spent(e->s->p)>e->s->end);if(e->over){e->whole=false;
return;}
int32_t node=e->order[at];for(int32_t t=p->first[node];t<p->first[node+1];t++){
int32_t maker=p->touch[t].reads?oxi_shunt_exact_maker(e,p->touch[t].item):-1;
if(maker<0||maker==node||oxi_shunt_exact_has(e,at,maker))continue;
if(!oxi_shunt_exact_pays(e,p->touch[t].item,maker))continue;
if(e->room-e->front-(p->node_count-e->slot)==e->most){e->cut=true;
continue;}
if(e->front<=e->slot){e->whole=false;
continue;}
oxi_shunt_exact_push(e,maker);e->seconds+=p->seconds[maker];oxi_shunt_exact_walk(e,at);e->seconds-=p->seconds[maker];e->front++;}
if(at>e->front)
oxi_shunt_exact_walk(e,at-1);
else
oxi_shunt_exact_next(e);}
static bool oxi_shunt_exact_all(oxi_shunt_search*s){oxi_shunt_exact e;memset(&e,0,sizeof e);e.s=s;e.whole=true;e.slot=s->p->node_count;
e.room=e.front=3*s->p->node_count;e.seconds=s->original.start[s->p->node_count];
e.order=(int32_t*)oxi_shunt_list((size_t)e.room,sizeof*e.order);if(!e.order)return false;
do{e.cut=false;
e.most=e.least==0?1:2*e.least;oxi_shunt_exact_next(&e);e.least=e.most;}while(e.cut&&!oxi_shunt_is_over(s));
oxi_shunt_unlist(e.order,(size_t)e.room,sizeof*e.order);return e.whole&&!e.cut&&oxi_shunt_spent(s->p)<=s->end;}
/* >>stream/shunt/plan/pack.c */
static const double oxi_shunt_pack_gain=0.01,oxi_shunt_pack_loss=0.001;
static void oxi_shunt_pack_swap(oxi_shunt_known*a,oxi_shunt_known*b){oxi_shunt_known before=*a;a->packs=b->packs;b->packs=before.packs;
a->spill=b->spill;b->spill=before.spill;for(int tier=0;tier<2;tier++){a->load[tier]=b->load[tier];
a->save[tier]=b->save[tier];a->load_takes[tier]=b->load_takes[tier];a->save_takes[tier]=b->save_takes[tier];
b->load[tier]=before.load[tier];b->save[tier]=before.save[tier];b->load_takes[tier]=before.load_takes[tier];
b->save_takes[tier]=before.save_takes[tier];}}
typedef struct oxi_shunt_slack{double seconds;
int32_t item;}oxi_shunt_slack;static int oxi_shunt_slack_compare(const void*a,const void*b){
const oxi_shunt_slack*x=(const oxi_shunt_slack*)a,*y=(const oxi_shunt_slack*)b;
if(x->seconds!=y->seconds)return x->seconds>y->seconds?-1:1;
return x->item<y->item?-1:x->item>y->item;}
typedef struct oxi_shunt_timing{oxi_shunt_plan*plan;oxi_shunt_known*other;double*times,*lane[OXI_LANES],*left;
oxi_shunt_slack*slack;int32_t count;}oxi_shunt_timing;
static double oxi_shunt_pack_seconds(const oxi_shunt_known*k,const oxi_shunt_instruction*in){int tier=in->lane==OXI_LANE_DISK;
double share=in->bytes>0?(double)in->bytes/(double)k->room:1;
return share*(oxi_shunt_comes(in)?k->load[tier]:k->save[tier]);}
static double oxi_shunt_pack_time(oxi_shunt_timing*t){oxi_shunt_plan*plan=t->plan;
double end[OXI_LANES]={0,0,0,0};
plan->simulated=plan->takes=0;for(int32_t k=0;k<plan->instruction_count;k++){oxi_shunt_instruction*in=&plan->instruction[k];
in->start=end[in->lane];for(int lane=0;lane<OXI_LANES;lane++)
if(in->wait[lane]>0&&t->lane[lane][in->wait[lane]-1]>in->start)
in->start=t->lane[lane][in->wait[lane]-1];
if(in->action!=OXI_ACT_NODE){const oxi_shunt_known*known=&plan->known[in->item];
int tier=in->lane==OXI_LANE_DISK;in->seconds=oxi_shunt_pack_seconds(known,in);
plan->takes+=oxi_shunt_comes(in)?known->load_takes[tier]:known->save_takes[tier];}
end[in->lane]=t->lane[in->lane][in->number]=in->start+in->seconds;if(end[in->lane]>plan->simulated)plan->simulated=end[in->lane];}
return oxi_shunt_costs(plan);}
static void oxi_shunt_pack_list(oxi_shunt_timing*t){for(int32_t k=0;k<t->plan->instruction_count;k++){
const oxi_shunt_instruction*in=&t->plan->instruction[k];if(in->action==OXI_ACT_NODE||!t->other[in->item].packs)continue;
oxi_shunt_pack_swap(&t->plan->known[in->item],&t->other[in->item]);t->slack[t->count++].item=in->item;}}
static void oxi_shunt_pack_slack(oxi_shunt_timing*t){const oxi_shunt_plan*plan=t->plan;double*left=t->left;
for(int32_t k=0;k<t->count;k++)left[t->slack[k].item]=plan->simulated;
for(int lane=0;lane<OXI_LANES;lane++)
for(int32_t k=0;k<plan->lane_count[lane];k++)t->lane[lane][k]=plan->simulated;
for(int32_t k=plan->instruction_count-1;k>=0;k--){const oxi_shunt_instruction*in=&plan->instruction[k];
double latest=t->lane[in->lane][in->number],start=latest-in->seconds;
if(in->number>0&&t->lane[in->lane][in->number-1]>start)
t->lane[in->lane][in->number-1]=start;
for(int lane=0;lane<OXI_LANES;lane++)
if(in->wait[lane]>0&&t->lane[lane][in->wait[lane]-1]>start)
t->lane[lane][in->wait[lane]-1]=start;
if(in->action==OXI_ACT_NODE||!plan->known[in->item].packs)continue;
double whole=latest-in->start-oxi_shunt_pack_seconds(&t->other[in->item],in);
if(whole<left[in->item])left[in->item]=whole;}
for(int32_t k=0;k<t->count;k++)t->slack[k].seconds=left[t->slack[k].item];
qsort(t->slack,(size_t)t->count,sizeof*t->slack,oxi_shunt_slack_compare);}
static void oxi_shunt_pack_first(oxi_shunt_timing*t,int32_t before,int32_t count){
int32_t low=before<count?before:count,high=before<count?count:before;for(int32_t k=low;k<high;k++)
oxi_shunt_pack_swap(&t->plan->known[t->slack[k].item],&t->other[t->slack[k].item]);}
static void oxi_shunt_pack_few(oxi_shunt_timing*t){double whole=oxi_shunt_costs(t->plan);
oxi_shunt_pack_list(t);double packed=t->count>0?oxi_shunt_pack_time(t):whole,most=(1 +oxi_shunt_pack_loss)*packed;
bool pays=packed<(1 -oxi_shunt_pack_gain)*whole;int32_t low=pays?0:t->count,high=t->count,now=0;if(pays)oxi_shunt_pack_slack(t);
while(low<high){int32_t middle=(low+high+1)/2;
oxi_shunt_pack_first(t,now,middle);now=middle;if(oxi_shunt_pack_time(t)<=most)
low=middle;
else
high=middle-1;}
oxi_shunt_pack_first(t,now,low);if(t->count>0)(void)oxi_shunt_pack_time(t);}
static oxi_shunt_plan*oxi_shunt_plan_pack_all(oxi_shunt_problem*p,oxi_shunt_plan*plan){for(int32_t i=0;i<p->item_count;i++)
if(p->other[i].packs)oxi_shunt_pack_swap(&p->known[i],&p->other[i]);
oxi_shunt_plan*packed=oxi_shunt_plan_make(p);bool better=packed&&packed->over<plan->over;oxi_shunt_plan_free(better?plan:packed);
return better?packed:plan;}
static oxi_shunt_plan*oxi_shunt_plan_pack(oxi_shunt_problem*p){oxi_shunt_plan*plan=oxi_shunt_plan_make(p);
if(!plan||!p->other)return plan;
if(plan->over>0)return oxi_shunt_plan_pack_all(p,plan);
size_t all=(size_t)plan->instruction_count,items=(size_t)plan->item_count;oxi_shunt_timing t;memset(&t,0,sizeof t);t.plan=plan;
t.other=p->other;double*at=t.times=(double*)oxi_shunt_list(all,sizeof*t.times);
t.left=(double*)oxi_shunt_list(items,sizeof*t.left);
t.slack=(oxi_shunt_slack*)oxi_shunt_list(items,sizeof*t.slack);
for(int lane=0;at&&lane<OXI_LANES;at+=plan->lane_count[lane++])t.lane[lane]=at;
if(t.times&&t.left&&t.slack)oxi_shunt_pack_few(&t);
oxi_shunt_unlist(t.times,all,sizeof*t.times);oxi_shunt_unlist(t.left,items,sizeof*t.left);oxi_shunt_unlist(t.slack,items,sizeof*t.slack);
return plan;}
/* >>stream/shunt/lanes/lanes.c */
#ifdef OX_NO_THREADS
struct oxi_shunt_crew{int unused;};
#else
typedef struct oxi_shunt_worker{struct oxi_shunt_crew*crew;
int lane;bool started,busy;oxi_thread thread;}oxi_shunt_worker;struct oxi_shunt_crew{oxi_mutex mutex;oxi_condition moved[OXI_LANES];
oxi_shunt_worker worker[OXI_LANES];void(*run)(void*job,int lane);void*job;bool stopping;};static double oxi_thread_seconds(void){
#if defined(_WIN32)
FILETIME made,over,kernel,user;
if(!GetThreadTimes(GetCurrentThread(),&made,&over,&kernel,&user))return 0;
return 1e-7*((double)kernel.dwLowDateTime+user.dwLowDateTime+4294967296.0*((double)kernel.dwHighDateTime+user.dwHighDateTime));
#elif defined(CLOCK_THREAD_CPUTIME_ID)
struct timespec t;
return clock_gettime(CLOCK_THREAD_CPUTIME_ID,&t)==0?(double)t.tv_sec+1e-9*(double)t.tv_nsec:0;
#else
return 0;
#endif
}
static void oxi_shunt_spend(oxi_shunt_problem*p){const double most=1.3*p->time_most>0.045?1.3*p->time_most:0.045;
p->begun=oxi_now();p->begun_work=oxi_thread_seconds();p->time_share=p->begun_work>0&&p->time_most>0?p->time_most/most:1;}
static double oxi_shunt_spent(const oxi_shunt_problem*p){
const double worked=oxi_thread_seconds()-p->begun_work,time=p->time_share*(oxi_now()-p->begun);
return worked>time?worked:time;}
static void oxi_shunt_worker_hurry(void){
#if defined(__linux__) && defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
enum{ROUND_ROBIN=2,HIGHEST=99};
struct{uint32_t size,policy;uint64_t flags;int32_t nice;uint32_t priority;uint64_t slice,deadline,period;}a;memset(&a,0,sizeof a);
if(syscall(SYS_sched_getattr,0L,&a,sizeof a,0L)!=0||a.policy>ROUND_ROBIN)return;
if(a.policy!=0&&a.priority<HIGHEST)a.priority++;
if(a.policy==0)a.slice=100000;
(void)syscall(SYS_sched_setattr,0L,&a,0L);
#endif
}
static void oxi_shunt_worker_loop(oxi_shunt_worker*w){struct oxi_shunt_crew*crew=w->crew;
if(w->lane==OXI_LANE_DISK)oxi_shunt_worker_hurry();
oxi_mutex_take(&crew->mutex);for(;;){while(!w->busy&&!crew->stopping)oxi_condition_wait(&crew->moved[w->lane],&crew->mutex);
if(!w->busy)break;
oxi_mutex_give(&crew->mutex);crew->run(crew->job,w->lane);ox_error_clear();oxi_mutex_take(&crew->mutex);w->busy=false;
oxi_condition_wake(&crew->moved[OXI_LANE_COMPUTE]);}
oxi_mutex_give(&crew->mutex);}
#if defined(_WIN32)
static DWORD WINAPI oxi_shunt_worker_main(LPVOID argument){oxi_shunt_worker_loop((oxi_shunt_worker*)argument);
return 0;}
static bool oxi_shunt_worker_start(oxi_shunt_worker*w){w->thread=CreateThread(NULL,(SIZE_T)1<<20,oxi_shunt_worker_main,w,0,NULL);
return w->thread!=NULL;}
#else
static void*oxi_shunt_worker_main(void*argument){oxi_shunt_worker_loop((oxi_shunt_worker*)argument);
return NULL;}
static bool oxi_shunt_worker_start(oxi_shunt_worker*w){return pthread_create(&w->thread,NULL,oxi_shunt_worker_main,w)==0;}
#endif
static bool oxi_shunt_crew_open(ox_shunt*s,const bool*wanted){static const oxi_mutex open_mutex=OXI_MUTEX_OPEN;
static const oxi_condition new_condition=OXI_CONDITION_NEW;if(!s->crew){s->crew=(struct oxi_shunt_crew*)oxi_calloc(1,sizeof*s->crew);
if(!s->crew)return false;
s->crew->mutex=open_mutex;for(int lane=0;lane<OXI_LANES;lane++)s->crew->moved[lane]=new_condition;}
for(int lane=OXI_LANE_UP;lane<OXI_LANES;lane++){oxi_shunt_worker*w=&s->crew->worker[lane];
if(!wanted[lane]||w->started)continue;
w->crew=s->crew;w->lane=lane;w->started=oxi_shunt_worker_start(w);if(!w->started)return false;}
return true;}
static void oxi_shunt_crew_run(struct oxi_shunt_crew*crew,const bool*wanted,void(*run)(void*,int),void*job){oxi_mutex_take(&crew->mutex);
crew->run=run;crew->job=job;for(int lane=OXI_LANE_UP;lane<OXI_LANES;lane++){crew->worker[lane].busy=wanted[lane];
if(wanted[lane])oxi_condition_wake(&crew->moved[lane]);}
oxi_mutex_give(&crew->mutex);run(job,OXI_LANE_COMPUTE);oxi_mutex_take(&crew->mutex);for(int lane=OXI_LANE_UP;lane<OXI_LANES;lane++)
while(crew->worker[lane].busy)oxi_condition_wait(&crew->moved[OXI_LANE_COMPUTE],&crew->mutex);
oxi_mutex_give(&crew->mutex);}
#endif
static void oxi_shunt_crew_close(ox_shunt*s){if(!s->crew)return;
#ifndef OX_NO_THREADS
oxi_mutex_take(&s->crew->mutex);
s->crew->stopping=true;for(int lane=OXI_LANE_UP;lane<OXI_LANES;lane++)oxi_condition_wake(&s->crew->moved[lane]);
oxi_mutex_give(&s->crew->mutex);for(int lane=OXI_LANE_UP;lane<OXI_LANES;lane++)
if(s->crew->worker[lane].started)oxi_thread_join(s->crew->worker[lane].thread);
#endif
oxi_free(s->crew,sizeof*s->crew);
s->crew=NULL;}
/* >>stream/shunt/lanes/replay.c */
typedef struct oxi_shunt_replay{ox_shunt*s;const oxi_shunt_plan*plan;int64_t done[OXI_LANES];
const oxi_shunt_instruction*sleeps_for[OXI_LANES];double due_at[OXI_LANES];
double waited,busy;
int32_t*late,late_count;int32_t*late_slot;bool*awaited;bool failed,alone;bool repeats;oxi_error error;bool*ran;}oxi_shunt_replay;
#ifdef OX_NO_THREADS
static void oxi_shunt_replay_take(oxi_shunt_replay*r){(void)r;}
static void oxi_shunt_replay_give(oxi_shunt_replay*r){(void)r;}
static void oxi_shunt_replay_wait(oxi_shunt_replay*r,int lane){(void)r,(void)lane;}
static void oxi_shunt_replay_wake(oxi_shunt_replay*r,int lane){(void)r,(void)lane;}
#else
static void oxi_shunt_replay_take(oxi_shunt_replay*r){if(!r->alone)oxi_mutex_take(&r->s->crew->mutex);}
static void oxi_shunt_replay_give(oxi_shunt_replay*r){if(!r->alone)oxi_mutex_give(&r->s->crew->mutex);}
static void oxi_shunt_replay_wait(oxi_shunt_replay*r,int lane){
if(!r->alone)oxi_condition_wait(&r->s->crew->moved[lane],&r->s->crew->mutex);}
static void oxi_shunt_replay_wake(oxi_shunt_replay*r,int lane){if(!r->alone)oxi_condition_wake(&r->s->crew->moved[lane]);}
#endif
static bool oxi_shunt_is_due(const oxi_shunt_replay*r,const oxi_shunt_instruction*in){for(int lane=0;lane<OXI_LANES;lane++)
if(r->done[lane]<in->wait[lane])return false;
return true;}
static bool oxi_shunt_await(oxi_shunt_replay*r,const oxi_shunt_instruction*in,int lane){double start=0,now=0;
oxi_shunt_replay_take(r);if(!r->failed&&!r->alone&&!oxi_shunt_is_due(r,in)){start=oxi_now();
r->sleeps_for[lane]=in;while(!r->failed&&!oxi_shunt_is_due(r,in))oxi_shunt_replay_wait(r,lane);
r->sleeps_for[lane]=NULL;now=oxi_now();}
bool goes_on=!r->failed;if(now>0&&goes_on)
oxi_shunt_figure_note(&r->s->rates.wake[lane],r->s->stats.steps,now-r->due_at[lane],1);
if(lane==OXI_LANE_COMPUTE)r->waited+=now-start;
oxi_shunt_replay_give(r);return goes_on;}
static void oxi_shunt_wake_due(oxi_shunt_replay*r){for(int lane=0;lane<OXI_LANES;lane++){
const oxi_shunt_instruction*in=r->sleeps_for[lane];bool due=in&&oxi_shunt_is_due(r,in);if(due)r->due_at[lane]=oxi_now();
if(due||r->failed)oxi_shunt_replay_wake(r,lane);}}
static bool oxi_shunt_has_failed(oxi_shunt_replay*r){oxi_shunt_replay_take(r);bool failed=r->failed;oxi_shunt_replay_give(r);
return failed;}
static void oxi_shunt_done(oxi_shunt_replay*r,int lane,ox_status status){oxi_shunt_replay_take(r);
if(status==OX_OK)
r->done[lane]++;
else if(!r->failed)
oxi_error_move(&r->error);
if(status!=OX_OK)r->failed=true;
oxi_shunt_wake_due(r);oxi_shunt_replay_give(r);}
static void oxi_shunt_leave(ox_shunt*s,oxi_shunt_item*item,bool dies){if(item->storage)oxi_shunt_resident_remove(s,item);
oxi_shunt_device_drop(s,item);if(!dies)return;
oxi_shunt_host_drop(s,item);oxi_shunt_disk_drop(item);}
static bool oxi_shunt_is_ahead(const oxi_shunt_plan*plan,const oxi_shunt_item*item){
return item->ahead==plan->number&&(item->valid||item->flight);}
static ox_status oxi_shunt_do_load(oxi_shunt_replay*r,const oxi_shunt_instruction*in){ox_shunt*s=r->s;
oxi_shunt_item*item=s->table[in->item];if(item->failed)return oxi_shunt_lost(s);
if(oxi_shunt_is_ahead(r->plan,item)){oxi_shunt_land(s,item);
if(item->valid)return OX_OK;
oxi_shunt_leave(s,item,false);}
uint64_t place=r->plan->segment[in->segment].place;if(in->from>0)return oxi_shunt_load_tile(s,item,in);
bool there=item->host&&item->packed==OX_COMPRESSION_NONE&&!item->valid;if(there&&oxi_shunt_may_lend(s,r->plan->known[in->item].kind))
return oxi_shunt_lend_at(s,item,place);
ox_status status=oxi_shunt_put_at(s,item,place);if(status!=OX_OK)return status;
if(in->bytes>0)return oxi_shunt_load_tile(s,item,in);
return item->staged?oxi_shunt_load_staged(s,item):oxi_shunt_load(s,item);}
static ox_status oxi_shunt_do_save(oxi_shunt_replay*r,const oxi_shunt_instruction*in){ox_shunt*s=r->s;
oxi_shunt_item*item=s->table[in->item];const bool far=!s->compute->host&&in->lane==OXI_LANE_DISK&&!oxi_shunt_packs(s,item);
ox_status status=OX_OK;if(r->plan->known[in->item].caches)oxi_shunt_cache(s,item);
if(in->staged)
status=oxi_shunt_save_staged(s,item,in->ring_at);
else if(!far)
status=oxi_shunt_save(s,item);
else if(oxi_shunt_is_bare(item)){oxi_storage_plain(item->storage);
status=oxi_shunt_save_far(s,item);}
if(status==OX_OK)oxi_shunt_leave(s,item,false);
return status;}
static ox_status oxi_shunt_gather(oxi_shunt_replay*r,const oxi_shunt_node*node){ox_shunt*s=r->s;s->node_clock++;
for(int i=0;i<node->in_count+node->out_count;i++)
if(node->operand[i].item)node->operand[i].item->protects=s->node_clock;
for(int i=0;i<node->in_count+node->out_count;i++){const oxi_shunt_operand*o=&node->operand[i];
bool reads=i<node->in_count||!o->covers;if(!o->item)continue;
if(r->late_count>0){double start=oxi_now();
oxi_shunt_replay_take(r);while(r->awaited[o->item->index]&&!r->failed)oxi_shunt_replay_wait(r,OXI_LANE_COMPUTE);
r->waited+=oxi_now()-start;bool failed=r->failed;oxi_shunt_replay_give(r);if(failed)return OX_ERR_IO;}
if(o->item->failed&&reads)return oxi_shunt_lost(s);
o->item->used_at=s->node_clock;if(!o->item->small)continue;
ox_status status=oxi_shunt_bring(s,o->item,reads);if(status==OX_ERR_NOMEM&&ox_error()==OX_OK)status=oxi_shunt_too_large(s,node);
if(status!=OX_OK)return status;}
return OX_OK;}
static ox_status oxi_shunt_do_node(oxi_shunt_replay*r,const oxi_shunt_instruction*in){ox_shunt*s=r->s;
const oxi_shunt_node*node=s->nodes[in->node];const oxi_shunt_change*changes=r->plan->change+in->first;bool clean=ox_error()==OX_OK;
ox_status status=OX_OK;for(int32_t c=0;c<in->count&&status==OX_OK;c++)
if(changes[c].begins)status=oxi_shunt_put_at(s,s->table[changes[c].item],changes[c].place);
if(status==OX_OK)status=oxi_shunt_gather(r,node);
if(status!=OX_OK){if(clean&&ox_error()!=OX_OK)oxi_shunt_blame(s,node);
return status;}
status=oxi_shunt_run_node(s,node);if(status!=OX_OK)return status;
r->ran[in->node]=true;for(int32_t c=0;c<in->count;c++)
if(!changes[c].begins)oxi_shunt_leave(s,s->table[changes[c].item],changes[c].dies);
return OX_OK;}
static ox_status oxi_shunt_do(oxi_shunt_replay*r,const oxi_shunt_instruction*in){if(oxi_shunt_by_ring(in)){oxi_shunt_flight flight;
memset(&flight,0,sizeof flight);oxi_shunt_ring_begin(r->s,r->s->table[in->item],in,&flight);
return flight.stream?oxi_shunt_ring_end(r->s,r->s->table[in->item],in,&flight):OX_OK;}
return in->action==OXI_ACT_NODE?oxi_shunt_do_node(r,in):in->action==OXI_ACT_LOAD?oxi_shunt_do_load(r,in):oxi_shunt_do_save(r,in);}
static void oxi_shunt_late_over(oxi_shunt_replay*r,int32_t item,ox_status status){oxi_shunt_replay_take(r);r->awaited[item]=false;
if(status!=OX_OK&&!r->failed)oxi_error_move(&r->error);
if(status!=OX_OK)r->failed=true;
oxi_shunt_replay_wake(r,OXI_LANE_COMPUTE);oxi_shunt_wake_due(r);oxi_shunt_replay_give(r);}
static void oxi_shunt_load_late(oxi_shunt_replay*r){for(int32_t i=0;i<r->late_count&&!oxi_shunt_has_failed(r);i++)
oxi_shunt_late_over(r,r->late[i],oxi_shunt_load(r->s,r->s->table[r->late[i]]));}
static void oxi_shunt_lane_run(oxi_shunt_replay*r,int lane){double start=oxi_now();
for(int32_t i=0;i<r->plan->instruction_count;i++){const oxi_shunt_instruction*in=&r->plan->instruction[i];
if(!r->alone&&in->lane!=lane)continue;
if(!oxi_shunt_await(r,in,lane))return;
oxi_shunt_done(r,in->lane,oxi_shunt_do(r,in));}
if(lane==OXI_LANE_COMPUTE)r->busy=oxi_now()-start-r->waited;}
static void oxi_shunt_disk_run(oxi_shunt_replay*r);
#ifndef OX_NO_THREADS
static double oxi_shunt_lane_moved(ox_shunt*s,int lane){double bytes=0;
oxi_stream_take(&s->tiers);if(lane==OXI_LANE_DISK)oxi_shunt_disk_note(s,false);
for(int write=0;write<2;write++){const oxi_shunt_figure*moved=&s->rates.moved[lane][write];
if(moved->step==s->stats.steps)bytes+=moved->amount;}
oxi_stream_give(&s->tiers);return bytes;}
static double oxi_shunt_lane_packed(ox_shunt*s,int lane){oxi_stream_take(&s->tiers);
double seconds=s->packed_seconds[lane];
oxi_stream_give(&s->tiers);return seconds;}
static void oxi_shunt_run_lane(void*job,int lane){oxi_shunt_replay*r=(oxi_shunt_replay*)job;
double worked=oxi_thread_seconds(),moved=oxi_shunt_lane_moved(r->s,lane);
double packed=oxi_shunt_lane_packed(r->s,lane);
if(lane==OXI_LANE_DISK)
oxi_shunt_disk_run(r);
else
oxi_shunt_lane_run(r,lane);
worked=oxi_thread_seconds()-worked;moved=oxi_shunt_lane_moved(r->s,lane)-moved;worked-=oxi_shunt_lane_packed(r->s,lane)-packed;
if(lane!=OXI_LANE_COMPUTE&&moved>0)
oxi_shunt_figure_note(&r->s->rates.works[lane],r->s->stats.steps,worked>0?worked:0,moved);}
#endif
static void oxi_shunt_run_lanes(oxi_shunt_replay*r){
#ifndef OX_NO_THREADS
bool wanted[OXI_LANES];
for(int lane=0;lane<OXI_LANES;lane++)
wanted[lane]=r->plan->lane_count[lane]>0||(lane==OXI_LANE_DISK&&r->late_count>0);
if(oxi_shunt_crew_open(r->s,wanted)){oxi_shunt_crew_run(r->s->crew,wanted,oxi_shunt_run_lane,r);
return;}
ox_error_clear();
#endif
r->alone=true;
oxi_shunt_ahead_end(r->s);oxi_shunt_load_late(r);oxi_shunt_lane_run(r,OXI_LANE_COMPUTE);}
static void oxi_shunt_order_late(oxi_shunt_replay*r){const oxi_shunt_plan*plan=r->plan;int32_t count=0;if(r->late_count==0)return;
for(int32_t k=0;k<plan->instruction_count&&count<r->late_count;k++){const oxi_shunt_instruction*in=&plan->instruction[k];
if(in->action!=OXI_ACT_NODE)continue;
const oxi_shunt_node*node=r->s->nodes[in->node];for(int i=0;i<node->in_count+node->out_count;i++){
const oxi_shunt_item*item=node->operand[i].item;if(!item||!r->awaited[item->index])continue;
r->awaited[item->index]=false;r->late[count]=item->index;r->late_slot[count++]=in->slot;}}
for(int32_t i=0;i<r->late_count;i++)r->awaited[r->late[i]]=true;}
static ox_status oxi_shunt_settle_others(ox_shunt*s,const oxi_shunt_plan*plan,bool moves){ox_status status=OX_OK;
for(int64_t at=0;at<s->resident[0].count&&status==OX_OK;){oxi_shunt_item*item=s->resident[0].item[at];
const oxi_shunt_known*k=item->mark==s->step_number?&plan->known[item->index]:NULL;bool stays=item->place>=plan->peak;
if(k&&oxi_shunt_is_ahead(plan,item))
stays=item->index==item->ahead_index;
else if(k)
stays=k->pinned&&item->valid&&(moves||k->place==item->place);
if(stays)
at++;
else
status=oxi_shunt_evict(s,item);}
return status;}
static ox_status oxi_shunt_shift_pins(ox_shunt*s,const oxi_shunt_plan*plan){ox_status status=OX_OK;
for(bool moved=true;moved&&status==OX_OK;){moved=false;
for(int32_t i=0;i<plan->item_count&&status==OX_OK;i++){const oxi_shunt_known*k=&plan->known[i];
oxi_shunt_item*item=s->table[i];bool shifts=k->pinned&&item->storage&&item->valid&&item->place!=k->place&&
!oxi_shunt_is_ahead(plan,item)&&oxi_shunt_is_free_for(s,item,k->place);
if(!shifts)continue;
status=oxi_shunt_shift(s,item,k->place);moved=true;}}
return status;}
static ox_status oxi_shunt_settle(ox_shunt*s,const oxi_shunt_plan*plan){ox_status status=oxi_shunt_settle_others(s,plan,true);
if(status==OX_OK)status=oxi_shunt_shift_pins(s,plan);
if(status==OX_OK)status=oxi_shunt_settle_others(s,plan,false);
for(int32_t i=0;i<plan->item_count&&status==OX_OK;i++){s->table[i]->kind=plan->known[i].kind;
s->table[i]->packs=plan->known[i].packs;}
return status;}
static ox_status oxi_shunt_settle_pins(ox_shunt*s,oxi_shunt_replay*r){const oxi_shunt_plan*plan=r->plan;
ox_status status=oxi_shunt_settle(s,plan);for(int32_t i=0;i<plan->item_count&&status==OX_OK;i++){
if(!plan->known[i].pinned||s->table[i]->storage)continue;
status=oxi_shunt_put_at(s,s->table[i],plan->known[i].place);r->late[r->late_count++]=i;r->awaited[i]=true;}
oxi_shunt_order_late(r);return status;}
static void oxi_shunt_after_failure(oxi_shunt_replay*r){ox_shunt*s=r->s;oxi_shunt_ahead_end(s);for(int32_t i=0;i<s->table_count;i++){
oxi_shunt_item*item=s->table[i];oxi_shunt_unstage(s,item);if(item->storage&&!item->valid)oxi_shunt_leave(s,item,false);}
for(int64_t n=0;n<s->node_count;n++)
if(!r->ran[n])oxi_shunt_not_run(s->nodes,n,n+1);}
static void oxi_shunt_ahead_check(ox_shunt*s,const oxi_shunt_plan*plan){bool same=s->ahead_plan==plan->number;int count=0;
for(int32_t k=0;k<plan->instruction_count&&same&&count<s->ahead_count;k++)
if(plan->instruction[k].lane==OXI_LANE_DISK)
same=s->table[plan->instruction[k].item]==s->ahead_item[count++];
if(!same)oxi_shunt_ahead_end(s);}
static ox_status oxi_shunt_replay_run(ox_shunt*s,const oxi_shunt_plan*plan){oxi_shunt_replay r;
size_t items=(size_t)plan->item_count,nodes=(size_t)plan->node_count;memset(&r,0,sizeof r);r.s=s;r.plan=plan;
r.late=(int32_t*)oxi_shunt_list(items,sizeof*r.late);r.late_slot=(int32_t*)oxi_shunt_list(items,sizeof*r.late_slot);
r.awaited=(bool*)oxi_shunt_list(items,sizeof*r.awaited);r.ran=(bool*)oxi_shunt_list(nodes,sizeof*r.ran);bool clean=ox_error()==OX_OK;
ox_status status=r.late&&r.late_slot&&r.awaited&&r.ran?oxi_shunt_arena_open(s):OX_ERR_NOMEM;oxi_shunt_ahead_check(s,plan);
oxi_shunt_rings_open(s,plan->ring);if(status==OX_OK)status=oxi_shunt_settle_pins(s,&r);
r.repeats=s->ran_last==plan->number;s->ran_last=plan->number;s->planned=true;if(status==OX_OK){
double start=oxi_now(),computed=s->stats.compute_seconds;
oxi_shunt_run_lanes(&r);s->lanes_seconds+=oxi_now()-start;s->lanes_runs++;if(!r.failed)
oxi_shunt_figure_note(&s->rates.between,s->stats.steps,r.busy-(s->stats.compute_seconds-computed),
(double)plan->lane_count[OXI_LANE_COMPUTE]);
if(r.failed)status=r.error.status!=OX_OK?r.error.status:OX_ERR_DEVICE;
if(r.failed&&clean)oxi_error_put_back(&r.error);}
s->planned=false;if(status!=OX_OK&&r.ran)oxi_shunt_after_failure(&r);
s->stats.recomputed+=status==OX_OK?plan->recomputed:0;for(int64_t n=0;n<s->node_count;n++)oxi_shunt_node_over(s,s->nodes[n]);
oxi_shunt_unlist(r.late,items,sizeof*r.late);oxi_shunt_unlist(r.late_slot,items,sizeof*r.late_slot);
oxi_shunt_unlist(r.awaited,items,sizeof*r.awaited);oxi_shunt_unlist(r.ran,nodes,sizeof*r.ran);return status;}
static int oxi_shunt_flights_of(const oxi_shunt_plan*plan){return plan->ring[0]+plan->ring[1]>0?OXI_SHUNT_TILES:OXI_SHUNT_FLIGHTS;}
static double oxi_shunt_move_takes(ox_shunt*s,const oxi_shunt_plan*plan,const oxi_shunt_instruction*in,
double due,double now,double*landed,oxi_shunt_told*told){const oxi_shunt_item*item=s->table[in->item];
bool write=!oxi_shunt_comes(in),packed=oxi_shunt_moves_packed(item,plan->known[in->item].packs);
uint64_t bytes=in->bytes>0?oxi_shunt_tile_bytes(item,in):oxi_shunt_moved_bytes(s,item,packed);
double work=packed?oxi_shunt_packing_seconds(s,item,write):0;
if(in->lane==OXI_LANE_DISK&&in->number<s->ahead_count&&s->ahead_plan==plan->number)return 0;
if(!write&&oxi_shunt_is_ahead(plan,item)){double start=item->flight&&item->flight->start>*landed?item->flight->start:*landed;
if(!item->valid)*landed=start+oxi_shunt_lane_seconds(s,OXI_LANE_DISK,bytes,false);
double waits=!item->valid&&*landed>now+in->start?*landed-now-in->start:0;
told->start=told->over=in->start+waits;return waits;}
if(in->lane==OXI_LANE_DISK){if(packed&&due<told->over)due=told->over;
told->over=oxi_shunt_disk_over(s,bytes,write,due,told)+work;if(packed)told->start=told->over;
return told->over-in->start;}
if(in->lane==OXI_LANE_DOWN&&!packed&&oxi_shunt_may_lend(s,plan->known[in->item].kind))bytes=0;
return oxi_shunt_lane_seconds(s,in->lane,bytes,write)+work;}
static void oxi_shunt_resimulate(ox_shunt*s,oxi_shunt_plan*plan){double*finish[OXI_LANES],end[OXI_LANES]={0,0,0,0};
oxi_shunt_told told={0,0,1};const int flights=oxi_shunt_flights_of(plan);size_t all=0;
for(int lane=0;lane<OXI_LANES;lane++)all+=(size_t)plan->lane_count[lane];
double*block=(double*)oxi_try_alloc((all+1)*sizeof*block),*at=block;
plan->compute=0;if(!block)return;
for(int lane=0;lane<OXI_LANES;at+=plan->lane_count[lane++])finish[lane]=at;
oxi_shunt_rates_fold(s);double now=oxi_now(),landed=0,wake[OXI_LANES],between=oxi_shunt_figure_of(&s->rates.between,s->stats.steps);
for(int lane=0;lane<OXI_LANES;lane++)
wake[lane]=oxi_shunt_figure_of(&s->rates.wake[lane],s->stats.steps);
for(int32_t i=0;i<plan->instruction_count;i++){oxi_shunt_instruction*in=&plan->instruction[i];
double took=in->action==OXI_ACT_NODE?oxi_shunt_mean_seconds(s,s->nodes[in->node]->shape_key):0;
if(took>0)in->seconds=took;
double due=in->lane==OXI_LANE_DISK&&in->number>=flights?finish[in->lane][in->number-flights]:0;
for(int lane=0;lane<OXI_LANES;lane++)
if(in->wait[lane]>0&&finish[lane][in->wait[lane]-1]>due)
due=finish[lane][in->wait[lane]-1];
in->start=due>end[in->lane]?due+=wake[in->lane]:end[in->lane];if(in->action!=OXI_ACT_NODE)
in->seconds=oxi_shunt_move_takes(s,plan,in,due,now,&landed,&told);
end[in->lane]=finish[in->lane][in->number]=in->start+in->seconds;if(in->action==OXI_ACT_NODE){plan->compute+=in->seconds;
end[in->lane]=finish[in->lane][in->number]+=between;}}
double slower=plan->disk_read/s->rates.disk_read;
plan->bound=plan->compute>plan->disk*slower?plan->compute:plan->disk*slower;if(plan->link>plan->bound)plan->bound=plan->link;
plan->simulated=0;for(int lane=0;lane<OXI_LANES;lane++)
if(end[lane]>plan->simulated)plan->simulated=end[lane];
plan->simulated+=oxi_shunt_figure_of(&s->rates.around,s->stats.steps);oxi_free(block,(all+1)*sizeof*block);}
static void oxi_shunt_plan_name(ox_shunt*s,oxi_shunt_plan*plan){size_t bytes=0;
for(int64_t n=0;n<s->node_count;n++)bytes+=strlen(oxi_shunt_node_name(s->nodes[n]))+1;
plan->text=(char*)oxi_try_alloc(bytes);if(!plan->text)return;
plan->text_bytes=bytes;char*at=plan->text;for(int64_t n=0;n<s->node_count;n++){const char*name=oxi_shunt_node_name(s->nodes[n]);
size_t length=strlen(name)+1;memcpy(at,name,length);at+=length;}}
static oxi_shunt_plan*oxi_shunt_plan_new(ox_shunt*s,const uint64_t key[2]){oxi_shunt_problem p;oxi_shunt_touches touches;
oxi_shunt_plan*plan=NULL;size_t items=(size_t)s->table_count;if(s->desc.host_bytes==0||s->stats.written_bytes+s->stats.read_bytes>0)
oxi_shunt_calibrate_disk(s);
oxi_shunt_give_back_cached(s);double start=oxi_now();
oxi_shunt_classify(s);oxi_shunt_rings_make_room(s);oxi_shunt_known*known=(oxi_shunt_known*)oxi_shunt_list(2*items,sizeof*known);
bool open=known&&oxi_shunt_problem_open(s,&p,&touches,known);if(open)plan=oxi_shunt_plan_pack(&p);
if(known)oxi_shunt_problem_close(&p,&touches);
oxi_shunt_unlist(known,2*items,sizeof*known);if(plan){plan->number=++s->plans_made;
oxi_shunt_plan_name(s,plan);plan->disk_read=s->rates.disk_read;plan->disk_write=s->rates.disk_write;oxi_shunt_plan_keep(s,plan,key);}
double end=oxi_now();
s->stats.plan_seconds+=end-start;oxi_shunt_span_put(s,OXI_SHUNT_PLAN_LANE,"plan",start,end,0);return plan;}
static bool oxi_shunt_lies_elsewhere(const ox_shunt*s,const oxi_shunt_plan*plan){uint64_t all=0,moved=0;
for(int32_t i=0;i<plan->item_count;i++){const oxi_shunt_known*k=&plan->known[i];
if(!k->had||k->small||k->pinned||s->table[i]->valid)continue;
all+=k->room;if(k->on_host!=(s->table[i]->host!=NULL))moved+=k->room;}
return moved>all/16;}
static oxi_shunt_plan*oxi_shunt_plan_revise(ox_shunt*s,oxi_shunt_plan*plan,const uint64_t key[2]){
if(plan->moved<2&&oxi_shunt_lies_elsewhere(s,plan)){oxi_shunt_plan*other=oxi_shunt_plan_new(s,key);
if(!other)return plan;
other->moved=plan->moved+1;other->runs=plan->runs;other->measured=plan->measured;oxi_shunt_plan_drop(s,plan);s->stats.revised++;
return other;}
bool moves=plan->lane_count[OXI_LANE_UP]+plan->lane_count[OXI_LANE_DOWN]+plan->lane_count[OXI_LANE_DISK]>0;
if(plan->measured||++plan->runs<2)return plan;
plan->measured=true;bool same_disk=plan->lane_count[OXI_LANE_DISK]==0||(fabs(plan->disk_read/s->rates.disk_read-1)<0.2&&
fabs(plan->disk_write/s->rates.disk_write-1)<0.2);
if(!moves||(same_disk&&fabs(plan->compute-plan->expected)<0.2*plan->expected))return plan;
oxi_shunt_plan*better=oxi_shunt_plan_new(s,key);if(!better)return plan;
oxi_shunt_resimulate(s,better);bool is_better=better->simulated<plan->simulated;better->measured=true;better->moved=plan->moved;
is_better=is_better&&better->over==0;oxi_shunt_plan_drop(s,is_better?plan:better);s->stats.revised++;return is_better?better:plan;}
static oxi_shunt_plan*oxi_shunt_plan_of(ox_shunt*s,const uint64_t key[2]){const oxi_error earlier=oxi_shunt_errors_begin();
oxi_shunt_plan*known=oxi_shunt_plan_find(s,key),*plan=known;if(known){s->stats.replays++;
oxi_shunt_resimulate(s,known);plan=oxi_shunt_plan_revise(s,known,key);}else{plan=oxi_shunt_plan_new(s,key);
s->stats.plans+=plan!=NULL;}
if(plan&&plan!=known)oxi_shunt_resimulate(s,plan);
oxi_shunt_errors_end(&earlier);return plan;}
static ox_status oxi_shunt_disk_wants(ox_shunt*s,oxi_shunt_plan*plan,uint64_t*bytes){ox_status status=oxi_shunt_arena_open(s);
oxi_shunt_ahead_check(s,plan);oxi_shunt_rings_open(s,plan->ring);if(status==OX_OK)status=oxi_shunt_settle(s,plan);
if(status==OX_OK&&!oxi_shunt_spill_walk(s,plan,bytes))status=OX_ERR_NOMEM;
return status;}
static ox_status oxi_shunt_fit_disk(ox_shunt*s,oxi_shunt_plan**plan,const uint64_t key[2]){uint64_t wants=0,least;
ox_status status=oxi_shunt_disk_wants(s,*plan,&wants);if(status!=OX_OK||wants<=s->desc.disk_bytes)return status;
least=wants;const oxi_error earlier=oxi_shunt_errors_begin();oxi_shunt_plan*other=oxi_shunt_plan_new(s,key);
oxi_shunt_errors_end(&earlier);if(other){other->moved=(*plan)->moved;
other->runs=(*plan)->runs;other->measured=(*plan)->measured;oxi_shunt_plan_drop(s,*plan);*plan=other;s->stats.revised++;
oxi_shunt_resimulate(s,other);status=oxi_shunt_disk_wants(s,other,&wants);if(status!=OX_OK||wants<=s->desc.disk_bytes)return status;}
if(wants>least)wants=least;
return oxi_fail(OX_ERR_NOMEM,"%s: a step of %lld calls wants %llu bytes of the disk at once, a budget of %llu",
s->name,(long long)s->node_count,(unsigned long long)wants,(unsigned long long)s->desc.disk_bytes);}
static ox_status oxi_shunt_step_planned(ox_shunt*s,bool*planned){uint64_t key[2];for(int64_t n=0;n<s->node_count;n++)
for(int i=0;i<s->nodes[n]->out_count;i++)
if(s->nodes[n]->operand[s->nodes[n]->in_count+i].given)return OX_OK;
if(!oxi_shunt_key(s,key))return OX_ERR_NOMEM;
oxi_shunt_wait_for_others(s);oxi_shunt_plan*plan=oxi_shunt_plan_of(s,key);*planned=plan!=NULL;if(!plan&&s->desc.raise)
return oxi_fail(OX_ERR_NOMEM,"%s: no plan of %lld calls fits a budget of %llu bytes",s->name,
(long long)s->node_count,(unsigned long long)s->desc.device_bytes);
if(!plan)return OX_OK;
if(s->desc.disk_bytes>0){ox_status status=oxi_shunt_fit_disk(s,&plan,key);
*planned=status==OX_OK;if(status!=OX_OK)return status;}
s->last_plan=plan;s->stats.simulated_seconds+=plan->simulated;s->stats.bound_seconds+=plan->bound;
s->stats.resident_bytes=plan->pinned_bytes;return oxi_shunt_replay_run(s,plan);}
/* >>stream/shunt/lanes/disk.c */
typedef struct oxi_shunt_disk_work{const oxi_shunt_instruction*in;int32_t item;oxi_shunt_flight own,*flight;}oxi_shunt_disk_work;
typedef struct oxi_shunt_disk_lane{oxi_shunt_replay*r;oxi_shunt_disk_work work[OXI_SHUNT_TILES];int most;int64_t begun,over;
int32_t at,late;}oxi_shunt_disk_lane;typedef enum oxi_shunt_standing{OXI_STANDING_WAITS,OXI_STANDING_GOES,OXI_STANDING_FAILED
}oxi_shunt_standing;
static oxi_shunt_standing oxi_shunt_standing_of(oxi_shunt_replay*r,const oxi_shunt_instruction*in){oxi_shunt_replay_take(r);
oxi_shunt_standing standing=r->failed?OXI_STANDING_FAILED:!in||oxi_shunt_is_due(r,in)?OXI_STANDING_GOES:OXI_STANDING_WAITS;
oxi_shunt_replay_give(r);return standing;}
static bool oxi_shunt_may_go(oxi_shunt_replay*r,const oxi_shunt_instruction*in){return oxi_shunt_standing_of(r,in)==OXI_STANDING_GOES;}
static void oxi_shunt_work_end(oxi_shunt_disk_lane*d){oxi_shunt_disk_work*w=&d->work[d->over++%OXI_SHUNT_TILES];ox_shunt*s=d->r->s;
oxi_shunt_item*item=s->table[w->item];ox_status status=OX_OK;if(w->flight->stream)
status=oxi_shunt_by_ring(w->in)?oxi_shunt_ring_end(s,item,w->in,w->flight):oxi_shunt_move_end(s,item,w->flight);
if(status==OX_OK&&w->in&&w->in->action==OXI_ACT_SAVE)oxi_shunt_leave(s,item,false);
if(w->in)
oxi_shunt_done(d->r,OXI_LANE_DISK,status);
else
oxi_shunt_late_over(d->r,w->item,status);}
static ox_status oxi_shunt_work_go(oxi_shunt_disk_lane*d,oxi_shunt_disk_work*w){ox_shunt*s=d->r->s;oxi_shunt_item*item=s->table[w->item];
ox_status status=OX_OK;if(w->in&&w->in->number<s->ahead_count){w->flight=&s->ahead[w->in->number];
return OX_OK;}
if(oxi_shunt_by_ring(w->in)){oxi_shunt_ring_begin(s,item,w->in,w->flight);
return OX_OK;}
if(w->in&&w->in->action==OXI_ACT_SAVE)
return oxi_shunt_has_copy(item)?OX_OK:oxi_shunt_save_begin(s,item,w->flight);
if(w->in)
status=item->failed?oxi_shunt_lost(s):oxi_shunt_put_at(s,item,d->r->plan->segment[w->in->segment].place);
if(status==OX_OK)oxi_shunt_load_begin(s,item,w->flight);
return status;}
static void oxi_shunt_work_begin(oxi_shunt_disk_lane*d,const oxi_shunt_instruction*in,int32_t i){oxi_shunt_replay*r=d->r;ox_shunt*s=r->s;
oxi_shunt_item*item=s->table[i];bool saves=in&&in->action==OXI_ACT_SAVE;bool plain=!saves?oxi_shunt_loads_plainly(s,item)&&!item->ahead
:!r->plan->known[i].caches&&(oxi_shunt_has_copy(item)||oxi_shunt_saves_plainly(s,item));
plain=plain||oxi_shunt_by_ring(in);ox_status status=OX_OK;if(plain){oxi_shunt_disk_work*w=&d->work[d->begun%OXI_SHUNT_TILES];
memset(w,0,sizeof*w);w->in=in;w->item=i;w->flight=&w->own;status=oxi_shunt_work_go(d,w);d->begun+=status==OX_OK;if(status==OX_OK)return;}
while(d->over<d->begun)oxi_shunt_work_end(d);
if(!plain)status=in?oxi_shunt_do(r,in):oxi_shunt_load(s,item);
if(in)
oxi_shunt_done(r,OXI_LANE_DISK,status);
else
oxi_shunt_late_over(r,i,status);}
static bool oxi_shunt_disk_next(oxi_shunt_disk_lane*d,const oxi_shunt_instruction**in,int32_t*item){oxi_shunt_replay*r=d->r;
const oxi_shunt_plan*plan=r->plan;while(d->at<plan->instruction_count&&plan->instruction[d->at].lane!=OXI_LANE_DISK)d->at++;
*in=d->at<plan->instruction_count?&plan->instruction[d->at]:NULL;bool late=d->late<r->late_count;if(late&&*in){
int32_t needed=oxi_shunt_comes(*in)?plan->segment[(*in)->segment].first:0;late=r->late_slot[d->late]<=needed||!oxi_shunt_may_go(r,*in);}
if(late)*in=NULL;
if(!late&&!*in)return false;
*item=late?r->late[d->late]:(*in)->item;return oxi_shunt_may_go(r,*in);}
static int32_t oxi_shunt_free_after(const oxi_shunt_plan*plan,uint64_t place,uint64_t room){int32_t last=0;
for(int32_t g=0;g<plan->segment_count;g++){const oxi_shunt_segment*one=&plan->segment[g];
bool apart=one->place>=place+room||place>=one->place+plan->known[one->item].room;if(!apart&&one->last+1>last)last=one->last+1;}
return last;}
static bool oxi_shunt_meanwhile(oxi_shunt_replay*r,int32_t slots,oxi_shunt_item*const*begun,int count){oxi_shunt_instruction in;
memset(&in,0,sizeof in);in.wait[OXI_LANE_COMPUTE]=slots;for(int i=0;i<count&&oxi_shunt_standing_of(r,&in)==OXI_STANDING_WAITS;)
if(oxi_shunt_flight_step(begun[i]->flight))i++;
return oxi_shunt_await(r,&in,OXI_LANE_DISK);}
static bool oxi_shunt_place_is_free(ox_shunt*s,const oxi_shunt_item*item,uint64_t place){oxi_stream_take(&s->tiers);
bool is_free=oxi_shunt_is_free_for(s,item,place);
oxi_stream_give(&s->tiers);return is_free;}
static void oxi_shunt_run_ahead(oxi_shunt_replay*r){ox_shunt*s=r->s;const oxi_shunt_plan*plan=r->plan;
oxi_shunt_item*begun[OXI_SHUNT_AHEAD];int count=0;for(int32_t k=0;k<plan->instruction_count&&count<OXI_SHUNT_AHEAD;k++){
const oxi_shunt_instruction*in=&plan->instruction[k];if(in->lane!=OXI_LANE_DISK)continue;
oxi_shunt_item*item=s->table[in->item];bool waits=in->action!=OXI_ACT_LOAD;
for(int lane=0;lane<OXI_LANES;lane++)waits=waits||in->wait[lane]>0;
if(waits||s->ahead[count].stream)return;
if(!item->held||!item->again)continue;
uint64_t place=plan->segment[in->segment].place,room=plan->known[in->item].room;
if(!oxi_shunt_meanwhile(r,oxi_shunt_free_after(plan,place,room),begun,count))return;
if(item->storage||!oxi_shunt_loads_plainly(s,item)||!oxi_shunt_place_is_free(s,item,place))
continue;
if(oxi_shunt_put_at(s,item,place)!=OX_OK){ox_error_clear();
return;}
oxi_shunt_load_begin(s,item,&s->ahead[count]);s->ahead[count].unwatched=true;item->flight=&s->ahead[count];item->ahead=plan->number;
item->ahead_index=in->item;begun[count++]=item;}
(void)oxi_shunt_meanwhile(r,plan->lane_count[OXI_LANE_COMPUTE],begun,count);}
static void oxi_shunt_read_next(oxi_shunt_replay*r){ox_shunt*s=r->s;const oxi_shunt_plan*plan=r->plan;oxi_shunt_instruction in;
memset(&in,0,sizeof in);memcpy(in.wait,plan->lane_count,sizeof in.wait);if(!oxi_shunt_await(r,&in,OXI_LANE_DISK))return;
for(int32_t k=0;k<plan->instruction_count&&s->ahead_count<OXI_SHUNT_AHEAD;k++){const oxi_shunt_instruction*next=&plan->instruction[k];
oxi_shunt_flight*flight=&s->ahead[s->ahead_count];if(next->lane!=OXI_LANE_DISK)continue;
oxi_shunt_item*item=s->table[next->item];bool waits=next->action!=OXI_ACT_READ;
for(int lane=0;lane<OXI_LANES;lane++)waits=waits||next->wait[lane]>0;
if(waits||!item->held||!item->again||flight->stream)return;
oxi_shunt_ring_begin(s,item,next,flight);if(!flight->stream)return;
flight->unwatched=true;s->ahead_plan=plan->number;s->ahead_item[s->ahead_count++]=item;}}
static void oxi_shunt_disk_run(oxi_shunt_replay*r){oxi_shunt_disk_lane d;const oxi_shunt_instruction*in=NULL;int32_t item=0;
memset(&d,0,sizeof d);d.r=r;d.most=oxi_shunt_flights_of(r->plan);for(;;){
bool goes=d.begun-d.over<d.most&&oxi_shunt_disk_next(&d,&in,&item);if(goes){d.late+=in==NULL;
d.at+=in!=NULL;oxi_shunt_work_begin(&d,in,item);}else if(d.over<d.begun){oxi_shunt_disk_work*first=&d.work[d.over%OXI_SHUNT_TILES];
if(!first->flight->stream||oxi_shunt_flight_step(first->flight))oxi_shunt_work_end(&d);
}else if(oxi_shunt_has_failed(r)||(!in&&d.late==r->late_count)||!oxi_shunt_await(r,in,OXI_LANE_DISK)){break;}}
if(oxi_shunt_has_failed(r))return;
r->s->ahead_count=0;if(r->repeats&&r->plan->ring[0]>0)
oxi_shunt_read_next(r);
else if(r->repeats)
oxi_shunt_run_ahead(r);}
/* >>stream/shunt/dump.c */
static const char**oxi_shunt_plan_names(const oxi_shunt_plan*plan){
const char**names=(const char**)oxi_shunt_list((size_t)plan->node_count,sizeof*names);const char*at=plan->text;
for(int32_t n=0;names&&n<plan->node_count;n++){names[n]=at?at:"call";
if(at)at+=strlen(at)+1;}
return names;}
static bool oxi_shunt_dump_text(FILE*file,const oxi_shunt_plan*plan,const char**names){bool ok=fprintf(file,
"%d calls, %d of them again; %d items, %d stays on the device\n""%.3f ms simulated, %.3f ms of computing, %.3f ms at least\n"
"%llu bytes of the device, %llu of them pinned\n\n""%10s %10s  %-8s what\n",
(int)plan->slot_count,(int)plan->recomputed,(int)plan->item_count,(int)plan->segment_count,
1e3*plan->simulated,1e3*plan->compute,1e3*plan->bound,(unsigned long long)plan->peak,
(unsigned long long)plan->pinned_bytes,"at ms","takes ms","lane")>0;
static const char*const actions[]={"call","load","save","read","write"};for(int32_t i=0;i<plan->item_count&&ok;i++)
if(plan->known[i].pinned)
ok=fprintf(file,"%10s %10s  %-8s item %d at %llu, %llu bytes\n","","","pinned",(int)i,(unsigned long long)plan->known[i].place,
(unsigned long long)plan->known[i].room)>0;
for(int32_t i=0;i<plan->instruction_count&&ok;i++){const oxi_shunt_instruction*in=&plan->instruction[i];
ok=fprintf(file,"%10.3f %10.3f  %-8s ",1e3*in->start,1e3*in->seconds,oxi_shunt_lane_names[in->lane])>0;if(in->action==OXI_ACT_NODE)
ok=ok&&fprintf(file,"call %d %s\n",(int)in->node,names[in->node])>0;
else
ok=ok&&fprintf(file,"%s item %d at %llu, %llu bytes, calls %d to %d\n",actions[in->action],(int)in->item,
(unsigned long long)(plan->segment[in->segment].place +in->from),(unsigned long long)(in->bytes>0?in->bytes:plan->known[in->item].room),
(int)plan->segment[in->segment].first,(int)plan->segment[in->segment].last)>0;}
return ok;}
enum{OXI_SHUNT_WIDE=1200,OXI_SHUNT_HIGH=400,OXI_SHUNT_LANE_HIGH=22,OXI_SHUNT_TIER_HIGH=70};typedef struct oxi_shunt_drawing{FILE*file;
const oxi_shunt_plan*plan;double across,up;
double*begin,*end;}oxi_shunt_drawing;
static bool oxi_shunt_draw(const oxi_shunt_drawing*d,double x,double y,double wide,double high,
const char*color,const char*text,int number){return fprintf(d->file,
"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" stroke=\"#fff\" "
"stroke-width=\"0.3\"><title>%s %d</title></rect>\n",x,y,wide<0.4?0.4:wide,high<0.4?0.4:high,color,text,number)>0;}
static void oxi_shunt_draw_times(oxi_shunt_drawing*d,double(*slot)[2]){const oxi_shunt_plan*plan=d->plan;
for(int32_t g=0;g<plan->segment_count;g++)d->begin[g]=d->end[g]=-1;
for(int32_t i=0;i<plan->instruction_count;i++){const oxi_shunt_instruction*in=&plan->instruction[i];
if(in->action==OXI_ACT_LOAD&&in->from==0)d->begin[in->segment]=in->start;
if(in->action==OXI_ACT_SAVE)d->end[in->segment]=in->start+in->seconds;
if(in->action!=OXI_ACT_NODE)continue;
slot[in->slot][0]=in->start;slot[in->slot][1]=in->start+in->seconds;}
for(int32_t g=0;g<plan->segment_count;g++){if(d->begin[g]<0)d->begin[g]=slot[plan->segment[g].first][0];
if(d->end[g]<0)
d->end[g]=plan->segment[g].stays?plan->simulated:slot[plan->segment[g].last][1];}}
static bool oxi_shunt_draw_memory(oxi_shunt_drawing*d){static const char*const colors[3]={"#4c78a8","#f58518","#54a24b"};
const oxi_shunt_plan*plan=d->plan;bool ok=true;for(int32_t i=0;i<plan->item_count&&ok;i++){const oxi_shunt_known*k=&plan->known[i];
if(k->pinned)
ok=oxi_shunt_draw(d,0,OXI_SHUNT_HIGH-(double)(k->place+k->room)*d->up,plan->simulated*d->across,(double)k->room*d->up,"#9aa5b1",
"pinned item",(int)i);}
for(int32_t g=0;g<plan->segment_count&&ok;g++){const oxi_shunt_known*k=&plan->known[plan->segment[g].item];
ok=oxi_shunt_draw(d,d->begin[g]*d->across,OXI_SHUNT_HIGH-(double)(plan->segment[g].place +k->room)*d->up,
(d->end[g]-d->begin[g])*d->across,(double)k->room*d->up,colors[k->kind%3],"item",(int)plan->segment[g].item);}
return ok;}
static bool oxi_shunt_draw_lanes(oxi_shunt_drawing*d){
static const char*const colors[OXI_LANES]={"#72b7b2","#e45756","#4c78a8","#b279a2"};bool ok=true;
for(int lane=0;lane<OXI_LANES&&ok;lane++)
ok=fprintf(d->file,"<text x=\"2\" y=\"%d\" font-size=\"10\">%s</text>\n",
OXI_SHUNT_HIGH+20 +lane*OXI_SHUNT_LANE_HIGH,oxi_shunt_lane_names[lane])>0;
for(int32_t i=0;i<d->plan->instruction_count&&ok;i++){const oxi_shunt_instruction*in=&d->plan->instruction[i];
ok=oxi_shunt_draw(d,in->start*d->across,OXI_SHUNT_HIGH+24 +in->lane*OXI_SHUNT_LANE_HIGH,in->seconds*d->across,8,colors[in->lane],
in->action==OXI_ACT_NODE?"call":"item",in->action==OXI_ACT_NODE?(int)in->node:(int)in->item);}
return ok;}
typedef struct oxi_shunt_wait{double at,bytes;
int tier;}oxi_shunt_wait;static int oxi_shunt_wait_compare(const void*a,const void*b){
const oxi_shunt_wait*x=(const oxi_shunt_wait*)a,*y=(const oxi_shunt_wait*)b;return x->at<y->at?-1:x->at>y->at;}
static size_t oxi_shunt_draw_waits(const oxi_shunt_drawing*d,const uint8_t(*lane)[2],oxi_shunt_wait*wait){
const oxi_shunt_plan*plan=d->plan;size_t count=0;for(int32_t g=0;g<plan->segment_count;g++){
const oxi_shunt_segment*one=&plan->segment[g];const double bytes=(double)plan->known[one->item].room;
const bool first=g==0||one[-1].item!=one->item,last=g+1==plan->segment_count||one[1].item!=one->item;for(int after=0;after<2;after++){
uint8_t from=after&&lane[g][1]?lane[g][1]:lane[g][0];if(from==0||(after&&(!last||one->stays||one->dies)))continue;
const double before=first?0:d->end[g-1];
const oxi_shunt_wait begin={after?d->end[g]:before,bytes,from==OXI_LANE_DISK},end={after?plan->simulated:d->begin[g],-bytes,begin.tier};
wait[count++]=begin;wait[count++]=end;}}
qsort(wait,count,sizeof*wait,oxi_shunt_wait_compare);return count;}
static bool oxi_shunt_draw_tier(const oxi_shunt_drawing*d,int tier,const oxi_shunt_wait*wait,size_t count){const int bottom=
OXI_SHUNT_HIGH+24 +OXI_LANES*OXI_SHUNT_LANE_HIGH+(tier+1)*OXI_SHUNT_TIER_HIGH;
double most=0,now=0,since=0;
for(size_t i=0;i<count;i++){if(wait[i].tier!=tier)continue;
if(now>most&&wait[i].at>since)most=now;
now+=wait[i].bytes;since=wait[i].at;}
bool ok=fprintf(d->file,"<text x=\"2\" y=\"%d\" font-size=\"10\">waits on the %s, at most %.0f bytes</text>\n",
bottom-OXI_SHUNT_TIER_HIGH+16,tier?"disk":"host",most)>0;
now=since=0;for(size_t i=0;i<count&&ok;i++){const double high=(OXI_SHUNT_TIER_HIGH-22)*now/(most>0?most:1);
if(wait[i].tier!=tier)continue;
if(now>0.5&&wait[i].at>since)
ok=oxi_shunt_draw(d,since*d->across,bottom-high,(wait[i].at -since)*d->across,high,
tier?"#b279a2":"#4c78a8",tier?"KiB on the disk":"KiB on the host",(int)(now/1024));
now+=wait[i].bytes;since=wait[i].at;}
return ok;}
static bool oxi_shunt_draw_tiers(const oxi_shunt_drawing*d){const size_t segments=(size_t)d->plan->segment_count;
uint8_t(*lane)[2]=(uint8_t(*)[2])oxi_shunt_list(segments,sizeof*lane);
oxi_shunt_wait*wait=(oxi_shunt_wait*)oxi_shunt_list(4*segments,sizeof*wait);bool ok=lane&&wait;
for(int32_t i=0;i<d->plan->instruction_count&&ok;i++){const oxi_shunt_instruction*in=&d->plan->instruction[i];
if(in->action!=OXI_ACT_NODE)
lane[in->segment][!oxi_shunt_comes(in)]=in->staged?(int)OXI_LANE_DISK:(int)in->lane;}
const size_t count=ok?oxi_shunt_draw_waits(d,(const uint8_t(*)[2])lane,wait):0;
for(int tier=0;tier<2&&ok;tier++)ok=oxi_shunt_draw_tier(d,tier,wait,count);
oxi_shunt_unlist(lane,segments,sizeof*lane);oxi_shunt_unlist(wait,4*segments,sizeof*wait);return ok;}
static bool oxi_shunt_dump_drawing(FILE*file,const oxi_shunt_plan*plan){oxi_shunt_drawing d;
size_t segments=(size_t)plan->segment_count,slots=(size_t)plan->slot_count;
double(*slot)[2]=(double(*)[2])oxi_shunt_list(slots,sizeof*slot);
d.file=file;d.plan=plan;d.begin=(double*)oxi_shunt_list(2*segments,sizeof*d.begin);
bool ok=d.begin&&slot;d.end=d.begin+segments;if(ok)oxi_shunt_draw_times(&d,slot);
oxi_shunt_unlist(slot,slots,sizeof*slot);d.across=OXI_SHUNT_WIDE/(plan->simulated>0?plan->simulated:1);
d.up=(OXI_SHUNT_HIGH-20)/(double)(plan->peak>0?plan->peak:1);
ok=ok&&fprintf(file,"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n"
"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
"<text x=\"2\" y=\"12\" font-size=\"11\">memory of the device, %llu bytes, over %.3f ms: "
"gray is pinned, blue weights, orange made by the step, green changed by it</text>\n",OXI_SHUNT_WIDE,
OXI_SHUNT_HIGH+28 +OXI_LANES*OXI_SHUNT_LANE_HIGH+2*OXI_SHUNT_TIER_HIGH,(unsigned long long)plan->peak,1e3*plan->simulated)>0;
ok=ok&&oxi_shunt_draw_memory(&d)&&oxi_shunt_draw_lanes(&d)&&oxi_shunt_draw_tiers(&d);ok=ok&&fprintf(file,"</svg>\n")>0;
oxi_shunt_unlist(d.begin,2*segments,sizeof*d.begin);return ok;}
OX_API ox_status ox_shunt_dump(ox_shunt*shunt,const char*path){
if(!shunt||!path)return oxi_fail_missing(shunt?"shunt_dump: the path":"shunt_dump: the shunt");
ox_status status=oxi_shunt_enter(shunt);if(status!=OX_OK)return status;
const oxi_shunt_plan*plan=shunt->last_plan;size_t length=strlen(path);
if(!plan)status=oxi_fail(OX_ERR_ARG,"shunt_dump: nothing was planned yet");
FILE*file=plan?fopen(path,"wb"):NULL;if(plan&&!file)
status=oxi_fail(OX_ERR_IO,"shunt_dump: %s: %s",oxi_path_text(path),strerror(errno));
const char**names=file?oxi_shunt_plan_names(plan):NULL;bool ok=names!=NULL;if(ok&&length>4&&strcmp(path+length-4,".svg")==0)
ok=oxi_shunt_dump_drawing(file,plan);
else if(ok)
ok=oxi_shunt_dump_text(file,plan,names);
if(names)oxi_shunt_unlist(names,(size_t)plan->node_count,sizeof*names);
if(file)ok=fclose(file)==0&&ok;
if(file&&!ok)
status=oxi_fail(OX_ERR_IO,"shunt_dump: %s could not be written whole",oxi_path_text(path));
oxi_stream_give(&shunt->lock);return status;}
/* >>stream/shunt/far.c */
typedef struct oxi_shunt_far{oxi_shunt_item*item;ox_storage*storage;size_t at;bool made;bool skewed;}oxi_shunt_far;
enum{OXI_SHUNT_FAR_MOST=OXI_MAX_IN+OXI_MAX_OUT};static bool oxi_shunt_far_tiles(const ox_shunt*s,const oxi_call*call){
bool small=call->op==OXI_OP_cat||oxi_stream_picks(call)||oxi_stream_reduces(call);
oxi_stream_plan*plan=small?NULL:(oxi_stream_plan*)oxi_alloc(sizeof*plan);if(!plan)return small;
uint64_t tile=oxi_stream_room(s->stream),most=s->main_bytes/8;oxi_plan_open(plan,s->stream->desc.compute,call);
oxi_plan_cut(plan,(size_t)tile);small=plan->space.ndim>0&&plan->flow.cell_bytes<=(most>tile?most:tile);oxi_free(plan,sizeof*plan);
return small;}
static bool oxi_shunt_goes_far(ox_shunt*s,const oxi_shunt_node*node){oxi_shunt_headers h;ox_storage nowhere;
if(!s->compute->host||node->in_count>OXI_MAX_IN||node->out_count>OXI_MAX_OUT)return false;
for(int i=0;i<node->in_count+node->out_count;i++)
if(node->operand[i].given)return false;
if(oxi_shunt_stream_open(s)!=OX_OK||!oxi_shunt_headers_open(&h,node))return false;
memset(&nowhere,0,sizeof nowhere);nowhere.references=1;nowhere.device=ox_stream_device(s->stream);
for(int i=0;i<node->in_count+node->out_count;i++)
if(node->operand[i].item)h.header[i].storage=&nowhere;
return oxi_shunt_far_tiles(s,&h.call);}
static ox_status oxi_shunt_far_copy(ox_shunt*s,oxi_shunt_item*item,ox_storage*to){size_t room=s->stream->desc.tile_bytes;
char*buffer=(char*)oxi_alloc(room);ox_status status=buffer?OX_OK:OX_ERR_NOMEM;
for(size_t done=0,some;done<item->bytes&&status==OX_OK;done+=some){some=item->bytes-done<room?item->bytes-done:room;
status=oxi_shunt_item_read(s,item,done,buffer,some);
if(status==OX_OK)status=to->device->write(to->device,to->data,done,buffer,some);}
oxi_free(buffer,room);return status;}
static ox_status oxi_shunt_far_get(ox_shunt*s,oxi_shunt_far*far,bool reads){oxi_shunt_item*item=far->item;oxi_shunt_land(s,item);
bool there=!item->part&&item->disk_valid&&item->packed==OX_COMPRESSION_NONE&&!far->skewed;
if(reads&&oxi_shunt_is_lost(item))return oxi_shunt_lost(s);
if(there&&!far->made){oxi_storage_retain(item->disk);
far->storage=item->disk;far->at=item->disk_at;return OX_OK;}
far->storage=oxi_storage_new(ox_stream_device(s->stream),item->bytes);if(!far->storage)return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;
return reads?oxi_shunt_far_copy(s,item,far->storage):OX_OK;}
static void oxi_shunt_far_put(ox_shunt*s,oxi_shunt_far*far){oxi_shunt_item*item=far->item;oxi_shunt_item_forget(s,item);
item->disk=far->storage;far->storage=NULL;oxi_shunt_disk_set(item,item->bytes,far->at);item->packed=OX_COMPRESSION_NONE;
item->failed=false;item->ahead=0;}
static int oxi_shunt_far_list(ox_shunt*s,const oxi_shunt_node*node,oxi_shunt_far*far,int*of,ox_status*status){int count=0;*status=OX_OK;
for(int i=0;i<node->in_count+node->out_count;i++){oxi_shunt_item*item=node->operand[i].item;
bool made=false,reads=false,skewed=false;int k=0;of[i]=-1;if(!item)continue;
while(k<count&&far[k].item!=item)k++;
of[i]=k;if(k<count)continue;
for(int j=0;j<node->in_count+node->out_count;j++){const oxi_shunt_operand*o=&node->operand[j];
if(o->item!=item)continue;
made=made||j>=node->in_count;reads=reads||j<node->in_count||!o->covers;
skewed=skewed||item->disk_at%(size_t)oxi_info(o->dtype)->block_bytes!=0;}
memset(&far[count],0,sizeof far[count]);far[count].item=item;far[count].made=made;far[count].skewed=skewed;
*status=oxi_shunt_far_get(s,&far[count++],reads);if(*status!=OX_OK)break;}
return count;}
static ox_status oxi_shunt_far_run(ox_shunt*s,const oxi_shunt_node*node){oxi_shunt_far far[OXI_SHUNT_FAR_MOST];
int of[OXI_SHUNT_FAR_MOST];oxi_shunt_headers h;const char*speaker=oxi_speaker;bool clean=ox_error()==OX_OK;ox_status status;
for(int64_t i=0;i<s->resident[0].count;i++)oxi_shunt_land(s,s->resident[0].item[i]);
s->ran_last=0;oxi_speaker=NULL;double start=oxi_now();
int count=oxi_shunt_far_list(s,node,far,of,&status);if(status==OX_OK&&!oxi_shunt_headers_open(&h,node))status=OX_ERR_NOMEM;
for(int i=0;i<node->in_count+node->out_count&&status==OX_OK;i++){if(of[i]<0)continue;
const ox_dtype_info*info=oxi_info(h.header[i].dtype);h.header[i].storage=far[of[i]].storage;
h.header[i].offset +=(int64_t)far[of[i]].at/info->block_bytes*info->block_elements;}
if(status==OX_OK)status=oxi_run(ox_stream_device(s->stream),&h.call);
double end=oxi_now();
oxi_speaker=speaker;if(status!=OX_OK&&clean)oxi_shunt_blame(s,node);
for(int k=0;k<count;k++){if(status==OX_OK&&far[k].made)oxi_shunt_far_put(s,&far[k]);
if(far[k].storage)oxi_storage_release(far[k].storage);}
s->stats.compute_seconds+=end-start;oxi_shunt_span_put(s,OXI_LANE_COMPUTE,oxi_shunt_node_name(node),start,end,0);return status;}
/* >>stream/shunt/cut.c */
typedef struct oxi_shunt_cut{struct oxi_shunt_cut*next;int64_t node;oxi_shunt_headers whole;ox_storage nowhere;oxi_stream_plan plan;
int dim;const int64_t*rows;int64_t pieces;}oxi_shunt_cut;typedef struct oxi_shunt_share{oxi_shunt_item*item;bool parts;
const int64_t*ends;int64_t count;}oxi_shunt_share;enum{OXI_SHUNT_SETS=3,OXI_SHUNT_PIECES=1<<12};
static bool oxi_shunt_is_oversized(const ox_shunt*s,const oxi_shunt_item*item){
return oxi_shunt_is_planned(s)&&oxi_shunt_item_room(item)>s->main_bytes;}
static void oxi_shunt_part_list_free(ox_shunt*s,oxi_shunt_item**part,int32_t count){for(int32_t k=0;k<count&&part;k++){
if(!part[k])continue;
part[k]->held=false;oxi_shunt_item_settle(s,part[k]);}
oxi_free(part,(size_t)count*sizeof*part);}
static void oxi_shunt_parts_drop(ox_shunt*s,oxi_shunt_item*item){oxi_shunt_part_list_free(s,item->part,item->part_count);item->part=NULL;
item->part_count=0;}
static ox_status oxi_shunt_parts_move(ox_shunt*s,oxi_shunt_item*item,size_t offset,void*out,const void*data,size_t bytes){
ox_status status=OX_OK;size_t done=0;
for(int32_t k=0;k<item->part_count&&done<bytes&&status==OX_OK;k++){oxi_shunt_item*part=item->part[k];
size_t some=part->bytes>offset?part->bytes-offset:0;if(some==0){offset-=part->bytes;
continue;}
if(some>bytes-done)some=bytes-done;
status=out?oxi_shunt_item_read(s,part,offset,(char*)out+done,some):oxi_shunt_item_write(s,part,offset,(const char*)data+done,some);
if(data&&status==OX_OK)part->failed=false;
done+=some;
offset=0;}
return status;}
static ox_status oxi_shunt_parts_replace(ox_shunt*s,oxi_shunt_item*item,const char*data){const bool clean=ox_error()==OX_OK;
const int32_t count=item->part_count;oxi_shunt_item**part=(oxi_shunt_item**)oxi_calloc((size_t)count,sizeof*part);
ox_status status=part?OX_OK:OX_ERR_NOMEM;bool room=true;size_t at=0;for(int32_t k=0;k<count&&status==OX_OK;k++){
const oxi_shunt_item*old=item->part[k];part[k]=oxi_shunt_item_new(s,old->bytes,0);if(!part[k])status=OX_ERR_NOMEM;
if(status!=OX_OK)break;
part[k]->all_f32=old->all_f32;part[k]->kind=old->kind;part[k]->columns=old->columns;
status=oxi_shunt_item_write(s,part[k],0,data+at,old->bytes);room=status==OX_OK||part[k]->disk;at+=old->bytes;}
if(status==OX_OK){oxi_shunt_parts_drop(s,item);
item->part=part;item->part_count=count;return OX_OK;}
oxi_shunt_part_list_free(s,part,count);if(room)return status;
if(clean)ox_error_clear();
status=oxi_shunt_parts_move(s,item,0,NULL,data,item->bytes);for(int32_t k=0;k<count&&status!=OX_OK;k++)item->part[k]->failed=true;
return status;}
static oxi_shunt_item*oxi_shunt_part_new(ox_shunt*s,oxi_shunt_item*item,size_t offset,size_t bytes){
bool stays=item->file&&item->disk_valid&&!item->part;
const oxi_stream_region*region=stays?(const oxi_stream_region*)item->disk->data:NULL;
oxi_shunt_item*part=oxi_shunt_item_new(s,bytes,region?region->offset+item->disk_at+offset:0);if(!part)return NULL;
part->all_f32=item->all_f32;part->kind=item->kind;part->columns=item->columns;part->failed=item->failed;ox_status status=OX_OK;if(stays){
oxi_storage_retain(item->disk);part->disk=item->disk;part->file=part->disk_valid=true;part->disk_at=item->disk_at+offset;
part->disk_bytes=bytes;}else if(item->valid||oxi_shunt_has_copy(item)||item->part){void*through=oxi_alloc(bytes);
status=through?oxi_shunt_item_read(s,item,offset,through,bytes):OX_ERR_NOMEM;
if(status==OX_OK)status=oxi_shunt_item_write(s,part,0,through,bytes);
oxi_free(through,bytes);}
if(status==OX_OK)return part;
part->held=false;oxi_shunt_item_settle(s,part);return NULL;}
static ox_status oxi_shunt_split(ox_shunt*s,oxi_shunt_item*item,const int64_t*ends,int64_t count){
oxi_shunt_item**part=(oxi_shunt_item**)oxi_calloc((size_t)count,sizeof*part);bool made=part!=NULL;size_t begin=0;
if(item->valid&&!item->lent&&!item->file){oxi_shunt_host_drop(s,item);
oxi_shunt_disk_drop(item);}
for(int64_t k=0;k<count&&made;k++){size_t end=(size_t)ends[k];
part[k]=oxi_shunt_part_new(s,item,begin,end-begin);made=part[k]!=NULL;begin=end;}
if(!made){oxi_shunt_part_list_free(s,part,(int32_t)count);
return ox_error()!=OX_OK?ox_error():OX_ERR_NOMEM;}
oxi_shunt_item_forget(s,item);item->failed=false;item->part=part;item->part_count=(int32_t)count;return OX_OK;}
static ox_status oxi_shunt_parts_even(ox_shunt*s,oxi_shunt_item*item){
int64_t each=(int64_t)(s->main_bytes/8/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE);int64_t bytes=(int64_t)item->bytes;if(each==0)each=OXI_SHUNT_PAGE;
int64_t count=oxi_parts(bytes,each);int64_t*ends=(int64_t*)oxi_alloc((size_t)count*sizeof*ends);if(!ends)return OX_ERR_NOMEM;
for(int64_t k=0;k<count;k++)ends[k]=k+1<count?each*(k+1):bytes;
ox_status status=oxi_shunt_split(s,item,ends,count);oxi_free(ends,(size_t)count*sizeof*ends);return status;}
static ox_status oxi_shunt_join(ox_shunt*s,oxi_shunt_item*item){size_t offset=0;bool any=false,failed=oxi_shunt_is_lost(item);
for(int32_t k=0;k<item->part_count;k++)
any=any||item->part[k]->valid||oxi_shunt_has_copy(item->part[k]);
s->node_clock++;item->protects=s->node_clock;ox_status status=any&&!failed?oxi_shunt_bring(s,item,false):OX_OK;
if(status==OX_ERR_NOMEM&&ox_error()==OX_OK)return oxi_shunt_fail_room(s,item->bytes);
for(int32_t k=0;k<item->part_count&&any&&!failed&&status==OX_OK;k++){oxi_shunt_item*part=item->part[k];
char*to=s->compute->host?(char*)item->storage->data+offset:(char*)oxi_alloc(part->bytes);
status=to?oxi_shunt_item_read(s,part,0,to,part->bytes):OX_ERR_NOMEM;if(!s->compute->host){if(status==OX_OK)
status=s->compute->write(s->compute,item->storage->data,offset,to,part->bytes);
oxi_free(to,part->bytes);}
offset+=part->bytes;}
if(status!=OX_OK){oxi_shunt_leave(s,item,false);
return status;}
oxi_shunt_parts_drop(s,item);if(any&&!failed)oxi_shunt_written(s,item);
item->failed=failed;return OX_OK;}
static uint64_t oxi_shunt_node_room(const oxi_shunt_node*node,bool*composite){uint64_t bytes=0;
for(int i=0;i<node->in_count+node->out_count;i++){const oxi_shunt_item*item=node->operand[i].item;
if(!item)continue;
*composite=*composite||item->part;if(!item->small&&!oxi_shunt_is_seen(node,i))bytes+=oxi_shunt_item_room(item);}
return bytes;}
static bool oxi_shunt_is_too_large(const ox_shunt*s,const oxi_shunt_node*node){bool composite=false;
return oxi_shunt_node_room(node,&composite)>s->main_bytes;}
static bool oxi_shunt_is_elementwise(oxi_op op){oxi_family family=oxi_op_row_of(op)->family;
return family<=OXI_FAMILY_RANDOM||family==OXI_FAMILY_CHAIN;}
static bool oxi_shunt_falls_apart(const ox_shunt*s,const oxi_shunt_node*node,uint64_t room){uint64_t own=0;
if(room<=s->main_bytes/2||!oxi_shunt_is_elementwise(node->op))return false;
for(int i=0;i<node->in_count;i++){const oxi_shunt_item*item=node->operand[i].item;
int64_t times=0;for(int k=0;k<node->in_count+node->out_count&&item;k++)
times+=node->operand[k].item==item?(k<i?-1:1):0;
if(item&&times==item->pending)own+=oxi_shunt_item_room(item);}
return own>=room/4;}
static bool oxi_shunt_is_cut_node(const ox_shunt*s,const oxi_shunt_node*node,bool*composite){*composite=false;
uint64_t room=oxi_shunt_node_room(node,composite);if(room>s->main_bytes||s->cuts_least)return room>s->main_bytes;
return(*composite&&oxi_shunt_is_elementwise(node->op))||oxi_shunt_falls_apart(s,node,room);}
static bool oxi_shunt_wants_cut(const ox_shunt*s){bool wants=false,composite=false;
for(int64_t n=0;n<s->node_count&&!wants&&oxi_shunt_is_planned(s);n++)
wants=oxi_shunt_is_cut_node(s,s->nodes[n],&composite)||composite;
return wants;}
static const oxi_shunt_operand*oxi_shunt_cut_operand(const oxi_shunt_node*node,int i){
int at=i<OXI_PLAN_OUT?i:node->in_count+i-OXI_PLAN_OUT;bool is=i<OXI_PLAN_OUT?i<node->in_count:i-OXI_PLAN_OUT<node->out_count;
return is?&node->operand[at]:NULL;}
static bool oxi_shunt_flatten(oxi_stream_plan*plan){const ox_tensor*out=&plan->operand[OXI_PLAN_OUT];
if(!oxi_shunt_is_elementwise(plan->call->op))return false;
for(int i=0;i<OXI_STREAM_OPERANDS;i++){const ox_tensor*t=&plan->operand[i];
if(!plan->there[i]||ox_numel(t)==1)continue;
if(!ox_is_contiguous(t)||oxi_is_block(t->dtype)||t->ndim!=out->ndim)return false;
if(memcmp(t->shape,out->shape,(size_t)out->ndim*sizeof*out->shape)!=0)return false;}
for(int i=0;i<OXI_STREAM_OPERANDS;i++){ox_tensor*t=&plan->operand[i];
if(!plan->there[i]||t->is_number)continue;
t->shape[0]=ox_numel(t);t->stride[0]=t->ndim=1;}
return true;}
static bool oxi_shunt_cut_open(const ox_shunt*s,const oxi_shunt_node*node,bool flat,oxi_shunt_cut*c){
if(node->in_count>OXI_MAX_IN||node->out_count>OXI_MAX_OUT)return false;
if(!oxi_shunt_headers_open(&c->whole,node))return false;
memset(&c->nowhere,0,sizeof c->nowhere);c->nowhere.references=1;c->nowhere.device=s->compute;
for(int i=0;i<node->in_count+node->out_count;i++){if(node->operand[i].given)return false;
if(node->operand[i].item)c->whole.header[i].storage=&c->nowhere;}
oxi_plan_operands(&c->plan,s->compute,&c->whole.call);c->plan.in_order=true;for(int i=0;i<OXI_STREAM_OPERANDS;i++){
const oxi_shunt_operand*o=oxi_shunt_cut_operand(node,i);c->plan.streamed[i]=o&&o->item;}
if(flat&&!oxi_shunt_flatten(&c->plan))return false;
oxi_plan_find_space(&c->plan);return c->plan.space.ndim>0;}
static ox_tensor oxi_shunt_piece(const oxi_shunt_cut*c,int i,int64_t k){int64_t start[OX_MAX_DIMS]={0},count[OX_MAX_DIMS];
memcpy(count,c->plan.space.size,sizeof count);start[c->dim]=k>0?c->rows[k-1]:0;count[c->dim]=c->rows[k]-start[c->dim];
return oxi_plan_part(&c->plan,i,start,count);}
static void oxi_shunt_reach(const ox_tensor*t,int64_t range[2]){int64_t first,last;oxi_reach(t,&first,&last);
range[0]=(int64_t)oxi_byte_offset(t->dtype,first);range[1]=(int64_t)oxi_byte_offset(t->dtype,last)+oxi_info(t->dtype)->block_bytes;}
static int64_t oxi_shunt_part_at(const int64_t*ends,int64_t count,int64_t place){int64_t low=0,high=count-1;while(low<high){
int64_t middle=(low+high)/2;if(ends[middle]>place)
high=middle;
else
low=middle+1;}
return low;}
static int oxi_shunt_shares(const oxi_shunt_node*node,oxi_shunt_share*out){int count=0;for(int i=0;i<node->in_count+node->out_count;i++){
oxi_shunt_item*item=node->operand[i].item;int k=0;if(!item||item->small)continue;
while(k<count&&out[k].item!=item)k++;
if(k==count)out[count++].item=item;}
return count;}
static uint64_t oxi_shunt_shares_whole(const oxi_shunt_share*share,int count){uint64_t bytes=0;
for(int k=0;k<count;k++)bytes+=share[k].parts?0:oxi_shunt_item_room(share[k].item);
return bytes;}
static bool oxi_shunt_shares_decide(const ox_shunt*s,oxi_shunt_share*share,int count){for(int k=0;k<count;k++){
const oxi_shunt_item*item=share[k].item;share[k].parts=item->cut_at==s->cut_pass?item->cut_count>0:item->whole_at<=s->cut_from;}
while(oxi_shunt_shares_whole(share,count)>s->main_bytes/2){int largest=-1;
for(int k=0;k<count;k++){bool may=!share[k].parts&&share[k].item->cut_at<s->cut_pass;
if(may&&(largest<0||share[k].item->bytes>share[largest].item->bytes))largest=k;}
if(largest<0)break;
share[largest].parts=true;}
return oxi_shunt_shares_whole(share,count)<s->main_bytes;}
static int oxi_shunt_compare_ranges(const void*a,const void*b){const int64_t*x=(const int64_t*)a,*y=(const int64_t*)b;
return x[0]!=y[0]?(x[0]<y[0]?-1:1):x[1]<y[1]?-1:x[1]>y[1];}
static bool oxi_shunt_ends_new(ox_shunt*s,const oxi_shunt_cut*c,const oxi_shunt_node*node,oxi_shunt_share*share,int64_t most){
int64_t room=0,ranges=0,bytes=(int64_t)share->item->bytes,at=0;for(int i=0;i<OXI_STREAM_OPERANDS;i++){
const oxi_shunt_operand*o=oxi_shunt_cut_operand(node,i);room+=o&&o->item==share->item?c->pieces:0;}
int64_t(*range)[2]=(int64_t(*)[2])oxi_shunt_node_memory(s,(size_t)room*sizeof*range);size_t list=(size_t)(2*room+bytes/most+2);
int64_t*ends=(int64_t*)oxi_shunt_node_memory(s,list*sizeof*ends);if(!range||!ends)return false;
for(int i=0;i<OXI_STREAM_OPERANDS;i++){const oxi_shunt_operand*o=oxi_shunt_cut_operand(node,i);
for(int64_t k=0;o&&o->item==share->item&&k<c->pieces;k++){ox_tensor t=oxi_shunt_piece(c,i,k);
oxi_shunt_reach(&t,range[ranges++]);}}
qsort(range,(size_t)ranges,sizeof*range,oxi_shunt_compare_ranges);share->ends=ends;share->count=0;for(int64_t r=0,next;r<=ranges;r=next){
int64_t begin=r<ranges?range[r][0]:bytes,end=r<ranges?range[r][1]:bytes;for(next=r+1;next<ranges&&range[next][0]<end;next++)
if(range[next][1]>end)end=range[next][1];
for(;at<begin;ends[share->count++]=at)at=begin-at>most?at+most:begin;
if(end>at)ends[share->count++]=at=end;}
return true;}
static bool oxi_shunt_pieces_fit(const oxi_shunt_cut*c,const oxi_shunt_node*node,const oxi_shunt_share*share,int count,uint64_t most){
for(int64_t k=0;k<c->pieces;k++){uint64_t room=0;
int64_t had[OXI_STREAM_OPERANDS][2];int had_count=0;for(int i=0;i<OXI_STREAM_OPERANDS;i++){
const oxi_shunt_operand*o=oxi_shunt_cut_operand(node,i);int64_t range[2];int j=0,h=0;while(o&&j<count&&share[j].item!=o->item)j++;
if(!o||j==count||!share[j].parts)continue;
ox_tensor t=oxi_shunt_piece(c,i,k);oxi_shunt_reach(&t,range);int64_t part=oxi_shunt_part_at(share[j].ends,share[j].count,range[0]);
if(range[1]>share[j].ends[part])return false;
while(h<had_count&&(had[h][0]!=j||had[h][1]!=part))h++;
if(h<had_count)continue;
had[had_count][0]=j;had[had_count++][1]=part;room+=oxi_shunt_room_of((size_t)(share[j].ends[part]-(part>0?share[j].ends[part-1]:0)));}
if(room>most)return false;}
return true;}
static bool oxi_shunt_try_pieces(ox_shunt*s,const oxi_shunt_cut*c,const oxi_shunt_node*node,oxi_shunt_share*share,int count){
for(int k=0;k<count;k++){const oxi_shunt_item*item=share[k].item;
if(!share[k].parts)continue;
share[k].ends=item->cut_ends;share[k].count=item->cut_count;int64_t most=(int64_t)s->main_bytes/8;
if(item->cut_at<s->cut_pass&&!oxi_shunt_ends_new(s,c,node,&share[k],most))return false;}
return oxi_shunt_pieces_fit(c,node,share,count,s->main_bytes-oxi_shunt_shares_whole(share,count));}
static int oxi_shunt_compare_rows(const void*a,const void*b){int64_t x=*(const int64_t*)a,y=*(const int64_t*)b;return x<y?-1:x>y;}
static int64_t oxi_shunt_add_rows(const oxi_shunt_cut*c,int i,const int64_t*ends,int64_t parts,int64_t*rows,int64_t count){
const ox_tensor*t=&c->plan.operand[i];int at=c->plan.space.dim[i][c->dim];
int64_t size=c->plan.space.size[c->dim],unit=c->plan.space.unit[c->dim],range[2];
if(at<0||t->stride[at]==0||oxi_is_block(t->dtype))return count;
int64_t step=t->stride[at]*c->plan.space.times[i][c->dim]*oxi_info(t->dtype)->block_bytes;oxi_shunt_reach(t,range);
for(int64_t p=0;p+1<parts;p++){int64_t row=step>0?oxi_parts(ends[p]-range[0],step):oxi_parts(range[1]-ends[p],-step);
if(row>0&&row<size&&row%unit==0)rows[count++]=row;}
return count;}
static bool oxi_shunt_pieces_as(ox_shunt*s,oxi_shunt_cut*c,const oxi_shunt_node*node,bool decided,oxi_shunt_share*share,int count){
int64_t most=1,found=0;for(int k=0;k<count;k++)
most+=OXI_STREAM_OPERANDS*(int64_t)(decided?share[k].item->cut_count:share[k].item->part_count);
int64_t*rows=(int64_t*)oxi_shunt_node_memory(s,(size_t)most*sizeof*rows);for(int k=0;k<count&&rows;k++){
const oxi_shunt_item*item=share[k].item;if(!share[k].parts||(decided?item->cut_at<s->cut_pass:!item->part))continue;
int64_t parts=decided?item->cut_count:item->part_count,end=0;int64_t*ends=(int64_t*)oxi_shunt_node_memory(s,(size_t)parts*sizeof*ends);
for(int64_t p=0;p<parts&&ends;p++)
ends[p]=decided?item->cut_ends[p]:(end+=(int64_t)item->part[p]->bytes);
for(int i=0;i<OXI_STREAM_OPERANDS&&ends;i++){const oxi_shunt_operand*o=oxi_shunt_cut_operand(node,i);
if(o&&o->item==item)found=oxi_shunt_add_rows(c,i,ends,parts,rows,found);}}
if(found==0)return false;
rows[found++]=c->plan.space.size[c->dim];qsort(rows,(size_t)found,sizeof*rows,oxi_shunt_compare_rows);c->rows=rows;c->pieces=0;
for(int64_t r=0;r<found;r++)
if(c->pieces==0||rows[r]>rows[c->pieces-1])rows[c->pieces++]=rows[r];
return oxi_shunt_try_pieces(s,c,node,share,count);}
static bool oxi_shunt_pieces_new(ox_shunt*s,oxi_shunt_cut*c,const oxi_shunt_node*node,oxi_shunt_share*share,int count){
const oxi_stream_space*space=&c->plan.space;int64_t size=space->size[c->dim],unit=space->unit[c->dim],units=oxi_parts(size,unit);
uint64_t all=0,room=(s->main_bytes-oxi_shunt_shares_whole(share,count))/OXI_SHUNT_SETS;
for(int k=0;k<count;k++)all+=share[k].parts?oxi_shunt_item_room(share[k].item):0;
uint64_t wanted=room>0?all/room+1:(uint64_t)units;int64_t most=oxi_min_i64(units,OXI_SHUNT_PIECES);
int64_t some=wanted<2?2:wanted<(uint64_t)most?(int64_t)wanted:most;if(all==0||units<2)return false;
for(;;some=some*2<most?some*2:most){int64_t*rows=(int64_t*)oxi_shunt_node_memory(s,(size_t)some*sizeof*rows);
if(!rows)return false;
for(int64_t k=0,left=units%some;k<some;k++){int64_t end=(units/some*(k+1)+(k+1<left?k+1:left))*unit;
rows[k]=end<size?end:size;}
c->rows=rows;c->pieces=some;if(oxi_shunt_try_pieces(s,c,node,share,count))return true;
if(some==most)return false;}}
static bool oxi_shunt_cut_along(ox_shunt*s,const oxi_shunt_node*node,int dim,oxi_shunt_cut*c){oxi_shunt_share share[OXI_STREAM_OPERANDS];
bool decided=false;c->dim=dim;if(c->plan.space.size[dim]<2)return false;
int count=oxi_shunt_shares(node,share);if(!oxi_shunt_shares_decide(s,share,count))return false;
for(int k=0;k<count;k++)
decided=decided||(share[k].parts&&share[k].item->cut_at==s->cut_pass);
if(decided?!oxi_shunt_pieces_as(s,c,node,true,share,count):!oxi_shunt_pieces_as(s,c,node,false,share,count)&&
!oxi_shunt_pieces_new(s,c,node,share,count))
return false;
for(int k=0;k<count;k++){oxi_shunt_item*item=share[k].item;
if(item->cut_at==s->cut_pass)continue;
item->cut_at=s->cut_pass;item->cut_ends=share[k].ends;item->cut_count=share[k].parts?share[k].count:0;}
return true;}
static oxi_shunt_cut*oxi_shunt_cut_node(ox_shunt*s,const oxi_shunt_node*node,int64_t number){
oxi_shunt_cut*c=(oxi_shunt_cut*)oxi_shunt_node_memory(s,sizeof*c);if(!c)return NULL;
for(int flat=0;flat<2;flat++){memset(c,0,sizeof*c);
c->node=number;if(!oxi_shunt_cut_open(s,node,flat==1,c))continue;
for(int d=0;d<c->plan.space.ndim;d++)
if(oxi_shunt_cut_along(s,node,d,c))return c;}
return NULL;}
static bool oxi_shunt_stay_whole(ox_shunt*s,const oxi_shunt_node*node){for(int i=0;i<node->in_count+node->out_count;i++){
const oxi_shunt_item*item=node->operand[i].item;if(item&&item->cut_at==s->cut_pass&&item->cut_count>0)return false;}
for(int i=0;i<node->in_count+node->out_count;i++){oxi_shunt_item*item=node->operand[i].item;
if(!item)continue;
item->cut_at=s->cut_pass;item->cut_count=0;}
return true;}
static int64_t oxi_shunt_cut_some(ox_shunt*s,oxi_shunt_node*const*nodes,int64_t from,int64_t count,oxi_shunt_cut**cuts,bool*far){
oxi_shunt_cut**last=cuts;int64_t n=from;*cuts=NULL;*far=false;s->cut_pass++;for(;n<count;n++){
bool composite,cut=oxi_shunt_is_cut_node(s,nodes[n],&composite);oxi_shunt_cut*c=cut?oxi_shunt_cut_node(s,nodes[n],n):NULL;
bool whole=!c&&oxi_shunt_is_too_large(s,nodes[n]);if(whole&&n>from)break;
*far=whole&&oxi_shunt_goes_far(s,nodes[n]);if(*far)return n+1;
if(!c&&!oxi_shunt_stay_whole(s,nodes[n]))break;
if(!c)continue;
*last=c;last=&c->next;}
return n;}
static bool oxi_shunt_is_in_pieces(const ox_shunt*s,const oxi_shunt_node*node){for(int i=0;i<node->in_count+node->out_count;i++){
const oxi_shunt_item*item=node->operand[i].item;if(item&&item->cut_at==s->cut_pass&&item->cut_count>0)return true;}
return false;}
static ox_status oxi_shunt_arrange(ox_shunt*s,const oxi_shunt_node*node){bool clean=ox_error()==OX_OK,
refused=oxi_shunt_is_too_large(s,node)&&!oxi_shunt_is_in_pieces(s,node);
ox_status status=refused?oxi_shunt_too_large(s,node):OX_OK;for(int i=0;i<node->in_count+node->out_count&&status==OX_OK;i++){
oxi_shunt_item*item=node->operand[i].item;if(!item||item->cut_at!=s->cut_pass)continue;
if(item->cut_count==0){status=item->part?oxi_shunt_join(s,item):OX_OK;
continue;}
int64_t end=0;bool same=item->part_count==item->cut_count;for(int64_t k=0;k<item->cut_count&&same;k++){
end+=(int64_t)item->part[k]->bytes;same=end==item->cut_ends[k];}
if(!same)status=oxi_shunt_split(s,item,item->cut_ends,item->cut_count);}
if(status!=OX_OK&&clean&&ox_error()!=OX_OK)oxi_shunt_blame(s,node);
return status;}
static bool oxi_shunt_cut_push(ox_shunt*s,oxi_shunt_node*node){
void*grown=oxi_grow(s->nodes,&s->node_room,(size_t)s->node_count+1,sizeof*s->nodes,false);if(!grown)return false;
s->nodes=(oxi_shunt_node**)grown;s->nodes[s->node_count++]=node;return true;}
static bool oxi_shunt_piece_operand(ox_shunt*s,const oxi_shunt_cut*c,int i,int64_t piece,oxi_shunt_operand*o){if(!o->item)return true;
ox_tensor t=oxi_shunt_piece(c,i,piece);o->dims=(int64_t*)oxi_shunt_node_memory(s,2*(size_t)t.ndim*sizeof*o->dims);
if(!o->dims)return false;
o->ndim=(int8_t)t.ndim;memcpy(o->dims,t.shape,(size_t)t.ndim*sizeof*o->dims);
memcpy(o->dims+t.ndim,t.stride,(size_t)t.ndim*sizeof*o->dims);o->offset=t.offset;if(o->item->part){
const ox_dtype_info*info=oxi_info(t.dtype);const oxi_shunt_item*item=o->item;int64_t range[2];oxi_shunt_reach(&t,range);
int64_t part=oxi_shunt_part_at(item->cut_ends,item->cut_count,range[0]);int64_t begin=part>0?item->cut_ends[part-1]:0;
o->offset-=begin/info->block_bytes*info->block_elements;o->item=item->part[part];}
bool goes_on=piece>0&&oxi_plan_is_result(i)&&c->plan.space.dim[i][c->dim]<0;o->covers=oxi_shunt_covers(&t,o->item)&&!goes_on;return true;
}
static bool oxi_shunt_piece_push(ox_shunt*s,oxi_shunt_cut*c,const oxi_shunt_node*node,int64_t piece){
size_t operands=(size_t)(node->in_count+node->out_count);oxi_shunt_node*made=(oxi_shunt_node*)oxi_shunt_node_memory(s,sizeof*made);
oxi_attrs*attr=(oxi_attrs*)oxi_shunt_node_memory(s,sizeof*attr);
oxi_shunt_operand*list=(oxi_shunt_operand*)oxi_shunt_node_memory(s,operands*sizeof*list);
oxi_part*told=(oxi_part*)oxi_shunt_node_memory(s,sizeof*told);if(!made||!attr||!list||!told)return false;
int64_t start[OX_MAX_DIMS]={0};start[c->dim]=piece>0?c->rows[piece-1]:0;*told=oxi_plan_tell(&c->plan,start);*made=*node;
*attr=*node->attr;made->attr=attr;made->operand=list;made->told=told;memcpy(list,node->operand,operands*sizeof*list);
for(size_t k=0;k<operands;k++){int i=k<(size_t)node->in_count?(int)k:OXI_PLAN_OUT+(int)k-node->in_count;
if(!oxi_shunt_piece_operand(s,c,i,piece,&list[k]))return false;}
const oxi_shunt_operand*out=&list[node->in_count];if(oxi_op_row_of(node->op)->family==OXI_FAMILY_FILL)
attr->shape.shape=ox_shape_from(out->ndim,out->dims);
if(!oxi_shunt_cut_push(s,made))return false;
for(size_t k=0;k<operands;k++)
if(list[k].item)list[k].item->pending++;
return true;}
static ox_status oxi_shunt_cut_list(ox_shunt*s,oxi_shunt_node*const*nodes,int64_t from,int64_t end,oxi_shunt_cut*cuts,int64_t*upto){
ox_status status=OX_OK;for(int64_t n=from;n<end&&status==OX_OK;n++)status=oxi_shunt_arrange(s,nodes[n]);
for(int64_t n=from;n<end&&status==OX_OK;n++){bool pushed=true;
if(!cuts||cuts->node!=n){pushed=oxi_shunt_cut_push(s,nodes[n]);
*upto=n+pushed;}else{for(int64_t k=0;k<cuts->pieces&&pushed;k++)
pushed=oxi_shunt_piece_push(s,cuts,nodes[n],k);
oxi_shunt_node_over(s,nodes[n]);*upto=n+1;cuts=cuts->next;}
if(!pushed)status=OX_ERR_NOMEM;}
return status;}
static ox_status oxi_shunt_step(ox_shunt*s);static void oxi_shunt_note_whole(const ox_shunt*s,oxi_shunt_node*const*nodes,int64_t count){
for(int64_t k=0;k<count;k++){bool composite;
if(oxi_shunt_is_cut_node(s,nodes[k],&composite))continue;
for(int i=0;i<nodes[k]->in_count+nodes[k]->out_count;i++)
if(nodes[k]->operand[i].item)nodes[k]->operand[i].item->whole_at=s->cut_from+k+1;}}
static bool oxi_shunt_cuts_less(ox_shunt*s,bool clean,ox_status status){
if(status!=OX_ERR_NOMEM||!clean||s->cuts_least||s->node_count>0)return false;
ox_error_clear();return s->cuts_least=true;}
static ox_status oxi_shunt_step_cut(ox_shunt*s){oxi_shunt_node**nodes=s->nodes;size_t room=s->node_room;
int64_t count=s->node_count,from=0,first=s->cut_from;ox_status status=OX_OK;bool clean=ox_error()==OX_OK;s->nodes=NULL;s->node_room=0;
oxi_shunt_note_whole(s,nodes,count);while(from<count&&status==OX_OK){oxi_shunt_cut*cuts;
bool far;s->cut_from=first+from;int64_t end=oxi_shunt_cut_some(s,nodes,from,count,&cuts,&far);s->node_count=0;if(far){
status=oxi_shunt_far_run(s,nodes[from]);if(status==OX_OK)oxi_shunt_node_over(s,nodes[from++]);
continue;}
status=oxi_shunt_cut_list(s,nodes,from,end,cuts,&from);if(status==OX_OK)
status=oxi_shunt_step(s);
else if(oxi_shunt_cuts_less(s,clean,status))
status=OX_OK;
else
oxi_shunt_drop_nodes(s);}
s->cut_from=first+count;oxi_shunt_not_run(nodes,from,count);for(;from<count;from++)oxi_shunt_node_over(s,nodes[from]);
oxi_free(s->nodes,s->node_room*sizeof*s->nodes);s->nodes=nodes;s->node_room=room;s->node_count=count;return status;}
/* >>stream/shunt/over.c */
static bool oxi_shunt_is_blank(const oxi_shunt_item*item){
return!item->held&&!item->valid&&!item->failed&&!item->part&&!oxi_shunt_has_copy(item);}
static bool oxi_shunt_lies_alike(const oxi_shunt_operand*a,const oxi_shunt_operand*out){
return a->dtype==out->dtype&&a->ndim==out->ndim&&a->offset==out->offset&&a->covers&&a->item->bytes==out->item->bytes&&
memcmp(a->dims,out->dims,2*(size_t)out->ndim*sizeof*out->dims)==0;}
static oxi_shunt_item*oxi_shunt_find_over(const ox_shunt*s,int64_t n){const oxi_shunt_node*node=s->nodes[n];
const oxi_shunt_operand*out=&node->operand[node->in_count];oxi_family family=oxi_op_row_of(node->op)->family;
oxi_shunt_item*item=out->item,*old=NULL;bool elementwise=family==OXI_FAMILY_MAP||family==OXI_FAMILY_CHAIN;
if(!elementwise||node->out_count!=1||!item||!out->covers)return NULL;
if(item->valid||item->part||oxi_shunt_has_copy(item)||item->first_at<n)return NULL;
for(int i=0;i<node->in_count&&!old;i++){const oxi_shunt_operand*o=&node->operand[i];
if(o->item&&oxi_shunt_is_blank(o->item)&&oxi_shunt_lies_alike(o,out))old=o->item;}
for(int i=0;i<node->in_count&&old;i++)
if(node->operand[i].item==old&&!oxi_shunt_lies_alike(&node->operand[i],out))return NULL;
return old&&old->last_at<=n?old:NULL;}
static void oxi_shunt_write_over(ox_shunt*s,oxi_shunt_item*old,int64_t n){
oxi_shunt_operand*out=&s->nodes[n]->operand[s->nodes[n]->in_count];oxi_shunt_item*item=out->item;int64_t first=old->first_at;
for(int64_t k=first;k<=n;k++)
for(int i=0;i<s->nodes[k]->in_count+s->nodes[k]->out_count;i++){oxi_shunt_operand*o=&s->nodes[k]->operand[i];
if(o->item!=old)continue;
o->item=item;item->pending++;old->pending--;}
out->over=true;item->first_at=first;item->all_f32=item->all_f32&&old->all_f32;oxi_shunt_item_settle(s,old);}
static void oxi_shunt_note_uses(const ox_shunt*s){for(int64_t n=0;n<s->node_count;n++){
const oxi_shunt_node*last=s->nodes[n],*first=s->nodes[s->node_count-1 -n];for(int i=0;i<last->in_count+last->out_count;i++)
if(last->operand[i].item)last->operand[i].item->last_at=n;
for(int i=0;i<first->in_count+first->out_count;i++)
if(first->operand[i].item)first->operand[i].item->first_at=s->node_count-1 -n;}}
static void oxi_shunt_write_all_over(ox_shunt*s){bool noted=false;for(int64_t n=0;n<s->node_count;n++){
if(!oxi_shunt_is_too_large(s,s->nodes[n]))continue;
if(!noted)oxi_shunt_note_uses(s);
noted=true;oxi_shunt_item*old=oxi_shunt_find_over(s,n);if(old)oxi_shunt_write_over(s,old,n);}}
/* >>stream/shunt/device.c */
static ox_status oxi_shunt_step(ox_shunt*s){bool planned=false;ox_status status=OX_OK;
if(oxi_shunt_is_planned(s)&&!s->desc.eager)status=oxi_shunt_step_planned(s,&planned);
if(status==OX_OK&&!planned)
status=oxi_shunt_step_online(s);
else if(!planned)
oxi_shunt_drop_nodes(s);
return status;}
static ox_status oxi_shunt_flush(ox_shunt*s){ox_device*capture=oxi_capture;if(s->running||s->node_count==0)return OX_OK;
s->running=true;s->references++;oxi_capture=NULL;double start=oxi_now();
s->stats.steps++;s->stats.compute_seconds=s->stats.simulated_seconds=s->stats.bound_seconds=s->lanes_seconds=0;s->lanes_runs=0;
int64_t plans=s->plans_made;if(oxi_shunt_is_planned(s)){oxi_shunt_calibrate(s);
oxi_shunt_write_all_over(s);}
ox_status status=oxi_shunt_wants_cut(s)?oxi_shunt_step_cut(s):oxi_shunt_step(s);s->stats.wall_seconds=oxi_now()-start;
if(status==OX_OK&&s->lanes_runs>0&&plans==s->plans_made)
oxi_shunt_figure_note(&s->rates.around,s->stats.steps,s->stats.wall_seconds-s->lanes_seconds,(double)s->lanes_runs);
if(s->stats.bound_seconds<s->stats.compute_seconds)s->stats.bound_seconds=s->stats.compute_seconds;
s->stats.eta=s->stats.wall_seconds>0?s->stats.bound_seconds/s->stats.wall_seconds:0;oxi_shunt_nodes_free(s,false);
if(plans!=s->plans_made||s->stats.steps%OXI_SHUNT_STEPS_ASKED==1)oxi_shunt_give_back_cached(s);
oxi_capture=capture;s->running=false;s->references--;return status;}
static void oxi_shunt_region_released(void*user,void*data){oxi_shunt_item_released((ox_shunt*)user,(oxi_shunt_item*)data);}
static ox_status oxi_shunt_region(ox_device*self,const char*path,const oxi_file_id*id,size_t offset,size_t bytes,ox_storage**out){
ox_shunt*s=oxi_shunt_of(self);ox_storage*disk=NULL;ox_status status=oxi_shunt_enter(s);if(status!=OX_OK)return status;
status=oxi_shunt_stream_open(s);oxi_shunt_item*item=status==OX_OK?oxi_shunt_item_new(s,bytes,offset):NULL;
if(status==OX_OK&&!item)status=OX_ERR_NOMEM;
if(status==OX_OK){ox_device*stream=ox_stream_device(s->stream);
status=stream->region(stream,path,id,offset,bytes,&disk);}
if(status==OX_OK){item->disk=disk;
item->file=item->disk_valid=true;item->disk_bytes=bytes;*out=oxi_storage_borrow(self,item,bytes,oxi_shunt_region_released,s);
if(!*out)status=OX_ERR_NOMEM;}
if(status!=OX_OK&&item){item->held=false;
oxi_shunt_item_settle(s,item);}
oxi_stream_give(&s->lock);return status;}
static ox_status oxi_shunt_hold(ox_device*self,bool holds){ox_shunt*s=oxi_shunt_of(self);
if(!holds&&oxi_shunt_is_inherited(s))return OX_OK;
ox_status status=oxi_shunt_enter(s);if(status!=OX_OK)return status;
s->references++;if(holds){oxi_stream_give(&s->lock);
return OX_OK;}
s->references--;oxi_shunt_release(s);return OX_OK;}
static void oxi_shunt_statistics(ox_device*self,ox_device_stats*out){ox_shunt*s=oxi_shunt_of(self);if(oxi_shunt_is_inherited(s))return;
oxi_stream_take(&s->tiers);out->bytes_in_use=s->stats.device_bytes;out->bytes_peak=s->stats.device_peak;
out->bytes_reserved=s->arena?s->desc.device_bytes:s->stats.device_bytes;out->bytes_budget=s->desc.device_bytes;
oxi_stream_give(&s->tiers);}
static ox_status oxi_shunt_budget(ox_device*self,uint64_t bytes){ox_shunt*s=oxi_shunt_of(self);
return oxi_fail(OX_ERR_UNSUPPORTED,"%s: its budgets are those that it was opened with, not %llu bytes",
s->name,(unsigned long long)bytes);}
static bool oxi_shunt_bytes_of(const char*text,uint64_t*out){char*end;double number=strtod(text,&end);
const char*letters="KMG",*letter=*end?strchr(letters,*end):NULL;if(letter&&*letter&&end>text){
for(const char*l=letters;l<=letter;l++)number*=1024;
end++;}
if(end==text||*end||!(number>=0)||number>9e18||(number>0&&number<1))return false;
*out=(uint64_t)number;return true;}
static ox_status oxi_shunt_environment(ox_shunt_desc*desc){const struct{const char*name;uint64_t*bytes;
}budgets[3]={{"OX_SHUNT_DEVICE_BYTES",&desc->device_bytes},{"OX_SHUNT_HOST_BYTES",&desc->host_bytes},
{"OX_SHUNT_DISK_BYTES",&desc->disk_bytes}};
for(int i=0;i<3;i++){const char*text=getenv(budgets[i].name);
if(!text||!*text||*budgets[i].bytes)continue;
if(!oxi_shunt_bytes_of(text,budgets[i].bytes))
return oxi_fail(OX_ERR_ARG,"shunt_open: %s=%.40s is no number of bytes",budgets[i].name,text);}
const char*eager=getenv("OX_SHUNT_EAGER");if(!desc->spill)desc->spill=getenv("OX_SHUNT_SPILL");
if(!desc->trace)desc->trace=getenv("OX_SHUNT_TRACE");
if(desc->trace&&!*desc->trace)desc->trace=NULL;
bool is_number=!eager||!*eager||strcmp(eager,"0")==0||strcmp(eager,"1")==0;
if(!is_number)return oxi_fail(OX_ERR_ARG,"shunt_open: OX_SHUNT_EAGER=%.40s is neither 0 nor 1",eager);
if(eager&&*eager=='1')desc->eager=true;
return OX_OK;}
static ox_status oxi_shunt_check_choices(const ox_shunt_desc*desc){
const unsigned classes=OX_COMPRESS_WEIGHTS|OX_COMPRESS_ACTIVATIONS|OX_COMPRESS_STATE|OX_COMPRESS_ALWAYS;
if((unsigned)desc->recompute>OX_RECOMPUTE_EXACT)
return oxi_fail(OX_ERR_ARG,"shunt_open: recompute %d is none",(int)desc->recompute);
if((unsigned)desc->compression>OX_COMPRESSION_Q4)
return oxi_fail(OX_ERR_ARG,"shunt_open: compression %d is none",(int)desc->compression);
if(desc->compress&~classes)
return oxi_fail(OX_ERR_ARG,"shunt_open: compress 0x%x has classes that there are not",desc->compress);
if(desc->compression!=OX_COMPRESSION_NONE&&(desc->compress&~(unsigned)OX_COMPRESS_ALWAYS)==0)
return oxi_fail(OX_ERR_ARG,"shunt_open: compression of nothing: compress wants OX_COMPRESS_...");
if(!(desc->search_seconds>=0&&desc->search_seconds<=DBL_MAX))
return oxi_fail(OX_ERR_ARG,"shunt_open: a search of %g seconds",desc->search_seconds);
return OX_OK;}
static ox_status oxi_shunt_describe(ox_shunt_desc*desc){ox_status status=oxi_shunt_environment(desc);
if(status==OX_OK)status=oxi_shunt_check_choices(desc);
if(status!=OX_OK)return status;
if(!desc->compute)desc->compute=ox_cpu();
if(desc->compute->partner||desc->compute->hold)
return oxi_fail(OX_ERR_ARG,"shunt_open: %s leaves computing to others",desc->compute->name);
if(desc->device_bytes>SIZE_MAX/4)
return oxi_fail(OX_ERR_ARG,"shunt_open: a budget of %llu bytes",(unsigned long long)desc->device_bytes);
if(desc->device_bytes>0&&desc->device_bytes<16*OXI_SHUNT_PAGE)
return oxi_fail(OX_ERR_ARG,"shunt_open: a budget of %llu bytes is less than %d",
(unsigned long long)desc->device_bytes,16*OXI_SHUNT_PAGE);
if(desc->host_bytes==0&&!desc->compute->host)desc->host_bytes=oxi_available_memory()/2;
if(!desc->spill||!*desc->spill)desc->spill=oxi_stream_temporary();
return OX_OK;}
static void oxi_shunt_capture_leave(void){ox_shunt*s=oxi_capture?oxi_shunt_of(oxi_capture):NULL;oxi_capture=NULL;
if(!s||oxi_shunt_is_inherited(s))return;
oxi_stream_take(&s->lock);s->captures--;oxi_shunt_release(s);}
static ox_status oxi_shunt_close_device(ox_device*self){ox_shunt*s=oxi_shunt_of(self);if(oxi_shunt_is_inherited(s))return OX_OK;
if(oxi_capture==self)oxi_shunt_capture_leave();
oxi_stream_take(&s->lock);if(s->captures==0){oxi_shunt_drop_nodes(s);
oxi_shunt_nodes_free(s,false);}
s->closed=true;oxi_shunt_release(s);return OX_OK;}
static void oxi_shunt_make_device(ox_shunt*s){static int64_t counter;ox_device*device=&s->device;
(void)snprintf(s->name,sizeof s->name,"shunt:%lld",(long long)oxi_atomic_add(&counter,1)-1);device->name=s->name;
device->alloc=oxi_shunt_alloc;device->free=oxi_shunt_give_back;device->read=oxi_shunt_read;device->write=oxi_shunt_write;
device->copy=oxi_shunt_copy;device->supports=oxi_shunt_supports;device->run=oxi_shunt_run;device->sync=oxi_shunt_sync;
device->close=oxi_shunt_close_device;device->state=s;device->like_cpu=s->compute->host;device->times_calls=true;
device->region=oxi_shunt_region;device->hold=oxi_shunt_hold;device->statistics=oxi_shunt_statistics;device->budget=oxi_shunt_budget;}
static void oxi_shunt_divide(ox_shunt*s){uint64_t all=s->desc.device_bytes/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE;
const uint64_t most=(uint64_t)(s->compute->host?64:32)<<20;uint64_t shared=all/16<most?all/16:most;s->desc.device_bytes=all;
s->main_bytes=all-shared/OXI_SHUNT_PAGE*OXI_SHUNT_PAGE;s->small_most=shared/64/OXI_SHUNT_ALIGN*OXI_SHUNT_ALIGN;}
static char*oxi_shunt_text(const char*text,size_t*bytes){*bytes=strlen(text)+1;char*copy=(char*)oxi_alloc(*bytes);
if(copy)memcpy(copy,text,*bytes);
return copy;}
static void oxi_shunt_free(ox_shunt*s){oxi_shunt_ahead_end(s);oxi_shunt_crew_close(s);
if(oxi_shunt_trace_write(s)!=OX_OK)oxi_log(OX_LOG_ERROR,"%s: no trace",s->name);
for(int i=0;i<OXI_SHUNT_PLANS;i++)oxi_shunt_plan_free(s->plans[i]);
oxi_shunt_nodes_free(s,true);oxi_free(s->nodes,s->node_room*sizeof*s->nodes);oxi_free(s->table,s->table_room*sizeof*s->table);
for(int part=0;part<2;part++)
oxi_free(s->resident[part].item,s->resident[part].room*sizeof(oxi_shunt_item*));
oxi_free(s->spans,s->span_room*sizeof*s->spans);for(int k=0;k<2;k++)oxi_shunt_ring_drop(s,k);
oxi_shunt_kept_trim(s,0);oxi_free(s->kept,s->kept_room*sizeof*s->kept);
if(s->arena)s->compute->free(s->compute,s->arena,(size_t)s->desc.device_bytes);
if(s->stream)(void)ox_device_close(ox_stream_device(s->stream));
oxi_free(s->spill,s->spill_bytes);oxi_free(s->trace_path,s->trace_bytes);oxi_free(s,sizeof*s);}
OX_API ox_shunt*ox_shunt_open(const ox_shunt_desc*desc){ox_shunt_desc filled;memset(&filled,0,sizeof filled);if(desc)filled=*desc;
if(oxi_shunt_describe(&filled)!=OX_OK)return NULL;
ox_shunt*s=(ox_shunt*)oxi_calloc(1,sizeof*s);if(!s)return NULL;
#ifndef OX_NO_THREADS
static const oxi_mutex open_mutex=OXI_MUTEX_OPEN;
s->lock=s->tiers=s->opening=open_mutex;
#endif
s->references=1;
s->forks=oxi_forks();s->desc=filled;s->compute=filled.compute;s->items.next=s->items.previous=&s->items;s->origin=oxi_now();
oxi_shunt_divide(s);oxi_shunt_make_device(s);s->spill=oxi_shunt_text(filled.spill,&s->spill_bytes);
if(filled.trace)s->trace_path=oxi_shunt_text(filled.trace,&s->trace_bytes);
if(s->spill&&(!filled.trace||s->trace_path))return s;
oxi_shunt_free(s);return NULL;}
OX_API ox_device*ox_shunt_device(ox_shunt*shunt){if(!shunt)(void)oxi_fail_missing("shunt_device: the shunt");
return shunt?&shunt->device:NULL;}
OX_API ox_status ox_shunt_close(ox_shunt*shunt){return shunt?oxi_shunt_close_device(&shunt->device):OX_OK;}
OX_API ox_status ox_capture_begin(ox_shunt*shunt){if(!shunt)return oxi_fail_missing("capture_begin: the shunt");
ox_status status=oxi_shunt_enter(shunt);if(status!=OX_OK)return status;
shunt->references++;shunt->captures++;oxi_stream_give(&shunt->lock);oxi_shunt_capture_leave();oxi_capture=&shunt->device;return OX_OK;}
OX_API ox_status ox_capture_end(ox_shunt*shunt){if(!shunt)return oxi_fail_missing("capture_end: the shunt");
ox_device*capture=oxi_capture;bool own=capture==&shunt->device;if(own)oxi_capture=NULL;
ox_status status=oxi_shunt_sync(&shunt->device);if(!own)return status;
oxi_capture=capture;oxi_shunt_capture_leave();return status;}
OX_API ox_shunt_stats ox_shunt_get_stats(ox_shunt*shunt){ox_shunt_stats stats;memset(&stats,0,sizeof stats);
if(!shunt||oxi_shunt_is_inherited(shunt))return stats;
oxi_stream_take(&shunt->lock);oxi_stream_take(&shunt->tiers);stats=shunt->stats;oxi_stream_give(&shunt->tiers);if(shunt->stream){
ox_device_stats disk=ox_device_get_stats(ox_stream_device(shunt->stream));stats.disk_bytes=disk.bytes_in_use;
stats.disk_peak=disk.bytes_peak;}
oxi_stream_give(&shunt->lock);return stats;}
#endif
