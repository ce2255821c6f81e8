/* SPDX-License-Identifier: MIT */
/* compare.c - ksweep-gpu compare: two tables of one job, by ratios of times and winners' regrets */
#include "record/stats.h"
#include "tests/gpu/job.h"
#include "tests/gpu/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void print_quantiles(const char *what, double *v, uint64_t n)
{
    if (n == 0)
        return;
    ks_stats_sort(v, n);
    printf("%-34s n %5" PRIu64 "  P50 %.3f %%  P90 %.3f %%  max %.3f %%\n", what, n, 100 * v[n / 2],
           100 * v[n * 9 / 10], 100 * v[n - 1]);
}

/* |ratio - 1| of all cells that are ok in both; *n_differ_out: cells with another outcome. */
static uint64_t ratios(const struct table *a, const struct table *b, double *v,
                       uint64_t *n_differ_out)
{
    uint64_t n = 0;

    *n_differ_out = 0;
    for (uint64_t i = 0; i < a->n; i++) {
        const struct row *x = &a->rows[i], *y = table_find(b, x->problem, x->instance);

        if (y == NULL || x->outcome != y->outcome)
            ++*n_differ_out;
        else if (x->outcome == KS_O_OK)
            v[n++] = fabs(y->median_ns / x->median_ns - 1.0);
    }
    return n;
}

/* What the winner of `from` loses in `in`, one value per problem. */
static uint64_t regrets(const struct table *from, const struct table *in, double *v)
{
    uint64_t n = 0, last = 0;

    for (uint64_t i = 0; i < from->n; i++) {
        uint64_t problem = from->rows[i].problem;
        const struct row *winner, *best, *again;

        if (i > 0 && problem == last) /* rows of a problem stand together */
            continue;
        last = problem;
        winner = table_best(from, problem);
        best = table_best(in, problem);
        again = winner != NULL ? table_find(in, problem, winner->instance) : NULL;
        if (again != NULL && again->outcome == KS_O_OK)
            v[n++] = again->median_ns / best->median_ns - 1.0;
    }
    return n;
}

static int compare_tables(const struct table *a, const struct table *b, double limit,
                          struct ks_err *err)
{
    double *v = calloc(a->n + b->n + 1, sizeof(*v)), p90;
    uint64_t n_differ = 0, n;

    if (v == NULL)
        return ks_fail(err, KS_ENOMEM, "a comparison");
    n = ratios(a, b, v, &n_differ);
    print_quantiles("time again over time, off 1", v, n);
    n = regrets(a, b, v);
    n += regrets(b, a, v + n);
    print_quantiles("regret of the other's winner", v, n);
    p90 = n > 0 ? v[n * 9 / 10] : INFINITY;
    free(v);
    printf("outcomes that differ: %" PRIu64 "\n", n_differ);
    printf("winner regret at P90: %.3f %%, limit %.3f %%: %s\n", 100 * p90, 100 * limit,
           p90 <= limit ? "within" : "BEYOND");
    return p90 <= limit && n_differ == 0 ? 0 : 1;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct gpu_config *cfg = call->cfg;
    struct table a = { .rows = NULL }, b = { .rows = NULL };
    int rc = table_read(call->operands[0], &a, err);

    if (rc == 0)
        rc = table_read(call->operands[1], &b, err);
    if (rc == 0)
        rc = compare_tables(&a, &b, cfg->regret, err);
    table_release(&a);
    table_release(&b);
    return rc;
}

const struct ks_command gpu_compare = {
    .name = "compare",
    .summary = "Two sweeps of the same cells: outcomes that differ, times, and what the winner of "
               "one loses in the other.",
    .usage = "compare A.csv B.csv [--regret R]",
    GPU_OPTIONS,
    .n_min = 2,
    .n_max = 2,
    .run = run,
};
