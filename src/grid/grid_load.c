/* SPDX-License-Identifier: MIT */
/* grid_load.c - loads a grid: reads the kernels and problems that a job names, and sorts them */
#include "grid/grid.h"

#include "base/order.h"
#include "grid/grid_impl.h"
#include "grid/helpers.h"
#include "grid/job_problems.h"
#include "grid/programs.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct ranked {
    double work; /* count x flops */
    uint64_t id;
    uint32_t at;
};

static int by_priority(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->work != y->work)
        return x->work > y->work ? -1 : 1;
    return ks_compare_u64(x->id, y->id);
}

static bool sort_problems(struct ks_problem_table *t)
{
    struct ranked *ranked = malloc((t->n + (size_t)1) * sizeof *ranked);
    uint32_t *order = malloc((t->n + (size_t)1) * sizeof *order);
    bool is_done = ranked && order;

    for (uint32_t i = 0; is_done && i < t->n; i++) {
        const struct ks_problem p = ks_problem_table_get(t, i);

        ranked[i] = (struct ranked){ (double)p.count * ks_problem_flops(&p), p.id, i };
    }
    if (is_done)
        qsort(ranked, t->n, sizeof *ranked, by_priority);
    for (uint32_t i = 0; is_done && i < t->n; i++)
        order[i] = ranked[i].at;
    free(ranked);
    is_done = is_done && ks_problem_table_reorder(t, order);
    free(order);
    return is_done;
}

/* The set is empty afterwards. */
static int take_sorted(struct ks_problem_set *set, struct ks_grid *g, struct ks_err *err)
{
    g->problems = set->problems;
    g->n_problems = set->n;
    set->problems = (struct ks_problem_table){ 0 };
    ks_problem_set_release(set);
    return sort_problems(&g->problems)
               ? 0
               : ks_fail(err, KS_ENOMEM, "no memory for %u problems", g->n_problems);
}

static int load_problems(struct ks_grid *g, struct ks_err *err)
{
    struct ks_problem_set all, one;
    int rc = 0;

    ks_problem_set_init(&all);
    for (uint32_t l = 0; rc == 0 && l < g->job.n_problems; l++) {
        uint32_t n_left_out = 0;

        ks_problem_set_init(&one);
        rc = ks_job_problems_read(&g->job, l, &one, &n_left_out, err);
        g->n_left_out += n_left_out;
        if (rc == 0)
            rc = ks_problem_set_take(&all, &one, err);
        ks_problem_set_release(&one);
        if (rc < 0)
            ks_err_context(err, rc, "problems[%u]", l);
    }
    if (rc == 0 && all.n == 0)
        rc = ks_fail(err, KS_EINVAL, "the lists of the job hold no problem");
    if (rc == 0)
        rc = take_sorted(&all, g, err);
    ks_problem_set_release(&all);
    return rc;
}

static int add_entry(struct ks_kernel_set *set, const struct ks_grid *g, uint32_t i,
                     uint64_t *n_excluded_out, struct ks_err *err)
{
    const struct ks_job_kernels *k = &g->job.kernels[i];

    if (k->program)
        return ks_programs_add(set, &g->job, i, err);
    set->has_plugin = k->plugin[0] != '\0';
    return ks_kernel_set_add(set, k->config, k->filter, n_excluded_out, err);
}

static int load_kernels(struct ks_grid *g, struct ks_err *err)
{
    const char *arch = g->job.device.arch_text;
    struct ks_kernel_set set = { 0 };
    struct ks_buf flags;
    int rc = 0;

    ks_buf_init(&flags);
    if (ks_job_compiles(&g->job)) {
        rc = ks_grid_check_arch(&g->job, err);
        if (rc == 0)
            rc = ks_kernel_set_arch(&set, arch, &flags, err);
        if (rc < 0)
            ks_err_context(err, rc, "device.arch");
    }
    for (uint32_t i = 0; rc == 0 && i < g->job.n_kernels; i++) {
        uint32_t from = set.n_instances;
        uint64_t n_excluded = 0;

        rc = add_entry(&set, g, i, &n_excluded, err);
        g->n_excluded += n_excluded;
        for (uint32_t k = from; k < set.n_instances; k++)
            set.instances[k].i_kernels = i;
        if (rc < 0)
            ks_err_context(err, rc, "kernels[%u]", i);
    }
    g->n_instances = set.n_instances;
    if (rc == 0)
        rc = ks_helpers_add(&set, &g->job, err);
    ks_buf_release(&flags);
    if (rc < 0) {
        ks_kernel_set_release(&set);
        return rc;
    }
    g->families = set.families;
    g->n_families = set.n_families;
    g->instances = set.instances;
    g->n_helpers = set.n_instances - g->n_instances;
    return 0;
}

/* Fills what the job names; takes g->job as read. */
static int load(struct ks_grid *g, struct ks_grid *grid_out, struct ks_err *err)
{
    int rc;

    g->job.device.arch = g->job.device.arch_text;
    rc = load_kernels(g, err);
    if (rc == 0)
        rc = load_problems(g, err);
    if (rc == 0)
        rc = ks_grid_index(g, err);
    if (rc < 0) {
        ks_err_context(err, rc, "job '%s'", g->job.path);
        ks_grid_release(g);
        return rc;
    }
    *grid_out = *g;
    grid_out->job.device.arch = grid_out->job.device.arch_text;
    return 0;
}

int ks_grid_load(const char *job_path, struct ks_grid *grid_out, struct ks_err *err)
{
    struct ks_grid *g = calloc(1, sizeof *g);
    int rc;

    if (!g)
        return ks_fail(err, KS_ENOMEM, "no memory for a grid");
    rc = ks_job_load(job_path, &g->job, err);
    if (rc == 0)
        rc = load(g, grid_out, err);
    free(g);
    return rc;
}

int ks_grid_load_job(struct ks_job *job, struct ks_grid *grid_out, struct ks_err *err)
{
    struct ks_grid *g = calloc(1, sizeof *g);
    int rc;

    if (!g) {
        ks_job_release(job);
        return ks_fail(err, KS_ENOMEM, "no memory for a grid");
    }
    g->job = *job;
    *job = (struct ks_job){ .n_kernels = 0 };
    rc = load(g, grid_out, err);
    free(g);
    return rc;
}

int ks_grid_load_text(const char *text, const char *name, struct ks_grid *grid_out,
                      struct ks_err *err)
{
    struct ks_grid *g = calloc(1, sizeof *g);
    int rc;

    if (!g)
        return ks_fail(err, KS_ENOMEM, "no memory for a grid");
    rc = ks_job_parse(text, strlen(text), name, &g->job, err);
    if (rc == 0)
        rc = load(g, grid_out, err);
    free(g);
    return rc;
}
