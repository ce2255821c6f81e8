/* SPDX-License-Identifier: MIT */
/* helpers.h - kernels that a device needs beside those that it measures. */
#ifndef KS_GRID_HELPERS_H
#define KS_GRID_HELPERS_H

#include "base/err.h"
#include "grid/family.h"
#include "grid/job.h"

/* No entry of a job's `kernels` names it. */
#define KS_NO_KERNELS UINT32_MAX

/* Appends to the set what the job's device needs: of a GPU the judges, which verify results where
 * they are (kernels/judge.h), from the installed data, unless the job leaves that to the host.
 * KS_ENOENT: the installation lacks them; KS_EINVAL: the job measures one of them; else as
 * ks_kernel_set_add(). */
int ks_helpers_add(struct ks_kernel_set *set, const struct ks_job *job, struct ks_err *err);

#endif
