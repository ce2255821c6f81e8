/* SPDX-License-Identifier: MIT */
/* columns.h - what a column of the results is: the rows of the tables in measured.h and tables.h,
 * as data. results.h5, training.csv, `ksweep-analyze table --schema` and docs/results.md are made
 * from these rows or are checked against them. */
#ifndef KS_RECORD_COLUMNS_H
#define KS_RECORD_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How a value is held in memory and in results.h5. */
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

/* How a table of text shows a value. Texts and plain numbers are shown as they are. */
enum ks_col_show {
    KS_SHOW_PLAIN,
    KS_SHOW_HEX,     /* an id of 64 bits: 16 digits */
    KS_SHOW_OUTCOME, /* ks_outcome_text */
    KS_SHOW_FLAGS,   /* ks_flags_text: "contaminated|suspect" */
    KS_SHOW_STOP,    /* ks_stop_text; "" if there was no sampling */
    KS_SHOW_CHECK,   /* "passed", "failed"; "" if it was not run */
    KS_SHOW_YES_NO   /* 1 "yes", 2 "no"; "" if not known */
};

enum ks_col_fill { KS_FILL_NONE, KS_FILL_MISSING };

/* A value of a measurement that stands for nothing unless something took place
 * (analysis/data/fill.c). */
enum ks_col_when {
    KS_WHEN_ALWAYS,
    KS_WHEN_CHECKED,    /* any check ran */
    KS_WHEN_TOLERANCED, /* the tolerance check ran */
    KS_WHEN_TIMED,      /* samples were taken */
    KS_WHEN_RUN         /* a worker ran the cell */
};

/* What a model may do with a column. */
enum ks_col_role {
    KS_CR_ID,        /* names the row or another one; joins and groups, never a feature */
    KS_CR_FEATURE,   /* known before anything is measured: may be an input */
    KS_CR_LABEL,     /* what is to be predicted */
    KS_CR_NEVER,     /* measured together with the label and tells it: never an input */
    KS_CR_PROVENANCE /* when, where and how the row came about */
};
#define KS_CR_COUNT 5

struct ks_column {
    const char *name;
    uint8_t type;    /* enum ks_col_type */
    uint8_t show;    /* enum ks_col_show */
    uint8_t fill;    /* KS_FILL_MISSING: `missing` stands for "no value" */
    uint8_t when;    /* enum ks_col_when */
    uint8_t role;    /* enum ks_col_role */
    bool is_in_csv;  /* a column of training.csv */
    uint32_t offset; /* of the member in the row's struct */
    uint32_t cap;    /* TEXT: bytes of the member, with its terminator */
    double missing;
    const char *units; /* "" = none */
    const char *doc;   /* one line of Markdown */
};

const char *ks_col_type_text(uint8_t type); /* "uint32", "utf8" */
const char *ks_col_role_text(uint8_t role); /* "id", "feature", "label", "never", "provenance" */

/* What stands for "no value" in results.h5, for people: "-1", "0 without timing", "" for a column
 * that always has one. */
void ks_column_missing_text(const struct ks_column *c, char text_out[48]);

/* ---- names of earlier versions ---- */

/* The schema minor that gave columns their present names. */
#define KS_RENAMED_MINOR 5
/* Where training.csv had names of its own. */
#define KS_RENAMED_CSV "training.csv"

/* ks_column_old_name() - the name of a column before KS_RENAMED_MINOR; ks_column_new_name() the
 * opposite.
 * @table path in results.h5 ("/attempts") or KS_RENAMED_CSV
 * Returns a static text, or the name that was given if it never changed. */
const char *ks_column_old_name(const char *table, const char *name);
const char *ks_column_new_name(const char *table, const char *old);

/* The column of a problem's dimension: its name in problem lists, except where that is an attribute
 * of every pandas data frame. Static or `dim` itself. */
const char *ks_dim_column(const char *dim);

/* The column of a trait: this and its name, in training.csv and /kernel_traits/<family>. */
#define KS_TRAIT_PREFIX   "trait_"
#define KS_FEATURE_PREFIX "feature_" /* `table --features` */

/* ---- building blocks of the lists (measured.h, tables.h) ---- */

#define KS_NOTHING(...)

/* Members of structs. */
#define KS_MEMBER_U8(name)      uint8_t name
#define KS_MEMBER_U32(name)     uint32_t name
#define KS_MEMBER_U64(name)     uint64_t name
#define KS_MEMBER_I32(name)     int32_t name
#define KS_MEMBER_I64(name)     int64_t name
#define KS_MEMBER_F64(name)     double name
#define KS_MEMBER_F32(name)     double name
#define KS_MEMBER_POINTER(name) const char *name

/* Without a value: never, a value that stands for it, or a condition. */
#define KS_COL_NONE        .fill = KS_FILL_NONE
#define KS_COL_MISS(value) .fill = KS_FILL_MISSING, .missing = (value)
#define KS_COL_IF(what)    .when = KS_WHEN_##what

/* Where a column is: FILE in results.h5 only, CSV also in training.csv; of struct ks_row: ALL in
 * /measurements, /attempts and training.csv, BOTH in the first two, VIEW, VIEW_CSV and ATTEMPTS. */
#define KS_CSV_FILE     false
#define KS_CSV_CSV      true
#define KS_CSV_ALL      true
#define KS_CSV_BOTH     false
#define KS_CSV_VIEW     false
#define KS_CSV_VIEW_CSV true
#define KS_CSV_ATTEMPTS false

#endif
