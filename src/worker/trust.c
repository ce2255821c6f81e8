/* SPDX-License-Identifier: MIT */
#include "worker/trust.h"

#include "record/record.h"
#include "record/stats.h"

#include <math.h>
#include <stdio.h>

#define SINGLE_RATIO    2.0   /* one call and one of many agree to within this and a launch */
#define SINGLE_SHARE    0.25  /* of a call: what new inputs may cost more than the same ones */
#define SINGLE_TICKS    4.0   /* but never less than the clock tells apart */
#define SINGLE_LEAST_NS 200.0 /* nor than a few cache misses */

#define BIT(kind) (1u << (kind))
enum {
    VERIFIED = BIT(KS_CHECK_VERIFIED),
    PLACEBO = BIT(KS_CHECK_PLACEBO),
    UNCHANGED = BIT(KS_CHECK_PLACEBO) | BIT(KS_CHECK_NONE),
    OTHERS = UNCHANGED | BIT(KS_CHECK_FRESH),
    ALL = OTHERS | VERIFIED
};

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
    return ns > KS_TRUST_RATIO * than_ns + 2.0 * t->clock_ns / (double)t->calls;
}

bool ks_verified_are_slower(const struct ks_round_times *t, char *why_out, size_t cap)
{
    struct ks_stats verified, others, some;

    if (!stats_of(t, VERIFIED, &verified) || verified.n < KS_TRUST_VERIFIED ||
        !stats_of(t, OTHERS, &others) || !is_longer(t, verified.min, others.median))
        return false;
    if (stats_of(t, PLACEBO, &some) && !is_longer(t, verified.min, some.median))
        return false;
    if (stats_of(t, UNCHANGED, &some) && verified.min <= some.p90)
        return false;
    snprintf(why_out, cap,
             "verified samples take %.3g times the others, %.4g us each: it does less when its "
             "inputs have been seen",
             verified.median / others.median, 1e-3 * verified.median);
    return true;
}

static void say_free(const char *what, double single_ns, double call_ns, char *why_out, size_t cap)
{
    snprintf(why_out, cap, "repeats are free: one call %s takes %.4g us, one of many %.4g us", what,
             1e-3 * single_ns, 1e-3 * call_ns);
}

bool ks_repeats_are_free(const struct ks_round_times *t, char *why_out, size_t cap)
{
    double fresh = t->single_ns[KS_CHECK_FRESH], same = t->single_ns[KS_CHECK_PLACEBO];
    struct ks_stats all;
    double room;

    if (t->calls < 2 || t->n_singles[KS_CHECK_FRESH] < KS_SINGLES || !stats_of(t, ALL, &all))
        return false;
    if (fresh > SINGLE_RATIO * all.median + t->launch_ns) {
        say_free("alone", fresh, all.median, why_out, cap);
        return true;
    }
    room = fmax(SINGLE_SHARE * all.median, fmax(SINGLE_TICKS * t->clock_ns, SINGLE_LEAST_NS));
    if (t->n_singles[KS_CHECK_PLACEBO] < KS_SINGLES || fresh - same <= room)
        return false;
    say_free("on new inputs", fresh, all.median, why_out, cap);
    return true;
}
