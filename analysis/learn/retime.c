/* SPDX-License-Identifier: MIT */
#include "analysis/learn/retime.h"
#include "analysis/learn/metrics.h"

#include <math.h>
#include <stdlib.h>

bool ks_retime_differs(const struct ks_cells *c, const struct ks_pick *pick)
{
    return pick->cell != c->problems[pick->problem].best;
}

/* The new time of a cell; 0: there is none. */
static double new_time(const struct ks_cells *c, size_t cell, const struct ks_cells *again)
{
    const struct ks_timed_cell *old = &c->cells[cell];
    const uint32_t p = ks_cells_find_problem(again, c->problems[old->problem].problem.id);
    const uint32_t i = ks_cells_find_instance(again, c->instances[old->instance].id);
    const size_t at = p == UINT32_MAX || i == UINT32_MAX ? KS_NO_CELL : ks_cells_at(again, p, i);

    return at == KS_NO_CELL ? 0 : again->cells[at].time_ns;
}

struct sums {
    double *first, *again; /* efficiencies [n] */
    size_t n;
    double log_oracle, log_pick; /* sums of ln(new time / first time) */
};

static bool is_known(const struct ks_cells *c, const struct ks_pick *pick,
                     const struct ks_cells *again)
{
    return !ks_retime_differs(c, pick) ||
           (new_time(c, c->problems[pick->problem].best, again) > 0 &&
            new_time(c, pick->cell, again) > 0);
}

static void add_problem(const struct ks_cells *c, const struct ks_pick *pick,
                        const struct ks_pick *beside, const struct ks_cells *again, struct sums *s,
                        struct ks_retimed *out)
{
    const size_t best = c->problems[pick->problem].best;
    double oracle_ns, pick_ns;

    if (!is_known(c, pick, again) || (beside && !is_known(c, beside, again))) {
        out->n_missing++;
        return;
    }
    if (!ks_retime_differs(c, pick)) {
        out->n_same++;
        s->first[s->n] = s->again[s->n] = 1;
        s->n++;
        return;
    }
    oracle_ns = new_time(c, best, again);
    pick_ns = new_time(c, pick->cell, again);
    out->n_timed++;
    s->log_oracle += log(oracle_ns / c->cells[best].time_ns);
    s->log_pick += log(pick_ns / c->cells[pick->cell].time_ns);
    s->first[s->n] = pick->eff;
    s->again[s->n] = oracle_ns / pick_ns;
    s->n++;
}

int ks_retime(const struct ks_cells *c, const bool *is_wanted, const struct ks_pick *picks,
              const struct ks_pick *beside, const struct ks_cells *again, uint32_t n_bootstrap,
              uint64_t seed, struct ks_retimed *out, struct ks_err *err)
{
    struct sums s = { .first = malloc((c->n_problems + 1) * sizeof(*s.first)),
                      .again = malloc((c->n_problems + 1) * sizeof(*s.again)) };
    struct ks_retimed r = { 0 };
    int rc = s.first && s.again
                 ? 0
                 : ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", c->n_problems);

    for (size_t i = 0; rc == 0 && i < c->n_problems; i++)
        if (is_wanted[i])
            add_problem(c, &picks[i], beside ? &beside[i] : NULL, again, &s, &r);
    if (rc == 0 && r.n_timed == 0 && (!beside || r.n_same == 0))
        rc = ks_fail(err, KS_EINVAL,
                     "no problem has new times for both its pick and its oracle; --write-retime "
                     "writes the job that measures them");
    if (rc == 0)
        rc = ks_line(s.first, s.n, n_bootstrap, seed, &r.first, err);
    if (rc == 0)
        rc = ks_line(s.again, s.n, n_bootstrap, seed, &r.again, err);
    if (rc == 0) {
        r.oracle_ratio = r.n_timed ? exp(s.log_oracle / (double)r.n_timed) : NAN;
        r.pick_ratio = r.n_timed ? exp(s.log_pick / (double)r.n_timed) : NAN;
        *out = r;
    }
    free(s.first);
    free(s.again);
    return rc;
}
