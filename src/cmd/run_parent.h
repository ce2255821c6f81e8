/* SPDX-License-Identifier: MIT */
/* run_parent.h - `ksweep run JOB -n N`: the parent of the ranks, which never touches MPI. */
#ifndef KS_CMD_RUN_PARENT_H
#define KS_CMD_RUN_PARENT_H

#include "base/opt.h"
#include "cmd/cmd.h"
#include "mpi/run.h"

/* ks_run_as_parent() - loads the job and looks at the directory, starts o->n_ranks > 1 ranks on
 * this host by Open MPI's mpirun (spawn/front.h), waits for them. Returns the exit status of the
 * sweep (status.json); KS_E* < 0: refused before any rank was started, or it could not be started.
 * Ends env->warden: it must be the only child. */
int ks_run_as_parent(struct ks_cmd_env *env, const struct ks_opt *opts,
                     const struct ks_run_options *o, struct ks_err *err);

#endif
