/* SPDX-License-Identifier: MIT */
/* training_v1.h - training.csv as it was before schema 1.5, for programs that read it by its old
 * names. Frozen: no column is added here. What is not named as today is in the list of old names
 * (record/columns.h). */
#ifndef KS_ANALYSIS_TRAINING_V1_H
#define KS_ANALYSIS_TRAINING_V1_H

#include <stdbool.h>

#define KS_V1_DIMS   "(dimensions)"
#define KS_V1_TRAITS "(traits)"

extern const char *const ks_v1_columns[]; /* NULL-terminated, in their order */

/* Whether nanoseconds were shown as milliseconds. */
bool ks_v1_is_ms(const char *old_name);

#endif
