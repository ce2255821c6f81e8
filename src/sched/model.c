/* SPDX-License-Identifier: MIT */
/* model.c - what cells cost. It starts from the caller's guesses and learns, from every cell that
 * is done, how wrong they are: over all (scale), for this problem (mean), of this device
 * (slowness); and what a lease costs beside its cells. */
#include "sched/sched_impl.h"

#include <math.h>

/* How many cells the corrected guess is worth beside those measured. */
#define GUESS_CELLS 2.0
/* And how many problems of a class the other classes. */
#define CLASS_PROBLEMS 8.0
#define SPREAD_WEIGHT  1e-3
/* Devices of one class differ by so much (standard deviation of the log) before anything is known
 * of them; as a variance. */
#define DEVICE_VARIANCE (0.3 * 0.3)
#define LEAST_RESIDUALS 8u /* before that their variance means nothing */
#define OVERHEAD_WEIGHT (1.0 / 32)

/* Guesses err differently for short and for long cells, so they are corrected by class: powers of
 * four of a millisecond. */
static uint32_t class_of(double prior_s)
{
    int power = prior_s > 0 ? ilogb(prior_s * 1e3) / 2 : 0;
    return power < 0 ? 0 : power < KS_CLASSES ? (uint32_t)power : KS_CLASSES - 1;
}

/* Of what is known of all classes, a little belongs to each, so that it says something where
 * nothing has been measured yet. */
static double scale(const struct ks_sched *s, const struct prior_class *c)
{
    double all = s->known_prior_s > 0 ? s->known_s / s->known_prior_s : 1;
    double little_s = CLASS_PROBLEMS * s->c.n_instances * c->prior_s;
    return c->known_prior_s + little_s > 0
               ? (c->known_s + little_s * all) / (c->known_prior_s + little_s)
               : all;
}

double ks_sched_guess(const struct ks_sched *s, double prior_s)
{
    return prior_s * scale(s, &s->class[class_of(prior_s)]);
}

void ks_sched_count_prior(struct ks_sched *s, double prior_s)
{
    struct prior_class *c = &s->class[class_of(prior_s)];
    c->untouched_s += prior_s * s->c.n_instances;
    c->prior_s = fmax(c->prior_s, prior_s);
}

void ks_sched_touch_prior(struct ks_sched *s, double prior_s)
{
    s->class[class_of(prior_s)].untouched_s -= prior_s * s->c.n_instances;
}

/* The part of a problem's cells that is run. */
static double share_run(const struct ks_sched *s)
{
    uint64_t n = s->n_run + s->n_settled;
    return n ? (double)s->n_run / (double)n : 1;
}

double ks_sched_remaining(const struct ks_sched *s)
{
    double untouched_s = 0;
    for (uint32_t i = 0; s->n_touched < s->c.n_problems && i < KS_CLASSES; i++)
        if (s->class[i].untouched_s > 0)
            untouched_s += s->class[i].untouched_s * scale(s, &s->class[i]);
    return untouched_s * share_run(s) + fmax(s->open_s, 0) + fmax(s->visits_s, 0) +
           s->expected_visits_s;
}

/* Before anything is known, problems differ from their guesses by so much (standard deviation of
 * the log), which is worth so many problems. */
#define GUESS_ERROR    0.6
#define GUESS_PROBLEMS 8.0
#define ALIKE          4.0 /* problems that err in the same way: neighbours in a list are of a kind */
#define OPEN_ERROR     0.15 /* of problems of which cells have been measured */

static double problem_variance(const struct ks_sched *s)
{
    double squares = s->n_off ? s->off_square - s->off * s->off / s->n_off : 0;
    return (GUESS_PROBLEMS * GUESS_ERROR * GUESS_ERROR + fmax(squares, 0)) /
           (GUESS_PROBLEMS + s->n_off);
}

double ks_sched_guess_error(uint32_t n_problems)
{
    return GUESS_ERROR * sqrt(ALIKE * (0.5 + 1.0 / (n_problems ? n_problems : 1)));
}

static double square(double x)
{
    return x * x;
}

