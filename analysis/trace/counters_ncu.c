/* SPDX-License-Identifier: MIT */
/* counters_ncu.c - reads Nsight Compute's details page and raw page */
/* `ncu --csv` prints the details page, a line per metric; `--page raw` prints a line per launch,
 * and its second line holds units. Numbers are printed for the user's locale. */
#include "analysis/trace/counter_read.h"
#include "analysis/trace/counter_value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 1024 };

static const char asked_for[] = "Command line profiler metrics"; /* a section of the details page */

/* ---- the decimal point of a file ---- */

struct locale {
    enum ks_number_style style;
    uint64_t line; /* of the number that told it */
    char seen[40];
};

static int guess_number(struct locale *l, const struct ks_counter_file *f, const char *text,
                        struct ks_err *err)
{
    const enum ks_number_style style = ks_number_style(text);

    if (style != KS_STYLE_POINT && style != KS_STYLE_COMMA)
        return 0;
    if (l->style == KS_STYLE_EITHER) {
        l->style = style;
        l->line = f->rows->line;
        snprintf(l->seen, sizeof(l->seen), "%s", text);
    }
    if (l->style == style)
        return 0;
    return ks_fail(
        err, KS_EFORMAT, "%s:%llu: '%.40s' and '%s' (line %llu) are numbers in different locales",
        f->path, (unsigned long long)f->rows->line, text, l->seen, (unsigned long long)l->line);
}

/* Reads all records once; the next record is again the one behind the header. first_column: where
 * values begin; KS_CSV_NONE: only in `only`. */
static int guess_locale(struct ks_counter_file *f, size_t first_column, size_t only,
                        struct locale *out, struct ks_err *err)
{
    struct ks_csv_rows *r = f->rows;
    const char *at = r->at;
    const uint64_t n_lines = r->n_lines;
    struct locale l = { .style = KS_STYLE_EITHER };
    int rc;

    while ((rc = ks_csv_rows_next(r, err)) > 0) {
        if (only != KS_CSV_NONE)
            rc = guess_number(&l, f, ks_csv_field(r, only), err);
        for (size_t i = first_column; rc >= 0 && i < r->n; i++)
            rc = guess_number(&l, f, r->field[i], err);
        if (rc < 0)
            break;
    }
    r->at = at;
    r->n_lines = n_lines;
    *out = l;
    return rc < 0 ? rc : 0;
}

/* ---- what both pages have ---- */

struct identity {
    size_t id, process, kernel, stream, device, cc;
};

static struct identity find_identity(const struct ks_csv_header *h)
{
    return (struct identity){ .id = ks_csv_header_find(h, "ID"),
                              .process = ks_csv_header_find(h, "Process ID"),
                              .kernel = ks_csv_header_find(h, "Kernel Name"),
                              .stream = ks_csv_header_find(h, "Stream"),
                              .device = ks_csv_header_find(h, "Device"),
                              .cc = ks_csv_header_find(h, "CC") };
}

/* "7.5" or "7,5": 75. */
static uint32_t read_cc(const char *text)
{
    char *end;
    unsigned long major = strtoul(text, &end, 10), minor = *end ? strtoul(end + 1, NULL, 10) : 0;

    return major < 1000 && minor < 10 ? (uint32_t)(10 * major + minor) : 0;
}

static int find_row(struct ks_counter_file *f, const struct identity *at, uint32_t *row_out,
                    struct ks_err *err)
{
    char process[NAME_MAX_BYTES];
    struct ks_counter_file of_process = *f;
    struct ks_counter_row *row;
    int rc;

    snprintf(process, sizeof(process), "%s %s", f->process, ks_csv_field(f->rows, at->process));
    of_process.process = process;
    rc = ks_counter_file_row(&of_process, ks_counter_whole(f, at->id, -1),
                             ks_csv_field(f->rows, at->kernel), row_out, err);
    if (rc < 0)
        return rc;
    row = &f->table->rows[*row_out];
    row->stream = ks_counter_whole(f, at->stream, -1);
    row->device = ks_counter_whole(f, at->device, -1);
    row->cc = read_cc(ks_csv_field(f->rows, at->cc));
    return 0;
}

/* Words, "n/a" and what is no number leave the cell empty. */
static int put_number(struct ks_counter_file *f, const struct locale *l, uint32_t row,
                      const char *name, const char *unit, const char *text, struct ks_err *err)
{
    char base[KS_UNIT_MAX];
    const double scale = ks_unit_base(unit, base);
    uint32_t column;
    double value;
    int rc;

    if (!ks_number_read(text, l->style, &value))
        return 0;
    rc = ks_counter_column(f->table, name, base, &column, err);
    return rc < 0 ? rc : ks_counter_put(f->table, row, column, scale * value, err);
}

