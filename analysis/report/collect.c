/* SPDX-License-Identifier: MIT */
/* collect.c - collects what /measurements says for a page, batch by batch */
#include "analysis/data/reader.h"
#include "analysis/learn/join.h"
#include "analysis/report/page.h"
#include "base/array.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns beyond those of struct ks_obs. */
enum { P10, P90, ATTEMPT_ROW, N_MORE };
static const char *const more_names[N_MORE] = { "time_p10_ns", "time_p90_ns", "attempt_row" };

struct collect {
    struct ks_page *p;
    struct ks_obs_reader reader;
    const struct ks_df_column *more[N_MORE];
    struct ks_obs *rows;         /* [cap] of a batch */
    struct ks_timed *timed;      /* [cap] of a problem */
    struct ks_page_time *ranked; /* [cap] likewise */
    size_t cap, first_row;       /* first_row: of the problem in the batch */
    double reference_ns;         /* the anchor time that the problem's times are scaled to, or 0 */
    struct ks_join join;
};

static uint32_t instance_of(const struct ks_page *p, const struct ks_obs *row)
{
    return ks_keys_find(&p->instance_keys, &(struct ks_key){ { row->instance_id } });
}

/* ---- instances ---- */

static int list_instances(struct ks_page *p, struct ks_err *err)
{
    int rc = 0;

    p->instances = calloc(p->tables.n_instances + 1u, sizeof(*p->instances));
    if (!p->instances)
        return ks_fail(err, KS_ENOMEM, "out of memory for instances");
    for (uint32_t i = 0; rc == 0 && i < p->tables.n_instances; i++) {
        const struct ks_instance_ref *k = &p->tables.instances[i];
        uint32_t number;
        bool is_new;

        rc = ks_keys_add(&p->instance_keys, &(struct ks_key){ { k->id } }, &number, &is_new, err);
        if (rc == 0 && is_new)
            p->instances[p->n_instances++] =
                (struct ks_page_instance){ .id = k->id, .name = k->name };
    }
    return rc;
}

/* ---- rows that are not ok ---- */

static int add_group(struct ks_page *p, const struct ks_obs *row, uint32_t problem,
                     struct ks_err *err)
{
    uint32_t reason, number;
    bool is_new;
    int rc = ks_words_add(&p->reasons, row->reason, strlen(row->reason), &reason, err);

    if (rc == 0)
        rc = ks_keys_add(&p->group_keys, &(struct ks_key){ { row->outcome, reason } }, &number,
                         &is_new, err);
    if (rc == 0 && is_new) {
        rc = ks_reserve(&p->groups, p->n_groups + 1, &p->cap_groups, sizeof(*p->groups), "outcomes",
                        err);
        if (rc == 0)
            p->groups[p->n_groups++] = (struct ks_page_group){ .outcome = row->outcome,
                                                               .reason = reason,
                                                               .first = p->n_cells };
    }
    if (rc < 0)
        return rc;
    p->groups[number].n++;
    if (!ks_outcome_needs_look(row->outcome) || p->n_failures == KS_PAGE_FAILURES)
        return 0;
    rc = ks_reserve(&p->failures, p->n_failures + 1, &p->cap_failures, sizeof(*p->failures),
                    "failures", err);
    if (rc == 0)
        p->failures[p->n_failures++] =
            (struct ks_page_failure){ .cell = p->n_cells, .problem = problem, .group = number };
    return rc;
}

/* ---- one problem ---- */

static int by_time(const void *x, const void *y)
{
    const struct ks_page_time *a = x, *b = y;

    return ks_compare_f64(a->ns, b->ns);
}

/* The times as measured; ordered by them, which within a block is the order that counts. */
static size_t rank_times(struct collect *c, const struct ks_obs *rows, size_t n_timed,
                         const struct ks_timed *best)
{
    for (size_t i = 0; i < n_timed; i++) {
        const struct ks_obs *row = c->timed[i].row;
        size_t at = c->first_row + (size_t)(row - rows);

        c->ranked[i] = (struct ks_page_time){
            .instance = instance_of(c->p, row),
            .is_tied = &c->timed[i] != best && ks_is_tied(&c->timed[i], best),
            .is_contaminated = (row->flags & KS_FL_CONTAMINATED) != 0,
            .ns = row->median_ns,
            .lo95_ns = row->lo95_ns,
            .hi95_ns = row->hi95_ns,
            .p10_ns = ks_df_f64(c->more[P10], at, KS_NOT_KNOWN),
            .p90_ns = ks_df_f64(c->more[P90], at, KS_NOT_KNOWN),
            .attempt_row = (uint64_t)ks_df_i64(c->more[ATTEMPT_ROW], at, -1),
        };
    }
    qsort(c->ranked, n_timed, sizeof(*c->ranked), by_time);
    return n_timed < KS_PAGE_TOP ? n_timed : KS_PAGE_TOP;
}

