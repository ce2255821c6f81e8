/* SPDX-License-Identifier: MIT */
/* scatter.c - pools log variances within and between sweeps, together with a prior */
#include "analysis/learn/scatter.h"

#include <math.h>
#include <stdlib.h>

/* 12 ResNet-50 layers x 47 instances on 2 quiet cores, medians of 19 samples: 2.5 % within one
 * worker for seconds, 3.4 % between six sweeps (docs/analysis.md). Rounds have another worker and
 * another minute; that they show half of what is not seen within a worker is an assumption. */
#define PRIOR_MOMENTS (0.025 * 0.025)
#define PRIOR_ROUNDS  (0.030 * 0.030)
#define PRIOR_SWEEPS  (0.016 * 0.016)
#define PRIOR_SINGLE  (PRIOR_ROUNDS + PRIOR_SWEEPS)
#define LEAST_SWEEPS  (0.005 * 0.005)
#define PRIOR_FREEDOM 4.0
#define FEW_CELLS     20u
#define FREEDOM_MIN   2.5
#define FREEDOM_MAX   100.0
#define MOST_BLOCKS   16u /* of a contest */

/* Standard deviations between sweeps as multiples of that of medians: means of two sets of six
 * sweeps of 71 layers x 47 instances on a host (docs/measured/scatter.txt). */
static const double against_median[KS_N_STATISTICS] = { [KS_STATISTIC_MEDIAN] = 1,
                                                        [KS_STATISTIC_LOW] = 0.88,
                                                        [KS_STATISTIC_GROUPS] = 0.91,
                                                        [KS_STATISTIC_MINIMUM] = 0.80 };

double ks_statistic_scatter(enum ks_statistic statistic)
{
    return against_median[statistic];
}

void ks_scatter_init(enum ks_statistic statistic, struct ks_scatter *out)
{
    const double times = against_median[statistic] * against_median[statistic];

    *out = (struct ks_scatter){ .single = PRIOR_SINGLE * times,
                                .rounds = PRIOR_ROUNDS * times,
                                .sweeps = PRIOR_SWEEPS * times,
                                .freedom = PRIOR_FREEDOM,
                                .anchors = 1,
                                .anchors_freedom = PRIOR_FREEDOM };
}

/* ---- moments of log variances ---- */

/* DLMF 5.5.2 and 5.11.2. */
static double digamma(double x)
{
    double sum = 0, y;

    for (; x < 6; x++)
        sum -= 1 / x;
    y = 1 / (x * x);
    return sum + log(x) - 1 / (2 * x) - y * (1.0 / 12 - y * (1.0 / 120 - y / 252));
}

static double trigamma(double x) /* DLMF 5.15.8 */
{
    double sum = 0, y;

    for (; x < 6; x++)
        sum += 1 / (x * x);
    y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y / 42));
}

