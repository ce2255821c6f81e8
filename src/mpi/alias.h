/* SPDX-License-Identifier: MIT */
/* alias.h - instances that are the same machine code (equal code_id): one of them is measured for
 * each problem, the others are its aliases. Pure: a sort, once per run. */
#ifndef KS_MPI_ALIAS_H
#define KS_MPI_ALIAS_H

#include "base/err.h"
#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

#define KS_NO_ALIAS UINT32_MAX

struct ks_aliases {
    uint32_t n_groups; /* of two instances or more */
    uint32_t *group;   /* [n] number of an instance's group, KS_NO_ALIAS: its code is its own */
    uint32_t *first;   /* [n_groups + 1] where in member a group begins */
    uint32_t *member;  /* instances, group by group; in a group the senior ones first */
};

/* ks_aliases_make() - groups of equal code.
 * @code      [in]  [n] of each instance; zero: not known, or never an alias (data that is written)
 * @seniority [in]  [n] distinct; NULL: the order of the instances
 * @out       [out] owned: ks_aliases_release; untouched on failure
 * Returns 0; KS_ENOMEM. */
int ks_aliases_make(const struct ks_id128 *code, const uint32_t *seniority, uint32_t n,
                    struct ks_aliases *out, struct ks_err *err);
void ks_aliases_release(struct ks_aliases *a); /* zeroed is fine */

/* Whether this alias is measured all the same, as a control. A draw of its own for each cell, from
 * its ids alone: the same in every run and on every resume. So of n aliases about share * n are
 * (a binomial number, 0 among them), all with share 1. */
bool ks_alias_is_control(uint64_t problem, uint64_t instance, double share);

#endif
