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

void ks_side_release(struct ks_side *side);
/* Rows of the table that `from` names (not KS_FROM_ROW, not KS_FROM_LEARN). */
size_t ks_side_rows(const struct ks_store_file *f, enum ks_from from);

/* All three: KS_ENOMEM; *side_out is the caller's to release, f must stay open. */
int ks_side_fill(const struct ks_store_file *f, const struct ks_source *source,
                 struct ks_side *side_out, struct ks_err *err);
/* Of problems, dimension i. */
int ks_side_dim(const struct ks_store_file *f, uint32_t i, struct ks_side *side_out,
                struct ks_err *err);
/* Of instances, the trait of that key: integers when all of its values are written as such. */
int ks_side_trait(const struct ks_store_file *f, const char *key, struct ks_side *side_out,
                  struct ks_err *err);

#endif
