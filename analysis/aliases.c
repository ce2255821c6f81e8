/* SPDX-License-Identifier: MIT */
#include "analysis/aliases.h"

#include <math.h>
#include <stdlib.h>

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_group(const void *x, const void *y)
{
    const struct ks_kernel_row *a = *(const struct ks_kernel_row *const *)x;
    const struct ks_kernel_row *b = *(const struct ks_kernel_row *const *)y;
    int d = compare_u64(a->code_group, b->code_group);

    return d ? d : compare_u64(a->instance_id, b->instance_id);
}

static int by_config(const void *x, const void *y)
{
    const struct ks_kernel_row *a = *(const struct ks_kernel_row *const *)x;
    const struct ks_kernel_row *b = *(const struct ks_kernel_row *const *)y;
    int d = compare_u64(a->i_instance, b->i_instance);

    return d ? d : compare_u64(a->instance_id, b->instance_id);
}

/* Instances with a code, sorted; one row of each, though it may have been built in several runs. */
static size_t list_instances(const struct ks_store_file *f, const struct ks_kernel_row **rows)
{
    uint32_t n = ks_store_info(f)->n_kernels;
    size_t n_coded = 0, kept = 0;

    for (uint32_t i = 0; i < n; i++)
        if (ks_store_kernel(f, i)->code_group != KS_NO_ROW)
            rows[n_coded++] = ks_store_kernel(f, i);
    qsort(rows, n_coded, sizeof(*rows), by_group);
    for (size_t i = 0; i < n_coded; i++)
        if (kept == 0 || by_group(&rows[kept - 1], &rows[i]) != 0)
            rows[kept++] = rows[i];
    return kept;
}

int ks_aliases_find(const struct ks_store_file *f, struct ks_aliases_found *out, struct ks_err *err)
{
    size_t n = ks_store_info(f)->n_kernels;
    struct ks_aliases_found a = { .held = calloc(n + 1, sizeof(*a.held)),
                                  .groups = calloc(n + 1, sizeof(*a.groups)) };

    if (!a.held || !a.groups) {
        ks_aliases_free(&a);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    n = list_instances(f, a.held);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && a.held[end]->code_group == a.held[i]->code_group;)
            end++;
        if (end - i < 2)
            continue;
        qsort(&a.held[i], end - i, sizeof(*a.held), by_config);
        a.groups[a.n_groups++] = (struct ks_code_group){ .members = &a.held[i],
                                                         .n = (uint32_t)(end - i),
                                                         .code_group = a.held[i]->code_group };
    }
    *out = a;
    return 0;
}

static const struct ks_kernel_row *kernel_of(const struct ks_store_file *f,
                                             const struct ks_row *row)
{
    return row->kernel < ks_store_info(f)->n_kernels ? ks_store_kernel(f, row->kernel) : NULL;
}

static const struct ks_block_row *block_of(const struct ks_store_file *f, const struct ks_row *row)
{
    return row->block < ks_store_info(f)->n_blocks ? ks_store_block(f, row->block) : NULL;
}

static double drift_of(const struct ks_block_row *b)
{
    return b && b->anchor_drift > 0 ? b->anchor_drift : 0;
}

double ks_alias_difference(const struct ks_store_file *f, const struct ks_row *first,
                           const struct ks_row *control, double *noise_out)
{
    const struct ks_block_row *a = block_of(f, first), *b = block_of(f, control);
    bool is_scaled = a && b && a != b && a->anchor_ns > 0 && b->anchor_ns > 0;
    double scale = is_scaled ? a->anchor_ns / b->anchor_ns : 1;
    double difference = scale * control->time_median_ns - first->time_median_ns;
    double reach = difference > 0
                       ? first->time_ci95_hi_ns - first->time_median_ns +
                             scale * (control->time_median_ns - control->time_ci95_lo_ns)
                       : first->time_median_ns - first->time_ci95_lo_ns +
                             scale * (control->time_ci95_hi_ns - control->time_median_ns);

    *noise_out = fmax(reach / first->time_median_ns, fmax(drift_of(a), drift_of(b)));
    return fabs(difference) / first->time_median_ns;
}

static bool is_ok(const struct ks_row *row)
{
    return row->outcome == KS_O_OK && row->time_median_ns > 0;
}

static void count_control(const struct ks_store_file *f, const struct ks_row *row,
                          const struct ks_row *first, struct ks_aliases_found *a)
{
    double noise, difference;

    a->n_controls++;
    if (!first)
        return;
    a->n_other_outcome += first->outcome != row->outcome;
    if (!is_ok(first) || !is_ok(row))
        return;
    difference = ks_alias_difference(f, first, row, &noise);
    a->n_apart += difference > noise;
    if (a->n_compared++ && difference * a->noise <= a->difference * noise)
        return;
    a->difference = difference;
    a->noise = noise;
    a->problem =
        row->problem < ks_store_info(f)->n_problems ? ks_store_problem(f, row->problem) : NULL;
    a->control = kernel_of(f, row);
    a->first = kernel_of(f, first);
}

static int by_code_group(const void *x, const void *y)
{
    const struct ks_code_group *a = x, *b = y;

    return compare_u64(a->code_group, b->code_group);
}

void ks_aliases_count(const struct ks_store_file *f, const struct ks_join *join,
                      const struct ks_row *rows, size_t n, struct ks_aliases_found *a)
{
    for (size_t i = 0; i < n; i++) {
        const struct ks_kernel_row *k = kernel_of(f, &rows[i]);
        const struct ks_code_group key = { .code_group = k ? k->code_group : KS_NO_ROW };
        struct ks_code_group *g;

        if (rows[i].outcome != KS_O_ALIASED && (rows[i].outcome_flags & KS_FL_ALIASED))
            count_control(f, &rows[i], ks_join_first(join, &rows[i]), a);
        if (rows[i].outcome != KS_O_ALIASED)
            continue;
        a->n_aliased++;
        g = bsearch(&key, a->groups, a->n_groups, sizeof(*a->groups), by_code_group);
        if (g)
            g->n_aliased++;
    }
}

static int by_savings(const void *x, const void *y)
{
    const struct ks_code_group *a = x, *b = y;
    int d = compare_u64(b->n_aliased, a->n_aliased);

    return d ? d : compare_u64(a->code_group, b->code_group);
}

void ks_aliases_sort(struct ks_aliases_found *a)
{
    qsort(a->groups, a->n_groups, sizeof(*a->groups), by_savings);
}

void ks_aliases_free(struct ks_aliases_found *a)
{
    free(a->held);
    free(a->groups);
    *a = (struct ks_aliases_found){ 0 };
}
