/* SPDX-License-Identifier: MIT */
/* domains.h - which problems of a grid its instances compute. */
#ifndef KS_GRID_DOMAINS_H
#define KS_GRID_DOMAINS_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/grid.h"

#include <stdbool.h>
#include <stdint.h>

/* Compares each distinct domain (operator, direction, dtype, layout, ndim) of the problems with
 * each of the instances, once. Caller frees. KS_ENOMEM. */
int ks_domains_create(const struct ks_grid *g, struct ks_domains **out, struct ks_err *err);
bool ks_domains_fit(const struct ks_domains *d, uint32_t i_problem, uint32_t i_instance);
/* Distinct domains of the problems, the one of a problem, and the first problem of one. */
uint32_t ks_domains_n(const struct ks_domains *d);
uint32_t ks_domains_of(const struct ks_domains *d, uint32_t i_problem);
uint32_t ks_domains_first(const struct ks_domains *d, uint32_t domain);
/* Some problem fits it. */
bool ks_domains_fits_any(const struct ks_domains *d, uint32_t i_instance);
/* Pairs of a problem and an instance that fit, and of one problem. */
uint64_t ks_domains_n_fits(const struct ks_domains *d);
uint32_t ks_domains_n_fits_of(const struct ks_domains *d, uint32_t i_problem);
/* Instances that fit no problem. */
uint32_t ks_domains_n_idle(const struct ks_domains *d);
/* "instance is grouped_conv forward fp32 2d nhwgc, problem is grouped_conv forward bf16 2d nhwgc"
 */
void ks_domains_say(const struct ks_domains *d, uint32_t i_problem, uint32_t i_instance,
                    struct ks_buf *text_out);
void ks_domains_free(struct ks_domains *d); /* NULL is fine */

#endif
