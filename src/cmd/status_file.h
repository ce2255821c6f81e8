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

/* ks_status_read() - what it says.
 * @out [out] exit, reason, dir, counts, lost hosts and gather_error; exit KS_EXIT_INCOMPLETE and
 *   nothing else where the file is missing, unreadable or older than the journal */
void ks_status_read(const char *dir, struct ks_run_result *out);
int ks_status_exit(const char *dir); /* its exit status alone */

/* The results of DIR were gathered by a later command. If gathering them had failed, the file no
 * longer says so. n_found_need_look: as in struct ks_store_totals. */
int ks_status_gathered(const char *dir, uint64_t n_found_need_look, struct ks_err *err);

/* Of a run that was refused with an input error: exit 2 and why; the numbers are those of the
 * status that was there, 0 without one. Scripts that requeue what is incomplete must not go on with
 * it. */
int ks_status_refuse(const char *dir, const char *why, struct ks_err *err);

#endif
