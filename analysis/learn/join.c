/* SPDX-License-Identifier: MIT */
/* join.c - finds the row of a representative by binary search */
#include "analysis/learn/join.h"
#include "base/order.h"

#include <stdlib.h>

static int compare(const struct ks_obs *row, uint64_t instance, uint64_t condition, uint32_t run)
{
    int d = ks_compare_u64(row->instance_id, instance);

    if (d == 0)
        d = ks_compare_u64(row->condition_id, condition);
    return d ? d : ks_compare_u64(row->run, run);
}

static int by_cell(const void *x, const void *y)
{
    const struct ks_obs *a = *(const struct ks_obs *const *)x;
    const struct ks_obs *b = *(const struct ks_obs *const *)y;

    return compare(a, b->instance_id, b->condition_id, b->run);
}

int ks_join_problem(struct ks_join *j, const struct ks_obs *rows, size_t n, struct ks_err *err)
{
    bool is_needed = false;

    j->n = 0;
    for (size_t i = 0; i < n && !is_needed; i++)
        is_needed = rows[i].representative_id != 0;
    if (!is_needed)
        return 0;
    if (n > j->cap) {
        const struct ks_obs **more = realloc(j->rows, n * sizeof(*more));

        if (!more)
            return ks_fail(err, KS_ENOMEM, "out of memory for %zu rows", n);
        j->rows = more;
        j->cap = n;
    }
    for (size_t i = 0; i < n; i++)
        j->rows[i] = &rows[i];
    j->n = n;
    qsort(j->rows, n, sizeof(*j->rows), by_cell);
    return 0;
}

/* The first row that does not come before this cell of this run. */
static size_t lower_bound(const struct ks_join *j, uint64_t instance, uint64_t condition,
                          uint32_t run)
{
    size_t lo = 0, hi = j->n;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (compare(j->rows[middle], instance, condition, run) < 0)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static bool is_cell(const struct ks_obs *row, uint64_t instance, uint64_t condition)
{
    return row->instance_id == instance && row->condition_id == condition;
}

const struct ks_obs *ks_join_first(const struct ks_join *j, const struct ks_obs *row)
{
    uint64_t instance = row->representative_id, condition = row->condition_id;

    if (!instance)
        return NULL;
    size_t i = lower_bound(j, instance, condition, row->run);
    if (i < j->n && is_cell(j->rows[i], instance, condition) && j->rows[i]->run == row->run)
        return j->rows[i];
    i = lower_bound(j, instance, condition, 0);
    return i < j->n && is_cell(j->rows[i], instance, condition) ? j->rows[i] : NULL;
}

const struct ks_obs *ks_join_code(const struct ks_join *j, const struct ks_obs *row)
{
    return row->outcome == KS_O_ALIASED ? ks_join_first(j, row) : row;
}

void ks_join_release(struct ks_join *j)
{
    free(j->rows);
    *j = (struct ks_join){ 0 };
}
