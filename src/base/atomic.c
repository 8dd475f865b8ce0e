/* 64-bit atomics and the short lock made of them.
 * Read-modify-write is sequentially consistent, so "announce, then look" protocols (base/threads.c) hold.
 * Processors without a 64-bit compare-and-swap share one byte lock. */

/* A hint for spin loops that another thread is awaited. */
static inline void oxi_pause(void) {
#if defined(_MSC_VER) && !defined(__clang__)
    YieldProcessor();
#elif defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7)
    __asm__ volatile("yield" ::: "memory");
#endif
}

static inline void oxi_yield(void) {
#if defined(_WIN32)
    SwitchToThread();
#elif defined(OXI_POSIX)
    sched_yield();
#endif
}

#if defined(_MSC_VER) && !defined(__clang__)

OXI_SMALL int64_t oxi_atomic_load(const int64_t *p) {
    return InterlockedCompareExchange64((volatile LONG64 *)(intptr_t)p, 0, 0);
}

OXI_SMALL void oxi_atomic_store(int64_t *p, int64_t value) {
    InterlockedExchange64((volatile LONG64 *)p, value);
}

OXI_SMALL int64_t oxi_atomic_add(int64_t *p, int64_t delta) {
    return InterlockedExchangeAdd64((volatile LONG64 *)p, delta) + delta;
}

OXI_SMALL bool oxi_atomic_cas(int64_t *p, int64_t expected, int64_t desired) {
    return InterlockedCompareExchange64((volatile LONG64 *)p, desired, expected) == expected;
}

#elif __GCC_ATOMIC_LLONG_LOCK_FREE == 2

OXI_SMALL int64_t oxi_atomic_load(const int64_t *p) {
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

OXI_SMALL void oxi_atomic_store(int64_t *p, int64_t value) {
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
}

OXI_SMALL int64_t oxi_atomic_add(int64_t *p, int64_t delta) {
    return __atomic_add_fetch(p, delta, __ATOMIC_SEQ_CST);
}

OXI_SMALL bool oxi_atomic_cas(int64_t *p, int64_t expected, int64_t desired) {
    return __atomic_compare_exchange_n(p, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE);
}

#else

static unsigned char oxi_atomic_byte;

static void oxi_atomic_enter(void) {
    while (__atomic_test_and_set(&oxi_atomic_byte, __ATOMIC_SEQ_CST)) oxi_yield();
}

static void oxi_atomic_leave(void) { __atomic_clear(&oxi_atomic_byte, __ATOMIC_SEQ_CST); }

OXI_SMALL int64_t oxi_atomic_load(const int64_t *p) {
    int64_t value;
    oxi_atomic_enter();
    value = *p;
    oxi_atomic_leave();
    return value;
}

OXI_SMALL void oxi_atomic_store(int64_t *p, int64_t value) {
    oxi_atomic_enter();
    *p = value;
    oxi_atomic_leave();
}

OXI_SMALL int64_t oxi_atomic_add(int64_t *p, int64_t delta) {
    int64_t value;
    oxi_atomic_enter();
    value = *p += delta;
    oxi_atomic_leave();
    return value;
}

OXI_SMALL bool oxi_atomic_cas(int64_t *p, int64_t expected, int64_t desired) {
    bool same;
    oxi_atomic_enter();
    same = *p == expected;
    if (same) *p = desired;
    oxi_atomic_leave();
    return same;
}

#endif

/* Over a fork: where atomics share a byte, no other thread is in the middle of one. */
#if (defined(_MSC_VER) && !defined(__clang__)) || __GCC_ATOMIC_LLONG_LOCK_FREE == 2
OXI_UNUSED static void oxi_atomics_hold(void) {}
OXI_UNUSED static void oxi_atomics_let_go(void) {}
#else
OXI_UNUSED static void oxi_atomics_hold(void) { oxi_atomic_enter(); }
OXI_UNUSED static void oxi_atomics_let_go(void) { oxi_atomic_leave(); }
#endif

OXI_SMALL bool oxi_lock_try(oxi_lock *lock) {
    return oxi_atomic_load(&lock->state) == 0 && oxi_atomic_cas(&lock->state, 0, 1);
}

/* Somebody has it. */
OXI_UNUSED static void oxi_lock_await(oxi_lock *lock) {
    int tries;
    for (tries = 0; !oxi_lock_try(lock); tries++) {
        if (tries < 64) {
            oxi_pause();
        } else {
            oxi_yield();
        }
    }
}

OXI_SMALL void oxi_lock_take(oxi_lock *lock) {
    if (!oxi_lock_try(lock)) oxi_lock_await(lock);
}

OXI_SMALL void oxi_lock_give(oxi_lock *lock) { oxi_atomic_store(&lock->state, 0); }
