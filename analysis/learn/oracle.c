/* SPDX-License-Identifier: MIT */
/* oracle.c - aligns and estimates the instances of each contest; ranks them by their chances */
#include "analysis/learn/oracle.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

struct work {
    const struct ks_trials *t;
    enum ks_over over;
    double margin;
    struct ks_oracle *out;
    double *value, *scratch, *shift;
    uint32_t *row, *column;
};

static int by_estimate(const void *x, const void *y)
{
    const struct ks_chance *a = x, *b = y;
    int d = (a->estimate > b->estimate) - (a->estimate < b->estimate);

    return d ? d : (a->instance > b->instance) - (a->instance < b->instance);
}

static int by_rank(const void *x, const void *y)
{
    const struct ks_chance *a = x, *b = y;

    return a->is_contender == b->is_contender ? by_estimate(x, y)
                                              : b->is_contender - a->is_contender;
}

/* Values of each sweep without what all of the contest share. */
static void align(struct work *w, const struct ks_trial *t, size_t n)
{
    uint32_t n_sweeps = 1;

    for (size_t i = 0; i < n; i++) {
        w->value[i] = t[i].aligned;
        w->row[i] = t[i].instance;
        w->column[i] = t[i].sweep;
        n_sweeps = t[i].sweep + 1 > n_sweeps ? t[i].sweep + 1 : n_sweeps;
    }
    ks_polish(w->value, w->row, w->column, n, n_sweeps, w->shift, w->scratch);
    for (size_t i = 0; i < n; i++)
        w->value[i] -= w->shift[w->column[i]];
}

/* One instance in n sweeps. */
static void estimate(struct work *w, uint32_t domain, const struct ks_trial *t, const double *value,
                     size_t n, struct ks_chance *out)
{
    const struct ks_scatter *s = &w->out->scatter[domain];
    const struct ks_label_error *e = &w->out->error[domain];
    struct ks_label label;
    double variance = 0, square = 0;

    *out = (struct ks_chance){ .instance = t->instance, .n_sweeps = (uint32_t)n };
    for (size_t i = 0; i < n; i++) {
        out->estimate += value[i] / (double)n;
        out->n_rounds += t[i].n_rounds;
        out->is_contender = out->is_contender || t[i].is_contender;
        variance += ks_scatter_variance(s, t[i].n_rounds, KS_OVER_MEAN) / (double)n;
    }
    ks_label_find(e, t, n, w->over, w->scratch, &label);
    out->label = label.log_ns;
    out->half_width = label.half_width;
    for (size_t i = 0; i < n; i++)
        square += (value[i] - out->estimate) * (value[i] - out->estimate);
    variance = ks_scatter_own(s, variance, square, (double)(n - 1), &out->freedom);
    out->sd = sqrt(variance / (double)n);
}

static void answer(struct work *w, const struct ks_contest *c)
{
    struct ks_answer *a = &w->out->answers[w->out->n_answers];
    const struct ks_trial *t = &w->t->trials[c->first];
    struct ks_chance *chance = &w->out->chances[w->out->n_chances];

    if (c->n == 0)
        return;
    *a = (struct ks_answer){ .domain = c->domain,
                             .problem = c->problem,
                             .n_failed = c->n_failed,
                             .first = w->out->n_chances };
    align(w, t, c->n);
    for (size_t i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && t[end].instance == t[i].instance;)
            end++;
        estimate(w, c->domain, &t[i], &w->value[i], end - i, &chance[a->n++]);
    }
    qsort(chance, a->n, sizeof(*chance), by_estimate);
    w->out->n_chances += a->n;
    w->out->n_answers++;
}

static bool reserve(struct work *w, const struct ks_trials *t, uint32_t n_domains)
{
    size_t n = t->most + 1;
    struct ks_oracle *o = w->out;

    w->value = calloc(n, sizeof(*w->value));
    w->scratch = calloc(2 * n, sizeof(*w->scratch));
    w->shift = calloc(ks_trials_sweeps(t), sizeof(*w->shift));
    w->row = calloc(n, sizeof(*w->row));
    w->column = calloc(n, sizeof(*w->column));
    o->chances = calloc(t->n_cells + 1, sizeof(*o->chances));
    o->answers = calloc(t->n_contests + 1, sizeof(*o->answers));
    o->scatter = calloc(n_domains + 1u, sizeof(*o->scatter));
    o->error = calloc(n_domains + 1u, sizeof(*o->error));
    o->n_domains = n_domains;
    return w->value && w->scratch && w->shift && w->row && w->column && o->chances && o->answers &&
           o->scatter && o->error;
}

/* Contenders come first; only among them is a label, and what is near it. */
static void rank(struct ks_oracle *o, struct ks_answer *a, double margin)
{
    struct ks_chance *c = &o->chances[a->first];

    qsort(c, a->n, sizeof(*c), by_rank);
    a->safest = a->first;
    for (size_t i = 0; i < a->n && c[i].is_contender == c[0].is_contender; i++) {
        if (c[i].regret < o->chances[a->safest].regret)
            a->safest = a->first + i;
        a->n_near += c[i].estimate <= c[0].estimate + log1p(margin);
    }
}

static int weigh_domains(struct ks_oracle *o, double margin, struct ks_err *err)
{
    int rc = 0;

    for (size_t i = 0, end; rc == 0 && i < o->n_answers; i = end) {
        for (end = i + 1; end < o->n_answers && o->answers[end].domain == o->answers[i].domain;)
            end++;
        rc = ks_oracle_weigh(o->chances, &o->answers[i], end - i, margin, err);
    }
    return rc;
}

int ks_oracle_make(const struct ks_trials *t, uint32_t n_domains, enum ks_over over, double margin,
                   struct ks_oracle *out, struct ks_err *err)
{
    struct work w = { .t = t, .over = over, .margin = margin, .out = out };
    int rc;

    *out = (struct ks_oracle){ 0 };
    rc = reserve(&w, t, n_domains) ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t d = 0; rc == 0 && d < n_domains; d++)
        rc = ks_scatter_find(t, d, &out->scatter[d], err);
    for (uint32_t d = 0; rc == 0 && d < n_domains; d++)
        rc = ks_label_error_find(t, d, over, &out->scatter[d], &out->error[d], err);
    for (size_t i = 0; rc == 0 && i < t->n_contests; i++)
        answer(&w, &t->contests[i]);
    if (rc == 0)
        rc = weigh_domains(out, margin, err);
    for (size_t i = 0; rc == 0 && i < out->n_answers; i++)
        rank(out, &out->answers[i], margin);
    free(w.value);
    free(w.scratch);
    free(w.shift);
    free(w.row);
    free(w.column);
    if (rc < 0)
        ks_oracle_release(out);
    return rc;
}

void ks_oracle_release(struct ks_oracle *o)
{
    free(o->chances);
    free(o->answers);
    free(o->scatter);
    free(o->error);
    *o = (struct ks_oracle){ 0 };
}
