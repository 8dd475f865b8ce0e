/* The thread pool: regions of numbered tasks. Each thread goes through a part of them in order, as what lies
 * side by side in memory is read fastest by one thread, and then helps others with what is left of theirs.
 * One atomic word, the gate, tells idle threads that lanes are open; late threads simply find it closed.
 * One region has the pool at a time. A second caller begins its tasks alone, and opens what is left of them
 * to the pool as soon as that is free; a nested one does all of them alone. */

#define OXI_MAX_THREADS 256
#define OXI_MAX_PARTS 16 /* of a region; many threads share them */

typedef struct oxi_region_part {
    int64_t next; /* atomic: the task to hand out */
    int64_t end;
    char apart[OXI_ALIGN - 2 * sizeof(int64_t)]; /* next changes all the time: its cache line is its own */
} oxi_region_part;

typedef struct oxi_region {
    char before[OXI_ALIGN];
    oxi_region_part part[OXI_MAX_PARTS];
    int parts;
    oxi_lane_task task;
    void *arg;
    oxi_lock error_lock;
    oxi_error error;                 /* the first error of a thread that helped */
} oxi_region;

/* Regions of more than one lane that this thread began, by when they had the pool; the tests look at them. */
typedef struct oxi_region_counts {
    int64_t at_once, later, never;
} oxi_region_counts;

static OXI_THREAD_LOCAL bool oxi_in_task;
static OXI_THREAD_LOCAL int oxi_own_limit; /* threads that a call of this thread may use; 0 = all */
OXI_UNUSED static OXI_THREAD_LOCAL oxi_region_counts oxi_regions;

static int64_t oxi_wanted_threads;   /* atomic; 0 = not known yet */
static oxi_lock oxi_host_lock;       /* guards the next two */
static ox_parallel_for_fn oxi_host_parallel_for;
static void *oxi_host_user;

/* ---- how many ------------------------------------------------------------------------------------------ */

#if defined(__linux__) && !defined(OX_NO_THREADS) && !defined(OX_NO_STDIO)

/* The first line of a small file; false if there is none. */
static bool oxi_read_line(const char *folder, const char *group, const char *name, char *out, int room) {
    char path[768];
    int length = snprintf(path, sizeof path, "%s%s%s", folder, group, name);
    if (length < 0 || (size_t)length >= sizeof path) return false;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    bool ok = fgets(out, room, file) != NULL;
    fclose(file);
    return ok;
}

/* Threads that one control group's quota allows, rounded up; 0 = no limit. v2: cpu.max "quota period". */
static long oxi_quota_of(const char *folder, const char *group) {
    char line[64];
    long long quota = 0, period = 0;
    if (oxi_read_line(folder, group, "/cpu.max", line, (int)sizeof line)) {
        if (sscanf(line, "%lld %lld", &quota, &period) != 2) return 0;
    } else {
        if (!oxi_read_line(folder, group, "/cpu.cfs_quota_us", line, (int)sizeof line)) return 0;
        quota = atoll(line);
        if (!oxi_read_line(folder, group, "/cpu.cfs_period_us", line, (int)sizeof line)) return 0;
        period = atoll(line);
    }
    if (quota <= 0 || period <= 0) return 0;
    long long threads = (quota + period - 1) / period;
    return threads > OXI_MAX_THREADS ? OXI_MAX_THREADS : (long)threads;
}

/* The tightest quota from `group` (cut up) to the root; a container sees its own group as the root. */
static long oxi_quota_up(const char *folder, char *group, long least) {
    for (;;) {
        long quota = oxi_quota_of(folder, group);
        if (quota > 0 && quota < least) least = quota;
        char *slash = strrchr(group, '/');
        if (!slash) return least;
        *slash = 0;
    }
}

