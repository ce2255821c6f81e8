/* SPDX-License-Identifier: MIT */
/* warm.c - the warm-up: how long a call takes, and until when. */
#include "worker/measure_impl.h"

#include "base/clock.h"
#include "record/stats.h"

#include <math.h>

enum { RING = 64 };
#define SD_OVER_MAD  1.4826 /* of a normal distribution */
#define SD_OF_MEDIAN 1.2533 /* of one value, in standard deviations over sqrt(n) */
#define BRIEF_CHUNKS 4      /* of a brief warm-up fit into one of usual length */

/* The last chunks of a warm-up: the median call of each, the clock meanwhile (KS_UNKNOWN: not
 * measured), and when it ended. */
struct flat {
    double call_ns[RING], mhz[RING], at_ns[RING];
    uint32_t n;
    double told_mhz, looked_ns; /* by the driver at the last look; 0: there was none */
    bool is_flat;
};

static bool agree(double a, double b)
{
    return fabs(a - b) <= KS_FLAT * fmax(a, b);
}

static struct ks_stats stats_of(const double *ring, uint32_t first, uint32_t n)
{
    double v[RING], scratch[RING];
    struct ks_stats stats;

    for (uint32_t i = 0; i < n; i++)
        v[i] = ring[(first + i) % RING];
    ks_stats(v, n, 0.0, 1, scratch, &stats);
    return stats;
}

/* How many of the last chunks make a window: so long, and KS_FLAT_CHUNKS of them however long they
 * are. 0: there are not yet so many. */
static uint32_t window_of(const struct flat *f, double window_ns)
{
    const double now_ns = f->at_ns[(f->n - 1) % RING];

    for (uint32_t n = KS_FLAT_CHUNKS; n <= RING && n <= f->n; n++)
        if (n == RING || now_ns - f->at_ns[(f->n - n) % RING] >= window_ns)
            return n;
    return 0;
}

/* Medians of halves: one chunk that was disturbed does not keep a warm-up going. Nor does noise:
 * two standard deviations of a difference of medians, from the scatter within the halves, which a
 * step or a trend does not widen. */
static bool is_window_flat(const struct flat *f, const double *ring, uint32_t n)
{
    struct ks_stats a, b;
    double sd;

    if (n == 0)
        return false;
    a = stats_of(ring, f->n - n, n / 2);
    b = stats_of(ring, f->n - n / 2, n / 2);
    sd = SD_OVER_MAD * (a.mad + b.mad) / 2 * SD_OF_MEDIAN * sqrt(2.0 / (n / 2));
    return agree(a.median, b.median) || fabs(a.median - b.median) <= 2 * sd;
}

/* What the driver says, where the clock is not measured. A look costs as much as many launches: one
 * at the start, others when the times are flat, half a window apart. */
static void look_at_clock(struct flat *f, struct ks_run *r, double now_ns)
{
    const double before = f->told_mhz;
    struct ks_telemetry t;

    if (before != 0.0 && now_ns - f->looked_ns < KS_FLAT_NS / 2)
        return;
    r->dev->ops->telemetry(r->dev, false, &t);
    f->told_mhz = t.now.clock_mhz;
    f->looked_ns = now_ns;
    f->is_flat = f->n > 1 && (t.now.clock_mhz < 0.0 || agree(before, t.now.clock_mhz));
}

static bool is_brief(const struct ks_run *r)
{
    return r->meter != NULL && !r->must_settle;
}

static void flat_add(struct flat *f, struct ks_run *r, const struct ks_chunk *c, uint32_t n_good,
                     double now_ns)
{
    const double mhz = r->meter != NULL ? r->meter->chunk_mhz : KS_UNKNOWN;
    double scratch[KS_CHUNK_MAX];
    struct ks_stats stats;
    uint32_t n;
    bool are_times_flat;

    ks_stats(c->ns, n_good, r->clock_ns, c->calls, scratch, &stats);
    f->call_ns[f->n % RING] = stats.median / c->calls;
    f->mhz[f->n % RING] = mhz;
    f->at_ns[f->n++ % RING] = now_ns;
    n = window_of(f, mhz > 0.0 && is_brief(r) ? KS_FLAT_BRIEF_NS : KS_FLAT_NS);
    are_times_flat = is_window_flat(f, f->call_ns, n);
    if (mhz > 0.0)
        f->is_flat = are_times_flat && is_window_flat(f, f->mhz, n);
    else if (f->n == 1 || are_times_flat)
        look_at_clock(f, r, now_ns);
}