void ks_sched_left(const struct ks_sched *s, struct ks_sched_left *out)
{
    double share = (1.0 + (double)s->n_timed) / (1.0 + (double)(s->n_timed + s->n_untimed));
    uint32_t n_untouched = s->c.n_problems - s->n_touched;
    double untouched_s = 0, open_s = fmax(s->open_s, 0) * share, error = 0;

    for (uint32_t i = 0; n_untouched && i < KS_CLASSES; i++)
        untouched_s += fmax(s->class[i].untouched_s, 0) * scale(s, &s->class[i]);
    untouched_s *= share_run(s) * share;
    if (n_untouched)
        error = sqrt(ALIKE * problem_variance(s) * (1 / (2.0 + s->n_off) + 1.0 / n_untouched));
    *out = (struct ks_sched_left){ .cells_s = untouched_s + open_s, .done_s = s->spent_s };
    if (out->cells_s > 0)
        out->error = sqrt(square(error * untouched_s) + square(OPEN_ERROR * open_s)) / out->cells_s;
}

/* A problem is complete: how far its guess was off, with what was known when it began. */
void ks_sched_learn_problem(struct ks_sched *s, const struct active *a)
{
    if (!a->n_learnt || a->guess_s <= 0 || a->learnt_s <= 0)
        return;
    double off = log(a->learnt_s / a->n_learnt / a->guess_s);
    s->off += off;
    s->off_square += off * off;
    s->n_off++;
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

/* What a problem's cells are worth by its mean so far, whether they have run or not: else short
 * problems, of which more has run, would count for more. */
static void know(struct ks_sched *s, const struct active *a, double was_s)
{
    double prior_s = s->problems[a->i_problem].prior_s, n = s->c.n_instances;
    struct prior_class *c = &s->class[class_of(prior_s)];
    double more_s = (a->cost_s - (a->n_learnt > 1 ? was_s : 0)) * n;
    double more_prior_s = a->n_learnt > 1 ? 0 : prior_s * n;
    c->known_s += more_s;
    s->known_s += more_s;
    c->known_prior_s += more_prior_s;
    s->known_prior_s += more_prior_s;
}

void ks_sched_learn_cell(struct ks_sched *s, struct device *d, struct active *a, double elapsed_s)
{
    s->n_timed += elapsed_s > 0;
    s->n_untimed += elapsed_s <= 0;
    if (elapsed_s <= 0)
        return;
    double usual_s = d ? elapsed_s / ks_sched_slowness(s, d) : elapsed_s, was_s = a->cost_s;
    s->spent_s += elapsed_s;
    a->learnt_s += usual_s;
    a->n_learnt++;
    double weight =
        s->known_prior_s > 0 ? GUESS_CELLS : 0; /* one nobody corrected is worth nothing */
    double guess_s = ks_sched_guess(s, s->problems[a->i_problem].prior_s);
    a->cost_s = (weight * guess_s + a->learnt_s) / (weight + a->n_learnt);
    know(s, a, was_s);
    double off = was_s > 0 ? usual_s / was_s - 1 : 0;
    s->spread += SPREAD_WEIGHT * (off * off - s->spread);
}

/* All that a device measured of one problem in a row says one thing about it. */
static void learn_device(struct ks_sched *s, struct device *d)
{
    double guess_s = d->n_run ? ks_sched_guess(s, s->problems[d->run_problem].prior_s) : 0;
    if (guess_s > 0 && d->run_s > 0) {
        double residual = log(d->run_s / d->n_run / guess_s);
        d->residual += residual;
        d->n_residuals++;
        s->residual += residual;
        s->residual_square += residual * residual;
        s->n_residuals++;
    }
    d->run_s = 0;
    d->n_run = 0;
}

void ks_sched_learn_lease(struct ks_sched *s, struct device *d, const struct lease_book *b)
{
    const struct ks_lease *l = &b->lease;
    if (d->run_problem != l->i_problem)
        learn_device(s, d);
    d->run_problem = l->i_problem;
    d->run_s += b->cells_s;
    d->n_run += b->n_timed;
    if (b->n_timed < l->n || !l->n)
        return;
    double beside_s = s->now_s - b->begun_s - b->cells_s - (l->opens + l->closes) * b->cell_s;
    s->overhead_s += OVERHEAD_WEIGHT * (fmax(beside_s, 0) - s->overhead_s);
}
