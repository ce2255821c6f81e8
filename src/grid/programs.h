/* SPDX-License-Identifier: MIT */
/* programs.h - programs that time kernels themselves as instances of a grid.
 *
 * An entry of the job's kernels is a family, whose traits are the digest of what is run and the
 * number of the repeat; a cell is one run of it on one problem. Which instances it has is known
 * when the run has ended. */
#ifndef KS_GRID_PROGRAMS_H
#define KS_GRID_PROGRAMS_H

#include "grid/grid.h"
#include "profiler/format.h"

/* The families and instances of entry i of the job's kernels, appended. */
int ks_programs_add(struct ks_kernel_set *set, const struct ks_job *job, uint32_t i,
                    struct ks_err *err);
/* The program of an instance; NULL: a kernel. *repeat_out: number of the run, from 0. */
const struct ks_job_program *ks_programs_of(const struct ks_grid *g, uint32_t i_instance,
                                            uint32_t *repeat_out);

/* Called for a program that is there and can be executed; < 0 with err filled: it is refused. */
typedef int (*ks_program_fn)(void *ctx, const struct ks_job_program *p, const char *path,
                             const struct ks_program_format *format, struct ks_err *err);
/* ks_programs_check() - do the programs of all operations of the grid exist, and with fn: can this
 * host execute them? Call that on the host that will run them.
 * @fn [in] a further check of each program (build/libraries.h); NULL: existence only
 * Returns 0; KS_EINVAL with the entry and what is wrong with its program. */
int ks_programs_check(const struct ks_grid *g, ks_program_fn fn, void *ctx, struct ks_err *err);

/* ks_programs_commands() - the command of every run, one per line as a shell takes it, problems in
 * the order of the grid; repeats once. Appended.
 * @n_left_out [out] pairs of a problem and a program that cannot run it
 * As ks_programs_check(). */
int ks_programs_commands(const struct ks_grid *g, struct ks_buf *text_out, uint64_t *n_left_out,
                         struct ks_err *err);

#endif
