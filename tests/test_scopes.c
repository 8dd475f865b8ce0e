/* test_scopes.c - ownership: scopes, keep, retain, release, leaks and late releases as
 * ox_memory_get_stats() counts them, leaving a scope early, scopes and shared tensors on several threads.
 * OX_TSAN OX_QEMU */
#include "check.h"
#include "oxtorch.h"

#include <string.h>

#if defined(__unix__) && !defined(OX_NO_THREADS)
#include <pthread.h>
#define HAVE_PTHREADS 1
#endif

static bool alive(int64_t tensors, int64_t storages) {
    ox_memory_stats s = ox_memory_get_stats();
    return s.tensors == tensors && s.storages == storages;
}

static ox_tensor *ones(void) {
    return ox_ones(OX_SHAPE(4, 4), OX_F32);
}

/* ---- who owns a result ------------------------------------------------------------------------------- */

static void check_ownership(void) {
    CHECK(alive(0, 0));
    ox_tensor *a = ones(), *view = ox_t(a); /* no scope: the caller's */
    CHECK(alive(2, 1));
    ox_release(a);
    CHECK(alive(1, 1) && ox_item(ox_select(ox_select(view, 0, 0), 0, 0)) == 1);
    CHECK(alive(3, 1)); /* the two selects above are the caller's too */
    ox_release(view);
    CHECK(alive(2, 1));
    OX_SCOPE {
        ox_tensor *b = ones();
        OX_SCOPE {
            ox_tensor *c = ox_add(b, b);
            CHECK(c && alive(4, 3));
        }
        CHECK(alive(3, 2));
    }
    CHECK(alive(2, 1));
}

/* The two views that check_ownership left behind cannot be reached any more: a leak that
 * ox_memory_get_stats() shows. This function starts from their number. */
static void check_keep(int64_t tensors, int64_t storages) {
    ox_tensor *kept = NULL;
    OX_SCOPE {
        OX_SCOPE {
            ox_tensor *inner = ones();
            kept = ox_keep(ox_mul(inner, inner)); /* to the scope outside */
            CHECK(alive(tensors + 2, storages + 2));
        }
        CHECK(alive(tensors + 1, storages + 1) && ox_item(ox_select(ox_select(kept, 0, 3), 0, 3)) == 1);
    }
    CHECK(alive(tensors, storages));
    OX_SCOPE {
        kept = ox_keep(ones());
    } /* to the caller */
    CHECK(alive(tensors + 1, storages + 1));
    OX_SCOPE {
        CHECK(ox_keep(kept) == kept); /* belongs to no scope: nothing changes */
        ox_tensor *mine = ones();
        CHECK(ox_keep(ox_keep(mine)) == mine); /* the second one has nothing to do */
        ox_release(mine);
    }
    CHECK(alive(tensors + 1, storages + 1));
    ox_release(kept);
    CHECK(alive(tensors, storages));
    OX_SCOPE { /* keep moves one scope at a time */
        ox_tensor *t = NULL;
        OX_SCOPE {
            OX_SCOPE {
                t = ox_keep(ones());
            }
            CHECK(alive(tensors + 1, storages + 1));
            ox_keep(t);
        }
        CHECK(alive(tensors + 1, storages + 1));
    }
    CHECK(alive(tensors, storages) && ox_memory_get_stats().bad_releases == 0);
}

static void check_references(int64_t tensors, int64_t storages) {
    ox_tensor *t = NULL, *u = NULL;
    OX_SCOPE {
        t = ox_retain(ones()); /* the caller's reference outlives the scope */
        u = ox_retain(ox_t(t));
        ox_retain(u);
    }
    CHECK(alive(tensors + 2, storages + 1));
    ox_release(t);
    CHECK(alive(tensors + 1, storages + 1)); /* the view holds the storage */
    ox_release(u);
    CHECK(alive(tensors + 1, storages + 1));
    ox_release(u);
    CHECK(alive(tensors, storages));
    OX_SCOPE {
        t = ones();
        ox_release(t); /* early: it leaves the scope */
        CHECK(alive(tensors, storages));
        t = ones();
        u = ones();
        ox_tensor *v = ones();
        ox_release(u); /* from the middle of the scope's list */
        ox_release(v);
        CHECK(alive(tensors + 1, storages + 1) && t);
    }
    CHECK(alive(tensors, storages) && ox_memory_get_stats().bad_releases == 0);
    OX_SCOPE { /* in-place ops return their operand: no new reference */
        t = ones();
        CHECK(ox_add_(t, t) == t && ox_exp_(t) == t && t->references == 1);
    }
    CHECK(alive(tensors, storages));
}

