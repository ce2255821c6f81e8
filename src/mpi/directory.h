/* SPDX-License-Identifier: MIT */
/* directory.h - DIR: created or resumed by rank 0; job.json, journal/, log, status.json. */
#ifndef KS_MPI_DIRECTORY_H
#define KS_MPI_DIRECTORY_H

#include "base/err.h"
#include "base/log.h"
#include "grid/grid.h"
#include "journal/journal.h"
#include "journal/ledger.h"
#include "mpi/coord.h"
#include "mpi/run.h"

#include <stdint.h>

struct ks_directory;

/* New: DIR must not exist (KS_EEXIST). Resume: the journal's job must be this one (differences that
 * decide what is measured are refused with a list; others are logged and journalled), or a part of
 * it with --extend. KS_EOWNER: another rank 0 is alive. Nothing on disk is changed when it fails.
 * A long journal takes longer to read than the other ranks bear silence: alive (NULL: nobody else)
 * is called now and then meanwhile. */
typedef void (*ks_directory_alive_fn)(void *ctx);
int ks_directory_open(const struct ks_run_options *o, const struct ks_grid *grid,
                      struct ks_log *log, ks_directory_alive_fn alive, void *ctx,
                      struct ks_directory **d_out, struct ks_err *err);
/* The same refusals, but for an owner that is alive, without changing anything. Logs nothing. */
int ks_directory_check(const struct ks_run_options *o, const struct ks_grid *grid,
                       struct ks_err *err);
struct ks_journal *ks_directory_journal(struct ks_directory *d);
struct ks_ledger *ks_directory_ledger(struct ks_directory *d);
const char *ks_directory_path(const struct ks_directory *d);
uint32_t ks_directory_retry(const struct ks_directory *d); /* bit mask of outcomes */

/* The directory that these options resume, where it holds a journal; else "". */
void ks_directory_resumed(const struct ks_run_options *o, const struct ks_job *job, char *dir_out,
                          size_t cap);

/* Counts, exit code and reason as they stand. */
void ks_directory_result(const struct ks_directory *d, const struct ks_coord *c,
                         struct ks_run_result *out);
int ks_directory_close(struct ks_directory *d, struct ks_err *err); /* ends the segment in order */
void ks_directory_abandon(struct ks_directory *d);                  /* leaves it as it is */
void ks_directory_destroy(struct ks_directory *d);                  /* NULL is fine */

#endif
