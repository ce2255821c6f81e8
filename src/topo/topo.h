/* SPDX-License-Identifier: MIT */
/* topo.h - which core set a rank may measure on; the only place with hwloc. */
#ifndef KS_TOPO_H
#define KS_TOPO_H

#include "base/err.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* What one rank knows of its host after reading the topology. Plain data, may be sent. */
struct ks_topo_host {
    uint32_t n_cores;       /* physical cores allowed to this process */
    uint32_t n_pus;         /* logical CPUs allowed */
    uint32_t n_machine_pus; /* logical CPUs of the machine */
    uint32_t n_packages, n_numa;
    bool is_narrowed; /* the inherited mask is smaller than the machine: the launcher bound us */
    uint64_t l2_bytes, l3_bytes; /* of the first allowed core; 0 = unknown */
    char cpu_model[64];
};

/* One place to measure: the logical CPUs of one physical core (all its hyperthreads are kept free;
 * the worker is pinned to the first). */
struct ks_core_set {
    cpu_set_t cpus; /* the whole core */
    uint32_t cpu;   /* the logical CPU the worker runs on */
    char text[64];  /* "3,11" */
};

enum ks_seat {
    KS_SEAT_MEASURE, /* has a core set of its own */
    KS_SEAT_SHARED,  /* measures on a core set that others measure on too (--oversubscribe); both
                        sides say so, because both are disturbed */
    KS_SEAT_NONE     /* helps building, then sleeps */
};

/* KS_EIO when the topology cannot be read. */
int ks_topo_read(struct ks_topo_host *host_out, struct ks_err *err);

/* ks_topo_seat() - the seat of one rank, decided from what every rank of the host has in common.
 * @local_rank, @n_local [in] index and number of the ranks on this host
 * @coordinates  [in]  true when local rank 0 of this host is the job's rank 0: it takes a core set
 *                     only if no other rank of the host needs it
 * @oversubscribe [in] let ranks without a core set of their own share one (round robin)
 * A process whose inherited mask is narrower than the machine uses that mask as its core set. The
 * machine is what the control group leaves of it. Call before changing the own affinity.
 * Returns 0; KS_ENODEVICE when the host has no usable core set at all.
 * Pure apart from reading the topology: same answer for the same host on every rank. */
int ks_topo_seat(uint32_t local_rank, uint32_t n_local, bool coordinates, bool oversubscribe,
                 enum ks_seat *seat_out, struct ks_core_set *set_out, struct ks_err *err);

/* As ks_topo_seat(), with the inherited masks of all ranks of the host in hand: @masks [n_local].
 * Ranks that were given the same mask (a socket each, or taskset around mpirun) share out its core
 * sets as they would an unnarrowed machine's, instead of all taking the whole of it. */
int ks_topo_seat_among(uint32_t local_rank, uint32_t n_local, const cpu_set_t *masks,
                       bool coordinates, bool oversubscribe, enum ks_seat *seat_out,
                       struct ks_core_set *set_out, struct ks_err *err);

/* Pure core of the above, for tests: which of n_sets core sets rank local_rank gets (index in
 * *i_set_out), with every rank on an unnarrowed machine. */
enum ks_seat ks_topo_assign(uint32_t n_sets, uint32_t local_rank, uint32_t n_local,
                            bool coordinates, bool oversubscribe, uint32_t *i_set_out);

/* CPUs that no measuring rank uses, for compilers and the ranks themselves; all allowed CPUs when
 * there are none left. */
int ks_topo_spare(uint32_t n_local, bool coordinates, cpu_set_t *cpus_out, struct ks_err *err);

#endif
