/* SPDX-License-Identifier: MIT */
/* clock.c - reads clocks, sleeps until an absolute deadline, and writes times in UTC */
#include "base/clock.h"

#include <errno.h>
#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec t = { 0 };

    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t ks_now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t ks_realtime_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

uint64_t ks_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

void ks_sleep_ns(uint64_t ns)
{
    uint64_t end = ks_now_ns() + ns;
    struct timespec t = { .tv_sec = (time_t)(end / 1000000000u),
                          .tv_nsec = (long)(end % 1000000000u) };

    /* An absolute deadline, so that a stream of signals cannot stretch the sleep. */
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        continue;
}

void ks_utc_text(uint64_t realtime_ns, char *text_out, size_t cap)
{
    time_t s = (time_t)(realtime_ns / 1000000000u);
    struct tm tm;

    if (!cap)
        return;
    if (!gmtime_r(&s, &tm) || !strftime(text_out, cap, "%Y-%m-%dT%H:%M:%SZ", &tm))
        text_out[0] = '\0';
}
