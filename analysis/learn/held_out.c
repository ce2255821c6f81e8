/* SPDX-License-Identifier: MIT */
/* held_out.c - counts how often one sweep's intervals and chances hold in the other sweeps */
#include "analysis/learn/held_out.h"
#include "race/student.h"
#include "record/stats.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* ---- intervals ---- */

static uint32_t class_of(uint32_t n_rounds)
{
    return n_rounds < 2 ? 0 : n_rounds < 3 ? 1 : n_rounds < 6 ? 2 : 3;
}

/* All that some sweeps say alone. */
struct alone {
    struct ks_trials t;
    struct ks_label_error *error; /* [n_domains] */
};

static int alone_make(const struct ks_sweeps *s, uint32_t mask, unsigned statistic, unsigned over,
                      struct alone *out, struct ks_err *err)
{
    struct ks_sweeps some;
    int rc = ks_sweeps_pick(s, mask, &some, err);

    *out = (struct alone){ .error = NULL };
    if (rc < 0)
        return rc;
    rc = ks_trials_make(&some, statistic, over, &out->t, err);
    ks_sweeps_drop(&some);
    if (rc < 0)
        return rc;
    out->error = calloc(s->n_domains + 1u, sizeof(*out->error));
    if (!out->error)
        rc = ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t d = 0; rc == 0 && d < s->n_domains; d++) {
        struct ks_scatter scatter;

        rc = ks_scatter_find(&out->t, d, &scatter, err);
        if (rc == 0)
            rc = ks_label_error_find(&out->t, d, over, &scatter, &out->error[d], err);
    }
    return rc;
}

static void alone_release(struct alone *a)
{
    ks_trials_release(&a->t);
    free(a->error);
}

struct held { /* a label against the next sweep */
    uint32_t rounds, class, time;
    double log_ns, half_width, promised;
    bool is_seen;
};
struct held_list {
    struct held *held;
    size_t n, cap;
    double *scratch; /* [cap] */
    unsigned over;
};

static const struct ks_contest *find_contest(const struct ks_trials *t, const struct ks_contest *c)
{
    for (size_t i = 0; i < t->n_contests; i++)
        if (t->contests[i].domain == c->domain && t->contests[i].problem == c->problem)
            return &t->contests[i];
    return NULL;
}

/* t: [n] one instance in as many sweeps; next: the same in the sweep after them. */
static void hold_label(struct held_list *l, const struct ks_label_error *e,
                       const struct ks_trial *t, size_t n, const struct ks_trial *next)
{
    struct held *h = &l->held[l->n++];
    uint32_t fewest = t->n_rounds;
    double over_best = 0, both;
    struct ks_label label;

    ks_label_find(e, t, n, l->over, l->scratch, &label);
    for (size_t i = 0; i < n; i++) {
        fewest = t[i].n_rounds < fewest ? t[i].n_rounds : fewest;
        over_best += t[i].over_best / (double)n;
    }
    both = label.variance + label.round * ks_label_share(next->n_rounds, l->over);
    *h = (struct held){ .rounds = class_of(fewest),
                        .class = ks_label_class(over_best),
                        .log_ns = label.log_ns,
                        .half_width = label.half_width,
                        .is_seen = fabs(next->label - label.log_ns) <= label.half_width };
    h->promised = 1 - 2 * ks_student_tail(label.half_width / sqrt(both), label.freedom);
}

static void hold_contest(struct held_list *l, const struct alone *a, const struct ks_contest *c,
                         const struct ks_trials *next)
{
    const struct ks_contest *d = find_contest(next, c);
    const struct ks_trial *t = &a->t.trials[c->first];

    for (size_t i = 0, end; d && i < c->n; i = end) {
        for (end = i + 1; end < c->n && t[end].instance == t[i].instance;)
            end++;
        for (size_t m = d->first; m < d->first + d->n; m++)
            if (next->trials[m].instance == t[i].instance)
                hold_label(l, &a->error[c->domain], &t[i], end - i, &next->trials[m]);
    }
}

