/* SPDX-License-Identifier: MIT */
/* cell_timed.c - a cell's phases on random data: warm-up, timing, and what can be said of its
 * times.
 */
#include "base/clock.h"
#include "record/stats.h"
#include "worker/cell_impl.h"
#include "worker/inquire.h"

/* What one call may cost that one of many does not: caches and queues that are empty. */
#define LAUNCH_NS       2e3
#define LAUNCH_QUEUE_NS 20e3 /* where the host launches ahead of the device */

static bool verifies_real(const struct ks_worker *w)
{
    return w->setup.measure.verify_elementwise && !w->dev->ops->is_virtual;
}

static void prepare_checks(struct cell *c)
{
    struct ks_worker *w = c->w;

    w->rec.check_seed = w->next_check_seed != 0 ? w->next_check_seed : ks_id128_random().lo | 1u;
    w->next_check_seed = 0;
    ks_checks_begin(&c->checks, w, c->req->numerics, w->rec.check_seed);
    if (c->req->n_visit > 0)
        ks_plan_visit(&c->checks.plan, c->req->is_again == 0);
    c->run.plan = &c->checks.plan;
    c->run.hooks = (struct ks_check_hooks){ ks_checks_before, ks_checks_after, &c->checks };
}

/* The time of the checks that stood between the samples is verification's; a check that ended the
 * cell says how. */
static int leave_checked_phase(struct cell *c, int rc, uint64_t *phase_ns, double checks_ns)
{
    uint64_t spent = (uint64_t)(c->run.checks_ns - checks_ns);

    *phase_ns -= spent; /* the phase's own time is added when it is over */
    c->w->rec.tolerance_check_ns += spent;
    return rc == 1 ? ks_cell_end_as(c, (enum ks_outcome)c->checks.outcome, 0, c->checks.reason)
                   : rc;
}

int ks_cell_warm(struct cell *c, struct ks_err *err)
{
    int rc;

    ks_cell_prepare_run(c, KS_DATA_RANDOM);
    if (verifies_real(c->w))
        prepare_checks(c);
    rc = ks_measure_warm(&c->run, &c->w->setup.measure, &c->calls, err);
    c->w->rec.warmup_end = c->run.warm_end;
    return leave_checked_phase(c, rc, &c->w->rec.warmup_ns, 0.0);
}

static void plan_anew(struct cell *c)
{
    ks_plan_init(&c->checks.plan, ks_rng_next(&c->checks.rng));
    if (c->req->n_visit > 0)
        ks_plan_visit(&c->checks.plan, c->req->is_again == 0);
}

/* The clock changed while samples were taken: the warm-up was too brief. What was spent on them
 * was part of it. */
static int measure_settled(struct cell *c, uint64_t from, double checks_ns, struct ks_err *err)
{
    struct ks_worker *w = c->w;
    uint64_t spent;
    int rc;

    c->run.must_settle = true;
    if (c->run.plan != NULL)
        plan_anew(c);
    rc = ks_measure_warm(&c->run, &w->setup.measure, &c->calls, err);
    w->rec.warmup_end = c->run.warm_end;
    spent = ks_now_ns() - from - (uint64_t)(c->run.checks_ns - checks_ns);
    w->rec.warmup_ns += spent;
    w->rec.timing_ns -= spent; /* all of the phase is added when it is over */
    if (rc == 0)
        rc = ks_measure_samples(&c->run, &w->setup.measure, c->calls, &c->round, &w->rec, err);
    return rc;
}

int ks_cell_timing(struct cell *c, struct ks_err *err)
{
    struct ks_worker *w = c->w;
    const uint64_t from = ks_now_ns();
    double ns = 0.0, checks_ns = c->run.checks_ns;
    int rc = ks_measure_samples(&c->run, &w->setup.measure, c->calls, &c->round, &w->rec, err);

    if (rc == 0 && c->run.warm_end == KS_WARM_FLAT && c->run.meter != NULL &&
        !ks_meter_is_steady(c->run.meter, KS_FLAT))
        rc = measure_settled(c, from, checks_ns, err);
    if (rc == 0)
        rc = w->dev->ops->canary(w->dev, &ns, err);
    if (rc == 0 && w->canary_ns > 0)
        w->rec.canary_ratio = ns / w->canary_ns;
    return leave_checked_phase(c, rc, &w->rec.timing_ns, checks_ns);
}

static double median(const double *v, uint32_t n)
{
    double scratch[KS_SINGLES_MAX];
    struct ks_stats s = { 0 };

    if (n > 0)
        ks_stats(v, n, 0.0, 1, scratch, &s);
    return s.median;
}

static struct ks_round_times times_of(const struct cell *c)
{
    const struct ks_record *r = &c->w->rec;
    struct ks_round_times t = {
        .ns = r->sample_ns,
        .kind = c->round.kind,
        .n = r->n_samples,
        .calls = r->calls_per_sample,
        .clock_ns = r->clock_resolution_ns,
        .launch_ns = c->w->dev->ops->queue > 1 ? LAUNCH_QUEUE_NS : LAUNCH_NS,
        .wake_ns = ks_trust_wake_ns(c->req->threads),
    };

    for (uint32_t kind = 0; kind < KS_CHECK_KINDS; kind++) {
        uint32_t n = c->round.n_singles[kind];

        t.n_singles[kind] = n;
        t.single_ns[kind] =
            median(c->round.single_ns[kind], n < KS_SINGLES_MAX ? n : KS_SINGLES_MAX);
    }
    return t;
}

/* Whether what was timed is what was verified, as far as times tell. */
static int check_times(struct cell *c, struct ks_err *err)
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
    if (rc < 0 || !q.is_settled)
        return rc;
    ks_trust_reason(doubt, &q.median, reason, sizeof(reason));
    return ks_cell_end_as(c, KS_O_UNTRUSTED, 0, reason);
}

/* What the checks between the samples have left to do. */
int ks_cell_verify(struct cell *c, struct ks_err *err)
{
    int rc = c->w->dev->ops->is_virtual ? 0 : ks_cell_check_guards(c, err);

    if (rc == 0 && verifies_real(c->w))
        rc = check_times(c, err);
    return rc;
}
