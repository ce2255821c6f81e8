/* SPDX-License-Identifier: MIT */
#include "worker/inquire.h"

#include "base/hash.h"
#include "record/stats.h"
#include "worker/measure_impl.h"

/* One sample; it is no part of the round. Its time belongs to the checks. */
static int take(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                enum ks_check_kind kind, double *call_ns_out, struct ks_err *err)
{
    struct ks_chunk c = { .calls = calls, .n = 1, .is_cold = m->cache == KS_CACHE_COLD };
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

/* A sample before which nothing was done at all: the one before it was not looked at. */
static int take_plain(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                      double *call_ns_out, struct ks_err *err)
{
    int rc = take(r, m, calls, KS_CHECK_NONE, call_ns_out, err);

    return rc == 0 ? take(r, m, calls, KS_CHECK_NONE, call_ns_out, err) : rc;
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
    int rc = is_changed_first ? take(r, m, calls, plan->changed, &p->changed_ns, err) : 0;

    if (rc == 0 && plan->same == KS_CHECK_NONE)
        rc = take_plain(r, m, calls, &p->same_ns, err);
    else if (rc == 0)
        rc = take(r, m, calls, plan->same, &p->same_ns, err);
    if (rc == 0 && !is_changed_first)
        rc = take(r, m, calls, plan->changed, &p->changed_ns, err);
    if (rc == 0 && plan->is_single)
        rc = take_plain(r, m, many, &p->many_ns, err);
    return rc;
}

static double median_of(const double *v, uint32_t n)
{
    double scratch[KS_TRUST_PAIRS];
    struct ks_stats s;

    ks_stats(v, n, 0.0, 1, scratch, &s);
    return s.median;
}

int ks_inquire(struct ks_run *r, const struct ks_measure *m, enum ks_doubt doubt,
               const struct ks_round_times *t, struct ks_inquiry *out, struct ks_err *err)
{
    double changed[KS_TRUST_PAIRS], same[KS_TRUST_PAIRS], many[KS_TRUST_PAIRS];
    struct ks_inquiry q = { .n = KS_TRUST_PAIRS };
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < q.n; i++) {
        struct ks_pair p = { 0 };

        rc = take_pair(r, m, &plans[doubt], t->calls, &p, err);
        changed[i] = p.changed_ns;
        same[i] = p.same_ns;
        many[i] = p.many_ns;
        q.n_votes += rc == 0 && ks_trust_vote(doubt, t, &p);
        if (i == 0)
            q.n = ks_trust_pairs((p.changed_ns + p.same_ns + p.many_ns) * t->calls, m->max_ms);
    }
    if (rc != 0)
        return rc;
    q.median =
        (struct ks_pair){ median_of(changed, q.n), median_of(same, q.n), median_of(many, q.n) };
    *out = q;
    return 0;
}
