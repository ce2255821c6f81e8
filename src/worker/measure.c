/* SPDX-License-Identifier: MIT */
/* measure.c - takes a round's samples: calls per sample, chunks, checks, when to stop */
#include "worker/measure_impl.h"

#include "base/clock.h"
#include "record/stats.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

static int run_chunk(struct ks_run *r, struct ks_chunk *c, struct ks_err *err)
{
    const struct ks_timing t = { .entry = r->entry,
                                 .problem = r->problem,
                                 .buf = &r->buf,
                                 .calls = c->calls,
                                 .n_samples = c->n,
                                 .clock = r->meter != NULL ? &r->meter->probe : NULL,
                                 .is_cold = c->is_cold };
    uint64_t from;
    int rc;

    r->before(r->ctx, c->expected_ns);
    from = ks_now_ns();
    rc = r->dev->ops->time_samples(r->dev, &t, c->ns, &r->kernel_rc, err);
    c->cost_ns = (double)(ks_now_ns() - from) / c->n;
    r->after(r->ctx);
    return rc == 0 && r->meter != NULL ? ks_meter_read(r->meter, err) : rc;
}

int ks_chunk_run(struct ks_run *r, struct ks_chunk *c, const struct ks_check *check,
                 struct ks_err *err)
{
    uint64_t from, to;
    double cost;
    int rc;

    if (r->plan == NULL)
        return run_chunk(r, c, err);
    from = ks_now_ns();
    rc = r->hooks.before(r->hooks.ctx, check, err);
    to = ks_now_ns();
    cost = (double)(to - from);
    if (rc == 0)
        rc = run_chunk(r, c, err);
    from = ks_now_ns();
    if (rc == 0)
        rc = r->hooks.after(r->hooks.ctx, check, err);
    cost += (double)(ks_now_ns() - from);
    r->checks_ns += cost;
    ks_plan_note(r->plan, check, cost);
    return rc;
}

int ks_run_calls(struct ks_run *r, uint32_t calls, double expected_ns, double *ns_out,
                 struct ks_err *err)
{
    struct ks_chunk c = { .calls = calls, .n = 1, .expected_ns = expected_ns };
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

bool ks_is_time(double ns)
{
    return isfinite(ns) && ns > 0.0;
}

int ks_too_many_failed(uint32_t n_failed, struct ks_err *err)
{
    if (n_failed <= KS_SAMPLES_FAILED)
        return 0;
    return ks_fail(err, KS_ETIMEOUT, "%u samples had no positive time", n_failed);
}

double ks_elapsed_ns(const struct ks_run *r, uint64_t from, double checks_ns, double device_ns)
{
    return fmax((double)(ks_now_ns() - from) - (r->checks_ns - checks_ns), device_ns);
}

uint32_t ks_chunk_samples(uint32_t queue, double chunk_ns, double sample_ns, uint32_t room)
{
    uint32_t most = queue < KS_CHUNK_MAX ? queue : KS_CHUNK_MAX;
    double n = sample_ns > 0.0 ? chunk_ns / sample_ns : 1.0;

    most = most < room ? most : room;
    if (n >= most)
        return most;
    return n > 1.0 ? (uint32_t)n : 1;
}

uint32_t ks_chunk_keep_good(struct ks_chunk *c)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < c->n; i++)
        if (ks_is_time(c->ns[i]))
            c->ns[n++] = c->ns[i];
    return n;
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

    ks_stats(rec->sample_ns, rec->n_samples, rec->clock_resolution_ns, rec->calls_per_sample,
             scratch, &s);
    return s.se / s.median;
}

static double lower(double known, double v)
{
    return v < 0.0 || (known >= 0.0 && known < v) ? known : v;
}

/* What the device says of itself now, and the extremes of all that it said. */
static struct ks_telemetry look(struct ks_run *r, bool with_energy, struct ks_record *rec)
{
    struct ks_telemetry t;

    r->dev->ops->telemetry(r->dev, with_energy, &t);
    rec->clock_min_mhz = lower(rec->clock_min_mhz, t.now.clock_mhz);
    rec->power_max_w = fmax(rec->power_max_w, t.now.power_w);
    if (t.throttle >= 0)
        rec->throttle_reasons =
            rec->throttle_reasons < 0 ? t.throttle : rec->throttle_reasons | t.throttle;
    return t;
}

struct sampling {
    struct ks_progress p;
    uint32_t n_failed, next_look;
    uint64_t from_ns, looked_ns;
    double checks_ns;          /* r->checks_ns at from_ns */
    double sample_ns, cost_ns; /* of the last chunk, a sample; 0 = not known */
    bool is_last;              /* but for checks that are missing nothing more is wanted */
};

