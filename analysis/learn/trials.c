/* SPDX-License-Identifier: MIT */
/* trials.c - removes the shifts of rounds by median polish; one value per instance and sweep */
#include "analysis/learn/trials.h"
#include "record/outcome.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POLISH_STEPS 5
#define ROUNDS_MAX   64u
#define FEW          20.0 /* differences; of so many, trust counts half */

/* A round of an instance in a sweep. */
struct point {
    uint32_t instance, sweep, round;
    uint64_t block_id;
    uint32_t n_records; /* that its value is the mean of */
    bool is_clean, is_elsewhere;
    double value, log_anchor, anchor_shift, span, spent_ns; /* value: log of ns */
};

struct work {
    const struct ks_sweeps *s;
    enum ks_statistic statistic;
    enum ks_over over;
    struct point *points; /* [n] of the present contest; all arrays have room for the largest */
    size_t n;
    uint32_t *beside; /* [n_sweeps][ROUNDS_MAX] points of the present contest */
    double *value, *scratch, *aligned;
    uint32_t *row, *column;
    size_t *at;    /* of a value the number of its point */
    double *trust; /* [n_domains] weight of a contaminated round; a clean one has 1 */
    struct ks_trials *out;
};

/* ---- median polish ---- */

static double middle(double *x, size_t n)
{
    ks_stats_sort(x, n);
    return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* Subtracts each row's median from what is left of its entries. */
static void polish_rows(double *left, const uint32_t *row, size_t n, double *scratch)
{
    for (size_t first = 0, end; first < n; first = end) {
        double m;

        for (end = first; end < n && row[end] == row[first]; end++)
            scratch[end - first] = left[end];
        m = middle(scratch, end - first);
        for (size_t i = first; i < end; i++)
            left[i] -= m;
    }
}

static bool is_single(const uint32_t *row, size_t n, size_t i)
{
    return !(i > 0 && row[i - 1] == row[i]) && !(i + 1 < n && row[i + 1] == row[i]);
}

static void polish_column(double *left, const uint32_t *row, const uint32_t *column, size_t n,
                          uint32_t c, double *shift, double *scratch)
{
    size_t k = 0;
    double m;

    for (size_t i = 0; i < n; i++)
        if (column[i] == c && !is_single(row, n, i))
            scratch[k++] = left[i];
    if (k == 0)
        return;
    m = middle(scratch, k);
    *shift += m;
    for (size_t i = 0; i < n; i++)
        left[i] -= column[i] == c ? m : 0;
}

void ks_polish(const double *value, const uint32_t *row, const uint32_t *column, size_t n,
               uint32_t n_columns, double *shift_out, double *scratch)
{
    double *left = scratch + n, first;

    memcpy(left, value, n * sizeof(*left));
    for (uint32_t c = 0; c < n_columns; c++)
        shift_out[c] = 0;
    for (int step = 0; step < POLISH_STEPS; step++) {
        polish_rows(left, row, n, scratch);
        for (uint32_t c = 0; c < n_columns; c++)
            polish_column(left, row, column, n, c, &shift_out[c], scratch);
    }
    first = shift_out[0];
    for (uint32_t c = 0; c < n_columns; c++)
        shift_out[c] -= first;
}

double ks_polish_left(size_t n_rows)
{
    return 1 + ks_over_variance(n_rows, KS_OVER_MEDIAN) - 2 / (double)n_rows;
}

/* ---- points of one contest ---- */

static bool is_same_cell(const struct point *a, const struct point *b)
{
    return a->instance == b->instance && a->sweep == b->sweep;
}

/* Records of one round become one point. r: [n] of one contest. */
static void collect(struct work *w, const struct ks_sweep_round *r, size_t n,
                    struct ks_contest *contest)
{
    w->n = 0;
    for (size_t i = 0, end; i < n; i = end) {
        struct point p = { .instance = r[i].instance,
                           .sweep = r[i].sweep,
                           .round = r[i].round,
                           .block_id = r[i].block_id,
                           .is_clean = true,
                           .is_elsewhere = r[i].is_elsewhere,
                           .log_anchor = r[i].log_anchor,
                           .anchor_shift = r[i].anchor_shift,
                           .span = r[i].span };

        for (end = i; end < n && r[end].instance == p.instance && r[end].sweep == p.sweep &&
                      r[end].round == p.round;
             end++) {
            p.value += r[end].log_ns[w->statistic];
            p.spent_ns += r[end].spent_ns;
            p.is_clean = p.is_clean && r[end].is_clean;
        }
        p.n_records = (uint32_t)(end - i);
        p.value /= p.n_records;
        if (r[i].outcome == KS_O_OK && p.round < ROUNDS_MAX)
            w->points[w->n++] = p;
        else
            contest->n_failed += r[i].outcome != KS_O_OK && r[i].outcome != KS_O_ALIASED;
    }
}

/* Times of round 0 in several blocks are compared by the blocks' anchors, where all have one. */
static void scale_by_anchors(struct work *w, uint32_t sweep)
{
    const struct point *first = NULL;
    bool differ = false;

    for (size_t i = 0; i < w->n; i++) {
        const struct point *p = &w->points[i];

        if (p->sweep != sweep || p->round != 0)
            continue;
        if (p->log_anchor <= 0)
            return;
        first = first ? first : p;
        differ = differ || p->block_id != first->block_id;
    }
    for (size_t i = 0; differ && i < w->n; i++) {
        const struct point *p = &w->points[i];

        if (p->sweep == sweep && p->round == 0)
            w->aligned[i] -= p->log_anchor - first->log_anchor;
    }
}

/* Of the points of the present contest those of a point's sweep and round. */
static uint32_t *beside(const struct work *w, const struct point *p)
{
    return &w->beside[(size_t)p->sweep * ROUNDS_MAX + p->round];
}

static void count_beside(struct work *w)
{
    memset(w->beside, 0, (size_t)w->s->n_sweeps * ROUNDS_MAX * sizeof(*w->beside));
    for (size_t i = 0; i < w->n; i++)
        ++*beside(w, &w->points[i]);
}

static uint32_t last_round(const struct work *w, uint32_t sweep)
{
    uint32_t last = ROUNDS_MAX - 1;

    while (last > 0 && w->beside[(size_t)sweep * ROUNDS_MAX + last] == 0)
        last--;
    return last;
}

/* Takes the shifts of a sweep's rounds out of w->aligned. */
static void align_sweep(struct work *w, uint32_t sweep)
{
    double shift[ROUNDS_MAX];
    size_t n = 0;

    scale_by_anchors(w, sweep);
    for (size_t i = 0; i < w->n; i++) {
        if (w->points[i].sweep != sweep)
            continue;
        w->value[n] = w->aligned[i];
        w->row[n] = w->points[i].instance;
        w->column[n] = w->points[i].round;
        w->at[n++] = i;
    }
    if (n == 0)
        return;
    ks_polish(w->value, w->row, w->column, n, last_round(w, sweep) + 1, shift, w->scratch);
    for (size_t i = 0; i < n; i++)
        w->aligned[w->at[i]] -= shift[w->column[i]];
}

/* ---- trials of one contest ---- */

/* Those on the device of the visits count before others, then clean ones. */
static int rank_of(const struct point *p)
{
    return 2 * !p->is_elsewhere + p->is_clean;
}

/* Of the points [first, end) of one cell those that count. */
static size_t choose(const struct work *w, size_t first, size_t end, size_t *out)
{
    int best = 0;
    size_t n = 0;

    for (size_t i = first; i < end; i++)
        best = rank_of(&w->points[i]) > best ? rank_of(&w->points[i]) : best;
    for (size_t i = first; i < end; i++)
        if (rank_of(&w->points[i]) == best)
            out[n++] = i;
    return n;
}

/* Of a point beside `chosen`, one of those that were chosen. */
static double weight_of(const struct work *w, uint32_t domain, const struct point *p,
                        const struct point *chosen)
{
    if (p->is_elsewhere != chosen->is_elsewhere)
        return 0;
    return p->n_records * (chosen->is_clean && !p->is_clean ? w->trust[domain] : 1);
}

/* Of the points [first, end) of one cell, n >= 1 of which are chosen, one number of their aligned
 * values: over minima the least of the chosen ones, else the mean of all by weight. */
static double align(const struct work *w, uint32_t domain, size_t first, size_t end,
                    const size_t *chosen, size_t n)
{
    double sum = 0, weights = 0, least = INFINITY;

    for (size_t i = 0; i < n; i++)
        least = fmin(least, w->aligned[chosen[i]]);
    for (size_t i = first; i < end; i++) {
        const double weight = weight_of(w, domain, &w->points[i], &w->points[chosen[0]]);

        sum += weight * w->aligned[i];
        weights += weight;
    }
    return w->over == KS_OVER_MINIMUM ? least : sum / weights;
}

static void make_trial(struct work *w, uint32_t domain, size_t first, size_t end)
{
    struct ks_trial *t = &w->out->trials[w->out->n_trials++];
    size_t chosen[ROUNDS_MAX];
    size_t n = choose(w, first, end, chosen);
    double x[ROUNDS_MAX], scratch[ROUNDS_MAX], mean = 0, shared = 0;

    *t = (struct ks_trial){ .instance = w->points[first].instance,
                            .sweep = w->points[first].sweep,
                            .n_rounds = (uint32_t)n,
                            .block_id = w->points[first].block_id,
                            .anchor_shift = w->points[first].anchor_shift,
                            .span = w->points[first].span,
                            .is_contender =
                                w->points[end - 1].round == last_round(w, w->points[first].sweep) };
    for (size_t i = first; i < end; i++) {
        t->spent_ns += w->points[i].spent_ns;
        t->first_ns += w->points[i].round == 0 ? w->points[i].spent_ns : 0;
    }
    for (size_t i = 0; i < n; i++)
        x[i] = w->points[chosen[i]].value;
    for (size_t i = 1; i < n; i++)
        w->out->steps[w->out->n_steps++] =
            (struct ks_step){ .trial = w->out->n_trials - 1, .by = x[i] - x[i - 1] };
    t->label = ks_over_rounds(x, n, w->over, scratch);
    for (size_t i = 0; i < n; i++) {
        x[i] = w->aligned[chosen[i]];
        mean += x[i] / (double)n;
        shared += n > 1 ? ks_polish_left(*beside(w, &w->points[chosen[i]])) : 0;
    }
    t->aligned = align(w, domain, first, end, chosen, n);
    for (size_t i = 0; i < n; i++)
        t->square += (x[i] - mean) * (x[i] - mean);
    t->freedom = shared * (double)(n - 1) / (double)n;
}

/* t: [n] of one contest. */
static void find_distances(struct ks_trial *t, size_t n, uint32_t n_sweeps)
{
    for (uint32_t sweep = 0; sweep < n_sweeps; sweep++) {
        double least = INFINITY;

        for (size_t i = 0; i < n; i++)
            least = t[i].sweep == sweep ? fmin(least, t[i].aligned) : least;
        for (size_t i = 0; i < n; i++)
            t[i].over_best = t[i].sweep == sweep ? t[i].aligned - least : t[i].over_best;
    }
}

static void make_contest(struct work *w, const struct ks_sweep_round *r, size_t n)
{
    struct ks_contest *c = &w->out->contests[w->out->n_contests];

    *c = (struct ks_contest){ .domain = r->domain,
                              .problem = r->problem,
                              .first = w->out->n_trials,
                              .first_step = w->out->n_steps };
    collect(w, r, n, c);
    count_beside(w);
    for (size_t i = 0; i < w->n; i++)
        w->aligned[i] = w->points[i].value;
    for (uint32_t sweep = 0; sweep < w->s->n_sweeps; sweep++)
        align_sweep(w, sweep);
    for (size_t i = 0, end; i < w->n; i = end) {
        for (end = i + 1; end < w->n && is_same_cell(&w->points[i], &w->points[end]);)
            end++;
        w->out->n_cells += i == 0 || w->points[i].instance != w->points[i - 1].instance;
        make_trial(w, r->domain, i, end);
    }
    c->n = w->out->n_trials - c->first;
    c->n_steps = w->out->n_steps - c->first_step;
    w->out->most = c->n > w->out->most ? c->n : w->out->most;
    find_distances(&w->out->trials[c->first], c->n, w->s->n_sweeps);
    w->out->n_contests++;
}

static bool is_same_contest(const struct ks_sweep_round *a, const struct ks_sweep_round *b)
{
    return a->domain == b->domain && a->problem == b->problem;
}

/* ---- contaminated rounds ---- */

/* Squared differences between successive rounds of one cell in one sweep. */
struct contrast {
    double clean, other; /* both clean; one of them contaminated */
    size_t n_clean, n_other;
};

static void add_contrast(const struct work *w, const struct ks_sweep_round *a,
                         const struct ks_sweep_round *b, struct contrast *c)
{
    const double by = b->log_ns[w->statistic] - a->log_ns[w->statistic];

    if (a->outcome != KS_O_OK || b->outcome != KS_O_OK || a->round == b->round ||
        a->is_elsewhere != b->is_elsewhere)
        return;
    if (a->is_clean && b->is_clean) {
        c->clean += by * by;
        c->n_clean++;
    } else if (a->is_clean || b->is_clean) {
        c->other += by * by;
        c->n_other++;
    }
}

/* The variance of a clean round over that of a contaminated one, at most 1; towards 0 where little
 * is known. */
static double trust_of(const struct contrast *c)
{
    double clean, other;

    if (c->n_clean == 0 || c->n_other == 0)
        return 0;
    clean = c->clean / (double)c->n_clean / 2;
    other = c->other / (double)c->n_other - clean;
    return (other > clean ? clean / other : 1) * (double)c->n_other / ((double)c->n_other + FEW);
}

static bool find_trust(struct work *w)
{
    const struct ks_sweep_round *r = w->s->rounds;
    struct contrast *of = calloc(w->s->n_domains + 1, sizeof(*of));

    w->trust = calloc(w->s->n_domains + 1, sizeof(*w->trust));
    for (size_t i = 1; of && i < w->s->n_rounds; i++)
        if (is_same_contest(&r[i], &r[i - 1]) && r[i].instance == r[i - 1].instance &&
            r[i].sweep == r[i - 1].sweep)
            add_contrast(w, &r[i - 1], &r[i], &of[r[i].domain]);
    for (uint32_t d = 0; of && w->trust && d < w->s->n_domains; d++)
        w->trust[d] = trust_of(&of[d]);
    free(of);
    return of && w->trust;
}

/* What the results can have at most. */
struct extent {
    size_t contests, trials, steps;
    size_t rounds; /* of the largest contest */
};

static struct extent measure(const struct ks_sweeps *s)
{
    struct extent e = { .contests = 0 };
    const struct ks_sweep_round *r = s->rounds;
    size_t n = 0;

    for (size_t i = 0; i < s->n_rounds; i++) {
        bool is_next = i > 0 && is_same_contest(&r[i], &r[i - 1]);
        bool is_cell =
            is_next && r[i].instance == r[i - 1].instance && r[i].sweep == r[i - 1].sweep;

        n = is_next ? n + 1 : 1;
        e.rounds = n > e.rounds ? n : e.rounds;
        e.contests += !is_next;
        e.trials += !is_cell;
        e.steps += is_cell;
    }
    return e;
}

static bool reserve(struct work *w)
{
    const struct extent e = measure(w->s);
    const size_t n = e.rounds + 1;

    w->points = calloc(n, sizeof(*w->points));
    w->beside = calloc((size_t)w->s->n_sweeps * ROUNDS_MAX + 1, sizeof(*w->beside));
    w->value = calloc(n, sizeof(*w->value));
    w->aligned = calloc(n, sizeof(*w->aligned));
    w->scratch = calloc(2 * n, sizeof(*w->scratch));
    w->row = calloc(n, sizeof(*w->row));
    w->column = calloc(n, sizeof(*w->column));
    w->at = calloc(n, sizeof(*w->at));
    w->out->trials = calloc(e.trials + 1, sizeof(*w->out->trials));
    w->out->contests = calloc(e.contests + 1, sizeof(*w->out->contests));
    w->out->steps = calloc(e.steps + 1, sizeof(*w->out->steps));
    return w->points && w->beside && w->value && w->aligned && w->scratch && w->row && w->column &&
           w->at && w->out->trials && w->out->contests && w->out->steps;
}

int ks_trials_make(const struct ks_sweeps *s, enum ks_statistic statistic, enum ks_over over,
                   struct ks_trials *out, struct ks_err *err)
{
    struct work w = { .s = s, .statistic = statistic, .over = over, .out = out };
    const struct ks_sweep_round *r = s->rounds;
    bool is_enough;

    *out = (struct ks_trials){ .statistic = statistic };
    is_enough = reserve(&w) && find_trust(&w);
    for (size_t i = 0, end; is_enough && i < s->n_rounds; i = end) {
        for (end = i + 1; end < s->n_rounds && is_same_contest(&r[end], &r[i]);)
            end++;
        make_contest(&w, &r[i], end - i);
    }
    free(w.points);
    free(w.beside);
    free(w.value);
    free(w.aligned);
    free(w.scratch);
    free(w.row);
    free(w.column);
    free(w.at);
    free(w.trust);
    if (is_enough)
        return 0;
    ks_trials_release(out);
    return ks_fail(err, KS_ENOMEM, "out of memory for %zu rounds", s->n_rounds);
}

void ks_trials_release(struct ks_trials *t)
{
    free(t->trials);
    free(t->steps);
    free(t->contests);
    *t = (struct ks_trials){ 0 };
}

uint32_t ks_trials_sweeps(const struct ks_trials *t)
{
    uint32_t last = 0;

    for (size_t i = 0; i < t->n_trials; i++)
        last = t->trials[i].sweep > last ? t->trials[i].sweep : last;
    return last + 1;
}
