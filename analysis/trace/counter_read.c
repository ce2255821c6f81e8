/* SPDX-License-Identifier: MIT */
/* counter_read.c - recognises a profiler's CSV by its header, and reads it into the table */
#include "analysis/trace/counter_read.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_WITHIN = 10000 }; /* lines */

/* Kernel traces last: they only add times to launches that are there. */
static const struct ks_counter_reader *const readers[] = {
    &ks_counters_ncu_details,    &ks_counters_ncu_raw,          &ks_counters_nsys_trace,
    &ks_counters_nsys_summary,   &ks_counters_rocprof_counters, &ks_counters_rocprof_wide,
    &ks_counters_rocprof_kernels
};
enum { N_READERS = sizeof(readers) / sizeof(readers[0]) };

/* ---- one text ---- */

int ks_counter_file_row(struct ks_counter_file *f, int64_t dispatch, const char *kernel,
                        uint32_t *row_out, struct ks_err *err)
{
    struct ks_counter_row *row;
    int rc = ks_counter_row(f->table, f->process, dispatch, kernel, row_out, err);

    if (rc < 0)
        return rc;
    row = &f->table->rows[*row_out];
    if (row->file == KS_TEXT_NONE)
        row->file = f->text;
    row->rank = f->rank;
    return 0;
}

int64_t ks_counter_whole(const struct ks_counter_file *f, size_t column, int64_t otherwise)
{
    const char *text = ks_csv_field(f->rows, column), *open = strrchr(text, '(');
    size_t n;

    if (strncmp(text, "Agent ", 6) == 0)
        text += 6;
    else if (open && text[strlen(text) - 1] == ')')
        text = open + 1;
    n = strspn(text, "0123456789");
    if (n == 0 || n > 18 || (text[n] && text[n] != ')'))
        return otherwise;
    return strtoll(text, NULL, 10);
}

static const struct ks_counter_reader *reader_of(const struct ks_csv_header *h)
{
    for (size_t i = 0; i < N_READERS; i++)
        if (readers[i]->matches(h))
            return readers[i];
    return NULL;
}

static char separator_of(const char *line, size_t n)
{
    size_t n_commas = 0, n_semicolons = 0;

    for (size_t i = 0; i < n; i++) {
        n_commas += line[i] == ',';
        n_semicolons += line[i] == ';';
    }
    return n_semicolons > n_commas ? ';' : ',';
}

/* Is the next line a header that somebody knows? Then the reader is behind it. */
static int try_header(struct ks_csv_rows *r, struct ks_csv_header *h,
                      const struct ks_counter_reader **reader_out, struct ks_err *err)
{
    const char *at = r->at, *nl = memchr(at, '\n', (size_t)(r->end - at));
    const size_t n = nl ? (size_t)(nl - at) : (size_t)(r->end - at);
    const uint64_t n_lines = r->n_lines;
    struct ks_err not_csv;

    if (!memmem(at, n, "Name", 4))
        return 0;
    r->separator = separator_of(at, n);
    if (ks_csv_rows_next(r, &not_csv) > 0) {
        int rc = ks_csv_header_take(h, r, err);

        if (rc < 0)
            return rc;
        *reader_out = reader_of(h);
        if (*reader_out)
            return 1;
        ks_csv_header_release(h);
    }
    r->at = at;
    r->n_lines = n_lines;
    return 0;
}

/* 1: found; 0: this is no file of counters. Lines before the header (==PROF==, NOTICE, what the
 * program printed) are skipped. */
static int find_header(struct ks_csv_rows *r, struct ks_csv_header *h,
                       const struct ks_counter_reader **reader_out, struct ks_err *err)
{
    for (int i = 0; i < HEADER_WITHIN && r->at < r->end; i++) {
        int rc = try_header(r, h, reader_out, err);

        if (rc != 0)
            return rc;
        (void)ks_csv_rows_skip_line(r);
    }
    return 0;
}

int ks_counter_csv_read(struct ks_counter_table *t, const struct ks_counter_csv *csv,
                        enum ks_counter_phase phase, struct ks_err *err)
{
    const struct ks_counter_reader *reader = NULL;
    struct ks_csv_rows rows;
    struct ks_csv_header header = { 0 };
    struct ks_counter_file f = { .path = csv->path,
                                 .process = csv->process,
                                 .rank = csv->rank,
                                 .rows = &rows,
                                 .header = &header,
                                 .table = t };
    int rc;

    ks_csv_rows_open(&rows, csv->text, csv->len, csv->path);
    rc = find_header(&rows, &header, &reader, err);
    if (rc == 1 && reader == &ks_counters_rocprof_kernels && phase == KS_COUNTERS_ALL_BUT_TIMES) {
        rc = KS_COUNTERS_LATER;
    } else if (rc == 1) {
        rc = ks_counter_text(t, csv->path, &f.text, err);
        if (rc == 0)
            rc = reader->read(&f, err);
        rc = rc < 0 ? rc : KS_COUNTERS_READ;
    }
    ks_csv_header_release(&header);
    ks_csv_rows_close(&rows);
    return rc;
}