static int by_time(const void *x, const void *y)
{
    const struct held *a = x, *b = y;

    return (a->log_ns > b->log_ns) - (a->log_ns < b->log_ns);
}

static void summarize(const struct held_list *l, size_t offset, uint32_t which,
                      struct ks_coverage *out)
{
    *out = (struct ks_coverage){ 0 };
    for (size_t i = 0; i < l->n; i++) {
        uint32_t own;

        memcpy(&own, (const char *)&l->held[i] + offset, sizeof(own));
        if (own != which)
            continue;
        out->promised += l->held[i].promised;
        out->seen += l->held[i].is_seen;
        l->scratch[out->n++] = l->held[i].half_width;
    }
    if (out->n == 0)
        return;
    out->promised /= (double)out->n;
    out->seen /= (double)out->n;
    ks_stats_sort(l->scratch, out->n);
    out->half_width = l->scratch[out->n / 2];
}

static void summarize_all(struct held_list *l, struct ks_coverages *out)
{
    qsort(l->held, l->n, sizeof(*l->held), by_time);
    for (size_t i = 0; i < l->n; i++)
        l->held[i].time = (uint32_t)(i * KS_HELD_TIMES / l->n);
    for (uint32_t k = 0; k < KS_HELD_ROUNDS; k++)
        summarize(l, offsetof(struct held, rounds), k, &out->rounds[k]);
    for (uint32_t k = 0; k < KS_LABEL_CLASSES; k++)
        summarize(l, offsetof(struct held, class), k, &out->class[k]);
    for (uint32_t k = 0; k < KS_HELD_TIMES; k++)
        summarize(l, offsetof(struct held, time), k, &out->time[k]);
}

static int hold_sweeps(const struct ks_sweeps *s, unsigned statistic, uint32_t first,
                       uint32_t n_train, struct held_list *l, struct ks_err *err)
{
    struct alone a = { .error = NULL }, next = { .error = NULL };
    uint32_t mask = 0;
    int rc;

    for (uint32_t i = 0; i < n_train; i++)
        mask |= 1u << (first + i) % s->n_sweeps;
    rc = alone_make(s, mask, statistic, l->over, &a, err);
    if (rc == 0)
        rc = alone_make(s, 1u << (first + n_train) % s->n_sweeps, statistic, l->over, &next, err);
    for (size_t i = 0; rc == 0 && i < a.t.n_contests; i++)
        hold_contest(l, &a, &a.t.contests[i], &next.t);
    alone_release(&a);
    alone_release(&next);
    return rc;
}

int ks_held_coverage(const struct ks_sweeps *s, unsigned statistic, unsigned over, uint32_t n_train,
                     struct ks_coverages *out, struct ks_err *err)
{
    struct held_list l = { .cap = s->n_rounds * s->n_sweeps + 1, .over = over };
    int rc = 0;

    if (s->n_sweeps > KS_YARDSTICK_SWEEPS)
        return ks_fail(err, KS_EINVAL, "%u sweeps, at most %u are supported", s->n_sweeps,
                       (unsigned)KS_YARDSTICK_SWEEPS);
    if (n_train == 0 || n_train >= s->n_sweeps)
        return ks_fail(err, KS_EINVAL, "%u sweeps, %u of them for labels: none is left",
                       s->n_sweeps, n_train);
    l.held = calloc(l.cap, sizeof(*l.held));
    l.scratch = calloc(l.cap + 2 * KS_YARDSTICK_SWEEPS, sizeof(*l.scratch));
    if (!l.held || !l.scratch)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu labels", l.cap);
    for (uint32_t i = 0; rc == 0 && i < s->n_sweeps; i++)
        rc = hold_sweeps(s, statistic, i, n_train, &l, err);
    if (rc == 0)
        summarize_all(&l, out);
    free(l.held);
    free(l.scratch);
    return rc;
}
