/* SPDX-License-Identifier: MIT */
/* cell_timed.c - a cell's phases on random data: warm-up, timing, and what can be said of its
 * times.
 */
#include "worker/cell_impl.h"
#include "worker/inquire.h"

#include <string.h>

/* What one call may cost that one of many does not: caches and queues that are empty. */
#define LAUNCH_NS       5e3
#define LAUNCH_QUEUE_NS 50e3 /* where the host launches ahead of the device */

static bool verifies_real(const struct ks_worker *w)
{
    return w->setup.measure.verify_elementwise && !w->dev->ops->is_virtual;
}

static void prepare_checks(struct ks_cell_run *c)
{
    struct ks_worker *w = c->w;

    w->rec.check_seed = w->next_check_seed != 0 ? w->next_check_seed : ks_id128_random().lo | 1u;
    w->next_check_seed = 0;
    ks_checks_begin(&c->checks, w, c->req->numerics, w->rec.check_seed);
    c->run.plan = &c->checks.plan;
    c->run.hooks = (struct ks_check_hooks){ ks_checks_before, ks_checks_after, &c->checks };
}

/* The time of the checks that stood between the samples is verification's; a check that ended the
 * cell says how. */
static int leave_checked_phase(struct ks_cell_run *c, int rc, uint64_t *phase_ns, double checks_ns)
{
    uint64_t spent = (uint64_t)(c->run.checks_ns - checks_ns);

    *phase_ns -= spent; /* the phase's own time is added when it is over */
    c->w->rec.verify_ns += spent;
    return rc == 1 ? ks_cell_end_as(c, (enum ks_outcome)c->checks.outcome, 0, c->checks.reason)
                   : rc;
}

int ks_cell_warm(struct ks_cell_run *c, struct ks_err *err)
{
    int rc;

    ks_cell_prepare_run(c, KS_DATA_RANDOM);
    if (verifies_real(c->w))
        prepare_checks(c);
    rc = ks_measure_warm(&c->run, &c->w->setup.measure, &c->calls, err);
    return leave_checked_phase(c, rc, &c->w->rec.warmup_ns, 0.0);
}

int ks_cell_timing(struct ks_cell_run *c, struct ks_err *err)
{
    struct ks_worker *w = c->w;
    double ns = 0.0, checks_ns = c->run.checks_ns;
    int rc = ks_measure_samples(&c->run, &w->setup.measure, c->calls, &c->round, &w->rec, err);

    if (rc == 0)
        rc = w->dev->ops->canary(w->dev, &ns, err);
    if (rc == 0 && w->canary_ns > 0)
        w->rec.canary_ratio = ns / w->canary_ns;
    return leave_checked_phase(c, rc, &w->rec.timing_ns, checks_ns);
}

static struct ks_round_times times_of(const struct ks_cell_run *c)
{
    const struct ks_record *r = &c->w->rec;
    struct ks_round_times t = {
        .ns = r->sample_ns,
        .kind = c->round.kind,
        .n = r->n_samples,
        .calls = r->calls,
        .clock_ns = r->clock_ns,
        .launch_ns = c->w->dev->ops->queue > 1 ? LAUNCH_QUEUE_NS : LAUNCH_NS,
    };

    memcpy(t.n_singles, c->round.n_singles, sizeof(t.n_singles));
    memcpy(t.single_ns, c->round.single_ns, sizeof(t.single_ns));
    return t;
}

/* Whether what was timed is what was verified, as far as times tell. */
static int judge_times(struct ks_cell_run *c, struct ks_err *err)
{
    struct ks_worker *w = c->w;
    struct ks_round_times t = times_of(c);
    enum ks_doubt doubt = ks_trust_doubt(&t);
    struct ks_inquiry q;
    char reason[160];
    int rc;

    w->rec.verified_over_timed = ks_verified_over_timed(&t);
    if (doubt == KS_DOUBT_NONE)
        return 0;
    rc = ks_inquire(&c->run, &w->setup.measure, doubt, &t, &q, err);
    if (rc == 1)
        return ks_cell_end_as(c, (enum ks_outcome)c->checks.outcome, 0, c->checks.reason);
    if (rc < 0 || !ks_trust_is_settled(q.n_votes, q.n))
        return rc;
    ks_trust_reason(doubt, &q.median, reason, sizeof(reason));
    return ks_cell_end_as(c, KS_O_UNTRUSTED, 0, reason);
}

/* What the checks between the samples have left to do. */
int ks_cell_verify(struct ks_cell_run *c, struct ks_err *err)
{
    int rc = c->w->dev->ops->is_virtual ? 0 : ks_cell_check_guards(c, err);

    if (rc == 0 && verifies_real(c->w))
        rc = judge_times(c, err);
    return rc;
}