struct warming {
    double target_ns, best_ns, sum_ns; /* best: of one call */
    uint32_t n_failed, n_chunks;
    bool is_cold, is_known; /* how many calls make a sample */
    uint64_t from_ns;
    double checks_ns; /* r->checks_ns at from_ns */
    struct flat flat;
};

static double elapsed_ns(const struct ks_run *r, const struct warming *w)
{
    return ks_elapsed_ns(r, w->from_ns, w->checks_ns, w->sum_ns);
}

/* One chunk of a warm-up; c->calls and c->n for the next. */
static int warm_chunk(struct ks_run *r, struct warming *w, struct ks_chunk *c, struct ks_err *err)
{
    uint32_t n_good, queue = r->dev->ops->queue;
    struct ks_check check = { .kind = KS_CHECK_NONE };
    double shortest = INFINITY;
    int rc;

    if (r->plan != NULL)
        check = ks_plan_warm(r->plan, w->n_chunks, c->expected_ns);
    w->n_chunks++;
    rc = ks_chunk_run(r, c, &check, err);
    if (rc != 0)
        return rc;
    n_good = ks_chunk_keep_good(c);
    w->n_failed += c->n - n_good;
    if (n_good == 0)
        return ks_too_many_failed(w->n_failed, err);
    for (uint32_t i = 0; i < n_good; i++) {
        w->sum_ns += c->ns[i];
        shortest = fmin(shortest, c->ns[i]);
    }
    w->best_ns = fmin(w->best_ns, shortest / c->calls);
    if (queue > 1 && w->is_known)
        flat_add(&w->flat, r, c, n_good, elapsed_ns(r, w));
    /* A batch much shorter than a sample says little about one call: try a longer one. */
    w->is_known = w->is_cold || shortest >= w->target_ns / 2 || c->calls == KS_CALLS_MAX;
    if (!w->is_cold)
        c->calls = ks_calls_per_sample(w->best_ns, w->target_ns);
    c->n = w->is_known ? ks_chunk_samples(queue, KS_CHUNK_NS,
                                          (is_brief(r) ? BRIEF_CHUNKS : 1) * w->best_ns * c->calls,
                                          KS_CHUNK_MAX)
                       : 1;
    c->expected_ns = w->best_ns * c->calls * c->n;
    return 0;
}

/* KS_WARM_NONE: it goes on. */
static enum ks_warm_end end_of(const struct ks_run *r, const struct warming *w,
                               const struct ks_measure *m)
{
    const bool may_wait = r->dev->ops->queue > 1 && m->warmup_ms > 0;
    const double most_ms =
        may_wait ? fmax(KS_WARM_FLAT_MAX_MS, m->warmup_ms) : (double)m->warmup_ms;

    if (!w->is_known)
        return KS_WARM_NONE;
    if (w->flat.is_flat)
        return KS_WARM_FLAT;
    if (elapsed_ns(r, w) < 1e6 * most_ms)
        return KS_WARM_NONE;
    return may_wait ? KS_WARM_LIMIT : KS_WARM_TIME;
}

int ks_measure_warm(struct ks_run *r, const struct ks_measure *m, uint32_t *calls_out,
                    struct ks_err *err)
{
    struct warming w = { .target_ns = ks_sample_target_ns(m, r->clock_ns),
                         .best_ns = INFINITY,
                         .is_cold = m->cache == KS_CACHE_COLD,
                         .from_ns = ks_now_ns(),
                         .checks_ns = r->checks_ns };
    struct ks_chunk c = { .calls = 1, .n = 1 };

    r->warm_end = KS_WARM_NONE;
    while (r->warm_end == KS_WARM_NONE) {
        int rc = warm_chunk(r, &w, &c, err);

        if (rc != 0)
            return rc;
        r->warm_end = end_of(r, &w, m);
    }
    r->call_ns = w.best_ns;
    *calls_out = c.calls;
    return 0;
}
