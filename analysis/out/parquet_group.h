/* SPDX-License-Identifier: MIT */
/* parquet_group.h - rows of a table held column by column until they are a row group of a Parquet
 * file. A value that rows share (a text, a column of a joined table) is held once. Private to
 * parquet*.c. */
#ifndef KS_ANALYSIS_PARQUET_GROUP_H
#define KS_ANALYSIS_PARQUET_GROUP_H

#include "analysis/data/frame.h"
#include "analysis/data/words.h"

#define KS_PQ_NONE UINT32_MAX /* an index: the row has no value */

enum ks_pq_kind { KS_PQ_TEXT, KS_PQ_HEX, KS_PQ_SIGNED, KS_PQ_UNSIGNED, KS_PQ_DOUBLE, KS_PQ_FLOAT };

/* Distinct numbers, by their bits. Zero-initialised = empty. */
struct ks_pq_numbers {
    uint64_t *value; /* [n] */
    uint32_t *slot;  /* [n_slots] number + 1, 0 = free */
    uint32_t n, cap, n_slots;
};

struct ks_pq_column {
    const char *name, *unit; /* borrowed from the frame */
    uint8_t kind, role;      /* enum ks_pq_kind, ks_col_role */
    bool is_indexed;         /* rows are indices into texts or numbers; else values */
    struct ks_words texts;
    struct ks_pq_numbers numbers;
    uint32_t *map; /* [n_map] code of the frame -> index; KS_PQ_NONE = not met in this group */
    size_t n_map;
    uint32_t *index;  /* [cap] */
    uint64_t *value;  /* [cap] bits of int64 or double */
    uint8_t *missing; /* [cap] beside value */
};

struct ks_pq_group {
    struct ks_pq_column *columns; /* [n_columns] */
    size_t n_columns, n_rows, cap;
};

int ks_pq_group_init(struct ks_pq_group *g, const struct ks_df *f, size_t n_columns,
                     struct ks_err *err);
void ks_pq_group_release(struct ks_pq_group *g);
/* Adds the rows of a frame: KS_ENOMEM. */
int ks_pq_group_add(struct ks_pq_group *g, const struct ks_df *f, struct ks_err *err);
void ks_pq_group_clear(struct ks_pq_group *g); /* no rows; keeps the memory */

#endif
