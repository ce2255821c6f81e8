/* SPDX-License-Identifier: MIT */
#include "analysis/data/view.h"
#include "base/file.h"
#include "base/order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CACHE_BYTES                                                                                \
    ((size_t)64 << 20) /* of unpacked chunks: a problem's rows lie near one another */

const char *const ks_merge_names[] = { "all", "newest", "median", NULL };

/* What ordering and choosing need to know of a row. */
struct entry {
    uint32_t problem, i_instance, run;
    float median_ns; /* float32 in the file */
    uint64_t instance, condition, class, row;
    uint8_t outcome;
    bool is_kept;
};

struct ks_view {
    struct ks_store_file *file;
    struct ks_batch *batch;
    struct entry *entries; /* [n_entries] until the order is known */
    size_t n_entries;
    uint64_t *rows;    /* [n_rows] in the order of the view */
    uint64_t *problem; /* [n_problems + 1] where each problem begins; those with rows only */
    size_t n_rows, n_problems;
    uint64_t n_dropped;
};

static int compare_cells(const struct entry *a, const struct entry *b)
{
    int d = ks_compare_u64(a->problem, b->problem);

    if (d == 0)
        d = ks_compare_u64(a->i_instance, b->i_instance);
    if (d == 0)
        d = ks_compare_u64(a->instance, b->instance);
    if (d == 0)
        d = ks_compare_u64(a->condition, b->condition);
    return d ? d : ks_compare_u64(a->class, b->class);
}

static int by_order(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    int d = compare_cells(a, b);

    if (d == 0)
        d = ks_compare_u64(a->run, b->run);
    return d ? d : ks_compare_u64(a->row, b->row);
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

/* ---- one pass over the first columns ---- */

enum { PROBLEM, KERNEL, RUN, DEVICE, INSTANCE, CONDITION, OUTCOME, MEDIAN, N_KEYS };
static const char *const key_columns[N_KEYS] = { "problem", "kernel",        "run",
                                                 "device",  "instance_id",   "condition_id",
                                                 "outcome", "time_median_ns" };

struct scan {
    struct ks_view *v;
    struct ks_place at[N_KEYS];
    uint64_t *class_of_run; /* [n_runs] only_class */
};

/* KS_NO_ROW or 0 when the file lacks the column. */
static uint32_t get_u32(const struct ks_place *p, const uint8_t *row)
{
    uint32_t v = KS_NO_ROW;

    if (p->at != KS_NO_PLACE)
        memcpy(&v, row + p->at, sizeof(v));
    return v;
}

static uint64_t get_u64(const struct ks_place *p, const uint8_t *row)
{
    uint64_t v = 0;

    if (p->at != KS_NO_PLACE)
        memcpy(&v, row + p->at, sizeof(v));
    return v;
}

static void fill_entry(const struct scan *s, const uint8_t *row, uint64_t number, struct entry *e)
{
    const struct ks_store_file *f = s->v->file;
    const struct ks_store_info *info = ks_store_info(f);
    uint32_t kernel = get_u32(&s->at[KERNEL], row), device = get_u32(&s->at[DEVICE], row);

    *e = (struct entry){ .problem = get_u32(&s->at[PROBLEM], row),
                         .run = get_u32(&s->at[RUN], row),
                         .is_kept = true,
                         .instance = get_u64(&s->at[INSTANCE], row),
                         .condition = get_u64(&s->at[CONDITION], row),
                         .row = number };
    if (s->at[OUTCOME].at != KS_NO_PLACE)
        e->outcome = row[s->at[OUTCOME].at];
    if (s->at[MEDIAN].at != KS_NO_PLACE)
        memcpy(&e->median_ns, row + s->at[MEDIAN].at, sizeof(e->median_ns));
    e->i_instance = kernel < info->n_kernels ? ks_store_kernel(f, kernel)->i_instance : UINT32_MAX;
    if (device < info->n_devices)
        e->class = ks_store_device(f, device)->rec.device_class;
    else if (e->run < info->n_runs)
        e->class = s->class_of_run[e->run];
}

static int on_rows(void *ctx, uint64_t first, size_t n, const uint8_t *packed, size_t stride,
                   struct ks_err *err)
{
    struct scan *s = ctx;

    (void)err;
    for (size_t i = 0; i < n; i++)
        fill_entry(s, packed + i * stride, first + i, &s->v->entries[first + i]);
    return 0;
}

/* The median lies far behind the other keys: it is read only where merging needs it. */
static int find_keys(struct scan *s, enum ks_merge how, size_t *n_bytes_out, struct ks_err *err)
{
    size_t n_bytes = 0;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_KEYS; i++) {
        struct ks_place *p = &s->at[i];

        rc = ks_batch_place(s->v->batch, key_columns[i], p, err);
        if (rc == 0 && i == MEDIAN && how != KS_MERGE_MEDIAN)
            p->at = KS_NO_PLACE;
        if (rc == 0 && p->at != KS_NO_PLACE && p->at + p->len > n_bytes)
            n_bytes = p->at + p->len;
    }
    *n_bytes_out = n_bytes;
    return rc;
}

