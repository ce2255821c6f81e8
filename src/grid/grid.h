/* SPDX-License-Identifier: MIT */
/* grid.h - the lazy grid: problems x instances x one condition. Nothing per cell is stored.
 *
 * A pair of a problem and an instance is a cell only if the instance computes such problems: the
 * same operator, direction, dtype, layout and number of spatial dimensions. Other pairs do not
 * exist: they have no record, and no count includes them. What exists but cannot run here
 * (ks_grid_unsupported) is a cell like any other. */
#ifndef KS_GRID_H
#define KS_GRID_H

#include "base/err.h"
#include "grid/family.h"
#include "grid/job.h"
#include "grid/problem_table.h"
#include "op/op.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_grid {
    struct ks_job job;                /* resolved */
    struct ks_problem_table problems; /* distinct, in order of priority: count x flops, big first,
                                         ties by id */
    uint32_t n_problems;              /* problems.n */
    uint32_t n_left_out;              /* problems that "exclude" took out of the job's lists */
    struct ks_family *families;       /* [n_families] */
    uint32_t n_families;
    struct ks_instance *instances; /* [n_instances + n_helpers] distinct, in config order */
    uint32_t n_instances;
    uint32_t n_helpers;  /* behind them: built like them, never measured; of a GPU the judges */
    uint64_t condition;  /* condition_id */
    uint64_t digest;     /* of condition, problem ids and instance ids in canonical order */
    uint64_t n_excluded; /* combinations that rules of families exclude */
    uint32_t *by_problem_id, *by_instance_id; /* positions in the order of ids */
    struct ks_domains *domains; /* of ks_grid_has_cell(); NULL: every pair is a cell */
};

/* Load a job file and everything it names. Collisions of 64-bit ids are refused, and a job without
 * any cell. KS_EINVAL, KS_EFORMAT, KS_ENOENT with file, line or key, and the fix. */
int ks_grid_load(const char *job_path, struct ks_grid *grid_out, struct ks_err *err);
/* As above, of a job that was loaded already: it is taken, also on failure, and zero then. The arch
 * of a GPU must be known: see ks_seat_native.
 */
int ks_grid_load_job(struct ks_job *job, struct ks_grid *grid_out, struct ks_err *err);
/* As above, from the text of a resolved job (journal); paths in it are absolute. */
int ks_grid_load_text(const char *text, const char *name, struct ks_grid *grid_out,
                      struct ks_err *err);
void ks_grid_release(struct ks_grid *g);

bool ks_grid_has_cell(const struct ks_grid *g, uint32_t i_problem, uint32_t i_instance);
/* Problems of one domain (operator, direction, dtype, layout, number of spatial dimensions) have
 * cells with the same instances, and ks_grid_unsupported() says the same of them: the number of
 * domains, the one of a problem, and the first problem of one. */
uint32_t ks_grid_n_domains(const struct ks_grid *g);
uint32_t ks_grid_domain(const struct ks_grid *g, uint32_t i_problem);
uint32_t ks_grid_domain_problem(const struct ks_grid *g, uint32_t domain);
/* Is the instance measured on some problem? A helper counts as one that is. */
bool ks_grid_is_used(const struct ks_grid *g, uint32_t i_instance);
/* Of a pair that is no cell of a loaded grid: "instance is grouped_conv forward fp32 2d nhwgc,
 * problem is grouped_conv forward bf16 2d nhwgc". */
void ks_grid_no_cell(const struct ks_grid *g, uint32_t i_problem, uint32_t i_instance,
                     struct ks_buf *text_out);
uint64_t ks_grid_n_cells(const struct ks_grid *g);
uint32_t ks_grid_n_cells_of(const struct ks_grid *g, uint32_t i_problem);
/* Instances without any cell: they compute no problem of the grid. */
uint32_t ks_grid_n_idle_instances(const struct ks_grid *g);
/* What is built: the instances, and the helpers behind them. */
uint32_t ks_grid_n_built(const struct ks_grid *g);
/* Some instance computes with several threads (role "threads"). */
bool ks_grid_has_threads(const struct ks_grid *g);
/* -1 when absent. Binary search over ids. */
int64_t ks_grid_problem(const struct ks_grid *g, uint64_t problem_id);
int64_t ks_grid_instance(const struct ks_grid *g, uint64_t instance_id);

/* The plug-in that brings an instance's kernel, absolute; "": it is compiled. */
const char *ks_grid_plugin(const struct ks_grid *g, uint32_t i_instance);

/* Why this host cannot run an instance (static or grid-owned text), NULL when it can: "needs
 * avx512f, this CPU lacks it". Says so of a pair that is no cell, too. The sim device runs no code:
 * it takes every family's instances and lacks nothing. */
const char *ks_grid_unsupported(const struct ks_grid *g, uint32_t i_problem, uint32_t i_instance);

/* The condition's canonical text: cache mode, data profile, clock policy, protocol version. */
void ks_condition_canonical(const struct ks_job *job, struct ks_buf *text_out);

#endif
