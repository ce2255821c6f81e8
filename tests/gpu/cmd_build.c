/* SPDX-License-Identifier: MIT */
/* cmd_build.c - `ksweep-gpu build` */
#include "tests/gpu/job.h"

#include <stdio.h>

/* What an arch cannot run is not built, and no failure. */
static uint32_t n_failed(const struct gpu_job *job)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < job->grid->n_instances; i++) {
        const struct ks_artefact *a = ks_build_artefact(job->build, i);

        if (a->state != KS_ART_FAILED && a->state != KS_ART_TIMEOUT)
            continue;
        printf("%s: %s\n", job->grid->instances[i].name, a->reason);
        n++;
    }
    return n;
}

static int run(struct ks_call *call, struct ks_err *err)
{
    struct gpu_job job;
    int rc = gpu_job_open(call, &job, err);

    if (rc < 0)
        return rc;
    rc = n_failed(&job) == 0 ? KS_EXIT_OK : KS_EXIT_LOOK;
    gpu_job_close(&job);
    return rc;
}

const struct ks_command gpu_build = {
    .name = "build",
    .summary = "Compiles the instances of a grid into the cache, with or without a device.",
    .usage = "build GRID [OPTIONS]",
    GPU_OPTIONS,
    .needs_warden = true,
    .n_min = 1,
    .n_max = 1,
    .run = run,
};