/* What is left of a round's samples. */
static uint32_t room_for(const struct ks_measure *m, uint32_t n_samples)
{
    uint32_t most = m->max_samples < KS_SAMPLES_MAX ? m->max_samples : KS_SAMPLES_MAX;

    return n_samples < most ? most - n_samples : 1;
}

/* The check of the next chunk, and how many samples it has. */
static struct ks_check next_check(struct ks_run *r, const struct ks_measure *m,
                                  const struct sampling *s, uint32_t n_samples, uint32_t *n_out)
{
    uint32_t room = room_for(m, n_samples), most = room;
    double chunk_ns = fmin(fmax(s->p.elapsed_ns / 2, KS_CHUNK_NS), KS_CHUNK_MOST_NS);
    uint32_t usual = ks_chunk_samples(r->dev->ops->queue, chunk_ns, s->cost_ns, room);
    struct ks_check check = { .kind = KS_CHECK_NONE };

    if (r->plan != NULL)
        check = ks_plan_next(r->plan, n_samples, s->sample_ns * usual, s->is_last, &most);
    *n_out = usual < most ? usual : most;
    return check;
}

static void keep_sample(const struct ks_check *check, bool is_first, double ns,
                        struct ks_round *round, struct ks_record *rec)
{
    /* The second sample of a chunk finds what the first one left. */
    round->kind[rec->n_samples] = (uint8_t)(is_first ? check->kind : KS_CHECK_NONE);
    rec->sample_ns[rec->n_samples++] = ns;
    if (check->kind == KS_CHECK_VERIFIED)
        rec->verified_sample_ns = ns;
}

static int take_chunk(struct ks_run *r, const struct ks_measure *m, struct sampling *s,
                      struct ks_round *round, struct ks_record *rec, struct ks_err *err)
{
    struct ks_chunk c = { .calls = rec->calls_per_sample, .is_cold = m->cache == KS_CACHE_COLD };
    struct ks_check check = next_check(r, m, s, rec->n_samples, &c.n);
    double sum = 0.0;
    bool has_first;
    uint32_t n_good;
    int rc;

    c.expected_ns = s->sample_ns * c.n;
    rc = ks_chunk_run(r, &c, &check, err);
    if (rc != 0)
        return rc;
    has_first = ks_is_time(c.ns[0]);
    n_good = ks_chunk_keep_good(&c);
    s->n_failed += c.n - n_good;
    if (n_good == 0)
        return ks_too_many_failed(s->n_failed, err);
    for (uint32_t i = 0; i < n_good; i++) {
        sum += c.ns[i];
        keep_sample(&check, i == 0 && has_first, c.ns[i] / rec->calls_per_sample, round, rec);
    }
    s->sample_ns = sum / n_good;
    s->cost_ns = fmax(s->sample_ns, c.cost_ns);
    s->p.sum_ns += sum;
    s->p.n = rec->n_samples;
    s->p.elapsed_ns = ks_elapsed_ns(r, s->from_ns, s->checks_ns, s->p.sum_ns);
    return 0;
}

/* Samples of one call, where others have several: their times are compared, and the launch that is
 * the last of a sample, whose output is looked at, becomes another one by them. */
static int take_single(struct ks_run *r, const struct sampling *s, struct ks_round *round,
                       const struct ks_record *rec, bool *is_taken, struct ks_err *err)
{
    struct ks_chunk c = { .calls = 1, .n = 1, .expected_ns = s->sample_ns };
    struct ks_check check;
    int rc;

    *is_taken = r->plan != NULL && rec->calls_per_sample > 1 &&
                ks_plan_single(r->plan, s->sample_ns, s->is_last, &check);
    if (!*is_taken)
        return 0;
    rc = ks_chunk_run(r, &c, &check, err);
    r->checks_ns += c.cost_ns;
    if (rc != 0 || !ks_is_time(c.ns[0]))
        return rc;
    round->single_ns[check.kind][round->n_singles[check.kind]++ % KS_SINGLES_MAX] = c.ns[0];
    return 0;
}

static void look_between(struct ks_run *r, struct sampling *s, struct ks_record *rec)
{
    if (r->dev->ops->queue <= 1 || ks_now_ns() - s->looked_ns < KS_LOOK_NS)
        return;
    (void)look(r, false, rec);
    s->looked_ns = ks_now_ns();
}

/* The stop rule speaks; checks that are missing come first, as far as there is room for them. */
static enum ks_stop stop_now(const struct ks_run *r, const struct ks_measure *m, struct sampling *s,
                             struct ks_record *rec)
{
    enum ks_stop stop;

