/* SPDX-License-Identifier: MIT */
/* families.h - /kernel_traits/<family>: one row per instance, one typed column per trait. Private
 * to src/store. */
#ifndef KS_STORE_FAMILIES_H
#define KS_STORE_FAMILIES_H

#include "store/index.h"
#include "store/table.h"

struct ks_digest { /* what a dataset must read back as */
    char path[160];
    uint64_t n;
    uint32_t crc;
};

/* Writes a table per family; appends to `digests` (struct ks_digest). A trait whose values are all
 * whole numbers becomes an integer column, else a text. */
int ks_families_write(const struct ks_index *x, hid_t file, struct ks_list *digests,
                      struct ks_err *err);

#endif
