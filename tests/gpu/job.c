/* SPDX-License-Identifier: MIT */
/* job.c - opens a job of ksweep-gpu: grid, compiled instances, warden, worker; its options */
#include "tests/gpu/job.h"

#include "base/clock.h"
#include "base/file.h"
#include "grid/plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define AT(member) offsetof(struct gpu_config, member)
const struct ks_opt gpu_opts[] = {
    { .name = "backend",
      .type = KS_OPT_STR,
      .offset = AT(backend),
      .arg = "NAME",
      .help = "hip or cuda instead of the job's device" },
    { .name = "arch",
      .type = KS_OPT_STR,
      .offset = AT(arch),
      .arg = "ARCH",
      .help = "what the device is: gfx942, sm_90, emu" },
    { .name = "cache",
      .type = KS_OPT_STR,
      .offset = AT(cache),
      .arg = "DIR",
      .help = "directory of the build cache; default $XDG_CACHE_HOME/ksweep" },
    { .name = "worker",
      .type = KS_OPT_STR,
      .offset = AT(worker),
      .arg = "FILE",
      .help = "ksweep-worker; default the one beside this program" },
    { .name = "out",
      .type = KS_OPT_STR,
      .offset = AT(out),
      .arg = "FILE",
      .help = "rows of the sweep, as CSV" },
    { .name = "expect",
      .type = KS_OPT_STR,
      .offset = AT(expect),
      .arg = "FILE",
      .help = "of sweep: the outcome that each instance must have; they are measured in the grid's "
              "order" },
    { .name = "limit",
      .type = KS_OPT_U32,
      .offset = AT(limit_s),
      .def = "0",
      .max = 86400,
      .arg = "S",
      .help = "seconds from now after which no worker is started; 0 = none" },
    { .name = "calls",
      .type = KS_OPT_U32,
      .offset = AT(calls),
      .def = "1",
      .min = 1,
      .max = 1000000,
      .arg = "N",
      .help = "of one: launches of the kernel" },
    { .name = "seed",
      .type = KS_OPT_U64,
      .offset = AT(seed),
      .def = "1",
      .arg = "N",
      .help = "of the order of instances" },
    { .name = "regret",
      .type = KS_OPT_F64,
      .offset = AT(regret),
      .def = "0.005",
      .max = 1,
      .arg = "R",
      .help = "greatest regret at P90 that compare accepts" },
    { .name = "share",
      .type = KS_OPT_F64,
      .offset = AT(share),
      .def = "0",
      .max = 1,
      .arg = "R",
      .help = "least share of the device's time in samples and warm-up that sweep accepts" },
    KS_OPT_END
};
#undef AT

int gpu_find_worker(const struct gpu_config *cfg, char *out, size_t cap, struct ks_err *err)
{
    char dir[900];
    int rc = 0;

    if (cfg->worker != NULL)
        rc = ks_path_join(out, cap, ".", cfg->worker, err);
    else if ((rc = ks_program_dir(dir, sizeof(dir), err)) == 0)
        rc = ks_path_join(out, cap, dir, "ksweep-worker", err);
    return rc == 0 && access(out, X_OK) < 0 ? ks_fail_path(err, "'%s'", out) : rc;
}

static int compile(struct ks_build *b, uint32_t n_jobs, struct ks_err *err)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < ks_build_n_units(b); i++)
        rc = ks_build_start(b, i, err);
    while (rc == 0) {
        rc = ks_build_step(b, n_jobs, err);
        if (rc < 0 || ks_build_n_running(b) == 0)
            break;
        rc = ks_build_wait(b, err);
    }
    return rc;
}

static int build_all(const struct gpu_config *cfg, const struct ks_grid *g, struct ks_warden *w,
                     struct ks_build **b_out, struct ks_err *err)
{
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    char worker[1024];
    const struct ks_build_options opt = { .cache_dir = cfg->cache,
                                          .try_compilers = true,
                                          .n_parallel = cpus > 0 ? (uint32_t)cpus : 1,
                                          .worker = worker };
    uint64_t from = ks_now_ns();
    struct ks_buf judge = { 0 };
    uint32_t n_ready = 0;
    int rc = gpu_find_worker(cfg, worker, sizeof(worker), err);

    if (rc == 0)
        rc = ks_build_create(g, &opt, w, b_out, err);
    if (rc == 0)
        rc = compile(*b_out, opt.n_parallel, err);
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < g->n_instances; i++)
        n_ready += ks_build_artefact(*b_out, i)->state == KS_ART_READY ? 1 : 0;
    printf("built %u of %u instances in %.1f s with %s\n", n_ready, g->n_instances,
           1e-9 * (double)(ks_now_ns() - from), ks_build_compiler(*b_out));
    ks_build_print_judge(*b_out, &judge);
    fputs(ks_buf_text(&judge), stdout);
    ks_buf_release(&judge);
    return 0;
}

int gpu_job_open(const struct ks_call *call, struct gpu_job *out, struct ks_err *err)
{
    const struct gpu_config *cfg = call->cfg;
    struct gpu_job job = { .grid = calloc(1, sizeof(*job.grid)) };
    int rc = job.grid != NULL
                 ? ks_plain_load(call->operands[0], cfg->backend, cfg->arch, job.grid, err)
                 : ks_fail(err, KS_ENOMEM, "a grid");

    *out = (struct gpu_job){ .grid = NULL };
    if (rc < 0) {
        free(job.grid);
        return rc;
    }
    if (cfg->limit_s > 0)
        job.until_ns = ks_now_ns() + 1000000000ull * cfg->limit_s;
    rc = build_all(cfg, job.grid, call->env, &job.build, err);
    if (rc < 0)
        gpu_job_close(&job);
    else
        *out = job;
    return rc;
}

void gpu_job_close(struct gpu_job *job)
{
    ks_build_destroy(job->build);
    if (job->grid != NULL)
        ks_grid_release(job->grid);
    free(job->grid);
    *job = (struct gpu_job){ .grid = NULL };
}