static long oxi_quota(void) {
    static const char *const folders[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu",
                                          "/sys/fs/cgroup/cpu,cpuacct"};
    long least = OXI_MAX_THREADS;
    char line[512], group[512];
    FILE *file = fopen("/proc/self/cgroup", "r");
    if (!file) return least;
    while (fgets(line, (int)sizeof line, file)) {    /* "number:controllers:/path"; v2: none */
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        controllers++;
        path[strcspn(path, "\n")] = 0;
        if (*controllers && strncmp(controllers, "cpu", 3) != 0) continue;
        for (int i = *controllers ? 2 : 0; i < (*controllers ? 4 : 2); i++) {
            strcpy(group, path);
            least = oxi_quota_up(folders[i], group, least);
        }
    }
    fclose(file);
    return least;
}

#else
OXI_UNUSED static long oxi_quota(void) { return OXI_MAX_THREADS; }
#endif

static int oxi_count_bits(const unsigned char *bytes, size_t count) {
    int bits = 0;
    for (size_t i = 0; i < count * 8; i++) bits += bytes[i / 8] >> (i % 8) & 1;
    return bits;
}

/* Processors that this process may run on. */
OXI_UNUSED static int oxi_processors(void) {
    int found = 0;
#if defined(_WIN32)
    DWORD_PTR ours = 0, all = 0;
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    found = (int)info.dwNumberOfProcessors;
    if (GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) && ours) {
        found = oxi_count_bits((const unsigned char *)&ours, sizeof ours);
    }
#else
#if defined(__linux__) && defined(SYS_sched_getaffinity)
    unsigned char mask[1024];
    long bytes = syscall(SYS_sched_getaffinity, 0L, sizeof mask, mask);
    if (bytes > 0) found = oxi_count_bits(mask, (size_t)bytes);
#endif
#if defined(_SC_NPROCESSORS_ONLN)
    if (found <= 0) found = (int)sysconf(_SC_NPROCESSORS_ONLN);
#endif
#endif
    (void)oxi_count_bits;
    return found > 0 ? found : 1;
}

static int oxi_usable_threads(void) {
#ifdef OX_NO_THREADS
    return 1;
#else
    long usable = oxi_processors(), quota = oxi_quota();
    return (int)(quota < usable ? quota : usable);
#endif
}

OX_API int ox_threads(void) {
    int64_t n = oxi_atomic_load(&oxi_wanted_threads);
    if (n == 0) {
        (void)oxi_atomic_cas(&oxi_wanted_threads, 0, oxi_usable_threads());
        n = oxi_atomic_load(&oxi_wanted_threads);
    }
    return (int)n;
}

OX_API void ox_set_thread_limit(int n) { oxi_own_limit = n > 0 ? n : 0; }
OX_API int ox_thread_limit(void) { return oxi_own_limit; }

OXI_UNUSED static int oxi_lanes(int64_t count) {
    if (oxi_in_task || count <= 1) return 1;
    int n = ox_threads();
    if (oxi_own_limit > 0 && oxi_own_limit < n) n = oxi_own_limit;
    return count < n ? (int)count : n;
}

/* ---- doing tasks --------------------------------------------------------------------------------------- */

static void oxi_run_tasks(oxi_region *region, int lane) {
    bool was_in_task = oxi_in_task;
    oxi_lane_task task = region->task;
    void *arg = region->arg;
    oxi_in_task = true;
    for (int i = 0; i < region->parts; i++) {
        oxi_region_part *part = &region->part[(lane + i) % region->parts];
        for (;;) {
            int64_t index = oxi_atomic_add(&part->next, 1) - 1; /* also the fence behind streaming stores */
            if (index >= part->end) break;
            task(arg, index, lane);
        }
    }
    oxi_in_task = was_in_task;
}

/* On a thread that is not the caller's: an error travels with the region. */
static void oxi_help(oxi_region *region, int lane) {
    bool had_error = ox_error() != OX_OK;
    oxi_run_tasks(region, lane);
    if (had_error || ox_error() == OX_OK) return;
    oxi_lock_take(&region->error_lock);
    oxi_error_move(&region->error);
    oxi_lock_give(&region->error_lock);
}

