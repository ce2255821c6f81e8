/* SPDX-License-Identifier: MIT */
/* verb.h - one subcommand of ksweep-analyze, as its program's table lists it. */
#ifndef KS_ANALYSIS_VERB_H
#define KS_ANALYSIS_VERB_H

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
    int n_min, n_max;     /* operands; n_max 0 = any number */
    bool has_sides;       /* a "--" that ends the options stays among the operands */
    bool has_own_options; /* of two words: every later word is an operand, but for a first --help */
    int (*run)(const void *cfg, const char *const *operands, int n, struct ks_buf *notes,
               struct ks_err *err);
};

#endif
