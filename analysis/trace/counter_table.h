/* SPDX-License-Identifier: MIT */
/* counter_table.h - hardware counters of kernel launches, whatever profiler wrote them: a row per
 * launch, a column per counter, in order of first appearance. */
#ifndef KS_TRACE_COUNTER_TABLE_H
#define KS_TRACE_COUNTER_TABLE_H

#include "base/err.h"
#include "trace/names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KS_TEXT_NONE KS_NAME_NONE

struct ks_counter_row {
    uint32_t file, kernel;                             /* texts */
    uint32_t op_stack, top_op, bottom_op, dims, types; /* texts or KS_TEXT_NONE */
    int64_t dispatch;                                  /* the profiler's number; -1: none */
    int64_t rank, device, stream;                      /* -1: unknown */
    int64_t launches;                                  /* that the row stands for */
    int64_t start_ns;                                  /* -1: unknown; only for the order */
    uint32_t cc;                                       /* 10 major + minor; 0: unknown */
    bool has_time;
    double time_ns; /* that the kernel ran, of all its launches; never a range's duration */
};

struct ks_counter_column {
    uint32_t name;    /* text: "dram__bytes.sum" */
    uint32_t unit;    /* text: "byte"; "" where the source tells none */
    double *value;    /* [cap] */
    uint8_t *present; /* [cap] 1 = there is a value */
    uint32_t cap;
};

struct ks_counter_table {
    struct ks_names texts;
    struct ks_names row_keys;    /* row i has key i */
    struct ks_names column_keys; /* likewise */
    struct ks_names processes;   /* that have rows */
    struct ks_counter_row *rows; /* [n_rows] */
    struct ks_counter_column *columns;
    uint32_t n_rows, cap_rows, n_columns, cap_columns;
    /* n_other: lines or records without a launch; n_differing: values that a later pass measured
     * otherwise (the first stays); n_copies: memory copies, left out; n_unjoined: launches of a
     * kernel trace that have no counters, left out. */
    uint64_t n_other, n_differing, n_copies, n_unjoined;
    uint64_t n_without_op; /* ranges: the trace has another number of launches */
    uint64_t n_damaged;    /* traces of which something was skipped */
};

/* All zero is empty. */
void ks_counter_table_release(struct ks_counter_table *t);
/* The number of a text; `text` is none of the table's own, which move. KS_ENOMEM. */
int ks_counter_text(struct ks_counter_table *t, const char *text, uint32_t *number_out,
                    struct ks_err *err);
static inline const char *ks_counter_text_of(const struct ks_counter_table *t, uint32_t number)
{
    return ks_names_text(&t->texts, number);
}

/* The row of a launch: the same `process` (a run of the profiled program), dispatch and kernel are
 * the same launch. New rows know nothing but these. KS_ENOMEM; KS_EFORMAT: too many. */
int ks_counter_row(struct ks_counter_table *t, const char *process, int64_t dispatch,
                   const char *kernel, uint32_t *row_out, struct ks_err *err);
bool ks_counter_has_process(const struct ks_counter_table *t, const char *process);
bool ks_counter_has_row(const struct ks_counter_table *t, const char *process, int64_t dispatch,
                        const char *kernel);
int ks_counter_column(struct ks_counter_table *t, const char *name, const char *unit,
                      uint32_t *column_out, struct ks_err *err);
int ks_counter_put(struct ks_counter_table *t, uint32_t row, uint32_t column, double value,
                   struct ks_err *err);
bool ks_counter_get(const struct ks_counter_table *t, uint32_t row, uint32_t column,
                    double *value_out);
/* The first column of that name and one of its units: `unit` or none. KS_TEXT_NONE: absent. */
uint32_t ks_counter_find(const struct ks_counter_table *t, const char *name, const char *unit);

#endif
