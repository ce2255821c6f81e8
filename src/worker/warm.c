/* SPDX-License-Identifier: MIT */
/* warm.c - the warm-up: how long a call takes, and until when. */
#include "worker/measure_impl.h"

#include "base/clock.h"
#include "record/stats.h"

#include <math.h>

/* The median calls of the last chunks of a warm-up. */
struct steady {
    double call_ns[KS_STEADY_CHUNKS];
    uint32_t n;
    double clock_mhz; /* when they last agreed; 0 = they did not */
    bool is_steady;
};

static bool agree(const double *v, uint32_t n)
{
    double lo = v[0], hi = v[0];

    for (uint32_t i = 1; i < n; i++) {
        lo = fmin(lo, v[i]);
        hi = fmax(hi, v[i]);
    }
    return hi - lo <= KS_STEADY * hi;
}

/* A look at the telemetry costs as much as many launches: the times must agree first. */
static void steady_add(struct steady *s, struct ks_run *r, const struct ks_chunk *c,
                       uint32_t n_good)
{
    double scratch[KS_CHUNK_MAX], clocks[2] = { s->clock_mhz };
    struct ks_telemetry t;
    struct ks_stats stats;

    ks_stats(c->ns, n_good, r->clock_ns, c->calls, scratch, &stats);
    s->call_ns[s->n++ % KS_STEADY_CHUNKS] = stats.median / c->calls;
    s->clock_mhz = 0.0;
    if (s->n < KS_STEADY_CHUNKS || !agree(s->call_ns, KS_STEADY_CHUNKS))
        return;
    r->dev->ops->telemetry(r->dev, &t);
    clocks[1] = t.now.clock_mhz;
    s->is_steady = t.now.clock_mhz < 0.0 || (clocks[0] > 0.0 && agree(clocks, 2));
    s->clock_mhz = t.now.clock_mhz;
}

struct warming {
    double target_ns, best_ns, sum_ns; /* best: of one call */
    uint32_t n_failed, n_chunks;
    bool is_cold, is_known; /* how many calls make a sample */
    struct steady steady;
};

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
        steady_add(&w->steady, r, c, n_good);
    /* A batch much shorter than a sample says little about one call: try a longer one. */
    w->is_known = w->is_cold || shortest >= w->target_ns / 2 || c->calls == KS_CALLS_MAX;
    if (!w->is_cold)
        c->calls = ks_calls_per_sample(w->best_ns, w->target_ns);
    c->n = w->is_known ? ks_chunk_samples(queue, w->best_ns * c->calls, KS_CHUNK_MAX) : 1;
    c->expected_ns = w->best_ns * c->calls * c->n;
    return 0;
}

int ks_measure_warm(struct ks_run *r, const struct ks_measure *m, uint32_t *calls_out,
                    struct ks_err *err)
{
    struct warming w = { .target_ns = ks_sample_target_ns(m, r->clock_ns),
                         .best_ns = INFINITY,
                         .is_cold = m->cache == KS_CACHE_COLD };
    struct ks_chunk c = { .calls = 1, .n = 1 };
    double checks_ns = r->checks_ns;
    uint64_t from = ks_now_ns();

    do {
        int rc = warm_chunk(r, &w, &c, err);

        if (rc != 0)
            return rc;
    } while (!w.is_known || (!w.steady.is_steady &&
                             ks_elapsed_ns(r, from, checks_ns, w.sum_ns) < 1e6 * m->warmup_ms));
    r->call_ns = w.best_ns;
    *calls_out = c.calls;
    return 0;
}
