/* SPDX-License-Identifier: MIT */
/* check_output.h - kept outputs of programs (DIR/output) against the digests in the journal. */
#ifndef KS_STORE_CHECK_OUTPUT_H
#define KS_STORE_CHECK_OUTPUT_H

#include "base/err.h"

#include <stdint.h>

/* `why` names the file. */
typedef void (*ks_output_finding_fn)(void *ctx, const char *why);

/* ks_check_outputs() - reads every output that the journal in dir/journal names: is it there,
 * whole, and what the program printed? A directory without outputs in its journal costs one pass
 * over it. Returns 0 whatever was found; KS_ENOENT no journal, KS_EIO, KS_ENOMEM. */
int ks_check_outputs(const char *dir, ks_output_finding_fn found, void *ctx, struct ks_err *err);

#endif
