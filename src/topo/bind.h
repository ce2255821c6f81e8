/* SPDX-License-Identifier: MIT */
/* bind.h - which rank of a host measures on which device, core and memory. One decision, made by
 * every rank of the host from the same cards: the same map on all of them, without asking anybody.
 */
#ifndef KS_TOPO_BIND_H
#define KS_TOPO_BIND_H

#include "base/err.h"

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#define KS_BIND_DEVICES 64u

/* How many ranks of the host backend measure at the same time: on every core, on one core of every
 * last-level cache, on one core of every package. */
enum ks_host_domain { KS_DOMAIN_CORE, KS_DOMAIN_L3, KS_DOMAIN_SOCKET };
extern const char *const ks_host_domains[]; /* "core", "l3", "socket", NULL */

struct ks_bind_device {
    char unique[64]; /* tells it from every other device */
    char pci[16];    /* "0000:c1:00.0", "" unknown */
};

/* What a rank tells the others of its host. Plain data. */
struct ks_bind_card {
    cpu_set_t mask;     /* CPUs that it was started with */
    uint32_t rank;      /* in the job; rank 0 coordinates */
    uint32_t n_devices; /* that it sees, in its own numbering */
    struct ks_bind_device devices[KS_BIND_DEVICES];
    char lists[128]; /* *_VISIBLE_DEVICES it was started with, for people; "" none */
    char arch[32];   /* of the first device; "" unknown */
    char why[400];   /* it sees no device: what is missing; "" not told */
    bool is_unable;  /* there is nothing that devices could be seen through */
};

struct ks_bind_rules {
    enum ks_host_domain domain; /* without devices */
    bool has_devices;           /* ranks measure on the devices of their cards, else on cores */
    bool oversubscribe;         /* ranks may share what there is too little of */
    bool has_threads;           /* without devices: workers use all cores of their domains */
};

/* One place to measure: the logical CPUs of one physical core (all its hyperthreads are kept free;
 * the worker is pinned to the first). */
struct ks_core_set {
    cpu_set_t cpus; /* the whole core, as far as the rank may use it */
    uint32_t cpu;   /* the logical CPU the worker runs on */
    char text[64];  /* "3,11" */
};

enum ks_seat {
    KS_SEAT_MEASURE, /* has a device, or core, of its own */
    KS_SEAT_SHARED,  /* measures where others measure, too (oversubscribe); both sides say so,
                        because both are disturbed */
    KS_SEAT_NONE     /* helps building, then sleeps */
};

struct ks_bind_seat {
    enum ks_seat seat;
    int32_t i_device; /* number in the rank's own card, -1 none */
    bool is_far;      /* its core is not among those nearest to its device */
    struct ks_core_set cores;
    cpu_set_t domain;    /* CPUs of all cores of its domain that it may use; devices: of its core */
    cpu_set_t spare;     /* for the rank, its warden, compilers; its own core when none is left */
    char spare_text[64]; /* "" when none is left */
    uint64_t nodes;      /* bits: NUMA nodes nearest to its core; 0 = unknown, or beyond 63 */
    char numa[32];       /* "0", "0,4", "" unknown */
    uint32_t n_neighbours; /* ranks that measure under the same last-level cache, itself too */
    uint32_t n_memory_neighbours; /* and with memory from one of the same NUMA nodes */
};

struct ks_bind_map {
    uint32_t n_unused; /* devices that were seen and nobody measures on */
    char unused[128];  /* "0000:c1:00.0 0000:c6:00.0" */
    char refusal[640]; /* why this must not run, and the option that mends it; "" = it may */
};

/* ks_bind() - seats for the ranks of one host.
 * @cards     [in]  [n] in the order of their node-local ranks
 * @seats_out [out] [n]; filled for refused maps, too, as far as seats could be given
 * Devices go to ranks in order, nearest to the CPUs a rank was bound to where it was bound, then
 * cores nearest to the device; without devices, cores (or domains) go to ranks in order. Rank 0
 * goes without when there are not enough. A core is never given to two ranks.
 * Returns 0, also with a refusal; KS_EIO, KS_ENOMEM, KS_ENODEVICE.
 * Pure apart from reading the topology, which HWLOC_XMLFILE and HWLOC_SYNTHETIC replace in tests.
 */
int ks_bind(const struct ks_bind_card *cards, uint32_t n, const struct ks_bind_rules *rules,
            struct ks_bind_seat *seats_out, struct ks_bind_map *map_out, struct ks_err *err);

#endif
