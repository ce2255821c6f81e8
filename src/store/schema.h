/* SPDX-License-Identifier: MIT */
/* schema.h - the tables of results.h5 as data: columns of the structs in rows.h, made from the
 * lists in record/measured.h and record/tables.h. They drive writing, reading, checking,
 * training.csv and the schema texts. */
#ifndef KS_STORE_SCHEMA_H
#define KS_STORE_SCHEMA_H

#include "record/columns.h"
#include "store/rows.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ks_table_def {
    const char *path, *title;
    const struct ks_column *columns; /* [n_columns] */
    size_t n_columns;
    size_t row_size; /* of the struct */
};

enum ks_table_id {
    KS_T_RUNS,
    KS_T_HOSTS,
    KS_T_DEVICES,
    KS_T_PROBLEMS, /* its fixed columns; the dimensions are added per file */
    KS_T_KERNELS,
    KS_T_TRAITS,
    KS_T_BLOCKS,
    KS_T_EVENTS,
    KS_T_MEASUREMENTS,
    KS_T_ATTEMPTS,
    KS_T_FAILURES,
    KS_T_MISMATCHES,
    KS_T_COUNT
};

extern const struct ks_table_def ks_table_defs[KS_T_COUNT];

#define KS_SAMPLES_PATH "/samples/time_ns"

/* NULL when the table has no such column. */
const struct ks_column *ks_table_column(const struct ks_table_def *def, const char *name);

/* The column of a dimension, as member dim[i] of struct ks_problem_row. name: borrowed. */
struct ks_column ks_dim_column_def(const char *name, uint32_t i);

/* Whether the member at `at` is other than the column's missing value. */
bool ks_column_has(const struct ks_column *c, const void *at);

/* Bytes of a scalar in the file; 0 for texts. */
size_t ks_col_bytes(uint8_t type);

#endif
