/* SPDX-License-Identifier: MIT */
/* fill.h - one column of a batch from packed rows of /measurements. */
#ifndef KS_ANALYSIS_FILL_H
#define KS_ANALYSIS_FILL_H

#include "analysis/data/catalogue.h"
#include "analysis/data/words.h"
#include "store/batch.h"

/* The word of a number, once found. */
struct ks_spelling {
    uint32_t number, code;
};

struct ks_fill {
    const struct ks_source *source; /* of /measurements; borrowed */
    uint8_t type;                   /* enum ks_df_type */
    bool is_word;                   /* a number that is shown as a word */
    struct ks_place at, needs[2];   /* needs: one of them is not 0, or there is no value */
    size_t n_needs;
    struct ks_words words;        /* of texts */
    struct ks_spelling *spelling; /* [n_spellings] */
    size_t n_spellings;
    union {
        double *f64;
        int64_t *i64;
    } values;         /* [cap] numbers */
    uint8_t *missing; /* [cap] numbers */
    uint32_t *code;   /* [cap] texts */
};

/* KS_EINVAL: the file's schema has no such column. */
int ks_fill_init(struct ks_fill *c, const struct ks_source *source, const struct ks_batch *b,
                 struct ks_err *err);
void ks_fill_release(struct ks_fill *c);
int ks_fill_reserve(struct ks_fill *c, size_t cap, struct ks_err *err); /* KS_ENOMEM */
/* Rows [at, at + n) of packed, rows of `stride` bytes, into the same places; within the capacity.
 * KS_ENOMEM. */
int ks_fill_rows(struct ks_fill *c, const uint8_t *packed, size_t stride, size_t at, size_t n,
                 struct ks_err *err);

/* A number of one packed row; the missing value where the file lacks the column. */
int64_t ks_place_i64(const struct ks_place *p, const uint8_t *row);
/* The integer of a KS_COL_* type at any address. */
int64_t ks_integer_at(uint8_t type, const void *at);

#endif
