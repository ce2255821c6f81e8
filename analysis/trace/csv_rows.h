/* SPDX-License-Identifier: MIT */
/* csv_rows.h - a text of CSV (RFC 4180), record by record. Quoted fields may hold separators, line
 * ends and doubled quotes. Nothing is assumed of the number of fields. */
#ifndef KS_TRACE_CSV_ROWS_H
#define KS_TRACE_CSV_ROWS_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#define KS_CSV_NONE SIZE_MAX

struct ks_csv_rows {
    const char *name;     /* of the file, for messages; borrowed */
    const char *at, *end; /* what was not yet read; borrowed */
    char separator;       /* ',' unless the caller changes it before the first record */
    uint64_t line;        /* where the current record begins, from 1 */
    uint64_t n_lines;     /* read so far */
    const char **field;   /* [n] of the current record, NUL-terminated; valid until the next one */
    size_t n;
    size_t cap;
    struct ks_buf text; /* the fields' characters */
    size_t *offset;     /* [cap] */
};

void ks_csv_rows_open(struct ks_csv_rows *r, const char *text, size_t len, const char *name);
void ks_csv_rows_close(struct ks_csv_rows *r);
/* 1 = a record, 0 = the end of the text. KS_EFORMAT: a quote is never closed; KS_ENOMEM. NUL bytes
 * in fields become '?'. Blank lines are skipped. */
int ks_csv_rows_next(struct ks_csv_rows *r, struct ks_err *err);
/* Skips whole lines, without a look at their quotes. false: there is none. */
bool ks_csv_rows_skip_line(struct ks_csv_rows *r);

/* The names of the first record of a table, kept. */
struct ks_csv_header {
    char **name; /* [n], owned */
    size_t n;
};
int ks_csv_header_take(struct ks_csv_header *h, const struct ks_csv_rows *r, struct ks_err *err);
void ks_csv_header_release(struct ks_csv_header *h);
/* The index of a column, KS_CSV_NONE where there is none. */
size_t ks_csv_header_find(const struct ks_csv_header *h, const char *name);
/* The same for the first column whose name begins with `prefix`. */
size_t ks_csv_header_prefix(const struct ks_csv_header *h, const char *prefix);

/* The field of the current record, "" where the record is too short or column is KS_CSV_NONE. */
const char *ks_csv_field(const struct ks_csv_rows *r, size_t column);

#endif
