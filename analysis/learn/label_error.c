/* SPDX-License-Identifier: MIT */
/* label_error.c - how far labels are off: scale and tails from differences between sweeps */
#include "analysis/learn/label_error.h"
#include "race/spread.h"
#include "race/student.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Low quantiles of host instances on 2 cores of a shared host (docs/measured/repeat.txt): two sets
 * of six sweeps of 71 layers x 47, four sweeps with visits, five of 108 small layers x 14. Scales
 * are 2.7 to 3.4 % near the best, 1.7 and 2.3 times that further away, with 1.6 to 2.8 degrees of
 * freedom. */
#define PRIOR_SCALE   0.033 /* of medians; ks_statistic_scatter() for the others */
#define PRIOR_FREEDOM 1.9
#define PRIOR_N       20.0
/* The middle half of a round's samples spans 1.2 to 6 % there. On an H100 it is about 0.1 %
 * (inferred from the 95 % intervals of medians, +- 0.03 %), and a time differs by 0.5 % between two
 * sweeps (median; docs/measured/h100/repeat.txt): less by about the same factor. */
#define USUAL_SPAN  0.01
#define LEAST_TIMES 0.1
#define LEAST_SCALE 0.0005
/* A cell's own degrees of freedom count half. Cells have fast and slow states: a few values that
 * agree say less of the next one than those of a normal distribution would. */
#define OWN_WEIGHT  0.5
#define MANY        50u /* differences, from which tails can be read */
#define MOST_APART  8u
#define MOST        (1u << 20) /* differences; of more, those of every 2nd, 3rd, .. cell count */
#define INNER       0.5        /* quantiles of absolute differences */
#define OUTER       0.9
#define FREEDOM_MIN 1.2
#define FREEDOM_MAX 100.0

static const double prior_class[KS_LABEL_CLASSES] = { 1, 1.75, 2.35 };
static const double class_ends[KS_LABEL_CLASSES - 1] = { 0.1, 0.3 }; /* logs */

enum ks_label_class ks_label_class(double over_best)
{
    unsigned k = KS_LABEL_NEAR;

    while (k < KS_LABEL_FAR && over_best > class_ends[k])
        k++;
    return k;
}

double ks_label_share(uint32_t n_rounds, enum ks_over over)
{
    return (KS_SPREAD_SWEEPS + ks_over_variance(n_rounds, over)) / (KS_SPREAD_SWEEPS + 1);
}

/* ---- differences ---- */

/* As multiples of what a round of the cell's class scatters by: class_scale[]. */
struct differences {
    double class_scale[KS_LABEL_CLASSES];
    double *x[KS_LABEL_CLASSES]; /* [n] each; NULL: they are only counted */
    size_t n[KS_LABEL_CLASSES], n_all;
    double *all, *scratch;     /* [n_all] of all classes */
    size_t step, n_seen;       /* every step-th cell or round counts; how many were seen */
    size_t n_sweeps, n_rounds; /* differences of sweeps, of rounds */
};

static void add_difference(struct differences *d, double by, double over_best, double share)
{
    enum ks_label_class class = ks_label_class(over_best);

    if (d->x[class])
        d->x[class][d->n[class]] = fabs(by) / sqrt(2 * share) / d->class_scale[class];
    d->n[class]++;
}

/* t: [n] one cell in as many sweeps. Each two of them, as far as they are among MOST_APART in a
 * row: sweeps that follow each other are more alike than others. */
static void add_cell(struct differences *d, const struct ks_trial *t, size_t n, enum ks_over over)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && k + MOST_APART > i; k--) {
            const struct ks_trial *a = &t[k - 1], *b = &t[i];
            double share = ks_label_share(a->n_rounds, over) + ks_label_share(b->n_rounds, over);

            add_difference(d, b->label - a->label, (a->over_best + b->over_best) / 2, share / 2);
            d->n_sweeps++;
        }
}

static void add_sweeps(struct differences *d, const struct ks_trials *t, const struct ks_contest *c,
                       enum ks_over over)
{
    const struct ks_trial *at = &t->trials[c->first];

    for (size_t i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && at[end].instance == at[i].instance;)
            end++;
        if (d->n_seen++ % d->step == 0)
            add_cell(d, &at[i], end - i, over);
    }
}

