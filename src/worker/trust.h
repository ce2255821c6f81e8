/* SPDX-License-Identifier: MIT */
/* trust.h - decides from times alone whether the timed launches did the work that the verified ones
 * did. Pure.
 *
 * Two steps. The times of a round may raise a doubt; its samples lie apart in time, so noise can do
 * that, too. Then samples are taken in pairs side by side (inquire.h), and each pair votes. The
 * cell is untrusted only if nearly all pairs confirm the doubt, and if that happens again when the
 * cell is measured alone in a fresh worker (agent_recover.c). */
#ifndef KS_WORKER_TRUST_H
#define KS_WORKER_TRUST_H

#include "worker/check_plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_TRUST_RATIO       1.25 /* a sample that takes longer than that did more work */
#define KS_TRUST_VERIFIED    3u   /* verified samples that a doubt needs at least */
#define KS_TRUST_PAIRS       10u  /* of an inquiry, at most */
#define KS_TRUST_PAIRS_LEAST 8u

enum ks_doubt {
    KS_DOUBT_NONE,
    KS_DOUBT_FREE,   /* repeats cost nothing: one call on new inputs takes much longer than one of
                        many */
    KS_DOUBT_SLOWER, /* verified samples take longer than the others */
    KS_DOUBT_PAUSE   /* samples behind a check that changes nothing take longer than others */
};

struct ks_round_times {
    const double *ns;    /* [n] of a call, in the order they were taken */
    const uint8_t *kind; /* [n] enum ks_check_kind: what was done before each */
    uint32_t n, calls;   /* calls: of a sample; at most KS_SAMPLES_MAX samples */
    double clock_ns;
    /* Samples of one call, where calls > 1: how many after each kind, and their median. */
    uint32_t n_singles[KS_CHECK_KINDS];
    double single_ns[KS_CHECK_KINDS];
    double launch_ns; /* the most that one call costs that one of many does not */
    double wake_ns;   /* ks_trust_wake_ns() */
};

/* The most that the first call behind a check may take longer because the kernel's pool of threads
 * has gone to sleep during the check. threads: declared by the instance, the caller's included. */
double ks_trust_wake_ns(uint32_t threads);

/* Median of the verified samples over that of all others; -1 where there are none of either. */
double ks_verified_over_timed(const struct ks_round_times *t);

/* ks_trust_doubt() - what a round raises.
 * FREE: the median sample of one call is longer than two of many calls and a launch, or on new
 * inputs longer than on the same ones by a quarter of one of many. SLOWER: at least
 * KS_TRUST_VERIFIED verified samples, each longer by KS_TRUST_RATIO than the median of the others
 * and than the shortest placebo. PAUSE: every placebo is longer than two samples (their median)
 * without any check, and a launch. All allow for wake_ns. */
enum ks_doubt ks_trust_doubt(const struct ks_round_times *t);

/* One pair of an inquiry: times of a call. */
struct ks_pair {
    double changed_ns; /* verified sample; FREE: one call on new inputs; PAUSE: placebo sample */
    double same_ns;    /* placebo sample; FREE: one call on the same inputs; PAUSE: no check */
    double many_ns;    /* FREE: one of many */
};
/* Whether a pair says what the doubt does. Of *t clock_ns, calls, launch_ns and wake_ns are
 * used. */
bool ks_trust_vote(enum ks_doubt doubt, const struct ks_round_times *t, const struct ks_pair *p);
/* Pairs to take when one takes pair_ns and the job allows max_ms for all samples of a round. */
uint32_t ks_trust_pairs(double pair_ns, double max_ms);
/* Whether n_votes of n pairs confirm a doubt; whether n_against rule that out for n pairs. */
bool ks_trust_is_settled(uint32_t n_votes, uint32_t n);
bool ks_trust_is_dispelled(uint32_t n_against, uint32_t n);

/* The reason that the record gets, from the medians over all pairs. */
void ks_trust_reason(enum ks_doubt doubt, const struct ks_pair *median, char *out, size_t cap);

#endif
