/* SPDX-License-Identifier: MIT */
/* status_file.h - DIR/status.json: rank 0's last act, and what scripts trust (mpirun swallows exit
 * codes). */
#ifndef KS_CMD_STATUS_FILE_H
#define KS_CMD_STATUS_FILE_H

#include "base/err.h"
#include "mpi/run.h"

#include <stdint.h>

/* By temporary file, fsync and rename. */
int ks_status_write(const struct ks_run_result *r, struct ks_err *err);

/* The exit code in it; KS_EXIT_INCOMPLETE when it is missing, unreadable or older than the journal.
 * n_again_out, if not NULL: cells with an outcome that are still to be measured again, as it says;
 * 0 where it is not to be trusted. */
int ks_status_exit(const char *dir, uint64_t *n_again_out);

/* Of a run that was refused with an input error: exit 2 and why; the numbers are those of the
 * status that was there, 0 without one. Scripts that requeue what is incomplete must not go on with
 * it. */
int ks_status_refuse(const char *dir, const char *why, struct ks_err *err);

#endif
