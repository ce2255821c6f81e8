/* SPDX-License-Identifier: MIT */
/* derive.h - the columns that follow from others: speeds, and how the machine code of an aliased
 * row did. */
#ifndef KS_ANALYSIS_DERIVE_H
#define KS_ANALYSIS_DERIVE_H

#include "analysis/learn/join.h"

struct ks_derive;

/* Adds the columns that deriving needs if one of the sources is derived. KS_ENOMEM. */
int ks_derive_need(struct ks_sources *sources, const struct ks_store_file *f, struct ks_err *err);

/* KS_ENOMEM. */
int ks_derive_create(struct ks_derive **d_out, struct ks_err *err);
void ks_derive_destroy(struct ks_derive *d); /* NULL is fine */

/* ks_derive() - gives the derived columns of this batch their values.
 * @f [in,out] whole problems; what its derived columns refer to is valid until the next call
 * Returns 0; KS_ENOMEM; KS_EINVAL the frame lacks a column that ks_derive_need adds. */
int ks_derive(struct ks_derive *d, struct ks_df *f, struct ks_err *err);

#endif