/* Rounds of one sweep hold what differs between rounds, which is 1 of 1 + P parts. */
static void add_rounds(struct differences *d, const struct ks_trials *t, const struct ks_contest *c)
{
    for (size_t i = c->first_step; i < c->first_step + c->n_steps; i++) {
        if (d->n_seen++ % d->step != 0)
            continue;
        add_difference(d, t->steps[i].by, t->trials[t->steps[i].trial].over_best,
                       1 / (1 + KS_SPREAD_SWEEPS));
        d->n_rounds++;
    }
}

/* All of a domain that count; d: its arrays and its step. */
static void collect(struct differences *d, const struct ks_trials *t, uint32_t domain,
                    enum ks_over over)
{
    for (unsigned k = 0; k < KS_LABEL_CLASSES; k++)
        d->n[k] = 0;
    d->n_seen = d->n_sweeps = d->n_rounds = 0;
    for (size_t i = 0; i < t->n_contests; i++)
        if (t->contests[i].domain == domain)
            add_sweeps(d, t, &t->contests[i], over);
    for (size_t i = 0; d->n_sweeps < MANY && i < t->n_contests; i++)
        if (t->contests[i].domain == domain)
            add_rounds(d, t, &t->contests[i]);
}

/* Finds the step, and room for as many as count then. */
static bool reserve(struct differences *d, const struct ks_trials *t, uint32_t domain,
                    enum ks_over over)
{
    size_t n;
    bool is_enough = true;

    d->step = 1;
    collect(d, t, domain, over);
    d->step = (d->n_sweeps + d->n_rounds) / MOST + 1;
    if (d->step > 1)
        collect(d, t, domain, over);
    n = d->n_sweeps + d->n_rounds;
    d->all = calloc(n + 1, sizeof(double));
    d->scratch = calloc(n + t->n_trials + 1, sizeof(double));
    for (unsigned k = 0; k < KS_LABEL_CLASSES; k++) {
        d->x[k] = calloc(d->n[k] + 1, sizeof(double));
        is_enough = is_enough && d->x[k];
    }
    return is_enough && d->all && d->scratch;
}

static void release(struct differences *d)
{
    for (unsigned k = 0; k < KS_LABEL_CLASSES; k++)
        free(d->x[k]);
    free(d->all);
    free(d->scratch);
}

/* ---- scale and tails ---- */

/* What samples within rounds say of a machine on which nothing was repeated. scratch: [n_trials] */
static double prior_scale(const struct ks_trials *t, uint32_t domain, double *scratch)
{
    double scale = PRIOR_SCALE * ks_statistic_scatter(t->statistic), span;
    size_t n = 0;

    for (size_t i = 0; i < t->n_contests; i++)
        for (size_t k = t->contests[i].first;
             t->contests[i].domain == domain && k < t->contests[i].first + t->contests[i].n; k++)
            if (t->trials[k].span >= 0)
                scratch[n++] = t->trials[k].span;
    if (n == 0)
        return scale;
    ks_stats_sort(scratch, n);
    span = ks_stats_quantile(scratch, n, 0.5);
    return scale * fmax(fmin(span / USUAL_SPAN, 1), LEAST_TIMES);
}

/* What moves the anchors moves all cells alike, slow and fast ones: it is added in equal parts. So
 * the variance of the cells grows as many times as that of the anchors. */
static void set_classes(const struct ks_trials *t, uint32_t domain, double times,
                        struct differences *d)
{
    double sum = 0, n = 0, typical;

    for (size_t i = 0; i < t->n_contests; i++)
        for (size_t k = t->contests[i].first;
             t->contests[i].domain == domain && k < t->contests[i].first + t->contests[i].n; k++) {
            sum += pow(prior_class[ks_label_class(t->trials[k].over_best)], 2);
            n++;
        }
    typical = n > 0 ? sum / n : 1;
    for (unsigned k = 0; k < KS_LABEL_CLASSES; k++)
        d->class_scale[k] = sqrt((pow(prior_class[k], 2) + (times - 1) * typical) / times);
}

/* Of a cell that has the prior's noise and that of the anchors. Half-widths of 95 % intervals add
 * up in quadrature; with so few degrees of freedom the prior has no variance that could. */
