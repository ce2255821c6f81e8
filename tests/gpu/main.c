/* SPDX-License-Identifier: MIT */
/* main.c - ksweep-gpu: builds and sweeps on one device without MPI and HDF5 (run.sh) */
#include "tests/gpu/job.h"

#include <stdio.h>

static const struct ks_command *const commands[] = {
    &gpu_sweep, &gpu_conformance, &gpu_compare, &gpu_peer, &gpu_one, &gpu_build, &gpu_machine, NULL
};

static int open_warden(const struct ks_command *command, void **env_out, struct ks_err *err)
{
    struct ks_warden *warden = NULL;
    int rc = command->needs_warden ? ks_warden_start(&warden, err) : 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    *env_out = warden;
    return rc;
}

static void close_warden(void *env)
{
    ks_warden_stop(env);
}

static const struct ks_program program = {
    .name = "ksweep-gpu",
    .summary = "Builds and sweeps on one device without MPI, HDF5 and JSON.",
    .notes = "GRID: what `ksweep plan JOB --export-grid GRID` has written.",
    .commands = commands,
    .open = open_warden,
    .close = close_warden,
};

int main(int argc, char **argv)
{
    return ks_program_main(&program, argc, argv);
}
