/* SPDX-License-Identifier: MIT */
/* bind_impl.h - the seating in work, shared by bind.c (who sits where) and bind_check.c (whether
 * that may be); private to src/topo. */
#ifndef KS_TOPO_BIND_IMPL_H
#define KS_TOPO_BIND_IMPL_H

#include "topo/bind.h"
#include "topo/machine.h"
#include "topo/match.h"

struct ks_bind_place {               /* a device */
    const struct ks_bind_device *id; /* of the first card that names it */
    cpu_set_t near;
    bool is_known; /* where it is */
};

struct ks_bind {
    const struct ks_bind_card *cards;
    uint32_t n; /* ranks */
    const struct ks_bind_rules *rules;
    struct ks_machine m;
    uint32_t n_places;             /* devices, or domains of cores */
    struct ks_bind_place *devices; /* [n_places] with devices */
    uint32_t *place_of_core;       /* [m.n_cores] without */
    struct ks_match place, core;   /* of ranks */
};

/* Fills the map's refusal and what is unused. */
void ks_bind_check(const struct ks_bind *b, struct ks_bind_map *map);

#endif
