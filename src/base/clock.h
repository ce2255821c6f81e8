/* SPDX-License-Identifier: MIT */
/* clock.h - the only places that read a clock. */
#ifndef KS_BASE_CLOCK_H
#define KS_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

uint64_t ks_now_ns(void);        /* CLOCK_MONOTONIC */
uint64_t ks_realtime_ns(void);   /* CLOCK_REALTIME, ns since 1970 */
uint64_t ks_thread_cpu_ns(void); /* CLOCK_THREAD_CPUTIME_ID */
void ks_sleep_ns(uint64_t ns);   /* at least; resumes after EINTR */
void ks_utc_text(uint64_t realtime_ns, char *text_out, size_t cap); /* 2026-01-31T12:00:00Z */

#endif