static void count_spread(struct ks_page *p, const struct ks_page_time *t)
{
    double spread = (t->p90_ns - t->p10_ns) / t->ns;
    double bin = KS_PAGE_SPREAD * (1 - log(spread) / log(KS_PAGE_SPREAD_MIN));

    if (t->p10_ns <= 0 || t->p90_ns < t->p10_ns)
        return;
    bin = spread > KS_PAGE_SPREAD_MIN ? bin : 0;
    p->spread[bin >= KS_PAGE_SPREAD ? KS_PAGE_SPREAD - 1 : (size_t)bin]++;
}

/* Usable rows that no other row stands for. */
static size_t list_timed(struct collect *c, const struct ks_obs *rows, size_t n)
{
    bool is_scaled = ks_needs_scaling(rows, n);
    size_t k = 0;

    c->reference_ns = 0;
    for (size_t i = 0; i < n; i++) {
        const struct ks_obs *first = ks_join_first(&c->join, &rows[i]);

        if (!ks_is_usable(&rows[i]) || (first && ks_is_usable(first)))
            continue;
        if (is_scaled && c->reference_ns <= 0)
            c->reference_ns = rows[i].anchor_ns;
        c->timed[k++] = ks_scaled_time(&rows[i], c->reference_ns);
    }
    return k;
}

static int add_cells(struct collect *c, const struct ks_obs *rows, size_t n, uint32_t problem,
                     struct ks_err *err)
{
    struct ks_page *p = c->p;
    int rc = ks_reserve(&p->cells, p->n_cells + n, &p->cap_cells, sizeof(*p->cells), "cells", err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        const struct ks_obs *of = ks_join_code(&c->join, &rows[i]);
        struct ks_page_cell cell = { .instance = instance_of(p, &rows[i]),
                                     .outcome = (uint8_t)rows[i].outcome,
                                     .is_contaminated = (rows[i].flags & KS_FL_CONTAMINATED) != 0 };

        if (of && ks_is_usable(of))
            cell.ns = (float)ks_scaled_time(of, c->reference_ns).stats.median;
        if (rows[i].outcome != KS_O_OK && rows[i].outcome != KS_O_ALIASED)
            rc = add_group(p, &rows[i], problem, err);
        p->cells[p->n_cells++] = cell;
    }
    return rc;
}

/* What the cells of a problem say of their instances. */
static void credit(struct collect *c, struct ks_page_problem *q, const struct ks_timed *best)
{
    struct ks_page *p = c->p;

    q->best_ns = best ? best->stats.median : 0;
    for (size_t i = 0; i < q->n_cells; i++) {
        const struct ks_page_cell *cell = &p->cells[q->first_cell + i];
        struct ks_page_instance *k =
            cell->instance < p->n_instances ? &p->instances[cell->instance] : NULL;

        if (!k)
            continue;
        k->n_rows++;
        k->n_look += ks_outcome_needs_look(cell->outcome);
        if (cell->ns <= 0 || !best)
            continue;
        k->n_ok++;
        k->log_share += log(q->best_ns / (double)cell->ns);
    }
    if (best && instance_of(p, best->row) < p->n_instances)
        p->instances[instance_of(p, best->row)].n_wins++;
}

static int add_problem(struct collect *c, const struct ks_obs *rows, size_t n, struct ks_err *err)
{
    struct ks_page *p = c->p;
    struct ks_page_problem q = { .first_cell = p->n_cells, .n_cells = n, .first_time = p->n_times };
    const struct ks_timed *best;
    size_t n_timed = 0;
    int rc = ks_join_problem(&c->join, rows, n, err);

    if (rc == 0)
        n_timed = list_timed(c, rows, n);
    if (rc == 0)
        rc = ks_reserve(&p->problems, p->n_problems + 1, &p->cap_problems, sizeof(*p->problems),
                        "problems", err);
    if (rc == 0)
        rc = add_cells(c, rows, n, (uint32_t)p->n_problems, err);
    if (rc == 0)
        rc = ks_reserve(&p->times, p->n_times + KS_PAGE_TOP, &p->cap_times, sizeof(*p->times),
                        "times", err);
    if (rc < 0)
        return rc;
    best = n_timed ? &c->timed[ks_winner(c->timed, n_timed)] : NULL;
    q.n_times = rank_times(c, rows, n_timed, best);
    for (size_t i = 0; i < n_timed; i++)
        count_spread(p, &c->ranked[i]);
    memcpy(p->times + p->n_times, c->ranked, q.n_times * sizeof(*p->times));
    p->n_times += q.n_times;
    credit(c, &q, best);
    p->problems[p->n_problems++] = q;
    return 0;
}

/* ---- batches ---- */

static int reserve(struct collect *c, size_t n, struct ks_err *err)
{
    if (n <= c->cap)
        return 0;
    free(c->rows);
    free(c->timed);
    free(c->ranked);
    c->cap = 0;
    c->rows = malloc(n * sizeof(*c->rows));
    c->timed = malloc(n * sizeof(*c->timed));
    c->ranked = malloc(n * sizeof(*c->ranked));
    if (!c->rows || !c->timed || !c->ranked)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
    c->cap = n;
    return 0;
}

