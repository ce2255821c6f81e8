/* SPDX-License-Identifier: MIT */
#include "worker/measure.h"

#include "base/clock.h"
#include "record/stats.h"

#include <math.h>
#include <sys/resource.h>

struct chunk {
    uint32_t calls, n;
    bool is_cold;
    double expected_ns; /* of all of it; 0 = not known */
    double ns[KS_CHUNK_MAX];
    double cost_ns; /* of one sample, on the wall, with all that is around it */
};

static int run_chunk(struct ks_run *r, struct chunk *c, struct ks_err *err)
{
    const struct ks_timing t = { .entry = r->entry,
                                 .problem = r->problem,
                                 .buf = &r->buf,
                                 .calls = c->calls,
                                 .n_samples = c->n,
                                 .is_cold = c->is_cold };
    uint64_t from;
    int rc;

    r->before(r->ctx, c->expected_ns);
    from = ks_now_ns();
    rc = r->dev->ops->time_samples(r->dev, &t, c->ns, &r->kernel_rc, err);
    c->cost_ns = (double)(ks_now_ns() - from) / c->n;
    r->after(r->ctx);
    return rc;
}

int ks_run_calls(struct ks_run *r, uint32_t calls, double expected_ns, double *ns_out,
                 struct ks_err *err)
{
    struct chunk c = { .calls = calls, .n = 1, .expected_ns = expected_ns };
    int rc = run_chunk(r, &c, err);

    if (rc == 0)
        *ns_out = c.ns[0];
    return rc;
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

uint32_t ks_chunk_samples(uint32_t queue, double sample_ns, uint32_t room)
{
    uint32_t most = queue < KS_CHUNK_MAX ? queue : KS_CHUNK_MAX;
    double n = sample_ns > 0.0 ? KS_CHUNK_NS / sample_ns : 1.0;

    most = most < room ? most : room;
    if (n >= most)
        return most;
    return n > 1.0 ? (uint32_t)n : 1;
}

/* Samples without a positive time are taken out; how many are left. */
static uint32_t keep_good(struct chunk *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n; i++)
        if (is_time(c->ns[i]))
            c->ns[n++] = c->ns[i];
    return n;
}

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
static void steady_add(struct steady *s, struct ks_run *r, const struct chunk *c, uint32_t n_good)
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
    clocks[1] = t.clock_mhz;
    s->is_steady = t.clock_mhz < 0.0 || (clocks[0] > 0.0 && agree(clocks, 2));
    s->clock_mhz = t.clock_mhz;
}

struct warming {
    double target_ns, best_ns, sum_ns; /* best: of one call */
    uint32_t n_failed;
    bool is_cold, is_known; /* how many calls make a sample */
    struct steady steady;
};