/* ---- the details page ---- */

static bool is_details(const struct ks_csv_header *h)
{
    return ks_csv_header_find(h, "ID") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Kernel Name") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Metric Name") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Metric Value") != KS_CSV_NONE;
}

static int read_detail(struct ks_counter_file *f, const struct identity *at, const struct locale *l,
                       struct ks_err *err)
{
    const struct ks_csv_header *h = f->header;
    const char *section = ks_csv_field(f->rows, ks_csv_header_find(h, "Section Name"));
    const char *metric = ks_csv_field(f->rows, ks_csv_header_find(h, "Metric Name"));
    char name[NAME_MAX_BYTES];
    uint32_t row;
    int rc;

    if (ks_counter_whole(f, at->id, -1) < 0) {
        f->table->n_other++;
        return 0;
    }
    rc = find_row(f, at, &row, err);
    if (rc < 0 || !*metric) /* a line of a rule */
        return rc;
    if (!*section || strcmp(section, asked_for) == 0)
        snprintf(name, sizeof(name), "%s", metric);
    else
        snprintf(name, sizeof(name), "%s/%s", section, metric);
    return put_number(f, l, row, name, ks_csv_field(f->rows, ks_csv_header_find(h, "Metric Unit")),
                      ks_csv_field(f->rows, ks_csv_header_find(h, "Metric Value")), err);
}

static int read_details(struct ks_counter_file *f, struct ks_err *err)
{
    const struct identity at = find_identity(f->header);
    struct locale l;
    int rc = guess_locale(f, KS_CSV_NONE, ks_csv_header_find(f->header, "Metric Value"), &l, err);

    if (rc < 0)
        return rc;
    while ((rc = ks_csv_rows_next(f->rows, err)) > 0) {
        rc = read_detail(f, &at, &l, err);
        if (rc < 0)
            break;
    }
    return rc;
}

const struct ks_counter_reader ks_counters_ncu_details = { .name = "Nsight Compute, details page",
                                                           .matches = is_details,
                                                           .read = read_details };

/* ---- the raw page ---- */

static bool is_raw(const struct ks_csv_header *h)
{
    return h->n > 0 && strcmp(h->name[0], "ID") == 0 &&
           ks_csv_header_find(h, "Kernel Name") != KS_CSV_NONE &&
           ks_csv_header_find(h, "Metric Name") == KS_CSV_NONE;
}

static bool is_identity(const char *name)
{
    static const char *const names[] = {
        "ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Context",
        "Stream", "Block Size", "Grid Size",    "Device",    "CC",          "Kernel Time"
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static int read_launch(struct ks_counter_file *f, const struct identity *at,
                       const struct ks_csv_header *units, const struct locale *l,
                       struct ks_err *err)
{
    const struct ks_csv_rows *r = f->rows;
    uint32_t row;
    int rc;

    if (ks_counter_whole(f, at->id, -1) < 0) {
        f->table->n_other++;
        return 0;
    }
    rc = find_row(f, at, &row, err);
    for (size_t i = 0; rc == 0 && i < r->n && i < f->header->n; i++)
        if (!is_identity(f->header->name[i]))
            rc = put_number(f, l, row, f->header->name[i], i < units->n ? units->name[i] : "",
                            r->field[i], err);
    return rc;
}

/* The second line holds units where its ID is empty. */
static int read_raw(struct ks_counter_file *f, struct ks_err *err)
{
    const struct identity at = find_identity(f->header);
    struct ks_csv_header units = { 0 };
    struct locale l;
    size_t first = 0;
    int rc;

    while (first < f->header->n && is_identity(f->header->name[first]))
        first++;
    rc = guess_locale(f, first, KS_CSV_NONE, &l, err);
    if (rc == 0)
        rc = ks_csv_rows_next(f->rows, err);
    if (rc > 0 && !*ks_csv_field(f->rows, at.id)) {
        rc = ks_csv_header_take(&units, f->rows, err);
        if (rc == 0)
            rc = ks_csv_rows_next(f->rows, err);
    }
    while (rc > 0) {
        rc = read_launch(f, &at, &units, &l, err);
        if (rc == 0)
            rc = ks_csv_rows_next(f->rows, err);
    }
    ks_csv_header_release(&units);
    return rc;
}

const struct ks_counter_reader ks_counters_ncu_raw = { .name = "Nsight Compute, raw page",
                                                       .matches = is_raw,
                                                       .read = read_raw };
