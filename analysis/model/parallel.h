/* SPDX-License-Identifier: MIT */
/* parallel.h - independent fits at the same time. Trees of a few thousand rows grow hardly faster
 * on several threads, because each level ends with waiting; several fits on one thread each do. */
#ifndef KS_ANALYSIS_PARALLEL_H
#define KS_ANALYSIS_PARALLEL_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct ks_parallel {
    size_t n_tasks;
    uint32_t n_threads; /* ks_parallel_width() of them are used */
    void *ctx;
    /* Runs in any thread; returns 0 or KS_E*. */
    int (*task)(void *ctx, size_t i, struct ks_err *err);
    /* After each task that succeeds, one call at a time. May be NULL. */
    void (*done)(void *ctx, size_t n_done);
};

/* How many tasks run at the same time; each may use n_threads over that many threads. */
uint32_t ks_parallel_width(size_t n_tasks, uint32_t n_threads);

/* ks_parallel_run() - after a failure no further task begins. Returns 0, the failure of the first
 * task in order that failed, or KS_ENOMEM. */
int ks_parallel_run(const struct ks_parallel *p, struct ks_err *err);

#endif
