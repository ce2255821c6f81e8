/* SPDX-License-Identifier: MIT */
/* rank_impl.h - the state of a rank, shared by rank.c (life, frames) and rank_build.c (its share of
 * the builds). */
#ifndef KS_MPI_RANK_IMPL_H
#define KS_MPI_RANK_IMPL_H

#include "base/buf.h"
#include "mpi/agent.h"
#include "mpi/chaos.h"
#include "mpi/rank.h"
#include "mpi/share.h"

struct ks_rank {
    struct ks_rank_config c;
    struct ks_device_rec device;
    struct ks_build *build; /* NULL for sim */
    struct ks_agent *agent; /* NULL without a seat */
    char worker_path[1024];
    uint32_t rank, n_jobs;
    bool is_sim, is_settled;
    uint32_t n_owed; /* orders to build, fetch or look that are not answered yet */
    struct ks_rank_fetch {
        bool is_on;
        uint32_t source;
        uint32_t i_unit, k; /* where it is: the next instance of a unit */
        struct ks_share_in in;
    } fetch;
    struct ks_share_out packs; /* what this rank hands out */
    struct ks_chaos chaos;
    bool has_warden; /* it was alive when last asked */
    bool is_over, said_bye, said_broken, told_builds;
    bool is_released; /* rank 0 has written everything */
    bool is_clean;    /* and nobody was lost */
    bool is_silent;   /* rank 0 has been so for too long */
    bool has_room;    /* a lease has ended since the bell was thought of */
    pid_t bell_pid;   /* of rank 0, on the same host; 0: elsewhere */
    uint64_t last_beat_ns, heard_ns;
    struct ks_rank_wakes { /* of this process while its worker took samples on one of its cores */
        uint64_t n, n_switches; /* of the loop; voluntary switches of all threads */
        uint64_t nvcsw;         /* when last asked */
    } wakes;
    struct ks_buf body;
};

/* rank.c: to rank 0. send_body sends r->body. */
int ks_rank_send_body(struct ks_rank *r, uint16_t type, struct ks_err *err);
int ks_rank_send_numbers(struct ks_rank *r, uint16_t type, uint64_t a, uint64_t b,
                         struct ks_err *err);
int ks_rank_send_event(struct ks_rank *r, uint32_t kind, struct ks_err *err, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* rank_pace.c */
bool ks_rank_shares_core(const struct ks_rank *r); /* with workers that measure */

/* rank_build.c */
int ks_rank_open_build(struct ks_rank *r, struct ks_err *err);
void ks_rank_close_build(struct ks_rank *r);
int ks_rank_take_build(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err);
int ks_rank_step_build(struct ks_rank *r, struct ks_err *err);

/* rank_share.c: what it gets from others, and hands out itself. */
void ks_rank_fetch(struct ks_rank *r, uint32_t source);        /* all that is missing */
int ks_rank_step_fetch(struct ks_rank *r, struct ks_err *err); /* r->fetch.is_on: not over yet */
int ks_rank_take_piece(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err);
int ks_rank_send_pack(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err);

#endif
