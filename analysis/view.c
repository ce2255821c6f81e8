/* SPDX-License-Identifier: MIT */
#include "analysis/view.h"

#include <stdlib.h>
#include <string.h>

const char *const ks_merge_names[] = { "all", "newest", "median", NULL };

/* What ordering and choosing need to know of a row. */
struct entry {
    uint32_t problem, i_instance, run;
    uint8_t outcome;
    bool is_kept;
    uint64_t instance, condition, class, row;
    double median_ns;
};

struct ks_view {
    struct ks_store_file *file;
    struct entry *entries;
    size_t n_entries, next;
    uint64_t n_dropped;
    struct ks_row *rows; /* [cap] of the current problem */
    size_t cap;
};

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_cells(const struct entry *a, const struct entry *b)
{
    int d = compare_u64(a->problem, b->problem);

    if (d == 0)
        d = compare_u64(a->i_instance, b->i_instance);
    if (d == 0)
        d = compare_u64(a->instance, b->instance);
    if (d == 0)
        d = compare_u64(a->condition, b->condition);
    return d ? d : compare_u64(a->class, b->class);
}

static int by_order(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int d = compare_cells(a, b);

    if (d == 0)
        d = compare_u64(a->run, b->run);
    return d ? d : compare_u64(a->row, b->row);
}

/* The class of a run's devices if it has one class only, else 0. */
static uint64_t only_class(const struct ks_store_file *f, uint32_t run)
{
    uint64_t class = 0;

    for (uint32_t i = 0; i < ks_store_info(f)->n_devices; i++) {
        const struct ks_device_row *d = ks_store_device(f, i);

        if (d->run != run)
            continue;
        if (class && class != d->rec.device_class)
            return 0;
        class = d->rec.device_class;
    }
    return class;
}

static void fill_entry(const struct ks_store_file *f, const struct ks_row *row, uint64_t i,
                       struct entry *e)
{
    const struct ks_store_info *info = ks_store_info(f);

    *e = (struct entry){ .problem = row->problem,
                         .run = row->run,
                         .outcome = row->outcome,
                         .is_kept = true,
                         .instance = row->instance_id,
                         .condition = row->condition_id,
                         .row = i,
                         .median_ns = row->time_median_ns };
    e->i_instance =
        row->kernel < info->n_kernels ? ks_store_kernel(f, row->kernel)->i_instance : UINT32_MAX;
    e->class = row->device < info->n_devices ? ks_store_device(f, row->device)->rec.device_class
                                             : only_class(f, row->run);
}

static int read_entries(struct ks_view *v, struct ks_err *err)
{
    uint64_t n = ks_store_info(v->file)->n_measurements;
    struct ks_row row;

    v->entries = calloc(n ? n : 1, sizeof(*v->entries));
    if (!v->entries)
        return ks_fail(err, KS_ENOMEM, "out of memory for %llu rows", (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) {
        int rc = ks_store_measurement(v->file, i, &row, err);

        if (rc < 0)
            return rc;
        fill_entry(v->file, &row, i, &v->entries[i]);
    }
    v->n_entries = n;
    qsort(v->entries, n, sizeof(*v->entries), by_order);
    return 0;
}

/* ---- merging ---- */

static size_t newest(const struct ks_view *v, size_t first, size_t end)
{
    size_t best = first;

    for (size_t i = first + 1; i < end; i++)
        if (ks_store_run(v->file, v->entries[i].run)->started_ns >=
            ks_store_run(v->file, v->entries[best].run)->started_ns)
            best = i;
    return best;
}

static bool is_timed(const struct entry *e)
{
    return e->outcome == KS_O_OK && e->median_ns > 0;
}

/* How many timed rows of the group come before row i in order of time. */
static size_t place_of(const struct ks_view *v, size_t first, size_t end, size_t i)
{
    const struct entry *e = v->entries;
    size_t before = 0;

    for (size_t k = first; k < end; k++)
        before += is_timed(&e[k]) && (e[k].median_ns < e[i].median_ns ||
                                      (!(e[k].median_ns > e[i].median_ns) && k < i));
    return before;
}

static size_t middle(const struct ks_view *v, size_t first, size_t end)
{
    size_t n = 0;

    for (size_t i = first; i < end; i++)
        n += is_timed(&v->entries[i]);
    for (size_t i = first; i < end; i++)
        if (is_timed(&v->entries[i]) && place_of(v, first, end, i) == (n - 1) / 2)
            return i;
    return newest(v, first, end);
}

static void merge(struct ks_view *v, enum ks_merge how)
{
    size_t kept = 0;

    for (size_t first = 0, end; how != KS_MERGE_ALL && first < v->n_entries; first = end) {
        size_t chosen;

        end = first + 1;
        while (end < v->n_entries && compare_cells(&v->entries[first], &v->entries[end]) == 0)
            end++;
        chosen = how == KS_MERGE_NEWEST ? newest(v, first, end) : middle(v, first, end);
        for (size_t i = first; i < end; i++)
            v->entries[i].is_kept = i == chosen;
    }
    for (size_t i = 0; i < v->n_entries; i++)
        if (v->entries[i].is_kept)
            v->entries[kept++] = v->entries[i];
    v->n_dropped = v->n_entries - kept;
    v->n_entries = kept;
}

int ks_view_open(const char *path, enum ks_merge how, struct ks_view **view_out, struct ks_err *err)
{
    struct ks_view *v = calloc(1, sizeof(*v));
    int rc = v ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_store_open(path, &v->file, err);
    if (rc == 0)
        rc = read_entries(v, err);
    if (rc < 0) {
        ks_view_close(v);
        return rc;
    }
    merge(v, how);
    *view_out = v;
    return 0;
}

void ks_view_close(struct ks_view *v)
{
    if (!v)
        return;
    ks_store_close(v->file);
    free(v->entries);
    free(v->rows);
    free(v);
}

struct ks_store_file *ks_view_file(const struct ks_view *v)
{
    return v->file;
}

uint64_t ks_view_n_dropped(const struct ks_view *v)
{
    return v->n_dropped;
}

uint64_t ks_view_n_rows(const struct ks_view *v)
{
    return v->n_entries;
}

/* ---- rows, problem by problem ---- */

static int by_row(const void *x, const void *y)
{
    const struct entry *const *a = x, *const *b = y;

    return compare_u64((*a)->row, (*b)->row);
}

/* Rows are read in the order of the file, so that every chunk is unpacked once per problem. */
static int read_problem(struct ks_view *v, size_t n, struct ks_err *err)
{
    const struct entry *first = &v->entries[v->next];
    const struct entry **order = calloc(n, sizeof(*order));
    int rc = order ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    for (size_t i = 0; rc == 0 && i < n; i++)
        order[i] = first + i;
    if (rc == 0)
        qsort(order, n, sizeof(*order), by_row);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = ks_store_measurement(v->file, order[i]->row, &v->rows[order[i] - first], err);
    free(order);
    return rc;
}

int ks_view_next(struct ks_view *v, const struct ks_row **rows_out, size_t *n_out,
                 struct ks_err *err)
{
    size_t end = v->next, n;
    int rc;

    if (v->next == v->n_entries)
        return 0;
    while (end < v->n_entries && v->entries[end].problem == v->entries[v->next].problem)
        end++;
    n = end - v->next;
    if (n > v->cap) {
        struct ks_row *rows = realloc(v->rows, n * sizeof(*rows));

        if (!rows)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
        v->rows = rows;
        v->cap = n;
    }
    rc = read_problem(v, n, err);
    if (rc < 0)
        return rc;
    v->next = end;
    *rows_out = v->rows;
    *n_out = n;
    return 1;
}