/* Tasks [first, count). */
static void oxi_run_alone(int64_t first, int64_t count, oxi_lane_task task, void *arg) {
    bool was_in_task = oxi_in_task;
    oxi_in_task = was_in_task || count > 1;              /* a single task may use the pool itself */
    for (int64_t i = first; i < count; i++) task(arg, i, 0);
    oxi_in_task = was_in_task;
    int64_t fence = 0;
    (void)oxi_atomic_add(&fence, 1);                     /* as oxi_run_tasks has it */
}

/* Tasks [first, count). */
static void oxi_region_set(oxi_region *region, int lanes, int64_t first, int64_t count, oxi_lane_task task,
                           void *arg) {
    int parts = lanes < OXI_MAX_PARTS ? lanes : OXI_MAX_PARTS;
    int64_t each = (count - first) / parts, more = (count - first) % parts; /* the first ones get one more */
    int64_t end = first;
    region->task = task;
    region->arg = arg;
    region->parts = parts;
    for (int i = 0; i < parts; i++) {
        oxi_atomic_store(&region->part[i].next, end);
        end += each + (i < more ? 1 : 0);
        region->part[i].end = end;
    }
    region->error.status = OX_OK;
}

/* ---- the host's job system ----------------------------------------------------------------------------- */

static void oxi_host_job(void *arg, int64_t lane) { oxi_help((oxi_region *)arg, (int)lane); }

/* One job a lane, each pulling tasks. */
static void oxi_run_on_host(ox_parallel_for_fn parallel_for, void *user, int lanes, int64_t count,
                            oxi_lane_task task, void *arg) {
    oxi_region region;
    memset(&region, 0, sizeof region);
    oxi_region_set(&region, lanes, 0, count, task, arg);
    parallel_for(user, lanes, oxi_host_job, &region);
    oxi_run_tasks(&region, 0);       /* nothing is left, unless the host skipped jobs */
    oxi_error_adopt(&region.error);
}

OX_API void ox_set_parallel_for(ox_parallel_for_fn parallel_for, void *user) {
    oxi_lock_take(&oxi_host_lock);
    oxi_host_parallel_for = parallel_for;
    oxi_host_user = user;
    oxi_lock_give(&oxi_host_lock);
}

/* ---- the pool ------------------------------------------------------------------------------------------ */

#ifdef OX_NO_THREADS

static void oxi_run_on_pool(int lanes, int64_t count, oxi_lane_task task, void *arg) {
    (void)lanes;
    oxi_run_alone(0, count, task, arg);
}

static void oxi_pool_stop(void) {}

#else

#if defined(_WIN32)
typedef SRWLOCK oxi_mutex;
typedef CONDITION_VARIABLE oxi_condition;
typedef HANDLE oxi_thread;
#define OXI_MUTEX_OPEN SRWLOCK_INIT
#define OXI_CONDITION_NEW CONDITION_VARIABLE_INIT
static void oxi_mutex_take(oxi_mutex *m) { AcquireSRWLockExclusive(m); }
static void oxi_mutex_give(oxi_mutex *m) { ReleaseSRWLockExclusive(m); }
static void oxi_condition_wait(oxi_condition *c, oxi_mutex *m) {
    SleepConditionVariableSRW(c, m, INFINITE, 0);
}
static void oxi_condition_wake(oxi_condition *c) { WakeConditionVariable(c); }
static void oxi_condition_wake_all(oxi_condition *c) { WakeAllConditionVariable(c); }
#else
typedef pthread_mutex_t oxi_mutex;
typedef pthread_cond_t oxi_condition;
typedef pthread_t oxi_thread;
#define OXI_MUTEX_OPEN PTHREAD_MUTEX_INITIALIZER
#define OXI_CONDITION_NEW PTHREAD_COND_INITIALIZER
static void oxi_mutex_take(oxi_mutex *m) { pthread_mutex_lock(m); }
static void oxi_mutex_give(oxi_mutex *m) { pthread_mutex_unlock(m); }
static void oxi_condition_wait(oxi_condition *c, oxi_mutex *m) { pthread_cond_wait(c, m); }
static void oxi_condition_wake(oxi_condition *c) { pthread_cond_signal(c); }
static void oxi_condition_wake_all(oxi_condition *c) { pthread_cond_broadcast(c); }
#endif

