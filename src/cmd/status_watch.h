/* SPDX-License-Identifier: MIT */
/* status_watch.h - `ksweep status --watch`. */
#ifndef KS_CMD_STATUS_WATCH_H
#define KS_CMD_STATUS_WATCH_H

#include "base/err.h"

/* Shows on stdout how the run in dir stands until nobody owns its journal: at once when it does not
 * run. KS_ENOENT: dir is not a run's directory. Blocks. */
int ks_status_watch(const char *dir, struct ks_err *err);

#endif
