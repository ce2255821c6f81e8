/* SPDX-License-Identifier: MIT */
/* merge_error.c - how far merged slices are from a true trace of the same run */
#include "analysis/trace/merge_plan.h"
#include "record/stats.h"

#include <math.h>
#include <stdlib.h>

/* The first start of an External id's kernels. */
struct first {
    int64_t external, start_ns;
};
struct interval {
    int64_t start_ns, end_ns;
};

static int by_external(const void *a, const void *b)
{
    const struct first *l = a, *r = b;

    if (l->external != r->external)
        return l->external < r->external ? -1 : 1;
    return (l->start_ns > r->start_ns) - (l->start_ns < r->start_ns);
}

static int by_start(const void *a, const void *b)
{
    const struct interval *l = a, *r = b;

    return (l->start_ns > r->start_ns) - (l->start_ns < r->start_ns);
}

/* Keeps the first of each id. Returns how many. */
static uint32_t keep_first(struct first *at, uint32_t n)
{
    uint32_t n_kept = 0;

    qsort(at, n, sizeof(at[0]), by_external);
    for (uint32_t i = 0; i < n; i++)
        if (n_kept == 0 || at[n_kept - 1].external != at[i].external)
            at[n_kept++] = at[i];
    return n_kept;
}

static int64_t union_of(struct interval *at, uint32_t n)
{
    int64_t busy_ns = 0, end_ns = INT64_MIN;

    qsort(at, n, sizeof(at[0]), by_start);
    for (uint32_t i = 0; i < n; i++) {
        const int64_t start_ns = at[i].start_ns > end_ns ? at[i].start_ns : end_ns;

        if (at[i].end_ns > start_ns)
            busy_ns = ks_ns_add(busy_ns, ks_ns_add(at[i].end_ns, -start_ns));
        end_ns = at[i].end_ns > end_ns ? at[i].end_ns : end_ns;
    }
    return busy_ns;
}

static void compare(struct ks_merge_error *e, const struct first *truth, uint32_t n_true,
                    const struct first *plan, uint32_t n_plan, double *distance)
{
    uint32_t j = 0;
    double sum = 0;

    for (uint32_t i = 0; i < n_true; i++) {
        while (j < n_plan && plan[j].external < truth[i].external)
            j++;
        if (j == n_plan || plan[j].external != truth[i].external)
            continue;
        distance[e->n_both] = fabs((double)plan[j].start_ns - (double)truth[i].start_ns);
        sum += distance[e->n_both++];
    }
    if (e->n_both == 0)
        return;
    ks_stats_sort(distance, e->n_both);
    e->mean_ns = sum / e->n_both;
    e->median_ns = (distance[(e->n_both - 1) / 2] + distance[e->n_both / 2]) / 2;
    e->max_ns = distance[e->n_both - 1];
}

/* External ids of true kernels are those of their operators, so that both traces name the same. */
static uint32_t true_kernels(const struct ks_trace *truth, struct first *first,
                             struct interval *interval, uint32_t *n_intervals, int64_t *sum_ns)
{
    const struct ks_trace_gpu *g = &truth->gpu;
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t op = g->op[i];
        const int64_t external = op == KS_TRACE_NONE ? KS_TRACE_NO_ID : truth->ops.external[op];

        if (g->kind[i] != KS_TRACE_KERNEL)
            continue;
        interval[(*n_intervals)++] =
            (struct interval){ g->ts_ns[i], ks_ns_add(g->ts_ns[i], g->dur_ns[i]) };
        *sum_ns = ks_ns_add(*sum_ns, g->dur_ns[i]);
        if (external != KS_TRACE_NO_ID)
            first[n++] = (struct first){ external, g->ts_ns[i] };
    }
    return n;
}

int ks_merge_error_of(const struct ks_trace *host, const struct ks_merge_plan *plan,
                      const struct ks_trace *truth, struct ks_merge_error *out, struct ks_err *err)
{
    const size_t n_most = (size_t)truth->gpu.n + plan->n + 1;
    struct first *first = calloc(n_most, sizeof(*first));
    struct interval *interval = calloc(n_most, sizeof(*interval));
    double *distance = calloc(n_most, sizeof(*distance));
    struct ks_merge_error e = { 0 };
    uint32_t n = 0, n_plan;

    if (first && interval && distance) {
        e.n_true = true_kernels(truth, first, interval, &n, &e.true_sum_ns);
        e.n_true = keep_first(first, e.n_true);
        e.true_busy_ns = union_of(interval, n);
        for (uint32_t i = 0; i < plan->n; i++) {
            const struct ks_merge_slice *s = &plan->at[i];

            first[e.n_true + i] = (struct first){ host->ops.external[s->op], s->start_ns };
            interval[i] = (struct interval){ s->start_ns, ks_ns_add(s->start_ns, s->dur_ns) };
            e.sum_ns = ks_ns_add(e.sum_ns, s->dur_ns);
        }
        n_plan = keep_first(first + e.n_true, plan->n);
        e.busy_ns = union_of(interval, plan->n);
        compare(&e, first, e.n_true, first + e.n_true, n_plan, distance);
        *out = e;
    }
    n = first && interval && distance;
    free(first);
    free(interval);
    free(distance);
    return n ? 0 : ks_fail(err, KS_ENOMEM, "out of memory for %zu kernels", n_most);
}
