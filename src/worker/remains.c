/* SPDX-License-Identifier: MIT */
/* remains.c - POSIX timers leave no trace that every kernel shows, but Linux numbers those of a
 * process in order: a timer made now and one made before tell which numbers to ask for. */
#include "worker/remains.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SETTLE_NS     200000000ull /* for threads that are ending */
#define SETTLE_OWN_NS 5000000ull   /* where those that stay are no fault */
#define STEP_NS       100000ull
#define N_PROBED      100000 /* numbers of timers, 10 ms */

/* A directory has a link from each of its own: 2 and one per thread. 0: not known. */
static uint32_t count_threads(void)
{
    struct stat st;

    if (stat("/proc/self/task", &st) < 0 || st.st_nlink < 3)
        return 0;
    return (uint32_t)st.st_nlink - 2;
}

/* The number of a new timer, which is gone again; -1: none can be made. The C library's own
 * timer_create would start a thread for some. */
static int32_t next_timer(void)
{
    struct sigevent quiet = { .sigev_notify = SIGEV_NONE };
    int id = -1;

    if (syscall(SYS_timer_create, CLOCK_MONOTONIC, &quiet, &id) < 0)
        return -1;
    (void)syscall(SYS_timer_delete, id);
    return id;
}

void ks_remains_note(struct ks_remains *out)
{
    *out = (struct ks_remains){ .is_watched = true,
                                .n_threads = count_threads(),
                                .timer_id = next_timer() };
}

static uint32_t count_new_threads(const struct ks_remains *r)
{
    const uint32_t now = r->n_threads > 0 ? count_threads() : 0;

    return now > r->n_threads ? now - r->n_threads : 0;
}

/* A joined thread is counted for a moment longer. */
static uint32_t settle_threads(const struct ks_remains *r, uint32_t n_own)
{
    const uint64_t from = ks_now_ns();
    uint32_t n = count_new_threads(r);

    while (n > 0 && ks_now_ns() - from < (n <= n_own ? SETTLE_OWN_NS : SETTLE_NS)) {
        ks_sleep_ns(STEP_NS);
        n = count_new_threads(r);
    }
    return n;
}

static uint32_t disarm_intervals(void)
{
    static const int kinds[] = { ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF };
    const struct itimerval none = { .it_interval = { 0, 0 } };
    struct itimerval was;
    uint32_t n = 0;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (setitimer(kinds[i], &none, &was) == 0)
            n += was.it_value.tv_sec != 0 || was.it_value.tv_usec != 0;
    return n;
}

/* Of the numbers since the last call. Where no timer can be made any more the newest is not known:
 * all processes of a user share that limit, so it need not be this one's doing. */
static uint32_t delete_timers(struct ks_remains *r)
{
    const int32_t now = next_timer();
    const uint32_t first = (uint32_t)r->timer_id;
    const uint32_t n_ids = now < 0 ? N_PROBED : ((uint32_t)now - first) & INT32_MAX;
    uint32_t n = 0;

    if (r->timer_id < 0)
        return 0;
    for (uint32_t i = 0; i < n_ids; i++)
        n += syscall(SYS_timer_delete, (first + i) & INT32_MAX) == 0;
    if (now >= 0)
        r->timer_id = now;
    return n;
}

void ks_remains_find(struct ks_remains *r, uint32_t n_own, struct ks_left *out)
{
    *out = (struct ks_left){ .n_threads = 0 };
    if (!r->is_watched)
        return;
    out->n_timers = disarm_intervals() + delete_timers(r);
    out->n_threads = settle_threads(r, n_own);
}

bool ks_left_anything(const struct ks_left *l)
{
    return l->n_threads > 0 || l->n_timers > 0;
}

void ks_left_text(const struct ks_left *l, char *out, size_t cap)
{
    char threads[40] = "", timers[40] = "";

    if (l->n_threads > 0)
        snprintf(threads, sizeof(threads), "%u thread%s running", l->n_threads,
                 l->n_threads > 1 ? "s" : "");
    if (l->n_timers == 1)
        snprintf(timers, sizeof(timers), "a timer armed");
    else if (l->n_timers > 1)
        snprintf(timers, sizeof(timers), "%u timers armed", l->n_timers);
    snprintf(out, cap, "left %s%s%s", threads, threads[0] && timers[0] ? " and " : "", timers);
}
