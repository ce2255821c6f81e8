/* SPDX-License-Identifier: MIT */
/* link.h - one ksweep-worker: its descriptors, requests and records. */
#ifndef KS_TEST_GPU_LINK_H
#define KS_TEST_GPU_LINK_H

#include "base/buf.h"
#include "build/build.h"
#include "op/op.h"
#include "record/frame.h"
#include "record/request.h"
#include "record/status.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stdint.h>

struct link {
    struct ks_warden *warden; /* borrowed */
    uint32_t child;
    bool is_alive;
    struct ks_child_end end; /* once it is not */
    int to, from;            /* request and record pipes */
    uint32_t n_cells_max;    /* requests that fit the pipe: writing them never waits */
    int status_fd;
    struct ks_status *status;
    struct ks_id128 nonce;
    struct ks_buf out; /* scratch of requests */
    struct ks_frame_reader in;
    uint32_t references; /* of its requests (record/request.h): 0 where seals are lacking */
};

/* A memfd for the references of a problem: its first worker makes them and seals it. */
int link_references(int *fd_out, struct ks_err *err);
void link_drop_references(int *fd);

/* Starts a worker on a backend; reference_fd: borrowed, or -1. Everything is released on failure.
 */
int link_start(struct link *l, struct ks_warden *warden, const char *program, const char *backend,
               const struct ks_measure *m, int reference_fd, struct ks_err *err);
/* judge: who verifies on the device; NULL: the host does. key: of the references, the same for all
 * workers of a problem. */
int link_problem(struct link *l, const struct ks_problem *p, const struct ks_artefact *judge,
                 struct ks_id128 key, struct ks_err *err);
int link_cell(struct link *l, const struct ks_req_cell *req, struct ks_err *err);
int link_finish(struct link *l, struct ks_err *err); /* nothing more will be asked */
/* What stands in the record pipe, without waiting. 1: more may come, 0: it has ended, KS_E*. */
int link_read(struct link *l, struct ks_err *err);
void link_release(struct link *l);

#endif
