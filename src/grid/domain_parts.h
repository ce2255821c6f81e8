/* SPDX-License-Identifier: MIT */
/* domain_parts.h - direction, dtype, layout and ndim of a family, in the order of
 * ks_family.domain_trait; between family_domain.c, family_values.c and the plain form. */
#ifndef KS_GRID_DOMAIN_PARTS_H
#define KS_GRID_DOMAIN_PARTS_H

#include <stdint.h>

enum { KS_DOMAIN_DIRECTION, KS_DOMAIN_DTYPE, KS_DOMAIN_LAYOUT, KS_DOMAIN_NDIM, KS_N_DOMAIN_PARTS };

struct ks_domain_part {
    const char *name;
    uint32_t n;                       /* numbers below it are ours */
    int (*from)(const char *name);    /* NULL: a number, from 1 */
    const char *(*name_of)(uint32_t); /* likewise */
};
extern const struct ks_domain_part ks_domain_parts[KS_N_DOMAIN_PARTS];

#endif
