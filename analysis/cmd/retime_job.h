/* SPDX-License-Identifier: MIT */
/* retime_job.h - a job that measures again the oracle and the picks of the model and of the best
 * baseline: `validate --write-retime`. */
#ifndef KS_ANALYSIS_RETIME_JOB_H
#define KS_ANALYSIS_RETIME_JOB_H

#include "analysis/learn/pick.h"
#include "base/buf.h"

struct ks_retime_want { /* borrowed */
    const struct ks_cells *cells;
    const bool *is_wanted;          /* [n_problems] */
    const struct ks_pick *picks[2]; /* [n_problems] each: of the model, of the best baseline */
    const char *const *files; /* [n_files] as ks_results_path: the results that the cells are from;
                                 what their runs' jobs say of kernels, device and measuring is what
                                 is written */
    size_t n_files;
};
/* ks_retime_job_write() - a directory with job.json, problems.csv (the problems of which a pick is
 * not the oracle) and a kernel config with the instances that are pick or oracle of one of them.
 * Made whole or not at all.
 * @notes [out] appended: what it will measure
 * KS_EEXIST; KS_EINVAL: every pick is the oracle, no file has a job (imported results), an instance
 * is not in the jobs' configs any more; what reading those says. */
int ks_retime_job_write(const char *dir, const struct ks_retime_want *w, struct ks_buf *notes,
                        struct ks_err *err);

#endif
