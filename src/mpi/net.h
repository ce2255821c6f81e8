/* SPDX-License-Identifier: MIT */
/* net.h - byte streams between rank 0 and every rank, over MPI or, for rank 0 itself and for runs
 * without a launcher, over memory.
 *
 * What makes it outlive a lost rank or host (docs/architecture.md): every message fits the smallest
 * eager limit; nobody blocks on one rank; no collectives and no new communicators after start-up;
 * death is noticed by the callers' own heartbeats, never by MPI. */
#ifndef KS_MPI_NET_H
#define KS_MPI_NET_H

#include "base/err.h"
#include "record/frame.h"
#include "topo/bind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 4,032 bytes and more go through rendezvous with shared memory and hang the receiver when the
 * sender dies; headers included, 3,968 are safe. Asserted at every send. */
#define KS_NET_MESSAGE_MAX 3968u
#define KS_NET_OUTSTANDING 4u /* messages in flight from rank 0 to one rank */
/* And from a rank to rank 0, which fetches them when it wakes: they bound what a rank can report.
 */
#define KS_NET_REPORTING 128u

struct ks_net;

/* MPI_Init only under a launcher (launch.h), with pml=ob1 and btl=self,vader,tcp unless the user
 * chose otherwise; else one rank without MPI. A rank that dies
 * while MPI starts holds the others there for ever, and nothing can call them back: whoever has not
 * started and agreed after start_ms ends its process: exit 3.
 * The ranks of a host exchange their cards; the rank in it is filled in here. Where one rank is out
 * of memory, all return KS_ENOMEM. */
int ks_net_open(uint32_t start_ms, const struct ks_bind_card *card, struct ks_net **net_out,
                struct ks_err *err);
/* The end of the start-up, once, on every rank: rc of what this rank did so far. Where one failed,
 * all return the code and the text of the lowest one that did. */
int ks_net_agree(struct ks_net *n, int rc, struct ks_err *err);
/* Before ks_net_agree(), on every rank.
 * @mine    [in] [bytes]
 * @all_out [out] on rank 0 [size][bytes] in the order of ranks, owned by the caller; elsewhere NULL
 * Returns 0; KS_ENOMEM on all ranks where rank 0 has no memory for them: nobody is left waiting. */
int ks_net_gather(struct ks_net *n, const void *mine, size_t bytes, void **all_out,
                  struct ks_err *err);
uint32_t ks_net_rank(const struct ks_net *n);
uint32_t ks_net_size(const struct ks_net *n);
uint32_t ks_net_local_rank(const struct ks_net *n); /* among the ranks of this host */
uint32_t ks_net_n_local(const struct ks_net *n);
const struct ks_bind_card *ks_net_cards(const struct ks_net *n); /* [n_local], borrowed */
const char *ks_net_text(const struct ks_net *n); /* library version and transport, for people */

/* Queue one frame. Rank 0 may send to any rank, the others only to 0. Frames to a forgotten rank
 * are dropped. KS_ENOMEM. */
int ks_net_send(struct ks_net *n, uint32_t to, uint16_t type, const void *body, size_t len,
                struct ks_err *err);
/* Move bytes both ways without blocking. true when anything moved. */
bool ks_net_progress(struct ks_net *n);
/* The next whole frame from any rank: 1 = *from_out and *f_out filled (borrowed until the next
 * call), 0 = none. */
int ks_net_next(struct ks_net *n, uint32_t *from_out, struct ks_frame *f_out);
/* From another thread than the one that uses all the others here: when ks_net_progress has not been
 * called for away_ns, a KS_F_MSG_BEAT goes to every peer. It ends with KS_NET_STUCK_NS of silence:
 * who is held up for longer counts as lost. Returns how long after now_ns it may be away_ns that
 * ks_net_progress has not been called, at the earliest; 0: it is. */
#define KS_NET_STUCK_NS 600000000000ull
bool ks_net_can_beat(const struct ks_net *n); /* MPI allows it, and there are others */
uint64_t ks_net_beat(struct ks_net *n, uint64_t now_ns, uint64_t away_ns);
/* Nothing more goes to this rank; what it still sends is delivered. What was queued for it is
 * dropped, except the rest of a frame that has left in part: it goes first after ks_net_recall. */
void ks_net_forget(struct ks_net *n, uint32_t rank);
/* It was heard of again. true: it had been forgotten. */
bool ks_net_recall(struct ks_net *n, uint32_t rank);
bool ks_net_is_flushed(struct ks_net *n); /* everything queued has left this process */

/* is_clean: nobody was lost: MPI_Finalize, for at most end_ms: a rank that freezes after its
 * goodbye would hold the others in it for ever. Returns true when MPI is over; else only memory is
 * released and the caller must end the process by _exit. NULL is fine. */
bool ks_net_close(struct ks_net *n, bool is_clean, uint32_t end_ms);

#endif
