/* SPDX-License-Identifier: MIT */
/* oracle_weigh.c - computes the chances of one domain on a grid of gaps above the best */
#include "analysis/learn/oracle.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define EM_STEPS     20
#define EM_CONTESTS  100u /* the distribution of gaps is learnt from at most so many */
#define GAPS_MAX     400u
#define PLACES_MAX   300u
#define STEP_MIN     0.0005
#define STEP_MAX     0.002
#define UNLIKELY     1e-4 /* places of the best that are left out */
#define PLACES_SHARE 0.75 /* of the range of gaps that places may have */
#define SMALLEST_GAP 1e-9 /* share of a gap that no problem shows */

struct grid {        /* of a domain */
    double step;     /* log */
    uint32_t n_gaps; /* gaps 0, step, ..; one more stands for all larger ones */
    double share[GAPS_MAX + 1];
};

/* One contest on the grid: instances beyond reach are `far`. */
struct field {
    struct ks_chance *chances; /* [n], the nearest ones of the contest */
    size_t n, n_far;
    uint32_t n_places; /* where the best may be */
    uint32_t far_from; /* gaps from place 0 at which far ones begin */
    double lowest;     /* log: place 0 */
    double best;       /* log: expected time of the best */
    float *likely;     /* [n][n_places + n_gaps] likelihood of each time */
    double *evidence;  /* [n][n_places] */
    double *weight;    /* [n_places] posterior of the place */
};

static void field_release(struct field *f)
{
    free(f->likely);
    free(f->evidence);
    free(f->weight);
    *f = (struct field){ 0 };
}

static uint32_t at_most(double x, uint32_t most)
{
    return x < most ? (uint32_t)x : most;
}

static void fill_likely(struct field *f, const struct grid *g)
{
    size_t width = f->n_places + g->n_gaps;

    for (size_t i = 0; i < f->n; i++) {
        const struct ks_chance *c = &f->chances[i];

        for (size_t k = 0; k < width; k++) {
            double z = (c->estimate - f->lowest - (double)k * g->step) / c->sd;

            f->likely[i * width + k] =
                (float)exp(-(c->freedom + 1) / 2 * log1p(z * z / c->freedom));
        }
    }
}

/* Where the best may be: not above any instance. Its place is known as well as that of the instance
 * which says most of it: one lucky time of a large error says little, and must not send all others
 * out of reach. */
static void find_range(struct field *f, size_t n, const struct grid *g)
{
    const double extent = g->n_gaps * g->step;
    double low = INFINITY, high = INFINITY, reach;

    for (size_t i = 0; i < n; i++) {
        low = fmin(low, f->chances[i].estimate - 4 * f->chances[i].sd);
        high = fmin(high, f->chances[i].estimate + 3 * f->chances[i].sd);
    }
    low = fmax(low, high - PLACES_SHARE * extent);
    reach = extent - (high - low) / 7;
    f->lowest = low;
    f->n_places = 1 + at_most((high - low) / g->step, PLACES_MAX - 1);
    f->far_from = at_most(reach / g->step, UINT32_MAX);
    while (f->n < n && f->chances[f->n].estimate <= low + reach)
        f->n++;
    f->n_far = n - f->n;
}

static int field_init(struct field *f, struct ks_chance *chances, size_t n, const struct grid *g,
                      struct ks_err *err)
{
    size_t width;

    *f = (struct field){ .chances = chances };
    find_range(f, n, g);
    width = f->n_places + g->n_gaps;
    f->likely = calloc(f->n * width, sizeof(*f->likely));
    f->evidence = calloc(f->n * f->n_places, sizeof(*f->evidence));
    f->weight = calloc(f->n_places, sizeof(*f->weight));
    if (!f->likely || !f->evidence || !f->weight) {
        field_release(f);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu instances", n);
    }
    fill_likely(f, g);
    return 0;
}

static const float *likely_at(const struct field *f, const struct grid *g, size_t i, uint32_t place)
{
    return f->likely + i * (f->n_places + g->n_gaps) + place;
}

