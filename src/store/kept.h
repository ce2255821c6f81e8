/* SPDX-License-Identifier: MIT */
/* kept.h - a results file may hold measurements that the journal has lost since: it was cut back,
 * or restored from an older copy. Such a file is kept beside the one that takes its place. Private
 * to src/store. */
#ifndef KS_STORE_KEPT_H
#define KS_STORE_KEPT_H

#include "store/index.h"

#include <stddef.h>

/* ks_kept_name() - the name under which the file at out_path must be kept.
 * @x [in] the journals of the new file
 * @name_out [out] [cap] "out_path.1", or with the next number that is free; "": the journals still
 *   have all that the old file was made from, or it is no results file of this schema
 * Returns 0; KS_EINVAL the path is too long; KS_ENOMEM. */
int ks_kept_name(const char *out_path, const struct ks_index *x, char *name_out, size_t cap,
                 struct ks_err *err);

#endif