/* The gate: bits 0-15 threads inside, bits 16-31 lanes still open, from bit 32 on a region number, so that no
 * word comes back. Opened by the caller, entered and left by workers, closed by the caller. */
#define OXI_GATE_LANE ((int64_t)1 << 16)
#define OXI_GATE_REGION ((int64_t)1 << 32)

static int64_t oxi_gate;
static int64_t oxi_sleepers;         /* workers on oxi_work_condition */
static int64_t oxi_caller_waits;     /* the caller is on oxi_done_condition */
static int64_t oxi_pool_stopping;
static int64_t oxi_pool_spins;       /* 1: threads do not outnumber processors, so waiting may spin */
static oxi_region oxi_pool_region;

static int64_t oxi_pool_claims;      /* callers with much left to do: others leave the pool to them */
static oxi_lock oxi_pool_lock;       /* held by the caller of a region, and while threads start and stop */
static int oxi_workers;              /* running; with the lock held */
static bool oxi_pool_refused;        /* the system gave fewer threads than asked for: do not ask again */
static oxi_thread oxi_worker_threads[OXI_MAX_THREADS];

static oxi_mutex oxi_sleep_mutex = OXI_MUTEX_OPEN;
static oxi_condition oxi_work_condition = OXI_CONDITION_NEW;
static oxi_condition oxi_done_condition = OXI_CONDITION_NEW;

static int oxi_gate_inside(int64_t gate) { return (int)(gate & 0xffff); }
static int oxi_gate_lanes(int64_t gate) { return (int)(gate >> 16 & 0xffff); }

/* The "announce, then look" of sleepers and wakers needs looks that cannot move up: adding 0 is one. */
static int64_t oxi_look(int64_t *p) { return oxi_atomic_add(p, 0); }

/* Seconds: a thread that was put to sleep comes back up to 0.1 ms late, in a virtual machine later. Between
 * two regions there may be nothing to do for long; the end of a region is a task away. */
#define OXI_SPIN_BETWEEN 50e-6
#define OXI_SPIN_AT_END 500e-6

static bool oxi_spin_for(double seconds, bool (*ready)(void)) {
    if (oxi_atomic_load(&oxi_pool_spins) == 0) return ready();
    double start = 0;
    for (int round = 0;; round++) { /* a pause takes up to 140 cycles, asking for the time not much less */
        for (int i = 0; i < 16; i++) {
            if (ready()) return true;
            oxi_pause();
        }
        double now = oxi_now();
        if (round == 0) start = now;
        if (now - start > seconds) return ready();
    }
}

static bool oxi_worker_called(void) {
    return oxi_gate_lanes(oxi_atomic_load(&oxi_gate)) > 0 || oxi_atomic_load(&oxi_pool_stopping) != 0;
}

static bool oxi_all_left(void) { return oxi_gate_inside(oxi_atomic_load(&oxi_gate)) == 0; }

/* Takes an open lane; 0 if none is open. Lane 0 is the caller's. */
static int oxi_gate_enter(void) {
    for (;;) {
        int64_t gate = oxi_atomic_load(&oxi_gate);
        int lane = oxi_gate_lanes(gate);
        if (lane == 0 || oxi_atomic_cas(&oxi_gate, gate, gate - OXI_GATE_LANE + 1)) return lane;
    }
}

static void oxi_gate_leave(void) {
    int64_t gate = oxi_atomic_add(&oxi_gate, -1);
    if (oxi_gate_inside(gate) > 0 || oxi_look(&oxi_caller_waits) == 0) return;
    oxi_mutex_take(&oxi_sleep_mutex);
    oxi_condition_wake(&oxi_done_condition);
    oxi_mutex_give(&oxi_sleep_mutex);
}

static void oxi_worker_sleep(void) {
    oxi_mutex_take(&oxi_sleep_mutex);
    (void)oxi_atomic_add(&oxi_sleepers, 1);
    while (oxi_gate_lanes(oxi_look(&oxi_gate)) == 0 && oxi_look(&oxi_pool_stopping) == 0) {
        oxi_condition_wait(&oxi_work_condition, &oxi_sleep_mutex);
    }
    (void)oxi_atomic_add(&oxi_sleepers, -1);
    oxi_mutex_give(&oxi_sleep_mutex);
}

