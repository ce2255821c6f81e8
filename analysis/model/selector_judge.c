/* SPDX-License-Identifier: MIT */
/* selector_judge.c - efficiencies of what a selector picks. */
#include "analysis/learn/metrics.h"
#include "analysis/model/selector.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct ks_err *err)
{
    return ks_fail(err, KS_ENOMEM, "out of memory for the efficiencies of a selector");
}

/* One problem: its candidates in the order in which they would be chosen. */
struct ranked {
    double score;
    uint16_t candidate;
};
struct judge {
    const struct ks_selector *s;
    const struct ks_cells *c;
    uint32_t *instance_of;       /* [n candidates] in the cells; UINT32_MAX = none */
    struct ranked *ranked;       /* [n candidates] */
    double *eff[3];              /* [n_problems] */
    struct ks_distilled *tables; /* [n_folds] each without one fold; NULL: not wanted */
};

static int judge_init(struct judge *j, const struct ks_selector *s, const struct ks_cells *c,
                      struct ks_err *err)
{
    const size_t n = s->model.n_instances;

    *j = (struct judge){ .s = s, .c = c };
    j->instance_of = malloc((n + 1) * sizeof(*j->instance_of));
    j->ranked = malloc((n + 1) * sizeof(*j->ranked));
    for (int k = 0; k < 3; k++)
        j->eff[k] = malloc((c->n_problems + 1) * sizeof(*j->eff[k]));
    if (!j->instance_of || !j->ranked || !j->eff[0] || !j->eff[1] || !j->eff[2])
        return no_memory(err);
    for (size_t i = 0; i < n; i++)
        j->instance_of[i] = ks_cells_find_instance(c, s->spec->instances[s->from[i]].id);
    return 0;
}

static void judge_release(struct judge *j)
{
    for (uint32_t f = 0; j->tables && f < j->s->losses.n_folds; f++)
        ks_distilled_release(&j->tables[f]);
    free(j->tables);
    free(j->instance_of);
    free(j->ranked);
    for (int k = 0; k < 3; k++)
        free(j->eff[k]);
}

static int grow_tables(struct judge *j, struct ks_err *err)
{
    const struct ks_losses *l = &j->s->losses;
    int rc = 0;

    j->tables = calloc(l->n_folds, sizeof(*j->tables));
    if (!j->tables)
        return no_memory(err);
    for (uint32_t f = 0; rc == 0 && f < l->n_folds; f++)
        rc = ks_distill(l, f, &j->s->table_options, &j->tables[f], err);
    return rc;
}

/* The cell of a candidate, KS_NO_CELL: not measured. */
static size_t cell_of(const struct judge *j, size_t problem, uint16_t candidate)
{
    return j->instance_of[candidate] == UINT32_MAX
               ? KS_NO_CELL
               : ks_cells_at(j->c, (uint32_t)problem, j->instance_of[candidate]);
}

static double eff_of(const struct judge *j, size_t problem, uint16_t candidate)
{
    const size_t cell = cell_of(j, problem, candidate);
    const struct ks_cell_problem *p = &j->c->problems[problem];

    return cell == KS_NO_CELL ? 0 : j->c->cells[p->best].time_ns / j->c->cells[cell].time_ns;
}

/* The best of the first 1, 2, 4 of n. */
static void set_eff(struct judge *j, size_t problem, size_t n)
{
    double best = 0;

    for (size_t k = 0; k < 4; k++) {
        if (k < n)
            best = fmax(best, eff_of(j, problem, j->ranked[k].candidate));
        if (k != 2)
            j->eff[k == 3 ? 2 : k][problem] = best;
    }
}

static int by_score(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->score < y->score || x->score > y->score)
        return x->score < y->score ? -1 : 1;
    return (int)x->candidate - (int)y->candidate;
}

static void rank(struct judge *j, size_t problem, const float *scores)
{
    const struct ks_losses *l = &j->s->losses;
    const uint16_t n_all = j->s->model.n_instances;
    const uint16_t *list = j->tables ? ks_distilled_list(&j->tables[l->fold[problem]],
                                                         l->q + problem * KS_FX_N_QUANTITIES)
                                     : NULL;
    const uint16_t n_listed = list ? j->s->table_options.width : n_all;
    size_t n = 0;

    for (uint16_t i = 0; i < n_listed && (!list || list[i] != KS_SEL_NONE); i++) {
        const uint16_t candidate = list ? list[i] : i;
        const size_t cell = cell_of(j, problem, candidate);

        if (cell != KS_NO_CELL)
            j->ranked[n++] = (struct ranked){ scores ? (double)scores[cell] : i, candidate };
    }
    qsort(j->ranked, n, sizeof(*j->ranked), by_score);
    set_eff(j, problem, n);
}

static void sum_up(struct judge *j, struct ks_selector_line *out)
{
    const size_t n = j->c->n_problems;

    *out = (struct ks_selector_line){ .n = n };
    for (int k = 0; k < 3; k++) {
        for (size_t p = 0; p < n; p++)
            out->mean[k] += j->eff[k][p];
        out->mean[k] /= (double)n;
        ks_sort_f64(j->eff[k], n);
        out->p10[k] = ks_stats_quantile(j->eff[k], n, 0.1);
    }
}

int ks_selector_judge(const struct ks_selector *s, const struct ks_cells *c, const float *scores,
                      bool with_table, struct ks_selector_line *line_out, struct ks_err *err)
{
    struct judge j;
    int rc = judge_init(&j, s, c, err);

    if (rc == 0 && with_table)
        rc = grow_tables(&j, err);
    for (size_t p = 0; rc == 0 && p < c->n_problems; p++)
        rank(&j, p, scores);
    if (rc == 0)
        sum_up(&j, line_out);
    judge_release(&j);
    return rc;
}

static void try_problem(struct judge *j, size_t problem, uint8_t *mask)
{
    struct ks_sel_pick picks[4];
    int rule, n;

    for (uint16_t i = 0; mask && i < j->s->model.n_instances; i++)
        mask[i] = cell_of(j, problem, i) != KS_NO_CELL;
    n = ks_selector_pick(j->s, &j->c->problems[problem].problem, mask, picks, 4, &rule);
    for (int k = 0; k < n; k++)
        j->ranked[k].candidate = (uint16_t)picks[k].instance;
    set_eff(j, problem, (size_t)n);
}

int ks_selector_try(const struct ks_selector *s, const struct ks_cells *c, bool among_measured,
                    struct ks_selector_line *line_out, struct ks_err *err)
{
    struct judge j;
    uint8_t *mask = among_measured ? malloc(s->model.n_instances + 1u) : NULL;
    int rc = judge_init(&j, s, c, err);

    if (rc == 0 && among_measured && !mask)
        rc = no_memory(err);
    for (size_t p = 0; rc == 0 && p < c->n_problems; p++)
        try_problem(&j, p, mask);
    if (rc == 0)
        sum_up(&j, line_out);
    free(mask);
    judge_release(&j);
    return rc;
}
