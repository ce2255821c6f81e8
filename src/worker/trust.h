/* SPDX-License-Identifier: MIT */
/* trust.h - whether the times of a round are those of the work, judged from the times alone. Pure;
 * robust against disturbed samples, and yet only a reason to measure the cell once more alone. */
#ifndef KS_WORKER_TRUST_H
#define KS_WORKER_TRUST_H

#include "worker/check_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_TRUST_RATIO    1.25 /* a sample that is longer by more did more */
#define KS_TRUST_VERIFIED 3u   /* verified samples that must agree on it */

struct ks_round_times {
    const double *ns;    /* [n] of a call, in the order they were taken */
    const uint8_t *kind; /* [n] enum ks_check_kind: what was done before each */
    uint32_t n, calls;   /* calls: of a sample; at most KS_SAMPLES_MAX samples */
    double clock_ns;
    /* Samples of one call, where calls > 1: how many after each kind, and the shortest. */
    uint32_t n_singles[KS_CHECK_KINDS];
    double single_ns[KS_CHECK_KINDS];
    double launch_ns; /* at most this is what one call costs that one of many does not */
};

/* Median of the verified samples over that of all others; -1 where there are none of either. */
double ks_verified_over_timed(const struct ks_round_times *t);

/* Both: true, and why_out [cap] holds the reason, when the times cannot be believed.
 *
 * Verified samples are slower: at least KS_TRUST_VERIFIED of them, each longer by KS_TRUST_RATIO
 * than the median of the others and than that of the placebos, and longer than 90 % of the samples
 * before which nothing changed. */
bool ks_verified_are_slower(const struct ks_round_times *t, char *why_out, size_t cap);
/* Repeats are free: one call on new inputs takes longer than twice one of many calls and a launch;
 * or longer than one call on the same inputs, by a quarter of one of many. */
bool ks_repeats_are_free(const struct ks_round_times *t, char *why_out, size_t cap);

#endif
