/* SPDX-License-Identifier: MIT */
#include "worker/measure.h"

#include "base/clock.h"
#include "record/stats.h"

#include <math.h>
#include <sys/resource.h>

static int run_sample(struct ks_run *r, uint32_t calls, bool is_cold, double expected_ns,
                      double *ns_out, struct ks_err *err)
{
    const struct ks_timing t = { .entry = r->entry,
                                 .problem = r->problem,
                                 .buf = &r->buf,
                                 .calls = calls,
                                 .n_samples = 1,
                                 .is_cold = is_cold };
    int rc;

    r->before(r->ctx, expected_ns);
    rc = r->dev->ops->time_samples(r->dev, &t, ns_out, &r->kernel_rc, err);
    r->after(r->ctx);
    return rc;
}

int ks_run_calls(struct ks_run *r, uint32_t calls, double expected_ns, double *ns_out,
                 struct ks_err *err)
{
    return run_sample(r, calls, false, expected_ns, ns_out, err);
}

double ks_sample_target_ns(const struct ks_measure *m, double clock_ns)
{
    double wanted = m->min_sample_us > 0 ? 1e3 * m->min_sample_us : KS_SAMPLE_MIN_NS;

    return fmax(wanted, KS_SAMPLE_TICKS * clock_ns);
}

uint32_t ks_calls_per_sample(double call_ns, double target_ns)
{
    double calls = ceil(target_ns / call_ns);

    if (!(calls > 1.0))
        return 1;
    return calls < KS_CALLS_MAX ? (uint32_t)calls : KS_CALLS_MAX;
}

static bool is_time(double ns)
{
    return isfinite(ns) && ns > 0.0;
}

static int too_many_failed(uint32_t n_failed, struct ks_err *err)
{
    if (n_failed <= KS_SAMPLES_FAILED)
        return 0;
    return ks_fail(err, KS_ETIMEOUT, "%u samples had no positive time", n_failed);
}

/* Wall time or the device's own, whichever is ahead: a simulated device does not wait. */
static double elapsed_ns(uint64_t from, double device_ns)
{
    return fmax((double)(ks_now_ns() - from), device_ns);
}

int ks_measure_warm(struct ks_run *r, const struct ks_measure *m, uint32_t *calls_out,
                    struct ks_err *err)
{
    double target = ks_sample_target_ns(m, r->clock_ns);
    double best = INFINITY, sum = 0.0, ns = 0.0, until = 1e6 * m->warmup_ms;
    uint64_t from = ks_now_ns();
    uint32_t calls = 1, n_failed = 0;
    bool is_known = false;

    do {
        int rc = ks_run_calls(r, calls, isfinite(best) ? best * calls : 0.0, &ns, err);

        if (rc == 0 && !is_time(ns))
            rc = too_many_failed(++n_failed, err);
        if (rc < 0)
            return rc;
        if (!is_time(ns))
            continue;
        sum += ns;
        best = fmin(best, ns / calls);
        /* A batch much shorter than a sample says little about one call: try a longer one. */
        is_known = m->cache == KS_CACHE_COLD || ns >= target / 2 || calls == KS_CALLS_MAX;
        if (m->cache != KS_CACHE_COLD)
            calls = ks_calls_per_sample(best, target);
    } while (!is_known || elapsed_ns(from, sum) < until);
    *calls_out = calls;
    return 0;
}

enum ks_stop ks_stop_rule(const struct ks_measure *m, const struct ks_progress *p)
{
    if (p->n >= m->max_samples || p->n >= KS_SAMPLES_MAX)
        return KS_STOP_MAX_SAMPLES;
    if (p->n < m->min_samples)
        return KS_STOP_NONE;
    if (p->elapsed_ns >= 1e6 * m->max_ms)
        return KS_STOP_MAX_TIME;
    if (p->sum_ns >= KS_TIMED_MIN_NS && p->rse <= m->target_rse)
        return KS_STOP_TARGET;
    return KS_STOP_NONE;
}

static double relative_error(const struct ks_record *rec)
{
    double scratch[KS_SAMPLES_MAX];
    struct ks_stats s;

    ks_stats(rec->sample_ns, rec->n_samples, rec->clock_ns, rec->calls, scratch, &s);
    return s.se / s.median;
}

