/* What the rooms above use of base/: failing with words, sizes, memory, threads, atomics, files, clock.
 * One page, so that nobody writes a second helper beside an existing one.
 * Included by every implementation part. */
/* WORDS OF THIS ROOM
 *     room, part     a folder of src/; an .h or .c file in one. A room uses only those before it in
 *                    src/oxtorch.h
 *     to fail        to record the thread's first error and return its status (oxi_fail)
 *     region, task   one oxi_parallel_for; one index of it, done once, by any thread
 *     lane           which of the threads that work on a region at the same time: an index of scratch memory
 *     block          memory from oxi_alloc; freed ones are cached and handed out again
 *     arena          a fixed block that all memory comes from (ox_set_arena)
 *     mapping        the bytes of a file as addresses: mapped by the system, or read into memory
 *     file id        what tells a file from another, and from itself before it was written to */
#ifndef OX_BASE_INTERNAL_H
#define OX_BASE_INTERNAL_H

#ifndef OX_ASSERT
#define OX_ASSERT(condition) ((void)0)
#endif

/* For functions of a few instructions: the parts compiled with fewer passes inline nothing unasked. */
#if defined(__GNUC__) || defined(__clang__)
#define OXI_SMALL static inline __attribute__((always_inline, unused))
#else
#define OXI_SMALL static inline
#endif

/* ---- errors -------------------------------------------------------------------------------------------- */

/* Records the thread's first error, logs it, and returns `status`. format is printf's. */
static ox_status oxi_fail(ox_status status, const char *format, ...) OXI_PRINTF(2, 3);
/* The same, for functions that return a tensor: always NULL. */
#define OXI_FAIL_NULL(...) ((void)oxi_fail(__VA_ARGS__), (ox_tensor *)NULL)
/* For an argument that is NULL: it comes from an earlier failure, whose error stands; if there is none,
 * "`what` is NULL" is the error. Returns it. */
static ox_status oxi_fail_missing(const char *what);
static void oxi_log(ox_log_level level, const char *format, ...) OXI_PRINTF(2, 3);
/* Until the end, errors of this thread are told in the name of the function that the caller named, through
 * whatever functions it works: "slice: .." within narrow becomes "narrow: ..". The outermost name holds; the
 * path of a file that is read is such a name too (oxi_speak_for_file). In place: the name is told with a "_".
 * oxi_speak says whether it is this one, oxi_speak_end takes that answer. */
static bool oxi_speak(const char *name);
static bool oxi_speak_for(const char *name, bool in_place);
static void oxi_speak_end(bool speaks);

/* ---- checked sizes: false when the result does not fit ------------------------------------------------- */

OXI_SMALL bool oxi_mul_size(size_t a, size_t b, size_t *out);
OXI_SMALL bool oxi_add_size(size_t a, size_t b, size_t *out);
OXI_SMALL bool oxi_mul_i64(int64_t a, int64_t b, int64_t *out);
OXI_SMALL bool oxi_add_i64(int64_t a, int64_t b, int64_t *out);

/* ---- memory -------------------------------------------------------------------------------------------- */

#define OXI_ALIGN 64
/* 64-byte aligned, not cleared; NULL and OX_ERR_NOMEM when there is none. bytes 0 gives a valid block. */
static void *oxi_alloc(size_t bytes);
static void *oxi_calloc(size_t count, size_t bytes_each);
/* Grows a block, keeping its first old_bytes; NULL leaves the old block as it was. */
static void *oxi_realloc(void *memory, size_t old_bytes, size_t new_bytes);
/* bytes as given to oxi_alloc; memory may be NULL. */
static void oxi_free(void *memory, size_t bytes);
/* oxi_alloc without recording an error, for callers that can do without. */
static void *oxi_try_alloc(size_t bytes);
/* The error of an oxi_try_alloc that nothing can take the place of. */
static ox_status oxi_fail_memory(size_t bytes);
/* The most that may be handed out and cached together; 0: no limit. Beyond it: as without memory. */
static void oxi_set_budget(size_t bytes);
static size_t oxi_budget(void);
/* give_back will be called, while no tensor is alive, by ox_shutdown and before memory comes from elsewhere:
 * for rooms that keep memory beyond the last tensor. Asking twice for the same function is harmless. */
static void oxi_on_memory_change(void (*give_back)(void));
/* A block of `bytes` is neither in use nor free from now on, or in use again: pinned and kept for reuse. */
static void oxi_block_kept(size_t bytes, bool kept);
/* give_back is called by ox_trim, which no room calls with a lock of its own. */
static void oxi_on_trim(void (*give_back)(void));

/* ---- atomics (gcc and clang builtins, Interlocked on MSVC; compile as C++ too) ------------------------- */

