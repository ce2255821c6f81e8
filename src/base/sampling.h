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

struct ks_sampling {
    KS_SAMPLING_MEMBERS
};

/* Within a struct: the members, and all of them together as `sampling`. */
#define KS_SAMPLING                                                                                \
    union {                                                                                        \
        struct ks_sampling sampling;                                                               \
        struct {                                                                                   \
            KS_SAMPLING_MEMBERS                                                                    \
        };                                                                                         \
    }

#endif
