/* SPDX-License-Identifier: MIT */
/* claim.h - private to src/build: who of several builders compiles which unit.
 *
 *     CACHE/host/claims/KEY.1 -> ../builders/ID      a symbolic link: made whole or not at all
 *
 * KEY stands for the unit. A claim whose builder is gone is succeeded by KEY.2, and so on: of all
 * who want to take it over, one makes that link. The highest counts. Symbolic links are made
 * exclusively on NFS, too; nothing is held open, and nothing has to be undone when a process dies.
 */
#ifndef KS_BUILD_CLAIM_H
#define KS_BUILD_CLAIM_H

#include "build/builder.h"

struct ks_claim {
    struct ks_id128 key;
    uint32_t generation; /* from 1; 0: none */
};

struct ks_claim_list { /* the highest of each key */
    struct ks_claim_row {
        struct ks_claim claim;
        struct ks_id128 builder; /* zero: it does not say */
    } * rows;                    /* [n] owned */
    uint32_t n, cap;
};

/* All claims of a cache. KS_EIO, KS_ENOMEM; an absent directory has none. */
int ks_claim_list(const char *cache_dir, struct ks_claim_list *out, struct ks_err *err);
void ks_claim_list_release(struct ks_claim_list *l);
/* Somebody who is not gone has claimed it. */
bool ks_claim_is_held(const char *cache_dir, const struct ks_claim_list *l, struct ks_id128 key,
                      struct ks_builder_watch *w, uint64_t now_ns);

/* 1 = *out is ours; 0 = somebody else has it, or was quicker. What was built before it was claimed
 * is built: look at the cache again. */
int ks_claim_take(const char *cache_dir, const struct ks_claim_list *l, struct ks_id128 key,
                  const struct ks_builder *me, struct ks_builder_watch *w, uint64_t now_ns,
                  struct ks_claim *out, struct ks_err *err);
void ks_claim_release(const char *cache_dir, struct ks_claim *c); /* and its predecessors */

/* Removes claims older than a day whose builder is gone: of units that nobody wants any more. */
void ks_claim_sweep(const char *cache_dir);

#endif
