/* SPDX-License-Identifier: MIT */
/* scorecard.c - rates every chooser over all problems and per class; finds the worst picks */
#include "analysis/learn/scorecard.h"
#include "base/buf.h"
#include "base/order.h"
#include "grid/problem_class.h"

#include <stdio.h>
#include <stdlib.h>

struct maker {
    const struct ks_scorecard_input *in;
    struct ks_pick *picked; /* [n_problems] scratch */
};

/* The picks of wanted problems of a class (KS_N_PROBLEM_CLASSES: of all) that are there. */
static size_t gather(const struct maker *m, const struct ks_pick *picks, const bool *is_there,
                     uint32_t class_id)
{
    size_t n = 0;

    for (size_t i = 0; i < m->in->cells->n_problems; i++) {
        bool is_class =
            class_id == KS_N_PROBLEM_CLASSES || m->in->cells->problems[i].class_id == class_id;

        if (m->in->is_wanted[i] && is_class && (!is_there || is_there[i]))
            m->picked[n++] = picks[i];
    }
    return n;
}

static int sum_up(const struct maker *m, const struct ks_pick *picks, const bool *is_there,
                  uint32_t class_id, struct ks_quality *out, struct ks_err *err)
{
    size_t n = gather(m, picks, is_there, class_id);

    return ks_quality(m->in->cells, m->picked, n, m->in->n_bootstrap, m->in->seed, out, err);
}

static int put_classes(const struct maker *m, const struct ks_pick *picks, struct ks_scorecard *s,
                       struct ks_err *err)
{
    int rc = 0;

    s->classes = calloc(KS_N_PROBLEM_CLASSES, sizeof(*s->classes));
    if (!s->classes)
        return ks_fail(err, KS_ENOMEM, "out of memory");
    for (uint32_t i = 0; rc == 0 && i < KS_N_PROBLEM_CLASSES; i++) {
        struct ks_slice *slice = &s->classes[s->n_classes];

        if (gather(m, picks, NULL, i) == 0)
            continue;
        slice->name = ks_problem_class_name(i);
        rc = sum_up(m, picks, NULL, i, &slice->quality, err);
        s->n_classes++;
    }
    return rc;
}

static void compare(struct ks_scorecard *s)
{
    s->best_baseline = -1;
    for (uint32_t i = 0; i < KS_N_CHOOSERS; i++) {
        bool is_baseline = i != KS_BY_MODEL && i != KS_BY_CEILING && i != KS_BY_RANDOM;

        if (!is_baseline || !s->has[i] || s->by[i].measured.mean <= s->best_baseline)
            continue;
        s->best_baseline = s->by[i].measured.mean;
        s->i_best_baseline = i;
    }
    s->is_useful = s->has[KS_BY_MODEL] && s->by[KS_BY_MODEL].measured.mean > s->best_baseline;
}

static int make(const struct maker *m, struct ks_scorecard *s, struct ks_err *err)
{
    const struct ks_scorecard_input *in = m->in;
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < KS_N_CHOOSERS; i++) {
        s->has[i] = in->picks[i] != NULL;
        if (s->has[i])
            rc = sum_up(m, in->picks[i], i == KS_BY_CEILING ? in->has_ceiling : NULL,
                        KS_N_PROBLEM_CLASSES, &s->by[i], err);
    }
    if (rc == 0 && in->picks[KS_BY_MODEL])
        rc = put_classes(m, in->picks[KS_BY_MODEL], s, err);
    if (rc == 0 && in->class_picks) {
        rc = sum_up(m, in->class_picks, in->has_class_pick, KS_N_PROBLEM_CLASSES, &s->unseen_class,
                    err);
        s->has_unseen_class = s->unseen_class.n_problems > 0;
    }
    if (rc == 0)
        compare(s);
    return rc;
}

int ks_scorecard_make(const struct ks_scorecard_input *in, struct ks_scorecard *s_out,
                      struct ks_err *err)
{
    struct maker m = { in, malloc((in->cells->n_problems + 1) * sizeof(*m.picked)) };
    int rc = 0;

