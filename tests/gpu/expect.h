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

struct expectations;

/* KS_EFORMAT: a line that is none, or an instance of g without one; KS_ENOMEM; of reading the file.
 */
int expect_open(const char *path, const struct ks_grid *g, struct expectations **out,
                struct ks_err *err);
void expect_close(struct expectations *e); /* NULL is fine */

/* rows: [problems x instances of g]. Appends a line per cell to out: `ok`, or `not ok` with what
 * was expected. Returns how many of the latter. */
uint64_t expect_check(const struct expectations *e, const struct ks_grid *g, const struct row *rows,
                      struct ks_buf *out);

#endif
