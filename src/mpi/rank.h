/* SPDX-License-Identifier: MIT */
/* rank.h - what every rank does, rank 0 too: builds its share, then measures through its agent. */
#ifndef KS_MPI_RANK_H
#define KS_MPI_RANK_H

#include "base/err.h"
#include "base/log.h"
#include "build/build.h"
#include "grid/grid.h"
#include "mpi/net.h"
#include "mpi/pace.h"
#include "mpi/seat.h"
#include "spawn/warden.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_rank;

struct ks_rank_config {
    const struct ks_grid *grid; /* borrowed, as all below */
    struct ks_net *net;
    struct ks_warden *warden;
    const struct ks_log *log;
    const struct ks_rank_seat *seat;
    bool trust_cache;
    const char *cache_dir;
    uint64_t lost_after_ns;
};

/* Reads the cache, greets rank 0 and starts building. */
int ks_rank_create(const struct ks_rank_config *c, struct ks_rank **r_out, struct ks_err *err);
void ks_rank_destroy(struct ks_rank *r);           /* NULL is fine */
struct ks_build *ks_rank_build(struct ks_rank *r); /* NULL for the sim device; borrowed */

/* A frame from rank 0. */
int ks_rank_frame(struct ks_rank *r, const struct ks_frame *f, struct ks_err *err);
int ks_rank_step(struct ks_rank *r, uint64_t now_ns, struct ks_err *err);

/* Measuring has begun, here or on another core of the host. */
void ks_rank_settle(struct ks_rank *r);

/* This process was held up or stopped for so long: rank 0 could not be heard meanwhile. */
void ks_rank_was_away(struct ks_rank *r, uint64_t ns);

/* Said goodbye, and rank 0 has written everything and released it, or is silent. */
bool ks_rank_is_over(const struct ks_rank *r);
/* Rank 0 released it and had lost nobody: MPI may end in order. Of other ranks than 0. */
bool ks_rank_is_clean(const struct ks_rank *r);
bool ks_rank_is_abandoned(const struct ks_rank *r); /* rank 0 fell silent, and was needed */
/* Its part of what decides when the loop turns next: all but now_ns, woke_ns and is_busy. */
void ks_rank_pace(const struct ks_rank *r, struct ks_pace *p);
/* Its worker is between two cells, long enough for a disk to answer meanwhile: how long they take;
 * else 0. */
uint64_t ks_rank_between_ns(const struct ks_rank *r);
bool ks_rank_has_warden(const struct ks_rank *r); /* else it only watches */
/* Descriptor that ends a wait early, -1: none. */
int ks_rank_wait_fd(const struct ks_rank *r, const struct ks_pace *p);
/* What this turn sent has left: when it is about to run out of work, rank 0 is to hear of it. */
void ks_rank_ring(struct ks_rank *r);
/* The loop has slept and woke: counted where a worker takes samples on a core of this process. */
void ks_rank_count_wake(struct ks_rank *r);

#endif
