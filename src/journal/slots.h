/* SPDX-License-Identifier: MIT */
/* slots.h - open addressing: from hashes to positions in an array of the caller's. Private to
 * src/journal. */
#ifndef KS_JOURNAL_SLOTS_H
#define KS_JOURNAL_SLOTS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_slot {
    uint32_t position; /* + 1; 0: free */
    uint32_t tag;      /* high half of the hash: spares looks at entries far away in memory */
};
struct ks_slots {
    struct ks_slot *slot;
    uint32_t n; /* a power of two; 0: none yet, nothing may be looked for */
};

/* The next position + 1 that may be that of the hash; 0: no more. *k_io starts at the hash. */
static inline uint32_t ks_slots_next(const struct ks_slots *x, uint64_t hash, uint64_t *k_io)
{
    const struct ks_slot *s;
    do
        s = &x->slot[(*k_io)++ & (x->n - 1)];
    while (s->position && s->tag != (uint32_t)(hash >> 32));
    return s->position;
}

void ks_slots_put(struct ks_slots *x, uint64_t hash, uint32_t position);
/* Room for one entry more than n; *is_new_out: the caller must put all n entries again. KS_ENOMEM.
 */
int ks_slots_widen(struct ks_slots *x, uint32_t n, bool *is_new_out, struct ks_err *err);

#endif
