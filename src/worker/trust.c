/* SPDX-License-Identifier: MIT */
/* trust.c - what a round's times say of the kernel: repeats that do no work, slower checks */
#include "worker/trust.h"

#include "record/record.h"
#include "record/stats.h"

#include <math.h>
#include <stdio.h>

#define SINGLE_RATIO    2.0   /* one call and one of many agree to within this and a launch */
#define SINGLE_SHARE    0.25  /* of a call: what new inputs may cost more than the same ones */
#define SINGLE_TICKS    4.0   /* but never less than the clock tells apart */
#define SINGLE_LEAST_NS 200.0 /* nor than a few cache misses */
#define PAIRS_SHARE     0.5   /* of the time of a round, for an inquiry */
#define SETTLED         0.9   /* share of the pairs */

/* A pool that spins for a while after each call sleeps by the end of a check: the next call wakes
 * it, one thread after the other. For one thread 20 to 40 us were measured. */
#define WAKE_NS        50e3
#define WAKE_THREAD_NS 5e3

#define BIT(kind) (1u << (kind))
enum {
    VERIFIED = BIT(KS_CHECK_VERIFIED),
    PLACEBO = BIT(KS_CHECK_PLACEBO),
    NONE = BIT(KS_CHECK_NONE),
    UNCHANGED = BIT(KS_CHECK_PLACEBO) | BIT(KS_CHECK_NONE),
    OTHERS = UNCHANGED | BIT(KS_CHECK_FRESH),
    ALL = OTHERS | VERIFIED
};

double ks_trust_wake_ns(uint32_t threads)
{
    return threads > 1 ? WAKE_NS + WAKE_THREAD_NS * threads : 0.0;
}

/* The samples of some kinds; false: there are none. */
static bool stats_of(const struct ks_round_times *t, unsigned kinds, struct ks_stats *out)
{
    double some[KS_SAMPLES_MAX], scratch[KS_SAMPLES_MAX];
    size_t n = 0;

    for (uint32_t i = 0; i < t->n; i++)
        if ((kinds & BIT(t->kind[i])) != 0)
            some[n++] = t->ns[i];
    if (n == 0)
        return false;
    ks_stats(some, n, t->clock_ns, t->calls, scratch, out);
    return true;
}

double ks_verified_over_timed(const struct ks_round_times *t)
{
    struct ks_stats verified, others;

    if (!stats_of(t, VERIFIED, &verified) || !stats_of(t, OTHERS, &others))
        return -1.0;
    return verified.median / others.median;
}

/* Two ticks of the clock make no difference. */
static bool is_longer(const struct ks_round_times *t, double ns, double than_ns)
{
    return ns > KS_TRUST_RATIO * than_ns + (2.0 * t->clock_ns + t->wake_ns) / (double)t->calls;
}

static bool are_slower(const struct ks_round_times *t)
{
    struct ks_stats verified, others, some;

    if (!stats_of(t, VERIFIED, &verified) || verified.n < KS_TRUST_VERIFIED ||
        !stats_of(t, OTHERS, &others) || !is_longer(t, verified.min, others.median))
        return false;
    /* Noise makes times longer only: the shortest placebo shows what the check before it costs. */
    return !stats_of(t, PLACEBO, &some) || is_longer(t, verified.min, some.min);
}

static bool is_free(const struct ks_round_times *t, const struct ks_pair *p)
{
    double room =
        fmax(SINGLE_SHARE * p->many_ns, fmax(SINGLE_TICKS * t->clock_ns, SINGLE_LEAST_NS)) +
        t->wake_ns;

    return p->changed_ns > SINGLE_RATIO * p->many_ns + t->launch_ns + t->wake_ns ||
           p->changed_ns > p->same_ns + room;
}

static bool are_free(const struct ks_round_times *t)
{
    struct ks_pair p = { .changed_ns = t->single_ns[KS_CHECK_VERIFIED],
                         .same_ns = t->single_ns[KS_CHECK_PLACEBO] };
    struct ks_stats all;

    if (t->calls < 2 || t->n_singles[KS_CHECK_VERIFIED] < KS_SINGLES ||
        t->n_singles[KS_CHECK_PLACEBO] < KS_SINGLES || !stats_of(t, ALL, &all))
        return false;
    p.many_ns = all.median;
    return is_free(t, &p);
}

/* Caches that a check has disturbed cost a part of a sample, never as much as the sample again. */
static bool is_paused(const struct ks_round_times *t, const struct ks_pair *p)
{
    return p->changed_ns >
           SINGLE_RATIO * p->same_ns + (t->launch_ns + t->wake_ns) / (double)t->calls;
}

static bool are_paused(const struct ks_round_times *t)
{
    struct ks_stats placebos, others;
    struct ks_pair p;

    if (!stats_of(t, PLACEBO, &placebos) || !stats_of(t, NONE, &others))
        return false;
    p = (struct ks_pair){ .changed_ns = placebos.min, .same_ns = others.median };
    return is_paused(t, &p);
}

enum ks_doubt ks_trust_doubt(const struct ks_round_times *t)
{
    if (are_free(t))
        return KS_DOUBT_FREE;
    if (are_slower(t))
        return KS_DOUBT_SLOWER;
    return are_paused(t) ? KS_DOUBT_PAUSE : KS_DOUBT_NONE;
}

bool ks_trust_vote(enum ks_doubt doubt, const struct ks_round_times *t, const struct ks_pair *p)
{
    switch (doubt) {
    case KS_DOUBT_FREE:
        return is_free(t, p);
    case KS_DOUBT_PAUSE:
        return is_paused(t, p);
    default:
        return is_longer(t, p->changed_ns, p->same_ns);
    }
}

uint32_t ks_trust_pairs(double pair_ns, double max_ms)
{
    double n = pair_ns > 0.0 ? PAIRS_SHARE * 1e6 * max_ms / pair_ns : KS_TRUST_PAIRS;

    if (n >= KS_TRUST_PAIRS)
        return KS_TRUST_PAIRS;
    return n > KS_TRUST_PAIRS_LEAST ? (uint32_t)n : KS_TRUST_PAIRS_LEAST;
}

bool ks_trust_is_settled(uint32_t n_votes, uint32_t n)
{
    return n >= KS_TRUST_PAIRS_LEAST && n_votes >= SETTLED * n;
}

bool ks_trust_is_dispelled(uint32_t n_against, uint32_t n)
{
    return n_against > n || !ks_trust_is_settled(n - n_against, n);
}

void ks_trust_reason(enum ks_doubt doubt, const struct ks_pair *median, char *out, size_t cap)
{
    double changed_us = 1e-3 * median->changed_ns, same_us = 1e-3 * median->same_ns;

    if (doubt == KS_DOUBT_FREE)
        snprintf(
            out, cap,
            "repeated calls do no work: one call on new inputs takes %.4g us, one of many %.4g us",
            changed_us, 1e-3 * median->many_ns);
    else if (doubt == KS_DOUBT_PAUSE)
        snprintf(
            out, cap,
            "repeated calls do no work: %.4g us after a pause, %.4g us right after another call",
            changed_us, same_us);
    else
        snprintf(out, cap,
                 "verified samples take %.3g times as long as the others: %.4g us on new inputs, "
                 "%.4g us on inputs seen before",
                 changed_us / same_us, changed_us, same_us);
}