static int read_entries(struct ks_view *v, enum ks_merge how, struct ks_err *err)
{
    const struct ks_store_info *info = ks_store_info(v->file);
    struct scan s = { .v = v };
    size_t n_bytes;
    int rc = find_keys(&s, how, &n_bytes, err);

    if (rc < 0)
        return rc;
    v->n_entries = (size_t)info->n_measurements;
    v->entries = calloc(v->n_entries + 1, sizeof(*v->entries));
    s.class_of_run = calloc(info->n_runs + 1u, sizeof(*s.class_of_run));
    if (!v->entries || !s.class_of_run)
        rc = ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", v->n_entries);
    for (uint32_t i = 0; rc == 0 && i < info->n_runs; i++)
        s.class_of_run[i] = only_class(v->file, i);
    if (rc == 0)
        rc = ks_batch_scan(v->batch, n_bytes, on_rows, &s, err);
    free(s.class_of_run);
    return rc;
}

/* ---- order ---- */

static size_t bucket_of(const struct entry *e, size_t n_problems)
{
    return e->problem < n_problems ? e->problem : n_problems;
}

static void sort_range(struct entry *e, size_t n)
{
    bool is_sorted = true;

    for (size_t i = 1; is_sorted && i < n; i++)
        is_sorted = by_order(&e[i - 1], &e[i]) <= 0;
    if (!is_sorted)
        qsort(e, n, sizeof(*e), by_order);
}

/* By problem first, in one pass: what is left to sort is short. */
static int sort_entries(struct ks_view *v, struct ks_err *err)
{
    size_t n_problems = ks_store_info(v->file)->n_problems;
    size_t *begin = calloc(n_problems + 3, sizeof(*begin));
    struct entry *sorted = calloc(v->n_entries + 1, sizeof(*sorted));

    if (!begin || !sorted) {
        free(begin);
        free(sorted);
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", v->n_entries);
    }
    for (size_t i = 0; i < v->n_entries; i++)
        begin[bucket_of(&v->entries[i], n_problems) + 2]++;
    for (size_t k = 2; k < n_problems + 3; k++)
        begin[k] += begin[k - 1];
    for (size_t i = 0; i < v->n_entries; i++)
        sorted[begin[bucket_of(&v->entries[i], n_problems) + 1]++] = v->entries[i];
    for (size_t k = 0; k <= n_problems; k++)
        sort_range(sorted + begin[k], begin[k + 1] - begin[k]);
    free(begin);
    free(v->entries);
    v->entries = sorted;
    return 0;
}

/* ---- merging ---- */

static uint64_t started_of(const struct ks_view *v, size_t i)
{
    return ks_store_run(v->file, v->entries[i].run)->started_ns;
}

static size_t newest(const struct ks_view *v, size_t first, size_t end)
{
    size_t best = first;

    for (size_t i = first + 1; i < end; i++)
        if (started_of(v, i) >= started_of(v, best))
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
    for (size_t first = 0, end; how != KS_MERGE_ALL && first < v->n_entries; first = end) {
        size_t chosen;

        end = first + 1;
        while (end < v->n_entries && compare_cells(&v->entries[first], &v->entries[end]) == 0)
            end++;
        chosen = how == KS_MERGE_NEWEST ? newest(v, first, end) : middle(v, first, end);
        for (size_t i = first; i < end; i++)
            v->entries[i].is_kept = i == chosen;
    }
}

