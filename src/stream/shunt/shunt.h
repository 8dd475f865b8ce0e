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
