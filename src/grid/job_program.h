/* SPDX-License-Identifier: MIT */
/* job_program.h - an entry of a job's kernels that names a program. */
#ifndef KS_GRID_JOB_PROGRAM_H
#define KS_GRID_JOB_PROGRAM_H

#include "grid/job.h"
#include "json/json.h"

/* Everything of the entry but its path. KS_EINVAL with file, line and key: an unknown adapter, key
 * or option, a value out of range, a variable's name that is none. */
int ks_job_program_read(const struct ks_json *doc, const struct ks_node *obj,
                        struct ks_job_program *out, struct ks_err *err);
/* Its members, into the open object. */
void ks_job_program_print(const struct ks_job_program *p, struct ks_jw *w);

#endif
