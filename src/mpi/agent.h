/* SPDX-License-Identifier: MIT */
/* agent.h - one rank's hands: takes leases, runs them in workers through the warden, turns every
 * end of a worker into records. A state machine: it never blocks and knows nothing of MPI.
 *
 * Work is done in sessions, one worker process each:
 *   normal   up to `batch` cells of one problem, streamed as leases come
 *   retry    after an abnormal end: the canary, then the failed cell alone
 *   suspect  a cell that a dead worker had completed, alone, between sentinel heap chunks
 * docs/architecture.md draws it. */
#ifndef KS_MPI_AGENT_H
#define KS_MPI_AGENT_H

#include "base/err.h"
#include "build/build.h"
#include "grid/grid.h"
#include "mpi/msg.h"
#include "record/record.h"
#include "record/request.h"
#include "record/stats.h"
#include "spawn/warden.h"
#include "topo/bind.h"
#include "topo/visible.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_agent;

/* One frame for the journal (types below 100) or for rank 0 (KS_F_MSG_LEASE_END, and KS_F_MSG_BEAT
 * when the canary has passed). */
typedef int (*ks_agent_emit_fn)(void *ctx, uint16_t type, const void *body, size_t n,
                                struct ks_err *err);

struct ks_agent_config {
    const struct ks_grid *grid;   /* borrowed */
    const struct ks_build *build; /* borrowed; NULL for the sim device */
    struct ks_warden *warden;     /* borrowed */
    const char *worker_path;      /* of ksweep-worker; borrowed */
    uint32_t rank;
    bool is_oversubscribed; /* flags every row */
    bool is_pinned;
    cpu_set_t cpus;        /* of the worker, when is_pinned */
    uint64_t memory_nodes; /* the worker's memory comes from these only; 0 = from anywhere */
    struct ks_visible_env visible; /* added to the worker's environment */
    char unique[64], pci[16];      /* the device the worker must get; "" any */
    uint64_t device_id;
    char device[64]; /* locator for the worker's backend */
    struct ks_noise_limits noise;
    ks_agent_emit_fn emit;
    void *ctx;
};

int ks_agent_create(const struct ks_agent_config *c, struct ks_agent **a_out, struct ks_err *err);
void ks_agent_destroy(struct ks_agent *a); /* NULL is fine; kills the worker */

/* The one in work, and enough to outlast rank 0 waiting for its disk, also when cells are short. */
#define KS_AGENT_LEASES 8u
/* KS_EINVAL when KS_AGENT_LEASES are held already. */
int ks_agent_lease(struct ks_agent *a, const struct ks_msg_lease *lease, struct ks_err *err);
uint32_t ks_agent_n_leases(const struct ks_agent *a);

/* Do what can be done now: read records, send requests, start workers. Errors are those of emit and
 * of memory; whatever a kernel does is a record. */
int ks_agent_step(struct ks_agent *a, struct ks_err *err);
/* 1 when the child was this agent's worker (then it has been dealt with), else 0. */
int ks_agent_child_ended(struct ks_agent *a, const struct ks_child_end *end, struct ks_err *err);

/* Records emitted and not yet acknowledged would be lost with this rank. With so many of them no
 * new cell is started, unless the oldest is younger than KS_AGENT_UNACKED_NS: those of short cells
 * are many before the disk has answered once. */
#define KS_AGENT_UNACKED      64u
#define KS_AGENT_UNACKED_NS   1000000000ull
#define KS_AGENT_UNACKED_MOST 32768u
void ks_agent_acked(struct ks_agent *a, uint64_t n_durable);

/* Finish the cell in flight, give everything else back; of a recovery under way nothing is
 * recorded. */
void ks_agent_drain(struct ks_agent *a);
/* Kill the worker now; the cell in flight is not recorded. */
void ks_agent_stop(struct ks_agent *a);
bool ks_agent_is_idle(const struct ks_agent *a); /* no worker, no leases, nothing held back */
/* The device was quarantined (canary wrong twice), hung, or the worker cannot be started: `why`. */
bool ks_agent_is_broken(const struct ks_agent *a, const char **why_out);
/* What the pace of the loop depends on (pace.h). */
struct ks_agent_load {
    bool has_worker;
    bool has_cells;     /* it has cells in flight: it times, or may begin to */
    bool is_measuring;  /* it is between the warm-up and the verification of one now */
    bool is_timing;     /* it takes samples now */
    uint64_t n_unacked; /* records emitted and not yet acknowledged */
    uint64_t cell_ns;   /* how long its cells took lately; 0: not known */
    uint64_t waited_ns; /* since its last record, or the request of the cell in flight */
    uint64_t supply_ns; /* until leases run out, half of the record pipe is full, or requests find
                           room in theirs; UINT64_MAX: there are no leases */
};
void ks_agent_load(const struct ks_agent *a, struct ks_agent_load *out);
/* Descriptor whose next byte ends a wait, -1: nothing to wait for. takes_each: every record does,
 * else only that of the last cell in flight, and any while draining or where the pipe is small. */
int ks_agent_wait_fd(const struct ks_agent *a, bool takes_each);
/* How long coordination may sleep now, at most most_ns: when more is to be sent after the cells in
 * flight, until the last of them begins. */
uint64_t ks_agent_nap_ns(const struct ks_agent *a, uint64_t most_ns);

/* Path of ksweep-worker: $KSWEEP_WORKER, else beside this program. KS_ENOENT, KS_EIO. */
int ks_agent_find_worker(char *out, size_t cap, struct ks_err *err);
/* The same of ksweep-profiler, $KSWEEP_PROFILER, for jobs that run programs. */
int ks_agent_find_profiler(char *out, size_t cap, struct ks_err *err);
/* KS_EINVAL when this process cannot give workers the memory that the job gives them (ulimit -v).
 */
int ks_agent_check_limits(const struct ks_job *job, struct ks_err *err);
/* Names the judge of problem p, if b has one, in what a worker is told of the problem. */
void ks_agent_name_judge(const struct ks_build *b, const struct ks_problem *p,
                         struct ks_req_problem *req);
/* The job's measuring keys as a worker gets them. */
void ks_agent_measure(const struct ks_job *job, struct ks_measure *m);

struct ks_agent_totals {
    uint64_t n_records, n_cells, n_workers, n_deaths;
    uint64_t worker_ns;  /* sum of the workers' wall times */
    uint64_t wait_ns;    /* idle between leases while not drained */
    uint64_t tail_ns;    /* idle since the last lease ended, up to now */
    uint64_t ack_p99_us; /* 99 of 100 records were acknowledged so long after they were emitted */
    uint64_t timing_ns;  /* in which workers took samples */
    uint64_t n_timed;    /* cells, anchors and repeats that had samples */
    uint64_t n_warden_wakes; /* of the warden while a worker took samples */
};
void ks_agent_totals(const struct ks_agent *a, struct ks_agent_totals *out);

#endif
