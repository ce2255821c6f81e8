/* SPDX-License-Identifier: MIT */
/* run.h - `ksweep run` on every rank: loads the job, opens the net, builds, measures, ends.
 * Rank 0 also coordinates and owns DIR. */
#ifndef KS_MPI_RUN_H
#define KS_MPI_RUN_H

#include "base/err.h"
#include "base/log.h"
#include "record/outcome.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_run_result;
/* Called on rank 0 at a signal, so that a status is on disk before anything else can happen. */
typedef void (*ks_run_status_fn)(void *ctx, const struct ks_run_result *r);

/* The directory of a new run is there already: fills err with what to do, and returns KS_EEXIST. */
typedef int (*ks_run_exists_fn)(void *ctx, const char *dir, struct ks_err *err);

struct ks_run_options {
    const char *job;            /* path of the job file */
    const char *dir;            /* NULL = ./<job name>.ksweep */
    const char *backend, *arch; /* instead of the job's; NULL: the job's */
    uint32_t prune;             /* index into ks_prune_choices */
    bool resume, extend, take_over, accept_rebuild, oversubscribe, trust_cache;
    uint32_t host_domain;   /* enum ks_host_domain */
    const char *retry;      /* outcomes to measure again, NULL none */
    uint32_t repeat;        /* runs per problem of programs, instead of the job's; 0: the job's */
    uint32_t progress;      /* enum ks_show_how */
    uint32_t max_time_ms;   /* from begun_ns; 0 = no limit */
    uint64_t begun_ns;      /* ks_now_ns() when the process began: before MPI started */
    uint32_t grace_ms;      /* for the gather after a signal */
    uint32_t lost_after_ms; /* silence after which a rank is lost */
    const char *cache_dir;  /* NULL = default */
    uint32_t n_ranks;       /* that the command starts itself; 0, 1: none */
    const char *go_on;      /* command line that resumes this run; NULL: a plain one */
    int parent_fd;          /* rank 0 of a parent (spawn/parent_link.h), else -1 */
    ks_run_status_fn on_status;
    ks_run_exists_fn on_exists; /* NULL: a plain text */
    void *ctx;
};

/* Valid on rank 0 only. Of a run that was refused: dir alone, "" where there is none of this run.
 */
struct ks_run_result {
    uint32_t rank;
    bool is_clean;    /* nobody was lost: a normal exit is safe; else only _exit */
    bool is_told;     /* the error stands in the log */
    int exit;         /* 0, 1 or 3 (enum ks_exit) */
    char reason[160]; /* "complete", "SIGTERM", "max-time", ... */
    char dir[1024];
    uint64_t outcome[KS_O_LIMIT], n_cells, n_pending, n_contaminated;
    uint64_t n_again; /* have an outcome, and were to be measured again: see ks_coord_n_again() */
    uint64_t n_found_need_look; /* rows that programs printed; known once they are gathered */
    char gather_error[512];     /* why results.h5 could not be written; "" */
    uint64_t journal_bytes;
    char lost_hosts[512];         /* in this life or an earlier one: "node3 node7" */
    bool by_signal;               /* TERM or USR1 ended it: gather only within the grace */
    struct ks_farewell *farewell; /* on rank 0: for ks_farewell_end, once all is written, which
                                     then says is_clean; NULL: nobody waits */
};

/* Whether the outcome of a cell, its contamination or a row of a program needs a look. */
bool ks_run_result_needs_look(const struct ks_run_result *r);
/* The exit status that the counts and gather_error stand for (enum ks_exit). */
int ks_run_result_exit(const struct ks_run_result *r);

/* Blocks until this rank's part is over. Errors on rank 0 are input errors (exit 2) or a journal
 * that cannot be written (exit 3, DIR is resumable). */
int ks_run(const struct ks_run_options *o, struct ks_warden *warden, struct ks_log *log,
           struct ks_run_result *out, struct ks_err *err);

/* After a loss: flush and end this process with status 0, without MPI_Finalize, which would wait
 * for the dead, and without ks_warden_stop: that of rank 0 ends a launcher that waits for them. The
 * status file is the proof, not the exit code. */
void ks_run_leave(void) __attribute__((noreturn));

#endif
