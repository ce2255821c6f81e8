/* SPDX-License-Identifier: MIT */
/* eta.c - time left and its interval, from the work left and the overhead so far */
#include "sched/eta.h"

#include <math.h>

#define USUAL_RATIO    1.15 /* of device time to what records account for, before any is measured */
#define USUAL_S        3.0  /* device time that this guess is worth */
#define MOST_RATIO     50.0
#define RATIO_ERROR    0.30 /* standard error of the guess */
#define LEAST_ERROR    0.08
#define VISITS_ERROR   0.80 /* of the guess what a problem's visits take */
#define BUILDS_ERROR   0.30
#define WIDTH          1.645 /* 90 % of a normal distribution */
#define BEGUN_PART     0.5   /* of its visits a problem has had that is not settled, on average */
#define GUESS_PROBLEMS 2.0   /* that the guess of their visits is worth */
#define INSTANCE_S     1.5   /* a compiler, per instance */

void ks_eta_took(struct ks_eta *e, double busy_s, double known_s)
{
    e->busy_s += fmax(busy_s, 0);
    e->known_s += fmax(known_s, 0);
}

static double ratio(const struct ks_eta *e)
{
    double r = (USUAL_RATIO * USUAL_S + e->busy_s) / (USUAL_S + e->known_s);

    return fmax(1, fmin(r, MOST_RATIO)); /* records account for no more than passes */
}

static double square(double x)
{
    return x * x;
}

/* Standard error of the logarithm of all work. */
static double error_of(const struct ks_eta *e, const struct ks_eta_work *w)
{
    double all_s = w->cells_s + w->visits_s;
    double ratio_error = RATIO_ERROR / sqrt(1 + e->known_s / USUAL_S);
    double visits_error = VISITS_ERROR / sqrt(1.0 + w->n_raced);
    double squares = square(LEAST_ERROR) + square(ratio_error);

    if (all_s > 0)
        squares +=
            square(w->error * w->cells_s / all_s) + square(visits_error * w->visits_s / all_s);
    return sqrt(squares);
}

struct ks_eta_time ks_eta_left(const struct ks_eta *e, const struct ks_eta_work *w)
{
    double n = w->n_devices ? w->n_devices : 1;
    double work_s = (w->cells_s + w->visits_s) * ratio(e);
    /* what is in work is partly done already, but never quite */
    double left_s = fmax(work_s - w->since_s, work_s / 4) / n;
    double factor = exp(WIDTH * error_of(e, w)), builds = exp(WIDTH * BUILDS_ERROR);

    return (struct ks_eta_time){ .left_s = left_s + w->builds_s,
                                 .low_s = left_s / factor + w->builds_s / builds,
                                 .high_s = left_s * factor + w->builds_s * builds };
}

static double first_guess(const struct ks_eta_visits *v)
{
    return v->n_guess > 0 ? v->guess / v->n_guess : 0;
}

/* First visits that all visits of a problem are worth. */
static double over_first(const struct ks_eta_visits *v)
{
    double first = GUESS_PROBLEMS * first_guess(v) + v->ended_first + BEGUN_PART * v->open_first;

    return first > 0 ? (GUESS_PROBLEMS * v->guess + v->ended + v->open) / first : 0;
}

double ks_eta_visits_of(const struct ks_eta_visits *v, double cells_s)
{
    const double known_s = GUESS_PROBLEMS * v->usual_cells_s + v->cells_s;

    return known_s > 0
               ? over_first(v) * (GUESS_PROBLEMS * first_guess(v) + v->first) * (cells_s / known_s)
               : 0;
}

double ks_eta_visits_left(const struct ks_eta_visits *v, double first, double spent, double next)
{
    return fmax(over_first(v) * first - spent, next);
}

double ks_eta_builds_s(uint32_t n, uint32_t n_done, double elapsed_s, uint32_t n_parallel)
{
    double left = n > n_done ? n - n_done : 0, parallel = n_parallel ? n_parallel : 1;

    return n_done ? left * elapsed_s / n_done
                  : fmax(ceil(left / parallel) * INSTANCE_S - elapsed_s, left > 0 ? 1 : 0);
}
