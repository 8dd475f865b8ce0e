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
