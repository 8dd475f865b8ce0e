/* The thread pool.
 * As many threads as the process may use (affinity and cgroup quota counted), started on first use, asleep
 * when idle. Work is cut into tasks in a way that does not depend on their number, so results have the same
 * bits. */
#ifndef OX_BASE_THREADS_H
#define OX_BASE_THREADS_H

OX_EXTERN_C_BEGIN

/* n threads, the caller's included; 0 = as many as the process may use. Not while ops run on other
 * threads. */
OX_API void ox_set_threads(int n);
OX_API int ox_threads(void);

/* Calls of the calling thread use at most n threads, itself included; 0 = no limit of its own (the default).
 * Several threads may compute at once: the pool helps one at a time, long calls before short ones, and the
 * others compute alone meanwhile. With a limit of 1 a thread never asks for it: a data loader's, say. */
OX_API void ox_set_thread_limit(int n);
OX_API int ox_thread_limit(void);

/* Lets a host's job system do the work: `parallel_for` must call task(arg, i) once for each i in [0, count),
 * on any threads, and return when all are done. NULL restores the library's own pool. */
typedef void (*ox_task_fn)(void *arg, int64_t index);
typedef void (*ox_parallel_for_fn)(void *user, int64_t count, ox_task_fn task, void *arg);
OX_API void ox_set_parallel_for(ox_parallel_for_fn parallel_for, void *user);

/* ox_shutdown - stops the pool's threads and returns all cached memory. The library starts again when
 * used. */
OX_API void ox_shutdown(void);

OX_EXTERN_C_END
#endif
