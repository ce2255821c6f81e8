/* SPDX-License-Identifier: MIT */
/* cell.h - one cell of a run's directory: found by its ids, printed, run again. */
#ifndef KS_CMD_CELL_H
#define KS_CMD_CELL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "build/build.h"
#include "grid/grid.h"
#include "record/found.h"
#include "record/record.h"
#include "spawn/warden.h"
#include "topo/visible.h"

#include <stdint.h>

/* What a journal holds of one cell, and the job it belongs to. */
struct ks_cell_view {
    char dir[1024];
    struct ks_cell cell;
    uint64_t problem, instance; /* as asked for */
    struct ks_grid grid;
    uint32_t i_problem, i_instance;
    struct ks_record *records; /* [n_records] all attempts, in journal order; owned */
    uint32_t n_records;
    uint32_t attempt;               /* that counts; 0: none yet */
    struct ks_buf output;           /* what it printed last */
    struct ks_program_run *program; /* of a run of a program: its last attempt; NULL: none; owned */
};

/* name: see ks_cell_find(). KS_EINVAL, KS_ENOENT. */
int ks_cell_open(const char *dir, const char *name, struct ks_cell_view *v_out, struct ks_err *err);
void ks_cell_close(struct ks_cell_view *v);

/* One record as text for people. */
void ks_cell_print(const struct ks_record *r, struct ks_buf *to);

struct ks_cell_options {
    const char *cache_dir;
    bool trust_cache;
};
/* Exactly this cell again, alone: same artefact, inputs and condition, through warden and worker.
 * The record is printed; 1 = its outcome needs a look, else 0. */
int ks_cell_run(struct ks_cell_view *v, const struct ks_cell_options *o, struct ks_warden *warden,
                struct ks_buf *to, struct ks_err *err);
/* How a bare worker runs it: files that it needs, in DIR/cells/PROBLEM-INSTANCE, and what makes it
 * see the GPU that it ran on, where that one is to be seen. */
struct ks_cell_launch {
    char place[1200], worker[1024];
    struct ks_visible_env visible;
};
/* Writes the files. remarks: lines of a shell's comment about the device. */
int ks_cell_prepare(struct ks_cell_view *v, const struct ks_cell_options *o,
                    struct ks_warden *warden, struct ks_cell_launch *out, struct ks_buf *remarks,
                    struct ks_err *err);
/* The shell command for it. */
void ks_cell_command(const struct ks_cell_launch *l, struct ks_buf *to);
/* Becomes gdb with that worker, without a shell. Returns only when it fails. */
int ks_cell_debug(const struct ks_cell_launch *l, struct ks_err *err);

#endif
