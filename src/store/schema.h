/* SPDX-License-Identifier: MIT */
/* schema.h - the tables of results.h5: one constant list of columns each, which drives writing,
 * reading, checking and the schema text. Private to src/store.
 *
 * To add a column (schema minor + 1): 1. a member in rows.h; 2. one line in schema.c; 3. where it
 * is filled (names.c, cells.c, produce.c); 4. its line in docs/results.md; 5. KS_BLESS=1 for
 * tests/golden/schema-*.txt. Columns are never removed and never change their meaning (major). */
#ifndef KS_STORE_SCHEMA_H
#define KS_STORE_SCHEMA_H

#include <stddef.h>
#include <stdint.h>

/* How a member is held in memory and in the file. */
enum ks_col_type {
    KS_COL_U8,
    KS_COL_U32,
    KS_COL_U64,
    KS_COL_I32,
    KS_COL_I64,
    KS_COL_F64,
    KS_COL_F32,    /* double in memory, float32 in the file */
    KS_COL_TEXT,   /* char[]: fixed-length UTF-8 in the file, null-padded, length from the data */
    KS_COL_POINTER /* const char *: the same in the file */
};

enum ks_col_fill { KS_FILL_NONE, KS_FILL_MISSING };

struct ks_column {
    const char *name;
    uint8_t type;    /* enum ks_col_type */
    uint8_t fill;    /* KS_FILL_MISSING: `missing` stands for "no value" */
    uint32_t offset; /* of the member in the row's struct */
    uint32_t cap;    /* TEXT: bytes of the member, with its terminator */
    double missing;
    const char *units; /* "" = none */
};

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

/* Bytes of a scalar in the file; 0 for texts. */
size_t ks_col_bytes(uint8_t type);

#endif
