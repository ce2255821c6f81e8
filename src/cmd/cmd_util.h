/* SPDX-License-Identifier: MIT */
/* cmd_util.h - what subcommands share. */
#ifndef KS_CMD_UTIL_H
#define KS_CMD_UTIL_H

#include "base/buf.h"
#include "cmd/cmd.h"
#include "grid/grid.h"

/* The grid of a job file, on another backend or for another arch where these are not NULL. A GPU's
 * "native" is asked of a device here: the command needs a warden. */
int ks_cmd_grid(struct ks_warden *warden, const char *path, const char *backend, const char *arch,
                struct ks_grid *grid_out, struct ks_err *err);

/* A gather kept the old results file under another name (struct ks_store_totals); "": it did not.
 */
void ks_cmd_warn_kept(const struct ks_log *log, const char *kept_as);

/* A part of a line on stdout. Line ends count at the beginning and the end of what was formatted as
 * many as fmt has there; others, and control characters, are escaped (base/text.h). */
void ks_cmd_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, appended to a buffer. */
void ks_cmd_put(struct ks_buf *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Columns of the terminal that is stdout; 0: it is none, or mpirun's, which says nothing of the
 * user's, and lines may have any length. */
unsigned ks_cmd_width(void);
/* Appends lines so that none is longer than `width` (0: any) where a blank allows it; what goes on
 * is indented. */
void ks_cmd_wrap(struct ks_buf *to, const char *lines, unsigned width);

#endif
