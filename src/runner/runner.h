/* SPDX-License-Identifier: MIT */
/* runner.h - ksweep-profiler: runs programs that time kernels themselves, for one agent.
 *
 * It stands where ksweep-worker stands: started by the warden, requests on descriptor 3, frames on
 * 4, status page on 5 (record/request.h). The agent, rank 0 and the journal treat a run of a
 * program as a cell. Per cell it starts the program with a raw pseudo-terminal as its output, reads
 * that as a stream through the adapter (profiler/adapter.h). It sends
 *
 * - KS_F_FOUND: a record per instance, as it is printed
 *
 * - KS_F_MSG_OUTPUT: the output, compressed
 *
 * - KS_F_PROGRAM: what the run was and where its output is
 *
 * - KS_F_DONE: the record of the run, its end frame
 *
 * It kills the program and all that descends from it at the end of the run, or at its deadlines. */
#ifndef KS_RUNNER_RUNNER_H
#define KS_RUNNER_RUNNER_H

#include "base/buf.h"
#include "base/err.h"
#include "op/op.h"
#include "profiler/adapter.h"
#include "record/found.h"
#include "record/request.h"
#include "record/status.h"
#include "runner/keep.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_runner {
    int fd_out;
    uint64_t deadline_ns; /* of the run in hand; CLOCK_MONOTONIC */
    struct ks_status *status;
    struct ks_buf body, frame;
    struct ks_req_setup setup;
    struct ks_req_program program; /* of the cells that follow */
    struct ks_profiler_setup *profiler;
    struct ks_problem problem;
    bool is_set_up, has_problem;
    uint64_t seq;          /* of the last KS_F_DONE */
    struct ks_record done; /* of the run in hand */
    struct ks_record row;  /* scratch: of one instance */
};

/* Serves requests until KS_F_REQ_END or the end of the pipe. An exit status of request.h; err says
 * why it is not KS_WORKER_EXIT_OK. */
int ks_runner_serve(int fd_in, int fd_out, int fd_status, struct ks_err *err);

/* One run, alone or of several processes: fills r->done but its identity and r->seq. What goes
 * wrong with the program is its outcome; < 0 only when this process cannot go on. */
int ks_runner_run(struct ks_runner *r, const struct ks_req_cell *cell, struct ks_err *err);

/* Send r->body as a frame. KS_EIO: the agent is gone. */
int ks_runner_send(struct ks_runner *r, uint16_t type, struct ks_err *err);

/* ---- rows.c ---- */

/* What on_row of a reader gets as its context. */
struct ks_runner_rows {
    struct ks_runner *runner;
    const struct ks_req_cell *cell;
    struct ks_profiler_protocol protocol;
    char protocol_text[160];
    uint64_t condition;
    uint64_t n;
};
void ks_runner_rows_init(struct ks_runner_rows *rows, struct ks_runner *r,
                         const struct ks_req_cell *cell);
/* Sends the row's KS_F_FOUND. Rows of a listing are not sent. */
int ks_runner_row(struct ks_runner_rows *rows, const struct ks_profiler_row *row,
                  struct ks_err *err);
/* The instance that was running when its process ended abnormally, as r->done says.
 * @ordinal [in] among rows of the same name, as ks_profiler_reader_running_ordinal() */
int ks_runner_row_died(struct ks_runner_rows *rows, const char *name, uint32_t ordinal,
                       struct ks_err *err);

#endif
