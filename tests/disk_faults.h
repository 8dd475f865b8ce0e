/* disk_faults.h - faults of every n-th transfer of a disk, for the `fault` hook of streams and shunts. */
#ifndef OX_TESTS_DISK_FAULTS_H
#define OX_TESTS_DISK_FAULTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum fault_kind {
    FAULT_ERROR,
    FAULT_END,
    FAULT_SHORT,
    FAULT_INTERRUPT,
    FAULT_NO_ROOM,
    FAULT_KINDS
} fault_kind;

/* One word, for transfers fly while a test goes on, and lanes ask for it at once: kind + FAULT_KINDS * every;
 * every 0 = none. */
typedef int64_t fault;

static void set_fault(fault *f, int kind, int64_t every) {
    __atomic_store_n(f, kind + FAULT_KINDS * every, __ATOMIC_RELEASE);
}

static int64_t fault_at(void *user, int64_t number, int64_t bytes) {
    const int64_t f = __atomic_load_n((const fault *)user, __ATOMIC_ACQUIRE), every = f / FAULT_KINDS;
    if (every == 0 || number % every != 0) return bytes;
    switch ((fault_kind)(f % FAULT_KINDS)) {
    case FAULT_ERROR: return -EIO;
    case FAULT_END: return 0;
    case FAULT_INTERRUPT: return number % 3 ? -EINTR : -EAGAIN;
    case FAULT_NO_ROOM: return -ENOSPC;
    default: return number % 2 ? (bytes + 1) / 2 : (bytes + 4096) / 8192 * 4096 + 1;
    }
}

/* Transfers that are done again must be all that a fault costs. */
static bool is_harmless(int kind, int64_t every) {
    return kind == FAULT_SHORT || (kind == FAULT_INTERRUPT && every > 1);
}

#endif
