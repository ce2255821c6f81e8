/* SPDX-License-Identifier: MIT */
/* problem_list.c - reads a problem list in the CSV schema without src/grid */
#include "tests/unit/problem_list.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A row has the columns of the canonical text, then count and name. */
static int read_row(const char *header, const char *row, struct ks_problem *p_out,
                    struct ks_err *err)
{
    struct ks_buf text;
    int rc;

    ks_buf_init(&text);
    while (strncmp(header, "count,", 6) != 0) {
        int n_key = (int)strcspn(header, ","), n_value = (int)strcspn(row, ",\n");

        ks_buf_printf(&text, "%s%.*s=%.*s", text.len ? " " : "", n_key, header, n_value, row);
        header += n_key + 1;
        row += n_value + 1;
    }
    rc = ks_problem_parse(ks_buf_text(&text), p_out, err);
    ks_buf_release(&text);
    if (rc == 0 && sscanf(row, "%ld,%95[^\n]", &p_out->count, p_out->name) != 2)
        rc = ks_fail(err, KS_EFORMAT, "count and name expected at '%.32s'", row);
    return rc;
}

static int read_rows(const char *text, struct problem_list *list, struct ks_err *err)
{
    struct ks_buf header;
    const char *row = text;
    int rc = 0;

    ks_buf_init(&header);
    ks_problem_csv_header(0, &header);
    if (strncmp(text, ks_buf_text(&header), header.len) != 0)
        rc = ks_fail(err, KS_EFORMAT, "not the header of grouped_conv");
    else
        row += header.len;
    while (rc == 0 && *row) {
        if (list->n == 64)
            rc = ks_fail(err, KS_EFORMAT, "more than 64 rows");
        else
            rc = read_row(ks_buf_text(&header), row, &list->problems[list->n++], err);
        row = strchr(row, '\n') + 1;
    }
    ks_buf_release(&header);
    return rc;
}

int problem_list_read(const char *name, struct problem_list *list_out, struct ks_err *err)
{
    struct problem_list list = { .n = 0 };
    struct ks_buf text;
    char path[4096];
    int rc;

    ks_buf_init(&text);
    snprintf(path, sizeof(path), "%s/jobs/problems/%s.csv", KS_SOURCE_DIR, name);
    rc = ks_file_read(path, &text, err);
    if (rc == 0)
        rc = read_rows(ks_buf_text(&text), &list, err);
    if (rc == 0)
        *list_out = list;
    ks_buf_release(&text);
    return rc < 0 ? ks_err_context(err, rc, "%s", path) : 0;
}
