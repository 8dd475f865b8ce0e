/* fork copies the calling thread alone. The table has every lock whose data outlives that, in the order in
 * which they may be taken: fork takes all of them, and the child gets them open, around whole data. What
 * belongs to threads is made anew, or refused (base/internal.h). Included last: it knows the locks of all
 * rooms. */

#if defined(OXI_POSIX) && !defined(OX_NO_THREADS)

/* Outermost first: whoever holds one takes only such as stand behind it. The repacked weights' come
 * before. */
static oxi_lock *const oxi_fork_locks[] = {
    &oxi_tiers_lock,  &oxi_cpu_lock,
#ifndef OX_NO_IQ
    &oxi_groups_lock,
#endif
#ifndef OX_NO_STDIO
    &oxi_format_lock,
#endif
#ifndef OX_NO_FFT
    &oxi_fft_lock,
#endif
    &oxi_listener_lock, &oxi_panels_lock, &oxi_header_lock, &oxi_profile_lock,
    &oxi_host_lock,   &oxi_memory_lock, &oxi_log_lock,
};
enum { OXI_FORK_LOCKS = (int)(sizeof oxi_fork_locks / sizeof *oxi_fork_locks), OXI_FORK_HOOKS = 8 };

static void (*oxi_fork_hooks[OXI_FORK_HOOKS])(void); /* guarded by the memory lock */
static int64_t oxi_fork_count;                       /* atomic */

static void oxi_before_fork(void) {
    oxi_repacks_before_fork();
    for (int i = 0; i < OXI_FORK_LOCKS; i++) oxi_lock_take(oxi_fork_locks[i]);
    oxi_atomics_hold();
}

static void oxi_after_fork(void) {
    oxi_atomics_let_go();
    for (int i = OXI_FORK_LOCKS - 1; i >= 0; i--) oxi_lock_give(oxi_fork_locks[i]);
    oxi_lock_give(&oxi_repacks.lock);
}

static void oxi_after_fork_in_child(void) {
    oxi_repacks_in_child();
    oxi_after_fork();
    oxi_pool_forget();
    (void)oxi_atomic_add(&oxi_fork_count, 1);
    for (int i = 0; i < OXI_FORK_HOOKS && oxi_fork_hooks[i]; i++) oxi_fork_hooks[i]();
}

static void oxi_watch_fork(void) {
    static int64_t watching;
    if (oxi_atomic_load(&watching) != 0 || !oxi_atomic_cas(&watching, 0, 1)) return;
    if (pthread_atfork(oxi_before_fork, oxi_after_fork, oxi_after_fork_in_child) != 0)
        oxi_atomic_store(&watching, 0);
}

OXI_UNUSED static void oxi_on_fork(void (*in_child)(void)) {
    int i = 0;
    oxi_watch_fork();
    oxi_lock_take(&oxi_memory_lock);
    while (i < OXI_FORK_HOOKS && oxi_fork_hooks[i] && oxi_fork_hooks[i] != in_child) i++;
    if (i < OXI_FORK_HOOKS) oxi_fork_hooks[i] = in_child;
    oxi_lock_give(&oxi_memory_lock);
}

OXI_UNUSED static int64_t oxi_forks(void) {
    return oxi_atomic_load(&oxi_fork_count);
}

#else

/* Without threads no lock is held by another; without fork nothing is copied. */
static void oxi_watch_fork(void) {}
OXI_UNUSED static void oxi_on_fork(void (*in_child)(void)) {
    (void)in_child;
}

OXI_UNUSED static int64_t oxi_forks(void) {
#if defined(OXI_POSIX)
    return (int64_t)getpid();
#else
    return 0;
#endif
}

#endif