/* One chunk of a warm-up; c->calls and c->n for the next. */
static int warm_chunk(struct ks_run *r, struct warming *w, struct chunk *c, struct ks_err *err)
{
    uint32_t n_good, queue = r->dev->ops->queue;
    double shortest = INFINITY;
    int rc = run_chunk(r, c, err);

    if (rc < 0)
        return rc;
    n_good = keep_good(c);
    w->n_failed += c->n - n_good;
    if (n_good == 0)
        return too_many_failed(w->n_failed, err);
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
    struct chunk c = { .calls = 1, .n = 1 };
    uint64_t from = ks_now_ns();

    do {
        int rc = warm_chunk(r, &w, &c, err);

        if (rc < 0)
            return rc;
    } while (!w.is_known ||
             (!w.steady.is_steady && elapsed_ns(from, w.sum_ns) < 1e6 * m->warmup_ms));
    r->call_ns = w.best_ns;
    *calls_out = c.calls;
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

static double lower(double known, double v)
{
    return v < 0.0 || (known >= 0.0 && known < v) ? known : v;
}

/* What the device says of itself now, and the extremes of all that it said. */
static void look(struct ks_run *r, struct ks_record *rec, struct ks_reading *out)
{
    struct ks_telemetry t;

    r->dev->ops->telemetry(r->dev, &t);
    *out = (struct ks_reading){ .clock_mhz = t.clock_mhz,
                                .memory_clock_mhz = t.memory_clock_mhz,
                                .power_w = t.power_w,
                                .temperature_c = t.temperature_c,
                                .busy = t.busy };
    rec->min_clock_mhz = lower(rec->min_clock_mhz, t.clock_mhz);
    rec->max_power_w = fmax(rec->max_power_w, t.power_w);
    if (t.throttle >= 0)
        rec->throttle = rec->throttle < 0 ? t.throttle : rec->throttle | t.throttle;
}

struct sampling {
    struct ks_progress p;
    uint32_t n_reserved; /* the poisoned sample */
    uint32_t n_failed, next_look;
    uint64_t from_ns, looked_ns;
    double sample_ns, cost_ns; /* of the last chunk, a sample; 0 = not known */
};

/* What is left of a round's samples. */
static uint32_t room_for(const struct ks_measure *m, const struct sampling *s, uint32_t n_samples)
{
    uint32_t most = m->max_samples < KS_SAMPLES_MAX ? m->max_samples : KS_SAMPLES_MAX;
    uint32_t used = n_samples + s->n_reserved;

    return used < most ? most - used : 1;
}

static int take_chunk(struct ks_run *r, const struct ks_measure *m, struct sampling *s,
                      struct ks_record *rec, struct ks_err *err)
{
    struct chunk c = { .calls = rec->calls, .is_cold = m->cache == KS_CACHE_COLD };
    double sum = 0.0;
    uint32_t n_good;
    int rc;

    c.n = ks_chunk_samples(r->dev->ops->queue, s->cost_ns, room_for(m, s, rec->n_samples));
    c.expected_ns = s->sample_ns * c.n;
    rc = run_chunk(r, &c, err);
    if (rc < 0)
        return rc;
    n_good = keep_good(&c);
    s->n_failed += c.n - n_good;
    if (n_good == 0)
        return too_many_failed(s->n_failed, err);
    for (uint32_t i = 0; i < n_good; i++) {
        sum += c.ns[i];
        rec->sample_ns[rec->n_samples++] = c.ns[i] / rec->calls;
    }
    s->sample_ns = sum / n_good;
    s->cost_ns = fmax(s->sample_ns, c.cost_ns);
    s->p.sum_ns += sum;
    s->p.n = rec->n_samples + s->n_reserved;
    s->p.elapsed_ns = elapsed_ns(s->from_ns, s->p.sum_ns);
    return 0;
}

static void look_between(struct ks_run *r, struct sampling *s, struct ks_record *rec)
{
    struct ks_reading between;

    if (r->dev->ops->queue <= 1 || ks_now_ns() - s->looked_ns < KS_LOOK_NS)
        return;
    look(r, rec, &between);
    s->looked_ns = ks_now_ns();
}

static int sample_loop(struct ks_run *r, const struct ks_measure *m, bool has_poisoned,
                       struct ks_record *rec, struct ks_err *err)
{
    struct sampling s = { .p.rse = INFINITY,
                          .n_reserved = has_poisoned ? 1 : 0,
                          .from_ns = ks_now_ns(),
                          .looked_ns = ks_now_ns(),
                          .cost_ns = r->call_ns * rec->calls,
                          .sample_ns = r->call_ns * rec->calls };

    while (rec->stop == KS_STOP_NONE) {
        int rc = take_chunk(r, m, &s, rec, err);

        if (rc < 0)
            return rc;
        if (s.p.n >= m->min_samples && s.p.sum_ns >= KS_TIMED_MIN_NS && s.p.n >= s.next_look) {
            s.p.rse = relative_error(rec); /* sorts: so look rarely as samples become many */
            s.next_look = s.p.n + 1 + s.p.n / 8;
        }
        rec->stop = ks_stop_rule(m, &s.p);
        look_between(r, &s, rec);
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
    look(r, rec, &rec->before);
    getrusage(RUSAGE_THREAD, &before);
    cpu = ks_thread_cpu_ns();
    span = ks_now_ns();
    rc = sample_loop(r, m, has_poisoned, rec, err);
    rec->span_ns = ks_now_ns() - span;
    rec->cpu_ns = ks_thread_cpu_ns() - cpu;
    getrusage(RUSAGE_THREAD, &after);
    rec->involuntary_switches = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
    look(r, rec, &rec->after);
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
        return 0; /* the sample flushes */
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
    struct chunk c = { .calls = rec->calls,
                       .n = 1,
                       .is_cold = m->cache == KS_CACHE_COLD,
                       .expected_ns = rec->n_samples > 0 ? rec->sample_ns[0] * rec->calls : 0.0 };
    double ns;
    int rc = restore_condition(r, m, err);

    if (rc == 0)
        rc = run_chunk(r, &c, err);
    if (rc < 0 || !is_time(c.ns[0]))
        return rc;
    ns = c.ns[0] / rec->calls;
    if (ks_is_poison_effect(rec->sample_ns, rec->n_samples, ns, rec->clock_ns, rec->calls))
        rec->flags |= KS_FL_POISON_EFFECT;
    rec->poison_sample_ns = ns;
    if (rec->n_samples < KS_SAMPLES_MAX)
        rec->sample_ns[rec->n_samples++] = ns;
    return 0;
}
