/* SPDX-License-Identifier: MIT */
/* topo.h - the host as one process may use it. */
#ifndef KS_TOPO_H
#define KS_TOPO_H

#include "base/err.h"

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

/* KS_EIO when the topology cannot be read; KS_ENODEVICE when this process may use none of it. */
int ks_topo_read(struct ks_topo_host *host_out, struct ks_err *err);

#endif