/* A late release is counted, not fatal. Headers come from type-stable memory, so this is safe to do on
 * purpose. */
static void check_bad_releases(int64_t tensors, int64_t storages) {
    ox_tensor *t = ones();
    int64_t before = ox_memory_get_stats().bad_releases;
    ox_release(t);
    ox_release(t);
    CHECK(ox_memory_get_stats().bad_releases == before + 1 && alive(tensors, storages));
    ox_release(t);
    CHECK(ox_memory_get_stats().bad_releases == before + 2 && alive(tensors, storages));
    OX_SCOPE { /* the library still works */
        ox_tensor *a = ones(), *b = ones();
        CHECK(a != b && ox_item(ox_sum(ox_add(a, b), OX_ALL_DIMS, false)) == 32);
    }
    CHECK(alive(tensors, storages) && ox_memory_get_stats().bad_releases == before + 2);
}

/* ---- ways out of a scope ----------------------------------------------------------------------------- */

#if defined(__GNUC__) || defined(__clang__)
static double leave_by_return(void) {
    OX_SCOPE {
        ox_tensor *t = ones();
        return ox_item(ox_sum(t, OX_ALL_DIMS, false));
    }
    return 0;
}

static void check_early_exits(int64_t tensors, int64_t storages) {
    CHECK(leave_by_return() == 16 && alive(tensors, storages));
    OX_SCOPE {
        ones();
        break;
    }
    CHECK(alive(tensors, storages));
    for (int i = 0; i < 5; i++) {
        OX_SCOPE {
            ones();
            if (i == 3) goto out;
        }
    }
out:
    CHECK(alive(tensors, storages));
    for (int i = 0; i < 3; i++) {
        OX_SCOPE {
            ones();
            continue; /* ends the scope, like break */
        }
        CHECK(alive(tensors, storages));
    }
    OX_SCOPE {
        OX_SCOPE {
            OX_SCOPE {
                ones();
                goto far_out;
            }
        }
    }
far_out:
    CHECK(alive(tensors, storages));
}
#else
static void check_early_exits(int64_t tensors, int64_t storages) {
    CHECK(alive(tensors, storages));
}
#endif

static void check_scopes_by_hand(int64_t tensors, int64_t storages) {
    ox_scope outer = ox_scope_begin();
    ones();
    ox_scope inner = ox_scope_begin();
    ones();
    CHECK(alive(tensors + 2, storages + 2));
    ox_scope_end(&outer); /* ends the inner one as well */
    CHECK(alive(tensors, storages));
    ox_scope_end(&inner); /* harmless */
    ox_scope_end(&outer);
    ox_scope_end(NULL);
    CHECK(alive(tensors, storages));
    /* 256 may be open; the one after that is refused, and the rest go on. */
    static ox_scope many[300];
    for (int i = 0; i < 300; i++) {
        many[i] = ox_scope_begin();
        if (i < 256) ones();
    }
    CHECK(ox_error() == OX_ERR_ARG && strstr(ox_error_text(), "scope"));
    ox_error_clear();
    CHECK(alive(tensors + 256, storages + 256));
    for (int i = 299; i >= 0; i--) ox_scope_end(&many[i]);
    CHECK(alive(tensors, storages));
    OX_SCOPE {
        CHECK(ones() != NULL && ox_error() == OX_OK);
    }
}

/* A steady loop takes nothing from the system. */
static void check_steady_loop(int64_t tensors, int64_t storages) {
    int64_t allocs = 0;
    for (int round = 0; round < 60; round++) {
        OX_SCOPE {
            ox_tensor *a = ox_rand(OX_SHAPE(100, 30), OX_F32), *b = ox_softmax(ox_exp(ox_t(a)), 0);
            ox_tensor *c = ox_cat(&b, 1, 0),
                      *d = ox_sort(ox_sum(ox_mul(c, b), OX_DIMS(0), false), 0, true).values;
            CHECK(d && ox_error() == OX_OK);
        }
        if (round == 9) allocs = ox_memory_get_stats().system_allocs;
    }
    CHECK_MSG(ox_memory_get_stats().system_allocs == allocs, "%lld more requests",
              (long long)(ox_memory_get_stats().system_allocs - allocs));
    CHECK(alive(tensors, storages));
    ox_error_clear();
}

