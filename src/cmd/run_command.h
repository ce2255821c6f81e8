/* SPDX-License-Identifier: MIT */
/* run_command.h - command lines of `ksweep run`: for the ranks, and to paste. */
#ifndef KS_CMD_RUN_COMMAND_H
#define KS_CMD_RUN_COMMAND_H

#include "base/buf.h"
#include "base/opt.h"
#include "mpi/run.h"

/* Words of a command line; begins as zero. */
struct ks_words {
    char **word; /* [n], owned, then NULL */
    size_t n, cap;
    bool failed; /* out of memory: sticky */
};
void ks_words_add(struct ks_words *w, const char *word);
void ks_words_release(struct ks_words *w);

/* The job and every option that differs from its default, "ranks" left out: what each rank gets
 * behind "run". `opts`: the table that filled *o. */
void ks_run_put_options(const struct ks_opt *opts, const struct ks_run_options *o,
                        struct ks_words *to);

/* The whole command that goes on with this run in `dir` (NULL: the one of the options, or the
 * default), the launcher included: -n where ksweep starts the ranks itself, or the mpirun or srun
 * that this process was started by. Quoted for a shell. A rank of a parent is told by it. */
void ks_run_put_resume(const struct ks_opt *opts, const struct ks_run_options *o, const char *dir,
                       struct ks_buf *to);

/* In the environment of the ranks: what ks_run_put_resume() puts for their parent. */
#define KS_RUN_GO_ON_ENV "KSWEEP_GO_ON"

#endif
