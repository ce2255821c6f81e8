/* SPDX-License-Identifier: MIT */
/* aliases.c - groups instances by machine code; compares controls with what they are aliases of */
#include "analysis/learn/aliases.h"
#include "base/order.h"

#include <math.h>
#include <stdlib.h>

static int by_group(const void *x, const void *y)
{
    const struct ks_instance_ref *a = *(const struct ks_instance_ref *const *)x;
    const struct ks_instance_ref *b = *(const struct ks_instance_ref *const *)y;
    int d = ks_compare_u64(a->code_group, b->code_group);

    return d ? d : ks_compare_u64(a->id, b->id);
}

static int by_config(const void *x, const void *y)
{
    const struct ks_instance_ref *a = *(const struct ks_instance_ref *const *)x;
    const struct ks_instance_ref *b = *(const struct ks_instance_ref *const *)y;
    int d = ks_compare_u64(a->config_order, b->config_order);

    return d ? d : ks_compare_u64(a->id, b->id);
}

/* Instances with a code, sorted; one row of each, though it may have been built in several runs. */
static size_t list_instances(const struct ks_tables *t, const struct ks_instance_ref **rows)
{
    size_t n_coded = 0, kept = 0;

    for (uint32_t i = 0; i < t->n_instances; i++)
        if (t->instances[i].code_group != UINT32_MAX)
            rows[n_coded++] = &t->instances[i];
    qsort(rows, n_coded, sizeof(*rows), by_group);
    for (size_t i = 0; i < n_coded; i++)
        if (kept == 0 || by_group(&rows[kept - 1], &rows[i]) != 0)
            rows[kept++] = rows[i];
    return kept;
}

int ks_aliases_find(const struct ks_tables *t, struct ks_aliases_found *out, struct ks_err *err)
{
    size_t n = t->n_instances;
    struct ks_aliases_found a = { .held = calloc(n + 1, sizeof(*a.held)),
                                  .groups = calloc(n + 1, sizeof(*a.groups)) };

    if (!a.held || !a.groups) {
        ks_aliases_free(&a);
        return ks_fail(err, KS_ENOMEM, "out of memory");
    }
    n = list_instances(t, a.held);
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

static double drift_of(const struct ks_obs *row)
{
    return row->anchor_drift > 0 ? row->anchor_drift : 0;
}

double ks_alias_difference(const struct ks_obs *first, const struct ks_obs *control,
                           double *noise_out)
{
    bool is_scaled =
        first->block != control->block && first->anchor_ns > 0 && control->anchor_ns > 0;
    double scale = is_scaled ? first->anchor_ns / control->anchor_ns : 1;
    double difference = scale * control->median_ns - first->median_ns;
    double reach =
        difference > 0
            ? first->hi95_ns - first->median_ns + scale * (control->median_ns - control->lo95_ns)
            : first->median_ns - first->lo95_ns + scale * (control->hi95_ns - control->median_ns);

    *noise_out = fmax(reach / first->median_ns, fmax(drift_of(first), drift_of(control)));
    return fabs(difference) / first->median_ns;
}

static void count_control(const struct ks_tables *t, const struct ks_obs *row,
                          const struct ks_obs *first, struct ks_aliases_found *a)
{
    double noise, difference;

    a->n_controls++;
    if (!first)
        return;
    a->n_other_outcome += first->outcome != row->outcome;
    if (!ks_is_usable(first) || !ks_is_usable(row))
        return;
    difference = ks_alias_difference(first, row, &noise);
    a->n_apart += difference > noise;
    if (a->n_compared++ && difference * a->noise <= a->difference * noise)
        return;
    a->difference = difference;
    a->noise = noise;
    a->problem = ks_tables_problem(t, row->problem);
    a->control = ks_tables_instance(t, row->kernel);
    a->first = ks_tables_instance(t, first->kernel);
}

static int by_code_group(const void *x, const void *y)
{
    const struct ks_code_group *a = x, *b = y;

    return ks_compare_u64(a->code_group, b->code_group);
}

void ks_aliases_count(const struct ks_tables *t, const struct ks_join *join,
                      const struct ks_obs *rows, size_t n, struct ks_aliases_found *a)
{
    for (size_t i = 0; i < n; i++) {
        const struct ks_instance_ref *k = ks_tables_instance(t, rows[i].kernel);
        const struct ks_code_group key = { .code_group = k ? k->code_group : UINT32_MAX };
        struct ks_code_group *g;

        if (rows[i].outcome != KS_O_ALIASED && (rows[i].flags & KS_FL_ALIASED))
            count_control(t, &rows[i], ks_join_first(join, &rows[i]), a);
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
    int d = ks_compare_u64(b->n_aliased, a->n_aliased);

    return d ? d : ks_compare_u64(a->code_group, b->code_group);
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
