/* SPDX-License-Identifier: MIT */
/* domains.h - which problems an instance computes, and the words for those it does not. */
#ifndef KS_GRID_DOMAINS_H
#define KS_GRID_DOMAINS_H

#include "base/err.h"
#include "grid/family.h"
#include "grid/grid.h"
#include "op/op.h"

#include <stdbool.h>
#include <stdint.h>

/* Of a problem of the family's operator: direction, dtype, layout and ndim are the instance's. */
bool ks_domain_fits(const struct ks_family *f, const struct ks_instance *i,
                    const struct ks_problem *p);

/* A text for each pair of a domain of the grid's problems and one of its instances; caller frees.
 */
int ks_domains_create(const struct ks_grid *g, struct ks_domains **out, struct ks_err *err);
/* "instance is forward fp32 2d nhwgc, problem is forward bf16 2d nhwgc"; borrowed. */
const char *ks_domains_text(const struct ks_domains *d, uint32_t i_problem, uint32_t i_instance);
void ks_domains_free(struct ks_domains *d); /* NULL is fine */

#endif
