/* SPDX-License-Identifier: MIT */
/* cmd_util.h - what subcommands share: parsing, and where results go. */
#ifndef KS_CMD_UTIL_H
#define KS_CMD_UTIL_H

#include "base/buf.h"
#include "cmd/cmd.h"
#include "grid/grid.h"

/* Defaults, then argv, through the command's option table. operands_out: [argc], owned by the
 * caller. KS_EINVAL when there are fewer than n_min or more than n_max (0 = any) operands: the
 * message shows the usage. */
int ks_cmd_parse(const struct ks_command *cmd, void *cfg, int argc, char **argv,
                 const char **operands_out, int n_min, int n_max, int *n_operands_out,
                 struct ks_err *err);

/* The grid of a job file, on another backend or for another arch where these are not NULL. A GPU's
 * "native" is asked of a device here: the command needs a warden. */
int ks_cmd_grid(struct ks_cmd_ctx *ctx, const char *path, const char *backend, const char *arch,
                struct ks_grid *grid_out);

/* A part of a line on stdout. Line ends count at the beginning and the end of what was formatted as
 * many as fmt has there; others, and control characters, are escaped (base/text.h). */
void ks_cmd_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The result to a file (a plain one is replaced whole, a link, pipe or device is written through),
 * or to stdout where `file` is NULL: there control characters other than tabs and line ends are
 * escaped. */
int ks_cmd_emit(const struct ks_buf *result, const char *file, struct ks_err *err);

#endif