static void oxi_worker(void) {
    while (oxi_look(&oxi_pool_stopping) == 0) {
        int lane = oxi_gate_enter();
        if (lane > 0) {
            oxi_help(&oxi_pool_region, lane);
            oxi_gate_leave();
        } else if (!oxi_spin_for(OXI_SPIN_BETWEEN, oxi_worker_called)) {
            oxi_worker_sleep();
        }
    }
}

/* ---- starting and stopping ----------------------------------------------------------------------------- */

#if defined(_WIN32)

static DWORD WINAPI oxi_worker_main(LPVOID unused) {
    (void)unused;
    oxi_worker();
    return 0;
}

static bool oxi_thread_start(oxi_thread *out) {
    *out = CreateThread(NULL, (SIZE_T)2 << 20, oxi_worker_main, NULL, 0, NULL);
    return *out != NULL;
}

static void oxi_thread_join(oxi_thread thread) {
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

#else

static void *oxi_worker_main(void *unused) {
    oxi_worker();
    return unused;
}

static bool oxi_thread_start(oxi_thread *out) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    (void)pthread_attr_setstacksize(&attributes, (size_t)2 << 20);
    bool ok = pthread_create(out, &attributes, oxi_worker_main, NULL) == 0;
    pthread_attr_destroy(&attributes);
    return ok;
}

static void oxi_thread_join(oxi_thread thread) { pthread_join(thread, NULL); }

#endif

/* In the child of a fork: its threads are not there, nor the region that they may have been at. */
OXI_UNUSED static void oxi_pool_forget(void) {
    static const oxi_mutex open_mutex = OXI_MUTEX_OPEN;
    static const oxi_condition new_condition = OXI_CONDITION_NEW;
    oxi_sleep_mutex = open_mutex;
    oxi_work_condition = oxi_done_condition = new_condition;
    oxi_atomic_store(&oxi_gate, 0);
    oxi_atomic_store(&oxi_sleepers, 0);
    oxi_atomic_store(&oxi_caller_waits, 0);
    oxi_atomic_store(&oxi_pool_stopping, 0);
    oxi_atomic_store(&oxi_pool_claims, 0);
    oxi_workers = 0;
    oxi_pool_refused = false;
    oxi_lock_give(&oxi_pool_region.error_lock);
    oxi_lock_give(&oxi_pool_lock);
}

/* With the pool lock held. Fewer threads than wanted are not an error. */
static void oxi_pool_start(int workers) {
    if (oxi_workers >= workers || oxi_pool_refused) return;
    oxi_watch_fork();
    oxi_atomic_store(&oxi_pool_spins, workers < oxi_usable_threads() ? 1 : 0);
    while (oxi_workers < workers && oxi_thread_start(&oxi_worker_threads[oxi_workers])) oxi_workers++;
    if (oxi_workers == workers) return;
    oxi_pool_refused = true;
    oxi_log(OX_LOG_WARN, "threads: %d of %d could be started", oxi_workers, workers);
}

static void oxi_pool_stop(void) {
    oxi_lock_take(&oxi_pool_lock);
    (void)oxi_atomic_add(&oxi_pool_stopping, 1);
    oxi_mutex_take(&oxi_sleep_mutex);
    oxi_condition_wake_all(&oxi_work_condition);
    oxi_mutex_give(&oxi_sleep_mutex);
    for (int i = 0; i < oxi_workers; i++) oxi_thread_join(oxi_worker_threads[i]);
    oxi_workers = 0;
    oxi_pool_refused = false;
    oxi_atomic_store(&oxi_pool_stopping, 0);
    oxi_lock_give(&oxi_pool_lock);
}

/* ---- a region ------------------------------------------------------------------------------------------ */

