/* The threads of the lanes that move things: each sleeps until a step has work for its lane, and between
 * steps, for reads that one step begins for the next one belong to the thread that asked the system for them.
 * A planner has them from its first step that moves anything to its end. Called by replays. */

#ifdef OX_NO_THREADS
struct oxi_shunt_crew {
    int unused;
};
#else
typedef struct oxi_shunt_worker {
    struct oxi_shunt_crew *crew;
    int lane;
    bool started, busy;
    oxi_thread thread;
} oxi_shunt_worker;

struct oxi_shunt_crew {
    oxi_mutex mutex;                /* of the step that runs, too */
    oxi_condition moved[OXI_LANES]; /* what each lane sleeps on */
    oxi_shunt_worker worker[OXI_LANES];
    void (*run)(void *job, int lane);
    void *job;
    bool stopping;
};

/* Seconds that a processor has worked for this thread; 0: the system does not say. */
static double oxi_thread_seconds(void) {
#if defined(_WIN32)
    FILETIME made, over, kernel, user;
    if (!GetThreadTimes(GetCurrentThread(), &made, &over, &kernel, &user)) return 0;
    return 1e-7 * ((double)kernel.dwLowDateTime + user.dwLowDateTime +
                   4294967296.0 * ((double)kernel.dwHighDateTime + user.dwHighDateTime));
#elif defined(CLOCK_THREAD_CPUTIME_ID)
    struct timespec t;
    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec : 0;
#else
    return 0;
#endif
}

/* What a search is limited by is the work of this thread, for a machine that is busy with other things as
 * well shall make the plan that it would make alone; but it ends in 45 ms, or a third more than it may work,
 * anyway. Where work is not known it is time. */
static void oxi_shunt_spend(oxi_shunt_problem *p) {
    const double most = 1.3 * p->time_most > 0.045 ? 1.3 * p->time_most : 0.045;
    p->begun = oxi_now();
    p->begun_work = oxi_thread_seconds();
    p->time_share = p->begun_work > 0 && p->time_most > 0 ? p->time_most / most : 1;
}
static double oxi_shunt_spent(const oxi_shunt_problem *p) {
    const double worked = oxi_thread_seconds() - p->begun_work, time = p->time_share * (oxi_now() - p->begun);
    return worked > time ? worked : time;
}

/* The disk's lane works for microseconds at a time, and what it begins late shows: it asks for short
 * slices, so that it runs when it is woken although all cores compute (Linux 6.12; others do not know it);
 * among real-time threads, which run until they sleep, for the next priority. */
static void oxi_shunt_worker_hurry(void) {
#if defined(__linux__) && defined(SYS_sched_getattr) && defined(SYS_sched_setattr)
    enum { ROUND_ROBIN = 2, HIGHEST = 99 };
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice, deadline, period; /* nanoseconds */
    } a;
    memset(&a, 0, sizeof a);
    if (syscall(SYS_sched_getattr, 0L, &a, sizeof a, 0L) != 0 || a.policy > ROUND_ROBIN) return;
    if (a.policy != 0 && a.priority < HIGHEST) a.priority++;
    if (a.policy == 0) a.slice = 100000;
    (void)syscall(SYS_sched_setattr, 0L, &a, 0L);
#endif
}

static void oxi_shunt_worker_loop(oxi_shunt_worker *w) {
    struct oxi_shunt_crew *crew = w->crew;
    if (w->lane == OXI_LANE_DISK) oxi_shunt_worker_hurry(); /* others copy, and would be in the way */
    oxi_mutex_take(&crew->mutex);
    for (;;) {
        while (!w->busy && !crew->stopping) oxi_condition_wait(&crew->moved[w->lane], &crew->mutex);
        if (!w->busy) break;
        oxi_mutex_give(&crew->mutex);
        crew->run(crew->job, w->lane);
        ox_error_clear(); /* a step's first error is with the step */
        oxi_mutex_take(&crew->mutex);
        w->busy = false;
        oxi_condition_wake(&crew->moved[OXI_LANE_COMPUTE]);
    }
    oxi_mutex_give(&crew->mutex);
}

#if defined(_WIN32)
static DWORD WINAPI oxi_shunt_worker_main(LPVOID argument) {
    oxi_shunt_worker_loop((oxi_shunt_worker *)argument);
    return 0;
}
static bool oxi_shunt_worker_start(oxi_shunt_worker *w) {
    w->thread = CreateThread(NULL, (SIZE_T)1 << 20, oxi_shunt_worker_main, w, 0, NULL);
    return w->thread != NULL;
}
#else
static void *oxi_shunt_worker_main(void *argument) {
    oxi_shunt_worker_loop((oxi_shunt_worker *)argument);
    return NULL;
}
static bool oxi_shunt_worker_start(oxi_shunt_worker *w) {
    return pthread_create(&w->thread, NULL, oxi_shunt_worker_main, w) == 0;
}
#endif

/* A thread for each lane that is wanted; false: the system gives none, or there is no memory. */
static bool oxi_shunt_crew_open(ox_shunt *s, const bool *wanted) {
    static const oxi_mutex open_mutex = OXI_MUTEX_OPEN;
    static const oxi_condition new_condition = OXI_CONDITION_NEW;
    if (!s->crew) {
        s->crew = (struct oxi_shunt_crew *)oxi_calloc(1, sizeof *s->crew);
        if (!s->crew) return false;
        s->crew->mutex = open_mutex;
        for (int lane = 0; lane < OXI_LANES; lane++) s->crew->moved[lane] = new_condition;
    }
    for (int lane = OXI_LANE_UP; lane < OXI_LANES; lane++) {
        oxi_shunt_worker *w = &s->crew->worker[lane];
        if (!wanted[lane] || w->started) continue;
        w->crew = s->crew;
        w->lane = lane;
        w->started = oxi_shunt_worker_start(w);
        if (!w->started) return false;
    }
    return true;
}

/* Runs the job on the lanes that are wanted, and on this thread as the compute lane; returns when all are
 * done. */
static void oxi_shunt_crew_run(struct oxi_shunt_crew *crew, const bool *wanted, void (*run)(void *, int),
                               void *job) {
    oxi_mutex_take(&crew->mutex);
    crew->run = run;
    crew->job = job;
    for (int lane = OXI_LANE_UP; lane < OXI_LANES; lane++) {
        crew->worker[lane].busy = wanted[lane];
        if (wanted[lane]) oxi_condition_wake(&crew->moved[lane]);
    }
    oxi_mutex_give(&crew->mutex);
    run(job, OXI_LANE_COMPUTE);
    oxi_mutex_take(&crew->mutex);
    for (int lane = OXI_LANE_UP; lane < OXI_LANES; lane++)
        while (crew->worker[lane].busy) oxi_condition_wait(&crew->moved[OXI_LANE_COMPUTE], &crew->mutex);
    oxi_mutex_give(&crew->mutex);
}
#endif

static void oxi_shunt_crew_close(ox_shunt *s) {
    if (!s->crew) return;
#ifndef OX_NO_THREADS
    oxi_mutex_take(&s->crew->mutex);
    s->crew->stopping = true;
    for (int lane = OXI_LANE_UP; lane < OXI_LANES; lane++) oxi_condition_wake(&s->crew->moved[lane]);
    oxi_mutex_give(&s->crew->mutex);
    for (int lane = OXI_LANE_UP; lane < OXI_LANES; lane++)
        if (s->crew->worker[lane].started) oxi_thread_join(s->crew->worker[lane].thread);
#endif
    oxi_free(s->crew, sizeof *s->crew);
    s->crew = NULL;
}
