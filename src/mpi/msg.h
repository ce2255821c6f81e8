/* SPDX-License-Identifier: MIT */
/* msg.h - what rank 0 and the ranks tell each other, besides the frames that go into the journal as
 * they are. Positions in the grid are used here and nowhere else: every rank loaded the same grid
 * (the digest in the greeting is compared). */
#ifndef KS_MPI_MSG_H
#define KS_MPI_MSG_H

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "sched/sched.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_msg_hello { /* KS_F_MSG_HELLO, rank -> 0 */
    uint32_t rank, local_rank, n_local;
    uint32_t measures; /* 1 when it has a seat to measure on */
    uint32_t n_jobs;   /* compilers that it runs at a time */
    uint64_t grid_digest;
    struct ks_id128 target, cache; /* ks_build_target, ks_build_cache */
    int32_t pid;
    char host[64];
};
#define KS_VISIT_CELLS 512u /* of a visit, all passes; other leases have KS_LEASE_CELLS at most */
struct ks_msg_lease {       /* KS_F_MSG_LEASE, 0 -> rank */
    uint64_t lease, block_id;
    uint32_t i_problem, opens, closes, is_alone, n;
    uint32_t n_visit; /* instances of a visit, whose cells are passes over them; 0: it is none */
    struct {
        uint32_t i_instance, attempt, round;
        uint32_t alias; /* 1 + the instance whose code it is, 0: its own */
    } cells[KS_VISIT_CELLS];
};
/* The others are two numbers (a, b):
 *   KS_F_MSG_LEASE_END  rank -> 0   a = lease; all its records were sent before
 *   KS_F_MSG_ACK        0 -> rank   a = records of this rank that are on disk, cumulative
 *   KS_F_MSG_BEAT       both        alive; from a rank a = 1: its canary has passed just now
 *   KS_F_MSG_BUILD      0 -> rank   a = enum ks_build_order, b: what it says there
 *   KS_F_MSG_BUILD_END  rank -> 0   one for each order, and one unasked after the greeting:
 *                                   a = units still missing, b = compilers started
 *   KS_F_MSG_DRAIN      0 -> rank   finish the cell in flight, give the rest back;
 *                                   a = 1: dismissed: say goodbye and wait;
 *                                   a = 2: released, rank 0 has written everything: kill the
 *                                   worker and leave (b = 1: without MPI_Finalize, as somebody
 *                                   is lost);
 *                                   a = 0, b = 1: no more time, kill the worker
 *   KS_F_MSG_BYE        rank -> 0   no more records; a = 1: it cannot measure or build any more
 *                                   (b = 1: quarantined), but stays */
/* How often both sides say that they live, where who is silent for so long counts as lost: every
 * second, or more often where that is not four times in it. */
uint64_t ks_msg_beat_ns(uint64_t lost_after_ns);
/* KS_F_MSG_FETCH, SENT, SEND and PIECE: share.h. */
enum ks_build_order {
    KS_ORDER_LOOK,  /* at the cache again */
    KS_ORDER_BUILD, /* whatever is missing; b = compilers at a time, of all who are told so */
    KS_ORDER_FETCH  /* whatever is missing from rank b; KS_SHARE_NOBODY: stop that */
};
void ks_msg_hello_put(const struct ks_msg_hello *m, struct ks_buf *body_out);
int ks_msg_hello_get(const void *body, size_t n, struct ks_msg_hello *out, struct ks_err *err);
void ks_msg_lease_put(const struct ks_msg_lease *m, struct ks_buf *body_out);
int ks_msg_lease_get(const void *body, size_t n, struct ks_msg_lease *out, struct ks_err *err);
void ks_msg_numbers_put(uint64_t a, uint64_t b, struct ks_buf *body_out);
int ks_msg_numbers_get(const void *body, size_t n, uint64_t *a, uint64_t *b, struct ks_err *err);

#endif