static void oxi_gate_open(int helpers) {
    int64_t closed = oxi_atomic_load(&oxi_gate);
    int64_t region = closed / OXI_GATE_REGION % 0x40000000 + 1;
    (void)oxi_atomic_add(&oxi_gate, region * OXI_GATE_REGION + helpers * OXI_GATE_LANE - closed);
    int64_t sleepers = oxi_look(&oxi_sleepers);
    if (sleepers == 0) return;
    oxi_mutex_take(&oxi_sleep_mutex);
    if (sleepers <= helpers) {
        oxi_condition_wake_all(&oxi_work_condition);
    } else {
        for (int i = 0; i < helpers; i++) oxi_condition_wake(&oxi_work_condition);
    }
    oxi_mutex_give(&oxi_sleep_mutex);
}

/* No lane can be entered any more; then waits for those inside. */
static void oxi_gate_close(void) {
    for (;;) {
        int64_t gate = oxi_atomic_load(&oxi_gate);
        if (oxi_atomic_cas(&oxi_gate, gate, gate - oxi_gate_lanes(gate) * OXI_GATE_LANE)) break;
    }
    if (oxi_spin_for(OXI_SPIN_AT_END, oxi_all_left)) return;
    oxi_mutex_take(&oxi_sleep_mutex);
    (void)oxi_atomic_add(&oxi_caller_waits, 1);
    while (oxi_gate_inside(oxi_look(&oxi_gate)) > 0) {
        oxi_condition_wait(&oxi_done_condition, &oxi_sleep_mutex);
    }
    (void)oxi_atomic_add(&oxi_caller_waits, -1);
    oxi_mutex_give(&oxi_sleep_mutex);
}

/* ---- whose pool it is ---------------------------------------------------------------------------------- */

/* Seconds: a short region of another thread is worth a wait. What is over sooner than a claim's worth, or has
 * less to do than half of what had the pool last, claims nothing: short calls of one thread do not keep the
 * pool from long ones of another. */
#define OXI_SPIN_FOR_POOL 30e-6
#define OXI_WORTH_A_CLAIM 100e-6

static OXI_THREAD_LOCAL int64_t oxi_long_region; /* outlasted a wait of this thread: not worth another */
static int64_t oxi_pool_work;                    /* nanoseconds of one thread in the last region */

static bool oxi_pool_try(void) {
    return oxi_atomic_load(&oxi_pool_claims) == 0 && oxi_lock_try(&oxi_pool_lock);
}

static bool oxi_pool_wait(void) {
    int64_t region = oxi_atomic_load(&oxi_gate) / OXI_GATE_REGION;
    if (region == oxi_long_region || oxi_atomic_load(&oxi_pool_claims) != 0) return false;
    if (oxi_spin_for(OXI_SPIN_FOR_POOL, oxi_pool_try)) return true;
    oxi_long_region = region;
    return false;
}

static bool oxi_worth_a_claim(double left) {
    return left > OXI_WORTH_A_CLAIM && left * 2e9 > (double)oxi_atomic_load(&oxi_pool_work);
}

/* Does tasks alone until the pool is this thread's or none is left; returns how many it did. */
static int64_t oxi_run_until_pool(int64_t count, oxi_lane_task task, void *arg) {
    bool claims = false, ours = false;
    int64_t done = 0;
    double start = oxi_now();
    oxi_in_task = true;
    while (done < count && !ours) {
        task(arg, done++, 0);
        if (done == count) break;
        if (!claims && oxi_worth_a_claim((oxi_now() - start) / (double)done * (double)(count - done))) {
            claims = true;
            (void)oxi_atomic_add(&oxi_pool_claims, 1);
        }
        ours = claims ? oxi_lock_try(&oxi_pool_lock) : oxi_pool_try();
    }
    oxi_in_task = false;
    if (claims) (void)oxi_atomic_add(&oxi_pool_claims, -1);
    return done;
}