static double freedom_of(double excess) /* trigamma(freedom / 2) = excess */
{
    double lo = FREEDOM_MIN, hi = FREEDOM_MAX;

    if (excess <= trigamma(hi / 2))
        return hi;
    for (int i = 0; i < 60; i++) {
        double mid = (lo + hi) / 2;

        if (trigamma(mid / 2) > excess)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Log variance of a cell without the bias of taking the log. */
static double log_variance(double square, double freedom)
{
    return log(square / freedom) - digamma(freedom / 2) + log(freedom / 2);
}

double ks_scatter_fit(const double *square, const double *freedom, size_t n, double *scale_out,
                      double *freedom_out)
{
    double sum = 0, all = 0, expected = 0, mean, variance = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (square[i] <= 0)
            continue;
        sum += log_variance(square[i], freedom[i]);
        expected += trigamma(freedom[i] / 2);
        all += freedom[i];
        kept++;
    }
    if (kept == 0)
        return 0;
    mean = sum / (double)kept;
    for (size_t i = 0; i < n; i++)
        if (square[i] > 0)
            variance += pow(log_variance(square[i], freedom[i]) - mean, 2);
    *freedom_out = PRIOR_FREEDOM;
    if (kept >= FEW_CELLS)
        *freedom_out = freedom_of(variance / (double)(kept - 1) - expected / (double)kept);
    *scale_out = exp(mean + digamma(*freedom_out / 2) - log(*freedom_out / 2));
    return all;
}

/* ---- sums of squares of cells ---- */

struct cells {
    double *square, *freedom; /* [n] */
    size_t n;
};

struct work {
    const struct ks_trials *t;
    struct cells rounds, single, several, moments;
    double rounds_part; /* over the cells of `several`: mean of ks_over_variance */
    double *value, *scratch, *shift;
    uint32_t *row, *column;
};

static void add_cell(struct cells *c, double square, double freedom)
{
    if (freedom <= 0)
        return;
    c->square[c->n] = square;
    c->freedom[c->n++] = freedom;
}

/* One instance in n >= 2 sweeps. value: aligned between sweeps; m: instances beside it. */
static void add_sweeps(struct work *w, const struct ks_trial *t, const double *value, size_t n,
                       size_t m)
{
    double mean = 0, square = 0, part = 0;
    bool is_single = true, is_several = true;

    for (size_t i = 0; i < n; i++) {
        mean += value[i] / (double)n;
        part += ks_over_variance(t[i].n_rounds, KS_OVER_MEAN) / (double)n;
        is_single = is_single && t[i].n_rounds == 1;
        is_several = is_several && t[i].n_rounds > 1;
    }
    for (size_t i = 0; i < n; i++)
        square += (value[i] - mean) * (value[i] - mean);
    if (is_single)
        add_cell(&w->single, square, (double)(n - 1) * ks_polish_left(m));
    if (is_several) {
        add_cell(&w->several, square, (double)(n - 1) * ks_polish_left(m));
        w->rounds_part += part;
    }
}

/* The anchor of a block is one kernel at two moments, its start and its end. */
static void add_anchors(struct work *w, const struct ks_trial *t, size_t n)
{
    struct {
        uint64_t block_id;
        uint32_t sweep;
    } seen[MOST_BLOCKS];
    size_t n_seen = 0;

    for (size_t i = 0; i < n && n_seen < MOST_BLOCKS; i++) {
        size_t k = 0;

        if (fabs(t[i].anchor_shift) <= 0)
            continue;
        while (k < n_seen && (seen[k].block_id != t[i].block_id || seen[k].sweep != t[i].sweep))
            k++;
        if (k < n_seen)
            continue;
        seen[n_seen].block_id = t[i].block_id;
        seen[n_seen++].sweep = t[i].sweep;
        add_cell(&w->moments, t[i].anchor_shift * t[i].anchor_shift / 2, 1);
    }
}

static void add_contest(struct work *w, const struct ks_contest *c)
{
    const struct ks_trial *t = &w->t->trials[c->first];
    uint32_t n_sweeps = 1;
    size_t n_instances = 0;

    add_anchors(w, t, c->n);
    for (size_t i = 0; i < c->n; i++) {
        add_cell(&w->rounds, t[i].square, t[i].freedom);
        w->value[i] = t[i].aligned;
        w->row[i] = t[i].instance;
        w->column[i] = t[i].sweep;
        n_sweeps = t[i].sweep + 1 > n_sweeps ? t[i].sweep + 1 : n_sweeps;
        n_instances += i == 0 || t[i].instance != t[i - 1].instance;
    }
    if (c->n == 0 || n_instances < 2)
        return;
    ks_polish(w->value, w->row, w->column, c->n, n_sweeps, w->shift, w->scratch);
    for (size_t i = 0; i < c->n; i++)
        w->value[i] -= w->shift[w->column[i]];
    for (size_t i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && t[end].instance == t[i].instance;)
            end++;
        if (end - i > 1)
            add_sweeps(w, &t[i], &w->value[i], end - i, n_instances);
    }
}

/* ---- pooled ---- */

static double log_mean(double prior, double found, double freedom)
{
    return exp((PRIOR_FREEDOM * log(prior) + freedom * log(found)) / (PRIOR_FREEDOM + freedom));
}

/* One round says nothing of other rounds. But anchors that move more within blocks than the prior's
 * moments are those of a noisier machine, on which all else is larger in proportion. Anchors that
 * stand still prove nothing: they stay in one worker. */
static void expect_noise(const struct work *w, struct ks_scatter *s)
{
    double scale = PRIOR_MOMENTS, own = PRIOR_FREEDOM, times;

    if (w->moments.n >= FEW_CELLS)
        ks_scatter_fit(w->moments.square, w->moments.freedom, w->moments.n, &scale, &own);
    times = fmax(scale / PRIOR_MOMENTS, 1);
    s->anchors = times;
    s->anchors_freedom = own;
    s->rounds *= times;
    s->sweeps *= times;
    s->single *= times;
    s->freedom = fmin(own, s->freedom);
}

