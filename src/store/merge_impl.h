/* SPDX-License-Identifier: MIT */
/* merge_impl.h - what merge.c and merge_rows.c share. Private to src/store. */
#ifndef KS_STORE_MERGE_IMPL_H
#define KS_STORE_MERGE_IMPL_H

#include "store/merge.h"
#include "store/table.h"
#include "store/whole.h"

/* One file: where its rows of the joined tables are in the new one; KS_NO_ROW = left out. */
struct ks_merge_source {
    const char *path;
    uint32_t *run, *device, *problem, *kernel, *block;
    uint64_t *attempt; /* [n_attempts] row of the new /attempts; filled while that is written */
    uint32_t n_runs, n_devices, n_problems, n_kernels, n_blocks;
    uint64_t n_attempts;
};

struct ks_merge_state {
    struct ks_index index;
    struct ks_merge_source *sources; /* [n_sources] */
    size_t n_sources;
    struct ks_keys run_keys;
    struct ks_list taken; /* [run_keys] which copy of a run counts (merge.c) */
    struct ks_merge_totals totals;
    uint64_t n_rows[KS_T_COUNT], n_samples; /* at most */
    /* while rows are written */
    hid_t file, samples;
    float *window; /* samples from window_at on */
    uint64_t window_at, n_window, n_file_samples;
    uint64_t next_attempt, next_sample;
};

/* merge_rows.c: lengths, counts and events of the big tables, before anything is written; then
 * their rows. */
int ks_merge_plan_rows(struct ks_merge_state *m, struct ks_err *err);
int ks_merge_produce(void *ctx, const struct ks_sink *sink, struct ks_err *err);

#endif
