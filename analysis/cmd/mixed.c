/* SPDX-License-Identifier: MIT */
/* mixed.c - chooses for each problem the source that has most times of it */
#include "analysis/cmd/mixed.h"
#include "base/array.h"

#include <stdlib.h>

int ks_mixed_add(struct ks_mixed *m, enum ks_mixed_kind kind, const struct ks_timed_cell *cell,
                 const struct ks_mixed_source *source, struct ks_err *err)
{
    int rc =
        ks_reserve(&m->rows, m->n + 1, &m->cap, sizeof(*m->rows), "rows of several sources", err);

    if (rc < 0)
        return rc;
    m->rows[m->n] = (struct ks_mixed_row){ *cell, *source, kind, m->n };
    m->n++;
    return 0;
}

void ks_mixed_release(struct ks_mixed *m)
{
    free(m->rows);
    *m = (struct ks_mixed){ 0 };
}

static int by_problem(const void *a, const void *b)
{
    const struct ks_mixed_row *x = a, *y = b;

    if (x->cell.problem != y->cell.problem)
        return x->cell.problem < y->cell.problem ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

static bool is_same(const struct ks_mixed_source *a, const struct ks_mixed_source *b)
{
    return a->device_class == b->device_class && a->condition == b->condition &&
           a->is_over_rounds == b->is_over_rounds && (a->device_class || a->file == b->file);
}

/* Of the rows of one problem those with a time of this source. */
static size_t count(const struct ks_mixed_row *rows, size_t n, const struct ks_mixed_source *s)
{
    size_t n_times = 0;

    for (size_t i = 0; i < n; i++)
        n_times += rows[i].kind == KS_MIXED_CELL && is_same(&rows[i].source, s);
    return n_times;
}

/* The source with most times; NULL: the problem has none. *n_out: times of all sources. */
static const struct ks_mixed_source *choose(const struct ks_mixed_row *rows, size_t n,
                                            size_t *most_out, size_t *n_out)
{
    const struct ks_mixed_source *best = NULL, *last = NULL;

    *most_out = *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_times;

        if (rows[i].kind != KS_MIXED_CELL)
            continue;
        ++*n_out;
        if (last && is_same(last, &rows[i].source)) /* rows of a source mostly stand together */
            continue;
        last = &rows[i].source;
        n_times = count(rows, n, last);
        if (n_times > *most_out) {
            *most_out = n_times;
            best = last;
        }
    }
    return best;
}

/* Whether the source has a time of the problem in this file. */
static bool is_in_file(const struct ks_mixed_row *rows, size_t n, const struct ks_mixed_source *s,
                       size_t file)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == KS_MIXED_CELL && rows[i].source.file == file &&
            is_same(&rows[i].source, s))
            return true;
    return false;
}

static int put(struct ks_cells *c, const struct ks_mixed_row *row, struct ks_err *err)
{
    switch (row->kind) {
    case KS_MIXED_CELL:
        return ks_cells_add(c, &row->cell, err);
    case KS_MIXED_LOST:
        return ks_cells_lose(c, row->cell.problem, row->cell.instance, err);
    case KS_MIXED_REFUSED:
        return ks_cells_refuse(c, row->cell.problem, row->cell.instance, err);
    default:
        ks_cells_truncate(c, row->cell.problem);
        return 0;
    }
}

/* rows: [n] of one problem. */
static int settle(struct ks_mixed *m, const struct ks_mixed_row *rows, size_t n, struct ks_cells *c,
                  struct ks_err *err)
{
    size_t most, n_times;
    const struct ks_mixed_source *best = choose(rows, n, &most, &n_times);
    int rc = 0;

    m->n_rows += n_times - most;
    m->n_problems += n_times > most;
    for (size_t i = 0; rc == 0 && best && i < n; i++) {
        const struct ks_mixed_source *s = &rows[i].source;
        const bool is_unrun = !s->has_device && rows[i].kind != KS_MIXED_CELL;

        if (is_same(s, best) || (is_unrun && is_in_file(rows, n, best, s->file)))
            rc = put(c, &rows[i], err);
    }
    return rc;
}

int ks_mixed_settle(struct ks_mixed *m, struct ks_cells *c, struct ks_err *err)
{
    int rc = 0;

    if (m->n)
        qsort(m->rows, m->n, sizeof(*m->rows), by_problem);
    for (size_t i = 0, end; rc == 0 && i < m->n; i = end) {
        for (end = i + 1; end < m->n && m->rows[end].cell.problem == m->rows[i].cell.problem;)
            end++;
        rc = settle(m, &m->rows[i], end - i, c, err);
    }
    free(m->rows);
    m->rows = NULL;
    m->n = m->cap = 0;
    return rc;
}
