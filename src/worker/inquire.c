/* SPDX-License-Identifier: MIT */
/* inquire.c - repeats pairs of samples when times raise a doubt, and settles it */
#include "worker/inquire.h"

#include "base/hash.h"
#include "record/stats.h"
#include "worker/measure_impl.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define TAKES 2 /* of each sample: the shortest counts, for noise makes times longer */

/* One sample; it is no part of the round. Its time belongs to the checks. */
static int take(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                enum ks_check_kind kind, double *call_ns_out, struct ks_err *err)
{
    struct ks_chunk c = { .calls = calls,
                          .n = 1,
                          .is_cold = m->cache == KS_CACHE_COLD,
                          .expected_ns = r->call_ns * calls };
    const struct ks_check check = { .kind = kind, .is_looked_at = kind != KS_CHECK_NONE };

    for (uint32_t n_failed = 0;;) {
        int rc = ks_chunk_run(r, &c, &check, err);

        r->checks_ns += c.cost_ns;
        if (rc == 0 && !ks_is_time(c.ns[0]))
            rc = ks_too_many_failed(++n_failed, err);
        else if (rc == 0)
            *call_ns_out = c.ns[0] / calls;
        if (rc != 0 || ks_is_time(c.ns[0]))
            return rc;
    }
}

static int take_shortest(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                         enum ks_check_kind kind, double *call_ns_out, struct ks_err *err)
{
    double best = INFINITY, ns = 0.0;
    int rc = 0;

    /* The one before a sample that is not checked must not have been looked at. */
    if (kind == KS_CHECK_NONE)
        rc = take(r, m, calls, kind, &ns, err);
    for (int i = 0; rc == 0 && i < TAKES; i++) {
        rc = take(r, m, calls, kind, &ns, err);
        best = fmin(best, ns);
    }
    *call_ns_out = best;
    return rc;
}

/* What each doubt compares. */
static const struct plan {
    enum ks_check_kind changed, same;
    bool is_single;
} plans[] = {
    [KS_DOUBT_FREE] = { KS_CHECK_VERIFIED, KS_CHECK_PLACEBO, true },
    [KS_DOUBT_SLOWER] = { KS_CHECK_VERIFIED, KS_CHECK_PLACEBO, false },
    [KS_DOUBT_PAUSE] = { KS_CHECK_PLACEBO, KS_CHECK_NONE, false },
};

/* In an order that nobody knows. */
static int take_pair(struct ks_run *r, const struct ks_measure *m, const struct plan *plan,
                     uint32_t many, struct ks_pair *p, struct ks_err *err)
{
    const bool is_changed_first = (ks_rng_next(&r->plan->rng) & 1) != 0;
    const uint32_t calls = plan->is_single ? 1 : many;
    int rc = 0;

    if (is_changed_first)
        rc = take_shortest(r, m, calls, plan->changed, &p->changed_ns, err);
    if (rc == 0)
        rc = take_shortest(r, m, calls, plan->same, &p->same_ns, err);
    if (rc == 0 && !is_changed_first)
        rc = take_shortest(r, m, calls, plan->changed, &p->changed_ns, err);
    if (rc == 0 && plan->is_single)
        rc = take_shortest(r, m, many, KS_CHECK_NONE, &p->many_ns, err);
    return rc;
}

static double median_of(const struct ks_pair *p, uint32_t n, size_t at)
{
    double v[KS_TRUST_PAIRS], scratch[KS_TRUST_PAIRS];
    struct ks_stats s;

    for (uint32_t i = 0; i < n; i++)
        memcpy(&v[i], (const char *)&p[i] + at, sizeof(v[i]));
    ks_stats(v, n, 0.0, 1, scratch, &s);
    return s.median;
}

int ks_inquire(struct ks_run *r, const struct ks_measure *m, enum ks_doubt doubt,
               const struct ks_round_times *t, struct ks_inquiry *out, struct ks_err *err)
{
    struct ks_pair p[KS_TRUST_PAIRS] = { { 0 } };
    uint32_t n = KS_TRUST_PAIRS, i = 0, n_votes = 0;

    while (i < n && !ks_trust_is_dispelled(i - n_votes, n)) {
        int rc = take_pair(r, m, &plans[doubt], t->calls, &p[i], err);

        if (rc != 0)
            return rc;
        n_votes += ks_trust_vote(doubt, t, &p[i]);
        if (i++ == 0)
            n = ks_trust_pairs((p[0].changed_ns + p[0].same_ns) * TAKES * t->calls, m->max_ms);
    }
    out->is_settled = ks_trust_is_settled(n_votes, i);
    out->median.changed_ns = median_of(p, i, offsetof(struct ks_pair, changed_ns));
    out->median.same_ns = median_of(p, i, offsetof(struct ks_pair, same_ns));
    out->median.many_ns = median_of(p, i, offsetof(struct ks_pair, many_ns));
    return 0;
}
