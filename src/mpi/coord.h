/* SPDX-License-Identifier: MIT */
/* coord.h - rank 0's books: which rank measures what, what is on disk, who is alive. A state
 * machine like the agent; the only writer of the journal. */
#ifndef KS_MPI_COORD_H
#define KS_MPI_COORD_H

#include "base/err.h"
#include "base/log.h"
#include "build/build.h"
#include "grid/grid.h"
#include "journal/journal.h"
#include "journal/ledger.h"
#include "mpi/net.h"
#include "mpi/progress.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_coord;

struct ks_coord_config {
    const struct ks_grid *grid;  /* borrowed */
    struct ks_build *build;      /* rank 0's own view; borrowed; NULL for the sim device */
    struct ks_net *net;          /* borrowed */
    struct ks_journal *journal;  /* borrowed */
    struct ks_ledger *ledger;    /* borrowed; kept up to date */
    const struct ks_log *log;    /* borrowed */
    const char *dir;             /* for messages */
    uint32_t retry;              /* bit mask of outcomes to measure again, and: */
#define KS_RETRY_CONTAMINATED 1u /* ok, but contaminated: the bit of KS_O_NONE */
    bool accept_rebuild;
    uint64_t max_time_ns; /* 0 = none; from creation */
    uint64_t lost_after_ns;
    const char *ack_log; /* NULL, or a file that gets one line per acknowledged cell */
};

int ks_coord_create(const struct ks_coord_config *c, struct ks_coord **c_out, struct ks_err *err);
void ks_coord_destroy(struct ks_coord *c); /* NULL is fine */

/* A frame from a rank (also rank 0 itself). Errors end the run: journal, memory, input. */
int ks_coord_frame(struct ks_coord *c, uint32_t from, const struct ks_frame *f, struct ks_err *err);
/* Timers: leases, group commit, acknowledgements, beats, losses. */
int ks_coord_step(struct ks_coord *c, uint64_t now_ns, struct ks_err *err);
/* While a worker times on a core of this process (pace.h) a record waits up to KS_COORD_QUIET_NS
 * for its commit, because each commit wakes this process several times to wait for its disk; unless
 * KS_COORD_MANY records of one rank wait, which might soon have to stop (KS_AGENT_UNACKED).
 * between_ns: if that worker is between two cells, how long the next one will take, else 0: then
 * what would fall due during that cell is committed before it. */
#define KS_COORD_QUIET_NS 1000000000ull
#define KS_COORD_MANY     (KS_AGENT_UNACKED / 4)
void ks_coord_be_quiet(struct ks_coord *c, bool is_quiet, uint64_t between_ns);
/* What the pace of the loop depends on. */
struct ks_coord_load {
    bool is_awaiting; /* other ranks hold leases: their records may come at any time */
    uint64_t need_ns; /* until one of them should be asked whether it needs a lease; UINT64_MAX:
                     none holds any */
    uint64_t due_ns;  /* CLOCK_MONOTONIC: the next commit or heartbeat */
    uint64_t cell_ns; /* how long cells take on the other ranks: the longest of their recent means;
                         0: one of them has measured none yet, or none holds a lease */
};
void ks_coord_load(const struct ks_coord *c, uint64_t now_ns, struct ks_coord_load *out);
/* The caller was held up (by its disk) or stopped for so long: nobody could be heard meanwhile. */
void ks_coord_was_away(struct ks_coord *c, uint64_t ns);
/* No more leases: running cells are finished. why is shown in the status. */
int ks_coord_drain(struct ks_coord *c, const char *why, struct ks_err *err);
/* After a drain: there is no time for the running cells either, every rank kills its worker. */
int ks_coord_hurry(struct ks_coord *c, struct ks_err *err);

/* Everything is over: every rank said goodbye or is lost, everything is on disk. */
bool ks_coord_is_over(const struct ks_coord *c);
bool ks_coord_is_measuring(const struct ks_coord *c); /* everything is built */
bool ks_coord_is_drained(const struct ks_coord *c);   /* a drain was asked for */
/* "complete", or why it was drained. */
const char *ks_coord_reason(const struct ks_coord *c);
bool ks_coord_lost_anyone(const struct ks_coord *c);
uint64_t ks_coord_n_pending(const struct ks_coord *c); /* cells without an outcome */
/* Cells with an outcome that this life was to replace (--retry; unsupported for want of what is
 * there now), and has not begun to. Looks at all of the journal. */
uint64_t ks_coord_n_again(const struct ks_coord *c);
/* At the end: a warning, where rows are contaminated. command: measures them again. */
void ks_coord_tell_noise(const struct ks_coord *c, const char *command);
/* How far it is (progress.h). */
void ks_coord_progress(struct ks_coord *c, uint64_t now_ns, struct ks_progress *out);

#endif