/* Evidence of each instance at each place, and the posterior of places. */
static void find_places(struct field *f, const struct grid *g)
{
    double highest = -INFINITY, sum = 0;

    for (uint32_t m = 0; m < f->n_places; m++) {
        uint32_t far_gap = f->far_from > m ? f->far_from - m : 0;
        double far = g->share[g->n_gaps];

        f->weight[m] = 0;
        for (size_t i = 0; i < f->n; i++) {
            const float *l = likely_at(f, g, i, m);
            double q = 1e-300;

            for (uint32_t k = 0; k < g->n_gaps; k++)
                q += (double)l[k] * g->share[k];
            f->evidence[i * f->n_places + m] = q;
            f->weight[m] += log(q);
        }
        for (uint32_t k = far_gap; k < g->n_gaps; k++)
            far += g->share[k];
        f->weight[m] += (double)f->n_far * log(far);
        highest = f->weight[m] > highest ? f->weight[m] : highest;
    }
    for (uint32_t m = 0; m < f->n_places; m++) {
        f->weight[m] = exp(f->weight[m] - highest);
        sum += f->weight[m];
    }
    for (uint32_t m = 0; m < f->n_places; m++)
        f->weight[m] /= sum;
}

/* ---- the distribution of gaps ---- */

/* Adds the expected number of instances with each gap. */
static void count_gaps(const struct field *f, const struct grid *g, double *count)
{
    for (uint32_t m = 0; m < f->n_places; m++) {
        if (f->weight[m] < UNLIKELY)
            continue;
        for (size_t i = 0; i < f->n; i++) {
            const float *l = likely_at(f, g, i, m);
            double scale = f->weight[m] / f->evidence[i * f->n_places + m];

            for (uint32_t k = 0; k < g->n_gaps; k++)
                count[k] += scale * (double)l[k] * g->share[k];
        }
    }
    count[g->n_gaps] += (double)f->n_far;
}

static void em_step(struct grid *g, struct field *fields, size_t n)
{
    double count[GAPS_MAX + 1] = { 0 }, sum = 0;

    for (size_t i = 0; i < n; i++) {
        find_places(&fields[i], g);
        count_gaps(&fields[i], g, count);
    }
    for (uint32_t k = 0; k <= g->n_gaps; k++)
        sum += count[k];
    for (uint32_t k = 0; k <= g->n_gaps; k++)
        g->share[k] = fmax(count[k] / sum, SMALLEST_GAP);
}

static double typical_sd(const struct ks_chance *chances, const struct ks_answer *a, size_t n,
                         double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = chances[a[i].first].sd;
    ks_stats_sort(scratch, n);
    return scratch[n / 2];
}

static void grid_init(struct grid *g, double sd)
{
    g->step = fmin(fmax(sd / 4, STEP_MIN), STEP_MAX);
    g->n_gaps = at_most((0.03 + 10 * sd) / g->step, GAPS_MAX);
    for (uint32_t k = 0; k < g->n_gaps; k++)
        g->share[k] = 0.5 / g->n_gaps;
    g->share[g->n_gaps] = 0.5;
}

static int learn_gaps(struct grid *g, struct ks_chance *chances, const struct ks_answer *a,
                      size_t n, struct ks_err *err)
{
    size_t n_fields = n < EM_CONTESTS ? n : EM_CONTESTS;
    struct field *fields = calloc(n_fields + 1, sizeof(*fields));
    int rc = fields ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < n_fields; i++) {
        const struct ks_answer *one = &a[i * n / n_fields];

        rc = field_init(&fields[i], &chances[one->first], one->n, g, err);
    }
    for (int step = 0; rc == 0 && step < EM_STEPS; step++)
        em_step(g, fields, n_fields);
    for (size_t i = 0; fields && i < n_fields; i++)
        field_release(&fields[i]);
    free(fields);
    return rc;
}

/* ---- chances ---- */

/* At one place: posterior of each instance's gap, and the chance that it is larger than a gap. */
struct scene {
    double *gap, *above;                          /* [n][n_gaps] */
    double log_all[GAPS_MAX], log_near[GAPS_MAX]; /* of all instances being above a gap; above a gap
                                                     less the margin */
    double near_gaps;                             /* margin in gaps */
};

static double above_at(const double *above, double k)
{
    size_t i = (size_t)(k > 0 ? k : 0);

    return k <= 0 ? 1 : above[i] + (k - (double)i) * (above[i + 1] - above[i]);
}

