/* SPDX-License-Identifier: MIT */
/* chances.h - what the oracle says, row by row: the columns KS_ORACLE_COLUMNS of a table. */
#ifndef KS_ANALYSIS_CHANCES_H
#define KS_ANALYSIS_CHANCES_H

#include "analysis/data/catalogue.h"
#include "analysis/learn/oracle.h"

struct ks_chances;

/* @s, o [in] borrowed until it is destroyed. KS_ENOMEM. */
int ks_chances_create(const struct ks_sweeps *s, const struct ks_oracle *o, struct ks_chances **out,
                      struct ks_err *err);
void ks_chances_destroy(struct ks_chances *c); /* NULL is fine */

/* Gives the oracle's columns of this batch their values, which are valid until the next call. The
 * frame has problem_id, instance_id, condition_id and device_class_id. KS_ENOMEM; KS_EINVAL it
 * lacks one of these. */
int ks_chances_fill(struct ks_chances *c, struct ks_df *f, struct ks_err *err);

#endif
