/* SPDX-License-Identifier: MIT */
/* combine.h - several traces in one file. */
#ifndef KS_ANALYSIS_TRACE_COMBINE_H
#define KS_ANALYSIS_TRACE_COMBINE_H

#include "base/buf.h"

#include <stdbool.h>

/* Events of all `paths` [n >= 2] into the file `output`, which is none of them. is_plain: ids and
 * processes stay as they are, and of devices with the same id the first one counts, as PyTorch's
 * script has it. notes: what was skipped or left out.
 * KS_EINVAL, KS_ENOENT, KS_EFORMAT, KS_EIO, KS_ENOMEM; the output is written whole or not at all.
 */
int ks_trace_combine(const char *const *paths, size_t n, const char *output, bool is_plain,
                     struct ks_buf *notes, struct ks_err *err);

#endif
