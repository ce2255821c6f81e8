/* SPDX-License-Identifier: MIT */
/* ck_csv.h - the 24 columns of Composable Kernel's grouped_conv_full_benchmark.py. */
#ifndef KS_ANALYSIS_CK_CSV_H
#define KS_ANALYSIS_CK_CSV_H

#include "analysis/data/catalogue.h"
#include "analysis/out/sink.h"

/* Zero-initialise before the first batch. Texts are borrowed from the file. */
struct ks_ck_csv {
    const char *direction, *dtype, *layout; /* of the first problem; NULL = none yet */
    uint32_t n_problems;                    /* that have a row */
    int64_t problem;                        /* row of /problems of the last row written */
};

/* Adds the columns that batches must have, as far as the file has them: f is its problems'
 * dimensions. KS_ENOMEM. */
int ks_ck_csv_need(const struct ks_store_file *f, struct ks_sources *sources, struct ks_err *err);
void ks_ck_csv_header(struct ks_sink *to);
/* ks_ck_csv_put() - rows of a batch.
 * @rows [in] [n] numbers of usable rows whose problem is known, ascending
 * latency_ms = median; non_zero counted over the whole output; problem_idx = order of first
 * appearance among the rows written.
 * Returns 0; KS_EUNSUPPORTED, naming the problem, for what the format cannot say: another operator,
 * asymmetric padding, a second direction, dtype or layout, an output that was not verified and
 * therefore not counted; as ks_sink_step. */
int ks_ck_csv_put(struct ks_ck_csv *c, const struct ks_df *f, const uint32_t *rows, size_t n,
                  struct ks_sink *to, struct ks_err *err);

/* ---- the same rows for other forms ---- */

#define KS_CK_DIMS 19

struct ks_ck_values {
    const char *kernel, *direction, *dtype, *arch; /* arch "": not known */
    uint32_t problem_idx;
    int64_t dim[KS_CK_DIMS], n_spatial, non_zero, n_units; /* n_units 0: not known */
    double latency_ms, tflops;
};
typedef int (*ks_ck_values_fn)(void *ctx, const struct ks_ck_values *v, struct ks_err *err);

/* As ks_ck_csv_put, but each row goes to fn. Texts are borrowed until the next batch. */
int ks_ck_each(struct ks_ck_csv *c, const struct ks_df *f, const uint32_t *rows, size_t n,
               ks_ck_values_fn fn, void *ctx, struct ks_err *err);
const char *ks_ck_dim_name(size_t i); /* "N", "C" ... "dilation_w" */

#endif
