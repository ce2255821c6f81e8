/* SPDX-License-Identifier: MIT */
/* preflight.h - what a run needs before MPI starts: the job, the grid, the directory. */
#ifndef KS_MPI_PREFLIGHT_H
#define KS_MPI_PREFLIGHT_H

#include "base/err.h"
#include "grid/grid.h"
#include "mpi/run.h"
#include "spawn/warden.h"
#include "topo/bind.h"

/* The job's grid as the options want it, and what this process sees of its host. KS_EINVAL and
 * others: what the job says is refused. grid_out is owned by the caller. */
int ks_run_load(const struct ks_run_options *o, struct ks_warden *warden,
                struct ks_bind_card *card_out, struct ks_grid *grid_out, struct ks_err *err);

/* ks_run_preflight() - everything that would be refused by o->n_ranks ranks on this host and can be
 * known without them: job, grid, binding, directory. Changes nothing on disk.
 * @dir_out [cap] the run's directory where options and job could be read, else ""
 * @is_resumed_out set where the directory is one that the options resume
 * Returns 0 or the refusal. */
int ks_run_preflight(const struct ks_run_options *o, struct ks_warden *warden, char *dir_out,
                     size_t cap, bool *is_resumed_out, struct ks_err *err);

#endif
