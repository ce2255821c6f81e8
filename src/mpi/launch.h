/* SPDX-License-Identifier: MIT */
/* launch.h - was this process started by a launcher of Open MPI, and as which rank?
 *
 * Variables alone prove nothing: a shell below mpirun or srun keeps them, scripts export them, and
 * batch systems set some in every job. A rank can reach the PMIx server of its launcher, which
 * listens on a port of this host: PMIX_SERVER_URI*=NAMESPACE.RANK;tcp4://127.0.0.1:PORT (OpenPMIx 2
 * to 5, under mpirun and under srun --mpi=pmix alike). */
#ifndef KS_MPI_LAUNCH_H
#define KS_MPI_LAUNCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

/* The MPI that this was built with: "Open MPI 4.1.4". */
const char *ks_launch_mpi(void);

/* The transports (btl) over which a lost rank does not take the others with it. */
const char *ks_launch_transports(void);

/* PMIX_NAMESPACE and PMIX_RANK are set, and the server that PMIX_SERVER_URI* names listens. A URI
 * that is none of TCP is believed, and all are where /proc/net/tcp cannot be read. */
bool ks_launch_is_live(void);

/* Not rank 0, known before MPI is. Without a launcher: not the first of several processes that
 * ks_launch_check refuses, so that one of them tells. */
bool ks_launch_is_other_rank(void);
/* The first rank of another host than rank 0's. false without a launcher. */
bool ks_launch_is_first_elsewhere(void);

/* Waits until the launcher's other processes on this host have ended, at most for 2 s; not at all
 * without a launcher. mpirun reports an exit with a code to processes that are still there, which
 * ends in an error message of PMIx when they are leaving. */
void ks_launch_outlive_others(void);

/* Without a launcher: KS_EINVAL when variables say that there are several processes, which cannot
 * find each other, with the fix; else 0 and in warning_out (cap bytes; "" none) which left-over
 * rank was not heeded. */
int ks_launch_check(char *warning_out, size_t cap, struct ks_err *err);

#endif