static int one_sample(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                      double expected_ns, double *ns_out, struct ks_err *err)
{
    return run_sample(r, calls, m->cache == KS_CACHE_COLD, expected_ns, ns_out, err);
}

static int sample_loop(struct ks_run *r, const struct ks_measure *m, bool has_poisoned,
                       struct ks_record *rec, struct ks_err *err)
{
    struct ks_progress p = { .rse = INFINITY };
    uint32_t n_failed = 0, next_look = 0;
    uint64_t from = ks_now_ns();
    double ns = 0.0;

    while (rec->stop == KS_STOP_NONE) {
        int rc = one_sample(r, m, rec->calls, ns, &ns, err);

        if (rc == 0 && !is_time(ns))
            rc = too_many_failed(++n_failed, err);
        if (rc < 0)
            return rc;
        if (!is_time(ns))
            continue;
        rec->sample_ns[rec->n_samples++] = ns / rec->calls;
        p.n = rec->n_samples + (has_poisoned ? 1 : 0);
        p.sum_ns += ns;
        p.elapsed_ns = elapsed_ns(from, p.sum_ns);
        if (p.n >= m->min_samples && p.sum_ns >= KS_TIMED_MIN_NS && p.n >= next_look) {
            p.rse = relative_error(rec); /* sorts: so look rarely as samples become many */
            next_look = p.n + 1 + p.n / 8;
        }
        rec->stop = ks_stop_rule(m, &p);
    }
    return 0;
}

int ks_measure_samples(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                       bool has_poisoned, struct ks_record *rec, struct ks_err *err)
{
    struct rusage before = { 0 }, after = { 0 };
    uint64_t cpu, span;
    int rc;

    rec->calls = calls;
    rec->clock_ns = r->clock_ns;
    rec->n_samples = 0;
    rec->stop = KS_STOP_NONE;
    getrusage(RUSAGE_THREAD, &before);
    cpu = ks_thread_cpu_ns();
    span = ks_now_ns();
    rc = sample_loop(r, m, has_poisoned, rec, err);
    rec->span_ns = ks_now_ns() - span;
    rec->cpu_ns = ks_thread_cpu_ns() - cpu;
    getrusage(RUSAGE_THREAD, &after);
    rec->involuntary_switches = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
    if (rc < 0)
        rec->stop = KS_STOP_FAILED;
    return rc;
}

bool ks_is_poison_effect(const double *others, size_t n, double sample_ns, double clock_ns,
                         uint32_t calls)
{
    double scratch[KS_SAMPLES_MAX];
    struct ks_stats s;

    if (n == 0)
        return false;
    ks_stats(others, n, clock_ns, calls, scratch, &s);
    return fabs(sample_ns - s.median) >
           3.0 * fmax(s.mad, fmax(0.01 * s.median, clock_ns / (double)calls));
}

/* After poisoning, the caches hold the output's lines and nothing else of use. */
static int restore_condition(struct ks_run *r, const struct ks_measure *m, struct ks_err *err)
{
    const struct ks_device_ops *ops = r->dev->ops;
    int rc;

    if (m->cache == KS_CACHE_COLD)
        return 0; /* one_sample flushes */
    rc = ops->touch(r->dev, r->buf.a, r->bytes_a, err);
    if (rc == 0)
        rc = ops->touch(r->dev, r->buf.b, r->bytes_b, err);
    if (rc == 0)
        rc = ops->touch(r->dev, r->buf.c, r->bytes_c, err);
    return rc;
}

int ks_measure_poisoned(struct ks_run *r, const struct ks_measure *m, struct ks_record *rec,
                        struct ks_err *err)
{
    double expected = rec->n_samples > 0 ? rec->sample_ns[0] * rec->calls : 0.0;
    double ns = 0.0;
    int rc = restore_condition(r, m, err);

    if (rc == 0)
        rc = one_sample(r, m, rec->calls, expected, &ns, err);
    if (rc < 0 || !is_time(ns))
        return rc;
    ns /= rec->calls;
    if (ks_is_poison_effect(rec->sample_ns, rec->n_samples, ns, rec->clock_ns, rec->calls))
        rec->flags |= KS_FL_POISON_EFFECT;
    rec->poison_sample_ns = ns;
    if (rec->n_samples < KS_SAMPLES_MAX)
        rec->sample_ns[rec->n_samples++] = ns;
    return 0;
}
