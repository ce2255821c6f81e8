/* SPDX-License-Identifier: MIT */
/* slots.c - inserts by linear probing; replaces a table that is three quarters full */
#include "journal/slots.h"

#include <stdlib.h>

void ks_slots_put(struct ks_slots *x, uint64_t hash, uint32_t position)
{
    uint64_t k = hash;
    while (x->slot[k & (x->n - 1)].position)
        k++;
    x->slot[k & (x->n - 1)] = (struct ks_slot){ position + 1, (uint32_t)(hash >> 32) };
}

int ks_slots_widen(struct ks_slots *x, uint32_t n, bool *is_new_out, struct ks_err *err)
{
    *is_new_out = false;
    if (x->n && (n + 1) * 4ull < x->n * 3ull)
        return 0;
    uint32_t want = x->n ? x->n * 2 : 256;
    struct ks_slot *slot = calloc(want, sizeof(*slot));
    if (!slot)
        return ks_fail(err, KS_ENOMEM, "ledger: no memory for %u slots", want);
    free(x->slot);
    x->slot = slot;
    x->n = want;
    *is_new_out = true;
    return 0;
}
