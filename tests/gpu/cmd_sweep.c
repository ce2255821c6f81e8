/* SPDX-License-Identifier: MIT */
/* cmd_sweep.c - ksweep-gpu sweep: sweeps a job, prints what is not as expected */
#include "tests/gpu/expect.h"
#include "tests/gpu/job.h"
#include "tests/gpu/sweep.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int write_rows(const struct gpu_config *cfg, const struct ks_grid *g, const struct row *rows,
                      const struct totals *t, struct ks_err *err)
{
    struct ks_buf csv = { 0 }, summary = { 0 };
    int rc = 0;

    rows_csv(rows, ks_grid_n_cells(g), &csv);
    rows_summary(g, rows, t, &summary);
    fputs(ks_buf_text(&summary), stdout);
    if (!ks_buf_ok(&summary))
        rc = ks_fail(err, KS_ENOMEM, "report");
    else if (cfg->out != NULL)
        rc = ks_emit(&csv, cfg->out, err);
    ks_buf_release(&csv);
    ks_buf_release(&summary);
    return rc;
}

static bool is_as_it_should(const struct gpu_config *cfg, const struct row *rows, uint64_t n,
                            const struct totals *t)
{
    bool has_share = rows_share(rows, n, t) >= cfg->share;

    if (!has_share)
        printf("that share is BELOW the limit of %.1f %%\n", 100 * cfg->share);
    return has_share && rows_n_bad(rows, n) + t->n_left == 0;
}

static uint64_t print_expected(const struct expectations *e, const struct ks_grid *g,
                               const struct row *rows)
{
    struct ks_buf text = { 0 };
    uint64_t n_bad = expect_check(e, g, rows, &text);

    fputs(ks_buf_text(&text), stdout);
    printf("%" PRIu64 " of %" PRIu64 " outcomes are not as expected\n", n_bad, ks_grid_n_cells(g));
    ks_buf_release(&text);
    return n_bad;
}

/* expected: NULL, every cell should be ok. Returns an exit status or KS_E*. */
static int sweep(const struct ks_call *call, const struct gpu_job *job,
                 const struct expectations *expected, struct row *rows, struct ks_err *err)
{
    const struct gpu_config *cfg = call->cfg;
    struct sweep_options opt = { .seed = cfg->seed,
                                 .in_order = expected != NULL,
                                 .until_ns = job->until_ns };
    uint64_t n_unexpected = 0;
    struct totals totals = { 0 };
    char worker[1024];
    bool is_good;
    int rc = gpu_find_worker(cfg, worker, sizeof(worker), err);

    opt.program = worker;
    if (rc == 0)
        rc = sweep_run(job->grid, job->build, call->env, &opt, rows, &totals, err);
    if (rc < 0)
        return rc;
    if (expected != NULL)
        n_unexpected = print_expected(expected, job->grid, rows);
    rows_pack(job->grid, rows);
    rc = write_rows(cfg, job->grid, rows, &totals, err);
    if (rc < 0)
        return rc;
    is_good = expected != NULL ? n_unexpected == 0
                               : is_as_it_should(cfg, rows, ks_grid_n_cells(job->grid), &totals);
    return is_good ? KS_EXIT_OK : KS_EXIT_LOOK;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    const struct gpu_config *cfg = call->cfg;
    struct expectations *expected = NULL;
    struct gpu_job job;
    struct row *rows;
    int rc = gpu_job_open(call, &job, err);

    if (rc < 0)
        return rc;
    rows = calloc((size_t)job.grid->n_problems * job.grid->n_instances + 1, sizeof(*rows));
    if (rows == NULL)
        rc = ks_fail(err, KS_ENOMEM, "rows of a sweep");
    if (rc == 0 && cfg->expect != NULL)
        rc = expect_open(cfg->expect, job.grid, &expected, err);
    if (rc == 0)
        rc = sweep(call, &job, expected, rows, err);
    expect_close(expected);
    free(rows);
    gpu_job_close(&job);
    return rc;
}

const struct ks_command gpu_sweep = {
    .name = "sweep",
    .summary = "Measures every instance of a grid on every problem, on one device.",
    .usage = "sweep GRID [OPTIONS]",
    GPU_OPTIONS,
    .needs_warden = true,
    .n_min = 1,
    .n_max = 1,
    .run = run,
};