static int add_batch(struct collect *c, const struct ks_df *f, struct ks_err *err)
{
    static const enum ks_df_type types[N_MORE] = { KS_DF_F64, KS_DF_F64, KS_DF_I64 };
    int rc = reserve(c, f->n_rows, err);

    if (rc == 0)
        rc = ks_obs_bind(f, &c->reader, err);
    for (size_t i = 0; rc == 0 && i < N_MORE; i++)
        rc = ks_df_need(f, more_names[i], types[i], &c->more[i], err);
    for (size_t i = 0; rc == 0 && i < f->n_rows; i++)
        ks_obs_read(&c->reader, i, &c->rows[i]);
    for (size_t first = 0, end; rc == 0 && first < f->n_rows; first = end) {
        for (end = first + 1; end < f->n_rows && c->rows[end].problem == c->rows[first].problem;)
            end++;
        c->first_row = first;
        rc = add_problem(c, c->rows + first, end - first, err);
    }
    return rc;
}

static int read_batches(struct ks_page *p, struct ks_summarizer *s, bool is_short,
                        struct ks_err *err)
{
    struct ks_sources sources = { 0 };
    struct ks_reader *r = NULL;
    struct collect c = { .p = p };
    struct ks_df *f;
    int rc = ks_obs_need(&sources, ks_view_file(p->view), err);

    for (size_t i = 0; rc == 0 && !is_short && i < N_MORE; i++)
        rc = ks_sources_need(&sources, ks_view_file(p->view), more_names[i], NULL, err);
    if (rc == 0)
        rc = ks_reader_open(p->view, &sources, 0, &r, err);
    while (rc >= 0 && r && (rc = ks_reader_next(r, &f, err)) > 0) {
        rc = ks_summarizer_add(s, f, err);
        if (rc == 0 && !is_short)
            rc = add_batch(&c, f, err);
    }
    ks_reader_close(r);
    ks_sources_release(&sources);
    ks_join_release(&c.join);
    free(c.rows);
    free(c.timed);
    free(c.ranked);
    return rc;
}

/* ---- a file ---- */

static int open_joined(struct ks_page *p, size_t i, enum ks_table_id from,
                       const char *const *columns, struct ks_err *err)
{
    size_t n = 0;

    while (columns[n])
        n++;
    return ks_joined_open(ks_view_file(p->view), from, columns, n, &p->joined[i], err);
}

static int open_page(struct ks_page *p, const char *path, enum ks_merge merge, struct ks_err *err)
{
    int rc;

    *p = (struct ks_page){ .path = path };
    rc = ks_view_open(path, merge, &p->view, err);
    if (rc == 0)
        rc = open_joined(p, 0, KS_T_PROBLEMS, ks_tables_problems, err);
    if (rc == 0)
        rc = open_joined(p, 1, KS_T_KERNELS, ks_tables_instances, err);
    if (rc == 0)
        rc = open_joined(p, 2, KS_T_DEVICES, ks_tables_devices, err);
    if (rc == 0)
        rc = ks_tables_init(&p->tables, ks_joined_df(p->joined[0]), ks_joined_df(p->joined[1]),
                            ks_joined_df(p->joined[2]), err);
    return rc;
}

static int summarize(struct ks_page *p, bool is_short, struct ks_err *err)
{
    const struct ks_store_info *info = ks_store_info(ks_view_file(p->view));
    struct ks_summarizer *s = NULL;
    int rc = ks_summarizer_create(&p->tables, &s, err);

    if (rc == 0)
        rc = read_batches(p, s, is_short, err);
    if (rc == 0)
        rc = ks_summarizer_end(s, &p->summary, err);
    ks_summarizer_destroy(s);
    p->summary.n_cells = info->n_cells;
    p->summary.n_pending = info->n_pending;
    p->summary.n_dropped = ks_view_n_dropped(p->view);
    return rc;
}

int ks_page_load(struct ks_page *p, const char *path, enum ks_merge merge, struct ks_err *err)
{
    int rc = open_page(p, path, merge, err);

    if (rc == 0)
        rc = list_instances(p, err);
    if (rc == 0)
        rc = summarize(p, false, err);
    return rc == 0 ? ks_page_attempts(p, err) : rc;
}

int ks_page_load_summary(struct ks_page *p, const char *path, enum ks_merge merge,
                         struct ks_err *err)
{
    int rc = open_page(p, path, merge, err);

    return rc == 0 ? summarize(p, true, err) : rc;
}

void ks_page_release(struct ks_page *p)
{
    ks_summary_release(&p->summary);
    ks_tables_release(&p->tables);
    for (size_t i = 0; i < 3; i++)
        ks_joined_close(p->joined[i]);
    ks_view_close(p->view);
    ks_keys_release(&p->instance_keys);
    ks_keys_release(&p->group_keys);
    ks_words_release(&p->reasons);
    free(p->cells);
    free(p->times);
    free(p->problems);
    free(p->instances);
    free(p->groups);
    free(p->failures);
    free(p->samples);
    *p = (struct ks_page){ 0 };
}
