/* SPDX-License-Identifier: MIT */
/* meter.c - a GPU's clock, from ticks that a kernel reads around the samples */
#include "worker/meter.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GHZ_MAX     10.0  /* of no device: counters that jumped */
#define SPAN_MIN_NS 200e3 /* globaltimer may count in microseconds */

/* The tick of a unit, which is most often at the same place. */
static const struct ks_judge_tick *tick_of(const struct ks_judge_tick *ticks, uint32_t n,
                                           uint32_t near, uint64_t unit)
{
    for (uint32_t k = 0; k < n; k++)
        if (ticks[(near + k) % n].unit == unit)
            return &ticks[(near + k) % n];
    return NULL;
}

double ks_ticks_clock(const struct ks_judge_tick *from, const struct ks_judge_tick *to, uint32_t n,
                      double *scratch, double *ns_out)
{
    uint32_t n_pairs = 0;
    double ns = 0.0;

    for (uint32_t i = 0; i < n; i++) {
        const struct ks_judge_tick *f = tick_of(from, n, i, to[i].unit);
        double ghz;

        if (f == NULL || to[i].ns <= f->ns || to[i].cycles <= f->cycles || f->cycles == 0)
            continue;
        ghz = (double)(to[i].cycles - f->cycles) / (double)(to[i].ns - f->ns);
        if (ghz > GHZ_MAX)
            continue;
        scratch[n_pairs++] = ghz;
        ns += (double)(to[i].ns - f->ns);
    }
    if (n_pairs == 0 || n_pairs < n / 2)
        return 0.0;
    ks_stats_sort(scratch, n_pairs);
    *ns_out = ns / n_pairs;
    return scratch[n_pairs / 2];
}

void ks_meter_begin(struct ks_meter *m)
{
    m->cycles = m->ns = 0.0;
    m->chunk_mhz = m->first_mhz = m->last_mhz = KS_UNKNOWN;
}

bool ks_meter_is_steady(const struct ks_meter *m, double share)
{
    return m->first_mhz <= 0.0 || m->last_mhz <= 0.0 ||
           fabs(m->first_mhz - m->last_mhz) <= share * fmax(m->first_mhz, m->last_mhz);
}

int ks_meter_read(struct ks_meter *m, struct ks_err *err)
{
    const uint32_t n = m->call.n_parts;
    double scratch[KS_JUDGE_PARTS], ns = 0.0, ghz;
    int rc = m->dev->ops->download(m->dev, m->copies, m->ticks, 2u * n * sizeof(*m->copies), err);

    m->chunk_mhz = KS_UNKNOWN;
    if (rc < 0)
        return rc;
    ghz = ks_ticks_clock(m->copies, m->copies + n, n, scratch, &ns);
    if (ghz > 0.0 && ns >= SPAN_MIN_NS) {
        m->chunk_mhz = m->last_mhz = 1e3 * ghz;
        if (m->first_mhz <= 0.0)
            m->first_mhz = m->last_mhz;
        m->cycles += ghz * ns;
        m->ns += ns;
    }
    return 0;
}

double ks_meter_mhz(const struct ks_meter *m)
{
    return m->ns > 0.0 ? 1e3 * m->cycles / m->ns : KS_UNKNOWN;
}

/* Its first launch, for which a runtime may load it: later ones stand in a stream that is held
 * back. */
static int try_clock(struct ks_meter *m, struct ks_err *err)
{
    const struct ks_timing t = { .entry = m->probe.entry,
                                 .problem = m->probe.problem,
                                 .buf = &m->probe.buf[0],
                                 .calls = 1,
                                 .n_samples = 1,
                                 .is_untimed = true };
    double ns = 0.0;
    int kernel_rc = 0;
    int rc = m->dev->ops->fill(m->dev, m->ticks, 0, 2u * m->call.n_parts * sizeof(*m->copies), err);

    if (rc == 0)
        rc = m->dev->ops->time_samples(m->dev, &t, &ns, &kernel_rc, err);
    if (rc == 0)
        rc = m->dev->ops->download(m->dev, m->copies, m->ticks,
                                   m->call.n_parts * sizeof(*m->copies), err);
    return rc;
}

static bool must_end(int rc)
{
    return rc == KS_ENOMEM || rc == KS_EDEVMEM || rc == KS_EDEVLOST;
}

int ks_meter_open(struct ks_device *dev, const struct ks_abi_entry *entry,
                  const struct ks_abi_problem *problem, uint32_t n_units,
                  struct ks_meter *meter_out, struct ks_err *err)
{
    struct ks_meter *m = meter_out;
    uint32_t n = n_units < KS_JUDGE_PARTS ? n_units : KS_JUDGE_PARTS;
    int rc;

    *m = (struct ks_meter){ .dev = dev, .call = { .task = KS_JUDGE_CLOCK, .n_parts = n ? n : 1 } };
    m->call.problem = *problem;
    m->call.problem.bytes = sizeof(m->call);
    m->copies = calloc(2u * m->call.n_parts, sizeof(*m->copies));
    rc = m->copies != NULL ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for the clock's ticks");
    if (rc == 0)
        rc = dev->ops->alloc(dev, 2u * m->call.n_parts * sizeof(*m->copies), &m->ticks, err);
    m->probe = (struct ks_clock_probe){ .entry = entry, .problem = &m->call.problem };
    m->probe.buf[0].workspace = m->ticks;
    m->probe.buf[1].workspace = (struct ks_judge_tick *)m->ticks + m->call.n_parts;
    if (rc == 0)
        rc = try_clock(m, err);
    if (rc < 0 || m->copies[0].cycles == 0)
        ks_meter_close(m);
    return must_end(rc) ? rc : 0;
}

void ks_meter_close(struct ks_meter *m)
{
    if (m->dev != NULL)
        m->dev->ops->free(m->dev, m->ticks);
    free(m->copies);
    memset(m, 0, sizeof(*m));
}
