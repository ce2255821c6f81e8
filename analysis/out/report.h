/* SPDX-License-Identifier: MIT */
/* report.h - a summary as text and as JSON. */
#ifndef KS_ANALYSIS_REPORT_H
#define KS_ANALYSIS_REPORT_H

#include "analysis/data/findings.h"
#include "base/buf.h"

/* The problem by which people know it. */
const char *ks_best_name(const struct ks_best *p);

/* Each name from the file is put on one line: line ends and control characters are escaped. */
void ks_report_text(const struct ks_summary *s, struct ks_buf *out);
/* file: the name that stands in it. */
void ks_report_json(const struct ks_summary *s, const char *file, struct ks_buf *out);

#endif
