/* SPDX-License-Identifier: MIT */
/* worker.h - the state of ksweep-worker, shared by serve.c (requests), prepare.c (problems) and
 * cell.c (cells). One thread, one device; free to die at any moment. */
#ifndef KS_WORKER_H
#define KS_WORKER_H

#include "base/buf.h"
#include "device/device.h"
#include "record/record.h"
#include "record/request.h"
#include "record/status.h"
#include "worker/artefacts.h"
#include "worker/buffers.h"
#include "worker/cage.h"
#include "worker/inspect.h"
#include "worker/judge.h"
#include "worker/meter.h"
#include "worker/references.h"
#include "worker/remains.h"
#include "worker/vault.h"
#include "worker/verify.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_worker {
    int fd_in, fd_out;        /* borrowed */
    int fd_reference;         /* owned; closed, and then -1, once a problem is taken up */
    struct ks_vault vault;    /* the key of the references */
    struct ks_status *status; /* mapped; shared with the warden and the agent */
    struct ks_req_setup setup;
    bool is_set_up, has_problem;
    struct ks_device *dev;
    struct ks_device_props props;
    struct ks_device_limits limits;
    double canary_ns;      /* idle baseline of the canary loop */
    uint64_t memory_nodes; /* bits: NUMA nodes that memory is bound to; 0 = it is not */
    struct ks_cage cage;
    struct ks_artefacts artefacts;

    /* the problem in hand */
    struct ks_workset set;
    const struct ks_inspector *inspector; /* who looks at it */
    struct ks_references refs;            /* the host's, where it verifies */
    struct ks_judge judge;                /* else the device's */
    struct ks_meter meter;                /* of that judge */
    struct ks_shape shape;
    struct ks_work work;      /* that a call must do */
    uint32_t problem_outcome; /* what all its cells end as; KS_O_NONE: they can run */
    char problem_reason[160];
    uint64_t prepare_ns, input_ns, reference_ns; /* for the next record, then 0 */

    char no_judge[160]; /* why the host verifies where a judge was named; "": it does not */
    bool has_said_so;   /* once */
    void (*say)(const char *text);

    bool is_lost; /* the device, to this process: it can serve no more */
    struct ks_remains remains;
    bool has_left; /* a kernel left threads or timers behind: no other cell may run here */

    /* the cell in hand */
    uint64_t cell_deadline_ns; /* CLOCK_MONOTONIC; 0 = none */
    uint64_t next_check_seed;  /* for tests: of the next cell; 0: drawn at random */
    struct ks_record rec;
    uint64_t seq;     /* of the last record */
    uint64_t printed; /* ring_bytes when it was sent */

    struct ks_buf body, frame; /* scratch of the writer */
};

/* Tell the readers of the status page where this worker is, before it goes there. deadline_ns:
 * absolute, 0 = none. */
void ks_worker_enter(struct ks_worker *w, enum ks_phase phase, uint64_t deadline_ns);

/* ks_worker_prepare() - take up a problem: inputs, references. Nothing is done when it is the one
 * in hand. Erases req->key, and closes w->fd_reference, so that what is left in the process is
 * masked; a later problem keeps its references private. A problem that cannot be run is no
 * error: its cells end with w->problem_outcome; nor is a judge that cannot be had: the host
 * verifies, w->no_judge says why. Returns 0; KS_EPROTO: bad text, wrong id, no key, bad shared
 * references; KS_EDEVICE: a proof failed. */
int ks_worker_prepare(struct ks_worker *w, struct ks_req_problem *req, struct ks_err *err);
void ks_worker_drop_problem(struct ks_worker *w);

/* ks_worker_cell() - measure one cell of the problem in hand; w->rec is complete but for its
 * sequence number. Never fails: what goes wrong is the outcome. */
void ks_worker_cell(struct ks_worker *w, const struct ks_req_cell *req);

/* When taking up a problem that begins now must have ended: a limit for hangs. CLOCK_MONOTONIC. */
uint64_t ks_prepare_deadline(const struct ks_problem *p);

/* Longest time a cell may take, ns, when no single call may exceed kernel_timeout_ms; 0 = no limit.
 * @bytes of all operands. Pure. */
uint64_t ks_cell_budget_ns(const struct ks_measure *m, uint64_t bytes);

/* ks_worker_serve() - serve requests until END or the pipe's end.
 * @fd_in.. [in] see request.h; borrowed
 * @say [in] prints a line for people
 * Returns the exit status for main (KS_WORKER_EXIT_*); the reason of a failure is in *err. Ends the
 * process with KS_WORKER_EXIT_PIPE when a record cannot be written. */
int ks_worker_serve(int fd_in, int fd_out, int fd_status, int fd_reference,
                    void (*say)(const char *text), struct ks_err *err);

#endif
