/* SPDX-License-Identifier: MIT */
/* rounds.c - a cell's time over its rounds, by the label's statistic */
#include "record/rounds.h"
#include "base/backend.h"

#include <math.h>

enum ks_statistic ks_label_statistic(const char *backend)
{
    const struct ks_backend *b = ks_backend_find(backend);

    return b && ks_backend_is(b, KS_BACKEND_LOW) ? KS_STATISTIC_LOW : KS_STATISTIC_MEDIAN;
}

double ks_rounds_statistic(const struct ks_record *r, enum ks_statistic statistic)
{
    double scratch[KS_SAMPLES_MAX];

    return r->n_samples ? ks_statistic(r->sample_ns, r->n_samples, statistic, scratch) : 0;
}

void ks_rounds_add(struct ks_round_time *v, size_t *n_io, const struct ks_record *r, double time_ns)
{
    const bool is_clean = !(r->outcome_flags & (KS_FL_CONTAMINATED | KS_FL_SUSPECT));
    size_t i = 0;

    while (i < *n_io && (v[i].round != r->round_index || v[i].device_id != r->device_id))
        i++;
    if (i == *n_io)
        v[(*n_io)++] = (struct ks_round_time){ r->device_id, r->round_index, 0, true, 0 };
    v[i].n++;
    v[i].is_clean &= is_clean;
    v[i].sum += log(time_ns);
}

static size_t pick(const struct ks_round_time *v, size_t n, uint64_t device_id, bool is_clean,
                   double *out)
{
    size_t n_out = 0;

    for (size_t i = 0; i < n; i++)
        if (v[i].device_id == device_id && (v[i].is_clean || !is_clean))
            out[n_out++] = v[i].sum / v[i].n;
    return n_out;
}

double ks_rounds_time(const struct ks_round_time *v, size_t n, uint64_t device_id, double *scratch)
{
    size_t n_picked = pick(v, n, device_id, true, scratch);

    if (n_picked == 0)
        n_picked = pick(v, n, device_id, false, scratch);
    if (n_picked == 0)
        return -1;
    return exp(ks_over_rounds(scratch, n_picked, KS_LABEL_OVER, scratch + n));
}
