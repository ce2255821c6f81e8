/* SPDX-License-Identifier: MIT */
/* catalogue.h - the columns that a frame can have: name, where the value lies, how it is shown. One
 * list for every reader and writer.
 *
 * Three kinds are not in the list because they depend on the file or on other rows: dimensions of
 * problems (by their names in the file), traits of instances ("trait_<key>"), and what
 * analysis/learn derives (KS_FROM_LEARN: present in the list, filled there). */
#ifndef KS_ANALYSIS_CATALOGUE_H
#define KS_ANALYSIS_CATALOGUE_H

#include "analysis/data/frame.h"
#include "store/store.h"

#define KS_TRAIT_PREFIX "trait_"

enum ks_from {
    KS_FROM_ROW, /* /measurements */
    KS_FROM_RUN,
    KS_FROM_PROBLEM,
    KS_FROM_KERNEL,
    KS_FROM_DEVICE,
    KS_FROM_BLOCK,
    KS_FROM_LEARN,
    KS_N_FROM
};

/* How a member of a joined table's row is held. */
enum ks_held {
    KS_HELD_TEXT, /* char[] */
    KS_HELD_U8,
    KS_HELD_U32,
    KS_HELD_U64,
    KS_HELD_I32,
    KS_HELD_I64,
    KS_HELD_F64
};

/* A number of /measurements that is shown as a word. */
enum ks_spelled {
    KS_SPELLED_NOT,
    KS_SPELLED_FLAGS,
    KS_SPELLED_STOP,
    KS_SPELLED_CHECK, /* "passed", "failed" */
    KS_SPELLED_YES_NO
};

/* A value of /measurements that means nothing unless something took place. */
enum ks_when { KS_ALWAYS, KS_IF_CHECKED, KS_IF_ELEMENTWISE, KS_IF_TIMED, KS_IF_RUN };

struct ks_source {
    const char *name, *unit;
    uint8_t from;     /* enum ks_from */
    uint8_t type;     /* enum ks_df_type; of KS_FROM_ROW: that of the file's column */
    uint8_t show;     /* enum ks_df_show */
    const char *file; /* KS_FROM_ROW: the column's name in /measurements */
    uint8_t spelled, when;
    bool is_ms;      /* nanoseconds shown as milliseconds, 0 = missing */
    uint8_t held;    /* joined tables */
    uint32_t offset; /* of the member in the row's struct */
    bool has_missing;
    double missing;
};

/* NULL when no column of the list has that name. */
const struct ks_source *ks_source_find(const char *name);

/* A list of names, each owned. Zero-initialised = empty. */
struct ks_names {
    char **at;
    size_t n, cap;
};
void ks_names_release(struct ks_names *names);
int ks_names_add(struct ks_names *names, const char *name, struct ks_err *err); /* KS_ENOMEM */
/* Adds it unless it is in. */
int ks_names_need(struct ks_names *names, const char *name, struct ks_err *err);

/* The columns of training.csv of this file, in order. */
int ks_training_columns(const struct ks_store_file *f, struct ks_names *names_out,
                        struct ks_err *err);

#endif
