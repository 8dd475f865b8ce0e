/* Where memory comes from: allocator hooks, the cache in front of them, a fixed arena, counters.
 * Blocks are 64-byte aligned; freed blocks are kept for reuse, so a steady loop asks the system for nothing.
 * Used by storages, tensors and every scratch buffer. */
#ifndef OX_BASE_MEMORY_H
#define OX_BASE_MEMORY_H

OX_EXTERN_C_BEGIN

/* alloc returns at least `bytes` bytes aligned to 64, or NULL; free gets the same `bytes`. Both may be called
 * from any thread. */
typedef struct ox_allocator {
    void *(*alloc)(void *user, size_t bytes);
    void (*free)(void *user, void *memory, size_t bytes);
    void *user;
} ox_allocator;

/* ox_set_allocator - all memory from now on comes from `allocator` (copied); NULL restores the system's.
 * errors   OX_ERR_ARG while tensors are alive: memory must go back to where it came from */
OX_API ox_status ox_set_allocator(const ox_allocator *allocator);

/* ox_set_arena - use only the `bytes` bytes at `memory` (borrowed, for embedded programs): nothing is asked
 * of the system, a full arena is OX_ERR_NOMEM. NULL restores the system's allocator.
 * errors   OX_ERR_ARG while tensors are alive */
OX_API ox_status ox_set_arena(void *memory, size_t bytes);

/* ox_trim - gives every cached block back to the system, also what was pinned for a device. */
OX_API void ox_trim(void);

typedef struct ox_memory_stats {
    int64_t tensors;         /* alive now */
    int64_t storages;        /* alive now */
    int64_t tensors_made;    /* since the start */
    int64_t calls;           /* ops run since the start */
    int64_t detours;         /* calls that a device handed to the CPU */
    int64_t bad_releases;    /* ox_release of a tensor that was already gone */
    int64_t system_allocs;   /* requests that reached the allocator hooks */
    size_t bytes_in_use;     /* handed out now */
    size_t bytes_peak;       /* the most ever handed out */
    size_t bytes_cached;     /* freed, kept for reuse */
    size_t bytes_cached_pinned; /* the same, still pinned for a device (beside bytes_cached) */
    int64_t pins;            /* blocks that devices pinned since the start; others came from that cache */
} ox_memory_stats;

OX_API ox_memory_stats ox_memory_get_stats(void);
/* Sets bytes_peak to bytes_in_use. */
OX_API void ox_memory_reset_peak(void);

OX_EXTERN_C_END
#endif
