/* SPDX-License-Identifier: MIT */
#include "analysis_kit.h"

#include "analysis/columns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

struct ks_view *akit_view(const struct place *p, enum ks_merge how)
{
    struct ks_view *v = NULL;
    struct ks_err err = { 0 };

    if (ks_view_open(p->file, how, &v, &err) < 0)
        fail_msg("%s", err.text);
    return v;
}

struct ks_record *akit_timed(struct skit *k, uint32_t i_problem, uint32_t i_instance, double ns)
{
    struct ks_record *r = skit_record(k, i_problem, i_instance, 3);

    r->calls_per_sample = 1;
    r->clock_resolution_ns = 0;
    r->sample_ns[0] = ns * 0.99;
    r->sample_ns[1] = ns;
    r->sample_ns[2] = ns * 1.01;
    return r;
}

void akit_summarise(const struct place *p, struct ks_view **v_out, struct ks_summary *s)
{
    struct ks_err err = { 0 };

    *v_out = akit_view(p, KS_MERGE_NEWEST);
    if (ks_summary_make(*v_out, s, &err) < 0)
        fail_msg("%s", err.text);
}

bool akit_near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

void akit_csv(const struct place *p, enum ks_columns_version version, struct ks_buf *b)
{
    struct ks_view *v = akit_view(p, KS_MERGE_ALL);
    struct ks_join join = { 0 };
    struct ks_columns *c;
    const struct ks_row *rows;
    size_t n;

    ks_buf_init(b);
    assert_int_equal(ks_columns_create(ks_view_file(v), version, &c, NULL), 0);
    ks_columns_header(c, b);
    while (ks_view_next(v, &rows, &n, NULL) > 0) {
        assert_int_equal(ks_join_problem(&join, rows, n, NULL), 0);
        for (size_t i = 0; i < n; i++)
            ks_columns_row(c, &rows[i], ks_join_code(&join, &rows[i]), b);
    }
    ks_join_release(&join);
    ks_columns_destroy(c);
    ks_view_close(v);
}

const char *akit_behind(const char *p)
{
    bool is_quoted = *p == '"';

    if (!is_quoted)
        return p + strcspn(p, ",\n");
    for (p++; *p != '"' || p[1] == '"'; p++)
        p += *p == '"';
    return p + 1;
}

void akit_cell(const char *csv, int line, const char *column, char *out, size_t cap)
{
    const char *p = csv;
    int at = 0;

    while (akit_behind(p) - p != (long)strlen(column) || strncmp(p, column, strlen(column)) != 0) {
        p = akit_behind(p);
        if (*p++ == '\n')
            fail_msg("no column '%s'", column);
        at++;
    }
    for (p = csv; line > 0; line--)
        p = strchr(p, '\n') + 1;
    for (; at > 0; at--)
        p = akit_behind(p) + 1;
    snprintf(out, cap, "%.*s", (int)(akit_behind(p) - p), p);
}
