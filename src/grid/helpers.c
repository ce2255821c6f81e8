/* SPDX-License-Identifier: MIT */
/* helpers.c - adds the kernels that verify outputs on a GPU to the instances of a job */
#include "grid/helpers.h"

#include "base/file.h"

#include <limits.h>
#include <stddef.h>

#define JUDGE_CONFIG "kernels/configs/gpu_judge.json"

int ks_helpers_add(struct ks_kernel_set *set, const struct ks_job *job, struct ks_err *err)
{
    char path[PATH_MAX];
    uint32_t from = set->n_instances;
    int rc;

    if (!ks_job_is_gpu(job) || !job->verify.judge || ks_job_runs_programs(job))
        return 0;
    rc = ks_data_path(path, sizeof path, JUDGE_CONFIG, err);
    set->has_plugin = false;
    if (rc == 0)
        rc = ks_kernel_set_add(set, path, "", NULL, err);
    for (uint32_t i = from; i < set->n_instances; i++)
        set->instances[i].i_kernels = KS_NO_KERNELS;
    return rc < 0 ? ks_err_context(err, rc, "kernels that verify on a GPU") : 0;
}
