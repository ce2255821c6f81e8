/* SPDX-License-Identifier: MIT */
/* front.h - `ksweep run -n N`: starts the launcher of the ranks, passes signals on, waits.
 *
 * The launcher runs in a process group of its own, so that a terminal's Ctrl-C reaches the parent
 * only. Of the signals INT, TERM, HUP, USR1 and USR2 that the parent gets,
 *   the first goes to rank 0, which finishes the cells in flight and gathers the results;
 *   after the second rank 0 gets SIGINT (it gives up the cells in flight) and KS_FRONT_PATIENCE_NS
 *   to leave;
 *   after that time, or with the third, the launcher gets SIGTERM, and KS_FRONT_PATIENCE_NS later
 *   everything that descends from it is killed.
 * A rank 0 that cannot take signals yet has measured nothing: then the first ends all.
 *
 * No orphans: the launcher gets SIGTERM when the parent dies, rank 0 sees its socket closed
 * (parent_link.h), and what is left when the launcher has ended is killed. */
#ifndef KS_SPAWN_FRONT_H
#define KS_SPAWN_FRONT_H

#include "base/err.h"

#include <stdint.h>

#define KS_FRONT_PATIENCE_NS 5000000000ull

struct ks_front_end {
    int rank0_exit;     /* exit status that rank 0 told; -1: it told none */
    int launcher_exit;  /* of the launcher; 128 + signal when one killed it */
    uint32_t n_signals; /* that the parent got */
    uint32_t n_killed;  /* processes that were left behind, and killed */
};

/* ks_front_run() - starts argv and waits for its end. The calling process must have no child.
 * @argv [in] NULL-terminated; argv[0] is a path. Standard input is /dev/null
 * Returns 0; KS_ENOENT: it could not be executed; KS_EIO.
 * Changes the process for good: blocked signals, subreaper. Blocks: yes. */
int ks_front_run(const char *const *argv, struct ks_front_end *out, struct ks_err *err);

#endif
