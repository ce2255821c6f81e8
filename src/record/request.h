/* SPDX-License-Identifier: MIT */
/* request.h - what an agent asks of a worker, over the request pipe; answers are KS_F_READY,
 * KS_F_DONE and KS_F_PROBE frames over the record pipe.
 *
 * Descriptors a worker inherits: 0 /dev/null, 1 and 2 the output pipe drained by the warden,
 * 3 requests (read), 4 records (write), 5 struct ks_status (memfd, shared), 6 references (memfd or
 * -1, see struct ks_req_problem; closed before the first kernel runs). Every record carries the
 * nonce of the set-up and a sequence number from 1. */
#ifndef KS_RECORD_REQUEST_H
#define KS_RECORD_REQUEST_H

#include "base/buf.h"
#include "base/device_limits.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/sampling.h"
#include "record/record.h"

#include <stdint.h>

#define KS_FD_REQUEST   3
#define KS_FD_RECORD    4
#define KS_FD_STATUS    5
#define KS_FD_REFERENCE 6

/* ksweep-worker --refusals: a question in keyed lines (base/lines.h) on descriptor 3, with lines
 * `kernel OBJECT ENTRY`, then lines `problem CANONICAL`; on 4 comes a byte per pair. */
#define KS_REFUSALS_KIND    "ksweep-refusals"
#define KS_REFUSALS_VERSION 1u

enum ks_cache_mode { KS_CACHE_WARM, KS_CACHE_COLD };

/* How to measure. */
struct ks_measure {
    KS_SAMPLING;
    uint32_t verify_exact, verify_elementwise; /* 0 or 1 */
    uint32_t kernel_timeout_ms;
};

struct ks_req_setup {
    struct ks_id128 nonce;
    char backend[16]; /* host, sim, ... */
    char device[64];  /* locator for the backend: "" for host; sim: seed text */
    uint64_t device_id;
    uint64_t memory_bytes; /* cap for the worker, 0 = none; the warden set RLIMIT_AS already */
    uint32_t rank;
    struct ks_measure measure;
    uint32_t is_sentinel;           /* suspects' worker: sentinel heap chunks around every kernel */
    double canary_baseline_ns;      /* 0 = measure one */
    struct ks_device_limits limits; /* flops_per_s 0: ask the device, which takes up to 2 ms */
};
struct ks_req_problem {
    uint64_t problem; /* id, must be that of the text */
    char canonical[1024];
    /* 1: descriptor 6 is an empty memfd: compute the references, write them there, seal them.
     * 2: it holds them: map read-only. 0: keep them in private memory. */
    uint32_t references;
    /* That they are masked with: not zero, and the same for all workers that share them. Only the
     * first problem of a worker can be shared. Private ones get a key of the worker's own. */
    struct ks_id128 key;
    /* Who verifies on the device (kernels/judge.h), as for a cell; "": the host does. */
    uint8_t judge_digest[32];
    char judge_artefact[768];
    char judge_entry[192];
};
struct ks_req_cell {
    struct ks_cell cell;
    uint32_t i_cell; /* position in the batch, echoed in the status page */
    uint32_t attempt, round, role, position;
    uint32_t numerics; /* enum ks_numerics of the instance */
    uint32_t n_visit;  /* instances in the visit, in rounds beyond 0 */
    uint32_t is_again; /* a further pass of the same instance in its visit */
    uint32_t threads;  /* that it computes with, the caller's included, and may keep; 0: 1 */
    uint64_t lease_id, block_id;
    struct ks_id128 build_id, code_id;
    uint8_t digest[32]; /* SHA-256 of the artefact; re-checked before dlopen */
    char artefact[768]; /* path of the shared object */
    char entry[192];    /* instance name in its table */
};
struct ks_ready { /* KS_F_READY */
    struct ks_id128 nonce;
    int32_t pid, cpu;
    char device[64]; /* what the backend says it got */
    double clock_ns, canary_ns;
    uint64_t memory_nodes; /* bits: NUMA nodes its memory is bound to; 0 = it is not */
    char locator[64];      /* where that device is: its PCI address */
    struct ks_device_limits limits;
};

void ks_req_setup_encode(const struct ks_req_setup *v, struct ks_buf *body_out);
int ks_req_setup_decode(const void *body, size_t n, struct ks_req_setup *out, struct ks_err *err);
void ks_req_problem_encode(const struct ks_req_problem *v, struct ks_buf *body_out);
int ks_req_problem_decode(const void *body, size_t n, struct ks_req_problem *out,
                          struct ks_err *err);
void ks_req_cell_encode(const struct ks_req_cell *v, struct ks_buf *body_out);
int ks_req_cell_decode(const void *body, size_t n, struct ks_req_cell *out, struct ks_err *err);
void ks_ready_encode(const struct ks_ready *v, struct ks_buf *body_out);
int ks_ready_decode(const void *body, size_t n, struct ks_ready *out, struct ks_err *err);

/* Exit statuses of ksweep-worker itself (a kernel that calls exit() ends with its own status while
 * the status page says a cell was in flight). */
enum {
    KS_WORKER_EXIT_OK = 0,
    KS_WORKER_EXIT_PIPE = 90,
    KS_WORKER_EXIT_SETUP = 91,
    KS_WORKER_EXIT_PROTOCOL = 92,
    KS_WORKER_EXIT_DEVICE =
        93, /* the device is lost to this process; the cell in hand was reported */
    KS_WORKER_EXIT_REMAINS = 94,   /* a kernel left threads or timers behind; the cell in hand was
                                      reported. With --try: a   constructor did */
    KS_WORKER_EXIT_TRIED = 95,     /* ksweep-worker --try: the object can be loaded and unloaded */
    KS_WORKER_EXIT_UNLOADABLE = 96 /* the loader refuses it, or it has no table of kernels */
};

#endif
