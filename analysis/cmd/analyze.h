/* SPDX-License-Identifier: MIT */
/* analyze.h - the subcommands of ksweep-analyze.
 *
 * To add one: 1. analysis/cmd/<name>.c with `const struct ks_analysis ks_analysis_<name>`; 2. its
 * declaration here; 3. its row in main.c; 4. its end-to-end test and its rows in docs/. Results go
 * to standard output or a file (result.h), everything else to stderr. A subcommand holds options
 * and calls; what it computes is in analysis/learn, what it prints in analysis/out. The verbs of
 * traces are in analysis/trace. */
#ifndef KS_ANALYSIS_ANALYZE_H
#define KS_ANALYSIS_ANALYZE_H

#include "analysis/out/verb.h"

extern const struct ks_analysis ks_analysis_table, ks_analysis_report, ks_analysis_oracle,
    ks_analysis_compare, ks_analysis_import, ks_analysis_train, ks_analysis_validate,
    ks_analysis_select, ks_analysis_need, ks_analysis_timeline;

#endif
