/* SPDX-License-Identifier: MIT */
/* side.h - one column of a joined table, for all of its rows. */
#ifndef KS_ANALYSIS_SIDE_H
#define KS_ANALYSIS_SIDE_H

#include "analysis/data/catalogue.h"

struct ks_side {
    uint8_t type; /* enum ks_df_type */
    size_t n;
    union { /* [n] owned; texts are borrowed from the file */
        double *f64;
        int64_t *i64;
        const char **text;
    } values;
    uint8_t *missing; /* [n] owned */
};

/* Rows of a table that is joined: runs, problems, kernels (traits, too), devices, blocks. */
size_t ks_side_rows(const struct ks_store_file *f, unsigned from);

/* ks_side_fill() - a column of one of these tables, or a trait of /kernels: integers if all of the
 * trait's values are written as such.
 * @side_out the caller's to release, whatever is returned; f must stay open
 * Returns 0; KS_EINVAL the table is not joined; KS_ENOMEM. */
int ks_side_fill(const struct ks_store_file *f, const struct ks_source *source,
                 struct ks_side *side_out, struct ks_err *err);
void ks_side_release(struct ks_side *side);

#endif
