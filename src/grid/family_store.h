/* SPDX-License-Identifier: MIT */
/* family_store.h - room for the lists of a family, for those who read one; private to src/grid. */
#ifndef KS_GRID_FAMILY_STORE_H
#define KS_GRID_FAMILY_STORE_H

#include "base/err.h"
#include "grid/family.h"

/* Lists of a zeroed family with room for KS_TRAITS_MAX traits of KS_TRAIT_VALUES_MAX values each,
 * and so on: whoever fills them checks against these. KS_ENOMEM. */
int ks_family_begin(struct ks_family *f, struct ks_err *err);
/* Once it is read: the lists become as long as they are. KS_ENOMEM: they stay. */
int ks_family_fit(struct ks_family *f, struct ks_err *err);
/* An array [n] of families and all that they own. NULL is fine. */
void ks_families_free(struct ks_family *families, uint32_t n);

#endif
