/* SPDX-License-Identifier: MIT */
/* whole.h - one results file from a producer of rows: under no name until it was closed, read back,
 * compared and synced. Private to src/store. */
#ifndef KS_STORE_WHOLE_H
#define KS_STORE_WHOLE_H

#include "store/produce.h"
#include "store/store.h"

struct ks_whole_plan {
    const struct ks_index *index; /* definitions, lengths of texts, traits; borrowed */
    uint64_t n_rows[KS_T_COUNT];  /* how many will come, for the chunk sizes */
    uint64_t n_samples;
    /* Hands every row of every table to the sink, in the order of the file. */
    int (*produce)(void *ctx, const struct ks_sink *sink, struct ks_err *err);
    void *ctx;
    bool reads_hdf5;     /* produce does: then no thread writes beside it */
    const char *keep_as; /* the old file gets this name; NULL or "": it is replaced */
};

/* ks_whole_write() - replaces out_path when the new file is whole.
 * @totals_io [in] n_cells and n_pending are stored; [out] on success also what was counted of rows
 * Returns 0; KS_ENOSPC, KS_EIO, KS_ENOMEM, the producer's error. The old file stays on failure. */
int ks_whole_write(const char *out_path, const struct ks_whole_plan *plan,
                   const struct ks_store_options *options, struct ks_store_totals *totals_io,
                   struct ks_err *err);

/* Rows of the tables that an index holds whole. */
void ks_whole_count(const struct ks_index *x, uint64_t n_rows_out[KS_T_COUNT]);
/* Hands on the rows of these tables. */
int ks_produce_small(const struct ks_index *x, const struct ks_sink *sink, struct ks_err *err);

#endif