/* Many headers at once: more than one slab of them. */
static void check_many(int64_t tensors, int64_t storages) {
    static ox_tensor *all[1000];
    OX_SCOPE {
        ox_tensor *base = ones();
        for (int i = 0; i < 1000; i++)
            all[i] = i % 3 ? ox_view(base, OX_SHAPE(16)) : ox_zeros(OX_SHAPE(1), OX_U8);
        CHECK(alive(tensors + 1001, storages + 1 + 334));
        for (int i = 0; i < 1000; i += 7) ox_release(all[i]);
        CHECK(alive(tensors + 1001 - 143, storages + 1 + 334 - 48));
    }
    CHECK(alive(tensors, storages) && ox_memory_get_stats().bad_releases == 2);
    CHECK(ox_memory_get_stats().tensors_made > 1000 && ox_memory_get_stats().calls > 100);
}

/* ---- threads ----------------------------------------------------------------------------------------- */

#ifdef HAVE_PTHREADS
typedef struct worker {
    ox_tensor *shared;
    double sum;
    bool good;
} worker;

/* Each thread has scopes of its own; a tensor of another thread may be read, retained and released. */
static void *work(void *arg) {
    worker *w = (worker *)arg;
    w->good = true;
    for (int round = 0; round < 200; round++) {
        OX_SCOPE {
            ox_tensor *view = ox_t(w->shared);
            ox_retain(w->shared);
            ox_tensor *sum = ox_sum(ox_add(view, w->shared), OX_ALL_DIMS, false);
            w->good = w->good && sum && ox_item(sum) == 32;
            ox_tensor *places = ox_zeros(OX_SHAPE(1, 4), OX_I64), *row = ox_gather(w->shared, 0, places);
            ox_tensor *rolled = ox_roll(w->shared, OX_DIMS(1), OX_DIMS(0)), *two[2] = {row, w->shared};
            sum = ox_sum(ox_add(ox_cat(two, 2, 0), ox_cat(two, 2, 0)), OX_ALL_DIMS, false);
            w->good = w->good && sum && ox_item(sum) == 40 && ox_equal(rolled, w->shared);
            sum = ox_sum(ox_embedding(ox_select(places, 0, 0), w->shared), OX_ALL_DIMS, false);
            w->good = w->good && sum && ox_item(sum) == 16;
            sum = ox_sum(ox_add(view, w->shared), OX_ALL_DIMS, false);
            ox_release(w->shared);
            w->sum += sum ? ox_item(sum) : 0;
        }
    }
    w->good = w->good && ox_error() == OX_OK;
    return NULL;
}

static void check_threads(int64_t tensors, int64_t storages) {
    pthread_t threads[4];
    worker workers[4];
    ox_tensor *shared = ones();
    for (int i = 0; i < 4; i++) {
        workers[i].shared = shared;
        workers[i].sum = 0;
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].good && workers[i].sum == 200 * 32);
    }
    CHECK(shared->references == 1 && alive(tensors + 1, storages + 1));
    ox_release(shared);
    CHECK(alive(tensors, storages));
}

/* Tensors of one thread's scope whose last reference another thread gives back: they go at once, and the
 * scope ends as ever. Middle, first and last of its list, some of them retained. */
enum { HANDED = 64 };
static ox_tensor *handed[HANDED];

static void *release_handed(void *arg) {
    (void)arg;
    for (int i = 0; i < HANDED; i++)
        if (i % 3 != 1) ox_release(handed[i]);
    return NULL;
}

static void check_foreign_releases(int64_t tensors, int64_t storages) {
    int64_t bad = ox_memory_get_stats().bad_releases;
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        OX_SCOPE {
            for (int i = 0; i < HANDED; i++) handed[i] = ones();
            CHECK(pthread_create(&thread, NULL, release_handed, NULL) == 0);
            for (int i = 0; i < HANDED; i++) (void)ones(); /* meanwhile the list grows */
            pthread_join(thread, NULL);
            int64_t left = HANDED + HANDED / 3;
            CHECK(alive(tensors + left, storages + left));
            for (int i = 1; i < HANDED; i += 6) ox_release(handed[i]); /* neighbors of those that went */
            OX_SCOPE {
                CHECK(ones() != NULL);
            }
        }
        CHECK(alive(tensors, storages));
    }
    CHECK(ox_memory_get_stats().bad_releases == bad && ox_error() == OX_OK);
}