    if (s->p.n >= m->min_samples && s->p.sum_ns >= KS_TIMED_MIN_NS && s->p.n >= s->next_look) {
        s->p.rse = relative_error(rec); /* sorts: so look rarely as samples become many */
        s->next_look = s->p.n + 1 + s->p.n / 8;
    }
    stop = ks_stop_rule(m, &s->p);
    s->is_last = stop != KS_STOP_NONE;
    if (stop == KS_STOP_MAX_SAMPLES || r->plan == NULL || ks_plan_is_done(r->plan))
        return stop;
    return KS_STOP_NONE;
}

static int sample_loop(struct ks_run *r, const struct ks_measure *m, struct ks_round *round,
                       struct ks_record *rec, struct ks_err *err)
{
    struct sampling s = { .p.rse = INFINITY,
                          .from_ns = ks_now_ns(),
                          .looked_ns = ks_now_ns(),
                          .checks_ns = r->checks_ns,
                          .cost_ns = r->call_ns * rec->calls_per_sample,
                          .sample_ns = r->call_ns * rec->calls_per_sample };
    bool is_taken = true;
    int rc = 0;

    while (rc == 0 && rec->stop_reason == KS_STOP_NONE) {
        rc = take_single(r, &s, round, rec, &is_taken, err);
        if (rc == 0 && !is_taken)
            rc = take_chunk(r, m, &s, round, rec, err);
        if (rc == 0 && !is_taken)
            rec->stop_reason = stop_now(r, m, &s, rec);
        look_between(r, &s, rec);
    }
    s.is_last = true;
    for (is_taken = true; rc == 0 && is_taken;)
        rc = take_single(r, &s, round, rec, &is_taken, err);
    return rc;
}

/* Room for the checks that every round has. */
static struct ks_measure with_checks(const struct ks_measure *m)
{
    struct ks_measure more = *m;

    if (more.min_samples < KS_LEAST_CHECKED)
        more.min_samples = KS_LEAST_CHECKED;
    if (more.min_samples > more.max_samples)
        more.min_samples = more.max_samples;
    return more;
}

/* There will be so many samples at least. */
static uint32_t horizon(const struct ks_measure *m, double sample_ns)
{
    double timed_ns = fmin(KS_TIMED_MIN_NS, 1e6 * m->max_ms);
    uint32_t most = room_for(m, 0);
    double n = sample_ns > 0.0 ? timed_ns / sample_ns : 1.0;

    if (n >= most)
        return most;
    if (n < m->min_samples)
        n = m->min_samples;
    return n > 1.0 ? (uint32_t)n : 1;
}

int ks_measure_samples(struct ks_run *r, const struct ks_measure *m, uint32_t calls,
                       struct ks_round *round, struct ks_record *rec, struct ks_err *err)
{
    struct rusage before = { 0 }, after = { 0 };
    struct ks_measure rules = r->plan != NULL ? with_checks(m) : *m;
    /* In a shorter round the energy gives no power: ks_power_between(). */
    const bool has_energy = 1000000ull * m->max_ms >= KS_ENERGY_UPDATES * KS_ENERGY_UPDATE_NS;
    struct ks_telemetry first, last;
    uint64_t cpu, span;
    int rc;

    memset(round, 0, sizeof(*round));
    rec->calls_per_sample = calls;
    rec->clock_resolution_ns = r->clock_ns;
    rec->n_samples = 0;
    rec->stop_reason = KS_STOP_NONE;
    rec->clock_min_mhz = rec->power_max_w = KS_UNKNOWN;
    rec->throttle_reasons = -1;
    if (r->plan != NULL)
        ks_plan_place(r->plan, horizon(&rules, r->call_ns * calls));
    if (r->meter != NULL)
        ks_meter_begin(r->meter);
    first = look(r, has_energy, rec);
    rec->before = first.now;
    getrusage(RUSAGE_THREAD, &before);
    cpu = ks_thread_cpu_ns();
    span = ks_now_ns();
    rc = sample_loop(r, &rules, round, rec, err);
    rec->span_ns = ks_now_ns() - span;
    rec->cpu_ns = ks_thread_cpu_ns() - cpu;
    getrusage(RUSAGE_THREAD, &after);
    rec->involuntary_switches = (uint64_t)(after.ru_nivcsw - before.ru_nivcsw);
    last = look(r, has_energy, rec);
    rec->after = last.now;
    if (r->meter != NULL)
        rec->clock_timed_mhz = ks_meter_mhz(r->meter);
    if (last.energy_j >= 0)
        rec->after.power_w = ks_power_between(&first, &last);
    if (rc < 0)
        rec->stop_reason = KS_STOP_FAILED;
    return rc;
}