static void set_scene(struct scene *s, const struct field *f, const struct grid *g, uint32_t m)
{
    memset(s->log_all, 0, sizeof(s->log_all));
    memset(s->log_near, 0, sizeof(s->log_near));
    for (size_t i = 0; i < f->n; i++) {
        const float *l = likely_at(f, g, i, m);
        double *gap = s->gap + i * g->n_gaps, *above = s->above + i * g->n_gaps, sum = 0;

        for (uint32_t k = 0; k < g->n_gaps; k++) {
            gap[k] = (double)l[k] * g->share[k] / f->evidence[i * f->n_places + m];
            above[k] = fmax(1 - sum - gap[k] / 2, 1e-300);
            sum += gap[k];
            s->log_all[k] += log(above[k]);
            s->log_near[k] += log(above_at(above, k - s->near_gaps));
        }
    }
}

/* What instance i gets at this place. */
static void weigh_one(const struct scene *s, const struct grid *g, size_t i, double *best_out,
                      double *near_out, double *gap_out)
{
    const double *gap = s->gap + i * g->n_gaps, *above = s->above + i * g->n_gaps;

    *best_out = *near_out = *gap_out = 0;
    for (uint32_t k = 0; k < g->n_gaps; k++) {
        double own = log(above_at(above, k - s->near_gaps));

        *best_out += gap[k] * exp(s->log_all[k] - log(above[k]));
        *near_out += gap[k] * exp(s->log_near[k] - own);
        *gap_out += gap[k] * k * g->step;
    }
}

static void add_place(const struct scene *s, struct field *f, const struct grid *g, uint32_t m,
                      double *best)
{
    double sum = 0, least = 0;

    for (uint32_t k = 0; k < g->n_gaps; k++)
        least += exp(s->log_all[k]) * g->step;
    least -= g->step / 2;
    f->best += f->weight[m] * (f->lowest + m * g->step + fmax(least, 0));
    for (size_t i = 0; i < f->n; i++) {
        double near, gap;

        weigh_one(s, g, i, &best[i], &near, &gap);
        sum += best[i];
        f->chances[i].near += f->weight[m] * near;
        f->chances[i].regret += f->weight[m] * fmax(gap - fmax(least, 0), 0);
    }
    for (size_t i = 0; i < f->n; i++)
        f->chances[i].best += f->weight[m] * best[i] / (sum > 0 ? sum : 1);
}

static int weigh_contest(struct ks_chance *chances, const struct ks_answer *a, const struct grid *g,
                         double margin, struct ks_err *err)
{
    struct scene *s = calloc(1, sizeof(*s));
    struct field f;
    double *best = calloc(a->n, sizeof(*best)), weight = 0;
    int rc = field_init(&f, &chances[a->first], a->n, g, err);

    if (rc == 0 && s) {
        s->gap = calloc(f.n * g->n_gaps, sizeof(double));
        s->above = calloc(f.n * g->n_gaps, sizeof(double));
        s->near_gaps = log1p(margin) / g->step;
    }
    if (rc == 0 && (!s || !best || !s->gap || !s->above))
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu instances", a->n);
    if (rc == 0)
        find_places(&f, g);
    for (uint32_t m = 0; rc == 0 && m < f.n_places; m++) {
        if (f.weight[m] < UNLIKELY)
            continue;
        set_scene(s, &f, g, m);
        add_place(s, &f, g, m, best);
        weight += f.weight[m];
    }
    for (size_t i = f.n; rc == 0 && i < a->n; i++)
        chances[a->first + i].regret = chances[a->first + i].estimate - f.best / weight;
    field_release(&f);
    if (s) {
        free(s->gap);
        free(s->above);
    }
    free(s);
    free(best);
    return rc;
}

int ks_oracle_weigh(struct ks_chance *chances, const struct ks_answer *answers, size_t n_answers,
                    double margin, struct ks_err *err)
{
    struct grid *g = calloc(1, sizeof(*g));
    double *scratch = calloc(n_answers + 1, sizeof(*scratch));
    int rc = g && scratch ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0 && n_answers > 0) {
        grid_init(g, typical_sd(chances, answers, n_answers, scratch));
        rc = learn_gaps(g, chances, answers, n_answers, err);
    }
    for (size_t i = 0; rc == 0 && i < n_answers; i++)
        rc = weigh_contest(chances, &answers[i], g, margin, err);
    free(g);
    free(scratch);
    return rc;
}
