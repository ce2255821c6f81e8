/* SPDX-License-Identifier: MIT */
/* model.c - what cells cost. It starts from the caller's guesses and learns, from every cell that
 * is done, how wrong they are: over all (scale), for this problem (mean), of this device
 * (slowness); and what a lease costs beside its cells. */
#include "sched/sched_impl.h"

#include <math.h>

/* How many cells the corrected guess is worth beside those measured. */
#define GUESS_CELLS 2.0
/* Devices of one class differ by so much (standard deviation of the log) before anything is known
 * of them; as a variance. */
#define DEVICE_VARIANCE (0.3 * 0.3)
#define LEAST_RESIDUALS 8u /* before that their variance means nothing */
#define OVERHEAD_WEIGHT (1.0 / 32)

double ks_sched_scale(const struct ks_sched *s)
{
    return s->learnt_prior_s > 0 ? s->learnt_s / s->learnt_prior_s : 1;
}

/* The part of a problem's cells that is run. */
static double share_run(const struct ks_sched *s)
{
    uint64_t n = s->n_run + s->n_settled;
    return n ? (double)s->n_run / (double)n : 1;
}

double ks_sched_remaining(const struct ks_sched *s)
{
    double untouched = s->untouched_s > 0 ? s->untouched_s * ks_sched_scale(s) * share_run(s) : 0;
    return untouched + (s->open_s > 0 ? s->open_s : 0);
}

double ks_sched_share_s(const struct ks_sched *s)
{
    return ks_sched_remaining(s) / (s->n_working ? s->n_working : 1);
}

/* A device that measured a problem by itself cannot be told from a problem that is slow by itself;
 * over many problems it can. So its mean residual counts as much as its error allows beside what
 * devices usually differ by (the mean of two normal distributions). */
double ks_sched_slowness(const struct ks_sched *s, const struct device *d)
{
    if (s->n_residuals < LEAST_RESIDUALS || !d->n_residuals)
        return 1;
    double mean = s->residual / s->n_residuals;
    double variance = s->residual_square / s->n_residuals - mean * mean;
    double sum = d->residual - d->n_residuals * mean;
    return exp(sum / (d->n_residuals + fmax(variance, 0) / DEVICE_VARIANCE));
}

void ks_sched_learn_cell(struct ks_sched *s, struct device *d, struct active *a, double elapsed_s)
{
    s->spent_s += elapsed_s > 0 ? elapsed_s : 0;
    if (elapsed_s <= 0)
        return;
    double prior_s = s->problems[a->i_problem].prior_s;
    s->learnt_s += elapsed_s;
    s->learnt_prior_s += prior_s;
    a->learnt_s += d ? elapsed_s / ks_sched_slowness(s, d) : elapsed_s;
    a->n_learnt++;
    a->cost_s =
        (GUESS_CELLS * prior_s * ks_sched_scale(s) + a->learnt_s) / (GUESS_CELLS + a->n_learnt);
    if (d && d->block && d->at == a) {
        d->block_s += elapsed_s;
        d->n_block++;
    }
}

void ks_sched_learn_block(struct ks_sched *s, struct device *d)
{
    double guess_s = s->problems[d->at->i_problem].prior_s * ks_sched_scale(s);
    if (d->n_block && guess_s > 0 && d->block_s > 0) {
        double residual = log(d->block_s / d->n_block / guess_s);
        d->residual += residual;
        d->n_residuals++;
        s->residual += residual;
        s->residual_square += residual * residual;
        s->n_residuals++;
    }
    d->block_s = 0;
    d->n_block = 0;
}

void ks_sched_learn_lease(struct ks_sched *s, const struct lease_book *b)
{
    const struct ks_lease *l = &b->lease;
    if (b->n_done < l->n || !l->n)
        return;
    double beside_s = s->now_s - b->begun_s - b->cells_s - (l->opens + l->closes) * b->cell_s;
    s->overhead_s += OVERHEAD_WEIGHT * (fmax(beside_s, 0) - s->overhead_s);
}
