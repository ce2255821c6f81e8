/* SPDX-License-Identifier: MIT */
/* one.c - `ksweep-gpu one`: launches for a vendor's tool */
#include "base/clock.h"
#include "record/stats.h"
#include "tests/gpu/job.h"
#include "tests/gpu/launch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Index of the one whose name is, or else holds, `text`. */
static int find_instance(const struct ks_grid *g, const char *text, uint32_t *i_out,
                         struct ks_err *err)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->n_instances; i++) {
        const char *name = g->instances[i].name;

        if (strstr(name, text) == NULL)
            continue;
        *i_out = i;
        if (strcmp(name, text) == 0)
            return 0;
        n++;
    }
    if (n == 1)
        return 0;
    return n == 0
               ? ks_fail(err, KS_EINVAL, "no instance's name holds '%s': see the grid file", text)
               : ks_fail(err, KS_EINVAL,
                         "'%s' is in the names of %" PRIu32 " instances; give one "
                         "whole name",
                         text, n);
}

static int find_problem(const struct ks_grid *g, const char *text, uint32_t *i_out,
                        struct ks_err *err)
{
    for (uint32_t i = 0; i < g->n_problems; i++) {
        const struct ks_problem p = ks_problem_table_get(&g->problems, i);

        if (strcmp(p.name, text) != 0)
            continue;
        *i_out = i;
        return 0;
    }
    return ks_fail(err, KS_EINVAL, "no problem is called '%s': see the grid file", text);
}

static int launch_it(const struct launch *l, uint32_t calls, double *ns, struct ks_err *err)
{
    double *scratch = calloc(calls, sizeof(*scratch));
    struct ks_device_props props;
    struct ks_stats s;
    int rc =
        scratch != NULL ? l->ops->props(l->dev, &props, err) : ks_fail(err, KS_ENOMEM, "samples");

    if (rc == 0)
        rc = launch_time(l, 1, calls, false, ns, err);
    if (rc == 0) {
        ks_stats(ns, calls, props.clock_ns, 1, scratch, &s);
        printf("%" PRIu32 " calls: first %.2f us, median %.2f us, %.2f TFLOP/s\n", calls,
               1e-3 * ns[0], 1e-3 * s.median, 1e-3 * ks_problem_flops(&l->what) / s.median);
    }
    free(scratch);
    return rc;
}

static int time_and_check(const struct launch *l, enum ks_numerics numerics, uint32_t calls,
                          struct ks_err *err)
{
    double *ns = calloc(calls, sizeof(*ns));
    int rc = ns != NULL ? launch_it(l, calls, ns, err) : ks_fail(err, KS_ENOMEM, "samples");

    free(ns);
    if (rc < 0)
        return rc;
    rc = launch_check(l, numerics, err);
    if (rc == 0)
        printf("output: equal to the reference\n");
    else if (rc == KS_EUNSUPPORTED)
        printf("output: not compared: %s\n", err->text);
    else if (rc == KS_EDEVICE)
        printf("output: WRONG: %s\n", err->text);
    else
        return rc;
    return rc == KS_EDEVICE ? KS_EXIT_LOOK : KS_EXIT_OK;
}

static int launch_cell(const struct gpu_job *job, uint32_t i_instance, uint32_t i_problem,
                       uint32_t calls, struct ks_err *err)
{
    const struct ks_problem p = ks_problem_table_get(&job->grid->problems, i_problem);
    const struct ks_instance *inst = &job->grid->instances[i_instance];
    const struct ks_artefact *a = ks_build_artefact(job->build, i_instance);
    const char *why = ks_grid_unsupported(job->grid, i_problem, i_instance);
    const struct ks_device_ops *ops = NULL;
    const struct ks_abi_entry *entry = NULL;
    struct ks_device *dev = NULL;
    struct ks_module *mod = NULL;
    struct launch l;
    int rc;

    if (why != NULL || a->state != KS_ART_READY)
        return ks_fail(err, KS_EUNSUPPORTED, "%s: %s", inst->name, why != NULL ? why : a->reason);
    printf("%s on %s\n", inst->name, p.name);
    rc = launch_device(job->grid, &ops, &dev, err);
    if (rc < 0)
        return rc;
    rc = ops->module_open(dev, a->path, &mod, err);
    if (rc == 0)
        rc = ops->module_entry(dev, mod, a->entry, &entry, err);
    if (rc == 0)
        rc = launch_open(&l, ops, dev, entry, &p, err);
    if (rc == 0) {
        rc = time_and_check(&l, ks_instance_numerics(&job->grid->families[inst->i_family], inst),
                            calls, err);
        launch_close(&l);
    }
    if (mod != NULL)
        ops->module_close(dev, mod);
    ops->close(dev);
    return rc;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct gpu_config *cfg = call->cfg;
    uint32_t i_instance = 0, i_problem = 0;
    struct gpu_job job;
    int rc = gpu_job_open(call, &job, err);

    if (rc < 0)
        return rc;
    rc = find_instance(job.grid, call->operands[1], &i_instance, err);
    if (rc == 0)
        rc = find_problem(job.grid, call->operands[2], &i_problem, err);
    if (rc == 0)
        rc = launch_cell(&job, i_instance, i_problem, cfg->calls, err);
    gpu_job_close(&job);
    return rc;
}

const struct ks_command gpu_one = {
    .name = "one",
    .summary = "One instance on one problem, in this process and without a filter of system calls: "
               "for compute-sanitizer, ncu and rocprof.",
    .usage = "one GRID INSTANCE PROBLEM [--calls N] [OPTIONS]",
    GPU_OPTIONS,
    .n_min = 3,
    .n_max = 3,
    .needs_warden = true,
    .run = run,
};
