/* SPDX-License-Identifier: MIT */
/* mixed.c - chooses for each problem the source that has most times of it */
#include "analysis/cmd/mixed.h"
#include "base/array.h"

#include <stdlib.h>

#define NO_SOURCE UINT32_MAX

int ks_mixed_source(struct ks_mixed *m, const struct ks_time_source *source, uint32_t *source_out,
                    struct ks_err *err)
{
    uint32_t i = 0;
    int rc;

    while (i < m->n_sources && !ks_time_source_is_same(&m->sources[i], source))
        i++;
    if (i == m->n_sources) {
        rc = ks_reserve(&m->sources, m->n_sources + 1, &m->cap_sources, sizeof(*m->sources),
                        "sources of rows", err);
        if (rc < 0)
            return rc;
        m->sources[m->n_sources++] = *source;
    }
    *source_out = i;
    return 0;
}

int ks_mixed_add(struct ks_mixed *m, enum ks_mixed_kind kind, const struct ks_timed_cell *cell,
                 const struct ks_time_source *source, struct ks_err *err)
{
    uint32_t i;
    int rc = ks_mixed_source(m, source, &i, err);

    if (rc == 0)
        rc = ks_reserve(&m->rows, m->n + 1, &m->cap, sizeof(*m->rows), "rows of several sources",
                        err);
    if (rc < 0)
        return rc;
    m->rows[m->n] = (struct ks_mixed_row){ *cell, i, source->file, kind, m->n };
    m->n++;
    return 0;
}

void ks_mixed_release(struct ks_mixed *m)
{
    free(m->sources);
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

/* Of the rows of one problem those with a time of this source. */
static size_t count(const struct ks_mixed_row *rows, size_t n, uint32_t source)
{
    size_t n_times = 0;

    for (size_t i = 0; i < n; i++)
        n_times += rows[i].kind == KS_MIXED_CELL && rows[i].source == source;
    return n_times;
}

/* The source with most times; NO_SOURCE: the problem has none. *n_out: times of all sources. */
static uint32_t choose(const struct ks_mixed_row *rows, size_t n, size_t *most_out, size_t *n_out)
{
    uint32_t best = NO_SOURCE, last = NO_SOURCE;

    *most_out = *n_out = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_times;

        if (rows[i].kind != KS_MIXED_CELL)
            continue;
        ++*n_out;
        if (rows[i].source == last) /* rows of a source mostly stand together */
            continue;
        last = rows[i].source;
        n_times = count(rows, n, last);
        if (n_times > *most_out) {
            *most_out = n_times;
            best = last;
        }
    }
    return best;
}

/* Whether the source has a time of the problem in this file. */
static bool is_in_file(const struct ks_mixed_row *rows, size_t n, uint32_t source, size_t file)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == KS_MIXED_CELL && rows[i].file == file && rows[i].source == source)
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
    const uint32_t best = choose(rows, n, &most, &n_times);
    int rc = 0;

    if (best == NO_SOURCE)
        return 0;
    m->n_rows += n_times - most;
    m->n_problems += n_times > most;
    m->sources[best].n_problems++;
    c->problems[rows->cell.problem].source = best;
    for (size_t i = 0; rc == 0 && i < n; i++) {
        const bool is_unrun =
            !m->sources[rows[i].source].has_device && rows[i].kind != KS_MIXED_CELL;

        if (rows[i].source == best || (is_unrun && is_in_file(rows, n, best, rows[i].file)))
            rc = put(c, &rows[i], err);
    }
    return rc;
}

struct numbered {
    struct ks_time_source source;
    uint32_t i;
};

static int by_problems(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;

    if (x->source.n_problems != y->source.n_problems)
        return x->source.n_problems > y->source.n_problems ? -1 : 1;
    return (x->i > y->i) - (x->i < y->i);
}

/* Drops and sorts sources; the problems get their new numbers. */
static int sort_sources(struct ks_mixed *m, struct ks_cells *c, struct ks_err *err)
{
    struct numbered *sorted = calloc(m->n_sources + 1, sizeof(*sorted));
    uint32_t *to = calloc(m->n_sources + 1, sizeof(*to));
    size_t n = 0;
    int rc = sorted && to ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for sources of rows");

    for (uint32_t i = 0; rc == 0 && i < m->n_sources; i++)
        sorted[i] = (struct numbered){ m->sources[i], i };
    if (rc == 0 && m->n_sources)
        qsort(sorted, m->n_sources, sizeof(*sorted), by_problems);
    for (uint32_t i = 0; rc == 0 && i < m->n_sources; i++) {
        to[sorted[i].i] = i;
        m->sources[i] = sorted[i].source;
        n += sorted[i].source.n_problems > 0;
    }
    for (size_t i = 0; rc == 0 && i < c->n_problems; i++)
        c->problems[i].source = to[c->problems[i].source];
    if (rc == 0)
        m->n_sources = n;
    free(sorted);
    free(to);
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
    if (rc == 0)
        rc = sort_sources(m, c, err);
    free(m->rows);
    m->rows = NULL;
    m->n = m->cap = 0;
    return rc;
}
