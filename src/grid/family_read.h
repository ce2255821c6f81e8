/* SPDX-License-Identifier: MIT */
/* family_read.h - the parts of a family file; between family.c, family_traits.c and
 * family_rules.c. */
#ifndef KS_GRID_FAMILY_READ_H
#define KS_GRID_FAMILY_READ_H

#include "base/err.h"
#include "grid/family.h"
#include "grid/words.h"
#include "json/json.h"

int ks_family_read_traits(const struct ks_json *doc, const struct ks_node *root,
                          struct ks_family *f, struct ks_err *err);
/* operator, direction, dtype, layout, ndim; reads the traits that are there already. */
int ks_family_read_domain(const struct ks_json *doc, const struct ks_node *root,
                          struct ks_family *f, struct ks_err *err);
/* rules, needs, archs, unsupported: all may be absent. */
int ks_family_read_rules(const struct ks_json *doc, const struct ks_node *root, struct ks_family *f,
                         struct ks_err *err);

#endif
