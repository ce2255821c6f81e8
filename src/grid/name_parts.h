/* SPDX-License-Identifier: MIT */
/* name_parts.h - an instance's name as a sequence of literals, values and optional suffixes.
 * Between family.c and instance.c. */
#ifndef KS_GRID_NAME_PARTS_H
#define KS_GRID_NAME_PARTS_H

#include "base/err.h"
#include "grid/family.h"

#include <stdbool.h>
#include <stddef.h>

/* Literals around and between at most KS_TRAITS_MAX values, and the suffixes. */
enum { KS_NAME_PARTS = 3 * KS_TRAITS_MAX + 1 };

struct ks_name_part {
    int i_trait;        /* -1: a literal, `before` alone */
    bool is_suffix;     /* absent for the default value */
    const char *before; /* borrowed from the family, n_before characters */
    size_t n_before;
    const char *after;
    size_t n_after;
};

/* KS_EINVAL: a brace without its partner, an unknown trait, one that stands twice, a trait of
 * several values that does not show, a name that may become too long. */
int ks_name_parts(const struct ks_family *f, struct ks_name_part parts_out[KS_NAME_PARTS],
                  size_t *n_out, struct ks_err *err);
/* The value as it stands in names: a minus sign is written 'm'. */
void ks_name_value(const struct ks_trait *t, uint32_t i_value, char out[24]);

#endif
