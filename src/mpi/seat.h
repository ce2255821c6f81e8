/* SPDX-License-Identifier: MIT */
/* seat.h - what a rank measures on: asked of a probe before MPI starts, shared with the other ranks
 * of the host, decided by topo/bind.h. */
#ifndef KS_MPI_SEAT_H
#define KS_MPI_SEAT_H

#include "base/err.h"
#include "grid/job.h"
#include "mpi/net.h"
#include "mpi/probe.h"
#include "spawn/warden.h"
#include "topo/bind.h"
#include "topo/visible.h"

#include <stdbool.h>

struct ks_seat_options {
    enum ks_host_domain domain; /* host backend */
    bool oversubscribe;
    bool has_threads; /* ks_grid_has_threads() */
};

struct ks_rank_seat {
    struct ks_bind_seat bind;
    struct ks_bind_device device; /* unique "": a core, or a device without limit */
    struct ks_probe_device own;   /* the same in full, as the worker will see it */
    bool is_pinned;               /* the worker stays on ks_seat_cpus() */
    bool has_threads;             /* of the options */
    enum ks_host_domain domain;
    struct ks_visible_env visible; /* for the worker: it sees its device only */
    struct ks_bind_map map;        /* of the host; may be refused */
};

/* Ranks need a device or core each: not for simulated devices without number. */
bool ks_seat_is_limited(const struct ks_job *job);

/* ks_seat_card() - what this rank was started with and sees. Backends with devices are probed by
 * ksweep-worker, which the warden starts; a probe that fails sees none, and says why. Before MPI.
 * KS_ENOENT: no worker program; KS_ECHILD: the warden is gone. Blocks for as long as a runtime
 * takes to start. */
int ks_seat_card(const struct ks_job *job, struct ks_warden *warden, struct ks_bind_card *card_out,
                 struct ks_err *err);

/* The arch of this job is to be asked of a device: "native" on a GPU. */
bool ks_seat_is_asked(const struct ks_job *job);
/* Then it becomes that of the first device on the card, and instances can be checked. KS_EINVAL:
 * there is none; says why, and what to write instead. */
int ks_seat_native(struct ks_job *job, const struct ks_bind_card *card, struct ks_err *err);

/* This rank's seat. The net was opened with the card. 0 with out->map.refusal set: the host's map
 * must not run. */
int ks_seat_take(const struct ks_job *job, const struct ks_net *net,
                 const struct ks_seat_options *o, struct ks_rank_seat *out, struct ks_err *err);
/* What n ranks of this host would be told that were all started with this card: KS_EINVAL where
 * their map would be refused. */
int ks_seat_rehearse(const struct ks_job *job, const struct ks_bind_card *card, uint32_t n,
                     const struct ks_seat_options *o, struct ks_err *err);
/* KS_EINVAL when the map was refused, naming the host. */
int ks_seat_check(const struct ks_rank_seat *s, struct ks_err *err);
/* Asks once more as this rank's worker will: fills own. KS_ENODEVICE: it would get another device
 * than the map gave it, with the addresses of both; KS_EINVAL: of another arch than the job's, with
 * host, address and both archs. */
int ks_seat_identify(const struct ks_job *job, struct ks_warden *warden, struct ks_rank_seat *s,
                     struct ks_err *err);
/* The seat of one rank alone, without a net; identified. device_id: on this GPU of a journal
 * (KS_ENODEVICE: it is not to be seen here); 0: on the first. A host's core is always any. */
int ks_seat_alone(const struct ks_job *job, uint64_t device_id, bool has_threads,
                  struct ks_warden *warden, struct ks_rank_seat *out, struct ks_err *err);

/* Where the worker runs, when it is pinned. A kernel of the host has one CPU and the rest of its
 * core idle; where some of the grid have threads, all have the CPUs of their domain. A GPU's
 * runtime has threads beside the one that waits for the device, perhaps without ever sleeping: they
 * get all of the core and what no rank measures on. */
cpu_set_t ks_seat_cpus(const struct ks_rank_seat *s, bool is_gpu);

/* The rank itself and its warden (NULL: only the rank), with the compilers it will start, stay away
 * from cores that measure, where there are others. */
void ks_seat_settle(const struct ks_rank_seat *s, struct ks_warden *warden);

#endif
