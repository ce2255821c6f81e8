/* SPDX-License-Identifier: MIT */
/* fdb_key.h - keys of MIOpen's find-db as problems. */
#ifndef KS_GRID_FDB_KEY_H
#define KS_GRID_FDB_KEY_H

#include "base/err.h"
#include "op/op.h"

/* ks_fdb_key() - the part before '=' of a line.
 * @text [in] changed
 * @p_io [in] a blank grouped convolution; [out] finished on success, else undefined
 * Returns 0; KS_EFORMAT: not a key; KS_EUNSUPPORTED: a key, but of a problem that struct ks_problem
 * cannot hold (INT8, a bias, mixed layouts, casts) or whose sizes contradict each other; KS_ENOMEM.
 */
int ks_fdb_key(char *text, struct ks_problem *p_io, struct ks_err *err);

#endif
