/* SPDX-License-Identifier: MIT */
/* match.h - who sits where, when not everybody may sit everywhere; private to src/topo. */
#ifndef KS_TOPO_MATCH_H
#define KS_TOPO_MATCH_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_match {
    uint32_t n_guests, n_chairs;
    bool *may;      /* [n_guests * n_chairs] */
    int32_t *chair; /* [n_guests], -1 none */
    int32_t *guest; /* [n_chairs] the one it belongs to, -1 nobody */
    uint32_t *n_on; /* [n_chairs] guests on it */
    bool *seen;     /* scratch */
};

/* Nobody may sit anywhere yet. KS_ENOMEM. */
int ks_match_init(struct ks_match *m, uint32_t n_guests, uint32_t n_chairs, struct ks_err *err);
void ks_match_release(struct ks_match *m);
void ks_match_clear(struct ks_match *m); /* as after ks_match_init */
void ks_match_allow(struct ks_match *m, uint32_t guest, uint32_t chair);

/* ks_match_seat() - a chair of its own for a guest that has none: the first free one it may take,
 * else others that sit move to make room (augmenting path; Kuhn 1955). Nobody who sits ends up
 * without a chair. false: there is none. */
bool ks_match_seat(struct ks_match *m, uint32_t guest);
/* A chair to share: of those it may take the one with the fewest on it. false: it may take none. */
bool ks_match_share(struct ks_match *m, uint32_t guest);

#endif
