/* SPDX-License-Identifier: MIT */
/* schema.h - columns described as CSV: column, type, unit, missing, role, table, meaning. */
#ifndef KS_ANALYSIS_SCHEMA_H
#define KS_ANALYSIS_SCHEMA_H

#include "analysis/data/catalogue.h"
#include "base/buf.h"

/* One line per column, behind a header. `missing` and `table` tell of results.h5: there is the same
 * column. */
void ks_schema_put(const struct ks_sources *sources, struct ks_buf *out);

#endif
