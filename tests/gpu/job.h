/* SPDX-License-Identifier: MIT */
/* job.h - what the commands of ksweep-gpu share: options, and a grid whose instances are built.
 *
 * To add a command: 1. one file with its `const struct ks_command` (base/command.h); 2. its row in
 * main.c. */
#ifndef KS_TEST_GPU_JOB_H
#define KS_TEST_GPU_JOB_H

#include "base/command.h"
#include "build/build.h"
#include "grid/grid.h"
#include "spawn/warden.h"

#include <stdint.h>

struct gpu_config {
    const char *backend, *arch, *cache, *worker, *out, *expect;
    uint32_t limit_s, calls;
    uint64_t seed;
    double regret, share;
};
extern const struct ks_opt gpu_opts[]; /* of every command, into struct gpu_config */
#define GPU_OPTIONS .opts = gpu_opts, .cfg_size = sizeof(struct gpu_config)

/* call->env is the warden. */
struct gpu_job {
    struct ks_grid *grid;   /* owned */
    struct ks_build *build; /* owned */
    uint64_t until_ns;      /* no worker is started after that; 0 = no limit */
};
/* Reads the grid file that the call names and builds its instances. On failure *out is zero. */
int gpu_job_open(const struct ks_call *call, struct gpu_job *out, struct ks_err *err);
void gpu_job_close(struct gpu_job *job);

int gpu_find_worker(const struct gpu_config *cfg, char *out, size_t cap, struct ks_err *err);

extern const struct ks_command gpu_sweep, gpu_conformance, gpu_compare, gpu_peer, gpu_one,
    gpu_build, gpu_machine;

#endif