/* References that a thread took itself, given back while the scope ends. */
static void *release_retained(void *arg) {
    (void)arg;
    for (int i = 0; i < HANDED; i++) ox_release(handed[i]);
    return NULL;
}

static void check_racing_releases(int64_t tensors, int64_t storages) {
    int64_t bad = ox_memory_get_stats().bad_releases;
    for (int round = 0; round < 200; round++) {
        pthread_t thread;
        OX_SCOPE {
            for (int i = 0; i < HANDED; i++) handed[i] = ox_retain(ones());
            CHECK(pthread_create(&thread, NULL, release_retained, NULL) == 0);
        }
        pthread_join(thread, NULL);
        CHECK(alive(tensors, storages));
    }
    CHECK(ox_memory_get_stats().bad_releases == bad);
}

/* A scope that another thread began, which is still there or has ended: words, and nothing else happens. */
typedef struct lent_scope {
    ox_scope scope;
    int64_t go_on; /* under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} lent_scope;

static void *lend_scope(void *arg) {
    lent_scope *lent = (lent_scope *)arg;
    ox_scope own = ox_scope_begin();
    (void)ones();
    pthread_mutex_lock(&lent->mutex);
    lent->scope = own;
    lent->go_on = 1;
    pthread_cond_signal(&lent->changed);
    while (lent->go_on != 2) pthread_cond_wait(&lent->changed, &lent->mutex);
    pthread_mutex_unlock(&lent->mutex);
    ox_scope_end(&own);
    return NULL;
}

static void check_foreign_scopes(int64_t tensors, int64_t storages) {
    lent_scope lent;
    pthread_t thread;
    memset(&lent, 0, sizeof lent);
    pthread_mutex_init(&lent.mutex, NULL);
    pthread_cond_init(&lent.changed, NULL);
    for (int inside = 0; inside < 2; inside++) {
        ox_scope mine = ox_scope_begin();
        ox_tensor *t = ones();
        CHECK(pthread_create(&thread, NULL, lend_scope, &lent) == 0);
        pthread_mutex_lock(&lent.mutex);
        while (lent.go_on != 1) pthread_cond_wait(&lent.changed, &lent.mutex);
        pthread_mutex_unlock(&lent.mutex);
        if (inside) ox_scope_end(&mine);
        ox_scope_end(&lent.scope);
        CHECK(ox_error() == OX_ERR_ARG && strstr(ox_error_text(), "another thread") && !lent.scope.open);
        ox_error_clear();
        ox_scope_end(&lent.scope);
        CHECK(ox_error() == OX_OK && alive(tensors + 1 + !inside, storages + 1 + !inside));
        pthread_mutex_lock(&lent.mutex);
        lent.go_on = 2;
        pthread_cond_signal(&lent.changed);
        pthread_mutex_unlock(&lent.mutex);
        pthread_join(thread, NULL);
        CHECK(inside || ox_item(ox_select(ox_select(t, 0, 0), 0, 0)) == 1);
        ox_scope_end(&mine);
        CHECK(alive(tensors, storages));
    }
}
#else
static void check_foreign_releases(int64_t tensors, int64_t storages) {
    CHECK(alive(tensors, storages));
}
static void check_racing_releases(int64_t tensors, int64_t storages) {
    CHECK(alive(tensors, storages));
}
static void check_foreign_scopes(int64_t tensors, int64_t storages) {
    CHECK(alive(tensors, storages));
}
static void check_threads(int64_t tensors, int64_t storages) {
    check_skip("scopes on threads", "no POSIX threads here");
    CHECK(alive(tensors, storages));
}
#endif

int main(void) {
    check_ownership();
    int64_t tensors = ox_memory_get_stats().tensors, storages = ox_memory_get_stats().storages;
    CHECK(tensors == 2 && storages == 1);
    check_keep(tensors, storages);
    check_references(tensors, storages);
    check_early_exits(tensors, storages);
    check_scopes_by_hand(tensors, storages);
    check_bad_releases(tensors, storages);
    check_steady_loop(tensors, storages);
    check_many(tensors, storages);
    check_threads(tensors, storages);
    check_foreign_releases(tensors, storages);
    check_racing_releases(tensors, storages);
    check_foreign_scopes(tensors, storages);
    return check_done("scopes");
}
