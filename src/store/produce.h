/* SPDX-License-Identifier: MIT */
/* produce.h - the second pass: every row of every table, in the order of the file, from the
 * journals and their index. Gather writes what comes out, check compares it with what is in the
 * file. Private to src/store. */
#ifndef KS_STORE_PRODUCE_H
#define KS_STORE_PRODUCE_H

#include "store/index.h"

struct ks_sink {
    void *ctx;
    int (*row)(void *ctx, enum ks_table_id table, const void *row, struct ks_err *err);
    int (*samples)(void *ctx, const float *ns, size_t n, struct ks_err *err);
};

/* The records must be where the index saw them: KS_EFORMAT when a journal changed in between, other
 * than by growing. */
int ks_produce(const struct ks_index *x, const struct ks_sink *sink, struct ks_err *err);

/* A row of which nothing is known: attempt 1, no outcome, every other column without a value.
 * KS_ENOMEM. */
int ks_row_init(struct ks_row *row, struct ks_err *err);
/* What a row says of its samples; none: no value. @scratch [n] is overwritten. */
void ks_row_stats(struct ks_row *row, const double *ns, size_t n, double clock_ns, double *scratch);

/* Whether a record gets a row of /failures; its wrong_box as text [KS_BOX_TEXT], returns the
 * length. */
bool ks_has_failure(const struct ks_record *r);
size_t ks_box_text(const struct ks_record *r, char *out);
/* Whether its n_denied means anything: its worker counted refused calls. */
bool ks_counts_denied(const struct ks_record *r);

#endif