OXI_SMALL int64_t oxi_atomic_load(const int64_t *p);             /* acquire */
OXI_SMALL void oxi_atomic_store(int64_t *p, int64_t value);      /* release */
OXI_SMALL int64_t oxi_atomic_add(int64_t *p, int64_t delta);     /* returns the NEW value; acq_rel */
OXI_SMALL bool oxi_atomic_cas(int64_t *p, int64_t expected, int64_t desired);

/* ---- locks --------------------------------------------------------------------------------------------- */

typedef struct oxi_lock { int64_t state; } oxi_lock;          /* zero = open; spins briefly, then yields */
OXI_SMALL void oxi_lock_take(oxi_lock *lock);
OXI_SMALL void oxi_lock_give(oxi_lock *lock);

/* ---- fork ---------------------------------------------------------------------------------------------- */

/* What is shared by threads goes one of two ways over a fork (base/fork.c). Memory that a lock guards is
 * whole in the child: the lock is in the table there, and fork waits for it, so it is held for a moment
 * only. What lives in threads or in the kernel is the parent's alone: the pool is made anew, a stream and a
 * GPU's device notice by the two functions below, take no lock of their own any more, and are errors in
 * words. */

/* A number that is another one in a child. */
static int64_t oxi_forks(void);
/* in_child will be called in children. Asking twice for the same function is harmless. */
static void oxi_on_fork(void (*in_child)(void));
/* Before anything is made that threads share. */
static void oxi_watch_fork(void);

/* ---- threads ------------------------------------------------------------------------------------------- */

/* task(arg, index, lane): index in [0, count), each once; lane in [0, oxi_lanes(count)) tells concurrent
 * calls apart, so scratch can be set aside per lane before the region starts. A lane goes through a part of
 * the tasks in order, then helps with what is left of others. Inside a task, a nested call runs inline on
 * lane 0 of its own; a region's only task may use the pool. An error recorded in a task is the caller's
 * afterwards. Returns when all are done. */
typedef void (*oxi_lane_task)(void *arg, int64_t index, int lane);
static void oxi_parallel_for(int64_t count, oxi_lane_task task, void *arg);
/* How many lanes a region of `count` tasks may use from here: 1 inside a task. */
static int oxi_lanes(int64_t count);
/* memcpy by as many threads as it is worth. By the caller's alone where a host's job system does the work:
 * the caller may hold a lock that other jobs want. */
static void oxi_copy_bytes(void *to, const void *from, size_t bytes);

/* ---- files and clock ----------------------------------------------------------------------------------- */

static double oxi_now(void);                                  /* seconds, monotonic */
#ifndef OX_NO_STDIO
/* What tells files apart, and a file from itself before it was written to; zeros where nothing does. */
typedef struct oxi_file_id {
    uint64_t device, number;
    int64_t seconds, nanoseconds; /* of the last change of its bytes */
} oxi_file_id;
typedef struct oxi_mapping {
    const unsigned char *data;
    size_t bytes;
    void *handle;
    intptr_t file;               /* of a mapping in parts: what they are read from; data is NULL */
    oxi_file_id id;
} oxi_mapping;
/* Maps a whole file for reading (copy-on-write pages: a write does not reach the file), or reads it into
 * memory (copies). An empty file maps to bytes 0. Errors OX_ERR_IO with path and cause; directories are
 * refused. */
static ox_status oxi_map_file(const char *path, bool copies, oxi_mapping *out);
/* The same in parts: the file is open, and takes neither memory nor addresses; oxi_mapping_copy reads from
 * it. Systems without reads at an offset map the file. */
static ox_status oxi_map_parts(const char *path, oxi_mapping *out);
/* Bytes [at, at + bytes) of the file to `out`. Errors of one in parts: OX_ERR_IO, also when the file became
 * shorter or was written to since it was opened. */
static ox_status oxi_mapping_copy(const oxi_mapping *mapping, const char *path, size_t at, void *out,
                                  size_t bytes);
static bool oxi_mapping_is_in_parts(const oxi_mapping *mapping);
static void oxi_unmap_file(oxi_mapping *mapping);
#endif

/* ---- random: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3") --------- */

/* 64 bits that nobody can foresee: names of temporary files, keys of hash tables. Not for tensors. */
static uint64_t oxi_unpredictable(void);
/* SipHash-1-3: with a key of oxi_unpredictable nobody can choose texts whose hashes meet. */
static uint64_t oxi_keyed_hash(const uint64_t key[2], const void *data, size_t bytes);
/* Four 32-bit words for (key, counter): the same on every device. */
static void oxi_philox(uint64_t key, uint64_t counter_hi, uint64_t counter_lo, uint32_t out[4]);

#endif
