/* SPDX-License-Identifier: MIT */
/* sampling.h - how long and how often a cell is measured: keys of a job (grid/job.h) that travel
 * unchanged to the worker (record/request.h). */
#ifndef KS_BASE_SAMPLING_H
#define KS_BASE_SAMPLING_H

#include <stdint.h>

/* One list for the structs below and for those that have these members beside their own; C11 has no
 * other way to name a struct and to have its members without a prefix. */
#define KS_SAMPLING_MEMBERS                                                                        \
    uint32_t warmup_ms, min_samples, max_samples, max_ms;                                          \
    double target_rse;      /* stop when se / median is at most this */                            \
    uint32_t cache;         /* 0 warm, 1 cold: enum ks_cache_mode */                               \
    uint32_t min_sample_us; /* a sample has as many calls as this needs; 0 = from the clock */

/* Where the warm-up ends by what is measured, as on a GPU: after so long it ends regardless. */
#define KS_WARM_FLAT_MAX_MS 2000u

#define KS_PLACES        7u /* checked samples that every round has, whatever they cost */
#define KS_LEAST_CHECKED 5u /* min_samples of a round whose results are verified, at least */

/* A deadline's time for everything that is no call of a kernel: loading, verification. */
#define KS_ALLOWANCE_S 10u

struct ks_sampling {
    KS_SAMPLING_MEMBERS
};

/* ks_sampling_budget_ns() - how long a cell may take whose calls end in time: exact checks,
 * warm-up, samples and their checks, and the allowance. The worker's deadline, without what
 * verification costs per byte (worker/worker.h); the scheduler's patience (sched/cost.h).
 * @call_ms bounds one call of the kernel */
uint64_t ks_sampling_budget_ns(const struct ks_sampling *s, uint32_t call_ms);

/* Within a struct: the members, and all of them together as `sampling`. */
#define KS_SAMPLING                                                                                \
    union {                                                                                        \
        struct ks_sampling sampling;                                                               \
        struct {                                                                                   \
            KS_SAMPLING_MEMBERS                                                                    \
        };                                                                                         \
    }

#endif