/* Rounds say how noisy the machine is: what separates sweeps beyond them is expected to be in the
 * proportion of the prior. own: freedom of the rounds; a cell that scatters much between rounds
 * does so between sweeps. Freedom: Satterthwaite 1946, of one round, but no more than that. */
static void expect_sweeps(struct ks_scatter *s, double own)
{
    double r = s->rounds, b = fmax(r * (PRIOR_SWEEPS / PRIOR_ROUNDS), LEAST_SWEEPS);

    s->sweeps = b;
    s->single = r + b;
    s->freedom = fmin(own, pow(r + b, 2) / (r * r / own + b * b / PRIOR_FREEDOM));
}

static void pool(struct work *w, struct ks_scatter *s)
{
    double scale, own, freedom = 0, n;
    double rounds = ks_scatter_fit(w->rounds.square, w->rounds.freedom, w->rounds.n, &scale, &own);

    expect_noise(w, s);
    if (rounds > 0) {
        s->n_rounds = rounds;
        s->rounds = log_mean(s->rounds, scale, rounds);
        expect_sweeps(s, own);
    }
    n = ks_scatter_fit(w->several.square, w->several.freedom, w->several.n, &scale, &own);
    if (n > 0) {
        scale -= s->rounds * w->rounds_part / (double)w->several.n;
        s->sweeps = (PRIOR_FREEDOM * s->sweeps + n * fmax(scale, 0)) / (PRIOR_FREEDOM + n);
        freedom = w->several.n >= FEW_CELLS ? own : freedom;
        s->single = s->rounds + s->sweeps;
        s->n_sweeps = n;
    }
    n = ks_scatter_fit(w->single.square, w->single.freedom, w->single.n, &scale, &own);
    if (n > 0) {
        s->single = log_mean(s->single, scale, n);
        freedom = w->single.n >= FEW_CELLS && w->single.n > w->several.n ? own : freedom;
        s->n_sweeps += n;
    }
    s->freedom = freedom > 0 ? freedom : s->freedom;
}

static bool reserve_cells(struct cells *c, size_t n)
{
    c->square = calloc(n + 1, sizeof(double));
    c->freedom = calloc(n + 1, sizeof(double));
    return c->square && c->freedom;
}

static bool reserve(struct work *w, const struct ks_trials *t)
{
    const size_t n = t->most + 1, n_sweeps = ks_trials_sweeps(t);
    const size_t n_blocks = MOST_BLOCKS * t->n_contests;
    size_t n_several = 0;
    bool is_enough;

    for (size_t i = 0; i < t->n_trials; i++)
        n_several += t->trials[i].freedom > 0;
    is_enough = reserve_cells(&w->rounds, n_several) && reserve_cells(&w->single, t->n_cells) &&
                reserve_cells(&w->several, t->n_cells) &&
                reserve_cells(&w->moments, n_blocks < t->n_trials ? n_blocks : t->n_trials);
    w->value = calloc(n, sizeof(double));
    w->scratch = calloc(2 * n, sizeof(double));
    w->shift = calloc(n_sweeps, sizeof(double));
    w->row = calloc(n, sizeof(uint32_t));
    w->column = calloc(n, sizeof(uint32_t));
    return is_enough && w->value && w->scratch && w->shift && w->row && w->column;
}

static void release(struct work *w)
{
    struct cells *const all[] = { &w->rounds, &w->single, &w->several, &w->moments };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free(all[i]->square);
        free(all[i]->freedom);
    }
    free(w->value);
    free(w->scratch);
    free(w->shift);
    free(w->row);
    free(w->column);
}

int ks_scatter_find(const struct ks_trials *t, uint32_t domain, struct ks_scatter *out,
                    struct ks_err *err)
{
    struct work w = { .t = t };
    bool is_enough = reserve(&w, t);

    for (size_t i = 0; is_enough && i < t->n_contests; i++)
        if (t->contests[i].domain == domain)
            add_contest(&w, &t->contests[i]);
    if (is_enough) {
        ks_scatter_init(t->statistic, out);
        pool(&w, out);
    }
    release(&w);
    return is_enough ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu cells", t->n_trials);
}

double ks_scatter_variance(const struct ks_scatter *s, uint32_t n_rounds, enum ks_over over)
{
    return n_rounds < 2 ? s->single : s->sweeps + s->rounds * ks_over_variance(n_rounds, over);
}

double ks_scatter_own(const struct ks_scatter *s, double variance, double square, double freedom,
                      double *freedom_out)
{
    *freedom_out = s->freedom + freedom;
    return (s->freedom * variance + square) / *freedom_out;
}