/* Tasks [first, count) by all; false if there is nobody to help. With the pool's lock held. */
static bool oxi_run_by_all(int lanes, int64_t first, int64_t count, oxi_lane_task task, void *arg) {
    oxi_pool_start(ox_threads() - 1);
    if (lanes > count - first) lanes = (int)(count - first);
    int helpers = oxi_workers < lanes - 1 ? oxi_workers : lanes - 1;
    if (helpers <= 0) return false;
    double start = oxi_now();
    oxi_region_set(&oxi_pool_region, helpers + 1, first, count, task, arg);
    oxi_gate_open(helpers);
    oxi_run_tasks(&oxi_pool_region, 0);
    oxi_gate_close();
    oxi_atomic_store(&oxi_pool_work, (int64_t)((oxi_now() - start) * 1e9) * (helpers + 1));
    oxi_error_adopt(&oxi_pool_region.error);
    return true;
}

static void oxi_run_on_pool(int lanes, int64_t count, oxi_lane_task task, void *arg) {
    int64_t first = 0;
    bool shared = false;
    if (!oxi_pool_try() && !oxi_pool_wait()) first = oxi_run_until_pool(count, task, arg);
    if (first < count) {
        shared = oxi_run_by_all(lanes, first, count, task, arg);
        oxi_lock_give(&oxi_pool_lock);
    }
    if (!shared) oxi_run_alone(first, count, task, arg);
    if (!shared) oxi_regions.never++;
    else if (first > 0) oxi_regions.later++;
    else oxi_regions.at_once++;
}

#endif

/* Apart from those that run alone: short calls go through oxi_parallel_for too. */
OXI_UNUSED static OXI_NOINLINE void oxi_run_together(int lanes, int64_t count, oxi_lane_task task,
                                                     void *arg) {
    oxi_lock_take(&oxi_host_lock);
    ox_parallel_for_fn parallel_for = oxi_host_parallel_for;
    void *user = oxi_host_user;
    oxi_lock_give(&oxi_host_lock);
    if (parallel_for) {
        oxi_run_on_host(parallel_for, user, lanes, count, task, arg);
    } else {
        oxi_run_on_pool(lanes, count, task, arg);
    }
}

OXI_UNUSED static void oxi_parallel_for(int64_t count, oxi_lane_task task, void *arg) {
    int lanes = oxi_lanes(count);
    if (lanes <= 1) {
        oxi_run_alone(0, count, task, arg);
    } else {
        oxi_run_together(lanes, count, task, arg);
    }
}

enum { OXI_COPY_SLICE = 512 << 10 }; /* bytes of a task: some thousand times what waking a thread costs */

typedef struct oxi_copying {
    char *to;
    const char *from;
    size_t bytes;
} oxi_copying;

static void oxi_copy_slice(void *arg, int64_t index, int lane) {
    const oxi_copying *copying = (const oxi_copying *)arg;
    size_t at = (size_t)index * OXI_COPY_SLICE, left = copying->bytes - at;
    (void)lane;
    memcpy(copying->to + at, copying->from + at, left < OXI_COPY_SLICE ? left : (size_t)OXI_COPY_SLICE);
}

OXI_UNUSED static void oxi_copy_bytes(void *to, const void *from, size_t bytes) {
    oxi_copying copying;
    oxi_lock_take(&oxi_host_lock);
    bool hosted = oxi_host_parallel_for != NULL;
    oxi_lock_give(&oxi_host_lock);
    copying.to = (char *)to;
    copying.from = (const char *)from;
    copying.bytes = bytes;
    if (hosted || bytes <= OXI_COPY_SLICE) {
        if (bytes > 0) memcpy(to, from, bytes);
        return;
    }
    oxi_parallel_for((int64_t)((bytes + OXI_COPY_SLICE - 1) / OXI_COPY_SLICE), oxi_copy_slice, &copying);
}

OX_API void ox_set_threads(int n) {
    if (oxi_in_task) {
        (void)oxi_fail(OX_ERR_ARG, "set_threads: not inside a task");
        return;
    }
    if (n <= 0) n = oxi_usable_threads();
    if (n > OXI_MAX_THREADS) n = OXI_MAX_THREADS;
    oxi_pool_stop();
    oxi_atomic_store(&oxi_wanted_threads, n);
}

OX_API void ox_shutdown(void) {
    if (oxi_in_task) return;
    oxi_pool_stop();
    oxi_memory_let_go();
}
