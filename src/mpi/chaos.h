/* SPDX-License-Identifier: MIT */
/* chaos.h - named points at which tests end, stop or hold up this process.
 * KSWEEP_CHAOS="NAME:N[:stop|:sleep=SECONDS][@RANK][,...]" kills (SIGKILL) or stops (SIGSTOP) this
 * process, or lets the calling thread sleep, at its N-th passage of point NAME. Unset in
 * production: one getenv per passage of points that are rare. */
#ifndef KS_MPI_CHAOS_H
#define KS_MPI_CHAOS_H

#include <stdint.h>

enum ks_chaos_point {
    KS_CHAOS_BEFORE_WRITE,
    KS_CHAOS_BEFORE_FSYNC,
    KS_CHAOS_BEFORE_ACK,
    KS_CHAOS_GATHER,
    KS_CHAOS_RENAME,
    KS_CHAOS_START, /* in MPI_Init's shadow: the ranks wait for each other */
    KS_CHAOS_END,   /* between the goodbye and MPI_Finalize */
    KS_CHAOS_SEND,  /* a rank is about to hand out a part of a pack */
    KS_CHAOS_FETCH, /* a piece of a pack has come */
    KS_CHAOS_BYE,   /* a rank was dismissed and is about to say goodbye */
    KS_CHAOS_N
};

struct ks_chaos {
    uint32_t passed[KS_CHAOS_N];
    uint32_t rank;
};
void ks_chaos(struct ks_chaos *c, enum ks_chaos_point point);

#endif
