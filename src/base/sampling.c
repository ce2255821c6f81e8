/* SPDX-License-Identifier: MIT */
/* sampling.c - the time that a cell may take, from its limits */
#include "base/sampling.h"

#define MS_NS 1000000ull

/* Exact twice, warm-up's overshoot, checks that are missing when the time is over. */
#define CALLS_EXTRA (6u + KS_LEAST_CHECKED + KS_PLACES)
#define N_ROUNDS    2u /* warm-up and samples: once more where the clock changed meanwhile */

uint64_t ks_sampling_budget_ns(const struct ks_sampling *s, uint32_t call_ms)
{
    const uint64_t n_calls = (uint64_t)s->min_samples + CALLS_EXTRA;
    const uint64_t round_ms = (uint64_t)s->warmup_ms + KS_WARM_FLAT_MAX_MS + s->max_ms;

    return MS_NS * (n_calls * call_ms + N_ROUNDS * round_ms + KS_ALLOWANCE_S * 1000u);
}
