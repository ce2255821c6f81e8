/* SPDX-License-Identifier: MIT */
/* catalogue.h - which columns a frame can have, by name. Names, types, units, missing values and
 * roles are those of the one column table (record/columns.h, store/schema.h); added are the
 * dimensions of problems, the traits of instances ("trait_<key>"), and what analysis/learn
 * computes.
 *
 * A name is that of a column of /measurements, else of training.csv. Columns of joined tables that
 * are in neither go by their path: "/blocks/anchor_ns". */
#ifndef KS_ANALYSIS_CATALOGUE_H
#define KS_ANALYSIS_CATALOGUE_H

#include "analysis/data/frame.h"
#include "store/store.h"

/* Where a value is from: one of enum ks_table_id, or the traits of an instance, the shape class of
 * a problem (grid/problem_class.h), or analysis/learn. */
enum { KS_FROM_TRAITS = KS_T_COUNT, KS_FROM_CLASS, KS_FROM_LEARN, KS_N_FROM };

/* What the oracle (analysis/learn/oracle.h) says of a row; behind the columns of training.csv, when
 * asked for. As KS_COMPUTED_COLUMNS. */
#define KS_ORACLE_COLUMNS(D)                                                                       \
    D(F32, chance_best, "1", NEVER, "chance that the instance is the best of its problem")         \
    D(F32, chance_near_best, "1", NEVER, "chance that it is within 0.5 % of the best")             \
    D(F32, expected_regret, "1", NEVER, "expected log of its time over that of the best")

/* Names, order and format of the columns of training.csv. */
enum ks_columns_version {
    KS_COLUMNS_V1, /* as before schema 1.5: old names, block_id decimal, durations in ms */
    KS_COLUMNS_V2
};

struct ks_source {
    const char *name;     /* of the column in the frame */
    struct ks_column def; /* def.name: in the column table */
    unsigned from;
    bool is_ms;     /* nanoseconds that are shown as ms, 0 as nothing (KS_COLUMNS_V1) */
    bool is_number; /* what is shown as a word stays the number that it is in the file */
};

/* A list of columns. Zero-initialised = empty. */
struct ks_sources {
    struct ks_source *at; /* [n] */
    size_t n, cap;
    char **owned; /* [n_owned] names of traits */
    size_t n_owned;
};
void ks_sources_release(struct ks_sources *s);

/* ks_sources_need() - adds the column of that name unless the list has it.
 * @f [in] dimensions and traits are its own; it must stay open
 * @number_as [in] NULL; else the number of a column that is shown as a word, under this name
 * Both names are borrowed. Returns 0; KS_EINVAL no such column, with the nearest name; KS_ENOMEM.
 */
int ks_sources_need(struct ks_sources *s, const struct ks_store_file *f, const char *name,
                    const char *number_as, struct ks_err *err);

/* ks_sources_training() - adds the columns of training.csv, grouped by role (V2) or in their old
 * order (V1). f NULL: every dimension there is, and one column for all traits, to show the schema.
 * Returns 0; KS_ENOMEM. */
int ks_sources_training(struct ks_sources *s, const struct ks_store_file *f,
                        enum ks_columns_version version, struct ks_err *err);

/* Adds KS_ORACLE_COLUMNS. KS_ENOMEM. */
int ks_sources_oracle(struct ks_sources *s, struct ks_err *err);

/* How a frame holds and shows values of this column. */
uint8_t ks_source_type(const struct ks_source *source); /* enum ks_df_type */
uint8_t ks_source_show(const struct ks_source *source); /* enum ks_df_show */

#endif
