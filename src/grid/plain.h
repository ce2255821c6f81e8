/* SPDX-License-Identifier: MIT */
/* plain.h - the plain form of a grid: all that is needed to build and measure it, as keyed lines
 * (base/lines.h). No JSON, no expression and no list of problems is read again, so that a machine
 * with a GPU and a C compiler is enough. docs/grid-file.md describes the form.
 *
 * What depends on the device is left open: for each instance the file says which `needs` and
 * `unsupported` entries of its family concern it, and the reader checks them for the arch it is
 * given. Kernel sources are named relative to the installed kernels/ where they lie below the
 * folder that holds it. */
#ifndef KS_GRID_PLAIN_H
#define KS_GRID_PLAIN_H

#include "base/buf.h"
#include "base/err.h"
#include "grid/grid.h"

#include <stddef.h>

#define KS_PLAIN_KIND    "ksweep-grid"
#define KS_PLAIN_VERSION 1

/* Appends to an empty buffer. KS_EUNSUPPORTED: a plug-in brings kernels, or a family comes from a
 * T1 file; KS_EINVAL: an expression of a family cannot be evaluated; KS_ENOMEM. */
int ks_plain_write(const struct ks_grid *g, struct ks_buf *text_out, struct ks_err *err);

/* `name` stands for the file in messages. backend, arch: the device instead of the file's
 * (ks_job_choose()); NULL: the file's. The grid has the condition of this program, which is another
 * than that of the file when the measurement protocol has changed since.
 * KS_EFORMAT "name:line: cause": not this version, cut or changed, ids or digest that do not follow
 * from what the file says; KS_EINVAL: a value that no job may have; KS_ENOENT: a kernel source is
 * missing; KS_ENOMEM. */
int ks_plain_read(const char *text, size_t n, const char *name, const char *backend,
                  const char *arch, struct ks_grid *grid_out, struct ks_err *err);
/* The same from a file. */
int ks_plain_load(const char *path, const char *backend, const char *arch, struct ks_grid *grid_out,
                  struct ks_err *err);

#endif