static double prior_freedom(const struct ks_scatter *s)
{
    double own = ks_student_quantile(0.025, PRIOR_FREEDOM);
    double more = ks_student_quantile(0.025, s->anchors_freedom);
    double t95 = sqrt((own * own + (s->anchors - 1) * more * more) / s->anchors);
    double lo = fmin(PRIOR_FREEDOM, s->anchors_freedom);
    double hi = fmax(PRIOR_FREEDOM, s->anchors_freedom);

    for (int i = 0; i < 40; i++) {
        double mid = (lo + hi) / 2;

        if (ks_student_quantile(0.025, mid) > t95)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static double shrunk(double prior, double found, size_t n)
{
    double w = (double)n / ((double)n + PRIOR_N);

    return exp((1 - w) * log(prior) + w * log(fmax(found, LEAST_SCALE)));
}

/* Quantile of the differences of a class, or, where it has few, of all. */
static double quantile_of(const struct differences *d, unsigned class, double q)
{
    return d->n[class] >= MANY ? ks_stats_quantile(d->x[class], d->n[class], q)
                               : ks_stats_quantile(d->all, d->n_all, q);
}

/* The tails of all classes together, each on its own scale. */
static double find_freedom(struct differences *d, double prior)
{
    size_t n = 0;

    if (d->n_all < MANY)
        return prior;
    for (unsigned k = 0; k < KS_LABEL_CLASSES; k++) {
        double scale = quantile_of(d, k, INNER);

        for (size_t i = 0; scale > 0 && i < d->n[k]; i++)
            d->scratch[n++] = d->x[k][i] / scale;
    }
    ks_stats_sort(d->scratch, n);
    if (n < MANY)
        return prior;
    return ks_student_freedom(ks_stats_quantile(d->scratch, n, OUTER) /
                                  ks_stats_quantile(d->scratch, n, INNER),
                              INNER, OUTER, FREEDOM_MIN, FREEDOM_MAX);
}

static void fit(struct differences *d, double prior, double freedom, struct ks_label_error *e)
{
    double scale = prior;

    for (unsigned k = 0; k < KS_LABEL_CLASSES; k++) {
        ks_stats_sort(d->x[k], d->n[k]);
        memcpy(d->all + d->n_all, d->x[k], d->n[k] * sizeof(double));
        d->n_all += d->n[k];
    }
    ks_stats_sort(d->all, d->n_all);
    e->freedom = find_freedom(d, freedom);
    if (d->n_all > 0)
        scale = shrunk(prior,
                       ks_stats_quantile(d->all, d->n_all, INNER) /
                           ks_student_quantile((1 - INNER) / 2, e->freedom),
                       d->n_all);
    for (unsigned k = 0; k < KS_LABEL_CLASSES; k++) {
        const double q = d->n[k] >= MANY ? OUTER : INNER; /* intervals end near the outer one */
        double own = scale;

        if (d->n[k] > 0)
            own = shrunk(scale,
                         ks_stats_quantile(d->x[k], d->n[k], q) /
                             ks_student_quantile((1 - q) / 2, e->freedom),
                         d->n[k]);
        e->round[k] = pow(own * d->class_scale[k], 2);
    }
}

/* ---- medians ---- */

/* Of n values: how far their median is from their mean, squared, over their variance, and the
 * variance of the median over that of one value. */
struct medians {
    double apart, variance;
};

/* Of normal values the mean and what is left of the values are independent (Basu 1955). */
static struct medians of_normal(unsigned n)
{
    double variance = ks_over_variance(n, KS_OVER_MEDIAN);

    return (struct medians){ variance - 1.0 / n, variance };
}

/* Of values that are 0 or 1, one as often as the other, and have a little normal noise: with k ones
 * of n. It is all that remains where all are alike. */
static struct medians of_two_states(unsigned n)
{
    double chance = pow(0.5, n);
    struct medians m = { .apart = 2 * chance * of_normal(n).apart };

    for (unsigned k = 0; k <= n; k++) {
        double median = 2 * k > n ? 1 : 2 * k == n ? 0.5 : 0, mean = (double)k / n;

        m.variance += chance * pow(median - 0.5, 2) / 0.25;
        if (k > 0 && k < n)
            m.apart += chance * pow(median - mean, 2) / (mean * (1 - mean) * n / (n - 1));
        chance *= (double)(n - k) / (k + 1);
    }
    return m;
}

/* t: [n] one instance in as many sweeps, n >= 3. The squared distance of the median of its labels
 * from their mean over their variance; < 0: they are all alike. */
static double median_apart(const struct ks_trial *t, size_t n)
{
    double x[KS_LABEL_SWEEPS], mean = 0, square = 0;

    for (size_t i = 0; i < n; i++) {
        x[i] = t[i].label;
        mean += x[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        square += (x[i] - mean) * (x[i] - mean);
    if (square <= 0)
        return -1;
    return pow(ks_over_rounds(x, n, KS_OVER_MEDIAN, x) - mean, 2) / (square / (double)(n - 1));
}

/* Between the variances of the median of normal values and of values with two states, as far as
 * medians are from means. */
static double median_variance(unsigned n, double apart_sum, size_t n_cells)
{
    struct medians normal = of_normal(n), two = of_two_states(n);
    double apart = (PRIOR_N * normal.apart + apart_sum) / (PRIOR_N + (double)n_cells);
    double part = (apart - normal.apart) / (two.apart - normal.apart);

    return normal.variance + fmax(fmin(part, 1), 0) * (two.variance - normal.variance);
}

static void find_medians(const struct ks_trials *t, uint32_t domain, struct ks_label_error *e)
{
    double sum[KS_LABEL_SWEEPS] = { 0 }, apart;
    size_t n_cells[KS_LABEL_SWEEPS] = { 0 };

    for (size_t i = 0; i < t->n_contests; i++) {
        const struct ks_trial *at = &t->trials[t->contests[i].first];

        for (size_t k = 0, end; t->contests[i].domain == domain && k < t->contests[i].n; k = end) {
            for (end = k + 1; end < t->contests[i].n && at[end].instance == at[k].instance;)
                end++;
            apart = end - k > 2 && end - k <= KS_LABEL_SWEEPS ? median_apart(&at[k], end - k) : -1;
            if (apart >= 0) {
                sum[end - k - 1] += apart;
                n_cells[end - k - 1]++;
            }
        }
    }
    for (unsigned n = 1; n <= KS_LABEL_SWEEPS; n++)
        e->median[n - 1] = n > 2 ? median_variance(n, sum[n - 1], n_cells[n - 1])
                                 : ks_over_variance(n, KS_OVER_MEDIAN);
}

/* With the own variance of a cell in n sweeps. */
static double freedom_with(const struct ks_label_error *e, size_t n)
{
    return e->freedom + OWN_WEIGHT * (double)(n - 1);
}

int ks_label_error_find(const struct ks_trials *t, uint32_t domain, enum ks_over over,
                        const struct ks_scatter *s, struct ks_label_error *out, struct ks_err *err)
{
    struct differences d = { .n_all = 0 };
    bool is_enough;

    *out = (struct ks_label_error){ .freedom = PRIOR_FREEDOM };
    set_classes(t, domain, s->anchors, &d);
    is_enough = reserve(&d, t, domain, over);
    if (is_enough)
        collect(&d, t, domain, over);
    out->n_sweeps = d.n_sweeps;
    out->n_rounds = d.n_rounds;
    if (is_enough)
        fit(&d, prior_scale(t, domain, d.scratch) * sqrt(s->anchors), prior_freedom(s), out);
    for (unsigned n = 1; n <= KS_LABEL_SWEEPS; n++)
        out->t95[n - 1] = ks_student_quantile(0.025, freedom_with(out, n));
    find_medians(t, domain, out);
    release(&d);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", t->n_trials);
}

/* ---- one cell ---- */

void ks_label_find(const struct ks_label_error *e, const struct ks_trial *t, size_t n,
                   enum ks_over over, double *scratch, struct ks_label *out)
{
    const bool is_known = n <= KS_LABEL_SWEEPS;
    double t95, mean = 0, square = 0, share = 0, over_best = 0;

    for (size_t i = 0; i < n; i++) {
        scratch[n + i] = t[i].label;
        mean += t[i].label / (double)n;
        over_best += t[i].over_best / (double)n;
        share += ks_label_share(t[i].n_rounds, over) / (double)n;
    }
    for (size_t i = 0; i < n; i++)
        square += (t[i].label - mean) * (t[i].label - mean);
    out->log_ns = ks_over_rounds(scratch + n, n, KS_OVER_MEDIAN, scratch);
    out->freedom = freedom_with(e, n);
    out->round = (e->freedom * e->round[ks_label_class(over_best)] + OWN_WEIGHT * square / share) /
                 out->freedom;
    out->variance =
        out->round * share * (is_known ? e->median[n - 1] : ks_over_variance(n, KS_OVER_MEDIAN));
    t95 = is_known ? e->t95[n - 1] : ks_student_quantile(0.025, out->freedom);
    out->half_width = t95 * sqrt(out->variance);
}
