/* SPDX-License-Identifier: MIT */
/* analysis_kit.h - what the tests of analysis/ share: made-up times, and tables as they come out.
 */
#ifndef KS_TEST_ANALYSIS_KIT_H
#define KS_TEST_ANALYSIS_KIT_H

#include "analysis/columns.h"
#include "analysis/join.h"
#include "analysis/summary.h"
#include "store_place.h"
#include "tests/tools/store_kit.h"

#include <stdbool.h>

/* Three samples around ns, the middle one exact. */
struct ks_record *akit_timed(struct skit *k, uint32_t i_problem, uint32_t i_instance, double ns);
struct ks_view *akit_view(const struct place *p, enum ks_merge how);
void akit_summarise(const struct place *p, struct ks_view **v_out, struct ks_summary *s);
bool akit_near(double a, double b);
/* With the rows of all runs. */
void akit_csv(const struct place *p, enum ks_columns_version version, struct ks_buf *b);
/* Cell `column` of line `line`, as it stands there. */
void akit_cell(const char *csv, int line, const char *column, char *out, size_t cap);
const char *akit_behind(const char *p); /* of the cell that begins at p: where it ends */

#endif
