/* SPDX-License-Identifier: MIT */
/* program_results.h - the runs of programs in a directory as JSON, in the form that
 * run_ck_profiler.py writes. */
#ifndef KS_CMD_PROGRAM_RESULTS_H
#define KS_CMD_PROGRAM_RESULTS_H

#include "base/buf.h"
#include "base/err.h"

/* ks_program_results() - { "timestamp", "stats": { total, success, failed, skipped, success_rate },
 * "results": [ { operation, description, priority_rank, success, returncode, elapsed_time, command,
 * error, stdout, stdout_path, outcome, rows } ] }, one result per run, its last attempt.
 * elapsed_time: s; stdout: always null, stdout_path: absolute path of the compressed output, null
 * without output; priority_rank: always null, it is a column of the problem list; skipped: runs
 * that are unsupported. KS_ENOENT no journal; KS_EINVAL the sweep has run no program. */
int ks_program_results(const char *dir, struct ks_buf *json_out, struct ks_err *err);

#endif
