/* SPDX-License-Identifier: MIT */
/* worker_child.h - the other end of ksweep-worker's pipes, for tests. Asserts that the protocol is
 * kept; every wait has an end. */
#ifndef KS_TEST_WORKER_CHILD_H
#define KS_TEST_WORKER_CHILD_H

#include "op/op.h"
#include "record/frame.h"
#include "record/record.h"
#include "record/request.h"
#include "record/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* What references are masked with. */
#define CHILD_KEY                                                                                  \
    {                                                                                              \
        0x8d5c1b3f60e7a291u, 0x2f9e04c6d8b17a53u                                                   \
    }

struct child {
    pid_t pid;
    int to, from; /* request and record pipes */
    int out;      /* memfd: stdout and stderr */
    struct ks_status *status;
    struct ks_id128 nonce;
    uint64_t seq; /* of the last record */
    struct ks_frame_reader in;
};

/* fd_reference: passed on as descriptor 6, or -1. */
void child_start(struct child *c, int fd_reference);
void child_send(struct child *c, uint16_t type, const struct ks_buf *body);
/* Sends the set-up (nonce filled in), waits for READY. */
void child_setup(struct child *c, const struct ks_req_setup *setup, struct ks_ready *ready_out);
void child_problem(struct child *c, const struct ks_problem *p, uint32_t references);
/* The next record, checked for nonce and sequence; false: the pipe ended. */
bool child_record(struct child *c, struct ks_record *r_out);
/* Waits for its death; the wait status. */
int child_wait(struct child *c);
/* Sends END, expects exit status `want`, releases everything. */
void child_end(struct child *c, int want);
void child_release(struct child *c); /* kills what still lives */
/* What it printed so far, terminated. */
void child_output(const struct child *c, char *out, size_t cap);

#endif
