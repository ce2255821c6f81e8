/* SPDX-License-Identifier: MIT */
/* job_problems.h - the problems that an entry of a job's "problems" stands for. */
#ifndef KS_GRID_JOB_PROBLEMS_H
#define KS_GRID_JOB_PROBLEMS_H

#include "grid/job.h"
#include "grid/problems.h"

/* Reads list i of the job into `out` (empty, initialised by the caller, released by it in any
 * case): the file strictly, then layout, dtype and directions of the entry over it, then without
 * what its "exclude" lists hold (under the same layout, dtype and directions; *n_left_out_out says
 * how many), then its sample. KS_EINVAL, KS_EFORMAT, KS_ENOENT with file and line. */
int ks_job_problems_read(const struct ks_job *job, uint32_t i_list, struct ks_problem_set *out,
                         uint32_t *n_left_out_out, struct ks_err *err);

#endif
