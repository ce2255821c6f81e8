/* SPDX-License-Identifier: MIT */
/* analyze.h - the subcommands of ksweep-analyze.
 *
 * To add one: 1. analysis/cmd/<name>.c with `const struct ks_analysis ks_analysis_<name>`; 2. its
 * declaration here; 3. its row in main.c; 4. its end-to-end test and its rows in docs/. Results go
 * to standard output or a file (result.h), everything else to stderr. A subcommand holds options
 * and calls; what it computes is in analysis/learn, what it prints in analysis/out. */
#ifndef KS_ANALYSIS_ANALYZE_H
#define KS_ANALYSIS_ANALYZE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/opt.h"

#include <stdbool.h>

/* run(): cfg was filled from the options; operands [n]. notes: lines for stderr. Returns an exit
 * code >= 0 (0 fine, 1 done but something needs a look) or KS_E* < 0 with err filled. */
struct ks_analysis {
    const char *name, *summary, *usage; /* usage begins behind "ksweep-analyze " */
    const struct ks_opt *opts;
    size_t cfg_size;
    int n_min, n_max; /* operands; n_max 0 = any number */
    bool has_sides;   /* a "--" that ends the options stays among the operands */
    int (*run)(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
               struct ks_err *err);
};

extern const struct ks_analysis ks_analysis_table, ks_analysis_report, ks_analysis_oracle,
    ks_analysis_compare;

#endif
