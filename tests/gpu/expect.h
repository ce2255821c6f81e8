/* SPDX-License-Identifier: MIT */
/* expect.h - the outcomes that a grid of planted faults should have.
 *
 * A file of lines, `#` begins a comment, the first that fits an instance and the backend counts:
 *   INSTANCE BACKEND OUTCOME[|OUTCOME..] [TEXT]
 * INSTANCE is a name as of fnmatch(3), BACKEND cuda, hip or any; TEXT, to the end of the line, is
 * part of the reason. What the device's arch cannot run must be `unsupported` and needs no line. */
#ifndef KS_TEST_GPU_EXPECT_H
#define KS_TEST_GPU_EXPECT_H

#include "grid/grid.h"
#include "tests/gpu/rows.h"

/* rows: [problems x instances of g]. Appends a line per cell to out: `ok`, or `not ok` with what
 * was expected. n_bad_out: of the latter. KS_EFORMAT: a line that is none, or an instance without
 * one. */
int expect_check(const char *path, const struct ks_grid *g, const struct row *rows,
                 struct ks_buf *out, uint64_t *n_bad_out, struct ks_err *err);

#endif