/* The rows that are kept, and where each problem begins among them; the entries are no longer
 * needed. */
static int list_rows(struct ks_view *v, struct ks_err *err)
{
    size_t n_problems = ks_store_info(v->file)->n_problems, problem = 0;

    v->rows = calloc(v->n_entries + 1, sizeof(*v->rows));
    v->problem = calloc(n_problems + 3, sizeof(*v->problem));
    if (!v->rows || !v->problem)
        return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", v->n_entries);
    for (size_t i = 0; i < v->n_entries; i++) {
        const struct entry *e = &v->entries[i];

        if (!e->is_kept)
            continue;
        if (v->n_rows == 0 || bucket_of(e, n_problems) != problem)
            v->problem[v->n_problems++] = v->n_rows;
        problem = bucket_of(e, n_problems);
        v->rows[v->n_rows++] = e->row;
    }
    v->problem[v->n_problems] = v->n_rows;
    v->n_dropped = v->n_entries - v->n_rows;
    free(v->entries);
    v->entries = NULL;
    return 0;
}

int ks_results_path(const char *path, char *out, size_t cap, struct ks_err *err)
{
    int rc;

    if (!ks_path_is_dir(path)) {
        if ((size_t)snprintf(out, cap, "%s", path) < cap)
            return 0;
        return ks_fail(err, KS_EINVAL, "the path is longer than %zu bytes", cap - 1);
    }
    rc = ks_path_join(out, cap, path, "results.h5", err);
    if (rc == 0 && access(out, F_OK) < 0)
        rc = ks_fail(err, KS_ENOENT, "'%s' has no results.h5: write it with 'ksweep gather %s'",
                     path, path);
    return rc;
}

int ks_view_open(const char *path, enum ks_merge how, struct ks_view **view_out, struct ks_err *err)
{
    struct ks_view *v = calloc(1, sizeof(*v));
    char file[KS_PATH_BYTES];
    int rc = v ? 0 : ks_fail(err, KS_ENOMEM, "out of memory");

    if (rc == 0)
        rc = ks_results_path(path, file, sizeof(file), err);
    if (rc == 0)
        rc = ks_store_open(file, &v->file, err);
    if (rc == 0)
        rc = ks_batch_open(v->file, CACHE_BYTES, &v->batch, err);
    if (rc == 0)
        rc = read_entries(v, how, err);
    if (rc == 0)
        rc = sort_entries(v, err);
    if (rc == 0) {
        merge(v, how);
        rc = list_rows(v, err);
    }
    if (rc < 0) {
        ks_view_close(v);
        return rc;
    }
    *view_out = v;
    return 0;
}

void ks_view_close(struct ks_view *v)
{
    if (!v)
        return;
    ks_batch_close(v->batch);
    ks_store_close(v->file);
    free(v->entries);
    free(v->rows);
    free(v->problem);
    free(v);
}

struct ks_store_file *ks_view_file(const struct ks_view *v)
{
    return v->file;
}

struct ks_batch *ks_view_batch(const struct ks_view *v)
{
    return v->batch;
}

uint64_t ks_view_n_dropped(const struct ks_view *v)
{
    return v->n_dropped;
}

uint64_t ks_view_n_rows(const struct ks_view *v)
{
    return v->n_rows;
}

/* The problem that begins at row `first`, or the first one behind it. */
static size_t problem_from(const struct ks_view *v, uint64_t first)
{
    size_t lo = 0, hi = v->n_problems;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;

        if (v->problem[mid] < first)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void ks_view_rows(const struct ks_view *v, uint64_t first, size_t max_rows,
                  const uint64_t **rows_out, size_t *n_out)
{
    size_t begin = problem_from(v, first), end = begin;

    *rows_out = v->rows + first;
    *n_out = 0;
    while (end < v->n_problems && (end == begin || v->problem[end + 1] - first <= max_rows))
        end++;
    if (end > begin)
        *n_out = (size_t)(v->problem[end] - first);
}
