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
    bool has_value; /* false: a suffix without {} stands for the value that is not the default */
    const char *after;
    size_t n_after;
};
struct ks_name_parts {
    struct ks_name_part part[KS_NAME_PARTS];
    size_t n;
};

/* Of name_pattern or, is_alias, of another one that may lack traits. Borrows f and pattern.
 * KS_EINVAL: a brace without its partner, an unknown trait, one that stands twice, a trait of
 * several values that does not show, a name that may become too long. */
int ks_name_parts(const struct ks_family *f, const char *pattern, bool is_alias,
                  struct ks_name_parts *out, struct ks_err *err);
/* Writes the name of i, which fits, into i->name. */
void ks_name_print(const struct ks_family *f, const struct ks_name_parts *parts,
                   struct ks_instance *i);
/* The values that a name stands for, into i->value. Returns how many combinations have this name:
 * 0, 1, or 2 for more; i is filled only for 1. */
int ks_name_read(const struct ks_family *f, const struct ks_name_parts *parts, const char *name,
                 struct ks_instance *i);

#endif