    *s_out = (struct ks_scorecard){ 0 };
    if (!m.picked)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", in->cells->n_problems);
    for (size_t i = 0; i < in->cells->n_problems; i++)
        s_out->n_problems += in->is_wanted[i];
    if (s_out->n_problems == 0)
        rc = ks_fail(err, KS_EINVAL, "no problem is left to evaluate");
    if (rc == 0)
        rc = make(&m, s_out, err);
    free(m.picked);
    return rc;
}

/* ---- the worst ---- */

static int by_efficiency(const void *a, const void *b)
{
    const struct ks_pick *x = a, *y = b;
    const int order = ks_compare_f64(x->eff, y->eff);

    return order ? order : ks_compare_u64(x->problem, y->problem);
}

/* In how many training problems the instance was measured. */
static size_t seen(const struct ks_cells *c, const bool *is_training, uint32_t instance)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++)
        n += c->cells[i].instance == instance && is_training[c->cells[i].problem];
    return n;
}

static void put_reason(const struct ks_cells *c, const bool *is_training, const char *outside,
                       const struct ks_pick *pick, struct ks_worst *w)
{
    const struct ks_cell_problem *p = &c->problems[pick->problem];
    size_t n_seen = seen(c, is_training, c->cells[p->best].instance);

    if (outside)
        snprintf(w->reason, sizeof(w->reason), "outside of the training range: %s", outside);
    else if (n_seen < 10)
        snprintf(w->reason, sizeof(w->reason),
                 "the best instance was measured on only %zu training problems", n_seen);
    else if (pick->best_place == 1)
        snprintf(w->reason, sizeof(w->reason),
                 "the best instance is second by score (%.4f and %.4f)", pick->score,
                 pick->next_score);
    else
        snprintf(w->reason, sizeof(w->reason), "the best instance is number %u by score",
                 pick->best_place + 1);
}

static void put_worst(const struct ks_cells *c, const struct ks_pick *pick, struct ks_buf *text,
                      struct ks_worst *w)
{
    const struct ks_cell_problem *p = &c->problems[pick->problem];
    const struct ks_timed_cell *picked = &c->cells[pick->cell], *best = &c->cells[p->best];

    ks_buf_clear(text);
    ks_problem_canonical(&p->problem, text);
    snprintf(w->canonical, sizeof(w->canonical), "%s", ks_buf_text(text));
    w->eff = pick->eff;
    w->pick_ns = picked->time_ns;
    w->best_ns = best->time_ns;
    w->class_name = ks_problem_class_name(p->class_id);
    w->pick = c->instances[picked->instance].name;
    w->best = c->instances[best->instance].name;
    w->pick_file = picked->file;
    w->best_file = best->file;
    w->problem_id = p->problem.id;
}

int ks_worst_find(const struct ks_scorecard_input *in, const bool *is_training,
                  const char *const *outside, struct ks_worst *worst_out, size_t most,
                  struct ks_err *err)
{
    struct maker m = { in, malloc((in->cells->n_problems + 1) * sizeof(*m.picked)) };
    struct ks_buf text;
    size_t n;

    if (!m.picked)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu problems", in->cells->n_problems);
    ks_buf_init(&text);
    n = gather(&m, in->picks[KS_BY_MODEL], NULL, KS_N_PROBLEM_CLASSES);
    if (n)
        qsort(m.picked, n, sizeof(*m.picked), by_efficiency);
    most = n < most ? n : most;
    for (size_t i = 0; i < most; i++) {
        put_worst(in->cells, &m.picked[i], &text, &worst_out[i]);
        put_reason(in->cells, is_training, outside ? outside[m.picked[i].problem] : NULL,
                   &m.picked[i], &worst_out[i]);
    }
    ks_buf_release(&text);
    free(m.picked);
    return (int)most;
}
