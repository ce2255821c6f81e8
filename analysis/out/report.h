/* SPDX-License-Identifier: MIT */
/* report.h - a summary as text, Markdown, CSV and JSON. Each name from the file is put on one line:
 * line ends and control characters are escaped. */
#ifndef KS_ANALYSIS_REPORT_H
#define KS_ANALYSIS_REPORT_H

#include "analysis/data/findings.h"
#include "base/buf.h"

/* The problem by which people know it. */
const char *ks_best_name(const struct ks_best *p);

/* For people: problems, outcomes, who measured, what there is to choose.
 * @width [in] columns of the terminal: sentences are wrapped, and a table of problems that is wider
 *             becomes a list; 0: lines are as long as they need
 * KS_ENOMEM. */
int ks_report_text(const struct ks_summary *s, unsigned width, struct ks_buf *out,
                   struct ks_err *err);
void ks_report_markdown(const struct ks_summary *s, struct ks_buf *out);
/* file: the name that stands in it. */
void ks_report_json(const struct ks_summary *s, const char *file, struct ks_buf *out);

/* The problems alone: a line each behind a header, or as a list. */
int ks_report_rows_text(const struct ks_summary *s, unsigned width, struct ks_buf *to,
                        struct ks_err *err);
void ks_report_rows_markdown(const struct ks_summary *s, struct ks_buf *to);
void ks_report_rows_csv(const struct ks_summary *s, struct ks_buf *to);

#endif
