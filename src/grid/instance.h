/* SPDX-License-Identifier: MIT */
/* instance.h - names and ids of many instances of one family; between instance.c and
 * kernel_set.c. */
#ifndef KS_GRID_INSTANCE_H
#define KS_GRID_INSTANCE_H

#include "base/err.h"
#include "grid/family.h"
#include "grid/name_parts.h"

/* As ks_instance_finish() for a pattern that is split already: parts of f->name_pattern. */
int ks_instance_name(const struct ks_family *f, const struct ks_name_parts *parts,
                     struct ks_instance *i, struct ks_err *err);

#endif
